//! The barriers of a block.
//!
//! A warp counts as a whole: its lanes that have not exited arrive together, as in hardware before
//! independent thread scheduling.
//!
//! Source: PTX ISA, §9.7.13.1 (bar).

use crate::program::LANES;
use crate::ptx::ir::BarrierReduction;

/// Barriers of a block.
pub(super) const BARRIERS: usize = 16;

/// One barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Barrier {
    /// Warps that wait.
    waiting: u64,
    /// Threads that have arrived, in whole warps.
    arrived: u32,
    /// Threads that must arrive, if the instruction says so.
    needed: Option<u32>,
    /// Threads whose predicate was true, and those that gave one.
    holds: u32,
    threads: u32,
    /// Result of the phase that ended last.
    result: (u32, u32),
}

impl Barrier {
    /// A warp arrives; `waits` unless it only announces itself.
    pub(super) fn arrive(&mut self, warp: usize, waits: bool, needed: Option<u32>, holds: u32, threads: u32) {
        self.arrived += LANES as u32;
        self.needed = self.needed.or(needed);
        self.holds += holds;
        self.threads += threads;
        if waits {
            self.waiting |= 1 << warp;
        }
    }

    /// Ends the phase if everybody has arrived, and gives the warps that go on. `live` are the warps that
    /// have not ended; without a count, all of them must wait.
    pub(super) fn release(&mut self, live: u64) -> u64 {
        let complete = match self.needed {
            Some(needed) => self.arrived >= needed,
            None => self.waiting != 0 && self.waiting & live == live,
        };
        if !complete || self.arrived == 0 {
            return 0;
        }
        let released = self.waiting;
        *self = Barrier { result: (self.holds, self.threads), ..Barrier::default() };
        released
    }

    /// The reduction over the phase that ended last: a number, or 0 and 1.
    pub(super) fn reduced(&self, op: BarrierReduction) -> u32 {
        let (holds, threads) = self.result;
        match op {
            BarrierReduction::Popc => holds,
            BarrierReduction::And => u32::from(holds == threads),
            BarrierReduction::Or => u32::from(holds != 0),
        }
    }
}

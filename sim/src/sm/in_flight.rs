//! Instructions between fetch and their last result, with their values. Entries are reused, never copied.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use warpfile_kernels::program::WarpInstruction;

use super::design::WarpSlot;

/// Instructions in flight at a time; each has a number of [`ID_BITS`] bits.
pub(super) const CAPACITY: usize = 1 << ID_BITS;
/// Bits of an instruction's number in the circuits.
pub const ID_BITS: usize = 9;

/// One instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub instruction: WarpInstruction,
    pub warp: WarpSlot,
    /// Slot of the active set it issued from.
    pub slot: usize,
    /// The warp's activation in which it issued.
    pub activation: u32,
    /// Results not yet taken by the operand storage.
    pub results_left: usize,
    /// Its operands have been delivered and compared.
    pub delivered: bool,
    /// Nothing is left to do but to deliver operands.
    pub finished: bool,
}

impl Entry {
    /// Position of the instruction in its program.
    pub fn index(&self) -> usize {
        self.instruction.inst.0 as usize
    }
}

/// The pool of entries.
pub(super) struct InFlight {
    entries: Vec<Entry>,
    free: Vec<u16>,
}

impl InFlight {
    pub fn new() -> InFlight {
        InFlight { entries: vec![Entry::default(); CAPACITY], free: (0..CAPACITY as u16).rev().collect() }
    }

    /// A free entry, if there is one.
    pub fn take(&mut self) -> Option<u16> {
        self.free.pop()
    }

    pub fn release(&mut self, id: u16) {
        self.free.push(id);
    }

    pub fn get(&self, id: u16) -> &Entry {
        &self.entries[usize::from(id)]
    }

    pub fn get_mut(&mut self, id: u16) -> &mut Entry {
        &mut self.entries[usize::from(id)]
    }
}

/// Instructions that finish executing, in order of time and then of dispatch.
pub(super) struct Completions {
    due: BinaryHeap<Reverse<(u64, u64, u16)>>,
    sequence: u64,
}

impl Completions {
    pub fn new() -> Completions {
        Completions { due: BinaryHeap::with_capacity(CAPACITY), sequence: 0 }
    }

    pub fn push(&mut self, cycle: u64, id: u16) {
        self.due.push(Reverse((cycle, self.sequence, id)));
        self.sequence += 1;
    }

    /// Whether nothing will finish.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// The next instruction that is due by `now`.
    pub fn pop_due(&mut self, now: u64) -> Option<u16> {
        let Reverse((cycle, _, id)) = *self.due.peek()?;
        if cycle > now {
            return None;
        }
        self.due.pop();
        Some(id)
    }
}

/// Registers waiting for write ports of the operand storage: instruction and index of its result.
pub(super) type ResultQueue = VecDeque<(u16, usize)>;

//! Copies from global to shared memory that are under way (`cp.async`).
//!
//! What a copy reads is read when it is issued; what it writes is written when its thread waits for its group, so a kernel
//! that forgets to wait finds what was there before.
//!
//! Source: PTX ISA, §9.7.9.25 (`cp.async`, `cp.async.commit_group`, `cp.async.wait_group`).

use std::collections::VecDeque;

use super::access::lanes_of;
use crate::program::{LANES, LaneMask};

/// Copies of a warp under way at most. The oldest is done then: a copy may be done at any time before it is waited for.
const MAX_COPIES: usize = 1 << 16;

/// Copies of one warp that are under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// In the order in which they were issued.
    under_way: VecDeque<Copy>,
    /// Groups that each lane has committed.
    committed: [u64; LANES],
}

#[derive(Clone, Debug)]
struct Copy {
    lane: usize,
    /// How many groups the lane had committed before it.
    group: u64,
    /// Where it goes in shared memory: checked to be there.
    start: usize,
    bytes: Vec<u8>,
}

impl Copies {
    /// Begins a copy to a place in shared memory.
    pub(super) fn begin(&mut self, lane: usize, start: usize, bytes: Vec<u8>, shared: &mut [u8]) {
        if self.under_way.len() == MAX_COPIES
            && let Some(oldest) = self.under_way.pop_front()
        {
            oldest.end(shared);
        }
        self.under_way.push_back(Copy { lane, group: self.committed[lane], start, bytes });
    }

    /// Ends a group in each of the lanes.
    pub(super) fn commit(&mut self, lanes: LaneMask) {
        for lane in lanes_of(lanes) {
            self.committed[lane] += 1;
        }
    }

    /// Ends the copies of the lanes, but for those of the latest `but` groups; with `None` all.
    pub(super) fn wait(&mut self, lanes: LaneMask, but: Option<u32>, shared: &mut [u8]) {
        let committed = self.committed;
        let ends = |copy: &Copy| {
            let waited_for = but.is_none_or(|but| copy.group + u64::from(but) < committed[copy.lane]);
            lanes >> copy.lane & 1 == 1 && waited_for
        };
        self.under_way.retain(|copy| {
            let ends = ends(copy);
            if ends {
                copy.end(shared);
            }
            !ends
        });
    }
}

impl Copy {
    fn end(&self, shared: &mut [u8]) {
        shared[self.start..][..self.bytes.len()].copy_from_slice(&self.bytes);
    }
}

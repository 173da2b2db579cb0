//! A partition of the SM: one scheduler or two with their warps, an operand storage, its queues and its own units.

use std::collections::VecDeque;

use super::super::design::{Flush, Issue, MAX_ISSUES, PartitionDesign, StorageOutputs, Unit, WarpSlot};
use super::super::in_flight::{CAPACITY, Completions, InFlight, ResultQueue};
use super::super::warp::{Scoreboard, Warps};
use crate::config::Config;

/// A partition. Warps are numbered within it: warp slot s of the SM is warp s / partitions of partition
/// s mod partitions.
pub(super) struct Partition<'c> {
    pub design: PartitionDesign<'c>,
    pub warps: Warps,
    pub scoreboard: Scoreboard,
    pub in_flight: InFlight,
    /// Picked, not yet taken by the operand storage; in program order of their warps.
    pub issue_queue: IssueQueue,
    /// Ended warps that the storage has been told of, one bit each.
    pub ending: u64,
    pub outputs: StorageOutputs,
    /// Warps that a layer holds back in this cycle, one bit each.
    pub held_by_layers: u64,
    /// Those of them that go on within a few cycles.
    pub brief_waits: u64,
    /// When the units of the partition's own take the next instruction: of each kind one for each scheduler. 0 for what the
    /// partitions share.
    pub units_free_at: Vec<[u64; Unit::COUNT]>,
    pub completions: Completions,
    pub results: ResultQueues,
    pub fills: ResultQueue,
    /// Slots to be flushed, one a cycle.
    pub flushes: VecDeque<Flush>,
    /// Slot whose flush is offered in this cycle.
    pub flush_offered: Option<usize>,
    pub operand_cycles: u64,
    /// Ports of the storage that instructions are dispatched on.
    pub dispatches: usize,
    /// Whether its schedulers ever suspend a warp.
    pub suspends: bool,
}

impl<'c> Partition<'c> {
    pub fn new(config: &Config, design: PartitionDesign<'c>) -> Partition<'c> {
        let warps = config.warps_per_partition() as usize;
        let schedulers = design.schedulers.len();
        Partition {
            warps: Warps::new(warps),
            scoreboard: Scoreboard::new(warps, 1),
            in_flight: InFlight::new(),
            issue_queue: IssueQueue::new(schedulers, config.issues_per_partition() as usize),
            ending: 0,
            outputs: StorageOutputs::default(),
            held_by_layers: 0,
            brief_waits: 0,
            units_free_at: vec![[0; Unit::COUNT]; schedulers],
            completions: Completions::new(),
            results: ResultQueues::new(schedulers, config.issues_per_partition() as usize),
            fills: ResultQueue::with_capacity(CAPACITY),
            flushes: VecDeque::with_capacity(warps),
            flush_offered: None,
            operand_cycles: design.storage.operand_cycles(),
            dispatches: design.storage.dispatches(),
            suspends: design.schedulers.iter().any(|scheduler| scheduler.suspends()),
            design,
        }
    }

    /// Slots that may not be given to another warp: busy in the storage, or with a flush still to be done.
    pub fn busy_slots(&self) -> u64 {
        let queued = self.flushes.iter().map(|flush| flush.slot).chain(self.flush_offered);
        queued.fold(self.outputs.busy_slots, |busy, slot| busy | 1 << slot)
    }
}

/// Results of short operations on their way to the storage, in the order in which they were computed: a queue of each scheduler.
/// Of an only scheduler the first results are offered, as many as instructions are issued in a cycle; of several the first of
/// each, on the port of its number.
pub(super) struct ResultQueues {
    queues: Vec<ResultQueue>,
    /// Results that an only scheduler offers.
    ports: usize,
}

impl ResultQueues {
    fn new(schedulers: usize, ports: usize) -> ResultQueues {
        ResultQueues {
            queues: (0..schedulers).map(|_| ResultQueue::with_capacity(CAPACITY)).collect(),
            ports,
        }
    }

    /// Where the results of a warp of the partition wait.
    pub fn of_warp(&mut self, warp: WarpSlot) -> &mut ResultQueue {
        match &mut self.queues[..] {
            [only] => only,
            several => &mut several[warp % several.len()],
        }
    }

    /// The results as they are offered.
    #[inline]
    pub fn offered(&self) -> [Option<&(u16, usize)>; MAX_ISSUES] {
        match &self.queues[..] {
            [only] => [only.front(), only.get(1).filter(|_| self.ports > 1)],
            several => std::array::from_fn(|port| several[port].front()),
        }
    }

    /// Takes results that were offered out of their queues, by port.
    #[inline]
    pub fn take(&mut self, taken: [bool; MAX_ISSUES]) -> [Option<(u16, usize)>; MAX_ISSUES] {
        match &mut self.queues[..] {
            // A result may be taken before the one in front of it.
            [only] => match taken {
                [false, false] => [None, None],
                [true, false] => [only.pop_front(), None],
                [false, true] => [None, only.remove(1)],
                [true, true] => [only.pop_front(), only.pop_front()],
            },
            several => std::array::from_fn(|port| if taken[port] { several[port].pop_front() } else { None }),
        }
    }
}

/// The issue registers of a partition: as many as instructions are picked in a cycle. Those of one scheduler are offered in
/// program order, from the storage's first port on; of several schedulers each has one, which is offered on its own port.
pub(super) struct IssueQueue {
    registers: [Option<Issue>; MAX_ISSUES],
    capacity: usize,
    of_several: bool,
}

impl IssueQueue {
    fn new(schedulers: usize, capacity: usize) -> IssueQueue {
        IssueQueue { registers: [None; MAX_ISSUES], capacity, of_several: schedulers > 1 }
    }

    /// Whether a scheduler can pick another instruction.
    pub fn has_room(&self, scheduler: usize) -> bool {
        let last = if self.of_several { scheduler } else { self.capacity - 1 };
        self.registers[last].is_none()
    }

    /// The register that the next instruction that a scheduler picks waits in.
    pub fn free_register(&mut self, scheduler: usize) -> Option<&mut Option<Issue>> {
        let own = if self.of_several { scheduler..scheduler + 1 } else { 0..self.capacity };
        self.registers[own].iter_mut().find(|register| register.is_none())
    }

    /// The instructions as they are offered.
    pub fn offered(&self) -> &[Option<Issue>; MAX_ISSUES] {
        &self.registers
    }

    /// Instructions have been taken, by port.
    pub fn remove(&mut self, taken: [bool; MAX_ISSUES]) {
        if self.of_several {
            for (register, _) in self.registers.iter_mut().zip(taken).filter(|(_, taken)| *taken) {
                *register = None;
            }
            return;
        }
        let count = taken.into_iter().filter(|taken| *taken).count();
        if count < self.capacity {
            self.registers.copy_within(count.., 0);
        }
        self.registers[self.capacity - count..].fill(None);
    }

    /// Warps with an instruction here, one bit each.
    pub fn warps(&self) -> u64 {
        self.registers.iter().flatten().fold(0, |warps, issue| warps | 1 << issue.warp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_taken_before_the_one_in_front_of_it() {
        let mut results = ResultQueues::new(1, 2);
        results.of_warp(5).extend([(7, 0), (8, 0), (9, 1)]);
        assert_eq!(results.offered(), [Some(&(7, 0)), Some(&(8, 0))]);
        assert_eq!(results.take([false, true]), [None, Some((8, 0))]);
        assert_eq!(results.take([true, true]), [Some((7, 0)), Some((9, 1))]);
        assert_eq!(results.offered(), [None, None]);
    }

    #[test]
    fn a_scheduler_of_one_instruction_a_cycle_offers_one_result() {
        let mut results = ResultQueues::new(1, 1);
        results.of_warp(0).extend([(7, 0), (8, 0)]);
        assert_eq!(results.offered(), [Some(&(7, 0)), None]);
    }

    #[test]
    fn results_of_two_schedulers_do_not_wait_for_each_other() {
        let mut results = ResultQueues::new(2, 2);
        for (warp, id) in [(1, 7), (3, 8), (2, 9)] {
            results.of_warp(warp).push_back((id, 0));
        }
        assert_eq!(results.offered(), [Some(&(9, 0)), Some(&(7, 0))]);
        assert_eq!(results.take([false, true]), [None, Some((7, 0))]);
        assert_eq!(results.offered(), [Some(&(9, 0)), Some(&(8, 0))]);
    }
}

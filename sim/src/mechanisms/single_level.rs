//! Behavioural single-level schedulers: every resident warp is a candidate and keeps the slot of its number.

use super::{Build, Info, Mechanism, Part, Role};
use crate::config::SingleLevelPolicy;
use crate::sm::SimError;
use crate::sm::design::{SchedulerInputs, SchedulerOutputs, WarpScheduler, WarpSlot};

/// A scheduler that sees every resident warp.
pub struct SingleLevelScheduler;

impl Mechanism for SingleLevelScheduler {
    fn info(&self) -> Info {
        Info {
            name: "single-level",
            summary: "scheduler that sees every resident warp, LRR or GTO (scheduler.single_level)",
            design: None,
            preset: "gebhart2011",
        }
    }

    fn role(&self) -> Role {
        Role::Scheduler
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let policy = at.config.scheduler.single_level;
        let part = |_| Box::new(SingleLevel::new(policy)) as Box<dyn WarpScheduler>;
        Ok(Part::Schedulers((0..at.config.sm.schedulers).map(part).collect()))
    }
}

/// One of them.
pub struct SingleLevel {
    policy: SingleLevelPolicy,
    /// Warp that issued last.
    last: WarpSlot,
    /// Resident warps in the order in which they became resident.
    oldest_first: Vec<WarpSlot>,
    resident: u64,
}

impl SingleLevel {
    /// A scheduler of the given policy for up to 64 warps.
    pub fn new(policy: SingleLevelPolicy) -> SingleLevel {
        // LRR begins with warp 0, so the last one before it is the highest.
        SingleLevel { policy, last: 63, oldest_first: Vec::with_capacity(64), resident: 0 }
    }

    /// The next ready warp after the last one, wrapping.
    fn round_robin(&self, ready: u64) -> WarpSlot {
        let after = ready & !(u64::MAX >> (63 - self.last));
        (if after != 0 { after } else { ready }).trailing_zeros() as usize
    }

    /// The last warp if ready, else the oldest ready one.
    fn greedy_then_oldest(&self, ready: u64) -> Option<WarpSlot> {
        if ready >> self.last & 1 == 1 {
            return Some(self.last);
        }
        self.oldest_first.iter().copied().find(|warp| ready >> warp & 1 == 1)
    }

    /// Follows which warps are resident; new ones are younger than all before, by number among themselves.
    fn follow_residency(&mut self, resident: u64) {
        if resident == self.resident {
            return;
        }
        self.oldest_first.retain(|warp| resident >> warp & 1 == 1);
        let arrived = resident & !self.resident;
        self.oldest_first.extend((0..64).filter(|warp| arrived >> warp & 1 == 1));
        self.resident = resident;
    }
}

impl WarpScheduler for SingleLevel {
    fn suspends(&self) -> bool {
        false
    }

    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs {
        let ended = self.resident & !inputs.resident;
        let retired = (ended != 0).then(|| ended.trailing_zeros() as usize);
        // One warp retires a cycle; the others stay known as resident until their turn.
        let still_known = retired.map_or(0, |warp| ended & !(1 << warp));
        self.follow_residency(inputs.resident | still_known);

        let ready = inputs.ready & inputs.resident;
        let issue = if !inputs.issue_enable || ready == 0 {
            None
        } else {
            match self.policy {
                SingleLevelPolicy::Lrr => Some(self.round_robin(ready)),
                SingleLevelPolicy::Gto => self.greedy_then_oldest(ready),
            }
        };
        if let Some(warp) = issue {
            self.last = warp;
        }
        SchedulerOutputs {
            issue: issue.map(|warp| (warp, warp)),
            retired: retired.map(|warp| (warp, warp)),
            ..SchedulerOutputs::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(policy: SingleLevelPolicy, ready: &[u64]) -> Vec<Option<usize>> {
        let mut scheduler = SingleLevel::new(policy);
        let step = |&ready: &u64| {
            let inputs =
                SchedulerInputs { resident: 0b1111, ready, issue_enable: true, ..Default::default() };
            scheduler.cycle(inputs).issue.map(|(warp, _)| warp)
        };
        ready.iter().map(step).collect()
    }

    #[test]
    fn loose_round_robin_takes_the_next_ready_warp_and_wraps() {
        let picked = picks(SingleLevelPolicy::Lrr, &[0b1111, 0b1111, 0b1001, 0b1111, 0, 0b0001]);
        assert_eq!(picked, [Some(0), Some(1), Some(3), Some(0), None, Some(0)]);
    }

    #[test]
    fn greedy_then_oldest_stays_and_then_takes_the_oldest() {
        let picked = picks(SingleLevelPolicy::Gto, &[0b1100, 0b1110, 0b1010, 0b1001, 0b1001]);
        assert_eq!(picked, [Some(2), Some(2), Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn a_warp_slot_filled_again_is_the_youngest() {
        let mut scheduler = SingleLevel::new(SingleLevelPolicy::Gto);
        let inputs =
            |resident, ready| SchedulerInputs { resident, ready, issue_enable: true, ..Default::default() };
        scheduler.cycle(inputs(0b111, 0b100));
        scheduler.cycle(inputs(0b110, 0b100));
        scheduler.cycle(inputs(0b111, 0b100));
        assert_eq!(scheduler.cycle(inputs(0b111, 0b011)).issue, Some((1, 1)));
    }

    #[test]
    fn warps_that_end_together_retire_one_a_cycle() {
        let mut scheduler = SingleLevel::new(SingleLevelPolicy::Gto);
        let inputs = |resident| SchedulerInputs { resident, ..Default::default() };
        scheduler.cycle(inputs(0b111));
        assert_eq!(scheduler.cycle(inputs(0b001)).retired, Some((1, 1)));
        assert_eq!(scheduler.cycle(inputs(0b001)).retired, Some((2, 2)));
        assert_eq!(scheduler.cycle(inputs(0b001)).retired, None);
    }
}

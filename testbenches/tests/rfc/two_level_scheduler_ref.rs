//! Reference of the two-level scheduler: lists of warps. Written from Gebhart et al., §3.2, and the circuit's
//! contract.

use warpfile_hdl::rfc::InnerPolicy;
use warpfile_testbenches::lockstep::{Pins, Reference};

/// What the scheduler is told in a cycle; bits beyond its warps and slots are ignored.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    pub resident: u64,
    pub ready: u64,
    pub suspend: u64,
    pub eligible: u64,
    /// Slots whose registers are still being written back; a slot begins to be busy when it is given up.
    pub busy: u64,
    pub enable: bool,
}

/// A warp and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub warp: usize,
    pub slot: usize,
}

#[derive(Clone, Debug)]
pub struct SchedulerReference {
    policy: InnerPolicy,
    warps: usize,
    /// The warp of each slot of the active set.
    active: Vec<Option<usize>>,
    /// The warp that gave the slot up, until the slot is no longer busy.
    left_by: Vec<Option<usize>>,
    last_issued_slot: usize,
    last_activated_warp: usize,
}

/// What is decided in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Decisions {
    pub issue: Option<Decision>,
    pub suspend: Option<Decision>,
    pub retire: Option<Decision>,
    pub activate: Option<Decision>,
}

fn has(mask: u64, index: usize) -> bool {
    mask >> index & 1 == 1
}

impl SchedulerReference {
    pub fn new(policy: InnerPolicy, warps: usize, slots: usize) -> SchedulerReference {
        SchedulerReference {
            policy,
            warps,
            active: vec![None; slots],
            left_by: vec![None; slots],
            last_issued_slot: 0,
            last_activated_warp: 0,
        }
    }

    /// Slots that are busy in this cycle: only slots that have been given up can be.
    pub fn busy(&self, cycle: &Cycle) -> u64 {
        let busy =
            self.left_by.iter().enumerate().filter(|(slot, left)| left.is_some() && has(cycle.busy, *slot));
        busy.map(|(slot, _)| 1 << slot).sum()
    }

    fn holders(&self) -> impl Iterator<Item = Decision> {
        let held = self.active.iter().enumerate();
        held.filter_map(|(slot, warp)| warp.map(|warp| Decision { warp, slot }))
    }

    fn issue(&self, cycle: &Cycle) -> Option<Decision> {
        let can_issue =
            |warp| has(cycle.ready, warp) && has(cycle.resident, warp) && !has(cycle.suspend, warp);
        let ready: Vec<Decision> = self.holders().filter(|d| can_issue(d.warp)).collect();
        let same = ready.iter().find(|d| d.slot == self.last_issued_slot);
        let behind = ready.iter().find(|d| d.slot > self.last_issued_slot);
        let next = behind.or(ready.first());
        let chosen = match self.policy {
            InnerPolicy::Greedy => same.or(next),
            InnerPolicy::RoundRobin => next,
        };
        chosen.copied().filter(|_| cycle.enable)
    }

    fn activate(&self, cycle: &Cycle) -> Option<Decision> {
        let busy = self.busy(cycle);
        let slot = (0..self.active.len()).find(|&slot| self.active[slot].is_none() && !has(busy, slot))?;
        let in_turn = (1..=self.warps).map(|n| (self.last_activated_warp + n) % self.warps);
        let being_written_back =
            |warp| (0..self.left_by.len()).any(|s| self.left_by[s] == Some(warp) && has(busy, s));
        let mut waiting = in_turn.filter(|&warp| {
            has(cycle.resident & cycle.eligible, warp)
                && !self.active.contains(&Some(warp))
                && !being_written_back(warp)
        });
        waiting.next().map(|warp| Decision { warp, slot })
    }

    pub fn decide(&self, cycle: &Cycle) -> Decisions {
        let suspend = self.holders().find(|d| has(cycle.suspend & cycle.resident, d.warp));
        let retire = self.holders().find(|d| !has(cycle.resident, d.warp)).filter(|_| suspend.is_none());
        Decisions { issue: self.issue(cycle), suspend, retire, activate: self.activate(cycle) }
    }

    pub fn follow(&mut self, cycle: &Cycle, decisions: &Decisions) {
        let busy = self.busy(cycle);
        for (slot, left) in self.left_by.iter_mut().enumerate() {
            *left = left.filter(|_| has(busy, slot));
        }
        if let Some(issued) = decisions.issue {
            self.last_issued_slot = issued.slot;
        }
        for left in [decisions.suspend, decisions.retire].into_iter().flatten() {
            self.active[left.slot] = None;
            self.left_by[left.slot] = Some(left.warp);
        }
        if let Some(entered) = decisions.activate {
            self.active[entered.slot] = Some(entered.warp);
            self.last_activated_warp = entered.warp;
        }
    }
}

impl Reference for SchedulerReference {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        let mask = u64::MAX >> (64 - self.warps);
        inputs.set("resident_i", cycle.resident & mask);
        inputs.set("ready_i", cycle.ready & mask);
        inputs.set("suspend_i", cycle.suspend & mask);
        inputs.set("eligible_i", cycle.eligible & mask);
        inputs.set("slot_busy_i", self.busy(cycle));
        inputs.set("issue_enable_i", u8::from(cycle.enable));
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let decisions = self.decide(cycle);
        for (name, decision) in [
            ("issue", decisions.issue),
            ("suspend", decisions.suspend),
            ("retire", decisions.retire),
            ("activate", decisions.activate),
        ] {
            outputs.set(&format!("{name}_valid_o"), u8::from(decision.is_some()));
            if let Some(Decision { warp, slot }) = decision {
                outputs.set(&format!("{name}_warp_o"), warp);
                outputs.set(&format!("{name}_slot_o"), slot);
            }
        }
        self.follow(cycle, &decisions);
    }
}

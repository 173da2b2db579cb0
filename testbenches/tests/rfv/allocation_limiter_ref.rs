//! Reference of the allocation limiter: registers held and claims, warp by warp.

use warpfile_hdl::rfv::AllocationLimiter;
use warpfile_testbenches::lockstep::{Pins, Reference};

#[derive(Clone)]
pub struct LimiterReference {
    issues: usize,
    registers: usize,
    /// Registers that each warp holds.
    held: Vec<usize>,
    /// Whether each warp is admitted.
    admitted: Vec<bool>,
    /// The claim of those that are.
    claim: usize,
}

/// What happens in a cycle, as far as there are registers.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Warps and how many registers they take if they may: the first so many as instructions are taken a cycle.
    pub takes: [(usize, usize); 2],
    /// Warps that give one back.
    pub frees: [Option<usize>; 2],
    /// Warps of the oldest block, of the block whose turn it is, at a barrier, and that have ended, one bit each.
    pub oldest: u64,
    pub turn: u64,
    pub parked: u64,
    pub ended: u64,
    pub claim: usize,
    pub quota: usize,
}

impl LimiterReference {
    pub fn new(parameters: &AllocationLimiter) -> LimiterReference {
        let warps = parameters.warps;
        LimiterReference {
            issues: parameters.issues,
            registers: parameters.registers,
            held: vec![0; warps],
            admitted: vec![false; warps],
            claim: 0,
        }
    }

    /// Only admitted warps take registers, no more than there are, and none is given back that is not held.
    fn possible(&self, intent: &Intent) -> Intent {
        let mut possible = intent.clone();
        let (_, admitted) = self.admit(intent);
        let mut free = self.registers - self.held.iter().sum::<usize>();
        for (way, (warp, count)) in possible.takes.iter_mut().enumerate() {
            *count = if way < self.issues && admitted[*warp] { (*count).min(free) } else { 0 };
            free -= *count;
        }
        let mut held = self.held.clone();
        for warp in &mut possible.frees {
            *warp = warp.filter(|&warp| held[warp] > 0);
            if let Some(warp) = *warp {
                held[warp] -= 1;
            }
        }
        possible
    }

    /// The claim, and who is admitted once those that ask have been looked at.
    fn admit(&self, intent: &Intent) -> (usize, Vec<bool>) {
        let is_in = |set: u64, warp: usize| set >> warp & 1 == 1;
        let warps = 0..self.held.len();
        let claim = if self.admitted.contains(&true) { self.claim } else { intent.claim };
        let keeps = |warp: usize| self.admitted[warp] && !is_in(intent.ended, warp);
        let asks = |warp: usize| {
            let is_silent = is_in(intent.oldest, warp) && is_in(intent.parked, warp);
            is_in(intent.turn, warp) && !keeps(warp) && !is_silent
        };
        let asking: Vec<usize> = warps.clone().filter(|&warp| asks(warp)).collect();
        let oldest_asks = asking.iter().any(|&warp| is_in(intent.oldest, warp));
        let oldest_keeps = warps.clone().any(|warp| keeps(warp) && is_in(intent.oldest, warp));
        let reserved = warps.clone().find(|&warp| is_in(intent.oldest, warp));
        let reserved = reserved.filter(|_| !oldest_asks && !oldest_keeps);
        let fit = |more: &[usize]| {
            let of_warp = |warp: usize| {
                if keeps(warp) || more.contains(&warp) || reserved == Some(warp) {
                    return claim;
                }
                let quota = if is_in(intent.oldest | intent.turn, warp) { intent.quota } else { 0 };
                self.held[warp].max(quota)
            };
            warps.clone().map(of_warp).sum::<usize>() <= self.registers
        };
        let granted: &[usize] = match &asking[..] {
            all if fit(all) => all,
            [first, ..] if fit(&[*first]) => &asking[..1],
            _none => &[],
        };
        let waits = oldest_asks && granted.is_empty();
        let gives_up = |warp: usize| {
            waits && is_in(intent.oldest & intent.parked, warp) && self.held[warp] <= intent.quota
        };
        let is_admitted = |warp: usize| (keeps(warp) && !gives_up(warp)) || granted.contains(&warp);
        (claim, warps.clone().map(is_admitted).collect())
    }
}

impl Reference for LimiterReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let intent = self.possible(intent);
        for (way, (warp, count)) in intent.takes.into_iter().take(self.issues).enumerate() {
            inputs.set(&format!("allocated{way}_warp_i"), warp);
            inputs.set(&format!("allocated{way}_count_i"), count);
        }
        for (number, warp) in intent.frees.into_iter().enumerate() {
            inputs.set(&format!("freed{number}_valid_i"), u8::from(warp.is_some()));
            inputs.set(&format!("freed{number}_warp_i"), warp.unwrap_or(0));
        }
        let all = u64::MAX >> (64 - self.held.len());
        inputs.set("limits_oldest_i", intent.oldest & all);
        inputs.set("limits_turn_i", intent.turn & all);
        inputs.set("limits_parked_i", intent.parked & all);
        inputs.set("limits_ended_i", intent.ended & all);
        inputs.set("limits_claim_i", intent.claim);
        inputs.set("limits_quota_i", intent.quota);
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let intent = self.possible(intent);
        let (claim, admitted) = self.admit(&intent);
        outputs.set("held_o", self.held.iter().sum::<usize>());
        for (warp, count) in intent.takes {
            self.held[warp] += count;
        }
        for warp in intent.frees.into_iter().flatten() {
            self.held[warp] -= 1;
        }
        (self.claim, self.admitted) = (claim, admitted);
        let bits = self.admitted.iter().rev().fold(0u64, |bits, &admitted| bits << 1 | u64::from(admitted));
        outputs.set("limits_admitted_o", bits);
    }
}

//! Reference of the allocation limiter: registers held, warp by warp.

use warpfile_hdl::rfv::AllocationLimiter;
use warpfile_testbenches::lockstep::{Pins, Reference};

/// The highest allowance there is.
const HIGHEST: usize = 15;

#[derive(Clone)]
pub struct LimiterReference {
    registers: usize,
    /// Registers that each warp holds.
    held: Vec<usize>,
}

/// What happens in a cycle, as far as there are registers.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Warps and how many registers they take.
    pub takes: [(usize, usize); 2],
    /// Warps that give one back.
    pub frees: [Option<usize>; 2],
    /// Warps of the oldest block, one bit each.
    pub oldest: u64,
    /// The warp that goes first.
    pub first: Option<usize>,
    pub quota: usize,
    pub slack: usize,
}

impl LimiterReference {
    pub fn new(parameters: &AllocationLimiter) -> LimiterReference {
        LimiterReference { registers: parameters.registers, held: vec![0; parameters.warps] }
    }

    /// No more is taken than there is, nothing given back that is not held.
    fn possible(&self, intent: &Intent) -> Intent {
        let mut possible = intent.clone();
        let mut free = self.registers - self.held.iter().sum::<usize>();
        for (_, count) in &mut possible.takes {
            *count = (*count).min(free);
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

    fn allowance(&self, warp: usize, intent: &Intent) -> usize {
        if intent.first == Some(warp) {
            return HIGHEST;
        }
        let quota = |warp: usize| if intent.oldest >> warp & 1 == 1 { intent.quota } else { 0 };
        let others = (0..self.held.len()).filter(|&other| intent.first != Some(other));
        let beyond: usize = others.map(|other| self.held[other].saturating_sub(quota(other))).sum();
        let room = intent.slack.saturating_sub(beyond);
        HIGHEST.min(room + quota(warp).saturating_sub(self.held[warp]))
    }
}

impl Reference for LimiterReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let intent = self.possible(intent);
        for (way, (warp, count)) in intent.takes.into_iter().enumerate() {
            inputs.set(&format!("allocated{way}_warp_i"), warp);
            inputs.set(&format!("allocated{way}_count_i"), count);
        }
        for (number, warp) in intent.frees.into_iter().enumerate() {
            inputs.set(&format!("freed{number}_valid_i"), u8::from(warp.is_some()));
            inputs.set(&format!("freed{number}_warp_i"), warp.unwrap_or(0));
        }
        let all = u64::MAX >> (64 - self.held.len());
        inputs.set("limits_oldest_i", intent.oldest & all);
        inputs.set("limits_first_i", intent.first.map_or(0u64, |warp| 1 << warp));
        inputs.set("limits_quota_i", intent.quota);
        inputs.set("limits_slack_i", intent.slack);
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let intent = self.possible(intent);
        outputs.set("held_o", self.held.iter().sum::<usize>());
        for (warp, count) in intent.takes {
            self.held[warp] += count;
        }
        for warp in intent.frees.into_iter().flatten() {
            self.held[warp] -= 1;
        }
        let allowances = (0..self.held.len()).map(|warp| self.allowance(warp, &intent) as u32);
        let mut packed = num_bigint::BigUint::default();
        for (warp, allowance) in allowances.enumerate() {
            packed |= num_bigint::BigUint::from(allowance) << (4 * warp);
        }
        outputs.set("limits_allowance_o", packed);
    }
}

//! Loop of the warp stack: 16 warps.

use super::super::noise::{Circuit, Event, field, signature};
use super::WARPS;
use crate::bench::Activity;

/// Heights that its counter has, from none on.
const HEIGHTS: usize = 2 * WARPS;

pub(super) struct Stack {
    warps: [u8; WARPS],
    height: usize,
}

impl Stack {
    pub const NEW: Stack = Stack { warps: [0; WARPS], height: 0 };

    #[inline(always)]
    pub fn top(&self) -> Option<u8> {
        (self.height != 0).then(|| self.warps[(self.height - 1) % WARPS])
    }

    /// Pops the top, if it is to be popped, and pushes a warp, if there is one.
    #[inline(always)]
    pub fn change(&mut self, pops: bool, pushed: Option<u8>) {
        if pops {
            self.height -= 1;
        }
        if let Some(warp) = pushed {
            self.warps[self.height % WARPS] = warp;
            self.height = (self.height + 1) % HEIGHTS;
        }
    }
}

struct Alone {
    pushes: Event,
    stack: Stack,
}

pub(in super::super) fn run(activity: Activity, cycles: u64) -> u64 {
    signature(Alone { pushes: Event::shared(activity, 4), stack: Stack::NEW }, cycles)
}

impl Circuit<1> for Alone {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        let top = self.stack.top();
        let pops = top.is_some() && field(noise, 12, 1) == 1;
        let pushed = self.pushes.happens(noise, 0).then(|| field(noise, 8, 4) as u8);
        self.stack.change(pops, pushed);
        top.map_or(0, |top| 1 | u64::from(top) << 1)
    }
}

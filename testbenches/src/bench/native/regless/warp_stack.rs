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

    /// Pops the top, if it is to be popped, behind pushing a warp, if there is one.
    #[inline(always)]
    pub fn change(&mut self, pops: bool, pushed: Option<u8>) {
        match pushed {
            Some(_) if pops => {}
            Some(warp) => {
                self.warps[self.height % WARPS] = warp;
                self.height = (self.height + 1) % HEIGHTS;
            }
            None => self.height -= usize::from(pops),
        }
    }
}

struct Alone {
    pushes: Event,
    stack: Stack,
}

pub(in super::super) fn run(activity: Activity, cycles: u64) -> u64 {
    signature(Alone { pushes: Event::shared(activity, 2), stack: Stack::NEW }, cycles)
}

impl Circuit<1> for Alone {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        let pushed = self.pushes.happens(noise, 0).then(|| field(noise, 8, 4) as u8);
        let top = pushed.or(self.stack.top());
        let pops = top.is_some() && field(noise, 12, 1) == 1;
        self.stack.change(pops, pushed);
        top.map_or(0, |top| 1 | u64::from(top) << 1)
    }
}

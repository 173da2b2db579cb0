//! Loop of the round-robin arbiter: 4 requests.

use super::noise::{Circuit, Event, signature};
use crate::bench::Activity;

struct Arbiter {
    active: Event,
    /// Requests behind the one granted last.
    behind_last: u64,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    signature(Arbiter { active: Event::active(activity), behind_last: 0 }, cycles)
}

impl Circuit<1> for Arbiter {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        let request = if self.active.happens(noise, 0) { noise >> 60 } else { 0 };
        let first = request & self.behind_last;
        // Both ways side by side, which is faster than one after the choice.
        let (grant, behind) = if first == 0 {
            (lowest_one(request), behind_lowest_one(request))
        } else {
            (lowest_one(first), behind_lowest_one(first))
        };
        if Event::OFTEN.happens(noise, 8) & (request != 0) {
            self.behind_last = behind;
        }
        let index = (grant >> 1) - (grant >> 3);
        u64::from(request != 0) | grant << 1 | index << 5
    }
}

#[inline(always)]
fn lowest_one(value: u64) -> u64 {
    value & value.wrapping_neg()
}

/// The bits above the lowest one; of 4.
#[inline(always)]
fn behind_lowest_one(value: u64) -> u64 {
    !(value ^ value.wrapping_sub(1)) & 0b1111
}

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
        let take = Event::OFTEN.happens(noise, 8);
        if request == 0 {
            return 0;
        }
        let first = request & self.behind_last;
        let index = if first == 0 { request } else { first }.trailing_zeros();
        if take {
            self.behind_last = 0b1110 << index & 0b1111;
        }
        1 | 2 << index | u64::from(index) << 5
    }
}

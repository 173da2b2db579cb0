//! Loop of the queue: 8 words of 32 bits.

use super::noise::{Circuit, Event, signature};
use crate::bench::Activity;

const DEPTH: u64 = 8;
/// Places for words: more than the queue holds, so that the next one is free even when the queue is full.
const PLACES: u64 = 16;

struct Fifo {
    active: Event,
    words: [u32; PLACES as usize],
    /// Words that have come, and that have left, since the start.
    pushed: u64,
    popped: u64,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let words = [0; PLACES as usize];
    signature(Fifo { active: Event::active(activity), words, pushed: 0, popped: 0 }, cycles)
}

impl Circuit<1> for Fifo {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        let count = self.pushed - self.popped;
        let (in_ready, out_valid) = (count != DEPTH, count != 0);
        let oldest = self.words[(self.popped % PLACES) as usize];
        let out_data = if out_valid { oldest } else { 0 };
        // Not to ask whether the word is taken is faster.
        self.words[(self.pushed % PLACES) as usize] = (noise >> 32) as u32;
        self.pushed += u64::from(self.active.happens(noise, 0) & in_ready);
        self.popped += u64::from(Event::OFTEN.happens(noise, 8) & out_valid);
        u64::from(in_ready) | u64::from(out_valid) << 1 | u64::from(out_data) << 2 | count << 34
    }
}

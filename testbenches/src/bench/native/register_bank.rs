//! Loop of the register bank: 256 rows, 2 writers.

use super::noise::{Circuit, Event, field, lanes, signature};
use super::row::Row;
use crate::bench::Activity;

struct Bank {
    active: Event,
    rows: Vec<Row>,
    /// What the last read gives, and its sum.
    read: Row,
    sum: u64,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let (active, rows) = (Event::active(activity), vec![Row::ZERO; 256]);
    signature(Bank { active, rows, read: Row::ZERO, sum: 0 }, cycles)
}

impl Circuit<1> for Bank {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        let first = self.active.happens(noise, 18);
        let outputs = self.sum ^ (1 | u64::from(!first) << 1);
        if self.active.happens(noise, 0) {
            self.read.capture(lanes(noise, 16, noise), &self.rows[field(noise, 8, 8)]);
            self.sum = self.read.sum();
        }
        if first {
            self.rows[field(noise, 26, 8)].write(lanes(noise, 34, noise), &Row::repeated(noise));
        } else if self.active.happens(noise, 36) {
            self.rows[field(noise, 44, 8)].write(lanes(noise, 52, noise), &Row::repeated(noise));
        }
        outputs
    }
}

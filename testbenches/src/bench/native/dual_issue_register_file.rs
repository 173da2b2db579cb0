//! Loop of the register file for two instructions a cycle.

use super::collectors::Arrival;
use super::dual_issue::{DualIssue, WRITERS, Write};
use super::noise::{Circuit, Event, field, lanes, signature};
use crate::bench::Activity;

/// Registers.
const REGISTERS: usize = 512;

struct DualIssueRegisterFile {
    active: Event,
    file: DualIssue<REGISTERS>,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    signature(DualIssueRegisterFile { active: Event::active(activity), file: DualIssue::new() }, cycles)
}

impl Circuit<4> for DualIssueRegisterFile {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; 4]) -> u64 {
        let [a, b, c, _] = *noise;
        let writes = self.writes(noise);
        let writable = self.file.writable(&writes);
        let mut outputs = self.file.operands;
        for (w, writable) in writable.into_iter().enumerate() {
            outputs ^= u64::from(writable) << (36 + w);
        }
        let [first_ready, second_ready] = self.file.room();
        let first = self.active.happens(a, 0) & first_ready;
        let second_ready = first & second_ready;
        let second = self.active.happens(b, 9) & second_ready;
        outputs ^= u64::from(first_ready) | u64::from(second_ready) << 1;
        let arrivals = [first.then(|| arrival0(noise)), second.then(|| arrival1(noise))];
        let unit_ready = if Event::OFTEN.happens(c, 17) { 0b11_1111 } else { field(c, 58, 6) };
        outputs ^ self.file.cycle(arrivals, unit_ready, &writes, writable)
    }
}

impl DualIssueRegisterFile {
    #[inline(always)]
    fn writes(&self, &[a, b, c, d]: &[u64; 4]) -> [Write; WRITERS] {
        let write = |word, valid, (register_word, register), (lanes_word, low), data, value| Write {
            valid: self.active.happens(word, valid),
            register: field(register_word, register, 9),
            lanes: lanes(lanes_word, low, data),
            value,
        };
        [
            write(c, 25, (c, 33), (c, 42), d, a),
            write(c, 44, (c, 52), (c, 61), b, c),
            write(d, 0, (d, 8), (d, 17), d, a),
        ]
    }
}

#[inline(always)]
fn arrival0(&[a, b, _, _]: &[u64; 4]) -> Arrival {
    let lanes = lanes(a, 16, a);
    Arrival {
        id: field(a, 8, 6),
        unit: field(a, 14, 2),
        sources: [
            source((a, 18), field(a, 26, 9), lanes),
            source((a, 35), field(a, 43, 9), lanes),
            source((a, 52), field(b, 0, 9), lanes),
        ],
    }
}

#[inline(always)]
fn arrival1(&[_, b, c, _]: &[u64; 4]) -> Arrival {
    let lanes = lanes(b, 25, b);
    Arrival {
        id: field(b, 17, 6),
        unit: field(b, 23, 2),
        sources: [
            source((b, 27), field(b, 35, 9), lanes),
            source((b, 44), field(b, 52, 9), lanes),
            source((c, 0), field(c, 8, 9), lanes),
        ],
    }
}

#[inline(always)]
fn source(valid: (u64, u32), register: usize, lanes: u32) -> Option<(usize, u32)> {
    Event::OFTEN.happens(valid.0, valid.1).then_some((register, lanes))
}

//! Loop of the source allocator: 8 slots, 32 lanes, 10 bits a register, 8 collectors.
//!
//! An operand is stale once its register has been written or its slot emptied after it was collected. Instead of
//! searching all operands in every such cycle, the loop notes when each register was written last and each slot
//! emptied last, and compares where an operand moves on.

use super::noise::{Circuit, Event, field, lanes, signature};
use super::row::Row;
use crate::bench::Activity;

const SOURCES: usize = 3;
const COLLECTORS: usize = 8;

/// An operand on its way.
#[derive(Clone, Copy)]
struct Operand {
    /// The cycle in which it was collected.
    since: u64,
    /// It as the outputs show it: valid, slot, register, lanes, idle; 0 if there is none.
    shown: u64,
}

struct Allocator {
    active: Event,
    cycle: u64,
    /// For each register the last cycle in which it was written.
    written: Box<[u64; 1024]>,
    /// For each slot the last cycle in which it was emptied.
    emptied: [u64; 8],
    collected: [[Operand; SOURCES]; COLLECTORS],
    delivered: [Operand; SOURCES],
    kept: [Operand; SOURCES],
    values: [Row; SOURCES],
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let allocator = Allocator {
        active: Event::active(activity),
        cycle: 0,
        written: Box::new([0; 1024]),
        emptied: [0; 8],
        collected: [[Operand::NONE; SOURCES]; COLLECTORS],
        delivered: [Operand::NONE; SOURCES],
        kept: [Operand::NONE; SOURCES],
        values: [Row::ZERO; SOURCES],
    };
    signature(allocator, cycles)
}

impl Operand {
    const NONE: Operand = Operand { since: 0, shown: 0 };

    /// It, or none. Whether it stays is hard to foretell: no branch.
    #[inline(always)]
    fn only_if(self, condition: bool) -> Operand {
        Operand { since: self.since, shown: self.shown & u64::from(condition).wrapping_neg() }
    }

    #[inline(always)]
    fn exists(self) -> bool {
        self.shown != 0
    }
}

impl Allocator {
    /// The operand, unless it is stale.
    #[inline(always)]
    fn fresh(&self, operand: Operand) -> Operand {
        let slot = field(operand.shown, 1, 3);
        let register = field(operand.shown, 4, 10);
        operand.only_if(self.written[register].max(self.emptied[slot]) <= operand.since)
    }

    /// Notes the registers written and the slot emptied in this cycle.
    #[inline(always)]
    fn note_changes(&mut self, b: u64) {
        for low in [11, 23] {
            if self.active.happens(b, low) {
                self.written[field(b, low + 8, 4)] = self.cycle;
            }
        }
        if Event::RARELY.happens(b, 35) {
            self.emptied[field(b, 43, 3)] = self.cycle;
        }
    }

    /// Offers the first operand kept: what the signature takes in.
    #[inline(always)]
    fn offer(&mut self, b: u64) -> u64 {
        let ready = Event::OFTEN.happens(b, 46);
        let mut outputs = 0;
        let mut earlier = false;
        for k in 0..SOURCES {
            let fresh = self.fresh(self.kept[k]);
            let first = fresh.exists() & !earlier;
            if first {
                outputs = fresh.shown ^ self.values[k].sum();
            }
            earlier |= first;
            // One that is not fresh any more keeps its place for this cycle.
            let taken = first & ready;
            self.delivered[k] = self.delivered[k].only_if(taken | !self.kept[k].exists());
            self.kept[k] = fresh.only_if(!taken);
        }
        outputs
    }

    /// Keeps the operands of the instruction dispatched in the cycle before that have a place.
    #[inline(always)]
    fn keep(&mut self, [a, b]: [u64; 2]) {
        for (k, value) in [b, a, b].into_iter().enumerate() {
            let delivered = std::mem::replace(&mut self.delivered[k], Operand::NONE);
            if delivered.exists() {
                self.kept[k] = self.fresh(delivered);
                self.values[k] = Row::repeated(value);
            }
        }
    }

    #[inline(always)]
    fn dispatch(&mut self, b: u64) {
        if self.active.happens(b, 0) {
            let left = std::mem::replace(&mut self.collected[field(b, 8, 3)], [Operand::NONE; SOURCES]);
            self.delivered = std::array::from_fn(|k| self.fresh(left[k]));
        }
    }

    #[inline(always)]
    fn collect(&mut self, [a, b]: [u64; 2]) {
        if !self.active.happens(a, 0) {
            return;
        }
        let slot = a >> 11 & 7;
        let collector = &mut self.collected[field(a, 8, 3)];
        for (k, (low, data)) in [(14, a), (29, b), (44, a)].into_iter().enumerate() {
            if Event::OFTEN.happens(a, low) {
                let lanes = u64::from(lanes(a, low + 12, data));
                let (register, idle) = (a >> (low + 8) & 15, a >> (low + 14) & 1);
                collector[k] = Operand {
                    since: self.cycle,
                    shown: 1 | slot << 1 | register << 4 | lanes << 14 | idle << 46,
                };
            }
        }
    }
}

impl Circuit<2> for Allocator {
    #[inline(always)]
    fn cycle(&mut self, &[a, b]: &[u64; 2]) -> u64 {
        self.cycle += 1;
        self.note_changes(b);
        let outputs = self.offer(b);
        self.keep([a, b]);
        self.dispatch(b);
        self.collect([a, b]);
        outputs
    }
}

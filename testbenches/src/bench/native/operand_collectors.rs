//! Loop of the operand collectors.

use super::collectors::{ALL_FREE, Arrival, BANKS, COLLECTORS, Collectors, Grant, Leaving, SOURCES};
use super::noise::{Circuit, Event, field, lanes, signature};
use super::row::Row;
use crate::bench::Activity;

struct OperandCollectors {
    active: Event,
    collectors: Collectors,
    /// What each operand position asked for in the cycle before: the banks give it in this one.
    asked: [Option<Grant>; SOURCES],
    /// What left in the cycle before.
    left: Option<Leaving>,
    /// Operands read, by position and collector.
    collected: [[Row; COLLECTORS]; SOURCES],
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let circuit = OperandCollectors {
        active: Event::active(activity),
        collectors: Collectors::new(),
        asked: [None; SOURCES],
        left: None,
        collected: [[Row::ZERO; COLLECTORS]; SOURCES],
    };
    signature(circuit, cycles)
}

impl Circuit<2> for OperandCollectors {
    #[inline(always)]
    fn cycle(&mut self, &[a, b]: &[u64; 2]) -> u64 {
        let mut outputs = self.operands([a, b]);
        outputs ^= u64::from(self.collectors.is_ready()) | (self.collectors.next() as u64) << 1;
        outputs ^= u64::from(self.collectors.is_blocked(field(b, 20, 10))) << 32;
        outputs ^= u64::from(self.collectors.is_blocked(field(b, 30, 10))) << 33;

        let arrives = self.active.happens(a, 0) && self.collectors.is_ready();
        let arrival = arrives.then(|| arrival(a, b));
        let unit_ready = if Event::OFTEN.happens(b, 12) { 0b11_1111 } else { field(b, 58, 6) };
        let step = self.collectors.cycle(arrival, unit_ready, ALL_FREE);
        outputs ^= reads(&step.grants);
        if let Some(leaving) = &step.leaving {
            let Leaving { collector, id, unit, .. } = *leaving;
            outputs ^= 1 << 4 | u64::from(id) << 5 | u64::from(unit) << 11 | (collector as u64) << 14;
        }
        self.asked = step.grants;
        self.left = step.leaving;
        outputs
    }
}

impl OperandCollectors {
    /// Operands of what left in the cycle before; what the banks give for others is kept.
    #[inline(always)]
    fn operands(&mut self, noise: [u64; 2]) -> u64 {
        let left = self.left.as_ref();
        let mut outputs = left.map_or(0, |left| 1 << 17 | u64::from(left.id) << 18);
        for (k, collected) in self.collected.iter_mut().enumerate() {
            let rotation = 7 * k as u32;
            let value = |register: usize| Row::repeated(noise[register % BANKS % 2]);
            match (self.asked[k], left) {
                (Some(asked), Some(left)) if asked.collector == left.collector => {
                    outputs ^= value(asked.register).sum_of(left.lanes[k]).rotate_left(rotation);
                    continue;
                }
                (Some(asked), _) => collected[asked.collector] = value(asked.register),
                (None, _) => {}
            }
            if let Some(left) = left {
                outputs ^= collected[left.collector].sum_of(left.lanes[k]).rotate_left(rotation);
            }
        }
        outputs
    }
}

#[inline(always)]
fn arrival(a: u64, b: u64) -> Arrival {
    let source = |valid, register, lanes| Event::OFTEN.happens(a, valid).then_some((register, lanes));
    Arrival {
        id: field(a, 8, 6),
        unit: field(a, 14, 2),
        sources: [
            source(16, field(a, 24, 10), lanes(a, 34, a)),
            source(36, field(a, 44, 10), lanes(a, 54, b)),
            source(56, field(b, 0, 10), lanes(b, 10, a)),
        ],
    }
}

/// The read ports of the banks.
#[inline(always)]
fn reads(grants: &[Option<Grant>; SOURCES]) -> u64 {
    grants.iter().flatten().fold(0, |outputs, grant| {
        // The first port shares a word with what stands before it.
        let low = if grant.register % BANKS == 0 { 24 } else { 32 };
        let row = (grant.register / BANKS) as u64;
        outputs ^ (1 | row << 1) << low ^ u64::from(grant.lanes)
    })
}

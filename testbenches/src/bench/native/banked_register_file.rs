//! Loop of the banked register file.

use super::collectors::{ALL_FREE, Arrival, BANKS, COLLECTORS, Collectors, REGISTERS, SOURCES, Step};
use super::noise::{Circuit, Event, field, lanes, signature};
use super::row::Row;
use crate::bench::Activity;

struct BankedRegisterFile {
    active: Event,
    collectors: Collectors,
    registers: Vec<Row>,
    /// Operands read, by position and collector.
    collected: [[Row; COLLECTORS]; SOURCES],
    /// What the signature takes in of what left in the cycle before.
    operands: u64,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let circuit = BankedRegisterFile {
        active: Event::active(activity),
        collectors: Collectors::new(),
        registers: vec![Row::ZERO; REGISTERS],
        collected: [[Row::ZERO; COLLECTORS]; SOURCES],
        operands: 0,
    };
    signature(circuit, cycles)
}

impl Circuit<2> for BankedRegisterFile {
    #[inline(always)]
    fn cycle(&mut self, &[a, b]: &[u64; 2]) -> u64 {
        let ready = self.collectors.is_ready();
        let mut outputs = self.operands ^ u64::from(ready);
        let registers = [field(b, 26, 10), field(b, 46, 10)];
        let free = registers.map(|register| !self.collectors.is_blocked(register));
        let writes = [self.active.happens(b, 18) && free[0], self.active.happens(b, 38) && free[1]];
        let conflict = writes[0] && registers[0] % BANKS == registers[1] % BANKS;
        let second = free[1] && !conflict;
        outputs ^= u64::from(free[0]) << 18 | u64::from(second) << 19;

        let arrival = (self.active.happens(a, 0) && ready).then(|| arrival(a, b));
        let unit_ready = if Event::OFTEN.happens(b, 10) { 0b11_1111 } else { field(b, 58, 6) };
        let step = self.collectors.cycle(arrival, unit_ready, ALL_FREE);
        if let Some(leaving) = &step.leaving {
            outputs ^= 1 << 1 | u64::from(leaving.id) << 2 | u64::from(leaving.unit) << 8;
        }
        self.operands = self.collect(&step);
        if writes[0] {
            self.registers[registers[0]].write(lanes(b, 36, a), &Row::repeated(b));
        }
        if writes[1] && !conflict {
            self.registers[registers[1]].write(lanes(b, 56, a), &Row::repeated(b));
        }
        outputs
    }
}

impl BankedRegisterFile {
    /// Keeps operands that have been read, but for those of the instruction that leaves, which go out: what the
    /// signature takes in of them in the cycle to come.
    #[inline(always)]
    fn collect(&mut self, step: &Step) -> u64 {
        let leaving = step.leaving.as_ref();
        let mut outputs = leaving.map_or(0, |leaving| 1 << 11 | u64::from(leaving.id) << 12);
        for (k, collected) in self.collected.iter_mut().enumerate() {
            let rotation = 7 * k as u32;
            match (step.grants[k], leaving) {
                (Some(grant), Some(leaving)) if grant.collector == leaving.collector => {
                    let value = &self.registers[grant.register];
                    outputs ^= value.sum_of(leaving.lanes[k]).rotate_left(rotation);
                    continue;
                }
                (Some(grant), _) => collected[grant.collector] = self.registers[grant.register],
                (None, _) => {}
            }
            if let Some(leaving) = leaving {
                outputs ^= collected[leaving.collector].sum_of(leaving.lanes[k]).rotate_left(rotation);
            }
        }
        outputs
    }
}

#[inline(always)]
fn arrival(a: u64, b: u64) -> Arrival {
    let active = lanes(a, 16, a);
    let source = |valid, register| Event::OFTEN.happens(a, valid).then_some((register, active));
    Arrival {
        id: field(a, 8, 6),
        unit: field(a, 14, 2),
        sources: [source(18, field(a, 26, 10)), source(36, field(a, 44, 10)), source(54, field(b, 0, 10))],
    }
}

//! Loop of the register file for two instructions a cycle.

use super::collectors::{ALL_FREE, Arrival, COLLECTORS, Collectors, SOURCES, Step};
use super::noise::{Circuit, Event, field, lanes, signature};
use super::row::Row;
use crate::bench::Activity;

/// Groups of collectors, and instructions taken a cycle at most.
const WAYS: usize = 2;
/// Banks; register `r` lies in bank `r mod 8`.
const BANKS: usize = 8;
/// Registers.
const REGISTERS: usize = 512;
/// Writers: two results, a fill.
const WRITERS: usize = 3;

struct DualIssueRegisterFile {
    active: Event,
    groups: [Group; WAYS],
    registers: Box<[Row; REGISTERS]>,
    /// The group that the next instruction goes to.
    turn: usize,
    /// What the signature takes in of the operands that left in the cycle before.
    operands: u64,
}

/// Instructions that wait, with the operands that they have.
struct Group {
    collectors: Collectors<BANKS, REGISTERS>,
    /// Operands read, by position and collector.
    collected: [[Row; COLLECTORS]; SOURCES],
}

/// A register that is offered to be written.
struct Write {
    valid: bool,
    register: usize,
    lanes: u32,
    /// The word that the value repeats.
    value: u64,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let group = || Group { collectors: Collectors::new(), collected: [[Row::ZERO; COLLECTORS]; SOURCES] };
    let circuit = DualIssueRegisterFile {
        active: Event::active(activity),
        groups: [group(), group()],
        registers: Box::new([Row::ZERO; REGISTERS]),
        turn: 0,
        operands: 0,
    };
    signature(circuit, cycles)
}

impl Circuit<4> for DualIssueRegisterFile {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; 4]) -> u64 {
        let writes = self.writes(noise);
        let taken = self.taken(&writes);
        let mut outputs = self.operands ^ taken.ready << 36;

        let issued = self.deal(noise);
        outputs ^= issued.ready;
        let mut unit_ready =
            if Event::OFTEN.happens(noise[2], 17) { 0b11_1111 } else { field(noise[2], 58, 6) };
        let mut free = ALL_FREE;
        self.operands = 0;
        for (number, (group, arrival)) in self.groups.iter_mut().zip(issued.arrivals).enumerate() {
            let step = group.collectors.cycle(arrival, unit_ready, free);
            if let Some(leaving) = &step.leaving {
                let dispatch = 1 | u64::from(leaving.id) << 1 | u64::from(leaving.unit) << 7;
                outputs ^= dispatch << (2 + 10 * number);
                unit_ready &= !(1 << leaving.unit);
            }
            for grant in step.grants.iter().flatten() {
                free &= !(0xff << (8 * (grant.register % BANKS)));
            }
            self.operands ^= group.collect(number, &step, &self.registers);
        }
        for (write, taken) in writes.iter().zip(taken.writes) {
            if taken {
                self.registers[write.register].write(write.lanes, &Row::repeated(write.value));
            }
        }
        outputs
    }
}

/// Writes that are taken, and the outputs that say so.
struct Taken {
    writes: [bool; WRITERS],
    ready: u64,
}

/// What each group gets, and the outputs that say so.
struct Issued {
    arrivals: [Option<Arrival>; WAYS],
    ready: u64,
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

    /// A write is taken unless its register has still to be read or an earlier one is for its bank.
    #[inline(always)]
    fn taken(&self, writes: &[Write; WRITERS]) -> Taken {
        let mut taken = Taken { writes: [false; WRITERS], ready: 0 };
        let mut busy = 0_u8;
        for (w, write) in writes.iter().enumerate() {
            let [first, second] = &self.groups;
            let blocked =
                first.collectors.is_blocked(write.register) | second.collectors.is_blocked(write.register);
            let bank = 1 << (write.register % BANKS);
            let ready = !blocked & (busy & bank == 0);
            taken.ready |= u64::from(ready) << w;
            taken.writes[w] = ready & write.valid;
            busy |= if taken.writes[w] { bank } else { 0 };
        }
        taken
    }

    /// Deals the instructions that are there and can be taken to the groups in turn.
    #[inline(always)]
    fn deal(&mut self, &[a, b, c, _]: &[u64; 4]) -> Issued {
        let (turn, other) = (self.turn, 1 - self.turn);
        let first_ready = self.groups[turn].collectors.is_ready();
        let first = self.active.happens(a, 0) & first_ready;
        let second_ready = first & self.groups[other].collectors.is_ready();
        let second = self.active.happens(b, 9) & second_ready;
        let source = |valid: (u64, u32), register: usize, lanes: u32| {
            Event::OFTEN.happens(valid.0, valid.1).then_some((register, lanes))
        };
        let arrival0 = || {
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
        };
        let arrival1 = || {
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
        };
        let mut arrivals = [None, None];
        arrivals[turn] = first.then(arrival0);
        arrivals[other] = second.then(arrival1);
        self.turn ^= usize::from(first != second);
        Issued { arrivals, ready: u64::from(first_ready) | u64::from(second_ready) << 1 }
    }
}

impl Group {
    /// Keeps operands that have been read, but for those of the instruction that leaves, which go out: what the
    /// signature takes in of them in the cycle to come, as those of group `number`.
    #[inline(always)]
    fn collect(&mut self, number: usize, step: &Step, registers: &[Row; REGISTERS]) -> u64 {
        let leaving = step.leaving.as_ref();
        let id = leaving.map_or(0, |leaving| 1 | u64::from(leaving.id) << 1);
        let mut outputs = id << (22 + 7 * number);
        for (k, collected) in self.collected.iter_mut().enumerate() {
            let rotation = 7 * (SOURCES * number + k) as u32;
            match (step.grants[k], leaving) {
                (Some(grant), Some(leaving)) if grant.collector == leaving.collector => {
                    outputs ^= registers[grant.register].sum_of(leaving.lanes[k]).rotate_left(rotation);
                    continue;
                }
                (Some(grant), _) => collected[grant.collector] = registers[grant.register],
                (None, _) => {}
            }
            if let Some(leaving) = leaving {
                outputs ^= collected[leaving.collector].sum_of(leaving.lanes[k]).rotate_left(rotation);
            }
        }
        outputs
    }
}

//! Loop of a register read unit: 4 instructions, 9 bits an identifier.

use super::super::noise::{Circuit, Event, Field, Fields, lanes, signature};
use super::super::row::Row;
use super::{BANKS, places};
use crate::bench::Activity;

const ISSUES: usize = 2;
const SOURCES: usize = 3;
const RESULTS: usize = 4;
const ENTRIES: usize = 4;
const ID_BITS: u32 = 9;
/// Bits of what an instruction waits for: its sources, the cycle after it has come, and its results.
const FIRST_RESULT: usize = SOURCES + 1;
const ARRIVAL: u8 = 1 << SOURCES;

struct ReadUnit {
    served: Event,
    enters: Event,
    entries: [Entry; ENTRIES],
    values: [[Row; SOURCES]; ENTRIES],
    /// Entries with an instruction.
    occupied: u8,
    head: usize,
    tail: usize,
    /// The entry dispatched in the cycle before.
    left: Option<usize>,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    id: u16,
    lanes: u32,
    sources: u8,
    results: u8,
    /// Positions it waits for, one bit each.
    waiting: u8,
    lines: [u8; RESULTS],
}

#[derive(Clone, Copy)]
struct EnterFields {
    valid: Field,
    id: Field,
    lanes: Field,
    sources: Field,
    results: Field,
}

/// What a bank has served.
#[derive(Clone, Copy)]
struct ServedFields {
    valid: Field,
    entry: Field,
    reads: Field,
    source: Field,
    reserves: Field,
    result: Field,
    line: Field,
}

/// A value that a bank has read.
#[derive(Clone, Copy)]
struct ValueFields {
    valid: Field,
    entry: Field,
    source: Field,
}

struct UnitFields {
    enters: [EnterFields; ISSUES],
    served: [ServedFields; BANKS],
    values: [ValueFields; BANKS],
    ready: Field,
}

const FIELDS: UnitFields = UnitFields::new();
const WORDS: usize = FIELDS.ready.word + 1;

impl EnterFields {
    const fn next(fields: &mut Fields) -> EnterFields {
        EnterFields {
            valid: fields.next(8),
            id: fields.next(ID_BITS),
            lanes: fields.next(2),
            sources: fields.next(SOURCES as u32),
            results: fields.next(RESULTS as u32),
        }
    }
}

impl ServedFields {
    const fn next(fields: &mut Fields) -> ServedFields {
        ServedFields {
            valid: fields.next(8),
            entry: fields.next(2),
            reads: fields.next(1),
            source: fields.next(2),
            reserves: fields.next(1),
            result: fields.next(2),
            line: fields.next(4),
        }
    }
}

impl ValueFields {
    const fn next(fields: &mut Fields) -> ValueFields {
        ValueFields { valid: fields.next(8), entry: fields.next(2), source: fields.next(2) }
    }
}

impl UnitFields {
    const fn new() -> UnitFields {
        let mut fields = Fields::NONE;
        let enters = [EnterFields::next(&mut fields), EnterFields::next(&mut fields)];
        let mut served = [ServedFields::next(&mut fields); BANKS];
        let mut bank = 1;
        while bank < BANKS {
            served[bank] = ServedFields::next(&mut fields);
            bank += 1;
        }
        let mut values = [ValueFields::next(&mut fields); BANKS];
        bank = 1;
        while bank < BANKS {
            values[bank] = ValueFields::next(&mut fields);
            bank += 1;
        }
        UnitFields { enters, served, values, ready: fields.next(8) }
    }
}

/// Words that inputs take their data from: the lanes of each instruction, then the values of the banks.
const VALUE_DATA: usize = ISSUES;

const OUTPUTS: [u32; 7 + 2 * RESULTS] = places([1, 1, 2, 1, 9, 1, 9, 1, 4, 1, 4, 1, 4, 1, 4], 0).0;

pub(in super::super) fn run(activity: Activity, cycles: u64) -> u64 {
    let unit = ReadUnit {
        served: Event::active(activity),
        enters: Event::shared(activity, 16),
        entries: [Entry::default(); ENTRIES],
        values: [[Row::ZERO; SOURCES]; ENTRIES],
        occupied: 0,
        head: 0,
        tail: 0,
        left: None,
    };
    signature(unit, cycles)
}

impl ReadUnit {
    /// What the signature takes in of the operands of the instruction dispatched in the cycle before.
    #[inline(always)]
    fn operands(&self) -> u64 {
        let Some(left) = self.left else { return 0 };
        let entry = &self.entries[left];
        let mut outputs = 1 << OUTPUTS[5] ^ u64::from(entry.id) << OUTPUTS[6];
        for (k, value) in self.values[left].iter().enumerate() {
            let lanes = if entry.sources >> k & 1 == 1 { entry.lanes } else { 0 };
            outputs ^= value.sum_of(lanes).rotate_left(7 * k as u32);
        }
        for (k, line) in entry.lines.iter().enumerate() {
            if entry.results >> k & 1 == 1 {
                outputs ^= 1 << OUTPUTS[7 + 2 * k] ^ u64::from(*line) << OUTPUTS[8 + 2 * k];
            }
        }
        outputs
    }

    /// Takes in instructions: gives what each entry waits for from now on.
    #[inline(always)]
    fn enter(&mut self, noise: &[u64; WORDS]) -> [u8; ENTRIES] {
        let mut waits = [0; ENTRIES];
        for (i, fields) in FIELDS.enters.iter().enumerate() {
            if self.enters.happens(noise[fields.valid.word], fields.valid.low) {
                let entry = &mut self.entries[self.tail];
                entry.id = fields.id.of(noise) as u16;
                entry.lanes = lanes(noise[fields.lanes.word], fields.lanes.low, noise[i]);
                (entry.sources, entry.results) =
                    (fields.sources.of(noise) as u8, fields.results.of(noise) as u8);
                waits[self.tail] |= entry.sources | ARRIVAL | entry.results << FIRST_RESULT;
                self.occupied |= 1 << self.tail;
                self.tail = (self.tail + 1) % ENTRIES;
            }
        }
        waits
    }
}

impl Circuit<WORDS> for ReadUnit {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let free = |entry: usize| u64::from(self.occupied >> (entry % ENTRIES) & 1 == 0);
        let mut outputs = self.operands()
            ^ free(self.tail) << OUTPUTS[0]
            ^ free(self.tail + 1) << OUTPUTS[1]
            ^ (self.tail as u64) << OUTPUTS[2];
        let head = self.head;
        let complete = self.occupied >> head & 1 == 1 && self.entries[head].waiting == 0;
        let dispatches = complete && Event::OFTEN.happens(noise[FIELDS.ready.word], FIELDS.ready.low);
        if dispatches {
            outputs ^= 1 << OUTPUTS[3] ^ u64::from(self.entries[head].id) << OUTPUTS[4];
        }
        for entry in &mut self.entries {
            entry.waiting &= !ARRIVAL;
        }
        for served in FIELDS.served {
            if self.served.happens(noise[served.valid.word], served.valid.low) {
                let entry = &mut self.entries[served.entry.of(noise)];
                let (source, result) = (served.source.of(noise), served.result.of(noise));
                if served.reads.of(noise) == 1 && source < SOURCES {
                    entry.waiting &= !(1 << source);
                }
                if served.reserves.of(noise) == 1 {
                    entry.waiting &= !(1 << (FIRST_RESULT + result));
                    entry.lines[result] = served.line.of(noise) as u8;
                }
            }
        }
        for (b, ValueFields { valid, entry, source }) in FIELDS.values.into_iter().enumerate() {
            let source = source.of(noise);
            if source < SOURCES && self.served.happens(noise[valid.word], valid.low) {
                self.values[entry.of(noise)][source] = Row::repeated(noise[(VALUE_DATA + b) % WORDS]);
            }
        }
        let waits = self.enter(noise);
        for (entry, waits) in self.entries.iter_mut().zip(waits) {
            entry.waiting |= waits;
        }
        self.left = dispatches.then_some(head);
        if dispatches {
            self.occupied &= !(1 << head);
            self.head = (head + 1) % ENTRIES;
        }
        outputs
    }
}

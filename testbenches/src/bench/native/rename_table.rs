//! Loop of the rename table: 512 names, 8 banks of 32 rows, 16 warps.

use super::noise::{Circuit, Event, Field, Fields, signature};
use super::renaming::{Given, NAME_BITS, RESULTS, Renaming, SOURCES, WARP_BITS, WAYS, WRITERS};
use crate::bench::Activity;
use crate::bench::drive::RARELY;

/// Words of noise.
const WORDS: usize = 7;

/// Where the inputs of an instruction lie in the noise.
#[derive(Clone, Copy)]
struct Issue {
    valid: Field,
    warp: Field,
    sources: [Name; SOURCES],
    results: [Name; RESULTS],
    /// The event, and the word of the names.
    release: (Field, usize),
    taken: Field,
}

/// A name that there may be.
#[derive(Clone, Copy)]
struct Name {
    valid: Field,
    name: Field,
}

/// Where all inputs lie.
struct Inputs {
    issues: [Issue; WAYS],
    writes: [(Name, Field); WRITERS],
    retire: (Field, usize),
}

struct RenameTable {
    active: Event,
    names: Renaming,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let circuit = RenameTable { active: Event::active(activity), names: Renaming::EMPTY };
    signature(circuit, cycles)
}

const INPUTS: Inputs = inputs();

const fn inputs() -> Inputs {
    let mut fields = Fields::NONE;
    let first = issue(&mut fields, 0);
    let second = issue(&mut fields, 1);
    let writes = [write(&mut fields), write(&mut fields), write(&mut fields)];
    // Of the words of data the instructions have the first two.
    Inputs { issues: [first, second], writes, retire: (fields.next(8), 2) }
}

const fn issue(fields: &mut Fields, data: usize) -> Issue {
    Issue {
        valid: fields.next(8),
        warp: fields.next(WARP_BITS),
        sources: [name(fields), name(fields), name(fields)],
        results: [name(fields), name(fields), name(fields), name(fields)],
        release: (fields.next(8), data),
        taken: fields.next(8),
    }
}

const fn name(fields: &mut Fields) -> Name {
    Name { valid: fields.next(8), name: fields.next(NAME_BITS) }
}

const fn write(fields: &mut Fields) -> (Name, Field) {
    (name(fields), fields.next(8))
}

impl Circuit<WORDS> for RenameTable {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let rarely = |field: Field| field.of(noise) as u64 >= 256 - RARELY;
        let mut given = Given::NONE;
        let mut outputs = Outputs::default();
        // The names that die: data repeats in all words, so they are a word and some single names.
        let mut dead = if rarely(INPUTS.retire.0) { noise[INPUTS.retire.1] } else { 0 };
        let mut may = true;
        for inputs in &INPUTS.issues {
            for source in &inputs.sources {
                outputs.push_lookup(self.names.look_up(source.name.of(noise)));
            }
            let taken = Event::OFTEN.happens(noise[inputs.taken.word], inputs.taken.low);
            let valid = self.happens(inputs.valid, noise);
            let before = given.count;
            let results = inputs.results.iter().filter(|result| self.happens(result.valid, noise));
            let results = results.map(|result| result.name.of(noise));
            let ready = !valid || self.names.allocate(results, inputs.warp.of(noise), may, &mut given);
            outputs.push(u64::from(ready), 1);
            outputs.push((given.count - before) as u64, 3);
            may &= taken;
            if taken && rarely(inputs.release.0) {
                dead |= noise[inputs.release.1];
            }
        }
        let mut written = [None; WRITERS];
        for (written, (write, dies)) in written.iter_mut().zip(&INPUTS.writes) {
            let name = write.name.of(noise);
            outputs.push_lookup(self.names.look_up(name));
            let dies = self.happens(write.valid, noise) && rarely(*dies);
            *written = dies.then_some(name);
        }
        let freed = self.names.freed(&given);
        for name in freed {
            let warp = name.map_or(0, |name| self.names.warp(name));
            outputs.push(u64::from(name.is_some()), 1);
            outputs.push(warp as u64, WARP_BITS);
        }
        outputs.push(self.names.count, 9);
        self.names.update(dead, written, freed, &given);
        outputs.sum()
    }
}

impl RenameTable {
    #[inline(always)]
    fn happens(&self, field: Field, noise: &[u64]) -> bool {
        self.active.happens(noise[field.word], field.low)
    }
}

/// Outputs side by side in words, none across two.
#[derive(Default)]
struct Outputs {
    sum: u64,
    used: u32,
}

impl Outputs {
    #[inline(always)]
    fn push(&mut self, value: u64, bits: u32) {
        if self.used + bits > 64 {
            self.used = 0;
        }
        self.sum ^= value << self.used;
        self.used += bits;
    }

    /// Whether a name has a register, and which.
    #[inline(always)]
    fn push_lookup(&mut self, register: Option<u8>) {
        self.push(u64::from(register.is_some()), 1);
        self.push(u64::from(register.unwrap_or(0)), 8);
    }

    #[inline(always)]
    fn sum(self) -> u64 {
        self.sum
    }
}

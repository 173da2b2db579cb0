//! Loop of the rename table: 512 names, 8 banks of 32 rows, 16 warps.

use super::noise::{Circuit, Event, Field, Fields, signature};
use crate::bench::Activity;
use crate::bench::drive::RARELY;

const NAMES: usize = 512;
const NAME_BITS: u32 = 9;
const BANKS: usize = 8;
const WARP_BITS: u32 = 4;
const WAYS: usize = 2;
const SOURCES: usize = 3;
const RESULTS: usize = 4;
const WRITERS: usize = 3;
/// Words of noise.
const WORDS: usize = 7;
/// Words of a set of names.
const SET: usize = NAMES / 64;

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
    /// Register and warp of each name.
    register_of: [u8; NAMES],
    warp_of: [u8; NAMES],
    mapped: [u64; SET],
    dying: [u64; SET],
    used: [u32; BANKS],
    count: u64,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let circuit = RenameTable {
        active: Event::active(activity),
        register_of: [0; NAMES],
        warp_of: [0; NAMES],
        mapped: [0; SET],
        dying: [0; SET],
        used: [0; BANKS],
        count: 0,
    };
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

/// Names that results have got or kept in a cycle.
struct Given {
    /// Names that have got a register, with it and the warp.
    new: [(u16, u8, u8); WAYS * RESULTS],
    count: usize,
    /// Names that had one and are written.
    kept: [u64; SET],
}

impl Circuit<WORDS> for RenameTable {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let rarely = |field: Field| field.of(noise) as u64 >= 256 - RARELY;
        let mut given = Given { new: [(0, 0, 0); WAYS * RESULTS], count: 0, kept: [0; SET] };
        let mut outputs = Outputs::default();
        // The names that die: data repeats in all words, so they are a word and some single names.
        let mut dead = if rarely(INPUTS.retire.0) { noise[INPUTS.retire.1] } else { 0 };
        let mut may = true;
        let mut busy = 0_u8;
        for inputs in &INPUTS.issues {
            for source in &inputs.sources {
                outputs.push_lookup(self.look_up(source.name.of(noise)));
            }
            let taken = Event::OFTEN.happens(noise[inputs.taken.word], inputs.taken.low);
            let valid = self.happens(inputs.valid, noise);
            let before = given.count;
            let ready = !valid || self.allocate(inputs, noise, may, &mut given, &mut busy);
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
            outputs.push_lookup(self.look_up(name));
            let dies = self.happens(write.valid, noise) && rarely(*dies);
            *written = dies.then_some(name);
        }
        let lowest = self.lowest_dying();
        let mut freed = [None; 2];
        for (freed, name) in freed.iter_mut().zip(lowest) {
            *freed = name.filter(|&name| given.kept[name / 64] >> (name % 64) & 1 == 0);
            let warp = freed.map_or(0, |name| u64::from(self.warp_of[name]));
            outputs.push(u64::from(freed.is_some()), 1);
            outputs.push(warp, WARP_BITS);
        }
        outputs.push(self.count, 9);
        self.update(dead, written, freed, &given);
        outputs.sum()
    }
}

impl RenameTable {
    #[inline(always)]
    fn happens(&self, field: Field, noise: &[u64]) -> bool {
        self.active.happens(noise[field.word], field.low)
    }

    #[inline(always)]
    fn is_mapped(&self, name: usize) -> bool {
        self.mapped[name / 64] >> (name % 64) & 1 == 1
    }

    #[inline(always)]
    fn look_up(&self, name: usize) -> Option<u8> {
        self.is_mapped(name).then_some(self.register_of[name])
    }

    /// Gives registers to the results of an instruction if it `may` have some; whether each has one then.
    #[inline(always)]
    fn allocate(&self, inputs: &Issue, noise: &[u64], may: bool, given: &mut Given, busy: &mut u8) -> bool {
        let mut ready = true;
        for result in &inputs.results {
            if !self.happens(result.valid, noise) {
                continue;
            }
            let name = result.name.of(noise);
            if self.is_mapped(name) {
                given.kept[name / 64] |= 1 << (name % 64);
                continue;
            }
            if given.new[..given.count].iter().any(|(new, ..)| usize::from(*new) == name) {
                continue;
            }
            let free = (0..BANKS).map(|step| (name + step) % BANKS);
            let bank = free.into_iter().find(|&bank| self.used[bank] != u32::MAX && *busy >> bank & 1 == 0);
            match bank.filter(|_| may) {
                Some(bank) => {
                    *busy |= 1 << bank;
                    let register = (self.used[bank].trailing_ones() << 3) as u8 | bank as u8;
                    given.new[given.count] = (name as u16, register, inputs.warp.of(noise) as u8);
                    given.count += 1;
                }
                None => ready = false,
            }
        }
        ready
    }

    /// The two lowest dead names.
    #[inline(always)]
    fn lowest_dying(&self) -> [Option<usize>; 2] {
        let mut found = [None; 2];
        let mut count = 0;
        for (word, &names) in self.dying.iter().enumerate() {
            let mut names = names;
            while names != 0 && count < 2 {
                found[count] = Some(64 * word + names.trailing_zeros() as usize);
                names &= names - 1;
                count += 1;
            }
        }
        found
    }

    #[inline(always)]
    fn update(
        &mut self,
        dead: u64,
        written: [Option<usize>; WRITERS],
        freed: [Option<usize>; 2],
        given: &Given,
    ) {
        for name in written.into_iter().flatten() {
            self.dying[name / 64] |= self.mapped[name / 64] & 1 << (name % 64);
        }
        for (word, dying) in self.dying.iter_mut().enumerate() {
            *dying = (*dying | (dead & self.mapped[word])) & !given.kept[word];
        }
        for name in freed.into_iter().flatten() {
            self.dying[name / 64] &= !(1 << (name % 64));
            self.mapped[name / 64] &= !(1 << (name % 64));
            let register = self.register_of[name];
            self.used[usize::from(register) % BANKS] &= !(1 << (register >> 3));
            self.count -= 1;
        }
        for &(name, register, warp) in &given.new[..given.count] {
            let name = usize::from(name);
            self.register_of[name] = register;
            self.warp_of[name] = warp;
            self.mapped[name / 64] |= 1 << (name % 64);
            self.used[usize::from(register) % BANKS] |= 1 << (register >> 3);
        }
        self.count += given.count as u64;
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

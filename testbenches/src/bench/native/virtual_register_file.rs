//! Loop of the virtual register file: 512 names of 16 warps for 256 registers.

use super::collectors::Arrival;
use super::dual_issue::{DualIssue, Write};
use super::noise::{Circuit, Event, Field, Fields, lanes, signature};
use super::renaming::{Given, NAME_BITS, REGISTERS, RESULTS, Renaming, SOURCES, WARP_BITS, WAYS, WRITERS};
use crate::bench::Activity;

/// Warps.
const WARPS: usize = 1 << WARP_BITS;

/// Where the inputs of an instruction lie in the noise.
#[derive(Clone, Copy)]
struct Issue {
    valid: Field,
    id: Field,
    unit: Field,
    /// The field, and the word of the data.
    active: (Field, usize),
    warp: Field,
    sources: [Name; SOURCES],
    results: [Name; RESULTS],
    /// The event, and the word of the names.
    release: (Field, usize),
}

/// A name that there may be.
#[derive(Clone, Copy)]
struct Name {
    valid: Field,
    name: Field,
}

/// Where the inputs of a write lie.
#[derive(Clone, Copy)]
struct WriteInputs {
    name: Name,
    /// The field, and the word of the data.
    lanes: (Field, usize),
    /// The word that the value repeats.
    value: usize,
    dead: Field,
}

/// Where all inputs lie.
struct Inputs {
    issues: [Issue; WAYS],
    /// The event, all units ready where it happens, and the word of the data.
    unit_ready: (Field, usize),
    writes: [WriteInputs; WRITERS],
    /// Whether the first name dies.
    retire: Field,
    oldest: Field,
    turn: Field,
    parked: Field,
    /// The event, and the word of the warps.
    ended: (Field, usize),
    claim: Field,
    quota: Field,
    /// Words of noise.
    words: usize,
}

const INPUTS: Inputs = inputs();
const WORDS: usize = INPUTS.words;

/// Fields, and draws of data, in the order of the ports.
const fn inputs() -> Inputs {
    let mut fields = Fields::NONE;
    let issues = [issue(&mut fields, 0), issue(&mut fields, 2)];
    let unit_ready = (fields.next(8), 4);
    let (result0, result1) = (write(&mut fields, 5), write(&mut fields, 7));
    let (dead0, dead1) = (fields.next(8), fields.next(8));
    let fill = write(&mut fields, 9);
    let writes = [
        WriteInputs { dead: dead0, ..result0 },
        WriteInputs { dead: dead1, ..result1 },
        WriteInputs { dead: fields.next(8), ..fill },
    ];
    let retire = fields.next(1);
    let warps = WARPS as u32;
    let (oldest, turn, parked) = (fields.next(warps), fields.next(warps), fields.next(warps));
    let ended = (fields.next(8), 11);
    let (claim, quota) = (fields.next(5), fields.next(4));
    let words = fields.words();
    Inputs { issues, unit_ready, writes, retire, oldest, turn, parked, ended, claim, quota, words }
}

const fn issue(fields: &mut Fields, data: usize) -> Issue {
    Issue {
        valid: fields.next(8),
        id: fields.next(6),
        unit: fields.next(2),
        active: (fields.next(2), data),
        warp: fields.next(WARP_BITS),
        sources: [name(fields), name(fields), name(fields)],
        results: [name(fields), name(fields), name(fields), name(fields)],
        release: (fields.next(8), data + 1),
    }
}

const fn name(fields: &mut Fields) -> Name {
    Name { valid: fields.next(8), name: fields.next(NAME_BITS) }
}

/// Whether the result is dead comes later.
const fn write(fields: &mut Fields, data: usize) -> WriteInputs {
    let (name, lanes) = (name(fields), fields.next(2));
    WriteInputs { name, lanes: (lanes, data), value: data + 1, dead: name.valid }
}

struct VirtualRegisterFile {
    active: Event,
    names: Renaming,
    file: DualIssue<REGISTERS>,
    /// Registers of each warp.
    held: [u16; WARPS],
    /// Warps that may take registers, one bit each, and what each of them may hold.
    admitted: usize,
    claim: u16,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let circuit = VirtualRegisterFile {
        active: Event::active(activity),
        names: Renaming::EMPTY,
        file: DualIssue::new(),
        held: [0; WARPS],
        admitted: 0,
        claim: 0,
    };
    signature(circuit, cycles)
}

impl Circuit<WORDS> for VirtualRegisterFile {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let writes = INPUTS.writes.map(|inputs| self.write(&inputs, noise));
        // A name without a register is nothing to write to.
        let offered =
            writes.each_ref().map(|(write, mapped)| Write { valid: write.valid & mapped, ..*write });
        let writable = self.file.writable(&offered);
        let ready: [bool; WRITERS] = std::array::from_fn(|w| writable[w] & writes[w].1);
        let mut outputs = self.file.operands;
        // Names that die: of results that nobody reads, and the first when its warp ends.
        let mut dying = [None; WRITERS + 1];
        dying[WRITERS] = (INPUTS.retire.of(noise) == 1).then_some(0);
        for (w, inputs) in INPUTS.writes.iter().enumerate() {
            outputs ^= u64::from(ready[w]) << (36 + w);
            let dies = offered[w].valid & ready[w] && rarely(inputs.dead, noise);
            dying[w] = dies.then(|| inputs.name.name.of(noise));
        }
        self.admit(noise);
        let issued = self.issue(noise);
        outputs ^= issued.outputs;
        let (event, data) = INPUTS.unit_ready;
        let all_ready = Event::OFTEN.happens(noise[event.word], event.low);
        let unit_ready = if all_ready { 0b11_1111 } else { (noise[data % WORDS] >> 58) as usize };
        outputs ^= self.file.cycle(issued.arrivals, unit_ready, &offered, writable);

        let freed = self.names.freed(&issued.given);
        for name in freed.into_iter().flatten() {
            self.held[self.names.warp(name)] -= 1;
        }
        outputs ^= (self.admitted as u64) << 39 | self.names.count << 55;
        self.names.update(issued.dead, dying, freed, &issued.given);
        outputs
    }
}

/// What becomes of the instructions of a cycle.
struct Issued {
    arrivals: [Option<Arrival>; WAYS],
    given: Given,
    /// Names that die with them, the same in each word.
    dead: u64,
    /// What the signature takes in.
    outputs: u64,
}

impl VirtualRegisterFile {
    #[inline(always)]
    fn happens(&self, field: Field, noise: &[u64; WORDS]) -> bool {
        self.active.happens(noise[field.word], field.low)
    }

    /// A write to the register of its name, and whether it has one.
    #[inline(always)]
    fn write(&self, inputs: &WriteInputs, noise: &[u64; WORDS]) -> (Write, bool) {
        let register = self.names.look_up(inputs.name.name.of(noise));
        let write = Write {
            valid: self.happens(inputs.name.valid, noise),
            register: usize::from(register.unwrap_or(0)),
            lanes: lanes_of(inputs.lanes, noise),
            value: noise[inputs.value % WORDS],
        };
        (write, register.is_some())
    }

    /// Renames the instructions; those are taken that have their registers and whose collectors have room.
    #[inline(always)]
    fn issue(&mut self, noise: &[u64; WORDS]) -> Issued {
        let mut issued = Issued { arrivals: [None, None], given: Given::NONE, dead: 0, outputs: 0 };
        let mut may = true;
        let room = self.file.room();
        for (way, (inputs, room)) in INPUTS.issues.iter().zip(room).enumerate() {
            let valid = self.happens(inputs.valid, noise);
            let warp = inputs.warp.of(noise);
            let before = issued.given.count;
            let results = inputs.results.iter().filter(|result| self.happens(result.valid, noise));
            let results = results.map(|result| result.name.of(noise));
            let renamed = !valid || self.names.allocate(results, warp, may, &mut issued.given);
            self.held[warp] += (issued.given.count - before) as u16;
            // The second comes only with the first.
            let ready = renamed & room & may;
            issued.outputs ^= u64::from(ready) << way;
            if way == 0 {
                issued.outputs ^= u64::from(!renamed);
            }
            may = valid & ready;
            if may {
                issued.dead |= names_where(inputs.release, noise);
                issued.arrivals[way] = Some(self.arrival(inputs, noise));
            }
        }
        issued
    }

    #[inline(always)]
    fn arrival(&self, inputs: &Issue, noise: &[u64; WORDS]) -> Arrival {
        let lanes = lanes_of(inputs.active, noise);
        let sources = inputs.sources.map(|source| {
            let is_there = Event::OFTEN.happens(noise[source.valid.word], source.valid.low);
            let register = self.names.look_up(source.name.of(noise)).filter(|_| is_there)?;
            Some((usize::from(register), lanes))
        });
        Arrival { id: inputs.id.of(noise), unit: inputs.unit.of(noise), sources }
    }

    /// Admits warps that ask, as long as what is promised fits.
    #[inline(always)]
    fn admit(&mut self, noise: &[u64; WORDS]) {
        let (oldest, turn) = (INPUTS.oldest.of(noise), INPUTS.turn.of(noise));
        let parked = INPUTS.parked.of(noise);
        let (event, data) = INPUTS.ended;
        let ended = if rarely(event, noise) { (noise[data % WORDS] >> 48) as usize } else { 0 };
        if self.admitted == 0 {
            self.claim = INPUTS.claim.of(noise) as u16;
        }
        let quota = INPUTS.quota.of(noise) as u16;
        let kept = self.admitted & !ended;
        let asking = turn & !kept & !(oldest & parked);
        let oldest_asks = asking & oldest != 0;
        let is_spoken_for = kept & oldest != 0 || oldest_asks;
        let promised = kept | if is_spoken_for { 0 } else { oldest & oldest.wrapping_neg() };
        let fit = |claiming: usize| {
            let mut sum = 0;
            for (warp, &held) in self.held.iter().enumerate() {
                let quota = quota * ((oldest | turn) >> warp & 1) as u16;
                sum += if claiming >> warp & 1 == 1 { self.claim } else { held.max(quota) };
            }
            usize::from(sum) <= REGISTERS
        };
        let first = asking & asking.wrapping_neg();
        let granted = if fit(promised | asking) {
            asking
        } else if fit(promised | first) {
            first
        } else {
            0
        };
        let mut given_up = 0;
        if oldest_asks && granted == 0 {
            for (warp, &held) in self.held.iter().enumerate() {
                given_up |= usize::from(held <= quota) << warp;
            }
            given_up &= oldest & parked;
        }
        self.admitted = (kept | granted) & !given_up;
    }
}

#[inline(always)]
fn rarely(field: Field, noise: &[u64; WORDS]) -> bool {
    Event::RARELY.happens(noise[field.word], field.low)
}

/// A word of names where the event happens; data repeats in all words.
#[inline(always)]
fn names_where((event, data): (Field, usize), noise: &[u64; WORDS]) -> u64 {
    if rarely(event, noise) { noise[data % WORDS] } else { 0 }
}

#[inline(always)]
fn lanes_of((field, data): (Field, usize), noise: &[u64; WORDS]) -> u32 {
    lanes(noise[field.word], field.low, noise[data % WORDS])
}

//! Loop of the register file hierarchy: 8 banks of 64 rows, 8 slots of 3 entries and a last result.

use super::collectors::{ALL_FREE, Arrival, COLLECTORS, Collectors, SOURCES, Step};
use super::dual_issue::WAYS;
use super::noise::{Circuit, Event, Field, lanes, signature};
use super::register_file_hierarchy_inputs::{IssueFields, LAYOUT, SourceFields, WORDS, WriteFields};
use super::row::Row;
use crate::bench::Activity;

/// Banks; register `r` lies in bank `r mod 8`.
const BANKS: usize = 8;
/// Registers.
const REGISTERS: usize = 512;
/// Slots.
const SLOTS: usize = 8;
/// Entries of a slot in the operand register file; the one above is its last result.
const ORF_ENTRIES: usize = 3;
/// Places: the slot in the low bits, the entry above.
const PLACES: usize = SLOTS * (ORF_ENTRIES + 1);
/// Writers: two results, a fill.
const WRITERS: usize = 3;

struct RegisterFileHierarchy {
    active: Event,
    groups: [Group; WAYS],
    registers: Box<[Row; REGISTERS]>,
    /// By place, last results included. A copy to one of these is lost.
    entries: Box<[Row; PLACES]>,
    /// How many operands have still to be read of each place.
    to_read: [u8; PLACES],
    /// Places that a copy is on its way to, one bit each.
    copying: u32,
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
    /// What each of them has to do with entries.
    above: [Above; COLLECTORS],
    /// For each operand position the collectors that wait for a copy, one bit each.
    waits: [u8; SOURCES],
    /// The copy of the instruction that left in the cycle before.
    copy: Option<Copied>,
}

/// What an instruction has to do with entries.
#[derive(Clone, Copy, Default)]
struct Above {
    lanes: u32,
    /// Places of the operands that are in entries.
    reads: [Option<usize>; SOURCES],
    /// The place that an operand is copied to, and which operand.
    copy: Option<(usize, usize)>,
}

/// A value that is copied.
struct Copied {
    place: usize,
    lanes: u32,
    value: Row,
}

/// An instruction that is offered.
struct Issue {
    valid: bool,
    id: usize,
    unit: usize,
    /// Registers of the operands that are in the main register file.
    registers: [Option<usize>; SOURCES],
    above: Above,
    /// The place named for a copy, whether there is one or not.
    copies: bool,
    copy_place: usize,
}

/// A register that is offered to be written.
struct Write {
    valid: bool,
    register: usize,
    lanes: u32,
    /// The word that the value repeats.
    value: u64,
    main: bool,
    place: Option<usize>,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let group = || Group {
        collectors: Collectors::new(),
        collected: [[Row::ZERO; COLLECTORS]; SOURCES],
        above: [Above::default(); COLLECTORS],
        waits: [0; SOURCES],
        copy: None,
    };
    let circuit = RegisterFileHierarchy {
        active: Event::active(activity),
        groups: [group(), group()],
        registers: Box::new([Row::ZERO; REGISTERS]),
        entries: Box::new([Row::ZERO; PLACES]),
        to_read: [0; PLACES],
        copying: 0,
        turn: 0,
        operands: 0,
    };
    signature(circuit, cycles)
}

/// Lanes by a field, with the `draw`-th draw of data.
#[inline(always)]
fn masked(noise: &[u64; WORDS], field: Field, draw: usize) -> u32 {
    lanes(noise[field.word], field.low, noise[draw % WORDS])
}

#[inline(always)]
fn happens(event: Event, noise: &[u64; WORDS], field: Field) -> bool {
    event.happens(noise[field.word], field.low)
}

/// A place, of fields of its slot and its entry.
#[inline(always)]
fn place(slot: usize, entry: usize) -> usize {
    entry * SLOTS + slot
}

impl Circuit<WORDS> for RegisterFileHierarchy {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let writes = self.writes(noise);
        let issues = [self.issue(noise, 0), self.issue(noise, 1)];
        let copies = self.groups.each_mut().map(|group| group.copy.take());
        let (written, ready) = self.taken(&writes, &copies);
        let mut outputs = self.operands ^ ready << 36;
        let (dealt, ready) = self.deal(&issues);
        outputs ^= ready;

        // An instruction waits for copies that are on their way, those of the one before it included.
        let mut copying = self.copying;
        for copy in copies.iter().flatten() {
            copying &= !(1 << copy.place);
        }
        let awaited = [copying, copying | issues[0].copies_to()];
        let mut unit_ready = match happens(Event::OFTEN, noise, LAYOUT.unit_ready) {
            true => 0b11_1111,
            false => (noise[2 % WORDS] >> 58) as usize,
        };
        let mut free = ALL_FREE;
        self.operands = 0;
        for (number, way) in dealt.into_iter().enumerate() {
            let issue = way.map(|way| (&issues[way], awaited[way]));
            let group = &mut self.groups[number];
            let entering = group.collectors.next();
            group.collectors.hold_back(group.waits[0] | group.waits[1] | group.waits[2]);
            let step = group.collectors.cycle(issue.map(|(issue, _)| issue.arrival()), unit_ready, free);
            if let Some(leaving) = &step.leaving {
                let dispatch = 1 | u64::from(leaving.id) << 1 | u64::from(leaving.unit) << 7;
                outputs ^= dispatch << (2 + 10 * number);
                unit_ready &= !(1 << leaving.unit);
            }
            for grant in step.grants.iter().flatten() {
                free &= !(0xff << (8 * (grant.register % BANKS)));
            }
            self.operands ^= group.collect(number, &step, &self.registers, &self.entries, &mut self.to_read);
            copies.iter().flatten().for_each(|copy| group.arrives(copy.place));
            if let Some((issue, awaited)) = issue {
                group.enter(entering, issue, awaited, &mut self.to_read);
                copying |= issue.copies_to();
            }
        }
        self.copying = copying;
        self.write(&writes, written, &copies);
        outputs
    }
}

impl RegisterFileHierarchy {
    #[inline(always)]
    fn issue(&self, noise: &[u64; WORDS], way: usize) -> Issue {
        let IssueFields { valid, id, unit, active, slot, sources, copy } = &LAYOUT.issues[way];
        let slot = slot.of(noise);
        let lanes = masked(noise, *active, way);
        let is_there = |[valid, _, _, _]: &SourceFields| happens(Event::OFTEN, noise, *valid);
        let in_entry = |[_, _, in_entry, _]: &SourceFields| in_entry.of(noise) == 1;
        let register =
            |fields: &SourceFields| (is_there(fields) & !in_entry(fields)).then_some(fields[1].of(noise));
        let read = |fields: &SourceFields| {
            (is_there(fields) & in_entry(fields)).then_some(place(slot, fields[3].of(noise)))
        };
        let copies = copy[0].of(noise) == 1;
        let copy_place = place(slot, copy[1].of(noise));
        let source = copy[2].of(noise).min(SOURCES - 1);
        Issue {
            valid: happens(self.active, noise, *valid),
            id: id.of(noise),
            unit: unit.of(noise),
            registers: [register(&sources[0]), register(&sources[1]), register(&sources[2])],
            above: Above {
                lanes,
                reads: [read(&sources[0]), read(&sources[1]), read(&sources[2])],
                copy: copies.then_some((copy_place, source)),
            },
            copies,
            copy_place,
        }
    }

    #[inline(always)]
    fn writes(&self, noise: &[u64; WORDS]) -> [Write; WRITERS] {
        let write = |[valid, register, lanes]: &WriteFields, draw: usize| Write {
            valid: happens(self.active, noise, *valid),
            register: register.of(noise),
            lanes: masked(noise, *lanes, draw),
            value: noise[(draw + 1) % WORDS],
            main: true,
            place: None,
        };
        let result = |way: usize| {
            let (fields, [main, in_entry, slot, entry]) = &LAYOUT.results[way];
            let place = place(slot.of(noise), entry.of(noise));
            let place = (in_entry.of(noise) == 1).then_some(place);
            Write { main: main.of(noise) == 1, place, ..write(fields, 3 + 2 * way) }
        };
        [result(0), result(1), write(&LAYOUT.fill, 7)]
    }

    #[inline(always)]
    fn is_in_use(&self, place: usize) -> bool {
        (self.to_read[place] != 0) | (self.copying >> place & 1 == 1)
    }

    /// Which writes are taken, and the outputs that say so: by the main register file unless the register has still to
    /// be read or an earlier one is for its bank; by an entry unless it is in use or the way copies.
    #[inline(always)]
    fn taken(&self, writes: &[Write; WRITERS], copies: &[Option<Copied>; WAYS]) -> ([bool; WRITERS], u64) {
        let (mut taken, mut outputs, mut busy) = ([false; WRITERS], 0, 0_u8);
        for (w, write) in writes.iter().enumerate() {
            let above = write.place.is_none_or(|place| {
                let in_lrf = place >= ORF_ENTRIES * SLOTS;
                !self.is_in_use(place) & (in_lrf | copies[w % WAYS].is_none())
            });
            let [first, second] = &self.groups;
            let blocked =
                first.collectors.is_blocked(write.register) | second.collectors.is_blocked(write.register);
            let bank = 1 << (write.register % BANKS);
            let ready = above & (!write.main | (!blocked & (busy & bank == 0)));
            outputs |= u64::from(ready) << w;
            taken[w] = ready & write.valid;
            busy |= if write.valid & write.main & !blocked & above { bank } else { 0 };
        }
        (taken, outputs)
    }

    /// Deals the instructions that are there and can be taken to the groups in turn: which each group gets, and the
    /// outputs that say which can be.
    #[inline(always)]
    fn deal(&mut self, issues: &[Issue; WAYS]) -> ([Option<usize>; WAYS], u64) {
        let (turn, other) = (self.turn, 1 - self.turn);
        let [a, b] = issues;
        let first_ready =
            self.groups[turn].collectors.is_ready() & !(a.copies & self.is_in_use(a.copy_place));
        let first = a.valid & first_ready;
        let used_before = a.valid & a.uses(b.copy_place);
        let second_free = !(b.copies & (self.is_in_use(b.copy_place) | used_before));
        let second_ready = first & self.groups[other].collectors.is_ready() & second_free;
        let second = b.valid & second_ready;
        let mut dealt = [None, None];
        dealt[turn] = first.then_some(0);
        dealt[other] = second.then_some(1);
        self.turn ^= usize::from(first != second);
        (dealt, u64::from(first_ready) | u64::from(second_ready) << 1)
    }

    /// Writes what is taken; what is copied comes first.
    #[inline(always)]
    fn write(&mut self, writes: &[Write; WRITERS], taken: [bool; WRITERS], copies: &[Option<Copied>; WAYS]) {
        for (w, (write, taken)) in writes.iter().zip(taken).enumerate() {
            let copy = if w < WAYS { copies[w].as_ref() } else { None };
            if let Some(Copied { place, lanes, value }) = copy.filter(|copy| copy.place < ORF_ENTRIES * SLOTS)
            {
                self.entries[*place].write(*lanes, value);
            }
            let value = Row::repeated(write.value);
            if let Some(place) = write.place.filter(|_| taken) {
                self.entries[place].write(write.lanes, &value);
            }
            if taken & write.main {
                self.registers[write.register].write(write.lanes, &value);
            }
        }
    }
}

impl Issue {
    #[inline(always)]
    fn arrival(&self) -> Arrival {
        let lanes = self.above.lanes;
        let sources = self.registers.map(|register| register.map(|register| (register, lanes)));
        Arrival { id: self.id, unit: self.unit, sources }
    }

    /// Whether it reads a place or copies to it.
    #[inline(always)]
    fn uses(&self, place: usize) -> bool {
        let reads = self.above.reads.iter().fold(false, |any, read| any | (*read == Some(place)));
        reads | (self.copies & (self.copy_place == place))
    }

    /// The place that it copies to, as a bit.
    #[inline(always)]
    fn copies_to(&self) -> u32 {
        u32::from(self.copies) << self.copy_place
    }
}

impl Group {
    /// Keeps what an instruction has to do with entries.
    #[inline(always)]
    fn enter(&mut self, collector: usize, issue: &Issue, awaited: u32, to_read: &mut [u8; PLACES]) {
        self.above[collector] = issue.above;
        for (waits, read) in self.waits.iter_mut().zip(issue.above.reads) {
            if let Some(place) = read {
                to_read[place] += 1;
                *waits |= ((awaited >> place & 1) as u8) << collector;
            }
        }
    }

    /// A copy is written: nobody waits for it any more.
    #[inline(always)]
    fn arrives(&mut self, place: usize) {
        for (k, waits) in self.waits.iter_mut().enumerate() {
            for (collector, above) in self.above.iter().enumerate() {
                *waits &= !(u8::from(above.reads[k] == Some(place)) << collector);
            }
        }
    }

    /// Keeps operands that have been read, but for those of the instruction that leaves, which go out with those that
    /// it finds in entries: what the signature takes in of them in the cycle to come, as those of group `number`.
    #[inline(always)]
    fn collect(
        &mut self,
        number: usize,
        step: &Step,
        registers: &[Row; REGISTERS],
        entries: &[Row; PLACES],
        to_read: &mut [u8; PLACES],
    ) -> u64 {
        for (k, grant) in step.grants.iter().enumerate() {
            if let Some(grant) = grant {
                self.collected[k][grant.collector] = registers[grant.register];
            }
        }
        let Some(leaving) = &step.leaving else { return 0 };
        let above = self.above[leaving.collector];
        let mut outputs = (1 | u64::from(leaving.id) << 1) << (22 + 7 * number);
        for (k, read) in above.reads.into_iter().enumerate() {
            let rotation = 7 * (SOURCES * number + k) as u32;
            let sum = match read {
                Some(place) => {
                    to_read[place] -= 1;
                    entries[place].sum_of(above.lanes)
                }
                None => self.collected[k][leaving.collector].sum_of(leaving.lanes[k]),
            };
            outputs ^= sum.rotate_left(rotation);
        }
        self.copy = above.copy.map(|(place, source)| {
            let mut value = Row::ZERO;
            value.write(leaving.lanes[source], &self.collected[source][leaving.collector]);
            Copied { place, lanes: above.lanes, value }
        });
        outputs
    }
}

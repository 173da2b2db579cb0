//! Which candidates get an entry: greedily by score; what does not fit is reduced, and what is cut off competes again.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

use super::Parameters;
use super::accesses::{Register, Runs};
use super::candidates::{Candidate, Energies, reads, writes};
use super::placement::{Allocation, Places, ResultPlace, SourcePlace};
use crate::compile::occupancy::Occupancy;

/// Gives entries to the candidates of strand `number`, and says so in `places`.
pub fn select(
    registers: &[Register],
    runs: &Runs,
    number: u32,
    parameters: &Parameters,
    places: &mut [Places],
) -> Vec<Allocation> {
    let &Parameters { entries, ref energies, transfers } = parameters;
    let mut strand = Strand {
        number,
        registers,
        runs,
        energies,
        transfers,
        places,
        entries: vec![Occupancy::default(); usize::from(entries)],
        copying: BTreeSet::new(),
        waiting: BinaryHeap::new(),
        origins: Vec::new(),
        allocations: Vec::new(),
    };
    for (number, register) in registers.iter().enumerate() {
        strand.compete(number, 0..register.accesses.len(), &[]);
    }
    strand.run();
    strand.allocations
}

/// Where candidates come from: the maximal one, which those reduced from it are parts of.
struct Origin {
    whole: Candidate,
    /// Of a read allocation: candidates of as many reads as are tried now that have not been looked at.
    left: usize,
    /// One of them has got an entry.
    is_placed: bool,
}

/// A candidate that competes, and what it saves.
struct Ranked {
    score: f64,
    candidate: Candidate,
    origin: usize,
}

struct Strand<'a> {
    number: u32,
    registers: &'a [Register],
    runs: &'a Runs,
    energies: &'a Energies,
    transfers: bool,
    places: &'a mut [Places],
    entries: Vec<Occupancy>,
    /// Instructions that copy an operand: one at most.
    copying: BTreeSet<usize>,
    waiting: BinaryHeap<Ranked>,
    origins: Vec<Origin>,
    allocations: Vec<Allocation>,
}

impl Strand<'_> {
    fn run(&mut self) {
        while let Some(Ranked { candidate, origin, .. }) = self.waiting.pop() {
            let of = &self.registers[candidate.register];
            if candidate.is_read(of) {
                self.try_read(&candidate, origin);
            } else if !self.place(&candidate) {
                self.reduce_write(&candidate, origin);
            } else {
                self.compete_for_rest(origin, &candidate.accesses);
            }
        }
    }

    /// The maximal candidates in a range of a register's accesses compete; `placed` already have an entry.
    fn compete(&mut self, number: usize, range: Range<usize>, placed: &[usize]) {
        let of = &self.registers[number];
        let mut served: BTreeSet<usize> = placed.iter().copied().collect();
        for candidate in writes(number, of, range.clone()) {
            if candidate.saved(of, self.energies) > 0.0 {
                served.extend(&candidate.accesses);
                self.add_origin(candidate);
            }
        }
        let left: Vec<usize> =
            range.filter(|access| of.accesses[*access].is_read() && !served.contains(access)).collect();
        for candidate in reads(number, of, &left, self.runs) {
            self.add_origin(candidate);
        }
    }

    fn add_origin(&mut self, whole: Candidate) {
        self.origins.push(Origin { whole: whole.clone(), left: 1, is_placed: false });
        let origin = self.origins.len() - 1;
        if !self.rank(whole, origin) {
            self.origins[origin].left = 0;
        }
    }

    /// A candidate competes if it saves energy; whether it does.
    fn rank(&mut self, candidate: Candidate, origin: usize) -> bool {
        let score = candidate.score(&self.registers[candidate.register], self.energies);
        let saves = score > 0.0;
        if saves {
            self.waiting.push(Ranked { score, candidate, origin });
        }
        saves
    }

    /// What is left of an origin competes anew, without the accesses that have an entry.
    fn compete_for_rest(&mut self, origin: usize, placed: &[usize]) {
        let whole = self.origins[origin].whole.clone();
        let of = &self.registers[whole.register];
        if whole.is_read(of) {
            let (first, last) = (placed[0], placed[placed.len() - 1]);
            let (before, behind): (Vec<usize>, Vec<usize>) = whole
                .accesses
                .iter()
                .filter(|&&access| access < first || access > last)
                .partition(|&&access| access < first);
            for part in [before, behind] {
                for candidate in reads(whole.register, of, &part, self.runs) {
                    self.add_origin(candidate);
                }
            }
            return;
        }
        let (Some(&first), Some(&last)) = (placed.first(), placed.last()) else {
            return self.compete_for_reads(&whole);
        };
        self.compete(whole.register, whole.first()..first, &[]);
        self.compete(whole.register, last + 1..whole.last() + 1, &[]);
        // Reads between that see a write which was cut off.
        let between: Vec<usize> = (whole.accesses.iter().copied())
            .filter(|access| (first..=last).contains(access) && !placed.contains(access))
            .filter(|&access| of.accesses[access].is_read())
            .collect();
        for candidate in reads(whole.register, of, &between, self.runs) {
            self.add_origin(candidate);
        }
    }

    /// The reads of a write allocation of which nothing could be placed compete as read allocations.
    fn compete_for_reads(&mut self, whole: &Candidate) {
        let of = &self.registers[whole.register];
        let left: Vec<usize> =
            whole.accesses.iter().copied().filter(|&access| of.accesses[access].is_read()).collect();
        for candidate in reads(whole.register, of, &left, self.runs) {
            self.add_origin(candidate);
        }
    }

    /// Accesses are taken off the tail of a write allocation until an entry is free; if nothing is left, it starts again from
    /// the second write (§III-B).
    fn reduce_write(&mut self, candidate: &Candidate, origin: usize) {
        let of = &self.registers[candidate.register];
        let start = candidate.span(of).start;
        let free_until = self.entries.iter().map(|entry| entry.free_until(start)).max().unwrap_or(start);
        let mut end = candidate.last();
        while let Some(read) = candidate.accesses.iter().rev().find(|&&access| {
            access < end && of.accesses[access].is_read() && of.accesses[access].position <= free_until
        }) {
            end = *read;
            let parts = writes(candidate.register, of, candidate.first()..end + 1);
            let part = parts.into_iter().find(|part| part.first() == candidate.first());
            if part.is_some_and(|part| self.rank(part, origin)) {
                return;
            }
        }
        let whole = &self.origins[origin].whole;
        let mut later = whole
            .accesses
            .iter()
            .copied()
            .filter(|&access| access > candidate.first() && !of.accesses[access].is_read());
        let (number, last) = (whole.register, whole.last());
        let next = later.find_map(|write| {
            writes(number, of, write..last + 1).into_iter().find(|part| part.first() == write)
        });
        match next {
            Some(part) if self.rank(part.clone(), origin) => {}
            Some(part) => self.reduce_write(&part, origin),
            None => self.compete_for_rest(origin, &[]),
        }
    }

    /// A read allocation gets an entry, or the next fewer reads of its origin compete (§III-B: subsets of N − 1 consecutive
    /// reads, if none of these is selected of N − 2, and so on).
    fn try_read(&mut self, candidate: &Candidate, number: usize) {
        let tried = candidate.accesses.len();
        self.origins[number].left -= 1;
        if !self.origins[number].is_placed && self.place(candidate) {
            self.origins[number].is_placed = true;
            self.compete_for_rest(number, &candidate.accesses);
        }
        let origin = &self.origins[number];
        if origin.left > 0 || origin.is_placed {
            return;
        }
        let whole = origin.whole.clone();
        let of = &self.registers[whole.register];
        for fewer in (2..tried).rev() {
            let mut ranked = 0;
            for part in whole.accesses.windows(fewer) {
                let copy = &of.accesses[part[0]];
                let serves = part.iter().all(|&read| self.runs.dominates(copy, &of.accesses[read]));
                let part = Candidate { register: whole.register, accesses: part.to_vec() };
                ranked += usize::from(copy.in_all_lanes && serves && self.rank(part, number));
            }
            self.origins[number].left = ranked;
            if ranked > 0 {
                return;
            }
        }
    }

    /// Gives a candidate an entry that is free over its range; whether there is one.
    fn place(&mut self, candidate: &Candidate) -> bool {
        let of = &self.registers[candidate.register];
        let (span, copies) = (candidate.span(of), candidate.is_read(of));
        if !self.transfers && (copies || candidate.live_outs(of) > 0) {
            return false;
        }
        if copies && self.copying.contains(&span.start) {
            return false;
        }
        let Some(entry) = self.entries.iter_mut().position(|entry| entry.hold(&span)) else { return false };
        let entry = entry as u8;
        if copies {
            self.copying.insert(span.start);
        }
        for (index, &number) in candidate.accesses.iter().enumerate() {
            let access = &of.accesses[number];
            let places = &mut self.places[access.position];
            if !access.is_read() {
                let live_out = candidate.is_live_out(of, number);
                places.results[access.operand] = ResultPlace { entry: Some(entry), live_out };
            } else if index == 0 {
                places.sources[access.operand] = SourcePlace { entry: None, copied_to: Some(entry) };
            } else {
                places.sources[access.operand] = SourcePlace { entry: Some(entry), copied_to: None };
            }
        }
        self.allocations.push(Allocation {
            strand: self.number,
            entry,
            register: of.register,
            is_read: copies,
            range: span.start as u32..span.end as u32,
            accesses: candidate.accesses.len() as u32,
            live_outs: candidate.live_outs(of) as u32,
            score: candidate.score(of, self.energies),
        });
        true
    }
}

impl Ord for Ranked {
    /// By what is saved; of two that save as much, the earlier one comes first.
    fn cmp(&self, other: &Ranked) -> Ordering {
        let key = |ranked: &Ranked| {
            let Candidate { register, accesses } = &ranked.candidate;
            (*register, accesses[0], accesses.len())
        };
        self.score.total_cmp(&other.score).then_with(|| key(other).cmp(&key(self)))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

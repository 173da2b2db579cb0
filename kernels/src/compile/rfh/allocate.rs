//! Entries for the values of a strand: first those that save most energy for the time they hold an entry (§4).
//!
//! A written value holds an entry from its write to its last read there, a value of the main register file that is
//! copied from the first read. Values that the arithmetic units alone write and read go to the last result file if
//! it is free all the time. All others compete for the operand register file; what does not fit gives up its last read,
//! and competes again. Reads that a value has given up may be served by a copy.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

use super::Parameters;
use super::energy::{AccessEnergy, LevelEnergies};
use super::placement::{Places, ResultPlace, SourcePlace, Upper};
use super::values::{Access, AccessKind, Value};
use crate::compile::occupancy::Occupancy;

/// Places the values of a strand.
pub fn allocate(values: &[Value], parameters: &Parameters, places: &mut [Places]) {
    let mut strand = Strand {
        values,
        energies: parameters.energies,
        places,
        lrf: Occupancy::default(),
        orf: vec![Occupancy::default(); usize::from(parameters.orf_entries)],
        copying: BTreeSet::new(),
    };
    let left = strand.place_last_results();
    strand.place_operands(left);
}

/// A part of a value that would hold an entry: its accesses from one to another, which is a read. If the first is a
/// read, it copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    value: usize,
    first: usize,
    last: usize,
}

/// A candidate and the energy that it saves an instruction, pJ.
struct Ranked {
    score: f64,
    candidate: Candidate,
}

/// A strand, as far as its values are placed.
struct Strand<'a> {
    values: &'a [Value],
    energies: LevelEnergies,
    places: &'a mut [Places],
    lrf: Occupancy,
    orf: Vec<Occupancy>,
    /// Instructions that copy an operand.
    copying: BTreeSet<usize>,
}

impl Strand<'_> {
    /// Fills the last result file; gives the written values that are left, each with all its reads.
    fn place_last_results(&mut self) -> Vec<Candidate> {
        let written = (0..self.values.len()).filter(|&value| self.values[value].is_written);
        let all: Vec<Candidate> = written.filter_map(|value| self.longest(value)).collect();
        let mut ranked: BinaryHeap<Ranked> =
            all.iter().filter_map(|&candidate| self.rank(candidate, self.energies.lrf)).collect();
        let mut placed = BTreeSet::new();
        while let Some(Ranked { candidate, .. }) = ranked.pop() {
            let span = self.span(candidate);
            if self.accesses(candidate).iter().all(|access| access.by_alu) && self.lrf.hold(&span) {
                self.place(candidate, Upper::Lrf);
                placed.insert(candidate.value);
            }
        }
        all.into_iter().filter(|candidate| !placed.contains(&candidate.value)).collect()
    }

    /// Fills the operand register file: with these written values, and with values of the main register file.
    fn place_operands(&mut self, written: Vec<Candidate>) {
        let mut ranked = BinaryHeap::new();
        for candidate in &written {
            ranked.extend(self.rank(*candidate, self.energies.orf));
        }
        let from_before = (0..self.values.len()).filter(|&value| !self.values[value].is_written);
        for value in from_before.collect::<Vec<_>>() {
            self.rank_copies(value, 0, &mut ranked);
        }
        while let Some(Ranked { candidate, .. }) = ranked.pop() {
            let span = self.span(candidate);
            if self.copies(candidate) && self.copying.contains(&span.start) {
                self.rank_copies(candidate.value, candidate.first + 1, &mut ranked);
                continue;
            }
            match self.orf.iter_mut().position(|entry| entry.hold(&span)) {
                Some(entry) => {
                    self.place(candidate, Upper::Orf(entry as u8));
                    self.rank_copies(candidate.value, candidate.last + 1, &mut ranked);
                }
                None => self.shorten(candidate, &mut ranked),
            }
        }
    }

    /// The candidate without its last read competes again; if nothing is left of a written one, copies of it do.
    fn shorten(&self, candidate: Candidate, ranked: &mut BinaryHeap<Ranked>) {
        let shorter =
            candidate.last.checked_sub(1).and_then(|last| self.up_to(Candidate { last, ..candidate }));
        match shorter.and_then(|shorter| self.rank(shorter, self.energies.orf)) {
            Some(shorter) => ranked.push(shorter),
            None if self.copies(candidate) => {}
            None => self.rank_copies(candidate.value, candidate.first + 1, ranked),
        }
    }

    /// The reads of a value from an access on that may be served by copies compete: runs of reads without a write.
    fn rank_copies(&self, value: usize, from: usize, ranked: &mut BinaryHeap<Ranked>) {
        let accesses = &self.values[value].accesses;
        let mut first = None;
        for (index, access) in accesses.iter().enumerate().skip(from) {
            match access.kind {
                AccessKind::Write { .. } => first = None,
                AccessKind::Read { in_all_lanes } if first.is_none() => first = in_all_lanes.then_some(index),
                AccessKind::Read { .. } => {}
            }
            let run_ends = accesses.get(index + 1).is_none_or(|next| !next.is_read());
            if let Some(first) = first.filter(|_| run_ends) {
                let candidate = Candidate { value, first, last: index };
                ranked.extend(self.rank(candidate, self.energies.orf).filter(|_| first < index));
            }
        }
    }

    /// The candidate with all reads of a written value.
    fn longest(&self, value: usize) -> Option<Candidate> {
        let last = self.values[value].accesses.len() - 1;
        self.up_to(Candidate { value, first: 0, last })
    }

    /// The longest candidate that ends no later: with a read, without a write that comes late, and with every write
    /// awaited by a read before control may leave the strand.
    fn up_to(&self, candidate: Candidate) -> Option<Candidate> {
        let value = &self.values[candidate.value];
        let accesses = self.accesses(candidate);
        let leaves_before = |write: &Access, next: &Access| {
            !write.is_read() && value.exits.iter().any(|exit| (write.position..next.position).contains(exit))
        };
        let late = accesses.iter().position(|access| access.kind == AccessKind::Write { late: true });
        let unawaited = accesses.windows(2).position(|pair| leaves_before(&pair[0], &pair[1]));
        let end = late.unwrap_or(accesses.len()).min(unawaited.map_or(accesses.len(), |write| write + 1));
        let last_read = (1..end).rev().find(|&index| accesses[index].is_read())?;
        Some(Candidate { last: candidate.first + last_read, ..candidate })
    }

    fn accesses(&self, candidate: Candidate) -> &[Access] {
        &self.values[candidate.value].accesses[candidate.first..=candidate.last]
    }

    /// The instructions between which it holds its entry.
    fn span(&self, candidate: Candidate) -> Range<usize> {
        let accesses = &self.values[candidate.value].accesses;
        accesses[candidate.first].position..accesses[candidate.last].position
    }

    fn copies(&self, candidate: Candidate) -> bool {
        self.values[candidate.value].accesses[candidate.first].is_read()
    }

    /// Whether the main register file needs the value, too: it is read there later.
    fn needs_main(&self, candidate: Candidate) -> bool {
        let value = &self.values[candidate.value];
        value.lives_on || value.accesses[candidate.last + 1..].iter().any(Access::is_read)
    }

    /// The energy that it saves in a level, over the time it holds an entry; `None` if it saves none.
    fn rank(&self, candidate: Candidate, upper: AccessEnergy) -> Option<Ranked> {
        let accesses = self.accesses(candidate);
        let reads = accesses.iter().filter(|access| access.is_read()).count() as f64;
        let writes = accesses.len() as f64 - reads;
        let main = self.energies.main;
        let saved = if self.copies(candidate) {
            (reads - 1.0) * (main.read - upper.read) - upper.write
        } else {
            let written = if self.needs_main(candidate) { 0.0 } else { writes * main.write };
            reads * (main.read - upper.read) + written - writes * upper.write
        };
        let score = saved / self.span(candidate).len() as f64;
        (saved > 0.0).then_some(Ranked { score, candidate })
    }

    /// Marks the accesses of a candidate.
    fn place(&mut self, candidate: Candidate, upper: Upper) {
        let main = self.needs_main(candidate);
        let accesses = &self.values[candidate.value].accesses[candidate.first..=candidate.last];
        for (index, access) in accesses.iter().enumerate() {
            let places = &mut self.places[access.position];
            match (access.kind, upper) {
                (AccessKind::Write { .. }, _) => {
                    places.results[access.operand] = ResultPlace { upper: Some(upper), main };
                }
                (AccessKind::Read { .. }, Upper::Orf(entry)) if index == 0 => {
                    places.sources[access.operand] = SourcePlace { upper: None, copied_to: Some(entry) };
                    self.copying.insert(access.position);
                }
                (AccessKind::Read { .. }, _) => {
                    places.sources[access.operand] = SourcePlace { upper: Some(upper), copied_to: None };
                }
            }
        }
    }
}

impl Ord for Ranked {
    /// By what is saved; of two that save as much, the earlier one comes first.
    fn cmp(&self, other: &Ranked) -> Ordering {
        let key = |ranked: &Ranked| {
            let Candidate { value, first, last } = ranked.candidate;
            (value, first, last)
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

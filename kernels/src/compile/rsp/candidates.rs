//! What may be given an entry: parts of a register's accesses in a strand, and the energy that each would save.
//!
//! A *write allocation* begins with a write and ends with a read. It holds the reads that see only its own writes, with no
//! stretch between them in which the entry would hold a value that nothing reads there. A *read allocation* is a run of reads
//! without a write between them, the first of which copies and is done by every lane that does one of the others.

use std::ops::Range;

use super::accesses::{Kind, Register, Runs};
use crate::compile::rfh::AccessEnergy;

/// Energies of an access.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Energies {
    /// To the backing store.
    pub backing: AccessEnergy,
    /// To the scratchpad.
    pub scratchpad: AccessEnergy,
    /// A value that is read in the scratchpad and written to the backing store.
    pub copy: f64,
}

/// Accesses of a register that would be in an entry, in increasing order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The register, by its number in the strand.
    pub register: usize,
    /// Indices of its accesses. A read allocation begins with a read.
    pub accesses: Vec<usize>,
}

impl Candidate {
    /// The first of the accesses.
    pub fn first(&self) -> usize {
        self.accesses[0]
    }

    /// The last of them.
    pub fn last(&self) -> usize {
        self.accesses[self.accesses.len() - 1]
    }

    /// Whether it is a read allocation.
    pub fn is_read(&self, of: &Register) -> bool {
        of.accesses[self.first()].is_read()
    }

    /// The instructions between which it holds its entry.
    pub fn span(&self, of: &Register) -> Range<usize> {
        of.accesses[self.first()].position..of.accesses[self.last()].position
    }

    /// Whether the value of a write among the accesses is copied to the backing store: it may be read there.
    pub fn is_live_out(&self, of: &Register, write: usize) -> bool {
        match &of.accesses[write].kind {
            Kind::Write { read_by, escapes, .. } => {
                *escapes || read_by.iter().any(|read| self.accesses.binary_search(read).is_err())
            }
            Kind::Read { .. } => false,
        }
    }

    /// How many of its writes are copied to the backing store.
    pub fn live_outs(&self, of: &Register) -> usize {
        self.accesses.iter().filter(|&&access| self.is_live_out(of, access)).count()
    }

    /// Energy that it saves, pJ.
    pub fn saved(&self, of: &Register, energies: &Energies) -> f64 {
        let Energies { backing, scratchpad, copy } = energies;
        let reads = self.accesses.iter().filter(|&&access| of.accesses[access].is_read()).count() as f64;
        let writes = self.accesses.len() as f64 - reads;
        let read = backing.read - scratchpad.read;
        if self.is_read(of) {
            return (reads - 1.0) * read - scratchpad.write;
        }
        let copied = self.live_outs(of) as f64 * copy;
        reads * read + writes * (backing.write - scratchpad.write) - copied
    }

    /// The energy saved for each instruction of the range, pJ.
    pub fn score(&self, of: &Register, energies: &Energies) -> f64 {
        self.saved(of, energies) / self.span(of).len() as f64
    }
}

/// The maximal write allocations of a register, by its number, that lie in a range of its accesses.
pub fn writes(number: usize, of: &Register, range: Range<usize>) -> Vec<Candidate> {
    let may_hold = |write: &usize| {
        let kind = &of.accesses[*write].kind;
        range.contains(write) && matches!(kind, Kind::Write { late: false, .. })
    };
    // Each read that may be there, with the writes that it may see.
    let reads = range.clone().filter_map(|read| match &of.accesses[read].kind {
        Kind::Read { of: writes, from_before: false }
            if !writes.is_empty() && writes.iter().all(may_hold) =>
        {
            Some((read, writes))
        }
        Kind::Read { .. } | Kind::Write { .. } => None,
    });
    let mut parts: Vec<Candidate> = Vec::new();
    for (read, seen) in reads {
        let mut accesses: Vec<usize> = seen.iter().copied().chain([read]).collect();
        // It joins what the entry holds until its first write: one that goes on, or ends with the same instruction.
        let position = |access: usize| of.accesses[access].position;
        while let Some(before) = parts.pop_if(|part| position(part.last()) >= position(accesses[0])) {
            accesses.extend(before.accesses);
            accesses.sort_unstable();
            accesses.dedup();
        }
        parts.push(Candidate { register: number, accesses });
    }
    parts
}

/// The maximal read allocations among some reads of a register, in increasing order.
pub fn reads(number: usize, of: &Register, reads: &[usize], runs: &Runs) -> Vec<Candidate> {
    let mut found = Vec::new();
    for run in
        reads.chunk_by(|&one, &next| of.accesses[one..next].iter().all(super::accesses::Access::is_read))
    {
        let mut left = run.to_vec();
        while let Some(copies) = left.iter().position(|&read| of.accesses[read].in_all_lanes) {
            let copy = left[copies];
            let (served, others): (Vec<usize>, Vec<usize>) = left[copies..]
                .iter()
                .partition(|&&read| runs.dominates(&of.accesses[copy], &of.accesses[read]));
            left = others;
            if served.len() > 1 {
                found.push(Candidate { register: number, accesses: served });
            }
        }
    }
    found
}

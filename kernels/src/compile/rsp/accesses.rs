//! Accesses to each register in a strand, with the writes that each read may see.
//!
//! Control goes forward in a strand, so one walk in program order finds them. Lanes are threads: each sees what it has
//! written itself on its way from the first instruction.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::compile::bitset::BitSet;
use crate::compile::lives::{Lives, has_no_guard};
use crate::program::{PhysReg, Program};

/// A register with its accesses in a strand, in program order; an instruction reads before it writes.
#[derive(Clone, Debug)]
pub struct Register {
    /// The register.
    pub register: PhysReg,
    /// Its accesses.
    pub accesses: Vec<Access>,
}

/// An access.
#[derive(Clone, Debug)]
pub struct Access {
    /// The instruction.
    pub position: usize,
    /// Index of the operand, among the sources or the results.
    pub operand: usize,
    /// The straight run of instructions that it is in.
    pub run: usize,
    /// Surely no guard leaves out lanes that execute the strand there.
    pub in_all_lanes: bool,
    /// What it does.
    pub kind: Kind,
}

/// What an access does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// It reads.
    Read {
        /// Writes of the strand whose value it may read, as indices of accesses, in increasing order.
        of: Vec<usize>,
        /// It may read a value from before the strand.
        from_before: bool,
    },
    /// It writes.
    Write {
        /// Its value comes after a long, unpredictable time.
        late: bool,
        /// Reads of the strand that may read its value.
        read_by: Vec<usize>,
        /// Its value may be read where control leaves the strand.
        escapes: bool,
    },
}

impl Access {
    /// Whether it reads.
    pub fn is_read(&self) -> bool {
        matches!(self.kind, Kind::Read { .. })
    }
}

/// The straight runs of a strand.
pub struct Runs {
    runs: Vec<Run>,
}

struct Run {
    positions: Range<usize>,
    /// Runs that control comes from.
    from: Vec<usize>,
    /// Runs that every way from the first instruction to this one passes, itself among them.
    dominators: BitSet,
    /// Registers that may be read where control leaves the strand behind it.
    leaves_live: BitSet,
}

impl Runs {
    /// Those of a strand.
    pub fn new(lives: &Lives, strand: &Range<usize>) -> Runs {
        let cfg = lives.cfg();
        let first = cfg.block_of(strand.start);
        let mut runs: Vec<Run> = Vec::new();
        for number in first.0..=cfg.block_of(strand.end - 1).0 {
            let handle = crate::compile::cfg::Block(number);
            let block = cfg.block(handle);
            let positions =
                block.instructions.start.max(strand.start)..block.instructions.end.min(strand.end);
            let inside = |&from: &crate::compile::cfg::Block| from >= first && from < handle;
            let from: Vec<usize> = match runs.len() {
                0 => Vec::new(),
                _ => block
                    .predecessors
                    .iter()
                    .filter(|from| inside(from))
                    .map(|from| (from.0 - first.0) as usize)
                    .collect(),
            };
            let mut leaves_live = BitSet::default();
            if positions.end < block.instructions.end {
                leaves_live.union_with(lives.after(positions.end - 1));
            } else {
                let starts_inside = |successor: crate::compile::cfg::Block| {
                    let start = cfg.block(successor).instructions.start;
                    successor > handle && start < strand.end
                };
                for &successor in block.successors.iter().filter(|&&successor| !starts_inside(successor)) {
                    leaves_live.union_with(lives.before(successor));
                }
            }
            let mut dominators = BitSet::default();
            if let Some((&one, others)) = from.split_first() {
                dominators = runs[one].dominators.clone();
                others.iter().for_each(|&other| dominators.intersect_with(&runs[other].dominators));
            }
            dominators.insert(runs.len());
            runs.push(Run { positions, from, dominators, leaves_live });
        }
        Runs { runs }
    }

    /// Whether every lane that does an access has done an earlier one.
    pub fn dominates(&self, earlier: &Access, later: &Access) -> bool {
        self.runs[later.run].dominators.contains(earlier.run)
    }
}

/// The registers of a strand, in the order of their first access.
pub fn registers(program: &Program, runs: &Runs) -> Vec<Register> {
    let mut numbers: BTreeMap<PhysReg, usize> = BTreeMap::new();
    let mut found: Vec<Register> = Vec::new();
    for (run, Run { positions, .. }) in runs.runs.iter().enumerate() {
        for position in positions.clone() {
            let instruction = &program.instructions[position];
            let in_all_lanes = has_no_guard(instruction);
            let late = instruction.operation.has_long_latency();
            let reads = instruction.sources.iter().enumerate().map(|(operand, source)| {
                (source.register, operand, Kind::Read { of: Vec::new(), from_before: false })
            });
            let writes = instruction.results.iter().enumerate().map(|(operand, result)| {
                (result.register, operand, Kind::Write { late, read_by: Vec::new(), escapes: false })
            });
            for (register, operand, kind) in reads.chain(writes) {
                let number = *numbers.entry(register).or_insert(found.len());
                if number == found.len() {
                    found.push(Register { register, accesses: Vec::new() });
                }
                found[number].accesses.push(Access { position, operand, run, in_all_lanes, kind });
            }
        }
    }
    found.iter_mut().for_each(|register| follow(register, runs));
    found
}

/// Finds which writes reach which reads of a register, and which leave the strand.
fn follow(register: &mut Register, runs: &Runs) {
    let accesses = &mut register.accesses;
    // A value from before the strand has the number behind the last access.
    let before = accesses.len();
    let mut next = 0;
    let mut at_end: Vec<BitSet> = Vec::with_capacity(runs.runs.len());
    for (number, run) in runs.runs.iter().enumerate() {
        let mut values = BitSet::default();
        if number == 0 {
            values.insert(before);
        }
        run.from.iter().for_each(|&from| {
            values.union_with(&at_end[from]);
        });
        while next < before && accesses[next].run == number {
            let in_all_lanes = accesses[next].in_all_lanes;
            match &mut accesses[next].kind {
                Kind::Read { of, from_before } => {
                    *of = values.iter().filter(|&value| value != before).collect();
                    *from_before = values.contains(before);
                    for write in of.clone() {
                        if let Kind::Write { read_by, .. } = &mut accesses[write].kind {
                            read_by.push(next);
                        }
                    }
                }
                Kind::Write { .. } => {
                    if in_all_lanes {
                        values.clear();
                    }
                    values.insert(next);
                }
            }
            next += 1;
        }
        if run.leaves_live.contains(usize::from(register.register.0)) {
            for write in values.iter().filter(|&value| value != before) {
                if let Kind::Write { escapes, .. } = &mut accesses[write].kind {
                    *escapes = true;
                }
            }
        }
        at_end.push(values);
    }
}

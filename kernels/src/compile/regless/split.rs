//! Region creation (§4.1, §4.2, Algorithm 1).
//!
//! Each basic block is cut behind its barriers, as a warp that waits must not hold lines. Of each piece the first
//! region is split off where it is valid and the boundary is crossed by few registers, then the rest is looked at
//! again. Validity only gets lost as a run of instructions grows: every line is held at least as long.

use std::ops::Range;

use super::regions::RegionId;
use super::usage::{Lines, lines, touched};
use super::{Parameters, RegionError};
use crate::compile::bitset::BitSet;
use crate::compile::function::Function;
use crate::compile::lifetime::Lifetimes;
use crate::program::Program;

/// An instruction that alone holds more lines than a region may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    instruction: usize,
    region: usize,
    lines: Lines,
}

impl TooLarge {
    /// The error, with the names that a reader knows.
    pub fn describe(self, program: &Program, parameters: &Parameters) -> RegionError {
        let instruction = &program.instructions[self.instruction];
        let most_in_a_bank = self.lines.banks.iter().copied().max().unwrap_or(0);
        let (needed, what, limit, parameter) = if self.lines.live > parameters.max_live_registers {
            (self.lines.live, "lines", parameters.max_live_registers, "max_live_registers")
        } else {
            (most_in_a_bank, "lines of one bank", parameters.bank_lines.into(), "bank_lines")
        };
        RegionError::DoesNotFit {
            kernel: program.name.clone(),
            region: RegionId(self.region as u32),
            pc: instruction.pc,
            line: instruction.line,
            text: instruction.text.clone(),
            needed,
            what,
            limit,
            parameter,
        }
    }
}

/// Divides a program into regions, in program order.
///
/// # Errors
/// An instruction that holds more lines than a region may.
pub fn regions(
    function: &Function,
    lifetimes: &Lifetimes,
    parameters: &Parameters,
) -> Result<Vec<Range<usize>>, TooLarge> {
    let mut regions: Vec<Range<usize>> = Vec::new();
    for block in function.cfg.block_ids() {
        for piece in pieces(function, function.cfg.block(block).instructions.clone()) {
            let splitter = Splitter::new(function, lifetimes, parameters, piece.clone());
            let mut start = piece.start;
            while start < piece.end {
                let end = splitter.end_of_first(start).map_err(|lines| TooLarge {
                    instruction: start,
                    region: regions.len(),
                    lines,
                })?;
                regions.push(start..end);
                start = end;
            }
        }
    }
    Ok(regions)
}

/// A block cut behind its barriers.
fn pieces(function: &Function, block: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = block.start;
    for position in block.clone() {
        if function.instructions[position].barrier || position + 1 == block.end {
            pieces.push(start..position + 1);
            start = position + 1;
        }
    }
    pieces
}

/// Splits one piece of a block.
struct Splitter<'a> {
    function: &'a Function,
    lifetimes: &'a Lifetimes,
    parameters: &'a Parameters,
    piece: Range<usize>,
    /// Long-latency instructions, each with the first that waits for a result of it, by position of the first.
    waits: Vec<(usize, usize)>,
    /// For each place to split at, from the start of the piece: inputs and outputs of all that follows.
    crossing_rest: Vec<usize>,
}

impl<'a> Splitter<'a> {
    fn new(
        function: &'a Function,
        lifetimes: &'a Lifetimes,
        parameters: &'a Parameters,
        piece: Range<usize>,
    ) -> Splitter<'a> {
        let waits = waits(function, piece.clone());
        let crossing_rest = crossing_rest(function, lifetimes, piece.clone());
        Splitter { function, lifetimes, parameters, piece, waits, crossing_rest }
    }

    /// Where the first region of what starts at `start` ends.
    fn end_of_first(&self, start: usize) -> Result<usize, Lines> {
        let Some(upper) = self.first_invalid(start) else { return Ok(self.piece.end) };
        if upper == start {
            let run = start..start + 1;
            return Err(lines(&touched(self.function, self.lifetimes, run.clone()), run));
        }
        Ok(self.split_point(start, upper))
    }

    /// `upperBound`: the first instruction with which the region that starts at `start` would be invalid.
    fn first_invalid(&self, start: usize) -> Option<usize> {
        let rest = self.piece.end - start;
        let (mut valid, mut tried) = (0, 1);
        while self.is_valid(start..start + tried) {
            if tried == rest {
                return None;
            }
            valid = tried;
            tried = rest.min(2 * tried);
        }
        let mut invalid = tried;
        while invalid - valid > 1 {
            let middle = usize::midpoint(valid, invalid);
            if self.is_valid(start..start + middle) {
                valid = middle;
            } else {
                invalid = middle;
            }
        }
        Some(start + invalid - 1)
    }

    /// `IsValid`.
    fn is_valid(&self, run: Range<usize>) -> bool {
        let held = lines(&touched(self.function, self.lifetimes, run.clone()), run.clone());
        held.live <= self.parameters.max_live_registers
            && held.banks.iter().all(|&lines| lines <= u16::from(self.parameters.bank_lines))
            && !self.waits_from(run.start).any(|(_, first_use)| first_use < run.end)
    }

    /// Waits whose load is at or behind a position.
    fn waits_from(&self, position: usize) -> impl Iterator<Item = (usize, usize)> {
        let first = self.waits.partition_point(|&(load, _)| load < position);
        self.waits[first..].iter().copied()
    }

    /// `FindSplitPoint`: the last of the places in the window that the fewest inputs and outputs cross.
    fn split_point(&self, start: usize, upper: usize) -> usize {
        let lower = self.lower_bound(start, upper);
        let mut seen = Seen::default();
        let inputs_of_first = self.lifetimes.live_before(start);
        let (mut best, mut fewest) = (upper, usize::MAX);
        for split in start + 1..=upper {
            seen.step(self.function, split - 1);
            let inputs = seen.touched.common_with(inputs_of_first);
            let outputs = seen.written.common_with(self.lifetimes.live_before(split));
            let crossing = inputs + outputs + self.crossing_rest[split - self.piece.start];
            if split >= lower && crossing <= fewest {
                (best, fewest) = (split, crossing);
            }
        }
        best
    }

    /// `lowerBound`: the first place that parts most loads from their first uses, but behind as many instructions as
    /// a region should have.
    fn lower_bound(&self, start: usize, upper: usize) -> usize {
        let mut parted = vec![0_isize; upper + 2 - start];
        for (load, first_use) in self.waits_from(start).take_while(|&(load, _)| load < upper) {
            parted[load + 1 - start] += 1;
            parted[first_use.min(upper) + 1 - start] -= 1;
        }
        let (mut count, mut best, mut most) = (0, start + 1, -1);
        for split in start + 1..=upper {
            count += parted[split - start];
            if count > most {
                (best, most) = (split, count);
            }
        }
        let minimum = start + usize::from(self.parameters.minimum_instructions);
        best.max(minimum).min(upper)
    }
}

/// What has been seen of a run of instructions.
#[derive(Default)]
struct Seen {
    touched: BitSet,
    written: BitSet,
}

impl Seen {
    fn step(&mut self, function: &Function, position: usize) {
        let access = &function.instructions[position];
        for &register in &access.uses {
            self.touched.insert(register as usize);
        }
        for definition in &access.definitions {
            self.touched.insert(definition.register as usize);
            self.written.insert(definition.register as usize);
        }
    }
}

/// Long-latency instructions of a piece, each with the first that reads or overwrites a result of it.
fn waits(function: &Function, piece: Range<usize>) -> Vec<(usize, usize)> {
    let mut waits = Vec::new();
    let mut pending: Vec<Option<usize>> = vec![None; function.registers];
    for position in piece {
        let access = &function.instructions[position];
        let written = access.definitions.iter().map(|definition| definition.register);
        for register in access.uses.iter().copied().chain(written) {
            if let Some(load) = pending[register as usize].take() {
                waits.push((load, position));
            }
        }
        if access.long_latency {
            for definition in &access.definitions {
                pending[definition.register as usize] = Some(position);
            }
        }
    }
    waits.sort_unstable();
    waits.dedup_by_key(|&mut (load, _)| load);
    waits
}

/// For each place in a piece: inputs and outputs of what follows, to the end of the piece.
fn crossing_rest(function: &Function, lifetimes: &Lifetimes, piece: Range<usize>) -> Vec<usize> {
    let mut seen = Seen::default();
    let after = lifetimes.live_after(piece.end - 1);
    let mut crossing = vec![0; piece.len()];
    for position in piece.clone().rev() {
        seen.step(function, position);
        let inputs = seen.touched.common_with(lifetimes.live_before(position));
        crossing[position - piece.start] = inputs + seen.written.common_with(after);
    }
    crossing
}

//! Checks a placement on every path of a program, whatever is executed.
//!
//! A strand runs in program order from its only entrance, so what its entries hold before each instruction is known: a
//! register is read in an entry only if it was the last that was written there, and has not been written elsewhere
//! since. What the main register file may lack is found by a search along every way that a lane may go on: a result that
//! goes to an entry alone is missing there until the lane writes the register again without a guard, and what may be
//! missing must not be read there. Needs nothing of the passes.

use std::collections::BTreeMap;

use super::placement::{Placement, Upper};
use crate::compile::paths::{breaks, reader_without_value, successors};
use crate::program::{Operation, PhysReg, Program};

/// What is wrong with a placement, whatever is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// Strands do not cover the program in order, each instruction once.
    #[error("instruction {0} is in no strand, or in two")]
    Coverage(usize),
    /// Control may come into the middle of a strand.
    #[error("control may come to instruction {0} in the middle of its strand")]
    EnteredInTheMiddle(usize),
    /// The warp may be suspended in the middle of a strand.
    #[error("the warp may be suspended before instruction {0} in the middle of its strand")]
    Suspended(usize),
    /// An entry does not hold what is read there.
    #[error("instruction {instruction} reads R{} in an entry that does not hold it", register.0)]
    NotInEntry {
        /// The register.
        register: PhysReg,
        /// The instruction.
        instruction: usize,
    },
    /// The main register file may lack what is read there.
    #[error("instruction {instruction} reads R{} in the main register file, which may lack it", register.0)]
    NotInMain {
        /// The register.
        register: PhysReg,
        /// The instruction.
        instruction: usize,
    },
}

/// Checks a program with its values placed; one without control flow is taken to be straight.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_static(program: &Program, placement: &Placement) -> Result<(), Misplaced> {
    let mut successors = successors(program);
    let lanes = successors.clone();
    for (from, to) in program.control.iter().flat_map(|control| &control.switches) {
        successors[from.0 as usize].push(to.0 as usize);
    }
    check_strands(program, placement, &successors)?;
    for strand in &placement.strands {
        check_entries(program, placement, strand.start as usize..strand.end as usize)?;
    }
    for (position, instruction) in program.instructions.iter().enumerate() {
        for (result, place) in instruction.results.iter().zip(placement.places[position].results) {
            let register = result.register;
            let is_in_main =
                |reader: usize, source: usize| placement.places[reader].sources[source].upper.is_none();
            if place.main {
                continue;
            }
            if let Some(instruction) = reader_without_value(program, &lanes, position, register, is_in_main) {
                return Err(Misplaced::NotInMain { register, instruction });
            }
        }
    }
    Ok(())
}

fn check_strands(
    program: &Program,
    placement: &Placement,
    successors: &[Vec<usize>],
) -> Result<(), Misplaced> {
    let mut next = 0;
    let mut is_first = vec![false; program.instructions.len()];
    for strand in &placement.strands {
        let (start, end) = (strand.start as usize, strand.end as usize);
        if start != next || end <= start || end > program.instructions.len() {
            return Err(Misplaced::Coverage(start));
        }
        is_first[start] = true;
        for position in start + 1..end {
            let behind_barrier = program.instructions[position - 1].operation == Operation::Barrier;
            if program.instructions[position].suspends || behind_barrier {
                return Err(Misplaced::Suspended(position));
            }
            if breaks(program, position) {
                return Err(Misplaced::EnteredInTheMiddle(position));
            }
        }
        next = end;
    }
    if next != program.instructions.len() {
        return Err(Misplaced::Coverage(next));
    }
    for (position, ways) in successors.iter().enumerate() {
        if let Some(&to) = ways.iter().find(|&&to| to != position + 1 && !is_first[to]) {
            return Err(Misplaced::EnteredInTheMiddle(to));
        }
    }
    Ok(())
}

/// What the entries hold over a strand.
fn check_entries(
    program: &Program,
    placement: &Placement,
    strand: std::ops::Range<usize>,
) -> Result<(), Misplaced> {
    let mut held: BTreeMap<u8, PhysReg> = BTreeMap::new();
    let number = |upper: Upper| match upper {
        Upper::Lrf => 0,
        Upper::Orf(entry) => 1 + entry,
    };
    for instruction in strand {
        let (inst, places) = (&program.instructions[instruction], &placement.places[instruction]);
        for (source, place) in inst.sources.iter().zip(places.sources) {
            let register = source.register;
            if place.upper.is_some_and(|upper| held.get(&number(upper)) != Some(&register)) {
                return Err(Misplaced::NotInEntry { register, instruction });
            }
        }
        for (source, place) in inst.sources.iter().zip(places.sources) {
            held.extend(place.copied_to.map(|entry| (1 + entry, source.register)));
        }
        for (result, place) in inst.results.iter().zip(places.results) {
            let merges = place.upper.is_some_and(|upper| held.get(&number(upper)) == Some(&result.register));
            held.retain(|_, register| *register != result.register || merges);
            held.extend(place.upper.map(|upper| (number(upper), result.register)));
        }
    }
    Ok(())
}

//! Checks a placement on every path of a program, whatever is executed.
//!
//! A strand runs forward from its only entrance. So before each of its instructions it is known for which register each
//! entry was written last, whoever did it; and, of each lane, whether it has surely written or copied that register's newest
//! value there. A register is read in an entry only if both are so. What the backing store may lack is found by a search along
//! every way that a lane may go on. Needs nothing of the passes.

use std::collections::BTreeMap;
use std::ops::Range;

use super::placement::Placement;
use crate::compile::paths::{breaks, reader_without_value, successors};
use crate::program::{Instruction, Operation, PhysReg, Program};

/// What is wrong with a placement, whatever is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// Strands do not cover the program in order, each instruction once.
    #[error("instruction {0} is in no strand, or in two")]
    Coverage(usize),
    /// Control may come into the middle of a strand, or back to it.
    #[error("control may come to instruction {0} in the middle of its strand")]
    EnteredInTheMiddle(usize),
    /// The warp may lose its slice in the middle of a strand.
    #[error("the warp may lose its slice before instruction {0} in the middle of its strand")]
    Suspended(usize),
    /// An entry may lack what is read there.
    #[error("instruction {instruction} reads R{} in an entry that may lack it", register.0)]
    NotInEntry {
        /// The register.
        register: PhysReg,
        /// The instruction.
        instruction: usize,
    },
    /// The backing store may lack what is read there.
    #[error("instruction {instruction} reads R{} in the backing store, which may lack it", register.0)]
    NotBehind {
        /// The register.
        register: PhysReg,
        /// The instruction.
        instruction: usize,
    },
}

/// Registers in entries.
type Held = BTreeMap<u8, PhysReg>;

/// Checks a program with its registers mapped; one without control flow is taken to be straight.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_static(program: &Program, placement: &Placement) -> Result<(), Misplaced> {
    let successors = successors(program);
    check_strands(program, placement, &successors)?;
    for strand in &placement.strands {
        check_entries(program, placement, &successors, strand.start as usize..strand.end as usize)?;
    }
    for (position, instruction) in program.instructions.iter().enumerate() {
        for (result, place) in instruction.results.iter().zip(placement.places[position].results) {
            if place.entry.is_none() || place.live_out {
                continue;
            }
            let register = result.register;
            let is_behind =
                |reader: usize, source: usize| placement.places[reader].sources[source].entry.is_none();
            let reader = reader_without_value(program, &successors, position, register, is_behind);
            if let Some(instruction) = reader {
                return Err(Misplaced::NotBehind { register, instruction });
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
    // For each instruction the first of its strand.
    let mut first = vec![0; program.instructions.len()];
    for strand in &placement.strands {
        let (start, end) = (strand.start as usize, strand.end as usize);
        if start != next || end <= start || end > program.instructions.len() {
            return Err(Misplaced::Coverage(start));
        }
        first[start..end].fill(start);
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
    for (from, ways) in successors.iter().enumerate() {
        let enters = |&&to: &&usize| to != first[to] && (from >= to || from < first[to]);
        if let Some(&to) = ways.iter().find(enters) {
            return Err(Misplaced::EnteredInTheMiddle(to));
        }
    }
    Ok(())
}

/// What the entries hold over a strand: for the warp, and in every lane on every path.
fn check_entries(
    program: &Program,
    placement: &Placement,
    successors: &[Vec<usize>],
    strand: Range<usize>,
) -> Result<(), Misplaced> {
    let mut of_warp = Held::new();
    // What lanes surely hold when they come to an instruction; nothing is known of one that nobody comes to.
    let mut of_lanes: Vec<Option<Held>> = vec![None; strand.len()];
    of_lanes[0] = Some(Held::new());
    for instruction in strand.clone() {
        let Some(mut held) = of_lanes[instruction - strand.start].take() else { continue };
        let (inst, places) = (&program.instructions[instruction], &placement.places[instruction]);
        for (source, place) in inst.sources.iter().zip(places.sources) {
            let register = source.register;
            let is_there = |held: &Held| place.entry.is_none_or(|entry| held.get(&entry) == Some(&register));
            if !is_there(&held) || !is_there(&of_warp) {
                return Err(Misplaced::NotInEntry { register, instruction });
            }
        }
        let unguarded = |soft: bool| inst.predicate_sources.is_empty() || !soft;
        let may_leave_out =
            inst.results.first().map_or(!inst.predicate_sources.is_empty(), |r| !unguarded(r.soft));
        step(inst, placement, instruction, Whose::Lanes { may_leave_out }, &mut held);
        step(inst, placement, instruction, Whose::Warp, &mut of_warp);
        for &to in successors[instruction].iter().filter(|&&to| to > instruction && to < strand.end) {
            match &mut of_lanes[to - strand.start] {
                Some(known) => known.retain(|entry, register| held.get(entry) == Some(register)),
                unknown => *unknown = Some(held.clone()),
            }
        }
    }
    Ok(())
}

/// Of whom it is followed what entries hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Of the warp: the register alone, whichever lanes have its newest value there.
    Warp,
    /// Of lanes on one way: the newest value. An instruction that may leave lanes out writes only where they hold the register
    /// already.
    Lanes { may_leave_out: bool },
}

/// What an instruction does to entries.
fn step(inst: &Instruction, placement: &Placement, position: usize, whose: Whose, held: &mut Held) {
    let places = &placement.places[position];
    let may_leave_out = whose == Whose::Lanes { may_leave_out: true };
    let put = |held: &mut Held, entry: u8, register: PhysReg| {
        if may_leave_out && held.get(&entry) != Some(&register) {
            held.remove(&entry);
        } else {
            held.insert(entry, register);
        }
    };
    for (source, place) in inst.sources.iter().zip(places.sources) {
        if let Some(entry) = place.copied_to {
            put(held, entry, source.register);
        }
    }
    for (result, place) in inst.results.iter().zip(places.results) {
        // Lanes that write it elsewhere leave the entry to those on another way.
        if whose != Whose::Warp {
            held.retain(|entry, register| *register != result.register || Some(*entry) == place.entry);
        }
        if let Some(entry) = place.entry {
            put(held, entry, result.register);
        }
    }
}

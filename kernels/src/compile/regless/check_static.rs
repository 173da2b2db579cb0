//! Checks what regions say of the future: a search from each mark along every way that the warp may go on.
//!
//! Needs nothing of the passes. A way ends where a definition that is not soft overwrites the register. What some
//! way still reads must not be erased or invalidated; what no way reads must not be evicted, so that interior
//! registers never leave the staging unit. Also here: regions cover the program, are entered at their first
//! instruction alone, and end at a barrier.

use std::collections::BTreeSet;

use super::regions::{Fate, Regions};
use crate::program::{ControlFlow, Flow, Operation, PhysReg, Program};

/// What is wrong with regions, whatever is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// Regions do not cover the program in order, each instruction once.
    #[error("instruction {0} is not in the region that it is said to be in")]
    Coverage(usize),
    /// Control may enter or leave a region in the middle.
    #[error("after instruction {0} control may go elsewhere than to the rest of its region")]
    LeftInTheMiddle(usize),
    /// A region goes on behind a barrier.
    #[error("instruction {0} is a barrier, but its region goes on")]
    GoesOnBehindBarrier(usize),
    /// Something live is erased or invalidated.
    #[error("R{} is given up at instruction {instruction}, but may still be read", register.0)]
    LiveGivenUp {
        /// The register.
        register: PhysReg,
        /// Where.
        instruction: usize,
    },
    /// Something dead leaves the staging unit.
    #[error("R{} is evicted at instruction {instruction}, but is not read again", register.0)]
    DeadEvicted {
        /// The register.
        register: PhysReg,
        /// Where.
        instruction: usize,
    },
}

/// Checks a program with regions; one without control flow is taken to be straight.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_static(program: &Program, regions: &Regions) -> Result<(), Misplaced> {
    let successors = successors(program);
    check_shape(program, regions, &successors)?;
    for region in &regions.regions {
        let start = region.instructions.start as usize;
        for &register in &region.cache_invalidations {
            if is_read(program, &successors, vec![start], register) {
                return Err(Misplaced::LiveGivenUp { register, instruction: start });
            }
        }
    }
    for (position, instruction) in program.instructions.iter().enumerate() {
        let marks = &regions.marks[position];
        let sources = instruction.sources.iter().map(|source| source.register).zip(marks.sources);
        let results = instruction.results.iter().map(|result| result.register).zip(marks.results);
        for (register, fate) in sources.chain(results) {
            let lives_on = is_read(program, &successors, successors[position].clone(), register);
            match (fate, lives_on) {
                (Fate::Erase, true) => {
                    return Err(Misplaced::LiveGivenUp { register, instruction: position });
                }
                (Fate::Evict, false) => {
                    return Err(Misplaced::DeadEvicted { register, instruction: position });
                }
                (Fate::Keep, _) | (Fate::Erase, false) | (Fate::Evict, true) => {}
            }
        }
    }
    Ok(())
}

/// For each instruction where the warp may go on.
fn successors(program: &Program) -> Vec<Vec<usize>> {
    let count = program.instructions.len();
    let straight = ControlFlow {
        flow: vec![Flow::Next; count],
        may_diverge: Vec::new(),
        switches: Vec::new(),
        seen: None,
    };
    let control = program.control.as_ref().unwrap_or(&straight);
    let mut successors: Vec<Vec<usize>> = (control.flow.iter().enumerate())
        .map(|(position, flow)| match flow {
            Flow::Next => (position + 1..count.min(position + 2)).collect(),
            Flow::To { targets, .. } => targets.clone(),
        })
        .collect();
    for (from, to) in &control.switches {
        successors[from.0 as usize].push(to.0 as usize);
    }
    successors
}

fn check_shape(program: &Program, regions: &Regions, successors: &[Vec<usize>]) -> Result<(), Misplaced> {
    let mut next = 0;
    for (number, region) in regions.regions.iter().enumerate() {
        let (start, end) = (region.instructions.start as usize, region.instructions.end as usize);
        if start != next || end <= start {
            return Err(Misplaced::Coverage(start));
        }
        let begins =
            |&to: &usize| regions.regions[regions.region_of[to].index()].instructions.start as usize == to;
        for (position, ways) in successors.iter().enumerate().take(end).skip(start) {
            if regions.region_of[position].index() != number {
                return Err(Misplaced::Coverage(position));
            }
            let is_last = position + 1 == end;
            if !is_last && program.instructions[position].operation == Operation::Barrier {
                return Err(Misplaced::GoesOnBehindBarrier(position));
            }
            if !(if is_last { ways.iter().all(begins) } else { *ways == [position + 1] }) {
                return Err(Misplaced::LeftInTheMiddle(position));
            }
        }
        next = end;
    }
    if next == program.instructions.len() { Ok(()) } else { Err(Misplaced::Coverage(next)) }
}

/// Whether a way from one of some instructions reads a register before it is overwritten in all lanes.
fn is_read(program: &Program, successors: &[Vec<usize>], mut from: Vec<usize>, register: PhysReg) -> bool {
    let mut seen = BTreeSet::new();
    while let Some(position) = from.pop() {
        if !seen.insert(position) {
            continue;
        }
        let instruction = &program.instructions[position];
        if instruction.sources.iter().any(|source| source.register == register) {
            return true;
        }
        if !instruction.results.iter().any(|result| result.register == register && !result.soft) {
            from.extend(&successors[position]);
        }
    }
    false
}

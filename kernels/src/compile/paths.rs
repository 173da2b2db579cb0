//! Paths of lanes through a program, for strands and for the checkers of compiler passes.

use crate::program::{Flow, PhysReg, Program};

/// For each instruction where a lane may go on, of a trace where lanes were seen to; a program without control flow is taken
/// to be straight.
pub fn successors(program: &Program) -> Vec<Vec<usize>> {
    let count = program.instructions.len();
    let next = |position: usize| (position + 1..count.min(position + 2)).collect();
    let Some(control) = &program.control else { return (0..count).map(next).collect() };
    let after = |(position, flow): (usize, &Flow)| match flow {
        Flow::Next => next(position),
        Flow::To { targets, .. } => targets.clone(),
    };
    let flow = control.seen.as_ref().map_or(&control.flow, |seen| &seen.flow);
    flow.iter().enumerate().map(after).collect()
}

/// Whether lanes may part behind an instruction.
pub fn may_part(program: &Program, position: usize) -> bool {
    let known = program.control.as_ref().and_then(|control| control.may_diverge.get(position));
    known.copied().unwrap_or(true)
}

/// Whether a trace showed lanes that came to an instruction on no path forward through the program: nobody can say what they
/// have executed of the instructions before it.
pub fn breaks(program: &Program, position: usize) -> bool {
    let seen = program.control.as_ref().and_then(|control| control.seen.as_ref());
    seen.is_some_and(|seen| seen.breaks.get(position).copied().unwrap_or(true))
}

/// Searches the main register file's readers for one that a lane may come to after it has written a register elsewhere
/// alone, and before it writes it again without a guard. `is_in_main` says of an instruction and a source of it whether that
/// is read in the main register file.
pub fn reader_without_value(
    program: &Program,
    successors: &[Vec<usize>],
    written: usize,
    register: PhysReg,
    is_in_main: impl Fn(usize, usize) -> bool,
) -> Option<usize> {
    let mut seen = vec![false; program.instructions.len()];
    let mut work = successors[written].clone();
    while let Some(position) = work.pop() {
        if std::mem::replace(&mut seen[position], true) {
            continue;
        }
        let instruction = &program.instructions[position];
        let mut sources = instruction.sources.iter().enumerate();
        if sources.any(|(number, source)| source.register == register && is_in_main(position, number)) {
            return Some(position);
        }
        // Another result that goes elsewhere is searched from on its own.
        let no_guard = |soft: bool| !soft || instruction.predicate_sources.is_empty();
        if !instruction.results.iter().any(|result| result.register == register && no_guard(result.soft)) {
            work.extend(&successors[position]);
        }
    }
    None
}

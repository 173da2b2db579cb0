//! Marks operands that a register reuse cache keeps: those that the next read in their operand position and bank is of, too.
//!
//! The hardware keeps one operand for each position and bank, until the next read there. So an operand is marked if, further down
//! in its basic block, the first instruction that reads anything in its position and bank reads the same register, and no
//! instruction from its own on writes it before. What other warps read meanwhile is not known here, and may take the place.
//!
//! A reader that a guard may keep from reading would leave the operand in the cache. It ends a mark unless the hardware
//! notices writes ([`Parameters::beyond_guards`]).
//!
//! Source: Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, §5.3.1 and Listing 4. How
//! NVIDIA's compiler chooses is not published.

pub mod check;
pub mod listing;

use serde::{Deserialize, Serialize};

use super::cfg::Cfg;
use super::graph::{GraphError, Graphs};
use crate::program::{Instruction, MAX_SOURCES, PhysReg, Program};

/// What operands are marked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Banks of the register file, at least 1: registers of a warp with one remainder are in one bank.
    pub banks: u16,
    /// Whether a reader that may have a guard counts: only for hardware that notices writes.
    pub beyond_guards: bool,
}

/// The operands of a program that are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// For each instruction which of its sources are.
    pub instructions: Vec<[bool; MAX_SOURCES]>,
}

/// The first read, further down, in each position and bank; `None` where there is none, or where it finds another value.
struct NextReads {
    banks: u16,
    registers: Vec<Option<PhysReg>>,
}

/// Marks the operands of a program.
///
/// # Errors
/// The program's control flow is not known, or leaves it.
pub fn compile(program: &Program, parameters: &Parameters) -> Result<Marks, GraphError> {
    let mut marks = Marks { instructions: vec![[false; MAX_SOURCES]; program.instructions.len()] };
    if !program.instructions.is_empty() {
        mark_blocks(program, &Graphs::of(program)?.warps.cfg, parameters, &mut marks);
    }
    Ok(marks)
}

/// The lanes that execute do not change within a block of the warp's graph, but for guards.
fn mark_blocks(program: &Program, cfg: &Cfg, parameters: &Parameters, marks: &mut Marks) {
    for block in cfg.blocks() {
        let mut next = NextReads::new(parameters.banks);
        for position in block.instructions.clone().rev() {
            let instruction = &program.instructions[position];
            marks.instructions[position] = mark(instruction, parameters, &mut next);
        }
    }
}

/// Which sources of an instruction are kept, and what those above it find.
fn mark(instruction: &Instruction, parameters: &Parameters, next: &mut NextReads) -> [bool; MAX_SOURCES] {
    let mut marks = [false; MAX_SOURCES];
    for result in &instruction.results {
        next.forget(result.register);
    }
    for (position, source) in instruction.sources.iter().enumerate() {
        marks[position] = *next.at(position, source.register) == Some(source.register);
    }
    let surely_reads = parameters.beyond_guards || has_no_guard(instruction);
    for (position, source) in instruction.sources.iter().enumerate() {
        *next.at(position, source.register) = surely_reads.then_some(source.register);
    }
    marks
}

/// Whether an instruction surely has no guard: what it reads of predicates may be one.
fn has_no_guard(instruction: &Instruction) -> bool {
    instruction.predicate_sources.is_empty()
}

impl NextReads {
    fn new(banks: u16) -> NextReads {
        NextReads { banks, registers: vec![None; MAX_SOURCES * usize::from(banks)] }
    }

    /// What is read in a position, in the bank of a register.
    fn at(&mut self, position: usize, register: PhysReg) -> &mut Option<PhysReg> {
        &mut self.registers[position * usize::from(self.banks) + usize::from(register.0 % self.banks)]
    }

    /// The register is written: above, another value is read.
    fn forget(&mut self, register: PhysReg) {
        for next in self.registers.iter_mut().filter(|next| **next == Some(register)) {
            *next = None;
        }
    }
}

#[cfg(test)]
mod tests;

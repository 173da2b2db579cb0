//! Finds where registers die, for a register file that gives their place to others.
//!
//! Lifetimes are those of the warp ([`Lifetimes`]): a register is dead where no lane reads it again before a definition
//! that no lane leaves out. One that a block is not entered with, but that was alive at the end of a block before it,
//! dies at its first instruction. So behind each instruction only registers that are alive are held, and a register
//! whose result is on its way to be dropped.

pub mod listing;
pub mod releases;

use super::bitset::BitSet;
use super::function::Function;
use super::graph::{GraphError, Graphs};
use super::lifetime::Lifetimes;
use super::soft::as_marked;
use crate::program::{MAX_RESULTS, Operation, PhysReg, Program};

pub use releases::{Release, Releases};

/// Where the registers of a program die.
///
/// # Errors
/// The program's control flow is not known, or leaves it.
pub fn compile(program: &Program) -> Result<Releases, GraphError> {
    let mut releases = Releases { instructions: Vec::new(), most_held: 0, most_held_at_barrier: 0 };
    if program.instructions.is_empty() {
        return Ok(releases);
    }
    let function = Graphs::of(program)?.warps;
    let lifetimes = Lifetimes::new(&function, &as_marked(program));
    for (position, instruction) in program.instructions.iter().enumerate() {
        releases.instructions.push(release(&function, &lifetimes, position));
        let held = held_at_issue(&function, &lifetimes, position);
        releases.most_held = releases.most_held.max(held);
        if instruction.operation == Operation::Barrier {
            let held = held_behind(&lifetimes, position);
            releases.most_held_at_barrier = releases.most_held_at_barrier.max(held);
        }
    }
    Ok(releases)
}

fn release(function: &Function, lifetimes: &Lifetimes, position: usize) -> Release {
    let access = &function.instructions[position];
    let live_after = lifetimes.live_after(position);
    let mut dead = dead_on_entry(function, lifetimes, position);
    for &register in &access.uses {
        if !live_after.contains(register as usize) {
            dead.insert(register as usize);
        }
    }
    let mut results = [false; MAX_RESULTS];
    for (definition, dies) in access.definitions.iter().zip(&mut results) {
        *dies = !live_after.contains(definition.register as usize);
        dead.remove(definition.register as usize);
    }
    Release { registers: dead.iter().map(|register| PhysReg(register as u16)).collect(), results }
}

/// Registers that die because control comes to this instruction, the first of its block.
fn dead_on_entry(function: &Function, lifetimes: &Lifetimes, position: usize) -> BitSet {
    let mut dead = BitSet::default();
    let block = function.cfg.block(function.cfg.block_of(position));
    if block.instructions.start != position {
        return dead;
    }
    for &before in &block.predecessors {
        dead.union_with(lifetimes.live_after(function.cfg.last_instruction(before)));
    }
    for register in lifetimes.live_before(position).iter() {
        dead.remove(register);
    }
    dead.intersect_with(lifetimes.written_before(position));
    dead
}

/// Most registers that are held while an instruction is issued: those held before, what it releases among them, and its
/// results.
fn held_at_issue(function: &Function, lifetimes: &Lifetimes, position: usize) -> u16 {
    let block = function.cfg.block(function.cfg.block_of(position));
    let with_results = |alive: &BitSet| {
        let mut held = alive.clone();
        held.intersect_with(lifetimes.written_before(position));
        for definition in &function.instructions[position].definitions {
            held.insert(definition.register as usize);
        }
        held.len() as u16
    };
    let here = with_results(lifetimes.live_before(position));
    if block.instructions.start != position {
        return here;
    }
    // What was alive behind the block before it is released by this instruction only.
    let before = block.predecessors.iter().map(|&before| function.cfg.last_instruction(before));
    before.map(|before| with_results(lifetimes.live_after(before))).fold(here, u16::max)
}

/// Registers that are held once an instruction without results has been issued.
fn held_behind(lifetimes: &Lifetimes, position: usize) -> u16 {
    let mut held = lifetimes.live_after(position).clone();
    held.intersect_with(lifetimes.written_before(position));
    held.len() as u16
}

#[cfg(test)]
mod tests;

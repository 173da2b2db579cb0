//! Fills in what the compiler tells the hardware about each operand.
//!
//! Last reads and idle values are properties of values, so they are found on classes of coalesced virtual
//! registers where the compiler knows them; soft definitions and suspensions are properties of registers.

use super::dominators::Postdominators;
use super::function::Function;
use super::liveness::{Liveness, last_reads, maybe_written_and_live, soft_definitions};
use super::suspension::{idle, suspends};
use crate::program::Program;

/// Annotates a program.
///
/// `values` and `registers` describe the same instructions, the one over values, the other over the registers
/// they are held in; for a trace, where only registers are known, pass the same twice. Uses and definitions must
/// be in the order of the program's sources and results.
pub fn annotate(program: &mut Program, values: &Function, registers: &Function) {
    let marks = suspends(registers);
    let threads = Liveness::per_thread(values);
    let last = last_reads(values, &threads);
    let holds_other = holds_another_value(values, registers, &threads);
    let idle = idle(values, &marks);
    let soft =
        soft_definitions(registers, &Postdominators::new(&registers.cfg), &Liveness::per_thread(registers));
    for (position, instruction) in program.instructions.iter_mut().enumerate() {
        instruction.suspends = marks[position];
        for (operand, source) in instruction.sources.iter_mut().enumerate() {
            let holds_other = holds_other[position][operand];
            source.last_read = last[position][operand] && !holds_other;
            source.idle_until_suspension = idle.uses[position][operand] && !holds_other;
        }
        for (operand, result) in instruction.results.iter_mut().enumerate() {
            result.soft = soft[position][operand];
            result.idle_until_suspension = idle.definitions[position][operand];
        }
    }
}

/// For each use of each instruction: after it, the register holds another value that is still to be read.
///
/// That happens where code reads a value that no path has written: it may be given any register, even one in
/// use.
fn holds_another_value(values: &Function, registers: &Function, threads: &Liveness) -> Vec<Vec<bool>> {
    let register_of = register_of_values(values, registers);
    let written = maybe_written_and_live(values, threads);
    let mut holds = vec![Vec::new(); values.instructions.len()];
    for block in values.cfg.block_ids() {
        threads.each_held_backward(values, block, &written[block.index()], |position, access, held| {
            holds[position] = access
                .uses
                .iter()
                .zip(&registers.instructions[position].uses)
                .map(|(&value, &register)| {
                    held.iter().any(|&other| {
                        other != value
                            && register_of[other as usize] == Some(register)
                            && !access.defines(other)
                    })
                })
                .collect();
        });
    }
    holds
}

/// The register each value is held in.
fn register_of_values(values: &Function, registers: &Function) -> Vec<Option<u32>> {
    let mut register_of = vec![None; values.registers];
    for (value, register) in values.instructions.iter().zip(&registers.instructions) {
        for (&value, &register) in value.uses.iter().zip(&register.uses) {
            register_of[value as usize] = Some(register);
        }
        for (value, register) in value.definitions.iter().zip(&register.definitions) {
            register_of[value.register as usize] = Some(register.register);
        }
    }
    register_of
}

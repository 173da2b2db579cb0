//! Fills in what the compiler tells the hardware about each operand.
//!
//! Last reads and idle values are properties of values, so they are found on classes of coalesced virtual
//! registers where the compiler knows them; soft definitions and suspensions are properties of registers.

use super::dominators::{Dominators, Postdominators};
use super::function::Function;
use super::liveness::{Liveness, last_reads, soft_definitions};
use super::suspension::{idle, suspends};
use crate::program::Program;

/// Annotates a program.
///
/// `values` and `registers` describe the same instructions, the one over values, the other over the registers
/// they are held in; for a trace, where only registers are known, pass the same twice. Uses and definitions must
/// be in the order of the program's sources and results.
pub fn annotate(program: &mut Program, values: &Function, registers: &Function) {
    let marks = suspends(registers);
    let last = last_reads(values, &Liveness::per_thread(values));
    let idle = idle(values, &marks);
    let soft = soft_definitions(
        registers,
        &Dominators::new(&registers.cfg),
        &Postdominators::new(&registers.cfg),
        &Liveness::per_thread(registers),
    );
    for (position, instruction) in program.instructions.iter_mut().enumerate() {
        instruction.suspends = marks[position];
        for (operand, source) in instruction.sources.iter_mut().enumerate() {
            source.last_read = last[position][operand];
            source.idle_until_suspension = idle.uses[position][operand];
        }
        for (operand, result) in instruction.results.iter_mut().enumerate() {
            result.soft = soft[position][operand];
            result.idle_until_suspension = idle.definitions[position][operand];
        }
    }
}

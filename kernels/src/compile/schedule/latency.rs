//! How long instructions take.

use super::super::Compiled;
use crate::program::{Operation, Space};
use crate::ptx::ir::Kernel;

/// Loads from device memory, texture fetches and returning atomics: so many instructions between a load and its use are
/// enough, other warps fill the rest; what a block has more of goes behind its other loads.
const LONG: u32 = 28;
/// Shared memory (GTX 980: 24 cycles).
pub(super) const SHARED: u32 = 24;
/// Special function unit.
const SFU: u32 = 20;
/// Double precision.
const DOUBLE: u32 = 16;
/// Integer and single precision.
const ALU: u32 = 6;

/// How long the results of a PTX instruction take.
#[derive(Clone, Copy)]
pub(super) struct Latency {
    /// How many cycles after it one that needs them can begin; 0 if it becomes no machine instruction.
    pub cycles: u32,
    /// It loads from device memory. A division takes as long.
    pub is_load: bool,
}

/// Those of each PTX instruction.
pub(super) fn of(kernel: &Kernel, compiled: &Compiled) -> Vec<Latency> {
    let of = |position: usize| {
        let range = compiled.lowering.ranges[position].clone();
        let operations = || range.clone().map(|op| compiled.program.instructions[op as usize].operation);
        let longest = operations().map(cycles).max();
        Latency {
            cycles: longest.map_or(0, |longest| longest + range.len() as u32 - 1),
            is_load: operations().any(is_load),
        }
    };
    (0..kernel.instructions.len()).map(of).collect()
}

/// Whether it loads from device memory.
fn is_load(operation: Operation) -> bool {
    cycles(operation) == LONG
}

/// How many cycles after a machine instruction one that needs its result can begin, as the scheduler takes it.
pub fn cycles(operation: Operation) -> u32 {
    match operation {
        Operation::Alu => ALU,
        Operation::Sfu => SFU,
        Operation::Double => DOUBLE,
        Operation::Texture => LONG,
        Operation::Load(access) | Operation::Atomic(access) => match access.space {
            Space::Global | Space::Local | Space::Generic => LONG,
            Space::Shared | Space::Constant | Space::Parameter => SHARED,
        },
        Operation::Store(_)
        | Operation::Barrier
        | Operation::Fence
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => 1,
    }
}

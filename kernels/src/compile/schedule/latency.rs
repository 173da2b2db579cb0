//! How many cycles after an instruction one that needs its result can begin.

use super::super::Compiled;
use crate::program::{Operation, Space};
use crate::ptx::ir::Kernel;

/// Loads from device memory, texture fetches and returning atomics: so many instructions between a load and its use are
/// enough, other warps fill the rest; what a block has more of goes behind its other loads.
pub(super) const LONG: u32 = 28;
/// Shared memory (GTX 980: 24 cycles; `docs/machine.md`).
pub(super) const SHARED: u32 = 24;
/// Special function unit.
const SFU: u32 = 20;
/// Double precision.
const DOUBLE: u32 = 16;
/// Integer and single precision.
const ALU: u32 = 6;

/// For each PTX instruction the cycles until its results are there; 0 for one without machine instructions.
pub(super) fn of(kernel: &Kernel, compiled: &Compiled) -> Vec<u32> {
    let of = |position: usize| {
        let range = compiled.lowering.ranges[position].clone();
        let longest =
            range.clone().map(|op| cycles(compiled.program.instructions[op as usize].operation)).max();
        longest.map_or(0, |longest| longest + range.len() as u32 - 1)
    };
    (0..kernel.instructions.len()).map(of).collect()
}

fn cycles(operation: Operation) -> u32 {
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

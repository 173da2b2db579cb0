//! Hand-written loops: how fast the benchmarks could run.
//!
//! A loop computes the signature of a [benchmark](super) as an engineer would who knows the circuit and writes it as
//! plain data and branches, without a netlist: idle ports are skipped, what nothing reads is not computed, and what
//! cannot have changed is not summed again. It is the limit that an engine is measured against, so it is bit for bit
//! the same signature and as fast as we could make it.
//!
//! A loop knows the circuit, not the stimulus: to it a value of 1024 bits is 16 words to store and to read, though
//! the stimulus repeats one word.

mod banked_register_file;
mod collectors;
mod fifo;
mod main_register_file;
mod noise;
mod operand_collectors;
mod register_bank;
mod round_robin_arbiter;
mod row;

use crate::bench::Activity;

/// The signature after so many cycles of a benchmark of this size and activity.
pub type NativeLoop = fn(size: usize, activity: Activity, cycles: u64) -> u64;

/// The loop written for a circuit of the [list](super::list()); `None` if there is none.
pub fn native(circuit: &str) -> Option<NativeLoop> {
    let (_, native) = LOOPS.iter().find(|(name, _)| *name == circuit)?;
    Some(*native)
}

const LOOPS: &[(&str, NativeLoop)] = &[
    ("round_robin_arbiter", round_robin_arbiter::run),
    ("fifo", fifo::run),
    ("register_bank", register_bank::run),
    ("main_register_file", main_register_file::run),
    ("operand_collectors", operand_collectors::run),
    ("banked_register_file", banked_register_file::run),
];

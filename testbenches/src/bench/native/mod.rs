//! Hand-written loops: how fast the benchmarks could run.
//!
//! A loop computes the signature of a [benchmark](super) as an engineer would who knows the circuit and writes it as
//! plain data and branches, without a netlist: idle ports are skipped, what nothing reads is not computed, and what
//! cannot have changed is not summed again. It is the limit that an engine is measured against, so it is bit for bit
//! the same signature and as fast as we could make it.
//!
//! Five circuits have one, of five kinds: a small state machine, wide rows in banks, a choice by priority, accesses
//! compared with each other, and an associative memory.
//!
//! A loop knows the circuit, not the stimulus: to it a value of 1024 bits is 16 words to store and to read, though
//! the stimulus repeats one word.

mod access_distributor;
mod fifo;
mod main_register_file;
mod noise;
mod row;
mod source_allocator;
mod tags;
mod wide_table;

use crate::bench::Activity;

/// The signature after so many cycles of a benchmark whose ports are so active.
pub type NativeLoop = fn(activity: Activity, cycles: u64) -> u64;

/// The loop written for a circuit of the [list](super::list()) at one of its sizes; `None` if there is none.
pub fn native(circuit: &str, size: usize) -> Option<NativeLoop> {
    let (_, _, native) = LOOPS.iter().find(|(name, of_size, _)| (*name, *of_size) == (circuit, size))?;
    Some(*native)
}

/// Name and size of each circuit that a loop is written for.
pub fn loops() -> impl Iterator<Item = (&'static str, usize)> {
    LOOPS.iter().map(|(circuit, size, _)| (*circuit, *size))
}

/// Name and size of each circuit, and its loop.
const LOOPS: &[(&str, usize, NativeLoop)] = &[
    ("fifo", 1, fifo::run),
    ("main_register_file", 1, main_register_file::run),
    ("source_allocator", 1, source_allocator::run),
    ("access_distributor", 1, access_distributor::run),
    ("wide_table", 1, wide_table::run::<5, 1>),
    ("wide_table", 2, wide_table::run::<6, 1>),
    ("wide_table", 4, wide_table::run::<7, 2>),
    ("wide_table", 8, wide_table::run::<8, 2>),
];

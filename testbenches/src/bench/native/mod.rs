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
mod cache;
mod cached_register_file;
mod collectors;
mod compressor;
mod dual_issue;
mod dual_issue_register_file;
mod fifo;
mod l1_port;
mod main_register_file;
mod noise;
mod operand_collectors;
mod patterns;
mod register_bank;
mod register_file_cache;
mod register_file_hierarchy;
mod register_file_hierarchy_inputs;
mod regless;
mod rename_table;
mod renaming;
mod round_robin_arbiter;
mod row;
mod source_allocator;
mod staging_shard;
mod tags;
mod two_level_scheduler;
mod virtual_register_file;
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
    ("round_robin_arbiter", 1, round_robin_arbiter::run),
    ("fifo", 1, fifo::run),
    ("register_bank", 1, register_bank::run),
    ("main_register_file", 1, main_register_file::run),
    ("operand_collectors", 1, operand_collectors::run),
    ("banked_register_file", 1, banked_register_file::run),
    ("dual_issue_register_file", 1, dual_issue_register_file::run),
    ("register_file_cache", 1, register_file_cache::run),
    ("source_allocator", 1, source_allocator::run),
    ("cached_register_file", 1, cached_register_file::run),
    ("two_level_scheduler", 1, two_level_scheduler::run),
    ("rename_table", 1, rename_table::run),
    ("virtual_register_file", 1, virtual_register_file::run),
    ("register_file_hierarchy", 1, register_file_hierarchy::run),
    ("pattern_matcher", 1, patterns::run_matcher),
    ("pattern_expander", 1, patterns::run_expander),
    ("compressor", 1, compressor::run),
    ("l1_port", 1, l1_port::run),
    ("access_queue", 1, regless::access_queue::run),
    ("operand_staging_bank", 1, regless::staging_bank::run),
    ("operand_staging_unit", 1, regless::staging_unit::run),
    ("metadata_store", 1, regless::metadata_store::run),
    ("warp_stack", 1, regless::warp_stack::run),
    ("capacity_manager", 1, regless::capacity_manager::run),
    ("access_distributor", 1, regless::access_distributor::run),
    ("register_read_unit", 1, regless::read_unit::run),
    ("staging_shard", 1, staging_shard::run::<6, 4>),
    ("staging_shard", 2, staging_shard::run::<7, 5>),
    ("staging_shard", 4, staging_shard::run::<8, 5>),
    ("staging_shard", 8, staging_shard::run::<9, 5>),
    ("wide_table", 1, wide_table::run::<5, 1>),
    ("wide_table", 2, wide_table::run::<6, 1>),
    ("wide_table", 4, wide_table::run::<7, 2>),
    ("wide_table", 8, wide_table::run::<8, 2>),
];

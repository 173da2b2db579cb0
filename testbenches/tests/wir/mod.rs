//! Warp instruction reuse.
//!
//! The references are written from Kim & Ro, "WIR: Warp Instruction Reuse to Minimize Repeated Computations in GPUs", and from
//! the contract of the ports.

mod free_pool;
mod load_guard;
mod reference_counts;
mod rename_tables;
mod retry_queue;
mod reuse_buffer;
mod value_hash;
mod value_signature_buffer;
mod verify_cache;

use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::rtl::Circuit;
use warpfile_testbenches::lockstep::{Lockstep, Reference};
use warpfile_testbenches::mutation::elaborate;

/// Numbers that traffic is drawn from where it depends on what the reference holds (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// Whether it happens, in so many of a hundred cases.
    fn percent(&mut self, cases: usize) -> bool {
        self.below(100) < cases
    }
}

fn check<C: Circuit, R: Reference>(
    circuit: &C,
    reference: &R,
    how: &Lockstep,
    operations: &[R::Operation],
) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), reference, operations)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

fn verilog<C: Circuit>(circuit: &C) -> String {
    let files = emit(&elaborate(circuit).unwrap()).modules;
    files.into_iter().map(|file| file.text).collect::<Vec<_>>().join("\n")
}

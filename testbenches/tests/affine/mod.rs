//! Affine registers.
//!
//! The references are written from Kim & Ro, "WIR: Warp Instruction Reuse to Minimize Repeated Computations in GPUs", §VII-A, and
//! from the contract of the ports.

mod affine_detector;
mod tuple_table;

use proptest::prelude::*;
use warpfile_hdl::rtl::Circuit;
use warpfile_testbenches::lockstep::{Lockstep, Reference};
use warpfile_testbenches::mutation::elaborate;

fn check<C: Circuit, R: Reference>(
    circuit: &C,
    reference: &R,
    how: &Lockstep,
    operations: &[R::Operation],
) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), reference, operations)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

//! Tests of the trace readers and writers as a whole.

mod accelsim;
mod container;
mod samples;
mod strands;
pub(super) mod synthetic;

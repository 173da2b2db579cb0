//! Testbenches of the circuits.
//!
//! [`lint`] runs Verilator, Icarus and Yosys over an exported circuit; [`witness`] compares both engines with what
//! Icarus and Verilator make of it (`warpfile-verify` runs them). [`lockstep`] drives a circuit, its reference
//! model and, when asked, its Verilog with the same operations. [`mod@bench`] holds the circuits that are raced
//! against other simulators. [`matrix`] runs every workload through every design. [`miniature`] holds circuits that show what the construction core must express. The
//! testbenches themselves are in `tests/`, which mirrors `hdl/`.

pub mod bench;
pub mod lint;
pub mod lockstep;
pub mod matrix;
pub mod miniature;
pub mod mutation;
pub mod race;
pub mod witness;

pub use warpfile_verify::{ToolError, testbench};

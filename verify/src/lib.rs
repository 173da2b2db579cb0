//! Circuits beside their exported Verilog, and proofs of their invariants.
//!
//! [`lockstep`] runs a circuit in the engine and its Verilog in Icarus or Verilator, from the same state with the same
//! inputs, and says where they first differ; [`stimulus`] makes the inputs, at random within what the circuit assumes,
//! or from a recording of a kernel's traffic; [`waveform`] shows both sides around the difference. One line does it for
//! any circuit: [`assert_lockstep`](lockstep::assert_lockstep). [`formal`] proves invariants with `yosys-smtbmc`.
//!
//! [`testbench`] is the Verilog around a circuit, [`icarus`] and [`verilator`] run it, [`tools`] finds them.

pub mod formal;
pub mod icarus;
pub mod lockstep;
pub mod stimulus;
pub mod testbench;
pub mod tools;
pub mod verilator;
pub mod waveform;

pub use tools::ToolError;

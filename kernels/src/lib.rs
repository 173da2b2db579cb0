//! Kernels: from PTX or a trace to machine instructions with the value of every operand.
//!
//! `ptx` parses, `exec` executes, `compile` allocates registers and annotates, `trace` reads and writes
//! files, `workloads` holds the kernels that come with the project. All of them meet in [`program`].

pub mod compile;
pub mod exec;
pub mod launch;
pub mod program;
pub mod ptx;
pub mod trace;
pub mod workloads;

//! Control flow, dataflow, register allocation and the compiler passes.

pub mod cfg;
pub mod dominators;

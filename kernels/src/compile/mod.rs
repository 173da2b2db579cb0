//! Control flow, dataflow, register allocation and the compiler passes.

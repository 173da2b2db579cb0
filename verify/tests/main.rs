//! Lockstep with Verilog and proofs: that they find what is wrong, and nothing where all is well.

mod assumptions;
mod formal;
mod library;
mod lockstep;
mod proofs;

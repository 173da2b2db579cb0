//! Circuits of the library through Yosys.

mod activity;
mod area;
mod icarus;
mod liberty;
mod sram;
mod tools;

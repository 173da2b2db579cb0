//! Circuits of the library through Yosys.

mod activity;
mod area;
mod liberty;
mod sram;
mod tools;

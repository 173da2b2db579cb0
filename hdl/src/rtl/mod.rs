//! The construction core: how circuits are described, and what they elaborate to.

pub mod bits;
pub mod netlist;

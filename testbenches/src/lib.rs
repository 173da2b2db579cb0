//! Testbenches of the circuits.

pub mod miniature;

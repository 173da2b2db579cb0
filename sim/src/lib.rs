//! The streaming multiprocessor around the circuits.
//!
//! [`config`] holds every parameter of a run, [`sm`] runs kernels through a design and checks every operand,
//! [`energy`] turns the activity of a run into energy.

pub mod config;
pub mod energy;
pub mod sm;

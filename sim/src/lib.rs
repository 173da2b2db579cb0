//! The streaming multiprocessor around the circuits.
//!
//! [`config`] holds every parameter of a run, [`sm`] runs kernels through a design and checks every operand,
//! [`mechanisms`] are what designs are made of, [`counters`] is what they count with, [`energy`] turns the activity of a
//! run into energy.

pub mod config;
pub mod counters;
pub mod energy;
pub mod mechanisms;
pub mod sm;

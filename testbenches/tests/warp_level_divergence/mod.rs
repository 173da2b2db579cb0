//! Warp-level divergence.
//!
//! The reference is written from Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §2.5.1.9, and from
//! the contract of the ports.

mod register_slots;

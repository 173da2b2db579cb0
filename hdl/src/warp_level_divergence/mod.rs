//! Warp-level divergence: registers that a finished warp gives to a waiting one before its block has ended.
//!
//! Source: Xiang, Yang, Zhou, "Warp-Level Divergence in GPUs: Characterization, Impact, and Mitigation", HPCA 2014, as described in
//! Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §2.5.1.9 and chapter 5.

mod circuits;
mod register_slots;

pub use circuits::FOLDER;
pub use register_slots::{RegisterSlots, RegisterSlotsIo};

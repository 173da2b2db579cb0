//! What the compiler tells a register file that renames registers: where each of them dies.
//!
//! A register takes a physical one when it is first written. It gives it back when no lane of the warp reads it again:
//! with the last instruction that reads it, with the first instruction of a block that is entered without need of it,
//! or when it has been written if nothing reads the result. Source: Jeon et al., "GPU Register File Virtualization",
//! MICRO 2015 (release flags of instructions and of blocks).

use serde::{Deserialize, Serialize};

use crate::program::{MAX_RESULTS, PhysReg};

/// Where the registers of a program die.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Releases {
    /// For each instruction what it releases.
    pub instructions: Vec<Release>,
    /// Most registers that a warp has at once. The results of an instruction count beside what it releases.
    pub most_held: u16,
    /// Most registers that a warp has while it waits at a barrier.
    pub most_held_at_barrier: u16,
}

/// What an instruction releases, whether or not any lane executes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Registers that are dead once its operands have been read, in increasing order; none of its results. Some of them
    /// may have no physical register.
    pub registers: Vec<PhysReg>,
    /// Results that nothing reads: dead once they are written.
    pub results: [bool; MAX_RESULTS],
}

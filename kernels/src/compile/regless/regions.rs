//! What RegLess's compiler tells the hardware: regions, and marks on their instructions.
//!
//! A region is a run of instructions inside a basic block. The hardware starts it when there is room for it in the
//! operand staging unit, and keeps that room until it has ended, so the region says what it needs: which registers
//! must be there before its first instruction (*preloads*), how many lines it holds at once, and after which access
//! it no longer needs a line (*fates*). Source: Kloosterman et al., "RegLess", §4, Fig. 6.
//!
//! A region *holds* the line of a register from its preload, or from the issue of the first instruction that writes
//! it, to the access that carries its fate. There is one such access for each register that a region touches: the
//! last. A result that carries the fate is written some time after it has issued, so its line counts as held until
//! the region ends.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::program::{MAX_RESULTS, MAX_SOURCES, PhysReg};

/// Banks of an operand staging unit (§5.2).
pub const BANKS: usize = 8;

/// The bank of a register for the warp with index `warp` in its shard (§5.2).
pub fn bank(warp: usize, register: PhysReg) -> usize {
    (warp + usize::from(register.0)) % BANKS
}

/// A region: its position in [`Regions::regions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RegionId(pub u32);

impl RegionId {
    /// Position in [`Regions::regions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The regions of a program and the marks on its instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regions {
    /// In program order; together they cover every instruction once.
    pub regions: Vec<Region>,
    /// For each instruction the region it is in.
    pub region_of: Vec<RegionId>,
    /// For each instruction what it says of its operands.
    pub marks: Vec<Marks>,
}

/// A run of instructions that the hardware starts as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Positions in the program; never empty.
    pub instructions: Range<u32>,
    /// Registers to be staged before the first instruction, in increasing order: those whose value from before is
    /// read, or kept in lanes that a write may leave out (§4.4).
    pub preloads: Vec<Preload>,
    /// Registers whose value is dead before the first instruction, in increasing order: their copies are to be
    /// dropped wherever they are (§4.3). None of them is preloaded.
    pub cache_invalidations: Vec<PhysReg>,
    /// Most lines held at once in each bank, for the warp with index 0. The hardware rotates it by the index of the
    /// warp. The sources and results of one instruction are held together.
    pub bank_lines: [u8; BANKS],
    /// Most lines held at once in all banks together.
    pub live: u16,
}

/// A register that a region needs from before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preload {
    /// The register.
    pub register: PhysReg,
    /// The value dies in this region: the copy in memory is dropped once it has been read (§4.3).
    pub invalidates: bool,
}

/// What an instruction says of its operands, and what comes before it in the instruction stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// Fate of the line after the read of each of [`Instruction::sources`](crate::program::Instruction::sources).
    pub sources: [Fate; MAX_SOURCES],
    /// Fate of the line after the write of each of [`Instruction::results`](crate::program::Instruction::results).
    pub results: [Fate; MAX_RESULTS],
    /// Metadata instructions before this one, each of which takes an issue slot (§5.4).
    pub metadata_before: u16,
}

/// What becomes of a register's line after an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The region goes on using it.
    #[default]
    Keep,
    /// The region's last access; the value lives on, so the line may be evicted, written back if it is dirty.
    Evict,
    /// The region's last access; the value is dead, so the line is free.
    Erase,
}

//! What the compiler of a register scratchpad tells the hardware: which operands are in an entry, and which.
//!
//! A warp of the active set has a slice of the register scratchpad (RSP), a few entries without tags. An operand in an entry
//! is neither read nor written behind it, in the backing store: the main register file or the register cache in front of
//! it. A value that is read there later is *live-out*: the hardware copies it there in the background, and an instruction that
//! reads it there waits for that. Entries hold nothing across *strands*. Source: Bailey et al., "Scratch That (But Cache
//! This)", TCAD 2018, §III-B.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::program::{MAX_RESULTS, MAX_SOURCES, PhysReg};

/// Entries that a warp may have.
pub const MAX_ENTRIES: u8 = 16;

/// Where the operands of a program are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Positions in the program, in program order; together they cover every instruction once, none is empty.
    pub strands: Vec<Range<u32>>,
    /// For each instruction where its operands are.
    pub places: Vec<Places>,
    /// What the entries are given to, by strand and entry; for a reader alone.
    pub allocations: Vec<Allocation>,
}

/// Where the operands of an instruction are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// Those of the sources, in their order.
    pub sources: [SourcePlace; MAX_SOURCES],
    /// Those of the results, in their order.
    pub results: [ResultPlace; MAX_RESULTS],
}

/// Where a source is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePlace {
    /// The entry it is read from; `None`: the backing store.
    pub entry: Option<u8>,
    /// The entry that what is read from the backing store is copied to; one source of an instruction at most has one.
    pub copied_to: Option<u8>,
}

/// Where a result is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultPlace {
    /// The entry; `None`: the backing store.
    pub entry: Option<u8>,
    /// It is in an entry, and may be read in the backing store: it is copied there.
    pub live_out: bool,
}

/// A register in an entry for a part of a strand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    /// The strand.
    pub strand: u32,
    /// The entry.
    pub entry: u8,
    /// The register.
    pub register: PhysReg,
    /// It is copied there at the first read; if not, it is written there.
    pub is_read: bool,
    /// Positions of the first and the last access.
    pub range: Range<u32>,
    /// Accesses that take place there, the copy among them.
    pub accesses: u32,
    /// Writes that are copied to the backing store.
    pub live_outs: u32,
    /// Energy that it saves, of one execution, for each instruction of its range, pJ.
    pub score: f64,
}

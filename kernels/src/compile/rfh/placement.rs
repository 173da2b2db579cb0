//! What the compiler of a register file hierarchy tells the hardware: at which level each operand is.
//!
//! In front of the main register file (MRF) are two small structures for active warps: a last result file (LRF) of
//! one entry a warp and an operand register file (ORF) of a few. They have no tags: the compiler places values in
//! their entries. A value is in one of them at most; one that lives on is also written to the MRF. What is in them is
//! lost at the end of a *strand*, a run of instructions in which the warp is never suspended. Source: Gebhart et al.,
//! "A Compile-Time Managed Multi-Level Register File Hierarchy", MICRO 2011.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::program::{MAX_RESULTS, MAX_SOURCES};

/// Entries that an operand register file may have for a warp.
pub const MAX_ORF_ENTRIES: u8 = 8;

/// An entry of a warp in the levels above the main register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upper {
    /// The one of the last result file.
    Lrf,
    /// One of the operand register file, counted from 0.
    Orf(u8),
}

/// Where the operands of a program are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Positions in the program, in program order; together they cover every instruction once, none is empty.
    pub strands: Vec<Range<u32>>,
    /// For each instruction where its operands are.
    pub places: Vec<Places>,
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
    /// The entry it is read from; `None`: the main register file.
    pub upper: Option<Upper>,
    /// The entry of the operand register file that what is read from the main register file is copied to; one source
    /// of an instruction at most has one.
    pub copied_to: Option<u8>,
}

/// Where a result is written: to one level at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultPlace {
    /// An entry.
    pub upper: Option<Upper>,
    /// The main register file.
    pub main: bool,
}

impl Default for ResultPlace {
    /// The main register file alone.
    fn default() -> ResultPlace {
        ResultPlace { upper: None, main: true }
    }
}

//! Accesses to device memory outside of every buffer, counted where they are tolerated.

use std::collections::BTreeMap;

use serde::Serialize;

use super::error::Trouble;
use crate::ptx::ir::{Instruction, Op};

/// The accesses of one instruction outside of every buffer, in all launches of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutOfBounds {
    /// The PTX file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Line of the PTX file.
    pub line: u32,
    /// The instruction's text.
    pub instruction: String,
    /// What it does.
    pub kind: AccessKind,
    /// Accesses, one a lane.
    pub accesses: u64,
    /// Where the first of them is.
    pub first: FirstAccess,
}

/// What an instruction does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// It loads: zeros, out of bounds.
    Load,
    /// It stores: nothing, out of bounds.
    Store,
    /// It loads zeros and stores nothing, out of bounds.
    Atomic,
}

/// The first access of an instruction outside of every buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstAccess {
    /// The block.
    pub block: [u32; 3],
    /// The thread, and where it is in its warp.
    pub thread: String,
    /// Bytes, address, and the buffer that is nearest.
    pub access: String,
}

impl AccessKind {
    /// Of an instruction that accesses memory.
    pub(super) fn of(instruction: &Instruction) -> AccessKind {
        if matches!(instruction.op, Op::St { .. }) {
            AccessKind::Store
        } else if matches!(instruction.op, Op::Atom { .. }) {
            AccessKind::Atomic
        } else {
            AccessKind::Load
        }
    }
}

/// The accesses outside of every buffer of one instruction of one warp.
#[derive(Debug, Default)]
pub(super) struct Outside {
    pub(super) accesses: u64,
    pub(super) first: Option<Trouble>,
}

impl Outside {
    /// One more, which is described if it is the first.
    pub(super) fn note(&mut self, describe: impl FnOnce() -> Trouble) {
        self.accesses += 1;
        self.first.get_or_insert_with(describe);
    }
}

/// What a block has accessed outside of every buffer: by instruction, how often and where first.
pub(super) type OutsideOfBlock = BTreeMap<u32, (u64, FirstAccess)>;

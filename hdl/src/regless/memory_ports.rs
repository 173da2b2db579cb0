//! Requests from a shard to memory, and the lines that come back: `docs/regless-pipeline.md`.

use crate::regfile::LANE_BITS;
use crate::rtl::{Encoding, In, Out, Ports, index_bits};

/// What is asked of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encoding)]
pub enum RequestKind {
    /// A line is to come.
    Fetch = 0,
    /// A whole line is written.
    Write = 1,
    /// A line is dropped, dirty or not.
    Invalidate = 2,
    /// Every line of a warp is dropped.
    Drop = 3,
}

/// What the widths of these ports follow from.
#[derive(Clone, Copy, Debug)]
pub struct MemoryWidths {
    /// Warps of a shard.
    pub warps: usize,
    /// Bits of a register's number.
    pub register_bits: usize,
    /// Lines of a bank of the operand staging unit.
    pub osu_lines: usize,
    /// Lanes of a warp.
    pub lanes: usize,
}

impl MemoryWidths {
    /// Bits of a line: one register of a warp.
    pub fn line_bits(&self) -> usize {
        self.lanes.saturating_mul(LANE_BITS)
    }

    /// Bits of a warp's number within its shard.
    pub fn warp_bits(&self) -> usize {
        index_bits(self.warps)
    }
}

/// A request that is made.
#[derive(Clone, Ports)]
#[params(MemoryWidths)]
#[flipped(RequestInIo)]
pub struct RequestOutIo<'m> {
    /// A request is offered.
    pub valid_o: Out<'m>,
    /// It is taken.
    pub ready_i: In<'m>,
    /// Its [`RequestKind`].
    #[bits(RequestKind::BITS)]
    pub kind_o: Out<'m>,
    /// Of the space of compressed lines.
    pub compressed_o: Out<'m>,
    /// The warp; of a compressed line, the low bits of its number.
    #[bits(p.warp_bits())]
    pub warp_o: Out<'m>,
    /// The register; of a compressed line, the high bits of its number.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
    /// Where a line fetched goes.
    #[bits(index_bits(p.osu_lines))]
    pub line_o: Out<'m>,
    /// The copy in memory is dropped once it is fetched.
    pub invalidates_o: Out<'m>,
    /// The line written.
    #[bits(p.line_bits())]
    pub value_o: Out<'m>,
}

/// A line fetched, on its way in. It is always accepted.
#[derive(Clone, Ports)]
#[params(MemoryWidths)]
#[flipped(FillOutIo)]
pub struct FillInIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Of the space of compressed lines.
    pub compressed_i: In<'m>,
    /// As requested.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// As requested.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// As requested.
    #[bits(index_bits(p.osu_lines))]
    pub line_i: In<'m>,
    /// The line.
    #[bits(p.line_bits())]
    pub value_i: In<'m>,
}

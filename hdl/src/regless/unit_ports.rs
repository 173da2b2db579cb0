//! Ports of the operand staging unit.

use super::access_queue::{AccessQueue, PushIo};
use super::bank_ports::{LineAccessIo, LinePowerIo};
use super::geometry::ShardGeometry;
use super::memory_ports::{FillInIo, RequestOutIo};
use super::operand_staging_unit::OperandStagingUnit;
use super::ports::{Fate, Note};
use crate::rtl::{In, Out, Ports};

/// Ports of an [`OperandStagingUnit`].
#[derive(Ports)]
#[params(OperandStagingUnit)]
pub struct OperandStagingUnitIo<'m> {
    /// The banks.
    #[repeat(p.geometry.banks)]
    #[with(p.access_queue())]
    pub bank: Vec<UnitBankIo<'m>>,
    /// Results, the lowest-numbered first.
    #[repeat(p.writes)]
    #[with(p.geometry)]
    pub write: Vec<ResultIo<'m>>,
    /// A warp that has ended.
    #[with(p.geometry)]
    pub exit: ExitIo<'m>,
    /// To the compressor, or to L1.
    #[with(p.geometry.memory_widths())]
    pub memory_request: RequestOutIo<'m>,
    /// From there.
    #[with(p.geometry.memory_widths())]
    pub memory_fill: FillInIo<'m>,
    /// Power of the lines; no ports unless they may be without it.
    #[repeat_plain(usize::from(p.gated))]
    #[with(p.geometry)]
    pub power: Vec<UnitPowerIo<'m>>,
}

/// Power of the lines of an operand staging unit.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct UnitPowerIo<'m> {
    /// Of each bank.
    #[repeat(p.banks)]
    pub bank: Vec<LinePowerIo<'m>>,
    /// The line that is filled.
    pub filled: LineAccessIo<'m>,
}

/// One of the banks.
#[derive(Ports)]
#[params(AccessQueue)]
pub struct UnitBankIo<'m> {
    /// An access comes.
    #[with(p.widths())]
    pub push: PushIo<'m>,
    /// Warps whose region has a line left here that it does not hold.
    #[bits(p.geometry.warps)]
    pub may_hold_i: In<'m>,
    /// An access is served.
    pub served: ServedIo<'m>,
    /// The value of the source that was served in the cycle before.
    pub value: ValueIo<'m>,
    /// An annotation comes.
    #[with(p.geometry)]
    pub note: NoteIo<'m>,
    /// An annotation is served.
    #[with(p.geometry)]
    pub staged: StagedIo<'m>,
    /// What regions hold changes.
    #[with(p.geometry)]
    pub held: HoldsIo<'m>,
    /// The tags are looked at.
    pub tags_used_o: Out<'m>,
}

/// An access that is served.
#[derive(Ports)]
#[params(AccessQueue)]
pub struct ServedIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// Its warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_o: Out<'m>,
    /// It reads a source.
    pub reads_o: Out<'m>,
    /// It reserves the line of a result.
    pub reserves_o: Out<'m>,
    /// Who waits for it.
    #[bits(p.place_bits)]
    pub place_o: Out<'m>,
    /// Result: the line.
    #[bits(p.geometry.line_bits())]
    pub line_o: Out<'m>,
}

/// A value that was read.
#[derive(Ports)]
#[params(AccessQueue)]
pub struct ValueIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// Who waits for it.
    #[bits(p.place_bits)]
    pub place_o: Out<'m>,
    /// The value.
    #[bits(p.geometry.value_bits())]
    pub value_o: Out<'m>,
}

/// An annotation that comes.
#[derive(Ports)]
#[params(ShardGeometry)]
#[flipped(SentNoteIo)]
pub struct NoteIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// There is room.
    pub ready_o: Out<'m>,
    /// Its [`Note`].
    #[bits(Note::BITS)]
    pub kind_i: In<'m>,
    /// The warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
}

/// An annotation that is served.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct StagedIo<'m> {
    /// There is one, and no fill is to come.
    pub done_o: Out<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub warp_o: Out<'m>,
    /// A preload found its line.
    pub hit_o: Out<'m>,
    /// A preload found no line, and memory has no copy.
    pub unwritten_o: Out<'m>,
    /// A preload found no line, and fetches the copy in memory.
    pub fetched_o: Out<'m>,
}

/// Changes of what regions hold.
#[derive(Ports)]
#[params(ShardGeometry)]
#[flipped(HeldChangeIo)]
pub struct HoldsIo<'m> {
    /// The warp of `warp_o` holds one line more.
    pub more_o: Out<'m>,
    /// The warp of `warp_o` holds one line less.
    pub less_o: Out<'m>,
    /// The warp of the access or annotation served.
    #[bits(p.warp_bits())]
    pub warp_o: Out<'m>,
    /// The warp of `written_warp_o` holds one line less.
    pub written_less_o: Out<'m>,
    /// The warp whose result is written.
    #[bits(p.warp_bits())]
    pub written_warp_o: Out<'m>,
    /// Lines that no region holds.
    #[bits(p.line_count_bits())]
    pub listed_o: Out<'m>,
}

/// A result.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct ResultIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is taken.
    pub ready_o: Out<'m>,
    /// A read of its register that is older has not reached the queues yet.
    pub blocked_i: In<'m>,
    /// The warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// The line reserved for it.
    #[bits(p.line_bits())]
    pub line_i: In<'m>,
    /// Its [`Fate`].
    #[bits(Fate::BITS)]
    pub fate_i: In<'m>,
    /// Lanes written.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.value_bits())]
    pub value_i: In<'m>,
}

/// A warp that has ended.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct ExitIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Everything of it is dropped, or asked to be.
    pub ready_o: Out<'m>,
    /// The warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
}

//! Ports of a staging bank.

use super::geometry::ShardGeometry;
use super::memory_ports::RequestKind;
use super::ports::{Fate, Note};
use super::staging_bank::StagingBank;
use crate::rtl::{In, Out, Ports};

/// Ports of a [`StagingBank`].
#[derive(Ports)]
#[params(StagingBank)]
pub struct StagingBankIo<'m> {
    /// The oldest access of an instruction that waits for the bank.
    pub access: AccessIo<'m>,
    /// The oldest annotation that waits for the bank.
    pub preload: PreloadIo<'m>,
    /// A result.
    pub write: BankWriteIo<'m>,
    /// A line that was fetched.
    pub fill: BankFillIo<'m>,
    /// A warp has ended: its lines are free, and memory has no copy of its registers.
    pub drop: DropIo<'m>,
    /// What is asked of memory.
    pub request: BankRequestIo<'m>,
    /// A region begins to hold a line, or ceases to.
    pub held: HeldIo<'m>,
    /// The tags are looked at, for an access or for an annotation.
    pub tags_used_o: Out<'m>,
    /// Power of the lines; no ports unless they may be without it.
    #[repeat_plain(usize::from(p.gated))]
    #[with(p.geometry)]
    pub power: Vec<LinePowerIo<'m>>,
}

/// Power of the lines of a bank, one bit each. A line that is on stays on as long as it is asked for.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct LinePowerIo<'m> {
    /// Lines that are on.
    #[bits(p.lines)]
    pub on_i: In<'m>,
    /// Lines that are asked for: their values are about to be read or written.
    #[bits(p.lines)]
    pub request_o: Out<'m>,
    /// Lines that have no register from the next cycle on.
    #[bits(p.lines)]
    pub freed_o: Out<'m>,
    /// The line that is read for an instruction.
    pub read: LineReadIo<'m>,
}

/// A line that is read for an instruction.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct LineReadIo<'m> {
    /// Which.
    #[flatten]
    pub line: LineAccessIo<'m>,
    /// Lanes that are read.
    #[bits(p.lanes)]
    pub lanes_o: Out<'m>,
}

/// A line whose value is accessed.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct LineAccessIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// The warp.
    #[bits(p.warp_bits())]
    #[valid_when(valid_o)]
    pub warp_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits)]
    #[valid_when(valid_o)]
    pub register_o: Out<'m>,
    /// The line.
    #[bits(p.line_bits())]
    #[valid_when(valid_o)]
    pub line_o: Out<'m>,
}

/// An access of an instruction.
#[derive(Ports)]
#[params(StagingBank)]
pub struct AccessIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is done in this cycle.
    pub ready_o: Out<'m>,
    /// It reads a source.
    pub reads_i: In<'m>,
    /// It reserves the line of a result: that of the register it reads, if it reads one.
    pub reserves_i: In<'m>,
    /// The warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.geometry.register_bits)]
    pub register_i: In<'m>,
    /// The access's [`Fate`]; of a result that will be written the fate comes with the write instead.
    #[bits(Fate::BITS)]
    pub fate_i: In<'m>,
    /// Source: lanes wanted.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
    /// Result: a write will come.
    pub written_i: In<'m>,
    /// The warp's region has a line left that it does not hold.
    pub may_hold_i: In<'m>,
    /// The line.
    #[bits(p.geometry.line_bits())]
    pub line_o: Out<'m>,
    /// The value of the source read in the cycle before.
    #[bits(p.geometry.value_bits())]
    pub value_o: Out<'m>,
}

/// An annotation.
#[derive(Ports)]
#[params(StagingBank)]
pub struct PreloadIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is taken in this cycle.
    pub ready_o: Out<'m>,
    /// Its [`Note`].
    #[bits(Note::BITS)]
    pub kind_i: In<'m>,
    /// The warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.geometry.register_bits)]
    pub register_i: In<'m>,
    /// A preload found its line.
    pub hit_o: Out<'m>,
    /// A preload found no line, and memory has no copy.
    pub unwritten_o: Out<'m>,
    /// A preload found no line, and fetches the copy in memory.
    pub fetched_o: Out<'m>,
}

/// A result.
#[derive(Ports)]
#[params(StagingBank)]
pub struct BankWriteIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is taken: no fill comes.
    pub ready_o: Out<'m>,
    /// The warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.geometry.register_bits)]
    pub register_i: In<'m>,
    /// The line reserved for it.
    #[bits(p.geometry.line_bits())]
    pub line_i: In<'m>,
    /// Its [`Fate`].
    #[bits(Fate::BITS)]
    pub fate_i: In<'m>,
    /// Lanes written.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.geometry.value_bits())]
    pub value_i: In<'m>,
}

/// A line that was fetched.
#[derive(Ports)]
#[params(StagingBank)]
pub struct BankFillIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The line.
    #[bits(p.geometry.line_bits())]
    pub line_i: In<'m>,
    /// The value.
    #[bits(p.geometry.value_bits())]
    pub value_i: In<'m>,
}

/// A warp that has ended.
#[derive(Ports)]
#[params(StagingBank)]
pub struct DropIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
}

/// What is asked of memory.
#[derive(Ports)]
#[params(StagingBank)]
pub struct BankRequestIo<'m> {
    /// There is a request.
    pub valid_o: Out<'m>,
    /// It is taken.
    pub ready_i: In<'m>,
    /// A request is offered, or about to be.
    pub busy_o: Out<'m>,
    /// Its [`RequestKind`](super::RequestKind).
    #[bits(RequestKind::BITS)]
    pub kind_o: Out<'m>,
    /// The warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_o: Out<'m>,
    /// The register.
    #[bits(p.geometry.register_bits)]
    pub register_o: Out<'m>,
    /// Fetch: the line that waits for it.
    #[bits(p.geometry.line_bits())]
    pub line_o: Out<'m>,
    /// Fetch: the copy is dropped once it is read.
    pub invalidates_o: Out<'m>,
    /// Write: the value.
    #[bits(p.geometry.value_bits())]
    pub value_o: Out<'m>,
}

/// Changes of what regions hold.
#[derive(Ports)]
#[params(StagingBank)]
pub struct HeldIo<'m> {
    /// The warp of `warp_o` holds one line more.
    pub more_o: Out<'m>,
    /// The warp of `warp_o` holds one line less.
    pub less_o: Out<'m>,
    /// The warp of the access or preload served.
    #[bits(p.geometry.warp_bits())]
    pub warp_o: Out<'m>,
    /// The warp whose result is written holds one line less.
    pub written_less_o: Out<'m>,
    /// Lines that no region holds.
    #[bits(p.geometry.line_count_bits())]
    pub listed_o: Out<'m>,
}

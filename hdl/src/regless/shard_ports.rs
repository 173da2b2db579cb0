//! Ports of a shard: `docs/regless-pipeline.md`.

use super::access_distributor::{DestinationIo, OperandIo};
use super::geometry::{RESULTS, SOURCES, ShardGeometry};
use super::memory_ports::{FillInIo, RequestOutIo};
use super::metadata_store::MetadataIo;
use super::ports::Fate;
use super::register_read_unit::ExecutionUnitIo;
use super::shard::RegLessShard;
use super::unit_ports::{ExitIo, UnitPowerIo};
use crate::rtl::{In, Out, Ports, index_bits};

/// Ports of a [`RegLessShard`].
#[derive(Ports)]
#[params(RegLessShard)]
pub struct RegLessShardIo<'m> {
    /// To and from the SM.
    #[flatten]
    pub sm: ShardSmIo<'m>,
    /// To memory.
    #[with(p.geometry.memory_widths())]
    pub memory_request: RequestOutIo<'m>,
    /// From memory.
    #[with(p.geometry.memory_widths())]
    pub memory_fill: FillInIo<'m>,
}

/// What the SM sees of a [`RegLessShard`]: all but its way to memory.
#[derive(Ports)]
#[params(RegLessShard)]
pub struct ShardSmIo<'m> {
    /// A word of metadata from decode.
    #[with(p.geometry)]
    pub metadata: MetadataIo<'m>,
    /// Warps that do not rejoin the warp stack yet.
    #[bits(p.geometry.warps)]
    pub waiting_i: In<'m>,
    /// Warps that may issue.
    #[bits(p.geometry.warps)]
    pub active_o: Out<'m>,
    /// Warps that hold nothing and have nothing under way.
    #[bits(p.geometry.warps)]
    pub inactive_o: Out<'m>,
    /// A warp that has ended.
    #[with(p.geometry)]
    pub exit: ExitIo<'m>,
    /// Instructions, the older first.
    #[repeat(p.issues)]
    pub issue: Vec<ShardIssueIo<'m>>,
    /// The execution units.
    #[repeat(p.units)]
    #[with(p.read_unit())]
    pub unit: Vec<ExecutionUnitIo<'m>>,
    /// Results, the lowest-numbered first.
    #[repeat(p.writes)]
    #[with(p.geometry)]
    pub write: Vec<ShardWriteIo<'m>>,
    /// Preloads that found their line, one bit a bank.
    #[bits(p.geometry.banks)]
    pub preload_hit_o: Out<'m>,
    /// Preloads of registers that have no value.
    #[bits(p.geometry.banks)]
    pub preload_unwritten_o: Out<'m>,
    /// Preloads that fetch.
    #[bits(p.geometry.banks)]
    pub preload_fetched_o: Out<'m>,
    /// Banks that use their tags.
    #[bits(p.geometry.banks)]
    pub tag_access_o: Out<'m>,
    /// The compressor reads a register whose line it holds.
    pub compressor_hit_o: Out<'m>,
    /// The compressor reads a register whose line it had to fetch.
    pub compressor_miss_o: Out<'m>,
    /// Power of the lines; no ports unless they may be without it.
    #[repeat_plain(usize::from(p.gated))]
    #[with(p.geometry)]
    pub power: Vec<UnitPowerIo<'m>>,
}

/// An instruction.
#[derive(Ports)]
#[params(RegLessShard)]
pub struct ShardIssueIo<'m> {
    /// It is offered.
    pub valid_i: In<'m>,
    /// It is taken.
    pub ready_o: Out<'m>,
    /// Comes back with the operands.
    #[bits(p.id_bits)]
    pub id_i: In<'m>,
    /// The unit that executes it.
    #[bits(index_bits(p.units))]
    pub unit_i: In<'m>,
    /// Its warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// The last of its region.
    pub last_i: In<'m>,
    /// Lanes that execute.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
    /// Registers it reads.
    #[repeat(SOURCES)]
    #[with(p.geometry)]
    pub source: Vec<OperandIo<'m>>,
    /// Registers it writes.
    #[repeat(RESULTS)]
    #[with(p.geometry)]
    pub result: Vec<DestinationIo<'m>>,
}

/// A result.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct ShardWriteIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is taken.
    pub ready_o: Out<'m>,
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

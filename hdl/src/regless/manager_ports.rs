//! Ports of the capacity manager.

use super::capacity_manager::CapacityManager;
use super::geometry::{RESULTS, SOURCES, ShardGeometry};
use super::metadata_store::MetadataIo;
use super::unit_ports::{HeldChangeIo, SentNoteIo};
use crate::rtl::{In, Out, Ports, count_bits};

/// Ports of a [`CapacityManager`].
#[derive(Ports)]
#[params(CapacityManager)]
pub struct CapacityManagerIo<'m> {
    /// A word of metadata from decode.
    #[with(p.geometry)]
    pub metadata: MetadataIo<'m>,
    /// Warps that are not pushed on the stack.
    #[bits(p.geometry.warps)]
    pub waiting_i: In<'m>,
    /// Warps that may issue.
    #[bits(p.geometry.warps)]
    pub active_o: Out<'m>,
    /// Warps that hold nothing and have nothing under way.
    #[bits(p.geometry.warps)]
    pub inactive_o: Out<'m>,
    /// Instructions.
    #[repeat(p.issues)]
    #[with(p.geometry)]
    pub issue: Vec<IssuedIo<'m>>,
    /// The banks.
    #[repeat(p.geometry.banks)]
    #[with(p.geometry)]
    pub bank: Vec<ManagedBankIo<'m>>,
    /// A fetched line.
    #[with(p.geometry)]
    pub fill: FilledIo<'m>,
    /// Results.
    #[repeat(p.writes)]
    #[with(p.geometry)]
    pub write: Vec<WrittenResultIo<'m>>,
}

/// An instruction.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct IssuedIo<'m> {
    /// It is taken.
    pub taken_i: In<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// The last of its region.
    pub last_i: In<'m>,
    /// Accesses it makes.
    #[bits(count_bits(SOURCES + RESULTS))]
    pub accesses_i: In<'m>,
    /// Writes that will come.
    #[bits(count_bits(RESULTS))]
    pub writes_i: In<'m>,
}

/// A bank of the staging unit.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct ManagedBankIo<'m> {
    /// An annotation for the bank.
    pub note: SentNoteIo<'m>,
    /// An annotation that is served.
    pub staged: ServedNoteIo<'m>,
    /// An access that is served.
    pub served: ServedAccessIo<'m>,
    /// What regions hold changes.
    pub held: HeldChangeIo<'m>,
    /// Warps whose region has a line left here that it does not hold.
    #[bits(p.warps)]
    pub may_hold_o: Out<'m>,
}

/// An annotation that is served.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct ServedNoteIo<'m> {
    /// There is one, and no fill is to come.
    pub done_i: In<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
}

/// An access that is served.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct ServedAccessIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
}

/// A fetched line.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct FilledIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
}

/// A result.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct WrittenResultIo<'m> {
    /// It is taken.
    pub taken_i: In<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
}

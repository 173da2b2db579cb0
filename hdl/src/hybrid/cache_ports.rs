//! Ports of the register cache.

use super::register_cache::RegisterCache;
use crate::regfile::{RegisterWriteIo, SOURCES};
use crate::rtl::{In, Out, Ports, index_bits};

/// Ports of a [`RegisterCache`].
#[derive(Ports)]
#[params(RegisterCache)]
pub struct RegisterCacheIo<'m> {
    /// For each group of collectors: an instruction looks its operands up, and is kept until it is collected.
    #[repeat_plain(p.issues)]
    pub lookup: Vec<LookupIo<'m>>,
    /// The instruction looked up last waits for a collector of its group.
    #[repeat_plain(p.issues)]
    pub waiting_i: Vec<In<'m>>,
    /// It gets a collector.
    #[repeat_plain(p.issues)]
    pub collect: Vec<CollectorIo<'m>>,
    /// The instruction of a collector of the group is dispatched.
    #[repeat_plain(p.issues)]
    pub dispatch: Vec<CollectorIo<'m>>,
    /// What the instruction dispatched in the cycle before finds here: the operands of the first group come first.
    #[repeat(p.issues.saturating_mul(SOURCES))]
    pub operand: Vec<FoundOperandIo<'m>>,
    /// Values to be written.
    #[repeat_plain(p.issues)]
    #[with(p.widths())]
    pub write: Vec<RegisterWriteIo<'m>>,
    /// The warp whose register it is.
    #[repeat_plain(p.issues)]
    #[bits(index_bits(p.warps))]
    pub write_warp_i: Vec<In<'m>>,
    /// What is read in the main register file for the instructions dispatched in the cycle before; no ports unless reads
    /// allocate.
    #[repeat_plain(if p.read_allocates { p.issues } else { 0 })]
    pub copy: Vec<CopyIo<'m>>,
    /// Registers that are to leave at once.
    #[repeat(p.leaving)]
    pub leave: Vec<LeaveIo<'m>>,
    /// A register to be written to the main register file.
    pub spill: SpillIo<'m>,
    /// Warps that have ended: their lines are dropped.
    #[bits(p.warps)]
    pub ended_i: In<'m>,
}

/// A lookup.
#[derive(Ports)]
#[params(RegisterCache)]
pub struct LookupIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Lanes that execute.
    #[bits(p.lanes)]
    pub active_i: In<'m>,
    /// The warp; only where reads allocate.
    #[repeat_plain(usize::from(p.read_allocates))]
    #[bits(index_bits(p.warps))]
    pub warp_i: Vec<In<'m>>,
    /// The operands.
    #[repeat(SOURCES)]
    pub source: Vec<LookupSourceIo<'m>>,
}

/// An operand that is looked up.
#[derive(Ports)]
#[params(RegisterCache)]
pub struct LookupSourceIo<'m> {
    /// It is read here or in the main register file.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// No executing lane reads the value again; also if it is read elsewhere.
    pub last_read_i: In<'m>,
    /// Executing lanes found here.
    #[bits(p.lanes)]
    pub lanes_o: Out<'m>,
}

/// A collector that an instruction gets or leaves.
#[derive(Ports)]
#[params(RegisterCache)]
pub struct CollectorIo<'m> {
    /// It does so in this cycle.
    pub valid_i: In<'m>,
    /// The collector.
    #[bits(index_bits(p.collectors))]
    pub index_i: In<'m>,
}

/// An operand as far as it is found here.
#[derive(Ports)]
#[params(RegisterCache)]
pub struct FoundOperandIo<'m> {
    /// Lanes found here.
    #[bits(p.lanes)]
    pub lanes_o: Out<'m>,
    /// The value in these lanes, 0 in the others.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// An operand that may be copied to the cache.
#[derive(Ports)]
#[params(RegisterCache)]
pub struct CopyIo<'m> {
    /// Which operand, one-hot.
    #[bits(SOURCES)]
    pub source_o: Out<'m>,
    /// Its value.
    #[bits(p.value_bits())]
    pub value_i: In<'m>,
}

/// A register that is to leave the cache.
#[derive(Ports)]
#[params(RegisterCache)]
pub struct LeaveIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Lanes of it are here: it leaves in this cycle at the earliest. It is asked for until this is 0.
    pub held_o: Out<'m>,
}

/// A register to be written to the main register file.
#[derive(Ports)]
#[params(RegisterCache)]
pub struct SpillIo<'m> {
    /// One is offered.
    pub valid_o: Out<'m>,
    /// An offered register is taken.
    pub ready_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    #[valid_when(valid_o)]
    pub register_o: Out<'m>,
    /// Lanes to be written.
    #[bits(p.lanes)]
    #[valid_when(valid_o)]
    pub lanes_o: Out<'m>,
    /// The value.
    #[bits(p.value_bits())]
    #[valid_when(valid_o)]
    pub value_o: Out<'m>,
}

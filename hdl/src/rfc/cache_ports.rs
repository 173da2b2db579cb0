//! Ports of the register file cache.

use super::register_file_cache::RegisterFileCache;
use crate::regfile::{RegisterWriteIo, SOURCES};
use crate::rtl::{In, Out, Ports, index_bits};

/// Ports of a [`RegisterFileCache`].
#[derive(Ports)]
#[params(RegisterFileCache)]
pub struct RegisterFileCacheIo<'m> {
    /// For each group of collectors: an instruction looks its operands up, and is kept until it is collected.
    #[repeat_plain(p.issues)]
    pub lookup: Vec<CacheLookupIo<'m>>,
    /// The instruction looked up last waits for a collector of its group.
    #[repeat_plain(p.issues)]
    pub waiting_i: Vec<In<'m>>,
    /// It gets a collector.
    #[repeat_plain(p.issues)]
    pub collect: Vec<CacheReadIo<'m>>,
    /// The instruction of a collector of the group is dispatched.
    #[repeat_plain(p.issues)]
    pub dispatch: Vec<CacheReadIo<'m>>,
    /// What the instruction dispatched in the cycle before finds here: the operands of the first group come first.
    #[repeat(p.issues.saturating_mul(SOURCES))]
    pub operand: Vec<CollectedIo<'m>>,
    /// Results.
    #[repeat_plain(p.issues)]
    #[with(p.widths())]
    pub result: Vec<RegisterWriteIo<'m>>,
    /// The warp's slot.
    #[repeat_plain(p.issues)]
    #[bits(index_bits(p.slots))]
    pub result_slot_i: Vec<In<'m>>,
    /// The value is not read before the warp may next be suspended.
    #[repeat_plain(p.issues)]
    pub result_idle_i: Vec<In<'m>>,
    /// The main register file has the value of the last result too: an operand that gets an entry only if its register
    /// has none.
    pub result_clean_i: In<'m>,
    /// Writes that pass the cache by, of shared registers all writes: results, then a fill.
    #[repeat(p.issues.saturating_add(1))]
    pub invalidate: Vec<InvalidateIo<'m>>,
    /// A register to be written to the main register file; no ports if registers are shared.
    #[repeat_plain(usize::from(!p.shared))]
    pub spill: Vec<SpillIo<'m>>,
    /// A slot to be emptied.
    #[with(p.slots)]
    pub flush: FlushIo<'m>,
    /// Slots being emptied.
    #[bits(p.slots)]
    pub slot_busy_o: Out<'m>,
}

/// A lookup.
#[derive(Ports)]
#[params(RegisterFileCache)]
pub struct CacheLookupIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// Lanes that execute.
    #[bits(p.lanes)]
    pub active_i: In<'m>,
    /// The operands.
    #[repeat(SOURCES)]
    pub source: Vec<CacheSourceIo<'m>>,
}

/// An operand that is looked up.
#[derive(Ports)]
#[params(RegisterFileCache)]
pub struct CacheSourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// No executing lane reads the value again.
    pub last_read_i: In<'m>,
    /// The value is not read again before the warp may next be suspended.
    pub idle_i: In<'m>,
    /// Executing lanes found here.
    #[bits(p.lanes)]
    pub lanes_o: Out<'m>,
}

/// A collector that an instruction gets or leaves.
#[derive(Ports)]
#[params(RegisterFileCache)]
pub struct CacheReadIo<'m> {
    /// It does so in this cycle.
    pub valid_i: In<'m>,
    /// The collector.
    #[bits(index_bits(p.collectors))]
    pub index_i: In<'m>,
}

/// An operand as far as it is found here.
#[derive(Ports)]
#[params(RegisterFileCache)]
pub struct CollectedIo<'m> {
    /// Lanes found here.
    #[bits(p.lanes)]
    pub lanes_o: Out<'m>,
    /// The value in these lanes.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// A write to the main register file: its lanes are no longer held here, unless a result that is taken has them.
#[derive(Ports)]
#[params(RegisterFileCache)]
pub struct InvalidateIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Lanes written.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
}

/// A register to be written to the main register file.
#[derive(Ports)]
#[params(RegisterFileCache)]
pub struct SpillIo<'m> {
    /// One is offered.
    pub valid_o: Out<'m>,
    /// An offered register is taken.
    pub ready_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
    /// Lanes to be written.
    #[bits(p.lanes)]
    pub lanes_o: Out<'m>,
    /// The value.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// A slot to be emptied; always taken.
#[derive(Ports)]
#[params(usize)]
pub struct FlushIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The slot, of as many as the parameter says.
    #[bits(index_bits(*p))]
    pub slot_i: In<'m>,
    /// Nothing needs to be written back: the warp has ended.
    pub discard_i: In<'m>,
}

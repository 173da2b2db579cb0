//! Ports of the levels above the main register file.

use super::upper_register_files::UpperRegisterFiles;
use crate::regfile::SOURCES;
use crate::rtl::{In, Out, Ports, index_bits};

/// Ports of [`UpperRegisterFiles`].
#[derive(Ports)]
#[params(UpperRegisterFiles)]
pub struct UpperRegisterFilesIo<'m> {
    /// Instructions, in program order.
    #[repeat_plain(p.issues)]
    pub issue: Vec<UpperIssueIo<'m>>,
    /// The first instruction goes to the second group of collectors, and the second to the first; no port with one
    /// group.
    #[repeat_plain(p.issues.saturating_sub(1))]
    pub crossed_i: Vec<In<'m>>,
    /// The collector of each group that its next instruction gets.
    #[repeat_plain(p.issues)]
    #[bits(index_bits(p.collectors))]
    pub index_i: Vec<In<'m>>,
    /// Collectors of each group whose instruction waits for a copy.
    #[repeat_plain(p.issues)]
    #[bits(p.collectors)]
    pub hold_o: Vec<Out<'m>>,
    /// The instruction that leaves each group.
    #[repeat_plain(p.issues)]
    pub dispatch: Vec<UpperDispatchIo<'m>>,
    /// Operands of the instruction that left each group in the cycle before.
    #[repeat_plain(p.issues)]
    pub operands: Vec<UpperOperandsIo<'m>>,
    /// Results.
    #[repeat_plain(p.issues)]
    pub result: Vec<UpperWriteIo<'m>>,
}

/// An instruction that goes to a collector.
#[derive(Ports)]
#[params(UpperRegisterFiles)]
pub struct UpperIssueIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It may be taken: no other instruction has still to use the entry that it copies to.
    pub ready_o: Out<'m>,
    /// It is taken.
    pub taken_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// Lanes that execute it.
    #[bits(p.lanes)]
    pub active_i: In<'m>,
    /// Its operands.
    #[repeat(SOURCES)]
    pub source: Vec<UpperSourceIo<'m>>,
    /// An operand that it reads in the main register file is copied to an entry.
    pub copy_valid_i: In<'m>,
    /// The entry of the operand register file.
    #[bits(index_bits(p.entries()))]
    pub copy_entry_i: In<'m>,
    /// Which operand.
    #[bits(index_bits(SOURCES))]
    pub copy_source_i: In<'m>,
}

/// An operand that may be in an entry.
#[derive(Ports)]
#[params(UpperRegisterFiles)]
pub struct UpperSourceIo<'m> {
    /// It is.
    pub valid_i: In<'m>,
    /// The entry.
    #[bits(index_bits(p.entries()))]
    pub entry_i: In<'m>,
}

/// An instruction that leaves its collector.
#[derive(Ports)]
#[params(UpperRegisterFiles)]
pub struct UpperDispatchIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The collector.
    #[bits(index_bits(p.collectors))]
    pub index_i: In<'m>,
}

/// Operands of an instruction that has left its collector.
#[derive(Ports)]
#[params(UpperRegisterFiles)]
pub struct UpperOperandsIo<'m> {
    /// Each of them.
    #[repeat(SOURCES)]
    pub source: Vec<UpperOperandIo<'m>>,
}

/// An operand.
#[derive(Ports)]
#[params(UpperRegisterFiles)]
pub struct UpperOperandIo<'m> {
    /// What was read in the main register file.
    #[bits(p.value_bits())]
    pub collected_i: In<'m>,
    /// What was read here; 0 in other lanes than were asked for, and if it is not here.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// A result for an entry.
#[derive(Ports)]
#[params(UpperRegisterFiles)]
pub struct UpperWriteIo<'m> {
    /// It is written: only if it may be.
    pub valid_i: In<'m>,
    /// It may be written: nothing has still to be read from its entry or copied to it, and the write port is free.
    pub ready_o: Out<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// The entry.
    #[bits(index_bits(p.entries()))]
    pub entry_i: In<'m>,
    /// Lanes written.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.value_bits())]
    pub value_i: In<'m>,
}

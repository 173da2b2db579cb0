//! Ports of the register scratchpad.

use super::register_scratchpad::RegisterScratchpad;
use crate::regfile::SOURCES;
use crate::rtl::{In, Out, Ports, index_bits};

/// Ports of a [`RegisterScratchpad`].
#[derive(Ports)]
#[params(RegisterScratchpad)]
pub struct RegisterScratchpadIo<'m> {
    /// Instructions, in program order.
    #[repeat_plain(p.issues)]
    pub issue: Vec<ScratchpadIssueIo<'m>>,
    /// The instructions that are dispatched.
    #[repeat_plain(p.issues)]
    pub dispatch: Vec<ScratchpadDispatchIo<'m>>,
    /// Operands of the instruction that was dispatched on each port in the cycle before.
    #[repeat_plain(p.issues)]
    pub operands: Vec<ScratchpadOperandsIo<'m>>,
    /// Results of short operations.
    #[repeat_plain(p.issues)]
    pub result: Vec<ScratchpadResultIo<'m>>,
    /// The register of a long-latency operation's result.
    #[bits(p.register_bits)]
    pub fill_register_i: In<'m>,
    /// It has to wait: the register's older value is still to be transferred.
    pub fill_waits_o: Out<'m>,
    /// A register that goes to the backing store.
    pub transfer: TransferIo<'m>,
    /// Slots of which a write or a transfer is still to come.
    #[bits(p.slots)]
    pub slot_busy_o: Out<'m>,
    /// The first instruction waits for an entry: what is awaited there, or has still to leave it.
    pub entry_wait_o: Out<'m>,
    /// It waits for the transfer of a register that it reads behind.
    pub transfer_wait_o: Out<'m>,
}

/// An instruction.
#[derive(Ports)]
#[params(RegisterScratchpad)]
pub struct ScratchpadIssueIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It may be taken: nothing that it uses here is awaited, and nothing that it reads behind is still here alone.
    pub ready_o: Out<'m>,
    /// It is taken.
    pub taken_i: In<'m>,
    /// Its identifier.
    #[bits(p.id_bits)]
    pub id_i: In<'m>,
    /// Its number until it is dispatched.
    #[bits(p.number_bits())]
    pub number_o: Out<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// Lanes that execute it.
    #[bits(p.lanes)]
    pub active_i: In<'m>,
    /// Its operands.
    #[repeat(SOURCES)]
    pub source: Vec<ScratchpadSourceIo<'m>>,
    /// An operand that it reads in the backing store is copied to an entry.
    pub copy_valid_i: In<'m>,
    /// The entry.
    #[bits(index_bits(p.entries))]
    pub copy_entry_i: In<'m>,
    /// Which operand.
    #[bits(index_bits(SOURCES))]
    pub copy_source_i: In<'m>,
    /// Entries that its results go to.
    #[bits(p.entries)]
    pub writes_i: In<'m>,
}

/// An operand.
#[derive(Ports)]
#[params(RegisterScratchpad)]
pub struct ScratchpadSourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// It is in an entry.
    pub entry_valid_i: In<'m>,
    /// The entry.
    #[bits(index_bits(p.entries))]
    pub entry_i: In<'m>,
}

/// An instruction that is dispatched.
#[derive(Ports)]
#[params(RegisterScratchpad)]
pub struct ScratchpadDispatchIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its number.
    #[bits(p.number_bits())]
    pub number_i: In<'m>,
    /// Its identifier.
    #[bits(p.id_bits)]
    #[valid_when(valid_i)]
    pub id_o: Out<'m>,
}

/// Operands of the instruction dispatched in the cycle before.
#[derive(Ports)]
#[params(RegisterScratchpad)]
pub struct ScratchpadOperandsIo<'m> {
    /// Its identifier.
    #[bits(p.id_bits)]
    pub id_o: Out<'m>,
    /// Each of them.
    #[repeat(SOURCES)]
    pub source: Vec<ScratchpadOperandIo<'m>>,
}

/// An operand.
#[derive(Ports)]
#[params(RegisterScratchpad)]
pub struct ScratchpadOperandIo<'m> {
    /// What was read in the backing store.
    #[bits(p.value_bits())]
    pub collected_i: In<'m>,
    /// Lanes read here.
    #[bits(p.lanes)]
    pub lanes_o: Out<'m>,
    /// The value in these lanes, 0 in the others.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// A result.
#[derive(Ports)]
#[params(RegisterScratchpad)]
pub struct ScratchpadResultIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It may be written: to its entry, and then it is; or behind.
    pub ready_o: Out<'m>,
    /// It goes to an entry.
    pub entry_valid_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// The entry.
    #[bits(index_bits(p.entries))]
    pub entry_i: In<'m>,
    /// It is live-out: to be transferred.
    pub live_out_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Lanes written.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.value_bits())]
    pub value_i: In<'m>,
}

/// A register that goes to the backing store.
#[derive(Ports)]
#[params(RegisterScratchpad)]
pub struct TransferIo<'m> {
    /// One is offered.
    pub valid_o: Out<'m>,
    /// An offered register is taken.
    pub ready_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    #[valid_when(valid_o)]
    pub warp_o: Out<'m>,
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

//! Ports of a register file hierarchy.

use super::register_file_hierarchy::RegisterFileHierarchy;
use crate::regfile::{DispatchIo, OperandsIo, RegisterWriteIo, SOURCES, Widths};
use crate::rtl::{In, Out, Ports, index_bits};

/// Ports of a [`RegisterFileHierarchy`].
#[derive(Ports)]
#[params(RegisterFileHierarchy)]
pub struct RegisterFileHierarchyIo<'m> {
    /// Instructions and their register operands, in program order.
    #[repeat_plain(p.issues)]
    pub issue: Vec<HierarchyIssueIo<'m>>,
    /// Instructions whose last operand is read in this cycle, each for another unit.
    #[repeat_plain(p.issues)]
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub dispatch: Vec<DispatchIo<'m>>,
    /// Units that can take an instruction.
    #[bits(p.units)]
    pub unit_ready_i: In<'m>,
    /// Operands, one cycle after dispatch.
    #[repeat_plain(p.issues)]
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub operands: Vec<OperandsIo<'m>>,
    /// Results of short operations.
    #[repeat_plain(p.issues)]
    pub result: Vec<HierarchyResultIo<'m>>,
    /// Result of a long-latency operation: for the main register file.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub fill: RegisterWriteIo<'m>,
}

/// An instruction and its register operands.
#[derive(Ports)]
#[params(RegisterFileHierarchy)]
pub struct HierarchyIssueIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// An offered instruction is taken.
    pub ready_o: Out<'m>,
    /// Comes back with the operands.
    #[bits(p.id_bits)]
    pub id_i: In<'m>,
    /// The unit that executes it.
    #[bits(index_bits(p.units))]
    pub unit_i: In<'m>,
    /// Lanes that execute it.
    #[bits(p.geometry.lanes)]
    pub active_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// Its register operands.
    #[repeat(SOURCES)]
    pub source: Vec<HierarchySourceIo<'m>>,
    /// An operand of the main register file is copied to an entry.
    pub copy_valid_i: In<'m>,
    /// The entry of the operand register file.
    #[bits(p.entry_bits())]
    pub copy_entry_i: In<'m>,
    /// Which operand.
    #[bits(index_bits(SOURCES))]
    pub copy_source_i: In<'m>,
}

/// A register operand.
#[derive(Ports)]
#[params(RegisterFileHierarchy)]
pub struct HierarchySourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// It is read in an entry, not in the main register file.
    pub entry_valid_i: In<'m>,
    /// The entry.
    #[bits(p.entry_bits())]
    pub entry_i: In<'m>,
}

/// A result of a short operation.
#[derive(Ports)]
#[params(RegisterFileHierarchy)]
pub struct HierarchyResultIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// An offered result is taken.
    pub ready_o: Out<'m>,
    /// The register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// Lanes written.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.geometry.value_bits())]
    pub value_i: In<'m>,
    /// It is written to the main register file.
    pub main_i: In<'m>,
    /// It is written to an entry.
    pub entry_valid_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// The entry.
    #[bits(p.entry_bits())]
    pub entry_i: In<'m>,
}

//! A register that is read beside the operands of instructions.

use serde::{Deserialize, Serialize};

use super::geometry::Geometry;
use super::main_register_file::MainRegisterFileIo;
use super::operand_collectors::OperandCollectorsIo;
use crate::rtl::{In, Module, Out, Ports};

/// Whether one register a cycle is read beside the operands of instructions, and who reads first if both want a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtraRead {
    /// None is.
    None,
    /// Operands are read first.
    AfterOperands,
    /// The extra read comes first if operands were in the cycle before.
    InTurn,
    /// The extra read comes first.
    BeforeOperands,
}

/// A register to be read for others than an instruction.
#[derive(Ports)]
#[params(Geometry)]
pub struct ExtraReadIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is read in this cycle.
    pub ready_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits())]
    pub register_i: In<'m>,
    /// What was read in the cycle before.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// The banks read for operands and, where these leave them or it comes first, for the extra read.
pub(crate) fn read_beside<'m>(
    m: &Module<'m>,
    (geometry, extra_read): (&Geometry, ExtraRead),
    extra: &ExtraReadIo<'m>,
    collectors: &OperandCollectorsIo<'m>,
    mrf: &MainRegisterFileIo<'m>,
) {
    let lost = (extra_read == ExtraRead::InTurn).then(|| m.register("extra_read_lost", 1).reset(0));
    let comes_first = match (extra_read, lost) {
        (_, Some(lost)) => lost,
        (ExtraRead::BeforeOperands, None) => m.lit(1, 1),
        (ExtraRead::None | ExtraRead::AfterOperands | ExtraRead::InTurn, None) => m.lit(1, 0),
    };
    let wanted = extra.valid_i.replicate(geometry.banks) & geometry.bank(m, extra.register_i);
    let left = m.cat(collectors.read.iter().map(|read| !read.valid_o));
    let banks = (wanted & left).named("extra_read_banks");
    // The banks that operands have to leave to it.
    let taken = (wanted & comes_first.replicate(geometry.banks)).named("extra_read_taken");
    let row = geometry.row(extra.register_i);
    for (b, (read, operand)) in mrf.read.iter().zip(&collectors.read).enumerate() {
        collectors.bank_busy_i[b].set(taken.bit(b));
        let is_extra = banks.bit(b);
        read.valid_i.set(operand.valid_o | is_extra);
        read.row_i.set(is_extra.mux(row, operand.row_o));
        let lanes = m.lit(geometry.lanes, 0);
        read.lanes_i.set(is_extra.mux(!lanes, operand.lanes_o));
        operand.value_i.set(read.value_o);
    }
    extra.ready_o.set(banks.any());
    m.invariant("operands_leave_a_bank_only_to_an_extra_read_that_comes_first", {
        taken.any().implies(comes_first) & !(taken & !banks).any()
    });
    let bank = m.register("extra_read_bank", geometry.banks).reset(0);
    bank.set(banks);
    let value = bank.one_hot_select(m.cat(mrf.read.iter().map(|read| read.value_o)));
    extra.value_o.set(value).valid_when(bank.any());
    if let Some(lost) = lost {
        lost.set(extra.valid_i & !banks.any());
        m.invariant("an_extra_read_waits_a_cycle_at_most", (lost & extra.valid_i).implies(banks.any()));
    }
}

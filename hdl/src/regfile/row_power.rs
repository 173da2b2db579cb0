//! Rows of a main register file that may be without power, as the circuits in front of it see them.

use super::geometry::Geometry;
use super::ports::RegisterWriteIo;
use crate::rtl::{In, Module, Out, Ports, Signal};

/// What the ports of [`RowPowerIo`] follow from.
#[derive(Clone, Copy, Debug)]
pub struct RowAccesses {
    /// Banks, rows and lanes.
    pub geometry: Geometry,
    /// Operands that are about to be read, at most.
    pub reads: usize,
    /// Registers that are about to be written, at most.
    pub writes: usize,
}

/// Power of the rows of a main register file: which are on, and which are asked for because they are about to be accessed.
///
/// A row that is asked for to be read has to stay on until the operands of the instruction are out; one that is asked for to
/// be written, as long as it is asked for.
#[derive(Ports)]
#[params(RowAccesses)]
pub struct RowPowerIo<'m> {
    /// Rows that are on: one bit a row, bank after bank.
    #[bits(p.geometry.banks.saturating_mul(p.geometry.rows))]
    pub on_i: In<'m>,
    /// Operands of instructions that no collector has taken yet.
    #[repeat(p.reads)]
    #[with(p.geometry)]
    pub read: Vec<RowRequestIo<'m>>,
    /// Registers about to be written.
    #[repeat(p.writes)]
    #[with(p.geometry)]
    pub write: Vec<RowRequestIo<'m>>,
    /// Those that are written in this cycle, one bit each.
    #[repeat_plain(p.writes.min(1))]
    #[bits(p.writes)]
    pub written_o: Vec<Out<'m>>,
}

/// A row that is asked for.
#[derive(Ports)]
#[params(Geometry)]
pub struct RowRequestIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// Its register.
    #[bits(p.register_bits())]
    #[valid_when(valid_o)]
    pub register_o: Out<'m>,
    /// Lanes that are accessed.
    #[bits(p.lanes)]
    #[valid_when(valid_o)]
    pub lanes_o: Out<'m>,
}

impl<'m> RowRequestIo<'m> {
    /// Asks for the row of a register if `valid`.
    pub(crate) fn ask(&self, valid: Signal<'m>, register: Signal<'m>, lanes: Signal<'m>) {
        self.valid_o.set(valid);
        self.register_o.set(register).valid_when(valid);
        self.lanes_o.set(lanes).valid_when(valid);
    }
}

impl<'m> RowPowerIo<'m> {
    /// Whether the row of a register is on.
    pub(crate) fn is_on(&self, m: &Module<'m>, geometry: &Geometry, register: Signal<'m>) -> Signal<'m> {
        let row = geometry.row(register);
        let of_banks =
            (0..geometry.banks).map(|bank| self.on_i.lane(bank, geometry.rows).lane_select(row, 1));
        (m.cat(of_banks) & geometry.bank(m, register)).any()
    }

    /// Whether the rows are on of all operands of which lanes are read: the register of each, and these lanes.
    pub(crate) fn are_on(
        &self,
        m: &Module<'m>,
        geometry: &Geometry,
        operands: &[(Signal<'m>, Signal<'m>)],
    ) -> Signal<'m> {
        let is_off =
            |&(register, lanes): &(Signal<'m>, Signal<'m>)| lanes.any() & !self.is_on(m, geometry, register);
        !m.cat(operands.iter().map(is_off)).any()
    }

    /// Says which writes are made in a cycle, of all writers of the main register file.
    pub(crate) fn follow_writes(&self, m: &Module<'m>, geometry: &Geometry, writes: &[RegisterWriteIo<'m>]) {
        let written = m.cat(writes.iter().map(|write| write.valid_i & write.ready_o));
        self.written_o[0].set(written);
        let on = m.cat(writes.iter().map(|write| self.is_on(m, geometry, write.register_i)));
        m.invariant("a_row_is_written_only_when_it_is_on", !(written & !on).any());
    }
}

//! One bank group of a register file.

use serde::{Deserialize, Serialize};

use super::geometry::{LANE_BITS, WarpLanes, WarpRegister};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, index_bits};

/// Register bank: one read and one write port (1R1W) over rows of one warp register.
///
/// It stands for the paper's eight clusters in lockstep, each with a 128-bit bank: a row is kept as one physical
/// array a cluster, and a cluster without an enabled lane is not accessed. Of several writers the lowest-numbered
/// one that offers is taken; the others are not ready.
///
/// Timing: a read asked for in one cycle is out in the next and stays until another is asked for. A write is seen
/// by reads from the next cycle on.
/// Source: Gebhart et al., ISCA 2011, §2.1 and Fig. 5 (4 KB, 128 bits wide, dual ported, in each cluster).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterBank {
    /// Rows, 2 to 1024.
    pub rows: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Lanes of a cluster; divides `lanes`.
    pub lanes_per_cluster: usize,
    /// Writers that share the write port, 1 to 8.
    pub writers: usize,
}

/// Ports of a [`RegisterBank`].
#[derive(Ports)]
#[params(RegisterBank)]
pub struct RegisterBankIo<'m> {
    /// Asks for a row.
    pub read: BankReadIo<'m>,
    /// The row asked for in an earlier cycle.
    #[bits(p.lanes * LANE_BITS)]
    pub value_o: Out<'m>,
    /// Writers, the lowest-numbered first.
    #[repeat(p.writers)]
    pub write: Vec<BankWriteIo<'m>>,
}

/// A read of a bank.
#[derive(Ports)]
#[params(RegisterBank)]
pub struct BankReadIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The row.
    #[bits(index_bits(p.rows))]
    pub row_i: In<'m>,
    /// Lanes wanted.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
}

/// A write to a bank.
#[derive(Ports)]
#[params(RegisterBank)]
pub struct BankWriteIo<'m> {
    /// A write is offered.
    pub valid_i: In<'m>,
    /// An offered write is taken.
    pub ready_o: Out<'m>,
    /// The row.
    #[bits(index_bits(p.rows))]
    pub row_i: In<'m>,
    /// Lanes written.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.lanes * LANE_BITS)]
    pub value_i: In<'m>,
}

impl Circuit for RegisterBank {
    type Io<'m> = RegisterBankIo<'m>;
    const NAME: &'static str = "register_bank";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("rows", self.rows, 2..=1024)?;
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("lanes_per_cluster", self.lanes_per_cluster, 1..=self.lanes)?;
        Self::check(
            self.lanes.is_multiple_of(self.lanes_per_cluster),
            "lanes_per_cluster",
            self.lanes_per_cluster,
            "a divisor of lanes",
        )?;
        Self::check_range("writers", self.writers, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterBankIo<'m>) {
        let lanes = WarpLanes { lanes: self.lanes, per_array: self.lanes_per_cluster };
        let registers = m.table::<WarpRegister>("registers", self.rows, &lanes).ports(1, 1);
        let read = registers.read_clocked("operand", io.read.row_i, io.read.valid_i).lanes(io.read.lanes_i);
        io.value_o.set(read.value);

        let last = &io.write[self.writers - 1];
        let (mut row, mut lanes, mut value) = (last.row_i, last.lanes_i, last.value_i);
        for write in io.write.iter().rev().skip(1) {
            row = write.valid_i.mux(write.row_i, row);
            lanes = write.valid_i.mux(write.lanes_i, lanes);
            value = write.valid_i.mux(write.value_i, value);
        }
        let mut taken = m.lit(1, 0);
        for write in &io.write {
            write.ready_o.set(!taken);
            taken = taken | write.valid_i;
        }
        m.when(taken, || {
            registers.write("result", row, WarpRegister { value }).lanes(lanes);
        });

        let takes = m.cat(io.write.iter().map(|write| write.valid_i & write.ready_o));
        let offers = m.cat(io.write.iter().map(|write| write.valid_i));
        m.invariant("one_write_at_most_is_taken", takes.popcount().le(1));
        m.invariant("an_offer_means_that_a_write_is_taken", offers.any().implies(takes.any()));
        let other =
            |write: &BankWriteIo<'m>| row.ne(write.row_i) | lanes.ne(write.lanes_i) | value.ne(write.value_i);
        let strays = takes & m.cat(io.write.iter().map(other));
        m.invariant("a_write_that_is_taken_reaches_its_row", !strays.any());
    }
}

//! The main register file.

use serde::{Deserialize, Serialize};

use super::bank::RegisterBank;
use super::geometry::Geometry;
use super::ports::{RegisterWriteIo, Widths};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports};

/// Main register file (MRF): every register of every resident warp, in banks that work side by side.
///
/// Each bank group has a read port of its own, driven by the operand collectors, and takes one write a cycle from
/// the writers that address it, the lowest-numbered first. Register `r` lies in bank `r mod banks`.
///
/// Timing: a row asked for in one cycle is out in the next; a read and a write of one row in one cycle: the read
/// sees the old row. A write is taken in the cycle it is offered or not at all.
/// Source: Gebhart et al., ISCA 2011, §2.1, Fig. 5 and Table 4 (128 KB in 32 banks of 128 bits).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct MainRegisterFile {
    /// Banks, rows and lanes.
    pub geometry: Geometry,
    /// Writers, 1 to 8.
    pub writers: usize,
}

/// Ports of a [`MainRegisterFile`].
#[derive(Ports)]
#[params(MainRegisterFile)]
pub struct MainRegisterFileIo<'m> {
    /// The read port of each bank.
    #[repeat(p.geometry.banks)]
    #[with(p.geometry)]
    pub read: Vec<RowReadIo<'m>>,
    /// Writers, the lowest-numbered first.
    #[repeat(p.writers)]
    #[with(Widths::new(&p.geometry, 1, 1))]
    pub write: Vec<RegisterWriteIo<'m>>,
}

/// The read port of a bank.
#[derive(Ports)]
#[params(Geometry)]
#[flipped(CollectorReadIo)]
pub struct RowReadIo<'m> {
    /// A row is asked for.
    pub valid_i: In<'m>,
    /// The row.
    #[bits(p.row_bits())]
    pub row_i: In<'m>,
    /// Lanes wanted.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
    /// The row asked for in an earlier cycle.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

impl Circuit for MainRegisterFile {
    type Io<'m> = MainRegisterFileIo<'m>;
    const NAME: &'static str = "main_register_file";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("writers", self.writers, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &MainRegisterFileIo<'m>) {
        let Geometry { rows, lanes, lanes_per_cluster, .. } = self.geometry;
        let mut ready = vec![m.lit(1, 0); self.writers];
        for (b, read) in io.read.iter().enumerate() {
            let bank = m.instance(
                format!("bank{b}"),
                RegisterBank { rows, lanes, lanes_per_cluster, writers: self.writers },
            );
            bank.read.valid_i.set(read.valid_i);
            bank.read.row_i.set(read.row_i);
            bank.read.lanes_i.set(read.lanes_i);
            read.value_o.set(bank.value_o);
            for (w, (write, port)) in io.write.iter().zip(&bank.write).enumerate() {
                let here = self.geometry.in_bank(write.register_i, b).unwrap_or_else(|| m.lit(1, 1));
                port.valid_i.set(write.valid_i & here);
                port.row_i.set(self.geometry.row(write.register_i));
                port.lanes_i.set(write.lanes_i);
                port.value_i.set(write.value_i);
                ready[w] = ready[w] | (here & port.ready_o);
            }
        }
        for (write, ready) in io.write.iter().zip(ready) {
            write.ready_o.set(ready);
        }
        self.name_invariants(m, io);
    }
}

impl MainRegisterFile {
    /// What writers may rely on, whichever banks their registers lie in.
    fn name_invariants<'m>(&self, m: &Module<'m>, io: &MainRegisterFileIo<'m>) {
        let bank = |write: &RegisterWriteIo<'m>| self.geometry.bank(m, write.register_i);
        let (mut twice, mut for_nothing) = (m.lit(1, 0), m.lit(1, 0));
        for (w, write) in io.write.iter().enumerate() {
            let (mut taken_before, mut offered_before) = (m.lit(1, 0), m.lit(1, 0));
            for earlier in &io.write[..w] {
                let offered = earlier.valid_i & bank(earlier).eq(bank(write));
                offered_before = offered_before | offered;
                taken_before = taken_before | (offered & earlier.ready_o);
            }
            twice = twice | (write.valid_i & write.ready_o & taken_before);
            for_nothing = for_nothing | (write.valid_i & !write.ready_o & !offered_before);
        }
        m.invariant("a_bank_takes_one_write_a_cycle", !twice);
        m.invariant("a_write_waits_only_for_an_earlier_one_to_its_bank", !for_nothing);
    }
}

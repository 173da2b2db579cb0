//! The register file without a cache.

use serde::{Deserialize, Serialize};

use super::extra_read::{ExtraRead, ExtraReadIo, read_beside};
use super::geometry::{Geometry, SOURCES};
use super::main_register_file::MainRegisterFile;
use super::operand_collectors::OperandCollectors;
use super::ports::{DispatchIo, OperandsIo, RegisterWriteIo, Widths};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, index_bits};

/// Banked register file: the main register file behind operand collectors, the baseline of every design.
///
/// Two writers: results of short operations, then results of long-latency operations. A write is taken when its
/// bank's write port is free and no earlier instruction has still to read the register. Who reads a register beside the
/// operands of instructions sees to it that it is not written until then.
///
/// Timing: three access cycles, from the cycle an instruction is offered to the cycle of its dispatch; operands are
/// out one cycle later. A write is seen by instructions offered from the next cycle on.
/// Source: Gebhart et al., ISCA 2011, §2.1, Fig. 3(a) and Fig. 5.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct BankedRegisterFile {
    /// Banks, rows and lanes.
    pub geometry: Geometry,
    /// Operand collectors, 2 to 32.
    pub collectors: usize,
    /// Register access cycles, 3 to 8 (Fig. 3: 3).
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// A read beside those of operands (Kim & Ro, WIR, §V-A, Fig. 7).
    pub extra_read: ExtraRead,
}

/// Ports of a [`BankedRegisterFile`].
#[derive(Ports)]
#[params(BankedRegisterFile)]
pub struct BankedRegisterFileIo<'m> {
    /// An instruction and its register operands.
    pub issue: IssueIo<'m>,
    /// The instruction whose last operand is read in this cycle.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub dispatch: DispatchIo<'m>,
    /// Units that can take an instruction.
    #[bits(p.units)]
    pub unit_ready_i: In<'m>,
    /// Operands, one cycle after dispatch.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub operands: OperandsIo<'m>,
    /// Result of a short operation.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub result: RegisterWriteIo<'m>,
    /// Result of a long-latency operation.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub fill: RegisterWriteIo<'m>,
    /// A register to be read beside operands; no ports unless there are such reads.
    #[repeat(usize::from(p.extra_read != ExtraRead::None))]
    #[with(p.geometry)]
    pub extra_read: Vec<ExtraReadIo<'m>>,
}

/// An instruction and its register operands.
#[derive(Ports)]
#[params(BankedRegisterFile)]
pub struct IssueIo<'m> {
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
    /// Its register operands.
    #[repeat(SOURCES)]
    pub source: Vec<SourceIo<'m>>,
}

/// A register operand.
#[derive(Ports)]
#[params(BankedRegisterFile)]
pub struct SourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
}

impl Circuit for BankedRegisterFile {
    type Io<'m> = BankedRegisterFileIo<'m>;
    const NAME: &'static str = "banked_register_file";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &BankedRegisterFileIo<'m>) {
        let writes = [&io.result, &io.fill];
        let mrf = m.instance("mrf", MainRegisterFile { geometry: self.geometry, writers: writes.len() });
        let shares_banks = self.extra_read != ExtraRead::None;
        let collectors = m.instance("collectors", self.group(writes.len(), shares_banks));
        collectors.issue.valid_i.set(io.issue.valid_i);
        collectors.issue.id_i.set(io.issue.id_i);
        collectors.issue.unit_i.set(io.issue.unit_i);
        io.issue.ready_o.set(collectors.issue.ready_o);
        collectors.issue.index_o.ignore();
        for (source, collect) in io.issue.source.iter().zip(&collectors.issue.source) {
            collect.valid_i.set(source.valid_i);
            collect.register_i.set(source.register_i);
            collect.lanes_i.set(io.issue.active_i);
        }
        collectors.unit_ready_i.set(io.unit_ready_i);
        m.pass_through(&io.dispatch, &collectors.dispatch);
        collectors.dispatch_index_o.ignore();
        m.pass_through(&io.operands, &collectors.operands);
        match self.extra_read {
            ExtraRead::None => m.connect(&mrf.read, &collectors.read),
            extra => read_beside(m, (&self.geometry, extra), &io.extra_read, &[&collectors], &mrf),
        }
        for (w, write) in writes.into_iter().enumerate() {
            let pending = &collectors.write[w];
            pending.register_i.set(write.register_i);
            mrf.write[w].valid_i.set(write.valid_i & !pending.blocked_o);
            mrf.write[w].register_i.set(write.register_i);
            mrf.write[w].lanes_i.set(write.lanes_i);
            mrf.write[w].value_i.set(write.value_i);
            write.ready_o.set(mrf.write[w].ready_o & !pending.blocked_o);
        }
    }
}

impl BankedRegisterFile {
    /// A group of its collectors, before so many writers of the main register file.
    pub(crate) fn group(&self, writers: usize, shares_banks: bool) -> OperandCollectors {
        OperandCollectors {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles,
            id_bits: self.id_bits,
            units: self.units,
            writers,
            shares_banks,
            holds: false,
        }
    }
}

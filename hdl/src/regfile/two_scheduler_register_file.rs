//! The register file without a cache, for two schedulers.

use serde::{Deserialize, Serialize};

use super::banked_register_file::{BankedRegisterFile, IssueIo};
use super::collector_groups::{WAYS, deal_each, share_banks, share_units, write};
use super::extra_read::{ExtraRead, ExtraReadIo, read_beside};
use super::geometry::Geometry;
use super::main_register_file::MainRegisterFile;
use super::ports::{DispatchIo, OperandsIo, RegisterWriteIo, Widths};
use crate::rtl::{Circuit, Documented, In, Module, ParameterError, Ports};

/// Two-scheduler register file: one main register file behind two groups of operand collectors, for two schedulers that
/// issue an instruction a cycle each.
///
/// Both schedulers use all banks and all collectors. Neither waits for the other: their instructions go to the groups one
/// each, the other way round in the cycle after one was offered, so that a scheduler whose instruction finds its group full
/// is offered the other group next. Of the banks' read ports the first group has its pick, the second reads from banks that
/// are left over; a unit takes an instruction of the second group beside one of the first only if it takes two.
/// Three writers: two results of short operations, then one of a long-latency operation. A write is taken when its
/// bank's write port is free and no earlier instruction has still to read the register. Who reads a register beside the
/// operands of instructions sees to it that it is not written until then.
///
/// Timing: as the banked register file, for each instruction.
/// Source: the baseline of Kim & Ro, "WIR", §II and §VII-E (two instructions a cycle from two groups of warps, one register
/// file of eight bank groups); GPGPU-Sim 3.x, whose collectors are all schedulers' (`opndcoll_rfu_t`); the way from Gebhart
/// et al., ISCA 2011, Fig. 3(a).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct TwoSchedulerRegisterFile {
    /// Banks, rows and lanes.
    pub geometry: Geometry,
    /// Operand collectors of each group, 2 to 32.
    pub collectors: usize,
    /// Register access cycles, 3 to 8.
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// Reads beside those of operands, one for each scheduler (Kim & Ro, WIR, §V-A, Fig. 7).
    pub extra_read: ExtraRead,
}

/// Ports of a [`TwoSchedulerRegisterFile`].
#[derive(Ports)]
#[params(TwoSchedulerRegisterFile)]
pub struct TwoSchedulerRegisterFileIo<'m> {
    /// The instruction of each scheduler and its register operands.
    #[repeat(WAYS)]
    #[with(p.one_way())]
    pub issue: Vec<IssueIo<'m>>,
    /// Instructions whose last operand is read in this cycle, whichever scheduler's they are.
    #[repeat(WAYS)]
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub dispatch: Vec<DispatchIo<'m>>,
    /// Units that can take an instruction.
    #[bits(p.units)]
    pub unit_ready_i: In<'m>,
    /// Of these, units that can take two.
    #[bits(p.units)]
    pub unit_takes_two_i: In<'m>,
    /// Operands, one cycle after dispatch.
    #[repeat(WAYS)]
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub operands: Vec<OperandsIo<'m>>,
    /// Results of short operations.
    #[repeat(WAYS)]
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub result: Vec<RegisterWriteIo<'m>>,
    /// Result of a long-latency operation.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub fill: RegisterWriteIo<'m>,
    /// Registers to be read beside operands; no ports unless there are such reads.
    #[repeat(if p.extra_read == ExtraRead::None { 0 } else { WAYS })]
    #[with(p.geometry)]
    pub extra_read: Vec<ExtraReadIo<'m>>,
}

impl Circuit for TwoSchedulerRegisterFile {
    type Io<'m> = TwoSchedulerRegisterFileIo<'m>;
    const NAME: &'static str = "two_scheduler_register_file";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &TwoSchedulerRegisterFileIo<'m>) {
        let writes: Vec<_> = io.result.iter().chain([&io.fill]).collect();
        let writers = writes.len();
        let mrf = m.instance("mrf", MainRegisterFile { geometry: self.geometry, writers });
        let groups: Vec<_> = (0..WAYS)
            .map(|number| {
                let shares_banks = number > 0 || self.extra_read != ExtraRead::None;
                m.instance(format!("collectors{number}"), self.one_way().group(writers, shares_banks))
            })
            .collect();
        for (issue, ready) in io.issue.iter().zip(deal_each(m, &io.issue, &groups)) {
            issue.ready_o.set(ready);
        }
        share_units(io.unit_ready_i, Some(io.unit_takes_two_i), &groups);
        match self.extra_read {
            ExtraRead::None => share_banks(&mrf, &groups),
            extra => {
                let groups: Vec<_> = groups.iter().collect();
                read_beside(m, (&self.geometry, extra), &io.extra_read, &groups, &mrf);
            }
        }
        for (group, (dispatch, operands)) in groups.iter().zip(io.dispatch.iter().zip(&io.operands)) {
            group.issue.index_o.ignore();
            group.dispatch_index_o.ignore();
            m.pass_through(dispatch, &group.dispatch);
            m.pass_through(operands, &group.operands);
        }
        write(m, &writes, &mrf, &groups);
    }
}

impl TwoSchedulerRegisterFile {
    /// The register file of the same shape for one scheduler.
    fn one_way(&self) -> BankedRegisterFile {
        BankedRegisterFile {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles,
            id_bits: self.id_bits,
            units: self.units,
            extra_read: ExtraRead::None,
        }
    }
}

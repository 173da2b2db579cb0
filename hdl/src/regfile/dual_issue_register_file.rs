//! The register file without a cache, for a scheduler that issues two instructions a cycle.

use serde::{Deserialize, Serialize};

use super::banked_register_file::{BankedRegisterFile, IssueIo};
use super::collector_groups::{WAYS, deal, share_banks, share_units, write};
use super::extra_read::ExtraRead;
use super::geometry::Geometry;
use super::main_register_file::MainRegisterFile;
use super::ports::{DispatchIo, OperandsIo, RegisterWriteIo, Widths};
use crate::rtl::{Circuit, Documented, In, Module, ParameterError, Ports};

/// Dual-issue register file: one main register file behind two groups of operand collectors.
///
/// Instructions go to the groups in turn, so that both are used alike and neither can be passed by for long: when one
/// group is full, nothing is taken that is for it or comes after. Of the banks' read ports the first group has its
/// pick, the second reads from banks that are left over; likewise a unit takes an instruction of the second group
/// only if the first has none for it in this cycle. An instruction on the second issue port is taken only together
/// with the one on the first, which comes before it in program order.
/// Three writers: two results of short operations, then one of a long-latency operation. A write is taken when its
/// bank's write port is free and no earlier instruction has still to read the register.
///
/// Timing: as the banked register file, for each instruction.
/// Source: the baseline of Kloosterman et al., "RegLess", MICRO 2017, §5.2 and §6.1 (banks, arbitration and operand
/// collectors for two instructions a scheduler and cycle); the way from Gebhart et al., ISCA 2011, Fig. 3(a).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct DualIssueRegisterFile {
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
}

/// Ports of a [`DualIssueRegisterFile`].
#[derive(Ports)]
#[params(DualIssueRegisterFile)]
pub struct DualIssueRegisterFileIo<'m> {
    /// Instructions and their register operands, in program order.
    #[repeat(WAYS)]
    #[with(p.one_way())]
    pub issue: Vec<IssueIo<'m>>,
    /// Instructions whose last operand is read in this cycle, each for another unit.
    #[repeat(WAYS)]
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub dispatch: Vec<DispatchIo<'m>>,
    /// Units that can take an instruction.
    #[bits(p.units)]
    pub unit_ready_i: In<'m>,
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
}

impl Circuit for DualIssueRegisterFile {
    type Io<'m> = DualIssueRegisterFileIo<'m>;
    const NAME: &'static str = "dual_issue_register_file";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &DualIssueRegisterFileIo<'m>) {
        let writers = io.result.len() + 1;
        let mrf = m.instance("mrf", MainRegisterFile { geometry: self.geometry, writers });
        let groups: Vec<_> = (0..WAYS)
            .map(|group| {
                let shares_banks = group > 0;
                m.instance(format!("collectors{group}"), self.one_way().group(writers, shares_banks))
            })
            .collect();
        let dealt = deal(m, &io.issue, &groups);
        for (issue, ready) in io.issue.iter().zip(dealt.ready) {
            issue.ready_o.set(ready);
        }
        share_units(io.unit_ready_i, None, &groups);
        share_banks(&mrf, &groups);
        for (group, (dispatch, operands)) in groups.iter().zip(io.dispatch.iter().zip(&io.operands)) {
            group.issue.index_o.ignore();
            group.dispatch_index_o.ignore();
            m.pass_through(dispatch, &group.dispatch);
            m.pass_through(operands, &group.operands);
        }
        let writes: Vec<_> = io.result.iter().chain([&io.fill]).collect();
        write(m, &writes, &mrf, &groups);
    }
}

impl DualIssueRegisterFile {
    /// The register file of the same shape that takes one instruction a cycle.
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

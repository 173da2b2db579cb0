//! The register file hierarchy of a scheduler.

use serde::{Deserialize, Serialize};

use super::hierarchy_ports::{HierarchyIssueIo, HierarchySourceIo, RegisterFileHierarchyIo};
use super::upper_ports::UpperRegisterFilesIo;
use super::upper_register_files::UpperRegisterFiles;
use crate::regfile::collector_groups::{Dealt, WAYS, blocked, deal, share_banks, share_units};
use crate::regfile::{
    Geometry, IssueIo, MainRegisterFile, MainRegisterFileIo, OperandCollectors, OperandCollectorsIo, SourceIo,
};
use crate::rtl::{Circuit, Documented, Module, ParameterError, index_bits};

/// Register file hierarchy for a scheduler that issues one or two instructions a cycle: each operand is read at the level
/// that the compiler names, each result is written to the levels that it names.
///
/// The main register file, its groups of operand collectors (one for each instruction a cycle) and what they share are
/// those of the banked or the dual-issue register file. An operand in an entry above takes no bank's read port, and no collector waits for it but to be copied there. An
/// entry is one of the operand register file, counted from 0, or that of the last result file, `orf_entries`. A
/// result that goes to two levels is taken when both can take it. What entries hold is not kept when a warp gives up its
/// slot: the compiler does not ask for it.
///
/// Timing: as these register files, for each instruction; one that reads an entry to which a copy is on its way
/// leaves its collector in the cycle after the copy is written at the earliest.
/// Source: Gebhart et al., "A Compile-Time Managed Multi-Level Register File Hierarchy", MICRO 2011, §3; the comparator of
/// Kloosterman et al., "RegLess", MICRO 2017, §6.1.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterFileHierarchy {
    /// Banks, rows and lanes of the main register file.
    pub geometry: Geometry,
    /// Operand collectors of each group, 2 to 32.
    pub collectors: usize,
    /// Register access cycles, 3 to 8.
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// Slots of the active set, 1 to 64.
    pub slots: usize,
    /// Entries of a slot in the operand register file, 1 to 8.
    pub orf_entries: usize,
    /// Instructions taken a cycle, 1 or 2.
    pub issues: usize,
}

impl Circuit for RegisterFileHierarchy {
    type Io<'m> = RegisterFileHierarchyIo<'m>;
    const NAME: &'static str = "register_file_hierarchy";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("slots", self.slots, 1..=64)?;
        Self::check_range("orf_entries", self.orf_entries, 1..=8)?;
        Self::check_range("issues", self.issues, 1..=WAYS)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterFileHierarchyIo<'m>) {
        let writers = io.result.len() + 1;
        let mrf = m.instance("mrf", MainRegisterFile { geometry: self.geometry, writers });
        let upper = m.instance("upper", self.upper());
        let groups: Vec<_> = (0..self.issues)
            .map(|group| m.instance(format!("collectors{group}"), self.group(writers, group > 0)))
            .collect();
        let issue: Vec<IssueIo<'m>> =
            io.issue.iter().enumerate().map(|(way, issue)| main_issue(issue, &upper, way)).collect();
        let dealt = deal(m, &issue, &groups);
        issue_above(io, &upper, &dealt, &groups);
        share_units(io.unit_ready_i, None, &groups);
        share_banks(&mrf, &groups);
        for (number, group) in groups.iter().enumerate() {
            group.hold_i[0].set(upper.hold_o[number]);
            upper.dispatch[number].valid_i.set(group.dispatch.valid_o);
            upper.dispatch[number].index_i.set(group.dispatch_index_o);
            deliver(m, io, &upper, group, number);
        }
        write(m, io, &mrf, &upper, &groups);
    }
}

impl RegisterFileHierarchy {
    /// Bits of an entry's number.
    pub(super) fn entry_bits(&self) -> usize {
        index_bits(self.orf_entries.saturating_add(1))
    }

    fn upper(&self) -> UpperRegisterFiles {
        UpperRegisterFiles {
            slots: self.slots,
            orf_entries: self.orf_entries,
            lanes: self.geometry.lanes,
            lanes_per_cluster: self.geometry.lanes_per_cluster,
            collectors: self.collectors,
            issues: self.issues,
        }
    }

    fn group(&self, writers: usize, shares_banks: bool) -> OperandCollectors {
        OperandCollectors {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles,
            id_bits: self.id_bits,
            units: self.units,
            writers,
            shares_banks,
            holds: true,
        }
    }
}

/// What an instruction asks of the main register file.
fn main_issue<'m>(issue: &HierarchyIssueIo<'m>, upper: &UpperRegisterFilesIo<'m>, way: usize) -> IssueIo<'m> {
    let source = |source: &HierarchySourceIo<'m>| SourceIo {
        valid_i: source.valid_i & !source.entry_valid_i,
        register_i: source.register_i,
    };
    IssueIo {
        valid_i: issue.valid_i & upper.issue[way].ready_o,
        ready_o: issue.ready_o,
        id_i: issue.id_i,
        unit_i: issue.unit_i,
        active_i: issue.active_i,
        source: issue.source.iter().map(source).collect(),
    }
}

/// What an instruction asks of the levels above.
fn issue_above<'m>(
    io: &RegisterFileHierarchyIo<'m>,
    upper: &UpperRegisterFilesIo<'m>,
    dealt: &Dealt<'m>,
    groups: &[OperandCollectorsIo<'m>],
) {
    for (way, (issue, above)) in io.issue.iter().zip(&upper.issue).enumerate() {
        issue.ready_o.set(dealt.ready[way] & above.ready_o);
        above.valid_i.set(issue.valid_i);
        above.taken_i.set(dealt.taken[way]);
        above.slot_i.set(issue.slot_i);
        above.active_i.set(issue.active_i);
        above.copy_valid_i.set(issue.copy_valid_i);
        above.copy_entry_i.set(issue.copy_entry_i);
        above.copy_source_i.set(issue.copy_source_i);
        for (source, above) in issue.source.iter().zip(&above.source) {
            above.valid_i.set(source.valid_i & source.entry_valid_i);
            above.entry_i.set(source.entry_i);
        }
    }
    for (to, crossed) in upper.crossed_i.iter().zip(dealt.crossed) {
        to.set(crossed);
    }
    for (index, group) in upper.index_i.iter().zip(groups) {
        index.set(group.issue.index_o);
    }
}

/// Joins the operands of both levels: each is in one, and 0 in the other.
fn deliver<'m>(
    m: &Module<'m>,
    io: &RegisterFileHierarchyIo<'m>,
    upper: &UpperRegisterFilesIo<'m>,
    group: &OperandCollectorsIo<'m>,
    number: usize,
) {
    let (dispatch, operands) = (&io.dispatch[number], &io.operands[number]);
    m.pass_through(dispatch, &group.dispatch);
    operands.valid_o.set(group.operands.valid_o);
    operands.id_o.set(group.operands.id_o);
    for (k, operand) in operands.source_o.iter().enumerate() {
        let (above, collected) = (&upper.operands[number].source[k], group.operands.source_o[k]);
        above.collected_i.set(collected);
        operand.set(collected | above.value_o);
    }
}

/// A register is written when no group has still to read it, and all levels that the result goes to can take it.
fn write<'m>(
    m: &Module<'m>,
    io: &RegisterFileHierarchyIo<'m>,
    mrf: &MainRegisterFileIo<'m>,
    upper: &UpperRegisterFilesIo<'m>,
    groups: &[OperandCollectorsIo<'m>],
) {
    for (way, (result, above)) in io.result.iter().zip(&upper.result).enumerate() {
        let port = &mrf.write[way];
        let blocked = blocked(m, groups, way, result.register_i);
        let above_takes = !result.entry_valid_i | above.ready_o;
        port.valid_i.set(result.valid_i & result.main_i & !blocked & above_takes);
        port.register_i.set(result.register_i);
        port.lanes_i.set(result.lanes_i);
        port.value_i.set(result.value_i);
        let main_takes = !result.main_i | (port.ready_o & !blocked);
        above.valid_i.set(result.valid_i & result.entry_valid_i & main_takes & above.ready_o);
        above.slot_i.set(result.slot_i);
        above.entry_i.set(result.entry_i);
        above.lanes_i.set(result.lanes_i);
        above.value_i.set(result.value_i);
        result.ready_o.set(main_takes & above_takes);
    }
    let writer = io.result.len();
    let (fill, port) = (&io.fill, &mrf.write[writer]);
    let blocked = blocked(m, groups, writer, fill.register_i);
    port.valid_i.set(fill.valid_i & !blocked);
    port.register_i.set(fill.register_i);
    port.lanes_i.set(fill.lanes_i);
    port.value_i.set(fill.value_i);
    fill.ready_o.set(port.ready_o & !blocked);
}

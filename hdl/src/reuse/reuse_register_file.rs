//! The register file of a scheduler with register reuse caches.

use serde::{Deserialize, Serialize};

use super::reuse_collectors::{ReuseCollectors, ReuseCollectorsIo};
use crate::regfile::collector_groups::{Choice, Dealt, WAYS, blocked, deal, share_banks, share_units};
use crate::regfile::{
    DispatchIo, Geometry, IssueIo, MainRegisterFile, OperandsIo, RegisterWriteIo, SOURCES, SourceIo, Widths,
};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, index_bits};

/// Register file for a scheduler that issues one or two instructions a cycle, with a register reuse cache in each group of
/// operand collectors: an operand that the instruction marks is kept for a later one that reads it in the same position.
///
/// The main register file, its groups of collectors and what they share are those of the banked or the dual-issue register
/// file. Instructions of a warp go to two groups in turn, and an operand is kept in that of its instruction: with two
/// groups the caches have to notice writes, since a later read may go to the other group.
///
/// Timing: as these register files.
/// Source: Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, §5.3.1; two instructions a
/// cycle are not of that hardware.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ReuseRegisterFile {
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
    /// Whether a write ends what is kept of its register; it has to with two instructions a cycle.
    pub drops_written: bool,
    /// Instructions taken a cycle, 1 or 2.
    pub issues: usize,
}

/// Ports of a [`ReuseRegisterFile`].
#[derive(Ports)]
#[params(ReuseRegisterFile)]
pub struct ReuseRegisterFileIo<'m> {
    /// Instructions and their register operands, in program order.
    #[repeat_plain(p.issues)]
    pub issue: Vec<ReuseIssueIo<'m>>,
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
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub result: Vec<RegisterWriteIo<'m>>,
    /// Result of a long-latency operation.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub fill: RegisterWriteIo<'m>,
}

/// An instruction and its register operands.
#[derive(Ports)]
#[params(ReuseRegisterFile)]
pub struct ReuseIssueIo<'m> {
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
    pub source: Vec<ReuseSourceIo<'m>>,
}

/// A register operand.
#[derive(Ports)]
#[params(ReuseRegisterFile)]
pub struct ReuseSourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// It is kept once it is read.
    pub keep_i: In<'m>,
}

impl Circuit for ReuseRegisterFile {
    type Io<'m> = ReuseRegisterFileIo<'m>;
    const NAME: &'static str = "reuse_register_file";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("issues", self.issues, 1..=WAYS)?;
        Self::check(
            self.drops_written || self.issues == 1,
            "drops_written",
            self.drops_written,
            "true with two instructions a cycle",
        )
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ReuseRegisterFileIo<'m>) {
        let writers = io.result.len() + 1;
        let mrf = m.instance("mrf", MainRegisterFile { geometry: self.geometry, writers });
        let (mut groups, mut caches) = (Vec::new(), Vec::new());
        for group in 0..self.issues {
            let ReuseCollectorsIo { collectors, keep_i, written } =
                m.instance(format!("collectors{group}"), self.group(writers, group > 0));
            groups.push(collectors);
            caches.push((keep_i, written));
        }
        let issue: Vec<IssueIo<'m>> = io.issue.iter().map(without_reuse).collect();
        let dealt = deal(m, &issue, &groups);
        for (issue, ready) in io.issue.iter().zip(&dealt.ready) {
            issue.ready_o.set(*ready);
        }
        for (number, (keep, _)) in caches.iter().enumerate() {
            mark(io, keep, &dealt, number);
        }
        share_units(io.unit_ready_i, None, &groups);
        share_banks(&mrf, &groups);
        for (group, (dispatch, operands)) in groups.iter().zip(io.dispatch.iter().zip(&io.operands)) {
            group.issue.index_o.ignore();
            group.dispatch_index_o.ignore();
            m.pass_through(dispatch, &group.dispatch);
            m.pass_through(operands, &group.operands);
        }
        for (w, write) in io.result.iter().chain([&io.fill]).enumerate() {
            let blocked = blocked(m, &groups, w, write.register_i);
            let port = &mrf.write[w];
            port.valid_i.set(write.valid_i & !blocked);
            port.register_i.set(write.register_i);
            port.lanes_i.set(write.lanes_i);
            port.value_i.set(write.value_i);
            let ready = port.ready_o & !blocked;
            write.ready_o.set(ready);
            for (_, written) in &caches {
                let Some(written) = written.get(w) else { continue };
                written.valid_i.set(write.valid_i & ready);
                written.register_i.set(write.register_i);
            }
        }
    }
}

impl ReuseRegisterFile {
    fn group(&self, writers: usize, shares_banks: bool) -> ReuseCollectors {
        ReuseCollectors {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles,
            id_bits: self.id_bits,
            units: self.units,
            writers,
            shares_banks,
            drops_written: self.drops_written,
        }
    }
}

/// What an instruction asks of the collectors.
fn without_reuse<'m>(issue: &ReuseIssueIo<'m>) -> IssueIo<'m> {
    let source =
        |source: &ReuseSourceIo<'m>| SourceIo { valid_i: source.valid_i, register_i: source.register_i };
    IssueIo {
        valid_i: issue.valid_i,
        ready_o: issue.ready_o,
        id_i: issue.id_i,
        unit_i: issue.unit_i,
        active_i: issue.active_i,
        source: issue.source.iter().map(source).collect(),
    }
}

/// Tells the cache of a group which operands of its instruction are kept.
fn mark<'m>(io: &ReuseRegisterFileIo<'m>, keep: &[In<'m>], dealt: &Dealt<'m>, group: usize) {
    let choice = Choice::new(dealt.crossed, group);
    for (k, keep) in keep.iter().enumerate() {
        keep.set(choice.of(|way| io.issue[way].source[k].keep_i));
    }
}

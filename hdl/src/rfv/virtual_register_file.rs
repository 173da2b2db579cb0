//! The register file of a scheduler with fewer physical registers than its warps have names for.

use serde::{Deserialize, Serialize};

use super::allocation_limiter::{AllocationLimiter, AllocationLimiterIo, LimitsIo};
use super::rename_table::{RESULTS, RenameTable, RenameTableIo};
use super::{WAYS, all_below};
use crate::regfile::{
    BankedRegisterFile, BankedRegisterFileIo, DispatchIo, DualIssueRegisterFile, DualIssueRegisterFileIo,
    ExtraRead, Geometry, IssueIo, OperandsIo, RegisterWriteIo, SOURCES, Widths,
};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Virtual register file: a banked register file, or a dual-issue one, behind a rename table.
///
/// Registers are named as in a register file that has room for all of them, by the row they would have there; its
/// ports are those of the register file behind it, and those that tell where names begin and die. An instruction is
/// taken when each of its results has a physical register; one that reads a register that was never written reads 0. A write finds
/// the physical register that its instruction was given. A register may be given to another name as soon as its last
/// reader has been taken: the new owner's write waits for the read, as every write does.
/// Which warps may take registers, the allocation limiter says; who offers instructions is to keep to it.
///
/// Timing: as the register file behind it; renaming takes no cycle of its own.
/// Source: Jeon et al., MICRO 2015, with the assumption of Kloosterman et al., "RegLess", §6.1: the rename table costs
/// nothing.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct VirtualRegisterFile {
    /// Names, at least as many as banks, up to 4096.
    pub names: usize,
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Physical banks, rows and lanes.
    pub geometry: Geometry,
    /// Operand collectors of each group, 2 to 32.
    pub collectors: usize,
    /// Register access cycles, 3 to 8.
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// Instructions taken a cycle, 1 or 2.
    pub issues: usize,
}

/// Ports of a [`VirtualRegisterFile`].
#[derive(Ports)]
#[params(VirtualRegisterFile)]
pub struct VirtualRegisterFileIo<'m> {
    /// Instructions and their registers, in program order.
    #[repeat_plain(p.issues)]
    pub issue: Vec<VirtualIssueIo<'m>>,
    /// Instructions whose last operand is read in this cycle, each for another unit.
    #[repeat_plain(p.issues)]
    #[with(p.widths())]
    pub dispatch: Vec<DispatchIo<'m>>,
    /// Units that can take an instruction.
    #[bits(p.units)]
    pub unit_ready_i: In<'m>,
    /// Operands, one cycle after dispatch.
    #[repeat_plain(p.issues)]
    #[with(p.widths())]
    pub operands: Vec<OperandsIo<'m>>,
    /// Results of short operations.
    #[repeat_plain(p.issues)]
    #[with(p.widths())]
    pub result: Vec<RegisterWriteIo<'m>>,
    /// Nothing reads the result.
    #[repeat_plain(p.issues)]
    pub result_dead_i: Vec<In<'m>>,
    /// Result of a long-latency operation.
    #[with(p.widths())]
    pub fill: RegisterWriteIo<'m>,
    /// Nothing reads that result.
    pub fill_dead_i: In<'m>,
    /// Names of warps that have ended.
    #[bits(p.names)]
    pub retire_i: In<'m>,
    /// Who may take registers.
    #[with(p.limiter())]
    pub limits: LimitsIo<'m>,
    /// Physical registers that have a name.
    #[bits(crate::rtl::count_bits(p.table().registers()))]
    pub held_o: Out<'m>,
    /// The first instruction waits because no register is free for a result of it.
    pub register_wait_o: Out<'m>,
}

/// An instruction and its registers.
#[derive(Ports)]
#[params(VirtualRegisterFile)]
pub struct VirtualIssueIo<'m> {
    /// There is one; it stays until it is taken.
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
    /// Its warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// Registers it reads.
    #[repeat(SOURCES)]
    pub source: Vec<VirtualSourceIo<'m>>,
    /// Registers it writes.
    #[repeat(RESULTS)]
    pub result: Vec<VirtualSourceIo<'m>>,
    /// Names that die when it is taken; none of its results.
    #[bits(p.names)]
    pub release_i: In<'m>,
}

/// A register operand.
#[derive(Ports)]
#[params(VirtualRegisterFile)]
pub struct VirtualSourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its name.
    #[bits(index_bits(p.names))]
    pub register_i: In<'m>,
}

/// Ports of a register file that takes one instruction a cycle or several.
struct FileIo<'m> {
    issue: Vec<IssueIo<'m>>,
    dispatch: Vec<DispatchIo<'m>>,
    unit_ready: In<'m>,
    operands: Vec<OperandsIo<'m>>,
    result: Vec<RegisterWriteIo<'m>>,
    fill: RegisterWriteIo<'m>,
}

impl<'m> From<BankedRegisterFileIo<'m>> for FileIo<'m> {
    fn from(file: BankedRegisterFileIo<'m>) -> FileIo<'m> {
        FileIo {
            issue: vec![file.issue],
            dispatch: vec![file.dispatch],
            unit_ready: file.unit_ready_i,
            operands: vec![file.operands],
            result: vec![file.result],
            fill: file.fill,
        }
    }
}

impl<'m> From<DualIssueRegisterFileIo<'m>> for FileIo<'m> {
    fn from(file: DualIssueRegisterFileIo<'m>) -> FileIo<'m> {
        let DualIssueRegisterFileIo { issue, dispatch, unit_ready_i, operands, result, fill } = file;
        FileIo { issue, dispatch, unit_ready: unit_ready_i, operands, result, fill }
    }
}

impl Circuit for VirtualRegisterFile {
    type Io<'m> = VirtualRegisterFileIo<'m>;
    const NAME: &'static str = "virtual_register_file";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("names", self.names, self.geometry.banks.max(2)..=4096)?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("issues", self.issues, 1..=WAYS)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &VirtualRegisterFileIo<'m>) {
        let table = m.instance("renaming", self.table());
        let limiter = m.instance("limiter", self.limiter());
        let file = self.file(m);
        issue(io, &table, &file);
        write(io, &table, &file);
        file.unit_ready.set(io.unit_ready_i);
        m.pass_through(&io.dispatch, &file.dispatch);
        m.pass_through(&io.operands, &file.operands);
        table.retire_i.set(io.retire_i);
        limit(io, &table, &limiter);
        m.pass_through(&io.limits, &limiter.limits);
        io.held_o.set(limiter.held_o);
        io.register_wait_o.set(io.issue[0].valid_i & !table.issue[0].ready_o);
        m.assumption("a_warp_is_one_of_those_there_are", self.warps_exist(m, io));
        m.assumption("a_name_is_one_of_those_there_are", self.names_exist(m, io));
        m.assumption("only_admitted_warps_write_registers", self.writers_are_admitted(m, io, &limiter));
        m.invariant("the_limiter_counts_what_the_table_gives", limiter.held_o.eq(table.used_o));
    }
}

impl VirtualRegisterFile {
    /// Whether every instruction is of a warp that there is.
    fn warps_exist<'m>(&self, m: &Module<'m>, io: &VirtualRegisterFileIo<'m>) -> Signal<'m> {
        all_below(m, io.issue.iter().map(|issue| (issue.valid_i, issue.warp_i)), self.warps)
    }

    /// Whether every register that is written, or is to be, has a name that there is.
    fn names_exist<'m>(&self, m: &Module<'m>, io: &VirtualRegisterFileIo<'m>) -> Signal<'m> {
        let results = io.issue.iter().flat_map(|issue| {
            issue.result.iter().map(|result| (issue.valid_i & result.valid_i, result.register_i))
        });
        let writes = io.result.iter().chain([&io.fill]).map(|write| (write.valid_i, write.register_i));
        all_below(m, results.chain(writes), self.names)
    }

    /// Whether every instruction that is offered and writes a register is of a warp that may take some.
    fn writers_are_admitted<'m>(
        &self,
        m: &Module<'m>,
        io: &VirtualRegisterFileIo<'m>,
        limiter: &AllocationLimiterIo<'m>,
    ) -> Signal<'m> {
        io.issue.iter().fold(m.lit(1, 1), |all, issue| {
            let writes = issue.result.iter().fold(m.lit(1, 0), |any, result| any | result.valid_i);
            let admitted = (issue.warp_i.decode(self.warps) & limiter.limits.admitted_o).any();
            all & (issue.valid_i & writes).implies(admitted)
        })
    }

    /// The rename table.
    pub fn table(&self) -> RenameTable {
        RenameTable {
            names: self.names,
            banks: self.geometry.banks,
            rows: self.geometry.rows,
            warps: self.warps,
            issues: self.issues,
        }
    }

    fn limiter(&self) -> AllocationLimiter {
        AllocationLimiter { warps: self.warps, registers: self.table().registers(), issues: self.issues }
    }

    /// The register file behind the rename table.
    fn file<'m>(&self, m: &Module<'m>) -> FileIo<'m> {
        let &VirtualRegisterFile { geometry, collectors, access_cycles, id_bits, units, .. } = self;
        let name = "register_file";
        match self.issues {
            1 => m
                .instance(
                    name,
                    BankedRegisterFile {
                        geometry,
                        collectors,
                        access_cycles,
                        id_bits,
                        units,
                        extra_read: ExtraRead::None,
                    },
                )
                .into(),
            _ => m
                .instance(name, DualIssueRegisterFile { geometry, collectors, access_cycles, id_bits, units })
                .into(),
        }
    }

    /// Widths of ports that name registers.
    fn widths(&self) -> Widths {
        Widths {
            register_bits: index_bits(self.names),
            lanes: self.geometry.lanes,
            id_bits: self.id_bits,
            units: self.units,
        }
    }
}

fn issue<'m>(io: &VirtualRegisterFileIo<'m>, table: &RenameTableIo<'m>, file: &FileIo<'m>) {
    for ((outer, renamed), inner) in io.issue.iter().zip(&table.issue).zip(&file.issue) {
        let offered = outer.valid_i & renamed.ready_o;
        renamed.valid_i.set(outer.valid_i);
        renamed.warp_i.set(outer.warp_i);
        renamed.release_i.set(outer.release_i);
        renamed.taken_i.set(offered & inner.ready_o);
        outer.ready_o.set(renamed.ready_o & inner.ready_o);
        inner.valid_i.set(offered);
        inner.id_i.set(outer.id_i);
        inner.unit_i.set(outer.unit_i);
        inner.active_i.set(outer.active_i);
        for ((named, looked_up), read) in outer.source.iter().zip(&renamed.source).zip(&inner.source) {
            looked_up.valid_i.set(outer.valid_i & named.valid_i);
            looked_up.name_i.set(named.register_i);
            read.valid_i.set(named.valid_i & looked_up.mapped_o);
            read.register_i.set(looked_up.register_o);
        }
        for (named, result) in outer.result.iter().zip(&renamed.result) {
            result.valid_i.set(named.valid_i);
            result.name_i.set(named.register_i);
        }
    }
}

fn write<'m>(io: &VirtualRegisterFileIo<'m>, table: &RenameTableIo<'m>, file: &FileIo<'m>) {
    let outer = io.result.iter().zip(io.result_dead_i.iter().copied()).chain([(&io.fill, io.fill_dead_i)]);
    let inner = file.result.iter().chain([&file.fill]);
    for (((write, dead), renamed), port) in outer.zip(&table.write).zip(inner) {
        let ready: Signal<'m> = renamed.mapped_o & port.ready_o;
        renamed.valid_i.set(write.valid_i);
        renamed.name_i.set(write.register_i);
        renamed.dies_i.set(dead & ready);
        port.valid_i.set(write.valid_i & renamed.mapped_o);
        port.register_i.set(renamed.register_o);
        port.lanes_i.set(write.lanes_i);
        port.value_i.set(write.value_i);
        write.ready_o.set(ready);
    }
}

fn limit<'m>(io: &VirtualRegisterFileIo<'m>, table: &RenameTableIo<'m>, limiter: &AllocationLimiterIo<'m>) {
    for ((allocated, issue), renamed) in limiter.allocated.iter().zip(&io.issue).zip(&table.issue) {
        allocated.warp_i.set(issue.warp_i);
        allocated.count_i.set(renamed.allocated_o);
    }
    for (freed, from) in limiter.freed.iter().zip(&table.freed) {
        freed.valid_i.set(from.valid_o);
        freed.warp_i.set(from.warp_o);
    }
}

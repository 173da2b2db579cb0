//! The register file with a register scratchpad in front, alone or in front of a register cache.

use serde::{Deserialize, Serialize};

use super::cache_ports::LeaveIo;
use super::register_cache_hierarchy::{LEAVING, RegisterCacheHierarchy, RegisterCacheHierarchyIo};
use super::register_scratchpad::RegisterScratchpad;
use super::scratchpad_ports::{RegisterScratchpadIo, TransferIo};
use crate::regfile::collector_groups::WAYS;
use crate::regfile::{
    BankedRegisterFile, DispatchIo, DualIssueRegisterFile, ExtraRead, Geometry, IssueIo, OperandsIo,
    RegisterWriteIo, RowAccesses, RowPowerIo, SOURCES, Widths,
};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Register scratchpad in front of a backing store: the register cache hierarchy, or without a cache (`sets` 0) the banked or
/// the dual-issue register file.
///
/// An operand is in an entry of the scratchpad or behind it, as the instruction says; a result goes to one of both.
/// Registers that the scratchpad transfers go to the backing store as results of long-latency operations do, whose port they
/// share: these come first, but a transfer that has let one pass is next. An instruction waits at the port, with those
/// behind it, while the scratchpad's scoreboard says so.
///
/// In `parallel` the cache is beside the scratchpad: a register must leave the cache before it is copied to an entry or
/// written there live-out, and is transferred to the main register file. What is read and not in an entry is looked up in
/// the cache as ever.
///
/// With `gated` rows of the main register file may be without power. A cache asks for those that it accesses; without one a
/// transfer asks for its row and waits until it is on, and operands and results that the instruction says are behind the
/// scratchpad come with theirs on.
///
/// Timing: as the backing store, whose operands an instruction spends its access cycles with; what is in the scratchpad is
/// read at the dispatch.
/// Source: Bailey et al., TCAD 2018, Fig. 6 and §III-A.1 (the RSP is backed by the RC, which is backed by the main register
/// file), the design with a scratchpad alone (§IV-A), and the parallel one that evicts (§IV-D).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ScratchpadHierarchy {
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
    /// Entries of the scratchpad for a slot, 1 to 16.
    pub entries: usize,
    /// Sets of the register cache behind it, of two lines each; 0 to 64, 0 is none.
    pub sets: usize,
    /// Whether last reads end a copy in the cache.
    pub liveness: bool,
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Instructions taken a cycle, 1 or 2.
    pub issues: usize,
    /// Whether the cache is in parallel, not behind: both are backed by the main register file.
    pub parallel: bool,
    /// Whether rows of the main register file may be without power.
    #[serde(default)]
    pub gated: bool,
}

/// Ports of a [`ScratchpadHierarchy`].
#[derive(Ports)]
#[params(ScratchpadHierarchy)]
pub struct ScratchpadHierarchyIo<'m> {
    /// Instructions and their register operands, in program order.
    #[repeat_plain(p.issues)]
    pub issue: Vec<MappedIssueIo<'m>>,
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
    pub result: Vec<MappedResultIo<'m>>,
    /// Result of a long-latency operation.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub fill: RegisterWriteIo<'m>,
    /// The warp whose result it is.
    #[bits(index_bits(p.warps))]
    pub fill_warp_i: In<'m>,
    /// Warps that have ended: nothing of theirs is kept.
    #[bits(p.warps)]
    pub ended_i: In<'m>,
    /// Slots of which a write or a transfer is still to come.
    #[bits(p.slots)]
    pub slot_busy_o: Out<'m>,
    /// The first instruction waits for an entry.
    pub entry_wait_o: Out<'m>,
    /// It waits for the transfer of a register that it reads behind.
    pub transfer_wait_o: Out<'m>,
    /// It waits for a register to leave the cache.
    #[repeat_plain(usize::from(p.parallel))]
    pub leave_wait_o: Vec<Out<'m>>,
    /// Rows of the main register file; no ports unless they may be without power.
    #[repeat_plain(usize::from(p.gated))]
    #[with(p.row_accesses())]
    pub rows: Vec<RowPowerIo<'m>>,
}

/// An instruction and its register operands.
#[derive(Ports)]
#[params(ScratchpadHierarchy)]
pub struct MappedIssueIo<'m> {
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
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// Its register operands.
    #[repeat(SOURCES)]
    pub source: Vec<MappedSourceIo<'m>>,
    /// An operand of the backing store is copied to an entry.
    pub copy_valid_i: In<'m>,
    /// The entry.
    #[bits(index_bits(p.entries))]
    pub copy_entry_i: In<'m>,
    /// Which operand.
    #[bits(index_bits(SOURCES))]
    pub copy_source_i: In<'m>,
    /// Entries that its results go to.
    #[bits(p.entries)]
    pub writes_i: In<'m>,
    /// Registers that must not be in a cache in parallel: that of the operand that is copied, that of a live-out result.
    #[repeat(p.leaving())]
    pub leave: Vec<MappedLeaveIo<'m>>,
}

/// A register that must not be in a cache in parallel.
#[derive(Ports)]
#[params(ScratchpadHierarchy)]
pub struct MappedLeaveIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
}

/// A register operand.
#[derive(Ports)]
#[params(ScratchpadHierarchy)]
pub struct MappedSourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// It is read in an entry, not in the backing store.
    pub entry_valid_i: In<'m>,
    /// The entry.
    #[bits(index_bits(p.entries))]
    pub entry_i: In<'m>,
    /// Some executing lanes of an operand that is not in an entry are not in the cache, either; of an instruction that is taken.
    #[repeat_plain(usize::from(p.sets > 0))]
    pub misses_o: Vec<Out<'m>>,
    /// No executing lane reads the value again: a cache behind has no use for what it holds of it, either.
    pub last_read_i: In<'m>,
}

/// A result of a short operation.
#[derive(Ports)]
#[params(ScratchpadHierarchy)]
pub struct MappedResultIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// An offered result is taken.
    pub ready_o: Out<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// Lanes written.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.geometry.value_bits())]
    pub value_i: In<'m>,
    /// It is written to an entry, not to the backing store.
    pub entry_valid_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// The entry.
    #[bits(index_bits(p.entries))]
    pub entry_i: In<'m>,
    /// It is live-out: the backing store gets it, too, in the background.
    pub live_out_i: In<'m>,
}

/// What is behind the scratchpad, whichever it is.
struct Backing<'m> {
    issue: Vec<BackingIssue<'m>>,
    dispatch: Vec<DispatchIo<'m>>,
    unit_ready: Signal<'m>,
    operands: Vec<OperandsIo<'m>>,
    result: Vec<RegisterWriteIo<'m>>,
    fill: RegisterWriteIo<'m>,
    /// What a cache is told of warps: whose results and fill these are, and which have ended.
    warps: Option<(Vec<Signal<'m>>, Signal<'m>, Signal<'m>)>,
    /// Registers that a cache in parallel is told to give up.
    leave: Vec<LeaveIo<'m>>,
    /// The port of transfers past a cache in parallel.
    transfer: Option<RegisterWriteIo<'m>>,
    /// Rows that a cache asks for, where they may be without power.
    rows: Option<RowPowerIo<'m>>,
}

/// An issue port of it.
struct BackingIssue<'m> {
    valid: Signal<'m>,
    ready: Signal<'m>,
    id: Signal<'m>,
    unit: Signal<'m>,
    active: Signal<'m>,
    source: Vec<BackingSource<'m>>,
}

/// An operand of it.
struct BackingSource<'m> {
    valid: Signal<'m>,
    register: Signal<'m>,
    /// A cache is told of last reads, and tells what it does not have.
    cached: Option<CachedSource<'m>>,
}

/// What a cache has to do with an operand.
#[derive(Clone, Copy)]
struct CachedSource<'m> {
    last_read: Signal<'m>,
    misses: Signal<'m>,
}

impl Circuit for ScratchpadHierarchy {
    type Io<'m> = ScratchpadHierarchyIo<'m>;
    const NAME: &'static str = "scratchpad_hierarchy";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("slots", self.slots, 1..=64)?;
        Self::check_range("entries", self.entries, 1..=16)?;
        Self::check_range("sets", self.sets, 0..=64)?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("issues", self.issues, 1..=WAYS)?;
        Self::check(
            self.sets > 0 || !self.parallel,
            "parallel",
            self.parallel,
            "false, without a cache that could be in parallel",
        )
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ScratchpadHierarchyIo<'m>) {
        let scratchpad = m.instance("scratchpad", self.scratchpad());
        let backing = self.backing(m);
        issue(m, io, &scratchpad, &backing);
        deliver(io, &scratchpad, &backing);
        Self::write_results(io, &scratchpad, &backing);
        self.write_fills(m, io, &scratchpad, &backing);
        if let (Some(rows), Some(behind)) = (io.rows.first(), &backing.rows) {
            m.pass_through(rows, behind);
        }
        if let Some((.., ended)) = &backing.warps {
            ended.set(io.ended_i);
        }
        backing.unit_ready.set(io.unit_ready_i);
        io.slot_busy_o.set(scratchpad.slot_busy_o);
        io.entry_wait_o.set(scratchpad.entry_wait_o);
        io.transfer_wait_o.set(scratchpad.transfer_wait_o);
    }
}

impl ScratchpadHierarchy {
    fn scratchpad(&self) -> RegisterScratchpad {
        RegisterScratchpad {
            slots: self.slots,
            entries: self.entries,
            lanes: self.geometry.lanes,
            lanes_per_cluster: self.geometry.lanes_per_cluster,
            register_bits: self.geometry.register_bits(),
            warps: self.warps,
            id_bits: self.id_bits,
            under_way: self.under_way(),
            issues: self.issues,
        }
    }

    /// Registers that an instruction may tell a cache in parallel to give up.
    fn leaving(&self) -> usize {
        if self.parallel { LEAVING } else { 0 }
    }

    /// Instructions that the backing store holds before their dispatch: in collectors and, with a cache, in tag stages.
    fn under_way(&self) -> usize {
        self.issues * (self.collectors + usize::from(self.sets > 0))
    }

    /// Accesses that ask for rows: those of the cache, or transfers.
    fn row_accesses(&self) -> RowAccesses {
        match self.sets {
            0 => RowAccesses { geometry: self.geometry, reads: 0, writes: 1 },
            _ => self.cached().row_accesses(),
        }
    }

    /// What is behind the scratchpad, if it has a cache.
    fn cached(&self) -> RegisterCacheHierarchy {
        RegisterCacheHierarchy {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles,
            id_bits: index_bits(self.under_way()),
            units: self.units,
            sets: self.sets,
            liveness: self.liveness,
            warps: self.warps,
            issues: self.issues,
            parallel: self.parallel,
            gated: self.gated,
            read_allocates: false,
        }
    }

    fn backing<'m>(&self, m: &Module<'m>) -> Backing<'m> {
        let (geometry, collectors, access_cycles) = (self.geometry, self.collectors, self.access_cycles);
        let (id_bits, units) = (index_bits(self.under_way()), self.units);
        let name = "backing";
        if self.sets > 0 {
            return Backing::cached(m.instance(name, self.cached()));
        }
        let plain = |issue: Vec<IssueIo<'m>>, dispatch, unit_ready, operands, result, fill| Backing {
            issue: issue.into_iter().map(BackingIssue::plain).collect(),
            dispatch,
            unit_ready,
            operands,
            result,
            fill,
            warps: None,
            leave: Vec::new(),
            transfer: None,
            rows: None,
        };
        if self.issues == 1 {
            let file = BankedRegisterFile {
                geometry,
                collectors,
                access_cycles,
                id_bits,
                units,
                extra_read: ExtraRead::None,
            };
            let io = m.instance(name, file);
            let (dispatch, operands) = (vec![io.dispatch], vec![io.operands]);
            return plain(vec![io.issue], dispatch, io.unit_ready_i, operands, vec![io.result], io.fill);
        }
        let io =
            m.instance(name, DualIssueRegisterFile { geometry, collectors, access_cycles, id_bits, units });
        plain(io.issue, io.dispatch, io.unit_ready_i, io.operands, io.result, io.fill)
    }

    /// Results go to the scratchpad or behind.
    fn write_results<'m>(
        io: &ScratchpadHierarchyIo<'m>,
        scratchpad: &RegisterScratchpadIo<'m>,
        backing: &Backing<'m>,
    ) {
        for (way, ((result, here), behind)) in
            io.result.iter().zip(&scratchpad.result).zip(&backing.result).enumerate()
        {
            here.valid_i.set(result.valid_i);
            here.entry_valid_i.set(result.entry_valid_i);
            here.slot_i.set(result.slot_i);
            here.entry_i.set(result.entry_i);
            here.live_out_i.set(result.live_out_i);
            here.warp_i.set(result.warp_i);
            here.register_i.set(result.register_i);
            here.lanes_i.set(result.lanes_i);
            here.value_i.set(result.value_i);
            behind.valid_i.set(result.valid_i & !result.entry_valid_i & here.ready_o);
            behind.register_i.set(result.register_i);
            behind.lanes_i.set(result.lanes_i);
            behind.value_i.set(result.value_i);
            result.ready_o.set(here.ready_o & (result.entry_valid_i | behind.ready_o));
            if let Some((results, ..)) = &backing.warps {
                results[way].set(result.warp_i);
            }
        }
    }

    /// Long-latency results, and transfers beside them.
    fn write_fills<'m>(
        &self,
        m: &Module<'m>,
        io: &ScratchpadHierarchyIo<'m>,
        scratchpad: &RegisterScratchpadIo<'m>,
        backing: &Backing<'m>,
    ) {
        scratchpad.fill_register_i.set(io.fill.register_i);
        let fills = io.fill.valid_i & !scratchpad.fill_waits_o;
        match &backing.transfer {
            Some(past) => fill_and_transfer(io, fills, &scratchpad.transfer, past, backing),
            None => self.fill_or_transfer(m, io, fills, &scratchpad.transfer, backing),
        }
    }

    /// The two share a port of the backing store: a fill comes first, unless a transfer has let one pass in the cycle before.
    fn fill_or_transfer<'m>(
        &self,
        m: &Module<'m>,
        io: &ScratchpadHierarchyIo<'m>,
        fills: Signal<'m>,
        transfer: &TransferIo<'m>,
        backing: &Backing<'m>,
    ) {
        let (fill, port) = (&io.fill, &backing.fill);
        let waited = m.register("transfer_waited", 1).reset(0);
        let is_offered = self.ask_for_transfer(m, io, &backing.rows, transfer);
        let transfers = (is_offered & (waited | !fills)).named("transfers");
        waited.set(is_offered & !transfers);
        port.valid_i.set(transfers | fills);
        port.register_i.set(transfers.mux(transfer.register_o, fill.register_i));
        port.lanes_i.set(transfers.mux(transfer.lanes_o, fill.lanes_i));
        port.value_i.set(transfers.mux(transfer.value_o, fill.value_i));
        fill.ready_o.set(fills & !transfers & port.ready_o);
        let transferred = transfers & port.ready_o;
        transfer.ready_i.set(transferred);
        if let (Some(rows), None) = (io.rows.first(), &backing.rows) {
            rows.written_o[0].set(transferred);
        }
        match &backing.warps {
            Some((_, warp, _)) => {
                warp.set(transfers.mux(transfer.warp_o, io.fill_warp_i));
            }
            None => transfer.warp_o.ignore(),
        }
    }

    /// Whether a transfer can be offered to the backing store: without a cache it waits for its row.
    fn ask_for_transfer<'m>(
        &self,
        m: &Module<'m>,
        io: &ScratchpadHierarchyIo<'m>,
        of_cache: &Option<RowPowerIo<'m>>,
        transfer: &TransferIo<'m>,
    ) -> Signal<'m> {
        match (io.rows.first(), of_cache) {
            (Some(rows), None) => {
                rows.write[0].ask(transfer.valid_o, transfer.register_o, transfer.lanes_o);
                transfer.valid_o & rows.is_on(m, &self.geometry, transfer.register_o)
            }
            _ => transfer.valid_o,
        }
    }
}

/// Each has a port of its own: transfers go past a cache in parallel.
fn fill_and_transfer<'m>(
    io: &ScratchpadHierarchyIo<'m>,
    fills: Signal<'m>,
    transfer: &TransferIo<'m>,
    past: &RegisterWriteIo<'m>,
    backing: &Backing<'m>,
) {
    past.valid_i.set(transfer.valid_o);
    past.register_i.set(transfer.register_o);
    past.lanes_i.set(transfer.lanes_o);
    past.value_i.set(transfer.value_o);
    transfer.ready_i.set(past.ready_o);
    transfer.warp_o.ignore();
    let (fill, port) = (&io.fill, &backing.fill);
    port.valid_i.set(fills);
    port.register_i.set(fill.register_i);
    port.lanes_i.set(fill.lanes_i);
    port.value_i.set(fill.value_i);
    fill.ready_o.set(fills & port.ready_o);
    if let Some((_, warp, _)) = &backing.warps {
        warp.set(io.fill_warp_i);
    }
}

impl<'m> Backing<'m> {
    fn cached(io: RegisterCacheHierarchyIo<'m>) -> Backing<'m> {
        let issue = io.issue.into_iter().map(|issue| BackingIssue {
            valid: issue.valid_i,
            ready: issue.ready_o,
            id: issue.id_i,
            unit: issue.unit_i,
            active: issue.active_i,
            source: (issue.source.into_iter())
                .map(|source| BackingSource {
                    valid: source.valid_i,
                    register: source.register_i,
                    cached: Some(CachedSource { last_read: source.last_read_i, misses: source.misses_o }),
                })
                .collect(),
        });
        Backing {
            issue: issue.collect(),
            dispatch: io.dispatch,
            unit_ready: io.unit_ready_i,
            operands: io.operands,
            result: io.result,
            fill: io.fill,
            warps: Some((io.result_warp_i, io.fill_warp_i, io.ended_i)),
            leave: io.leave,
            transfer: io.transfer.into_iter().next(),
            rows: io.rows.into_iter().next(),
        }
    }
}

impl<'m> BackingIssue<'m> {
    fn plain(issue: IssueIo<'m>) -> BackingIssue<'m> {
        BackingIssue {
            valid: issue.valid_i,
            ready: issue.ready_o,
            id: issue.id_i,
            unit: issue.unit_i,
            active: issue.active_i,
            source: (issue.source.into_iter())
                .map(|source| BackingSource {
                    valid: source.valid_i,
                    register: source.register_i,
                    cached: None,
                })
                .collect(),
        }
    }
}

/// An instruction is taken if both can take it, and if no register is in the cache that must not be.
fn issue<'m>(
    m: &Module<'m>,
    io: &ScratchpadHierarchyIo<'m>,
    scratchpad: &RegisterScratchpadIo<'m>,
    backing: &Backing<'m>,
) {
    for (way, ((issue, here), behind)) in
        io.issue.iter().zip(&scratchpad.issue).zip(&backing.issue).enumerate()
    {
        let may_pass = match leave(m, issue, way, backing) {
            None => here.ready_o,
            Some(waits) => {
                io.leave_wait_o.iter().take(1 - way).for_each(|wait| {
                    wait.set(waits);
                });
                here.ready_o & !waits
            }
        };
        let ready = may_pass & behind.ready;
        issue.ready_o.set(ready);
        here.valid_i.set(issue.valid_i);
        here.taken_i.set(issue.valid_i & ready);
        here.id_i.set(issue.id_i);
        here.slot_i.set(issue.slot_i);
        here.active_i.set(issue.active_i);
        here.copy_valid_i.set(issue.copy_valid_i);
        here.copy_entry_i.set(issue.copy_entry_i);
        here.copy_source_i.set(issue.copy_source_i);
        here.writes_i.set(issue.writes_i);
        behind.valid.set(issue.valid_i & may_pass);
        behind.id.set(here.number_o);
        behind.unit.set(issue.unit_i);
        behind.active.set(issue.active_i);
        for ((source, here), behind) in issue.source.iter().zip(&here.source).zip(&behind.source) {
            here.valid_i.set(source.valid_i);
            here.register_i.set(source.register_i);
            here.entry_valid_i.set(source.entry_valid_i);
            here.entry_i.set(source.entry_i);
            behind.valid.set(source.valid_i & !source.entry_valid_i);
            behind.register.set(source.register_i);
            if let Some(CachedSource { last_read, misses }) = behind.cached {
                last_read.set(source.valid_i & source.last_read_i);
                source.misses_o[0].set(misses);
            }
        }
    }
}

/// Tells a cache in parallel which registers the instruction of a way must not find there; whether it waits for one. `None`
/// without such a cache.
fn leave<'m>(
    m: &Module<'m>,
    issue: &MappedIssueIo<'m>,
    way: usize,
    backing: &Backing<'m>,
) -> Option<Signal<'m>> {
    let held = issue.leave.iter().zip(&backing.leave[way * issue.leave.len()..]).map(|(told, leave)| {
        leave.valid_i.set(issue.valid_i & told.valid_i);
        leave.register_i.set(told.register_i);
        leave.held_o
    });
    let held: Vec<Signal<'m>> = held.collect();
    (!held.is_empty()).then(|| m.cat(held).any().named(format!("waits_for_leaving{way}")))
}

/// Instructions leave under their own identifiers, with each operand from where it is.
fn deliver<'m>(io: &ScratchpadHierarchyIo<'m>, scratchpad: &RegisterScratchpadIo<'m>, backing: &Backing<'m>) {
    for (port, (behind, here)) in backing.dispatch.iter().zip(&scratchpad.dispatch).enumerate() {
        let dispatch = &io.dispatch[port];
        here.valid_i.set(behind.valid_o);
        here.number_i.set(behind.id_o);
        dispatch.valid_o.set(behind.valid_o);
        dispatch.id_o.set(here.id_o).valid_when(behind.valid_o);
        dispatch.unit_o.set(behind.unit_o).valid_when(behind.valid_o);
    }
    for (port, (behind, here)) in backing.operands.iter().zip(&scratchpad.operands).enumerate() {
        let operands = &io.operands[port];
        operands.valid_o.set(behind.valid_o);
        operands.id_o.set(here.id_o).valid_when(behind.valid_o);
        behind.id_o.ignore();
        for ((operand, here), &collected) in operands.source_o.iter().zip(&here.source).zip(&behind.source_o)
        {
            here.collected_i.set(collected);
            operand.set(here.lanes_o.lane_mux(here.value_o, collected)).valid_when(behind.valid_o);
        }
    }
}

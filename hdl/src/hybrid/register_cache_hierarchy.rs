//! The register file with a register cache in front.

use serde::{Deserialize, Serialize};

use super::cache_ports::{LeaveIo, RegisterCacheIo};
use super::register_cache::RegisterCache;
use crate::regfile::collector_groups::{Choice, Dealt, WAYS, numbered, share_banks, share_units, take_turns};
use crate::regfile::{
    DispatchIo, Geometry, MainRegisterFile, MainRegisterFileIo, OperandCollectors, OperandCollectorsIo,
    OperandsIo, RegisterWriteIo, RowAccesses, RowPowerIo, SOURCES, Widths,
};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Register cache in front of the main register file: operands come from the cache, from the main register file, or from
/// both if lanes are divided between them; every result goes to the cache.
///
/// For two instructions a cycle there are two groups of operand collectors, as in the dual-issue register file, each with
/// a tag stage and three read ports of the cache, and two write ports of the cache. An instruction on the second issue port
/// is taken only together with the one on the first, which comes before it in program order. An instruction that waits in
/// a tag stage may be passed by those of the other group, so a register that leaves the cache waits for its reads as it does
/// for those in collectors.
///
/// Results of long-latency operations share the last write port with results of short ones, which come first; one that has
/// had to wait is next.
///
/// For a scratchpad in `parallel` (§IV-D), which the main register file backs directly, registers can be told to leave the
/// cache, and there is a port past the cache for what is transferred. A register must not be in the cache when it is.
///
/// With `read_allocates` the cache copies operands that it does not have, as it takes results.
///
/// With `gated` rows of the main register file may be without power: an instruction stays in its tag stage until the rows of the
/// operands that it has not found in the cache are on, and a register leaves the cache when its row is. Both ask for their
/// rows.
///
/// Timing: an instruction that finds its operands in the cache is dispatched `access_cycles` after it is offered at the
/// earliest, the first of them being that of the tags; one that reads the main register file a cycle later (§IV-D). Operands
/// are out one cycle after the dispatch. A write is seen by instructions offered from the next cycle on.
/// Source: Bailey et al., TCAD 2018, §III-A and §IV-D, the design with a register cache alone.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterCacheHierarchy {
    /// Banks, rows and lanes of the main register file.
    pub geometry: Geometry,
    /// Operand collectors of each group, 2 to 32.
    pub collectors: usize,
    /// Register access cycles of an instruction whose operands are in the cache, 3 to 8.
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// Sets of the cache, of two lines each; 1 to 64.
    pub sets: usize,
    /// Whether last reads end a copy (§III-A.2).
    pub liveness: bool,
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Instructions taken a cycle, each dispatched from a group of collectors; 1 or 2.
    pub issues: usize,
    /// Whether a scratchpad in parallel has ports here.
    pub parallel: bool,
    /// Whether rows of the main register file may be without power.
    #[serde(default)]
    pub gated: bool,
    /// Whether operands that the cache does not have are copied to it; not with a scratchpad in parallel.
    #[serde(default)]
    pub read_allocates: bool,
}

/// Ports of a [`RegisterCacheHierarchy`].
#[derive(Ports)]
#[params(RegisterCacheHierarchy)]
pub struct RegisterCacheHierarchyIo<'m> {
    /// Instructions and their register operands, in program order.
    #[repeat_plain(p.issues)]
    pub issue: Vec<HierarchyIssueIo<'m>>,
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
    /// The warp whose result it is.
    #[repeat_plain(p.issues)]
    #[bits(index_bits(p.warps))]
    pub result_warp_i: Vec<In<'m>>,
    /// Result of a long-latency operation.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub fill: RegisterWriteIo<'m>,
    /// The warp whose result it is.
    #[bits(index_bits(p.warps))]
    pub fill_warp_i: In<'m>,
    /// Warps that have ended: nothing of theirs is kept.
    #[bits(p.warps)]
    pub ended_i: In<'m>,
    /// Registers that are to leave the cache, those of the first instruction first.
    #[repeat(p.leaving())]
    #[with(p.cache())]
    pub leave: Vec<LeaveIo<'m>>,
    /// What a scratchpad in parallel transfers.
    #[repeat_plain(usize::from(p.parallel))]
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub transfer: Vec<RegisterWriteIo<'m>>,
    /// Rows of the main register file; no ports unless they may be without power.
    #[repeat_plain(usize::from(p.gated))]
    #[with(p.row_accesses())]
    pub rows: Vec<RowPowerIo<'m>>,
}

/// An instruction and its register operands.
#[derive(Ports)]
#[params(RegisterCacheHierarchy)]
pub struct HierarchyIssueIo<'m> {
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
    /// The warp; only where reads allocate.
    #[repeat_plain(usize::from(p.read_allocates))]
    #[bits(index_bits(p.warps))]
    pub warp_i: Vec<In<'m>>,
    /// Its register operands.
    #[repeat(SOURCES)]
    pub source: Vec<HierarchySourceIo<'m>>,
}

/// A register operand.
#[derive(Ports)]
#[params(RegisterCacheHierarchy)]
pub struct HierarchySourceIo<'m> {
    /// It is read in the cache or in the main register file.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// No executing lane reads the value again; also if it is read elsewhere, and not valid here.
    pub last_read_i: In<'m>,
    /// Some executing lanes are read from the main register file; of an instruction that is taken in this cycle.
    pub misses_o: Out<'m>,
}

/// The instruction of a tag stage on its way to a collector.
struct Checked<'m> {
    /// There is one.
    valid: Signal<'m>,
    /// Registers of its operands, and their lanes that are read from the main register file.
    sources: Vec<(Signal<'m>, Signal<'m>)>,
    /// The rows that it reads there are on; `None` if all always are.
    is_powered: Option<Signal<'m>>,
}

impl<'m> Checked<'m> {
    /// `signal`, if the rows that it reads are on.
    fn if_powered(&self, signal: Signal<'m>) -> Signal<'m> {
        self.is_powered.map_or(signal, |is_powered| signal & is_powered)
    }
}

/// A register to be written to the main register file.
struct Offer<'m> {
    valid: Signal<'m>,
    register: Signal<'m>,
    lanes: Signal<'m>,
    value: Signal<'m>,
}

/// The circuits inside.
struct Parts<'m> {
    cache: RegisterCacheIo<'m>,
    groups: Vec<OperandCollectorsIo<'m>>,
    mrf: MainRegisterFileIo<'m>,
}

/// The first writer of the main register file: registers that leave the cache.
const SPILL: usize = 0;
/// The second, if there is one: what a scratchpad transfers.
const TRANSFER: usize = 1;
/// Registers that an instruction may tell to leave: that of the operand that it copies to a scratchpad, that of its result.
pub(super) const LEAVING: usize = 2;

impl Circuit for RegisterCacheHierarchy {
    type Io<'m> = RegisterCacheHierarchyIo<'m>;
    const NAME: &'static str = "register_cache_hierarchy";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("sets", self.sets, 1..=64)?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("issues", self.issues, 1..=WAYS)?;
        Self::check(
            !(self.parallel && self.read_allocates),
            "read_allocates",
            self.read_allocates,
            "false, with a scratchpad in parallel",
        )
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterCacheHierarchyIo<'m>) {
        let cache = m.instance("cache", self.cache());
        let group = |group| m.instance(self.numbered("collectors", group), self.group(group > 0));
        let groups = (0..self.issues).map(group).collect();
        let mrf = m.instance("mrf", MainRegisterFile { geometry: self.geometry, writers: self.writers() });
        let parts = Parts { cache, groups, mrf };
        let checked = self.check_tags(m, io, &parts);
        self.dispatch(m, io, &parts);
        self.write(m, io, &parts);
        self.spill(m, io, &parts, &checked);
        self.transfer(m, io, &parts, &checked);
        if let Some(rows) = io.rows.first() {
            rows.follow_writes(m, &self.geometry, &parts.mrf.write);
        }
        for (leave, cache) in io.leave.iter().zip(&parts.cache.leave) {
            m.pass_through(leave, cache);
        }
        share_banks(&parts.mrf, &parts.groups);
        parts.cache.ended_i.set(io.ended_i);
    }
}

impl RegisterCacheHierarchy {
    /// Accesses that ask for rows.
    pub(super) fn row_accesses(&self) -> RowAccesses {
        RowAccesses { geometry: self.geometry, reads: self.issues * SOURCES, writes: self.writers() }
    }

    fn cache(&self) -> RegisterCache {
        RegisterCache {
            sets: self.sets,
            liveness: self.liveness,
            warps: self.warps,
            lanes: self.geometry.lanes,
            lanes_per_cluster: self.geometry.lanes_per_cluster,
            register_bits: self.geometry.register_bits(),
            collectors: self.collectors,
            issues: self.issues,
            leaving: self.leaving(),
            read_allocates: self.read_allocates,
        }
    }

    /// Registers that may be told to leave the cache in a cycle.
    fn leaving(&self) -> usize {
        if self.parallel { self.issues.saturating_mul(LEAVING) } else { 0 }
    }

    /// Writers of the main register file.
    fn writers(&self) -> usize {
        if self.parallel { TRANSFER + 1 } else { SPILL + 1 }
    }

    fn group(&self, shares_banks: bool) -> OperandCollectors {
        OperandCollectors {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles - 1,
            id_bits: self.id_bits,
            units: self.units,
            writers: self.writers(),
            shares_banks,
            holds: true,
        }
    }

    /// The name of a part of which there is one for each instruction a cycle.
    fn numbered(&self, name: &str, number: usize) -> String {
        numbered(name, self.issues, number)
    }

    /// The tag stages, one a group, which take instructions in turn.
    fn check_tags<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheHierarchyIo<'m>,
        parts: &Parts<'m>,
    ) -> Vec<Checked<'m>> {
        let stages: Vec<Checked<'m>> = (0..self.issues).map(|group| self.checked(m, io, group)).collect();
        let groups = stages.iter().zip(&parts.groups);
        let ready: Vec<_> =
            groups.map(|(stage, group)| !stage.valid | stage.if_powered(group.issue.ready_o)).collect();
        let offered: Vec<_> = io.issue.iter().map(|issue| issue.valid_i).collect();
        let dealt = take_turns(m, &offered, &ready);
        for (issue, ready) in io.issue.iter().zip(&dealt.ready) {
            issue.ready_o.set(*ready);
        }
        let mut missed = Vec::new();
        for (group, stage) in stages.iter().enumerate() {
            missed.push(self.tag_stage(m, io, parts, (group, stage), &dealt));
        }
        for (way, issue) in io.issue.iter().enumerate() {
            let choice = Choice::new(dealt.crossed, way);
            for (k, source) in issue.source.iter().enumerate() {
                source.misses_o.set(choice.of(|group| missed[group][k]));
            }
        }
        stages
    }

    fn checked<'m>(&self, m: &Module<'m>, io: &RegisterCacheHierarchyIo<'m>, group: usize) -> Checked<'m> {
        let name = self.numbered("checked", group);
        let valid = m.register(name.clone(), 1).reset(0);
        let sources: Vec<_> = (0..SOURCES)
            .map(|k| {
                let register = m.register(format!("{name}_register{k}"), self.geometry.register_bits());
                let lanes = m.register(format!("{name}_lanes{k}"), self.geometry.lanes);
                (register.no_reset(), lanes.no_reset())
            })
            .collect();
        let is_powered = io.rows.first().map(|rows| rows.are_on(m, &self.geometry, &sources));
        Checked { valid, sources, is_powered }
    }

    /// The tag stage of a group: looks operands up and holds the instruction until a collector takes it. Gives for each operand
    /// of an instruction that arrives whether it misses lanes.
    fn tag_stage<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheHierarchyIo<'m>,
        parts: &Parts<'m>,
        (group, stage): (usize, &Checked<'m>),
        dealt: &Dealt<'m>,
    ) -> Vec<Signal<'m>> {
        let choice = Choice::new(dealt.crossed, group);
        let issue = |of: fn(&HierarchyIssueIo<'m>) -> Signal<'m>| choice.of(|way| of(&io.issue[way]));
        let (lookup, collectors) = (&parts.cache.lookup[group], &parts.groups[group]);
        let check = choice.of(|way| dealt.taken[way]).named(self.numbered("check", group));
        let offered = stage.if_powered(stage.valid);
        let collected = (offered & collectors.issue.ready_o).named(self.numbered("collected", group));
        stage.valid.set(check | (stage.valid & !collected));
        let keep = |name: &str, value: Signal<'m>| {
            let name = format!("{}_{name}", self.numbered("checked", group));
            let register = m.register(name, value.width()).no_reset();
            m.when(check, || {
                register.set(value);
            });
            register
        };
        let active = issue(|issue| issue.active_i);
        lookup.valid_i.set(check);
        lookup.active_i.set(active);
        for warp in &lookup.warp_i {
            warp.set(issue(|issue| issue.warp_i[0]));
        }
        collectors.issue.valid_i.set(offered);
        collectors.issue.id_i.set(keep("id", issue(|issue| issue.id_i)));
        collectors.issue.unit_i.set(keep("unit", issue(|issue| issue.unit_i)));
        let mut missed = Vec::new();
        for (k, (lookup, collect)) in lookup.source.iter().zip(&collectors.issue.source).enumerate() {
            let of = |field: fn(&HierarchySourceIo<'m>) -> Signal<'m>| {
                choice.of(|way| field(&io.issue[way].source[k]))
            };
            let (valid, looked_up) = (of(|source| source.valid_i), of(|source| source.register_i));
            lookup.valid_i.set(valid);
            lookup.register_i.set(looked_up);
            lookup.last_read_i.set(of(|source| source.last_read_i));
            let missing = active & !lookup.lanes_o & valid.replicate(self.geometry.lanes);
            missed.push(check & missing.any());
            let (register, lanes) = stage.sources[k];
            if let Some(rows) = io.rows.first() {
                let asks = check.mux(missing.any(), stage.valid & lanes.any());
                rows.read[group * SOURCES + k].ask(
                    asks,
                    check.mux(looked_up, register),
                    check.mux(missing, lanes),
                );
            }
            m.when(check, || {
                register.set(looked_up);
                lanes.set(missing);
            });
            collect.valid_i.set(lanes.any());
            collect.register_i.set(register);
            collect.lanes_i.set(lanes);
        }
        parts.cache.waiting_i[group].set(stage.valid);
        parts.cache.collect[group].valid_i.set(collected);
        parts.cache.collect[group].index_i.set(collectors.issue.index_o);
        let misses = m.cat(stage.sources.iter().map(|(_, lanes)| lanes.any())).any();
        self.delay_misses(m, group, collected & misses, collectors);
        missed
    }

    /// An instruction that reads the main register file spends one access cycle more than its collector asks for.
    fn delay_misses<'m>(
        &self,
        m: &Module<'m>,
        group: usize,
        misses: Signal<'m>,
        collectors: &OperandCollectorsIo<'m>,
    ) {
        let mut stage = misses.replicate(self.collectors) & collectors.issue.index_o.decode(self.collectors);
        for age in 1..self.access_cycles - 1 {
            // Whatever it is at first: there is nothing in a collector that it would hold.
            let missed =
                m.register(format!("{}{age}", self.numbered("missed", group)), self.collectors).no_reset();
            missed.set(stage);
            stage = missed;
        }
        collectors.hold_i[0].set(stage);
    }

    /// Reads the cache for the instructions that leave their collectors, and joins both sources' lanes.
    fn dispatch<'m>(&self, m: &Module<'m>, io: &RegisterCacheHierarchyIo<'m>, parts: &Parts<'m>) {
        share_units(io.unit_ready_i, None, &parts.groups);
        for (group, collectors) in parts.groups.iter().enumerate() {
            let read = &parts.cache.dispatch[group];
            read.valid_i.set(collectors.dispatch.valid_o);
            read.index_i.set(collectors.dispatch_index_o);
            m.pass_through(&io.dispatch[group], &collectors.dispatch);

            let (valid, operands) = (collectors.operands.valid_o, &io.operands[group]);
            operands.valid_o.set(valid);
            operands.id_o.set(collectors.operands.id_o).valid_when(valid);
            for (k, operand) in operands.source_o.iter().enumerate() {
                let cached = &parts.cache.operand[group * SOURCES + k];
                let collected = collectors.operands.source_o[k];
                operand.set(cached.lanes_o.lane_mux(cached.value_o, collected)).valid_when(valid);
            }
            if let Some(copy) = parts.cache.copy.get(group) {
                copy.value_i
                    .set(copy.source_o.one_hot_select(m.cat(collectors.operands.source_o.iter().copied())));
            }
        }
    }

    /// Results to the cache, those of long-latency operations through its last port.
    fn write<'m>(&self, m: &Module<'m>, io: &RegisterCacheHierarchyIo<'m>, parts: &Parts<'m>) {
        let waited = m.register("fill_waited", 1).reset(0);
        let fill = &io.fill;
        for (port, (result, write)) in io.result.iter().zip(&parts.cache.write).enumerate() {
            let warp = &parts.cache.write_warp_i[port];
            if port + 1 < self.issues {
                m.pass_through(result, write);
                warp.set(io.result_warp_i[port]);
                continue;
            }
            let fills = (fill.valid_i & (waited | !result.valid_i)).named("fills");
            waited.set(fill.valid_i & !fills);
            write.valid_i.set(fills | result.valid_i);
            write.register_i.set(fills.mux(fill.register_i, result.register_i));
            write.lanes_i.set(fills.mux(fill.lanes_i, result.lanes_i));
            write.value_i.set(fills.mux(fill.value_i, result.value_i));
            warp.set(fills.mux(io.fill_warp_i, io.result_warp_i[port]));
            fill.ready_o.set(fills & write.ready_o);
            result.ready_o.set(!fills & write.ready_o);
        }
    }

    /// A register that leaves the cache.
    fn spill<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheHierarchyIo<'m>,
        parts: &Parts<'m>,
        checked: &[Checked<'m>],
    ) {
        let spill = &parts.cache.spill;
        let offer = Offer {
            valid: spill.valid_o,
            register: spill.register_o,
            lanes: spill.lanes_o,
            value: spill.value_o,
        };
        spill.ready_i.set(self.write_main(m, io, parts, checked, (SPILL, offer)));
    }

    /// What a scratchpad in parallel transfers.
    fn transfer<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheHierarchyIo<'m>,
        parts: &Parts<'m>,
        checked: &[Checked<'m>],
    ) {
        for transfer in &io.transfer {
            let offer = Offer {
                valid: transfer.valid_i,
                register: transfer.register_i,
                lanes: transfer.lanes_i,
                value: transfer.value_i,
            };
            transfer.ready_o.set(self.write_main(m, io, parts, checked, (TRANSFER, offer)));
        }
    }

    /// Writes what a writer of the main register file offers when its row is on and nobody has still to read the register
    /// there: no collector, nor an instruction in a tag stage that a later one of the other group may have passed. Whether it
    /// is taken.
    fn write_main<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheHierarchyIo<'m>,
        parts: &Parts<'m>,
        checked: &[Checked<'m>],
        (writer, offer): (usize, Offer<'m>),
    ) -> Signal<'m> {
        let Offer { valid, register, lanes, value } = offer;
        let port = &parts.mrf.write[writer];
        let collected = parts.groups.iter().fold(m.lit(1, 0), |blocked, group| {
            group.write[writer].register_i.set(register);
            blocked | group.write[writer].blocked_o
        });
        let passed = if self.issues > 1 { checked } else { &[] };
        let to_be_read = passed.iter().fold(collected, |blocked, stage| {
            let reads = stage.sources.iter().map(|&(source, lanes)| lanes.any() & source.eq(register));
            blocked | (stage.valid & m.cat(reads).any())
        });
        let blocked = io.rows.iter().fold(to_be_read, |blocked, rows| {
            rows.write[writer].ask(valid, register, lanes);
            blocked | !rows.is_on(m, &self.geometry, register)
        });
        port.valid_i.set(valid & !blocked);
        port.register_i.set(register);
        port.lanes_i.set(lanes);
        port.value_i.set(value);
        port.ready_o & !blocked
    }
}

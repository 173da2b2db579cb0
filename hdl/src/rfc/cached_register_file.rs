//! The register file with a register file cache in front.

use serde::{Deserialize, Serialize};

use super::cache_ports::{FlushIo, RegisterFileCacheIo};
use super::register_file_cache::{RegisterFileCache, Replacement};
use super::source_allocator::{OfferIo, SourceAllocator};
use crate::regfile::collector_groups::{Choice, Dealt, WAYS, numbered, share_banks, share_units, take_turns};
use crate::regfile::{
    DispatchIo, ExtraRead, ExtraReadIo, Geometry, MainRegisterFile, MainRegisterFileIo, OperandCollectors,
    OperandCollectorsIo, OperandsIo, RegisterWriteIo, RowAccesses, RowPowerIo, SOURCES, Widths, read_beside,
};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Register file with a register file cache: tags are checked first, then operands come from the cache, from the
/// main register file, or from both if lanes are divided between them.
///
/// Results of short operations go to the cache; results of long-latency operations, results of suspended warps and,
/// with `bypass_idle`, values not read before the next suspension go to the main register file and end the copy of
/// their lanes in the cache. A write to the main register file is taken when its bank's write port is free (spilled
/// registers first, then results, then fills) and no earlier instruction has still to read the register.
///
/// With `allocate_sources` an operand of which no lane was found in the cache gets an entry there too, unless this was
/// its last read. It is written in cycles in which no result uses the cache's one write port, and is dropped if it
/// cannot be written soon.
///
/// For two instructions a cycle there are two groups of operand collectors, as in the dual-issue register file, each with
/// a tag stage and three read ports of the cache, and two result ports. An instruction on the second issue port is
/// taken only together with the one on the first, which comes before it in program order. An instruction that waits in
/// a tag stage may be passed by those of the other group, so writes to the main register file wait for its reads as
/// they do for those in collectors. Operands enter the cache through the last result port.
///
/// With `gated` rows of the main register file may be without power. Which registers are accessed there is known once the tags
/// have been checked: an instruction stays in its tag stage until the rows of the operands that it has not found in the
/// cache are on, and a write waits for its row. All of them ask for their rows.
///
/// With `shared`, for one instruction a cycle, a register is that of any number of warps, and an instruction or a result may come
/// with a slot that another warp has by now. A result waits for the main register file only; the cache takes it too if it can,
/// and what other slots have of the register ends. So a copy in any slot is what the main register file has, which may be read
/// beside the operands of instructions (`extra_read`).
///
/// Timing: one cycle for the tags, then three access cycles, the last being that of the dispatch, in which the cache
/// is read; operands are out one cycle later. A write is seen by instructions offered from the next cycle on.
/// Source: Gebhart et al., ISCA 2011, §3.1, §3.3, §5.3, Fig. 3(b) and Fig. 5, for one instruction a cycle; two are ours, and so are
/// shared registers.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct CachedRegisterFile {
    /// Banks, rows and lanes of the main register file.
    pub geometry: Geometry,
    /// Operand collectors of each group, 2 to 32.
    pub collectors: usize,
    /// Register access cycles after the tag check, 3 to 8 (Fig. 3: 3).
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// Slots of the active set, 1 to 64.
    pub slots: usize,
    /// Entries of a slot, that is, of each of its threads; 1 to 16.
    pub entries: usize,
    /// Which entry makes room.
    pub replacement: Replacement,
    /// Whether operands get entries too (§3.1, "RFC Allocation").
    pub allocate_sources: bool,
    /// Whether last reads end a copy (static liveness, §3.1).
    pub liveness: bool,
    /// Whether values not read before the next suspension pass the cache by (§5.3).
    pub bypass_idle: bool,
    /// Whether values not read before the next suspension make room first (§5.3).
    pub evict_idle_first: bool,
    /// Instructions taken a cycle, each dispatched from a group of collectors; 1 or 2.
    pub issues: usize,
    /// Whether rows of the main register file may be without power.
    #[serde(default)]
    pub gated: bool,
    /// Whether registers are those of any number of warps.
    pub shared: bool,
    /// A read of the main register file beside those of operands, if registers are shared.
    pub extra_read: ExtraRead,
}

/// Ports of a [`CachedRegisterFile`].
#[derive(Ports)]
#[params(CachedRegisterFile)]
pub struct CachedRegisterFileIo<'m> {
    /// Instructions and their register operands, in program order.
    #[repeat_plain(p.issues)]
    pub issue: Vec<IssueIo<'m>>,
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
    /// The warp's slot.
    #[repeat_plain(p.issues)]
    #[bits(index_bits(p.slots))]
    pub result_slot_i: Vec<In<'m>>,
    /// The warp holds the slot; if not, the result passes the cache by.
    #[repeat_plain(p.issues)]
    pub result_cached_i: Vec<In<'m>>,
    /// The value is not read before the warp may next be suspended.
    #[repeat_plain(p.issues)]
    pub result_idle_i: Vec<In<'m>>,
    /// Result of a long-latency operation.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub fill: RegisterWriteIo<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub fill_slot_i: In<'m>,
    /// The warp holds the slot, or it is still being emptied.
    pub fill_slot_valid_i: In<'m>,
    /// A slot to be emptied.
    #[with(p.slots)]
    pub flush: FlushIo<'m>,
    /// Slots being emptied.
    #[bits(p.slots)]
    pub slot_busy_o: Out<'m>,
    /// Rows of the main register file; no ports unless they may be without power.
    #[repeat_plain(usize::from(p.gated))]
    #[with(RowAccesses { geometry: p.geometry, reads: p.issues * SOURCES, writes: p.writers() })]
    pub rows: Vec<RowPowerIo<'m>>,
    /// A register to be read beside operands; no ports unless there are such reads.
    #[repeat_plain(usize::from(p.extra_read != ExtraRead::None))]
    #[with(p.geometry)]
    pub extra_read: Vec<ExtraReadIo<'m>>,
}

/// An instruction and its register operands.
#[derive(Ports)]
#[params(CachedRegisterFile)]
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
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// Lanes that execute it.
    #[bits(p.geometry.lanes)]
    pub active_i: In<'m>,
    /// Its register operands.
    #[repeat(SOURCES)]
    pub source: Vec<SourceIo<'m>>,
}

/// A register operand.
#[derive(Ports)]
#[params(CachedRegisterFile)]
pub struct SourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// No executing lane reads the value again.
    pub last_read_i: In<'m>,
    /// The value is not read again before the warp may next be suspended.
    pub idle_i: In<'m>,
}

/// What a tag stage holds.
struct Held<'m> {
    /// Name of the stage.
    name: String,
    valid: Signal<'m>,
    id: Signal<'m>,
    unit: Signal<'m>,
    /// Register of each operand, and its lanes that are read from the main register file.
    missing: Vec<(Signal<'m>, Signal<'m>)>,
    /// The rows that it reads there are on; `None` if all always are.
    is_powered: Option<Signal<'m>>,
}

impl<'m> Held<'m> {
    /// `signal`, if the rows that it reads are on.
    fn if_powered(&self, signal: Signal<'m>) -> Signal<'m> {
        self.is_powered.map_or(signal, |is_powered| signal & is_powered)
    }
}

/// The tag stage of a group: the instruction whose tags have been checked, on its way to a collector.
struct Checked<'m> {
    /// Name of the stage.
    name: String,
    /// There is one.
    valid: Signal<'m>,
    /// Tags are checked in this cycle.
    check: Signal<'m>,
    /// The slot whose tags they are.
    slot: Signal<'m>,
    /// It gets its collector in this cycle.
    collected: Signal<'m>,
    sources: Vec<CheckedSource<'m>>,
}

/// An operand of a tag stage.
struct CheckedSource<'m> {
    /// The one whose tags are checked in this cycle.
    source: SourceIo<'m>,
    /// That one has lanes in the cache.
    found: Signal<'m>,
    /// The register that has been checked.
    register: Signal<'m>,
    /// Its lanes that are read from the main register file.
    lanes: Signal<'m>,
}

/// The circuits inside.
struct Parts<'m> {
    cache: RegisterFileCacheIo<'m>,
    groups: Vec<OperandCollectorsIo<'m>>,
    mrf: MainRegisterFileIo<'m>,
}

impl Circuit for CachedRegisterFile {
    type Io<'m> = CachedRegisterFileIo<'m>;
    const NAME: &'static str = "cached_register_file";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("slots", self.slots, 1..=64)?;
        Self::check_range("entries", self.entries, 1..=16)?;
        Self::check_range("issues", self.issues, 1..=WAYS)?;
        let (one, reads) = (self.issues == 1, self.extra_read != ExtraRead::None);
        <Self as Circuit>::check(!self.shared || one, "issues", self.issues, "1 with shared registers")?;
        <Self as Circuit>::check(self.shared || !reads, "shared", self.shared, "true with an extra read")
    }

    fn build<'m>(&self, m: &Module<'m>, io: &CachedRegisterFileIo<'m>) {
        let cache = m.instance("cache", self.cache());
        let group = |group| {
            let beside = group > 0 || !io.extra_read.is_empty();
            m.instance(self.numbered("collectors", group), self.group(beside))
        };
        let groups = (0..self.issues).map(group).collect();
        let mrf = m.instance("mrf", MainRegisterFile { geometry: self.geometry, writers: self.writers() });
        let parts = Parts { cache, groups, mrf };
        let checked = self.check_tags(m, io, &parts);
        self.dispatch(m, io, &parts);
        let mut offers = Vec::new();
        for (group, checked) in checked.iter().enumerate().filter(|_| self.allocate_sources) {
            offers.push(self.follow_sources(m, io, group, checked, &parts.groups[group]));
        }
        self.write(m, io, &parts, &checked, &offers);
        match self.extra_read {
            ExtraRead::None => share_banks(&parts.mrf, &parts.groups),
            extra => {
                let groups: Vec<_> = parts.groups.iter().collect();
                read_beside(m, (&self.geometry, extra), &io.extra_read, &groups, &parts.mrf);
            }
        }
        m.pass_through(&io.flush, &parts.cache.flush);
        io.slot_busy_o.set(parts.cache.slot_busy_o);
    }
}

impl CachedRegisterFile {
    fn cache(&self) -> RegisterFileCache {
        RegisterFileCache {
            slots: self.slots,
            entries: self.entries,
            replacement: self.replacement,
            liveness: self.liveness,
            evict_idle_first: self.evict_idle_first,
            lanes: self.geometry.lanes,
            lanes_per_cluster: self.geometry.lanes_per_cluster,
            register_bits: self.geometry.register_bits(),
            collectors: self.collectors,
            issues: self.issues,
            shared: self.shared,
        }
    }

    fn group(&self, shares_banks: bool) -> OperandCollectors {
        OperandCollectors {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles,
            id_bits: self.id_bits,
            units: self.units,
            writers: self.writers(),
            shares_banks,
            holds: false,
        }
    }

    /// Writers of the main register file, in the order in which they are served: registers that leave the cache, of which there are
    /// none if registers are shared, then results that pass it by or go to both, then results of long-latency operations.
    pub fn writers(&self) -> usize {
        self.first_result() + self.issues + 1
    }

    /// The writer of the first result.
    fn first_result(&self) -> usize {
        usize::from(!self.shared)
    }

    /// The name of a part of which there is one for each instruction a cycle.
    fn numbered(&self, name: &str, number: usize) -> String {
        numbered(name, self.issues, number)
    }

    /// The tag stages, one a group, which take instructions in turn.
    fn check_tags<'m>(
        &self,
        m: &Module<'m>,
        io: &CachedRegisterFileIo<'m>,
        parts: &Parts<'m>,
    ) -> Vec<Checked<'m>> {
        let held: Vec<Held<'m>> = (0..self.issues).map(|group| self.held(m, io, group)).collect();
        let stages = held.iter().zip(&parts.groups);
        let ready: Vec<_> =
            stages.map(|(held, group)| !held.valid | held.if_powered(group.issue.ready_o)).collect();
        let offered: Vec<_> = io.issue.iter().map(|issue| issue.valid_i).collect();
        let dealt = take_turns(m, &offered, &ready);
        for (issue, ready) in io.issue.iter().zip(&dealt.ready) {
            issue.ready_o.set(*ready);
        }
        let stages = held.iter().enumerate();
        stages.map(|(group, held)| self.check(m, io, parts, group, held, &dealt)).collect()
    }

    fn held<'m>(&self, m: &Module<'m>, io: &CachedRegisterFileIo<'m>, group: usize) -> Held<'m> {
        let name = self.numbered("checked", group);
        let valid = m.register(name.clone(), 1).reset(0);
        let missing: Vec<_> = (0..SOURCES)
            .map(|k| {
                let register = m.register(format!("{name}_register{k}"), self.geometry.register_bits());
                let lanes = m.register(format!("{name}_lanes{k}"), self.geometry.lanes);
                (register.no_reset(), lanes.no_reset())
            })
            .collect();
        let is_powered = io.rows.first().map(|rows| rows.are_on(m, &self.geometry, &missing));
        Held {
            valid,
            id: m.register(format!("{name}_id"), self.id_bits).no_reset(),
            unit: m.register(format!("{name}_unit"), index_bits(self.units)).no_reset(),
            missing,
            is_powered,
            name,
        }
    }

    /// The tag stage of a group: looks operands up and holds the instruction until a collector takes it.
    fn check<'m>(
        &self,
        m: &Module<'m>,
        io: &CachedRegisterFileIo<'m>,
        parts: &Parts<'m>,
        group: usize,
        held: &Held<'m>,
        dealt: &Dealt<'m>,
    ) -> Checked<'m> {
        let choice = Choice::new(dealt.crossed, group);
        let issue = |of: fn(&IssueIo<'m>) -> Signal<'m>| choice.of(|way| of(&io.issue[way]));
        let (cache, collectors) = (&parts.cache, &parts.groups[group]);
        let check = choice.of(|way| dealt.taken[way]).named(self.numbered("check", group));
        let offered = held.if_powered(held.valid);
        let collected = (offered & collectors.issue.ready_o).named(self.numbered("collected", group));
        held.valid.set(check | (held.valid & !collected));

        let lookup = &cache.lookup[group];
        let (slot, active) = (issue(|issue| issue.slot_i), issue(|issue| issue.active_i));
        lookup.valid_i.set(check);
        lookup.slot_i.set(slot);
        lookup.active_i.set(active);
        m.when(check, || {
            held.id.set(issue(|issue| issue.id_i));
            held.unit.set(issue(|issue| issue.unit_i));
        });
        collectors.issue.valid_i.set(offered);
        collectors.issue.id_i.set(held.id);
        collectors.issue.unit_i.set(held.unit);
        let mut sources = Vec::new();
        for (k, (lookup, collect)) in lookup.source.iter().zip(&collectors.issue.source).enumerate() {
            let of =
                |field: fn(&SourceIo<'m>) -> Signal<'m>| choice.of(|way| field(&io.issue[way].source[k]));
            let source = SourceIo {
                valid_i: of(|source| source.valid_i),
                register_i: of(|source| source.register_i),
                last_read_i: of(|source| source.last_read_i),
                idle_i: of(|source| source.idle_i),
            };
            lookup.valid_i.set(source.valid_i);
            lookup.register_i.set(source.register_i);
            lookup.last_read_i.set(source.last_read_i);
            lookup.idle_i.set(source.idle_i);
            let missing = active & !lookup.lanes_o & source.valid_i.replicate(self.geometry.lanes);
            let (register, lanes) = held.missing[k];
            if let Some(rows) = io.rows.first() {
                let valid = check.mux(missing.any(), held.valid & lanes.any());
                rows.read[group * SOURCES + k].ask(
                    valid,
                    check.mux(source.register_i, register),
                    check.mux(missing, lanes),
                );
            }
            m.when(check, || {
                register.set(source.register_i);
                lanes.set(missing);
            });
            collect.valid_i.set(lanes.any());
            collect.register_i.set(register);
            collect.lanes_i.set(lanes);
            sources.push(CheckedSource { source, register, lanes, found: lookup.lanes_o.any() });
        }
        cache.waiting_i[group].set(held.valid);
        cache.collect[group].valid_i.set(collected);
        cache.collect[group].index_i.set(collectors.issue.index_o);
        Checked { name: held.name.clone(), valid: held.valid, check, slot, collected, sources }
    }

    /// Offers operands of a group that are read from the main register file alone to the cache.
    fn follow_sources<'m>(
        &self,
        m: &Module<'m>,
        io: &CachedRegisterFileIo<'m>,
        group: usize,
        checked: &Checked<'m>,
        collectors: &OperandCollectorsIo<'m>,
    ) -> OfferIo<'m> {
        let allocator = m.instance(
            self.numbered("sources", group),
            SourceAllocator {
                slots: self.slots,
                lanes: self.geometry.lanes,
                register_bits: self.geometry.register_bits(),
                collectors: self.collectors,
                writers: self.issues + 1,
            },
        );
        let name = &checked.name;
        let writes = || io.result.iter().chain([&io.fill]);
        let slot = m.register(format!("{name}_slot"), index_bits(self.slots)).no_reset();
        let emptied = (io.flush.valid_i & io.flush.slot_i.eq(slot)).named(format!("{name}_slot_emptied"));
        m.when(checked.check, || {
            slot.set(checked.slot);
        });
        allocator.collect.valid_i.set(checked.collected);
        allocator.collect.index_i.set(collectors.issue.index_o);
        allocator.collect.slot_i.set(slot);
        for (k, CheckedSource { source, register, lanes, found }) in checked.sources.iter().enumerate() {
            let wanted = m.register(format!("{name}_wanted{k}"), 1).reset(0);
            let idle = m.register(format!("{name}_idle{k}"), 1).no_reset();
            let read_last = if self.liveness { source.last_read_i } else { m.lit(1, 0) };
            // A later instruction of the other group may write the register meanwhile.
            let stale = if self.issues > 1 {
                writes()
                    .fold(emptied, |stale, write| stale | (write.valid_i & write.register_i.eq(*register)))
            } else {
                emptied
            };
            m.when(stale, || {
                wanted.set(0);
            });
            m.when(checked.check, || {
                wanted.set(source.valid_i & !*found & !read_last);
                idle.set(source.idle_i);
            });
            let follow = &allocator.collect.source[k];
            follow.valid_i.set(wanted & lanes.any() & !stale);
            follow.register_i.set(*register);
            follow.lanes_i.set(*lanes);
            follow.idle_i.set(idle);
            allocator.operand_i[k].set(collectors.operands.source_o[k]);
        }
        allocator.dispatch.valid_i.set(collectors.dispatch.valid_o);
        allocator.dispatch.index_i.set(collectors.dispatch_index_o);
        for (written, write) in allocator.write.iter().zip(writes()) {
            written.valid_i.set(write.valid_i);
            written.register_i.set(write.register_i);
        }
        allocator.flush.valid_i.set(io.flush.valid_i);
        allocator.flush.slot_i.set(io.flush.slot_i);
        allocator.offer
    }

    /// Reads the cache for the instructions that leave their collectors, and joins both sources' lanes.
    fn dispatch<'m>(&self, m: &Module<'m>, io: &CachedRegisterFileIo<'m>, parts: &Parts<'m>) {
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
        }
    }

    /// Results to the cache or past it, fills and spilled registers to the main register file; operands to the cache
    /// through the last result port.
    fn write<'m>(
        &self,
        m: &Module<'m>,
        io: &CachedRegisterFileIo<'m>,
        parts: &Parts<'m>,
        checked: &[Checked<'m>],
        offers: &[OfferIo<'m>],
    ) {
        let Parts { cache, mrf, .. } = parts;
        let cached: Vec<Signal<'m>> = io
            .result_cached_i
            .iter()
            .zip(&io.result_idle_i)
            .map(|(cached, idle)| if self.bypass_idle { *cached & !*idle } else { *cached })
            .collect();
        let offer = |writer: usize, valid: Signal<'m>, [register, lanes, value]: [Signal<'m>; 3]| {
            let to_be_read = self.is_to_be_read(m, parts, checked, writer, register);
            let blocked = io.rows.iter().fold(to_be_read, |blocked, rows| {
                rows.write[writer].ask(valid, register, lanes);
                blocked | !rows.is_on(m, &self.geometry, register)
            });
            let port = &mrf.write[writer];
            port.valid_i.set(valid & !blocked);
            port.register_i.set(register);
            port.lanes_i.set(lanes);
            port.value_i.set(value);
            port.ready_o & !blocked
        };
        for (writer, spill) in cache.spill.iter().enumerate() {
            let values = [spill.register_o, spill.lanes_o, spill.value_o];
            spill.ready_i.set(offer(writer, spill.valid_o, values));
        }
        let past: Vec<_> = io
            .result
            .iter()
            .zip(&cached)
            .enumerate()
            .map(|(port, (result, cached))| {
                let past = if self.shared { result.valid_i } else { result.valid_i & !*cached };
                let values = [result.register_i, result.lanes_i, result.value_i];
                (past, offer(self.first_result() + port, past, values))
            })
            .collect();
        let fill = &io.fill;
        let last = self.writers() - 1;
        fill.ready_o.set(offer(last, fill.valid_i, [fill.register_i, fill.lanes_i, fill.value_i]));
        if let Some(rows) = io.rows.first() {
            rows.follow_writes(m, &self.geometry, &mrf.write);
        }

        for (port, result) in io.result.iter().enumerate() {
            let ready = past[port].1;
            let offered = result.valid_i & cached[port];
            let to_cache = if self.shared { offered & ready } else { offered };
            let own = Entering {
                slot: io.result_slot_i[port],
                register: result.register_i,
                lanes: result.lanes_i,
                idle: io.result_idle_i[port],
                value: result.value_i,
            };
            let port_of_cache = &cache.result[port];
            let (offered, entering) = if port + 1 == self.issues {
                let (offered, operand) = take_offer(m, offers, !to_cache & port_of_cache.ready_o);
                cache.result_clean_i.set(!to_cache & offered);
                (to_cache | offered, operand.map_or(own, |operand| own.or(to_cache, operand)))
            } else {
                (to_cache, own)
            };
            port_of_cache.valid_i.set(offered);
            cache.result_slot_i[port].set(entering.slot);
            port_of_cache.register_i.set(entering.register);
            port_of_cache.lanes_i.set(entering.lanes);
            port_of_cache.value_i.set(entering.value);
            cache.result_idle_i[port].set(entering.idle);
            if self.shared {
                // What the cache does not take is in the main register file.
                result.ready_o.set(ready);
                if offers.is_empty() {
                    port_of_cache.ready_o.ignore();
                }
            } else {
                result.ready_o.set(cached[port].mux(port_of_cache.ready_o, ready));
            }
        }

        let [ends @ .., end_of_fill] = &cache.invalidate[..] else { return };
        for (port, (end, (past, ready))) in ends.iter().zip(past).enumerate() {
            end.valid_i.set(past & ready);
            end.slot_i.set(io.result_slot_i[port]);
            end.register_i.set(io.result[port].register_i);
            end.lanes_i.set(io.result[port].lanes_i);
        }
        let filled = fill.valid_i & fill.ready_o;
        end_of_fill.valid_i.set(if self.shared { filled } else { filled & io.fill_slot_valid_i });
        end_of_fill.slot_i.set(io.fill_slot_i);
        end_of_fill.register_i.set(fill.register_i);
        end_of_fill.lanes_i.set(fill.lanes_i);
    }

    /// Whether the register that a writer is about to write has still to be read from the main register file: in a
    /// collector, or by an instruction in a tag stage that a later one of the other group may have passed.
    fn is_to_be_read<'m>(
        &self,
        m: &Module<'m>,
        parts: &Parts<'m>,
        checked: &[Checked<'m>],
        writer: usize,
        register: Signal<'m>,
    ) -> Signal<'m> {
        let pending = |group: &OperandCollectorsIo<'m>| {
            group.write[writer].register_i.set(register);
            group.write[writer].blocked_o
        };
        let collected = parts.groups.iter().map(pending).reduce(|a, b| a | b);
        let blocked = collected.unwrap_or_else(|| m.lit(1, 0));
        if self.issues == 1 {
            return blocked;
        }
        checked.iter().fold(blocked, |blocked, stage| {
            let reads = stage.sources.iter().map(|source| source.lanes.any() & source.register.eq(register));
            blocked | (stage.valid & m.cat(reads).any())
        })
    }
}

/// A value that enters the cache.
#[derive(Clone, Copy)]
struct Entering<'m> {
    slot: Signal<'m>,
    register: Signal<'m>,
    lanes: Signal<'m>,
    idle: Signal<'m>,
    value: Signal<'m>,
}

impl<'m> Entering<'m> {
    /// This one if `chosen`, else `other`.
    fn or(self, chosen: Signal<'m>, other: Entering<'m>) -> Entering<'m> {
        Entering {
            slot: chosen.mux(self.slot, other.slot),
            register: chosen.mux(self.register, other.register),
            lanes: chosen.mux(self.lanes, other.lanes),
            idle: chosen.mux(self.idle, other.idle),
            value: chosen.mux(self.value, other.value),
        }
    }
}

/// The operand of the first offer, if any is there; takes it if it can be `taken`.
fn take_offer<'m>(
    m: &Module<'m>,
    offers: &[OfferIo<'m>],
    taken: Signal<'m>,
) -> (Signal<'m>, Option<Entering<'m>>) {
    let Some((first, others)) = offers.split_first() else { return (m.lit(1, 0), None) };
    first.ready_i.set(taken);
    let operand = Entering {
        slot: first.slot_o,
        register: first.register_o,
        lanes: first.lanes_o,
        idle: first.idle_o,
        value: first.value_o,
    };
    match take_offer(m, others, taken & !first.valid_o) {
        (_, None) => (first.valid_o, Some(operand)),
        (offered, Some(other)) => (first.valid_o | offered, Some(operand.or(first.valid_o, other))),
    }
}

//! The register file with a register file cache in front.

use serde::{Deserialize, Serialize};

use super::cache_ports::{FlushIo, RegisterFileCacheIo};
use super::register_file_cache::{RegisterFileCache, Replacement};
use super::source_allocator::{OfferIo, SourceAllocator};
use crate::regfile::{
    DispatchIo, Geometry, MainRegisterFile, MainRegisterFileIo, OperandCollectors, OperandCollectorsIo,
    OperandsIo, RegisterWriteIo, SOURCES, Widths,
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
/// Timing: one cycle for the tags, then three access cycles, the last being that of the dispatch, in which the cache
/// is read; operands are out one cycle later. A write is seen by instructions offered from the next cycle on.
/// Source: Gebhart et al., ISCA 2011, §3.1, §3.3, §5.3, Fig. 3(b) and Fig. 5.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct CachedRegisterFile {
    /// Banks, rows and lanes of the main register file.
    pub geometry: Geometry,
    /// Operand collectors, 2 to 32.
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
}

/// Ports of a [`CachedRegisterFile`].
#[derive(Ports)]
#[params(CachedRegisterFile)]
pub struct CachedRegisterFileIo<'m> {
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
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub result_slot_i: In<'m>,
    /// The warp holds the slot; if not, the result passes the cache by.
    pub result_cached_i: In<'m>,
    /// The value is not read before the warp may next be suspended.
    pub result_idle_i: In<'m>,
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

/// The instruction whose tags have been checked, on its way to a collector.
struct Checked<'m> {
    /// Tags are checked in this cycle.
    check: Signal<'m>,
    /// It gets its collector in this cycle.
    collected: Signal<'m>,
    /// What it reads from the main register file.
    sources: Vec<Missing<'m>>,
    /// Whether the operands whose tags are checked in this cycle have lanes in the cache.
    found: Vec<Signal<'m>>,
}

/// An operand as far as it is read from the main register file.
struct Missing<'m> {
    register: Signal<'m>,
    lanes: Signal<'m>,
}

/// Writers of the main register file, in the order in which they are served.
const WRITERS: usize = 3;
/// Registers that leave the cache.
const SPILL: usize = 0;
/// Results that pass the cache by.
const RESULT: usize = 1;
/// Results of long-latency operations.
const FILL: usize = 2;

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
        Self::check_range("entries", self.entries, 1..=16)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &CachedRegisterFileIo<'m>) {
        let cache = m.instance("cache", self.cache());
        let collectors = m.instance("collectors", self.collectors());
        let mrf = m.instance("mrf", MainRegisterFile { geometry: self.geometry, writers: WRITERS });
        let checked = self.check_tags(m, io, &cache, &collectors);
        self.dispatch(io, &cache, &collectors);
        let offer = self.allocate_sources.then(|| self.follow_sources(m, io, &checked, &collectors));
        self.write(m, io, &cache, &collectors, &mrf, offer);
        for (bank, read) in mrf.read.iter().zip(&collectors.read) {
            bank.valid_i.set(read.valid_o);
            bank.row_i.set(read.row_o);
            bank.lanes_i.set(read.lanes_o);
            read.value_i.set(bank.value_o);
        }
        cache.flush.valid_i.set(io.flush.valid_i);
        cache.flush.slot_i.set(io.flush.slot_i);
        cache.flush.discard_i.set(io.flush.discard_i);
        io.slot_busy_o.set(cache.slot_busy_o);
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
        }
    }

    fn collectors(&self) -> OperandCollectors {
        OperandCollectors {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles,
            id_bits: self.id_bits,
            units: self.units,
            writers: WRITERS,
            shares_banks: false,
            holds: false,
        }
    }

    /// The tag stage: looks the operands up and holds the instruction until a collector takes it.
    fn check_tags<'m>(
        &self,
        m: &Module<'m>,
        io: &CachedRegisterFileIo<'m>,
        cache: &RegisterFileCacheIo<'m>,
        collectors: &OperandCollectorsIo<'m>,
    ) -> Checked<'m> {
        let mut sources = Vec::new();
        let checked = m.register("checked", 1).reset(0);
        let id = m.register("checked_id", self.id_bits).no_reset();
        let unit = m.register("checked_unit", index_bits(self.units)).no_reset();
        io.issue.ready_o.set(!checked | collectors.issue.ready_o);
        let check = (io.issue.valid_i & io.issue.ready_o).named("check");
        checked.set(check | (checked & !collectors.issue.ready_o));

        cache.lookup.valid_i.set(check);
        cache.lookup.slot_i.set(io.issue.slot_i);
        cache.lookup.active_i.set(io.issue.active_i);
        m.when(check, || {
            id.set(io.issue.id_i);
            unit.set(io.issue.unit_i);
        });
        collectors.issue.valid_i.set(checked);
        collectors.issue.id_i.set(id);
        collectors.issue.unit_i.set(unit);
        for (k, source) in io.issue.source.iter().enumerate() {
            let (lookup, collect) = (&cache.lookup.source[k], &collectors.issue.source[k]);
            lookup.valid_i.set(source.valid_i);
            lookup.register_i.set(source.register_i);
            lookup.last_read_i.set(source.last_read_i);
            lookup.idle_i.set(source.idle_i);
            let missing = io.issue.active_i & !lookup.lanes_o & source.valid_i.replicate(self.geometry.lanes);
            let register =
                m.register(format!("checked_register{k}"), self.geometry.register_bits()).no_reset();
            let lanes = m.register(format!("checked_lanes{k}"), self.geometry.lanes).no_reset();
            m.when(check, || {
                register.set(source.register_i);
                lanes.set(missing);
            });
            collect.valid_i.set(lanes.any());
            collect.register_i.set(register);
            collect.lanes_i.set(lanes);
            sources.push(Missing { register, lanes });
        }
        let collected = (checked & collectors.issue.ready_o).named("collected");
        cache.waiting_i.set(checked);
        cache.collect.valid_i.set(collected);
        cache.collect.index_i.set(collectors.issue.index_o);
        let found = cache.lookup.source.iter().map(|lookup| lookup.lanes_o.any()).collect();
        Checked { check, collected, sources, found }
    }

    /// Offers operands that are read from the main register file alone to the cache.
    fn follow_sources<'m>(
        &self,
        m: &Module<'m>,
        io: &CachedRegisterFileIo<'m>,
        checked: &Checked<'m>,
        collectors: &OperandCollectorsIo<'m>,
    ) -> OfferIo<'m> {
        let allocator = m.instance(
            "sources",
            SourceAllocator {
                slots: self.slots,
                lanes: self.geometry.lanes,
                register_bits: self.geometry.register_bits(),
                collectors: self.collectors,
            },
        );
        let slot = m.register("checked_slot", index_bits(self.slots)).no_reset();
        let emptied = (io.flush.valid_i & io.flush.slot_i.eq(slot)).named("checked_slot_emptied");
        m.when(checked.check, || {
            slot.set(io.issue.slot_i);
        });
        allocator.collect.valid_i.set(checked.collected);
        allocator.collect.index_i.set(collectors.issue.index_o);
        allocator.collect.slot_i.set(slot);
        for (k, source) in io.issue.source.iter().enumerate() {
            let wanted = m.register(format!("checked_wanted{k}"), 1).reset(0);
            let idle = m.register(format!("checked_idle{k}"), 1).no_reset();
            let read_last = if self.liveness { source.last_read_i } else { m.lit(1, 0) };
            m.when(emptied, || {
                wanted.set(0);
            });
            m.when(checked.check, || {
                wanted.set(source.valid_i & !checked.found[k] & !read_last);
                idle.set(source.idle_i);
            });
            let (follow, missing) = (&allocator.collect.source[k], &checked.sources[k]);
            follow.valid_i.set(wanted & missing.lanes.any() & !emptied);
            follow.register_i.set(missing.register);
            follow.lanes_i.set(missing.lanes);
            follow.idle_i.set(idle);
            allocator.operand_i[k].set(collectors.operands.source_o[k]);
        }
        allocator.dispatch.valid_i.set(collectors.dispatch.valid_o);
        allocator.dispatch.index_i.set(collectors.dispatch_index_o);
        let writes = [(io.result.valid_i, io.result.register_i), (io.fill.valid_i, io.fill.register_i)];
        for (written, (valid, register)) in allocator.write.iter().zip(writes) {
            written.valid_i.set(valid);
            written.register_i.set(register);
        }
        allocator.flush.valid_i.set(io.flush.valid_i);
        allocator.flush.slot_i.set(io.flush.slot_i);
        allocator.offer
    }

    /// Reads the cache for the instruction that leaves its collector, and joins both sources' lanes.
    fn dispatch<'m>(
        &self,
        io: &CachedRegisterFileIo<'m>,
        cache: &RegisterFileCacheIo<'m>,
        collectors: &OperandCollectorsIo<'m>,
    ) {
        let dispatch = &collectors.dispatch;
        collectors.unit_ready_i.set(io.unit_ready_i);
        cache.dispatch.valid_i.set(dispatch.valid_o);
        cache.dispatch.index_i.set(collectors.dispatch_index_o);
        io.dispatch.valid_o.set(dispatch.valid_o);
        io.dispatch.id_o.set(dispatch.id_o).valid_when(io.dispatch.valid_o);
        io.dispatch.unit_o.set(dispatch.unit_o).valid_when(io.dispatch.valid_o);

        let valid = collectors.operands.valid_o;
        io.operands.valid_o.set(valid);
        io.operands.id_o.set(collectors.operands.id_o).valid_when(valid);
        for (k, operand) in io.operands.source_o.iter().enumerate() {
            let (cached, collected) = (&cache.operand[k], collectors.operands.source_o[k]);
            operand.set(cached.lanes_o.lane_mux(cached.value_o, collected)).valid_when(valid);
        }
    }

    /// Results to the cache or past it, fills and spilled registers to the main register file.
    fn write<'m>(
        &self,
        m: &Module<'m>,
        io: &CachedRegisterFileIo<'m>,
        cache: &RegisterFileCacheIo<'m>,
        collectors: &OperandCollectorsIo<'m>,
        mrf: &MainRegisterFileIo<'m>,
        offer_of_source: Option<OfferIo<'m>>,
    ) {
        let result = &io.result;
        let cached =
            if self.bypass_idle { io.result_cached_i & !io.result_idle_i } else { io.result_cached_i };
        let offer = |writer: usize, valid: Signal<'m>, [register, lanes, value]: [Signal<'m>; 3]| {
            let (pending, port) = (&collectors.write[writer], &mrf.write[writer]);
            pending.register_i.set(register);
            port.valid_i.set(valid & !pending.blocked_o);
            port.register_i.set(register);
            port.lanes_i.set(lanes);
            port.value_i.set(value);
            port.ready_o & !pending.blocked_o
        };
        let spill = &cache.spill;
        spill.ready_i.set(offer(SPILL, spill.valid_o, [spill.register_o, spill.lanes_o, spill.value_o]));
        let past = result.valid_i & !cached;
        let past_ready = offer(RESULT, past, [result.register_i, result.lanes_i, result.value_i]);
        let fill = &io.fill;
        fill.ready_o.set(offer(FILL, fill.valid_i, [fill.register_i, fill.lanes_i, fill.value_i]));

        let to_cache = result.valid_i & cached;
        let none = m.lit(1, 0);
        let (offered, slot, register, lanes, idle, value) = match &offer_of_source {
            Some(offer) => {
                offer.ready_i.set(!to_cache & cache.result.ready_o);
                (
                    offer.valid_o,
                    to_cache.mux(io.result_slot_i, offer.slot_o),
                    to_cache.mux(result.register_i, offer.register_o),
                    to_cache.mux(result.lanes_i, offer.lanes_o),
                    to_cache.mux(io.result_idle_i, offer.idle_o),
                    to_cache.mux(result.value_i, offer.value_o),
                )
            }
            None => {
                (none, io.result_slot_i, result.register_i, result.lanes_i, io.result_idle_i, result.value_i)
            }
        };
        cache.result.valid_i.set(to_cache | offered);
        cache.result_slot_i.set(slot);
        cache.result.register_i.set(register);
        cache.result.lanes_i.set(lanes);
        cache.result.value_i.set(value);
        cache.result_idle_i.set(idle);
        cache.result_clean_i.set(!to_cache & offered);
        result.ready_o.set(cached.mux(cache.result.ready_o, past_ready));

        let [first, second] = [&cache.invalidate[0], &cache.invalidate[1]];
        first.valid_i.set(past & past_ready);
        first.slot_i.set(io.result_slot_i);
        first.register_i.set(result.register_i);
        first.lanes_i.set(result.lanes_i);
        second.valid_i.set(fill.valid_i & fill.ready_o & io.fill_slot_valid_i);
        second.slot_i.set(io.fill_slot_i);
        second.register_i.set(fill.register_i);
        second.lanes_i.set(fill.lanes_i);
    }
}

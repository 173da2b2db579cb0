//! A shard of RegLess: what stands between one scheduler and its execution units.

use serde::{Deserialize, Serialize};

use super::access_distributor::{AccessDistributor, AccessDistributorIo};
use super::capacity_manager::CapacityManager;
use super::compressor::{Compressor, CompressorIo};
use super::geometry::{ISSUES, RESULT_BITS, SOURCE_BITS, ShardGeometry};
use super::manager_ports::CapacityManagerIo;
use super::memory_ports::{RequestKind, RequestOutIo};
use super::operand_staging_unit::OperandStagingUnit;
use super::register_read_unit::{RegisterReadUnit, RegisterReadUnitIo};
use super::shard_ports::{RegLessShardIo, ShardSmIo};
use super::unit_ports::OperandStagingUnitIo;
use crate::rtl::{Circuit, Documented, Module, ParameterError, Signal, index_bits};

/// RegLess shard: capacity manager, operand staging unit and a register read unit for each execution unit, in the
/// place of a register file; and, if it is wanted, a compressor between the staging unit and memory.
///
/// Metadata of a warp's next region comes from decode. When the region is staged the warp is active and may issue, up
/// to `issues` instructions a cycle. Their operands go to their execution units, their results come back to the lines
/// reserved for them. What does not stay in the banks goes to memory, and comes back from there, line by line.
///
/// Timing: an instruction taken in cycle c is dispatched in c + 2 at the earliest; its operands are out in the cycle
/// after its dispatch. `docs/regless-pipeline.md` has the contract.
/// Source: Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017, §5.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegLessShard {
    /// Warps, banks, lines and lanes.
    pub geometry: ShardGeometry,
    /// Words of metadata kept for a warp, a power of two from 2 to 64.
    pub metadata_words: usize,
    /// Accesses that can wait at each bank, 2 to 16.
    pub queue: usize,
    /// Execution units, 1 to 8.
    pub units: usize,
    /// Instructions a read unit holds, a power of two from 2 to 16.
    pub entries: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Ports for results, 1 to 8.
    pub writes: usize,
    /// Compressed lines held, 1 to 64; 0 leaves the compressor out.
    pub compressor_lines: usize,
    /// Requests for compressed registers that can wait, 1 to 64.
    pub compressor_queue: usize,
    /// Instructions taken a cycle, 1 or 2.
    pub issues: usize,
    /// Lines of the banks may be without power.
    pub gated: bool,
}

/// A shard's parts.
struct Parts<'m> {
    manager: CapacityManagerIo<'m>,
    distributor: AccessDistributorIo<'m>,
    staging: OperandStagingUnitIo<'m>,
    units: Vec<RegisterReadUnitIo<'m>>,
}

impl Circuit for RegLessShard {
    type Io<'m> = RegLessShardIo<'m>;
    const NAME: &'static str = "regless_shard";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("metadata_words", self.metadata_words, 2..=64)?;
        let words = self.metadata_words;
        Self::check(words.is_power_of_two(), "metadata_words", words, "a power of two")?;
        Self::check_range("queue", self.queue, 2..=16)?;
        Self::check_range("units", self.units, 1..=8)?;
        Self::check_range("entries", self.entries, 2..=16)?;
        Self::check(self.entries.is_power_of_two(), "entries", self.entries, "a power of two")?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("writes", self.writes, 1..=8)?;
        Self::check_range("compressor_lines", self.compressor_lines, 0..=64)?;
        Self::check_range("compressor_queue", self.compressor_queue, 1..=64)?;
        Self::check_range("issues", self.issues, 1..=ISSUES)?;
        let lanes = self.geometry.lanes;
        let can_compress = self.compressor_lines == 0 || (lanes >= 4 && lanes.is_multiple_of(2));
        Self::check(can_compress, "geometry.lanes", lanes, "an even number from 4 on, with a compressor")
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegLessShardIo<'m>) {
        let parts = self.parts(m);
        let sm = &io.sm;
        self.manage(m, sm, &parts);
        self.issue(m, sm, &parts);
        for (push, bank) in parts.distributor.push.iter().zip(&parts.staging.bank) {
            m.connect(&bank.push, push);
        }
        self.count(m, &parts, sm);
        for (u, unit) in parts.units.iter().enumerate() {
            self.assemble(m, sm, &parts, u, unit);
        }
        self.take_results(sm, &parts);
        let staging = &parts.staging;
        m.pass_through(&sm.exit, &staging.exit);
        m.pass_through(&sm.power, &staging.power);
        parts.manager.fill.valid_i.set(staging.memory_fill.valid_i);
        parts.manager.fill.warp_i.set(staging.memory_fill.warp_i);
        match self.compressor() {
            Some(compressor) => compress(m, io, staging, &m.instance("compressor", compressor)),
            None => reach_memory(m, io, staging),
        }
    }
}

impl RegLessShard {
    /// The compressor, if there is one.
    fn compressor(&self) -> Option<Compressor> {
        let &RegLessShard { geometry, compressor_lines: lines, compressor_queue: queue, .. } = self;
        let ShardGeometry { warps, register_bits, lines: osu_lines, lanes, .. } = geometry;
        (lines > 0).then_some(Compressor { warps, register_bits, osu_lines, lanes, lines, queue })
    }

    /// Which accesses go where.
    fn distributor(&self) -> AccessDistributor {
        let &RegLessShard { geometry, units, entries, writes, issues, .. } = self;
        AccessDistributor { geometry, units, entries, writes, issues }
    }

    /// The read unit of each execution unit.
    pub(super) fn read_unit(&self) -> RegisterReadUnit {
        let &RegLessShard { geometry, entries, id_bits, issues, .. } = self;
        RegisterReadUnit { geometry, entries, id_bits, issues }
    }

    fn parts<'m>(&self, m: &Module<'m>) -> Parts<'m> {
        let &RegLessShard { geometry, metadata_words, queue, writes, issues, gated, .. } = self;
        let place_bits = self.distributor().place_bits();
        let unit = |u| m.instance(format!("unit{u}"), self.read_unit());
        Parts {
            manager: m
                .instance("manager", CapacityManager { geometry, metadata_words, queue, writes, issues }),
            distributor: m.instance("distributor", self.distributor()),
            staging: m.instance("staging", OperandStagingUnit { geometry, queue, place_bits, writes, gated }),
            units: (0..self.units).map(unit).collect(),
        }
    }

    /// Decode and the scheduler meet the capacity manager.
    fn manage<'m>(&self, m: &Module<'m>, io: &ShardSmIo<'m>, parts: &Parts<'m>) {
        m.pass_through(&io.metadata, &parts.manager.metadata);
        parts.manager.waiting_i.set(io.waiting_i);
        io.active_o.set(parts.manager.active_o);
        io.inactive_o.set(parts.manager.inactive_o);
    }

    /// Instructions go to the distributor and to the read units.
    fn issue<'m>(&self, m: &Module<'m>, io: &ShardSmIo<'m>, parts: &Parts<'m>) {
        let (distributor, units) = (&parts.distributor, &parts.units);
        distributor.room_i.set(m.cat(units.iter().map(|unit| unit.room_o)));
        for (way, room_for_two) in distributor.room_for_two_i.iter().enumerate() {
            room_for_two.set(m.cat(units.iter().map(|unit| unit.room_for_two_o[way])));
        }
        distributor.next_i.set(m.cat(units.iter().map(|unit| unit.next_o)));
        for (i, issue) in io.issue.iter().enumerate() {
            let inner = &distributor.issue[i];
            issue.ready_o.set(inner.ready_o);
            inner.valid_i.set(issue.valid_i);
            inner.unit_i.set(issue.unit_i);
            inner.warp_i.set(issue.warp_i);
            inner.lanes_i.set(issue.lanes_i);
            m.pass_through(&issue.source, &inner.source);
            m.pass_through(&issue.result, &inner.result);
            let taken = (issue.valid_i & issue.ready_o).named(format!("taken{i}"));
            for (u, unit) in units.iter().enumerate() {
                let enter = &unit.enter[i];
                enter.valid_i.set(taken & issue.unit_i.eq(u));
                enter.id_i.set(issue.id_i);
                enter.lanes_i.set(issue.lanes_i);
                enter.sources_i.set(m.cat(issue.source.iter().map(|source| source.valid_i)));
                enter.results_i.set(m.cat(issue.result.iter().map(|result| result.valid_i)));
            }
            let counted = &parts.manager.issue[i];
            counted.taken_i.set(taken);
            counted.warp_i.set(issue.warp_i);
            counted.last_i.set(issue.last_i);
            counted.accesses_i.set(inner.accesses_o);
            counted.writes_i.set(inner.writes_o);
            let active = parts.manager.active_o.lane_select(issue.warp_i, 1);
            m.invariant(format!("instruction{i}_is_of_an_active_warp"), issue.valid_i.implies(active));
        }
    }

    /// The banks tell the capacity manager what they do, and the world what is counted.
    fn count<'m>(&self, m: &Module<'m>, parts: &Parts<'m>, io: &ShardSmIo<'m>) {
        for (bank, managed) in parts.staging.bank.iter().zip(&parts.manager.bank) {
            m.connect(&bank.note, &managed.note);
            m.connect(&bank.held, &managed.held);
            managed.staged.done_i.set(bank.staged.done_o);
            managed.staged.warp_i.set(bank.staged.warp_o);
            managed.served.valid_i.set(bank.served.valid_o);
            managed.served.warp_i.set(bank.served.warp_o);
            bank.may_hold_i.set(managed.may_hold_o);
        }
        let banks = &parts.staging.bank;
        io.preload_hit_o.set(m.cat(banks.iter().map(|bank| bank.staged.hit_o)));
        io.preload_unwritten_o.set(m.cat(banks.iter().map(|bank| bank.staged.unwritten_o)));
        io.preload_fetched_o.set(m.cat(banks.iter().map(|bank| bank.staged.fetched_o)));
        io.tag_access_o.set(m.cat(banks.iter().map(|bank| bank.tags_used_o)));
    }

    /// Lines and values go from the banks to the read unit `u`, and from there to its execution unit.
    fn assemble<'m>(
        &self,
        m: &Module<'m>,
        io: &ShardSmIo<'m>,
        parts: &Parts<'m>,
        u: usize,
        unit: &RegisterReadUnitIo<'m>,
    ) {
        let entry_bits = index_bits(self.entries);
        let source = |place: Signal<'m>| place.low(SOURCE_BITS);
        let result = |place: Signal<'m>| place.slice(SOURCE_BITS, RESULT_BITS);
        let entry = |place: Signal<'m>| place.slice(SOURCE_BITS + RESULT_BITS, entry_bits);
        let is_here = |place: Signal<'m>| place.high(index_bits(self.units)).eq(u);
        for (b, bank) in parts.staging.bank.iter().enumerate() {
            let (served, value) = (&unit.served[b], &unit.value[b]);
            served.valid_i.set(bank.served.valid_o & is_here(bank.served.place_o));
            served.entry_i.set(entry(bank.served.place_o));
            served.reads_i.set(bank.served.reads_o);
            served.source_i.set(source(bank.served.place_o));
            served.reserves_i.set(bank.served.reserves_o);
            served.result_i.set(result(bank.served.place_o));
            served.line_i.set(bank.served.line_o);
            value.valid_i.set(bank.value.valid_o & is_here(bank.value.place_o));
            value.entry_i.set(entry(bank.value.place_o));
            value.source_i.set(source(bank.value.place_o));
            value.value_i.set(bank.value.value_o);
        }
        m.pass_through(&io.unit[u], &unit.unit);
    }

    /// Results go to the banks.
    fn take_results<'m>(&self, io: &ShardSmIo<'m>, parts: &Parts<'m>) {
        for (p, write) in io.write.iter().enumerate() {
            let (inner, older) = (&parts.staging.write[p], &parts.distributor.write[p]);
            older.warp_i.set(write.warp_i);
            older.register_i.set(write.register_i);
            inner.blocked_i.set(older.blocked_o);
            inner.valid_i.set(write.valid_i);
            inner.warp_i.set(write.warp_i);
            inner.register_i.set(write.register_i);
            inner.line_i.set(write.line_i);
            inner.fate_i.set(write.fate_i);
            inner.lanes_i.set(write.lanes_i);
            inner.value_i.set(write.value_i);
            write.ready_o.set(inner.ready_o);
            parts.manager.write[p].taken_i.set(write.valid_i & write.ready_o);
            parts.manager.write[p].warp_i.set(write.warp_i);
        }
    }
}

/// Requests and fills pass to and from memory.
fn reach_memory<'m>(m: &Module<'m>, io: &RegLessShardIo<'m>, staging: &OperandStagingUnitIo<'m>) {
    offer(m, &io.memory_request, &staging.memory_request);
    m.pass_through(&io.memory_fill, &staging.memory_fill);
    io.sm.compressor_hit_o.set(0);
    io.sm.compressor_miss_o.set(0);
}

/// Requests and fills pass through the compressor.
fn compress<'m>(
    m: &Module<'m>,
    io: &RegLessShardIo<'m>,
    staging: &OperandStagingUnitIo<'m>,
    compressor: &CompressorIo<'m>,
) {
    let (request, asked) = (&staging.memory_request, &compressor.osu_request);
    request.ready_i.set(asked.ready_o);
    request.compressed_o.ignore();
    asked.valid_i.set(request.valid_o);
    asked.kind_i.set(request.kind_o);
    asked.warp_i.set(request.warp_o);
    asked.register_i.set(request.register_o);
    asked.line_i.set(request.line_o);
    asked.invalidates_i.set(request.invalidates_o);
    asked.value_i.set(request.value_o);
    let (fill, answer) = (&staging.memory_fill, &compressor.osu_fill);
    fill.valid_i.set(answer.valid_o);
    fill.compressed_i.set(0);
    fill.warp_i.set(answer.warp_o);
    fill.register_i.set(answer.register_o);
    fill.line_i.set(answer.line_o);
    fill.value_i.set(answer.value_o);

    offer(m, &io.memory_request, &compressor.memory_request);
    m.pass_through(&io.memory_fill, &compressor.memory_fill);
    io.sm.compressor_hit_o.set(compressor.hit_o);
    io.sm.compressor_miss_o.set(compressor.miss_o);
}

/// Offers memory what `inner` asks for.
fn offer<'m>(m: &Module<'m>, outer: &RequestOutIo<'m>, inner: &RequestOutIo<'m>) {
    m.pass_through(outer, inner);
    let of_kind = |kind: RequestKind| inner.valid_o & inner.kind_o.eq(kind);
    let (fetches, writes) = (of_kind(RequestKind::Fetch), of_kind(RequestKind::Write));
    let names_register = inner.valid_o & inner.kind_o.ne(RequestKind::Drop);
    for (output, meaningful) in [
        (outer.kind_o, inner.valid_o),
        (outer.compressed_o, inner.valid_o),
        (outer.warp_o, inner.valid_o),
        (outer.register_o, names_register),
        (outer.line_o, fetches),
        (outer.invalidates_o, fetches),
        (outer.value_o, writes),
    ] {
        output.valid_when(meaningful);
    }
}

//! What stands in the place of an SM's register file: a shard for each scheduler, and their way to L1.

use serde::{Deserialize, Serialize};

use super::l1_port::{L1FillIo, L1Port, L1RequestIo, ShardIo};
use super::memory_ports::RequestKind;
use super::shard::RegLessShard;
use super::shard_ports::{RegLessShardIo, ShardSmIo};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports};

/// RegLess of an SM: as many shards as schedulers, which share the L1 port with the SM's loads and stores and nothing
/// else.
///
/// Timing: as of a shard and of the L1 port; nothing is added between them. A request that a shard makes is at L1 in the
/// same cycle, if it is its turn.
/// Source: Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017, §5, Fig. 7.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegLessSm {
    /// Schedulers, 1 to 16.
    pub shards: usize,
    /// The shard of each.
    pub shard: RegLessShard,
}

/// Ports of a [`RegLessSm`].
#[derive(Ports)]
#[params(RegLessSm)]
pub struct RegLessSmIo<'m> {
    /// What the SM sees of each shard.
    #[repeat(p.shards)]
    #[with(p.shard)]
    pub shard: Vec<ShardSmIo<'m>>,
    /// A load or store of the SM asks for the L1 port.
    pub data_valid_i: In<'m>,
    /// It passes.
    pub data_ready_o: Out<'m>,
    /// To L1.
    #[with(p.l1_port())]
    pub request: L1RequestIo<'m>,
    /// From L1.
    #[with(p.l1_port())]
    pub fill: L1FillIo<'m>,
}

impl Circuit for RegLessSm {
    type Io<'m> = RegLessSmIo<'m>;
    const NAME: &'static str = "regless_sm";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("shards", self.shards, 1..=16)?;
        self.shard.validate()
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegLessSmIo<'m>) {
        let port = m.instance("l1_port", self.l1_port());
        for (s, (outer, side)) in io.shard.iter().zip(&port.shard).enumerate() {
            let shard = m.instance(format!("shard{s}"), self.shard.clone());
            meet_sm(outer, &shard.sm);
            meet_port(side, &shard);
        }
        port.data_valid_i.set(io.data_valid_i);
        io.data_ready_o.set(port.data_ready_o);
        let (outer, inner) = (&io.request, &port.request);
        inner.ready_i.set(outer.ready_i);
        outer.valid_o.set(inner.valid_o);
        outer.kind_o.set(inner.kind_o).valid_when(outer.valid_o);
        outer.address_o.set(inner.address_o).valid_when(outer.valid_o);
        let of_kind = |kind: RequestKind| outer.valid_o & inner.kind_o.eq(kind as usize);
        let (fetches, writes) = (of_kind(RequestKind::Fetch), of_kind(RequestKind::Write));
        outer.line_o.set(inner.line_o).valid_when(fetches);
        outer.invalidates_o.set(inner.invalidates_o).valid_when(fetches);
        outer.value_o.set(inner.value_o).valid_when(writes);
        port.fill.valid_i.set(io.fill.valid_i);
        port.fill.address_i.set(io.fill.address_i);
        port.fill.line_i.set(io.fill.line_i);
        port.fill.value_i.set(io.fill.value_i);
    }
}

impl RegLessSm {
    /// The way to L1.
    fn l1_port(&self) -> L1Port {
        let geometry = self.shard.geometry;
        L1Port {
            shards: self.shards,
            warps: geometry.warps,
            register_bits: geometry.register_bits,
            osu_lines: geometry.lines,
            lanes: geometry.lanes,
        }
    }
}

/// A shard and its side of the L1 port.
fn meet_port<'m>(side: &ShardIo<'m>, shard: &RegLessShardIo<'m>) {
    let (request, asked) = (&side.request, &shard.memory_request);
    asked.ready_i.set(request.ready_o);
    for (to, from) in [
        (request.valid_i, asked.valid_o),
        (request.kind_i, asked.kind_o),
        (request.compressed_i, asked.compressed_o),
        (request.warp_i, asked.warp_o),
        (request.register_i, asked.register_o),
        (request.line_i, asked.line_o),
        (request.invalidates_i, asked.invalidates_o),
        (request.value_i, asked.value_o),
    ] {
        to.set(from);
    }
    let (fill, filled) = (&side.fill, &shard.memory_fill);
    for (to, from) in [
        (filled.valid_i, fill.valid_o),
        (filled.compressed_i, fill.compressed_o),
        (filled.warp_i, fill.warp_o),
        (filled.register_i, fill.register_o),
        (filled.line_i, fill.line_o),
        (filled.value_i, fill.value_o),
    ] {
        to.set(from);
    }
}

/// The SM and a shard.
fn meet_sm<'m>(outer: &ShardSmIo<'m>, inner: &ShardSmIo<'m>) {
    meet_decode(outer, inner);
    meet_scheduler(outer, inner);
    meet_units(outer, inner);
    for (outer, inner) in [
        (outer.preload_hit_o, inner.preload_hit_o),
        (outer.preload_unwritten_o, inner.preload_unwritten_o),
        (outer.preload_fetched_o, inner.preload_fetched_o),
        (outer.tag_access_o, inner.tag_access_o),
        (outer.compressor_hit_o, inner.compressor_hit_o),
        (outer.compressor_miss_o, inner.compressor_miss_o),
    ] {
        outer.set(inner);
    }
}

/// Metadata and the ends of warps.
fn meet_decode<'m>(outer: &ShardSmIo<'m>, inner: &ShardSmIo<'m>) {
    let (from, to) = (&outer.metadata, &inner.metadata);
    from.ready_o.set(to.ready_o);
    to.valid_i.set(from.valid_i);
    to.warp_i.set(from.warp_i);
    to.first_i.set(from.first_i);
    to.last_i.set(from.last_i);
    to.usage_i.set(from.usage_i);
    for (from, to) in from.note.iter().zip(&to.note) {
        to.valid_i.set(from.valid_i);
        to.kind_i.set(from.kind_i);
        to.register_i.set(from.register_i);
    }
    inner.exit.valid_i.set(outer.exit.valid_i);
    inner.exit.warp_i.set(outer.exit.warp_i);
    outer.exit.ready_o.set(inner.exit.ready_o);
}

/// States of warps, and instructions.
fn meet_scheduler<'m>(outer: &ShardSmIo<'m>, inner: &ShardSmIo<'m>) {
    inner.waiting_i.set(outer.waiting_i);
    outer.active_o.set(inner.active_o);
    outer.inactive_o.set(inner.inactive_o);
    for (from, to) in outer.issue.iter().zip(&inner.issue) {
        from.ready_o.set(to.ready_o);
        to.valid_i.set(from.valid_i);
        to.id_i.set(from.id_i);
        to.unit_i.set(from.unit_i);
        to.warp_i.set(from.warp_i);
        to.last_i.set(from.last_i);
        to.lanes_i.set(from.lanes_i);
        for (from, to) in from.source.iter().zip(&to.source) {
            to.valid_i.set(from.valid_i);
            to.register_i.set(from.register_i);
            to.fate_i.set(from.fate_i);
        }
        for (from, to) in from.result.iter().zip(&to.result) {
            to.valid_i.set(from.valid_i);
            to.register_i.set(from.register_i);
            to.fate_i.set(from.fate_i);
            to.written_i.set(from.written_i);
        }
    }
}

/// Operands to the execution units, and their results.
fn meet_units<'m>(outer: &ShardSmIo<'m>, inner: &ShardSmIo<'m>) {
    for (outer, inner) in outer.unit.iter().zip(&inner.unit) {
        inner.ready_i.set(outer.ready_i);
        outer.dispatch.valid_o.set(inner.dispatch.valid_o);
        outer.dispatch.id_o.set(inner.dispatch.id_o).valid_when(outer.dispatch.valid_o);
        let (outer, inner) = (&outer.operands, &inner.operands);
        outer.valid_o.set(inner.valid_o);
        outer.id_o.set(inner.id_o).valid_when(outer.valid_o);
        for (outer_source, inner_source) in outer.source_o.iter().zip(&inner.source_o) {
            outer_source.set(*inner_source).valid_when(outer.valid_o);
        }
        for (outer, inner) in outer.result.iter().zip(&inner.result) {
            outer.reserved_o.set(inner.reserved_o);
            outer.line_o.set(inner.line_o).valid_when(outer.reserved_o);
        }
    }
    for (from, to) in outer.write.iter().zip(&inner.write) {
        from.ready_o.set(to.ready_o);
        to.valid_i.set(from.valid_i);
        to.warp_i.set(from.warp_i);
        to.register_i.set(from.register_i);
        to.line_i.set(from.line_i);
        to.fate_i.set(from.fate_i);
        to.lanes_i.set(from.lanes_i);
        to.value_i.set(from.value_i);
    }
}

//! The one port through which the shards of an SM, and its data, reach the L1 cache.

use serde::{Deserialize, Serialize};

use super::memory_ports::{FillOutIo, MemoryWidths, RequestInIo, RequestKind};
use crate::parts::{ArbiterIo, RoundRobinArbiter};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// L1 port: lets one request of a shard, or one of the SM's loads and stores, pass in a cycle, each in its turn, and
/// brings lines fetched back to their shards.
///
/// Registers lie in memory in the order of their numbers: R0 of every warp, then R1 of every warp, and so on; behind
/// them, in the same order, the compressed lines. Warps are dealt to the shards in turn, so the address of a line,
/// counted in lines from the base of the registers, is made of the space, the register, the warp within the shard and
/// the shard, the last lowest.
///
/// Timing: combinational, but for the turn. An offer that L1 does not take stays, whoever asks meanwhile. A line is
/// at its shard in the cycle in which it comes.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5 (one shard reaches L1 at a time), §5.2.3, Table 1.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct L1Port {
    /// Shards, 1 to 16.
    pub shards: usize,
    /// Warps of a shard, 1 to 64.
    pub warps: usize,
    /// Bits of a register's number, 1 to 8.
    pub register_bits: usize,
    /// Lines of a bank of the operand staging unit, 1 to 64.
    pub osu_lines: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
}

/// Ports of an [`L1Port`].
#[derive(Ports)]
#[params(L1Port)]
pub struct L1PortIo<'m> {
    /// The shards.
    #[repeat(p.shards)]
    #[with(p.widths())]
    pub shard: Vec<ShardIo<'m>>,
    /// A load or store of the SM asks for the port.
    pub data_valid_i: In<'m>,
    /// It passes.
    pub data_ready_o: Out<'m>,
    /// To L1.
    pub request: L1RequestIo<'m>,
    /// From L1.
    pub fill: L1FillIo<'m>,
}

/// A shard.
#[derive(Clone, Ports)]
#[params(MemoryWidths)]
pub struct ShardIo<'m> {
    /// What it asks for.
    pub request: RequestInIo<'m>,
    /// A line that it has asked for.
    pub fill: FillOutIo<'m>,
}

/// A request to L1.
#[derive(Clone, Ports)]
#[params(L1Port)]
pub struct L1RequestIo<'m> {
    /// A request of a shard is offered; never with one of the data.
    pub valid_o: Out<'m>,
    /// L1 takes a request, a shard's or one of the data.
    pub ready_i: In<'m>,
    /// Its [`RequestKind`](super::RequestKind).
    #[bits(RequestKind::BITS)]
    #[valid_when(valid_o)]
    pub kind_o: Out<'m>,
    /// The line, counted from the base of the registers; of a drop, R0 of its warp.
    #[bits(p.address_bits())]
    #[valid_when(valid_o)]
    pub address_o: Out<'m>,
    /// Where a line fetched goes: to be given back with it.
    #[bits(index_bits(p.osu_lines))]
    #[valid_when(valid_o)]
    pub line_o: Out<'m>,
    /// The copy is dropped once it is fetched.
    #[valid_when(valid_o)]
    pub invalidates_o: Out<'m>,
    /// The line written.
    #[bits(p.widths().line_bits())]
    #[valid_when(valid_o)]
    pub value_o: Out<'m>,
}

/// A line from L1. It is always accepted.
#[derive(Clone, Ports)]
#[params(L1Port)]
pub struct L1FillIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// As requested.
    #[bits(p.address_bits())]
    pub address_i: In<'m>,
    /// As requested.
    #[bits(index_bits(p.osu_lines))]
    pub line_i: In<'m>,
    /// The line.
    #[bits(p.widths().line_bits())]
    pub value_i: In<'m>,
}

impl Circuit for L1Port {
    type Io<'m> = L1PortIo<'m>;
    const NAME: &'static str = "l1_port";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("shards", self.shards, 1..=16)?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("register_bits", self.register_bits, 1..=8)?;
        Self::check_range("osu_lines", self.osu_lines, 1..=64)?;
        Self::check_range("lanes", self.lanes, 1..=32)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &L1PortIo<'m>) {
        let asking = m.cat(io.shard.iter().map(|shard| shard.request.valid_i).chain([io.data_valid_i]));
        let arbiter = self.arbitrate(m, asking, io.request.ready_i);
        let shards = arbiter.grant_o.low(self.shards);
        let data = arbiter.grant_o.bit(self.shards);
        io.data_ready_o.set(data & io.request.ready_i);
        for (s, shard) in io.shard.iter().enumerate() {
            shard.request.ready_o.set(shards.bit(s) & io.request.ready_i);
        }
        self.ask_l1(m, io, shards);
        self.bring_back(m, io);

        m.invariant("one_request_a_cycle", (arbiter.grant_o.popcount()).le(1));
        m.invariant("data_passes_alone", io.data_ready_o.implies(!io.request.valid_o));
    }
}

impl L1Port {
    pub(super) fn widths(&self) -> MemoryWidths {
        let &L1Port { warps, register_bits, osu_lines, lanes, .. } = self;
        MemoryWidths { warps, register_bits, osu_lines, lanes }
    }

    /// Bits of the address of a line.
    pub fn address_bits(&self) -> usize {
        1 + self.register_bits + index_bits(self.warps) + index_bits(self.shards)
    }

    /// Grants one of those `asking`, and keeps the grant until L1 takes it.
    fn arbitrate<'m>(&self, m: &Module<'m>, asking: Signal<'m>, taken: Signal<'m>) -> ArbiterIo<'m> {
        let requests = self.shards + 1;
        // The request offered in the cycle before and not taken.
        let kept = m.register("kept", requests).reset(0);
        let arbiter = m.instance("arbiter", RoundRobinArbiter { requests });
        arbiter.request_i.set(kept.any().mux(kept, asking));
        arbiter.take_i.set(taken);
        arbiter.valid_o.ignore();
        arbiter.index_o.ignore();
        kept.set(arbiter.grant_o & !taken.replicate(requests));
        m.assumption("a_request_is_offered_until_it_is_taken", (kept & !asking).any().eq(0));
        arbiter
    }

    /// Offers the request of the shard that is granted.
    fn ask_l1<'m>(&self, m: &Module<'m>, io: &L1PortIo<'m>, granted: Signal<'m>) {
        let shards = || io.shard.iter().map(|shard| &shard.request);
        let short = |r: &RequestInIo<'m>| {
            m.cat([r.kind_i, r.compressed_i, r.warp_i, r.register_i, r.line_i, r.invalidates_i])
        };
        let chosen = granted.one_hot_select(m.cat(shards().map(short)));
        let mut low = 0;
        let mut next = |bits| {
            low += bits;
            chosen.slice(low - bits, bits)
        };
        let (kind, compressed) = (next(RequestKind::BITS), next(1));
        let of_register = next(index_bits(self.warps) + self.register_bits);
        let (line, invalidates) = (next(index_bits(self.osu_lines)), next(1));
        let address = m.cat([granted.priority_encode(), of_register, compressed]);
        let request = &io.request;
        request.valid_o.set(granted.any());
        request.address_o.set(address);
        request.line_o.set(line);
        request.kind_o.set(kind);
        request.invalidates_o.set(invalidates);
        let value = granted.one_hot_select(m.cat(shards().map(|r| r.value_i)));
        request.value_o.set(value);
    }

    /// Gives a line that comes to the shard that its address names.
    fn bring_back<'m>(&self, m: &Module<'m>, io: &L1PortIo<'m>) {
        let (shard_bits, warp_bits) = (index_bits(self.shards), index_bits(self.warps));
        let address = io.fill.address_i;
        let to = address.low(shard_bits).decode(self.shards);
        for (s, shard) in io.shard.iter().enumerate() {
            let fill = &shard.fill;
            fill.valid_o.set(io.fill.valid_i & to.bit(s));
            fill.warp_o.set(address.slice(shard_bits, warp_bits)).valid_when(fill.valid_o);
            let register = address.slice(shard_bits + warp_bits, self.register_bits);
            fill.register_o.set(register).valid_when(fill.valid_o);
            fill.compressed_o.set(address.high(1)).valid_when(fill.valid_o);
            fill.line_o.set(io.fill.line_i).valid_when(fill.valid_o);
            fill.value_o.set(io.fill.value_i).valid_when(fill.valid_o);
        }
        m.assumption("a_line_comes_for_a_shard", io.fill.valid_i.implies(to.any()));
    }
}

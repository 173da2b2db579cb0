//! What stands in the place of an SM's register file: a shard for each scheduler, and their way to L1.

use serde::{Deserialize, Serialize};

use super::l1_port::{L1FillIo, L1Port, L1RequestIo};
use super::memory_ports::RequestKind;
use super::shard::RegLessShard;
use super::shard_ports::ShardSmIo;
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
            m.pass_through(outer, &shard.sm);
            m.connect(&shard.memory_request, &side.request);
            m.connect(&shard.memory_fill, &side.fill);
        }
        port.data_valid_i.set(io.data_valid_i);
        io.data_ready_o.set(port.data_ready_o);
        m.pass_through(&io.request, &port.request);
        m.pass_through(&io.fill, &port.fill);
        let (outer, inner) = (&io.request, &port.request);
        let of_kind = |kind: RequestKind| outer.valid_o & inner.kind_o.eq(kind);
        let (fetches, writes) = (of_kind(RequestKind::Fetch), of_kind(RequestKind::Write));
        outer.line_o.valid_when(fetches);
        outer.invalidates_o.valid_when(fetches);
        outer.value_o.valid_when(writes);
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

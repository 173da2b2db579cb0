//! Staging banks side by side.

use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, index_bits,
};

/// Lanes of a register, and bits of a lane.
const LANES: usize = 32;
const LANE_BITS: usize = 32;
/// Bits of a warp's number.
const WARP_BITS: usize = 6;
/// Bits of a register's number.
const REGISTER_BITS: usize = 9;

/// Staging shard: banks of lines that each hold one warp register, found by tag (warp and register).
///
/// In a cycle each bank looks one register up and writes one line: its tag, and of its value the lanes asked for.
/// The caller keeps a register in one line at most; of several the lowest line would answer.
///
/// Timing: a lookup answers in the same cycle; a write is seen by lookups from the next cycle on.
/// Source: Kloosterman et al., "RegLess", §5.2 and Fig. 10 (eight banks), without the lists of lines.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct StagingShard {
    /// Banks, 1 to 16.
    pub banks: usize,
    /// Lines of a bank, 1 to 512.
    pub lines: usize,
}

/// Ports of a [`StagingShard`].
#[derive(Ports)]
#[params(StagingShard)]
pub struct StagingShardIo<'m> {
    /// The banks.
    #[repeat(p.banks)]
    #[with(p.lines)]
    pub bank: Vec<BankIo<'m>>,
}

/// One of the banks.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct StagingBank {
    /// Lines.
    lines: usize,
}

/// Ports of a bank of so many lines.
#[derive(Ports)]
#[params(usize)]
pub struct BankIo<'m> {
    /// Looks a register up.
    pub lookup: LookupIo<'m>,
    /// Writes a line.
    pub write: LineIo<'m>,
}

/// A lookup.
#[derive(Ports)]
#[params(usize)]
pub struct LookupIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp.
    #[bits(WARP_BITS)]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(REGISTER_BITS)]
    pub register_i: In<'m>,
    /// It is here.
    pub hit_o: Out<'m>,
    /// Its value.
    #[bits(LANES * LANE_BITS)]
    pub value_o: Out<'m>,
}

/// A write.
#[derive(Ports)]
#[params(usize)]
pub struct LineIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The line.
    #[bits(index_bits(*p))]
    pub line_i: In<'m>,
    /// The warp of its register.
    #[bits(WARP_BITS)]
    pub warp_i: In<'m>,
    /// Its register.
    #[bits(REGISTER_BITS)]
    pub register_i: In<'m>,
    /// Lanes written.
    #[bits(LANES)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(LANES * LANE_BITS)]
    pub value_i: In<'m>,
}

/// Ports of a bank as a circuit.
#[derive(Ports)]
#[params(StagingBank)]
struct StagingBankIo<'m> {
    #[with(p.lines)]
    bank: BankIo<'m>,
}

impl Circuit for StagingShard {
    type Io<'m> = StagingShardIo<'m>;
    const NAME: &'static str = "staging_shard";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("banks", self.banks, 1..=16)?;
        Self::check_range("lines", self.lines, 1..=512)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &StagingShardIo<'m>) {
        for (b, outer) in io.bank.iter().enumerate() {
            let inner = m.instance(format!("bank{b}"), StagingBank { lines: self.lines }).bank;
            inner.lookup.valid_i.set(outer.lookup.valid_i);
            inner.lookup.warp_i.set(outer.lookup.warp_i);
            inner.lookup.register_i.set(outer.lookup.register_i);
            outer.lookup.hit_o.set(inner.lookup.hit_o);
            outer.lookup.value_o.set(inner.lookup.value_o).valid_when(outer.lookup.hit_o);
            inner.write.valid_i.set(outer.write.valid_i);
            inner.write.line_i.set(outer.write.line_i);
            inner.write.warp_i.set(outer.write.warp_i);
            inner.write.register_i.set(outer.write.register_i);
            inner.write.lanes_i.set(outer.write.lanes_i);
            inner.write.value_i.set(outer.write.value_i);
        }
    }
}

/// A line, and whose it is.
#[derive(Clone, Copy, Record)]
struct Line<T = Field> {
    #[bits(WARP_BITS)]
    warp: T,
    #[bits(REGISTER_BITS)]
    register: T,
    #[bits(LANES * LANE_BITS)]
    #[lanes(LANES)]
    value: T,
}

impl Circuit for StagingBank {
    type Io<'m> = StagingBankIo<'m>;
    const NAME: &'static str = "staging_bank";

    fn build<'m>(&self, m: &Module<'m>, io: &StagingBankIo<'m>) {
        let BankIo { lookup, write } = &io.bank;
        let lines = m.table::<Line>("lines", self.lines, &()).valid_bits().ports(1, 1);
        let hits = lines.matching("lookup", lookup.valid_i, |line| {
            line.valid() & line.warp.eq(lookup.warp_i) & line.register.eq(lookup.register_i)
        });
        let hit = (lookup.valid_i & hits.any()).named("hit");
        let line = lines.read("hit_line", hits.priority_encode(), hit);
        lookup.hit_o.set(hit);
        lookup.value_o.set(line.value).valid_when(lookup.hit_o);
        m.when(write.valid_i, || {
            let line = Line { warp: write.warp_i, register: write.register_i, value: write.value_i };
            lines.write("write", write.line_i, line).lanes(write.lanes_i);
        });
    }
}

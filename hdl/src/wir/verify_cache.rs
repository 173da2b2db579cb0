//! Values that have been read to verify others.

use serde::{Deserialize, Serialize};

use crate::regfile::collector_groups::numbered;
use crate::regfile::{LANE_BITS, WarpLanes, WarpRegister};
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, index_bits,
};

/// Verify cache: keeps the last registers that were read to verify a result, so that the banks are not asked again.
///
/// Fully associative, tagged by physical register. A register that has been read replaces the entries in turn; a write to a
/// register evicts its entry, and a fill of a register that is written in the same cycle is dropped. Of several fills of one
/// register in a cycle, or of more than there are entries, the first is kept.
///
/// Timing: a lookup answers in the same cycle; a change is seen from the next cycle on.
/// Source: Kim & Ro, WIR, §VI-C: 8 entries of 1035 bits (Table II, §VII-E). Which entry is replaced is not in the paper.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct VerifyCache {
    /// Entries, 1 to 32.
    pub entries: usize,
    /// Bits of a physical register's number, 1 to 16.
    pub register_bits: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Lanes of one physical array; divides `lanes`.
    pub lanes_per_array: usize,
    /// Registers looked up, and registers read, a cycle, 1 or 2: one for each scheduler (Table III: 2R2W).
    pub ways: usize,
}

/// Ports of a [`VerifyCache`].
#[derive(Ports)]
#[params(VerifyCache)]
pub struct VerifyCacheIo<'m> {
    /// Registers that are to be read.
    #[repeat_plain(p.ways)]
    pub lookup: Vec<VerifyLookupIo<'m>>,
    /// Registers that have been read.
    #[repeat_plain(p.ways)]
    pub fill: Vec<VerifyFillIo<'m>>,
    /// Registers that are written: results of short operations, and one of a long-latency operation.
    #[repeat(p.ways.saturating_add(1))]
    pub written: Vec<VerifyWrittenIo<'m>>,
}

/// A register that is to be read.
#[derive(Ports)]
#[params(VerifyCache)]
pub struct VerifyLookupIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Its value is there.
    pub hit_o: Out<'m>,
    /// The value.
    #[bits(p.lanes.saturating_mul(LANE_BITS))]
    pub value_o: Out<'m>,
}

/// A register that has been read.
#[derive(Ports)]
#[params(VerifyCache)]
pub struct VerifyFillIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Its value.
    #[bits(p.lanes.saturating_mul(LANE_BITS))]
    pub value_i: In<'m>,
}

/// A register that is written.
#[derive(Ports)]
#[params(VerifyCache)]
pub struct VerifyWrittenIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
}

/// Whose value an entry has.
#[derive(Clone, Copy, Record)]
#[params(VerifyCache)]
struct Tag<T = Field> {
    #[bits(p.register_bits)]
    register: T,
}

impl Circuit for VerifyCache {
    type Io<'m> = VerifyCacheIo<'m>;
    const NAME: &'static str = "verify_cache";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("entries", self.entries, 1..=32)?;
        Self::check_range("register_bits", self.register_bits, 1..=16)?;
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("lanes_per_array", self.lanes_per_array, 1..=self.lanes)?;
        Self::check(
            self.lanes.is_multiple_of(self.lanes_per_array),
            "lanes_per_array",
            self.lanes_per_array,
            "a divisor of lanes",
        )?;
        Self::check_range("ways", self.ways, 1..=2)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &VerifyCacheIo<'m>) {
        let tags = m.table::<Tag>("tags", self.entries, self).valid_bits();
        let lanes = WarpLanes { lanes: self.lanes, per_array: self.lanes_per_array };
        let values = m.table::<WarpRegister>("values", self.entries, &lanes).ports(self.ways, self.ways);
        let turn = m.register("turn", index_bits(self.entries)).reset(0);
        let mut has_one_entry = m.lit(1, 1);
        for (k, lookup) in io.lookup.iter().enumerate() {
            let name = |name: &str| numbered(name, self.ways, k);
            let found = tags.matching(name("lookup"), lookup.valid_i, |row| {
                row.valid() & row.register.eq(lookup.register_i)
            });
            let hit = (lookup.valid_i & found.any()).named(name("hit"));
            lookup.hit_o.set(hit);
            let value = values.read(name("lookup"), found.priority_encode(), hit).value;
            lookup.value_o.set(value).valid_when(hit);
            has_one_entry = has_one_entry & found.popcount().le(1);
        }

        let mut evicted = m.lit(self.entries, 0);
        for (k, write) in io.written.iter().enumerate() {
            let same = tags.matching(format!("written{k}"), write.valid_i, |row| {
                row.valid() & row.register.eq(write.register_i)
            });
            evicted = evicted | (same & write.valid_i.replicate(self.entries));
        }
        m.when(evicted.any(), || tags.clear_rows(evicted));
        self.fill(m, io, (tags, values), turn);
        m.invariant("a_register_has_one_entry", has_one_entry);
    }
}

impl VerifyCache {
    /// What has been read replaces the next entries in turn.
    fn fill<'m>(
        &self,
        m: &Module<'m>,
        io: &VerifyCacheIo<'m>,
        (tags, values): (Table<'m, Tag>, Table<'m, WarpRegister>),
        turn: Signal<'m>,
    ) {
        let mut place = turn;
        let mut before: Vec<(Signal<'m>, Signal<'m>)> = Vec::new();
        for (k, fill) in io.fill.iter().enumerate() {
            let name = |name: &str| numbered(name, self.ways, k);
            let known = tags
                .matching(name("known"), fill.valid_i, |row| row.valid() & row.register.eq(fill.register_i));
            let written = io
                .written
                .iter()
                .fold(m.lit(1, 0), |any, write| any | (write.valid_i & write.register_i.eq(fill.register_i)));
            let has_place = before.len() < self.entries;
            let comes_first = before.iter().fold(m.lit(1, 1), |first, &(fills, register)| {
                let same = if has_place { register.eq(fill.register_i) } else { m.lit(1, 1) };
                first & !(fills & same)
            });
            let fills = (fill.valid_i & !written & !known.any() & comes_first).named(name("fills"));
            m.when(fills, || {
                tags.write(name("fill"), place, Tag { register: fill.register_i });
                values.write(name("fill"), place, WarpRegister { value: fill.value_i });
            });
            place = fills.mux(self.after(m, place), place);
            before.push((fills, fill.register_i));
        }
        turn.set(place);
    }

    /// The entry after `entry`, the first after the last.
    fn after<'m>(&self, m: &Module<'m>, entry: Signal<'m>) -> Signal<'m> {
        entry.eq(self.entries - 1).mux(m.lit(index_bits(self.entries), 0), entry + 1)
    }
}

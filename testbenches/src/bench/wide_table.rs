//! A table of wide rows behind an associative memory.

use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, index_bits,
};

/// Lanes of a row, and bits of a lane.
const LANES: usize = 32;
const LANE_BITS: usize = 32;
/// Bits of a key.
const KEY_BITS: usize = 16;

/// Wide table: a key names a row, and the row is compared lane by lane.
///
/// A small associative memory in front knows the row of each key. In a cycle one key is looked up and its row is
/// compared with a value, one row is written in the lanes asked for, and one key gets a row.
///
/// Timing: a lookup answers in the same cycle; writes are seen from the next cycle on.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct WideTable {
    /// Rows of the table, 1 to 65536.
    pub rows: usize,
    /// Keys known at a time, 1 to 1024.
    pub keys: usize,
}

/// Ports of a [`WideTable`].
#[derive(Ports)]
#[params(WideTable)]
pub struct WideTableIo<'m> {
    /// Looks a key up.
    pub lookup: LookupIo<'m>,
    /// Gives a key a row.
    pub learn: LearnIo<'m>,
    /// Writes a row.
    pub write: WriteIo<'m>,
}

/// A lookup.
#[derive(Ports)]
#[params(WideTable)]
pub struct LookupIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The key.
    #[bits(KEY_BITS)]
    pub key_i: In<'m>,
    /// What its row is compared with.
    #[bits(LANES * LANE_BITS)]
    pub value_i: In<'m>,
    /// The key is known.
    pub hit_o: Out<'m>,
    /// Lanes of its row that are equal.
    #[bits(LANES)]
    pub equal_o: Out<'m>,
}

/// A key and its row.
#[derive(Ports)]
#[params(WideTable)]
pub struct LearnIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The place that the key takes.
    #[bits(index_bits(p.keys))]
    pub place_i: In<'m>,
    /// The key.
    #[bits(KEY_BITS)]
    pub key_i: In<'m>,
    /// Its row.
    #[bits(index_bits(p.rows))]
    pub row_i: In<'m>,
}

/// A write of a row.
#[derive(Ports)]
#[params(WideTable)]
pub struct WriteIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The row.
    #[bits(index_bits(p.rows))]
    pub row_i: In<'m>,
    /// Lanes written.
    #[bits(LANES)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(LANES * LANE_BITS)]
    pub value_i: In<'m>,
}

/// A key, and where its row is.
#[derive(Clone, Copy, Record)]
#[params(WideTable)]
struct Known<T = Field> {
    #[bits(KEY_BITS)]
    key: T,
    #[bits(index_bits(p.rows))]
    row: T,
}

/// A row of values.
#[derive(Clone, Copy, Record)]
struct Row<T = Field> {
    #[bits(LANES * LANE_BITS)]
    #[lanes(LANES)]
    value: T,
}

impl Circuit for WideTable {
    type Io<'m> = WideTableIo<'m>;
    const NAME: &'static str = "wide_table";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("rows", self.rows, 1..=65536)?;
        Self::check_range("keys", self.keys, 1..=1024)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &WideTableIo<'m>) {
        let WideTableIo { lookup, learn, write } = io;
        let keys = m.table::<Known>("keys", self.keys, self).valid_bits().ports(1, 1);
        let rows = m.table::<Row>("rows", self.rows, &()).ports(1, 1);

        let hits =
            keys.matching("lookup", lookup.valid_i, |known| known.valid() & known.key.eq(lookup.key_i));
        let hit = (lookup.valid_i & hits.any()).named("hit");
        let row = keys.read("hit_key", hits.priority_encode(), hit).row;
        let value = rows.read("hit_row", row, hit).value;
        lookup.hit_o.set(hit);
        lookup.equal_o.set(value.lane_eq(lookup.value_i, LANE_BITS)).valid_when(lookup.hit_o);

        m.when(learn.valid_i, || {
            keys.write("learn", learn.place_i, Known { key: learn.key_i, row: learn.row_i });
        });
        m.when(write.valid_i, || {
            rows.write("write", write.row_i, Row { value: write.value_i }).lanes(write.lanes_i);
        });
    }
}

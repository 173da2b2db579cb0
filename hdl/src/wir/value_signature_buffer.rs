//! Which physical register may hold a value.

use serde::{Deserialize, Serialize};

use crate::regfile::collector_groups::numbered;
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, count_bits,
};

/// Value signature buffer: finds a physical register that may already hold a value.
///
/// Direct-indexed by the low bits of the value's hash. A hit is a hint, since two values can share a hash: the register is
/// read and compared before it is used. A miss registers the new register that the value gets, and evicts what the row held;
/// or, when registers are short, only evicts it. In a cycle without a lookup the buffer can be swept, a row a cycle.
/// Of several lookups each sees the rows as they were before; if one changes its row, those behind it leave the row alone.
///
/// Timing: a lookup answers in the same cycle; a change is seen from the next cycle on.
/// Source: Kim & Ro, WIR, §V-A and Fig. 6, §V-E (low register mode); 256 rows of 43 bits (Table II, §VII-E).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ValueSignatureBuffer {
    /// Rows, a power of two, 2 to 1024 and at most one for each hash.
    pub rows: usize,
    /// Bits of a hash, 1 to 32.
    pub hash_bits: usize,
    /// Bits of a physical register's number, 1 to 16.
    pub register_bits: usize,
    /// Values looked up a cycle, 1 or 2: one for each scheduler (Table III: 2R2W).
    pub ways: usize,
}

/// Ports of a [`ValueSignatureBuffer`].
#[derive(Ports)]
#[params(ValueSignatureBuffer)]
pub struct ValueSignatureBufferIo<'m> {
    /// Values that have been computed.
    #[repeat_plain(p.ways)]
    pub lookup: Vec<SignatureLookupIo<'m>>,
    /// Evicts the next row in turn if there is no lookup.
    pub sweep_i: In<'m>,
    /// The register that loses its row to each lookup; to the sweep, on the first.
    #[repeat_plain(p.ways)]
    pub evicted: Vec<EvictedSignatureIo<'m>>,
}

/// A value that has been computed.
#[derive(Ports)]
#[params(ValueSignatureBuffer)]
pub struct SignatureLookupIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its hash.
    #[bits(p.hash_bits)]
    pub hash_i: In<'m>,
    /// On a miss the register below is registered.
    pub insert_i: In<'m>,
    /// The register that the value gets on a miss.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// On a miss that registers nothing the row is evicted.
    pub drop_i: In<'m>,
    /// A register with this hash is known.
    pub hit_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
    /// The register that the value gets has been registered.
    pub inserted_o: Out<'m>,
}

/// A register that loses its row.
#[derive(Ports)]
#[params(ValueSignatureBuffer)]
pub struct EvictedSignatureIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
}

/// A register and the hash of its value.
#[derive(Clone, Copy, Record)]
#[params(ValueSignatureBuffer)]
struct Signature<T = Field> {
    #[bits(p.hash_bits)]
    hash: T,
    #[bits(p.register_bits)]
    register: T,
}

/// A row that a lookup changes.
#[derive(Clone, Copy)]
struct Changed<'m> {
    valid: Signal<'m>,
    index: Signal<'m>,
}

impl Circuit for ValueSignatureBuffer {
    type Io<'m> = ValueSignatureBufferIo<'m>;
    const NAME: &'static str = "value_signature_buffer";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("hash_bits", self.hash_bits, 1..=32)?;
        Self::check_range("rows", self.rows, 2..=1024.min(1 << self.hash_bits.min(10)))?;
        Self::check(self.rows.is_power_of_two(), "rows", self.rows, "a power of two")?;
        Self::check_range("register_bits", self.register_bits, 1..=16)?;
        Self::check_range("ways", self.ways, 1..=2)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ValueSignatureBufferIo<'m>) {
        let rows = m.table::<Signature>("rows", self.rows, self).valid_bits().ports(self.ways, self.ways);
        let turn = m.register("turn", rows.index_bits()).reset(0);
        let is_looked_up = io.lookup.iter().fold(m.lit(1, 0), |any, lookup| any | lookup.valid_i);
        let sweeps = (io.sweep_i & !is_looked_up).named("sweeps");
        let held_bits = count_bits(self.rows);
        let (mut come, mut gone) = (m.lit(held_bits, 0), m.lit(held_bits, 0));
        // Rows that lookups before have changed.
        let mut changed: Vec<Changed<'m>> = Vec::new();
        for (k, (lookup, evicted)) in io.lookup.iter().zip(&io.evicted).enumerate() {
            let name = |name: &str| numbered(name, self.ways, k);
            let own = lookup.hash_i.low(rows.index_bits());
            let (index, sweeps) =
                if k == 0 { (lookup.valid_i.mux(own, turn), sweeps) } else { (own, m.lit(1, 0)) };
            let row = rows.read(name("row"), index, lookup.valid_i | sweeps);
            let hit = (lookup.valid_i & row.valid() & row.hash.eq(lookup.hash_i)).named(name("hit"));
            lookup.hit_o.set(hit);
            lookup.register_o.set(row.register).valid_when(hit);
            let is_changed =
                changed.iter().fold(m.lit(1, 0), |any, other| any | (other.valid & other.index.eq(index)));
            let misses = lookup.valid_i & !hit & !is_changed;
            let inserts = (misses & lookup.insert_i).named(name("inserts"));
            let evicts = ((inserts | (misses & lookup.drop_i) | sweeps) & row.valid()).named(name("evicts"));
            lookup.inserted_o.set(inserts);
            evicted.valid_o.set(evicts);
            evicted.register_o.set(row.register).valid_when(evicts);
            m.when(evicts, || rows.clear_row(index));
            m.when(inserts, || {
                let signature = Signature { hash: lookup.hash_i, register: lookup.register_i };
                rows.write(name("insert"), index, signature);
            });
            changed.push(Changed { valid: inserts | evicts, index });
            (come, gone) = (come + inserts.zext(held_bits), gone + evicts.zext(held_bits));
        }
        m.when(sweeps, || {
            turn.set(turn + 1);
        });

        let held = m.register("held", held_bits).reset(0);
        held.set(held + come - gone);
        m.invariant(
            "every_register_that_was_registered_is_held_or_was_evicted",
            rows.valid_rows().popcount().eq(held),
        );
    }
}

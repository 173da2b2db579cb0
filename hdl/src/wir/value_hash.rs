//! The hash of a warp register's value.

use serde::{Deserialize, Serialize};

use super::h3_rows;
use crate::regfile::LANE_BITS;
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports};

/// Value hash: an H3 hash of a warp register's value, a tree of exclusive ors for each of its bits.
///
/// Timing: the hash of a value is out in the cycle after it.
/// Source: Kim & Ro, WIR, §V-A and §VII-E: 1024 to 32 bits in one cycle, H3 with hard-wired XOR gates. The paper does not give
/// its matrix; this one is drawn from a seed.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ValueHash {
    /// Lanes of a warp, of 32 bits each, 1 to 32.
    pub lanes: usize,
    /// Bits of the hash, 1 to 32 (§V-A: 32).
    pub hash_bits: usize,
    /// What the matrix is drawn from.
    pub seed: u64,
}

/// Ports of a [`ValueHash`].
#[derive(Ports)]
#[params(ValueHash)]
pub struct ValueHashIo<'m> {
    /// There is a value.
    pub valid_i: In<'m>,
    /// The value.
    #[bits(p.lanes.saturating_mul(LANE_BITS))]
    pub value_i: In<'m>,
    /// There was a value in the cycle before.
    pub valid_o: Out<'m>,
    /// Its hash.
    #[bits(p.hash_bits)]
    pub hash_o: Out<'m>,
}

impl Circuit for ValueHash {
    type Io<'m> = ValueHashIo<'m>;
    const NAME: &'static str = "value_hash";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("hash_bits", self.hash_bits, 1..=32)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ValueHashIo<'m>) {
        let valid = m.register("valid", 1).reset(0);
        let hash = m.register("hash", self.hash_bits).no_reset();
        valid.set(io.valid_i);
        let hashed = io.value_i.xor_hash(h3_rows(self.lanes * LANE_BITS, self.hash_bits, self.seed));
        m.when(io.valid_i, || {
            hash.set(hashed);
        });
        m.invariant("zeros_hash_to_zero", (!io.value_i.any()).implies(!hashed.any()));
        io.valid_o.set(valid);
        io.hash_o.set(hash).valid_when(valid);
    }
}

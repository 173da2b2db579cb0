//! Whether the lanes of a value follow each other by one stride.

use serde::{Deserialize, Serialize};

use crate::regfile::LANE_BITS;
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal};

/// Affine detector: finds base and stride of values whose lanes all have the same distance to the lane below.
///
/// Differences are modulo 2^32, so that a stride may be negative and run through zero. Every lane counts; whether all of them
/// are written the tuple table is told.
///
/// Timing: combinational.
/// Source: Kim & Ro, WIR, §VII-A: a 1024-bit warp register becomes a 64-bit tuple, 32-bit base and 32-bit stride.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct AffineDetector {
    /// Lanes of a warp, 3 to 32: any two lanes have a stride.
    pub lanes: usize,
    /// Values a cycle, 1 to 4.
    pub values: usize,
}

/// Ports of an [`AffineDetector`].
#[derive(Ports)]
#[params(AffineDetector)]
pub struct AffineDetectorIo<'m> {
    /// Results of the units.
    #[repeat(p.values)]
    pub value: Vec<AffineValueIo<'m>>,
}

/// A value.
#[derive(Ports)]
#[params(AffineDetector)]
pub struct AffineValueIo<'m> {
    /// The lanes, lane 0 lowest.
    #[bits(p.lanes.saturating_mul(LANE_BITS))]
    pub value_i: In<'m>,
    /// Base and stride give it back.
    pub affine_o: Out<'m>,
    /// Lane 0.
    #[bits(LANE_BITS)]
    pub base_o: Out<'m>,
    /// What lane 1 has more than lane 0, and of an affine value each lane more than the one below it.
    #[bits(LANE_BITS)]
    pub stride_o: Out<'m>,
}

impl Circuit for AffineDetector {
    type Io<'m> = AffineDetectorIo<'m>;
    const NAME: &'static str = "affine_detector";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("lanes", self.lanes, 3..=32)?;
        Self::check_range("values", self.values, 1..=4)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &AffineDetectorIo<'m>) {
        let same = m.lit(1, 1);
        let (mut given_back, mut found) = (same, same);
        for port in &io.value {
            let value = port.value_i;
            let affine = self.is_affine(value);
            port.affine_o.set(affine);
            port.base_o.set(value.lane(0, LANE_BITS));
            port.stride_o.set(value.lane(1, LANE_BITS) - value.lane(0, LANE_BITS));
            let is_expanded = self.expanded(m, port.base_o, port.stride_o).eq(value);
            given_back = given_back & affine.implies(is_expanded);
            found = found & is_expanded.implies(affine);
        }
        m.invariant("a_tuple_gives_its_value_back", given_back);
        m.invariant("a_value_that_a_tuple_gives_is_found", found);
    }
}

impl AffineDetector {
    /// Whether all lanes have one distance to the lane below. Each distance less 1 is one addition, of the complement.
    fn is_affine<'m>(&self, value: Signal<'m>) -> Signal<'m> {
        let pairs = (self.lanes - 1) * LANE_BITS;
        let distances = value.high(pairs).lane_add(!value.low(pairs), LANE_BITS);
        let others = pairs - LANE_BITS;
        distances.low(others).lane_eq(distances.high(others), LANE_BITS).all()
    }

    /// The value of a base and a stride.
    fn expanded<'m>(&self, m: &Module<'m>, base: Signal<'m>, stride: Signal<'m>) -> Signal<'m> {
        m.cat((0..self.lanes).map(|lane| base + stride * m.lit(LANE_BITS, lane)))
    }
}

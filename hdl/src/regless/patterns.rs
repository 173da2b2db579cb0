//! Values of a register that have a short form: which there are, how one is found, how the value is had back.

use serde::{Deserialize, Serialize};

use crate::regfile::LANE_BITS;
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal};

/// Bits of a pattern's number: five patterns and "none of them" (§5.3).
pub const PATTERN_BITS: usize = 3;
/// Bits of a short form: the first value of each half of the warp (§5.3: 8 bytes).
pub const BASES_BITS: usize = 2 * LANE_BITS;

/// How a register's value is stored: the state of 3 bits of §5.3.
///
/// Sums are modulo 2^32, so that a stride runs through zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// As it is, in a line of its own.
    Uncompressed = 0,
    /// All lanes have the value of lane 0.
    Constant = 1,
    /// Each lane has 1 more than the one below it.
    Stride1 = 2,
    /// Each lane has 4 more than the one below it.
    Stride4 = 3,
    /// As stride 1 within each half of the warp.
    HalfStride1 = 4,
    /// As stride 4 within each half of the warp.
    HalfStride4 = 5,
}

impl Pattern {
    /// Those that have a short form; where a value has several, the earlier one is taken.
    pub const COMPRESSED: [Pattern; 5] =
        [Pattern::Constant, Pattern::Stride1, Pattern::Stride4, Pattern::HalfStride1, Pattern::HalfStride4];

    /// How much a lane has more than the one below it.
    pub fn stride(self) -> u32 {
        match self {
            Pattern::Uncompressed | Pattern::Constant => 0,
            Pattern::Stride1 | Pattern::HalfStride1 => 1,
            Pattern::Stride4 | Pattern::HalfStride4 => 4,
        }
    }

    /// Whether the upper half of the warp starts anew.
    pub fn is_half_warp(self) -> bool {
        match self {
            Pattern::HalfStride1 | Pattern::HalfStride4 => true,
            Pattern::Uncompressed | Pattern::Constant | Pattern::Stride1 | Pattern::Stride4 => false,
        }
    }

    /// What lane `lane` of `lanes` has more than its base.
    fn offset(self, lane: usize, lanes: usize) -> u32 {
        let steps = if self.is_half_warp() { lane % (lanes / 2) } else { lane };
        self.stride() * steps as u32
    }

    fn literal<'m>(self, m: &Module<'m>) -> Signal<'m> {
        m.lit(PATTERN_BITS, self as u32)
    }
}

/// Pattern matcher: says which pattern a register's value has, and its short form.
///
/// The short form is 8 bytes: the value of lane 0 and, for the patterns of half a warp, that of the first lane of
/// the upper half; 0 above where 4 bytes do. Every lane counts, also of a warp that has diverged.
///
/// Timing: combinational.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5.3.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct PatternMatcher {
    /// Lanes of a warp, 4 to 32, an even number.
    pub lanes: usize,
}

/// Ports of a [`PatternMatcher`].
#[derive(Clone, Ports)]
#[params(PatternMatcher)]
pub struct PatternMatcherIo<'m> {
    /// The value.
    #[bits(p.lanes * LANE_BITS)]
    pub value_i: In<'m>,
    /// Its [`Pattern`], as a number.
    #[bits(PATTERN_BITS)]
    pub pattern_o: Out<'m>,
    /// Its short form; 0 if it has none.
    #[bits(BASES_BITS)]
    pub bases_o: Out<'m>,
}

impl Circuit for PatternMatcher {
    type Io<'m> = PatternMatcherIo<'m>;
    const NAME: &'static str = "pattern_matcher";

    fn validate(&self) -> Result<(), ParameterError> {
        check_lanes::<Self>(self.lanes)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &PatternMatcherIo<'m>) {
        let mut pattern = Pattern::Uncompressed.literal(m);
        for candidate in Pattern::COMPRESSED.into_iter().rev() {
            pattern = self.has(m, io.value_i, candidate).mux(candidate.literal(m), pattern);
        }
        let is = |wanted: Pattern| pattern.eq(wanted as u32);
        let is_half_warp = is(Pattern::HalfStride1) | is(Pattern::HalfStride4);
        let (lower, upper) = (io.value_i.lane(0, LANE_BITS), io.value_i.lane(self.lanes / 2, LANE_BITS));

        io.pattern_o.set(pattern);
        let lower = lower & (!is(Pattern::Uncompressed)).replicate(LANE_BITS);
        io.bases_o.set(lower.concat(upper & is_half_warp.replicate(LANE_BITS)));
    }
}

impl PatternMatcher {
    /// Whether each lane of `value` has the stride of `pattern` to the one below it.
    fn has<'m>(&self, m: &Module<'m>, value: Signal<'m>, pattern: Pattern) -> Signal<'m> {
        let pairs = self.lanes - 1;
        let next = value.low(pairs * LANE_BITS);
        let next = match pattern.stride() {
            0 => next,
            stride => next.lane_add(m.lit(LANE_BITS, stride).replicate(pairs), LANE_BITS),
        };
        let in_step = next.lane_eq(value.high(pairs * LANE_BITS), LANE_BITS);
        match pattern.is_half_warp() {
            // The upper half begins where it likes.
            true => in_step.low(self.lanes / 2 - 1).all() & in_step.high(self.lanes / 2 - 1).all(),
            false => in_step.all(),
        }
    }
}

/// Pattern expander: makes a register's value of its pattern and short form.
///
/// Timing: combinational.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5.3.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct PatternExpander {
    /// Lanes of a warp, 4 to 32, an even number.
    pub lanes: usize,
}

/// Ports of a [`PatternExpander`].
#[derive(Clone, Ports)]
#[params(PatternExpander)]
pub struct PatternExpanderIo<'m> {
    /// A [`Pattern`] as a number, one that has a short form.
    #[bits(PATTERN_BITS)]
    pub pattern_i: In<'m>,
    /// The short form.
    #[bits(BASES_BITS)]
    pub bases_i: In<'m>,
    /// The value.
    #[bits(p.lanes * LANE_BITS)]
    pub value_o: Out<'m>,
}

impl Circuit for PatternExpander {
    type Io<'m> = PatternExpanderIo<'m>;
    const NAME: &'static str = "pattern_expander";

    fn validate(&self) -> Result<(), ParameterError> {
        check_lanes::<Self>(self.lanes)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &PatternExpanderIo<'m>) {
        let half = self.lanes / 2;
        let (lower, upper) = (io.bases_i.low(LANE_BITS), io.bases_i.high(LANE_BITS));
        let mut is_half_warp = m.lit(1, 0);
        let mut offsets = m.lit(self.lanes * LANE_BITS, 0);
        for pattern in Pattern::COMPRESSED.into_iter().filter(|pattern| pattern.stride() > 0) {
            let chosen = io.pattern_i.eq(pattern as u32);
            offsets = chosen.mux(self.offsets(m, pattern), offsets);
            is_half_warp = if pattern.is_half_warp() { is_half_warp | chosen } else { is_half_warp };
        }
        let upper = is_half_warp.mux(upper, lower);
        let bases = lower.replicate(half).concat(upper.replicate(half));
        io.value_o.set(bases.lane_add(offsets, LANE_BITS));
    }
}

impl PatternExpander {
    /// What each lane has more than its base.
    fn offsets<'m>(&self, m: &Module<'m>, pattern: Pattern) -> Signal<'m> {
        m.cat((0..self.lanes).map(|lane| m.lit(LANE_BITS, pattern.offset(lane, self.lanes))))
    }
}

/// Half a warp has two lanes at least: with one, every value would have a stride.
pub(super) fn check_lanes<C: Circuit>(lanes: usize) -> Result<(), ParameterError> {
    C::check_range("lanes", lanes, 4..=32)?;
    C::check(lanes.is_multiple_of(2), "lanes", lanes, "an even number")
}

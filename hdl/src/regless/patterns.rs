//! Values of a register that have a short form: which there are, how one is found, how the value is had back.

use serde::{Deserialize, Serialize};

use crate::regfile::LANE_BITS;
use crate::rtl::{Circuit, Documented, Encoding, In, Module, Out, ParameterError, Ports, Signal};

/// Bits of a short form: the first value of each half of the warp (§5.3: 8 bytes).
pub const BASES_BITS: usize = 2 * LANE_BITS;

/// How a register's value is stored: the state of 3 bits of §5.3, five patterns and "none of them".
///
/// Sums are modulo 2^32, so that a stride runs through zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encoding)]
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

    /// What each lane of `lanes` has more than its base.
    fn offsets<'m>(self, m: &Module<'m>, lanes: usize) -> Signal<'m> {
        m.cat((0..lanes).map(|lane| m.lit(LANE_BITS, self.offset(lane, lanes))))
    }

    /// The value of `lanes` lanes whose halves begin with `lower` and, if the pattern is one of halves, `upper`.
    fn value<'m>(self, m: &Module<'m>, lanes: usize, [lower, upper]: [Signal<'m>; 2]) -> Signal<'m> {
        let upper = if self.is_half_warp() { upper } else { lower };
        let bases = lower.replicate(lanes / 2).concat(upper.replicate(lanes / 2));
        bases.lane_add(self.offsets(m, lanes), LANE_BITS)
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
    #[bits(Pattern::BITS)]
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
        let mut pattern = m.lit(Pattern::BITS, Pattern::Uncompressed);
        for candidate in Pattern::COMPRESSED.into_iter().rev() {
            pattern = has(m, io.value_i, candidate).mux(m.lit(Pattern::BITS, candidate), pattern);
        }
        let is = |wanted: Pattern| pattern.eq(wanted);
        let is_half_warp = is(Pattern::HalfStride1) | is(Pattern::HalfStride4);
        let (lower, upper) = (io.value_i.lane(0, LANE_BITS), io.value_i.lane(self.lanes / 2, LANE_BITS));

        io.pattern_o.set(pattern);
        let lower = lower & (!is(Pattern::Uncompressed)).replicate(LANE_BITS);
        io.bases_o.set(lower.concat(upper & is_half_warp.replicate(LANE_BITS)));

        let short = pattern.gt(Pattern::Uncompressed);
        let back = expanded(m, self.lanes, pattern, io.bases_o);
        m.invariant("a_short_form_gives_the_value_back", short.implies(back.eq(io.value_i)));
        m.invariant("the_first_pattern_that_gives_the_value_is_taken", !self.is_passed_over(m, io));
    }
}

impl PatternMatcher {
    /// Whether a pattern gives the value back from the first lanes of both halves, and none or a later one is taken.
    fn is_passed_over<'m>(&self, m: &Module<'m>, io: &PatternMatcherIo<'m>) -> Signal<'m> {
        let halves = [0, self.lanes / 2].map(|lane| io.value_i.lane(lane, LANE_BITS));
        let taken = io.pattern_o;
        Pattern::COMPRESSED.into_iter().fold(m.lit(1, 0), |passed_over, pattern| {
            let back = pattern.value(m, self.lanes, halves).eq(io.value_i);
            let other = taken.eq(Pattern::Uncompressed) | taken.gt(pattern);
            passed_over | (back & other)
        })
    }
}

/// Whether each lane of `value` has the stride of `pattern` to the one below it.
fn has<'m>(m: &Module<'m>, value: Signal<'m>, pattern: Pattern) -> Signal<'m> {
    let lanes = value.width() / LANE_BITS;
    let pairs = lanes - 1;
    let next = value.low(pairs * LANE_BITS);
    let next = match pattern.stride() {
        0 => next,
        stride => next.lane_add(m.lit(LANE_BITS, stride).replicate(pairs), LANE_BITS),
    };
    let in_step = next.lane_eq(value.high(pairs * LANE_BITS), LANE_BITS);
    match pattern.is_half_warp() {
        // The upper half begins where it likes.
        true => in_step.low(lanes / 2 - 1).all() & in_step.high(lanes / 2 - 1).all(),
        false => in_step.all(),
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
    #[bits(Pattern::BITS)]
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
        io.value_o.set(expanded(m, self.lanes, io.pattern_i, io.bases_i));

        let (mut is_half_warp, mut other) = (m.lit(1, 0), m.lit(1, 0));
        for pattern in Pattern::COMPRESSED {
            let chosen = io.pattern_i.eq(pattern);
            other = other | (chosen & !has(m, io.value_o, pattern));
            is_half_warp = if pattern.is_half_warp() { is_half_warp | chosen } else { is_half_warp };
        }
        let begins = |lane: usize, base: Signal<'m>| io.value_o.lane(lane, LANE_BITS).eq(base);
        let upper = begins(self.lanes / 2, io.bases_i.high(LANE_BITS));
        m.invariant("a_value_has_the_pattern_it_is_made_of", !other);
        m.invariant("a_value_begins_with_its_base", begins(0, io.bases_i.low(LANE_BITS)));
        m.invariant("an_upper_half_of_its_own_begins_with_its_base", is_half_warp.implies(upper));
    }
}

/// The value of `lanes` lanes that a pattern and a short form stand for.
fn expanded<'m>(m: &Module<'m>, lanes: usize, pattern: Signal<'m>, bases: Signal<'m>) -> Signal<'m> {
    let (lower, upper) = (bases.low(LANE_BITS), bases.high(LANE_BITS));
    let mut is_half_warp = m.lit(1, 0);
    let mut offsets = m.lit(lanes * LANE_BITS, 0);
    for candidate in Pattern::COMPRESSED.into_iter().filter(|candidate| candidate.stride() > 0) {
        let chosen = pattern.eq(candidate);
        offsets = chosen.mux(candidate.offsets(m, lanes), offsets);
        is_half_warp = if candidate.is_half_warp() { is_half_warp | chosen } else { is_half_warp };
    }
    let upper = is_half_warp.mux(upper, lower);
    let bases = lower.replicate(lanes / 2).concat(upper.replicate(lanes / 2));
    bases.lane_add(offsets, LANE_BITS)
}

/// Half a warp has two lanes at least: with one, every value would have a stride.
pub(super) fn check_lanes<C: Circuit>(lanes: usize) -> Result<(), ParameterError> {
    C::check_range("lanes", lanes, 4..=32)?;
    C::check(lanes.is_multiple_of(2), "lanes", lanes, "an even number")
}

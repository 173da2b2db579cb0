//! Which memory instructions of warps that do not own what they share are executed.

use serde::{Deserialize, Serialize};

use crate::rtl::{
    Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, count_bits, index_bits,
};

/// Bits of the random number.
const RANDOM_BITS: usize = 16;
/// Stages whose exclusive or is shifted in, counted from 0: x¹⁶ + x¹⁵ + x¹³ + x⁴ + 1, of the longest period.
const TAPS: [usize; 4] = [15, 14, 12, 3];

/// Dynamic warp execution: holds back memory instructions of non-owners with a probability that follows the SM's stalls.
///
/// One SM of the chip, the first, holds all of them back. Every other one counts the cycles in which it stalls, in windows, and
/// compares each window's with the first SM's of the same window: if it stalls more, it executes fewer of these instructions
/// from then on, if less, more. The probability is a saturating counter of `steps` steps, of which all are there at reset; it
/// outlives kernels, the count of cycles does not.
///
/// The random number is a linear feedback shift register of 16 bits that is shifted by all of them in a cycle, so that
/// neighbouring cycles have no bit in common; one number decides for all warps of a cycle. It starts anew with each kernel.
///
/// Timing: who is held follows from the inputs of the same cycle. A window's count is an output in the cycle behind it, and the
/// first SM's may come then or later, once, before the next window ends; the probability has changed in the cycle behind that.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §2.3.3.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct DynamicExecution {
    /// Warps, 1 to 128.
    pub warps: usize,
    /// Cycles of a window, 2 to 65536.
    pub window: usize,
    /// Steps from never to always, 1 to 16.
    pub steps: usize,
}

/// Ports of a [`DynamicExecution`].
#[derive(Ports)]
#[params(DynamicExecution)]
pub struct DynamicExecutionIo<'m> {
    /// A kernel begins: so does a window.
    pub configure_valid_i: In<'m>,
    /// The SM is the chip's first.
    pub configure_first_i: In<'m>,
    /// What the random number starts from, not 0.
    #[bits(RANDOM_BITS)]
    pub configure_seed_i: In<'m>,
    /// The SM stalls in this cycle.
    pub stall_i: In<'m>,
    /// The first SM's stalls in the window that has ended are known.
    pub reference_valid_i: In<'m>,
    /// How many they are.
    #[bits(count_bits(p.window))]
    pub reference_stalls_i: In<'m>,
    /// Warps whose next instruction accesses memory off the chip, one bit each.
    #[bits(p.warps)]
    pub memory_i: In<'m>,
    /// Warps that share and whose block does not own, one bit each.
    #[bits(p.warps)]
    pub additional_i: In<'m>,
    /// Warps that must not issue, one bit each.
    #[bits(p.warps)]
    pub held_o: Out<'m>,
    /// A window ended in the cycle before.
    pub window_valid_o: Out<'m>,
    /// Cycles of the window that ended last in which the SM stalled.
    #[bits(count_bits(p.window))]
    pub window_stalls_o: Out<'m>,
    /// Steps of the probability: all if every memory instruction is executed, none if none is.
    #[bits(count_bits(p.steps))]
    pub probability_o: Out<'m>,
}

impl Circuit for DynamicExecution {
    type Io<'m> = DynamicExecutionIo<'m>;
    const NAME: &'static str = "dynamic_execution";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=128)?;
        Self::check_range("window", self.window, 2..=65536)?;
        Self::check_range("steps", self.steps, 1..=16)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &DynamicExecutionIo<'m>) {
        let first = m.register("first", 1).reset(0);
        let cycles = m.register("cycles", index_bits(self.window)).reset(0);
        let stalls = m.register("stalls", count_bits(self.window)).reset(0);
        let counted = m.register("counted", count_bits(self.window)).reset(0);
        let has_counted = m.register("has_counted", 1).reset(0);
        let waits = m.register("waits", 1).reset(0);
        let probability = m.register("probability", count_bits(self.steps)).reset(self.steps);
        let random = m.register("random", RANDOM_BITS).reset(1);

        let is_last = cycles.eq(self.window - 1);
        let stalled = stalls + io.stall_i.zext(count_bits(self.window));
        m.when(io.configure_valid_i, || {
            first.set(io.configure_first_i);
            random.set(io.configure_seed_i);
            cycles.set(0);
            stalls.set(0);
            has_counted.set(0);
            waits.set(0);
        })
        .otherwise(|| {
            random.set(next_random(m, random));
            cycles.set(is_last.mux(m.lit(cycles.width(), 0), cycles + m.lit(cycles.width(), 1)));
            stalls.set(is_last.mux(m.lit(stalls.width(), 0), stalled));
            has_counted.set(is_last);
            waits.set(is_last | (waits & !io.reference_valid_i));
            m.when(is_last, || {
                counted.set(stalled);
            });
        });

        let compares = io.reference_valid_i & waits & !first;
        let lowers = compares & counted.gt(io.reference_stalls_i) & probability.ne(0);
        let raises = compares & counted.lt(io.reference_stalls_i) & probability.ne(self.steps);
        let step = m.lit(probability.width(), 1);
        m.when(lowers, || {
            probability.set(probability - step);
        })
        .else_when(raises, || {
            probability.set(probability + step);
        });

        let executes = !first & self.executes(m, probability, random);
        let held = io.memory_i & io.additional_i & (!executes).replicate(self.warps);
        io.held_o.set(held);
        io.window_valid_o.set(has_counted);
        io.window_stalls_o.set(counted);
        io.probability_o.set(probability);

        m.assumption(
            "a_random_number_does_not_start_from_zero",
            io.configure_valid_i.implies(io.configure_seed_i.any()),
        );
        m.invariant("the_random_number_is_never_zero", random.any());
        m.invariant("a_window_has_no_more_stalls_than_cycles", stalls.le(cycles.zext(stalls.width())));
        m.invariant("no_more_stalls_than_a_window_has_cycles", counted.le(self.window));
        m.invariant("the_probability_is_at_most_one", probability.le(self.steps));
        m.invariant("an_owner_is_never_held_back", !(held & !io.additional_i).any());
        m.invariant("only_memory_instructions_wait", !(held & !io.memory_i).any());
        let all = io.memory_i & io.additional_i;
        m.invariant("the_first_sm_executes_none", first.implies(held.eq(all)));
        m.invariant(
            "at_probability_one_all_execute",
            (!first & probability.eq(self.steps)).implies(!held.any()),
        );
    }
}

impl DynamicExecution {
    /// Whether memory instructions are executed in a cycle: if the random number is below the probability's part of all numbers.
    fn executes<'m>(&self, m: &Module<'m>, probability: Signal<'m>, random: Signal<'m>) -> Signal<'m> {
        (1..self.steps).fold(probability.eq(self.steps), |executes, steps| {
            executes | (probability.eq(steps) & random.lt(m.lit(RANDOM_BITS, part(steps, self.steps))))
        })
    }
}

/// So many of `all` equal parts of the numbers that the register has, rounded.
fn part(steps: usize, all: usize) -> usize {
    (2 * (steps << RANDOM_BITS) + all) / (2 * all)
}

/// The register shifted by as many stages as it has.
fn next_random<'m>(m: &Module<'m>, random: Signal<'m>) -> Signal<'m> {
    (0..RANDOM_BITS).fold(random, |stages, _| {
        let fed = TAPS.iter().fold(m.lit(1, 0), |fed, stage| fed ^ stages.bit(*stage));
        fed.concat(stages.low(RANDOM_BITS - 1))
    })
}

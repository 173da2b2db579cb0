//! How many registers each warp may take, so that some warp can always go on.

use serde::{Deserialize, Serialize};

use super::{FREED, WAYS, all_below};
use crate::rtl::{
    Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, count_bits, index_bits,
};

use super::rename_table::RESULTS;

/// Allocation limiter: counts the registers of each warp and says which warps may take some.
///
/// A warp takes registers only while it is admitted, and then as many as it needs: it has a claim to the most that it
/// ever holds, and the claims of all admitted warps fit in the register file together with what the others hold.
/// Thread blocks ask for their warps in order of age, and nobody is admitted before a warp that asks. A block is
/// admitted at once if all its claims fit, else warp by warp, so that its other warps still find what each may hold
/// at a barrier, the quota. A warp keeps its claim until it ends. Only in the oldest block, where a warp waits for a
/// claim, those at the barrier give theirs up as soon as they hold no more than the quota. For the oldest block one
/// claim is always kept.
///
/// Timing: a warp may take registers from the cycle in which it is admitted on. Who is admitted depends on what is
/// held as the cycle begins.
/// Source: Jeon et al., MICRO 2015, throttle thread blocks by their worst-case demand when registers run short; the
/// quota at barriers is ours.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct AllocationLimiter {
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Physical registers, 2 to 16384.
    pub registers: usize,
    /// Instructions that take registers in a cycle, 1 or 2.
    pub issues: usize,
}

/// Ports of an [`AllocationLimiter`].
#[derive(Ports)]
#[params(AllocationLimiter)]
pub struct AllocationLimiterIo<'m> {
    /// Registers taken in this cycle.
    #[repeat(p.issues)]
    pub allocated: Vec<AllocationIo<'m>>,
    /// Registers given back in this cycle.
    #[repeat(FREED)]
    pub freed: Vec<ReturnIo<'m>>,
    /// Who is admitted.
    pub limits: LimitsIo<'m>,
    /// Registers taken and not given back, as the cycle begins.
    #[bits(count_bits(p.registers))]
    pub held_o: Out<'m>,
}

/// Registers taken by a warp.
#[derive(Ports)]
#[params(AllocationLimiter)]
pub struct AllocationIo<'m> {
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// How many.
    #[bits(count_bits(RESULTS))]
    pub count_i: In<'m>,
}

/// A register given back by a warp.
#[derive(Ports)]
#[params(AllocationLimiter)]
pub struct ReturnIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
}

/// Who is admitted.
#[derive(Ports)]
#[params(AllocationLimiter)]
pub struct LimitsIo<'m> {
    /// Warps of the oldest thread block, one bit each.
    #[bits(p.warps)]
    pub oldest_i: In<'m>,
    /// Warps of the thread block whose turn it is to ask, one bit each. Those of them ask that are not admitted; in the
    /// oldest block not those that are parked.
    #[bits(p.warps)]
    pub turn_i: In<'m>,
    /// Warps at a barrier that take no more registers before they leave it, one bit each.
    #[bits(p.warps)]
    pub parked_i: In<'m>,
    /// Warps that have ended, one bit each: they give up their claims. The next warp in the place of one may ask at once.
    #[bits(p.warps)]
    pub ended_i: In<'m>,
    /// Most registers of a warp at once. It is looked at while no warp is admitted.
    #[bits(count_bits(p.registers))]
    pub claim_i: In<'m>,
    /// Most registers of a warp at a barrier.
    #[bits(count_bits(p.registers))]
    pub quota_i: In<'m>,
    /// Warps that may take registers, one bit each.
    #[bits(p.warps)]
    pub admitted_o: Out<'m>,
}

impl Circuit for AllocationLimiter {
    type Io<'m> = AllocationLimiterIo<'m>;
    const NAME: &'static str = "allocation_limiter";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("registers", self.registers, 2..=16384)?;
        Self::check_range("issues", self.issues, 1..=WAYS)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &AllocationLimiterIo<'m>) {
        let bits = count_bits(self.registers);
        let held = m.register("held", self.warps * bits).reset(0);
        let total = m.register("total", bits).reset(0);
        let mut next = held;
        let mut next_total = total;
        for taken in &io.allocated {
            let count = taken.count_i.zext(bits.max(taken.count_i.width())).low(bits);
            next = next.lane_add(self.at_warp(taken.warp_i, count), bits);
            next_total = next_total + count;
        }
        for freed in &io.freed {
            let minus_one = freed.valid_i.replicate(bits);
            next = next.lane_add(self.at_warp(freed.warp_i, minus_one), bits);
            next_total = next_total + minus_one;
        }
        held.set(next);
        total.set(next_total);
        io.held_o.set(total);
        let admitted = m.register("admitted", self.warps).reset(0);
        let claim = self.claim(m, io.limits.claim_i, admitted);
        let next_admitted = self.admit(m, &io.limits, admitted, (held, claim));
        admitted.set(next_admitted);
        io.limits.admitted_o.set(next_admitted);

        let takers = self.takers(m, io);
        m.assumption("only_admitted_warps_take_registers", !(takers & !next_admitted).any());
        self.check_claims(m, admitted, (held, claim));
        let taken = io.allocated.iter().map(|taken| (taken.count_i.ne(0), taken.warp_i));
        let freed = io.freed.iter().map(|freed| (freed.valid_i, freed.warp_i));
        m.assumption("a_warp_is_one_of_those_there_are", all_below(m, taken.chain(freed), self.warps));
        // Sums of counts of all warps fit in twice the bits.
        let sum = (0..self.warps)
            .map(|warp| held.lane(warp, bits).zext(2 * bits))
            .fold(m.lit(2 * bits, 0), |sum, count| sum + count);
        m.invariant("the_total_is_the_sum_over_warps", sum.eq(total.zext(2 * bits)));
        m.invariant("no_more_is_held_than_there_is", total.le(self.registers));
    }
}

impl AllocationLimiter {
    /// `count` in the lane of `warp`, 0 in the others.
    fn at_warp<'m>(&self, warp: Signal<'m>, count: Signal<'m>) -> Signal<'m> {
        warp.decode(self.warps).spread(count.width()) & count.replicate(self.warps)
    }

    /// The claim of every warp, which stays while one is admitted.
    fn claim<'m>(&self, m: &Module<'m>, claim: Signal<'m>, admitted: Signal<'m>) -> Signal<'m> {
        let kept = m.register("claim", count_bits(self.registers)).reset(0);
        let claim = admitted.any().mux(kept, claim);
        kept.set(claim);
        claim
    }

    /// The warps that are admitted from this cycle on: some that ask are, and some at the barrier of the oldest block
    /// give up their claims.
    fn admit<'m>(
        &self,
        m: &Module<'m>,
        limits: &LimitsIo<'m>,
        admitted: Signal<'m>,
        (held, claim): (Signal<'m>, Signal<'m>),
    ) -> Signal<'m> {
        let oldest = limits.oldest_i;
        let kept = admitted & !limits.ended_i;
        let asking = limits.turn_i & !kept & !(oldest & limits.parked_i);
        let oldest_asks = (asking & oldest).any();
        // Whichever warp of the oldest block asks next has its claim.
        let spoken_for = (kept & oldest).any() | oldest_asks;
        let promised = kept | (oldest.lowest_one() & (!spoken_for).replicate(self.warps));
        let fit = |more: Signal<'m>| {
            let quotas = (oldest | limits.turn_i).spread(limits.quota_i.width())
                & limits.quota_i.replicate(self.warps);
            self.sum(m, promised | more, claim, self.higher(m, held, quotas)).le(self.registers)
        };
        let first = asking.lowest_one();
        let all_fit = fit(asking).named("all_fit");
        let first_fits = fit(first).named("first_fits");
        let granted = all_fit.mux(asking, first & first_fits.replicate(self.warps)).named("granted");

        let waits = oldest_asks & !all_fit & !first_fits;
        let low = m.cat((0..self.warps).map(|warp| self.of_warp(held, warp).le(limits.quota_i)));
        let given_up = kept & oldest & limits.parked_i & low & waits.replicate(self.warps);
        (kept | granted) & !given_up
    }

    /// What a warp has of `counts`.
    fn of_warp<'m>(&self, counts: Signal<'m>, warp: usize) -> Signal<'m> {
        counts.lane(warp, count_bits(self.registers))
    }

    /// The higher of two counts, for each warp.
    fn higher<'m>(&self, m: &Module<'m>, a: Signal<'m>, b: Signal<'m>) -> Signal<'m> {
        m.cat((0..self.warps).map(|warp| {
            let (a, b) = (self.of_warp(a, warp), self.of_warp(b, warp));
            a.gt(b).mux(a, b)
        }))
    }

    /// The sum over all warps of their claim, or of a count if they have none.
    fn sum<'m>(
        &self,
        m: &Module<'m>,
        claiming: Signal<'m>,
        claim: Signal<'m>,
        counts: Signal<'m>,
    ) -> Signal<'m> {
        let bits = count_bits(self.registers) + count_bits(self.warps);
        let terms = (0..self.warps)
            .map(|warp| claiming.bit(warp).mux(claim, self.of_warp(counts, warp)).zext(bits))
            .collect();
        balanced(m, terms, bits)
    }

    /// Warps that take registers in this cycle.
    fn takers<'m>(&self, m: &Module<'m>, io: &AllocationLimiterIo<'m>) -> Signal<'m> {
        io.allocated.iter().fold(m.lit(self.warps, 0), |takers, taken| {
            takers | (taken.warp_i.decode(self.warps) & taken.count_i.ne(0).replicate(self.warps))
        })
    }

    /// Every admitted warp finds the registers that it has a claim to, now or when dead ones have come back, which it
    /// may hold beyond its claim until then.
    fn check_claims<'m>(
        &self,
        m: &Module<'m>,
        admitted: Signal<'m>,
        (held, claim): (Signal<'m>, Signal<'m>),
    ) {
        let alive = m.cat((0..self.warps).map(|warp| {
            let held = self.of_warp(held, warp);
            held.gt(claim).mux(claim, held)
        }));
        let promised = self.sum(m, admitted, claim, alive);
        m.invariant("what_is_promised_and_held_fits", promised.le(self.registers));
    }
}

/// The sum of terms of the same width, as a tree.
fn balanced<'m>(m: &Module<'m>, mut terms: Vec<Signal<'m>>, bits: usize) -> Signal<'m> {
    while terms.len() > 1 {
        terms = terms.chunks(2).filter_map(|pair| pair.iter().copied().reduce(|a, b| a + b)).collect();
    }
    terms.pop().unwrap_or(m.lit(bits, 0))
}

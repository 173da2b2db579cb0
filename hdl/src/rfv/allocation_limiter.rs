//! How many registers each warp may take, so that some warp can always go on.

use serde::{Deserialize, Serialize};

use super::{FREED, WAYS, all_below};
use crate::rtl::{
    Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, count_bits, index_bits,
};

use super::rename_table::RESULTS;

/// Bits of an allowance.
pub const ALLOWANCE_BITS: usize = 4;
/// The highest allowance: more than three instructions take.
pub const MAX_ALLOWANCE: usize = (1 << ALLOWANCE_BITS) - 1;

/// Allocation limiter: counts the registers of each warp and says how many more it may take.
///
/// One warp goes first: the first of the oldest thread block that does not wait at a barrier. It may take what it
/// needs. The other warps of its block may each take as many as a warp holds at a barrier, the quota. What all but the
/// first have beyond that is at most the slack: the registers that are left when the first holds the most it ever
/// does and the others of its block their quota. So whichever warp goes first finds a free register, comes to its end or to a barrier,
/// and lets the next go first.
///
/// Timing: the allowance counts what is taken and given back in the same cycle.
/// Source: Jeon et al., MICRO 2015, throttle thread blocks by their worst-case demand when registers run short; the
/// quota at barriers is ours.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct AllocationLimiter {
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Physical registers, 2 to 16384.
    pub registers: usize,
}

/// Ports of an [`AllocationLimiter`].
#[derive(Ports)]
#[params(AllocationLimiter)]
pub struct AllocationLimiterIo<'m> {
    /// Registers taken in this cycle.
    #[repeat(WAYS)]
    pub allocated: Vec<AllocationIo<'m>>,
    /// Registers given back in this cycle.
    #[repeat(FREED)]
    pub freed: Vec<ReturnIo<'m>>,
    /// Who goes first, and what is kept for its block.
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

/// Who goes first, what is kept for it and its block, and what that leaves to each warp.
#[derive(Ports)]
#[params(AllocationLimiter)]
pub struct LimitsIo<'m> {
    /// Warps of the oldest thread block, one bit each.
    #[bits(p.warps)]
    pub oldest_i: In<'m>,
    /// The warp that goes first, one-hot; 0 if there is none.
    #[bits(p.warps)]
    pub first_i: In<'m>,
    /// Registers that each warp of the oldest block may have.
    #[bits(count_bits(p.registers))]
    pub quota_i: In<'m>,
    /// Registers that all warps but the first may have beyond their quota.
    #[bits(count_bits(p.registers))]
    pub slack_i: In<'m>,
    /// Registers that each warp may take, at most [`MAX_ALLOWANCE`].
    #[bits(p.warps * ALLOWANCE_BITS)]
    pub allowance_o: Out<'m>,
}

impl Circuit for AllocationLimiter {
    type Io<'m> = AllocationLimiterIo<'m>;
    const NAME: &'static str = "allocation_limiter";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("registers", self.registers, 2..=16384)
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
        self.allow(m, io, next);

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

    /// What each warp may take, given what each holds.
    fn allow<'m>(&self, m: &Module<'m>, io: &AllocationLimiterIo<'m>, held: Signal<'m>) {
        let bits = count_bits(self.registers);
        // Wide enough for an allowance, and for the sum of what all warps hold.
        let wide = bits.max(ALLOWANCE_BITS) + 1;
        let limits = &io.limits;
        let mut beyond = m.lit(wide, 0);
        let mut below = Vec::new();
        for warp in 0..self.warps {
            let count = held.lane(warp, bits);
            let quota = limits.oldest_i.bit(warp).mux(limits.quota_i, 0);
            let over = count.gt(quota) & !limits.first_i.bit(warp);
            beyond = beyond + over.mux(count - quota, 0).zext(wide);
            below.push(quota.gt(count).mux(quota - count, 0).zext(wide));
        }
        let slack = limits.slack_i.zext(wide);
        let room = slack.gt(beyond).mux(slack - beyond, 0);
        let allowances = below.into_iter().enumerate().map(|(warp, below)| {
            let sum = room + below;
            let unlimited = limits.first_i.bit(warp) | sum.gt(MAX_ALLOWANCE);
            unlimited.mux(m.lit(ALLOWANCE_BITS, MAX_ALLOWANCE), sum.low(ALLOWANCE_BITS))
        });
        limits.allowance_o.set(m.cat(allowances));
    }
}

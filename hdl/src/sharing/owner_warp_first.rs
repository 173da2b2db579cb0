//! The owner-warp-first scheduler.

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// OWF scheduler: picks owner warps before unshared ones before non-owner ones, in each class the oldest that is ready.
///
/// A warp is as old as its time in its slot; of warps that come together the one with the lowest number is the oldest. One
/// warp that has ended leaves in a cycle, the lowest first.
///
/// Timing: picked and left in the cycle of the inputs. A warp that comes in a cycle can be picked in it, as the youngest.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §2.3.1 ("OWF"; warps of one class
/// by their dynamic ids, §2.5.1.8).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct OwnerWarpFirst {
    /// Warps, 1 to 64.
    pub warps: usize,
}

/// Ports of an [`OwnerWarpFirst`].
#[derive(Ports)]
#[params(OwnerWarpFirst)]
pub struct OwnerWarpFirstIo<'m> {
    /// Warps that have not ended.
    #[bits(p.warps)]
    pub resident_i: In<'m>,
    /// Warps whose next instruction can issue.
    #[bits(p.warps)]
    pub ready_i: In<'m>,
    /// Warps to pick from first: those of owner blocks.
    #[bits(p.warps)]
    pub first_i: In<'m>,
    /// Warps to pick from last: those that share and do not own.
    #[bits(p.warps)]
    pub last_i: In<'m>,
    /// An instruction can issue in this cycle.
    pub issue_enable_i: In<'m>,
    /// A warp issues.
    pub issue_valid_o: Out<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub issue_warp_o: Out<'m>,
    /// A warp leaves because it has ended.
    pub retire_valid_o: Out<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub retire_warp_o: Out<'m>,
}

/// Which of two warps is older, for each two.
struct Ages<'m> {
    warps: usize,
    /// Bit `index(a, b)`, a < b: warp a is older than warp b.
    lower_is_older: Option<Signal<'m>>,
}

impl Circuit for OwnerWarpFirst {
    type Io<'m> = OwnerWarpFirstIo<'m>;
    const NAME: &'static str = "owner_warp_first";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &OwnerWarpFirstIo<'m>) {
        let known = m.register("known", self.warps).reset(0);
        let ages = Ages::new(m, self.warps);
        let ended = known & !io.resident_i;
        known.set(io.resident_i | (ended & !ended.lowest_one()));
        io.retire_valid_o.set(ended.any());
        io.retire_warp_o.set(ended.priority_encode()).valid_when(ended.any());

        let older = ages.after(m, io.resident_i & !known);
        let ready = io.ready_i & io.resident_i;
        let [first, last] = [ready & io.first_i, ready & !io.first_i & io.last_i];
        let middle = ready & !io.first_i & !io.last_i;
        let candidates = first.any().mux(first, middle.any().mux(middle, last)).named("candidates");
        let picked = ages.oldest(m, older, candidates);
        let valid = io.issue_enable_i & ready.any();
        io.issue_valid_o.set(valid);
        io.issue_warp_o.set(picked.priority_encode()).valid_when(valid);

        m.assumption("a_warp_is_of_one_class", !(io.first_i & io.last_i).any());
        let picks = picked & valid.replicate(self.warps);
        m.invariant("a_ready_warp_is_picked_if_there_is_one", (valid & !(picks & ready).any()).eq(0));
        m.invariant("one_warp_is_picked", picks.eq(picks.lowest_one()));
        m.invariant("no_unshared_warp_goes_before_an_owner", !((picks & !io.first_i).any() & first.any()));
        m.invariant("no_non_owner_goes_before_another", !((picks & last).any() & (first | middle).any()));
    }
}

impl<'m> Ages<'m> {
    fn new(m: &Module<'m>, warps: usize) -> Ages<'m> {
        let pairs = warps * (warps - 1) / 2;
        let lower_is_older = (pairs > 0).then(|| m.register("lower_is_older", pairs).reset(0));
        Ages { warps, lower_is_older }
    }

    /// Every two warps, the lower first, in the order of the bits.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.warps).flat_map(|high| (0..high).map(move |low| (low, high)))
    }

    /// The ages when warps have come, which are the youngest; kept for the next cycle.
    fn after(&self, m: &Module<'m>, come: Signal<'m>) -> Option<Signal<'m>> {
        let kept = self.lower_is_older?;
        let bits = self.pairs().enumerate().map(|(bit, (low, high))| {
            let [low, high] = [come.bit(low), come.bit(high)];
            high | (!low & kept.bit(bit))
        });
        let now = m.cat(bits);
        kept.set(now);
        Some(now)
    }

    /// Of the candidates the one than which none is older.
    fn oldest(&self, m: &Module<'m>, older: Option<Signal<'m>>, candidates: Signal<'m>) -> Signal<'m> {
        let mut beaten = vec![m.lit(1, 0); self.warps];
        for (bit, (low, high)) in self.pairs().enumerate() {
            let Some(older) = older.map(|older| older.bit(bit)) else { continue };
            beaten[high] = beaten[high] | (candidates.bit(low) & older);
            beaten[low] = beaten[low] | (candidates.bit(high) & !older);
        }
        candidates & !m.cat(beaten)
    }
}

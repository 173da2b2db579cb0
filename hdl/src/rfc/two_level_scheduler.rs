//! The two-level warp scheduler.

use serde::{Deserialize, Serialize};

use crate::parts::turn;
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Which ready warp of the active set issues (§3.2, "Scheduling").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InnerPolicy {
    /// The one that issued last for as long as it is ready, then the next; the paper's choice.
    Greedy,
    /// Always the next after the one that issued last.
    RoundRobin,
}

/// Two-level warp scheduler: a small active set that issues, and the other warps that wait.
///
/// A warp of the active set has a slot. In one cycle one active warp that is ready issues; one that asks to be
/// suspended, or else one that has ended, gives up its slot; and one waiting warp that is eligible gets a free slot
/// that is not busy, in rotating order. A slot given up may be busy for a while, as its registers are written back;
/// until then its warp gets no other slot, where it would miss them. With as many slots as warps this is a
/// single-level scheduler.
///
/// Timing: decisions are made in the cycle of the inputs. A warp that gets a slot can issue from the next cycle on; a
/// slot given up can be given away from the next cycle on.
/// Source: Gebhart et al., ISCA 2011, §3.2 and Fig. 4.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct TwoLevelScheduler {
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Slots of the active set, 1 to `warps`.
    pub slots: usize,
    /// Which ready warp issues.
    pub policy: InnerPolicy,
}

/// Ports of a [`TwoLevelScheduler`].
#[derive(Ports)]
#[params(TwoLevelScheduler)]
pub struct TwoLevelSchedulerIo<'m> {
    /// Warps that have not ended.
    #[bits(p.warps)]
    pub resident_i: In<'m>,
    /// Warps whose next instruction can issue.
    #[bits(p.warps)]
    pub ready_i: In<'m>,
    /// Warps that leave the active set if they are in it.
    #[bits(p.warps)]
    pub suspend_i: In<'m>,
    /// Waiting warps that may enter the active set.
    #[bits(p.warps)]
    pub eligible_i: In<'m>,
    /// Slots that cannot be given away yet.
    #[bits(p.slots)]
    pub slot_busy_i: In<'m>,
    /// An instruction can issue in this cycle.
    pub issue_enable_i: In<'m>,
    /// Issues.
    pub issue: DecisionIo<'m>,
    /// Gives up its slot and waits.
    pub suspend: DecisionIo<'m>,
    /// Gives up its slot because it has ended.
    pub retire: DecisionIo<'m>,
    /// Gets a slot.
    pub activate: DecisionIo<'m>,
}

/// A warp and its slot.
#[derive(Clone, Ports)]
#[params(TwoLevelScheduler)]
pub struct DecisionIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_o: Out<'m>,
    /// The slot.
    #[bits(index_bits(p.slots))]
    pub slot_o: Out<'m>,
}

/// The active set.
struct ActiveSet<'m> {
    /// Slots that a warp holds.
    occupied: Signal<'m>,
    /// The warp of each slot.
    warps: Vec<Signal<'m>>,
}

impl Circuit for TwoLevelScheduler {
    type Io<'m> = TwoLevelSchedulerIo<'m>;
    const NAME: &'static str = "two_level_scheduler";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("slots", self.slots, 1..=self.warps)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &TwoLevelSchedulerIo<'m>) {
        let warp_of = |slot| m.register(format!("warp{slot}"), index_bits(self.warps)).no_reset();
        let set = ActiveSet {
            occupied: m.register("occupied", self.slots).reset(0),
            warps: (0..self.slots).map(warp_of).collect(),
        };
        self.issue(m, io, &set);
        let left = self.leave(m, io, &set);
        let entered = self.enter(m, io, &set);
        set.occupied.set((set.occupied & !left) | entered);

        let active = self.warps_of(m, &set, set.occupied);
        let held = set.occupied.popcount();
        m.invariant("a_warp_holds_at_most_one_slot", active.popcount().zext(8).eq(held.zext(8)));
        m.invariant("a_slot_is_not_left_and_entered_at_once", !(left & entered).any());
    }
}

impl TwoLevelScheduler {
    fn issue<'m>(&self, m: &Module<'m>, io: &TwoLevelSchedulerIo<'m>, set: &ActiveSet<'m>) {
        let ready = self.of_slots(m, set, io.ready_i & !io.suspend_i & io.resident_i);
        let last = m.register("last_issued", index_bits(self.slots)).reset(0);
        let next = turn::first(ready, turn::behind(last, self.slots));
        let slot = match self.policy {
            InnerPolicy::Greedy => ready.lane_select(last, 1).mux(last, next),
            InnerPolicy::RoundRobin => next,
        };
        let valid = io.issue_enable_i & ready.any();
        m.when(valid, || {
            last.set(slot);
        });
        self.decide(m, &io.issue, valid, slot, set);
    }

    /// The slots given up in this cycle, one bit each: at most one.
    fn leave<'m>(&self, m: &Module<'m>, io: &TwoLevelSchedulerIo<'m>, set: &ActiveSet<'m>) -> Signal<'m> {
        let suspended = self.of_slots(m, set, io.suspend_i & io.resident_i);
        let ended = self.of_slots(m, set, !io.resident_i);
        let suspend = suspended.any();
        self.decide(m, &io.suspend, suspend, suspended.priority_encode(), set);
        self.decide(m, &io.retire, ended.any() & !suspend, ended.priority_encode(), set);
        suspend.mux(suspended.lowest_one(), ended.lowest_one())
    }

    /// The slots given away in this cycle, one bit each: at most one.
    fn enter<'m>(&self, m: &Module<'m>, io: &TwoLevelSchedulerIo<'m>, set: &ActiveSet<'m>) -> Signal<'m> {
        let settled = !self.warps_of(m, set, set.occupied | io.slot_busy_i);
        let waiting = io.resident_i & io.eligible_i & settled;
        let last = m.register("last_entered", index_bits(self.warps)).reset(0);
        let warp = turn::first(waiting, turn::behind(last, self.warps));
        let free = !set.occupied & !io.slot_busy_i;
        let slot = free.priority_encode();
        let valid = waiting.any() & free.any();
        m.when(valid, || {
            last.set(warp);
        });
        let entered = free.lowest_one() & valid.replicate(self.slots);
        for (s, of_slot) in set.warps.iter().enumerate() {
            m.when(entered.bit(s), || {
                of_slot.set(warp);
            });
        }
        io.activate.valid_o.set(valid);
        io.activate.warp_o.set(warp).valid_when(valid);
        io.activate.slot_o.set(slot).valid_when(valid);
        entered
    }

    /// For each occupied slot the bit of its warp in `warps`.
    fn of_slots<'m>(&self, m: &Module<'m>, set: &ActiveSet<'m>, warps: Signal<'m>) -> Signal<'m> {
        m.cat(set.warps.iter().map(|&warp| warps.lane_select(warp, 1))) & set.occupied
    }

    /// The warps that hold `slots`, or held them last.
    fn warps_of<'m>(&self, m: &Module<'m>, set: &ActiveSet<'m>, slots: Signal<'m>) -> Signal<'m> {
        set.warps.iter().enumerate().fold(m.lit(self.warps, 0), |warps, (s, &warp)| {
            warps | (warp.decode(self.warps) & slots.bit(s).replicate(self.warps))
        })
    }

    fn decide<'m>(
        &self,
        m: &Module<'m>,
        decision: &DecisionIo<'m>,
        valid: Signal<'m>,
        slot: Signal<'m>,
        set: &ActiveSet<'m>,
    ) {
        let warp = m.cat(set.warps.iter().copied()).lane_select(slot, index_bits(self.warps));
        decision.valid_o.set(valid);
        decision.warp_o.set(warp).valid_when(valid);
        decision.slot_o.set(slot).valid_when(valid);
    }
}

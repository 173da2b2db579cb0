//! Who may hold how many lines of a bank.

use serde::{Deserialize, Serialize};

use super::geometry::ShardGeometry;
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal};

/// Bits of a warp's number of lines: more than 64 lines need, but whole bytes, of which software adds many at a time.
const LANE_BITS: usize = 8;

/// Line ledger: of one bank of the staging unit, how many lines each warp's region may hold, how many it holds, and
/// how many are left for other regions.
///
/// A region is allowed its lines when it is activated. When it has made its last access, what it does not hold is
/// given back at once, and the rest line by line as its last results are written.
///
/// Timing: what a cycle changes is seen from the next. In the cycle in which a warp settles it gains no line.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5.1 and Fig. 9 (free registers of each bank).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct LineLedger {
    /// Warps and lines of the shard.
    pub geometry: ShardGeometry,
}

/// Ports of a [`LineLedger`].
#[derive(Ports)]
#[params(LineLedger)]
pub struct LineLedgerIo<'m> {
    /// A region begins and is allowed lines.
    pub allow: AllowIo<'m>,
    /// A region has made its last access.
    #[with(p.geometry)]
    pub settle: LedgerWarpIo<'m>,
    /// A warp holds a line more.
    #[with(p.geometry)]
    pub more: LedgerWarpIo<'m>,
    /// A warp holds a line less, after an access.
    #[with(p.geometry)]
    pub less: LedgerWarpIo<'m>,
    /// A warp holds a line less, after a result was written.
    #[with(p.geometry)]
    pub written_less: LedgerWarpIo<'m>,
    /// Lines of the bank that no region holds.
    #[bits(p.geometry.line_count_bits())]
    pub listed_i: In<'m>,
    /// Lines that are left for regions that begin.
    #[bits(p.geometry.line_count_bits())]
    pub left_o: Out<'m>,
    /// Warps that hold less than they may.
    #[bits(p.geometry.warps)]
    pub may_hold_o: Out<'m>,
    /// Warps that hold a line at the end of the cycle; for invariants.
    #[bits(p.geometry.warps)]
    pub holds_o: Out<'m>,
}

/// A region that begins.
#[derive(Ports)]
#[params(LineLedger)]
pub struct AllowIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its warp, which holds nothing.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// Lines it may hold, no more than are left.
    #[bits(p.geometry.line_count_bits())]
    pub lines_i: In<'m>,
}

/// A warp, if there is one.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct LedgerWarpIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
}

impl Circuit for LineLedger {
    type Io<'m> = LineLedgerIo<'m>;
    const NAME: &'static str = "line_ledger";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()
    }

    fn build<'m>(&self, m: &Module<'m>, io: &LineLedgerIo<'m>) {
        let g = &self.geometry;
        let bits = LANE_BITS;
        // A lane a warp: lines it may hold, and lines it holds.
        let allowed = m.register("allowed", g.warps * bits).reset(0);
        let held = m.register("held", g.warps * bits).reset(0);
        // Warps whose region has made its last access.
        let settled = m.register("settled", g.warps).reset(0);
        let left = m.register("left", g.line_count_bits()).reset(g.lines);

        let warps = |event: &LedgerWarpIo<'m>| self.one_hot(event.valid_i, event.warp_i);
        let begins = self.one_hot(io.allow.valid_i, io.allow.warp_i);
        let settles = warps(&io.settle);
        let written_less = warps(&io.written_less);
        let one_less = |warps: Signal<'m>| warps.spread(bits);
        let now_held = held
            .lane_add(warps(&io.more).spread(bits) & self.each(m, 1), bits)
            .lane_add(one_less(warps(&io.less)), bits)
            .lane_add(one_less(written_less), bits);
        held.set(now_held);
        let gives_back = (written_less & settled).any().named("gives_back");
        let fewer = allowed.lane_add(one_less(written_less & settled), bits);
        let begun = begins.spread(bits) & io.allow.lines_i.zext(bits).replicate(g.warps);
        let settled_at = settles.spread(bits) & now_held;
        allowed.set(begun | settled_at | (fewer & !(begins | settles).spread(bits)));
        settled.set((settled & !begins) | settles);

        let of_settling = |lanes: Signal<'m>| lanes.lane_select(io.settle.warp_i, bits).low(left.width());
        let surplus = io.settle.valid_i.mux(of_settling(allowed) - of_settling(now_held), 0);
        let taken = io.allow.valid_i.mux(io.allow.lines_i, 0);
        let given_back = surplus + gives_back.zext(left.width());
        left.set(left - taken + given_back);

        io.left_o.set(left);
        io.may_hold_o.set((allowed ^ held).group_or(bits));
        io.holds_o.set(now_held.group_or(bits));
        m.invariant("no_region_is_allowed_more_than_is_left", taken.le(left));
        let wide = |lines: Signal<'m>| lines.zext(bits + 8);
        let sum = |lanes: Signal<'m>| {
            (0..g.warps).fold(m.lit(bits + 8, 0), |sum, w| sum + wide(lanes.lane(w, bits)))
        };
        m.invariant("lines_are_left_or_allowed", (wide(left) + sum(allowed)).eq(m.lit(bits + 8, g.lines)));
        let not_taken = sum(allowed) - sum(held);
        m.assumption(
            "lines_left_are_those_on_lists_but_for_those_allowed",
            (wide(left) + not_taken).eq(wide(io.listed_i)),
        );
        self.assume(m, io, held, settled, begins);
        m.invariant(
            "a_region_that_has_made_its_last_access_holds_all_it_may",
            !(settled & (allowed ^ held).group_or(bits)).any(),
        );
        let over = m.cat((0..g.warps).map(|warp| held.lane(warp, bits).gt(allowed.lane(warp, bits))));
        m.invariant("no_region_holds_more_than_it_may", !over.any());
    }
}

impl LineLedger {
    /// The bit of `warp`, if `valid`.
    fn one_hot<'m>(&self, valid: Signal<'m>, warp: Signal<'m>) -> Signal<'m> {
        warp.decode(self.geometry.warps) & valid.replicate(self.geometry.warps)
    }

    /// What whoever holds lines keeps to.
    fn assume<'m>(
        &self,
        m: &Module<'m>,
        io: &LineLedgerIo<'m>,
        held: Signal<'m>,
        settled: Signal<'m>,
        begins: Signal<'m>,
    ) {
        let bits = LANE_BITS;
        let warps = |event: &LedgerWarpIo<'m>| self.one_hot(event.valid_i, event.warp_i);
        let more = warps(&io.more);
        m.assumption("a_line_more_is_held_by_who_may", !(more & !io.may_hold_o).any());
        let (less, written_less) = (warps(&io.less), warps(&io.written_less));
        let less_than_none = m.cat((0..self.geometry.warps).map(|warp| {
            let fewer = less.bit(warp).zext(bits) + written_less.bit(warp).zext(bits);
            held.lane(warp, bits).lt(fewer)
        }));
        m.assumption("a_line_less_is_held_by_who_holds_one", !less_than_none.any());
        m.assumption("a_region_that_has_made_its_last_access_makes_none", !(less & settled).any());
        m.assumption("a_region_begins_without_a_line", !(begins & (held.group_or(bits) | more)).any());
    }

    /// `value` for each warp.
    fn each<'m>(&self, m: &Module<'m>, value: usize) -> Signal<'m> {
        m.lit(LANE_BITS, value).replicate(self.geometry.warps)
    }
}

//! Warps in the order in which they ran last.

use serde::{Deserialize, Serialize};

use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, count_bits, index_bits,
};

/// Warp stack: inactive warps, the one that ran last on top, whose registers are most likely to be staged still.
///
/// Timing: a warp that is pushed is the top in the same cycle, and is not kept if it is popped at once.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5.1 and Fig. 9.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct WarpStack {
    /// Warps, 1 to 64.
    pub warps: usize,
}

/// Ports of a [`WarpStack`].
#[derive(Ports)]
#[params(WarpStack)]
pub struct WarpStackIo<'m> {
    /// A warp is pushed, which is not on the stack.
    pub push_valid_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub push_warp_i: In<'m>,
    /// There is a warp on the stack.
    pub top_valid_o: Out<'m>,
    /// The top.
    #[bits(index_bits(p.warps))]
    pub top_warp_o: Out<'m>,
    /// The top is popped.
    pub pop_i: In<'m>,
}

/// A warp on the stack.
#[derive(Clone, Copy, Record)]
#[params(WarpStack)]
struct Entry<T = Field> {
    #[bits(index_bits(p.warps))]
    warp: T,
}

impl Circuit for WarpStack {
    type Io<'m> = WarpStackIo<'m>;
    const NAME: &'static str = "warp_stack";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &WarpStackIo<'m>) {
        let bits = index_bits(self.warps);
        let stack = m.table::<Entry>("stack", self.warps, self).ports(1, 1);
        let height = m.register("height", count_bits(self.warps)).reset(0);
        let row = |height: crate::rtl::Signal<'m>| height.zext(bits + 1).low(bits);

        let below = (height - 1).named("below");
        io.top_valid_o.set(io.push_valid_i | height.ne(0));
        let pops = (io.pop_i & io.top_valid_o).named("pops");
        let stays = (io.push_valid_i & !pops).named("stays");
        let leaves = (pops & !io.push_valid_i).named("leaves");
        let stored = stack.read("top", row(below), leaves).warp;
        io.top_warp_o.set(io.push_valid_i.mux(io.push_warp_i, stored)).valid_when(io.top_valid_o);
        m.when(stays, || {
            stack.write("push", row(height), Entry { warp: io.push_warp_i });
            height.set(height + 1);
        })
        .else_when(leaves, || {
            height.set(below);
        });
        m.invariant("a_stack_never_holds_more_than_all_warps", height.le(self.warps));
        m.assumption("a_full_stack_takes_no_warp", stays.implies(height.ne(self.warps)));
    }
}

//! What warps have stored and which barriers they have passed.

use serde::{Deserialize, Serialize};

use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, index_bits,
};

/// Load guard: says of a warp's load whether an earlier load may stand for it.
///
/// A warp has two store flags and a count of the barriers that it has passed. A store sets the flag of its space, an access that
/// orders others sets both; a barrier clears them and counts. A load may not be reused while the flag of its space is set, nor
/// once the count is at its maximum, where it stays; loads of different counts are different.
///
/// Timing: an instruction gets the state of its warp in the same cycle and changes it for the next.
/// Source: Kim & Ro, WIR, §VI-A: two flags a warp, 5 bits of barriers. The paper counts for each block; its warps pass the same
/// barriers, so that a warp's count is its block's.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct LoadGuard {
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Bits of a count of barriers, 1 to 8 (Fig. 9: 5).
    pub barrier_bits: usize,
}

/// Ports of a [`LoadGuard`].
#[derive(Ports)]
#[params(LoadGuard)]
pub struct LoadGuardIo<'m> {
    /// There is an instruction.
    pub valid_i: In<'m>,
    /// Its warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// It stores to the scratchpad, or orders accesses to it.
    pub stores_scratchpad_i: In<'m>,
    /// It stores to global memory, or orders accesses to it.
    pub stores_global_i: In<'m>,
    /// It is a barrier.
    pub barrier_i: In<'m>,
    /// Warps that start, one bit each: they have stored nothing and passed no barrier.
    #[bits(p.warps)]
    pub start_i: In<'m>,
    /// A load of the warp from the scratchpad may be reused.
    pub scratchpad_o: Out<'m>,
    /// A load of the warp from global memory may be reused.
    pub global_o: Out<'m>,
    /// Barriers that the warp has passed.
    #[bits(p.barrier_bits)]
    pub barriers_o: Out<'m>,
}

/// The count of a warp.
#[derive(Clone, Copy, Record)]
#[params(LoadGuard)]
struct Passed<T = Field> {
    /// Barriers.
    #[bits(p.barrier_bits)]
    barriers: T,
}

impl Circuit for LoadGuard {
    type Io<'m> = LoadGuardIo<'m>;
    const NAME: &'static str = "load_guard";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("barrier_bits", self.barrier_bits, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &LoadGuardIo<'m>) {
        let counts = m.table::<Passed>("counts", self.warps, self);
        let counted = m.register("counted", self.warps).reset(0);
        let own = io.warp_i.decode(self.warps);
        let of_warp = own & io.valid_i.replicate(self.warps);
        let has_counted = (counted & own).any();
        let read = counts.read("warp", io.warp_i, io.valid_i & has_counted);
        let barriers = has_counted.mux(read.barriers, m.lit(self.barrier_bits, 0)).named("barriers");
        let is_full = barriers.all();

        let flag = |name: &str, sets| {
            let stored = m.register(name, self.warps).reset(0);
            let may_reuse = io.valid_i & !is_full & !(stored & own).any();
            let cleared = stored & !(of_warp & io.barrier_i.replicate(self.warps));
            stored.set((cleared | of_warp & sets) & !io.start_i);
            may_reuse
        };
        let sets = |stores: Signal<'m>| (stores & !io.barrier_i).replicate(self.warps);
        io.scratchpad_o.set(flag("scratchpad_stored", sets(io.stores_scratchpad_i)));
        io.global_o.set(flag("global_stored", sets(io.stores_global_i)));
        io.barriers_o.set(barriers).valid_when(io.valid_i);

        let counts_one = (io.valid_i & io.barrier_i & !is_full).named("counts_one");
        counted.set((counted | of_warp & counts_one.replicate(self.warps)) & !io.start_i);
        m.when(counts_one, || {
            counts.write("pass", io.warp_i, Passed { barriers: barriers + 1 });
        });
        let exists = io.warp_i.zext(io.warp_i.width() + 1).lt(self.warps);
        m.assumption("warps_are_those_there_are", io.valid_i.implies(exists));
        m.invariant("a_count_at_its_maximum_stays", is_full.implies(!counts_one));
    }
}

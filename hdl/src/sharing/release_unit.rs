//! Which thread blocks have released the scratchpad that they share: `relssp`.

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Release unit: keeps for each thread whether it exists and whether it has executed `relssp`.
///
/// A block has released what it shares when every thread of it that exists has executed `relssp`. Lanes that only fill up a
/// block's last warp never exist; that lanes part makes no difference; a thread that exits exists no more. Both bits are set
/// anew when a block is launched.
///
/// Timing: what is told in one cycle shows in the next.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §3.2.2 and Fig. 3.5: A is `exists`,
/// R is `released`, the NAND tree is over the warps of a block.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ReleaseUnit {
    /// Warps, 1 to 128.
    pub warps: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Thread blocks, 1 to 32.
    pub blocks: usize,
    /// Instructions that it is told of in a cycle, 1 to 4.
    pub ports: usize,
}

/// Ports of a [`ReleaseUnit`].
#[derive(Ports)]
#[params(ReleaseUnit)]
pub struct ReleaseUnitIo<'m> {
    /// A block becomes resident.
    pub launch_valid_i: In<'m>,
    /// Its slot.
    #[bits(index_bits(p.blocks))]
    pub launch_block_i: In<'m>,
    /// Its warps, one bit each.
    #[bits(p.warps)]
    pub launch_warps_i: In<'m>,
    /// The last of them.
    #[bits(index_bits(p.warps))]
    pub launch_last_i: In<'m>,
    /// Lanes of the last that are threads; of the others all are.
    #[bits(p.lanes)]
    pub launch_lanes_i: In<'m>,
    /// Instructions of which nothing is left to do.
    #[repeat(p.ports)]
    pub done: Vec<DoneIo<'m>>,
    /// Blocks that have ended, one bit each: all their threads have exited before.
    #[bits(p.blocks)]
    pub block_ended_i: In<'m>,
    /// Blocks of which every thread that exists has released, one bit each.
    #[bits(p.blocks)]
    pub released_o: Out<'m>,
}

/// A `relssp` or an exit.
#[derive(Ports)]
#[params(ReleaseUnit)]
pub struct DoneIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is an exit.
    pub exits_i: In<'m>,
    /// Its warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// Lanes that have executed it.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
}

impl Circuit for ReleaseUnit {
    type Io<'m> = ReleaseUnitIo<'m>;
    const NAME: &'static str = "release_unit";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=128)?;
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("blocks", self.blocks, 1..=32)?;
        Self::check_range("ports", self.ports, 1..=4)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ReleaseUnitIo<'m>) {
        let threads = self.warps * self.lanes;
        let exists = m.register("exists", threads).reset(0);
        let released = m.register("released", threads).reset(0);
        let block_bits = index_bits(self.blocks);
        let block = m.register("block", self.warps * block_bits).reset(0);
        let resident = m.register("resident", self.blocks).reset(0);

        let starting = io.launch_warps_i & io.launch_valid_i.replicate(self.warps);
        let is_last = io.launch_last_i.decode(self.warps).spread(self.lanes);
        let whole = starting.spread(self.lanes);
        let come = whole & (!is_last | io.launch_lanes_i.replicate(self.warps));
        let none = m.lit(threads, 0);
        let of = |exits: bool| {
            io.done.iter().fold(none, |all, done| {
                let told = done.valid_i & if exits { done.exits_i } else { !done.exits_i };
                all | self.threads(done, told)
            })
        };
        let (gone, done) = (of(true), of(false));
        exists.set((exists & !gone & !whole) | come);
        released.set((released | done) & !whole);
        block.set(
            (block & !starting.spread(block_bits))
                | (io.launch_block_i.replicate(self.warps) & starting.spread(block_bits)),
        );
        let starts = io.launch_block_i.decode(self.blocks) & io.launch_valid_i.replicate(self.blocks);
        resident.set((resident & !io.block_ended_i) | starts);

        let holding = (exists & !released).group_or(self.lanes).named("holding");
        let warps_of =
            |index: usize| m.cat((0..self.warps).map(|warp| block.lane(warp, block_bits).eq(index)));
        let free = m.cat((0..self.blocks).map(|index| !(holding & warps_of(index)).any()));
        let all = resident & free;
        io.released_o.set(all);

        m.invariant("only_resident_blocks_release", !(all & !resident).any());
        self.check_threads(m, io, exists, resident, &warps_of);
    }
}

impl ReleaseUnit {
    /// The threads of an instruction, if it is told of.
    fn threads<'m>(&self, done: &DoneIo<'m>, told: Signal<'m>) -> Signal<'m> {
        let of_warp = done.warp_i.decode(self.warps) & told.replicate(self.warps);
        of_warp.spread(self.lanes) & done.lanes_i.replicate(self.warps)
    }

    fn check_threads<'m>(
        &self,
        m: &Module<'m>,
        io: &ReleaseUnitIo<'m>,
        exists: Signal<'m>,
        resident: Signal<'m>,
        warps_of: &impl Fn(usize) -> Signal<'m>,
    ) {
        let [mut ended, mut taken] = [m.lit(self.warps, 0); 2];
        for index in 0..self.blocks {
            ended = ended | (warps_of(index) & io.block_ended_i.bit(index).replicate(self.warps));
            taken = taken | (warps_of(index) & resident.bit(index).replicate(self.warps));
        }
        let alive = exists.group_or(self.lanes);
        let at = io.launch_block_i.decode(self.blocks);
        let is_new = at.any() & !(at & resident).any() & !(io.launch_warps_i & alive).any();
        let has_last = (io.launch_last_i.decode(self.warps) & io.launch_warps_i).any();
        m.assumption("a_block_is_launched_into_a_free_slot", io.launch_valid_i.implies(is_new & has_last));
        m.assumption("a_block_that_ends_is_resident_and_without_threads", {
            !(io.block_ended_i & !resident).any() & !(ended & alive).any()
        });
        let none = m.lit(self.warps * self.lanes, 0);
        let told = io.done.iter().fold(none, |all, done| all | self.threads(done, done.valid_i));
        m.assumption("only_threads_that_exist_execute", !(told & !exists).any());
        m.invariant("a_thread_that_exists_is_of_a_resident_block", !(alive & !taken).any());
    }
}

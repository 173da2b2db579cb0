//! Which warps have registers.

use serde::{Deserialize, Serialize};

use crate::parts::{Fifo, FifoIo};
use crate::rtl::{
    Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, count_bits, index_bits,
};

/// Register slots: gives the registers of warps that have ended to warps that wait for some, whatever blocks they are of.
///
/// A slot is as many registers as a warp of the kernel takes. Warps wait in the order in which they come; in each cycle the
/// oldest gets the lowest slot that is free. A slot is free from the cycle behind its warp's end on.
///
/// Timing: a warp can be placed in the cycle behind the one in which it comes.
/// Source: Xiang, Yang, Zhou, "Warp-Level Divergence in GPUs: Characterization, Impact, and Mitigation", HPCA 2014, as described in
/// Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §2.5.1.9 and chapter 5.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterSlots {
    /// Warps of the scheduler, 1 to 64; there are no more slots.
    pub warps: usize,
}

/// Ports of [`RegisterSlots`].
#[derive(Ports)]
#[params(RegisterSlots)]
pub struct RegisterSlotsIo<'m> {
    /// A kernel begins: no warp is there.
    pub configure_valid_i: In<'m>,
    /// Slots that the file has for warps of the kernel.
    #[bits(count_bits(p.warps))]
    pub configure_slots_i: In<'m>,
    /// A warp comes and waits.
    pub arrive_valid_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub arrive_warp_i: In<'m>,
    /// Warps that have ended, one bit each: they have slots.
    #[bits(p.warps)]
    pub ended_i: In<'m>,
    /// A warp gets a slot.
    pub placed_valid_o: Out<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub placed_warp_o: Out<'m>,
    /// The slot.
    #[bits(index_bits(p.warps))]
    pub placed_slot_o: Out<'m>,
    /// Warps that wait, one bit each.
    #[bits(p.warps)]
    pub waiting_o: Out<'m>,
}

impl Circuit for RegisterSlots {
    type Io<'m> = RegisterSlotsIo<'m>;
    const NAME: &'static str = "register_slots";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterSlotsIo<'m>) {
        let index = index_bits(self.warps);
        let limit = m.register("limit", count_bits(self.warps)).reset(0);
        let waiting = m.register("waiting", self.warps).reset(0);
        let has_slot = m.register("has_slot", self.warps).reset(0);
        let slot = m.register("slot", self.warps * index).reset(0);
        let queue = m.instance("queue", Fifo { depth: self.warps, width: index });
        m.when(io.configure_valid_i, || {
            limit.set(io.configure_slots_i);
        });

        let holders =
            |of: usize| m.cat((0..self.warps).map(|warp| has_slot.bit(warp) & slot.lane(warp, index).eq(of)));
        let taken = m.cat((0..self.warps).map(|of| holders(of).any()));
        let there = m.cat((0..self.warps).map(|of| limit.gt(of)));
        let free = (there & !taken).named("free");

        let placed = queue.out_valid_o & free.any();
        io.placed_valid_o.set(placed);
        io.placed_warp_o.set(queue.out_data_o).valid_when(placed);
        io.placed_slot_o.set(free.priority_encode()).valid_when(placed);
        io.waiting_o.set(waiting);
        self.connect(io, &queue, placed);

        let come = io.arrive_warp_i.decode(self.warps) & io.arrive_valid_i.replicate(self.warps);
        let given = queue.out_data_o.decode(self.warps) & placed.replicate(self.warps);
        waiting.set((waiting & !given) | come);
        has_slot.set((has_slot & !io.ended_i) | given);
        let of_given = given.spread(index);
        slot.set((slot & !of_given) | (free.priority_encode().replicate(self.warps) & of_given));

        let is_there = waiting | (has_slot & !io.ended_i);
        m.assumption("a_warp_that_comes_is_not_there", !(come & is_there).any());
        m.assumption("a_warp_that_comes_is_one_of_the_warps", io.arrive_valid_i.implies(come.any()));
        m.assumption("a_warp_that_ends_has_a_slot", !(io.ended_i & !has_slot).any());
        let nobody = !(waiting | has_slot | come).any();
        let few = io.configure_slots_i.le(self.warps);
        m.assumption("a_kernel_begins_without_warps", io.configure_valid_i.implies(nobody & few));
        m.invariant("a_warp_that_waits_has_no_slot", !(waiting & has_slot).any());
        m.invariant("only_slots_that_are_there_are_taken", !(taken & !there).any());
        let one_each = (0..self.warps).fold(m.lit(1, 1), |one_each, of| {
            let holders = holders(of);
            one_each & holders.eq(holders.lowest_one())
        });
        m.invariant("a_slot_has_one_warp", one_each);
        m.invariant("a_warp_that_is_placed_has_waited", !(given & !waiting).any());
    }
}

impl RegisterSlots {
    /// Warps enter as they come and leave as they are placed.
    fn connect<'m>(&self, io: &RegisterSlotsIo<'m>, queue: &FifoIo<'m>, placed: Signal<'m>) {
        queue.in_valid_i.set(io.arrive_valid_i);
        queue.in_data_i.set(io.arrive_warp_i);
        queue.out_ready_i.set(placed);
        // As deep as there are warps, each of which is in it once.
        queue.in_ready_o.ignore();
        queue.count_o.ignore();
    }
}

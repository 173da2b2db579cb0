//! Operands on their way into the register file cache.

use serde::{Deserialize, Serialize};

use crate::regfile::{LANE_BITS, SOURCES};
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, index_bits,
};

/// Source allocator: offers operands that were read from the main register file to the register file cache.
///
/// An operand is followed from its collector to its delivery and then kept, one an operand position, until the cache
/// has taken it. It is dropped if a write to its register or a flush of its slot comes first, since its value or its
/// place would be stale, and if the operand before it in its position has not been taken yet.
///
/// Timing: an operand delivered in one cycle is offered from the next cycle on.
/// Source: Gebhart et al., ISCA 2011, §3.1, "RFC Allocation" (the extension that also allocates source operands).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct SourceAllocator {
    /// Slots of the active set, 1 to 64.
    pub slots: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Bits of a register's number, 1 to 16.
    pub register_bits: usize,
    /// Operand collectors, 2 to 32.
    pub collectors: usize,
    /// Writers of registers, 1 to 8.
    pub writers: usize,
}

/// Ports of a [`SourceAllocator`].
#[derive(Ports)]
#[params(SourceAllocator)]
pub struct SourceAllocatorIo<'m> {
    /// An instruction gets a collector.
    pub collect: FollowIo<'m>,
    /// The instruction of a collector is dispatched.
    pub dispatch: LeaveIo<'m>,
    /// Operands of the instruction dispatched in the cycle before.
    #[repeat(SOURCES)]
    #[bits(p.value_bits())]
    pub operand_i: Vec<In<'m>>,
    /// Registers written in this cycle.
    #[repeat(p.writers)]
    pub write: Vec<WrittenIo<'m>>,
    /// A slot is emptied.
    pub flush: EmptiedIo<'m>,
    /// An operand for the cache.
    pub offer: OfferIo<'m>,
}

/// An instruction that gets a collector.
#[derive(Ports)]
#[params(SourceAllocator)]
pub struct FollowIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The collector.
    #[bits(index_bits(p.collectors))]
    pub index_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
    /// Its operands.
    #[repeat(SOURCES)]
    pub source: Vec<FollowSourceIo<'m>>,
}

/// An operand to follow.
#[derive(Ports)]
#[params(SourceAllocator)]
pub struct FollowSourceIo<'m> {
    /// It is read from the main register file in all its lanes and is worth keeping.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Its lanes.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
    /// The value is not read again before the warp may next be suspended.
    pub idle_i: In<'m>,
}

/// An instruction that leaves its collector.
#[derive(Ports)]
#[params(SourceAllocator)]
pub struct LeaveIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The collector.
    #[bits(index_bits(p.collectors))]
    pub index_i: In<'m>,
}

/// A register that is written.
#[derive(Ports)]
#[params(SourceAllocator)]
pub struct WrittenIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
}

/// A slot that is emptied.
#[derive(Ports)]
#[params(SourceAllocator)]
pub struct EmptiedIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The slot.
    #[bits(index_bits(p.slots))]
    pub slot_i: In<'m>,
}

/// An operand for the cache.
#[derive(Ports)]
#[params(SourceAllocator)]
pub struct OfferIo<'m> {
    /// One is offered.
    pub valid_o: Out<'m>,
    /// The cache has taken it, or does not want it.
    pub ready_i: In<'m>,
    /// The warp's slot.
    #[bits(index_bits(p.slots))]
    pub slot_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
    /// Its lanes.
    #[bits(p.lanes)]
    pub lanes_o: Out<'m>,
    /// The value is not read again before the warp may next be suspended.
    pub idle_o: Out<'m>,
    /// The value.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// The operand of an instruction in a collector.
#[derive(Clone, Copy, Record)]
#[params(SourceAllocator)]
struct Collected<T = Field> {
    #[bits(index_bits(p.slots))]
    slot: T,
    #[bits(p.register_bits)]
    register: T,
    #[bits(p.lanes)]
    lanes: T,
    idle: T,
}

/// An operand on its way.
#[derive(Clone, Copy)]
struct Operand<'m> {
    valid: Signal<'m>,
    slot: Signal<'m>,
    register: Signal<'m>,
    lanes: Signal<'m>,
    idle: Signal<'m>,
}

impl SourceAllocator {
    /// Bits of a warp register's value.
    pub fn value_bits(&self) -> usize {
        self.lanes.saturating_mul(LANE_BITS)
    }
}

impl Circuit for SourceAllocator {
    type Io<'m> = SourceAllocatorIo<'m>;
    const NAME: &'static str = "source_allocator";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("slots", self.slots, 1..=64)?;
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("register_bits", self.register_bits, 1..=16)?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("writers", self.writers, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &SourceAllocatorIo<'m>) {
        let mut kept = Vec::new();
        for k in 0..SOURCES {
            let leaving = self.follow(m, io, k);
            let delivered = self.next_cycle(m, io, &format!("delivered{k}"), leaving);
            kept.push(self.keep(m, io, k, delivered));
        }
        self.offer(m, io, &kept);
    }
}

impl SourceAllocator {
    /// Follows the operands of position `k` through the collectors; the one that is dispatched now.
    fn follow<'m>(&self, m: &Module<'m>, io: &SourceAllocatorIo<'m>, k: usize) -> Operand<'m> {
        let collected = m.table::<Collected>(format!("collected{k}"), self.collectors, self).valid_bits();
        let read = collected.read("dispatch", io.dispatch.index_i, io.dispatch.valid_i);
        self.drop_stale(m, io, collected);
        m.when(io.dispatch.valid_i, || collected.clear_row(io.dispatch.index_i));
        let source = &io.collect.source[k];
        m.when(io.collect.valid_i & source.valid_i, || {
            let operand = Collected {
                slot: io.collect.slot_i,
                register: source.register_i,
                lanes: source.lanes_i,
                idle: source.idle_i,
            };
            collected.write("collect", io.collect.index_i, operand);
        });
        Operand {
            valid: io.dispatch.valid_i & read.valid(),
            slot: read.slot,
            register: read.register,
            lanes: read.lanes,
            idle: read.idle,
        }
    }

    /// Drops the operands in collectors that have become stale in this cycle.
    fn drop_stale<'m>(&self, m: &Module<'m>, io: &SourceAllocatorIo<'m>, collected: Table<'m, Collected>) {
        for (w, write) in io.write.iter().enumerate() {
            let written = collected
                .matching(format!("written{w}"), write.valid_i, |row| row.register.eq(write.register_i));
            m.when(write.valid_i, || collected.clear_rows(written));
        }
        let emptied = collected.matching("emptied", io.flush.valid_i, |row| row.slot.eq(io.flush.slot_i));
        m.when(io.flush.valid_i, || collected.clear_rows(emptied));
    }

    /// Whether `operand` becomes stale in this cycle.
    fn is_stale<'m>(&self, io: &SourceAllocatorIo<'m>, operand: Operand<'m>) -> Signal<'m> {
        let emptied = io.flush.valid_i & operand.slot.eq(io.flush.slot_i);
        io.write
            .iter()
            .fold(emptied, |stale, write| stale | (write.valid_i & operand.register.eq(write.register_i)))
    }

    /// The operand, unless it is stale, one cycle later.
    fn next_cycle<'m>(
        &self,
        m: &Module<'m>,
        io: &SourceAllocatorIo<'m>,
        name: &str,
        operand: Operand<'m>,
    ) -> Operand<'m> {
        let later = self.operand(m, name);
        later.valid.set(operand.valid & !self.is_stale(io, operand));
        m.when(operand.valid, || assign(later, operand));
        later
    }

    /// Keeps the operand delivered at position `k` until it is taken; with its value.
    fn keep<'m>(
        &self,
        m: &Module<'m>,
        io: &SourceAllocatorIo<'m>,
        k: usize,
        delivered: Operand<'m>,
    ) -> (Operand<'m>, Signal<'m>, Signal<'m>) {
        let kept = self.operand(m, &format!("kept{k}"));
        let value = m.register(format!("kept{k}_value"), self.value_bits()).no_reset();
        let taken = m.wire(format!("taken{k}"), 1);
        let free = !kept.valid | taken;
        let enters = delivered.valid & free;
        let stale = enters.mux(self.is_stale(io, delivered), self.is_stale(io, kept));
        kept.valid.set((enters | (kept.valid & !taken)) & !stale);
        m.when(enters, || {
            assign(kept, delivered);
            value.set(io.operand_i[k]);
        });
        (kept, value, taken)
    }

    /// Offers the first operand kept; one that becomes stale in this cycle is not offered any more.
    fn offer<'m>(
        &self,
        m: &Module<'m>,
        io: &SourceAllocatorIo<'m>,
        kept: &[(Operand<'m>, Signal<'m>, Signal<'m>)],
    ) {
        let fresh: Vec<Signal<'m>> =
            kept.iter().map(|&(operand, ..)| operand.valid & !self.is_stale(io, operand)).collect();
        let any = m.cat(fresh.iter().copied()).any();
        let (mut chosen, mut value, _) = kept[SOURCES - 1];
        for k in (0..SOURCES - 1).rev() {
            let (operand, its_value, _) = kept[k];
            chosen = Operand {
                valid: chosen.valid,
                slot: fresh[k].mux(operand.slot, chosen.slot),
                register: fresh[k].mux(operand.register, chosen.register),
                lanes: fresh[k].mux(operand.lanes, chosen.lanes),
                idle: fresh[k].mux(operand.idle, chosen.idle),
            };
            value = fresh[k].mux(its_value, value);
        }
        let offer = &io.offer;
        offer.valid_o.set(any);
        offer.slot_o.set(chosen.slot).valid_when(any);
        offer.register_o.set(chosen.register).valid_when(any);
        offer.lanes_o.set(chosen.lanes).valid_when(any);
        offer.idle_o.set(chosen.idle).valid_when(any);
        offer.value_o.set(value).valid_when(any);
        let mut earlier = m.lit(1, 0);
        for (&fresh, &(_, _, taken)) in fresh.iter().zip(kept) {
            taken.set(fresh & !earlier & offer.ready_i);
            earlier = earlier | fresh;
        }

        let takes = m.cat(kept.iter().map(|&(_, _, taken)| taken));
        let others = m.cat(kept.iter().map(|&(operand, its_value, _)| {
            operand.slot.ne(offer.slot_o)
                | operand.register.ne(offer.register_o)
                | operand.lanes.ne(offer.lanes_o)
                | operand.idle.ne(offer.idle_o)
                | its_value.ne(offer.value_o)
        }));
        let is_taken = offer.valid_o & offer.ready_i;
        m.invariant("one_operand_leaves_when_the_cache_takes_one", takes.popcount().eq(is_taken.zext(2)));
        m.invariant("the_operand_that_leaves_is_the_one_offered", !(takes & others).any());
        m.invariant("an_operand_offered_is_not_stale", offer.valid_o.implies(!self.is_stale(io, chosen)));
    }

    fn operand<'m>(&self, m: &Module<'m>, name: &str) -> Operand<'m> {
        Operand {
            valid: m.register(format!("{name}_valid"), 1).reset(0),
            slot: m.register(format!("{name}_slot"), index_bits(self.slots)).no_reset(),
            register: m.register(format!("{name}_register"), self.register_bits).no_reset(),
            lanes: m.register(format!("{name}_lanes"), self.lanes).no_reset(),
            idle: m.register(format!("{name}_idle"), 1).no_reset(),
        }
    }
}

/// Sets everything but `valid`.
fn assign<'m>(to: Operand<'m>, from: Operand<'m>) {
    to.slot.set(from.slot);
    to.register.set(from.register);
    to.lanes.set(from.lanes);
    to.idle.set(from.idle);
}

//! Accesses that wait for a bank.

use serde::{Deserialize, Serialize};

use super::geometry::ShardGeometry;
use super::ports::Fate;
use crate::parts::turn;
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, index_bits,
};

/// Access queue: the sources and results of instructions that wait for a bank of the staging unit, in issue order.
///
/// All accesses to a register wait in the queue of its bank, so an erasure takes effect behind the earlier reads,
/// and a reservation behind the erasure. A result is not to be written while a read of its register waits here:
/// that read is older.
///
/// Timing: an access can leave in the cycle after it came. A full queue takes no access, even if one leaves.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5 and §5.2 (read units arbitrate for the banks).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct AccessQueue {
    /// Warps and lanes of the shard.
    pub geometry: ShardGeometry,
    /// Accesses it holds, 2 to 16.
    pub depth: usize,
    /// Bits that name the place in a read unit that waits for the access.
    pub place_bits: usize,
    /// Writers that ask whether their register is still to be read, 1 to 8.
    pub writers: usize,
}

/// Ports of an [`AccessQueue`].
#[derive(Ports)]
#[params(AccessQueue)]
pub struct AccessQueueIo<'m> {
    /// An access comes.
    #[with(p.widths())]
    pub push: PushIo<'m>,
    /// The oldest access.
    #[with(p.widths())]
    pub pop: PopIo<'m>,
    /// Results about to be written.
    #[repeat(p.writers)]
    #[with(p.geometry)]
    pub write: Vec<OlderReadIo<'m>>,
}

/// What the widths of an access follow from.
#[derive(Clone, Copy, Debug)]
pub struct AccessWidths {
    /// Warps and lanes of the shard.
    pub geometry: ShardGeometry,
    /// Bits that name the place in a read unit that waits for the access.
    pub place_bits: usize,
}

/// An access that comes.
#[derive(Ports)]
#[params(AccessWidths)]
#[flipped(PopIo)]
pub struct PushIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// There is room.
    pub ready_o: Out<'m>,
    /// It reads a source.
    pub reads_i: In<'m>,
    /// It reserves the line of a result: that of the register it reads, if it reads one.
    pub reserves_i: In<'m>,
    /// The warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.geometry.register_bits)]
    pub register_i: In<'m>,
    /// Its [`Fate`].
    #[bits(Fate::BITS)]
    pub fate_i: In<'m>,
    /// Source: lanes wanted.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
    /// Result: a write will come.
    pub written_i: In<'m>,
    /// Who waits for it.
    #[bits(p.place_bits)]
    pub place_i: In<'m>,
}

/// A register about to be written.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct OlderReadIo<'m> {
    /// The warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// A read of it waits.
    pub blocked_o: Out<'m>,
}

impl AccessQueue {
    /// Of the accesses it holds.
    pub(super) fn widths(&self) -> AccessWidths {
        AccessWidths { geometry: self.geometry, place_bits: self.place_bits }
    }
}

/// An access that waits, as in [`PushIo`].
#[derive(Clone, Copy, Record)]
#[params(AccessQueue)]
struct Waiting<T = Field> {
    reads: T,
    reserves: T,
    /// The warp, and its register above it.
    #[bits(p.geometry.warp_bits() + p.geometry.register_bits)]
    tag: T,
    #[bits(Fate::BITS)]
    fate: T,
    #[bits(p.geometry.lanes)]
    lanes: T,
    written: T,
    #[bits(p.place_bits)]
    place: T,
}

impl Circuit for AccessQueue {
    type Io<'m> = AccessQueueIo<'m>;
    const NAME: &'static str = "access_queue";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("depth", self.depth, 2..=16)?;
        Self::check_range("place_bits", self.place_bits, 1..=16)?;
        Self::check_range("writers", self.writers, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &AccessQueueIo<'m>) {
        let g = &self.geometry;
        let waiting = m.table::<Waiting>("waiting", self.depth, self).valid_bits().ports(1, 1);
        let (head, tail) =
            (m.register("head", waiting.index_bits()), m.register("tail", waiting.index_bits()));
        let (head, tail) = (head.reset(0), tail.reset(0));
        let (push, pop) = (&io.push, &io.pop);

        push.ready_o.set(!waiting.valid_rows().lane_select(tail, 1));
        pop.valid_o.set(waiting.valid_rows().lane_select(head, 1));
        let leaves = (pop.valid_o & pop.ready_i).named("leaves");
        let oldest = waiting.read("pop", head, leaves);
        pop.reads_o.set(oldest.reads).valid_when(pop.valid_o);
        pop.reserves_o.set(oldest.reserves).valid_when(pop.valid_o);
        pop.warp_o.set(oldest.tag.low(g.warp_bits())).valid_when(pop.valid_o);
        pop.register_o.set(oldest.tag.high(g.register_bits)).valid_when(pop.valid_o);
        pop.fate_o.set(oldest.fate).valid_when(pop.valid_o);
        pop.lanes_o.set(oldest.lanes).valid_when(pop.valid_o);
        pop.written_o.set(oldest.written).valid_when(pop.valid_o);
        pop.place_o.set(oldest.place).valid_when(pop.valid_o);
        m.when(leaves, || {
            waiting.clear_row(head);
            head.set(self.after(m, head));
        });
        m.when(push.valid_i & push.ready_o, || {
            let access = Waiting {
                reads: push.reads_i,
                reserves: push.reserves_i,
                tag: push.warp_i.concat(push.register_i),
                fate: push.fate_i,
                lanes: push.lanes_i,
                written: push.written_i,
                place: push.place_i,
            };
            waiting.write("push", tail, access);
            tail.set(self.after(m, tail));
        });
        for (w, write) in io.write.iter().enumerate() {
            let reads = waiting.matching(format!("write{w}"), 1, |row| {
                row.valid() & row.reads & row.tag.eq(write.warp_i.concat(write.register_i))
            });
            write.blocked_o.set(reads.any());
        }
        self.name_invariants(m, io, waiting.valid_rows(), (head, tail));
    }
}

impl AccessQueue {
    /// The row after `row`, the first after the last.
    fn after<'m>(&self, m: &Module<'m>, row: Signal<'m>) -> Signal<'m> {
        row.eq(self.depth - 1).mux(m.lit(index_bits(self.depth), 0), row + 1)
    }

    /// What holds of the rows that wait, and of what is said about them.
    fn name_invariants<'m>(
        &self,
        m: &Module<'m>,
        io: &AccessQueueIo<'m>,
        waiting: Signal<'m>,
        (head, tail): (Signal<'m>, Signal<'m>),
    ) {
        let (push, pop) = (&io.push, &io.pop);
        m.invariant("what_waits_lies_between_head_and_tail", turn::lie_between(waiting, head, tail));
        m.invariant("a_queue_that_takes_no_access_is_full", (!push.ready_o).implies(waiting.all()));
        let (mut missed, mut for_nothing) = (m.lit(1, 0), m.lit(1, 0));
        for write in &io.write {
            let oldest = pop.warp_o.eq(write.warp_i) & pop.register_o.eq(write.register_i);
            missed = missed | (pop.valid_o & pop.reads_o & oldest & !write.blocked_o);
            for_nothing = for_nothing | (!pop.valid_o & write.blocked_o);
        }
        m.invariant("a_write_waits_for_the_oldest_read_of_its_register", !missed);
        m.invariant("an_empty_queue_blocks_no_write", !for_nothing);
    }
}

//! Instructions whose result is being computed by another.

use serde::{Deserialize, Serialize};

use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, count_bits,
    index_bits,
};

/// Retry queue: instructions that have found a pending row wait here, and look it up again in turn.
///
/// The instruction in front leaves, or goes to the end if its row is still pending. One that has been in front for `patience`
/// cycles is urgent: it is to be looked up before the one that has just been renamed.
///
/// Timing: an instruction can be in front in the cycle after it came. A full queue takes none, even if one leaves in the same
/// cycle. No instruction comes in a cycle in which one goes to the end: both have been looked up, and one is a cycle.
/// Source: Kim & Ro, WIR, §VI-B: 16 entries; that an aged entry is looked up first is not in the paper.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RetryQueue {
    /// Instructions it holds, 1 to 64.
    pub depth: usize,
    /// Bits of an instruction's number, 1 to 16.
    pub id_bits: usize,
    /// Cycles after which the instruction in front is urgent, 1 to 255.
    pub patience: usize,
}

/// Ports of a [`RetryQueue`].
#[derive(Ports)]
#[params(RetryQueue)]
pub struct RetryQueueIo<'m> {
    /// An instruction comes.
    pub push_i: In<'m>,
    /// Its number.
    #[bits(p.id_bits)]
    pub id_i: In<'m>,
    /// There is room.
    pub ready_o: Out<'m>,
    /// There is an instruction in front.
    pub valid_o: Out<'m>,
    /// Its number.
    #[bits(p.id_bits)]
    pub id_o: Out<'m>,
    /// It is urgent.
    pub urgent_o: Out<'m>,
    /// It leaves.
    pub pop_i: In<'m>,
    /// It goes to the end instead.
    pub rotate_i: In<'m>,
    /// Instructions that wait.
    #[bits(count_bits(p.depth))]
    pub count_o: Out<'m>,
}

/// An instruction that waits.
#[derive(Clone, Copy, Record)]
#[params(RetryQueue)]
struct Waiting<T = Field> {
    #[bits(p.id_bits)]
    id: T,
}

impl Circuit for RetryQueue {
    type Io<'m> = RetryQueueIo<'m>;
    const NAME: &'static str = "retry_queue";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("depth", self.depth, 1..=64)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("patience", self.patience, 1..=255)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RetryQueueIo<'m>) {
        let waiting = m.table::<Waiting>("waiting", self.depth, self).ports(1, 1);
        let head = m.register("head", index_bits(self.depth)).reset(0);
        let tail = m.register("tail", index_bits(self.depth)).reset(0);
        let count = m.register("count", count_bits(self.depth)).reset(0);
        let age_bits = count_bits(self.patience);
        let age = m.register("age", age_bits).reset(0);

        let is_there = count.ne(0);
        let has_room = count.ne(self.depth);
        let push = (io.push_i & has_room).named("push");
        let rotate = (io.rotate_i & is_there & !push).named("rotate");
        let pop = (io.pop_i & is_there & !rotate).named("pop");
        let front = waiting.read("front", head, is_there).id;
        io.ready_o.set(has_room);
        io.valid_o.set(is_there);
        io.id_o.set(front).valid_when(is_there);
        let urgent = age.eq(self.patience);
        io.urgent_o.set(is_there & urgent);
        io.count_o.set(count);

        m.when(push | rotate, || {
            waiting.write("back", tail, Waiting { id: rotate.mux(front, io.id_i) });
            tail.set(self.after(m, tail));
        });
        m.when(pop | rotate, || {
            head.set(self.after(m, head));
        });
        m.when(push & !pop, || {
            count.set(count + 1);
        })
        .else_when(pop & !push, || {
            count.set(count - 1);
        });
        m.when(pop | rotate | !is_there, || {
            age.set(m.lit(age_bits, 0));
        })
        .else_when(!urgent, || {
            age.set(age + 1);
        });

        let distance = tail.zext(16) + self.depth - head.zext(16);
        let wrapped = distance.ge(self.depth).mux(distance - self.depth, distance);
        let full = count.eq(self.depth).mux(m.lit(16, self.depth), 0);
        m.invariant("no_more_wait_than_there_is_room_for", count.le(self.depth));
        m.invariant("those_between_head_and_tail_wait", (wrapped + full).eq(count.zext(16)));
        m.invariant("an_age_is_at_most_the_patience", age.le(self.patience));
        m.assumption("one_instruction_a_cycle_has_been_looked_up", !(io.push_i & io.rotate_i));
        m.assumption("the_instruction_in_front_goes_one_way", !(io.pop_i & io.rotate_i));
    }
}

impl RetryQueue {
    /// The place after `place`, the first after the last.
    fn after<'m>(&self, m: &Module<'m>, place: Signal<'m>) -> Signal<'m> {
        place.eq(self.depth - 1).mux(m.lit(index_bits(self.depth), 0), place + 1)
    }
}

//! A queue.

use serde::{Deserialize, Serialize};

use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, count_bits,
    index_bits,
};

/// Queue: words leave in the order they came.
///
/// Timing: a word can leave in the cycle after it came. A full queue takes no word, even if one leaves in the
/// same cycle, so `in_ready_o` depends on state only.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Fifo {
    /// Words it holds, 1 to 4096; any number, not only powers of two.
    pub depth: usize,
    /// Bits of a word, 1 to 8192.
    pub width: usize,
}

/// Ports of a [`Fifo`].
#[derive(Clone, Ports)]
#[params(Fifo)]
pub struct FifoIo<'m> {
    /// A word is offered.
    pub in_valid_i: In<'m>,
    /// An offered word is taken.
    pub in_ready_o: Out<'m>,
    /// The word offered.
    #[bits(p.width)]
    pub in_data_i: In<'m>,
    /// The queue holds a word.
    pub out_valid_o: Out<'m>,
    /// The oldest word leaves, if there is one.
    pub out_ready_i: In<'m>,
    /// The oldest word.
    #[bits(p.width)]
    pub out_data_o: Out<'m>,
    /// Words held.
    #[bits(count_bits(p.depth))]
    pub count_o: Out<'m>,
}

/// A word that waits.
#[derive(Clone, Copy, Record)]
#[params(Fifo)]
struct Word<T = Field> {
    #[bits(p.width)]
    data: T,
}

impl Circuit for Fifo {
    type Io<'m> = FifoIo<'m>;
    const NAME: &'static str = "fifo";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("depth", self.depth, 1..=4096)?;
        Self::check_range("width", self.width, 1..=8192)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &FifoIo<'m>) {
        let words = m.table::<Word>("words", self.depth, self).ports(1, 1);
        let head = m.register("head", index_bits(self.depth)).reset(0);
        let tail = m.register("tail", index_bits(self.depth)).reset(0);
        let count = m.register("count", count_bits(self.depth)).reset(0);

        io.in_ready_o.set(count.ne(self.depth));
        io.out_valid_o.set(count.ne(0));
        io.count_o.set(count);
        let push = io.in_valid_i & io.in_ready_o;
        let pop = io.out_ready_i & io.out_valid_o;

        io.out_data_o.set(words.read("head", head, pop).data).valid_when(io.out_valid_o);
        m.when(pop, || {
            head.set(self.after(m, head));
        });
        m.when(push, || {
            words.write("tail", tail, Word { data: io.in_data_i });
            tail.set(self.after(m, tail));
        });
        m.when(push & !pop, || {
            count.set(count + 1);
        })
        .else_when(pop & !push, || {
            count.set(count - 1);
        });

        let distance = (tail.zext(32) + self.depth - head.zext(32)).named("distance");
        let wrapped = distance.ge(self.depth).mux(distance - self.depth, distance);
        let full = count.eq(self.depth).mux(m.lit(32, self.depth), 0);
        m.invariant("count_never_exceeds_depth", count.le(self.depth));
        m.invariant("count_is_the_distance_of_tail_and_head", (wrapped + full).eq(count.zext(32)));
    }
}

impl Fifo {
    /// The row after `row`, the first after the last.
    fn after<'m>(&self, m: &Module<'m>, row: Signal<'m>) -> Signal<'m> {
        row.eq(self.depth - 1).mux(m.lit(index_bits(self.depth), 0), row + 1)
    }
}

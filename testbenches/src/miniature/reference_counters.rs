use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, index_bits,
};

/// Reference counter array, in miniature: how often each physical register is referred to.
///
/// An allocated register begins with one reference. In every cycle each update port can add or remove one, any
/// number of them on the same register. A register without references is freed, the lowest first, one a cycle.
///
/// Timing: an allocation and updates of one cycle count from the next; a register is freed in the cycle after
/// its last reference went, or later. The caller refers only to allocated registers, and adds no reference to
/// one without any.
/// Source: Kim & Ro, "WIR", §V-E and Table III (12 × +1 and 12 × −1 a cycle, 1024 counters of 10 bits).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ReferenceCounters {
    /// Physical registers.
    pub registers: usize,
    /// Bits of a counter.
    pub counter_bits: usize,
    /// Ports that add a reference, and as many that remove one.
    pub updates: usize,
}

/// Ports of [`ReferenceCounters`].
#[derive(Ports)]
#[params(ReferenceCounters)]
pub struct ReferenceCountersIo<'m> {
    /// Takes a register into use.
    pub allocate: ReferenceIo<'m>,
    /// Each adds a reference.
    #[repeat(p.updates)]
    pub add: Vec<ReferenceIo<'m>>,
    /// Each removes one.
    #[repeat(p.updates)]
    pub remove: Vec<ReferenceIo<'m>>,
    /// A register is freed.
    pub free_valid_o: Out<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub free_register_o: Out<'m>,
}

/// A register, if there is one.
#[derive(Ports)]
#[params(ReferenceCounters)]
pub struct ReferenceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
}

/// How often a register is referred to.
#[derive(Clone, Copy, Record)]
#[params(ReferenceCounters)]
struct Counter<T = Field> {
    #[bits(p.counter_bits)]
    count: T,
}

impl Circuit for ReferenceCounters {
    type Io<'m> = ReferenceCountersIo<'m>;
    const NAME: &'static str = "reference_counters";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("registers", self.registers, 1..=4096)?;
        Self::check_range("counter_bits", self.counter_bits, 1..=32)?;
        Self::check_range("updates", self.updates, 1..=64)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ReferenceCountersIo<'m>) {
        let counters = m.table::<Counter>("counters", self.registers, self).valid_bits();

        let unused = counters.matching("unused", 1, |row| row.valid() & row.count.eq(0));
        io.free_valid_o.set(unused.any());
        io.free_register_o.set(unused.priority_encode()).valid_when(io.free_valid_o);
        counters.clear_rows(unused.lowest_one());

        let one = m.lit(self.counter_bits, 1);
        m.when(io.allocate.valid_i, || {
            counters.write("allocate", io.allocate.register_i, Counter { count: one });
        });
        for (i, add) in io.add.iter().enumerate() {
            let name = format!("add{i}");
            m.when(add.valid_i, || counters.add(name, add.register_i, |counter| counter.count, one));
        }
        let minus_one = m.ones(self.counter_bits);
        for (i, remove) in io.remove.iter().enumerate() {
            m.when(remove.valid_i, || {
                let name = format!("remove{i}");
                counters.add(name, remove.register_i, |counter| counter.count, minus_one);
            });
        }

        for (i, update) in io.add.iter().chain(&io.remove).enumerate() {
            let used = counters.valid_rows().lane_select(update.register_i, 1);
            let counted = used & !unused.lane_select(update.register_i, 1);
            m.invariant(format!("update{i}_is_of_a_referenced_register"), update.valid_i.implies(counted));
        }
    }
}

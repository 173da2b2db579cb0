//! How many refer to each physical register.

use serde::{Deserialize, Serialize};

use crate::regfile::collector_groups::numbered;
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, index_bits,
};

/// Reference counts: tells when nothing refers to a physical register any more.
///
/// A register has two counts: of the entries of tables and buffers that name it, and of the instructions in flight that hold
/// it. A register that is given away starts with one hold and no entry. When both are zero it is freed, once, unless somebody
/// refers to it by then.
/// A register has room for more entries if those that could come in a cycle do not overflow its count; entries that came in
/// the cycle before are in it, those that went are still. Its only entry is that of whoever asks if nobody holds it either.
///
/// Timing: what goes in in one cycle is counted in the next, all of a cycle at once, so that no decrement overtakes an
/// increment; a register is freed in the cycle after that. Queries answer in the same cycle, for what went in before.
/// Source: Kim & Ro, WIR, §V-E and §VII-E: 12 increments and 12 decrements a cycle of an SM, 10 bits, two cycles. Instructions
/// in flight are not mentioned there; they have counts and ports of their own here.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ReferenceCounts {
    /// Physical registers, 2 to 4096.
    pub registers: usize,
    /// Bits of a count of entries, 2 to 16, with more than one for the increments of a cycle.
    pub count_bits: usize,
    /// Bits of a count of holds, 2 to 16.
    pub hold_bits: usize,
    /// Registers that are given away a cycle, 1 to 4.
    pub allocations: usize,
    /// Entries that come a cycle, 1 to 16.
    pub increments: usize,
    /// Entries that go, 1 to 16.
    pub decrements: usize,
    /// Holds that come, 1 to 16.
    pub holds: usize,
    /// Holds that go, 1 to 16.
    pub drops: usize,
    /// Queries a cycle, 1 to 16.
    pub queries: usize,
}

/// Ports of [`ReferenceCounts`].
#[derive(Ports)]
#[params(ReferenceCounts)]
pub struct ReferenceCountsIo<'m> {
    /// Registers that are given away.
    #[repeat_plain(p.allocations)]
    pub allocated: Vec<AllocatedIo<'m>>,
    /// Registers that an entry names from now on.
    #[repeat(p.increments)]
    pub increment: Vec<CountedIo<'m>>,
    /// Registers that an entry no longer names.
    #[repeat(p.decrements)]
    pub decrement: Vec<CountedIo<'m>>,
    /// Registers that an instruction holds from now on.
    #[repeat(p.holds)]
    pub hold: Vec<CountedIo<'m>>,
    /// Registers that an instruction no longer holds.
    #[repeat(p.drops)]
    pub drop: Vec<CountedIo<'m>>,
    /// Registers that are asked for.
    #[repeat(p.queries)]
    pub query: Vec<QueryIo<'m>>,
    /// Registers that are freed, one bit each.
    #[bits(p.registers)]
    pub freed_o: Out<'m>,
}

/// A register that is given away.
#[derive(Ports)]
#[params(ReferenceCounts)]
pub struct AllocatedIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
}

/// A register whose count changes by one.
#[derive(Ports)]
#[params(ReferenceCounts)]
pub struct CountedIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
}

/// A register that is asked for.
#[derive(Ports)]
#[params(ReferenceCounts)]
pub struct QueryIo<'m> {
    /// There is one, which has been given away in an earlier cycle.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
    /// Further entries may name it.
    pub has_room_o: Out<'m>,
    /// One entry names it, and no instruction holds it.
    pub is_sole_o: Out<'m>,
}

/// The counts of a register that has been given away.
#[derive(Clone, Copy, Record)]
#[params(ReferenceCounts)]
struct Counts<T = Field> {
    /// Entries that name it.
    #[bits(p.count_bits)]
    entries: T,
    /// Instructions that hold it.
    #[bits(p.hold_bits)]
    holds: T,
}

/// A change on its way.
#[derive(Clone, Copy)]
struct Change<'m> {
    valid: Signal<'m>,
    register: Signal<'m>,
}

impl<'m> Change<'m> {
    /// The register, one-hot; 0 if there is none.
    fn one_hot(self, registers: usize) -> Signal<'m> {
        self.register.decode(registers) & self.valid.replicate(registers)
    }

    fn is_of(self, register: Signal<'m>) -> Signal<'m> {
        self.valid & self.register.eq(register)
    }
}

/// Changes of the cycle before.
struct Changes<'m> {
    allocated: Vec<Change<'m>>,
    increments: Vec<Change<'m>>,
    decrements: Vec<Change<'m>>,
    holds: Vec<Change<'m>>,
    drops: Vec<Change<'m>>,
}

impl Circuit for ReferenceCounts {
    type Io<'m> = ReferenceCountsIo<'m>;
    const NAME: &'static str = "reference_counts";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("registers", self.registers, 2..=4096)?;
        Self::check_range("allocations", self.allocations, 1..=4)?;
        for (name, ports) in [
            ("increments", self.increments),
            ("decrements", self.decrements),
            ("holds", self.holds),
            ("drops", self.drops),
            ("queries", self.queries),
        ] {
            Self::check_range(name, ports, 1..=16)?;
        }
        Self::check_range("hold_bits", self.hold_bits, 2..=16)?;
        Self::check_range("count_bits", self.count_bits, 2..=16)?;
        let most = (1_usize << self.count_bits) - 1;
        Self::check(
            most > self.increments,
            "count_bits",
            self.count_bits,
            "enough for more than the increments of a cycle",
        )
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ReferenceCountsIo<'m>) {
        let counts = m.table::<Counts>("counts", self.registers, self).valid_bits();
        let changes = Changes {
            allocated: (io.allocated.iter().enumerate())
                .map(|(k, port)| {
                    let name = numbered("allocated", self.allocations, k);
                    self.delayed(m, &name, port.valid_i, port.register_i)
                })
                .collect(),
            increments: self.all_delayed(m, "increment", &io.increment),
            decrements: self.all_delayed(m, "decrement", &io.decrement),
            holds: self.all_delayed(m, "hold", &io.hold),
            drops: self.all_delayed(m, "drop", &io.drop),
        };
        if let [first, others @ ..] = &io.allocated[..] {
            let twice = others.iter().fold(m.lit(1, 0), |any, other| {
                any | (first.valid_i & other.valid_i & first.register_i.eq(other.register_i))
            });
            m.assumption("a_register_is_given_away_once", !twice);
        }
        let freed = self.free(m, io, counts, &changes);
        self.count(m, counts, &changes);
        m.when(freed.any(), || counts.clear_rows(freed));
        self.answer(m, io, counts, &changes);
    }
}

impl ReferenceCounts {
    /// What a port had in the cycle before.
    fn delayed<'m>(&self, m: &Module<'m>, name: &str, valid: Signal<'m>, register: Signal<'m>) -> Change<'m> {
        let is_valid = m.register(format!("{name}_valid"), 1).reset(0);
        let number = m.register(format!("{name}_register"), register.width()).no_reset();
        is_valid.set(valid);
        m.when(valid, || {
            number.set(register);
        });
        Change { valid: is_valid, register: number }
    }

    fn all_delayed<'m>(&self, m: &Module<'m>, name: &str, ports: &[CountedIo<'m>]) -> Vec<Change<'m>> {
        let ports = ports.iter().enumerate();
        ports.map(|(k, port)| self.delayed(m, &format!("{name}{k}"), port.valid_i, port.register_i)).collect()
    }

    /// Counts the changes of the cycle before. A register that is given away is so before anything else of it.
    fn count<'m>(&self, m: &Module<'m>, counts: Table<'m, Counts>, changes: &Changes<'m>) {
        let allocated = changes.allocated.iter();
        let live = allocated.fold(counts.valid_rows(), |live, new| live | new.one_hot(self.registers));
        let is_live = |change: &Change<'m>| change.valid & live.lane_select(change.register, 1);
        for (k, new) in changes.allocated.iter().enumerate() {
            m.when(new.valid, || {
                let start = Counts { entries: m.lit(self.count_bits, 0), holds: m.lit(self.hold_bits, 1) };
                counts.write(numbered("allocate", self.allocations, k), new.register, start);
            });
        }
        for (name, changes, more) in
            [("increment", &changes.increments, true), ("decrement", &changes.decrements, false)]
        {
            let amount = if more { m.lit(self.count_bits, 1) } else { m.ones(self.count_bits) };
            for (k, change) in changes.iter().enumerate() {
                m.when(is_live(change), || {
                    counts.add(format!("{name}{k}"), change.register, |row| row.entries, amount);
                });
            }
        }
        for (name, changes, more) in [("hold", &changes.holds, true), ("drop", &changes.drops, false)] {
            let amount = if more { m.lit(self.hold_bits, 1) } else { m.ones(self.hold_bits) };
            for (k, change) in changes.iter().enumerate() {
                m.when(is_live(change), || {
                    counts.add(format!("{name}{k}"), change.register, |row| row.holds, amount);
                });
            }
        }
    }

    /// Registers that lost an entry or a hold two cycles ago, have none, and got none in the cycle before.
    fn free<'m>(
        &self,
        m: &Module<'m>,
        io: &ReferenceCountsIo<'m>,
        counts: Table<'m, Counts>,
        changes: &Changes<'m>,
    ) -> Signal<'m> {
        let mut freed = m.lit(self.registers, 0);
        for (k, change) in changes.decrements.iter().chain(&changes.drops).enumerate() {
            let lost = self.delayed(m, &format!("lost{k}"), change.valid, change.register);
            let row = counts.read(format!("lost{k}"), lost.register, lost.valid);
            let gains = changes.increments.iter().chain(&changes.holds);
            let is_wanted = gains.fold(m.lit(1, 0), |any, gain| any | gain.is_of(lost.register));
            let is_unused = lost.valid & row.valid() & !row.entries.any() & !row.holds.any() & !is_wanted;
            freed = freed | Change { valid: is_unused, ..lost }.one_hot(self.registers);
        }
        io.freed_o.set(freed);
        m.invariant("a_register_that_is_freed_was_given_away", !(freed & !counts.valid_rows()).any());
        freed
    }

    fn answer<'m>(
        &self,
        m: &Module<'m>,
        io: &ReferenceCountsIo<'m>,
        counts: Table<'m, Counts>,
        changes: &Changes<'m>,
    ) {
        let Changes { allocated, increments, decrements, holds, drops } = changes;
        let most = (1_u64 << self.count_bits) - 1 - self.increments as u64;
        for (k, query) in io.query.iter().enumerate() {
            let register = query.register_i;
            let row = counts.read(format!("query{k}"), register, query.valid_i);
            let is_new = allocated.iter().fold(m.lit(1, 0), |any, new| any | new.is_of(register));
            let entries = is_new.mux(m.lit(self.count_bits, 0), row.entries);
            let coming = m.cat(increments.iter().map(|change| change.is_of(register))).popcount();
            let wide = self.count_bits.max(coming.width()) + 1;
            let all = entries.zext(wide) + coming.zext(wide);
            let is_there = query.valid_i & (row.valid() | is_new);
            query.has_room_o.set(is_there & all.le(most));
            let changing = increments.iter().chain(decrements).chain(holds).chain(drops);
            let changes = changing.fold(is_new, |any, change| any | change.is_of(register));
            query.is_sole_o.set(is_there & row.entries.eq(1) & !row.holds.any() & !changes);
        }
    }
}

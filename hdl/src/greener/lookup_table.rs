//! Which registers the decoded instructions of each warp will access.

use serde::{Deserialize, Serialize};

use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, count_bits,
    index_bits,
};

/// Lookup table: tells whether a younger decoded instruction of a warp accesses a register.
///
/// An instruction enters when it has been decoded, if its warp has an entry left; if not it is left out, and decode does
/// not wait. It leaves when it is done, or with its warp. A search finds entries of the warp that are younger than the
/// instruction that asks and name the register. Instructions are told apart by a number that counts the decoded
/// instructions of a warp; of two, the younger is ahead of the other by less than half the numbers. One that is left out
/// may ask, and one that asks is never found by itself. A search that finds an old entry instead, since its number has come
/// around, keeps a register ON for nothing.
///
/// Timing: a search answers in the same cycle, from what had entered before it; what leaves in the cycle is still found. An
/// instruction that enters takes no entry that is left in the same cycle.
/// Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §4.2.3 and §4.2.4, label 6. The
/// thesis has the PC where this has the number, and finds any other PC; younger ones are the accesses of the near future
/// that it speaks of.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct LookupTable {
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Entries of each, 1 to 8.
    pub entries: usize,
    /// Registers that an instruction accesses at most, 1 to 8.
    pub operands: usize,
    /// Bits of a register's number, 1 to 8.
    pub register_bits: usize,
    /// Bits of an instruction's number, 2 to 16.
    pub number_bits: usize,
    /// Instructions that enter a cycle, 1 or 2.
    pub enters: usize,
    /// Instructions that leave a cycle, 1 to 8.
    pub leaves: usize,
    /// Searches a cycle, 1 to 16.
    pub searches: usize,
}

/// Ports of a [`LookupTable`].
#[derive(Ports)]
#[params(LookupTable)]
pub struct LookupTableIo<'m> {
    /// Instructions that have been decoded.
    #[repeat(p.enters)]
    pub enter: Vec<EnterIo<'m>>,
    /// Registers whose state is to change.
    #[repeat(p.searches)]
    pub search: Vec<SearchIo<'m>>,
    /// Instructions that are done.
    #[repeat(p.leaves)]
    pub leave: Vec<LeaveIo<'m>>,
    /// Warps that have ended, one bit each: all their entries leave.
    #[bits(p.warps)]
    pub flush_i: In<'m>,
}

/// An instruction that has been decoded.
#[derive(Ports)]
#[params(LookupTable)]
pub struct EnterIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// Its number.
    #[bits(p.number_bits)]
    pub number_i: In<'m>,
    /// Which of its registers there are.
    #[bits(p.operands)]
    pub used_i: In<'m>,
    /// Its registers.
    #[bits(p.operands.saturating_mul(p.register_bits))]
    pub registers_i: In<'m>,
    /// It has got an entry.
    pub entered_o: Out<'m>,
}

/// A register whose state is to change.
#[derive(Ports)]
#[params(LookupTable)]
pub struct SearchIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// The instruction that has accessed it.
    #[bits(p.number_bits)]
    pub number_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// A younger instruction accesses it.
    pub found_o: Out<'m>,
}

/// An instruction that is done.
#[derive(Ports)]
#[params(LookupTable)]
pub struct LeaveIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// Its number.
    #[bits(p.number_bits)]
    pub number_i: In<'m>,
}

/// A decoded instruction.
#[derive(Clone, Copy, Record)]
#[params(LookupTable)]
struct Entry<T = Field> {
    /// Its number.
    #[bits(p.number_bits)]
    number: T,
    /// Which of its registers there are.
    #[bits(p.operands)]
    used: T,
    /// Its registers.
    #[bits(p.operands.saturating_mul(p.register_bits))]
    registers: T,
}

impl Circuit for LookupTable {
    type Io<'m> = LookupTableIo<'m>;
    const NAME: &'static str = "lookup_table";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("entries", self.entries, 1..=8)?;
        Self::check_range("operands", self.operands, 1..=8)?;
        Self::check_range("register_bits", self.register_bits, 1..=8)?;
        Self::check_range("number_bits", self.number_bits, 2..=16)?;
        Self::check_range("enters", self.enters, 1..=2)?;
        Self::check_range("leaves", self.leaves, 1..=8)?;
        Self::check_range("searches", self.searches, 1..=16)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &LookupTableIo<'m>) {
        let places = self.places();
        // Entry e of warp w is row w × entries + e.
        let rows = m.table::<Entry>("rows", places, self);
        let held = m.register("held", places).reset(0);
        for (port, search) in io.search.iter().enumerate() {
            search.found_o.set(self.search(m, port, search, rows, held));
        }
        let left = self.leave(m, io, rows, held);
        let (entered, came) = self.enter(m, io, rows, held);
        held.set((held | entered) & !left);

        let count_bits = count_bits(places);
        let count = m.register("count", count_bits).reset(0);
        count.set(count + came - (left & held).popcount());
        m.assumption("a_warp_is_one_of_those_there_are", self.warps_exist(m, io));
        m.assumption("no_instruction_of_a_warp_that_has_ended_enters", self.none_enters_ended(m, io));
        m.invariant("the_table_holds_what_has_entered_and_not_left", held.popcount().eq(count));
        m.invariant("an_entry_is_given_only_if_it_was_free", !(entered & held).any());
    }
}

impl LookupTable {
    fn places(&self) -> usize {
        self.warps * self.entries
    }

    /// Entry `index` of a warp.
    fn row<'m>(&self, m: &Module<'m>, warp: Signal<'m>, index: usize) -> Signal<'m> {
        let bits = index_bits(self.places());
        let wide = bits + 1;
        let first = warp.zext(wide.max(warp.width())).low(wide) * m.lit(wide, self.entries as u64);
        (first + m.lit(wide, index as u64)).low(bits)
    }

    /// The bits of a warp's entries.
    fn of_warp<'m>(&self, warp: Signal<'m>) -> Signal<'m> {
        warp.decode(self.warps).spread(self.entries)
    }

    fn search<'m>(
        &self,
        m: &Module<'m>,
        port: usize,
        search: &SearchIo<'m>,
        rows: Table<'m, Entry>,
        held: Signal<'m>,
    ) -> Signal<'m> {
        let held = held.lane_select(search.warp_i, self.entries);
        (0..self.entries).fold(m.lit(1, 0), |found, index| {
            let address = self.row(m, search.warp_i, index);
            let row = rows.read(format!("search{port}_{index}"), address, search.valid_i);
            let ahead = row.number - search.number_i;
            // Ahead by less than half the numbers, and not the same.
            let is_younger = ahead.any() & !ahead.bit(self.number_bits - 1);
            let register = m.cat((0..self.operands).map(|_| search.register_i));
            let named = row.registers.lane_eq(register, self.register_bits) & row.used;
            found | (search.valid_i & held.bit(index) & is_younger & named.any())
        })
    }

    /// Entries whose instruction leaves.
    fn leave<'m>(
        &self,
        m: &Module<'m>,
        io: &LookupTableIo<'m>,
        rows: Table<'m, Entry>,
        held: Signal<'m>,
    ) -> Signal<'m> {
        let flushed = io.flush_i.spread(self.entries);
        io.leave.iter().enumerate().fold(flushed, |left, (port, leave)| {
            let same = m.cat((0..self.entries).map(|index| {
                let address = self.row(m, leave.warp_i, index);
                let row = rows.read(format!("leave{port}_{index}"), address, leave.valid_i);
                leave.valid_i & row.number.eq(leave.number_i)
            }));
            let of_warp = self.of_warp(leave.warp_i) & held;
            left | (of_warp & m.cat((0..self.warps).map(|_| same)))
        })
    }

    /// Entries that are taken, and how many.
    fn enter<'m>(
        &self,
        m: &Module<'m>,
        io: &LookupTableIo<'m>,
        rows: Table<'m, Entry>,
        held: Signal<'m>,
    ) -> (Signal<'m>, Signal<'m>) {
        let count_bits = count_bits(self.places());
        let (mut entered, mut came) = (m.lit(self.places(), 0), m.lit(count_bits, 0));
        for (port, enter) in io.enter.iter().enumerate() {
            let free = self.of_warp(enter.warp_i) & !held & !entered;
            let gets = enter.valid_i & free.any();
            let place = free.lowest_one() & gets.replicate(self.places());
            m.when(gets, || {
                let entry =
                    Entry { number: enter.number_i, used: enter.used_i, registers: enter.registers_i };
                rows.write(format!("enter{port}"), place.priority_encode(), entry);
            });
            enter.entered_o.set(gets);
            entered = entered | place;
            came = came + gets.zext(count_bits);
        }
        (entered, came)
    }

    /// Whether every warp that is named is there.
    fn warps_exist<'m>(&self, m: &Module<'m>, io: &LookupTableIo<'m>) -> Signal<'m> {
        let enters = io.enter.iter().map(|enter| (enter.valid_i, enter.warp_i));
        let searches = io.search.iter().map(|search| (search.valid_i, search.warp_i));
        let leaves = io.leave.iter().map(|leave| (leave.valid_i, leave.warp_i));
        enters
            .chain(searches)
            .chain(leaves)
            .fold(m.lit(1, 1), |all, (valid, warp)| all & valid.implies(warp.decode(self.warps).any()))
    }

    fn none_enters_ended<'m>(&self, m: &Module<'m>, io: &LookupTableIo<'m>) -> Signal<'m> {
        io.enter.iter().fold(m.lit(1, 1), |all, enter| {
            all & enter.valid_i.implies(!(enter.warp_i.decode(self.warps) & io.flush_i).any())
        })
    }
}

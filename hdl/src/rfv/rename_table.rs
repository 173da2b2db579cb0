//! Which physical register each register of a warp has.

use serde::{Deserialize, Serialize};

use super::{FREED, WAYS, all_below};
use crate::regfile::SOURCES;
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, count_bits,
    index_bits,
};

/// Results of an instruction at most.
pub const RESULTS: usize = 4;

/// Rename table: maps names, which are registers of warps, to the rows of a smaller register file.
///
/// A name gets a row when an instruction that writes it is offered, in the bank of its number if that has one free,
/// else in the next that has. Each bank gives away one row a cycle, the lowest; the rest of an instruction's results
/// get theirs in the next cycles, and it is ready when all have one. Results of the second instruction get rows only in
/// a cycle in which the first is taken, so they never keep it from going on.
/// A name dies with an instruction that releases it, with its write if that says so, or with its warp; it keeps its row
/// until then. Of the dead names the two lowest give back their rows each cycle. A result that has a row keeps it, dead
/// or not, so lanes that are not written keep their value.
///
/// Timing: lookups answer in the same cycle. A name that gets a row can be looked up from the next cycle on; a row given
/// back can be given away from the next cycle on.
/// Source: Jeon et al., MICRO 2015: renaming, and registers released where the compiler says they are dead.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RenameTable {
    /// Names, at least as many as banks, up to 4096.
    pub names: usize,
    /// Banks, a power of two up to 16.
    pub banks: usize,
    /// Rows of a bank, 2 to 1024.
    pub rows: usize,
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Instructions offered a cycle, 1 or 2.
    pub issues: usize,
}

/// Ports of a [`RenameTable`].
#[derive(Ports)]
#[params(RenameTable)]
pub struct RenameTableIo<'m> {
    /// Instructions offered, in program order.
    #[repeat(p.issues)]
    pub issue: Vec<RenameIssueIo<'m>>,
    /// Registers about to be written: as many of short operations, then one of a long-latency operation.
    #[repeat(p.issues.saturating_add(1))]
    pub write: Vec<RenameWriteIo<'m>>,
    /// Names of warps that have ended.
    #[bits(p.names)]
    pub retire_i: In<'m>,
    /// Rows given back in this cycle.
    #[repeat(FREED)]
    pub freed: Vec<FreedIo<'m>>,
    /// Rows that have a name.
    #[bits(count_bits(p.registers()))]
    pub used_o: Out<'m>,
}

/// An instruction offered.
#[derive(Ports)]
#[params(RenameTable)]
pub struct RenameIssueIo<'m> {
    /// There is one; it stays until it is taken.
    pub valid_i: In<'m>,
    /// Its warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// Registers it reads.
    #[repeat(SOURCES)]
    pub source: Vec<RenameSourceIo<'m>>,
    /// Registers it writes.
    #[repeat(RESULTS)]
    pub result: Vec<NameIo<'m>>,
    /// Names that die when it is taken; none of its results.
    #[bits(p.names)]
    pub release_i: In<'m>,
    /// Each of its results has a row, or gets one in this cycle.
    pub ready_o: Out<'m>,
    /// It is taken in this cycle.
    pub taken_i: In<'m>,
    /// Rows its results get in this cycle.
    #[bits(count_bits(RESULTS))]
    pub allocated_o: Out<'m>,
}

/// A register to be read.
#[derive(Ports)]
#[params(RenameTable)]
pub struct RenameSourceIo<'m> {
    /// It is looked up.
    pub valid_i: In<'m>,
    /// Its name.
    #[bits(index_bits(p.names))]
    pub name_i: In<'m>,
    /// It has a row.
    pub mapped_o: Out<'m>,
    /// The row, as a register of the register file.
    #[bits(p.register_bits())]
    pub register_o: Out<'m>,
}

/// A name, if there is one.
#[derive(Ports)]
#[params(RenameTable)]
pub struct NameIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The name.
    #[bits(index_bits(p.names))]
    pub name_i: In<'m>,
}

/// A register about to be written.
#[derive(Ports)]
#[params(RenameTable)]
pub struct RenameWriteIo<'m> {
    /// It is looked up.
    pub valid_i: In<'m>,
    /// Its name.
    #[bits(index_bits(p.names))]
    pub name_i: In<'m>,
    /// It has a row.
    pub mapped_o: Out<'m>,
    /// The row, as a register of the register file.
    #[bits(p.register_bits())]
    pub register_o: Out<'m>,
    /// It dies in this cycle.
    pub dies_i: In<'m>,
}

/// A row given back.
#[derive(Ports)]
#[params(RenameTable)]
pub struct FreedIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// The warp whose register it was.
    #[bits(index_bits(p.warps))]
    pub warp_o: Out<'m>,
}

/// A result that asks for a row in this cycle.
struct Request<'m> {
    name: Signal<'m>,
    /// It gets one.
    granted: Signal<'m>,
    /// It has one from before.
    kept: Signal<'m>,
}

/// The free rows of a cycle: one of each bank that has some.
struct Offers<'m> {
    /// One bit a bank.
    banks: Signal<'m>,
    /// The row of each bank.
    rows: Vec<Signal<'m>>,
}

/// The row of a name that has one.
#[derive(Clone, Copy, Record)]
#[params(RenameTable)]
struct Mapping<T = Field> {
    /// Its physical register.
    #[bits(p.register_bits())]
    register: T,
    /// The warp whose name it is.
    #[bits(index_bits(p.warps))]
    warp: T,
}

impl Circuit for RenameTable {
    type Io<'m> = RenameTableIo<'m>;
    const NAME: &'static str = "rename_table";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("banks", self.banks, 1..=16)?;
        Self::check(self.banks.is_power_of_two(), "banks", self.banks, "a power of two")?;
        Self::check_range("rows", self.rows, 2..=1024)?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("names", self.names, self.banks.max(2)..=4096)?;
        Self::check_range("issues", self.issues, 1..=WAYS)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RenameTableIo<'m>) {
        let names = m.table::<Mapping>("names", self.names, self).valid_bits();
        // Names that are dead and still have a row.
        let dying = m.register("dying", self.names).reset(0);
        let used: Vec<Signal<'m>> =
            (0..self.banks).map(|bank| m.register(format!("used{bank}"), self.rows).reset(0)).collect();
        let all_used = m.cat(used.iter().copied());
        io.used_o.set(all_used.popcount());
        for (way, issue) in io.issue.iter().enumerate() {
            for (k, source) in issue.source.iter().enumerate() {
                let row = names.read(format!("source{way}_{k}"), source.name_i, source.valid_i);
                source.mapped_o.set(row.valid());
                source.register_o.set(row.register).valid_when(row.valid());
            }
        }
        let (requests, offers, given) = self.allocate(m, io, names, &used);
        let dead = self.dying_now(io, names);
        let freed = self.free(m, io, names, dying, &requests);

        let claimed = requests.iter().fold(m.lit(self.names, 0), |claimed, request| {
            claimed | (request.kept.replicate(self.names) & request.name.decode(self.names))
        });
        let given_back = freed.iter().fold(m.lit(self.names, 0), |all, freed| all | freed.name);
        dying.set((dying | dead) & !claimed & !given_back);
        let returned = freed.iter().fold(m.lit(self.registers(), 0), |all, freed| all | freed.row);
        for (bank, used) in used.iter().enumerate() {
            let taken = given.bit(bank).replicate(self.rows) & offers.rows[bank].decode(self.rows);
            used.set((*used | taken) & !returned.slice(bank * self.rows, self.rows));
        }

        m.assumption("a_name_is_one_of_those_there_are", self.names_exist(m, io));
        let mapped = names.valid_rows();
        m.invariant(
            "as_many_rows_are_used_as_names_have_one",
            mapped.popcount().zext(16).eq(all_used.popcount().zext(16)),
        );
        m.invariant("a_dead_name_has_a_row", !(dying & !mapped).any());
        m.invariant("a_row_that_is_given_back_was_used", !(returned & !all_used).any());
        m.invariant(
            "each_row_that_is_given_back_had_one_name",
            returned.popcount().zext(16).eq(given_back.popcount().zext(16)),
        );
    }
}

/// A name that gives back its row, each one-hot; 0 if there is none.
struct Freed<'m> {
    name: Signal<'m>,
    row: Signal<'m>,
}

impl RenameTable {
    /// Whether every register that is written, or is to be, has a name that there is.
    fn names_exist<'m>(&self, m: &Module<'m>, io: &RenameTableIo<'m>) -> Signal<'m> {
        let results = io.issue.iter().flat_map(|issue| {
            issue.result.iter().map(|result| (issue.valid_i & result.valid_i, result.name_i))
        });
        let writes = io.write.iter().map(|write| (write.valid_i, write.name_i));
        all_below(m, results.chain(writes), self.names)
    }

    /// Rows of all banks.
    pub fn registers(&self) -> usize {
        self.banks * self.rows
    }

    /// Bits of a register's number: the bank in the low bits, the row above it.
    pub fn register_bits(&self) -> usize {
        self.bank_bits() + index_bits(self.rows)
    }

    fn bank_bits(&self) -> usize {
        self.banks.max(1).ilog2() as usize
    }

    /// Gives rows to results that have none: the requests, the rows on offer, and the banks whose row is given.
    fn allocate<'m>(
        &self,
        m: &Module<'m>,
        io: &RenameTableIo<'m>,
        names: Table<'m, Mapping>,
        used: &[Signal<'m>],
    ) -> (Vec<Request<'m>>, Offers<'m>, Signal<'m>) {
        let offers = Offers {
            banks: m.cat(used.iter().map(|used| !used.all())),
            rows: used.iter().map(|used| (!*used).priority_encode()).collect(),
        };
        let mut given = m.lit(self.banks, 0);
        let mut requests: Vec<Request<'m>> = Vec::new();
        let mut earlier_taken = m.lit(1, 1);
        for (way, issue) in io.issue.iter().enumerate() {
            let mut ready = m.lit(1, 1);
            let mut allocated = m.lit(count_bits(RESULTS), 0);
            for (k, result) in issue.result.iter().enumerate() {
                let wanted = issue.valid_i & result.valid_i;
                let row = names.read(format!("result{way}_{k}"), result.name_i, wanted);
                let granted_before = requests.iter().fold(m.lit(1, 0), |any, request| {
                    any | (request.granted & request.name.eq(result.name_i))
                });
                let missing = wanted & !row.valid() & !granted_before;
                let free = offers.banks & !given;
                let granted = (missing & earlier_taken & free.any()).named(format!("granted{way}_{k}"));
                let (bank, register) = self.choose(m, result.name_i, free, &offers);
                given = given | (granted.replicate(self.banks) & bank);
                m.when(granted, || {
                    let mapping = Mapping { register, warp: issue.warp_i };
                    names.write(format!("allocate{way}_{k}"), result.name_i, mapping);
                });
                ready = ready & (!missing | granted);
                allocated = allocated + granted.zext(count_bits(RESULTS));
                requests.push(Request { name: result.name_i, granted, kept: wanted & row.valid() });
            }
            issue.ready_o.set(ready);
            issue.allocated_o.set(allocated);
            earlier_taken = earlier_taken & issue.taken_i;
        }
        (requests, offers, given)
    }

    /// The first bank of `free`, one bit a bank, from that of the name on: one-hot, and the register on offer there.
    fn choose<'m>(
        &self,
        m: &Module<'m>,
        name: Signal<'m>,
        free: Signal<'m>,
        offers: &Offers<'m>,
    ) -> (Signal<'m>, Signal<'m>) {
        if self.banks == 1 {
            return (m.lit(1, 1), offers.rows[0]);
        }
        let preferred = name.low(self.bank_bits());
        let distance = (free.concat(free) >> preferred).low(self.banks).priority_encode();
        let bank = preferred + distance;
        let row = m.cat(offers.rows.iter().copied()).lane_select(bank, index_bits(self.rows));
        (bank.decode(self.banks), bank.concat(row))
    }

    /// Names that have a row and die in this cycle.
    fn dying_now<'m>(&self, io: &RenameTableIo<'m>, names: Table<'m, Mapping>) -> Signal<'m> {
        let mut dead = io.retire_i;
        for issue in &io.issue {
            dead = dead | (issue.taken_i.replicate(self.names) & issue.release_i);
        }
        for (number, write) in io.write.iter().enumerate() {
            let row = names.read(format!("write{number}"), write.name_i, write.valid_i);
            write.mapped_o.set(row.valid());
            write.register_o.set(row.register).valid_when(row.valid());
            let dies = write.valid_i & write.dies_i;
            dead = dead | (dies.replicate(self.names) & write.name_i.decode(self.names));
        }
        dead & names.valid_rows()
    }

    /// Takes the rows of the lowest dead names, but for those that an offered instruction writes.
    fn free<'m>(
        &self,
        m: &Module<'m>,
        io: &RenameTableIo<'m>,
        names: Table<'m, Mapping>,
        dying: Signal<'m>,
        requests: &[Request<'m>],
    ) -> Vec<Freed<'m>> {
        let mut left = dying;
        let mut all = Vec::new();
        for (number, port) in io.freed.iter().enumerate() {
            let name = left.priority_encode();
            let claimed = requests
                .iter()
                .fold(m.lit(1, 0), |any, request| any | (request.kept & request.name.eq(name)));
            let valid = (left.any() & !claimed).named(format!("frees{number}"));
            let row = names.read(format!("free{number}"), name, valid);
            m.when(valid, || names.clear_row(name));
            port.valid_o.set(valid);
            port.warp_o.set(row.warp).valid_when(valid);
            all.push(Freed {
                name: left.lowest_one() & valid.replicate(self.names),
                row: self.place(m, row.register, valid),
            });
            left = left & !left.lowest_one();
        }
        all
    }

    /// A register, one-hot in the order of banks and rows; 0 unless `valid`.
    fn place<'m>(&self, m: &Module<'m>, register: Signal<'m>, valid: Signal<'m>) -> Signal<'m> {
        let row = register.high(index_bits(self.rows)).decode(self.rows);
        if self.banks == 1 {
            return row & valid.replicate(self.rows);
        }
        let bank = register.low(self.bank_bits()).decode(self.banks);
        m.cat((0..self.banks).map(|b| row & (bank.bit(b) & valid).replicate(self.rows)))
    }
}

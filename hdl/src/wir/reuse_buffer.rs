//! What has been computed of which registers, and where the results are.

use serde::{Deserialize, Serialize};

use super::h3_rows;
use crate::regfile::collector_groups::numbered;
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Read, Record, Signal, Table,
    count_bits, index_bits,
};

/// Operands of an instruction that is looked up.
pub const OPERANDS: usize = 3;
/// Results of a row at most.
pub const ROW_RESULTS: usize = 2;

/// Reuse buffer: finds the register that holds the result of an instruction with the same operands.
///
/// Direct-indexed by a hash of the tag, which is the form of the instruction, its operands, its block and the block's count of
/// barriers. A miss can reserve its row unless that is pending: the row has the tag and is pending until the instruction fills
/// it with its result, or cancels it. While it is pending its result field has the number of that instruction, so that a fill
/// finds out whether the row is still its own. When registers are short a miss only evicts. In a cycle without lookup and fill
/// the buffer can be swept, a row a cycle, pending or not: of all rows, or of those of one block, whose number is then free.
///
/// With two results a row an instruction may have a second one. Both fill the row, each in a cycle of its own and in any order:
/// the one that comes first stands in the second's field, and the row is pending until the other is there too.
///
/// Of two lookups in a cycle each sees the rows as they were before. If the first changes its row, the second leaves that row
/// alone; if it reserves the row for what the second looks up, the second finds it pending.
///
/// Timing: a lookup answers in the same cycle; a change is seen from the next cycle on. A lookup in the cycle of the fill of
/// its row sees it pending.
/// Source: Kim & Ro, WIR, §V-C, Fig. 9, §VI-B (pending rows), §V-E (low register mode); 256 rows of 59 bits (Table II, §VII-E),
/// with one result.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ReuseBuffer {
    /// Rows, a power of two, 2 to 1024.
    pub rows: usize,
    /// Bits of an instruction's form, 1 to 12 (Fig. 9: 8).
    pub form_bits: usize,
    /// Bits of a physical register's number, or of a constant, 1 to 16. An operand has one more, which tells them apart.
    pub register_bits: usize,
    /// Bits of a block's number, 1 to 8 (Fig. 9: 4).
    pub block_bits: usize,
    /// Bits of a count of barriers, 1 to 8 (Fig. 9: 5).
    pub barrier_bits: usize,
    /// Bits of the number of an instruction in flight, 1 to 16.
    pub id_bits: usize,
    /// Results of a row, 1 or 2 (Fig. 9: 1).
    pub results: usize,
    /// Lookups and fills a cycle, 1 or 2: one of each for each scheduler (§VII-E).
    pub ways: usize,
    /// What the matrix of the hash is drawn from.
    pub seed: u64,
}

/// Ports of a [`ReuseBuffer`].
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct ReuseBufferIo<'m> {
    /// Instructions that are about to execute.
    #[repeat_plain(p.ways)]
    pub lookup: Vec<ReuseLookupIo<'m>>,
    /// Instructions that have executed.
    #[repeat_plain(p.ways)]
    pub fill: Vec<FillIo<'m>>,
    /// Evicts the next row in turn if there is neither lookup nor fill.
    pub sweep_i: In<'m>,
    /// The next row in turn is evicted only if it is of the block below.
    pub sweep_one_i: In<'m>,
    /// A block.
    #[bits(p.block_bits)]
    pub sweep_block_i: In<'m>,
    /// The row that each lookup evicts, or the sweep in place of the first; behind these the row that each fill cancels.
    #[repeat(p.ways.saturating_mul(2))]
    pub evicted: Vec<EvictedRowIo<'m>>,
}

/// An instruction that is about to execute.
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct ReuseLookupIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its form.
    #[bits(p.form_bits)]
    pub form_i: In<'m>,
    /// Its operands; those that it does not have are the constant 0.
    #[repeat(OPERANDS)]
    pub operand: Vec<OperandIo<'m>>,
    /// Its block, if that matters.
    #[bits(p.block_bits)]
    pub block_i: In<'m>,
    /// The barriers that the block has passed, if that matters.
    #[bits(p.barrier_bits)]
    pub barrier_i: In<'m>,
    /// Its number.
    #[bits(p.id_bits)]
    pub id_i: In<'m>,
    /// On a miss it reserves the row.
    pub reserve_i: In<'m>,
    /// On a miss that reserves nothing the row is evicted, unless it is pending.
    pub drop_i: In<'m>,
    /// The result is known.
    pub hit_o: Out<'m>,
    /// The register that holds it.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
    /// Its second result; no ports unless rows have two.
    #[repeat_plain(p.results.saturating_sub(1))]
    pub second: Vec<SecondIo<'m>>,
    /// An instruction that is executing computes it.
    pub pending_o: Out<'m>,
    /// The row is reserved.
    pub reserved_o: Out<'m>,
    /// The row.
    #[bits(index_bits(p.rows))]
    pub row_o: Out<'m>,
}

/// An operand.
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct OperandIo<'m> {
    /// It is a register.
    pub is_register_i: In<'m>,
    /// The physical register, or the constant.
    #[bits(p.register_bits)]
    pub value_i: In<'m>,
}

/// An instruction that has executed and had reserved a row.
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct FillIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The row.
    #[bits(index_bits(p.rows))]
    pub row_i: In<'m>,
    /// Its number.
    #[bits(p.id_bits)]
    pub id_i: In<'m>,
    /// The row is given up.
    pub cancel_i: In<'m>,
    /// The register that holds the result.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Whether it is one of two results; no ports unless rows have two.
    #[repeat_plain(p.results.saturating_sub(1))]
    pub pair: Vec<PairIo<'m>>,
    /// The row was still its own, and has the result.
    pub filled_o: Out<'m>,
}

/// Which of two results one is.
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct PairIo<'m> {
    /// The instruction has two results, each of which comes once.
    pub valid_i: In<'m>,
    /// It is the second.
    pub second_i: In<'m>,
}

/// The second result of a row.
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct SecondIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// The register that holds it.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
}

/// A row that is given up.
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct EvictedRowIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// Its operands.
    #[repeat(OPERANDS)]
    pub operand: Vec<EvictedOperandIo<'m>>,
    /// It had a result.
    pub has_result_o: Out<'m>,
    /// The register that holds it.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
    /// Its second result, or of two the one that had come; no ports unless rows have two.
    #[repeat_plain(p.results.saturating_sub(1))]
    pub second: Vec<SecondIo<'m>>,
}

/// An operand of a row that is given up.
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct EvictedOperandIo<'m> {
    /// It is a register.
    pub is_register_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
}

/// A computation.
#[derive(Clone, Copy, Record)]
#[params(ReuseBuffer)]
struct Computation<T = Field> {
    /// Form, operands, block and barriers, the form lowest.
    #[bits(p.tag_bits())]
    tag: T,
    /// The result's register; while it is pending the instruction's number.
    #[bits(p.result_bits())]
    result: T,
    /// An instruction that is executing computes it.
    #[bits(1)]
    pending: T,
}

/// The second result of a computation; while the row is pending, the one of two that has come.
#[derive(Clone, Copy, Record)]
#[params(ReuseBuffer)]
struct Second<T = Field> {
    /// Its register.
    #[bits(p.register_bits)]
    register: T,
}

/// The rows, their second results if there are any, and which row is swept next.
#[derive(Clone, Copy)]
struct Rows<'m> {
    rows: Table<'m, Computation>,
    seconds: Option<Table<'m, Second>>,
    turn: Signal<'m>,
    sweeps: Signal<'m>,
}

/// What a lookup does to its row.
#[derive(Clone, Copy)]
struct LookedUp<'m> {
    index: Signal<'m>,
    tag: Signal<'m>,
    reserves: Signal<'m>,
    evicts: Signal<'m>,
    /// The row had a second result.
    had_second: Option<Signal<'m>>,
}

/// What a fill does to its row.
#[derive(Clone, Copy)]
struct Filled<'m> {
    row: Signal<'m>,
    is_own: Signal<'m>,
    filled: Signal<'m>,
    cancelled: Signal<'m>,
    /// A second result comes where there was none; one goes with the row.
    second_comes: Option<Signal<'m>>,
    second_goes: Option<Signal<'m>>,
}

impl Circuit for ReuseBuffer {
    type Io<'m> = ReuseBufferIo<'m>;
    const NAME: &'static str = "reuse_buffer";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("rows", self.rows, 2..=1024)?;
        Self::check(self.rows.is_power_of_two(), "rows", self.rows, "a power of two")?;
        Self::check_range("form_bits", self.form_bits, 1..=12)?;
        Self::check_range("register_bits", self.register_bits, 1..=16)?;
        Self::check_range("block_bits", self.block_bits, 1..=8)?;
        Self::check_range("barrier_bits", self.barrier_bits, 1..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("results", self.results, 1..=ROW_RESULTS)?;
        Self::check_range("ways", self.ways, 1..=2)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ReuseBufferIo<'m>) {
        let rows = m.table::<Computation>("rows", self.rows, self).valid_bits();
        let seconds = (self.results > 1).then(|| m.table::<Second>("seconds", self.rows, self).valid_bits());
        let turn = m.register("turn", rows.index_bits()).reset(0);
        let valid =
            io.lookup.iter().map(|lookup| lookup.valid_i).chain(io.fill.iter().map(|fill| fill.valid_i));
        let is_used = valid.fold(m.lit(1, 0), |any, valid| any | valid);
        let sweeps = (io.sweep_i & !is_used).named("sweeps");
        let all = Rows { rows, seconds, turn, sweeps };
        let mut looked_up: Vec<LookedUp<'m>> = Vec::new();
        for way in 0..self.ways {
            let next = self.look_up(m, io, all, way, looked_up.first());
            looked_up.push(next);
        }
        let filled: Vec<Filled<'m>> = (0..self.ways).map(|way| self.fill(m, io, all, way)).collect();
        m.when(sweeps, || {
            turn.set(turn + 1);
        });
        self.count(m, all, &looked_up, &filled);
        for (way, filled) in filled.iter().enumerate() {
            let both = looked_up.iter().fold(m.lit(1, 0), |any, lookup| {
                any | (lookup.reserves & filled.filled & lookup.index.eq(filled.row))
            });
            let name = numbered("one_row_is_not_reserved_and_filled_at_once", self.ways, way);
            m.invariant(name, !both);
        }
        if let [first, second] = &filled[..] {
            let same = first.is_own & second.is_own & first.row.eq(second.row);
            m.assumption("fills_of_a_cycle_are_of_different_instructions", !same);
        }
    }
}

impl ReuseBuffer {
    fn operand_bits(&self) -> usize {
        self.register_bits + 1
    }

    fn tag_bits(&self) -> usize {
        self.form_bits + OPERANDS * self.operand_bits() + self.block_bits + self.barrier_bits
    }

    fn result_bits(&self) -> usize {
        self.register_bits.max(self.id_bits)
    }

    /// Bits of a row: valid bit, tag, result, pending bit; a second result has a register and a valid bit.
    pub fn row_bits(&self) -> usize {
        self.tag_bits() + self.result_bits() + 2 + self.results.saturating_sub(1) * (self.register_bits + 1)
    }

    fn tag<'m>(&self, m: &Module<'m>, lookup: &ReuseLookupIo<'m>) -> Signal<'m> {
        let operands = lookup.operand.iter().map(|operand| operand.value_i.concat(operand.is_register_i));
        m.cat([lookup.form_i].into_iter().chain(operands).chain([lookup.block_i, lookup.barrier_i]))
    }

    /// The block of a tag.
    fn block<'m>(&self, tag: Signal<'m>) -> Signal<'m> {
        tag.slice(self.form_bits + OPERANDS * self.operand_bits(), self.block_bits)
    }

    fn give_up<'m>(&self, io: &EvictedRowIo<'m>, valid: Signal<'m>, row: Read<'m, Computation>) {
        io.valid_o.set(valid);
        for (place, port) in io.operand.iter().enumerate() {
            let operand = row.tag.slice(self.form_bits + place * self.operand_bits(), self.operand_bits());
            port.is_register_o.set(valid & operand.bit(self.register_bits));
            port.register_o.set(operand.low(self.register_bits)).valid_when(port.is_register_o);
        }
        io.has_result_o.set(valid & !row.pending);
        io.register_o.set(row.result.low(self.register_bits)).valid_when(io.has_result_o);
    }

    /// Looks an instruction up, or sweeps a row on the first way. `first`: what the lookup before has done.
    fn look_up<'m>(
        &self,
        m: &Module<'m>,
        io: &ReuseBufferIo<'m>,
        Rows { rows, seconds, turn, sweeps }: Rows<'m>,
        way: usize,
        first: Option<&LookedUp<'m>>,
    ) -> LookedUp<'m> {
        let name = |name: &str| numbered(name, self.ways, way);
        let (lookup, evicted) = (&io.lookup[way], &io.evicted[way]);
        let tag = self.tag(m, lookup);
        let hash = tag.xor_hash(h3_rows(self.tag_bits(), rows.index_bits(), self.seed));
        let (index, sweeps) =
            if way == 0 { (lookup.valid_i.mux(hash, turn), sweeps) } else { (hash, m.lit(1, 0)) };
        let row = rows.read(name("row"), index, lookup.valid_i | sweeps);
        let second = seconds.map(|seconds| seconds.read(name("row"), index, lookup.valid_i | sweeps));

        let matches = lookup.valid_i & row.valid() & row.tag.eq(tag);
        // The lookup before may take the row, even for the same.
        let is_same_row = first.map(|first| index.eq(first.index));
        let is_taken = first.zip(is_same_row).map(|(first, same)| same & (first.reserves | first.evicts));
        let is_same = first.zip(is_same_row).map(|(first, same)| same & first.reserves & first.tag.eq(tag));
        let misses = lookup.valid_i & !matches;
        let misses = is_taken.map_or(misses, |is_taken| misses & !is_taken);
        let is_pending = row.valid() & row.pending;
        let hit = (matches & !row.pending).named(name("hit"));
        let reserves = (misses & lookup.reserve_i & !is_pending).named(name("reserves"));
        let drops = misses & lookup.drop_i & !is_pending;
        let is_swept = sweeps & (!io.sweep_one_i | self.block(row.tag).eq(io.sweep_block_i));
        let evicts = ((reserves | drops | is_swept) & row.valid()).named(name("evicts"));
        lookup.hit_o.set(hit);
        lookup.register_o.set(row.result.low(self.register_bits)).valid_when(hit);
        say_second(&lookup.second, hit, second);
        let pending = matches & row.pending;
        lookup.pending_o.set(is_same.map_or(pending, |is_same| pending | (lookup.valid_i & is_same)));
        lookup.reserved_o.set(reserves);
        lookup.row_o.set(hash).valid_when(lookup.valid_i);
        self.give_up(evicted, evicts, row);
        say_second(&evicted.second, evicts, second);

        m.when(evicts, || rows.clear_row(index));
        m.when(reserves, || {
            let result = lookup.id_i.zext(self.result_bits());
            rows.write(name("reserve"), index, Computation { tag, result, pending: m.lit(1, 1) });
        });
        if let Some(seconds) = seconds {
            m.when(evicts, || seconds.clear_row(index));
        }
        m.invariant(name("a_pending_row_is_not_reserved_again"), !(reserves & is_pending));
        LookedUp { index, tag, reserves, evicts, had_second: second.map(|second| evicts & second.valid()) }
    }

    /// Fills or cancels the row of an instruction. A second result comes with a fill, and goes with a row that is cancelled.
    fn fill<'m>(
        &self,
        m: &Module<'m>,
        io: &ReuseBufferIo<'m>,
        Rows { rows, seconds, .. }: Rows<'m>,
        way: usize,
    ) -> Filled<'m> {
        let name = |name: &str| numbered(name, self.ways, way);
        let (fill, evicted) = (&io.fill[way], &io.evicted[self.ways + way]);
        let own = rows.read(name("own"), fill.row_i, fill.valid_i);
        let is_own =
            fill.valid_i & own.valid() & own.pending & own.result.eq(fill.id_i.zext(self.result_bits()));
        let filled = (is_own & !fill.cancel_i).named(name("filled"));
        let cancelled = (is_own & fill.cancel_i).named(name("cancelled"));
        fill.filled_o.set(filled);
        self.give_up(evicted, cancelled, own);
        m.when(cancelled, || rows.clear_row(fill.row_i));
        let mut done =
            Filled { row: fill.row_i, is_own, filled, cancelled, second_comes: None, second_goes: None };
        let (completes, result) = match seconds.zip(fill.pair.first()) {
            Some((seconds, pair)) => {
                let second = seconds.read(name("own"), fill.row_i, fill.valid_i);
                say_second(&evicted.second, cancelled, Some(second));
                let is_second = pair.valid_i & pair.second_i;
                let completes = (filled & (!pair.valid_i | second.valid())).named(name("completes"));
                let is_alone = is_own & !pair.valid_i;
                m.assumption(name("an_instruction_has_one_result_or_two"), is_alone.implies(!second.valid()));
                let comes = (filled & pair.valid_i & (pair.second_i | !second.valid())).named(name("comes"));
                m.when(cancelled, || seconds.clear_row(fill.row_i));
                m.when(comes, || {
                    seconds.write(name("fill"), fill.row_i, Second { register: fill.register_i });
                });
                done.second_comes = Some(comes & !second.valid());
                done.second_goes = Some(cancelled & second.valid());
                (completes, is_second.mux(second.register, fill.register_i))
            }
            None => (filled, fill.register_i),
        };
        m.when(completes, || {
            let result = result.zext(self.result_bits());
            rows.write_fields(name("fill"), fill.row_i, |row| {
                [(row.result, result), (row.pending, m.lit(1, 0))]
            })
            .keep_valid();
        });
        done
    }

    /// Rows, and second results, are as many as have come and not gone.
    fn count<'m>(&self, m: &Module<'m>, all: Rows<'m>, looked_up: &[LookedUp<'m>], filled: &[Filled<'m>]) {
        let bits = count_bits(self.rows);
        let sum = |of: &mut dyn Iterator<Item = Signal<'m>>| {
            of.fold(m.lit(bits, 0), |sum, one: Signal<'m>| sum + one.zext(bits))
        };
        let come = sum(&mut looked_up.iter().map(|lookup| lookup.reserves));
        let evicted = looked_up.iter().map(|lookup| lookup.evicts);
        let gone = sum(&mut evicted.chain(filled.iter().map(|fill| fill.cancelled)));
        let held = m.register("held", bits).reset(0);
        held.set(held + come - gone);
        let rows = all.rows.valid_rows();
        m.invariant("every_row_that_was_reserved_is_held_or_given_up", rows.popcount().eq(held));
        let Some(seconds) = all.seconds else { return };
        let come = sum(&mut filled.iter().filter_map(|fill| fill.second_comes));
        let evicted = looked_up.iter().filter_map(|lookup| lookup.had_second);
        let gone = sum(&mut evicted.chain(filled.iter().filter_map(|fill| fill.second_goes)));
        let held = m.register("held_seconds", bits).reset(0);
        held.set(held + come - gone);
        let no_row = seconds.valid_rows() & !rows;
        m.invariant("a_row_that_has_a_second_result_is_held", !no_row.any());
        let valid = seconds.valid_rows();
        m.invariant("every_second_result_is_held_or_given_up", valid.popcount().eq(held));
    }
}

/// The second result of a row, if rows have two.
fn say_second<'m>(io: &[SecondIo<'m>], valid: Signal<'m>, row: Option<Read<'m, Second>>) {
    for (port, row) in io.iter().zip(row) {
        port.valid_o.set(valid & row.valid());
        port.register_o.set(row.register).valid_when(port.valid_o);
    }
}

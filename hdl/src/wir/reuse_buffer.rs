//! What has been computed of which registers, and where the results are.

use serde::{Deserialize, Serialize};

use super::h3_rows;
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
    /// What the matrix of the hash is drawn from.
    pub seed: u64,
}

/// Ports of a [`ReuseBuffer`].
#[derive(Ports)]
#[params(ReuseBuffer)]
pub struct ReuseBufferIo<'m> {
    /// An instruction that is about to execute.
    pub lookup: ReuseLookupIo<'m>,
    /// An instruction that has executed.
    pub fill: FillIo<'m>,
    /// Evicts the next row in turn if there is neither lookup nor fill.
    pub sweep_i: In<'m>,
    /// The next row in turn is evicted only if it is of the block below.
    pub sweep_one_i: In<'m>,
    /// A block.
    #[bits(p.block_bits)]
    pub sweep_block_i: In<'m>,
    /// The row that a lookup or the sweep evicts, and the row that is cancelled.
    #[repeat(2)]
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

/// Second results: those of all rows, of the row that is looked up or swept, and of the row that is filled.
#[derive(Clone, Copy)]
struct Seconds<'m> {
    table: Table<'m, Second>,
    row: Read<'m, Second>,
    own: Read<'m, Second>,
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
        Self::check_range("results", self.results, 1..=ROW_RESULTS)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ReuseBufferIo<'m>) {
        let rows = m.table::<Computation>("rows", self.rows, self).valid_bits();
        let turn = m.register("turn", rows.index_bits()).reset(0);
        let (lookup, fill) = (&io.lookup, &io.fill);
        let sweeps = (io.sweep_i & !lookup.valid_i & !fill.valid_i).named("sweeps");
        let tag = self.tag(m, lookup);
        let hash = tag.xor_hash(h3_rows(self.tag_bits(), rows.index_bits(), self.seed));
        let index = lookup.valid_i.mux(hash, turn);
        let row = rows.read("row", index, lookup.valid_i | sweeps);
        let seconds = (self.results > 1).then(|| {
            let table = m.table::<Second>("seconds", self.rows, self).valid_bits();
            let row = table.read("row", index, lookup.valid_i | sweeps);
            Seconds { table, row, own: table.read("own", fill.row_i, fill.valid_i) }
        });

        let matches = lookup.valid_i & row.valid() & row.tag.eq(tag);
        let misses = lookup.valid_i & !matches;
        let is_pending = row.valid() & row.pending;
        let hit = (matches & !row.pending).named("hit");
        let reserves = (misses & lookup.reserve_i & !is_pending).named("reserves");
        let drops = misses & lookup.drop_i & !is_pending;
        let is_swept = sweeps & (!io.sweep_one_i | self.block(row.tag).eq(io.sweep_block_i));
        let evicts = ((reserves | drops | is_swept) & row.valid()).named("evicts");
        lookup.hit_o.set(hit);
        lookup.register_o.set(row.result.low(self.register_bits)).valid_when(hit);
        say_second(&lookup.second, hit, seconds.map(|seconds| seconds.row));
        lookup.pending_o.set(matches & row.pending);
        lookup.reserved_o.set(reserves);
        lookup.row_o.set(hash).valid_when(lookup.valid_i);
        self.give_up(&io.evicted[0], evicts, row);
        say_second(&io.evicted[0].second, evicts, seconds.map(|seconds| seconds.row));

        let own = rows.read("own", fill.row_i, fill.valid_i);
        let is_own = own.valid() & own.pending & own.result.eq(fill.id_i.zext(self.result_bits()));
        let filled = (fill.valid_i & is_own & !fill.cancel_i).named("filled");
        let cancelled = (fill.valid_i & is_own & fill.cancel_i).named("cancelled");
        fill.filled_o.set(filled);
        self.give_up(&io.evicted[1], cancelled, own);
        say_second(&io.evicted[1].second, cancelled, seconds.map(|seconds| seconds.own));

        let pair = seconds.zip(fill.pair.first());
        let (completes, result) = match pair {
            Some((Seconds { own, .. }, pair)) => {
                let is_second = pair.valid_i & pair.second_i;
                let completes = (filled & (!pair.valid_i | own.valid())).named("completes");
                (completes, is_second.mux(own.register, fill.register_i))
            }
            None => (filled, fill.register_i),
        };
        m.when(evicts, || rows.clear_row(index));
        m.when(reserves, || {
            let result = lookup.id_i.zext(self.result_bits());
            rows.write("reserve", index, Computation { tag, result, pending: m.lit(1, 1) });
        });
        m.when(cancelled, || rows.clear_row(fill.row_i));
        m.when(completes, || {
            let result = result.zext(self.result_bits());
            rows.write_fields("fill", fill.row_i, |row| [(row.result, result), (row.pending, m.lit(1, 0))])
                .keep_valid();
        });
        m.when(sweeps, || {
            turn.set(turn + 1);
        });

        let held_bits = count_bits(self.rows);
        let held = m.register("held", held_bits).reset(0);
        held.set(held + reserves.zext(held_bits) - evicts.zext(held_bits) - cancelled.zext(held_bits));
        m.invariant("every_row_that_was_reserved_is_held_or_given_up", rows.valid_rows().popcount().eq(held));
        m.invariant("a_pending_row_is_not_reserved_again", !(reserves & is_pending));
        m.invariant(
            "one_row_is_not_reserved_and_filled_at_once",
            !(reserves & filled & index.eq(fill.row_i)),
        );
        if let Some((seconds, pair)) = pair {
            let is_alone = fill.valid_i & is_own & !pair.valid_i;
            m.assumption("an_instruction_has_one_result_or_two", is_alone.implies(!seconds.own.valid()));
            let no_row = seconds.table.valid_rows() & !rows.valid_rows();
            m.invariant("a_row_that_has_a_second_result_is_held", !no_row.any());
            let comes = (filled & pair.valid_i & (pair.second_i | !seconds.own.valid())).named("comes");
            self.keep_seconds(m, seconds, (comes, fill), (evicts, index), cancelled);
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

    /// A second result comes with a fill, goes with a row that is evicted, or with the fill's row, which is cancelled.
    fn keep_seconds<'m>(
        &self,
        m: &Module<'m>,
        seconds: Seconds<'m>,
        (comes, fill): (Signal<'m>, &FillIo<'m>),
        (evicts, index): (Signal<'m>, Signal<'m>),
        cancelled: Signal<'m>,
    ) {
        let Seconds { table, row, own } = seconds;
        m.when(evicts, || table.clear_row(index));
        m.when(cancelled, || table.clear_row(fill.row_i));
        m.when(comes, || {
            table.write("fill", fill.row_i, Second { register: fill.register_i });
        });
        let held_bits = count_bits(self.rows);
        let held = m.register("held_seconds", held_bits).reset(0);
        let is_new = (comes & !own.valid()).zext(held_bits);
        let gone = (evicts & row.valid()).zext(held_bits) + (cancelled & own.valid()).zext(held_bits);
        held.set(held + is_new - gone);
        m.invariant("every_second_result_is_held_or_given_up", table.valid_rows().popcount().eq(held));
    }
}

/// The second result of a row, if rows have two.
fn say_second<'m>(io: &[SecondIo<'m>], valid: Signal<'m>, row: Option<Read<'m, Second>>) {
    for (port, row) in io.iter().zip(row) {
        port.valid_o.set(valid & row.valid());
        port.register_o.set(row.register).valid_when(port.valid_o);
    }
}

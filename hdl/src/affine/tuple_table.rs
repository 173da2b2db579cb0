//! Which registers are held as tuples.

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, index_bits};

/// Tuple table: one bit a register, whether it is held as base and stride in one of its banks or as it is in all of them.
///
/// A register is held as a tuple once all its lanes have been written with an affine value, and until it is written again. A
/// write of fewer lanes leaves it expanded: of a tuple the other lanes have to be written as well. Of two writes to one
/// register the later port's stays.
///
/// Timing: reads and writes answer in the same cycle, of what was written before it; a write is seen from the next cycle on.
/// Source: Kim & Ro, WIR, §VII-A: Affine. The bits and writes of some lanes are not in the paper (decision 176).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct TupleTable {
    /// Registers of the register file, 2 to 4096.
    pub registers: usize,
    /// Registers read a cycle, 1 to 8.
    pub reads: usize,
    /// Registers written a cycle, 1 to 4.
    pub writes: usize,
}

/// Ports of a [`TupleTable`].
#[derive(Ports)]
#[params(TupleTable)]
pub struct TupleTableIo<'m> {
    /// Registers that are to be read.
    #[repeat(p.reads)]
    pub read: Vec<TupleReadIo<'m>>,
    /// Registers that are written.
    #[repeat(p.writes)]
    pub write: Vec<TupleWriteIo<'m>>,
}

/// A register that is to be read.
#[derive(Ports)]
#[params(TupleTable)]
pub struct TupleReadIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
    /// It is held as a tuple.
    pub tuple_o: Out<'m>,
}

/// A register that is written.
#[derive(Ports)]
#[params(TupleTable)]
pub struct TupleWriteIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
    /// All lanes are written.
    pub whole_i: In<'m>,
    /// The value is affine.
    pub affine_i: In<'m>,
    /// It is written as a tuple.
    pub tuple_o: Out<'m>,
    /// It has been a tuple and is written in part: its other lanes are written from base and stride.
    pub expands_o: Out<'m>,
}

impl Circuit for TupleTable {
    type Io<'m> = TupleTableIo<'m>;
    const NAME: &'static str = "tuple_table";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("registers", self.registers, 2..=4096)?;
        Self::check_range("reads", self.reads, 1..=8)?;
        Self::check_range("writes", self.writes, 1..=4)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &TupleTableIo<'m>) {
        let tuples = m.register("tuples", self.registers).reset(0);
        for read in &io.read {
            read.tuple_o.set(read.valid_i & tuples.lane_select(read.register_i, 1));
        }
        let (mut next, mut written) = (tuples, m.lit(self.registers, 0));
        for write in &io.write {
            let was_tuple = tuples.lane_select(write.register_i, 1);
            write.tuple_o.set(write.valid_i & write.whole_i & write.affine_i);
            write.expands_o.set(write.valid_i & !write.whole_i & was_tuple);
            let register = self.chosen(write.valid_i, write.register_i);
            next = (next & !register) | (register & write.tuple_o.replicate(self.registers));
            written = written | register;
        }
        tuples.set(next);

        m.invariant("what_is_not_written_stays", !((next ^ tuples) & !written).any());
        m.invariant("a_register_is_a_tuple_if_its_last_write_is_one", self.follows_last(m, io, next));
        let in_part = |write: &TupleWriteIo<'m>| write.valid_i & !write.whole_i & write.tuple_o;
        m.invariant("a_write_of_some_lanes_is_no_tuple", !any(m, io.write.iter().map(in_part)));
        let both = |write: &TupleWriteIo<'m>| write.expands_o & write.tuple_o;
        m.invariant("what_is_expanded_is_no_tuple", !any(m, io.write.iter().map(both)));
    }
}

impl TupleTable {
    /// The bit of a register, if there is one.
    fn chosen<'m>(&self, valid: Signal<'m>, register: Signal<'m>) -> Signal<'m> {
        register.decode(self.registers) & valid.replicate(self.registers)
    }

    /// Whether each write that no later port overwrites is what is kept.
    fn follows_last<'m>(&self, m: &Module<'m>, io: &TupleTableIo<'m>, next: Signal<'m>) -> Signal<'m> {
        let kept = io.write.iter().enumerate().map(|(port, write)| {
            let register = self.chosen(write.valid_i, write.register_i);
            let later = io.write[port + 1..].iter().map(|later| self.chosen(later.valid_i, later.register_i));
            let last = later.fold(register, |register, later| register & !later);
            last.any() & (next & last).any().ne(write.tuple_o)
        });
        !any(m, kept)
    }
}

/// Whether one of several bits is 1.
fn any<'m>(m: &Module<'m>, bits: impl Iterator<Item = Signal<'m>>) -> Signal<'m> {
    bits.fold(m.lit(1, 0), |any, bit| any | bit)
}

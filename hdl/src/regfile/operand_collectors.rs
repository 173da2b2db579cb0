//! Operand collectors and the arbiter of the register file's read ports.

use serde::{Deserialize, Serialize};

use super::geometry::{Geometry, SOURCES};
use super::ports::{DispatchIo, OperandsIo, Widths};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, Table, index_bits};

/// Operand collectors: hold an instruction while its register operands are read from the banks.
///
/// Collectors are taken in turn, so their order from `tail` on is the order of age. In each cycle every operand
/// position (first, second, third) reads the oldest operand still missing whose bank is free, the first position
/// choosing first; an instruction that just arrives uses the positions and ports that these leave over. An
/// instruction leaves when its operands have been read, it has spent `access_cycles`, and its unit is ready; the
/// oldest one first.
///
/// Timing: an instruction that arrives in cycle c is dispatched in c + access_cycles - 1 at the earliest; its
/// operands are out in the cycle after its dispatch. Lanes that were not asked for are 0.
/// A write to a register is blocked while an operand of that register has still to be read, up to and with the
/// cycle in which it is.
/// Source: Gebhart et al., ISCA 2011, §2.1 and §3.1 (operands are fetched over three cycles and buffered).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct OperandCollectors {
    /// Banks, rows and lanes of the register file.
    pub geometry: Geometry,
    /// Collectors, 2 to 32.
    pub collectors: usize,
    /// Cycles an instruction spends here at least, 3 to 8.
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// Writers that ask whether their register has still to be read, 1 to 8.
    pub writers: usize,
    /// Whether banks may be busy with reads of others, which come first.
    pub shares_banks: bool,
}

/// Ports of [`OperandCollectors`].
#[derive(Ports)]
#[params(OperandCollectors)]
pub struct OperandCollectorsIo<'m> {
    /// An instruction arrives.
    pub issue: CollectIo<'m>,
    /// An instruction leaves.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub dispatch: DispatchIo<'m>,
    /// The collector it leaves.
    #[bits(index_bits(p.collectors))]
    pub dispatch_index_o: Out<'m>,
    /// Units that can take an instruction.
    #[bits(p.units)]
    pub unit_ready_i: In<'m>,
    /// Operands of the instruction that left in the cycle before.
    #[with(Widths::new(&p.geometry, p.id_bits, p.units))]
    pub operands: OperandsIo<'m>,
    /// The read port of each bank.
    #[repeat(p.geometry.banks)]
    pub read: Vec<CollectorReadIo<'m>>,
    /// Banks that others read in this cycle; no ports unless banks are shared.
    #[repeat(if p.shares_banks { p.geometry.banks } else { 0 })]
    pub bank_busy_i: Vec<In<'m>>,
    /// Registers about to be written.
    #[repeat(p.writers)]
    pub write: Vec<PendingIo<'m>>,
}

/// An instruction that arrives.
#[derive(Ports)]
#[params(OperandCollectors)]
pub struct CollectIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// A collector is free.
    pub ready_o: Out<'m>,
    /// The collector it gets.
    #[bits(index_bits(p.collectors))]
    pub index_o: Out<'m>,
    /// Its identifier.
    #[bits(p.id_bits)]
    pub id_i: In<'m>,
    /// The unit that executes it.
    #[bits(index_bits(p.units))]
    pub unit_i: In<'m>,
    /// Its operands.
    #[repeat(SOURCES)]
    pub source: Vec<CollectSourceIo<'m>>,
}

/// An operand to be read.
#[derive(Ports)]
#[params(OperandCollectors)]
pub struct CollectSourceIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// Lanes wanted.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
}

/// The read port of a bank.
#[derive(Ports)]
#[params(OperandCollectors)]
pub struct CollectorReadIo<'m> {
    /// A row is asked for.
    pub valid_o: Out<'m>,
    /// The row.
    #[bits(p.geometry.row_bits())]
    pub row_o: Out<'m>,
    /// Lanes wanted.
    #[bits(p.geometry.lanes)]
    pub lanes_o: Out<'m>,
    /// The row asked for in the cycle before.
    #[bits(p.geometry.value_bits())]
    pub value_i: In<'m>,
}

/// A register about to be written.
#[derive(Ports)]
#[params(OperandCollectors)]
pub struct PendingIo<'m> {
    /// The register.
    #[bits(p.geometry.register_bits())]
    pub register_i: In<'m>,
    /// An operand of this register has still to be read.
    pub blocked_o: Out<'m>,
}

/// What one operand position reads for an instruction that waits.
struct Held<'m> {
    /// It reads something.
    valid: Signal<'m>,
    /// The collector it reads for.
    oldest: Signal<'m>,
    register: Signal<'m>,
    lanes: Signal<'m>,
}

/// What one operand position reads in a cycle.
struct Grant<'m> {
    /// It reads something.
    valid: Signal<'m>,
    /// It reads for a collector that already holds the instruction; that collector, one-hot.
    held: Signal<'m>,
    /// The collector it reads for.
    collector: Signal<'m>,
    register: Signal<'m>,
    lanes: Signal<'m>,
}

impl Circuit for OperandCollectors {
    type Io<'m> = OperandCollectorsIo<'m>;
    const NAME: &'static str = "operand_collectors";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 3..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("writers", self.writers, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &OperandCollectorsIo<'m>) {
        let n = self.collectors;
        let occupied = m.register("occupied", n).reset(0);
        let tail = m.register("tail", index_bits(n)).reset(0);
        let entries =
            m.table("entries", n).field("id", self.id_bits).field("unit", index_bits(self.units)).ports(1, 1);
        let operands = [0, 1, 2].map(|k| {
            m.table(format!("operand{k}"), n)
                .field("register", self.geometry.register_bits())
                .field("lanes", self.geometry.lanes)
                .valid_bits()
        });

        io.issue.ready_o.set(!occupied.lane_select(tail, 1));
        io.issue.index_o.set(tail);
        let enter = (io.issue.valid_i & io.issue.ready_o).named("enter");
        let entering = enter.replicate(n) & tail.decode(n);
        m.when(enter, || {
            entries.write("issue", tail, [("id", io.issue.id_i), ("unit", io.issue.unit_i)]);
            tail.set(self.after(m, tail));
        });

        let grants = self.read_banks(m, io, &operands, tail, enter);
        let waited = occupied & !self.entered_recently(m, entering);
        let missing = operands.iter().zip(&grants).map(|(table, grant)| table.valid_rows() & !grant.held);
        let complete = !missing.fold(m.lit(n, 0), |a, b| a | b);
        let ready = waited & complete & self.unit_is_ready(m, io, entries);
        let leave = ready.any().named("leave");
        let leaving = self.oldest(m, ready, tail);
        let entry = entries.read("dispatch", leaving, leave);
        io.dispatch.valid_o.set(leave);
        io.dispatch.id_o.set(entry.get("id")).valid_when(leave);
        io.dispatch.unit_o.set(entry.get("unit")).valid_when(leave);
        io.dispatch_index_o.set(leaving).valid_when(leave);
        occupied.set((occupied | entering) & !(leave.replicate(n) & leaving.decode(n)));

        let left = m.register("left", 1).reset(0);
        let left_id = m.register("left_id", self.id_bits).no_reset();
        let left_index = m.register("left_index", index_bits(n)).no_reset();
        left.set(leave);
        m.when(leave, || {
            left_id.set(entry.get("id"));
            left_index.set(leaving);
        });
        io.operands.valid_o.set(left);
        io.operands.id_o.set(left_id).valid_when(left);
        for (k, grant) in grants.iter().enumerate() {
            let lanes = m.register(format!("left_lanes{k}"), self.geometry.lanes).no_reset();
            m.when(leave, || {
                lanes.set(operands[k].read("dispatch", leaving, leave).get("lanes"));
            });
            let value = self.collect(m, io, k, grant, (left, left_index));
            io.operands.source_o[k].set(value & lanes.spread(super::LANE_BITS)).valid_when(left);
        }

        for (w, write) in io.write.iter().enumerate() {
            let waiting = operands.map(|table| {
                let same = table.matching(format!("write{w}"), 1, |row| {
                    row.valid() & row.get("register").eq(write.register_i)
                });
                same.any()
            });
            write.blocked_o.set(waiting[0] | waiting[1] | waiting[2]);
        }

        m.invariant(
            "an_instruction_leaves_a_collector_that_is_occupied",
            leave.implies(occupied.lane_select(leaving, 1)),
        );
        let strays = operands.map(|table| (table.valid_rows() & !occupied).any());
        m.invariant("only_occupied_collectors_wait_for_operands", !(strays[0] | strays[1] | strays[2]));
    }
}

impl OperandCollectors {
    /// The collector after `index` in the order of allocation.
    fn after<'m>(&self, m: &Module<'m>, index: Signal<'m>) -> Signal<'m> {
        index.eq(self.collectors - 1).mux(m.lit(index_bits(self.collectors), 0), index + 1)
    }

    /// The oldest of `candidates`, one bit a collector; any collector if there is none.
    fn oldest<'m>(&self, m: &Module<'m>, candidates: Signal<'m>, tail: Signal<'m>) -> Signal<'m> {
        let n = self.collectors;
        let bits = index_bits(n) + 1;
        let from_tail = (candidates.concat(candidates) >> tail).low(n).priority_encode();
        let sum = from_tail.zext(bits) + tail.zext(bits);
        sum.ge(n).mux(sum - m.lit(bits, n), sum).low(index_bits(n))
    }

    /// Collectors whose instruction arrived too recently to leave.
    fn entered_recently<'m>(&self, m: &Module<'m>, entering: Signal<'m>) -> Signal<'m> {
        let mut recent = m.lit(self.collectors, 0);
        let mut stage = entering;
        for age in 1..self.access_cycles - 1 {
            let entered = m.register(format!("entered{age}"), self.collectors).reset(0);
            entered.set(stage);
            recent = recent | entered;
            stage = entered;
        }
        recent
    }

    /// Collectors whose instruction's unit is ready.
    fn unit_is_ready<'m>(
        &self,
        m: &Module<'m>,
        io: &OperandCollectorsIo<'m>,
        entries: Table<'m>,
    ) -> Signal<'m> {
        (0..self.units).fold(m.lit(self.collectors, 0), |ready, unit| {
            let for_unit = entries.matching(format!("unit{unit}"), 1, |row| row.get("unit").eq(unit));
            ready | (for_unit & io.unit_ready_i.bit(unit).replicate(self.collectors))
        })
    }

    /// Arbitrates the banks' read ports: each operand position reads the oldest operand whose bank no earlier
    /// position has taken. Positions and banks left over read for the instruction that just arrives.
    fn read_banks<'m>(
        &self,
        m: &Module<'m>,
        io: &OperandCollectorsIo<'m>,
        operands: &[Table<'m>; SOURCES],
        tail: Signal<'m>,
        enter: Signal<'m>,
    ) -> Vec<Grant<'m>> {
        let (n, banks) = (self.collectors, self.geometry.banks);
        let mut taken = vec![m.lit(1, 0); banks];
        for (taken, busy) in taken.iter_mut().zip(&io.bank_busy_i) {
            *taken = *busy;
        }
        let take = |taken: &mut [Signal<'m>], valid: Signal<'m>, register: Signal<'m>| {
            for (bank, taken) in taken.iter_mut().enumerate() {
                *taken = *taken | (valid & self.is_in(m, register, bank));
            }
        };
        let held: Vec<Held<'m>> = (operands.iter().enumerate())
            .map(|(k, &table)| {
                let waiting = (0..banks).fold(m.lit(n, 0), |waiting, bank| {
                    waiting | (self.waiting_for(table, bank) & (!taken[bank]).replicate(n))
                });
                let valid = waiting.any().named(format!("grants_held{k}"));
                let oldest = self.oldest(m, waiting, tail);
                let row = table.read("grant", oldest, valid);
                m.when(valid, || table.clear_row(oldest));
                let (register, lanes) = (row.get("register"), row.get("lanes"));
                take(&mut taken, valid, register);
                Held { valid, oldest, register, lanes }
            })
            .collect();
        let mut grants: Vec<Grant<'m>> = Vec::new();
        for (k, ((held, &table), source)) in held.iter().zip(operands).zip(&io.issue.source).enumerate() {
            let busy = self.at_bank(m, source.register_i, &taken);
            let arriving = enter & source.valid_i;
            let at_once = (arriving & !held.valid & !busy).named(format!("grants_arriving{k}"));
            m.when(enter, || {
                table
                    .write(
                        "issue",
                        tail,
                        [
                            ("register", source.register_i),
                            ("lanes", source.valid_i.replicate(self.geometry.lanes) & source.lanes_i),
                        ],
                    )
                    .keep_valid();
            });
            m.when(arriving & !at_once, || table.set_rows(tail.decode(n)));
            take(&mut taken, at_once, source.register_i);
            grants.push(Grant {
                valid: held.valid | at_once,
                held: held.valid.replicate(n) & held.oldest.decode(n),
                collector: held.valid.mux(held.oldest, tail),
                register: held.valid.mux(held.register, source.register_i),
                lanes: held.valid.mux(held.lanes, source.lanes_i),
            });
        }
        for (bank, port) in io.read.iter().enumerate() {
            let mut lanes = m.lit(self.geometry.lanes, 0);
            let mut register = m.lit(self.geometry.register_bits(), 0);
            for grant in grants.iter().rev() {
                let here = grant.valid & self.is_in(m, grant.register, bank);
                register = here.mux(grant.register, register);
                lanes = here.mux(grant.lanes, lanes);
            }
            let busy_with_others = io.bank_busy_i.get(bank);
            port.valid_o.set(busy_with_others.map_or(taken[bank], |&busy| taken[bank] & !busy));
            port.row_o.set(self.geometry.row(register)).valid_when(port.valid_o);
            port.lanes_o.set(lanes).valid_when(port.valid_o);
        }
        grants
    }

    /// Collectors that wait for an operand in `bank`.
    fn waiting_for<'m>(&self, table: Table<'m>, bank: usize) -> Signal<'m> {
        let bits = self.geometry.bank_bits();
        if bits == 0 {
            return table.valid_rows();
        }
        table.matching(format!("bank{bank}"), 1, |row| {
            row.valid() & row.get("register").slice(0, bits).eq(bank)
        })
    }

    /// The bit of `banks` that belongs to the bank of `register`.
    fn at_bank<'m>(&self, m: &Module<'m>, register: Signal<'m>, banks: &[Signal<'m>]) -> Signal<'m> {
        let here = |(bank, &bit): (usize, &Signal<'m>)| bit & self.is_in(m, register, bank);
        banks.iter().enumerate().map(here).fold(m.lit(1, 0), |a, b| a | b)
    }

    fn is_in<'m>(&self, m: &Module<'m>, register: Signal<'m>, bank: usize) -> Signal<'m> {
        self.geometry.in_bank(register, bank).unwrap_or_else(|| m.lit(1, 1))
    }

    /// Keeps what position `k` has read, and gives the operand of the instruction that has left: straight from
    /// its bank if it was read in the last cycle.
    fn collect<'m>(
        &self,
        m: &Module<'m>,
        io: &OperandCollectorsIo<'m>,
        k: usize,
        grant: &Grant<'m>,
        (left, left_index): (Signal<'m>, Signal<'m>),
    ) -> Signal<'m> {
        let read = m.register(format!("read{k}"), 1).reset(0);
        let collector = m.register(format!("read_collector{k}"), index_bits(self.collectors)).no_reset();
        let register = m.register(format!("read_register{k}"), self.geometry.register_bits()).no_reset();
        read.set(grant.valid);
        m.when(grant.valid, || {
            collector.set(grant.collector);
            register.set(grant.register);
        });
        let first = io.read[0].value_i;
        let value = io
            .read
            .iter()
            .enumerate()
            .skip(1)
            .fold(first, |value, (bank, port)| self.is_in(m, register, bank).mux(port.value_i, value));
        let collected = m
            .table(format!("collected{k}"), self.collectors)
            .laned_field("value", self.geometry.value_bits(), self.geometry.lanes)
            .lanes_per_array(self.geometry.lanes_per_cluster)
            .ports(1, 1);
        m.when(read, || {
            collected.write("bank", collector, [("value", value)]);
        });
        let just_read = read & collector.eq(left_index);
        let kept = collected.read("dispatch", left_index, left & !just_read).get("value");
        just_read.mux(value, kept)
    }
}

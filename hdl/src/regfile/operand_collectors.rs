//! Operand collectors and the arbiter of the register file's read ports.

use serde::{Deserialize, Serialize};

use super::geometry::{Geometry, SOURCES, WarpLanes, WarpRegister};
use super::main_register_file::CollectorReadIo;
use super::ports::{DispatchIo, OperandsIo, Widths};
use crate::parts::turn;
use crate::reuse::{KeptOperandsIo, ReuseReadIo};
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, index_bits,
};

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
    /// Cycles an instruction spends here at least, 2 to 8.
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// Writers that ask whether their register has still to be read, 1 to 8.
    pub writers: usize,
    /// Whether banks may be busy with reads of others, which come first.
    pub shares_banks: bool,
    /// Whether instructions may be held back although they have their operands.
    pub holds: bool,
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
    #[with(p.geometry)]
    pub read: Vec<CollectorReadIo<'m>>,
    /// Banks that others read in this cycle; no ports unless banks are shared.
    #[repeat(if p.shares_banks { p.geometry.banks } else { 0 })]
    pub bank_busy_i: Vec<In<'m>>,
    /// Collectors whose instruction must not leave yet; no port unless instructions may be held back.
    #[repeat(usize::from(p.holds))]
    #[bits(p.collectors)]
    pub hold_i: Vec<In<'m>>,
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

/// Operands that are kept beside the collectors, which an instruction takes in place of a row of its bank.
pub(crate) struct Beside<'a, 'm> {
    /// What is kept in each operand position.
    pub positions: &'a [KeptOperandsIo<'m>],
    /// Whether each operand of the instruction that arrives is kept once it is read.
    pub keep: &'a [In<'m>],
}

/// What is kept in an operand position, and which operands in the collectors are to be kept, one bit each.
struct Kept<'a, 'm> {
    position: &'a KeptOperandsIo<'m>,
    keep: Signal<'m>,
    /// Whether that of the instruction that arrives is.
    arriving: Signal<'m>,
}

/// What one operand position reads for an instruction that waits.
struct Held<'m> {
    /// It reads something.
    valid: Signal<'m>,
    /// The collector it reads for.
    oldest: Signal<'m>,
    read: Signal<'m>,
    /// It takes what is kept, not a row of its bank.
    reuses: Option<Signal<'m>>,
}

/// An instruction in a collector.
#[derive(Clone, Copy, Record)]
#[params(OperandCollectors)]
struct Entry<T = Field> {
    #[bits(p.id_bits)]
    id: T,
    /// The unit it goes to, one-hot.
    #[bits(p.units)]
    unit: T,
}

/// An operand of an instruction in a collector; valid while it has still to be read.
#[derive(Clone, Copy, Record)]
#[params(OperandCollectors)]
struct Wanted<T = Field> {
    /// See [`OperandCollectors::place`].
    #[bits(p.place_bits())]
    place: T,
    #[bits(p.geometry.lanes)]
    lanes: T,
}

/// What one operand position reads in a cycle.
struct Grant<'m> {
    /// It reads something.
    valid: Signal<'m>,
    /// It reads for a collector that already holds the instruction; that collector, one-hot.
    held: Signal<'m>,
    /// The collector it reads for.
    collector: Signal<'m>,
    /// Place and, above it, lanes.
    read: Signal<'m>,
    /// It takes what is kept, not a row of its bank.
    reuses: Option<Signal<'m>>,
    /// It is kept.
    keeps: Option<Signal<'m>>,
}

impl<'m> Grant<'m> {
    /// Whether it reads its bank.
    fn reads_bank(&self) -> Signal<'m> {
        self.reuses.map_or(self.valid, |reuses| self.valid & !reuses)
    }
}

impl Circuit for OperandCollectors {
    type Io<'m> = OperandCollectorsIo<'m>;
    const NAME: &'static str = "operand_collectors";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 2..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("writers", self.writers, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &OperandCollectorsIo<'m>) {
        self.build_beside(m, io, None);
    }
}

impl OperandCollectors {
    /// The collectors, with operands that are kept `beside` them, if any are.
    pub(crate) fn build_beside<'m>(
        &self,
        m: &Module<'m>,
        io: &OperandCollectorsIo<'m>,
        beside: Option<&Beside<'_, 'm>>,
    ) {
        let n = self.collectors;
        let occupied = m.register("occupied", n).reset(0);
        let tail = m.register("tail", index_bits(n)).reset(0);
        let entries = m.table::<Entry>("entries", n, self).ports(1, 1);
        let operands = [0, 1, 2].map(|k| m.table::<Wanted>(format!("operand{k}"), n, self).valid_bits());

        io.issue.ready_o.set(!occupied.lane_select(tail, 1));
        io.issue.index_o.set(tail);
        let enter = (io.issue.valid_i & io.issue.ready_o).named("enter");
        let entering = enter.replicate(n) & tail.decode(n);
        m.when(enter, || {
            let unit = io.issue.unit_i.decode(self.units);
            entries.write("issue", tail, Entry { id: io.issue.id_i, unit });
            tail.set(self.after(m, tail));
        });

        let kept = beside.map(|beside| self.follow_kept(m, beside, enter, entering));
        let kept = kept.as_deref().unwrap_or_default();
        let grants = self.read_banks(m, io, &operands, kept, tail, enter);
        let waited = occupied & !self.entered_recently(m, entering);
        let missing = operands.iter().zip(&grants).map(|(table, grant)| table.valid_rows() & !grant.held);
        let complete = !missing.fold(m.lit(n, 0), |a, b| a | b);
        let unit_is_ready = entries.matching("unit", 1, |row| (row.unit & io.unit_ready_i).ne(0));
        let may_leave = waited & complete & unit_is_ready;
        let ready = io.hold_i.iter().fold(may_leave, |ready, &hold| ready & !hold);
        let leave = ready.any().named("leave");
        let leaving = turn::first(ready, turn::from(tail, n));
        let entry = entries.read("dispatch", leaving, leave);
        io.dispatch.valid_o.set(leave);
        io.dispatch.id_o.set(entry.id).valid_when(leave);
        io.dispatch.unit_o.set(entry.unit.priority_encode()).valid_when(leave);
        io.dispatch_index_o.set(leaving).valid_when(leave);
        occupied.set((occupied | entering) & !(leave.replicate(n) & leaving.decode(n)));

        let left = m.register("left", 1).reset(0);
        let left_id = m.register("left_id", self.id_bits).no_reset();
        let left_index = m.register("left_index", index_bits(n)).no_reset();
        left.set(leave);
        m.when(leave, || {
            left_id.set(entry.id);
            left_index.set(leaving);
        });
        io.operands.valid_o.set(left);
        io.operands.id_o.set(left_id).valid_when(left);
        for (k, grant) in grants.iter().enumerate() {
            let lanes = m.register(format!("left_lanes{k}"), self.geometry.lanes).no_reset();
            m.when(leave, || {
                lanes.set(operands[k].read("dispatch", leaving, leave).lanes);
            });
            let value = self.collect(m, io, k, grant, kept.get(k), (left, left_index));
            io.operands.source_o[k].set(value & lanes.spread(super::LANE_BITS)).valid_when(left);
        }

        for (w, write) in io.write.iter().enumerate() {
            let place = self.place(m, write.register_i);
            let waiting = operands.map(|table| {
                table.matching(format!("write{w}"), 1, |row| row.valid() & row.place.eq(place)).any()
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

    /// The collector after `index` in the order of allocation.
    fn after<'m>(&self, m: &Module<'m>, index: Signal<'m>) -> Signal<'m> {
        index.eq(self.collectors - 1).mux(m.lit(index_bits(self.collectors), 0), index + 1)
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

    /// Arbitrates the banks' read ports: each operand position reads the oldest operand whose bank no earlier
    /// position has taken. Positions and banks left over read for the instruction that just arrives.
    fn read_banks<'m>(
        &self,
        m: &Module<'m>,
        io: &OperandCollectorsIo<'m>,
        operands: &[Table<'m, Wanted>; SOURCES],
        kept: &[Kept<'_, 'm>],
        tail: Signal<'m>,
        enter: Signal<'m>,
    ) -> Vec<Grant<'m>> {
        let (n, banks) = (self.collectors, self.geometry.banks);
        let busy = if self.shares_banks { m.cat(io.bank_busy_i.iter().copied()) } else { m.lit(banks, 0) };
        let mut taken = busy;
        let held: Vec<Held<'m>> = (operands.iter().enumerate())
            .map(|(k, &table)| {
                let waiting = self.waiting_for(table, !taken);
                let reusing = kept.get(k).map(|kept| self.waiting_for_kept(m, table, kept.position));
                let waiting = reusing.map_or(waiting, |reusing| waiting | reusing);
                let valid = waiting.any().named(format!("grants_held{k}"));
                let oldest = turn::first(waiting, turn::from(tail, n));
                let row = table.read("grant", oldest, valid);
                m.when(valid, || table.clear_row(oldest));
                let place = row.place;
                let reuses = reusing.map(|reusing| reusing.lane_select(oldest, 1));
                let from_bank = reuses.map_or(valid, |reuses| valid & !reuses);
                taken = taken | (from_bank.replicate(banks) & place.low(banks));
                Held { valid, oldest, read: place.concat(row.lanes), reuses }
            })
            .collect();
        let mut grants: Vec<Grant<'m>> = Vec::new();
        for (k, ((held, &table), source)) in held.iter().zip(operands).zip(&io.issue.source).enumerate() {
            let place = self.place(m, source.register_i);
            let bank = place.low(banks);
            let arriving = enter & source.valid_i;
            let reuses = kept.get(k).map(|kept| self.is_kept(m, place, kept.position));
            let free = (bank & !taken).any();
            let free = reuses.map_or(free, |reuses| free | reuses);
            let at_once = (arriving & !held.valid & free).named(format!("grants_arriving{k}"));
            m.when(enter, || {
                let lanes = source.valid_i.replicate(self.geometry.lanes) & source.lanes_i;
                table.write("issue", tail, Wanted { place, lanes }).keep_valid();
            });
            m.when(arriving & !at_once, || table.set_rows(tail.decode(n)));
            let from_bank = reuses.map_or(at_once, |reuses| at_once & !reuses);
            taken = taken | (from_bank.replicate(banks) & bank);
            grants.push(Grant {
                valid: held.valid | at_once,
                held: held.valid.replicate(n) & held.oldest.decode(n),
                collector: held.valid.mux(held.oldest, tail),
                read: held.valid.mux(held.read, place.concat(source.lanes_i)),
                reuses: held
                    .reuses
                    .zip(reuses)
                    .map(|(held_reuses, reuses)| held.valid.mux(held_reuses, reuses)),
                keeps: kept
                    .get(k)
                    .map(|kept| held.valid.mux(kept.keep.lane_select(held.oldest, 1), kept.arriving)),
            });
        }
        let read_here = (taken & !busy).named("read_here");
        for (kept, grant) in kept.iter().zip(&grants) {
            self.tell_of_read(&kept.position.read, grant);
        }
        if !kept.is_empty() {
            for bank in 0..banks {
                let reads = grants.iter().map(|grant| grant.reads_bank() & grant.read.bit(bank));
                m.invariant(format!("a_bank_gives_one_operand{bank}"), m.cat(reads).popcount().le(1));
            }
        }
        for (bank, port) in io.read.iter().enumerate() {
            let read = grants.iter().rev().fold(m.lit(grants[0].read.width(), 0), |read, grant| {
                let here = grant.reads_bank() & grant.read.bit(bank);
                here.mux(self.bank_read(grant), read)
            });
            port.valid_o.set(read_here.bit(bank));
            port.row_o.set(read.slice(banks, self.geometry.row_bits())).valid_when(port.valid_o);
            port.lanes_o.set(read.high(self.geometry.lanes)).valid_when(port.valid_o);
        }
        grants
    }

    /// Where a register lies: its bank, one bit a bank, and above it the row. That a bank is free is then one look at
    /// each entry, not one for each bank.
    fn place<'m>(&self, m: &Module<'m>, register: Signal<'m>) -> Signal<'m> {
        self.geometry.bank(m, register).concat(self.geometry.row(register))
    }

    /// Bits of a [place](Self::place).
    fn place_bits(&self) -> usize {
        self.geometry.banks + self.geometry.row_bits()
    }

    /// Collectors that wait for an operand in one of `banks`, one bit a bank.
    fn waiting_for<'m>(&self, table: Table<'m, Wanted>, banks: Signal<'m>) -> Signal<'m> {
        let wanted = banks.zext(self.place_bits());
        table.matching("free", 1, |row| row.valid() & (row.place & wanted).ne(0))
    }

    /// Which operands in the collectors are to be kept, position by position.
    fn follow_kept<'a, 'm>(
        &self,
        m: &Module<'m>,
        beside: &Beside<'a, 'm>,
        enter: Signal<'m>,
        entering: Signal<'m>,
    ) -> Vec<Kept<'a, 'm>> {
        let follow = |(k, (position, &arriving)): (usize, (&'a KeptOperandsIo<'m>, &In<'m>))| {
            let keep = m.register(format!("keep{k}"), self.collectors).no_reset();
            m.when(enter, || {
                keep.set((keep & !entering) | (entering & arriving.replicate(self.collectors)));
            });
            Kept { position, keep, arriving }
        };
        beside.positions.iter().zip(beside.keep).enumerate().map(follow).collect()
    }

    /// Collectors whose operand is kept.
    fn waiting_for_kept<'m>(
        &self,
        m: &Module<'m>,
        table: Table<'m, Wanted>,
        position: &KeptOperandsIo<'m>,
    ) -> Signal<'m> {
        let of_bank = |bank: usize| {
            let place = self.kept_place(m, position, bank);
            let waiting = table.matching(format!("kept{bank}"), 1, |row| row.valid() & row.place.eq(place));
            waiting & position.kept_o.bit(bank).replicate(self.collectors)
        };
        (0..self.geometry.banks).map(of_bank).fold(m.lit(self.collectors, 0), |a, b| a | b)
    }

    /// Whether the operand at `place` is kept.
    fn is_kept<'m>(&self, m: &Module<'m>, place: Signal<'m>, position: &KeptOperandsIo<'m>) -> Signal<'m> {
        let in_bank = |bank: usize| position.kept_o.bit(bank) & place.eq(self.kept_place(m, position, bank));
        (0..self.geometry.banks).map(in_bank).fold(m.lit(1, 0), |a, b| a | b)
    }

    /// The place of the operand that is kept of a bank.
    fn kept_place<'m>(&self, m: &Module<'m>, position: &KeptOperandsIo<'m>, bank: usize) -> Signal<'m> {
        m.lit(self.geometry.banks, 1 << bank).concat(position.row_o[bank])
    }

    /// What is read of a bank: all lanes if they are kept.
    fn bank_read<'m>(&self, grant: &Grant<'m>) -> Signal<'m> {
        let Some(keeps) = grant.keeps else { return grant.read };
        let lanes = grant.read.high(self.geometry.lanes) | keeps.replicate(self.geometry.lanes);
        grant.read.low(self.place_bits()).concat(lanes)
    }

    /// Tells the cache what a position reads.
    fn tell_of_read<'m>(&self, read: &ReuseReadIo<'m>, grant: &Grant<'m>) {
        let (Some(reuses), Some(keeps)) = (grant.reuses, grant.keeps) else { return };
        read.valid_i.set(grant.valid);
        read.reuse_i.set(reuses);
        read.keep_i.set(keeps);
        read.bank_i.set(grant.read.low(self.geometry.banks));
        read.row_i.set(grant.read.slice(self.geometry.banks, self.geometry.row_bits()));
        read.lanes_i.set(grant.read.high(self.geometry.lanes));
    }

    /// Keeps what position `k` has read, and gives the operand of the instruction that has left: straight from
    /// its bank if it was read in the last cycle.
    fn collect<'m>(
        &self,
        m: &Module<'m>,
        io: &OperandCollectorsIo<'m>,
        k: usize,
        grant: &Grant<'m>,
        kept: Option<&Kept<'_, 'm>>,
        (left, left_index): (Signal<'m>, Signal<'m>),
    ) -> Signal<'m> {
        let read = m.register(format!("read{k}"), 1).reset(0);
        let collector = m.register(format!("read_collector{k}"), index_bits(self.collectors)).no_reset();
        let bank = m.register(format!("read_bank{k}"), self.geometry.banks).no_reset();
        read.set(grant.valid);
        m.when(grant.valid, || {
            collector.set(grant.collector);
            bank.set(grant.read.low(self.geometry.banks));
        });
        let value = bank.one_hot_select(m.cat(io.read.iter().map(|port| port.value_i)));
        let value = match kept.zip(grant.reuses) {
            Some((kept, reuses)) => {
                let reused = m.register(format!("reused{k}"), 1).no_reset();
                reused.set(reuses);
                kept.position.value_i.set(value);
                reused.mux(kept.position.value_o, value)
            }
            None => value,
        };
        let lanes = WarpLanes { lanes: self.geometry.lanes, per_array: self.geometry.lanes_per_cluster };
        let collected = m.table::<WarpRegister>(format!("collected{k}"), self.collectors, &lanes).ports(1, 1);
        m.when(read, || {
            collected.write("bank", collector, WarpRegister { value });
        });
        let just_read = read & collector.eq(left_index);
        let kept = collected.read("dispatch", left_index, left & !just_read).value;
        just_read.mux(value, kept)
    }
}

//! The register cache.

use serde::{Deserialize, Serialize};

use super::cache_ports::{FoundOperandIo, LookupIo, RegisterCacheIo};
use super::read_allocation::{Clean, ReadAllocation};
use crate::regfile::collector_groups::{WAYS, numbered};
use crate::regfile::{LANE_BITS, RegisterWriteIo, SOURCES, WarpLanes, WarpRegister, Widths};
use crate::rtl::{
    Circuit, Documented, Field, Module, ParameterError, Read, Record, Signal, Table, index_bits,
};

/// Lines of a set (§III-A.2: two-way set associative).
pub const LINES_OF_SET: usize = 2;

/// Register cache (RC): sets of two lines, a warp register each, that all warps of a scheduler share.
///
/// A line has one tag and, for each lane, whether the lane is held here; what is held is newer than in the main register file,
/// since lines are written by results alone. A lookup tells which executing lanes each operand finds here; the others are read
/// from the main register file. Every value written gets a line: that of its register, else a free one, else the one that was not used for longest,
/// whose lanes are spilled in the same cycle. A last read (`liveness`) ends the executing lanes' copy, which then is
/// not written back, also if the operand itself is read elsewhere. The lines of a warp that has ended are dropped. A register
/// that is told to leave (`leaving`) is spilled as if another one took its line, as soon as no value that is written evicts one.
///
/// With `read_allocates` an operand that is read in the main register file gets a line, too, one an instruction: the first
/// that is read again. It is written when it is out, if the write port of its group is free and the register has not been
/// written since; it never waits. Its lanes are clean: they are held, and nothing is spilled for them.
///
/// A line from which an operand has still to be read keeps its value: no other register gets it, and a write to its own
/// waits. There is no port for spills: one register a cycle leaves, through a read port of the last group of collectors
/// that no operand needs, or the write that wants its line waits. Two writes to one set in one cycle go to different lines;
/// of two that evict, the first is taken. Of two lookups that of the second group is the later use, and writes are later
/// than lookups.
///
/// Registers are dealt to sets by their number, lowest bits first: with a power of two these bits are the set; with any
/// other number of sets all differ by one register at most.
///
/// Timing: a lookup answers in the same cycle. Operands found here are read when their instruction is dispatched and are out
/// in the next cycle. A write is taken in the cycle it is offered or not at all, and is seen by lookups from the next cycle
/// on.
/// Source: Bailey et al., TCAD 2018, §III-A and Table I (two-way, LRU, write-allocated, 6R/2W), its energy of a line that is
/// read at dispatch after Gebhart et al., ISCA 2011, §3.1.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterCache {
    /// Sets, 1 to 64.
    pub sets: usize,
    /// Whether last reads end a copy.
    pub liveness: bool,
    /// Warps that share it, 1 to 64.
    pub warps: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Lanes of a cluster; divides `lanes`.
    pub lanes_per_cluster: usize,
    /// Bits of a register's number, 1 to 16.
    pub register_bits: usize,
    /// Operand collectors of each group, 2 to 32.
    pub collectors: usize,
    /// Instructions a cycle, each with a group of collectors and a write port; 1 or 2.
    pub issues: usize,
    /// Registers that may be told to leave in a cycle, 0 to 4.
    pub leaving: usize,
    /// Whether operands that are not found are copied here; not with registers that are told to leave.
    #[serde(default)]
    pub read_allocates: bool,
}

/// A line; valid if it has been given to a register.
#[derive(Clone, Copy, Record)]
#[params(RegisterCache)]
struct Line<T = Field> {
    #[bits(p.register_bits)]
    register: T,
    #[bits(index_bits(p.warps))]
    warp: T,
    /// Lanes that are here.
    #[bits(p.lanes)]
    #[lanes(p.lanes)]
    held: T,
}

/// An operand found here that has still to be read.
#[derive(Clone, Copy, Record)]
#[params(RegisterCache)]
struct Pending<T = Field> {
    #[bits(p.lanes)]
    lanes: T,
    /// See [`RegisterCache::row`].
    #[bits(index_bits(p.lines()))]
    row: T,
}

/// The state of the circuit.
struct State<'m> {
    /// One table a line of a set, a row a set.
    lines: [Table<'m, Line>; LINES_OF_SET],
    /// Values; see [`RegisterCache::row`].
    values: Table<'m, WarpRegister>,
    /// Lanes of each line that the main register file has, too, if reads allocate.
    clean: Option<[Table<'m, Clean>; LINES_OF_SET]>,
    /// Sets whose second line was used last.
    second_is_newer: Signal<'m>,
    /// Operands found here that have still to be read, a row a collector; for each group a table an operand position.
    reads: Vec<[Table<'m, Pending>; SOURCES]>,
}

/// A register's set, as one port sees it.
struct SetView<'m> {
    set: Signal<'m>,
    lines: [Read<'m, Line>; LINES_OF_SET],
    /// The line that holds the register, one bit a line.
    hit: Signal<'m>,
}

/// Uses of lines in one cycle, in order: the set, and the line, one-hot; 0 is no use.
type Uses<'m> = Vec<(Signal<'m>, Signal<'m>)>;

impl Circuit for RegisterCache {
    type Io<'m> = RegisterCacheIo<'m>;
    const NAME: &'static str = "register_cache";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("sets", self.sets, 1..=64)?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("lanes_per_cluster", self.lanes_per_cluster, 1..=self.lanes)?;
        Self::check(
            self.lanes.is_multiple_of(self.lanes_per_cluster),
            "lanes_per_cluster",
            self.lanes_per_cluster,
            "a divisor of lanes",
        )?;
        Self::check_range("register_bits", self.register_bits, 1..=16)?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("issues", self.issues, 1..=WAYS)?;
        Self::check_range("leaving", self.leaving, 0..=4)?;
        Self::check(
            self.leaving == 0 || !self.read_allocates,
            "read_allocates",
            self.read_allocates,
            "false, with registers that are told to leave",
        )
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterCacheIo<'m>) {
        let state = self.state(m);
        let allocation = self.read_allocates.then(|| ReadAllocation::new(m, self));
        // Before a line is written: it may be one that is dropped.
        self.drop_ended(m, io, &state);
        let mut uses = Uses::new();
        let mut pending = Vec::new();
        let mut found_lanes = Vec::new();
        for group in 0..self.issues {
            let found = self.look_up(m, io, &state, group, &mut uses);
            pending.extend(self.keep_until_collected(m, io, &state, group, &found));
            found_lanes.push(found.iter().map(|found| found.lanes).collect());
            pending.extend(found);
        }
        let reading: Vec<_> = (0..self.issues).map(|group| self.start_reads(m, io, &state, group)).collect();
        let offers = match &allocation {
            None => {
                io.write.iter().zip(&io.write_warp_i).map(|(write, &warp)| Offer::of(write, warp)).collect()
            }
            Some(allocation) => allocation.offers(io),
        };
        let mut targets: Vec<Target<'m>> = Vec::new();
        for port in 0..self.issues {
            targets.push(self.choose_target(m, &offers, &state, &pending, port, targets.last()));
        }
        let mut leavers: Vec<Leaver<'m>> = targets.iter().map(|target| target.leaver).collect();
        let told: Vec<SetView<'m>> =
            (0..self.leaving).map(|number| self.find_leaving(m, io, &state, number, &mut leavers)).collect();
        let left = self.spill(m, io, &state, &leavers, &reading);
        let (evicted, left) = left.split_at(targets.len());
        for (view, &left) in told.iter().zip(left) {
            for (number, table) in state.lines.iter().enumerate() {
                m.when(left & view.hit.bit(number), || table.clear_row(view.set));
            }
        }
        let mut taken = Vec::new();
        for (port, (target, offer)) in targets.iter().zip(&offers).enumerate() {
            let ready = target.entry.any() & (!target.must_evict | evicted[port]);
            io.write[port].ready_o.set(ready).valid_when(io.write[port].valid_i);
            taken.push((offer.valid & ready).named(self.numbered("write_taken", port)));
            let ended = allocation.is_some().then(|| self.ended(m, io, offer.register));
            self.write(m, offer, &state, (port, target), (taken[port], ended), &mut uses);
        }
        if let Some(allocation) = &allocation {
            let writes: Vec<_> =
                taken.iter().zip(&offers).map(|(&taken, offer)| (taken, offer.register)).collect();
            allocation.follow(m, self, io, &found_lanes, &writes);
        }
        self.note_uses(&state, &uses);
        if let [first, second] = &io.write[..] {
            let both = first.valid_i & first.ready_o & second.valid_i & second.ready_o;
            m.assumption(
                "a_register_is_written_once_a_cycle",
                both.implies(first.register_i.ne(second.register_i)),
            );
        }
        self.assume_of_leaving(m, io);
    }
}

impl RegisterCache {
    /// Widths of the ports it shares with the register file; it has no instructions.
    pub(super) fn widths(&self) -> Widths {
        Widths { register_bits: self.register_bits, lanes: self.lanes, id_bits: 1, units: 1 }
    }

    /// Bits of a warp register's value.
    pub fn value_bits(&self) -> usize {
        self.lanes.saturating_mul(LANE_BITS)
    }

    /// Lines of all sets.
    pub fn lines(&self) -> usize {
        self.sets.saturating_mul(LINES_OF_SET)
    }

    fn state<'m>(&self, m: &Module<'m>) -> State<'m> {
        let lanes = WarpLanes { lanes: self.lanes, per_array: self.lanes_per_cluster };
        let reads = |group| {
            let name = |k| self.of_operand("read", group, k);
            [0, 1, 2].map(|k| m.table::<Pending>(name(k), self.collectors, self).valid_bits())
        };
        State {
            lines: [0, 1].map(|line| m.table::<Line>(format!("line{line}"), self.sets, self).valid_bits()),
            values: m
                .table::<WarpRegister>("values", self.lines(), &lanes)
                .ports(self.issues * SOURCES, self.issues),
            clean: self
                .read_allocates
                .then(|| [0, 1].map(|line| m.table(format!("clean{line}"), self.sets, self))),
            second_is_newer: m.register("second_is_newer", self.sets).reset(0),
            reads: (0..self.issues).map(reads).collect(),
        }
    }

    /// The name of a part that belongs to operand `k` of a group.
    fn of_operand(&self, name: &str, group: usize, k: usize) -> String {
        if self.issues > 1 { format!("{name}{group}_{k}") } else { format!("{name}{k}") }
    }

    /// The name of a part of which there is one for each instruction a cycle.
    pub(super) fn numbered(&self, name: &str, number: usize) -> String {
        numbered(name, self.issues, number)
    }

    /// The set of a register: the share of the sets that its number, read from the lowest bit on, is of all numbers.
    fn set_of<'m>(&self, m: &Module<'m>, register: Signal<'m>) -> Signal<'m> {
        let bits = self.register_bits;
        let reversed = m.cat((0..bits).rev().map(|bit| register.bit(bit)));
        let width = bits + index_bits(self.sets + 1);
        let mut product = m.lit(width, 0);
        for bit in (0..usize::BITS as usize).filter(|&bit| self.sets >> bit & 1 == 1) {
            let shifted = if bit == 0 { reversed } else { m.lit(bit, 0).concat(reversed) };
            product = product + shifted.zext(width);
        }
        product.high(width - bits).low(index_bits(self.sets))
    }

    /// Row of `values`: the line in the lowest bit, the set above.
    fn row<'m>(&self, m: &Module<'m>, state: &State<'m>, set: Signal<'m>, line: Signal<'m>) -> Signal<'m> {
        m.cat([line.bit(1), set]).low(state.values.index_bits())
    }

    /// What the port `name` sees of a register's set.
    fn view<'m>(
        &self,
        m: &Module<'m>,
        state: &State<'m>,
        name: &str,
        register: Signal<'m>,
        enable: Signal<'m>,
    ) -> SetView<'m> {
        let set = self.set_of(m, register);
        let lines = state.lines.map(|line| line.read(name, set, enable));
        let hit = m.cat(lines.iter().map(|line| enable & line.valid() & line.register.eq(register)));
        SetView { set, lines, hit }
    }

    /// Finds the operands of a group's instruction, ends the copies that it reads for the last time, and adds its uses.
    fn look_up<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheIo<'m>,
        state: &State<'m>,
        group: usize,
        uses: &mut Uses<'m>,
    ) -> Vec<Pending<Signal<'m>>> {
        let lookup = &io.lookup[group];
        let mut found = Vec::new();
        for (k, source) in lookup.source.iter().enumerate() {
            let ends = if self.liveness { source.last_read_i } else { m.lit(1, 0) };
            let wanted = lookup.valid_i & (source.valid_i | ends);
            let name = self.of_operand("lookup", group, k);
            let view = self.view(m, state, &name, source.register_i, wanted);
            let reading = lookup.active_i & source.valid_i.replicate(self.lanes);
            let lanes = view.select(m, view.hit, |line| line.held) & reading;
            source.lanes_o.set(lanes);
            m.invariant(self.of_operand("a_register_has_one_line_", group, k), !view.hit.all());
            uses.push((view.set, view.hit & lanes.any().replicate(LINES_OF_SET)));
            found.push(Pending { lanes, row: self.row(m, state, view.set, view.hit) });
            if self.liveness {
                let none = m.lit(self.lanes, 0);
                for (number, line) in state.lines.iter().enumerate() {
                    m.when(ends & view.hit.bit(number), || {
                        line.write_fields(self.of_operand("end", group, k), view.set, |line| {
                            [(line.held, none)]
                        })
                        .lanes(lookup.active_i)
                        .keep_valid();
                    });
                }
            }
        }
        found
    }

    /// Keeps the operands of the instruction that a group looked up last until it gets a collector, then there.
    fn keep_until_collected<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheIo<'m>,
        state: &State<'m>,
        group: usize,
        found: &[Pending<Signal<'m>>],
    ) -> Vec<Pending<Signal<'m>>> {
        let (waiting, collect) = (io.waiting_i[group], &io.collect[group]);
        let keep = |(k, found): (usize, &Pending<Signal<'m>>)| {
            let lanes = m.register(self.of_operand("waiting_lanes", group, k), self.lanes).reset(0);
            let row = m.register(self.of_operand("waiting_row", group, k), found.row.width()).no_reset();
            m.when(io.lookup[group].valid_i, || {
                lanes.set(found.lanes);
                row.set(found.row);
            });
            m.when(collect.valid_i & waiting & lanes.any(), || {
                state.reads[group][k].write("collect", collect.index_i, Pending { lanes, row });
            });
            Pending { lanes: lanes & waiting.replicate(self.lanes), row }
        };
        found.iter().enumerate().map(keep).collect()
    }

    /// The operands that the dispatched instruction of a group reads here.
    fn start_reads<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheIo<'m>,
        state: &State<'m>,
        group: usize,
    ) -> Vec<Pending<Signal<'m>>> {
        let dispatch = &io.dispatch[group];
        let start = |table: &Table<'m, Pending>| {
            let read = table.read("dispatch", dispatch.index_i, dispatch.valid_i);
            m.when(dispatch.valid_i, || table.clear_row(dispatch.index_i));
            let here = dispatch.valid_i & read.valid();
            Pending { lanes: read.lanes & here.replicate(self.lanes), row: read.row }
        };
        state.reads[group].iter().map(start).collect()
    }

    /// The line that the value of a port goes to, and what has to leave it; `first` is where that of the port before goes.
    fn choose_target<'m>(
        &self,
        m: &Module<'m>,
        offers: &[Offer<'m>],
        state: &State<'m>,
        pending: &[Pending<Signal<'m>>],
        port: usize,
        first: Option<&Target<'m>>,
    ) -> Target<'m> {
        let offer = &offers[port];
        let name = self.numbered("write", port);
        let view = self.view(m, state, &name, offer.register, offer.valid);
        let hits = view.hit.any().named(self.numbered("write_hits", port));
        let pinned = m.cat([0b01, 0b10].map(|line| {
            let row = self.row(m, state, view.set, m.lit(LINES_OF_SET, line));
            self.is_pinned(state, &format!("{name}_{}", line >> 1), row, pending)
        }));
        let beside = first.map(|first| {
            let same_set = offers[port - 1].valid & first.view.set.eq(view.set);
            first.entry & same_set.replicate(LINES_OF_SET)
        });
        let taken = beside.map_or(pinned, |beside| pinned | beside);
        let entry = hits.mux(view.hit, self.victim(m, state, &view, !taken)) & !taken;
        let held = view.select(m, entry & view.valid(m), |line| line.held);
        let clean =
            state.clean.map(|clean| clean.map(|line| line.read(name.clone(), view.set, offer.valid).lanes));
        let leaving = clean.map_or(held, |clean| held & !entry.one_hot_select(m.cat(clean)));
        let must_evict = !hits & leaving.any();
        let evicts = offer.valid & must_evict & first.map_or(m.lit(1, 1), |first| !first.leaver.leaves);
        let leaver = Leaver {
            leaves: evicts.named(self.numbered("evicts", port)),
            row: self.row(m, state, view.set, entry),
            register: view.select(m, entry, |line| line.register),
            lanes: leaving,
        };
        let clean = clean.map(|clean| view.hit.one_hot_select(m.cat(clean)));
        Target { leaver, must_evict, entry, view, clean }
    }

    /// The line that makes room, one of those that are `usable`, one-hot: a free one, else the one not used for longest.
    fn victim<'m>(
        &self,
        m: &Module<'m>,
        state: &State<'m>,
        view: &SetView<'m>,
        usable: Signal<'m>,
    ) -> Signal<'m> {
        let free = m.cat(view.lines.iter().map(|line| !(line.valid() & line.held.any()))) & usable;
        let second_is_newer = state.second_is_newer.lane_select(view.set, 1);
        let oldest = m.cat([second_is_newer, !second_is_newer]) & usable;
        free.any().mux(free.lowest_one(), oldest.any().mux(oldest, usable))
    }

    /// Whether an operand has still to be read from `row`.
    fn is_pinned<'m>(
        &self,
        state: &State<'m>,
        port: &str,
        row: Signal<'m>,
        pending: &[Pending<Signal<'m>>],
    ) -> Signal<'m> {
        let tables = state.reads.iter().flatten();
        let collected =
            tables.map(|table| table.matching(port, 1, |read| read.valid() & read.row.eq(row)).any());
        let on_the_way = pending.iter().map(|operand| operand.lanes.any() & operand.row.eq(row));
        let pins: Vec<Signal<'m>> = collected.chain(on_the_way).collect();
        pins[1..].iter().fold(pins[0], |a, &b| a | b)
    }

    /// Where a register is that is told to leave; it is one of the `leavers` if it is here and none of those before leaves.
    fn find_leaving<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheIo<'m>,
        state: &State<'m>,
        number: usize,
        leavers: &mut Vec<Leaver<'m>>,
    ) -> SetView<'m> {
        let leave = &io.leave[number];
        let view = self.view(m, state, &format!("leave{number}"), leave.register_i, leave.valid_i);
        let lanes = view.select(m, view.hit, |line| line.held);
        leave.held_o.set(lanes.any());
        let is_first = leavers.iter().fold(m.lit(1, 1), |free, before| free & !before.leaves);
        leavers.push(Leaver {
            leaves: (lanes.any() & is_first).named(format!("told_to_leave{number}")),
            row: self.row(m, state, view.set, view.hit),
            register: leave.register_i,
            lanes,
        });
        view
    }

    /// Nothing is on its way to a register that is told to leave: its line would get the value after it has been cleared.
    fn assume_of_leaving<'m>(&self, m: &Module<'m>, io: &RegisterCacheIo<'m>) {
        for (number, leave) in io.leave.iter().enumerate() {
            for (port, write) in io.write.iter().enumerate() {
                let both = leave.valid_i & write.valid_i;
                m.assumption(
                    format!("what_is_told_to_leave_is_not_written{number}_{port}"),
                    both.implies(leave.register_i.ne(write.register_i)),
                );
            }
        }
    }

    /// Reads the operands, and with a port of the last group that is left over the register that leaves. Gives for each of
    /// the `leavers` whether it has left.
    fn spill<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterCacheIo<'m>,
        state: &State<'m>,
        leavers: &[Leaver<'m>],
        reading: &[Vec<Pending<Signal<'m>>>],
    ) -> Vec<Signal<'m>> {
        let (others, last) = leavers.split_at(leavers.len() - 1);
        let leaving = |of: fn(&Leaver<'m>) -> Signal<'m>| {
            others.iter().rev().fold(of(&last[0]), |next, leaver| leaver.leaves.mux(of(leaver), next))
        };
        let (row, lanes) = (leaving(|leaver| leaver.row), leaving(|leaver| leaver.lanes));
        let evicts = others.iter().fold(last[0].leaves, |any, leaver| any | leaver.leaves);
        let (last_group, groups) = reading.split_at(reading.len() - 1);
        let (groups, last_group) = (last_group, groups[0].as_slice());
        let used: Vec<Signal<'m>> = last_group.iter().map(|operand| operand.lanes.any()).collect();
        io.spill.valid_o.set(evicts & !(used[0] & used[1] & used[2]));
        io.spill.register_o.set(leaving(|leaver| leaver.register)).valid_when(io.spill.valid_o);
        io.spill.lanes_o.set(lanes).valid_when(io.spill.valid_o);
        let taken = (io.spill.valid_o & io.spill.ready_i).named("spill_taken");

        for (index, operand) in groups.iter().flatten().enumerate() {
            let value = self.read_value(state, index, operand.row, operand.lanes, operand.lanes.any());
            self.deliver(m, &io.operand[index], index, operand.lanes, value);
        }
        let mut spare = taken;
        let mut spilled = m.lit(self.value_bits(), 0);
        for (k, operand) in last_group.iter().enumerate().rev() {
            let index = groups.len() * SOURCES + k;
            let read_row = used[k].mux(operand.row, row);
            let read_lanes = used[k].mux(operand.lanes, lanes);
            let value = self.read_value(state, index, read_row, read_lanes, used[k] | spare);
            spilled = used[k].mux(spilled, value);
            spare = spare & used[k];
            self.deliver(m, &io.operand[index], index, operand.lanes, value);
        }
        io.spill.value_o.set(spilled).valid_when(io.spill.valid_o);
        leavers.iter().map(|leaver| taken & leaver.leaves).collect()
    }

    fn read_value<'m>(
        &self,
        state: &State<'m>,
        index: usize,
        row: Signal<'m>,
        lanes: Signal<'m>,
        enable: Signal<'m>,
    ) -> Signal<'m> {
        state.values.read(format!("operand{index}"), row, enable).lanes(lanes).value
    }

    /// Holds an operand for the cycle after its read.
    fn deliver<'m>(
        &self,
        m: &Module<'m>,
        operand: &FoundOperandIo<'m>,
        k: usize,
        lanes: Signal<'m>,
        value: Signal<'m>,
    ) {
        let held_lanes = m.register(format!("operand{k}_lanes"), self.lanes).reset(0);
        let held_value = m.register(format!("operand{k}_value"), self.value_bits()).no_reset();
        held_lanes.set(lanes);
        m.when(lanes.any(), || {
            held_value.set(value);
        });
        operand.lanes_o.set(held_lanes);
        operand.value_o.set(held_value & held_lanes.spread(LANE_BITS));
    }

    /// Lanes of a register whose copy ends in this cycle.
    fn ended<'m>(&self, m: &Module<'m>, io: &RegisterCacheIo<'m>, register: Signal<'m>) -> Signal<'m> {
        let of_group = |lookup: &LookupIo<'m>| {
            let ends = lookup.source.iter().map(|source| source.last_read_i & source.register_i.eq(register));
            lookup.active_i & (lookup.valid_i & m.cat(ends).any()).replicate(self.lanes)
        };
        let none = m.lit(self.lanes, 0);
        if self.liveness { io.lookup.iter().map(of_group).fold(none, |a, b| a | b) } else { none }
    }

    /// Writes the value of a port to its line, if it is taken. A register that is written is not read in the same cycle, but
    /// one that is copied is: what has `ended` then stays so.
    fn write<'m>(
        &self,
        m: &Module<'m>,
        offer: &Offer<'m>,
        state: &State<'m>,
        (port, target): (usize, &Target<'m>),
        (taken, ended): (Signal<'m>, Option<Signal<'m>>),
        uses: &mut Uses<'m>,
    ) {
        let hit = target.view.hit;
        let kept = target.view.select(m, hit, |line| line.held);
        let held = ended.map_or(kept, |ended| kept & !ended) | offer.lanes;
        let line = Line { register: offer.register, warp: offer.warp, held };
        for (number, table) in state.lines.iter().enumerate() {
            m.when(taken & target.entry.bit(number), || {
                table.write(self.numbered("allocate", port), target.view.set, line);
            });
        }
        if let (Some(tables), Some(clean), Some(copies)) = (state.clean, target.clean, offer.copies) {
            let lanes = copies.mux(clean | offer.lanes, clean & !offer.lanes);
            for (number, table) in tables.iter().enumerate() {
                m.when(taken & target.entry.bit(number), || {
                    table.write(self.numbered("allocate", port), target.view.set, Clean { lanes });
                });
            }
            let dirty = kept & !clean;
            m.invariant(
                self.numbered("a_copy_is_no_older_than_what_is_here", port),
                (taken & copies).implies(!(dirty & offer.lanes).any()),
            );
        }
        m.when(taken, || {
            let value = WarpRegister { value: offer.value };
            state.values.write(self.numbered("write", port), target.leaver.row, value).lanes(offer.lanes);
        });
        uses.push((target.view.set, target.entry & taken.replicate(LINES_OF_SET)));
        m.invariant(self.numbered("a_value_gets_one_line", port), !(taken & target.entry.all()));
    }

    /// Which line of each set was used last, from now on.
    fn note_uses<'m>(&self, state: &State<'m>, uses: &Uses<'m>) {
        let newer = uses.iter().fold(state.second_is_newer, |newer, &(set, line)| {
            let set = set.decode(self.sets);
            let at = |line: Signal<'m>| set & line.replicate(self.sets);
            (newer & !at(line.bit(0))) | at(line.bit(1))
        });
        state.second_is_newer.set(newer);
    }

    /// Drops the lines of warps that have ended.
    fn drop_ended<'m>(&self, m: &Module<'m>, io: &RegisterCacheIo<'m>, state: &State<'m>) {
        for table in &state.lines {
            let ended = (0..self.warps)
                .map(|warp| {
                    let lines = table.matching(format!("ended{warp}"), io.ended_i.bit(warp), |line| {
                        line.valid() & line.warp.eq(m.lit(index_bits(self.warps), warp as u64))
                    });
                    lines & io.ended_i.bit(warp).replicate(self.sets)
                })
                .fold(m.lit(self.sets, 0), |a, b| a | b);
            table.clear_rows(ended);
        }
    }
}

/// A value to be written.
pub(super) struct Offer<'m> {
    pub(super) valid: Signal<'m>,
    pub(super) register: Signal<'m>,
    pub(super) warp: Signal<'m>,
    pub(super) lanes: Signal<'m>,
    pub(super) value: Signal<'m>,
    /// The main register file has it, too; `None` if reads do not allocate.
    pub(super) copies: Option<Signal<'m>>,
}

impl<'m> Offer<'m> {
    /// What a write port offers.
    fn of(write: &RegisterWriteIo<'m>, warp: Signal<'m>) -> Offer<'m> {
        Offer {
            valid: write.valid_i,
            register: write.register_i,
            warp,
            lanes: write.lanes_i,
            value: write.value_i,
            copies: None,
        }
    }
}

/// Where a value goes.
struct Target<'m> {
    /// Its register's set.
    view: SetView<'m>,
    /// The line, one-hot; 0 if none can be had now.
    entry: Signal<'m>,
    /// The line holds lanes of another register.
    must_evict: Signal<'m>,
    /// That register.
    leaver: Leaver<'m>,
    /// Clean lanes of its register's line, if reads allocate.
    clean: Option<Signal<'m>>,
}

/// A register that may leave; one of them a cycle does.
#[derive(Clone, Copy)]
struct Leaver<'m> {
    /// It may in this cycle.
    leaves: Signal<'m>,
    /// Row of its value.
    row: Signal<'m>,
    register: Signal<'m>,
    /// Lanes that are here.
    lanes: Signal<'m>,
}

impl<'m> SetView<'m> {
    /// A field of the line that `select` (one-hot) names; 0 if it names none.
    fn select(
        &self,
        m: &Module<'m>,
        select: Signal<'m>,
        field: impl Fn(&Line<Signal<'m>>) -> Signal<'m>,
    ) -> Signal<'m> {
        select.one_hot_select(m.cat(self.lines.iter().map(|line| field(line))))
    }

    /// Lines that have been given to a register.
    fn valid(&self, m: &Module<'m>) -> Signal<'m> {
        m.cat(self.lines.iter().map(|line| line.valid()))
    }
}

//! The levels above the main register file.

use serde::{Deserialize, Serialize};

use super::upper_ports::{UpperIssueIo, UpperRegisterFilesIo, UpperSourceIo, UpperWriteIo};
use crate::regfile::collector_groups::{Choice, WAYS};
use crate::regfile::{LANE_BITS, SOURCES, WarpLanes, WarpRegister};
use crate::rtl::{Circuit, Documented, Field, Module, ParameterError, Record, Signal, Table, index_bits};

/// Last result file (LRF) and operand register file (ORF): entries without tags for each slot of the active set, used as
/// the compiler says.
///
/// Entries of a slot are numbered: those of the operand register file, then the one of the last result file. An
/// operand found here is read when its instruction leaves its collector, by a read port of its own. An operand of the
/// main register file may be copied to an entry of the operand register file: it is written when the instruction's
/// operands are out. A way has one write port, for the copy of its group of collectors and for its result; the copy
/// comes first. Until the copy is written, instructions that read the entry are held in their collectors. A result is not
/// written while its entry has still to be read by, or to get a copy for, an earlier instruction; nor is an
/// instruction taken that copies to such an entry.
///
/// The compiler sees to the rest: an instruction that reads an entry, or copies to one, is issued when the results for the
/// entry have been written.
///
/// Timing: an operand is out in the cycle after its instruction has left. A write or copy is read by instructions that
/// leave from the next cycle on.
/// Source: Gebhart et al., MICRO 2011, §3.1 and §3.2; ways of 3R/1W, one for each instruction a cycle, after Bailey et al., "Scratch That (But Cache
/// This)", §III-A.3.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct UpperRegisterFiles {
    /// Slots of the active set, 1 to 64.
    pub slots: usize,
    /// Entries of a slot in the operand register file, 1 to 8.
    pub orf_entries: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Lanes of a cluster; divides `lanes`.
    pub lanes_per_cluster: usize,
    /// Operand collectors of each group, 2 to 32.
    pub collectors: usize,
    /// Instructions taken a cycle, 1 or 2.
    pub issues: usize,
}

/// An operand that an instruction in a collector reads here.
#[derive(Clone, Copy, Record)]
#[params(UpperRegisterFiles)]
struct Wanted<T = Field> {
    #[bits(p.place_bits())]
    place: T,
    #[bits(p.lanes)]
    lanes: T,
}

/// An operand that an instruction in a collector copies here.
#[derive(Clone, Copy, Record)]
#[params(UpperRegisterFiles)]
struct Copied<T = Field> {
    /// Where to.
    #[bits(p.place_bits())]
    place: T,
    /// Which operand.
    #[bits(index_bits(SOURCES))]
    source: T,
    #[bits(p.lanes)]
    lanes: T,
}

/// The state of the circuit.
struct State<'m> {
    /// One row a slot.
    lrf: Table<'m, WarpRegister>,
    /// The slot in the low bits of a row, the entry above.
    orf: Table<'m, WarpRegister>,
    /// Operands that have still to be read here, by group and operand position: a row a collector.
    reads: Vec<[Table<'m, Wanted>; SOURCES]>,
    /// Of these, those that wait for a copy: one bit a collector.
    waits: Vec<[Signal<'m>; SOURCES]>,
    /// Operands that are to be copied, by group: a row a collector.
    copies: Vec<Table<'m, Copied>>,
    /// Entries that a copy is on its way to, by place.
    copying: Signal<'m>,
}

/// An instruction on its way to a collector.
struct Arrival<'m> {
    taken: Signal<'m>,
    active: Signal<'m>,
    /// For each operand whether it is here, its place, and whether it waits for a copy.
    sources: Vec<(Signal<'m>, Signal<'m>, Signal<'m>)>,
    copies: Signal<'m>,
    copy_place: Signal<'m>,
    copy_source: Signal<'m>,
}

/// The copy of the instruction that left a group in the cycle before.
struct Copy<'m> {
    valid: Signal<'m>,
    place: Signal<'m>,
    lanes: Signal<'m>,
    value: Signal<'m>,
}

impl Circuit for UpperRegisterFiles {
    type Io<'m> = UpperRegisterFilesIo<'m>;
    const NAME: &'static str = "upper_register_files";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("slots", self.slots, 1..=64)?;
        Self::check_range("orf_entries", self.orf_entries, 1..=8)?;
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("lanes_per_cluster", self.lanes_per_cluster, 1..=self.lanes)?;
        Self::check(
            self.lanes.is_multiple_of(self.lanes_per_cluster),
            "lanes_per_cluster",
            self.lanes_per_cluster,
            "a divisor of lanes",
        )?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("issues", self.issues, 1..=WAYS)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &UpperRegisterFilesIo<'m>) {
        let state = self.state(m);
        let copies: Vec<Copy<'m>> =
            (0..self.issues).map(|group| self.dispatch(m, io, &state, group)).collect();
        let arrivals: Vec<Arrival<'m>> =
            (0..self.issues).map(|way| self.arrive(m, io, &state, &copies, way)).collect();
        for group in 0..self.issues {
            self.enter(m, io, &state, &arrivals, &copies, group);
        }
        self.follow_copies(m, &state, &arrivals, &copies);
        for (way, (copy, result)) in copies.iter().zip(&io.result).enumerate() {
            self.write(m, &state, way, copy, result);
        }
        let [first, second] = &io.result[..] else { return };
        let same =
            self.place(m, first.slot_i, first.entry_i).eq(self.place(m, second.slot_i, second.entry_i));
        m.assumption("an_entry_gets_one_result_a_cycle", !(first.valid_i & second.valid_i & same));
        let both = copies[0].valid & copies[1].valid;
        m.invariant("an_entry_gets_one_copy_a_cycle", both.implies(copies[0].place.ne(copies[1].place)));
    }
}

impl UpperRegisterFiles {
    /// Entries of a slot.
    pub(super) fn entries(&self) -> usize {
        self.orf_entries + 1
    }

    /// Bits of a warp register's value.
    pub(super) fn value_bits(&self) -> usize {
        self.lanes.saturating_mul(LANE_BITS)
    }

    /// Places: every entry of every slot has a number, the slot in its low bits.
    fn places(&self) -> usize {
        self.entries() << index_bits(self.slots)
    }

    /// Bits of a place.
    fn place_bits(&self) -> usize {
        index_bits(self.slots) + index_bits(self.entries())
    }

    fn place<'m>(&self, m: &Module<'m>, slot: Signal<'m>, entry: Signal<'m>) -> Signal<'m> {
        m.cat([slot, entry])
    }

    fn state<'m>(&self, m: &Module<'m>) -> State<'m> {
        let lanes = WarpLanes { lanes: self.lanes, per_array: self.lanes_per_cluster };
        let values = |name: &str, rows: usize| {
            m.table::<WarpRegister>(name, rows, &lanes).ports(self.issues * SOURCES, self.issues)
        };
        let reads = |group: usize| {
            [0, 1, 2]
                .map(|k| m.table::<Wanted>(format!("read{group}_{k}"), self.collectors, self).valid_bits())
        };
        let waits = |group: usize| {
            [0, 1, 2].map(|k| m.register(format!("waits{group}_{k}"), self.collectors).reset(0))
        };
        let copies =
            |group: usize| m.table::<Copied>(format!("copy{group}"), self.collectors, self).valid_bits();
        State {
            lrf: values("lrf", self.slots),
            orf: values("orf", ((self.orf_entries - 1) << index_bits(self.slots)) + self.slots),
            reads: (0..self.issues).map(reads).collect(),
            waits: (0..self.issues).map(waits).collect(),
            copies: (0..self.issues).map(copies).collect(),
            copying: m.register("copying", self.places()).reset(0),
        }
    }

    /// Whether a place is in the last result file.
    fn is_lrf<'m>(&self, place: Signal<'m>) -> Signal<'m> {
        place.high(index_bits(self.entries())).eq(self.orf_entries)
    }

    /// Row of a place in its table.
    fn row<'m, R: Record>(&self, table: Table<'m, R>, place: Signal<'m>) -> Signal<'m> {
        place.low(table.index_bits())
    }

    /// Reads the operands of the instruction that leaves a group, and holds what it copies for the next cycle.
    fn dispatch<'m>(
        &self,
        m: &Module<'m>,
        io: &UpperRegisterFilesIo<'m>,
        state: &State<'m>,
        group: usize,
    ) -> Copy<'m> {
        let (dispatch, operands) = (&io.dispatch[group], &io.operands[group]);
        let mut held = m.lit(self.collectors, 0);
        for (k, operand) in operands.source.iter().enumerate() {
            let table = state.reads[group][k];
            let read = table.read("dispatch", dispatch.index_i, dispatch.valid_i);
            m.when(dispatch.valid_i, || table.clear_row(dispatch.index_i));
            let here = dispatch.valid_i & read.valid();
            let (place, lanes) = (read.place, read.lanes);
            let in_lrf = self.is_lrf(place);
            let port = format!("operand{group}_{k}");
            let value_of = |table: Table<'m, WarpRegister>, enable: Signal<'m>| {
                table.read_clocked(&port, self.row(table, place), enable).lanes(lanes).value
            };
            let (lrf, orf) = (value_of(state.lrf, here & in_lrf), value_of(state.orf, here & !in_lrf));
            let left_lanes = m.register(format!("operand{group}_{k}_lanes"), self.lanes).reset(0);
            let left_in_lrf = m.register(format!("operand{group}_{k}_in_lrf"), 1).no_reset();
            left_lanes.set(lanes & here.replicate(self.lanes));
            left_in_lrf.set(in_lrf);
            operand.value_o.set(left_in_lrf.mux(lrf, orf) & left_lanes.spread(LANE_BITS));
            held = held | state.waits[group][k];
        }
        io.hold_o[group].set(held);
        m.invariant(
            format!("an_instruction_leaves_when_its_copies_are_there{group}"),
            dispatch.valid_i.implies(!held.lane_select(dispatch.index_i, 1)),
        );
        self.hold_copy(m, io, state, group)
    }

    /// The copy of the instruction that left in the cycle before.
    fn hold_copy<'m>(
        &self,
        m: &Module<'m>,
        io: &UpperRegisterFilesIo<'m>,
        state: &State<'m>,
        group: usize,
    ) -> Copy<'m> {
        let (dispatch, table) = (&io.dispatch[group], state.copies[group]);
        let leaving = table.read("dispatch", dispatch.index_i, dispatch.valid_i);
        m.when(dispatch.valid_i, || table.clear_row(dispatch.index_i));
        let valid = m.register(format!("copies{group}"), 1).reset(0);
        let keep = |name: &str, value: Signal<'m>| {
            let register = m.register(format!("copies{group}_{name}"), value.width()).no_reset();
            register.set(value);
            register
        };
        valid.set(dispatch.valid_i & leaving.valid());
        let (place, source) = (keep("place", leaving.place), keep("source", leaving.source));
        let lanes = keep("lanes", leaving.lanes);
        let collected: Vec<Signal<'m>> = io.operands[group].source.iter().map(|s| s.collected_i).collect();
        let value = source.eq(0).mux(collected[0], source.eq(1).mux(collected[1], collected[2]));
        Copy { valid, place, lanes, value }
    }

    /// An instruction on its way to a collector: whether it may be taken, and what it has to wait for.
    fn arrive<'m>(
        &self,
        m: &Module<'m>,
        io: &UpperRegisterFilesIo<'m>,
        state: &State<'m>,
        copies: &[Copy<'m>],
        way: usize,
    ) -> Arrival<'m> {
        let issue = &io.issue[way];
        let place = |entry: Signal<'m>| self.place(m, issue.slot_i, entry);
        let copy_place = place(issue.copy_entry_i);
        let before = &io.issue[..way];
        let used_before = before.iter().map(|earlier| earlier.valid_i & self.uses(m, earlier, copy_place));
        let still_used = self.is_to_be_read(m, state, &format!("issue{way}"), copy_place)
            | state.copying.lane_select(copy_place, 1);
        let in_use = used_before.fold(still_used, |a, b| a | b);
        issue.ready_o.set(!(issue.copy_valid_i & in_use));
        let source = |source: &UpperSourceIo<'m>| {
            let place = place(source.entry_i);
            let arrives = copies.iter().map(|copy| copy.valid & copy.place.eq(place));
            let arrived = arrives.fold(m.lit(1, 0), |a, b| a | b);
            let copied_before = before.iter().map(|earlier| {
                earlier.copy_valid_i & self.place(m, earlier.slot_i, earlier.copy_entry_i).eq(place)
            });
            let on_its_way = state.copying.lane_select(place, 1) & !arrived;
            let waits = copied_before.fold(on_its_way, |a, b| a | b);
            (source.valid_i, place, source.valid_i & waits)
        };
        Arrival {
            taken: issue.taken_i,
            active: issue.active_i,
            sources: issue.source.iter().map(source).collect(),
            copies: issue.copy_valid_i,
            copy_place,
            copy_source: issue.copy_source_i,
        }
    }

    /// Whether an instruction reads a place or copies to it.
    fn uses<'m>(&self, m: &Module<'m>, issue: &UpperIssueIo<'m>, place: Signal<'m>) -> Signal<'m> {
        let is_at = |entry: Signal<'m>| self.place(m, issue.slot_i, entry).eq(place);
        let reads = issue.source.iter().map(|source| source.valid_i & is_at(source.entry_i));
        reads.fold(issue.copy_valid_i & is_at(issue.copy_entry_i), |a, b| a | b)
    }

    /// Whether an instruction in a collector has still to read a place.
    fn is_to_be_read<'m>(
        &self,
        m: &Module<'m>,
        state: &State<'m>,
        port: &str,
        place: Signal<'m>,
    ) -> Signal<'m> {
        let tables = state.reads.iter().flatten();
        let reads =
            tables.map(|table| table.matching(port, 1, |row| row.valid() & row.place.eq(place)).any());
        reads.fold(m.lit(1, 0), |a, b| a | b)
    }

    /// A group's instruction enters its collector, which keeps what it reads here, waits for and copies.
    fn enter<'m>(
        &self,
        m: &Module<'m>,
        io: &UpperRegisterFilesIo<'m>,
        state: &State<'m>,
        arrivals: &[Arrival<'m>],
        copies: &[Copy<'m>],
        group: usize,
    ) {
        let choice = Choice::new(io.crossed_i.first().copied(), group);
        let choose = |of: &dyn Fn(&Arrival<'m>) -> Signal<'m>| choice.of(|way| of(&arrivals[way]));
        let (enters, index) = (choose(&|arrival| arrival.taken), io.index_i[group]);
        let collector = index.decode(self.collectors) & enters.replicate(self.collectors);
        let lanes = choose(&|arrival| arrival.active);
        for k in 0..SOURCES {
            let (table, waits) = (state.reads[group][k], state.waits[group][k]);
            let place = choose(&|arrival| arrival.sources[k].1);
            m.when(enters & choose(&|arrival| arrival.sources[k].0), || {
                table.write("issue", index, Wanted { place, lanes });
            });
            let arrived = copies.iter().enumerate().fold(m.lit(self.collectors, 0), |arrived, (c, copy)| {
                let here = table.matching(format!("copied{c}"), 1, |row| row.place.eq(copy.place));
                arrived | (here & copy.valid.replicate(self.collectors))
            });
            let begins = collector & choose(&|arrival| arrival.sources[k].2).replicate(self.collectors);
            waits.set((waits & !arrived) | begins);
        }
        let (place, source) = (choose(&|arrival| arrival.copy_place), choose(&|arrival| arrival.copy_source));
        m.when(enters & choose(&|arrival| arrival.copies), || {
            state.copies[group].write("issue", index, Copied { place, source, lanes });
        });
    }

    /// Which entries copies are on their way to.
    fn follow_copies<'m>(
        &self,
        m: &Module<'m>,
        state: &State<'m>,
        arrivals: &[Arrival<'m>],
        copies: &[Copy<'m>],
    ) {
        let places = |valid: Signal<'m>, place: Signal<'m>| {
            place.decode(self.places()) & valid.replicate(self.places())
        };
        let none = m.lit(self.places(), 0);
        let begun = arrivals
            .iter()
            .fold(none, |all, arrival| all | places(arrival.taken & arrival.copies, arrival.copy_place));
        let done = copies.iter().fold(none, |all, copy| all | places(copy.valid, copy.place));
        m.invariant("a_copy_is_on_its_way_until_it_is_written", !(done & !state.copying).any());
        state.copying.set((state.copying & !done) | begun);
    }

    /// Writes the copy of a group, else the result of its way.
    fn write<'m>(
        &self,
        m: &Module<'m>,
        state: &State<'m>,
        way: usize,
        copy: &Copy<'m>,
        result: &UpperWriteIo<'m>,
    ) {
        let place = self.place(m, result.slot_i, result.entry_i);
        let in_lrf = self.is_lrf(place);
        let in_use = self.is_to_be_read(m, state, &format!("result{way}"), place)
            | state.copying.lane_select(place, 1);
        result.ready_o.set(!in_use & (in_lrf | !copy.valid));
        m.invariant(
            format!("a_result_is_written_only_where_it_may_be{way}"),
            result.valid_i.implies(result.ready_o),
        );
        m.when(result.valid_i & in_lrf, || {
            let row = self.row(state.lrf, place);
            state
                .lrf
                .write(format!("result{way}"), row, WarpRegister { value: result.value_i })
                .lanes(result.lanes_i);
        });
        m.when(copy.valid | (result.valid_i & !in_lrf), || {
            let row = self.row(state.orf, copy.valid.mux(copy.place, place));
            let value = copy.valid.mux(copy.value, result.value_i);
            let lanes = copy.valid.mux(copy.lanes, result.lanes_i);
            state.orf.write(format!("write{way}"), row, WarpRegister { value }).lanes(lanes);
        });
    }
}

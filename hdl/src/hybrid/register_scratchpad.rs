//! The register scratchpad.

use serde::{Deserialize, Serialize};

use super::scratchpad_ports::{
    RegisterScratchpadIo, ScratchpadIssueIo, ScratchpadOperandIo, ScratchpadResultIo,
};
use crate::parts::turn;
use crate::regfile::collector_groups::WAYS;
use crate::regfile::{LANE_BITS, SOURCES, WarpLanes, WarpRegister};
use crate::rtl::{Circuit, Documented, Field, Module, ParameterError, Record, Signal, Table, index_bits};

/// Register scratchpad (RSP): for each slot of the active set a fixed slice of entries without tags, used as the compiler says.
///
/// Behind it is a backing store, which sees an instruction under a small number instead of its identifier; what the
/// instruction reads and copies here is kept under that number until it is dispatched. An operand that is in an entry is read
/// when the instruction is dispatched. An operand of the backing store may be copied to an entry, when operands are out.
/// Results go to an entry or behind. One that is *live-out* makes its lanes dirty: they are transferred to the backing store in
/// the background, through the read port of the last operand whenever no operand needs it, and are clean once that is taken.
///
/// What is scoreboarded, since the compiler cannot know when writes and transfers take place:
///
/// - An instruction waits for entries that it reads or writes while a copy or an earlier result for them is awaited; if it
///   copies to an entry, also while that has still to be read by, or to be transferred for, an earlier one.
/// - An instruction that reads a register behind waits while that is dirty in an entry.
/// - A result waits while its entry has still to be read by an earlier instruction, while another register is dirty there, and
///   while its own register is dirty in another entry; a fill while its register is dirty in any.
///
/// A way has one write port, for the copy of its dispatch port and for its result; the copy comes first.
///
/// Timing: an operand is out in the cycle after the dispatch. A write or copy is read by instructions that are dispatched from
/// the next cycle on. A transfer reads in the cycle in which it is offered.
/// Source: Bailey et al., TCAD 2018, §III-A.1, §III-B and Table I (6R/2W); scoreboard and dirty lanes are ours.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterScratchpad {
    /// Slots of the active set, 1 to 64.
    pub slots: usize,
    /// Entries of a slot, 1 to 16.
    pub entries: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Lanes of a cluster; divides `lanes`.
    pub lanes_per_cluster: usize,
    /// Bits of a register's number, 1 to 16.
    pub register_bits: usize,
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Instructions that have been taken and not been dispatched, at most; 2 to 128.
    pub under_way: usize,
    /// Instructions a cycle, each with three read ports and a write port; 1 or 2.
    pub issues: usize,
}

/// An instruction that has not been dispatched.
#[derive(Clone, Copy, Record)]
#[params(RegisterScratchpad)]
struct Instruction<T = Field> {
    #[bits(p.id_bits)]
    id: T,
}

/// An operand that it reads here.
#[derive(Clone, Copy, Record)]
#[params(RegisterScratchpad)]
struct Wanted<T = Field> {
    /// See [`RegisterScratchpad::place`].
    #[bits(p.place_bits())]
    place: T,
    #[bits(p.lanes)]
    lanes: T,
}

/// An operand that it copies here.
#[derive(Clone, Copy, Record)]
#[params(RegisterScratchpad)]
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

/// Whose value is transferred from an entry, while lanes of it are dirty.
#[derive(Clone, Copy, Record)]
#[params(RegisterScratchpad)]
struct Owner<T = Field> {
    #[bits(p.register_bits)]
    register: T,
    #[bits(index_bits(p.warps))]
    warp: T,
}

/// The state of the circuit.
struct State<'m> {
    /// A row a place.
    values: Table<'m, WarpRegister>,
    /// A row a place.
    owners: Table<'m, Owner>,
    /// For each place the lanes that are to be transferred.
    dirty: Vec<Signal<'m>>,
    /// Places with such lanes.
    is_dirty: Signal<'m>,
    /// Places that a result or a copy is awaited at.
    awaited: Signal<'m>,
    /// Numbers that are in use.
    used: Signal<'m>,
    /// A row a number, as the ones below.
    instructions: Table<'m, Instruction>,
    /// One table an operand position.
    reads: [Table<'m, Wanted>; SOURCES],
    copies: Table<'m, Copied>,
}

/// An instruction that is offered.
struct Arrival<'m> {
    /// Places of its operands.
    places: Vec<Signal<'m>>,
    copy_place: Signal<'m>,
    /// Places that it writes or copies to.
    claims: Signal<'m>,
    /// Its number, one-hot.
    number: Signal<'m>,
}

/// The copy of the instruction that was dispatched in the cycle before.
struct Copy<'m> {
    valid: Signal<'m>,
    place: Signal<'m>,
    lanes: Signal<'m>,
    value: Signal<'m>,
}

impl Circuit for RegisterScratchpad {
    type Io<'m> = RegisterScratchpadIo<'m>;
    const NAME: &'static str = "register_scratchpad";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("slots", self.slots, 1..=64)?;
        Self::check_range("entries", self.entries, 1..=16)?;
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("lanes_per_cluster", self.lanes_per_cluster, 1..=self.lanes)?;
        Self::check(
            self.lanes.is_multiple_of(self.lanes_per_cluster),
            "lanes_per_cluster",
            self.lanes_per_cluster,
            "a divisor of lanes",
        )?;
        Self::check_range("register_bits", self.register_bits, 1..=16)?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("under_way", self.under_way, 2..=128)?;
        Self::check_range("issues", self.issues, 1..=WAYS)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterScratchpadIo<'m>) {
        let state = self.state(m);
        let transferred = self.transfer(m, io, &state);
        let copies: Vec<Copy<'m>> = (0..self.issues).map(|port| self.copy(m, io, &state, port)).collect();
        let (arrivals, may_be_taken) = self.arrive(m, io, &state);
        let written: Vec<_> =
            (0..self.issues).map(|way| self.write(m, &state, way, &copies[way], &io.result[way])).collect();
        self.follow_writes(m, io, &state, (&arrivals, &copies, &written));
        self.follow_dirt(io, &state, transferred, &written);
        self.assume_of_instructions(m, io, &arrivals, &may_be_taken);
        self.assume_of_results(m, io, &state, &copies, &written);
        let is_behind = self.dirty_places_of(&state, "fill", io.fill_register_i);
        io.fill_waits_o.set(is_behind.any());
    }
}

impl RegisterScratchpad {
    /// Bits of a warp register's value.
    pub(super) fn value_bits(&self) -> usize {
        self.lanes.saturating_mul(LANE_BITS)
    }

    /// Bits of an instruction's number.
    pub(super) fn number_bits(&self) -> usize {
        index_bits(self.under_way)
    }

    /// Places: every entry of every slot has a number, the slot in its low bits.
    fn places(&self) -> usize {
        self.entries << index_bits(self.slots)
    }

    /// Bits of a place.
    fn place_bits(&self) -> usize {
        index_bits(self.slots) + index_bits(self.entries)
    }

    fn place<'m>(&self, m: &Module<'m>, slot: Signal<'m>, entry: Signal<'m>) -> Signal<'m> {
        m.cat([slot, entry])
    }

    /// Row of a place in its table.
    fn row<'m, R: Record>(&self, table: Table<'m, R>, place: Signal<'m>) -> Signal<'m> {
        place.low(table.index_bits())
    }

    fn state<'m>(&self, m: &Module<'m>) -> State<'m> {
        let lanes = WarpLanes { lanes: self.lanes, per_array: self.lanes_per_cluster };
        let dirty: Vec<_> = (0..self.places())
            .map(|place| m.register(format!("dirty{place}"), self.lanes).reset(0))
            .collect();
        State {
            values: m
                .table::<WarpRegister>("slices", self.places(), &lanes)
                .ports(self.issues * SOURCES, self.issues),
            owners: m.table::<Owner>("owners", self.places(), self),
            is_dirty: m.cat(dirty.iter().map(|lanes| lanes.any())).named("is_dirty"),
            dirty,
            awaited: m.register("awaited", self.places()).reset(0),
            used: m.register("used", self.under_way).reset(0),
            instructions: m.table::<Instruction>("instructions", self.under_way, self),
            reads: [0, 1, 2]
                .map(|k| m.table::<Wanted>(format!("read{k}"), self.under_way, self).valid_bits()),
            copies: m.table::<Copied>("copies", self.under_way, self).valid_bits(),
        }
    }

    /// Places of some entries of a slot.
    fn places_of<'m>(&self, m: &Module<'m>, slot: Signal<'m>, entries: Signal<'m>) -> Signal<'m> {
        let slots = 1 << index_bits(self.slots);
        let slot = slot.decode(slots);
        m.cat((0..self.entries).map(|entry| slot & entries.bit(entry).replicate(slots)))
    }

    /// Whether an instruction that has not been dispatched reads a place.
    fn is_to_be_read<'m>(&self, state: &State<'m>, port: &str, place: Signal<'m>) -> Signal<'m> {
        let reads =
            state.reads.map(|table| table.matching(port, 1, |row| row.valid() & row.place.eq(place)).any());
        reads[0] | reads[1] | reads[2]
    }

    /// Places at which a register is dirty.
    fn dirty_places_of<'m>(&self, state: &State<'m>, port: &str, register: Signal<'m>) -> Signal<'m> {
        state.owners.matching(port, 1, |row| row.register.eq(register)) & state.is_dirty
    }

    /// Reads the operands of the dispatched instructions, and with the last port, if no operand needs it, what is
    /// transferred. Gives the place that has been transferred, one-hot.
    fn transfer<'m>(&self, m: &Module<'m>, io: &RegisterScratchpadIo<'m>, state: &State<'m>) -> Signal<'m> {
        let next = m.register("next_transfer", self.place_bits()).reset(0);
        let place = turn::first(state.is_dirty, turn::from(next, self.places()));
        let one_hot = place.decode(self.places());
        let lanes = one_hot.one_hot_select(m.cat(state.dirty.iter().copied()));
        let mut port_is_free = m.lit(1, 0);
        for (port, (dispatch, operands)) in io.dispatch.iter().zip(&io.operands).enumerate() {
            let number = dispatch.number_i;
            let id = state.instructions.read(format!("dispatch{port}"), number, dispatch.valid_i).id;
            dispatch.id_o.set(id).valid_when(dispatch.valid_i);
            let left_id = m.register(format!("left{port}_id"), self.id_bits).no_reset();
            left_id.set(id);
            operands.id_o.set(left_id);
            for (k, operand) in operands.source.iter().enumerate() {
                let table = state.reads[k];
                let wanted = table.read(format!("dispatch{port}"), number, dispatch.valid_i);
                m.when(dispatch.valid_i, || table.clear_row(number));
                let here = (dispatch.valid_i & wanted.valid()).named(format!("reads{port}_{k}"));
                let read_lanes = wanted.lanes & here.replicate(self.lanes);
                let is_last = port + 1 == self.issues && k + 1 == SOURCES;
                let name = format!("operand{port}_{k}");
                let read = |place: Signal<'m>, lanes: Signal<'m>| {
                    let row = self.row(state.values, place);
                    state.values.read(name.clone(), row, lanes.any()).lanes(lanes).value
                };
                let value = if is_last {
                    port_is_free = !here;
                    let moving = lanes & (io.transfer.ready_i & !here).replicate(self.lanes);
                    let value = read(
                        here.mux(wanted.place, place.zext(self.place_bits())),
                        here.mux(read_lanes, moving),
                    );
                    io.transfer.value_o.set(value).valid_when(io.transfer.valid_o);
                    value
                } else {
                    read(wanted.place, read_lanes)
                };
                self.deliver(m, operand, &name, read_lanes, value);
            }
        }
        io.transfer.valid_o.set(state.is_dirty.any() & port_is_free);
        let owner = state.owners.read("transfer", self.row(state.owners, place), io.transfer.valid_o);
        io.transfer.register_o.set(owner.register).valid_when(io.transfer.valid_o);
        io.transfer.warp_o.set(owner.warp).valid_when(io.transfer.valid_o);
        io.transfer.lanes_o.set(lanes).valid_when(io.transfer.valid_o);
        let taken = (io.transfer.valid_o & io.transfer.ready_i).named("transfer_taken");
        m.when(taken, || {
            next.set(place.zext(self.place_bits()) + 1);
        });
        one_hot & taken.replicate(self.places())
    }

    /// Holds an operand for the cycle after its read.
    fn deliver<'m>(
        &self,
        m: &Module<'m>,
        operand: &ScratchpadOperandIo<'m>,
        name: &str,
        lanes: Signal<'m>,
        value: Signal<'m>,
    ) {
        let held_lanes = m.register(format!("{name}_lanes"), self.lanes).reset(0);
        let held_value = m.register(format!("{name}_value"), self.value_bits()).no_reset();
        held_lanes.set(lanes);
        m.when(lanes.any(), || {
            held_value.set(value);
        });
        operand.lanes_o.set(held_lanes);
        operand.value_o.set(held_value & held_lanes.spread(LANE_BITS));
    }

    /// The copy of the instruction that was dispatched on a port in the cycle before.
    fn copy<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterScratchpadIo<'m>,
        state: &State<'m>,
        port: usize,
    ) -> Copy<'m> {
        let (dispatch, table) = (&io.dispatch[port], state.copies);
        let leaving = table.read(format!("dispatch{port}"), dispatch.number_i, dispatch.valid_i);
        m.when(dispatch.valid_i, || table.clear_row(dispatch.number_i));
        let valid = m.register(format!("copies{port}"), 1).reset(0);
        valid.set(dispatch.valid_i & leaving.valid());
        let keep = |name: &str, value: Signal<'m>| {
            let register = m.register(format!("copies{port}_{name}"), value.width()).no_reset();
            register.set(value);
            register
        };
        let (place, source) = (keep("place", leaving.place), keep("source", leaving.source));
        let lanes = keep("lanes", leaving.lanes);
        let collected: Vec<_> = io.operands[port].source.iter().map(|source| source.collected_i).collect();
        let value = source.eq(0).mux(collected[0], source.eq(1).mux(collected[1], collected[2]));
        Copy { valid, place, lanes, value }
    }

    /// The instructions that are offered, and whether each may be taken; one that is gets a number, under which is kept what
    /// it does here.
    fn arrive<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterScratchpadIo<'m>,
        state: &State<'m>,
    ) -> (Vec<Arrival<'m>>, Vec<Signal<'m>>) {
        let (mut arrivals, mut may_be_taken): (Vec<Arrival<'m>>, Vec<Signal<'m>>) = (Vec::new(), Vec::new());
        let mut free = !state.used;
        for (way, issue) in io.issue.iter().enumerate() {
            let place = |entry: Signal<'m>| self.place(m, issue.slot_i, entry);
            let copied = issue.copy_entry_i.decode(self.entries) & issue.copy_valid_i.replicate(self.entries);
            let number = free.lowest_one();
            let arrival = Arrival {
                places: issue.source.iter().map(|source| place(source.entry_i)).collect(),
                copy_place: place(issue.copy_entry_i),
                claims: self.places_of(m, issue.slot_i, issue.writes_i | copied),
                number,
            };
            let before: Vec<_> = io.issue[..way].iter().zip(&arrivals).collect();
            let (entry, transfer) = self.waits(m, state, way, (issue, &arrival), &before);
            if way == 0 {
                io.entry_wait_o.set(issue.valid_i & entry);
                io.transfer_wait_o.set(issue.valid_i & transfer);
            }
            may_be_taken.push(!entry & !transfer & free.any());
            issue.ready_o.set(may_be_taken[way]);
            issue.number_o.set(number.priority_encode());
            self.keep(m, state, way, issue, &arrival);
            free = free & !number;
            arrivals.push(arrival);
        }
        (arrivals, may_be_taken)
    }

    /// Whether an instruction has to wait for an entry, and for a transfer, those that are offered `before` it among others.
    fn waits<'m>(
        &self,
        m: &Module<'m>,
        state: &State<'m>,
        way: usize,
        (issue, arrival): (&ScratchpadIssueIo<'m>, &Arrival<'m>),
        before: &[(&ScratchpadIssueIo<'m>, &Arrival<'m>)],
    ) -> (Signal<'m>, Signal<'m>) {
        let nothing = m.lit(self.entries, 0);
        let read = issue.source.iter().fold(nothing, |read, source| {
            let here = source.valid_i & source.entry_valid_i;
            read | (source.entry_i.decode(self.entries) & here.replicate(self.entries))
        });
        let uses = self.places_of(m, issue.slot_i, read) | arrival.claims;
        let awaited = before.iter().fold(state.awaited, |awaited, (earlier, arrival)| {
            awaited | (arrival.claims & earlier.valid_i.replicate(self.places()))
        });
        let is_awaited = (uses & awaited).any();

        let copy = arrival.copy_place;
        let read_before = before.iter().flat_map(|(earlier, arrival)| {
            earlier.source.iter().zip(&arrival.places).map(|(source, place)| {
                earlier.valid_i & source.valid_i & source.entry_valid_i & place.eq(copy)
            })
        });
        let to_be_read = self.is_to_be_read(state, &format!("copy{way}"), copy);
        let is_in_use =
            read_before.fold(to_be_read, |a, b| a | b) | (copy.decode(self.places()) & state.is_dirty).any();

        let behind = issue.source.iter().enumerate().map(|(k, source)| {
            let dirty = self.dirty_places_of(state, &format!("source{way}_{k}"), source.register_i);
            source.valid_i & !source.entry_valid_i & dirty.any()
        });
        let transfer = behind.fold(m.lit(1, 0), |a, b| a | b).named(format!("waits_for_transfer{way}"));
        let entry = (is_awaited | (issue.copy_valid_i & is_in_use)).named(format!("waits_for_entry{way}"));
        (entry, transfer)
    }

    /// Keeps what an instruction that is taken does here.
    fn keep<'m>(
        &self,
        m: &Module<'m>,
        state: &State<'m>,
        way: usize,
        issue: &ScratchpadIssueIo<'m>,
        arrival: &Arrival<'m>,
    ) {
        let (number, port) = (issue.number_o, format!("issue{way}"));
        m.when(issue.taken_i, || {
            state.instructions.write(port.clone(), number, Instruction { id: issue.id_i });
        });
        for ((table, source), &place) in state.reads.iter().zip(&issue.source).zip(&arrival.places) {
            m.when(issue.taken_i & source.valid_i & source.entry_valid_i, || {
                table.write(port.clone(), number, Wanted { place, lanes: issue.active_i });
            });
        }
        m.when(issue.taken_i & issue.copy_valid_i, || {
            let (place, source) = (arrival.copy_place, issue.copy_source_i);
            state.copies.write(port.clone(), number, Copied { place, source, lanes: issue.active_i });
        });
    }

    /// Writes the copy of a port, else the result of its way. Gives the place that a result is written to, one-hot.
    fn write<'m>(
        &self,
        m: &Module<'m>,
        state: &State<'m>,
        way: usize,
        copy: &Copy<'m>,
        result: &ScratchpadResultIo<'m>,
    ) -> Signal<'m> {
        let place = self.place(m, result.slot_i, result.entry_i);
        let here = place.decode(self.places()) & result.entry_valid_i.replicate(self.places());
        let dirty = self.dirty_places_of(state, &format!("older{way}"), result.register_i);
        let is_older_elsewhere = (dirty & !here).any();
        let is_others = (here & state.is_dirty & !dirty).any();
        let to_be_read = self.is_to_be_read(state, &format!("result{way}"), place);
        let entry_waits = result.entry_valid_i & (is_others | to_be_read | copy.valid);
        result.ready_o.set(!is_older_elsewhere & !entry_waits);
        let taken =
            (result.valid_i & result.entry_valid_i & result.ready_o).named(format!("result{way}_taken"));
        m.when(copy.valid | taken, || {
            let row = self.row(state.values, copy.valid.mux(copy.place, place));
            let value = copy.valid.mux(copy.value, result.value_i);
            let lanes = copy.valid.mux(copy.lanes, result.lanes_i);
            state.values.write(format!("write{way}"), row, WarpRegister { value }).lanes(lanes);
        });
        m.when(taken & result.live_out_i, || {
            let owner = Owner { register: result.register_i, warp: result.warp_i };
            state.owners.write(format!("result{way}"), self.row(state.owners, place), owner);
        });
        here & taken.replicate(self.places())
    }

    /// Which places something is awaited at, and which numbers are in use.
    fn follow_writes<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterScratchpadIo<'m>,
        state: &State<'m>,
        (arrivals, copies, written): (&[Arrival<'m>], &[Copy<'m>], &[Signal<'m>]),
    ) {
        let (mut awaited, mut used) = (state.awaited, state.used);
        for (port, dispatch) in io.dispatch.iter().enumerate() {
            let left = dispatch.number_i.decode(self.under_way) & dispatch.valid_i.replicate(self.under_way);
            m.assumption(format!("what_is_dispatched_was_taken{port}"), !(left & !used).any());
            used = used & !left;
        }
        for (way, (copy, &written)) in copies.iter().zip(written).enumerate() {
            let copied = copy.place.decode(self.places()) & copy.valid.replicate(self.places());
            m.invariant(format!("a_copy_is_awaited{way}"), !(copied & !state.awaited).any());
            awaited = awaited & !copied & !written;
        }
        for (issue, arrival) in io.issue.iter().zip(arrivals) {
            awaited = awaited | (arrival.claims & issue.taken_i.replicate(self.places()));
            used = used | (arrival.number & issue.taken_i.replicate(self.under_way));
        }
        state.awaited.set(awaited);
        state.used.set(used);
        let slots = 1 << index_bits(self.slots);
        let busy = state.awaited | state.is_dirty;
        let of_slots =
            (0..self.entries).fold(m.lit(slots, 0), |all, entry| all | busy.slice(entry * slots, slots));
        io.slot_busy_o.set(of_slots.low(self.slots));
    }

    /// Which lanes are to be transferred: an entry is dirty for one register.
    fn follow_dirt<'m>(
        &self,
        io: &RegisterScratchpadIo<'m>,
        state: &State<'m>,
        transferred: Signal<'m>,
        written: &[Signal<'m>],
    ) {
        for (place, &dirty) in state.dirty.iter().enumerate() {
            let mut lanes = dirty & !transferred.bit(place).replicate(self.lanes);
            for (result, written) in io.result.iter().zip(written) {
                let new = result.lanes_i & written.bit(place).replicate(self.lanes);
                lanes = (lanes & !new) | (new & result.live_out_i.replicate(self.lanes));
            }
            dirty.set(lanes);
        }
    }

    /// Instructions are taken when they may be, and copy to entries that they do not write.
    fn assume_of_instructions<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterScratchpadIo<'m>,
        arrivals: &[Arrival<'m>],
        may_be_taken: &[Signal<'m>],
    ) {
        for (way, (issue, &may_be)) in io.issue.iter().zip(may_be_taken).enumerate() {
            m.assumption(format!("what_is_taken_may_be{way}"), issue.taken_i.implies(issue.valid_i & may_be));
            let written = self.places_of(m, issue.slot_i, issue.writes_i);
            let copied = arrivals[way].copy_place.decode(self.places());
            m.assumption(
                format!("an_entry_is_not_copied_to_and_written{way}"),
                (issue.taken_i & issue.copy_valid_i).implies(!(written & copied).any()),
            );
        }
    }

    /// Results come where they are awaited.
    fn assume_of_results<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterScratchpadIo<'m>,
        state: &State<'m>,
        copies: &[Copy<'m>],
        written: &[Signal<'m>],
    ) {
        for (way, (result, &written)) in io.result.iter().zip(written).enumerate() {
            let place = self.place(m, result.slot_i, result.entry_i);
            let to_be_copied = state
                .copies
                .matching(format!("result{way}"), 1, |row| row.valid() & row.place.eq(place))
                .any();
            let gets_a_copy = (copies.iter())
                .fold(to_be_copied, |copied, copy| copied | (copy.valid & copy.place.eq(place)));
            let is_awaited = !(written & !state.awaited).any() & !gets_a_copy;
            m.assumption(format!("a_result_is_awaited{way}"), written.any().implies(is_awaited));
        }
        if let [first, second] = written {
            m.assumption("an_entry_gets_one_result_a_cycle", !(*first & *second).any());
        }
    }
}

//! Reference of a register file with a register scratchpad in front: what every lane of every operand must be, and in every
//! cycle why an instruction, a result, a fill waits, and what is transferred. Written from Bailey et al., §III-B, and the
//! contract in `docs/hybrid-pipeline.md`. When instructions leave it follows; what is behind has a reference of its own.

use std::collections::BTreeMap;

use warpfile_hdl::hybrid::ScratchpadHierarchy;

use super::register_cache_hierarchy_ref::has;

/// An entry of a slot.
pub type Place = (usize, usize);

/// An operand: its register, and its entry if it is in one.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub register: usize,
    pub entry: Option<usize>,
    pub last_read: bool,
}

/// An instruction that is offered.
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    pub id: u64,
    pub unit: u64,
    pub active: u32,
    pub slot: usize,
    pub sources: [Option<Operand>; 3],
    /// The operand that is copied, and the entry.
    pub copy: Option<(usize, usize)>,
    /// The entry that its result goes to.
    pub written: Option<usize>,
    /// Registers that must not be in a cache in parallel: the one that is copied, that of a live-out result.
    pub leaves: [Option<usize>; 2],
}

/// A result or a fill that is offered.
#[derive(Clone, Debug, Default)]
pub struct Write {
    pub warp: usize,
    pub register: usize,
    pub lanes: u32,
    pub value: Vec<u32>,
    pub place: Option<Place>,
    pub live_out: bool,
}

/// What goes in, in a cycle. Of instructions and results the second of a register file that takes one is never there.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub issue: [Option<Instruction>; 2],
    pub result: [Option<Write>; 2],
    pub fill: Option<Write>,
    pub ended: u64,
    pub units_ready: u64,
}

/// What came out of one port.
#[derive(Clone, Debug, Default)]
pub struct Way {
    pub issue_taken: bool,
    /// The scratchpad lets the instruction pass.
    pub may_enter: bool,
    /// The cache in parallel held a register before that must not be there.
    pub held: bool,
    pub result_taken: bool,
    /// The scratchpad lets the result pass.
    pub may_be_written: bool,
    /// Identifier and unit.
    pub dispatch: Option<(u64, u64)>,
    pub operands: Option<(u64, [Vec<u32>; 3])>,
}

/// A register on its way to the backing store.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub warp: usize,
    pub register: usize,
    pub lanes: u32,
    pub value: Vec<u32>,
    pub taken: bool,
}

/// What came out, and what the scratchpad was seen to do.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    pub way: [Way; 2],
    pub fill_taken: bool,
    pub fill_waits: bool,
    pub transfer: Option<Transfer>,
    /// Registers of the main register file whose rows are off.
    pub off: Vec<usize>,
    /// Slots, one bit each.
    pub busy: u64,
    /// The first instruction waits for an entry, and for a transfer.
    pub waits: [bool; 2],
    /// It waits for a register to leave the cache in parallel.
    pub leave_wait: bool,
}

/// An instruction whose operands have not been delivered.
#[derive(Clone, Debug)]
struct UnderWay {
    unit: u64,
    taken_in: u64,
    active: u32,
    operands: [Vec<u32>; 3],
    /// Entries that its operands are read from.
    reads: [Option<Place>; 3],
    copy: Option<(usize, Place)>,
    dispatched: bool,
}

/// An entry.
#[derive(Clone, Debug)]
struct Entry {
    value: Vec<u32>,
    /// Lanes to be transferred, of this register of this warp.
    dirty: u32,
    owner: (usize, usize),
    /// A result or a copy is to come.
    awaited: bool,
    /// Entries that were transferred while this one was dirty, each once: entries take turns.
    before: Vec<Place>,
}

/// How often the interesting things happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Operands read in entries.
    pub reads: usize,
    pub copies: usize,
    /// Results written to entries: not live-out, live-out.
    pub writes: [usize; 2],
    pub transfers: usize,
    /// Transfers that the backing store did not take at once.
    pub transfers_wait: usize,
    /// Instructions that waited for an entry, and for a transfer.
    pub waits: [usize; 2],
    /// Results that waited for a reader, for another register, for their register's transfer, for a copy.
    pub results_wait: [usize; 4],
    pub fills_wait: usize,
    /// Instructions that waited for a register to leave the cache.
    pub leave_waits: usize,
    /// Last reads in entries.
    pub last_reads: usize,
    /// Instructions that left as soon as they may.
    pub at_once: usize,
}

pub struct ScratchpadReference {
    pub seen: Seen,
    access_cycles: u64,
    lanes: usize,
    issues: usize,
    capacity: usize,
    /// What each lane of each register must read.
    pub registers: Vec<Vec<u32>>,
    entries: BTreeMap<Place, Entry>,
    under_way: BTreeMap<u64, UnderWay>,
    /// What each port has dispatched.
    delivers: [Option<u64>; 2],
    /// The backing store has a cache, behind or in parallel.
    cached: bool,
    parallel: bool,
    /// A transfer has let a fill pass.
    transfer_waited: bool,
    cycle: u64,
}

impl Instruction {
    fn place(&self, entry: usize) -> Place {
        (self.slot, entry)
    }

    fn reads(&self) -> [Option<Place>; 3] {
        self.sources.map(|source| Some(self.place(source?.entry?)))
    }

    /// Entries that it writes or copies to.
    fn claims(&self) -> Vec<Place> {
        let copied = self.copy.map(|(_, entry)| entry);
        self.written.into_iter().chain(copied).map(|entry| self.place(entry)).collect()
    }
}

impl ScratchpadReference {
    pub fn new(parameters: &ScratchpadHierarchy) -> ScratchpadReference {
        let &ScratchpadHierarchy { geometry, slots, entries, issues, collectors, sets, .. } = parameters;
        let empty = Entry {
            value: vec![0; geometry.lanes],
            dirty: 0,
            owner: (0, 0),
            awaited: false,
            before: Vec::new(),
        };
        let places = (0..slots).flat_map(|slot| (0..entries).map(move |entry| (slot, entry)));
        ScratchpadReference {
            seen: Seen::default(),
            access_cycles: parameters.access_cycles as u64,
            lanes: geometry.lanes,
            issues,
            capacity: issues * (collectors + usize::from(sets > 0)),
            registers: vec![vec![0; geometry.lanes]; geometry.banks * geometry.rows],
            entries: places.map(|place| (place, empty.clone())).collect(),
            under_way: BTreeMap::new(),
            delivers: [None; 2],
            cached: sets > 0,
            parallel: parameters.parallel,
            transfer_waited: false,
            cycle: 0,
        }
    }

    /// Nothing is under way, and nothing is to be transferred.
    pub fn is_quiet(&self) -> bool {
        self.under_way.is_empty() && self.entries.values().all(|entry| entry.dirty == 0 && !entry.awaited)
    }

    /// The cycle in which the oldest instruction was taken whose operands are not out.
    pub fn oldest(&self) -> Option<u64> {
        self.under_way.values().map(|instruction| instruction.taken_in).min()
    }

    /// Compares a cycle with what it must do; panics where it differs.
    pub fn follow(&mut self, inputs: &Inputs, outputs: &Outputs) {
        self.check_issue(inputs, outputs);
        self.check_results(inputs, outputs);
        let moved = self.check_transfer(outputs);
        if !self.parallel {
            self.check_turns(inputs, outputs);
        }
        let busy = self.entries.iter().filter(|(_, entry)| entry.dirty != 0 || entry.awaited);
        let busy = busy.fold(0, |busy, (place, _)| busy | 1 << place.0);
        assert_eq!(outputs.busy, busy, "cycle {}: busy slots", self.cycle);

        if let Some(place) = moved {
            self.entry(place).dirty = 0;
        }
        for (port, way) in outputs.way.iter().enumerate() {
            self.deliver(port, way);
        }
        for (result, way) in inputs.result.iter().zip(&outputs.way) {
            if let Some(write) = result.as_ref().filter(|_| way.result_taken) {
                self.write(write);
            }
        }
        if let Some(fill) = inputs.fill.as_ref().filter(|_| outputs.fill_taken) {
            self.write(fill);
        }
        for (instruction, way) in inputs.issue.iter().zip(&outputs.way) {
            if let Some(instruction) = instruction.as_ref().filter(|_| way.issue_taken) {
                self.enter(instruction);
            }
        }
        for (port, way) in outputs.way.iter().enumerate() {
            self.dispatch(inputs, port, way);
        }
        self.cycle += 1;
    }

    fn entry(&mut self, place: Place) -> &mut Entry {
        self.entries.get_mut(&place).expect("there is such an entry")
    }

    fn is_to_be_read(&self, place: Place) -> bool {
        self.under_way.values().any(|other| !other.dispatched && other.reads.contains(&Some(place)))
    }

    fn dirty_at(&self, register: usize) -> Option<Place> {
        let mut dirty =
            self.entries.iter().filter(|(_, entry)| entry.dirty != 0 && entry.owner.0 == register);
        let place = dirty.next().map(|(&place, _)| place);
        assert!(dirty.next().is_none(), "cycle {}: register {register} is dirty twice", self.cycle);
        place
    }

    /// An instruction passes if nothing that it needs is to come, or in the way, and if there is room for it.
    fn check_issue(&mut self, inputs: &Inputs, outputs: &Outputs) {
        let used = self.under_way.values().filter(|other| !other.dispatched).count();
        let mut before: Option<&Instruction> = None;
        for (way, issue) in inputs.issue.iter().enumerate().take(self.issues) {
            let Some(instruction) = issue else { continue };
            let claimed_before =
                |place: &Place| before.is_some_and(|earlier| earlier.claims().contains(place));
            let is_awaited = |place: Place| self.entries[&place].awaited || claimed_before(&place);
            let mut used_entries = instruction.reads().into_iter().flatten().chain(instruction.claims());
            let awaits = used_entries.any(is_awaited);
            let copied = instruction.copy.map(|(_, entry)| instruction.place(entry));
            let in_use = copied.is_some_and(|place| {
                let read_before = before.is_some_and(|earlier| earlier.reads().contains(&Some(place)));
                read_before || self.is_to_be_read(place) || self.entries[&place].dirty != 0
            });
            let behind = instruction.sources.iter().flatten().filter(|source| source.entry.is_none());
            let transfer = behind.clone().any(|source| self.dirty_at(source.register).is_some());
            let may_enter = !awaits && !in_use && !transfer && used + way < self.capacity;
            assert_eq!(
                outputs.way[way].may_enter, may_enter,
                "cycle {}: {instruction:x?} passes, or not",
                self.cycle
            );
            let waits = [awaits || in_use, transfer];
            if way == 0 {
                assert_eq!(outputs.waits, waits, "cycle {}: what {instruction:x?} waits for", self.cycle);
            }
            self.seen.waits.iter_mut().zip(waits).for_each(|(count, waits)| *count += usize::from(waits));
            before = Some(instruction);
        }
        if inputs.issue[0].is_none() {
            assert_eq!(outputs.waits, [false; 2], "cycle {}: nobody waits", self.cycle);
        }
        let [first, second] = &outputs.way;
        assert!(first.issue_taken || !second.issue_taken, "cycle {}: second alone", self.cycle);
        assert_eq!(outputs.leave_wait, first.held, "cycle {}: the cache gives a register up", self.cycle);
        for way in &outputs.way {
            assert!(!way.held || !way.issue_taken, "cycle {}: taken though the cache holds it", self.cycle);
            self.seen.leave_waits += usize::from(way.held);
            assert!(way.may_enter || !way.issue_taken, "cycle {}: taken though it may not", self.cycle);
        }
    }

    /// A result passes if no older value is in the way.
    fn check_results(&mut self, inputs: &Inputs, outputs: &Outputs) {
        for (port, result) in inputs.result.iter().enumerate() {
            let (Some(write), way) = (result, &outputs.way[port]) else { continue };
            let older = self.dirty_at(write.register).is_some_and(|place| Some(place) != write.place);
            let read = write.place.is_some_and(|place| self.is_to_be_read(place));
            let others = write.place.is_some_and(|place| {
                let entry = &self.entries[&place];
                entry.dirty != 0 && entry.owner.0 != write.register
            });
            let copies = write.place.is_some()
                && self.delivers[port].is_some_and(|id| self.under_way[&id].copy.is_some());
            let waits = [read, others, older, copies];
            assert_eq!(
                way.may_be_written,
                waits == [false; 4],
                "cycle {}: {write:x?} passes, or not",
                self.cycle
            );
            let is_taken_here = write.place.is_some() && way.may_be_written;
            assert!(!is_taken_here || way.result_taken, "cycle {}: {write:x?} is not taken", self.cycle);
            assert!(way.may_be_written || !way.result_taken, "cycle {}: {write:x?} is taken", self.cycle);
            self.seen
                .results_wait
                .iter_mut()
                .zip(waits)
                .for_each(|(count, waits)| *count += usize::from(waits));
        }
        if let Some(fill) = &inputs.fill {
            let waits = self.dirty_at(fill.register).is_some();
            assert_eq!(outputs.fill_waits, waits, "cycle {}: {fill:x?} waits, or not", self.cycle);
            assert!(!waits || !outputs.fill_taken, "cycle {}: {fill:x?} is taken", self.cycle);
            self.seen.fills_wait += usize::from(waits);
        }
    }

    /// Something dirty is offered whenever the last operand of the last port is not read here: all dirty lanes of an entry.
    /// Gives the entry if it is taken.
    fn check_transfer(&mut self, outputs: &Outputs) -> Option<Place> {
        let last = outputs.way[self.issues - 1].dispatch.map(|(id, _)| &self.under_way[&id]);
        let port_is_free = last.is_none_or(|leaving| leaving.reads[2].is_none());
        let is_dirty = self.entries.values().any(|entry| entry.dirty != 0);
        assert_eq!(outputs.transfer.is_some(), is_dirty && port_is_free, "cycle {}: a transfer", self.cycle);
        let Transfer { warp, register, lanes, value, taken } = outputs.transfer.as_ref()?;
        let place = self.dirty_at(*register);
        let Some(place) = place else { panic!("cycle {}: register {register} is not dirty", self.cycle) };
        let entry = &self.entries[&place];
        assert_eq!((*warp, *lanes), (entry.owner.1, entry.dirty), "cycle {}: {register}", self.cycle);
        if *taken {
            for (other, waiting) in self.entries.iter_mut().filter(|(_, entry)| entry.dirty != 0) {
                let again = *other != place && waiting.before.contains(&place);
                assert!(!again, "cycle {}: {place:?} is transferred twice before {other:?}", self.cycle);
                waiting.before.push(place);
            }
            let entry = &self.entries[&place];
            for lane in (0..self.lanes).filter(|&lane| has(*lanes, lane)) {
                assert_eq!(value[lane], entry.value[lane], "cycle {}: {register}, lane {lane}", self.cycle);
            }
        }
        self.seen.transfers += usize::from(*taken);
        self.seen.transfers_wait += usize::from(!taken);
        taken.then_some(place)
    }

    /// Fills and transfers share a port of the backing store: a fill that may go comes first, unless a transfer has let
    /// one pass in the cycle before. One whose row is off is not there yet; a cache behind wakes rows itself.
    fn check_turns(&mut self, inputs: &Inputs, outputs: &Outputs) {
        let fills = inputs.fill.is_some() && !outputs.fill_waits;
        let has_row = |transfer: &&Transfer| self.cached || !outputs.off.contains(&transfer.register);
        let offered = outputs.transfer.as_ref().filter(has_row);
        let goes = offered.is_some() && (self.transfer_waited || !fills);
        let taken = offered.is_some_and(|transfer| transfer.taken);
        let is_wrong = if goes { outputs.fill_taken } else { taken };
        assert!(!is_wrong, "cycle {}: the other one was to go", self.cycle);
        self.transfer_waited = offered.is_some() && !goes;
    }

    fn write(&mut self, write: &Write) {
        let Write { warp, register, lanes, place, live_out, .. } = *write;
        for lane in (0..self.lanes).filter(|&lane| has(lanes, lane)) {
            self.registers[register][lane] = write.value[lane];
        }
        let Some(place) = place else { return };
        let all = self.lanes;
        let entry = self.entry(place);
        assert!(entry.awaited, "a result for {place:?} that nobody announced");
        entry.awaited = false;
        for lane in (0..all).filter(|&lane| has(lanes, lane)) {
            entry.value[lane] = write.value[lane];
        }
        entry.dirty &= !lanes;
        if entry.dirty == 0 {
            entry.before.clear();
        }
        if live_out {
            entry.dirty |= lanes;
            entry.owner = (register, warp);
        }
        self.seen.writes[usize::from(live_out)] += 1;
    }

    fn enter(&mut self, instruction: &Instruction) {
        let Instruction { id, unit, active, sources, copy, .. } = instruction;
        let operands = sources.map(|source| {
            let value = |lane| source.map_or(0, |source| self.registers[source.register][lane]);
            (0..self.lanes).map(|lane| if has(*active, lane) { value(lane) } else { 0 }).collect()
        });
        self.seen.reads += instruction.reads().iter().flatten().count();
        let ends = |source: &&Operand| source.entry.is_some() && source.last_read;
        self.seen.last_reads += sources.iter().flatten().filter(ends).count();
        let new = UnderWay {
            unit: *unit,
            taken_in: self.cycle,
            active: *active,
            operands,
            reads: instruction.reads(),
            copy: copy.map(|(k, entry)| (k, instruction.place(entry))),
            dispatched: false,
        };
        assert!(self.under_way.insert(*id, new).is_none(), "identifier {id} is in use");
        for place in instruction.claims() {
            self.entry(place).awaited = true;
        }
    }

    /// Operands come in the cycle after the dispatch, and are what the registers held at issue; then they are copied.
    fn deliver(&mut self, port: usize, way: &Way) {
        let cycle = self.cycle;
        let id = way.operands.as_ref().map(|(id, _)| *id);
        assert_eq!(id, self.delivers[port].take(), "cycle {cycle}: operands");
        let Some((id, operands)) = &way.operands else { return };
        let UnderWay { operands: expected, copy, active, .. } = self.under_way.remove(id).unwrap();
        assert_eq!(operands, &expected, "cycle {cycle}: operands of instruction {id}");
        let Some((k, place)) = copy else { return };
        let lanes = self.lanes;
        let entry = self.entry(place);
        entry.awaited = false;
        for lane in (0..lanes).filter(|&lane| has(active, lane)) {
            entry.value[lane] = expected[k][lane];
        }
        self.seen.copies += 1;
    }

    fn dispatch(&mut self, inputs: &Inputs, port: usize, way: &Way) {
        let Some((id, unit)) = way.dispatch else { return };
        let cycle = self.cycle;
        let Some(instruction) = self.under_way.get_mut(&id) else {
            panic!("cycle {cycle}: instruction {id} is not under way")
        };
        assert_eq!(unit, instruction.unit, "cycle {cycle}: unit of instruction {id}");
        assert!(inputs.units_ready >> unit & 1 == 1, "cycle {cycle}: unit {unit} is not ready");
        assert!(!instruction.dispatched, "cycle {cycle}: instruction {id} is dispatched twice");
        let earliest = instruction.taken_in + self.access_cycles - 1;
        assert!(cycle >= earliest, "cycle {cycle}: too early");
        self.seen.at_once += usize::from(cycle == earliest);
        instruction.dispatched = true;
        self.delivers[port] = Some(id);
    }
}

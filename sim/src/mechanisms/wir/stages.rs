//! The stages of one scheduler: rename, reuse, retire.

use std::collections::VecDeque;

use warpfile_engine::Engine;
use warpfile_hdl::wir::ROW_RESULTS;
use warpfile_kernels::program::{LANES, LaneMask, LaneValues, MAX_RESULTS, MAX_SOURCES};

use super::Parameters;
use super::circuits::{Answer, Circuit, QUERIES, StageCircuits, set_register};
use super::kernel::{Decoded, Effect, Function, Memory, Operand};
use super::loads::Place;
use super::retire::{Arrived, Retiring, Slot, Step};
use super::shared::{Flying, Found, Renamed, Shared};
use crate::mechanisms::circuit::words;
use crate::sm::SimError;
use crate::sm::design::{
    Issue, KernelLoads, Members, RowAccessKind, StorageInputs, StorageOutputs, WarpSlot,
};

/// Cycles without a free register, while a result needs one, until nothing is looked up any more, so that the buffers are
/// swept in every cycle.
const PATIENCE: u64 = 64;
/// Cycles in which a register is freed after its last reference has gone.
const FREEING: u64 = 8;

/// The retry queue in this cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Front {
    /// The instruction in front.
    renamed: Option<Renamed>,
    is_urgent: bool,
    has_room: bool,
}

/// What becomes of the instruction in front of the retry queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Stays,
    Leaves,
    Rotates,
}

/// Whose lookup of a destination it is in this cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    #[default]
    None,
    /// Of the instruction that is answered.
    Answered,
    /// Of the result that arrives.
    Arriving,
}

/// A new mapping, or none.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    warp: WarpSlot,
    logical: u32,
    physical: Option<u32>,
    pinned: bool,
}

/// A result for a row of the reuse buffer.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    row: usize,
    /// The instruction that has reserved the row.
    id: u16,
    register: u32,
    /// Of an instruction of two results, which of them it is.
    place: Option<usize>,
}

/// What the value signature buffer says of a value.
#[derive(Clone, Copy, Debug)]
struct Signature {
    /// A register that may hold it.
    hit: Option<u32>,
    /// The register that it gets has been registered.
    is_inserted: bool,
}

/// What has been asked of the reuse buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// The instruction that goes on in this cycle, and whether it has waited.
    candidate: Option<(Renamed, bool)>,
    /// What of it is looked up.
    function: Option<Function>,
    has_turn: bool,
}

/// An instruction whose results have been found.
#[derive(Clone, Copy, Debug)]
pub struct Answering {
    renamed: Renamed,
    pub registers: Found,
    /// The first of two is mapped already; both are referred to.
    pub is_half_mapped: bool,
}

impl Answering {
    /// Which of the results is mapped next.
    fn place(&self) -> usize {
        usize::from(self.is_half_mapped)
    }

    /// The warp and the destination that is mapped next.
    pub fn destination(&self) -> (WarpSlot, u32) {
        (self.renamed.issue.warp, self.renamed.destinations[self.place()])
    }

    /// Whether there is room for one more reference to each register that is still to be referred to.
    fn has_room(&self, found: &[Answer; ROW_RESULTS]) -> bool {
        let mut both = self.registers.iter().zip(found);
        self.is_half_mapped || both.all(|(register, answer)| register.is_none() || answer.has_room)
    }
}

/// The stages of a scheduler, between it and the operand storage of its partition.
pub struct Stages {
    /// Which warps of the partition are the scheduler's.
    members: Members,
    pub circuits: StageCircuits,
    /// Warps that end, and those that have mappings left, as the scheduler numbers them.
    ends: u64,
    ending: u64,
    /// Warps that have started since the load guard's last cycle.
    starts: u64,
    /// Renamed instructions, each with the cycle from which it may be looked up.
    renamed: VecDeque<(Renamed, u64)>,
    front: Front,
    asked: Asked,
    pub answering: Option<Answering>,
    pub leaving: Option<Issue>,
    pub retiring: Retiring,
    /// The result that enters a slot in this cycle.
    entering: Option<Arrived>,
    /// The next result taken is that of a long-latency operation, if there are both.
    fill_next: bool,
    /// Cycles for which no register has been free while a result needed one.
    starved: u64,
    /// What has been read to verify a result.
    pub read_to_verify: Option<(u32, LaneValues)>,
}

impl Stages {
    pub fn new(members: Members, circuits: StageCircuits, parameters: &Parameters) -> Stages {
        Stages {
            members,
            circuits,
            ends: 0,
            ending: 0,
            starts: 0,
            renamed: VecDeque::with_capacity(parameters.delay as usize),
            front: Front::default(),
            asked: Asked::default(),
            answering: None,
            leaving: None,
            retiring: Retiring::new(parameters.retiring as usize),
            entering: None,
            fill_next: false,
            starved: 0,
            read_to_verify: None,
        }
    }

    /// The number of the scheduler in its partition, which is that of its ports.
    pub fn scheduler(&self) -> usize {
        self.members.scheduler()
    }

    pub fn start_warp(&mut self, warp: WarpSlot) {
        self.starts |= 1 << self.members.own_number(warp);
    }

    pub fn end_warp(&mut self, warp: WarpSlot) {
        self.ends |= 1 << self.members.own_number(warp);
    }

    /// Warps of the partition that have ended and have mappings left.
    pub fn ending_warps(&self) -> u64 {
        self.members.set(self.ends | self.ending)
    }

    /// Whether a result has waited so long for a register that nothing may be looked up.
    pub fn is_starved(&self) -> bool {
        self.starved > PATIENCE
    }

    /// State of the retry queue in this cycle.
    pub fn begin(&mut self, shared: &Shared) {
        let Some(Circuit { engine, ports }) = &mut self.circuits.retry else { return };
        engine.foresee();
        let one = |port| engine.get(port) == 1;
        let waiting = &shared.flying[engine.get(ports.id_o) as usize];
        self.front = Front {
            renamed: waiting.waiting.filter(|_| one(ports.valid_o)),
            is_urgent: one(ports.urgent_o),
            has_room: one(ports.ready_o),
        };
    }

    /// Takes the register on offer.
    fn allocate(&mut self, shared: &mut Shared) -> Option<u32> {
        let register = shared.allocate(self.scheduler())?;
        self.starved = 0;
        Some(register)
    }

    /// A cycle of the load guard. Gives where a load is in the order of accesses, unless it may not be reused.
    fn guard(&mut self, shared: &mut Shared, issue: Option<&Issue>) -> Option<Place> {
        let Circuit { engine, ports } = self.circuits.guard.as_mut()?;
        let decoded = issue.map(|issue| shared.instructions[issue.inst.0 as usize]);
        let acts = issue.is_some_and(|issue| issue.active != 0);
        let Effect { scratchpad, global, orders, barrier } =
            decoded.filter(|_| acts).map(|decoded| decoded.effect).unwrap_or_default();
        engine.set(ports.valid_i, u64::from(issue.is_some()));
        engine.set(ports.warp_i, issue.map_or(0, |issue| self.members.own_number(issue.warp) as u64));
        engine.set(ports.stores_scratchpad_i, u64::from(scratchpad));
        engine.set(ports.stores_global_i, u64::from(global));
        engine.set(ports.barrier_i, u64::from(barrier));
        engine.set(ports.start_i, std::mem::take(&mut self.starts));
        engine.step();
        let barriers = engine.get(ports.barriers_o) as u8;
        let may_reuse = [ports.global_o, ports.scratchpad_o].map(|port| engine.get(port) == 1);
        if orders {
            shared.numbers.order();
        }
        let (block, orderings) = match decoded?.function?.memory? {
            Memory::Global if may_reuse[0] => {
                let (number, orderings) = shared.numbers.global();
                (number, Some(orderings))
            }
            Memory::Scratchpad if may_reuse[1] => (shared.numbers.block(issue?.warp), None),
            Memory::Global | Memory::Scratchpad => (None, None),
        };
        Some(Place { block: block?, barriers, orderings })
    }

    /// An instruction has been renamed. `place`: of a load that may be reused.
    fn enter(&mut self, shared: &mut Shared, mut issue: Issue, place: Option<Place>) {
        let (engine, ports) = (&self.circuits.rename.engine, &self.circuits.rename.ports);
        let mut is_stable = true;
        for (source, port) in issue.sources.iter_mut().zip(&ports.source) {
            let physical = (engine.get(port.mapped_o) == 1).then(|| engine.get(port.physical_o) as u32);
            is_stable &= source.is_none() || physical.is_some() && engine.get(port.pinned_o) == 0;
            *source = physical;
        }
        for &source in issue.sources.iter().flatten() {
            shared.changes.holds.push(source);
            shared.counted.references += 1;
        }
        shared.counted.renamed.count(issue.unit);
        let index = issue.inst.0 as usize;
        let Decoded { function, invented, beyond, wide, private, .. } = shared.instructions[index];
        let is_divergent = issue.active != LaneMask::MAX;
        shared.counted.divergent += u64::from(is_divergent);
        shared.counted.invented += u64::from(invented && !is_divergent);
        shared.counted.beyond += u64::from(beyond && !is_divergent);
        shared.counted.wide += u64::from(wide && !is_divergent);
        shared.counted.private += u64::from(private && !is_divergent);
        let is_known = is_stable && issue.known == LaneMask::MAX;
        shared.counted.unstable += u64::from(function.is_some() && !is_divergent && !is_known);
        shared.flying[usize::from(issue.id)] = Flying { sources: issue.sources, ..Flying::default() };
        let function = function.filter(|_| is_known && !is_divergent);
        let is_guarded = |function: &Function| function.memory.is_some() && place.is_none();
        shared.counted.guarded += u64::from(function.as_ref().is_some_and(is_guarded));
        let function = function.filter(|function| !is_guarded(function));
        let place = place.filter(|_| function.is_some());
        let renamed =
            Renamed { issue, function, place, destinations: shared.destinations[index], turn: None };
        let from = shared.now + u64::from(!shared.looks_up_at_once) + shared.more_cycles;
        self.renamed.push_back((renamed, from));
    }

    /// A cycle of the rename tables: an instruction of the SM is renamed, a destination looked up, a mapping written.
    pub fn rename(
        &mut self,
        shared: &mut Shared,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
        mapping: Option<Mapping>,
        (destination, answered): (Destination, Option<(WarpSlot, u32)>),
    ) {
        let members = self.members;
        let own = |warp: WarpSlot| members.own_number(warp) as u64;
        let has_room = self.renamed.len() as u64 <= shared.more_cycles;
        let issue = inputs.issue[self.scheduler()].filter(|_| has_room);
        let guarded = self.guard(shared, issue.as_ref());
        let (engine, ports) = (&mut self.circuits.rename.engine, &self.circuits.rename.ports);
        if let Some(issue) = &issue {
            engine.set(ports.warp_i, own(issue.warp));
        }
        for (place, port) in ports.source.iter().enumerate() {
            let row = issue.as_ref().and_then(|issue| issue.sources[place].map(|row| (row, issue.warp)));
            let logical = row.map(|(row, warp)| shared.warp_rows[warp].register(row));
            set_register(engine, port.valid_i, port.register_i, logical);
        }
        let looked_up = match (destination, &self.retiring.arrived, answered) {
            (Destination::Arriving, Some(arrived), _) => Some((arrived.warp, arrived.logical)),
            (Destination::Answered, _, answered) => answered,
            (..) => None,
        };
        let port = &ports.destination;
        set_register(engine, port.valid_i, port.register_i, looked_up.map(|(_, logical)| logical));
        engine.set(port.warp_i, looked_up.map_or(0, |(warp, _)| own(warp)));
        let port = &ports.write;
        engine.set(port.valid_i, u64::from(mapping.is_some()));
        if let Some(Mapping { warp, logical, physical, pinned }) = mapping {
            engine.set(port.warp_i, own(warp));
            engine.set(port.register_i, u64::from(logical));
            engine.set(port.clear_i, u64::from(physical.is_none()));
            engine.set(port.physical_i, u64::from(physical.unwrap_or(0)));
            engine.set(port.pinned_i, u64::from(pinned));
        }
        let ends = std::mem::take(&mut self.ends);
        engine.set(ports.end_i, ends);
        engine.step();
        // Those that have just ended show in the next cycle.
        self.ending = engine.get(ports.ending_o) | ends;
        let released = &ports.released;
        let released = (engine.get(released.valid_o) == 1).then(|| engine.get(released.physical_o) as u32);
        let port = &ports.destination;
        let old = (engine.get(port.mapped_o) == 1).then(|| engine.get(port.physical_o) as u32);
        let pinned = engine.get(port.pinned_o) == 1;
        shared.unmap(released);
        match (destination, &mut self.retiring.arrived) {
            (Destination::Arriving, Some(arrived)) => (arrived.old, arrived.pinned) = (old, pinned),
            (Destination::Answered, _) => shared.unmap(old),
            (Destination::Arriving | Destination::None, _) => {}
        }
        if let Some(issue) = issue {
            self.enter(shared, issue, guarded);
            outputs.issue_taken[self.scheduler()] = true;
        }
    }

    /// A cycle of the retry queue.
    fn queue(&mut self, comes: Option<u16>, left: Left) {
        let Some(Circuit { engine, ports }) = &mut self.circuits.retry else { return };
        engine.set(ports.push_i, u64::from(comes.is_some()));
        engine.set(ports.id_i, u64::from(comes.unwrap_or(0)));
        engine.set(ports.pop_i, u64::from(left == Left::Leaves));
        engine.set(ports.rotate_i, u64::from(left == Left::Rotates));
        engine.step();
    }

    /// The instruction that may be looked up in this cycle, and whether it has waited: the one that has just been renamed,
    /// unless there is none or the one in front of the retry queue is urgent.
    fn candidate(&self, shared: &Shared) -> Option<(Renamed, bool)> {
        let waiting = self.front.renamed.map(|renamed| (renamed, true));
        let new =
            self.renamed.front().filter(|_| self.is_new_due(shared)).map(|(renamed, _)| (*renamed, false));
        let new = new.filter(|(renamed, _)| self.front.has_room || !shared.must_queue(renamed));
        if self.front.is_urgent { waiting.or(new) } else { new.or(waiting) }
    }

    /// Whether an instruction has been renamed that may be looked up in this cycle.
    fn is_new_due(&self, shared: &Shared) -> bool {
        self.renamed.front().is_some_and(|(_, from)| *from <= shared.now)
    }

    /// Whether a candidate may leave before all others of its warp in the retry queue.
    fn has_turn(shared: &Shared, renamed: &Renamed, has_waited: bool) -> bool {
        if !has_waited {
            return !shared.must_queue(renamed);
        }
        renamed.turn.is_none_or(|turn| turn == shared.turns[renamed.issue.warp].next)
    }

    /// An instruction whose results have been found executes after all if a register is named too often, before any other of
    /// its warp.
    pub fn refuse(&mut self, shared: &mut Shared, found: &[Answer; ROW_RESULTS]) {
        let Some(answering) = self.answering.filter(|answering| !answering.has_room(found)) else { return };
        if self.leaving.is_none() {
            self.leaving = Some(answering.renamed.issue);
            self.answering = None;
            shared.changes.drops.extend(answering.registers.iter().flatten());
            shared.counted.full += 1;
        }
    }

    /// An instruction whose results have been found gets them, if there is room for one more reference to each register. It
    /// refers to all of them at once; their mappings are written one a cycle, and with the last it is answered.
    pub fn answer(
        &mut self,
        shared: &mut Shared,
        found: &[Answer; ROW_RESULTS],
        outputs: &mut StorageOutputs,
    ) -> (Option<Mapping>, Destination) {
        let answered = self.answering.filter(|answering| answering.has_room(found));
        let Some(answering) = answered else { return (None, Destination::None) };
        let Answering { renamed, registers, is_half_mapped } = answering;
        if !is_half_mapped {
            for &register in registers.iter().flatten() {
                shared.refer(register);
                shared.changes.drops.push_back(register);
            }
        }
        let place = answering.place();
        let (warp, logical) = answering.destination();
        let mapping = Mapping { warp, logical, physical: registers[place], pinned: false };
        if registers.iter().skip(place + 1).any(Option::is_some) {
            self.answering = Some(Answering { is_half_mapped: true, ..answering });
            return (Some(mapping), Destination::Answered);
        }
        let Issue { id, unit, .. } = renamed.issue;
        self.answering = None;
        shared.counted.hits += 1;
        shared.counted.load_hits += u64::from(renamed.place.is_some());
        shared.counted.reused.count(unit);
        shared.drop_sources(id);
        shared.say_read(&renamed.issue, 0);
        let port = self.scheduler();
        outputs.answered[port] = Some(id);
        outputs.answers[port] = [[0; LANES]; MAX_RESULTS];
        for (answer, &register) in outputs.answers[port].iter_mut().zip(registers.iter().flatten()) {
            *answer = shared.values[register as usize];
        }
        (Some(mapping), Destination::Answered)
    }

    /// Takes a result of the SM, if the one before it is on its way. Gives whether one has been taken; what its destination is
    /// mapped to is not known yet.
    pub fn take_result(
        &mut self,
        shared: &mut Shared,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> bool {
        let port = self.scheduler();
        let result = inputs.result[port];
        let fill = inputs.fill.filter(|fill| self.members.has(fill.warp));
        let takes_fill = fill.is_some() && (self.fill_next || result.is_none());
        let Some(write) = (if takes_fill { fill } else { result }) else { return false };
        self.fill_next = !takes_fill;
        if takes_fill {
            (outputs.fill_taken, outputs.fill_later) = (true, true);
        } else {
            (outputs.result_taken[port], outputs.result_later[port]) = (true, true);
        }
        let is_convergent = write.lanes == LaneMask::MAX;
        let Decoded { invented, effect, .. } = shared.instructions[write.inst.0 as usize];
        if effect.orders {
            // What it has read may have been stored after other loads had begun.
            shared.numbers.order();
        }
        self.retiring.arrived = Some(Arrived {
            id: write.id,
            inst: write.inst,
            result: write.result,
            warp: write.warp,
            logical: shared.warp_rows[write.warp].register(write.row),
            lanes: write.lanes,
            values: *write.values,
            active_slot: write.slot,
            is_active: write.cached,
            long: takes_fill,
            signs: shared.policy.signatures && is_convergent && !invented,
            row: shared.flying[usize::from(write.id)].row,
            old: None,
            pinned: false,
            missed: false,
        });
        true
    }

    /// Hashes the result that has been taken in this cycle.
    pub fn hash(&mut self, takes: bool) {
        let Circuit { engine, ports } = &mut self.circuits.hash;
        let value = self.retiring.arrived.as_ref().filter(|arrived| takes && arrived.signs);
        engine.set(ports.valid_i, u64::from(value.is_some()));
        if let Some(arrived) = value {
            engine.set_words(ports.value_i, &words(&arrived.values));
        }
        engine.step();
    }

    fn enter_slot(&mut self, shared: &mut Shared, arrived: Arrived, signature: Signature, old: Answer) {
        // An access of the warp in the retry queue may still have to read what is pinned.
        let is_read = shared.turns[arrived.warp].is_waited_for() && !old.is_sole;
        let overwrites = !arrived.is_convergent() && arrived.pinned && !is_read;
        if let Some(register) = signature.hit {
            shared.counted.signatures += 1;
            shared.counted.signature_hits += 1;
            shared.hold(register);
            let step = match shared.circuits.verify {
                Some(_) => Step::Seek(register),
                None => Step::Verify(register),
            };
            self.retiring.enter(shared.now, arrived, step, Some(register), false);
        } else if let (true, Some(old)) = (overwrites, arrived.old) {
            self.retiring.enter(shared.now, arrived, Step::Write(old), None, true);
        } else if let Some(register) = self.allocate(shared) {
            shared.counted.signatures += u64::from(arrived.signs);
            if signature.is_inserted {
                shared.counted.registered += 1;
                shared.refer(register);
            }
            let pins = !arrived.is_convergent();
            let step = match arrived.old.filter(|_| pins) {
                Some(from) => Step::Move { from, to: register },
                None => Step::Write(register),
            };
            self.retiring.enter(shared.now, arrived, step, Some(register), pins);
        } else {
            self.retiring.arrived = Some(Arrived { missed: true, ..arrived });
        }
    }

    /// The result that has been hashed is looked up in the value signature buffer, if there is a slot for it.
    pub fn ask_signature(&mut self, shared: &mut Shared) {
        let can_enter = self.retiring.has_free_slot();
        self.entering = self.retiring.arrived.take_if(|_| can_enter);
        let new = shared.offered(self.scheduler());
        let asks = |arrived: &Arrived| arrived.signs && (new.is_some() || !arrived.missed);
        let signs = self.entering.as_ref().is_some_and(asks);
        let Circuit { engine, ports } = &mut shared.circuits.signatures;
        let port = &ports.lookup[self.members.scheduler()];
        engine.set(port.valid_i, u64::from(signs));
        if signs {
            let hash = &mut self.circuits.hash;
            hash.engine.foresee();
            engine.set(port.hash_i, hash.engine.get(hash.ports.hash_o));
            engine.set(port.insert_i, u64::from(new.is_some() && !shared.is_low));
            engine.set(port.register_i, u64::from(new.unwrap_or(0)));
            engine.set(port.drop_i, u64::from(shared.is_low));
        }
    }

    /// It gets a register: one that holds its value, its destination's own, or a new one. `old`: what is known of its
    /// destination's.
    pub fn choose_register(&mut self, shared: &mut Shared, old: Answer) {
        let Circuit { engine, ports } = &shared.circuits.signatures;
        let (port, evicted) = (&ports.lookup[self.scheduler()], &ports.evicted[self.scheduler()]);
        let signature = Signature {
            hit: (engine.get(port.hit_o) == 1).then(|| engine.get(port.register_o) as u32),
            is_inserted: engine.get(port.inserted_o) == 1,
        };
        if engine.get(evicted.valid_o) == 1 {
            shared.changes.decrements.push_back(engine.get(evicted.register_o) as u32);
        }
        if let Some(arrived) = self.entering.take() {
            self.enter_slot(shared, arrived, signature, old);
        }
    }

    /// A result that could not share a register gets one of its own.
    pub fn allocate_again(&mut self, shared: &mut Shared) {
        let waiting = self.retiring.oldest(|slot| slot.step == Step::Allocate);
        if waiting.is_none() {
            return;
        }
        let Some(register) = self.allocate(shared) else { return };
        if let Some(slot) = self.retiring.slot_mut(waiting) {
            slot.step = Step::Write(register);
            slot.held = Some(register);
        }
    }

    /// Whatever waits for a register gives up what its destination is mapped to, once nothing else is left to take away.
    pub fn give_up(&mut self, shared: &mut Shared, sole: Answer) -> Option<Mapping> {
        let waiting = self.retiring.oldest(|slot| slot.step == Step::Allocate);
        let arrived_waits = self.retiring.arrived.is_some();
        if shared.offered(self.scheduler()).is_some() || !(waiting.is_some() || arrived_waits) {
            self.starved = 0;
            return None;
        }
        self.starved += 1;
        if self.starved <= PATIENCE + shared.sweep_cycles + FREEING {
            return None;
        }
        let slot = self.retiring.slots.get_mut(waiting.unwrap_or(usize::MAX)).and_then(Option::as_mut);
        let arrived = match slot {
            Some(slot) => &mut slot.arrived,
            None => self.retiring.arrived.as_mut()?,
        };
        if !arrived.is_convergent() {
            // Its destination's register keeps the lanes that do not execute: it is overwritten if it is its own.
            shared.counted.overwritten += u64::from(sole.is_sole && !arrived.pinned);
            arrived.pinned |= sole.is_sole;
            return None;
        }
        let old = arrived.old.take()?;
        let mapping = Mapping { warp: arrived.warp, logical: arrived.logical, physical: None, pinned: false };
        shared.unmap(Some(old));
        shared.counted.given_up += 1;
        Some(mapping)
    }

    /// The slot that retires in this cycle: it gives its destination a mapping, and fills the row that its instruction has
    /// reserved. `asked`: a register that is shared, and whether there is room for it.
    pub fn retire(
        &mut self,
        shared: &mut Shared,
        asked: Option<(usize, Answer)>,
        outputs: &mut StorageOutputs,
    ) -> Result<(Option<Mapping>, Option<Fill>), SimError> {
        if let Some((index, Answer { has_room: false, .. })) = asked
            && let Some(slot) = self.retiring.slot_mut(Some(index))
        {
            shared.changes.drops.extend(slot.held.take());
            slot.step = Step::Allocate;
            shared.counted.full += 1;
        }
        let is_asked = asked.filter(|(_, answer)| answer.has_room).map(|(index, _)| index);
        let own = || self.retiring.oldest(|slot| matches!(slot.step, Step::Done { shared: false, .. }));
        let Some(index) = is_asked.or_else(own) else { return Ok((None, None)) };
        let Some(slot) = self.retiring.slots[index].take() else { return Ok((None, None)) };
        let Slot { arrived, step, held, pins, .. } = slot;
        let Step::Done { register, shared: is_shared } = step else { return Ok((None, None)) };
        let (warp, inst) = (arrived.warp, arrived.inst.0 as usize);
        shared.compare(warp, inst, register, (arrived.lanes, &arrived.values))?;
        if arrived.old != Some(register) {
            shared.refer(register);
            shared.unmap(arrived.old);
        }
        // The SM is told in this cycle, so that what the instruction says of its result is said of the row.
        let of = Some((warp, arrived.logical as u16));
        shared.rows.say(register, of, if is_shared { 0 } else { arrived.lanes }, RowAccessKind::Written);
        shared.changes.drops.extend(held);
        outputs.written[self.scheduler()] = Some((arrived.id, arrived.result));
        let mapping = Mapping { warp, logical: arrived.logical, physical: Some(register), pinned: pins };
        let is_pair = shared.instructions[inst].function.is_some_and(|function| function.is_pair);
        let place = is_pair.then_some(arrived.result);
        if !is_pair {
            shared.flying[usize::from(arrived.id)].row = None;
        }
        Ok((Some(mapping), arrived.row.map(|row| Fill { row, id: arrived.id, register, place })))
    }

    /// Where the candidate goes: to be answered, to the retry queue, or to the register file. `must_wait`: its row is pending,
    /// or it is not its turn.
    fn follow_candidate(
        &mut self,
        shared: &mut Shared,
        candidate: Option<(Renamed, bool)>,
        function: Option<Function>,
        (hit, must_wait, row): (Option<Found>, bool, Option<usize>),
    ) {
        let Some((mut renamed, has_waited)) = candidate else { return self.queue(None, Left::Stays) };
        let Issue { id, warp, inst, .. } = renamed.issue;
        // An instruction that waits for another's result counts as one lookup, and its waits apart.
        if !has_waited {
            let looks_up = renamed.function.is_some() && (function.is_some() || must_wait);
            shared.counted.lookups += u64::from(looks_up);
            shared.counted.loads += u64::from(looks_up && renamed.place.is_some());
            shared.counted.pending += u64::from(function.is_some() && must_wait);
            self.renamed.pop_front();
        } else if self.front.is_urgent && self.is_new_due(shared) {
            shared.counted.urgent += 1;
        }
        if must_wait && (has_waited || self.front.has_room && self.circuits.retry.is_some()) {
            shared.counted.waited += 1;
            if !has_waited && shared.instructions[inst.0 as usize].follows_loads {
                renamed.turn = Some(shared.turns[warp].give());
            }
            shared.flying[usize::from(id)].waiting = Some(renamed);
            let come = (!has_waited).then_some(id);
            return self.queue(come, if has_waited { Left::Rotates } else { Left::Stays });
        }
        shared.counted.unqueued += u64::from(must_wait && self.circuits.retry.is_some());
        self.queue(None, if has_waited { Left::Leaves } else { Left::Stays });
        if let Some(turn) = renamed.turn {
            shared.turns[warp].next = turn.wrapping_add(1);
        }
        if let Some(registers) = hit {
            registers.into_iter().flatten().for_each(|register| shared.hold(register));
            shared.counted.retry_hits += u64::from(has_waited);
            self.answering = Some(Answering { renamed, registers, is_half_mapped: false });
            return;
        }
        if row.is_some() {
            shared.counted.reserved += 1;
            for operand in function.iter().flat_map(|function| function.operands) {
                if let Operand::Source(place) = operand {
                    shared.changes.increments.extend(renamed.issue.sources[place]);
                    shared.counted.references += 1;
                }
            }
        }
        shared.flying[usize::from(id)].row = row;
        self.leaving = Some(renamed.issue);
    }

    /// The candidate asks for a lookup, or goes on without. `sources`: whether there is room for more references to its sources.
    /// Gives whether it asks.
    pub fn ask(&mut self, shared: &mut Shared, sources: &[Answer]) -> bool {
        let can_leave = self.leaving.is_none();
        let gives_up = shared.is_starved;
        let candidate = self.candidate(shared).filter(|(renamed, _)| {
            can_leave && (renamed.function.is_none() || self.answering.is_none() || gives_up)
        });
        let is_current =
            |renamed: &Renamed| renamed.place.is_none_or(|place| shared.numbers.is_current(&place));
        let has_turn = candidate.is_some_and(|(renamed, waited)| Stages::has_turn(shared, &renamed, waited));
        let function = candidate
            .filter(|(renamed, _)| has_turn && !gives_up && is_current(renamed))
            .and_then(|(renamed, _)| renamed.function);
        let is_load = function.is_some_and(|function| function.memory.is_some());
        let place = candidate.and_then(|(renamed, _)| renamed.place).filter(|_| is_load);
        self.asked = Asked { candidate, function, has_turn };
        let Circuit { engine, ports } = &mut shared.circuits.reuse;
        let port = &ports.lookup[self.members.scheduler()];
        shared.counted.rows_looked_up += u64::from(function.is_some());
        engine.set(port.valid_i, u64::from(function.is_some()));
        let (Some((renamed, _)), Some(function)) = (&candidate, &function) else { return false };
        engine.set(port.form_i, u64::from(function.form));
        let mut has_room = true;
        for (port, operand) in port.operand.iter().zip(function.operands) {
            let (is_register, value) = match operand {
                Operand::Source(place) => {
                    has_room &= sources[place].has_room;
                    (true, renamed.issue.sources[place].unwrap_or_default())
                }
                Operand::Immediate(value) => (false, u32::from(value)),
            };
            engine.set(port.is_register_i, u64::from(is_register));
            engine.set(port.value_i, u64::from(value));
        }
        engine.set(port.block_i, place.map_or(0, |place| u64::from(place.block)));
        engine.set(port.barrier_i, place.map_or(0, |place| u64::from(place.barriers)));
        engine.set(port.id_i, u64::from(renamed.issue.id));
        engine.set(port.reserve_i, u64::from(has_room && !shared.is_low));
        engine.set(port.drop_i, u64::from(shared.is_low));
        true
    }

    /// The row of an instruction that has retired asks to be filled.
    pub fn ask_fill(&self, shared: &mut Shared, fill: Option<Fill>) {
        let Circuit { engine, ports } = &mut shared.circuits.reuse;
        let port = &ports.fill[self.scheduler()];
        engine.set(port.valid_i, u64::from(fill.is_some()));
        let Some(Fill { row, id, register, place }) = fill else { return };
        engine.set(port.row_i, row as u64);
        engine.set(port.id_i, u64::from(id));
        engine.set(port.register_i, u64::from(register));
        for pair in &port.pair {
            engine.set(pair.valid_i, u64::from(place.is_some()));
            engine.set(pair.second_i, u64::from(place == Some(1)));
        }
    }

    /// What the reuse buffer says of the lookup and of the fill that have been asked for.
    pub fn follow_lookup(
        &mut self,
        shared: &mut Shared,
        fill: Option<Fill>,
        kernel_loads: &dyn KernelLoads,
    ) -> Result<(), SimError> {
        let Asked { candidate, function, has_turn } = std::mem::take(&mut self.asked);
        let Circuit { engine, ports } = &shared.circuits.reuse;
        let (port, fill_port) = (&ports.lookup[self.scheduler()], &ports.fill[self.scheduler()]);
        let one = |port| engine.get(port) == 1;
        let hit = one(port.hit_o).then(|| {
            let second = port.second.first().filter(|second| one(second.valid_o));
            let first = engine.get(port.register_o) as u32;
            [Some(first), second.map(|second| engine.get(second.register_o) as u32)]
        });
        let row = one(port.reserved_o).then(|| engine.get(port.row_o) as usize);
        let (is_pending, is_filled) = (one(port.pending_o), one(fill_port.filled_o));
        if let Some(Fill { register, .. }) = fill.filter(|_| is_filled) {
            shared.counted.filled += 1;
            shared.refer(register);
        }
        let hit = match (candidate, hit) {
            (Some((renamed, _)), Some(found)) if shared.is_raced(&renamed, found, kernel_loads)? => {
                shared.counted.raced += 1;
                None
            }
            _other => hit,
        };
        self.follow_candidate(shared, candidate, function, (hit, is_pending || !has_turn, row));
        Ok(())
    }

    /// Registers that are asked for in this cycle, and the slot that one of them is of.
    pub fn queries(&self, shared: &Shared) -> ([Option<u32>; QUERIES], Option<usize>) {
        let candidate = self.candidate(shared).filter(|(renamed, _)| renamed.function.is_some());
        let [first, second, third] =
            candidate.map_or([None; MAX_SOURCES], |(renamed, _)| renamed.issue.sources);
        let [found, second_found] =
            self.answering.map_or([None; ROW_RESULTS], |answering| answering.registers);
        let found_slot = self.retiring.oldest(|slot| matches!(slot.step, Step::Done { shared: true, .. }));
        let of_slot = self.retiring.slot(found_slot).and_then(|slot| slot.held);
        let of_arrived = self.retiring.arrived.as_ref().and_then(|arrived| arrived.old);
        ([first, second, third, found, of_slot, of_arrived, second_found], found_slot)
    }

    /// A register's value is compared with a result that may be in it already.
    pub fn verify(&mut self, shared: &mut Shared, index: Option<usize>, register: u32, values: &LaneValues) {
        let Some(slot) = self.retiring.slot_mut(index) else { return };
        if slot.arrived.values == *values {
            slot.step = Step::Done { register, shared: true };
        } else {
            shared.counted.false_positives += 1;
            shared.changes.drops.push_back(register);
            slot.held = None;
            slot.step = Step::Allocate;
        }
    }

    /// The register that was read in the cycle before goes to the result that has asked for it.
    pub fn take_read(&mut self, shared: &mut Shared, values: &LaneValues) {
        let index = self.retiring.oldest(|slot| slot.reading);
        let Some(slot) = self.retiring.slot_mut(index) else { return };
        slot.reading = false;
        match slot.step {
            Step::Verify(register) => {
                shared.counted.verify_reads += 1;
                self.read_to_verify = Some((register, *values));
                self.verify(shared, index, register, values);
                shared.say_left(register, LaneMask::MAX);
            }
            Step::Move { from, to } => {
                shared.counted.moves += 1;
                slot.step = Step::Copy { to, values: *values };
                shared.say_left(from, LaneMask::MAX);
            }
            Step::Seek(_) | Step::Copy { .. } | Step::Write(_) | Step::Allocate | Step::Done { .. } => {}
        }
    }

    /// A write has been taken. Gives its row.
    pub fn follow_write(
        &mut self,
        shared: &mut Shared,
        index: Option<usize>,
    ) -> Result<Option<u32>, SimError> {
        let Some(slot) = self.retiring.slot_mut(index) else { return Ok(None) };
        let Some(write) = slot.write() else { return Ok(None) };
        let row = write.row;
        if let Some(invariants) = &mut shared.invariants {
            invariants.write(&shared.config, row, write.lanes, slot.arrived.pinned)?;
        }
        let held = &mut shared.values[row as usize];
        for lane in (0..LANES).filter(|lane| write.lanes >> lane & 1 == 1) {
            held[lane] = write.values[lane];
        }
        slot.step = match std::mem::replace(&mut slot.step, Step::Allocate) {
            Step::Copy { to, .. } => Step::Write(to),
            Step::Write(register) => Step::Done { register, shared: false },
            other => other,
        };
        Ok(Some(row))
    }
}

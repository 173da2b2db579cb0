//! What stands in front of the register file of a scheduler: rename, reuse, retire.

use std::collections::VecDeque;

use warpfile_engine::{Engine, EngineError};
use warpfile_hdl::wir::{ROW_RESULTS, VERIFY_CACHE_WRITERS};
use warpfile_kernels::program::{
    BlockIndex, InstId, Instruction, LANES, LaneMask, LaneValues, MAX_RESULTS, MAX_SOURCES,
};

use super::circuits::{Answer, Changes, Circuit, Circuits, QUERIES, set_register};
use super::invariants::{InCycle, Invariants, Seen};
use super::kernel::{Decoded, Effect, Function, Memory, Operand, Room, decode};
use super::loads::{Numbers, Orderings, Place};
use super::retire::{Arrived, Retiring, Slot, Step};
use super::rows::Rows;
use super::{BLOCK_BITS, COUNTERS, Counted, FORM_BITS, Parameters, Policy, STAGES};
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::circuit::{copy_lanes, words};
use crate::sm::SimError;
use crate::sm::design::{
    ID_BITS, Interposer, Issue, KernelLoads, MAX_ISSUES, OperandStorage, RowAccessKind, RowUses,
    StorageInputs, StorageOutputs, WarpRows, WarpSlot,
};

/// Cycles without a free register, while a result needs one, until nothing is looked up any more, so that the buffers are
/// swept in every cycle.
const PATIENCE: u64 = 64;
/// Cycles in which a register is freed after its last reference has gone.
const FREEING: u64 = 8;

/// The kernel has more registers than a rename table.
#[derive(Debug, thiserror::Error)]
#[error(
    "kernel {kernel}: {registers} registers a thread, a rename table has {available}; raise wir.logical_registers"
)]
struct TooManyRegisters {
    kernel: String,
    registers: u16,
    available: usize,
}

/// A mapped register holds another value than the kernel has computed.
#[derive(Debug, thiserror::Error)]
#[error(
    "warp slot {warp}, {text}: physical register {register} holds {found:#010x} in lane {lane}, the kernel has {expected:#010x}"
)]
struct WrongRegister {
    warp: WarpSlot,
    text: String,
    register: u32,
    lane: usize,
    expected: u32,
    found: u32,
}

/// A renamed instruction.
#[derive(Clone, Copy, Debug)]
struct Renamed {
    /// With physical sources.
    issue: Issue,
    /// What is looked up.
    function: Option<Function>,
    /// Where it is in the order of accesses, if it is a load that others' stores may change.
    place: Option<Place>,
    /// Its destinations as the SM has them, relative to the warp's registers.
    destinations: [u32; ROW_RESULTS],
    /// Its place among those of its warp that leave the retry queue in the order in which they came.
    turn: Option<u32>,
}

/// Instructions of a warp in the retry queue that leave it in the order in which they came.
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    given: u32,
    next: u32,
}

impl Turns {
    fn is_waited_for(self) -> bool {
        self.given != self.next
    }

    fn give(&mut self) -> u32 {
        let turn = self.given;
        self.given = turn.wrapping_add(1);
        turn
    }
}

/// An instruction in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Flying {
    /// The registers that it holds until it has read them.
    sources: [Option<u32>; MAX_SOURCES],
    /// The row of the reuse buffer that it has reserved.
    row: Option<usize>,
    /// What waits in the retry queue under its number.
    waiting: Option<Renamed>,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    None,
    /// Of the instruction that is answered.
    Answered,
    /// Of the result that arrives.
    Arriving,
}

/// A new mapping, or none.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    warp: WarpSlot,
    logical: u32,
    physical: Option<u32>,
    pinned: bool,
}

/// A result for a row of the reuse buffer.
#[derive(Clone, Copy, Debug)]
struct Fill {
    row: usize,
    /// The instruction that has reserved the row.
    id: u16,
    register: u32,
    /// Of an instruction of two results, which of them it is.
    place: Option<usize>,
}

/// Registers that hold the results of an instruction.
type Found = [Option<u32>; ROW_RESULTS];

/// An instruction whose results have been found.
#[derive(Clone, Copy, Debug)]
struct Answering {
    renamed: Renamed,
    registers: Found,
    /// The first of two is mapped already; both are referred to.
    is_half_mapped: bool,
}

impl Answering {
    /// Which of the results is mapped next.
    fn place(&self) -> usize {
        usize::from(self.is_half_mapped)
    }

    /// The warp and the destination that is mapped next.
    fn destination(&self) -> (WarpSlot, u32) {
        (self.renamed.issue.warp, self.renamed.destinations[self.place()])
    }

    /// Whether there is room for one more reference to each register that is still to be referred to.
    fn has_room(&self, found: &[Answer; ROW_RESULTS]) -> bool {
        let mut both = self.registers.iter().zip(found);
        self.is_half_mapped || both.all(|(register, answer)| register.is_none() || answer.has_room)
    }
}

/// Warp instruction reuse in front of the operand storage of a scheduler.
pub struct Reuse {
    config: Config,
    policy: Policy,
    circuits: Circuits,
    changes: Changes,
    logical_registers: usize,
    /// Cycles that it takes to sweep the larger buffer.
    sweep_cycles: u64,

    instructions: Vec<Decoded>,
    texts: Vec<String>,
    destinations: Vec<[u32; ROW_RESULTS]>,
    warp_rows: Vec<WarpRows>,
    /// Registers of a warp of the kernel, and the warps that have started and not ended.
    kernel_registers: u64,
    resident: u64,
    /// Warps that end, and those that have mappings left.
    ends: u64,
    ending: u64,
    /// Nothing issues until the buffers of the launch before are empty.
    drains: bool,

    /// Renamed instructions, each with the cycle from which it may be looked up.
    renamed: VecDeque<(Renamed, u64)>,
    /// Renamed instructions are looked up in the same cycle.
    looks_up_at_once: bool,
    /// Cycles between rename and reuse beside those of Table III, and cycles so far.
    more_cycles: u64,
    now: u64,
    front: Front,
    answering: Option<Answering>,
    leaving: Option<Issue>,
    /// Those that the register file has taken and has still to deliver.
    reading: Vec<Issue>,
    rows: Rows,
    flying: Vec<Flying>,
    retiring: Retiring,
    /// Numbers of blocks in rows of loads.
    numbers: Numbers,
    orderings: Orderings,
    /// Of each warp, its memory accesses and barriers in the retry queue.
    turns: Vec<Turns>,
    /// Warps that have started since the load guard's last cycle.
    starts: u64,
    /// The next result taken is that of a long-latency operation, if there are both.
    fill_next: bool,
    /// Cycles for which no register has been free while a result needed one.
    starved: u64,
    free: Option<u32>,
    /// Registers that are to be free, and whether fewer are: the buffers give up what they hold.
    low_registers: u64,
    is_low: bool,
    /// Results of a row of the reuse buffer.
    row_results: usize,

    /// Rows written in this cycle, and what has been read to verify a result.
    written_rows: [Option<u32>; VERIFY_CACHE_WRITERS],
    read_to_verify: Option<(u32, LaneValues)>,
    /// What has been written to each physical register: what the register file holds.
    values: Vec<LaneValues>,
    counted: Counted,
    /// Where assertions are compiled in.
    invariants: Option<Invariants>,
}

/// All numbers are free.
fn numbers(config: &Config, orderings: &Orderings) -> Numbers {
    let rows = config.of::<Parameters>().reuse_rows / config.partitions();
    Numbers::new(config.warps_per_partition() as usize, BLOCK_BITS, rows, Orderings::clone(orderings))
}

impl Reuse {
    pub fn new(
        config: &Config,
        policy: Policy,
        (circuits, changes): (Circuits, Changes),
        orderings: &Orderings,
    ) -> Result<Reuse, EngineError> {
        let parameters: Parameters = config.of();
        let checks = cfg!(debug_assertions);
        let invariants = checks.then(|| Invariants::new(&circuits)).transpose()?;
        let rows = parameters.reuse_rows.max(parameters.signature_rows) / config.partitions();
        Ok(Reuse {
            policy,
            changes,
            logical_registers: parameters.logical_registers as usize,
            sweep_cycles: rows,
            instructions: Vec::new(),
            texts: Vec::new(),
            destinations: Vec::new(),
            warp_rows: vec![WarpRows::default(); config.warps_per_partition() as usize],
            kernel_registers: 0,
            resident: 0,
            ends: 0,
            ending: 0,
            drains: false,
            renamed: VecDeque::with_capacity(parameters.delay as usize),
            looks_up_at_once: parameters.delay < STAGES,
            more_cycles: parameters.delay.saturating_sub(STAGES),
            now: 0,
            front: Front::default(),
            answering: None,
            leaving: None,
            reading: Vec::with_capacity(1 << ID_BITS),
            rows: Rows::new(config),
            flying: vec![Flying::default(); 1 << ID_BITS],
            retiring: Retiring::new(parameters.retiring as usize),
            numbers: numbers(config, orderings),
            orderings: Orderings::clone(orderings),
            turns: vec![Turns::default(); config.warps_per_partition() as usize],
            starts: 0,
            fill_next: false,
            starved: 0,
            free: None,
            low_registers: parameters.low_registers,
            is_low: false,
            row_results: parameters.row_results as usize,
            written_rows: [None; VERIFY_CACHE_WRITERS],
            read_to_verify: None,
            values: vec![[0; LANES]; circuits.registers],
            counted: Counted::default(),
            invariants,
            circuits,
            config: config.clone(),
        })
    }

    /// State of the pool in this cycle.
    fn begin(&mut self) {
        let pool = &mut self.circuits.pool;
        pool.engine.foresee();
        let count = pool.engine.get(pool.ports.count_o);
        let in_use = self.circuits.registers as u64 - count;
        let logical = self.kernel_registers * u64::from(self.resident.count_ones());
        self.free = (count > 0).then(|| pool.engine.get(pool.ports.register_o) as u32);
        self.is_low = count < self.low_registers.max(1) || self.policy.capped && in_use >= logical;
        if let Some(Circuit { engine, ports }) = &mut self.circuits.retry {
            engine.foresee();
            let one = |port| engine.get(port) == 1;
            let waiting = &self.flying[engine.get(ports.id_o) as usize];
            self.front = Front {
                renamed: waiting.waiting.filter(|_| one(ports.valid_o)),
                is_urgent: one(ports.urgent_o),
                has_room: one(ports.ready_o),
            };
        }
        self.drains &= in_use > 0;
        self.counted.logical_cycles += logical;
        self.counted.register_cycles += in_use;
        self.counted.most_in_use = self.counted.most_in_use.max(in_use);
        self.counted.empty_cycles += u64::from(self.free.is_none());
    }

    /// Takes the register on offer.
    fn allocate(&mut self) -> Option<u32> {
        let register = self.free.filter(|_| self.changes.allocated.is_none())?;
        self.changes.allocated = Some(register);
        self.counted.allocations += 1;
        self.counted.references += 1;
        self.starved = 0;
        Some(register)
    }

    fn hold(&mut self, register: u32) {
        self.changes.holds.push(register);
        self.counted.references += 1;
    }

    fn refer(&mut self, register: u32) {
        self.changes.increments.push(register);
        self.counted.references += 1;
    }

    /// A mapping ends.
    fn unmap(&mut self, register: Option<u32>) {
        let Some(register) = register else { return };
        self.changes.decrements.push_back(register);
        self.say_left(register, 0);
    }

    fn drop_sources(&mut self, id: u16) {
        let sources = std::mem::take(&mut self.flying[usize::from(id)].sources);
        self.changes.drops.extend(sources.iter().flatten());
    }

    // The operand storage.

    /// A cycle of the storage: an instruction, the oldest read for a result, and the oldest write of each kind.
    fn access(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<(), SimError> {
        let rows = &self.rows;
        let reads = |slot: &Slot| slot.read().filter(|_| self.retiring.may_read(slot));
        let reader = self.retiring.oldest(|slot| reads(slot).is_some_and(|row| rows.is_on(row)));
        let extra_read = self.retiring.slot(reader).and_then(Slot::read);
        let offered = self.leaving.filter(|issue| issue.sources.iter().flatten().all(|&row| rows.is_on(row)));
        let issue = [offered, None];
        let writes = |slot: &Slot| slot.write().map(|write| write.row);
        let writer = |long| {
            let is_it =
                |slot: &Slot| slot.arrived.long == long && writes(slot).is_some_and(|row| rows.is_on(row));
            self.retiring.oldest(is_it)
        };
        let (short, long) = (writer(false), writer(true));
        let accessed = self.retiring.slots.iter().flatten().filter_map(|slot| reads(slot).or(writes(slot)));
        self.counted.row_waits += accessed.filter(|&row| !rows.is_on(row)).count() as u64;
        self.counted.row_waits += u64::from(self.leaving.is_some() && offered.is_none());
        let write = |index| self.retiring.slot(index).and_then(Slot::write);
        let (result, fill) = ([write(short), None], write(long));
        storage.cycle(&StorageInputs { issue: &issue, result, fill, extra_read, ..*inputs }, outputs)?;

        self.reading.extend(self.leaving.take_if(|_| outputs.issue_taken[0]));
        if let Some(values) = outputs.extra_value.take() {
            self.take_read(&values);
        }
        if let Some(slot) = self.retiring.slot_mut(reader).filter(|_| outputs.extra_read_taken) {
            slot.reading = true;
        }
        self.written_rows = [None; VERIFY_CACHE_WRITERS];
        let taken = [(short, outputs.result_taken[0]), (long, outputs.fill_taken)];
        for (place, (index, _)) in taken.into_iter().enumerate().filter(|(_, (_, taken))| *taken) {
            self.written_rows[place] = self.follow_write(index)?;
        }
        outputs.issue_taken = [false; MAX_ISSUES];
        outputs.result_taken = [false; MAX_ISSUES];
        outputs.fill_taken = false;
        for id in outputs.delivered.iter().take(storage.dispatches()).flatten() {
            self.drop_sources(*id);
            if let Some(index) = self.reading.iter().position(|issue| issue.id == *id) {
                let issue = self.reading.swap_remove(index);
                self.say_read(&issue, issue.active);
            }
        }
        Ok(())
    }

    // Rows that sleep.

    /// An instruction has read its sources in these lanes; in none if it has been answered.
    fn say_read(&mut self, issue: &Issue, lanes: LaneMask) {
        let logical = self.instructions[issue.inst.0 as usize].sources;
        for (source, logical) in issue.sources.iter().zip(logical) {
            if let Some(row) = *source {
                self.rows.say(row, Some((issue.warp, logical)), lanes, RowAccessKind::Read);
            }
        }
    }

    /// A register that is not mapped where it was any more, or that was read to be compared or copied: what it was ON for is over.
    fn say_left(&mut self, register: u32, lanes: LaneMask) {
        self.rows.say(register, None, lanes, RowAccessKind::Read);
    }

    /// What instructions and results are about to access or access, and what is free behind this cycle.
    fn say_rows(&mut self, outputs: &mut StorageOutputs) {
        if !self.rows.sleep() {
            return;
        }
        let sources = self.reading.iter().chain(&self.leaving).flat_map(|issue| issue.sources);
        let of_slots = self.retiring.slots.iter().flatten().flat_map(Slot::rows);
        for row in sources.chain(of_slots).flatten() {
            self.rows.say(row, None, 0, RowAccessKind::AskedFor);
        }
        let Circuit { engine, ports } = &self.circuits.counts;
        for (word, &freed) in engine.get_words(ports.freed_o).iter().enumerate() {
            let mut left = freed;
            while left != 0 {
                let row = word as u32 * u64::BITS + left.trailing_zeros();
                self.rows.say(row, None, 0, RowAccessKind::Freed);
                left &= left - 1;
            }
        }
        outputs.rows.append(&mut self.rows.said);
    }

    /// A write has been taken. Gives its row.
    fn follow_write(&mut self, index: Option<usize>) -> Result<Option<u32>, SimError> {
        let Some(slot) = self.retiring.slot_mut(index) else { return Ok(None) };
        let Some(write) = slot.write() else { return Ok(None) };
        let row = write.row;
        if let Some(invariants) = &mut self.invariants {
            invariants.write(&self.config, row, write.lanes, slot.arrived.pinned)?;
        }
        let held = &mut self.values[row as usize];
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

    /// The register that was read in the cycle before goes to the result that has asked for it.
    fn take_read(&mut self, values: &LaneValues) {
        let index = self.retiring.oldest(|slot| slot.reading);
        let Some(slot) = self.retiring.slot_mut(index) else { return };
        slot.reading = false;
        match slot.step {
            Step::Verify(register) => {
                self.counted.verify_reads += 1;
                self.read_to_verify = Some((register, *values));
                self.verify(index, register, values);
                self.say_left(register, LaneMask::MAX);
            }
            Step::Move { from, to } => {
                self.counted.moves += 1;
                slot.step = Step::Copy { to, values: *values };
                self.say_left(from, LaneMask::MAX);
            }
            Step::Seek(_) | Step::Copy { .. } | Step::Write(_) | Step::Allocate | Step::Done { .. } => {}
        }
    }

    /// A register's value is compared with a result that may be in it already.
    fn verify(&mut self, index: Option<usize>, register: u32, values: &LaneValues) {
        let Some(slot) = self.retiring.slot_mut(index) else { return };
        if slot.arrived.values == *values {
            slot.step = Step::Done { register, shared: true };
        } else {
            self.counted.false_positives += 1;
            self.changes.drops.push_back(register);
            slot.held = None;
            slot.step = Step::Allocate;
        }
    }

    /// A cycle of the verify cache: the oldest register that is to be verified is looked up, one that has been read comes in.
    fn seek(&mut self) {
        let read = self.read_to_verify.take();
        let written = std::mem::take(&mut self.written_rows);
        let index = self.retiring.oldest(|slot| self.retiring.may_seek(slot));
        let Some(Circuit { engine, ports }) = &mut self.circuits.verify else { return };
        let register = match self.retiring.slot(index).map(|slot| &slot.step) {
            Some(Step::Seek(register)) => Some(*register),
            Some(_) | None => None,
        };
        set_register(engine, ports.lookup.valid_i, ports.lookup.register_i, register);
        let fill = read.as_ref().map(|(register, _)| *register);
        set_register(engine, ports.fill.valid_i, ports.fill.register_i, fill);
        if let Some((_, values)) = &read {
            engine.set_words(ports.fill.value_i, &words(values));
        }
        for (port, row) in ports.written.iter().zip(written) {
            set_register(engine, port.valid_i, port.register_i, row);
        }
        engine.step();
        let Some(register) = register else { return };
        self.counted.verify_lookups += 1;
        if engine.get(ports.lookup.hit_o) == 1 {
            self.counted.verify_hits += 1;
            let mut values = [0; LANES];
            copy_lanes(engine.get_words(ports.lookup.value_o), &mut values);
            self.verify(index, register, &values);
        } else if let Some(slot) = self.retiring.slot_mut(index) {
            slot.step = Step::Verify(register);
        }
    }

    // Retire.

    /// Compares a register with a result in the lanes that execute.
    fn compare(
        &mut self,
        warp: WarpSlot,
        inst: usize,
        register: u32,
        (lanes, values): (LaneMask, &LaneValues),
    ) -> Result<(), SimError> {
        let held = &self.values[register as usize];
        self.counted.compared += 1;
        let differs = |lane: &usize| lanes >> lane & 1 == 1 && held[*lane] != values[*lane];
        match (0..LANES).find(differs) {
            None => Ok(()),
            Some(lane) => Err(SimError::circuit(
                &self.config,
                WrongRegister {
                    warp,
                    text: self.texts[inst].clone(),
                    register,
                    lane,
                    expected: values[lane],
                    found: held[lane],
                },
            )),
        }
    }

    /// The slot that retires in this cycle: it gives its destination a mapping, and fills the row that its instruction has
    /// reserved. `asked`: a register that is shared, and whether there is room for it.
    fn retire(
        &mut self,
        asked: Option<(usize, Answer)>,
        outputs: &mut StorageOutputs,
    ) -> Result<(Option<Mapping>, Option<Fill>), SimError> {
        if let Some((index, Answer { has_room: false, .. })) = asked
            && let Some(slot) = self.retiring.slot_mut(Some(index))
        {
            self.changes.drops.extend(slot.held.take());
            slot.step = Step::Allocate;
            self.counted.full += 1;
        }
        let is_asked = asked.filter(|(_, answer)| answer.has_room).map(|(index, _)| index);
        let own = || self.retiring.oldest(|slot| matches!(slot.step, Step::Done { shared: false, .. }));
        let Some(index) = is_asked.or_else(own) else { return Ok((None, None)) };
        let Some(slot) = self.retiring.slots[index].take() else { return Ok((None, None)) };
        let Slot { arrived, step, held, pins, .. } = slot;
        let Step::Done { register, shared } = step else { return Ok((None, None)) };
        let (warp, inst) = (arrived.warp, arrived.inst.0 as usize);
        self.compare(warp, inst, register, (arrived.lanes, &arrived.values))?;
        if arrived.old != Some(register) {
            self.refer(register);
            self.unmap(arrived.old);
        }
        // The SM is told in this cycle, so that what the instruction says of its result is said of the row.
        let of = Some((warp, arrived.logical as u16));
        self.rows.say(register, of, if shared { 0 } else { arrived.lanes }, RowAccessKind::Written);
        self.changes.drops.extend(held);
        outputs.written[0] = Some((arrived.id, arrived.result));
        let mapping = Mapping { warp, logical: arrived.logical, physical: Some(register), pinned: pins };
        let is_pair = self.instructions[inst].function.is_some_and(|function| function.is_pair);
        let place = is_pair.then_some(arrived.result);
        if !is_pair {
            self.flying[usize::from(arrived.id)].row = None;
        }
        Ok((Some(mapping), arrived.row.map(|row| Fill { row, id: arrived.id, register, place })))
    }

    /// Whatever waits for a register gives up what its destination is mapped to, once nothing else is left to take away.
    fn give_up(&mut self, sole: Answer) -> Option<Mapping> {
        let waiting = self.retiring.oldest(|slot| slot.step == Step::Allocate);
        let arrived_waits = self.retiring.arrived.is_some();
        if self.free.is_some() || !(waiting.is_some() || arrived_waits) {
            self.starved = 0;
            return None;
        }
        self.starved += 1;
        if self.starved <= PATIENCE + self.sweep_cycles + FREEING {
            return None;
        }
        let slot = self.retiring.slots.get_mut(waiting.unwrap_or(usize::MAX)).and_then(Option::as_mut);
        let arrived = match slot {
            Some(slot) => &mut slot.arrived,
            None => self.retiring.arrived.as_mut()?,
        };
        if !arrived.is_convergent() {
            // Its destination's register keeps the lanes that do not execute: it is overwritten if it is its own.
            self.counted.overwritten += u64::from(sole.is_sole && !arrived.pinned);
            arrived.pinned |= sole.is_sole;
            return None;
        }
        let old = arrived.old.take()?;
        let mapping = Mapping { warp: arrived.warp, logical: arrived.logical, physical: None, pinned: false };
        self.unmap(Some(old));
        self.counted.given_up += 1;
        Some(mapping)
    }

    /// A result that could not share a register gets one of its own.
    fn allocate_again(&mut self) {
        let waiting = self.retiring.oldest(|slot| slot.step == Step::Allocate);
        if waiting.is_none() {
            return;
        }
        let Some(register) = self.allocate() else { return };
        if let Some(slot) = self.retiring.slot_mut(waiting) {
            slot.step = Step::Write(register);
            slot.held = Some(register);
        }
    }

    /// The result that has been hashed gets a register: one that holds its value, its destination's own, or a new one.
    /// `old`: what is known of its destination's.
    fn choose_register(&mut self, old: Answer) {
        let can_enter = self.retiring.has_free_slot();
        let arrived = self.retiring.arrived.take_if(|_| can_enter);
        let new = self.free.filter(|_| self.changes.allocated.is_none());
        let asks = |arrived: &Arrived| arrived.signs && (new.is_some() || !arrived.missed);
        let signs = arrived.as_ref().is_some_and(asks);
        let signatures = &mut self.circuits.signatures;
        let (engine, ports) = (&mut signatures.engine, &signatures.ports);
        engine.set(ports.lookup.valid_i, u64::from(signs));
        if signs {
            let hash = &mut self.circuits.hash;
            hash.engine.foresee();
            engine.set(ports.lookup.hash_i, hash.engine.get(hash.ports.hash_o));
            engine.set(ports.lookup.insert_i, u64::from(new.is_some() && !self.is_low));
            engine.set(ports.lookup.register_i, u64::from(new.unwrap_or(0)));
            engine.set(ports.lookup.drop_i, u64::from(self.is_low));
        }
        engine.set(ports.sweep_i, u64::from(self.is_low || self.drains));
        engine.step();
        let hit = (engine.get(ports.lookup.hit_o) == 1).then(|| engine.get(ports.lookup.register_o) as u32);
        if engine.get(ports.evicted.valid_o) == 1 {
            self.changes.decrements.push_back(engine.get(ports.evicted.register_o) as u32);
        }
        if let Some(arrived) = arrived {
            self.enter_slot(arrived, hit, old);
        }
    }

    fn enter_slot(&mut self, arrived: Arrived, hit: Option<u32>, old: Answer) {
        // An access of the warp in the retry queue may still have to read what is pinned.
        let is_read = self.turns[arrived.warp].is_waited_for() && !old.is_sole;
        let overwrites = !arrived.is_convergent() && arrived.pinned && !is_read;
        if let Some(register) = hit {
            self.counted.signatures += 1;
            self.counted.signature_hits += 1;
            self.hold(register);
            let step = match self.circuits.verify {
                Some(_) => Step::Seek(register),
                None => Step::Verify(register),
            };
            self.retiring.enter(arrived, step, Some(register), false);
        } else if let (true, Some(old)) = (overwrites, arrived.old) {
            self.retiring.enter(arrived, Step::Write(old), None, true);
        } else if let Some(register) = self.allocate() {
            if arrived.signs {
                self.counted.signatures += 1;
                if !self.is_low {
                    self.counted.registered += 1;
                    self.refer(register);
                }
            }
            let pins = !arrived.is_convergent();
            let step = match arrived.old.filter(|_| pins) {
                Some(from) => Step::Move { from, to: register },
                None => Step::Write(register),
            };
            self.retiring.enter(arrived, step, Some(register), pins);
        } else {
            self.retiring.arrived = Some(Arrived { missed: true, ..arrived });
        }
    }

    /// Takes a result of the SM, if the one before it is on its way. Gives whether one has been taken; what its destination is
    /// mapped to is not known yet.
    fn take_result(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> bool {
        let (result, fill) = (inputs.result[0], inputs.fill);
        let takes_fill = fill.is_some() && (self.fill_next || result.is_none());
        let Some(write) = (if takes_fill { fill } else { result }) else { return false };
        self.fill_next = !takes_fill;
        if takes_fill {
            (outputs.fill_taken, outputs.fill_later) = (true, true);
        } else {
            (outputs.result_taken[0], outputs.result_later[0]) = (true, true);
        }
        let is_convergent = write.lanes == LaneMask::MAX;
        let Decoded { invented, effect, .. } = self.instructions[write.inst.0 as usize];
        if effect.orders {
            // What it has read may have been stored after other loads had begun.
            self.numbers.order();
        }
        self.retiring.arrived = Some(Arrived {
            id: write.id,
            inst: write.inst,
            result: write.result,
            warp: write.warp,
            logical: self.warp_rows[write.warp].register(write.row),
            lanes: write.lanes,
            values: *write.values,
            active_slot: write.slot,
            is_active: write.cached,
            long: takes_fill,
            signs: self.policy.signatures && is_convergent && !invented,
            row: self.flying[usize::from(write.id)].row,
            old: None,
            pinned: false,
            missed: false,
        });
        true
    }

    /// Hashes the result that has been taken in this cycle.
    fn hash(&mut self, takes: bool) {
        let Circuit { engine, ports } = &mut self.circuits.hash;
        let value = self.retiring.arrived.as_ref().filter(|arrived| takes && arrived.signs);
        engine.set(ports.valid_i, u64::from(value.is_some()));
        if let Some(arrived) = value {
            engine.set_words(ports.value_i, &words(&arrived.values));
        }
        engine.step();
    }

    // Reuse.

    /// An instruction whose results have been found executes after all if a register is named too often, before any other of
    /// its warp.
    fn refuse(&mut self, found: &[Answer; ROW_RESULTS]) {
        let Some(answering) = self.answering.filter(|answering| !answering.has_room(found)) else { return };
        if self.leaving.is_none() {
            self.leaving = Some(answering.renamed.issue);
            self.answering = None;
            self.changes.drops.extend(answering.registers.iter().flatten());
            self.counted.full += 1;
        }
    }

    /// An instruction whose results have been found gets them, if there is room for one more reference to each register. It
    /// refers to all of them at once; their mappings are written one a cycle, and with the last it is answered.
    fn answer(
        &mut self,
        found: &[Answer; ROW_RESULTS],
        outputs: &mut StorageOutputs,
    ) -> (Option<Mapping>, Destination) {
        let answered = self.answering.filter(|answering| answering.has_room(found));
        let Some(answering) = answered else { return (None, Destination::None) };
        let Answering { renamed, registers, is_half_mapped } = answering;
        if !is_half_mapped {
            for &register in registers.iter().flatten() {
                self.refer(register);
                self.changes.drops.push_back(register);
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
        self.counted.hits += 1;
        self.counted.load_hits += u64::from(renamed.place.is_some());
        self.counted.reused.count(unit);
        self.drop_sources(id);
        self.say_read(&renamed.issue, 0);
        outputs.answered[0] = Some(id);
        outputs.answers[0] = [[0; LANES]; MAX_RESULTS];
        for (answer, &register) in outputs.answers[0].iter_mut().zip(registers.iter().flatten()) {
            *answer = self.values[register as usize];
        }
        (Some(mapping), Destination::Answered)
    }

    /// The instruction that may be looked up in this cycle, and whether it has waited: the one that has just been renamed,
    /// unless there is none or the one in front of the retry queue is urgent.
    fn candidate(&self) -> Option<(Renamed, bool)> {
        let waiting = self.front.renamed.map(|renamed| (renamed, true));
        let new = self.renamed.front().filter(|_| self.is_new_due()).map(|(renamed, _)| (*renamed, false));
        let new = new.filter(|(renamed, _)| self.front.has_room || !self.must_queue(renamed));
        if self.front.is_urgent { waiting.or(new) } else { new.or(waiting) }
    }

    /// Whether an instruction has been renamed that may be looked up in this cycle.
    fn is_new_due(&self) -> bool {
        self.renamed.front().is_some_and(|(_, from)| *from <= self.now)
    }

    /// Whether a renamed instruction would pass a memory access of its warp that waits in the retry queue.
    fn must_queue(&self, renamed: &Renamed) -> bool {
        let Issue { warp, inst, .. } = renamed.issue;
        self.turns[warp].is_waited_for() && self.instructions[inst.0 as usize].follows_loads
    }

    /// Whether a candidate may leave before all others of its warp in the retry queue.
    fn has_turn(&self, renamed: &Renamed, has_waited: bool) -> bool {
        if !has_waited {
            return !self.must_queue(renamed);
        }
        renamed.turn.is_none_or(|turn| turn == self.turns[renamed.issue.warp].next)
    }

    /// The candidate is looked up, or goes on. `sources`: whether there is room for more references to its sources.
    fn look_up(
        &mut self,
        sources: &[Answer],
        fill: Option<Fill>,
        kernel_loads: &dyn KernelLoads,
    ) -> Result<(), SimError> {
        let can_leave = self.leaving.is_none();
        let gives_up = self.starved > PATIENCE;
        let candidate = self.candidate().filter(|(renamed, _)| {
            can_leave && (renamed.function.is_none() || self.answering.is_none() || gives_up)
        });
        let is_current =
            |renamed: &Renamed| renamed.place.is_none_or(|place| self.numbers.is_current(&place));
        let has_turn = candidate.is_some_and(|(renamed, has_waited)| self.has_turn(&renamed, has_waited));
        let function = candidate
            .filter(|(renamed, _)| has_turn && !gives_up && is_current(renamed))
            .and_then(|(renamed, _)| renamed.function);
        let is_load = function.is_some_and(|function| function.memory.is_some());
        let place = candidate.and_then(|(renamed, _)| renamed.place).filter(|_| is_load);
        let (engine, ports) = (&mut self.circuits.reuse.engine, &self.circuits.reuse.ports);
        self.counted.rows_looked_up += u64::from(function.is_some());
        engine.set(ports.lookup.valid_i, u64::from(function.is_some()));
        if let (Some((renamed, _)), Some(function)) = (&candidate, &function) {
            engine.set(ports.lookup.form_i, u64::from(function.form));
            let mut has_room = true;
            for (port, operand) in ports.lookup.operand.iter().zip(function.operands) {
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
            engine.set(ports.lookup.block_i, place.map_or(0, |place| u64::from(place.block)));
            engine.set(ports.lookup.barrier_i, place.map_or(0, |place| u64::from(place.barriers)));
            engine.set(ports.lookup.id_i, u64::from(renamed.issue.id));
            engine.set(ports.lookup.reserve_i, u64::from(has_room && !self.is_low));
            engine.set(ports.lookup.drop_i, u64::from(self.is_low));
        }
        engine.set(ports.fill.valid_i, u64::from(fill.is_some()));
        if let Some(Fill { row, id, register, place }) = fill {
            engine.set(ports.fill.row_i, row as u64);
            engine.set(ports.fill.id_i, u64::from(id));
            engine.set(ports.fill.register_i, u64::from(register));
            for pair in &ports.fill.pair {
                engine.set(pair.valid_i, u64::from(place.is_some()));
                engine.set(pair.second_i, u64::from(place == Some(1)));
            }
        }
        let sweeps_all = self.is_low || self.drains;
        let block = self.numbers.sweep();
        engine.set(ports.sweep_i, u64::from(sweeps_all || block.is_some()));
        engine.set(ports.sweep_one_i, u64::from(!sweeps_all));
        engine.set(ports.sweep_block_i, u64::from(block.unwrap_or(0)));
        engine.step();
        if block.is_some() && function.is_none() && fill.is_none() {
            self.numbers.follow_sweep();
        }
        let one = |port| engine.get(port) == 1;
        let hit = one(ports.lookup.hit_o).then(|| {
            let second = ports.lookup.second.first().filter(|second| one(second.valid_o));
            let first = engine.get(ports.lookup.register_o) as u32;
            [Some(first), second.map(|second| engine.get(second.register_o) as u32)]
        });
        let row = one(ports.lookup.reserved_o).then(|| engine.get(ports.lookup.row_o) as usize);
        let is_pending = one(ports.lookup.pending_o);
        if one(ports.fill.filled_o)
            && let Some(Fill { register, .. }) = fill
        {
            self.counted.filled += 1;
            self.refer(register);
        }
        self.circuits.give_up_rows(&mut self.changes);
        let hit = match (candidate, hit) {
            (Some((renamed, _)), Some(found)) if self.is_raced(&renamed, found, kernel_loads)? => {
                self.counted.raced += 1;
                None
            }
            _other => hit,
        };
        self.follow_lookup(candidate, function, (hit, is_pending || !has_turn, row));
        Ok(())
    }

    /// Whether the registers that have been found for an instruction hold what another order of accesses than the stream's loads:
    /// the program races. What executes follows the stream's order, so the instruction has to.
    fn is_raced(
        &self,
        renamed: &Renamed,
        found: Found,
        kernel_loads: &dyn KernelLoads,
    ) -> Result<bool, SimError> {
        let results = found.iter().flatten().count();
        let values =
            found.map(|register| register.map_or([0; LANES], |register| self.values[register as usize]));
        Ok(renamed.place.is_some() && kernel_loads.differ_at_races(renamed.issue.id, &values[..results])?)
    }

    /// Where the candidate goes: to be answered, to the retry queue, or to the register file. `must_wait`: its row is pending,
    /// or it is not its turn.
    fn follow_lookup(
        &mut self,
        candidate: Option<(Renamed, bool)>,
        function: Option<Function>,
        (hit, must_wait, row): (Option<Found>, bool, Option<usize>),
    ) {
        let Some((mut renamed, has_waited)) = candidate else { return self.queue(None, Left::Stays) };
        let Issue { id, warp, inst, .. } = renamed.issue;
        // An instruction that waits for another's result counts as one lookup, and its waits apart.
        if !has_waited {
            let looks_up = renamed.function.is_some() && (function.is_some() || must_wait);
            self.counted.lookups += u64::from(looks_up);
            self.counted.loads += u64::from(looks_up && renamed.place.is_some());
            self.counted.pending += u64::from(function.is_some() && must_wait);
            self.renamed.pop_front();
        } else if self.front.is_urgent && self.is_new_due() {
            self.counted.urgent += 1;
        }
        if must_wait && (has_waited || self.front.has_room && self.circuits.retry.is_some()) {
            self.counted.waited += 1;
            if !has_waited && self.instructions[inst.0 as usize].follows_loads {
                renamed.turn = Some(self.turns[warp].give());
            }
            self.flying[usize::from(id)].waiting = Some(renamed);
            let come = (!has_waited).then_some(id);
            return self.queue(come, if has_waited { Left::Rotates } else { Left::Stays });
        }
        self.counted.unqueued += u64::from(must_wait && self.circuits.retry.is_some());
        self.queue(None, if has_waited { Left::Leaves } else { Left::Stays });
        if let Some(turn) = renamed.turn {
            self.turns[warp].next = turn.wrapping_add(1);
        }
        if let Some(registers) = hit {
            registers.into_iter().flatten().for_each(|register| self.hold(register));
            self.counted.retry_hits += u64::from(has_waited);
            self.answering = Some(Answering { renamed, registers, is_half_mapped: false });
            return;
        }
        if row.is_some() {
            self.counted.reserved += 1;
            for operand in function.iter().flat_map(|function| function.operands) {
                if let Operand::Source(place) = operand {
                    self.changes.increments.extend(renamed.issue.sources[place]);
                    self.counted.references += 1;
                }
            }
        }
        self.flying[usize::from(id)].row = row;
        self.leaving = Some(renamed.issue);
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

    // The references.

    /// A cycle of the reference counts and of the pool.
    fn end_cycle(&mut self) -> Result<(), SimError> {
        let Some(mut invariants) = self.invariants.take() else {
            self.circuits.end_cycle(&mut self.changes);
            return Ok(());
        };
        let ports = &self.circuits.counts.ports;
        let in_cycle = InCycle::of(&self.changes, ports.decrement.len(), ports.drop.len());
        self.circuits.end_cycle(&mut self.changes);
        invariants.allocate(in_cycle.allocated);
        invariants.check(&self.config, &self.circuits)?;
        if invariants.is_due(self.now) {
            invariants.see(self.seen(in_cycle));
        }
        self.invariants = Some(invariants);
        Ok(())
    }

    /// What instructions and results hold, refer to before it is mapped, and have reserved; and what waits for a port.
    fn seen(&self, in_cycle: InCycle) -> Seen {
        let of_slots = self.retiring.slots.iter().flatten().filter_map(|slot| slot.held);
        let sources = self.flying.iter().flat_map(|flying| flying.sources).flatten();
        let found = self.answering.iter().filter(|answering| !answering.is_half_mapped);
        let found = found.flat_map(|answering| answering.registers).flatten();
        let half = self.answering.iter().filter(|answering| answering.is_half_mapped);
        Seen {
            now: self.now,
            in_cycle,
            decrements: self.changes.decrements.iter().copied().collect(),
            drops: self.changes.drops.iter().copied().collect(),
            holds: of_slots.chain(sources).chain(found).collect(),
            references: half.filter_map(|answering| answering.registers[1]).collect(),
            reserved: self.flying.iter().map(|flying| flying.row).collect(),
        }
    }

    // Rename.

    /// A cycle of the rename tables: an instruction of the SM is renamed, a destination looked up, a mapping written.
    fn rename(
        &mut self,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
        mapping: Option<Mapping>,
        destination: Destination,
        answered: Option<(WarpSlot, u32)>,
    ) {
        let has_room = self.renamed.len() as u64 <= self.more_cycles;
        let issue = inputs.issue[0].filter(|_| has_room);
        let guarded = self.guard(issue.as_ref());
        let (engine, ports) = (&mut self.circuits.rename.engine, &self.circuits.rename.ports);
        if let Some(issue) = &issue {
            engine.set(ports.warp_i, issue.warp as u64);
        }
        for (place, port) in ports.source.iter().enumerate() {
            let row = issue.as_ref().and_then(|issue| issue.sources[place].map(|row| (row, issue.warp)));
            let logical = row.map(|(row, warp)| self.warp_rows[warp].register(row));
            set_register(engine, port.valid_i, port.register_i, logical);
        }
        let looked_up = match (destination, &self.retiring.arrived, answered) {
            (Destination::Arriving, Some(arrived), _) => Some((arrived.warp, arrived.logical)),
            (Destination::Answered, _, answered) => answered,
            (..) => None,
        };
        let port = &ports.destination;
        set_register(engine, port.valid_i, port.register_i, looked_up.map(|(_, logical)| logical));
        engine.set(port.warp_i, looked_up.map_or(0, |(warp, _)| warp as u64));
        let port = &ports.write;
        engine.set(port.valid_i, u64::from(mapping.is_some()));
        if let Some(Mapping { warp, logical, physical, pinned }) = mapping {
            engine.set(port.warp_i, warp as u64);
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
        self.unmap(released);
        match (destination, &mut self.retiring.arrived) {
            (Destination::Arriving, Some(arrived)) => (arrived.old, arrived.pinned) = (old, pinned),
            (Destination::Answered, _) => self.unmap(old),
            (Destination::Arriving | Destination::None, _) => {}
        }
        if let Some(issue) = issue {
            self.enter(issue, guarded);
            outputs.issue_taken[0] = true;
        }
    }

    /// A cycle of the load guard. Gives where a load is in the order of accesses, unless it may not be reused.
    fn guard(&mut self, issue: Option<&Issue>) -> Option<Place> {
        let Circuit { engine, ports } = self.circuits.guard.as_mut()?;
        let decoded = issue.map(|issue| self.instructions[issue.inst.0 as usize]);
        let acts = issue.is_some_and(|issue| issue.active != 0);
        let Effect { scratchpad, global, orders, barrier } =
            decoded.filter(|_| acts).map(|decoded| decoded.effect).unwrap_or_default();
        engine.set(ports.valid_i, u64::from(issue.is_some()));
        engine.set(ports.warp_i, issue.map_or(0, |issue| issue.warp as u64));
        engine.set(ports.stores_scratchpad_i, u64::from(scratchpad));
        engine.set(ports.stores_global_i, u64::from(global));
        engine.set(ports.barrier_i, u64::from(barrier));
        engine.set(ports.start_i, std::mem::take(&mut self.starts));
        engine.step();
        let barriers = engine.get(ports.barriers_o) as u8;
        let may_reuse = [ports.global_o, ports.scratchpad_o].map(|port| engine.get(port) == 1);
        if orders {
            self.numbers.order();
        }
        let (block, orderings) = match decoded?.function?.memory? {
            Memory::Global if may_reuse[0] => {
                let (number, orderings) = self.numbers.global();
                (number, Some(orderings))
            }
            Memory::Scratchpad if may_reuse[1] => (self.numbers.block(issue?.warp), None),
            Memory::Global | Memory::Scratchpad => (None, None),
        };
        Some(Place { block: block?, barriers, orderings })
    }

    /// An instruction has been renamed. `place`: of a load that may be reused.
    fn enter(&mut self, mut issue: Issue, place: Option<Place>) {
        let (engine, ports) = (&self.circuits.rename.engine, &self.circuits.rename.ports);
        let mut is_stable = true;
        for (source, port) in issue.sources.iter_mut().zip(&ports.source) {
            let physical = (engine.get(port.mapped_o) == 1).then(|| engine.get(port.physical_o) as u32);
            is_stable &= source.is_none() || physical.is_some() && engine.get(port.pinned_o) == 0;
            *source = physical;
        }
        for &source in issue.sources.iter().flatten() {
            self.changes.holds.push(source);
            self.counted.references += 1;
        }
        self.counted.renamed.count(issue.unit);
        let index = issue.inst.0 as usize;
        let Decoded { function, invented, beyond, wide, private, .. } = self.instructions[index];
        let is_divergent = issue.active != LaneMask::MAX;
        self.counted.divergent += u64::from(is_divergent);
        self.counted.invented += u64::from(invented && !is_divergent);
        self.counted.beyond += u64::from(beyond && !is_divergent);
        self.counted.wide += u64::from(wide && !is_divergent);
        self.counted.private += u64::from(private && !is_divergent);
        let is_known = is_stable && issue.known == LaneMask::MAX;
        self.counted.unstable += u64::from(function.is_some() && !is_divergent && !is_known);
        self.flying[usize::from(issue.id)] = Flying { sources: issue.sources, ..Flying::default() };
        let function = function.filter(|_| is_known && !is_divergent);
        let is_guarded = |function: &Function| function.memory.is_some() && place.is_none();
        self.counted.guarded += u64::from(function.as_ref().is_some_and(is_guarded));
        let function = function.filter(|function| !is_guarded(function));
        let place = place.filter(|_| function.is_some());
        let renamed = Renamed { issue, function, place, destinations: self.destinations[index], turn: None };
        let from = self.now + u64::from(!self.looks_up_at_once) + self.more_cycles;
        self.renamed.push_back((renamed, from));
    }

    /// Registers that are asked for in this cycle, and the slot that one of them is of.
    fn queries(&self) -> ([Option<u32>; QUERIES], Option<usize>) {
        let candidate = self.candidate().filter(|(renamed, _)| renamed.function.is_some());
        let [first, second, third] =
            candidate.map_or([None; MAX_SOURCES], |(renamed, _)| renamed.issue.sources);
        let [found, second_found] =
            self.answering.map_or([None; ROW_RESULTS], |answering| answering.registers);
        let shared = self.retiring.oldest(|slot| matches!(slot.step, Step::Done { shared: true, .. }));
        let of_slot = self.retiring.slot(shared).and_then(|slot| slot.held);
        let of_arrived = self.retiring.arrived.as_ref().and_then(|arrived| arrived.old);
        ([first, second, third, found, of_slot, of_arrived, second_found], shared)
    }
}

impl Interposer for Reuse {
    fn start_kernel(
        &mut self,
        storage: &mut dyn OperandStorage,
        kernel: &Compiled<'_>,
    ) -> Result<(), SimError> {
        let program = kernel.program;
        let registers = program.registers_per_thread;
        if usize::from(registers) > self.logical_registers {
            let (kernel, available) = (program.name.clone(), self.logical_registers);
            return Err(SimError::mechanism(TooManyRegisters { kernel, registers, available }));
        }
        let room = Room {
            forms: 1 << FORM_BITS,
            constant_bits: self.circuits.register_bits,
            results: self.row_results,
        };
        self.instructions = decode(program, room, self.policy.loads);
        self.numbers = numbers(&self.config, &self.orderings);
        self.texts = program.instructions.iter().map(|one| one.text.clone()).collect();
        let destination = |one: &Instruction, place: usize| {
            one.results.get(place).map_or(0, |result| u32::from(result.register.0))
        };
        let destinations = |one: &Instruction| std::array::from_fn(|place| destination(one, place));
        self.destinations = program.instructions.iter().map(destinations).collect();
        self.kernel_registers = u64::from(registers);
        self.drains = true;
        storage.start_kernel(kernel)
    }

    fn start_warp(
        &mut self,
        storage: &mut dyn OperandStorage,
        warp: WarpSlot,
        rows: WarpRows,
        block: BlockIndex,
    ) {
        self.warp_rows[warp] = rows;
        self.resident |= 1 << warp;
        self.starts |= 1 << warp;
        self.numbers.start_warp(warp, block);
        storage.start_warp(warp, rows, block);
    }

    /// Rename says which row an operand is in; a result gets its row when it is there.
    fn row_uses(&self, _storage: &dyn OperandStorage, _inst: InstId) -> RowUses {
        RowUses::FOUND_LATER
    }

    fn held_warps(&self, storage: &dyn OperandStorage) -> u64 {
        if self.drains { u64::MAX } else { storage.held_warps() }
    }

    fn cycle(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<(), SimError> {
        self.begin();
        self.rows.begin(inputs.rows, &mut self.values);
        if let Some(flush) = inputs.flush {
            self.retiring.leave(flush.slot);
        }
        let (queries, shared) = self.queries();
        let answers = self.circuits.query(queries);
        self.access(storage, inputs, outputs)?;
        self.seek();

        let (mut mapping, mut fill, mut destination) = (self.give_up(answers[5]), None, Destination::None);
        let asked = self.answering.map(|answering| answering.destination());
        let found = [answers[3], answers[6]];
        // Who waits to be answered keeps others from being looked up. Results wait in their slots, while there is room for more.
        self.refuse(&found);
        let answers_first = self.retiring.has_free_slot();
        for answers_now in [answers_first, !answers_first] {
            if mapping.is_some() {
                break;
            }
            if answers_now {
                (mapping, destination) = self.answer(&found, outputs);
            } else {
                (mapping, fill) = self.retire(shared.map(|index| (index, answers[4])), outputs)?;
            }
        }
        if !self.looks_up_at_once {
            self.look_up(&answers[..MAX_SOURCES], fill, inputs.kernel_loads)?;
        }
        self.allocate_again();
        self.choose_register(answers[5]);
        let takes = destination == Destination::None
            && self.retiring.arrived.is_none()
            && self.take_result(inputs, outputs);
        if takes {
            destination = Destination::Arriving;
        }
        self.hash(takes);
        self.rename(inputs, outputs, mapping, destination, asked);
        if self.looks_up_at_once {
            let (queries, _) = self.queries();
            let answers = self.circuits.query(queries);
            self.look_up(&answers[..MAX_SOURCES], fill, inputs.kernel_loads)?;
        }
        self.end_cycle()?;
        self.say_rows(outputs);
        self.now += 1;
        Ok(())
    }

    fn end_warp(&mut self, storage: &mut dyn OperandStorage, warp: WarpSlot) {
        self.ends |= 1 << warp;
        self.resident &= !(1 << warp);
        self.numbers.end_warp(warp);
        storage.end_warp(warp);
    }

    fn ending_warps(&self, storage: &dyn OperandStorage) -> u64 {
        self.ends | self.ending | storage.ending_warps()
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.counted);
    }

    fn circuits(&self) -> Vec<(&'static str, &dyn Engine)> {
        let Circuits { rename, reuse, hash, signatures, pool, counts, .. } = &self.circuits;
        let mut all: Vec<(&'static str, &dyn Engine)> = vec![
            ("rename_tables", &rename.engine),
            ("reuse_buffer", &reuse.engine),
            ("value_hash", &hash.engine),
            ("value_signature_buffer", &signatures.engine),
            ("free_pool", &pool.engine),
            ("reference_counts", &counts.engine),
        ];
        if let Some(retry) = &self.circuits.retry {
            all.push(("retry_queue", &retry.engine));
        }
        if let Some(verify) = &self.circuits.verify {
            all.push(("verify_cache", &verify.engine));
        }
        if let Some(guard) = &self.circuits.guard {
            all.push(("load_guard", &guard.engine));
        }
        all
    }
}

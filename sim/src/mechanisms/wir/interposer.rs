//! What stands in front of the register file of a partition: the stages of its schedulers, and what they share.

use warpfile_engine::{Engine, EngineError};
use warpfile_kernels::program::{BlockIndex, Instruction, LANES};

use super::circuits::{Answers, Circuit, PartitionCircuits, QUERIES, StageCircuits, set_register};
use super::invariants::{InCycle, Invariants, Seen};
use super::kernel::{Room, decode};
use super::loads::Orderings;
use super::retire::{Slot, Step};
use super::shared::{Shared, numbers};
use super::stages::{Destination, Fill, Mapping, Stages};
use super::{COUNTERS, FORM_BITS, Policy};
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::circuit::{copy_lanes, words};
use crate::sm::SimError;
use crate::sm::design::{
    Interposer, KernelLoads, MAX_ISSUES, Members, OperandStorage, RowUses, StorageInputs, StorageOutputs,
    WarpRows, WarpSlot, name_of_scheduler,
};

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

/// Warp instruction reuse in front of the operand storage of a partition.
pub struct Reuse {
    shared: Shared,
    /// By scheduler.
    stages: Vec<Stages>,
}

/// Registers that the schedulers ask for, and the slot that one of each is of.
type Queries = ([[Option<u32>; QUERIES]; MAX_ISSUES], [Option<usize>; MAX_ISSUES]);

/// What a scheduler does with its rename table in a cycle, and a result for the reuse buffer.
#[derive(Clone, Copy, Default)]
struct Renaming {
    mapping: Option<Mapping>,
    destination: Destination,
    /// The destination of the instruction that is answered.
    answered: Option<(WarpSlot, u32)>,
    fill: Option<Fill>,
}

/// Registers written in a cycle: a result of each scheduler, and one of a long-latency operation.
type Written = [Option<u32>; MAX_ISSUES + 1];

impl Reuse {
    pub fn new(
        config: &Config,
        policy: Policy,
        circuits: PartitionCircuits,
        orderings: &Orderings,
    ) -> Result<Reuse, EngineError> {
        let PartitionCircuits { stages, shared, changes } = circuits;
        let checks = cfg!(debug_assertions);
        let invariants = checks.then(|| Invariants::new(&stages, &shared)).transpose()?;
        let (count, parameters) = (stages.len(), config.of());
        let of_one = |(number, circuits)| Stages::new(Members::new(count, number), circuits, &parameters);
        Ok(Reuse {
            stages: stages.into_iter().enumerate().map(of_one).collect(),
            shared: Shared::new(config, policy, (shared, changes), invariants, orderings),
        })
    }

    fn of_warp(&mut self, warp: WarpSlot) -> &mut Stages {
        let count = self.stages.len();
        &mut self.stages[warp % count]
    }

    /// Registers that are asked for in this cycle.
    fn queries(&self) -> Queries {
        let (mut registers, mut slots) = ([[None; QUERIES]; MAX_ISSUES], [None; MAX_ISSUES]);
        for (number, stages) in self.stages.iter().enumerate() {
            (registers[number], slots[number]) = stages.queries(&self.shared);
        }
        (registers, slots)
    }

    /// Which registers results have still to be written to.
    fn note_unwritten(&mut self) {
        self.shared.unwritten.clear();
        self.shared.unwritten.extend(self.stages.iter().flat_map(|stages| stages.retiring.unwritten()));
    }

    // The operand storage.

    /// A cycle of the storage: of each scheduler an instruction, the oldest read for a result, and the oldest write of a short
    /// operation's result; and the oldest of a long-latency operation's. Gives what has been written.
    fn access(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<Written, SimError> {
        self.note_unwritten();
        let (shared, stages) = (&mut self.shared, &mut self.stages);
        let rows = &shared.rows;
        let reads = |slot: &Slot| slot.read().filter(|&register| shared.is_written(register));
        let writes = |slot: &Slot| slot.write().map(|write| write.row);
        let is_on = |row: Option<u32>| row.is_some_and(|row| rows.is_on(row));
        let (mut issue, mut extra_reads) = ([None; MAX_ISSUES], [None; MAX_ISSUES]);
        let (mut readers, mut writers) = ([None; MAX_ISSUES], [None; MAX_ISSUES]);
        // Age, scheduler and slot.
        let mut filler: Option<(u64, usize, usize)> = None;
        let mut row_waits = 0;
        for (number, Stages { retiring, leaving, .. }) in stages.iter().enumerate() {
            readers[number] = retiring.oldest(|slot| is_on(reads(slot)));
            extra_reads[number] = retiring.slot(readers[number]).and_then(Slot::read);
            issue[number] =
                leaving.filter(|issue| issue.sources.iter().flatten().all(|&row| rows.is_on(row)));
            let writer = |long| retiring.oldest(|slot| slot.arrived.long == long && is_on(writes(slot)));
            writers[number] = writer(false);
            let long = writer(true).and_then(|slot| Some((retiring.slot(Some(slot))?.age, number, slot)));
            filler = filler.into_iter().chain(long).min();
            let accessed = retiring.slots.iter().flatten().filter_map(|slot| reads(slot).or(writes(slot)));
            row_waits += accessed.filter(|&row| !rows.is_on(row)).count() as u64;
            row_waits += u64::from(leaving.is_some() && issue[number].is_none());
        }
        shared.counted.row_waits += row_waits;
        let write = |number: usize, slot| {
            stages.get(number).and_then(|stages| stages.retiring.slot(slot)).and_then(Slot::write)
        };
        let result = std::array::from_fn(|number| write(number, writers[number]));
        let fill = filler.and_then(|(_, number, slot)| write(number, Some(slot)));
        storage.cycle(&StorageInputs { issue: &issue, result, fill, extra_reads, ..*inputs }, outputs)?;

        let mut written = Written::default();
        for (number, stages) in stages.iter_mut().enumerate() {
            shared.reading.extend(stages.leaving.take_if(|_| outputs.issue_taken[number]));
            if let Some(values) = outputs.extra_values[number].take() {
                stages.take_read(shared, &values);
            }
            let is_taken = outputs.extra_reads_taken[number];
            if let Some(slot) = stages.retiring.slot_mut(readers[number]).filter(|_| is_taken) {
                slot.reading = true;
            }
            if outputs.result_taken[number] {
                written[number] = stages.follow_write(shared, writers[number])?;
            }
        }
        if let Some((_, number, slot)) = filler.filter(|_| outputs.fill_taken) {
            written[stages.len()] = stages[number].follow_write(shared, Some(slot))?;
        }
        outputs.issue_taken = [false; MAX_ISSUES];
        outputs.result_taken = [false; MAX_ISSUES];
        outputs.fill_taken = false;
        for id in outputs.delivered.iter().take(storage.dispatches()).flatten() {
            shared.drop_sources(*id);
            if let Some(index) = shared.reading.iter().position(|issue| issue.id == *id) {
                let issue = shared.reading.swap_remove(index);
                shared.say_read(&issue, issue.active);
            }
        }
        Ok(written)
    }

    /// A cycle of the verify cache: of each scheduler the oldest register that is to be verified is looked up, one that has been
    /// read comes in.
    fn seek(&mut self, written: Written) {
        self.note_unwritten();
        let (shared, stages) = (&mut self.shared, &mut self.stages);
        let mut sought = [None; MAX_ISSUES];
        for (number, Stages { retiring, .. }) in stages.iter().enumerate() {
            // What is written in this cycle may still be there as it was.
            let is_there =
                |register: &u32| shared.is_written(*register) && !written.contains(&Some(*register));
            let register = |slot: &Slot| match slot.step {
                Step::Seek(register) => Some(register).filter(is_there),
                Step::Verify(_)
                | Step::Move { .. }
                | Step::Copy { .. }
                | Step::Write(_)
                | Step::Allocate
                | Step::Done { .. } => None,
            };
            let slot = retiring.oldest(|slot| register(slot).is_some());
            sought[number] = retiring.slot(slot).and_then(register).map(|register| (slot, register));
        }
        let reads = stages.iter_mut().map(|stages| stages.read_to_verify.take());
        let Some(Circuit { engine, ports }) = &mut shared.circuits.verify else {
            reads.for_each(drop);
            return;
        };
        for ((port, fill), (sought, read)) in
            ports.lookup.iter().zip(&ports.fill).zip(sought.iter().zip(reads))
        {
            set_register(engine, port.valid_i, port.register_i, sought.map(|(_, register)| register));
            let register = read.as_ref().map(|(register, _)| *register);
            set_register(engine, fill.valid_i, fill.register_i, register);
            if let Some((_, values)) = &read {
                engine.set_words(fill.value_i, &words(values));
            }
        }
        for (port, row) in ports.written.iter().zip(written) {
            set_register(engine, port.valid_i, port.register_i, row);
        }
        engine.step();
        for (number, stages) in stages.iter_mut().enumerate() {
            let Some((slot, register)) = sought[number] else { continue };
            shared.counted.verify_lookups += 1;
            let Some(Circuit { engine, ports }) = &shared.circuits.verify else { continue };
            let port = &ports.lookup[number];
            if engine.get(port.hit_o) == 1 {
                shared.counted.verify_hits += 1;
                let mut values = [0; LANES];
                copy_lanes(engine.get_words(port.value_o), &mut values);
                stages.verify(shared, slot, register, &values);
            } else if let Some(slot) = stages.retiring.slot_mut(slot) {
                slot.step = Step::Verify(register);
            }
        }
    }

    // Retire and reuse.

    /// What of a scheduler retires or is answered.
    fn retire(
        &mut self,
        number: usize,
        (answers, slots): (&Answers, &[Option<usize>; MAX_ISSUES]),
        outputs: &mut StorageOutputs,
    ) -> Result<Renaming, SimError> {
        let (shared, stages) = (&mut self.shared, &mut self.stages[number]);
        let answers = &answers[number];
        let mut now = Renaming {
            mapping: stages.give_up(shared, answers[5]),
            answered: stages.answering.map(|answering| answering.destination()),
            ..Renaming::default()
        };
        let found = [answers[3], answers[6]];
        // Who waits to be answered keeps others from being looked up. Results wait in their slots, while there is room for more.
        stages.refuse(shared, &found);
        let answers_first = stages.retiring.has_free_slot();
        for answers_now in [answers_first, !answers_first] {
            if now.mapping.is_some() {
                break;
            }
            if answers_now {
                (now.mapping, now.destination) = stages.answer(shared, &found, outputs);
            } else {
                let asked = slots[number].map(|slot| (slot, answers[4]));
                (now.mapping, now.fill) = stages.retire(shared, asked, outputs)?;
            }
        }
        Ok(now)
    }

    /// A cycle of the reuse buffer.
    fn look_up(
        &mut self,
        answers: &Answers,
        renaming: &[Renaming; MAX_ISSUES],
        kernel_loads: &dyn KernelLoads,
    ) -> Result<(), SimError> {
        let (shared, stages) = (&mut self.shared, &mut self.stages);
        shared.is_starved = stages.iter().any(Stages::is_starved);
        let mut is_used = false;
        for (number, stages) in stages.iter_mut().enumerate() {
            is_used |= stages.ask(shared, &answers[number]);
            is_used |= renaming[number].fill.is_some();
            stages.ask_fill(shared, renaming[number].fill);
        }
        let sweeps_all = shared.is_low || shared.drains;
        let block = shared.numbers.sweep();
        let Circuit { engine, ports } = &mut shared.circuits.reuse;
        engine.set(ports.sweep_i, u64::from(sweeps_all || block.is_some()));
        engine.set(ports.sweep_one_i, u64::from(!sweeps_all));
        engine.set(ports.sweep_block_i, u64::from(block.unwrap_or(0)));
        engine.step();
        if block.is_some() && !is_used {
            shared.numbers.follow_sweep();
        }
        shared.circuits.give_up_rows(&mut shared.changes);
        for (number, stages) in stages.iter_mut().enumerate() {
            stages.follow_lookup(shared, renaming[number].fill, kernel_loads)?;
        }
        Ok(())
    }

    /// A cycle of the value signature buffer: results get registers.
    fn choose_registers(&mut self, answers: &Answers) {
        let (shared, stages) = (&mut self.shared, &mut self.stages);
        for stages in stages.iter_mut() {
            stages.allocate_again(shared);
            stages.ask_signature(shared);
        }
        let Circuit { engine, ports } = &mut shared.circuits.signatures;
        engine.set(ports.sweep_i, u64::from(shared.is_low || shared.drains));
        engine.step();
        for (number, stages) in stages.iter_mut().enumerate() {
            stages.choose_register(shared, answers[number][5]);
        }
    }

    // The references.

    /// A cycle of the reference counts and of the pool.
    fn end_cycle(&mut self) -> Result<(), SimError> {
        let shared = &mut self.shared;
        let Some(mut invariants) = shared.invariants.take() else {
            shared.circuits.end_cycle(&mut shared.changes);
            return Ok(());
        };
        let ports = &shared.circuits.counts.ports;
        let in_cycle = InCycle::of(&shared.changes, ports.decrement.len(), ports.drop.len());
        shared.circuits.end_cycle(&mut shared.changes);
        invariants.allocate(in_cycle.allocated);
        let tables = self.stages.iter().map(|stages| &stages.circuits);
        invariants.check(&shared.config, tables, &shared.circuits)?;
        if invariants.is_due(shared.now) {
            invariants.see(self.seen(in_cycle));
        }
        self.shared.invariants = Some(invariants);
        Ok(())
    }

    /// What instructions and results hold, refer to before it is mapped, and have reserved; and what waits for a port.
    fn seen(&self, in_cycle: InCycle) -> Seen {
        let Shared { now, flying, changes, .. } = &self.shared;
        let slots = self.stages.iter().flat_map(|stages| stages.retiring.slots.iter().flatten());
        let sources = flying.iter().flat_map(|flying| flying.sources).flatten();
        let answering = || self.stages.iter().filter_map(|stages| stages.answering);
        let found = answering().filter(|answering| !answering.is_half_mapped);
        let found = found.flat_map(|answering| answering.registers).flatten();
        let half = answering().filter(|answering| answering.is_half_mapped);
        Seen {
            now: *now,
            in_cycle,
            decrements: changes.decrements.iter().copied().collect(),
            drops: changes.drops.iter().copied().collect(),
            holds: slots.filter_map(|slot| slot.held).chain(sources).chain(found).collect(),
            references: half.filter_map(|answering| answering.registers[1]).collect(),
            reserved: flying.iter().map(|flying| flying.row).collect(),
        }
    }

    /// Says what is accessed in the rows of registers, if they sleep.
    fn say_rows(&mut self, outputs: &mut StorageOutputs) {
        let (shared, stages) = (&mut self.shared, &self.stages);
        if !shared.rows.sleep() {
            return;
        }
        let reading = std::mem::take(&mut shared.reading);
        let leaving = stages.iter().filter_map(|stages| stages.leaving.as_ref());
        let sources = reading.iter().chain(leaving).flat_map(|issue| issue.sources);
        let slots = stages.iter().flat_map(|stages| stages.retiring.slots.iter().flatten());
        shared.say_rows(sources.chain(slots.flat_map(Slot::rows)).flatten(), outputs);
        shared.reading = reading;
    }
}

impl Interposer for Reuse {
    fn start_kernel(
        &mut self,
        storage: &mut dyn OperandStorage,
        kernel: &Compiled<'_>,
    ) -> Result<(), SimError> {
        let shared = &mut self.shared;
        let program = kernel.program;
        let registers = program.registers_per_thread;
        if usize::from(registers) > shared.logical_registers {
            let (kernel, available) = (program.name.clone(), shared.logical_registers);
            return Err(SimError::mechanism(TooManyRegisters { kernel, registers, available }));
        }
        let room = Room {
            forms: 1 << FORM_BITS,
            constant_bits: shared.circuits.register_bits,
            results: shared.row_results,
        };
        shared.instructions = decode(program, room, shared.policy.loads);
        shared.numbers = numbers(&shared.config, &shared.orderings);
        shared.texts = program.instructions.iter().map(|one| one.text.clone()).collect();
        let destination = |one: &Instruction, place: usize| {
            one.results.get(place).map_or(0, |result| u32::from(result.register.0))
        };
        let destinations = |one: &Instruction| std::array::from_fn(|place| destination(one, place));
        shared.destinations = program.instructions.iter().map(destinations).collect();
        shared.kernel_registers = u64::from(registers);
        shared.drains = true;
        storage.start_kernel(kernel)
    }

    fn start_warp(
        &mut self,
        storage: &mut dyn OperandStorage,
        warp: WarpSlot,
        rows: WarpRows,
        block: BlockIndex,
    ) {
        self.shared.warp_rows[warp] = rows;
        self.shared.resident |= 1 << warp;
        self.shared.numbers.start_warp(warp, block);
        self.of_warp(warp).start_warp(warp);
        storage.start_warp(warp, rows, block);
    }

    /// Rename says which row an operand is in; a result gets its row when it is there.
    fn row_uses(&self, _storage: &dyn OperandStorage, _inst: warpfile_kernels::program::InstId) -> RowUses {
        RowUses::FOUND_LATER
    }

    fn held_warps(&self, storage: &dyn OperandStorage) -> u64 {
        if self.shared.drains { u64::MAX } else { storage.held_warps() }
    }

    fn cycle(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<(), SimError> {
        let shared = &mut self.shared;
        shared.begin();
        shared.rows.begin(inputs.rows, &mut shared.values);
        for stages in &mut self.stages {
            stages.begin(shared);
            if let Some(flush) = inputs.flush {
                stages.retiring.leave(flush.slot);
            }
        }
        let (queries, slots) = self.queries();
        let answers = self.shared.circuits.query(&queries);
        let written = self.access(storage, inputs, outputs)?;
        self.seek(written);

        let mut renaming = [Renaming::default(); MAX_ISSUES];
        for (number, now) in renaming.iter_mut().enumerate().take(self.stages.len()) {
            *now = self.retire(number, (&answers, &slots), outputs)?;
        }
        if !self.shared.looks_up_at_once {
            self.look_up(&answers, &renaming, inputs.kernel_loads)?;
        }
        self.choose_registers(&answers);
        for (stages, now) in self.stages.iter_mut().zip(&mut renaming) {
            let takes = now.destination == Destination::None
                && stages.retiring.arrived.is_none()
                && stages.take_result(&mut self.shared, inputs, outputs);
            if takes {
                now.destination = Destination::Arriving;
            }
            stages.hash(takes);
            let &mut Renaming { mapping, destination, answered, .. } = now;
            stages.rename(&mut self.shared, inputs, outputs, mapping, (destination, answered));
        }
        if self.shared.looks_up_at_once {
            let (queries, _) = self.queries();
            let answers = self.shared.circuits.query(&queries);
            self.look_up(&answers, &renaming, inputs.kernel_loads)?;
        }
        self.end_cycle()?;
        self.say_rows(outputs);
        self.shared.now += 1;
        Ok(())
    }

    fn end_warp(&mut self, storage: &mut dyn OperandStorage, warp: WarpSlot) {
        self.shared.resident &= !(1 << warp);
        self.shared.numbers.end_warp(warp);
        self.of_warp(warp).end_warp(warp);
        storage.end_warp(warp);
    }

    fn ending_warps(&self, storage: &dyn OperandStorage) -> u64 {
        let own = self.stages.iter().fold(0, |ending, stages| ending | stages.ending_warps());
        own | storage.ending_warps()
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.shared.counted);
    }

    fn circuits(&self) -> Vec<(&'static str, &dyn Engine)> {
        let shared = &self.shared.circuits;
        let count = self.stages.len();
        let mut all: Vec<(&'static str, &dyn Engine)> = Vec::new();
        for (number, stages) in self.stages.iter().enumerate() {
            let StageCircuits { rename, hash, retry, guard } = &stages.circuits;
            let name = |names| name_of_scheduler(names, count, number);
            all.push((name(["rename_tables", "rename_tables0", "rename_tables1"]), &rename.engine));
            all.push((name(["value_hash", "value_hash0", "value_hash1"]), &hash.engine));
            if let Some(retry) = retry {
                all.push((name(["retry_queue", "retry_queue0", "retry_queue1"]), &retry.engine));
            }
            if let Some(guard) = guard {
                all.push((name(["load_guard", "load_guard0", "load_guard1"]), &guard.engine));
            }
        }
        all.extend([
            ("reuse_buffer", &shared.reuse.engine as &dyn Engine),
            ("value_signature_buffer", &shared.signatures.engine),
            ("free_pool", &shared.pool.engine),
            ("reference_counts", &shared.counts.engine),
        ]);
        if let Some(verify) = &shared.verify {
            all.push(("verify_cache", &verify.engine));
        }
        all
    }
}

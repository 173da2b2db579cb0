//! Operand access, the oracle, functional units, completion and writeback.

use std::cell::RefCell;

use super::super::design::{Layer, MAX_ISSUES, MAX_WRITTEN, StorageInputs, Unit, WarpPlace, Write};
use super::super::error::Compared;
use super::super::in_flight::InFlight;
use super::super::kernel::{Action, Kernel, MemoryKind};
use super::super::memory::{Arrived, Sent, Step, WordAccess, constant_access, shared_access};
use super::super::oracle::Mismatch;
use super::super::warp::{Warp, Warps};
use super::super::working_set::WorkingSetCounter;
use super::super::{SimError, WrongOperand};
use super::loads::LaunchLoads;
use super::partition::Partition;
use super::{Machine, Running};

/// Lanes of a warp that a unit starts over several cycles.
const LANES: u64 = warpfile_kernels::program::LANES as u64;

impl Machine<'_, '_> {
    /// Instructions that finish executing: their predicates are known, their results ask for a write port.
    pub(super) fn complete(&mut self, launch: &mut Running<'_>, partition: usize) -> Result<(), SimError> {
        while let Some(id) = self.partitions[partition].completions.pop_due(self.now) {
            let at = &mut self.partitions[partition];
            let entry = at.in_flight.get_mut(id);
            let warp = entry.warp;
            let active = entry.instruction.active;
            let decoded = &launch.kernel.instructions[entry.index()];
            for &predicate in &decoded.predicate_results {
                at.scoreboard.clear(warp, launch.kernel.predicate_bit(predicate));
            }
            at.warps.result_known(warp);
            if active == 0 {
                for &result in &decoded.results {
                    at.scoreboard.clear(warp, usize::from(result));
                }
            } else {
                entry.results_left = decoded.results.len();
                let queue = if decoded.is_long() { &mut at.fills } else { at.results.of_warp(warp) };
                queue.extend((0..decoded.results.len()).map(|result| (id, result)));
            }
            let resolves = decoded.action == Action::Branch;
            if active == 0 || decoded.results.is_empty() {
                at.finish(id, &launch.kernel);
                retire(&mut self.layers, partition, at, id);
                self.last_progress = self.now;
            }
            if resolves {
                self.fetch(launch, partition, warp)?;
            }
        }
        Ok(())
    }

    /// One cycle of a partition's operand storage: offers go in, operands come out.
    pub(super) fn access_operands(
        &mut self,
        launch: &mut Running<'_>,
        partition: usize,
    ) -> Result<(), SimError> {
        let [ready_units, units_for_two] = self.ready_units(partition);
        let at = &mut self.partitions[partition];
        let flush = at.flushes.pop_front();
        let (line_request_taken, line) = match &self.line_port {
            Some(port) => (port.passes(partition), port.filled(partition)),
            None => (false, None),
        };
        at.flush_offered = flush.map(|flush| flush.slot);
        let kernel = &launch.kernel;
        let offered = |queued: Option<&(u16, usize)>| offer(queued, &at.in_flight, &at.warps, kernel);
        let [first, second] = at.results.offered();
        let from_units = [offered(first), offered(second), offered(at.fills.front())];
        let [first, second, fill] = from_units;
        let kernel_loads = LaunchLoads {
            in_flight: &at.in_flight,
            program: launch.rewritten.as_ref(),
            launch: RefCell::new((&mut *launch.stream, &mut launch.races)),
        };
        let inputs = StorageInputs {
            issue: at.issue_queue.offered(),
            result: [first, second],
            fill,
            from_units: &from_units,
            flush,
            ready_units,
            units_for_two,
            parked: (at.warps.sets().arrived | at.warps.sets().ended) & !at.issue_queue.warps(),
            line_request_taken,
            line: line.as_ref(),
            rows: self.layers.iter_mut().find_map(|layer| layer.rows(partition)),
            extra_reads: [None; MAX_ISSUES],
            kernel_loads: &kernel_loads,
        };
        at.design.storage.cycle(&inputs, &mut at.outputs)?;
        let late = inputs.result.each_ref().map(|result| result.as_ref().is_some_and(|write| !write.cached));
        if at.outputs.issue_taken.contains(&true) {
            at.issue_queue.remove(at.outputs.issue_taken);
        }
        if !at.outputs.rows.is_empty() {
            for layer in &mut self.layers {
                layer.access_rows(partition, &at.outputs.rows);
            }
            at.outputs.rows.clear();
        }
        let ports = at.dispatches;
        for port in 0..ports {
            if let Some(id) = self.partitions[partition].outputs.delivered[port] {
                self.check_operands(launch, partition, id, port)?;
            }
        }
        for port in 0..MAX_ISSUES {
            if let Some(id) = self.partitions[partition].outputs.answered[port].take() {
                self.take_answer(launch, partition, id, port)?;
            }
        }
        self.follow_writes(&launch.kernel, partition, late);
        self.partitions[partition].follow_flushes();
        for port in 0..ports {
            if let Some(id) = self.partitions[partition].outputs.dispatch[port] {
                self.execute(launch, partition, id)?;
            }
        }
        Ok(())
    }

    /// Results and fills that the operand storage has taken are written. `late`: results of suspended warps.
    fn follow_writes(&mut self, kernel: &Kernel, partition: usize, late: [bool; MAX_ISSUES]) {
        let at = &mut self.partitions[partition];
        let later = std::mem::take(&mut at.outputs.result_later);
        let fill_later = std::mem::take(&mut at.outputs.fill_later);
        for (port, result) in at.results.take(at.outputs.result_taken).into_iter().enumerate() {
            let Some(result) = result else { continue };
            self.totals.scheduler.results_after_suspension += u64::from(late[port]);
            self.last_progress = self.now;
            if !later[port] {
                self.follow_write(kernel, partition, result);
            }
        }
        let at = &mut self.partitions[partition];
        if at.outputs.fill_taken
            && let Some(fill) = at.fills.pop_front()
        {
            self.last_progress = self.now;
            if !fill_later {
                self.follow_write(kernel, partition, fill);
            }
        }
        for port in 0..MAX_WRITTEN {
            if let Some(result) = self.partitions[partition].outputs.written[port].take() {
                self.follow_write(kernel, partition, result);
            }
        }
    }

    /// A result of an instruction is in its register.
    fn follow_write(&mut self, kernel: &Kernel, partition: usize, (id, result): (u16, usize)) {
        let at = &mut self.partitions[partition];
        if let Some(counter) = &mut self.working_set {
            at.count_write(counter, partition, (id, result), kernel);
        }
        at.written(id, result, kernel);
        written(&mut self.layers, partition, at, (id, result));
        self.last_progress = self.now;
    }

    /// Sends the memory unit's transactions, `after` cycles after they could have been sent first; a load's data comes
    /// back later, a store is done once sent. Gives whether one has been sent.
    pub(super) fn send_transactions(&mut self, after: u64) -> bool {
        let Step { has_sent, done } = self.memory.cycle(self.now);
        if let Some(Sent { partition, id, kind, back }) = done {
            let at = &mut self.partitions[partition];
            let done = match kind {
                MemoryKind::Load | MemoryKind::Atomic => back.saturating_sub(at.operand_cycles + after),
                MemoryKind::Store => self.now,
            };
            at.completions.push(done.max(self.now + 1), id);
            self.last_progress = self.now;
        }
        has_sent
    }

    /// Data and register lines that have come from memory.
    pub(super) fn take_arrived(&mut self) {
        self.memory.advance(self.now);
        while let Some(arrived) = self.memory.pop_arrived(self.now) {
            match arrived {
                Arrived::Instruction(Sent { partition, id, .. }) => {
                    self.partitions[partition].completions.push(self.now, id);
                }
                Arrived::Line(line) => self.lines.push((self.now, line)),
            }
            self.last_progress = self.now;
        }
    }

    /// Units that can take an instruction of the partition in this cycle, and those that can take two: never with one scheduler.
    fn ready_units(&self, partition: usize) -> [u8; MAX_ISSUES] {
        let of_schedulers = &self.partitions[partition].units_free_at;
        let free = of_schedulers.iter().map(|own| self.free_units(own));
        let (mut one, mut two) = free.fold((0, 0), |(one, two), free| (one | free, two | one & free));
        if !self.memory.is_ready() {
            one &= !(1 << Unit::Memory as u8);
        }
        one &= !self.shared.busy_units(self.now, 1);
        // Of what the partitions share there is one.
        two &= !Unit::SHARED;
        if two != 0 {
            two &= !self.shared.busy_units(self.now, 2);
        }
        [one, two]
    }

    /// Units of a scheduler and of the SM that take an instruction in this cycle.
    #[inline]
    fn free_units(&self, of_scheduler: &[u64; Unit::COUNT]) -> u8 {
        let of_both = of_scheduler.iter().zip(&self.shared_unit_free_at).enumerate();
        of_both.fold(0, |free, (unit, (own, shared))| free | u8::from(own.max(shared) <= &self.now) << unit)
    }

    /// Operand values have been delivered: they are compared with the kernel's.
    fn check_operands(
        &mut self,
        launch: &Running<'_>,
        partition: usize,
        id: u16,
        port: usize,
    ) -> Result<(), SimError> {
        let at = &mut self.partitions[partition];
        let entry = at.in_flight.get_mut(id);
        let sources = launch.kernel.instructions[entry.index()].sources.iter().flatten();
        if let Some(counter) = &mut self.working_set
            && entry.instruction.active != 0
        {
            for source in sources.clone() {
                counter.access(partition, entry.warp, *source as usize);
            }
        }
        if let Err(mismatch) =
            self.oracle.check(&entry.instruction, sources.count(), &at.outputs.operands[port])
        {
            return Err(self.wrong(launch, partition, id, (Compared::Operand, mismatch)));
        }
        for layer in &mut self.layers {
            layer.read(WarpPlace { partition, warp: entry.warp }, &entry.instruction);
        }
        entry.delivered = true;
        if entry.finished {
            at.in_flight.release(id);
        }
        Ok(())
    }

    /// An instruction's operands are complete: its unit takes it.
    fn execute(&mut self, launch: &mut Running<'_>, partition: usize, id: u16) -> Result<(), SimError> {
        self.last_progress = self.now;
        let at = &mut self.partitions[partition];
        let entry = at.in_flight.get(id);
        let instruction = &entry.instruction;
        let warp = entry.warp;
        let decoded = &launch.kernel.instructions[entry.index()];
        let latency = &self.config.latency;
        let throughput = &self.config.throughput;
        let operand_cycles = at.operand_cycles;
        let unit = decoded.unit;
        self.shared.dispatch(unit);
        self.totals.operations.count(decoded.class, instruction.active.count_ones());
        let after_operands = |cycles: u64| cycles.saturating_sub(operand_cycles).max(1);
        let (busy, done) = match decoded.action {
            Action::Alu | Action::Sfu | Action::Double => {
                let timing = self.timings.of(decoded.timing);
                // Banks that its operand in scratchpad is in give a word a cycle.
                let waits = decoded.operand_bytes.map_or(0, |bytes| {
                    let WordAccess { words, cycles } = shared_access(instruction, bytes, throughput);
                    self.memory.count_shared(words, cycles);
                    cycles - 1
                });
                let (initiation, done) = (timing.initiation + waits, after_operands(timing.latency) + waits);
                let later = self.shared.start(self.now, decoded.action, unit, (initiation, done));
                // A unit that the SM's schedulers share keeps its own time.
                let busy = if self.shared.has_own_units(unit) { initiation + later } else { 0 };
                (busy, done + later)
            }
            Action::Texture => {
                at.warps.dispatch_long(warp);
                (LANES.div_ceil(throughput.texture_lanes), after_operands(latency.texture))
            }
            Action::Shared { bytes } => {
                let WordAccess { words, cycles } = shared_access(instruction, bytes, throughput);
                self.memory.count_shared(words, cycles);
                (cycles, after_operands(latency.shared) + cycles - 1)
            }
            Action::Constant => {
                let WordAccess { words, cycles } = constant_access(instruction, throughput);
                self.memory.count_constant(words);
                (cycles, after_operands(latency.constant) + cycles - 1)
            }
            // Resolution takes as long after the operands in every design; a tag stage before them adds to it.
            Action::Branch => {
                let done = latency.branch.saturating_sub(super::BASELINE_OPERAND_CYCLES).max(1);
                self.shared.pass(self.now, done);
                (1, done)
            }
            Action::Fence | Action::Release => (1, 1),
            // A barrier that the guard switches off in every lane is none.
            Action::Barrier if instruction.active == 0 => (1, 1),
            Action::Barrier => {
                at.completions.push(self.now + 1, id);
                return self.arrive(launch, partition, warp);
            }
            Action::Memory { bytes, kind } => {
                at.warps.dispatch_long(warp);
                self.memory.push((partition, id), kind, bytes, instruction);
                // One instruction a cycle enters the memory unit.
                self.shared_unit_free_at[Unit::Memory as usize] = self.now + 1;
                return Ok(());
            }
        };
        let free_at = match unit.is_shared() {
            true => &mut self.shared_unit_free_at[unit as usize],
            false => at.first_free(unit),
        };
        *free_at = self.now + busy;
        at.completions.push(self.now + done, id);
        Ok(())
    }

    /// What a design has wrong of an instruction.
    pub(super) fn wrong(
        &self,
        launch: &Running<'_>,
        partition: usize,
        id: u16,
        (compared, mismatch): (Compared, Mismatch),
    ) -> SimError {
        let at = &self.partitions[partition];
        let entry = at.in_flight.get(id);
        let &Warp { block, number, .. } = at.warps.get(entry.warp);
        let program = launch.program();
        let instruction = &program.instructions[entry.index()];
        let register = match compared {
            Compared::Operand => instruction.sources[mismatch.index].register,
            Compared::Result => instruction.results[mismatch.index].register,
        };
        SimError::WrongOperand(Box::new(WrongOperand {
            compared,
            cycle: self.now,
            kernel: program.name.clone(),
            block: self.blocks[block].index.unwrap_or_default(),
            warp: number,
            pc: instruction.pc,
            text: instruction.text.clone(),
            register: register.0,
            lane: mismatch.lane,
            expected: mismatch.expected,
            found: mismatch.found,
        }))
    }
}

impl Partition<'_> {
    /// When that of its own units of a kind is free that is free first.
    fn first_free(&mut self, unit: Unit) -> &mut u64 {
        let first =
            (0..self.units_free_at.len()).min_by_key(|&number| self.units_free_at[number][unit as usize]);
        &mut self.units_free_at[first.unwrap_or(0)][unit as usize]
    }

    /// Counts a register that is being written.
    fn count_write(
        &self,
        counter: &mut WorkingSetCounter,
        partition: usize,
        (id, result): (u16, usize),
        kernel: &Kernel,
    ) {
        let entry = self.in_flight.get(id);
        let register = kernel.instructions[entry.index()].results[result];
        counter.access(partition, entry.warp, usize::from(register));
    }

    /// A register has been written.
    fn written(&mut self, id: u16, result: usize, kernel: &Kernel) {
        let entry = self.in_flight.get_mut(id);
        let decoded = &kernel.instructions[entry.index()];
        self.scoreboard.clear(entry.warp, usize::from(decoded.results[result]));
        self.warps.result_known(entry.warp);
        entry.results_left -= 1;
        if entry.results_left == 0 {
            self.finish(id, kernel);
        }
    }

    /// Nothing of an instruction is left to do.
    pub(super) fn finish(&mut self, id: u16, kernel: &Kernel) {
        let entry = self.in_flight.get_mut(id);
        entry.finished = true;
        let delivered = entry.delivered;
        let decoded = &kernel.instructions[entry.index()];
        self.warps.finish(entry.warp, decoded.is_long(), decoded.action.accesses_memory());
        if delivered {
            self.in_flight.release(id);
        }
    }

    /// Warps whose slot has been flushed no longer hold it.
    fn follow_flushes(&mut self) {
        if self.warps.sets().flushing != 0 {
            self.warps.end_flushes(self.busy_slots());
        }
    }
}

/// Tells the layers that a register has been written, and with the last of an instruction that it is done. Its entry may
/// have been released, and still is what it was.
fn written(
    layers: &mut [Box<dyn Layer + '_>],
    partition: usize,
    at: &Partition<'_>,
    (id, result): (u16, usize),
) {
    let entry = at.in_flight.get(id);
    for layer in layers.iter_mut() {
        layer.written(WarpPlace { partition, warp: entry.warp }, &entry.instruction, result);
    }
    if entry.finished {
        retire(layers, partition, at, id);
    }
}

/// Tells the layers that nothing of an instruction is left to do.
pub(super) fn retire(layers: &mut [Box<dyn Layer + '_>], partition: usize, at: &Partition<'_>, id: u16) {
    let entry = at.in_flight.get(id);
    for layer in layers {
        layer.retire(WarpPlace { partition, warp: entry.warp }, &entry.instruction);
    }
}

/// A register in a queue, as it is offered to the operand storage.
fn offer<'f>(
    queued: Option<&(u16, usize)>,
    in_flight: &'f InFlight,
    warps: &Warps,
    kernel: &Kernel,
) -> Option<Write<'f>> {
    let &(id, result) = queued?;
    let entry = in_flight.get(id);
    let warp = warps.get(entry.warp);
    let register = kernel.instructions[entry.index()].results[result];
    Some(Write {
        id,
        inst: entry.instruction.inst,
        result,
        warp: entry.warp,
        row: warp.rows.row(kernel.place(u32::from(register))),
        lanes: entry.instruction.active,
        values: &entry.instruction.results[result],
        slot: warp.slot_or_flushing(),
        cached: warp.slot().is_some() && warp.activation == entry.activation,
    })
}

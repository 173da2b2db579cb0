//! Operand access, the oracle, functional units, completion and writeback.

use super::super::design::{StorageInputs, Unit, Write};
use super::super::in_flight::{InFlight, ResultQueue};
use super::super::kernel::{Action, Kernel, MemoryKind};
use super::super::memory::{constant_cycles, shared_cycles};
use super::super::oracle::Mismatch;
use super::super::warp::{Warp, Warps};
use super::super::{SimError, WrongOperand};
use super::{Machine, Running};

/// Lanes of a warp that a unit starts over several cycles.
const LANES: u64 = warpfile_kernels::program::LANES as u64;

impl Machine<'_, '_> {
    /// Instructions that finish executing: their predicates are known, their results ask for a write port.
    pub(super) fn complete(&mut self, launch: &mut Running<'_>) -> Result<(), SimError> {
        while let Some(id) = self.completions.pop_due(self.now) {
            let entry = self.in_flight.get_mut(id);
            let warp = entry.warp;
            let active = entry.instruction.active;
            let decoded = &launch.kernel.instructions[entry.index()];
            for &predicate in &decoded.predicate_results {
                self.scoreboard.clear(warp, launch.kernel.predicate_bit(predicate));
            }
            self.warps.result_known(warp);
            if active == 0 {
                for result in &decoded.results {
                    self.scoreboard.clear(warp, usize::from(result.register));
                }
            } else {
                entry.results_left = decoded.results.len();
                let queue = if decoded.is_long() { &mut self.fills } else { &mut self.results };
                queue.extend((0..decoded.results.len()).map(|result| (id, result)));
            }
            let resolves = decoded.action == Action::Branch;
            if active == 0 || decoded.results.is_empty() {
                self.finish(id, &launch.kernel);
            }
            if resolves {
                self.fetch(launch, warp)?;
            }
        }
        Ok(())
    }

    /// One cycle of the operand storage: offers go in, operands come out.
    pub(super) fn access_operands(&mut self, launch: &mut Running<'_>) -> Result<(), SimError> {
        let flush = self.flushes.pop_front();
        self.flush_offered = flush.map(|flush| flush.slot);
        let kernel = &launch.kernel;
        let inputs = StorageInputs {
            issue: self.issue_register,
            result: offer(&self.results, &self.in_flight, &self.warps, kernel),
            fill: offer(&self.fills, &self.in_flight, &self.warps, kernel),
            flush,
            ready_units: self.ready_units(),
        };
        self.design.storage.cycle(&inputs, &mut self.outputs)?;
        let result_is_late = inputs.result.is_some_and(|write| !write.cached);
        if self.outputs.issue_taken {
            self.issue_register = None;
        }
        if let Some(id) = self.outputs.delivered {
            self.check_operands(launch, id)?;
        }
        if self.outputs.result_taken
            && let Some((id, result)) = self.results.pop_front()
        {
            self.counts.scheduler.results_after_suspension += u64::from(result_is_late);
            self.written(id, result, &launch.kernel);
        }
        if self.outputs.fill_taken
            && let Some((id, result)) = self.fills.pop_front()
        {
            self.written(id, result, &launch.kernel);
        }
        self.follow_flushes();
        match self.outputs.dispatch {
            Some(id) => self.execute(launch, id),
            None => Ok(()),
        }
    }

    /// Sends the memory unit's transactions; a load's data comes back later, a store is done once sent.
    pub(super) fn send_transactions(&mut self) {
        let Some((id, kind, back)) = self.memory.cycle(self.now) else {
            return;
        };
        let done = match kind {
            MemoryKind::Load | MemoryKind::Atomic => back.saturating_sub(self.operand_cycles),
            MemoryKind::Store => self.now,
        };
        self.completions.push(done.max(self.now + 1), id);
        self.last_progress = self.now;
    }

    fn ready_units(&self) -> u8 {
        let mut ready = 0;
        for (unit, &free_at) in self.unit_free_at.iter().enumerate() {
            ready |= u8::from(free_at <= self.now) << unit;
        }
        if !self.memory.is_ready() {
            ready &= !(1 << Unit::Memory as u8);
        }
        ready
    }

    /// A register has been written.
    fn written(&mut self, id: u16, result: usize, kernel: &Kernel) {
        let entry = self.in_flight.get_mut(id);
        let decoded = &kernel.instructions[entry.index()];
        self.scoreboard.clear(entry.warp, usize::from(decoded.results[result].register));
        self.warps.result_known(entry.warp);
        entry.results_left -= 1;
        self.last_progress = self.now;
        if entry.results_left == 0 {
            self.finish(id, kernel);
        }
    }

    /// Nothing of an instruction is left to do.
    fn finish(&mut self, id: u16, kernel: &Kernel) {
        let entry = self.in_flight.get_mut(id);
        entry.finished = true;
        let delivered = entry.delivered;
        let decoded = &kernel.instructions[entry.index()];
        self.warps.finish(entry.warp, decoded.is_long(), decoded.action.accesses_memory());
        if delivered {
            self.in_flight.release(id);
        }
        self.last_progress = self.now;
    }

    /// Warps whose slot has been flushed no longer hold it.
    fn follow_flushes(&mut self) {
        if self.warps.sets().flushing != 0 {
            self.warps.end_flushes(self.busy_slots());
        }
    }

    /// Operand values have been delivered: they are compared with the kernel's.
    fn check_operands(&mut self, launch: &Running<'_>, id: u16) -> Result<(), SimError> {
        let entry = self.in_flight.get_mut(id);
        let sources = launch.kernel.instructions[entry.index()].sources.iter().flatten().count();
        if let Err(mismatch) = self.oracle.check(&entry.instruction, sources, &self.outputs.operands) {
            return Err(self.wrong_operand(launch, id, mismatch));
        }
        entry.delivered = true;
        if entry.finished {
            self.in_flight.release(id);
        }
        Ok(())
    }

    /// An instruction's operands are complete: its unit takes it.
    fn execute(&mut self, launch: &mut Running<'_>, id: u16) -> Result<(), SimError> {
        self.last_progress = self.now;
        let entry = self.in_flight.get(id);
        let instruction = &entry.instruction;
        let warp = entry.warp;
        let decoded = &launch.kernel.instructions[entry.index()];
        let latency = &self.config.latency;
        let throughput = &self.config.throughput;
        let after_operands = |cycles: u64| cycles.saturating_sub(self.operand_cycles).max(1);
        let (busy, done) = match decoded.action {
            Action::Alu => (LANES.div_ceil(throughput.alu_lanes), after_operands(latency.alu)),
            Action::Sfu => (LANES.div_ceil(throughput.sfu_lanes), after_operands(latency.sfu)),
            Action::Double => (LANES.div_ceil(throughput.double_lanes), after_operands(latency.double)),
            Action::Texture => {
                self.warps.dispatch_long(warp);
                (LANES.div_ceil(throughput.texture_lanes), after_operands(latency.texture))
            }
            Action::Shared { bytes } => {
                let cycles = shared_cycles(instruction, bytes, throughput);
                self.memory.count_shared(cycles);
                (cycles, after_operands(latency.shared) + cycles - 1)
            }
            Action::Constant => {
                let cycles = constant_cycles(instruction, throughput);
                (cycles, after_operands(latency.constant) + cycles - 1)
            }
            // Resolution takes as long after the operands in every design; a tag stage before them adds to it.
            Action::Branch => (1, (latency.branch - super::BASELINE_OPERAND_CYCLES).max(1)),
            Action::Fence => (1, 1),
            // A barrier that the guard switches off in every lane is none.
            Action::Barrier if instruction.active == 0 => (1, 1),
            Action::Barrier => {
                self.completions.push(self.now + 1, id);
                return self.arrive(launch, warp);
            }
            Action::Memory { bytes, kind } => {
                self.warps.dispatch_long(warp);
                self.memory.push(id, kind, bytes, instruction);
                return Ok(());
            }
        };
        self.unit_free_at[decoded.unit as usize] = self.now + busy;
        self.completions.push(self.now + done, id);
        Ok(())
    }

    fn wrong_operand(&self, launch: &Running<'_>, id: u16, mismatch: Mismatch) -> SimError {
        let entry = self.in_flight.get(id);
        let &Warp { block, number, .. } = self.warps.get(entry.warp);
        let program = launch.stream.program();
        let instruction = &program.instructions[entry.index()];
        SimError::WrongOperand(Box::new(WrongOperand {
            cycle: self.now,
            kernel: program.name.clone(),
            block: self.blocks[block].index.unwrap_or_default(),
            warp: number,
            pc: instruction.pc,
            text: instruction.text.clone(),
            register: instruction.sources[mismatch.source].register.0,
            lane: mismatch.lane,
            expected: mismatch.expected,
            found: mismatch.found,
        }))
    }
}

/// The register at the head of a queue, as it is offered to the operand storage.
fn offer<'f>(
    queue: &ResultQueue,
    in_flight: &'f InFlight,
    warps: &Warps,
    kernel: &Kernel,
) -> Option<Write<'f>> {
    let &(id, result) = queue.front()?;
    let entry = in_flight.get(id);
    let warp = warps.get(entry.warp);
    let decoded = &kernel.instructions[entry.index()].results[result];
    Some(Write {
        warp: entry.warp,
        row: warp.first_row + u32::from(decoded.register),
        lanes: entry.instruction.active,
        values: &entry.instruction.results[result],
        slot: warp.slot_or_flushing(),
        cached: warp.slot().is_some() && warp.activation == entry.activation,
        idle: decoded.idle,
    })
}

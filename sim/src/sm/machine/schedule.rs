//! Ready, suspend and eligible masks; the scheduler's decision.

use super::super::SimError;
use super::super::design::{Flush, Issue, SchedulerInputs, SchedulerOutputs};
use super::super::kernel::{Action, clusters};
use super::super::warp::{Hazard, Head, State};
use super::{Machine, Running};

/// Why warps cannot issue, one bit a warp slot each.
#[derive(Default)]
struct Waiting {
    short: u64,
    long: u64,
    branch: u64,
    barrier: u64,
}

impl Machine<'_, '_> {
    pub(super) fn schedule(&mut self, launch: &mut Running<'_>) -> Result<(), SimError> {
        let (inputs, waiting) = self.scheduler_inputs(launch);
        let outputs = self.design.scheduler.cycle(inputs);
        self.follow_slots(&outputs);
        match outputs.issue {
            Some((warp, slot)) => self.pick(launch, warp, slot),
            None => {
                self.count_stall(&inputs, &waiting);
                Ok(())
            }
        }
    }

    fn scheduler_inputs(&self, launch: &Running<'_>) -> (SchedulerInputs, Waiting) {
        let mut inputs = SchedulerInputs {
            busy_slots: self.busy_slots(),
            issue_enable: self.issue_register.is_none(),
            ..SchedulerInputs::default()
        };
        let mut waiting = Waiting::default();
        let suspends = self.design.scheduler.suspends();
        let held = self.design.storage.held_warps();
        for (slot, warp) in self.warps.iter().enumerate() {
            let bit = 1u64 << slot;
            match warp.state {
                State::Empty => continue,
                State::Ended => {
                    if warp.short_in_flight > 0 {
                        inputs.resident |= bit;
                    }
                    continue;
                }
                State::Fetching => {}
                State::Branching => waiting.branch |= bit,
                State::AtBarrier { arrived } => {
                    waiting.barrier |= bit;
                    if arrived && suspends && warp.slot.is_some() {
                        inputs.suspend |= bit;
                    }
                }
                State::Ready => {
                    let (hazard, marked) = self.head_hazard(launch, slot);
                    let waits_for_operands =
                        hazard == Hazard::Long || self.config.scheduler.suspend_when_ready;
                    let suspend = suspends && marked && !warp.resumed && waits_for_operands;
                    match hazard {
                        Hazard::None if !suspend => inputs.ready |= bit,
                        Hazard::None => {}
                        Hazard::Short => waiting.short |= bit,
                        Hazard::Long => waiting.long |= bit,
                    }
                    if suspend && warp.slot.is_some() {
                        inputs.suspend |= bit;
                    }
                    if hazard != Hazard::Long {
                        inputs.eligible |= bit;
                    }
                }
            }
            inputs.resident |= bit;
        }
        inputs.ready &= !held;
        // A warp is suspended only after its last instruction has reached the operand storage.
        if let Some(issue) = &self.issue_register {
            inputs.suspend &= !(1 << issue.warp);
        }
        (inputs, waiting)
    }

    /// What a ready warp's next instruction waits for, and whether the compiler marked it.
    fn head_hazard(&self, launch: &Running<'_>, warp: usize) -> (Hazard, bool) {
        let Some(Head { index, .. }) = self.warps[warp].head else {
            return (Hazard::Short, false);
        };
        let decoded = &launch.kernel.instructions[index];
        let hazard = self.scoreboard.hazard(warp, &launch.kernel, index);
        // A fence waits until the warp's memory accesses are done.
        let fenced = decoded.action == Action::Fence && self.warps[warp].memory_in_flight > 0;
        (if fenced { Hazard::Long } else { hazard }, decoded.suspends)
    }

    /// Slots that may not be given to another warp: busy in the storage, or with a flush still to be done.
    pub(super) fn busy_slots(&self) -> u64 {
        let queued = self.flushes.iter().map(|flush| flush.slot).chain(self.flush_offered);
        queued.fold(self.outputs.busy_slots, |busy, slot| busy | 1 << slot)
    }

    fn follow_slots(&mut self, outputs: &SchedulerOutputs) {
        if let Some((warp, slot)) = outputs.suspended {
            self.counts.scheduler.suspensions += 1;
            let at_barrier = matches!(self.warps[warp].state, State::AtBarrier { .. });
            self.counts.scheduler.barrier_suspensions += u64::from(at_barrier);
            self.give_up_slot(warp, slot, false);
        }
        if let Some((warp, slot)) = outputs.retired
            && self.warps[warp].state == State::Ended
            && self.warps[warp].slot == Some(slot)
        {
            self.give_up_slot(warp, slot, true);
        }
        if let Some((warp, slot)) = outputs.activated {
            self.counts.scheduler.activations += 1;
            self.warps[warp].slot = Some(slot);
            self.warps[warp].resumed = true;
        }
    }

    fn give_up_slot(&mut self, warp: usize, slot: usize, discard: bool) {
        let warp = &mut self.warps[warp];
        warp.slot = None;
        warp.flushing = Some(slot);
        warp.activation += 1;
        self.flushes.push_back(Flush { slot, discard });
    }

    /// The warp's next instruction waits in the issue register; its results are on their way from here on.
    fn pick(&mut self, launch: &mut Running<'_>, warp: usize, slot: usize) -> Result<(), SimError> {
        let Some(Head { id, index }) = self.warps[warp].head.take() else {
            return Err(SimError::Circuit {
                design: self.config.design.as_str(),
                problem: format!("the scheduler picked warp slot {warp}, which has no instruction"),
            });
        };
        let state = &mut self.warps[warp];
        let entry = self.in_flight.get_mut(id);
        let inst = entry.instruction.inst;
        let active = entry.instruction.active;
        let decoded = &launch.kernel.instructions[index];
        state.slot = Some(slot);
        state.in_flight += 1;
        state.short_in_flight += 1;
        state.memory_in_flight += u32::from(matches!(decoded.action, Action::Memory { .. }));
        entry.slot = slot;
        entry.activation = state.activation;
        entry.delivered = false;
        entry.finished = false;
        self.scoreboard.issue(warp, &launch.kernel, index, decoded);

        let mut sources = decoded.sources;
        for source in sources.iter_mut().flatten() {
            source.row += state.first_row;
        }
        if active == 0 {
            sources = Default::default();
        }
        let reads = sources.iter().flatten().count() as u64;
        let writes = if active == 0 { 0 } else { decoded.results.len() as u64 };
        self.counts.warp_instructions += 1;
        self.counts.thread_instructions += u64::from(active.count_ones());
        self.counts.operands.reads += reads;
        self.counts.operands.writes += writes;
        self.counts.operands.cluster_reads += reads * clusters(active);
        self.counts.operands.cluster_writes += writes * clusters(active);
        self.issue_register = Some(Issue { id, warp, slot, inst, unit: decoded.unit, active, sources });
        self.last_progress = self.now;

        match decoded.action {
            Action::Branch => state.state = State::Branching,
            Action::Barrier if active != 0 => state.state = State::AtBarrier { arrived: false },
            Action::Alu
            | Action::Sfu
            | Action::Double
            | Action::Texture
            | Action::Memory { .. }
            | Action::Shared { .. }
            | Action::Constant
            | Action::Barrier
            | Action::Fence => self.fetch(launch, warp)?,
        }
        Ok(())
    }

    fn count_stall(&mut self, inputs: &SchedulerInputs, waiting: &Waiting) {
        let held = self.design.storage.held_warps() & inputs.resident;
        let stalls = &mut self.counts.stalls;
        let reason = if !inputs.issue_enable {
            &mut stalls.issue_blocked
        } else if inputs.ready != 0 {
            &mut stalls.ready_warp_inactive
        } else if waiting.short != 0 {
            &mut stalls.short_latency
        } else if waiting.branch != 0 {
            &mut stalls.branch
        } else if waiting.long != 0 {
            &mut stalls.long_latency
        } else if inputs.eligible != 0 {
            &mut stalls.ready_warp_inactive
        } else if waiting.barrier != 0 {
            &mut stalls.barrier
        } else if held != 0 {
            &mut stalls.design
        } else {
            &mut stalls.drained
        };
        *reason += 1;
    }
}

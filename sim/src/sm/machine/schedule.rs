//! Ready, suspend and eligible masks; the scheduler's decision.

use super::super::SimError;
use super::super::design::{
    Classes, Flush, Issue, Layer, Members, SchedulerInputs, SchedulerOutputs, WarpPlace, WarpSlot,
};
use super::super::kernel::{Action, clusters};
use super::super::warp::{Hazard, Head, State, each, first};
use super::partition::Partition;
use super::slots::SharedPipeline;
use super::{Machine, Running};
use crate::config::Scheduler;
use warpfile_kernels::program::LaneMask;

/// Why warps cannot issue, one bit a warp slot each.
#[derive(Default)]
struct Waiting {
    short: u64,
    long: u64,
    branch: u64,
    barrier: u64,
    /// They could issue before long, but the design holds them back.
    held: u64,
    /// They could issue, but the SM has no slot left for them in this cycle, or has fetched no instruction of theirs.
    no_slot: u64,
}

impl Machine<'_, '_> {
    /// One cycle of a partition's schedulers, each of which is first in its turn.
    pub(super) fn schedule(&mut self, launch: &mut Running<'_>, partition: usize) -> Result<(), SimError> {
        let at = &mut self.partitions[partition];
        at.held_by_layers = self.layers.iter_mut().fold(0, |held, layer| held | layer.held_warps(partition));
        at.brief_waits = self.layers.iter_mut().fold(0, |brief, layer| brief | layer.brief_waits(partition));
        let classes = classes(&mut self.layers, partition);
        let count = at.design.schedulers.len();
        let first = if count == 1 { 0 } else { (self.now % count as u64) as usize };
        for scheduler in (first..count).chain(0..first) {
            self.schedule_one(launch, (partition, scheduler), classes)?;
        }
        Ok(())
    }

    /// One cycle of a scheduler. The warp it picks may issue further instructions in the same cycle.
    fn schedule_one(
        &mut self,
        launch: &mut Running<'_>,
        (partition, scheduler): (usize, usize),
        classes: Classes,
    ) -> Result<(), SimError> {
        let at = &mut self.partitions[partition];
        let no_slot = at.warps.without_slot(&self.shared) | self.buffers.empty(partition);
        let (inputs, waiting) = at.scheduler_inputs(launch, &self.config.scheduler, (scheduler, no_slot));
        let held = waiting.held & !waiting.short;
        self.totals.scheduler.held_warp_cycles += u64::from(held.count_ones());
        let ready = at.preferred(&mut self.layers, partition, inputs.ready);
        let inputs = SchedulerInputs { ready, classes, ..inputs };
        let outputs = at.decide(scheduler, inputs);
        let members = at.members(scheduler);
        self.follow_slots(partition, &outputs);
        match outputs.issue {
            Some(picked) => self.pick(launch, (partition, scheduler), picked),
            None => {
                if !self.issue_metadata_ahead(partition, members.all()) {
                    self.count_stall(&inputs, &waiting);
                }
                Ok(())
            }
        }
    }

    /// Issues a warp's next instruction, and the one after it if it may issue with it. Metadata instructions before
    /// the next instruction take issue slots of their own.
    fn pick(
        &mut self,
        launch: &mut Running<'_>,
        (partition, scheduler): (usize, usize),
        (warp, slot): (WarpSlot, usize),
    ) -> Result<(), SimError> {
        let slots = self.config.sm.issues_per_scheduler as u16;
        let suspend_when_ready = self.config.scheduler.suspend_when_ready;
        let at = &mut self.partitions[partition];
        let head = at.warps.get(warp).head().ok_or_else(|| SimError::Circuit {
            design: self.config.design.to_string(),
            problem: format!("the scheduler picked warp slot {warp}, which has no instruction"),
        })?;
        let metadata = at.warps.issue_metadata(warp, slots);
        self.totals.metadata_instructions += u64::from(metadata);
        self.last_progress = self.now;
        if metadata == slots {
            return Ok(());
        }
        self.issue(launch, (partition, scheduler), (warp, slot), head)?;
        if metadata + 1 == slots {
            return Ok(());
        }
        if self.buffers.empty(partition) >> warp & 1 == 1 {
            return Ok(());
        }
        match self.partitions[partition].companion(launch, warp, head, suspend_when_ready, &self.shared) {
            Some(companion) => {
                let at = WarpPlace { partition, warp };
                if self.layers.iter_mut().any(|layer| layer.holds_companion(at)) {
                    return Ok(());
                }
                self.issue(launch, (partition, scheduler), (warp, slot), companion)
            }
            None => Ok(()),
        }
    }

    /// Gives slots that would stay empty to the metadata instructions of one of these warps, whose next instruction cannot
    /// issue: they wait for no register, and the storage has been told what they say. Gives whether there are some.
    fn issue_metadata_ahead(&mut self, partition: usize, warps: u64) -> bool {
        let slots = self.config.sm.issues_per_scheduler as u16;
        let at = &mut self.partitions[partition];
        let sets = at.warps.sets();
        let in_active_set = if at.suspends { sets.holding } else { u64::MAX };
        let Some(warp) = first(sets.ready & sets.metadata & in_active_set & warps) else {
            return false;
        };
        self.totals.metadata_instructions += u64::from(at.warps.issue_metadata(warp, slots));
        self.last_progress = self.now;
        true
    }

    fn follow_slots(&mut self, partition: usize, outputs: &SchedulerOutputs) {
        let at = &mut self.partitions[partition];
        if let Some((warp, slot)) = outputs.suspended {
            self.totals.scheduler.suspensions += 1;
            let at_barrier = matches!(at.warps.get(warp).state(), State::AtBarrier { .. });
            self.totals.scheduler.barrier_suspensions += u64::from(at_barrier);
            at.give_up_slot(warp, slot, false);
        }
        if let Some((warp, slot)) = outputs.retired
            && at.warps.get(warp).state() == State::Ended
            && at.warps.get(warp).slot() == Some(slot)
        {
            at.give_up_slot(warp, slot, true);
        }
        if let Some((warp, slot)) = outputs.activated {
            self.totals.scheduler.activations += 1;
            at.warps.activate(warp, slot);
        }
    }

    /// An instruction waits in an issue register; its results are on their way from here on.
    fn issue(
        &mut self,
        launch: &mut Running<'_>,
        (partition, scheduler): (usize, usize),
        (warp, slot): (WarpSlot, usize),
        Head { id, index, .. }: Head,
    ) -> Result<(), SimError> {
        let at = &mut self.partitions[partition];
        let decoded = &launch.kernel.instructions[index];
        self.shared.issue(decoded.slot_class);
        at.warps.issue(warp, slot, decoded.action.accesses_memory());
        let state = at.warps.get(warp);
        let entry = at.in_flight.get_mut(id);
        let inst = entry.instruction.inst;
        let active = entry.instruction.active;
        entry.slot = slot;
        entry.activation = state.activation;
        entry.delivered = false;
        entry.finished = false;
        at.scoreboard.issue(warp, &launch.kernel, index, decoded);
        self.buffers.issue(partition, warp, decoded.action == Action::Branch);

        let mut sources = decoded.sources;
        for source in sources.iter_mut().flatten() {
            *source = state.rows.row(launch.kernel.place(*source));
        }
        if active == 0 {
            sources = Default::default();
        }
        let reads = sources.iter().flatten().count() as u64;
        let writes = if active == 0 { 0 } else { decoded.results.len() as u64 };
        if let Some(timeline) = &mut self.timeline {
            timeline.issue(partition, warp);
        }
        self.totals.warp_instructions += 1;
        self.totals.thread_instructions += u64::from(active.count_ones());
        self.totals.operands.reads += reads;
        self.totals.operands.writes += writes;
        self.totals.operands.cluster_reads += reads * clusters(active);
        self.totals.operands.cluster_writes += writes * clusters(active);
        let known = entry.instruction.defined[..decoded.sources.iter().flatten().count()]
            .iter()
            .fold(LaneMask::MAX, |known, defined| known & defined);
        at.design.storage.pick(warp, inst);
        for layer in &mut self.layers {
            layer.issue(WarpPlace { partition, warp }, &at.in_flight.get(id).instruction);
        }
        if let Some(register) = at.issue_queue.free_register(scheduler) {
            *register = Some(Issue { id, warp, slot, inst, unit: decoded.unit, active, sources, known });
        }
        self.last_progress = self.now;

        match decoded.action {
            Action::Branch => at.warps.set_state(warp, State::Branching),
            Action::Barrier if active != 0 => at.warps.set_state(warp, State::AtBarrier { arrived: false }),
            Action::Alu
            | Action::Sfu
            | Action::Double
            | Action::Texture
            | Action::Memory { .. }
            | Action::Shared { .. }
            | Action::Constant
            | Action::Barrier
            | Action::Fence
            | Action::Release => self.fetch(launch, partition, warp)?,
        }
        Ok(())
    }

    fn count_stall(&mut self, inputs: &SchedulerInputs, waiting: &Waiting) {
        let stalls = &mut self.totals.stalls;
        let reason = if !inputs.issue_enable || waiting.no_slot != 0 {
            &mut stalls.issue_blocked
        } else if inputs.ready != 0 {
            &mut stalls.ready_warp_inactive
        } else if waiting.short != 0 {
            &mut stalls.short_latency
        } else if waiting.branch != 0 {
            &mut stalls.branch
        } else if waiting.long != 0 {
            &mut stalls.long_latency
        } else if waiting.held != 0 {
            &mut stalls.design
        } else if inputs.eligible != 0 {
            &mut stalls.ready_warp_inactive
        } else if waiting.barrier != 0 {
            &mut stalls.barrier
        } else {
            &mut stalls.drained
        };
        *reason += 1;
    }
}

/// Classes of priority of a partition's warps: of several layers the first decides before the next.
#[inline]
fn classes(layers: &mut [Box<dyn Layer + '_>], partition: usize) -> Classes {
    layers.iter_mut().fold(Classes::default(), |all, layer| {
        let Classes { first, last } = layer.classes(partition);
        Classes { first: all.first | first & !all.last, last: all.last | last & !all.first & !first }
    })
}

impl SchedulerInputs {
    /// What a scheduler is told, of its own warps and slots as it numbers them.
    fn own(self, members: Members) -> SchedulerInputs {
        let SchedulerInputs { resident, ready, suspend, eligible, busy_slots, classes, issue_enable } = self;
        SchedulerInputs {
            resident: members.own(resident),
            ready: members.own(ready),
            suspend: members.own(suspend),
            eligible: members.own(eligible),
            busy_slots: members.own(busy_slots),
            classes: Classes { first: members.own(classes.first), last: members.own(classes.last) },
            issue_enable,
        }
    }
}

impl SchedulerOutputs {
    /// What a scheduler has decided, as its partition numbers warps and slots.
    fn in_partition(self, members: Members) -> SchedulerOutputs {
        let of_partition = |decision: Option<(WarpSlot, usize)>| {
            decision.map(|(warp, slot)| (members.number(warp), members.number(slot)))
        };
        SchedulerOutputs {
            issue: of_partition(self.issue),
            suspended: of_partition(self.suspended),
            retired: of_partition(self.retired),
            activated: of_partition(self.activated),
        }
    }
}

impl Partition<'_> {
    /// Which warps and slots are a scheduler's.
    fn members(&self, scheduler: usize) -> Members {
        Members::new(self.design.schedulers.len(), scheduler)
    }

    /// What a scheduler does with the warps and slots of its partition. Of an only one the numbers are the partition's.
    #[inline]
    fn decide(&mut self, scheduler: usize, inputs: SchedulerInputs) -> SchedulerOutputs {
        let members = self.members(scheduler);
        let scheduler = &mut self.design.schedulers[scheduler];
        if members.is_only() {
            return scheduler.cycle(inputs);
        }
        scheduler.cycle(inputs.own(members)).in_partition(members)
    }

    #[inline]
    fn scheduler_inputs(
        &mut self,
        launch: &Running<'_>,
        config: &Scheduler,
        (scheduler, no_slot): (usize, u64),
    ) -> (SchedulerInputs, Waiting) {
        self.find_hazards(launch);
        let mine = self.members(scheduler).all();
        let sets = self.warps.sets();
        let suspend = self.to_suspend(config.suspend_when_ready);
        let suspends = if self.suspends { u64::MAX } else { 0 };
        let held = self.held_warps() & sets.ready & !sets.long_hazard & mine;
        let brief = self.brief_waits & !self.design.storage.held_warps();
        let suspendable = if held == 0 { 0 } else { self.design.storage.suspendable_warps() & !brief };
        let unhindered = sets.ready & !sets.short_hazard & !sets.long_hazard & mine;
        let waiting = Waiting {
            short: sets.ready & sets.short_hazard & mine,
            long: sets.ready & sets.long_hazard & mine,
            branch: sets.branching & mine,
            barrier: sets.at_barrier & mine,
            held,
            no_slot: unhindered & !suspend & !held & no_slot,
        };
        let alive = self.warps.alive();
        // A warp is suspended only after its last instruction has reached the operand storage.
        let in_issue = self.issue_queue.warps();
        let eligible = sets.ready & !sets.long_hazard & !held & mine;
        let all_slots_held = u64::from((sets.holding & mine).count_ones()) >= config.active_warps;
        let slot_is_wanted = config.suspend_at_barriers || all_slots_held && eligible & !sets.holding != 0;
        let at_barrier = if slot_is_wanted { sets.arrived } else { 0 };
        let inputs = SchedulerInputs {
            resident: (alive | (sets.ended & sets.short_in_flight)) & mine,
            ready: unhindered & !suspend & !held & !no_slot,
            // A warp that is held back makes room in the active set for one that can go on.
            suspend: (suspend | ((at_barrier | held & suspendable) & suspends))
                & sets.holding
                & !in_issue
                & mine,
            eligible,
            busy_slots: self.busy_slots(),
            classes: Classes::default(),
            issue_enable: self.issue_queue.has_room(scheduler),
        };
        (inputs, waiting)
    }

    /// Of the warps that are ready those that the layers would have picked first; one that has no slot of the active set
    /// keeps none that has one from being picked.
    #[inline]
    fn preferred(&self, layers: &mut [Box<dyn Layer + '_>], partition: usize, ready: u64) -> u64 {
        if layers.is_empty() {
            return ready;
        }
        let active = if self.suspends { self.warps.sets().holding } else { u64::MAX };
        let narrow = |candidates: u64, layer: &mut Box<dyn Layer + '_>| match candidates {
            0 => 0,
            _ => Some(layer.preferred_warps(partition, candidates) & candidates)
                .filter(|preferred| *preferred != 0)
                .unwrap_or(candidates),
        };
        layers.iter_mut().fold(ready & active, narrow) | ready & !active
    }

    /// Warps that must not issue now.
    fn held_warps(&self) -> u64 {
        self.design.storage.held_warps() | self.held_by_layers
    }

    /// Finds out what the heads wait for of which something has changed.
    fn find_hazards(&mut self, launch: &Running<'_>) {
        let sets = self.warps.sets();
        for warp in each(sets.ready & sets.stale_hazard) {
            let hazard = self.head_hazard(launch, warp);
            self.warps.set_hazard(warp, hazard);
        }
        debug_assert!(
            each(self.warps.sets().ready)
                .all(|warp| self.known_hazard(warp) == self.head_hazard(launch, warp)),
            "a hazard has changed unnoticed"
        );
    }

    /// What a ready warp's next instruction waits for.
    fn head_hazard(&self, launch: &Running<'_>, warp: usize) -> Hazard {
        let Some(Head { index, .. }) = self.warps.get(warp).head() else {
            return Hazard::Short;
        };
        // A fence waits until the warp's memory accesses are done.
        let is_fence = launch.kernel.instructions[index].action == Action::Fence;
        if is_fence && self.warps.get(warp).accesses_memory() {
            return Hazard::Long;
        }
        self.scoreboard.hazard(warp, &launch.kernel, index)
    }

    fn known_hazard(&self, warp: usize) -> Hazard {
        let sets = self.warps.sets();
        match (sets.short_hazard >> warp & 1, sets.long_hazard >> warp & 1) {
            (0, 0) => Hazard::None,
            (_, 0) => Hazard::Short,
            (_, _) => Hazard::Long,
        }
    }

    /// Warps that ask to be suspended because of the instruction they are at.
    fn to_suspend(&self, suspend_when_ready: bool) -> u64 {
        let sets = self.warps.sets();
        let suspends = if self.suspends { u64::MAX } else { 0 };
        let waits_for_operands = if suspend_when_ready { u64::MAX } else { sets.long_hazard };
        sets.ready & suspends & sets.marked & !sets.resumed & waits_for_operands
    }

    fn give_up_slot(&mut self, warp: usize, slot: usize, discard: bool) {
        self.warps.give_up_slot(warp, slot);
        self.flushes.push_back(Flush { slot, discard });
    }

    /// The instruction that issues in the same cycle as `first`, if there is one: the warp's next, for another unit,
    /// without a hazard, `first`'s results included.
    fn companion(
        &self,
        launch: &Running<'_>,
        warp: usize,
        first: Head,
        suspend_when_ready: bool,
        shared: &SharedPipeline,
    ) -> Option<Head> {
        // Only a partition of one scheduler issues two instructions of a warp.
        if !self.issue_queue.has_room(0) {
            return None;
        }
        let next = self.warps.get(warp).head().filter(|_| self.warps.sets().ready >> warp & 1 == 1)?;
        let unit = |head: Head| launch.kernel.instructions[head.index].unit;
        let held = self.held_warps() | self.to_suspend(suspend_when_ready);
        let may_issue = unit(next) != unit(first)
            && shared.can_issue(launch.kernel.instructions[next.index].slot_class)
            && next.metadata == 0
            && held >> warp & 1 == 0
            && self.head_hazard(launch, warp) == Hazard::None;
        may_issue.then_some(next)
    }
}

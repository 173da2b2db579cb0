//! Behavioural stand-ins for the circuits: ideal, and with the timing that `docs/sm-pipeline.md` states.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use warpfile_kernels::program::{BlockIndex, LANES, LaneValues, Launches, MAX_SOURCES, Program};
use warpfile_sim::config::{Config, SingleLevelPolicy, preset};
use warpfile_sim::counters::Counts;
use warpfile_sim::mechanisms::Compiled;
use warpfile_sim::mechanisms::single_level::SingleLevel;
use warpfile_sim::sm::design::{
    Design, MAX_DISPATCHES, OperandStorage, PartitionDesign, SchedulerInputs, SchedulerOutputs,
    StorageInputs, StorageOutputs, WarpRows, WarpScheduler, WarpSlot,
};
use warpfile_sim::sm::{Accesses, MRF, PortActivity, RunOptions, RunReport, SimError, run_design};

use crate::kernels::{Kernel, Sequence};

/// What happened, with the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Picked(WarpSlot),
    Suspended(WarpSlot),
    Activated(WarpSlot),
    Retired(WarpSlot),
    Flushed { slot: usize, discard: bool },
    Result { warp: WarpSlot, slot: Option<usize>, cached: bool },
    Fill { warp: WarpSlot, slot: Option<usize> },
}

/// Events in order.
pub type Log = Rc<RefCell<Vec<(u64, Event)>>>;

/// Keeps registers; every instruction takes the same time to read its operands.
pub struct IdealStorage {
    /// Instructions taken, dispatched and written back a cycle.
    issues: usize,
    operand_cycles: u64,
    flush_cycles: u64,
    rows: Vec<LaneValues>,
    now: u64,
    /// Instructions that read operands: id, unit, when they may be dispatched, operands.
    waiting: VecDeque<(u16, u8, u64, [LaneValues; MAX_SOURCES])>,
    dispatched: Vec<(u16, [LaneValues; MAX_SOURCES])>,
    /// Slots being flushed, and until when.
    flushing: Vec<(usize, u64)>,
    mrf: Accesses,
    log: Log,
}

impl OperandStorage for IdealStorage {
    fn operand_cycles(&self) -> u64 {
        self.operand_cycles
    }

    fn dispatches(&self) -> usize {
        self.issues
    }

    fn start_kernel(&mut self, _kernel: &Compiled<'_>) -> Result<(), SimError> {
        Ok(())
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        u64::from(program.registers_per_thread)
    }

    fn start_warp(&mut self, _warp: WarpSlot, _rows: WarpRows, _block: BlockIndex) {}

    fn held_warps(&self) -> u64 {
        0
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        outputs.delivered = [None; MAX_DISPATCHES];
        for (port, (id, operands)) in self.dispatched.drain(..).enumerate() {
            outputs.delivered[port] = Some(id);
            outputs.operands[port] = operands;
        }
        let room = self.waiting.len() < 8;
        outputs.issue_taken = inputs.issue.each_ref().map(|issue| issue.is_some() && room);
        for issue in inputs.issue.iter().flatten().filter(|_| room) {
            let mut operands = [[0; LANES]; MAX_SOURCES];
            for (operand, source) in operands.iter_mut().zip(issue.sources) {
                if let Some(source) = source {
                    *operand = self.rows[source as usize];
                    self.mrf.reads += 1;
                    self.mrf.cluster_reads += clusters(issue.active);
                }
            }
            let ready_at = self.now + self.operand_cycles - 1;
            self.waiting.push_back((issue.id, issue.unit as u8, ready_at, operands));
        }
        outputs.dispatch = [None; MAX_DISPATCHES];
        let mut busy_units = !inputs.ready_units;
        for port in 0..self.issues {
            let ready = |(_, unit, at, _): &(u16, u8, u64, [LaneValues; MAX_SOURCES])| {
                *at <= self.now && busy_units >> unit & 1 == 0
            };
            if let Some(index) = self.waiting.iter().position(ready) {
                let (id, unit, _, operands) = self.waiting.remove(index).expect("found");
                busy_units |= 1 << unit;
                outputs.dispatch[port] = Some(id);
                self.dispatched.push((id, operands));
            }
        }
        outputs.result_taken = inputs.result.map(|result| result.is_some());
        outputs.fill_taken = inputs.fill.is_some();
        for write in inputs.result.iter().flatten().chain(&inputs.fill) {
            for lane in (0..LANES).filter(|lane| write.lanes >> lane & 1 == 1) {
                self.rows[write.row as usize][lane] = write.values[lane];
            }
            self.mrf.writes += 1;
            self.mrf.cluster_writes += clusters(write.lanes);
        }
        let mut log = self.log.borrow_mut();
        for write in inputs.result.iter().flatten() {
            let event = Event::Result { warp: write.warp, slot: write.slot, cached: write.cached };
            log.push((self.now, event));
        }
        if let Some(write) = &inputs.fill {
            log.push((self.now, Event::Fill { warp: write.warp, slot: write.slot }));
        }
        let now = self.now;
        self.flushing.retain(|&(_, until)| until > now);
        outputs.busy_slots = self.flushing.iter().fold(0, |busy, (slot, _)| busy | 1 << slot);
        if let Some(flush) = inputs.flush {
            log.push((self.now, Event::Flushed { slot: flush.slot, discard: flush.discard }));
            self.flushing.push((flush.slot, self.now + self.flush_cycles));
        }
        self.now += 1;
        Ok(())
    }

    fn end_warp(&mut self, _warp: WarpSlot) {}

    fn count(&self, into: &mut Counts) {
        into.add(MRF, &self.mrf);
    }

    fn activity(&self) -> Vec<PortActivity> {
        Vec::new()
    }
}

/// Groups of four lanes of which one at least is in a mask.
fn clusters(lanes: u32) -> u64 {
    (0..LANES / 4).filter(|cluster| lanes >> (4 * cluster) & 0xf != 0).count() as u64
}

/// Logs what a single-level scheduler picks.
struct Logged {
    inner: SingleLevel,
    now: u64,
    log: Log,
}

impl WarpScheduler for Logged {
    fn suspends(&self) -> bool {
        false
    }

    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs {
        let outputs = self.inner.cycle(inputs);
        log_decisions(&self.log, self.now, &outputs);
        self.now += 1;
        outputs
    }
}

/// A two-level scheduler: greedy inside, round-robin replacement, one event of each kind a cycle.
struct TwoLevel {
    /// Warp in each slot.
    slots: Vec<Option<WarpSlot>>,
    last: usize,
    next_candidate: usize,
    suspends: bool,
    now: u64,
    log: Log,
}

impl WarpScheduler for TwoLevel {
    fn suspends(&self) -> bool {
        self.suspends
    }

    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs {
        let mut outputs = SchedulerOutputs::default();
        let has = |mask: u64, warp: &WarpSlot| mask >> warp & 1 == 1;
        let active: u64 = self.slots.iter().flatten().fold(0, |all, warp| all | 1 << warp);

        let candidate = (0..64)
            .map(|offset| (self.next_candidate + offset) % 64)
            .find(|warp| has(inputs.resident & inputs.eligible & !active, warp));
        let free = (0..self.slots.len())
            .find(|slot| self.slots[*slot].is_none() && inputs.busy_slots >> slot & 1 == 0);

        let order = (0..self.slots.len()).map(|offset| (self.last + offset) % self.slots.len());
        for slot in order {
            let Some(warp) = self.slots[slot] else { continue };
            if has(!inputs.resident, &warp) {
                if outputs.retired.is_none() {
                    outputs.retired = Some((warp, slot));
                }
            } else if has(inputs.suspend, &warp) {
                if outputs.suspended.is_none() {
                    outputs.suspended = Some((warp, slot));
                }
            } else if has(inputs.ready, &warp) && inputs.issue_enable && outputs.issue.is_none() {
                outputs.issue = Some((warp, slot));
            }
        }
        for (_, slot) in outputs.retired.iter().chain(&outputs.suspended) {
            self.slots[*slot] = None;
        }
        if let (Some(warp), Some(slot)) = (candidate, free) {
            self.slots[slot] = Some(warp);
            self.next_candidate = warp + 1;
            outputs.activated = Some((warp, slot));
        }
        if let Some((_, slot)) = outputs.issue {
            self.last = slot;
        }
        log_decisions(&self.log, self.now, &outputs);
        self.now += 1;
        outputs
    }
}

fn log_decisions(log: &Log, now: u64, outputs: &SchedulerOutputs) {
    let mut log = log.borrow_mut();
    let events = [
        outputs.issue.map(|(warp, _)| Event::Picked(warp)),
        outputs.suspended.map(|(warp, _)| Event::Suspended(warp)),
        outputs.retired.map(|(warp, _)| Event::Retired(warp)),
        outputs.activated.map(|(warp, _)| Event::Activated(warp)),
    ];
    log.extend(events.into_iter().flatten().map(|event| (now, event)));
}

/// Designs with a register file, which run under any preset.
pub const WITH_REGISTER_FILE: [&str; 3] = ["baseline", "two-level", "rfc"];

pub fn gebhart() -> Config {
    preset("gebhart2011").expect("complete")
}

fn storage(config: &Config, operand_cycles: u64, flush_cycles: u64, log: &Log) -> Box<IdealStorage> {
    let rows = config.register_file.bank_groups * config.register_file.rows;
    Box::new(IdealStorage {
        issues: config.sm.issues_per_scheduler as usize,
        operand_cycles,
        flush_cycles,
        rows: vec![[0xdead_beef; LANES]; rows as usize],
        now: 0,
        waiting: VecDeque::new(),
        dispatched: Vec::new(),
        flushing: Vec::new(),
        mrf: Accesses::default(),
        log: Rc::clone(log),
    })
}

/// A register file that reads every operand `operand_cycles` after its instruction's pick.
pub fn ideal_storage(config: &Config, operand_cycles: u64) -> Box<dyn OperandStorage> {
    storage(config, operand_cycles, 0, &Log::default())
}

/// A design of equal parts, one for each scheduler.
pub fn design<'a>(config: &Config, part: impl Fn() -> PartitionDesign<'a>) -> Design<'a> {
    Design { partitions: (0..config.sm.schedulers).map(|_| part()).collect(), ..Design::default() }
}

/// Runs with a register file of the baseline's timing and loose round-robin scheduling.
pub fn run_single_level(
    config: &Config,
    kernel: impl Into<Sequence>,
) -> Result<(RunReport, Vec<(u64, Event)>), SimError> {
    run_with_access(config, 3, kernel)
}

/// As [`run_single_level`], with `operand_cycles` from pick to dispatch.
pub fn run_with_access(
    config: &Config,
    operand_cycles: u64,
    kernel: impl Into<Sequence>,
) -> Result<(RunReport, Vec<(u64, Event)>), SimError> {
    let log = Log::default();
    let design = design(config, || PartitionDesign {
        storage: storage(config, operand_cycles, 0, &log),
        schedulers: vec![Box::new(Logged {
            inner: SingleLevel::new(SingleLevelPolicy::Lrr),
            now: 0,
            log: Rc::clone(&log),
        })],
    });
    let report = run_design(config, design, &mut kernel.into(), RunOptions::default())?;
    let events = log.borrow().clone();
    Ok((report, events))
}

/// Runs with a register file of the cache's timing, flushes of `flush_cycles`, and two-level scheduling.
pub fn run_two_level(
    config: &Config,
    flush_cycles: u64,
    launches: &mut dyn Launches,
) -> Result<(RunReport, Vec<(u64, Event)>), SimError> {
    let log = Log::default();
    let scheduler = || TwoLevel {
        slots: vec![None; config.scheduler.active_warps as usize],
        last: 0,
        next_candidate: 0,
        suspends: config.scheduler.active_warps < config.sm.warps,
        now: 0,
        log: Rc::clone(&log),
    };
    let design = design(config, || PartitionDesign {
        storage: storage(config, 4, flush_cycles, &log),
        schedulers: vec![Box::new(scheduler())],
    });
    let report = run_design(config, design, launches, RunOptions::default())?;
    let events = log.borrow().clone();
    Ok((report, events))
}

/// Cycles a kernel takes under the preset.
pub fn cycles(kernel: Kernel) -> u64 {
    run_single_level(&gebhart(), kernel).expect("runs").0.cycles
}

/// Cycles in which instructions were picked.
pub fn picks(events: &[(u64, Event)]) -> Vec<u64> {
    events.iter().filter(|(_, event)| matches!(event, Event::Picked(_))).map(|(cycle, _)| *cycle).collect()
}

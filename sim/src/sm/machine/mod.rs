//! The SM, cycle by cycle: [`front`] fetches and dispatches blocks, [`schedule`] picks, [`back`] reads operands,
//! executes and writes back.
//!
//! Each [`partition`] has one scheduler or several, and warps, operand storage and arithmetic units of its own. Blocks,
//! barriers, memory and the units in front of it are the SM's. Warp slot s belongs to partition s mod partitions.

mod answers;
mod back;
mod front;
mod instruction_buffers;
mod lines;
mod loads;
mod partition;
mod schedule;
mod slots;

use std::sync::Arc;

use warpfile_kernels::program::{InstId, Launches, Program, Races, Stream};

use crate::config::Config;

use super::blocks::{Block, BlockShape};
use super::circuits;
use super::design::{
    Admission, Design, FilledLine, Layer, LinePort, PartitionSize, RowUses, Unit, WarpPlace,
};
use super::kernel::Kernel;
use super::memory::MemoryUnit;
use super::operations::Operations;
use super::oracle::Oracle;
use super::report::{Residency, RunReport, SchedulerStatistics, Stalls, instructions_per_cycle};
use super::share::Share;
use super::timeline::TimelineCounter;
use super::timing::Timings;
use super::twins::Twins;
use super::warp::{Scoreboard, State};
use super::waveform::Recorder;
use super::working_set::WorkingSetCounter;
use super::{Accesses, PortActivity, Progress, RunOptions, SimError};
use crate::counters::Counts;
use crate::mechanisms::{Compiled, Stack};
use instruction_buffers::InstructionBuffers;
use partition::Partition;

pub(super) use slots::{CLASSES, SharedPipeline, SlotClass, arithmetic_unit};

/// Cycles between calls of the progress callback; a power of two.
const PROGRESS_INTERVAL: u64 = 1024;
/// Cycles from pick to operands without a tag stage, which the branch latency is stated for (Gebhart et al., §3.1).
const BASELINE_OPERAND_CYCLES: u64 = 3;
/// Waiting warps that an error lists.
const WARPS_LISTED: usize = 4;

/// The SM.
pub(super) struct Machine<'c, 'o> {
    config: &'c Config,
    progress: Option<&'o mut dyn FnMut(Progress)>,
    recorder: Option<Recorder<'o>>,
    /// `None` if no other seeds are tried.
    twins: Option<Twins>,
    share: Share,
    now: u64,
    last_progress: u64,

    /// Whose compiler passes run on each kernel.
    stack: Option<Stack>,
    partitions: Vec<Partition<'c>>,
    layers: Vec<Box<dyn Layer + 'c>>,
    blocks: Vec<Block>,
    /// When a unit that the partitions share takes the next instruction.
    shared_unit_free_at: [u64; Unit::COUNT],
    shared: SharedPipeline,
    buffers: InstructionBuffers,
    timings: Timings,
    memory: MemoryUnit,
    /// `None` in designs that keep all registers in the SM: data has the L1 for itself.
    line_port: Option<Box<dyn LinePort + 'c>>,
    /// Register lines on their way to the partitions, and the cycles in which they are there.
    lines: Vec<(u64, FilledLine)>,
    oracle: Oracle,
    /// `None` if it is not asked for.
    working_set: Option<WorkingSetCounter>,
    /// `None` if it is not asked for.
    timeline: Option<TimelineCounter>,
    totals: Totals,
}

/// What is counted in the cycle loop.
#[derive(Default)]
struct Totals {
    /// Of each launch.
    launch_kernels: Vec<String>,
    launch_cycles: Vec<u64>,
    launch_threads: Vec<u64>,
    launch_thread_instructions: Vec<u64>,
    blocks_seen: u64,
    blocks_ended: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    metadata_instructions: u64,
    answered_instructions: u64,
    operands: Accesses,
    stalls: Stalls,
    operations: Operations,
    scheduler: SchedulerStatistics,
    residency: Vec<Residency>,
}

/// The launch that is running.
struct Running<'s> {
    stream: &'s mut dyn Stream,
    /// The program as a compiler pass has rewritten it; `None` if it is the stream's own.
    rewritten: Option<Program>,
    kernel: Kernel,
    shape: BlockShape,
    /// The next block of the grid, whichever SM runs it.
    next_block: u64,
    /// Blocks that the SM has still to start.
    blocks_left: u64,
    resident_blocks: usize,
    /// What its warps race for, once that has been asked for.
    races: Option<Arc<Races>>,
}

impl Running<'_> {
    /// The program that runs.
    fn program(&self) -> &Program {
        self.rewritten.as_ref().unwrap_or(self.stream.program())
    }
}

impl<'c, 'o> Machine<'c, 'o> {
    pub fn new(
        config: &'c Config,
        design: Design<'c>,
        mut options: RunOptions<'o>,
    ) -> Result<Machine<'c, 'o>, SimError> {
        let share = Share { sm: options.sm, sms: config.chip.simulated_sms };
        if share.sm >= share.sms {
            return Err(SimError::NoSuchSm { sm: share.sm, simulated_sms: share.sms });
        }
        if design.partitions.len() as u64 != config.partitions() {
            return Err(SimError::Circuit {
                design: config.design.to_string(),
                problem: format!(
                    "{} partitions, but the SM has {} (sm.schedulers over sm.schedulers_per_partition)",
                    design.partitions.len(),
                    config.partitions()
                ),
            });
        }
        let per_partition = config.sm.schedulers_per_partition as usize;
        if let Some(other) = design.partitions.iter().find(|part| part.schedulers.len() != per_partition) {
            return Err(SimError::Circuit {
                design: config.design.to_string(),
                problem: format!(
                    "{} schedulers in a partition, but there are {per_partition} (sm.schedulers_per_partition)",
                    other.schedulers.len()
                ),
            });
        }
        let recorder = Recorder::new(config, &design, &mut options)?;
        let twins = (options.check_seeds > 0)
            .then(|| Twins::new(config.design.as_str(), &circuits::named(&design), options.check_seeds));
        let timeline = options.timeline.then(|| TimelineCounter::new(config, &design));
        let partitions = design.partitions.into_iter().map(|design| Partition::new(config, design));
        Ok(Machine {
            config,
            progress: options.progress,
            recorder,
            twins,
            share,
            now: 0,
            last_progress: 0,
            stack: design.stack,
            partitions: partitions.collect(),
            layers: design.layers,
            blocks: vec![Block::default(); config.sm.blocks as usize],
            shared_unit_free_at: [0; Unit::COUNT],
            shared: SharedPipeline::new(config),
            buffers: InstructionBuffers::new(
                config.slots.fetch,
                config.partitions() as usize,
                config.warps_per_partition() as usize,
            ),
            timings: Timings::new(config),
            memory: MemoryUnit::new(config),
            line_port: design.line_port,
            lines: Vec::with_capacity(lines::ON_THEIR_WAY),
            oracle: Oracle::default(),
            working_set: options.working_set_window.map(|window| {
                let (warps, partitions) = (config.sm.warps as usize, config.partitions() as usize);
                WorkingSetCounter::new(window.get(), partitions, warps / partitions)
            }),
            timeline,
            totals: Totals::default(),
        })
    }

    /// Runs every launch, one after the other.
    pub fn run(mut self, launches: &mut dyn Launches) -> Result<RunReport, SimError> {
        let run = self.run_launches(launches);
        // Also of a run that fails: its waveform shows why.
        let finished = self.recorder.take().map_or(Ok(()), Recorder::finish);
        run?;
        finished?;
        self.report_progress();
        Ok(self.report())
    }

    fn run_launches(&mut self, launches: &mut dyn Launches) -> Result<(), SimError> {
        while let Some(mut stream) = launches.next_launch()? {
            self.run_launch(stream.as_mut())?;
        }
        Ok(())
    }

    fn run_launch(&mut self, stream: &mut dyn Stream) -> Result<(), SimError> {
        let (rewritten, notes) = match &self.stack {
            Some(stack) => stack.compile(self.config, stream.program())?,
            None => Default::default(),
        };
        let program = rewritten.as_ref().unwrap_or(stream.program());
        let compiled = Compiled { program, notes: &notes };
        let mut registers = 0;
        for partition in &mut self.partitions {
            partition.design.storage.start_kernel(&compiled)?;
            registers = partition.design.storage.registers_per_warp(program);
        }
        for layer in &mut self.layers {
            layer.start_kernel(&compiled)?;
        }
        if !self.layers.is_empty() {
            let storage = &self.partitions[0].design.storage;
            let instructions = 0..program.instructions.len() as u32;
            let uses: Vec<RowUses> = instructions.map(|inst| storage.row_uses(InstId(inst))).collect();
            for layer in &mut self.layers {
                layer.start_rows(&uses);
            }
        }
        let mut kernel =
            Kernel::new(program, self.partitions[0].design.storage.as_ref(), &self.config.units)?;
        for partition in &mut self.partitions {
            partition.scoreboard = Scoreboard::new(partition.warps.count(), kernel.words);
        }
        if let Some(counter) = &mut self.working_set {
            counter.start_kernel(program.registers_per_thread);
        }
        let blocks = self.share.count(stream.launch().blocks());
        let mut shape = BlockShape::new(self.config, program, stream.launch(), blocks, registers)?;
        for layer in &mut self.layers {
            let admission = Admission {
                warps: shape.warps,
                threads: stream.launch().threads_per_block(),
                rows_per_warp: shape.rows_per_warp,
                blocks: shape.resident_blocks as u64,
                scratchpad_bytes: u64::from(stream.launch().shared_bytes),
                fits: shape.fits,
                of_partition: PartitionSize {
                    warps: self.config.warps_per_partition() as usize,
                    rows: (self.config.register_file.bank_groups * self.config.register_file.rows) as u32,
                },
                scratchpad_of_sm: self.config.sm.shared_memory_bytes,
            };
            shape.admit(layer.admit(&admission));
        }
        if let Some(order) = self.layers.iter().find_map(|layer| layer.register_order()) {
            kernel.reorder(order);
        }
        let begin = self.now;
        let instructions_before = self.totals.thread_instructions;
        self.totals.blocks_seen += blocks;
        self.totals.launch_threads.push(blocks * u64::from(stream.launch().threads_per_block()));
        if !self.totals.residency.contains(&shape.residency) {
            self.totals.residency.push(shape.residency.clone());
        }
        let mut launch = Running {
            stream,
            rewritten,
            kernel,
            shape,
            next_block: 0,
            blocks_left: blocks,
            resident_blocks: 0,
            races: None,
        };
        while launch.blocks_left > 0 || launch.resident_blocks > 0 {
            self.cycle(&mut launch)?;
        }
        self.execute_other_sms_blocks(&mut launch)?;
        self.totals.launch_kernels.push(launch.shape.residency.kernel);
        self.totals.launch_cycles.push(self.now - begin);
        let instructions = self.totals.thread_instructions - instructions_before;
        self.totals.launch_thread_instructions.push(instructions);
        Ok(())
    }

    fn cycle(&mut self, launch: &mut Running<'_>) -> Result<(), SimError> {
        for partition in 0..self.partitions.len() {
            self.free_ended_warps(launch, partition);
        }
        self.start_block(launch)?;
        self.place_registers();
        for partition in 0..self.partitions.len() {
            self.retry_fetches(launch, partition)?;
        }

        self.shared.start_cycle();
        if self.memory.answers_later() {
            self.take_arrived();
        }
        for partition in 0..self.partitions.len() {
            self.complete(launch, partition)?;
        }
        if self.line_port.is_some() {
            self.access_l1();
        }
        for partition in self.in_turn() {
            self.access_operands(launch, partition)?;
        }
        if self.line_port.is_none() {
            self.send_transactions(0);
        }

        if self.shared.is_limited() {
            for partition in self.in_turn() {
                self.schedule(launch, partition)?;
            }
        } else {
            for partition in 0..self.partitions.len() {
                self.schedule(launch, partition)?;
            }
        }

        let partitions = &self.partitions;
        self.buffers.end_cycle(|partition| partitions[partition].warps.alive());
        for layer in &mut self.layers {
            layer.end_cycle()?;
        }
        let partitions = || self.partitions.iter().map(|partition| &partition.design);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(circuits::all(partitions(), self.line_port.as_deref(), &self.layers))?;
        }
        if let Some(twins) = &mut self.twins {
            twins.follow(circuits::all(partitions(), self.line_port.as_deref(), &self.layers))?;
        }
        if let Some(counter) = &mut self.working_set {
            counter.end_cycle();
        }
        if let Some(timeline) = &mut self.timeline
            && timeline.end_cycle()
        {
            let count = self.partitions.len();
            let warp = |slot: usize| self.partitions[slot % count].warps.get(slot / count);
            let circuits = circuits::all(partitions(), self.line_port.as_deref(), &self.layers);
            timeline.end_column(|slot| warp(slot).state() != State::Empty, circuits);
        }
        self.now += 1;
        if self.now.is_multiple_of(PROGRESS_INTERVAL) {
            self.report_progress();
        }
        if self.now - self.last_progress > self.config.sm.watchdog_cycles && !self.something_is_due() {
            return Err(self.no_progress(launch));
        }
        Ok(())
    }

    /// Whether in the cycle before this one an instruction, a register line or a transaction before one that waits was on
    /// its way, however long that takes.
    fn something_is_due(&self) -> bool {
        !self.lines.is_empty()
            || self.memory.is_waiting(self.now - 1)
            || self.partitions.iter().any(|partition| !partition.completions.is_empty())
    }

    /// The partitions in the order in which they may take what the SM shares: each is first in its turn.
    fn in_turn(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.partitions.len();
        let first = if count == 1 { 0 } else { (self.now % count as u64) as usize };
        (first..count).chain(0..first)
    }

    /// Partition of a warp slot of the SM, and the warp's number there.
    fn place(&self, slot: usize) -> (usize, usize) {
        (slot % self.partitions.len(), slot / self.partitions.len())
    }

    fn report_progress(&mut self) {
        if let Some(callback) = &mut self.progress {
            callback(Progress {
                cycles: self.now,
                warp_instructions: self.totals.warp_instructions,
                blocks_ended: self.totals.blocks_ended,
                blocks: self.totals.blocks_seen,
            });
        }
    }

    fn no_progress(&self, launch: &Running<'_>) -> SimError {
        let mut waiting: Vec<String> = Vec::new();
        for slot in 0..self.config.sm.warps as usize {
            let (partition, number) = self.place(slot);
            let warp = self.partitions[partition].warps.get(number);
            if warp.state() == State::Empty || waiting.len() == WARPS_LISTED {
                continue;
            }
            let head = warp
                .head()
                .map_or("nothing fetched", |head| launch.program().instructions[head.index].text.as_str());
            let at = WarpPlace { partition, warp: number };
            let reasons = self.layers.iter().filter_map(|layer| layer.waits_for(at));
            let reasons: String = reasons.map(|reason| format!(", waits for {reason}")).collect();
            waiting.push(format!(
                "warp slot {slot} ({:?}, next: {head}, {} in flight{reasons})",
                warp.state(),
                warp.in_flight()
            ));
        }
        SimError::NoProgress {
            cycles: self.config.sm.watchdog_cycles,
            at: self.now,
            waiting: waiting.join("; "),
        }
    }

    fn report(self) -> RunReport {
        let totals = self.totals;
        let mut counters = Counts::default();
        for partition in &self.partitions {
            partition.design.storage.count(&mut counters);
            for scheduler in &partition.design.schedulers {
                scheduler.count(&mut counters);
            }
        }
        for layer in &self.layers {
            layer.count(&mut counters);
        }
        RunReport {
            design: self.config.design.to_string(),
            launches: totals.launch_cycles.len() as u64,
            sms: Vec::new(),
            blocks: totals.blocks_ended,
            cycles: self.now,
            launch_kernels: totals.launch_kernels,
            launch_cycles: totals.launch_cycles,
            launch_threads: totals.launch_threads,
            launch_thread_instructions: totals.launch_thread_instructions,
            warp_instructions: totals.warp_instructions,
            thread_instructions: totals.thread_instructions,
            metadata_instructions: totals.metadata_instructions,
            ipc: instructions_per_cycle(totals.warp_instructions, self.now),
            operands_checked: self.oracle.operands,
            lane_operands_checked: self.oracle.lanes,
            answered_instructions: totals.answered_instructions,
            results_checked: self.oracle.results,
            operands: totals.operands,
            stalls: totals.stalls,
            operations: totals.operations,
            residency: totals.residency,
            scheduler: totals.scheduler,
            memory: self.memory.statistics(),
            counters,
            activity: activity(&self.partitions),
            working_set: self.working_set.as_ref().map(WorkingSetCounter::counted),
            timeline: self.timeline.as_ref().map(TimelineCounter::timeline),
        }
    }
}

/// Activity of every partition's table ports; those of several partitions begin with the partition's name.
fn activity(partitions: &[Partition<'_>]) -> Vec<PortActivity> {
    if let [only] = partitions {
        return only.design.storage.activity();
    }
    let of_one = |(index, partition): (usize, &Partition<'_>)| {
        let ports = partition.design.storage.activity().into_iter();
        ports.map(move |port| PortActivity { port: format!("partition{index}.{}", port.port), ..port })
    };
    partitions.iter().enumerate().flat_map(of_one).collect()
}

//! The SM, cycle by cycle: [`front`] fetches and dispatches blocks, [`schedule`] picks, [`back`] reads operands,
//! executes and writes back.
//!
//! Each scheduler is the head of a [`partition`] with warps, operand storage and arithmetic units of its own. Blocks,
//! barriers, memory and the units in front of it are the SM's. Warp slot s belongs to partition s mod partitions.

mod back;
mod front;
mod lines;
mod partition;
mod schedule;

use warpfile_kernels::program::{Launches, Program, Stream};

use crate::config::Config;

use super::blocks::{Block, BlockShape};
use super::circuits::L1PortCircuit;
use super::design::{Design, FilledLine, PartitionDesign, Unit};
use super::kernel::Kernel;
use super::memory::MemoryUnit;
use super::oracle::Oracle;
use super::report::{
    RegisterTraffic, Residency, RunReport, SchedulerStatistics, Stalls, instructions_per_cycle,
};
use super::share::Share;
use super::warp::{Scoreboard, State};
use super::waveform::Recorder;
use super::working_set::WorkingSetCounter;
use super::{
    Accesses, PortActivity, PreloadStatistics, Progress, RenamingStatistics, RunOptions, SimError,
    StagingStatistics, designs,
};
use partition::Partition;

/// Cycles between calls of the progress callback; a power of two.
const PROGRESS_INTERVAL: u64 = 1024;
/// Cycles from pick to operands without a tag stage, which the branch latency is stated for (RFC §3.1).
const BASELINE_OPERAND_CYCLES: u64 = 3;
/// Waiting warps that an error lists.
const WARPS_LISTED: usize = 4;

/// The SM.
pub(super) struct Machine<'c, 'o> {
    config: &'c Config,
    progress: Option<&'o mut dyn FnMut(Progress)>,
    recorder: Option<Recorder<'o>>,
    share: Share,
    now: u64,
    last_progress: u64,

    partitions: Vec<Partition<'c>>,
    blocks: Vec<Block>,
    /// When a unit that the partitions share takes the next instruction.
    shared_unit_free_at: [u64; Unit::COUNT],
    memory: MemoryUnit,
    /// `None` in designs that keep all registers in the SM: data has the L1 for itself.
    l1_port: Option<L1PortCircuit>,
    /// Register lines on their way to the partitions, and the cycles in which they are there.
    lines: Vec<(u64, FilledLine)>,
    oracle: Oracle,
    /// `None` if it is not asked for.
    working_set: Option<WorkingSetCounter>,
    counts: Counts,
}

/// What is counted in the cycle loop.
#[derive(Default)]
struct Counts {
    /// Cycles of each launch.
    launch_cycles: Vec<u64>,
    blocks_seen: u64,
    blocks_ended: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    metadata_instructions: u64,
    operands: Accesses,
    stalls: Stalls,
    scheduler: SchedulerStatistics,
    residency: Vec<Residency>,
}

/// The launch that is running.
struct Running<'s> {
    stream: &'s mut dyn Stream,
    /// The program as compiled for the design; `None` if it is the stream's own.
    compiled: Option<Program>,
    kernel: Kernel,
    shape: BlockShape,
    /// The next block of the grid, whichever SM runs it.
    next_block: u64,
    /// Blocks that the SM has still to start.
    blocks_left: u64,
    resident_blocks: usize,
}

impl Running<'_> {
    /// The program that runs.
    fn program(&self) -> &Program {
        self.compiled.as_ref().unwrap_or(self.stream.program())
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
        if design.partitions.len() as u64 != config.sm.schedulers {
            return Err(SimError::Circuit {
                design: config.design.as_str(),
                problem: format!(
                    "{} partitions, but the SM has {} schedulers (sm.schedulers)",
                    design.partitions.len(),
                    config.sm.schedulers
                ),
            });
        }
        let keeps_lines = |design: &PartitionDesign<'_>| design.storage.keeps_lines_in_memory();
        let l1_port = match design.partitions.iter().any(keeps_lines) {
            true => Some(designs::l1_port(config, &options)?),
            false => None,
        };
        let recorder = Recorder::new(config, &design, l1_port.as_ref(), &mut options)?;
        let partitions = design.partitions.into_iter().map(|design| Partition::new(config, design));
        Ok(Machine {
            config,
            progress: options.progress,
            recorder,
            share,
            now: 0,
            last_progress: 0,
            partitions: partitions.collect(),
            blocks: vec![Block::default(); config.sm.blocks as usize],
            shared_unit_free_at: [0; Unit::COUNT],
            memory: MemoryUnit::new(config),
            l1_port,
            lines: Vec::with_capacity(lines::ON_THEIR_WAY),
            oracle: Oracle::default(),
            working_set: options.working_set_window.map(|window| {
                let (warps, partitions) = (config.sm.warps as usize, config.sm.schedulers as usize);
                WorkingSetCounter::new(window.get(), partitions, warps / partitions)
            }),
            counts: Counts::default(),
        })
    }

    /// Runs every launch, one after the other.
    pub fn run(mut self, launches: &mut dyn Launches) -> Result<RunReport, SimError> {
        while let Some(mut stream) = launches.next_launch()? {
            self.run_launch(stream.as_mut())?;
        }
        self.report_progress();
        if let Some(recorder) = self.recorder.take() {
            recorder.finish()?;
        }
        Ok(self.report())
    }

    fn run_launch(&mut self, stream: &mut dyn Stream) -> Result<(), SimError> {
        let compiled = designs::compile(self.config, stream.program())?;
        let program = compiled.as_ref().unwrap_or(stream.program());
        let kernel = Kernel::new(program, compiled.is_some())?;
        let mut registers = 0;
        for partition in &mut self.partitions {
            partition.design.storage.start_kernel(program)?;
            registers = partition.design.storage.registers_per_warp(program);
            partition.scoreboard = Scoreboard::new(partition.warps.count(), kernel.words);
        }
        if let Some(counter) = &mut self.working_set {
            counter.start_kernel(program.registers_per_thread);
        }
        let blocks = self.share.count(stream.launch().blocks());
        let shape = BlockShape::new(self.config, program, stream.launch(), blocks, registers)?;
        let begin = self.now;
        self.counts.blocks_seen += blocks;
        if !self.counts.residency.contains(&shape.residency) {
            self.counts.residency.push(shape.residency.clone());
        }
        let mut launch = Running {
            stream,
            compiled,
            kernel,
            shape,
            next_block: 0,
            blocks_left: blocks,
            resident_blocks: 0,
        };
        while launch.blocks_left > 0 || launch.resident_blocks > 0 {
            self.cycle(&mut launch)?;
        }
        self.execute_other_sms_blocks(&mut launch)?;
        self.counts.launch_cycles.push(self.now - begin);
        Ok(())
    }

    fn cycle(&mut self, launch: &mut Running<'_>) -> Result<(), SimError> {
        for partition in 0..self.partitions.len() {
            self.free_ended_warps(launch, partition);
        }
        self.start_block(launch)?;
        for partition in 0..self.partitions.len() {
            self.retry_fetches(launch, partition)?;
        }

        for partition in 0..self.partitions.len() {
            self.complete(launch, partition)?;
        }
        if self.l1_port.is_some() {
            self.access_l1();
        }
        for partition in self.in_turn() {
            self.access_operands(launch, partition)?;
        }
        if self.l1_port.is_none() {
            self.send_transactions(0);
        }

        for partition in 0..self.partitions.len() {
            self.schedule(launch, partition)?;
        }

        if let Some(recorder) = &mut self.recorder {
            let partitions = self.partitions.iter().map(|partition| &partition.design);
            recorder.record(partitions, self.l1_port.as_ref())?;
        }
        if let Some(counter) = &mut self.working_set {
            counter.end_cycle();
        }
        self.now += 1;
        if self.now.is_multiple_of(PROGRESS_INTERVAL) {
            self.report_progress();
        }
        if self.now - self.last_progress > self.config.sm.watchdog_cycles {
            return Err(self.no_progress(launch));
        }
        Ok(())
    }

    /// The partitions in the order in which they may take a shared unit: each is first in its turn.
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
                warp_instructions: self.counts.warp_instructions,
                blocks_ended: self.counts.blocks_ended,
                blocks: self.counts.blocks_seen,
            });
        }
    }

    fn no_progress(&self, launch: &Running<'_>) -> SimError {
        let mut waiting: Vec<String> = Vec::new();
        for slot in 0..self.config.sm.warps as usize {
            let (partition, warp) = self.place(slot);
            let warp = self.partitions[partition].warps.get(warp);
            if warp.state() == State::Empty || waiting.len() == WARPS_LISTED {
                continue;
            }
            let head = warp
                .head()
                .map_or("nothing fetched", |head| launch.program().instructions[head.index].text.as_str());
            waiting.push(format!(
                "warp slot {slot} ({:?}, next: {head}, {} in flight)",
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
        let counts = self.counts;
        let mut registers = RegisterTraffic { operands: counts.operands, ..RegisterTraffic::default() };
        let mut preloads = PreloadStatistics::default();
        let mut renaming = RenamingStatistics::default();
        let mut staging = StagingStatistics::default();
        for partition in &self.partitions {
            registers.mrf.add(partition.design.storage.mrf());
            registers.rfc.add(partition.design.storage.rfc());
            registers.hierarchy.add(partition.design.storage.hierarchy());
            preloads.add(partition.design.storage.preloads());
            renaming.add(partition.design.storage.renaming());
            staging.add(partition.design.storage.staging());
        }
        registers.finish();
        RunReport {
            design: self.config.design.as_str().to_owned(),
            launches: counts.launch_cycles.len() as u64,
            blocks: counts.blocks_ended,
            cycles: self.now,
            launch_cycles: counts.launch_cycles,
            warp_instructions: counts.warp_instructions,
            thread_instructions: counts.thread_instructions,
            metadata_instructions: counts.metadata_instructions,
            ipc: instructions_per_cycle(counts.warp_instructions, self.now),
            operands_checked: self.oracle.operands,
            lane_operands_checked: self.oracle.lanes,
            registers,
            stalls: counts.stalls,
            residency: counts.residency,
            scheduler: counts.scheduler,
            preloads,
            renaming,
            staging,
            memory: self.memory.statistics(),
            activity: activity(&self.partitions),
            working_set: self.working_set.as_ref().map(WorkingSetCounter::counted),
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

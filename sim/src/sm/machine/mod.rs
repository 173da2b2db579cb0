//! The SM, cycle by cycle: [`front`] fetches and dispatches blocks, [`schedule`] picks, [`back`] reads operands,
//! executes and writes back.

mod back;
mod front;
mod schedule;

use std::collections::VecDeque;

use warpfile_kernels::program::{Launches, Stream};

use crate::config::Config;

use super::blocks::{Block, BlockShape};
use super::design::{Design, Flush, Issue, StorageOutputs, Unit};
use super::in_flight::{Completions, InFlight, ResultQueue};
use super::kernel::Kernel;
use super::memory::MemoryUnit;
use super::oracle::Oracle;
use super::report::{
    RegisterTraffic, Residency, RunReport, SchedulerStatistics, Stalls, instructions_per_cycle,
};
use super::share::Share;
use super::warp::{Scoreboard, State, Warps};
use super::waveform::Recorder;
use super::{Accesses, Progress, RunOptions, SimError};

/// Cycles between calls of the progress callback; a power of two.
const PROGRESS_INTERVAL: u64 = 1024;
/// Cycles from pick to operands without a tag stage, which the branch latency is stated for (RFC §3.1).
const BASELINE_OPERAND_CYCLES: u64 = 3;
/// Waiting warps that an error lists.
const WARPS_LISTED: usize = 4;

/// The SM.
pub(super) struct Machine<'c, 'o> {
    config: &'c Config,
    design: Design<'c>,
    progress: Option<&'o mut dyn FnMut(Progress)>,
    recorder: Option<Recorder<'o>>,
    share: Share,
    now: u64,
    last_progress: u64,

    warps: Warps,
    blocks: Vec<Block>,
    scoreboard: Scoreboard,
    in_flight: InFlight,

    /// Picked, not yet taken by the operand storage.
    issue_register: Option<Issue>,
    outputs: StorageOutputs,
    unit_free_at: [u64; Unit::COUNT],
    memory: MemoryUnit,
    completions: Completions,
    results: ResultQueue,
    fills: ResultQueue,
    /// Slots to be flushed, one a cycle.
    flushes: VecDeque<Flush>,
    /// Slot whose flush is offered in this cycle.
    flush_offered: Option<usize>,

    operand_cycles: u64,
    oracle: Oracle,
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
    operands: Accesses,
    stalls: Stalls,
    scheduler: SchedulerStatistics,
    residency: Vec<Residency>,
}

/// The launch that is running.
struct Running<'s> {
    stream: &'s mut dyn Stream,
    kernel: Kernel,
    shape: BlockShape,
    /// The next block of the grid, whichever SM runs it.
    next_block: u64,
    /// Blocks that the SM has still to start.
    blocks_left: u64,
    resident_blocks: usize,
}

impl<'c, 'o> Machine<'c, 'o> {
    pub fn new(
        config: &'c Config,
        design: Design<'c>,
        options: RunOptions<'o>,
    ) -> Result<Machine<'c, 'o>, SimError> {
        let share = Share { sm: options.sm, sms: config.chip.simulated_sms };
        if share.sm >= share.sms {
            return Err(SimError::NoSuchSm { sm: share.sm, simulated_sms: share.sms });
        }
        let recorder =
            options.waveform.map(|waveform| Recorder::new(config, &design, waveform)).transpose()?;
        let warps = config.sm.warps as usize;
        let operand_cycles = design.storage.operand_cycles();
        Ok(Machine {
            config,
            design,
            progress: options.progress,
            recorder,
            share,
            now: 0,
            last_progress: 0,
            warps: Warps::new(warps),
            blocks: vec![Block::default(); config.sm.blocks as usize],
            scoreboard: Scoreboard::new(warps, 1),
            in_flight: InFlight::new(),
            issue_register: None,
            outputs: StorageOutputs::default(),
            unit_free_at: [0; Unit::COUNT],
            memory: MemoryUnit::new(config),
            completions: Completions::new(),
            results: ResultQueue::with_capacity(super::in_flight::CAPACITY),
            fills: ResultQueue::with_capacity(super::in_flight::CAPACITY),
            flushes: VecDeque::with_capacity(warps),
            flush_offered: None,
            operand_cycles,
            oracle: Oracle::default(),
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
        let program = stream.program();
        let kernel = Kernel::new(program)?;
        self.design.storage.start_kernel(program)?;
        let registers = self.design.storage.registers_per_warp(program);
        let blocks = self.share.count(stream.launch().blocks());
        let shape = BlockShape::new(self.config, program, stream.launch(), blocks, registers)?;
        self.scoreboard = Scoreboard::new(self.warps.count(), kernel.words);
        let begin = self.now;
        self.counts.blocks_seen += blocks;
        if !self.counts.residency.contains(&shape.residency) {
            self.counts.residency.push(shape.residency.clone());
        }
        let mut launch =
            Running { stream, kernel, shape, next_block: 0, blocks_left: blocks, resident_blocks: 0 };
        while launch.blocks_left > 0 || launch.resident_blocks > 0 {
            self.cycle(&mut launch)?;
        }
        self.execute_other_sms_blocks(&mut launch)?;
        self.counts.launch_cycles.push(self.now - begin);
        Ok(())
    }

    fn cycle(&mut self, launch: &mut Running<'_>) -> Result<(), SimError> {
        self.free_ended_warps(launch);
        self.start_block(launch)?;
        self.retry_fetches(launch)?;

        self.complete(launch)?;
        self.access_operands(launch)?;
        self.send_transactions();

        self.schedule(launch)?;

        if let Some(recorder) = &mut self.recorder {
            recorder.record(&self.design)?;
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
        for slot in 0..self.warps.count() {
            let warp = self.warps.get(slot);
            if warp.state() == State::Empty || waiting.len() == WARPS_LISTED {
                continue;
            }
            let head = warp.head().map_or("nothing fetched", |head| {
                launch.stream.program().instructions[head.index].text.as_str()
            });
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
        let storage = self.design.storage;
        let mut registers = RegisterTraffic {
            operands: counts.operands,
            mrf: storage.mrf(),
            rfc: storage.rfc(),
            ..RegisterTraffic::default()
        };
        registers.finish();
        RunReport {
            design: self.config.design.as_str().to_owned(),
            launches: counts.launch_cycles.len() as u64,
            blocks: counts.blocks_ended,
            cycles: self.now,
            launch_cycles: counts.launch_cycles,
            warp_instructions: counts.warp_instructions,
            thread_instructions: counts.thread_instructions,
            ipc: instructions_per_cycle(counts.warp_instructions, self.now),
            operands_checked: self.oracle.operands,
            lane_operands_checked: self.oracle.lanes,
            registers,
            stalls: counts.stalls,
            residency: counts.residency,
            scheduler: counts.scheduler,
            memory: self.memory.statistics(),
            activity: storage.activity(),
        }
    }
}

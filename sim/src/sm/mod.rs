//! The SM harness: runs kernels through a design and checks every operand.

mod blocks;
mod chip;
mod circuits;
pub mod design;
mod engine_name;
mod error;
mod in_flight;
mod interposer;
mod kept_report;
mod kernel;
mod machine;
mod members;
mod memory;
mod operations;
mod oracle;
mod pipeline_log;
mod report;
mod share;
mod timeline;
mod timing;
mod together;
mod twins;
mod warp;
mod waveform;
mod working_set;

use std::io::Write;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

use warpfile_engine::CodeCache;
use warpfile_engine::waveform::Format;
use warpfile_kernels::program::Launches;

use crate::config::Config;
use crate::mechanisms::Build;
use design::Design;
use machine::Machine;
use pipeline_log::PipelineLogger;

pub use chip::{Channel, ChipSm, chip_sms};
pub use engine_name::EngineName;
pub use error::{Compared, SimError, WrongOperand};
pub use kept_report::KeptReport;
pub use operations::{OperationClass, Operations};
pub use pipeline_log::PipelineLog;
pub use report::{
    Accesses, CacheStatistics, MRF, MemoryStatistics, PortActivity, RegisterLineStatistics, Residency,
    ResidencyLimit, RunReport, SchedulerStatistics, SmReport, Stalls, TableAccesses, percent_less,
};
pub use timeline::{Timeline, Track, TrackRow};
pub(crate) use warp::each;
pub use working_set::WorkingSet;

/// What a run does beside simulating.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Called every thousand cycles or so with how far the run is.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
    /// Waveform of the design's circuits.
    pub waveform: Option<Waveform<'a>>,
    /// Log of every instruction's way through the pipeline. A design of the caller's has its own.
    pub pipeline_log: Option<PipelineLog<'a>>,
    /// What passes the ports of one of the design's circuits.
    pub port_traffic: Option<PortTraffic<'a>>,
    /// What state without a reset starts from; no figure may depend on it. A design of the caller's has its own.
    pub seed: u64,
    /// How many other seeds are tried besides: each circuit runs so many times more beside itself, and the run ends where an
    /// output depends on state without a reset.
    pub check_seeds: u64,
    /// What runs the circuits; no figure may depend on it. A design of the caller's has its own.
    pub engine: EngineName,
    /// Which of `chip.simulated_sms` SMs is run, from 0. [`RunReport::together`] sums up the reports of all.
    pub sm: u64,
    /// This SM's end of what the SMs of a chip tell each other; what compares SMs is off without.
    pub chip: Option<ChipSm>,
    /// Cycles of a window in which the register working set is counted, at least 1; it is not counted if `None`.
    pub working_set_window: Option<NonZeroU64>,
    /// Whether the run is followed over time.
    pub timeline: bool,
    /// Where compiled circuits of earlier runs are looked for and kept. A design of the caller's has its own.
    pub code_cache: Option<Arc<CodeCache>>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Cycles simulated.
    pub cycles: u64,
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// Blocks that have ended.
    pub blocks_ended: u64,
    /// Blocks of the launches seen so far.
    pub blocks: u64,
}

/// A waveform to write.
pub struct Waveform<'a> {
    /// What it is written as, and where it goes.
    pub format: Box<dyn Format + 'a>,
    /// Limits it to a circuit or a part of one: `register_file`, `scheduler`, or a path below
    /// (`register_file.main`), after `partition0_` … if there are several partitions (`scheduler0` if one has
    /// several); all if `None`.
    pub scope: Option<String>,
    /// Cycles it covers; all if `None`.
    pub cycles: Option<Range<u64>>,
}

/// The traffic at a circuit's ports, to be recorded; see [`warpfile_engine::recording`].
pub struct PortTraffic<'a> {
    /// Where the recording goes.
    pub writer: &'a mut dyn Write,
    /// Which circuit: `register_file`, `scheduler`, `l1_port`, or a path below (`register_file.cache`), after
    /// `partition0_` … if there are several partitions (`scheduler0` if one has several).
    pub circuit: String,
    /// Cycles that are recorded at most, from the first; all if `None`.
    pub cycles: Option<u64>,
}

/// Runs an SM's blocks of every launch, launch after launch, and reports.
///
/// Of n simulated SMs, SM k runs the blocks k, k + n, k + 2n, … of every grid. The others are executed only
/// functionally, in their turn: every SM sees the memory that all blocks before its own have left, whether or not
/// the other SMs are run, and in which order.
///
/// Mechanisms that look at values do without if these are not those of the kernel
/// ([`Mechanism::without_values`](crate::mechanisms::Mechanism::without_values)).
pub fn run(
    config: &Config,
    launches: &mut dyn Launches,
    mut options: RunOptions<'_>,
) -> Result<RunReport, SimError> {
    let mut config = config.clone();
    if !launches.has_values()? {
        for mechanism in config.design.clone().mechanisms() {
            mechanism.without_values(&mut config)?;
        }
    }
    config.validate()?;
    let mut design = config.design.build(&Build::new(&config, &options))?;
    if let Some(log) = options.pipeline_log.take() {
        let (partitions, warps) = (design.partitions.len(), config.warps_per_partition() as usize);
        design.layers.push(Box::new(PipelineLogger::new(log, partitions, warps)));
    }
    run_design(&config, design, launches, options)
}

/// As [`run`], with a design of the caller's. `config.design` only names it.
pub fn run_design<'c>(
    config: &'c Config,
    design: Design<'c>,
    launches: &mut dyn Launches,
    mut options: RunOptions<'_>,
) -> Result<RunReport, SimError> {
    // Held until the run has ended: nothing more is told then.
    let _chip = options.chip.take();
    config.validate()?;
    Machine::new(config, design, options)?.run(launches)
}

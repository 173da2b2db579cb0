//! The SM harness: runs kernels through a design and checks every operand.

mod error;
mod report;

use std::io::Write;
use std::ops::Range;

use warpfile_kernels::program::Launches;

use crate::config::Config;

pub use error::{SimError, WrongOperand};
pub use report::{
    Accesses, CacheStatistics, MemoryStatistics, PortActivity, RegisterTraffic, Residency, ResidencyLimit,
    RunReport, SchedulerStatistics, Stalls,
};

/// What a run does beside simulating.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Called now and then with how far the run is.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
    /// Waveform of the design's circuits.
    pub waveform: Option<Waveform<'a>>,
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
    /// Where the VCD goes.
    pub writer: &'a mut dyn Write,
    /// Instance path below the design to which it is limited; all of it if `None`.
    pub scope: Option<String>,
    /// Cycles it covers; all if `None`.
    pub cycles: Option<Range<u64>>,
}

/// Runs every launch, one after the other, and reports.
pub fn run(
    config: &Config,
    launches: &mut dyn Launches,
    options: RunOptions<'_>,
) -> Result<RunReport, SimError> {
    config.validate()?;
    let _ = (launches, options);
    Err(SimError::Circuit {
        design: config.design.as_str(),
        problem: "its circuits are not connected to the harness".to_owned(),
    })
}

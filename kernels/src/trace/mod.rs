//! Trace files: our container and Accel-Sim text.
//!
//! [`open`] reads either, [`write_warpfile`] and [`write_accelsim`] write them from any [`Launches`]. All of them
//! stream: what they hold depends on the static program and on the blocks that are being run, not on how long the
//! trace is.
//!
//! | format | static program | values | source |
//! |---|---|---|---|
//! | container (`.wft`) | stored | stored | [`container`] |
//! | Accel-Sim text, versions none to 6 | rebuilt from what was observed ([`accelsim`]) | version 6 with `Val`; else one invented for every write | Accel-Sim tracer |

pub mod accelsim;
pub mod container;
pub mod output;
mod registers;
mod report;
#[cfg(test)]
mod tests;

use crate::program::{LANES, Launch, Launches, Stream, StreamError};
use std::path::{Path, PathBuf};

pub use accelsim::write_accelsim;
pub use container::write_warpfile;
pub use report::{KillClaims, TraceFormat, TraceReport, TraceSummary};

/// Warps of a block accepted: twice what CUDA allows.
const MAX_WARPS: usize = 64;
/// Registers a thread may use: what bounds the memory of a running warp.
const MAX_REGISTERS: u16 = 4096;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A file is not what it should be, or cannot be read or written.
    #[error("{}{}: {problem}", .file.display(), .line.map(|line| format!(":{line}")).unwrap_or_default())]
    File {
        /// The file.
        file: PathBuf,
        /// Line of a text file, counted from 1.
        line: Option<u64>,
        /// What was found and what is accepted.
        problem: String,
    },
    /// The stream that was to be written ended with an error.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

impl TraceError {
    fn file(file: &Path, problem: impl ToString) -> TraceError {
        TraceError::File { file: file.to_path_buf(), line: None, problem: problem.to_string() }
    }

    fn line(file: &Path, line: u64, problem: impl ToString) -> TraceError {
        TraceError::File { file: file.to_path_buf(), line: Some(line), problem: problem.to_string() }
    }
}

impl From<TraceError> for StreamError {
    fn from(error: TraceError) -> StreamError {
        StreamError(error.to_string())
    }
}

/// A trace opened for reading: its launches in order, and what was noticed on the way.
pub struct OpenTrace {
    kind: Kind,
}

enum Kind {
    AccelSim(accelsim::AccelSimTrace),
    Container(container::ContainerTrace),
}

/// Opens a trace: a `kernelslist.g`, one `.traceg` or `.traceg.xz`, or our container, told apart by what the file
/// starts with.
///
/// # Errors
/// The file cannot be read, or starts like none of them.
pub fn open(path: &Path) -> Result<OpenTrace, TraceError> {
    let kind = if container::is_container(path)? {
        Kind::Container(container::ContainerTrace::open(path)?)
    } else {
        Kind::AccelSim(accelsim::AccelSimTrace::open(path)?)
    };
    Ok(OpenTrace { kind })
}

/// The files that a trace consists of: itself, and those that it lists.
///
/// # Errors
/// It cannot be read, or its list names something else.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let mut files = vec![path.to_path_buf()];
    if !container::is_container(path)? {
        files.extend(accelsim::AccelSimTrace::open(path)?.listed()?);
    }
    Ok(files)
}

impl OpenTrace {
    /// What was noticed so far. An Accel-Sim kernel is surveyed when its launch is asked for, so the report is
    /// complete once [`Launches::next_launch`] has returned `None`.
    pub fn report(&self) -> &TraceReport {
        match &self.kind {
            Kind::AccelSim(trace) => trace.report(),
            Kind::Container(trace) => trace.report(),
        }
    }
}

impl Launches for OpenTrace {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        match &mut self.kind {
            Kind::AccelSim(trace) => trace.next_launch(),
            Kind::Container(trace) => trace.next_launch(),
        }
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        match &mut self.kind {
            Kind::AccelSim(trace) => trace.has_values(),
            Kind::Container(trace) => trace.has_values(),
        }
    }
}

/// Checks that blocks and warps can be counted.
fn check_launch(launch: &Launch) -> Result<(), String> {
    let threads = launch.block.iter().try_fold(1u64, |product, &n| product.checked_mul(u64::from(n)));
    let blocks = launch.grid.iter().try_fold(1u64, |product, &n| product.checked_mul(u64::from(n)));
    let most = (MAX_WARPS * LANES) as u64;
    match (blocks, threads) {
        (Some(_), Some(threads)) if (1..=most).contains(&threads) => Ok(()),
        (Some(_), _) => Err(format!("block of {:?} threads; 1 to {most} in all are accepted", launch.block)),
        (None, _) => Err(format!("grid of {:?} blocks; fewer than 2^64 are accepted", launch.grid)),
    }
}

//! Trace files: our container and Accel-Sim text.
//!
//! [`open`] reads, [`write_warpfile`] writes from any [`Launches`]. Both stream: what they hold depends on the static
//! program and on the blocks that are being run, not on how long the trace is.

pub mod container;
mod output;
mod registers;
mod report;
#[cfg(test)]
mod tests;

use crate::program::{Launches, Stream, StreamError};
use std::path::{Path, PathBuf};

pub use container::write_warpfile;
pub use report::{KillClaims, TraceFormat, TraceReport, TraceSummary};

/// Warps of a block accepted: twice what CUDA allows.
const MAX_WARPS: usize = 64;

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

    #[cfg_attr(all(), allow(dead_code, reason = "for the Accel-Sim reader"))]
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
    trace: container::ContainerTrace,
}

/// Opens a trace.
///
/// # Errors
/// The file cannot be read, or is not a trace.
pub fn open(path: &Path) -> Result<OpenTrace, TraceError> {
    Ok(OpenTrace { trace: container::ContainerTrace::open(path)? })
}

impl OpenTrace {
    /// What was noticed so far; complete once [`Launches::next_launch`] has returned `None`.
    pub fn report(&self) -> &TraceReport {
        self.trace.report()
    }
}

impl Launches for OpenTrace {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        self.trace.next_launch()
    }
}

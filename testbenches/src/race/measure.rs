//! Builds in processes of their own, so that the memory they need can be told apart.

use std::env;
use std::process::Command;

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::RaceError;

/// What it took to get a side to its first cycle.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Build {
    /// From nothing to the end of the first cycle.
    pub first_cycle_seconds: f64,
    /// Peak resident memory, of the largest process where there are several.
    pub peak_kib: u64,
}

/// A part of the race that runs in a child process: the program that runs the race calls itself with `COMMAND` and the
/// value as JSON, and prints what [`run`](Measured::run) gives as JSON.
pub trait Measured: Serialize + DeserializeOwned {
    /// The argument that asks for it.
    const COMMAND: &'static str;

    /// The measurement, in this process.
    fn run(&self) -> Result<Build, RaceError>;

    /// The measurement, in a process of its own.
    fn run_apart(&self) -> Result<Build, RaceError> {
        let command = Self::COMMAND.to_string();
        let start = |source| RaceError::Start { command: command.clone(), source };
        let program = env::current_exe().map_err(start)?;
        // A struct of names, numbers and paths always serialises.
        let value = serde_json::to_string(self).unwrap_or_default();
        let output = Command::new(program).args([Self::COMMAND, &value]).output().map_err(start)?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr).trim().to_string();
            return Err(RaceError::Failed { command, output });
        }
        let answer = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&answer).map_err(|_| RaceError::Answer {
            command,
            answer: answer.trim().to_string(),
            expected: "a build as JSON",
        })
    }
}

/// Processor time of this thread, nanoseconds: what other processes of the machine take is not in it.
pub(super) fn processor_nanoseconds() -> f64 {
    // It cannot fail: every Linux has this clock.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0.0, |time| time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64)
}

/// Peak resident memory of this process, KiB.
pub(super) fn peak_of_this_process() -> u64 {
    peak(UsageWho::RUSAGE_SELF)
}

/// Peak resident memory of the largest process that this one has started and that has ended, KiB.
pub(super) fn peak_of_children() -> u64 {
    peak(UsageWho::RUSAGE_CHILDREN)
}

/// It cannot fail: both arguments exist.
fn peak(who: UsageWho) -> u64 {
    getrusage(who).map_or(0, |usage| u64::try_from(usage.max_rss()).unwrap_or(0))
}

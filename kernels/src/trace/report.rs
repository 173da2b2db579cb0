//! What a reader tells about a trace beside its instructions.

use serde::Serialize;
use std::collections::BTreeMap;

/// Distinct warnings kept; later ones are only counted.
const MAX_WARNINGS: usize = 100;

/// Which kind of file a trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceFormat {
    /// Our container.
    Warpfile,
    /// Accel-Sim's text.
    AccelSim,
}

/// What was noticed while a trace was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceReport {
    /// Which kind of file it is.
    pub format: TraceFormat,
    /// Versions met: of the container, or of the Accel-Sim tracer of each kernel file (`none` without a version
    /// line), each once.
    pub versions: Vec<String>,
    /// Launches opened so far.
    pub launches: u64,
    /// Warp instructions whose registers' values the trace gives.
    pub instructions_with_values: u64,
    /// Warp instructions for which values had to be invented.
    pub instructions_without_values: u64,
    /// Operand lanes whose recorded value is not the one last written; they are treated as not known.
    pub contradicting_lanes: u64,
    /// Last reads (kills): claimed of those that the observations would allow.
    pub kills: KillClaims,
    /// Warnings in order of appearance, alike ones counted.
    warnings: Vec<(String, u64)>,
    /// Warnings beyond the kept ones.
    warnings_dropped: u64,
    #[serde(skip)]
    places: BTreeMap<String, usize>,
}

/// Register operands that are marked as last reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KillClaims {
    /// Static operands that were marked.
    pub claimed: u64,
    /// Static operands after which no lane was ever seen to read the value again.
    pub possible: u64,
    /// Static register operands.
    pub operands: u64,
}

/// What a writer has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceSummary {
    /// Launches.
    pub launches: u64,
    /// Blocks of all launches.
    pub blocks: u64,
    /// Warp instructions.
    pub instructions: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl TraceReport {
    pub(super) fn new(format: TraceFormat) -> TraceReport {
        TraceReport {
            format,
            versions: Vec::new(),
            launches: 0,
            instructions_with_values: 0,
            instructions_without_values: 0,
            contradicting_lanes: 0,
            kills: KillClaims::default(),
            warnings: Vec::new(),
            warnings_dropped: 0,
            places: BTreeMap::new(),
        }
    }

    /// Whether every instruction read so far came with its registers' values.
    pub fn carries_values(&self) -> bool {
        self.instructions_without_values == 0 && self.instructions_with_values > 0
    }

    /// Warnings in order of first appearance, each with how often it was met.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, u64)> {
        self.warnings.iter().map(|(text, times)| (text.as_str(), *times))
    }

    /// Distinct warnings that were not kept, for there were too many.
    pub fn warnings_dropped(&self) -> u64 {
        self.warnings_dropped
    }

    pub(super) fn warn(&mut self, text: String) {
        match self.places.get(&text) {
            Some(&place) => self.warnings[place].1 += 1,
            None if self.warnings.len() < MAX_WARNINGS => {
                self.places.insert(text.clone(), self.warnings.len());
                self.warnings.push((text, 1));
            }
            None => self.warnings_dropped += 1,
        }
    }

    pub(super) fn saw_version(&mut self, version: String) {
        if !self.versions.contains(&version) {
            self.versions.push(version);
        }
    }
}

//! Reports that are kept for a later run of the program.

use serde::{Deserialize, Serialize};

use super::RunReport;
use crate::counters::{Counts, UnknownCounter};
use crate::mechanisms::Stack;

/// A report without loss, to be read again by the version that has written it. Counters stand by their paths: their groups are
/// the mechanisms' own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptReport {
    /// Without counters.
    report: RunReport,
    counters: Vec<(String, u64)>,
}

impl KeptReport {
    /// Keeps a report.
    pub fn new(report: &RunReport) -> KeptReport {
        let mut report = report.clone();
        let counters = std::mem::take(&mut report.counters);
        let counters = counters.leaves().into_iter().map(|(path, _, value)| (path, value)).collect();
        KeptReport { report, counters }
    }

    /// The report, of a run of `design`.
    ///
    /// # Errors
    /// A counter that the design does not have, or one that is missing.
    pub fn report(self, design: &Stack) -> Result<RunReport, UnknownCounter> {
        let counters = Counts::from_leaves(&self.counters, &design.counters())?;
        Ok(RunReport { counters, ..self.report })
    }
}

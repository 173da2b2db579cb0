//! Runs of workloads under many configurations, each once.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use warpfile_kernels::workloads::Workload;
use warpfile_sim::config::{Config, apply_overrides, preset};
use warpfile_sim::sm::RunReport;

use super::report::Effort;
use crate::parallel::parallel;

/// The preset whose parameters the points override.
const PRESET: &str = "gebhart2011";

/// A configuration: what differs from the preset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point(BTreeMap<&'static str, String>);

impl Point {
    /// The preset with a design.
    fn new(design: &str) -> Point {
        Point(BTreeMap::new()).with("design", design)
    }

    /// No cache, all warps selectable.
    pub fn baseline() -> Point {
        Point::new("baseline")
    }

    /// No cache, two-level scheduler.
    pub fn two_level(active_warps: u64) -> Point {
        Point::new("two-level").with("scheduler.active_warps", active_warps)
    }

    /// Register file cache and two-level scheduler.
    pub fn rfc(entries: u64, active_warps: u64) -> Point {
        Point::new("rfc").with("rfc.entries", entries).with("scheduler.active_warps", active_warps)
    }

    /// The same with one more parameter set.
    pub fn with(mut self, parameter: &'static str, value: impl ToString) -> Point {
        self.0.insert(parameter, value.to_string());
        self
    }

    /// The whole configuration.
    pub fn config(&self) -> Result<Config> {
        let mut config = preset(PRESET)?;
        let overrides: Vec<(&str, &str)> = self.0.iter().map(|(key, value)| (*key, value.as_str())).collect();
        apply_overrides(&mut config, &overrides)?;
        config.validate()?;
        Ok(config)
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
        f.write_str(&pairs.join(" "))
    }
}

/// A workload run under a configuration.
#[derive(Clone, Debug)]
pub struct Run {
    /// The configuration.
    pub config: Config,
    /// What was measured.
    pub report: RunReport,
}

/// Runs a workload under a configuration.
pub type Simulate<'a> = &'a (dyn Fn(&'static Workload, &Config) -> Result<RunReport> + Sync);

/// All runs of a sweep.
pub struct Results {
    /// Workloads, in the order of [`Results::of`].
    pub workloads: Vec<&'static Workload>,
    runs: BTreeMap<Point, Vec<Run>>,
}

/// Runs every workload at every point; `finished` is called after each run.
pub fn sweep(
    workloads: &[&'static Workload],
    points: &[Point],
    threads: usize,
    simulate: Simulate<'_>,
    finished: &(dyn Fn() + Sync),
) -> Result<Results> {
    let mut distinct = points.to_vec();
    distinct.sort();
    distinct.dedup();
    let configs = distinct.iter().map(Point::config).collect::<Result<Vec<_>>>()?;
    let jobs = (0..distinct.len()).flat_map(|point| workloads.iter().map(move |&workload| (point, workload)));
    let mut reports = parallel(threads, jobs.collect(), |(point, workload): (usize, &'static Workload)| {
        let report = simulate(workload, &configs[point])
            .with_context(|| format!("{} with {}", workload.name, distinct[point]))?;
        finished();
        Ok(report)
    })?
    .into_iter();
    let mut runs = BTreeMap::new();
    for (point, config) in distinct.into_iter().zip(configs) {
        let of_point = reports.by_ref().take(workloads.len());
        runs.insert(point, of_point.map(|report| Run { config: config.clone(), report }).collect());
    }
    Ok(Results { workloads: workloads.to_vec(), runs })
}

impl Results {
    /// The runs of a point, one a workload.
    ///
    /// # Panics
    /// The point was not among those of the sweep.
    pub fn of(&self, point: &Point) -> &[Run] {
        self.runs.get(point).unwrap_or_else(|| panic!("{point} is not in the sweep"))
    }

    /// What all runs together took.
    pub fn effort(&self) -> Effort {
        self.runs.values().flatten().fold(Effort::default(), |sum, run| Effort {
            runs: sum.runs + 1,
            cycles: sum.cycles + run.report.cycles,
            warp_instructions: sum.warp_instructions + run.report.warp_instructions,
            operands_checked: sum.operands_checked + run.report.operands_checked,
        })
    }
}

//! Runs of workloads under many configurations, each once.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use anyhow::{Context, Result};
use warpfile_kernels::exec::ExecOptions;
use warpfile_kernels::workloads::Workload;
use warpfile_sim::config::Config;
use warpfile_sim::energy::{EnergyModel, MeasuredRun};
use warpfile_sim::sm::RunReport;

use super::report::Effort;
use super::variation::Variation;
use crate::code::Code;
use crate::identity::determining_parameters;
use crate::input::{Input, Source};
use crate::parallel::parallel;

/// The preset of Gebhart et al.
const GEBHART: &str = "gebhart2011";
/// The machine that Kloosterman et al. measured on: their Table 1 in GPGPU-Sim.
const REGLESS: &str = "gtx980-gpgpusim";

/// A configuration: a preset, what differs from it, and what is measured beside the usual.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    preset: &'static str,
    parameters: BTreeMap<&'static str, String>,
    working_set_window: Option<NonZeroU64>,
    /// Workloads whose threads are given so many registers at least.
    registers: &'static [(&'static str, u16)],
}

impl Point {
    /// A preset with a design.
    pub fn new(preset: &'static str, design: &str) -> Point {
        let parameters = BTreeMap::new();
        Point { preset, parameters, working_set_window: None, registers: &[] }.with("design", design)
    }

    /// RegLess's GPU with another design.
    pub fn gtx980(design: &str) -> Point {
        Point::new(REGLESS, design)
    }

    /// No cache, all warps selectable.
    pub fn baseline() -> Point {
        Point::new(GEBHART, "baseline")
    }

    /// No cache, two-level scheduler.
    pub fn two_level(active_warps: u64) -> Point {
        Point::new(GEBHART, "two-level").with("scheduler.active_warps", active_warps)
    }

    /// Register file cache and two-level scheduler.
    pub fn rfc(entries: u64, active_warps: u64) -> Point {
        Point::new(GEBHART, "rfc").with("rfc.entries", entries).with("scheduler.active_warps", active_warps)
    }

    /// The same with one more parameter set.
    pub fn with(mut self, parameter: &'static str, value: impl ToString) -> Point {
        self.parameters.insert(parameter, value.to_string());
        self
    }

    /// The same under GTO.
    pub fn with_gto(self) -> Point {
        self.with("scheduler.single_level", "gto")
    }

    /// The same with the register working set counted in windows of cycles.
    pub fn with_working_set(mut self, window: NonZeroU64) -> Point {
        self.working_set_window = Some(window);
        self
    }

    /// The same with some workloads' threads given so many registers, as the paper's compiler gave them.
    pub fn with_registers(mut self, registers: &'static [(&'static str, u16)]) -> Point {
        self.registers = registers;
        self
    }

    /// How a workload's kernels are compiled, if it is said nowhere else.
    fn code(&self, workload: &Workload, code: Code) -> Code {
        let given = self.registers.iter().find(|(name, _)| *name == workload.name);
        match given {
            Some((_, registers)) if code.min_registers == 0 => {
                let max_registers = code.max_registers.min(*registers);
                Code { min_registers: *registers, max_registers, ..code }
            }
            Some(_) | None => code,
        }
    }

    /// The preset that it starts from.
    pub fn preset(&self) -> &'static str {
        self.preset
    }

    /// What differs from the preset: parameter and value.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Whether a parameter is among what differs.
    pub fn sets(&self, parameter: &str) -> bool {
        self.parameters.contains_key(parameter)
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pairs: Vec<String> =
            self.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
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

impl Run {
    /// As energy is worked out from it.
    pub fn measured(&self) -> MeasuredRun<'_> {
        MeasuredRun { config: &self.config, report: &self.report }
    }
}

/// What a workload is run under.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The configuration.
    pub config: Config,
    /// Cycles of a window in which the register working set is counted, if it is.
    pub working_set_window: Option<NonZeroU64>,
}

impl Setup {
    /// All that a run depends on as text: parameters of mechanisms that the design does not have are left out.
    pub fn key(&self) -> String {
        let tree = determining_parameters(&self.config);
        format!("{:?}\n{tree}", self.working_set_window)
    }
}

/// What came of a workload under a configuration.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What was measured.
    pub report: RunReport,
    /// Whether it was run now; else it has been kept from before.
    pub is_new: bool,
}

/// Runs a workload under a configuration.
pub type Simulate<'a> = &'a (dyn Fn(&Source<'_>, &Setup) -> Result<Ran> + Sync);

/// All runs of a sweep.
pub struct Results {
    /// Workloads, in the order of [`Results::of`].
    pub workloads: Vec<&'static Workload>,
    runs: BTreeMap<Point, Vec<Run>>,
}

/// Runs every workload at every point, one workload after the other, so that each is executed once; `finished` is called
/// after each run, with the position of its workload.
pub fn sweep(
    workloads: &[&'static Workload],
    points: &[Point],
    variation: &Variation,
    threads: usize,
    simulate: Simulate<'_>,
    finished: &(dyn Fn(usize, &Ran) + Sync),
) -> Result<Results> {
    let distinct = distinct(points);
    let setup = |point: &Point| {
        Ok(Setup { config: variation.config(point)?, working_set_window: point.working_set_window })
    };
    let setups = distinct.iter().map(setup).collect::<Result<Vec<_>>>()?;
    let input = |workload: &'static Workload, point: &Point| Input::Workload {
        workload,
        size: variation.size().to_owned(),
        code: point.code(workload, variation.code()),
    };
    let of_points =
        |workload: &&'static Workload| distinct.iter().map(|point| input(workload, point)).collect();
    let inputs: Vec<Vec<Input>> = workloads.iter().map(of_points).collect();
    let alike = Source::alike(&setups.iter().map(|setup| &setup.config).collect::<Vec<_>>());
    let mut jobs = Vec::with_capacity(inputs.len() * distinct.len());
    for inputs in &inputs {
        let mut sources: Vec<Arc<Source<'_>>> = Vec::with_capacity(alike.len());
        for (own, input) in inputs.iter().enumerate() {
            let is_alike =
                |other: &usize| alike[*other] == alike[own] && inputs[*other].words() == input.words();
            let new = || Source::new(input, ExecOptions::default()).for_design(&setups[own].config);
            let first = (0..own).find(is_alike);
            sources.push(first.map_or_else(|| Arc::new(new()), |first| sources[first].clone()));
        }
        jobs.extend(sources.into_iter().enumerate().map(|(point, source)| (source, point)));
    }
    let jobs = jobs.into_iter().enumerate().collect();
    let reports = parallel(threads, jobs, |(job, (source, point)): (usize, (Arc<Source<'_>>, usize))| {
        let ran = simulate(&source, &setups[point])
            .with_context(|| format!("{} with {}", source.input().word(), distinct[point]))?;
        finished(job / distinct.len(), &ran);
        Ok(ran.report)
    })?;
    let points = distinct.len();
    let mut runs = BTreeMap::new();
    for (number, (point, Setup { config, .. })) in distinct.into_iter().zip(setups).enumerate() {
        let of_point = reports.iter().skip(number).step_by(points);
        let run = |report: &RunReport| Run { config: config.clone(), report: report.clone() };
        runs.insert(point, of_point.map(run).collect());
    }
    Ok(Results { workloads: workloads.to_vec(), runs })
}

/// Points in their order, each once.
pub fn distinct(points: &[Point]) -> Vec<Point> {
    let mut distinct = points.to_vec();
    distinct.sort();
    distinct.dedup();
    distinct
}

impl Results {
    /// The runs of a point, one a workload.
    ///
    /// # Panics
    /// The point was not among those of the sweep.
    pub fn of(&self, point: &Point) -> &[Run] {
        self.runs.get(point).unwrap_or_else(|| panic!("{point} is not in the sweep"))
    }

    /// The technology that a point's runs name.
    ///
    /// # Errors
    /// It cannot be used, or there are no runs.
    pub fn energy_model(&self, point: &Point) -> Result<EnergyModel> {
        let run = self.of(point).first().context("no workload was run")?;
        Ok(EnergyModel::named(&run.config.energy.technology)?)
    }

    /// What all runs together took.
    pub fn effort(&self) -> Effort {
        self.runs.values().flatten().map(|run| Effort::of(&run.report)).sum()
    }
}

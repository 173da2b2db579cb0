//! Makes the runs of a shard: each kernel is executed once, each baseline run once, and each run written as it ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::Serialize;
use warpfile_kernels::exec::ExecOptions;
use warpfile_sim::config::Config;
use warpfile_sim::sm::chip_sms;

use super::folder::RunFolder;
use super::plan::{Kernel, Plan, PlannedRun};
use crate::errors::message;
use crate::identity::Identity;
use crate::input::Source;
use crate::parallel::parallel;
use crate::progress::{Estimate, Meter, Meters, about_left};
use crate::report::Report;
use crate::simulate::{Observers, Outcome, Run, Setting, SmOutcome};
use crate::table::count;

/// Makes runs of a plan and adds each to the folder as it ends. One that ends in an error is added as that, and the others
/// go on.
///
/// # Errors
/// A run cannot be added.
pub fn execute(plan: &Plan, runs: &[&PlannedRun], folder: &RunFolder, threads: usize) -> anyhow::Result<()> {
    let meters = Meters::new();
    let progress = Progress::new(&meters, plan, runs);
    parallel(threads, jobs(plan, runs), |job: Job<'_>| {
        let outcome = job.outcome(&meters);
        folder.add(&job.run.id, &job.document(plan, &outcome)?)?;
        progress.ended(job.run, &outcome);
        Ok(())
    })?;
    Ok(())
}

/// A run with what it shares with others.
struct Job<'a> {
    run: &'a PlannedRun,
    measured: Measured<'a>,
    baseline: Arc<Baseline<'a>>,
    is_baseline: bool,
}

/// A kernel on a machine.
#[derive(Clone)]
struct Measured<'a> {
    source: Arc<Source<'a>>,
    config: &'a Config,
    setting: Setting,
}

/// The baseline's run on a machine, made by whoever first needs it; or why there is none.
struct Baseline<'a> {
    measured: Measured<'a>,
    sms: OnceLock<Result<Vec<SmOutcome>, String>>,
}

/// The jobs of runs. What they share is gone with the last of them.
fn jobs<'a>(plan: &'a Plan, runs: &[&'a PlannedRun]) -> Vec<Job<'a>> {
    let sources = sources(plan, runs);
    let measured = |run: &PlannedRun| Measured {
        source: sources[&SourceKey::of(plan, run)].clone(),
        config: &plan.configs[run.config],
        setting: plan.setting(run),
    };
    let mut baselines: BTreeMap<usize, Arc<Baseline<'a>>> = BTreeMap::new();
    let job = |run: &&'a PlannedRun| {
        let baseline = baselines.entry(run.baseline).or_insert_with(|| {
            let measured = measured(&plan.runs[run.baseline]);
            Arc::new(Baseline { measured, sms: OnceLock::new() })
        });
        let is_baseline = plan.runs[run.baseline].id == run.id;
        Job { run, measured: measured(run), baseline: baseline.clone(), is_baseline }
    };
    runs.iter().map(job).collect()
}

/// What runs have in common that can replay one execution: kernel, code and the bounds of its execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SourceKey {
    kernel: usize,
    /// A configuration for which the kernel is compiled in this way.
    code: usize,
    bounds: (u64, u64),
}

impl SourceKey {
    fn of(plan: &Plan, run: &PlannedRun) -> SourceKey {
        let exec = &plan.configs[run.config].exec;
        SourceKey {
            kernel: run.kernel,
            code: plan.alike[run.config],
            bounds: (exec.max_warp_instructions, exec.max_blocks),
        }
    }
}

/// What runs and their baselines are made from.
fn sources<'a>(plan: &'a Plan, runs: &[&PlannedRun]) -> BTreeMap<SourceKey, Arc<Source<'a>>> {
    let mut baselines: Vec<usize> = runs.iter().map(|run| run.baseline).collect();
    baselines.sort_unstable();
    baselines.dedup();
    let baselines = baselines.into_iter().map(|run| &plan.runs[run]);
    let others = runs.iter().copied().filter(|run| plan.runs[run.baseline].id != run.id);
    // How often each is opened, so that what all have replayed can be forgotten.
    let mut opened: BTreeMap<SourceKey, (&'a Config, usize)> = BTreeMap::new();
    for run in baselines.chain(others) {
        let config = &plan.configs[run.config];
        let (_, times) = opened.entry(SourceKey::of(plan, run)).or_insert((config, 0));
        *times += config.chip.simulated_sms as usize;
    }
    let source = |(key, (config, times)): (SourceKey, (&'a Config, usize))| {
        let (max_warp_instructions, max_blocks) = key.bounds;
        let options =
            ExecOptions { max_warp_instructions, max_blocks, tolerate_out_of_bounds: plan.tolerated };
        let source = Source::new(&plan.kernels[key.kernel].input, options);
        (key, Arc::new(source.for_design(config).of_runs(times)))
    };
    opened.into_iter().map(source).collect()
}

impl Measured<'_> {
    /// Every SM, one after the other.
    fn simulate(&self, meters: &Meters) -> Result<Vec<SmOutcome>, String> {
        let Measured { source, config, setting } = self;
        let one = |(sm, chip)| {
            let run = Run { source: source.clone(), config, sm, timeline: false };
            run.simulate(Some(chip), *setting, meters, Observers::default())
        };
        let sms = (0..).zip(chip_sms(config.chip.simulated_sms));
        let sms: anyhow::Result<Vec<SmOutcome>> = sms.map(one).collect();
        sms.map_err(|error| message(&error))
    }
}

impl Job<'_> {
    /// What came of it, or its error.
    fn outcome(&self, meters: &Meters) -> Result<Outcome, String> {
        // Its own first: meanwhile another thread may make the baseline's.
        let own = if self.is_baseline { None } else { Some(self.measured.simulate(meters)?) };
        let baseline = self.baseline.sms.get_or_init(|| self.baseline.measured.simulate(meters));
        let base = match (baseline, &own) {
            (Ok(sms), _) => sms,
            (Err(error), None) => return Err(error.clone()),
            (Err(error), Some(_)) => return Err(format!("the baseline beside it: {error}")),
        };
        let base_config = self.baseline.measured.config;
        let sms = own.as_ref().unwrap_or(base);
        Outcome::together((base_config, base), (self.measured.config, sms)).map_err(|error| message(&error))
    }

    /// The file of the run.
    fn document(&self, plan: &Plan, outcome: &Result<Outcome, String>) -> anyhow::Result<String> {
        let Measured { config, setting, .. } = self.measured;
        let Kernel { input, hash } = &plan.kernels[self.run.kernel];
        let design = &config.design;
        let outcomes: Vec<(_, &Outcome)> = outcome.iter().map(|outcome| (design, outcome)).collect();
        let document = RunDocument {
            run: &self.run.id,
            baseline: &plan.runs[self.run.baseline].id,
            design: design.as_str(),
            error: outcome.as_ref().err().map(String::as_str),
            identity: Identity::of_design(config, setting, plan.tolerated),
            kernels: [Report::new(config, setting, (input, hash.clone(), plan.tolerated), &outcomes, None)],
        };
        // Thousands of them are read by programs: without the spaces that people like they take half.
        Ok(serde_json::to_string(&document)? + "\n")
    }
}

/// The file of a run: a document of one kernel and one design, or without a design if the run has ended in an error.
#[derive(Serialize)]
struct RunDocument<'a> {
    run: &'a str,
    /// The run that its energies are relative to.
    baseline: &'a str,
    design: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(flatten)]
    identity: Identity,
    kernels: [Report<'a>; 1],
}

/// How far all runs are.
struct Progress {
    runs: usize,
    state: Mutex<State>,
}

struct State {
    meter: Meter,
    ended: usize,
    errors: usize,
    estimate: Estimate,
}

impl Progress {
    fn new(meters: &Meters, plan: &Plan, runs: &[&PlannedRun]) -> Progress {
        let of_kernel = |kernel| runs.iter().filter(|run| run.kernel == kernel).count();
        let estimate = Estimate::new((0..plan.kernels.len()).map(of_kernel));
        let state = State { meter: meters.meter("sweep"), ended: 0, errors: 0, estimate };
        Progress { runs: runs.len(), state: Mutex::new(state) }
    }

    /// Another run has ended.
    fn ended(&self, run: &PlannedRun, outcome: &Result<Outcome, String>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { meter, ended, errors, estimate } = &mut *state;
        *ended += 1;
        *errors += usize::from(outcome.is_err());
        let instructions = outcome.as_ref().ok().map(|outcome| outcome.report.warp_instructions);
        estimate.ended(run.kernel, instructions, true);
        let left = about_left(estimate.left(meter.elapsed()));
        let errors =
            if *errors > 0 { format!(", {} with an error", count(*errors as u64)) } else { String::new() };
        let (ended, runs) = (count(*ended as u64), count(self.runs as u64));
        meter.update(|| format!("{ended} of {runs} runs{errors}{left}"));
    }
}

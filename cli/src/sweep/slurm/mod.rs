//! A sweep as a job array of Slurm: each task makes one shard. It is followed until every run is there.
//!
//! Runs that are there decide, not what becomes of tasks: a shard whose task has ended without all its runs is submitted again.
//! Jobs are found by a name that follows from the plan, so a command that was interrupted finds its jobs again.

mod queue;
mod script;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use sha2::{Digest, Sha256};

use super::folder::RunFolder;
use super::plan::Plan;
use super::shard::Shard;
use crate::files::Output;
use crate::progress::Meter;
use crate::shell::quoted;
use crate::signals;
use crate::table::count;
use queue::{Task, Tasks, ranges};
use script::Script;

/// Most tasks of an array: what Slurm accepts unless its administrator says something else (`MaxArraySize`, 1001).
const MAX_TASKS: usize = 1000;
/// Most times that a shard is submitted again.
const MAX_RESUBMISSIONS: usize = 1000;
/// Between two looks at the queue: at first, and in the end. Queues are shared by many.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// How long a queue may not answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// The folder for what tasks print, within that of the results.
const LOGS: &str = "slurm";

/// Options for a sweep on a cluster.
#[derive(clap::Args)]
pub struct SlurmArguments {
    /// Have Slurm make the sweep in an array of N tasks, a shard each: submit it, follow it, submit again what is lost.
    #[arg(long, value_name = "N", value_parser = tasks, conflicts_with_all = ["shard", "dry_run"])]
    slurm: Option<usize>,
    /// Write the script for `sbatch` to a file, and submit nothing.
    #[arg(long, value_name = "FILE", requires = "slurm")]
    slurm_script: Option<PathBuf>,
    /// An option of `sbatch`, as --sbatch=--partition=short; can be given several times.
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true, value_parser = script::sbatch_option)]
    sbatch: Vec<String>,
    /// How often a shard is submitted again whose task has ended without all its runs.
    #[arg(long, value_name = "N", requires = "slurm", default_value_t = 3, value_parser = resubmissions)]
    resubmit: usize,
}

/// How many tasks.
fn tasks(text: &str) -> Result<usize, String> {
    let tasks = text.parse().ok().filter(|tasks| (1..=MAX_TASKS).contains(tasks));
    tasks.ok_or_else(|| format!("accepted: a whole number from 1 to {MAX_TASKS}"))
}

fn resubmissions(text: &str) -> Result<usize, String> {
    let times = text.parse().ok().filter(|times| *times <= MAX_RESUBMISSIONS);
    times.ok_or_else(|| format!("accepted: a whole number from 0 to {MAX_RESUBMISSIONS}"))
}

/// Shards have ended without all their runs, and are not submitted again.
#[derive(Debug, thiserror::Error)]
#[error("{missing} of {runs} runs are missing: {shards}; {hint}")]
pub struct LostShards {
    missing: usize,
    runs: usize,
    shards: String,
    hint: String,
}

/// A job array that makes a plan.
pub struct Array<'a> {
    plan: &'a Plan,
    tasks: usize,
    script: Option<PathBuf>,
    options: Vec<String>,
    resubmit: usize,
    name: String,
    /// The words that ask for it.
    command: Vec<String>,
}

impl<'a> Array<'a> {
    /// The array that is asked for, if one is.
    ///
    /// # Errors
    /// A word of the command cannot be in a script.
    pub fn new(
        arguments: SlurmArguments,
        (plan, out): (&'a Plan, &'a Path),
        command: impl FnOnce() -> anyhow::Result<Vec<String>>,
    ) -> anyhow::Result<Option<Array<'a>>> {
        let SlurmArguments { slurm, slurm_script, sbatch, resubmit } = arguments;
        let Some(tasks) = slurm else { return Ok(None) };
        let name = name(plan, out, tasks)?;
        let (script, options) = (slurm_script, sbatch);
        Ok(Some(Array { plan, tasks, script, options, resubmit, name, command: command()? }))
    }

    /// The file that its script is for, if it is not to be submitted.
    pub fn script_file(&self) -> Option<&Path> {
        self.script.as_deref()
    }

    /// Writes the script for someone else to submit.
    pub fn write_script(&self, file: &Path) -> anyhow::Result<()> {
        let mut output = Output::create(file)?;
        output.write(&self.script(None).text())?;
        output.publish()
    }

    /// Says what is missing if it cannot be submitted at all.
    pub fn check() -> anyhow::Result<()> {
        queue::check()
    }

    /// Has Slurm make the runs that are not in the folder; ends when all are there.
    ///
    /// # Errors
    /// Slurm refuses the job or does not answer, or runs are still missing when shards have been submitted as often as they
    /// may be.
    pub fn make(&self, folder: &RunFolder) -> anyhow::Result<()> {
        let logs = absolute(folder.path().join(LOGS))?;
        fs::create_dir_all(&logs).with_context(|| format!("cannot create folder {}", logs.display()))?;
        let again: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        signals::say_before_the_end(format!(
            "slurm: jobs that have been submitted go on without this command (scancel --name={} ends them); \
             to go on: {}",
            self.name,
            again.join(" ")
        ));
        let made = self.follow(folder, &logs);
        signals::say_before_the_end(String::new());
        made
    }

    fn follow(&self, folder: &RunFolder, logs: &Path) -> anyhow::Result<()> {
        let script = self.script(Some(logs)).text();
        let mut meter = Meter::new("slurm");
        let mut shards = Shards { seen: BTreeMap::new(), resubmit: self.resubmit };
        let mut pause = PAUSES[0];
        loop {
            // Before the runs: what has ended by now has added all that it will.
            let queued = self.queued(&mut meter, shards.seen.is_empty())?;
            let missing = self.missing(folder)?;
            let (runs, left): (usize, usize) = (self.plan.runs.len(), missing.values().sum());
            let active = queued.values().filter(|task| task.is_active()).count();
            let running = queued.values().filter(|task| task.is_running()).count();
            // Those that still run may be making the tables. Those that wait have nothing left to do.
            if missing.is_empty() && running == 0 {
                return Ok(());
            }
            let lost = shards.look(&missing, &queued);
            if !lost.is_empty() {
                let job = queue::submit(&script, &lost)?;
                meter.say(&shards.submitted(&lost, job));
            } else if !shards.can_go_on(&missing) {
                return Err(self.lost(&shards, &missing, logs).into());
            } else {
                meter.tell(|| {
                    let (there, all) = (count((runs - left) as u64), count(runs as u64));
                    format!("{there} of {all} runs, {running} tasks run, {} wait", active - running)
                });
            }
            thread::sleep(pause);
            pause = pause.mul_f64(1.5).min(PAUSES[1]);
        }
    }

    /// What the queue knows; a queue that has answered before is asked again for a while.
    fn queued(&self, meter: &mut Meter, is_first: bool) -> anyhow::Result<Tasks> {
        let begun = Instant::now();
        loop {
            match queue::queued(&self.name) {
                Err(error) if !is_first && begun.elapsed() < PATIENCE => {
                    meter.tell(|| format!("waiting for the queue: {error}"));
                    thread::sleep(PAUSES[1]);
                }
                Err(error) => return Err(error).context("the jobs cannot be followed"),
                Ok(tasks) => return Ok(tasks),
            }
        }
    }

    /// How many runs are missing, by shard.
    fn missing(&self, folder: &RunFolder) -> anyhow::Result<BTreeMap<usize, usize>> {
        let there = folder.runs()?;
        let of_shard = |index: usize| {
            let runs = Shard { index, count: self.tasks }.of(&self.plan.runs);
            (index, runs.iter().filter(|run| !there.contains(&run.id)).count())
        };
        Ok((1..=self.tasks).map(of_shard).filter(|(_, missing)| *missing > 0).collect())
    }

    fn script<'s>(&'s self, logs: Option<&'s Path>) -> Script<'s> {
        Script { name: &self.name, tasks: self.tasks, options: &self.options, logs, command: &self.command }
    }

    fn lost(&self, shards: &Shards, missing: &BTreeMap<usize, usize>, logs: &Path) -> LostShards {
        LostShards {
            missing: missing.values().sum(),
            runs: self.plan.runs.len(),
            shards: missing.keys().map(|shard| shards.fate(*shard)).collect::<Vec<_>>().join(", "),
            hint: format!("what tasks have printed is in {}; the same command goes on", logs.display()),
        }
    }
}

/// The job's name: the same plan in as many shards for the same folder has the same.
fn name(plan: &Plan, out: &Path, tasks: usize) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    hash.update(format!("{}\n{tasks}\n", absolute(out)?.display()));
    plan.runs.iter().for_each(|run| hash.update(&run.id));
    let digits = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(format!("warpfile-{digits}"))
}

/// What has been seen of shards that have been submitted.
struct Shards {
    /// By the shard's number.
    seen: BTreeMap<usize, Seen>,
    /// How often each may be submitted again.
    resubmit: usize,
}

struct Seen {
    /// How often it has been submitted.
    submissions: usize,
    /// Its last task.
    task: Task,
    /// Looks at which its task had ended without all its runs.
    looks: usize,
}

impl Shards {
    /// Those that are to be submitted now.
    fn look(&mut self, missing: &BTreeMap<usize, usize>, queued: &Tasks) -> Vec<usize> {
        let mut accounted = BTreeMap::new();
        let mut lost = Vec::new();
        for &shard in missing.keys() {
            let active = queued.get(&shard).filter(|task| task.is_active());
            match (self.seen.get_mut(&shard), active) {
                (Some(seen), Some(task)) => (seen.task, seen.looks) = (task.clone(), 0),
                // Of a command that was interrupted.
                (None, Some(task)) => {
                    self.seen.insert(shard, Seen { submissions: 1, task: task.clone(), looks: 0 });
                }
                (Some(seen), None) => {
                    if seen.looks == 0 {
                        seen.task.state = ending(shard, seen.task.job, queued, &mut accounted);
                    }
                    // What a task has written may be seen a moment later, over a network.
                    seen.looks += 1;
                    if seen.looks > 1 && seen.may_be_submitted(self.resubmit) {
                        lost.push(shard);
                    }
                }
                (None, None) => lost.push(shard),
            }
        }
        lost
    }

    /// Shards have been submitted in a job. Says so.
    fn submitted(&mut self, shards: &[usize], job: u64) -> String {
        let fates: Vec<String> = shards
            .iter()
            .filter(|shard| self.seen.contains_key(shard))
            .map(|shard| self.fate(*shard))
            .collect();
        for shard in shards {
            let task = Task { job, state: "PENDING".to_owned() };
            let seen =
                self.seen.entry(*shard).or_insert(Seen { submissions: 0, task: task.clone(), looks: 0 });
            *seen = Seen { submissions: seen.submissions + 1, task, looks: 0 };
        }
        let submitted = format!("slurm: shards {} are job {job}", ranges(shards));
        if fates.is_empty() {
            submitted
        } else {
            format!("{submitted}; runs were missing of {}", fates.join(", "))
        }
    }

    /// Whether a shard of which runs are missing is in the queue, or may be submitted again.
    fn can_go_on(&self, missing: &BTreeMap<usize, usize>) -> bool {
        let seen = missing.keys().filter_map(|shard| self.seen.get(shard));
        missing.is_empty()
            || seen.into_iter().any(|seen| seen.looks < 2 || seen.may_be_submitted(self.resubmit))
    }

    /// `shard 3 (job 12, NODE_FAIL, submission 1)`.
    fn fate(&self, shard: usize) -> String {
        match self.seen.get(&shard) {
            Some(Seen { submissions, task, .. }) => {
                format!("shard {shard} (job {}, {}, submission {submissions})", task.job, task.state)
            }
            None => format!("shard {shard}"),
        }
    }
}

impl Seen {
    /// One that someone has cancelled is not.
    fn may_be_submitted(&self, resubmit: usize) -> bool {
        self.submissions <= resubmit && !self.task.is_cancelled()
    }
}

/// How a shard's task has ended, as far as anyone knows.
fn ending(shard: usize, job: u64, queued: &Tasks, accounted: &mut BTreeMap<u64, Tasks>) -> String {
    let of_job = |tasks: &Tasks| tasks.get(&shard).filter(|task| task.job == job).cloned();
    let ended =
        of_job(queued).or_else(|| of_job(accounted.entry(job).or_insert_with(|| queue::accounted(job))));
    ended.map_or_else(|| "ended".to_owned(), |ended| ended.state)
}

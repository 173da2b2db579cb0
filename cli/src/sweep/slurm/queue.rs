//! What Slurm is told and asked: `sbatch`, `squeue`, `sacct`.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};

/// States of `squeue` and `sacct` in which a task will not run any more.
const ENDED: [&str; 10] = [
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
];

/// A task of a job array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The array's job.
    pub job: u64,
    /// Its state by Slurm's name.
    pub state: String,
}

impl Task {
    /// Whether it runs or may still run.
    pub fn is_active(&self) -> bool {
        !ENDED.contains(&self.state.as_str())
    }

    /// Whether it runs now.
    pub fn is_running(&self) -> bool {
        self.state == "RUNNING"
    }

    /// Whether someone has ended it on purpose.
    pub fn is_cancelled(&self) -> bool {
        self.state == "CANCELLED"
    }
}

/// The last task of each shard, by the shard's number.
pub type Tasks = BTreeMap<usize, Task>;

/// Says what is missing if there is no Slurm.
pub fn check() -> anyhow::Result<()> {
    for tool in ["sbatch", "squeue"] {
        // Whether it succeeds is for the first real call to say.
        output(Command::new(tool).arg("--version"), "")?;
    }
    Ok(())
}

/// Submits tasks of a script; gives the number of their job.
pub fn submit(script: &str, tasks: &[usize]) -> anyhow::Result<u64> {
    let array = format!("--array={}", ranges(tasks));
    let told = told(Command::new("sbatch").args(["--parsable", &array]), script)?;
    // With several clusters the name of one follows.
    let job = told.trim().split(';').next().unwrap_or_default().parse();
    job.with_context(|| format!("sbatch printed `{}`; accepted: the number of a job", told.trim()))
}

/// What the queue knows of the tasks of a job's name. It forgets those that have ended after some minutes (`MinJobAge`).
pub fn queued(name: &str) -> anyhow::Result<Tasks> {
    let mut squeue = Command::new("squeue");
    squeue.args(["--noheader", "--array", "--states=all", "--format=%F|%K|%T"]).arg(format!("--name={name}"));
    Ok(tasks(&told(&mut squeue, "")?, '|'))
}

/// What accounting knows of the tasks of a job; nothing where there is no accounting.
pub fn accounted(job: u64) -> Tasks {
    let mut sacct = Command::new("sacct");
    sacct
        .args(["--noheader", "--parsable2", "--allocations", "--format=JobID,State"])
        .arg(format!("--jobs={job}"));
    told(&mut sacct, "").map(|text| tasks(&text, '_')).unwrap_or_default()
}

/// Lines of job, index and state; `between` is between the first two.
fn tasks(text: &str, between: char) -> Tasks {
    let mut tasks = Tasks::new();
    for line in text.lines() {
        let task = line.rsplit_once('|').and_then(|(id, state)| {
            let (job, index) = id.trim().split_once(between)?;
            // `CANCELLED by 1000`.
            let state = state.split_whitespace().next()?.to_owned();
            Some((index.parse().ok()?, Task { job: job.parse().ok()?, state }))
        });
        let Some((index, task)) = task else { continue };
        let last = tasks.entry(index).or_insert_with(|| task.clone());
        if last.job < task.job {
            *last = task;
        }
    }
    tasks
}

/// Standard output of a command that succeeds.
fn told(command: &mut Command, input: &str) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = output(command, input)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} failed: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn output(command: &mut Command, input: &str) -> anyhow::Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!(
                "`{name}` is not installed: --slurm needs a machine that submits to Slurm; elsewhere --shard makes parts of a sweep"
            )
        }
        Err(error) => return Err(error).with_context(|| format!("cannot start {name}")),
    };
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read has ended, and says why.
        stdin.write_all(input.as_bytes()).ok();
    }
    child.wait_with_output().with_context(|| format!("cannot wait for {name}"))
}

/// `1-3,7` of numbers in ascending order.
pub fn ranges(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let shown = |&(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(shown).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[4]), "4");
    }

    #[test]
    fn the_last_job_of_a_shard_counts() {
        let task = |job, state: &str| Task { job, state: state.to_owned() };
        let of_queue = tasks("12|1|COMPLETED\n14|3|PENDING\n12|3|NODE_FAIL\n15|N/A|RUNNING\n", '|');
        let expected = Tasks::from([(1, task(12, "COMPLETED")), (3, task(14, "PENDING"))]);
        assert_eq!(of_queue, expected);
        let of_accounting = tasks("12_1|COMPLETED\n12_2|CANCELLED by 1000\n12_[3-4]|PENDING\n", '_');
        let expected = Tasks::from([(1, task(12, "COMPLETED")), (2, task(12, "CANCELLED"))]);
        assert_eq!(of_accounting, expected);
        assert!(of_queue[&3].is_active() && !of_queue[&1].is_active() && of_accounting[&2].is_cancelled());
    }
}

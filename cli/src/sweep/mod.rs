//! `warpfile sweep`: a plan of runs, the execution of one shard of it, and the table of all that has been run.

mod execution;
mod file;
pub mod folder;
mod gathering;
mod parquet;
mod plan;
mod shard;
mod slurm;
mod table;
mod values;

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, anyhow};

use crate::code::CodeArguments;
use crate::configuration::MachineArguments;
use crate::engine::EngineArguments;
use crate::html::{self, HtmlArguments, own_command};
use crate::input::ToleranceArguments;
use crate::output::print;
use crate::parallel::ThreadArguments;
use crate::table::{Align, count, lines};

use folder::RunFolder;
use plan::{Plan, PlannedRun};
use shard::Shard;
pub use slurm::LostShards;
use slurm::{Array, SlurmArguments};
use values::{Axis, Seeds};

/// What is run, and where the results go.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile sweep --kernels hotspot,bfs --design rfc --set rfc.entries=2,4,6 --out results
  warpfile sweep --kernels all --size tiny --design rfc,two-level --set scheduler.active_warps=4..=8 --out results
  warpfile sweep --kernels mine.ptx --design regless --set regless.lines=256,512 --seeds 0,1 --out results
  warpfile sweep sweep.toml --out results
  warpfile sweep sweep.toml --out results --html results.html
  warpfile sweep sweep.toml --out results --shard 2/8
  warpfile sweep sweep.toml --out results --dry-run
  warpfile sweep sweep.toml --out results --slurm 100 --sbatch=--partition=short --sbatch=--time=1:00:00

A range A..B has the whole numbers from A up to but without B, as cycles of `run --wave-cycles`; A..=B has B, too.
Every combination of kernels, designs, values and seeds is run, and the baseline on each machine. A sweep that was
interrupted goes on where it was: what is in the folder is not run again.

sweep.toml has options by their names, lists for commas, and parameters in [set]; the command line replaces what it says:
  kernels = [\"hotspot\", \"bfs\"]
  design = [\"rfc\"]
  seeds = \"0..4\"
  [set]
  rfc.entries = [2, 4, 6]

The folder gets runs/RUN.json for each run, results.csv and results.parquet with a row for each.
Exit code 1 if a run has ended in an error; its row says which. With --slurm also if runs are missing in the end.")]
pub struct Arguments {
    /// A TOML file that says what is run.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    what: What,
    /// The folder of the results; what is there already stays.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Only the I-th of N parts of the runs, from 1; each run is in one part, whatever has been run.
    #[arg(long, value_name = "I/N", default_value = "1/1", hide_default_value = true, value_parser = shard::shard)]
    shard: Shard,
    #[command(flatten)]
    slurm: SlurmArguments,
    /// Print what would be run and what is there, and run nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    html: HtmlArguments,
    #[command(flatten)]
    engine: EngineArguments,
    #[command(flatten)]
    threads: ThreadArguments,
}

/// What is run.
#[derive(Clone, clap::Args)]
pub struct What {
    /// Workloads, .ptx or .cu files, launch files or traces, separated by commas, or `all` for all workloads.
    #[arg(long, value_name = "KERNELS", value_delimiter = ',')]
    kernels: Vec<String>,
    /// Size of the problems: tiny, default or large, or as the launch files name them [default: default].
    #[arg(long)]
    size: Option<String>,
    #[command(flatten)]
    code: CodeArguments,
    /// Designs, separated by commas; a design is a name or a stack of mechanisms joined by + [default: as preset and file say].
    #[arg(long, value_name = "DESIGNS", value_delimiter = ',')]
    design: Vec<String>,
    #[command(flatten)]
    machine: MachineArguments,
    /// Values of a parameter: `rfc.entries=2,4,6`, `rfc.entries=2..7` without 7, `rfc.entries=2..=6`; can be given for
    /// several parameters.
    #[arg(long = "set", value_name = "NAME=VALUES", value_parser = values::axis)]
    sets: Vec<Axis>,
    /// What state without a reset starts from: values as those of a parameter; no figure depends on it [default: 0].
    #[arg(long, value_name = "SEEDS", value_parser = values::seeds)]
    seeds: Option<Seeds>,
    #[command(flatten)]
    tolerance: ToleranceArguments,
}

impl What {
    /// What a file says where this says nothing.
    fn over(self, file: What) -> What {
        let either = |own: Vec<String>, file: Vec<String>| if own.is_empty() { file } else { own };
        let is_replaced = |axis: &Axis| self.sets.iter().any(|own| own.name == axis.name);
        let mut sets: Vec<Axis> = file.sets.into_iter().filter(|axis| !is_replaced(axis)).collect();
        sets.extend(self.sets);
        What {
            kernels: either(self.kernels, file.kernels),
            size: self.size.or(file.size),
            code: file.code.with(self.code),
            design: either(self.design, file.design),
            machine: MachineArguments {
                preset: self.machine.preset.or(file.machine.preset),
                config: self.machine.config.or(file.machine.config),
            },
            sets,
            seeds: self.seeds.or(file.seeds),
            tolerance: ToleranceArguments {
                tolerate_out_of_bounds: self.tolerance.tolerate_out_of_bounds
                    || file.tolerance.tolerate_out_of_bounds,
            },
        }
    }
}

/// Some runs have ended in an error; the others are as they should be.
#[derive(Debug, thiserror::Error)]
#[error("{failed} of {runs} runs ended in an error, the first: {first}")]
pub struct FailedRuns {
    failed: usize,
    runs: usize,
    first: String,
}

/// Makes the runs of a shard that are not there yet, and the table of all that are.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { file, what, out, shard, slurm, dry_run, html, engine, threads } = arguments;
    let plan = match &file {
        Some(file) => {
            let what = what.over(file::read(file)?);
            Plan::new(&what, engine.name()).with_context(|| file.display().to_string())?
        }
        None => Plan::new(&what, engine.name())?,
    };
    let array = Array::new(slurm, (&plan, &out), words)?;
    if let Some((array, file)) = array.as_ref().and_then(|array| Some((array, array.script_file()?))) {
        return array.write_script(file);
    }
    let own = shard.of(&plan.runs);
    if dry_run {
        let there = folder::runs_in(&out)?;
        return print(&preview(&plan, own, &there));
    }
    if array.is_some() {
        Array::check()?;
    }
    let page = html.create()?;
    let folder = RunFolder::create(&out)?;
    let there = folder.runs()?;
    let (kept, missing): (Vec<&PlannedRun>, Vec<&PlannedRun>) =
        own.iter().partition(|run| there.contains(&run.id));
    match array {
        Some(array) if !missing.is_empty() => array.make(&folder)?,
        Some(_) | None => execution::execute(&plan, &missing, &folder, threads.number())?,
    }
    let gathered = gathering::gather(&folder)?;
    if let Some(page) = page {
        html::runs::page(out.display().to_string(), &gathered.runs, Vec::new(), own_command())
            .publish(page)?;
    }
    let failed = gathered.errors(own.iter().map(|run| run.id.as_str()));
    print(&format!(
        "{} runs: {} made now, {} were there, {} of them ended in an error\n{}\n",
        count(own.len() as u64),
        count(missing.len() as u64),
        count(kept.len() as u64),
        count(failed.len() as u64),
        gathered.files.map(|file| file.display().to_string()).join("\n")
    ))?;
    match failed.first() {
        Some(first) => Err(FailedRuns { failed: failed.len(), runs: own.len(), first: first.clone() }.into()),
        None => Ok(()),
    }
}

/// The words of this command, with the program by its path: whoever repeats it gets the same program.
fn words() -> anyhow::Result<Vec<String>> {
    let program = env::current_exe().context("this program cannot be found")?;
    let words = std::iter::once(program.into_os_string()).chain(env::args_os().skip(1));
    let text = |word: OsString| word.into_string().map_err(|word| anyhow!("{word:?}: accepted: UTF-8"));
    words.map(text).collect()
}

/// A line for each run of a plan.
fn preview(plan: &Plan, own: &[PlannedRun], there: &BTreeSet<String>) -> String {
    let header = ["run", "kernel", "design", "seed", "parameters", ""].map(str::to_owned).to_vec();
    let row = |run: &PlannedRun| {
        let state = if there.contains(&run.id) { "there" } else { "missing" };
        let config = &plan.configs[run.config];
        let kernel = plan.kernels[run.kernel].input.title();
        let values = plan.values(run).join(" ");
        vec![
            run.id.clone(),
            kernel,
            config.design.to_string(),
            run.seed.to_string(),
            values,
            state.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(own.iter().map(row)).collect();
    lines(&rows, &[Align::Left])
}

//! Runs every workload through every design and compares every operand and every result.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::{fs, io};

use clap::Parser;
use warpfile_kernels::launch::DEFAULT_SIZE;
use warpfile_kernels::workloads::AddressBits;
use warpfile_testbenches::matrix::{Outcome, build, complete, entries, page, sample};

/// Run every workload through every design, every operand and every result compared
#[derive(Parser)]
#[command(
    name = "matrix",
    after_help = "Examples:
  scripts/verify --default
  scripts/verify --default --keep
  scripts/verify --default --keep --addresses 32

What has been run by this build is kept in --results and is not run again, so that what was interrupted goes on."
)]
struct Arguments {
    /// Size of the workloads
    #[arg(long, default_value = DEFAULT_SIZE)]
    size: String,
    /// Only so many runs, drawn by --seed
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Draws the sample; any text
    #[arg(long, value_name = "TEXT", default_value = "")]
    seed: String,
    /// Only these designs, separated by commas
    #[arg(long, value_name = "DESIGNS", value_delimiter = ',')]
    design: Vec<String>,
    /// Only programs whose addresses have so many bits; without it both
    #[arg(long, value_name = "BITS")]
    addresses: Option<AddressBits>,
    /// File that keeps each run as a line of JSON
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Page whose table of the matrix is written
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sample", "design"])]
    write: Option<PathBuf>,
    /// Runs at a time; 0 takes as many as there are cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    jobs: usize,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether no run failed.
fn run(arguments: &Arguments) -> io::Result<bool> {
    if arguments.write.is_some() && arguments.size != DEFAULT_SIZE {
        return Err(io::Error::other(format!(
            "--write with --size {}: the page is of {DEFAULT_SIZE}",
            arguments.size
        )));
    }
    let mut entries = entries();
    if !arguments.design.is_empty() {
        entries.retain(|entry| arguments.design.contains(&entry.design));
    }
    if let Some(addresses) = arguments.addresses {
        entries.retain(|entry| entry.addresses == addresses);
    }
    if let Some(count) = arguments.sample {
        entries = sample(entries, count, &arguments.seed);
    }
    let jobs = match arguments.jobs {
        0 => available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let results = arguments.results.as_deref();
    let outcomes = complete(&entries, (&arguments.size, build()?), results, jobs, &tell)?;
    if let Some(path) = &arguments.write {
        let text = page(&fs::read_to_string(path)?, &outcomes);
        let text = text
            .ok_or_else(|| io::Error::other(format!("{}: it has no place for the matrix", path.display())))?;
        fs::write(path, text)?;
    }
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.error.is_some()).collect();
    for outcome in &failed {
        println!("failed: {}", line(outcome));
    }
    println!(
        "matrix at size {}: {} passed, {} failed",
        arguments.size,
        outcomes.len() - failed.len(),
        failed.len()
    );
    Ok(failed.is_empty())
}

fn tell(outcome: &Outcome, done: usize, of: usize) {
    println!("{done:4} of {of}  {}", line(outcome));
}

fn line(outcome: &Outcome) -> String {
    let Outcome { entry, cycles, operands_checked, seconds, error, .. } = outcome;
    let what = format!("{} ({} bits) {} {}", entry.workload, entry.addresses, entry.preset, entry.design);
    match error {
        Some(error) => format!("{what}: {error}"),
        None => format!("{what}: {cycles} cycles, {operands_checked} operands, {seconds:.1} s"),
    }
}

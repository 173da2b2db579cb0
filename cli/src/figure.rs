//! `warpfile figure`.

use std::path::PathBuf;

use crate::engine::EngineArguments;
use crate::figures;
use crate::parallel::ThreadArguments;

/// What is printed, and how.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile list figures
  warpfile figure gebhart-6
  warpfile figure gebhart-6 --size default --out results
  warpfile figure regless-14 regless-15 regless-16 --out results")]
pub struct Arguments {
    /// Which figures: see `warpfile list figures`. What several have in common is run once.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Size of the workloads: tiny, default or large.
    #[arg(long, default_value = "tiny")]
    size: String,
    /// Only these workloads, separated by commas; if not given, those that stand for the paper's.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,
    #[command(flatten)]
    engine: EngineArguments,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Print JSON instead of tables, one document for each figure.
    #[arg(long)]
    json: bool,
    /// Keep the tables, the JSON and an SVG chart in this folder.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the SVG chart to this file; of one figure.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Makes figures and prints them.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { ids, size, workloads, engine, threads, json, out, svg } = arguments;
    let (engine, threads) = (engine.name(), threads.number());
    figures::run(&ids, &figures::Options { size, workloads, engine, threads, json, out, svg })
}

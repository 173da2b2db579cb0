//! `warpfile fidelity`.

use std::path::PathBuf;

use crate::engine::EngineArguments;
use crate::figures::fidelity::{self, Outputs};
use crate::figures::{Options, Variation};
use crate::parallel::ThreadArguments;

/// Which papers, and where their pages go.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile fidelity regless
  warpfile fidelity regless --runs runs
  warpfile fidelity --out docs/fidelity --figures docs/figures
  warpfile fidelity gebhart --size tiny --workloads hotspot,nw")]
pub struct Arguments {
    /// Which papers, by the word that the names of their figures begin with; all if not given.
    #[arg(value_name = "PAPER")]
    papers: Vec<String>,
    #[command(flatten)]
    variation: Variation,
    #[command(flatten)]
    engine: EngineArguments,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Keep every run in this folder as it ends, and take those that are there from it.
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Keep the pages in this folder, `PAPER.md`.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep the figures that the pages are made from in this folder, as `figure --out` does.
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// Makes the pages and prints them.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { papers, variation, engine, threads, runs, out, figures } = arguments;
    let options = Options { variation, engine: engine.name(), threads: threads.number(), runs };
    fidelity::run(&papers, &options, &Outputs { out, figures })
}

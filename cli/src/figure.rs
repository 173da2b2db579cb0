//! `warpfile figure`.

use std::path::PathBuf;

use crate::engine::EngineArguments;
use crate::figures::{self, Options, Outputs, PaperArguments, Variation};
use crate::html::HtmlArguments;
use crate::parallel::ThreadArguments;

/// What is printed, and how.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile list figures
  warpfile figure gebhart-6
  warpfile figure gebhart-6 --size tiny --out results
  warpfile figure regless-14 regless-15 regless-16 --out results
  warpfile figure regless-16 --pdf run-time.pdf --width column
  warpfile figure regless-14 regless-16 --html regless.html
  warpfile figure regless-14 --runs runs && warpfile figure regless-16 --runs runs
  warpfile figure regless-16 --schedule none --set l1.ways=12")]
pub struct Arguments {
    /// Which figures: see `warpfile list figures`. What several have in common is run once.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    variation: Variation,
    #[command(flatten)]
    engine: EngineArguments,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Keep every run in this folder as it ends, and take those that are there from it.
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Print JSON instead of tables, one document for each figure.
    #[arg(long)]
    json: bool,
    /// Keep the tables, the JSON and an SVG chart in this folder.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    paper: PaperArguments,
    #[command(flatten)]
    html: HtmlArguments,
}

/// Makes figures and prints them.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { ids, variation, engine, threads, runs, json, out, paper, html } = arguments;
    let options = Options { variation, engine: engine.name(), threads: threads.number(), runs };
    figures::run(&ids, &options, &Outputs { json, out, paper, html })
}

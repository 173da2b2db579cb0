//! `warpfile figure`.

use std::path::PathBuf;

use crate::figures;

/// What is printed, and how.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile list figures
  warpfile figure gebhart-6
  warpfile figure gebhart-6 --size default --out results")]
pub struct Arguments {
    /// Which figure: see `warpfile list figures`.
    id: String,
    /// Size of the workloads: tiny, default or large.
    #[arg(long, default_value = "tiny")]
    size: String,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
    /// Keep the table, the JSON and an SVG chart in this folder.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Makes a figure and prints it.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { id, size, json, out } = arguments;
    figures::run(&id, &figures::Options { size, json, out })
}

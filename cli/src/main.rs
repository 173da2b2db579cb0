//! The `warpfile` command.

mod figures;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Exit code for input that cannot be used.
const BAD_INPUT: u8 = 2;

/// Real kernels through cycle-accurate models of GPU operand storage.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a figure or table of a paper beside what the model gives.
    Figure(FigureArguments),
}

#[derive(Args)]
struct FigureArguments {
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

fn main() -> ExitCode {
    match dispatch(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Figure(arguments) => figures::run(
            &arguments.id,
            &figures::Options { size: arguments.size, json: arguments.json, out: arguments.out },
        ),
    }
}

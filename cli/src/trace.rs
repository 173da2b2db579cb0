//! `warpfile trace`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use warpfile_kernels::trace::{TraceSummary, write_accelsim, write_warpfile};

use crate::files::{StagedFolder, check_output};
use crate::input::InputArguments;
use crate::output::print;
use crate::progress::Watched;
use crate::table::count;

/// What is traced, and where to.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile trace hotspot --size tiny -o hotspot.wft
  warpfile trace mine.ptx --launch mine.toml -o traces --format accelsim
  warpfile run hotspot.wft --design rfc")]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// The trace: a file, or a folder with --format accelsim.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Format of the trace.
    #[arg(long, default_value = "warpfile")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// One compact file, static program and values included.
    Warpfile,
    /// A folder with kernelslist.g and text files of version 6, with values.
    Accelsim,
}

/// Writes the trace and says what it holds.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let input = arguments.input.resolve()?;
    let mut opened = input.open()?;
    let mut watched = Watched::new(&mut opened, "tracing");
    let summary = match arguments.format {
        Format::Warpfile => write_file(&mut watched, &arguments.out)?,
        Format::Accelsim => write_folder(&mut watched, &arguments.out)?,
    };
    drop(watched);
    print(&format!(
        "{}: {} launches, {} blocks, {} warp instructions, {} bytes\n",
        arguments.out.display(),
        count(summary.launches),
        count(summary.blocks),
        count(summary.instructions),
        count(summary.bytes),
    ))
}

fn write_file(launches: &mut Watched<'_>, path: &Path) -> anyhow::Result<TraceSummary> {
    check_output(path)?;
    Ok(write_warpfile(launches, path)?)
}

fn write_folder(launches: &mut Watched<'_>, path: &Path) -> anyhow::Result<TraceSummary> {
    let folder = StagedFolder::create(path)?;
    let summary = write_accelsim(launches, folder.path())?;
    folder.publish("kernelslist.g")?;
    Ok(summary)
}

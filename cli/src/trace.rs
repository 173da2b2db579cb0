//! `warpfile trace`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use warpfile_kernels::trace::{TraceSummary, write_accelsim, write_warpfile};

use crate::files::{OutputFolder, check_output, folder_of};
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

/// Writes a folder of files beside the place where it belongs, and moves them there once all are complete; the
/// list of kernels comes last.
fn write_folder(launches: &mut Watched<'_>, path: &Path) -> anyhow::Result<TraceSummary> {
    let folder = OutputFolder::create(path)?;
    let context = || format!("cannot write to {}", path.display());
    let partial =
        tempfile::Builder::new().prefix(".warpfile-").tempdir_in(folder_of(path)).with_context(context)?;
    let summary = write_accelsim(launches, partial.path())?;
    let list = std::ffi::OsStr::new("kernelslist.g");
    let mut names: Vec<_> = fs::read_dir(partial.path())
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())).collect())
        .with_context(context)?;
    names.sort_by_key(|name| (name == list, name.clone()));
    for name in names {
        fs::rename(partial.path().join(&name), path.join(&name)).with_context(context)?;
    }
    folder.keep();
    Ok(summary)
}

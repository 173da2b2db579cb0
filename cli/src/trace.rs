//! `warpfile trace`.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::ValueEnum;
use warpfile_kernels::trace::{TraceSummary, write_accelsim, write_warpfile};
use warpfile_sim::config::{Config, apply_overrides, preset};

use crate::configuration::{DEFAULT_PRESET, name_and_value};
use crate::files::{StagedFolder, check_output};
use crate::input::{InputArguments, ToleranceArguments};
use crate::output::print;
use crate::progress::Watched;
use crate::report::out_of_bounds_notes;
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
    #[command(flatten)]
    tolerance: ToleranceArguments,
    /// Set a parameter of the execution: `exec.max_warp_instructions=1000000000`; see `warpfile list parameters`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    sets: Vec<(String, String)>,
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
    let mut opened = input.open(arguments.tolerance.options(&arguments.configuration()?), None)?;
    let mut watched = Watched::new(&mut opened, "tracing");
    let summary = match arguments.format {
        Format::Warpfile => write_file(&mut watched, &arguments.out)?,
        Format::Accelsim => write_folder(&mut watched, &arguments.out)?,
    };
    drop(watched);
    let mut text = format!(
        "{}: {} launches, {} blocks, {} warp instructions, {} bytes\n",
        arguments.out.display(),
        count(summary.launches),
        count(summary.blocks),
        count(summary.instructions),
        count(summary.bytes),
    );
    if arguments.tolerance.tolerate_out_of_bounds {
        text.extend(out_of_bounds_notes(&opened.out_of_bounds()?).into_iter().map(|note| note + "\n"));
    }
    print(&text)
}

impl Arguments {
    /// With the parameters of the execution; others say nothing to a trace.
    fn configuration(&self) -> anyhow::Result<Config> {
        if let Some((name, _)) = self.sets.iter().find(|(name, _)| !name.starts_with("exec.")) {
            bail!("--set {name} says nothing to a trace; accepted: parameters of exec");
        }
        let mut config = preset(DEFAULT_PRESET)?;
        let sets: Vec<(&str, &str)> =
            self.sets.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        apply_overrides(&mut config, &sets)?;
        Ok(config)
    }
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

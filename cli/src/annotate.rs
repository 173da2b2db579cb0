//! `warpfile annotate`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use warpfile_kernels::compile::listing::listing;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::ptx;
use warpfile_kernels::ptx::ir::Module;
use warpfile_kernels::workloads;

use anyhow::anyhow;

use crate::files::read_text;
use crate::output::print;

/// Most bytes of a PTX file.
const MAX_PTX_BYTES: u64 = 64 << 20;

/// What is annotated, and with what.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile annotate hotspot --pass liveness
  warpfile annotate mine.ptx --pass liveness --entry my_kernel")]
pub struct Arguments {
    /// Workload (see `warpfile list kernels`) or .ptx file.
    #[arg(value_name = "KERNEL")]
    input: String,
    /// What the listing shows.
    #[arg(long, default_value = "liveness")]
    pass: Pass,
    /// Only this kernel of the PTX file.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Pass {
    /// Last reads, soft definitions, suspension marks, values that are idle until a suspension.
    Liveness,
}

/// Prints a listing of every kernel, or of one.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let module = module(&arguments.input)?;
    let entries: Vec<&str> = match &arguments.entry {
        Some(entry) => vec![entry],
        None => module.kernels.iter().map(|kernel| kernel.name.as_str()).collect(),
    };
    let listings: Result<Vec<String>, _> =
        entries.into_iter().map(|entry| annotated(&module, entry, arguments.pass)).collect();
    print(&listings?.join("\n"))
}

fn annotated(module: &Module, entry: &str, pass: Pass) -> anyhow::Result<String> {
    let compiled = compile(module, entry, &CompileOptions::default())?;
    match pass {
        Pass::Liveness => Ok(listing(&compiled.program, &compiled.cfg)),
    }
}

/// The PTX of a workload or file.
fn module(input: &str) -> anyhow::Result<Module> {
    let path = PathBuf::from(input);
    match workloads::by_name(input) {
        Ok(workload) => Ok(ptx::parse(&workload.ptx_path().display().to_string(), workload.ptx)?),
        Err(_) if path.extension().is_some() || path.exists() => parse_file(&path),
        Err(unknown) => {
            Err(anyhow!("{unknown}; a .ptx file is accepted as well, but there is no file of that name"))
        }
    }
}

fn parse_file(path: &Path) -> anyhow::Result<Module> {
    Ok(ptx::parse(&path.display().to_string(), &read_text(path, MAX_PTX_BYTES)?)?)
}

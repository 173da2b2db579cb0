//! `warpfile annotate`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use warpfile_kernels::compile::listing::listing;
use warpfile_kernels::compile::{CompileOptions, compile, regless, rfh};
use warpfile_kernels::placement::MAX_ORF_ENTRIES;
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
  warpfile annotate mine.ptx --pass liveness --entry my_kernel
  warpfile annotate hotspot --pass regless --shard-lines 32 --soft-defs paper
  warpfile annotate hotspot --pass rfh --orf-entries 5")]
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
    /// Lines of the operand staging unit of one scheduler, for regions [default: 128].
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(u16).range(8..=2040))]
    shard_lines: Option<u16>,
    /// Which definitions leave lanes as they were, for regions [default: sound].
    #[arg(long, value_name = "RULE")]
    soft_defs: Option<SoftDefinitions>,
    /// Entries of the operand register file for a warp, for places [default: 3].
    #[arg(long, value_name = "ENTRIES", value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_ORF_ENTRIES)))]
    orf_entries: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Pass {
    /// Last reads, soft definitions, suspension marks, values that are idle until a suspension.
    Liveness,
    /// RegLess: regions with preloads, invalidations and bank usage; where lines are evicted and erased.
    Regless,
    /// Register file hierarchy: strands, and the level in which each operand is read and each result written.
    Rfh,
}

#[derive(Clone, Copy, ValueEnum)]
enum SoftDefinitions {
    /// Guarded ones, and those that lanes of the same warp wait out.
    Sound,
    /// Algorithm 2 of the paper as printed.
    Paper,
}

/// Prints a listing of every kernel, or of one.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    arguments.check_options()?;
    let module = module(&arguments.input)?;
    let entries: Vec<&str> = match &arguments.entry {
        Some(entry) => vec![entry],
        None => module.kernels.iter().map(|kernel| kernel.name.as_str()).collect(),
    };
    let listings: Result<Vec<String>, _> =
        entries.into_iter().map(|entry| annotated(&module, entry, arguments)).collect();
    print(&listings?.join("\n"))
}

impl Arguments {
    /// Options for one pass say nothing to another.
    fn check_options(&self) -> anyhow::Result<()> {
        let given = [
            ("--shard-lines", Pass::Regless, self.shard_lines.is_some()),
            ("--soft-defs", Pass::Regless, self.soft_defs.is_some()),
            ("--orf-entries", Pass::Rfh, self.orf_entries.is_some()),
        ];
        let stray = given.into_iter().find(|(_, pass, is_given)| *is_given && *pass != self.pass);
        if let Some((option, pass, _)) = stray {
            let pass = match pass {
                Pass::Liveness => "liveness",
                Pass::Regless => "regless",
                Pass::Rfh => "rfh",
            };
            return Err(anyhow!("{option} belongs to --pass {pass}; give that, or leave the option out"));
        }
        Ok(())
    }

    fn parameters(&self) -> regless::Parameters {
        let soft_defs = match self.soft_defs {
            None | Some(SoftDefinitions::Sound) => regless::SoftDefs::Sound,
            Some(SoftDefinitions::Paper) => regless::SoftDefs::Paper,
        };
        let lines = self.shard_lines.unwrap_or(regless::DEFAULT_SHARD_LINES);
        regless::Parameters { soft_defs, ..regless::Parameters::for_shard(lines) }
    }
}

fn annotated(module: &Module, entry: &str, arguments: &Arguments) -> anyhow::Result<String> {
    let compiled = compile(module, entry, &CompileOptions::default())?;
    match arguments.pass {
        Pass::Liveness => Ok(listing(&compiled.program, &compiled.cfg)),
        Pass::Regless => {
            let program = regless::compile(&compiled.program, &arguments.parameters())?;
            let regions = regless::regions(&program, &arguments.parameters())?;
            Ok(regless::listing::listing(&program, &regions, &compiled.cfg))
        }
        Pass::Rfh => {
            let orf_entries = arguments.orf_entries.unwrap_or(rfh::DEFAULT_ORF_ENTRIES);
            let placement = rfh::placement(&compiled.program, &rfh::Parameters { orf_entries })?;
            Ok(rfh::listing::listing(&compiled.program, &placement, &compiled.cfg))
        }
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

//! `warpfile annotate`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use warpfile_kernels::compile::compile;
use warpfile_kernels::compile::graph::Graphs;
use warpfile_kernels::compile::listing::listing;
use warpfile_kernels::exec::ExecOptions;
use warpfile_kernels::program::Launches;
use warpfile_kernels::ptx::ir::{Module, Refused};
use warpfile_kernels::ptx::{self, is_called, readable};
use warpfile_kernels::trace::TraceReport;
use warpfile_kernels::workloads::{self, MAX_PTX_BYTES};
use warpfile_sim::config::Config;
use warpfile_sim::mechanisms::{Code, Mechanism, Pass, Registry};

use crate::code::CodeArguments;
use crate::configuration::ConfigurationArguments;
use crate::cuda;
use crate::files::read_text;
use crate::input::InputArguments;
use crate::output::print;

/// The pass that every kernel goes through.
const LIVENESS: &str = "liveness";

/// What is annotated, and with what.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile annotate hotspot
  warpfile annotate mine.ptx --pass liveness --entry my_kernel
  warpfile annotate mine.ptx --entry 'saxpy(float*, int)'
  warpfile annotate hotspot --pass regless --set regless.lines=128 --set regless.soft_defs=paper
  warpfile annotate hotspot --pass rfh --set rfh.orf_entries=5
  warpfile annotate srad --pass relssp --set sharing.private_percent=20
  warpfile annotate trace/kernelslist.g --pass rsp

Of a trace it shows each kernel's program as far as it was executed.

Passes: liveness (last reads, soft definitions, suspension marks, values that are idle until a suspension), and those of
mechanisms: warpfile list mechanisms. `sharing` is that of reg-share, `relssp` that of spad-share-relssp.")]
pub struct Arguments {
    /// Workload (see `warpfile list kernels`), .ptx file, .cu file (clang makes it PTX), or trace (.wft, kernelslist.g, .traceg).
    #[arg(value_name = "KERNEL")]
    input: String,
    /// What the listing shows: liveness, or the compiler pass of a mechanism.
    #[arg(long, value_name = "PASS", default_value = LIVENESS)]
    pass: String,
    /// Only this kernel of the file: its name there, or in the C++ source (`saxpy`, `saxpy(float*, int)`).
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    #[command(flatten)]
    code: CodeArguments,
    #[command(flatten)]
    configuration: ConfigurationArguments,
}

/// Prints a listing of every kernel, or of one.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let pass = arguments.pass()?;
    match arguments.is_trace() {
        true => print_trace(arguments, pass.as_ref()),
        false => print(&of_code(arguments, pass.as_ref())?.join("\n")),
    }
}

/// Listings of the kernels of a workload, a .ptx or a .cu file.
fn of_code(
    arguments: &Arguments,
    pass: Option<&(&'static dyn Mechanism, Config)>,
) -> anyhow::Result<Vec<String>> {
    let module = module(&arguments.input, &arguments.code)?;
    let entries: Vec<&str> = match &arguments.entry {
        Some(entry) => vec![entry],
        None => entries(&module)?,
    };
    let options = arguments.code.code().options();
    let options = match pass {
        Some((_, config)) => config.design.code(config, options),
        None => options,
    };
    let listings = entries.into_iter().map(|entry| {
        let compiled = compile(&module, entry, &options)?;
        let code = Code { program: &compiled.program, cfg: &compiled.cfg, kernel: Some(&compiled.kernel) };
        annotated(code, pass)
    });
    let mut listings = listings.collect::<anyhow::Result<Vec<String>>>()?;
    if arguments.entry.is_none() {
        listings.extend(
            module
                .refused
                .iter()
                .map(|Refused { name, errors, .. }| format!("{} cannot be run:\n{errors}\n", readable(name))),
        );
    }
    Ok(listings)
}

/// Prints the kernels of a trace, each listing once: what was executed, and so what is known, may differ from launch to launch.
fn print_trace(arguments: &Arguments, pass: Option<&(&'static dyn Mechanism, Config)>) -> anyhow::Result<()> {
    let input = InputArguments::with_code(&arguments.input, None, &arguments.code).resolve()?;
    let mut trace = input.open(ExecOptions::default(), None)?;
    let mut names: Vec<String> = Vec::new();
    let mut printed = HashSet::new();
    let mut is_there = arguments.entry.is_none();
    for launch in 1_u64.. {
        let Some(stream) = trace.next_launch()? else { break };
        let program = stream.program();
        let is_wanted = arguments.entry.as_ref().is_none_or(|entry| is_called(&program.name, entry));
        is_there |= is_wanted;
        let name = format!("`{}`", readable(&program.name));
        if !names.contains(&name) {
            names.push(name);
        }
        // One that executed nothing has no code.
        if is_wanted && !program.instructions.is_empty() {
            let cfg = &Graphs::of(program)?.warps.cfg;
            let listing = annotated(Code { program, cfg, kernel: None }, pass)?;
            if printed.insert(listing.clone()) {
                print(&format!("// launch {launch}\n{listing}\n"))?;
            }
        }
    }
    if !is_there {
        let entry = arguments.entry.as_deref().unwrap_or_default();
        bail!("{}: no kernel `{entry}`; it has {}", arguments.input, names.join(", "));
    }
    let warnings = trace.trace_report().into_iter().flat_map(TraceReport::warnings);
    for (warning, times) in warnings {
        eprintln!("note: {warning} ({times} times)");
    }
    Ok(())
}

/// All kernels that can be run; that there is none is an error.
fn entries(module: &Module) -> anyhow::Result<Vec<&str>> {
    if module.kernels.is_empty() {
        let errors: Vec<String> = module.refused.iter().map(|refused| refused.errors.to_string()).collect();
        bail!("{}", errors.join("\n"));
    }
    Ok(module.kernels.iter().map(|kernel| kernel.name.as_str()).collect())
}

impl Arguments {
    /// Whether it is of a trace: a folder, or a file whose name ends as those of traces do, and no workload.
    fn is_trace(&self) -> bool {
        let path = Path::new(&self.input);
        let extension = path.extension().and_then(|extension| extension.to_str());
        workloads::by_name(&self.input).is_err()
            && (path.is_dir() || matches!(extension, Some("wft" | "g" | "traceg" | "xz")))
    }

    /// The mechanism whose pass it is, with the configuration of a design that has it; `None` for liveness.
    fn pass(&self) -> anyhow::Result<Option<(&'static dyn Mechanism, Config)>> {
        if self.pass == LIVENESS {
            if let Some((name, _)) = self.configuration.sets().first() {
                bail!("--set {name} says nothing to --pass {LIVENESS}; give another pass, or leave it out");
            }
            return Ok(None);
        }
        let registry = Registry::shipped();
        let with_pass = || registry.all().filter(|mechanism| mechanism.pass() != Pass::None);
        let names =
            |mechanism: &dyn Mechanism| mechanism.pass_name().into_iter().chain([mechanism.info().name]);
        let is_asked_for = |mechanism: &&dyn Mechanism| names(*mechanism).any(|name| name == self.pass);
        let Some(mechanism) = with_pass().find(is_asked_for) else {
            let accepted: Vec<&str> = std::iter::once(LIVENESS).chain(with_pass().flat_map(names)).collect();
            bail!("no pass `{}`; accepted: {}", self.pass, accepted.join(", "));
        };
        Ok(Some((mechanism, self.configuration.configuration(Some(mechanism.info().name))?)))
    }
}

fn annotated(code: Code<'_>, pass: Option<&(&'static dyn Mechanism, Config)>) -> anyhow::Result<String> {
    match pass {
        None => Ok(listing(code.program, code.cfg)),
        Some((mechanism, config)) => {
            let listing = mechanism.listing(config, code)?;
            listing.with_context(|| format!("pass {} has no listing", mechanism.info().name))
        }
    }
}

/// The PTX of a workload or file.
fn module(input: &str, code: &CodeArguments) -> anyhow::Result<Module> {
    let path = PathBuf::from(input);
    match workloads::by_name(input) {
        Ok(workload) => {
            let (path, ptx) = workload.ptx_of(code.code().addresses);
            Ok(ptx::parse(&path.display().to_string(), ptx)?)
        }
        Err(_) if path.extension().is_some() || path.exists() => parse_file(&path, code),
        Err(unknown) => Err(anyhow!(
            "{unknown}; a .ptx or .cu file or a trace is accepted as well, but there is no file of that name"
        )),
    }
}

fn parse_file(path: &Path, code: &CodeArguments) -> anyhow::Result<Module> {
    if cuda::is_cuda(path) {
        let ptx = cuda::compile(path, code.code().addresses)?;
        return Ok(ptx::parse(&cuda::name_of_ptx(path), &ptx)?);
    }
    code.check_is_made(false, &path.display().to_string())?;
    Ok(ptx::parse(&path.display().to_string(), &read_text(path, MAX_PTX_BYTES)?)?)
}

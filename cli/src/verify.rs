//! `warpfile verify`.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use warpfile_gen::{File as VerilogFile, Files, Style, emit_in};
use warpfile_verify::lockstep::{Comparison, Sides, Simulator};
use warpfile_verify::stimulus;

use crate::cache;
use crate::files::{Output, read_text};
use crate::generate::style;
use crate::output::print;
use crate::traffic::TrafficArguments;

/// Most bytes of a file of Verilog.
const MAX_VERILOG_BYTES: u64 = 64 << 20;

/// What is compared, and under which inputs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile verify fifo --set depth=5 --set width=1
  warpfile verify two_level_scheduler --cycles 5000 --seed 7 --simulator icarus
  warpfile verify register_file_cache --kernel hotspot      with what a kernel does at its ports
  warpfile verify fifo --verilog mine                        Verilog of `gen` that was changed by hand

Both start from the same state; what has no reset is filled from several seeds. Without --kernel or --recording the
inputs are random within what the circuit assumes; with them what it assumes and its invariants are checked. Exit codes:
0 equal; 1 different: the first difference is named, and a waveform of both sides around it is written; 1 also if
something that is assumed or invariant does not hold; 2 for input that cannot be used or a tool that is missing.")]
pub struct Arguments {
    /// Circuit: see `warpfile list circuits`.
    #[arg(value_name = "CIRCUIT")]
    circuit: String,
    #[command(flatten)]
    traffic: TrafficArguments,
    /// Cycles that are compared at most.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    cycles: u64,
    /// Seed of random inputs and of state without a reset.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// How many seeds are tried, from --seed on.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// What runs the Verilog.
    #[arg(long, value_enum, default_value_t = Choice::Both)]
    simulator: Choice,
    /// Style of the Verilog, as in `warpfile gen`.
    #[arg(long, value_name = "NAME", default_value = Style::default().name(), value_parser = style)]
    style: Style,
    /// Folder with the circuit's Verilog, in place of what `warpfile gen` would write.
    #[arg(long, value_name = "DIR")]
    verilog: Option<PathBuf>,
    /// Waveform of both sides around the first difference [default: CIRCUIT-difference.vcd].
    #[arg(long, value_name = "FILE")]
    vcd: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Choice {
    /// The command `verilator`, or what the environment variable VERILATOR names.
    Verilator,
    /// The command `iverilog`.
    Icarus,
    /// Verilator, then Icarus.
    Both,
}

impl Choice {
    fn simulators(self) -> &'static [Simulator] {
        match self {
            Choice::Verilator => &[Simulator::Verilator],
            Choice::Icarus => &[Simulator::Icarus],
            Choice::Both => &Simulator::ALL,
        }
    }
}

/// Compares, and says so; a difference is an error.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let driven = arguments.traffic.circuit(&arguments.circuit, arguments.cycles, arguments.seed)?;
    let netlist = driven.netlist;
    let recorded = |recording| stimulus::recorded(recording, arguments.cycles as usize);
    let source = driven.source.unwrap_or_default();
    let traffic = driven.recording.map(recorded).transpose().with_context(|| source.clone())?;
    let files = match &arguments.verilog {
        Some(folder) => read_files(folder, &netlist.top().name)?,
        None => emit_in(&netlist, arguments.style),
    };
    let sides = Sides { netlist: &netlist, files: &files, style: arguments.style, cache: cache::folder() };
    let mut cycles = 0;
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
        let random;
        let stimuli = match &traffic {
            Some(traffic) => traffic,
            None => {
                random = stimulus::random(&netlist, arguments.cycles as usize, seed)?;
                &random
            }
        };
        for &simulator in arguments.simulator.simulators() {
            let comparison = sides.compare(stimuli, seed, simulator)?;
            if comparison.difference.is_some() {
                return Err(arguments.report(&comparison)?);
            }
            // Under random inputs invariants may not hold that rest on more than one cycle of them.
            if let (Some(violation), true) = (comparison.violation, traffic.is_some()) {
                return Err(
                    anyhow::Error::new(violation).context(format!("{} under {source}", netlist.top().name))
                );
            }
        }
        cycles += stimuli.len();
    }
    let simulators: Vec<&str> = arguments.simulator.simulators().iter().map(|s| s.name()).collect();
    print(&format!(
        "{}: the engine and {} agree on every output in {cycles} cycles, seeds {} to {}\n",
        netlist.top().name,
        simulators.join(" and "),
        arguments.seed,
        arguments.seed.saturating_add(arguments.seeds - 1),
    ))
}

impl Arguments {
    /// The difference as an error; writes the waveform.
    fn report(&self, comparison: &Comparison<'_>) -> anyhow::Result<anyhow::Error> {
        let Some(difference) = &comparison.difference else { bail!("there is no difference to report") };
        let default = PathBuf::from(format!("{}-difference.vcd", self.circuit));
        let mut file = Output::create(self.vcd.as_deref().unwrap_or(&default))?;
        let path = file.path().display().to_string();
        let mut writer = BufWriter::new(file.file());
        comparison.write_waveform(difference, &mut writer).with_context(|| format!("cannot write {path}"))?;
        drop(writer);
        file.publish()?;
        let circuit = &comparison.netlist.top().name;
        Ok(anyhow::Error::new(difference.clone()).context(format!("{circuit}; {path} shows both sides")))
    }
}

/// Verilog as `warpfile gen` writes it: the file list, and the files in it.
fn read_files(folder: &Path, top: &str) -> anyhow::Result<Files> {
    let list = VerilogFile {
        name: format!("{top}.f"),
        text: read_text(&folder.join(format!("{top}.f")), MAX_VERILOG_BYTES)?,
    };
    // Names in the list may be absolute.
    let module = |line: &str| {
        let name = Path::new(line).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = read_text(&folder.join(line), MAX_VERILOG_BYTES)?;
        Ok(VerilogFile { name, text })
    };
    let modules =
        list.text.lines().filter(|line| !line.is_empty()).map(module).collect::<anyhow::Result<_>>()?;
    let manifest = VerilogFile { name: "manifest.json".to_owned(), text: String::new() };
    let mut files = Files { top: top.to_owned(), modules, list, manifest, packages: Vec::new() };
    files.list_in(Path::new(""));
    Ok(files)
}

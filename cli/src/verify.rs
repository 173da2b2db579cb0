//! `warpfile verify`.

use std::env;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use warpfile_engine::recording::Recording;
use warpfile_gen::{File as VerilogFile, Files, Style, emit_in};
use warpfile_hdl::library::{CircuitEntry, library};
use warpfile_hdl::rtl::netlist::{Module, Netlist};
use warpfile_kernels::launch::suggest;
use warpfile_sim::config::{Config, DesignName};
use warpfile_sim::sm::EngineName;
use warpfile_sim::sm::designs::named_circuits;
use warpfile_verify::lockstep::{Comparison, Sides, Simulator};
use warpfile_verify::stimulus;
use warpfile_verify::testbench::Stimulus;

use crate::configuration::ConfigurationArguments;
use crate::files::{Output, read_text};
use crate::generate::{overrides, style};
use crate::input::InputArguments;
use crate::output::print;
use crate::progress::Meters;
use crate::simulate::{Observers, Run, Setting, Traffic};

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
inputs are random within what the circuit assumes. Exit codes: 0 equal; 1 different: the first difference is named, and
a waveform of both sides around it is written; 2 for input that cannot be used or a tool that is missing.")]
pub struct Arguments {
    /// Circuit: see `warpfile list circuits`.
    #[arg(value_name = "CIRCUIT")]
    circuit: String,
    /// With --kernel, --set is of the design that the circuit is part of, else of the circuit.
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Drive it with what passes its ports while this kernel runs: a workload, .ptx file, launch file or trace.
    #[arg(long, value_name = "KERNEL", conflicts_with = "recording")]
    kernel: Option<String>,
    /// Size of the kernel's problem [default: tiny for a workload].
    #[arg(long, requires = "kernel")]
    size: Option<String>,
    /// Design that the kernel runs through [default: the first that the circuit is part of].
    #[arg(long, value_name = "DESIGN", requires = "kernel")]
    design: Option<String>,
    /// Drive it with a recording made by `warpfile run --record`.
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
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
    let library = library();
    let entry = library.iter().find(|entry| entry.name == arguments.circuit).ok_or_else(|| {
        let near = suggest(&arguments.circuit, library.iter().map(|entry| entry.name));
        anyhow!("no circuit `{}`{near}", arguments.circuit)
    })?;
    let (netlist, traffic) = arguments.circuit(entry)?;
    let files = match &arguments.verilog {
        Some(folder) => read_files(folder, &netlist.top().name)?,
        None => emit_in(&netlist, arguments.style),
    };
    let sides = Sides { netlist: &netlist, files: &files, style: arguments.style, cache: cache() };
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
    /// The circuit, and what drives it if that is recorded traffic.
    fn circuit(&self, entry: &CircuitEntry) -> anyhow::Result<(Netlist, Option<Vec<Stimulus>>)> {
        if let Some(kernel) = &self.kernel {
            let (config, path, netlist) = self.in_design(entry)?;
            let stimuli = self.record(kernel, &config, &path)?;
            return Ok((netlist, Some(stimuli)));
        }
        if let Some(option) = self.configuration.preset_or_file() {
            bail!("{option} is for designs; without --kernel set the circuit's parameters with --set");
        }
        let netlist = entry.elaborate_with(&overrides(entry, self.configuration.sets())?)?;
        let Some(path) = &self.recording else { return Ok((netlist, None)) };
        let named = || path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot read {}", named()))?;
        let recording = Recording::new(BufReader::new(file)).with_context(named)?;
        let (recorded, asked) = (&recording.header().circuit, &netlist.top().name);
        if recorded != asked {
            bail!("{}: it is of `{recorded}`; accepted: one of `{asked}`, as --set says", named());
        }
        let stimuli = stimulus::recorded(recording, self.cycles as usize).with_context(named)?;
        Ok((netlist, Some(stimuli)))
    }

    /// The circuit as a part of a design: the design's configuration, the path of the circuit in it, and the circuit.
    fn in_design(&self, entry: &CircuitEntry) -> anyhow::Result<(Config, String, Netlist)> {
        let designs: Vec<&str> = match &self.design {
            Some(design) => vec![design],
            None => DesignName::ALL.iter().map(|design| design.as_str()).collect(),
        };
        let mut refused = None;
        for design in &designs {
            let circuits = self.configuration.configuration(Some(design)).and_then(|config| {
                let circuits = named_circuits(&config)?;
                Ok((config, circuits))
            });
            let (config, circuits) = match circuits {
                Ok(circuits) => circuits,
                // Where no design is asked for, one that this configuration cannot have is passed over.
                Err(error) if self.design.is_none() => {
                    refused = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (name, outermost) in circuits {
                let found = outermost.circuits().into_iter();
                let mut found = found.filter(|(_, id)| is_of(entry, &outermost.modules[id.index()]));
                let Some((path, _)) = found.next() else { continue };
                let Some(netlist) = outermost.circuit_at(&path) else { continue };
                let dot = if path.is_empty() { "" } else { "." };
                return Ok((config, format!("{name}{dot}{path}"), netlist));
            }
        }
        let error = anyhow!(
            "{} is not part of {}; without --kernel it is driven at random",
            entry.name,
            designs.join(", ")
        );
        Err(refused.map_or(error, |refused| refused.context(format!("{} is in no other design", entry.name))))
    }

    /// Runs the kernel through the design and keeps the first cycles of the traffic.
    fn record(&self, kernel: &str, config: &Config, path: &str) -> anyhow::Result<Vec<Stimulus>> {
        let input = &InputArguments::of(kernel, self.size.as_deref()).resolve()?;
        let mut file = tempfile::tempfile().context("cannot keep the recording")?;
        let traffic = Traffic { circuit: path.to_owned(), cycles: Some(self.cycles) };
        let setting = Setting { seed: self.seed, engine: EngineName::default() };
        let mut writer = BufWriter::new(&mut file);
        let observers = Observers { waveform: None, traffic: Some((&mut writer, &traffic)) };
        Run { input, config, sm: 0 }.simulate(setting, &Meters::new(), observers)?;
        writer.flush().context("cannot keep the recording")?;
        drop(writer);
        std::io::Seek::rewind(&mut file).context("cannot keep the recording")?;
        Ok(stimulus::recorded(Recording::new(BufReader::new(file))?, self.cycles as usize)?)
    }

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

/// Whether a module is a circuit of the library, with whatever parameters.
fn is_of(entry: &CircuitEntry, module: &Module) -> bool {
    let rest = module.name.strip_prefix(entry.name);
    let parameters = module.parameters.iter().map(|(name, _)| name.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        && parameters.eq(entry.parameters.iter().map(|(name, _)| *name))
}

/// Verilog as `warpfile gen` writes it: the file list, and the files in it.
fn read_files(folder: &Path, top: &str) -> anyhow::Result<Files> {
    let list = VerilogFile {
        name: format!("{top}.f"),
        text: read_text(&folder.join(format!("{top}.f")), MAX_VERILOG_BYTES)?,
    };
    let module = |name: &str| {
        let text = read_text(&folder.join(name), MAX_VERILOG_BYTES)?;
        Ok(VerilogFile { name: name.to_owned(), text })
    };
    let modules =
        list.text.lines().filter(|line| !line.is_empty()).map(module).collect::<anyhow::Result<_>>()?;
    let manifest = VerilogFile { name: "manifest.json".to_owned(), text: String::new() };
    Ok(Files { top: top.to_owned(), modules, list, manifest })
}

/// Where what Verilator builds is kept: in the user's folder for caches, if there is one.
fn cache() -> Option<PathBuf> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = named.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(folder.join("warpfile"))
}

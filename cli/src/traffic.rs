//! What drives one circuit by itself: what passes its ports while a kernel runs through a design that it is part of, or a
//! recording of such traffic.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use warpfile_engine::recording::{Recording, RecordingHeader};
use warpfile_hdl::library::{CircuitEntry, library};
use warpfile_hdl::rtl::netlist::{Direction, Module, Netlist};
use warpfile_kernels::exec::ExecOptions;
use warpfile_sim::config::Config;
use warpfile_sim::mechanisms::Registry;
use warpfile_sim::sm::{EngineName, chip_sms};
use warpfile_synthesis::supply::{RowStateCounter, RowStates, Supply};

use crate::configuration::ConfigurationArguments;
use crate::generate::{circuit_named, library_circuit};
use crate::input::{InputArguments, Source};
use crate::progress::Meters;
use crate::simulate::{Observers, Run, Setting, Traffic};

/// A recording in a file.
pub type RecordingFile = Recording<BufReader<File>>;

/// The group of options of which one at most says what drives a circuit.
pub const STIMULUS: &str = "stimulus";

/// Where traffic comes from, if any is asked for.
#[derive(clap::Args)]
pub struct TrafficArguments {
    /// With --kernel, --set is of the design that the circuit is part of, else of the circuit.
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Drive it with what passes its ports while this kernel runs: a workload, .ptx file, launch file or trace.
    #[arg(long, value_name = "KERNEL", group = STIMULUS)]
    kernel: Option<String>,
    /// Size of the kernel's problem [default: tiny for a workload].
    #[arg(long, requires = "kernel")]
    size: Option<String>,
    /// Design that the kernel runs through [default: the first that the circuit is part of].
    #[arg(long, value_name = "DESIGN", requires = "kernel")]
    design: Option<String>,
    /// Drive it with a recording made by `warpfile run --record`.
    #[arg(long, value_name = "FILE", group = STIMULUS)]
    recording: Option<PathBuf>,
}

/// A circuit, and what drives it if that is traffic.
pub struct Driven {
    /// The circuit.
    pub netlist: Netlist,
    /// The traffic; none if it was not asked for.
    pub recording: Option<RecordingFile>,
    /// What the traffic is, for people.
    pub source: Option<String>,
}

impl TrafficArguments {
    /// The circuit and what drives it; of a kernel so many cycles at most, on state from `seed`.
    pub fn circuit(&self, name: &str, cycles: u64, seed: u64) -> anyhow::Result<Driven> {
        let library = library();
        let entry = library_circuit(name, &library)?;
        if let Some(kernel) = &self.kernel {
            let (config, path, netlist) = self.in_design(entry)?;
            let recording = Some(self.record(kernel, &config, &path, (cycles, seed))?);
            let source = Some(format!("{kernel} through {}, at {path}", config.design.as_str()));
            return Ok(Driven { netlist, recording, source });
        }
        let netlist = circuit_named(entry, &self.configuration)?;
        let Some(path) = &self.recording else {
            return Ok(Driven { netlist, recording: None, source: None });
        };
        let named = || path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot read {}", named()))?;
        let recording = Recording::new(BufReader::new(file)).with_context(named)?;
        let (recorded, asked) = (&recording.header().circuit, &netlist.top().name);
        if recorded != asked {
            bail!("{}: it is of `{recorded}`; accepted: one of `{asked}`, as --set says", named());
        }
        same_inputs(recording.header(), &netlist).with_context(named)?;
        Ok(Driven { netlist, recording: Some(recording), source: Some(named()) })
    }

    /// How rows of the circuit's memories are supplied in the same cycles of a kernel, if its design gates their supply.
    pub fn supply(&self, name: &str, cycles: u64, seed: u64) -> anyhow::Result<Option<Supply>> {
        let Some(kernel) = &self.kernel else { return Ok(None) };
        let library = library();
        let (config, ..) = self.in_design(library_circuit(name, &library)?)?;
        let Some(gating) = config.design.power_gating(&config) else { return Ok(None) };
        let Some(control) = gating.control else { return Ok(None) };
        let of_design = config.design.circuits(&config)?.into_iter().map(|(path, _)| path);
        // Of the first scheduler, as every circuit that there is one of for each.
        let path = of_design.into_iter().find(|path| path.ends_with(control.circuit));
        let path = path.with_context(|| format!("{} has no {}", config.design.as_str(), control.circuit))?;
        let mut recording = self.record(kernel, &config, &path, (cycles, seed))?;
        let output = |name: &str| {
            let found = recording.header().outputs().find(|(_, port)| port.name == name);
            found.map(|(index, _)| index).with_context(|| format!("{path} has no output {name}"))
        };
        let (on, sleep) = (output(control.on)?, output(control.sleep)?);
        let (off, waking) = (output(control.off)?, output(control.waking)?);
        let driven = u64::from(recording.header().ports[on].width);
        let mut counter = RowStateCounter::default();
        while recording.next_cycle()? {
            let [on, sleep, off, waking] = [on, sleep, off, waking].map(|port| recording.words(port));
            counter.cycle(RowStates { on, sleep, off, waking });
        }
        let structures = config.design.structures(&config);
        let circuits = structures.iter().filter_map(|structure| structure.sleeping_rows).collect();
        Ok(Some(Supply { circuits, gating, driven, rows: counter.counted() }))
    }

    /// The circuit as a part of a design: the design's configuration, the path of the circuit in it, and the circuit.
    fn in_design(&self, entry: &CircuitEntry) -> anyhow::Result<(Config, String, Netlist)> {
        let designs: Vec<&str> = match &self.design {
            Some(design) => vec![design],
            None => Registry::shipped().designs().map(|(design, ..)| design).collect(),
        };
        let mut passed_over = String::new();
        for design in &designs {
            let circuits = self.configuration.configuration(Some(design)).and_then(|config| {
                let circuits = config.design.circuits(&config)?;
                Ok((config, circuits))
            });
            let (config, circuits) = match circuits {
                Ok(circuits) => circuits,
                // Where no design is asked for, one that this configuration cannot have is passed over.
                Err(error) if self.design.is_none() => {
                    passed_over += &format!("; {design} was passed over: {error:#}");
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
        bail!(
            "{} is not part of {}; without --kernel it is driven at random{passed_over}",
            entry.name,
            designs.join(", ")
        )
    }

    /// Runs the kernel through the design and keeps the first cycles of the traffic.
    fn record(
        &self,
        kernel: &str,
        config: &Config,
        path: &str,
        (cycles, seed): (u64, u64),
    ) -> anyhow::Result<RecordingFile> {
        let input = &InputArguments::of(kernel, self.size.as_deref()).resolve()?;
        let mut file = tempfile::tempfile().context("cannot keep the recording")?;
        let traffic = Traffic { circuit: path.to_owned(), cycles: Some(cycles) };
        let setting = Setting { seed, check_seeds: 0, engine: EngineName::default() };
        let mut writer = BufWriter::new(&mut file);
        let observers = Observers { traffic: Some((&mut writer, &traffic)), ..Observers::default() };
        let source = Arc::new(Source::new(input, ExecOptions::default()).of_runs(1));
        // The first SM tells the others, and asks none.
        let chip = chip_sms(config.chip.simulated_sms).next();
        Run { source, config, sm: 0, timeline: false }.simulate(chip, setting, &Meters::new(), observers)?;
        writer.flush().context("cannot keep the recording")?;
        drop(writer);
        file.rewind().context("cannot keep the recording")?;
        Ok(Recording::new(BufReader::new(file))?)
    }
}

/// Refuses a recording whose inputs are not the circuit's, in its order.
fn same_inputs(header: &RecordingHeader, netlist: &Netlist) -> anyhow::Result<()> {
    let recorded: Vec<(&str, u32)> =
        header.inputs().map(|(_, port)| (port.name.as_str(), port.width)).collect();
    let inputs = netlist.top().ports.iter().filter(|port| port.direction == Direction::Input);
    let inputs: Vec<(&str, u32)> = inputs.map(|port| (port.name.as_str(), port.width)).collect();
    for index in 0..recorded.len().max(inputs.len()) {
        let [recorded, accepted] = [&recorded, &inputs].map(|ports| match ports.get(index) {
            Some((name, width)) => format!("`{name}` of {width} bits"),
            None => "nothing".to_owned(),
        });
        if recorded != accepted {
            bail!("its input {} is {recorded}; accepted: {accepted}", index + 1);
        }
    }
    Ok(())
}

/// Whether a module is a circuit of the library, with whatever parameters.
fn is_of(entry: &CircuitEntry, module: &Module) -> bool {
    let rest = module.name.strip_prefix(entry.name);
    let parameters = module.parameters.iter().map(|(name, _)| name.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        && parameters.eq(entry.parameters.iter().map(|(name, _)| *name))
}

//! `warpfile gen`.

use std::path::{self, Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};
use warpfile_gen::{Clock, File, Files, Style, emit_for, rename_top, write};
use warpfile_hdl::library::{CircuitEntry, library};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_kernels::launch::suggest;
use warpfile_sim::mechanisms::{NamedCircuit, Registry, Stack};

use crate::configuration::ConfigurationArguments;
use crate::files::StagedFolder;
use crate::output::print;

/// What is written, and where to.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile gen rfc -o verilog                          all circuits of a design, as the preset sizes them
  warpfile gen rfc --set rfc.entries=8 -o verilog
  warpfile gen fifo --set depth=5 --set width=1 -o fifo  one circuit with parameters of its own
  warpfile gen rfc --style words -o verilog            the same circuits as Verilator runs them best
  warpfile gen fifo --top-name my_fifo --clock 500 --absolute -o fifo

For each circuit there are its modules (.v), a file list (.f), a core for FuseSoC (.core, targets lint and sim), Bender.yml, the
clock for synthesis (.sdc), a testbench to start from (_tb.sv) and manifest.json.

Parameters of circuits: warpfile list circuits --json. Of designs: warpfile list parameters.")]
pub struct Arguments {
    /// Circuit or design: see `warpfile list circuits` and `warpfile list designs`.
    #[arg(value_name = "CIRCUIT|DESIGN")]
    name: String,
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Style of the Verilog: `lanes`, what synthesis takes best (one array a lane of a field that is written lane by lane),
    /// or `words`, what Verilator runs best (whole rows; masks in place of loops). They mean the same.
    #[arg(long, value_name = "NAME", default_value = Style::default().name(), value_parser = style)]
    style: Style,
    /// Name of the outermost module, and of the files that are called after it; for one circuit, not for a design.
    #[arg(long, value_name = "NAME")]
    top_name: Option<String>,
    /// Clock that the .sdc file asks for, MHz.
    #[arg(long, value_name = "MHZ", default_value = "1000", value_parser = clock)]
    clock: Clock,
    /// Absolute paths in the file list, so that tools take it from any folder.
    #[arg(long)]
    absolute: bool,
    /// Folder for the files; made if missing.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the files of a circuit or of those of a design, and names what was written.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let library = library();
    match library.iter().find(|circuit| circuit.name == arguments.name) {
        Some(circuit) => generate_circuit(circuit, arguments),
        None if is_design(&arguments.name) => generate_design(arguments),
        None => bail!("{}", unknown(&arguments.name, &library)),
    }
}

/// Every circuit of the design in a folder of its own, named as in waveforms.
fn generate_design(arguments: &Arguments) -> anyhow::Result<()> {
    let config = arguments.configuration.configuration(Some(&arguments.name))?;
    let mut circuits = Vec::new();
    for mechanism in config.design.mechanisms() {
        circuits.extend(mechanism.circuits(&config)?);
    }
    if arguments.top_name.is_some() {
        let names: Vec<&str> = circuits.iter().map(|circuit| circuit.name).collect();
        bail!("--top-name is for one circuit; `{}` is a design of {}", arguments.name, names.join(", "));
    }
    let files = |circuit: &NamedCircuit| (Path::new(circuit.name), arguments.emit(&circuit.netlist));
    arguments.write(circuits.iter().map(files).collect())
}

/// Whether a name is that of a design, or of mechanisms that make one.
pub fn is_design(name: &str) -> bool {
    Stack::parse(&Registry::shipped(), "", name).is_ok()
}

/// A style by its name.
pub fn style(name: &str) -> Result<Style, String> {
    let found = Style::ALL.into_iter().find(|style| style.name() == name);
    found.ok_or_else(|| format!("accepted: {}", Style::ALL.map(Style::name).join(", ")))
}

/// A clock by its frequency.
fn clock(text: &str) -> Result<Clock, String> {
    let clock = text.parse().ok().and_then(Clock::of_mhz);
    clock.ok_or_else(|| "accepted: a frequency in MHz above 0, at most 100000".to_owned())
}

/// Says that there is neither a circuit nor a design of that name.
pub fn unknown(name: &str, circuits: &[CircuitEntry]) -> String {
    let names = circuits.iter().map(|circuit| circuit.name);
    let registry = Registry::shipped();
    let designs = registry.designs().map(|(design, ..)| design);
    let near = suggest(name, names.chain(designs));
    format!(
        "no circuit or design `{name}`{near}; `warpfile list circuits` and `warpfile list designs` have them"
    )
}

/// The circuit of the library that has a name.
pub fn library_circuit<'l>(name: &str, library: &'l [CircuitEntry]) -> anyhow::Result<&'l CircuitEntry> {
    library.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let near = suggest(name, library.iter().map(|entry| entry.name));
        anyhow!("no circuit `{name}`{near}; `warpfile list circuits` has them")
    })
}

/// A circuit with the parameters that are set on the command line.
pub fn circuit_named(
    circuit: &CircuitEntry,
    configuration: &ConfigurationArguments,
) -> anyhow::Result<Netlist> {
    if let Some(option) = configuration.preset_or_file() {
        bail!("{option} is for designs; `{}` is a circuit: set its parameters with --set", circuit.name);
    }
    Ok(circuit.elaborate_with(&overrides(circuit, configuration.sets())?)?)
}

fn generate_circuit(circuit: &CircuitEntry, arguments: &Arguments) -> anyhow::Result<()> {
    let mut netlist = circuit_named(circuit, &arguments.configuration)?;
    if let Some(name) = &arguments.top_name {
        rename_top(&mut netlist, name).context("--top-name")?;
    }
    arguments.write(vec![(Path::new(""), arguments.emit(&netlist))])
}

impl Arguments {
    fn emit(&self, netlist: &Netlist) -> Files {
        emit_for(netlist, self.style, self.clock)
    }

    /// Writes the files of each circuit to its folder in `out`: all of them, or none.
    fn write(&self, mut circuits: Vec<(&Path, Files)>) -> anyhow::Result<()> {
        if self.absolute {
            let out = absolute(&self.out)?;
            circuits.iter_mut().for_each(|(path, files)| files.list_in(&out.join(path)));
        }
        let folder = StagedFolder::create(&self.out)?;
        let mut names = String::new();
        for (path, files) in &circuits {
            write(files, &folder.path().join(path))?;
            let name = |file: &File| format!("{}\n", self.out.join(path).join(&file.name).display());
            names.extend(files.all().map(name));
        }
        folder.publish("manifest.json")?;
        print(&names)
    }
}

/// The folder's absolute path. Tools split file lists at blanks and know no common way to quote them.
fn absolute(folder: &Path) -> anyhow::Result<PathBuf> {
    let path = path::absolute(folder).with_context(|| format!("--out {}", folder.display()))?;
    match path.to_str() {
        Some(text) if !text.contains(|c: char| c.is_whitespace() || "\"'\\$".contains(c)) => Ok(path),
        _ => bail!(
            "--absolute: {}: file lists cannot hold this path; accepted: one without blanks, quotes, \\ and $",
            path.display()
        ),
    }
}

/// The parameters that `sets` changes, whole, with the values set in them.
pub fn overrides(circuit: &CircuitEntry, sets: &[(String, String)]) -> anyhow::Result<Value> {
    let mut changed = Map::new();
    let mut parameters = circuit.defaults.clone();
    for (name, text) in sets {
        let pointer = format!("/{}", name.replace('.', "/"));
        let place = parameters.pointer_mut(&pointer).filter(|place| !place.is_object());
        let place = place.ok_or_else(|| unknown_parameter(circuit, name))?;
        *place = value_like(place, text).ok_or_else(|| {
            anyhow!("{}: parameter `{name}` cannot be `{text}`; accepted: {}", circuit.name, kind_of(place))
        })?;
        let outermost = name.split('.').next().unwrap_or(name);
        changed.insert(outermost.to_owned(), parameters[outermost].clone());
    }
    Ok(Value::Object(changed))
}

fn unknown_parameter(circuit: &CircuitEntry, name: &str) -> anyhow::Error {
    let mut names = Vec::new();
    leaves("", &circuit.defaults, &mut names);
    let near = suggest(name, names.iter().map(String::as_str));
    anyhow!("{} has no parameter `{name}`{near}; it has: {}", circuit.name, names.join(", "))
}

/// Dotted names of all parameters.
fn leaves(prefix: &str, value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                leaves(&path, member, into);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            into.push(prefix.to_owned());
        }
    }
}

/// `text` as a value of the type of `like`.
fn value_like(like: &Value, text: &str) -> Option<Value> {
    match like {
        Value::Number(_) => text.parse::<u64>().ok().map(Value::from),
        Value::Bool(_) => text.parse::<bool>().ok().map(Value::from),
        Value::String(_) => Some(Value::from(text)),
        Value::Array(_) | Value::Object(_) | Value::Null => serde_json::from_str(text).ok(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "a whole number from 0",
        Value::Bool(_) => "true or false",
        Value::String(_) => "a word",
        Value::Array(_) => "a list as in JSON, [1, 2]",
        Value::Object(_) | Value::Null => "a value as in JSON",
    }
}

//! `warpfile gen`.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use serde_json::{Map, Value};
use warpfile_gen::{Files, Style, emit_in, write};
use warpfile_hdl::library::{CircuitEntry, library};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_kernels::launch::suggest;
use warpfile_sim::mechanisms::{Registry, Stack};

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
    /// Folder for the Verilog, the file list and the manifest; made if missing.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes Verilog, file list and manifest, and names what was written.
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
    let mut files = Vec::new();
    for mechanism in config.design.mechanisms() {
        for circuit in mechanism.circuits(&config)? {
            files.push((Path::new(circuit.name), emit_in(&circuit.netlist, arguments.style)));
        }
    }
    write_files(&files, &arguments.out)
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
    let files = emit_in(&circuit_named(circuit, &arguments.configuration)?, arguments.style);
    write_files(&[(Path::new(""), files)], &arguments.out)
}

/// Writes the files of each circuit to its folder in `out`: all of them, or none.
fn write_files(circuits: &[(&Path, Files)], out: &Path) -> anyhow::Result<()> {
    let folder = StagedFolder::create(out)?;
    let mut names = String::new();
    for (path, files) in circuits {
        write(files, &folder.path().join(path))?;
        names.extend(files.all().map(|file| format!("{}\n", out.join(path).join(&file.name).display())));
    }
    folder.publish("manifest.json")?;
    print(&names)
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

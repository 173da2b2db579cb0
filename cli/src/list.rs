//! `warpfile list`.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value, json};
use warpfile_hdl::library;
use warpfile_kernels::workloads;
use warpfile_sim::config::{Config, preset, preset_names};
use warpfile_sim::energy::{Rest, Technology, technology_names};
use warpfile_sim::mechanisms::{Mechanism, Pass, Registry, Role, Stack};

use crate::configuration::DEFAULT_PRESET;
use crate::figures;
use crate::output::{print, print_json};
use crate::table::{Align, lines};

/// What is listed, and how.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile list kernels
  warpfile list circuits --json")]
pub struct Arguments {
    /// What to list.
    kind: Kind,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
    /// Preset whose values `list parameters` shows.
    #[arg(long, default_value = DEFAULT_PRESET)]
    preset: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Workloads for `run`, `trace` and `annotate`.
    #[value(alias = "workloads")]
    Kernels,
    /// Designs for `run --design`, `gen` and `area`.
    Designs,
    /// Mechanisms that designs are made of, for `--design A+B+…`.
    Mechanisms,
    /// Circuits for `gen`, `area`, `power`, `verify` and `prove`.
    Circuits,
    /// Presets for `--preset`.
    Presets,
    /// Technologies for `--set energy.technology=…`.
    Technologies,
    /// Figures for `figure`.
    Figures,
    /// Parameters for `--set` and `--config`.
    Parameters,
}

/// One thing that can be named.
#[derive(Serialize)]
struct Entry {
    name: String,
    summary: String,
    /// What else there is to say of it, for JSON.
    #[serde(flatten)]
    details: Map<String, Value>,
    /// What a table shows beside the name.
    #[serde(skip)]
    columns: Vec<String>,
}

impl Entry {
    fn new(name: &str, summary: &str, details: Value) -> Entry {
        let details = match details {
            Value::Object(details) => details,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Map::new()
            }
        };
        Entry {
            name: name.to_owned(),
            summary: summary.to_owned(),
            details,
            columns: vec![summary.to_owned()],
        }
    }
}

/// Prints the list.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (key, entries) = match arguments.kind {
        Kind::Kernels => ("kernels", kernels()?),
        Kind::Designs => ("designs", designs()),
        Kind::Mechanisms => ("mechanisms", mechanisms()),
        Kind::Circuits => ("circuits", circuits()),
        Kind::Presets => ("presets", presets()?),
        Kind::Technologies => ("technologies", technologies()?),
        Kind::Figures => ("figures", figures()),
        Kind::Parameters => ("parameters", parameters(&arguments.preset)?),
    };
    if arguments.json {
        return print_json(&BTreeMap::from([(key, entries)]));
    }
    let rows: Vec<Vec<String>> =
        entries.into_iter().map(|entry| [vec![entry.name], entry.columns].concat()).collect();
    print(&lines(&rows, &[Align::Left]))
}

fn kernels() -> anyhow::Result<Vec<Entry>> {
    let entry = |workload: &workloads::Workload| {
        let file = workload.launch_file()?;
        let sizes: Vec<&str> = file.sizes.iter().map(|(name, _)| name.as_str()).collect();
        Ok(Entry::new(workload.name, &file.description, json!({ "sizes": sizes })))
    };
    workloads::all().iter().map(entry).collect()
}

fn designs() -> Vec<Entry> {
    let registry = Registry::shipped();
    let stacks = registry.stacks();
    let entry = |((name, line, _), stack): ((&str, &str, _), &Stack)| {
        let mechanisms: Vec<&str> = stack.mechanisms().map(|mechanism| mechanism.info().name).collect();
        Entry::new(name, line, json!({ "mechanisms": mechanisms, "preset": stack.preset() }))
    };
    registry.designs().zip(&stacks).map(entry).collect()
}

fn mechanisms() -> Vec<Entry> {
    let entry = |mechanism: &'static dyn Mechanism| {
        let (info, role) = (mechanism.info(), role(mechanism.role()));
        let rewrites = mechanism.pass() == Pass::Rewrites;
        let details = json!({ "role": role, "preset": info.preset, "rewrites_program": rewrites });
        let mut entry = Entry::new(info.name, info.summary, details);
        entry.columns.insert(0, role.to_owned());
        entry
    };
    Registry::shipped().all().map(entry).collect()
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Scheduler => "scheduler",
        Role::Storage { .. } => "storage",
        Role::Layer => "layer",
    }
}

fn circuits() -> Vec<Entry> {
    library::library()
        .into_iter()
        .map(|circuit| {
            let parameters: Vec<Value> = circuit
                .parameters
                .iter()
                .map(|(name, doc)| json!({ "name": name, "summary": doc.trim(), "default": circuit.defaults[name] }))
                .collect();
            let details = json!({ "doc": circuit.doc.trim(), "parameters": parameters });
            Entry::new(circuit.name, &first_sentence(circuit.doc), details)
        })
        .collect()
}

fn presets() -> anyhow::Result<Vec<Entry>> {
    let entry = |name| {
        let config = preset(name)?;
        let stacks = Registry::shipped().stacks().into_iter();
        let carried = stacks.filter(|stack| config.with_stack(stack.clone()).validate().is_ok()).count();
        let summary = format!(
            "{} warps, {} active, {} designs",
            config.sm.warps, config.scheduler.active_warps, carried
        );
        Ok(Entry::new(name, &summary, json!({ "parameters": config })))
    };
    preset_names().map(entry).collect()
}

fn technologies() -> anyhow::Result<Vec<Entry>> {
    let entry = |name| {
        let technology = Technology::named(name)?;
        let published =
            technology.rfc.len() + usize::from(technology.mrf.is_some()) + technology.tables.len();
        let rest = match &technology.chip.rest {
            Rest::Power(card) => format!("a card of {} W", card.card_w.value),
            Rest::Share(share) => {
                format!("registers are {} % of the GPU", 100.0 * share.registers_share.value)
            }
            Rest::Units(_) => "energies of units".to_owned(),
        };
        let summary = format!(
            "{} nm, {} GHz, {published} published arrays, {rest}",
            technology.node_nm, technology.clock_ghz.value
        );
        Ok(Entry::new(name, &summary, json!({ "figures": serde_json::to_value(&technology)? })))
    };
    technology_names().map(entry).collect()
}

fn figures() -> Vec<Entry> {
    figures::list().map(|figure| Entry::new(figure.id, figure.title, json!({}))).collect()
}

fn parameters(preset_name: &str) -> anyhow::Result<Vec<Entry>> {
    let values = serde_json::to_value(preset(preset_name)?)?;
    let entry = |parameter: warpfile_sim::config::Parameter| {
        let value = value_of(&values, &parameter.name);
        let accepted = parameter.accepted.to_string();
        let details = json!({ "value": value, "accepted": accepted });
        let mut entry = Entry::new(&parameter.name, &parameter.doc, details);
        entry.columns = vec![plain(value), accepted, parameter.doc];
        entry
    };
    Ok(Config::parameters(&Registry::shipped()).into_iter().map(entry).collect())
}

/// The value of a dotted name.
fn value_of<'v>(values: &'v Value, name: &str) -> &'v Value {
    name.split('.').fold(values, |value, part| &value[part])
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The first sentence of a doc comment, on one line.
fn first_sentence(doc: &str) -> String {
    let paragraph = doc.trim().split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => line,
    }
}

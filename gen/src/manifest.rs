//! `manifest.json`: what a circuit consists of, for scripts.

use std::collections::BTreeMap;

use serde::Serialize;
use warpfile_hdl::rtl::netlist::{Direction, KeptBy, Module, Netlist, Op, Table, Update};

#[derive(Serialize)]
struct Manifest<'a> {
    circuit: &'a str,
    parameters: BTreeMap<&'a str, &'a str>,
    files: Vec<String>,
    modules: Vec<ModuleEntry<'a>>,
}

#[derive(Serialize)]
struct ModuleEntry<'a> {
    name: &'a str,
    parameters: BTreeMap<&'a str, &'a str>,
    sequential: bool,
    ports: Vec<PortEntry<'a>>,
    registers: Registers,
    tables: Vec<TableEntry<'a>>,
    instances: Vec<InstanceEntry<'a>>,
    invariants: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumptions: Vec<&'a str>,
}

#[derive(Serialize)]
struct PortEntry<'a> {
    name: &'a str,
    direction: &'static str,
    width_bits: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_when: Option<String>,
}

#[derive(Serialize)]
struct Registers {
    count: usize,
    bits: u64,
}

#[derive(Serialize)]
struct TableEntry<'a> {
    name: &'a str,
    depth: u32,
    row_bits: u64,
    valid_bits: bool,
    fields: Vec<FieldEntry<'a>>,
    ports: Vec<TablePort<'a>>,
}

#[derive(Serialize)]
struct FieldEntry<'a> {
    name: &'a str,
    width_bits: u32,
    lanes: u32,
    lanes_per_array: u32,
}

#[derive(Serialize)]
struct TablePort<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    kind: &'static str,
}

#[derive(Serialize)]
struct InstanceEntry<'a> {
    name: &'a str,
    module: &'a str,
}

/// The manifest's text. Parameters are text, as in the headers of the files.
pub(crate) fn manifest(netlist: &Netlist, sequential: &[bool]) -> String {
    let top = &netlist.modules[netlist.top.index()];
    let manifest = Manifest {
        circuit: &top.name,
        parameters: parameters(top),
        files: netlist.modules.iter().map(|m| format!("{}.v", m.name)).collect(),
        modules: netlist.modules.iter().zip(sequential).map(|(m, &s)| module_entry(netlist, m, s)).collect(),
    };
    // Plain structs of strings and numbers always serialise.
    let mut text = serde_json::to_string_pretty(&manifest).unwrap_or_else(|e| unreachable!("manifest: {e}"));
    text.push('\n');
    text
}

fn parameters(module: &Module) -> BTreeMap<&str, &str> {
    module.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn module_entry<'a>(netlist: &'a Netlist, module: &'a Module, sequential: bool) -> ModuleEntry<'a> {
    ModuleEntry {
        name: &module.name,
        parameters: parameters(module),
        sequential,
        ports: module
            .ports
            .iter()
            .map(|port| PortEntry {
                name: &port.name,
                direction: match port.direction {
                    Direction::Input => "input",
                    Direction::Output => "output",
                },
                width_bits: port.width,
                valid_when: port.valid_when.and_then(|node| port_of(module, node)),
            })
            .collect(),
        registers: Registers {
            count: module.registers.len(),
            bits: module.registers.iter().map(|r| u64::from(r.width)).sum(),
        },
        tables: module.tables.iter().map(table_entry).collect(),
        instances: module
            .instances
            .iter()
            .map(|i| InstanceEntry { name: &i.name, module: &netlist.modules[i.module.index()].name })
            .collect(),
        invariants: properties(module, KeptBy::Circuit),
        assumptions: properties(module, KeptBy::Environment),
    }
}

/// Names of the properties that someone keeps.
fn properties(module: &Module, kept_by: KeptBy) -> Vec<&str> {
    let kept = module.invariants.iter().filter(|invariant| invariant.kept_by == kept_by);
    kept.map(|invariant| invariant.name.as_str()).collect()
}

/// The output or input that a node is, if it is one; else its name, if it has one.
fn port_of(module: &Module, node: warpfile_hdl::rtl::netlist::NodeId) -> Option<String> {
    let output = module.ports.iter().find(|p| p.driver == Some(node)).map(|p| p.name.clone());
    let named = &module.nodes[node.index()];
    output.or_else(|| match named.op {
        Op::Input(port) => Some(module.ports[port.index()].name.clone()),
        _ => named.name.clone(),
    })
}

fn table_entry(table: &Table) -> TableEntry<'_> {
    let reads = table.reads.iter().map(|port| TablePort {
        name: Some(&port.name),
        kind: if port.clocked { "read_clocked" } else { "read" },
    });
    let matches = table.matches.iter().map(|port| TablePort { name: Some(&port.name), kind: "match" });
    let updates = table.updates.iter().map(|update| match update {
        Update::Write { name, .. } => TablePort { name: Some(name), kind: "write" },
        Update::Add { name, .. } => TablePort { name: Some(name), kind: "add" },
        Update::ClearRow { .. } => TablePort { name: None, kind: "clear_row" },
        Update::ClearRows { .. } => TablePort { name: None, kind: "clear_rows" },
        Update::SetRows { .. } => TablePort { name: None, kind: "set_rows" },
    });
    TableEntry {
        name: &table.name,
        depth: table.depth,
        row_bits: table.fields.iter().map(|f| u64::from(f.width)).sum(),
        valid_bits: table.has_valid,
        fields: table
            .fields
            .iter()
            .map(|f| FieldEntry {
                name: &f.name,
                width_bits: f.width,
                lanes: f.lanes,
                lanes_per_array: f.lanes_per_array,
            })
            .collect(),
        ports: reads.chain(matches).chain(updates).collect(),
    }
}

//! All mutants of a module.

use std::collections::BTreeMap;
use std::path::Path;

use warpfile_hdl::rtl::netlist::{Module, Netlist, Node, NodeId, Op, SourceLine, Table, TableId, Update};

use super::change::{Change, Place};
use super::live::{is_computed, live};
use super::{conditions, operators};

/// A change with the name it is known by.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Where and how, unique in the module.
    pub name: String,
    /// What is changed.
    pub change: Change,
}

/// All mutants of the module at `index`, in the order of its description. What only counts activity or states a
/// property is left alone.
pub fn mutants(netlist: &Netlist, index: usize) -> Vec<Mutant> {
    let module = &netlist.modules[index];
    let mut sites = Sites { module, mutants: Vec::new(), names: BTreeMap::new() };
    sites.nodes(netlist);
    sites.registers();
    for (index, table) in module.tables.iter().enumerate() {
        sites.reads(index, table);
        sites.searches(index, table);
        sites.updates(index, table);
    }
    sites.instances(netlist);
    sites.mutants
}

struct Sites<'a> {
    module: &'a Module,
    mutants: Vec<Mutant>,
    /// How often a name came up.
    names: BTreeMap<String, u32>,
}

impl Sites<'_> {
    fn add(&mut self, name: String, change: Change) {
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name} ({count})") };
        self.mutants.push(Mutant { name, change });
    }

    fn width(&self, place: Place) -> u32 {
        place.node(self.module).map_or(0, |node| self.module.nodes[node.index()].width)
    }

    fn nodes(&mut self, netlist: &Netlist) {
        let live = live(self.module);
        for (index, node) in self.module.nodes.iter().enumerate() {
            if live[index] && is_computed(&node.op) {
                let place = place(self.module, node);
                for (what, change) in operators::mutants(netlist, self.module, NodeId(index as u32)) {
                    self.add(format!("{place}: {what}"), change);
                }
            }
        }
    }

    fn registers(&mut self) {
        for (index, register) in self.module.registers.iter().enumerate() {
            let name = format!("register `{}`", register.name);
            if register.enable.is_some() {
                self.stuck(&name, Place::RegisterEnable(index));
            } else {
                let change = Change::Stuck { place: Place::RegisterEnable(index), value: false };
                self.add(format!("{name}: enable stuck at 0"), change);
            }
            if let Some(reset) = &register.reset {
                let change = Change::Reset { register: index, value: operators::next(reset) };
                self.add(format!("{name}: reset value off by one"), change);
            }
        }
    }

    fn stuck(&mut self, name: &str, place: Place) {
        for value in [false, true] {
            self.add(format!("{name}: enable stuck at {}", u8::from(value)), Change::Stuck { place, value });
        }
    }

    fn reads(&mut self, table: usize, described: &Table) {
        for (index, read) in described.reads.iter().enumerate() {
            let name = read_name(described, index);
            let change = Change::Increment { place: Place::ReadAddress(table, index) };
            self.add(format!("{name}: address off by one"), change);
            if read.clocked {
                self.stuck(&name, Place::ReadEnable(table, index));
            }
        }
    }

    fn searches(&mut self, table: usize, described: &Table) {
        for (port, search) in described.matches.iter().enumerate() {
            for (what, condition) in conditions::mutants(&search.condition) {
                let change = Change::Condition { table, port, condition };
                self.add(format!("{}: {what}", search_name(described, port)), change);
            }
        }
    }

    fn updates(&mut self, table: usize, described: &Table) {
        for (index, update) in described.updates.iter().enumerate() {
            let name = format!("table `{}`, {}", described.name, update_name(update));
            self.stuck(&name, Place::UpdateEnable(table, index));
            let address = Place::UpdateAddress(table, index);
            if address.node(self.module).is_some() {
                self.add(format!("{name}: address off by one"), Change::Increment { place: address });
            }
            let rows = Place::UpdateRows(table, index);
            if rows.node(self.module).is_some() {
                self.add(format!("{name}: rows inverted"), Change::Invert { place: rows });
            }
            if let Update::Write { fields, set_valid, .. } = update {
                self.write(table, index, described, &name, fields.len());
                if *set_valid && described.has_valid {
                    self.add(
                        format!("{name}: leaves its row invalid"),
                        Change::NotValid { table, update: index },
                    );
                }
            }
            if index + 1 < described.updates.len() {
                let change = Change::Order { table, first: index };
                self.add(format!("{name}: comes after the next change of the table"), change);
            }
        }
    }

    fn write(&mut self, table: usize, update: usize, described: &Table, name: &str, fields: usize) {
        let Update::Write { fields: written, .. } = &described.updates[update] else { return };
        for field in 0..fields {
            let field_name = &described.fields[written[field].field as usize].name;
            if written[field].lanes.is_some() {
                let change = Change::Invert { place: Place::WriteLanes(table, update, field) };
                self.add(format!("{name}: mask of `{field_name}` inverted"), change);
            }
            let (first, second) = (Place::WriteValue(table, update, field), field + 1);
            if second < fields {
                let other = &described.fields[written[second].field as usize].name;
                let second = Place::WriteValue(table, update, second);
                self.swap(&format!("{name}: `{field_name}` and `{other}` swapped"), first, second);
            }
        }
    }

    /// Two places of the same width that take different nodes.
    fn swap(&mut self, name: &str, first: Place, second: Place) {
        if first.node(self.module) != second.node(self.module) && self.width(first) == self.width(second) {
            self.add(name.to_string(), Change::Swap { first, second });
        }
    }

    fn instances(&mut self, netlist: &Netlist) {
        for (index, instance) in self.module.instances.iter().enumerate() {
            let ports = &netlist.modules[instance.module.index()].ports;
            for (input, pair) in instance.inputs.windows(2).enumerate() {
                let [first, second] = [&pair[0], &pair[1]].map(|(port, _)| &ports[port.index()].name);
                let name = format!("instance `{}`: `{first}` and `{second}` swapped", instance.name);
                self.swap(&name, Place::InstanceInput(index, input), Place::InstanceInput(index, input + 1));
            }
        }
    }
}

fn update_name(update: &Update) -> String {
    match update {
        Update::Write { name, .. } => format!("write `{name}`"),
        Update::Add { name, .. } => format!("addition `{name}`"),
        Update::ClearRow { .. } => "clearing of a row".into(),
        Update::ClearRows { .. } => "clearing of rows".into(),
        Update::SetRows { .. } => "setting of rows".into(),
    }
}

/// What a node shows of a table, or the line that describes it.
fn place(module: &Module, node: &Node) -> String {
    let table = |id: TableId| &module.tables[id.index()];
    match node.op {
        Op::TableRead { table: id, port, .. } | Op::TableReadValid { table: id, port } => {
            read_name(table(id), port as usize)
        }
        Op::TableMatch { table: id, port } => search_name(table(id), port as usize),
        _ => {
            let SourceLine { file, line } = node.source;
            let name = Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
            format!("{name}:{line}")
        }
    }
}

fn read_name(table: &Table, port: usize) -> String {
    format!("table `{}`, read `{}`", table.name, table.reads[port].name)
}

fn search_name(table: &Table, port: usize) -> String {
    format!("table `{}`, search `{}`", table.name, table.matches[port].name)
}

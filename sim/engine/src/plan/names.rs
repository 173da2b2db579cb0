//! Names: what can be set, read and counted, and looking it up.

use std::collections::btree_map::Entry;

use warpfile_hdl::rtl::netlist::{Direction, NodeId};

use super::inst::element_bytes;
use super::layout::Builder;
use super::order::is_observed;
use super::{CheckedInvariant, InPort, ONE, OutPort, Plan, RowPort, Signal, TableLayout};
use crate::activity::ActivityHandle;
use crate::{EngineError, Options};

impl Builder<'_> {
    /// Names every port, observed node and piece of state, and the invariants to check.
    pub fn name_things(&mut self, options: &Options) {
        for scope in 0..self.flat.scopes.len() {
            self.name_ports(scope, options);
            self.name_state(scope);
            self.name_nodes(scope, options);
        }
        if options.check_invariants {
            for invariant in &self.flat.invariants {
                let (name, condition) = &invariant.item;
                let path = self.flat.path(invariant.scope, name);
                let condition = self.slot(*condition);
                self.plan.invariants.push(CheckedInvariant { path, condition });
            }
        }
    }

    fn name_ports(&mut self, scope: usize, options: &Options) {
        let flat = self.flat;
        if scope == 0 {
            for input in &flat.inputs {
                let offset = self.plan.inputs.start + self.plan.in_ports[&input.name].offset;
                self.add_signal(0, &input.name, OutPort { offset, width: input.width, valid: ONE }, false);
            }
        } else if !is_observed(&options.observe, &flat.scopes[scope].path) {
            return;
        }
        for port in flat.ports.iter().filter(|port| port.scope == scope) {
            let valid = port.item.valid_when.map_or(ONE, |node| self.slot(node));
            let value = OutPort { valid, ..self.value(port.item.node) };
            self.add_signal(scope, &port.item.name, value, false);
            if scope == 0 && port.item.direction == Direction::Output {
                self.plan.out_ports.insert(port.item.name.clone(), value);
            }
        }
    }

    fn name_state(&mut self, scope: usize) {
        let flat = self.flat;
        for (index, register) in flat.registers.iter().enumerate().filter(|(_, r)| r.scope == scope) {
            let (offset, width) = (self.plan.registers[index].q, register.item.width);
            let value = OutPort { offset, width, valid: ONE };
            self.add_signal(scope, &format!("{}_q", register.item.name), value, true);
        }
        for (index, table) in flat.tables.iter().enumerate().filter(|(_, t)| t.scope == scope) {
            let name = &table.item.name;
            if let Some(offset) = self.plan.tables[index].valid {
                let value = OutPort { offset, width: table.item.depth, valid: ONE };
                self.add_signal(scope, &format!("{name}_valid_q"), value, true);
            }
            for (port, read) in table.item.reads.iter().enumerate() {
                let capture = self.captures[index][port].clone();
                for (field, offset) in table.item.fields.iter().zip(capture.fields) {
                    let value = OutPort { offset, width: field.width, valid: ONE };
                    self.add_signal(scope, &format!("{name}_{}_{}_q", read.name, field.name), value, true);
                }
                if let Some(offset) = capture.valid {
                    let value = OutPort { offset, width: 1, valid: ONE };
                    self.add_signal(scope, &format!("{name}_{}_valid_q", read.name), value, true);
                }
            }
        }
    }

    fn name_nodes(&mut self, scope: usize, options: &Options) {
        let flat = self.flat;
        if !is_observed(&options.observe, &flat.scopes[scope].path) {
            return;
        }
        for (index, node) in flat.nodes.iter().enumerate().filter(|(_, node)| node.scope == scope) {
            if let Some(name) = &node.item.name {
                let value = self.value(NodeId(index as u32));
                self.add_signal(scope, name, value, false);
            }
        }
    }

    fn value(&self, node: NodeId) -> OutPort {
        OutPort { offset: self.slot(node), width: self.width(node), valid: ONE }
    }

    /// A port may be driven by a node of the same name: the first keeps it.
    fn add_signal(&mut self, scope: usize, name: &str, value: OutPort, is_state: bool) {
        let path = self.flat.path(scope, name);
        if let Entry::Vacant(entry) = self.plan.probes.entry(path) {
            entry.insert(value);
            self.plan.signals.push(Signal { scope, name: name.to_owned(), is_state, value });
        }
    }
}

impl Plan {
    /// An input of the outermost circuit.
    pub fn input(&self, name: &str) -> Result<InPort, EngineError> {
        self.in_ports.get(name).copied().ok_or_else(|| self.unknown("input", name, self.in_ports.keys()))
    }

    /// All outputs of the outermost circuit, in the order of their declaration.
    pub(crate) fn output_ports(&self) -> impl Iterator<Item = (String, OutPort)> {
        let outermost = self.signals.iter().filter(|signal| signal.scope == 0);
        outermost.filter_map(|signal| Some((signal.name.clone(), *self.out_ports.get(&signal.name)?)))
    }

    /// An output of the outermost circuit.
    pub fn output(&self, name: &str) -> Result<OutPort, EngineError> {
        self.out_ports.get(name).copied().ok_or_else(|| self.unknown("output", name, self.out_ports.keys()))
    }

    /// Any observed signal by path.
    pub fn probe(&self, path: &str) -> Result<OutPort, EngineError> {
        self.probes
            .get(path)
            .copied()
            .ok_or_else(|| self.unknown("observed signal", path, self.probes.keys()))
    }

    /// A table by path.
    pub fn table(&self, path: &str) -> Result<&TableLayout, EngineError> {
        let found = self.tables.iter().find(|table| table.path == path);
        found.ok_or_else(|| self.unknown("table", path, self.tables.iter().map(|table| &table.path)))
    }

    /// Where a field of a table's row is.
    pub fn row(&self, path: &str, row: u32, field: &str) -> Result<RowPort, EngineError> {
        let table = self.table(path)?;
        let layout = table.fields.iter().find(|layout| layout.name == field).ok_or_else(|| {
            self.unknown("field", &format!("{path}.{field}"), table.fields.iter().map(|field| &field.name))
        })?;
        if row >= table.depth {
            return Err(EngineError::RowOutOfRange { table: path.to_owned(), row, depth: table.depth });
        }
        let distance = row * element_bytes(layout.width);
        let (offset, shift) = (layout.base + distance / 8, 8 * (distance % 8));
        Ok(RowPort { offset, shift, width: layout.width })
    }

    /// A table port's counter, by the table's path and the port's name.
    pub fn activity_handle(&self, path: &str) -> Result<ActivityHandle, EngineError> {
        let paths: Vec<_> = self.port_meters.iter().map(|meter| meter.path()).collect();
        let found = paths.iter().position(|candidate| candidate == path);
        found
            .map(|index| ActivityHandle(index as u32))
            .ok_or_else(|| self.unknown("table port", path, paths.iter()))
    }

    fn unknown<'a>(
        &self,
        kind: &'static str,
        name: &str,
        existing: impl Iterator<Item = &'a String>,
    ) -> EngineError {
        EngineError::unknown(kind, name, &self.circuit, existing.map(String::as_str))
    }
}

//! What is checked, and kept, about the tables of a module while it is described.

use crate::rtl::builder::ModuleBuilder;
use crate::rtl::error::Problem;
use crate::rtl::netlist::{self, NodeId, SourceLine, TableId, Update};

use super::record::FieldShape;

/// What a table's declaration says beyond the netlist.
#[derive(Default)]
pub(in crate::rtl) struct TablePlan {
    /// Read and write ports that there is room for, if it says.
    pub ports: Option<(usize, usize)>,
    /// For each field, whether it was declared with lanes, be it one.
    pub laned: Vec<bool>,
}

#[derive(Clone, Copy)]
pub(super) enum PortKind {
    Read,
    Write,
}

impl ModuleBuilder {
    /// Adds a field to a table; whether it can be used.
    pub(super) fn add_field(&mut self, id: TableId, shape: FieldShape, source: SourceLine) -> bool {
        let FieldShape { name, bits, lanes, lanes_per_array } = shape;
        let table = &self.module.tables[id.index()];
        let place = format!("`{}.{name}`", table.name);
        let taken = table.fields.iter().any(|f| f.name == name);
        let (table, other) = (table.name.clone(), self.lanes_of_table(id));
        if taken {
            self.error(source, Problem::DuplicateName { name, kind: "field of the table" });
            return false;
        }
        if !crate::rtl::names::is_word(&name) {
            self.error(source, Problem::BadName { name: name.clone() });
        }
        let laned = lanes.is_some();
        let Some(width) = self.size(|| format!("the width of {place}"), bits, source) else { return false };
        let Some(lanes) = self.size(|| format!("the number of lanes of {place}"), lanes.unwrap_or(1), source)
        else {
            return false;
        };
        if !width.is_multiple_of(lanes) {
            let (whole, parts) = (format!("the {width} bits of {place}"), format!("{lanes} lanes"));
            self.error(source, Problem::Lanes { operation: "lanes", whole, parts });
            return false;
        }
        if lanes_per_array == 0 || !(lanes as usize).is_multiple_of(lanes_per_array) {
            let (whole, parts) =
                (format!("the {lanes} lanes of {place}"), format!("arrays of {lanes_per_array}"));
            self.error(source, Problem::Lanes { operation: "lanes_per_array", whole, parts });
            return false;
        }
        if let Some(other) = other.filter(|&other| laned && other != lanes) {
            self.error(source, Problem::LaneCounts { table, field: name, lanes, other });
            return false;
        }
        let field = netlist::Field { name, width, lanes, lanes_per_array: lanes_per_array as u32 };
        self.module.tables[id.index()].fields.push(field);
        self.table_plans[id.index()].laned.push(laned);
        true
    }

    /// Lanes of the table's laned fields, if it has any.
    fn lanes_of_table(&self, id: TableId) -> Option<u32> {
        let laned = self.table_plans[id.index()].laned.iter();
        let mut fields = self.module.tables[id.index()].fields.iter().zip(laned);
        fields.find(|(_, laned)| **laned).map(|(field, _)| field.lanes)
    }

    /// In a table with valid bits, `valid` is what they are called.
    pub(super) fn check_valid_is_no_field(&mut self, id: TableId, source: SourceLine) {
        let table = &self.module.tables[id.index()];
        if table.has_valid && table.fields.iter().any(|f| f.name == "valid") {
            let (name, kind) = ("valid".to_string(), "part of the record, its valid bit");
            self.error(source, Problem::DuplicateName { name, kind });
        }
    }

    pub(super) fn has_valid_bits(&mut self, id: TableId, source: SourceLine) -> bool {
        let table = &self.module.tables[id.index()];
        if !table.has_valid {
            let table = table.name.clone();
            self.error(source, Problem::NoValidBits { table });
            return false;
        }
        true
    }

    /// `mask` if it has one bit for each lane of the table's laned fields.
    pub(super) fn lane_mask(
        &mut self,
        id: TableId,
        mask: NodeId,
        port: &str,
        source: SourceLine,
    ) -> Option<NodeId> {
        let place = format!("table `{}`", self.module.tables[id.index()].name);
        match self.lanes_of_table(id) {
            Some(lanes) => Some(self.of_width(mask, lanes, || format!("the lane mask of `{port}`"), source)),
            None => {
                self.error(source, Problem::NoLanes { place });
                None
            }
        }
    }

    pub(super) fn take_port_name(&mut self, id: TableId, name: &str, source: SourceLine) {
        if !crate::rtl::names::is_word(name) {
            self.error(source, Problem::BadName { name: name.to_string() });
        }
        let table = &self.module.tables[id.index()];
        let writes = table.updates.iter().filter_map(|update| match update {
            Update::Write { name, .. } | Update::Add { name, .. } => Some((name, "write port of the table")),
            Update::ClearRow { .. } | Update::ClearRows { .. } | Update::SetRows { .. } => None,
        });
        let reads = table.reads.iter().map(|port| (&port.name, "read port of the table"));
        let matches = table.matches.iter().map(|port| (&port.name, "associative port of the table"));
        if let Some((_, kind)) = reads.chain(matches).chain(writes).find(|(taken, _)| *taken == name) {
            self.error(source, Problem::DuplicateName { name: name.to_string(), kind });
        }
    }

    pub(super) fn count_port(&mut self, id: TableId, port: &str, kind: PortKind, source: SourceLine) {
        let Some((reads, writes)) = self.table_plans[id.index()].ports else { return };
        let table = &self.module.tables[id.index()];
        let is_port = |u: &&Update| matches!(u, Update::Write { .. } | Update::Add { .. });
        let (declared, used, kind) = match kind {
            PortKind::Read => (reads, table.reads.len(), "read"),
            PortKind::Write => (writes, table.updates.iter().filter(is_port).count(), "write"),
        };
        if used >= declared {
            let (table, port) = (table.name.clone(), port.to_string());
            self.error(source, Problem::TooManyPorts { table, kind, declared, port });
        }
    }
}

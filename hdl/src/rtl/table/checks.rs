//! What is checked, and kept, about the tables of a module while it is described.

use crate::rtl::builder::ModuleBuilder;
use crate::rtl::error::Problem;
use crate::rtl::netlist::{Field, NodeId, SourceLine, TableId, Update};

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
    pub(super) fn add_field(
        &mut self,
        id: TableId,
        name: &str,
        bits: usize,
        lanes: Option<usize>,
        source: SourceLine,
    ) {
        let table = &self.module.tables[id.index()];
        let place = format!("`{}.{name}`", table.name);
        let laned = lanes.is_some();
        let in_use = !(table.reads.is_empty() && table.matches.is_empty() && table.updates.is_empty());
        let taken = table.fields.iter().any(|f| f.name == name);
        let other = self.lanes_of_table(id);
        let table_name = table.name.clone();
        if in_use {
            self.error(source, Problem::TableInUse { table: table_name });
            return;
        }
        if taken {
            self.error(source, Problem::DuplicateName { name: name.to_string(), kind: "field of the table" });
            return;
        }
        if !crate::rtl::names::is_word(name) {
            self.error(source, Problem::BadName { name: name.to_string() });
        }
        let Some(width) = self.size(|| format!("the width of {place}"), bits, source) else { return };
        let Some(lanes) = self.size(|| format!("the number of lanes of {place}"), lanes.unwrap_or(1), source)
        else {
            return;
        };
        if !width.is_multiple_of(lanes) {
            let (whole, parts) = (format!("the {width} bits of {place}"), format!("{lanes} lanes"));
            self.error(source, Problem::Lanes { operation: "laned_field", whole, parts });
            return;
        }
        if let Some(other) = other.filter(|&other| laned && other != lanes) {
            let field = name.to_string();
            self.error(source, Problem::LaneCounts { table: table_name, field, lanes, other });
        }
        let field = Field { name: name.to_string(), width, lanes, lanes_per_array: 1 };
        self.module.tables[id.index()].fields.push(field);
        self.table_plans[id.index()].laned.push(laned);
        if name == "valid" {
            self.check_valid_is_no_field(id, source);
        }
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

    /// Index and width of a field.
    pub(super) fn field(&mut self, id: TableId, name: &str, source: SourceLine) -> Option<(u32, u32)> {
        let table = &self.module.tables[id.index()];
        let found = table.fields.iter().position(|f| f.name == name);
        if let Some(index) = found {
            return Some((index as u32, table.fields[index].width));
        }
        let known: Vec<&str> = table.fields.iter().map(|f| f.name.as_str()).collect();
        let (table, field, known) = (table.name.clone(), name.to_string(), known.join(", "));
        self.error(source, Problem::UnknownField { table, field, known });
        None
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

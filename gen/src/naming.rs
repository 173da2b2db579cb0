//! Names of everything in a module's Verilog.

use std::collections::{BTreeMap, BTreeSet};

use warpfile_hdl::rtl::netlist::{Module, Netlist, Table};

use crate::keywords::is_reserved;

/// Identifiers taken in a module.
#[derive(Default)]
pub(crate) struct Scope {
    taken: BTreeSet<String>,
    counters: BTreeMap<String, u64>,
}

impl Scope {
    /// `wanted` if it is free and legal, else the first of `wanted_2`, `wanted_3`, … that is.
    pub(crate) fn fresh(&mut self, wanted: &str) -> String {
        let stem: String =
            wanted.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        let stem = if stem.starts_with(|c: char| c.is_ascii_digit()) || stem.is_empty() {
            format!("_{stem}")
        } else {
            stem
        };
        let mut name = stem.clone();
        let mut number = 1u64;
        while is_reserved(&name) || self.taken.contains(&name) {
            number += 1;
            name = format!("{stem}_{number}");
        }
        self.taken.insert(name.clone());
        name
    }

    /// The first free of `stem_1`, `stem_2`, ….
    pub(crate) fn numbered(&mut self, stem: &str) -> String {
        let next = self.counters.entry(stem.to_string()).or_insert(0);
        *next += 1;
        let wanted = format!("{stem}_{next}");
        self.fresh(&wanted)
    }

    /// Takes a name as it is.
    pub(crate) fn take(&mut self, name: &str) {
        self.taken.insert(name.to_string());
    }
}

/// Verilog names of a module's things, by index.
pub(crate) struct Names {
    /// Identifiers in use.
    pub(crate) scope: Scope,
    /// Registers, `count_q`.
    pub(crate) registers: Vec<String>,
    /// Tables.
    pub(crate) tables: Vec<TableNames>,
    /// Instances.
    pub(crate) instances: Vec<InstanceNames>,
    /// Wires that nodes have of their own.
    pub(crate) nodes: Vec<Option<String>>,
    /// Loop variables and other local names in use, by what the generator calls them.
    pub(crate) locals: BTreeMap<&'static str, String>,
}

/// Names of a table's parts.
pub(crate) struct TableNames {
    /// Storage of each field, `rows_hash_q`.
    pub(crate) fields: Vec<String>,
    /// Loop around each field's arrays if it has one a lane, `rows_value_lane`.
    pub(crate) lanes: Vec<String>,
    /// Valid bits, `rows_valid_q`.
    pub(crate) valid: String,
    /// Valid bits of the next cycle, `rows_valid_d`.
    pub(crate) valid_next: String,
    /// Read ports.
    pub(crate) reads: Vec<ReadNames>,
    /// Match lines.
    pub(crate) matches: Vec<String>,
}

/// Names of what a read port shows.
pub(crate) struct ReadNames {
    /// Each field, `rows_lookup_hash` (`…_q` for a clocked port).
    pub(crate) fields: Vec<String>,
    /// The valid bit, `rows_lookup_valid`.
    pub(crate) valid: String,
}

/// Names of an instance and of the wires at its outputs.
pub(crate) struct InstanceNames {
    /// The instance.
    pub(crate) name: String,
    /// By port of the child; unused for inputs.
    pub(crate) ports: Vec<String>,
}

impl Names {
    /// Names everything but the nodes, which [`crate::plan`] names after it.
    pub(crate) fn new(netlist: &Netlist, module: &Module) -> Names {
        let mut scope = Scope::default();
        scope.take("clk_i");
        scope.take("rst_i");
        for port in &module.ports {
            scope.take(&port.name);
        }
        let registers = module.registers.iter().map(|r| scope.fresh(&format!("{}_q", r.name))).collect();
        let tables = module.tables.iter().map(|t| TableNames::new(&mut scope, t)).collect();
        let instances = module
            .instances
            .iter()
            .map(|instance| {
                let name = scope.fresh(&instance.name);
                let child = &netlist.modules[instance.module.index()];
                let ports = child
                    .ports
                    .iter()
                    .map(|p| scope.fresh(&format!("{}_{}", instance.name, p.name)))
                    .collect();
                InstanceNames { name, ports }
            })
            .collect();
        let nodes = vec![None; module.nodes.len()];
        Names { scope, registers, tables, instances, nodes, locals: BTreeMap::new() }
    }

    /// A local name of the generator's. Asked for after the description's names are given, so that it never
    /// takes one of them.
    pub(crate) fn local(&mut self, wanted: &'static str) -> String {
        self.locals.entry(wanted).or_insert_with(|| self.scope.fresh(wanted)).clone()
    }
}

impl TableNames {
    fn new(scope: &mut Scope, table: &Table) -> TableNames {
        let fields =
            table.fields.iter().map(|f| scope.fresh(&format!("{}_{}_q", table.name, f.name))).collect();
        let lanes =
            table.fields.iter().map(|f| scope.fresh(&format!("{}_{}_lane", table.name, f.name))).collect();
        let valid = scope.fresh(&format!("{}_valid_q", table.name));
        let valid_next = scope.fresh(&format!("{}_valid_d", table.name));
        let reads = table
            .reads
            .iter()
            .map(|port| {
                let stem = format!("{}_{}", table.name, port.name);
                let suffix = if port.clocked { "_q" } else { "" };
                let fields =
                    table.fields.iter().map(|f| scope.fresh(&format!("{stem}_{}{suffix}", f.name))).collect();
                ReadNames { fields, valid: scope.fresh(&format!("{stem}_valid{suffix}")) }
            })
            .collect();
        let matches =
            table.matches.iter().map(|m| scope.fresh(&format!("{}_{}_match", table.name, m.name))).collect();
        TableNames { fields, lanes, valid, valid_next, reads, matches }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_or_reserved_name_gets_a_number() {
        let mut scope = Scope::default();
        assert_eq!(scope.fresh("sum"), "sum");
        assert_eq!(scope.fresh("sum"), "sum_2");
        assert_eq!(scope.fresh("table"), "table_2");
        assert_eq!(scope.fresh("a.b[3]"), "a_b_3_");
        assert_eq!(scope.fresh("3way"), "_3way");
    }
}

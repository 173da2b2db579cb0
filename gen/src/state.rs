//! Where the Verilog keeps each piece of state, so that a simulation can start from a given state.

use warpfile_hdl::rtl::netlist::{ModuleId, Netlist, TableId};

use crate::Style;
use crate::module::{ModuleWriter, sequential};
use crate::operands::{Storage, lane_width, storage};
use crate::tables::Shown;

/// One register, captured value, set of valid bits, or row of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateElement {
    /// What it is in the description.
    pub source: StateSource,
    /// Its name in the Verilog, below the outermost module: `bank0.rows_value_lane[3].rows_value_q[7]`.
    pub verilog: String,
    /// Bits.
    pub width: u32,
}

/// A piece of state by the names of the description; paths are joined by dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateSource {
    /// A register, the valid bits of a table or a captured value: `bank0.count_q`, `bank0.rows_valid_q`,
    /// `bank0.rows_lookup_tag_q`.
    Signal(String),
    /// Bits `low .. low + width` of a field of a row.
    Row {
        /// Path of the table.
        table: String,
        /// Row.
        row: u32,
        /// Field.
        field: String,
        /// Lowest bit.
        low: u32,
    },
}

/// All state of the circuit printed in a style; what only invariants read is not in it.
pub fn state_elements(netlist: &Netlist, style: Style) -> Vec<StateElement> {
    let sequential = sequential(netlist);
    let mut elements = Vec::new();
    module_state(netlist, netlist.top, (&sequential, style), ("", ""), &mut elements);
    elements
}

/// `paths`: of the instance in the description and in the Verilog, with a dot at the end.
fn module_state(
    netlist: &Netlist,
    id: ModuleId,
    (sequential, style): (&[bool], Style),
    paths: (&str, &str),
    elements: &mut Vec<StateElement>,
) {
    let writer = ModuleWriter::new(netlist, id, sequential, style);
    let (path, verilog) = paths;
    let signal = |name: String, own: &str, width: u32| StateElement {
        source: StateSource::Signal(format!("{path}{name}")),
        verilog: format!("{verilog}{own}"),
        width,
    };
    for register in writer.registers() {
        let (name, own) =
            (&writer.module.registers[register.index()].name, &writer.names.registers[register.index()]);
        elements.push(signal(format!("{name}_q"), own, writer.module.registers[register.index()].width));
    }
    for id in writer.tables() {
        let table = &writer.module.tables[id.index()];
        if table.has_valid {
            elements.push(signal(
                format!("{}_valid_q", table.name),
                &writer.names.tables[id.index()].valid,
                table.depth,
            ));
        }
        for field in 0..table.fields.len() {
            field_state(&writer, id, field, paths, elements);
        }
    }
    for read in writer.reads().into_iter().filter(|&r| writer.is_clocked(r)) {
        let table = &writer.module.tables[read.table.index()];
        let shown = match read.shown {
            Shown::Field(field) => &table.fields[field as usize].name,
            Shown::Valid => "valid",
        };
        let name = format!("{}_{}_{shown}_q", table.name, table.reads[read.port as usize].name);
        elements.push(signal(name, &writer.read_name(read), writer.read_width(read)));
    }
    for (instance, names) in writer.module.instances.iter().zip(&writer.names.instances) {
        let below = (format!("{path}{}.", instance.name), format!("{verilog}{}.", names.name));
        module_state(netlist, instance.module, (sequential, style), (&below.0, &below.1), elements);
    }
}

fn field_state(
    writer: &ModuleWriter,
    id: TableId,
    index: usize,
    (path, verilog): (&str, &str),
    elements: &mut Vec<StateElement>,
) {
    let table = &writer.module.tables[id.index()];
    let names = &writer.names.tables[id.index()];
    let field = &table.fields[index];
    let (lanes, width) = match storage(table, index, writer.style) {
        Storage::Lanes => (field.lanes, lane_width(field)),
        Storage::Array | Storage::Merged | Storage::Rows => (1, field.width),
    };
    for row in 0..table.depth {
        for lane in 0..lanes {
            let scope = match storage(table, index, writer.style) {
                Storage::Lanes => format!("{}[{lane}].", names.lanes[index]),
                Storage::Array | Storage::Merged | Storage::Rows => String::new(),
            };
            elements.push(StateElement {
                source: StateSource::Row {
                    table: format!("{path}{}", table.name),
                    row,
                    field: field.name.clone(),
                    low: lane * width,
                },
                verilog: format!("{verilog}{scope}{}[{row}]", names.fields[index]),
                width,
            });
        }
    }
}

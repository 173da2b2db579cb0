//! What each part of a module reads, and in which form the Verilog needs it.

use warpfile_hdl::rtl::netlist::{Field, Module, NodeId, Op, ReadPort, RowExpr, Table, TableId, Update};

use crate::Style;

/// How an operand appears in the text of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// Once, any expression.
    Value,
    /// Several times: a name, a constant or a slice of a name.
    Atom,
    /// With fixed bits selected from it: a name, a constant or a slice of a name.
    Sliceable,
    /// With bits selected by a variable: a name.
    Indexed,
}

use Need::{Atom, Indexed, Sliceable, Value};

/// How a field is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// One array of rows.
    Array,
    /// One array of rows; its one write is masked and keeps the other lanes of the row.
    Merged,
    /// One array a lane, because writes mask lanes.
    Lanes,
    /// One array whose rows each compute their next value, because several updates add up in one row
    /// or because rows are both masked and matched.
    Rows,
}

/// Deepest table, and widest field of it, whose rows each compute their next value for the sake of speed.
const SMALL_DEPTH: u32 = 64;
const SMALL_WIDTH: u32 = 64;

/// How `field` of `table` is stored.
pub(crate) fn storage(table: &Table, field: usize, style: Style) -> Storage {
    let adds =
        table.updates.iter().any(|u| matches!(u, Update::Add { field: f, .. } if *f as usize == field));
    let masked = table.updates.iter().any(|u| match u {
        Update::Write { fields, .. } => fields.iter().any(|w| w.field as usize == field && w.lanes.is_some()),
        Update::Add { .. } | Update::ClearRow { .. } | Update::ClearRows { .. } | Update::SetRows { .. } => {
            false
        }
    }) && table.fields[field].lanes > 1;
    let matched = table.matches.iter().any(|m| mentions(&m.condition, field));
    match (adds, masked, matched) {
        (true, _, _) | (false, true, true) => Storage::Rows,
        (false, true, false) => masked_storage(table, field, style),
        (false, false, _) => Storage::Array,
    }
}

/// How a field is stored that is written under a mask and only read.
fn masked_storage(table: &Table, field: usize, style: Style) -> Storage {
    let writes = table.updates.iter().filter(
        |update| matches!(update, Update::Write { fields, .. } if fields.iter().any(|w| w.field as usize == field)),
    );
    let small = table.depth <= SMALL_DEPTH && table.fields[field].width <= SMALL_WIDTH;
    match style {
        Style::Lanes => Storage::Lanes,
        // Of two writes to a row, the second would have to see what the first leaves.
        Style::Words if writes.count() == 1 => Storage::Merged,
        Style::Words if small => Storage::Rows,
        Style::Words => Storage::Lanes,
    }
}

/// Bits of one lane of a field.
pub(crate) fn lane_width(field: &Field) -> u32 {
    field.width / field.lanes
}

fn mentions(row: &RowExpr, field: usize) -> bool {
    match row {
        RowExpr::Field(f) => *f as usize == field,
        RowExpr::Valid | RowExpr::Outer(_) | RowExpr::PerRow(_) => false,
        RowExpr::Slice(a, ..) | RowExpr::Not(a) => mentions(a, field),
        RowExpr::And(a, b) | RowExpr::Or(a, b) | RowExpr::Eq(a, b) | RowExpr::Lt(a, b) => {
            mentions(a, field) || mentions(b, field)
        }
    }
}

/// Operands of a node.
pub(crate) fn of_node(module: &Module, node: NodeId) -> Vec<(NodeId, Need)> {
    let width = module.nodes[node.index()].width;
    let width_of = |id: NodeId| module.nodes[id.index()].width;
    match &module.nodes[node.index()].op {
        Op::Input(_) | Op::Constant(_) | Op::Register(_) | Op::TableValid(_) | Op::InstanceOutput { .. } => {
            vec![]
        }
        Op::TableRead { table, port, .. } | Op::TableReadValid { table, port } => {
            let port = &module.tables[table.index()].reads[*port as usize];
            if port.clocked { vec![] } else { vec![(port.address, Atom)] }
        }
        Op::TableMatch { table, port } => {
            let mut found = Vec::new();
            of_row(&module.tables[table.index()].matches[*port as usize].condition, Atom, &mut found);
            found
        }
        Op::Wire(a)
        | Op::Not(a)
        | Op::ZeroExtend(a)
        | Op::ReduceOr(a)
        | Op::ReduceAnd(a)
        | Op::ReduceXor(a)
        | Op::PriorityEncode(a)
        | Op::PopCount(a)
        | Op::PrefixCount(a) => vec![(*a, Value)],
        Op::LowestOne(a) | Op::PrefixOr(a) => vec![(*a, Atom)],
        Op::And(a, b)
        | Op::Or(a, b)
        | Op::Xor(a, b)
        | Op::Add(a, b)
        | Op::Sub(a, b)
        | Op::Mul(a, b)
        | Op::Eq(a, b)
        | Op::Lt(a, b) => vec![(*a, Value), (*b, Value)],
        Op::ShiftLeft(a, b) | Op::ShiftRight(a, b) => {
            vec![(*a, Value), (*b, if width_of(*b) > 32 { Sliceable } else { Value })]
        }
        Op::Decode(a) => vec![(*a, if width_of(*a) > 32 { Sliceable } else { Value })],
        Op::Mux { condition, then, otherwise } => {
            vec![(*condition, Value), (*then, Value), (*otherwise, Value)]
        }
        Op::Concat(parts) => parts.iter().map(|&p| (p, Value)).collect(),
        Op::Slice { value, .. } => vec![(*value, Sliceable)],
        Op::LaneSelect { vector, index } => vec![(*vector, Indexed), (*index, Value)],
        Op::OneHotSelect { select, vector } => vec![(*select, Atom), (*vector, Value)],
        Op::LaneMux { mask, then, otherwise } => {
            vec![(*mask, Indexed), (*then, Indexed), (*otherwise, Indexed)]
        }
        Op::LaneEq(a, b) | Op::LaneAdd { a, b, .. } => vec![(*a, Indexed), (*b, Indexed)],
        Op::Replicate(a) => vec![(*a, if width.is_multiple_of(width_of(*a)) { Value } else { Sliceable })],
        Op::SpreadLanes(a) | Op::GroupOr(a) => vec![(*a, Indexed)],
        Op::XorHash { value, .. } => vec![(*value, Atom)],
    }
}

fn of_row(row: &RowExpr, need: Need, found: &mut Vec<(NodeId, Need)>) {
    match row {
        RowExpr::Field(_) | RowExpr::Valid => {}
        RowExpr::Outer(node) => found.push((*node, need)),
        RowExpr::PerRow(node) => found.push((*node, Indexed)),
        RowExpr::Slice(a, ..) => of_row(a, Sliceable, found),
        RowExpr::Not(a) => of_row(a, need, found),
        RowExpr::And(a, b) | RowExpr::Or(a, b) => {
            of_row(a, need, found);
            of_row(b, need, found);
        }
        RowExpr::Eq(a, b) | RowExpr::Lt(a, b) => {
            of_row(a, Atom, found);
            of_row(b, Atom, found);
        }
    }
}

/// An operand of state, and the name it should have if it needs one.
pub(crate) struct StateOperand {
    /// The node.
    pub(crate) node: NodeId,
    /// Form.
    pub(crate) need: Need,
    /// `rows_update_enable`.
    pub(crate) hint: String,
}

/// Operands of a clocked read port.
pub(crate) fn of_clocked_port(table: &Table, port: &ReadPort) -> Vec<StateOperand> {
    let stem = format!("{}_{}", table.name, port.name);
    let gates = table.fields.iter().find_map(|field| port.gating_lanes(field));
    let lanes = gates.map(|node| StateOperand { node, need: Indexed, hint: format!("{stem}_lanes") });
    [
        StateOperand { node: port.address, need: Atom, hint: format!("{stem}_address") },
        StateOperand { node: port.enable, need: Atom, hint: format!("{stem}_enable") },
    ]
    .into_iter()
    .chain(lanes)
    .collect()
}

/// Operands of a table's updates.
pub(crate) fn of_table(module: &Module, id: TableId, style: Style) -> Vec<StateOperand> {
    let table = &module.tables[id.index()];
    let mut found = Vec::new();
    for update in &table.updates {
        let mut push = |node: NodeId, need: Need, what: &str| {
            found.push(StateOperand { node, need, hint: format!("{}_{what}", table.name) });
        };
        match update {
            Update::Write { name, address, enable, fields, .. } => {
                push(*address, Atom, &format!("{name}_address"));
                push(*enable, Atom, &format!("{name}_enable"));
                for write in fields {
                    let field = &table.fields[write.field as usize];
                    let need = match storage(table, write.field as usize, style) {
                        Storage::Array | Storage::Merged => Value,
                        Storage::Lanes => Indexed,
                        Storage::Rows => Atom,
                    };
                    push(write.value, need, &format!("{name}_{}", field.name));
                    if let Some(lanes) = write.lanes {
                        push(lanes, Indexed, &format!("{name}_{}_lanes", field.name));
                    }
                }
            }
            Update::Add { name, address, enable, amount, .. } => {
                push(*address, Atom, &format!("{name}_address"));
                push(*enable, Atom, &format!("{name}_enable"));
                push(*amount, Atom, &format!("{name}_amount"));
            }
            Update::ClearRow { address, enable } => {
                push(*address, Atom, "clear_address");
                push(*enable, Value, "clear_enable");
            }
            Update::ClearRows { rows, enable } => {
                push(*rows, Value, "clear_rows");
                push(*enable, Value, "clear_enable");
            }
            Update::SetRows { rows, enable } => {
                push(*rows, Value, "set_rows");
                push(*enable, Value, "set_enable");
            }
        }
    }
    found
}

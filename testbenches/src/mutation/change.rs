//! What is changed in a module.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::{Module, Node, NodeId, Op, RowExpr, Update};

/// A change of a module in one place.
#[derive(Clone, Debug)]
pub enum Change {
    /// A node computes something else.
    Replace {
        /// The node.
        node: NodeId,
        /// What it computes.
        op: Op,
    },
    /// A node is its complement.
    Complement {
        /// The node.
        node: NodeId,
    },
    /// A node looks for the highest 1 instead of the lowest, or the other way round.
    Reverse {
        /// The node.
        node: NodeId,
    },
    /// One bit is always the same.
    Stuck {
        /// Where.
        place: Place,
        /// As what.
        value: bool,
    },
    /// The complement is taken.
    Invert {
        /// Where.
        place: Place,
    },
    /// One more is taken.
    Increment {
        /// Where.
        place: Place,
    },
    /// Two places take what the other one took.
    Swap {
        /// One.
        first: Place,
        /// The other.
        second: Place,
    },
    /// A register has another value under reset.
    Reset {
        /// Index of the register.
        register: usize,
        /// The value.
        value: Bits,
    },
    /// An associative port looks for something else.
    Condition {
        /// Index of the table.
        table: usize,
        /// Index of the port.
        port: usize,
        /// What it looks for.
        condition: RowExpr,
    },
    /// The change of a table that came first comes last of the two.
    Order {
        /// Index of the table.
        table: usize,
        /// Index of the first of the two.
        first: usize,
    },
    /// A write leaves its row invalid.
    NotValid {
        /// Index of the table.
        table: usize,
        /// Index of the write.
        update: usize,
    },
}

/// A place outside of the nodes that takes a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Enable of a register.
    RegisterEnable(usize),
    /// Address of a table's read port.
    ReadAddress(usize, usize),
    /// Enable of a table's read port.
    ReadEnable(usize, usize),
    /// Enable of a table's update.
    UpdateEnable(usize, usize),
    /// Address of a table's update.
    UpdateAddress(usize, usize),
    /// Rows of a table's update.
    UpdateRows(usize, usize),
    /// Lanes of a field that is written: table, update, field of the update.
    WriteLanes(usize, usize, usize),
    /// Value of a field that is written: table, update, field of the update.
    WriteValue(usize, usize, usize),
    /// Input of a sub-circuit: instance, position among its inputs.
    InstanceInput(usize, usize),
}

/// What a place takes; the same for a module that is read and for one that is changed.
macro_rules! taken {
    ($place:expr, $module:expr, [$($mutable:tt)?]) => {{
        let module = $module;
        match $place {
            Place::RegisterEnable(register) => (& $($mutable)? module.registers[register].enable).into(),
            Place::ReadAddress(table, read) => Some(& $($mutable)? module.tables[table].reads[read].address),
            Place::ReadEnable(table, read) => Some(& $($mutable)? module.tables[table].reads[read].enable),
            Place::UpdateEnable(table, update) => match & $($mutable)? module.tables[table].updates[update] {
                Update::Write { enable, .. }
                | Update::Add { enable, .. }
                | Update::ClearRow { enable, .. }
                | Update::ClearRows { enable, .. }
                | Update::SetRows { enable, .. } => Some(enable),
            },
            Place::UpdateAddress(table, update) => match & $($mutable)? module.tables[table].updates[update] {
                Update::Write { address, .. }
                | Update::Add { address, .. }
                | Update::ClearRow { address, .. } => Some(address),
                Update::ClearRows { .. } | Update::SetRows { .. } => None,
            },
            Place::UpdateRows(table, update) => match & $($mutable)? module.tables[table].updates[update] {
                Update::ClearRows { rows, .. } | Update::SetRows { rows, .. } => Some(rows),
                Update::Write { .. } | Update::Add { .. } | Update::ClearRow { .. } => None,
            },
            Place::WriteLanes(table, update, field) => match & $($mutable)? module.tables[table].updates[update] {
                Update::Write { fields, .. } => (& $($mutable)? fields[field].lanes).into(),
                Update::Add { .. }
                | Update::ClearRow { .. }
                | Update::ClearRows { .. }
                | Update::SetRows { .. } => None,
            },
            Place::WriteValue(table, update, field) => match & $($mutable)? module.tables[table].updates[update] {
                Update::Write { fields, .. } => Some(& $($mutable)? fields[field].value),
                Update::Add { .. }
                | Update::ClearRow { .. }
                | Update::ClearRows { .. }
                | Update::SetRows { .. } => None,
            },
            Place::InstanceInput(instance, input) => {
                Some(& $($mutable)? module.instances[instance].inputs[input].1)
            }
        }
    }};
}

impl Place {
    /// What the place takes, if it takes something.
    pub(super) fn node(self, module: &Module) -> Option<NodeId> {
        let node: Option<&NodeId> = taken!(self, module, []);
        node.copied()
    }

    fn node_mut(self, module: &mut Module) -> Option<&mut NodeId> {
        taken!(self, module, [mut])
    }
}

impl Change {
    /// Makes the change.
    pub fn apply(&self, module: &mut Module) {
        match self {
            Change::Replace { node, op } => module.nodes[node.index()].op = op.clone(),
            Change::Complement { node } => {
                let moved = copy(module, *node);
                module.nodes[node.index()].op = Op::Not(moved);
            }
            Change::Reverse { node } => reverse(module, *node),
            Change::Stuck { place: Place::RegisterEnable(register), value } => {
                let never = constant(module, Bits::zero(1));
                module.registers[*register].enable = (!value).then_some(never);
            }
            Change::Stuck { place, value } => {
                let value = if *value { Bits::ones(1) } else { Bits::zero(1) };
                let node = constant(module, value);
                set(module, *place, node);
            }
            Change::Invert { place } => {
                if let Some(node) = place.node(module) {
                    let complement = push(module, Op::Not(node), module.nodes[node.index()].width);
                    set(module, *place, complement);
                }
            }
            Change::Increment { place } => {
                if let Some(node) = place.node(module) {
                    let width = module.nodes[node.index()].width;
                    let one = constant(module, Bits::ones(1).slice(0, width));
                    let next = push(module, Op::Add(node, one), width);
                    set(module, *place, next);
                }
            }
            Change::Swap { first, second } => {
                if let (Some(a), Some(b)) = (first.node(module), second.node(module)) {
                    set(module, *first, b);
                    set(module, *second, a);
                }
            }
            Change::Reset { register, value } => module.registers[*register].reset = Some(value.clone()),
            Change::Condition { table, port, condition } => {
                module.tables[*table].matches[*port].condition = condition.clone();
            }
            Change::Order { table, first } => module.tables[*table].updates.swap(*first, first + 1),
            Change::NotValid { table, update } => {
                if let Update::Write { set_valid, .. } = &mut module.tables[*table].updates[*update] {
                    *set_valid = false;
                }
            }
        }
    }
}

fn set(module: &mut Module, place: Place, node: NodeId) {
    if let Some(taken) = place.node_mut(module) {
        *taken = node;
    }
}

/// A new node, at the end. Nodes may be used before they are listed.
fn push(module: &mut Module, op: Op, width: u32) -> NodeId {
    let source = module.nodes[0].source;
    module.nodes.push(Node { op, width, name: None, source });
    NodeId(module.nodes.len() as u32 - 1)
}

/// A new node that computes what `node` does.
fn copy(module: &mut Module, node: NodeId) -> NodeId {
    let Node { op, width, .. } = module.nodes[node.index()].clone();
    push(module, op, width)
}

fn constant(module: &mut Module, value: Bits) -> NodeId {
    let width = value.width();
    push(module, Op::Constant(value), width)
}

/// The bits of `node` from the other end.
fn mirrored(module: &mut Module, node: NodeId) -> NodeId {
    let width = module.nodes[node.index()].width;
    let bits = (0..width).rev().map(|low| push(module, Op::Slice { value: node, low }, 1)).collect();
    push(module, Op::Concat(bits), width)
}

/// Lets `node` begin at the highest bit. Nodes of other operations stay as they are.
fn reverse(module: &mut Module, node: NodeId) {
    let Node { op, width, .. } = module.nodes[node.index()].clone();
    let op = match op {
        Op::PriorityEncode(value) => {
            let bits = module.nodes[value.index()].width;
            let from_above = mirrored(module, value);
            let encoded = push(module, Op::PriorityEncode(from_above), width);
            let last = constant(module, Bits::new(width, u64::from(bits) - 1).unwrap_or(Bits::zero(width)));
            let then = push(module, Op::Sub(last, encoded), width);
            let condition = push(module, Op::ReduceOr(value), 1);
            let otherwise = constant(module, Bits::zero(width));
            Op::Mux { condition, then, otherwise }
        }
        Op::LowestOne(value) | Op::PrefixOr(value) => {
            let from_above = mirrored(module, value);
            let same = if matches!(op, Op::LowestOne(_)) { Op::LowestOne } else { Op::PrefixOr };
            let found = push(module, same(from_above), width);
            let back = mirrored(module, found);
            Op::Wire(back)
        }
        other => other,
    };
    module.nodes[node.index()].op = op;
}

//! Which nodes of a module decide what it does: those that only count activity or state a property do not.

use warpfile_hdl::rtl::netlist::{Module, NodeId, Op, Update};

/// One flag a node.
pub(super) fn live(module: &Module) -> Vec<bool> {
    let mut live = vec![false; module.nodes.len()];
    let mut todo = roots(module);
    while let Some(node) = todo.pop() {
        if !live[node.index()] {
            live[node.index()] = true;
            module.nodes[node.index()].op.visit_operands(&mut |operand| todo.push(*operand));
        }
    }
    live
}

/// Nodes that outputs, registers, tables and sub-circuits take.
fn roots(module: &Module) -> Vec<NodeId> {
    let mut roots: Vec<NodeId> = module.ports.iter().filter_map(|port| port.driver).collect();
    for register in &module.registers {
        roots.push(register.next);
        roots.extend(register.enable);
    }
    for table in &module.tables {
        for read in &table.reads {
            roots.push(read.address);
            if read.clocked {
                roots.push(read.enable);
                roots.extend(read.lanes);
            }
        }
        for port in &table.matches {
            port.condition.visit_nodes(&mut |node| roots.push(*node));
        }
        for update in &table.updates {
            match update {
                Update::Write { address, enable, fields, .. } => {
                    roots.extend([*address, *enable]);
                    roots.extend(fields.iter().flat_map(|write| [Some(write.value), write.lanes]).flatten());
                }
                Update::Add { address, enable, amount, .. } => roots.extend([*address, *enable, *amount]),
                Update::ClearRow { address, enable } => roots.extend([*address, *enable]),
                Update::ClearRows { rows, enable } | Update::SetRows { rows, enable } => {
                    roots.extend([*rows, *enable]);
                }
            }
        }
    }
    roots.extend(module.instances.iter().flat_map(|instance| instance.inputs.iter().map(|(_, node)| *node)));
    roots
}

/// Whether an operation has a value of its own to be changed, and is not a name for another.
pub(super) fn is_computed(op: &Op) -> bool {
    !matches!(op, Op::Input(_) | Op::Wire(_) | Op::Register(_))
}

//! The end of a module's description: assignments settled, checks made, unused expressions removed.

use super::builder::{ModuleBuilder, POISON};
use super::error::Problem;
use super::loops::{self, Dependencies};
use super::netlist::{self, Direction, InstanceId, NodeId, Op, PortId};

/// The finished module, and which inputs its outputs depend on within a cycle. If the design has errors the
/// module is not to be used, except for the shape of its ports.
pub(super) fn finish(mut b: ModuleBuilder) -> (netlist::Module, Dependencies) {
    let errors_before = b.design.borrow().errors.len();
    b.settle_all();
    if b.design.borrow().errors.len() > errors_before || has_poison(&b.module) {
        return (b.module, Dependencies::default());
    }
    let design = std::rc::Rc::clone(&b.design);
    let found = loops::find(&b.module, &design.borrow(), &b.targets);
    if !found.is_empty() {
        for (source, steps) in found {
            b.error_without_line(source, Problem::CombinationalLoop { steps });
        }
        return (b.module, Dependencies::default());
    }
    skip_unnamed_wires(&mut b.module);
    let live = live_nodes(&b.module);
    check_outputs_are_read(&mut b, &live);
    remove_dead_nodes(&mut b.module, &live);
    let dependencies = loops::dependencies(&b.module, &design.borrow());
    (b.module, dependencies)
}

fn has_poison(module: &netlist::Module) -> bool {
    let mut poison = false;
    module.visit_roots(&mut |node| poison |= *node == POISON);
    for node in &module.nodes {
        node.op.visit_operands(&mut |operand| poison |= *operand == POISON);
    }
    poison
}

/// Replaces every use of a wire without a name by what drives it. There are no loops.
fn skip_unnamed_wires(module: &mut netlist::Module) {
    let resolved: Vec<NodeId> =
        (0..module.nodes.len() as u32).map(|id| behind_wires(module, NodeId(id))).collect();
    let mut resolve = |node: &mut NodeId| *node = resolved[node.index()];
    for node in &mut module.nodes {
        node.op.visit_operands_mut(&mut resolve);
    }
    module.visit_roots_mut(&mut resolve);
}

fn behind_wires(module: &netlist::Module, mut id: NodeId) -> NodeId {
    loop {
        let node = &module.nodes[id.index()];
        match (&node.op, &node.name) {
            (Op::Wire(driver), None) => id = *driver,
            _ => return id,
        }
    }
}

/// For each node, whether something that the module keeps depends on it.
fn live_nodes(module: &netlist::Module) -> Vec<bool> {
    let mut live = vec![false; module.nodes.len()];
    let mut pending = Vec::new();
    module.visit_roots(&mut |node| pending.push(*node));
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut live[id.index()], true) {
            module.nodes[id.index()].op.visit_operands(&mut |operand| pending.push(*operand));
        }
    }
    live
}

fn check_outputs_are_read(b: &mut ModuleBuilder, live: &[bool]) {
    let mut read = b.ignored.clone();
    for (node, _) in b.module.nodes.iter().zip(live).filter(|(_, live)| **live) {
        if let Op::InstanceOutput { instance, port } = node.op {
            read.push((instance, port));
        }
    }
    read.sort_unstable();
    let mut unread = Vec::new();
    {
        let design = b.design.borrow();
        for (i, instance) in b.module.instances.iter().enumerate() {
            for (p, port) in design.modules[instance.module.index()].ports.iter().enumerate() {
                let key = (InstanceId(i as u32), PortId(p as u32));
                if port.direction == Direction::Output && read.binary_search(&key).is_err() {
                    let (instance_name, port) = (instance.name.clone(), port.name.clone());
                    unread.push((instance.source, Problem::UnreadOutput { instance: instance_name, port }));
                }
            }
        }
    }
    for (source, problem) in unread {
        b.error(source, problem);
    }
}

/// Removes nodes that are not live; the others keep their order.
fn remove_dead_nodes(module: &mut netlist::Module, live: &[bool]) {
    let mut next = 0;
    let new_ids: Vec<NodeId> = live
        .iter()
        .map(|&live| {
            let id = NodeId(next);
            next += u32::from(live);
            id
        })
        .collect();
    let mut live = live.iter();
    module.nodes.retain(|_| live.next().copied().unwrap_or(false));
    let mut renumber = |node: &mut NodeId| *node = new_ids[node.index()];
    for node in &mut module.nodes {
        node.op.visit_operands_mut(&mut renumber);
    }
    module.visit_roots_mut(&mut renumber);
}

//! Combinational dependencies: which values depend on which within a cycle.
//!
//! Per word, as if sub-circuits were flattened: an output of a sub-circuit depends on those of its inputs that
//! the sub-circuit passes through, and on no others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::assign::Target;
use super::builder::describe;
use super::elaborate::Design;
use super::netlist::{InstanceId, Module, NodeId, Op, PortId, RowExpr, SourceLine};

/// For each port that is an output: the inputs it depends on within a cycle.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependencies {
    of_output: Vec<BTreeSet<PortId>>,
}

impl Dependencies {
    fn of(&self, output: PortId) -> impl Iterator<Item = PortId> {
        self.of_output.get(output.index()).into_iter().flatten().copied()
    }
}

/// For each node, what its value depends on within a cycle.
fn edges(module: &Module, design: &Design) -> Vec<Vec<NodeId>> {
    (0..module.nodes.len() as u32).map(|id| successors(module, design, NodeId(id))).collect()
}

/// What the value of `id` depends on within a cycle.
fn successors(module: &Module, design: &Design, id: NodeId) -> Vec<NodeId> {
    let mut found = Vec::new();
    match &module.nodes[id.index()].op {
        Op::TableRead { table, port, .. } | Op::TableReadValid { table, port } => {
            let read = &module.tables[table.index()].reads[*port as usize];
            if !read.clocked {
                found.push(read.address);
            }
        }
        Op::TableMatch { table, port } => {
            let condition: &RowExpr = &module.tables[table.index()].matches[*port as usize].condition;
            condition.visit_nodes(&mut |node| found.push(*node));
        }
        &Op::InstanceOutput { instance, port } => {
            found.extend(through_instance(module, design, instance, port).map(|(_, driver)| driver));
        }
        other => other.visit_operands(&mut |operand| found.push(*operand)),
    }
    found
}

/// Inputs of a sub-circuit that its `output` depends on, with what drives them.
fn through_instance<'a>(
    module: &'a Module,
    design: &'a Design,
    instance: InstanceId,
    output: PortId,
) -> impl Iterator<Item = (PortId, NodeId)> + 'a {
    let instance = &module.instances[instance.index()];
    let inputs = design.dependencies[instance.module.index()].of(output);
    inputs.filter_map(|input| instance.inputs.iter().find(|(port, _)| *port == input).copied())
}

/// Which inputs the outputs of a finished module depend on.
pub(super) fn dependencies(module: &Module, design: &Design) -> Dependencies {
    let edges = edges(module, design);
    let of_output = module
        .ports
        .iter()
        .map(|port| {
            let mut inputs = BTreeSet::new();
            let mut seen = vec![false; module.nodes.len()];
            let mut pending: Vec<NodeId> = port.driver.into_iter().collect();
            while let Some(id) = pending.pop() {
                if std::mem::replace(&mut seen[id.index()], true) {
                    continue;
                }
                match module.nodes[id.index()].op {
                    Op::Input(input) => {
                        inputs.insert(input);
                    }
                    _ => pending.extend(&edges[id.index()]),
                }
            }
            inputs
        })
        .collect();
    Dependencies { of_output }
}

/// A loop: the line of its first step, and its steps as text, the first repeated at the end.
pub(super) type Loop = (Option<SourceLine>, Vec<String>);

/// One loop out of every knot of values that depend on each other. `targets` have names of their own.
pub(super) fn find(module: &Module, design: &Design, targets: &BTreeMap<NodeId, Target>) -> Vec<Loop> {
    let edges = edges(module, design);
    knots(&edges)
        .into_iter()
        .map(|knot| {
            let inside = |id: NodeId| knot.contains(&id);
            let start = knot.iter().copied().next().unwrap_or(NodeId(0));
            let cycle = shortest_path(&edges, start, start, inside);
            (Some(module.nodes[start.index()].source), steps(module, design, targets, &cycle))
        })
        .collect()
}

/// Sets of nodes that all depend on each other (strongly connected components that hold a cycle), by Tarjan's
/// algorithm with a stack of its own: descriptions can be deep.
fn knots(edges: &[Vec<NodeId>]) -> Vec<BTreeSet<NodeId>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; edges.len()];
    let mut lowest = vec![0; edges.len()];
    let mut on_stack = vec![false; edges.len()];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..edges.len() {
        let mut calls = if order[root] == UNSEEN { vec![(root, 0)] } else { Vec::new() };
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                order[node] = next;
                lowest[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            } else {
                let child = edges[node][edge - 1].index();
                lowest[node] = lowest[node].min(if on_stack[child] { lowest[child] } else { UNSEEN });
            }
            if let Some(child) = edges[node].get(edge) {
                calls.push((node, edge + 1));
                match order[child.index()] {
                    UNSEEN => calls.push((child.index(), 0)),
                    seen if on_stack[child.index()] => lowest[node] = lowest[node].min(seen),
                    _ => {}
                }
                continue;
            }
            if lowest[node] == order[node] {
                let mut knot = BTreeSet::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    knot.insert(NodeId(member as u32));
                    if member == node {
                        break;
                    }
                }
                if knot.len() > 1 || edges[node].iter().any(|e| e.index() == node) {
                    found.push(knot);
                }
            }
        }
    }
    found
}

/// The shortest way along `edges`, of at least one step, from `from` to `to` through nodes `inside`.
fn shortest_path(
    edges: &[Vec<NodeId>],
    from: NodeId,
    to: NodeId,
    inside: impl Fn(NodeId) -> bool,
) -> Vec<NodeId> {
    let mut reached_from: Vec<Option<NodeId>> = vec![None; edges.len()];
    let mut pending = VecDeque::from([from]);
    while let Some(id) = pending.pop_front() {
        for &next in edges[id.index()].iter().filter(|&&next| inside(next)) {
            if reached_from[next.index()].is_none() {
                reached_from[next.index()] = Some(id);
                pending.push_back(next);
            }
        }
        if reached_from[to.index()].is_some() {
            break;
        }
    }
    let mut path = vec![to];
    let mut at = to;
    while let Some(previous) = reached_from[at.index()] {
        path.push(previous);
        at = previous;
        if at == from {
            break;
        }
    }
    path.reverse();
    path
}

/// A path of dependencies as text; what happens inside sub-circuits is spelled out.
fn steps(
    module: &Module,
    design: &Design,
    targets: &BTreeMap<NodeId, Target>,
    path: &[NodeId],
) -> Vec<String> {
    let mut steps = Vec::new();
    for (i, &id) in path.iter().enumerate() {
        steps.push(match targets.get(&id) {
            Some(target) => format!("`{}`", target.name),
            None => describe(module, &|instance, port| name_of_port(module, design, instance, port), id),
        });
        let next = path.get(i + 1);
        if let (Op::InstanceOutput { instance, port }, Some(&next)) = (&module.nodes[id.index()].op, next) {
            let input =
                through_instance(module, design, *instance, *port).find(|(_, driver)| *driver == next);
            if let Some((input, _)) = input {
                steps.extend(steps_inside(module, design, *instance, *port, input));
            }
        }
    }
    steps
}

/// How `output` of a sub-circuit depends on its `input`: the steps between, and the input.
fn steps_inside(
    module: &Module,
    design: &Design,
    instance: InstanceId,
    output: PortId,
    input: PortId,
) -> Vec<String> {
    let name = &module.instances[instance.index()].name;
    let child = &design.modules[module.instances[instance.index()].module.index()];
    let edges = edges(child, design);
    let is_input = |node: &NodeId| child.nodes[node.index()].op == Op::Input(input);
    let all = (0..child.nodes.len() as u32).map(NodeId);
    let (Some(from), Some(to)) = (child.ports[output.index()].driver, all.into_iter().find(is_input)) else {
        return Vec::new();
    };
    let path = if from == to { vec![from] } else { shortest_path(&edges, from, to, |_| true) };
    let inside = steps(child, design, &BTreeMap::new(), &path);
    inside.iter().map(|step| prefixed(name, step)).collect()
}

/// `step`, a name in quotes or a description, as seen from outside the sub-circuit `name`.
fn prefixed(name: &str, step: &str) -> String {
    match step.strip_prefix('`') {
        Some(rest) => format!("`{name}.{rest}"),
        None => format!("{step} in `{name}`"),
    }
}

fn name_of_port(module: &Module, design: &Design, instance: InstanceId, port: PortId) -> String {
    let instance = &module.instances[instance.index()];
    let port = &design.modules[instance.module.index()].ports[port.index()];
    format!("{}.{}", instance.name, port.name)
}

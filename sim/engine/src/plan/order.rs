//! Which nodes are computed, and in what order: operands before their users.

use warpfile_hdl::rtl::netlist::{NodeId, Op, Update};

use crate::flatten::Flat;
use crate::{EngineError, Observe, Options};

/// The nodes to compute, each after all it depends on within a cycle.
pub struct Order {
    /// Nodes in order of computation.
    pub nodes: Vec<NodeId>,
}

impl Order {
    /// Orders what the options ask for; a combinational loop is an error.
    pub fn new(flat: &Flat, options: &Options) -> Result<Order, EngineError> {
        let mut visit = Visit { flat, state: vec![Mark::New; flat.nodes.len()], nodes: Vec::new() };
        for root in roots(flat, options) {
            visit.from(root)?;
        }
        Ok(Order { nodes: visit.nodes })
    }
}

/// Nodes whose value is needed for themselves: to be read, or to change state.
fn roots(flat: &Flat, options: &Options) -> Vec<NodeId> {
    let mut roots = Vec::new();
    for port in &flat.ports {
        if port.scope == 0 || is_observed(&options.observe, &flat.scopes[port.scope].path) {
            roots.push(port.item.node);
            roots.extend(port.item.valid_when);
        }
    }
    for register in &flat.registers {
        roots.push(register.item.next);
        roots.extend(register.item.enable);
    }
    for table in &flat.tables {
        for read in &table.item.reads {
            roots.extend([read.enable, read.address]);
            roots.extend(read.lanes);
        }
        roots.extend(table.item.matches.iter().map(|port| port.enable));
        table.item.updates.iter().for_each(|update| add_operands(update, &mut roots));
    }
    if options.check_invariants {
        roots.extend(flat.invariants.iter().map(|invariant| invariant.item.1));
    }
    let named = (0..).map(NodeId).zip(&flat.nodes).filter(|(_, node)| {
        node.item.name.is_some() && is_observed(&options.observe, &flat.scopes[node.scope].path)
    });
    roots.extend(named.map(|(id, _)| id));
    roots
}

/// Whether every named signal of the circuit at `path` is observed.
pub fn is_observed(observe: &Observe, path: &str) -> bool {
    match observe {
        Observe::All => true,
        Observe::State => false,
        Observe::Scopes(scopes) => scopes.iter().any(|scope| is_within(path, scope)),
    }
}

/// Whether a path is that of `scope` or below it; the empty scope is the outermost circuit.
pub fn is_within(path: &str, scope: &str) -> bool {
    scope.is_empty() || path.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn add_operands(update: &Update, nodes: &mut Vec<NodeId>) {
    match update {
        Update::Write { address, enable, fields, .. } => {
            nodes.extend([address, enable]);
            for write in fields {
                nodes.push(write.value);
                nodes.extend(write.lanes);
            }
        }
        Update::Add { address, enable, amount, .. } => nodes.extend([address, enable, amount]),
        Update::ClearRow { address, enable } => nodes.extend([address, enable]),
        Update::ClearRows { rows, enable } | Update::SetRows { rows, enable } => {
            nodes.extend([rows, enable]);
        }
    }
}

/// Nodes that must be settled before this one.
fn dependencies(flat: &Flat, node: NodeId) -> Vec<NodeId> {
    let mut found = Vec::new();
    match &flat.nodes[node.index()].item.op {
        Op::TableRead { table, port, .. } | Op::TableReadValid { table, port } => {
            let read = &flat.tables[table.index()].item.reads[*port as usize];
            if !read.clocked {
                found.push(read.address);
            }
        }
        Op::TableMatch { table, port } => {
            let condition = &flat.tables[table.index()].item.matches[*port as usize].condition;
            condition.visit_nodes(&mut |id| found.push(*id));
        }
        other => other.visit_operands(&mut |id| found.push(*id)),
    }
    found
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Depth-first walk with an explicit stack.
struct Visit<'a> {
    flat: &'a Flat,
    state: Vec<Mark>,
    nodes: Vec<NodeId>,
}

impl Visit<'_> {
    fn from(&mut self, root: NodeId) -> Result<(), EngineError> {
        let mut stack = Vec::new();
        self.open(root, &mut stack)?;
        while let Some((node, left)) = stack.last_mut() {
            match left.pop() {
                Some(next) => self.open(next, &mut stack)?,
                None => {
                    self.state[node.index()] = Mark::Done;
                    self.nodes.push(*node);
                    stack.pop();
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, node: NodeId, stack: &mut Vec<(NodeId, Vec<NodeId>)>) -> Result<(), EngineError> {
        match self.state[node.index()] {
            Mark::Done => Ok(()),
            Mark::New => {
                self.state[node.index()] = Mark::Open;
                stack.push((node, dependencies(self.flat, node)));
                Ok(())
            }
            Mark::Open => {
                let start = stack.iter().position(|(open, _)| *open == node).unwrap_or(0);
                let around = stack[start..].iter().map(|(open, _)| *open).chain([node]);
                Err(EngineError::CombinationalLoop { path: around.map(|id| self.describe(id)).collect() })
            }
        }
    }

    fn describe(&self, id: NodeId) -> String {
        let node = &self.flat.nodes[id.index()];
        let name = match &node.item.name {
            Some(name) => name.clone(),
            None => format!("{}:{}", node.item.source.file, node.item.source.line),
        };
        self.flat.path(node.scope, &name)
    }
}

//! Inlines the hierarchy: one list of nodes, registers and tables, each knowing the circuit it came from.
//!
//! Inputs and outputs of sub-circuits become wires; names stay what they were, under their circuit's path.

use warpfile_hdl::rtl::netlist::{
    Direction, Instance, Module, ModuleId, Netlist, Node, NodeId, Op, PortId, Register, RegisterId, RowExpr,
    Table, TableId, Update,
};

use crate::EngineError;

/// A netlist without hierarchy. Indices in operations refer to the flat lists.
#[derive(Clone, Debug, Default)]
pub struct Flat {
    /// Circuits, parents before children; the first is the outermost.
    pub scopes: Vec<FlatScope>,
    /// All expressions.
    pub nodes: Vec<Located<Node>>,
    /// All registers.
    pub registers: Vec<Located<Register>>,
    /// All tables.
    pub tables: Vec<Located<Table>>,
    /// All invariants: name and condition.
    pub invariants: Vec<Located<(String, NodeId)>>,
    /// Ports of all circuits that have a value inside: name and node. The outermost circuit's inputs are in
    /// `inputs`.
    pub ports: Vec<Located<FlatPort>>,
    /// Inputs of the outermost circuit.
    pub inputs: Vec<FlatInput>,
}

/// A circuit of the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlatScope {
    /// Name of the instance; of the module for the outermost circuit.
    pub name: String,
    /// Names of the instances from the outermost circuit down, joined by dots; empty for the outermost.
    pub path: String,
    /// The circuit around it.
    pub parent: Option<usize>,
}

/// Something of one circuit of the hierarchy.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// Index into [`Flat::scopes`].
    pub scope: usize,
    /// The thing.
    pub item: T,
}

/// A port that some node drives.
#[derive(Clone, Debug)]
pub struct FlatPort {
    /// Name.
    pub name: String,
    /// Direction seen from inside its circuit.
    pub direction: Direction,
    /// Its value.
    pub node: NodeId,
    /// Its qualifier.
    pub valid_when: Option<NodeId>,
}

/// An input of the outermost circuit.
#[derive(Clone, Debug)]
pub struct FlatInput {
    /// The port, as [`Op::Input`] names it.
    pub port: PortId,
    /// Name.
    pub name: String,
    /// Bits.
    pub width: u32,
}

impl Flat {
    /// Flattens `netlist`.
    pub fn new(netlist: &Netlist) -> Result<Flat, EngineError> {
        let top = &netlist.modules[netlist.top.index()];
        let mut flat = Flat::default();
        flat.scopes.push(FlatScope { name: top.name.clone(), path: String::new(), parent: None });
        flat.inputs = (0..)
            .zip(&top.ports)
            .filter(|(_, port)| port.direction == Direction::Input)
            .map(|(id, port)| FlatInput { port: PortId(id), name: port.name.clone(), width: port.width })
            .collect();
        flat.inline(netlist, netlist.top, 0, None)?;
        Ok(flat)
    }

    /// `name` under the path of `scope`.
    pub fn path(&self, scope: usize, name: &str) -> String {
        match self.scopes[scope].path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    /// Appends a module's contents; `drivers` are the nodes at its inputs, `None` for the outermost circuit.
    /// Returns the index of its first node.
    fn inline(
        &mut self,
        netlist: &Netlist,
        id: ModuleId,
        scope: usize,
        drivers: Option<&[Option<NodeId>]>,
    ) -> Result<u32, EngineError> {
        let module = &netlist.modules[id.index()];
        let base = Base {
            node: self.nodes.len() as u32,
            register: self.registers.len() as u32,
            table: self.tables.len() as u32,
        };
        self.nodes.extend(module.nodes.iter().map(|node| Located { scope, item: node.clone() }));
        self.add_ports(module, scope, &base, drivers)?;
        self.add_state(module, scope, &base);

        let mut children = Vec::with_capacity(module.instances.len());
        for instance in &module.instances {
            let child = self.enter(scope, &instance.name);
            let inputs = instance_drivers(netlist, instance, &base);
            children.push(self.inline(netlist, instance.module, child, Some(&inputs))?);
        }

        for (offset, node) in module.nodes.iter().enumerate() {
            self.nodes[base.node as usize + offset].item.op = match (&node.op, drivers) {
                (Op::Input(port), Some(drivers)) => Op::Wire(drivers[port.index()].ok_or_else(|| {
                    EngineError::UndrivenInput { path: self.path(scope, &module.ports[port.index()].name) }
                })?),
                (Op::InstanceOutput { instance, port }, _) => {
                    let child = &module.instances[instance.index()];
                    let port = &netlist.modules[child.module.index()].ports[port.index()];
                    let driver = port.driver.ok_or_else(|| EngineError::UndrivenOutput {
                        path: self.path(scope, &format!("{}.{}", child.name, port.name)),
                    })?;
                    Op::Wire(NodeId(children[instance.index()] + driver.0))
                }
                (op, _) => base.op(op),
            };
        }
        Ok(base.node)
    }

    fn enter(&mut self, parent: usize, name: &str) -> usize {
        let path = self.path(parent, name);
        self.scopes.push(FlatScope { name: name.to_owned(), path, parent: Some(parent) });
        self.scopes.len() - 1
    }

    fn add_ports(
        &mut self,
        module: &Module,
        scope: usize,
        base: &Base,
        drivers: Option<&[Option<NodeId>]>,
    ) -> Result<(), EngineError> {
        for (index, port) in module.ports.iter().enumerate() {
            let node =
                match port.direction {
                    Direction::Input => drivers.and_then(|drivers| drivers[index]),
                    Direction::Output => Some(base.node(port.driver.ok_or_else(|| {
                        EngineError::UndrivenOutput { path: self.path(scope, &port.name) }
                    })?)),
                };
            if let Some(node) = node {
                let valid_when = port.valid_when.map(|node| base.node(node));
                let item = FlatPort { name: port.name.clone(), direction: port.direction, node, valid_when };
                self.ports.push(Located { scope, item });
            }
        }
        Ok(())
    }

    fn add_state(&mut self, module: &Module, scope: usize, base: &Base) {
        for register in &module.registers {
            let mut item = register.clone();
            base.shift(&mut item.next);
            item.enable.iter_mut().for_each(|node| base.shift(node));
            self.registers.push(Located { scope, item });
        }
        for table in &module.tables {
            let mut item = table.clone();
            base.table(&mut item);
            self.tables.push(Located { scope, item });
        }
        for invariant in &module.invariants {
            let item = (invariant.name.clone(), base.node(invariant.condition));
            self.invariants.push(Located { scope, item });
        }
    }
}

fn instance_drivers(netlist: &Netlist, instance: &Instance, base: &Base) -> Vec<Option<NodeId>> {
    let mut drivers = vec![None; netlist.modules[instance.module.index()].ports.len()];
    for &(port, node) in &instance.inputs {
        drivers[port.index()] = Some(base.node(node));
    }
    drivers
}

/// Where a module's contents start in the flat lists.
struct Base {
    node: u32,
    register: u32,
    table: u32,
}

impl Base {
    fn node(&self, id: NodeId) -> NodeId {
        NodeId(id.0 + self.node)
    }

    fn shift(&self, id: &mut NodeId) {
        *id = self.node(*id);
    }

    fn op(&self, op: &Op) -> Op {
        let mut op = op.clone();
        visit_operands(&mut op, &mut |id| self.shift(id));
        match &mut op {
            Op::Register(id) => *id = RegisterId(id.0 + self.register),
            Op::TableRead { table, .. }
            | Op::TableReadValid { table, .. }
            | Op::TableValid(table)
            | Op::TableMatch { table, .. } => *table = TableId(table.0 + self.table),
            Op::Input(_)
            | Op::Constant(_)
            | Op::Wire(_)
            | Op::InstanceOutput { .. }
            | Op::Not(_)
            | Op::And(..)
            | Op::Or(..)
            | Op::Xor(..)
            | Op::Add(..)
            | Op::Sub(..)
            | Op::Mul(..)
            | Op::Eq(..)
            | Op::Lt(..)
            | Op::ShiftLeft(..)
            | Op::ShiftRight(..)
            | Op::Mux { .. }
            | Op::Concat(_)
            | Op::Slice { .. }
            | Op::ZeroExtend(_)
            | Op::ReduceOr(_)
            | Op::ReduceAnd(_)
            | Op::ReduceXor(_)
            | Op::PriorityEncode(_)
            | Op::LowestOne(_)
            | Op::Decode(_)
            | Op::PopCount(_)
            | Op::LaneSelect { .. }
            | Op::OneHotSelect { .. }
            | Op::LaneMux { .. }
            | Op::LaneEq(..)
            | Op::LaneAdd { .. }
            | Op::Replicate(_)
            | Op::SpreadLanes(_)
            | Op::GroupOr(_)
            | Op::PrefixOr(_)
            | Op::PrefixCount(_)
            | Op::XorHash { .. } => {}
        }
        op
    }

    fn table(&self, table: &mut Table) {
        for read in &mut table.reads {
            self.shift(&mut read.address);
            self.shift(&mut read.enable);
            read.lanes.iter_mut().for_each(|node| self.shift(node));
        }
        for port in &mut table.matches {
            self.shift(&mut port.enable);
            visit_row_operands(&mut port.condition, &mut |id| self.shift(id));
        }
        for update in &mut table.updates {
            visit_update_operands(update, &mut |id| self.shift(id));
        }
    }
}

/// Calls `visit` with every node an operation reads directly. What it reads through a table port is not
/// included.
pub fn visit_operands(op: &mut Op, visit: &mut impl FnMut(&mut NodeId)) {
    match op {
        Op::Input(_)
        | Op::Constant(_)
        | Op::Register(_)
        | Op::TableRead { .. }
        | Op::TableReadValid { .. }
        | Op::TableValid(_)
        | Op::TableMatch { .. }
        | Op::InstanceOutput { .. } => {}
        Op::Wire(a)
        | Op::Not(a)
        | Op::ZeroExtend(a)
        | Op::ReduceOr(a)
        | Op::ReduceAnd(a)
        | Op::ReduceXor(a)
        | Op::PriorityEncode(a)
        | Op::LowestOne(a)
        | Op::Decode(a)
        | Op::PopCount(a)
        | Op::Replicate(a)
        | Op::SpreadLanes(a)
        | Op::GroupOr(a)
        | Op::PrefixOr(a)
        | Op::PrefixCount(a)
        | Op::Slice { value: a, .. }
        | Op::XorHash { value: a, .. } => visit(a),
        Op::And(a, b)
        | Op::Or(a, b)
        | Op::Xor(a, b)
        | Op::Add(a, b)
        | Op::Sub(a, b)
        | Op::Mul(a, b)
        | Op::Eq(a, b)
        | Op::Lt(a, b)
        | Op::ShiftLeft(a, b)
        | Op::ShiftRight(a, b)
        | Op::LaneSelect { vector: a, index: b }
        | Op::OneHotSelect { select: a, vector: b }
        | Op::LaneEq(a, b)
        | Op::LaneAdd { a, b, .. } => {
            visit(a);
            visit(b);
        }
        Op::Mux { condition: a, then: b, otherwise: c } | Op::LaneMux { mask: a, then: b, otherwise: c } => {
            visit(a);
            visit(b);
            visit(c);
        }
        Op::Concat(parts) => parts.iter_mut().for_each(visit),
    }
}

/// Calls `visit` with every node of the module that a row expression reads.
pub fn visit_row_operands(expr: &mut RowExpr, visit: &mut impl FnMut(&mut NodeId)) {
    match expr {
        RowExpr::Field(_) | RowExpr::Valid => {}
        RowExpr::Outer(node) | RowExpr::PerRow(node) => visit(node),
        RowExpr::Slice(a, _, _) | RowExpr::Not(a) => visit_row_operands(a, visit),
        RowExpr::And(a, b) | RowExpr::Or(a, b) | RowExpr::Eq(a, b) | RowExpr::Lt(a, b) => {
            visit_row_operands(a, visit);
            visit_row_operands(b, visit);
        }
    }
}

/// Calls `visit` with every node that an update reads.
pub fn visit_update_operands(update: &mut Update, visit: &mut impl FnMut(&mut NodeId)) {
    match update {
        Update::Write { address, enable, fields, .. } => {
            visit(address);
            visit(enable);
            for field in fields {
                visit(&mut field.value);
                field.lanes.iter_mut().for_each(&mut *visit);
            }
        }
        Update::Add { address, enable, amount, .. } => {
            visit(address);
            visit(enable);
            visit(amount);
        }
        Update::ClearRow { address, enable } => {
            visit(address);
            visit(enable);
        }
        Update::ClearRows { rows, enable } | Update::SetRows { rows, enable } => {
            visit(rows);
            visit(enable);
        }
    }
}

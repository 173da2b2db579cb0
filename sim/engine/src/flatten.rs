//! Inlines the hierarchy: one list of nodes, registers and tables, each knowing the circuit it came from.
//!
//! Inputs and outputs of sub-circuits become wires; names stay what they were, under their circuit's path.

use warpfile_hdl::rtl::netlist::{
    Direction, Module, ModuleId, Netlist, Node, NodeId, Op, Port, PortId, Register, Table,
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
    /// Name of its module.
    pub module: String,
    /// Its ports in order.
    pub ports: Vec<ScopePort>,
}

/// A port of a circuit of the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopePort {
    /// Name.
    pub name: String,
    /// Direction seen from inside its circuit.
    pub direction: Direction,
    /// Bits.
    pub width: u32,
}

impl FlatScope {
    fn new(name: &str, path: String, parent: Option<usize>, module: &Module) -> FlatScope {
        let port = |port: &Port| {
            let (name, direction, width) = (port.name.clone(), port.direction, port.width);
            ScopePort { name, direction, width }
        };
        let ports = module.ports.iter().map(port).collect();
        FlatScope { name: name.to_owned(), path, parent, module: module.name.clone(), ports }
    }
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
        flat.scopes.push(FlatScope::new(&top.name, String::new(), None, top));
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
        let mut module = netlist.modules[id.index()].clone();
        let base = self.nodes.len() as u32;
        module.visit_roots_mut(&mut |node| node.0 += base);
        self.add_nodes(&module, scope);
        self.add_ports(&module, scope, drivers)?;
        self.add_state(&module, scope);

        let mut children = Vec::with_capacity(module.instances.len());
        for instance in &module.instances {
            let child = self.enter(scope, &instance.name, &netlist.modules[instance.module.index()]);
            let mut inputs = vec![None; netlist.modules[instance.module.index()].ports.len()];
            for &(port, node) in &instance.inputs {
                inputs[port.index()] = Some(node);
            }
            children.push(self.inline(netlist, instance.module, child, Some(&inputs))?);
        }

        for (offset, node) in module.nodes.iter().enumerate() {
            let wire = match (&node.op, drivers) {
                (Op::Input(port), Some(drivers)) => drivers[port.index()].ok_or_else(|| {
                    EngineError::UndrivenInput { path: self.path(scope, &module.ports[port.index()].name) }
                })?,
                (Op::InstanceOutput { instance, port }, _) => {
                    let child = &module.instances[instance.index()];
                    let port = &netlist.modules[child.module.index()].ports[port.index()];
                    let driver = port.driver.ok_or_else(|| EngineError::UndrivenOutput {
                        path: self.path(scope, &format!("{}.{}", child.name, port.name)),
                    })?;
                    NodeId(children[instance.index()] + driver.0)
                }
                _ => continue,
            };
            self.nodes[base as usize + offset].item.op = Op::Wire(wire);
        }
        Ok(base)
    }

    fn enter(&mut self, parent: usize, name: &str, module: &Module) -> usize {
        let path = self.path(parent, name);
        self.scopes.push(FlatScope::new(name, path, Some(parent), module));
        self.scopes.len() - 1
    }

    fn add_nodes(&mut self, module: &Module, scope: usize) {
        let base = self.nodes.len() as u32;
        let (registers, tables) = (self.registers.len() as u32, self.tables.len() as u32);
        for node in &module.nodes {
            let mut item = node.clone();
            item.op.visit_operands_mut(&mut |node| node.0 += base);
            if let Op::Register(id) = &mut item.op {
                id.0 += registers;
            }
            if let Op::TableRead { table, .. }
            | Op::TableReadValid { table, .. }
            | Op::TableValid(table)
            | Op::TableMatch { table, .. } = &mut item.op
            {
                table.0 += tables;
            }
            self.nodes.push(Located { scope, item });
        }
    }

    fn add_ports(
        &mut self,
        module: &Module,
        scope: usize,
        drivers: Option<&[Option<NodeId>]>,
    ) -> Result<(), EngineError> {
        for (index, port) in module.ports.iter().enumerate() {
            let node = match port.direction {
                Direction::Input => drivers.and_then(|drivers| drivers[index]),
                Direction::Output => Some(
                    port.driver
                        .ok_or_else(|| EngineError::UndrivenOutput { path: self.path(scope, &port.name) })?,
                ),
            };
            if let Some(node) = node {
                let (name, valid_when) = (port.name.clone(), port.valid_when);
                let item = FlatPort { name, direction: port.direction, node, valid_when };
                self.ports.push(Located { scope, item });
            }
        }
        Ok(())
    }

    fn add_state(&mut self, module: &Module, scope: usize) {
        let registers = module.registers.iter().cloned();
        self.registers.extend(registers.map(|item| Located { scope, item }));
        self.tables.extend(module.tables.iter().cloned().map(|item| Located { scope, item }));
        let invariants =
            module.invariants.iter().map(|invariant| (invariant.name.clone(), invariant.condition));
        self.invariants.extend(invariants.map(|item| Located { scope, item }));
    }
}

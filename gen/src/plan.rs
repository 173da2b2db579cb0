//! Decides what of a module is printed, in which order, and which nodes get a wire of their own.

use warpfile_hdl::rtl::netlist::{Direction, Module, Node, NodeId, Op, RegisterId, TableId};

use crate::Style;
use crate::lanes::is_loop;
use crate::naming::Names;
use crate::operands::{self, Need};
use crate::tables::{Shown, needs_storage};

/// Operators that one expression may hold before it is cut by a wire.
const INLINE_SIZE: u32 = 6;

/// Bits from which an operand with operands of its own gets a wire.
const WIDE: u32 = 65;

/// Where a part of a module is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    /// Nowhere: nothing reads it.
    Dead,
    /// Under `FORMAL`: only invariants read it.
    Formal,
    /// In the circuit.
    Hardware,
}

/// What is printed of a module and how.
pub(crate) struct Plan {
    /// By node.
    pub(crate) nodes: Vec<Section>,
    /// By register.
    pub(crate) registers: Vec<Section>,
    /// By table.
    pub(crate) tables: Vec<Section>,
    /// Printed nodes, operands first.
    pub(crate) order: Vec<NodeId>,
    /// Nodes printed as `if` and `else` inside the register that takes them.
    pub(crate) branches: Vec<bool>,
    /// Nodes whose wire is an output port.
    pub(crate) is_port: Vec<bool>,
}

/// Plans a module and names its wires.
pub(crate) fn plan(module: &Module, names: &mut Names, style: Style) -> Plan {
    let hardware = Reached::by_hardware(module, style);
    let formal = Reached::from_nodes(module, style, module.invariants.iter().map(|i| i.condition).collect());
    let order = topological(module, &hardware, &formal);
    let mut plan = Plan {
        nodes: sections(&hardware.nodes, &formal.nodes),
        registers: sections(&hardware.registers, &formal.registers),
        tables: sections(&hardware.tables, &formal.tables),
        order,
        branches: vec![false; module.nodes.len()],
        is_port: vec![false; module.nodes.len()],
    };
    Wires::new(module, style, &mut plan, names).name_all();
    plan
}

fn sections(hardware: &[bool], formal: &[bool]) -> Vec<Section> {
    let section = |(&h, &f): (&bool, &bool)| match (h, f) {
        (true, _) => Section::Hardware,
        (false, true) => Section::Formal,
        (false, false) => Section::Dead,
    };
    hardware.iter().zip(formal).map(section).collect()
}

/// What can be reached from some roots, through state.
struct Reached<'m> {
    module: &'m Module,
    style: Style,
    nodes: Vec<bool>,
    registers: Vec<bool>,
    tables: Vec<bool>,
    pending: Vec<NodeId>,
}

impl<'m> Reached<'m> {
    fn from_nodes(module: &'m Module, style: Style, roots: Vec<NodeId>) -> Reached<'m> {
        let mut reached = Reached {
            module,
            style,
            nodes: vec![false; module.nodes.len()],
            registers: vec![false; module.registers.len()],
            tables: vec![false; module.tables.len()],
            pending: roots,
        };
        reached.run();
        reached
    }

    /// From outputs, sub-circuits and state that nothing reads at all, which is kept to be found again.
    fn by_hardware(module: &'m Module, style: Style) -> Reached<'m> {
        let outputs = module.ports.iter().filter_map(|p| p.driver);
        let instances = module.instances.iter().flat_map(|i| i.inputs.iter().map(|&(_, node)| node));
        let observed: Vec<NodeId> = outputs.chain(instances).collect();
        let invariants = module.invariants.iter().map(|i| i.condition);
        let read = Reached::from_nodes(module, style, observed.iter().copied().chain(invariants).collect());

        let mut reached = Reached::from_nodes(module, style, observed);
        for index in 0..module.registers.len() {
            if !read.registers[index] {
                reached.register(RegisterId(index as u32));
            }
        }
        for index in 0..module.tables.len() {
            if !read.tables[index] {
                reached.table(TableId(index as u32));
            }
        }
        reached.run();
        // Rows stored lane by lane are put together inside the table's loop, for whoever reads them.
        for (index, node) in module.nodes.iter().enumerate() {
            if let Op::TableRead { table, field, .. } = node.op
                && read.nodes[index]
                && reached.tables[table.index()]
                && needs_storage(&module.tables[table.index()], Shown::Field(field), style)
            {
                reached.pending.push(NodeId(index as u32));
            }
        }
        reached.run();
        reached
    }

    fn run(&mut self) {
        while let Some(node) = self.pending.pop() {
            if !std::mem::replace(&mut self.nodes[node.index()], true) {
                self.visit(node);
            }
        }
    }

    fn visit(&mut self, node: NodeId) {
        self.pending.extend(operands::of_node(self.module, node).iter().map(|&(operand, _)| operand));
        match self.module.nodes[node.index()].op {
            Op::Register(register) => self.register(register),
            Op::TableRead { table, port, .. } | Op::TableReadValid { table, port } => {
                self.table(table);
                let table = &self.module.tables[table.index()];
                let port = &table.reads[port as usize];
                if port.clocked {
                    self.pending.extend([port.address, port.enable]);
                    self.pending.extend(table.fields.iter().find_map(|field| port.gating_lanes(field)));
                }
            }
            Op::TableValid(table) | Op::TableMatch { table, .. } => self.table(table),
            _ => {}
        }
    }

    fn register(&mut self, id: RegisterId) {
        if !std::mem::replace(&mut self.registers[id.index()], true) {
            let register = &self.module.registers[id.index()];
            self.pending.push(register.next);
            self.pending.extend(register.enable);
        }
    }

    fn table(&mut self, id: TableId) {
        if !std::mem::replace(&mut self.tables[id.index()], true) {
            self.pending.extend(operands::of_table(self.module, id, self.style).iter().map(|o| o.node));
        }
    }
}

/// Reached nodes with operands before their users, otherwise in the order of the description.
fn topological(module: &Module, hardware: &Reached, formal: &Reached) -> Vec<NodeId> {
    let mut order = Vec::new();
    let mut seen = vec![false; module.nodes.len()];
    for root in 0..module.nodes.len() {
        if !(hardware.nodes[root] || formal.nodes[root]) || seen[root] {
            continue;
        }
        seen[root] = true;
        let mut stack =
            vec![(NodeId(root as u32), operands::of_node(module, NodeId(root as u32)).into_iter())];
        while let Some((node, rest)) = stack.last_mut() {
            match rest.next() {
                Some((operand, _)) => {
                    if !std::mem::replace(&mut seen[operand.index()], true) {
                        stack.push((operand, operands::of_node(module, operand).into_iter()));
                    }
                }
                None => {
                    order.push(*node);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// A name that a node is to have.
#[derive(Clone, PartialEq)]
enum Wanted {
    /// Given in the description.
    Given(String),
    /// The output port it drives.
    Port(String),
}

/// How a node is used.
#[derive(Clone, Default)]
struct Uses {
    /// Times its text would appear.
    count: u32,
    /// Strongest form needed.
    need: Option<Need>,
    /// Whether it is an operand of an expression (rather than the whole of a statement).
    nested: bool,
    /// Name to have, if it needs one.
    hint: Option<String>,
}

struct Wires<'a> {
    module: &'a Module,
    style: Style,
    plan: &'a mut Plan,
    names: &'a mut Names,
    wanted: Vec<Option<Wanted>>,
    uses: Vec<Uses>,
}

impl<'a> Wires<'a> {
    fn new(module: &'a Module, style: Style, plan: &'a mut Plan, names: &'a mut Names) -> Wires<'a> {
        let wanted = vec![None; module.nodes.len()];
        let uses = vec![Uses::default(); module.nodes.len()];
        Wires { module, style, plan, names, wanted, uses }
    }

    fn name_all(&mut self) {
        self.want_given_names();
        self.want_output_names();
        self.count_state_uses();
        self.count_node_uses();
        self.mark_branches();
        self.assign_names();
    }

    fn node(&self, id: NodeId) -> &'a Node {
        &self.module.nodes[id.index()]
    }

    fn want_given_names(&mut self) {
        for &id in &self.plan.order {
            let Some(name) = &self.node(id).name else { continue };
            let known = match self.node(id).op {
                Op::Input(port) => self.module.ports[port.index()].name == *name,
                Op::Register(register) => self.module.registers[register.index()].name == *name,
                _ => false,
            };
            if !known {
                self.wanted[id.index()] = Some(Wanted::Given(name.clone()));
            }
        }
        // A named wire around an unnamed operation: the operation takes the name.
        for &id in &self.plan.order {
            if let Op::Wire(inner) = self.node(id).op
                && !is_reference(&self.node(inner).op)
                && self.plan.nodes[inner.index()] == self.plan.nodes[id.index()]
                && self.wanted[inner.index()].is_none()
            {
                self.wanted[inner.index()] = self.wanted[id.index()].take();
            }
        }
    }

    fn want_output_names(&mut self) {
        for port in self.module.ports.iter().filter(|p| p.direction == Direction::Output) {
            let Some(driver) = port.driver else { continue };
            let driver = self.without_aliases(driver);
            let free = match &self.wanted[driver.index()] {
                None => !is_reference(&self.node(driver).op),
                Some(Wanted::Given(name)) => *name == port.name,
                Some(Wanted::Port(_)) => false,
            };
            if free {
                self.wanted[driver.index()] = Some(Wanted::Port(port.name.clone()));
            }
        }
    }

    /// The node that an unnamed wire stands for.
    fn without_aliases(&self, mut id: NodeId) -> NodeId {
        while let (Op::Wire(inner), None) = (&self.node(id).op, &self.wanted[id.index()]) {
            id = *inner;
        }
        id
    }

    fn use_node(&mut self, node: NodeId, need: Need, hint: Option<String>) {
        let uses = &mut self.uses[node.index()];
        uses.count += 1;
        uses.need = uses.need.max(Some(need));
        uses.hint = uses.hint.take().or(hint);
    }

    fn count_state_uses(&mut self) {
        let module = self.module;
        for port in &module.ports {
            if let Some(driver) = port.driver {
                self.use_node(driver, Need::Value, None);
            }
        }
        for (_, node) in module.instances.iter().flat_map(|i| &i.inputs) {
            self.use_node(*node, Need::Value, None);
        }
        for invariant in &module.invariants {
            self.use_node(invariant.condition, Need::Value, None);
        }
        for (register, section) in module.registers.iter().zip(self.plan.registers.clone()) {
            if section > Section::Dead {
                self.use_node(register.next, Need::Value, Some(format!("{}_d", register.name)));
                if let Some(enable) = register.enable {
                    self.use_node(enable, Need::Value, Some(format!("{}_enable", register.name)));
                }
            }
        }
        for (index, table) in module.tables.iter().enumerate() {
            if self.plan.tables[index] == Section::Dead {
                continue;
            }
            let ports = table.reads.iter().filter(|p| p.clocked);
            let reads = ports.flat_map(|p| operands::of_clocked_port(table, p));
            for operand in
                operands::of_table(module, TableId(index as u32), self.style).into_iter().chain(reads)
            {
                self.use_node(operand.node, operand.need, Some(operand.hint));
            }
        }
    }

    /// Users before operands, so that what an alias needs reaches what it stands for.
    fn count_node_uses(&mut self) {
        for &id in self.plan.order.clone().iter().rev() {
            let transparent = self.wanted[id.index()].is_none();
            let own = self.uses[id.index()].clone();
            let is_wire = matches!(self.node(id).op, Op::Wire(_));
            let alias = transparent && is_wire;
            for (operand, need) in operands::of_node(self.module, id) {
                let uses = &mut self.uses[operand.index()];
                uses.count += if alias { own.count } else { 1 };
                uses.need = uses.need.max(Some(if alias { own.need.unwrap_or(need) } else { need }));
                uses.nested |= if alias { own.nested } else { !is_wire };
                if alias && uses.hint.is_none() {
                    uses.hint.clone_from(&own.hint);
                }
            }
        }
    }

    fn mark_branches(&mut self) {
        let mut pending: Vec<NodeId> = self.module.registers.iter().map(|r| r.next).collect();
        while let Some(id) = pending.pop() {
            if let Op::Mux { then, otherwise, .. } = self.node(id).op
                && self.plan.nodes[id.index()] > Section::Dead
                && self.wanted[id.index()].is_none()
                && self.uses[id.index()].count == 1
            {
                self.plan.branches[id.index()] = true;
                pending.extend([otherwise, then]);
            }
        }
    }

    fn assign_names(&mut self) {
        for &id in &self.plan.order {
            match &self.wanted[id.index()] {
                Some(Wanted::Given(name)) => {
                    self.names.nodes[id.index()] = Some(self.names.scope.fresh(name))
                }
                Some(Wanted::Port(name)) => {
                    self.names.nodes[id.index()] = Some(name.clone());
                    self.plan.is_port[id.index()] = true;
                }
                None => {}
            }
        }
        let mut sizes = vec![0u32; self.module.nodes.len()];
        for &id in &self.plan.order {
            let operands = operands::of_node(self.module, id);
            let inline = operands.iter().filter(|(o, _)| self.names.nodes[o.index()].is_none());
            let size = inline.map(|(o, _)| sizes[o.index()]).fold(1, u32::saturating_add);
            sizes[id.index()] = if is_reference(&self.node(id).op) { 1 } else { size };
            if self.names.nodes[id.index()].is_none() && self.needs_wire(id, size) {
                let name = match &self.uses[id.index()].hint {
                    Some(hint) => self.names.scope.fresh(hint),
                    None => self.names.scope.numbered(kind(&self.node(id).op)),
                };
                self.names.nodes[id.index()] = Some(name);
            }
        }
    }

    fn needs_wire(&self, id: NodeId, size: u32) -> bool {
        let node = self.node(id);
        let uses = &self.uses[id.index()];
        if is_reference(&node.op) {
            return matches!(node.op, Op::Constant(_) | Op::Slice { .. }) && uses.need == Some(Need::Indexed);
        }
        if self.plan.branches[id.index()] {
            return false;
        }
        let unary = operands::of_node(self.module, id).len() < 2;
        uses.count > 1
            || uses.need > Some(Need::Value)
            || is_loop(self.module, id)
            || uses.nested && (size > INLINE_SIZE || node.width >= WIDE && !unary)
    }
}

/// Whether a node's text is a name, a constant or part of a name, so that it needs no wire.
fn is_reference(op: &Op) -> bool {
    matches!(
        op,
        Op::Input(_)
            | Op::Constant(_)
            | Op::Wire(_)
            | Op::Register(_)
            | Op::TableRead { .. }
            | Op::TableReadValid { .. }
            | Op::TableValid(_)
            | Op::TableMatch { .. }
            | Op::InstanceOutput { .. }
            | Op::Slice { .. }
    )
}

/// Stem of the name of an unnamed node.
fn kind(op: &Op) -> &'static str {
    match op {
        Op::Input(_) | Op::Wire(_) | Op::Slice { .. } => "bits",
        Op::Constant(_) => "constant",
        Op::Register(_) => "register",
        Op::TableRead { .. } | Op::TableReadValid { .. } => "read",
        Op::TableValid(_) => "valid",
        Op::TableMatch { .. } | Op::LaneEq(..) => "match",
        Op::InstanceOutput { .. } => "output",
        Op::Not(_) => "not",
        Op::And(..) => "and",
        Op::Or(..) => "or",
        Op::Xor(..) => "xor",
        Op::Add(..) | Op::LaneAdd { .. } => "sum",
        Op::Sub(..) => "difference",
        Op::Mul(..) => "product",
        Op::Eq(..) => "equal",
        Op::Lt(..) => "less",
        Op::ShiftLeft(..) | Op::ShiftRight(..) => "shifted",
        Op::Mux { .. } | Op::LaneMux { .. } => "mux",
        Op::Concat(_) => "joined",
        Op::ZeroExtend(_) => "extended",
        Op::ReduceOr(_) | Op::GroupOr(_) => "any",
        Op::ReduceAnd(_) => "all",
        Op::ReduceXor(_) => "parity",
        Op::PriorityEncode(_) => "index",
        Op::LowestOne(_) => "lowest",
        Op::Decode(_) => "onehot",
        Op::PopCount(_) => "count",
        Op::LaneSelect { .. } | Op::OneHotSelect { .. } => "selected",
        Op::Replicate(_) | Op::SpreadLanes(_) => "spread",
        Op::PrefixOr(_) => "prefix",
        Op::PrefixCount(_) => "ranks",
        Op::XorHash { .. } => "hash",
    }
}

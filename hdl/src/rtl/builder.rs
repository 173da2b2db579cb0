//! The arena of a module under construction.
//!
//! Holds the module's netlist while it grows, what is known about its assignments, and the errors found so far.
//! Everything a description touches ([`Signal`](super::Signal), [`Table`](super::Table), …) is a copyable handle
//! into it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::rc::Rc;

use super::assign::{Scope, Target};
use super::bits::Bits;
use super::elaborate::Design;
use super::error::{ElaborationError, Problem};
use super::names::is_identifier;
use super::netlist::{self, InstanceId, Node, NodeId, Op, PortId, RowExpr, SourceLine};
use super::table::TablePlan;

/// Widest value, and deepest table.
pub(super) const LARGEST_SIZE: u32 = 1 << 20;

/// The signal that stands for a mistake already reported. Whatever is made from it is poison too.
pub(super) const POISON: NodeId = NodeId(u32::MAX);

/// Where a description calls from.
#[track_caller]
pub(super) fn caller() -> SourceLine {
    let location = Location::caller();
    SourceLine { file: location.file(), line: location.line() }
}

pub(super) struct ModuleBuilder {
    pub design: Rc<RefCell<Design>>,
    /// Instance names down to this module.
    pub path: String,
    pub module: netlist::Module,
    /// What can be assigned: wires, outputs, inputs of sub-circuits, registers.
    pub targets: BTreeMap<NodeId, Target>,
    /// Conditions that the description is inside of, outermost first.
    pub scopes: Vec<Scope>,
    /// Conditional blocks so far; gives each a number.
    pub blocks: u32,
    /// Expressions over table rows, while `matching` builds them.
    pub rows: Vec<(RowExpr, u32)>,
    /// What each table declares.
    pub table_plans: Vec<TablePlan>,
    /// Outputs of sub-circuits that need no reader.
    pub ignored: Vec<(InstanceId, PortId)>,
    names: BTreeMap<String, &'static str>,
    pure: HashMap<(Op, u32), NodeId>,
}

impl ModuleBuilder {
    pub fn new(design: Rc<RefCell<Design>>, path: String, module: netlist::Module) -> ModuleBuilder {
        ModuleBuilder {
            design,
            path,
            module,
            targets: BTreeMap::new(),
            scopes: Vec::new(),
            blocks: 0,
            rows: Vec::new(),
            table_plans: Vec::new(),
            ignored: Vec::new(),
            names: BTreeMap::new(),
            pure: HashMap::new(),
        }
    }

    /// Records an error and gives the poisoned signal.
    pub fn error(&mut self, source: SourceLine, problem: Problem) -> NodeId {
        self.error_without_line(Some(source), problem)
    }

    pub fn error_without_line(&mut self, source: Option<SourceLine>, problem: Problem) -> NodeId {
        let path = self.path.clone();
        self.design.borrow_mut().errors.push(ElaborationError { path, source, problem });
        POISON
    }

    /// The expression `op` of `width` bits: an existing node if there is an equal one.
    pub fn node(&mut self, op: Op, width: u32, source: SourceLine) -> NodeId {
        let mut poisoned = false;
        op.visit_operands(&mut |operand| poisoned |= *operand == POISON);
        if poisoned {
            return POISON;
        }
        if width == 0 || width > LARGEST_SIZE {
            let thing = format!("the width of {}", article(op_name(&op)));
            return self.size_error(thing, width.into(), source);
        }
        let op = match self.simplify(op, width) {
            Simplified::Node(node) => return node,
            Simplified::Op(op) => op,
        };
        if let Some(&node) = self.pure.get(&(op.clone(), width)) {
            return node;
        }
        let node = self.fresh_node(op.clone(), width, None, source);
        self.pure.insert((op, width), node);
        node
    }

    /// A node of its own, equal to none.
    pub fn fresh_node(&mut self, op: Op, width: u32, name: Option<String>, source: SourceLine) -> NodeId {
        let node = NodeId(self.module.nodes.len() as u32);
        self.module.nodes.push(Node { op, width, name, source });
        node
    }

    pub fn constant(&mut self, bits: Bits, source: SourceLine) -> NodeId {
        let width = bits.width();
        self.node(Op::Constant(bits), width, source)
    }

    /// The one-bit constant 1.
    pub fn always(&mut self, source: SourceLine) -> NodeId {
        self.constant(Bits::ones(1), source)
    }

    pub fn size_error(&mut self, thing: String, size: u64, source: SourceLine) -> NodeId {
        self.error(source, Problem::Size { thing, size, limit: LARGEST_SIZE.into() })
    }

    /// `size` as a width or depth, if it is one.
    pub fn size(&mut self, thing: impl FnOnce() -> String, size: usize, source: SourceLine) -> Option<u32> {
        match u32::try_from(size) {
            Ok(n @ 1..=LARGEST_SIZE) => Some(n),
            Ok(_) | Err(_) => {
                self.size_error(thing(), size as u64, source);
                None
            }
        }
    }

    /// Bits of a node; 1 for poison.
    pub fn width(&self, node: NodeId) -> u32 {
        self.module.nodes.get(node.index()).map_or(1, |n| n.width)
    }

    /// `node` if it has `needed` bits, else an error and poison.
    pub fn of_width(
        &mut self,
        node: NodeId,
        needed: u32,
        place: impl FnOnce() -> String,
        source: SourceLine,
    ) -> NodeId {
        let found = self.width(node);
        if node == POISON || found == needed {
            return node;
        }
        let value = self.describe(node);
        self.error(source, Problem::Width { place: place(), needed, value, found })
    }

    /// Takes `name` for a thing of this module; reports a bad or taken one.
    pub fn take_name(&mut self, name: &str, kind: &'static str, source: SourceLine) {
        self.take_name_with(name, &[""], kind, source);
    }

    /// As [`take_name`](ModuleBuilder::take_name), with the names a register has in Verilog.
    pub fn take_register_name(&mut self, name: &str, source: SourceLine) {
        self.take_name_with(name, &["", "_q", "_d"], "register", source);
    }

    fn take_name_with(&mut self, name: &str, suffixes: &[&str], kind: &'static str, source: SourceLine) {
        if !is_identifier(name) {
            self.error(source, Problem::BadName { name: name.to_string() });
            return;
        }
        for name in suffixes.iter().map(|suffix| format!("{name}{suffix}")) {
            if let Some(&kind) = self.names.get(&name) {
                self.error(source, Problem::DuplicateName { name, kind });
                return;
            }
            self.names.insert(name, kind);
        }
    }

    pub fn constant_of(&self, node: NodeId) -> Option<&Bits> {
        match &self.module.nodes.get(node.index())?.op {
            Op::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    /// A node as an error message calls it.
    pub fn describe(&self, node: NodeId) -> String {
        match self.targets.get(&node) {
            Some(target) => format!("`{}`", target.name),
            None => describe(&self.module, &|instance, port| self.port_name(instance, port), node),
        }
    }

    /// `child.port_o`.
    pub fn port_name(&self, instance: InstanceId, port: PortId) -> String {
        let instance = &self.module.instances[instance.index()];
        let design = self.design.borrow();
        format!("{}.{}", instance.name, design.modules[instance.module.index()].ports[port.index()].name)
    }

    /// Rewrites `op` to something simpler of the same value, where that costs nothing to see.
    fn simplify(&mut self, op: Op, width: u32) -> Simplified {
        let node_op = |id: NodeId| &self.module.nodes[id.index()].op;
        let zero = |id: NodeId| self.constant_of(id).is_some_and(Bits::is_zero);
        let ones = |id: NodeId| self.constant_of(id).is_some_and(Bits::is_ones);
        let opposite = |a: NodeId, b: NodeId| *node_op(a) == Op::Not(b) || *node_op(b) == Op::Not(a);
        match op {
            Op::ZeroExtend(a) | Op::Replicate(a) | Op::SpreadLanes(a) | Op::GroupOr(a)
                if self.width(a) == width =>
            {
                Simplified::Node(a)
            }
            Op::ReduceOr(a) | Op::ReduceAnd(a) | Op::ReduceXor(a) if self.width(a) == 1 => {
                Simplified::Node(a)
            }
            Op::Slice { value, low } => match node_op(value) {
                _ if self.width(value) == width => Simplified::Node(value),
                Op::Constant(bits) => Simplified::Op(Op::Constant(bits.slice(low, width))),
                &Op::Slice { value, low: inner } => Simplified::Op(Op::Slice { value, low: inner + low }),
                _ => Simplified::Op(Op::Slice { value, low }),
            },
            Op::ZeroExtend(a) => match self.constant_of(a) {
                Some(bits) => Simplified::Op(Op::Constant(bits.slice(0, width))),
                None => Simplified::Op(Op::ZeroExtend(a)),
            },
            Op::Concat(parts) => match parts[..] {
                [part] => Simplified::Node(part),
                _ => Simplified::Op(Op::Concat(parts)),
            },
            Op::Not(a) => match node_op(a) {
                &Op::Not(b) => Simplified::Node(b),
                Op::Constant(bits) => Simplified::Op(Op::Constant(bits.complement())),
                _ => Simplified::Op(Op::Not(a)),
            },
            Op::And(a, b) if a == b || ones(b) || zero(a) => Simplified::Node(a),
            Op::And(a, b) if ones(a) || zero(b) => Simplified::Node(b),
            Op::And(a, b) if opposite(a, b) => Simplified::Op(Op::Constant(Bits::zero(width))),
            Op::Or(a, b) if a == b || zero(b) || ones(a) => Simplified::Node(a),
            Op::Or(a, b) if zero(a) || ones(b) => Simplified::Node(b),
            Op::Or(a, b) if opposite(a, b) => Simplified::Op(Op::Constant(Bits::ones(width))),
            Op::Mux { then, otherwise, .. } if then == otherwise => Simplified::Node(then),
            Op::Mux { condition, then, .. } if ones(condition) => Simplified::Node(then),
            Op::Mux { condition, otherwise, .. } if zero(condition) => Simplified::Node(otherwise),
            Op::Mux { condition, then, otherwise } if width == 1 && ones(then) && zero(otherwise) => {
                Simplified::Node(condition)
            }
            Op::Mux { condition, then, otherwise } if width == 1 && zero(then) && ones(otherwise) => {
                Simplified::Op(Op::Not(condition))
            }
            Op::Mux { condition, then, otherwise } if width == 1 && zero(otherwise) => {
                Simplified::Op(Op::And(condition, then))
            }
            Op::Mux { condition, then, otherwise } if width == 1 && ones(then) => {
                Simplified::Op(Op::Or(condition, otherwise))
            }
            other => Simplified::Op(other),
        }
    }
}

enum Simplified {
    Node(NodeId),
    Op(Op),
}

/// A node of `module` as a person would point at it.
pub(super) fn describe(
    module: &netlist::Module,
    port_name: &dyn Fn(InstanceId, PortId) -> String,
    node: NodeId,
) -> String {
    let Some(n) = module.nodes.get(node.index()) else { return "a poisoned signal".to_string() };
    if let Some(name) = &n.name {
        return format!("`{name}`");
    }
    let table = |id: netlist::TableId| &module.tables[id.index()];
    match &n.op {
        Op::Input(port) => format!("`{}`", module.ports[port.index()].name),
        Op::Register(register) => format!("`{}`", module.registers[register.index()].name),
        Op::Constant(bits) => format!("the constant {}", bits.to_biguint()),
        Op::TableRead { table: t, port, field } => {
            let t = table(*t);
            let (port, field) = (&t.reads[*port as usize].name, &t.fields[*field as usize].name);
            format!("`{}.{port}.{field}`", t.name)
        }
        Op::TableReadValid { table: t, port } => {
            format!("`{}.{}.valid`", table(*t).name, table(*t).reads[*port as usize].name)
        }
        Op::TableValid(t) => format!("the valid bits of `{}`", table(*t).name),
        Op::TableMatch { table: t, port } => {
            format!("`{}.{}`", table(*t).name, table(*t).matches[*port as usize].name)
        }
        Op::InstanceOutput { instance, port } => format!("`{}`", port_name(*instance, *port)),
        other => format!("{} of {}", article(op_name(other)), n.source),
    }
}

fn article(noun: &str) -> String {
    match noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {noun}"),
        false => format!("a {noun}"),
    }
}

fn op_name(op: &Op) -> &'static str {
    match op {
        Op::Input(_) => "input",
        Op::Constant(_) => "constant",
        Op::Wire(_) => "wire",
        Op::Register(_) => "register",
        Op::TableRead { .. } | Op::TableReadValid { .. } => "table read",
        Op::TableValid(_) => "vector of valid bits",
        Op::TableMatch { .. } => "vector of match lines",
        Op::InstanceOutput { .. } => "sub-circuit output",
        Op::Not(_) => "complement",
        Op::And(..) => "and",
        Op::Or(..) => "or",
        Op::Xor(..) => "exclusive or",
        Op::Add(..) => "sum",
        Op::Sub(..) => "difference",
        Op::Mul(..) => "product",
        Op::Eq(..) => "equality",
        Op::Lt(..) => "comparison",
        Op::ShiftLeft(..) => "left shift",
        Op::ShiftRight(..) => "right shift",
        Op::Mux { .. } => "mux",
        Op::Concat(_) => "concatenation",
        Op::Slice { .. } => "slice",
        Op::ZeroExtend(_) => "zero extension",
        Op::ReduceOr(_) => "reduction by or",
        Op::ReduceAnd(_) => "reduction by and",
        Op::ReduceXor(_) => "parity",
        Op::PriorityEncode(_) => "priority encode",
        Op::LowestOne(_) => "lowest one",
        Op::Decode(_) => "decode",
        Op::PopCount(_) => "population count",
        Op::LaneSelect { .. } => "lane select",
        Op::OneHotSelect { .. } => "one-hot select",
        Op::LaneMux { .. } => "lane mux",
        Op::LaneEq(..) => "lane equality",
        Op::LaneAdd { .. } => "lane sum",
        Op::Replicate(_) => "replication",
        Op::SpreadLanes(_) => "spread",
        Op::GroupOr(_) => "group or",
        Op::PrefixOr(_) => "prefix or",
        Op::PrefixCount(_) => "prefix count",
        Op::XorHash { .. } => "hash",
    }
}

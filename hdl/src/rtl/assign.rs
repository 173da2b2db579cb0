//! Assignments under conditions, and what they come to.
//!
//! Assignments to one target form a sequence; each stands inside zero or more conditional blocks. The value is
//! that of the last assignment whose conditions hold. [`settle`] turns the sequence into multiplexers that
//! nest as the blocks do, so that `when … otherwise` that assigns in both arms is one mux and fully driven.

use super::builder::{ModuleBuilder, POISON};
use super::error::Problem;
use super::netlist::{InstanceId, NodeId, Op, PortId, RegisterId, SourceLine};

/// One conditional block that the description is inside of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// Number of the block; its two arms share it.
    pub block: u32,
    pub condition: NodeId,
    /// The arm for 1 or for 0.
    pub arm: bool,
    /// One bit: this and all outer conditions hold.
    pub enable: NodeId,
}

/// What an assignment drives.
#[derive(Clone, Copy, Debug)]
pub(super) enum TargetKind {
    Wire,
    Output(PortId),
    InstanceInput(InstanceId, PortId),
    Register(RegisterId),
}

pub(super) struct Target {
    pub kind: TargetKind,
    pub name: String,
    pub source: SourceLine,
    pub assignments: Vec<Assignment>,
}

#[derive(Clone)]
pub(super) struct Assignment {
    scopes: Vec<Scope>,
    value: NodeId,
    source: SourceLine,
}

/// When a target has been assigned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Covered {
    Never,
    Always,
    When(NodeId),
}

#[derive(Clone, Copy)]
struct State {
    value: Option<NodeId>,
    covered: Covered,
}

impl ModuleBuilder {
    /// Adds an assignable node.
    pub fn target(&mut self, node: NodeId, kind: TargetKind, name: String, source: SourceLine) {
        self.targets.insert(node, Target { kind, name, source, assignments: Vec::new() });
    }

    /// Assigns `value` to `node` under the current conditions.
    pub fn assign(&mut self, node: NodeId, value: NodeId, source: SourceLine) {
        if node == POISON {
            return;
        }
        let width = self.width(node);
        let place = self.describe(node);
        let scopes = self.scopes.clone();
        if !self.targets.contains_key(&node) {
            self.error(source, Problem::NotAssignable { value: place });
            return;
        }
        let value = self.of_width(value, width, || place, source);
        if let Some(target) = self.targets.get_mut(&node) {
            target.assignments.push(Assignment { scopes, value, source });
        }
    }

    /// One bit: all current conditions and `enable` hold.
    pub fn enabled(&mut self, enable: NodeId, source: SourceLine) -> NodeId {
        match self.scopes.last().map(|scope| scope.enable) {
            Some(scope) => self.node(Op::And(scope, enable), 1, source),
            None => enable,
        }
    }

    /// Enters an arm of a conditional block.
    pub fn enter(&mut self, block: u32, condition: NodeId, arm: bool, source: SourceLine) {
        let condition = match condition {
            POISON => self.always(source),
            condition => condition,
        };
        let own = match arm {
            true => condition,
            false => self.node(Op::Not(condition), 1, source),
        };
        let enable = self.enabled(own, source);
        self.scopes.push(Scope { block, condition, arm, enable });
    }

    /// Drives every target from its assignments.
    pub fn settle_all(&mut self) {
        let targets = std::mem::take(&mut self.targets);
        for (node, target) in &targets {
            let start = State { value: None, covered: Covered::Never };
            let state = self.settle(target, &target.assignments, 0, start);
            self.drive(*node, target, state);
        }
        self.targets = targets;
    }

    /// What `assignments`, all inside the same `depth` blocks, make of `state`.
    fn settle(
        &mut self,
        target: &Target,
        assignments: &[Assignment],
        depth: usize,
        mut state: State,
    ) -> State {
        let mut rest = assignments;
        let mut overridden: Option<SourceLine> = None;
        while let Some(first) = rest.first() {
            match first.scopes.get(depth) {
                None => {
                    if let Some(first_source) = overridden {
                        let target = format!("`{}`", target.name);
                        let problem = Problem::DrivenTwice { target, first: first_source };
                        self.error(first.source, problem);
                    }
                    state = State { value: Some(first.value), covered: Covered::Always };
                    overridden = Some(first.source);
                    rest = &rest[1..];
                }
                Some(scope) => {
                    let (block, after) = split_while(rest, |a| in_block(a, depth, scope.block));
                    let (then, otherwise) = split_while(block, |a| a.scopes[depth].arm);
                    let then = self.settle(target, then, depth + 1, state);
                    let otherwise = self.settle(target, otherwise, depth + 1, state);
                    state = self.join(scope.condition, then, otherwise, first.source);
                    overridden = Some(first.source);
                    rest = after;
                }
            }
        }
        state
    }

    fn join(&mut self, condition: NodeId, then: State, otherwise: State, source: SourceLine) -> State {
        let value = match (then.value, otherwise.value) {
            (Some(then), Some(otherwise)) => {
                let width = self.width(then);
                Some(self.node(Op::Mux { condition, then, otherwise }, width, source))
            }
            (then, otherwise) => then.or(otherwise),
        };
        let covered = if then.covered == otherwise.covered {
            then.covered
        } else {
            let [then, otherwise] = [then.covered, otherwise.covered].map(|c| self.covered_bit(c, source));
            let bit = self.node(Op::Mux { condition, then, otherwise }, 1, source);
            match self.constant_of(bit) {
                Some(bits) if bits.is_ones() => Covered::Always,
                Some(_) | None => Covered::When(bit),
            }
        };
        State { value, covered }
    }

    fn covered_bit(&mut self, covered: Covered, source: SourceLine) -> NodeId {
        match covered {
            Covered::Never => self.constant(super::bits::Bits::zero(1), source),
            Covered::Always => self.always(source),
            Covered::When(bit) => bit,
        }
    }

    fn drive(&mut self, node: NodeId, target: &Target, state: State) {
        let name = format!("`{}`", target.name);
        let Some(value) = state.value else {
            self.error(target.source, Problem::NotDriven { target: name });
            return;
        };
        let enable = match (target.kind, state.covered) {
            (TargetKind::Register(_), Covered::When(enable)) => Some(enable),
            (_, Covered::Always) => None,
            (_, Covered::Never | Covered::When(_)) => {
                self.error(target.source, Problem::PartlyDriven { target: name });
                return;
            }
        };
        match target.kind {
            TargetKind::Register(register) => {
                let register = &mut self.module.registers[register.index()];
                register.next = value;
                register.enable = enable;
            }
            TargetKind::Wire => self.module.nodes[node.index()].op = Op::Wire(value),
            TargetKind::Output(port) => {
                self.module.nodes[node.index()].op = Op::Wire(value);
                self.module.ports[port.index()].driver = Some(value);
            }
            TargetKind::InstanceInput(instance, port) => {
                self.module.nodes[node.index()].op = Op::Wire(value);
                self.module.instances[instance.index()].inputs.push((port, value));
            }
        }
    }
}

fn in_block(assignment: &Assignment, depth: usize, block: u32) -> bool {
    assignment.scopes.get(depth).is_some_and(|scope| scope.block == block)
}

/// The longest prefix whose items all satisfy `holds`, and the rest.
fn split_while<T>(items: &[T], holds: impl Fn(&T) -> bool) -> (&[T], &[T]) {
    items.split_at(items.iter().take_while(|item| holds(item)).count())
}

//! Ports of a circuit, seen from inside (while it is built) or from outside (as a sub-circuit).

use super::assign::TargetKind;
use super::builder::{POISON, caller};
use super::error::Problem;
use super::module::Module;
use super::netlist::{Direction, InstanceId, Op, Port, PortId, SourceLine};
use super::signal::Signal;

/// Most elements of a repeated port or group.
const MOST_ELEMENTS: usize = 4096;

/// A struct of ports, or of groups of ports, of a circuit with parameters `P`. Derive it: `#[derive(Ports)]`.
pub trait Ports<'m, P>: Sized {
    /// Declares the ports, in the order of the fields. Must not panic for any parameters, valid or not.
    fn bind(ports: &mut PortBinder<'m>, p: &P) -> Self;
}

/// Declares ports one by one.
pub struct PortBinder<'m> {
    m: Module<'m>,
    side: Side,
    prefix: String,
    declared: u32,
    /// The line that asked for the circuit.
    source: SourceLine,
}

/// From where the ports are seen.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Inside,
    Outside(InstanceId),
    /// Of a sub-circuit that could not be built: every port is poison.
    Broken,
}

impl<'m> PortBinder<'m> {
    pub(super) fn new(m: Module<'m>, side: Side, source: SourceLine) -> PortBinder<'m> {
        PortBinder { m, side, prefix: String::new(), declared: 0, source }
    }

    /// An input of `bits` bits. The name ends in `_i`.
    pub fn input(&mut self, name: &str, bits: usize) -> Signal<'m> {
        self.port(name, bits, Direction::Input)
    }

    /// An output of `bits` bits. The name ends in `_o`.
    pub fn output(&mut self, name: &str, bits: usize) -> Signal<'m> {
        self.port(name, bits, Direction::Output)
    }

    /// What `bind` declares, its names prefixed by `name_`.
    pub fn group<G>(&mut self, name: &str, bind: impl FnOnce(&mut PortBinder<'m>) -> G) -> G {
        let length = self.prefix.len();
        self.prefix.push_str(name);
        self.prefix.push('_');
        let group = bind(self);
        self.prefix.truncate(length);
        group
    }

    /// `count`, the number of elements of the repeated port or group `name`, if it is reasonable; else an
    /// error and 0.
    #[track_caller]
    pub fn repeat(&mut self, name: &str, count: usize) -> usize {
        if count <= MOST_ELEMENTS {
            return count;
        }
        let source = caller();
        let name = format!("{}{name}", self.prefix);
        let problem = Problem::Elements { name, count, limit: MOST_ELEMENTS };
        self.m.arena.borrow_mut().error(source, problem);
        0
    }

    fn port(&mut self, name: &str, bits: usize, direction: Direction) -> Signal<'m> {
        let name = format!("{}{name}", self.prefix);
        let id = PortId(self.declared);
        self.declared += 1;
        let source = self.source;
        match self.side {
            Side::Inside => self.inside(name, bits, direction, id),
            Side::Outside(instance) => self.m.make(|b| {
                let module = b.module.instances[instance.index()].module;
                let width = b.design.borrow().modules[module.index()].ports[id.index()].width;
                match direction {
                    Direction::Input => {
                        let name = b.port_name(instance, id);
                        let node = b.fresh_node(Op::Wire(POISON), width, None, source);
                        b.target(node, TargetKind::InstanceInput(instance, id), name, source);
                        node
                    }
                    Direction::Output => b.node(Op::InstanceOutput { instance, port: id }, width, source),
                }
            }),
            Side::Broken => self.m.make(|_| POISON),
        }
    }

    fn inside(&mut self, name: String, bits: usize, direction: Direction, id: PortId) -> Signal<'m> {
        let source = self.source;
        self.m.make(|b| {
            b.take_name(&name, "port", source);
            let size = b.size(|| format!("the width of `{name}`"), bits, source);
            // A port of no width is kept as one of one bit, so that ports keep their numbers.
            let width = size.unwrap_or(1);
            b.module.ports.push(Port {
                name: name.clone(),
                direction,
                width,
                driver: None,
                valid_when: None,
            });
            match (size, direction) {
                (None, _) => POISON,
                (Some(_), Direction::Input) => b.node(Op::Input(id), width, source),
                (Some(_), Direction::Output) => {
                    let node = b.fresh_node(Op::Wire(POISON), width, None, source);
                    b.target(node, TargetKind::Output(id), name, source);
                    node
                }
            }
        })
    }
}

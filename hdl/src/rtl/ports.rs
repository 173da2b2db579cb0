//! Ports of a circuit, seen from inside (while it is built) or from outside (as a sub-circuit).

use super::assign::TargetKind;
use super::builder::{POISON, caller};
use super::circuit::Circuit;
use super::error::Problem;
use super::module::Module;
use super::netlist::{Direction, InstanceId, Op, Port, PortId, SourceLine};
use super::signal::Signal;

/// Most elements of a repeated port or group.
const MOST_ELEMENTS: usize = 4096;

/// A struct of ports and of groups of ports: what does not depend on the parameters. Derive it with [`Ports`].
pub trait Bundle<'m> {
    /// The same fields with handles in the place of signals: `I` of an input, `O` of an output.
    type Handles<I, O>;

    /// See [`Module::pass_through`].
    fn pass_through(&self, m: &Module<'m>, inner: &Self);
}

/// A struct of ports, or of groups of ports, of a circuit with parameters `P`. Derive it: `#[derive(Ports)]`.
pub trait Ports<'m, P>: Bundle<'m> + Sized {
    /// Declares the ports, in the order of the fields. Must not panic for any parameters, valid or not.
    fn bind(ports: &mut PortBinder<'m>, p: &P) -> Self;

    /// Looks the ports up in a circuit that was made with these parameters.
    ///
    /// # Errors
    /// The first port that is not there.
    fn resolve<L: PortLookup>(
        ports: &mut PortResolver<'_, L>,
        p: &P,
    ) -> Result<Self::Handles<L::In, L::Out>, L::Error>;
}

/// A group of ports and the group of the other side: each output here is an input there.
pub trait Connect<'m, Other> {
    /// See [`Module::connect`].
    fn connect(&self, m: &Module<'m>, other: &Other);
}

impl<'m, B: Bundle<'m>> Bundle<'m> for Vec<B> {
    type Handles<I, O> = Vec<B::Handles<I, O>>;

    #[track_caller]
    fn pass_through(&self, m: &Module<'m>, inner: &Vec<B>) {
        m.same_length(self.len(), inner.len());
        for (outer, inner) in self.iter().zip(inner) {
            outer.pass_through(m, inner);
        }
    }
}

impl<'m, Other, B: Connect<'m, Other>> Connect<'m, Vec<Other>> for Vec<B> {
    #[track_caller]
    fn connect(&self, m: &Module<'m>, other: &Vec<Other>) {
        m.same_length(self.len(), other.len());
        for (here, there) in self.iter().zip(other) {
            here.connect(m, there);
        }
    }
}

/// Finds the ports of a circuit by name.
pub trait PortLookup {
    /// Handle to an input.
    type In;
    /// Handle to an output.
    type Out;
    /// What is said of a port that is not there.
    type Error;

    /// The input of that name.
    ///
    /// # Errors
    /// There is none.
    fn input(&mut self, name: &str) -> Result<Self::In, Self::Error>;

    /// The output of that name.
    ///
    /// # Errors
    /// There is none.
    fn output(&mut self, name: &str) -> Result<Self::Out, Self::Error>;
}

/// The ports of a circuit as handles: `I` of an input, `O` of an output.
pub type HandlesOf<C, I, O> = <<C as Circuit>::Io<'static> as Bundle<'static>>::Handles<I, O>;

/// The ports of `circuit`, each looked up by name.
///
/// # Errors
/// The first port that is not there.
pub fn resolve_ports<C: Circuit, L: PortLookup>(
    circuit: &C,
    lookup: &mut L,
) -> Result<HandlesOf<C, L::In, L::Out>, L::Error> {
    <C::Io<'static> as Ports<C>>::resolve(&mut PortResolver { lookup, prefix: String::new() }, circuit)
}

/// Looks ports up one by one.
pub struct PortResolver<'l, L> {
    lookup: &'l mut L,
    prefix: String,
}

impl<L: PortLookup> PortResolver<'_, L> {
    /// An input.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn input(&mut self, name: &str) -> Result<L::In, L::Error> {
        self.lookup.input(&format!("{}{name}", self.prefix))
    }

    /// An output.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn output(&mut self, name: &str) -> Result<L::Out, L::Error> {
        self.lookup.output(&format!("{}{name}", self.prefix))
    }

    /// What `resolve` looks up, the names prefixed by `name_`.
    ///
    /// # Errors
    /// Those of `resolve`.
    pub fn group<G>(
        &mut self,
        name: &str,
        resolve: impl FnOnce(&mut Self) -> Result<G, L::Error>,
    ) -> Result<G, L::Error> {
        let length = self.prefix.len();
        self.prefix.push_str(name);
        self.prefix.push('_');
        let group = resolve(self);
        self.prefix.truncate(length);
        group
    }
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

    /// Says that `output` is meaningful only where `condition` is 1: of a circuit's own ports, nothing of a
    /// sub-circuit's.
    pub fn valid_when(&self, output: Signal<'m>, condition: Signal<'m>) {
        if let Side::Inside = self.side {
            output.valid_when(condition);
        }
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

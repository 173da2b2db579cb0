//! Ports by field: the struct of a circuit's ports with handles in the place of signals.

use warpfile_hdl::rtl::{Bundle, Circuit, HandlesOf, PortLookup, resolve_ports};

use crate::plan::Plan;
use crate::{EngineError, InPort, OutPort};

/// A struct of ports with handles: `PortsOf<IssueIo<'static>>` has an [`InPort`] or an [`OutPort`] where `IssueIo` has
/// an input or an output, and lists and groups as there.
pub type PortsOf<B> = <B as Bundle<'static>>::Handles<InPort, OutPort>;

/// The ports of a circuit.
pub type CircuitPorts<C> = HandlesOf<C, InPort, OutPort>;

/// The ports of `circuit` in a plan of it.
pub(crate) fn of<C: Circuit>(plan: &Plan, circuit: &C) -> Result<CircuitPorts<C>, EngineError> {
    resolve_ports(circuit, &mut Lookup(plan))
}

struct Lookup<'p>(&'p Plan);

impl PortLookup for Lookup<'_> {
    type In = InPort;
    type Out = OutPort;
    type Error = EngineError;

    fn input(&mut self, name: &str) -> Result<InPort, EngineError> {
        self.0.input(name)
    }

    fn output(&mut self, name: &str) -> Result<OutPort, EngineError> {
        self.0.output(name)
    }
}

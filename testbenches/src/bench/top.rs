//! The top of a benchmark.

use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::netlist::{Direction, Netlist, NodeId, Op};
use warpfile_hdl::rtl::{
    Circuit, Documented, ElaborationErrors, InstancePort, Module, Out, ParameterError, Ports, Signal,
    elaborate,
};

use super::drive::Activity;
use super::list::{Entry, list};
use super::signature::{Output, signature};
use super::stimulus::Stimulus;

/// Benchmark: a circuit between a generator of stimulus and a signature of its outputs.
///
/// Timing: the signature holds what the circuit did up to the cycle before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// Name of the circuit in the list.
    pub circuit: String,
    /// Entries of its tables, times those it has by default.
    pub size: usize,
    /// How busy its ports are.
    pub activity: Activity,
}

/// Ports of a [`Benchmark`].
#[derive(Ports)]
#[params(Benchmark)]
pub struct BenchmarkIo<'m> {
    /// Sum of all outputs so far.
    #[bits(64)]
    pub signature_o: Out<'m>,
}

impl Benchmark {
    /// Short name: `fifo busy`, `wide_table x4 tenth`.
    pub fn name(&self) -> String {
        match self.size {
            1 => format!("{} {}", self.circuit, self.activity),
            size => format!("{} x{size} {}", self.circuit, self.activity),
        }
    }

    /// The netlist of the whole: stimulus, circuit, signature.
    pub fn netlist(&self) -> Result<Netlist, ElaborationErrors> {
        elaborate(self)
    }

    /// What drives each input of the circuit, a line an input; see [the module](super).
    pub fn inputs(&self) -> Result<String, ParameterError> {
        let (entry, netlist) = self.circuit()?;
        Ok(self.stimulus(&entry, &netlist).to_string())
    }

    /// The entry of the list, and the netlist of the circuit alone.
    fn circuit(&self) -> Result<(Entry, Netlist), ParameterError> {
        let entries = list();
        let known: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
        let known = known.join(", ");
        let error = |parameter: &str, value: &str, allowed: String| ParameterError {
            circuit: Self::NAME.into(),
            parameter: parameter.into(),
            value: value.into(),
            allowed,
        };
        let entry = entries.into_iter().find(|entry| entry.name == self.circuit);
        let entry = entry.ok_or_else(|| error("circuit", &self.circuit, known))?;
        if !entry.sizes.contains(&self.size) {
            return Err(error("size", &self.size.to_string(), format!("{:?}", entry.sizes)));
        }
        match entry.elaborate(self.size) {
            Ok(netlist) => Ok((entry, netlist)),
            Err(errors) => Err(error("circuit", &self.circuit, format!("one that elaborates: {errors}"))),
        }
    }

    fn stimulus(&self, entry: &Entry, netlist: &Netlist) -> Stimulus {
        let module = &netlist.modules[netlist.top.index()];
        Stimulus::new(module, self.activity, |port| entry.drive(port))
    }
}

impl Circuit for Benchmark {
    type Io<'m> = BenchmarkIo<'m>;
    const NAME: &'static str = "benchmark";

    fn validate(&self) -> Result<(), ParameterError> {
        self.circuit().map(drop)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &BenchmarkIo<'m>) {
        // `validate` has reported the other case.
        let Ok((entry, netlist)) = self.circuit() else { return };
        let ports = m.instance_of(entry.name, &netlist);
        let inputs = self.stimulus(&entry, &netlist).build(m);
        let of_input = ports.iter().filter(|port| port.direction == Direction::Input);
        for (port, value) in of_input.zip(inputs) {
            port.signal.set(value);
        }
        io.signature_o.set(signature(m, &outputs(&netlist, &ports)));
    }
}

/// The outputs of a circuit whose ports are `ports`.
fn outputs<'m>(netlist: &Netlist, ports: &[InstancePort<'m>]) -> Vec<Output<'m>> {
    let module = &netlist.modules[netlist.top.index()];
    // A qualifier can be seen from outside where it is a port.
    let seen = |qualifier: NodeId| -> Option<Signal<'m>> {
        let position = module.ports.iter().position(|port| match module.nodes[qualifier.index()].op {
            Op::Input(input) => module.ports[input.index()].name == port.name,
            _ => port.driver == Some(qualifier),
        });
        position.map(|position| ports[position].signal)
    };
    let of_output = module.ports.iter().zip(ports).filter(|(port, _)| port.direction == Direction::Output);
    of_output
        .map(|(port, outside)| Output { value: outside.signal, valid_when: port.valid_when.and_then(seen) })
        .collect()
}

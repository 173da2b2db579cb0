//! The top of a benchmark.

use std::fmt::Display;

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
    /// What the top holds.
    pub part: Part,
}

/// What the top of a benchmark holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Stimulus, circuit and signature.
    Whole,
    /// Stimulus and signature only: in the place of the circuit each input is held for a cycle and is an output. What
    /// that costs is in the cost of the whole too.
    Surroundings,
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

    /// The netlist of the circuit alone.
    pub fn circuit_netlist(&self) -> Result<Netlist, ParameterError> {
        Ok(self.circuit()?.1)
    }

    /// What drives each input of the circuit, a line an input; see [the module](super).
    pub fn inputs(&self) -> Result<String, ParameterError> {
        let (entry, netlist) = self.circuit()?;
        Ok(self.stimulus(&entry, &netlist).to_string())
    }

    /// The entry of the list, and the netlist of the circuit alone.
    fn circuit(&self) -> Result<(Entry, Netlist), ParameterError> {
        let error = |parameter: &str, value: &dyn Display, allowed: String| ParameterError {
            circuit: Self::NAME.into(),
            parameter: parameter.into(),
            value: value.to_string(),
            allowed,
        };
        let (entries, others): (Vec<Entry>, Vec<Entry>) =
            list().into_iter().partition(|entry| entry.name == self.circuit);
        if entries.is_empty() {
            let mut known: Vec<&str> = others.iter().map(|entry| entry.name).collect();
            known.dedup();
            return Err(error("circuit", &self.circuit, known.join(", ")));
        }
        let sizes: Vec<String> = entries.iter().map(|entry| entry.size.to_string()).collect();
        let entry = entries.into_iter().find(|entry| entry.size == self.size);
        let entry = entry.ok_or_else(|| error("size", &self.size, sizes.join(", ")))?;
        match entry.elaborate() {
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
        let inputs = self.stimulus(&entry, &netlist).build(m);
        let outputs = match self.part {
            Part::Whole => {
                let ports = m.instance_of(entry.name, &netlist);
                let of_input = ports.iter().filter(|port| port.direction == Direction::Input);
                for (port, &value) in of_input.zip(&inputs) {
                    port.signal.set(value);
                }
                outputs(&netlist, &ports)
            }
            Part::Surroundings => {
                let hold = |(k, input): (usize, &Signal<'m>)| {
                    let held = m.register(format!("held{k}"), input.width()).no_reset();
                    held.set(*input);
                    Output { value: held, valid_when: None }
                };
                inputs.iter().enumerate().map(hold).collect()
            }
        };
        io.signature_o.set(signature(m, &outputs));
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

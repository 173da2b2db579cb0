//! A circuit beside its reference model, cycle by cycle, and beside its Verilog when asked.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use thiserror::Error;
use warpfile_engine::{Engine, EngineError, InPort, Interpreter, Options, OutPort, Violation};
use warpfile_gen::Style;
use warpfile_hdl::rtl::netlist::{Direction, Module, Netlist};

use warpfile_verify::ToolError;
use warpfile_verify::icarus::simulate;
use warpfile_verify::lockstep::{self, EngineOutput, Simulator, first_difference};
use warpfile_verify::testbench::{InitialState, Stimulus};

/// Values of ports by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    values: BTreeMap<String, BigUint>,
    /// Bits that have a value, of ports of which not all have.
    known: BTreeMap<String, BigUint>,
    /// Outputs whose qualifier has to hold.
    meaningful: BTreeSet<String>,
}

impl Pins {
    /// Gives a port its value.
    pub fn set(&mut self, port: &str, value: impl Into<BigUint>) {
        self.values.insert(port.to_string(), value.into());
        self.known.remove(port);
    }

    /// Gives a port its value in the bits that are 1 in `known`. The contract says nothing of the others, such
    /// as rows that have never been written.
    pub fn set_known(&mut self, port: &str, value: impl Into<BigUint>, known: impl Into<BigUint>) {
        let known = known.into();
        self.values.insert(port.to_string(), value.into() & &known);
        self.known.insert(port.to_string(), known);
    }

    /// Gives an output its value, and says that it has to be meaningful in this cycle.
    pub fn set_meaningful(&mut self, port: &str, value: impl Into<BigUint>) {
        self.set(port, value);
        self.must_be_meaningful(port);
    }

    /// Says that an output has to be meaningful in this cycle.
    pub fn must_be_meaningful(&mut self, port: &str) {
        self.meaningful.insert(port.to_string());
    }

    /// The value of a port, if it has one.
    pub fn get(&self, port: &str) -> Option<&BigUint> {
        self.values.get(port)
    }

    /// Those bits of `value` that are known of a port.
    fn known_bits(&self, port: &str, value: BigUint) -> BigUint {
        match self.known.get(port) {
            Some(known) => value & known,
            None => value,
        }
    }
}

/// A model of a circuit, written from the paper and not from the circuit.
pub trait Reference: Clone {
    /// What happens in one cycle.
    type Operation;

    /// The inputs of a cycle; those not set are 0.
    fn inputs(&self, operation: &Self::Operation, inputs: &mut Pins);

    /// The outputs of the cycle, by the state before it; then takes the state to the next cycle. Outputs
    /// whose qualifier does not hold may be left out.
    fn cycle(&mut self, operation: &Self::Operation, outputs: &mut Pins);
}

/// How a circuit is compared.
#[derive(Clone, Debug)]
pub struct Lockstep {
    /// Seeds of unreset state; the circuit runs once with each.
    pub seeds: Vec<u64>,
    /// Whether the exported Verilog runs as well, under Icarus.
    pub verilog: bool,
}

impl Default for Lockstep {
    /// Two seeds, no Verilog.
    fn default() -> Lockstep {
        Lockstep { seeds: vec![1, 0x9e37_79b9_7f4a_7c15], verilog: false }
    }
}

impl Lockstep {
    /// Two seeds, and the Verilog as well.
    pub fn with_verilog() -> Lockstep {
        Lockstep { verilog: true, ..Lockstep::default() }
    }

    /// Runs `operations` on the circuit and on the reference; every output whose qualifier holds must equal
    /// the reference's in every cycle, and every invariant must hold.
    pub fn run<R: Reference>(
        &self,
        netlist: &Netlist,
        reference: &R,
        operations: &[R::Operation],
    ) -> Result<(), Difference> {
        let module = &netlist.modules[netlist.top.index()];
        for &seed in &self.seeds {
            let mut model = reference.clone();
            let mut circuit = Circuit::new(netlist, seed)?;
            let state = || InitialState::of(netlist, Style::default(), &circuit.engine);
            let state = self.verilog.then(state).transpose()?;
            let mut trace = Trace::default();
            for (cycle, operation) in operations.iter().enumerate() {
                let (mut inputs, mut expected) = (Pins::default(), Pins::default());
                model.inputs(operation, &mut inputs);
                model.cycle(operation, &mut expected);
                known_ports(module, &inputs, Direction::Input)?;
                known_ports(module, &expected, Direction::Output)?;
                let stimulus = Stimulus { reset: false, inputs: in_order(module, &inputs) };
                circuit.step(&stimulus);
                if self.verilog {
                    trace.push(&circuit, stimulus);
                }
                circuit.compare(cycle, seed, &expected)?;
            }
            if let Some(state) = state {
                trace.compare_verilog(netlist, seed, &state)?;
            }
        }
        Ok(())
    }
}

/// Where a circuit is not what it should be.
#[derive(Debug, Error)]
pub enum Difference {
    /// An output is not the reference's.
    #[error("cycle {cycle}, seed {seed}: {output} is {found:#x}, the reference says {expected:#x}")]
    Reference {
        /// Cycle, from 0.
        cycle: usize,
        /// Seed of unreset state.
        seed: u64,
        /// The output.
        output: String,
        /// What the engine computed.
        found: BigUint,
        /// What the reference says.
        expected: BigUint,
    },
    /// The reference says nothing of an output that is meaningful.
    #[error("cycle {cycle}: {output} is meaningful and the reference does not say what it is")]
    Unsaid {
        /// Cycle, from 0.
        cycle: usize,
        /// The output.
        output: String,
    },
    /// The circuit says that an output means nothing in a cycle in which it has to.
    #[error("cycle {cycle}, seed {seed}: {output} means nothing and has to")]
    Meaningless {
        /// Cycle, from 0.
        cycle: usize,
        /// Seed of unreset state.
        seed: u64,
        /// The output.
        output: String,
    },
    /// A reference names a port that the circuit does not have.
    #[error("the circuit has no {direction} `{port}`; it has: {known}")]
    UnknownPort {
        /// `input` or `output`.
        direction: &'static str,
        /// The name.
        port: String,
        /// The ports there are.
        known: String,
    },
    /// An invariant does not hold.
    #[error("seed {seed}: {violation:?}")]
    Invariant {
        /// Seed of unreset state.
        seed: u64,
        /// Which, and when.
        violation: Violation,
    },
    /// The Verilog computes something else.
    #[error(transparent)]
    Verilog(#[from] lockstep::Difference),
    /// The engine does not run the circuit.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A Verilog tool does not do its work.
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// The engine with its ports, in the order of the module.
struct Circuit {
    engine: Interpreter,
    inputs: Vec<InPort>,
    outputs: Vec<(String, OutPort)>,
}

impl Circuit {
    fn new(netlist: &Netlist, seed: u64) -> Result<Circuit, EngineError> {
        let engine = Interpreter::new(netlist, &Options { seed, ..Options::checked() })?;
        let module = &netlist.modules[netlist.top.index()];
        let inputs =
            ports(module, Direction::Input).map(|name| engine.input(name)).collect::<Result<_, _>>()?;
        let outputs = ports(module, Direction::Output)
            .map(|name| engine.output(name).map(|port| (name.to_string(), port)))
            .collect::<Result<_, _>>()?;
        Ok(Circuit { engine, inputs, outputs })
    }

    fn step(&mut self, stimulus: &Stimulus) {
        self.engine.set_reset(stimulus.reset);
        for (&port, value) in self.inputs.iter().zip(&stimulus.inputs) {
            self.engine.set_big(port, value);
        }
        self.engine.step();
    }

    fn compare(&self, cycle: usize, seed: u64, expected: &Pins) -> Result<(), Difference> {
        let silent = |(output, port): &&(String, OutPort)| {
            expected.meaningful.contains(output) && !self.engine.is_meaningful(*port)
        };
        if let Some((output, _)) = self.outputs.iter().find(silent) {
            return Err(Difference::Meaningless { cycle, seed, output: output.clone() });
        }
        for (output, port) in self.outputs.iter().filter(|(_, port)| self.engine.is_meaningful(*port)) {
            let found = expected.known_bits(output, self.engine.get_big(*port));
            match expected.get(output) {
                Some(value) if *value == found => {}
                Some(value) => {
                    let (output, expected) = (output.clone(), value.clone());
                    return Err(Difference::Reference { cycle, seed, output, found, expected });
                }
                None => return Err(Difference::Unsaid { cycle, output: output.clone() }),
            }
        }
        match self.engine.violation() {
            Some(violation) => Err(Difference::Invariant { seed, violation }),
            None => Ok(()),
        }
    }
}

/// What the engine was given and what it computed.
#[derive(Default)]
struct Trace {
    cycles: Vec<Stimulus>,
    outputs: Vec<Vec<EngineOutput>>,
}

impl Trace {
    fn push(&mut self, circuit: &Circuit, stimulus: Stimulus) {
        let output = |(_, port): &(String, OutPort)| EngineOutput {
            value: circuit.engine.get_big(*port),
            is_meaningful: circuit.engine.is_meaningful(*port),
        };
        self.outputs.push(circuit.outputs.iter().map(output).collect());
        self.cycles.push(stimulus);
    }

    fn compare_verilog(&self, netlist: &Netlist, seed: u64, state: &InitialState) -> Result<(), Difference> {
        let simulated = simulate(netlist, state, &self.cycles)?;
        let difference =
            first_difference(netlist, &self.outputs, &simulated, |_| true, seed, Simulator::Icarus);
        difference.map_or(Ok(()), |difference| Err(difference.into()))
    }
}

fn ports(module: &Module, direction: Direction) -> impl Iterator<Item = &str> {
    module.ports.iter().filter(move |p| p.direction == direction).map(|p| p.name.as_str())
}

fn in_order(module: &Module, pins: &Pins) -> Vec<BigUint> {
    ports(module, Direction::Input).map(|name| pins.get(name).cloned().unwrap_or_default()).collect()
}

fn known_ports(module: &Module, pins: &Pins, direction: Direction) -> Result<(), Difference> {
    let known: Vec<&str> = ports(module, direction).collect();
    match pins.values.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(port) => Err(Difference::UnknownPort {
            direction: if direction == Direction::Input { "input" } else { "output" },
            port: port.clone(),
            known: known.join(", "),
        }),
    }
}

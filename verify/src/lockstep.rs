//! The engine and the exported Verilog of one circuit, side by side: every output in every cycle in which it means
//! something.
//!
//! Both start from the same state: what has no reset is filled from a seed in the engine and carried over. A run per
//! seed; nothing that means something may depend on it.

use std::path::{Path, PathBuf};

use num_bigint::BigUint;
use thiserror::Error;
use warpfile_engine::{Engine, EngineError, Interpreter, Options, Violation};
use warpfile_gen::{Files, Style};
use warpfile_hdl::rtl::netlist::{Direction, Netlist, Port};

use crate::stimulus::{self, StimulusError};
use crate::testbench::{InitialState, Outputs, Stimulus};
use crate::verilator::Simulation;
use crate::{ToolError, icarus, verilator};

/// Runs Verilog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulator {
    /// `verilator`.
    Verilator,
    /// `iverilog`.
    Icarus,
}

impl Simulator {
    /// Both.
    pub const ALL: [Simulator; 2] = [Simulator::Verilator, Simulator::Icarus];

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Simulator::Verilator => "Verilator",
            Simulator::Icarus => "Icarus",
        }
    }
}

/// The two sides.
pub struct Sides<'a> {
    /// The circuit, which the engine runs.
    pub netlist: &'a Netlist,
    /// Its Verilog, of `style`.
    pub files: &'a Files,
    /// How the Verilog is written.
    pub style: Style,
    /// What Verilator builds is kept here, if it is given.
    pub cache: Option<PathBuf>,
}

/// Outputs of both sides in every cycle.
pub struct Comparison<'a> {
    /// The circuit.
    pub netlist: &'a Netlist,
    /// Inputs of every cycle.
    pub cycles: &'a [Stimulus],
    /// What state without a reset started from.
    pub seed: u64,
    /// What ran the Verilog.
    pub simulator: Simulator,
    /// Outputs of the engine.
    pub engine: Vec<Vec<EngineOutput>>,
    /// Outputs of the Verilog.
    pub verilog: Outputs,
    /// Where they first differ.
    pub difference: Option<Difference>,
    /// The first invariant or assumption that does not hold in the engine.
    pub violation: Option<Violation>,
}

/// An output in one cycle.
#[derive(Clone, Debug)]
pub struct EngineOutput {
    /// Its value.
    pub value: BigUint,
    /// Whether its qualifier holds.
    pub is_meaningful: bool,
}

/// The first output that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cycle {cycle}: {output} is {engine:#x} in the engine, {} in {} (seed {seed})", hex(.verilog), .simulator.name())]
pub struct Difference {
    /// Cycle, from 0.
    pub cycle: usize,
    /// The output.
    pub output: String,
    /// Its value in the engine.
    pub engine: BigUint,
    /// Its value in the Verilog; `None` if it has unknown bits.
    pub verilog: Option<BigUint>,
    /// What state without a reset started from.
    pub seed: u64,
    /// What ran the Verilog.
    pub simulator: Simulator,
}

fn hex(value: &Option<BigUint>) -> String {
    value.as_ref().map_or("unknown".into(), |value| format!("{value:#x}"))
}

/// Why two sides could not be compared.
#[derive(Debug, Error)]
pub enum LockstepError {
    /// A Verilog tool does not do its work.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The engine does not run the circuit.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There are no inputs.
    #[error(transparent)]
    Stimulus(#[from] StimulusError),
}

impl<'a> Sides<'a> {
    /// Runs both sides under the same inputs from the same state.
    pub fn compare(
        &self,
        cycles: &'a [Stimulus],
        seed: u64,
        simulator: Simulator,
    ) -> Result<Comparison<'a>, LockstepError> {
        let netlist = self.netlist;
        let mut engine = Interpreter::new(netlist, &Options { seed, ..Options::checked() })?;
        let state = InitialState::of(netlist, self.style, &engine)?;
        let ours = engine_outputs(netlist, &mut engine, cycles)?;
        let verilog = match simulator {
            Simulator::Icarus => icarus::simulate_files(netlist, self.files, &state, cycles)?,
            Simulator::Verilator => {
                let simulation = Simulation { netlist, state: &state, cycles };
                verilator::simulate_files(&simulation, self.files, self.cache.as_deref())?
            }
        };
        let violation = engine.violation();
        Ok(Comparison { violation, ..Comparison::new(netlist, cycles, seed, simulator, ours, verilog) })
    }
}

impl<'a> Comparison<'a> {
    fn new(
        netlist: &'a Netlist,
        cycles: &'a [Stimulus],
        seed: u64,
        simulator: Simulator,
        engine: Vec<Vec<EngineOutput>>,
        verilog: Outputs,
    ) -> Comparison<'a> {
        let is_meaningful = |output: &EngineOutput| output.is_meaningful;
        let difference = first_difference(netlist, &engine, &verilog, is_meaningful, seed, simulator);
        Comparison { netlist, cycles, seed, simulator, engine, verilog, difference, violation: None }
    }
}

/// The first output that a simulator made otherwise of the Verilog than an engine, both from the state of `seed`, of those
/// that `is_compared` chooses.
pub fn first_difference(
    netlist: &Netlist,
    engine: &[Vec<EngineOutput>],
    verilog: &Outputs,
    is_compared: impl Fn(&EngineOutput) -> bool,
    seed: u64,
    simulator: Simulator,
) -> Option<Difference> {
    engine.iter().zip(verilog).enumerate().find_map(|(cycle, (ours, theirs))| {
        let mut outputs = output_ports(netlist).zip(ours).zip(theirs);
        outputs.find_map(|((port, ours), theirs)| {
            let (output, engine, verilog) = (port.name.clone(), ours.value.clone(), theirs.clone());
            let differ = is_compared(ours) && verilog.as_ref() != Some(&engine);
            differ.then_some(Difference { cycle, output, engine, verilog, seed, simulator })
        })
    })
}

/// Outputs of a circuit in order.
pub(crate) fn output_ports(netlist: &Netlist) -> impl Iterator<Item = &Port> {
    netlist.top().ports.iter().filter(|port| port.direction == Direction::Output)
}

/// Inputs of a circuit in order.
pub(crate) fn input_ports(netlist: &Netlist) -> impl Iterator<Item = &Port> {
    netlist.top().ports.iter().filter(|port| port.direction == Direction::Input)
}

/// Runs an engine; its outputs in every cycle.
pub fn engine_outputs<E: Engine>(
    netlist: &Netlist,
    engine: &mut E,
    cycles: &[Stimulus],
) -> Result<Vec<Vec<EngineOutput>>, EngineError> {
    let inputs = input_ports(netlist).map(|port| engine.input(&port.name));
    let inputs: Vec<_> = inputs.collect::<Result<_, _>>()?;
    let outputs = output_ports(netlist).map(|port| engine.output(&port.name));
    let outputs: Vec<_> = outputs.collect::<Result<_, _>>()?;
    let mut run = |cycle: &Stimulus| {
        engine.set_reset(cycle.reset);
        inputs.iter().zip(&cycle.inputs).for_each(|(&port, value)| engine.set_big(port, value));
        engine.step();
        let output =
            |&port| EngineOutput { value: engine.get_big(port), is_meaningful: engine.is_meaningful(port) };
        outputs.iter().map(output).collect()
    };
    Ok(cycles.iter().map(&mut run).collect())
}

/// Seeds that [`assert_lockstep`] starts from.
const SEEDS: [u64; 2] = [1, 0x9e37_79b9_7f4a_7c15];
/// Cycles that [`assert_lockstep`] runs from each.
const CYCLES: usize = 200;

/// Panics with the first difference between a circuit in the engine and its Verilog, in Verilator (style `words`) and in
/// Icarus (style `lanes`), under random inputs that keep its assumptions: the one line that a circuit's test needs.
/// Invariants are not looked at: that is for the circuit's own testbench and for proofs.
///
/// ```no_run
/// # use warpfile_hdl::{parts::Fifo, rtl::elaborate};
/// warpfile_verify::lockstep::assert_lockstep(&elaborate(&Fifo { depth: 5, width: 3 }).unwrap(), None);
/// ```
///
/// What Verilator builds is kept in `cache`, if it is given.
pub fn assert_lockstep(netlist: &Netlist, cache: Option<&Path>) {
    assert_lockstep_of_all(std::slice::from_ref(netlist), cache);
}

/// As [`assert_lockstep`], for many circuits with one build of Verilator.
pub fn assert_lockstep_of_all(netlists: &[Netlist], cache: Option<&Path>) {
    for seed in SEEDS {
        let prepared: Vec<(Vec<Stimulus>, Side)> = netlists
            .iter()
            .map(|netlist| {
                prepare(netlist, seed).unwrap_or_else(|error| panic!("{}: {error}", name(netlist)))
            })
            .collect();
        let simulations: Vec<Simulation<'_>> = (netlists.iter().zip(&prepared))
            .map(|(netlist, (cycles, side))| Simulation { netlist, state: &side.state, cycles })
            .collect();
        let verilated =
            verilator::simulate_all(&simulations, cache).unwrap_or_else(|error| panic!("{error}"));
        for ((netlist, (cycles, side)), verilated) in netlists.iter().zip(prepared).zip(verilated) {
            let compared = |simulator, verilog| {
                let outputs = side.outputs.clone();
                Comparison::new(netlist, &cycles, seed, simulator, outputs, verilog).difference
            };
            let interpreted = icarus(netlist, seed, &cycles).unwrap_or_else(|error| panic!("{error}"));
            for (simulator, verilog) in [(Simulator::Verilator, verilated), (Simulator::Icarus, interpreted)]
            {
                if let Some(difference) = compared(simulator, verilog) {
                    panic!("{}: {difference}", name(netlist));
                }
            }
        }
    }
}

/// What the engine makes of a circuit, and where it started.
struct Side {
    state: InitialState,
    outputs: Vec<Vec<EngineOutput>>,
}

fn name(netlist: &Netlist) -> &str {
    &netlist.top().name
}

/// Random inputs, and the engine's side of them; Verilator runs the style that is made for it.
fn prepare(netlist: &Netlist, seed: u64) -> Result<(Vec<Stimulus>, Side), LockstepError> {
    let cycles = stimulus::random(netlist, CYCLES, seed)?;
    let mut engine = Interpreter::new(netlist, &Options { seed, ..Options::checked() })?;
    let state = InitialState::of(netlist, Style::Words, &engine)?;
    let outputs = engine_outputs(netlist, &mut engine, &cycles)?;
    Ok((cycles, Side { state, outputs }))
}

/// What Icarus makes of the other style.
fn icarus(netlist: &Netlist, seed: u64, cycles: &[Stimulus]) -> Result<Outputs, LockstepError> {
    let engine = Interpreter::new(netlist, &Options { seed, ..Options::checked() })?;
    let state = InitialState::of(netlist, Style::Lanes, &engine)?;
    Ok(icarus::simulate(netlist, &state, cycles)?)
}

//! Both engines beside what other simulators make of the exported Verilog, from the same state with the same
//! inputs.

use warpfile_engine::{Compiled, Engine, EngineError, Interpreter, Options, OutPort};
use warpfile_gen::Style;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};

use warpfile_verify::ToolError;
use warpfile_verify::icarus;
use warpfile_verify::testbench::{InitialState, Outputs, Stimulus};
use warpfile_verify::verilator::{Simulation, simulate_all};

use crate::lockstep::Difference;

/// A circuit with what both engines make of it.
pub struct Witnessed<'a> {
    netlist: &'a Netlist,
    cycles: &'a [Stimulus],
    seed: u64,
    state: InitialState,
    interpreted: Outputs,
    compiled: Outputs,
}

/// Runs both engines, and the Verilog in a style under Icarus; every output must be the same in every cycle, the
/// compiled engine's where its qualifier holds.
pub fn verilog_equals_engines(
    netlist: &Netlist,
    style: Style,
    seed: u64,
    cycles: &[Stimulus],
) -> Result<(), Difference> {
    let witnessed = Witnessed::new(netlist, style, seed, cycles)?;
    let simulated = icarus::simulate(netlist, &witnessed.state, cycles)?;
    witnessed.compare(&simulated)
}

/// What Verilator makes of circuits, all in one build.
pub fn simulate_with_verilator(circuits: &[Witnessed]) -> Result<Vec<Outputs>, ToolError> {
    let simulations: Vec<Simulation> = circuits
        .iter()
        .map(|Witnessed { netlist, state, cycles, .. }| Simulation { netlist, state, cycles })
        .collect();
    simulate_all(&simulations, None)
}

impl<'a> Witnessed<'a> {
    /// Runs both engines: the interpreter with everything observed and checked, the compiled engine as in
    /// production. The Verilog will be in `style`.
    pub fn new(
        netlist: &'a Netlist,
        style: Style,
        seed: u64,
        cycles: &'a [Stimulus],
    ) -> Result<Witnessed<'a>, EngineError> {
        let mut interpreter = Interpreter::new(netlist, &Options { seed, ..Options::checked() })?;
        let mut compiled = Compiled::new(netlist, &Options { seed, ..Options::default() })?;
        let state = InitialState::of(netlist, style, &interpreter)?;
        let interpreted = outputs(netlist, &mut interpreter, cycles, |_, _| true)?;
        let compiled = outputs(netlist, &mut compiled, cycles, |engine, port| engine.is_meaningful(port))?;
        Ok(Witnessed { netlist, cycles, seed, state, interpreted, compiled })
    }

    /// Compares the engines with what a simulator made of the Verilog.
    pub fn compare(&self, simulated: &Outputs) -> Result<(), Difference> {
        for engine in [&self.interpreted, &self.compiled] {
            for (cycle, (ours, theirs)) in engine.iter().zip(simulated).enumerate() {
                for ((output, ours), theirs) in output_names(self.netlist).zip(ours).zip(theirs) {
                    let Some(engine) = ours.clone().filter(|_| ours != theirs) else { continue };
                    let (seed, output, verilog) = (self.seed, output.to_owned(), theirs.clone());
                    return Err(Difference::Verilog { cycle, seed, output, engine, verilog });
                }
            }
        }
        Ok(())
    }
}

fn output_names(netlist: &Netlist) -> impl Iterator<Item = &str> {
    let ports = netlist.modules[netlist.top.index()].ports.iter();
    ports.filter(|port| port.direction == Direction::Output).map(|port| port.name.as_str())
}

/// The outputs of an engine in every cycle, `None` for those not asked for.
fn outputs<E: Engine>(
    netlist: &Netlist,
    engine: &mut E,
    cycles: &[Stimulus],
    asked_for: impl Fn(&E, OutPort) -> bool,
) -> Result<Outputs, EngineError> {
    let inputs = netlist.modules[netlist.top.index()].ports.iter();
    let inputs = inputs.filter(|port| port.direction == Direction::Input);
    let inputs: Vec<_> = inputs.map(|port| engine.input(&port.name)).collect::<Result<_, _>>()?;
    let shown: Vec<_> = output_names(netlist).map(|name| engine.output(name)).collect::<Result<_, _>>()?;
    let mut run = |cycle: &Stimulus| {
        engine.set_reset(cycle.reset);
        for (port, value) in inputs.iter().zip(&cycle.inputs) {
            engine.set_big(*port, value);
        }
        engine.step();
        shown.iter().map(|&port| asked_for(engine, port).then(|| engine.get_big(port))).collect()
    };
    Ok(cycles.iter().map(&mut run).collect())
}

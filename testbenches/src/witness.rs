//! Both engines beside what other simulators make of the exported Verilog, from the same state with the same
//! inputs.

use warpfile_engine::{Compiled, EngineError, Interpreter, Options};
use warpfile_gen::Style;
use warpfile_hdl::rtl::netlist::Netlist;

use warpfile_verify::ToolError;
use warpfile_verify::icarus;
use warpfile_verify::lockstep::{EngineOutput, Simulator, engine_outputs, first_difference};
use warpfile_verify::testbench::{InitialState, Outputs, Stimulus};
use warpfile_verify::verilator::{Simulation, simulate_all};

use crate::lockstep::Difference;

/// A circuit with what both engines make of it.
pub struct Witnessed<'a> {
    netlist: &'a Netlist,
    cycles: &'a [Stimulus],
    seed: u64,
    state: InitialState,
    interpreted: Vec<Vec<EngineOutput>>,
    compiled: Vec<Vec<EngineOutput>>,
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
    witnessed.compare(&simulated, Simulator::Icarus)
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
        let interpreted = engine_outputs(netlist, &mut interpreter, cycles)?;
        let compiled = engine_outputs(netlist, &mut compiled, cycles)?;
        Ok(Witnessed { netlist, cycles, seed, state, interpreted, compiled })
    }

    /// Compares the engines with what a simulator made of the Verilog.
    pub fn compare(&self, simulated: &Outputs, simulator: Simulator) -> Result<(), Difference> {
        let first = |engine, is_compared: fn(&EngineOutput) -> bool| {
            first_difference(self.netlist, engine, simulated, is_compared, self.seed, simulator)
        };
        let difference = first(&self.interpreted, |_| true)
            .or_else(|| first(&self.compiled, |output| output.is_meaningful));
        difference.map_or(Ok(()), |difference| Err(difference.into()))
    }
}

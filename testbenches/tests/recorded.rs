//! What a bench that answers its circuit gave it, to be given to the exported Verilog as well.

use num_bigint::BigUint;
use warpfile_engine::{Engine, OutPort};
use warpfile_gen::Style;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_testbenches::testbench::Stimulus;
use warpfile_testbenches::witness::verilog_equals_engines;

/// The inputs of a circuit, cycle by cycle.
pub struct Recorded {
    inputs: Vec<OutPort>,
    cycles: Vec<Stimulus>,
}

impl Recorded {
    /// Nothing yet of an engine that runs `netlist`.
    pub fn new(engine: &impl Engine, netlist: &Netlist) -> Recorded {
        let ports = netlist.modules[netlist.top.index()].ports.iter();
        let inputs = ports.filter(|port| port.direction == Direction::Input);
        let inputs = inputs.map(|port| engine.probe(&port.name).unwrap()).collect();
        Recorded { inputs, cycles: Vec::new() }
    }

    /// Takes the inputs of the cycle that `engine` has just run.
    pub fn take(&mut self, engine: &impl Engine) {
        let inputs: Vec<BigUint> = self.inputs.iter().map(|input| engine.get_big(*input)).collect();
        self.cycles.push(Stimulus { reset: false, inputs });
    }

    /// Both engines, and Icarus on the Verilog in every style, give the same outputs in every cycle.
    pub fn replay_on_verilog(&self, netlist: &Netlist, seed: u64) {
        for style in Style::ALL {
            verilog_equals_engines(netlist, style, seed, &self.cycles)
                .unwrap_or_else(|difference| panic!("{}: {difference}", style.name()));
        }
    }
}

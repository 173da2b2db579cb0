//! The Verilog around an exported circuit that starts it in a given state, drives it and prints its outputs.

use std::fmt::Write as _;

use num_bigint::BigUint;
use warpfile_engine::{Engine, EngineError};
use warpfile_gen::{StateElement, StateSource, Style, is_sequential, state_elements};
use warpfile_hdl::rtl::netlist::{Direction, Module, Netlist};

/// What drives the circuit in one cycle.
#[derive(Clone, Debug)]
pub struct Stimulus {
    /// Whether the cycle is under reset.
    pub reset: bool,
    /// Inputs in the order of the ports.
    pub inputs: Vec<BigUint>,
}

/// Initial values of a circuit's state, by name in its Verilog of a style.
#[derive(Clone, Debug)]
pub struct InitialState {
    pub(crate) style: Style,
    values: Vec<(StateElement, BigUint)>,
}

impl InitialState {
    /// The state of an engine that has not run yet.
    pub fn of(netlist: &Netlist, style: Style, engine: &dyn Engine) -> Result<InitialState, EngineError> {
        let mut values = Vec::new();
        for element in state_elements(netlist, style) {
            let value = match &element.source {
                StateSource::Signal(path) => engine.peek(path)?,
                StateSource::Row { table, row, field, low } => {
                    let whole = engine.peek_row(table, *row, field)? >> *low;
                    whole & ((BigUint::from(1u32) << element.width) - 1u32)
                }
            };
            values.push((element, value));
        }
        Ok(InitialState { style, values })
    }
}

/// Outputs of every cycle in the order of the ports; `None` where a value has unknown bits.
pub type Outputs = Vec<Vec<Option<BigUint>>>;

/// A module named `name` that runs `netlist` and prints a line a cycle, which begins with its name.
pub(crate) struct Testbench<'a> {
    pub(crate) name: &'a str,
    pub(crate) netlist: &'a Netlist,
    pub(crate) state: &'a InitialState,
    pub(crate) cycles: &'a [Stimulus],
}

impl Testbench<'_> {
    fn top(&self) -> &Module {
        &self.netlist.modules[self.netlist.top.index()]
    }

    /// The file of stimuli that the testbench reads.
    pub(crate) fn stimulus_file(&self) -> String {
        format!("{}.hex", self.name)
    }

    /// One line a cycle: reset in the highest bit, then the inputs, the first one highest.
    pub(crate) fn stimulus(&self) -> String {
        let mut text = String::new();
        for cycle in self.cycles {
            let mut line = BigUint::from(u32::from(cycle.reset));
            for (value, width) in cycle.inputs.iter().zip(input_widths(self.top())) {
                line = (line << width) | value;
            }
            let _ = writeln!(text, "{line:x}");
        }
        text
    }

    /// The module.
    pub(crate) fn verilog(&self) -> String {
        let (module, cycles, name) = (self.top(), self.cycles.len(), self.name);
        let mut text = format!("module {name};\n    reg clk;\n    reg rst;\n    integer cycle;\n");
        for port in &module.ports {
            let kind = if port.direction == Direction::Input { "reg" } else { "wire" };
            let _ = writeln!(text, "    {kind} [{}:0] {};", port.width - 1, port.name);
        }
        let input_bits: u32 = input_widths(module).sum();
        let _ = writeln!(text, "    reg [{input_bits}:0] stimulus [0:{}];", cycles.max(1) - 1);
        let clock = if is_sequential(self.netlist) { &[".clk_i(clk)", ".rst_i(rst)"][..] } else { &[] };
        let pins = clock.iter().map(|s| s.to_string());
        let pins: Vec<String> =
            pins.chain(module.ports.iter().map(|p| format!(".{0}({0})", p.name))).collect();
        let _ = writeln!(text, "    {} dut ({});", module.name, pins.join(", "));
        let file = self.stimulus_file();
        let _ =
            writeln!(text, "    initial begin\n        clk = 0;\n        $readmemh(\"{file}\", stimulus);");
        for (element, value) in &self.state.values {
            let _ = writeln!(text, "        dut.{} = {}'h{value:x};", element.verilog, element.width);
        }
        let driven: Vec<&str> = ["rst"].into_iter().chain(ports(module, Direction::Input)).collect();
        let shown: Vec<&str> = ports(module, Direction::Output).collect();
        let format = vec!["%h"; shown.len()].join(" ");
        let _ = write!(
            text,
            "        for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
            {{{}}} = stimulus[cycle];
            #1 $display(\"{name} {format}\", {});
            clk = 1;
            #1 clk = 0;
        end
    end
endmodule
",
            driven.join(", "),
            shown.join(", "),
        );
        text
    }

    /// What it printed, found in the output of the simulation; `None` if a cycle is missing.
    pub(crate) fn outputs(&self, printed: &str) -> Option<Outputs> {
        let prefix = format!("{} ", self.name);
        let lines: Outputs =
            printed.lines().filter_map(|line| line.strip_prefix(&prefix)).map(values).collect();
        (lines.len() == self.cycles.len()).then_some(lines)
    }
}

fn values(line: &str) -> Vec<Option<BigUint>> {
    line.split_whitespace().map(|digits| BigUint::parse_bytes(digits.as_bytes(), 16)).collect()
}

fn ports(module: &Module, direction: Direction) -> impl Iterator<Item = &str> {
    module.ports.iter().filter(move |p| p.direction == direction).map(|p| p.name.as_str())
}

fn input_widths(module: &Module) -> impl Iterator<Item = u32> {
    module.ports.iter().filter(|p| p.direction == Direction::Input).map(|p| p.width)
}

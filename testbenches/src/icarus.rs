//! Simulates an exported circuit with Icarus, from a given state and with given inputs.

use std::fmt::Write as _;
use std::fs;

use num_bigint::BigUint;
use warpfile_engine::{Engine, EngineError};
use warpfile_gen::{StateElement, StateSource, emit, is_sequential, state_elements, write};
use warpfile_hdl::rtl::netlist::{Direction, Module, Netlist};

use crate::ToolError;
use crate::tools::{printed, run, scratch};

/// What drives the circuit in one cycle.
#[derive(Clone, Debug)]
pub struct Stimulus {
    /// Whether the cycle is under reset.
    pub reset: bool,
    /// Inputs in the order of the ports.
    pub inputs: Vec<BigUint>,
}

/// Initial values of a circuit's state, by name in its Verilog.
#[derive(Clone, Debug)]
pub struct InitialState(Vec<(StateElement, BigUint)>);

impl InitialState {
    /// The state of an engine that has not run yet.
    pub fn of(netlist: &Netlist, engine: &dyn Engine) -> Result<InitialState, EngineError> {
        let mut values = Vec::new();
        for element in state_elements(netlist) {
            let value = match &element.source {
                StateSource::Signal(path) => engine.peek(path)?,
                StateSource::Row { table, row, field, low } => {
                    let whole = engine.peek_row(table, *row, field)? >> *low;
                    whole & ((BigUint::from(1u32) << element.width) - 1u32)
                }
            };
            values.push((element, value));
        }
        Ok(InitialState(values))
    }
}

/// The outputs of every cycle, in the order of the ports; bits that Icarus calls unknown make a value `None`.
pub fn simulate(
    netlist: &Netlist,
    state: &InitialState,
    cycles: &[Stimulus],
) -> Result<Vec<Vec<Option<BigUint>>>, ToolError> {
    let files = emit(netlist);
    let folder = scratch()?;
    write(&files, folder.path())?;
    let module = &netlist.modules[netlist.top.index()];
    for (name, text) in [
        ("testbench.v", testbench(module, is_sequential(netlist), state, cycles.len())),
        ("stimulus.hex", stimulus(module, cycles)),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).map_err(|source| ToolError::File { path, source })?;
    }
    let compile = ["-g2005", "-o", "testbench.vvp", "-s", "testbench", "testbench.v", "-c", &files.list.name];
    let compiled = run("iverilog", "iverilog", &compile, folder.path())?;
    let ran = if compiled.status.success() {
        run("vvp", "iverilog", &["-n", "testbench.vvp"], folder.path())?
    } else {
        compiled
    };
    let text = printed(&ran);
    let lines: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("outputs ")).map(outputs).collect();
    if !ran.status.success() || lines.len() != cycles.len() {
        return Err(ToolError::Failed { tool: "iverilog".into(), circuit: files.top, output: text });
    }
    Ok(lines)
}

fn outputs(line: &str) -> Vec<Option<BigUint>> {
    line.split_whitespace().map(|digits| BigUint::parse_bytes(digits.as_bytes(), 16)).collect()
}

fn ports(module: &Module, direction: Direction) -> impl Iterator<Item = &str> {
    module.ports.iter().filter(move |p| p.direction == direction).map(|p| p.name.as_str())
}

fn input_bits(module: &Module) -> u32 {
    module.ports.iter().filter(|p| p.direction == Direction::Input).map(|p| p.width).sum()
}

/// One line a cycle: reset in the highest bit, then the inputs, the first one highest.
fn stimulus(module: &Module, cycles: &[Stimulus]) -> String {
    let widths: Vec<u32> =
        module.ports.iter().filter(|p| p.direction == Direction::Input).map(|p| p.width).collect();
    let mut text = String::new();
    for cycle in cycles {
        let mut line = BigUint::from(u32::from(cycle.reset));
        for (value, width) in cycle.inputs.iter().zip(&widths) {
            line = (line << *width) | value;
        }
        let _ = writeln!(text, "{line:x}");
    }
    text
}

fn testbench(module: &Module, sequential: bool, state: &InitialState, cycles: usize) -> String {
    let mut text = String::from("module testbench;\n    reg clk;\n    reg rst;\n    integer cycle;\n");
    for port in &module.ports {
        let kind = if port.direction == Direction::Input { "reg" } else { "wire" };
        let _ = writeln!(text, "    {kind} [{}:0] {};", port.width - 1, port.name);
    }
    let _ = writeln!(text, "    reg [{}:0] stimulus [0:{}];", input_bits(module), cycles.max(1) - 1);
    let clock = if sequential { &[".clk_i(clk)", ".rst_i(rst)"][..] } else { &[] };
    let pins = clock.iter().map(|s| s.to_string());
    let pins: Vec<String> = pins.chain(module.ports.iter().map(|p| format!(".{0}({0})", p.name))).collect();
    let _ = writeln!(text, "    {} dut ({});", module.name, pins.join(", "));
    text.push_str("    initial begin\n        clk = 0;\n        $readmemh(\"stimulus.hex\", stimulus);\n");
    for (element, value) in &state.0 {
        let _ = writeln!(text, "        dut.{} = {}'h{value:x};", element.verilog, element.width);
    }
    let driven: Vec<&str> = ["rst"].into_iter().chain(ports(module, Direction::Input)).collect();
    let shown: Vec<&str> = ports(module, Direction::Output).collect();
    let format = vec!["%h"; shown.len()].join(" ");
    let _ = write!(
        text,
        "        for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
            {{{}}} = stimulus[cycle];
            #1 $display(\"outputs {format}\", {});
            clk = 1;
            #1 clk = 0;
        end
        $finish(0);
    end
endmodule
",
        driven.join(", "),
        shown.join(", "),
    );
    text
}

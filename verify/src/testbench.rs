//! The Verilog around an exported circuit that starts it in a given state, drives it and prints its outputs.
//!
//! State, inputs and the number of cycles are files that it reads, so that its text, and what is built of it, depend on
//! the circuit only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use num_bigint::BigUint;
use warpfile_engine::{Engine, EngineError};
use warpfile_gen::{StateElement, StateSource, Style, is_sequential, state_elements};
use warpfile_hdl::rtl::netlist::{Direction, Module, Netlist};

use crate::tools::{ToolError, write_file};

/// Fewest cycles that a testbench has room for: short runs share one build.
const LEAST_CYCLES: usize = 256;

/// What drives the circuit in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// State elements of one width that are one array in the Verilog, in the order of their rows, or a single one.
struct Group<'a> {
    /// Name of the array without its index, or of the single element.
    name: &'a str,
    width: u32,
    /// First row, and the values of it and the following; no row for a single element.
    first_row: Option<u32>,
    values: Vec<&'a BigUint>,
}

impl Testbench<'_> {
    fn top(&self) -> &Module {
        self.netlist.top()
    }

    /// Writes the files that the testbench reads: stimuli, their number, initial state.
    pub(crate) fn write_inputs(&self, folder: &Path) -> Result<(), ToolError> {
        write_file(folder, &self.file("stimulus"), &self.stimulus())?;
        write_file(folder, &self.file("cycles"), &format!("{:x}\n", self.cycles.len()))?;
        for (width, values) in self.state_by_width() {
            let lines: String = values.iter().map(|value| format!("{value:x}\n")).collect();
            write_file(folder, &self.file(&format!("state{width}")), &lines)?;
        }
        Ok(())
    }

    fn file(&self, what: &str) -> String {
        format!("{}_{what}.hex", self.name)
    }

    /// One line a cycle: reset in the highest bit, then the inputs, the first one highest.
    fn stimulus(&self) -> String {
        let widths: Vec<u32> = input_widths(self.top()).collect();
        let mut text = String::new();
        for cycle in self.cycles {
            let mut line = BigUint::from(u32::from(cycle.reset));
            for (value, width) in cycle.inputs.iter().zip(&widths) {
                line = (line << *width) | value;
            }
            let _ = writeln!(text, "{line:x}");
        }
        text
    }

    /// Elements that are rows of one array are one group.
    fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        // Lanes of a row alternate: the group of an array is found by its name.
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (element, value) in &self.state.values {
            let row = match &element.source {
                StateSource::Row { row, .. } => Some(*row),
                StateSource::Signal(_) => None,
            };
            let indexed = row.map(|row| format!("[{row}]"));
            let name = indexed.and_then(|index| element.verilog.strip_suffix(&index));
            let group = name.and_then(|name| known.get(name).copied());
            match (group, name) {
                (Some(group), _) => groups[group].values.push(value),
                (None, Some(name)) => {
                    known.insert(name, groups.len());
                    groups.push(Group { name, width: element.width, first_row: row, values: vec![value] });
                }
                (None, None) => {
                    let (name, width) = (element.verilog.as_str(), element.width);
                    groups.push(Group { name, width, first_row: None, values: vec![value] });
                }
            }
        }
        groups
    }

    /// Values of all groups of a width, one after the other.
    fn state_by_width(&self) -> BTreeMap<u32, Vec<&BigUint>> {
        let mut by_width: BTreeMap<u32, Vec<&BigUint>> = BTreeMap::new();
        for group in self.groups() {
            by_width.entry(group.width).or_default().extend(group.values);
        }
        by_width
    }

    /// The module.
    pub(crate) fn verilog(&self) -> String {
        let (module, name) = (self.top(), self.name);
        let room = self.cycles.len().max(LEAST_CYCLES).next_power_of_two();
        let mut text =
            format!("module {name};\n    reg clk;\n    reg rst;\n    integer cycle;\n    integer row;\n");
        for port in &module.ports {
            let kind = if port.direction == Direction::Input { "reg" } else { "wire" };
            let _ = writeln!(text, "    {kind} [{}:0] {};", port.width - 1, port.name);
        }
        let input_bits: u32 = input_widths(module).sum();
        let _ = writeln!(text, "    reg [{input_bits}:0] stimulus [0:{}];", room - 1);
        let _ = writeln!(text, "    reg [31:0] cycles [0:0];");
        for (width, values) in self.state_by_width() {
            let _ = writeln!(text, "    reg [{}:0] state{width} [0:{}];", width - 1, values.len() - 1);
        }
        let clock = if is_sequential(self.netlist) { &[".clk_i(clk)", ".rst_i(rst)"][..] } else { &[] };
        let pins = clock.iter().map(|s| s.to_string());
        let pins: Vec<String> =
            pins.chain(module.ports.iter().map(|p| format!(".{0}({0})", p.name))).collect();
        let _ = writeln!(text, "    {} dut ({});", module.name, pins.join(", "));
        text += "    initial begin\n        clk = 0;\n";
        let _ = writeln!(text, "        $readmemh(\"{}\", cycles);", self.file("cycles"));
        let _ =
            writeln!(text, "        $readmemh(\"{}\", stimulus, 0, cycles[0] - 1);", self.file("stimulus"));
        self.load_state(&mut text);
        let driven: Vec<&str> = ["rst"].into_iter().chain(ports(module, Direction::Input)).collect();
        let shown: Vec<&str> = ports(module, Direction::Output).collect();
        let format = vec!["%h"; shown.len()].join(" ");
        let _ = write!(
            text,
            "        for (cycle = 0; cycle < cycles[0]; cycle = cycle + 1) begin
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

    fn load_state(&self, text: &mut String) {
        let mut offsets: BTreeMap<u32, usize> = BTreeMap::new();
        for (width, _) in self.state_by_width() {
            let file = self.file(&format!("state{width}"));
            let _ = writeln!(text, "        $readmemh(\"{file}\", state{width});");
        }
        for Group { name, width, first_row, values } in self.groups() {
            let offset = offsets.entry(width).or_default();
            let _ = match first_row {
                None => writeln!(text, "        dut.{name} = state{width}[{offset}];"),
                Some(first) => writeln!(
                    text,
                    "        for (row = 0; row < {0}; row = row + 1) dut.{name}[{first} + row] = \
                     state{width}[{offset} + row];",
                    values.len(),
                ),
            };
            *offset += values.len();
        }
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

//! What the gates count, beside Icarus: the mapped Verilog with the models of its cells that come with the library.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use vcd::{IdCode, ScopeItem, Value};
use warpfile_hdl::rtl::netlist::{Netlist, Port};
use warpfile_synthesis::gates::{Gates, Scope};
use warpfile_synthesis::liberty::DEFAULT_PATH;
use warpfile_synthesis::saif;

use crate::activity::beside;
use crate::tools::{circuit, inputs, mapped, osu018, stimulus};

/// Half a period of the clock, in ns: longer than the longest way through the gates here.
const HALF: u64 = 50;
/// Time unit of the waveforms: 10 ps.
const PER_NS: u64 = 100;

/// The flip-flop of the library as it describes it, but 0 at first instead of unknown.
const FLIP_FLOP: &str = "
module DFFPOSX1 (input CLK, input D, output Q);
  reg state = 0;
  always @(posedge CLK) state <= D;
  buf (Q, state);
  specify
    (CLK *> Q) = (0.094, 0.16);
  endspecify
endmodule
";

/// One bit of a waveform.
#[derive(Clone, Copy, Debug, Default)]
struct Bit {
    value: Option<bool>,
    /// Changes before the last edge of the clock.
    toggles: u64,
    /// Changes from that edge on.
    at_the_end: u64,
    /// Cycles at whose ends it was 1.
    ones: u64,
    /// Cycle of the last change.
    since: u64,
}

impl Bit {
    fn change(&mut self, to: Value, time: u64, cycles: u64) {
        let to = match to {
            Value::V0 => false,
            Value::V1 => true,
            Value::X | Value::Z => panic!("a net is {to:?} at {time}"),
        };
        let Some(from) = self.value.replace(to).filter(|from| *from != to) else { return };
        // The first edge is that of the reset, and the inputs of the first cycle follow it.
        let cycle = (time / PER_NS + HALF) / (2 * HALF) - 1;
        if cycle < cycles {
            self.toggles += 1;
            self.ones += if from { cycle - self.since } else { 0 };
            self.since = cycle;
        } else {
            self.ones += if from && self.at_the_end == 0 { cycles - self.since } else { 0 };
            self.at_the_end += 1;
        }
    }

    fn end(&mut self, cycles: u64) {
        if self.at_the_end == 0 && self.value == Some(true) {
            self.ones += cycles - self.since;
        }
    }
}

/// Bits by path: `queue/count_q[3]`, as in SAIF.
type Bits = BTreeMap<String, Bit>;

/// Runs the mapped Verilog under the inputs of [`stimulus`]; with the delays of its cells, or without any.
fn in_icarus(netlist: &Netlist, cycles: u64, delays: bool) -> Bits {
    let (outlined, mapped) = mapped(netlist);
    assert!(outlined.memories.is_empty(), "Icarus has no model of memories");
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("room for files");
    let cells = fs::read_to_string(Path::new(DEFAULT_PATH).with_extension("v")).expect("it is installed");
    let (before, from) = cells.split_once("module DFFPOSX1").expect("a cell of the library");
    let (_, after) = from.split_once("endmodule").expect("the module ends");
    write("cells.v", &format!("{before}{FLIP_FLOP}{after}"));
    write("mapped.v", &mapped.verilog);
    let clocked = mapped.design.modules[&mapped.top].ports.contains_key("clk_i");
    let top = format!("{} dut ({}", mapped.top, if clocked { ".clk_i(clk), .rst_i(rst), " } else { "" });
    write("testbench.v", &testbench(netlist, &top, cycles));
    let ports: Vec<_> = inputs(netlist).collect();
    let line = |values: Vec<Vec<u64>>| {
        let bits = |(port, words): (&&Port, &Vec<u64>)| -> String {
            let bit = |bit: u32| char::from(b'0' + (words[bit as usize / 64] >> (bit % 64) & 1) as u8);
            (0..port.width).rev().map(bit).collect()
        };
        ports.iter().zip(&values).rev().map(bits).collect::<String>() + "\n"
    };
    let lines: String = stimulus(netlist, cycles, 0).into_iter().map(line).collect();
    write("inputs.txt", &lines);
    let run = |command: &str, arguments: &[&str]| {
        let output = Command::new(command).args(arguments).current_dir(folder.path()).output();
        let output = output.expect("scripts/test installs Icarus");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let specify = if delays { "-gspecify" } else { "-gno-specify" };
    run("iverilog", &["-g2005", specify, "-Ttyp", "-o", "run", "testbench.v", "mapped.v", "cells.v"]);
    run("vvp", &["-n", "run"]);
    read(&fs::read(folder.path().join("wave.vcd")).expect("Icarus wrote it"), cycles)
}

/// Applies the inputs of the first cycle shortly before the second edge of the clock, the others at edges, and dumps every
/// net. `top` is the instance up to the first of its inputs.
fn testbench(netlist: &Netlist, top: &str, cycles: u64) -> String {
    let (mut width, mut ports) = (0, Vec::new());
    for port in inputs(netlist) {
        ports.push(format!(".{}(inputs[{}:{width}])", port.name, width + port.width - 1));
        width += port.width;
    }
    let ports = ports.join(", ");
    let last = cycles - 1;
    format!(
        "`timescale 1ns/10ps
module testbench;
  reg clk = 0, rst = 1;
  reg [{width}-1:0] lines [0:{last}];
  reg [{width}-1:0] inputs = 0;
  integer cycle = 0;
  {top}{ports});
  always #{HALF} clk = !clk;
  always @(posedge clk) begin
    rst <= 0;
    if (cycle != 0 && cycle <= {last}) inputs <= lines[cycle];
    cycle <= cycle + 1;
  end
  initial begin
    $readmemb(\"inputs.txt\", lines);
    $dumpfile(\"wave.vcd\");
    #{settled} $dumpvars(0, dut);
    #1 inputs = lines[0];
    #{all} $finish;
  end
endmodule
",
        settled = 2 * HALF - 2,
        all = 2 * HALF * cycles,
    )
}

/// Counts the changes in a waveform.
fn read(text: &[u8], cycles: u64) -> Bits {
    let mut parser = vcd::Parser::new(text);
    let header = parser.parse_header().expect("a waveform");
    let mut names: BTreeMap<IdCode, Vec<Vec<String>>> = BTreeMap::new();
    let dut = header.find_scope(&["testbench", "dut"]).expect("the circuit is in it");
    collect(&dut.items, "", &mut names);
    let mut bits = Bits::new();
    let mut time = 0;
    for command in parser {
        let (code, values) = match command.expect("a waveform") {
            vcd::Command::Timestamp(at) => {
                time = at;
                continue;
            }
            vcd::Command::ChangeScalar(code, value) => (code, vec![value]),
            vcd::Command::ChangeVector(code, value) => (code, value.iter().collect()),
            _ => continue,
        };
        for names in names.get(&code).into_iter().flatten() {
            // The highest bits are left out where they are 0.
            let values = values.iter().rev().copied().chain(std::iter::repeat(Value::V0));
            for (name, value) in names.iter().zip(values) {
                bits.entry(name.clone()).or_default().change(value, time, cycles);
            }
        }
    }
    bits.values_mut().for_each(|bit| bit.end(cycles));
    bits
}

/// The names of the bits of every variable, lowest first.
fn collect(items: &[ScopeItem], path: &str, names: &mut BTreeMap<IdCode, Vec<Vec<String>>>) {
    for item in items {
        match item {
            ScopeItem::Scope(scope) => {
                collect(&scope.items, &format!("{path}{}/", scope.identifier.trim_start_matches('\\')), names)
            }
            ScopeItem::Var(var) => {
                let name = format!("{path}{}", var.reference.trim_start_matches('\\'));
                let bits = match var.size {
                    1 => vec![name],
                    size => (0..size).map(|bit| format!("{name}[{bit}]")).collect(),
                };
                names.entry(var.code).or_default().push(bits);
            }
            _ => {}
        }
    }
}

/// Every named net, with its path.
fn nets(scope: &Scope, path: &str, found: &mut Vec<(String, usize)>) {
    for (name, nets) in &scope.nets {
        for (bit, &net) in nets.iter().enumerate() {
            let index = if nets.len() == 1 { String::new() } else { format!("[{bit}]") };
            found.push((format!("{path}{name}{index}"), net as usize));
        }
    }
    for inner in &scope.scopes {
        self::nets(inner, &format!("{path}{}/", inner.name), found);
    }
}

/// Every named net but the clock, with its path, and whether a flip-flop drives it.
fn named(gates: &Gates<'_>) -> Vec<(String, usize, bool)> {
    let clock = gates.inputs.get("clk_i").map(|nets| nets[0] as usize);
    let state =
        gates.flip_flops.iter().flat_map(|flip_flop| &flip_flop.outputs).map(|(net, _)| *net as usize);
    let state: BTreeSet<usize> = state.collect();
    let mut found = Vec::new();
    nets(&gates.scope, "", &mut found);
    let nets = found.into_iter().filter(|(_, net)| Some(*net) != clock);
    nets.map(|(path, net)| (path, net, state.contains(&net))).collect()
}

/// Circuits of some depth, with queues, state machines and arithmetic.
fn circuits() -> Vec<Netlist> {
    vec![
        circuit("fifo", json!({"depth": 5, "width": 3})),
        circuit("two_level_scheduler", json!({"warps": 11, "slots": 3, "policy": "round-robin"})),
        circuit("l1_port", json!({"shards": 3, "lanes": 1, "osu_lines": 1, "register_bits": 1, "warps": 2})),
        circuit("warp_stack", json!({"warps": 11})),
    ]
}

#[test]
fn every_net_changes_and_is_one_as_often_as_in_icarus() {
    for netlist in circuits() {
        beside(&netlist, 200, 0, |gates, activity, _| {
            let bits = in_icarus(&netlist, 200, false);
            let saif = saif::read(&saif::write(gates, activity, 10)).expect("what was written");
            let nets = named(gates);
            assert!(nets.len() > 50, "{}", nets.len());
            for (path, net, is_state) in nets {
                let bit = bits.get(&path).unwrap_or_else(|| panic!("{path} is not in the waveform"));
                let toggles = bit.toggles + if is_state { bit.at_the_end } else { 0 };
                let counted = (activity.toggles[net], activity.ones[net]);
                assert_eq!(counted, (toggles, bit.ones), "{}: {path}", netlist.top().name);
                let written = saif.nets[&format!("{}/{path}", gates.scope.name)];
                assert_eq!((written.toggles, written.one), (toggles, 10 * bit.ones), "{path} in SAIF");
            }
        });
    }
}

/// How much is left out where a net changes once a cycle at most; the figures of decision 47.
#[test]
#[ignore = "a measurement, printed"]
fn changes_with_the_delays_of_cells_are_counted() {
    let deep = [
        circuit("pattern_expander", json!({"lanes": 4})),
        circuit("rename_table", json!({"banks": 4, "names": 21, "rows": 3, "warps": 5})),
    ];
    println!("circuit, changes without delays, with delays, ratio");
    for netlist in circuits().into_iter().chain(deep) {
        let library = osu018();
        let (outlined, mapped) = mapped(&netlist);
        let gates = Gates::flatten(&mapped, &mapped.top, &outlined.memories, &library).expect("known cells");
        let paths: BTreeMap<usize, String> =
            named(&gates).into_iter().map(|(path, net, _)| (net, path)).collect();
        let count = |delays| {
            let bits = in_icarus(&netlist, 200, delays);
            paths.values().map(|path| bits[path].toggles).sum::<u64>()
        };
        let (without, with) = (count(false), count(true));
        println!("{}, {without}, {with}, {:.2}", netlist.top().name, with as f64 / without as f64);
        assert!(with >= without, "{}", netlist.top().name);
    }
}

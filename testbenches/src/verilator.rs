//! Simulates exported circuits with Verilator, many in one build: a build takes seconds, whatever is in it.

use std::env;

use warpfile_gen::emit_in;
use warpfile_hdl::rtl::netlist::Netlist;

use crate::ToolError;
use crate::testbench::{InitialState, Outputs, Stimulus, Testbench};
use crate::tools::{printed, run, scratch, write_file};

/// A circuit with its initial state and what drives it.
pub struct Simulation<'a> {
    /// The circuit.
    pub netlist: &'a Netlist,
    /// Where it starts.
    pub state: &'a InitialState,
    /// What drives it.
    pub cycles: &'a [Stimulus],
}

/// Nothing is optimised: what is compared is the meaning of the Verilog, and a build is most of the time.
const ARGUMENTS: [&str; 13] = [
    "--binary",
    "--timing",
    "-O0",
    "-CFLAGS",
    "-O0",
    "--x-initial",
    "unique",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
    "--top-module",
    "batch",
    "batch.v",
];

/// The outputs of every circuit in every cycle. The environment variable `VERILATOR` names another Verilator
/// than the one in the path.
pub fn simulate_all(simulations: &[Simulation]) -> Result<Vec<Outputs>, ToolError> {
    let renamed: Vec<Netlist> =
        (0..).zip(simulations).map(|(index, simulation)| renamed(index, simulation.netlist)).collect();
    let names: Vec<String> = (0..simulations.len()).map(|index| format!("testbench{index}")).collect();
    let testbenches: Vec<Testbench> = (simulations.iter().zip(&renamed).zip(&names))
        .map(|((simulation, netlist), name)| {
            let Simulation { state, cycles, .. } = *simulation;
            Testbench { name, netlist, state, cycles }
        })
        .collect();

    let folder = scratch()?;
    let mut batch = String::new();
    for testbench in &testbenches {
        emit_in(testbench.netlist, testbench.state.style)
            .modules
            .iter()
            .for_each(|file| batch.push_str(&file.text));
        batch.push_str(&testbench.verilog());
        write_file(folder.path(), &testbench.stimulus_file(), &testbench.stimulus())?;
    }
    batch.push_str("module batch;\n");
    names.iter().for_each(|name| batch.push_str(&format!("    {name} {name} ();\n")));
    batch.push_str("endmodule\n");
    write_file(folder.path(), "batch.v", &batch)?;

    let tool = env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    let failed = |output| ToolError::Failed { tool: tool.clone(), circuit: "batch".into(), output };
    let built = run(&tool, "verilator", &ARGUMENTS, folder.path())?;
    if !built.status.success() {
        return Err(failed(printed(&built)));
    }
    let ran = run("./obj_dir/Vbatch", "verilator", &[], folder.path())?;
    let text = printed(&ran);
    let outputs: Option<Vec<Outputs>> =
        testbenches.iter().map(|testbench| testbench.outputs(&text)).collect();
    match outputs {
        Some(outputs) if ran.status.success() => Ok(outputs),
        _ => Err(failed(text)),
    }
}

/// The netlist with names of modules that no other of the batch has.
fn renamed(index: usize, netlist: &Netlist) -> Netlist {
    let mut netlist = netlist.clone();
    for module in &mut netlist.modules {
        module.name = format!("{}_in_{index}", module.name);
    }
    netlist
}

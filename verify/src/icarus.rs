//! Simulates an exported circuit with Icarus, from a given state and with given inputs.

use warpfile_gen::{Files, emit_in, write};
use warpfile_hdl::rtl::netlist::Netlist;

use crate::ToolError;
use crate::testbench::{InitialState, Outputs, Stimulus, Testbench};
use crate::tools::{printed, run, scratch, write_file};

/// The outputs of every cycle of the Verilog in the state's style, in the order of the ports; bits that Icarus calls
/// unknown make a value `None`.
pub fn simulate(netlist: &Netlist, state: &InitialState, cycles: &[Stimulus]) -> Result<Outputs, ToolError> {
    simulate_files(netlist, &emit_in(netlist, state.style), state, cycles)
}

/// As [`simulate`], of Verilog that is given: with the modules and the names of state of the netlist's own.
pub fn simulate_files(
    netlist: &Netlist,
    files: &Files,
    state: &InitialState,
    cycles: &[Stimulus],
) -> Result<Outputs, ToolError> {
    let folder = scratch()?;
    write(files, folder.path())?;
    let testbench = Testbench { name: "testbench", netlist, state, cycles };
    write_file(folder.path(), "testbench.v", &testbench.verilog())?;
    testbench.write_inputs(folder.path())?;
    let compile = ["-g2005", "-o", "testbench.vvp", "-s", "testbench", "testbench.v", "-c", &files.list.name];
    let compiled = run("iverilog", "iverilog", &compile, folder.path())?;
    let ran = if compiled.status.success() {
        run("vvp", "iverilog", &["-n", "testbench.vvp"], folder.path())?
    } else {
        compiled
    };
    let text = printed(&ran);
    match testbench.outputs(&text) {
        Some(outputs) if ran.status.success() => Ok(outputs),
        _ => Err(ToolError::failed("iverilog", &files.top, text)),
    }
}

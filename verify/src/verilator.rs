//! Simulates exported circuits with Verilator, many in one build: a build takes seconds, whatever is in it.
//!
//! What is built depends on the Verilog and on Verilator only, and is kept in a folder under a hash of both: the same
//! circuit is built once, whatever drives it. Verilator's own runtime, which is most of the work for a small circuit, is
//! compiled once and kept there as well.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use twox_hash::XxHash64;
use warpfile_gen::{Files, emit_in};
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
const ARGUMENTS: [&str; 15] = [
    "--cc",
    "--exe",
    "--main",
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
/// What makes a program of Verilator's C++.
const MAKE: [&str; 5] = ["-C", OBJECTS, "-f", "Vbatch.mk", "Vbatch"];
/// Where that is done.
const OBJECTS: &str = "obj_dir";
/// What is built there.
const PROGRAM: &str = "Vbatch";

/// The outputs of every circuit in every cycle. The environment variable `VERILATOR` names another Verilator
/// than the one in the path. What is built is kept in `cache`, if it is given.
pub fn simulate_all(simulations: &[Simulation<'_>], cache: Option<&Path>) -> Result<Vec<Outputs>, ToolError> {
    let renamed: Vec<Netlist> =
        (0..).zip(simulations).map(|(index, simulation)| renamed(index, simulation.netlist)).collect();
    let files: Vec<Files> = (simulations.iter().zip(&renamed))
        .map(|(simulation, netlist)| emit_in(netlist, simulation.state.style))
        .collect();
    let batch: Vec<(&Netlist, &Files, &Simulation<'_>)> = renamed
        .iter()
        .zip(&files)
        .zip(simulations)
        .map(|((netlist, files), s)| (netlist, files, s))
        .collect();
    simulate_batch(&batch, cache)
}

/// The outputs of Verilog that is given: with the modules and the names of state of the netlist's own.
pub fn simulate_files(
    simulation: &Simulation<'_>,
    files: &Files,
    cache: Option<&Path>,
) -> Result<Outputs, ToolError> {
    let mut outputs = simulate_batch(&[(simulation.netlist, files, simulation)], cache)?;
    Ok(outputs.pop().unwrap_or_default())
}

fn simulate_batch(
    batch: &[(&Netlist, &Files, &Simulation<'_>)],
    cache: Option<&Path>,
) -> Result<Vec<Outputs>, ToolError> {
    let names: Vec<String> = (0..batch.len()).map(|index| format!("testbench{index}")).collect();
    let testbenches: Vec<Testbench<'_>> = (batch.iter().zip(&names))
        .map(|((netlist, _, simulation), name)| {
            let Simulation { state, cycles, .. } = **simulation;
            Testbench { name, netlist, state, cycles }
        })
        .collect();
    let mut text = String::new();
    for (testbench, (_, files, _)) in testbenches.iter().zip(batch) {
        files.modules.iter().for_each(|file| text.push_str(&file.text));
        text.push_str(&testbench.verilog());
    }
    text.push_str("module batch;\n");
    names.iter().for_each(|name| text.push_str(&format!("    {name} {name} ();\n")));
    text.push_str("endmodule\n");

    let tool = env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    let top = batch.first().map_or("nothing", |(_, files, _)| files.top.as_str());
    let folder = scratch()?;
    let program = build(&tool, top, &text, folder.path(), cache)?;
    testbenches.iter().try_for_each(|testbench| testbench.write_inputs(folder.path()))?;
    let ran = run(&program.to_string_lossy(), "verilator", &[], folder.path())?;
    let printed = printed(&ran);
    let outputs: Option<Vec<Outputs>> =
        testbenches.iter().map(|testbench| testbench.outputs(&printed)).collect();
    match outputs {
        Some(outputs) if ran.status.success() => Ok(outputs),
        _ => Err(ToolError::failed(&tool, top, printed)),
    }
}

/// The program that runs `text`: out of the cache, or built in `folder` and put there.
fn build(
    tool: &str,
    top: &str,
    text: &str,
    folder: &Path,
    cache: Option<&Path>,
) -> Result<PathBuf, ToolError> {
    let version = printed(&run(tool, "verilator", &["--version"], folder)?);
    let tools = [tool, &version, &ARGUMENTS.join(" ")].join("\0");
    let in_cache = |kind: &str, parts: &[&str]| {
        let hash = XxHash64::oneshot(0, parts.join("\0").as_bytes());
        cache.map(|cache| cache.join(format!("{kind}-{hash:016x}")))
    };
    let kept = in_cache("verilated", &[text, &tools]);
    if let Some(kept) = kept.as_ref().filter(|kept| kept.is_file()) {
        return Ok(kept.clone());
    }
    write_file(folder, "batch.v", text)?;
    let translated = run(tool, "verilator", &ARGUMENTS, folder)?;
    if !translated.status.success() {
        return Err(ToolError::failed(tool, top, printed(&translated)));
    }
    let objects = folder.join(OBJECTS);
    let runtime = in_cache("runtime", &[&tools]);
    let in_file = |path: PathBuf| |source| ToolError::File { path, source };
    if let Some(runtime) = runtime.as_ref().filter(|runtime| runtime.is_dir()) {
        copy_runtime(runtime, &objects).map_err(in_file(objects.clone()))?;
    }
    let built = run("make", "make", &MAKE, folder)?;
    if !built.status.success() {
        return Err(ToolError::failed("make", top, printed(&built)));
    }
    let program = objects.join(PROGRAM);
    if let (Some(kept), Some(runtime), Some(cache)) = (kept, runtime, cache) {
        keep(&program, &kept, cache).map_err(in_file(kept))?;
        keep_runtime(&objects, &runtime, cache).map_err(in_file(runtime))?;
    }
    Ok(program)
}

/// Copies the objects that are the same for all circuits. What make finds it does not make again.
fn copy_runtime(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        let is_runtime = |name: &str| name.starts_with("verilated") && name.ends_with(".o");
        if name.to_str().is_some_and(is_runtime) {
            fs::copy(from.join(&name), to.join(&name))?;
        }
    }
    Ok(())
}

/// Keeps those objects; another process may be doing the same, and the first one stays.
fn keep_runtime(objects: &Path, runtime: &Path, cache: &Path) -> std::io::Result<()> {
    if runtime.is_dir() {
        return Ok(());
    }
    let partial = tempfile::Builder::new().prefix(".runtime-").tempdir_in(cache)?;
    copy_runtime(objects, partial.path())?;
    match fs::rename(partial.path(), runtime) {
        Err(_) if runtime.is_dir() => Ok(()),
        renamed => renamed,
    }
}

/// Copies the program into the cache; another process may be doing the same.
fn keep(program: &Path, kept: &Path, cache: &Path) -> std::io::Result<()> {
    fs::create_dir_all(cache)?;
    let partial = tempfile::Builder::new().prefix(".verilated-").tempfile_in(cache)?.into_temp_path();
    fs::copy(program, &partial)?;
    partial.persist(kept).map_err(|error| error.error)
}

/// The netlist with names of modules that no other of the batch has.
fn renamed(index: usize, netlist: &Netlist) -> Netlist {
    let mut netlist = netlist.clone();
    for module in &mut netlist.modules {
        module.name = format!("{}_in_{index}", module.name);
    }
    netlist
}

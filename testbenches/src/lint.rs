//! Verilator, Icarus and Yosys over an exported circuit: not one warning is accepted.

use std::env;
use std::path::Path;

use warpfile_gen::{Files, write};

use warpfile_verify::ToolError;
use warpfile_verify::tools::{printed, run, scratch};

/// What each tool complains about in a circuit, as `tool: line`; empty if the circuit is clean.
///
/// The text is read twice, with and without `FORMAL`. The environment variable `VERILATOR` names another
/// Verilator than the one in the path.
pub fn lint(files: &Files) -> Result<Vec<String>, ToolError> {
    let folder = scratch()?;
    write(files, folder.path())?;
    let mut found = verilator(files, folder.path(), false)?;
    found.extend(verilator(files, folder.path(), true)?);
    found.extend(icarus(files, folder.path())?);
    found.extend(yosys(files, folder.path(), false)?);
    found.extend(yosys(files, folder.path(), true)?);
    Ok(found)
}

fn verilator(files: &Files, folder: &Path, formal: bool) -> Result<Vec<String>, ToolError> {
    let tool = env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    let mut arguments = vec!["--lint-only", "-Wall", "--top-module", &files.top, "-f", &files.list.name];
    if formal {
        arguments.push("-DFORMAL");
    }
    let output = run(&tool, "verilator", &arguments, folder)?;
    let lines = complaints("verilator", &printed(&output), |line| line.contains('%'));
    Ok(with_status(lines, "verilator", &output))
}

fn icarus(files: &Files, folder: &Path) -> Result<Vec<String>, ToolError> {
    let arguments = ["-Wall", "-g2005", "-t", "null", "-s", &files.top, "-c", &files.list.name];
    let output = run("iverilog", "iverilog", &arguments, folder)?;
    Ok(with_status(complaints("iverilog", &printed(&output), |_| true), "iverilog", &output))
}

/// Yosys announces that it keeps a memory in registers as a warning; that is a choice, not a fault.
fn yosys(files: &Files, folder: &Path, formal: bool) -> Result<Vec<String>, ToolError> {
    let names: Vec<&str> = files.modules.iter().map(|file| file.name.as_str()).collect();
    let read = if formal { "read_verilog -formal" } else { "read_verilog" };
    let script =
        format!("{read} {}; hierarchy -check -top {}; proc; check -assert", names.join(" "), files.top);
    let output = run("yosys", "yosys", &["-q", "-p", &script], folder)?;
    let lines = complaints("yosys", &printed(&output), |line| !line.contains("Replacing memory"));
    Ok(with_status(lines, "yosys", &output))
}

fn complaints(tool: &str, text: &str, counts: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && counts(line));
    lines.map(|line| format!("{tool}: {line}")).collect()
}

/// A tool that failed without a word has failed all the same.
fn with_status(mut lines: Vec<String>, tool: &str, output: &std::process::Output) -> Vec<String> {
    if lines.is_empty() && !output.status.success() {
        lines.push(format!("{tool}: {}: {}", output.status, printed(output).trim()));
    }
    lines
}

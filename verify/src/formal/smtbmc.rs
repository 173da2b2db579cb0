//! Running `yosys` and `yosys-smtbmc`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;
use warpfile_gen::{emit, write};
use warpfile_hdl::rtl::netlist::{KeptBy, Netlist};

use super::Effort;
use crate::ToolError;
use crate::tools::{printed, run, scratch};

/// What `timeout` ends with when time was up.
const TIME_IS_UP: i32 = 124;
/// The model, in SMT-LIB.
const MODEL: &str = "model.smt2";
/// The counterexample.
const TRACE: &str = "trace.vcd";

/// What a solver says of a set of invariants.
pub(super) enum Answer {
    /// All hold.
    Holds,
    /// Some do not, in this cycle: path of the circuit and name. There is at least one.
    Broken { cycle: u32, names: Vec<(String, String)> },
    /// Time was up; all hold in so many cycles.
    Unfinished { cycles: u32 },
}

/// A circuit in the language of the solvers, with some of its invariants.
pub(super) struct Model {
    folder: TempDir,
    top: String,
    paths: Vec<String>,
}

impl Model {
    /// With the invariants of `candidates` (path and name) in it; a module that is there several times has those of all
    /// its places.
    pub(super) fn new(
        netlist: &Netlist,
        candidates: &BTreeSet<(String, String)>,
    ) -> Result<Model, ToolError> {
        let mut netlist = netlist.clone();
        let circuits = netlist.circuits();
        let mut wanted: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); netlist.modules.len()];
        for (path, module) in &circuits {
            let here = candidates.iter().filter(|(of, _)| of == path).map(|(_, name)| name.as_str());
            wanted[module.index()].extend(here);
        }
        let top = netlist.top.index();
        for (index, (module, wanted)) in netlist.modules.iter_mut().zip(&wanted).enumerate() {
            let is_assumed = |kept_by| match kept_by {
                KeptBy::Environment => index == top,
                KeptBy::Surroundings => true,
                KeptBy::Circuit => false,
            };
            module.invariants.retain(|i| is_assumed(i.kept_by) || wanted.contains(i.name.as_str()));
        }
        let files = emit(&netlist);
        let folder = scratch()?;
        write(&files, folder.path())?;
        let names: Vec<&str> = files.modules.iter().map(|file| file.name.as_str()).collect();
        let script = format!(
            "read_verilog -formal {}; prep -top {}; memory_map; opt_clean; async2sync; dffunmap; \
             write_smt2 -wires {MODEL}",
            names.join(" "),
            files.top
        );
        let translated = run("yosys", "yosys", &["-q", "-p", &script], folder.path())?;
        if !translated.status.success() {
            return Err(ToolError::failed("yosys", &files.top, printed(&translated)));
        }
        let paths = circuits.into_iter().map(|(path, _)| path).collect();
        Ok(Model { folder, top: files.top, paths })
    }

    /// Whether the invariants hold in the first cycles; a counterexample goes to `waveform`.
    pub(super) fn first_cycles(&self, effort: &Effort, waveform: Option<&Path>) -> Result<Answer, ToolError> {
        // What the clock edge ends is seen in the step after it.
        let steps = (effort.depth + 1).to_string();
        let mut arguments = vec!["-t", &steps];
        if waveform.is_some() {
            arguments.extend(["--dump-vcd", TRACE]);
        }
        let answer = self.ask(effort, &arguments)?;
        if let (Answer::Broken { .. }, Some(waveform)) = (&answer, waveform) {
            let copied = fs::copy(self.folder.path().join(TRACE), waveform);
            copied.map_err(|source| ToolError::File { path: waveform.to_owned(), source })?;
        }
        Ok(answer)
    }

    /// Whether the invariants hold in the cycle after any in a row in which they do.
    pub(super) fn induction(&self, effort: &Effort) -> Result<Answer, ToolError> {
        self.ask(effort, &["-i", "-t", &effort.induction.to_string()])
    }

    fn ask(&self, effort: &Effort, arguments: &[&str]) -> Result<Answer, ToolError> {
        // Without a solver yosys-smtbmc ends with a Python traceback.
        run(&effort.solver, package(&effort.solver), &["--version"], self.folder.path())?;
        let patience = effort.patience.as_secs().max(1).to_string();
        let mut all = vec![
            patience.as_str(),
            "yosys-smtbmc",
            "-s",
            &effort.solver,
            "--unroll",
            "--presat",
            "--noprogress",
        ];
        all.extend(arguments);
        all.push(MODEL);
        let output = run("timeout", "coreutils", &all, self.folder.path())?;
        self.answer(&output)
    }

    fn answer(&self, output: &Output) -> Result<Answer, ToolError> {
        let text = printed(output);
        let step = last_step(&text);
        if output.status.code() == Some(TIME_IS_UP) {
            return Ok(Answer::Unfinished { cycles: step.unwrap_or(0).saturating_sub(1) });
        }
        if text.contains("Status: passed") || text.contains("Status: PASSED") {
            return Ok(Answer::Holds);
        }
        let names: Vec<_> = text.lines().filter_map(|line| self.broken(line)).collect();
        if names.is_empty() {
            return Err(ToolError::failed("yosys-smtbmc", &self.top, text));
        }
        Ok(Answer::Broken { cycle: step.unwrap_or(0).saturating_sub(1), names })
    }

    /// `… Assert failed in top.child: name …`: path of the circuit and name.
    fn broken(&self, line: &str) -> Option<(String, String)> {
        let (_, found) = line.split_once("Assert failed in ")?;
        let (place, rest) = found.split_once(": ")?;
        let path = place.strip_prefix(&self.top)?.trim_start_matches('.').to_owned();
        let name = rest.split_whitespace().next()?.to_owned();
        self.paths.contains(&path).then_some((path, name))
    }
}

/// The number in the last `… in step N..`.
fn last_step(text: &str) -> Option<u32> {
    let number = |line: &str| line.split_once(" in step ")?.1.trim_end_matches('.').parse().ok();
    text.lines().filter_map(number).next_back()
}

/// Debian's package of a solver.
fn package(solver: &str) -> &'static str {
    match solver {
        "cvc5" => "cvc5",
        _ => "z3",
    }
}

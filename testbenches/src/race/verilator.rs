//! Verilator's side of the race.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;
use warpfile_gen::{Files, Style, emit_in, write};

use super::Side;
use super::error::RaceError;
use super::measure::{Build, Measured, peak_of_children};
use super::ports::Recording;
use crate::bench::Benchmark;

/// The Verilator that is raced.
pub const VERSION: &str = "Verilator 5.048";
/// The same, as the Python package index counts.
pub(super) const PACKAGE_VERSION: &str = "5.48.0";
/// What it calls itself: built from its sources, and from the Python package, which knows a commit only.
const VERSIONS: [&str; 2] = ["Verilator 5.048 ", "rev vUNKNOWN-built20260516-4e853d8"];
/// How it is called.
pub const FLAGS: [&str; 9] =
    ["--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"];
/// What the C++ compiler is told.
const COMPILER_FLAGS: &str = "-O3 -march=native";
/// What make is told besides. Its own `OPT_FAST=-Os` would win over the compiler flags for the harness; and the
/// package's makefile does not say how a precompiled header is included, without which large circuits do not build.
pub const MAKE_FLAGS: &str = "OPT_FAST=-O3 CFG_CXXFLAGS_PCH_I=-include";
/// What clocks the circuit.
const HARNESS: &str = include_str!("harness.cpp");
/// File that says that a build is complete, and what it took.
const BUILD: &str = "build.json";
/// Prefix of the classes, and name of the program.
const MODEL: &str = "Vbench";

/// An installed Verilator, and a folder for what it builds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verilator {
    root: PathBuf,
    builds: PathBuf,
}

impl Verilator {
    /// The Verilator in the folder `root` (`bin/verilator` and `include/` are in it), if it is the one to race.
    /// Builds are kept in `builds`.
    pub fn new(root: &Path, builds: &Path) -> Result<Verilator, RaceError> {
        let verilator = Verilator { root: root.into(), builds: builds.into() };
        let other = |found| RaceError::Verilator { root: root.into(), found };
        let output = verilator.command().arg("--version").output();
        let output = output.map_err(|error| other(format!("cannot run bin/verilator: {error}")))?;
        let version = String::from_utf8_lossy(&output.stdout);
        let version = version.trim();
        match VERSIONS.iter().any(|known| version.starts_with(known)) {
            true => Ok(verilator),
            false => Err(other(format!("this is `{version}`"))),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.root.join("bin/verilator"));
        command.env("VERILATOR_ROOT", &self.root);
        command
    }

    /// A process that runs the benchmark, in the state after reset, and what it took to build it, now or earlier.
    pub(super) fn start(&self, design: &Design) -> Result<(Verilated, Build), RaceError> {
        let folder = self.folder(design)?;
        let record = folder.join(BUILD);
        let known = fs::read_to_string(&record).ok().and_then(|text| serde_json::from_str(&text).ok());
        let build = match known {
            Some(build) => build,
            None => {
                let work = VerilatorBuild { verilator: self.clone(), design: design.clone() };
                let build = work.run_apart()?;
                let text = serde_json::to_string(&build).unwrap_or_default();
                write_whole(&record, &text)?;
                build
            }
        };
        Ok((Verilated::start(&folder, &[])?, build))
    }

    /// A process that drives the circuit of the design, which has been built, but does not evaluate it.
    pub(super) fn start_harness(&self, design: &Design) -> Result<Verilated, RaceError> {
        Verilated::start(&self.folder(design)?, &["without evaluation"])
    }

    /// Where a benchmark is built: a name of its own for every text of Verilog and way to build it.
    fn folder(&self, design: &Design) -> Result<PathBuf, RaceError> {
        let (files, harness) = (design.verilog()?, design.harness()?);
        let mut all: String = files.all().map(|file| format!("{}\0{}\0", file.name, file.text)).collect();
        all.extend(FLAGS.iter().chain(&[COMPILER_FLAGS, MAKE_FLAGS, VERSION, &harness]).copied());
        let hash = XxHash64::oneshot(0, all.as_bytes());
        Ok(self.builds.join(format!("{}-{hash:016x}", files.top)))
    }
}

/// What is built with Verilator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Design {
    pub benchmark: Benchmark,
    /// Whether the style is [`Style::Words`], else [`Style::Lanes`].
    pub words: bool,
    /// Whether the circuit is driven through its ports, else by the top of the benchmark.
    pub through_ports: bool,
}

impl Design {
    fn verilog(&self) -> Result<Files, RaceError> {
        let style = if self.words { Style::Words } else { Style::Lanes };
        let netlist =
            if self.through_ports { self.benchmark.circuit_netlist()? } else { self.benchmark.netlist()? };
        Ok(emit_in(&netlist, style))
    }

    fn harness(&self) -> Result<String, RaceError> {
        if !self.through_ports {
            return Ok(HARNESS.to_string());
        }
        Ok(Recording::of(&self.benchmark, &self.benchmark.circuit_netlist()?)?.harness())
    }
}

/// Building a benchmark with Verilator, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VerilatorBuild {
    verilator: Verilator,
    design: Design,
}

impl Measured for VerilatorBuild {
    const COMMAND: &'static str = "build-verilator";

    fn run(&self) -> Result<Build, RaceError> {
        let folder = self.verilator.folder(&self.design)?;
        let files = self.design.verilog()?;
        // What an interrupted build has left.
        match fs::remove_dir_all(folder.join("obj")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(RaceError::File { path: folder.join("obj"), source: error });
            }
            Ok(()) | Err(_) => {}
        }
        write(&files, &folder)?;
        write_whole(&folder.join("harness.cpp"), &self.design.harness()?)?;

        let start = Instant::now();
        let defines = format!(r#"{COMPILER_FLAGS} -DMODEL={MODEL} -DMODEL_HEADER='"{MODEL}.h"'"#);
        let mut command = self.verilator.command();
        command.current_dir(&folder).args(FLAGS).args(["-CFLAGS", &defines, "-MAKEFLAGS", MAKE_FLAGS]);
        command.args(["--prefix", MODEL, "-Mdir", "obj", "--top-module", &files.top]);
        command.args(["-f", &files.list.name, "harness.cpp"]);
        let name = format!("verilator {}", files.top);
        let output = command.output().map_err(|source| RaceError::Start { command: name.clone(), source })?;
        if !output.status.success() {
            let all = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&all);
            let lines: Vec<&str> = text.lines().collect();
            let output = lines[lines.len().saturating_sub(20)..].join("\n");
            return Err(RaceError::Failed { command: name, output });
        }
        Verilated::start(&folder, &[])?.turn(1)?;
        let first_cycle_seconds = start.elapsed().as_secs_f64();
        Ok(Build { first_cycle_seconds, peak_kib: peak_of_children() })
    }
}

fn write_whole(path: &Path, text: &str) -> Result<(), RaceError> {
    let temporary = path.with_extension(format!("{}", std::process::id()));
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|source| RaceError::File { path: path.into(), source })
}

/// A running benchmark; see `harness.cpp`.
pub(super) struct Verilated {
    program: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Verilated {
    fn start(folder: &Path, arguments: &[&str]) -> Result<Verilated, RaceError> {
        let path = folder.join("obj").join(MODEL);
        let program = path.display().to_string();
        let start = |source| RaceError::Start { command: program.clone(), source };
        let mut command = Command::new(&path);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(start)?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(input), Some(output)) => {
                Ok(Verilated { program, process, input, output: BufReader::new(output) })
            }
            (_, _) => Err(start(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl Side for Verilated {
    fn turn(&mut self, cycles: u64) -> Result<(f64, u64), RaceError> {
        let mut answer = String::new();
        writeln!(self.input, "{cycles}")
            .and_then(|()| self.input.flush())
            .and_then(|()| self.output.read_line(&mut answer))
            .map_err(|source| RaceError::Start { command: self.program.clone(), source })?;
        let parsed = answer.trim().split_once(' ').and_then(|(nanoseconds, signature)| {
            Some((nanoseconds.parse().ok()?, u64::from_str_radix(signature, 16).ok()?))
        });
        parsed.ok_or_else(|| RaceError::Answer {
            command: self.program.clone(),
            answer: answer.trim().to_string(),
            expected: "nanoseconds and a signature",
        })
    }
}

impl Drop for Verilated {
    /// The process has nothing to lose; whether it could be ended no longer matters.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

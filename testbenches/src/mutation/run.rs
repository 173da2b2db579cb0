//! Runs the testbench of a circuit on its mutants, each in a process of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::Hasher;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use twox_hash::XxHash64;

use super::circuits::{SKIPPED, Tested};
use super::prove::{self, Proof};
use super::{CIRCUIT, EXPORT, MUTANT, NO_CIRCUIT, SITES, VERILOG};
use warpfile_verify::ToolError;
use warpfile_verify::tools::scratch;

/// A mutant's process may take this many times the processor time that the circuit itself takes, and these seconds.
const PATIENCE: u32 = 20;
const PATIENCE_AT_LEAST: Duration = Duration::from_secs(10);
/// Between looks at a process.
const LOOK: Duration = Duration::from_millis(3);

/// How mutants are chosen and run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Mutants of a circuit that are run at most; `None` runs all.
    pub sample: Option<usize>,
    /// The same for a circuit that has no kept score which stands; `None` is as `sample`.
    pub changed: Option<usize>,
    /// Chooses the mutants.
    pub draw: u64,
    /// Chooses the traffic of the testbenches.
    pub seed: u64,
    /// Whether mutants that were noticed or proven when the score was kept are left out, and others not proven again.
    pub rest: bool,
    /// Whether mutants that no test notices are to be proven the same function.
    pub prove: bool,
    /// Processes at a time.
    pub jobs: usize,
}

/// What came of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A test noticed.
    Killed(String),
    /// A test did not end in time.
    Endless(String),
    /// It has a combinational loop: not a circuit.
    NoCircuit,
    /// No test noticed, and it is the same function; how this is known.
    Equivalent(String),
    /// No test noticed.
    Survived,
}

impl Outcome {
    /// Whether a better testbench and other reasons would leave it as it is.
    fn is_certain(&self) -> bool {
        match self {
            Outcome::Killed(_) | Outcome::Endless(_) | Outcome::NoCircuit => true,
            Outcome::Equivalent(how) => how.starts_with(prove::PROVEN),
            Outcome::Survived => false,
        }
    }
}

/// Mutants of a circuit with what came of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Score {
    /// The circuit.
    pub circuit: String,
    /// Hash of the circuit's Verilog at the sizes that its testbench draws, of the testbench's folder and of this tool.
    pub of: String,
    /// Mutants there are.
    pub mutants: usize,
    /// Those that were run, by name.
    pub run: Vec<(String, Outcome)>,
}

impl Score {
    /// How many have an outcome.
    pub fn count(&self, is: impl Fn(&Outcome) -> bool) -> usize {
        self.run.iter().filter(|(_, outcome)| is(outcome)).count()
    }

    /// Mutants that were noticed.
    pub fn killed(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Killed(_) | Outcome::Endless(_)))
    }

    /// Mutants that could have been noticed: circuits that are another function, as far as is known.
    pub fn worth(&self) -> usize {
        self.killed() + self.count(|outcome| *outcome == Outcome::Survived)
    }

    /// Mutants that a test noticed when `kept` was kept and that none notices now.
    pub fn lost<'a>(&'a self, kept: &'a Score) -> impl Iterator<Item = &'a str> {
        let survives = |outcome: &Outcome| matches!(outcome, Outcome::Survived | Outcome::Equivalent(_));
        let lost = self.run.iter().filter(move |(name, now)| {
            survives(now) && kept.outcome(name).is_some_and(|before| !survives(before))
        });
        lost.map(|(name, _)| name.as_str())
    }

    fn outcome(&self, name: &str) -> Option<&Outcome> {
        self.run.iter().find(|(run, _)| run == name).map(|(_, outcome)| outcome)
    }

    /// Whether the circuit had these mutants: if its description has moved since, a name may be another mutant's.
    pub fn is_of(&self, names: &BTreeSet<String>) -> bool {
        self.mutants == names.len() && self.run.iter().all(|(name, _)| names.contains(name))
    }

    /// Whether a mutant need not be run again: a test noticed it, or it is proven.
    fn is_certain(&self, name: &str) -> bool {
        self.outcome(name).is_some_and(Outcome::is_certain)
    }

    /// Per cent of them that were noticed; all of none.
    pub fn per_cent(&self) -> f64 {
        if self.worth() == 0 { 100.0 } else { 100.0 * self.killed() as f64 / self.worth() as f64 }
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Scored {
    /// Mutants with what came of them.
    pub score: Score,
    /// All mutants of the circuit.
    pub names: BTreeSet<String>,
    /// Whether the kept score is of the circuit and the testbench as they are today.
    pub stands: bool,
}

/// Why mutants could not be run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Cargo does not build the tests.
    #[error("the testbenches do not build:\n{0}")]
    Build(String),
    /// The testbench fails on the circuit itself.
    #[error(
        "the testbench of {circuit} fails without a mutant, in `{test}`; run: cargo test -p warpfile-testbenches"
    )]
    Unsound {
        /// The circuit.
        circuit: &'static str,
        /// The test.
        test: String,
    },
    /// Its testbench never elaborates the circuit.
    #[error("the tests {tests} never elaborate {circuit}")]
    Absent {
        /// The circuit.
        circuit: &'static str,
        /// Its tests.
        tests: String,
    },
    /// A process or file of a run.
    #[error("cannot run the testbenches: {0}")]
    Io(#[from] io::Error),
    /// Yosys, or a folder for it.
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// The binary with all testbenches.
#[derive(Clone, Debug)]
pub struct Testbenches {
    binary: PathBuf,
    folder: PathBuf,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed(String),
    Endless(String),
    NoCircuit,
}

impl Testbenches {
    /// Builds them, as `cargo test --workspace` does: for one package alone Cargo would build all it needs once more.
    ///
    /// # Errors
    /// If they do not build.
    pub fn build() -> Result<Testbenches, RunError> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let arguments = ["test", "--workspace", "--test", "testbenches", "--no-run"];
        let output = Command::new(cargo)
            .args(arguments)
            .arg("--message-format=json-render-diagnostics")
            .current_dir(&folder)
            .stderr(Stdio::inherit())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let tests = |message: &serde_json::Value| message["target"]["name"] == "testbenches";
        let binary =
            messages.filter(tests).find_map(|message| message["executable"].as_str().map(PathBuf::from));
        match binary {
            Some(binary) if output.status.success() => Ok(Testbenches { binary, folder }),
            _ => Err(RunError::Build("see above".into())),
        }
    }

    /// All tests of a circuit.
    fn command(&self, tested: Tested, settings: &Settings) -> Command {
        let mut command = self.process(tested, settings);
        command.args(tested.tests()).args(SKIPPED.iter().flat_map(|name| ["--skip", *name]));
        command
    }

    /// One test of a circuit.
    fn one_test(&self, tested: Tested, settings: &Settings, test: &str) -> Command {
        let mut command = self.process(tested, settings);
        command.args(["--exact", test]);
        command
    }

    fn process(&self, tested: Tested, settings: &Settings) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(["--test-threads", "1"])
            .current_dir(&self.folder)
            .env(CIRCUIT, tested.circuit)
            .env("PROPTEST_RNG_SEED", settings.seed.to_string())
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
            .env("INSTA_UPDATE", "no")
            // Or it asks Cargo, for every mutant.
            .env("INSTA_WORKSPACE_ROOT", self.folder.join(".."))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for name in [MUTANT, SITES, EXPORT] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the testbench on the circuit and on its mutants; `progress` is told of each. The score that was kept stands
    /// if circuit and testbench are what they were; what it says is the same function is not proven again then.
    ///
    /// # Errors
    /// If the testbench fails on the circuit itself, or something cannot be run.
    pub fn score(
        &self,
        tested: Tested,
        settings: &Settings,
        kept: Option<&Score>,
        is_wanted: impl Fn(&str) -> bool,
        progress: &(dyn Fn(&str, &Outcome) + Sync),
    ) -> Result<Scored, RunError> {
        let folder = scratch()?;
        let sites = folder.path().join("sites");
        let before = time_of_children()?;
        let mut command = self.command(tested, settings);
        match finish(command.env(SITES, &sites).spawn()?, None)? {
            End::Passed => {}
            End::Failed(test) | End::Endless(test) => {
                return Err(RunError::Unsound { circuit: tested.circuit, test });
            }
            End::NoCircuit => return Err(RunError::Unsound { circuit: tested.circuit, test: String::new() }),
        }
        let taken = time_of_children()?.saturating_sub(before);
        let patience = (taken * PATIENCE).max(PATIENCE_AT_LEAST);
        if !sites.exists() {
            let tests = tested.tests().collect::<Vec<_>>().join(", ");
            return Err(RunError::Absent { circuit: tested.circuit, tests });
        }
        let lines: BTreeSet<String> = fs::read_to_string(&sites)?.lines().map(String::from).collect();
        let (modules, names): (BTreeSet<String>, BTreeSet<String>) =
            lines.into_iter().partition(|line| line.starts_with(VERILOG));
        let of = of(tested, &modules);
        let kept = kept.filter(|kept| kept.is_of(&names));
        let stands = kept.is_some_and(|kept| kept.of == of);
        let rest = kept.filter(|_| settings.rest);
        // What is known of a mutant that no test notices, and so is not proven again.
        let known = kept.filter(|_| settings.rest || stands && settings.sample.is_some());
        let is_open = |name: &&String| is_wanted(name) && !rest.is_some_and(|rest| rest.is_certain(name));
        let sample = if stands { settings.sample } else { settings.changed.or(settings.sample) };
        let chosen = chosen(names.iter().filter(is_open).cloned().collect(), settings.draw, sample);

        let queue = Queue { next: Mutex::new(chosen.iter()), noticed: Mutex::new(BTreeMap::new()) };
        let outcomes = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..settings.jobs.max(1) {
                scope.spawn(|| {
                    while let Some(name) = queue.next() {
                        let mut outcome = self.outcome(tested, settings, name, patience, queue.likely());
                        queue.note(&outcome);
                        if matches!(outcome, Ok(Outcome::Survived)) {
                            outcome = match known.and_then(|known| known.outcome(name)) {
                                Some(proven @ Outcome::Equivalent(_)) if proven.is_certain() => {
                                    Ok(proven.clone())
                                }
                                Some(_) => outcome,
                                None if settings.prove => self.prove(tested, settings, name),
                                None => outcome,
                            };
                        }
                        if let Ok(outcome) = &outcome {
                            progress(name, outcome);
                        }
                        if let Ok(mut outcomes) = outcomes.lock() {
                            outcomes.push((name.to_string(), outcome));
                        }
                    }
                });
            }
        });
        let outcomes = outcomes.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let outcomes = outcomes.into_iter().map(|(name, outcome)| Ok((name, outcome?)));
        let mut run = outcomes.collect::<Result<Vec<_>, RunError>>()?;
        let is_left = |(name, _): &&(String, Outcome)| !chosen.contains(name);
        run.extend(rest.iter().flat_map(|rest| rest.run.iter().filter(is_left).cloned()));
        run.sort_by(|a, b| a.0.cmp(&b.0));
        // What is taken over stays of what it was.
        let of = rest.map_or(of, |rest| rest.of.clone());
        Ok(Scored {
            score: Score { circuit: tested.circuit.into(), of, mutants: names.len(), run },
            names,
            stands,
        })
    }

    /// What the tests make of a mutant; `first` is run before the others.
    fn outcome(
        &self,
        tested: Tested,
        settings: &Settings,
        name: &str,
        patience: Duration,
        first: Option<String>,
    ) -> Result<Outcome, RunError> {
        let first = first.map(|test| self.one_test(tested, settings, &test));
        for mut command in first.into_iter().chain([self.command(tested, settings)]) {
            match finish(command.env(MUTANT, name).spawn()?, Some(patience))? {
                End::Failed(test) => return Ok(Outcome::Killed(test)),
                End::Endless(test) => return Ok(Outcome::Endless(test)),
                End::NoCircuit => return Ok(Outcome::NoCircuit),
                End::Passed => {}
            }
        }
        Ok(Outcome::Survived)
    }

    /// Whether a mutant that no test noticed is the same function in the sizes that the testbench elaborates.
    fn prove(&self, tested: Tested, settings: &Settings, name: &str) -> Result<Outcome, RunError> {
        let folder = scratch()?;
        let child = self.command(tested, settings).env(MUTANT, name).env(EXPORT, folder.path()).spawn()?;
        finish(child, None)?;
        Ok(match prove::all_same(folder.path())? {
            Proof::Same(how) => Outcome::Equivalent(how),
            Proof::Unknown => Outcome::Survived,
        })
    }
}

/// Mutants that wait to be run.
struct Queue<'a> {
    next: Mutex<std::slice::Iter<'a, String>>,
    /// How many each test has noticed: the one with most is likely to notice the next one too.
    noticed: Mutex<BTreeMap<String, usize>>,
}

impl<'a> Queue<'a> {
    fn next(&self) -> Option<&'a String> {
        self.next.lock().ok().and_then(|mut names| names.next())
    }

    fn likely(&self) -> Option<String> {
        let noticed = self.noticed.lock().ok()?;
        noticed.iter().max_by_key(|(_, count)| **count).map(|(test, _)| test.clone())
    }

    fn note(&self, outcome: &Result<Outcome, RunError>) {
        if let (Ok(Outcome::Killed(test)), Ok(mut noticed)) = (outcome, self.noticed.lock()) {
            *noticed.entry(test.clone()).or_default() += 1;
        }
    }
}

/// What a score is of: the circuit, its testbench with all that is beside it, and what mutates.
fn of(tested: Tested, modules: &BTreeSet<String>) -> String {
    let tests = format!("testbenches/tests/{}", tested.folder);
    let sources = warpfile_records::sources(&[&tests, "testbenches/src/mutation"]);
    let texts: Vec<&str> = modules.iter().chain([&sources]).map(String::as_str).collect();
    format!("{:016x}", warpfile_records::hash(&texts))
}

/// The mutants that are run: those whose hash with the number drawn is lowest.
fn chosen(mut names: Vec<String>, draw: u64, sample: Option<usize>) -> Vec<String> {
    let hash = |name: &String| {
        let mut hasher = XxHash64::with_seed(draw);
        hasher.write(name.as_bytes());
        hasher.finish()
    };
    names.sort_by_key(hash);
    names.truncate(sample.unwrap_or(usize::MAX));
    names
}

/// Processor time of the processes that have ended.
fn time_of_children() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(Duration::from_micros((usage.user_time() + usage.system_time()).num_microseconds() as u64))
}

/// Processor time of a process that runs.
fn time_of(child: &Child) -> io::Result<Duration> {
    Ok(clock_gettime(clock_getcpuclockid(Pid::from_raw(child.id() as i32))?)?.into())
}

/// Waits for a process, or ends it when it has taken more processor time than `patience`.
fn finish(mut child: Child, patience: Option<Duration>) -> Result<End, RunError> {
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None => match patience {
                Some(patience) if time_of(&child)? > patience => {
                    child.kill()?;
                    child.wait()?;
                    break None;
                }
                Some(_) | None => thread::sleep(LOOK),
            },
        }
    };
    let mut text = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut text)?;
    }
    Ok(match status {
        None => End::Endless(unfinished(&text)),
        Some(status) if status.success() => End::Passed,
        Some(status) if status.code() == Some(NO_CIRCUIT) => End::NoCircuit,
        Some(_) => End::Failed(unfinished(&text)),
    })
}

/// The test that did not pass, in what the tests print: `test parts::fifo::verilog ... ok`.
fn unfinished(text: &str) -> String {
    let tests = text.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ..."));
    tests
        .filter(|(_, result)| result.trim() != "ok")
        .map(|(name, _)| name.to_string())
        .next()
        .unwrap_or_default()
}

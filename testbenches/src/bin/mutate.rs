//! Runs the testbenches on mutants of their circuits and says how many they notice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use clap::Parser;
use warpfile_testbenches::mutation::circuits::{Tested, circuits};
use warpfile_testbenches::mutation::report::{Reasons, explain, json, line, page, reason};
use warpfile_testbenches::mutation::run::{Outcome, Score, Scored, Settings, Testbenches};

/// Kept scores are of the traffic of this seed.
const KEPT_SEED: u64 = 1;
/// Mutants between two lines about progress.
const PROGRESS: usize = 50;

/// Change circuits in one place and count how many changes their testbenches notice
#[derive(Parser)]
#[command(
    name = "mutate",
    after_help = "Examples:
  scripts/mutate fifo
  scripts/mutate --sample 20 --floor 95
  scripts/mutate --keep

Without --sample every mutant is run, which takes about an hour of processor time for all circuits. A mutant that no
test notices and that Yosys cannot prove equal is explained in testbenches/mutation/reasons.json, or a test is missing."
)]
struct Arguments {
    /// Circuits; without them, all that have a testbench
    circuits: Vec<String>,
    /// Run only this many mutants of each circuit
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Run so many instead of each circuit whose kept score is not of it and of its testbench as they are today
    #[arg(long, value_name = "N", requires = "sample")]
    changed: Option<usize>,
    /// Leave out mutants that were noticed or proven when the scores were kept last, and do not try again to prove the
    /// others. For new tests, new reasons and what a sample left out (with --sample, so many of it), not for changed
    /// circuits; one whose mutants have other names is run whole
    #[arg(long)]
    rest: bool,
    /// Run only mutants that testbenches/mutation/reasons.json explains, to see whether a test notices one
    #[arg(long, conflicts_with_all = ["rest", "keep", "floor"])]
    reasons: bool,
    /// Chooses the traffic, and without CI_SLICE_SEED in the environment the mutants
    #[arg(long, value_name = "N", default_value_t = KEPT_SEED)]
    seed: u64,
    /// Mutants that run at a time; 0 takes as many as there are cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    jobs: usize,
    /// Fail if a testbench notices less than this per cent; where only a sample says so, all mutants are run first
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    floor: f64,
    /// Keep the scores in testbenches/mutation/scores.json and docs/mutation.md, which are those of seed 1
    #[arg(long, conflicts_with = "seed")]
    keep: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("mutate: {message}");
            ExitCode::from(2)
        }
    }
}

/// Whether every score is at the floor or above.
fn run(arguments: &Arguments) -> Result<bool, String> {
    let chosen = chosen(&arguments.circuits)?;
    let jobs = match arguments.jobs {
        0 => available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let draw = match warpfile_records::seed() {
        none if none.is_empty() => arguments.seed,
        seed => warpfile_records::hash(&[&seed]),
    };
    let Arguments { sample, changed, seed, rest, .. } = *arguments;
    let settings = Settings { sample, changed, draw, seed, jobs, rest, prove: !arguments.reasons };
    let reasons = reasons()?;
    let kept = scores()?;
    let testbenches = Testbenches::build().map_err(|error| error.to_string())?;
    let mut is_high_enough = true;
    let mut wrong_reasons = Vec::new();
    for tested in chosen {
        let done = AtomicUsize::new(0);
        let progress = |name: &str, outcome: &Outcome| {
            let done = 1 + done.fetch_add(1, Ordering::Relaxed);
            if done.is_multiple_of(PROGRESS) {
                eprintln!("{}: {done} mutants", tested.circuit);
            }
            if *outcome == Outcome::Survived && reason(&reasons, tested.circuit, name).is_none() {
                eprintln!("{}: no test notices: {name}", tested.circuit);
            }
        };
        let kept = kept.get(tested.circuit).filter(|_| arguments.seed == KEPT_SEED || arguments.rest);
        let is_wanted = |name: &str| !arguments.reasons || reason(&reasons, tested.circuit, name).is_some();
        let run = |settings: &Settings| {
            let scored = testbenches.score(tested, settings, kept, is_wanted, &progress);
            let mut scored = scored.map_err(|error| error.to_string())?;
            let wrong = explain(&mut scored.score, &reasons);
            Ok::<_, String>((scored, wrong))
        };
        let (mut scored, mut wrong) = run(&settings)?;
        // Of thirty mutants two may be those that no test notices of hundreds: a few say nothing against a testbench.
        let before = verdict(&scored, kept);
        if before.run.len() < before.mutants && before.per_cent() < arguments.floor {
            println!("{}; all are run", line(&scored.score));
            done.store(0, Ordering::Relaxed);
            (scored, wrong) = run(&Settings { sample: None, changed: None, ..settings })?;
        }
        is_high_enough &= verdict(&scored, kept).per_cent() >= arguments.floor;
        let Scored { score, names, stands } = scored;
        let stale = stale(&reasons, tested.circuit, &names);
        wrong_reasons.extend(stale.iter().map(|name| format!("`{name}` is no mutant of {}", tested.circuit)));
        println!(
            "{}{}",
            line(&score),
            if stands { "" } else { "; the kept score is not of it as it is today" }
        );
        report(&score, &names, stands);
        for lost in kept.iter().filter(|_| stands).flat_map(|kept| score.lost(kept)) {
            eprintln!("{}: noticed when the score was kept, and not now: {lost}", tested.circuit);
            is_high_enough = false;
        }
        if arguments.keep {
            keep(score)?;
        }
        for (name, outcome) in wrong {
            let by = match outcome {
                Outcome::Killed(test) | Outcome::Endless(test) => format!("`{test}` notices"),
                _ => "no circuit any more is".to_owned(),
            };
            wrong_reasons.push(format!("{by} `{name}` of {}", tested.circuit));
        }
    }
    if !wrong_reasons.is_empty() {
        return Err(format!("{}: {}", reasons_file().display(), wrong_reasons.join("\n    ")));
    }
    if !is_high_enough {
        eprintln!("mutate: a score is below {} %, or below what was kept", arguments.floor);
    }
    Ok(is_high_enough)
}

/// Reasons of a circuit that none of its mutants has any more: they have other names now, or are gone.
fn stale<'r>(reasons: &'r Reasons, circuit: &str, mutants: &BTreeSet<String>) -> Vec<&'r String> {
    let is_stale = |&(pattern, why): &(&String, &String)| {
        let alone = BTreeMap::from([(pattern.clone(), why.clone())]);
        let alone = Reasons::from([(circuit.to_owned(), alone)]);
        !mutants.iter().any(|mutant| reason(&alone, circuit, mutant).is_some())
    };
    let of_circuit = reasons.get(circuit).into_iter().flatten();
    of_circuit.filter(is_stale).map(|(pattern, _)| pattern).collect()
}

/// What counts: a sample says less than the score of all mutants, if that is of the circuit as it is.
fn verdict<'s>(scored: &'s Scored, kept: Option<&'s Score>) -> &'s Score {
    let of_more = |kept: &&Score| scored.stands && kept.run.len() > scored.score.run.len();
    kept.filter(of_more).unwrap_or(&scored.score)
}

/// Says of every mutant whether it was run.
fn report(score: &Score, names: &BTreeSet<String>, stands: bool) {
    let run: BTreeSet<&String> = score.run.iter().map(|(name, _)| name).collect();
    for name in names {
        let word = match (run.contains(name), stands) {
            (true, true) => "drawn",
            (true, false) => "changed",
            (false, true) => "kept",
            (false, false) => "left",
        };
        warpfile_records::report(word, &format!("mutant {} {name}", score.circuit));
    }
}

fn chosen(names: &[String]) -> Result<Vec<Tested>, String> {
    if names.is_empty() {
        return Ok(circuits());
    }
    let find = |name: &String| {
        let known = || circuits().iter().map(|tested| tested.circuit).collect::<Vec<_>>().join(", ");
        let found = circuits().into_iter().find(|tested| tested.circuit == name);
        found.ok_or_else(|| format!("no circuit `{name}`; there are: {}", known()))
    };
    names.iter().map(find).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mutation")
}

fn reasons_file() -> PathBuf {
    folder().join("reasons.json")
}

fn reasons() -> Result<Reasons, String> {
    let file = reasons_file();
    let text =
        fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
}

fn scores_file() -> PathBuf {
    folder().join("scores.json")
}

/// The scores that were kept before.
fn scores() -> Result<BTreeMap<String, Score>, String> {
    let file = scores_file();
    match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display())),
        Err(_) => Ok(BTreeMap::new()),
    }
}

/// Puts the score beside those of the other circuits, and writes the page anew.
fn keep(score: Score) -> Result<(), String> {
    let mut scores = scores()?;
    scores.insert(score.circuit.clone(), score);
    replace(&scores_file(), &json(&scores).map_err(|error| error.to_string())?)?;
    let in_order: Vec<Score> =
        circuits().iter().filter_map(|tested| scores.get(tested.circuit).cloned()).collect();
    replace(&folder().join("../../docs/mutation.md"), &page(&in_order))
}

/// Writes a file under another name first.
fn replace(file: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    new.write_all(text.as_bytes()).map_err(failed)?;
    new.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}

//! The matrix: every workload, with addresses of 64 and of 32 bits, through every design, every operand compared, every result compared with the CPU reference.
//!
//! A run that has been made is kept as a line of JSON in a file, and is not made again by the same build; a matrix that was
//! interrupted goes on where it was. A line that was cut off is dropped.

mod page;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;
use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::workloads::{self, AddressBits, OpenWorkload, RecordedWorkload, Workload};
use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::Registry;
use warpfile_sim::sm::{RunOptions, RunReport, run};

pub use page::page;

/// The design that every other is compared with, on the same machine.
const BASELINE: &str = "baseline";

/// A workload through a design on a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// The machine: a preset.
    pub preset: String,
    /// The design.
    pub design: String,
    /// The workload.
    pub workload: String,
    /// Bits of an address in its PTX.
    pub addresses: AddressBits,
}

/// What came of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which entry.
    #[serde(flatten)]
    pub entry: Entry,
    /// Size of the workload.
    pub size: String,
    /// What made it: a hash of the program.
    pub build: u64,
    /// Cycles of all launches.
    pub cycles: u64,
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// Operands compared with the kernel's values, in warp operands.
    pub operands_checked: u64,
    /// Elements of result buffers that equal the CPU reference's.
    pub elements_checked: u64,
    /// Time it took, s.
    pub seconds: f64,
    /// What was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Every workload through every design that has a name, on the preset of its paper, and through the baseline on each of
/// these machines.
pub fn entries() -> Vec<Entry> {
    let registry = Registry::shipped();
    let mut machines: Vec<(String, String)> = Vec::new();
    for stack in registry.stacks() {
        let Some(preset) = stack.preset() else { continue };
        for design in [BASELINE, stack.as_str()] {
            machines.push((preset.to_owned(), design.to_owned()));
        }
    }
    machines.sort();
    machines.dedup();
    let of = |(preset, design): &(String, String)| {
        let (preset, design) = (preset.clone(), design.clone());
        let entry = move |workload: &Workload, addresses| Entry {
            preset: preset.clone(),
            design: design.clone(),
            workload: workload.name.to_owned(),
            addresses,
        };
        let both = |workload| AddressBits::ALL.map(|addresses| entry(workload, addresses));
        workloads::list().iter().flat_map(both).collect::<Vec<_>>()
    };
    machines.iter().flat_map(of).collect()
}

/// So many of the entries, drawn by a seed.
pub fn sample(entries: Vec<Entry>, count: usize, seed: &str) -> Vec<Entry> {
    let key = |entry: &Entry| {
        let mut hasher = XxHash64::with_seed(0);
        hasher.write(format!("{seed} {entry:?}").as_bytes());
        hasher.finish()
    };
    let mut drawn = entries;
    drawn.sort_by_key(key);
    drawn.truncate(count);
    drawn.sort();
    drawn
}

/// A hash of the running program: what another build made says nothing of this one.
///
/// # Errors
/// The program's file cannot be read.
pub fn build() -> io::Result<u64> {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(&fs::read(std::env::current_exe()?)?);
    Ok(hasher.finish())
}

/// A workload at a size, executed once for all entries that it is in.
struct Shared {
    workload: String,
    addresses: AddressBits,
    size: String,
    recorded: OnceLock<Result<RecordedWorkload, String>>,
}

impl Shared {
    fn new(workload: &str, addresses: AddressBits, size: &str) -> Shared {
        let (workload, size) = (workload.to_owned(), size.to_owned());
        Shared { workload, addresses, size, recorded: OnceLock::new() }
    }

    fn open(&self) -> Result<OpenWorkload, String> {
        let workload = workloads::by_name(&self.workload).map_err(|error| error.to_string())?;
        workload.open_with(&self.size, self.addresses).map_err(|error| error.to_string())
    }

    /// The workload as it is compiled for most designs, executed by whoever asks first.
    fn recorded(&self) -> Result<&RecordedWorkload, String> {
        let record = || self.open().map(OpenWorkload::record);
        self.recorded.get_or_init(record).as_ref().map_err(Clone::clone)
    }

    /// Runs the workload, compiled for the design; how many elements of its results were right.
    fn run(&self, config: &Config) -> Result<(RunReport, u64), Box<dyn std::error::Error>> {
        let usual = CompileOptions::default();
        let code = config.design.code(config, usual);
        if code == usual {
            let recorded = self.recorded()?;
            let report = run(config, &mut recorded.replay(), RunOptions::default())?;
            return Ok((report, recorded.check_results()?.elements));
        }
        let mut open = self.open()?;
        open.set_options(code);
        let report = run(config, &mut open, RunOptions::default())?;
        Ok((report, open.check_results()?.elements))
    }
}

/// Runs an entry.
fn make(entry: &Entry, shared: &Shared, build: u64) -> Outcome {
    let begin = Instant::now();
    let mut outcome = Outcome {
        entry: entry.clone(),
        size: shared.size.clone(),
        build,
        cycles: 0,
        warp_instructions: 0,
        operands_checked: 0,
        elements_checked: 0,
        seconds: 0.0,
        error: None,
    };
    if let Err(error) = simulate(shared, &mut outcome) {
        outcome.error = Some(error.to_string());
    }
    outcome.seconds = begin.elapsed().as_secs_f64();
    outcome
}

fn simulate(shared: &Shared, outcome: &mut Outcome) -> Result<(), Box<dyn std::error::Error>> {
    let Entry { preset: name, design, .. } = &outcome.entry;
    let config: Config = preset(name)?.with_design(design)?;
    let (report, elements) = shared.run(&config)?;
    outcome.cycles = report.cycles;
    outcome.warp_instructions = report.warp_instructions;
    outcome.operands_checked = report.operands_checked;
    outcome.elements_checked = elements;
    if outcome.operands_checked == 0 {
        return Err("no operand was compared".into());
    }
    if outcome.elements_checked == 0 {
        return Err("no result was compared".into());
    }
    Ok(())
}

/// Outcomes that are kept in a file, those of this build and size.
///
/// # Errors
/// The file cannot be read.
pub fn kept(path: &Path, size: &str, build: u64) -> io::Result<Vec<Outcome>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let outcomes = text.lines().filter_map(|line| serde_json::from_str::<Outcome>(line).ok());
    let mut by_entry = BTreeMap::new();
    for outcome in outcomes.filter(|outcome| outcome.build == build && outcome.size == size) {
        by_entry.insert(outcome.entry.clone(), outcome);
    }
    Ok(by_entry.into_values().collect())
}

/// Runs what is not kept yet, several at a time; `seen` is told of each with how many are done of how many.
///
/// # Errors
/// The file cannot be written.
pub fn complete(
    entries: &[Entry],
    (size, build): (&str, u64),
    path: Option<&Path>,
    threads: usize,
    seen: &(dyn Fn(&Outcome, usize, usize) + Sync),
) -> io::Result<Vec<Outcome>> {
    let mut outcomes = path.map_or(Ok(Vec::new()), |path| kept(path, size, build))?;
    outcomes.retain(|outcome| entries.contains(&outcome.entry));
    let left = entries.iter().filter(|entry| outcomes.iter().all(|outcome| outcome.entry != **entry));
    let mut by_workload: BTreeMap<(&str, AddressBits), Vec<&Entry>> = BTreeMap::new();
    for entry in left {
        by_workload.entry((&entry.workload, entry.addresses)).or_default().push(entry);
    }
    // One workload after the other: what it does is forgotten with its last entry.
    let jobs = by_workload.into_iter().flat_map(|((workload, addresses), entries)| {
        let shared = Arc::new(Shared::new(workload, addresses, size));
        entries.into_iter().map(move |entry| (entry, shared.clone()))
    });
    let jobs = Mutex::new(jobs);
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let file = path.map(appending).transpose()?;
    let made = Mutex::new((file, Vec::new(), Ok(())));
    let before = outcomes.len();
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((entry, shared)) = next() {
                    let outcome = make(entry, &shared, build);
                    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                    let (file, outcomes, result) = &mut *made;
                    if let Some(file) = file {
                        let line = serde_json::to_string(&outcome).unwrap_or_default();
                        let written = writeln!(file, "{line}").and_then(|()| file.flush());
                        *result = std::mem::replace(result, Ok(())).and(written);
                    }
                    outcomes.push(outcome);
                    if let Some(outcome) = outcomes.last() {
                        seen(outcome, before + outcomes.len(), entries.len());
                    }
                }
            });
        }
    });
    let (_, made, result) = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    result?;
    outcomes.extend(made);
    outcomes.sort_by(|a, b| a.entry.cmp(&b.entry));
    Ok(outcomes)
}

/// A file to append lines to; one that was cut off in a line gets the end of it.
fn appending(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if !fs::read(path)?.ends_with(b"\n") && file.metadata()?.len() > 0 {
        writeln!(file)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn entry(design: &str) -> Entry {
        Entry {
            preset: "gebhart2011".into(),
            design: design.into(),
            workload: "vectoradd".into(),
            addresses: AddressBits::Bits64,
        }
    }

    #[test]
    fn every_design_and_every_workload_is_in_the_matrix() {
        let entries = entries();
        for (design, ..) in Registry::shipped().designs() {
            let of_design = entries.iter().filter(|entry| entry.design == design);
            let mut names: Vec<&str> = of_design.map(|entry| entry.workload.as_str()).collect();
            names.dedup();
            assert!(workloads::list().iter().all(|workload| names.contains(&workload.name)), "{design}");
        }
        let machines: Vec<&str> = entries.iter().map(|entry| entry.preset.as_str()).collect();
        let is_beside =
            |preset: &&str| entries.iter().any(|entry| entry.design == BASELINE && entry.preset == **preset);
        assert!(machines.iter().all(is_beside));
    }

    #[test]
    fn other_seeds_draw_other_entries_and_all_in_the_end() {
        assert_eq!(sample(entries(), 5, "1"), sample(entries(), 5, "1"));
        assert_ne!(sample(entries(), 5, "1"), sample(entries(), 5, "2"));
        // Enough for three draws of each on average: nineteen in twenty come.
        let draws = 3 * entries().len() / 50 + 1;
        let mut seen: Vec<Entry> =
            (0..draws).flat_map(|seed| sample(entries(), 50, &seed.to_string())).collect();
        seen.sort();
        seen.dedup();
        assert!(seen.len() > entries().len() * 9 / 10, "{} of {}", seen.len(), entries().len());
    }

    #[test]
    fn what_is_kept_is_not_made_again_and_a_line_cut_off_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/results.jsonl");
        let all = [entry("baseline"), entry("rfc")];
        let made = AtomicUsize::new(0);
        let complete = |build| {
            made.store(0, Ordering::Relaxed);
            let seen = |_: &Outcome, _, _| {
                made.fetch_add(1, Ordering::Relaxed);
            };
            let outcomes = complete(&all, ("tiny", build), Some(&path), 2, &seen).unwrap();
            assert!(
                outcomes.iter().all(|outcome| outcome.error.is_none() && outcome.cycles > 0),
                "{outcomes:?}"
            );
            assert_eq!(outcomes.len(), 2);
            made.load(Ordering::Relaxed)
        };
        assert_eq!((complete(1), complete(1)), (2, 0));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 9]).unwrap();
        assert_eq!((complete(1), complete(1)), (1, 0));
        assert_eq!(complete(2), 2, "another build");
    }

    #[test]
    fn a_run_that_fails_is_an_outcome_with_its_error() {
        let wrong = Entry { design: "regless".into(), ..entry("") };
        let outcome = make(&wrong, &Shared::new(&wrong.workload, wrong.addresses, "tiny"), 1);
        assert!(outcome.error.is_some_and(|error| error.contains("gtx980-gpgpusim")));
        assert!(
            make(&entry("rfc"), &Shared::new("vectoradd", AddressBits::Bits32, "huge"), 1).error.is_some()
        );
    }
}

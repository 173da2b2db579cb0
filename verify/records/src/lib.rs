//! Results of long checks that stand while what they are of stays the same.
//!
//! A proof, a map onto standard cells, a circuit beside its Verilog from fixed seeds: each gives the same result again as
//! long as the circuit, the code that checks it and the tools are the same. A record is a line of `verify/records.txt`:
//! kind of check, name, and a hash of all that decides its result. [`check`] runs a check again if there is no such line,
//! or if it is drawn: one in [`PARTS`] of all that have a record, by a seed that changes with every commit.
//!
//! Each check adds a line to the file that [`REPORT`] names, with a word in front: `changed` (no record, run), `drawn` (run
//! in spite of its record), `kept` (stands on its record), `left` (no record, too long to be run here). `scripts/test`
//! counts them in its last lines and makes `verify/records.txt` of them.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, OpenOptions};
use std::hash::Hasher as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use twox_hash::XxHash64;

/// Environment variable: what the draw follows from; any text.
pub const SEED: &str = "CI_SLICE_SEED";
/// Environment variable: one check in so many is drawn, [`DEFAULT_PARTS`] if it is not set; 1 runs all.
pub const PARTS: &str = "CI_SLICE_PARTS";
/// One check in so many is drawn.
pub const DEFAULT_PARTS: u64 = 8;
/// Environment variable: the file that each check adds a line to.
pub const REPORT: &str = "CI_CHECKS";

/// What a record says of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no record of it as it is today.
    Changed,
    /// There is one, and it is run all the same.
    Drawn,
    /// There is one.
    Kept,
}

/// Runs a check unless a record stands for it; `of` are all texts that decide its result, and `run` panics if it fails.
///
/// # Panics
/// If the records cannot be read, or [`PARTS`] is not a number from 1.
pub fn check(kind: &str, name: &str, of: &[&str], run: impl FnOnce()) {
    let line = line(kind, name, of);
    let word = match standing(&line, &kept(), &seed(), parts()) {
        Standing::Changed => {
            run();
            "changed"
        }
        Standing::Drawn => {
            run();
            "drawn"
        }
        Standing::Kept => "kept",
    };
    report(word, &line);
}

/// Says whether a record stands for a check that takes too long to be run here.
///
/// # Panics
/// If the records cannot be read.
pub fn look(kind: &str, name: &str, of: &[&str]) {
    let line = line(kind, name, of);
    report(if kept().contains(&line) { "kept" } else { "left" }, &line);
}

/// What is to be done about the check with this line.
pub fn standing(line: &str, kept: &BTreeSet<String>, seed: &str, parts: u64) -> Standing {
    if !kept.contains(line) {
        Standing::Changed
    } else if XxHash64::oneshot(0, format!("{seed} {line}").as_bytes()).is_multiple_of(parts) {
        Standing::Drawn
    } else {
        Standing::Kept
    }
}

/// The line of a record.
pub fn line(kind: &str, name: &str, of: &[&str]) -> String {
    format!("{kind} {name} {:016x}", hash(of))
}

/// A hash of texts in their order.
pub fn hash(texts: &[&str]) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    for text in texts {
        hasher.write_usize(text.len());
        hasher.write(text.as_bytes());
    }
    hasher.finish()
}

/// A hash of files of the repository, and of all files below folders of it: of the code that checks. Lines of comments do
/// not count.
///
/// # Panics
/// If there is no such file or folder.
pub fn sources(paths: &[&str]) -> String {
    let mut files = Vec::new();
    paths.iter().for_each(|path| files_at(&root(), Path::new(path), &mut files));
    files.sort();
    let texts: Vec<&str> = files.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]).collect();
    format!("{:016x}", hash(&texts))
}

/// Adds path in the repository and text of a file, or of all files below a folder.
fn files_at(root: &Path, path: &Path, files: &mut Vec<(String, String)>) {
    let unreadable = |error: io::Error| -> ! { panic!("cannot read {}: {error}", root.join(path).display()) };
    if root.join(path).is_dir() {
        for entry in fs::read_dir(root.join(path)).unwrap_or_else(|error| unreadable(error)) {
            let name = entry.unwrap_or_else(|error| unreadable(error)).file_name();
            files_at(root, &path.join(name), files);
        }
    } else {
        let text = fs::read(root.join(path)).unwrap_or_else(|error| unreadable(error));
        files.push((path.display().to_string(), without_comments(&String::from_utf8_lossy(&text))));
    }
}

fn without_comments(text: &str) -> String {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect()
}

/// The first line that a tool prints about itself.
///
/// # Panics
/// If it cannot be run.
pub fn version(tool: &str, argument: &str) -> String {
    let output = Command::new(tool).arg(argument).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run `{tool} {argument}`: {error}"));
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All records.
fn kept() -> BTreeSet<String> {
    let path = root().join("verify/records.txt");
    let text = fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// What draws follow from; nothing if it is not set.
pub fn seed() -> String {
    env::var(SEED).unwrap_or_default()
}

fn parts() -> u64 {
    let Ok(text) = env::var(PARTS) else { return DEFAULT_PARTS };
    let parts = text.parse().ok().filter(|parts| *parts > 0);
    parts.unwrap_or_else(|| panic!("{PARTS} is `{text}`; accepted: a number from 1"))
}

/// Adds a line to the report, if there is one.
///
/// # Panics
/// If the report cannot be written.
pub fn report(word: &str, line: &str) {
    let Some(path) = env::var_os(REPORT).map(PathBuf::from) else { return };
    let line = format!("{word} {line}\n");
    let file = OpenOptions::new().create(true).append(true).open(&path);
    // In one piece: other tests write beside this one.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_of(lines: &[String]) -> BTreeSet<String> {
        lines.iter().cloned().collect()
    }

    #[test]
    fn a_check_is_run_when_anything_that_decides_it_is_not_what_it_was() {
        let kept = kept_of(&[line("proof", "fifo", &["circuit", "tool 1"])]);
        let of = |of: &[&str]| standing(&line("proof", "fifo", of), &kept, "seed", u64::MAX);
        assert_eq!(of(&["circuit", "tool 1"]), Standing::Kept);
        assert_eq!(of(&["circuit!", "tool 1"]), Standing::Changed);
        assert_eq!(of(&["circuit", "tool 2"]), Standing::Changed);
        // Neither does it matter to another check that the same was found here.
        let other = line("lint", "fifo", &["circuit", "tool 1"]);
        assert_eq!(standing(&other, &kept, "seed", u64::MAX), Standing::Changed);
    }

    #[test]
    fn texts_are_not_run_together() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }

    #[test]
    fn every_record_is_drawn_by_some_seed_and_all_by_one_part() {
        let lines: Vec<String> = (0..40).map(|i| line("area", &format!("circuit {i}"), &[])).collect();
        let kept = kept_of(&lines);
        let drawn = |seed: &str, parts| -> BTreeSet<&String> {
            lines.iter().filter(|line| standing(line, &kept, seed, parts) == Standing::Drawn).collect()
        };
        assert_eq!(drawn("any", 1).len(), lines.len());
        assert_eq!(drawn("5", DEFAULT_PARTS), drawn("5", DEFAULT_PARTS));
        let seeds: Vec<String> = (0..100).map(|seed| seed.to_string()).collect();
        let all: BTreeSet<&String> = seeds.iter().flat_map(|seed| drawn(seed, DEFAULT_PARTS)).collect();
        assert_eq!(all.len(), lines.len());
        assert!(drawn("5", DEFAULT_PARTS).len() < lines.len() / 2);
    }

    #[test]
    fn comments_decide_nothing() {
        assert_eq!(without_comments("//! A\nlet a = 1; // b\n    /// C\n"), "let a = 1; // b\n");
    }

    #[test]
    fn sources_are_all_files_below_a_folder() {
        assert_ne!(sources(&["verify/records"]), sources(&["verify/records/src"]));
        assert_eq!(sources(&["verify/records/src"]), sources(&["verify/records/src/lib.rs"]));
    }
}

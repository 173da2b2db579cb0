//! Tells the command which commit it is built from, if it is built from a checkout of its repository.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::Command;

/// What of the repository is in the command.
const SOURCES: [&str; 16] = [
    "Cargo.lock",
    "Cargo.toml",
    "cli/Cargo.toml",
    "cli/src",
    "gen/src",
    "hdl/macros/src",
    "hdl/src",
    "kernels/src",
    "kernels/workloads",
    "sim/engine/src",
    "sim/presets",
    "sim/src",
    "sim/technologies",
    "synthesis/src",
    "verify/records/src",
    "verify/src",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    println!("cargo::rerun-if-changed=build.rs");
    let Some(commit) = commit(&root) else { return };
    println!("cargo::rustc-env=WARPFILE_COMMIT={commit}");
    // Every commit adds a line to the log of HEAD, and an edit makes the checkout differ from its commit.
    let logs = git(&root, &["rev-parse", "--git-path", "logs/HEAD"]).map(|path| root.join(path));
    let watched = logs.into_iter().chain(SOURCES.iter().map(|source| root.join(source)));
    // What is missing would count as changed each time.
    let watched = watched.filter(|path| path.exists());
    watched.for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
}

/// The commit; if a source differs from it, `-dirty-` and a hash of what differs behind it.
fn commit(root: &Path) -> Option<String> {
    // The sources may lie inside of somebody else's repository.
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let of_sources = |arguments: &[&str]| git(root, &[arguments, &["--"], &SOURCES].concat());
    let changes = of_sources(&["--no-optional-locks", "diff", "HEAD", "--binary", "--no-ext-diff"])?;
    let new = of_sources(&["ls-files", "--others", "--exclude-standard"])?;
    if changes.is_empty() && new.is_empty() {
        return Some(commit);
    }
    // Its keys are always the same, so that the same changes have the same hash.
    let mut hasher = DefaultHasher::new();
    changes.hash(&mut hasher);
    for file in new.lines() {
        (file, fs::read(root.join(file)).ok()).hash(&mut hasher);
    }
    Some(format!("{commit}-dirty-{:016x}", hasher.finish()))
}

/// What git answers; `None` without git, or outside of a repository.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

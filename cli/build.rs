//! Tells the command which commit it is built from, if it is built from a checkout of its repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of the repository whose content is in the command.
const SOURCES: [&str; 7] = ["cli", "gen", "hdl", "kernels", "sim", "synthesis", "verify"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    println!("cargo::rerun-if-changed=build.rs");
    let Some(commit) = commit(&root) else { return };
    println!("cargo::rustc-env=WARPFILE_COMMIT={commit}");
    // Every commit adds a line to the log of HEAD, and an edit makes the checkout differ from its commit.
    let logs = git(&root, &["rev-parse", "--git-path", "logs/HEAD"]).map(|path| root.join(path));
    let sources = SOURCES.iter().map(|folder| root.join(folder).join("src"));
    let watched = logs.into_iter().chain(sources).filter(|path: &PathBuf| path.exists());
    watched.for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
}

/// The commit, with `-dirty` behind it if a file differs from it.
fn commit(root: &Path) -> Option<String> {
    // The sources may lie inside of somebody else's repository.
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let changes = git(root, &["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// What git answers; `None` without git, or outside of a repository.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

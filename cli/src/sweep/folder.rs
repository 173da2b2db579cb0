//! The folder of the results: `runs/` with a file for each run, which is there whole or not at all and never changes.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::files::{Output, OutputFolder};

/// The folder of the runs' files within that of the results.
pub const RUNS: &str = "runs";
/// What the name of a run's file ends with, after its identity.
const ENDING: &str = ".json";

/// The folder.
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes it if there is none.
    pub fn create(path: &Path) -> anyhow::Result<RunFolder> {
        OutputFolder::create(&path.join(RUNS))?.keep();
        Ok(RunFolder { path: path.to_path_buf() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The runs that are there.
    pub fn runs(&self) -> anyhow::Result<BTreeSet<String>> {
        runs_in(&self.path)
    }

    /// The file of a run.
    pub fn file(&self, run: &str) -> PathBuf {
        file(&self.path, run)
    }

    /// Adds a run. Once this returns the file outlasts whatever ends the process or the machine.
    pub fn add(&self, run: &str, text: &str) -> anyhow::Result<()> {
        let mut output = Output::create(&self.file(run))?;
        output.write(text)?;
        output.publish_durably()
    }
}

/// The file of a run in a folder of results.
pub fn file(folder: &Path, run: &str) -> PathBuf {
    folder.join(RUNS).join(format!("{run}{ENDING}"))
}

/// The runs that are in a folder of results; none if there is no such folder.
pub fn runs_in(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let folder = folder.join(RUNS);
    let context = || format!("{}: cannot be read", folder.display());
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(error).with_context(context),
    };
    let mut runs = BTreeSet::new();
    for entry in entries {
        let name = entry.with_context(context)?.file_name();
        // What is unfinished has another name.
        let run = name.to_str().and_then(|name| name.strip_suffix(ENDING));
        runs.extend(run.filter(|run| run.chars().all(|c| c.is_ascii_hexdigit())).map(str::to_owned));
    }
    Ok(runs)
}

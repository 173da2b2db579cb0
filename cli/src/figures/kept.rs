//! Runs that figures have in common: each is made once, and kept in a folder if one is asked for.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use warpfile_sim::sm::{EngineName, KeptReport, RunReport};

use super::sweep::{Ran, Setup};
use crate::files::{Output, OutputFolder};
use crate::identity::{kernel_hash, run_hash};
use crate::input::Source;
use crate::simulate::Setting;

/// What the name of a run's file ends with, after its identity: another than a sweep's, whose runs have another shape.
const ENDING: &str = ".run.json";

/// Runs that have been made, by what determines them.
pub struct KeptRuns {
    engine: EngineName,
    made: Mutex<BTreeMap<String, RunReport>>,
    folder: Option<PathBuf>,
}

impl KeptRuns {
    /// Runs on an engine; with those that are in the folder, if there is one, which is made if it is missing.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(engine: EngineName, folder: Option<&Path>) -> Result<KeptRuns> {
        if let Some(folder) = folder {
            OutputFolder::create(folder)?.keep();
        }
        Ok(KeptRuns { engine, made: Mutex::default(), folder: folder.map(Path::to_path_buf) })
    }

    /// The run of a workload under a configuration, made now if it has not been; a run that fails is not kept.
    ///
    /// # Errors
    /// The run fails, or its file cannot be read or written.
    pub fn get(
        &self,
        source: &Source<'_>,
        setup: &Setup,
        simulate: impl FnOnce() -> Result<RunReport>,
    ) -> Result<Ran> {
        let setting = Setting { seed: 0, check_seeds: 0, engine: self.engine };
        let run = run_hash(source.input(), &kernel_hash(source.input())?, &setup.key(), setting, false);
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made().get(&run).cloned();
        let known = match known {
            Some(report) => Some(report),
            None => self.file(&run).map(|file| read(&file, setup)).transpose()?.flatten(),
        };
        let is_new = known.is_none();
        let report = known.map_or_else(simulate, Ok)?;
        if let Some(file) = self.file(&run).filter(|_| is_new) {
            write(&file, &report)?;
        }
        made().insert(run, report.clone());
        Ok(Ran { report, is_new })
    }

    fn file(&self, run: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{run}{ENDING}")))
    }
}

/// A run that is there; `None` if it is not.
fn read(file: &Path, setup: &Setup) -> Result<Option<RunReport>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("{}: cannot be read", file.display())),
    };
    let context =
        || format!("{}: not a run that --runs has kept; without the file it is made again", file.display());
    let kept: KeptReport = serde_json::from_str(&text).with_context(context)?;
    Ok(Some(kept.report(&setup.config.design).with_context(context)?))
}

/// Writes a run: whole or not at all, and to stay.
fn write(file: &Path, report: &RunReport) -> Result<()> {
    let mut output = Output::create(file)?;
    output.write(&(serde_json::to_string(&KeptReport::new(report))? + "\n"))?;
    output.publish_durably()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroU64;

    use warpfile_kernels::exec::ExecOptions;
    use warpfile_kernels::workloads;

    use super::*;
    use crate::code::Code;
    use crate::figures::{Method, Variation, by_id, simulate};
    use crate::input::Input;

    /// Every named design, each on one machine that carries it.
    fn setups() -> Vec<Setup> {
        let Method::Runs { points, .. } = by_id("all-designs").expect("known").method else {
            panic!("all-designs is made of runs")
        };
        let mut seen = BTreeSet::new();
        let config = |point| Variation::of("tiny", &[]).config(&point).expect("valid");
        let configs = points().into_iter().map(config);
        let configs: Vec<_> = configs.filter(|config| seen.insert(config.design.to_string())).collect();
        assert!(configs.len() > 12, "{seen:?}");
        configs.into_iter().map(|config| Setup { config, working_set_window: NonZeroU64::new(100) }).collect()
    }

    #[test]
    fn the_report_of_every_design_is_read_as_it_was_made() {
        let workload = workloads::by_name("vectoradd").expect("known");
        let input = Input::Workload { workload, size: "tiny".to_owned(), code: Code::default() };
        let folder = tempfile::tempdir().expect("a folder");
        let engine = EngineName::default();
        for setup in setups() {
            let source = Source::new(&input, ExecOptions::default()).for_design(&setup.config);
            let get = |simulate: &dyn Fn() -> Result<RunReport>| {
                let runs = KeptRuns::new(engine, Some(folder.path())).expect("a folder");
                runs.get(&source, &setup, simulate).expect("a run")
            };
            let made = get(&|| simulate(&source, &setup, engine));
            let read = get(&|| anyhow::bail!("it is there"));
            assert_eq!((made.is_new, read.is_new), (true, false), "{}", setup.config.design);
            assert!(made.report == read.report, "{}", setup.config.design);
            assert_eq!(serde_json::to_string(&made.report).ok(), serde_json::to_string(&read.report).ok());
        }
    }
}

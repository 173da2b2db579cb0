//! One of the two results that are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::bail;

use crate::results::{Measured, plain, read_document};
use crate::run::REPORT;
use crate::sweep::folder;

/// Results, by what they are of.
pub struct Side {
    /// Every design on every kernel that it holds.
    pub runs: Vec<Measured>,
}

/// What a run is told apart by from others of its side: kernel, size, design, and the settings that have several values.
pub type Key = Vec<(String, String)>;

impl Side {
    /// A report, a folder with one, or a folder of a sweep.
    ///
    /// # Errors
    /// It is none of these, or cannot be read.
    pub fn read(path: &Path) -> anyhow::Result<Side> {
        let runs = folder::runs_in(path).unwrap_or_default();
        let report = path.join(REPORT);
        let documents = match (runs.is_empty(), report.is_file()) {
            (false, _) => runs.iter().map(|run| folder::file(path, run)).collect(),
            (true, true) => vec![report],
            (true, false) if path.is_file() => vec![path.to_path_buf()],
            (true, false) => bail!(
                "{}: no results; accepted: a folder of `warpfile sweep` or of `warpfile run --out`, or its {REPORT}",
                path.display()
            ),
        };
        let runs =
            documents.iter().map(|document| read_document(document)).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Side { runs: runs.concat() })
    }

    /// Every value of each setting.
    pub fn values(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (name, value) in self.runs.iter().flat_map(|run| &run.settings) {
            values.entry(name).or_default().insert(plain(value));
        }
        values
    }

    /// The runs by what they are told apart by; `axes` are the settings that have several values.
    ///
    /// # Errors
    /// Two cannot be told apart.
    pub fn by_key(&self, axes: &[&str]) -> anyhow::Result<BTreeMap<Key, &Measured>> {
        let mut runs = BTreeMap::new();
        for run in &self.runs {
            let key = key(run, axes);
            let told = told(&key);
            if let Some(other) = runs.insert(key, run)
                && other != run
            {
                bail!(
                    "two runs are told apart by nothing but the text of their kernel: {told}; accepted: results of one \
                     version of each kernel"
                );
            }
        }
        Ok(runs)
    }
}

fn key(run: &Measured, axes: &[&str]) -> Key {
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut key = vec![named("kernel", &run.kernel)];
    key.extend(run.size.iter().map(|size| named("size", size)));
    key.push(named("design", &run.design));
    let setting = |&name: &&str| Some(named(name, &plain(run.settings.get(name)?)));
    key.extend(axes.iter().filter_map(setting));
    key
}

/// A key in words: `kernel=hotspot size=tiny design=rfc rfc.entries=4`.
pub fn told(key: &Key) -> String {
    key.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

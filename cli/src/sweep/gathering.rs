//! `results.csv` and `results.parquet`: a row for each run that is in a folder, whoever has made it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;

use super::folder::RunFolder;
use super::parquet;
use super::table::Table;
use crate::files::Output;
use crate::results::{Measured, read_document};

/// The files.
const CSV: &str = "results.csv";
const PARQUET: &str = "results.parquet";

/// What is in a folder.
pub struct Gathered {
    /// The files with a row for each run.
    pub files: [PathBuf; 2],
    /// The runs.
    pub runs: Vec<Measured>,
    /// Runs that have ended in an error, with the error.
    failed: BTreeMap<String, String>,
}

impl Gathered {
    /// What is said of those among some runs that have ended in an error.
    pub fn errors<'r>(&self, runs: impl Iterator<Item = &'r str>) -> Vec<String> {
        runs.filter_map(|run| self.failed.get(run).cloned()).collect()
    }
}

/// Makes the tables of all runs that are in a folder.
///
/// # Errors
/// A file cannot be read or written.
pub fn gather(folder: &RunFolder) -> anyhow::Result<Gathered> {
    let mut there = folder.runs()?;
    loop {
        let gathered = tables(folder, there.iter().map(String::as_str))?;
        // Another shard may have added a run and made its tables before these, which are without that run.
        let now = folder.runs()?;
        if now == there {
            return Ok(gathered);
        }
        there = now;
    }
}

fn tables<'r>(folder: &RunFolder, runs: impl Iterator<Item = &'r str>) -> anyhow::Result<Gathered> {
    let mut measured: Vec<Measured> = Vec::new();
    for run in runs {
        let of_run = read_document(&folder.file(run))
            .context("a run cannot be read; remove its file, and it is made again")?;
        measured.extend(of_run);
    }
    let error = |run: &Measured| {
        let error = format!("{} with {}: {}", run.kernel, run.design, run.error.as_ref()?);
        Some((run.run.clone()?, error))
    };
    let failed = measured.iter().filter_map(error).collect();
    let table = Table::new(measured.clone());
    let files = [CSV, PARQUET].map(|name| folder.path().join(name));
    let mut csv = Output::create(&files[0])?;
    csv.write(&table.to_csv()?)?;
    let mut columns = Output::create(&files[1])?;
    let context = || format!("cannot write {}", files[1].display());
    parquet::write(&table, columns.file()).with_context(context)?;
    csv.publish()?;
    columns.publish()?;
    Ok(Gathered { files, runs: measured, failed })
}

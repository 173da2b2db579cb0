//! Figures and tables of the papers, each printed beside what the model gives.

use std::path::PathBuf;

use anyhow::bail;

/// A figure that can be asked for.
pub struct Figure {
    /// As on the command line: `gebhart-6`.
    pub id: &'static str,
    /// What it shows, one line.
    pub title: &'static str,
}

/// How a figure is made.
#[expect(dead_code, reason = "read by the figures")]
pub struct Options {
    /// Size of the workloads: `tiny`, `default` or `large`.
    pub size: String,
    /// Print one JSON document instead of a table.
    pub json: bool,
    /// Folder that keeps the table, the JSON and the SVG chart.
    pub out: Option<PathBuf>,
}

/// All figures, in the order of the papers.
pub fn list() -> Vec<Figure> {
    Vec::new()
}

/// Makes a figure and prints it.
///
/// # Errors
/// No figure has this id, or a run of it fails.
pub fn run(id: &str, options: &Options) -> anyhow::Result<()> {
    let known: Vec<&str> = list().iter().map(|figure| figure.id).collect();
    bail!("no figure `{id}` at size {}; there are: {}", options.size, known.join(", "))
}

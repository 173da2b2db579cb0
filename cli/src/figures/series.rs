//! Quantities with a value for each workload: their averages, tables and charts.

use super::chart::{Bars, Chart, Plot};
use super::report::{Cell, Table};
use super::statistics::{geometric_mean, mean};
use super::sweep::{Results, Run};

/// What is `hotspot` once more: it has rows, but is not in averages, where hotspot counts once.
const SECOND_VERSIONS: [&str; 1] = ["hotspot-registers"];

/// What has a value in a series each: workloads, or parts of them.
pub trait Rows {
    /// Their names, in the order of the values.
    fn names(&self) -> Vec<&str>;
}

impl Rows for Results {
    fn names(&self) -> Vec<&str> {
        self.workloads.iter().map(|workload| workload.name).collect()
    }
}

/// A quantity with a value for each workload.
pub struct Series {
    key: String,
    heading: String,
    decimals: usize,
    /// In the order of the workloads; none where there is none.
    pub values: Vec<Option<f64>>,
    /// The average that the paper's text gives.
    paper: Option<f64>,
}

impl Series {
    /// Of the runs of a point.
    pub fn of_runs(
        key: impl Into<String>,
        heading: impl Into<String>,
        decimals: usize,
        runs: &[Run],
        value: impl Fn(&Run) -> Option<f64>,
    ) -> Series {
        Series::new(key, heading, decimals, runs.iter().map(value).collect())
    }

    /// Of values in the order of the workloads.
    pub fn new(
        key: impl Into<String>,
        heading: impl Into<String>,
        decimals: usize,
        values: Vec<Option<f64>>,
    ) -> Series {
        Series { key: key.into(), heading: heading.into(), decimals, values, paper: None }
    }

    /// The same with the average that the paper's text gives.
    pub fn with_paper(self, paper: Option<f64>) -> Series {
        Series { paper, ..self }
    }

    /// As it is printed.
    pub fn heading(&self) -> &str {
        &self.heading
    }

    /// The value of one workload.
    pub fn of_workload(&self, rows: &impl Rows, name: &str) -> Option<f64> {
        let position = rows.names().iter().position(|own| *own == name)?;
        self.values[position]
    }

    /// Its average over the workloads that have a value and count; over all if none counts.
    pub fn average(&self, rows: &impl Rows, average: Average) -> Option<f64> {
        let names = rows.names();
        let counts = |name: &str| !SECOND_VERSIONS.contains(&name);
        let some_count = names.iter().any(|name| counts(name));
        let with_names = names.iter().zip(&self.values);
        let counted = with_names.filter(|(name, _)| counts(name) || !some_count);
        let values = counted.filter_map(|(_, value)| *value);
        match average {
            Average::Arithmetic => mean(values),
            Average::Geometric => geometric_mean(values),
        }
    }
}

/// How values of workloads become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// Sum by number.
    Arithmetic,
    /// Of values relative to the baseline's.
    Geometric,
}

impl Average {
    fn name(self) -> &'static str {
        match self {
            Average::Arithmetic => "mean",
            Average::Geometric => "geomean",
        }
    }
}

/// A row for each workload and one for the average, a column for each series.
pub fn table(
    key: &'static str,
    title: impl Into<String>,
    rows: &impl Rows,
    series: &[Series],
    average: Average,
) -> Table {
    let mut table = Table::new(key, title).column("workload", "workload");
    for one in series {
        table = table.real(&one.key, &one.heading, one.decimals);
    }
    let row = |name: &str, value: &dyn Fn(&Series) -> Option<f64>| -> Vec<Cell> {
        std::iter::once(Cell::from(name)).chain(series.iter().map(|one| Cell::from(value(one)))).collect()
    };
    for (position, name) in rows.names().into_iter().enumerate() {
        table.row(row(name, &|one| one.values[position]));
    }
    table.row(row(average.name(), &|one| one.average(rows, average)));
    table
}

/// Bars for each workload and for the average.
pub fn chart(
    title: impl Into<String>,
    y_label: impl Into<String>,
    rows: &impl Rows,
    series: &[Series],
    average: Average,
    stacked: bool,
) -> Chart {
    let groups = rows.names().into_iter().chain([average.name()]);
    let bars = |one: &Series| {
        let values = one.values.iter().copied().chain([one.average(rows, average)]);
        Bars::new(&one.heading, values.collect()).with_paper_at_last(one.paper)
    };
    Chart {
        title: title.into(),
        x_label: String::new(),
        y_label: y_label.into(),
        plot: Plot::Bars {
            groups: groups.map(str::to_owned).collect(),
            series: series.iter().map(bars).collect(),
            stacked,
        },
    }
}

/// Names of the workloads whose value is as wanted, each with what is shown of the value behind it.
pub fn named(
    rows: &impl Rows,
    series: &Series,
    wanted: impl Fn(f64) -> bool,
    show: impl Fn(f64) -> String,
) -> String {
    let names = rows.names();
    let with_values = names.iter().zip(&series.values);
    let names: Vec<String> = with_values
        .filter_map(|(name, value)| Some((name, value.filter(|&value| wanted(value))?)))
        .map(|(name, value)| format!("{name}{}", show(value)))
        .collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// `part` of `whole`; none of nothing.
pub fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// A change in per cent; what is 1 has not changed.
pub fn percent_change(relative: Option<f64>) -> Option<f64> {
    relative.map(|relative| 100.0 * (relative - 1.0))
}

/// A change as it is printed: `+1.2 %`; what is 1 has not changed.
pub fn change(relative: Option<f64>) -> String {
    percent_change(relative).map_or_else(|| "no value".to_owned(), |percent| format!("{percent:+.1} %"))
}

//! Runs as a page takes them: under which kernels, designs and parameters, and all their figures.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Number, Value};

use super::{Page, Section};
use crate::results::{Measured, plain};
use crate::run::BASELINE;

/// Figures that the table of runs begins with, as far as there are any.
const COLUMNS: [&str; 7] = [
    "cycles",
    "ipc",
    "mrf_reads_avoided_percent",
    "mrf_writes_avoided_percent",
    "energy_normalised_registers",
    "energy_normalised_gpu",
    "operands_checked",
];
/// What a structure's energy is called among the figures.
const STRUCTURES: &str = "structures.";
/// Digits that tell hashes apart.
const HASH_DIGITS: usize = 8;
/// The slots that schedulers had, which stalls are a share of.
const SCHEDULER_CYCLES: &str = "scheduler_cycles";

/// Runs.
#[derive(Serialize)]
pub struct Runs {
    axes: Vec<Axis>,
    figures: Vec<String>,
    /// What the table shows at first.
    columns: Vec<&'static str>,
    rows: Vec<Row>,
    views: &'static [View],
    /// What all values are, if they are no figures of a run but what has become of them.
    values_are: Option<&'static str>,
}

/// What runs are told apart by.
#[derive(Serialize)]
struct Axis {
    name: String,
    values: Vec<String>,
}

/// A run.
#[derive(Serialize)]
struct Row {
    /// Number of its value on each axis; `None` if it has none, as a baseline has no parameters of mechanisms.
    at: Vec<Option<usize>>,
    /// A value for each figure.
    values: Vec<Option<Number>>,
    /// Why there are none.
    error: Option<String>,
}

/// A chart of parts that make up a whole.
#[derive(Serialize)]
struct View {
    title: &'static str,
    /// Figures that are the parts begin so.
    prefix: &'static str,
    /// Figures whose sum is 100 % begin so.
    whole: &'static str,
    note: &'static str,
}

/// Where time and energy go. What the parts are is the report's.
const VIEWS: &[View] = &[
    View {
        title: "Cycles in which a scheduler issued nothing, by reason",
        prefix: "stalls.",
        whole: SCHEDULER_CYCLES,
        note: "Per cent of the cycles of all schedulers; the rest up to 100 % are cycles with an issue.",
    },
    View {
        title: "Register energy by term",
        prefix: "energy.design.registers.",
        whole: "energy.baseline.registers.",
        note: "Per cent of what the baseline's registers take in its own run.",
    },
    View {
        title: "Register energy by structure",
        prefix: STRUCTURES,
        whole: "energy.baseline.registers.",
        note: "Accesses, wires, clock and leakage of each; per cent of what the baseline's registers take.",
    },
    View {
        title: "Energy of the GPU by part",
        prefix: "energy.design.gpu.",
        whole: "energy.baseline.gpu.",
        note: "Per cent of the GPU with the baseline.",
    },
];

/// A run before its figures are in columns.
pub struct Values {
    /// What it is of.
    pub point: Point,
    /// Its figures.
    pub figures: Vec<(String, Number)>,
    /// Why there are none.
    pub error: Option<String>,
}

impl Runs {
    /// Of runs that were measured.
    pub fn new(measured: &[Measured]) -> Runs {
        let values = |run: &Measured| {
            let structures =
                run.structures_pj.iter().map(|(name, pj)| (format!("{STRUCTURES}{name}"), pj.clone()));
            let slots = scheduler_cycles(run).map(|cycles| (SCHEDULER_CYCLES.to_owned(), cycles.into()));
            let figures = run.figures.iter().cloned().chain(structures).chain(slots).collect();
            Values { point: point(run), figures, error: run.error.clone() }
        };
        let all: Vec<Values> = measured.iter().map(values).collect();
        let runs = Runs::of(&all, None);
        let columns = COLUMNS.into_iter().filter(|column| runs.figures.iter().any(|known| known == column));
        Runs { columns: columns.collect(), views: VIEWS, ..runs }
    }

    /// Of what has become of figures in other runs: values by figure, each for some of the runs.
    pub fn of_changes(changes: &[Values], values_are: &'static str) -> Runs {
        Runs::of(changes, Some(values_are))
    }

    fn of(all: &[Values], values_are: Option<&'static str>) -> Runs {
        let axes = axes(all.iter().map(|run| &run.point));
        let mut figures: Vec<String> = Vec::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for (name, _) in all.iter().flat_map(|run| &run.figures) {
            if known.insert(name) {
                figures.push(name.clone());
            }
        }
        let row = |run: &Values| {
            let of_axis = |axis: &Axis| {
                let (_, value) = run.point.iter().find(|(name, _)| *name == axis.name)?;
                axis.values.iter().position(|known| known == value)
            };
            let own: BTreeMap<&str, &Number> =
                run.figures.iter().map(|(name, value)| (name.as_str(), value)).collect();
            let values = figures.iter().map(|figure| own.get(figure.as_str()).copied().cloned());
            Row { at: axes.iter().map(of_axis).collect(), values: values.collect(), error: run.error.clone() }
        };
        let mut rows: Vec<Row> = all.iter().map(row).collect();
        rows.sort_by(|one, other| one.at.cmp(&other.at));
        Runs { rows, axes, figures, columns: Vec::new(), views: &[], values_are }
    }
}

/// What a run is of: its value on each axis, by the axis' name.
pub type Point = Vec<(String, String)>;

/// Everything that a run is told apart by.
fn point(run: &Measured) -> Point {
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut point = vec![named("kernel", &run.kernel), named("design", &run.design)];
    point.extend(run.size.iter().map(|size| named("size", size)));
    let setting = |(name, value): (&String, &Value)| match name.as_str() {
        "commit" => (name.clone(), short(&plain(value))),
        _ => (name.clone(), plain(value)),
    };
    point.extend(run.settings.iter().map(setting));
    point
}

/// A commit with the beginnings of its hashes.
fn short(commit: &str) -> String {
    let part = |part: &str| part.chars().take(HASH_DIGITS).collect::<String>();
    commit.split('-').map(part).collect::<Vec<_>>().join("-")
}

/// Kernel and design, and what else has several values.
fn axes<'p>(points: impl Iterator<Item = &'p Point> + Clone) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (name, value) in points.flatten() {
        match axes.iter_mut().find(|axis| axis.name == *name) {
            Some(axis) if axis.values.contains(value) => {}
            Some(axis) => axis.values.push(value.clone()),
            None => axes.push(Axis { name: name.clone(), values: vec![value.clone()] }),
        }
    }
    axes.sort_by_key(|axis| match axis.name.as_str() {
        "kernel" => 0,
        "design" => 1,
        _ => 2,
    });
    // The baseline comes first, whichever run was the first.
    if let Some(designs) = axes.iter_mut().find(|axis| axis.name == "design") {
        designs.values.sort_by_key(|design| design != BASELINE);
    }
    axes.retain(|axis| axis.values.len() > 1 || axis.name == "kernel" || axis.name == "design");
    for axis in axes.iter_mut().filter(|axis| axis.values.iter().all(|value| number(value).is_some())) {
        axis.values.sort_by(|one, other| number(one).unwrap_or(0.0).total_cmp(&number(other).unwrap_or(0.0)));
    }
    axes
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// Cycles that all schedulers of all simulated SMs have had.
fn scheduler_cycles(run: &Measured) -> Option<u64> {
    let setting = |name: &str| run.settings.get(name)?.as_u64();
    let (_, cycles) = run.figures.iter().find(|(name, _)| name == "cycles")?;
    Some(cycles.as_u64()? * setting("sm.schedulers")? * setting("chip.simulated_sms")?)
}

/// The page of runs: `sections` come behind them.
pub fn page(title: impl Into<String>, runs: &[Measured], sections: Vec<Section>, command: String) -> Page {
    let runs = Section::Runs(Runs::new(runs));
    let command = Section::Command { title: "To run it again", command };
    Page::new(title, [vec![runs], sections, vec![command]].into_iter().flatten().collect())
}

//! The page of a comparison.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::runs::{Point, Runs, Values};
use super::{Column, Page, Section, Table};
use crate::compare::difference::{Differences, FigureDifference, Setting};

/// What differs between A and B.
pub fn page(differences: &Differences, (a, b): (&str, &str), notes: Vec<String>, command: String) -> Page {
    let mut sections = vec![Section::Heading {
        title: format!(
            "{} of {} figures of {} runs differ",
            differences.figures.len(),
            differences.figures_compared,
            differences.runs_compared
        ),
        text: vec![format!("A: {a}"), format!("B: {b}")],
    }];
    if !differences.parameters.is_empty() {
        sections.push(Section::Table(parameters(&differences.parameters)));
    }
    if !notes.is_empty() {
        sections.push(Section::Text { title: "What cannot be compared".to_owned(), text: notes });
    }
    if differences.figures.iter().any(|figure| figure.percent.is_some()) {
        sections.push(Section::Runs(changes(&differences.figures)));
        sections.push(Section::Table(figures(&differences.figures)));
    }
    sections.push(Section::Command { title: "To compare again", command });
    Page::new(format!("{a} and {b}"), sections)
}

fn parameters(settings: &[Setting]) -> Table {
    let row = |setting: &Setting| {
        vec![setting.name.clone().into(), setting.a.clone().into(), setting.b.clone().into()]
    };
    Table {
        title: "Parameters".to_owned(),
        columns: ["parameter", "A", "B"].map(Column::text).into(),
        rows: settings.iter().map(row).collect(),
    }
}

/// The change of each figure in each run.
fn changes(figures: &[FigureDifference]) -> Runs {
    let mut by_run: BTreeMap<Point, Vec<(String, Number)>> = BTreeMap::new();
    for figure in figures {
        let point: Point = figure.run.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let change = figure.percent.and_then(Number::from_f64);
        by_run.entry(point).or_default().extend(change.map(|change| (figure.figure.clone(), change)));
    }
    let values = by_run.into_iter().map(|(point, figures)| Values { point, figures, error: None });
    Runs::of_changes(&values.collect::<Vec<_>>(), "change in per cent of A")
}

fn figures(figures: &[FigureDifference]) -> Table {
    let run = |run: &BTreeMap<String, String>| {
        let named = run.iter().map(|(name, value)| match name.as_str() {
            "kernel" | "design" => String::new(),
            name => format!("{name}={value}"),
        });
        named.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let row = |difference: &FigureDifference| -> Vec<Value> {
        let of = |name: &str| difference.run.get(name).cloned();
        vec![
            of("kernel").into(),
            of("design").into(),
            run(&difference.run).into(),
            difference.figure.clone().into(),
            difference.a.clone().into(),
            difference.b.clone().into(),
            difference.percent.into(),
        ]
    };
    let dimension = |name: &'static str| Column { dimension: Some(name), ..Column::text(name) };
    let change = Column { decimals: Some(2), ..Column::number("change, % of A") };
    Table {
        title: "Figures that differ, the largest change first".to_owned(),
        columns: vec![
            dimension("kernel"),
            dimension("design"),
            Column::text("otherwise"),
            Column::text("figure"),
            Column::number("A"),
            Column::number("B"),
            change,
        ],
        rows: figures.iter().map(row).collect(),
    }
}

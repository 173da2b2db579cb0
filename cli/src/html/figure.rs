//! Pages of figures.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Column, Filter, Page, Section, Table};
use crate::figures::FigureReport;
use crate::figures::chart::{Chart, Plot};

/// The page of one figure or of several.
pub fn page(reports: &[FigureReport], command: String) -> Page {
    let title = match reports {
        [only] => format!("{}: {}", only.id, only.title),
        several => several.iter().map(|report| report.id).collect::<Vec<_>>().join(", "),
    };
    let mut sections = vec![Section::Filters { filters: filters(reports) }];
    sections.extend(reports.iter().flat_map(of_figure));
    sections.push(Section::Command { title: "To make this page again", command });
    Page::new(title, sections)
}

/// What can be taken out of all charts: workloads, and what is drawn in one colour.
fn filters(reports: &[FigureReport]) -> Vec<Filter> {
    let workloads: BTreeSet<&str> =
        reports.iter().flat_map(|report| report.workloads.iter().copied()).collect();
    let charts = || reports.iter().flat_map(|report| &report.content.charts);
    let mut series: Vec<&str> = Vec::new();
    for name in charts().flat_map(Chart::names) {
        if !series.contains(&name) && !workloads.contains(name) {
            series.push(name);
        }
    }
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    let is_grouped = |workload: &&str| charts().any(|chart| has_group(chart, workload));
    let kernels: Vec<&str> = workloads.iter().copied().filter(|workload| is_grouped(workload)).collect();
    [("kernel", "Kernels", kernels), ("series", "Series", series)]
        .into_iter()
        .filter(|(_, _, values)| values.len() > 1)
        .map(|(dimension, title, values)| Filter { dimension, title, values: owned(values) })
        .collect()
}

fn has_group(chart: &Chart, name: &str) -> bool {
    match &chart.plot {
        Plot::Bars { groups, .. } => groups.iter().any(|group| group == name),
        Plot::Lines(_) | Plot::Ratios(_) => false,
    }
}

fn of_figure(report: &FigureReport) -> Vec<Section> {
    let content = &report.content;
    let title = format!("{}: {}", report.id, report.title);
    let mut sections = vec![Section::Heading { title, text: vec![report.source.to_owned()] }];
    if !content.charts.is_empty() {
        sections.push(Section::Charts { charts: content.charts.clone() });
    }
    if !content.claims.is_empty() {
        sections.push(Section::Table(claims(report)));
    }
    let tables = content.tables.iter().map(|table| {
        let mut table = table.to_page();
        // Rows of workloads go with the workloads that are taken out.
        let is_workload = |row: &Vec<Value>| {
            row.first().and_then(Value::as_str).is_some_and(|name| report.workloads.contains(&name))
        };
        if table.rows.iter().any(is_workload)
            && let Some(first) = table.columns.first_mut()
        {
            first.dimension = Some("kernel");
        }
        Section::Table(table)
    });
    sections.extend(tables);
    if !content.notes.is_empty() {
        sections.push(Section::Text { title: "Notes".to_owned(), text: content.notes.clone() });
    }
    sections.push(Section::Command { title: "To make this figure again", command: report.command.clone() });
    sections
}

/// What the paper says beside what comes out here.
fn claims(report: &FigureReport) -> Table {
    let row = |claim: &crate::figures::Claim| {
        vec![claim.source.into(), claim.paper.clone().into(), claim.here.clone().into()]
    };
    Table {
        title: "The paper and the model".to_owned(),
        columns: ["source", "the paper", "here"].map(Column::text).into(),
        rows: report.content.claims.iter().map(row).collect(),
    }
}

//! Instructions a cycle by the amount of sharing: Tables 2.5 and 2.7.

use anyhow::Result;

use super::kernels::{Kernels, NAMES, key_of};
use super::{AMOUNTS, content, notes, register_sharing, with_scratchpad};
use crate::figures::chart::{Chart, Line, LineStyle, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::series::{Average, Series, percent_change};
use crate::figures::statistics::geometric_mean;
use crate::figures::sweep::{Point, Results};

/// IPC of a benchmark by the amount of sharing.
type Row = (&'static str, [f64; AMOUNTS.len()]);

/// Table 2.5.
const TABLE_5: &[Row] = &[
    ("backprop", [389.9, 389.9, 389.9, 389.9, 394.1, 392.8]),
    ("b+tree-508", [318.5, 318.5, 318.5, 323.3, 326.1, 326.1]),
    ("hotspot", [489.5, 489.5, 489.5, 475.2, 476.9, 503.59]),
    ("lib", [218.0, 218.0, 203.0, 203.0, 216.3, 223.3]),
    ("mri-q", [303.7, 303.7, 303.7, 303.7, 305.3, 305.0]),
    ("mummer", [190.5, 190.5, 190.5, 192.1, 192.4, 194.9]),
    ("sgemm-128", [490.6, 490.6, 490.6, 490.6, 446.3, 496.7]),
    ("stencil-512", [448.2, 448.2, 448.2, 448.2, 448.2, 440.8]),
];

/// Table 2.7.
const TABLE_7: &[Row] = &[
    ("convolution CONV1", [280.33, 280.33, 280.33, 280.33, 288.82, 292.24]),
    ("convolution CONV2", [119.29, 119.29, 119.29, 119.29, 119.02, 124.6]),
    ("lavaMD-100", [452.29, 452.29, 452.29, 452.29, 452.29, 578.85]),
    ("nw NW1", [39.96, 39.96, 39.96, 38.67, 38.37, 38.37]),
    ("nw NW2", [41.93, 41.93, 41.93, 42.14, 40.54, 39.72]),
    ("srad-tiles SRAD1", [188.13, 188.13, 188.13, 229.38, 208.27, 204.32]),
    ("srad-tiles SRAD2", [63.48, 63.48, 63.48, 63.52, 63.62, 68.29]),
];

/// A point at an amount of sharing.
fn at(point: Point, amount: u64) -> Point {
    point.with("sharing.private_percent", 100 - amount)
}

/// Register sharing at every amount.
pub fn points_5() -> Vec<Point> {
    AMOUNTS.map(|amount| at(register_sharing(), amount)).to_vec()
}

/// Scratchpad sharing at every amount.
pub fn points_7() -> Vec<Point> {
    AMOUNTS.map(|amount| at(with_scratchpad("spad-share"), amount)).to_vec()
}

/// Table 2.5.
pub fn table_5(results: &Results) -> Result<Content> {
    Ok(by_amount(results, ("Table 2.5", TABLE_5), register_sharing, notes()))
}

/// Table 2.7.
pub fn table_7(results: &Results) -> Result<Content> {
    let notes = vec![NAMES.to_owned()];
    Ok(by_amount(results, ("Table 2.7", TABLE_7), || with_scratchpad("spad-share"), notes))
}

fn by_amount(
    results: &Results,
    (source, rows): (&'static str, &[Row]),
    point: impl Fn() -> Point,
    notes: Vec<String>,
) -> Content {
    let kernels = &Kernels::of(results);
    let series: Vec<Series> = AMOUNTS
        .iter()
        .map(|&amount| {
            let values = kernels.speedup(&at(point(), amount), &at(point(), 0));
            Series::new(format!("at_{amount}"), format!("{amount} %"), 3, values)
        })
        .collect();
    let mut claims = Vec::new();
    for (name, thesis) in rows {
        let [none, .., most] = *thesis;
        let paper = percent_change(Some(most / none));
        let here = series.last().and_then(|series| percent_change(series.of_workload(kernels, name)));
        let what = format!("IPC of {name} at 90 % sharing beside none");
        let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:+.1} %"));
        let said = paper.map_or_else(String::new, |paper| format!("{paper:+.1} %"));
        let numbers =
            paper.map(|paper| Number::change(key_of(name), what.clone(), Stated::exactly(paper), here));
        claims.push(Claim::new(source, format!("{what}: {said}"), text).numbers(numbers));
    }
    let means: Vec<Option<f64>> = series.iter().map(|one| one.average(kernels, Average::Geometric)).collect();
    let thesis =
        (0..AMOUNTS.len()).map(|column| geometric_mean(rows.iter().map(|(_, row)| row[column] / row[0])));
    let drawn = Chart {
        title: "instructions a cycle, geometric mean".to_owned(),
        x_label: "sharing, %".to_owned(),
        y_label: "relative to none".to_owned(),
        plot: Plot::Lines(vec![
            Line { name: "here".to_owned(), points: Line::points(&AMOUNTS, means), style: LineStyle::Thin },
            Line::of_paper(Line::points(&AMOUNTS, thesis)),
        ]),
    };
    let content = content(kernels, "Instructions a cycle, relative to no sharing", claims, &series, notes);
    let mut tables = content.tables;
    tables.push(thesis_table(rows));
    Content { charts: vec![drawn], tables, ..content }
}

/// What the thesis has, relative to no sharing.
fn thesis_table(rows: &[Row]) -> Table {
    let mut table = Table::new("thesis", "The same in the thesis").column("kernel", "kernel");
    for amount in AMOUNTS {
        table = table.real(format!("at_{amount}"), format!("{amount} %"), 3);
    }
    for (name, ipc) in rows {
        let relative = ipc.map(|value| Cell::from(Some(value / ipc[0])));
        table.row(std::iter::once(Cell::from(*name)).chain(relative).collect());
    }
    table
}

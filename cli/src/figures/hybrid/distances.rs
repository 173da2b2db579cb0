//! Fig. 12: which structure of the hybrid serves a read, by how long ago its register was accessed.

use anyhow::Result;
use warpfile_sim::mechanisms::hybrid::{Distances, ReadDistances, read_distances};

use super::{AVERAGES, COMPARED};
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::series::{Average, Series, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// The reads that a structure serves.
type Served = fn(&ReadDistances) -> &Distances;

/// Structures, from the upper level down, with what they serve.
const SERVERS: [(&str, &str, Served); 3] = [
    ("rsp", "scratchpad", |reads| &reads.rsp),
    ("rc", "cache", |reads| &reads.rc),
    ("mrf", "main register file", |reads| &reads.mrf),
];
/// Classes of less than 16 cycles: the paper speaks of 20 (§IV-C).
const NEAR: usize = 4;

/// The hybrid.
pub fn points_12() -> Vec<Point> {
    vec![hybrid()]
}

fn hybrid() -> Point {
    (COMPARED[2].point)()
}

/// Cycles of a class, as text.
fn cycles(class: usize, classes: usize) -> String {
    let first = if class == 0 { 0 } else { 1u64 << class };
    if class + 1 == classes {
        format!("{first} and more")
    } else {
        format!("{first}–{}", (2u64 << class) - 1)
    }
}

/// Reads of some classes that a structure serves in a run, per cent of all its reads.
fn share(run: &Run, serves: Served, wanted: impl Fn(usize) -> bool) -> Option<f64> {
    let reads = read_distances(&run.report);
    let all: u64 = SERVERS.iter().flat_map(|(.., serves)| serves(&reads).classes()).sum();
    let classes = serves(&reads).classes();
    let some: u64 =
        classes.iter().enumerate().filter(|(class, _)| wanted(*class)).map(|(_, reads)| reads).sum();
    ratio(100.0 * some as f64, all as f64)
}

/// Fig. 12.
pub fn figure_12(results: &Results) -> Result<Content> {
    let runs = results.of(&hybrid());
    let series = |server: usize, key: &str, heading: &str, wanted: &dyn Fn(usize) -> bool| {
        let (name, title, serves) = SERVERS[server];
        let (key, heading) = (format!("{name}_{key}"), format!("{title}: {heading}, %"));
        Series::of_runs(key, heading, 2, runs, |run| share(run, serves, wanted))
    };
    let mean = |one: &Series| one.average(results, Average::Arithmetic);
    let classes = Distances::default().classes().len();
    let by_class: Vec<Vec<Option<f64>>> = (0..SERVERS.len())
        .map(|server| {
            (0..classes).map(|class| mean(&series(server, "class", "class", &|of| of == class))).collect()
        })
        .collect();
    let mut of_classes = Table::new("classes", "Reads by cycles since the last access to the register, mean")
        .column("cycles", "cycles");
    for (key, title, _) in SERVERS {
        of_classes = of_classes.real(key, format!("{title}, % of all reads"), 2);
    }
    for class in 0..classes {
        let shares = by_class.iter().map(|server| Cell::from(server[class]));
        of_classes.row(std::iter::once(Cell::from(cycles(class, classes).as_str())).chain(shares).collect());
    }
    let mut columns = Vec::new();
    for server in 0..SERVERS.len() {
        columns.push(series(server, "near", "under 16 cycles", &|class| class < NEAR));
        columns.push(series(server, "far", "16 and more", &|class| class >= NEAR));
    }
    let percent =
        |one: &Series| mean(one).map_or_else(|| "no value".to_owned(), |value| format!("{value:.1} %"));
    let near = format!(
        "of all reads the scratchpad serves {} within 16 cycles, the cache {}",
        percent(&columns[0]),
        percent(&columns[2])
    );
    let far = format!("from 16 cycles on {} and {}", percent(&columns[1]), percent(&columns[3]));
    let drawn = Chart {
        title: "register reads by cycles since the last access".to_owned(),
        x_label: "cycles, from".to_owned(),
        y_label: "% of all reads".to_owned(),
        plot: Plot::Bars {
            groups: (0..classes)
                .map(|class| if class == 0 { 0 } else { 1u64 << class }.to_string())
                .collect(),
            series: SERVERS
                .iter()
                .zip(&by_class)
                .map(|((_, title, _), shares)| Bars::new(*title, shares.clone()))
                .collect(),
            stacked: true,
        },
    };
    Ok(Content {
        claims: vec![
            Claim::new(
                "§IV-C",
                "within 20 cycles of the last access the scratchpad generally captures more reads than the cache",
                near,
            ),
            Claim::new(
                "§IV-C",
                "the scratchpad's share declines more rapidly with the cycles than the cache's",
                far,
            ),
        ],
        tables: vec![
            of_classes,
            table("reads", "Reads by the structure that serves them", results, &columns, Average::Arithmetic),
        ],
        notes: vec![
            "A read that the cache serves in a part of its lanes counts for the main register file; so does the first access \
             of a warp to a register, in the last class."
                .to_owned(),
            AVERAGES.replace("geometric", "arithmetic"),
        ],
        charts: vec![drawn],
    })
}

//! Scratchpad sharing with `relssp`: Figs. 3.9 to 3.11, Table 3.5.

use anyhow::Result;
use warpfile_sim::mechanisms::sharing::{COUNTERS, Shared};
use warpfile_sim::sm::RunReport;

use super::kernels::{Kernels, NAMES};
use super::{Changes, bars_absent, changes, content, cycles_saved, on, table_of_cycles};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, percent_change, ratio, table};
use crate::figures::sweep::{Point, Results};

/// Improvements of IPC by scratchpad sharing with relssp, per cent (§3.4.1.2).
const IMPROVEMENTS: Changes = &[
    ("backprop-wide", 74.2),
    ("fdtd3d-128", -2.29),
    ("heartwall-512", 92.17),
    ("marching-cubes MC1", 32.32),
];
/// Their geometric mean over the thesis's fourteen kernels.
const MEAN: f64 = 19.0;

/// The design whose variables of scratchpad are laid out, without relssp: *Shared-OWF-Reorder*.
const LAYOUT: &str = "layout";
/// Designs beside the baseline: name in a stack, key, heading.
pub const DESIGNS: [(&str, &str, &str); 5] = [
    ("single-level+spad-share", "lrr", "sharing, LRR"),
    ("spad-share", "owf", "sharing, OWF"),
    ("spad-share-relssp", LAYOUT, "sharing, OWF, layout"),
    ("spad-share-relssp", "relssp", "sharing, OWF, relssp"),
    ("spad-share-relssp", "postdominator", "sharing, OWF, relssp at the postdominator"),
];

pub fn on_machine(design: &str) -> Point {
    on("jatala-ch3", design)
}

/// A design on the machine of Table 3.2.
pub fn of((design, key, _): (&str, &str, &str)) -> Point {
    match key {
        "postdominator" => on_machine(design).with("sharing.relssp", "postdominator"),
        LAYOUT => on_machine(design).with("sharing.relssp", "none"),
        _ => on_machine(design),
    }
}

/// The baseline, and the designs.
pub fn points() -> Vec<Point> {
    std::iter::once(on_machine("baseline")).chain(DESIGNS.map(of)).collect()
}

/// The baseline, sharing, and sharing with relssp.
pub fn points_8() -> Vec<Point> {
    ["baseline", "spad-share", "spad-share-relssp"].map(on_machine).to_vec()
}

/// Figs. 3.9 to 3.11.
pub fn figure_9(results: &Results) -> Result<Content> {
    let kernels = &Kernels::of(results);
    let series = DESIGNS.map(|design| {
        let paper = (design.1 == "relssp").then_some(1.0 + MEAN / 100.0);
        let values = kernels.speedup(&of(design), &on_machine("baseline"));
        Series::new(design.1, design.2, 3, values).with_paper(paper)
    });
    let paper = (IMPROVEMENTS, Some(MEAN));
    let what = "cycles saved by scratchpad sharing with relssp, as IPC";
    let [_, owf, layout, relssp, _] = &series;
    let mut claims = changes("§3.4.1.2", ("", what), paper, (kernels, relssp));
    let saved = cycles_saved(relssp);
    claims.extend(claims_of_cycles(&saved, kernels));
    claims.push(claim_of_layout([owf, layout], kernels));
    claims.push(bars_absent("Figs. 3.9 to 3.11"));
    let notes = vec![
        format!("{NAMES} NQU is nqueens."),
        "Cycles of the baseline by those of the design: relssp's own instructions are not work.".to_owned(),
    ];
    let mut content = content(kernels, "Speed, relative to LRR without sharing", claims, &series, notes);
    content.tables.push(table_of_cycles("Fig. 3.11", kernels, &saved));
    Ok(content)
}

/// What the thesis says of the layout.
fn claim_of_layout(series: [&Series; 2], kernels: &Kernels<'_>) -> Claim {
    let [without, with] = series.map(|series| series.average(kernels, Average::Geometric));
    let here = percent_change(with.zip(without).and_then(|(with, without)| ratio(with, without)));
    let what = "speed with scratchpad laid out beside without, geometric mean; no noticeable impact is taken to be within one per cent";
    let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:+.2} %"));
    Claim::new("§3.4.1.4", "the layout has no noticeable impact", text).number(Number::change(
        "layout",
        what,
        Stated::between(-1.0, 1.0),
        here,
    ))
}

/// What the thesis says of cycles: the most that is saved, and the mean of its fourteen kernels.
fn claims_of_cycles(saved: &Series, kernels: &Kernels<'_>) -> [Claim; 2] {
    let most = saved.values.iter().flatten().copied().reduce(f64::max);
    let mean = saved.average(kernels, Average::Arithmetic);
    [("most", "at most", 47.8, most), ("mean", "on average, which is taken to be arithmetic", 15.42, mean)]
        .map(|(key, which, thesis, here)| {
            let what = format!("cycles saved by scratchpad sharing with relssp, {which}");
            let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:.2} %"));
            let number = Number::change(format!("cycles_{key}"), what.clone(), Stated::exactly(thesis), here);
            Claim::new("§3.4.1.5", format!("{what}: {thesis} %"), text).number(number)
        })
}

/// Instructions that a thread executes more, by benchmark: relssp, and the branch of an edge that is split where
/// one is.
const MORE_A_THREAD: [(&str, f64); 9] = [
    ("backprop-wide", 1.9375),
    // One a thread in DCT1 and DCT2, 1.5 in DCT3 and DCT4, which have as many threads.
    ("dct8x8", 1.25),
    ("fdtd3d-128", 2.0),
    ("heartwall-512", 2.0),
    ("histogram", 2.0),
    ("marching-cubes", 2.0),
    ("nqueens", 1.984),
    ("nw-32", 1.0),
    ("srad-tiles", 1.0),
];

/// Table 3.5.
pub fn table_5(results: &Results) -> Result<Content> {
    let relssp = on_machine("spad-share-relssp");
    let of_runs = |value: fn(&RunReport, &RunReport) -> Option<f64>| {
        let runs = results.of(&relssp).iter().zip(results.of(&on_machine("baseline")));
        runs.map(|(run, base)| value(&run.report, &base.report)).collect::<Vec<_>>()
    };
    let series = [
        Series::new("threads", "threads", 0, of_runs(|run, _| Some(threads(run)))),
        Series::new("more", "more thread instructions", 0, of_runs(|run, base| Some(more(run, base)))),
        Series::new(
            "a_thread",
            "of each thread",
            3,
            of_runs(|run, base| ratio(more(run, base), threads(run))),
        ),
        Series::new(
            "share",
            "more, %",
            3,
            of_runs(|run, base| ratio(100.0 * more(run, base), base.thread_instructions as f64)),
        ),
    ];
    let claims = MORE_A_THREAD.iter().map(|(name, thesis)| {
        let here = series[2].of_workload(results, name);
        let what = format!("instructions that a thread of {name} executes more");
        let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:.3}"));
        Claim::new("Table 3.5", format!("{what}: {thesis}"), text).number(Number::of(
            "instructions",
            *name,
            what,
            Stated::exactly(*thesis),
            here,
        ))
    });
    let drawn = chart(
        "instructions that a thread executes more",
        "instructions",
        results,
        &series[2..3],
        Average::Arithmetic,
        false,
    );
    Ok(Content {
        claims: claims.collect(),
        tables: vec![table(
            "instructions",
            "Thread instructions with relssp beside those without",
            results,
            &series,
            Average::Arithmetic,
        )],
        notes: vec![
            "Every thread of a kernel that may share executes one relssp, so threads are counted by it. The order of instructions \
             differs with the layout of the variables, and some are other ones."
                .to_owned(),
        ],
        charts: vec![drawn],
    })
}

/// Threads of a run: each executes one relssp.
fn threads(report: &RunReport) -> f64 {
    let shared: Shared = report.counters.get(COUNTERS);
    shared.relssp as f64
}

fn more(run: &RunReport, base: &RunReport) -> f64 {
    run.thread_instructions as f64 - base.thread_instructions as f64
}

//! Fig. 16: run time beside the full register file's.

use anyhow::Result;

use super::rodinia::{
    AVERAGES, Average, Series, baseline, change, chart, named, percent_change, ratio, regless,
    regless_without_compressor, rfh, rfv, table, two_level,
};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content, Table};
use crate::figures::sweep::{Point, Results, Run};

/// A slowdown that the paper names, and as much of a speedup (§6.4).
const NOTABLE: f64 = 0.05;

/// Mean run times that the text gives (§6.4).
const PAPER: [(&str, f64); 2] = [("regless", 1.0), ("no_compressor", 1.102)];

/// The designs of the columns: key, heading, point.
fn designs() -> Vec<(&'static str, &'static str, Point)> {
    vec![
        ("regless", "RegLess", regless()),
        ("no_compressor", "without compressor", regless_without_compressor()),
        ("rfv", "RFV", rfv()),
        ("rfh", "RFH", rfh()),
        ("two_level", "register file, two-level", two_level()),
    ]
}

/// The baseline and the designs.
pub fn points_16() -> Vec<Point> {
    std::iter::once(baseline()).chain(designs().into_iter().map(|(.., point)| point)).collect()
}

/// Fig. 16.
pub fn figure_16(results: &Results) -> Result<Content> {
    let times: Vec<Series> = designs()
        .into_iter()
        .map(|(key, heading, point)| {
            let paper = PAPER.iter().find(|(design, _)| *design == key).map(|(_, time)| *time);
            Series::new(key, heading, 3, relative_times(results, &point)).with_paper(paper)
        })
        .collect();
    Ok(Content {
        claims: claims(results, &times),
        tables: vec![
            table("run_time", "Cycles, relative to the baseline", results, &times, Average::Geometric),
            cycles(results),
        ],
        notes: vec![
            "The baseline has the full register file and GTO. Scheduler cycles are cycles times the four schedulers; \
             those without an issue count by the first reason that applies: waiting for memory, for a short \
             operation, for a region to be staged (RegLess only)."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![chart(
            "run time (lower is better)",
            "relative to the baseline",
            results,
            &times,
            Average::Geometric,
            false,
        )],
    })
}

/// Cycles of a point by those of the baseline.
pub fn relative_times(results: &Results, point: &Point) -> Vec<Option<f64>> {
    let pairs = results.of(point).iter().zip(results.of(&baseline()));
    pairs.map(|(run, base)| ratio(run.report.cycles as f64, base.report.cycles as f64)).collect()
}

fn claims(results: &Results, times: &[Series]) -> Vec<Claim> {
    let [regless, no_compressor, others @ ..] = times else { return Vec::new() };
    let geomean = |series: &Series| series.average(results, Average::Geometric);
    let percent = |value: f64| format!(" {:+.1} %", 100.0 * (value - 1.0));
    let without = geomean(no_compressor).zip(geomean(regless)).and_then(|(one, other)| ratio(one, other));
    let slower: Vec<String> =
        others.iter().map(|series| format!("{}: {}", series.heading(), change(geomean(series)))).collect();
    vec![
        Claim::new("§6.4", "no average performance loss", format!("run time {}", change(geomean(regless))))
            .number(Number::change(
                "run_time",
                "run time of RegLess",
                Stated::exactly(0.0),
                percent_change(geomean(regless)),
            )),
        Claim::new(
            "§6.4",
            "over 5 % slower: gaussian, heartwall, hybridsort",
            named(results, regless, |time| time > 1.0 + NOTABLE, percent),
        )
        .numbers(["gaussian", "heartwall", "hybridsort"].map(|name| {
            let here = percent_change(regless.of_workload(results, name));
            Number::change(name, format!("run time of RegLess, {name}"), Stated::at_least(5.0), here)
        })),
        Claim::new(
            "§6.4",
            "kmeans, leukocyte and nn are faster",
            format!(
                "more than 5 % faster: {}",
                named(results, regless, |time| time < 1.0 - NOTABLE, percent)
            ),
        )
        .numbers(["kmeans", "leukocyte", "nn"].map(|name| {
            let here = percent_change(regless.of_workload(results, name));
            Number::change(name, format!("run time of RegLess, {name}"), Stated::at_most(0.0), here)
        })),
        Claim::new(
            "§6.4",
            "without compressor 10.2 % slower",
            format!(
                "{} beside RegLess, {} beside the baseline",
                change(without),
                change(geomean(no_compressor))
            ),
        )
        .number(Number::change(
            "no_compressor",
            "run time without compressor, beside RegLess with it",
            Stated::exactly(10.2),
            percent_change(without),
        )),
        Claim::new("§6.4", "RFV and RFH are slower, by their two-level scheduler", slower.join("; ")),
    ]
}

/// Where scheduler cycles went.
fn cycles(results: &Results) -> Table {
    let (base, staged) = (results.of(&baseline()), results.of(&regless()));
    let share = |part: fn(&Run) -> u64| {
        move |run: &Run| {
            let cycles = run.report.sm_cycles() * run.config.sm.schedulers;
            ratio(100.0 * part(run) as f64, cycles as f64)
        }
    };
    let metadata = |run: &Run| {
        ratio(100.0 * run.report.metadata_instructions as f64, run.report.warp_instructions as f64)
    };
    let series = [
        Series::of_runs("baseline_ipc", "baseline, IPC", 2, base, |run| Some(run.report.ipc)),
        Series::of_runs("regless_ipc", "RegLess, IPC", 2, staged, |run| Some(run.report.ipc)),
        Series::of_runs("metadata_percent", "metadata instructions, % of the others", 1, staged, metadata),
        Series::of_runs(
            "baseline_memory_percent",
            "baseline: memory, % of scheduler cycles",
            1,
            base,
            share(|run| run.report.stalls.long_latency),
        ),
        Series::of_runs(
            "regless_memory_percent",
            "RegLess: memory, %",
            1,
            staged,
            share(|run| run.report.stalls.long_latency),
        ),
        Series::of_runs(
            "baseline_short_percent",
            "baseline: short operation, %",
            1,
            base,
            share(|run| run.report.stalls.short_latency),
        ),
        Series::of_runs(
            "regless_short_percent",
            "RegLess: short operation, %",
            1,
            staged,
            share(|run| run.report.stalls.short_latency),
        ),
        Series::of_runs(
            "regless_staging_percent",
            "RegLess: not staged, %",
            1,
            staged,
            share(|run| run.report.stalls.design),
        ),
    ];
    table("scheduler_cycles", "What schedulers did", results, &series, Average::Arithmetic)
}

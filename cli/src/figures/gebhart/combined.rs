//! Fig. 11: the register file cache under two-level scheduling, flushed whenever a warp is suspended.

use anyhow::Result;

use super::cache::by_entries;
use super::{
    ACTIVE, ENTRIES, SWEEP, WARPS, claim, mrf_accesses, overall, percent, reads_avoided, writes_avoided,
};
use crate::figures::chart::{Chart, Line, LineStyle, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::statistics::range;
use crate::figures::sweep::{Point, Results, Run};

/// Active warps of Fig. 11.
const SIZES: [u64; 3] = [4, 6, 8];

/// Every size of the cache with every size of the active set; the design point without flushing beside it.
pub fn points_11() -> Vec<Point> {
    let flushed = SWEEP.flat_map(|entries| SIZES.map(|active| Point::rfc(entries, active)));
    flushed.chain([Point::rfc(ENTRIES, WARPS)]).collect()
}

/// Fig. 11.
pub fn figure_11(results: &Results) -> Result<Content> {
    let mean_of = |point: Point, value: fn(&Run) -> Option<f64>| {
        overall(results, |workload| value(&results.of(&point)[workload]))
    };
    let mut means =
        Table::new("mrf_avoided_by_entries", "MRF accesses avoided, per cent, mean over workloads")
            .column("entries", "entries");
    for active in SIZES {
        means = means
            .real(format!("active_{active}_mrf_reads_avoided_percent"), format!("reads, {active} active"), 1)
            .real(
                format!("active_{active}_mrf_writes_avoided_percent"),
                format!("writes, {active} active"),
                1,
            );
    }
    for entries in SWEEP {
        let mut cells: Vec<Cell> = vec![entries.into()];
        for active in SIZES {
            let point = Point::rfc(entries, active);
            cells.push(mean_of(point.clone(), reads_avoided).into());
            cells.push(mean_of(point, writes_avoided).into());
        }
        means.row(cells);
    }
    let reads = |entries, workload: usize| reads_avoided(&results.of(&Point::rfc(entries, ACTIVE))[workload]);
    let writes =
        |entries, workload: usize| writes_avoided(&results.of(&Point::rfc(entries, ACTIVE))[workload]);
    let chart = |title: &str, value: fn(&Run) -> Option<f64>| Chart {
        title: title.to_owned(),
        x_label: "entries a thread".to_owned(),
        y_label: "per cent".to_owned(),
        plot: Plot::Lines(
            SIZES.into_iter().map(|active| line(active, |point| mean_of(point, value))).collect(),
        ),
    };
    Ok(Content {
        claims: claims(results),
        tables: vec![
            means,
            by_entries(
                results,
                "mrf_reads_avoided_percent",
                "MRF reads avoided with 8 active warps, per cent, by entries",
                reads,
            ),
            by_entries(
                results,
                "mrf_writes_avoided_percent",
                "MRF writes avoided with 8 active warps, per cent, by entries",
                writes,
            ),
            flushing(results),
        ],
        notes: vec!["All with static liveness (§5.1).".to_owned()],
        charts: vec![chart("MRF reads avoided", reads_avoided), chart("MRF writes avoided", writes_avoided)],
    })
}

fn line(active: u64, value: impl Fn(Point) -> Option<f64>) -> Line {
    let points = SWEEP.filter_map(|entries| Some((entries as f64, value(Point::rfc(entries, active))?)));
    let style = if active == ACTIVE { LineStyle::Bold } else { LineStyle::Thin };
    Line { name: format!("{active} active warps"), points: points.collect(), style }
}

/// MRF accesses of the design point with flushing, relative to without, per cent more.
fn increase(results: &Results, active: u64, workload: usize) -> Option<f64> {
    let flushed = mrf_accesses(&results.of(&Point::rfc(ENTRIES, active))[workload]);
    let kept = mrf_accesses(&results.of(&Point::rfc(ENTRIES, WARPS))[workload]);
    (kept > 0.0).then(|| 100.0 * (flushed / kept - 1.0))
}

/// Reads and writes of the instructions: the baseline's accesses.
fn operands(run: &Run) -> f64 {
    (run.report.operands.reads + run.report.operands.writes) as f64
}

/// MRF accesses of the design point with flushing less those without, per cent of the baseline's.
fn increase_of_baseline(results: &Results, active: u64, workload: usize) -> Option<f64> {
    let run = &results.of(&Point::rfc(ENTRIES, active))[workload];
    let kept = mrf_accesses(&results.of(&Point::rfc(ENTRIES, WARPS))[workload]);
    (operands(run) > 0.0).then(|| 100.0 * (mrf_accesses(run) - kept) / operands(run))
}

/// What flushing costs each workload, and how often it happens.
fn flushing(results: &Results) -> Table {
    let title = "What flushing costs at 6 entries: MRF accesses against 32 active warps, per cent of those and in points of the baseline's \
                 accesses; and suspensions";
    let mut table = Table::new("flushing", title).column("workload", "workload");
    for active in SIZES {
        let key = format!("active_{active}_mrf_accesses_increase_percent");
        table = table.real(key, format!("{active} active, %"), 1);
    }
    for active in SIZES {
        let key = format!("active_{active}_mrf_accesses_increase_points");
        table = table.real(key, format!("{active} active, points"), 1);
    }
    table = table
        .real("suspensions_per_1000_instructions", "suspensions per 1000 instructions, 8 active", 1)
        .real("barrier_suspensions_percent", "of these at barriers, %", 1);
    for (workload, entry) in results.workloads.iter().enumerate() {
        let mut cells: Vec<Cell> = vec![entry.name.into()];
        cells.extend(SIZES.map(|active| Cell::from(increase(results, active, workload))));
        cells.extend(SIZES.map(|active| Cell::from(increase_of_baseline(results, active, workload))));
        let report = &results.of(&Point::rfc(ENTRIES, ACTIVE))[workload].report;
        let (events, instructions) = (report.scheduler.suspensions, report.warp_instructions);
        let at_barriers = report.scheduler.barrier_suspensions;
        cells.push((instructions > 0).then(|| 1000.0 * events as f64 / instructions as f64).into());
        cells.push((events > 0).then(|| 100.0 * at_barriers as f64 / events as f64).into());
        table.row(cells);
    }
    table
}

fn claims(results: &Results) -> Vec<Claim> {
    let costs = SIZES.map(|active| {
        let mean = overall(results, |workload| increase(results, active, workload));
        format!("{active} active: +{}", percent(mean))
    });
    let in_points = SIZES.map(|active| {
        let mean = overall(results, |workload| increase_of_baseline(results, active, workload));
        format!("{active} active: +{}", percent(mean))
    });
    let points = |value: fn(&Run) -> Option<f64>| {
        let change = |workload: usize| {
            let flushed = value(&results.of(&Point::rfc(ENTRIES, ACTIVE))[workload])?;
            Some(flushed - value(&results.of(&Point::rfc(ENTRIES, WARPS))[workload])?)
        };
        overall(results, change)
            .map_or_else(|| "no value".to_owned(), |points| format!("{points:+.1} points"))
    };
    let traffic = (0..results.workloads.len()).filter_map(|workload| {
        let run = &results.of(&Point::rfc(ENTRIES, ACTIVE))[workload];
        let all = operands(run);
        (all > 0.0).then(|| 100.0 * (1.0 - mrf_accesses(run) / all))
    });
    let extent = range(traffic.clone());
    let (least, most) = (extent.map(|extent| extent.0), extent.map(|extent| extent.1));
    let avoided = |value: fn(&Run) -> Option<f64>| {
        percent(overall(results, |workload| value(&results.of(&Point::rfc(ENTRIES, ACTIVE))[workload])))
    };
    vec![
        claim(
            "§5.3",
            "flushing suspended warps increases MRF accesses by roughly 10 %",
            format!(
                "in points of the baseline's accesses, as the paper plots: {}; of what was left: {}; with 8 active, avoided \
                 reads {} and writes {}",
                in_points.join(", "),
                costs.join(", "),
                points(reads_avoided),
                points(writes_avoided)
            ),
        )
        .number(Number::change(
            "flushing",
            "MRF accesses more by flushing, of the baseline's, 8 active",
            Stated::exactly(10.0),
            overall(results, |workload| increase_of_baseline(results, ACTIVE, workload)),
        )),
        claim(
            "§3.3",
            "the combination eliminates more than half of the reads and writes to the MRF",
            format!("reads {}, writes {}", avoided(reads_avoided), avoided(writes_avoided)),
        )
        .numbers([("reads", reads_avoided as fn(&Run) -> _), ("writes", writes_avoided)].map(|(name, value)| {
            let here = overall(results, |workload| value(&results.of(&Point::rfc(ENTRIES, ACTIVE))[workload]));
            let what = format!("MRF {name} avoided, 6 entries, 8 active");
            Number::change(name, what, Stated::at_least(50.0), here)
        })),
        claim(
            "§7",
            "traffic to the MRF falls by 40–80 % with 6 entries",
            super::mean_and_range(&traffic.collect::<Vec<_>>()),
        )
        .numbers([("least", 40.0, least), ("most", 80.0, most)].map(|(name, paper, here)| {
            let what = format!("MRF traffic saved, 6 entries, 8 active, {name}");
            Number::change(format!("traffic_{name}"), what, Stated::exactly(paper), here)
        })),
    ]
}

//! Fig. 17: cycles of the reuse designs.

use anyhow::Result;

use super::{AVERAGES, Design, R, RL, RLP, RLPV, baseline, values_absent};
use crate::figures::Cause;
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, chart, percent_change, ratio, table};
use crate::figures::sweep::{Point, Results};

/// The designs of Fig. 17.
const DESIGNS: [Design; 4] = [R, RL, RLP, RLPV];
/// How far most applications' speedups lie from 1 at most (§VII-D).
const SMALL: f64 = 0.1;

/// The baseline and the designs.
pub fn points_17() -> Vec<Point> {
    std::iter::once(baseline()).chain(DESIGNS.map(Design::point)).collect()
}

/// Cycles that an instruction which executes takes more than without reuse (Fig. 22).
const DELAYS: [u64; 5] = [3, 4, 5, 6, 7];

/// Why numbers of Fig. 22 differ.
pub const CAUSES_22: &[Cause] = &[Cause {
    of: &["d_7"],
    why: "With GTO few warps hide the delay of one that waits for its own results: warps that take turns (LRR).",
    run: "--set scheduler.single_level=lrr",
}];

fn with_delay(delay: u64) -> Point {
    RLPV.point().with("wir.delay", delay)
}

/// The baseline and every delay.
pub fn points_22() -> Vec<Point> {
    std::iter::once(baseline()).chain(DELAYS.map(with_delay)).collect()
}

/// Cycles of the baseline by those of a point.
fn speedup(results: &Results, point: &Point, key: impl Into<String>, heading: impl Into<String>) -> Series {
    let pairs = results.of(&baseline()).iter().zip(results.of(point));
    let values = pairs.map(|(base, run)| ratio(base.report.cycles as f64, run.report.cycles as f64));
    Series::new(key, heading, 3, values.collect())
}

/// Fig. 17.
pub fn figure_17(results: &Results) -> Result<Content> {
    let series = DESIGNS.map(|design| speedup(results, &design.point(), design.key, design.heading));
    let small = |one: &Series| {
        let count = one.values.iter().flatten().filter(|speedup| (*speedup - 1.0).abs() <= SMALL).count();
        format!("{} {count}", one.heading())
    };
    let average =
        |one: &Series| format!("{} {}", one.heading(), change(one.average(results, Average::Geometric)));
    let both = |workload: &str| {
        let of = |one: &Series| change(one.of_workload(results, workload));
        format!("{} and {}", of(&series[2]), of(&series[3]))
    };
    let leukocyte = series[3].of_workload(results, "leukocyte");
    let claims = vec![
        Claim::new(
            "§VII-D",
            "the majority of the applications vary by no more than 10 %",
            format!(
                "of {} workloads: {}; geometric means: {}",
                results.workloads.len(),
                series.iter().map(small).collect::<Vec<_>>().join(", "),
                series.iter().map(average).collect::<Vec<_>>().join(", ")
            ),
        ),
        Claim::new(
            "§VII-D",
            "GA and BF are much slower without verify cache (RLP), which it mitigates (RLPV)",
            format!("gaussian {}, bfs {}", both("gaussian"), both("bfs")),
        ),
        Claim::new("§VII-D", "LK is 103.2 % faster with RLPV", change(leukocyte)).number(Number::change(
            "leukocyte",
            "speedup with RLPV, leukocyte",
            Stated::exactly(103.2),
            percent_change(leukocyte),
        )),
        values_absent("Fig. 17"),
    ];
    Ok(Content {
        claims,
        tables: vec![table(
            "speedup",
            "Cycles of the baseline by the design's",
            results,
            &series,
            Average::Geometric,
        )],
        notes: vec![AVERAGES.to_owned()],
        charts: vec![chart(
            "speedup",
            "relative to the baseline",
            results,
            &series,
            Average::Geometric,
            false,
        )],
    })
}

/// Fig. 22.
pub fn figure_22(results: &Results) -> Result<Content> {
    let of = |delay: u64| speedup(results, &with_delay(delay), format!("d_{delay}"), format!("D{delay}"));
    let series = DELAYS.map(of);
    let [.., longest] = &series;
    let number = Number::change(
        "d_7",
        "speedup with a delay of 7 cycles",
        Stated::at_least(0.0),
        percent_change(longest.average(results, Average::Geometric)),
    );
    let claims = vec![
        Claim::new(
            "§VII-G.3",
            "beyond 7 cycles the performance becomes lower than the baseline's",
            number.here_text(),
        )
        .number(number),
        values_absent("Fig. 22"),
    ];
    Ok(Content {
        claims,
        tables: vec![table(
            "speedup",
            "Cycles of the baseline by RLPV's, by cycles of delay",
            results,
            &series,
            Average::Geometric,
        )],
        notes: vec![
            "Stages take four cycles; with D3 an instruction is renamed and looked up in the same."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![chart(
            "speedup",
            "relative to the baseline",
            results,
            &series,
            Average::Geometric,
            false,
        )],
    })
}

//! Fig. 17: cycles of the reuse designs.

use anyhow::Result;

use super::{AVERAGES, Design, R, RL, RLP, RLPV, baseline, values_absent};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, chart, ratio, table};
use crate::figures::sweep::{Point, Results};

/// The designs of Fig. 17.
const DESIGNS: [Design; 4] = [R, RL, RLP, RLPV];
/// How far most applications' speedups lie from 1 at most (§VII-D).
const SMALL: f64 = 0.1;

/// The baseline and the designs.
pub fn points_17() -> Vec<Point> {
    std::iter::once(baseline()).chain(DESIGNS.map(Design::point)).collect()
}

/// Cycles of the baseline by those of a design.
pub fn speedup(results: &Results, design: Design) -> Series {
    let pairs = results.of(&baseline()).iter().zip(results.of(&design.point()));
    let values = pairs.map(|(base, run)| ratio(base.report.cycles as f64, run.report.cycles as f64));
    Series::new(design.key, design.heading, 3, values.collect())
}

/// Fig. 17.
pub fn figure_17(results: &Results) -> Result<Content> {
    let series = DESIGNS.map(|design| speedup(results, design));
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
        Claim::new("§VII-D", "LK is 103.2 % faster with RLPV", "n/a: leukocyte is not here"),
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

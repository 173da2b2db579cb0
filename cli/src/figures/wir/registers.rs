//! Fig. 19: physical registers in use.

use anyhow::Result;

use super::{AVERAGES, Design, NO_SIGNATURES, RLPV, RLPVC, RPV, counted};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, ratio, table};
use crate::figures::sweep::{Point, Results};

/// The designs of which registers are counted.
const DESIGNS: [Design; 4] = [NO_SIGNATURES, RPV, RLPV, RLPVC];

/// The designs.
pub fn points() -> Vec<Point> {
    DESIGNS.map(Design::point).to_vec()
}

/// Fig. 19.
pub fn figure_19(results: &Results) -> Result<Content> {
    let per_cycle = |key: String, heading: String, design: Design, count: fn(&super::Counted) -> u64| {
        Series::of_runs(key, heading, 0, results.of(&design.point()), |run| {
            ratio(count(&counted(run)) as f64, run.report.sm_cycles() as f64)
        })
    };
    let logical = per_cycle("logical".to_owned(), "logical".to_owned(), RLPV, |of| of.logical_cycles);
    let average = |design: Design| {
        let (key, heading) = (format!("{}_average", design.key), format!("{} average", design.heading));
        per_cycle(key, heading, design, |of| of.register_cycles)
    };
    let peak = |design: Design| {
        let (key, heading) = (format!("{}_peak", design.key), format!("{} peak", design.heading));
        let runs = results.of(&design.point());
        Series::of_runs(key, heading, 0, runs, |run| Some(counted(run).most_in_use as f64))
    };
    let averages = DESIGNS.map(average);
    let mean = |one: &Series| {
        let mean = one.average(results, Average::Arithmetic);
        format!(
            "{} {}",
            one.heading(),
            mean.map_or_else(|| "no value".to_owned(), |mean| format!("{mean:.0}"))
        )
    };
    let here = std::iter::once(&logical).chain(&averages).map(mean).collect::<Vec<_>>().join(", ");
    let columns: Vec<Series> = std::iter::once(logical).chain(averages).chain(DESIGNS.map(peak)).collect();
    Ok(Content {
        claims: vec![Claim::new(
            "§VII-F",
            "with reuse fewer registers are in use on average than without; values: n/a, they are in the chart alone",
            here,
        )],
        tables: vec![table(
            "registers",
            "Registers of the SM in use, of 1024",
            results,
            &columns,
            Average::Arithmetic,
        )],
        notes: vec![
            "Logical: registers of the resident warps, which is what the machine without reuse occupies."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![chart("registers in use", "of 1024", results, &columns, Average::Arithmetic, false)],
    })
}

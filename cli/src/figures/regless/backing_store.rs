//! Fig. 3: accesses to what lies behind the small structures, per 100 cycles.

use anyhow::Result;

use super::rodinia::{AVERAGES, Average, Series, baseline, chart, ratio, regless, rfh, table};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::sweep::{Point, Results, Run};

/// Cycles that accesses are counted for.
const CYCLES: f64 = 100.0;

/// The baseline, RegLess and the register file hierarchy.
pub fn points_3() -> Vec<Point> {
    vec![baseline(), regless(), rfh()]
}

/// Accesses to the main register file.
fn register_file(run: &Run) -> f64 {
    (run.report.mrf().reads + run.report.mrf().writes) as f64
}

/// Requests of the L1 for register lines.
fn l1(run: &Run) -> f64 {
    run.report.memory.register_lines.l1_requests() as f64
}

/// Fig. 3.
pub fn figure_3(results: &Results) -> Result<Content> {
    let (base, staged) = (results.of(&baseline()), results.of(&regless()));
    let per_cycles = |accesses: fn(&Run) -> f64| {
        move |run: &Run| ratio(CYCLES * accesses(run), run.report.sm_cycles() as f64)
    };
    let through = base.iter().zip(staged).map(|(base, run)| ratio(100.0 * l1(run), register_file(base)));
    let columns = [
        Series::of_runs("baseline", "baseline: register file", 1, base, per_cycles(register_file)),
        Series::of_runs("regless", "RegLess: L1", 2, staged, per_cycles(l1)),
        Series::of_runs("rfh", "RFH: register file", 1, results.of(&rfh()), per_cycles(register_file)),
        Series::new("l1_percent", "L1 requests, % of register file accesses", 2, through.collect()),
    ];
    Ok(Content {
        claims: claims(results, &columns),
        tables: vec![table(
            "accesses_per_100_cycles",
            "Accesses to the backing store in 100 cycles",
            results,
            &columns,
            Average::Arithmetic,
        )],
        notes: vec![
            "Means over whole runs, where the paper shows hotspot's steady state. Accesses are of warp-wide registers; \
             RegLess has 8 lines a warp (512 for 64 warps), and its L1 requests are those of Fig. 18."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![chart(
            "accesses to the backing store in 100 cycles",
            "accesses",
            results,
            &columns[..3],
            Average::Arithmetic,
            false,
        )],
    })
}

fn claims(results: &Results, columns: &[Series]) -> Vec<Claim> {
    let [base, staged, hierarchy, through] = columns else { return Vec::new() };
    let number = |value: Option<f64>, decimals: usize| {
        value.map_or_else(|| "no value".to_owned(), |value| format!("{value:.decimals$}"))
    };
    let hotspot = results.workloads.iter().position(|workload| workload.name == "hotspot");
    let of_hotspot = |series: &Series| hotspot.and_then(|position| series.values[position]);
    let mean = |series: &Series| series.average(results, Average::Arithmetic);
    vec![
        Claim::new(
            "Fig. 3",
            "in hotspot far fewer requests of the backing store than in the baseline",
            format!(
                "{} register file accesses, {} of the L1; RFH: {} register file accesses",
                number(of_hotspot(base), 1),
                number(of_hotspot(staged), 2),
                number(of_hotspot(hierarchy), 1)
            ),
        ),
        Claim::new(
            "§2.2",
            "on average 0.9 % of accesses filter through to the L1",
            format!(
                "{} % (mean over workloads: {} of {})",
                number(mean(through), 2),
                number(mean(staged), 2),
                number(mean(base), 1)
            ),
        )
        .number(Number::share(
            "filtered",
            "accesses that reach the L1",
            Stated::exactly(0.9),
            mean(through),
        )),
    ]
}

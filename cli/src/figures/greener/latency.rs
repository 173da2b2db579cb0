//! Figs. 4.10 and 4.11: cycles and leakage energy by the latency of wake-ups.

use anyhow::Result;

use super::{DESIGNS, Design, NODE_NM, baseline, leakage_pj, model, notes, relative, values_absent};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, table};
use crate::figures::sweep::{Point, Results, Run};

/// Cycles from SLEEP to ON; from OFF it takes twice as many (§4.3.6).
const LATENCIES: [u64; 4] = [1, 2, 3, 4];

fn with_latency(design: Design, latency: u64) -> Point {
    design.point().with("greener.sleep_latency", latency).with("greener.off_latency", 2 * latency)
}

/// The baseline, and both designs at every latency.
pub fn points() -> Vec<Point> {
    let designs =
        DESIGNS.into_iter().flat_map(|design| LATENCIES.map(|latency| with_latency(design, latency)));
    std::iter::once(baseline()).chain(designs).collect()
}

/// A quantity of each design at each latency, relative to the baseline's.
fn by_latency(
    results: &Results,
    value: impl Fn(&Run) -> Result<f64>,
) -> Result<Vec<[Series; LATENCIES.len()]>> {
    let of_design = |design: Design| {
        let at = |latency: u64| -> Result<Series> {
            let (key, heading) =
                (format!("{}_{latency}", design.key), format!("{}, {latency}", design.heading));
            let values = relative(results, (&with_latency(design, latency), &baseline()), &value)?;
            Ok(Series::new(key, heading, 3, values))
        };
        let [one, two, three, four] = LATENCIES.map(at);
        Ok([one?, two?, three?, four?])
    };
    DESIGNS.into_iter().map(of_design).collect()
}

/// Fig. 4.10.
pub fn figure_10(results: &Results) -> Result<Content> {
    let designs = by_latency(results, |run| Ok(run.report.cycles as f64))?;
    let grows = |[first, .., last]: &[Series; LATENCIES.len()]| higher(last, first);
    let growing: Vec<String> = DESIGNS
        .iter()
        .zip(&designs)
        .map(|(design, series)| format!("{} {}", design.heading, grows(series)))
        .collect();
    let claims = vec![
        Claim::new(
            "§4.3.6",
            "for most of the applications cycles grow with the latency",
            format!("of {} workloads, from 1 to 4 cycles: {}", results.workloads.len(), growing.join(", ")),
        ),
        greener_is_better("GREENER is faster than Sleep-Reg for most of the applications", results, &designs),
        values_absent("Fig. 4.10"),
    ];
    let title = "Cycles by cycles from SLEEP to ON, relative to the baseline";
    Ok(content(results, claims, designs, ("cycles", title, "cycles")))
}

/// Fig. 4.11.
pub fn figure_11(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let designs = by_latency(results, |run| leakage_pj(&model, run))?;
    let claims = vec![
        greener_is_better("applications save more with GREENER than with Sleep-Reg", results, &designs),
        values_absent("Fig. 4.11"),
    ];
    let title = "Leakage energy by cycles from SLEEP to ON, relative to the baseline";
    let content = content(results, claims, designs, ("leakage_energy", title, "leakage energy"));
    Ok(Content { notes: [content.notes, notes()].concat(), ..content })
}

/// Workloads of which a series is higher than another.
fn higher(series: &Series, than: &Series) -> usize {
    series.values.iter().zip(&than.values).filter(|(one, other)| one > other).count()
}

/// In how many workloads GREENER has less than Sleep-Reg.
fn greener_is_better(paper: &str, results: &Results, designs: &[[Series; LATENCIES.len()]]) -> Claim {
    let [sleep_reg, greener] = designs else { return values_absent("§4.3.6") };
    let at = LATENCIES.iter().zip(sleep_reg.iter().zip(greener));
    let counts: Vec<String> = at
        .map(|(latency, (sleep_reg, greener))| format!("{} at {latency}", higher(sleep_reg, greener)))
        .collect();
    Claim::new("§4.3.6", paper, format!("of {} workloads {}", results.workloads.len(), counts.join(", ")))
}

fn content(
    results: &Results,
    claims: Vec<Claim>,
    designs: Vec<[Series; LATENCIES.len()]>,
    (key, title, drawn): (&'static str, &str, &str),
) -> Content {
    let series: Vec<Series> = designs.into_iter().flatten().collect();
    Content {
        claims,
        tables: vec![table(key, title, results, &series, Average::Geometric)],
        notes: vec!["From OFF to ON it takes twice as many cycles.".to_owned()],
        charts: vec![chart(drawn, "relative to the baseline", results, &series, Average::Geometric, false)],
    }
}

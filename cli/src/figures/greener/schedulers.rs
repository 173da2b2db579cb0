//! Figs. 4.13 and 4.14: leakage energy under other schedulers.

use anyhow::Result;

use super::leakage::off_leaks;
use super::{
    DESIGNS, Design, GREENER, NODE_NM, baseline, leakage_pj, model, notes, on_k20x, percent, relative, saved,
    saving,
};
use crate::figures::Cause;
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, chart, table};
use crate::figures::sweep::{Point, Results};

/// What GREENER saves of the leakage energy under GTO and under the two-level scheduler, per cent (§4.3.8).
const GTO: f64 = 46.96;
const TWO_LEVEL: f64 = 47.54;

/// Why numbers differ.
pub const CAUSES: &[Cause] = &[off_leaks(&["greener"])];

fn gto_baseline() -> Point {
    baseline().with_gto()
}

fn of_gto(design: Design) -> Point {
    design.point().with_gto()
}

fn two_level_baseline() -> Point {
    on_k20x("two-level")
}

fn of_two_level(design: Design) -> Point {
    on_k20x(&format!("two-level+{}", design.name))
}

/// GTO.
pub fn points_13() -> Vec<Point> {
    std::iter::once(gto_baseline()).chain(DESIGNS.map(of_gto)).collect()
}

/// The two-level scheduler, and the baseline under GTO.
pub fn points_14() -> Vec<Point> {
    [two_level_baseline(), gto_baseline()].into_iter().chain(DESIGNS.map(of_two_level)).collect()
}

/// Fig. 4.13.
pub fn figure_13(results: &Results) -> Result<Content> {
    content(results, ("Fig. 4.13", GTO), (&gto_baseline(), of_gto))
}

/// Fig. 4.14.
pub fn figure_14(results: &Results) -> Result<Content> {
    let mut content = content(results, ("Fig. 4.14", TWO_LEVEL), (&two_level_baseline(), of_two_level))?;
    let cycles =
        relative(results, (&two_level_baseline(), &gto_baseline()), |run| Ok(run.report.cycles as f64))?;
    let cycles = Series::new("cycles", "two-level beside GTO", 3, cycles);
    content.claims.push(Claim::new(
        "§4.3.8",
        "the baseline takes fewer cycles under GTO than under the two-level scheduler",
        format!("two-level beside GTO: {}", change(cycles.average(results, Average::Geometric))),
    ));
    content.tables.push(table(
        "baseline_cycles",
        "Cycles of the baseline",
        results,
        &[cycles],
        Average::Geometric,
    ));
    content.notes.push(
        "The thesis does not say how many warps are active: half of a scheduler's, with a scheduler as in Gebhart et al."
            .to_owned(),
    );
    Ok(content)
}

fn content(
    results: &Results,
    (figure, paper): (&'static str, f64),
    (base, point): (&Point, fn(Design) -> Point),
) -> Result<Content> {
    let model = model(NODE_NM)?;
    let of_design = |design: Design| -> Result<Series> {
        let values = relative(results, (&point(design), base), |run| leakage_pj(&model, run))?;
        let paper = (design.key == GREENER.key).then_some(1.0 - paper / 100.0);
        Ok(Series::new(design.key, design.heading, 3, values).with_paper(paper))
    };
    let [sleep_reg, greener] = DESIGNS.map(of_design);
    let series = [sleep_reg?, greener?];
    let here = percent(saved(series[0].average(results, Average::Geometric)));
    let title = "Leakage energy, relative to the baseline under the same scheduler";
    Ok(Content {
        claims: vec![
            saving("§4.3.8", "leakage energy", GREENER, paper, (results, &series[1])),
            Claim::new(
                figure,
                "leakage energy saved by Sleep-Reg, and values of single workloads: n/a",
                here,
            ),
        ],
        tables: vec![table("leakage_energy", title, results, &series, Average::Geometric)],
        notes: notes(),
        charts: vec![chart(
            "leakage energy",
            "relative to the baseline",
            results,
            &series,
            Average::Geometric,
            false,
        )],
    })
}

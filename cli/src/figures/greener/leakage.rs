//! Figs. 4.6 to 4.9: leakage power, cycles, leakage energy, and what each optimisation adds.

use anyhow::Result;

use super::{Column, NODE_NM, baseline, k20x, leakage_pj, model, notes, table};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::sweep::{Point, Results, Run};

/// Baseline, Sleep-Reg and GREENER.
pub fn points() -> Vec<Point> {
    vec![baseline(), k20x("sleep-reg"), k20x("greener")]
}

/// The same and GREENER without its lookup table.
pub fn points_9() -> Vec<Point> {
    vec![baseline(), k20x("sleep-reg"), k20x("greener-comp-opt"), k20x("greener")]
}

/// Leakage over cycles, and cycles, as parts of the baseline's; the thesis's averages are of §4.3.1 to §4.3.4.
pub fn figure_6(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let power = |run: &Run| Ok(leakage_pj(&model, run)? / run.report.cycles as f64);
    let columns = relative(results, power, [Some(1.0 - 0.4186), Some(1.0 - 0.4724)])?;
    Ok(Content {
        claims: claims("§4.3.1", "leakage power", &columns),
        tables: vec![table("leakage_power", "Leakage power, relative to the baseline", results, &columns)],
        notes: notes(),
        charts: Vec::new(),
    })
}

/// Fig. 4.7.
pub fn figure_7(results: &Results) -> Result<Content> {
    let cycles = |run: &Run| Ok(run.report.cycles as f64);
    let columns = relative(results, cycles, [Some(1.0148), Some(1.0053)])?;
    Ok(Content {
        claims: claims("§4.3.2", "cycles", &columns),
        tables: vec![table("cycles", "Cycles, relative to the baseline", results, &columns)],
        notes: Vec::new(),
        charts: Vec::new(),
    })
}

/// Fig. 4.8. Of Sleep-Reg the text has what GREENER saves beside it; §4.3.4 has its own.
pub fn figure_8(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let columns = relative(results, |run| leakage_pj(&model, run), [Some(1.0 - 0.41), Some(1.0 - 0.4696)])?;
    Ok(Content {
        claims: claims("§4.3.3", "leakage energy", &columns),
        tables: vec![table("leakage_energy", "Leakage energy, relative to the baseline", results, &columns)],
        notes: notes(),
        charts: Vec::new(),
    })
}

/// Fig. 4.9.
pub fn figure_9(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let designs = [
        ("sleep-reg", "sleep_reg", "Sleep-Reg", 0.41),
        ("greener-comp-opt", "comp_opt", "Comp-OPT", 0.4714),
        ("greener", "greener", "GREENER", 0.4696),
    ];
    let columns = designs.map(|(design, key, heading, saved)| {
        let value = |run: &Run| leakage_pj(&model, run);
        Column::relative((key, heading), results, (&k20x(design), &baseline()), value, Some(1.0 - saved))
    });
    let columns = columns.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(Content {
        claims: claims("§4.3.4", "leakage energy", &columns),
        tables: vec![table("leakage_energy", "Leakage energy, relative to the baseline", results, &columns)],
        notes: notes(),
        charts: Vec::new(),
    })
}

/// Sleep-Reg and GREENER beside the baseline.
fn relative(
    results: &Results,
    value: impl Fn(&Run) -> Result<f64>,
    thesis: [Option<f64>; 2],
) -> Result<Vec<Column>> {
    let designs = [("sleep-reg", "sleep_reg", "Sleep-Reg"), ("greener", "greener", "GREENER")];
    let columns = designs.into_iter().zip(thesis).map(|((design, key, heading), thesis)| {
        Column::relative((key, heading), results, (&k20x(design), &baseline()), &value, thesis)
    });
    columns.collect()
}

/// The averages as changes.
fn claims(source: &'static str, what: &str, columns: &[Column]) -> Vec<Claim> {
    let change = |value: Option<f64>| {
        value.map_or_else(|| "n/a".to_owned(), |value| format!("{:+.2} %", 100.0 * (value - 1.0)))
    };
    let claim = |column: &Column| {
        let said = format!("{}: {what} {}", column.heading, change(column.thesis));
        let less = |value: f64| 100.0 * (value - 1.0);
        let number = column.thesis.map(|thesis| {
            Number::change(&column.key, what, Stated::exactly(less(thesis)), column.mean().map(less))
        });
        Claim::new(source, said, change(column.mean())).numbers(number)
    };
    columns.iter().map(claim).collect()
}

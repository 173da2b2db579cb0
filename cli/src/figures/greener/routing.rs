//! Fig. 4.12: leakage energy with what routing leaks, whatever rows do.

use anyhow::Result;

use super::leakage::off_leaks;
use super::{DESIGNS, Design, NODE_NM, baseline, leakage_pj, model, notes, saving, values_absent};
use crate::figures::Cause;
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, ratio, table};
use crate::figures::sweep::{Results, Run};

/// Leakage of routing over that of what sleeps. Not given: the averages of Figs. 4.8 and 4.12 imply 1.26 to 1.36 (GREENER saves
/// 46.96 % without and 20.76 % with it, Sleep-Reg 41 % and 17.4 %).
const ROUTING: [f64; 4] = [0.0, 1.26, 1.31, 1.36];
/// The one in the middle of these, for numbers.
const MIDDLE: usize = 2;
/// What is saved of the leakage energy with routing, per cent, Sleep-Reg and GREENER (§4.3.7).
const SAVED: [f64; 2] = [17.4, 20.76];

/// Why numbers differ.
pub const CAUSES_12: &[Cause] = &[off_leaks(&["sleep_reg", "greener"])];

/// Fig. 4.12.
pub fn figure_12(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let of_design = |design: Design, paper: f64| {
        let at = |routing: f64| {
            let with_routing = |(run, base): (&Run, &Run)| {
                let (ours, full) = (leakage_pj(&model, run)?, leakage_pj(&model, base)?);
                let time = ratio(run.report.cycles as f64, base.report.cycles as f64);
                Ok(time.and_then(|time| ratio(ours + routing * full * time, full * (1.0 + routing))))
            };
            let pairs = results.of(&design.point()).iter().zip(results.of(&baseline()));
            let values = pairs.map(with_routing).collect::<Result<_>>()?;
            let hundredths = (100.0 * routing).round();
            let (key, heading) =
                (format!("{}_{hundredths}", design.key), format!("{}, {routing} ×", design.heading));
            let paper = (routing > 0.0).then_some(1.0 - paper / 100.0);
            Ok(Series::new(key, heading, 3, values).with_paper(paper))
        };
        ROUTING.into_iter().map(at).collect::<Result<Vec<_>>>()
    };
    let series: Vec<Vec<Series>> = DESIGNS
        .into_iter()
        .zip(SAVED)
        .map(|(design, paper)| of_design(design, paper))
        .collect::<Result<_>>()?;
    let claim = |((design, paper), series): ((&Design, f64), &Vec<Series>)| {
        saving("§4.3.7", "leakage energy with routing", *design, paper, (results, &series[MIDDLE]))
    };
    let claims: Vec<Claim> = DESIGNS.iter().zip(SAVED).zip(&series).map(claim).collect();
    let series: Vec<Series> = series.into_iter().flatten().collect();
    let title =
        "Leakage energy with routing that leaks so many times what the arrays do, relative to the baseline";
    let mut notes = notes();
    notes.push(format!(
        "Routing leaks in all cycles. Its size is not given; numbers are of {} ×.",
        ROUTING[MIDDLE]
    ));
    Ok(Content {
        claims: claims.into_iter().chain([values_absent("Fig. 4.12")]).collect(),
        tables: vec![table("leakage_energy", title, results, &series, Average::Geometric)],
        notes,
        charts: vec![chart(
            "leakage energy with routing",
            "relative to the baseline",
            results,
            &series,
            Average::Geometric,
            false,
        )],
    })
}

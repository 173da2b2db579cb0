//! Fig. 4.15: leakage energy at 45, 32 and 22 nm.

use anyhow::Result;
use warpfile_sim::energy::EnergyModel;

use super::{DESIGNS, Design, baseline, leakage_pj, model, notes, percent, relative, saved};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, table};
use crate::figures::sweep::{Results, Run};

/// Nodes of Fig. 4.15, nm.
const NODES_NM: [u32; 3] = [45, 32, 22];

/// Fig. 4.15.
pub fn figure_15(results: &Results) -> Result<Content> {
    let models: Vec<(u32, EnergyModel)> =
        NODES_NM.into_iter().map(|node_nm| Ok((node_nm, model(node_nm)?))).collect::<Result<_>>()?;
    let of_design = |design: Design| {
        let at = |(node_nm, model): &(u32, EnergyModel)| {
            let (key, heading) =
                (format!("{}_{node_nm}", design.key), format!("{}, {node_nm} nm", design.heading));
            let values = relative(results, (&design.point(), &baseline()), |run| leakage_pj(model, run))?;
            Ok(Series::new(key, heading, 3, values))
        };
        models.iter().map(at).collect::<Result<Vec<_>>>()
    };
    let designs: Vec<Vec<Series>> = DESIGNS.into_iter().map(of_design).collect::<Result<_>>()?;
    let milliwatts = |(node_nm, model): &(u32, EnergyModel)| {
        // pJ a nanosecond are mW.
        let power = |run: &Run| {
            let nanoseconds = run.report.sm_cycles().max(1) as f64 / model.technology().clock_ghz.value;
            Ok(Some(leakage_pj(model, run)? / nanoseconds))
        };
        let values = results.of(&baseline()).iter().map(power).collect::<Result<_>>()?;
        Ok(Series::new(format!("baseline_{node_nm}_mw"), format!("baseline, {node_nm} nm"), 2, values))
    };
    let baselines: Vec<Series> = models.iter().map(milliwatts).collect::<Result<_>>()?;
    let shown = |series: &[Series], value: &dyn Fn(Option<f64>) -> String| {
        let at = NODES_NM.iter().zip(series);
        let at =
            at.map(|(node, one)| format!("{} at {node} nm", value(one.average(results, Average::Geometric))));
        at.collect::<Vec<_>>().join(", ")
    };
    let savings = DESIGNS.iter().zip(&designs).map(|(design, series)| {
        format!("{} {}", design.heading, shown(series, &|relative| percent(saved(relative))))
    });
    let leakage =
        shown(&baselines, &|power| power.map_or_else(String::new, |power| format!("{power:.1} mW")));
    let claims = vec![
        Claim::new(
            "§4.3.9",
            "GREENER saves at all nodes, more than Sleep-Reg; its savings grow from 45 to 32 nm; how much: n/a",
            savings.collect::<Vec<_>>().join("; "),
        ),
        Claim::new("§4.3.9", "the baseline leaks more at 32 than at 45 nm, by how much: n/a", leakage),
    ];
    let series: Vec<Series> = designs.into_iter().flatten().collect();
    let title = "Leakage energy by node, relative to the baseline of the node";
    let mut notes = notes();
    notes.push(
        "CACTI's runs of all three nodes are there. Changes of state take Table 4.4's energy, which is of 22 nm, at every node. \
         The thesis's 22 nm are double-gated; CACTI 7's are not, and have no leakage of junctions."
            .to_owned(),
    );
    Ok(Content {
        claims,
        tables: vec![
            table("leakage_energy", title, results, &series, Average::Geometric),
            table(
                "baseline_leakage_mw",
                "Leakage of the baseline's register file, mW",
                results,
                &baselines,
                Average::Geometric,
            ),
        ],
        notes,
        charts: vec![chart(
            "leakage energy",
            "relative to the baseline of the node",
            results,
            &series,
            Average::Geometric,
            false,
        )],
    })
}

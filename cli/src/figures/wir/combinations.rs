//! Reuse over a register file cache, and with registers that sleep, which the paper does not measure.

use anyhow::{Context, Result};

use super::{AVERAGES, Design, RLPV, on_fermi};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, chart, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// Each mechanism alone and with reuse.
const DESIGNS: [Design; 5] = [
    RLPV,
    Design { name: "rfc", key: "rfc", heading: "RFC" },
    Design { name: "rfc+wir-rlpv", key: "rfc_rlpv", heading: "RFC+RLPV" },
    Design { name: "greener", key: "greener", heading: "GREENER" },
    Design { name: "greener+wir-rlpv", key: "greener_rlpv", heading: "GREENER+RLPV" },
];

/// A design where each scheduler has half of the registers and of the buffers: a register file cache serves one scheduler.
fn of_halves(design: &str) -> Point {
    on_fermi(design).with("sm.schedulers_per_partition", 1).with("register_file.bank_groups", 4)
}

fn baseline() -> Point {
    of_halves("baseline")
}

/// The baseline and every design.
pub fn points() -> Vec<Point> {
    std::iter::once(baseline()).chain(DESIGNS.map(|design| of_halves(design.name))).collect()
}

/// A quantity of a run beside that of the baseline.
type Quantity<'a> = &'a dyn Fn(&Run, &Run) -> Result<Option<f64>>;

/// Cycles, accesses to the main register file, energy of the registers and of the GPU.
pub fn figure(results: &Results) -> Result<Content> {
    let model = results.energy_model(&baseline())?;
    let by_design = |quantity: Quantity<'_>| -> Result<Vec<Series>> {
        let of = |design: Design| -> Result<Series> {
            let pairs = results.of(&of_halves(design.name)).iter().zip(results.of(&baseline()));
            let values = pairs.map(|(run, base)| quantity(run, base)).collect::<Result<_>>();
            Ok(Series::new(design.key, design.heading, 3, values.context(design.heading)?))
        };
        DESIGNS.into_iter().map(of).collect()
    };
    let by_count = |count: fn(&Run) -> u64| {
        by_design(&move |run, base| Ok(ratio(count(run) as f64, count(base) as f64)))
    };
    let cycles = by_count(|run| run.report.cycles)?;
    let reads = by_count(|run| run.report.mrf().reads)?;
    let writes = by_count(|run| run.report.mrf().writes)?;
    let registers = by_design(&|run, base| {
        Ok(ratio(model.registers(run.measured())?.total_pj(), model.registers(base.measured())?.total_pj()))
    })?;
    let gpu = by_design(&|run, base| {
        let of = |run: &Run| Ok::<f64, anyhow::Error>(model.gpu(base.measured(), run.measured())?.total_pj());
        Ok(ratio(of(run)?, of(base)?))
    })?;
    let absent = |what: &str, series: &[Series]| {
        let average =
            |one: &Series| format!("{} {}", one.heading(), change(one.average(results, Average::Geometric)));
        let here = series.iter().map(average).collect::<Vec<_>>().join(", ");
        Claim::new("§VIII", format!("{what} with both: n/a, not measured there"), here)
    };
    let beside = |key, title: &str, series: &[Series]| {
        let title = format!("{title}, relative to the baseline's");
        table(key, &title, results, series, Average::Geometric)
    };
    Ok(Content {
        claims: vec![absent("cycles", &cycles), absent("energy of the registers", &registers), absent("energy of the GPU", &gpu)],
        tables: vec![
            beside("cycles", "Cycles", &cycles),
            beside("reads", "Reads of the main register file", &reads),
            beside("writes", "Writes of the main register file", &writes),
            beside("registers", "Energy of the registers", &registers),
            beside("gpu", "Energy of the GPU", &gpu),
        ],
        charts: vec![chart(
            "energy of the registers",
            "relative to the baseline",
            results,
            &registers,
            Average::Geometric,
            false,
        )],
        notes: vec![
            "Each scheduler has half of the registers and of the buffers, in all columns: a register file cache serves one \
             scheduler. RFC has its two-level scheduler, with reuse too."
                .to_owned(),
            "GREENER with RLPV: a row of the register file sleeps as the code of its last access says, and is OFF while nothing refers \
             to its physical register."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
    })
}

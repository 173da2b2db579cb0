//! GREENER on storages with a level in front of the main register file, and on the lines of RegLess: which the thesis does not
//! measure.

use anyhow::Result;
use warpfile_sim::mechanisms::greener::Power;

use super::leakage::power;
use super::{GREENER, NODE_NM, baseline, leakage_pj, model, notes, on_k20x, relative};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, chart, table};
use crate::figures::sweep::{Point, Results, Run};

/// Storages whose rows sleep.
const STORAGES: [&str; 7] = ["banked", "rfc", "rfh", "rc", "rsp", "hybrid", "regless"];

fn alone(storage: &str) -> Point {
    if storage == "banked" { baseline() } else { on_k20x(storage) }
}

fn sleeping(storage: &str) -> Point {
    on_k20x(&format!("{storage}+{}", GREENER.name))
}

/// Each storage without GREENER and with it.
pub fn points() -> Vec<Point> {
    STORAGES.into_iter().flat_map(|storage| [alone(storage), sleeping(storage)]).collect()
}

/// Leakage energy, cycles, and how many rows are ON.
pub fn figure(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    // A quantity with GREENER by that at another point.
    let by = |base: &dyn Fn(&str) -> Point, value: &dyn Fn(&Run) -> Result<f64>| -> Result<Vec<Series>> {
        let one = |storage: &'static str| {
            let values = relative(results, (&sleeping(storage), &base(storage)), value)?;
            Ok(Series::new(storage, storage, 3, values))
        };
        STORAGES.into_iter().map(one).collect()
    };
    let leakage = by(&alone, &|run| leakage_pj(&model, run))?;
    let of_file = by(&|_| baseline(), &|run| leakage_pj(&model, run))?;
    let cycles = by(&alone, &|run| Ok(run.report.cycles as f64))?;
    let on = STORAGES.map(|storage| {
        let shares = results.of(&sleeping(storage)).iter().map(|run| Some(on_percent(run)));
        Series::new(storage, storage, 1, shares.collect())
    });
    let title = "Leakage energy of a storage's rows with GREENER, relative to the same storage without";
    let average = |one: &Series| change(one.average(results, Average::Geometric));
    let of_each = |series: &[Series]| {
        let each = STORAGES.iter().zip(series).map(|(storage, one)| format!("{storage} {}", average(one)));
        each.collect::<Vec<_>>().join(", ")
    };
    let absent = |what: &str, series: &[Series]| {
        Claim::new("chapter 4", format!("{what} on other storages: n/a, not measured there"), of_each(series))
    };
    let mut notes = notes();
    notes.push(
        "Rows are those of the main register file; of RegLess, the lines of its staging units, which are OFF while they are no \
         register's. What is beside them does not sleep and is not in these figures: levels in front of the main register file, \
         tags and compressors of RegLess."
            .to_owned(),
    );
    let by_storage = |key, title, series: &[Series], average| table(key, title, results, series, average);
    Ok(Content {
        claims: vec![absent("leakage energy", &leakage), absent("cycles", &cycles)],
        charts: vec![chart(
            "leakage energy of a storage's rows with GREENER",
            "relative to the same storage without",
            results,
            &leakage,
            Average::Geometric,
            false,
        )],
        tables: vec![
            by_storage("leakage", title, &leakage, Average::Geometric),
            by_storage(
                "of_main_register_file",
                "The same, relative to a main register file whose rows are all ON",
                &of_file,
                Average::Geometric,
            ),
            by_storage(
                "cycles",
                "Cycles with GREENER, relative to the same storage without",
                &cycles,
                Average::Geometric,
            ),
            by_storage("on_percent", "Row cycles ON or waking up, %", &on, Average::Arithmetic),
        ],
        notes,
    })
}

/// Rows that were ON or waking up, of all row cycles, per cent.
fn on_percent(run: &Run) -> f64 {
    let Power { on, sleep, off, .. } = power(run);
    100.0 * on as f64 / (on + sleep + off).max(1) as f64
}

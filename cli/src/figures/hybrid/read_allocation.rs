//! What it brings to copy operands to the cache when they are read (§III-A.2).

use anyhow::Result;
use warpfile_sim::energy::RegisterEnergy;

use super::energy::{model, registers};
use super::{AVERAGES, KILOBYTES, baseline, elided_and_cycles, register_cache};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, table};
use crate::figures::sweep::{Point, Results};

/// Key, words and whether reads allocate.
const POLICIES: [(&str, &str, bool); 2] = [
    ("results", "lines for results", false),
    ("operands", "lines for results and for operands that are read", true),
];

fn point(read_allocate: bool) -> Point {
    register_cache(KILOBYTES).with("rc.read_allocate", read_allocate)
}

/// The baseline and both policies.
pub fn points() -> Vec<Point> {
    std::iter::once(baseline()).chain(POLICIES.map(|(.., read_allocate)| point(read_allocate))).collect()
}

/// Both policies.
pub fn figure(results: &Results) -> Result<Content> {
    let model = model(results)?;
    let (mut energies, mut others) = (Vec::new(), Vec::new());
    for (key, name, read_allocate) in POLICIES {
        let point = point(read_allocate);
        let values = registers(&model, results, &point, RegisterEnergy::total_pj)?;
        energies.push(Series::new(key, name, 3, values));
        others.extend(elided_and_cycles(results, &point, key)?);
    }
    let average = |one: &Series| one.average(results, Average::Geometric);
    let here = match (average(&energies[0]), average(&energies[1])) {
        (Some(results), Some(both)) => {
            format!("energy of the registers {results:.3} with lines for results alone, {both:.3} with both")
        }
        _ => "no value".to_owned(),
    };
    let said = "read allocation pollutes the cache and makes it less effective";
    let charts = vec![chart(
        "energy of the registers",
        "relative to the baseline",
        results,
        &energies,
        Average::Geometric,
        false,
    )];
    let columns: Vec<Series> = energies.into_iter().chain(others).collect();
    Ok(Content {
        claims: vec![Claim::new("§III-A.2", said, here)],
        tables: vec![table(
            "policies",
            "Energy of the registers with a cache of 12 KB, relative to the baseline; accesses to the main register file elided; cycles",
            results,
            &columns,
            Average::Geometric,
        )],
        notes: vec![
            "An operand that an instruction reads in the main register file and that is read again gets a line when it is \
             out, one an instruction, if a write port is free; what is copied is never written back."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts,
    })
}

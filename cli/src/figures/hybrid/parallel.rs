//! Scratchpad and cache in parallel, both backed by the main register file (§IV-D).

use anyhow::Result;
use warpfile_sim::energy::RegisterEnergy;

use super::energy::{model, registers};
use super::{
    AVERAGES, COMPARED, KILOBYTES, SCRATCHPAD_KILOBYTES, baseline, elided_and_cycles, organised, share,
};
use crate::figures::Cause;
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, table};
use crate::figures::sweep::{Point, Results};

/// Why these numbers differ: as those of Fig. 9.
pub const CAUSES: &[Cause] = &[Cause {
    of: &["hierarchical", "evict", "simple"],
    why: "As in Fig. 9 (run 1 there): what is counted, and what an access to the register file is. Counted as there \
          (decision 136):",
    run: "--set energy.technology=bailey2018-28nm",
}];

/// An organisation, with its energy of the registers relative to the baseline's (§IV-D), per cent.
struct Organisation {
    key: &'static str,
    name: &'static str,
    design: &'static str,
    registers: f64,
}

const ORGANISATIONS: [Organisation; 3] = [
    Organisation {
        key: "hierarchical",
        name: "the cache behind the scratchpad",
        design: "hybrid",
        registers: COMPARED[2].registers,
    },
    Organisation {
        key: "evict",
        name: "both in parallel, with evictions",
        design: "hybrid-parallel-evict",
        registers: 43.7,
    },
    Organisation {
        key: "simple",
        name: "both in parallel, for whole lives",
        design: "hybrid-parallel-simple",
        registers: 39.8,
    },
];

fn point(organisation: &Organisation) -> Point {
    organised(organisation.design, SCRATCHPAD_KILOBYTES, KILOBYTES - SCRATCHPAD_KILOBYTES)
}

/// The baseline and each organisation.
pub fn points() -> Vec<Point> {
    std::iter::once(baseline()).chain(ORGANISATIONS.iter().map(point)).collect()
}

/// The three organisations.
pub fn figure(results: &Results) -> Result<Content> {
    let model = model(results)?;
    let (mut energies, mut others, mut claims) = (Vec::new(), Vec::new(), Vec::new());
    for organisation in &ORGANISATIONS {
        let (Organisation { key, name, registers: paper, .. }, point) = (organisation, point(organisation));
        let values = registers(&model, results, &point, RegisterEnergy::total_pj)?;
        let one = Series::new(*key, *name, 3, values).with_paper(Some(paper / 100.0));
        let here = one.average(results, Average::Geometric).map(|relative| 100.0 * relative);
        let what = format!("energy of the registers with {name} relative to the baseline");
        claims.push(share("§IV-D", *key, &what, *paper, here));
        energies.push(one);
        others.extend(elided_and_cycles(results, &point, key)?);
    }
    let average = |one: &Series| one.average(results, Average::Geometric);
    let [hierarchical, evict, simple] = [0, 1, 2].map(|number| average(&energies[number]));
    let order = match (hierarchical, evict, simple) {
        (Some(hierarchical), Some(evict), Some(simple)) => {
            format!("hierarchical {hierarchical:.3}, simple {simple:.3}, with evictions {evict:.3}")
        }
        _ => "no value".to_owned(),
    };
    claims.push(Claim::new(
        "§IV-D",
        "the hierarchical design saves more energy than the parallel ones, and the one with evictions least",
        order,
    ));
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
        claims,
        tables: vec![table(
            "organisations",
            "Energy of the registers with 12 KB, relative to the baseline; accesses to the main register file elided; cycles",
            results,
            &columns,
            Average::Geometric,
        )],
        notes: vec![AVERAGES.to_owned()],
        charts,
    })
}

//! Figures of Bailey et al., "Scratch That (But Cache This): A Hybrid Register Cache / Scratchpad for GPUs", TCAD 2018: what a
//! register cache alone does.

mod accesses;
mod energy;

use anyhow::Result;

use super::series::{Series, ratio};
use super::sweep::{Point, Results, Run};
use super::{Figure, Method, Paper};

/// Benchmarks of Rodinia (§IV-A) that are here, and `hotspot` once more with many registers.
const RODINIA: &[&str] = &[
    "b+tree",
    "backprop",
    "bfs",
    "dwt2d",
    "gaussian",
    "heartwall",
    "hotspot",
    "hotspot-registers",
    "hybridsort",
    "kmeans",
    "lavaMD",
    "lud",
    "myocyte",
    "nn",
    "nw",
    "particle_filter",
    "pathfinder",
    "srad",
    "streamcluster",
];

/// The paper.
pub const PAPER: Paper = Paper {
    name: "hybrid",
    citation: "Bailey, Kloosterman, Mahlke, \"Scratch That (But Cache This): A Hybrid Register Cache / Scratchpad for GPUs\", IEEE TCAD 37(11), 2018",
    figures: FIGURES,
    studies: &[],
};

/// The figures, as far as they show a register cache alone.
const FIGURES: &[Figure] = &[
    Figure {
        id: "hybrid-4",
        title: "Register energy of a cache that warps share, and of one that is divided among them",
        source: "Bailey et al., Fig. 4, §II-C.3",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_4, show: energy::figure_4 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "hybrid-7",
        title: "Register energy of a register cache alone by capacity",
        source: "Bailey et al., Fig. 7, §III-A.4",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_7, show: energy::figure_7 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "hybrid-9",
        title: "Register energy and GPU energy of a register cache alone",
        source: "Bailey et al., Fig. 9, §IV-B.1",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_9, show: energy::figure_9 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "hybrid-10",
        title: "Accesses to the main register file that a register cache alone elides",
        source: "Bailey et al., Fig. 10, §IV-B.2",
        workloads: RODINIA,
        method: Method::Runs { points: accesses::points_10, show: accesses::figure_10 },
        has_numbers: true,
        causes: &[],
    },
];

/// What a reader has to know of averages.
const AVERAGES: &str = "Averages are geometric, over the paper's benchmarks that are here, hotspot once: hotspot-registers is left out.";

/// A design on the machine of Table I.
fn on_gtx980(design: &str) -> Point {
    Point::new("gtx980-hybrid", design)
}

/// The register file under GTO, which everything is relative to.
fn baseline() -> Point {
    on_gtx980("baseline")
}

/// A register cache alone, with so many KB an SM of four schedulers: a set of two lines for each KB.
fn register_cache(kilobytes: u64) -> Point {
    on_gtx980("rc").with("rc.sets", kilobytes)
}

/// Capacity at which designs are compared, KB an SM (§III-A.4).
const KILOBYTES: u64 = 12;

/// A quantity of each run of a point by that of the same workload under the baseline.
fn relative(
    results: &Results,
    point: &Point,
    value: impl Fn(&Run) -> Result<f64>,
) -> Result<Vec<Option<f64>>> {
    let pairs = results.of(point).iter().zip(results.of(&baseline()));
    pairs.map(|(run, base)| Ok(ratio(value(run)?, value(base)?))).collect()
}

/// Cycles beside the baseline's.
fn cycles(results: &Results, point: &Point) -> Result<Series> {
    let values = relative(results, point, |run| Ok(run.report.cycles as f64))?;
    Ok(Series::new("cycles", "cycles", 3, values))
}

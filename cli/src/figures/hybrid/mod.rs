//! Figures of Bailey et al., "Scratch That (But Cache This): A Hybrid Register Cache / Scratchpad for GPUs", TCAD 2018: a register
//! cache, a register scratchpad, and one behind the other.

mod accesses;
mod area;
mod components;
mod distances;
mod energy;
mod parallel;
mod read_allocation;

use anyhow::Result;
use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::launch::DEFAULT_SIZE;
use warpfile_kernels::workloads::AddressBits;
use warpfile_sim::sm::RunReport;

use super::number::{Number, Stated};
use super::report::Claim;
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
    addresses: AddressBits::Bits64,
    isa: Isa::Maxwell,
    size: DEFAULT_SIZE,
    figures: FIGURES,
    studies: &[],
};

/// The figures.
const FIGURES: &[Figure] = &[
    Figure {
        id: "hybrid-3",
        title: "Accesses that a register scratchpad elides against instructions of a strand",
        source: "Bailey et al., Fig. 3, §II-C.1",
        workloads: RODINIA,
        method: Method::Runs { points: components::points_3, show: components::figure_3 },
        has_numbers: false,
        causes: &[],
    },
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
        title: "Register energy by capacity, of a register cache, a register scratchpad and both",
        source: "Bailey et al., Fig. 7, §III-A.4",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_7, show: energy::figure_7 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "hybrid-8",
        title: "Register energy of a cache and a scratchpad that divide 12 KB",
        source: "Bailey et al., Fig. 8, §III-A.4",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_8, show: energy::figure_8 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "hybrid-9",
        title: "Register energy and GPU energy of a register cache, a register scratchpad and both",
        source: "Bailey et al., Fig. 9, §IV-B.1",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_9, show: energy::figure_9 },
        has_numbers: true,
        causes: energy::CAUSES_9,
    },
    Figure {
        id: "hybrid-10",
        title: "Accesses to the main register file that a register cache, a register scratchpad and both elide",
        source: "Bailey et al., Fig. 10, §IV-B.2",
        workloads: RODINIA,
        method: Method::Runs { points: accesses::points_10, show: accesses::figure_10 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "hybrid-11",
        title: "Accesses elided by the cache and the scratchpad of the hybrid",
        source: "Bailey et al., Fig. 11, §IV-C",
        workloads: RODINIA,
        method: Method::Runs { points: components::points_11, show: components::figure_11 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "hybrid-12",
        title: "Register reads by the structure that serves them and by cycles since the last access",
        source: "Bailey et al., Fig. 12, §IV-C",
        workloads: RODINIA,
        method: Method::Runs { points: distances::points_12, show: distances::figure_12 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "hybrid-parallel",
        title: "Register energy with cache and scratchpad in a hierarchy and in parallel",
        source: "Bailey et al., §IV-D",
        workloads: RODINIA,
        method: Method::Runs { points: parallel::points, show: parallel::figure },
        has_numbers: true,
        causes: parallel::CAUSES,
    },
    Figure {
        id: "hybrid-read-allocation",
        title: "A register cache that copies operands when they are read",
        source: "Bailey et al., §III-A.2",
        workloads: RODINIA,
        method: Method::Runs { points: read_allocation::points, show: read_allocation::figure },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "hybrid-area",
        title: "Area of a register cache, a register scratchpad and both",
        source: "Bailey et al., §III-A.4",
        workloads: &[],
        method: Method::Structures(area::area),
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

/// KB of an entry for each active warp of an SM: four schedulers with four (§III-A.4, footnote 1).
const KILOBYTES_OF_ENTRY: u64 = 2;

/// A register scratchpad alone, with so many KB an SM.
fn register_scratchpad(kilobytes: u64) -> Point {
    on_gtx980("rsp").with("rsp.entries", kilobytes / KILOBYTES_OF_ENTRY)
}

/// A register scratchpad in front of a register cache, each with so many KB an SM.
fn hybrid(scratchpad: u64, cache: u64) -> Point {
    organised("hybrid", scratchpad, cache)
}

/// The same by the design that says how they are organised.
fn organised(design: &str, scratchpad: u64, cache: u64) -> Point {
    let entries = scratchpad / KILOBYTES_OF_ENTRY;
    on_gtx980(design).with("hybrid.entries", entries).with("hybrid.sets", cache)
}

/// Capacity at which designs are compared, KB an SM (§III-A.4).
const KILOBYTES: u64 = 12;
/// What of it the hybrid's scratchpad has.
const SCRATCHPAD_KILOBYTES: u64 = 4;

/// A design at the capacity at which they are compared, with averages that the paper's text gives, per cent (§IV-B).
struct Compared {
    /// As in a configuration.
    key: &'static str,
    /// In words.
    name: &'static str,
    point: fn() -> Point,
    /// Energy of the registers relative to the baseline's.
    registers: f64,
    /// The same priced as if half of the capacity were there.
    half_size: Option<f64>,
    /// Energy of the GPU relative to the baseline's.
    gpu: f64,
    /// Register writes elided.
    writes: f64,
    /// Register reads elided.
    reads: f64,
}

/// The three designs.
const COMPARED: [Compared; 3] = [
    Compared {
        key: "rc",
        name: "a register cache",
        point: || register_cache(KILOBYTES),
        registers: 47.9,
        half_size: Some(45.1),
        gpu: 94.3,
        writes: 73.3,
        reads: 71.5,
    },
    Compared {
        key: "rsp",
        name: "a register scratchpad",
        point: || register_scratchpad(KILOBYTES),
        registers: 47.1,
        half_size: Some(43.1),
        gpu: 93.9,
        writes: 58.1,
        reads: 64.8,
    },
    Compared {
        key: "hybrid",
        name: "the hybrid",
        point: || hybrid(SCRATCHPAD_KILOBYTES, KILOBYTES - SCRATCHPAD_KILOBYTES),
        registers: 38.7,
        half_size: None,
        gpu: 92.8,
        writes: 78.3,
        reads: 75.5,
    },
];

/// The baseline and the three designs.
fn compared_points() -> Vec<Point> {
    std::iter::once(baseline()).chain(COMPARED.iter().map(|compared| (compared.point)())).collect()
}

/// A quantity of each run of a point by that of the same workload under the baseline.
fn relative(
    results: &Results,
    point: &Point,
    value: impl Fn(&Run) -> Result<f64>,
) -> Result<Vec<Option<f64>>> {
    let pairs = results.of(point).iter().zip(results.of(&baseline()));
    pairs.map(|(run, base)| Ok(ratio(value(run)?, value(base)?))).collect()
}

/// What stands beside the energy of a point: register writes and reads that are elided, and cycles beside the baseline's.
fn elided_and_cycles(results: &Results, point: &Point, key: &str) -> Result<[Series; 3]> {
    let runs = results.of(point);
    let elided = |kind: &str, percent: fn(&RunReport) -> Option<f64>| {
        let heading = format!("{key}: {kind} elided, %");
        Series::of_runs(format!("{key}_{kind}"), heading, 1, runs, |run| percent(&run.report))
    };
    let cycles = relative(results, point, |run| Ok(run.report.cycles as f64))?;
    Ok([
        elided("writes", RunReport::mrf_writes_avoided_percent),
        elided("reads", RunReport::mrf_reads_avoided_percent),
        Series::new(format!("{key}_cycles"), format!("{key}: cycles"), 3, cycles),
    ])
}

/// Cycles of a design beside the baseline's.
fn cycles(results: &Results, compared: &Compared) -> Result<Series> {
    let values = relative(results, &(compared.point)(), |run| Ok(run.report.cycles as f64))?;
    let Compared { key, .. } = compared;
    Ok(Series::new(format!("{key}_cycles"), format!("{key}: cycles"), 3, values))
}

/// A share of the paper's, per cent, beside ours.
fn share(source: &'static str, key: impl Into<String>, what: &str, paper: f64, here: Option<f64>) -> Claim {
    let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:.1} %"));
    let number = Number::share(key, what, Stated::exactly(paper), here);
    Claim::new(source, format!("{what}: {paper} %"), text).number(number)
}

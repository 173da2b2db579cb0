//! Figures of Kim & Ro, "WIR: Warp Instruction Reuse to Minimize Repeated Computations in GPUs".

mod backend;
mod cache;
mod combinations;
mod energy;
mod registers;
mod repeated;
mod signatures;
mod speedup;
mod storage;
mod verify_cache;

use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::launch::DEFAULT_SIZE;
use warpfile_kernels::workloads::AddressBits;
use warpfile_sim::mechanisms::wir::{COUNTERS, Counted};

use super::number::{Number, Stated};
use super::report::Claim;
use super::series::{Average, Series};
use super::sweep::{Point, Results, Run};
use super::{Cause, Figure, Method, Paper};

/// Benchmarks of Table I that are here.
const WORKLOADS: &[&str] = &[
    "b+tree",
    "gaussian",
    "backprop",
    "pathfinder",
    "stencil",
    "srad",
    "lud",
    "kmeans",
    "dwt2d",
    "nw",
    "mri-q",
    "sgemm",
    "hotspot",
    "hybridsort",
    "bfs",
    "streamcluster",
    "blackscholes",
    "heartwall",
    "montecarlo",
    "spmv",
    "fdtd3d",
    "dct8x8",
    "scan",
    "walsh",
    "sobel",
    "binomial",
    "cutcp",
    "sad",
    "leukocyte",
];

/// The paper.
pub const PAPER: Paper = Paper {
    name: "wir",
    citation: "Kim, Ro, \"WIR: Warp Instruction Reuse to Minimize Repeated Computations in GPUs\"",
    addresses: AddressBits::Bits32,
    isa: Isa::PtxPlus,
    size: DEFAULT_SIZE,
    figures: FIGURES,
    studies: &[],
};

/// The figures.
const FIGURES: &[Figure] = &[
    Figure {
        id: "wir-2",
        title: "Computations repeated within 1,000 instructions",
        source: "Kim & Ro, Fig. 2, §III-A",
        workloads: WORKLOADS,
        method: Method::Repeated { point: baseline, show: repeated::figure_2 },
        has_numbers: true,
        causes: repeated::CAUSES,
    },
    Figure {
        id: "wir-12",
        title: "Instructions processed in the backend",
        source: "Kim & Ro, Fig. 12, §VII-B",
        workloads: WORKLOADS,
        method: Method::Runs { points: backend::points_12, show: backend::figure_12 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "wir-13",
        title: "Operations executed in the backend by pipeline",
        source: "Kim & Ro, Fig. 13, §VII-B",
        workloads: WORKLOADS,
        method: Method::Runs { points: backend::points_13, show: backend::figure_13 },
        has_numbers: true,
        causes: backend::CAUSES_13,
    },
    Figure {
        id: "wir-14",
        title: "Energy of the GPU by component",
        source: "Kim & Ro, Fig. 14, §VII-C",
        workloads: WORKLOADS,
        method: Method::RepeatedAndRuns {
            point: baseline,
            points: energy::points_14,
            show: energy::figure_14,
        },
        has_numbers: true,
        causes: energy::CAUSES_14,
    },
    Figure {
        id: "wir-15",
        title: "Accesses to the L1 cache",
        source: "Kim & Ro, Fig. 15, §VII-C",
        workloads: WORKLOADS,
        method: Method::Runs { points: backend::points_12, show: cache::figure_15 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "wir-16",
        title: "Energy of an SM by component",
        source: "Kim & Ro, Fig. 16, §VII-C",
        workloads: WORKLOADS,
        method: Method::Runs { points: energy::points_16, show: energy::figure_16 },
        has_numbers: true,
        causes: energy::CAUSES_16,
    },
    Figure {
        id: "wir-17",
        title: "Speedup over the register file without reuse",
        source: "Kim & Ro, Fig. 17, §VII-D",
        workloads: WORKLOADS,
        method: Method::Runs { points: speedup::points_17, show: speedup::figure_17 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "wir-18a",
        title: "Accesses to the register file by entries of the verify cache",
        source: "Kim & Ro, Fig. 18a, §VII-D",
        workloads: WORKLOADS,
        method: Method::Runs { points: verify_cache::points, show: verify_cache::figure_18a },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "wir-18b",
        title: "Bank conflicts by entries of the verify cache",
        source: "Kim & Ro, Fig. 18b, §VII-D",
        workloads: WORKLOADS,
        method: Method::Runs { points: verify_cache::points, show: verify_cache::figure_18b },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "wir-19",
        title: "Physical registers in use",
        source: "Kim & Ro, Fig. 19, §VII-F",
        workloads: WORKLOADS,
        method: Method::Runs { points: registers::points, show: registers::figure_19 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "wir-20",
        title: "Hit rate of the value signature buffer by its rows",
        source: "Kim & Ro, Fig. 20, §VII-G.1",
        workloads: WORKLOADS,
        method: Method::Runs { points: signatures::points, show: signatures::figure_20 },
        has_numbers: true,
        causes: signatures::CAUSES,
    },
    Figure {
        id: "wir-21",
        title: "Instructions bypassed by rows of the reuse buffer",
        source: "Kim & Ro, Fig. 21, §VII-G.2, §VI-B",
        workloads: WORKLOADS,
        method: Method::Runs { points: backend::points_21, show: backend::figure_21 },
        has_numbers: true,
        causes: backend::CAUSES_21,
    },
    Figure {
        id: "wir-22",
        title: "Speedup by cycles that the backend takes more",
        source: "Kim & Ro, Fig. 22, §VII-G.3",
        workloads: WORKLOADS,
        method: Method::Runs { points: speedup::points_22, show: speedup::figure_22 },
        has_numbers: true,
        causes: speedup::CAUSES_22,
    },
    Figure {
        id: "wir-combinations",
        title: "Reuse over a register file cache, and with registers that sleep",
        source: "Kim & Ro, on what they do not measure",
        workloads: WORKLOADS,
        method: Method::Runs { points: combinations::points, show: combinations::figure },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "wir-storage",
        title: "Storage of an SM's buffers and tables",
        source: "Kim & Ro, §VII-E",
        workloads: &[],
        method: Method::Structures(storage::storage),
        has_numbers: true,
        causes: &[],
    },
];

/// A design of §VII-A: name, key, and what the paper calls it.
#[derive(Clone, Copy, Debug)]
struct Design {
    name: &'static str,
    key: &'static str,
    heading: &'static str,
}

const R: Design = Design { name: "wir-r", key: "r", heading: "R" };
const RL: Design = Design { name: "wir-rl", key: "rl", heading: "RL" };
const RLP: Design = Design { name: "wir-rlp", key: "rlp", heading: "RLP" };
/// The whole, whose numbers are most of the paper's.
const RLPV: Design = Design { name: "wir-rlpv", key: "rlpv", heading: "RLPV" };
/// With no more registers than without reuse.
const RLPVC: Design = Design { name: "wir-rlpvc", key: "rlpvc", heading: "RLPVc" };
/// Without load reuse.
const RPV: Design = Design { name: "wir-rpv", key: "rpv", heading: "RPV" };
/// On registers of one stride, without reuse and with all of it.
const AFFINE: Design = Design { name: "affine", key: "affine", heading: "Affine" };
const AFFINE_RLPV: Design = Design { name: "affine-rlpv", key: "affine_rlpv", heading: "Affine+RLPV" };
const NO_SIGNATURES: Design = Design { name: "wir-novsb", key: "novsb", heading: "NoVSB" };

impl Design {
    fn point(self) -> Point {
        on_fermi(self.name)
    }
}

/// A design on the machine of Table II.
fn on_fermi(design: &str) -> Point {
    Point::new("fermi-wir", design)
}

/// What everything is relative to: Base.
fn baseline() -> Point {
    on_fermi("baseline")
}

/// What reuse has counted in a run.
fn counted(run: &Run) -> Counted {
    run.report.counters.get(COUNTERS)
}

/// A number of the paper's that is a share, per cent, beside the mean of a series.
fn share(
    source: &'static str,
    key: &'static str,
    what: &str,
    paper: Stated,
    (results, series): (&Results, &Series),
) -> Claim {
    let number = Number::share(key, what, paper, series.average(results, Average::Arithmetic));
    Claim::new(source, format!("{what}: {}", number.paper_text()), number.here_text()).number(number)
}

/// An order in which warps stay together, as what a number differs by.
const fn together(of: &'static [&'static str]) -> Cause {
    Cause {
        of,
        why: "Less is found again here. The paper's warps stay closer together, as far as Fig. 2 tells, and its code is in another \
          compiler's order. Warps that take turns, and instructions in the order of the PTX.",
        run: "--schedule none --set scheduler.single_level=lrr",
    }
}

/// What a figure's chart shows and its text does not say.
fn values_absent(source: &'static str) -> Claim {
    Claim::new(source, "values of single benchmarks: n/a, they are in the chart alone", "in the table")
}

/// What a reader has to know of averages.
const AVERAGES: &str = "Means are over the 29 of the paper's 34 benchmarks that are here.";

//! Figures and tables of Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur,
//! 2018, chapter 4: registers that sleep.

mod latency;
mod leakage;
mod nodes;
mod overheads;
mod pattern;
mod routing;
mod schedulers;
mod storages;
mod thresholds;

use anyhow::{Context, Result};
use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::launch::DEFAULT_SIZE;
use warpfile_kernels::workloads::AddressBits;
use warpfile_sim::energy::{EnergyModel, Technology};
use warpfile_sim::mechanisms::register_file::REGISTERS;

use super::number::{Number, Stated};
use super::report::Claim;
use super::series::{Average, Series, ratio};
use super::sweep::{Point, Results, Run};
use super::{Figure, Method, Paper};

/// Those of Table 4.3.
const WORKLOADS: &[&str] = &[
    "vectoradd",
    "scalarprod",
    "sgemm",
    "pathfinder",
    "backprop",
    "bfs",
    "mri-q",
    "blackscholes",
    "lavaMD",
    "lib",
    "montecarlo",
    "spmv",
    "laplace",
    "neural",
    "mummer",
];

/// Technology node of the thesis, nm (Table 4.2).
const NODE_NM: u32 = 22;
/// Clock of the SMs, cycles a nanosecond (Table 4.2).
const CLOCK_GHZ: f64 = 0.732;

/// The thesis's chapter.
pub const PAPER: Paper = Paper {
    name: "greener",
    citation: "Jatala, \"Hardware and Software Optimizations for GPU Resource Management\", PhD thesis, IIT Kanpur, 2018, chapter 4",
    addresses: AddressBits::Bits32,
    isa: Isa::Maxwell,
    size: DEFAULT_SIZE,
    figures: FIGURES,
    studies: leakage::STUDIES,
};

/// All figures and tables.
const FIGURES: &[Figure] = &[
    Figure {
        id: "greener-4.1",
        title: "When a warp's registers are accessed",
        source: "Jatala, Fig. 4.1, §4.1.1",
        workloads: &["mummer"],
        method: Method::Accesses { point: baseline, show: pattern::figure_1 },
        has_numbers: true,
        causes: pattern::CAUSES_1,
    },
    Figure {
        id: "greener-4.2",
        title: "Share of cycles in which a register is accessed",
        source: "Jatala, Fig. 4.2, §4.1.1",
        workloads: WORKLOADS,
        method: Method::Accesses { point: baseline, show: pattern::figure_2 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "greener-4.6",
        title: "Leakage power of the register file",
        source: "Jatala, Fig. 4.6, §4.3.1",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: leakage::figure_6 },
        has_numbers: true,
        causes: leakage::CAUSES_6,
    },
    Figure {
        id: "greener-4.7",
        title: "Cycles of registers that sleep",
        source: "Jatala, Fig. 4.7, §4.3.2",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: leakage::figure_7 },
        has_numbers: true,
        causes: leakage::CAUSES_7,
    },
    Figure {
        id: "greener-4.8",
        title: "Leakage energy of the register file",
        source: "Jatala, Fig. 4.8, §4.3.3",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: leakage::figure_8 },
        has_numbers: true,
        causes: leakage::CAUSES_8,
    },
    Figure {
        id: "greener-4.9",
        title: "Leakage energy by optimisation",
        source: "Jatala, Fig. 4.9, §4.3.4",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points_9, show: leakage::figure_9 },
        has_numbers: true,
        causes: leakage::CAUSES_9,
    },
    Figure {
        id: "greener-overheads",
        title: "Storage of the lookup table and of the extended scoreboard",
        source: "Jatala, §4.3.5",
        workloads: &[],
        method: Method::Structures(overheads::overheads),
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "greener-4.10",
        title: "Cycles by wake-up latency",
        source: "Jatala, Fig. 4.10, §4.3.6",
        workloads: WORKLOADS,
        method: Method::Runs { points: latency::points, show: latency::figure_10 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "greener-4.11",
        title: "Leakage energy by wake-up latency",
        source: "Jatala, Fig. 4.11, §4.3.6",
        workloads: WORKLOADS,
        method: Method::Runs { points: latency::points, show: latency::figure_11 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "greener-4.12",
        title: "Leakage energy with routing",
        source: "Jatala, Fig. 4.12, §4.3.7",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: routing::figure_12 },
        has_numbers: true,
        causes: routing::CAUSES_12,
    },
    Figure {
        id: "greener-4.13",
        title: "Leakage energy under GTO",
        source: "Jatala, Fig. 4.13, §4.3.8",
        workloads: WORKLOADS,
        method: Method::Runs { points: schedulers::points_13, show: schedulers::figure_13 },
        has_numbers: true,
        causes: schedulers::CAUSES,
    },
    Figure {
        id: "greener-4.14",
        title: "Leakage energy under a two-level scheduler",
        source: "Jatala, Fig. 4.14, §4.3.8",
        workloads: WORKLOADS,
        method: Method::Runs { points: schedulers::points_14, show: schedulers::figure_14 },
        has_numbers: true,
        causes: schedulers::CAUSES,
    },
    Figure {
        id: "greener-4.15",
        title: "Leakage energy by technology node",
        source: "Jatala, Fig. 4.15, §4.3.9",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: nodes::figure_15 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "greener-table4.5",
        title: "Leakage energy by threshold distance",
        source: "Jatala, Table 4.5, §4.3.10",
        workloads: WORKLOADS,
        method: Method::Runs { points: thresholds::points, show: thresholds::table_5 },
        has_numbers: true,
        causes: thresholds::CAUSES,
    },
    Figure {
        id: "greener-storages",
        title: "Registers that sleep on other storages",
        source: "Jatala, chapter 4, on storages that it does not have",
        workloads: WORKLOADS,
        method: Method::Runs { points: storages::points, show: storages::figure },
        has_numbers: false,
        causes: &[],
    },
];

/// A design on the machine of Table 4.2.
fn on_k20x(design: &str) -> Point {
    Point::new("k20x-greener", design)
}

/// What the figures compare with: every row ON.
fn baseline() -> Point {
    on_k20x("baseline")
}

/// A design of the columns: name in a stack, key, heading.
#[derive(Clone, Copy)]
struct Design {
    name: &'static str,
    key: &'static str,
    heading: &'static str,
}

const SLEEP_REG: Design = Design { name: "sleep-reg", key: "sleep_reg", heading: "Sleep-Reg" };
const COMP_OPT: Design = Design { name: "greener-comp-opt", key: "comp_opt", heading: "Comp-OPT" };
const GREENER: Design = Design { name: "greener", key: "greener", heading: "GREENER" };
/// Those of most figures.
const DESIGNS: [Design; 2] = [SLEEP_REG, GREENER];

impl Design {
    fn point(self) -> Point {
        on_k20x(self.name)
    }
}

/// The energy model of a node at the thesis's clock. Of it only the leakage of memories is used, which is CACTI's.
fn model(node_nm: u32) -> Result<EnergyModel> {
    let mut technology = Technology::named(Technology::GTX980)?;
    technology.node_nm = node_nm;
    technology.clock_ghz.value = CLOCK_GHZ;
    Ok(EnergyModel::of(technology)?)
}

/// Leakage of the main register file in a run, with the energy of its changes of state, pJ.
fn leakage_pj(model: &EnergyModel, run: &Run) -> Result<f64> {
    let report = model.accesses(&run.config, &run.report);
    let registers = report.arrays.iter().find(|array| array.name == REGISTERS);
    let unavailable = || report.unavailable.clone().unwrap_or_default();
    Ok(registers.with_context(|| format!("no energy of registers: {}", unavailable()))?.leakage_pj)
}

/// A quantity of each run of a point by that of the same workload at another.
fn relative(
    results: &Results,
    (point, base): (&Point, &Point),
    value: impl Fn(&Run) -> Result<f64>,
) -> Result<Vec<Option<f64>>> {
    let pairs = results.of(point).iter().zip(results.of(base));
    pairs.map(|(run, base)| Ok(ratio(value(run)?, value(base)?))).collect()
}

/// What is saved of something, per cent; what is 1 is saved in no part.
fn saved(relative: Option<f64>) -> Option<f64> {
    relative.map(|relative| 100.0 * (1.0 - relative))
}

/// A share as it is printed.
fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "no value".to_owned(), |value| format!("{value:.2} %"))
}

/// What the thesis says that a design saves, and what comes out here.
fn saving(
    source: &'static str,
    what: &str,
    design: Design,
    paper: f64,
    (results, series): (&Results, &Series),
) -> Claim {
    let here = saved(series.average(results, Average::Geometric));
    let what = format!("{what} saved by {}", design.heading);
    Claim::new(source, format!("{what}: {paper} %"), percent(here)).number(Number::change(
        design.key,
        what,
        Stated::exactly(paper),
        here,
    ))
}

/// What a figure's chart shows and its text does not say.
fn values_absent(source: &'static str) -> Claim {
    Claim::new(source, "values of single workloads: n/a, they are in the chart alone", "in the table")
}

/// What is said under every table of leakage.
fn notes() -> Vec<String> {
    vec![
        "ON is the leakage of CACTI's arrays at 350 K, SLEEP what its array gating leaves, OFF greener.off_leakage of ON. The \
         baseline keeps every row ON, allocated or not. The thesis counts the cells of its register file alone in all \
         figures but 4.12; arrays here have their periphery."
            .to_owned(),
        "Means are geometric. The thesis's are over 21 kernels of the same 15 applications."
            .to_owned(),
    ]
}

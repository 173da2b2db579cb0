//! Figures and tables of Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, chapter 4.
//!
//! Leakage is of the main register file's arrays at 22 nm (Table 4.2), in whole and not of their cells alone.

mod leakage;
mod overheads;
mod sweeps;

use anyhow::{Context, Result};
use warpfile_sim::energy::{EnergyModel, Technology};
use warpfile_sim::mechanisms::register_file::REGISTERS;

use super::report::{Cell, Table};
use super::statistics::geometric_mean;
use super::sweep::{Point, Results, Run};
use super::{Figure, Method, Paper};

/// Workloads of Table 4.3 that are here.
const WORKLOADS: &[&str] =
    &["backprop", "bfs", "blackscholes", "lavaMD", "mri-q", "pathfinder", "sgemm", "scalarprod", "vectoradd"];

/// Technology node of the thesis, nm (Table 4.2).
const NODE_NM: u32 = 22;
/// Clock of the SMs, cycles a nanosecond (Table 4.2).
const CLOCK_GHZ: f64 = 0.732;

/// The thesis.
pub const PAPER: Paper = Paper {
    name: "greener",
    citation: "Jatala, \"Hardware and Software Optimizations for GPU Resource Management\", PhD thesis, IIT Kanpur, 2018, chapter 4",
    figures: FIGURES,
    studies: &[],
};

/// All figures and tables.
const FIGURES: &[Figure] = &[
    Figure {
        id: "greener-6",
        title: "Leakage power of the register file",
        source: "Jatala, Fig. 4.6, §4.3.1",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: leakage::figure_6 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "greener-7",
        title: "Cycles of registers that sleep",
        source: "Jatala, Fig. 4.7, §4.3.2",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: leakage::figure_7 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "greener-8",
        title: "Leakage energy of the register file",
        source: "Jatala, Fig. 4.8, §4.3.3",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: leakage::figure_8 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "greener-9",
        title: "Leakage energy by optimisation",
        source: "Jatala, Fig. 4.9, §4.3.4",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points_9, show: leakage::figure_9 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "greener-10",
        title: "Cycles by wake-up latency",
        source: "Jatala, Fig. 4.10, §4.3.6",
        workloads: WORKLOADS,
        method: Method::Runs { points: sweeps::points_10, show: sweeps::figure_10 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "greener-11",
        title: "Leakage energy by wake-up latency",
        source: "Jatala, Fig. 4.11, §4.3.6",
        workloads: WORKLOADS,
        method: Method::Runs { points: sweeps::points_10, show: sweeps::figure_11 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "greener-12",
        title: "Leakage energy with routing",
        source: "Jatala, Fig. 4.12, §4.3.7",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: sweeps::figure_12 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "greener-15",
        title: "Leakage energy by technology node",
        source: "Jatala, Fig. 4.15, §4.3.9",
        workloads: WORKLOADS,
        method: Method::Runs { points: leakage::points, show: sweeps::figure_15 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "greener-table5",
        title: "Leakage energy by threshold distance",
        source: "Jatala, Table 4.5, §4.3.10",
        workloads: WORKLOADS,
        method: Method::Runs { points: sweeps::points_table_5, show: sweeps::table_5 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "greener-overheads",
        title: "Storage of the lookup table and the scoreboard",
        source: "Jatala, §4.3.5",
        workloads: &[],
        method: Method::Structures(overheads::overheads),
        has_numbers: false,
        causes: &[],
    },
];

/// The thesis's machine with a design.
fn k20x(design: &str) -> Point {
    Point::k20x(design)
}

/// What the figures compare with: every row ON.
fn baseline() -> Point {
    k20x("baseline")
}

/// The energy model of a node at the thesis's clock. Of it only the leakage of arrays is used.
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

/// A value for each workload.
struct Column {
    key: String,
    heading: String,
    values: Vec<f64>,
    /// The thesis's average, if its text has it.
    thesis: Option<f64>,
}

impl Column {
    /// What each run of a point has, by what the run of `other` has.
    fn relative(
        (key, heading): (&str, &str),
        results: &Results,
        (point, other): (&Point, &Point),
        value: impl Fn(&Run) -> Result<f64>,
        thesis: Option<f64>,
    ) -> Result<Column> {
        let pairs = results.of(point).iter().zip(results.of(other));
        let values = pairs.map(|(run, base)| Ok(value(run)? / value(base)?)).collect::<Result<_>>()?;
        Ok(Column { key: key.to_owned(), heading: heading.to_owned(), values, thesis })
    }

    /// The geometric mean over the workloads.
    fn mean(&self) -> Option<f64> {
        geometric_mean(self.values.iter().copied())
    }
}

/// A row for each workload, the geometric mean, and the thesis's over its 21 kernels.
fn table(key: &'static str, title: &str, results: &Results, columns: &[Column]) -> Table {
    let mut table = Table::new(key, title).column("workload", "workload");
    for column in columns {
        table = table.real(&column.key, &column.heading, 4);
    }
    let row = |name: &str, value: &dyn Fn(&Column) -> Option<f64>| {
        let mut cells: Vec<Cell> = vec![name.into()];
        cells.extend(columns.iter().map(|column| Cell::from(value(column))));
        cells
    };
    for (index, workload) in results.workloads.iter().enumerate() {
        table.row(row(workload.name, &|column| column.values.get(index).copied()));
    }
    table.row(row("geometric mean", &Column::mean));
    table.row(row("thesis, its 21 kernels", &|column| column.thesis));
    table
}

/// What is said under every table of leakage.
fn notes() -> Vec<String> {
    vec![
        "ON is the leakage of CACTI's arrays at 350 K, SLEEP what its array gating leaves, OFF greener.off_leakage. \
         The thesis counts the cells of its register file alone in all figures but 4.12; arrays here have their \
         periphery, which sleeps no more than its routing does."
            .to_owned(),
        "Values of single kernels are in the thesis's charts and not in its text.".to_owned(),
    ]
}

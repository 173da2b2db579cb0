//! Figures and tables of Gebhart et al., "Energy-efficient Mechanisms for Managing Thread Context in Throughput
//! Processors", ISCA 2011.

mod cache;
mod combined;
mod energy;
mod policies;
mod scheduler;
mod values;

use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::launch::DEFAULT_SIZE;
use warpfile_kernels::workloads::{AddressBits, Workload};

use super::report::{Cell, Claim, Table};
use super::statistics::{category, groups, mean};
use super::sweep::{Results, Run};
use super::{Cause, Figure, Method, Paper};

/// Entries of the paper's design point (§3.1, §5.4).
const ENTRIES: u64 = 6;
/// Active warps of the paper's design point (§5.2, §5.4).
const ACTIVE: u64 = 8;
/// Warps of the SM (§2.1).
const WARPS: u64 = 32;
/// Entries of the sweeps (Figs. 6 and 11).
const SWEEP: std::ops::RangeInclusive<u64> = 1..=13;

/// Workloads that the figures are made of: those that stand for the paper's compute traces. The others are of
/// Rodinia, on which other papers rest.
const WORKLOADS: &[&str] = &[
    "vectoradd",
    "scalarprod",
    "sgemm",
    "hotspot",
    "pathfinder",
    "backprop",
    "bfs",
    "nw",
    "srad",
    "stencil",
    "mri-q",
    "blackscholes",
];

/// All workloads whose kernel of the most instructions takes 32 registers or more (`warpfile figure programs`).
const MANY_REGISTERS: &str = "--workloads sgemm,nw,lud,lavaMD,dwt2d,heartwall,myocyte,hotspot-registers,fdtd3d,convolution,cutcp,\
                              sad,leukocyte";
/// Why these workloads explain a number.
const OTHER_TRACES: &str = "Programs. The paper's MRF has 32 registers a thread, and its \"traces make use of this larger register \
                            set\" (§2.1); of the twelve here seven take fewer than 22. With all workloads whose kernel of the most \
                            instructions takes 32 or more:";

/// Why numbers of Fig. 2 differ.
const CAUSES_2: &[Cause] = &[Cause { of: &["read_more_than_twice"], why: OTHER_TRACES, run: MANY_REGISTERS }];
/// Why numbers of Fig. 6 differ.
const CAUSES_6: &[Cause] = &[Cause {
    of: &["reads", "writes_with_liveness", "writes", "reads_category_lowest", "writes_category_lowest"],
    why: OTHER_TRACES,
    run: MANY_REGISTERS,
}];
/// Why numbers of Fig. 9 differ.
const CAUSES_9: &[Cause] = &[Cause { of: &["short_latency_4"], why: OTHER_TRACES, run: MANY_REGISTERS }];
/// Why numbers of Fig. 11 differ.
const CAUSES_11: &[Cause] = &[Cause {
    of: &["flushing"],
    why: "Suspensions that need not be. An instruction is marked if on some path to it a load is under way: one that reads in a loop what \
          was loaded before it suspends its warp in each iteration (mri-q). If a warp is suspended \
          only when the value is not there yet:",
    run: "--set scheduler.suspend_when_ready=false",
}];
/// Why numbers of the policies differ.
const CAUSES_OF_POLICIES: &[Cause] =
    &[Cause { of: &["sources_reads", "bypass_writebacks"], why: OTHER_TRACES, run: MANY_REGISTERS }];

/// The paper.
pub const PAPER: Paper = Paper {
    name: "gebhart",
    citation: "Gebhart et al., \"Energy-efficient Mechanisms for Managing Thread Context in Throughput Processors\", ISCA 2011",
    addresses: AddressBits::Bits64,
    isa: Isa::Maxwell,
    size: DEFAULT_SIZE,
    figures: FIGURES,
    studies: &[],
};

/// All figures and tables.
const FIGURES: &[Figure] = &[
    Figure {
        id: "gebhart-2",
        title: "How often register values are read, and how long those read once live",
        source: "Gebhart et al., Fig. 2, §2.2",
        workloads: WORKLOADS,
        method: Method::Streams(values::figure_2),
        has_numbers: true,
        causes: CAUSES_2,
    },
    Figure {
        id: "gebhart-6",
        title: "MRF accesses avoided by a register file cache, all 32 warps active",
        source: "Gebhart et al., Fig. 6, §5.1",
        workloads: WORKLOADS,
        method: Method::Runs { points: cache::points_6, show: cache::figure_6 },
        has_numbers: true,
        causes: CAUSES_6,
    },
    Figure {
        id: "gebhart-7",
        title: "MRF accesses avoided by 6 entries, workload by workload",
        source: "Gebhart et al., Fig. 7, §5.1",
        workloads: WORKLOADS,
        method: Method::Runs { points: cache::points_7, show: cache::figure_7 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "gebhart-9",
        title: "IPC of the two-level scheduler: policies and latencies",
        source: "Gebhart et al., Fig. 9, §5.2, §5.5",
        workloads: WORKLOADS,
        method: Method::Runs { points: scheduler::points_9, show: scheduler::figure_9 },
        has_numbers: true,
        causes: CAUSES_9,
    },
    Figure {
        id: "gebhart-10",
        title: "IPC of the two-level scheduler, workload by workload",
        source: "Gebhart et al., Fig. 10, §5.2",
        workloads: WORKLOADS,
        method: Method::Runs { points: scheduler::points_10, show: scheduler::figure_10 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "gebhart-11",
        title: "MRF accesses avoided by a register file cache under two-level scheduling",
        source: "Gebhart et al., Fig. 11, §5.3",
        workloads: WORKLOADS,
        method: Method::Runs { points: combined::points_11, show: combined::figure_11 },
        has_numbers: true,
        causes: CAUSES_11,
    },
    Figure {
        id: "gebhart-12",
        title: "Register file energy and performance of the combined architecture",
        source: "Gebhart et al., Fig. 12, §5.4",
        workloads: WORKLOADS,
        method: Method::Runs { points: energy::points_12, show: energy::figure_12 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "gebhart-table5",
        title: "Register file energy with wires, 8 active warps, 6 entries",
        source: "Gebhart et al., Table 5, §5.4",
        workloads: WORKLOADS,
        method: Method::Runs { points: energy::points_table_5, show: energy::table_5 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "gebhart-policies",
        title: "Replacement, allocation, bypass and suspension policies",
        source: "Gebhart et al., §3.1, §3.2, §5.3",
        workloads: WORKLOADS,
        method: Method::Runs { points: policies::points, show: policies::policies },
        has_numbers: true,
        causes: CAUSES_OF_POLICIES,
    },
];

/// Reads that no active lane needed the MRF for, per cent.
fn reads_avoided(run: &Run) -> Option<f64> {
    run.report.mrf_reads_avoided_percent()
}

/// Writes that did not reach the MRF, per cent.
fn writes_avoided(run: &Run) -> Option<f64> {
    run.report.mrf_writes_avoided_percent()
}

/// Warp-wide reads and writes of the MRF.
fn mrf_accesses(run: &Run) -> f64 {
    (run.report.mrf().reads + run.report.mrf().writes) as f64
}

/// IPC relative to another run of the same instructions.
fn relative_ipc(run: &Run, reference: &Run) -> Option<f64> {
    (reference.report.ipc > 0.0).then(|| run.report.ipc / reference.report.ipc)
}

/// Arithmetic mean over all workloads that have a value.
fn overall(results: &Results, value: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    mean((0..results.workloads.len()).filter_map(value))
}

/// A column of measurements in a table by workload.
struct Measure {
    key: String,
    heading: String,
    decimals: usize,
}

impl Measure {
    fn new(key: impl Into<String>, heading: impl Into<String>, decimals: usize) -> Measure {
        Measure { key: key.into(), heading: heading.into(), decimals }
    }
}

/// A row for each workload, in the order given, then the arithmetic mean of each category and of all.
/// `value(column, workload)`.
fn by_workload(
    mut table: Table,
    workloads: &[&'static Workload],
    order: &[usize],
    measures: &[Measure],
    value: impl Fn(usize, usize) -> Option<f64>,
) -> Table {
    table = table.column("workload", "workload").column("category", "category");
    for measure in measures {
        table = table.real(&measure.key, &measure.heading, measure.decimals);
    }
    for &workload in order {
        let name = workloads[workload].name;
        let mut cells: Vec<Cell> = vec![name.into(), category(name).into()];
        cells.extend((0..measures.len()).map(|column| Cell::from(value(column, workload))));
        table.row(cells);
    }
    for group in groups(workloads) {
        let mut cells: Vec<Cell> = vec!["mean".into(), group.name.into()];
        let average = |column| mean(group.members.iter().filter_map(|&workload| value(column, workload)));
        cells.extend((0..measures.len()).map(|column| Cell::from(average(column))));
        table.row(cells);
    }
    table
}

/// Workloads in their own order.
fn catalogue_order(workloads: &[&'static Workload]) -> Vec<usize> {
    (0..workloads.len()).collect()
}

/// `53.1 %`, or that there is none.
fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "no value".to_owned(), |value| format!("{value:.1} %"))
}

/// `mean 53.1 %, workloads 31.0–70.2 %`.
fn mean_and_range(values: &[f64]) -> String {
    let range = super::statistics::range(values.iter().copied());
    let Some((low, high)) = range else {
        return "no value".to_owned();
    };
    format!("mean {}, workloads {low:.1}–{high:.1} %", percent(mean(values.iter().copied())))
}

/// A claim of the paper.
fn claim(source: &'static str, paper: &str, here: impl Into<String>) -> Claim {
    Claim::new(source, paper, here)
}

//! Figures and tables of Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017.

mod backing_store;
mod capacities;
mod energy;
mod live;
mod preloads;
mod regions;
mod rodinia;
mod run_time;
mod sizes;
mod structures;
mod working_set;

use super::{Figure, Method, Paper};
pub use regions::{WorkloadRegions, workload_regions};
use rodinia::RODINIA;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "regless",
    citation: "Kloosterman et al., \"RegLess: Just-in-Time Operand Staging for GPUs\", MICRO 2017",
    figures: FIGURES,
    studies: &[],
};

/// All figures and tables.
const FIGURES: &[Figure] = &[
    Figure {
        id: "regless-2",
        title: "Register working set in windows of 100 cycles, with the full register file",
        source: "Kloosterman et al., Fig. 2, §2.1",
        workloads: &[],
        method: Method::Runs { points: working_set::points_2, show: working_set::figure_2 },
        causes: &[],
    },
    Figure {
        id: "regless-3",
        title: "Accesses to the backing store of the registers",
        source: "Kloosterman et al., Fig. 3, §2.2",
        workloads: RODINIA,
        method: Method::Runs { points: backing_store::points_3, show: backing_store::figure_3 },
        causes: &[],
    },
    Figure {
        id: "regless-5",
        title: "Live registers along a workload's kernels, and where regions begin",
        source: "Kloosterman et al., Fig. 5, §4.1",
        workloads: &["particle_filter"],
        method: Method::Regions(live::figure_5),
        causes: &[],
    },
    Figure {
        id: "regless-11",
        title: "Area of RegLess's structures against their capacity",
        source: "Kloosterman et al., Fig. 11, §6.2",
        workloads: &[],
        method: Method::Structures(structures::figure_11),
        causes: &[],
    },
    Figure {
        id: "regless-12",
        title: "Leakage and energy per access of RegLess's structures against their capacity",
        source: "Kloosterman et al., Fig. 12, §6.2",
        workloads: &[],
        method: Method::Structures(structures::figure_12),
        causes: &[],
    },
    Figure {
        id: "regless-13",
        title: "Run time against energy of the GPU over RegLess's capacities",
        source: "Kloosterman et al., Fig. 13, §6.2",
        workloads: RODINIA,
        method: Method::Runs { points: capacities::points_13, show: capacities::figure_13 },
        causes: &[],
    },
    Figure {
        id: "regless-14",
        title: "Energy of the registers beside the full register file's",
        source: "Kloosterman et al., Fig. 14, §6.3",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_14, show: energy::figure_14 },
        causes: &[],
    },
    Figure {
        id: "regless-15",
        title: "Energy of the GPU beside that with the full register file",
        source: "Kloosterman et al., Fig. 15, §6.3",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_14, show: energy::figure_15 },
        causes: &[],
    },
    Figure {
        id: "regless-16",
        title: "Run time of RegLess beside the full register file's",
        source: "Kloosterman et al., Fig. 16, §6.4",
        workloads: RODINIA,
        method: Method::Runs { points: run_time::points_16, show: run_time::figure_16 },
        causes: &[],
    },
    Figure {
        id: "regless-17",
        title: "Where preloads find their register",
        source: "Kloosterman et al., Fig. 17, §6.5",
        workloads: RODINIA,
        method: Method::Runs { points: preloads::points_17, show: preloads::figure_17 },
        causes: &[],
    },
    Figure {
        id: "regless-18",
        title: "Requests of the L1 that registers cost",
        source: "Kloosterman et al., Fig. 18, §6.5",
        workloads: RODINIA,
        method: Method::Runs { points: preloads::points_18, show: preloads::figure_18 },
        causes: &[],
    },
    Figure {
        id: "regless-19",
        title: "Preloads and concurrent live registers a region",
        source: "Kloosterman et al., Fig. 19, §6.6",
        workloads: &[],
        method: Method::Regions(sizes::figure_19),
        causes: &[],
    },
    Figure {
        id: "regless-table2",
        title: "Static instructions and cycles a region",
        source: "Kloosterman et al., Table 2, §6.6",
        workloads: &[],
        method: Method::RegionsAndRuns { points: sizes::points_table_2, show: sizes::table_2 },
        causes: &[],
    },
];

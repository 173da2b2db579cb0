//! Figures and tables of Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017.

mod live;
mod regions;
mod sizes;
mod structures;
mod working_set;

use super::{Figure, Method};
pub use regions::{WorkloadRegions, workload_regions};

/// All figures and tables.
pub const FIGURES: &[Figure] = &[
    Figure {
        id: "regless-2",
        title: "Register working set in windows of 100 cycles, with the full register file",
        source: "Kloosterman et al., Fig. 2, §2.1",
        workloads: &[],
        method: Method::Runs { points: working_set::points_2, show: working_set::figure_2 },
    },
    Figure {
        id: "regless-5",
        title: "Live registers along a workload's kernels, and where regions begin",
        source: "Kloosterman et al., Fig. 5, §4.1",
        workloads: &["particle_filter"],
        method: Method::Regions(live::figure_5),
    },
    Figure {
        id: "regless-11",
        title: "Area of RegLess's structures against their capacity",
        source: "Kloosterman et al., Fig. 11, §6.2",
        workloads: &[],
        method: Method::Structures(structures::figure_11),
    },
    Figure {
        id: "regless-12",
        title: "Leakage and energy per access of RegLess's structures against their capacity",
        source: "Kloosterman et al., Fig. 12, §6.2",
        workloads: &[],
        method: Method::Structures(structures::figure_12),
    },
    Figure {
        id: "regless-19",
        title: "Preloads and concurrent live registers a region",
        source: "Kloosterman et al., Fig. 19, §6.6",
        workloads: &[],
        method: Method::Regions(sizes::figure_19),
    },
    Figure {
        id: "regless-table2",
        title: "Static instructions a region",
        source: "Kloosterman et al., Table 2, §6.6",
        workloads: &[],
        method: Method::Regions(sizes::table_2),
    },
];

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

use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::launch::DEFAULT_SIZE;
use warpfile_kernels::workloads::AddressBits;

use super::{Figure, Method, Paper, Study};
pub use regions::{WorkloadRegions, workload_regions};
use rodinia::RODINIA;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "regless",
    citation: "Kloosterman et al., \"RegLess: Just-in-Time Operand Staging for GPUs\", MICRO 2017",
    addresses: AddressBits::Bits32,
    isa: Isa::Maxwell,
    size: DEFAULT_SIZE,
    figures: FIGURES,
    studies: STUDIES,
};

/// Columns of a study of run time.
const RUN_TIME: &[(&str, &str, &str)] = &[
    ("regless-16", "run_time", "run time"),
    ("regless-14", "regless", "register energy saved"),
    ("regless-15", "regless", "GPU energy saved"),
    ("regless-17", "l1", "preloads from L1"),
    ("regless-17", "beyond", "from L2, DRAM"),
    ("regless-table2", "cycles", "cycles a region"),
];
/// The same of a workload that the paper's Table 2 has not.
const RUN_TIME_OF_ANY: &[(&str, &str, &str)] = RUN_TIME.split_at(5).0;

/// What the page looks into beside the claims.
const STUDIES: &[Study] = &[
    Study {
        title: "hybridsort: not capacity",
        text: "With twice the lines every register is found staged, and hybridsort loses as much.",
        columns: RUN_TIME,
        runs: &[
            ("hybridsort", "--workloads hybridsort"),
            ("1024 lines", "--workloads hybridsort --set regless.lines=1024"),
        ],
    },
    Study {
        title: "hotspot-registers: capacity, the hash of the L1 and the size of a region",
        text: "Its 63 registers a thread are more than 512 lines, L1 and compressor hold: with twice the lines it takes 2 % longer than \
               with the register file. But each of two others removes most of that, too. A region may hold a quarter of a shard's \
               lines here, where the paper does not say how many (Algorithm 1, line 18); 63 live registers do not fit. And \
               register lines conflict in the sets that GPGPU-Sim's hash chooses. Registers that the compiler spills to local memory \
               are spilled for both designs: RegLess then takes 2 % longer than the register file, and both longer than RegLess \
               without (docs/figures.md).",
        columns: RUN_TIME_OF_ANY,
        runs: &[
            ("hotspot-registers", "--workloads hotspot-registers"),
            ("1024 lines", "--workloads hotspot-registers --set regless.lines=1024"),
            ("half a shard a region", "--workloads hotspot-registers --set regless.max_live_fraction=0.5"),
            ("another hash", "--workloads hotspot-registers --set l1.index=xor"),
            ("both", "--workloads hotspot-registers --set regless.max_live_fraction=0.5 --set l1.index=xor"),
            ("40 registers, others spilled", "--workloads hotspot-registers --max-registers 40"),
        ],
    },
    Study {
        title: "kmeans: cycles a region",
        text: "The list scheduler moves loads of a copied loop together, which lengthens regions: in the order of the PTX they \
               take a sixth of the cycles. With an eighth of the L2 they are a third longer: what the kernel reads again for each \
               cluster does not fit then. Both say what moves the number; neither leads to 993.",
        columns: RUN_TIME,
        runs: &[
            ("kmeans", "--workloads kmeans"),
            ("order of the PTX", "--workloads kmeans --schedule none"),
            ("an eighth of the L2", "--workloads kmeans --set l2.bytes=262144"),
        ],
    },
];

/// All figures and tables.
const FIGURES: &[Figure] = &[
    Figure {
        id: "regless-2",
        title: "Register working set in windows of 100 cycles, with the full register file",
        source: "Kloosterman et al., Fig. 2, §2.1",
        workloads: &[],
        method: Method::Runs { points: working_set::points_2, show: working_set::figure_2 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "regless-3",
        title: "Accesses to the backing store of the registers",
        source: "Kloosterman et al., Fig. 3, §2.2",
        workloads: RODINIA,
        method: Method::Runs { points: backing_store::points_3, show: backing_store::figure_3 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "regless-5",
        title: "Live registers along a workload's kernels, and where regions begin",
        source: "Kloosterman et al., Fig. 5, §4.1",
        workloads: &["particle_filter"],
        method: Method::Regions(live::figure_5),
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "regless-11",
        title: "Area of RegLess's structures against their capacity",
        source: "Kloosterman et al., Fig. 11, §6.2",
        workloads: &[],
        method: Method::Structures(structures::figure_11),
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "regless-12",
        title: "Leakage and energy per access of RegLess's structures against their capacity",
        source: "Kloosterman et al., Fig. 12, §6.2",
        workloads: &[],
        method: Method::Structures(structures::figure_12),
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "regless-13",
        title: "Run time against energy of the GPU over RegLess's capacities",
        source: "Kloosterman et al., Fig. 13, §6.2",
        workloads: RODINIA,
        method: Method::Runs { points: capacities::points_13, show: capacities::figure_13 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "regless-14",
        title: "Energy of the registers beside the full register file's",
        source: "Kloosterman et al., Fig. 14, §6.3",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_14, show: energy::figure_14 },
        has_numbers: true,
        causes: energy::CAUSES_14,
    },
    Figure {
        id: "regless-15",
        title: "Energy of the GPU beside that with the full register file",
        source: "Kloosterman et al., Fig. 15, §6.3",
        workloads: RODINIA,
        method: Method::Runs { points: energy::points_14, show: energy::figure_15 },
        has_numbers: true,
        causes: energy::CAUSES_15,
    },
    Figure {
        id: "regless-16",
        title: "Run time of RegLess beside the full register file's",
        source: "Kloosterman et al., Fig. 16, §6.4",
        workloads: RODINIA,
        method: Method::Runs { points: run_time::points_16, show: run_time::figure_16 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "regless-17",
        title: "Where preloads find their register",
        source: "Kloosterman et al., Fig. 17, §6.5",
        workloads: RODINIA,
        method: Method::Runs { points: preloads::points_17, show: preloads::figure_17 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "regless-18",
        title: "Requests of the L1 that registers cost",
        source: "Kloosterman et al., Fig. 18, §6.5",
        workloads: RODINIA,
        method: Method::Runs { points: preloads::points_18, show: preloads::figure_18 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "regless-19",
        title: "Preloads and concurrent live registers a region",
        source: "Kloosterman et al., Fig. 19, §6.6",
        workloads: &[],
        method: Method::Regions(sizes::figure_19),
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "regless-table2",
        title: "Static instructions and cycles a region",
        source: "Kloosterman et al., Table 2, §6.6",
        workloads: RODINIA,
        method: Method::RegionsAndRuns { points: sizes::points_table_2, show: sizes::table_2 },
        has_numbers: true,
        causes: sizes::CAUSES_2,
    },
];

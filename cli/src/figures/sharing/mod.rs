//! Figures and tables of Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur,
//! 2018, chapters 2 and 3, and of what its §6.1 leaves to future work: blocks that share registers, scratchpad or both.

mod amount;
mod blocks;
mod both;
mod comparison;
mod configurations;
mod divergence;
mod kernels;
mod performance;
mod progress;
mod release;
mod scratchpad;
mod unshared;

use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::compile::sharing::{Residents, Resource, Threshold, residents};
use warpfile_kernels::workloads::AddressBits;

use super::number::{Number, Stated};
use super::report::{Claim, Content, Table};
use super::series::{Average, Rows, Series, chart, percent_change, table};
use super::sweep::Point;
use super::{Cause, Figure, Method, Paper};
use kernels::{Kernels, key_of};

/// The thesis's chapters.
pub const PAPER: Paper = Paper {
    name: "sharing",
    citation: "Jatala, \"Hardware and Software Optimizations for GPU Resource Management\", PhD thesis, IIT Kanpur, 2018, chapters 2 and 3",
    addresses: AddressBits::Bits32,
    isa: Isa::Maxwell,
    size: SIZES,
    figures: FIGURES,
    studies: &[],
};

/// The input that a program's suite has it with, where that is known and makes a difference; else the usual one.
const SIZES: &str = "suite,default";

/// Workloads of Set-1 (Table 2.1) that are here.
const SET_1: &[&str] =
    &["b+tree-508", "backprop", "hotspot", "lib", "mri-q", "mummer", "sgemm-128", "stencil-512"];
/// Those of Set-2 (Table 2.2) that are here and limited by scratchpad.
const SET_2: &[&str] = &["convolution", "lavaMD-100", "nw", "srad-tiles"];
/// Those of Set-3 (Table 2.4): NN is neural.
const SET_3: &[&str] = &["backprop", "bfs", "gaussian", "neural"];
/// Those of Table 3.3.
const CHAPTER_3: &[&str] = &[
    "backprop-wide",
    "dct8x8",
    "fdtd3d-128",
    "heartwall-512",
    "histogram",
    "marching-cubes",
    "nqueens",
    "nw-32",
    "srad-tiles",
];

/// Those of Table 3.7.
const LARGER: &[&str] = &[
    "backprop-wide",
    "dct8x8-8320",
    "fdtd3d-128",
    "heartwall-512",
    "histogram",
    "marching-cubes",
    "nqueens",
    "nw-32",
];
/// Those of Table 3.4: NN is neural, DCT5 dct8x8-direct.
const SET_3_OF_CHAPTER_3: &[&str] = &["b+tree-508", "bfs", "dct8x8-direct", "gaussian", "neural"];
/// Workloads that registers or scratchpad limit on the machine of Table 2.3 with its small scratchpad.
const BOTH: &[&str] = &[
    "b+tree-508",
    "backprop",
    "convolution",
    "cutcp",
    "dct8x8",
    "dwt2d",
    "heartwall-512",
    "histogram",
    "hotspot",
    "hotspot-registers",
    "laplace",
    "lavaMD-100",
    "lib",
    "lud",
    "marching-cubes",
    "mummer",
    "neural",
    "nqueens",
    "nw",
    "sgemm-128",
    "srad-tiles",
    "stencil-512",
];

/// All figures and tables.
const FIGURES: &[Figure] = &[
    Figure {
        id: "sharing-table2.6",
        title: "Resident blocks by the amount of register sharing, by the equations",
        source: "Jatala, Table 2.6, Figs. 2.1 and 2.12(a), §2.2.4",
        workloads: &[],
        method: Method::Structures(blocks::table_2_6),
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-table2.8",
        title: "Resident blocks by the amount of scratchpad sharing, by the equations",
        source: "Jatala, Table 2.8, Figs. 2.2 and 2.12(b), §2.2.4",
        workloads: &[],
        method: Method::Structures(blocks::table_2_8),
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.12",
        title: "Resident blocks with register sharing",
        source: "Jatala, Fig. 2.12(a), §2.5.1.1",
        workloads: SET_1,
        method: Method::Runs { points: performance::points_13, show: blocks::figure_12 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.13a",
        title: "Instructions a cycle with register sharing",
        source: "Jatala, Figs. 2.13(a) and 2.14(a), §2.5.1.2",
        workloads: SET_1,
        method: Method::Runs { points: performance::points_13, show: performance::figure_13a },
        has_numbers: true,
        causes: performance::CAUSES_13,
    },
    Figure {
        id: "sharing-2.13b",
        title: "Instructions a cycle with scratchpad sharing",
        source: "Jatala, Figs. 2.13(b) and 2.14(b), §2.5.1.2",
        workloads: SET_2,
        method: Method::Runs { points: scratchpad::points, show: scratchpad::figure_13 },
        has_numbers: true,
        causes: scratchpad::CAUSES_13,
    },
    Figure {
        id: "sharing-2.15",
        title: "Register sharing by optimisation",
        source: "Jatala, Fig. 2.15(a), §2.5.1.3",
        workloads: SET_1,
        method: Method::Runs { points: performance::points_15, show: performance::figure_15 },
        has_numbers: true,
        causes: performance::CAUSES_15,
    },
    Figure {
        id: "sharing-2.15b",
        title: "Scratchpad sharing by optimisation",
        source: "Jatala, Fig. 2.15(b), §2.5.1.3",
        workloads: SET_2,
        method: Method::Runs { points: scratchpad::points_15, show: scratchpad::figure_15 },
        has_numbers: true,
        causes: scratchpad::CAUSES_15,
    },
    Figure {
        id: "sharing-2.16",
        title: "Register sharing beside GTO",
        source: "Jatala, Fig. 2.16(a), §2.5.1.4",
        workloads: SET_1,
        method: Method::Runs { points: performance::points_16, show: performance::figure_16 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.16b",
        title: "Scratchpad sharing beside GTO",
        source: "Jatala, Fig. 2.16(b), §2.5.1.4",
        workloads: SET_2,
        method: Method::Runs { points: scratchpad::points_16, show: scratchpad::figure_16 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.17",
        title: "Register sharing beside the two-level scheduler",
        source: "Jatala, Fig. 2.17(a), §2.5.1.4",
        workloads: SET_1,
        method: Method::Runs { points: performance::points_17, show: performance::figure_17 },
        has_numbers: true,
        causes: performance::CAUSES_17,
    },
    Figure {
        id: "sharing-2.17b",
        title: "Scratchpad sharing beside the two-level scheduler",
        source: "Jatala, Fig. 2.17(b), §2.5.1.4",
        workloads: SET_2,
        method: Method::Runs { points: scratchpad::points_17, show: scratchpad::figure_17 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.18",
        title: "Cycles in which nothing issues, with register sharing",
        source: "Jatala, Fig. 2.18(a), §2.5.1.5",
        workloads: SET_1,
        method: Method::Runs { points: performance::points_13, show: performance::figure_18 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "sharing-2.18b",
        title: "Cycles in which nothing issues, with scratchpad sharing",
        source: "Jatala, Fig. 2.18(b), §2.5.1.5",
        workloads: SET_2,
        method: Method::Runs { points: scratchpad::points, show: scratchpad::figure_18 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.19a",
        title: "How far additional warps get with register sharing",
        source: "Jatala, Fig. 2.19(a), §2.5.1.6",
        workloads: SET_1,
        method: Method::Runs { points: performance::points_13, show: progress::figure_19a },
        has_numbers: true,
        causes: progress::CAUSES_19,
    },
    Figure {
        id: "sharing-2.19b",
        title: "How far additional warps get with scratchpad sharing",
        source: "Jatala, Fig. 2.19(b), §2.5.1.6",
        workloads: SET_2,
        method: Method::Runs { points: scratchpad::points, show: progress::figure_19b },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.20",
        title: "Register sharing beside twice the registers",
        source: "Jatala, Fig. 2.20(a), §2.5.1.7",
        workloads: SET_1,
        method: Method::Runs { points: performance::points_20, show: performance::figure_20 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.20b",
        title: "Scratchpad sharing beside twice the scratchpad",
        source: "Jatala, Fig. 2.20(b), §2.5.1.7",
        workloads: SET_2,
        method: Method::Runs { points: scratchpad::points_20, show: scratchpad::figure_20 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-table2.5",
        title: "Instructions a cycle by the amount of register sharing",
        source: "Jatala, Table 2.5, §2.5.1.8",
        workloads: SET_1,
        method: Method::Runs { points: amount::points_5, show: amount::table_5 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-table2.7",
        title: "Instructions a cycle by the amount of scratchpad sharing",
        source: "Jatala, Table 2.7, §2.5.1.8",
        workloads: SET_2,
        method: Method::Runs { points: amount::points_7, show: amount::table_7 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.21",
        title: "Register sharing beside warp-level divergence",
        source: "Jatala, Fig. 2.21(a), §2.5.1.9",
        workloads: SET_1,
        method: Method::Runs { points: divergence::points_registers, show: divergence::figure_registers },
        has_numbers: true,
        causes: divergence::CAUSES_REGISTERS,
    },
    Figure {
        id: "sharing-2.21b",
        title: "Scratchpad sharing beside warp-level divergence",
        source: "Jatala, Fig. 2.21(b), §2.5.1.9",
        workloads: SET_2,
        method: Method::Runs { points: divergence::points_scratchpad, show: divergence::figure_scratchpad },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.22",
        title: "Workloads that registers do not limit",
        source: "Jatala, Fig. 2.22(a), §2.5.2",
        workloads: SET_3,
        method: Method::Runs { points: unshared::points_22a, show: unshared::figure_22a },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-2.22b",
        title: "Workloads that scratchpad does not limit",
        source: "Jatala, Fig. 2.22(b), §2.5.2",
        workloads: SET_3,
        method: Method::Runs { points: unshared::points_22b, show: unshared::figure_22b },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-3.8",
        title: "Resident blocks with scratchpad sharing on the machine of chapter 3",
        source: "Jatala, Fig. 3.8, §3.4.1.1",
        workloads: CHAPTER_3,
        method: Method::Runs { points: release::points_8, show: blocks::figure_3_8 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-3.9",
        title: "Instructions a cycle with scratchpad sharing and relssp",
        source: "Jatala, Figs. 3.9, 3.10 and 3.11, §3.4.1",
        workloads: CHAPTER_3,
        method: Method::Runs { points: release::points, show: release::figure_9 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-table3.5",
        title: "Instructions that relssp adds",
        source: "Jatala, Table 3.5, §3.4.1.3",
        workloads: CHAPTER_3,
        method: Method::Runs { points: release::points_of_table_5, show: release::table_5 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-3.12",
        title: "How far blocks get that share scratchpad",
        source: "Jatala, Fig. 3.12, §3.4.1.6",
        workloads: CHAPTER_3,
        method: Method::Runs { points: release::points, show: progress::figure_12 },
        has_numbers: false,
        causes: &[],
    },
    Figure {
        id: "sharing-3.13a",
        title: "Scratchpad sharing with relssp beside GTO",
        source: "Jatala, Fig. 3.13(a), §3.4.1.7",
        workloads: CHAPTER_3,
        method: Method::Runs { points: configurations::points_13a, show: configurations::figure_13a },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-3.13b",
        title: "Scratchpad sharing with relssp beside the two-level scheduler",
        source: "Jatala, Fig. 3.13(b), §3.4.1.7",
        workloads: CHAPTER_3,
        method: Method::Runs { points: configurations::points_13b, show: configurations::figure_13b },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-3.14",
        title: "Scratchpad sharing with relssp beside twice the scratchpad",
        source: "Jatala, Fig. 3.14, §3.4.1.8",
        workloads: CHAPTER_3,
        method: Method::Runs { points: configurations::points_14, show: configurations::figure_14 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-3.15",
        title: "Scratchpad sharing with relssp on machines with 48 and 64 KB",
        source: "Jatala, Fig. 3.15, §3.4.1.9",
        workloads: LARGER,
        method: Method::Runs { points: configurations::points_15, show: configurations::figure_15 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-3.17",
        title: "Workloads that scratchpad does not limit, with relssp",
        source: "Jatala, Fig. 3.17, §3.4.2",
        workloads: SET_3_OF_CHAPTER_3,
        method: Method::Runs { points: unshared::points_17, show: unshared::figure_17 },
        has_numbers: true,
        causes: &[],
    },
    Figure {
        id: "sharing-both",
        title: "Registers and scratchpad shared at once",
        source: "Jatala, §6.1, which leaves it to future work",
        workloads: BOTH,
        method: Method::Runs { points: both::points, show: both::figure },
        has_numbers: false,
        causes: &[],
    },
];

/// Registers a thread of Table 2.1.
const REGISTERS: &[(&str, u16)] = &[
    ("b+tree-508", 24),
    ("backprop", 24),
    ("hotspot", 36),
    ("lib", 36),
    ("mri-q", 24),
    ("mummer", 28),
    ("sgemm-128", 48),
    ("stencil-512", 28),
];

/// SMs of the thesis's machines; all are simulated, so that each has as many blocks as there.
const SMS: u64 = 14;

/// Scratchpad of the machine for scratchpad sharing in chapter 2, bytes (Table 2.3).
const SCRATCHPAD_BYTES: u64 = 16_384;

/// An SM that issues one instruction a cycle, on the machine of Table 2.3, as what a number differs by.
const fn one_scheduler(of: &'static [&'static str]) -> Cause {
    Cause {
        of,
        why: "An SM that issues less leaves more to gain: one scheduler for all warps, of one instruction a cycle, instead of two.",
        run: "--set sm.schedulers=1 --set register_file.rows=128",
    }
}

/// The PTX's order of instructions, as what a number differs by.
const fn order_of_the_ptx(of: &'static [&'static str]) -> Cause {
    Cause {
        of,
        why: "The list scheduler has moved loads ahead of what uses them: a warp waits less by itself, and further blocks hide less. In \
          the order of the PTX, which is not that of the thesis's compiler either.",
        run: "--schedule none",
    }
}

/// Operands in scratchpad, as what a number differs by.
const fn operands_in_scratchpad(of: &'static [&'static str]) -> Cause {
    Cause {
        of,
        why: "In PTXPlus, which the thesis ran, arithmetic reads a word of scratchpad as an operand; here a load takes its place, and \
          an SM waits for its scratchpad, which more blocks hide.",
        run: "--operands scratchpad",
    }
}

/// The scheduler GTO for what does not share, as what a number differs by.
const fn beside_gto(of: &'static [&'static str]) -> Cause {
    Cause {
        of,
        why: "LRR is slower here than in the thesis, and what a kernel gains beside it is in part the scheduler's alone: beside GTO.",
        run: "--set scheduler.single_level=gto",
    }
}

/// Locks of the registers of two warps for these alone, as what a number differs by.
const fn warp_locks(of: &'static [&'static str]) -> Cause {
    Cause {
        of,
        why: "A block that is not the owner waits here until all warps of the owner that used shared registers have ended (§2.2.3). In \
          §2.2.1 and §2.5.1.6 a warp waits for its partner alone, and additional warps come to access memory before they are the owner's.",
        run: "--set sharing.warp_locks=true",
    }
}

/// The register file and the scheduler LRR on the machine of Table 2.3, with the registers of Table 2.1.
fn baseline() -> Point {
    with_registers("baseline")
}

/// A design on all SMs of a machine.
fn on(machine: &'static str, design: &str) -> Point {
    Point::new(machine, design).with("chip.simulated_sms", SMS)
}

/// A design there.
fn with_registers(design: &str) -> Point {
    on("jatala-ch2", design).with_registers(REGISTERS)
}

/// Register sharing with all that is here of it.
fn register_sharing() -> Point {
    with_registers("reg-share")
}

/// A design on the machine of Table 2.3 with its small scratchpad.
fn with_scratchpad(design: &str) -> Point {
    on("jatala-ch2", design).with("sm.shared_memory_bytes", SCRATCHPAD_BYTES)
}

/// A point with twice that scratchpad.
fn twice_the_scratchpad(point: Point) -> Point {
    point.with("sm.shared_memory_bytes", 2 * SCRATCHPAD_BYTES)
}

/// What the thesis says of single kernels: name and change, per cent.
type Changes = &'static [(&'static str, f64)];

/// A claim for each change that the thesis's text gives, and one for the mean if it gives one. Keys of numbers begin with
/// `prefix`.
fn changes(
    source: &'static str,
    (prefix, what): (&str, &str),
    (of_kernels, mean): (Changes, Option<f64>),
    (kernels, series): (&Kernels<'_>, &Series),
) -> Vec<Claim> {
    let claim = |key: &str, of: String, paper: f64, here: Option<f64>| {
        let what = format!("{what}, {of}");
        let here = percent_change(here);
        let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:+.2} %"));
        Claim::new(source, format!("{what}: {paper:+} %"), text).number(Number::change(
            format!("{prefix}{key}"),
            what,
            Stated::exactly(paper),
            here,
        ))
    };
    let mut claims: Vec<Claim> = of_kernels
        .iter()
        .map(|(name, paper)| {
            claim(&key_of(name), (*name).to_owned(), *paper, series.of_workload(kernels, name))
        })
        .collect();
    let mean = mean.map(|paper| {
        let here = series.average(kernels, Average::Geometric);
        claim("mean", "geometric mean over the set".to_owned(), paper, here)
    });
    claims.extend(mean);
    claims
}

/// What a figure's bars show and the thesis's text does not say.
fn bars_absent(figure: &'static str) -> Claim {
    Claim::new(figure, "heights of bars that are not above: n/a, the text does not say them", "in the table")
}

/// Cycles that are saved where something is so many times as fast, per cent.
fn cycles_saved(speedup: &Series) -> Series {
    let saved = speedup.values.iter().map(|speedup| speedup.map(|speedup| 100.0 * (1.0 - 1.0 / speedup)));
    Series::new("cycles_saved", "cycles saved, %", 2, saved.collect())
}

/// A table of them.
fn table_of_cycles(figure: &str, rows: &impl Rows, saved: &Series) -> Table {
    let title = format!("Cycles saved beside LRR without sharing, per cent ({figure})");
    table("cycles_saved", title, rows, std::slice::from_ref(saved), Average::Arithmetic)
}

/// Speedups of a design beside LRR without sharing, which the thesis has as instructions a cycle, and the cycles saved, which it
/// has in a figure without numbers in the text.
fn beside_lrr(
    figure_of_cycles: &'static str,
    mut claims: Vec<Claim>,
    (kernels, series): (&Kernels<'_>, Series),
    notes: Vec<String>,
) -> Content {
    claims.push(bars_absent(figure_of_cycles));
    let cycles = table_of_cycles(figure_of_cycles, kernels, &cycles_saved(&series));
    let title = "Instructions a cycle, relative to LRR without sharing";
    let mut content = content(kernels, title, claims, &[series], notes);
    content.tables.push(cycles);
    content
}

/// A table and a chart of speedups.
fn content(
    rows: &impl Rows,
    title: &str,
    claims: Vec<Claim>,
    series: &[Series],
    notes: Vec<String>,
) -> Content {
    Content {
        claims,
        tables: vec![table("ipc", title, rows, series, Average::Geometric)],
        notes,
        charts: vec![chart("instructions a cycle", "relative", rows, series, Average::Geometric, false)],
    }
}

/// What is said of the register sets.
fn notes() -> Vec<String> {
    let dynamic =
        "Dynamic warp execution (§2.3.3) is in all numbers of register sharing under OWF, as in the thesis.";
    programs().into_iter().chain([dynamic.to_owned()]).collect()
}

/// What of the programs is as in the thesis, and what is not.
fn programs() -> Vec<String> {
    vec![
        "Threads are given the registers of Table 2.1, no more and no fewer (--min-registers, --max-registers); blocks have its threads."
            .to_owned(),
        "Cycles are of the kernel that the thesis names.".to_owned(),
    ]
}

/// Registers of an SM, threads and blocks that it has room for (Table 2.3).
const SM_REGISTERS: u64 = 32_768;
const SM_THREADS: u64 = 1536;
const SM_BLOCKS: u64 = 8;

/// Amounts of sharing of Tables 2.5 to 2.8, per cent.
const AMOUNTS: [u64; 6] = [0, 10, 30, 50, 70, 90];

/// Blocks on an SM, of `threads` threads that need so much of a resource each block, at an amount of sharing.
fn blocks_at(amount: u64, threads: u64, needed: u64, available: u64) -> Residents {
    // Amounts are below 100.
    let threshold = Threshold::from_percent(100 - amount).unwrap_or_else(Threshold::none);
    residents(&[Resource { available, needed }], (SM_THREADS / threads).min(SM_BLOCKS), threshold)
}

//! Register sharing: Figs. 2.13 to 2.18 and 2.20, (a) of each.

use anyhow::Result;
use warpfile_sim::mechanisms::sharing::{COUNTERS, Parameters, Shared};

use super::comparison::{Comparison, LRR, Least};
use super::kernels::Kernels;
use super::{
    Changes, bars_absent, baseline, beside_gto, beside_lrr, changes, content, notes, one_scheduler,
    order_of_the_ptx, programs, register_sharing, warp_locks, with_registers,
};
use crate::figures::Cause;
use crate::figures::report::{Content, Table};
use crate::figures::series::{Series, ratio};
use crate::figures::sweep::{Point, Results, Run};

/// Rows of a bank of a scheduler's register file when the SM has 65536 registers (Fig. 2.20).
const TWICE_THE_ROWS: u64 = 128;

/// Improvements of IPC by register sharing, per cent (§2.5.1.2).
const REGISTER_SHARING: Changes = &[
    ("b+tree-508", 11.98),
    ("backprop", 5.82),
    ("hotspot", 21.76),
    ("lib", 0.84),
    ("mri-q", -0.72),
    ("mummer", 24.14),
    ("sgemm-128", 4.06),
    ("stencil-512", 23.45),
];
/// Their geometric mean.
const REGISTER_SHARING_MEAN: f64 = 11.0;
/// Without any optimisation, with registers in the order of their use, with dynamic warp execution, and with all (§2.5.1.3).
const BY_OPTIMISATION: [Changes; 4] = [
    &[("hotspot", 13.65), ("mummer", -0.15), ("lib", 2.0)],
    &[("hotspot", 15.18), ("mummer", 0.08), ("lib", 2.0)],
    &[("hotspot", 14.58), ("mummer", 6.45), ("lib", 2.0)],
    &[("hotspot", 21.76), ("mummer", 24.14), ("mri-q", -0.72)],
];

/// Why numbers of Fig. 2.13(a) differ.
pub const CAUSES_13: &[Cause] = &[
    one_scheduler(&["hotspot", "mummer"]),
    order_of_the_ptx(&["b+tree-508", "backprop", "mean", "sgemm-128"]),
    beside_gto(&["lib", "mri-q"]),
    warp_locks(&["hotspot"]),
];
/// Of Fig. 2.15(a).
pub const CAUSES_15: &[Cause] = &[
    one_scheduler(&["owf_hotspot", "owf_mummer", "dynamic_mummer", "lrr_lib"]),
    beside_gto(&["owf_mri-q"]),
    warp_locks(&["owf_hotspot", "dynamic_lib"]),
];
/// Of Fig. 2.17(a).
pub const CAUSES_17: &[Cause] = &[one_scheduler(&["largest"])];

fn of_lrr() -> Point {
    with_registers("single-level+reg-share")
}

fn not_reordered() -> Point {
    of_lrr().with("sharing.reorder_registers", false)
}

fn two_level() -> Point {
    with_registers("two-level")
}

fn twice_the_registers() -> Point {
    baseline().with("register_file.rows", TWICE_THE_ROWS)
}

/// LRR, and register sharing.
pub fn points_13() -> Vec<Point> {
    vec![baseline(), register_sharing()]
}

/// With dynamic warp execution, where the first SM executes no memory instructions of additional warps, or without.
fn dynamic(point: Point, is_dynamic: bool) -> Point {
    point.with("sharing.dynamic_execution", is_dynamic)
}

/// LRR, and register sharing, one optimisation after the other; OWF without dynamic warp execution as well.
fn by_optimisation() -> [Point; 6] {
    [
        dynamic(baseline(), false),
        dynamic(not_reordered(), false),
        dynamic(of_lrr(), false),
        dynamic(of_lrr(), true),
        dynamic(register_sharing(), true),
        dynamic(register_sharing(), false),
    ]
}

/// Register sharing, one optimisation after the other.
pub fn points_15() -> Vec<Point> {
    by_optimisation().to_vec()
}

/// GTO, and register sharing.
pub fn points_16() -> Vec<Point> {
    vec![baseline().with_gto(), register_sharing()]
}

/// The two-level scheduler, and register sharing.
pub fn points_17() -> Vec<Point> {
    vec![two_level(), register_sharing()]
}

/// Twice the registers, half of them shared, and half of them not.
pub fn points_20() -> Vec<Point> {
    vec![baseline(), twice_the_registers(), register_sharing()]
}

/// Fig. 2.13(a).
pub fn figure_13a(results: &Results) -> Result<Content> {
    let kernels = &Kernels::of(results);
    let values = kernels.speedup(&register_sharing(), &baseline());
    let paper = Some(1.0 + REGISTER_SHARING_MEAN / 100.0);
    let series = Series::new("sharing", "register sharing", 3, values).with_paper(paper);
    let paper = (REGISTER_SHARING, Some(REGISTER_SHARING_MEAN));
    let claims = changes("§2.5.1.2", ("", "IPC with register sharing"), paper, (kernels, &series));
    Ok(beside_lrr("Fig. 2.14(a)", claims, (kernels, series), notes()))
}

/// Fig. 2.15(a).
pub fn figure_15(results: &Results) -> Result<Content> {
    let [base, not_reordered, reordered, dynamic, owf, owf_without] = by_optimisation();
    let kernels = &Kernels::of(results);
    let of =
        |key: &str, heading: &str, point: &Point| Series::new(key, heading, 3, kernels.speedup(point, &base));
    let series = [
        of("no_optimisation", "LRR", &not_reordered),
        of("reordered", "LRR, order of use", &reordered),
        of("dynamic", "LRR, order of use, dynamic", &dynamic),
        of("owf", "OWF, order of use, dynamic", &owf),
        of("owf_without", "OWF, order of use", &owf_without),
    ];
    let prefixes = ["lrr_", "reordered_", "dynamic_", "owf_"];
    let claims = series.iter().zip(prefixes).zip(BY_OPTIMISATION).flat_map(|((series, prefix), paper)| {
        let what = format!("IPC of register sharing with {}", series.heading());
        changes("§2.5.1.3", (prefix, &what), (paper, None), (kernels, series))
    });
    let claims = claims.chain([bars_absent("Fig. 2.15(a)")]).collect();
    let title = "Instructions a cycle, relative to LRR without sharing";
    let notes = programs().into_iter().chain([OPTIMISATIONS.to_owned()]).collect();
    let mut content = content(kernels, title, claims, &series, notes);
    content.tables.push(memory_instructions(results, &dynamic, &reordered));
    Ok(content)
}

/// How the bars of Fig. 2.15(a) are made.
const OPTIMISATIONS: &str = "Order of use: registers lie in the order of their first use (§2.3.2). Dynamic: dynamic warp execution \
    (§2.3.3); the first SM executes no memory instructions of additional warps then.";

/// What dynamic warp execution does to memory instructions of additional warps, under LRR.
fn memory_instructions(results: &Results, dynamic: &Point, without: &Point) -> Table {
    let shared = |run: &Run| -> Shared { run.report.counters.get(COUNTERS) };
    let mut table = Table::new("memory_instructions", "Memory instructions of additional warps, under LRR")
        .column("workload", "workload")
        .column("without", "without")
        .column("dynamic", "dynamic")
        .column("windows", "windows compared")
        .real("probability", "mean probability", 2);
    for (workload, (run, base)) in
        results.workloads.iter().zip(results.of(dynamic).iter().zip(results.of(without)))
    {
        let Shared { additional_memory, windows, probability, .. } = shared(run);
        let steps = run.config.of::<Parameters>().probability_steps;
        let probability = ratio(probability as f64, (windows * steps) as f64);
        table.row(vec![
            workload.name.into(),
            shared(base).additional_memory.into(),
            additional_memory.into(),
            windows.into(),
            probability.into(),
        ]);
    }
    table
}

/// Fig. 2.16(a).
pub fn figure_16(results: &Results) -> Result<Content> {
    Ok(Comparison::of_registers("Fig. 2.16(a)", &baseline().with_gto(), "GTO").largest(
        results,
        "§2.5.1.4",
        3.9,
    ))
}

/// Fig. 2.17(a).
pub fn figure_17(results: &Results) -> Result<Content> {
    Ok(Comparison::of_registers("Fig. 2.17(a)", &two_level(), "the two-level scheduler").largest(
        results,
        "§2.5.1.4",
        27.22,
    ))
}

/// Fig. 2.18(a).
pub fn figure_18(results: &Results) -> Result<Content> {
    let stalls =
        "stalls become fewer for MUM, LIB, backprop, hotspot and stencil, more for b+tree, sgemm and mri-q";
    Ok(Comparison::of_registers("Fig. 2.18(a)", &baseline(), LRR).without_issue(results, stalls, &[]))
}

/// Fig. 2.20(a).
pub fn figure_20(results: &Results) -> Result<Content> {
    let twice = ("LRR, 65536 registers", &twice_the_registers());
    Ok(Comparison::of_registers("Fig. 2.20(a)", &baseline(), LRR).beside_twice(
        results,
        twice,
        Least::Faster,
        ("§2.5.1.7", 5, 8),
    ))
}

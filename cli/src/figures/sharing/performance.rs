//! Register sharing: Figs. 2.13 to 2.18 and 2.20, (a) of each.

use anyhow::Result;

use super::comparison::{Comparison, LRR, Least};
use super::{Changes, baseline, changes, content, notes, register_sharing, speedup, with_registers};
use crate::figures::Cause;
use crate::figures::report::Content;
use crate::figures::series::Series;
use crate::figures::sweep::{Point, Results};

/// Rows of a bank of a scheduler's register file when the SM has 65536 registers (Fig. 2.20).
const TWICE_THE_ROWS: u64 = 128;

/// Improvements of IPC by register sharing, per cent (§2.5.1.2).
const REGISTER_SHARING: Changes = &[
    ("b+tree", 11.98),
    ("backprop", 5.82),
    ("hotspot", 21.76),
    ("lib", 0.84),
    ("mri-q", -0.72),
    ("mummer", 24.14),
    ("sgemm", 4.06),
    ("stencil", 23.45),
];
/// Their geometric mean.
const REGISTER_SHARING_MEAN: f64 = 11.0;
/// hotspot without any optimisation, with registers in the order of their use, and with all (§2.5.1.3).
const BY_OPTIMISATION: [Changes; 3] =
    [&[("hotspot", 13.65)], &[("hotspot", 15.18)], &[("hotspot", 21.76), ("mri-q", -0.72)]];

/// Why numbers of Fig. 2.13(a) differ.
pub const CAUSES_13: &[Cause] = &[
    Cause {
        of: &["stencil"],
        why: "The blocks that run are no neighbours any more, of a pair only one, and do not find each other's planes in the L1: its \
          hits fall from 37 to 18 %. With an L1 of 128 KB half of the slowdown is gone.",
        run: "--set l1.bytes=131072 --set l1.ways=32",
    },
    Cause {
        of: &["backprop", "mri-q"],
        why: "LRR is slow here: mri-q, which shares nothing, gains by the scheduler alone, and of what backprop gains beside LRR a \
          third is left beside GTO.",
        run: "--set scheduler.single_level=gto",
    },
];

fn of_lrr() -> Point {
    with_registers("single-level+reg-share")
}

fn not_reordered() -> Point {
    of_lrr().with("sharing.reorder_registers", false)
}

fn gto() -> Point {
    baseline().with("scheduler.single_level", "gto")
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

/// Register sharing, one optimisation after the other.
pub fn points_15() -> Vec<Point> {
    vec![baseline(), not_reordered(), of_lrr(), register_sharing()]
}

/// GTO, and register sharing.
pub fn points_16() -> Vec<Point> {
    vec![gto(), register_sharing()]
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
    let values = speedup(results, &register_sharing(), &baseline());
    let paper = Some(1.0 + REGISTER_SHARING_MEAN / 100.0);
    let series = Series::new("sharing", "register sharing", 3, values).with_paper(paper);
    let paper = (REGISTER_SHARING, Some(REGISTER_SHARING_MEAN));
    let claims = changes("§2.5.1.2", ("", "IPC with register sharing"), paper, (results, &series));
    Ok(content(results, "Instructions a cycle, relative to LRR without sharing", claims, &[series], notes()))
}

/// Fig. 2.15(a).
pub fn figure_15(results: &Results) -> Result<Content> {
    let of = |key: &str, heading: &str, point: &Point| {
        Series::new(key, heading, 3, speedup(results, point, &baseline()))
    };
    let series = [
        of("no_optimisation", "LRR", &not_reordered()),
        of("reordered", "LRR, registers in the order of use", &of_lrr()),
        of("owf", "OWF, registers in the order of use", &register_sharing()),
    ];
    let prefixes = ["lrr_", "reordered_", "owf_"];
    let claims = series.iter().zip(prefixes).zip(BY_OPTIMISATION).flat_map(|((series, prefix), paper)| {
        let what = format!("IPC of register sharing with {}", series.heading());
        changes("§2.5.1.3", (prefix, &what), (paper, None), (results, series))
    });
    let claims = claims.collect();
    Ok(content(results, "Instructions a cycle, relative to LRR without sharing", claims, &series, notes()))
}

/// Fig. 2.16(a).
pub fn figure_16(results: &Results) -> Result<Content> {
    Ok(Comparison::of_registers(&gto(), "GTO").largest(results, "§2.5.1.4", 3.9))
}

/// Fig. 2.17(a).
pub fn figure_17(results: &Results) -> Result<Content> {
    Ok(Comparison::of_registers(&two_level(), "the two-level scheduler").largest(results, "§2.5.1.4", 27.22))
}

/// Fig. 2.18(a).
pub fn figure_18(results: &Results) -> Result<Content> {
    let stalls =
        "stalls become fewer for MUM, LIB, backprop, hotspot and stencil, more for b+tree, sgemm and mri-q";
    Ok(Comparison::of_registers(&baseline(), LRR).without_issue(results, stalls))
}

/// Fig. 2.20(a).
pub fn figure_20(results: &Results) -> Result<Content> {
    let twice = ("LRR, 65536 registers", &twice_the_registers());
    Ok(Comparison::of_registers(&baseline(), LRR).beside_twice(
        results,
        twice,
        Least::Faster,
        ("§2.5.1.7", 5, 8),
    ))
}

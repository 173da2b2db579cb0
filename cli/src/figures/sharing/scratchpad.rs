//! Scratchpad sharing of chapter 2: Figs. 2.13, 2.15 to 2.18 and 2.20, (b) of each.

use anyhow::Result;

use super::comparison::{Comparison, LRR, Least};
use super::kernels::{Kernels, NAMES};
use super::{
    Changes, bars_absent, beside_gto, beside_lrr, changes, content, operands_in_scratchpad,
    twice_the_scratchpad, with_scratchpad,
};
use crate::figures::Cause;
use crate::figures::report::Content;
use crate::figures::series::Series;
use crate::figures::sweep::{Point, Results};

/// Improvements of IPC by scratchpad sharing (§2.5.1.2).
const IMPROVEMENTS: Changes = &[
    ("convolution CONV1", 4.33),
    ("convolution CONV2", 15.85),
    ("lavaMD-100", 29.96),
    ("nw NW1", 5.62),
    ("nw NW2", 9.03),
    ("srad-tiles SRAD1", 25.73),
    ("srad-tiles SRAD2", 0.1),
];

/// Their mean.
const MEAN: f64 = 12.5;

/// Why numbers of Fig. 2.13(b) differ, and of Fig. 2.15(b).
pub const CAUSES_13: &[Cause] =
    &[beside_gto(&["srad-tiles.SRAD1"]), operands_in_scratchpad(&["convolution.CONV1"])];
pub const CAUSES_15: &[Cause] = &[beside_gto(&["owf_srad-tiles.SRAD1"])];

/// Scratchpad sharing.
pub fn shared() -> Point {
    with_scratchpad("spad-share")
}

/// LRR, without sharing.
pub fn lrr() -> Point {
    with_scratchpad("baseline")
}

fn two_level() -> Point {
    with_scratchpad("two-level")
}

fn beside(figure: &'static str, base: Point, scheduler: &'static str) -> Comparison {
    Comparison { figure, name: "scratchpad sharing", shared: shared(), base, scheduler, notes: notes() }
}

pub fn notes() -> Vec<String> {
    vec![NAMES.to_owned()]
}

/// LRR, and scratchpad sharing.
pub fn points() -> Vec<Point> {
    vec![lrr(), shared()]
}

/// GTO, and scratchpad sharing.
pub fn points_16() -> Vec<Point> {
    vec![lrr().with_gto(), shared()]
}

/// The two-level scheduler, and scratchpad sharing.
pub fn points_17() -> Vec<Point> {
    vec![two_level(), shared()]
}

/// LRR, twice the scratchpad, and scratchpad sharing.
pub fn points_20() -> Vec<Point> {
    vec![lrr(), twice_the_scratchpad(lrr()), shared()]
}

/// Fig. 2.13(b).
pub fn figure_13(results: &Results) -> Result<Content> {
    let kernels = &Kernels::of(results);
    let values = kernels.speedup(&shared(), &lrr());
    let series = Series::new("sharing", "scratchpad sharing", 3, values).with_paper(Some(1.0 + MEAN / 100.0));
    let what = ("", "IPC with scratchpad sharing");
    let claims = changes("§2.5.1.2", what, (IMPROVEMENTS, Some(MEAN)), (kernels, &series));
    Ok(beside_lrr("Fig. 2.14(b)", claims, (kernels, series), notes()))
}

/// Without and with OWF (§2.5.1.3).
const BY_OPTIMISATION: [Changes; 2] = [
    &[
        ("convolution CONV1", 5.68),
        ("convolution CONV2", 6.21),
        ("lavaMD-100", 28.0),
        ("srad-tiles SRAD1", 11.1),
        ("srad-tiles SRAD2", 5.28),
    ],
    &[
        ("convolution CONV2", 15.85),
        ("lavaMD-100", 30.0),
        ("nw NW1", 5.62),
        ("nw NW2", 9.03),
        ("srad-tiles SRAD1", 25.73),
    ],
];

fn of_lrr() -> Point {
    with_scratchpad("single-level+spad-share")
}

/// LRR without sharing, sharing under LRR, and under OWF.
pub fn points_15() -> Vec<Point> {
    vec![lrr(), of_lrr(), shared()]
}

/// Fig. 2.15(b).
pub fn figure_15(results: &Results) -> Result<Content> {
    let kernels = &Kernels::of(results);
    let series = [("lrr", "LRR", of_lrr()), ("owf", "OWF", shared())]
        .map(|(key, heading, point)| Series::new(key, heading, 3, kernels.speedup(&point, &lrr())));
    let claims =
        series.iter().zip(["lrr_", "owf_"]).zip(BY_OPTIMISATION).flat_map(|((series, prefix), paper)| {
            let what = format!("IPC of scratchpad sharing with {}", series.heading());
            changes("§2.5.1.3", (prefix, &what), (paper, None), (kernels, series))
        });
    let claims = claims.chain([bars_absent("Fig. 2.15(b)")]).collect();
    Ok(content(kernels, "Instructions a cycle, relative to LRR without sharing", claims, &series, notes()))
}

/// Fig. 2.16(b).
pub fn figure_16(results: &Results) -> Result<Content> {
    Ok(beside("Fig. 2.16(b)", lrr().with_gto(), "GTO").largest(results, "§2.5.1.4", 30.0))
}

/// Fig. 2.17(b).
pub fn figure_17(results: &Results) -> Result<Content> {
    Ok(beside("Fig. 2.17(b)", two_level(), "the two-level scheduler").largest(results, "§2.5.1.4", 27.08))
}

/// Fig. 2.18(b).
pub fn figure_18(results: &Results) -> Result<Content> {
    let stalls = "stalls become fewer for CONV2, NW1, NW2, SRAD1 and SRAD2, more for CONV1; lavaMD has 259 more of them";
    Ok(beside("Fig. 2.18(b)", lrr(), LRR).without_issue(results, stalls, &[("lavaMD-100", 49.5)]))
}

/// Fig. 2.20(b): CONV1, NW1 and NW2 are comparable and lavaMD is faster there; CONV2, SRAD1 and SRAD2 are slower.
pub fn figure_20(results: &Results) -> Result<Content> {
    Ok(beside("Fig. 2.20(b)", lrr(), LRR).beside_twice(
        results,
        ("LRR, 32 KB of scratchpad", &twice_the_scratchpad(lrr())),
        Least::Comparable,
        ("§2.5.1.7", 4, 7),
    ))
}

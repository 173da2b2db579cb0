//! Scratchpad sharing of chapter 2: Figs. 2.13, 2.15 to 2.18 and 2.20, (b) of each.

use anyhow::Result;

use super::comparison::{Comparison, LRR, Least};
use super::{Changes, changes, content, one_scheduler, speedup, twice_the_scratchpad, with_scratchpad};
use crate::figures::Cause;
use crate::figures::report::Content;
use crate::figures::series::Series;
use crate::figures::sweep::{Point, Results};

/// Improvements of IPC by scratchpad sharing (§2.5.1.2); nw is two kernels there: 5.62 and 9.03. Of convolution CONV2, of
/// srad-tiles SRAD1.
const IMPROVEMENTS: Changes =
    &[("convolution", 15.85), ("lavaMD-100", 29.96), ("nw", 7.3), ("srad-tiles", 25.73)];

/// Their mean over the thesis's seven kernels.
const MEAN: f64 = 12.5;

/// Why numbers of Fig. 2.13(b) differ, of Fig. 2.15(b), and of Fig. 2.17(b).
pub const CAUSES_13: &[Cause] = &[one_scheduler(&["convolution", "srad-tiles", "mean"])];
pub const CAUSES_15: &[Cause] = &[one_scheduler(&["owf_convolution", "lrr_srad-tiles", "owf_srad-tiles"])];
pub const CAUSES_17: &[Cause] = &[one_scheduler(&["largest"])];

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

fn beside(base: Point, scheduler: &'static str) -> Comparison {
    Comparison { name: "scratchpad sharing", shared: shared(), base, scheduler, notes: notes() }
}

pub fn notes() -> Vec<String> {
    vec![
        "Of convolution it is the kernel of columns, CONV2, of srad-tiles that of the coefficients, SRAD1. nw's two kernels are one \
         here."
            .to_owned(),
    ]
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
    let series = Series::new("sharing", "scratchpad sharing", 3, speedup(results, &shared(), &lrr()));
    let claims = changes(
        "§2.5.1.2",
        ("", "IPC with scratchpad sharing"),
        (IMPROVEMENTS, Some(MEAN)),
        (results, &series),
    );
    let mut notes = notes();
    notes.push("The thesis's number of nw is the mean of its two kernels' (5.62 and 9.03 %).".to_owned());
    Ok(content(results, "Instructions a cycle, relative to LRR without sharing", claims, &[series], notes))
}

/// Without and with OWF (§2.5.1.3).
const BY_OPTIMISATION: [Changes; 2] = [
    &[("convolution", 6.21), ("lavaMD-100", 28.0), ("srad-tiles", 11.1)],
    &[("convolution", 15.85), ("lavaMD-100", 30.0), ("srad-tiles", 25.73)],
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
    let series = [("lrr", "LRR", of_lrr()), ("owf", "OWF", shared())]
        .map(|(key, heading, point)| Series::new(key, heading, 3, speedup(results, &point, &lrr())));
    let claims =
        series.iter().zip(["lrr_", "owf_"]).zip(BY_OPTIMISATION).flat_map(|((series, prefix), paper)| {
            let what = format!("IPC of scratchpad sharing with {}", series.heading());
            changes("§2.5.1.3", (prefix, &what), (paper, None), (results, series))
        });
    let claims = claims.collect();
    Ok(content(results, "Instructions a cycle, relative to LRR without sharing", claims, &series, notes()))
}

/// Fig. 2.16(b).
pub fn figure_16(results: &Results) -> Result<Content> {
    Ok(beside(lrr().with_gto(), "GTO").largest(results, "§2.5.1.4", 30.0))
}

/// Fig. 2.17(b).
pub fn figure_17(results: &Results) -> Result<Content> {
    Ok(beside(two_level(), "the two-level scheduler").largest(results, "§2.5.1.4", 27.08))
}

/// Fig. 2.18(b).
pub fn figure_18(results: &Results) -> Result<Content> {
    let stalls = "stalls become fewer for CONV2, NW1, NW2, SRAD1 and SRAD2, more for CONV1; lavaMD has 259 more of them";
    Ok(beside(lrr(), LRR).without_issue(results, stalls))
}

/// Fig. 2.20(b): CONV1, NW1 and NW2 are comparable and lavaMD is faster there; CONV2, SRAD1 and SRAD2 are slower.
pub fn figure_20(results: &Results) -> Result<Content> {
    Ok(beside(lrr(), LRR).beside_twice(
        results,
        ("LRR, 32 KB of scratchpad", &twice_the_scratchpad(lrr())),
        Least::Comparable,
        ("§2.5.1.7", 4, 7),
    ))
}

//! Scratchpad sharing of chapter 2: Figs. 2.13 to 2.18 and 2.20, (b) of each.

use anyhow::Result;

use super::comparison::{Comparison, LRR};
use super::{Changes, SCRATCHPAD_BYTES, changes, content, speedup, with_scratchpad};
use crate::figures::report::Content;
use crate::figures::series::Series;
use crate::figures::sweep::{Point, Results};

/// Improvements of IPC by scratchpad sharing (§2.5.1.2); nw is two kernels there: 5.62 and 9.03. Of convolution CONV2.
const IMPROVEMENTS: Changes = &[("convolution", 15.85), ("lavaMD", 29.96), ("nw", 7.3)];

/// Scratchpad sharing.
pub fn shared() -> Point {
    with_scratchpad("spad-share")
}

fn lrr() -> Point {
    with_scratchpad("baseline")
}

fn gto() -> Point {
    lrr().with("scheduler.single_level", "gto")
}

fn two_level() -> Point {
    with_scratchpad("two-level")
}

fn twice() -> Point {
    Point::new("jatala-ch2", "baseline").with("sm.shared_memory_bytes", 2 * SCRATCHPAD_BYTES)
}

fn beside(base: Point, scheduler: &'static str) -> Comparison {
    Comparison {
        name: "scratchpad sharing",
        shared: shared(),
        base,
        scheduler,
        sections: ["§2.5.1.4", "§2.5.1.5", "§2.5.1.7"],
        notes: notes(),
    }
}

/// What is said of the workloads.
pub fn notes() -> Vec<String> {
    vec![
        "SRAD1 and SRAD2 are not here: the tiles of srad here take 1280 bytes a block and do not limit it. Of convolution it is \
         the kernel of columns, CONV2. nw's two kernels are one here."
            .to_owned(),
    ]
}

/// LRR, and scratchpad sharing.
pub fn points() -> Vec<Point> {
    vec![lrr(), shared()]
}

/// GTO, and scratchpad sharing.
pub fn points_16() -> Vec<Point> {
    vec![gto(), shared()]
}

/// The two-level scheduler, and scratchpad sharing.
pub fn points_17() -> Vec<Point> {
    vec![two_level(), shared()]
}

/// LRR, twice the scratchpad, and scratchpad sharing.
pub fn points_20() -> Vec<Point> {
    vec![lrr(), twice(), shared()]
}

/// Fig. 2.13(b).
pub fn figure_13(results: &Results) -> Result<Content> {
    let series = Series::new("sharing", "scratchpad sharing", 3, speedup(results, &shared(), &lrr()));
    let claims =
        changes("§2.5.1.2", ("", "IPC with scratchpad sharing"), (IMPROVEMENTS, None), (results, &series));
    let mut notes = notes();
    notes.push("The thesis's number of nw is the mean of its two kernels' (5.62 and 9.03 %).".to_owned());
    Ok(content(results, "Instructions a cycle, relative to LRR without sharing", claims, &[series], notes))
}

/// Fig. 2.16(b).
pub fn figure_16(results: &Results) -> Result<Content> {
    Ok(beside(gto(), "GTO").largest(results, 30.0))
}

/// Fig. 2.17(b).
pub fn figure_17(results: &Results) -> Result<Content> {
    Ok(beside(two_level(), "the two-level scheduler").largest(results, 27.08))
}

/// Fig. 2.18(b).
pub fn figure_18(results: &Results) -> Result<Content> {
    let stalls = "stalls become fewer for CONV2, NW1, NW2, SRAD1 and SRAD2, more for CONV1; lavaMD has 259 more of them";
    Ok(beside(lrr(), LRR).without_issue(results, stalls))
}

/// Fig. 2.20(b): CONV1, NW1 and NW2 are comparable and lavaMD is faster there; CONV2, SRAD1 and SRAD2 are slower.
pub fn figure_20(results: &Results) -> Result<Content> {
    Ok(beside(lrr(), LRR).beside_twice(results, ("LRR, 32 KB of scratchpad", &twice()), (4, 7)))
}

//! What the figures of §6 have in common: the benchmarks, the designs, tables and charts with a row for each benchmark.

use crate::figures::sweep::Point;

pub use crate::figures::series::{Average, Series, change, chart, named, percent_change, ratio, table};

/// Workloads that stand for benchmarks of Rodinia in the paper, and `hotspot` once more with many registers.
pub const RODINIA: &[&str] = &[
    "b+tree",
    "backprop",
    "bfs",
    "dwt2d",
    "gaussian",
    "heartwall",
    "hotspot",
    "hotspot-registers",
    "hybridsort",
    "kmeans",
    "lavaMD",
    "leukocyte",
    "lud",
    "mummer",
    "myocyte",
    "nn",
    "nw",
    "particle_filter",
    "pathfinder",
    "srad",
    "streamcluster",
];

/// What a reader has to know of averages.
pub const AVERAGES: &str =
    "Averages are over the paper's benchmarks that are here, hotspot once: hotspot-registers is left out.";

/// The full register file under GTO, which everything is relative to.
pub fn baseline() -> Point {
    Point::gtx980("baseline")
}

/// RegLess at its design point of 512 lines (§6.2).
pub fn regless() -> Point {
    Point::gtx980("regless")
}

/// The same without compressor (§6.4).
pub fn regless_without_compressor() -> Point {
    regless().with("regless.compressor_lines", 0)
}

/// The full register file under the two-level scheduler of the comparators (§6.4).
pub fn two_level() -> Point {
    Point::gtx980("two-level")
}

/// Half a register file with renaming under the same scheduler (§6.1).
pub fn rfv() -> Point {
    Point::gtx980("rfv")
}

/// The full register file behind a hierarchy that the compiler fills, under the same scheduler (§6.1).
pub fn rfh() -> Point {
    Point::gtx980("rfh")
}

//! Sharing beside warp-level divergence: Fig. 2.21.

use anyhow::Result;

use super::kernels::Kernels;
use super::{
    bars_absent, baseline, changes, content, notes, order_of_the_ptx, register_sharing, scratchpad,
    with_registers, with_scratchpad,
};
use crate::figures::Cause;
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Series, named};
use crate::figures::sweep::{Point, Results};

const LAYER: &str = "warp-level-divergence";

/// Why numbers of Fig. 2.21(a) differ.
pub const CAUSES_REGISTERS: &[Cause] = &[order_of_the_ptx(&["sharing_mean"])];

/// LRR, warp-level divergence, and register sharing.
pub fn points_registers() -> Vec<Point> {
    vec![baseline(), with_registers(LAYER), register_sharing()]
}

/// The same with scratchpad sharing.
pub fn points_scratchpad() -> Vec<Point> {
    vec![scratchpad::lrr(), with_scratchpad(LAYER), scratchpad::shared()]
}

/// Fig. 2.21(a).
pub fn figure_registers(results: &Results) -> Result<Content> {
    let mut content = beside(results, &points_registers(), "register sharing", [2.87, 10.99], notes());
    content.claims.extend([faster_than_sharing(results), bars_absent("Fig. 2.21(a)")]);
    Ok(content)
}

/// Fig. 2.21(b).
pub fn figure_scratchpad(results: &Results) -> Result<Content> {
    let mut content =
        beside(results, &points_scratchpad(), "scratchpad sharing", [0.0, 12.47], scratchpad::notes());
    content.claims.push(bars_absent("Fig. 2.21(b)"));
    Ok(content)
}

/// Both beside LRR; `means`: geometric ones of warp-level divergence and of sharing, per cent.
fn beside(
    results: &Results,
    points: &[Point],
    sharing: &'static str,
    means: [f64; 2],
    notes: Vec<String>,
) -> Content {
    let kernels = &Kernels::of(results);
    let names = [("divergence", "warp-level divergence"), ("sharing", sharing)];
    let series: Vec<Series> = names
        .iter()
        .zip(&points[1..])
        .zip(means)
        .map(|(((key, heading), point), mean)| {
            let values = kernels.speedup(point, &points[0]);
            Series::new(*key, *heading, 3, values).with_paper(Some(1.0 + mean / 100.0))
        })
        .collect();
    let claims = names.iter().zip(&series).zip(means).flat_map(|(((key, heading), one), mean)| {
        let (prefix, what) = (format!("{key}_"), format!("IPC with {heading}"));
        changes("§2.5.1.9", (&prefix, &what), (&[], Some(mean)), (kernels, one))
    });
    let claims = claims.collect();
    content(kernels, "Instructions a cycle, relative to LRR without sharing", claims, &series, notes)
}

/// Which programs warp-level divergence makes faster than register sharing does.
fn faster_than_sharing(results: &Results) -> Claim {
    let kernels = &Kernels::of(results);
    let values = kernels.speedup(&with_registers(LAYER), &register_sharing());
    let beside = Series::new("beside", "", 3, values);
    let text = named(kernels, &beside, |value| value > 1.0, |_| String::new());
    Claim::new("§2.5.1.9", "b+tree and hotspot perform better with warp-level divergence", text)
}

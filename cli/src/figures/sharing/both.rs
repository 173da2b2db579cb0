//! Registers and scratchpad shared at once, which the thesis leaves to future work (§6.1).

use anyhow::Result;
use warpfile_sim::mechanisms::sharing::{COUNTERS, Shared};

use super::kernels::Kernels;
use super::{SCRATCHPAD_BYTES, programs, with_registers};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, chart, ratio, table};
use crate::figures::sweep::{Point, Results};

/// Designs beside the baseline: name, key, heading.
const DESIGNS: [(&str, &str, &str); 3] = [
    ("reg-share", "registers", "register sharing"),
    ("spad-share-relssp", "scratchpad", "scratchpad sharing, relssp"),
    ("both-share", "both", "both, relssp"),
];

/// An SM of the machine of Table 2.3 with its small scratchpad and the registers of Table 2.1: both are scarce. Some programs have
/// too few blocks for all SMs.
fn scarce(design: &str) -> Point {
    with_registers(design).with("sm.shared_memory_bytes", SCRATCHPAD_BYTES).with("chip.simulated_sms", 1)
}

/// LRR, and what is shared.
pub fn points() -> Vec<Point> {
    std::iter::once("baseline").chain(DESIGNS.map(|(design, ..)| design)).map(scarce).collect()
}

/// Resident blocks, instructions a cycle, and how much of its time an additional warp waits.
pub fn figure(results: &Results) -> Result<Content> {
    let kernels = &Kernels::of(results);
    let all = || std::iter::once(("baseline", "baseline", "without sharing")).chain(DESIGNS);
    let blocks: Vec<Series> = all()
        .map(|(design, key, heading)| Series::new(key, heading, 0, kernels.resident(&scarce(design))))
        .collect();
    let speeds = DESIGNS.map(|(design, key, heading)| {
        Series::new(key, heading, 3, kernels.speedup(&scarce(design), &scarce("baseline")))
    });
    let waits = DESIGNS.map(|(design, key, heading)| {
        let point = scarce(design);
        let share = kernels.at(&point).map(|(_, run)| {
            let shared: Shared = run.report.counters.get(COUNTERS);
            ratio(100.0 * shared.additional_waits as f64, shared.additional as f64)
        });
        Series::new(key, heading, 1, share.collect())
    });
    let means = DESIGNS.iter().zip(&speeds).map(|((_, _, heading), one)| {
        format!("{heading} {}", change(one.average(kernels, Average::Geometric)))
    });
    let gaining = blocks[1..]
        .iter()
        .map(|one| one.values.iter().zip(&blocks[0].values).filter(|(shared, base)| shared > base).count());
    let gaining = DESIGNS.iter().zip(gaining).map(|((_, _, heading), count)| format!("{heading} {count}"));
    let of_future_work = |what: &str, here: String| {
        Claim::new("§6.1", format!("{what} with both shared: n/a, future work there"), here)
    };
    let title = "Instructions a cycle, relative to LRR without sharing";
    let by = |key, title, series: &[Series], average| table(key, title, kernels, series, average);
    let mut notes = programs();
    notes.push(
        "The SM has the registers of Table 2.3 and its small scratchpad, 16 KB, for all designs alike. A pair has one owner, the older \
         block until it has ended; with the designs for one resource the other becomes owner by a need of its own while the owner neither \
         holds a lock nor needs one."
            .to_owned(),
    );
    Ok(Content {
        claims: vec![
            of_future_work("IPC", means.collect::<Vec<_>>().join(", ")),
            of_future_work("kernels with more resident blocks", gaining.collect::<Vec<_>>().join(", ")),
        ],
        charts: vec![chart("instructions a cycle", "relative", kernels, &speeds, Average::Geometric, false)],
        tables: vec![
            by("ipc", title, &speeds, Average::Geometric),
            by("blocks", "Resident blocks of an SM", &blocks, Average::Arithmetic),
            by(
                "waits",
                "Waits of additional warps for what they share, of their time, %",
                &waits,
                Average::Arithmetic,
            ),
        ],
        notes,
    })
}

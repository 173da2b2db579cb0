//! Scratchpad sharing with `relssp` beside other schedulers and machines: Figs. 3.13 to 3.15.

use anyhow::Result;
use warpfile_sim::mechanisms::sharing::{COUNTERS, Shared};

use super::comparison::{Comparison, LRR, Least};
use super::kernels::{Kernels, NAMES};
use super::release::on_machine;
use super::{bars_absent, content, on, twice_the_scratchpad};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::Series;
use crate::figures::sweep::{Point, Results, Run};

/// Machines with 48 and 64 KB of scratchpad (Table 3.6): preset, key, heading.
const MACHINES: [(&str, &str, &str); 2] =
    [("jatala-48k", "of_48k", "48 KB"), ("jatala-64k", "of_64k", "64 KB")];

/// What shares with 48 KB only in the thesis (§3.4.1.9).
const ONLY_48K: [&str; 3] = ["fdtd3d-128", "heartwall-512", "marching-cubes MC1"];
/// Speed from which on a program has become faster.
const NOTICED: f64 = 1.001;

const DESIGN: &str = "spad-share-relssp";

fn shared() -> Point {
    on_machine(DESIGN)
}

fn lrr() -> Point {
    on_machine("baseline")
}

fn two_level() -> Point {
    on_machine("two-level")
}

fn beside(figure: &'static str, base: Point, scheduler: &'static str) -> Comparison {
    Comparison {
        figure,
        name: "scratchpad sharing with relssp",
        shared: shared(),
        base,
        scheduler,
        notes: vec![format!("{NAMES} NQU is nqueens.")],
    }
}

/// GTO, and sharing.
pub fn points_13a() -> Vec<Point> {
    vec![lrr().with_gto(), shared()]
}

/// The two-level scheduler, and sharing.
pub fn points_13b() -> Vec<Point> {
    vec![two_level(), shared()]
}

/// LRR, twice the scratchpad, and sharing.
pub fn points_14() -> Vec<Point> {
    vec![lrr(), twice_the_scratchpad(lrr()), shared()]
}

/// LRR and sharing on both machines.
pub fn points_15() -> Vec<Point> {
    MACHINES.iter().flat_map(|(machine, ..)| ["baseline", DESIGN].map(|design| on(machine, design))).collect()
}

/// Fig. 3.13(a).
pub fn figure_13a(results: &Results) -> Result<Content> {
    Ok(beside("Fig. 3.13(a)", lrr().with_gto(), "GTO").mean(results, "§3.4.1.7", 17.73))
}

/// Fig. 3.13(b).
pub fn figure_13b(results: &Results) -> Result<Content> {
    Ok(beside("Fig. 3.13(b)", two_level(), "the two-level scheduler").mean(results, "§3.4.1.7", 18.08))
}

/// Fig. 3.14: faster for DCT3, DCT4, NQU and heartwall, comparable for DCT1, DCT2, SRAD1, SRAD2 and MC1, of fourteen.
pub fn figure_14(results: &Results) -> Result<Content> {
    Ok(beside("Fig. 3.14", lrr(), LRR).beside_twice(
        results,
        ("LRR, 32 KB of scratchpad", &twice_the_scratchpad(lrr())),
        Least::Comparable,
        ("§3.4.1.8", 9, 14),
    ))
}

/// Fig. 3.15.
pub fn figure_15(results: &Results) -> Result<Content> {
    let small = on(MACHINES[0].0, "baseline");
    let kernels = &Kernels::with_larger(results);
    let of = |key: String, heading: String, point: &Point| {
        Series::new(key, heading, 3, kernels.speedup(point, &small))
    };
    let mut series = Vec::new();
    let mut claims = Vec::new();
    // All but FDTD3d and DCT2 are faster with 48 KB, of eleven, and all of eight with 64 KB.
    let of_thesis = [(9, 11, &[][..]), (8, 8, &ONLY_48K[..])];
    for ((machine, key, heading), (faster, all, left_out)) in MACHINES.into_iter().zip(of_thesis) {
        let (base, shared) = (on(machine, "baseline"), on(machine, DESIGN));
        let shares = |run: &Run| run.report.counters.get::<Shared>(COUNTERS).sharing_warps > 0;
        let beside = kernels.at(&shared).zip(kernels.speedup(&shared, &base));
        let counted = beside.filter(|((kernel, run), _)| shares(run) && !left_out.contains(&kernel.name));
        let changed: Vec<f64> = counted.filter_map(|(_, value)| value).collect();
        let better = changed.iter().filter(|value| **value > NOTICED).count();
        let percent = |some: usize, all: usize| 100.0 * some as f64 / all as f64;
        let here = (!changed.is_empty()).then(|| percent(better, changed.len()));
        let what = format!("kernels of programs that share and become faster with {heading} of scratchpad");
        let claim = Claim::new(
            "§3.4.1.9",
            format!("{what}: {faster} of {all}"),
            format!("{better} of {}", changed.len()),
        );
        claims.push(claim.number(Number::share(key, what, Stated::exactly(percent(faster, all)), here)));
        series.push(of(format!("{key}_lrr"), format!("LRR, {heading}"), &base));
        series.push(of(format!("{key}_relssp"), format!("sharing with relssp, {heading}"), &shared));
    }
    claims.push(bars_absent("Fig. 3.15"));
    let notes = vec![
        "Of kernels whose programs share; with 64 KB FDTD3d, heartwall and MC1 do not in the thesis, and are not counted. Faster is by a \
         thousandth or more."
            .to_owned(),
    ];
    Ok(content(kernels, "Instructions a cycle, relative to LRR with 48 KB", claims, &series, notes))
}

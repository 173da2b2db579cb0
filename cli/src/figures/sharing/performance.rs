//! Instructions a cycle: Figs. 2.13 to 2.18 and 2.20.

use anyhow::Result;

use super::{
    Changes, baseline, changes, content, notes, register_sharing, speedup, with_registers, with_scratchpad,
};
use crate::figures::Cause;
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, named, percent_change, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

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
/// Improvements of IPC by scratchpad sharing (§2.5.1.2); nw is two kernels there: 5.62 and 9.03. Of convolution CONV2.
const SCRATCHPAD_SHARING: Changes = &[("convolution", 15.85), ("lavaMD", 29.96), ("nw", 7.3)];
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
        why: "LRR is slow here: beside GTO sharing changes them by less than a point.",
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

/// LRR, and scratchpad sharing.
pub fn points_13b() -> Vec<Point> {
    vec![with_scratchpad("baseline"), with_scratchpad("spad-share")]
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

/// Fig. 2.13(b).
pub fn figure_13b(results: &Results) -> Result<Content> {
    let values = speedup(results, &with_scratchpad("spad-share"), &with_scratchpad("baseline"));
    let series = Series::new("sharing", "scratchpad sharing", 3, values);
    let claims = changes(
        "§2.5.1.2",
        ("", "IPC with scratchpad sharing"),
        (SCRATCHPAD_SHARING, None),
        (results, &series),
    );
    let notes = vec![
        "SRAD1 and SRAD2 are not here: the tiles of srad here take 1280 bytes a block and do not limit it. Of convolution it is \
         the kernel of columns, CONV2. nw's two kernels are one here; the thesis's number is the mean of theirs."
            .to_owned(),
    ];
    Ok(content(results, "Instructions a cycle, relative to LRR without sharing", claims, &[series], notes))
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
    beside(results, ("GTO", &gto()), 3.9)
}

/// Fig. 2.17(a).
pub fn figure_17(results: &Results) -> Result<Content> {
    beside(results, ("the two-level scheduler", &two_level()), 27.22)
}

/// Register sharing beside another scheduler, and the largest improvement that the thesis has.
fn beside(results: &Results, (name, base): (&str, &Point), largest: f64) -> Result<Content> {
    let series = Series::new("sharing", "register sharing", 3, speedup(results, &register_sharing(), base));
    let best = series.values.iter().flatten().copied().reduce(f64::max);
    let here = percent_change(best);
    let what = format!("largest improvement of IPC beside {name}");
    let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:+.2} %"));
    let claim = Claim::new("§2.5.1.4", format!("{what}: {largest:+} %"), text).number(Number::change(
        "largest",
        what,
        Stated::exactly(largest),
        here,
    ));
    let title = format!("Instructions a cycle of register sharing, relative to {name} without sharing");
    Ok(content(results, &title, vec![claim], &[series], notes()))
}

/// Fig. 2.18(a).
pub fn figure_18(results: &Results) -> Result<Content> {
    let change = |value: fn(&Run) -> u64| {
        let runs = results.of(&register_sharing()).iter().zip(results.of(&baseline()));
        let percent =
            |(run, base): (&Run, &Run)| percent_change(ratio(value(run) as f64, value(base) as f64));
        runs.map(percent).collect::<Vec<_>>()
    };
    let series = [
        Series::new("stalls", "stalls", 1, change(stall_cycles)),
        Series::new("idle", "idle cycles", 1, change(idle_cycles)),
    ];
    let fewer =
        |series: &Series| named(results, series, |value| value < 0.0, |value| format!(" {value:.1} %"));
    let claims = vec![
        Claim::new(
            "§2.5.1.5",
            "idle cycles become fewer, up to 99 %, for all applications but one",
            format!("fewer for: {}", fewer(&series[1])),
        ),
        Claim::new(
            "§2.5.1.5",
            "stalls become fewer for MUM, LIB, backprop, hotspot and stencil, more for b+tree, sgemm and mri-q",
            format!("fewer for: {}", fewer(&series[0])),
        ),
    ];
    let mut notes = notes();
    notes.push(
        "A stall is a scheduler's cycle in which the instruction picked before could not be taken; it is idle in cycles in \
         which no warp is ready. Both are of all kernels of the program."
            .to_owned(),
    );
    let title = "Change beside LRR without sharing, per cent";
    Ok(Content {
        claims,
        tables: vec![table("cycles", title, results, &series, Average::Arithmetic)],
        notes,
        charts: vec![chart(
            "cycles without issue",
            "change, %",
            results,
            &series,
            Average::Arithmetic,
            false,
        )],
    })
}

fn stall_cycles(run: &Run) -> u64 {
    run.report.stalls.issue_blocked
}

fn idle_cycles(run: &Run) -> u64 {
    let stalls = &run.report.stalls;
    stalls.short_latency
        + stalls.long_latency
        + stalls.branch
        + stalls.barrier
        + stalls.design
        + stalls.drained
}

/// Fig. 2.20(a).
pub fn figure_20(results: &Results) -> Result<Content> {
    let of = |key: &str, heading: &str, point: &Point| {
        Series::new(key, heading, 3, speedup(results, point, &baseline()))
    };
    let series = [
        of("twice", "LRR, 65536 registers", &twice_the_registers()),
        of("sharing", "register sharing, 32768 registers", &register_sharing()),
    ];
    let beside = Series::new("beside", "", 3, speedup(results, &register_sharing(), &twice_the_registers()));
    let better = beside.values.iter().flatten().filter(|value| **value >= 1.0).count();
    let what = "workloads that sharing makes faster than twice the registers, of 100";
    let percent = |some: usize, all: usize| 100.0 * some as f64 / all as f64;
    let here = (!results.workloads.is_empty()).then(|| percent(better, results.workloads.len()));
    let claims = vec![
        Claim::new(
            "§2.5.1.7",
            "register sharing is faster in 5 of 8 applications than twice the registers",
            format!("in {better} of {}", results.workloads.len()),
        )
        .number(Number::share("faster", what, Stated::exactly(percent(5, 8)), here)),
    ];
    Ok(content(
        results,
        "Instructions a cycle, relative to LRR with 32768 registers",
        claims,
        &series,
        notes(),
    ))
}

//! Scratchpad sharing with `relssp`: Figs. 3.9 to 3.11, Table 3.5.

use anyhow::Result;

use super::kernels::{Kernel, Kernels, NAMES, key_of};
use super::{Changes, bars_absent, changes, content, cycles_saved, on, table_of_cycles};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, percent_change, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// Improvements of IPC by scratchpad sharing with relssp, per cent (§3.4.1.2).
const IMPROVEMENTS: Changes = &[
    ("backprop-wide", 74.2),
    ("fdtd3d-128", -2.29),
    ("heartwall-512", 92.17),
    ("marching-cubes MC1", 32.32),
];
/// Their geometric mean over the thesis's fourteen kernels.
const MEAN: f64 = 19.0;

/// The design whose variables of scratchpad are laid out, without relssp: *Shared-OWF-Reorder*.
const LAYOUT: &str = "layout";
/// Designs beside the baseline: name in a stack, key, heading.
pub const DESIGNS: [(&str, &str, &str); 5] = [
    ("single-level+spad-share", "lrr", "sharing, LRR"),
    ("spad-share", "owf", "sharing, OWF"),
    ("spad-share-relssp", LAYOUT, "sharing, OWF, layout"),
    ("spad-share-relssp", "relssp", "sharing, OWF, relssp"),
    ("spad-share-relssp", "postdominator", "sharing, OWF, relssp at the postdominator"),
];

pub fn on_machine(design: &str) -> Point {
    on("jatala-ch3", design)
}

/// A design on the machine of Table 3.2.
pub fn of((design, key, _): (&str, &str, &str)) -> Point {
    match key {
        "postdominator" => on_machine(design).with("sharing.relssp", "postdominator"),
        LAYOUT => on_machine(design).with("sharing.relssp", "none"),
        _ => on_machine(design),
    }
}

/// The baseline, and the designs.
pub fn points() -> Vec<Point> {
    std::iter::once(on_machine("baseline")).chain(DESIGNS.map(of)).collect()
}

/// The baseline, and sharing with relssp.
pub fn points_of_table_5() -> Vec<Point> {
    ["baseline", "spad-share-relssp"].map(on_machine).to_vec()
}

/// The baseline, sharing, and sharing with relssp.
pub fn points_8() -> Vec<Point> {
    ["baseline", "spad-share", "spad-share-relssp"].map(on_machine).to_vec()
}

/// Figs. 3.9 to 3.11.
pub fn figure_9(results: &Results) -> Result<Content> {
    let kernels = &Kernels::of(results);
    let series = DESIGNS.map(|design| {
        let paper = (design.1 == "relssp").then_some(1.0 + MEAN / 100.0);
        let values = kernels.speedup(&of(design), &on_machine("baseline"));
        Series::new(design.1, design.2, 3, values).with_paper(paper)
    });
    let paper = (IMPROVEMENTS, Some(MEAN));
    let what = "cycles saved by scratchpad sharing with relssp, as IPC";
    let [_, owf, layout, relssp, _] = &series;
    let mut claims = changes("§3.4.1.2", ("", what), paper, (kernels, relssp));
    let saved = cycles_saved(relssp);
    claims.extend(claims_of_cycles(&saved, kernels));
    claims.push(claim_of_layout([owf, layout], kernels));
    claims.push(bars_absent("Figs. 3.9 to 3.11"));
    let notes = vec![
        format!("{NAMES} NQU is nqueens."),
        "Cycles of the baseline by those of the design: relssp's own instructions are not work.".to_owned(),
    ];
    let mut content = content(kernels, "Speed, relative to LRR without sharing", claims, &series, notes);
    content.tables.push(table_of_cycles("Fig. 3.11", kernels, &saved));
    Ok(content)
}

/// What the thesis says of the layout.
fn claim_of_layout(series: [&Series; 2], kernels: &Kernels<'_>) -> Claim {
    let [without, with] = series.map(|series| series.average(kernels, Average::Geometric));
    let here = percent_change(with.zip(without).and_then(|(with, without)| ratio(with, without)));
    let what = "speed with scratchpad laid out beside without, geometric mean; no noticeable impact is taken to be within one per cent";
    let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:+.2} %"));
    Claim::new("§3.4.1.4", "the layout has no noticeable impact", text).number(Number::change(
        "layout",
        what,
        Stated::between(-1.0, 1.0),
        here,
    ))
}

/// What the thesis says of cycles: the most that is saved, and the mean of its fourteen kernels.
fn claims_of_cycles(saved: &Series, kernels: &Kernels<'_>) -> [Claim; 2] {
    let most = saved.values.iter().flatten().copied().reduce(f64::max);
    let mean = saved.average(kernels, Average::Arithmetic);
    [("most", "at most", 47.8, most), ("mean", "on average, which is taken to be arithmetic", 15.42, mean)]
        .map(|(key, which, thesis, here)| {
            let what = format!("cycles saved by scratchpad sharing with relssp, {which}");
            let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:.2} %"));
            let number = Number::change(format!("cycles_{key}"), what.clone(), Stated::exactly(thesis), here);
            Claim::new("§3.4.1.5", format!("{what}: {thesis} %"), text).number(number)
        })
}

/// Threads of each kernel, and instructions that they execute more: relssp, and the branch of an edge that is split where one is
/// (Table 3.5).
const MORE: [(&str, f64, f64); 14] = [
    ("backprop-wide", 1_048_576.0, 2_031_616.0),
    ("dct8x8 DCT1", 32_768.0, 32_768.0),
    ("dct8x8 DCT2", 32_768.0, 32_768.0),
    ("dct8x8 DCT3", 32_768.0, 49_152.0),
    ("dct8x8 DCT4", 32_768.0, 49_152.0),
    ("nqueens", 24_576.0, 48_768.0),
    ("srad-tiles SRAD1", 4_161_600.0, 4_161_600.0),
    ("srad-tiles SRAD2", 4_161_600.0, 4_161_600.0),
    ("fdtd3d-128", 144_384.0, 288_768.0),
    ("heartwall-512", 17_920.0, 35_840.0),
    ("histogram", 46_080.0, 92_160.0),
    ("marching-cubes MC1", 3_008.0, 6_016.0),
    ("nw-32 NW1", 3_184.0, 3_184.0),
    ("nw-32 NW2", 3_168.0, 3_168.0),
];

/// Table 3.5.
pub fn table_5(results: &Results) -> Result<Content> {
    let (relssp, base) = (on_machine("spad-share-relssp"), on_machine("baseline"));
    let kernels = &Kernels::of(results);
    let of_kernels = |value: fn(&Kernel, &Run, &Run) -> Option<f64>| {
        let runs = kernels.at(&relssp).zip(kernels.at(&base));
        runs.map(|((kernel, run), (_, base))| value(&kernel, run, base)).collect::<Vec<_>>()
    };
    let series = [
        Series::new("threads", "threads", 0, of_kernels(|kernel, run, _| Some(kernel.threads(run) as f64))),
        Series::new(
            "more",
            "more thread instructions",
            0,
            of_kernels(|kernel, run, base| Some(more(kernel, run, base))),
        ),
        Series::new(
            "a_thread",
            "of each thread",
            3,
            of_kernels(|kernel, run, base| ratio(more(kernel, run, base), kernel.threads(run) as f64)),
        ),
        Series::new(
            "share",
            "more, %",
            3,
            of_kernels(|kernel, run, base| {
                ratio(100.0 * more(kernel, run, base), kernel.thread_instructions(base) as f64)
            }),
        ),
    ];
    let claims = MORE.iter().map(|(name, threads, more)| {
        let (thesis, here) = (more / threads, series[2].of_workload(kernels, name));
        let what = format!("instructions that a thread of {name} executes more");
        let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:.3}"));
        Claim::new("Table 3.5", format!("{what}: {thesis:.3}"), text).number(Number::of(
            "instructions",
            key_of(name),
            what,
            Stated::exactly(thesis),
            here,
        ))
    });
    let drawn = chart(
        "instructions that a thread executes more",
        "instructions",
        kernels,
        &series[2..3],
        Average::Arithmetic,
        false,
    );
    Ok(Content {
        claims: claims.collect(),
        tables: vec![table(
            "instructions",
            "Thread instructions with relssp beside those without",
            kernels,
            &series,
            Average::Arithmetic,
        )],
        notes: vec![
            "Every thread of a kernel that may share executes one relssp. The order of instructions differs with the layout of the \
             variables, and some are other ones. "
                .to_owned()
                + NAMES,
        ],
        charts: vec![drawn],
    })
}

/// Instructions that the threads of a kernel execute more than in another run.
fn more(kernel: &Kernel, run: &Run, base: &Run) -> f64 {
    kernel.thread_instructions(run) as f64 - kernel.thread_instructions(base) as f64
}

//! How many blocks are resident: Tables 2.6 and 2.8, and Fig. 2.12.

use std::collections::BTreeMap;

use anyhow::Result;

use super::kernels::Kernels;
use super::release::points_8;
use super::{
    AMOUNTS, REGISTERS, SCRATCHPAD_BYTES, SM_REGISTERS, bars_absent, baseline, blocks_at, notes,
    register_sharing,
};
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::series::{Average, Series, chart, table};
use crate::figures::sweep::Results;

/// A benchmark of Tables 2.1 or 2.2: threads of a block, what a thread or block needs, and its blocks by the amount of sharing.
struct Benchmark {
    name: &'static str,
    threads: u64,
    needs: u64,
    blocks: [u64; AMOUNTS.len()],
}

const fn benchmark(name: &'static str, threads: u64, needs: u64, blocks: [u64; AMOUNTS.len()]) -> Benchmark {
    Benchmark { name, threads, needs, blocks }
}

/// Tables 2.1 and 2.6. Registers are allocated a warp at a time: b+tree's 508 threads are 16 warps.
const TABLE_2_6: [Benchmark; 8] = [
    benchmark("backprop", 256, 24, [5, 5, 5, 5, 6, 6]),
    benchmark("b+tree", 508, 24, [2, 2, 2, 3, 3, 3]),
    benchmark("hotspot", 256, 36, [3, 3, 3, 4, 4, 6]),
    benchmark("LIB", 192, 36, [4, 4, 5, 5, 6, 8]),
    benchmark("MUM", 256, 28, [4, 4, 4, 5, 5, 6]),
    benchmark("mri-q", 256, 24, [5, 5, 5, 5, 6, 6]),
    benchmark("sgemm", 128, 48, [5, 5, 5, 5, 6, 8]),
    benchmark("stencil", 512, 28, [2, 2, 2, 2, 2, 3]),
];

/// What the thesis calls workloads that have another name here.
const NAMES_THERE: &[(&str, &str)] = &[
    ("b+tree-508", "b+tree"),
    ("lib", "LIB"),
    ("mummer", "MUM"),
    ("sgemm-128", "sgemm"),
    ("stencil-512", "stencil"),
];

/// Tables 2.2 and 2.8.
const TABLE_2_8: [Benchmark; 7] = [
    benchmark("CONV1", 64, 2560, [6, 6, 6, 6, 7, 8]),
    benchmark("CONV2", 128, 5184, [3, 3, 3, 3, 3, 4]),
    benchmark("lavaMD", 128, 7200, [2, 2, 2, 2, 2, 4]),
    benchmark("NW1", 16, 2180, [7, 7, 7, 8, 8, 8]),
    benchmark("NW2", 16, 2180, [7, 7, 7, 8, 8, 8]),
    benchmark("SRAD1", 256, 6144, [2, 2, 2, 3, 4, 4]),
    benchmark("SRAD2", 256, 5120, [3, 3, 3, 3, 3, 5]),
];

/// Table 2.6.
pub fn table_2_6() -> Result<Content> {
    let at = |amount, of: &Benchmark| {
        let threads = of.threads.next_multiple_of(32);
        blocks_at(amount, threads, threads * of.needs, SM_REGISTERS).blocks()
    };
    Ok(equations("Table 2.6", &TABLE_2_6, at))
}

/// Table 2.8.
pub fn table_2_8() -> Result<Content> {
    let at = |amount, of: &Benchmark| blocks_at(amount, of.threads, of.needs, SCRATCHPAD_BYTES).blocks();
    Ok(equations("Table 2.8", &TABLE_2_8, at))
}

fn equations(source: &'static str, benchmarks: &[Benchmark], at: impl Fn(u64, &Benchmark) -> u64) -> Content {
    let mut table = Table::new("blocks", "Resident blocks of an SM, here and in the thesis where it differs")
        .column("benchmark", "benchmark");
    for amount in AMOUNTS {
        table = table.column(format!("at_{amount}"), format!("{amount} %"));
    }
    let mut claims = Vec::new();
    for benchmark in benchmarks {
        let here = AMOUNTS.map(|amount| at(amount, benchmark));
        let cells = here.iter().zip(benchmark.blocks).map(|(&here, thesis)| match here == thesis {
            true => Cell::Integer(here),
            false => Cell::from(format!("{here} (thesis {thesis})").as_str()),
        });
        table.row(std::iter::once(Cell::from(benchmark.name)).chain(cells).collect());
        let texts = |blocks: [u64; AMOUNTS.len()]| blocks.map(|count| count.to_string()).join(", ");
        let (what, name) = (format!("resident blocks of {} at 90 % sharing", benchmark.name), benchmark.name);
        let [.., thesis] = benchmark.blocks;
        let [.., most] = here;
        let said = format!("{name}, at 0, 10, 30, 50, 70 and 90 %: {}", texts(benchmark.blocks));
        claims.push(Claim::new(source, said, texts(here)).number(Number::of(
            "blocks",
            name,
            what,
            Stated::exactly(thesis as f64),
            Some(most as f64),
        )));
    }
    Content {
        claims,
        tables: vec![table],
        notes: vec![
            "By Equations 2.1 to 2.4 with no more sharing blocks than fit without (U ≥ 0), from the block sizes, registers \
             and bytes of Tables 2.1 and 2.2: arithmetic, no run."
                .to_owned(),
        ],
        charts: Vec::new(),
    }
}

/// Fig. 2.12(a).
pub fn figure_12(results: &Results) -> Result<Content> {
    let kernels = &Kernels::of(results);
    let of = |point| kernels.resident(point);
    let series = [
        Series::new("baseline", "without sharing", 0, of(&baseline())),
        Series::new("sharing", "register sharing", 0, of(&register_sharing())),
    ];
    let mut claims = Vec::new();
    for (name, _) in REGISTERS {
        let name_there = NAMES_THERE.iter().find(|(here, _)| here == name).map_or(*name, |(_, there)| there);
        let thesis = TABLE_2_6.iter().find(|benchmark| benchmark.name == name_there);
        let thesis = thesis.expect("the tables have the same benchmarks");
        let [without, .., with] = thesis.blocks;
        let here = series.each_ref().map(|one| one.of_workload(kernels, name));
        let text = here.map(|blocks| blocks.map_or_else(|| "none".to_owned(), |blocks| blocks.to_string()));
        let what = format!("resident blocks of {name} with register sharing");
        claims.push(
            Claim::new("§2.5.1.1", format!("{name}: {without} blocks, {with} with sharing"), text.join(", "))
                .number(Number::of("blocks", *name, what, Stated::exactly(with as f64), here[1])),
        );
    }
    Ok(Content {
        claims,
        tables: vec![table("blocks", "Resident blocks of an SM", results, &series, Average::Arithmetic)],
        notes: notes(),
        charts: vec![chart("resident blocks", "blocks", results, &series, Average::Arithmetic, false)],
    })
}

/// A kernel of the thesis that is here: its name there, workload and kernel, blocks without and with sharing.
type Known = (&'static str, &'static str, &'static str, [u64; 2]);

/// Those of §3.4.1.1.
const CHAPTER_3_BLOCKS: [Known; 10] = [
    ("backprop", "backprop-wide", "layer_forward", [1, 2]),
    ("DCT1", "dct8x8", "forward", [7, 14]),
    ("DCT2", "dct8x8", "inverse", [7, 14]),
    ("DCT3", "dct8x8", "forward_short", [7, 12]),
    ("DCT4", "dct8x8", "inverse_short", [7, 12]),
    ("heartwall", "heartwall-512", "track", [1, 2]),
    ("histogram", "histogram", "count", [1, 2]),
    ("MC1", "marching-cubes", "generate_1", [1, 2]),
    ("NQU", "nqueens", "solve", [1, 2]),
    ("NW1, NW2", "nw-32", "diagonal", [1, 2]),
];

/// FDTD3d, of which the text has the additional blocks alone: workload, kernel, blocks.
const ADDITIONAL_BLOCKS: (&str, &str, u64) = ("fdtd3d-128", "fdtd", 2);

/// What runs on the machine of chapter 3, as in [`points_8`].
const APPROACHES: [(&str, &str); 3] = [
    ("without", "without sharing"),
    ("sharing", "scratchpad sharing"),
    ("relssp", "scratchpad sharing, relssp"),
];

/// Resident blocks of each kernel, the most of its launches, by workload and kernel: one number an approach.
type Resident<'a> = BTreeMap<(&'a str, &'a str), [u64; 3]>;

/// Fig. 3.8: the kernels of all programs, and what the thesis says of those that it has.
pub fn figure_3_8(results: &Results) -> Result<Content> {
    let mut blocks = Resident::new();
    for (approach, point) in points_8().iter().enumerate() {
        for (workload, run) in results.workloads.iter().zip(results.of(point)) {
            for launch in &run.report.residency {
                let most = &mut blocks.entry((workload.name, &launch.kernel)).or_default()[approach];
                *most = launch.resident_blocks.max(*most);
            }
        }
    }
    let mut table = Table::new("blocks", "Resident blocks of an SM")
        .column("workload", "workload")
        .column("kernel", "kernel")
        .column("thesis", "in the thesis");
    for (key, heading) in APPROACHES {
        table = table.column(key, heading);
    }
    for ((workload, kernel), here) in &blocks {
        let named = CHAPTER_3_BLOCKS.iter().map(|(name, of, kernel, _)| (*name, *of, *kernel));
        let (of, launched, _) = ADDITIONAL_BLOCKS;
        let mut named = named.chain(std::iter::once(("FDTD3d", of, launched)));
        let name = named.find(|(_, of, name)| (of, name) == (workload, kernel)).map_or("", |(name, ..)| name);
        let words = [*workload, *kernel, name].map(Cell::from);
        table.row(words.into_iter().chain(here.map(Cell::Integer)).collect());
    }
    Ok(Content {
        claims: CHAPTER_3_BLOCKS
            .iter()
            .map(|known| claim_of_blocks(known, &blocks))
            .chain([claim_of_additional_blocks(&blocks), bars_absent("Fig. 3.8")])
            .collect(),
        tables: vec![table],
        notes: vec![
            "The most of a kernel's launches. What blocks of backprop, FDTD3d, heartwall and nw take in the thesis, its text does not \
             say: 8768, 3840, 12912 and 8452 bytes here."
                .to_owned(),
        ],
        charts: vec![blocks_of_the_thesis(&blocks)],
    })
}

/// What the thesis says of a kernel's blocks, beside those here.
fn claim_of_blocks((name, workload, kernel, [without, with]): &Known, blocks: &Resident<'_>) -> Claim {
    let here = blocks.get(&(*workload, *kernel));
    let stated = [*without, *with, *with];
    let text = |[without, with, relssp]: [u64; 3]| format!("{without}, {with}, {relssp}");
    let said = format!("{name}, blocks without sharing, with it, with relssp: {}", text(stated));
    let numbers =
        stated.into_iter().zip(APPROACHES).enumerate().map(|(approach, (stated, (key, heading)))| {
            let key = format!("{}_{key}_{workload}", name.to_lowercase().replace(", ", "_"));
            let here = here.map(|here| here[approach] as f64);
            let what = format!("resident blocks of {name}, {heading}");
            Number::of("blocks", key, what, Stated::exactly(stated as f64), here)
        });
    Claim::new("§3.4.1.1", said, here.map_or_else(|| "none".to_owned(), |here| text(*here))).numbers(numbers)
}

/// What the thesis says of FDTD3d's blocks, beside those here.
fn claim_of_additional_blocks(blocks: &Resident<'_>) -> Claim {
    let (workload, kernel, additional) = ADDITIONAL_BLOCKS;
    let here = blocks.get(&(workload, kernel)).map(|[without, with, _]| with.saturating_sub(*without));
    let what = "additional resident blocks of FDTD3d with scratchpad sharing";
    let text = here.map_or_else(|| "none".to_owned(), |here| here.to_string());
    let stated = Stated::exactly(additional as f64);
    let key = format!("additional_{workload}");
    let number = Number::of("blocks", key, what, stated, here.map(|here| here as f64));
    Claim::new("§3.4.1.1", format!("{what}: {additional}"), text).number(number)
}

/// Bars for each kernel of the thesis, one an approach.
fn blocks_of_the_thesis(blocks: &Resident<'_>) -> Chart {
    let series = APPROACHES.iter().enumerate().map(|(approach, (_, heading))| {
        let here = |(_, workload, kernel, _): &Known| {
            blocks.get(&(*workload, *kernel)).map(|blocks| blocks[approach] as f64)
        };
        let paper = CHAPTER_3_BLOCKS.iter().map(|(.., thesis)| Some(thesis[approach.min(1)] as f64));
        let values = CHAPTER_3_BLOCKS.iter().map(here).collect();
        Bars { paper: paper.collect(), ..Bars::new(*heading, values) }
    });
    Chart {
        title: "resident blocks".to_owned(),
        x_label: String::new(),
        y_label: "blocks".to_owned(),
        plot: Plot::Bars {
            groups: CHAPTER_3_BLOCKS.iter().map(|(name, ..)| (*name).to_owned()).collect(),
            series: series.collect(),
            stacked: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equations_give_what_the_thesis_has() {
        for content in [table_2_6(), table_2_8()] {
            for claim in content.unwrap().claims {
                assert!(claim.paper.ends_with(&claim.here), "{} {}", claim.paper, claim.here);
            }
        }
    }
}

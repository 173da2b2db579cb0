//! Area of a cache, a scratchpad and both beside the die (§III-A.4). No workload is run.

use anyhow::Result;
use warpfile_sim::config::Config;
use warpfile_sim::energy::grid::{Grid, Ports};
use warpfile_sim::energy::{EnergyModel, Technology};
use warpfile_sim::mechanisms::hybrid::STRUCTURES;

use super::{COMPARED, Compared, KILOBYTES, SCRATCHPAD_KILOBYTES, baseline};
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content, Table};
use crate::figures::variation::Variation;

/// SMs of a GTX 980 (Table I), and its die: GM204, mm², as published with the card.
const SMS: f64 = 16.0;
const DIE_MM2: f64 = 398.0;
/// The technology that has the paper's ports and arrays.
const PAPERS_TECHNOLOGY: &str = "bailey2018-28nm";
/// How much the designs increase the die, per cent, in the order of [`COMPARED`] (§III-A.4).
const PAPER: [f64; COMPARED.len()] = [5.7, 3.6, 4.7];
const UM2_PER_MM2: f64 = 1e6;
/// Ports of both (§III-A.3).
const PORTS: Ports = Ports { read: 6, write: 2, read_write: 0 };

/// Area that a design adds to an SM, mm²: values and tags.
fn added_mm2(model: &EnergyModel, config: &Config) -> Result<(f64, f64)> {
    let parts = model.parts(config)?;
    let area = |name: &str| -> f64 {
        let of_name = parts.iter().filter(|(structure, _)| structure.name == name);
        of_name.fold(0.0, |sum, (_, part)| sum + part.area_um2 / UM2_PER_MM2)
    };
    let [cache, scratchpad, tags] = STRUCTURES.map(area);
    Ok((cache + scratchpad, tags))
}

/// The areas.
pub fn area() -> Result<Content> {
    let here = EnergyModel::named(Technology::GTX980)?;
    let papers = EnergyModel::named(PAPERS_TECHNOLOGY)?;
    let of_die = |mm2: f64| 100.0 * SMS * mm2 / DIE_MM2;
    let mut table = Table::new("area", "Area that 12 KB an SM add")
        .column("design", "design")
        .real("values_mm2", "values, mm² an SM", 4)
        .real("tags_mm2", "tags, mm² an SM", 4)
        .real("die", "% of the die", 2)
        .real("memory_mm2", "values as memories of 6r2w, mm² an SM", 4)
        .real("memory_die", "with tags, % of the die", 2)
        .real("paper", "the paper, %", 1);
    let (mut claims, mut bars) = (Vec::new(), Vec::new());
    for (Compared { key, name, point, .. }, paper) in COMPARED.iter().zip(PAPER) {
        let config = Variation::default().config(&point())?;
        let (values, tags) = added_mm2(&here, &config)?;
        let (memory, memory_tags) = added_mm2(&papers, &config)?;
        let (flops, memories) = (of_die(values + tags), of_die(memory + memory_tags));
        table.row(vec![
            (*key).into(),
            values.into(),
            tags.into(),
            flops.into(),
            memory.into(),
            memories.into(),
            paper.into(),
        ]);
        let text = format!(
            "{flops:.2} % in flip-flops, {memories:.2} % as memories of six read and two write ports"
        );
        let what = format!("increase of the die by {name}");
        let number = Number::share(*key, &what, Stated::exactly(paper), Some(memories));
        claims.push(Claim::new("§III-A.4", format!("{what}: {paper} %"), text).number(number));
        bars.push((*key, flops, memories, paper));
    }
    let of = |value: fn(&(&str, f64, f64, f64)) -> f64| bars.iter().map(|bar| Some(value(bar))).collect();
    let drawn = Chart {
        title: "area of 12 KB an SM".to_owned(),
        x_label: String::new(),
        y_label: "% of the die".to_owned(),
        plot: Plot::Bars {
            groups: bars.iter().map(|bar| bar.0.to_owned()).collect(),
            series: vec![
                Bars::new("flip-flops", of(|bar| bar.1)),
                Bars { paper: of(|bar| bar.3), ..Bars::new("memories of 6r2w", of(|bar| bar.2)) },
            ],
            stacked: false,
        },
    };
    let organised = organisations(&papers)?;
    let file = of_all_arrays(&here, &Variation::default().config(&baseline())?)?;
    let notes = vec![format!(
        "The die is GM204's, {DIE_MM2} mm², with {SMS} SMs, whose register files are {:.1} % of it here. Flip-flops: cells of \
         technology {}; memories: CACTI's, in slices of 128 bits, of technology {PAPERS_TECHNOLOGY}. Logic of neither is \
         counted, wires between arrays and lanes are not, either.",
        of_die(file),
        Technology::GTX980
    )];
    Ok(Content { claims, tables: vec![table, organised], notes, charts: vec![drawn] })
}

/// Bits of a slice of a warp-wide register: a lane's, four lanes', eight lanes', all.
const SLICE_BITS: [u32; 4] = [32, 128, 256, REGISTER_BITS];
const REGISTER_BITS: u32 = 1024;
/// Schedulers of an SM (Table I).
const SCHEDULERS: u32 = 4;

/// The same 12 KB as other memories: with its own part for each scheduler as the paper says, or one for the SM, in slices of so
/// many bits. Tags are left out.
fn organisations(model: &EnergyModel) -> Result<Table> {
    let grid = Grid::at(model.technology().node_nm)?;
    let kilobytes = [KILOBYTES, SCRATCHPAD_KILOBYTES, KILOBYTES - SCRATCHPAD_KILOBYTES];
    let [all, scratchpad, cache] = kilobytes.map(|kilobytes| kilobytes as u32 * 1024 * 8 / REGISTER_BITS);
    let mut table =
        Table::new("organisations", "Values as memories of 6r2w in other organisations, % of the die")
            .column("memories", "memories")
            .column("slice_bits", "bits of a slice")
            .real("alone", "cache or scratchpad alone", 2)
            .real("hybrid", "hybrid", 2);
    for (name, memories) in [("one a scheduler", SCHEDULERS), ("one an SM", 1)] {
        for bits in SLICE_BITS {
            let of_die = |lines: u32| -> Result<f64> {
                let slice = grid.array(lines / memories, bits, PORTS)?;
                let slices = f64::from(memories * REGISTER_BITS / bits);
                Ok(100.0 * SMS * slices * slice.area_um2 / UM2_PER_MM2 / DIE_MM2)
            };
            let hybrid = of_die(scratchpad)? + of_die(cache)?;
            table.row(vec![name.into(), u64::from(bits).into(), of_die(all)?.into(), hybrid.into()]);
        }
    }
    Ok(table)
}

/// Area of all arrays of a design's registers in an SM, mm².
fn of_all_arrays(model: &EnergyModel, config: &Config) -> Result<f64> {
    Ok(model.parts(config)?.iter().map(|(_, part)| part.area_um2 / UM2_PER_MM2).sum())
}

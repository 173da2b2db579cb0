//! Figs. 11 and 12: area, leakage and energy per access of RegLess's structures against their capacity, from the arrays
//! of the CACTI grid. No workload is run.

mod quantity;

use anyhow::Result;
use quantity::{AREA, LEAKAGE};
use warpfile_sim::energy::grid::Ports;
use warpfile_sim::energy::{EnergyModel, Technology};
use warpfile_sim::mechanisms::regless::structures::{
    AccessRate, RegisterStructure, SHARDS, register_file, staging_unit,
};

use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};

/// Registers of the baseline's file (Fig. 11).
const BASELINE_LINES: u32 = 2048;
/// Capacities of Figs. 11 and 12.
const CAPACITIES: [u32; 7] = [128, 192, 256, 384, 512, 1024, 2048];
/// The paper's design point (§6.2).
const DESIGN_POINT: u32 = 512;
/// Compressed lines a shard, by the two ways to read Table 1: 48 and 16 an SM.
const COMPRESSOR_LINES: [u32; 2] = [12, 4];
/// "Most instructions require 2 register reads and 1 write" (§5.2).
const READS: f64 = 2.0;
const WRITES: f64 = 1.0;
/// Clock of the paper's power figures, GHz (§6.1).
const CLOCK_GHZ: f64 = 1.0;
/// Warp instructions an SM and cycle for which power is shown.
const RATES: [f64; 5] = [0.0, 0.5, 1.0, 2.0, 4.0];

/// What is compared.
struct Structures {
    /// The register file that everything is normalised to: a read and a write port a bank, as its circuit has them.
    baseline: RegisterStructure,
    /// The same with one port a bank, as RegLess's banks have.
    single: RegisterStructure,
    /// RegLess by capacity.
    staging: Vec<RegisterStructure>,
    /// The same with the fewer compressed lines.
    fewer_compressed: Vec<RegisterStructure>,
    /// RegLess with the fewest lines, with those of the design point, and with the most.
    smallest: RegisterStructure,
    design: RegisterStructure,
    largest: RegisterStructure,
}

impl Structures {
    fn new() -> Result<Structures> {
        let model = EnergyModel::named(Technology::GTX980)?;
        let prices = model.prices();
        let by_capacity = |compressor_lines| {
            let of = |&lines: &u32| staging_unit(prices, lines, compressor_lines);
            CAPACITIES.iter().map(of).collect::<Result<Vec<_>, _>>()
        };
        let staging = |lines| staging_unit(prices, lines, COMPRESSOR_LINES[0]);
        Ok(Structures {
            baseline: register_file(prices, BASELINE_LINES, Ports::DUAL)?,
            single: register_file(prices, BASELINE_LINES, Ports::SINGLE)?,
            staging: by_capacity(COMPRESSOR_LINES[0])?,
            fewer_compressed: by_capacity(COMPRESSOR_LINES[1])?,
            smallest: staging(CAPACITIES[0])?,
            design: staging(DESIGN_POINT)?,
            largest: staging(CAPACITIES[CAPACITIES.len() - 1])?,
        })
    }

    /// Every structure with its name: RegLess by capacity, then the register files.
    fn named(&self) -> impl Iterator<Item = (&'static str, &RegisterStructure)> {
        let staging = self.staging.iter().map(|structure| ("RegLess", structure));
        staging.chain([("register file, 1r1w", &self.baseline), ("register file, 1rw", &self.single)])
    }
}

/// Bars over the capacities of RegLess and the baseline.
fn by_capacity(title: &str, y_label: &str, series: Vec<Bars>, stacked: bool) -> Chart {
    let groups = CAPACITIES.iter().map(u32::to_string).chain(["register file".to_owned()]).collect();
    Chart {
        title: title.to_owned(),
        x_label: "lines an SM".to_owned(),
        y_label: y_label.to_owned(),
        plot: Plot::Bars { groups, series, stacked },
    }
}

/// Fig. 11.
pub fn figure_11() -> Result<Content> {
    let structures = Structures::new()?;
    let Structures { baseline, smallest, design, largest, .. } = &structures;
    let normalised = |structure| AREA.normalised(structure, baseline);
    let registers = |structure: &RegisterStructure| (AREA.of)(&structure.parts[0]) / AREA.sum(baseline);
    let claims = vec![
        claim(
            "abstract",
            "the staging unit is 25 % of the register file's size",
            format!(
                "512 of 2048 lines, and {:.1} % of the area ({:.1} % without tags and compressor)",
                100.0 * normalised(design),
                100.0 * registers(design)
            ),
        )
        .number(Number::share(
            "area",
            "area of 512 lines, of the register file's",
            Stated::exactly(25.0),
            Some(100.0 * normalised(design)),
        )),
        claim(
            "§6.2",
            "logic and storage area scale with the capacity",
            format!(
                "storage: {:.3} with 128 lines, {:.3} with 512, {:.3} with 2048",
                normalised(smallest),
                normalised(design),
                normalised(largest)
            ),
        ),
        claim(
            "§6.2",
            "more logic is needed for tags and decoding",
            format!(
                "no decoding here; tags, copies and compressor add {:.3} (512 lines) and {:.3} (2048 lines)",
                normalised(design) - registers(design),
                normalised(largest) - registers(largest)
            ),
        ),
    ];
    Ok(Content {
        claims,
        tables: vec![
            AREA.table(&structures, "area_by_capacity", "Area of an SM's register structures"),
            arrays(design),
        ],
        notes: notes(),
        charts: vec![AREA.chart(&structures, "area")],
    })
}

/// Fig. 12, as far as it needs no run.
pub fn figure_12() -> Result<Content> {
    let structures = Structures::new()?;
    let Structures { baseline, smallest, design, largest, .. } = &structures;
    let registers = &design.parts[0];
    let change = |value: f64, from: f64| 100.0 * (value / from - 1.0);
    let normalised = |structure| LEAKAGE.normalised(structure, baseline);
    let claims = vec![
        claim(
            "§6.2",
            "average power scales with the capacity",
            format!(
                "leakage from {:.3} (128 lines) to {:.3} (2048 lines), a source from {:.3} to {:.3}, a result from {:.3} \
                 to {:.3}",
                normalised(smallest),
                normalised(largest),
                smallest.read_pj / baseline.read_pj,
                largest.read_pj / baseline.read_pj,
                smallest.write_pj / baseline.write_pj,
                largest.write_pj / baseline.write_pj
            ),
        ),
        claim(
            "§6.2",
            "slightly more energy and power than the register file scaled to the capacity",
            format!(
                "512 lines, beside their registers alone: leakage {:+.1} %, a source {:+.1} %, a result {:+.1} %",
                change(LEAKAGE.sum(design), (LEAKAGE.of)(registers)),
                change(design.read_pj, registers.read_pj),
                change(design.write_pj, registers.write_pj)
            ),
        ),
        claim(
            "§6.3",
            "512 lines reduce the energy of the register structures by 75.3 %",
            format!(
                "leakage {:+.1} %, a source {:+.1} %, a result {:+.1} %; how often each happens is not in it",
                change(LEAKAGE.sum(design), LEAKAGE.sum(baseline)),
                change(design.read_pj, baseline.read_pj),
                change(design.write_pj, baseline.write_pj)
            ),
        ),
    ];
    let mut notes = notes();
    notes.push(format!(
        "Power is leakage and {READS:.0} sources and {WRITES:.0} result an instruction (§5.2) at {CLOCK_GHZ:.0} GHz (§6.1), for a \
         given number of warp instructions an SM and cycle; the same number for both designs. Preloads, evictions and \
         the compressor's accesses are not in it: their rates have to be measured."
    ));
    Ok(Content {
        claims,
        tables: vec![
            LEAKAGE.table(
                &structures,
                "leakage_by_capacity",
                "Leakage of an SM's register structures, 350 K",
            ),
            per_access(&structures),
            power(&structures),
            arrays(design),
        ],
        notes,
        charts: vec![
            LEAKAGE.chart(&structures, "leakage"),
            per_access_chart(&structures),
            power_chart(&structures),
        ],
    })
}

fn claim(source: &'static str, paper: &str, here: String) -> Claim {
    Claim::new(source, paper, here)
}

/// Energy of sources and results.
fn per_access(structures: &Structures) -> Table {
    let mut table = Table::new(
        "energy_per_access",
        "Energy of a source and of a result of 1024 bits, by what they touch",
    )
    .column("structure", "structure")
    .column("lines", "lines an SM")
    .real("tag_search_pj", "tag search, pJ", 2)
    .real("register_read_pj", "read, pJ", 2)
    .real("source_pj", "source, pJ", 2)
    .real("source_normalised", "normalised", 3)
    .real("tag_write_pj", "tag write, pJ", 2)
    .real("register_write_pj", "write, pJ", 2)
    .real("result_pj", "result, pJ", 2)
    .real("result_normalised", "normalised", 3);
    for (name, structure) in structures.named() {
        let registers = &structure.parts[0];
        let tags = structure.parts.iter().find(|part| part.name == "tags");
        table.row(vec![
            name.into(),
            u64::from(structure.lines).into(),
            tags.and_then(|tags| tags.search_pj).into(),
            registers.read_pj.into(),
            structure.read_pj.into(),
            (structure.read_pj / structures.baseline.read_pj).into(),
            tags.map(|tags| tags.write_pj).into(),
            registers.write_pj.into(),
            structure.write_pj.into(),
            (structure.write_pj / structures.baseline.write_pj).into(),
        ]);
    }
    table
}

fn per_access_chart(structures: &Structures) -> Chart {
    let baseline = &structures.baseline;
    let all = || structures.staging.iter().chain([baseline]);
    let reads = all().map(|structure| Some(structure.read_pj / baseline.read_pj));
    let writes = all().map(|structure| Some(structure.write_pj / baseline.write_pj));
    let series = vec![Bars::new("source", reads.collect()), Bars::new("result", writes.collect())];
    by_capacity("energy per access", "relative to the register file", series, false)
}

/// Power at so many warp instructions a cycle, relative to the baseline's at as many.
fn power_normalised(structure: &RegisterStructure, baseline: &RegisterStructure, instructions: f64) -> f64 {
    let rate = AccessRate {
        reads_per_cycle: READS * instructions,
        writes_per_cycle: WRITES * instructions,
        clock_ghz: CLOCK_GHZ,
    };
    structure.power_mw(rate) / baseline.power_mw(rate)
}

fn power(structures: &Structures) -> Table {
    let title = "Power relative to the register file (1r1w) at as many warp instructions an SM and cycle";
    let mut table =
        Table::new("power_normalised", title).column("structure", "structure").column("lines", "lines an SM");
    for rate in RATES {
        table = table.real(format!("at_{}", rate.to_string().replace('.', "_")), rate.to_string(), 3);
    }
    for (name, structure) in structures.named() {
        let mut row: Vec<Cell> = vec![name.into(), u64::from(structure.lines).into()];
        let at = |rate: &f64| Cell::from(power_normalised(structure, &structures.baseline, *rate));
        row.extend(RATES.iter().map(at));
        table.row(row);
    }
    table
}

fn power_chart(structures: &Structures) -> Chart {
    let baseline = &structures.baseline;
    let series = RATES.iter().map(|&rate| {
        let at = |structure| Some(power_normalised(structure, baseline, rate));
        Bars::new(rate.to_string(), structures.staging.iter().chain([baseline]).map(at).collect())
    });
    let title = "power at so many warp instructions a cycle";
    by_capacity(title, "relative to the register file", series.collect(), false)
}

/// The arrays that the design point consists of.
fn arrays(design: &RegisterStructure) -> Table {
    let mut table = Table::new("arrays", format!("Arrays of an SM at {} lines", design.lines))
        .column("part", "part")
        .column("arrays", "arrays")
        .column("entries", "entries")
        .column("slices", "slices")
        .column("bits", "bits")
        .column("ports", "ports")
        .column("origin", "from")
        .real("area_um2", "all, µm²", 0)
        .real("leakage_mw", "all, mW", 2)
        .real("read_pj", "read, pJ", 2)
        .real("write_pj", "write, pJ", 2)
        .real("search_pj", "search, pJ", 2);
    for part in &design.parts {
        table.row(vec![
            part.name.into(),
            u64::from(part.arrays).into(),
            u64::from(part.entries).into(),
            u64::from(part.slices).into(),
            u64::from(part.bits).into(),
            part.ports.as_str().into(),
            part.source.as_str().into(),
            part.area_um2.into(),
            part.leakage_mw.into(),
            part.read_pj.into(),
            part.write_pj.into(),
            part.search_pj.into(),
        ]);
    }
    table
}

fn notes() -> Vec<String> {
    vec![format!(
        "{SHARDS} shards of 8 banks, 128-bit slices, at 28 nm: registers are memories of CACTI, all else flip-flops, both scaled \
         to one process (decision 103); no wires, no control. Normalised to a register file of {BASELINE_LINES} lines in as \
         many banks with a read and a write port each; RegLess's have one port. Compressed lines: {} a shard, or {}. \
         Memories of fewer than 32 rows are extrapolated, of fewer than 8 fitted: ratios there are less certain than \
         between the others.",
        COMPRESSOR_LINES[0], COMPRESSOR_LINES[1]
    )]
}

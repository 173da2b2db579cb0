//! Figs. 14 and 15: energy of the registers and of the GPU beside the full register file's.

use anyhow::{Context, Result};
use warpfile_sim::energy::grid::Ports;
use warpfile_sim::energy::{Arrays, EnergyModel, GpuEnergy, RegisterEnergy, technology_names};

use super::rodinia::{
    AVERAGES, Average, Series, baseline, chart, ratio, regless, regless_without_compressor, rfh, rfv, table,
    two_level,
};
use crate::figures::Cause;
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::sweep::{Point, Results, Run};

/// A design beside the baseline.
struct Design {
    key: &'static str,
    heading: &'static str,
    point: fn() -> Point,
    /// What it saves of the registers' energy and of the GPU's, per cent (§6.3); none if the paper does not say.
    paper: Option<(f64, f64)>,
}

/// The designs of the columns, RegLess first.
const DESIGNS: &[Design] = &[
    Design { key: "regless", heading: "RegLess", point: regless, paper: Some((75.3, 11.0)) },
    Design {
        key: "no_compressor",
        heading: "RegLess without compressor",
        point: regless_without_compressor,
        paper: None,
    },
    Design { key: "rfv", heading: "RFV", point: rfv, paper: Some((45.2, 3.7)) },
    Design { key: "rfh", heading: "RFH", point: rfh, paper: Some((62.0, 2.9)) },
    Design { key: "two_level", heading: "register file, two-level", point: two_level, paper: None },
];

/// What the paper's bound saves, per cent (§6.3).
const NO_REGISTER_FILE: f64 = 16.7;
/// Ports of RFH's smaller levels if they were memories: for two instructions a cycle (decision 37).
const UPPER_PORTS: Ports = Ports { read: 6, write: 2, read_write: 0 };
/// What a reader has to know of tables by technology.
fn same_runs(model: &EnergyModel) -> String {
    let placed_by = &model.technology().name;
    format!("By technology: the same runs. RFH's values are placed by the energies of {placed_by}.")
}

/// What a reader has to know of registers' energies.
fn how_registers_are_charged(model: &EnergyModel) -> String {
    let counted = "accesses as counted in the runs";
    if model.technology().charges_capacity() {
        return format!(
            "Accesses alone, in proportion to the capacity of what they go to (decision 171): {counted}. Ports make no \
             difference then."
        );
    }
    format!(
        "Arrays, wires, clocks and leakage at 28 nm (decision 103): {counted}. Banks of the register file read and write in one \
         cycle, those of RegLess do either; RFH's smaller levels are flip-flops."
    )
}

/// The run in which energies are counted as the paper seems to count them.
const AS_COUNTED: &str = "--set energy.technology=kloosterman2017-28nm";

/// Why numbers of Fig. 14 differ.
pub const CAUSES_14: &[Cause] = &[Cause {
    of: &["regless", "rfv", "rfh"],
    why: "What is counted, and what an access costs. The paper's register structures were synthesised, and their power goes with \
          their capacity (§6.2); here a bank of 16 rows takes 0.71 of the energy of one of 64 with two ports, wires grow with the \
          root of the area, and a quarter to four fifths of the baseline's energy is leakage, which RFH cannot save: its 62 % leave \
          little room for it, which is where the reading is taken from. With accesses alone, in proportion to the capacity of \
          what they go to (decision 171):",
    run: AS_COUNTED,
}];

/// Why numbers of Fig. 15 differ.
pub const CAUSES_15: &[Cause] = &[Cause {
    of: &["regless", "rfv", "rfh", "no_register_file"],
    why: "The same, and what the registers are of the whole: 16.7 % of the baseline in the paper, 4.7 % here, where a card takes \
          165 W. What RFV and RFH save more than in the paper is time that they do not lose (decision 171). With 16.7 %, which \
          is given then, and accesses counted as in the paper:",
    run: AS_COUNTED,
}];

/// The baseline and the designs.
pub fn points_14() -> Vec<Point> {
    std::iter::once(baseline()).chain(DESIGNS.iter().map(|design| (design.point)())).collect()
}

/// The technology of the runs.
pub fn model(results: &Results) -> Result<EnergyModel> {
    results.energy_model(&baseline())
}

/// Energy of the registers in the runs of a point.
fn registers(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<RegisterEnergy>> {
    results.of(point).iter().map(|run| Ok(model.registers(run.measured())?)).collect()
}

/// Energy of the GPU in the runs of a point.
pub fn gpu(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<GpuEnergy>> {
    let pairs = results.of(&baseline()).iter().zip(results.of(point));
    pairs.map(|(base, run)| Ok(model.gpu(base.measured(), run.measured())?)).collect()
}

/// Energies of the GPU relative to the baseline's.
pub fn gpu_relative(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<Option<f64>>> {
    let (base, design) = (gpu(model, results, &baseline())?, gpu(model, results, point)?);
    Ok(design.iter().zip(&base).map(|(design, base)| ratio(design.total_pj(), base.total_pj())).collect())
}

/// Energies of the registers relative to the baseline's.
pub fn registers_relative(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<Option<f64>>> {
    let (base, design) = (registers(model, results, &baseline())?, registers(model, results, point)?);
    Ok(design.iter().zip(&base).map(|(design, base)| ratio(design.total_pj(), base.total_pj())).collect())
}

/// A saving as it is printed: `-12.3 %`.
fn saving(relative: Option<f64>) -> String {
    relative.map_or_else(|| "no value".to_owned(), |relative| format!("{:.1} %", 100.0 * (1.0 - relative)))
}

/// What the paper says of each design, and what comes out here.
fn savings(results: &Results, series: &[Series], what: &str, paper: fn((f64, f64)) -> f64) -> Claim {
    let here = series
        .iter()
        .map(|one| format!("{} {}", one.heading(), saving(one.average(results, Average::Geometric))));
    let theirs =
        DESIGNS.iter().filter_map(|design| Some(format!("{} {} %", design.heading, paper(design.paper?))));
    let join = |parts: Vec<String>| parts.join(", ");
    let numbers = DESIGNS.iter().zip(series).filter_map(|(design, one)| {
        let saved = one.average(results, Average::Geometric).map(|relative| 100.0 * (1.0 - relative));
        let what = format!("{what} saved by {}", design.heading);
        Some(Number::change(design.key, what, Stated::exactly(paper(design.paper?)), saved))
    });
    Claim::new("§6.3", format!("{what} saved: {}", join(theirs.collect())), join(here.collect()))
        .numbers(numbers)
}

/// Fig. 14.
pub fn figure_14(results: &Results) -> Result<Content> {
    let model = model(results)?;
    let relative = |design: &Design| {
        let values = registers_relative(&model, results, &(design.point)())?;
        let paper = design.paper.map(|(registers, _)| 1.0 - registers / 100.0);
        Ok(Series::new(design.key, design.heading, 3, values).with_paper(paper))
    };
    let mut series: Vec<Series> = DESIGNS.iter().map(relative).collect::<Result<_>>()?;
    let claim = savings(results, &series, "energy of the register structures", |(registers, _)| registers);
    let drawn = chart(
        "energy of the registers",
        "relative to the baseline",
        results,
        &series,
        Average::Geometric,
        false,
    );
    let single = model.clone().with_ports(Arrays::MainRegisterFile, Ports::SINGLE);
    let values = registers_relative(&single, results, &regless())?;
    series.push(Series::new("regless_beside_1rw", "RegLess, beside a 1rw file", 3, values));
    let beside_single = saving(series.last().context("just pushed")?.average(results, Average::Geometric));
    let memories = ["last result files", "operand register files"]
        .into_iter()
        .fold(model.clone(), |model, level| model.with_ports(Arrays::Named(level), UPPER_PORTS));
    let values = registers_relative(&memories, results, &rfh())?;
    series.push(Series::new("rfh_6r2w", "RFH, levels of 6r2w memories", 3, values));
    let of_memories = saving(series.last().context("just pushed")?.average(results, Average::Geometric));
    Ok(Content {
        claims: vec![
            claim,
            Claim::new(
                "§6.1",
                "the baseline's banks: not described",
                format!("beside banks with one port RegLess saves {beside_single}"),
            ),
            Claim::new(
                "§6.1",
                "RFH: the register file and added component energy",
                format!(
                    "{of_memories} saved if what is added were memories with six ports that read and two that write"
                ),
            ),
        ],
        tables: vec![
            table(
                "register_energy",
                "Energy of the registers, relative to the baseline",
                results,
                &series,
                Average::Geometric,
            ),
            parts(&model, results)?,
            by_technology(
                results,
                "register_energy_by_technology",
                "Energy of the registers by technology",
                registers_relative,
            )?,
        ],
        notes: vec![how_registers_are_charged(&model), same_runs(&model), AVERAGES.to_owned()],
        charts: vec![drawn],
    })
}

/// Energies of a point's runs relative to the baseline's, in the order of the workloads.
type RelativeEnergy = fn(&EnergyModel, &Results, &Point) -> Result<Vec<Option<f64>>>;

/// The same quantity of every design in every technology, geometric means over the workloads.
fn by_technology(
    results: &Results,
    key: &'static str,
    title: &str,
    relative: RelativeEnergy,
) -> Result<Table> {
    let mut table = Table::new(key, format!("{title}, geometric means")).column("technology", "technology");
    for design in DESIGNS {
        table = table.real(design.key, design.heading, 3);
    }
    for name in technology_names() {
        let model = EnergyModel::named(name)?;
        let mut row = vec![Cell::from(name)];
        for design in DESIGNS {
            let values = relative(&model, results, &(design.point)())?;
            let series = Series::new(design.key, design.heading, 3, values);
            row.push(series.average(results, Average::Geometric).into());
        }
        table.row(row);
    }
    Ok(table)
}

/// Where the energy goes, and what comes of it if only one of both were spent.
fn parts(model: &EnergyModel, results: &Results) -> Result<Table> {
    let base = registers(model, results, &baseline())?;
    let staged = registers(model, results, &regless())?;
    let per_cycle = |energies: &[RegisterEnergy], point: &Point, part: fn(&RegisterEnergy) -> f64| {
        let runs = energies.iter().zip(results.of(point));
        runs.map(|(energy, run)| ratio(part(energy), run.report.sm_cycles() as f64)).collect()
    };
    let of = |part: fn(&RegisterEnergy) -> f64| {
        staged.iter().zip(&base).map(|(staged, base)| ratio(part(staged), part(base))).collect()
    };
    let access = |energy: &RegisterEnergy| energy.access_pj;
    let wires = |energy: &RegisterEnergy| energy.wires_pj;
    let clock = |energy: &RegisterEnergy| energy.clock_pj;
    let leakage = |energy: &RegisterEnergy| energy.leakage_pj;
    let series = [
        Series::new(
            "baseline_access",
            "baseline: accesses, pJ a cycle",
            1,
            per_cycle(&base, &baseline(), access),
        ),
        Series::new("baseline_wires", "wires", 1, per_cycle(&base, &baseline(), wires)),
        Series::new("baseline_clock", "clock", 1, per_cycle(&base, &baseline(), clock)),
        Series::new("baseline_leakage", "leakage", 1, per_cycle(&base, &baseline(), leakage)),
        Series::new(
            "regless_access",
            "RegLess: accesses, pJ a cycle",
            1,
            per_cycle(&staged, &regless(), access),
        ),
        Series::new("regless_wires", "wires", 1, per_cycle(&staged, &regless(), wires)),
        Series::new("regless_clock", "clock", 1, per_cycle(&staged, &regless(), clock)),
        Series::new("regless_leakage", "leakage", 1, per_cycle(&staged, &regless(), leakage)),
        Series::new("access_relative", "accesses, relative", 3, of(access)),
        Series::new("wires_relative", "wires, relative", 3, of(wires)),
        Series::new("leakage_relative", "leakage, relative", 3, of(leakage)),
    ];
    Ok(table(
        "register_energy_parts",
        "Accesses, wires, clocks and leakage",
        results,
        &series,
        Average::Arithmetic,
    ))
}

/// Fig. 15.
pub fn figure_15(results: &Results) -> Result<Content> {
    let model = model(results)?;
    let relative = |design: &Design| {
        let values = gpu_relative(&model, results, &(design.point)())?;
        let paper = design.paper.map(|(_, gpu)| 1.0 - gpu / 100.0);
        Ok(Series::new(design.key, design.heading, 3, values).with_paper(paper))
    };
    let mut series: Vec<Series> = DESIGNS.iter().map(relative).collect::<Result<_>>()?;
    let claim = savings(results, &series, "energy of the GPU", |(_, gpu)| gpu);
    series.push(
        Series::new("no_register_file", "no register file", 3, bound(&model, results)?)
            .with_paper(Some(1.0 - NO_REGISTER_FILE / 100.0)),
    );
    let drawn =
        chart("energy of the GPU", "relative to the baseline", results, &series, Average::Geometric, false);
    let bound = series.last().and_then(|series| series.average(results, Average::Geometric));
    let staged = series[0].average(results, Average::Geometric);
    let reached = staged.zip(bound).and_then(|(staged, bound)| ratio(100.0 * (1.0 - staged), 1.0 - bound));
    Ok(Content {
        claims: vec![
            claim,
            Claim::new(
                "§6.3",
                format!("without register file {NO_REGISTER_FILE} % would be saved; RegLess approaches it"),
                format!(
                    "{}; RegLess reaches {} of it",
                    saving(bound),
                    reached.map_or_else(|| "no value".to_owned(), |reached| format!("{reached:.0} %"))
                ),
            )
            .number(Number::change(
                "no_register_file",
                "energy of the GPU saved without a register file",
                Stated::exactly(NO_REGISTER_FILE),
                bound.map(|relative| 100.0 * (1.0 - relative)),
            )),
        ],
        tables: vec![
            table("gpu_energy", "Energy of the GPU, relative to the baseline", results, &series, Average::Geometric),
            gpu_parts(&model, results)?,
            by_technology(results, "gpu_energy_by_technology", "Energy of the GPU by technology", gpu_relative)?,
        ],
        notes: vec![
            "gtx980-28nm: a card of 165 W under full load, a third of it static; data and register lines in DRAM at 16 nJ a line \
             (decision 105). kloosterman2017-28nm: accesses alone, and the baseline's registers are 16.7 % of its energy in each \
             workload (decision 171)."
                .to_owned(),
            same_runs(&model),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn],
    })
}

/// The rest of the baseline beside the whole.
fn bound(model: &EnergyModel, results: &Results) -> Result<Vec<Option<f64>>> {
    let of_one = |(run, energy): (&Run, GpuEnergy)| {
        Ok(ratio(model.rest_of_baseline_pj(run.measured())?, energy.total_pj()))
    };
    results.of(&baseline()).iter().zip(gpu(model, results, &baseline())?).map(of_one).collect()
}

/// What RegLess's GPU spends, of the baseline's energy.
fn gpu_parts(model: &EnergyModel, results: &Results) -> Result<Table> {
    let (base, staged) = (gpu(model, results, &baseline())?, gpu(model, results, &regless())?);
    let of_baseline = base.iter().map(|base| ratio(100.0 * base.registers_pj, base.total_pj())).collect();
    let percent = |key: &str, heading: &str, decimals: usize, part: fn(&GpuEnergy) -> f64| {
        let pairs = staged.iter().zip(&base);
        let values = pairs.map(|(staged, base)| ratio(100.0 * part(staged), base.total_pj()));
        Series::new(key, heading, decimals, values.collect())
    };
    let series = [
        percent("registers_percent", "registers, %", 2, |energy| energy.registers_pj),
        percent("lines_percent", "register lines in memory, %", 3, |energy| energy.lines_pj),
        percent("metadata_percent", "metadata, %", 2, |energy| energy.metadata_pj),
        percent("data_percent", "data in L2 and DRAM, %", 2, |energy| energy.data_pj),
        percent("rest_percent", "rest, %", 2, |energy| energy.rest_pj),
        Series::new("baseline_registers_percent", "baseline: registers, %", 2, of_baseline),
    ];
    Ok(table(
        "gpu_energy_parts",
        "What RegLess's GPU spends, of the baseline's energy",
        results,
        &series,
        Average::Arithmetic,
    ))
}

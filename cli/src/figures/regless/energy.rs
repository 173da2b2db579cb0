//! Figs. 14 and 15: energy of the registers and of the GPU beside the full register file's.

use anyhow::{Context, Result};
use warpfile_sim::energy::gpu::{Arrays, GpuEnergy, GpuModel, MeasuredRun, RegisterEnergy};
use warpfile_sim::energy::grid::Ports;

use super::rodinia::{
    AVERAGES, Average, Series, baseline, chart, ratio, regless, regless_without_compressor, rfh, rfv, table,
    two_level,
};
use crate::figures::report::{Claim, Content, Table};
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
/// Shares of the rest that are spent by time, beside the one that is assumed.
const OTHER_SHARES: [f64; 2] = [0.0, 1.0];

/// The baseline and the designs.
pub fn points_14() -> Vec<Point> {
    std::iter::once(baseline()).chain(DESIGNS.iter().map(|design| (design.point)())).collect()
}

fn measured(run: &Run) -> MeasuredRun<'_> {
    MeasuredRun { config: &run.config, report: &run.report }
}

/// Energy of the registers in the runs of a point.
fn registers(model: &GpuModel, results: &Results, point: &Point) -> Result<Vec<RegisterEnergy>> {
    results.of(point).iter().map(|run| Ok(model.registers(measured(run))?)).collect()
}

/// Energy of the GPU in the runs of a point.
pub fn gpu(model: &GpuModel, results: &Results, point: &Point) -> Result<Vec<GpuEnergy>> {
    let pairs = results.of(&baseline()).iter().zip(results.of(point));
    pairs.map(|(base, run)| Ok(model.gpu(measured(base), measured(run))?)).collect()
}

/// Energies of the GPU relative to the baseline's.
pub fn gpu_relative(model: &GpuModel, results: &Results, point: &Point) -> Result<Vec<Option<f64>>> {
    let (base, design) = (gpu(model, results, &baseline())?, gpu(model, results, point)?);
    Ok(design.iter().zip(&base).map(|(design, base)| ratio(design.total_pj(), base.total_pj())).collect())
}

/// Energies of the registers relative to the baseline's.
pub fn registers_relative(model: &GpuModel, results: &Results, point: &Point) -> Result<Vec<Option<f64>>> {
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
    Claim::new("§6.3", format!("{what} saved: {}", join(theirs.collect())), join(here.collect()))
}

/// Fig. 14.
pub fn figure_14(results: &Results) -> Result<Content> {
    let model = GpuModel::gtx980()?;
    let relative = |design: &Design| {
        let values = registers_relative(&model, results, &(design.point)())?;
        Ok(Series::new(design.key, design.heading, 3, values))
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
    let dual = GpuModel::gtx980()?.with_ports(Arrays::MainRegisterFile, Ports::DUAL);
    series.push(Series::new(
        "regless_beside_1r1w",
        "RegLess, beside a 1r1w file",
        3,
        registers_relative(&dual, results, &regless())?,
    ));
    let beside_dual = saving(series.last().context("just pushed")?.average(results, Average::Geometric));
    let single_ports = ["last result files", "operand register files"]
        .into_iter()
        .fold(model.clone(), |model, level| model.with_ports(Arrays::Named(level), Ports::SINGLE));
    series.push(Series::new(
        "rfh_1rw",
        "RFH, levels of one port",
        3,
        registers_relative(&single_ports, results, &rfh())?,
    ));
    let with_single_ports =
        saving(series.last().context("just pushed")?.average(results, Average::Geometric));
    Ok(Content {
        claims: vec![
            claim,
            Claim::new(
                "§6.1",
                "the baseline's banks: not described",
                format!("beside banks with a read and a write port RegLess saves {beside_dual}"),
            ),
            Claim::new(
                "§6.1",
                "RFH: the register file and added component energy",
                format!("{with_single_ports} saved if what is added had a port instead of six that read and two that write"),
            ),
        ],
        tables: vec![
            table("register_energy", "Energy of the registers, relative to the baseline", results, &series, Average::Geometric),
            parts(&model, results)?,
        ],
        notes: vec![
            "Arrays of CACTI runs at 28 nm and 1 GHz (decisions 33 and 38): accesses as counted in the runs, and leakage \
             over their cycles. Banks have one port, those of the register file too unless it says 1r1w; RFH's \
             smaller levels have six that read and two that write (decision 37)."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn],
    })
}

/// Where the energy goes, and what comes of it if only one of both were spent.
fn parts(model: &GpuModel, results: &Results) -> Result<Table> {
    let base = registers(model, results, &baseline())?;
    let staged = registers(model, results, &regless())?;
    let per_cycle = |energies: &[RegisterEnergy], point: &Point, part: fn(&RegisterEnergy) -> f64| {
        let runs = energies.iter().zip(results.of(point));
        runs.map(|(energy, run)| ratio(part(energy), run.report.cycles as f64)).collect()
    };
    let of = |part: fn(&RegisterEnergy) -> f64| {
        staged.iter().zip(&base).map(|(staged, base)| ratio(part(staged), part(base))).collect()
    };
    let (access, leakage) =
        (|energy: &RegisterEnergy| energy.access_pj, |energy: &RegisterEnergy| energy.leakage_pj);
    let series = [
        Series::new(
            "baseline_access",
            "baseline: accesses, pJ a cycle",
            1,
            per_cycle(&base, &baseline(), access),
        ),
        Series::new("baseline_leakage", "leakage", 1, per_cycle(&base, &baseline(), leakage)),
        Series::new(
            "regless_access",
            "RegLess: accesses, pJ a cycle",
            1,
            per_cycle(&staged, &regless(), access),
        ),
        Series::new("regless_leakage", "leakage", 1, per_cycle(&staged, &regless(), leakage)),
        Series::new("access_relative", "accesses, relative", 3, of(access)),
        Series::new("leakage_relative", "leakage, relative", 3, of(leakage)),
    ];
    Ok(table("register_energy_parts", "Accesses and leakage", results, &series, Average::Arithmetic))
}

/// Fig. 15.
pub fn figure_15(results: &Results) -> Result<Content> {
    let model = GpuModel::gtx980()?;
    let relative = |design: &Design| {
        let values = gpu_relative(&model, results, &(design.point)())?;
        Ok(Series::new(design.key, design.heading, 3, values))
    };
    let mut series: Vec<Series> = DESIGNS.iter().map(relative).collect::<Result<_>>()?;
    let claim = savings(results, &series, "energy of the GPU", |(_, gpu)| gpu);
    series.push(Series::new("no_register_file", "no register file", 3, bound(&model, results)?));
    let drawn =
        chart("energy of the GPU", "relative to the baseline", results, &series, Average::Geometric, false);
    let bound = series.last().and_then(|series| series.average(results, Average::Geometric));
    let staged = series[0].average(results, Average::Geometric);
    let reached = staged.zip(bound).and_then(|(staged, bound)| ratio(100.0 * (1.0 - staged), 1.0 - bound));
    let with_share = |share: f64| -> Result<String> {
        let model = model.clone().with_rest_by_time(share);
        let values = Series::new("regless", "RegLess", 3, gpu_relative(&model, results, &regless())?);
        Ok(format!(
            "{} if {:.0} % of the rest is",
            saving(values.average(results, Average::Geometric)),
            100.0 * share
        ))
    };
    let others = OTHER_SHARES.map(with_share).into_iter().collect::<Result<Vec<_>>>()?.join(", ");
    Ok(Content {
        claims: vec![
            claim,
            Claim::new(
                "§6.3",
                format!("without register file {NO_REGISTER_FILE} % would be saved; RegLess approaches it"),
                format!(
                    "{}, by construction; RegLess reaches {} of it",
                    saving(bound),
                    reached.map_or_else(|| "no value".to_owned(), |reached| format!("{reached:.0} %"))
                ),
            ),
        ],
        tables: vec![
            table("gpu_energy", "Energy of the GPU, relative to the baseline", results, &series, Average::Geometric),
            gpu_parts(&model, results)?,
        ],
        notes: vec![
            format!(
                "The baseline's registers are {NO_REGISTER_FILE} % of its energy in each workload; half of the rest is spent by \
                 time (decision 38). RegLess saves {others}."
            ),
            "Register lines in L1, L2 and DRAM are at published energies that are high beside CACTI's registers, so what \
             they add is an upper bound."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn],
    })
}

/// The rest of the baseline beside the whole.
fn bound(model: &GpuModel, results: &Results) -> Result<Vec<Option<f64>>> {
    let of_one = |(run, energy): (&Run, GpuEnergy)| {
        Ok(ratio(model.rest_of_baseline_pj(measured(run))?, energy.total_pj()))
    };
    results.of(&baseline()).iter().zip(gpu(model, results, &baseline())?).map(of_one).collect()
}

/// What RegLess's GPU spends, of the baseline's energy.
fn gpu_parts(model: &GpuModel, results: &Results) -> Result<Table> {
    let (base, staged) = (gpu(model, results, &baseline())?, gpu(model, results, &regless())?);
    let percent = |key: &str, heading: &str, decimals: usize, part: fn(&GpuEnergy) -> f64| {
        let pairs = staged.iter().zip(&base);
        let values = pairs.map(|(staged, base)| ratio(100.0 * part(staged), base.total_pj()));
        Series::new(key, heading, decimals, values.collect())
    };
    let series = [
        percent("registers_percent", "registers, %", 2, |energy| energy.registers_pj),
        percent("lines_percent", "register lines in memory, %", 3, |energy| energy.lines_pj),
        percent("metadata_percent", "metadata, %", 2, |energy| energy.metadata_pj),
        percent("rest_percent", "rest, %", 2, |energy| energy.rest_pj),
    ];
    Ok(table(
        "gpu_energy_parts",
        "What RegLess's GPU spends, of the baseline's energy",
        results,
        &series,
        Average::Arithmetic,
    ))
}

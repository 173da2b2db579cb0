//! Figs. 4, 7 and 9: energy of the register cache and the register file behind it, beside the register file alone.

use anyhow::Result;
use warpfile_sim::energy::grid::Ports;
use warpfile_sim::energy::{Arrays, EnergyModel, MeasuredRun, RegisterEnergy, Technology};
use warpfile_sim::mechanisms::hybrid::Parameters;

use super::{AVERAGES, KILOBYTES, baseline, cycles, on_gtx980, register_cache, relative};
use crate::figures::chart::Chart;
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// Warps of a scheduler that hold a slot of the active set (Table I).
const ACTIVE_WARPS: u64 = 4;
/// Lines of a set.
const LINES_OF_SET: u64 = 2;
/// Capacities, KB an SM (Fig. 7).
const CAPACITIES: [u64; 5] = [8, 12, 16, 20, 24];
/// Ports of the cache if it were a memory (§III-A.3).
const CACHE_PORTS: Ports = Ports { read: 6, write: 2, read_write: 0 };
/// Energy of the registers and of the GPU relative to the baseline's, per cent (§IV-B.1).
const REGISTERS: f64 = 47.9;
const GPU: f64 = 94.3;
/// The same of the registers, priced as if half of the capacity were there.
const HALF_SIZE: f64 = 45.1;

/// A cache of the same capacity in which each active warp has as many lines as another: the register file cache of Gebhart et
/// al., whose entries are a slot's, with the replacement of this one.
fn divided() -> Point {
    let lines = KILOBYTES * LINES_OF_SET / ACTIVE_WARPS;
    on_gtx980("rfc").with("rfc.entries", lines).with("rfc.replacement", "lru")
}

/// The baseline and both caches.
pub fn points_4() -> Vec<Point> {
    vec![baseline(), divided(), register_cache(KILOBYTES)]
}

/// The baseline and a cache of each capacity.
pub fn points_7() -> Vec<Point> {
    std::iter::once(baseline()).chain(CAPACITIES.map(register_cache)).collect()
}

/// The baseline and the register cache.
pub fn points_9() -> Vec<Point> {
    vec![baseline(), register_cache(KILOBYTES)]
}

fn model() -> Result<EnergyModel> {
    Ok(EnergyModel::named(Technology::GTX980)?)
}

fn measured(run: &Run) -> MeasuredRun<'_> {
    MeasuredRun { config: &run.config, report: &run.report }
}

/// Energy of the registers of a point's runs beside the baseline's, the part of it that `part` says.
fn registers(
    model: &EnergyModel,
    results: &Results,
    point: &Point,
    part: fn(&RegisterEnergy) -> f64,
) -> Result<Vec<Option<f64>>> {
    relative(results, point, |run| Ok(part(&model.registers(measured(run))?)))
}

/// Fig. 4.
pub fn figure_4(results: &Results) -> Result<Content> {
    let model = model()?;
    let of = |key: &str, heading: &str, point: &Point| -> Result<Series> {
        let values = registers(&model, results, point, RegisterEnergy::total_pj)?;
        Ok(Series::new(key, heading, 3, values))
    };
    let series = [
        of("divided", "divided among active warps", &divided())?,
        of("shared", "shared", &register_cache(KILOBYTES))?,
    ];
    let [of_divided, of_shared] =
        [&series[0], &series[1]].map(|one| one.average(results, Average::Geometric));
    let lower = series[0].values.iter().zip(&series[1].values).filter(|(divided, shared)| shared < divided);
    let here = format!(
        "relative to the baseline {} divided, {} shared; lower when shared in {} of {} workloads",
        three_digits(of_divided),
        three_digits(of_shared),
        lower.count(),
        results.workloads.len()
    );
    Ok(Content {
        claims: vec![Claim::new("§II-C.3", "sharing the storage dynamically saves energy", here)],
        tables: vec![table(
            "register_energy",
            "Energy of the registers with a cache of 12 KB, relative to the baseline",
            results,
            &series,
            Average::Geometric,
        )],
        notes: vec![
            "Divided is the register file cache of Gebhart et al. with six least recently used entries a slot: it is fully \
             associative, is emptied when a warp loses its slot, and results of long-latency operations pass it by."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn(results, &series)],
    })
}

/// Fig. 7.
pub fn figure_7(results: &Results) -> Result<Content> {
    let model = model()?;
    let of = |kilobytes: u64| -> Result<Series> {
        let point = register_cache(kilobytes);
        let values = registers(&model, results, &point, RegisterEnergy::total_pj)?;
        Ok(Series::new(format!("kb_{kilobytes}"), format!("{kilobytes} KB"), 3, values))
    };
    let series: Vec<Series> = CAPACITIES.into_iter().map(of).collect::<Result<_>>()?;
    let averages: Vec<String> = series
        .iter()
        .map(|one| format!("{} {}", one.heading(), three_digits(one.average(results, Average::Geometric))))
        .collect();
    Ok(Content {
        claims: vec![Claim::new(
            "Fig. 7",
            "values of the chart: n/a, they are in the chart alone",
            averages.join(", "),
        )],
        tables: vec![table(
            "register_energy",
            "Energy of the registers by the cache's capacity an SM, relative to the baseline",
            results,
            &series,
            Average::Geometric,
        )],
        notes: vec![AVERAGES.to_owned()],
        charts: vec![drawn(results, &series)],
    })
}

/// Fig. 9.
pub fn figure_9(results: &Results) -> Result<Content> {
    let (model, point) = (model()?, register_cache(KILOBYTES));
    let total = |model: &EnergyModel| registers(model, results, &point, RegisterEnergy::total_pj);
    let paper = |percent: f64| Some(percent / 100.0);
    let all = Series::new("registers", "registers", 3, total(&model)?).with_paper(paper(REGISTERS));
    let half = half_size(&model, results, &point)?;
    let half = Series::new("half_size", "half-size power", 3, half).with_paper(paper(HALF_SIZE));
    let gpu = Series::new("gpu", "GPU", 3, gpu(&model, results, &point)?).with_paper(paper(GPU));
    let accesses = registers(&model, results, &point, |energy| energy.access_pj)?;
    let wires = registers(&model, results, &point, |energy| energy.access_pj + energy.wires_pj)?;
    let memory = total(&model.clone().with_ports(Arrays::Named("register cache"), CACHE_PORTS))?;
    let stated = |key: &'static str, what: &str, paper: f64, series: &Series| {
        let here = series.average(results, Average::Geometric).map(|relative| 100.0 * relative);
        let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:.1} %"));
        Claim::new("§IV-B.1", format!("{what} of the baseline's: {paper} %"), text).number(Number::share(
            key,
            format!("{what} relative to the baseline"),
            Stated::exactly(paper),
            here,
        ))
    };
    let claims = vec![
        stated("rc_registers", "energy of the registers", REGISTERS, &all),
        stated("rc_half_size", "energy of the registers, half-size power", HALF_SIZE, &half),
        stated("rc_gpu", "energy of the GPU", GPU, &gpu),
    ];
    let mut series = vec![all, half, gpu];
    let drawn = drawn(results, &series);
    series.extend([
        Series::new("accesses", "registers, accesses alone", 3, accesses),
        Series::new("wires", "accesses and wires", 3, wires),
        Series::new("memory", "registers, cache a 6r2w memory", 3, memory),
        cycles(results, &point)?,
    ]);
    Ok(Content {
        claims,
        tables: vec![table(
            "register_energy",
            "Energy with a register cache of 12 KB, relative to the baseline",
            results,
            &series,
            Average::Geometric,
        )],
        notes: vec![
            "Half-size power: the same runs, the cache priced as if it had half as many lines. Registers: arrays, wires, \
             collectors, tags, clocks that are not gated and leakage."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn],
    })
}

/// Energies of the registers beside the baseline's, the cache's priced as if it had half as many sets.
fn half_size(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<Option<f64>>> {
    let of_run = |run: &Run| -> Result<f64> {
        let mut config = run.config.clone();
        config.edit::<Parameters>(|cache| cache.sets /= 2);
        Ok(model.registers(MeasuredRun { config: &config, report: &run.report })?.total_pj())
    };
    let pairs = results.of(point).iter().zip(results.of(&baseline()));
    pairs.map(|(run, base)| Ok(ratio(of_run(run)?, model.registers(measured(base))?.total_pj()))).collect()
}

/// Energies of the GPU beside the baseline's.
fn gpu(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<Option<f64>>> {
    let pairs = results.of(point).iter().zip(results.of(&baseline()));
    pairs
        .map(|(run, base)| {
            let energy = |run| -> Result<f64> { Ok(model.gpu(measured(base), measured(run))?.total_pj()) };
            Ok(ratio(energy(run)?, energy(base)?))
        })
        .collect()
}

fn three_digits(value: Option<f64>) -> String {
    value.map_or_else(|| "no value".to_owned(), |value| format!("{value:.3}"))
}

fn drawn(results: &Results, series: &[Series]) -> Chart {
    let title = "energy of the registers";
    chart(title, "relative to the baseline", results, series, Average::Geometric, false)
}

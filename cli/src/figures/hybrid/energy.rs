//! Figs. 4, 7, 8 and 9: energy of the registers with a cache, a scratchpad and both, beside the register file alone.

use anyhow::Result;
use warpfile_sim::energy::grid::Ports;
use warpfile_sim::energy::{Arrays, EnergyModel, MeasuredRun, RegisterEnergy};
use warpfile_sim::mechanisms::hybrid::{Parameters, ScratchpadParameters};

use super::{
    AVERAGES, COMPARED, Compared, KILOBYTES, accesses, baseline, compared_points, cycles, hybrid, on_gtx980,
    register_cache, register_scratchpad, relative, share,
};
use crate::figures::Cause;
use crate::figures::chart::{Chart, Line, LineStyle, Plot};
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
/// KB an SM that the scratchpad has of 12 (Fig. 8).
const SPLITS: [u64; 4] = [2, 4, 6, 8];
/// How far the energies of a cache and a scratchpad may differ in a balanced benchmark, relative to the baseline (§IV-B.3).
const BALANCED: f64 = 0.1;

/// Why numbers of Fig. 9 differ.
pub const CAUSES_9: &[Cause] = &[Cause {
    of: &[
        "rc_registers",
        "rc_half_size",
        "rc_gpu",
        "rsp_registers",
        "rsp_half_size",
        "rsp_gpu",
        "hybrid_registers",
        "hybrid_gpu",
    ],
    why: "What is counted, and what an access to the register file is. The paper counts accesses (\"the register access energy\", \
          §III-B; \"register accesses energy\", §VI); here leakage, clocks and collectors are counted, too. The paper's file is one \
          memory of CACTI, 256 KB in 16 banks, a read of which takes 348 pJ: the bank takes 36, the rest are the wires to the \
          others; here each scheduler has its four banks beside its lanes, and a read takes 68 pJ. Counted as there \
          (decision 136):",
    run: "--set energy.technology=bailey2018-28nm",
}];

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

/// The designs of Fig. 7 at a capacity: the hybrid's is evenly divided.
fn at_capacity(kilobytes: u64) -> [(&'static str, Point); 3] {
    [
        ("rc", register_cache(kilobytes)),
        ("rsp", register_scratchpad(kilobytes)),
        ("hybrid", hybrid(kilobytes / 2, kilobytes / 2)),
    ]
}

/// The baseline and each design at each capacity.
pub fn points_7() -> Vec<Point> {
    let designs = CAPACITIES.into_iter().flat_map(at_capacity).map(|(_, point)| point);
    std::iter::once(baseline()).chain(designs).collect()
}

/// The baseline and the hybrid at each split.
pub fn points_8() -> Vec<Point> {
    std::iter::once(baseline()).chain(SPLITS.map(split)).collect()
}

/// A scratchpad of so many KB, and what of 12 KB is left for the cache.
fn split(scratchpad: u64) -> Point {
    hybrid(scratchpad, KILOBYTES - scratchpad)
}

/// The baseline and the three designs.
pub fn points_9() -> Vec<Point> {
    compared_points()
}

/// The technology of the runs.
pub fn model(results: &Results) -> Result<EnergyModel> {
    results.energy_model(&baseline())
}

/// Energy of the registers of a point's runs beside the baseline's, the part of it that `part` says.
pub fn registers(
    model: &EnergyModel,
    results: &Results,
    point: &Point,
    part: fn(&RegisterEnergy) -> f64,
) -> Result<Vec<Option<f64>>> {
    relative(results, point, |run| Ok(part(&model.registers(run.measured())?)))
}

/// Fig. 4.
pub fn figure_4(results: &Results) -> Result<Content> {
    let model = model(results)?;
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
    let model = model(results)?;
    let mut series = Vec::new();
    for kilobytes in CAPACITIES {
        for (key, point) in at_capacity(kilobytes) {
            let values = registers(&model, results, &point, RegisterEnergy::total_pj)?;
            series.push(Series::new(
                format!("{key}_{kilobytes}"),
                format!("{key}, {kilobytes} KB"),
                3,
                values,
            ));
        }
    }
    let average = |one: &Series| one.average(results, Average::Geometric);
    let line = |design: usize| {
        let of_design = series.iter().skip(design).step_by(COMPARED.len());
        let points = CAPACITIES.iter().zip(of_design).filter_map(|(&x, one)| Some((x as f64, average(one)?)));
        Line { name: COMPARED[design].key.to_owned(), points: points.collect(), style: LineStyle::Thin }
    };
    let drawn = Chart {
        title: "energy of the registers, geometric mean".to_owned(),
        x_label: "KB an SM".to_owned(),
        y_label: "relative to the baseline".to_owned(),
        plot: Plot::Lines((0..COMPARED.len()).map(line).collect()),
    };
    let lowest = series.chunks(COMPARED.len()).filter(|designs| {
        let averages: Vec<Option<f64>> = designs.iter().map(average).collect();
        averages[2] < averages[0] && averages[2] < averages[1]
    });
    let here = format!("the hybrid's is the lowest at {} of {} capacities", lowest.count(), CAPACITIES.len());
    let averages: Vec<String> =
        series.iter().map(|one| format!("{} {}", one.heading(), three_digits(average(one)))).collect();
    Ok(Content {
        claims: vec![
            Claim::new("§III-A.4", "the hybrid saves more energy than either alone at all capacities", here),
            Claim::new(
                "Fig. 7",
                "values of the chart: n/a, they are in the chart alone",
                averages.join("; "),
            ),
        ],
        tables: vec![table(
            "register_energy",
            "Energy of the registers by capacity an SM, relative to the baseline",
            results,
            &series,
            Average::Geometric,
        )],
        notes: vec![AVERAGES.to_owned()],
        charts: vec![drawn],
    })
}

/// Fig. 8.
pub fn figure_8(results: &Results) -> Result<Content> {
    let model = model(results)?;
    let of = |kilobytes: u64| -> Result<Series> {
        let values = registers(&model, results, &split(kilobytes), RegisterEnergy::total_pj)?;
        let heading = format!("scratchpad {kilobytes} KB, cache {} KB", KILOBYTES - kilobytes);
        Ok(Series::new(format!("rsp_{kilobytes}"), heading, 3, values))
    };
    let series: Vec<Series> = SPLITS.into_iter().map(of).collect::<Result<_>>()?;
    let averages = series.iter().filter_map(|one| Some((one, one.average(results, Average::Geometric)?)));
    let best = averages.min_by(|one, other| one.1.total_cmp(&other.1));
    let here = best.map_or_else(
        || "no value".to_owned(),
        |(one, energy)| format!("{}: {energy:.3} of the baseline's", one.heading()),
    );
    Ok(Content {
        claims: vec![Claim::new(
            "§III-A.4",
            "the least energy with 8 KB for the cache and 4 KB for the scratchpad",
            here,
        )],
        tables: vec![table(
            "register_energy",
            "Energy of the registers by how 12 KB are divided, relative to the baseline",
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
    let model = model(results)?;
    let paper = |percent: f64| Some(percent / 100.0);
    let (mut all, mut half, mut of_gpu, mut claims) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for compared in &COMPARED {
        let (Compared { key, name, .. }, point) = (compared, (compared.point)());
        let mut stated = |series: &Series, key: String, what: String, paper: f64| {
            let here = series.average(results, Average::Geometric).map(|relative| 100.0 * relative);
            claims.push(share("§IV-B.1", key, &what, paper, here));
        };
        let values = registers(&model, results, &point, RegisterEnergy::total_pj)?;
        let one = Series::new(*key, *key, 3, values).with_paper(paper(compared.registers));
        let what = format!("energy of the registers with {name} relative to the baseline");
        stated(&one, format!("{key}_registers"), what, compared.registers);
        all.push(one);
        if let Some(stated_half) = compared.half_size {
            let values = half_size(&model, results, &point)?;
            let one = Series::new(format!("{key}_half_size"), format!("{key}, half-size power"), 3, values)
                .with_paper(paper(stated_half));
            let what =
                format!("energy of the registers with {name}, half-size power, relative to the baseline");
            stated(&one, format!("{key}_half_size"), what, stated_half);
            half.push(one);
        }
        let values = gpu(&model, results, &point)?;
        let one = Series::new(format!("{key}_gpu"), format!("{key}: GPU"), 3, values)
            .with_paper(paper(compared.gpu));
        let what = format!("energy of the GPU with {name} relative to the baseline");
        stated(&one, format!("{key}_gpu"), what, compared.gpu);
        of_gpu.push(one);
    }
    claims.extend(synergy(results, &all, &half));
    let mut series = vec![];
    series.extend(all);
    series.extend(half);
    let charts = vec![drawn(results, &series)];
    series.extend(of_gpu);
    for compared in &COMPARED {
        let (key, point) = (compared.key, (compared.point)());
        let accesses = registers(&model, results, &point, |energy| energy.access_pj + energy.wires_pj)?;
        series.push(Series::new(
            format!("{key}_accesses"),
            format!("{key}: accesses and wires"),
            3,
            accesses,
        ));
        series.push(cycles(results, compared)?);
    }
    let memory = model.clone().with_ports(Arrays::Named("register cache"), CACHE_PORTS);
    let memory = registers(&memory, results, &(COMPARED[0].point)(), RegisterEnergy::total_pj)?;
    series.push(Series::new("rc_memory", "rc, a 6r2w memory", 3, memory));
    Ok(Content {
        claims,
        tables: vec![table(
            "register_energy",
            "Energy with 12 KB, relative to the baseline",
            results,
            &series,
            Average::Geometric,
        )],
        notes: vec![
            "Half-size power: the same runs, cache or scratchpad priced as if they had half as many lines. Registers: \
             arrays, wires, collectors, tags, clocks that are not gated and leakage."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts,
    })
}

/// What comes of both together where each alone does about as well (§IV-B.3), and in the two examples where it does not:
/// `all` by design, `half` of the cache and the scratchpad.
fn synergy(results: &Results, all: &[Series], half: &[Series]) -> Vec<Claim> {
    let (writes, reads) = (accesses::writes(results), accesses::reads(results));
    let value = |series: &Series, workload: usize| series.values[workload].unwrap_or(f64::NAN);
    let is_balanced =
        |&workload: &usize| (value(&half[0], workload) - value(&half[1], workload)).abs() < BALANCED;
    let (balanced, others): (Vec<usize>, Vec<usize>) = (0..results.workloads.len()).partition(is_balanced);
    let saves = |&&workload: &&usize| half.iter().all(|one| value(&all[2], workload) < value(one, workload));
    let elides = |series: &[Series], workload: usize| {
        series[..2].iter().all(|one| value(&series[2], workload) > value(one, workload))
    };
    let here = format!(
        "{} balanced; of these less energy in {}, more writes elided in {}, more reads in {}",
        balanced.len(),
        balanced.iter().filter(saves).count(),
        balanced.iter().filter(|&&workload| elides(&writes, workload)).count(),
        balanced.iter().filter(|&&workload| elides(&reads, workload)).count()
    );
    let unbalanced = format!("{} of {}", others.iter().filter(saves).count(), others.len());
    let example = |name: &str| {
        let of = |series: &Series| three_digits(series.of_workload(results, name));
        format!("cache {}, scratchpad {}, hybrid {}", of(&half[0]), of(&half[1]), of(&all[2]))
    };
    vec![
        Claim::new(
            "§IV-B.3",
            "13 of 21 benchmarks are balanced; of these the hybrid takes less energy than either at half-size power in 9, \
             elides more writes in 11, more reads in 7",
            here,
        ),
        Claim::new(
            "§IV-B.3",
            "the hybrid saves more than either in 3 of 8 unbalanced benchmarks",
            unbalanced,
        ),
        Claim::new(
            "§IV-B.3",
            "streamcluster: the cache outperforms the scratchpad, the hybrid is between",
            example("streamcluster"),
        ),
        Claim::new(
            "§IV-B.3",
            "hotspot: the scratchpad saves much more than the cache, the hybrid is between",
            example("hotspot"),
        ),
    ]
}

/// Energies of the registers beside the baseline's, the cache or the scratchpad priced as if it had half as many lines.
fn half_size(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<Option<f64>>> {
    let of_run = |run: &Run| -> Result<f64> {
        let mut config = run.config.clone();
        config.edit::<Parameters>(|cache| cache.sets /= 2);
        config.edit::<ScratchpadParameters>(|scratchpad| scratchpad.entries /= 2);
        Ok(model.registers(MeasuredRun { config: &config, report: &run.report })?.total_pj())
    };
    let pairs = results.of(point).iter().zip(results.of(&baseline()));
    pairs.map(|(run, base)| Ok(ratio(of_run(run)?, model.registers(base.measured())?.total_pj()))).collect()
}

/// Energies of the GPU beside the baseline's.
fn gpu(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<Option<f64>>> {
    let pairs = results.of(point).iter().zip(results.of(&baseline()));
    pairs
        .map(|(run, base)| {
            let energy =
                |run: &Run| -> Result<f64> { Ok(model.gpu(base.measured(), run.measured())?.total_pj()) };
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

//! Figs. 14 and 16: energy of the GPU and of an SM by component.

use anyhow::Result;
use warpfile_sim::energy::{Components, EnergyModel, MeasuredRun};
use warpfile_sim::sm::RunReport;

use super::{
    AFFINE, AFFINE_RLPV, AVERAGES, Design, NO_SIGNATURES, R, RL, RLP, RLPV, RLPVC, RPV, baseline, together,
    values_absent,
};
use crate::figures::Cause;
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::repeats::Repeats;
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::series::{Average, Series, change, chart, ratio, table};
use crate::figures::statistics::mean;
use crate::figures::sweep::{Point, Results, Run};

/// What RLPV and RPV save of the GPU's energy, and load reuse of it, per cent (§VII-C).
const GPU_RLPV: f64 = 10.7;
const GPU_RPV: f64 = 7.6;
const GPU_LOADS: f64 = 3.1;
/// What RLPV saves in the halves of the benchmarks with more and with less that is repeated, per cent (§VII-C).
const GPU_TOP: f64 = 18.3;
const GPU_BOTTOM: f64 = 4.3;
/// Designs of Fig. 16 beside the baseline, and what they save of an SM's energy, per cent, where the text says it (§VII-C).
const DESIGNS_16: [(Design, Option<f64>); 9] = [
    (R, None),
    (RL, None),
    (RLP, None),
    (RLPV, Some(20.5)),
    (RLPVC, None),
    (RPV, None),
    (NO_SIGNATURES, None),
    (AFFINE, Some(13.6)),
    (AFFINE_RLPV, Some(27.9)),
];
const DESIGNS_14: [Design; 2] = [RPV, RLPV];

/// Why numbers of Fig. 14 differ.
pub const CAUSES_14: &[Cause] = &[together(&["rlpv", "rpv", "top", "bottom"])];
/// Why numbers of Fig. 16 differ.
pub const CAUSES_16: &[Cause] = &[together(&["rlpv", "affine_rlpv"])];

/// Where GPUWattch has the energy of a kernel on a GTX 480, per cent, by the components here (decision 177). Its kernel does not
/// use the scratchpad.
const GPUWATTCH: [(&str, &[&str], f64); 9] = [
    ("front end and pipeline", &["front_end", "pipeline"], 15.3),
    ("registers", &["registers", "added"], 13.3),
    ("functional units", &["integer", "float", "special"], 14.9),
    ("L1", &["l1"], 5.7),
    ("scratchpad", &["scratchpad"], 0.0),
    ("constant cache", &["constant_cache"], 1.2),
    ("network and L2", &["network", "l2"], 8.6),
    ("DRAM", &["dram"], 25.8),
    ("constant", &["constant"], 15.3),
];

/// The baseline, and the design without and with load reuse.
pub fn points_14() -> Vec<Point> {
    std::iter::once(baseline()).chain(DESIGNS_14.map(Design::point)).collect()
}

/// The baseline and every design.
pub fn points_16() -> Vec<Point> {
    std::iter::once(baseline()).chain(DESIGNS_16.map(|(design, _)| design.point())).collect()
}

/// A part of a run's energy, pJ.
type PartOf = fn(&Components) -> f64;

fn components(model: &EnergyModel, run: &Run) -> Result<Components> {
    Ok(model.components(run.measured())?)
}

fn of_runs(model: &EnergyModel, results: &Results, point: &Point) -> Result<Vec<Components>> {
    results.of(point).iter().map(|run| components(model, run)).collect()
}

/// A part of a design's energy relative to the baseline's.
fn relative(model: &EnergyModel, results: &Results, point: &Point, part: PartOf) -> Result<Vec<Option<f64>>> {
    let (base, design) = (of_runs(model, results, &baseline())?, of_runs(model, results, point)?);
    Ok(design.iter().zip(&base).map(|(design, base)| ratio(part(design), part(base))).collect())
}

/// A part of RLPV's energy relative to the baseline's, both without what goes with time: leakage, clocks, constant power.
fn work_alone(model: &EnergyModel, results: &Results, part: PartOf) -> Result<Series> {
    let in_no_time = |run: &Run| -> Result<f64> {
        let report = RunReport { cycles: 0, sms: Vec::new(), ..run.report.clone() };
        Ok(part(&model.components(MeasuredRun { config: &run.config, report: &report })?))
    };
    let pairs = results.of(&RLPV.point()).iter().zip(results.of(&baseline()));
    let values = pairs.map(|(run, base)| Ok(ratio(in_no_time(run)?, in_no_time(base)?)));
    Ok(Series::new("rlpv_work_alone", "RLPV, work alone", 3, values.collect::<Result<_>>()?))
}

/// What is saved on average, per cent.
fn saved(mean: Option<f64>) -> Option<f64> {
    mean.map(|relative| 100.0 * (1.0 - relative))
}

/// A saving that the paper states, beside ours.
fn saving(key: &str, what: String, paper: f64, here: Option<f64>) -> Claim {
    let number = Number::change(key, what.clone(), Stated::exactly(paper), here);
    Claim::new("§VII-C", format!("{what}: {}", number.paper_text()), number.here_text()).number(number)
}

/// Fig. 14. `repeats` says what is repeated, in the order of the workloads.
pub fn figure_14(repeats: &[Repeats], results: &Results) -> Result<Content> {
    let model = results.energy_model(&baseline())?;
    let of = |design: Design, paper: f64| -> Result<Series> {
        let values = relative(&model, results, &design.point(), Components::total_pj)?;
        Ok(Series::new(design.key, design.heading, 3, values).with_paper(Some(1.0 - paper / 100.0)))
    };
    let mut series = vec![of(RPV, GPU_RPV)?, of(RLPV, GPU_RLPV)?];
    let [rpv, rlpv] = [&series[0], &series[1]].map(|one| saved(one.average(results, Average::Arithmetic)));
    let [top, bottom] = halves(repeats, &series[1].values).map(saved);
    let of_gpu = |what: &str| format!("energy of the GPU saved {what}");
    let claims = vec![
        saving("rlpv", of_gpu("by RLPV"), GPU_RLPV, rlpv),
        saving("rpv", of_gpu("by RPV"), GPU_RPV, rpv),
        saving(
            "load_reuse",
            of_gpu("by load reuse beside RPV"),
            GPU_LOADS,
            rlpv.zip(rpv).map(|(rlpv, rpv)| rlpv - rpv),
        ),
        saving("top", of_gpu("by RLPV, the half with more that is repeated (Fig. 2)"), GPU_TOP, top),
        saving("bottom", of_gpu("by RLPV, the other half"), GPU_BOTTOM, bottom),
        Claim::new(
            "§VII-C",
            "KM takes more energy with RLPV",
            change(series[1].of_workload(results, "kmeans")),
        ),
        values_absent("Fig. 14"),
    ];
    let drawn =
        chart("energy of the GPU", "relative to the baseline", results, &series, Average::Arithmetic, false);
    series.push(work_alone(&model, results, Components::total_pj)?);
    let breakdown = Breakdown::new(&model, results, &DESIGNS_14, Components::total_pj)?;
    Ok(Content {
        claims,
        tables: vec![
            table(
                "gpu_energy",
                "Energy of the GPU, relative to the baseline",
                results,
                &series,
                Average::Arithmetic,
            ),
            breakdown.table("gpu_components", "Energy of the GPU by component, % of the baseline's", 14),
            breakdown.beside_gpuwattch(),
            of_baseline(&model, results)?,
        ],
        notes: vec![
            HOW.to_owned(),
            "GPUWattch: one kernel on a GTX 480, not of these (gpgpu-sim_distribution, issue 176); on average registers take \
             13.4 % there (Leng et al., ISCA 2013, as cited by Bailey et al., TCAD 2018)."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn, breakdown.chart("energy of the GPU by component, mean", 14)],
    })
}

/// Means over the half of the workloads in which more is repeated, and over the other; one in the middle is in both.
fn halves(repeats: &[Repeats], values: &[Option<f64>]) -> [Option<f64>; 2] {
    let share = |one: &Repeats| ratio(one.repeated as f64, one.instructions as f64).unwrap_or(0.0);
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| share(&repeats[other]).total_cmp(&share(&repeats[one])));
    let (top, bottom) = (&order[..values.len().div_ceil(2)], &order[values.len() / 2..]);
    [top, bottom].map(|half| mean(half.iter().filter_map(|&workload| values[workload])))
}

/// Fig. 16.
pub fn figure_16(results: &Results) -> Result<Content> {
    let model = results.energy_model(&baseline())?;
    let of_node = model.clone().with_caches_of_the_node();
    let (mut series, mut claims) = (Vec::new(), Vec::new());
    for (design, paper) in DESIGNS_16 {
        let values = relative(&model, results, &design.point(), Components::sm_pj)?;
        let paper_relative = paper.map(|paper| 1.0 - paper / 100.0);
        let one = Series::new(design.key, design.heading, 3, values).with_paper(paper_relative);
        if let Some(paper) = paper {
            let here = saved(one.average(results, Average::Arithmetic));
            claims.push(saving(
                design.key,
                format!("energy of an SM saved by {}", design.heading),
                paper,
                here,
            ));
        }
        series.push(one);
    }
    let average =
        |one: &Series| format!("{} {}", one.heading(), change(one.average(results, Average::Arithmetic)));
    claims.push(Claim::new(
        "§VII-C",
        "the trend is that of the operations executed (Fig. 13)",
        series.iter().map(average).collect::<Vec<_>>().join(", "),
    ));
    claims.push(values_absent("Fig. 16"));
    let drawn =
        chart("energy of an SM", "relative to the baseline", results, &series, Average::Arithmetic, false);
    series.push(work_alone(&model, results, Components::sm_pj)?);
    let values = relative(&of_node, results, &RLPV.point(), Components::sm_pj)?;
    series.push(Series::new("rlpv_caches_of_node", "RLPV, caches of the node's arrays", 3, values));
    let designs = DESIGNS_16.map(|(design, _)| design);
    let breakdown = Breakdown::new(&model, results, &designs, Components::sm_pj)?;
    Ok(Content {
        claims,
        tables: vec![
            table(
                "sm_energy",
                "Energy of an SM, relative to the baseline",
                results,
                &series,
                Average::Arithmetic,
            ),
            breakdown.table("sm_components", "Energy of an SM by component, % of the baseline's", Components::SM),
        ],
        notes: vec![
            HOW.to_owned(),
            "Caches of the node's arrays: L1 and constant cache are priced as CACTI's arrays of 45 nm instead of by GPUWattch."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn, breakdown.chart("energy of an SM by component, mean", Components::SM)],
    })
}

/// What a reader has to know of the components.
const HOW: &str = "An instruction that is issued pays the front end, one that executes the pipeline's registers and the lanes of its \
                   unit, and an access the memory that it goes to; one that is reused pays the front end, and what renaming and \
                   reuse look up (added tables). Leakage is that of arrays; what GPUWattch calls constant is in the GPU alone \
                   (decision 177). Work alone: both without leakage, clocks and what is constant, which go with run time.";

/// Where the energy of the baseline and of designs goes, on average over the workloads.
struct Breakdown {
    /// Key and heading of each.
    designs: Vec<(&'static str, &'static str)>,
    /// Of each design every component, per cent of the baseline's.
    shares: Vec<Vec<Option<f64>>>,
}

impl Breakdown {
    /// Of the baseline and `designs`, beside the baseline's `whole`.
    fn new(model: &EnergyModel, results: &Results, designs: &[Design], whole: PartOf) -> Result<Breakdown> {
        let base = of_runs(model, results, &baseline())?;
        let named = designs.iter().map(|design| ((design.key, design.heading), design.point()));
        let (mut names, mut shares) = (Vec::new(), Vec::new());
        for (name, point) in std::iter::once((("base", "base"), baseline())).chain(named) {
            let runs = of_runs(model, results, &point)?;
            let share = |place: usize| {
                let pairs = runs.iter().zip(&base);
                mean(pairs.filter_map(|(run, base)| ratio(100.0 * run.parts()[place].2, whole(base))))
            };
            names.push(name);
            shares.push((0..Components::default().parts().len()).map(share).collect());
        }
        Ok(Breakdown { designs: names, shares })
    }

    /// The first `count` components and their sum.
    fn table(&self, key: &'static str, title: &str, count: usize) -> Table {
        let mut table = Table::new(key, title).column("component", "component");
        for (key, heading) in &self.designs {
            table = table.real(*key, *heading, 1);
        }
        let parts = Components::default().parts();
        for (place, (_, name, _)) in parts[..count].iter().enumerate() {
            let of_designs = self.shares.iter().map(|shares| Cell::from(shares[place]));
            table.row(std::iter::once(Cell::from(*name)).chain(of_designs).collect());
        }
        let sum = |shares: &Vec<Option<f64>>| Cell::from(sum_of(shares[..count].iter().copied()));
        table.row(std::iter::once(Cell::from("all")).chain(self.shares.iter().map(sum)).collect());
        table
    }

    /// The baseline's components as GPUWattch has them.
    fn beside_gpuwattch(&self) -> Table {
        let mut table = Table::new("beside_gpuwattch", "Where the baseline's energy goes, %")
            .column("component", "component")
            .real("here", "here", 1)
            .real("gpuwattch", "GPUWattch", 1);
        let parts = Components::default().parts();
        for (name, keys, gpuwattch) in GPUWATTCH {
            let places = (0..parts.len()).filter(|&place| keys.contains(&parts[place].0));
            let here = sum_of(places.map(|place| self.shares[0][place]));
            table.row(vec![name.into(), here.into(), Cell::Real(gpuwattch)]);
        }
        table
    }

    fn chart(&self, title: &str, count: usize) -> Chart {
        let parts = Components::default().parts();
        let bars = parts[..count].iter().enumerate().map(|(place, (_, name, _))| {
            Bars::new(*name, self.shares.iter().map(|shares| shares[place]).collect())
        });
        Chart {
            title: title.to_owned(),
            x_label: String::new(),
            y_label: "% of the baseline's".to_owned(),
            plot: Plot::Bars {
                groups: self.designs.iter().map(|(_, heading)| (*heading).to_owned()).collect(),
                series: bars.collect(),
                stacked: true,
            },
        }
    }
}

/// The sum of shares; none of none.
fn sum_of(shares: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    shares.flatten().reduce(|sum, share| sum + share)
}

/// Where the baseline's energy goes in each workload.
fn of_baseline(model: &EnergyModel, results: &Results) -> Result<Table> {
    let runs = of_runs(model, results, &baseline())?;
    let of_place = |(place, (key, name, _)): (usize, (&'static str, &'static str, f64))| {
        let share = |run: &Components| ratio(100.0 * run.parts()[place].2, run.total_pj());
        Series::new(key, name, 1, runs.iter().map(share).collect())
    };
    let parts = Components::default().parts().into_iter().enumerate();
    // Without a layer nothing is added.
    let series: Vec<Series> = parts.filter(|(_, (key, ..))| *key != "added").map(of_place).collect();
    let title = "Energy of the baseline's GPU by component, %";
    Ok(table("baseline_components", title, results, &series, Average::Arithmetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_by_what_is_repeated() {
        let repeats =
            [1, 4, 3, 2].map(|repeated| Repeats { instructions: 10, repeated, ..Repeats::default() });
        let values = [Some(0.25), Some(0.5), Some(1.0), None];
        assert_eq!(halves(&repeats, &values), [Some(0.75), Some(0.25)]);
        // The third is in the middle of three.
        assert_eq!(halves(&repeats[..3], &values[..3]), [Some(0.75), Some(0.625)]);
        assert_eq!(halves(&repeats[..1], &values[..1]), [Some(0.25); 2]);
    }

    #[test]
    fn every_component_has_a_place_beside_gpuwattch_and_its_shares_are_all() {
        for (key, ..) in Components::default().parts() {
            assert_eq!(GPUWATTCH.iter().filter(|(_, keys, _)| keys.contains(&key)).count(), 1, "{key}");
        }
        let all: f64 = GPUWATTCH.iter().map(|(.., share)| share).sum();
        assert!((all - 100.0).abs() < 0.2, "{all}");
    }
}

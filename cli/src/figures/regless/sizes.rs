//! Fig. 19 and Table 2: what regions hold, and how long they are.

use anyhow::Result;
use warpfile_kernels::compile::regless::statistics::{RegionStatistics, Spread};
use warpfile_kernels::workloads::Workload;
use warpfile_sim::mechanisms::regless::staging;

use super::regions::WorkloadRegions;
use super::rodinia::{ratio, regless};
use crate::figures::Cause;
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::statistics::{mean, range};
use crate::figures::sweep::{Point, Results, Run};

/// Concurrent live registers of the regions that the paper calls large (§6.6).
const MANY_LIVE: u64 = 20;

/// Table 2: the paper's name, ours, static instructions a region, cycles a region.
const TABLE_2: [(&str, Option<&str>, f64, f64); 21] = [
    ("b+tree", Some("b+tree"), 3.7, 150.0),
    ("backprop", Some("backprop"), 6.7, 323.0),
    ("bfs", Some("bfs"), 3.3, 60.0),
    ("dwt2d", Some("dwt2d"), 9.5, 457.0),
    ("gaussian", Some("gaussian"), 8.1, 1207.0),
    ("heartwall", Some("heartwall"), 4.6, 32.0),
    ("hotspot", Some("hotspot"), 6.4, 75.0),
    ("hybridsort", Some("hybridsort"), 6.5, 379.0),
    ("kmeans", Some("kmeans"), 3.9, 993.0),
    ("lavaMD", Some("lavaMD"), 7.5, 1601.0),
    ("leukocyte", Some("leukocyte"), 7.7, 297.0),
    ("lud", Some("lud"), 16.0, 816.0),
    ("mummergpu", Some("mummer"), 6.4, 240.0),
    ("myocyte", Some("myocyte"), 9.3, 120.0),
    ("nn", Some("nn"), 6.3, 940.0),
    ("nw", Some("nw"), 10.8, 78.0),
    ("particle_filter", Some("particle_filter"), 10.0, 20.0),
    ("pathfinder", Some("pathfinder"), 4.9, 72.0),
    ("srad_v1", None, 9.1, 350.0),
    // Two kernels with halos in shared memory, as ours.
    ("srad_v2", Some("srad"), 6.9, 323.0),
    ("streamcluster", Some("streamcluster"), 4.3, 16.0),
];

/// Why regions of Table 2 are longer here.
pub const CAUSES_2: &[Cause] = &[Cause {
    of: &[
        "instructions_nw",
        "instructions_srad",
        "instructions_kmeans",
        "instructions_lavaMD",
        "instructions_streamcluster",
        "instructions_b+tree",
        "instructions_bfs",
        "instructions_heartwall",
        "instructions_hotspot",
    ],
    why: "Blocks made longer and loops copied (decision 100) make longer regions; the code is the same at every size, and in \
          the order of the PTX its regions are:",
    run: "--size tiny --schedule none",
}];

/// Regions of a workload as they stand in the code, and as they were run.
struct Sizes {
    code: RegionStatistics,
    runs: RegionStatistics,
    most_live: u64,
}

fn sizes(regions: &[WorkloadRegions]) -> Vec<Sizes> {
    let of_one = |found: &WorkloadRegions| Sizes {
        code: found.of_code(),
        runs: found.of_runs(),
        most_live: found.most_live(),
    };
    regions.iter().map(of_one).collect()
}

/// Fig. 19.
pub fn figure_19(workloads: &[&'static Workload], regions: &[WorkloadRegions]) -> Content {
    let sizes = sizes(regions);
    let series = |name: &str, spread: &dyn Fn(&Sizes) -> Spread| {
        let mut spreads: Vec<Spread> = sizes.iter().map(spread).collect();
        spreads.push(mean_spread(&spreads));
        Bars {
            name: name.to_owned(),
            values: spreads.iter().map(|spread| Some(spread.mean)).collect(),
            deviations: spreads.iter().map(|spread| spread.deviation).collect(),
            paper: Vec::new(),
        }
    };
    Content {
        claims: claims_19(workloads, &sizes),
        tables: vec![
            table_19("code", "(a) As regions stand in the code, each counted once", workloads, &sizes, |sizes| {
                sizes.code
            }),
            table_19("runs", "(b) As warps run them, each run counted", workloads, &sizes, |sizes| sizes.runs),
        ],
        notes: vec![
            "± is the standard deviation over the regions of a workload; the last row has means over workloads."
                .to_owned(),
        ],
        charts: vec![Chart {
            title: "registers a region, in the code, with standard deviations".to_owned(),
            x_label: String::new(),
            y_label: "registers".to_owned(),
            plot: Plot::Bars {
                groups: workloads.iter().map(|workload| workload.name).chain(["mean"]).map(str::to_owned).collect(),
                series: vec![
                    series("preloads", &|sizes| sizes.code.preloads),
                    series("concurrent live registers", &|sizes| sizes.code.live),
                ],
                stacked: false,
            },
        }],
    }
}

fn claims_19(workloads: &[&'static Workload], sizes: &[Sizes]) -> Vec<Claim> {
    let more_live = sizes.iter().filter(|sizes| sizes.code.live.mean > sizes.code.preloads.mean).count();
    let ratio = range(sizes.iter().map(|sizes| relative_deviation(sizes.code.live)));
    let (low, high) = ratio.unwrap_or((0.0, 0.0));
    let named = workloads.iter().zip(sizes);
    let large: Vec<&str> = named
        .clone()
        .filter(|(_, sizes)| sizes.most_live >= MANY_LIVE)
        .map(|(workload, _)| workload.name)
        .collect();
    let largest = named.max_by_key(|(_, sizes)| sizes.most_live);
    let largest = largest.map_or_else(String::new, |(workload, sizes)| {
        format!("most: {} in {}", sizes.most_live, workload.name)
    });
    vec![
        Claim::new(
            "§6.6",
            "concurrent live registers are consistently more than input registers",
            format!("in {more_live} of {} workloads", sizes.len()),
        ),
        Claim::new(
            "§6.6",
            "region size varies substantially within each benchmark",
            format!("standard deviation {low:.2} to {high:.2} of the mean of live registers"),
        ),
        Claim::new(
            "§6.6",
            "several (dwt2d, hotspot, myocyte) have regions with 20 or more concurrent live registers",
            match large.as_slice() {
                [] => format!("none; {largest}"),
                names => format!("{}; {largest}", names.join(", ")),
            },
        )
        .numbers(["dwt2d", "hotspot", "myocyte"].map(|name| {
            let found = workloads.iter().zip(sizes).find(|(workload, _)| workload.name == name);
            let here = found.map(|(_, sizes)| sizes.most_live as f64);
            let what = format!("most concurrent live registers of a region, {name}");
            Number::of("registers", format!("live_{name}"), what, Stated::at_least(MANY_LIVE as f64), here)
        })),
    ]
}

fn relative_deviation(spread: Spread) -> f64 {
    if spread.mean > 0.0 { spread.deviation / spread.mean } else { 0.0 }
}

/// Means of means and of deviations.
fn mean_spread(spreads: &[Spread]) -> Spread {
    Spread {
        mean: mean(spreads.iter().map(|spread| spread.mean)).unwrap_or(0.0),
        deviation: mean(spreads.iter().map(|spread| spread.deviation)).unwrap_or(0.0),
    }
}

fn table_19(
    key: &'static str,
    title: &str,
    workloads: &[&'static Workload],
    sizes: &[Sizes],
    statistics: impl Fn(&Sizes) -> RegionStatistics,
) -> Table {
    let mut table = Table::new(key, title)
        .column("workload", "workload")
        .column("regions", "regions")
        .real("preloads_mean", "preloads", 2)
        .real("preloads_deviation", "±", 2)
        .real("live_mean", "live registers", 2)
        .real("live_deviation", "±", 2);
    let cells = |name: &str, regions: Cell, preloads: Spread, live: Spread| {
        let numbers = [preloads.mean, preloads.deviation, live.mean, live.deviation];
        [name.into(), regions].into_iter().chain(numbers.map(Cell::from)).collect()
    };
    let found: Vec<RegionStatistics> = sizes.iter().map(statistics).collect();
    for (workload, found) in workloads.iter().zip(&found) {
        table.row(cells(workload.name, found.regions.into(), found.preloads, found.live));
    }
    let preloads: Vec<Spread> = found.iter().map(|found| found.preloads).collect();
    let live: Vec<Spread> = found.iter().map(|found| found.live).collect();
    table.row(cells("mean", Cell::Missing, mean_spread(&preloads), mean_spread(&live)));
    table
}

/// A row of Table 2.
struct Row {
    name: &'static str,
    paper: Option<f64>,
    code: Spread,
    runs: Spread,
    paper_cycles: Option<f64>,
    /// Mean cycles that a region was active.
    cycles: Option<f64>,
    /// Mean cycles that it was draining behind that.
    draining: Option<f64>,
}

/// RegLess, for the cycles.
pub fn points_table_2() -> Vec<Point> {
    vec![regless()]
}

/// Table 2.
pub fn table_2(regions: &[WorkloadRegions], results: &Results) -> Result<Content> {
    let of_one = |((workload, run), sizes): ((&&'static Workload, &Run), Sizes)| {
        let paper = in_paper(workload.name);
        let staging = staging(&run.report);
        Row {
            name: workload.name,
            paper: paper.map(|(instructions, _)| instructions),
            code: sizes.code.instructions,
            runs: sizes.runs.instructions,
            paper_cycles: paper.map(|(_, cycles)| cycles),
            cycles: ratio(staging.active_cycles as f64, staging.regions as f64),
            draining: ratio(staging.draining_cycles as f64, staging.regions as f64),
        }
    };
    let runs = results.workloads.iter().zip(results.of(&regless()));
    let rows: Vec<Row> = runs.zip(sizes(regions)).map(of_one).collect();
    let absent: Vec<&str> =
        TABLE_2.iter().filter(|(_, ours, ..)| ours.is_none()).map(|(theirs, ..)| *theirs).collect();
    Ok(Content {
        claims: claims_2(&rows),
        tables: vec![instructions(&rows)],
        notes: vec![format!(
            "Metadata instructions are not counted. A region is active from the cycle in which its warp may issue to \
             that in which its last instruction has issued, then draining until its warp is inactive (§5.1); \
             preloading is in neither. The last row has means over the workloads that are in the paper's table; not in it here: {}.",
            absent.join(", ")
        )],
        charts: vec![chart_2(&rows), chart_cycles(&rows)],
    })
}

/// Instructions and cycles of a workload in the paper's table.
fn in_paper(workload: &str) -> Option<(f64, f64)> {
    let row = TABLE_2.iter().find(|(_, ours, ..)| *ours == Some(workload));
    row.map(|(.., instructions, cycles)| (*instructions, *cycles))
}

/// Rows that the paper has too.
fn shared(rows: &[Row]) -> impl Iterator<Item = (&Row, f64)> {
    rows.iter().filter_map(|row| Some((row, row.paper?)))
}

fn claims_2(rows: &[Row]) -> Vec<Claim> {
    let number =
        |value: Option<f64>| value.map_or_else(|| "no value".to_owned(), |value| format!("{value:.1}"));
    let mut by_size: Vec<&Row> = shared(rows).map(|(row, _)| row).collect();
    by_size.sort_by(|one, other| other.code.mean.total_cmp(&one.code.mean));
    let show = |rows: &[&Row]| {
        let shown = rows.iter().map(|row| format!("{} {:.1}", row.name, row.code.mean));
        shown.collect::<Vec<_>>().join(", ")
    };
    let count = by_size.len();
    vec![
        Claim::new(
            "Table 2",
            format!(
                "{} instructions a region, mean of the workloads that are here too",
                number(mean(shared(rows).map(|(_, paper)| paper)))
            ),
            format!(
                "{} in the code, {} as run",
                number(mean(shared(rows).map(|(row, _)| row.code.mean))),
                number(mean(shared(rows).map(|(row, _)| row.runs.mean)))
            ),
        )
        .number(Number::of(
            "instructions",
            "instructions",
            "instructions a region in the code, mean of the workloads of both",
            mean(shared(rows).map(|(_, paper)| paper)).map_or(Stated::at_least(0.0), Stated::exactly),
            mean(shared(rows).map(|(row, _)| row.code.mean)),
        ))
        .numbers(shared(rows).map(|(row, paper)| {
            let (key, what) =
                (format!("instructions_{}", row.name), format!("instructions a region, {}", row.name));
            Number::of("instructions", key, what, Stated::exactly(paper), Some(row.code.mean))
        })),
        Claim::new(
            "§6.6",
            "compute-intensive dwt2d, lud and nw have the largest regions",
            format!("largest: {}", show(&by_size[..count.min(3)])),
        ),
        Claim::new(
            "§6.6",
            "memory-intensive benchmarks like bfs have smaller regions",
            format!("smallest: {}", show(&by_size[count.saturating_sub(3)..])),
        ),
        Claim::new(
            "Table 2",
            format!(
                "{} cycles a region, mean of the workloads that are here too",
                number(mean(shared(rows).filter_map(|(row, _)| row.paper_cycles)))
            ),
            number(mean(shared(rows).filter_map(|(row, _)| row.cycles))),
        )
        .number(Number::of(
            "cycles",
            "cycles",
            "cycles a region, mean of the workloads of both",
            mean(shared(rows).filter_map(|(row, _)| row.paper_cycles))
                .map_or(Stated::at_least(0.0), Stated::exactly),
            mean(shared(rows).filter_map(|(row, _)| row.cycles)),
        ))
        .numbers(rows.iter().filter_map(|row| {
            let (key, what) = (format!("cycles_{}", row.name), format!("cycles a region, {}", row.name));
            Some(Number::of("cycles", key, what, Stated::exactly(row.paper_cycles?), row.cycles))
        })),
        Claim::new("§6.6", "bfs has a smaller time per region (60), lavaMD a longer one (1601)", {
            let of = |name: &str| number(rows.iter().find(|row| row.name == name).and_then(|row| row.cycles));
            format!("bfs {}, lavaMD {}", of("bfs"), of("lavaMD"))
        }),
    ]
}

fn instructions(rows: &[Row]) -> Table {
    let mut table = Table::new("instructions", "Static instructions and cycles a region")
        .column("workload", "workload")
        .real("paper", "paper", 1)
        .real("code_mean", "here, in the code", 1)
        .real("code_deviation", "±", 1)
        .real("runs_mean", "here, as run", 1)
        .real("runs_deviation", "±", 1)
        .real("paper_cycles", "cycles, paper", 0)
        .real("cycles", "cycles, here", 0)
        .real("draining_cycles", "draining, here", 0);
    for row in rows {
        let numbers = [row.code.mean, row.code.deviation, row.runs.mean, row.runs.deviation];
        let cells = [row.name.into(), row.paper.into()];
        let cycles = [row.paper_cycles.into(), row.cycles.into(), row.draining.into()];
        table.row(cells.into_iter().chain(numbers.map(Cell::from)).chain(cycles).collect());
    }
    let average = |value: &dyn Fn(&Row) -> f64| Cell::from(mean(shared(rows).map(|(row, _)| value(row))));
    table.row(vec![
        "mean".into(),
        mean(shared(rows).map(|(_, paper)| paper)).into(),
        average(&|row| row.code.mean),
        average(&|row| row.code.deviation),
        average(&|row| row.runs.mean),
        average(&|row| row.runs.deviation),
        mean(shared(rows).filter_map(|(row, _)| row.paper_cycles)).into(),
        mean(shared(rows).filter_map(|(row, _)| row.cycles)).into(),
        mean(shared(rows).filter_map(|(row, _)| row.draining)).into(),
    ]);
    table
}

fn chart_2(rows: &[Row]) -> Chart {
    Chart {
        title: "static instructions a region".to_owned(),
        x_label: String::new(),
        y_label: "instructions".to_owned(),
        plot: Plot::Bars {
            groups: rows.iter().map(|row| row.name.to_owned()).collect(),
            series: vec![
                Bars::new("paper", rows.iter().map(|row| row.paper).collect()),
                Bars::new("here, in the code", rows.iter().map(|row| Some(row.code.mean)).collect()),
                Bars::new("here, as run", rows.iter().map(|row| Some(row.runs.mean)).collect()),
            ],
            stacked: false,
        },
    }
}

fn chart_cycles(rows: &[Row]) -> Chart {
    Chart {
        title: "cycles a region".to_owned(),
        x_label: String::new(),
        y_label: "cycles".to_owned(),
        plot: Plot::Bars {
            groups: rows.iter().map(|row| row.name.to_owned()).collect(),
            series: vec![
                Bars::new("paper", rows.iter().map(|row| row.paper_cycles).collect()),
                Bars::new("here", rows.iter().map(|row| row.cycles).collect()),
            ],
            stacked: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::workloads;

    use super::{TABLE_2, in_paper};

    #[test]
    fn every_counterpart_of_table_2_is_a_workload() {
        for name in TABLE_2.iter().filter_map(|(_, ours, ..)| *ours) {
            assert!(workloads::by_name(name).is_ok(), "{name}");
        }
        assert_eq!(in_paper("srad"), Some((6.9, 323.0)));
        assert_eq!(in_paper("vectoradd"), None);
    }
}

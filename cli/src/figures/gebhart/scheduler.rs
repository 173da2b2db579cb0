//! Figs. 9 and 10: the two-level scheduler over the main register file, without a cache.

use anyhow::Result;

use super::{WARPS, claim};
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Content, Table};
use crate::figures::statistics::{category, deviation, mean};
use crate::figures::sweep::{Point, Results, Run};

/// Active warps of Fig. 9; 32 are all, the single-level scheduler.
const SIZES: [u64; 5] = [4, 6, 8, 16, WARPS];
/// Active warps with the short ALU latency of §5.5.
const SHORT_LATENCY_SIZES: [u64; 3] = [4, 6, 8];
/// ALU latency of §5.5, cycles.
const SHORT_LATENCY: u64 = 4;

/// Policies of the baseline design's scheduler.
const SINGLE_LEVEL: [&str; 2] = ["gto", "lrr"];

fn single_level(policy: &str) -> Point {
    Point::baseline().with("scheduler.single_level", policy)
}

fn greedy(active: u64) -> Point {
    Point::two_level(active).with("scheduler.inner", "greedy")
}

fn round_robin(active: u64) -> Point {
    Point::two_level(active).with("scheduler.inner", "round-robin")
}

fn short_latency(active: u64) -> Point {
    greedy(active).with("latency.alu", SHORT_LATENCY)
}

/// Both policies at every size, the short latency at the small ones, and the single-level schedulers of the
/// baseline design.
pub fn points_9() -> Vec<Point> {
    let policies = SIZES.into_iter().flat_map(|active| [greedy(active), round_robin(active)]);
    let short = SHORT_LATENCY_SIZES.into_iter().map(short_latency);
    policies.chain(short).chain(SINGLE_LEVEL.map(single_level)).collect()
}

/// Greedy at every size.
pub fn points_10() -> Vec<Point> {
    SIZES.into_iter().map(greedy).collect()
}

/// Fewest and most warps resident at a time, over the launches of a run.
fn resident_warps(run: &Run) -> (u64, u64) {
    let resident = || run.report.residency.iter().map(|launch| launch.resident_warps);
    (resident().min().unwrap_or(0), resident().max().unwrap_or(0))
}

/// Workloads with as many warps resident as the SM has, in some launch at least.
fn eligible(results: &Results) -> Vec<usize> {
    let runs = results.of(&greedy(WARPS));
    (0..runs.len()).filter(|&workload| resident_warps(&runs[workload]).1 >= WARPS).collect()
}

/// Workloads and how many of their warps are resident.
fn residency_table(results: &Results) -> Table {
    let mut table = Table::new("residency", "Resident warps")
        .column("workload", "workload")
        .column("category", "category")
        .column("fewest_resident_warps", "fewest, over launches")
        .column("most_resident_warps", "most")
        .column("counted", "counted here");
    let counted = eligible(results);
    for (position, run) in results.of(&greedy(WARPS)).iter().enumerate() {
        let name = results.workloads[position].name;
        let (fewest, most) = resident_warps(run);
        let verdict = if counted.contains(&position) { "yes" } else { "no" };
        table.row(vec![name.into(), category(name).into(), fewest.into(), most.into(), verdict.into()]);
    }
    table
}

/// IPC of the counted workloads at a point.
fn ipcs(results: &Results, point: &Point) -> Vec<f64> {
    let runs = results.of(point);
    eligible(results).into_iter().map(|workload| runs[workload].report.ipc).collect()
}

/// Mean IPC relative to another point's, per cent more.
fn change(results: &Results, point: &Point, reference: &Point) -> Option<f64> {
    let (ipc, reference) = (mean(ipcs(results, point))?, mean(ipcs(results, reference))?);
    (reference > 0.0).then(|| 100.0 * (ipc / reference - 1.0))
}

fn signed_percent(value: Option<f64>) -> String {
    value.map_or_else(|| "no value".to_owned(), |value| format!("{value:+.1} %"))
}

/// Fig. 9.
pub fn figure_9(results: &Results) -> Result<Content> {
    let mut table =
        Table::new("ipc_by_active_warps", "IPC: arithmetic mean and standard deviation over workloads")
            .column("active_warps", "active warps")
            .real("greedy_ipc", "greedy", 3)
            .real("greedy_ipc_deviation", "± deviation", 3)
            .real("greedy_relative_percent", "against all active, %", 1)
            .real("round_robin_ipc", "round-robin", 3)
            .real("round_robin_ipc_deviation", "± deviation", 3)
            .real("round_robin_relative_percent", "against greedy, %", 1)
            .real("short_latency_ipc", "ALU latency 4", 3)
            .real("short_latency_relative_percent", "against latency 8, %", 1);
    for active in SIZES {
        let (greedy, round_robin) = (greedy(active), round_robin(active));
        let short = SHORT_LATENCY_SIZES.contains(&active).then(|| short_latency(active));
        let relative = |point: &Point, reference: &Point| Cell::from(change(results, point, reference));
        table.row(vec![
            active.into(),
            mean(ipcs(results, &greedy)).into(),
            deviation(&ipcs(results, &greedy)).into(),
            relative(&greedy, &self::greedy(WARPS)),
            mean(ipcs(results, &round_robin)).into(),
            deviation(&ipcs(results, &round_robin)).into(),
            relative(&round_robin, &greedy),
            short.as_ref().and_then(|short| mean(ipcs(results, short))).into(),
            short.as_ref().map_or(Cell::Missing, |short| relative(short, &greedy)),
        ]);
    }
    Ok(Content {
        claims: claims_9(results),
        tables: vec![table, single_level_table(results), ipc_by_workload(results), residency_table(results)],
        notes: vec![
            counted_note(results),
            "After a stall, greedy goes on to the next ready warp in rotating order; greedy then oldest goes back \
             to the one that became resident first."
                .to_owned(),
        ],
        charts: vec![chart_9(results)],
    })
}

/// The baseline design's policies beside the two-level scheduler with all warps active.
fn single_level_table(results: &Results) -> Table {
    let mut table = Table::new("single_level_ipc", "IPC of schedulers that see all 32 warps")
        .column("policy", "policy")
        .real("ipc", "IPC", 3)
        .real("ipc_deviation", "± deviation", 3)
        .real("relative_percent", "against greedy, then next, %", 1);
    let policies = [
        ("greedy, then next (two-level, all active)", greedy(WARPS)),
        ("round-robin (two-level, all active)", round_robin(WARPS)),
        ("greedy, then oldest (baseline)", single_level("gto")),
        ("loose round-robin (baseline)", single_level("lrr")),
    ];
    for (name, point) in policies {
        table.row(vec![
            name.into(),
            mean(ipcs(results, &point)).into(),
            deviation(&ipcs(results, &point)).into(),
            change(results, &point, &greedy(WARPS)).into(),
        ]);
    }
    table
}

fn claims_9(results: &Results) -> Vec<crate::figures::report::Claim> {
    let all = greedy(WARPS);
    let list = |sizes: &[u64], of: &dyn Fn(u64) -> Option<f64>| {
        let parts = sizes.iter().map(|&size| format!("{size} active: {}", signed_percent(of(size))));
        parts.collect::<Vec<_>>().join(", ")
    };
    vec![
        claim(
            "§5.2",
            "8 active warps achieve nearly the performance of 32",
            signed_percent(change(results, &greedy(8), &all)),
        )
        .number(Number::change(
            "eight_active",
            "IPC of 8 active warps beside 32 (\"nearly identical\")",
            Stated::exactly(0.0),
            change(results, &greedy(8), &all),
        )),
        claim(
            "§5.2",
            "6 active warps lose 1 % on compute, 5 % on shaders",
            signed_percent(change(results, &greedy(6), &all)),
        )
        .number(Number::change(
            "six_active",
            "IPC of 6 active warps beside 32",
            Stated::exactly(-1.0),
            change(results, &greedy(6), &all),
        )),
        claim(
            "§5.2",
            "performance deteriorates significantly with fewer than 6",
            format!("4 active: {}", signed_percent(change(results, &greedy(4), &all))),
        ),
        claim(
            "§5.2",
            "round-robin performs worse than greedy beyond a certain number of active warps",
            list(&SIZES, &|size| change(results, &round_robin(size), &greedy(size))),
        ),
        claim(
            "§5.5",
            "an ALU latency of 4 increases IPC by 5 % with 4 active warps, less with 6 and 8",
            list(&SHORT_LATENCY_SIZES, &|size| change(results, &short_latency(size), &greedy(size))),
        )
        .numbers(SHORT_LATENCY_SIZES.map(|size| {
            let paper = if size == 4 { Stated::exactly(5.0) } else { Stated::between(0.0, 5.0) };
            let here = change(results, &short_latency(size), &greedy(size));
            let what = format!("IPC of an ALU latency of 4 with {size} active warps");
            Number::change(format!("short_latency_{size}"), what, paper, here)
        })),
    ]
}

fn counted_note(results: &Results) -> String {
    format!(
        "Averages are over the {} of {} workloads that have {WARPS} warps resident.",
        eligible(results).len(),
        results.workloads.len()
    )
}

fn chart_9(results: &Results) -> Chart {
    let bars = |name: &str, point: fn(u64) -> Point, sizes: &[u64]| {
        let at = |size: &u64| sizes.contains(size).then(|| ipcs(results, &point(*size)));
        Bars {
            name: name.to_owned(),
            values: SIZES.iter().map(|size| at(size).and_then(mean)).collect(),
            deviations: SIZES
                .iter()
                .map(|size| at(size).and_then(|ipcs| deviation(&ipcs)).unwrap_or(0.0))
                .collect(),
            paper: Vec::new(),
        }
    };
    Chart {
        title: "IPC, mean ± standard deviation".to_owned(),
        x_label: "active warps".to_owned(),
        y_label: "warp instructions a cycle".to_owned(),
        plot: Plot::Bars {
            groups: SIZES.iter().map(u64::to_string).collect(),
            series: vec![
                bars("greedy", greedy, &SIZES),
                bars("round-robin", round_robin, &SIZES),
                bars("greedy, ALU latency 4", short_latency, &SHORT_LATENCY_SIZES),
            ],
            stacked: false,
        },
    }
}

/// Counted workloads, lowest IPC with all warps active first.
fn sorted(results: &Results) -> Vec<usize> {
    let runs = results.of(&greedy(WARPS));
    let mut order = eligible(results);
    order.sort_by(|&a, &b| runs[a].report.ipc.total_cmp(&runs[b].report.ipc));
    order
}

fn ipc_by_workload(results: &Results) -> Table {
    let title = "IPC by workload and active warps, greedy; sorted by IPC with all active";
    let mut table =
        Table::new("ipc_by_workload", title).column("workload", "workload").column("category", "category");
    for size in SIZES {
        table = table.real(format!("active_{size}_ipc"), size.to_string(), 3);
    }
    for workload in sorted(results) {
        let name = results.workloads[workload].name;
        let mut cells: Vec<Cell> = vec![name.into(), category(name).into()];
        cells.extend(SIZES.iter().map(|&size| results.of(&greedy(size))[workload].report.ipc.into()));
        table.row(cells);
    }
    table
}

/// Fig. 10.
pub fn figure_10(results: &Results) -> Result<Content> {
    let order = sorted(results);
    let ipc = |size: u64, workload: usize| results.of(&greedy(size))[workload].report.ipc;
    let faster: Vec<String> = order
        .iter()
        .filter_map(|&workload| {
            let best = SIZES.into_iter().max_by(|&a, &b| ipc(a, workload).total_cmp(&ipc(b, workload)))?;
            let gain = 100.0 * (ipc(best, workload) / ipc(WARPS, workload) - 1.0);
            let name = results.workloads[workload].name;
            (gain > 0.05).then(|| format!("{name} +{gain:.1} % with {best}"))
        })
        .collect();
    let here = if faster.is_empty() { "none".to_owned() } else { faster.join(", ") };
    let series = SIZES.map(|size| {
        let values = order.iter().map(|&workload| Some(ipc(size, workload))).collect();
        Bars::new(if size == WARPS { "32: all".to_owned() } else { size.to_string() }, values)
    });
    Ok(Content {
        claims: vec![
            claim("§5.2", "some traces see higher performance with fewer active warps", here),
            claim(
                "§5.2",
                "8 active warps achieve nearly the performance of a single-level scheduler",
                signed_percent(change(results, &greedy(8), &greedy(WARPS))),
            ),
        ],
        tables: vec![ipc_by_workload(results), residency_table(results)],
        notes: vec![counted_note(results)],
        charts: vec![Chart {
            title: "IPC by active warps".to_owned(),
            x_label: String::new(),
            y_label: "warp instructions a cycle".to_owned(),
            plot: Plot::Bars {
                groups: order.iter().map(|&workload| results.workloads[workload].name.to_owned()).collect(),
                series: series.into(),
                stacked: false,
            },
        }],
    })
}

//! The policies that the text compares in words: replacement, source allocation (§3.1), suspension (§3.2), and
//! the two refinements of §5.3.

use anyhow::Result;
use warpfile_sim::mechanisms::rfc;

use super::{
    ACTIVE, ENTRIES, Measure, SWEEP, WARPS, by_workload, catalogue_order, claim, mrf_accesses, overall,
    reads_avoided, relative_ipc, writes_avoided,
};
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::sweep::{Point, Results, Run};

/// Entries of the "large RFC" of §3.1: the largest of the sweeps.
const LARGE: u64 = *SWEEP.end();

/// A policy beside the one it departs from.
struct Policy {
    key: &'static str,
    name: &'static str,
    point: Point,
    reference: Point,
}

fn policy(
    key: &'static str,
    name: &'static str,
    reference: &Point,
    changes: &[(&'static str, bool)],
) -> Policy {
    let point =
        changes.iter().fold(reference.clone(), |point, &(parameter, value)| point.with(parameter, value));
    Policy { key, name, point, reference: reference.clone() }
}

fn all_policies() -> Vec<Policy> {
    let unflushed = Point::rfc(ENTRIES, WARPS);
    let large = Point::rfc(LARGE, WARPS);
    let combined = Point::rfc(ENTRIES, ACTIVE);
    let lru = |key, name, reference: &Point| Policy {
        point: reference.clone().with("rfc.replacement", "lru"),
        ..policy(key, name, reference, &[])
    };
    let sources = [("rfc.allocate_sources", true)];
    let bypass = ("rfc.bypass_idle", true);
    let evict = ("rfc.evict_idle_first", true);
    vec![
        policy("fifo_6", "FIFO, 6 entries, 32 active", &unflushed, &[]),
        lru("lru_6", "LRU, 6 entries, 32 active", &unflushed),
        policy("sources_6", "sources allocated, 6 entries, 32 active", &unflushed, &sources),
        policy("fifo_13", "FIFO, 13 entries, 32 active", &large, &[]),
        policy("sources_13", "sources allocated, 13 entries, 32 active", &large, &sources),
        policy("combined", "6 entries, 8 active", &combined, &[]),
        lru("combined_lru", "… LRU", &combined),
        policy("bypass", "… results not read before suspension bypass", &combined, &[bypass]),
        policy("evict", "… values not read before suspension evicted first", &combined, &[evict]),
        policy("bypass_evict", "… both", &combined, &[bypass, evict]),
        policy(
            "suspend_if_not_ready",
            "… suspended only if the value is not ready",
            &combined,
            &[("scheduler.suspend_when_ready", false)],
        ),
    ]
}

/// Every policy and what it departs from.
pub fn points() -> Vec<Point> {
    all_policies().into_iter().map(|policy| policy.point).collect()
}

/// Per cent by which a quantity grows; `None` from nothing.
fn growth(value: f64, reference: f64) -> Option<f64> {
    (reference > 0.0).then(|| 100.0 * (value / reference - 1.0))
}

/// Values that the cache wrote back. Every result is written to the cache or to the MRF, so MRF writes that are
/// not results are writebacks; `None` if other values than results are allocated.
fn writebacks(run: &Run) -> Option<f64> {
    let (mrf, cache) = (run.report.mrf(), rfc::accesses(&run.report));
    (!run.config.of::<rfc::Parameters>().allocate_sources)
        .then(|| (mrf.writes + cache.writes) as f64 - run.report.operands.writes as f64)
}

/// What is compared, column by column.
fn compare(column: usize, run: &Run, reference: &Run) -> Option<f64> {
    let mrf = |run: &Run| run.report.mrf();
    match column {
        0 => reads_avoided(run),
        1 => writes_avoided(run),
        2 => growth(mrf(run).reads as f64, mrf(reference).reads as f64),
        3 => growth(mrf(run).writes as f64, mrf(reference).writes as f64),
        4 => growth(mrf_accesses(run), mrf_accesses(reference)),
        5 => growth(writebacks(run)?, writebacks(reference)?),
        6 => Some(growth(
            rfc::accesses(&run.report).writes as f64,
            rfc::accesses(&reference.report).writes as f64,
        )?),
        _ipc => relative_ipc(run, reference).map(|ipc| 100.0 * (ipc - 1.0)),
    }
}

/// Keys and headings of [`compare`]'s columns.
const COLUMNS: [(&str, &str); 8] = [
    ("mrf_reads_avoided_percent", "reads avoided"),
    ("mrf_writes_avoided_percent", "writes avoided"),
    ("mrf_reads_change_percent", "MRF reads"),
    ("mrf_writes_change_percent", "MRF writes"),
    ("mrf_accesses_change_percent", "MRF accesses"),
    ("writebacks_change_percent", "writebacks"),
    ("rfc_writes_change_percent", "RFC writes"),
    ("ipc_change_percent", "IPC"),
];
/// Column of the change in MRF accesses.
const ACCESSES: usize = 4;

/// The comparison.
pub fn policies(results: &Results) -> Result<Content> {
    let policies = all_policies();
    let value = |column: usize, policy: &Policy, workload: usize| {
        compare(column, &results.of(&policy.point)[workload], &results.of(&policy.reference)[workload])
    };
    let title = "Policies, mean over workloads, per cent: avoided, then the change against the first line of the block";
    let mut means = Table::new("policies", title).column("policy", "policy");
    for (key, heading) in COLUMNS {
        means = means.real(key, heading, 1);
    }
    for policy in &policies {
        let mut cells: Vec<Cell> = vec![policy.name.into()];
        let mean = |column| overall(results, |workload| value(column, policy, workload));
        cells.extend((0..COLUMNS.len()).map(|column| Cell::from(mean(column))));
        means.row(cells);
    }
    let departures: Vec<&Policy> =
        policies.iter().filter(|policy| policy.point != policy.reference).collect();
    let measures: Vec<Measure> = departures
        .iter()
        .map(|policy| Measure::new(format!("{}_mrf_accesses_change_percent", policy.key), policy.key, 1))
        .collect();
    let by_workload = by_workload(
        Table::new("mrf_accesses_by_workload", "Change of MRF accesses by workload, per cent"),
        &results.workloads,
        &catalogue_order(&results.workloads),
        &measures,
        |column, workload| value(ACCESSES, departures[column], workload),
    );
    let mean = |key: &str, column: usize| {
        let policy = policies.iter().find(|policy| policy.key == key)?;
        overall(results, |workload| value(column, policy, workload))
    };
    let series = [(2, "MRF reads"), (3, "MRF writes")].map(|(column, name)| {
        Bars::new(name, departures.iter().map(|policy| mean(policy.key, column)).collect())
    });
    Ok(Content {
        claims: claims(&mean),
        tables: vec![means, by_workload],
        notes: vec![
            "All with static liveness. Writebacks are values that the cache writes to the MRF, on eviction or \
             flush; with source allocation they cannot be told from the report."
                .to_owned(),
        ],
        charts: vec![Chart {
            title: "Change of MRF accesses by policy".to_owned(),
            x_label: String::new(),
            y_label: "per cent".to_owned(),
            plot: Plot::Bars {
                groups: departures.iter().map(|policy| policy.key.replace('_', " ")).collect(),
                series: series.into(),
                stacked: false,
            },
        }],
    })
}

fn claims(mean: &dyn Fn(&str, usize) -> Option<f64>) -> Vec<Claim> {
    let change = |key: &str, column: usize| {
        mean(key, column).map_or_else(|| "no value".to_owned(), |value| format!("{value:+.1} %"))
    };
    vec![
        claim(
            "§3.1",
            "LRU instead of FIFO reduces MRF accesses by only 1–2 % more",
            format!("{}; with 8 active {}", change("lru_6", ACCESSES), change("combined_lru", ACCESSES)),
        )
        .number(Number::change(
            "lru",
            "MRF accesses of LRU beside FIFO",
            Stated::between(-2.0, -1.0),
            mean("lru_6", ACCESSES),
        )),
        claim(
            "§3.1",
            "allocating sources too: 5 % fewer MRF reads with a large RFC, 10–20 % more MRF writes",
            format!(
                "13 entries: reads {}, writes {}; 6 entries: reads {}, writes {}",
                change("sources_13", 2),
                change("sources_13", 3),
                change("sources_6", 2),
                change("sources_6", 3)
            ),
        )
        .numbers([
            Number::change(
                "sources_reads",
                "MRF reads with sources allocated, 13 entries",
                Stated::exactly(-5.0),
                mean("sources_13", 2),
            ),
            Number::change(
                "sources_writes",
                "MRF writes with sources allocated, 13 entries",
                Stated::between(10.0, 20.0),
                mean("sources_13", 3),
            ),
        ]),
        claim(
            "§5.3",
            "bypass and eviction by liveness reduce MRF accesses by 1–2 %",
            format!(
                "bypass {}, eviction {}, both {}",
                change("bypass", ACCESSES),
                change("evict", ACCESSES),
                change("bypass_evict", ACCESSES)
            ),
        )
        .number(Number::change(
            "bypass_accesses",
            "MRF accesses with bypass and eviction by liveness",
            Stated::between(-2.0, -1.0),
            mean("bypass_evict", ACCESSES),
        )),
        claim(
            "§5.3",
            "they reduce RFC writebacks to the MRF by 30 %",
            format!(
                "bypass {}, eviction {}, both {}",
                change("bypass", 5),
                change("evict", 5),
                change("bypass_evict", 5)
            ),
        )
        .number(Number::change(
            "bypass_writebacks",
            "writebacks with bypass and eviction by liveness",
            Stated::exactly(-30.0),
            mean("bypass_evict", 5),
        )),
        claim(
            "§3.2",
            "a marked instruction suspends its warp at once: the value will not be ready",
            format!(
                "suspending only if it is not: IPC {}, MRF accesses {}",
                change("suspend_if_not_ready", 7),
                change("suspend_if_not_ready", ACCESSES)
            ),
        ),
    ]
}

//! Figs. 17 and 18: where regions' registers come from, and what that asks of the L1.

use anyhow::Result;
use warpfile_sim::mechanisms::regless::staging;
use warpfile_sim::sm::RunReport;

use super::rodinia::{AVERAGES, Average, Series, baseline, chart, named, ratio, regless, table};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::sweep::{Point, Results};

/// RegLess, and the baseline whose memory traffic its own adds to.
pub fn points_17() -> Vec<Point> {
    vec![regless(), baseline()]
}

/// RegLess.
pub fn points_18() -> Vec<Point> {
    vec![regless()]
}

/// Preloads by where their register was. A compressed register whose line was not in the compressor was where the line
/// was; of which level lines were fetched for preloads, and of which for evictions, is not counted apart.
struct Sources {
    staged: f64,
    unwritten: f64,
    compressor: f64,
    l1: f64,
    beyond: f64,
}

impl Sources {
    fn of(report: &RunReport) -> Sources {
        let (preloads, lines) = (staging(report).preloads, &report.memory.register_lines);
        let registers_from_l1 = lines.fetched_from_l1 - lines.compressed_from_l1;
        let compressed_from_beyond = lines.compressed_from_l2 + lines.compressed_from_dram;
        let compressed = lines.compressed_from_l1 + compressed_from_beyond;
        let registers = lines.fetches() - compressed;
        let in_l1 = ratio(lines.compressed_from_l1 as f64, compressed as f64).unwrap_or(1.0);
        let misses = preloads.compressor_misses as f64;
        Sources {
            staged: preloads.staged as f64,
            unwritten: preloads.unwritten as f64,
            compressor: preloads.compressor_hits as f64,
            l1: registers_from_l1 as f64 + misses * in_l1,
            beyond: (registers - registers_from_l1) as f64 + misses * (1.0 - in_l1),
        }
    }

    fn all(&self) -> f64 {
        self.staged + self.unwritten + self.compressor + self.l1 + self.beyond
    }
}

/// Fig. 17.
pub fn figure_17(results: &Results) -> Result<Content> {
    let staged = results.of(&regless());
    let percent = |key: &str, heading: &str, decimals: usize, part: fn(&Sources) -> f64| {
        Series::of_runs(key, heading, decimals, staged, |run| {
            let sources = Sources::of(&run.report);
            ratio(100.0 * part(&sources), sources.all())
        })
    };
    let sources = [
        percent("staged_percent", "staging unit, %", 2, |sources| sources.staged),
        percent("unwritten_percent", "no value yet, %", 2, |sources| sources.unwritten),
        percent("compressor_percent", "compressor, %", 2, |sources| sources.compressor),
        percent("l1_percent", "L1, %", 3, |sources| sources.l1),
        percent("beyond_percent", "L2 or DRAM, %", 3, |sources| sources.beyond),
    ];
    let preloads =
        Series::of_runs("preloads", "preloads", 0, staged, |run| Some(Sources::of(&run.report).all()));
    let l2 = added_l2(results);
    let columns: Vec<Series> = std::iter::once(preloads).chain(sources).chain([l2]).collect();
    Ok(Content {
        claims: claims_17(results, &columns),
        tables: vec![table("preloads", "Where preloads found their register", results, &columns, Average::Arithmetic)],
        notes: vec![
            "The last column: register lines that went to or came from the L2, per hundred requests of the baseline's \
             data to it."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![
            chart(
                "where preloads found their register",
                "% of preloads",
                results,
                &columns[1..=5],
                Average::Arithmetic,
                true,
            ),
            chart(
                "preloads that left the staging unit",
                "% of preloads",
                results,
                &columns[3..=5],
                Average::Arithmetic,
                true,
            ),
        ],
    })
}

/// Register lines to and from the L2 beside the baseline's data.
fn added_l2(results: &Results) -> Series {
    let pairs = results.of(&regless()).iter().zip(results.of(&baseline()));
    let added = pairs.map(|(run, base)| {
        let lines = &run.report.memory.register_lines;
        let of_lines = lines.fetched_from_l2 + lines.fetched_from_dram + lines.written_to_l2;
        ratio(100.0 * of_lines as f64, base.report.memory.transactions as f64)
    });
    Series::new("added_l2_percent", "added L2 requests, %", 2, added.collect())
}

fn claims_17(results: &Results, columns: &[Series]) -> Vec<Claim> {
    let [_, staged, unwritten, compressor, l1, beyond, added] = columns else { return Vec::new() };
    let mean = |series: &Series, decimals: usize| {
        let mean = series.average(results, Average::Arithmetic);
        mean.map_or_else(|| "no value".to_owned(), |mean| format!("{mean:.decimals$} %"))
    };
    let one = |value: f64| format!(" {value:.1} %");
    let never_miss = staged
        .values
        .iter()
        .zip(&unwritten.values)
        .map(|(staged, unwritten)| Some((*staged)? + (*unwritten)?));
    let never_miss = Series::new("hits_percent", "hits", 1, never_miss.collect());
    vec![
        Claim::new(
            "§6.5",
            "0.9 % of preloads reach the L1, 0.013 % the L2 or DRAM",
            format!(
                "{} and {}; {} find their register in the staging unit, {} in the compressor",
                mean(l1, 2),
                mean(beyond, 3),
                mean(staged, 1),
                mean(compressor, 1)
            ),
        )
        .numbers([
            Number::share(
                "l1",
                "preloads that reach the L1",
                Stated::exactly(0.9),
                l1.average(results, Average::Arithmetic),
            ),
            Number::share(
                "beyond",
                "preloads that reach the L2 or DRAM",
                Stated::exactly(0.013),
                beyond.average(results, Average::Arithmetic),
            ),
        ]),
        Claim::new(
            "§6.5",
            "bfs, nw and others never miss in the staging units",
            format!("no miss: {}", named(results, &never_miss, |value| value >= 100.0, |_| String::new())),
        ),
        Claim::new(
            "§6.5",
            "b+tree, hotspot and pathfinder use the compressors' capacity",
            format!(
                "compressor serves 1 % or more: {}",
                named(results, compressor, |value| value >= 1.0, one)
            ),
        ),
        Claim::new(
            "§6.5",
            "L2 requests added: kmeans 0.5 %, hybridsort 1.0 %, dwt2d 2.6 %, others negligible",
            format!("0.5 % or more: {}", named(results, added, |value| value >= 0.5, one)),
        )
        .numbers([("kmeans", 0.5), ("hybridsort", 1.0), ("dwt2d", 2.6)].map(|(name, paper)| {
            let here = added.of_workload(results, name);
            Number::share(
                format!("added_l2_{name}"),
                format!("L2 requests added, {name}"),
                Stated::exactly(paper),
                here,
            )
        })),
    ]
}

/// Fig. 18.
pub fn figure_18(results: &Results) -> Result<Content> {
    let staged = results.of(&regless());
    let per_cycle = |key: &str, heading: &str, requests: fn(&RunReport) -> u64| {
        Series::of_runs(key, heading, 4, staged, |run| {
            ratio(requests(&run.report) as f64, run.report.sm_cycles() as f64)
        })
    };
    let lines = [
        per_cycle("fetches", "preloads", |report| report.memory.register_lines.fetches()),
        per_cycle("stores", "stores", |report| report.memory.register_lines.writes),
        per_cycle("invalidations", "invalidations", |report| report.memory.register_lines.invalidations),
        per_cycle("drops", "warps that end", |report| report.memory.register_lines.drops),
    ];
    let all =
        per_cycle("register_lines", "all of RegLess", |report| report.memory.register_lines.l1_requests());
    let moves = per_cycle("compressed", "of these lines of compressed registers", |report| {
        let lines = &report.memory.register_lines;
        lines.compressed_from_l1
            + lines.compressed_from_l2
            + lines.compressed_from_dram
            + lines.compressed_writes
    });
    let data = per_cycle("data", "loads and stores", |report| report.memory.transactions);
    let columns: Vec<Series> = lines.into_iter().chain([all, moves, data]).collect();
    Ok(Content {
        claims: claims_18(results, &columns),
        tables: vec![table(
            "l1_requests_per_cycle",
            "Requests of the L1 a cycle, of one that it takes",
            results,
            &columns,
            Average::Arithmetic,
        )],
        notes: vec![
            "A request fetches, writes or drops one line. Preloads include lines of compressed registers that an \
             eviction needs. A warp that ends asks once, whatever it has in memory."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![chart(
            "RegLess's requests of the L1",
            "requests a cycle",
            results,
            &columns[..4],
            Average::Arithmetic,
            true,
        )],
    })
}

fn claims_18(results: &Results, columns: &[Series]) -> Vec<Claim> {
    let [fetches, stores, invalidations, drops, all, _, _] = columns else { return Vec::new() };
    let mean = |series: &Series| {
        series
            .average(results, Average::Arithmetic)
            .map_or_else(|| "no value".to_owned(), |mean| format!("{mean:.4}"))
    };
    let moved = fetches.values.iter().zip(&stores.values).zip(&invalidations.values);
    let moved =
        moved.map(|((fetches, stores), invalidations)| Some((*fetches)? + (*stores)? + (*invalidations)?));
    let moved = Series::new("moved", "moved", 4, moved.collect());
    let more = stores.values.iter().zip(&fetches.values);
    let more = more.map(|(stores, fetches)| ratio((*stores)?, (*fetches)?));
    let more = Series::new("stores_a_load", "stores a load", 2, more.collect());
    vec![
        Claim::new(
            "§6.5",
            "fewer than 0.02 requests a cycle on average",
            format!("{} and {} for warps that end; {} together", mean(&moved), mean(drops), mean(all)),
        )
        .number(Number::of(
            "requests a cycle",
            "l1_requests",
            "requests of the L1 for registers, warps that end included",
            Stated::at_most(0.02),
            all.average(results, Average::Arithmetic),
        )),
        Claim::new(
            "§6.5",
            "benchmarks without misses in the staging unit use no L1 bandwidth",
            format!(
                "below 0.0001, warps' ends aside: {}",
                named(results, &moved, |value| value < 0.0001, |_| String::new())
            ),
        ),
        Claim::new(
            "§6.5",
            "hybridsort and srad_v2 store more than they load",
            format!(
                "stores a load, where above 1: {}",
                named(results, &more, |value| value > 1.0, |value| format!(" {value:.2}"))
            ),
        ),
    ]
}

//! Figs. 3 and 11: what a scratchpad elides, alone against the length of strands, and beside a cache.

use anyhow::Result;
use warpfile_sim::mechanisms::hybrid::scratchpad_accesses;
use warpfile_sim::sm::RunReport;

use super::{AVERAGES, COMPARED, KILOBYTES, register_scratchpad, share};
use crate::figures::chart::{Chart, Line, LineStyle, Plot};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, ratio, table};
use crate::figures::sweep::{Point, Results};

/// Hit rate of reads in the cache of the hybrid, and of one alone, per cent (§IV-C).
const HIT_RATE: f64 = 51.3;
const HIT_RATE_ALONE: f64 = 71.5;

/// A scratchpad alone.
pub fn points_3() -> Vec<Point> {
    vec![register_scratchpad(KILOBYTES)]
}

/// A cache alone, and the hybrid.
pub fn points_11() -> Vec<Point> {
    vec![cache_alone(), hybrid()]
}

fn cache_alone() -> Point {
    (COMPARED[0].point)()
}

fn hybrid() -> Point {
    (COMPARED[2].point)()
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    ratio(100.0 * part as f64, whole as f64)
}

/// Fig. 3.
pub fn figure_3(results: &Results) -> Result<Content> {
    let runs = results.of(&register_scratchpad(KILOBYTES));
    let length = Series::of_runs("instructions", "instructions a strand", 1, runs, |run| {
        let report = &run.report;
        ratio(report.warp_instructions as f64, scratchpad_accesses(report).strands as f64)
    });
    let elided = Series::of_runs("elided", "accesses elided, %", 1, runs, |run| {
        let (all, main) = (run.report.operands, run.report.mrf());
        let all = all.reads + all.writes;
        percent(all.saturating_sub(main.reads + main.writes), all)
    });
    let pairs = length.values.iter().zip(&elided.values);
    let mut points: Vec<(f64, f64)> = pairs.filter_map(|(x, y)| Some(((*x)?, (*y)?))).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = points.len() / 2;
    let mean =
        |points: &[(f64, f64)]| points.iter().map(|point| point.1).sum::<f64>() / points.len().max(1) as f64;
    let here = format!(
        "mean of the {half} workloads with the shorter strands {:.1} %, of the others {:.1} %",
        mean(&points[..half]),
        mean(&points[half..])
    );
    let drawn = Chart {
        title: "accesses elided by a register scratchpad of 12 KB".to_owned(),
        x_label: "instructions executed a strand".to_owned(),
        y_label: "% of all accesses".to_owned(),
        plot: Plot::Lines(vec![Line { name: "workloads".to_owned(), points, style: LineStyle::Marks }]),
    };
    Ok(Content {
        claims: vec![Claim::new(
            "§II-C.1",
            "shorter intervals between strand boundaries diminish the scratchpad's effectiveness",
            here,
        )],
        tables: vec![table(
            "strands",
            "Instructions of a strand, and accesses to the main register file elided",
            results,
            &[length, elided],
            Average::Geometric,
        )],
        notes: vec![AVERAGES.to_owned()],
        charts: vec![drawn],
    })
}

/// Accesses of the hybrid's components, per cent of all of their kind (§IV-C).
struct Components {
    scratchpad_writes: Option<f64>,
    cache_writes: Option<f64>,
    scratchpad_reads: Option<f64>,
    cache_reads: Option<f64>,
    /// Reads served by the cache, per cent of those that it is asked for.
    hit_rate: Option<f64>,
}

/// Writes elided by a structure are those to it from above less those from it; reads elided are those that it serves.
fn components(report: &RunReport) -> Components {
    let (all, main, rsp) = (report.operands, report.mrf(), scratchpad_accesses(report));
    let behind_writes = all.writes - rsp.result_writes + rsp.transfers;
    let behind_reads = all.reads - rsp.operand_reads;
    let served = behind_reads.saturating_sub(main.reads);
    Components {
        scratchpad_writes: percent(rsp.result_writes.saturating_sub(rsp.transfers), all.writes),
        cache_writes: percent(behind_writes.saturating_sub(main.writes), all.writes),
        scratchpad_reads: percent(rsp.operand_reads, all.reads),
        cache_reads: percent(served, all.reads),
        hit_rate: percent(served, behind_reads),
    }
}

/// Fig. 11.
pub fn figure_11(results: &Results) -> Result<Content> {
    let of = |key: &str, heading: &str, point: &Point, value: fn(&Components) -> Option<f64>| {
        Series::of_runs(key, heading, 1, results.of(point), |run| value(&components(&run.report)))
    };
    let point = hybrid();
    let writes = [
        of("rsp_writes", "scratchpad: writes, %", &point, |part| part.scratchpad_writes),
        of("rc_writes", "cache: writes, %", &point, |part| part.cache_writes),
    ];
    let reads = [
        of("rsp_reads", "scratchpad: reads, %", &point, |part| part.scratchpad_reads),
        of("rc_reads", "cache: reads, %", &point, |part| part.cache_reads),
    ];
    let hits = of("hit_rate", "cache: read hits, %", &point, |part| part.hit_rate);
    let alone = of("hit_rate_alone", "cache alone: read hits, %", &cache_alone(), |part| part.hit_rate);
    let more = |pair: &[Series; 2]| {
        let pairs = pair[0].values.iter().zip(&pair[1].values);
        pairs.filter(|(scratchpad, cache)| scratchpad > cache).count()
    };
    let here = format!(
        "the scratchpad elides more writes in {} and more reads in {} of {} workloads",
        more(&writes),
        more(&reads),
        results.workloads.len()
    );
    let average = |series: &Series| series.average(results, Average::Geometric);
    let claims = vec![
        Claim::new("§IV-C", "the scratchpad tends to elide more register accesses than the cache", here),
        share(
            "§IV-C",
            "hit_rate",
            "hit rate of register reads in the hybrid's cache",
            HIT_RATE,
            average(&hits),
        ),
        share(
            "§IV-C",
            "hit_rate_alone",
            "hit rate of register reads in a cache alone",
            HIT_RATE_ALONE,
            average(&alone),
        ),
    ];
    let drawn = |what: &str, series: &[Series]| {
        chart(format!("register {what} elided"), "% of all", results, series, Average::Geometric, true)
    };
    let charts = vec![drawn("writes", &writes), drawn("reads", &reads)];
    let columns: Vec<Series> = writes.into_iter().chain(reads).chain([hits, alone]).collect();
    Ok(Content {
        claims,
        tables: vec![table(
            "components",
            "Register accesses elided by the components of the hybrid, per cent of all of their kind",
            results,
            &columns,
            Average::Geometric,
        )],
        notes: vec![
            "A geometric mean is over the workloads in which the component elides something.".to_owned(),
            AVERAGES.to_owned(),
        ],
        charts,
    })
}

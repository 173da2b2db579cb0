//! Figs. 12, 13 and 21: what the backend still executes.

use anyhow::Result;
use warpfile_sim::mechanisms::wir::Pipelines;

use super::{
    AVERAGES, Design, NO_SIGNATURES, RL, RLPV, RLPVC, RPV, baseline, counted, share, together, values_absent,
};
use crate::figures::Cause;
use crate::figures::chart::{Chart, Line, LineStyle, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, percent_change, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// Instructions that bypass the backend, and dummy MOVs, per cent of the baseline's instructions (§VII-B).
const BYPASSED: f64 = 18.7;
const MOVES: f64 = 1.6;
/// Instructions that NoVSB bypasses at most, per cent (§VII-B).
const BYPASSED_WITHOUT_SIGNATURES: f64 = 2.0;
/// How much less often RLPV activates the memory pipeline than RPV at most, per cent (§VII-B).
const MEMORY_SAVED: f64 = 32.4;
/// Rows of the reuse buffer (Fig. 21).
const ROWS: [u64; 5] = [32, 64, 128, 256, 512];
/// Where Table II's are among them.
const DEFAULT_ROWS: usize = 3;
/// Instructions bypassed with 512 rows at least, per cent (§VII-G.2).
const BYPASSED_OF_512: f64 = 20.0;
/// Hits that pending-retry adds to those without, per cent (§VI-B).
const RETRY_HITS: f64 = 15.1;

/// Why numbers of Fig. 13 differ.
pub const CAUSES_13: &[Cause] = &[together(&["memory"])];

/// Why numbers of Fig. 21 differ.
pub const CAUSES_21: &[Cause] = &[Cause {
    of: &["retry_hits"],
    why: "One scheduler that has all registers and rows issues half as many instructions while a result is being computed: fewer \
          come too early for it and need the retry queue.",
    run: "--set sm.schedulers=1 --set sm.schedulers_per_partition=1",
}];

/// The baseline and the full design.
pub fn points_12() -> Vec<Point> {
    vec![baseline(), RLPV.point()]
}

/// The designs of which there are.
pub fn points_13() -> Vec<Point> {
    DESIGNS_13.map(Design::point).to_vec()
}

const DESIGNS_13: [Design; 4] = [NO_SIGNATURES, RPV, RLPV, RLPVC];

/// Every number of rows, and the default without pending-retry.
pub fn points_21() -> Vec<Point> {
    ROWS.into_iter().map(with_rows).chain([RL.point()]).collect()
}

fn with_rows(rows: u64) -> Point {
    RLPV.point().with("wir.reuse_rows", rows)
}

/// Instructions of a run that were answered, per cent.
fn bypassed(run: &Run) -> Option<f64> {
    ratio(100.0 * run.report.answered_instructions as f64, run.report.warp_instructions as f64)
}

/// Fig. 12.
pub fn figure_12(results: &Results) -> Result<Content> {
    let runs = results.of(&RLPV.point());
    let of_base = |value: fn(&Run) -> u64| -> Vec<Option<f64>> {
        let pairs = runs.iter().zip(results.of(&baseline()));
        pairs
            .map(|(run, base)| ratio(100.0 * value(run) as f64, base.report.warp_instructions as f64))
            .collect()
    };
    let executed = of_base(|run| run.report.warp_instructions - run.report.answered_instructions);
    let executed = Series::new("executed_percent", "executed, %", 1, executed);
    let executed = executed.with_paper(Some(100.0 - BYPASSED));
    let moves = Series::new("moves_percent", "dummy MOVs, %", 1, of_base(|run| counted(run).moves));
    let moves = moves.with_paper(Some(MOVES));
    let bypassed = Series::of_runs("bypassed_percent", "bypassed, %", 1, runs, bypassed);
    let of_runs = |key: &'static str, heading: &str, value: fn(&Run) -> u64| {
        let share = |run: &Run| ratio(100.0 * value(run) as f64, run.report.warp_instructions as f64);
        Series::of_runs(key, heading, 1, runs, share)
    };
    let claims = vec![
        share(
            "§VII-B",
            "bypassed",
            "instructions that bypass the backend",
            Stated::exactly(BYPASSED),
            (results, &bypassed),
        ),
        share(
            "§VII-B",
            "moves",
            "instructions added by dummy MOVs",
            Stated::exactly(MOVES),
            (results, &moves),
        ),
        values_absent("Fig. 12"),
    ];
    let columns = vec![executed, moves];
    let drawn = chart(
        "instructions processed in the backend",
        "% of the baseline's",
        results,
        &columns,
        Average::Arithmetic,
        true,
    );
    let columns = columns
        .into_iter()
        .chain([
            bypassed,
            of_runs("divergent_percent", "divergent, %", |run| counted(run).divergent),
            of_runs("private_percent", "predicates or special registers, %", |run| counted(run).private),
            of_runs("wide_percent", "more than a row, %", |run| counted(run).wide),
            of_runs("beyond_percent", "forms beyond 256, %", |run| counted(run).beyond),
            of_runs("invented_percent", "invented values, %", |run| counted(run).invented),
            of_runs("unstable_percent", "operand pinned or unknown, %", |run| counted(run).unstable),
            of_runs("guarded_percent", "loads guarded, %", |run| counted(run).guarded),
            of_runs("loads_percent", "loads reused, %", |run| counted(run).load_hits),
            of_runs("looked_up_percent", "looked up, %", |run| counted(run).lookups),
        ])
        .collect::<Vec<_>>();
    Ok(Content {
        claims,
        tables: vec![table(
            "backend",
            "Instructions with RLPV: processed in the backend, of the baseline's; and why others are not looked up",
            results,
            &columns,
            Average::Arithmetic,
        )],
        notes: vec![AVERAGES.to_owned()],
        charts: vec![drawn],
    })
}

/// Fig. 13.
pub fn figure_13(results: &Results) -> Result<Content> {
    type Of = fn(&Pipelines) -> u64;
    let pipelines: [(&str, &str, Of); 3] =
        [("sp", "SP", |of| of.sp), ("sfu", "SFU", |of| of.sfu), ("memory", "memory", |of| of.memory)];
    let mut columns = Vec::new();
    for design in DESIGNS_13 {
        for (key, heading, of) in pipelines {
            columns.push(Series::of_runs(
                format!("{}_{key}", design.key),
                format!("{} {heading}", design.heading),
                3,
                results.of(&design.point()),
                |run| {
                    let counted = counted(run);
                    let (all, reused) = (of(&counted.renamed), of(&counted.reused));
                    ratio((all - reused) as f64, all as f64)
                },
            ));
        }
    }
    let of_none = Series::of_runs("novsb", "NoVSB", 1, results.of(&NO_SIGNATURES.point()), bypassed);
    let of_design = |design: Design| {
        let series = Series::of_runs(design.key, design.heading, 1, results.of(&design.point()), bypassed);
        let mean = series.average(results, Average::Arithmetic);
        mean.map_or_else(|| "no value".to_owned(), |mean| format!("{mean:.1} %"))
    };
    let claims = vec![
        share(
            "§VII-B",
            "novsb_bypassed",
            "instructions that NoVSB bypasses",
            Stated::at_most(BYPASSED_WITHOUT_SIGNATURES),
            (results, &of_none),
        ),
        memory_saved(results),
        Claim::new(
            "§VII-B",
            "RLPVc reuses only slightly less than RLPV",
            format!("bypassed on average: {} with RLPV, {} with RLPVc", of_design(RLPV), of_design(RLPVC)),
        ),
        values_absent("Fig. 13"),
    ];
    Ok(Content {
        claims,
        tables: vec![table(
            "operations",
            "Operations executed, relative to the baseline",
            results,
            &columns,
            Average::Arithmetic,
        )],
        notes: vec![
            "The baseline executes all that is renamed. A pipeline without instructions has no value."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![chart(
            "operations executed",
            "relative to the baseline",
            results,
            &columns,
            Average::Arithmetic,
            false,
        )],
    })
}

/// How much less often RLPV activates the memory pipeline than RPV, in the workload in which it does most.
fn memory_saved(results: &Results) -> Claim {
    let executed = |run: &Run| {
        let counted = counted(run);
        (counted.renamed.memory - counted.reused.memory) as f64
    };
    let pairs = results.of(&RLPV.point()).iter().zip(results.of(&RPV.point()));
    let saved = pairs.filter_map(|(loads, without)| {
        ratio(executed(loads), executed(without)).map(|left| 100.0 * (1.0 - left))
    });
    let most = results.workloads.iter().zip(saved).max_by(|(_, one), (_, other)| one.total_cmp(other));
    let number = Number::change(
        "memory",
        "activations of the memory pipeline that RLPV saves beside RPV, at most",
        Stated::exactly(MEMORY_SAVED),
        most.as_ref().map(|(_, saved)| *saved),
    );
    let name = most.map_or("none", |(workload, _)| workload.name);
    let here = format!("{}, in {name}", number.here_text());
    Claim::new(
        "§VII-B",
        format!("RLPV activates the memory pipeline up to {MEMORY_SAVED} % less often than RPV"),
        here,
    )
    .number(number)
}

/// Fig. 21.
pub fn figure_21(results: &Results) -> Result<Content> {
    let all = |rows: u64| {
        let key = format!("rows_{rows}");
        Series::of_runs(key, format!("{rows} rows, %"), 1, results.of(&with_rows(rows)), bypassed)
    };
    let of_retries = |rows: u64| {
        let share =
            |run: &Run| ratio(100.0 * counted(run).retry_hits as f64, run.report.warp_instructions as f64);
        let key = format!("rows_{rows}_retry");
        Series::of_runs(
            key,
            format!("of these after a wait, {rows} rows"),
            1,
            results.of(&with_rows(rows)),
            share,
        )
    };
    let series: Vec<Series> = ROWS.into_iter().map(all).collect();
    let retries: Vec<Series> = ROWS.into_iter().map(of_retries).collect();
    let without =
        Series::of_runs("without_retry", "256 rows without retry, %", 1, results.of(&RL.point()), bypassed);
    let mean = |one: &Series| one.average(results, Average::Arithmetic);
    let added =
        mean(&series[DEFAULT_ROWS]).zip(mean(&without)).and_then(|(with, without)| ratio(with, without));
    let number = Number::change(
        "retry_hits",
        "hits that pending-retry adds",
        Stated::exactly(RETRY_HITS),
        percent_change(added),
    );
    let claims = vec![
        share(
            "§VII-G.2",
            "bypassed",
            "instructions bypassed with 256 rows",
            Stated::exactly(BYPASSED),
            (results, &series[DEFAULT_ROWS]),
        ),
        share(
            "§VII-G.2",
            "bypassed_512",
            "instructions bypassed with 512 rows",
            Stated::at_least(BYPASSED_OF_512),
            (results, &series[DEFAULT_ROWS + 1]),
        ),
        Claim::new("§VI-B", format!("hits that pending-retry adds: {RETRY_HITS} %"), number.here_text())
            .number(number),
        values_absent("Fig. 21"),
    ];
    let line = |name: &str, series: &[Series]| Line {
        name: name.to_owned(),
        points: ROWS.iter().zip(series).filter_map(|(&rows, one)| Some((rows as f64, mean(one)?))).collect(),
        style: LineStyle::Thin,
    };
    let drawn = Chart {
        title: "instructions bypassed, mean".to_owned(),
        x_label: "rows of the reuse buffer".to_owned(),
        y_label: "% of all instructions".to_owned(),
        plot: Plot::Lines(vec![
            line("bypassed", &series),
            line("of these after a wait", &retries),
            Line::of_paper([(ROWS[DEFAULT_ROWS] as f64, BYPASSED)]),
        ]),
    };
    let columns: Vec<Series> = series.into_iter().chain(retries).chain([without]).collect();
    Ok(Content {
        claims,
        tables: vec![table(
            "bypassed",
            "Instructions bypassed by rows of the SM's reuse buffers",
            results,
            &columns,
            Average::Arithmetic,
        )],
        notes: vec![AVERAGES.to_owned()],
        charts: vec![drawn],
    })
}

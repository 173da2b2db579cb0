//! Fig. 10: accesses to the main register file that do not take place.

use anyhow::Result;
use warpfile_sim::sm::RunReport;

use super::{AVERAGES, COMPARED, Compared, compared_points, cycles, share};
use crate::figures::report::Content;
use crate::figures::series::{Average, Series, chart, table};
use crate::figures::sweep::{Point, Results};

/// The baseline, for cycles, and the three designs.
pub fn points_10() -> Vec<Point> {
    compared_points()
}

/// Accesses of a kind that each design elides, with the paper's averages.
pub fn elided(
    results: &Results,
    kind: &str,
    percent: fn(&RunReport) -> Option<f64>,
    paper: fn(&Compared) -> f64,
) -> Vec<Series> {
    let of_design = |compared: &Compared| {
        let (key, heading) =
            (format!("{}_{kind}", compared.key), format!("{}: {kind} elided, %", compared.key));
        let runs = results.of(&(compared.point)());
        Series::of_runs(key, heading, 1, runs, |run| percent(&run.report)).with_paper(Some(paper(compared)))
    };
    COMPARED.iter().map(of_design).collect()
}

/// Register writes that each design elides.
pub fn writes(results: &Results) -> Vec<Series> {
    elided(results, "writes", RunReport::mrf_writes_avoided_percent, |compared| compared.writes)
}

/// Register reads that each design elides.
pub fn reads(results: &Results) -> Vec<Series> {
    elided(results, "reads", RunReport::mrf_reads_avoided_percent, |compared| compared.reads)
}

/// Fig. 10.
pub fn figure_10(results: &Results) -> Result<Content> {
    let (writes, reads) = (writes(results), reads(results));
    let mut claims = Vec::new();
    for (compared, (writes, reads)) in COMPARED.iter().zip(writes.iter().zip(&reads)) {
        let here = |series: &Series| series.average(results, Average::Geometric);
        let Compared { key, name, .. } = compared;
        let of = |kind: &str| format!("register {kind} elided by {name}");
        claims.push(share("§IV-B.2", format!("{key}_writes"), &of("writes"), compared.writes, here(writes)));
        claims.push(share("§IV-B.2", format!("{key}_reads"), &of("reads"), compared.reads, here(reads)));
    }
    let drawn = |what: &str, series: &[Series]| {
        chart(format!("register {what} elided"), "% of all", results, series, Average::Geometric, false)
    };
    let charts = vec![drawn("writes", &writes), drawn("reads", &reads)];
    let mut columns: Vec<Series> = writes.into_iter().chain(reads).collect();
    for compared in &COMPARED {
        columns.push(cycles(results, compared)?);
    }
    Ok(Content {
        claims,
        tables: vec![table(
            "elided",
            "Accesses to the main register file elided with 12 KB, and cycles beside the baseline's",
            results,
            &columns,
            Average::Geometric,
        )],
        notes: vec![
            "A read counts as elided if no executing lane reads the main register file; writes elided are those of \
             instructions less those to the main register file."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts,
    })
}

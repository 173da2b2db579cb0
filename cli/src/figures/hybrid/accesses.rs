//! Fig. 10: accesses to the main register file that do not take place.

use anyhow::Result;

use super::{AVERAGES, KILOBYTES, baseline, cycles, register_cache};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, table};
use crate::figures::sweep::{Point, Results};

/// The baseline, for cycles, and the register cache.
pub fn points_10() -> Vec<Point> {
    vec![baseline(), register_cache(KILOBYTES)]
}

/// Writes and reads elided by a register cache alone, per cent, geometric means (§IV-B.2).
const WRITES_ELIDED: f64 = 73.3;
const READS_ELIDED: f64 = 71.5;

/// Fig. 10.
pub fn figure_10(results: &Results) -> Result<Content> {
    let runs = results.of(&register_cache(KILOBYTES));
    let writes =
        Series::of_runs("writes", "writes elided, %", 1, runs, |run| run.report.mrf_writes_avoided_percent())
            .with_paper(Some(WRITES_ELIDED));
    let reads =
        Series::of_runs("reads", "reads elided, %", 1, runs, |run| run.report.mrf_reads_avoided_percent())
            .with_paper(Some(READS_ELIDED));
    let claim = |key: &'static str, what: &str, paper: f64, series: &Series| {
        let here = series.average(results, Average::Geometric);
        let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:.1} %"));
        let number =
            Number::share(key, format!("{what} elided by a register cache"), Stated::exactly(paper), here);
        Claim::new("§IV-B.2", format!("{what} elided by a register cache: {paper} %"), text).number(number)
    };
    let claims = vec![
        claim("rc_writes", "register writes", WRITES_ELIDED, &writes),
        claim("rc_reads", "register reads", READS_ELIDED, &reads),
    ];
    let mut columns = vec![writes, reads];
    let drawn = chart(
        "accesses elided by a register cache",
        "% of all accesses",
        results,
        &columns,
        Average::Geometric,
        false,
    );
    columns.push(cycles(results, &register_cache(KILOBYTES))?);
    Ok(Content {
        claims,
        tables: vec![table(
            "elided",
            "Accesses to the main register file elided by a register cache of 12 KB, and cycles beside the baseline's",
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
        charts: vec![drawn],
    })
}

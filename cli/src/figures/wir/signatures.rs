//! Fig. 20: how often a value is found by its signature.

use anyhow::Result;

use super::{AVERAGES, RLPV, counted, share, together, values_absent};
use crate::figures::Cause;
use crate::figures::chart::{Chart, Line, LineStyle, Plot};
use crate::figures::number::Stated;
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// Rows of the value signature buffer (Fig. 20), and twice as many.
const ROWS: [u64; 5] = [32, 64, 128, 256, 512];
/// Hit rate with 128 rows at least, per cent (§VII-G.1).
const HITS_OF_128: f64 = 50.0;

/// Why numbers of Fig. 20 differ.
pub const CAUSES: &[Cause] = &[together(&["hits_128"])];

fn with_rows(rows: u64) -> Point {
    RLPV.point().with("wir.signature_rows", rows)
}

/// Every number of rows.
pub fn points() -> Vec<Point> {
    ROWS.map(with_rows).to_vec()
}

/// Fig. 20.
pub fn figure_20(results: &Results) -> Result<Content> {
    let hit_rate = |run: &Run| {
        let counted = counted(run);
        ratio(100.0 * counted.signature_hits as f64, counted.signatures as f64)
    };
    let of = |rows: u64| {
        let (key, heading) = (format!("rows_{rows}"), format!("{rows} rows, %"));
        Series::of_runs(key, heading, 1, results.of(&with_rows(rows)), hit_rate)
    };
    let series = ROWS.map(of);
    let mean = |one: &Series| one.average(results, Average::Arithmetic);
    let runs = ROWS.into_iter().flat_map(|rows| results.of(&with_rows(rows)));
    let collisions: u64 = runs.map(|run| counted(run).false_positives).sum();
    let points = ROWS.iter().zip(&series).filter_map(|(&rows, one)| Some((rows as f64, mean(one)?)));
    let drawn = Chart {
        title: "values found by their signature, mean".to_owned(),
        x_label: "rows of the value signature buffer".to_owned(),
        y_label: "% of the values looked up".to_owned(),
        plot: Plot::Lines(vec![Line {
            name: "here".to_owned(),
            points: points.collect(),
            style: LineStyle::Thin,
        }]),
    };
    Ok(Content {
        claims: vec![
            share(
                "§VII-G.1",
                "hits_128",
                "hit rate of the value signature buffer with 128 rows",
                Stated::at_least(HITS_OF_128),
                (results, &series[2]),
            ),
            Claim::new(
                "§V-A",
                "false positives are very rare",
                format!("{collisions} in all runs of this figure"),
            ),
            values_absent("Fig. 20"),
        ],
        tables: vec![table(
            "hit_rate",
            "Values whose hash is found by rows of the SM's value signature buffers",
            results,
            &series,
            Average::Arithmetic,
        )],
        notes: vec![
            "Values are those of convergent instructions that the program computes. Without rows none is found: that is \
             wir-novsb."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn],
    })
}

//! Table 4.5: leakage energy by the threshold W.

use anyhow::Result;

use super::{GREENER, NODE_NM, leakage_pj, model, notes, relative};
use crate::figures::Cause;
use crate::figures::chart::{Chart, Line, LineStyle, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, percent_change, table};
use crate::figures::statistics::geometric_mean;
use crate::figures::sweep::{Point, Results};

/// Thresholds of Table 4.5.
const THRESHOLDS: [u64; 11] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21];
/// Where the thesis's choice, W = 3, is among them.
const CHOSEN: usize = 1;

/// Rows of Table 4.5 whose kernels are here: BP, BFS1, BFS2, BS, LMD, MR1, MR2, PF, SGEMM, SP, VA. Their unit is not given.
const TABLE_5: [[f64; 11]; 11] = [
    [308.5, 308.48, 310.53, 311.78, 311.29, 314.01, 310.56, 313.27, 313.27, 311.78, 311.78],
    [52.59, 52.03, 52.15, 52.15, 52.15, 52.15, 52.15, 52.15, 52.15, 52.15, 52.15],
    [19.92, 19.91, 19.92, 19.92, 19.92, 19.92, 19.92, 19.92, 19.92, 19.92, 19.92],
    [2298.66, 2283.88, 2210.96, 2249.95, 2231.68, 2222.5, 2324.12, 2231.23, 2231.23, 2231.23, 2185.78],
    [2.99, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97],
    [2.12, 2.08, 2.09, 2.09, 2.09, 2.09, 2.09, 2.09, 2.09, 2.09, 2.09],
    [2938.98, 3030.98, 2944.6, 2809.69, 2809.69, 2809.69, 2893.19, 2903.46, 2903.46, 2839.47, 2848.97],
    [273.22, 274.27, 275.43, 276.0, 275.59, 275.8, 275.82, 276.73, 276.73, 278.27, 278.27],
    [5672.12, 5660.97, 5692.81, 5680.86, 5684.16, 5670.51, 5677.64, 5672.13, 5724.88, 5730.11, 5730.11],
    [265.82, 270.1, 259.65, 264.32, 250.81, 287.31, 277.71, 277.71, 277.71, 277.71, 277.71],
    [10.85, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13],
];

/// Why numbers differ.
pub const CAUSES: &[Cause] = &[Cause {
    of: &["w_5", "w_7", "w_9", "w_11", "w_13", "w_15", "w_17", "w_19", "w_21"],
    why: "Rows that stay ON for longer weigh more where those that are OFF leak nothing, as in Fig. 4.6:",
    run: "--set greener.off_leakage=0.424",
}];

fn with_threshold(threshold: u64) -> Point {
    GREENER.point().with("greener.threshold", threshold)
}

/// GREENER at every threshold.
pub fn points() -> Vec<Point> {
    THRESHOLDS.map(with_threshold).to_vec()
}

/// Energies at a threshold by those at W = 3, geometric mean of the thesis's rows.
fn paper(column: usize) -> Option<f64> {
    geometric_mean(TABLE_5.iter().map(|row| row[column] / row[CHOSEN]))
}

/// Table 4.5.
pub fn table_5(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let chosen = with_threshold(THRESHOLDS[CHOSEN]);
    let at = |(column, threshold): (usize, u64)| {
        let values = relative(results, (&with_threshold(threshold), &chosen), |run| leakage_pj(&model, run))?;
        let (key, heading) = (format!("w_{threshold}"), format!("W = {threshold}"));
        Ok(Series::new(key, heading, 4, values).with_paper(paper(column)))
    };
    let series: Vec<Series> = THRESHOLDS.into_iter().enumerate().map(at).collect::<Result<_>>()?;
    let here: Vec<Option<f64>> = series.iter().map(|one| one.average(results, Average::Geometric)).collect();
    let claim = |(column, threshold): (usize, u64)| {
        let what = format!("leakage energy at W = {threshold} beside W = 3");
        let paper = percent_change(paper(column));
        let number = paper.map(|paper| {
            Number::change(
                format!("w_{threshold}"),
                what.clone(),
                Stated::exactly(paper),
                percent_change(here[column]),
            )
        });
        Claim::new(
            "Table 4.5",
            format!("{what}: {}", paper.map_or_else(String::new, |paper| format!("{paper:+.1} %"))),
            change(here[column]),
        )
        .numbers(number)
    };
    let others = THRESHOLDS.into_iter().enumerate().filter(|(column, _)| *column != CHOSEN);
    let mut claims: Vec<Claim> = others.map(claim).collect();
    claims.push(Claim::new(
        "§4.3.10",
        "W = 3 takes the least energy for most of the applications",
        least(results, &series),
    ));
    let of_paper = (0..THRESHOLDS.len()).map(paper);
    let mut notes = notes();
    notes.push(
        "The thesis's is the geometric mean of those rows of Table 4.5 whose kernels are here; their unit is not given."
            .to_owned(),
    );
    Ok(Content {
        claims,
        tables: vec![table(
            "leakage_energy",
            "GREENER's leakage energy, relative to W = 3",
            results,
            &series,
            Average::Geometric,
        )],
        notes,
        charts: vec![Chart {
            title: "leakage energy of GREENER, geometric mean".to_owned(),
            x_label: "W".to_owned(),
            y_label: "relative to W = 3".to_owned(),
            plot: Plot::Lines(vec![
                Line {
                    name: "here".to_owned(),
                    points: Line::points(&THRESHOLDS, here.clone()),
                    style: LineStyle::Thin,
                },
                Line::of_paper(Line::points(&THRESHOLDS, of_paper)),
            ]),
        }],
    })
}

/// Thresholds at which most workloads have their least, with how many of them.
fn least(results: &Results, series: &[Series]) -> String {
    let mut counts = [0; THRESHOLDS.len()];
    for workload in 0..results.workloads.len() {
        let values = series.iter().map(|one| one.values[workload].unwrap_or(f64::INFINITY));
        // Of equal ones the first.
        let least = values.enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other));
        if let Some((column, _)) = least {
            counts[column] += 1;
        }
    }
    let named = THRESHOLDS.iter().zip(counts).filter(|(_, count)| *count > 0);
    named.map(|(threshold, count)| format!("W = {threshold} in {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{CHOSEN, THRESHOLDS, paper};

    #[test]
    fn energies_of_the_table_are_beside_those_of_the_chosen_threshold() {
        assert_eq!(THRESHOLDS[CHOSEN], 3);
        assert_eq!(paper(CHOSEN), Some(1.0));
        assert!(
            (0..THRESHOLDS.len())
                .all(|column| paper(column).is_some_and(|mean| (0.98..1.02).contains(&mean)))
        );
    }
}

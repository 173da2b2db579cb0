//! Fig. 15: accesses to the L1 cache.

use anyhow::Result;

use super::{AVERAGES, RLPV, baseline, values_absent};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, chart, percent_change, ratio, table};
use crate::figures::sweep::{Results, Run};

/// Accesses, and those that miss.
fn accesses(run: &Run) -> [u64; 2] {
    let l1 = &run.report.memory.l1;
    let misses = l1.misses + l1.merged_misses;
    [l1.hits + misses, misses]
}

/// Fig. 15.
pub fn figure_15(results: &Results) -> Result<Content> {
    let relative = |place: usize| {
        let pairs = results.of(&RLPV.point()).iter().zip(results.of(&baseline()));
        let values =
            pairs.map(|(run, base)| ratio(accesses(run)[place] as f64, accesses(base)[place] as f64));
        values.collect()
    };
    let of_base = |run: &Run| {
        let [all, misses] = accesses(run);
        ratio(100.0 * misses as f64, all as f64)
    };
    let series = [
        Series::new("accesses", "accesses", 3, relative(0)),
        Series::new("misses", "misses", 3, relative(1)),
    ];
    let of = |workload: &str| {
        let [all, misses] = series.each_ref().map(|one| change(one.of_workload(results, workload)));
        format!("{workload} {all} and {misses}")
    };
    let leukocyte = series[1].of_workload(results, "leukocyte");
    let claims = vec![
        Claim::new(
            "§VII-C",
            "accesses and misses are reduced substantially in SF, BT, HS, S2 and LK",
            ["sobel", "b+tree", "hotspot", "srad", "leukocyte"].map(of).join("; "),
        ),
        Claim::new("§VII-C", "KM misses more often with RLPV", of("kmeans")),
        Claim::new("§VII-D", "LK misses 61.5 % less often", change(leukocyte)).number(Number::change(
            "leukocyte",
            "misses of the L1 with RLPV beside without, leukocyte",
            Stated::exactly(-61.5),
            percent_change(leukocyte),
        )),
        values_absent("Fig. 15"),
    ];
    let drawn = chart(
        "accesses to the L1 cache",
        "relative to the baseline",
        results,
        &series,
        Average::Arithmetic,
        false,
    );
    let missing =
        Series::of_runs("miss_rate", "the baseline's misses, %", 1, results.of(&baseline()), of_base);
    let columns: Vec<Series> = series.into_iter().chain([missing]).collect();
    Ok(Content {
        claims,
        tables: vec![table(
            "l1",
            "Accesses of the L1 cache with RLPV, and those that miss, relative to the baseline",
            results,
            &columns,
            Average::Arithmetic,
        )],
        notes: vec![
            "Transactions of loads and stores. Of the two versions of srad the second is here. A miss for which another is \
             under way is a miss."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![drawn],
    })
}

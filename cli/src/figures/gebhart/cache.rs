//! Figs. 6 and 7: the register file cache alone, with all warps active, so that nothing is flushed.

use anyhow::Result;

use super::{
    ENTRIES, Measure, SWEEP, WARPS, by_workload, catalogue_order, claim, mean_and_range, mrf_accesses,
    overall, percent, reads_avoided, writes_avoided,
};
use crate::figures::chart::{Bars, Chart, Line, LineStyle, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Content, Table};
use crate::figures::statistics::{groups, mean, range};
use crate::figures::sweep::{Point, Results, Run};

/// MRF reads and writes that 6 entries with liveness avoid, per cent (abstract).
const PAPER: [f64; 2] = [50.0, 59.0];
/// MRF writes that they avoid without liveness, per cent (§1).
const PAPER_WITHOUT_LIVENESS: f64 = 43.0;

/// All warps active; dead values written back or not.
fn point(entries: u64, liveness: bool) -> Point {
    Point::rfc(entries, WARPS).with("rfc.use_last_read", liveness)
}

/// Every size, without and with liveness.
pub fn points_6() -> Vec<Point> {
    SWEEP.flat_map(|entries| [point(entries, false), point(entries, true)]).collect()
}

/// Fig. 6.
pub fn figure_6(results: &Results) -> Result<Content> {
    let reads = |entries, workload: usize| reads_avoided(&results.of(&point(entries, true))[workload]);
    let writes = |entries, workload: usize| writes_avoided(&results.of(&point(entries, false))[workload]);
    let live = |entries, workload: usize| writes_avoided(&results.of(&point(entries, true))[workload]);
    Ok(Content {
        claims: claims_6(results),
        tables: vec![
            by_entries(
                results,
                "mrf_reads_avoided_percent",
                "(a) MRF reads avoided, per cent, by entries",
                reads,
            ),
            by_entries(
                results,
                "mrf_writes_avoided_without_liveness_percent",
                "(b) MRF writes avoided without liveness, per cent, by entries",
                writes,
            ),
            by_entries(
                results,
                "mrf_writes_avoided_with_liveness_percent",
                "(c) MRF writes avoided with liveness, per cent, by entries",
                live,
            ),
        ],
        notes: vec![read_difference(results)],
        charts: vec![
            lines(results, "(a) MRF reads avoided", PAPER[0], reads),
            lines(results, "(b) MRF writes avoided, without liveness", PAPER_WITHOUT_LIVENESS, writes),
            lines(results, "(c) MRF writes avoided, with liveness", PAPER[1], live),
        ],
    })
}

fn claims_6(results: &Results) -> Vec<crate::figures::report::Claim> {
    let at = |entries, liveness, value: fn(&Run) -> Option<f64>| -> Vec<f64> {
        results.of(&point(entries, liveness)).iter().filter_map(value).collect()
    };
    let total = |liveness| {
        let avoided = |run: &Run| {
            let asked = run.report.operands;
            let all = (asked.reads + asked.writes) as f64;
            (all > 0.0).then(|| 100.0 * (all - mrf_accesses(run)) / all)
        };
        mean(results.of(&point(ENTRIES, liveness)).iter().filter_map(avoided))
    };
    let gain = |from, to, value: fn(&Run) -> Option<f64>| {
        let change = mean(at(to, true, value)).zip(mean(at(from, true, value)));
        percent(change.map(|(to, from)| to - from))
    };
    let writes_gain = mean(at(ENTRIES, true, writes_avoided))
        .zip(mean(at(ENTRIES, false, writes_avoided)))
        .map(|(with, without)| with - without);
    let total_gain = total(true).zip(total(false)).map(|(with, without)| with - without);
    vec![
        claim(
            "abstract",
            "6 entries reduce MRF reads by 50 %",
            mean_and_range(&at(ENTRIES, true, reads_avoided)),
        )
        .number(Number::change(
            "reads",
            "MRF reads avoided, 6 entries",
            Stated::exactly(PAPER[0]),
            mean(at(ENTRIES, true, reads_avoided)),
        )),
        claim(
            "abstract",
            "6 entries with liveness reduce MRF writes by 59 %",
            mean_and_range(&at(ENTRIES, true, writes_avoided)),
        )
        .number(Number::change(
            "writes_with_liveness",
            "MRF writes avoided, 6 entries, liveness",
            Stated::exactly(PAPER[1]),
            mean(at(ENTRIES, true, writes_avoided)),
        )),
        claim(
            "§1",
            "6 entries without liveness reduce MRF writes by 43 %",
            mean_and_range(&at(ENTRIES, false, writes_avoided)),
        )
        .number(Number::change(
            "writes",
            "MRF writes avoided, 6 entries",
            Stated::exactly(PAPER_WITHOUT_LIVENESS),
            mean(at(ENTRIES, false, writes_avoided)),
        )),
        claim(
            "§5.1",
            "even a single entry reduces MRF reads and writes",
            format!(
                "reads {}; writes {}",
                mean_and_range(&at(1, true, reads_avoided)),
                mean_and_range(&at(1, false, writes_avoided))
            ),
        ),
        claim(
            "§5.1",
            "the knee is at about 6 entries",
            format!(
                "reads: 6 over 4 entries +{}, 8 over 6 +{}, 13 over 8 +{}",
                gain(4, 6, reads_avoided),
                gain(6, 8, reads_avoided),
                gain(8, 13, reads_avoided)
            ),
        ),
        claim(
            "§5.1",
            "6 entries filter 45–75 % of MRF reads and 35–75 % of MRF writes, by category",
            categories(results),
        )
        .numbers(category_numbers(results)),
        claim(
            "§5.1",
            "at 6 entries liveness increases the MRF accesses avoided by 10–15 %",
            format!(
                "writes +{} points, reads and writes +{} points",
                percent(writes_gain),
                percent(total_gain)
            ),
        )
        .number(Number::change(
            "liveness",
            "MRF accesses avoided more with liveness, 6 entries",
            Stated::between(10.0, 15.0),
            total_gain,
        )),
    ]
}

/// Range over categories of what 6 entries avoid without liveness.
fn categories(results: &Results) -> String {
    let text: Vec<String> = groups(&results.workloads)
        .into_iter()
        .filter(|group| group.name != "all")
        .map(|group| {
            let runs = results.of(&point(ENTRIES, false));
            let of =
                |value: fn(&Run) -> Option<f64>| mean(group.members.iter().filter_map(|&w| value(&runs[w])));
            format!("{} {} and {}", group.name, percent(of(reads_avoided)), percent(of(writes_avoided)))
        })
        .collect();
    text.join("; ")
}

/// Lowest and highest category of what 6 entries avoid without liveness.
fn category_numbers(results: &Results) -> Vec<Number> {
    let runs = results.of(&point(ENTRIES, false));
    let extent = |value: fn(&Run) -> Option<f64>| {
        let categories = groups(&results.workloads).into_iter().filter(|group| group.name != "all");
        range(categories.filter_map(|group| mean(group.members.iter().filter_map(|&w| value(&runs[w])))))
    };
    let of = |key: &str, what: &str, paper: [f64; 2], value| {
        let extent = extent(value);
        [
            Number::change(
                format!("{key}_lowest"),
                format!("{what}, lowest category"),
                Stated::exactly(paper[0]),
                extent.map(|extent| extent.0),
            ),
            Number::change(
                format!("{key}_highest"),
                format!("{what}, highest category"),
                Stated::exactly(paper[1]),
                extent.map(|extent| extent.1),
            ),
        ]
    };
    let reads = of("reads_category", "MRF reads avoided, 6 entries", [45.0, 75.0], reads_avoided);
    let writes = of("writes_category", "MRF writes avoided, 6 entries", [35.0, 75.0], writes_avoided);
    reads.into_iter().chain(writes).collect()
}

/// §5.1: liveness does not change read traffic.
fn read_difference(results: &Results) -> String {
    let differences = SWEEP.flat_map(|entries| {
        let pairs = results.of(&point(entries, true)).iter().zip(results.of(&point(entries, false)));
        pairs.filter_map(|(with, without)| Some((reads_avoided(with)? - reads_avoided(without)?).abs()))
    });
    let largest = differences.fold(0.0, f64::max);
    format!(
        "(a) is measured with liveness. §5.1: read traffic does not change with liveness; the largest difference \
         here, over all workloads and sizes, is {largest:.2} points."
    )
}

/// A row a workload, a column a size.
pub fn by_entries(
    results: &Results,
    key: &'static str,
    title: &str,
    value: impl Fn(u64, usize) -> Option<f64>,
) -> Table {
    let sizes: Vec<u64> = SWEEP.collect();
    let measures: Vec<Measure> =
        sizes.iter().map(|size| Measure::new(format!("entries_{size}"), size.to_string(), 1)).collect();
    by_workload(
        Table::new(key, title),
        &results.workloads,
        &catalogue_order(&results.workloads),
        &measures,
        |column, workload| value(sizes[column], workload),
    )
}

/// A line for every category, a bold one for the mean of all workloads, and the paper's mean at the design point.
fn lines(results: &Results, title: &str, paper: f64, value: impl Fn(u64, usize) -> Option<f64>) -> Chart {
    let line = |group: crate::figures::statistics::Group| Line {
        name: group.name.to_owned(),
        points: SWEEP
            .filter_map(|entries| {
                let average = mean(group.members.iter().filter_map(|&workload| value(entries, workload)))?;
                Some((entries as f64, average))
            })
            .collect(),
        style: if group.name == "all" { LineStyle::Bold } else { LineStyle::Thin },
    };
    Chart {
        title: title.to_owned(),
        x_label: "entries a thread".to_owned(),
        y_label: "per cent".to_owned(),
        plot: Plot::Lines(
            groups(&results.workloads)
                .into_iter()
                .map(line)
                .chain([Line::of_paper([(ENTRIES as f64, paper)])])
                .collect(),
        ),
    }
}

/// The design point's cache, with liveness.
pub fn points_7() -> Vec<Point> {
    vec![point(ENTRIES, true)]
}

/// Fig. 7.
pub fn figure_7(results: &Results) -> Result<Content> {
    let runs = results.of(&point(ENTRIES, true));
    let avoided = |column: usize, workload: usize| match column {
        0 => reads_avoided(&runs[workload]),
        _writes => writes_avoided(&runs[workload]),
    };
    let mut order = catalogue_order(&results.workloads);
    let key = |workload: usize| reads_avoided(&runs[workload]).unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
    let measures = [
        Measure::new("mrf_reads_avoided_percent", "MRF reads avoided, %", 1),
        Measure::new("mrf_writes_avoided_percent", "MRF writes avoided, %", 1),
    ];
    let table = by_workload(
        Table::new("avoided_by_workload", "6 entries, liveness, 32 active warps; sorted by reads avoided"),
        &results.workloads,
        &order,
        &measures,
        avoided,
    );
    let series = ["MRF reads", "MRF writes"].iter().enumerate().map(|(column, name)| {
        let mut values: Vec<Option<f64>> = order.iter().map(|&workload| avoided(column, workload)).collect();
        values.push(overall(results, |workload| avoided(column, workload)));
        Bars::new(*name, values).with_paper_at_last(Some(PAPER[column]))
    });
    let names = order.iter().map(|&workload| results.workloads[workload].name);
    let chart = Chart {
        title: "MRF accesses avoided by 6 entries".to_owned(),
        x_label: String::new(),
        y_label: "per cent".to_owned(),
        plot: Plot::Bars {
            groups: names.chain(["mean"]).map(str::to_owned).collect(),
            series: series.collect(),
            stacked: false,
        },
    };
    let values = |column| -> Vec<f64> {
        (0..results.workloads.len()).filter_map(|workload| avoided(column, workload)).collect()
    };
    Ok(Content {
        claims: vec![
            claim(
                "§5.1",
                "across all shaders at least 35 % of reads and 40 % of writes are avoided (Fig. 8; no shaders here)",
                format!("reads: {}; writes: {}", mean_and_range(&values(0)), mean_and_range(&values(1))),
            )
            .numbers([(0, "reads", 35.0), (1, "writes", 40.0)].map(|(column, name, paper)| {
                let lowest = range(values(column)).map(|range| range.0);
                let what = format!("MRF {name} avoided, lowest program (the paper's shaders)");
                Number::change(format!("{name}_lowest"), what, Stated::at_least(paper), lowest)
            })),
            claim("§5.1", "the RFC is least effective on HPC traces, where values are reused more", {
                let lowest = order.first().map(|&workload| results.workloads[workload].name);
                format!("lowest: {}", lowest.unwrap_or("none"))
            }),
        ],
        tables: vec![table],
        notes: Vec::new(),
        charts: vec![chart],
    })
}

//! Fig. 2: how often values are read, and how long those read once live.

use warpfile_kernels::workloads::Workload;

use super::{Measure, by_workload, catalogue_order, claim, percent};
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Content, Table};
use crate::figures::statistics::{groups, mean};
use crate::figures::values::ValueUsage;

/// Classes of Fig. 2 (a) and of Fig. 2 (b).
const READS: [&str; 4] = ["read 0 times", "read once", "read twice", "read more often"];
const LIFETIMES: [&str; 4] = ["1", "2", "3", "more than 3"];

/// Fig. 2.
pub fn figure_2(workloads: &[&'static Workload], usages: &[ValueUsage]) -> Content {
    let reads = |class: usize, workload: usize| {
        let usage = &usages[workload];
        share(usage.by_reads[class], usage.values())
    };
    let lifetime = |class: usize, workload: usize| {
        let usage = &usages[workload];
        share(usage.by_lifetime[class], usage.by_reads[1])
    };
    let short = |workload: usize| {
        let usage = &usages[workload];
        share(usage.by_lifetime[..3].iter().sum(), usage.values())
    };
    let keys = ["read_0_times", "read_once", "read_twice", "read_more_often"];
    let mut measures: Vec<Measure> = measures(&keys, &READS);
    measures.push(Measure::new("read_once_within_3_percent", "read once, within 3 instructions", 1));
    let by_reads = by_workload(
        Table::new(
            "values_by_reads",
            "(a) Values by the number of times they are read, per cent of all values",
        ),
        workloads,
        &catalogue_order(workloads),
        &measures,
        |column, workload| if column < 4 { reads(column, workload) } else { short(workload) },
    );
    let keys = ["lifetime_1", "lifetime_2", "lifetime_3", "lifetime_more"];
    let by_lifetime = by_workload(
        Table::new(
            "values_by_lifetime",
            "(b) Lifetime in instructions, per cent of the values that are read once",
        ),
        workloads,
        &catalogue_order(workloads),
        &self::measures(&keys, &LIFETIMES),
        lifetime,
    );
    let claims = claims(workloads, reads, short);
    Content {
        claims,
        tables: vec![by_reads, by_lifetime],
        notes: vec![
            "A value is what a warp instruction writes to a register; a register that one instruction names twice \
             is read once. Lifetime counts the instructions that the thread executed."
                .to_owned(),
        ],
        charts: vec![
            stacked("(a) reads of a value", "per cent of values", &READS, workloads, reads),
            stacked(
                "(b) lifetime of values read once, instructions",
                "per cent of these",
                &LIFETIMES,
                workloads,
                lifetime,
            ),
        ],
    }
}

fn claims(
    workloads: &[&'static Workload],
    reads: impl Fn(usize, usize) -> Option<f64>,
    short: impl Fn(usize) -> Option<f64>,
) -> Vec<crate::figures::report::Claim> {
    let of_group = |name: &str, value: &dyn Fn(usize) -> Option<f64>| {
        let group = groups(workloads).into_iter().find(|group| group.name == name)?;
        mean(group.members.iter().filter_map(|&workload| value(workload)))
    };
    let highest = |value: &dyn Fn(usize) -> Option<f64>| {
        let categories = groups(workloads);
        let means = categories.iter().filter_map(|group| of_group(group.name, value));
        means.reduce(f64::max)
    };
    let once = |workload| reads(1, workload);
    let more_than_once = |workload| Some(reads(2, workload)? + reads(3, workload)?);
    let more_than_twice = |workload| reads(3, workload);
    let both = |value: &dyn Fn(usize) -> Option<f64>| {
        format!("mean {}, highest category {}", percent(of_group("all", value)), percent(highest(value)))
    };
    vec![
        claim("§2.2", "up to 70 % of values are read only once", both(&once)).number(Number::share(
            "read_once",
            "values read once, highest category",
            Stated::exactly(70.0),
            highest(&once),
        )),
        claim("§2.2", "only 10 % of values are read more than 2 times", both(&more_than_twice)).number(
            Number::share(
                "read_more_than_twice",
                "values read more than twice",
                Stated::exactly(10.0),
                of_group("all", &more_than_twice),
            ),
        ),
        claim(
            "§2.2",
            "HPC workloads: 40 % of values are read more than once",
            percent(of_group("HPC", &more_than_once)),
        )
        .number(Number::share(
            "hpc_more_than_once",
            "HPC: values read more than once",
            Stated::exactly(40.0),
            of_group("HPC", &more_than_once),
        )),
        claim(
            "§2.2",
            "up to 40 % of all dynamic values are read only once and within 3 instructions",
            both(&short),
        )
        .number(Number::share(
            "short_lived",
            "values read once and within 3 instructions, highest category",
            Stated::exactly(40.0),
            highest(&short),
        )),
    ]
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

fn measures(keys: &[&str], headings: &[&str]) -> Vec<Measure> {
    keys.iter()
        .zip(headings)
        .map(|(key, heading)| Measure::new(format!("{key}_percent"), *heading, 1))
        .collect()
}

/// Stacked bars for every workload and the mean of all.
fn stacked(
    title: &str,
    y_label: &str,
    classes: &[&str],
    workloads: &[&'static Workload],
    value: impl Fn(usize, usize) -> Option<f64>,
) -> Chart {
    let all = || 0..workloads.len();
    let series = classes.iter().enumerate().map(|(class, name)| {
        let mut values: Vec<Option<f64>> = all().map(|workload| value(class, workload)).collect();
        values.push(mean(all().filter_map(|workload| value(class, workload))));
        Bars::new(*name, values)
    });
    let names = workloads.iter().map(|workload| workload.name);
    Chart {
        title: title.to_owned(),
        x_label: String::new(),
        y_label: y_label.to_owned(),
        plot: Plot::Bars {
            groups: names.chain(["mean"]).map(str::to_owned).collect(),
            series: series.collect(),
            stacked: true,
        },
    }
}

//! Fig. 2: computations that are repeated.

use warpfile_kernels::workloads::Workload;

use super::{AVERAGES, values_absent};
use crate::figures::Cause;
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::recent_values::LAST;
use crate::figures::repeats::Repeats;
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::series::ratio;
use crate::figures::statistics::mean;

/// Computations that are repeated, and those that are repeated more than ten times, per cent (§III-A).
const REPEATED: f64 = 31.4;
const FREQUENT: f64 = 16.0;

/// Why numbers of Fig. 2 differ.
pub const CAUSES: &[Cause] = &[Cause {
    of: &["repeated", "frequent"],
    why: "Which instructions are in a window depends on whose turn it is: warps that take turns (LRR) issue the same instruction one \
      after the other, with GTO each gets far ahead. The paper does not say in which order it sampled.",
    run: "--set scheduler.single_level=lrr",
}];

/// Shares of each run, per cent, and their mean.
fn shares_of(repeats: &[Repeats], share: impl Fn(&Repeats) -> (u64, u64)) -> Vec<Option<f64>> {
    let of_one = |one: &Repeats| {
        let (part, all) = share(one);
        ratio(100.0 * part as f64, all as f64)
    };
    let values: Vec<Option<f64>> = repeats.iter().map(of_one).collect();
    let mean = mean(values.iter().copied().flatten());
    values.into_iter().chain([mean]).collect()
}

/// Fig. 2.
pub fn figure_2(workloads: &[&'static Workload], repeats: &[Repeats]) -> Content {
    let shares = |count: fn(&Repeats) -> u64| shares_of(repeats, |of| (count(of), of.instructions));
    let (repeated, shared) = (shares(|of| of.repeated), shares(|of| of.shared));
    let frequent = shares(|of| of.frequent);
    let names: Vec<&str> = workloads.iter().map(|workload| workload.name).chain(["mean"]).collect();
    let mut table =
        Table::new("repeated", "Computations of 1,000 instructions that an SM issues, % of all instructions")
            .column("workload", "workload")
            .real("repeated_percent", "repeated", 1)
            .real("with_first_percent", "with the first of each", 1)
            .real("frequent_percent", "found more than 10 times", 1);
    for (place, name) in names.iter().enumerate() {
        let cell = |values: &[Option<f64>]| Cell::from(values[place]);
        table.row(vec![(*name).into(), cell(&repeated), cell(&shared), cell(&frequent)]);
    }
    let among = |place: usize| shares_of(repeats, |of| (of.values.among[place], of.values.results));
    let among: Vec<Vec<Option<f64>>> = (0..LAST.len()).map(among).collect();
    let title =
        "Results of 32 lanes whose value is among the last different ones of the SM, % of these results";
    let columns =
        LAST.iter().fold(Table::new("values", title).column("workload", "workload"), |table, last| {
            table.real(format!("among_{last}_percent"), format!("last {last}"), 1)
        });
    let values = names.iter().enumerate().fold(columns, |mut table, (place, name)| {
        let cells = among.iter().map(|shares| Cell::from(shares[place]));
        table.row([Cell::from(*name)].into_iter().chain(cells).collect());
        table
    });
    let claim = |key: &str, what: &str, paper: f64, values: &[Option<f64>]| {
        let number = Number::share(key, what, Stated::exactly(paper), values.last().copied().flatten());
        Claim::new("§III-A", format!("{what}: {paper} %"), number.here_text()).number(number)
    };
    let bars = |name: &str, values: Vec<Option<f64>>, paper: f64| {
        Bars::new(name, values).with_paper_at_last(Some(paper))
    };
    Content {
        claims: vec![
            claim("repeated", "computations that are repeated within 1,000 instructions", REPEATED, &repeated),
            claim("frequent", "computations that are found more than 10 times", FREQUENT, &frequent),
            values_absent("Fig. 2"),
        ],
        tables: vec![table, values],
        notes: vec![
            "Windows of 1,000 instructions in the order in which the SM issues them without reuse, from one to the next; what \
             the first of several equal computations is does not count as repeated. Control flow, stores and atomics are \
             never repeated. Equal are opcode, constants, lanes, operands and results; an address is an operand."
                .to_owned(),
            "What is among the last values is what a value signature buffer with so many rows for the whole SM could find, if it kept \
             those that came last, whatever computed them: of Figs. 18a and 20 the end. Without values that stand for those of a \
             hardware that is not known."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![Chart {
            title: "computations repeated within 1,000 instructions".to_owned(),
            x_label: String::new(),
            y_label: "% of all instructions".to_owned(),
            plot: Plot::Bars {
                groups: names.into_iter().map(str::to_owned).collect(),
                series: vec![
                    bars("repeated", repeated, REPEATED),
                    bars("found more than 10 times", frequent, FREQUENT),
                ],
                stacked: false,
            },
        }],
    }
}

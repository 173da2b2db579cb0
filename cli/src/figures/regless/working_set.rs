//! Fig. 2: the register working set of the full register file under two schedulers.

use std::num::NonZeroU64;

use anyhow::Result;

use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::statistics::mean;
use crate::figures::sweep::{Point, Results};

/// Cycles of a window.
const WINDOW: NonZeroU64 = NonZeroU64::new(100).unwrap();
/// Bytes of a warp-wide register.
const REGISTER_BYTES: f64 = 128.0;
/// Registers of the SM (§6.2).
const REGISTERS: f64 = 2048.0;
/// The share of the register file that the paper says most applications keep below, per cent.
const SMALL_PERCENT: f64 = 10.0;
/// Active warps of each of the four schedulers: half of its warps, and as many an SM as in Gebhart et al.
const ACTIVE: [u64; 2] = [8, 2];

fn gto() -> Point {
    Point::gtx980("baseline").with_working_set(WINDOW)
}

fn two_level(active: u64) -> Point {
    Point::gtx980("two-level").with("scheduler.active_warps", active).with_working_set(WINDOW)
}

/// The schedulers of the tables' columns: key, heading and configuration.
fn schedulers() -> Vec<(String, String, Point)> {
    let active = |active: u64| {
        (format!("two_level_{active}"), format!("two-level, {active} active a scheduler"), two_level(active))
    };
    let gto = ("gto".to_owned(), "GTO".to_owned(), gto());
    std::iter::once(gto).chain(ACTIVE.map(active)).collect()
}

/// GTO and two-level.
pub fn points_2() -> Vec<Point> {
    schedulers().into_iter().map(|(.., point)| point).collect()
}

/// Registers accessed in a window.
#[derive(Clone, Copy)]
struct Registers {
    mean: Option<f64>,
    most: Option<f64>,
}

/// Fig. 2.
pub fn figure_2(results: &Results) -> Result<Content> {
    let of = |point: &Point| -> Vec<Registers> {
        let runs = results.of(point).iter();
        let found = runs.map(|run| run.report.working_set.unwrap_or_default());
        found
            .map(|found| {
                let mean = found.mean_registers();
                Registers { mean, most: mean.map(|_| found.most_registers as f64) }
            })
            .collect()
    };
    let schedulers = schedulers();
    let found: Vec<Vec<Registers>> = schedulers.iter().map(|(.., point)| of(point)).collect();
    Ok(Content {
        claims: claims(&schedulers, &found),
        tables: vec![
            table(results, &schedulers, &found, ("mean", "mean window"), |registers| registers.mean),
            table(results, &schedulers, &found, ("most", "window with most"), |registers| registers.most),
        ],
        notes: vec![format!(
            "Distinct pairs of warp slot and register that are read or written in a window of {WINDOW} cycles, times \
             {REGISTER_BYTES} bytes; the register file has {} KB (the paper's \"2048 KB\" are its entries). The last \
             window of a run is left out.",
            kilobytes(REGISTERS)
        )],
        charts: vec![chart(results, &schedulers, &found)],
    })
}

fn kilobytes(registers: f64) -> f64 {
    registers * REGISTER_BYTES / 1024.0
}

fn percent(registers: f64) -> f64 {
    100.0 * registers / REGISTERS
}

fn claims(schedulers: &[(String, String, Point)], found: &[Vec<Registers>]) -> Vec<Claim> {
    let values = |scheduler: usize| found[scheduler].iter().filter_map(|registers| registers.mean);
    let small = |scheduler: usize| {
        let below = values(scheduler).filter(|&registers| percent(registers) <= SMALL_PERCENT).count();
        let share = mean(values(scheduler)).map_or(0.0, percent);
        let name = &schedulers[scheduler].1;
        format!("{name}: {below} of {}, mean {share:.1} %", values(scheduler).count())
    };
    let change = |scheduler: usize| {
        let pairs = || values(scheduler).zip(values(0));
        let smaller = pairs().filter(|(two_level, gto)| two_level < gto).count();
        let ratios =
            pairs().filter(|(_, gto)| *gto > 0.0).map(|(two_level, gto)| 100.0 * (two_level / gto - 1.0));
        let name = &schedulers[scheduler].1;
        format!(
            "{name}: smaller in {smaller} of {}, mean {:+.1} %",
            pairs().count(),
            mean(ratios).unwrap_or(0.0)
        )
    };
    let all = |text: &dyn Fn(usize) -> String, from: usize| {
        (from..schedulers.len()).map(text).collect::<Vec<_>>().join("; ")
    };
    vec![
        Claim::new("§2.1", "for most applications 10 % of the register file or less", all(&small, 0)).number(
            Number::share(
                "working_set",
                "registers accessed in 100 cycles under GTO, mean",
                Stated::at_most(SMALL_PERCENT),
                mean(values(0)).map(percent),
            ),
        ),
        Claim::new("§2.1", "the two-level scheduler uses less in each interval than GTO", all(&change, 1)),
    ]
}

fn table(
    results: &Results,
    schedulers: &[(String, String, Point)],
    found: &[Vec<Registers>],
    (key, title): (&'static str, &str),
    value: impl Fn(&Registers) -> Option<f64>,
) -> Table {
    let mut table = Table::new(key, format!("Registers accessed, {title}")).column("workload", "workload");
    for (key, heading, _) in schedulers {
        table = table.real(format!("{key}_kb"), format!("{heading}, KB"), 1).real(
            format!("{key}_percent"),
            "%",
            1,
        );
    }
    let cells = |name: &str, registers: &dyn Fn(usize) -> Option<f64>| {
        let pair = |scheduler| [registers(scheduler).map(kilobytes), registers(scheduler).map(percent)];
        let numbers = (0..schedulers.len()).flat_map(pair).map(Cell::from);
        std::iter::once(Cell::from(name)).chain(numbers).collect()
    };
    for (workload, entry) in results.workloads.iter().enumerate() {
        table.row(cells(entry.name, &|scheduler| value(&found[scheduler][workload])));
    }
    table.row(cells("mean", &|scheduler| mean(found[scheduler].iter().filter_map(&value))));
    table
}

fn chart(results: &Results, schedulers: &[(String, String, Point)], found: &[Vec<Registers>]) -> Chart {
    let bars = |((_, heading, _), found): (&(String, String, Point), &Vec<Registers>)| {
        Bars::new(heading, found.iter().map(|registers| registers.mean.map(kilobytes)).collect())
    };
    Chart {
        title: "registers accessed in 100 cycles, mean window".to_owned(),
        x_label: String::new(),
        y_label: "KB".to_owned(),
        plot: Plot::Bars {
            groups: results.workloads.iter().map(|workload| workload.name.to_owned()).collect(),
            series: schedulers.iter().zip(found).map(bars).collect(),
            stacked: false,
        },
    }
}

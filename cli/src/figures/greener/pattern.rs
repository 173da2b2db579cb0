//! Figs. 4.1 and 4.2: when registers are accessed.

use std::collections::BTreeSet;

use warpfile_kernels::workloads::Workload;

use super::{percent, values_absent};
use crate::figures::Cause;
use crate::figures::accesses::{RegisterAccesses, WarpAccesses};
use crate::figures::chart::{Bars, Chart, Line, LineStyle, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::series::ratio;
use crate::figures::statistics::mean;

/// Accesses of MUM's registers 1 and 10, and cycles of its warp's life (§4.1.1).
const MOST: u64 = 330;
const FEWEST: u64 = 7;
const LIFE: u64 = 29_614;
/// What a register's accesses take of its warp's cycles at most, per cent, in the mean of each application (§4.1.1).
const ACCESSED: f64 = 2.0;

/// Why numbers of Fig. 4.1 differ.
pub const CAUSES_1: &[Cause] = &[Cause {
    of: &["most", "fewest"],
    why: "All SMs walk down one tree, of 2.8 MB here. An SM alone has its share of the L2, 110 KB, so that its walks wait for \
          DRAM; where SMs find in the L2 what others have read, each has the whole of it. With as much L2 for the one SM:",
    run: "--set l2.bytes=22020096",
}];

/// Fig. 4.1.
pub fn figure_1(workloads: &[&'static Workload], accesses: &[RegisterAccesses]) -> Content {
    let warps: Vec<(&'static str, &WarpAccesses)> =
        workloads.iter().zip(accesses).map(|(workload, found)| (workload.name, &found.longest)).collect();
    Content {
        claims: warps.first().map(|(name, warp)| claims_1(name, warp)).unwrap_or_default(),
        tables: vec![registers(&warps)],
        notes: vec![
            "The warp that lived longest in a run of the baseline; the thesis's is warp 0. A register is accessed where an \
             operand is delivered or a result taken."
                .to_owned(),
        ],
        charts: warps.iter().map(|(name, warp)| pattern(name, warp)).collect(),
    }
}

fn claims_1(name: &str, warp: &WarpAccesses) -> Vec<Claim> {
    let share = |accesses: u64| ratio(100.0 * accesses as f64, warp.cycles as f64);
    let counts = warp.by_register();
    let accessed = || counts.iter().copied().filter(|&count| count > 0);
    let claim = |key: &str, which: &str, paper: u64, here: Option<u64>| {
        let here_share = here.and_then(share);
        let what = format!("cycles in which the {which} accessed register of MUM is accessed");
        Claim::new(
            "§4.1.1",
            format!("{what}: {paper} of {LIFE}"),
            format!("of {name}: {} of {}, {}", here.unwrap_or(0), warp.cycles, percent(here_share)),
        )
        .number(Number::share(
            key,
            what,
            Stated::exactly(100.0 * paper as f64 / LIFE as f64),
            here_share,
        ))
    };
    vec![
        claim("most", "most often", MOST, accessed().max()),
        claim("fewest", "least often", FEWEST, accessed().min()),
    ]
}

fn registers(warps: &[(&'static str, &WarpAccesses)]) -> Table {
    let mut table = Table::new("registers", "Registers of the warp")
        .column("workload", "workload")
        .column("kernel", "kernel")
        .column("register", "register")
        .column("accesses", "cycles accessed")
        .real("share_percent", "% of the warp's cycles", 3)
        .column("first", "first")
        .column("last", "last")
        .column("longest_gap", "longest gap");
    for (name, warp) in warps {
        for (register, count) in warp.by_register().into_iter().enumerate() {
            let of_register = warp.accesses.iter().filter(|(_, of)| usize::from(*of) == register);
            let at: Vec<u64> = of_register.map(|(cycle, _)| *cycle).collect();
            let gap = at.windows(2).map(|pair| pair[1] - pair[0]).max();
            let cell = |cycle: Option<u64>| cycle.map_or(Cell::Missing, Cell::Integer);
            table.row(vec![
                (*name).into(),
                warp.kernel.clone().into(),
                format!("R{register}").into(),
                count.into(),
                ratio(100.0 * count as f64, warp.cycles as f64).into(),
                cell(at.first().copied()),
                cell(at.last().copied()),
                cell(gap),
            ]);
        }
    }
    table
}

/// Dots beside each other that a chart has at most: closer ones could not be told apart.
const DOTS: u64 = 400;

fn pattern(name: &str, warp: &WarpAccesses) -> Chart {
    let width = warp.cycles.div_ceil(DOTS).max(1);
    let seen: BTreeSet<(u64, u16)> =
        warp.accesses.iter().map(|&(cycle, register)| (cycle / width * width, register)).collect();
    let points = seen.into_iter().map(|(cycle, register)| (cycle as f64, f64::from(register)));
    let dots = Line { name: "access".to_owned(), points: points.collect(), style: LineStyle::Dots };
    Chart {
        title: format!("{name}: {}", warp.kernel),
        x_label: "cycle since the warp's start".to_owned(),
        y_label: "register".to_owned(),
        plot: Plot::Lines(vec![dots]),
    }
}

/// Fig. 4.2.
pub fn figure_2(workloads: &[&'static Workload], accesses: &[RegisterAccesses]) -> Content {
    let share = |found: &RegisterAccesses| found.accessed_share().map(|share| 100.0 * share);
    let shares: Vec<Option<f64>> = accesses.iter().map(share).collect();
    let mean = mean(shares.iter().copied().flatten());
    let mut table = Table::new("accessed", "Registers, mean over those of all warps")
        .column("workload", "workload")
        .column("warps", "warps")
        .real("cycles_lived", "cycles a warp lives", 0)
        .real("accessed_percent", "cycles accessed, %", 3);
    for ((workload, found), share) in workloads.iter().zip(accesses).zip(&shares) {
        let lived = ratio(found.cycles_lived as f64, found.warps as f64);
        table.row(vec![workload.name.into(), found.warps.into(), lived.into(), (*share).into()]);
    }
    table.row(vec!["mean".into(), Cell::Missing, Cell::Missing, mean.into()]);
    let what = "cycles of its warp in which a register is accessed, mean";
    let groups = workloads.iter().map(|workload| workload.name).chain(["mean"]);
    Content {
        claims: vec![
            Claim::new(
                "§4.1.1",
                "on an average registers are accessed in less than 2 % of the cycles",
                percent(mean),
            )
            .number(Number::share("accessed", what, Stated::at_most(ACCESSED), mean)),
            values_absent("Fig. 4.2"),
        ],
        tables: vec![table],
        notes: vec![
            "In runs of the baseline. A warp's cycles are those from its start to its end.".to_owned(),
        ],
        charts: vec![Chart {
            title: "cycles in which a register is accessed".to_owned(),
            x_label: String::new(),
            y_label: "% of its warp's cycles".to_owned(),
            plot: Plot::Bars {
                groups: groups.map(str::to_owned).collect(),
                series: vec![Bars::new("mean over registers", shares.into_iter().chain([mean]).collect())],
                stacked: false,
            },
        }],
    }
}

//! Sharing of one resource beside a machine without it: Figs. 2.16 to 2.18, 2.20, 3.13 and 3.14.

use super::kernels::Kernels;
use super::{bars_absent, content, notes, register_sharing};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, named, percent_change, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// How fast sharing has to be beside twice the resource to be counted.
#[derive(Clone, Copy)]
pub enum Least {
    /// Faster.
    Faster,
    /// Comparable, which is taken to be within five per cent, or faster.
    Comparable,
}

impl Least {
    fn speed(self) -> f64 {
        match self {
            Least::Faster => 1.0,
            Least::Comparable => 0.95,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Least::Faster => "faster than twice the resource",
            Least::Comparable => "comparable with twice the resource, within five per cent, or faster",
        }
    }
}

/// What the baseline of most figures schedules by.
pub const LRR: &str = "LRR";

/// A machine that shares, and what it is held against.
pub struct Comparison {
    /// The figure of the thesis, as it is cited.
    pub figure: &'static str,
    /// `register sharing`.
    pub name: &'static str,
    pub shared: Point,
    pub base: Point,
    /// The scheduler of the base.
    pub scheduler: &'static str,
    pub notes: Vec<String>,
}

impl Comparison {
    /// Register sharing of chapter 2.
    pub fn of_registers(figure: &'static str, base: &Point, scheduler: &'static str) -> Comparison {
        Comparison {
            figure,
            name: "register sharing",
            shared: register_sharing(),
            base: base.clone(),
            scheduler,
            notes: notes(),
        }
    }

    fn speedup(&self, kernels: &Kernels<'_>) -> Series {
        Series::new("sharing", self.name, 3, kernels.speedup(&self.shared, &self.base))
    }

    fn title(&self) -> String {
        format!("Instructions a cycle of {}, relative to {} without sharing", self.name, self.scheduler)
    }

    /// The largest improvement, and that of a section of the thesis, per cent.
    pub fn largest(&self, results: &Results, section: &'static str, thesis: f64) -> Content {
        let kernels = &Kernels::of(results);
        let series = self.speedup(kernels);
        let best = series.values.iter().flatten().copied().reduce(f64::max);
        self.improvement(kernels, series, ("largest", "largest improvement"), (best, section, thesis))
    }

    /// The mean improvement, and that of a section of the thesis, per cent.
    pub fn mean(&self, results: &Results, section: &'static str, thesis: f64) -> Content {
        let kernels = &Kernels::of(results);
        let series = self.speedup(kernels).with_paper(Some(1.0 + thesis / 100.0));
        let mean = series.average(kernels, Average::Geometric);
        self.improvement(kernels, series, ("mean", "mean improvement"), (mean, section, thesis))
    }

    fn improvement(
        &self,
        kernels: &Kernels<'_>,
        series: Series,
        (key, which): (&'static str, &str),
        (here, section, thesis): (Option<f64>, &'static str, f64),
    ) -> Content {
        let here = percent_change(here);
        let what = format!("{which} of IPC beside {}", self.scheduler);
        let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:+.2} %"));
        let claim = Claim::new(section, format!("{what}: {thesis:+} %"), text).number(Number::change(
            key,
            what,
            Stated::exactly(thesis),
            here,
        ));
        let claims = vec![claim, bars_absent(self.figure)];
        content(kernels, &self.title(), claims, &[series], self.notes.clone())
    }

    /// How stalls and idle cycles change. What the thesis says: `stalls` of the first, `idle` by how many per cent the second
    /// become fewer in a program.
    pub fn without_issue(&self, results: &Results, stalls: &str, idle: &[(&str, f64)]) -> Content {
        let change = |value: fn(&Run) -> u64| {
            let runs = results.of(&self.shared).iter().zip(results.of(&self.base));
            let percent =
                |(run, base): (&Run, &Run)| percent_change(ratio(value(run) as f64, value(base) as f64));
            runs.map(percent).collect::<Vec<_>>()
        };
        let series = [
            Series::new("stalls", "stalls", 1, change(stall_cycles)),
            Series::new("idle", "idle cycles", 1, change(idle_cycles)),
        ];
        let fewer =
            |series: &Series| named(results, series, |value| value < 0.0, |value| format!(" {value:.1} %"));
        let all =
            "of both figures together, idle cycles become fewer, up to 99 %, for all applications but one";
        let claims = [(all, &series[1]), (stalls, &series[0])]
            .map(|(thesis, series)| Claim::new("§2.5.1.5", thesis, format!("fewer for: {}", fewer(series))));
        let of_programs = idle.iter().map(|(name, thesis)| {
            let what = format!("idle cycles fewer, {name}");
            let here = series[1].of_workload(results, name).map(|change| -change);
            let text = here.map_or_else(|| "no value".to_owned(), |here| format!("{here:.1} %"));
            let number = Number::change(format!("idle_{name}"), what.clone(), Stated::exactly(*thesis), here);
            Claim::new("§2.5.1.5", format!("{what}: {thesis} %"), text).number(number)
        });
        let claims = claims.into_iter().chain(of_programs).chain([bars_absent(self.figure)]);
        let mut notes = self.notes.clone();
        notes.push(
            "A stall is a scheduler's cycle in which the instruction picked before could not be taken; it is idle in cycles in \
             which no warp is ready. Both are of all kernels of the program."
                .to_owned(),
        );
        let title = format!("Change beside {} without sharing, per cent", self.scheduler);
        Content {
            claims: claims.collect(),
            tables: vec![table("cycles", title, results, &series, Average::Arithmetic)],
            notes,
            charts: vec![chart(
                "cycles without issue",
                "change, %",
                results,
                &series,
                Average::Arithmetic,
                false,
            )],
        }
    }

    /// Beside a machine with twice the resource; in how many of how many applications the thesis's sharing is at least as
    /// fast as said.
    pub fn beside_twice(
        &self,
        results: &Results,
        (heading, twice): (&str, &Point),
        least: Least,
        (section, counted, of): (&'static str, usize, usize),
    ) -> Content {
        let kernels = &Kernels::of(results);
        let series =
            [Series::new("twice", heading, 3, kernels.speedup(twice, &self.base)), self.speedup(kernels)];
        let beside = kernels.speedup(&self.shared, twice);
        let better = beside.iter().flatten().filter(|value| **value >= least.speed()).count();
        let all = kernels.len();
        let percent = |some: usize, all: usize| 100.0 * some as f64 / all as f64;
        let here = (all > 0).then(|| percent(better, all));
        let what = format!("kernels, of 100, that {} makes {}", self.name, least.text());
        let thesis = format!("{} is {} in {counted} of {of} applications", self.name, least.text());
        let claim = Claim::new(section, thesis, format!("in {better} of {all}")).number(Number::share(
            "faster",
            what,
            Stated::exactly(percent(counted, of)),
            here,
        ));
        let claims = vec![claim, bars_absent(self.figure)];
        content(kernels, &self.title(), claims, &series, self.notes.clone())
    }
}

fn stall_cycles(run: &Run) -> u64 {
    run.report.stalls.issue_blocked
}

fn idle_cycles(run: &Run) -> u64 {
    let stalls = &run.report.stalls;
    stalls.short_latency
        + stalls.long_latency
        + stalls.branch
        + stalls.barrier
        + stalls.design
        + stalls.drained
}

//! Fig. 13: run time against energy over the capacities of the staging units.

use anyhow::Result;

use super::energy::{gpu_relative, model, registers_relative};
use super::rodinia::{AVERAGES, Average, Series, baseline, change, regless, table};
use super::run_time::relative_times;
use crate::figures::chart::{Bars, Chart, Line, LineStyle, Plot};
use crate::figures::report::{Claim, Content, Table};
use crate::figures::statistics::range;
use crate::figures::sweep::{Point, Results};

/// Lines of an SM.
const CAPACITIES: [u64; 7] = [128, 192, 256, 384, 512, 1024, 2048];
/// The paper's choice (§6.2).
const CHOICE: u64 = 512;

fn regless_of(lines: u64) -> Point {
    regless().with("regless.lines", lines)
}

/// The baseline and every capacity.
pub fn points_13() -> Vec<Point> {
    std::iter::once(baseline()).chain(CAPACITIES.map(regless_of)).collect()
}

/// What a capacity costs, relative to the baseline; geometric means over workloads.
struct Cost {
    lines: u64,
    time: Option<f64>,
    slowest: Option<f64>,
    registers: Option<f64>,
    gpu: Option<f64>,
}

/// Fig. 13.
pub fn figure_13(results: &Results) -> Result<Content> {
    let model = model(results)?;
    let named = |lines: u64, values| Series::new(format!("lines_{lines}"), lines.to_string(), 3, values);
    let mut times = Vec::new();
    let mut energies = Vec::new();
    let mut costs = Vec::new();
    for lines in CAPACITIES {
        let point = regless_of(lines);
        let time = named(lines, relative_times(results, &point));
        let gpu = named(lines, gpu_relative(&model, results, &point)?);
        let registers = named(lines, registers_relative(&model, results, &point)?);
        costs.push(Cost {
            lines,
            time: time.average(results, Average::Geometric),
            slowest: range(time.values.iter().flatten().copied()).map(|(_, slowest)| slowest),
            registers: registers.average(results, Average::Geometric),
            gpu: gpu.average(results, Average::Geometric),
        });
        times.push(time);
        energies.push(gpu);
    }
    Ok(Content {
        claims: claims(&costs),
        tables: vec![
            summary(&costs),
            table("run_time", "Cycles by lines, relative to the baseline", results, &times, Average::Geometric),
            table("gpu_energy", "Energy of the GPU by lines, relative to the baseline", results, &energies, Average::Geometric),
        ],
        notes: vec![
            "A capacity is on the frontier if no other is both as fast and as frugal. A region may hold a quarter of a \
             shard, so the code is compiled for each capacity."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![frontier_chart(&costs), bars(&costs)],
    })
}

/// Whether no other capacity is as good in both and better in one.
fn is_on_frontier(cost: &Cost, costs: &[Cost]) -> bool {
    let Some((time, energy)) = cost.time.zip(cost.gpu) else { return false };
    let others = costs.iter().filter_map(|other| other.time.zip(other.gpu));
    !others.into_iter().any(|(other_time, other_energy)| {
        other_time <= time && other_energy <= energy && (other_time < time || other_energy < energy)
    })
}

fn claims(costs: &[Cost]) -> Vec<Claim> {
    let of = |lines: u64| costs.iter().find(|cost| cost.lines == lines);
    let show = |cost: Option<&Cost>| {
        cost.map_or_else(String::new, |cost| {
            format!(
                "run time {}, energy {}, slowest workload {}",
                change(cost.time),
                change(cost.gpu),
                change(cost.slowest)
            )
        })
    };
    let frontier = costs.iter().filter(|cost| is_on_frontier(cost, costs)).map(|cost| cost.lines.to_string());
    let frontier = frontier.collect::<Vec<_>>().join(", ");
    vec![
        Claim::new(
            "§6.2",
            "128 lines are Pareto-optimal in energy",
            format!("on the frontier: {frontier}; 128: {}", show(of(128))),
        ),
        Claim::new("§6.2", "512 lines: no average performance loss", show(of(CHOICE))),
        Claim::new(
            "§6.2",
            "512 lines have better worst-case performance than 384",
            format!("384: {}", show(of(384))),
        ),
        Claim::new(
            "§6.2",
            "larger capacities see a slight speedup",
            format!("1024: {}; 2048: {}", show(of(1024)), show(of(2048))),
        ),
    ]
}

fn summary(costs: &[Cost]) -> Table {
    let mut table = Table::new("by_capacity", "Relative to the baseline, geometric means over workloads")
        .column("lines", "lines an SM")
        .real("run_time", "run time", 3)
        .real("run_time_slowest", "of the slowest workload", 3)
        .real("register_energy", "energy of the registers", 3)
        .real("gpu_energy", "energy of the GPU", 3)
        .column("on_frontier", "on the frontier");
    for cost in costs {
        let verdict = if is_on_frontier(cost, costs) { "yes" } else { "no" };
        table.row(vec![
            cost.lines.into(),
            cost.time.into(),
            cost.slowest.into(),
            cost.registers.into(),
            cost.gpu.into(),
            verdict.into(),
        ]);
    }
    table
}

/// Energy over run time, a mark each, and a line through the frontier.
fn frontier_chart(costs: &[Cost]) -> Chart {
    let place = |cost: &Cost| cost.time.zip(cost.gpu);
    let mark = |cost: &Cost| Line {
        name: cost.lines.to_string(),
        points: place(cost).into_iter().collect(),
        style: LineStyle::Marks,
    };
    let mut lines: Vec<Line> = costs.iter().map(mark).collect();
    let mut points: Vec<(f64, f64)> =
        costs.iter().filter(|cost| is_on_frontier(cost, costs)).filter_map(place).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    lines.push(Line { name: "frontier".to_owned(), points, style: LineStyle::Thin });
    Chart {
        title: "energy of the GPU against run time, by lines".to_owned(),
        x_label: "run time, relative to the baseline".to_owned(),
        y_label: "energy, relative to the baseline".to_owned(),
        plot: Plot::Lines(lines),
    }
}

fn bars(costs: &[Cost]) -> Chart {
    let values = |value: fn(&Cost) -> Option<f64>| costs.iter().map(value).collect();
    Chart {
        title: "run time and energy".to_owned(),
        x_label: "lines an SM".to_owned(),
        y_label: "relative to the baseline".to_owned(),
        plot: Plot::Bars {
            groups: costs.iter().map(|cost| cost.lines.to_string()).collect(),
            series: vec![
                Bars::new("run time", values(|cost| cost.time)),
                Bars::new("energy of the GPU", values(|cost| cost.gpu)),
                Bars::new("energy of the registers", values(|cost| cost.registers)),
            ],
            stacked: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, is_on_frontier};

    #[test]
    fn a_capacity_that_another_beats_in_both_is_not_on_the_frontier() {
        let cost = |lines, time, gpu| Cost {
            lines,
            time: Some(time),
            slowest: None,
            registers: None,
            gpu: Some(gpu),
        };
        let costs = [cost(128, 1.2, 0.85), cost(256, 1.1, 0.85), cost(512, 1.0, 0.9), cost(1024, 1.0, 0.95)];
        let found: Vec<bool> = costs.iter().map(|cost| is_on_frontier(cost, &costs)).collect();
        assert_eq!(found, [false, true, true, false]);
    }
}

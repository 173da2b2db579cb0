//! Every design that has a name, on every machine that there is a preset of: the same programs, the same energy.

use anyhow::Result;
use warpfile_sim::config::{Config, preset, preset_names};
use warpfile_sim::energy::{EnergyModel, Technology};
use warpfile_sim::mechanisms::{Registry, Stack};

use super::chart::{Chart, Plot, Ratios};
use super::report::{Cell, Content, Table};
use super::statistics::{geometric_mean, mean};
use super::sweep::{Point, Results, Run};
use super::{Figure, Method};

/// What everything is relative to.
const BASELINE: &str = "baseline";
/// From how many times the baseline's on a chart's colours are full.
const FULL: f64 = 1.5;
/// Programs that more than one paper measured.
pub const WORKLOADS: &[&str] = &["hotspot", "pathfinder", "backprop", "bfs", "nw", "srad"];

/// The figure.
pub const FIGURES: &[Figure] = &[Figure {
    id: "all-designs",
    title: "All designs on all machines: cycles, instructions a cycle, energy",
    source: "all papers",
    workloads: WORKLOADS,
    method: Method::Runs { points, show },
    has_numbers: false,
    causes: &[],
}];

/// A design on a machine.
struct Entry {
    machine: &'static str,
    design: Stack,
    /// Why the machine cannot carry the design, if it cannot.
    refused: Option<String>,
}

impl Entry {
    fn point(&self) -> Point {
        Point::new(self.machine, self.design.as_str()).with("energy.technology", Technology::GTX980)
    }
}

/// Presets, each machine once.
fn machines() -> Vec<(&'static str, Config)> {
    let mut machines: Vec<(&'static str, Config)> = Vec::new();
    for name in preset_names() {
        let Ok(config) = preset(name) else { continue };
        let is_same = |known: &Config| {
            let mut known = known.clone();
            known.preset.clone_from(&config.preset);
            known.to_toml() == config.to_toml()
        };
        if !machines.iter().any(|(_, known)| is_same(known)) {
            machines.push((name, config));
        }
    }
    machines
}

/// Every named design on every machine, machine after machine.
fn entries() -> Vec<Entry> {
    let stacks = Registry::shipped().stacks();
    let of_machine = |(machine, config): (&'static str, Config)| {
        let of_stack = |design: &Stack| {
            let refused = config.with_stack(design.clone()).validate().err().map(|error| error.to_string());
            Entry { machine, design: design.clone(), refused }
        };
        stacks.iter().map(of_stack).collect::<Vec<_>>()
    };
    machines().into_iter().flat_map(of_machine).collect()
}

fn points() -> Vec<Point> {
    entries().iter().filter(|entry| entry.refused.is_none()).map(Entry::point).collect()
}

/// A quantity of a run beside the baseline's.
type Quantity<'a> = &'a dyn Fn(&Run, &Run) -> Option<f64>;

fn show(results: &Results) -> Result<Content> {
    let model = EnergyModel::named(Technology::GTX980)?;
    let relative = |value: f64, base: f64| (base > 0.0).then(|| value / base);
    let cycles = |run: &Run, base: &Run| relative(run.report.cycles as f64, base.report.cycles as f64);
    let ipc = |run: &Run, _: &Run| Some(run.report.ipc);
    let registers = |run: &Run, base: &Run| {
        let energy = |run: &Run| Some(model.registers(run.measured()).ok()?.total_pj());
        relative(energy(run)?, energy(base)?)
    };
    let gpu = |run: &Run, base: &Run| {
        let energy = |run: &Run| Some(model.gpu(base.measured(), run.measured()).ok()?.total_pj());
        relative(energy(run)?, energy(base)?)
    };
    let quantities: [(&'static str, &str, usize, Quantity<'_>, Mean); 4] = [
        ("cycles", "Cycles, relative to the machine's baseline", 3, &cycles, geometric_mean_of),
        ("ipc", "Warp instructions a cycle", 2, &ipc, mean_of),
        (
            "register_energy",
            "Energy of the registers, relative to the machine's baseline",
            3,
            &registers,
            geometric_mean_of,
        ),
        ("gpu_energy", "Energy of the GPU, relative to the machine's baseline", 3, &gpu, geometric_mean_of),
    ];
    let entries = entries();
    let mut summary =
        Table::new("designs", "Means over the programs: geometric, of instructions a cycle arithmetic")
            .column("machine", "machine")
            .column("design", "design");
    for (key, heading) in
        [("cycles", "cycles"), ("ipc", "IPC"), ("register_energy", "registers"), ("gpu_energy", "GPU")]
    {
        summary = summary.real(key, heading, 3);
    }
    for entry in &entries {
        let mut cells: Vec<Cell> = vec![entry.machine.into(), entry.design.as_str().into()];
        cells.extend(
            quantities
                .iter()
                .map(|(.., quantity, mean)| Cell::from(mean(&values(results, entry, *quantity)))),
        );
        summary.row(cells);
    }
    let mut tables = vec![summary];
    tables.extend(quantities.iter().map(|(key, title, decimals, quantity, mean)| {
        by_workload(results, &entries, Table::new(key, *title), *decimals, *quantity, *mean)
    }));
    let refused = entries.iter().filter_map(|entry| {
        Some(format!(
            "- {} cannot carry {}: {}",
            entry.machine,
            entry.design.as_str(),
            entry.refused.as_ref()?
        ))
    });
    let mut notes = vec![format!(
        "Cycles and energies are relative to `{BASELINE}` on the same machine. Registers are what stands in the register \
         file's place and around it; all energies are by technology {}, whatever the preset has.",
        Technology::GTX980
    )];
    let refused: Vec<String> = refused.collect();
    if !refused.is_empty() {
        notes.push(refused.join("\n"));
    }
    let charts = [("cycles", 0), ("energy of the registers", 2), ("energy of the GPU", 3)]
        .map(|(title, which)| chart(results, &entries, title, quantities[which].3));
    Ok(Content { claims: Vec::new(), tables, notes, charts: charts.into() })
}

/// How values of programs become one.
type Mean = fn(&[Option<f64>]) -> Option<f64>;

fn mean_of(values: &[Option<f64>]) -> Option<f64> {
    mean(values.iter().flatten().copied())
}

fn geometric_mean_of(values: &[Option<f64>]) -> Option<f64> {
    geometric_mean(values.iter().flatten().copied())
}

/// A quantity of a design on a machine, one a program; none of what cannot be.
fn values(results: &Results, entry: &Entry, quantity: Quantity<'_>) -> Vec<Option<f64>> {
    if entry.refused.is_some() {
        return vec![None; results.workloads.len()];
    }
    let baseline = Point::new(entry.machine, BASELINE).with("energy.technology", Technology::GTX980);
    let pairs = results.of(&entry.point()).iter().zip(results.of(&baseline));
    pairs.map(|(run, base)| quantity(run, base)).collect()
}

/// A row for each machine and program, a column for each design.
fn by_workload(
    results: &Results,
    entries: &[Entry],
    mut table: Table,
    decimals: usize,
    quantity: Quantity<'_>,
    mean: Mean,
) -> Table {
    table = table.column("machine", "machine").column("workload", "workload");
    for of_machine in entries.chunk_by(|one, next| one.machine == next.machine).take(1) {
        for entry in of_machine {
            let name = entry.design.as_str();
            table = table.real(name.replace(['-', '+'], "_"), name, decimals);
        }
    }
    for of_machine in entries.chunk_by(|one, next| one.machine == next.machine) {
        let columns: Vec<Vec<Option<f64>>> =
            of_machine.iter().map(|entry| values(results, entry, quantity)).collect();
        let machine = of_machine[0].machine;
        for (position, workload) in results.workloads.iter().enumerate() {
            let cells = columns.iter().map(|column| Cell::from(column[position]));
            table.row([machine.into(), workload.name.into()].into_iter().chain(cells).collect());
        }
        let means = columns.iter().map(|column| Cell::from(mean(column)));
        table.row([machine.into(), "mean".into()].into_iter().chain(means).collect());
    }
    table
}

/// A row for each design, a column for each machine.
fn chart(results: &Results, entries: &[Entry], title: &str, quantity: Quantity<'_>) -> Chart {
    let machines: Vec<&[Entry]> = entries.chunk_by(|one, next| one.machine == next.machine).collect();
    let designs = machines.first().copied().unwrap_or_default();
    let of_design = |row: usize| {
        let of_machine = |entries: &&[Entry]| geometric_mean_of(&values(results, &entries[row], quantity));
        machines.iter().map(of_machine).collect()
    };
    Chart {
        title: format!("{title}, relative to the machine's baseline"),
        x_label: String::new(),
        y_label: "relative to the baseline".to_owned(),
        plot: Plot::Ratios(Ratios {
            rows: designs.iter().map(|entry| entry.design.as_str().to_owned()).collect(),
            columns: machines.iter().map(|entries| entries[0].machine.to_owned()).collect(),
            values: (0..designs.len()).map(of_design).collect(),
            full: FULL,
        }),
    }
}

#[cfg(test)]
mod tests {
    use warpfile_sim::mechanisms::Registry;

    use super::super::{PAPERS, Paper};
    use super::{WORKLOADS, entries, machines};

    #[test]
    fn every_named_design_is_there_on_every_machine() {
        let designs = Registry::shipped().designs().count();
        assert_eq!(entries().len(), designs * machines().len());
        assert!(
            entries().iter().any(|entry| entry.refused.is_some()),
            "fermi has three warps for two of RegLess"
        );
    }

    #[test]
    fn more_than_one_paper_has_measured_each_program() {
        for name in WORKLOADS {
            let has_it = |paper: &&&Paper| {
                let mut with_runs = paper.figures.iter().filter(|figure| figure.workloads.len() > 1);
                with_runs.all(|figure| figure.workloads.contains(name))
            };
            assert!(PAPERS.iter().filter(has_it).count() > 1, "{name}");
        }
    }
}

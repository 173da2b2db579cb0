//! What `warpfile run` prints: the designs side by side, or one JSON document.

use std::collections::BTreeSet;

use serde::Serialize;
use warpfile_kernels::exec::{AccessKind, OutOfBounds, Printed};
use warpfile_kernels::ptx::readable;
use warpfile_kernels::trace::TraceReport;
use warpfile_sim::config::Config;
use warpfile_sim::counters::{Counters, Counts, Row, Shown};
use warpfile_sim::energy::EnergyReport;
use warpfile_sim::mechanisms::Stack;
use warpfile_sim::sm::{
    Accesses, MemoryStatistics, Operations, PortActivity, Residency, RunReport, SchedulerStatistics,
    SmReport, Stalls, percent_less,
};

use crate::identity::Identity;
use crate::input::Input;
use crate::simulate::{Outcome, Setting};
use crate::table::{Align, count, lines};

/// Instructions that are shown of those that left their buffers; JSON has them all.
const MOST_INSTRUCTIONS: usize = 20;
/// What stands for a figure that there is none of.
const NONE: &str = "-";

/// What `--json` prints and `report.json` holds, for one kernel as for several; docs/report.schema.json has its shape.
#[derive(Serialize)]
pub struct Document<'a> {
    /// What all of it comes from.
    #[serde(flatten)]
    pub identity: Identity,
    /// A report for each kernel.
    pub kernels: &'a [Report<'a>],
}

/// A kernel and the designs that have run it.
#[derive(Serialize)]
pub struct Report<'a> {
    input: &'a Input,
    /// Of the kernel's text.
    hash: String,
    #[serde(skip)]
    config: &'a Config,
    #[serde(skip)]
    engine: &'static str,
    designs: Vec<DesignReport<'a>>,
    /// Accesses outside of every buffer that were tolerated, by kernel and instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    out_of_bounds: Option<&'a [OutOfBounds]>,
    /// What was noticed while a trace was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a TraceReport>,
    /// What the kernels have printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    printed: Option<String>,
    /// Calls of `printf` of which nothing is kept.
    #[serde(skip_serializing_if = "is_zero")]
    printed_dropped: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One design of a run.
#[derive(Serialize)]
struct DesignReport<'a> {
    name: &'a str,
    #[serde(skip)]
    design: &'a Stack,
    #[serde(skip)]
    report: &'a RunReport,
    cycles: u64,
    ipc: f64,
    warp_instructions: u64,
    thread_instructions: u64,
    metadata_instructions: u64,
    launches: u64,
    #[serde(skip_serializing_if = "<[SmReport]>::is_empty")]
    sms: &'a [SmReport],
    blocks: u64,
    mrf_reads: u64,
    mrf_writes: u64,
    mrf_reads_avoided_percent: Option<f64>,
    mrf_writes_avoided_percent: Option<f64>,
    energy_normalised_access: Option<f64>,
    energy_normalised_with_wires: Option<f64>,
    energy_normalised_registers: Option<f64>,
    energy_normalised_gpu: Option<f64>,
    operands_checked: u64,
    lane_operands_checked: u64,
    results: Option<Results>,
    wall_time_s: f64,
    warp_instructions_per_second: f64,
    energy: &'a EnergyReport,
    operands: &'a Accesses,
    counters: &'a Counts,
    operations: &'a Operations,
    stalls: &'a Stalls,
    residency: &'a [Residency],
    scheduler: &'a SchedulerStatistics,
    memory: &'a MemoryStatistics,
    activity: &'a [PortActivity],
}

/// Result buffers that were compared with what is expected of them.
#[derive(Clone, Copy, Serialize)]
struct Results {
    buffers_checked: usize,
    elements_checked: u64,
}

impl<'a> Report<'a> {
    /// Of the outcomes in the order in which they are shown; `tolerated` if accesses outside of every buffer were. `hash` is
    /// that of the kernel's text.
    pub fn new(
        config: &'a Config,
        setting: Setting,
        (input, hash, tolerated): (&'a Input, String, bool),
        outcomes: &[(&'a Stack, &'a Outcome)],
        printed: Option<&Printed>,
    ) -> Report<'a> {
        let text = printed.map(|printed| String::from_utf8_lossy(&printed.text).into_owned());
        Report {
            input,
            hash,
            config,
            engine: setting.engine.as_str(),
            designs: outcomes.iter().map(|&(name, outcome)| DesignReport::new(name, outcome)).collect(),
            out_of_bounds: outcomes
                .first()
                .filter(|_| tolerated)
                .map(|&(_, outcome)| &*outcome.out_of_bounds),
            trace: outcomes.last().and_then(|&(_, outcome)| outcome.trace.as_ref()),
            printed: text.filter(|text| !text.is_empty()),
            printed_dropped: printed.map_or(0, |printed| printed.dropped),
        }
    }

    /// As text: a table with a column for each design, and what has to be said about it.
    pub fn text(&self) -> String {
        let mut rows = vec![self.row("", |design| design.name.to_owned())];
        rows.extend(self.timing());
        rows.extend(self.registers());
        rows.extend(self.energy());
        rows.extend(self.measurement());
        let table = lines(&rows, &[Align::Left, Align::Right]);
        let notes: String = self.notes().into_iter().map(|note| format!("{note}\n")).collect();
        format!("{}, {} engine\n\n{table}\n{notes}", self.title(), self.engine)
    }

    /// The kernel and the machine.
    pub fn title(&self) -> String {
        format!("{}, {}", self.kernel(), self.machine())
    }

    /// The kernel.
    pub fn kernel(&self) -> String {
        self.input.title()
    }

    /// The machine.
    pub fn machine(&self) -> String {
        let (preset, simulated_sms) = (&self.config.preset, self.config.chip.simulated_sms);
        let sms = if simulated_sms > 1 { format!(", {simulated_sms} SMs") } else { String::new() };
        format!("preset {preset}{sms}")
    }

    fn row(&self, label: &str, cell: impl Fn(&DesignReport<'_>) -> String) -> Vec<String> {
        let cells = self.designs.iter().map(cell);
        [label.to_owned()].into_iter().chain(cells).collect()
    }

    fn timing(&self) -> Vec<Vec<String>> {
        vec![
            self.row("cycles", |design| count(design.cycles)),
            self.row("IPC", |design| format!("{:.3}", design.ipc)),
            self.row("warp instructions", |design| count(design.warp_instructions)),
        ]
    }

    /// What the designs' mechanisms ask for: rows of one label are one, in the order in which each design has them.
    fn registers(&self) -> Vec<Vec<String>> {
        let mut rows: Vec<Row> = Vec::new();
        for design in &self.designs {
            let mut at = rows.len();
            for row in design.design.rows() {
                match rows.iter().position(|known| known.label == row.label) {
                    Some(position) => at = position + 1,
                    None => {
                        rows.insert(at, row);
                        at += 1;
                    }
                }
            }
        }
        rows.iter().map(|row| self.row(row.label, |design| design.shown(row))).collect()
    }

    /// Energy relative to the baseline's, as the technology gives it; it is the same for all designs.
    fn energy(&self) -> Vec<Vec<String>> {
        let ratio = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| format!("{value:.3}"));
        vec![
            self.row("energy, access only", |design| ratio(design.energy_normalised_access)),
            self.row("energy, with wires", |design| ratio(design.energy_normalised_with_wires)),
            self.row("energy of registers, nJ", |design| nanojoules(design.energy)),
            self.row("energy, registers", |design| ratio(design.energy_normalised_registers)),
            self.row("energy, GPU", |design| ratio(design.energy_normalised_gpu)),
        ]
    }

    fn measurement(&self) -> Vec<Vec<String>> {
        vec![
            self.row("operands checked", |design| count(design.operands_checked)),
            self.row("wall time", |design| format!("{:.2} s", design.wall_time_s)),
            self.row("warp instructions/s", |design| {
                count(design.warp_instructions_per_second.round() as u64)
            }),
        ]
    }

    /// Where energies come from or why there are none, which results were compared, what a trace left open.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.designs.last().into_iter().flat_map(|design| energy_notes(design.energy)));
        for design in &self.designs {
            if let Some(reason) = &design.energy.unavailable {
                notes.push(format!("No energy for {}: {reason}.", design.name));
            }
        }
        notes.push("Every operand checked was right.".to_owned());
        notes.extend(self.designs.last().into_iter().flat_map(|design| spill_notes(design.residency)));
        notes.extend(
            self.designs.last().and_then(|design| design.results).map(|results| self.results(results)),
        );
        notes.extend(self.out_of_bounds.iter().flat_map(|accesses| out_of_bounds_notes(accesses)));
        if self.printed_dropped > 0 {
            let calls = count(self.printed_dropped);
            notes.push(format!(
                "{calls} further calls of printf are not shown: 1 MiB of what is printed is kept."
            ));
        }
        notes.extend(self.trace.iter().flat_map(|trace| trace_notes(trace)));
        let has_values = self.trace.is_none_or(|trace| trace.instructions_with_values > 0);
        if !has_values {
            let mechanisms = self.designs.iter().flat_map(|design| design.design.mechanisms());
            // One that does nothing without values has not run.
            let without = mechanisms
                .filter_map(|mechanism| mechanism.without_values(&mut self.config.clone()).ok().flatten());
            notes.extend(without.map(str::to_owned));
        }
        notes
    }

    fn results(&self, results: Results) -> String {
        let Results { buffers_checked, elements_checked } = results;
        let compared_with = match self.input {
            Input::Workload { .. } => "the CPU reference",
            Input::Ptx { .. } | Input::Launch { .. } | Input::Trace { .. } => "the files expected",
        };
        match buffers_checked {
            0 => "Results were not compared: the launch file names no expected contents.".to_owned(),
            1 => format!("1 result buffer equals {compared_with}: {} elements.", count(elements_checked)),
            more => {
                format!("{more} result buffers equal {compared_with}: {} elements.", count(elements_checked))
            }
        }
    }
}

impl<'a> DesignReport<'a> {
    fn new(design: &'a Stack, outcome: &'a Outcome) -> DesignReport<'a> {
        let Outcome { report, energy, check, trace: _, out_of_bounds: _, wall_time } = outcome;
        let mrf = report.mrf();
        let seconds = wall_time.as_secs_f64();
        DesignReport {
            name: design.as_str(),
            design,
            report,
            cycles: report.cycles,
            ipc: report.ipc,
            warp_instructions: report.warp_instructions,
            thread_instructions: report.thread_instructions,
            metadata_instructions: report.metadata_instructions,
            launches: report.launches,
            sms: &report.sms,
            blocks: report.blocks,
            mrf_reads: mrf.reads,
            mrf_writes: mrf.writes,
            mrf_reads_avoided_percent: report.mrf_reads_avoided_percent(),
            mrf_writes_avoided_percent: report.mrf_writes_avoided_percent(),
            energy_normalised_access: energy.accesses.normalised_access,
            energy_normalised_with_wires: energy.accesses.normalised_with_wires,
            energy_normalised_registers: energy.normalised_registers,
            energy_normalised_gpu: energy.normalised_gpu,
            operands_checked: report.operands_checked,
            lane_operands_checked: report.lane_operands_checked,
            results: check
                .map(|check| Results { buffers_checked: check.buffers, elements_checked: check.elements }),
            wall_time_s: seconds,
            warp_instructions_per_second: report.warp_instructions as f64 / seconds.max(f64::MIN_POSITIVE),
            energy,
            operands: &report.operands,
            counters: &report.counters,
            operations: &report.operations,
            stalls: &report.stalls,
            residency: &report.residency,
            scheduler: &report.scheduler,
            memory: &report.memory,
            activity: &report.activity,
        }
    }
}

impl DesignReport<'_> {
    /// What a row shows of the design; nothing if the design does not count it.
    fn shown(&self, row: &Row) -> String {
        let value = |path: &str| match path.strip_prefix("operands.") {
            Some(path) => (&self.report.operands as &dyn Counters).value(path),
            None => self.report.counters.value(path),
        };
        let shown = match row.shown {
            Shown::Count(path) => value(path).map(count),
            Shown::Mean(sum, of) => value(sum)
                .zip(value(of))
                .filter(|(_, of)| *of > 0)
                .map(|(sum, of)| format!("{:.1}", sum as f64 / of as f64)),
            Shown::PercentLess(made, all) => value(made)
                .zip(value(all))
                .and_then(|(made, all)| percent_less(made, all))
                .map(|percent| format!("{percent:.1} %")),
        };
        shown.unwrap_or_else(|| NONE.to_owned())
    }
}

/// The design's registers.
fn nanojoules(energy: &EnergyReport) -> String {
    energy.design.map_or(NONE.to_owned(), |design| count((design.registers.total_pj() / 1e3).round() as u64))
}

/// Which technology the energies are of, what they are made of, and what has no published energy where others have.
fn energy_notes(energy: &EnergyReport) -> Vec<String> {
    let EnergyReport { technology, node_nm, clock_ghz, modelled, not_modelled, accesses, .. } = energy;
    let is_published = accesses.arrays.iter().any(|array| array.is_published);
    let without_figure = accesses.arrays.iter();
    let without_figure =
        without_figure.filter(|array| is_published && array.holds_registers && !array.is_published);
    let without_figure = without_figure.map(|array| {
        format!("No published energy for {} ({} rows): {}.", array.name, array.entries, array.source)
    });
    let mut notes = vec![
        format!("Energy relative to the baseline's; technology {technology} ({node_nm} nm, {clock_ghz} GHz)."),
        "Access only and with wires: beside the baseline's on the same instructions; all else beside its own run."
            .to_owned(),
        format!("Modelled: {modelled}."),
        format!("Not modelled: {not_modelled}."),
    ];
    notes.splice(2..2, without_figure);
    notes
}

/// A line for each kernel with values in local memory.
fn spill_notes(residency: &[Residency]) -> BTreeSet<String> {
    let spilled = residency.iter().filter(|launch| !launch.spills.is_none());
    let note = |launch: &Residency| format!("{}: {}.", readable(&launch.kernel), launch.spills);
    spilled.map(note).collect()
}

/// Which instructions left their buffers, and where first.
pub fn out_of_bounds_notes(accesses: &[OutOfBounds]) -> Vec<String> {
    let of_kind = |kind: AccessKind| {
        count(accesses.iter().filter(|access| access.kind == kind).map(|access| access.accesses).sum())
    };
    let mut notes = vec![format!(
        "Accesses outside of every buffer: {} loads and {} atomics gave zero, {} stores were dropped.",
        of_kind(AccessKind::Load),
        of_kind(AccessKind::Atomic),
        of_kind(AccessKind::Store)
    )];
    notes.extend(accesses.iter().take(MOST_INSTRUCTIONS).map(|access| {
        let OutOfBounds { file, kernel, line, instruction, accesses, first, .. } = access;
        format!(
            "  {file}:{line}: kernel `{kernel}`, `{instruction}`: {} times, first in block {:?}, thread {}: {}",
            count(*accesses),
            first.block,
            first.thread,
            first.access
        )
    }));
    if accesses.len() > MOST_INSTRUCTIONS {
        notes.push(format!("  and {} more instructions", accesses.len() - MOST_INSTRUCTIONS));
    }
    notes
}

/// What a reader has to know of a trace before trusting its figures.
fn trace_notes(trace: &TraceReport) -> Vec<String> {
    let mut notes = Vec::new();
    if trace.instructions_without_values > 0 {
        notes.push(format!(
            "Trace: {} warp instructions without values; every write of theirs got a value of its own.",
            count(trace.instructions_without_values)
        ));
    }
    if trace.kills.operands > 0 {
        let kills = &trace.kills;
        notes.push(format!(
            "Trace: last reads claimed for {} of {} static operands; observations alone would allow {}.",
            count(kills.claimed),
            count(kills.operands),
            count(kills.possible)
        ));
    }
    if trace.contradicting_lanes > 0 {
        notes.push(format!(
            "Trace: {} operand lanes contradict what was last written and were not compared.",
            count(trace.contradicting_lanes)
        ));
    }
    notes.extend(trace.warnings().map(|(warning, times)| format!("Trace: {warning} ({times} times).")));
    if trace.warnings_dropped() > 0 {
        notes.push(format!("Trace: {} further warnings.", count(trace.warnings_dropped())));
    }
    notes
}

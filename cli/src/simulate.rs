//! One design on one input.

use std::io::Write;
use std::ops::Range;
use std::time::Duration;

use warpfile_kernels::launch::CheckReport;
use warpfile_kernels::trace::TraceReport;
use warpfile_sim::config::Config;
use warpfile_sim::energy::{EnergyReport, Technology, evaluate};
use warpfile_sim::sm::{self, EngineName, Progress, RunOptions, RunReport};

use crate::input::Input;
use crate::progress::Meter;
use crate::table::count;

/// What came of a design.
pub struct Outcome {
    /// What was measured.
    pub report: RunReport,
    /// Register file energy.
    pub energy: EnergyReport,
    /// Results compared with what is expected of them; `None` for a trace.
    pub check: Option<CheckReport>,
    /// What was noticed while a trace was read.
    pub trace: Option<TraceReport>,
    /// Time it took.
    pub wall_time: Duration,
}

/// Which part of the waveform is written.
#[derive(Clone, Default)]
pub struct Window {
    /// Path of a circuit; all circuits if `None`.
    pub scope: Option<String>,
    /// Cycles; all if `None`.
    pub cycles: Option<Range<u64>>,
}

/// What is the same for every design of a run.
pub struct Setting<'a> {
    /// What is run.
    pub input: &'a Input,
    /// What state without a reset starts from.
    pub seed: u64,
    /// What runs the circuits.
    pub engine: EngineName,
}

/// Runs the input through the configuration's design; every operand is checked, and so are the results.
pub fn simulate(
    config: &Config,
    setting: &Setting<'_>,
    waveform: Option<(&mut dyn Write, &Window)>,
) -> anyhow::Result<Outcome> {
    let technology = Technology::named(&config.energy.technology)?;
    let mut opened = setting.input.open()?;
    let mut meter = Meter::new(config.design.as_str());
    let mut progress = |progress: Progress| meter.update(|| state(progress));
    let waveform = waveform.map(|(writer, window)| sm::Waveform {
        writer,
        scope: window.scope.clone(),
        cycles: window.cycles.clone(),
    });
    let options =
        RunOptions { progress: Some(&mut progress), waveform, seed: setting.seed, engine: setting.engine };
    let report = sm::run(config, &mut opened, options)?;
    let wall_time = meter.elapsed();
    let energy = evaluate(&technology, config, &report.registers);
    let check = opened.check_results()?;
    Ok(Outcome { report, energy, check, trace: opened.trace_report().cloned(), wall_time })
}

fn state(progress: Progress) -> String {
    format!(
        "{} cycles, {} warp instructions, {} blocks of {}",
        count(progress.cycles),
        count(progress.warp_instructions),
        count(progress.blocks_ended),
        count(progress.blocks)
    )
}

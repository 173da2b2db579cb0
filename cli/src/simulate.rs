//! One SM of a design on one input, and the SMs of a chip together.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use warpfile_engine::waveform::Format;
use warpfile_kernels::exec::OutOfBounds;
use warpfile_kernels::launch::CheckReport;
use warpfile_kernels::trace::TraceReport;
use warpfile_sim::config::Config;
use warpfile_sim::energy::{EnergyModel, EnergyReport, MeasuredRun};
use warpfile_sim::sm::{self, ChipSm, EngineName, Progress, RunOptions, RunReport};

use crate::cache;
use crate::input::Source;
use crate::progress::{Meters, about_left, left_of_run};
use crate::table::count;

/// What came of a design.
pub struct Outcome {
    /// What was measured.
    pub report: RunReport,
    /// Energy of the registers, and of the GPU if the technology gives it.
    pub energy: EnergyReport,
    /// Results compared with what is expected of them; `None` for a trace.
    pub check: Option<CheckReport>,
    /// What was noticed while a trace was read.
    pub trace: Option<TraceReport>,
    /// Accesses outside of every buffer that were tolerated.
    pub out_of_bounds: Vec<OutOfBounds>,
    /// Time it took, added up over the SMs.
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

/// What of the traffic at a circuit's ports is recorded.
#[derive(Clone)]
pub struct Traffic {
    /// Path of the circuit.
    pub circuit: String,
    /// Cycles at most; all if `None`.
    pub cycles: Option<u64>,
}

/// What is observed of a run, and where it goes.
#[derive(Default)]
pub struct Observers<'a> {
    /// The waveform.
    pub waveform: Option<(Box<dyn Format + 'a>, &'a Window)>,
    /// The log of the pipeline, and the cycles that it covers; all if `None`.
    pub pipeline: Option<(&'a mut dyn Write, Option<Range<u64>>)>,
    /// The traffic at a circuit's ports.
    pub traffic: Option<(&'a mut dyn Write, &'a Traffic)>,
}

/// What is the same for all runs of a command.
#[derive(Clone, Copy)]
pub struct Setting {
    /// What state without a reset starts from.
    pub seed: u64,
    /// How many other seeds are tried besides.
    pub check_seeds: u64,
    /// What runs the circuits.
    pub engine: EngineName,
}

/// One run: an SM of a design on an input.
#[derive(Clone)]
pub struct Run<'a> {
    /// What is run.
    pub source: Arc<Source<'a>>,
    /// What it is run through.
    pub config: &'a Config,
    /// Number of the SM.
    pub sm: u64,
    /// Whether it is followed over time.
    pub timeline: bool,
}

/// What came of one run.
pub struct SmOutcome {
    report: RunReport,
    check: Option<CheckReport>,
    trace: Option<TraceReport>,
    out_of_bounds: Vec<OutOfBounds>,
    wall_time: Duration,
}

impl Run<'_> {
    /// Runs it; every operand is checked, and so are the results. `chip`: its end of what the SMs of the chip tell each other;
    /// the first SM's run must have begun before, or begin meanwhile.
    pub fn simulate(
        &self,
        chip: Option<ChipSm>,
        setting: Setting,
        meters: &Meters,
        observers: Observers<'_>,
    ) -> anyhow::Result<SmOutcome> {
        let mut opened = self.source.open()?;
        let mut meter = meters.meter(&self.label());
        let mut progress = |progress: Progress| {
            let total = self.source.issued(self.sm);
            let left =
                total.and_then(|total| left_of_run(meter.elapsed(), progress.warp_instructions, total));
            meter.update(|| state(progress) + &about_left(left));
        };
        let waveform = observers.waveform.map(|(format, window)| sm::Waveform {
            format,
            scope: window.scope.clone(),
            cycles: window.cycles.clone(),
        });
        let port_traffic = observers.traffic.map(|(writer, traffic)| sm::PortTraffic {
            writer,
            circuit: traffic.circuit.clone(),
            cycles: traffic.cycles,
        });
        let pipeline_log = observers.pipeline.map(|(writer, cycles)| sm::PipelineLog { writer, cycles });
        let Setting { seed, check_seeds, engine } = setting;
        let options = RunOptions {
            progress: Some(&mut progress),
            waveform,
            pipeline_log,
            port_traffic,
            seed,
            check_seeds,
            engine,
            sm: self.sm,
            chip,
            working_set_window: None,
            timeline: self.timeline,
            code_cache: cache::code(),
        };
        let report = sm::run(self.config, &mut opened, options)?;
        let wall_time = meter.elapsed();
        self.source.set_issued(self.sm, report.warp_instructions);
        let check = opened.check_results()?;
        let out_of_bounds = opened.out_of_bounds()?;
        Ok(SmOutcome { report, check, trace: opened.trace_report().cloned(), out_of_bounds, wall_time })
    }

    /// What its progress is shown under.
    fn label(&self) -> String {
        let Run { source, config, sm, timeline: _ } = self;
        let design = config.design.as_str();
        if config.chip.simulated_sms > 1 {
            format!("{}, {design}, SM {sm}", source.input().title())
        } else {
            format!("{}, {design}", source.input().title())
        }
    }
}

impl Outcome {
    /// What the SMs of a configuration give together, from all of them in order of their numbers, beside the baseline
    /// and its SMs.
    pub fn together(
        baseline: (&Config, &[SmOutcome]),
        (config, sms): (&Config, &[SmOutcome]),
    ) -> anyhow::Result<Outcome> {
        let reports: Vec<RunReport> = sms.iter().map(|sm| sm.report.clone()).collect();
        let report = RunReport::together(&reports);
        let model = EnergyModel::named(&config.energy.technology)?;
        let energy = model.report((config, &report), &measured(baseline), &measured((config, sms)));
        Ok(Outcome {
            energy,
            report,
            // The blocks of all SMs are executed before results are compared, and each has read the whole trace.
            check: sms.first().and_then(|sm| sm.check),
            trace: sms.first().and_then(|sm| sm.trace.clone()),
            out_of_bounds: sms.first().map(|sm| sm.out_of_bounds.clone()).unwrap_or_default(),
            wall_time: sms.iter().map(|sm| sm.wall_time).sum(),
        })
    }
}

fn measured<'a>((config, sms): (&'a Config, &'a [SmOutcome])) -> Vec<MeasuredRun<'a>> {
    sms.iter().map(|sm| MeasuredRun { config, report: &sm.report }).collect()
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

//! `warpfile run`.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use warpfile_sim::config::{Config, DesignName};

use crate::configuration::ConfigurationArguments;
use crate::engine::EngineArguments;
use crate::errors::is_wrong_operand;
use crate::files::{Output, OutputFolder};
use crate::input::InputArguments;
use crate::output::{json, print, print_json};
use crate::report::Report;
use crate::simulate::{Outcome, Setting, Window, simulate};

/// What is run, and what is kept of it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile run hotspot --design rfc
  warpfile run sgemm --size tiny --set rfc.entries=8 --set scheduler.active_warps=4 --json
  warpfile run mine.ptx --launch mine.toml --out results
  warpfile run traces/kernelslist.g --design rfc
  warpfile run hotspot --size tiny --vcd w.vcd --vcd-scope register_file --vcd-cycles 0..2000
  warpfile run hotspot --size tiny --config results/config.toml

Designs: warpfile list designs. Parameters: warpfile list parameters.")]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// Design that is run beside the baseline [default: as preset and file say].
    #[arg(long)]
    design: Option<String>,
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// What state without a reset starts from; no result may depend on it.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    engine: EngineArguments,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
    /// Keep report.json and the config.toml that reproduces the run in this folder.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write a waveform of the design's circuits.
    #[arg(long, value_name = "FILE")]
    vcd: Option<PathBuf>,
    /// Only this circuit of the waveform: register_file, scheduler, or a path below.
    #[arg(long, value_name = "PATH", requires = "vcd")]
    vcd_scope: Option<String>,
    /// Only these cycles of the waveform, the last one excluded.
    #[arg(long, value_name = "A..B", requires = "vcd", value_parser = cycles)]
    vcd_cycles: Option<Range<u64>>,
}

/// Runs the design and the baseline, and prints them side by side.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let config = arguments.configuration.configuration(arguments.design.as_deref())?;
    let input = arguments.input.resolve()?;
    let kept = arguments.out.as_deref().map(Kept::create).transpose()?;
    let vcd = arguments.vcd.as_deref().map(Output::create).transpose()?;

    let window = Window { scope: arguments.vcd_scope.clone(), cycles: arguments.vcd_cycles.clone() };
    let setting = Setting { input: &input, seed: arguments.seed, engine: arguments.engine.name() };
    let outcomes = both(&config, &setting, vcd, &window)?;
    let report = Report::new(&config, &setting, &outcomes);
    if let Some(kept) = kept {
        kept.publish(&config, &setting, &report)?;
    }
    if arguments.json { print_json(&report) } else { print(&report.text()) }
}

/// The baseline, and the design if it is another one. The design runs first: it is the one that can fail.
fn both(
    config: &Config,
    setting: &Setting<'_>,
    vcd: Option<Output>,
    window: &Window,
) -> anyhow::Result<Vec<(DesignName, Outcome)>> {
    let (outcome, vcd) = observed(config, setting, vcd, window)?;
    let mut outcomes = vec![(config.design, outcome)];
    if config.design != DesignName::Baseline {
        let baseline = Config { design: DesignName::Baseline, ..config.clone() };
        outcomes.insert(0, (DesignName::Baseline, simulate(&baseline, setting, None)?));
    }
    vcd.map(Output::publish).transpose()?;
    Ok(outcomes)
}

/// Runs the design with its waveform. When an operand is wrong the waveform up to there is kept: it shows why.
fn observed(
    config: &Config,
    setting: &Setting<'_>,
    vcd: Option<Output>,
    window: &Window,
) -> anyhow::Result<(Outcome, Option<Output>)> {
    let Some(mut vcd) = vcd else {
        return Ok((simulate(config, setting, None)?, None));
    };
    let mut writer = BufWriter::new(vcd.file());
    let result = simulate(config, setting, Some((&mut writer, window)));
    let flushed = writer.flush();
    drop(writer);
    match result {
        Ok(outcome) => {
            flushed.with_context(|| format!("cannot write {}", vcd.path().display()))?;
            Ok((outcome, Some(vcd)))
        }
        Err(error) if is_wrong_operand(&error) => {
            let path = vcd.path().display().to_string();
            vcd.publish()?;
            Err(error.context(format!("{path} holds the waveform up to the failure")))
        }
        Err(error) => Err(error),
    }
}

/// What `--out` keeps. The files are started before the run, so that a folder that cannot be written to is found
/// out at once.
struct Kept {
    report: Output,
    config: Output,
    /// After the files, so that it is empty when it is dropped.
    folder: OutputFolder,
}

impl Kept {
    fn create(path: &Path) -> anyhow::Result<Kept> {
        let folder = OutputFolder::create(path)?;
        let (report, config) = (folder.output("report.json")?, folder.output("config.toml")?);
        Ok(Kept { report, config, folder })
    }

    fn publish(mut self, config: &Config, setting: &Setting<'_>, report: &Report<'_>) -> anyhow::Result<()> {
        let Setting { input, seed, engine } = setting;
        let (input, engine) = (input.words().join(" "), engine.as_str());
        let path = self.config.path().display();
        let reproduce = format!("# warpfile run {input} --seed {seed} --engine {engine} --config {path}\n");
        self.config.write(&(reproduce + &config.to_toml()))?;
        self.report.write(&json(report)?)?;
        self.config.publish()?;
        self.report.publish()?;
        self.folder.keep();
        Ok(())
    }
}

fn cycles(text: &str) -> Result<Range<u64>, String> {
    let range = text.split_once("..").and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
    let accepted = "accepted: A..B with cycles A below B, as in 0..2000";
    range.filter(|range| range.start < range.end).ok_or_else(|| accepted.to_owned())
}

//! `warpfile run`.

use std::io::{BufWriter, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use clap::value_parser;
use warpfile_engine::recording::RecordingError;
use warpfile_engine::waveform::{Format, Fst, Vcd, WaveformError};
use warpfile_kernels::exec::{ExecOptions, Printed};
use warpfile_sim::config::Config;
use warpfile_sim::energy::EnergyModel;
use warpfile_sim::mechanisms::Stack;
use warpfile_sim::sm::{ChipSm, SimError, chip_sms};

use crate::configuration::ConfigurationArguments;
use crate::dump::{Dump, Dumps};
use crate::engine::EngineArguments;
use crate::errors::{is_wrong_operand, is_wrong_result};
use crate::files::{Output, OutputFolder};
use crate::gtkw::{Contents, Noted, Save};
use crate::html::timeline::OverTime;
use crate::html::{self, HtmlArguments, Page, Section, own_command};
use crate::identity::{Identity, kernel_hash};
use crate::input::{Input, InputsArguments, Source, ToleranceArguments};
use crate::output::{json, print, print_json};
use crate::parallel::{ThreadArguments, parallel};
use crate::progress::Meters;
use crate::report::{Document, Report};
use crate::results::measured;
use crate::simulate::{Observers, Outcome, Run, Setting, SmOutcome, Traffic, Window};

/// The design that every other is compared with.
pub const BASELINE: &str = "baseline";
/// What `--out` keeps: the report, and the configuration that repeats the run.
pub const REPORT: &str = "report.json";
const CONFIG: &str = "config.toml";

/// What is run, and what is kept of it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpfile run hotspot --design rfc
  warpfile run hotspot bfs --design two-level,rfc --threads 2
  warpfile run hotspot --design regless,rfv,rfh
  warpfile run hotspot --design single-level+rfc --preset gtx980-gpgpusim
  warpfile run sgemm --size tiny --set rfc.entries=8 --set scheduler.active_warps=4 --json
  warpfile run mine.ptx --launch mine.toml --out results
  warpfile run mine.ptx --launch mine.toml --dump sum=sum.npy --tolerate-out-of-bounds
  warpfile run mine.cu --launch mine.toml
  warpfile run hotspot bfs --design rfc,regless --html report.html
  warpfile run traces/kernelslist.g --design rfc
  warpfile run hotspot --size tiny --vcd w.vcd --wave-scope register_file --wave-cycles 0..2000
  warpfile run hotspot --size tiny --fst w.fst --gtkw w.gtkw && gtkwave w.fst w.gtkw
  warpfile run vectoradd --size tiny --design rfc --kanata w.kanata --kanata-cycles 0..2000
  warpfile run hotspot --size tiny --record cache.wfr --record-circuit register_file.cache
  warpfile run hotspot --size tiny --config results/config.toml
  warpfile run hotspot --size tiny --design regless --check-seeds

A .cu file is made PTX with clang: $CLANG, clang, or the newest clang-N on PATH; no CUDA toolkit is needed.
Designs and mechanisms: warpfile list designs, warpfile list mechanisms. Parameters: warpfile list parameters.")]
pub struct Arguments {
    #[command(flatten)]
    inputs: InputsArguments,
    /// Designs that are run beside the baseline, separated by commas; a design is a name or a stack of mechanisms joined
    /// by + [default: as preset and file say].
    #[arg(long, value_name = "DESIGNS", value_delimiter = ',')]
    design: Vec<String>,
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// What state without a reset starts from; no result may depend on it.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Run each circuit beside itself with N other seeds, 2 if no number is said, and end where an output depends on the
    /// seed: a reset is missing.
    #[arg(long, value_name = "N", default_value_t = 0, default_missing_value = "2", num_args = 0..=1,
        require_equals = true, hide_default_value = true, value_parser = value_parser!(u64).range(0..=64))]
    check_seeds: u64,
    #[command(flatten)]
    engine: EngineArguments,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tolerance: ToleranceArguments,
    /// Write a buffer of the launch file as it is after the last launch: raw little-endian elements, or for NumPy if FILE
    /// ends in .npy; can be given several times.
    #[arg(long, value_name = "NAME=FILE")]
    dump: Vec<Dump>,
    /// Keep report.json and the config.toml that reproduces the run in this folder.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace what another run has kept in the folder.
    #[arg(long, requires = "out")]
    force: bool,
    #[command(flatten)]
    html: HtmlArguments,
    #[command(flatten)]
    waveform: WaveformArguments,
    /// Write a GTKWave save file that shows what matters of the design first.
    #[arg(long, value_name = "FILE", requires = "waveform")]
    gtkw: Option<PathBuf>,
    /// Log every instruction's way through the pipeline, for Konata; of the first SM if several are simulated.
    #[arg(long, value_name = "FILE")]
    kanata: Option<PathBuf>,
    /// Only instructions that are decoded in these cycles, the last one excluded.
    #[arg(long, value_name = "A..B", requires = "kanata", value_parser = cycles)]
    kanata_cycles: Option<Range<u64>>,
    /// Record what passes the ports of one of the design's circuits, to drive it again with the same traffic; of the
    /// first SM if several are simulated.
    #[arg(long, value_name = "FILE", requires = "record_circuit")]
    record: Option<PathBuf>,
    /// The circuit to record: register_file, scheduler, or a path below, as register_file.cache.
    #[arg(long, value_name = "PATH", requires = "record")]
    record_circuit: Option<String>,
    /// Record the first N cycles only.
    #[arg(long, value_name = "N", requires = "record")]
    record_cycles: Option<u64>,
}

/// A waveform, in one format or the other.
#[derive(clap::Args)]
struct WaveformArguments {
    /// Write a waveform of the design's circuits as text, a value change dump, which every viewer reads; of the first SM if
    /// several are simulated.
    #[arg(long, value_name = "FILE", group = "waveform")]
    vcd: Option<PathBuf>,
    /// Write it as a fast signal trace instead, which GTKWave and Surfer read: a fraction of the size.
    #[arg(long, value_name = "FILE", group = "waveform")]
    fst: Option<PathBuf>,
    /// Only this circuit of the waveform: register_file, scheduler, or a path below.
    #[arg(long, value_name = "PATH", requires = "waveform", visible_alias = "vcd-scope")]
    wave_scope: Option<String>,
    /// Only these cycles of the waveform, the last one excluded.
    #[arg(long, value_name = "A..B", requires = "waveform", visible_alias = "vcd-cycles", value_parser = cycles)]
    wave_cycles: Option<Range<u64>>,
}

impl WaveformArguments {
    /// The file that is asked for.
    fn path(&self) -> Option<&Path> {
        self.vcd.as_deref().or(self.fst.as_deref())
    }

    /// The waveform that is asked for; its file is started.
    fn start(&self) -> anyhow::Result<Option<WaveformFile>> {
        let Some(path) = self.path() else { return Ok(None) };
        let mut file = Output::create(path)?;
        let is_fst = self.fst.is_some();
        if is_fst {
            let context = || {
                format!("--fst {}: accepted: a file, no pipe: its beginning is written last", path.display())
            };
            file.file().stream_position().with_context(context)?;
        }
        Ok(Some(WaveformFile {
            file,
            is_fst,
            window: Window { scope: self.wave_scope.clone(), cycles: self.wave_cycles.clone() },
            contents: Contents::default(),
        }))
    }
}

/// A waveform and the file that it is written to.
struct WaveformFile {
    file: Output,
    /// Whether it is a fast signal trace; else it is a value change dump.
    is_fst: bool,
    window: Window,
    /// What is in it, once it is written.
    contents: Contents,
}

impl WaveformFile {
    /// What writes it, and the part that is written.
    fn writer(&mut self) -> (Box<dyn Format + '_>, &Window) {
        let output = BufWriter::new(self.file.file());
        let contents = &mut self.contents;
        let format: Box<dyn Format + '_> = if self.is_fst {
            Box::new(Noted::new(Fst::new(output), contents))
        } else {
            Box::new(Noted::new(Vcd::new(output), contents))
        };
        (format, &self.window)
    }
}

/// Runs every kernel through the designs and the baseline, and prints them side by side.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let configs = arguments.configurations()?;
    let inputs = arguments.inputs.resolve()?;
    let kept = arguments.out.as_deref().map(|out| Kept::create(out, arguments.force)).transpose()?;
    let page = arguments.html.create()?;
    let observed = arguments.observed(&inputs, &configs)?;
    let save = arguments.gtkw.as_deref().map(Save::create).transpose()?;

    let (seed, check_seeds, engine) = (arguments.seed, arguments.check_seeds, arguments.engine.name());
    let setting = Setting { seed, check_seeds, engine };
    let options = arguments.tolerance.options(&configs[0]);
    let sources: Vec<Vec<Arc<Source<'_>>>> =
        inputs.iter().map(|input| sources(input, options, &configs)).collect();
    let dumps = Dumps::create(&arguments.dump, &inputs, &sources[0][0])?;
    let dumped = (!arguments.dump.is_empty()).then(|| sources[0][0].clone());
    let printing: Vec<Mutex<Option<Printed>>> = inputs.iter().map(|_| Mutex::default()).collect();
    let observed = (observed, page.is_some());
    let simulated = simulate(sources, &configs, setting, observed, arguments.threads.number(), &printing);
    let printed = printing.into_iter().map(Mutex::into_inner);
    let printed: Vec<Option<Printed>> =
        printed.map(|printed| printed.unwrap_or_else(PoisonError::into_inner)).collect();
    if !arguments.json {
        print(&output(&inputs, &printed))?;
    }
    let (outcomes, written) = dump(dumps, dumped.as_deref(), simulated)?;
    let tolerated = arguments.tolerance.tolerate_out_of_bounds;
    let reports: Vec<Report<'_>> = inputs
        .iter()
        .zip(&outcomes)
        .zip(&printed)
        .map(|((input, outcomes), printed)| {
            let kernel = (input, kernel_hash(input)?, tolerated);
            let outcomes: Vec<_> = outcomes.iter().map(|(design, outcome)| (design, outcome)).collect();
            Ok(Report::new(&configs[0], setting, kernel, &outcomes, printed.as_ref()))
        })
        .collect::<anyhow::Result<_>>()?;
    // Of the last design, as config.toml.
    let identity = Identity::new(configs.last().unwrap_or(&configs[0]), setting, tolerated);
    let document = Document { identity, kernels: &reports };
    written.files.into_iter().try_for_each(Output::publish)?;
    if let (Some(save), Some((waveform, contents)), Some(config)) = (save, written.waveform, configs.last()) {
        save.publish((&waveform, &contents), &config.design)?;
    }
    if let Some(page) = page {
        page_of(&document, &inputs, &outcomes)?.publish(page)?;
    }
    if let Some(kept) = kept {
        kept.publish(&arguments.reproduction(&inputs), &configs, &document)?;
    }
    if arguments.json { print_json(&document) } else { print(&text(&reports)) }
}

/// What an input is run from, for each design: one source for designs that compile its kernels alike.
fn sources<'a>(input: &'a Input, options: ExecOptions, configs: &'a [Config]) -> Vec<Arc<Source<'a>>> {
    let alike = Source::alike(&configs.iter().collect::<Vec<_>>());
    let mut sources: Vec<Arc<Source<'_>>> = Vec::with_capacity(configs.len());
    for (own, &first) in alike.iter().enumerate() {
        let source = match sources.get(first) {
            Some(source) => source.clone(),
            None => {
                let same = configs.iter().zip(&alike).filter(|(_, other)| **other == first);
                let runs = same.map(|(config, _)| config.chip.simulated_sms as usize).sum();
                Arc::new(Source::new(input, options).for_design(&configs[own]).of_runs(runs))
            }
        };
        sources.push(source);
    }
    sources
}

/// Writes the buffers asked for, also when a result is wrong: they show how.
fn dump<T>(dumps: Dumps, source: Option<&Source<'_>>, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
    let Some(source) = source else { return outcome };
    match outcome {
        Ok(outcome) => dumps.publish(source).map(|_| outcome),
        Err(error) if is_wrong_result(&error) => {
            let names = dumps.publish(source)?.join(", ");
            Err(error.context(format!("a result is wrong, see {names}")))
        }
        Err(error) => Err(error),
    }
}

impl Arguments {
    /// The baseline, then the designs asked for, each once.
    fn configurations(&self) -> anyhow::Result<Vec<Config>> {
        let asked = self.configuration.configurations(&self.design)?;
        let baseline = asked[0].with_design(BASELINE)?;
        let mut configs: Vec<Config> = vec![baseline];
        for config in asked {
            if configs.iter().all(|known| known.design != config.design) {
                configs.push(config);
            }
        }
        Ok(configs)
    }

    /// What is to be observed: of one kernel and one design.
    fn observed(&self, inputs: &[Input], configs: &[Config]) -> anyhow::Result<Observed> {
        let designs = configs.len().saturating_sub(1).max(1);
        let kernels = inputs.len();
        let WaveformArguments { vcd, fst, .. } = &self.waveform;
        let files = [("--vcd", vcd), ("--fst", fst), ("--kanata", &self.kanata), ("--record", &self.record)];
        for (option, path) in files {
            let Some(path) = path.as_ref().filter(|_| kernels > 1 || designs > 1) else { continue };
            bail!(
                "{option} {}: accepted: one kernel and one design beside the baseline; given: {kernels} and {designs}",
                path.display()
            );
        }
        let circuit = self.record_circuit.clone().unwrap_or_default();
        let traffic = Traffic { circuit, cycles: self.record_cycles };
        let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
        Ok(Observed {
            waveform: self.waveform.start()?,
            pipeline: create(&self.kanata)?.map(|file| (file, self.kanata_cycles.clone())),
            traffic: create(&self.record)?.map(|file| (file, traffic)),
        })
    }

    /// The command that repeats the run, but for where the configuration is.
    fn reproduction(&self, inputs: &[Input]) -> String {
        let words: Vec<String> = match inputs {
            [input] => input.words(),
            several => several.iter().map(Input::word).chain(self.inputs.option_words()).collect(),
        };
        let design = if self.design.len() > 1 {
            format!(" --design {}", self.design.join(","))
        } else {
            String::new()
        };
        let (seed, engine) = (self.seed, self.engine.name().as_str());
        let tolerance = if self.tolerance.tolerate_out_of_bounds { " --tolerate-out-of-bounds" } else { "" };
        format!("warpfile run {}{design}{tolerance} --seed {seed} --engine {engine}", words.join(" "))
    }
}

/// What is observed of a run, with the files it is written to.
#[derive(Default)]
struct Observed {
    waveform: Option<WaveformFile>,
    /// With the cycles that it covers.
    pipeline: Option<(Output, Option<Range<u64>>)>,
    traffic: Option<(Output, Traffic)>,
}

/// What has been written of what is observed.
#[derive(Default)]
struct Written {
    /// Complete, but not published.
    files: Vec<Output>,
    /// What the waveform's file will be called, and what is in it.
    waveform: Option<(PathBuf, Contents)>,
}

/// Outcomes of one input by design.
type Outcomes = Vec<(Stack, Outcome)>;

/// Runs every SM of every design on every input; if `followed`, the first SM of each is followed over time. What is observed is
/// the last design's first SM; its files are not published. An input's records end with its last run; what its kernels printed, also up to an error, goes to `printed`.
fn simulate(
    sources: Vec<Vec<Arc<Source<'_>>>>,
    configs: &[Config],
    setting: Setting,
    (mut observed, followed): (Observed, bool),
    threads: usize,
    printed: &[Mutex<Option<Printed>>],
) -> anyhow::Result<(Vec<Outcomes>, Written)> {
    let inputs = sources.len();
    for config in configs {
        EnergyModel::named(&config.energy.technology)?;
    }
    let mut jobs: Vec<(Run<'_>, ChipSm, Observed, &Mutex<Option<Printed>>)> = Vec::new();
    for (sources, printed) in sources.into_iter().zip(printed) {
        for (config, source) in configs.iter().zip(sources) {
            let run = |sm| Run { source: source.clone(), config, sm, timeline: followed && sm == 0 };
            // A run may wait for that of the first SM, which stands before it: of all that wait, the foremost waits for one that
            // is being run, or that any free thread takes.
            let runs = (0..).map(run).zip(chip_sms(config.chip.simulated_sms));
            jobs.extend(runs.map(|(run, chip)| (run, chip, Observed::default(), printed)));
        }
    }
    let sms = |config: &Config| config.chip.simulated_sms as usize;
    let last_design = jobs.len() - configs.last().map_or(0, sms);
    std::mem::swap(&mut jobs[last_design].2, &mut observed);

    let meters = Meters::new();
    let outcomes = parallel(threads, jobs, |(run, chip, observed, printed)| {
        let outcome = observe(&run, chip, setting, &meters, observed);
        // Locked before it is asked: another run of the same input may have seen more.
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        *printed = run.source.printed();
        drop(printed);
        if inputs > 1 { outcome.with_context(|| run.source.input().title()) } else { outcome }
    })?;
    let mut written = Written::default();
    let mut outcomes = outcomes.into_iter().map(|(outcome, Written { files, waveform })| {
        written.files.extend(files);
        written.waveform = waveform.or(written.waveform.take());
        outcome
    });
    let mut all = Vec::with_capacity(inputs);
    for _ in 0..inputs {
        let of_sms: Vec<(&Config, Vec<SmOutcome>)> =
            configs.iter().map(|config| (config, outcomes.by_ref().take(sms(config)).collect())).collect();
        let beside = |(config, sms): &(&Config, Vec<SmOutcome>)| {
            // The baseline is the first (`Arguments::configurations`).
            let baseline = (of_sms[0].0, of_sms[0].1.as_slice());
            Ok((config.design.clone(), Outcome::together(baseline, (config, sms))?))
        };
        all.push(of_sms.iter().map(beside).collect::<anyhow::Result<_>>()?);
    }
    drop(outcomes);
    Ok((all, written))
}

/// Runs, and writes what is observed. When an operand is wrong the waveform and the pipeline log up to there are kept: they
/// show why.
fn observe(
    run: &Run<'_>,
    chip: ChipSm,
    setting: Setting,
    meters: &Meters,
    observed: Observed,
) -> anyhow::Result<(SmOutcome, Written)> {
    let Observed { mut waveform, mut pipeline, mut traffic } = observed;
    let mut log = pipeline.as_mut().map(|(file, cycles)| (BufWriter::new(file.file()), cycles.clone()));
    let mut ports = traffic.as_mut().map(|(file, traffic)| (BufWriter::new(file.file()), &*traffic));
    let observers = Observers {
        waveform: waveform.as_mut().map(WaveformFile::writer),
        pipeline: log.as_mut().map(|(writer, cycles)| (writer as &mut dyn Write, cycles.clone())),
        traffic: ports.as_mut().map(|(writer, traffic)| (writer as &mut dyn Write, *traffic)),
    };
    let result = run.simulate(Some(chip), setting, meters, observers);
    let writers = [log.map(|(writer, _)| writer), ports.map(|(writer, _)| writer)];
    let flushed = writers.into_iter().flatten().try_for_each(|mut writer| writer.flush());
    let (waveform, contents) = waveform.map(|waveform| (waveform.file, waveform.contents)).unzip();
    let (pipeline, traffic) = (pipeline.map(|(file, _)| file), traffic.map(|(file, _)| file));
    let path = |file: Option<&Output>| file.map(|file| file.path().display().to_string()).unwrap_or_default();
    let result = result.map_err(|error| match error.downcast_ref() {
        Some(SimError::Waveform(WaveformError::Io(_))) => error.context(path(waveform.as_ref())),
        Some(SimError::PipelineLog(_)) => error.context(path(pipeline.as_ref())),
        Some(SimError::Recording(RecordingError::Io(_))) => error.context(path(traffic.as_ref())),
        Some(_) | None => error,
    });
    match result {
        Ok(outcome) => {
            let named = waveform.as_ref().map(|file| file.path().to_path_buf());
            let files: Vec<Output> = [waveform, pipeline, traffic].into_iter().flatten().collect();
            let names: Vec<String> = files.iter().map(|file| path(Some(file))).collect();
            flushed.with_context(|| format!("cannot write {}", names.join(", ")))?;
            Ok((outcome, Written { files, waveform: named.zip(contents) }))
        }
        Err(error) if is_wrong_operand(&error) => {
            let kept = [(waveform, "the waveform"), (pipeline, "the pipeline log")];
            kept.into_iter()
                .try_fold(error, |error, (file, what)| {
                    let Some(file) = file else { return Ok(error) };
                    let path = path(Some(&file));
                    file.publish()?;
                    Ok(error.context(format!("{path} holds {what} up to the failure")))
                })
                .and_then(Err)
        }
        Err(error) => Err(error),
    }
}

/// The page of the reports.
fn page_of(document: &Document<'_>, inputs: &[Input], outcomes: &[Outcomes]) -> anyhow::Result<Page> {
    let runs = measured(&serde_json::to_value(document)?)?;
    let timelines = inputs.iter().zip(outcomes).flat_map(|(input, designs)| {
        let of_design = |(design, outcome): &(Stack, Outcome)| {
            let timeline = outcome.report.timeline.as_ref()?;
            Some(OverTime::new(input.title(), design.to_string(), timeline))
        };
        designs.iter().filter_map(of_design).collect::<Vec<_>>()
    });
    let timelines = Section::Timelines { runs: timelines.collect() };
    let notes =
        document.kernels.iter().map(|report| Section::Text { title: report.title(), text: report.notes() });
    let title = match document.kernels {
        [only] => only.title(),
        several => {
            let kernels: Vec<String> = several.iter().map(Report::kernel).collect();
            let machine = several.first().map(Report::machine).unwrap_or_default();
            format!("{}, {machine}", kernels.join(", "))
        }
    };
    Ok(html::runs::page(title, &runs, std::iter::once(timelines).chain(notes).collect(), own_command()))
}

/// Tables one after the other.
fn text(reports: &[Report<'_>]) -> String {
    let texts: Vec<String> = reports.iter().map(Report::text).collect();
    texts.join("\n")
}

/// What kernels have printed, of several inputs under their names.
fn output(inputs: &[Input], printed: &[Option<Printed>]) -> String {
    let mut shown = String::new();
    for (input, printed) in inputs.iter().zip(printed) {
        let Some(printed) = printed.as_ref().filter(|printed| !printed.text.is_empty()) else { continue };
        if inputs.len() > 1 {
            shown += &format!("{} prints:\n", input.title());
        }
        shown += &String::from_utf8_lossy(&printed.text);
        shown += if shown.ends_with('\n') { "\n" } else { "\n\n" };
    }
    shown
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
    /// Starts the files; those of another run are replaced only if `force` says so.
    fn create(path: &Path, force: bool) -> anyhow::Result<Kept> {
        let kept = [REPORT, CONFIG].map(|name| path.join(name)).into_iter().find(|kept| kept.exists());
        if let Some(kept) = kept.filter(|_| !force) {
            bail!("{}: of another run; --force replaces it, or name another folder", kept.display());
        }
        let folder = OutputFolder::create(path)?;
        let (report, config) = (folder.output(REPORT)?, folder.output(CONFIG)?);
        Ok(Kept { report, config, folder })
    }

    fn publish(mut self, command: &str, configs: &[Config], document: &Document<'_>) -> anyhow::Result<()> {
        let reproduce = format!("# {command} --config {}\n", self.config.path().display());
        let config = configs.last().map(Config::to_toml).unwrap_or_default();
        self.config.write(&(reproduce + &config))?;
        self.report.write(&json(document)?)?;
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

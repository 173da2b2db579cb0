//! Figures and tables of the papers, each printed beside what the model gives.

mod accesses;
mod all_designs;
pub mod chart;
pub mod fidelity;
mod gebhart;
mod greener;
mod hybrid;
mod kept;
mod number;
mod paper;
mod programs;
mod recent_values;
mod regless;
mod repeats;
mod report;
mod series;
mod sharing;
mod statistics;
mod storage;
pub mod svg;
mod sweep;
#[cfg(test)]
mod tests;
mod values;
mod variation;
mod wir;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use warpfile_kernels::compile::isa::Isa;
use warpfile_kernels::launch::DEFAULT_SIZE;
use warpfile_kernels::workloads::{self, AddressBits, OpenWorkload, Workload};
use warpfile_sim::sm::{self, EngineName, RunOptions, RunReport};

use crate::cache;
use crate::files::OutputFolder;
use crate::html::{self, HtmlArguments, own_command};
use crate::input::Source;
use crate::output::{json, print};
use crate::parallel::parallel;
use crate::progress::{Estimate, Meter, about_left};
use accesses::{RegisterAccesses, register_accesses};
use kept::KeptRuns;
pub use paper::PaperArguments;
use programs::{KernelProfile, kernel_profiles};
use regless::{WorkloadRegions, workload_regions};
use repeats::{Repeats, repeats};
pub use report::{Claim, FigureReport};
use report::{Content, Effort};
use svg::Sheet;
use sweep::{Point, Ran, Results, Setup, Simulate};
use values::{ValueUsage, value_usage};
pub use variation::Variation;

/// A figure that can be asked for.
pub struct Figure {
    /// As on the command line: `gebhart-6`.
    pub id: &'static str,
    /// What it shows, one line.
    pub title: &'static str,
    /// Paper, figure or table, section.
    source: &'static str,
    /// Workloads that it is made of unless others are asked for; all if there are none here.
    workloads: &'static [&'static str],
    method: Method,
    /// Whether the paper's text gives numbers of it, which its claims hold.
    has_numbers: bool,
    /// Why some of its numbers differ from the paper's.
    causes: &'static [Cause],
}

/// A paper: what it says with numbers is told in its figures' claims.
pub struct Paper {
    /// As on the command line: `gebhart`.
    pub name: &'static str,
    /// Authors, title, where and when.
    citation: &'static str,
    /// Bits of an address in the code that it measured; GPGPU-Sim's PTXPlus has 32.
    addresses: AddressBits,
    /// Machine code that its kernels become, unless another is given.
    isa: Isa,
    /// Size of the workloads that its numbers are compared at, unless another is given.
    size: &'static str,
    figures: &'static [Figure],
    /// What its page looks into beside the claims.
    studies: &'static [Study],
}

/// Why numbers of a figure differ from the paper's, and the run that shows it.
pub struct Cause {
    /// Keys of the numbers.
    of: &'static [&'static str],
    /// One or two sentences.
    why: &'static str,
    /// What that run has beside the figure's own, as words of the command line.
    run: &'static str,
}

impl Cause {
    /// Whether its run is of other workloads than the figure's.
    fn names_workloads(&self) -> bool {
        self.run.split_whitespace().any(|word| word == "--workloads")
    }
}

/// Numbers of figures under several runs.
pub struct Study {
    title: &'static str,
    /// What it shows.
    text: &'static str,
    /// Figure, key of the number, heading.
    columns: &'static [(&'static str, &'static str, &'static str)],
    /// Heading, and words of the command line.
    runs: &'static [(&'static str, &'static str)],
}

/// All papers.
const PAPERS: &[&Paper] =
    &[&gebhart::PAPER, &greener::PAPER, &hybrid::PAPER, &regless::PAPER, &sharing::PAPER, &wir::PAPER];

/// How the numbers of a figure are found.
enum Method {
    /// From the values in the instruction streams, without timing.
    Streams(fn(&[&'static Workload], &[ValueUsage]) -> Content),
    /// From the instruction streams of all workloads, kernel by kernel, without timing.
    Programs(fn(&[&'static Workload], &[Vec<KernelProfile>]) -> Content),
    /// From the regions that RegLess's compiler makes, and how often they are run, without timing.
    Regions(fn(&[&'static Workload], &[WorkloadRegions]) -> Content),
    /// From the regions and from runs of every workload at these points.
    RegionsAndRuns { points: fn() -> Vec<Point>, show: fn(&[WorkloadRegions], &Results) -> Result<Content> },
    /// From when registers are accessed in a run of every workload at a point.
    Accesses { point: fn() -> Point, show: fn(&[&'static Workload], &[RegisterAccesses]) -> Content },
    /// From what is computed again soon in a run of every workload at a point.
    Repeated { point: fn() -> Point, show: fn(&[&'static Workload], &[Repeats]) -> Content },
    /// The same, and runs of every workload at these points.
    RepeatedAndRuns {
        point: fn() -> Point,
        points: fn() -> Vec<Point>,
        show: fn(&[Repeats], &Results) -> Result<Content>,
    },
    /// From the sizes of the structures; there are no workloads.
    Structures(fn() -> Result<Content>),
    /// From runs of every workload at these points.
    Runs { points: fn() -> Vec<Point>, show: fn(&Results) -> Result<Content> },
}

impl Figure {
    /// The paper that it is of, if it is of one alone.
    fn paper(&self) -> Option<&'static Paper> {
        let is_of = |paper: &&Paper| paper.figures.iter().any(|figure| figure.id == self.id);
        PAPERS.iter().copied().find(is_of)
    }

    /// Whether it is made of workloads.
    fn has_workloads(&self) -> bool {
        !matches!(self.method, Method::Structures(_))
    }
}

/// How a figure is made.
#[derive(Clone)]
pub struct Options {
    /// Size, workloads, and what departs from the figure's own.
    pub variation: Variation,
    /// What runs the circuits.
    pub engine: EngineName,
    /// Threads that runs are spread over; 0 takes as many as there are cores.
    pub threads: usize,
    /// Folder that keeps the runs, for whoever makes figures of them later.
    pub runs: Option<PathBuf>,
}

impl Options {
    /// The same at a size, unless they name one.
    fn at_usual_size(&self, usual: &str) -> Options {
        Options { variation: self.variation.at_usual_size(usual), ..self.clone() }
    }

    /// The same with the figures' own workloads.
    fn without_workloads(&self) -> Options {
        Options { variation: self.variation.without_workloads(), ..self.clone() }
    }
}

/// Where figures go.
#[derive(Default)]
pub struct Outputs {
    /// Print JSON instead of tables, one document for each figure.
    pub json: bool,
    /// Folder that keeps the tables, the JSON and the SVG charts.
    pub out: Option<PathBuf>,
    /// Charts for a paper.
    pub paper: PaperArguments,
    /// A page with all of them.
    pub html: HtmlArguments,
}

/// All figures, in the order of the papers.
pub fn list() -> impl Iterator<Item = &'static Figure> {
    PAPERS.iter().flat_map(|paper| paper.figures).chain(all_designs::FIGURES).chain(programs::FIGURES)
}

/// Makes figures and prints them. A run that several are made of is made once.
///
/// # Errors
/// No figure has such an id, there is no such workload or size, a run fails, or one SVG file is asked for several figures.
pub fn run(ids: &[String], options: &Options, outputs: &Outputs) -> Result<()> {
    let figures = ids.iter().map(|id| by_id(id)).collect::<Result<Vec<_>>>()?;
    outputs.paper.check(figures.len())?;
    for figure in &figures {
        chosen(figure, options.variation.workloads())?;
    }
    let page = outputs.html.create()?;
    let mut drawings = outputs.paper.create()?;
    let runs = KeptRuns::new(options.engine, options.runs.as_deref())?;
    let simulate = |source: &Source<'_>, setup: &Setup| {
        runs.get(source, setup, || simulate(source, setup, options.engine))
    };
    let mut reports = Vec::new();
    for figure in figures {
        let report = make(figure, options, &simulate)?;
        keep(&report, outputs)?;
        outputs.paper.draw(&report.content.charts, std::mem::take(&mut drawings))?;
        reports.push(report);
    }
    match page {
        Some(page) => html::figure::page(&reports, own_command()).publish(page),
        None => Ok(()),
    }
}

/// Prints a figure, and keeps it where it is asked for.
fn keep(report: &FigureReport, outputs: &Outputs) -> Result<()> {
    if let Some(path) = &outputs.out {
        let title = format!("{} ({})", report.title, report.source);
        keep_in(path, report, &svg::draw(Sheet::screen(&title), &report.content.charts))?;
    }
    print(&if outputs.json { json(report)? } else { report.to_markdown() })
}

/// Keeps a figure's tables, JSON and charts in a folder.
fn keep_in(folder: &Path, report: &FigureReport, svg: &str) -> Result<()> {
    let files = [("md", report.to_markdown()), ("json", json(report)?), ("svg", svg.to_owned())];
    let files = files.map(|(extension, text)| (format!("{}.{extension}", report.id), text));
    OutputFolder::create(folder)?.publish(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
}

fn by_id(id: &str) -> Result<&'static Figure> {
    let Some(figure) = list().find(|figure| figure.id == id) else {
        let known: Vec<&str> = list().map(|figure| figure.id).collect();
        bail!("no figure `{id}`; there are: {}", known.join(", "));
    };
    Ok(figure)
}

/// Workloads by name, in the order of the catalogue; the figure's own if none is named, or those that all papers share.
fn chosen(figure: &Figure, names: &[String]) -> Result<Vec<&'static Workload>> {
    if !figure.has_workloads() {
        if !names.is_empty() {
            bail!("{} is made without workloads; leave out `--workloads {}`", figure.id, names.join(","));
        }
        return Ok(Vec::new());
    }
    let named = names.iter().map(|name| Ok(workloads::by_name(name)?.name)).collect::<Result<Vec<_>>>()?;
    let wanted = if named.is_empty() { figure.workloads } else { &named };
    if wanted.is_empty() {
        let is_of_all = matches!(figure.method, Method::Programs(_));
        let workloads = if is_of_all { workloads::list() } else { workloads::common() };
        return Ok(workloads.iter().collect());
    }
    Ok(workloads::all().iter().filter(|workload| wanted.contains(&workload.name)).collect())
}

/// Makes a figure with a simulator.
fn make(figure: &'static Figure, options: &Options, simulate: Simulate<'_>) -> Result<FigureReport> {
    let workloads = &chosen(figure, options.variation.workloads())?;
    let usual = (DEFAULT_SIZE, AddressBits::default(), Isa::default());
    let (size, addresses, isa) =
        figure.paper().map_or(usual, |paper| (paper.size, paper.addresses, paper.isa));
    let options = &options.at_usual_size(size);
    let command = command(figure, options);
    let variation = options.variation.with_usual_code(addresses, isa);
    let options = &Options { variation, ..options.clone() };
    let (mut content, effort) = match figure.method {
        Method::Streams(show) => {
            let usages = of_each(figure, workloads, options, |opened| Ok(value_usage(opened)?))?;
            let instructions = usages.iter().map(|usage| usage.warp_instructions).sum();
            (show(workloads, &usages), Effort::without_timing(usages.len(), instructions))
        }
        Method::Programs(show) => {
            let profiles = of_each(figure, workloads, options, |opened| Ok(kernel_profiles(opened)?))?;
            let instructions = profiles.iter().flatten().map(|kernel| kernel.instructions).sum();
            (show(workloads, &profiles), Effort::without_timing(profiles.len(), instructions))
        }
        Method::Regions(show) => {
            let regions = of_each(figure, workloads, options, |opened| workload_regions(opened))?;
            let instructions = regions.iter().map(|found| found.warp_instructions).sum();
            (show(workloads, &regions), Effort::without_timing(regions.len(), instructions))
        }
        Method::RegionsAndRuns { points, show } => {
            let regions = of_each(figure, workloads, options, |opened| workload_regions(opened))?;
            let results = runs(figure, workloads, &points(), options, simulate)?;
            (show(&regions, &results)?, results.effort())
        }
        Method::Accesses { point, show } => {
            let config = options.variation.config(&point())?;
            let look = |opened: &mut OpenWorkload| register_accesses(&config, opened, options.engine);
            let accesses = of_each(figure, workloads, options, look)?;
            (show(workloads, &accesses), accesses.iter().map(|one| one.effort).sum())
        }
        Method::Repeated { point, show } => {
            let config = options.variation.config(&point())?;
            let found =
                of_each(figure, workloads, options, |opened| repeats(&config, opened, options.engine))?;
            (show(workloads, &found), found.iter().map(|one| one.effort).sum())
        }
        Method::RepeatedAndRuns { point, points, show } => {
            let config = options.variation.config(&point())?;
            let found =
                of_each(figure, workloads, options, |opened| repeats(&config, opened, options.engine))?;
            let results = runs(figure, workloads, &points(), options, simulate)?;
            (show(&found, &results)?, found.iter().map(|one| one.effort).chain([results.effort()]).sum())
        }
        Method::Structures(show) => (show()?, Effort::default()),
        Method::Runs { points, show } => {
            let results = runs(figure, workloads, &points(), options, simulate)?;
            (show(&results)?, results.effort())
        }
    };
    if figure.has_workloads() && options.variation.code().addresses == AddressBits::Bits32 {
        content.notes.push(ADDRESSES_OF_32_BITS.to_owned());
    }
    if figure.has_workloads() && options.variation.code().isa == Isa::PtxPlus {
        content.notes.push(CODE_OF_PTXPLUS.to_owned());
    }
    Ok(FigureReport {
        id: figure.id,
        title: figure.title,
        source: figure.source,
        command,
        size: figure.has_workloads().then(|| options.variation.size().to_owned()),
        workloads: workloads.iter().map(|workload| workload.name).collect(),
        effort,
        content,
    })
}

/// What is said of figures whose code has addresses of 32 bits.
const ADDRESSES_OF_32_BITS: &str = "Addresses have 32 bits, as in GPGPU-Sim's PTXPlus (--addresses).";

/// What is said of figures whose code is that of PTXPlus.
const CODE_OF_PTXPLUS: &str = "Predicates are registers, and low words of 32-bit products are made of 16-bit products, as in GPGPU-Sim's PTXPlus (--isa).";

/// Runs every workload at every point.
fn runs(
    figure: &Figure,
    workloads: &[&'static Workload],
    points: &[Point],
    options: &Options,
    simulate: Simulate<'_>,
) -> Result<Results> {
    let counter = Counter::new(figure.id, vec![sweep::distinct(points).len(); workloads.len()]);
    let finished = |workload: usize, ran: &Ran| {
        counter.ended(workload, Some(ran.report.warp_instructions), ran.is_new);
    };
    sweep::sweep(workloads, points, &options.variation, options.threads, simulate, &finished)
}

/// What `look` finds in each workload, in their order.
fn of_each<T: Send>(
    figure: &Figure,
    workloads: &[&'static Workload],
    options: &Options,
    look: impl Fn(&mut OpenWorkload) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let counter = Counter::new(figure.id, vec![1; workloads.len()]);
    let jobs: Vec<_> = workloads.iter().enumerate().collect();
    parallel(options.threads, jobs, |(position, workload)| {
        let code = options.variation.code();
        let mut opened = workload.open_with(options.variation.size(), code.addresses)?;
        opened.set_options(code.options());
        let found = look(&mut opened).with_context(|| workload.name)?;
        counter.ended(position, None, true);
        Ok(found)
    })
}

/// The command that makes a figure again.
fn command(figure: &Figure, options: &Options) -> String {
    let words = options.variation.words(figure.has_workloads());
    let engine = (figure.has_workloads() && options.engine != EngineName::default())
        .then(|| format!("--engine {}", options.engine.as_str()));
    let command = ["warpfile", "figure", figure.id].map(str::to_owned);
    command.into_iter().chain(words).chain(engine).collect::<Vec<_>>().join(" ")
}

/// Runs a workload through every SM of a configuration's design; every operand is checked, and so are the results.
fn simulate(source: &Source<'_>, setup: &Setup, engine: EngineName) -> Result<RunReport> {
    let of_sm = |(sm, chip)| {
        let mut opened = source.open()?;
        let (working_set_window, code_cache) = (setup.working_set_window, cache::code());
        let chip = Some(chip);
        let run = RunOptions { engine, working_set_window, code_cache, sm, chip, ..RunOptions::default() };
        let report = sm::run(&setup.config, &mut opened, run)?;
        opened.check_results()?;
        Ok(report)
    };
    let sms = (0..).zip(sm::chip_sms(setup.config.chip.simulated_sms));
    Ok(RunReport::together(&sms.map(of_sm).collect::<Result<Vec<_>>>()?))
}

/// Counts finished runs on the terminal.
struct Counter {
    runs: usize,
    state: Mutex<(Meter, usize, Estimate)>,
}

impl Counter {
    /// Of workloads with so many runs each.
    fn new(id: &str, of_each: Vec<usize>) -> Counter {
        let runs = of_each.iter().sum();
        Counter { runs, state: Mutex::new((Meter::new(id), 0, Estimate::new(of_each))) }
    }

    /// Another run of a workload has ended, with so many warp instructions; see [`Estimate::ended`].
    fn ended(&self, workload: usize, warp_instructions: Option<u64>, is_new: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (meter, ended, estimate) = &mut *state;
        *ended += 1;
        estimate.ended(workload, warp_instructions, is_new);
        let left = about_left(estimate.left(meter.elapsed()));
        meter.update(|| format!("{ended} of {} runs{left}", self.runs));
    }
}

//! What a command runs: a workload by name, PTX with a launch file, or a trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{anyhow, bail};
use serde::Serialize;
use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::exec::{ExecOptions, OutOfBounds, Printed, Replayed};
use warpfile_kernels::launch::{CheckReport, DEFAULT_SIZE, LaunchFile};
use warpfile_kernels::program::{Launches, Stream, StreamError};
use warpfile_kernels::trace::{self, OpenTrace, TraceReport};
use warpfile_kernels::workloads::{
    self, OpenError, OpenWorkload, RecordedCheckError, RecordedWorkload, Workload, launch_file_beside,
};
use warpfile_sim::config::Config;

use crate::code::{Code, CodeArguments};
use crate::cuda;
use crate::errors::message;

/// Which input.
#[derive(clap::Args)]
pub struct InputArguments {
    /// Workload (see `warpfile list kernels`), .ptx or .cu file (clang makes it PTX), launch file, or trace (.wft, kernelslist.g, .traceg).
    #[arg(value_name = "KERNEL")]
    input: String,
    /// Launch file of a .ptx or .cu file; without it, the file of the same name with .toml, or launch.toml, beside it.
    #[arg(long, value_name = "FILE")]
    launch: Option<PathBuf>,
    /// Size of the problem: tiny, default or large, or as the launch file names them; of several, separated by commas, the first that it names [default: default].
    #[arg(long)]
    size: Option<String>,
    #[command(flatten)]
    code: CodeArguments,
}

/// Which inputs.
#[derive(clap::Args)]
pub struct InputsArguments {
    /// Workloads (see `warpfile list kernels`), .ptx or .cu files (clang makes them PTX), launch files, or traces (.wft, kernelslist.g, .traceg).
    #[arg(value_name = "KERNEL", required = true)]
    inputs: Vec<String>,
    /// Launch file of a .ptx or .cu file; without it, the file of the same name with .toml, or launch.toml, beside it.
    #[arg(long, value_name = "FILE")]
    launch: Option<PathBuf>,
    /// Size of the problems: tiny, default or large, or as the launch files name them; of several, separated by commas, the first that one names [default: default].
    #[arg(long)]
    size: Option<String>,
    #[command(flatten)]
    code: CodeArguments,
}

/// How kernels are executed, beside the parameters of `exec`.
#[derive(Clone, clap::Args)]
pub struct ToleranceArguments {
    /// Let a kernel leave its buffers in device memory: loads give zero, stores are dropped, both are counted and the first
    /// of each instruction is shown.
    #[arg(long)]
    pub tolerate_out_of_bounds: bool,
}

impl ToleranceArguments {
    /// With what a configuration says of execution.
    pub fn options(&self, config: &Config) -> ExecOptions {
        ExecOptions {
            max_warp_instructions: config.exec.max_warp_instructions,
            max_blocks: config.exec.max_blocks,
            tolerate_out_of_bounds: self.tolerate_out_of_bounds,
        }
    }
}

/// An input that can be opened any number of times.
#[derive(Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// A workload that comes with the project.
    Workload {
        /// Which.
        #[serde(rename = "name", serialize_with = "name_of")]
        workload: &'static Workload,
        /// At which size.
        size: String,
        /// How it is compiled.
        #[serde(flatten)]
        code: Code,
    },
    /// PTX, or CUDA C that is made PTX, with a launch file.
    Ptx {
        /// The PTX, or the CUDA C.
        path: PathBuf,
        /// The launch file; the one beside it if `None`.
        launch: Option<PathBuf>,
        /// At which size.
        size: String,
        /// How it is compiled.
        #[serde(flatten)]
        code: Code,
    },
    /// A launch file, which names its PTX.
    Launch {
        /// The launch file.
        path: PathBuf,
        /// At which size.
        size: String,
        /// How it is compiled.
        #[serde(flatten)]
        code: Code,
    },
    /// A trace.
    Trace {
        /// The trace, or the list of its kernels.
        path: PathBuf,
    },
}

fn name_of<S: serde::Serializer>(workload: &&'static Workload, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(workload.name)
}

impl InputsArguments {
    /// Finds out what the inputs are. Files are not opened yet.
    pub fn resolve(&self) -> anyhow::Result<Vec<Input>> {
        if let Some(launch) = self.launch.as_ref().filter(|_| self.inputs.len() > 1) {
            bail!(
                "--launch {} belongs to one .ptx or .cu file; {} kernels are given",
                launch.display(),
                self.inputs.len()
            );
        }
        let one = |input: &String| InputArguments {
            input: input.clone(),
            launch: self.launch.clone(),
            size: self.size.clone(),
            code: self.code.clone(),
        };
        self.inputs.iter().map(|input| one(input).resolve()).collect()
    }

    /// The words that all inputs have in common: their size and how they are compiled.
    pub fn option_words(&self) -> Vec<String> {
        let size = self.size.as_ref().map(|size| format!("--size {size}"));
        size.into_iter().chain(self.code.words()).collect()
    }
}

impl InputArguments {
    /// A kernel with the launch file beside it; a workload at its smallest size, unless another is given.
    pub fn of(kernel: &str, size: Option<&str>) -> InputArguments {
        let smallest = workloads::by_name(kernel).is_ok().then_some("tiny");
        let size = size.or(smallest).map(str::to_owned);
        InputArguments { input: kernel.to_owned(), launch: None, size, code: CodeArguments::default() }
    }

    /// A kernel with the launch file beside it, at a size and compiled as said.
    pub fn with_code(kernel: &str, size: Option<&str>, code: &CodeArguments) -> InputArguments {
        let size = size.map(str::to_owned);
        InputArguments { input: kernel.to_owned(), launch: None, size, code: code.clone() }
    }

    /// Finds out what the input is. Files are not opened yet.
    pub fn resolve(&self) -> anyhow::Result<Input> {
        let input = self.kind()?;
        if let Some(path) = input.path().filter(|path| !path.is_file()) {
            let problem = if path.exists() { "not a file" } else { "there is no such file" };
            bail!("{}: {problem}", path.display());
        }
        let for_ptx = matches!(input, Input::Ptx { .. });
        if let Some(launch) = self.launch.as_ref().filter(|_| !for_ptx) {
            bail!("--launch {} belongs to a .ptx or .cu file; `{}` is none", launch.display(), self.input);
        }
        if let (Input::Trace { .. }, Some(size)) = (&input, &self.size) {
            bail!("--size {size}: a trace has the size that it was recorded with; leave the option out");
        }
        if let (Input::Trace { .. }, Some(words)) = (&input, self.code.words().first()) {
            bail!("{words}: a trace has the code that it was recorded with; leave the option out");
        }
        let is_made = match &input {
            Input::Workload { .. } => true,
            Input::Ptx { path, .. } => cuda::is_cuda(path),
            Input::Launch { .. } | Input::Trace { .. } => false,
        };
        self.code.check_is_made(is_made, &self.input)?;
        Ok(input)
    }

    fn kind(&self) -> anyhow::Result<Input> {
        let size = self.size.clone().unwrap_or_else(|| DEFAULT_SIZE.to_owned());
        let code = self.code.code();
        let path = PathBuf::from(&self.input);
        let unknown = match workloads::by_name(&self.input) {
            Ok(workload) => return Ok(Input::Workload { workload, size, code }),
            Err(unknown) => unknown,
        };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("ptx" | "cu") => Ok(Input::Ptx { path, launch: self.launch.clone(), size, code }),
            Some("toml") => Ok(Input::Launch { path, size, code }),
            Some(_) | None if path.is_dir() => Ok(Input::Trace { path: path.join("kernelslist.g") }),
            Some(_) => Ok(Input::Trace { path }),
            None if path.exists() || path.components().count() > 1 => Ok(Input::Trace { path }),
            None => Err(anyhow!(
                "{unknown}; a .ptx or .cu file, a launch file or a trace is accepted as well, but there is no file of that name"
            )),
        }
    }
}

impl Input {
    /// Opens it: memory filled, ready to hand out its launches.
    pub fn open(&self, options: ExecOptions, design: Option<&Config>) -> anyhow::Result<Opened> {
        let (mut opened, code) = match self {
            Input::Workload { workload, size, code } => (workload.open_with(size, code.addresses)?, *code),
            Input::Ptx { path, launch, size, code } => {
                let file = match launch {
                    Some(launch) => LaunchFile::read(launch)?,
                    None => launch_file_beside(path).map_err(|error| match error {
                        OpenError::NoLaunchFile { .. } => anyhow!("{error}; --launch names another"),
                        OpenError::Launch(_) | OpenError::Ptx(_) | OpenError::Run(_) => error.into(),
                    })?,
                };
                let opened = if cuda::is_cuda(path) {
                    let ptx = cuda::compile(path, code.addresses)?;
                    OpenWorkload::from_text(file, &cuda::name_of_ptx(path), &ptx, size)?
                } else {
                    OpenWorkload::from_files(file, path, size)?
                };
                (opened, *code)
            }
            Input::Launch { path, size, code } => (OpenWorkload::from_launch_file(path, size)?, *code),
            Input::Trace { path } => return Ok(Opened::Trace(Box::new(trace::open(path)?))),
        };
        opened.set_exec_options(options);
        let code = code.options();
        opened.set_options(design.map_or(code, |config| config.design.code(config, code)));
        Ok(Opened::Kernel(Box::new(opened)))
    }

    /// Its file; a workload has none.
    fn path(&self) -> Option<&Path> {
        match self {
            Input::Workload { .. } => None,
            Input::Ptx { path, .. } | Input::Launch { path, .. } | Input::Trace { path } => Some(path),
        }
    }

    /// For headings: `hotspot (tiny)`.
    pub fn title(&self) -> String {
        match self {
            Input::Workload { workload, size, .. } => format!("{} ({size})", workload.name),
            Input::Ptx { path, size, .. } | Input::Launch { path, size, .. } => {
                format!("{} ({size})", path.display())
            }
            Input::Trace { path } => path.display().to_string(),
        }
    }

    /// The word that names it on the command line, beside others.
    pub fn word(&self) -> String {
        match self {
            Input::Workload { workload, .. } => workload.name.to_owned(),
            Input::Ptx { path, .. } | Input::Launch { path, .. } | Input::Trace { path } => {
                path.display().to_string()
            }
        }
    }

    /// The words that say at which size it is and how it is compiled; a trace has none.
    pub fn option_words(&self) -> Vec<String> {
        match self {
            Input::Workload { size, code, .. }
            | Input::Launch { size, code, .. }
            | Input::Ptx { size, code, .. } => {
                [vec!["--size".to_owned(), size.clone()], code.words()].concat()
            }
            Input::Trace { .. } => Vec::new(),
        }
    }

    /// The words that name it alone on the command line.
    pub fn words(&self) -> Vec<String> {
        let launch = match self {
            Input::Ptx { launch: Some(launch), .. } => {
                vec!["--launch".to_owned(), launch.display().to_string()]
            }
            Input::Ptx { launch: None, .. }
            | Input::Workload { .. }
            | Input::Launch { .. }
            | Input::Trace { .. } => Vec::new(),
        };
        [vec![self.word()], launch, self.option_words()].concat()
    }
}

/// An input for several runs: its kernels are executed once and replayed for each run. What is kept of them is gone with
/// the source.
pub struct Source<'a> {
    input: &'a Input,
    options: ExecOptions,
    /// The design that its kernels are compiled for; any of those that compile them alike.
    design: Option<&'a Config>,
    /// How many runs there will be, if that is known.
    runs: Option<usize>,
    /// Once it has been opened, or why it cannot be.
    recorded: Mutex<Option<Result<Arc<RecordedWorkload>, String>>>,
    /// Warp instructions of a run that has ended, by its SM.
    issued: Mutex<BTreeMap<u64, u64>>,
}

impl<'a> Source<'a> {
    /// Of any number of runs. Nothing is opened yet.
    pub fn new(input: &'a Input, options: ExecOptions) -> Source<'a> {
        Source {
            input,
            options,
            design: None,
            runs: None,
            recorded: Mutex::default(),
            issued: Mutex::default(),
        }
    }

    /// Of one design: compiled for it.
    pub fn for_design(self, config: &'a Config) -> Source<'a> {
        Source { design: Some(config), ..self }
    }

    /// For each design the number of the first one for which kernels are compiled in the same way.
    pub fn alike(designs: &[&Config]) -> Vec<usize> {
        let code = |config: &&Config| config.design.code(config, CompileOptions::default());
        let codes: Vec<CompileOptions> = designs.iter().map(code).collect();
        let first = |own: usize| codes.iter().position(|code| *code == codes[own]).unwrap_or(own);
        (0..codes.len()).map(first).collect()
    }

    /// Of so many runs and no more: what all of them have replayed is forgotten.
    pub fn of_runs(self, runs: usize) -> Source<'a> {
        Source { runs: Some(runs), ..self }
    }

    /// What it is of.
    pub fn input(&self) -> &'a Input {
        self.input
    }

    /// A run of an SM has ended with so many warp instructions: others have as many.
    pub fn set_issued(&self, sm: u64, warp_instructions: u64) {
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.insert(sm, warp_instructions);
    }

    /// How many warp instructions a run of an SM has, if one has ended.
    pub fn issued(&self, sm: u64) -> Option<u64> {
        self.issued.lock().unwrap_or_else(PoisonError::into_inner).get(&sm).copied()
    }

    /// What its kernels have printed so far; a trace prints nothing.
    pub fn printed(&self) -> Option<Printed> {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        match &*recorded {
            Some(Ok(workload)) => Some(workload.printed()),
            Some(Err(_)) | None => None,
        }
    }

    /// Opens it for another run.
    ///
    /// # Panics
    /// It has been opened for as many as it is [of](Source::of_runs).
    pub fn open(&self) -> anyhow::Result<Opened> {
        Ok(match self.workload()? {
            Ok(workload) => Opened::Recorded(workload.clone(), workload.replay()),
            Err(opened) => opened,
        })
    }

    /// What is executed once for all runs; the trace, if it is one.
    pub fn workload(&self) -> anyhow::Result<Result<Arc<RecordedWorkload>, Opened>> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        match &*recorded {
            Some(Ok(workload)) => return Ok(Ok(workload.clone())),
            Some(Err(problem)) => bail!("{problem}"),
            None => {}
        }
        // What clang says of a file it says once.
        let opened = self
            .input
            .open(self.options, self.design)
            .inspect_err(|error| *recorded = Some(Err(message(error))))?;
        let Opened::Kernel(workload) = opened else { return Ok(Err(opened)) };
        let workload = Arc::new(match self.runs {
            Some(runs) => workload.record_for(runs),
            None => workload.record(),
        });
        *recorded = Some(Ok(workload.clone()));
        Ok(Ok(workload))
    }
}

/// An open input.
pub enum Opened {
    /// Executed as it runs.
    Kernel(Box<OpenWorkload>),
    /// Executed once for several runs.
    Recorded(Arc<RecordedWorkload>, Replayed),
    /// Replayed.
    Trace(Box<OpenTrace>),
}

impl Opened {
    /// Compares the results with what is expected of them, after the last launch; a trace has none.
    pub fn check_results(&self) -> anyhow::Result<Option<CheckReport>> {
        match self {
            Opened::Kernel(workload) => Ok(Some(workload.check_results()?)),
            Opened::Recorded(workload, _) => {
                Ok(Some(workload.check_results().map_err(|error| match error {
                    RecordedCheckError::Stream(error) => anyhow::Error::from(error),
                    RecordedCheckError::Check(error) => error.into(),
                })?))
            }
            Opened::Trace(_) => Ok(None),
        }
    }

    /// Accesses outside of every buffer that were tolerated, after the last launch; a trace has none.
    pub fn out_of_bounds(&self) -> anyhow::Result<Vec<OutOfBounds>> {
        match self {
            Opened::Kernel(workload) => Ok(workload.out_of_bounds().cloned().collect()),
            Opened::Recorded(workload, _) => Ok(workload.out_of_bounds()?),
            Opened::Trace(_) => Ok(Vec::new()),
        }
    }

    /// What was noticed while a trace was read.
    pub fn trace_report(&self) -> Option<&TraceReport> {
        match self {
            Opened::Kernel(_) | Opened::Recorded(..) => None,
            Opened::Trace(trace) => Some(trace.report()),
        }
    }
}

impl Launches for Opened {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        match self {
            Opened::Kernel(workload) => workload.next_launch(),
            Opened::Recorded(_, replayed) => replayed.next_launch(),
            Opened::Trace(trace) => trace.next_launch(),
        }
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        match self {
            Opened::Kernel(workload) => workload.has_values(),
            Opened::Recorded(_, replayed) => replayed.has_values(),
            Opened::Trace(trace) => trace.has_values(),
        }
    }
}

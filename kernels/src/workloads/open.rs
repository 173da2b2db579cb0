//! A workload opened for a run: one that comes with the project, or PTX and a launch file of the user's.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{AddressBits, Workload};
use crate::compile::{CompileOptions, Compiled};
use crate::exec::{ExecOptions, OutOfBounds, Printed, PtxRun, Recording, Replayed, RunError};
use crate::launch::{
    Buffer, CheckError, CheckReport, ElementType, LaunchError, LaunchFile, check_results, expected_files,
    read_bounded,
};
use crate::program::{Launches, Stream, StreamError};
use crate::ptx::{self, PtxErrors};

/// Largest PTX file that is read, in bytes.
pub const MAX_PTX_BYTES: u64 = 64 << 20;

/// PTX and its launch file for one size: launches that share device memory.
#[derive(Debug)]
pub struct OpenWorkload {
    run: PtxRun,
    /// The workload that comes with the project, if it is one.
    built_in: Option<&'static Workload>,
}

/// Why a workload cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The launch file, or a file it names.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The PTX.
    #[error(transparent)]
    Ptx(#[from] PtxErrors),
    /// Launch file and PTX together.
    #[error(transparent)]
    Run(#[from] RunError),
    /// No launch file beside the PTX.
    #[error("{}: no launch file beside it; {} or {} is looked for", ptx.display(), first.display(), second.display())]
    NoLaunchFile {
        /// The PTX file.
        ptx: PathBuf,
        /// Where the launch file is looked for first.
        first: PathBuf,
        /// And then.
        second: PathBuf,
    },
}

impl OpenWorkload {
    pub(super) fn built_in(
        workload: &'static Workload,
        size: &str,
        addresses: AddressBits,
    ) -> Result<Self, OpenError> {
        let file = workload.launch_file()?;
        let (path, ptx) = workload.ptx_of(addresses);
        let run = open(file, &[(path.display().to_string(), ptx)], size)?;
        Ok(OpenWorkload { run, built_in: Some(workload) })
    }

    /// Opens a PTX file with the launch file beside it: of the same name with `.toml`, or `launch.toml`.
    pub fn from_ptx(ptx: &Path, size: &str) -> Result<Self, OpenError> {
        Self::from_files(launch_file_beside(ptx)?, ptx, size)
    }

    /// Opens a launch file with the PTX that it names.
    pub fn from_launch_file(path: &Path, size: &str) -> Result<Self, OpenError> {
        let file = LaunchFile::read(path)?;
        let (mut files, mut room) = (Vec::new(), MAX_PTX_BYTES);
        for ptx in file.ptx_paths() {
            let text = read_bounded(&ptx, room)?;
            room -= text.len() as u64;
            files.push((ptx.display().to_string(), text));
        }
        Ok(OpenWorkload { run: open(file, &files, size)?, built_in: None })
    }

    /// Opens a launch file with a PTX file.
    pub fn from_files(file: LaunchFile, ptx: &Path, size: &str) -> Result<Self, OpenError> {
        Self::from_text(file, &ptx.display().to_string(), &read_bounded(ptx, MAX_PTX_BYTES)?, size)
    }

    /// Opens a launch file with PTX that messages call by a name.
    pub fn from_text(file: LaunchFile, name: &str, ptx: &str, size: &str) -> Result<Self, OpenError> {
        Ok(OpenWorkload { run: open(file, &[(name.to_owned(), ptx)], size)?, built_in: None })
    }

    /// Compiles its kernels like that. To be said before the first launch.
    pub fn set_options(&mut self, options: CompileOptions) {
        self.run.set_options(options);
    }

    /// Executes its kernels like that. To be said before the first launch.
    pub fn set_exec_options(&mut self, options: ExecOptions) {
        self.run.set_exec_options(options);
    }

    /// Accesses outside of every buffer that were tolerated so far, by kernel and instruction.
    pub fn out_of_bounds(&self) -> impl Iterator<Item = &OutOfBounds> {
        self.run.out_of_bounds()
    }

    /// The kernels launched so far, compiled, in the order of their names.
    pub fn kernels(&self) -> impl Iterator<Item = &Compiled> {
        self.run.compiled().map(|(_, compiled)| compiled)
    }

    /// Executes all launches that are left, without timing.
    pub fn run_to_end(&mut self) -> Result<(), RunError> {
        self.run.run_to_end().map(|_| ())
    }

    /// Executes its launches once, for any number of readers. To be asked before the first launch.
    pub fn record(self) -> RecordedWorkload {
        RecordedWorkload::new(Recording::new(self.run), self.built_in)
    }

    /// The same for so many readers and no more: what all of them have passed is forgotten.
    pub fn record_for(self, readers: usize) -> RecordedWorkload {
        RecordedWorkload::new(Recording::new(self.run).for_readers(readers), self.built_in)
    }

    /// Compares the results with what is expected of them, after the last launch: with the reference, if the
    /// workload comes with the project, otherwise with the files that its launch file names.
    pub fn check_results(&self) -> Result<CheckReport, CheckError> {
        check(&self.run, self.built_in)
    }
}

fn check(run: &PtxRun, built_in: Option<&Workload>) -> Result<CheckReport, CheckError> {
    let (sequence, memory) = (run.sequence(), run.host_memory());
    match built_in {
        Some(workload) => workload.check(sequence, memory),
        None => check_results(sequence, memory, &expected_files(sequence)?),
    }
}

/// A workload that is executed once and replayed any number of times.
#[derive(Debug)]
pub struct RecordedWorkload {
    recording: Arc<Recording>,
    built_in: Option<&'static Workload>,
    checked: Mutex<Option<CheckReport>>,
}

/// Why the results of a [`RecordedWorkload`] cannot be compared, or are wrong.
#[derive(Debug, thiserror::Error)]
pub enum RecordedCheckError {
    /// A launch does not come to its end.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The results.
    #[error(transparent)]
    Check(#[from] CheckError),
}

impl RecordedWorkload {
    fn new(recording: Recording, built_in: Option<&'static Workload>) -> RecordedWorkload {
        RecordedWorkload { recording: Arc::new(recording), built_in, checked: Mutex::default() }
    }

    /// What the kernels executed so far have printed.
    pub fn printed(&self) -> Printed {
        self.recording.printed()
    }

    /// Its launches, from the first.
    ///
    /// # Panics
    /// There are as many readers as it was [recorded for](OpenWorkload::record_for).
    pub fn replay(&self) -> Replayed {
        self.recording.replay()
    }

    /// Compares the results with what is expected of them, as [`OpenWorkload::check_results`] does: once, whoever asks.
    /// Launches that are left are executed first.
    pub fn check_results(&self) -> Result<CheckReport, RecordedCheckError> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(report) = *checked {
            return Ok(report);
        }
        let report = self.recording.at_end(|run| check(run, self.built_in))??;
        *checked = Some(report);
        Ok(report)
    }

    /// Accesses outside of every buffer that were tolerated, by kernel and instruction. Launches that are left are executed
    /// first.
    pub fn out_of_bounds(&self) -> Result<Vec<OutOfBounds>, StreamError> {
        self.recording.at_end(|run| run.out_of_bounds().cloned().collect())
    }

    /// That the launch file has a buffer of that name; an unknown one is an error that lists the near ones.
    pub fn check_buffer(&self, name: &str) -> Result<(), LaunchError> {
        self.recording.now(|run| run.sequence().buffer(name).map(|_| ()))
    }

    /// What the buffer of that name holds after the last launch. Launches that are left are executed first.
    pub fn buffer(&self, name: &str) -> Result<BufferContents, RecordedCheckError> {
        let contents = self.recording.at_end(|run| {
            let buffer = run.sequence().buffer(name)?;
            let Buffer { origin, element, .. } = &run.sequence().file().buffers[buffer];
            let bytes = run.host_memory().read(run.sequence().bound(buffer));
            let bytes = bytes.map_err(|message| origin.error(message))?.to_vec();
            Ok::<_, LaunchError>(BufferContents { element: *element, bytes })
        })?;
        Ok(contents.map_err(CheckError::from)?)
    }
}

/// What a buffer of a launch file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferContents {
    /// Type of its elements.
    pub element: ElementType,
    /// Little-endian elements.
    pub bytes: Vec<u8>,
}

/// The launch file beside a file with kernels: of the same name with `.toml`, or `launch.toml`.
pub fn launch_file_beside(kernels: &Path) -> Result<LaunchFile, OpenError> {
    let first = kernels.with_extension("toml");
    let second = kernels.with_file_name("launch.toml");
    let found = if first.exists() { &first } else { &second };
    if !found.exists() {
        return Err(OpenError::NoLaunchFile { ptx: kernels.to_path_buf(), first, second });
    }
    Ok(LaunchFile::read(found)?)
}

/// With PTX files by name.
fn open(file: LaunchFile, files: &[(String, impl AsRef<str>)], size: &str) -> Result<PtxRun, OpenError> {
    let modules = files.iter().map(|(name, text)| ptx::parse(name, text.as_ref()));
    let modules = modules.collect::<Result<Vec<_>, _>>()?;
    Ok(PtxRun::with_modules(modules, Arc::new(file), size)?)
}

impl Launches for OpenWorkload {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        self.run.next_launch()
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        self.run.has_values()
    }
}

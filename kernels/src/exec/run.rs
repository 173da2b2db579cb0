//! A launch file and its PTX module, run launch by launch.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::block::{BlockExecution, Observer};
use super::error::ExecError;
use super::launch::{Configuration, DEFAULT_INSTRUCTION_LIMIT, Execution, Loaded, Prepared};
use super::memory::{BufferId, Memory, MemoryError};
use super::print::Printed;
use super::replay::Recorder;
use super::store::{BlockRecords, Store};
use super::stream::PtxStream;
use super::texture::BoundObject;
use crate::compile::{CompileError, CompileOptions, Compiled, compile};
use crate::launch::{
    Buffer, HostMemory, LaunchError, LaunchFile, Object, Origin, Planned, Reference, Sequence,
    parameter_block, suggest,
};
use crate::program::{BlockIndex, Launches, Space, Stream, StreamError};
use crate::ptx::ir::{Kernel, Module};
use crate::ptx::{EntryError, PtxErrors};

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The launch file.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A kernel that cannot be run.
    #[error(transparent)]
    Ptx(#[from] PtxErrors),
    /// The compiler.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The executor.
    #[error("{file}: {source}")]
    Exec {
        /// The PTX file.
        file: String,
        /// What went wrong in it.
        source: Box<ExecError>,
    },
}

impl RunError {
    /// What went wrong while a module was executed.
    fn exec(module: &Module, source: impl Into<ExecError>) -> RunError {
        RunError::Exec { file: module.file.clone(), source: Box::new(source.into()) }
    }
}

/// A launch file and its PTX module, run launch by launch.
#[derive(Debug)]
pub struct PtxRun {
    module: Module,
    options: CompileOptions,
    compiled: BTreeMap<String, Arc<Compiled>>,
    sequence: Sequence,
    device: Device,
    printed: Printed,
}

/// A launch of a kernel: all that its records are replayed with.
#[derive(Clone, Debug)]
pub(super) struct Launched {
    pub(super) code: Arc<Compiled>,
    pub(super) prepared: Arc<Prepared>,
}

/// Device memory, with the buffers of the launch file in it.
#[derive(Debug)]
struct Device {
    memory: Memory,
    loaded: Loaded,
    buffers: Vec<HostBuffer>,
}

/// Where a buffer of the launch file is.
#[derive(Clone, Copy, Debug)]
enum HostBuffer {
    Global(BufferId),
    Constant { start: usize, bytes: usize },
}

impl HostMemory for Device {
    fn read(&self, buffer: usize) -> Result<Vec<u8>, String> {
        Ok(match self.buffers[buffer] {
            HostBuffer::Global(id) => self.memory.bytes(id).to_vec(),
            HostBuffer::Constant { start, bytes } => self.loaded.constants[start..start + bytes].to_vec(),
        })
    }

    fn write(&mut self, buffer: usize, contents: &[u8]) -> Result<(), String> {
        let target = match self.buffers[buffer] {
            HostBuffer::Global(id) => self.memory.bytes_mut(id),
            HostBuffer::Constant { start, bytes } => &mut self.loaded.constants[start..start + bytes],
        };
        if target.len() != contents.len() {
            return Err(format!("{} bytes for a buffer of {}", contents.len(), target.len()));
        }
        target.copy_from_slice(contents);
        Ok(())
    }
}

impl Device {
    fn new(module: &Module, sequence: &Sequence) -> Result<Device, RunError> {
        let mut memory = Memory::new();
        let loaded = Loaded::new(module, &mut memory).map_err(|error| RunError::exec(module, error))?;
        let mut device = Device { memory, loaded, buffers: Vec::new() };
        for (buffer, &length) in sequence.file().buffers.iter().zip(sequence.lengths()) {
            let bytes = length as u64 * buffer.element.bytes() as u64;
            let placed = device.place(module, buffer, bytes)?;
            if let Some(texture) = &buffer.texture {
                device.shape(module, buffer, texture.evaluate(sequence.variables())?, bytes)?;
            }
            device.buffers.push(placed);
        }
        Ok(device)
    }

    /// Says which image the buffer of a `.texref` is.
    fn shape(&mut self, module: &Module, buffer: &Buffer, image: Object, bytes: u64) -> Result<(), RunError> {
        if image.bytes() > bytes {
            let message = format!("a texture of {} bytes in a buffer of {bytes}", image.bytes());
            return Err(buffer.origin.error(message).into());
        }
        let index =
            module.variables.iter().position(|variable| Some(&variable.name) == buffer.symbol.as_ref());
        let bound = index.and_then(|index| self.loaded.textures[index].as_mut());
        let (_, shape) =
            bound.ok_or_else(|| buffer.origin.error("`texture` of a symbol that is no .texref"))?;
        *shape = Some(image);
        Ok(())
    }

    /// The parameter block of a launch, whose textures and surfaces are from now on those that handles stand for.
    fn parameters(&mut self, planned: &Planned, kernel: &Kernel) -> Result<Vec<u8>, RunError> {
        let mut objects: Vec<BoundObject> = Vec::new();
        let block = parameter_block(planned, kernel, |reference| match reference {
            Reference::Buffer(buffer) => Ok(match self.buffers[buffer] {
                HostBuffer::Global(id) => self.memory.address(id),
                HostBuffer::Constant { start, .. } => super::launch::window(Space::Constant) + start as u64,
            }),
            Reference::Object(object) => {
                let HostBuffer::Global(buffer) = self.buffers[object.buffer] else {
                    return Err("a variable in constant memory; accepted: another buffer".to_owned());
                };
                let (needed, found) = (object.bytes(), self.memory.bytes(buffer).len() as u64);
                if needed > found {
                    return Err(format!("a {} of {needed} bytes in a buffer of {found}", object.kind.name()));
                }
                let bound = BoundObject { buffer, object: object.clone() };
                let index = objects.iter().position(|known| *known == bound).unwrap_or_else(|| {
                    objects.push(bound);
                    objects.len() - 1
                });
                Ok(super::texture::handle(index))
            }
        })?;
        self.loaded.objects = objects;
        Ok(block)
    }

    /// Allocates a buffer, or finds the variable that it is.
    fn place(&mut self, module: &Module, buffer: &Buffer, bytes: u64) -> Result<HostBuffer, RunError> {
        let full = |error: MemoryError| RunError::from(buffer.origin.error(error.to_string()));
        let Some(symbol) = &buffer.symbol else {
            let id = self.memory.allocate(&buffer.name, bytes).map_err(full)?;
            return Ok(HostBuffer::Global(id));
        };
        let Some(index) = module.variables.iter().position(|variable| variable.name == *symbol) else {
            let names: Vec<&str> = module.variables.iter().map(|variable| variable.name.as_str()).collect();
            let near = suggest(symbol, names);
            let message = format!("no variable `{symbol}` in {}{near}", module.file);
            return Err(buffer.origin.error(message).into());
        };
        let variable = &module.variables[index];
        if variable.texture {
            let id = self.memory.allocate(&buffer.name, bytes).map_err(full)?;
            self.loaded.bind_texture(module, symbol, id);
            return Ok(HostBuffer::Global(id));
        }
        if variable.bytes != bytes {
            let message = format!("{bytes} bytes for the variable `{symbol}`, which has {}", variable.bytes);
            return Err(buffer.origin.error(message).into());
        }
        Ok(match self.loaded.buffers[index] {
            Some(id) if variable.space == Space::Global => HostBuffer::Global(id),
            Some(_) | None => {
                let start = self.loaded.addresses[index] as usize;
                HostBuffer::Constant { start, bytes: bytes as usize }
            }
        })
    }
}

impl PtxRun {
    /// Loads a module and gives the buffers of a launch file their first contents.
    ///
    /// # Errors
    /// If the launch file does not fit the module, a kernel that it names cannot be run, or its buffers do not fit the
    /// device.
    pub fn new(module: Module, file: Arc<LaunchFile>, size: &str) -> Result<PtxRun, RunError> {
        let sequence = Sequence::new(file, size)?;
        for step in sequence.file().launches() {
            entry(&module, step.entry.as_deref(), &step.origin)?;
        }
        let mut device = Device::new(&module, &sequence)?;
        sequence.fill_all(&mut device)?;
        let (options, compiled, printed) = Default::default();
        Ok(PtxRun { module, options, compiled, sequence, device, printed })
    }

    /// Compiles kernels like that. To be said before the first launch.
    pub fn set_options(&mut self, options: CompileOptions) {
        self.options = options;
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Where the launch file is.
    pub fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Contents of the buffers.
    pub fn host_memory(&self) -> &dyn HostMemory {
        &self.device
    }

    /// What kernels have printed so far: blocks in grid order, within a block in the order of execution (warps in turns
    /// from barrier to barrier, the threads of a call in theirs).
    pub fn printed(&self) -> &Printed {
        &self.printed
    }

    /// The kernels compiled so far, by name.
    pub fn compiled(&self) -> impl Iterator<Item = (&str, &Compiled)> {
        self.compiled.iter().map(|(name, code)| (name.as_str(), code.as_ref()))
    }

    /// Runs all remaining launches without timing, and gives the warp instructions (PTX) executed.
    ///
    /// # Errors
    /// Whatever ends a launch early.
    pub fn run_to_end(&mut self) -> Result<u64, RunError> {
        let mut executed = 0;
        while let Some(launched) = self.advance()? {
            for block in 0..launched.prepared.launch.blocks() {
                executed += self.execute(&launched, block, &mut ())?;
            }
        }
        Ok(executed)
    }

    /// The next launch, compiled and ready.
    pub(super) fn advance(&mut self) -> Result<Option<Launched>, RunError> {
        let Some(planned) = self.sequence.next(&mut self.device)? else {
            return Ok(None);
        };
        let kernel = entry(&self.module, planned.entry.as_deref(), &planned.origin)?;
        let code = match self.compiled.get(&kernel.name) {
            Some(code) => code.clone(),
            None => {
                let code = Arc::new(compile(&self.module, &kernel.name, &self.options)?);
                self.compiled.insert(kernel.name.clone(), code.clone());
                code
            }
        };
        let parameters = self.device.parameters(&planned, kernel)?;
        let device = &self.device;
        let configuration = Configuration {
            grid: planned.grid,
            block: planned.block,
            dynamic_shared_bytes: planned.dynamic_shared_bytes,
            parameters,
            instruction_limit: DEFAULT_INSTRUCTION_LIMIT,
        };
        let prepared = Prepared::new(&code.kernel, &device.loaded, configuration)
            .map_err(|error| RunError::exec(&self.module, error))?;
        Ok(Some(Launched { code, prepared: Arc::new(prepared) }))
    }

    /// Executes a block of the current launch, and gives the warp instructions (PTX) executed.
    fn execute(
        &mut self,
        launched: &Launched,
        block: BlockIndex,
        observer: &mut impl Observer,
    ) -> Result<u64, RunError> {
        let Launched { code, prepared } = launched;
        let Device { memory, loaded, .. } = &mut self.device;
        let reconvergence = &code.reconvergence;
        let execution = Execution { kernel: &code.kernel, reconvergence, loaded, prepared: prepared.clone() };
        let mut block = BlockExecution::new(&execution, block);
        block.print_into(self.printed.next());
        let outcome = block.run(memory, observer);
        self.printed.append(block.printed());
        outcome.map_err(|error| RunError::exec(&self.module, error))?;
        Ok(block.executed())
    }

    /// Executes a block of the current launch and records what its warps do.
    pub(super) fn record(
        &mut self,
        launched: &Launched,
        block: BlockIndex,
        store: &Store,
    ) -> Result<BlockRecords, RunError> {
        let warps = launched.prepared.launch.warps_per_block();
        let operands = &launched.prepared.decoded.operands;
        let mut recorder = Recorder::new(operands, store, warps);
        self.execute(launched, block, &mut recorder)?;
        recorder.end().map_err(|message| RunError::exec(&self.module, ExecError::Observer(message)))
    }
}

/// The kernel of a launch; without a name, the only one of the module.
fn entry<'m>(module: &'m Module, name: Option<&str>, origin: &Origin) -> Result<&'m Kernel, RunError> {
    let found = match name {
        Some(name) => module.kernel(name),
        None => module.only_kernel().ok_or_else(|| {
            let has = module.listed_kernels();
            origin.error(format!("no kernel is named; {} has {has}", module.file))
        })?,
    };
    found.map_err(|error| match error {
        EntryError::Refused(errors) => errors.into(),
        unknown @ (EntryError::Unknown { .. } | EntryError::Ambiguous { .. }) => {
            origin.error(unknown.to_string()).into()
        }
    })
}

impl Launches for PtxRun {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        let launched = self.advance().map_err(|error| StreamError(error.to_string()))?;
        Ok(launched.map(|launched| -> Box<dyn Stream + '_> { Box::new(PtxStream::new(self, launched)) }))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(true)
    }
}

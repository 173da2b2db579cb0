//! A launch file and its PTX modules, run launch by launch.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::block::{BlockExecution, Observer};
use super::entry::{check_names, entry};
use super::error::ExecError;
use super::launch::{Configuration, ExecOptions, Execution, Loaded, Prepared};
use super::memory::{BufferId, Memory};
use super::outside::{AccessKind, OutOfBounds, OutsideOfBlock};
use super::print::Printed;
use super::replay::Recorder;
use super::store::{BlockRecords, Store};
use super::stream::PtxStream;
use super::texture::BoundObject;
use crate::compile::{CompileError, CompileOptions, Compiled, compile};
use crate::launch::{
    ArgumentValue, Buffer, HostMemory, LaunchError, LaunchFile, MemberValue, Object, Planned, Reference,
    Sequence, Symbol, parameter_block, suggest,
};
use crate::program::{BlockIndex, Launches, Races, Space, Stream, StreamError};
use crate::ptx::PtxErrors;
use crate::ptx::ir::{Kernel, Module, Variable};

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

/// A launch file and its PTX modules, run launch by launch.
#[derive(Debug)]
pub struct PtxRun {
    modules: Vec<Module>,
    options: CompileOptions,
    compiled: BTreeMap<String, Arc<Compiled>>,
    sequence: Sequence,
    /// The same before the first launch.
    start: Sequence,
    device: Device,
    exec_options: ExecOptions,
    /// Tolerated accesses outside of every buffer, by kernel and instruction.
    outside: BTreeMap<(String, u32), OutOfBounds>,
    printed: Printed,
    /// Launches so far.
    launches: usize,
    /// The same run at the end of the launch that has been looked at once more, and what its warps race for.
    again: Option<(Box<PtxRun>, Arc<Races>)>,
}

/// A launch of a kernel: all that its records are replayed with.
#[derive(Clone, Debug)]
pub(super) struct Launched {
    /// Number of its module.
    module: usize,
    pub(super) code: Arc<Compiled>,
    pub(super) prepared: Arc<Prepared>,
}

/// Device memory, with the buffers of the launch file in it.
#[derive(Debug)]
struct Device {
    memory: Memory,
    /// Each module with variables of its own.
    loaded: Vec<Loaded>,
    buffers: Vec<HostBuffer>,
    /// Bytes of an address in the modules.
    pointer_bytes: usize,
}

/// Where a buffer of the launch file is.
#[derive(Clone, Copy, Debug)]
enum HostBuffer {
    Global(BufferId),
    Constant { module: usize, start: usize, bytes: usize },
}

impl HostMemory for Device {
    fn read(&self, buffer: usize) -> Result<&[u8], String> {
        Ok(match self.buffers[buffer] {
            HostBuffer::Global(id) => self.memory.bytes(id),
            HostBuffer::Constant { module, start, bytes } => {
                &self.loaded[module].constants[start..start + bytes]
            }
        })
    }

    fn address(&self, buffer: usize) -> u64 {
        match self.buffers[buffer] {
            HostBuffer::Global(id) => self.memory.address(id),
            HostBuffer::Constant { start, .. } => super::launch::window(Space::Constant) + start as u64,
        }
    }

    fn pointer_bytes(&self) -> usize {
        self.pointer_bytes
    }

    fn write(&mut self, buffer: usize, contents: &[u8]) -> Result<(), String> {
        let target = match self.buffers[buffer] {
            HostBuffer::Global(id) => self.memory.bytes_mut(id),
            HostBuffer::Constant { module, start, bytes } => {
                &mut self.loaded[module].constants[start..start + bytes]
            }
        };
        if target.len() != contents.len() {
            return Err(format!("{} bytes for a buffer of {}", contents.len(), target.len()));
        }
        target.copy_from_slice(contents);
        Ok(())
    }
}

impl Device {
    fn new(modules: &[Module], sequence: &Sequence) -> Result<Device, RunError> {
        let mut memory = Memory::new();
        let mut loaded = Vec::new();
        for module in modules {
            loaded.push(Loaded::new(module, &mut memory).map_err(|error| RunError::exec(module, error))?);
        }
        let is_narrow =
            modules.iter().flat_map(|module| &module.kernels).any(|kernel| kernel.address_bits == 32);
        let pointer_bytes = if is_narrow { 4 } else { 8 };
        let mut device = Device { memory, loaded, buffers: Vec::new(), pointer_bytes };
        let file = sequence.file();
        for (buffer, &length) in file.buffers.iter().zip(sequence.lengths()) {
            let bytes = length as u64 * buffer.element.bytes() as u64;
            let placed = match &buffer.symbol {
                Some(symbol) => {
                    let variable = variable_of(modules, file, buffer, symbol)?;
                    let placed = device.bind(&modules[variable.0], variable, buffer, bytes)?;
                    if let Some(texture) = &buffer.texture {
                        device.shape(variable, buffer, texture.evaluate(sequence.variables())?, bytes)?;
                    }
                    placed
                }
                None => HostBuffer::Global(device.allocate(buffer, bytes)?),
            };
            device.buffers.push(placed);
        }
        Ok(device)
    }

    /// Says which image the buffer of a `.texref` is.
    fn shape(
        &mut self,
        (module, variable): (usize, usize),
        buffer: &Buffer,
        image: Object,
        bytes: u64,
    ) -> Result<(), LaunchError> {
        if image.bytes() > bytes {
            let message = format!("a texture of {} bytes in a buffer of {bytes}", image.bytes());
            return Err(buffer.origin.error(message));
        }
        let bound = self.loaded[module].textures[variable].as_mut();
        let (_, shape) =
            bound.ok_or_else(|| buffer.origin.error("`texture` of a symbol that is no .texref"))?;
        *shape = Some(image);
        Ok(())
    }

    /// The parameter block of a launch, whose textures and surfaces are from now on those that handles stand for.
    fn parameters(
        &mut self,
        module: usize,
        planned: &Planned,
        kernel: &Kernel,
    ) -> Result<Vec<u8>, LaunchError> {
        let mut objects: Vec<BoundObject> = Vec::new();
        let block = parameter_block(planned, kernel, |reference| match reference {
            Reference::Buffer(buffer) => Ok(self.address(buffer)),
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
        self.loaded[module].objects = objects;
        Ok(block)
    }

    fn allocate(&mut self, buffer: &Buffer, bytes: u64) -> Result<BufferId, LaunchError> {
        self.memory.allocate(&buffer.name, bytes).map_err(|error| buffer.origin.error(error.to_string()))
    }

    /// The variable of a module that a buffer is, or memory that is bound to a texture.
    fn bind(
        &mut self,
        module: &Module,
        (number, index): (usize, usize),
        buffer: &Buffer,
        bytes: u64,
    ) -> Result<HostBuffer, LaunchError> {
        let variable = &module.variables[index];
        if variable.texture {
            let id = self.allocate(buffer, bytes)?;
            self.loaded[number].bind_texture(module, &variable.name, id);
            return Ok(HostBuffer::Global(id));
        }
        if variable.bytes != bytes {
            let Variable { name, bytes: accepted, .. } = variable;
            let message = format!("{bytes} bytes for the variable `{name}`, which has {accepted}");
            return Err(buffer.origin.error(message));
        }
        let loaded = &self.loaded[number];
        Ok(match loaded.buffers[index] {
            Some(id) if variable.space == Space::Global => HostBuffer::Global(id),
            Some(_) | None => {
                let start = loaded.addresses[index] as usize;
                HostBuffer::Constant { module: number, start, bytes: bytes as usize }
            }
        })
    }

    /// Refuses arguments that are constants of another module: kernels have addresses of their own module's.
    fn check_constants(&self, module: usize, planned: &Planned) -> Result<(), LaunchError> {
        for argument in &planned.arguments {
            let members = match argument {
                ArgumentValue::Member(member) => std::slice::from_ref(member),
                ArgumentValue::Structure(members) => members.as_slice(),
                ArgumentValue::Number(_) | ArgumentValue::Expression { .. } => &[],
            };
            let foreign = members.iter().any(|member| match member {
                MemberValue::Buffer { buffer, .. } => match self.buffers[*buffer] {
                    HostBuffer::Constant { module: of, .. } => of != module,
                    HostBuffer::Global(_) => false,
                },
                MemberValue::Scalar(..) | MemberValue::Object(_) => false,
            });
            if foreign {
                return Err(planned.origin.error(
                    "an argument is a constant of another PTX file; those of the kernel's are accepted",
                ));
            }
        }
        Ok(())
    }
}

/// The module and the variable of it that a buffer is.
fn variable_of(
    modules: &[Module],
    file: &LaunchFile,
    buffer: &Buffer,
    symbol: &Symbol,
) -> Result<(usize, usize), LaunchError> {
    let named = symbol.ptx.as_ref().map(|ptx| file.folder().join(ptx).display().to_string());
    let searched: Vec<(usize, &Module)> = modules
        .iter()
        .enumerate()
        .filter(|(_, module)| named.as_ref().is_none_or(|named| module.file == *named))
        .collect();
    let files = || searched.iter().map(|(_, module)| module.file.as_str()).collect::<Vec<_>>().join(", ");
    let Symbol { name, .. } = symbol;
    let found: Vec<(usize, usize)> = searched
        .iter()
        .filter_map(|&(number, module)| {
            let index = module.variables.iter().position(|variable| variable.name == *name);
            index.map(|index| (number, index))
        })
        .collect();
    match (found.as_slice(), &named) {
        ([one], _) => Ok(*one),
        ([], Some(named)) if searched.is_empty() => {
            let all: Vec<&str> = modules.iter().map(|module| module.file.as_str()).collect();
            Err(buffer.origin.error(format!("no PTX file `{named}`; there is {}", all.join(", "))))
        }
        ([], _) => {
            let variables = searched.iter().flat_map(|(_, module)| &module.variables);
            let near = suggest(name, variables.map(|variable| variable.name.as_str()));
            Err(buffer.origin.error(format!("no variable `{name}` in {}{near}", files())))
        }
        (several, _) => {
            let all: Vec<&str> = several.iter().map(|&(number, _)| modules[number].file.as_str()).collect();
            Err(buffer.origin.error(format!(
                "the variable `{name}` is in {}; symbol = {{ name = \"{name}\", ptx = \"FILE\" }} names one",
                all.join(" and in ")
            )))
        }
    }
}

impl PtxRun {
    /// Loads a module and gives the buffers of a launch file their first contents.
    ///
    /// # Errors
    /// If the launch file does not fit the module, a kernel that it names cannot be run, or its buffers do not fit the
    /// device.
    pub fn new(module: Module, file: Arc<LaunchFile>, size: &str) -> Result<PtxRun, RunError> {
        Self::with_modules(vec![module], file, size)
    }

    /// The same with several modules, each with variables of its own.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if two modules have kernels of the same name.
    pub fn with_modules(modules: Vec<Module>, file: Arc<LaunchFile>, size: &str) -> Result<PtxRun, RunError> {
        check_names(&modules, &file)?;
        let sequence = Sequence::new(file, size)?;
        for step in sequence.file().launches() {
            entry(&modules, step.entry.as_deref(), &step.origin)?;
        }
        Self::at_start(modules, sequence)
    }

    /// Before the first launch.
    fn at_start(modules: Vec<Module>, sequence: Sequence) -> Result<PtxRun, RunError> {
        let mut device = Device::new(&modules, &sequence)?;
        sequence.fill_all(&mut device)?;
        Ok(PtxRun {
            modules,
            options: CompileOptions::default(),
            compiled: BTreeMap::new(),
            start: sequence.clone(),
            sequence,
            device,
            exec_options: ExecOptions::default(),
            outside: BTreeMap::new(),
            printed: Printed::default(),
            launches: 0,
            again: None,
        })
    }

    /// Compiles kernels like that. To be said before the first launch.
    pub fn set_options(&mut self, options: CompileOptions) {
        self.options = options;
    }

    /// Executes kernels like that. To be said before the first launch.
    pub fn set_exec_options(&mut self, options: ExecOptions) {
        self.exec_options = options;
    }

    /// Accesses outside of every buffer that were tolerated so far, by kernel and instruction.
    pub fn out_of_bounds(&self) -> impl Iterator<Item = &OutOfBounds> {
        self.outside.values()
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
            executed += self.execute_all(&launched)?;
        }
        Ok(executed)
    }

    /// What the warps of the current launch race for.
    ///
    /// # Errors
    /// Whatever ends a launch early.
    pub(super) fn races_of_current(&mut self) -> Result<Arc<Races>, StreamError> {
        self.races(self.launches.saturating_sub(1))
    }

    /// What the warps of a launch race for: of the launch of that number, from 0. Executes the run up to its end once more, from
    /// its first launch or from where it has done so before.
    ///
    /// # Errors
    /// Whatever ends a launch early.
    pub(super) fn races(&mut self, launch: usize) -> Result<Arc<Races>, StreamError> {
        let end = launch + 1;
        let mut run = match self.again.take_if(|(run, _)| run.launches <= end) {
            Some((run, races)) if run.launches == end => {
                self.again = Some((run, races.clone()));
                return Ok(races);
            }
            Some((run, _)) => run,
            None => Box::new(self.once_more().map_err(|error| StreamError(error.to_string()))?),
        };
        let races = Arc::new(run.races_of(launch)?);
        self.again = Some((run, races.clone()));
        Ok(races)
    }

    /// The same run before its first launch, with a memory of its own.
    fn once_more(&self) -> Result<PtxRun, RunError> {
        let mut run = Self::at_start(self.modules.clone(), self.start.clone())?;
        run.set_options(self.options);
        run.set_exec_options(self.exec_options);
        Ok(run)
    }

    /// Goes on to the end of a launch, and says what its warps race for.
    fn races_of(&mut self, launch: usize) -> Result<Races, StreamError> {
        let failed = |error: RunError| StreamError(error.to_string());
        while self.launches < launch
            && let Some(launched) = self.advance().map_err(failed)?
        {
            self.execute_all(&launched).map_err(failed)?;
        }
        match self.next_launch()? {
            Some(mut stream) => Races::of(&mut *stream),
            None => Err(StreamError(format!("launch {launch} is gone"))),
        }
    }

    /// The next launch, compiled and ready.
    pub(super) fn advance(&mut self) -> Result<Option<Launched>, RunError> {
        let Some(planned) = self.sequence.next(&mut self.device)? else {
            return Ok(None);
        };
        let (number, kernel) = entry(&self.modules, planned.entry.as_deref(), &planned.origin)?;
        let module = &self.modules[number];
        let code = match self.compiled.get(&kernel.name) {
            Some(code) => code.clone(),
            None => {
                let code = Arc::new(compile(module, &kernel.name, &self.options)?);
                self.compiled.insert(kernel.name.clone(), code.clone());
                code
            }
        };
        self.device.check_constants(number, &planned)?;
        let parameters = self.device.parameters(number, &planned, kernel)?;
        let configuration = Configuration {
            grid: planned.grid,
            block: planned.block,
            dynamic_shared_bytes: planned.dynamic_shared_bytes,
            parameters,
            options: self.exec_options,
        };
        let prepared = Prepared::new(&code.kernel, &self.device.loaded[number], configuration)
            .map_err(|error| planned.origin.error(format!("{}: {error}", module.file)))?;
        self.launches += 1;
        Ok(Some(Launched { module: number, code, prepared: Arc::new(prepared) }))
    }

    /// Executes all blocks of the current launch, and gives the warp instructions (PTX) executed.
    fn execute_all(&mut self, launched: &Launched) -> Result<u64, RunError> {
        let blocks = 0..launched.prepared.launch.blocks();
        blocks.map(|block| self.execute(launched, block, &mut ())).sum()
    }

    /// Executes a block of the current launch, and gives the warp instructions (PTX) executed.
    fn execute(
        &mut self,
        launched: &Launched,
        block: BlockIndex,
        observer: &mut impl Observer,
    ) -> Result<u64, RunError> {
        let Launched { module, code, prepared } = launched;
        let Device { memory, loaded, .. } = &mut self.device;
        let (module, loaded) = (&self.modules[*module], &loaded[*module]);
        let reconvergence = &code.reconvergence;
        let execution = Execution { kernel: &code.kernel, reconvergence, loaded, prepared: prepared.clone() };
        let mut block = BlockExecution::new(&execution, block);
        block.print_into(self.printed.next());
        let outcome = block.run(memory, observer);
        self.printed.append(block.printed());
        outcome.map_err(|error| RunError::exec(module, error))?;
        let (executed, outside) = (block.executed(), block.outside());
        self.note_outside(launched, outside);
        Ok(executed)
    }

    fn note_outside(&mut self, launched: &Launched, block: OutsideOfBlock) {
        let kernel = &launched.code.kernel;
        for (index, (accesses, first)) in block {
            let instruction = &kernel.instructions[index as usize];
            let known = self.outside.entry((kernel.name.clone(), index)).or_insert_with(|| OutOfBounds {
                file: self.modules[launched.module].file.clone(),
                kernel: kernel.name.clone(),
                line: instruction.line,
                instruction: instruction.text.clone(),
                kind: AccessKind::of(instruction),
                accesses: 0,
                first,
            });
            known.accesses += accesses;
        }
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
        let module = &self.modules[launched.module];
        recorder.end().map_err(|message| RunError::exec(module, ExecError::Observer(message)))
    }
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

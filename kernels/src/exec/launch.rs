//! A module in device memory, and one launch of a kernel of it.

use std::ops::Range;
use std::sync::Arc;

use super::decode::Decoded;
use super::error::ExecError;
use super::memory::{BufferId, Memory};
use super::texture::BoundObject;
use crate::launch::Object;
use crate::program::{Launch, Space};
use crate::ptx::ir::{InstIndex, Kernel, Module, Place, Symbol, VariableId};

/// Where a state space begins among generic addresses, of 32 bits as of 64. No buffer lies in a window.
pub(super) const fn window(space: Space) -> u64 {
    match space {
        Space::Global | Space::Generic => 0,
        Space::Shared => WINDOWS.start,
        Space::Local => WINDOWS.start + WINDOW,
        Space::Constant => WINDOWS.start + 2 * WINDOW,
        Space::Parameter => WINDOWS.start + 3 * WINDOW,
    }
}

/// Bytes of each window: more than a kernel's variables may take.
pub(super) const WINDOW: u64 = 1 << 24;

/// The generic addresses that are no global ones.
pub(super) const WINDOWS: Range<u64> = 0xfc00_0000..0x1_0000_0000;

/// The state space that a generic address belongs to, and the address within it.
#[inline]
pub(super) fn resolve_generic(address: u64) -> (Space, u64) {
    if !WINDOWS.contains(&address) {
        return (Space::Global, address);
    }
    for space in [Space::Shared, Space::Local, Space::Constant, Space::Parameter] {
        let offset = address.wrapping_sub(window(space));
        if offset < WINDOW {
            return (space, offset);
        }
    }
    (Space::Global, address)
}

/// A module's variables in device memory.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Address of each variable within its state space; of a texture 0.
    pub(super) addresses: Vec<u64>,
    /// The buffer of each variable in global memory.
    pub(super) buffers: Vec<Option<BufferId>>,
    /// Constant memory.
    pub(super) constants: Vec<u8>,
    /// The buffer bound to each texture, and the image that it is, if that has been said.
    pub(super) textures: Vec<Option<(BufferId, Option<Object>)>>,
    /// Textures and surfaces of the current launch, by their handles.
    pub(super) objects: Vec<BoundObject>,
}

impl Loaded {
    /// Allocates a module's variables and gives them their initial values.
    ///
    /// # Errors
    /// If they do not fit into device memory.
    pub fn new(module: &Module, memory: &mut Memory) -> Result<Loaded, ExecError> {
        let mut loaded = Loaded {
            addresses: Vec::new(),
            buffers: Vec::new(),
            constants: Vec::new(),
            textures: Vec::new(),
            objects: Vec::new(),
        };
        for variable in &module.variables {
            loaded.textures.push(None);
            if variable.texture {
                loaded.addresses.push(0);
                loaded.buffers.push(None);
            } else if variable.space == Space::Constant {
                let start = (loaded.constants.len() as u64).next_multiple_of(u64::from(variable.align));
                loaded.addresses.push(start);
                loaded.constants.resize((start + variable.bytes) as usize, 0);
                loaded.buffers.push(None);
            } else {
                let buffer = memory.allocate(&variable.name, variable.bytes)?;
                loaded.addresses.push(memory.address(buffer));
                loaded.buffers.push(Some(buffer));
            }
        }
        for (index, variable) in module.variables.iter().enumerate() {
            let mut contents = variable.initial.clone();
            for relocation in &variable.relocations {
                let target = relocation.target.index();
                let base = if relocation.generic { window(module.variables[target].space) } else { 0 };
                let address =
                    loaded.addresses[target].wrapping_add(base).wrapping_add_signed(relocation.addend);
                let at = relocation.position as usize;
                let bytes = usize::from(relocation.bytes);
                contents[at..at + bytes].copy_from_slice(&address.to_le_bytes()[..bytes]);
            }
            let target = match loaded.buffers[index] {
                Some(buffer) => memory.bytes_mut(buffer),
                None => &mut loaded.constants[loaded.addresses[index] as usize..],
            };
            target[..contents.len()].copy_from_slice(&contents);
        }
        Ok(loaded)
    }

    /// Binds a buffer to a texture; `false` if the module has no texture of that name.
    pub fn bind_texture(&mut self, module: &Module, name: &str, buffer: BufferId) -> bool {
        let found = module.variables.iter().position(|variable| variable.texture && variable.name == name);
        if let Some(index) = found {
            self.textures[index] = Some((buffer, None));
        }
        found.is_some()
    }

    /// Address of a variable within its state space.
    pub fn address(&self, variable: VariableId) -> u64 {
        self.addresses[variable.index()]
    }
}

/// One launch of a kernel, ready to execute its blocks.
#[derive(Clone, Debug)]
pub struct Execution<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) reconvergence: &'a [Option<InstIndex>],
    pub(super) loaded: &'a Loaded,
    pub(super) prepared: Arc<Prepared>,
}

/// What a launch adds to its kernel, checked: the same for all its blocks.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) launch: Launch,
    pub(super) parameters: Vec<u8>,
    pub(super) decoded: Decoded,
    pub(super) dynamic_shared: u32,
    pub(super) options: ExecOptions,
}

/// What a launch gives a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory a block.
    pub dynamic_shared_bytes: u32,
    /// The parameter block, laid out as [`Kernel::parameters`] says.
    pub parameters: Vec<u8>,
    /// How it is executed.
    pub options: ExecOptions,
}

/// How kernels are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecOptions {
    /// Warp instructions that a block may execute.
    pub max_warp_instructions: u64,
    /// Blocks that a launch may have.
    pub max_blocks: u64,
    /// Accesses to device memory outside of every buffer do not end the run: loads give zero, stores and atomics are
    /// dropped, and all are counted.
    pub tolerate_out_of_bounds: bool,
}

impl Default for ExecOptions {
    fn default() -> Self {
        ExecOptions {
            max_warp_instructions: 100_000_000,
            max_blocks: 10_000_000,
            tolerate_out_of_bounds: false,
        }
    }
}

/// Threads of a block at most, on every machine.
const MAX_THREADS: u32 = 1024;
/// Bytes of shared memory a block at most: more than any machine has.
const MAX_SHARED: u64 = 1 << 24;

impl<'a> Execution<'a> {
    /// Prepares a launch. `reconvergence` is the table that the compiler makes, one entry an instruction.
    ///
    /// # Errors
    /// If grid, block, shared memory or parameters do not fit the kernel.
    pub fn new(
        kernel: &'a Kernel,
        reconvergence: &'a [Option<InstIndex>],
        loaded: &'a Loaded,
        configuration: Configuration,
    ) -> Result<Execution<'a>, ExecError> {
        if reconvergence.len() != kernel.instructions.len() {
            let (found, accepted) = (reconvergence.len(), kernel.instructions.len());
            let message = format!("a reconvergence table of {found} entries; accepted: {accepted}");
            return Err(ExecError::launch(kernel, message));
        }
        let prepared = Arc::new(Prepared::new(kernel, loaded, configuration)?);
        Ok(Execution { kernel, reconvergence, loaded, prepared })
    }

    /// Grid and block shape, and all shared memory.
    pub fn launch(&self) -> &Launch {
        &self.prepared.launch
    }
}

impl Prepared {
    pub(super) fn new(
        kernel: &Kernel,
        loaded: &Loaded,
        configuration: Configuration,
    ) -> Result<Prepared, ExecError> {
        let Configuration { grid, block, dynamic_shared_bytes, parameters, options } = configuration;
        let error = |message: String| Err(ExecError::launch(kernel, message));
        let threads = block.iter().fold(1_u64, |product, &n| product.saturating_mul(u64::from(n)));
        if let Some(problem) = block_problem(kernel, block, threads) {
            return error(problem);
        }
        let blocks: u128 = grid.iter().map(|&n| u128::from(n)).product();
        if blocks == 0 {
            return error(format!("a grid of {grid:?} blocks; accepted: 1 and more in every direction"));
        }
        if blocks > u128::from(options.max_blocks) {
            let most = options.max_blocks;
            return error(format!(
                "a grid of {grid:?}, {blocks} blocks; accepted: at most {most} (or a higher exec.max_blocks)"
            ));
        }
        if parameters.len() != kernel.parameter_bytes as usize {
            let (found, accepted) = (parameters.len(), kernel.parameter_bytes);
            return error(format!("{found} bytes of parameters; accepted: {accepted}"));
        }
        let dynamic_start = u64::from(kernel.shared_bytes).next_multiple_of(16);
        let shared = if dynamic_shared_bytes == 0 {
            u64::from(kernel.shared_bytes)
        } else {
            dynamic_start + u64::from(dynamic_shared_bytes)
        };
        if shared > MAX_SHARED {
            return error(format!("{shared} bytes of shared memory; accepted: at most {MAX_SHARED}"));
        }
        let launch = Launch { grid, block, shared_bytes: shared as u32 };
        Ok(Prepared {
            decoded: Decoded::new(kernel, loaded),
            launch,
            parameters,
            dynamic_shared: dynamic_shared_bytes,
            options,
        })
    }
}

/// Why a block of that shape is refused, as the driver does: too many threads, or another shape than `.reqntid` says
/// (PTX ISA 11.4, performance-tuning directives).
fn block_problem(kernel: &Kernel, block: [u32; 3], threads: u64) -> Option<String> {
    if let Some(required) = kernel.required_block.filter(|&required| required != block) {
        return Some(format!(
            "a block of {block:?} threads; accepted: {required:?}, the .reqntid of the kernel on line {}",
            kernel.line
        ));
    }
    let (most, said) = match kernel.max_threads {
        Some(most) if most < MAX_THREADS => {
            (most, format!(", the .maxntid of the kernel on line {}", kernel.line))
        }
        Some(_) | None => (MAX_THREADS, String::new()),
    };
    let accepted = 1..=u64::from(most);
    (!accepted.contains(&threads))
        .then(|| format!("a block of {block:?} threads; accepted: 1 to {most}{said}"))
}

/// The address of a variable within its state space.
pub(super) fn symbol_address(kernel: &Kernel, loaded: &Loaded, symbol: &Symbol) -> u64 {
    match symbol.place {
        Place::Offset(offset) => u64::from(offset),
        Place::DynamicShared => u64::from(kernel.shared_bytes).next_multiple_of(16),
        Place::Module(variable) => loaded.address(variable),
    }
}

//! Machine code in memory.

use std::sync::Arc;

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, Signature, UserExternalName};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetFrontendConfig};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CodegenError, Context};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, ModuleError, ModuleReloc, default_libcall_names};

use crate::EngineError;
use crate::code_cache::CodeCache;
use crate::plan::Plan;

/// What compiled code is called with, in the order of its parameters: all of them fit machine registers.
pub struct Call {
    /// The arena.
    pub arena: *mut u64,
    /// Inputs to take after the first edge, as many words as the plan's inputs, and behind them a bit for each word: set for
    /// the first word of an input that has changed.
    pub inputs: *mut u64,
    /// Counters of table ports: pairs of cycles and arrays.
    pub ports: *mut u64,
    /// Counters of registers: pairs of cycles and toggles.
    pub registers: *mut u64,
    /// Cycles to run, at least 1.
    pub cycles: u64,
    /// Whether the clock edge of the cycle before is still to be applied.
    pub edge: u64,
}

/// The signature of compiled code: the fields of a [`Call`].
pub type Entry = unsafe extern "C" fn(*mut u64, *mut u64, *mut u64, *mut u64, u64, u64);

/// Parameters of an [`Entry`].
pub const PARAMETERS: usize = 6;

/// A compiled circuit. Clones share the memory that its code lies in.
#[derive(Clone)]
pub struct Code {
    entry: Entry,
    /// Length of the code.
    pub bytes: usize,
    _memory: Arc<Memory>,
}

/// Memory with code in it.
struct Memory {
    module: Option<JITModule>,
    /// Code refers to the plan, and to tables of its own, by their addresses.
    _plan: Arc<Plan>,
    _tables: Vec<Box<[u64]>>,
}

// SAFETY: once made, the module is neither changed nor read, only freed when the last owner goes; code is
// immutable and works on what its caller passes.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Code {
    /// Runs cycles.
    ///
    /// # Safety
    ///
    /// `call` points to arena, inputs and counters of a state of the plan that the code was compiled from, and nothing
    /// else uses them meanwhile.
    #[inline]
    pub unsafe fn run(&self, call: Call) {
        let Call { arena, inputs, ports, registers, cycles, edge } = call;
        // SAFETY: the caller's.
        unsafe { (self.entry)(arena, inputs, ports, registers, cycles, edge) };
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: every `Code` with an address in this memory owns it, so nothing can call it any more.
            unsafe { module.free_memory() };
        }
    }
}

/// A place to build a function for this machine.
pub struct Target {
    isa: OwnedTargetIsa,
    context: Context,
    circuit: String,
    /// Addresses that the function refers to, by the number of their symbol.
    outside: Vec<*const u8>,
    /// What is at some of these and belongs to the code.
    tables: Vec<Box<[u64]>>,
}

impl Target {
    pub fn new(circuit: &str) -> Result<Target, EngineError> {
        let problem = |error: String| EngineError::Compile { circuit: circuit.to_owned(), problem: error };
        let mut flags = settings::builder();
        let values = [
            ("opt_level", "speed"),
            ("is_pic", "false"),
            ("use_colocated_libcalls", "false"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
            ("enable_probestack", "false"),
        ];
        for (name, value) in values {
            flags.set(name, value).map_err(|error| problem(error.to_string()))?;
        }
        let isa = cranelift_native::builder().map_err(|error| problem(error.to_owned()))?;
        let isa = isa.finish(settings::Flags::new(flags)).map_err(|error| problem(error.to_string()))?;
        Ok(Target {
            isa,
            context: Context::new(),
            circuit: circuit.to_owned(),
            outside: Vec::new(),
            tables: Vec::new(),
        })
    }

    /// The function to fill.
    pub fn function(&mut self) -> &mut Function {
        &mut self.context.func
    }

    pub fn signature(&self) -> Signature {
        Signature::new(self.isa.default_call_conv())
    }

    pub fn frontend_config(&self) -> TargetFrontendConfig {
        self.isa.frontend_config()
    }

    /// Says what the function refers to, by the number of its symbol (see [`symbol`]), and which tables live with it.
    pub fn refers_to(&mut self, outside: Vec<*const u8>, tables: Vec<Box<[u64]>>) {
        self.outside = outside;
        self.tables = tables;
    }

    /// Compiles the function, which has the signature of [`Entry`], unless `kept` has its code, and puts it into memory.
    pub fn finish(mut self, plan: &Arc<Plan>, kept: Option<&CodeCache>) -> Result<Code, EngineError> {
        let circuit = std::mem::take(&mut self.circuit);
        let problem = |problem: String| EngineError::Compile { circuit, problem };
        if let Err(error) = self.compile(kept) {
            return Err(problem(format!("{error:?}")));
        }
        let (module, address) = self.define().map_err(|error| problem(format!("{error:?}")))?;
        // SAFETY: `address` is the start of a function just compiled for this machine and its C calling
        // convention with the signature of `Entry`; its memory lives as long as the `Code` that holds it.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        let bytes = self.context.compiled_code().map_or(0, |code| code.code_buffer().len());
        let memory = Memory { module: Some(module), _plan: plan.clone(), _tables: self.tables };
        Ok(Code { entry, bytes, _memory: Arc::new(memory) })
    }

    /// Compiles the function, or takes what was made of an equal one before.
    fn compile(&mut self, kept: Option<&CodeCache>) -> Result<(), CodegenError> {
        let mut control = ControlPlane::default();
        let outcome = match kept {
            Some(cache) => {
                let mut store = cache.store();
                self.context.compile_with_cache(self.isa.as_ref(), &mut store, &mut control).map(|_| ())
            }
            None => self.context.compile(self.isa.as_ref(), &mut control).map(|_| ()),
        };
        outcome.map_err(|error| error.inner)
    }

    /// Lays the compiled function down; the memory, and where it starts.
    fn define(&self) -> Result<(JITModule, *const u8), Box<ModuleError>> {
        let mut builder = JITBuilder::with_isa(self.isa.clone(), default_libcall_names());
        builder.symbols(self.outside.iter().enumerate().map(|(index, address)| (name(index), *address)));
        let mut module = JITModule::new(builder);
        for index in 0..self.outside.len() {
            let declared = module.declare_data(&name(index), Linkage::Import, false, false)?;
            debug_assert_eq!(declared.as_u32(), symbol(index).index);
        }
        let code = self.context.compiled_code().expect("a function that was compiled before");
        let alignment = u64::from(code.buffer.alignment);
        let function = module.declare_function("run", Linkage::Export, &self.context.func.signature)?;
        let relocation = |place| ModuleReloc::from_mach_reloc(place, &self.context.func, function);
        let relocations: Vec<ModuleReloc> = code.buffer.relocs().iter().map(relocation).collect();
        module.define_function_bytes(function, alignment, code.code_buffer(), &relocations)?;
        module.finalize_definitions()?;
        let address = module.get_finalized_function(function);
        Ok((module, address))
    }
}

/// The symbol, by number, of something that code refers to. It has no address in it, so that equal functions are equal in
/// every process.
pub fn symbol(index: usize) -> UserExternalName {
    UserExternalName { namespace: DATA, index: index as u32 }
}

/// The namespace of data among the names of a [`Module`].
const DATA: u32 = 1;

fn name(index: usize) -> String {
    format!("outside{index}")
}

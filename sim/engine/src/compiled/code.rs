//! Machine code in memory.

use std::sync::Arc;

use cranelift_codegen::ir::{Function, Signature};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, isa};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, ModuleReloc, default_libcall_names};

use crate::EngineError;
use crate::plan::Plan;

/// What compiled code is called with, in the order of its parameters: all of them fit machine registers.
pub struct Call {
    /// The arena.
    pub arena: *mut u64,
    /// Inputs to take after the first edge, as many words as the plan's inputs.
    pub inputs: *const u64,
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
pub type Entry = unsafe extern "C" fn(*mut u64, *const u64, *mut u64, *mut u64, u64, u64);

/// Parameters of an [`Entry`].
pub const PARAMETERS: usize = 6;

/// A compiled circuit. Clones share the memory that its code lies in.
#[derive(Clone)]
pub struct Code {
    entry: Entry,
    _memory: Arc<Memory>,
}

/// Memory with code in it.
struct Memory {
    module: Option<JITModule>,
    /// Code refers to the plan by its address.
    _plan: Arc<Plan>,
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

#[cfg(test)]
impl Code {
    /// Where it lies.
    pub fn address(&self) -> usize {
        self.entry as usize
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").finish_non_exhaustive()
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
    module: JITModule,
    context: Context,
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
        let isa: isa::OwnedTargetIsa =
            isa.finish(settings::Flags::new(flags)).map_err(|error| problem(error.to_string()))?;
        let module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        let context = module.make_context();
        Ok(Target { module, context })
    }

    /// The function to fill.
    pub fn function(&mut self) -> &mut Function {
        &mut self.context.func
    }

    pub fn signature(&self) -> Signature {
        self.module.make_signature()
    }

    pub fn frontend_config(&self) -> isa::TargetFrontendConfig {
        self.module.target_config()
    }

    /// Compiles the function, which has the signature of [`Entry`], and puts it into memory so many times.
    pub fn finish(mut self, plan: &Arc<Plan>, copies: usize) -> Result<Vec<Code>, EngineError> {
        let addresses = self.define(copies).map_err(|problem| EngineError::Compile {
            circuit: plan.circuit.clone(),
            problem: format!("{problem:?}"),
        })?;
        let memory = Arc::new(Memory { module: Some(self.module), _plan: plan.clone() });
        let code = |address| {
            // SAFETY: `address` is the start of a function just compiled for this machine and its C calling
            // convention with the signature of `Entry`; its memory lives as long as the `Code` that holds it.
            let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
            Code { entry, _memory: memory.clone() }
        };
        Ok(addresses.into_iter().map(code).collect())
    }

    /// Defines the function and copies of it; where they start.
    fn define(&mut self, copies: usize) -> Result<Vec<*const u8>, Box<ModuleError>> {
        let signature = self.context.func.signature.clone();
        let mut functions: Vec<FuncId> = Vec::with_capacity(copies);
        for copy in 0..copies {
            let function =
                self.module.declare_function(&format!("run{copy}"), Linkage::Export, &signature)?;
            if copy == 0 {
                self.module.define_function(function, &mut self.context)?;
            } else {
                self.copy(function)?;
            }
            functions.push(function);
        }
        self.module.finalize_definitions()?;
        Ok(functions.into_iter().map(|function| self.module.get_finalized_function(function)).collect())
    }

    /// Defines a function with the code of the one that was compiled.
    fn copy(&mut self, function: FuncId) -> Result<(), Box<ModuleError>> {
        let code = self.context.compiled_code().expect("a function that was compiled before");
        let relocation = |place| ModuleReloc::from_mach_reloc(place, &self.context.func, function);
        let relocations: Vec<ModuleReloc> = code.buffer.relocs().iter().map(relocation).collect();
        let alignment = u64::from(code.buffer.alignment);
        Ok(self.module.define_function_bytes(function, alignment, code.code_buffer(), &relocations)?)
    }
}

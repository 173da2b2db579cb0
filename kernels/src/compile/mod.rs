//! From PTX to machine instructions over 32-bit registers, annotated for register file caches and two-level
//! scheduling.
//!
//! The phases, each a folder or file: control flow ([`cfg`], [`dominators`]) and which branches may diverge
//! ([`divergence`]); what needs no instruction ([`optimise`]); machine instructions over virtual registers
//! ([`lower`]); registers ([`allocate`]), checked by [`check`]; annotations ([`annotate`]) from liveness
//! ([`liveness`]) and suspension points ([`suspension`]) on an abstract [`function`]; text ([`listing`]).
//!
//! [`regless`], [`rfh`] and [`rfv`] are passes for one machine each, on programs from anywhere. Each leaves a table of its
//! own, looked up by instruction. They share the graphs of a program ([`graph`]), which definitions are soft ([`soft`])
//! and what lives where ([`lifetime`]).

pub mod allocate;
pub mod annotate;
pub mod bitset;
pub mod cfg;
pub mod check;
pub mod divergence;
pub mod dominators;
pub mod effect;
pub mod function;
pub mod graph;
pub mod lifetime;
pub mod listing;
pub mod liveness;
pub mod lower;
pub mod lowering;
pub mod machine;
pub mod optimise;
mod place;
pub mod regless;
pub mod restructure;
pub mod rfh;
pub mod rfv;
pub mod schedule;
pub mod soft;
pub mod suspension;

use crate::program::Program;
use crate::ptx::EntryError;
use crate::ptx::ir::{InstIndex, Kernel, Module};
use dominators::{Dominators, Postdominators};
use lowering::Lowering;
use optimise::resolve::Resolved;
use optimise::webs::Webs;
use schedule::{FREE_REGISTERS, Schedule, ScheduleError};

/// A kernel ready to be executed and simulated.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The kernel with its instructions in the order in which they are executed: what the fields below speak of.
    pub kernel: Kernel,
    /// Machine instructions with registers and annotations.
    pub program: Program,
    /// How they relate to the PTX.
    pub lowering: Lowering,
    /// For each PTX instruction that is a branch or exit: where lanes that go different ways reconverge, the
    /// first instruction of the immediate postdominator. `None` for other instructions, and where they meet only
    /// at the end of the kernel.
    pub reconvergence: Vec<Option<InstIndex>>,
    /// For each PTX instruction: a branch or guarded exit at which lanes may part.
    pub may_diverge: Vec<bool>,
    /// Control flow of the machine instructions.
    pub cfg: cfg::Cfg,
    /// What the compiler did.
    pub statistics: Statistics,
}

/// What the compiler did to one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Statistics {
    /// PTX instructions.
    pub ptx_instructions: usize,
    /// Of these, how many have no machine instruction.
    pub ptx_eliminated: usize,
    /// Machine instructions.
    pub machine_instructions: usize,
    /// Copies between registers that coalescing removed.
    pub copies_coalesced: usize,
    /// 32-bit registers a thread needs.
    pub registers: u16,
    /// Largest number of 32-bit values live at once, a value and its copy in one register counted once: no
    /// allocation with these copies needs fewer registers.
    pub max_live: u16,
    /// One-bit predicates a thread needs.
    pub predicates: u16,
}

/// How to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// Check the register allocation with [`check`]. On by default in debug builds.
    pub check_allocation: bool,
    /// The order of instructions.
    pub schedule: Schedule,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions { check_allocation: cfg!(debug_assertions), schedule: Schedule::default() }
    }
}

/// Why a kernel cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The file has no such entry, or it cannot be run.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// Control flow leaves the kernel.
    #[error("{file}: kernel `{kernel}`: {source}")]
    ControlFlow {
        /// The file.
        file: String,
        /// The kernel.
        kernel: String,
        /// What is wrong.
        source: cfg::CfgError,
    },
    /// More registers than an instruction can name.
    #[error("{file}: kernel `{kernel}` {source}")]
    TooManyRegisters {
        /// The file.
        file: String,
        /// The kernel.
        kernel: String,
        /// How many.
        source: allocate::TooManyRegisters,
    },
    /// The order does not hold: an error of this compiler.
    #[error("{file}: kernel `{kernel}`: the order of instructions is wrong: {source}")]
    Schedule {
        /// The file.
        file: String,
        /// The kernel.
        kernel: String,
        /// Where.
        source: ScheduleError,
    },
    /// The allocation does not hold: an error of this compiler.
    #[error("{file}: kernel `{kernel}`: register allocation is wrong: {source}")]
    Allocation {
        /// The file.
        file: String,
        /// The kernel.
        kernel: String,
        /// Where.
        source: check::AllocationError,
    },
}

/// How many registers fewer the scheduler aims at, if those it got were too many.
const AIM_LOWER: u16 = 3;
/// How often it is asked.
const AIMS: usize = 4;

/// Compiles one kernel of a module.
///
/// # Errors
/// An unknown kernel, or one that needs more registers than an instruction can name.
pub fn compile(module: &Module, entry: &str, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let kernel = module.kernel(entry)?;
    match options.schedule {
        Schedule::None => translate(module, kernel, options),
        Schedule::Blocks => scheduled(module, translate(module, kernel, options)?, options),
        Schedule::List => {
            scheduled(module, translate(module, &restructure::restructure(kernel), options)?, options)
        }
    }
}

/// The kernel in the order of the list scheduler, with as many registers as cost no resident block: those of the source
/// order, or as many as are free.
fn scheduled(module: &Module, source: Compiled, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let kernel = &source.kernel;
    let (file, name) = (&module.file, &kernel.name);
    let cfg = divergence::ptx_cfg(kernel).map_err(|source| control_flow(file, name, source))?;
    let most = source.statistics.registers.max(FREE_REGISTERS);
    // What is aimed at is an estimate: allocation may need more.
    for aim in (0..most).rev().step_by(AIM_LOWER.into()).take(AIMS) {
        let ordered = schedule::list(kernel, &cfg, &source, aim + 1)
            .map_err(|source| CompileError::Schedule { file: file.clone(), kernel: name.clone(), source })?;
        let compiled = translate(module, &ordered, options)?;
        if compiled.statistics.registers <= most {
            return Ok(compiled);
        }
    }
    Ok(source)
}

fn control_flow(file: &str, kernel: &str, source: cfg::CfgError) -> CompileError {
    CompileError::ControlFlow { file: file.to_owned(), kernel: kernel.to_owned(), source }
}

/// Machine instructions for a kernel as it stands.
fn translate(module: &Module, kernel: &Kernel, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let control_flow = |source| control_flow(&module.file, &kernel.name, source);
    let ptx_cfg = divergence::ptx_cfg(kernel).map_err(control_flow)?;
    let dominators = Dominators::new(&ptx_cfg);
    let postdominators = Postdominators::new(&ptx_cfg);
    let may_diverge = divergence::divergent_branches(kernel, &ptx_cfg, &postdominators);
    let webs = Webs::new(kernel, &ptx_cfg);
    let resolved = Resolved::new(kernel, &ptx_cfg, &dominators, &webs);
    let code = lower::lower(kernel, &webs, &resolved);
    let before = machine::machine_cfg(kernel, &code.ops).map_err(control_flow)?;
    let function =
        machine::virtual_function(&code.ops, before, code.registers, code.first_temporary, &may_diverge);
    let allocation = allocate::allocate(&code, &function).map_err(|source| {
        CompileError::TooManyRegisters { file: module.file.clone(), kernel: kernel.name.clone(), source }
    })?;
    let placement = place::Placement::new(kernel, &code, &function.cfg, &allocation);
    if options.check_allocation {
        placement.check(&code, &function.cfg, &allocation).map_err(|source| CompileError::Allocation {
            file: module.file.clone(),
            kernel: kernel.name.clone(),
            source,
        })?;
    }
    let reconvergence = reconvergence(kernel, &ptx_cfg, &postdominators);
    placement.finish(kernel, code, &allocation, may_diverge, reconvergence).map_err(control_flow)
}

fn reconvergence(kernel: &Kernel, cfg: &cfg::Cfg, postdominators: &Postdominators) -> Vec<Option<InstIndex>> {
    let mut table = vec![None; kernel.instructions.len()];
    for block in cfg.block_ids() {
        let last = cfg.last_instruction(block);
        if !divergence::is_control(&kernel.instructions[last].op) {
            continue;
        }
        table[last] =
            postdominators.immediate(block).map(|meet| InstIndex(cfg.block(meet).instructions.start as u32));
    }
    table
}

#[cfg(test)]
mod tests;

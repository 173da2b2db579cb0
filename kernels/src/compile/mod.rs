//! From PTX to machine instructions over 32-bit registers, annotated for register file caches and two-level
//! scheduling.
//!
//! The phases, each a folder or file: control flow ([`mod@cfg`], [`dominators`]) and which branches may diverge
//! ([`divergence`]); what needs no instruction ([`optimise`]); machine instructions over virtual registers
//! ([`lower`]); registers ([`allocate`]), checked by [`check`], with values in local memory where there are too few
//! (`spill`); annotations ([`annotate`]) from liveness
//! ([`liveness`]) and suspension points ([`suspension`]) on an abstract [`function`]; text ([`listing`]).
//!
//! [`greener`], [`regless`], [`rfh`], [`rfv`], [`rsp`] and [`sharing`] are passes for one machine each, on programs from anywhere. Most
//! leave a table of their own, looked up by instruction. They share the graphs of a program ([`graph`]), which definitions are soft ([`soft`])
//! and what lives where ([`lifetime`]).

pub mod allocate;
pub mod annotate;
pub mod bitset;
pub mod cfg;
pub mod check;
pub mod divergence;
pub mod dominators;
pub mod effect;
mod executed;
pub mod function;
pub mod graph;
pub mod greener;
pub mod isa;
pub mod lifetime;
pub mod listing;
pub mod liveness;
pub mod lives;
pub mod lower;
pub mod lowering;
pub mod machine;
pub mod occupancy;
pub mod operands;
pub mod optimise;
pub mod paths;
mod place;
pub mod regless;
pub mod restructure;
pub mod reuse;
pub mod rfh;
pub mod rfv;
pub mod rsp;
pub mod schedule;
pub mod sharing;
pub mod soft;
mod spill;
pub mod suspension;

use std::collections::BTreeSet;

use crate::program::{LANES, Program, Spills};
use crate::ptx::EntryError;
use crate::ptx::ir::{InstIndex, Kernel, Module};
use allocate::Allocation;
use dominators::{Dominators, Postdominators};
use function::{Access, Function};
use isa::Isa;
use lower::MachineCode;
use lowering::Lowering;
use operands::Operands;
use optimise::resolve::Resolved;
use optimise::webs::{Web, Webs};
use schedule::{Aim, Bound, FREE_REGISTERS, Schedule, ScheduleError};
use sharing::{ScratchpadOptions, insert};

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

/// 32-bit registers that a thread can have: what instructions of GPUs since Kepler can name (CUDA C++ Programming Guide,
/// table "Technical Specifications per Compute Capability").
pub const MAX_REGISTERS: u16 = 255;
/// Fewest that a kernel's own words leave it.
pub const MIN_REGISTERS: u16 = 16;
/// 32-bit registers of an SM that `.maxntid` and `.minnctapersm` share out (same table).
const REGISTERS_OF_SM: u32 = 65_536;
/// Registers a thread are given in multiples of that (same table: 256 a warp).
const REGISTER_UNIT: u32 = 8;

/// How to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// Check the register allocation with [`check`]. On by default in debug builds.
    pub check_allocation: bool,
    /// The order of instructions.
    pub schedule: Schedule,
    /// 32-bit registers that a thread may have; what a kernel says of itself may leave fewer ([`limit`]).
    pub max_registers: u16,
    /// 32-bit registers that a thread is given at least, as another compiler would have used them; no more than it may have.
    pub min_registers: u16,
    /// Blocks share scratchpad: its variables are laid out for it, and each thread executes one `relssp`.
    pub scratchpad: Option<ScratchpadOptions>,
    /// Whose machine code it is.
    pub isa: Isa,
    /// What arithmetic takes its operands from.
    pub operands: Operands,
}

impl CompileOptions {
    /// In the order of the source.
    pub fn as_written() -> CompileOptions {
        CompileOptions { schedule: Schedule::None, ..CompileOptions::default() }
    }
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            check_allocation: cfg!(debug_assertions),
            schedule: Schedule::default(),
            max_registers: MAX_REGISTERS,
            min_registers: 0,
            scratchpad: None,
            isa: Isa::default(),
            operands: Operands::default(),
        }
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
    /// Too few registers, wherever values are kept.
    #[error("{file}: kernel `{kernel}` {source}, however much is kept in local memory")]
    TooManyRegisters {
        /// The file.
        file: String,
        /// The kernel.
        kernel: String,
        /// How many.
        source: allocate::TooManyRegisters,
    },
    /// It cannot share scratchpad.
    #[error("{file}: {source}")]
    Sharing {
        /// The file.
        file: String,
        /// Why.
        source: insert::InsertError,
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

/// Registers that a thread of a kernel may have, of at most `most`: `.maxnreg`, and what leaves room in an SM for as many
/// blocks of `.maxntid` threads as `.minnctapersm` says, one without it (PTX ISA, "Performance-Tuning Directives").
pub fn limit(kernel: &Kernel, most: u16) -> u16 {
    let warps = kernel.max_threads.map_or(1, |threads| threads.div_ceil(LANES as u32)).max(1);
    let blocks = kernel.min_blocks.filter(|_| kernel.max_threads.is_some()).unwrap_or(1).max(1);
    let threads = warps.saturating_mul(LANES as u32).saturating_mul(blocks);
    let of_sm = REGISTERS_OF_SM / threads / REGISTER_UNIT * REGISTER_UNIT;
    let said = kernel.max_registers.unwrap_or(u32::MAX).min(of_sm).max(MIN_REGISTERS.into());
    most.min(u16::try_from(said).unwrap_or(u16::MAX))
}

/// Registers of a thread that cost no resident block.
fn free_registers(kernel: &Kernel, options: &CompileOptions) -> u16 {
    FREE_REGISTERS.max(options.min_registers).min(limit(kernel, options.max_registers))
}

/// How often the scheduler is asked to do with a register fewer, if those it got were too many.
const AIMS: usize = 10;

/// Compiles one kernel of a module.
///
/// ```
/// use warpfile_kernels::compile::{CompileOptions, compile, listing::listing};
/// use warpfile_kernels::{ptx, workloads};
///
/// let workload = workloads::by_name("vectoradd")?;
/// let module = ptx::parse("vectoradd.ptx", workload.ptx)?;
/// let compiled = compile(&module, "vectoradd", &CompileOptions::default())?;
/// assert!(compiled.program.registers_per_thread < 16);
/// println!("{}", listing(&compiled.program, &compiled.cfg));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An unknown kernel, or one whose instructions cannot do with so few registers.
pub fn compile(module: &Module, entry: &str, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let kernel = module.kernel(entry)?;
    let mut compiled = match options.scratchpad {
        Some(sharing) if insert::may_share(kernel, sharing) => {
            compile_sharing(module, kernel, options, sharing)?
        }
        Some(_) | None => compile_kernel(module, kernel, options)?,
    };
    let given = options.min_registers.min(limit(kernel, options.max_registers));
    compiled.program.registers_per_thread = compiled.program.registers_per_thread.max(given);
    Ok(compiled)
}

/// As [`compile_kernel`], a kernel whose blocks share scratchpad.
fn compile_sharing(
    module: &Module,
    kernel: &Kernel,
    options: &CompileOptions,
    sharing: ScratchpadOptions,
) -> Result<Compiled, CompileError> {
    let shared = |source| CompileError::Sharing { file: module.file.clone(), source };
    let kernel = insert::lay_out(kernel, sharing).map_err(shared)?;
    let compiled = compile_kernel(module, &kernel, options)?;
    // The order of instructions is known now, and stays; so does what is an operand: no release comes before who reads it.
    let readers: Vec<InstIndex> = operands::readers(&compiled).collect();
    let released = insert::release(&compiled.kernel, &readers, sharing).map_err(shared)?;
    let spills = compiled.program.spills;
    Ok(allocated(module, &released, limit(&released, options.max_registers), options)?.with_spills(spills))
}

/// As [`compile`], a kernel that is not necessarily the module's.
fn compile_kernel(
    module: &Module,
    kernel: &Kernel,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let limit = limit(kernel, options.max_registers);
    let source = match options.schedule {
        Schedule::None => return with_spills(module, kernel, limit, options),
        Schedule::Blocks => with_spills(module, kernel, limit, options)?,
        // Longer blocks need more registers, and are not worth a spill.
        Schedule::List => match longer(module, kernel, limit, options) {
            Err(CompileError::TooManyRegisters { .. }) => with_spills(module, kernel, limit, options)?,
            outcome => outcome?,
        },
    };
    scheduled_again(module, scheduled(module, source, options)?, options)
}

/// The kernel with longer blocks.
fn longer(
    module: &Module,
    kernel: &Kernel,
    limit: u16,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let longer = restructure::restructure(kernel);
    let hoisted = restructure::hoist(&longer).map_err(|source| schedule_error(module, kernel, source))?;
    let compiled = allocated(module, &longer, limit, options)?;
    if hoisted == longer {
        return Ok(compiled);
    }
    // What is computed early is kept until it is needed: not where that costs a resident block.
    let most = compiled.statistics.registers.max(free_registers(kernel, options));
    match allocated(module, &hoisted, most, options) {
        Err(CompileError::TooManyRegisters { .. }) => Ok(compiled),
        outcome => outcome,
    }
}

fn schedule_error(module: &Module, kernel: &Kernel, source: ScheduleError) -> CompileError {
    CompileError::Schedule { file: module.file.clone(), kernel: kernel.name.clone(), source }
}

/// The kernel in the order of the list scheduler, with as many registers as cost no resident block: those of the source
/// order, or as many as are free.
fn scheduled(module: &Module, source: Compiled, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let kernel = &source.kernel;
    let (file, name) = (&module.file, &kernel.name);
    let cfg = divergence::ptx_cfg(kernel).map_err(|source| control_flow(file, name, source))?;
    // In its order a load must come before who reads it, even if it is no instruction of its own afterwards.
    let function =
        Translation::new(module, kernel, options.isa, options.operands.without_scratchpad())?.of_ptx();
    let free = free_registers(kernel, options);
    let most = source.statistics.registers.max(free);
    let ordered = |aim: Aim| -> Result<Option<(u64, Compiled)>, CompileError> {
        let ordered = schedule::list(kernel, &cfg, &source, &function, aim)
            .map_err(|source| schedule_error(module, kernel, source))?;
        match allocated(module, &ordered.kernel, most, options) {
            Err(CompileError::TooManyRegisters { .. }) => Ok(None),
            outcome => Ok(Some((ordered.stalls, outcome?.with_spills(source.program.spills)))),
        }
    };
    if let Some((_, compiled)) = ordered(Aim { registers: most, bound: Bound::Aimed })? {
        return Ok(compiled);
    }
    // What is aimed at is an estimate: allocation may need more. Of the orders that fit it is the one that waits least.
    let aims = (1..=most).rev().take(AIMS);
    let aims = aims.flat_map(|registers| [Bound::Aimed, Bound::Kept].map(|bound| Aim { registers, bound }));
    let mut best: Option<(u64, Compiled)> = None;
    for aim in aims.skip(1) {
        let found = ordered(aim)?;
        best = best.into_iter().chain(found).min_by_key(|&(stalls, _)| stalls);
    }
    if let Some((_, compiled)) = best {
        return Ok(compiled);
    }
    Ok(source)
}

/// The kernel behind the second pass of the scheduler, in as many registers.
fn scheduled_again(
    module: &Module,
    first: Compiled,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let kernel = &first.kernel;
    let cfg =
        divergence::ptx_cfg(kernel).map_err(|source| control_flow(&module.file, &kernel.name, source))?;
    let again = schedule::again(&cfg, &first).map_err(|source| schedule_error(module, kernel, source))?;
    let Some(again) = again else { return Ok(first) };
    match allocated(module, &again, first.statistics.registers, options) {
        // Values could stay where they are, but colouring does not find it.
        Err(CompileError::TooManyRegisters { .. }) => Ok(first),
        outcome => Ok(outcome?.with_spills(first.program.spills)),
    }
}

fn control_flow(file: &str, kernel: &str, source: cfg::CfgError) -> CompileError {
    CompileError::ControlFlow { file: file.to_owned(), kernel: kernel.to_owned(), source }
}

/// The kernel as it stands, in at most `limit` registers.
fn allocated(
    module: &Module,
    kernel: &Kernel,
    limit: u16,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let translation = Translation::new(module, kernel, options.isa, options.operands)?;
    let allocation = translation.allocate(limit)?;
    translation.finish(&allocation, options)
}

/// The same, with values in local memory if the registers are too few for all.
fn with_spills(
    module: &Module,
    kernel: &Kernel,
    limit: u16,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let source = Translation::new(module, kernel, options.isa, options.operands)?;
    let mut too_many = match source.allocate(limit) {
        Ok(allocation) => return source.finish(&allocation, options),
        Err(too_many) => too_many,
    };
    let mut tried = BTreeSet::new();
    // How many values are live is what is aimed at; pairs and vectors of registers leave gaps, so it may have to be less.
    let lower = std::iter::successors(Some(limit), |aim| limit.checked_sub(2 * (limit - aim) + 1));
    for aim in lower.take_while(|&aim| aim > 1).chain([1]) {
        let chosen = source.spills(aim);
        if chosen == tried {
            continue;
        }
        let (kernel, spills) = spill::rewrite(kernel, &source.webs, &source.resolved, &chosen);
        match allocated(module, &kernel, limit, options) {
            Ok(compiled) => return Ok(compiled.with_spills(spills)),
            Err(error @ CompileError::TooManyRegisters { .. }) => too_many = error,
            Err(error) => return Err(error),
        }
        tried = chosen;
    }
    Err(too_many)
}

impl Compiled {
    fn with_spills(mut self, spills: Spills) -> Compiled {
        self.program.spills = spills;
        self
    }
}

/// Machine instructions over virtual registers, and what is known of the PTX that they are of.
struct Translation<'a> {
    module: &'a Module,
    kernel: &'a Kernel,
    cfg: cfg::Cfg,
    dominators: Dominators,
    may_diverge: Vec<bool>,
    reconvergence: Vec<Option<InstIndex>>,
    webs: Webs,
    resolved: Resolved,
    code: MachineCode,
    /// The machine instructions for dataflow.
    function: Function,
}

impl<'a> Translation<'a> {
    fn new(
        module: &'a Module,
        kernel: &'a Kernel,
        isa: Isa,
        operands: Operands,
    ) -> Result<Translation<'a>, CompileError> {
        let control_flow = |source| control_flow(&module.file, &kernel.name, source);
        let cfg = divergence::ptx_cfg(kernel).map_err(control_flow)?;
        let dominators = Dominators::new(&cfg);
        let postdominators = Postdominators::new(&cfg);
        let may_diverge = divergence::divergent_branches(kernel, &cfg, &postdominators);
        let reconvergence = reconvergence(kernel, &cfg, &postdominators);
        let webs = Webs::new(kernel, &cfg);
        let resolved = Resolved::new(kernel, &cfg, &dominators, &webs, (isa, operands));
        let mut code = lower::lower(kernel, &webs, &resolved, isa);
        let mut before = machine::machine_cfg(kernel, &code.ops).map_err(control_flow)?;
        if operands == Operands::Scratchpad {
            operands::fold_loads(kernel, &before, &mut code);
            before = machine::machine_cfg(kernel, &code.ops).map_err(control_flow)?;
        }
        let function =
            machine::virtual_function(&code.ops, before, code.registers, code.first_temporary, &may_diverge);
        Ok(Translation {
            module,
            kernel,
            cfg,
            dominators,
            may_diverge,
            reconvergence,
            webs,
            resolved,
            code,
            function,
        })
    }

    /// The virtual machine registers that each PTX instruction reads and writes; those that it needs in between are left out.
    fn of_ptx(&self) -> Function {
        let mut instructions = vec![Access::default(); self.kernel.instructions.len()];
        for (op, access) in self.code.ops.iter().zip(&self.function.instructions) {
            let whole = &mut instructions[op.ptx.index()];
            let is_outside = |register: u32| register < self.code.first_temporary;
            let own = |&register: &u32| is_outside(register) && !whole.defines(register);
            let uses: Vec<u32> = access.uses.iter().copied().filter(own).collect();
            whole.uses.extend(uses);
            whole
                .definitions
                .extend(access.definitions.iter().filter(|written| is_outside(written.register)));
        }
        Function { cfg: self.cfg.clone(), instructions, registers: self.function.registers }
    }

    /// The values to keep in local memory for about `registers` registers.
    fn spills(&self, registers: u16) -> BTreeSet<Web> {
        let Translation { kernel, webs, resolved, code, function, .. } = self;
        let depths = self.dominators.loop_depths(&self.cfg);
        let depth = |position| depths[self.cfg.block_of(position).index()];
        spill::choose(spill::Values { kernel, webs, resolved, code, function }, depth, registers.into())
    }

    fn allocate(&self, limit: u16) -> Result<Allocation, CompileError> {
        allocate::allocate(&self.code, &self.function, limit.into()).map_err(|source| {
            let (file, kernel) = (self.module.file.clone(), self.kernel.name.clone());
            CompileError::TooManyRegisters { file, kernel, source }
        })
    }

    fn finish(self, allocation: &Allocation, options: &CompileOptions) -> Result<Compiled, CompileError> {
        let Translation { module, kernel, code, function, .. } = self;
        let placement = place::Placement::new(kernel, &code, &function.cfg, allocation);
        if options.check_allocation {
            placement.check(&code, &function.cfg, allocation).map_err(|source| CompileError::Allocation {
                file: module.file.clone(),
                kernel: kernel.name.clone(),
                source,
            })?;
        }
        placement
            .finish(kernel, code, allocation, self.may_diverge, self.reconvergence)
            .map_err(|source| control_flow(&module.file, &kernel.name, source))
    }
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

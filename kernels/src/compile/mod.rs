//! From PTX to machine instructions over 32-bit registers, annotated for register file caches and two-level
//! scheduling.
//!
//! The phases, each a folder or file: control flow ([`cfg`], [`dominators`]), which branches diverge
//! ([`divergence`]), liveness and suspension ([`liveness`], [`suspension`]) on an abstract [`function`].

pub mod bitset;
pub mod cfg;
pub mod divergence;
pub mod dominators;
pub mod function;
pub mod liveness;
pub mod lowering;
pub mod suspension;

use crate::program::Program;
use crate::ptx::ir::InstIndex;
use lowering::Lowering;

/// A kernel ready to be executed and simulated.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Machine instructions with registers and annotations.
    pub program: Program,
    /// How they relate to the PTX.
    pub lowering: Lowering,
    /// For each PTX instruction that is a branch (or a guarded exit): where lanes that go different ways
    /// reconverge, the first instruction of the immediate postdominator. `None` for other instructions, and
    /// where they meet only at the end of the kernel.
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
    /// Largest number of 32-bit values live at once: no allocation needs fewer registers.
    pub max_live: u16,
    /// One-bit predicates a thread needs.
    pub predicates: u16,
}

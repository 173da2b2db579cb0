//! Register allocation without spills: every virtual register gets one 32-bit register for all its life.
//!
//! Phases: [`interference`] between virtual registers, [`groups`] of words that must lie side by side (64-bit
//! values in aligned pairs, vector loads in aligned groups), coalescing of copies into groups, [`colour`].
//! Whether the outcome is right is for [`super::check`] to say, which knows nothing of this.

pub mod colour;
pub mod groups;
pub mod interference;
pub mod predicates;

use super::function::Function;
use super::lower::MachineCode;
use super::optimise::resolve::VReg;
use crate::program::PhysReg;
use groups::Groups;
use interference::Interference;

/// Where every virtual register lives.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// For each virtual register its register; `None` for one that no instruction mentions.
    pub registers: Vec<Option<PhysReg>>,
    /// Highest register used, plus one.
    pub count: u16,
    /// Largest number of registers that hold values at once. A value and its copy that share a register are one.
    pub max_live: u16,
}

/// A kernel that needs more registers than an instruction can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs at least {needed} registers a thread; at most {limit} are supported")]
pub struct TooManyRegisters {
    /// Registers needed.
    pub needed: usize,
    /// Registers that can be named.
    pub limit: usize,
}

/// Registers that an allocation may use: the rows of a 128 KB register file, which one warp would fill alone.
pub const REGISTER_LIMIT: usize = 1024;

/// Allocates registers; `function` describes the code over its virtual registers.
///
/// # Errors
/// More than [`REGISTER_LIMIT`] registers are needed.
pub fn allocate(code: &MachineCode, function: &Function) -> Result<Allocation, TooManyRegisters> {
    let interference = Interference::new(code, function, REGISTER_LIMIT)?;
    let mut groups = Groups::of_values(code);
    groups.add_vectors(code, &interference);
    groups.coalesce_copies(code, function, &interference);
    let bases = colour::colour(&groups, &interference);
    let mut allocation = Allocation { registers: vec![None; code.registers as usize], count: 0, max_live: 0 };
    for (register, slot) in allocation.registers.iter_mut().enumerate() {
        if let Some((group, offset)) = groups.place(VReg(register as u32)) {
            let number = bases[group] + offset;
            if number >= REGISTER_LIMIT {
                return Err(TooManyRegisters { needed: number + 1, limit: REGISTER_LIMIT });
            }
            *slot = Some(PhysReg(number as u16));
            allocation.count = allocation.count.max(number as u16 + 1);
        }
    }
    allocation.max_live = interference::most_held(function, &allocation.registers) as u16;
    Ok(allocation)
}

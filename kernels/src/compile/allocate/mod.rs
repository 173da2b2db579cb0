//! Register allocation: every virtual register gets one 32-bit register for all its life. Where there are too few,
//! [`super::spill`] makes other code.
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

/// More registers are needed than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs at least {needed} registers a thread, there are {limit}")]
pub struct TooManyRegisters {
    /// Registers needed.
    pub needed: usize,
    /// Registers there are.
    pub limit: usize,
}

/// Allocates at most `limit` registers; `function` describes the code over its virtual registers.
///
/// # Errors
/// More are needed.
pub fn allocate(
    code: &MachineCode,
    function: &Function,
    limit: usize,
) -> Result<Allocation, TooManyRegisters> {
    // Copies are counted, and may yet share a register.
    let interference = Interference::new(code, function, 2 * limit)
        .map_err(|too_many| TooManyRegisters { limit, ..too_many })?;
    let mut groups = Groups::of_values(code);
    groups.add_vectors(code, &interference);
    groups.coalesce_copies(code, function, &interference);
    let bases = colour::colour(&groups, &interference);
    let mut allocation = Allocation { registers: vec![None; code.registers as usize], count: 0, max_live: 0 };
    for (register, slot) in allocation.registers.iter_mut().enumerate() {
        if let Some((group, offset)) = groups.place(VReg(register as u32)) {
            let number = bases[group] + offset;
            *slot = Some(PhysReg(number as u16));
            allocation.count = allocation.count.max(number as u16 + 1);
        }
    }
    if usize::from(allocation.count) > limit {
        return Err(TooManyRegisters { needed: allocation.count.into(), limit });
    }
    allocation.max_live = interference::most_held(function, &allocation.registers) as u16;
    Ok(allocation)
}

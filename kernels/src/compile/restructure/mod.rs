//! Longer basic blocks for the scheduler: short branches become guards, loops that count are unrolled.
//!
//! From PTX to PTX, before anything is put in order or lowered: what comes out is executed like any other kernel.
//!
//! A [`draft`] is a kernel whose blocks can be joined, copied and taken out; [`predicate`] joins the sides of short branches
//! into the block that branches, [`unroll`] copies the bodies of loops, and [`rename`] gives each copy registers of its own.
//! [`widen`] makes two instructions of a load that is extended.
//! [`hoist`] moves computations in front of branches that wait for loads, which [`check`] compares with what was there.

mod check;
mod draft;
mod hoist;
mod predicate;
mod rename;
#[cfg(test)]
mod tests;
mod unroll;
mod widen;

use super::schedule::ScheduleError;
use crate::ptx::ir::Kernel;
use draft::Draft;

/// The kernel with fewer branches. Each thread writes the same values to memory in the same order.
pub fn restructure(kernel: &Kernel) -> Kernel {
    let mut draft = Draft::new(kernel);
    draft.simplify();
    predicate::short_sides(&mut draft);
    unroll::counted_loops(&mut draft);
    widen::split_wide_loads(&mut draft);
    draft.simplify();
    draft.kernel()
}

/// The kernel with computations in front of branches that wait for loads, behind which they are in `kernel`.
///
/// # Errors
/// A thread would read another value: an error of this pass.
pub fn hoist(kernel: &Kernel) -> Result<Kernel, ScheduleError> {
    let mut draft = Draft::new(kernel);
    hoist::above_waiting_branches(&mut draft)?;
    draft.simplify();
    Ok(draft.kernel())
}

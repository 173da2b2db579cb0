//! Longer basic blocks for the scheduler: short branches become guards, loops that count are unrolled.
//!
//! From PTX to PTX, before anything is put in order or lowered: what comes out is executed like any other kernel.
//!
//! A [`draft`] is a kernel whose blocks can be joined, copied and taken out; [`predicate`] joins the sides of short branches
//! into the block that branches, [`unroll`] copies the bodies of loops, and [`rename`] gives each copy registers of its own.

mod draft;
mod predicate;
mod rename;
mod unroll;

use crate::ptx::ir::Kernel;
use draft::Draft;

/// The kernel with fewer branches. Each thread writes the same values to memory in the same order.
pub fn restructure(kernel: &Kernel) -> Kernel {
    let mut draft = Draft::new(kernel);
    draft.simplify();
    predicate::short_sides(&mut draft);
    unroll::counted_loops(&mut draft);
    draft.simplify();
    draft.kernel()
}

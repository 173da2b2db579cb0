//! The compiler of a register scratchpad: maps registers to its entries for parts of strands.
//!
//! It runs on a [`Program`] alone, and leaves a [`Placement`]. Phases: strands ([`strands`]); accesses to each register of
//! a strand, with what each read may see ([`accesses`]); what may be given an entry ([`candidates`]), and what gets one
//! ([`select`]); text ([`listing`]). Whether the outcome is right is for [`check`] and [`check_static`] to say, which know
//! nothing of this.
//!
//! Source: Bailey et al., "Scratch That (But Cache This): A Hybrid Register Cache / Scratchpad for GPUs", TCAD 2018, §III-B.
//! What the paper leaves open is in `docs/decisions/0127-what-the-compiler-maps-to-a-scratchpad.md`.

pub mod accesses;
pub mod candidates;
pub mod check;
pub mod check_static;
pub mod listing;
pub mod placement;
pub mod select;
pub mod strands;

use serde::{Deserialize, Serialize};

use super::graph::{GraphError, Graphs};
use super::lives::Lives;
use crate::program::Program;

pub use candidates::Energies;
pub use placement::{Allocation, MAX_ENTRIES, Placement, Places, ResultPlace, SourcePlace};

/// How registers are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Entries of a warp, 1 to [`MAX_ENTRIES`].
    pub entries: u8,
    /// What accesses cost: only ratios matter.
    pub energies: Energies,
    /// Whether values may move between the scratchpad and the backing store: live-out and read allocations (§IV-D does
    /// without them).
    pub transfers: bool,
}

/// Where the operands of a program are.
///
/// # Errors
/// The program's control flow is not known, or leaves it.
pub fn compile(program: &Program, parameters: &Parameters) -> Result<Placement, GraphError> {
    let mut placement = Placement {
        strands: Vec::new(),
        places: vec![Places::default(); program.instructions.len()],
        allocations: Vec::new(),
    };
    if program.instructions.is_empty() {
        return Ok(placement);
    }
    let graphs = Graphs::telling_lanes_apart(program)?;
    let strands = strands::strands(program, &graphs);
    let lives = Lives::new(program, graphs.lanes);
    for strand in strands {
        let runs = accesses::Runs::new(&lives, &strand);
        let registers = accesses::registers(program, &runs);
        let number = placement.strands.len() as u32;
        let mut mapped = select::select(&registers, &runs, number, parameters, &mut placement.places);
        mapped.sort_by_key(|allocation| (allocation.entry, allocation.range.start));
        placement.allocations.extend(mapped);
        placement.strands.push(strand.start as u32..strand.end as u32);
    }
    Ok(placement)
}

#[cfg(test)]
mod tests;

//! The compiler of a register file hierarchy: places values in the last result file and the operand register file.
//!
//! It runs on a [`Program`] alone, and leaves a [`Placement`]. Phases: strands ([`strands`]); what is written and read of each register in a strand
//! ([`values`]); entries, by the energy that they save ([`allocate`]); text ([`listing`]). Whether the outcome is right
//! is for [`check`] and [`check_static`] to say, which know nothing of this.
//!
//! Source: Gebhart et al., "A Compile-Time Managed Multi-Level Register File Hierarchy", MICRO 2011, §4. What differs is
//! in `docs/decisions/0036-values-in-a-register-file-hierarchy.md`.

pub mod allocate;
pub mod check;
pub mod check_static;
pub mod energy;
pub mod listing;
pub mod placement;
pub mod strands;
pub mod values;

use serde::{Deserialize, Serialize};

use super::graph::{GraphError, Graphs};
use super::lives::Lives;
use crate::program::Program;

pub use energy::{AccessEnergy, LevelEnergies};
pub use placement::{MAX_ORF_ENTRIES, Placement, Places, ResultPlace, SourcePlace, Upper};

/// How values are placed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Entries of the operand register file for a warp, 1 to [`MAX_ORF_ENTRIES`].
    pub orf_entries: u8,
    /// What accesses to the levels cost.
    pub energies: LevelEnergies,
}

/// Where the operands of a program are.
///
/// # Errors
/// The program's control flow is not known, or leaves it.
pub fn compile(program: &Program, parameters: &Parameters) -> Result<Placement, GraphError> {
    let mut placement =
        Placement { strands: Vec::new(), places: vec![Places::default(); program.instructions.len()] };
    if program.instructions.is_empty() {
        return Ok(placement);
    }
    let graphs = Graphs::telling_lanes_apart(program)?;
    let strands = strands::strands(program, &graphs);
    let lives = Lives::new(program, graphs.lanes);
    for strand in strands {
        let values = values::values(program, &lives, &strand);
        allocate::allocate(&values, parameters, &mut placement.places);
        placement.strands.push(strand.start as u32..strand.end as u32);
    }
    Ok(placement)
}

#[cfg(test)]
mod tests;

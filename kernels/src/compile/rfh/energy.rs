//! What an access costs, for the choice between levels: only ratios matter.
//!
//! The caller says what each level costs, wires and buffers included, so that values are placed by what is charged for them.

use serde::{Deserialize, Serialize};

/// Energy of a read and a write, pJ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AccessEnergy {
    /// A read.
    pub read: f64,
    /// A write.
    pub write: f64,
}

/// Energies of an access to each level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelEnergies {
    /// The main register file.
    pub main: AccessEnergy,
    /// The operand register file.
    pub orf: AccessEnergy,
    /// The last result file.
    pub lrf: AccessEnergy,
}

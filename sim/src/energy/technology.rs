//! Technology files: energies as data, each figure with its source.

use serde::{Deserialize, Serialize};

use super::Surroundings;
use super::structure::{Published, Structure};

/// A figure and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// In the unit that the field's name states.
    pub value: f64,
    /// Table or section.
    pub source: String,
}

/// A technology.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Technology {
    /// Name.
    pub name: String,
    /// Technology node, nm.
    pub node_nm: u32,
    /// Cycles a nanosecond.
    pub clock_ghz: Figure,
    /// Bits of the accesses that the energies are for.
    pub access_bits: u32,
    /// Energy of moving 32 bits by one millimetre, pJ.
    pub wire_pj_per_mm_per_32_bits: Figure,
    /// Main register file.
    pub mrf: MrfEnergy,
    /// Register file cache, by configuration.
    #[serde(default)]
    pub rfc: Vec<RfcEnergy>,
}

/// Energies of the main register file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MrfEnergy {
    /// Rows of a bank.
    pub entries: u32,
    /// Read of one entry, pJ.
    pub read_pj: Figure,
    /// Write of one entry, pJ.
    pub write_pj: Figure,
    /// Area of one bank, µm².
    pub bank_area_um2: Figure,
}

/// Energies of a register file cache of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RfcEnergy {
    /// Entries a thread.
    pub entries: u64,
    /// Active warps.
    pub active_warps: u64,
    /// Area of one bank, µm².
    pub area_um2: Figure,
    /// Read of one entry, pJ.
    pub read_pj: Figure,
    /// Write of one entry, pJ.
    pub write_pj: Figure,
}

/// Why a technology cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TechnologyError {
    /// There is no technology of that name.
    #[error("unknown technology \"{name}\" (energy.technology); there are: {known}")]
    Unknown {
        /// As given.
        name: String,
        /// Technologies that exist.
        known: String,
    },
    /// It is one of arrays.
    #[error("technology \"{name}\" (energy.technology) has no energies per access; {known} has")]
    Arrays {
        /// As given.
        name: String,
        /// Technologies that have.
        known: String,
    },
    /// The file is not a technology.
    #[error("{origin}: {message}")]
    Malformed {
        /// File.
        origin: String,
        /// Line and what is wrong.
        message: String,
    },
}

/// Name and text of every technology with energies per access that comes with the program.
const TECHNOLOGIES: &[(&str, &str)] =
    &[("gebhart2011-40nm", include_str!("../../technologies/gebhart2011-40nm.toml"))];

/// Names of the technologies: those with energies per access, then the one of arrays.
pub fn technology_names() -> impl Iterator<Item = &'static str> {
    with_accesses().chain([Surroundings::GTX980])
}

fn with_accesses() -> impl Iterator<Item = &'static str> {
    TECHNOLOGIES.iter().map(|(name, _)| *name)
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl Technology {
    /// A technology with energies per access that comes with the program.
    pub fn named(name: &str) -> Result<Technology, TechnologyError> {
        match TECHNOLOGIES.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Technology::from_toml(&format!("{name}.toml"), text),
            None if name == Surroundings::GTX980 => {
                Err(TechnologyError::Arrays { name: name.to_owned(), known: list(with_accesses()) })
            }
            None => Err(TechnologyError::Unknown { name: name.to_owned(), known: list(technology_names()) }),
        }
    }

    /// A technology from TOML text; `origin` is named in errors.
    pub fn from_toml(origin: &str, text: &str) -> Result<Technology, TechnologyError> {
        toml::from_str(text).map_err(|error| TechnologyError::Malformed {
            origin: origin.to_owned(),
            message: error.to_string().trim().to_owned(),
        })
    }

    /// Energies of a read and of a write of an array, if there is a published figure for one of its size.
    pub fn published(&self, structure: &Structure) -> Option<(&Figure, &Figure)> {
        if structure.bits != self.access_bits {
            return None;
        }
        match structure.published? {
            Published::MainRegisterFile => {
                let MrfEnergy { entries, read_pj, write_pj, .. } = &self.mrf;
                (structure.entries == *entries).then_some((read_pj, write_pj))
            }
            Published::RegisterFileCache => {
                let is_as_large =
                    |rfc: &&RfcEnergy| rfc.entries * rfc.active_warps == u64::from(structure.entries);
                self.rfc.iter().find(is_as_large).map(|rfc| (&rfc.read_pj, &rfc.write_pj))
            }
        }
    }
}

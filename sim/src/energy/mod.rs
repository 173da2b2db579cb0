//! Activity of a run and a technology to energy.
//!
//! Mechanisms state the arrays that they consist of and what accesses them ([`structure`]). A technology ([`EnergyModel`])
//! prices any of them: from the CACTI runs of its node ([`grid`]), or with a paper's own figure where there is one for an
//! array of that size. A technology of a GPU ([`gpu`]) has the GPU around the registers, too; the rest of this page is
//! about one with published energies per access.
//!
//! Published energies are per access to a 128-bit cluster entry. Clusters without an active lane are not accessed, in the
//! baseline neither. Evictions and flushes are in the counts: a read of the cache and a write of the main
//! register file. Wires carry the accessed bits over the distance of their level (Gebhart et al., §4.3, Table 3).

pub mod gpu;
pub mod grid;
pub mod structure;
mod surroundings;
mod technology;

use gpu::{GpuEnergyError, GpuEnergyReport, GpuModel};
use grid::{Grid, GridError};
use serde::Serialize;
use structure::{ArrayAccesses, Part, Structure, Wire};

use crate::config::Config;
use crate::mechanisms::register_file;
use crate::sm::RunReport;

pub use surroundings::Surroundings;
pub use technology::{Figure, MrfEnergy, RfcEnergy, Technology, TechnologyError, technology_names};

/// What `energy.technology` names.
#[derive(Clone, Debug)]
pub enum EnergyModel {
    /// Published energies per access, and arrays where there are none.
    Accesses(Box<AccessModel>),
    /// Arrays, and a GPU around them.
    Arrays(Box<GpuModel>),
}

impl EnergyModel {
    /// A technology that comes with the program.
    pub fn named(name: &str) -> Result<EnergyModel, GpuEnergyError> {
        if name == Surroundings::GTX980 {
            Ok(EnergyModel::Arrays(Box::new(GpuModel::gtx980()?)))
        } else {
            Ok(EnergyModel::Accesses(Box::new(AccessModel::named(name)?)))
        }
    }
}

/// Energy of a run, as far as the technology gives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EnergyReport {
    /// Of accesses to the register file and its cache.
    Accesses(AccessEnergyReport),
    /// Of an SM's registers, and of the GPU around them.
    Gpu(GpuEnergyReport),
}

impl EnergyReport {
    /// Why there is no figure for the design.
    pub fn unavailable(&self) -> Option<&str> {
        match self {
            EnergyReport::Accesses(report) => report.unavailable.as_deref(),
            EnergyReport::Gpu(report) => report.unavailable.as_deref(),
        }
    }
}

/// Energy of a run's accesses to registers, and of their leakage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccessEnergyReport {
    /// Technology that the figures come from.
    pub technology: String,
    /// What the baseline would have spent on the same instructions.
    pub baseline: Energy,
    /// What the design spent; `None` if one of its arrays cannot be priced.
    pub design: Option<Energy>,
    /// The design's energy relative to the baseline's, without wires.
    pub normalised_access: Option<f64>,
    /// The design's energy relative to the baseline's, with wires.
    pub normalised_with_wires: Option<f64>,
    /// Leakage of the design's arrays over its cycles, pJ.
    pub leakage_pj: Option<f64>,
    /// Each of the design's arrays.
    pub arrays: Vec<ArrayEnergy>,
    /// Why there is no figure.
    pub unavailable: Option<String>,
}

/// Energy of accesses to registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Energy {
    /// Accesses only, pJ.
    pub access_pj: f64,
    /// Accesses and wires, pJ.
    pub with_wires_pj: f64,
}

/// Energy of arrays of one kind in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayEnergy {
    /// What they hold.
    pub name: &'static str,
    /// Rows of each.
    pub entries: u32,
    /// Whether an access's energy is a published one.
    pub is_published: bool,
    /// Where it comes from: a table of the technology's paper, or the runs of its node.
    pub source: String,
    /// Accesses only, pJ.
    pub access_pj: f64,
    /// Leakage over the run's cycles, from the runs of the node, pJ.
    pub leakage_pj: f64,
}

/// A technology with published energies per access, and the arrays of its node for what has none.
#[derive(Clone, Debug)]
pub struct AccessModel {
    /// The published figures.
    pub technology: Technology,
    grid: Grid,
}

impl AccessModel {
    /// A technology that comes with the program.
    ///
    /// # Errors
    /// There is none of that name, or a data file.
    pub fn named(name: &str) -> Result<AccessModel, GpuEnergyError> {
        let technology = Technology::named(name)?;
        let grid = Grid::at(technology.node_nm)?;
        Ok(AccessModel { technology, grid })
    }

    /// Energy of a run under a configuration.
    pub fn evaluate(&self, config: &Config, report: &RunReport) -> AccessEnergyReport {
        let baseline = self.baseline(config, report);
        let design = self.design(config, report);
        let energy = design.as_ref().ok().map(|(energy, _)| *energy);
        let normalise = |of: fn(&Energy) -> f64| {
            let baseline = of(baseline.as_ref().ok()?);
            (baseline > 0.0).then_some(of(&energy?) / baseline)
        };
        let refused = baseline.as_ref().err().or(design.as_ref().err());
        let leakage_pj =
            design.as_ref().ok().map(|(_, arrays)| arrays.iter().map(|array| array.leakage_pj).sum());
        AccessEnergyReport {
            technology: self.technology.name.clone(),
            normalised_access: normalise(|energy| energy.access_pj),
            normalised_with_wires: normalise(|energy| energy.with_wires_pj),
            baseline: baseline.as_ref().copied().unwrap_or_default(),
            unavailable: refused.map(|error| format!("{}: {error}", self.technology.name)),
            leakage_pj,
            design: energy,
            arrays: design.map(|(_, arrays)| arrays).unwrap_or_default(),
        }
    }

    /// What a register file would have spent on the same instructions.
    fn baseline(&self, config: &Config, report: &RunReport) -> Result<Energy, GridError> {
        let structure = register_file::structure(config, config.register_file.rows);
        Ok(self.energy(config, &structure, ArrayAccesses::of(report.operands))?.0)
    }

    /// All arrays of the design.
    fn design(&self, config: &Config, report: &RunReport) -> Result<(Energy, Vec<ArrayEnergy>), GridError> {
        let (mut sum, mut arrays) = (Energy::default(), Vec::new());
        for structure in config.design.structures(config) {
            let (energy, part, source) = self.energy(config, &structure, (structure.accesses)(report))?;
            sum = sum + energy;
            let leakage_pj = part.leakage_mw * report.cycles as f64 / self.technology.clock_ghz.value;
            let Structure { name, entries, .. } = structure;
            let is_published = self.technology.published(&structure).is_some();
            let access_pj = energy.access_pj;
            arrays.push(ArrayEnergy { name, entries, is_published, source, access_pj, leakage_pj });
        }
        Ok((sum, arrays))
    }

    /// Energy of accesses to an array, what it is made of, and where the energy comes from.
    fn energy(
        &self,
        config: &Config,
        structure: &Structure,
        accesses: ArrayAccesses,
    ) -> Result<(Energy, Part, String), GridError> {
        let part = structure.price(&self.grid)?;
        let (access_pj, source) = match self.technology.published(structure) {
            Some((read, write)) => {
                let ArrayAccesses { slice_reads, slice_writes, .. } = accesses;
                let access_pj = slice_reads as f64 * read.value + slice_writes as f64 * write.value;
                (access_pj, read.source.clone())
            }
            None => (part.access_pj(accesses), format!("CACTI, {} nm", self.technology.node_nm)),
        };
        let mm = match structure.wire {
            Wire::None => 0.0,
            Wire::FromMainRegisterFile => config.energy.mrf_to_alu_mm,
            Wire::FromUpperLevel => config.energy.rfc_to_alu_mm,
        };
        let words = f64::from(self.technology.access_bits) / 32.0;
        let moved = accesses.slice_reads as f64 + accesses.slice_writes as f64;
        let wires_pj = moved * words * self.technology.wire_pj_per_mm_per_32_bits.value * mm;
        Ok((Energy { access_pj, with_wires_pj: access_pj + wires_pj }, part, source))
    }
}

impl std::ops::Add for Energy {
    type Output = Energy;

    fn add(self, other: Energy) -> Energy {
        Energy {
            access_pj: self.access_pj + other.access_pj,
            with_wires_pj: self.with_wires_pj + other.with_wires_pj,
        }
    }
}

#[cfg(test)]
mod tests;

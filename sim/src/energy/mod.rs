//! Activity of a run and a technology to energy.
//!
//! Mechanisms state the arrays that they consist of and what accesses them ([`structure`]). A technology prices any of them
//! ([`ArrayPrices`]): memories from the CACTI runs of its node ([`grid`]), small arrays as flip-flops, wires by the distance
//! of an array from the ALUs, or with a paper's own figure where there is one for an array of that size. Around them is the
//! rest of the GPU ([`chip`]), by unit where the technology has such figures ([`Components`]). What each term is and where it
//! comes from: decisions 103 and 177.

mod calibration;
pub mod chip;
pub mod grid;
mod registers;
pub mod structure;
mod technology;
mod units;

use grid::{GridError, Ports};
use structure::{Account, Cells, Part, Published, Source, Structure, Wire};

use crate::config::Config;
use crate::mechanisms::register_file;

pub use calibration::{ArrayPrices, FlipFlops, XorTrees};
pub use chip::{EnergyReport, GpuEnergy, MeasuredRun, SmEnergy};
pub use registers::{AccessEnergyReport, ArrayEnergy, Energy, RegisterEnergy};
use technology::PJ_PER_NJ;
pub use technology::{
    AccessPrice, CardPower, Chip, CountedMemories, Figure, Floorplan, MrfEnergy, PublishedEnergies,
    RegistersShare, Rest, RfcEnergy, TableEnergy, TableSize, Technology, TechnologyError, technology_names,
};
pub use units::{Components, LaneEnergies, UnitEnergies};

/// Square micrometres in a square millimetre.
const UM2_PER_MM2: f64 = 1e6;

/// Why there is no energy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnergyError {
    /// The technology.
    #[error(transparent)]
    Technology(#[from] TechnologyError),
    /// The arrays.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// A structure of a mechanism.
    #[error("{structure}: {reason}")]
    Structure {
        /// Which one.
        structure: &'static str,
        /// Why it has no price.
        reason: GridError,
    },
    /// What a technology does not have.
    #[error("energy.technology: {technology} has no energies of units; accepted: {}", with_units())]
    NoUnits {
        /// Its name.
        technology: String,
    },
}

/// The technologies that have energies of units.
fn with_units() -> String {
    let has_units = |name: &&str| {
        Technology::named(name).is_ok_and(|technology| matches!(technology.chip.rest, Rest::Units(_)))
    };
    technology_names().filter(has_units).collect::<Vec<_>>().join(", ")
}

/// A technology, and what arrays cost in it.
#[derive(Clone, Debug)]
pub struct EnergyModel {
    technology: Technology,
    prices: ArrayPrices,
    /// Cells that arrays have instead of those that their mechanisms state.
    cells: Vec<(Arrays, Cells)>,
}

/// Arrays whose cells are assumed otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrays {
    /// Banks of main register files.
    MainRegisterFile,
    /// Those of a name.
    Named(&'static str),
}

impl EnergyModel {
    /// A technology that comes with the program.
    ///
    /// # Errors
    /// There is none of that name, or a data file.
    pub fn named(name: &str) -> Result<EnergyModel, EnergyError> {
        EnergyModel::of(Technology::named(name)?)
    }

    /// A technology.
    ///
    /// # Errors
    /// There are no runs of its node.
    pub fn of(technology: Technology) -> Result<EnergyModel, EnergyError> {
        let mut prices = ArrayPrices::new(technology.node_nm, technology.supply_v.value)?;
        if technology.counted_memories().is_some() {
            prices = prices.with_unscaled_memories();
        }
        Ok(EnergyModel { technology, prices, cells: Vec::new() })
    }

    /// The technology.
    pub fn technology(&self) -> &Technology {
        &self.technology
    }

    /// What arrays cost.
    pub fn prices(&self) -> &ArrayPrices {
        &self.prices
    }

    /// The same with other cells at some arrays.
    pub fn with_cells(mut self, arrays: Arrays, cells: Cells) -> EnergyModel {
        self.cells.push((arrays, cells));
        self
    }

    /// The same with other ports at some memories.
    pub fn with_ports(self, arrays: Arrays, ports: Ports) -> EnergyModel {
        self.with_cells(arrays, Cells::Sram(ports))
    }

    /// The arrays of `config`'s design, priced.
    ///
    /// # Errors
    /// Arrays with such ports were not run; the structure is named.
    pub fn parts(&self, config: &Config) -> Result<Vec<(Structure, Part)>, EnergyError> {
        self.price(config, config.design.structures(config))
    }

    /// Arrays as the technology charges them: each as what it is, or by its capacity.
    fn price(
        &self,
        config: &Config,
        structures: Vec<Structure>,
    ) -> Result<Vec<(Structure, Part)>, EnergyError> {
        let mut parts = self.price_arrays(config, structures)?;
        if self.technology.charges_capacity() {
            for (_, file) in self.price_arrays(config, vec![full_register_file(config)])? {
                parts.iter_mut().for_each(|(structure, part)| charge_capacity(structure, part, &file));
            }
        }
        Ok(parts)
    }

    /// Arrays, with published figures and wires.
    fn price_arrays(
        &self,
        config: &Config,
        structures: Vec<Structure>,
    ) -> Result<Vec<(Structure, Part)>, EnergyError> {
        let priced = structures.into_iter().map(|mut structure| {
            if let Some(counted) = self.technology.counted_memories()
                && structure.wire == Wire::FromUpperLevel
                && structure.cells == Cells::FlipFlops
            {
                structure.cells = Cells::Sram(counted.upper_ports);
            }
            for &(arrays, cells) in &self.cells {
                let is_meant = match arrays {
                    Arrays::MainRegisterFile => structure.published == Some(Published::MainRegisterFile),
                    Arrays::Named(name) => structure.name == name,
                };
                if is_meant {
                    structure.cells = cells;
                }
            }
            let part = structure.price(&self.prices);
            let mut part =
                part.map_err(|reason| EnergyError::Structure { structure: structure.name, reason })?;
            if let Some(PublishedEnergies { read, write, search }) = self.technology.published(&structure) {
                let of_row = |figure: &Figure| f64::from(structure.slices) * figure.value;
                part.read_pj = read.map_or(part.read_pj, of_row);
                part.write_pj = write.map_or(part.write_pj, of_row);
                part.search_pj = search.map(of_row).or(part.search_pj);
                part.source = Source::Published;
            }
            Ok((structure, part))
        });
        let mut parts = priced.collect::<Result<Vec<_>, EnergyError>>()?;
        let distances = [Wire::FromMainRegisterFile, Wire::FromUpperLevel]
            .map(|wire| self.distance_mm(config, wire, &parts));
        for (structure, part) in &mut parts {
            part.mm = match structure.wire {
                Wire::None => 0.0,
                Wire::FromMainRegisterFile => distances[0],
                Wire::FromUpperLevel => distances[1],
            };
            let words = f64::from(part.slices * part.bits) / 32.0;
            part.wire_pj = words * self.technology.wire_pj_per_mm_per_32_bits.value * part.mm;
            if let Some(counted) = self.technology.counted_memories()
                && structure.wire == Wire::FromMainRegisterFile
            {
                part.wire_pj += words * counted.file_wires_pj_per_32_bits.value;
            }
        }
        Ok(parts)
    }

    /// From arrays to the ALUs, mm. The main register file is a block of its own; what holds registers beside it is
    /// another.
    fn distance_mm(&self, config: &Config, wire: Wire, parts: &[(Structure, Part)]) -> f64 {
        let Some(floorplan) = &self.technology.floorplan else {
            return match wire {
                Wire::None => 0.0,
                Wire::FromMainRegisterFile => config.energy.mrf_to_alu_mm,
                Wire::FromUpperLevel => config.energy.rfc_to_alu_mm,
            };
        };
        let is_main = |structure: &Structure| structure.wire == Wire::FromMainRegisterFile;
        let block = parts.iter().filter(|(structure, _)| {
            structure.account == Account::Registers
                && is_main(structure) == (wire == Wire::FromMainRegisterFile)
        });
        let area_um2: f64 = block.map(|(_, part)| part.area_um2).sum();
        let of_partition = area_um2 / UM2_PER_MM2 / config.partitions() as f64;
        floorplan.mm_per_root_mm2.value * of_partition.sqrt()
    }
}

/// The register file that the baseline has in the place of whatever a design has.
fn full_register_file(config: &Config) -> Structure {
    register_file::structure(config, config.register_file.rows)
}

/// Makes an access to registers cost what one to the full register file does, wires included, in proportion to the bits that the
/// arrays of its kind hold.
fn charge_capacity(structure: &Structure, part: &mut Part, file: &Part) {
    let bits =
        |part: &Part| f64::from(part.arrays) * f64::from(part.entries) * f64::from(part.slices * part.bits);
    if structure.account == Account::Registers {
        let share = bits(part) / bits(file);
        part.read_pj = share * (file.read_pj + file.wire_pj);
        part.write_pj = share * (file.write_pj + file.wire_pj);
        part.search_pj = part.search_pj.map(|_| part.read_pj);
        part.wire_pj = 0.0;
        part.source = Source::Capacity;
    }
}

#[cfg(test)]
mod tests;

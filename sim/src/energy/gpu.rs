//! Energy of an SM's registers in a run, and of its part of the GPU around them.
//!
//! Registers: the accesses that the run has counted, at the energies of the arrays, and the arrays' leakage over its
//! cycles. The rest of the GPU is scaled to them: in the baseline the registers have a fixed share of the whole. To
//! that comes what some designs do: register lines in L1, L2 and DRAM, and metadata. How and why: decision 38.
//! Sections are those of Kloosterman et al., "RegLess", MICRO 2017.

mod report;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::config::{CacheLevel, Config};
use crate::sm::RunReport;

use super::grid::{Array, Grid, GridError, Ports};
use super::structure::{Account, Cells, Part, Published, SLICE_BITS, Structure};
use super::{Surroundings, TechnologyError};
pub use report::{GpuEnergyReport, SmEnergy};

/// Slices of a line of 128 bytes.
const LINE_SLICES: f64 = 8.0;
/// Bits of a line.
const LINE_BITS: f64 = 1024.0;
/// Bits of a metadata instruction (§5.4).
const METADATA_BITS: u32 = 64;

/// Why there is no energy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuEnergyError {
    /// The data file.
    #[error(transparent)]
    Technology(#[from] TechnologyError),
    /// The arrays.
    #[error(transparent)]
    Grid(#[from] GridError),
}

/// Energy of an SM's registers in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RegisterEnergy {
    /// Accesses, pJ.
    pub access_pj: f64,
    /// Leakage over the run's cycles, pJ.
    pub leakage_pj: f64,
}

/// Energy of an SM and of its part of what the SMs share, in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GpuEnergy {
    /// Register structures, pJ.
    pub registers_pj: f64,
    /// Register lines in L1, L2 and DRAM, pJ.
    pub lines_pj: f64,
    /// Metadata: fetched, stored and read, and the leakage of its store, pJ.
    pub metadata_pj: f64,
    /// Everything else, pJ.
    pub rest_pj: f64,
}

impl RegisterEnergy {
    /// Both, pJ.
    pub fn total_pj(&self) -> f64 {
        self.access_pj + self.leakage_pj
    }
}

impl GpuEnergy {
    /// All parts, pJ.
    pub fn total_pj(&self) -> f64 {
        self.registers_pj + self.lines_pj + self.metadata_pj + self.rest_pj
    }
}

/// A run, and the configuration it was made with.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRun<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// What was counted.
    pub report: &'a RunReport,
}

/// The arrays and the surroundings that runs are measured by.
#[derive(Clone, Debug)]
pub struct GpuModel {
    grid: Grid,
    surroundings: Surroundings,
    /// Ports that arrays have instead of those that their mechanisms state.
    ports: Vec<(Arrays, Ports)>,
}

/// Arrays whose ports are assumed otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrays {
    /// Banks of main register files.
    MainRegisterFile,
    /// Those of a name.
    Named(&'static str),
}

impl GpuModel {
    /// A GTX 980.
    ///
    /// # Errors
    /// A data file.
    pub fn gtx980() -> Result<GpuModel, GpuEnergyError> {
        let surroundings = Surroundings::gtx980()?;
        let grid = Grid::at(surroundings.node_nm)?;
        Ok(GpuModel { grid, surroundings, ports: Vec::new() })
    }

    /// What surrounds the registers.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// The same with another share of the rest that is spent by time.
    pub fn with_rest_by_time(mut self, share: f64) -> GpuModel {
        self.surroundings.rest_by_time_share.value = share;
        self
    }

    /// The same with other ports at some arrays.
    pub fn with_ports(mut self, arrays: Arrays, ports: Ports) -> GpuModel {
        self.ports.push((arrays, ports));
        self
    }

    /// The arrays of `config`'s design, priced.
    ///
    /// # Errors
    /// Arrays with such ports were not run.
    pub fn parts(&self, config: &Config) -> Result<Vec<(Structure, Part)>, GpuEnergyError> {
        let priced = config.design.structures(config).into_iter().map(|mut structure| {
            for &(arrays, ports) in &self.ports {
                let is_meant = match arrays {
                    Arrays::MainRegisterFile => structure.published == Some(Published::MainRegisterFile),
                    Arrays::Named(name) => structure.name == name,
                };
                if is_meant {
                    structure.cells = Cells::Sram(ports);
                }
            }
            Ok((structure, structure.price(&self.grid)?))
        });
        priced.collect()
    }

    /// Energy of the registers.
    ///
    /// # Errors
    /// As [`GpuModel::parts`].
    pub fn registers(&self, run: MeasuredRun<'_>) -> Result<RegisterEnergy, GpuEnergyError> {
        self.account(Account::Registers, run)
    }

    /// What the arrays of an account spend.
    fn account(&self, account: Account, run: MeasuredRun<'_>) -> Result<RegisterEnergy, GpuEnergyError> {
        let parts = self.parts(run.config)?;
        let of_account = || parts.iter().filter(|(structure, _)| structure.account == account);
        let access_pj =
            of_account().map(|(structure, part)| part.access_pj((structure.accesses)(run.report))).sum();
        let leakage_mw = of_account().map(|(_, part)| part.leakage_mw).sum();
        Ok(RegisterEnergy { access_pj, leakage_pj: self.leakage_pj(leakage_mw, run.report.cycles) })
    }

    /// Energy of the SM and of its part of the GPU, where the same work costs `baseline` with the full register file.
    pub fn gpu(&self, baseline: MeasuredRun<'_>, run: MeasuredRun<'_>) -> Result<GpuEnergy, GpuEnergyError> {
        let surroundings = &self.surroundings;
        let rest_pj = self.rest_of_baseline_pj(baseline)?;
        let by_time = surroundings.rest_by_time_share.value;
        let time = run.report.cycles as f64 / baseline.report.cycles.max(1) as f64;
        Ok(GpuEnergy {
            registers_pj: self.registers(run)?.total_pj(),
            lines_pj: self.lines_pj(run)?,
            metadata_pj: self.metadata_pj(run)?,
            rest_pj: rest_pj * (1.0 - by_time + by_time * time),
        })
    }

    /// What the baseline spends beside its registers, which is the least that a design of its speed can spend.
    pub fn rest_of_baseline_pj(&self, baseline: MeasuredRun<'_>) -> Result<f64, GpuEnergyError> {
        let share = self.surroundings.registers_share.value;
        Ok(self.registers(baseline)?.total_pj() * (1.0 / share - 1.0))
    }

    /// Register lines in L1, L2 and DRAM. A fetch that misses is also a write of the line that comes.
    fn lines_pj(&self, run: MeasuredRun<'_>) -> Result<f64, GpuEnergyError> {
        let lines = &run.report.memory.register_lines;
        if lines.l1_requests() == 0 {
            return Ok(0.0);
        }
        let l1 = self.l1(&run.config.l1)?;
        let l2 = self.l2(&run.config.l2)?;
        let missed = lines.fetched_from_l2 + lines.fetched_from_dram;
        let l1_pj = (lines.fetched_from_l1 + lines.written_to_l2) as f64 * l1.read_pj
            + (lines.writes + missed) as f64 * l1.write_pj
            + (lines.invalidations + lines.drops) as f64 * l1.drop_pj;
        let l2_pj = (lines.fetched_from_l2 + lines.written_to_dram) as f64 * l2.read_pj
            + (lines.written_to_l2 + lines.fetched_from_dram) as f64 * l2.write_pj;
        let moved = (missed + lines.written_to_l2) as f64;
        let surroundings = &self.surroundings;
        let wire_pj =
            LINE_BITS * surroundings.wire_pj_per_mm_per_bit.value * surroundings.l2_distance_mm.value;
        let in_dram = (lines.fetched_from_dram + lines.written_to_dram) as f64;
        Ok(l1_pj + l2_pj + moved * wire_pj + in_dram * surroundings.dram_line_pj.value)
    }

    /// Metadata instructions: read from the instruction cache, and what the arrays that keep them spend. Decoding is not
    /// in it.
    fn metadata_pj(&self, run: MeasuredRun<'_>) -> Result<f64, GpuEnergyError> {
        let words = self.surroundings.instruction_cache_words.value as u32;
        let cache = self.array(words, METADATA_BITS, Ports::SINGLE)?;
        let stores = self.account(Account::Metadata, run)?;
        Ok(run.report.metadata_instructions as f64 * cache.read_pj + stores.total_pj())
    }

    fn l1(&self, level: &CacheLevel) -> Result<LineCache, GpuEnergyError> {
        self.line_cache(level, (level.bytes / level.line_bytes) as u32)
    }

    fn l2(&self, level: &CacheLevel) -> Result<LineCache, GpuEnergyError> {
        self.line_cache(level, self.surroundings.l2_rows.value as u32)
    }

    /// A cache whose lines are in arrays of `rows` rows. All tags of a set are read first, in slices, then one line.
    fn line_cache(&self, level: &CacheLevel, rows: u32) -> Result<LineCache, GpuEnergyError> {
        let (ways, tag_bits) = (level.ways as u32, self.surroundings.tag_bits.value as u32);
        let sets = rows / ways;
        let slices = (ways * tag_bits).div_ceil(SLICE_BITS);
        let set_pj = f64::from(slices) * self.array(sets, SLICE_BITS, Ports::SINGLE)?.read_pj;
        let tag = self.array(sets, tag_bits, Ports::SINGLE)?;
        let data = self.array(rows, SLICE_BITS, Ports::SINGLE)?;
        Ok(LineCache {
            read_pj: set_pj + LINE_SLICES * data.read_pj,
            write_pj: set_pj + tag.write_pj + LINE_SLICES * data.write_pj,
            drop_pj: set_pj + tag.write_pj,
        })
    }

    fn array(&self, entries: u32, bits: u32, ports: Ports) -> Result<Array, GpuEnergyError> {
        Ok(self.grid.array(entries, bits, ports)?)
    }

    /// Leakage over `cycles`: mW times ns are pJ.
    fn leakage_pj(&self, leakage_mw: f64, cycles: u64) -> f64 {
        leakage_mw * cycles as f64 / self.surroundings.clock_ghz.value
    }
}

/// Energies of a cache of register lines.
struct LineCache {
    /// Of a line, pJ.
    read_pj: f64,
    /// Of a line and its tag, pJ.
    write_pj: f64,
    /// A tag is found and marked, pJ.
    drop_pj: f64,
}

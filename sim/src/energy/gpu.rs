//! Energy of an SM's registers in a run, and of its part of the GPU around them.
//!
//! Registers: the accesses that the run has counted, at the energies of the arrays, and the arrays' leakage over its
//! cycles. The rest of the GPU is scaled to them: in the baseline the registers have a fixed share of the whole. To
//! that comes what only RegLess does: register lines in L1, L2 and DRAM, and metadata. How and why: decision 38.
//! Sections are those of Kloosterman et al., "RegLess", MICRO 2017.

mod report;
#[cfg(test)]
mod tests;

use serde::Serialize;
use warpfile_hdl::regless::ShardGeometry;

use crate::config::{CacheLevel, Config, DesignName};
use crate::sm::{Accesses, RunReport, TableAccesses};

use super::grid::{Array, Grid, Ports};
use super::register_structures::{
    Hierarchy, Part, PartKind, RegisterStructure, SHARDS, StructureError, register_file,
    register_file_hierarchy, staging_unit,
};
use super::{Surroundings, TechnologyError};
pub use report::{GpuEnergyReport, SmEnergy};

/// Bits of a slice of a wide word.
const SLICE_BITS: u32 = 128;
/// Slices of a line of 128 bytes.
const LINE_SLICES: f64 = 8.0;
/// Bits of a line.
const LINE_BITS: f64 = 1024.0;
/// Bits of a metadata instruction (§5.4).
const METADATA_BITS: u32 = 64;

/// Ports of the levels of a register file hierarchy: of three operands and of a result for each of two instructions a
/// cycle (decision 37).
const HIERARCHY_PORTS: Ports = Ports { read: 6, write: 2, read_write: 0 };

/// Why there is no energy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuEnergyError {
    /// The data file.
    #[error(transparent)]
    Technology(#[from] TechnologyError),
    /// The arrays.
    #[error(transparent)]
    Structure(#[from] StructureError),
    /// A design without figures.
    #[error(
        "design {design} has no energy at 28 nm; there is one for baseline, two-level, regless, rfv and rfh"
    )]
    Design {
        /// Its name.
        design: &'static str,
    },
    /// An SM that is divided in another way.
    #[error(
        "energies at 28 nm are of an SM of 4 schedulers with 16 warps and 8 banks of registers each (preset \
         gtx980-regless); this one has {schedulers} with {warps} and {banks}"
    )]
    Division {
        /// Schedulers.
        schedulers: u64,
        /// Warps of each.
        warps: u64,
        /// Banks of the registers of each.
        banks: u64,
    },
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
    /// Ports of a register file's banks.
    ports: Ports,
    /// Ports of the levels before it in a register file hierarchy.
    hierarchy_ports: Ports,
}

impl GpuModel {
    /// A GTX 980. The banks of register files have `ports`.
    pub fn gtx980(ports: Ports) -> Result<GpuModel, GpuEnergyError> {
        let surroundings = Surroundings::gtx980()?;
        let grid = Grid::at(surroundings.node_nm).map_err(StructureError::from)?;
        Ok(GpuModel { grid, surroundings, ports, hierarchy_ports: HIERARCHY_PORTS })
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

    /// The same with other ports at the levels of a register file hierarchy.
    pub fn with_hierarchy_ports(mut self, ports: Ports) -> GpuModel {
        self.hierarchy_ports = ports;
        self
    }

    /// What holds the registers of `config`'s design.
    pub fn structure(&self, config: &Config) -> Result<RegisterStructure, GpuEnergyError> {
        divided_as_a_gtx980(config)?;
        match config.design {
            DesignName::Baseline | DesignName::TwoLevel => {
                Ok(register_file(&self.grid, register_file_lines(config), self.ports)?)
            }
            // The rename table and the lists of free registers cost nothing (§6.1).
            DesignName::Rfv => Ok(register_file(&self.grid, config.rfv.registers as u32, self.ports)?),
            DesignName::Regless => {
                let compressor_lines = config.regless.compressor_lines as u32 / SHARDS;
                Ok(staging_unit(&self.grid, config.regless.lines as u32, compressor_lines)?)
            }
            DesignName::Rfh => {
                let hierarchy = Hierarchy {
                    schedulers: config.sm.schedulers as u32,
                    slots: config.scheduler.active_warps as u32,
                    orf_entries: config.rfh.orf_entries as u32,
                    ports: self.hierarchy_ports,
                };
                Ok(register_file_hierarchy(&self.grid, register_file_lines(config), self.ports, hierarchy)?)
            }
            DesignName::Rfc => Err(GpuEnergyError::Design { design: config.design.as_str() }),
        }
    }

    /// Energy of the registers.
    pub fn registers(&self, run: MeasuredRun<'_>) -> Result<RegisterEnergy, GpuEnergyError> {
        let structure = self.structure(run.config)?;
        let access_pj = structure.parts.iter().map(|part| part_access_pj(part, run.report)).sum();
        let leakage_pj = self.leakage_pj(structure.leakage_mw(), run.report.cycles);
        Ok(RegisterEnergy { access_pj, leakage_pj })
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

    /// Metadata instructions: read from the instruction cache, written to the metadata store of a shard and read there;
    /// and the leakage of the stores. Decoding is not in it.
    fn metadata_pj(&self, run: MeasuredRun<'_>) -> Result<f64, GpuEnergyError> {
        let config = run.config;
        if config.design != DesignName::Regless {
            return Ok(0.0);
        }
        let words = self.surroundings.instruction_cache_words.value as u32;
        let cache = self.array(words, METADATA_BITS, Ports::SINGLE)?;
        let warps = config.sm.warps / config.sm.schedulers;
        let store = self.array((warps * config.regless.metadata_words) as u32, METADATA_BITS, Ports::DUAL)?;
        let one = cache.read_pj + store.write_pj + store.read_pj;
        let leakage_mw = f64::from(SHARDS) * store.leakage_mw;
        Ok(run.report.metadata_instructions as f64 * one + self.leakage_pj(leakage_mw, run.report.cycles))
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
        Ok(self.grid.array(entries, bits, ports).map_err(StructureError::from)?)
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

/// What a run's accesses to a part cost, pJ. Values are accessed in slices of four lanes, those that are needed;
/// of a compressed line and of the bits that say what is compressed, always the whole row.
fn part_access_pj(part: &Part, report: &RunReport) -> f64 {
    let (staging, hierarchy) = (&report.staging, &report.registers.hierarchy);
    match part.kind {
        PartKind::Registers => slices_pj(part, values(report)),
        PartKind::LastResults => slices_pj(part, hierarchy.lrf),
        PartKind::Operands => slices_pj(part, hierarchy.orf),
        PartKind::Tags => table_pj(part, staging.tags),
        PartKind::Copies => table_pj(part, copies(report)),
        PartKind::CompressedLines => table_pj(part, staging.compressed_lines),
        PartKind::CompressedTags => table_pj(part, staging.compressed_tags),
        PartKind::CompressedRegisters => table_pj(part, staging.compressed_registers),
    }
}

/// Accesses to the slices of lines.
fn slices_pj(part: &Part, accesses: Accesses) -> f64 {
    let Accesses { cluster_reads, cluster_writes, .. } = accesses;
    (cluster_reads as f64 * part.read_pj + cluster_writes as f64 * part.write_pj) / f64::from(part.slices)
}

/// The arrays are those of as many shards, warps and banks as a GTX 980 has.
fn divided_as_a_gtx980(config: &Config) -> Result<(), GpuEnergyError> {
    let schedulers = config.sm.schedulers;
    let (warps, banks) = (config.sm.warps / schedulers, config.register_file.bank_groups);
    let gtx980 = (u64::from(SHARDS), ShardGeometry::GTX980.warps as u64, ShardGeometry::GTX980.banks as u64);
    if (schedulers, warps, banks) == gtx980 {
        Ok(())
    } else {
        Err(GpuEnergyError::Division { schedulers, warps, banks })
    }
}

/// Registers of a design with a full register file.
fn register_file_lines(config: &Config) -> u32 {
    (config.sm.schedulers * config.register_file.bank_groups * config.register_file.rows) as u32
}

/// Accesses to the values of all registers: a design has either a register file or a staging unit.
fn values(report: &RunReport) -> Accesses {
    let (file, staging) = (report.registers.mrf, report.registers.rfc);
    Accesses {
        reads: file.reads + staging.reads,
        writes: file.writes + staging.writes,
        cluster_reads: file.cluster_reads + staging.cluster_reads,
        cluster_writes: file.cluster_writes + staging.cluster_writes,
    }
}

/// Accesses to the bits that say of which registers memory has a copy: read by each preload, written when memory gets
/// or loses a copy.
fn copies(report: &RunReport) -> TableAccesses {
    let (preloads, lines) = (&report.preloads, &report.memory.register_lines);
    TableAccesses {
        reads: preloads.staged + preloads.unwritten + preloads.fetched,
        writes: lines.writes - lines.compressed_writes
            + report.staging.compressed_lines.writes
            + lines.invalidations,
        searches: 0,
    }
}

fn table_pj(part: &Part, accesses: TableAccesses) -> f64 {
    let TableAccesses { reads, writes, searches } = accesses;
    reads as f64 * part.read_pj
        + writes as f64 * part.write_pj
        + searches as f64 * part.search_pj.unwrap_or(0.0)
}

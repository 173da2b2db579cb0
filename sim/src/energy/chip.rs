//! Energy of an SM and of its part of the GPU in a run.
//!
//! Registers: [`EnergyModel::registers`]. Around them: register lines in L1, L2 and DRAM, metadata, data in L2 and DRAM, and
//! the rest of the GPU, which is of a card's published power ([`Rest::Power`]), makes the baseline's registers a published
//! share of the whole ([`Rest::Share`]), or is what each unit spends on its work ([`Rest::Units`]). How and why: decisions 38, 105
//! and 177.

mod report;

use serde::Serialize;

use crate::config::{CacheLevel, Config};
use crate::sm::RunReport;

use super::structure::{Account, SLICE_BITS};
use super::{EnergyError, EnergyModel, Rest};
pub use report::{EnergyReport, SmEnergy};

/// Slices of a line of 128 bytes.
pub(super) const LINE_SLICES: f64 = 8.0;
/// Bits of a line.
const LINE_BITS: f64 = 1024.0;
/// Bytes of a line.
pub(super) const LINE_BYTES: f64 = 128.0;
/// Bits of a byte.
pub(super) const BYTE_BITS: f64 = 8.0;
/// Bits of a metadata instruction (Kloosterman et al., MICRO 2017, §5.4).
const METADATA_BITS: u32 = 64;

/// A run, and the configuration it was made with.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRun<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// What was counted.
    pub report: &'a RunReport,
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
    /// Data in L2 and DRAM, pJ; part of the rest if that is found from a share.
    pub data_pj: f64,
    /// Everything else, pJ.
    pub rest_pj: f64,
}

impl GpuEnergy {
    /// All parts, pJ.
    pub fn total_pj(&self) -> f64 {
        self.registers_pj + self.lines_pj + self.metadata_pj + self.data_pj + self.rest_pj
    }
}

impl std::ops::AddAssign for GpuEnergy {
    fn add_assign(&mut self, other: GpuEnergy) {
        self.registers_pj += other.registers_pj;
        self.lines_pj += other.lines_pj;
        self.metadata_pj += other.metadata_pj;
        self.data_pj += other.data_pj;
        self.rest_pj += other.rest_pj;
    }
}

impl EnergyModel {
    /// Energy of the SM and of its part of the GPU, where the same work makes `baseline` with the full register file.
    ///
    /// # Errors
    /// As [`EnergyModel::parts`].
    pub fn gpu(&self, baseline: MeasuredRun<'_>, run: MeasuredRun<'_>) -> Result<GpuEnergy, EnergyError> {
        let (data_pj, rest_pj) = self.beside_registers(baseline, run)?;
        Ok(GpuEnergy {
            registers_pj: self.registers(run)?.total_pj(),
            lines_pj: self.lines_pj(run)?,
            metadata_pj: self.metadata_pj(run)?,
            data_pj,
            rest_pj,
        })
    }

    /// What the baseline spends beside its registers, which is the least that a design of its speed can spend.
    ///
    /// # Errors
    /// As [`EnergyModel::parts`].
    pub fn rest_of_baseline_pj(&self, baseline: MeasuredRun<'_>) -> Result<f64, EnergyError> {
        let (data_pj, rest_pj) = self.beside_registers(baseline, baseline)?;
        Ok(data_pj + rest_pj)
    }

    /// Data beyond the SM, and the rest.
    fn beside_registers(
        &self,
        baseline: MeasuredRun<'_>,
        run: MeasuredRun<'_>,
    ) -> Result<(f64, f64), EnergyError> {
        let cycles = run.report.sm_cycles() as f64;
        match &self.technology().chip.rest {
            Rest::Power(card) => {
                // The registers' leakage is in what is static, and is charged with them.
                let clock_ghz = self.technology().clock_ghz.value;
                let parts = self.parts(baseline.config)?;
                let leakage_mw: f64 = parts.iter().map(|(_, part)| part.leakage_mw).sum();
                let static_pj = card.static_pj_per_cycle(clock_ghz) - leakage_mw / clock_ghz;
                let instructions = run.report.warp_instructions as f64;
                let rest_pj = cycles * static_pj + instructions * card.instruction_pj(clock_ghz);
                Ok((self.data_pj(run)?, rest_pj))
            }
            Rest::Share(share) => {
                let registers_pj = self.registers(baseline)?.total_pj();
                let of_baseline = registers_pj * (1.0 / share.registers_share.value - 1.0);
                let by_time = share.by_time_share.value;
                let time = cycles / baseline.report.sm_cycles().max(1) as f64;
                Ok((0.0, of_baseline * (1.0 - by_time + by_time * time)))
            }
            Rest::Units(_) => {
                let components = self.components(run)?;
                let data_pj = components.network_pj + components.l2_pj + components.dram_pj;
                // Register lines and metadata are apart.
                let apart_pj = components.registers_pj + components.added_pj + self.lines_pj(run)?;
                Ok((data_pj, components.total_pj() - data_pj - apart_pj))
            }
        }
    }

    /// Data beyond the SM: transactions of sectors in the L2, and bytes from and to DRAM that are not of register lines.
    fn data_pj(&self, run: MeasuredRun<'_>) -> Result<f64, EnergyError> {
        let transactions = self.l2_transactions(run);
        let mut data_pj = self.dram_data_pj(run);
        if transactions > 0.0 {
            let sector_bytes = run.config.memory.sector_bytes as f64;
            let l2 = self.l2(&run.config.l2)?;
            let sector_pj = l2.set_pj + l2.slice_pj * sector_bytes / LINE_BYTES * LINE_SLICES;
            data_pj += transactions * (sector_pj + self.to_l2_pj(BYTE_BITS * sector_bytes));
        }
        Ok(data_pj)
    }

    /// Transactions of data at the L2; those of register lines are not among them.
    pub(super) fn l2_transactions(&self, run: MeasuredRun<'_>) -> f64 {
        let l2 = &run.report.memory.l2;
        (l2.hits + l2.misses + l2.merged_misses) as f64
    }

    /// Bytes from and to DRAM that are not of register lines, pJ.
    pub(super) fn dram_data_pj(&self, run: MeasuredRun<'_>) -> f64 {
        let memory = &run.report.memory;
        let lines = &memory.register_lines;
        let of_lines = LINE_BYTES * (lines.fetched_from_dram + lines.written_to_dram) as f64;
        let dram_bytes = (memory.dram_bytes as f64 - of_lines).max(0.0);
        dram_bytes * self.technology().chip.dram_line_pj.value / LINE_BYTES
    }

    /// Register lines in L1, L2 and DRAM. A fetch that misses is also a write of the line that comes.
    pub(super) fn lines_pj(&self, run: MeasuredRun<'_>) -> Result<f64, EnergyError> {
        let lines = &run.report.memory.register_lines;
        if lines.l1_requests() == 0 {
            return Ok(0.0);
        }
        let chip = &self.technology().chip;
        let l1 = self.l1(&run.config.l1)?;
        let l2 = self.l2(&run.config.l2)?;
        let missed = lines.fetched_from_l2 + lines.fetched_from_dram;
        let l1_pj = (lines.fetched_from_l1 + lines.written_to_l2) as f64 * l1.read_pj()
            + (lines.writes + missed) as f64 * l1.write_pj()
            + (lines.invalidations + lines.drops) as f64 * l1.drop_pj();
        let l2_pj = (lines.fetched_from_l2 + lines.written_to_dram) as f64 * l2.read_pj()
            + (lines.written_to_l2 + lines.fetched_from_dram) as f64 * l2.write_pj();
        // Every line that is fetched or written travels between the registers and the L1.
        let word_pj = self.technology().wire_pj_per_mm_per_32_bits.value * chip.l1_distance_mm.value;
        let to_l1 = (lines.fetched_from_l1 + missed + lines.writes) as f64 * LINE_BITS / 32.0 * word_pj;
        let to_l2 = (missed + lines.written_to_l2) as f64 * self.to_l2_pj(LINE_BITS);
        let in_dram = (lines.fetched_from_dram + lines.written_to_dram) as f64;
        Ok(l1_pj + l2_pj + to_l1 + to_l2 + in_dram * chip.dram_line_pj.value)
    }

    /// Metadata instructions: read from the instruction cache, and what the arrays that keep them spend. Decoding is not
    /// in it.
    pub(super) fn metadata_pj(&self, run: MeasuredRun<'_>) -> Result<f64, EnergyError> {
        let words = self.technology().chip.instruction_cache_words.value as u32;
        let cache = self.memory(words, METADATA_BITS)?;
        let stores = self.account(Account::Metadata, run)?;
        Ok(run.report.metadata_instructions as f64 * cache.read_pj + stores.total_pj())
    }

    /// Bits between an SM and the L2, pJ.
    pub(super) fn to_l2_pj(&self, bits: f64) -> f64 {
        let chip = &self.technology().chip;
        bits * chip.wire_pj_per_mm_per_bit.value * chip.l2_distance_mm.value
    }

    pub(super) fn l1(&self, level: &CacheLevel) -> Result<LineCache, EnergyError> {
        self.line_cache(level, (level.bytes / level.line_bytes) as u32)
    }

    pub(super) fn l2(&self, level: &CacheLevel) -> Result<LineCache, EnergyError> {
        self.line_cache(level, self.technology().chip.l2_rows.value as u32)
    }

    /// A cache whose lines are in arrays of `rows` rows. All tags of a set are read first, in slices, then one line.
    fn line_cache(&self, level: &CacheLevel, rows: u32) -> Result<LineCache, EnergyError> {
        let (ways, tag_bits) = (level.ways as u32, self.technology().chip.tag_bits.value as u32);
        let sets = (rows / ways).max(1);
        let slices = (ways * tag_bits).div_ceil(SLICE_BITS);
        let data = self.memory(rows, SLICE_BITS)?;
        Ok(LineCache {
            set_pj: f64::from(slices) * self.memory(sets, SLICE_BITS)?.read_pj,
            tag_pj: self.memory(sets, tag_bits)?.write_pj,
            slice_pj: data.read_pj,
            slice_write_pj: data.write_pj,
        })
    }
}

/// Energies of a cache of lines.
pub(super) struct LineCache {
    /// The tags of a set are read, pJ.
    pub set_pj: f64,
    /// A tag is written, pJ.
    tag_pj: f64,
    /// A slice of a line is read, pJ.
    pub slice_pj: f64,
    /// A slice of a line is written, pJ.
    slice_write_pj: f64,
}

impl LineCache {
    /// Of a line, pJ.
    fn read_pj(&self) -> f64 {
        self.set_pj + LINE_SLICES * self.slice_pj
    }

    /// Of a line and its tag, pJ.
    pub fn write_pj(&self) -> f64 {
        self.set_pj + self.tag_pj + LINE_SLICES * self.slice_write_pj
    }

    /// A tag is found and marked, pJ.
    fn drop_pj(&self) -> f64 {
        self.set_pj + self.tag_pj
    }
}

#[cfg(test)]
mod tests;

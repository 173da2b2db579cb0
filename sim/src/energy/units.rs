//! What an SM and its part of the GPU spend beside the registers, by the unit that work goes through: an instruction that is
//! issued pays for fetch, decode and scheduling, one that executes for the lanes of its functional unit, an access for the memory
//! that it goes to. What a design answers instead of executing pays no unit. How and why: decision 177.

use serde::{Deserialize, Serialize};

use super::chip::{BYTE_BITS, LINE_BYTES, LINE_SLICES};
use super::grid::{Array, Ports};
use super::structure::SLICE_BITS;
use super::{EnergyError, EnergyModel, Figure, MeasuredRun, PJ_PER_NJ, Rest};
use crate::mechanisms::Role;
use crate::sm::Operations;

/// Bits of a word.
const WORD_BITS: u32 = 32;
/// Bytes of a slice of a line.
const SLICE_BYTES: f64 = 16.0;

/// Energies of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitEnergies {
    /// A warp instruction that is issued: fetched, decoded, scheduled, pJ.
    pub issue_pj: Figure,
    /// A lane of a warp instruction that executes.
    pub lane: LaneEnergies,
    /// What the GPU takes whatever it does, beside the leakage of arrays, W.
    pub constant_w: Figure,
    /// SMs of the GPU.
    pub sms: Figure,
    /// Words of 32 bits of an SM's constant cache.
    pub constant_cache_words: Figure,
    /// A transaction at the L1, pJ; without it that of the node's arrays.
    pub l1_access_pj: Option<Figure>,
    /// A word of constant memory, pJ; the same.
    pub constant_access_pj: Option<Figure>,
    /// A transaction at the L2, pJ; the same.
    pub l2_access_pj: Option<Figure>,
    /// Between the SM and the L2 for such a transaction, pJ; without it that of wires.
    pub network_access_pj: Option<Figure>,
}

/// Energies of a lane of a warp instruction that executes, pJ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneEnergies {
    /// Registers of operands and results along the pipeline, whatever the unit.
    pub pipeline_pj: Figure,
    /// Addition, logic, shifts, moves, comparisons and conversions of integers.
    pub integer_pj: Figure,
    /// Multiplication and multiply-add of integers.
    pub integer_multiply_pj: Figure,
    /// In single precision what is no multiplication.
    pub single_pj: Figure,
    /// Multiplication and multiply-add in single precision.
    pub single_multiply_pj: Figure,
    /// Double precision.
    pub double_pj: Figure,
    /// Special functions.
    pub special_pj: Figure,
}

/// Energy of an SM and of its part of the GPU in a run, by component, pJ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Components {
    /// Fetch, decode, scheduling.
    pub front_end_pj: f64,
    /// Arrays of registers and what stands around them, but for those of layers; metadata.
    pub registers_pj: f64,
    /// Arrays of the layers of a design: what reuse adds.
    pub added_pj: f64,
    /// Registers of operands and results along the pipeline.
    pub pipeline_pj: f64,
    /// Integer units.
    pub integer_pj: f64,
    /// Units for single and double precision.
    pub float_pj: f64,
    /// Special functions.
    pub special_pj: f64,
    /// L1, register lines in it, and in L2 and DRAM.
    pub l1_pj: f64,
    /// Shared memory.
    pub scratchpad_pj: f64,
    /// Constant cache.
    pub constant_cache_pj: f64,
    /// Between the SM and the L2.
    pub network_pj: f64,
    /// The L2.
    pub l2_pj: f64,
    /// DRAM and its controllers.
    pub dram_pj: f64,
    /// What goes with time alone.
    pub constant_pj: f64,
}

impl Components {
    /// Names and values: the SM's first, which are so many.
    pub const SM: usize = 10;

    /// Each component: key, name, pJ.
    pub fn parts(&self) -> [(&'static str, &'static str, f64); 14] {
        [
            ("front_end", "front end", self.front_end_pj),
            ("registers", "registers", self.registers_pj),
            ("added", "added tables", self.added_pj),
            ("pipeline", "pipeline", self.pipeline_pj),
            ("integer", "integer", self.integer_pj),
            ("float", "floating point", self.float_pj),
            ("special", "SFU", self.special_pj),
            ("l1", "L1", self.l1_pj),
            ("scratchpad", "scratchpad", self.scratchpad_pj),
            ("constant_cache", "constant cache", self.constant_cache_pj),
            ("network", "network", self.network_pj),
            ("l2", "L2", self.l2_pj),
            ("dram", "DRAM", self.dram_pj),
            ("constant", "constant", self.constant_pj),
        ]
    }

    /// The SM's, pJ.
    pub fn sm_pj(&self) -> f64 {
        self.parts()[..Components::SM].iter().map(|(.., pj)| pj).sum()
    }

    /// All, pJ.
    pub fn total_pj(&self) -> f64 {
        self.parts().iter().map(|(.., pj)| pj).sum()
    }
}

impl std::ops::AddAssign for Components {
    fn add_assign(&mut self, other: Components) {
        self.front_end_pj += other.front_end_pj;
        self.registers_pj += other.registers_pj;
        self.added_pj += other.added_pj;
        self.pipeline_pj += other.pipeline_pj;
        self.integer_pj += other.integer_pj;
        self.float_pj += other.float_pj;
        self.special_pj += other.special_pj;
        self.l1_pj += other.l1_pj;
        self.scratchpad_pj += other.scratchpad_pj;
        self.constant_cache_pj += other.constant_cache_pj;
        self.network_pj += other.network_pj;
        self.l2_pj += other.l2_pj;
        self.dram_pj += other.dram_pj;
        self.constant_pj += other.constant_pj;
    }
}

impl EnergyModel {
    /// The same with caches, network and constant memory as the node's arrays and wires have them, where the technology has published
    /// figures.
    pub fn with_caches_of_the_node(mut self) -> EnergyModel {
        if let Rest::Units(units) = &mut self.technology.chip.rest {
            units.l1_access_pj = None;
            units.constant_access_pj = None;
            units.l2_access_pj = None;
            units.network_access_pj = None;
        }
        self
    }

    /// Energy of an SM and of its part of the GPU by component.
    ///
    /// # Errors
    /// The technology has no energies of units; as [`EnergyModel::parts`].
    pub fn components(&self, run: MeasuredRun<'_>) -> Result<Components, EnergyError> {
        let Rest::Units(units) = &self.technology().chip.rest else {
            return Err(EnergyError::NoUnits { technology: self.technology().name.clone() });
        };
        let registers_pj = self.registers(run)?.total_pj() + self.metadata_pj(run)?;
        let added_pj = self.layers_pj(run)?;
        let data = self.data_by_level(units, run)?;
        Ok(Components {
            registers_pj: registers_pj - added_pj,
            added_pj,
            l1_pj: self.l1_pj(units, run)? + self.lines_pj(run)?,
            scratchpad_pj: self.scratchpad_pj(run)?,
            constant_cache_pj: self.constant_cache_pj(units, run)?,
            constant_pj: run.report.sm_cycles() as f64 * self.constant_pj_per_cycle(units),
            ..self.of_instructions(units, run)
        } + data)
    }

    /// What issue and functional units spend.
    fn of_instructions(&self, units: &UnitEnergies, run: MeasuredRun<'_>) -> Components {
        let lane = &units.lane;
        let operations = run.config.design.operations(run.report);
        let pj = |lanes: u64, figure: &Figure| lanes as f64 * figure.value;
        let Operations { integer, integer_multiply, single, single_multiply, double, special, .. } =
            operations;
        Components {
            front_end_pj: pj(run.report.warp_instructions, &units.issue_pj),
            pipeline_pj: pj(operations.lanes(), &lane.pipeline_pj),
            integer_pj: pj(integer, &lane.integer_pj) + pj(integer_multiply, &lane.integer_multiply_pj),
            float_pj: pj(single, &lane.single_pj)
                + pj(single_multiply, &lane.single_multiply_pj)
                + pj(double, &lane.double_pj),
            special_pj: pj(special, &lane.special_pj),
            ..Components::default()
        }
    }

    /// Arrays of a design's layers, which are among its registers.
    fn layers_pj(&self, run: MeasuredRun<'_>) -> Result<f64, EnergyError> {
        let layers = run.config.design.mechanisms().filter(|mechanism| mechanism.role() == Role::Layer);
        let names: Vec<&str> =
            layers.flat_map(|layer| layer.structures(run.config)).map(|structure| structure.name).collect();
        self.arrays_pj(run, |structure| names.contains(&structure.name))
    }

    /// What does not go with work, of an SM and its part of the chip, pJ a cycle.
    fn constant_pj_per_cycle(&self, units: &UnitEnergies) -> f64 {
        PJ_PER_NJ * units.constant_w.value / units.sms.value / self.technology().clock_ghz.value
    }

    /// Transactions of data at the L1, and its leakage. One that misses is also a write of the line that comes.
    fn l1_pj(&self, units: &UnitEnergies, run: MeasuredRun<'_>) -> Result<f64, EnergyError> {
        let (level, memory) = (&run.config.l1, &run.report.memory);
        if level.bytes == 0 {
            return Ok(0.0);
        }
        let transactions = (memory.l1.hits + memory.l1.misses + memory.l1.merged_misses) as f64;
        let rows = (level.bytes / level.line_bytes) as u32;
        let data = self.memory(rows, SLICE_BITS)?;
        let leakage_pj = self.leakage_of(run, LINE_SLICES, &data);
        if let Some(access) = &units.l1_access_pj {
            return Ok(leakage_pj + transactions * access.value);
        }
        let l1 = self.l1(level)?;
        let slices = memory.bytes as f64 / SLICE_BYTES;
        let wires_pj = BYTE_BITS * memory.bytes as f64 * self.to_l1_pj_per_bit();
        Ok(leakage_pj
            + transactions * l1.set_pj
            + slices * l1.slice_pj
            + memory.l1.misses as f64 * l1.write_pj()
            + wires_pj)
    }

    /// Words of shared memory: a bank each, and the way from there.
    fn scratchpad_pj(&self, run: MeasuredRun<'_>) -> Result<f64, EnergyError> {
        let (words, bytes) = (run.report.memory.shared_words as f64, run.config.sm.shared_memory_bytes);
        let banks = (BYTE_BITS as u64 * run.config.throughput.shared_bytes / u64::from(WORD_BITS)).max(1);
        let rows = BYTE_BITS as u64 * bytes / u64::from(WORD_BITS) / banks;
        if rows == 0 {
            return Ok(0.0);
        }
        let bank = self.memory(rows as u32, WORD_BITS)?;
        // Reads and writes are not counted apart.
        let access_pj = (bank.read_pj + bank.write_pj) / 2.0 + f64::from(WORD_BITS) * self.to_l1_pj_per_bit();
        Ok(words * access_pj + self.leakage_of(run, banks as f64, &bank))
    }

    /// Words of constant memory.
    fn constant_cache_pj(&self, units: &UnitEnergies, run: MeasuredRun<'_>) -> Result<f64, EnergyError> {
        let cache = self.memory(units.constant_cache_words.value as u32, WORD_BITS)?;
        let of_arrays = cache.read_pj + f64::from(WORD_BITS) * self.to_l1_pj_per_bit();
        let access_pj = units.constant_access_pj.as_ref().map_or(of_arrays, |access| access.value);
        Ok(run.report.memory.constant_words as f64 * access_pj + self.leakage_of(run, 1.0, &cache))
    }

    /// Data beyond the SM, by level.
    fn data_by_level(&self, units: &UnitEnergies, run: MeasuredRun<'_>) -> Result<Components, EnergyError> {
        let config = run.config;
        let transactions = self.l2_transactions(run);
        // With an L1 a transaction is a line of it.
        let bytes =
            if config.l1.bytes > 0 { config.l1.line_bytes } else { config.memory.sector_bytes } as f64;
        let of_wires = self.to_l2_pj(BYTE_BITS * bytes);
        let network_pj = units.network_access_pj.as_ref().map_or(of_wires, |access| access.value);
        let l2_pj = match &units.l2_access_pj {
            Some(access) => access.value,
            None if config.l2.bytes > 0 => {
                let l2 = self.l2(&config.l2)?;
                l2.set_pj + l2.slice_pj * bytes / LINE_BYTES * LINE_SLICES
            }
            None => 0.0,
        };
        let array = self.memory(self.technology().chip.l2_rows.value as u32, SLICE_BITS)?;
        let arrays_of_sm = BYTE_BITS * config.l2.bytes as f64
            / (f64::from(SLICE_BITS) * self.technology().chip.l2_rows.value)
            / units.sms.value;
        Ok(Components {
            network_pj: transactions * network_pj,
            l2_pj: transactions * l2_pj + self.leakage_of(run, arrays_of_sm, &array),
            dram_pj: self.dram_data_pj(run),
            ..Components::default()
        })
    }

    /// Leakage of so many arrays over a run, pJ.
    fn leakage_of(&self, run: MeasuredRun<'_>, arrays: f64, array: &Array) -> f64 {
        arrays * self.leakage_pj(array.leakage_mw, run.report.sm_cycles())
    }

    /// Between registers and L1, pJ a bit.
    fn to_l1_pj_per_bit(&self) -> f64 {
        let technology = self.technology();
        technology.wire_pj_per_mm_per_32_bits.value * technology.chip.l1_distance_mm.value
            / f64::from(WORD_BITS)
    }

    /// A memory of one port.
    pub(super) fn memory(&self, entries: u32, bits: u32) -> Result<Array, EnergyError> {
        Ok(self.prices().memory(entries, bits, Ports::SINGLE)?)
    }
}

impl std::ops::Add for Components {
    type Output = Components;

    fn add(mut self, other: Components) -> Components {
        self += other;
        self
    }
}

#[cfg(test)]
mod tests;

//! Energy of a run as `warpfile run` reports it: beside the baseline on the same input.

use serde::Serialize;

use super::{GpuEnergy, GpuEnergyError, GpuModel, MeasuredRun, RegisterEnergy};

/// What the energies consist of.
const MODELLED: &str = "registers: accesses to their arrays, and leakage over the run's cycles; GPU: also register lines in \
                        L1, L2 and DRAM, metadata, and a rest of the SM and its part of the chip that makes the \
                        baseline's registers a fixed share of the whole";
/// What they leave out (decisions 33 and 38).
const NOT_MODELLED: &str = "logic, flip-flops and clocks of the register structures, wires between their arrays and to the \
                            units, operand collectors, power gating; renaming (rfv) and the bits that name levels (rfh); \
                            decoding of metadata";

/// Energy of a design's registers and of the GPU around them, beside the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuEnergyReport {
    /// Technology that the figures come from.
    pub technology: String,
    /// Its node, nm.
    pub node_nm: u32,
    /// Clock that leakage is counted at, GHz.
    pub clock_ghz: f64,
    /// What the energies consist of.
    pub modelled: &'static str,
    /// What they leave out.
    pub not_modelled: &'static str,
    /// What the baseline spent on the same input; `None` if there is no figure.
    pub baseline: Option<SmEnergy>,
    /// What the design spent; `None` if there is no figure.
    pub design: Option<SmEnergy>,
    /// The registers' energy relative to the baseline's.
    pub normalised_registers: Option<f64>,
    /// The GPU's energy relative to the baseline's.
    pub normalised_gpu: Option<f64>,
    /// Why there is no figure.
    pub unavailable: Option<String>,
}

/// Energy of the SMs that are simulated, and of their part of the chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SmEnergy {
    /// Registers.
    pub registers: RegisterEnergy,
    /// All, the registers again among it.
    pub gpu: GpuEnergy,
}

impl GpuModel {
    /// Energy of a design's SMs beside the baseline's, each with the SM of its number.
    pub fn report(&self, baseline: &[MeasuredRun<'_>], design: &[MeasuredRun<'_>]) -> GpuEnergyReport {
        let base = self.sms(baseline, baseline);
        let energy = self.sms(baseline, design);
        let unavailable = energy.as_ref().err().map(GpuEnergyError::to_string);
        let (base, energy) = (base.ok(), energy.ok());
        let normalise = |of: fn(&SmEnergy) -> f64| {
            let (base, energy) = (of(base.as_ref()?), of(energy.as_ref()?));
            (base > 0.0).then(|| energy / base)
        };
        GpuEnergyReport {
            technology: self.surroundings.name.clone(),
            node_nm: self.surroundings.node_nm,
            clock_ghz: self.surroundings.clock_ghz.value,
            modelled: MODELLED,
            not_modelled: NOT_MODELLED,
            normalised_registers: normalise(|energy| energy.registers.total_pj()),
            normalised_gpu: normalise(|energy| energy.gpu.total_pj()),
            baseline: base,
            design: energy,
            unavailable,
        }
    }

    /// Energy of several SMs, each over its own cycles.
    fn sms(
        &self,
        baseline: &[MeasuredRun<'_>],
        runs: &[MeasuredRun<'_>],
    ) -> Result<SmEnergy, GpuEnergyError> {
        let mut sum = SmEnergy::default();
        for (base, run) in baseline.iter().zip(runs) {
            let (registers, gpu) = (self.registers(*run)?, self.gpu(*base, *run)?);
            sum.registers.access_pj += registers.access_pj;
            sum.registers.leakage_pj += registers.leakage_pj;
            sum.gpu.registers_pj += gpu.registers_pj;
            sum.gpu.lines_pj += gpu.lines_pj;
            sum.gpu.metadata_pj += gpu.metadata_pj;
            sum.gpu.rest_pj += gpu.rest_pj;
        }
        Ok(sum)
    }
}

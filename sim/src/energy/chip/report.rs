//! Energy of a run as `warpfile run` reports it: beside the baseline on the same input.

use serde::Serialize;

use super::super::{AccessEnergyReport, Components, EnergyError, EnergyModel, RegisterEnergy, Rest};
use super::{GpuEnergy, MeasuredRun};
use crate::config::Config;
use crate::sm::RunReport;

/// What the energies consist of.
const MODELLED: &str = "registers: accesses to their arrays, wires to the ALUs, collectors, queues and tables around them, \
                        clocks that are not gated, leakage; GPU: also register lines and data in L2 and DRAM, metadata, \
                        and the rest of the SM and its part of the chip";
/// What they leave out (decision 103).
const NOT_MODELLED: &str = "arbiters and crossbars, power gating of anything but registers, the bits of an instruction that \
                            name levels (rfh), decoding of metadata";

/// Energy of a design's registers and of the GPU around them, beside the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyReport {
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
    /// Accesses and wires alone, beside the baseline's on the same instructions.
    pub accesses: AccessEnergyReport,
    /// What the baseline spent on the same input; `None` if there is no figure.
    pub baseline: Option<SmEnergy>,
    /// What the design spent; `None` if there is no figure.
    pub design: Option<SmEnergy>,
    /// The registers' energy relative to the baseline's in its own run.
    pub normalised_registers: Option<f64>,
    /// The GPU's energy relative to the baseline's in its own run.
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
    /// The same by component, in a technology that has energies of units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<Components>,
}

impl EnergyModel {
    /// Energy of a design's SMs beside the baseline's, each with the SM of its number; `together` is what the design's
    /// have counted in all.
    pub fn report(
        &self,
        (config, together): (&Config, &RunReport),
        baseline: &[MeasuredRun<'_>],
        design: &[MeasuredRun<'_>],
    ) -> EnergyReport {
        let base = self.sms(baseline, baseline);
        let energy = self.sms(baseline, design);
        let refused = base.as_ref().err().or(energy.as_ref().err());
        let unavailable = refused.map(|error: &EnergyError| format!("{}: {error}", self.technology().name));
        let (base, energy) = (base.ok(), energy.ok());
        let normalise = |of: fn(&SmEnergy) -> f64| {
            let (base, energy) = (of(base.as_ref()?), of(energy.as_ref()?));
            (base > 0.0).then(|| energy / base)
        };
        EnergyReport {
            technology: self.technology().name.clone(),
            node_nm: self.technology().node_nm,
            clock_ghz: self.technology().clock_ghz.value,
            modelled: MODELLED,
            not_modelled: NOT_MODELLED,
            accesses: self.accesses(config, together),
            normalised_registers: normalise(|energy| energy.registers.total_pj()),
            normalised_gpu: normalise(|energy| energy.gpu.total_pj()),
            baseline: base,
            design: energy,
            unavailable,
        }
    }

    /// Energy of several SMs, each over its own cycles.
    fn sms(&self, baseline: &[MeasuredRun<'_>], runs: &[MeasuredRun<'_>]) -> Result<SmEnergy, EnergyError> {
        let mut sum = SmEnergy::default();
        for (base, run) in baseline.iter().zip(runs) {
            sum.registers += self.registers(*run)?;
            sum.gpu += self.gpu(*base, *run)?;
            if let Rest::Units(_) = self.technology().chip.rest {
                *sum.components.get_or_insert_default() += self.components(*run)?;
            }
        }
        Ok(sum)
    }
}

//! Energy of an SM's registers in a run.

use serde::Serialize;

use super::structure::{Account, ArrayAccesses, Part, Source, Structure};
use super::{EnergyError, EnergyModel, MeasuredRun, full_register_file};
use crate::config::Config;
use crate::sm::RunReport;

/// Energy of an SM's registers in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RegisterEnergy {
    /// Accesses, in the arrays, pJ.
    pub access_pj: f64,
    /// Wires that the accessed bits travel, pJ.
    pub wires_pj: f64,
    /// Clocks that are not gated, pJ.
    pub clock_pj: f64,
    /// Leakage over the run's cycles, pJ.
    pub leakage_pj: f64,
}

/// Energy of a run's accesses to registers, without leakage, beside what the baseline spends on the same instructions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccessEnergyReport {
    /// What the baseline would have spent on the same instructions.
    pub baseline: Energy,
    /// What the design spent; `None` if one of its arrays cannot be priced.
    pub design: Option<Energy>,
    /// The design's energy relative to the baseline's, without wires.
    pub normalised_access: Option<f64>,
    /// The design's energy relative to the baseline's, with wires.
    pub normalised_with_wires: Option<f64>,
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
    /// Arrays of the SM.
    pub arrays: u32,
    /// Rows of each.
    pub entries: u32,
    /// Whether it is among the energies of accesses alone; else it stands around the arrays of registers.
    pub holds_registers: bool,
    /// Whether an access's energy is a published one.
    pub is_published: bool,
    /// Where it comes from: a table of the technology's paper, the runs of its node, flip-flops.
    pub source: String,
    /// Accesses only, pJ.
    pub access_pj: f64,
    /// Wires, pJ.
    pub wires_pj: f64,
    /// Their length, mm.
    pub mm: f64,
    /// Clock that is not gated over the run's cycles, pJ.
    pub clock_pj: f64,
    /// Leakage over the run's cycles, pJ.
    pub leakage_pj: f64,
}

impl RegisterEnergy {
    /// All parts, pJ.
    pub fn total_pj(&self) -> f64 {
        self.access_pj + self.wires_pj + self.clock_pj + self.leakage_pj
    }
}

impl std::ops::AddAssign for RegisterEnergy {
    fn add_assign(&mut self, other: RegisterEnergy) {
        self.access_pj += other.access_pj;
        self.wires_pj += other.wires_pj;
        self.clock_pj += other.clock_pj;
        self.leakage_pj += other.leakage_pj;
    }
}

impl EnergyModel {
    /// Energy of the registers and of what stands around them, or of accesses alone where the technology's paper counts these.
    ///
    /// # Errors
    /// As [`EnergyModel::parts`].
    pub fn registers(&self, run: MeasuredRun<'_>) -> Result<RegisterEnergy, EnergyError> {
        let mut energy = self.account(Account::Registers, run)?;
        if self.technology().accesses_alone.is_none() {
            energy += self.account(Account::Control, run)?;
        }
        Ok(energy)
    }

    /// What the arrays of an account spend; on accesses, where the technology's paper counts these alone.
    pub(super) fn account(
        &self,
        account: Account,
        run: MeasuredRun<'_>,
    ) -> Result<RegisterEnergy, EnergyError> {
        let mut energy = RegisterEnergy::default();
        for (structure, part) in self.parts(run.config)? {
            if structure.account == account {
                energy += self.spent(run, &structure, &part);
            }
        }
        Ok(energy)
    }

    /// What some of the arrays spend that are charged as registers.
    pub(super) fn arrays_pj(
        &self,
        run: MeasuredRun<'_>,
        arrays: impl Fn(&Structure) -> bool,
    ) -> Result<f64, EnergyError> {
        let counts = |account: Account| match account {
            Account::Registers => true,
            Account::Control => self.technology().accesses_alone.is_none(),
            Account::Metadata => false,
        };
        let parts = self.parts(run.config)?;
        let counted = parts.iter().filter(|(structure, _)| counts(structure.account) && arrays(structure));
        Ok(counted.map(|(structure, part)| self.spent(run, structure, part).total_pj()).sum())
    }

    /// What an array spends in a run.
    fn spent(&self, run: MeasuredRun<'_>, structure: &Structure, part: &Part) -> RegisterEnergy {
        let accesses = (structure.accesses)(run.report);
        let energy = RegisterEnergy {
            access_pj: part.access_pj(accesses),
            wires_pj: part.wires_pj(accesses),
            clock_pj: part.clock_pj * run.report.sm_cycles() as f64,
            leakage_pj: self.structure_leakage_pj(run, structure, part),
        };
        match self.technology().accesses_alone {
            Some(_) => RegisterEnergy { clock_pj: 0.0, leakage_pj: 0.0, ..energy },
            None => energy,
        }
    }

    /// Accesses to a run's registers alone, as Gebhart et al. count them: no leakage, no clocks, nothing of what stands
    /// around the arrays.
    pub fn accesses(&self, config: &Config, report: &RunReport) -> AccessEnergyReport {
        let baseline = self.baseline_accesses(config, report);
        let design = self.design_accesses(config, report);
        let energy = design.as_ref().ok().map(|(energy, _)| *energy);
        let normalise = |of: fn(&Energy) -> f64| {
            let baseline = of(baseline.as_ref().ok()?);
            (baseline > 0.0).then_some(of(&energy?) / baseline)
        };
        let refused = baseline.as_ref().err().or(design.as_ref().err());
        AccessEnergyReport {
            normalised_access: normalise(|energy| energy.access_pj),
            normalised_with_wires: normalise(|energy| energy.with_wires_pj),
            baseline: baseline.as_ref().copied().unwrap_or_default(),
            unavailable: refused.map(|error| format!("{}: {error}", self.technology().name)),
            design: energy,
            arrays: design.map(|(_, arrays)| arrays).unwrap_or_default(),
        }
    }

    /// What a register file would have spent on the same instructions.
    fn baseline_accesses(&self, config: &Config, report: &RunReport) -> Result<Energy, EnergyError> {
        let accesses = ArrayAccesses::of(report.operands);
        let parts = self.price(config, vec![full_register_file(config)])?;
        let access_pj: f64 = parts.iter().map(|(_, part)| part.access_pj(accesses)).sum();
        let wires_pj: f64 = parts.iter().map(|(_, part)| part.wires_pj(accesses)).sum();
        Ok(Energy { access_pj, with_wires_pj: access_pj + wires_pj })
    }

    /// All arrays of the design; the sum is of those that hold registers.
    fn design_accesses(
        &self,
        config: &Config,
        report: &RunReport,
    ) -> Result<(Energy, Vec<ArrayEnergy>), EnergyError> {
        let (mut sum, mut arrays) = (Energy::default(), Vec::new());
        for (structure, part) in self.parts(config)? {
            let accesses = (structure.accesses)(report);
            let (access_pj, wires_pj) = (part.access_pj(accesses), part.wires_pj(accesses));
            if structure.account == Account::Registers {
                sum.access_pj += access_pj;
                sum.with_wires_pj += access_pj + wires_pj;
            }
            let published = self.technology().published(&structure);
            arrays.push(ArrayEnergy {
                name: structure.name,
                arrays: structure.arrays,
                entries: structure.entries,
                holds_registers: structure.account == Account::Registers,
                is_published: published.is_some(),
                source: match (published, part.source) {
                    (Some(energies), _) => energies.source().unwrap_or_default().to_owned(),
                    (None, Source::Capacity) => "in proportion to the capacity".to_owned(),
                    (None, Source::Gates) => format!("gates, {} nm", self.technology().node_nm),
                    (None, Source::FlipFlops) => format!("flip-flops, {} nm", self.technology().node_nm),
                    (None, _) => format!("CACTI, {} nm", self.technology().node_nm),
                },
                access_pj,
                wires_pj,
                mm: part.mm,
                clock_pj: part.clock_pj * report.sm_cycles() as f64,
                leakage_pj: self.structure_leakage_pj(MeasuredRun { config, report }, &structure, &part),
            });
        }
        Ok((sum, arrays))
    }

    /// Leakage of an array over a run; where rows are gated, that of their states and what changing these takes.
    fn structure_leakage_pj(&self, run: MeasuredRun<'_>, structure: &Structure, part: &Part) -> f64 {
        let ungated = self.leakage_pj(part.leakage_mw, run.report.sm_cycles());
        let is_gated = structure.sleeping_rows.is_some() && part.leakage_mw > 0.0;
        match run.config.design.power_gating(run.config).filter(|_| is_gated) {
            Some(gating) => {
                let rows = (gating.rows)(run.report);
                ungated * gating.leakage_share(rows, part.gated_mw / part.leakage_mw)
                    + gating.transitions_pj(rows)
            }
            None => ungated,
        }
    }

    /// Leakage over `cycles`: mW times ns are pJ.
    pub(super) fn leakage_pj(&self, leakage_mw: f64, cycles: u64) -> f64 {
        leakage_mw * cycles as f64 / self.technology().clock_ghz.value
    }
}

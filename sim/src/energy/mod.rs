//! Activity of a run and a technology to energy.
//!
//! A technology ([`EnergyModel`]) has either energies per access to the register file of Gebhart et al. and its cache, or
//! arrays of a node, from which the energy of an SM's registers and of the GPU around them follows ([`gpu`]). The rest of
//! this page is about the former.
//!
//! Energies are per access to a 128-bit cluster entry. Clusters without an active lane are not accessed, in the
//! baseline neither. Evictions and flushes are in the counts: a read of the cache and a write of the main
//! register file. Wires carry the accessed bits over the distance of their level (RFC §4.3, Table 3).
//!
//! [`register_structures`] gives RegLess's structures and its baseline area, leakage and energy per access, from the
//! arrays of [`grid`]; [`gpu`] what a run's accesses cost with them, and the GPU around.

pub mod gpu;
pub mod grid;
pub mod register_structures;
mod surroundings;
mod technology;

use gpu::{GpuEnergyError, GpuEnergyReport, GpuModel};
use grid::Ports;
use serde::Serialize;

use crate::config::{Config, DesignName};
use crate::sm::{Accesses, RegisterTraffic};

pub use surroundings::Surroundings;
pub use technology::{Figure, MrfEnergy, RfcEnergy, Technology, TechnologyError, technology_names};

/// What `energy.technology` names.
#[derive(Clone, Debug)]
pub enum EnergyModel {
    /// Energies per access.
    Accesses(Technology),
    /// Arrays, and a GPU around them.
    Arrays(Box<GpuModel>),
}

impl EnergyModel {
    /// A technology that comes with the program.
    pub fn named(name: &str) -> Result<EnergyModel, GpuEnergyError> {
        if name == Surroundings::GTX980 {
            // The banks have one port in every design (decision 38).
            Ok(EnergyModel::Arrays(Box::new(GpuModel::gtx980(Ports::SINGLE)?)))
        } else {
            Ok(EnergyModel::Accesses(Technology::named(name)?))
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

/// Energy of a run's accesses to the register file and its cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccessEnergyReport {
    /// Technology that the figures come from.
    pub technology: String,
    /// What the baseline would have spent on the same instructions.
    pub baseline: Energy,
    /// What the design spent; `None` if the technology has no figure for it.
    pub design: Option<Energy>,
    /// The design's energy relative to the baseline's, without wires.
    pub normalised_access: Option<f64>,
    /// The design's energy relative to the baseline's, with wires.
    pub normalised_with_wires: Option<f64>,
    /// Why there is no figure.
    pub unavailable: Option<String>,
}

/// Energy of register accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Energy {
    /// Accesses only, pJ.
    pub access_pj: f64,
    /// Accesses and wires, pJ.
    pub with_wires_pj: f64,
}

/// Energy of a run's register traffic under a configuration.
pub fn evaluate(technology: &Technology, config: &Config, registers: &RegisterTraffic) -> AccessEnergyReport {
    let mrf = |accesses: Accesses| {
        let (read, write) = (technology.mrf.read_pj.value, technology.mrf.write_pj.value);
        level(technology, accesses, read, write, config.energy.mrf_to_alu_mm)
    };
    let baseline = mrf(registers.operands);
    let design = match config.design {
        DesignName::Baseline | DesignName::TwoLevel => Ok(mrf(registers.mrf)),
        DesignName::Rfc => {
            let size = (config.rfc.entries, config.scheduler.active_warps);
            match technology.rfc(size.0, size.1) {
                Some(rfc) => {
                    let (read, write) = (rfc.read_pj.value, rfc.write_pj.value);
                    let distance = config.energy.rfc_to_alu_mm;
                    Ok(mrf(registers.mrf) + level(technology, registers.rfc, read, write, distance))
                }
                None => Err(no_figure(technology, size)),
            }
        }
        DesignName::Rfv => Err(elsewhere(technology, "a register file of another size")),
        DesignName::Rfh => Err(elsewhere(technology, "a register file hierarchy")),
        DesignName::Regless => Err(elsewhere(technology, "operand staging units")),
    };
    let normalise = |of: fn(&Energy) -> f64| {
        let design = design.as_ref().ok()?;
        (of(&baseline) > 0.0).then(|| of(design) / of(&baseline))
    };
    AccessEnergyReport {
        technology: technology.name.clone(),
        normalised_access: normalise(|energy| energy.access_pj),
        normalised_with_wires: normalise(|energy| energy.with_wires_pj),
        baseline,
        unavailable: design.as_ref().err().cloned(),
        design: design.ok(),
    }
}

/// Energy of the accesses to one level.
fn level(technology: &Technology, accesses: Accesses, read: f64, write: f64, mm: f64) -> Energy {
    let (reads, writes) = (accesses.cluster_reads as f64, accesses.cluster_writes as f64);
    let words = f64::from(technology.access_bits) / 32.0;
    let access_pj = reads * read + writes * write;
    let wires_pj = (reads + writes) * words * technology.wire_pj_per_mm_per_32_bits.value * mm;
    Energy { access_pj, with_wires_pj: access_pj + wires_pj }
}

/// Where there is an energy for what this technology has none for.
fn elsewhere(technology: &Technology, what: &str) -> String {
    let (name, other) = (&technology.name, Surroundings::GTX980);
    format!("{name} has no energy for {what}; {other} has one, with preset gtx980-regless")
}

fn no_figure(technology: &Technology, (entries, active_warps): (u64, u64)) -> String {
    let known: Vec<_> =
        technology.rfc.iter().map(|rfc| format!("{}/{}", rfc.entries, rfc.active_warps)).collect();
    format!(
        "{} has no energy for a register file cache of {entries} entries a thread and {active_warps} active \
         warps; it has (entries/active warps) {}",
        technology.name,
        known.join(", ")
    )
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
mod tests {
    use super::*;
    use crate::config::preset;

    fn gebhart() -> (Technology, Config) {
        let technology = Technology::named("gebhart2011-40nm").expect("complete");
        (technology, preset("gebhart2011").expect("complete"))
    }

    /// Traffic in full warps: a warp-wide access is eight cluster accesses.
    fn warps(reads: u64, writes: u64) -> Accesses {
        Accesses { reads, writes, cluster_reads: 8 * reads, cluster_writes: 8 * writes }
    }

    #[test]
    fn the_technology_holds_the_nine_points_of_table_2_and_no_other() {
        let (technology, _) = gebhart();
        assert_eq!(technology.rfc.len(), 9);
        let points = [4, 6, 8].map(|entries| {
            [4, 6, 8].map(|warps| {
                let rfc = technology.rfc(entries, warps).expect("a point of Table 2");
                (rfc.area_um2.value, rfc.read_pj.value, rfc.write_pj.value)
            })
        });
        let table_2 = [
            [(5100.0, 1.2, 3.8), (7400.0, 1.2, 4.4), (9600.0, 1.9, 6.1)],
            [(7400.0, 1.2, 4.4), (10800.0, 1.7, 5.4), (14300.0, 2.2, 6.7)],
            [(9600.0, 1.9, 6.1), (14300.0, 2.2, 6.7), (18800.0, 3.4, 10.9)],
        ];
        assert_eq!(points, table_2);
    }

    /// §5.4: "if every access was to the RFC and the MRF was never accessed, the maximum idealized energy
    /// savings would be 58%", at 6 entries and 8 active warps. The paper's mix of reads and writes is not
    /// given; 58 % follows at 1.8 reads a write, and no mix gives less than 39 % or more than 73 %.
    #[test]
    fn the_idealised_saving_of_section_5_4_is_58_per_cent() {
        let (technology, config) = gebhart();
        let saving = |reads, writes| {
            let registers = RegisterTraffic {
                operands: warps(reads, writes),
                rfc: warps(reads, writes),
                ..RegisterTraffic::default()
            };
            let energy = evaluate(&technology, &config, &registers);
            100.0 * (1.0 - energy.normalised_access.expect("a point of Table 2"))
        };
        assert!((saving(18, 10) - 58.0).abs() < 0.5, "{}", saving(18, 10));
        assert!((saving(0, 10) - 39.1).abs() < 0.1);
        assert!((saving(10, 0) - 72.5).abs() < 0.1);
    }

    /// Table 5's rows differ only in wire lengths, so the row with wires that are equally long follows from the
    /// one without: more accesses travel 1 mm than in the baseline, since a write may go to both levels.
    #[test]
    fn wires_of_equal_length_cost_by_the_number_of_accesses() {
        let (technology, mut config) = gebhart();
        config.energy.rfc_to_alu_mm = 1.0;
        let registers = RegisterTraffic {
            operands: warps(180, 100),
            mrf: warps(90, 41),
            rfc: warps(90 + 41, 100),
            ..RegisterTraffic::default()
        };
        let energy = evaluate(&technology, &config, &registers);
        let access = energy.normalised_access.expect("a point of Table 2");
        let with_wires = energy.normalised_with_wires.expect("a point of Table 2");
        let access_pj = (90.0 * 8.0 + 41.0 * 11.0 + 131.0 * 2.2 + 100.0 * 6.7) * 8.0;
        let baseline_pj = (180.0 * 8.0 + 100.0 * 11.0) * 8.0;
        assert!((access - access_pj / baseline_pj).abs() < 1e-12);
        let wires = |accesses: f64| accesses * 8.0 * 4.0 * 1.9;
        let expected = (access_pj + wires(362.0)) / (baseline_pj + wires(280.0));
        assert!((with_wires - expected).abs() < 1e-12);
    }

    #[test]
    fn the_baseline_is_its_own_measure() {
        let (technology, mut config) = gebhart();
        config.design = DesignName::Baseline;
        let traffic = Accesses { reads: 3, writes: 2, cluster_reads: 17, cluster_writes: 9 };
        let registers = RegisterTraffic { operands: traffic, mrf: traffic, ..RegisterTraffic::default() };
        let energy = evaluate(&technology, &config, &registers);
        assert_eq!(energy.normalised_access, Some(1.0));
        assert_eq!(energy.normalised_with_wires, Some(1.0));
    }

    #[test]
    fn a_size_outside_table_2_gives_the_reason_and_no_number() {
        let (technology, mut config) = gebhart();
        config.rfc.entries = 5;
        let registers = RegisterTraffic { operands: warps(2, 1), ..RegisterTraffic::default() };
        let energy = evaluate(&technology, &config, &registers);
        assert_eq!((energy.design, energy.normalised_access), (None, None));
        let reason = energy.unavailable.expect("a reason");
        assert!(reason.contains("5 entries a thread and 8 active warps"), "{reason}");
    }

    #[test]
    fn nothing_accessed_is_nothing_to_normalise() {
        let (technology, config) = gebhart();
        let energy = evaluate(&technology, &config, &RegisterTraffic::default());
        assert_eq!(energy.normalised_access, None);
    }

    #[test]
    fn an_unknown_technology_lists_those_that_exist() {
        let error = Technology::named("7nm").expect_err("not there").to_string();
        let known = "gebhart2011-40nm, gtx980-28nm";
        assert_eq!(error, format!("unknown technology \"7nm\" (energy.technology); there are: {known}"));
    }

    #[test]
    fn every_technology_that_is_listed_can_be_used() {
        for name in technology_names() {
            let model = EnergyModel::named(name).expect("complete");
            let (is_arrays, node) = (matches!(model, EnergyModel::Arrays(_)), &name[name.len() - 4..]);
            assert_eq!((is_arrays, node), if is_arrays { (true, "28nm") } else { (false, "40nm") });
        }
    }

    #[test]
    fn arrays_have_no_energies_per_access() {
        let error = Technology::named("gtx980-28nm").expect_err("arrays").to_string();
        assert!(error.ends_with("no energies per access; gebhart2011-40nm has"), "{error}");
    }
}

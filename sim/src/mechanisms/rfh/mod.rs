//! Register file hierarchy: a last result file and an operand register file before the main register file, filled by the
//! compiler.
//!
//! Source: Gebhart et al., "A Compile-Time Managed Multi-Level Register File Hierarchy", MICRO 2011.

mod storage;

use warpfile_hdl::rfh::RegisterFileHierarchy;
use warpfile_kernels::compile::graph::Graphs;
use warpfile_kernels::compile::rfh::{self, MAX_ORF_ENTRIES};
use warpfile_kernels::program::Program;

use super::levels::Levels;
use super::register_file::{self, ACCESS_CYCLES, geometry, issues};
use super::waves::{self, WaveGroup};
use super::{Build, Code, Info, Mechanism, NamedCircuit, Notes, Part, Pass, Role};
use crate::config::{Accepted, Config, SectionInfo};
use crate::counters::{Group, Row, Shown};
use crate::energy::grid::Ports;
use crate::energy::structure::{ArrayAccesses, Structure, Wire};
use crate::sm::design::{ID_BITS, OperandStorage, Unit};
use crate::sm::{Accesses, RunReport, SimError};
use crate::{counters, parameters};
use storage::HierarchyStorage;

/// Name of the group of counters of the upper levels.
pub const COUNTERS: &str = "hierarchy";

/// Name of the arrays of the last result files.
const LRF: &str = "last result files";
/// Name of the arrays of the operand register files.
const ORF: &str = "operand register files";

/// A register file hierarchy.
pub struct Rfh;

parameters! {
    /// Register file hierarchy: a last result file and an operand register file before the main register file.
    pub struct Parameters in "rfh" {
        /// Entries of the operand register file for a warp; the last result file has one.
        orf_entries: u64 = 3, Accepted::integer(1, MAX_ORF_ENTRIES as u64);
    }
}

counters! {
    /// Accesses to the levels above the main register file.
    pub struct UpperLevels {
        /// The last result file.
        lrf: group(Accesses),
        /// The operand register file, copies of operands included.
        orf: group(Accesses),
    }
}

impl Mechanism for Rfh {
    fn info(&self) -> Info {
        let design = "register file hierarchy managed by the compiler, two-level scheduler (Gebhart et al., MICRO 2011)";
        Info {
            name: "rfh",
            summary: "register file hierarchy managed by the compiler (Gebhart et al., MICRO 2011)",
            design: Some(("rfh", design)),
            preset: "gtx980-gpgpusim",
        }
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "two-level" }
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn pass(&self) -> Pass {
        Pass::Notes
    }

    fn compile(
        &self,
        config: &Config,
        program: &Program,
        notes: &mut Notes,
    ) -> Result<Option<Program>, SimError> {
        notes.leave(rfh::compile(program, &pass_parameters(config)?).map_err(SimError::mechanism)?);
        Ok(None)
    }

    fn listing(&self, config: &Config, code: Code<'_>) -> Result<Option<String>, SimError> {
        let Code { program, cfg, .. } = code;
        let placement = rfh::compile(program, &pass_parameters(config)?).map_err(SimError::mechanism)?;
        let cfg = Graphs::blocks_of_lanes(program, cfg).map_err(SimError::mechanism)?;
        Ok(Some(rfh::listing::listing(program, &placement, &cfg)))
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(UpperLevels::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, "register_file", &circuit(config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config);
        let part = |engine| Ok(Box::new(HierarchyStorage::new(engine, &circuit)?) as Box<dyn OperandStorage>);
        Ok(Part::Storages { of_partitions: at.of_partitions(&circuit, &[], part)?, line_port: None })
    }

    fn structures(&self, config: &Config) -> Vec<Structure> {
        let slots = config.design.slots(config) as u32;
        let entries = config.of::<Parameters>().orf_entries as u32;
        let level = |name, rows, accesses| Structure {
            wire: Wire::FromUpperLevel,
            ..Structure::of_warp_registers(name, config.partitions() as u32, rows, Ports::DUAL, accesses)
                .of_flip_flops()
        };
        let mut structures = register_file::structures(config, config.register_file.rows);
        structures.extend([
            level(LRF, slots, |report: &RunReport| ArrayAccesses::of(accesses(report).lrf)),
            level(ORF, slots * entries, |report: &RunReport| ArrayAccesses::of(accesses(report).orf)),
        ]);
        structures
    }

    fn rows(&self) -> Vec<Row> {
        let own = [
            ("LRF reads", Shown::Count("hierarchy.lrf.reads")),
            ("LRF writes", Shown::Count("hierarchy.lrf.writes")),
            ("ORF reads", Shown::Count("hierarchy.orf.reads")),
            ("ORF writes", Shown::Count("hierarchy.orf.writes")),
        ];
        let mut rows = register_file::rows();
        rows.splice(2..2, own.map(|(label, shown)| Row { label, shown }));
        rows
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::ISSUE, UPPER, waves::RESULT, waves::OPERANDS]
    }
}

/// Accesses to the upper levels.
pub fn accesses(report: &RunReport) -> UpperLevels {
    report.counters.get(COUNTERS)
}

/// Values are placed by what the technology of the configuration charges for each level.
fn pass_parameters(config: &Config) -> Result<rfh::Parameters, SimError> {
    let levels = Levels::of(config)?;
    let energies = rfh::LevelEnergies {
        main: levels.main_register_file(),
        orf: levels.access(ORF),
        lrf: levels.access(LRF),
    };
    Ok(rfh::Parameters { orf_entries: config.of::<Parameters>().orf_entries as u8, energies })
}

fn circuit(config: &Config) -> RegisterFileHierarchy {
    RegisterFileHierarchy {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        slots: config.design.slots(config) as usize,
        orf_entries: config.of::<Parameters>().orf_entries as usize,
        issues: issues(config),
    }
}

const UPPER: WaveGroup = WaveGroup {
    title: "Upper levels",
    scope: "register_file.upper",
    signals: &[
        "issue0_taken_i",
        "issue0_slot_i",
        "issue0_source0_valid_i",
        "issue0_source0_entry_i",
        "issue0_copy_valid_i",
        "issue0_copy_entry_i",
        "result0_valid_i",
        "result0_slot_i",
        "result0_entry_i",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;
    use crate::energy::{EnergyModel, technology_names};

    /// What the compiler takes an access for is what a run with that access alone is charged for it, in any technology.
    #[test]
    fn values_are_placed_by_what_is_charged() {
        let slices =
            |reads, writes| Accesses { cluster_reads: reads, cluster_writes: writes, ..Default::default() };
        for technology in technology_names() {
            let mut config = preset("gtx980-regless").expect("complete").with_design("rfh").expect("known");
            config.energy.technology = technology.to_owned();
            let model = EnergyModel::named(technology).expect("complete");
            let charged = |mrf: Accesses, upper: UpperLevels| {
                let mut report = RunReport::default();
                report.counters.add(crate::sm::MRF, &mrf);
                report.counters.add(COUNTERS, &upper);
                let run = crate::energy::MeasuredRun { config: &config, report: &report };
                let energy = model.registers(run).expect("priced");
                energy.access_pj + energy.wires_pj
            };
            let energies = pass_parameters(&config).expect("priced").energies;
            let (none, upper) = (Accesses::default(), UpperLevels::default());
            let levels = [
                (energies.main.read, charged(slices(8, 0), upper)),
                (energies.main.write, charged(slices(0, 8), upper)),
                (energies.orf.read, charged(none, UpperLevels { orf: slices(8, 0), ..upper })),
                (energies.orf.write, charged(none, UpperLevels { orf: slices(0, 8), ..upper })),
                (energies.lrf.read, charged(none, UpperLevels { lrf: slices(8, 0), ..upper })),
                (energies.lrf.write, charged(none, UpperLevels { lrf: slices(0, 8), ..upper })),
            ];
            for (assumed, charged) in levels {
                assert!((assumed / charged - 1.0).abs() < 1e-9, "{technology}: {levels:?}");
            }
            assert!(energies.orf.read < energies.main.read && energies.lrf.read < energies.orf.read);
        }
    }
}

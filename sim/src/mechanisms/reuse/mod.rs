//! Register reuse cache: operands that the compiler marks are kept where they are read, for a later instruction that reads the
//! same register in the same operand position.
//!
//! Source: Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, §5.3.1, as found in NVIDIA's
//! machines from Turing on; the flags are those of machine code since Maxwell.

mod storage;

use warpfile_hdl::reuse::ReuseRegisterFile;
use warpfile_kernels::compile::reuse;
use warpfile_kernels::program::{MAX_SOURCES, Program};

use super::register_file::{self, ACCESS_CYCLES, COLLECTORS, buffered, geometry, issues};
use super::waves::{self, Occupancy, WaveGroup};
use super::{Build, Code, Info, Mechanism, NamedCircuit, Notes, Part, Pass, RegisterRows, Role};
use crate::config::{Accepted, Config, ConfigError, SectionInfo, conflict};
use crate::counters::{Group, Row, Shown};
use crate::energy::grid::Ports;
use crate::energy::structure::{Account, ArrayAccesses, Structure, Wire};
use crate::sm::design::{ID_BITS, OperandStorage, Unit};
use crate::sm::{Accesses, RunReport, SimError};
use crate::{counters, parameters};
use storage::ReuseStorage;

/// Name of the group of counters.
pub const COUNTERS: &str = "reuse_cache";

/// A register reuse cache.
pub struct Reuse;

parameters! {
    /// The register reuse cache: an entry for each operand position and bank.
    pub struct Parameters in "reuse" {
        /// A write ends what is kept of its register. Without it, as in the hardware that was measured, the compiler alone sees to
        /// it: operands that a guard might keep from being read again are not kept, nor any of a trace without guards.
        drops_written: bool = true, Accepted::Flag;
    }
}

counters! {
    /// The register reuse cache.
    pub struct Reused {
        /// Operands that were taken from it, and operands that it has kept.
        values: group(Accesses),
        /// Of those taken, the first operands of instructions.
        first: sum("accesses"),
        /// The second.
        second: sum("accesses"),
        /// The third.
        third: sum("accesses"),
    }
}

impl Mechanism for Reuse {
    fn info(&self) -> Info {
        Info {
            name: "reuse",
            summary: "register reuse cache managed by the compiler (Huerta et al., MICRO 2025, §5.3.1)",
            design: Some((
                "reuse",
                "register reuse cache managed by the compiler, single-level scheduler (Huerta et al., MICRO 2025)",
            )),
            preset: "volta",
        }
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "single-level" }
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let leaves_it = |reason: &str| Err(conflict("reuse.drops_written", "false", reason.to_owned()));
        match config.of::<Parameters>().drops_written {
            false if config.issues_per_partition() > 1 => leaves_it(
                "true is needed with sm.issues_per_scheduler = 2: a later read may go to the other cache",
            ),
            false if config.design.mechanisms().any(|mechanism| mechanism.role() == Role::Layer) => {
                leaves_it(
                    "true is needed with a layer, which may take a reader away that the compiler counts on",
                )
            }
            _ => Ok(()),
        }
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
        notes.leave(marks(config, program)?);
        Ok(None)
    }

    fn listing(&self, config: &Config, code: Code<'_>) -> Result<Option<String>, SimError> {
        let Code { program, cfg, .. } = code;
        Ok(Some(reuse::listing::listing(program, &marks(config, program)?, cfg)))
    }

    /// Tags are rows, and a write ends what is kept of its row.
    fn register_rows(&self, _config: &Config) -> RegisterRows {
        RegisterRows::Movable
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, "register_file", &circuit(config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config);
        let part = |engine| Ok(Box::new(ReuseStorage::new(engine, &circuit)?) as Box<dyn OperandStorage>);
        Ok(Part::Storages { of_partitions: at.of_partitions(&circuit, &[], part)?, line_port: None })
    }

    fn structures(&self, config: &Config) -> Vec<Structure> {
        let mut structures = register_file::structures(config, config.register_file.rows);
        for collectors in structures.iter_mut().filter(|structure| structure.name == COLLECTORS) {
            collectors.accesses =
                |report| buffered(report.mrf().cluster_reads + reused(report).values.cluster_reads);
        }
        structures.extend(cache_structures(config));
        structures
    }

    fn rows(&self) -> Vec<Row> {
        let own = [
            ("reused operands", Shown::Count("reuse_cache.values.reads")),
            ("kept operands", Shown::Count("reuse_cache.values.writes")),
        ];
        let mut rows = register_file::rows();
        rows.splice(2..2, own.map(|(label, shown)| Row { label, shown }));
        rows
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Reused::default()))]
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        let (title, register) = ("Entries of the reuse cache that keep an operand", ("kept", "_q"));
        vec![Occupancy { title, instance: "cache", register, counts_zeros: false }]
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::ISSUE, CACHE, waves::OPERANDS, waves::RESULT, waves::FILL]
    }
}

/// What the register reuse cache has done.
pub fn reused(report: &RunReport) -> Reused {
    report.counters.get(COUNTERS)
}

/// The arrays of the caches: for each operand position of each group of collectors an entry a bank. The tags of a position are
/// compared for each operand that is read there and, if writes end what is kept, those of all positions for each write.
fn cache_structures(config: &Config) -> [Structure; 2] {
    let positions = (config.partitions() * config.issues_per_partition()) as u32 * MAX_SOURCES as u32;
    let banks = config.register_file.bank_groups as u32;
    let of_reads = |report: &RunReport| ArrayAccesses {
        searches: report.operands.reads,
        row_writes: reused(report).values.writes,
        ..ArrayAccesses::default()
    };
    let of_writes_too = |report: &RunReport| ArrayAccesses {
        searches: report.operands.reads + MAX_SOURCES as u64 * report.operands.writes,
        row_writes: reused(report).values.writes,
        ..ArrayAccesses::default()
    };
    let values = Structure {
        wire: Wire::FromUpperLevel,
        ..Structure::of_warp_registers("register reuse cache", positions, banks, Ports::DUAL, |report| {
            ArrayAccesses::of(reused(report).values)
        })
        .of_flip_flops()
    };
    // A row, and whether it is kept.
    let bits = geometry(config).row_bits() as u32 + 1;
    let searched = if config.of::<Parameters>().drops_written { of_writes_too } else { of_reads };
    let tags = Structure::table(
        "tags of the register reuse cache",
        Account::Control,
        (positions, banks, bits),
        searched,
    );
    [values, tags]
}

/// The operands of a program that are kept.
fn marks(config: &Config, program: &Program) -> Result<reuse::Marks, SimError> {
    let beyond_guards = config.of::<Parameters>().drops_written;
    // A trace that does not say what is computed does not say what guards there are.
    if !beyond_guards && program.computations.is_empty() {
        let none = [false; MAX_SOURCES];
        return Ok(reuse::Marks { instructions: vec![none; program.instructions.len()] });
    }
    let parameters = reuse::Parameters { banks: config.register_file.bank_groups as u16, beyond_guards };
    reuse::compile(program, &parameters).map_err(SimError::mechanism)
}

fn circuit(config: &Config) -> ReuseRegisterFile {
    ReuseRegisterFile {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        drops_written: config.of::<Parameters>().drops_written,
        issues: issues(config),
    }
}

const CACHE: WaveGroup = WaveGroup {
    title: "Register reuse cache",
    scope: "register_file.collectors0.cache",
    signals: &[
        "position0_kept_o",
        "position0_read_valid_i",
        "position0_read_reuse_i",
        "position0_read_keep_i",
        "position0_read_row_i",
        "position1_kept_o",
        "position1_read_valid_i",
        "position1_read_reuse_i",
        "position1_read_keep_i",
        "position1_read_row_i",
    ],
};

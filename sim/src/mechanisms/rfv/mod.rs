//! Register file virtualisation: registers are renamed onto fewer physical ones, which are given back where the compiler
//! says that a value is dead.
//!
//! Source: Jeon et al., "GPU Register File Virtualization", MICRO 2015; half the size as in Kloosterman et al., MICRO 2017,
//! §6.1.

mod residents;
mod storage;

use warpfile_hdl::regfile::Geometry;
use warpfile_hdl::rfv::VirtualRegisterFile;
use warpfile_kernels::compile::rfv;
use warpfile_kernels::program::Program;

use super::register_file::{self, ACCESS_CYCLES, geometry, issues};
use super::waves::{self, Occupancy, WaveGroup};
use super::{Build, Code, Info, Mechanism, NamedCircuit, Notes, Part, Pass, RegisterRows, Role};
use crate::config::{Accepted, Config, ConfigError, SectionInfo, conflict};
use crate::counters::{Group, Row, Shown};
use crate::energy::structure::{Account, ArrayAccesses, Structure};
use crate::sm::design::{ID_BITS, OperandStorage, Unit};
use crate::sm::{RunReport, SimError};
use crate::{counters, parameters};
use storage::RenamedRegisterFile;

/// Name of the group of counters of renaming.
pub const COUNTERS: &str = "renaming";
/// Rows that a bank of a renamed register file may have.
const ROWS: std::ops::RangeInclusive<u64> = 2..=1024;
/// Architectural registers that a rename table has.
const NAMES: u64 = 4096;

/// A register file that renames.
pub struct Rfv;

parameters! {
    /// The renamed register file.
    pub struct Parameters in "rfv" {
        /// Physical warp-wide registers of an SM, equally many in each bank group of each scheduler. Warps are resident
        /// as with the registers of `register_file`.
        registers: u64 = 512, Accepted::integer(8, 16_384);
    }
}

counters! {
    /// Renaming of registers onto fewer physical ones.
    pub struct Renaming {
        /// Physical registers given to a register.
        allocations: sum("registers"),
        /// Most physical registers in use at once, summed over schedulers.
        most_in_use: sum("registers"),
        /// Physical registers in use, summed over cycles.
        register_cycles: sum("register cycles"),
        /// Cycles in which a picked instruction waited because no physical register was free for it, summed over
        /// schedulers.
        allocation_waits: sum("cycles"),
    }
}

/// The warps of a block may need more physical registers than there are.
#[derive(Debug, thiserror::Error)]
#[error(
    "kernel {kernel}: the warps of a block that share a scheduler may need {needed} physical registers at once \
     ({most_held} for one of them, {most_held_at_barrier} for each of {} others that wait at a barrier), there are \
     {available}; use a smaller block or raise rfv.registers", warps - 1
)]
struct TooFewRegisters {
    kernel: String,
    needed: u64,
    /// Most registers that a warp has at once.
    most_held: u64,
    /// Warps of the block that share a scheduler.
    warps: u64,
    /// Most registers that a warp has while it waits at a barrier.
    most_held_at_barrier: u64,
    /// Physical registers of a scheduler.
    available: u64,
}

impl Mechanism for Rfv {
    fn info(&self) -> Info {
        Info {
            name: "rfv",
            summary: "smaller register file with renaming (Jeon et al.)",
            design: Some(("rfv", "smaller register file with renaming, two-level scheduler (Jeon et al.)")),
            preset: "gtx980-gpgpusim",
        }
    }

    fn register_rows(&self, _config: &Config) -> RegisterRows {
        RegisterRows::Chosen
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "two-level" }
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let banks = config.partitions() * config.register_file.bank_groups;
        let registers = config.of::<Parameters>().registers;
        if !registers.is_multiple_of(banks) || !ROWS.contains(&(registers / banks)) {
            let reason = format!("2 to 1024 registers for each of {banks} bank groups of the SM");
            return Err(conflict("rfv.registers", registers, reason));
        }
        let names = config.register_file.bank_groups * config.register_file.rows;
        if names > NAMES {
            let reason = format!(
                "design rfv: at most {NAMES} registers for each scheduler, there are {} bank groups",
                config.register_file.bank_groups
            );
            return Err(conflict("register_file.rows", config.register_file.rows, reason));
        }
        Ok(())
    }

    fn pass(&self) -> Pass {
        Pass::Notes
    }

    fn compile(
        &self,
        _config: &Config,
        program: &Program,
        notes: &mut Notes,
    ) -> Result<Option<Program>, SimError> {
        notes.leave(rfv::compile(program).map_err(SimError::mechanism)?);
        Ok(None)
    }

    fn listing(&self, _config: &Config, code: Code<'_>) -> Result<Option<String>, SimError> {
        let Code { program, cfg, .. } = code;
        let releases = rfv::compile(program).map_err(SimError::mechanism)?;
        Ok(Some(rfv::listing::listing(program, &releases, cfg)))
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Renaming::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, "register_file", &circuit(config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config);
        let part =
            |engine| Ok(Box::new(RenamedRegisterFile::new(engine, &circuit)?) as Box<dyn OperandStorage>);
        Ok(Part::Storages { of_partitions: at.of_partitions(&circuit, &[], part)?, line_port: None })
    }

    /// A name's row in the rename table is its register, and whether it has one and is about to be given back. Kloosterman
    /// et al. charge neither it nor the lists of free registers (§6.1).
    fn structures(&self, config: &Config) -> Vec<Structure> {
        let partitions = config.partitions() as u32;
        let banks = config.partitions() * config.register_file.bank_groups;
        let registers = config.of::<Parameters>().registers;
        let names = config.register_file.bank_groups * config.register_file.rows;
        let name_bits = index_bits(registers / config.partitions()) + 2;
        let renamed = |report: &RunReport| ArrayAccesses {
            row_reads: report.operands.reads + report.operands.writes,
            row_writes: 2 * report.counters.get::<Renaming>(COUNTERS).allocations,
            ..ArrayAccesses::default()
        };
        let given = |report: &RunReport| {
            ArrayAccesses::queued(2 * report.counters.get::<Renaming>(COUNTERS).allocations)
        };
        let mut structures = register_file::structures(config, registers / banks);
        structures.extend([
            Structure::table(
                "rename tables",
                Account::Control,
                (partitions, names as u32, name_bits),
                renamed,
            ),
            Structure::table(
                "free registers",
                Account::Control,
                (banks as u32, (registers / banks) as u32, 1),
                given,
            ),
        ]);
        structures
    }

    fn rows(&self) -> Vec<Row> {
        let own = [
            ("registers allocated", Shown::Count("renaming.allocations")),
            ("most registers in use", Shown::Count("renaming.most_in_use")),
            ("cycles without a free register", Shown::Count("renaming.allocation_waits")),
        ];
        let own = own.map(|(label, shown)| Row { label, shown });
        register_file::rows().into_iter().chain(own).collect()
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        let (title, register) = ("Architectural registers with a physical one", ("names", "_valid_q"));
        vec![Occupancy { title, instance: "renaming", register, counts_zeros: false }]
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::ISSUE, RENAMING, waves::RESULT, waves::OPERANDS]
    }
}

/// Bits that tell `count` rows apart.
fn index_bits(count: u64) -> u32 {
    u64::BITS - (count.max(2) - 1).leading_zeros()
}

/// Architectural registers are those of the full register file.
fn circuit(config: &Config) -> VirtualRegisterFile {
    let full = geometry(config);
    let rows = config.of::<Parameters>().registers / config.partitions() / config.register_file.bank_groups;
    VirtualRegisterFile {
        names: full.banks * full.rows,
        warps: config.warps_per_partition() as usize,
        geometry: Geometry { rows: rows as usize, ..full },
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        issues: issues(config),
    }
}

const RENAMING: WaveGroup = WaveGroup {
    title: "Renaming",
    scope: "register_file.renaming",
    signals: &[
        "issue0_source0_name_i",
        "issue0_source0_mapped_o",
        "issue0_source0_register_o",
        "issue0_allocated_o",
        "freed0_valid_o",
        "used_o",
    ],
};

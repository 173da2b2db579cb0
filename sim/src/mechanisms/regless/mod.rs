//! RegLess: operands are staged just in time; registers live in L1, L2 and DRAM.
//!
//! Source: Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017.

mod code;
mod l1_port;
mod storage;
pub mod structures;

use warpfile_engine::EngineError;
use warpfile_hdl::regless::{Fate, L1Port, Note, RegLessShard, RequestKind, ShardGeometry};
use warpfile_kernels::compile::regless::{self, BANKS, Regions, SoftDefs};
use warpfile_kernels::program::Program;

use super::register_file::{is_gated, issues};
use super::waves::{self, Enumeration, Occupancy, WaveGroup};
use super::{Build, Code, Info, Mechanism, NamedCircuit, Notes, Part, Pass, RegisterRows, Role};
use crate::config::{Accepted, Config, ConfigError, MemoryModel, SectionInfo, conflict};
use crate::counters::{Group, Row, Shown};
use crate::energy::structure::Structure;
use crate::sm::design::{ID_BITS, LinePort, OperandStorage, Unit};
use crate::sm::{Accesses, RunReport, SimError, TableAccesses};
use crate::{counters, parameters};
use l1_port::L1PortCircuit;
use storage::RegLessStorage;

/// Name of the group of counters of the operand staging units.
pub const STAGING_COUNTERS: &str = "staging";

/// Warps of a scheduler that a shard serves at most.
const SHARD_WARPS: u64 = 16;
/// Lines that a bank of an operand staging unit may have.
const BANK_LINES: std::ops::RangeInclusive<u64> = 2..=64;
/// Lines that a compressor may hold.
const COMPRESSOR_LINES: u64 = 64;
/// Bytes of a warp-wide register.
const REGISTER_LINE_BYTES: u64 = 4 * warpfile_kernels::program::LANES as u64;

/// Operand staging units in place of a register file.
pub struct RegLess;

parameters! {
    /// RegLess: operand staging units, and how its compiler divides programs.
    pub struct Parameters in "regless" {
        /// Lines of the operand staging units of an SM; a bank, of eight a scheduler, has 2 to 64.
        lines: u64 = 512, Accepted::integer(16, 2048);
        /// Most lines that a region may hold, as a part of a scheduler's.
        max_live_fraction: f64 = 0.25, Accepted::real(0.01, 1.0);
        /// Which definitions may leave lanes of a register as they were.
        soft_defs: SoftDefs = SoftDefs::Sound, Accepted::one_of::<SoftDefs>();
        /// Renumber registers so that those of a region lie in different banks.
        spread_banks: bool = true, Accepted::Flag;
        /// Words of metadata kept for a warp, a power of two.
        metadata_words: u64 = 16, Accepted::integer(2, 64);
        /// Metadata instructions take issue slots (§5.4); without it they cost energy alone, which tells what the slots
        /// cost.
        metadata_slots: bool = true, Accepted::Flag;
        /// Accesses that can wait at each bank.
        queue: u64 = 4, Accepted::integer(2, 16);
        /// Instructions that the read unit of an execution unit holds, a power of two.
        read_entries: u64 = 4, Accepted::integer(2, 16);
        /// Compressed lines that the compressors of an SM hold, equally many each; 0 leaves the compressors out.
        compressor_lines: u64 = 48, Accepted::integer(0, 256);
        /// Requests for compressed registers that can wait at a compressor.
        compressor_queue: u64 = 4, Accepted::integer(1, 64);
    }
}

counters! {
    /// What shards of RegLess did.
    pub struct Staging {
        /// Accesses to values in the operand staging unit.
        values: group(Accesses),
        /// Regions that warps have become active with.
        regions: sum("regions"),
        /// Cycles that regions were active, from the cycle in which their warp may issue to that in which its last
        /// instruction has issued; summed over regions (Table 2).
        active_cycles: sum("cycles"),
        /// Cycles from there until the region's reads have been served, its last value is written and its warp inactive; summed
        /// over regions.
        draining_cycles: sum("cycles"),
        /// Registers that regions need from before, by where they were.
        preloads: group(Preloads),
        /// Accesses to the tags of the banks.
        tags: group(TableAccesses),
        /// Accesses to the lines of compressors.
        compressed_lines: group(TableAccesses),
        /// Accesses to the tags of these lines.
        compressed_tags: group(TableAccesses),
        /// Accesses to the bits that say which registers are compressed.
        compressed_registers: group(TableAccesses),
    }
}

counters! {
    /// Registers that regions need from before, by where they were (Fig. 17). Those fetched that are not compressed are
    /// requests of memory: [`RegisterLineStatistics`](crate::sm::RegisterLineStatistics) has their level, lines of
    /// compressed registers included.
    pub struct Preloads {
        /// Still in the operand staging unit.
        staged: sum("registers"),
        /// Without a value: nothing is fetched.
        unwritten: sum("registers"),
        /// Not there: fetched.
        fetched: sum("registers"),
        /// Of those fetched, compressed ones whose line the compressor held.
        compressor_hits: sum("registers"),
        /// Of those fetched, compressed ones whose line the compressor had to fetch.
        compressor_misses: sum("registers"),
    }
}

/// What the shards of a run did.
pub fn staging(report: &RunReport) -> Staging {
    report.counters.get(STAGING_COUNTERS)
}

impl Mechanism for RegLess {
    fn info(&self) -> Info {
        let summary = "operand staging units, registers in memory (Kloosterman et al. §5)";
        Info { name: "regless", summary, design: Some(("regless", summary)), preset: "gtx980-gpgpusim" }
    }

    fn register_rows(&self, config: &Config) -> RegisterRows {
        RegisterRows::Lines { banks: BANKS, lines: bank_lines(config) }
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "single-level" }
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        check_shards(config)?;
        check_lines_in_memory(config)
    }

    /// The compressor would find patterns in none of them.
    fn without_values(&self, config: &mut Config) -> Result<Option<&'static str>, ConfigError> {
        config.edit(|regless: &mut Parameters| regless.compressor_lines = 0);
        Ok(Some("No compressor in regless: it finds patterns in a kernel's own values only."))
    }

    fn pass(&self) -> Pass {
        Pass::Rewrites
    }

    fn compile(
        &self,
        config: &Config,
        program: &Program,
        notes: &mut Notes,
    ) -> Result<Option<Program>, SimError> {
        let (program, regions) = compile(config, program)?;
        notes.leave(regions);
        Ok(Some(program))
    }

    fn listing(&self, config: &Config, code: Code<'_>) -> Result<Option<String>, SimError> {
        let Code { program, cfg, .. } = code;
        let (program, regions) = compile(config, program)?;
        Ok(Some(regless::listing::listing(&program, &regions, cfg)))
    }

    fn counters(&self) -> Vec<Group> {
        vec![(STAGING_COUNTERS, Box::new(Staging::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![
            NamedCircuit::of_partition(config, "register_file", &shard(config))?,
            NamedCircuit::of_sm(config, l1_port::CIRCUIT, &l1_port(config))?,
        ])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = shard(at.config);
        let slots = at.config.of::<Parameters>().metadata_slots;
        let part = |engine| -> Result<Box<dyn OperandStorage>, EngineError> {
            Ok(Box::new(RegLessStorage::new(engine, &circuit, slots)?))
        };
        Ok(Part::Storages {
            of_partitions: at.of_partitions(&circuit, &storage::FORESEEN, part)?,
            line_port: Some(line_port(at)?),
        })
    }

    fn structures(&self, config: &Config) -> Vec<Structure> {
        structures::of(config)
    }

    fn rows(&self) -> Vec<Row> {
        [
            ("OSU reads", Shown::Count("staging.values.reads")),
            ("OSU writes", Shown::Count("staging.values.writes")),
            ("regions", Shown::Count("staging.regions")),
            ("cycles a region", Shown::Mean("staging.active_cycles", "staging.regions")),
            ("preloads fetched", Shown::Count("staging.preloads.fetched")),
        ]
        .map(|(label, shown)| Row { label, shown })
        .into()
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![REGIONS, METADATA, waves::ISSUE, STAGING, MEMORY, WRITES]
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        let lines = |title, register, counts_zeros| Occupancy {
            title,
            instance: "bank",
            register: (register, "_q"),
            counts_zeros,
        };
        vec![
            lines("Lines of the staging unit with a register", "free", true),
            lines("Lines of the staging unit that regions hold", "held", false),
        ]
    }

    fn enumerations(&self) -> Vec<Enumeration> {
        vec![REQUEST_KIND, NOTE, FATE]
    }
}

/// The port of register lines to the L1.
///
/// # Errors
/// A parameter that the circuit does not support.
pub fn line_port(at: &Build<'_>) -> Result<Box<dyn LinePort>, SimError> {
    let shape = l1_port(at.config);
    let port = L1PortCircuit::new(at.circuit(&shape, &l1_port::FORESEEN)?, &shape);
    Ok(Box::new(port.map_err(|error| SimError::circuit(at.config, error))?))
}

/// What the circuits of a shard ask for.
fn check_shards(config: &Config) -> Result<(), ConfigError> {
    let parameters = config.of::<Parameters>();
    let schedulers = config.partitions();
    let shard_warps = config.warps_per_partition();
    if shard_warps > SHARD_WARPS || !shard_warps.is_power_of_two() {
        let reason = format!("design regless: a power of two of at most {SHARD_WARPS} for each scheduler");
        return Err(conflict("sm.warps", config.sm.warps, reason));
    }
    let banks = schedulers * BANKS as u64;
    let lines = parameters.lines;
    if !lines.is_multiple_of(banks) || !BANK_LINES.contains(&(lines / banks)) {
        let reason = format!("2 to 64 lines for each of {BANKS} banks of {schedulers} schedulers");
        return Err(conflict("regless.lines", lines, reason));
    }
    let compressed = parameters.compressor_lines;
    if !compressed.is_multiple_of(schedulers) || compressed / schedulers > COMPRESSOR_LINES {
        let reason = format!("0 to {COMPRESSOR_LINES} lines for each of {schedulers} schedulers");
        return Err(conflict("regless.compressor_lines", compressed, reason));
    }
    for (key, value) in [
        ("regless.metadata_words", parameters.metadata_words),
        ("regless.read_entries", parameters.read_entries),
    ] {
        if !value.is_power_of_two() {
            return Err(conflict(key, value, "a power of two is needed".to_owned()));
        }
    }
    Ok(())
}

/// What register lines in memory ask for.
fn check_lines_in_memory(config: &Config) -> Result<(), ConfigError> {
    if config.memory.model == MemoryModel::Fixed {
        let reason = "design regless keeps registers in caches; accepted: caches, queued".to_owned();
        return Err(conflict("memory.model", "fixed", reason));
    }
    if !config.memory.single_l1_port {
        let reason =
            "design regless has an L1 port that takes one request a cycle; accepted: true".to_owned();
        return Err(conflict("memory.single_l1_port", "false", reason));
    }
    for (key, value) in [("l1.line_bytes", config.l1.line_bytes), ("l2.line_bytes", config.l2.line_bytes)] {
        if value != REGISTER_LINE_BYTES {
            let reason = format!("design regless: a register is a line of {REGISTER_LINE_BYTES} bytes");
            return Err(conflict(key, value, reason));
        }
    }
    Ok(())
}

/// More registers than the tags of the staging units name.
#[derive(Debug, thiserror::Error)]
#[error(
    "kernel {kernel}: {registers} registers a thread; design regless names at most {most}: compile the kernel with \
     --max-registers {most}"
)]
struct TooManyRegisters {
    kernel: String,
    registers: u16,
    most: u16,
}

/// The program for the staging units, and its regions.
fn compile(config: &Config, program: &Program) -> Result<(Program, Regions), SimError> {
    let most = 1 << ShardGeometry::GTX980.register_bits;
    if program.registers_per_thread > most {
        let (kernel, registers) = (program.name.clone(), program.registers_per_thread);
        return Err(SimError::mechanism(TooManyRegisters { kernel, registers, most }));
    }
    regless::compile(program, &pass_parameters(config)).map_err(SimError::mechanism)
}

fn pass_parameters(config: &Config) -> regless::Parameters {
    let parameters = config.of::<Parameters>();
    let shard_lines = parameters.lines / config.partitions();
    regless::Parameters {
        max_live_registers: (shard_lines as f64 * parameters.max_live_fraction) as u16,
        soft_defs: parameters.soft_defs,
        spread_banks: parameters.spread_banks,
        ..regless::Parameters::for_shard(shard_lines as u16)
    }
}

fn shard(config: &Config) -> RegLessShard {
    let parameters = config.of::<Parameters>();
    RegLessShard {
        geometry: ShardGeometry {
            warps: config.warps_per_partition() as usize,
            lines: bank_lines(config),
            ..ShardGeometry::GTX980
        },
        metadata_words: parameters.metadata_words as usize,
        queue: parameters.queue as usize,
        units: Unit::COUNT,
        entries: parameters.read_entries as usize,
        id_bits: ID_BITS,
        writes: issues(config) + 1,
        compressor_lines: (parameters.compressor_lines / config.partitions()) as usize,
        compressor_queue: parameters.compressor_queue as usize,
        issues: issues(config),
        gated: is_gated(config),
    }
}

fn l1_port(config: &Config) -> L1Port {
    L1Port {
        shards: config.partitions() as usize,
        warps: config.warps_per_partition() as usize,
        register_bits: ShardGeometry::GTX980.register_bits,
        osu_lines: bank_lines(config),
        lanes: ShardGeometry::GTX980.lanes,
    }
}

/// Lines of a bank of an operand staging unit.
fn bank_lines(config: &Config) -> usize {
    (config.of::<Parameters>().lines / config.partitions()) as usize / BANKS
}

const REQUEST_KIND: Enumeration =
    Enumeration { name: "request_kind", contains: "request", ends: "_kind", values: RequestKind::CODES };

const NOTE: Enumeration = Enumeration { name: "note", contains: "note", ends: "_kind", values: Note::CODES };

const FATE: Enumeration = Enumeration { name: "fate", contains: "", ends: "_fate", values: Fate::CODES };

const REGIONS: WaveGroup = WaveGroup {
    title: "Regions",
    scope: "register_file",
    signals: &["waiting_i", "inactive_o", "active_o", "exit_valid_i", "exit_warp_i"],
};

const METADATA: WaveGroup = WaveGroup {
    title: "Metadata",
    scope: "register_file",
    signals: &[
        "metadata_valid_i",
        "metadata_ready_o",
        "metadata_warp_i",
        "metadata_note0_valid_i",
        "metadata_note0_kind_i",
        "metadata_note0_register_i",
    ],
};

const STAGING: WaveGroup = WaveGroup {
    title: "Staging",
    scope: "register_file",
    signals: &["tag_access_o", "preload_hit_o", "preload_unwritten_o", "preload_fetched_o"],
};

const MEMORY: WaveGroup = WaveGroup {
    title: "Memory",
    scope: "register_file",
    signals: &[
        "memory_request_valid_o",
        "memory_request_ready_i",
        "memory_request_kind_o",
        "memory_request_warp_o",
        "memory_request_register_o",
        "memory_fill_valid_i",
        "memory_fill_warp_i",
        "memory_fill_register_i",
    ],
};

const WRITES: WaveGroup = WaveGroup {
    title: "Result",
    scope: "register_file",
    signals: &[
        "write0_valid_i",
        "write0_ready_o",
        "write0_warp_i",
        "write0_register_i",
        "write0_line_i",
        "write0_fate_i",
    ],
};

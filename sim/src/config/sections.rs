//! The parameters themselves, section by section.

use serde::{Deserialize, Serialize};
use warpfile_kernels::placement::MAX_ORF_ENTRIES;

use super::parameter::{Accepted, Parameter, parameters};

/// Which operand storage and scheduler are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DesignName {
    /// Banked main register file, single-level scheduler.
    Baseline,
    /// Banked main register file, two-level scheduler.
    TwoLevel,
    /// Register file cache and two-level scheduler.
    Rfc,
    /// Operand staging units in place of the register file, single-level scheduler.
    Regless,
    /// Half-size register file with renaming, two-level scheduler.
    Rfv,
    /// Register file hierarchy managed by the compiler, two-level scheduler.
    Rfh,
}

impl DesignName {
    /// Every design, in the order listings show them.
    pub const ALL: [DesignName; 6] = [
        DesignName::Baseline,
        DesignName::TwoLevel,
        DesignName::Rfc,
        DesignName::Regless,
        DesignName::Rfv,
        DesignName::Rfh,
    ];
    pub(super) const WORDS: &'static [&'static str] =
        &["baseline", "two-level", "rfc", "regless", "rfv", "rfh"];

    /// As written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            DesignName::Baseline => "baseline",
            DesignName::TwoLevel => "two-level",
            DesignName::Rfc => "rfc",
            DesignName::Regless => "regless",
            DesignName::Rfv => "rfv",
            DesignName::Rfh => "rfh",
        }
    }

    /// One line for listings.
    pub fn summary(self) -> &'static str {
        match self {
            DesignName::Baseline => "banked main register file, single-level scheduler",
            DesignName::TwoLevel => "banked main register file, two-level scheduler (Gebhart et al. §3.2)",
            DesignName::Rfc => "register file cache and two-level scheduler (Gebhart et al. §3.3)",
            DesignName::Regless => "operand staging units, registers in memory (Kloosterman et al. §5)",
            DesignName::Rfv => "smaller register file with renaming, two-level scheduler (Jeon et al.)",
            DesignName::Rfh => {
                "register file hierarchy managed by the compiler, two-level scheduler (Gebhart et al., MICRO 2011)"
            }
        }
    }
}

/// Scheduler that sees every resident warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SingleLevelPolicy {
    /// Loose round-robin: the next ready warp after the last one that issued.
    Lrr,
    /// Greedy then oldest: the same warp while it is ready, then the one dispatched first.
    Gto,
}

/// Selection among the active warps of a two-level scheduler (RFC §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InnerPolicy {
    /// The same warp while it is ready.
    Greedy,
    /// A rotating priority.
    RoundRobin,
}

/// Which entry of the register file cache gives way (RFC §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// First in, first out.
    Fifo,
    /// Least recently used.
    Lru,
}

/// Which definitions may leave lanes of a register as they were (RegLess §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SoftDefinitions {
    /// Those after which lanes that did not execute may read the value they had.
    Sound,
    /// Algorithm 2 as printed, which loses values.
    Paper,
}

/// What lies behind the SM's memory unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryModel {
    /// A fixed latency behind a limited bandwidth, no caches.
    Fixed,
    /// L1, L2 and DRAM.
    Caches,
}

/// What a store does in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// Goes to the next level; a line that is present is updated, none is allocated.
    WriteThrough,
    /// Stays in the cache until the line is evicted; a line is allocated.
    WriteBack,
}

parameters! {
    /// The chip around the SM.
    pub struct Chip {
        /// SMs that share L2 and DRAM; each gets an equal share of L2 capacity, L2 bandwidth and DRAM bandwidth.
        sms: u64 = Accepted::integer(1, 256),
        /// SMs simulated, at most all; blocks are dealt to them one by one.
        simulated_sms: u64 = Accepted::integer(1, 256),
    }
}

parameters! {
    /// The SM: what limits residency and issue. Each scheduler has a part of the SM to itself: every schedulers-th
    /// warp, a register file, ALUs and special function units.
    pub struct Sm {
        /// Warps resident at a time, a multiple of the schedulers.
        warps: u64 = Accepted::integer(1, 64),
        /// Thread blocks resident at a time.
        blocks: u64 = Accepted::integer(1, 64),
        /// Shared memory, in bytes.
        shared_memory_bytes: u64 = Accepted::integer(0, 1 << 24),
        /// Warp schedulers.
        schedulers: u64 = Accepted::integer(1, 4),
        /// Instructions of one warp that a scheduler issues a cycle at most.
        issues_per_scheduler: u64 = Accepted::integer(1, 2),
        /// Cycles without any progress after which the run ends with an error.
        watchdog_cycles: u64 = Accepted::integer(1_000, 1_000_000_000),
    }
}

parameters! {
    /// The banked main register file of a scheduler.
    pub struct RegisterFile {
        /// Bank groups, a power of two; each one warp-wide register (1024 bits) wide, 1R1W.
        bank_groups: u64 = Accepted::integer(1, 16),
        /// Warp-wide registers in a bank group.
        rows: u64 = Accepted::integer(2, 1024),
        /// Warp-wide registers are given to a warp in multiples of this.
        allocation_granule: u64 = Accepted::integer(1, 64),
        /// Operand collectors for each instruction issued a cycle: instructions whose operands are fetched at the same
        /// time.
        collectors: u64 = Accepted::integer(2, 32),
    }
}

parameters! {
    /// Warp scheduling, by each scheduler.
    pub struct Scheduler {
        /// Scheduler of the baseline design.
        single_level: SingleLevelPolicy = Accepted::Word(&["lrr", "gto"]),
        /// Warps in the active set of a two-level scheduler; with as many as it has warps none is suspended.
        active_warps: u64 = Accepted::integer(1, 64),
        /// Selection among active warps.
        inner: InnerPolicy = Accepted::Word(&["greedy", "round-robin"]),
        /// Suspend a warp at a marked instruction even when its operands are ready.
        suspend_when_ready: bool = Accepted::Flag,
    }
}

parameters! {
    /// The register file cache.
    pub struct Rfc {
        /// Entries a thread.
        entries: u64 = Accepted::integer(1, 16),
        /// Which entry gives way.
        replacement: Replacement = Accepted::Word(&["fifo", "lru"]),
        /// Allocate entries for source operands too.
        allocate_sources: bool = Accepted::Flag,
        /// Use static liveness: a value read for the last time is not written back.
        use_last_read: bool = Accepted::Flag,
        /// Write values that are not read before the warp may be suspended to the main register file only.
        bypass_idle: bool = Accepted::Flag,
        /// Evict values that are not read before the warp may be suspended first.
        evict_idle_first: bool = Accepted::Flag,
    }
}

parameters! {
    /// RegLess: operand staging units, and how its compiler divides programs.
    pub struct Regless {
        /// Lines of the operand staging units of an SM; a bank, of eight a scheduler, has 2 to 64.
        lines: u64 = Accepted::integer(16, 2048),
        /// Most lines that a region may hold, as a part of a scheduler's.
        max_live_fraction: f64 = Accepted::real(0.01, 1.0),
        /// Which definitions may leave lanes of a register as they were.
        soft_defs: SoftDefinitions = Accepted::Word(&["sound", "paper"]),
        /// Renumber registers so that those of a region lie in different banks.
        spread_banks: bool = Accepted::Flag,
        /// Words of metadata kept for a warp, a power of two.
        metadata_words: u64 = Accepted::integer(2, 64),
        /// Metadata instructions take issue slots (§5.4); without it they cost energy alone, which tells what the slots
        /// cost.
        metadata_slots: bool = Accepted::Flag,
        /// Accesses that can wait at each bank.
        queue: u64 = Accepted::integer(2, 16),
        /// Instructions that the read unit of an execution unit holds, a power of two.
        read_entries: u64 = Accepted::integer(2, 16),
        /// Compressed lines that the compressors of an SM hold, equally many each; 0 leaves the compressors out.
        compressor_lines: u64 = Accepted::integer(0, 256),
        /// Requests for compressed registers that can wait at a compressor.
        compressor_queue: u64 = Accepted::integer(1, 64),
    }
}

parameters! {
    /// The renamed register file of design rfv.
    pub struct Rfv {
        /// Physical warp-wide registers of an SM, equally many in each bank group of each scheduler. Warps are resident
        /// as with the registers of `register_file`.
        registers: u64 = Accepted::integer(8, 16_384),
    }
}

parameters! {
    /// Register file hierarchy: a last result file and an operand register file before the main register file.
    pub struct Rfh {
        /// Entries of the operand register file for a warp; the last result file has one.
        orf_entries: u64 = Accepted::integer(1, MAX_ORF_ENTRIES as u64),
    }
}

parameters! {
    /// Latencies in cycles, from the scheduler's pick to the earliest pick of a dependent instruction. One that
    /// is shorter than operand access (3 cycles, 4 with a register file cache) plus one counts as that.
    pub struct Latency {
        /// Integer and single-precision arithmetic.
        alu: u64 = Accepted::integer(1, 1000),
        /// Special functions.
        sfu: u64 = Accepted::integer(1, 1000),
        /// Double-precision arithmetic.
        double: u64 = Accepted::integer(1, 1000),
        /// Texture fetch.
        texture: u64 = Accepted::integer(1, 10_000),
        /// Shared memory.
        shared: u64 = Accepted::integer(1, 1000),
        /// Constant memory and kernel parameters that are loaded explicitly.
        constant: u64 = Accepted::integer(1, 1000),
        /// From the pick of a branch to the earliest pick of its successor; a tag stage adds one.
        branch: u64 = Accepted::integer(1, 1000),
    }
}

parameters! {
    /// Throughput of the units. ALUs and special function units are of a scheduler, the others of the SM.
    pub struct Throughput {
        /// Lanes the ALUs start a cycle.
        alu_lanes: u64 = Accepted::integer(1, 32),
        /// Lanes the special function units start a cycle.
        sfu_lanes: u64 = Accepted::integer(1, 32),
        /// Double-precision lanes the ALUs start a cycle.
        double_lanes: u64 = Accepted::integer(1, 32),
        /// Lanes the texture units start a cycle.
        texture_lanes: u64 = Accepted::integer(1, 32),
        /// Bytes a cycle from or to shared memory.
        shared_bytes: u64 = Accepted::integer(4, 1024),
        /// Whether two different words of one shared memory bank take two cycles; banks are 4 bytes wide.
        shared_bank_conflicts: bool = Accepted::Flag,
        /// Constant words (distinct addresses) served a cycle.
        constant_words: u64 = Accepted::integer(1, 32),
    }
}

parameters! {
    /// The memory unit and what lies behind it.
    pub struct Memory {
        /// What lies behind the memory unit.
        model: MemoryModel = Accepted::Word(&["fixed", "caches"]),
        /// Warp instructions that wait in the memory unit for their transactions to be sent.
        queue: u64 = Accepted::integer(1, 256),
        /// Bytes of a memory transaction: accesses of a warp to the same one are coalesced.
        sector_bytes: u64 = Accepted::integer(4, 1024),
        /// Caches: the L1 takes one request a cycle, whatever its size; if not, as many as its bandwidth allows.
        single_l1_port: bool = Accepted::Flag,
        /// Caches: data is kept in the L1; if not, it only takes the L1's port on its way to the L2.
        data_in_l1: bool = Accepted::Flag,
        /// Fixed model: bytes a cycle.
        fixed_bytes_per_cycle: u64 = Accepted::integer(1, 4096),
        /// Fixed model: latency in cycles, pick to dependent pick.
        fixed_latency: u64 = Accepted::integer(1, 10_000),
    }
}

parameters! {
    /// A cache level; used with `memory.model = "caches"`.
    pub struct CacheLevel {
        /// Capacity in bytes of the whole level (L2: of the chip); 0 leaves the level out.
        bytes: u64 = Accepted::integer(0, 1 << 30),
        /// Ways of a set.
        ways: u64 = Accepted::integer(1, 1024),
        /// Bytes of a line, a power of two.
        line_bytes: u64 = Accepted::integer(4, 4096),
        /// Lines that may be on their way at a time.
        mshrs: u64 = Accepted::integer(1, 4096),
        /// Cycles from the request to the data on a hit.
        latency: u64 = Accepted::integer(1, 10_000),
        /// Bytes a cycle (L2: of the chip).
        bytes_per_cycle: u64 = Accepted::integer(1, 65_536),
        /// What a store does.
        write_policy: WritePolicy = Accepted::Word(&["write-through", "write-back"]),
    }
}

parameters! {
    /// DRAM of the chip; used with `memory.model = "caches"`.
    pub struct Dram {
        /// Cycles from the request to the data.
        latency: u64 = Accepted::integer(1, 10_000),
        /// Bytes a cycle.
        bytes_per_cycle: u64 = Accepted::integer(1, 65_536),
    }
}

parameters! {
    /// Which technology the energy report uses, and the distances that wires span in one with energies per access.
    pub struct Energy {
        /// Technology; see `warpfile list technologies`.
        technology: String = Accepted::Text,
        /// Millimetres from the main register file to the ALUs.
        mrf_to_alu_mm: f64 = Accepted::real(0.0, 100.0),
        /// Millimetres from the register file cache to the ALUs.
        rfc_to_alu_mm: f64 = Accepted::real(0.0, 100.0),
    }
}

/// Every parameter of a run. A preset is one of these as TOML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the preset this started from.
    pub preset: String,
    /// Design simulated.
    pub design: DesignName,
    /// Chip.
    pub chip: Chip,
    /// SM.
    pub sm: Sm,
    /// Main register file.
    pub register_file: RegisterFile,
    /// Scheduling.
    pub scheduler: Scheduler,
    /// Register file cache.
    pub rfc: Rfc,
    /// Operand staging units.
    pub regless: Regless,
    /// Renamed register file.
    pub rfv: Rfv,
    /// Register file hierarchy.
    pub rfh: Rfh,
    /// Latencies.
    pub latency: Latency,
    /// Throughput.
    pub throughput: Throughput,
    /// Memory unit.
    pub memory: Memory,
    /// First-level cache of the SM.
    pub l1: CacheLevel,
    /// Second-level cache of the chip.
    pub l2: CacheLevel,
    /// DRAM.
    pub dram: Dram,
    /// Energy.
    pub energy: Energy,
}

impl Config {
    /// Every parameter, in the order of the preset files.
    pub fn parameters() -> Vec<Parameter> {
        let mut all = vec![
            Parameter {
                name: "preset".to_owned(),
                doc: "Name of the preset this started from.".to_owned(),
                accepted: Accepted::Text,
            },
            Parameter {
                name: "design".to_owned(),
                doc: "Design simulated.".to_owned(),
                accepted: Accepted::Word(DesignName::WORDS),
            },
        ];
        Chip::describe("chip", &mut all);
        Sm::describe("sm", &mut all);
        RegisterFile::describe("register_file", &mut all);
        Scheduler::describe("scheduler", &mut all);
        Rfc::describe("rfc", &mut all);
        Regless::describe("regless", &mut all);
        Rfv::describe("rfv", &mut all);
        Rfh::describe("rfh", &mut all);
        Latency::describe("latency", &mut all);
        Throughput::describe("throughput", &mut all);
        Memory::describe("memory", &mut all);
        CacheLevel::describe("l1", &mut all);
        CacheLevel::describe("l2", &mut all);
        Dram::describe("dram", &mut all);
        Energy::describe("energy", &mut all);
        all
    }
}

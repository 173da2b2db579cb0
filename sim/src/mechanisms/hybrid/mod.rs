//! A register cache that the warps of a scheduler share, a register scratchpad for its active ones, and one behind the other,
//! in front of the main register file.
//!
//! Source: Bailey et al., "Scratch That (But Cache This): A Hybrid Register Cache / Scratchpad for GPUs", TCAD 2018, §III and
//! §IV.

mod distances;
mod scratchpad;
mod scratchpad_storage;
mod storage;

use warpfile_hdl::hybrid::{LINES_OF_SET, RegisterCacheHierarchy};

use super::register_file::{self, ACCESS_CYCLES, geometry, is_gated, issues};
use super::waves::{self, Occupancy, WaveGroup};
use super::{Build, Info, Mechanism, NamedCircuit, Part, Role};
use crate::config::{Accepted, Config, SectionInfo};
use crate::counters::{Group, Row, Shown};
use crate::energy::grid::Ports;
use crate::energy::structure::{Account, ArrayAccesses, Structure, Wire, moves_between_levels};
use crate::parameters;
use crate::sm::design::{ID_BITS, OperandStorage, Unit};
use crate::sm::{Accesses, RunReport, SimError};
use storage::RegisterCacheStorage;

pub use distances::{DISTANCE_COUNTERS, DISTANCES, Distances, ReadDistances, read_distances};
pub use scratchpad::{
    HYBRID, HybridParameters, PARALLEL_EVICT, PARALLEL_SIMPLE, RSP, RSP_COUNTERS, Scratchpad,
    ScratchpadCounters, ScratchpadParameters, scratchpad_accesses,
};

/// Name of the group of counters of the register cache, registers that leave it included.
pub const COUNTERS: &str = "rc";

/// Name of the arrays of register caches.
const CACHE: &str = "register cache";

/// Name of the tags of register caches.
const TAGS: &str = "tags of the register cache";

/// Names of the arrays in front of the main register file: values of caches, of scratchpads, tags.
pub const STRUCTURES: [&str; 3] = [CACHE, scratchpad::ENTRIES, TAGS];

/// Bits of a line beside its value: the register and its warp, the lanes it holds.
const TAG_BITS: u32 = 9 + 4 + 32;

/// A register cache alone.
pub struct RegisterCache;

parameters! {
    /// The register cache. Defaults: 12 KB an SM of four schedulers (§III-A.4), as a design of its own has them.
    pub struct Parameters in "rc" {
        /// Sets of a scheduler's cache, of two warp-wide registers each: 256 bytes.
        sets: u64 = 12, Accepted::integer(1, 64);
        /// Use static liveness: a value read for the last time is not written back.
        use_last_read: bool = true, Accepted::Flag;
        /// Copy an operand that an instruction reads in the main register file to the cache (read allocation).
        read_allocate: bool = false, Accepted::Flag;
    }
}

impl Mechanism for RegisterCache {
    fn info(&self) -> Info {
        Info {
            name: "rc",
            summary: "register cache shared by a scheduler's warps (Bailey et al. §III-A)",
            design: Some(("rc", "shared register cache and two-level scheduler (Bailey et al., TCAD 2018)")),
            preset: "gtx980-hybrid",
        }
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "two-level" }
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Accesses::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, "register_file", &circuit(config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config);
        let part =
            |engine| Ok(Box::new(RegisterCacheStorage::new(engine, &circuit)?) as Box<dyn OperandStorage>);
        Ok(Part::Storages { of_partitions: at.of_partitions(&circuit, &[], part)?, line_port: None })
    }

    fn structures(&self, config: &Config) -> Vec<Structure> {
        let mut structures = register_file::structures(config, config.register_file.rows);
        let values = |report: &RunReport| {
            let cache = accesses(report);
            ArrayAccesses::of(cache).moving(moves_between_levels(cache.cluster_reads, report))
        };
        let tags = |report: &RunReport| ArrayAccesses {
            // A copied operand is looked up once more, as a value that is written.
            searches: report.operands.reads + accesses(report).writes,
            row_writes: accesses(report).writes,
            ..ArrayAccesses::default()
        };
        structures.extend(cache_structures(config, config.of::<Parameters>().sets, values, tags));
        structures
    }

    fn rows(&self) -> Vec<Row> {
        let own = [("RC reads", Shown::Count("rc.reads")), ("RC writes", Shown::Count("rc.writes"))];
        let mut rows = register_file::rows();
        rows.splice(2..2, own.map(|(label, shown)| Row { label, shown }));
        rows
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        vec![CACHE_LINES]
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::ISSUE, LOOKUP, WRITE, SPILL, waves::OPERANDS, waves::FILL]
    }
}

/// Lines of a register cache.
const CACHE_LINES: Occupancy = Occupancy {
    title: "Lines of the register cache that hold a register",
    instance: "cache",
    register: ("line", "_valid_q"),
    counts_zeros: false,
};

/// The arrays of caches of so many sets, one a scheduler. The lines of one set are compared for each operand that is looked up
/// and for each value that is written.
fn cache_structures(
    config: &Config,
    sets: u64,
    values: fn(&RunReport) -> ArrayAccesses,
    tags: fn(&RunReport) -> ArrayAccesses,
) -> [Structure; 2] {
    let (sets, lines) = (sets as u32, LINES_OF_SET as u32);
    let partitions = config.partitions() as u32;
    let values = Structure {
        wire: Wire::FromUpperLevel,
        ..Structure::of_warp_registers(CACHE, partitions, sets * lines, Ports::DUAL, values).of_flip_flops()
    };
    let tags = Structure::table(TAGS, Account::Registers, (partitions * sets, lines, TAG_BITS), tags);
    [values, tags]
}

/// Accesses to the cache.
pub fn accesses(report: &RunReport) -> Accesses {
    report.counters.get(COUNTERS)
}

/// The circuit of a configuration.
fn circuit(config: &Config) -> RegisterCacheHierarchy {
    let parameters = config.of::<Parameters>();
    RegisterCacheHierarchy {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        sets: parameters.sets as usize,
        liveness: parameters.use_last_read,
        warps: config.warps_per_partition() as usize,
        issues: issues(config),
        parallel: false,
        gated: is_gated(config),
        read_allocates: parameters.read_allocate,
    }
}

const LOOKUP: WaveGroup = WaveGroup {
    title: "Lookup in the cache",
    scope: "register_file.cache",
    signals: &[
        "lookup_valid_i",
        "lookup_source0_register_i",
        "lookup_source0_lanes_o",
        "lookup_source1_register_i",
        "lookup_source1_lanes_o",
        "lookup0_valid_i",
        "lookup0_source0_register_i",
        "lookup0_source0_lanes_o",
        "lookup0_source1_register_i",
        "lookup0_source1_lanes_o",
    ],
};

const WRITE: WaveGroup = WaveGroup {
    title: "Write to the cache",
    scope: "register_file.cache",
    signals: &[
        "write_valid_i",
        "write_ready_o",
        "write_register_i",
        "write_lanes_i",
        "write0_valid_i",
        "write0_ready_o",
        "write0_register_i",
        "write0_lanes_i",
    ],
};

const SPILL: WaveGroup = WaveGroup {
    title: "Spill to the main register file",
    scope: "register_file.cache",
    signals: &["spill_valid_o", "spill_ready_i", "spill_register_o", "spill_lanes_o"],
};

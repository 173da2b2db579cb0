//! Register file cache in front of the main register file.
//!
//! Source: Gebhart et al., "Energy-efficient Mechanisms for Managing Thread Context in Throughput Processors", ISCA 2011,
//! §3.1 and §3.3.

mod storage;

use warpfile_hdl::rfc::{CachedRegisterFile, Replacement};

use super::register_file::{self, ACCESS_CYCLES, geometry, is_gated, issues};
use super::waves::{self, Occupancy, WaveGroup};
use super::{Build, Info, Mechanism, NamedCircuit, Part, Role};
use crate::config::{Accepted, Config, SectionInfo};
use crate::counters::{Group, Row, Shown};
use crate::energy::grid::Ports;
use crate::energy::structure::{Account, ArrayAccesses, Published, Structure, Wire, moves_between_levels};
use crate::sm::design::{ID_BITS, OperandStorage, Unit};
use crate::sm::{Accesses, RunReport, SimError};
use crate::{counters, parameters};
pub use storage::CachedStorage;

/// Name of the group of counters of the cache, evictions and flushes included.
pub const COUNTERS: &str = "rfc";

/// Name of the group of counters of copies of shared registers.
pub const COPIES: &str = "rfc_copies";

counters! {
    /// Copies of registers that warps share.
    pub struct Copies {
        /// Slots that were searched for a copy of a register that was written.
        searched: sum("slots"),
    }
}

/// Bits of a tag: the register, the lanes it holds, whether it is the main register file's only copy.
const TAG_BITS: u32 = 8 + 32 + 1;

/// A register file cache.
pub struct Rfc;

parameters! {
    /// The register file cache. Defaults: the design point of §3.1 and §5.4.
    pub struct Parameters in "rfc" {
        /// Entries a thread.
        entries: u64 = 6, Accepted::integer(1, 16);
        /// Which entry gives way.
        replacement: Replacement = Replacement::Fifo, Accepted::one_of::<Replacement>();
        /// Allocate entries for source operands too.
        allocate_sources: bool = false, Accepted::Flag;
        /// Use static liveness: a value read for the last time is not written back.
        use_last_read: bool = true, Accepted::Flag;
        /// Write values that are not read before the warp may be suspended to the main register file only.
        bypass_idle: bool = false, Accepted::Flag;
        /// Evict values that are not read before the warp may be suspended first.
        evict_idle_first: bool = false, Accepted::Flag;
    }
}

impl Mechanism for Rfc {
    fn info(&self) -> Info {
        Info {
            name: "rfc",
            summary: "register file cache (Gebhart et al. §3.3)",
            design: Some(("rfc", "register file cache and two-level scheduler (Gebhart et al. §3.3)")),
            preset: "gebhart2011",
        }
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "two-level" }
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Accesses::default())), (COPIES, Box::new(Copies::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, "register_file", &circuit(config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = circuit(at.config);
        let part = |engine| Ok(Box::new(CachedStorage::new(engine, &circuit)?) as Box<dyn OperandStorage>);
        Ok(Part::Storages { of_partitions: at.of_partitions(&circuit, &[], part)?, line_port: None })
    }

    /// Each copy is what the main register file has then.
    fn carries_shared_rows(&self) -> bool {
        true
    }

    /// The cache is one array of slices a scheduler: the entries of all active warps (§3.1).
    fn structures(&self, config: &Config) -> Vec<Structure> {
        let (entries, slots) = (config.of::<Parameters>().entries, config.design.slots(config));
        let rows = entries * slots;
        let partitions = config.partitions() as u32;
        let cache = Structure {
            wire: Wire::FromUpperLevel,
            published: Some(Published::RegisterFileCache),
            ..Structure::of_warp_registers(
                "register file cache",
                partitions,
                rows as u32,
                Ports::DUAL,
                |report: &RunReport| {
                    let cache = accesses(report);
                    ArrayAccesses::of(cache).moving(moves_between_levels(cache.cluster_reads, report))
                },
            )
            .of_flip_flops()
        };
        // Those of a slot are searched for each operand, and of shared registers those of all others for each write; a write is
        // of the result's alone.
        let tags = Structure::table(
            "tags of the register file cache",
            Account::Control,
            (partitions * slots as u32, entries as u32, TAG_BITS),
            |report| ArrayAccesses {
                searches: report.operands.reads + report.operands.writes + copies(report).searched,
                row_writes: accesses(report).writes,
                ..ArrayAccesses::default()
            },
        );
        let mut structures = register_file::structures(config, config.register_file.rows);
        structures.extend([cache, tags]);
        structures
    }

    fn rows(&self) -> Vec<Row> {
        let own = [("RFC reads", Shown::Count("rfc.reads")), ("RFC writes", Shown::Count("rfc.writes"))];
        let mut rows = register_file::rows();
        rows.splice(2..2, own.map(|(label, shown)| Row { label, shown }));
        rows
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        let (title, register) = ("Entries of the cache that hold a register", ("way", "_valid_q"));
        vec![Occupancy { title, instance: "cache", register, counts_zeros: false }]
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::ISSUE, LOOKUP, RESULT, SPILL, FLUSH, waves::OPERANDS, waves::FILL]
    }
}

/// What has been looked for when registers are shared.
fn copies(report: &RunReport) -> Copies {
    report.counters.get(COPIES)
}

/// Accesses to the cache.
pub fn accesses(report: &RunReport) -> Accesses {
    report.counters.get(COUNTERS)
}

/// The circuit of a configuration.
pub fn circuit(config: &Config) -> CachedRegisterFile {
    let parameters = config.of::<Parameters>();
    CachedRegisterFile {
        geometry: geometry(config),
        collectors: config.register_file.collectors as usize,
        access_cycles: ACCESS_CYCLES,
        id_bits: ID_BITS,
        units: Unit::COUNT,
        slots: config.design.slots(config) as usize,
        entries: parameters.entries as usize,
        replacement: parameters.replacement,
        allocate_sources: parameters.allocate_sources,
        liveness: parameters.use_last_read,
        bypass_idle: parameters.bypass_idle,
        evict_idle_first: parameters.evict_idle_first,
        issues: issues(config),
        gated: is_gated(config),
        shared: config.design.shares_rows(config),
        extra_read: config.design.extra_read(config),
    }
}

const LOOKUP: WaveGroup = WaveGroup {
    title: "Lookup in the cache",
    scope: "register_file.cache",
    signals: &[
        "lookup_valid_i",
        "lookup_slot_i",
        "lookup_source0_register_i",
        "lookup_source0_lanes_o",
        "lookup_source1_register_i",
        "lookup_source1_lanes_o",
        "lookup0_valid_i",
        "lookup0_slot_i",
        "lookup0_source0_register_i",
        "lookup0_source0_lanes_o",
        "lookup0_source1_register_i",
        "lookup0_source1_lanes_o",
    ],
};

const RESULT: WaveGroup = WaveGroup {
    title: "Result into the cache",
    scope: "register_file.cache",
    signals: &[
        "result_valid_i",
        "result_ready_o",
        "result_slot_i",
        "result_register_i",
        "result_lanes_i",
        "result0_valid_i",
        "result0_ready_o",
        "result_slot0_i",
        "result0_register_i",
        "result0_lanes_i",
    ],
};

const SPILL: WaveGroup = WaveGroup {
    title: "Spill to the main register file",
    scope: "register_file.cache",
    signals: &[
        "spill_valid_o",
        "spill_ready_i",
        "spill_register_o",
        "spill_lanes_o",
        "spill0_valid_o",
        "spill0_ready_i",
        "spill0_register_o",
        "spill0_lanes_o",
    ],
};

const FLUSH: WaveGroup = WaveGroup {
    title: "Flush of a slot",
    scope: "register_file.cache",
    signals: &["flush_valid_i", "flush_slot_i", "slot_busy_o"],
};

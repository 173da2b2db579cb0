//! A register scratchpad for the active warps of a scheduler, in front of the main register file or of a register cache.

use warpfile_hdl::hybrid::ScratchpadHierarchy;
use warpfile_kernels::compile::graph::Graphs;
use warpfile_kernels::compile::rsp::{self, MAX_ENTRIES};
use warpfile_kernels::program::Program;

use super::distances::{DISTANCE_COUNTERS, ReadDistances};
use super::scratchpad_storage::ScratchpadStorage;
use super::{CACHE_LINES, accesses, cache_structures};
use crate::config::{Accepted, Config, SectionInfo};
use crate::counters::{Group, Row, Shown};
use crate::energy::grid::Ports;
use crate::energy::structure::{ArrayAccesses, Structure, Wire, moves_between_levels};
use crate::mechanisms::levels::Levels;
use crate::mechanisms::register_file::{self, ACCESS_CYCLES, geometry, is_gated, issues};
use crate::mechanisms::waves::{self, Occupancy, WaveGroup};
use crate::mechanisms::{Build, Code, Info, Mechanism, NamedCircuit, Notes, Part, Pass, Role};
use crate::sm::design::{ID_BITS, OperandStorage, Unit};
use crate::sm::{Accesses, RunReport, SimError};
use crate::{counters, parameters};

/// Name of the group of counters of the scratchpad.
pub const RSP_COUNTERS: &str = "rsp";

/// Name of the arrays of scratchpads.
pub(super) const ENTRIES: &str = "register scratchpad";

/// A register scratchpad alone.
pub const RSP: Scratchpad = Scratchpad { cache: Cache::None };
/// A register scratchpad in front of a register cache.
pub const HYBRID: Scratchpad = Scratchpad { cache: Cache::Behind };
/// Both in parallel; a register leaves the cache before it is allocated in the scratchpad.
pub const PARALLEL_EVICT: Scratchpad = Scratchpad { cache: Cache::ParallelEvicting };
/// Both in parallel; values that are in the scratchpad are there for all of their lives.
pub const PARALLEL_SIMPLE: Scratchpad = Scratchpad { cache: Cache::ParallelDisjoint };

/// A register scratchpad.
pub struct Scratchpad {
    cache: Cache,
}

/// The register cache beside a scratchpad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cache {
    /// There is none.
    None,
    /// It backs the scratchpad (§III-A.1).
    Behind,
    /// The main register file backs both; registers are evicted before they are allocated in the scratchpad (§IV-D).
    ParallelEvicting,
    /// The main register file backs both; no live-out and no read allocation (§IV-D). Nothing is transferred and nothing is
    /// copied, so this is the circuit of a cache behind.
    ParallelDisjoint,
}

parameters! {
    /// The register scratchpad. Default: 12 KB an SM of four schedulers with four active warps (§III-A.4).
    pub struct ScratchpadParameters in "rsp" {
        /// Entries of an active warp, a warp-wide register each: 128 bytes.
        entries: u64 = 6, Accepted::integer(1, MAX_ENTRIES as u64);
    }
}

parameters! {
    /// The register scratchpad with a register cache, behind or in parallel. Defaults: 4 and 8 KB an SM of four schedulers with four active warps
    /// (§III-A.4).
    pub struct HybridParameters in "hybrid" {
        /// Entries of the scratchpad for an active warp, a warp-wide register each: 128 bytes.
        entries: u64 = 2, Accepted::integer(1, MAX_ENTRIES as u64);
        /// Sets of a scheduler's cache, of two warp-wide registers each: 256 bytes.
        sets: u64 = 8, Accepted::integer(1, 64);
        /// Use static liveness: a value read in the cache for the last time is not written back.
        use_last_read: bool = true, Accepted::Flag;
    }
}

counters! {
    /// The register scratchpad.
    pub struct ScratchpadCounters {
        /// Accesses to it, transfers and copies included.
        accesses: group(Accesses),
        /// Operands of instructions that were read in it.
        operand_reads: sum("accesses"),
        /// Results that were written to it.
        result_writes: sum("accesses"),
        /// Operands that were copied to it.
        copies: sum("accesses"),
        /// Registers that were transferred from it to the backing store.
        transfers: sum("accesses"),
        /// Cycles in which the first picked instruction waited for an entry, summed over schedulers.
        entry_waits: sum("cycles"),
        /// Cycles in which it waited for a transfer, summed over schedulers.
        transfer_waits: sum("cycles"),
        /// Cycles in which it waited for a register to leave the cache in parallel, summed over schedulers.
        leave_waits: sum("cycles"),
        /// Lookups in the cache in parallel of registers that are to leave it.
        leave_searches: sum("lookups"),
        /// Operands that were read in it for the last time, of which a cache is told.
        last_reads: sum("reads"),
        /// Strands that warps have begun.
        strands: sum("strands"),
    }
}

impl Mechanism for Scratchpad {
    fn info(&self) -> Info {
        let (name, summary, design) = match self.cache {
            Cache::None => (
                "rsp",
                "register scratchpad managed by the compiler (Bailey et al. §III-B)",
                "register scratchpad and two-level scheduler (Bailey et al., TCAD 2018)",
            ),
            Cache::Behind => (
                "hybrid",
                "register scratchpad in front of a register cache (Bailey et al. §III-A)",
                "register scratchpad, shared register cache and two-level scheduler (Bailey et al., TCAD 2018)",
            ),
            Cache::ParallelEvicting => (
                "hybrid-parallel-evict",
                "register scratchpad and register cache in parallel, with evictions (Bailey et al. §IV-D)",
                "hybrid with scratchpad and cache in parallel, registers leave the cache for the scratchpad",
            ),
            Cache::ParallelDisjoint => (
                "hybrid-parallel-simple",
                "register scratchpad and register cache in parallel, for whole lives (Bailey et al. §IV-D)",
                "hybrid with scratchpad and cache in parallel, values in the scratchpad stay there",
            ),
        };
        Info { name, summary, design: Some((name, design)), preset: "gtx980-hybrid" }
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "two-level" }
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(if self.has_cache() {
            SectionInfo::of::<HybridParameters>()
        } else {
            SectionInfo::of::<ScratchpadParameters>()
        })
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
        let parameters = self.pass_parameters(config)?;
        notes.leave(rsp::compile(program, &parameters).map_err(SimError::mechanism)?);
        Ok(None)
    }

    fn listing(&self, config: &Config, code: Code<'_>) -> Result<Option<String>, SimError> {
        let Code { program, cfg, .. } = code;
        let parameters = self.pass_parameters(config)?;
        let placement = rsp::compile(program, &parameters).map_err(SimError::mechanism)?;
        let cfg = Graphs::blocks_of_lanes(program, cfg).map_err(SimError::mechanism)?;
        Ok(Some(rsp::listing::listing(program, &placement, &cfg)))
    }

    fn counters(&self) -> Vec<Group> {
        vec![
            (RSP_COUNTERS, Box::new(ScratchpadCounters::default())),
            (super::COUNTERS, Box::new(Accesses::default())),
            (DISTANCE_COUNTERS, Box::new(ReadDistances::default())),
        ]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        Ok(vec![NamedCircuit::of_partition(config, "register_file", &self.circuit(config))?])
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuit = self.circuit(at.config);
        let part =
            |engine| Ok(Box::new(ScratchpadStorage::new(engine, &circuit)?) as Box<dyn OperandStorage>);
        Ok(Part::Storages { of_partitions: at.of_partitions(&circuit, &[], part)?, line_port: None })
    }

    fn structures(&self, config: &Config) -> Vec<Structure> {
        let entries = config.design.slots(config) as u32 * self.entries(config) as u32;
        let values = Structure {
            wire: Wire::FromUpperLevel,
            ..Structure::of_warp_registers(
                ENTRIES,
                config.partitions() as u32,
                entries,
                Ports::DUAL,
                entry_accesses,
            )
            .of_flip_flops()
        };
        let mut structures = register_file::structures(config, config.register_file.rows);
        structures.push(values);
        if self.has_cache() {
            let sets = config.of::<HybridParameters>().sets;
            let values = |report: &RunReport| ArrayAccesses::of(accesses(report)).moving(moves(report));
            let tags = match self.cache {
                Cache::ParallelEvicting => searches_in_parallel,
                Cache::None | Cache::Behind | Cache::ParallelDisjoint => searches_behind,
            };
            structures.extend(cache_structures(config, sets, values, tags));
        }
        structures
    }

    fn rows(&self) -> Vec<Row> {
        let own = [
            ("RSP reads", Shown::Count("rsp.operand_reads")),
            ("RSP writes", Shown::Count("rsp.result_writes")),
            ("RSP copies", Shown::Count("rsp.copies")),
            ("RSP transfers", Shown::Count("rsp.transfers")),
            ("waits for entries", Shown::Count("rsp.entry_waits")),
            ("waits for transfers", Shown::Count("rsp.transfer_waits")),
            ("waits for evictions", Shown::Count("rsp.leave_waits")),
        ];
        let own = &own[..own.len() - usize::from(self.cache != Cache::ParallelEvicting)];
        let cache = [("RC reads", Shown::Count("rc.reads")), ("RC writes", Shown::Count("rc.writes"))];
        let cache = &cache[..if self.has_cache() { 2 } else { 0 }];
        let mut rows = register_file::rows();
        let own = own.iter().chain(cache).map(|&(label, shown)| Row { label, shown });
        rows.splice(2..2, own);
        rows
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        if self.has_cache() { vec![CACHE_LINES] } else { Vec::new() }
    }

    fn waves(&self) -> Vec<WaveGroup> {
        vec![waves::ISSUE, SCRATCHPAD, TRANSFER, waves::RESULT, waves::OPERANDS, waves::FILL]
    }
}

impl Scratchpad {
    fn has_cache(&self) -> bool {
        self.cache != Cache::None
    }

    /// Entries of an active warp.
    fn entries(&self, config: &Config) -> u64 {
        if self.has_cache() {
            config.of::<HybridParameters>().entries
        } else {
            config.of::<ScratchpadParameters>().entries
        }
    }

    /// Registers are mapped by what the technology of the configuration charges for the main register file, a cache or not
    /// (§III-A.2: allocation is not altered for a cache).
    fn pass_parameters(&self, config: &Config) -> Result<rsp::Parameters, SimError> {
        let levels = Levels::of(config)?;
        let energies = rsp::Energies {
            backing: levels.main_register_file(),
            scratchpad: levels.access(ENTRIES),
            copy: levels.move_to_register_file(ENTRIES),
        };
        let transfers = self.cache != Cache::ParallelDisjoint;
        Ok(rsp::Parameters { entries: self.entries(config) as u8, energies, transfers })
    }

    /// The circuit of a configuration.
    fn circuit(&self, config: &Config) -> ScratchpadHierarchy {
        let (sets, liveness) = match self.has_cache() {
            true => {
                let parameters = config.of::<HybridParameters>();
                (parameters.sets as usize, parameters.use_last_read)
            }
            false => (0, false),
        };
        ScratchpadHierarchy {
            geometry: geometry(config),
            collectors: config.register_file.collectors as usize,
            access_cycles: ACCESS_CYCLES,
            id_bits: ID_BITS,
            units: Unit::COUNT,
            slots: config.design.slots(config) as usize,
            entries: self.entries(config) as usize,
            sets,
            liveness,
            warps: config.warps_per_partition() as usize,
            issues: issues(config),
            parallel: self.cache == Cache::ParallelEvicting,
            gated: is_gated(config),
        }
    }
}

/// Accesses to the scratchpad.
pub fn scratchpad_accesses(report: &RunReport) -> ScratchpadCounters {
    report.counters.get(RSP_COUNTERS)
}

/// Slices that go from level to level.
fn moves(report: &RunReport) -> u64 {
    let above = scratchpad_accesses(report).accesses.cluster_reads + accesses(report).cluster_reads;
    moves_between_levels(above, report)
}

/// Accesses to the entries. What goes from level to level is counted at the cache, as often as that is read, and then here.
fn entry_accesses(report: &RunReport) -> ArrayAccesses {
    let rest = moves(report).saturating_sub(accesses(report).cluster_reads);
    ArrayAccesses::of(scratchpad_accesses(report).accesses).moving(rest)
}

/// What is looked up in a cache behind: operands and results that the scratchpad does not serve, last reads that it serves, and
/// its transfers.
fn searches_behind(report: &RunReport) -> ArrayAccesses {
    tag_accesses(report, scratchpad_accesses(report).transfers)
}

/// The same of a cache in parallel: transfers pass it by, but registers that are to leave it are looked up.
fn searches_in_parallel(report: &RunReport) -> ArrayAccesses {
    tag_accesses(report, scratchpad_accesses(report).leave_searches)
}

/// Accesses to the tags with `others` than operands and results.
fn tag_accesses(report: &RunReport, others: u64) -> ArrayAccesses {
    let rsp = scratchpad_accesses(report);
    let reads = report.operands.reads - rsp.operand_reads + rsp.last_reads;
    let writes = report.operands.writes - rsp.result_writes;
    ArrayAccesses {
        searches: reads + writes + others,
        row_writes: accesses(report).writes,
        ..ArrayAccesses::default()
    }
}

const SCRATCHPAD: WaveGroup = WaveGroup {
    title: "Register scratchpad",
    scope: "register_file.scratchpad",
    signals: &[
        "issue0_taken_i",
        "issue0_slot_i",
        "issue0_source0_entry_valid_i",
        "issue0_source0_entry_i",
        "issue0_copy_valid_i",
        "issue0_copy_entry_i",
        "issue0_writes_i",
        "result0_valid_i",
        "result0_ready_o",
        "result0_entry_valid_i",
        "result0_slot_i",
        "result0_entry_i",
        "entry_wait_o",
        "transfer_wait_o",
    ],
};

const TRANSFER: WaveGroup = WaveGroup {
    title: "Transfer to the backing store",
    scope: "register_file.scratchpad",
    signals: &["transfer_valid_o", "transfer_ready_i", "transfer_register_o", "transfer_lanes_o"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;
    use crate::energy::{EnergyModel, MeasuredRun, technology_names};
    use crate::sm::MRF;

    /// What the compiler takes an access or a copy for is what a run with that alone is charged for it, in any technology.
    #[test]
    fn registers_are_mapped_by_what_is_charged() {
        let slices =
            |reads, writes| Accesses { cluster_reads: reads, cluster_writes: writes, ..Accesses::default() };
        for technology in technology_names() {
            let mut config = preset("gtx980-hybrid").expect("complete").with_design("rsp").expect("known");
            config.energy.technology = technology.to_owned();
            let model = EnergyModel::named(technology).expect("complete");
            let charged = |asked: Accesses, mrf: Accesses, entries: Accesses| {
                let mut report = RunReport { operands: asked, ..RunReport::default() };
                report.counters.add(MRF, &mrf);
                let entries = ScratchpadCounters { accesses: entries, ..ScratchpadCounters::default() };
                report.counters.add(RSP_COUNTERS, &entries);
                let energy =
                    model.registers(MeasuredRun { config: &config, report: &report }).expect("priced");
                energy.access_pj + energy.wires_pj
            };
            let (none, read, write) = (slices(0, 0), slices(8, 0), slices(0, 8));
            let energies = RSP.pass_parameters(&config).expect("priced").energies;
            for (assumed, charged) in [
                (energies.scratchpad.read, charged(read, none, read)),
                (energies.scratchpad.write, charged(write, none, write)),
                (energies.backing.write, charged(write, write, none)),
                (energies.copy, charged(none, write, read)),
            ] {
                assert!((assumed / charged - 1.0).abs() < 1e-9, "{technology}: {assumed} {charged}");
            }
        }
    }
}

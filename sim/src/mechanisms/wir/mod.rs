//! Warp instruction reuse: registers that hold equal values share a physical one, and an instruction whose operands are the
//! same physical registers as another's gets its result instead of executing.
//!
//! Interposers in front of a banked register file, with or without a cache, one for each partition with a part of the buffers of
//! its own. Behind several schedulers of a partition each has its rename tables, its retry queue and its load guard. The contract, cycle by cycle, is in `docs/wir-pipeline.md`.
//!
//! Source: Kim & Ro, "WIR: Warp Instruction Reuse to Minimize Repeated Computations in GPUs".

mod circuits;
mod interposer;
mod invariants;
mod kernel;
mod loads;
mod retire;
mod rows;
mod shared;
mod stages;

use serde::{Deserialize, Serialize};
use warpfile_engine::EngineError;
use warpfile_hdl::regfile::{ExtraRead, Geometry, LANE_BITS};
use warpfile_hdl::wir::{
    FreePool, LoadGuard, ROW_RESULTS, ReferenceCounts, RenameTables, RetryQueue, ReuseBuffer, SEED,
    ValueHash, ValueSignatureBuffer, VerifyCache,
};
use warpfile_kernels::compile::CompileOptions;

use super::register_file::{COLLECTORS, LANES, buffered, geometry};
use super::waves::Occupancy;
use super::{Build, Info, Mechanism, NamedCircuit, Part, RegisterRows, Role};
use crate::config::{Accepted, Config, ConfigError, SectionInfo, conflict};
use crate::counters::{Group, Row, Shown};
use crate::energy::structure::{Account, ArrayAccesses, Cells, Structure};
use crate::sm::design::{ID_BITS, Interposer, Unit};
use crate::sm::{Accesses, RunReport, SimError};
use crate::{counters, parameters};
use circuits::PartitionCircuits;
use interposer::Reuse;
use loads::Orderings;

/// Name of the group of counters.
pub const COUNTERS: &str = "reuse";
/// Bits of an instruction's form (Fig. 9: the opcode).
const FORM_BITS: usize = 8;
/// Cycles that an instruction which executes takes more than without reuse: those of the stages (§VII-E). With one less it is
/// renamed and looked up in the same cycle (Fig. 22: D3).
const STAGES: u64 = 4;
/// Bits of a block's number and of its count of barriers (Fig. 9).
const BLOCK_BITS: usize = 4;
const BARRIER_BITS: usize = 5;
/// References that come and go in a cycle for each scheduler: half of the SM's 12 and 12 (Table III).
const CHANGES: usize = 6;
/// Bits of a count of instructions of one scheduler that hold a register; with two there is one more.
const HOLD_BITS: usize = 8;

/// Warp instruction reuse.
pub struct Wir {
    policy: Policy,
    info: Info,
}

/// What of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Equal values share a register.
    pub signatures: bool,
    /// Instructions whose result is being computed wait for it.
    pub retries: bool,
    /// Registers that have been read to verify a result are kept.
    pub verify_cache: bool,
    /// Loads from global memory and from the scratchpad are reused.
    pub loads: bool,
    /// No more physical registers are in use than the resident warps have logical ones.
    pub capped: bool,
}

impl Policy {
    /// Nothing but renaming and reuse buffer.
    const NONE: Policy =
        Policy { signatures: false, retries: false, verify_cache: false, loads: false, capped: false };
    const RLPV: Policy = Policy { loads: true, retries: true, verify_cache: true, ..Policy::R };
    const R: Policy = Policy { signatures: true, ..Policy::NONE };
}

/// The minimum: renaming, reuse buffer, value signature buffer (§VII-A: R).
pub static R: Wir = Wir::new(
    Policy::R,
    "wir-r",
    "warp instruction reuse: renaming, reuse buffer, value signature buffer (Kim & Ro, R)",
);

/// The same with a new register for every convergent write (§VII-A: NoVSB).
pub static NO_SIGNATURES: Wir = Wir::new(
    Policy::NONE,
    "wir-novsb",
    "warp instruction reuse without value signature buffer (Kim & Ro, NoVSB)",
);

/// The minimum with pending-retry and verify cache (§VII-A: RPV).
pub static RPV: Wir = Wir::new(
    Policy { retries: true, verify_cache: true, ..Policy::R },
    "wir-rpv",
    "warp instruction reuse with pending-retry and verify cache, without load reuse (Kim & Ro, RPV)",
);

/// The minimum with load reuse (§VII-A: RL).
pub static RL: Wir = Wir::new(
    Policy { loads: true, ..Policy::R },
    "wir-rl",
    "warp instruction reuse with load reuse (Kim & Ro, RL)",
);

/// The same with pending-retry (§VII-A: RLP).
pub static RLP: Wir = Wir::new(
    Policy { loads: true, retries: true, ..Policy::R },
    "wir-rlp",
    "warp instruction reuse with load reuse and pending-retry (Kim & Ro, RLP)",
);

/// The same with verify cache: the whole (§VII-A: RLPV).
pub static RLPV: Wir = Wir::new(
    Policy::RLPV,
    "wir-rlpv",
    "warp instruction reuse with load reuse, pending-retry and verify cache (Kim & Ro, RLPV)",
);

/// The same with no more registers than without reuse (§V-E, §VII-A: RLPVc).
pub static RLPVC: Wir = Wir::new(
    Policy { capped: true, ..Policy::RLPV },
    "wir-rlpvc",
    "wir-rlpv with no more physical registers in use than the warps have logical ones (Kim & Ro, RLPVc)",
);

impl Wir {
    const fn new(policy: Policy, name: &'static str, summary: &'static str) -> Wir {
        Wir { policy, info: Info { name, summary, design: Some((name, summary)), preset: "fermi-wir" } }
    }
}

parameters! {
    /// Warp instruction reuse: wir-r, wir-rl, wir-rlp, wir-rlpv, wir-rlpvc, wir-rpv, wir-novsb.
    pub struct Parameters in "wir" {
        /// Rows of the reuse buffers, equally many for each register file, a power of two (Table II).
        reuse_rows: u64 = 256, Accepted::integer(4, 1024);
        /// Results of a row of the reuse buffers: with two, instructions that write two registers are looked up as well (Fig. 9: 1).
        row_results: u64 = 1, Accepted::integer(1, ROW_RESULTS as u64);
        /// Rows of the value signature buffers, equally many for each register file, a power of two (Table II).
        signature_rows: u64 = 256, Accepted::integer(4, 1024);
        /// Bits of a value's hash (§V-A).
        hash_bits: u64 = 32, Accepted::integer(1, 32);
        /// Logical registers of a rename table (§V-B).
        logical_registers: u64 = 63, Accepted::integer(2, 256);
        /// Bits of the count of entries that name a physical register (§VII-E).
        count_bits: u64 = 10, Accepted::integer(3, 16);
        /// Instructions that wait for a result that is being computed, equally many for each scheduler; wir-rpv, wir-rlp, wir-rlpv, wir-rlpvc (§VI-B).
        retry_entries: u64 = 16, Accepted::integer(1, 64);
        /// Cycles after which the instruction in front of them is looked up before one that has just been renamed; the same.
        retry_patience: u64 = 32, Accepted::integer(1, 255);
        /// Entries of the verify caches, equally many for each register file, 0 for none; wir-rpv, wir-rlpv, wir-rlpvc (Table II).
        verify_entries: u64 = 8, Accepted::integer(0, 64);
        /// Cycles that an instruction which executes takes more than without reuse (§VII-E, Fig. 22).
        delay: u64 = STAGES, Accepted::integer(STAGES - 1, 7);
        /// Results of a scheduler that are written or verified at a time.
        retiring: u64 = 8, Accepted::integer(1, 16);
        /// If fewer registers of a register file are free, the buffers register nothing and give up their rows, as they do if none
        /// is (§V-E).
        low_registers: u64 = 16, Accepted::integer(0, 64);
        /// Who reads a bank first: operands of instructions, registers that are verified or copied, or they take turns
        /// (`operands`, `registers`, `turns`; §V-A, Fig. 7).
        reads_first: ReadsFirst = ReadsFirst::Turns, Accepted::one_of::<ReadsFirst>();
    }
}

/// Who reads a bank first, if the operand of an instruction and a register that is to be verified or copied are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadsFirst {
    /// The operand.
    Operands,
    /// The register.
    Registers,
    /// They take turns.
    Turns,
}

counters! {
    /// Instructions by the pipeline that they are for (§II); the others are control flow.
    pub struct Pipelines {
        /// Integer and floating point.
        sp: sum("warp instructions"),
        /// Special functions.
        sfu: sum("warp instructions"),
        /// Memory of every space.
        memory: sum("warp instructions"),
    }
}

impl Pipelines {
    /// One more of a unit.
    pub(super) fn count(&mut self, unit: Unit) {
        match unit {
            Unit::Alu => self.sp += 1,
            Unit::Sfu => self.sfu += 1,
            Unit::Texture | Unit::Memory | Unit::Scratchpad => self.memory += 1,
            Unit::Control => {}
        }
    }
}

counters! {
    /// Warp instruction reuse.
    pub struct Counted {
        /// Instructions renamed.
        renamed: group(Pipelines),
        /// Of these, those whose result was there.
        reused: group(Pipelines),
        /// Instructions whose lanes were not all active: they neither reuse nor are reused.
        divergent: sum("warp instructions"),
        /// Instructions that read or wrote values that stand for those of a hardware that is not known.
        invented: sum("warp instructions"),
        /// Instructions whose form was one too many for the buffer.
        beyond: sum("warp instructions"),
        /// Instructions that had more results than a row, and those of expansions that need more operands than each of them reads.
        wide: sum("warp instructions"),
        /// Instructions that compute with predicates that are no registers, with what a thread has of its own, or with other lanes.
        private: sum("warp instructions"),
        /// Instructions that could have been looked up, but for an operand that was pinned or had no register.
        unstable: sum("warp instructions"),
        /// Instructions looked up in the reuse buffer.
        lookups: sum("warp instructions"),
        /// Of these, those whose result was there.
        hits: sum("warp instructions"),
        /// Of the lookups, those of loads from global memory or the scratchpad.
        loads: sum("warp instructions"),
        /// Of these, those whose result was there.
        load_hits: sum("warp instructions"),
        /// Of the loads looked up, those that found another value than the kernel loads, where warps of the launch race: another
        /// order of their accesses gives it. They were executed as if they had found none.
        raced: sum("warp instructions"),
        /// Such loads that were not looked up: after a store of the warp's own, or without a number of the block.
        guarded: sum("warp instructions"),
        /// Of the lookups, those whose result was being computed.
        pending: sum("warp instructions"),
        /// Turns of the retry queue after which an instruction waited on: for a result that was being computed, or for an access
        /// of its warp before it.
        waited: sum("turns"),
        /// Turns of the retry queue that came before an instruction that had just been renamed, because the one in front had waited
        /// long.
        urgent: sum("turns"),
        /// Instructions whose result was being computed and for which the retry queue had no room: they were executed.
        unqueued: sum("warp instructions"),
        /// Rows of the reuse buffer that were read to look an instruction up, of those that wait each time.
        rows_looked_up: sum("rows"),
        /// Of the hits, those of instructions that had waited.
        retry_hits: sum("warp instructions"),
        /// Rows of the reuse buffer reserved.
        reserved: sum("rows"),
        /// Results that came into rows of the reuse buffer.
        filled: sum("results"),
        /// Hits that were given up because the register was named too often.
        full: sum("warp instructions"),
        /// Values looked up in the value signature buffer.
        signatures: sum("values"),
        /// Of these, those with a register of the same hash.
        signature_hits: sum("values"),
        /// Of the others, those that were registered.
        registered: sum("values"),
        /// Registers looked up in the verify cache.
        verify_lookups: sum("registers"),
        /// Of these, those that were there.
        verify_hits: sum("registers"),
        /// Registers read to verify a hit.
        verify_reads: sum("registers"),
        /// Hits whose register held another value.
        false_positives: sum("values"),
        /// Physical registers given away.
        allocations: sum("registers"),
        /// Registers copied under the inverted mask before a divergent instruction wrote a new one.
        moves: sum("registers"),
        /// Logical registers of resident warps, summed over cycles.
        logical_cycles: sum("register cycles"),
        /// Physical registers in use, summed over cycles.
        register_cycles: sum("register cycles"),
        /// Most physical registers in use at once, summed over register files.
        most_in_use: sum("registers"),
        /// Cycles in which no register was free, summed over register files.
        empty_cycles: sum("cycles"),
        /// Mappings given up before their successor had a register, because none was left.
        given_up: sum("registers"),
        /// Registers of partly active instructions that were overwritten instead, because none was left and nothing else named them.
        overwritten: sum("registers"),
        /// References to physical registers that came, of table entries and of instructions.
        references: sum("references"),
        /// Instructions, results and registers that are verified or copied that waited for their row to wake up, summed over cycles.
        row_waits: sum("cycles"),
        /// Results whose mapped register was compared with what the kernel computed.
        compared: sum("results"),
    }
}

impl Mechanism for Wir {
    fn info(&self) -> Info {
        self.info
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn occupancies(&self) -> Vec<Occupancy> {
        let (title, register) = ("Physical registers that something refers to", ("counts", "_valid_q"));
        vec![Occupancy { title, instance: "reference_counts", register, counts_zeros: false }]
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let own = self.info.name;
        let objection = |other: &dyn Mechanism| match other.role() {
            Role::Storage { .. } if !other.carries_shared_rows() => {
                Some("warps share rows, which it does not carry")
            }
            Role::Layer if other.info().name != own && other.register_rows(config).is_chosen() => {
                Some("both say which row a register has")
            }
            _ => None,
        };
        let objections = config.design.mechanisms().map(|other| (other.info().name, objection(other)));
        if let Some((other, why)) = objections.filter_map(|(name, why)| Some((name, why?))).next() {
            let reason = format!("{own} does not go with {other}: {why}; nearest: {own}");
            return Err(conflict("design", &config.design, reason));
        }
        if config.sm.issues_per_scheduler != 1 {
            let reason = format!("1: {own} renames one instruction of a scheduler a cycle");
            return Err(conflict("sm.issues_per_scheduler", config.sm.issues_per_scheduler, reason));
        }
        let parameters: Parameters = config.of();
        let (partitions, schedulers) = (config.partitions(), config.sm.schedulers);
        for (key, rows) in
            [("wir.reuse_rows", parameters.reuse_rows), ("wir.signature_rows", parameters.signature_rows)]
        {
            let of_one = rows / partitions;
            if !rows.is_multiple_of(partitions) || of_one < 2 || !of_one.is_power_of_two() {
                let reason = format!("a power of two, 2 at least, for each of {partitions} register files");
                return Err(conflict(key, rows, reason));
            }
        }
        for (key, entries, parts, of) in [
            ("wir.retry_entries", parameters.retry_entries, schedulers, "schedulers"),
            ("wir.verify_entries", parameters.verify_entries, partitions, "register files"),
        ] {
            if !entries.is_multiple_of(parts) || entries / parts > 32 {
                let reason = format!("equally many for each of {parts} {of}, 32 at most");
                return Err(conflict(key, entries, reason));
            }
        }
        let increments = config.sm.schedulers_per_partition * CHANGES as u64;
        if (1 << parameters.count_bits) - 1 <= increments {
            let reason = format!("enough for more than {increments} references that come in a cycle");
            return Err(conflict("wir.count_bits", parameters.count_bits, reason));
        }
        let of_one = parameters.signature_rows / partitions;
        if u64::from(of_one.ilog2()) > parameters.hash_bits {
            let reason = format!("{} at least: as many as the number of a row", of_one.ilog2());
            return Err(conflict("wir.hash_bits", parameters.hash_bits, reason));
        }
        let registers = config.register_file.bank_groups * config.register_file.rows;
        if registers > 4096 {
            let reason = format!("at most 4096 registers for each register file, there are {registers}");
            return Err(conflict("register_file.rows", config.register_file.rows, reason));
        }
        if config.warps_per_partition() > 64 {
            return Err(conflict(
                "sm.warps",
                config.sm.warps,
                "64 for each register file at most".to_owned(),
            ));
        }
        Ok(())
    }

    /// What is reused are values: without a kernel's own any two would be the same.
    fn without_values(&self, config: &mut Config) -> Result<Option<&'static str>, ConfigError> {
        let reason = "one without wir: the trace has no values, which are what is reused; run the kernel's PTX, or record \
                      the trace with values"
            .to_owned();
        Err(conflict("design", &config.design, reason))
    }

    /// A thread has as many registers as a rename table has entries (Table II).
    fn code(&self, config: &Config, options: CompileOptions) -> CompileOptions {
        let entries = config.of::<Parameters>().logical_registers as u16;
        CompileOptions { max_registers: options.max_registers.min(entries), ..options }
    }

    fn counters(&self) -> Vec<Group> {
        vec![(COUNTERS, Box::new(Counted::default()))]
    }

    fn circuits(&self, config: &Config) -> Result<Vec<NamedCircuit>, SimError> {
        let all = Parts::new(config, self.policy);
        let mut circuits = vec![
            NamedCircuit::of_scheduler(config, "rename_tables", &all.rename)?,
            NamedCircuit::of_scheduler(config, "value_hash", &all.hash)?,
            NamedCircuit::of_partition(config, "reuse_buffer", &all.reuse)?,
            NamedCircuit::of_partition(config, "value_signature_buffer", &all.signatures)?,
            NamedCircuit::of_partition(config, "free_pool", &all.pool)?,
            NamedCircuit::of_partition(config, "reference_counts", &all.counts)?,
        ];
        if let Some(retry) = &all.retry {
            circuits.push(NamedCircuit::of_scheduler(config, "retry_queue", retry)?);
        }
        if let Some(verify) = &all.verify {
            circuits.push(NamedCircuit::of_partition(config, "verify_cache", verify)?);
        }
        if let Some(guard) = &all.guard {
            circuits.push(NamedCircuit::of_scheduler(config, "load_guard", guard)?);
        }
        Ok(circuits)
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let circuits = PartitionCircuits::of_partitions(at, &Parts::new(at.config, self.policy))?;
        let orderings = Orderings::default();
        let one = |circuits| -> Result<Box<dyn Interposer>, EngineError> {
            Ok(Box::new(Reuse::new(at.config, self.policy, circuits, &orderings)?))
        };
        let all: Result<Vec<_>, EngineError> = circuits.into_iter().map(one).collect();
        Ok(Part::Interposers(all.map_err(|error| SimError::circuit(at.config, error))?))
    }

    fn register_rows(&self, _config: &Config) -> RegisterRows {
        RegisterRows::Shared
    }

    /// Verify-reads and dummy MOVs (§V-A, §V-D).
    fn extra_read(&self, config: &Config) -> ExtraRead {
        match config.of::<Parameters>().reads_first {
            ReadsFirst::Operands => ExtraRead::AfterOperands,
            ReadsFirst::Registers => ExtraRead::BeforeOperands,
            ReadsFirst::Turns => ExtraRead::InTurn,
        }
    }

    /// Registers that are verified or copied go into no collector.
    fn revised(&self, structure: Structure) -> Structure {
        match structure.name {
            COLLECTORS => Structure { accesses: collected, ..structure },
            _other => structure,
        }
    }

    /// Table III and §VII-E: tables as wide as the circuits'.
    fn structures(&self, config: &Config) -> Vec<Structure> {
        let all = Parts::new(config, self.policy);
        let (schedulers, partitions) = (config.sm.schedulers as u32, config.partitions() as u32);
        let table = |name: &'static str,
                     of: u32,
                     rows: usize,
                     bits: usize,
                     accesses: fn(&RunReport) -> ArrayAccesses| {
            Structure::table(name, Account::Control, (of, rows as u32, bits as u32), accesses)
        };
        let rename = table(
            "rename tables",
            schedulers,
            all.rename.entries(),
            all.rename.register_bits + 2,
            |report| {
                let Accesses { reads, writes, .. } = report.operands;
                ArrayAccesses { row_reads: reads + writes, row_writes: writes, ..ArrayAccesses::default() }
            },
        );
        let reuse = table("reuse buffers", partitions, all.reuse.rows, all.reuse.row_bits(), |report| {
            let Counted { rows_looked_up, reserved, filled, .. } = report.counters.get(COUNTERS);
            let row_writes = reserved + filled;
            ArrayAccesses { row_reads: rows_looked_up + filled, row_writes, ..ArrayAccesses::default() }
        });
        let hash = self.policy.signatures.then(|| {
            let bits = all.hash.lanes * LANE_BITS;
            let trees = table("value hashes", schedulers, bits, all.hash.hash_bits, |report| {
                let searches = report.counters.get::<Counted>(COUNTERS).signatures;
                ArrayAccesses { searches, ..ArrayAccesses::default() }
            });
            Structure { cells: Cells::XorTrees, ..trees }
        });
        let signatures = self.policy.signatures.then(|| {
            let bits = all.signatures.hash_bits + all.signatures.register_bits + 1;
            table("value signature buffers", partitions, all.signatures.rows, bits, |report| {
                let Counted { signatures, registered, .. } = report.counters.get(COUNTERS);
                ArrayAccesses { row_reads: signatures, row_writes: registered, ..ArrayAccesses::default() }
            })
        });
        let counts = table(
            "reference counts",
            partitions,
            all.counts.registers,
            all.counts.count_bits + all.counts.hold_bits,
            |report| ArrayAccesses::queued(2 * report.counters.get::<Counted>(COUNTERS).references),
        );
        let pool = table("free registers", partitions, all.pool.registers, 1, |report| {
            ArrayAccesses::queued(report.counters.get::<Counted>(COUNTERS).allocations)
        });
        let retry = all.retry.map(|queue| {
            table("retry queues", schedulers, queue.depth, queue.id_bits, |report| {
                ArrayAccesses::queued(report.counters.get::<Counted>(COUNTERS).waited)
            })
        });
        let verify = all.verify.map(|cache| {
            let bits = LANES * LANE_BITS + cache.register_bits + 1;
            table("verify caches", partitions, cache.entries, bits, |report| {
                let Counted { verify_lookups, verify_reads, .. } = report.counters.get(COUNTERS);
                ArrayAccesses {
                    row_reads: verify_lookups,
                    row_writes: verify_reads,
                    ..ArrayAccesses::default()
                }
            })
        });
        let guard = all.guard.map(|guard| {
            table("load guards", schedulers, guard.warps, guard.barrier_bits + 3, |report| {
                ArrayAccesses::queued(report.warp_instructions)
            })
        });
        let more = retry.into_iter().chain(verify).chain(guard);
        [rename, reuse].into_iter().chain(hash).chain(signatures).chain([counts, pool]).chain(more).collect()
    }

    fn rows(&self) -> Vec<Row> {
        let rows = [
            ("instructions reused", Shown::Count("reuse.hits")),
            ("of these, after a wait", Shown::Count("reuse.retry_hits")),
            ("of these, loads", Shown::Count("reuse.load_hits")),
            ("loads that differ at a race", Shown::Count("reuse.raced")),
            ("values with a signature", Shown::Count("reuse.signature_hits")),
            ("false positives", Shown::Count("reuse.false_positives")),
            ("registers copied for divergence", Shown::Count("reuse.moves")),
            ("most registers in use", Shown::Count("reuse.most_in_use")),
        ];
        rows.map(|(label, shown)| Row { label, shown }).to_vec()
    }
}

/// Entries of four lanes that go into operand collectors and out of them: those of instructions.
fn collected(report: &RunReport) -> ArrayAccesses {
    let Counted { verify_reads, moves, .. } = report.counters.get(COUNTERS);
    let of_one = (LANES / Geometry::GEBHART_2011.lanes_per_cluster) as u64;
    buffered(report.mrf().cluster_reads - of_one * (verify_reads + moves))
}

/// The circuits of a partition; rename tables, hash, retry queue and load guard are each scheduler's.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub rename: RenameTables,
    pub reuse: ReuseBuffer,
    pub hash: ValueHash,
    pub signatures: ValueSignatureBuffer,
    pub pool: FreePool,
    pub counts: ReferenceCounts,
    pub retry: Option<RetryQueue>,
    pub verify: Option<VerifyCache>,
    pub guard: Option<LoadGuard>,
}

impl Parts {
    pub fn new(config: &Config, policy: Policy) -> Parts {
        let parameters: Parameters = config.of();
        let file = geometry(config);
        let (registers, register_bits) = (file.banks * file.rows, file.register_bits());
        let of_one = |rows: u64| (rows / config.partitions()) as usize;
        let (results, ways) = (parameters.row_results as usize, config.sm.schedulers_per_partition as usize);
        let warps = config.warps_per_scheduler() as usize;
        let hash_bits = parameters.hash_bits as usize;
        let retry = RetryQueue {
            depth: (parameters.retry_entries / config.sm.schedulers).max(1) as usize,
            id_bits: ID_BITS,
            patience: parameters.retry_patience as usize,
        };
        let verify = VerifyCache {
            entries: of_one(parameters.verify_entries),
            register_bits,
            lanes: LANES,
            lanes_per_array: file.lanes_per_cluster,
            ways,
        };
        Parts {
            retry: policy.retries.then_some(retry),
            verify: (policy.verify_cache && verify.entries > 0).then_some(verify),
            guard: policy.loads.then_some(LoadGuard { warps, barrier_bits: BARRIER_BITS }),
            rename: RenameTables { warps, registers: parameters.logical_registers as usize, register_bits },
            reuse: ReuseBuffer {
                rows: of_one(parameters.reuse_rows),
                form_bits: FORM_BITS,
                register_bits,
                block_bits: BLOCK_BITS,
                barrier_bits: BARRIER_BITS,
                id_bits: ID_BITS,
                results,
                ways,
                seed: SEED,
            },
            hash: ValueHash { lanes: LANES, hash_bits, seed: SEED },
            signatures: ValueSignatureBuffer {
                rows: of_one(parameters.signature_rows),
                hash_bits,
                register_bits,
                ways,
            },
            pool: FreePool { registers, ways },
            counts: ReferenceCounts {
                registers,
                count_bits: parameters.count_bits as usize,
                hold_bits: HOLD_BITS + ways - 1,
                allocations: ways,
                increments: ways * CHANGES,
                decrements: ways * CHANGES,
                holds: ways * circuits::holds(results),
                drops: ways * CHANGES,
                queries: ways * circuits::queries(results),
            },
        }
    }
}

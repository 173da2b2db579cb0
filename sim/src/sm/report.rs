//! What a run reports.

use serde::{Deserialize, Serialize};
use warpfile_kernels::program::Spills;

use super::operations::Operations;
use super::timeline::Timeline;
use super::working_set::WorkingSet;
use crate::counters;
use crate::counters::Counts;

/// Name of the group of counters of the main register file, in every storage that has one.
pub const MRF: &str = "mrf";

/// Everything measured in a run. Launches of a run follow each other; all figures are sums over them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Design simulated.
    pub design: String,
    /// Launches run.
    pub launches: u64,
    /// Thread blocks run.
    pub blocks: u64,
    /// Cycles, of all launches one after the other.
    pub cycles: u64,
    /// Kernel of each launch.
    pub launch_kernels: Vec<String>,
    /// Cycles of each launch.
    pub launch_cycles: Vec<u64>,
    /// Threads of each launch.
    pub launch_threads: Vec<u64>,
    /// Thread instructions of each launch.
    pub launch_thread_instructions: Vec<u64>,
    /// What each SM did, if it is the report of several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sms: Vec<SmReport>,
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// Thread instructions issued: lanes that executed, summed over warp instructions.
    pub thread_instructions: u64,
    /// Metadata instructions, which only take issue slots; not in the counts above.
    pub metadata_instructions: u64,
    /// Warp instructions a cycle.
    pub ipc: f64,
    /// Register operands that were compared with the kernel's values, in warp operands.
    pub operands_checked: u64,
    /// Register operands that were compared with the kernel's values, in lanes.
    pub lane_operands_checked: u64,
    /// Warp instructions that the design answered instead of executing them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answered_instructions: u64,
    /// Their results, all compared with the kernel's values, in warp registers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub results_checked: u64,
    /// What the instructions read and wrote, whatever the design: the baseline's main register file traffic.
    pub operands: Accesses,
    /// Where cycles without issue went.
    pub stalls: Stalls,
    /// How many warps and blocks were resident, and why not more.
    pub residency: Vec<Residency>,
    /// What the functional units have worked on.
    pub operations: Operations,
    /// Scheduler events.
    pub scheduler: SchedulerStatistics,
    /// Memory traffic.
    pub memory: MemoryStatistics,
    /// What the design's mechanisms counted, by group. Read again by [`KeptReport`](super::KeptReport) only, which knows
    /// the groups.
    #[serde(skip_deserializing)]
    pub counters: Counts,
    /// Activity of every table port of the design's circuits.
    pub activity: Vec<PortActivity>,
    /// Registers accessed in windows of cycles, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<WorkingSet>,
    /// The run over time, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

impl RunReport {
    /// Cycles in which an SM ran a launch, summed over the SMs that it is the report of.
    pub fn sm_cycles(&self) -> u64 {
        if self.sms.is_empty() {
            return self.cycles;
        }
        self.sms.iter().flat_map(|sm| &sm.launch_cycles).sum()
    }

    /// Accesses to the main register file; zeros in a design without one.
    pub fn mrf(&self) -> Accesses {
        self.counters.get(MRF)
    }

    /// Operand reads in which no active lane needed the main register file, per cent; `None` without reads.
    pub fn mrf_reads_avoided_percent(&self) -> Option<f64> {
        percent_less(self.mrf().reads, self.operands.reads)
    }

    /// Result writes less main register file writes, per cent of result writes; negative if a design writes more often
    /// than the instructions do. `None` without writes.
    pub fn mrf_writes_avoided_percent(&self) -> Option<f64> {
        percent_less(self.mrf().writes, self.operands.writes)
    }
}

/// One of several SMs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmReport {
    /// Cycles of each launch.
    pub launch_cycles: Vec<u64>,
    /// Warp instructions issued.
    pub warp_instructions: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What `made` is less than `all`, per cent of `all`; `None` of nothing.
pub fn percent_less(made: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * (all as f64 - made as f64) / all as f64)
}

counters! {
    /// Reads and writes of one level.
    pub struct Accesses {
        /// Reads of a warp-wide register, whole or in part.
        reads: sum("accesses"),
        /// Writes of a warp-wide register, whole or in part.
        writes: sum("accesses"),
        /// Reads of a 128-bit cluster entry (four lanes), at least one lane active. A full warp is 8 of them.
        cluster_reads: sum("accesses"),
        /// Writes of a 128-bit cluster entry, at least one lane active.
        cluster_writes: sum("accesses"),
    }
}

counters! {
    /// Cycles in which a scheduler picked nothing, by the first reason that applies to the warps it had then; summed
    /// over schedulers.
    pub struct Stalls {
        /// The operand storage had not taken the instruction picked before, or the SM had no slot left or no instruction fetched
        /// for a warp that could issue.
        issue_blocked: sum("cycles"),
        /// Some warp could issue, or could once it is active again, but had no active slot.
        ready_warp_inactive: sum("cycles"),
        /// Some warp waited for the result of a short operation.
        short_latency: sum("cycles"),
        /// Some warp waited for the result of a long-latency operation.
        long_latency: sum("cycles"),
        /// Some warp waited for a branch to resolve.
        branch: sum("cycles"),
        /// Some warp waited at a barrier.
        barrier: sum("cycles"),
        /// Some warp could issue, but the design held it back: its region was not staged, or it had to wait for a register.
        design: sum("cycles"),
        /// Warps only drained: everything had been issued.
        drained: sum("cycles"),
    }
}

/// Occupancy of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residency {
    /// Kernel.
    pub kernel: String,
    /// 32-bit registers a thread.
    pub registers_per_thread: u64,
    /// What the compiler kept in local memory for want of more.
    #[serde(default, skip_serializing_if = "Spills::is_none")]
    pub spills: Spills,
    /// Warps of a block.
    pub warps_per_block: u64,
    /// Blocks of the launch that the SM runs.
    pub blocks: u64,
    /// Blocks that fit on the SM at a time.
    pub resident_blocks: u64,
    /// Warps that fit on the SM at a time, and are there: no more than the launch has.
    pub resident_warps: u64,
    /// What keeps a further block out.
    pub limited_by: ResidencyLimit,
}

/// What keeps a further block out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResidencyLimit {
    /// The launch has no more.
    #[default]
    Launch,
    /// Warp slots.
    Warps,
    /// Block slots.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
    /// A layer of the design.
    Layer,
}

counters! {
    /// Scheduler events.
    pub struct SchedulerStatistics {
        /// Warps made active.
        activations: sum("warps"),
        /// Warps suspended.
        suspensions: sum("warps"),
        /// Of these, at a barrier.
        barrier_suspensions: sum("warps"),
        /// Results of short operations that landed after their warp's suspension.
        results_after_suspension: sum("results"),
        /// Cycles of warps that could have issued, but that the design held back: their region was not staged, or they had
        /// to wait for a register.
        held_warp_cycles: sum("warp cycles"),
    }
}

counters! {
    /// Memory traffic of the SM.
    pub struct MemoryStatistics {
        /// Warp instructions that accessed global, local or generic memory.
        instructions: sum("warp instructions"),
        /// Transactions sent, after coalescing.
        transactions: sum("transactions"),
        /// Bytes of these.
        bytes: sum("bytes"),
        /// Warp instructions that accessed shared memory.
        shared_instructions: sum("warp instructions"),
        /// Words of 32 bits that these read or wrote; lanes that access one word share it.
        shared_words: sum("words"),
        /// Cycles the shared memory was busy.
        shared_cycles: sum("cycles"),
        /// Words of 32 bits that accesses to constant memory read; lanes that access one word share it.
        constant_words: sum("words"),
        /// L1 hits and misses, in transactions; 0 without an L1.
        l1: group(CacheStatistics),
        /// L2 hits and misses, in transactions; 0 without an L2.
        l2: group(CacheStatistics),
        /// Bytes from and to DRAM, or through the fixed model.
        dram_bytes: sum("bytes"),
        /// Traffic of register lines; 0 in designs that keep all registers in the SM.
        register_lines: group(RegisterLineStatistics),
    }
}

counters! {
    /// Cycles in which the ports of a table were used, summed over tables of the same kind.
    pub struct TableAccesses {
        /// Reads of a row.
        reads: sum("cycles"),
        /// Writes of a row, whole or in part.
        writes: sum("cycles"),
        /// Searches in all rows.
        searches: sum("cycles"),
    }
}

counters! {
    /// Requests for register lines, each one request of the L1, and where fetched lines were found.
    pub struct RegisterLineStatistics {
        /// Lines fetched that were in the L1.
        fetched_from_l1: sum("register lines"),
        /// Lines fetched that were in the L2.
        fetched_from_l2: sum("register lines"),
        /// Lines fetched that were in DRAM.
        fetched_from_dram: sum("register lines"),
        /// Of the lines fetched from the L1, those that hold compressed registers.
        compressed_from_l1: sum("register lines"),
        /// Of the lines fetched from the L2, those that hold compressed registers.
        compressed_from_l2: sum("register lines"),
        /// Of the lines fetched from DRAM, those that hold compressed registers.
        compressed_from_dram: sum("register lines"),
        /// Lines written.
        writes: sum("register lines"),
        /// Of the lines written, those that hold compressed registers.
        compressed_writes: sum("register lines"),
        /// Lines written back from the L1 to the L2.
        written_to_l2: sum("register lines"),
        /// Lines written back to DRAM.
        written_to_dram: sum("register lines"),
        /// Lines dropped.
        invalidations: sum("register lines"),
        /// Warps all of whose lines were dropped.
        drops: sum("warps"),
    }
}

impl RegisterLineStatistics {
    /// Requests of the L1.
    pub fn l1_requests(&self) -> u64 {
        self.fetches() + self.writes + self.invalidations + self.drops
    }

    /// Lines fetched.
    pub fn fetches(&self) -> u64 {
        self.fetched_from_l1 + self.fetched_from_l2 + self.fetched_from_dram
    }
}

counters! {
    /// Hits and misses of one cache.
    pub struct CacheStatistics {
        /// Accesses that found their line.
        hits: sum("transactions"),
        /// Accesses that found their line on its way.
        merged_misses: sum("transactions"),
        /// Accesses that asked the next level.
        misses: sum("transactions"),
        /// Dirty lines written back.
        writebacks: sum("transactions"),
    }
}

/// Activity of one physical port of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortActivity {
    /// `instance.table.port`.
    pub port: String,
    /// Cycles in which the port was enabled.
    pub cycles: u64,
    /// Physical arrays touched in these cycles.
    pub arrays: u64,
}

/// Warp instructions a cycle; 0 without cycles.
pub(super) fn instructions_per_cycle(warp_instructions: u64, cycles: u64) -> f64 {
    if cycles == 0 { 0.0 } else { warp_instructions as f64 / cycles as f64 }
}

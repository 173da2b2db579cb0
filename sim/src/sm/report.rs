//! What a run reports.

use serde::Serialize;

use super::working_set::WorkingSet;

/// Everything measured in a run. Launches of a run follow each other; all figures are sums over them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunReport {
    /// Design simulated.
    pub design: String,
    /// Launches run.
    pub launches: u64,
    /// Thread blocks run.
    pub blocks: u64,
    /// Cycles, of all launches one after the other.
    pub cycles: u64,
    /// Cycles of each launch.
    pub launch_cycles: Vec<u64>,
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// Thread instructions issued: lanes that executed, summed over warp instructions.
    pub thread_instructions: u64,
    /// Metadata instructions, which only take issue slots (RegLess §5.4); not in the counts above.
    pub metadata_instructions: u64,
    /// Warp instructions a cycle.
    pub ipc: f64,
    /// Register operands that were compared with the kernel's values, in warp operands.
    pub operands_checked: u64,
    /// Register operands that were compared with the kernel's values, in lanes.
    pub lane_operands_checked: u64,
    /// Register traffic.
    pub registers: RegisterTraffic,
    /// Where cycles without issue went.
    pub stalls: Stalls,
    /// How many warps and blocks were resident, and why not more.
    pub residency: Vec<Residency>,
    /// Scheduler events.
    pub scheduler: SchedulerStatistics,
    /// Where registers that regions need from before were found; 0 in designs without regions.
    pub preloads: PreloadStatistics,
    /// What renaming of registers did; 0 in designs without it.
    pub renaming: RenamingStatistics,
    /// Regions run, and accesses to what operand staging units consist of beside their values; 0 in designs without.
    pub staging: StagingStatistics,
    /// Memory traffic.
    pub memory: MemoryStatistics,
    /// Activity of every table port of the design's circuits.
    pub activity: Vec<PortActivity>,
    /// Registers accessed in windows of cycles, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_set: Option<WorkingSet>,
}

/// Register reads and writes, once as the kernel asks for them and once by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RegisterTraffic {
    /// What the instructions read and wrote, whatever the design: the baseline's main register file traffic.
    pub operands: Accesses,
    /// Accesses to the main register file.
    pub mrf: Accesses,
    /// Accesses to the register file cache or the operand staging unit, evictions and flushes included; 0 in designs
    /// without one.
    pub rfc: Accesses,
    /// Accesses to the levels above the main register file; 0 in designs without a register file hierarchy.
    pub hierarchy: HierarchyAccesses,
    /// Operand reads in which no active lane needed the main register file, per cent; `None` without reads.
    pub mrf_reads_avoided_percent: Option<f64>,
    /// Result writes less main register file writes, per cent of result writes; negative if a design writes
    /// more often than the instructions do. `None` without writes.
    pub mrf_writes_avoided_percent: Option<f64>,
}

/// Reads and writes of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accesses {
    /// Reads of a warp-wide register, whole or in part.
    pub reads: u64,
    /// Writes of a warp-wide register, whole or in part.
    pub writes: u64,
    /// Reads of a 128-bit cluster entry (four lanes), at least one lane active. A full warp is 8 of them.
    pub cluster_reads: u64,
    /// Writes of a 128-bit cluster entry, at least one lane active.
    pub cluster_writes: u64,
}

/// Reads and writes of the levels above the main register file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HierarchyAccesses {
    /// The last result file.
    pub lrf: Accesses,
    /// The operand register file, copies of operands included.
    pub orf: Accesses,
}

/// Cycles in which a scheduler picked nothing, by the first reason that applies to the warps it had then; summed
/// over schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stalls {
    /// The operand storage had not taken the instruction picked before.
    pub issue_blocked: u64,
    /// Some warp could issue, or could once it is active again, but had no active slot.
    pub ready_warp_inactive: u64,
    /// Some warp waited for the result of a short operation.
    pub short_latency: u64,
    /// Some warp waited for the result of a long-latency operation.
    pub long_latency: u64,
    /// Some warp waited for a branch to resolve.
    pub branch: u64,
    /// Some warp waited at a barrier.
    pub barrier: u64,
    /// Some warp could issue, but the design held it back: its region was not staged, or it had to wait for a register.
    pub design: u64,
    /// Warps only drained: everything had been issued.
    pub drained: u64,
}

/// Occupancy of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Residency {
    /// Kernel.
    pub kernel: String,
    /// 32-bit registers a thread.
    pub registers_per_thread: u64,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
}

/// Scheduler events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SchedulerStatistics {
    /// Warps made active.
    pub activations: u64,
    /// Warps suspended.
    pub suspensions: u64,
    /// Of these, at a barrier.
    pub barrier_suspensions: u64,
    /// Results of short operations that landed after their warp's suspension.
    pub results_after_suspension: u64,
    /// Cycles of warps that could have issued, but that the design held back: their region was not staged, or they had
    /// to wait for a register.
    pub held_warp_cycles: u64,
}

/// Memory traffic of the SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryStatistics {
    /// Warp instructions that accessed global, local or generic memory.
    pub instructions: u64,
    /// Transactions sent, after coalescing.
    pub transactions: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Warp instructions that accessed shared memory.
    pub shared_instructions: u64,
    /// Cycles the shared memory was busy.
    pub shared_cycles: u64,
    /// L1 hits and misses, in transactions; 0 without an L1.
    pub l1: CacheStatistics,
    /// L2 hits and misses, in transactions; 0 without an L2.
    pub l2: CacheStatistics,
    /// Bytes from and to DRAM, or through the fixed model.
    pub dram_bytes: u64,
    /// Traffic of register lines; 0 in designs that keep all registers in the SM.
    pub register_lines: RegisterLineStatistics,
}

/// Registers that regions need from before, by where they were (RegLess, Fig. 17). Those fetched that are not compressed
/// are requests of memory: [`RegisterLineStatistics`] has their level, lines of compressed registers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PreloadStatistics {
    /// Still in the operand staging unit.
    pub staged: u64,
    /// Without a value: nothing is fetched.
    pub unwritten: u64,
    /// Not there: fetched.
    pub fetched: u64,
    /// Of those fetched, compressed ones whose line the compressor held.
    pub compressor_hits: u64,
    /// Of those fetched, compressed ones whose line the compressor had to fetch.
    pub compressor_misses: u64,
}

impl PreloadStatistics {
    /// Adds those of another part of the machine.
    pub(super) fn add(&mut self, other: PreloadStatistics) {
        let PreloadStatistics { staged, unwritten, fetched, compressor_hits, compressor_misses } = other;
        self.staged += staged;
        self.unwritten += unwritten;
        self.fetched += fetched;
        self.compressor_hits += compressor_hits;
        self.compressor_misses += compressor_misses;
    }
}

/// Renaming of registers onto fewer physical ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RenamingStatistics {
    /// Physical registers given to a register.
    pub allocations: u64,
    /// Most physical registers in use at once, summed over schedulers.
    pub most_in_use: u64,
    /// Physical registers in use, summed over cycles.
    pub register_cycles: u64,
    /// Cycles in which a picked instruction waited because no physical register was free for it, summed over
    /// schedulers.
    pub allocation_waits: u64,
}

impl RenamingStatistics {
    /// Adds those of another part of the machine.
    pub(super) fn add(&mut self, other: RenamingStatistics) {
        let RenamingStatistics { allocations, most_in_use, register_cycles, allocation_waits } = other;
        self.allocations += allocations;
        self.most_in_use += most_in_use;
        self.register_cycles += register_cycles;
        self.allocation_waits += allocation_waits;
    }
}

/// What shards of RegLess did. Values are counted as [`RegisterTraffic::rfc`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StagingStatistics {
    /// Regions that warps have become active with.
    pub regions: u64,
    /// Cycles that regions were active, from the cycle in which their warp may issue to that in which its last
    /// instruction has issued; summed over regions (Table 2).
    pub active_cycles: u64,
    /// Accesses to the tags of the banks.
    pub tags: TableAccesses,
    /// Accesses to the lines of compressors.
    pub compressed_lines: TableAccesses,
    /// Accesses to the tags of these lines.
    pub compressed_tags: TableAccesses,
    /// Accesses to the bits that say which registers are compressed.
    pub compressed_registers: TableAccesses,
}

/// Cycles in which the ports of a table were used, summed over tables of the same kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TableAccesses {
    /// Reads of a row.
    pub reads: u64,
    /// Writes of a row, whole or in part.
    pub writes: u64,
    /// Searches in all rows.
    pub searches: u64,
}

impl StagingStatistics {
    /// Adds those of another part of the machine.
    pub(super) fn add(&mut self, other: StagingStatistics) {
        let StagingStatistics {
            regions,
            active_cycles,
            tags,
            compressed_lines,
            compressed_tags,
            compressed_registers,
        } = other;
        self.regions += regions;
        self.active_cycles += active_cycles;
        self.tags.add(tags);
        self.compressed_lines.add(compressed_lines);
        self.compressed_tags.add(compressed_tags);
        self.compressed_registers.add(compressed_registers);
    }
}

impl TableAccesses {
    /// Adds those of another table.
    pub(super) fn add(&mut self, other: TableAccesses) {
        let TableAccesses { reads, writes, searches } = other;
        self.reads += reads;
        self.writes += writes;
        self.searches += searches;
    }
}

/// Requests for register lines, each one request of the L1, and where fetched lines were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RegisterLineStatistics {
    /// Lines fetched that were in the L1.
    pub fetched_from_l1: u64,
    /// Lines fetched that were in the L2.
    pub fetched_from_l2: u64,
    /// Lines fetched that were in DRAM.
    pub fetched_from_dram: u64,
    /// Of the lines fetched from the L1, those that hold compressed registers.
    pub compressed_from_l1: u64,
    /// Of the lines fetched from the L2, those that hold compressed registers.
    pub compressed_from_l2: u64,
    /// Of the lines fetched from DRAM, those that hold compressed registers.
    pub compressed_from_dram: u64,
    /// Lines written.
    pub writes: u64,
    /// Of the lines written, those that hold compressed registers.
    pub compressed_writes: u64,
    /// Lines written back from the L1 to the L2.
    pub written_to_l2: u64,
    /// Lines written back to DRAM.
    pub written_to_dram: u64,
    /// Lines dropped.
    pub invalidations: u64,
    /// Warps all of whose lines were dropped.
    pub drops: u64,
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

    /// Adds those of another SM.
    pub(super) fn add(&mut self, other: &RegisterLineStatistics) {
        let RegisterLineStatistics {
            fetched_from_l1,
            fetched_from_l2,
            fetched_from_dram,
            compressed_from_l1,
            compressed_from_l2,
            compressed_from_dram,
            writes,
            compressed_writes,
            written_to_l2,
            written_to_dram,
            invalidations,
            drops,
        } = other;
        self.fetched_from_l1 += fetched_from_l1;
        self.fetched_from_l2 += fetched_from_l2;
        self.fetched_from_dram += fetched_from_dram;
        self.compressed_from_l1 += compressed_from_l1;
        self.compressed_from_l2 += compressed_from_l2;
        self.compressed_from_dram += compressed_from_dram;
        self.writes += writes;
        self.compressed_writes += compressed_writes;
        self.written_to_l2 += written_to_l2;
        self.written_to_dram += written_to_dram;
        self.invalidations += invalidations;
        self.drops += drops;
    }
}

/// Hits and misses of one cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheStatistics {
    /// Accesses that found their line.
    pub hits: u64,
    /// Accesses that found their line on its way.
    pub merged_misses: u64,
    /// Accesses that asked the next level.
    pub misses: u64,
    /// Dirty lines written back.
    pub writebacks: u64,
}

/// Activity of one physical port of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PortActivity {
    /// `instance.table.port`.
    pub port: String,
    /// Cycles in which the port was enabled.
    pub cycles: u64,
    /// Physical arrays touched in these cycles.
    pub arrays: u64,
}

impl Accesses {
    /// Adds the accesses of another part of the machine.
    pub(super) fn add(&mut self, other: Accesses) {
        let Accesses { reads, writes, cluster_reads, cluster_writes } = other;
        self.reads += reads;
        self.writes += writes;
        self.cluster_reads += cluster_reads;
        self.cluster_writes += cluster_writes;
    }
}

impl HierarchyAccesses {
    /// Adds the accesses of another part of the machine.
    pub(super) fn add(&mut self, other: HierarchyAccesses) {
        let HierarchyAccesses { lrf, orf } = other;
        self.lrf.add(lrf);
        self.orf.add(orf);
    }
}

impl RegisterTraffic {
    /// Fills in the percentages from the counts.
    pub fn finish(&mut self) {
        let avoided =
            |all: u64, made: u64| (all > 0).then(|| 100.0 * (all as f64 - made as f64) / all as f64);
        self.mrf_reads_avoided_percent = avoided(self.operands.reads, self.mrf.reads);
        self.mrf_writes_avoided_percent = avoided(self.operands.writes, self.mrf.writes);
    }
}

/// Warp instructions a cycle; 0 without cycles.
pub(super) fn instructions_per_cycle(warp_instructions: u64, cycles: u64) -> f64 {
    if cycles == 0 { 0.0 } else { warp_instructions as f64 / cycles as f64 }
}

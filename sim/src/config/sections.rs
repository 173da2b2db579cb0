//! The parameters of every machine, section by section; those of a mechanism are with it.

use serde::{Deserialize, Serialize};

use super::parameter::{Accepted, parameters};

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
    /// The functional execution of kernels, before any timing.
    pub struct Exec {
        /// Warp instructions that a block may execute; a kernel that needs more is taken for endless.
        max_warp_instructions: u64 = Accepted::integer(1, 1 << 50),
        /// Blocks that a launch may have; one with more is refused.
        max_blocks: u64 = Accepted::integer(1, 1 << 50),
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
        /// Policy of the single-level scheduler.
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
    /// Latencies in cycles, from the scheduler's pick to the earliest pick of a dependent instruction. One that
    /// is shorter than operand access (3 cycles, 4 with a register file cache) plus one counts as that; in design regless,
    /// where a result's line comes with the operands, one that is shorter than 5 counts as 5.
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

//! The parameters of every machine, section by section; those of a mechanism are with it.

use serde::{Deserialize, Serialize};
use warpfile_hdl::rfc::InnerPolicy;

use super::parameter::{Accepted, parameters};
use crate::sm::design::MAX_ISSUES;

/// Scheduler that sees every resident warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SingleLevelPolicy {
    /// Loose round-robin: the next ready warp after the last one that issued.
    Lrr,
    /// Greedy then oldest: the same warp while it is ready, then the one dispatched first.
    Gto,
}

/// A unit that executes what other machines have a unit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArithmeticUnit {
    /// The ALUs.
    Alu,
    /// The special function units.
    Sfu,
}

/// What lies behind the SM's memory unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryModel {
    /// A fixed latency behind a limited bandwidth, no caches.
    Fixed,
    /// L1, L2 and DRAM; a request knows when it will be back as soon as it is taken.
    Caches,
    /// L1, network, slices of the L2 and DRAM, with bounded queues between them, cycle by cycle.
    Queued,
}

/// Which set of a cache a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheIndex {
    /// The low bits of the line's number.
    Linear,
    /// All groups of as many bits, XORed.
    Xor,
    /// The hash found on Fermi, for 32 or 64 sets (Nugteren et al., HPCA 2014).
    Fermi,
}

/// Where register lines lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineLayout {
    /// All warps' registers of one number side by side.
    ByRegister,
    /// All registers of one warp side by side.
    ByWarp,
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
    /// The SM: what limits residency and issue. It is in equal partitions, each with one scheduler or several, and with every
    /// partitions-th warp, a register file, ALUs and special function units to itself.
    pub struct Sm {
        /// Warps resident at a time, a multiple of the schedulers.
        warps: u64 = Accepted::integer(1, 128),
        /// Thread blocks resident at a time.
        blocks: u64 = Accepted::integer(1, 64),
        /// Shared memory, in bytes.
        shared_memory_bytes: u64 = Accepted::integer(0, 1 << 24),
        /// Warp schedulers.
        schedulers: u64 = Accepted::integer(1, 4),
        /// Schedulers whose warps share a partition's register file; two if each issues one instruction a cycle. Every second warp
        /// is the first's.
        schedulers_per_partition: u64 = Accepted::integer(1, MAX_ISSUES as u64),
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
    /// The banked main register file of a partition.
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
        single_level: SingleLevelPolicy = Accepted::one_of::<SingleLevelPolicy>(),
        /// Warps in the active set of a two-level scheduler; with as many as it has warps none is suspended.
        active_warps: u64 = Accepted::integer(1, 64),
        /// Selection among active warps.
        inner: InnerPolicy = Accepted::one_of::<InnerPolicy>(),
        /// Suspend a warp at a marked instruction even when its operands are ready.
        suspend_when_ready: bool = Accepted::Flag,
        /// Suspend a warp that waits at a barrier at once; else only when a warp that could issue has no slot.
        suspend_at_barriers: bool = Accepted::Flag,
    }
}

parameters! {
    /// Latencies in cycles, from the scheduler's pick to the earliest pick of a dependent instruction. One that
    /// is shorter than operand access (3 cycles, 4 with a register file cache) plus one counts as that; in design regless,
    /// where a result's line comes with the operands, one that is shorter than 5 counts as 5.
    pub struct Latency {
        /// Integer and single-precision arithmetic that has no latency of its own here.
        alu: u64 = Accepted::integer(1, 1000),
        /// Integer addition and subtraction; 0: as the ALU.
        int_add: u64 = Accepted::integer(0, 255),
        /// Integer minimum and maximum; 0: as the ALU.
        int_max: u64 = Accepted::integer(0, 255),
        /// Integer multiplication; 0: as the ALU.
        int_mul: u64 = Accepted::integer(0, 255),
        /// Integer multiply-add; 0: as the ALU.
        int_mad: u64 = Accepted::integer(0, 255),
        /// Single-precision addition and subtraction; 0: as the ALU.
        fp_add: u64 = Accepted::integer(0, 255),
        /// Single-precision minimum and maximum; 0: as the ALU.
        fp_max: u64 = Accepted::integer(0, 255),
        /// Single-precision multiplication; 0: as the ALU.
        fp_mul: u64 = Accepted::integer(0, 255),
        /// Single-precision multiply-add; 0: as the ALU.
        fp_mad: u64 = Accepted::integer(0, 255),
        /// Special functions.
        sfu: u64 = Accepted::integer(1, 1000),
        /// Double-precision arithmetic that has no latency of its own here.
        double: u64 = Accepted::integer(1, 1000),
        /// Double-precision addition and subtraction; 0: as other double precision.
        dp_add: u64 = Accepted::integer(0, 255),
        /// Double-precision minimum and maximum; 0: as other double precision.
        dp_max: u64 = Accepted::integer(0, 255),
        /// Double-precision multiplication; 0: as other double precision.
        dp_mul: u64 = Accepted::integer(0, 255),
        /// Double-precision multiply-add; 0: as other double precision.
        dp_mad: u64 = Accepted::integer(0, 255),
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
    /// Cycles from an instruction's start in its unit to the next one's. 0: as many as the unit's lanes take for a warp
    /// (`throughput`).
    pub struct Initiation {
        /// Integer and single-precision arithmetic that has no interval of its own here.
        alu: u64 = Accepted::integer(0, 64),
        /// Integer addition and subtraction; 0: as the ALU.
        int_add: u64 = Accepted::integer(0, 64),
        /// Integer minimum and maximum; 0: as the ALU.
        int_max: u64 = Accepted::integer(0, 64),
        /// Integer multiplication; 0: as the ALU.
        int_mul: u64 = Accepted::integer(0, 64),
        /// Integer multiply-add; 0: as the ALU.
        int_mad: u64 = Accepted::integer(0, 64),
        /// Single-precision addition and subtraction; 0: as the ALU.
        fp_add: u64 = Accepted::integer(0, 64),
        /// Single-precision minimum and maximum; 0: as the ALU.
        fp_max: u64 = Accepted::integer(0, 64),
        /// Single-precision multiplication; 0: as the ALU.
        fp_mul: u64 = Accepted::integer(0, 64),
        /// Single-precision multiply-add; 0: as the ALU.
        fp_mad: u64 = Accepted::integer(0, 64),
        /// Special functions.
        sfu: u64 = Accepted::integer(0, 64),
        /// Double-precision arithmetic that has no interval of its own here.
        double: u64 = Accepted::integer(0, 64),
        /// Double-precision addition and subtraction; 0: as other double precision.
        dp_add: u64 = Accepted::integer(0, 64),
        /// Double-precision minimum and maximum; 0: as other double precision.
        dp_max: u64 = Accepted::integer(0, 64),
        /// Double-precision multiplication; 0: as other double precision.
        dp_mul: u64 = Accepted::integer(0, 64),
        /// Double-precision multiply-add; 0: as other double precision.
        dp_mad: u64 = Accepted::integer(0, 64),
    }
}

parameters! {
    /// Arithmetic units of the whole SM, which its schedulers share, and what runs on which.
    pub struct Units {
        /// ALUs of the SM; 0: each partition has one for each of its schedulers.
        alu: u64 = Accepted::integer(0, 32),
        /// Special function units of the SM; 0: each partition has one for each of its schedulers.
        sfu: u64 = Accepted::integer(0, 32),
        /// Double-precision units of the SM; 0: another unit executes double precision.
        double: u64 = Accepted::integer(0, 32),
        /// Which unit executes double precision where there is none for it.
        double_on: ArithmeticUnit = Accepted::one_of::<ArithmeticUnit>(),
        /// Which unit executes integer multiplication and multiply-add.
        int_multiply_on: ArithmeticUnit = Accepted::one_of::<ArithmeticUnit>(),
    }
}

parameters! {
    /// Instructions that the whole SM issues, dispatches and writes back in a cycle, whatever its schedulers could do; 0 is
    /// no limit. An instruction is of the class of its unit; branches, barriers and fences are of the ALUs' class.
    pub struct Slots {
        /// Instructions of one warp that are fetched at once, for one warp in turn whose instructions have all been issued; they may be
        /// issued two cycles later, and a branch takes what is behind it away.
        fetch: u64 = Accepted::integer(0, 16),
        /// Instructions for the ALUs that are issued.
        issue_alu: u64 = Accepted::integer(0, 16),
        /// Instructions for the double-precision units that are issued.
        issue_double: u64 = Accepted::integer(0, 16),
        /// Instructions for the special function units that are issued.
        issue_sfu: u64 = Accepted::integer(0, 16),
        /// Instructions for memory of any kind and textures that are issued.
        issue_memory: u64 = Accepted::integer(0, 16),
        /// Instructions that go from operand access to the ALUs.
        dispatch_alu: u64 = Accepted::integer(0, 16),
        /// Instructions that go from operand access to the special function units.
        dispatch_sfu: u64 = Accepted::integer(0, 16),
        /// Instructions that go from operand access to memory of any kind and textures.
        dispatch_memory: u64 = Accepted::integer(0, 16),
        /// Arithmetic instructions that write their results back; one that finds no slot starts later in its unit.
        write_back: u64 = Accepted::integer(0, 16),
    }
}

parameters! {
    /// Throughput of the units. ALUs and special function units are of a partition, the others of the SM.
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
        model: MemoryModel = Accepted::one_of::<MemoryModel>(),
        /// Warp instructions that wait in the memory unit for their transactions to be sent.
        queue: u64 = Accepted::integer(1, 256),
        /// Bytes of a memory transaction: accesses of a warp to the same one are coalesced.
        sector_bytes: u64 = Accepted::integer(4, 1024),
        /// Where register lines lie, in designs that keep registers in memory.
        line_layout: LineLayout = Accepted::one_of::<LineLayout>(),
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
    /// A cache level; used with `memory.model = "caches"` and `"queued"`.
    pub struct CacheLevel {
        /// Capacity in bytes of the whole level (L2: of the chip); 0 leaves the level out.
        bytes: u64 = Accepted::integer(0, 1 << 30),
        /// Ways of a set.
        ways: u64 = Accepted::integer(1, 1024),
        /// Bytes of a line, a power of two.
        line_bytes: u64 = Accepted::integer(4, 4096),
        /// Which set a line belongs to; fermi is for an L1 of 32 or 64 sets.
        index: CacheIndex = Accepted::one_of::<CacheIndex>(),
        /// Lines that may be on their way at a time (L2: caches: of an SM, queued: of the chip).
        mshrs: u64 = Accepted::integer(1, 65_536),
        /// Queued: requests that wait for one line on its way.
        mshr_merge: u64 = Accepted::integer(1, 1024),
        /// Cycles from the request to the data on a hit; queued, L2: from arrival at a slice to the lookup.
        latency: u64 = Accepted::integer(1, 10_000),
        /// Bytes a cycle (L2: of the chip).
        bytes_per_cycle: u64 = Accepted::integer(1, 65_536),
        /// What a store does.
        write_policy: WritePolicy = Accepted::one_of::<WritePolicy>(),
    }
}

parameters! {
    /// Network between the SMs and the slices of the L2: a crossbar, one way for requests and one for replies; used with
    /// `memory.model = "queued"`.
    pub struct Network {
        /// Bytes that an SM or a slice sends or takes a cycle and way. A message is its data and a header of 8 bytes.
        flit_bytes: u64 = Accepted::integer(8, 1024),
        /// Cycles of a message without waiting, beside those of its flits.
        latency: u64 = Accepted::integer(0, 10_000),
        /// Requests that wait in an SM to be sent.
        queue: u64 = Accepted::integer(2, 4096),
    }
}

parameters! {
    /// Slices of the L2, which serve the addresses in turn; used with `memory.model = "queued"`. Places in queues are a
    /// slice's; of those that are shared, an SM has its part.
    pub struct Slices {
        /// Slices of the chip.
        count: u64 = Accepted::integer(1, 256),
        /// Bytes after which the next slice follows, a power of two of at least a line of the L2.
        interleave_bytes: u64 = Accepted::integer(4, 65_536),
        /// Requests that wait for a lookup. While none is free, the slice takes nothing from the network.
        input_queue: u64 = Accepted::integer(1, 4096),
        /// Replies that wait to be sent.
        reply_queue: u64 = Accepted::integer(1, 4096),
        /// Requests that wait to be sent to DRAM.
        dram_queue: u64 = Accepted::integer(2, 4096),
    }
}

parameters! {
    /// DRAM of the chip; used with `memory.model = "caches"` and `"queued"`. All but the first two are of the latter. Times
    /// in memory cycles are those of the data sheet.
    pub struct Dram {
        /// Cycles from the request to the data; queued: from the L2 to the scheduler.
        latency: u64 = Accepted::integer(1, 10_000),
        /// Bytes a cycle.
        bytes_per_cycle: u64 = Accepted::integer(1, 65_536),
        /// Channels of the chip.
        channels: u64 = Accepted::integer(1, 64),
        /// Requests that a channel's scheduler chooses from.
        queue: u64 = Accepted::integer(1, 4096),
        /// Requests under way beside those in a channel's scheduler.
        return_queue: u64 = Accepted::integer(1, 4096),
        /// Row hits of a bank that may pass an older request to another row; 0: no limit.
        row_hits: u64 = Accepted::integer(0, 4096),
        /// Banks of a channel.
        banks: u64 = Accepted::integer(1, 64),
        /// Groups of banks; 1: none.
        bank_groups: u64 = Accepted::integer(1, 16),
        /// Bytes of a row.
        row_bytes: u64 = Accepted::integer(64, 65_536),
        /// Bytes of a burst, the least that is moved.
        burst_bytes: u64 = Accepted::integer(4, 256),
        /// Clock of the SM, in MHz: memory cycles are counted by it.
        core_mhz: u64 = Accepted::integer(100, 4000),
        /// Clock of the memory's commands, in MHz.
        memory_mhz: u64 = Accepted::integer(100, 10_000),
        /// Between activations of two banks, memory cycles.
        rrd: u64 = Accepted::integer(0, 63),
        /// From activation to read or write, memory cycles.
        rcd: u64 = Accepted::integer(0, 255),
        /// From activation to precharge, memory cycles.
        ras: u64 = Accepted::integer(0, 255),
        /// From precharge to activation, memory cycles.
        rp: u64 = Accepted::integer(0, 255),
        /// Between activations of one bank, memory cycles.
        rc: u64 = Accepted::integer(0, 255),
        /// From read to its data, memory cycles.
        cl: u64 = Accepted::integer(0, 255),
        /// From write to its data, memory cycles.
        wl: u64 = Accepted::integer(0, 255),
        /// From the last data of a write to a read, memory cycles.
        cdlr: u64 = Accepted::integer(0, 255),
        /// From the last data of a write to precharge, memory cycles.
        wr: u64 = Accepted::integer(0, 255),
        /// Between reads or writes of one group of banks, memory cycles.
        ccdl: u64 = Accepted::integer(0, 255),
        /// From read to precharge, memory cycles.
        rtp: u64 = Accepted::integer(0, 255),
    }
}

parameters! {
    /// Which technology the energy report uses, and the distances that wires span in one without a floorplan.
    pub struct Energy {
        /// Technology; see `warpfile list technologies`.
        technology: String = Accepted::Text,
        /// Millimetres from the main register file to the ALUs.
        mrf_to_alu_mm: f64 = Accepted::real(0.0, 100.0),
        /// Millimetres from the register file cache to the ALUs.
        rfc_to_alu_mm: f64 = Accepted::real(0.0, 100.0),
    }
}

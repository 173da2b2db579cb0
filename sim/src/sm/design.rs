//! What a design plugs into the pipeline: where its operands are kept, and how warps are picked.
//!
//! The fixed points of the pipeline, and where they are met:
//!
//! | point | method |
//! |---|---|
//! | dispatch | [`OperandStorage::start_kernel`], [`OperandStorage::registers_per_warp`], [`OperandStorage::start_warp`] |
//! | decode | [`OperandStorage::decode`] |
//! | schedule, suspend, resume | [`WarpScheduler::cycle`]; the storage sees a suspension as a [`Flush`] |
//! | issue check | [`OperandStorage::held_warps`], [`OperandStorage::pick`] |
//! | rename, operand read, writeback | [`OperandStorage::cycle`], which gets registers by name and answers by instruction |
//! | memory | [`OperandStorage::line_request`] |
//! | block end | [`OperandStorage::end_warp`], [`OperandStorage::ending_warps`] |
//!
//! A shipped design's circuits are RTL behind resolved port handles; these traits carry one cycle's values
//! to and from them. Source: `docs/sm-pipeline.md`.

use warpfile_engine::Engine;
use warpfile_kernels::placement::{ResultPlace, SourcePlace};
use warpfile_kernels::program::{BlockIndex, InstId, LANES, LaneMask, LaneValues, MAX_SOURCES, Program};

pub use super::in_flight::ID_BITS;

use super::SimError;
use super::report::{
    Accesses, HierarchyAccesses, PortActivity, PreloadStatistics, RenamingStatistics, StagingStatistics,
};

/// Instructions that a scheduler issues a cycle at most.
pub const MAX_ISSUES: usize = 2;
/// Instructions that an operand storage dispatches a cycle at most: one to each unit.
pub const MAX_DISPATCHES: usize = Unit::COUNT;

/// A design, in as many equal parts as the SM has schedulers.
pub struct Design<'a> {
    /// Warp slot s belongs to partition s mod partitions, as warp s / partitions.
    pub partitions: Vec<PartitionDesign<'a>>,
}

/// One scheduler's part of a design: where operands are kept, and how warps are picked.
pub struct PartitionDesign<'a> {
    /// Keeps operands.
    pub storage: Box<dyn OperandStorage + 'a>,
    /// Picks warps.
    pub scheduler: Box<dyn WarpScheduler + 'a>,
}

/// Index of a warp slot of a partition.
pub type WarpSlot = usize;

/// A functional unit that operands are dispatched to. Its value is the unit's number in the circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unit {
    /// Integer, single and double precision.
    Alu,
    /// Special functions.
    Sfu,
    /// Texture.
    Texture,
    /// Global, local and generic memory.
    Memory,
    /// Shared and constant memory.
    Scratchpad,
    /// Branches, barriers, fences, exits.
    Control,
}

impl Unit {
    /// Number of units.
    pub const COUNT: usize = 6;

    /// Whether the partitions of an SM share one; the others are each partition's own.
    pub fn is_shared(self) -> bool {
        match self {
            Unit::Texture | Unit::Memory | Unit::Scratchpad => true,
            Unit::Alu | Unit::Sfu | Unit::Control => false,
        }
    }
}

/// Keeps the registers of resident warps.
pub trait OperandStorage {
    /// Cycles from the scheduler's pick to the earliest dispatch of operands.
    fn operand_cycles(&self) -> u64;

    /// Instructions it dispatches a cycle at most, on its first ports.
    fn dispatches(&self) -> usize;

    /// A launch begins: static knowledge of the program is available from here on.
    fn start_kernel(&mut self, program: &Program) -> Result<(), SimError>;

    /// Warp-wide registers of the main register file that a warp of the kernel occupies.
    fn registers_per_warp(&self, program: &Program) -> u64;

    /// The next instruction of a warp has been decoded: it can be picked from now on.
    fn decode(&mut self, _warp: WarpSlot, _inst: InstId) {}

    /// An instruction of a warp has been picked; it is offered from the next cycle on.
    fn pick(&mut self, _warp: WarpSlot, _inst: InstId) {}

    /// A warp of `block`, numbered in grid order, becomes resident in `warp`; register `r` is row `first_row + r`.
    /// The warps of a block are started one after the other.
    fn start_warp(&mut self, warp: WarpSlot, first_row: u32, block: BlockIndex);

    /// Warps that must not issue now, one bit a warp slot.
    fn held_warps(&self) -> u64;

    /// One cycle: takes what is offered if it can, and dispatches instructions, each to another unit.
    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError>;

    /// A warp has ended and nothing of it is in flight.
    fn end_warp(&mut self, warp: WarpSlot);

    /// Warps that have ended and whose slot cannot be given away yet, one bit each.
    fn ending_warps(&self) -> u64 {
        0
    }

    /// Whether it keeps register lines in memory; if not, it is not asked for requests.
    fn keeps_lines_in_memory(&self) -> bool {
        false
    }

    /// The request that it offers in the cycle that comes, known before anything else of it. It stays until it is
    /// taken.
    fn line_request(&mut self) -> Option<LineRequest<'_>> {
        None
    }

    /// Accesses to the main register file so far.
    fn mrf(&self) -> Accesses;

    /// Accesses to a register file cache or an operand staging unit so far; zeros without one.
    fn rfc(&self) -> Accesses;

    /// Accesses to a last result file and an operand register file so far; zeros without them.
    fn hierarchy(&self) -> HierarchyAccesses {
        HierarchyAccesses::default()
    }

    /// Where registers that regions need from before were found so far; zeros without regions.
    fn preloads(&self) -> PreloadStatistics {
        PreloadStatistics::default()
    }

    /// What renaming did so far; zeros without it.
    fn renaming(&self) -> RenamingStatistics {
        RenamingStatistics::default()
    }

    /// Regions run so far, and accesses to what there is beside values; zeros without staging units.
    fn staging(&self) -> StagingStatistics {
        StagingStatistics::default()
    }

    /// Activity of every table port so far.
    fn activity(&self) -> Vec<PortActivity>;

    /// The circuit, for waveforms; `None` if it is behavioural.
    fn circuit(&self) -> Option<&dyn Engine> {
        None
    }
}

/// What the harness offers to the operand storage in one cycle. An offer that is not taken is repeated. Of several
/// instructions or results there are at most `sm.issues_per_scheduler`, on the first ports.
#[derive(Clone, Copy, Debug)]
pub struct StorageInputs<'a> {
    /// Instructions picked in earlier cycles, in program order; one is taken only with all before it.
    pub issue: &'a [Option<Issue>; MAX_ISSUES],
    /// Results of short operations.
    pub result: [Option<Write<'a>>; MAX_ISSUES],
    /// Result of a long-latency operation.
    pub fill: Option<Write<'a>>,
    /// A slot to be freed; always taken.
    pub flush: Option<Flush>,
    /// Units that can take an instruction, bit [`Unit`] each.
    pub ready_units: u8,
    /// Warps that wait at a barrier or have ended, one bit each: all they have issued has been taken.
    pub parked: u64,
    /// The request for a register line that the storage has offered is taken in this cycle.
    pub line_request_taken: bool,
    /// A line that it has asked for; always taken.
    pub line: Option<&'a FilledLine>,
}

/// An instruction and its register operands.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    /// Comes back with the operands.
    pub id: u16,
    /// The warp.
    pub warp: WarpSlot,
    /// The warp's slot in the active set.
    pub slot: usize,
    /// The instruction.
    pub inst: InstId,
    /// Where it executes.
    pub unit: Unit,
    /// Lanes that execute it.
    pub active: LaneMask,
    /// Operands; none if no lane executes.
    pub sources: [Option<SourceRead>; MAX_SOURCES],
}

/// A register operand to be read.
#[derive(Clone, Copy, Debug)]
pub struct SourceRead {
    /// Row of the register: the warp's first row plus its number.
    pub row: u32,
    /// No executing lane reads this value again.
    pub last_read: bool,
    /// Not read again before the warp may next be suspended.
    pub idle: bool,
    /// The level that it is read in, in a register file hierarchy.
    pub place: SourcePlace,
}

/// A register to be written.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The instruction's number, as in its [`Issue`].
    pub id: u16,
    /// Which of its results this is.
    pub result: usize,
    /// The warp.
    pub warp: WarpSlot,
    /// Row of the register.
    pub row: u32,
    /// Lanes written.
    pub lanes: LaneMask,
    /// Values in these lanes.
    pub values: &'a LaneValues,
    /// The slot the warp holds, or the one that is being flushed for it.
    pub slot: Option<usize>,
    /// Whether the warp has been active without a break since it issued the instruction.
    pub cached: bool,
    /// Not read before the warp may next be suspended.
    pub idle: bool,
    /// The levels that it is written to, in a register file hierarchy.
    pub place: ResultPlace,
}

/// A slot whose warp has been suspended or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// The slot.
    pub slot: usize,
    /// The warp has ended: nothing needs to be kept.
    pub discard: bool,
}

/// What the operand storage answers.
#[derive(Clone, Debug)]
pub struct StorageOutputs {
    /// The instruction offered on a port has been taken.
    pub issue_taken: [bool; MAX_ISSUES],
    /// The result offered on a port has been taken.
    pub result_taken: [bool; MAX_ISSUES],
    /// The offered fill has been taken.
    pub fill_taken: bool,
    /// Instructions whose last operand is read in this cycle; their units take them.
    pub dispatch: [Option<u16>; MAX_DISPATCHES],
    /// Instructions whose operand values are there: those dispatched in the cycle before.
    pub delivered: [Option<u16>; MAX_DISPATCHES],
    /// Their operands.
    pub operands: [[LaneValues; MAX_SOURCES]; MAX_DISPATCHES],
    /// Slots that may not be given to another warp yet, one bit a slot.
    pub busy_slots: u64,
}

impl Default for StorageOutputs {
    fn default() -> Self {
        StorageOutputs {
            issue_taken: [false; MAX_ISSUES],
            result_taken: [false; MAX_ISSUES],
            fill_taken: false,
            dispatch: [None; MAX_DISPATCHES],
            delivered: [None; MAX_DISPATCHES],
            operands: [[[0; LANES]; MAX_SOURCES]; MAX_DISPATCHES],
            busy_slots: 0,
        }
    }
}

/// A request for a register line: its contents live in L1, L2 and DRAM (Kloosterman et al. §5.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRequest<'a> {
    /// Reads a line that has been written before.
    Fetch {
        /// The line.
        line: Line,
        /// Drops it once it is read.
        invalidates: bool,
        /// Comes back with the line.
        tag: u16,
    },
    /// Writes the whole line: nothing is fetched.
    Write {
        /// The line.
        line: Line,
        /// Its contents.
        values: &'a LaneValues,
    },
    /// Drops a line wherever it is, dirty or not.
    Invalidate {
        /// The line.
        line: Line,
    },
    /// Drops every line of a warp, which has ended; compressed lines, which warps share, stay.
    Drop {
        /// The warp.
        warp: usize,
    },
}

/// A register line in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// It is of the space of compressed lines, each of which holds several registers.
    pub compressed: bool,
    /// The warp: of the partition in what a storage asks for, of the SM in memory.
    pub warp: usize,
    /// Number of the register, below [`LINE_REGISTERS`]; a compressed line has a number that is made of this and the
    /// warp.
    pub register: usize,
}

/// Register lines that a warp has at most in each of the two spaces.
pub const LINE_REGISTERS: usize = 256;

/// A fetched line that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilledLine {
    /// The line.
    pub line: Line,
    /// As in the request.
    pub tag: u16,
    /// Its contents.
    pub values: LaneValues,
}

/// A line that has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchedLine {
    /// The cycle in which it is there.
    pub at: u64,
    /// Its contents.
    pub values: LaneValues,
}

/// Picks the warp that issues.
pub trait WarpScheduler {
    /// Whether it ever suspends a warp. If not, the harness does not ask it to.
    fn suspends(&self) -> bool;

    /// One cycle.
    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs;

    /// The circuit, for waveforms; `None` if it is behavioural.
    fn circuit(&self) -> Option<&dyn Engine> {
        None
    }
}

/// State of the warps, one bit a warp slot, and of the slots of the active set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerInputs {
    /// Warps that have not ended.
    pub resident: u64,
    /// Warps that could issue now.
    pub ready: u64,
    /// Warps that should be suspended if active.
    pub suspend: u64,
    /// Warps worth making active.
    pub eligible: u64,
    /// Slots that may not be given to another warp yet, one bit a slot.
    pub busy_slots: u64,
    /// Whether an instruction can be picked.
    pub issue_enable: bool,
}

/// What the scheduler decided. Each names a warp and its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerOutputs {
    /// Issues.
    pub issue: Option<(WarpSlot, usize)>,
    /// Loses its slot and waits.
    pub suspended: Option<(WarpSlot, usize)>,
    /// Loses its slot because it has ended.
    pub retired: Option<(WarpSlot, usize)>,
    /// Gets a slot.
    pub activated: Option<(WarpSlot, usize)>,
}

//! What a design plugs into the pipeline: where its operands are kept, how warps are picked, and what is layered on top.
//!
//! The fixed points of the pipeline, and where they are met:
//!
//! | point | storage and scheduler | layer |
//! |---|---|---|
//! | compile | [`OperandStorage::start_kernel`] with what the passes note | [`Layer::start_kernel`] |
//! | admit | [`OperandStorage::registers_per_warp`] | [`Layer::admit`], [`Layer::register_order`], [`Layer::home`] |
//! | start of a warp | [`OperandStorage::start_warp`] | [`Layer::start_warp`], [`Layer::placed`] |
//! | decode | [`OperandStorage::decode`], [`OperandStorage::metadata`] | [`Layer::decode`] |
//! | pick, suspend, resume | [`WarpScheduler::cycle`]; the storage sees a suspension as a [`Flush`] | [`Layer::preferred_warps`], [`Layer::classes`] |
//! | may issue | [`OperandStorage::held_warps`] | [`Layer::held_warps`] |
//! | issue | [`OperandStorage::pick`] | [`Layer::issue`] |
//! | operands, writeback | [`OperandStorage::cycle`], which gets registers by row and answers by instruction | [`Layer::read`], [`Layer::written`] |
//! | row access | [`OperandStorage::row_uses`], [`StorageInputs::rows`], [`StorageOutputs::rows`] | [`Layer::start_rows`], [`Layer::rows`], [`Layer::access_rows`] |
//! | memory | [`OperandStorage::line_request`] through a [`LinePort`] | |
//! | retire | | [`Layer::retire`] |
//! | end of a warp | [`OperandStorage::end_warp`], [`OperandStorage::ending_warps`] | [`Layer::end_warp`] |
//!
//! An [`Interposer`] is a layer of another kind: it stands in front of a storage, sees and changes what passes between the SM
//! and it, and so meets the points issue, operands, result and memory (register lines). It may answer an instruction.
//!
//! Circuits are RTL behind resolved port handles; these traits carry one cycle's values to and from them. Source:
//! `docs/sm-pipeline.md`.

use std::fmt;

use warpfile_engine::Engine;
use warpfile_kernels::program::{
    BlockIndex, InstId, LANES, LaneMask, LaneValues, MAX_RESULTS, MAX_SOURCES, PhysReg, Program,
    WarpInstruction,
};

pub use super::in_flight::ID_BITS;
pub use super::interposer::{Interposed, Interposer};
pub use super::members::Members;

use super::SimError;
use super::report::PortActivity;
use crate::counters::Counts;
use crate::mechanisms::{Compiled, Stack};

/// Instructions that the schedulers of a partition issue a cycle at most.
pub const MAX_ISSUES: usize = 2;
/// Instructions that an operand storage dispatches a cycle at most: one to each unit.
pub const MAX_DISPATCHES: usize = Unit::COUNT;
/// Results that an operand storage has taken earlier and writes in a cycle, at most.
pub const MAX_WRITTEN: usize = 2;
/// Results that the units offer in a cycle at most: of short operations, and one of a long-latency operation.
pub const MAX_OFFERED: usize = MAX_ISSUES + 1;

/// A design: as many equal parts as the SM has partitions, and what they share.
#[derive(Default)]
pub struct Design<'a> {
    /// Whose compiler passes run on each kernel; none for parts of the caller's.
    pub stack: Option<Stack>,
    /// Warp slot s belongs to partition s mod partitions, as warp s / partitions.
    pub partitions: Vec<PartitionDesign<'a>>,
    /// What is layered on top, in the order of the stack.
    pub layers: Vec<Box<dyn Layer + 'a>>,
    /// The port to the L1 of storages that keep register lines in memory; data has the L1 for itself if `None`.
    pub line_port: Option<Box<dyn LinePort + 'a>>,
}

/// One partition's part of a design: where operands are kept, and how warps are picked.
pub struct PartitionDesign<'a> {
    /// Keeps operands.
    pub storage: Box<dyn OperandStorage + 'a>,
    /// Pick warps, the n-th of n every n-th warp of the partition: equal ones.
    pub schedulers: Vec<Box<dyn WarpScheduler + 'a>>,
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
    /// All of them, by number.
    pub const ALL: [Unit; 6] =
        [Unit::Alu, Unit::Sfu, Unit::Texture, Unit::Memory, Unit::Scratchpad, Unit::Control];
    /// Number of units.
    pub const COUNT: usize = Unit::ALL.len();

    /// Those that the partitions of an SM share, one bit each.
    pub const SHARED: u8 = 1 << Unit::Texture as u8 | 1 << Unit::Memory as u8 | 1 << Unit::Scratchpad as u8;

    /// Whether the partitions of an SM share one; the others are each partition's own.
    pub fn is_shared(self) -> bool {
        Unit::SHARED >> self as u8 & 1 == 1
    }
}

/// Keeps the registers of resident warps.
pub trait OperandStorage {
    /// Cycles from the scheduler's pick to the earliest dispatch of operands.
    fn operand_cycles(&self) -> u64;

    /// Instructions it dispatches a cycle at most, on its first ports.
    fn dispatches(&self) -> usize;

    /// A launch begins: static knowledge of the program is available from here on.
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError>;

    /// Metadata instructions before an instruction of the kernel.
    fn metadata(&self, _inst: InstId) -> Metadata {
        Metadata::default()
    }

    /// Which operands of an instruction of the kernel are accesses to rows of the main register file, as far as that is known
    /// when it is decoded. All, unless a level before it serves some.
    fn row_uses(&self, _inst: InstId) -> RowUses {
        RowUses::default()
    }

    /// Registers beside its operands that must not be pending when an instruction of the kernel issues.
    fn waits_for(&self, _inst: InstId) -> &[PhysReg] {
        &[]
    }

    /// Warp-wide registers of the main register file that a warp of the kernel occupies.
    fn registers_per_warp(&self, program: &Program) -> u64;

    /// The next instruction of a warp has been decoded: it can be picked from now on.
    fn decode(&mut self, _warp: WarpSlot, _inst: InstId) {}

    /// An instruction of a warp has been picked; it is offered from the next cycle on.
    fn pick(&mut self, _warp: WarpSlot, _inst: InstId) {}

    /// A warp of `block`, numbered in grid order, becomes resident in `warp`; its registers lie in `rows`.
    /// The warps of a block are started one after the other.
    fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, block: BlockIndex);

    /// Warps that must not issue now, one bit a warp slot.
    fn held_warps(&self) -> u64;

    /// Warps that may lose their slot of the active set before their next instruction, one bit a warp slot: nothing is
    /// lost with it. Asked of warps that are held back, which makes room for others; a warp that waits as its program says
    /// (a mark, a barrier) may lose it in any case.
    fn suspendable_warps(&self) -> u64 {
        u64::MAX
    }

    /// One cycle: takes what is offered if it can, and dispatches instructions, each to another unit.
    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError>;

    /// A warp has ended and nothing of it is in flight.
    fn end_warp(&mut self, warp: WarpSlot);

    /// Warps that have ended and whose slot cannot be given away yet, one bit each.
    fn ending_warps(&self) -> u64 {
        0
    }

    /// The request for a register line that it offers in the cycle that comes, known before anything else of it. It stays
    /// until it is taken. Asked for if the design has a line port.
    fn line_request(&mut self) -> Option<LineRequest<'_>> {
        None
    }

    /// Adds what has been counted so far, by group.
    fn count(&self, into: &mut Counts);

    /// Activity of every table port so far.
    fn activity(&self) -> Vec<PortActivity>;

    /// The circuit, for waveforms; `None` if it is behavioural.
    fn circuit(&self) -> Option<&dyn Engine> {
        None
    }

    /// Circuits of what stands in front of it by their names, for waveforms ([`Interposer::circuits`]).
    fn circuits_in_front(&self) -> Vec<(&'static str, &dyn Engine)> {
        Vec::new()
    }
}

/// What the harness offers to the operand storage in one cycle. An offer that is not taken is repeated. Of several
/// instructions or results there are at most as many as the partition issues a cycle, on the first ports.
#[derive(Clone, Copy, Debug)]
pub struct StorageInputs<'a> {
    /// Instructions picked in earlier cycles. Of one scheduler they are in program order, and one is taken only with all before
    /// it; of several there is one of each, on the port of its number, and none waits for another.
    pub issue: &'a [Option<Issue>; MAX_ISSUES],
    /// Results of short operations; of several schedulers one of each, on the port of its number.
    pub result: [Option<Write<'a>>; MAX_ISSUES],
    /// Result of a long-latency operation.
    pub fill: Option<Write<'a>>,
    /// The same as the units offer them, the long-latency operation's last: an interposer in front passes these on as they are,
    /// whatever it makes of the results, so that one behind it sees what executes.
    pub from_units: &'a [Option<Write<'a>>; MAX_OFFERED],
    /// A slot to be freed; always taken.
    pub flush: Option<Flush>,
    /// Units that can take an instruction, bit [`Unit`] each.
    pub ready_units: u8,
    /// Of these, those that can take two, which is for storages behind several schedulers.
    pub units_for_two: u8,
    /// Warps that wait at a barrier or have ended, one bit each: all they have issued has been taken.
    pub parked: u64,
    /// The request for a register line that the storage has offered is taken in this cycle.
    pub line_request_taken: bool,
    /// A line that it has asked for; always taken.
    pub line: Option<&'a FilledLine>,
    /// Rows of the main register file that can be accessed, and that have lost their values; all can be, and none has, if
    /// `None`. What the storage has said to be an access when the instruction was decoded ([`RowUse::Row`]) can be made.
    pub rows: Option<RowStates<'a>>,
    /// Rows that are read beside the operands of instructions, one for each scheduler. What stands in front of a storage offers
    /// them, if the storage has been built for that ([`Mechanism::extra_read`](crate::mechanisms::Mechanism::extra_read)).
    pub extra_reads: [Option<u32>; MAX_ISSUES],
    /// What the kernel loads: no hardware, but for what stands in front of a storage and answers loads.
    pub kernel_loads: &'a dyn KernelLoads,
}

/// Loads as the kernel executes them. A stream has the values of one order of its warps' accesses; what warps race for may have
/// been read before or after.
pub trait KernelLoads: fmt::Debug {
    /// Whether `found`, the results that have been found for a load that has been issued, differs from what the kernel loads, and
    /// in no lane elsewhere than at a location that warps of the launch race for ([`Races`](warpfile_kernels::program::Races)).
    ///
    /// # Errors
    /// If it has to be known what they race for, and the launch cannot be executed or read once more.
    fn differ_at_races(&self, id: u16, found: &[LaneValues]) -> Result<bool, SimError>;
}

/// States of the rows of a partition's main register file, one bit a row, bank after bank.
#[derive(Clone, Copy, Debug)]
pub struct RowStates<'a> {
    /// Rows that can be accessed in this cycle.
    pub on: &'a [u64],
    /// Rows that have lost their values since the cycle before: reads must not find them from the next cycle on.
    pub lost: &'a [u64],
}

/// Where an operand of an instruction is, as far as that is known when it is decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowUse {
    /// In its row of the main register file.
    #[default]
    Row,
    /// In a level before it: the row is not accessed.
    Above,
    /// The storage finds out, and asks for the row then ([`StorageOutputs::rows`]).
    FoundLater,
}

/// Where the operands of an instruction are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowUses {
    /// Its sources.
    pub sources: [RowUse; MAX_SOURCES],
    /// Its results.
    pub results: [RowUse; MAX_RESULTS],
}

impl RowUses {
    /// The storage finds out where any of them is.
    pub const FOUND_LATER: RowUses =
        RowUses { sources: [RowUse::FoundLater; MAX_SOURCES], results: [RowUse::FoundLater; MAX_RESULTS] };
}

/// An access to a row of the main register file that was not known when an instruction was decoded. The rows of a storage that
/// allocates them to registers are its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAccess {
    /// The row: of bank row mod banks.
    pub row: u32,
    /// The warp whose register is in it, and the register's number, of a storage that allocates rows; what is only asked for may
    /// have none, and what is read for no operand of an instruction. Where a warp has rows of its own it is known, and not said.
    pub of: Option<(WarpSlot, u16)>,
    /// Lanes that are accessed. Of a row that registers share there may be none: the register needs it no longer, or has come to
    /// it without a write.
    pub lanes: LaneMask,
    /// What is done.
    pub kind: RowAccessKind,
}

/// What is done to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowAccessKind {
    /// An instruction is about to read it. It has to stay accessible until the instruction's operands are delivered.
    Reads,
    /// It is about to be written, with a result or with what leaves a level before it; or, of a storage that allocates rows, to be
    /// read. The storage says so in every cycle until it is.
    AskedFor,
    /// It is written in this cycle; of a row that registers share, a register has come to it.
    Written,
    /// An instruction reads it in this cycle, and needs it no longer.
    Read,
    /// It is no register's from the next cycle on.
    Freed,
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
    /// Row of each register operand. None if no lane executes.
    pub sources: [Option<u32>; MAX_SOURCES],
    /// Lanes in which the value of every operand is known: written before, in the kernel. What is computed of others may be
    /// anything.
    pub known: LaneMask,
}

/// Metadata instructions before an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// How many.
    pub instructions: u16,
    /// They take issue slots; if not, they are only counted.
    pub take_slots: bool,
}

/// A register to be written.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The instruction's number, as in its [`Issue`].
    pub id: u16,
    /// The instruction.
    pub inst: InstId,
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
    /// The result taken on a port is not written yet: its register stays pending until `written` names it. The SM takes the
    /// mark away.
    pub result_later: [bool; MAX_ISSUES],
    /// The same of the fill.
    pub fill_later: bool,
    /// Results that are written in this cycle and were taken earlier, so marked: the instruction, and which of its results.
    /// The SM takes them away.
    pub written: [Option<(u16, usize)>; MAX_WRITTEN],
    /// Instructions whose last operand is read in this cycle; their units take them.
    pub dispatch: [Option<u16>; MAX_DISPATCHES],
    /// Instructions whose operand values are there: those dispatched in the cycle before.
    pub delivered: [Option<u16>; MAX_DISPATCHES],
    /// Their operands.
    pub operands: [[LaneValues; MAX_SOURCES]; MAX_DISPATCHES],
    /// The rows offered to be read beside them have been taken; their values are there in the next cycle.
    pub extra_reads_taken: [bool; MAX_ISSUES],
    /// The values of the rows that were taken in the cycle before. Who has offered them takes them away.
    pub extra_values: [Option<LaneValues>; MAX_ISSUES],
    /// Slots that may not be given to another warp yet, one bit a slot.
    pub busy_slots: u64,
    /// Instructions taken that are answered instead of executed: they deliver no operands and take no unit, and their
    /// results need not be written any more. The SM takes the numbers away. An instruction that does more than to write
    /// registers cannot be answered.
    pub answered: [Option<u16>; MAX_ISSUES],
    /// Their results, which are compared with the kernel's in the lanes that execute.
    pub answers: [[LaneValues; MAX_RESULTS]; MAX_ISSUES],
    /// Accesses to rows of the main register file that were not known at decode, or belong to no instruction. The SM takes
    /// them away.
    pub rows: Vec<RowAccess>,
}

/// Accesses that a storage with a main register file says of a cycle at most: operands and results of [`MAX_ISSUES`]
/// instructions each, what leaves a level before it, and the result of a long-latency operation. One that allocates rows may say
/// more: each of its rows may be asked for.
pub const MAX_ROW_ACCESSES: usize = MAX_ISSUES * (MAX_SOURCES + 1) + 2;

impl Default for StorageOutputs {
    fn default() -> Self {
        StorageOutputs {
            issue_taken: [false; MAX_ISSUES],
            result_taken: [false; MAX_ISSUES],
            fill_taken: false,
            result_later: [false; MAX_ISSUES],
            fill_later: false,
            written: [None; MAX_WRITTEN],
            dispatch: [None; MAX_DISPATCHES],
            delivered: [None; MAX_DISPATCHES],
            operands: [[[0; LANES]; MAX_SOURCES]; MAX_DISPATCHES],
            extra_reads_taken: [false; MAX_ISSUES],
            extra_values: [None; MAX_ISSUES],
            busy_slots: 0,
            answered: [None; MAX_ISSUES],
            answers: [[[0; LANES]; MAX_RESULTS]; MAX_ISSUES],
            rows: Vec::with_capacity(MAX_ROW_ACCESSES),
        }
    }
}

/// A request for a register line: its contents live in L1, L2 and DRAM (Kloosterman et al., §5.2.3).
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

/// The L1's port in a design that keeps register lines in memory: one request a cycle, of a partition's storage or of the
/// loads and stores, and lines back to the storages. Warps are numbered as in the SM on the side of the L1.
pub trait LinePort {
    /// What a partition's storage asks for in this cycle.
    fn set_request(&mut self, partition: usize, request: Option<&LineRequest<'_>>);

    /// Whether the loads and stores ask for the port in this cycle.
    fn set_data(&mut self, asks: bool);

    /// The line that comes from the L1 in this cycle.
    fn set_fill(&mut self, filled: Option<&FilledLine>);

    /// Whose turn it is.
    fn offer(&mut self) -> Option<Offer<'_>>;

    /// Ends the cycle. `taken`: the L1 takes what it is offered.
    fn end_cycle(&mut self, taken: bool);

    /// Whether a partition's request passes in this cycle.
    fn passes(&self, partition: usize) -> bool;

    /// The line that comes to a partition in this cycle.
    fn filled(&self, partition: usize) -> Option<FilledLine>;

    /// The circuit by its name, for waveforms; `None` if it is behavioural.
    fn circuit(&self) -> Option<(&'static str, &dyn Engine)> {
        None
    }
}

/// What the L1 is offered: a request of a storage, or one of the loads and stores.
pub enum Offer<'a> {
    /// A request for a register line.
    Line(LineRequest<'a>),
    /// A transaction of the loads and stores.
    Data,
}

/// A warp slot of the SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpPlace {
    /// The partition.
    pub partition: usize,
    /// The warp in it.
    pub warp: WarpSlot,
}

/// What a block takes of the SM, and how many the SM would run at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Warps of a block.
    pub warps: usize,
    /// Threads of a block.
    pub threads: u32,
    /// Warp-wide registers of a warp.
    pub rows_per_warp: u32,
    /// Blocks that are resident at a time.
    pub blocks: u64,
    /// Bytes of scratchpad of a block.
    pub scratchpad_bytes: u64,
    /// For how many blocks each resource is enough; [`u64::MAX`] if a block needs none of it.
    pub fits: Fits,
    /// Of a partition.
    pub of_partition: PartitionSize,
    /// Bytes of scratchpad of the SM.
    pub scratchpad_of_sm: u64,
}

/// For how many blocks each resource of an SM is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fits {
    /// Warp slots.
    pub warps: u64,
    /// Block slots.
    pub slots: u64,
    /// Registers.
    pub registers: u64,
    /// Scratchpad.
    pub scratchpad: u64,
    /// Blocks that the launch has for the SM.
    pub launch: u64,
}

impl Fits {
    /// For how many blocks everything but registers is enough.
    pub fn but_registers(&self) -> u64 {
        self.warps.min(self.slots).min(self.scratchpad).min(self.launch)
    }
}

/// What each partition of an SM has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionSize {
    /// Warp slots.
    pub warps: usize,
    /// Rows of its main register file.
    pub rows: u32,
}

/// Deals warps to the partitions of an SM in turn, each into the next warp slots of its partition.
#[derive(Clone, Debug)]
pub struct Dealer {
    /// Slots of each partition that have been dealt.
    dealt: Vec<usize>,
    turn: usize,
}

impl Dealer {
    /// No slot of so many partitions has been dealt.
    pub fn new(partitions: usize) -> Dealer {
        Dealer { dealt: vec![0; partitions], turn: 0 }
    }

    /// So many slots beside each other: the first of them.
    pub fn deal(&mut self, slots: usize) -> WarpPlace {
        let partition = self.turn % self.dealt.len();
        let warp = self.dealt[partition];
        self.turn += 1;
        self.dealt[partition] += slots;
        WarpPlace { partition, warp }
    }

    /// Whether partitions with so many slots have all those that were dealt.
    pub fn fits(&self, slots: usize) -> bool {
        self.dealt.iter().all(|dealt| *dealt <= slots)
    }
}

/// The name of a circuit of a partition: behind `partition0_` … if there are several.
pub fn name_in_partition(partition: usize, partitions: usize, name: &str) -> String {
    if partitions > 1 { format!("partition{partition}_{name}") } else { name.to_owned() }
}

/// The name, of those of a circuit that each scheduler of a partition has one of, for scheduler `number` of `count`: the first if it
/// is the only one.
pub fn name_of_scheduler(names: [&'static str; 1 + MAX_ISSUES], count: usize, number: usize) -> &'static str {
    if count > 1 { names[1 + number] } else { names[0] }
}

/// Where a warp is put, and where its registers lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// The warp slot.
    pub at: WarpPlace,
    /// The rows.
    pub rows: WarpRows,
}

/// Rows of a warp's registers in the main register file of its partition: two stretches, one after the other in the order of
/// the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarpRows {
    first: u32,
    split: u32,
    second: u32,
}

impl WarpRows {
    /// Register `r` is row `first + r`.
    pub fn from(first: u32) -> WarpRows {
        WarpRows { first, split: u32::MAX, second: 0 }
    }

    /// Registers below `split` are rows from `first` on, the others rows from `second` on.
    pub fn in_two(first: u32, split: u32, second: u32) -> WarpRows {
        WarpRows { first, split, second }
    }

    /// So many rows from `first` on, register 0 in the `by`-th of them and the others behind it, around the end.
    pub fn rotated(first: u32, rows: u32, by: u32) -> WarpRows {
        if by == 0 { WarpRows::from(first) } else { WarpRows::in_two(first + by, rows - by, first) }
    }

    /// The row of register 0.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The register of a row of these.
    #[inline]
    pub fn register(&self, row: u32) -> u32 {
        match row.checked_sub(self.first) {
            Some(register) if register < self.split => register,
            _ => self.split + (row - self.second),
        }
    }

    /// The row of a register.
    #[inline]
    pub fn row(&self, register: u32) -> u32 {
        match register.checked_sub(self.split) {
            Some(behind) => self.second + behind,
            None => self.first + register,
        }
    }
}

/// Classes of priority of a partition's warps, one bit a warp slot each; a warp in neither is in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// To be picked before all others.
    pub first: u64,
    /// To be picked after all others.
    pub last: u64,
}

/// A mechanism on top of an operand storage and a scheduler, for all partitions of an SM. A layer that has nothing to do at
/// a point leaves it out.
pub trait Layer {
    /// A launch begins: static knowledge of the program is available from here on.
    ///
    /// # Errors
    /// The program is not one that the layer can run.
    fn start_kernel(&mut self, _kernel: &Compiled<'_>) -> Result<(), SimError> {
        Ok(())
    }

    /// Where the operands of the kernel's instructions are, by instruction, as far as the operand storages know at decode.
    /// Asked behind [`Layer::start_kernel`].
    fn start_rows(&mut self, _uses: &[RowUses]) {}

    /// How many blocks may be resident at a time: fewer than `admission.blocks`, or more if what they need of a resource that
    /// does not fit is the layer's business. For more registers than there are, it has to say where they lie
    /// ([`Layer::home`]). Warp and block slots limit in any case.
    fn admit(&mut self, admission: &Admission) -> u64 {
        admission.blocks
    }

    /// In which order a warp's registers lie in its rows: register `r` is the `order[r]`-th, counted from 0; in that of their
    /// numbers if the layer says nothing. Asked once blocks have been admitted.
    fn register_order(&self) -> Option<&[u16]> {
        None
    }

    /// Where warp `number` of the block in block slot `slot` is put, and where its registers lie, if the layer has a say in it.
    /// It has one of all warps of a launch or of none, and gives no two resident warps one slot. Asked when a block starts.
    fn home(&self, _slot: usize, _number: usize) -> Option<Home> {
        None
    }

    /// A warp of `block` becomes resident; its registers lie in `rows` of its partition, but for those that a layer
    /// has put elsewhere.
    fn start_warp(&mut self, _at: WarpPlace, _rows: WarpRows, _block: BlockIndex) {}

    /// A warp that has not issued yet, and whose registers lie elsewhere from now on. Asked in every cycle behind the starts and
    /// ends of warps, until there is none. Storages and other layers are not told: it goes with those alone that do not say
    /// which row a register has.
    fn placed(&mut self) -> Option<Home> {
        None
    }

    /// The next instruction of a warp has been decoded: it can be picked from now on. Its values are those that it will have.
    fn decode(&mut self, _at: WarpPlace, _instruction: &WarpInstruction) {}

    /// Warps of a partition that must not issue now, one bit a warp slot. Asked in every cycle, before the pick.
    ///
    /// A warp that is held may keep its slot of the active set ([`OperandStorage::suspendable_warps`]), so what it waits
    /// for must not need that slot.
    fn held_warps(&mut self, _partition: usize) -> u64 {
        0
    }

    /// Those of a partition's warps that are picked from first, of the warps that could be picked now, `ready`, one bit a
    /// warp slot each: a class of priority. All of them if it gives none. Asked in every cycle with warps that could be
    /// picked; of several layers the first decides before the next.
    fn preferred_warps(&mut self, _partition: usize, ready: u64) -> u64 {
        ready
    }

    /// Of the warps of a partition that it holds back those that go on within a few cycles, one bit a warp slot: they keep
    /// their slot of the active set. Asked behind [`Layer::held_warps`].
    fn brief_waits(&mut self, _partition: usize) -> u64 {
        0
    }

    /// Classes of priority of a partition's warps, for schedulers that have any. Asked in every cycle, before the pick.
    fn classes(&mut self, _partition: usize) -> Classes {
        Classes::default()
    }

    /// Whether a warp that has just issued must not issue its next instruction, which has been decoded, in the same cycle.
    fn holds_companion(&mut self, _at: WarpPlace) -> bool {
        false
    }

    /// An instruction has been picked, with its values.
    fn issue(&mut self, _at: WarpPlace, _instruction: &WarpInstruction) {}

    /// States of the rows of a partition's main register file in this cycle, if it has a say in them. Asked before the operand
    /// storage runs the cycle; the first layer that answers decides.
    fn rows(&mut self, _partition: usize) -> Option<RowStates<'_>> {
        None
    }

    /// Accesses to rows of a partition's main register file that were not known at decode ([`RowUse::FoundLater`]), and what
    /// belongs to no instruction. Told before the operands and results of the cycle.
    fn access_rows(&mut self, _partition: usize, _rows: &[RowAccess]) {}

    /// The operands of an instruction have been delivered and compared.
    fn read(&mut self, _at: WarpPlace, _instruction: &WarpInstruction) {}

    /// A register has been written: the result `result` of an instruction.
    fn written(&mut self, _at: WarpPlace, _instruction: &WarpInstruction, _result: usize) {}

    /// Nothing of an instruction is left to do but, perhaps, to deliver operands.
    fn retire(&mut self, _at: WarpPlace, _instruction: &WarpInstruction) {}

    /// A warp has ended and nothing of it is in flight.
    fn end_warp(&mut self, _at: WarpPlace) {}

    /// A cycle ends: circuits are stepped.
    ///
    /// # Errors
    /// Something in this cycle was wrong, which ends the run.
    fn end_cycle(&mut self) -> Result<(), SimError> {
        Ok(())
    }

    /// What it keeps a warp waiting for, in words: for the error of a run that makes no progress.
    fn waits_for(&self, _at: WarpPlace) -> Option<String> {
        None
    }

    /// Adds what has been counted so far, by group.
    fn count(&self, _into: &mut Counts) {}

    /// Its circuits by name, for waveforms.
    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        Vec::new()
    }
}

/// Picks the warp that issues.
pub trait WarpScheduler {
    /// Whether it ever suspends a warp. If not, the harness does not ask it to.
    fn suspends(&self) -> bool;

    /// One cycle.
    fn cycle(&mut self, inputs: SchedulerInputs) -> SchedulerOutputs;

    /// Adds what has been counted so far, by group.
    fn count(&self, _into: &mut Counts) {}

    /// The circuit, for waveforms; `None` if it is behavioural.
    fn circuit(&self) -> Option<&dyn Engine> {
        None
    }
}

/// State of the scheduler's warps, one bit a warp slot, and of the slots of the active set, as it numbers them.
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
    /// Classes of priority that layers have given.
    pub classes: Classes,
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

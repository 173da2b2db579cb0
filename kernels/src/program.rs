//! A kernel as the SM sees it: machine instructions over 32-bit registers, and what each warp executes.
//!
//! Every front end (PTX, our traces, Accel-Sim traces) ends here, and the SM harness starts here. The static
//! side is a [`Program`]; the dynamic side is a [`Stream`] that hands out one [`WarpInstruction`] at a time,
//! with the value of every operand.

mod arithmetic;
mod races;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compile::operands::ACCESS;
pub use arithmetic::{Arithmetic, Number, Step};
pub use races::{Races, WORD_BYTES};

/// Lanes of a warp.
pub const LANES: usize = 32;
/// Bytes of device memory: what a GTX 980 has, and a host can give.
pub const DEVICE_BYTES: u64 = 4 << 30;
/// Register operands that one machine instruction reads at most (3R/1W: RFC §3.3).
pub const MAX_SOURCES: usize = 3;
/// Registers that one machine instruction writes at most (a 128-bit load); all others write one.
pub const MAX_RESULTS: usize = 4;
/// Bits of a constant that is an operand of its own in a [`Computation`].
pub const IMMEDIATE_BITS: usize = 9;

/// One bit a lane, lane 0 lowest.
pub type LaneMask = u32;
/// A 32-bit register's value in every lane.
pub type LaneValues = [u32; LANES];

/// A 32-bit register of a thread, as allocated: `R0`, `R1`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PhysReg(pub u16);

/// A one-bit predicate or carry of a thread. Predicates live outside the register file, unless the machine code has them in
/// registers too ([`Isa`](crate::compile::isa::Isa)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Predicate(pub u16);

/// A machine instruction of a [`Program`]: its position in [`Program::instructions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstId(pub u32);

/// The static side of a kernel: what every machine has.
///
/// What a compiler pass finds for one machine is a table of its own, looked up by [`InstId`]:
/// [`Regions`](crate::compile::regless::Regions), [`Placement`](crate::compile::rfh::Placement),
/// [`Releases`](crate::compile::rfv::Releases).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Kernel name as in its source.
    pub name: String,
    /// Machine instructions in program order.
    pub instructions: Vec<Instruction>,
    /// 32-bit registers a thread needs: the highest register used, plus one.
    pub registers_per_thread: u16,
    /// Bytes of statically declared shared memory a block.
    pub shared_bytes: u32,
    /// Where control may go; `None` where that is not known (a container written before it was stored).
    #[serde(default)]
    pub control: Option<ControlFlow>,
    /// What was kept out of registers for want of them.
    #[serde(default, skip_serializing_if = "Spills::is_none")]
    pub spills: Spills,
    /// What each instruction computes; empty where it is not known (a trace, a container written before it was stored).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub computations: Vec<Computation>,
}

/// What an instruction computes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Computation {
    /// Its results, from its sources and constants, and nothing else. Instructions of equal functions have equal results if
    /// their sources, in order, are equal and they execute in one launch.
    Function {
        /// Opcode, types, modifiers, kinds of operands and long constants, as a number among those of the program: first those
        /// of instructions of one result, so that they are the same for who knows no others.
        form: u32,
        /// Constants of [`IMMEDIATE_BITS`] bits; with the sources at most [`MAX_SOURCES`].
        immediates: Vec<u16>,
    },
    /// The same, but for what memory holds: a load from global memory or from the scratchpad. Those of equal functions with
    /// equal sources have one address.
    Load {
        /// As of a function, and none of a function's.
        form: u32,
        /// The same.
        immediates: Vec<u16>,
    },
    /// A volatile access, or one that orders others: loads before it and after it are not the same.
    Ordering,
    /// It reads or writes steps of an expansion whose values stand for those of a hardware that is not known.
    Invented,
    /// It is one of several that compute a result of more registers than each of them reads.
    Wide,
    /// Anything else: it reads or writes predicates that are no registers, or reads what a thread has of its own.
    #[default]
    Other,
}

/// Values that the compiler kept out of registers because a thread had too few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spills {
    /// How many.
    pub values: u32,
    /// Others that are computed again before each use instead.
    pub recomputed: u32,
    /// Bytes of local memory that the first take, a thread.
    pub frame_bytes: u32,
    /// Bytes that the added stores of the program write, each counted once.
    pub store_bytes: u32,
    /// Bytes that its added loads read.
    pub load_bytes: u32,
}

impl Spills {
    /// Whether nothing was.
    pub fn is_none(&self) -> bool {
        *self == Spills::default()
    }
}

impl fmt::Display for Spills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spills { values, recomputed, frame_bytes, store_bytes, load_bytes } = self;
        let noun = if *values == 1 { "value" } else { "values" };
        write!(
            f,
            "{values} {noun} in local memory for want of registers: {frame_bytes} bytes a thread, {store_bytes} bytes \
             of spill stores, {load_bytes} bytes of spill loads"
        )?;
        if *recomputed > 0 {
            write!(f, "; {recomputed} computed again for each use")?;
        }
        Ok(())
    }
}

/// Where control may go in a [`Program`], for one lane and for the warp as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlFlow {
    /// For each instruction where a lane may go after it.
    pub flow: Vec<Flow>,
    /// For each instruction whether lanes may part at it; of a trace, whether they were seen to.
    pub may_diverge: Vec<bool>,
    /// Beside [`flow`](ControlFlow::flow), where the warp may go on with lanes that have waited: from one
    /// instruction to another, in increasing order, each pair once.
    pub switches: Vec<(InstId, InstId)>,
    /// Of a trace: what its lanes were seen to do. [`flow`](ControlFlow::flow) is the warp's path there, on which guards do
    /// not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<LanesSeen>,
}

/// What lanes were seen to do, each instruction that a guard switches off for a lane being passed by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanesSeen {
    /// For each instruction where a lane went on that executed it.
    pub flow: Vec<Flow>,
    /// For each instruction whether a warp came to it as its first or from behind, or a lane for which its warp had done so
    /// since the lane's last one: on no path forward through the program.
    pub breaks: Vec<bool>,
}

/// Where control may go after an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// To the next instruction; at the end of the list, out of the function.
    Next,
    /// To one of these instructions (positions in the list; a fall-through is listed like any other), and, with
    /// `exits`, for some lanes out of the function.
    To {
        /// Positions of the possible successors; may be empty if `exits`.
        targets: Vec<usize>,
        /// Lanes may end here.
        exits: bool,
    },
}

/// A machine instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instruction {
    /// Address in the program, in the units of its source (PTX: 8 × position).
    pub pc: u32,
    /// Line of the source file it came from, 0 if unknown.
    pub line: u32,
    /// As printed in listings and error messages.
    pub text: String,
    /// What it does, as far as timing is concerned.
    pub operation: Operation,
    /// Register operands read, at most [`MAX_SOURCES`]. One register read twice is listed once.
    pub sources: Vec<Source>,
    /// Registers written, at most [`MAX_RESULTS`]; more than one only for loads and returning atomics.
    pub results: Vec<ResultRegister>,
    /// Predicates read, the guard included.
    pub predicate_sources: Vec<Predicate>,
    /// Predicates written.
    pub predicate_results: Vec<Predicate>,
    /// The first consumer of a long-latency result: suspends its warp (RFC §3.2).
    pub suspends: bool,
    /// An operand of arithmetic that is read from memory: a word of scratchpad
    /// ([`operands`](crate::compile::operands)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operand: Option<MemoryAccess>,
}

impl Instruction {
    /// That only arithmetic has an operand in memory, and that it is a word of scratchpad.
    ///
    /// # Errors
    /// What it is instead, and what is accepted.
    pub fn check_operand(&self) -> Result<(), String> {
        let computes = matches!(self.operation, Operation::Alu | Operation::Sfu | Operation::Double);
        match self.operand {
            None => Ok(()),
            Some(ACCESS) if computes => Ok(()),
            Some(MemoryAccess { space, bytes }) => Err(format!(
                "{:?} with an operand of {bytes} bytes in {space:?} memory; accepted: arithmetic with one of {} in Shared",
                self.operation, ACCESS.bytes
            )),
        }
    }

    /// Whether it has an address in every active lane ([`WarpInstruction::addresses`]).
    pub fn has_addresses(&self) -> bool {
        self.operation.accesses_memory() || self.operand.is_some()
    }
}

/// A register operand that an instruction reads, with what the compiler knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The register.
    pub register: PhysReg,
    /// No executing lane reads this value again (RFC §3.1); says nothing of lanes that do not execute.
    pub last_read: bool,
    /// The value is not read again before the warp may next be suspended (RFC §5.3).
    pub idle_until_suspension: bool,
}

/// A register that an instruction writes, with what the compiler knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultRegister {
    /// The register.
    pub register: PhysReg,
    /// Lanes that do not execute may hold a value that is still needed (RegLess §4.4).
    pub soft: bool,
    /// The value is not read before the warp may next be suspended (RFC §5.3).
    pub idle_until_suspension: bool,
}

/// What an instruction does, as far as timing is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Integer and single-precision arithmetic, moves, comparisons.
    Alu,
    /// Transcendentals, reciprocal, square root.
    Sfu,
    /// Double-precision arithmetic (on the ALU in presets that have no unit for it).
    Double,
    /// Texture fetch.
    Texture,
    /// Memory read.
    Load(MemoryAccess),
    /// Memory write.
    Store(MemoryAccess),
    /// Read-modify-write, whether or not it returns the old value.
    Atomic(MemoryAccess),
    /// Waits for the other warps of the block.
    Barrier,
    /// Orders memory accesses.
    Fence,
    /// Says that the executing lanes no longer need the scratchpad that their block shares with another (`relssp`).
    Release,
    /// Ends or redirects control flow; the successor is known only when it resolves.
    Branch,
    /// Ends the executing lanes.
    Exit,
}

/// Address space and size of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryAccess {
    /// Address space.
    pub space: Space,
    /// Bytes a lane.
    pub bytes: u8,
}

/// A memory address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Device memory.
    Global,
    /// The block's scratchpad.
    Shared,
    /// A thread's own memory.
    Local,
    /// Constant memory, cached.
    Constant,
    /// Any of global, shared, local, found out per access.
    Generic,
    /// Kernel parameters.
    Parameter,
}

impl Operation {
    /// Whether its results arrive after a long, unpredictable time (RFC §3.2: global, local, generic and
    /// texture loads, returning atomics).
    pub fn has_long_latency(self) -> bool {
        match self {
            Operation::Texture => true,
            Operation::Load(access) | Operation::Atomic(access) => {
                matches!(access.space, Space::Global | Space::Local | Space::Generic)
            }
            Operation::Alu
            | Operation::Sfu
            | Operation::Double
            | Operation::Store(_)
            | Operation::Barrier
            | Operation::Fence
            | Operation::Release
            | Operation::Branch
            | Operation::Exit => false,
        }
    }

    /// Whether it may have registers as results.
    pub fn may_write_registers(self) -> bool {
        match self {
            Operation::Alu
            | Operation::Sfu
            | Operation::Double
            | Operation::Texture
            | Operation::Load(_)
            | Operation::Atomic(_) => true,
            Operation::Store(_)
            | Operation::Barrier
            | Operation::Fence
            | Operation::Release
            | Operation::Branch
            | Operation::Exit => false,
        }
    }

    /// Whether it does nothing but access memory; others may read an operand there ([`Instruction::operand`]).
    pub fn accesses_memory(self) -> bool {
        match self {
            Operation::Load(_) | Operation::Store(_) | Operation::Atomic(_) => true,
            Operation::Alu
            | Operation::Sfu
            | Operation::Double
            | Operation::Texture
            | Operation::Barrier
            | Operation::Fence
            | Operation::Release
            | Operation::Branch
            | Operation::Exit => false,
        }
    }
}

/// The shape of one launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of shared memory a block, static and dynamic.
    pub shared_bytes: u32,
}

impl Launch {
    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a block, the last possibly partial.
    pub fn warps_per_block(&self) -> usize {
        (self.threads_per_block() as usize).div_ceil(LANES)
    }
}

/// One instruction as one warp executed it, with the value of every operand.
///
/// A buffer: made once, filled by [`Stream::next`] again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct WarpInstruction {
    /// Which instruction.
    pub inst: InstId,
    /// Lanes that execute it: on this path and not switched off by the guard. May be 0.
    pub active: LaneMask,
    /// Value of each source in every active lane, as it was before the instruction.
    pub sources: [LaneValues; MAX_SOURCES],
    /// Lanes of each source whose value is known: written before, in the kernel. Others are not compared.
    pub defined: [LaneMask; MAX_SOURCES],
    /// Value of each result in every active lane.
    pub results: [LaneValues; MAX_RESULTS],
    /// Byte address in every active lane, of a memory access or an operand in memory.
    pub addresses: [u64; LANES],
}

impl Default for WarpInstruction {
    fn default() -> Self {
        WarpInstruction {
            inst: InstId(0),
            active: 0,
            sources: [[0; LANES]; MAX_SOURCES],
            defined: [0; MAX_SOURCES],
            results: [[0; LANES]; MAX_RESULTS],
            addresses: [0; LANES],
        }
    }
}

/// A block of the launch, numbered in grid order (x fastest).
pub type BlockIndex = u64;

/// The dynamic side of one launch: what every warp executes, in order.
///
/// What a stream delivers does not depend on the order in which warps are asked, so designs with different
/// timing run the same instructions with the same values.
pub trait Stream {
    /// The static program.
    fn program(&self) -> &Program;

    /// Grid and block shape.
    fn launch(&self) -> &Launch;

    /// Makes a block's warps available. Blocks are started in increasing order, each once.
    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError>;

    /// Writes the next instruction of a warp of a started block into `into`; `false` at the warp's end.
    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError>;

    /// Releases what is held for a block whose warps have all ended.
    fn finish_block(&mut self, block: BlockIndex);

    /// What the warps of the launch race for, in all its blocks, whatever has been handed out so far. Executes or reads the launch
    /// once more, and perhaps those before it. `None` if that cannot be done.
    ///
    /// # Errors
    /// If the launch does not come to its end.
    fn races(&mut self) -> Result<Option<Arc<Races>>, StreamError> {
        Ok(None)
    }
}

/// A sequence of launches that share memory: one run of a workload or of a trace list.
pub trait Launches {
    /// The next launch; earlier ones have been consumed or are dropped. `None` after the last.
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError>;

    /// Whether values are those that the kernel computes. To be asked before the first launch. If not, every write has
    /// a value of its own, which shows a stale operand but is like none that a kernel computes.
    fn has_values(&mut self) -> Result<bool, StreamError>;
}

/// Why a stream cannot go on. The message names file, line or kernel, what was found and what is accepted.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StreamError(pub String);

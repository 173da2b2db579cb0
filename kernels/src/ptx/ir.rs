//! The typed form of a PTX module.
//!
//! A [`Kernel`] is one flat list of [`Instruction`]s: calls of `.func` have been inlined, nested scopes
//! flattened, labels resolved to positions, variables laid out in the window of their state space. An
//! instruction is an [`Op`] (what to do, with its types and modifiers) and uniform operand lists, so that a
//! pass that only cares which registers are read and written never looks at the operation.
//!
//! Source: PTX ISA, chapters 5 (state spaces, types) and 9 (instruction set).

use std::fmt;

use super::error::PtxErrors;
use crate::program::Space;

/// A virtual register: its position in [`Kernel::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(pub u32);

/// An instruction: its position in [`Kernel::instructions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstIndex(pub u32);

/// A variable that a kernel refers to: its position in [`Kernel::symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

/// A module-scope variable: its position in [`Module::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub u32);

impl Reg {
    /// Position in [`Kernel::registers`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl InstIndex {
    /// Position in [`Kernel::instructions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl SymbolId {
    /// Position in [`Kernel::symbols`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl VariableId {
    /// Position in [`Module::variables`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parsed and checked PTX file.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Name of the file, for messages.
    pub file: String,
    /// Module-scope variables in `.global` and `.const`.
    pub variables: Vec<Variable>,
    /// The `.entry` functions that can be run, in source order.
    pub kernels: Vec<Kernel>,
    /// The others, in source order.
    pub refused: Vec<Refused>,
}

/// An `.entry` that cannot be run: an error only for who asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Name as in the source (mangled).
    pub name: String,
    /// Line of the `.entry`.
    pub line: u32,
    /// What is wrong with it and with what it calls.
    pub errors: PtxErrors,
}

/// A module-scope variable in `.global` or `.const`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name as in the source.
    pub name: String,
    /// [`Space::Global`] or [`Space::Constant`].
    pub space: Space,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes. For a texture reference 0.
    pub bytes: u64,
    /// Initial contents: at most `bytes` long, the rest is 0.
    pub initial: Vec<u8>,
    /// Addresses of other variables within the initial contents.
    pub relocations: Vec<Relocation>,
    /// A `.texref`: not memory, but a name to which the host binds a buffer.
    pub texture: bool,
}

/// An address stored in an initialiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Byte position within [`Variable::initial`].
    pub position: u64,
    /// Bytes of the stored address: 4 or 8.
    pub bytes: u8,
    /// The variable whose address is stored.
    pub target: VariableId,
    /// Added to the address.
    pub addend: i64,
    /// Store the generic address rather than the address within the target's state space.
    pub generic: bool,
}

/// An `.entry`, everything it calls inlined.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Name as in the source (mangled).
    pub name: String,
    /// Line of the `.entry`.
    pub line: u32,
    /// Parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Bytes of the parameter block.
    pub parameter_bytes: u32,
    /// Bits of an address, as `.address_size` says: 32 or 64.
    pub address_bits: u32,
    /// Virtual registers.
    pub registers: Vec<Register>,
    /// Variables the instructions refer to.
    pub symbols: Vec<Symbol>,
    /// Instructions in source order. Control never falls off the end: the last one is an unguarded
    /// [`Op::Exit`], [`Op::Trap`] or branch.
    pub instructions: Vec<Instruction>,
    /// Bytes of statically declared shared memory a block. Dynamic (`extern`) shared memory follows it.
    pub shared_bytes: u32,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
    /// Threads of a block at most, if `.maxntid` or `.reqntid` says so.
    pub max_threads: Option<u32>,
    /// Registers of a thread at most, if `.maxnreg` says so.
    pub max_registers: Option<u32>,
    /// Blocks for which an SM is to have room, if `.minnctapersm` says so.
    pub min_blocks: Option<u32>,
    /// Threads of a block in x, y, z, if `.reqntid` says so.
    pub required_block: Option<[u32; 3]>,
    /// A special register is read wherever an instruction says so; if not, once for all that it dominates. The compiler
    /// reads it again where it would have to keep the value in memory.
    pub rereads_special: bool,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name as in the source.
    pub name: String,
    /// Type; of the element for an array.
    pub ty: Type,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Byte position in the parameter block.
    pub offset: u32,
}

/// A virtual register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Name as in the source; with a suffix `@n` in the n-th inlined scope.
    pub name: String,
    /// Declared type.
    pub ty: Type,
}

/// A variable as a kernel sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name as in the source.
    pub name: String,
    /// State space.
    pub space: Space,
    /// Bytes; 0 for dynamic shared memory and textures.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Where it is.
    pub place: Place,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Byte offset in the kernel's shared, local or parameter window.
    Offset(u32),
    /// After the static shared memory of the kernel, 16-byte aligned.
    DynamicShared,
    /// A module-scope variable; its address is known when the module is loaded.
    Module(VariableId),
}

/// One PTX instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Line in the file.
    pub line: u32,
    /// Source text, one line, without the semicolon. Empty for what inlining inserts; of what the compiler adds later, its
    /// opcode.
    pub text: String,
    /// `@%p` or `@!%p`.
    pub guard: Option<Guard>,
    /// What it does.
    pub op: Op,
    /// Registers written, in operand order: `None` is the sink `_`. A carry written (`.cc`) is the last one.
    pub dsts: Vec<Option<Reg>>,
    /// Values read, in operand order, without the address. A carry read is the last one.
    pub srcs: Vec<Operand>,
    /// Address of a memory access.
    pub address: Option<Address>,
}

impl Instruction {
    /// The registers it writes.
    pub fn definitions(&self) -> impl Iterator<Item = Reg> + '_ {
        self.dsts.iter().flatten().copied()
    }

    /// The registers it reads: guard, sources, address; one read twice comes twice.
    pub fn uses(&self) -> impl Iterator<Item = Reg> + '_ {
        let guard = self.guard.map(|guard| guard.register);
        let sources = self.srcs.iter().filter_map(|operand| operand.register());
        let address = self.address.and_then(|address| address.register());
        guard.into_iter().chain(sources).chain(address)
    }

    /// Whether it says when it is executed.
    pub fn reads_clock(&self) -> bool {
        self.srcs.iter().any(|operand| matches!(operand, Operand::Special(special) if special.is_clock()))
    }

    /// Reads other registers instead: guard, sources, address.
    pub fn rename_uses(&mut self, name: impl Fn(Reg) -> Reg) {
        if let Some(guard) = &mut self.guard {
            guard.register = name(guard.register);
        }
        for operand in &mut self.srcs {
            if let Operand::Reg(register) | Operand::Not(register) = operand {
                *register = name(*register);
            }
        }
        if let Some(Address { base: Base::Reg(register), .. }) = &mut self.address {
            *register = name(*register);
        }
    }

    /// Whether control may reach the instruction after it.
    pub fn falls_through(&self) -> bool {
        self.guard.is_some() || !matches!(self.op, Op::Bra { .. } | Op::Brx { .. } | Op::Exit | Op::Trap)
    }

    /// The instructions it may jump to.
    pub fn targets(&self) -> &[InstIndex] {
        if let Op::Bra { target, .. } = &self.op {
            std::slice::from_ref(target)
        } else if let Op::Brx { targets, .. } = &self.op {
            targets
        } else {
            &[]
        }
    }
}

/// A guard predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: Reg,
    /// `@!%p`: executes where the predicate is false.
    pub negated: bool,
}

/// A value that an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A negated predicate, `!%p`.
    Not(Reg),
    /// A constant: the bits in the type the instruction reads, zero-extended.
    Imm(u64),
    /// A special register.
    Special(Special),
    /// The address of a variable within its state space, plus an offset.
    Symbol(SymbolId, i64),
    /// The generic address of a variable, plus an offset (`generic(x)`).
    GenericSymbol(SymbolId, i64),
}

impl Operand {
    /// The register it reads, if any.
    pub fn register(self) -> Option<Reg> {
        match self {
            Operand::Reg(reg) | Operand::Not(reg) => Some(reg),
            Operand::Imm(_) | Operand::Special(_) | Operand::Symbol(..) | Operand::GenericSymbol(..) => None,
        }
    }
}

/// `[base + offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What the offset is added to.
    pub base: Base,
    /// Bytes.
    pub offset: i64,
}

impl Address {
    /// The register it reads, if any.
    pub fn register(self) -> Option<Reg> {
        match self.base {
            Base::Reg(reg) => Some(reg),
            Base::Symbol(_) | Base::Zero => None,
        }
    }
}

/// The base of an [`Address`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A register.
    Reg(Reg),
    /// A variable.
    Symbol(SymbolId),
    /// An absolute address: the offset alone.
    Zero,
}

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// One bit.
    Pred,
    /// Untyped bits.
    B8,
    /// Untyped bits.
    B16,
    /// Untyped bits.
    B32,
    /// Untyped bits.
    B64,
    /// Unsigned.
    U8,
    /// Unsigned.
    U16,
    /// Unsigned.
    U32,
    /// Unsigned.
    U64,
    /// Signed.
    S8,
    /// Signed.
    S16,
    /// Signed.
    S32,
    /// Signed.
    S64,
    /// Two unsigned integers of 16 bits, the first lowest.
    U16x2,
    /// Two signed integers of 16 bits, the first lowest.
    S16x2,
    /// IEEE half precision.
    F16,
    /// Two of IEEE half precision, the first lowest.
    F16x2,
    /// The upper half of IEEE single precision.
    Bf16,
    /// Two of them, the first lowest.
    Bf16x2,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

/// What a type's bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// One bit.
    Predicate,
    /// Untyped.
    Bits,
    /// Unsigned integer.
    Unsigned,
    /// Two's complement integer.
    Signed,
    /// Binary floating point.
    Float,
}

impl Type {
    /// Width; 1 for a predicate.
    pub fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::B8 | Type::U8 | Type::S8 => 8,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 => 16,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 => 32,
            Type::U16x2 | Type::S16x2 | Type::F16x2 | Type::Bf16x2 => 32,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 64,
        }
    }

    /// Bytes in memory; 1 for a predicate.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// 32-bit machine registers that hold a value; 0 for a predicate.
    pub fn words(self) -> u32 {
        match self {
            Type::Pred => 0,
            other => other.bits().div_ceil(32),
        }
    }

    /// The type of each half of a packed type; `None` for others.
    pub fn element(self) -> Option<Type> {
        match self {
            Type::U16x2 => Some(Type::U16),
            Type::S16x2 => Some(Type::S16),
            Type::F16x2 => Some(Type::F16),
            Type::Bf16x2 => Some(Type::Bf16),
            Type::Pred
            | Type::B8
            | Type::B16
            | Type::B32
            | Type::B64
            | Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::S8
            | Type::S16
            | Type::S32
            | Type::S64
            | Type::F16
            | Type::Bf16
            | Type::F32
            | Type::F64 => None,
        }
    }

    /// What its bits mean; of a packed type, those of an element.
    pub fn kind(self) -> TypeKind {
        match self {
            Type::Pred => TypeKind::Predicate,
            Type::B8 | Type::B16 | Type::B32 | Type::B64 => TypeKind::Bits,
            Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::U16x2 => TypeKind::Unsigned,
            Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2 => TypeKind::Signed,
            Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 | Type::F32 | Type::F64 => TypeKind::Float,
        }
    }

    /// As written in PTX, with the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Type::Pred => ".pred",
            Type::B8 => ".b8",
            Type::B16 => ".b16",
            Type::B32 => ".b32",
            Type::B64 => ".b64",
            Type::U8 => ".u8",
            Type::U16 => ".u16",
            Type::U32 => ".u32",
            Type::U64 => ".u64",
            Type::S8 => ".s8",
            Type::S16 => ".s16",
            Type::S32 => ".s32",
            Type::S64 => ".s64",
            Type::U16x2 => ".u16x2",
            Type::S16x2 => ".s16x2",
            Type::F16 => ".f16",
            Type::F16x2 => ".f16x2",
            Type::Bf16 => ".bf16",
            Type::Bf16x2 => ".bf16x2",
            Type::F32 => ".f32",
            Type::F64 => ".f64",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.suffix())
    }
}

/// IEEE rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rounding {
    /// To nearest, ties to even (`.rn`).
    Nearest,
    /// Towards zero (`.rz`).
    Zero,
    /// Towards minus infinity (`.rm`).
    Down,
    /// Towards plus infinity (`.rp`).
    Up,
}

/// How exactly a division, square root or reciprocal is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// IEEE, in this rounding direction.
    Ieee(Rounding),
    /// `.approx`: computed in double precision and rounded once.
    Approx,
    /// `.full` (division only): as `Approx`.
    Full,
}

/// Modifiers of floating-point arithmetic; integer instructions use [`FloatMode::NONE`] with `saturate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatMode {
    /// Rounding direction.
    pub rounding: Rounding,
    /// Subnormal inputs and results become zero of the same sign.
    pub ftz: bool,
    /// Float: clamp to [0, 1], NaN to 0. `s32`: clamp to the range instead of wrapping.
    pub saturate: bool,
    /// 0 instead of what is negative.
    pub relu: bool,
}

impl FloatMode {
    /// To nearest, subnormals kept, no clamping.
    pub const NONE: FloatMode =
        FloatMode { rounding: Rounding::Nearest, ftz: false, saturate: false, relu: false };
}

/// Which half of an integer product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// The low half.
    Low,
    /// The high half.
    High,
    /// All of it: the result is twice as wide.
    Wide,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less (`lo` for unsigned).
    Lt,
    /// Less or equal (`ls`).
    Le,
    /// Greater (`hi`).
    Gt,
    /// Greater or equal (`hs`).
    Ge,
    /// Equal or unordered.
    Equ,
    /// Not equal or unordered.
    Neu,
    /// Less or unordered.
    Ltu,
    /// Less or equal or unordered.
    Leu,
    /// Greater or unordered.
    Gtu,
    /// Greater or equal or unordered.
    Geu,
    /// Neither is NaN.
    Num,
    /// One is NaN.
    Nan,
}

/// Boolean that combines a comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// `.and`
    And,
    /// `.or`
    Or,
    /// `.xor`
    Xor,
}

/// Rounding of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CvtRounding {
    /// The conversion is exact or between integers.
    None,
    /// Round a floating-point result.
    Float(Rounding),
    /// Round to an integral value (`.rni` …).
    Integer(Rounding),
}

/// Property that `testp` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatClass {
    /// Neither infinite nor NaN.
    Finite,
    /// Infinite.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Normal.
    Normal,
    /// Subnormal.
    Subnormal,
}

/// Byte selection mode of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permute {
    /// Four selectors, each with a sign-replicate bit.
    Generic,
    /// Forward four extract.
    F4e,
    /// Backward four extract.
    B4e,
    /// Replicate eight.
    Rc8,
    /// Edge clamp left.
    Ecl,
    /// Edge clamp right.
    Ecr,
    /// Replicate sixteen.
    Rc16,
}

/// What becomes of an access outside of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It is an error.
    Trap,
    /// It is at the nearest element.
    Clamp,
    /// A load gives 0, a store does nothing.
    Zero,
}

/// What becomes of a position or width of 32 and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It counts as 32.
    Clamp,
    /// Only its low five bits count.
    Wrap,
}

/// Direction of a funnel shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the high bits.
    Left,
    /// Towards the low bits.
    Right,
}

/// How a compiler may order other memory accesses around one. (Execution keeps the order of the kernel.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOrder {
    /// Like any other.
    Weak,
    /// `.volatile`, `.relaxed`, `.acquire`, `.release`: nothing passes it.
    Strong,
    /// `.nc`: nobody writes there while the kernel runs.
    ReadOnly,
}

/// Read-modify-write operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    /// Add.
    Add,
    /// Smaller of the two.
    Min,
    /// Larger of the two.
    Max,
    /// Increment, wrapping to 0 after the operand.
    Inc,
    /// Decrement, wrapping to the operand from 0 or beyond it.
    Dec,
    /// And.
    And,
    /// Or.
    Or,
    /// Exclusive or.
    Xor,
    /// Exchange.
    Exch,
    /// Compare and swap.
    Cas,
}

/// Lane exchange pattern of `shfl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// From a lower lane.
    Up,
    /// From a higher lane.
    Down,
    /// From the lane whose index differs in the given bits.
    Bfly,
    /// From the indexed lane.
    Idx,
}

/// Warp vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// True in all lanes.
    All,
    /// True in some lane.
    Any,
    /// The same in all lanes.
    Uni,
    /// The mask of lanes where it is true.
    Ballot,
}

/// Reduction at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierReduction {
    /// Threads whose predicate is true.
    Popc,
    /// True in all threads.
    And,
    /// True in some thread.
    Or,
}

/// Operation of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redux {
    /// Sum.
    Add,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// And.
    And,
    /// Or.
    Or,
    /// Exclusive or.
    Xor,
}

/// Address axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// First.
    X,
    /// Second.
    Y,
    /// Third.
    Z,
}

impl Axis {
    /// 0, 1, 2.
    pub fn index(self) -> usize {
        match self {
            Axis::X => 0,
            Axis::Y => 1,
            Axis::Z => 2,
        }
    }
}

/// A special register. What is not fixed by the launch is defined here so that results do not depend on
/// timing: an SM numbered 0 of 1, clocks that count the warp's own instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Thread within its block.
    Tid(Axis),
    /// Threads of a block.
    Ntid(Axis),
    /// Block within the grid.
    Ctaid(Axis),
    /// Blocks of the grid.
    Nctaid(Axis),
    /// Lane within the warp.
    LaneId,
    /// Warp within the block.
    WarpId,
    /// Warps of the block.
    NWarpId,
    /// Always 0.
    SmId,
    /// Always 1.
    NSmId,
    /// Always 0.
    GridId,
    /// Warp instructions executed so far by the warp, low half.
    Clock,
    /// High half of it.
    ClockHi,
    /// All of it.
    Clock64,
    /// The bit of the own lane.
    LaneMaskEq,
    /// Bits of lanes up to and including the own.
    LaneMaskLe,
    /// Bits of lower lanes.
    LaneMaskLt,
    /// Bits of the own and higher lanes.
    LaneMaskGe,
    /// Bits of higher lanes.
    LaneMaskGt,
    /// Bytes of dynamic shared memory.
    DynamicSharedBytes,
    /// Bytes of shared memory, static and dynamic.
    TotalSharedBytes,
}

impl Special {
    /// Whether it says when it is read.
    pub fn is_clock(self) -> bool {
        matches!(self, Special::Clock | Special::ClockHi | Special::Clock64)
    }
}

/// What an instruction does. Operands are in [`Instruction`]; the comment gives their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `d = a + b`, integer or float.
    Add {
        /// Operand type.
        ty: Type,
        /// Rounding and saturation.
        mode: FloatMode,
    },
    /// `d = a - b`.
    Sub {
        /// Operand type.
        ty: Type,
        /// Rounding and saturation.
        mode: FloatMode,
    },
    /// `d = a * b` of floats.
    Mul {
        /// Operand type.
        ty: Type,
        /// Rounding and saturation.
        mode: FloatMode,
    },
    /// `d = a * b + c` of floats, rounded once.
    Fma {
        /// Operand type.
        ty: Type,
        /// Rounding and saturation.
        mode: FloatMode,
    },
    /// `d = half of a * b`.
    MulInt {
        /// Operand type.
        ty: Type,
        /// Which half.
        product: Product,
    },
    /// `d = half of a * b, + c`.
    MadInt {
        /// Operand type.
        ty: Type,
        /// Which half.
        product: Product,
        /// `.sat` (`.hi.s32` only).
        saturate: bool,
    },
    /// `d = half of the 48-bit product of the low 24 bits`: bits 31…0 or 47…16.
    Mul24 {
        /// `u32` or `s32`.
        ty: Type,
        /// Bits 47…16.
        high: bool,
    },
    /// As `Mul24`, plus `c`.
    Mad24 {
        /// `u32` or `s32`.
        ty: Type,
        /// Bits 47…16.
        high: bool,
        /// `.sat` (`.hi.s32` only).
        saturate: bool,
    },
    /// `d = a + b (+ carry)`. Sources `a, b [, carry]`, results `d [, carry]`.
    AddCarry {
        /// 32 or 64 bits.
        ty: Type,
        /// Reads the carry (`addc`).
        carry_in: bool,
        /// Writes the carry (`.cc`).
        carry_out: bool,
    },
    /// `d = a - b (- borrow)`.
    SubCarry {
        /// 32 or 64 bits.
        ty: Type,
        /// Reads the borrow (`subc`).
        carry_in: bool,
        /// Writes the borrow (`.cc`).
        carry_out: bool,
    },
    /// `d = half of a * b, + c (+ carry)`.
    MadCarry {
        /// 32 or 64 bits.
        ty: Type,
        /// `Low` or `High`.
        product: Product,
        /// Reads the carry (`madc`).
        carry_in: bool,
        /// Writes the carry (`.cc`).
        carry_out: bool,
    },
    /// `d = c + |a - b|`.
    Sad {
        /// Integer type.
        ty: Type,
    },
    /// `d = a / b` of integers. By zero: all ones.
    DivInt {
        /// Integer type.
        ty: Type,
    },
    /// `d = a % b`, with the sign of `a`. By zero: `a`.
    RemInt {
        /// Integer type.
        ty: Type,
    },
    /// `d = a / b` of floats.
    Div {
        /// `f32` or `f64`.
        ty: Type,
        /// How exactly.
        precision: Precision,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = |a|`.
    Abs {
        /// Signed or float.
        ty: Type,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = -a`.
    Neg {
        /// Signed or float.
        ty: Type,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = min(a, b)`; of floats the number if one is NaN, unless `nan`.
    Min {
        /// Operand type.
        ty: Type,
        /// Flush subnormals.
        ftz: bool,
        /// NaN if either is.
        nan: bool,
        /// 0 instead of what is negative.
        relu: bool,
    },
    /// `d = max(a, b)`; of floats the number if one is NaN, unless `nan`.
    Max {
        /// Operand type.
        ty: Type,
        /// Flush subnormals.
        ftz: bool,
        /// NaN if either is.
        nan: bool,
        /// 0 instead of what is negative.
        relu: bool,
    },
    /// `d = 1 / a`.
    Rcp {
        /// `f32` or `f64`.
        ty: Type,
        /// How exactly.
        precision: Precision,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = sqrt(a)`.
    Sqrt {
        /// `f32` or `f64`.
        ty: Type,
        /// How exactly.
        precision: Precision,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = 1 / sqrt(a)`, approximate.
    Rsqrt {
        /// `f32` or `f64`.
        ty: Type,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = f(a)`, approximate.
    Transcendental {
        /// `f32`; for `Ex2` and `Tanh` also `f16`, `bf16` and two of them.
        ty: Type,
        /// Which function.
        function: Transcendental,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = b with the sign of a`.
    Copysign {
        /// `f32` or `f64`.
        ty: Type,
    },
    /// `p = a is of the class`.
    Testp {
        /// `f32` or `f64`.
        ty: Type,
        /// Which class.
        class: FloatClass,
    },
    /// `d = bits set in a`, 32 bits.
    Popc {
        /// `b32` or `b64`.
        ty: Type,
    },
    /// `d = leading zeros of a`, 32 bits.
    Clz {
        /// `b32` or `b64`.
        ty: Type,
    },
    /// `d = a with its bits reversed`.
    Brev {
        /// `b32` or `b64`.
        ty: Type,
    },
    /// `d = position of the most significant non-sign bit`, 32 bits, all ones if none.
    Bfind {
        /// Integer type.
        ty: Type,
        /// Give the left shift that brings it to the top instead.
        shift_amount: bool,
    },
    /// `d = field of a at b of length c`.
    Bfe {
        /// Integer type.
        ty: Type,
    },
    /// `d = b with a inserted at c of length d`.
    Bfi {
        /// `b32` or `b64`.
        ty: Type,
    },
    /// `d = low b bits of a`, extended to 32 bits.
    Szext {
        /// `u32` or `s32`.
        ty: Type,
        /// A width of 32 and more.
        excess: Excess,
    },
    /// `d = b ones from bit a on`, 32 bits.
    Bmsk {
        /// A position or width of 32 and more.
        excess: Excess,
    },
    /// `d = position of the c-th one of a from bit b on` (below it if `c` is negative), all ones if there is none; with 0 as
    /// `c`, `b` if that bit is one.
    Fns,
    /// `d = bytes of a and b selected by c`.
    Prmt {
        /// Selection mode.
        mode: Permute,
    },
    /// `d = c + dot product of the four bytes of a and b`.
    Dp4a {
        /// Bytes of `a` are signed.
        a_signed: bool,
        /// Bytes of `b` are signed.
        b_signed: bool,
    },
    /// `d = c + dot product of the two halves of a and two bytes of b`.
    Dp2a {
        /// Halves of `a` are signed.
        a_signed: bool,
        /// Bytes of `b` are signed.
        b_signed: bool,
        /// The upper two bytes of `b`.
        high: bool,
    },
    /// `d = a & b`.
    And {
        /// Bits or predicate.
        ty: Type,
    },
    /// `d = a | b`.
    Or {
        /// Bits or predicate.
        ty: Type,
    },
    /// `d = a ^ b`.
    Xor {
        /// Bits or predicate.
        ty: Type,
    },
    /// `d = !a`.
    Not {
        /// Bits or predicate.
        ty: Type,
    },
    /// `d = a == 0`.
    Cnot {
        /// Bits.
        ty: Type,
    },
    /// `d = table(a, b, c)` bit by bit. Sources `a, b, c [, predicate]`, results `d [, p = (d != 0) combined]`.
    Lop3 {
        /// Truth table: bit `4a + 2b + c`.
        table: u8,
        /// How the predicate is combined, if there is one.
        combine: Option<Combine>,
    },
    /// `d = a << b`; 0 from the width on.
    Shl {
        /// Bits.
        ty: Type,
    },
    /// `d = a >> b`, arithmetic if signed, the amount clamped to the width.
    Shr {
        /// Bits or integer.
        ty: Type,
    },
    /// `d = b:a shifted by c`, the high (left) or low (right) half.
    Shf {
        /// Which way.
        direction: Direction,
        /// The amount wraps at 32 instead of clamping to it.
        wrap: bool,
    },
    /// `p [, q] = compare(a, b) [combined with c]`; `q` combines the negated comparison, or, of a packed type, that of the
    /// upper halves.
    Setp {
        /// Operand type.
        ty: Type,
        /// Comparison.
        compare: Compare,
        /// How a third source is combined.
        combine: Option<Combine>,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = compare(a, b) [combined with c]` as all ones, or as 1.0; of a packed type, in each half.
    Set {
        /// Result type: an integer of 16 or 32 bits, `f16`, `bf16`, `f32`, or the packed operand type.
        to: Type,
        /// Operand type.
        ty: Type,
        /// Comparison.
        compare: Compare,
        /// How a third source is combined.
        combine: Option<Combine>,
        /// Flush subnormals.
        ftz: bool,
    },
    /// `d = c ? a : b`, `c` a predicate.
    Selp {
        /// Operand type.
        ty: Type,
    },
    /// `d = c >= 0 ? a : b`.
    Slct {
        /// Operand type.
        ty: Type,
        /// `s32` or `f32`.
        condition: Type,
        /// Flush subnormals of `c`.
        ftz: bool,
    },
    /// `d = a`.
    Mov {
        /// Operand type.
        ty: Type,
    },
    /// `d = {a, b, …}`, the first lowest.
    Pack {
        /// Type of the result.
        ty: Type,
    },
    /// `{d, e, …} = a`, the first lowest.
    Unpack {
        /// Type of the source.
        ty: Type,
    },
    /// `d = a` converted.
    Cvt {
        /// Result type.
        to: Type,
        /// Source type.
        from: Type,
        /// Rounding.
        rounding: CvtRounding,
        /// Flush subnormals.
        ftz: bool,
        /// Clamp to the result's range; for floats to [0, 1].
        saturate: bool,
        /// 0 instead of what is negative.
        relu: bool,
        /// The largest finite value instead of infinity.
        finite: bool,
    },
    /// `d = {b, a}` converted from `f32`: the first source becomes the upper half.
    CvtPair {
        /// `f16x2` or `bf16x2`.
        to: Type,
        /// Rounding direction.
        rounding: Rounding,
        /// 0 instead of what is negative.
        relu: bool,
        /// The largest finite value instead of infinity.
        finite: bool,
    },
    /// `d = a` converted between a state space's address and a generic address.
    Cvta {
        /// The space.
        space: Space,
        /// From generic to the space.
        to_space: bool,
        /// `u32` or `u64`.
        ty: Type,
    },
    /// `p = generic address a is in the space`.
    Isspacep {
        /// The space.
        space: Space,
    },
    /// `d … = [address]`. One result an element.
    Ld {
        /// State space.
        space: Space,
        /// Type of an element.
        ty: Type,
        /// How other accesses may be ordered around it.
        order: MemoryOrder,
    },
    /// `[address] = a …`. One source an element.
    St {
        /// State space.
        space: Space,
        /// Type of an element.
        ty: Type,
        /// How other accesses may be ordered around it.
        order: MemoryOrder,
    },
    /// `d = [address]; [address] = op(d, a [, b])`. Without a result it is `red`.
    Atom {
        /// State space.
        space: Space,
        /// Operand type.
        ty: Type,
        /// What it does.
        op: AtomicOp,
    },
    /// `shared [a] = [address]`, later: what was there stays until the thread waits. Sources `a, bytes that are read`; the rest
    /// of what is written is 0.
    CopyAsync {
        /// Bytes that are written: 4, 8 or 16.
        bytes: u8,
        /// Added to `a`.
        offset: i64,
    },
    /// The thread's copies since the last one form a group.
    CommitGroup,
    /// Waits for the thread's groups, but for the last so many; `None` for everything that is under way.
    WaitGroup {
        /// How many of the latest groups may be under way afterwards.
        but: Option<u32>,
    },
    /// `{d, e, f, g} = texel at a [, b]` of the texture that is the address' symbol, or whose handle is the address.
    Tex {
        /// `f32`, `s32` or `u32`.
        ty: Type,
        /// Coordinates: 1 or 2.
        dimensions: u8,
        /// Type of the coordinates: `s32`, or `f32`, which are filtered.
        coordinate: Type,
    },
    /// `d … = elements at byte a [of row b]` of the surface whose handle is the address.
    SurfaceLoad {
        /// Type of an element.
        ty: Type,
        /// Coordinates: 1 or 2.
        dimensions: u8,
        /// What becomes of an access outside.
        outside: Outside,
    },
    /// `elements at byte a [of row b] = c …` of the surface whose handle is the address.
    SurfaceStore {
        /// Type of an element.
        ty: Type,
        /// Coordinates: 1 or 2.
        dimensions: u8,
        /// What becomes of an access outside.
        outside: Outside,
    },
    /// A hint that does nothing (`prefetch`, `nanosleep`, `pmevent`, …).
    Hint,
    /// The thread no longer needs the scratchpad that its block shares with another (`relssp`: Jatala, §3.2.2).
    ReleaseScratchpad,
    /// `d [, p] = a of another lane`. Sources `a, b (lane), c (clamp and segment) [, member mask]`.
    Shfl {
        /// Pattern.
        mode: Shuffle,
        /// Has a member mask.
        sync: bool,
    },
    /// `d = vote of a`. Sources `a [, member mask]`.
    Vote {
        /// Which.
        mode: Vote,
        /// Has a member mask.
        sync: bool,
    },
    /// `d [, p] = lanes with the same value`. Sources `a, member mask`.
    Match {
        /// `b32` or `b64`.
        ty: Type,
        /// All lanes must agree (`match.all`): the mask or 0.
        all: bool,
    },
    /// `d = reduction of a over the member mask`. Sources `a, member mask`.
    Redux {
        /// Operand type.
        ty: Type,
        /// Which.
        op: Redux,
    },
    /// `d … = a … × b … + c …`, a matrix product of the whole warp: 16 × `k` times `k` × 8. Sources: the registers of `a`, of
    /// `b`, of `c`.
    Mma {
        /// Columns of `a`: 8 or 16 of `f16` and `bf16`, 16 or 32 of 8-bit integers.
        k: u8,
        /// `f16`, `bf16`, `u8` or `s8`.
        a: Type,
        /// The same, or the other of `u8` and `s8`.
        b: Type,
        /// `f16` or `f32` of `f16`, `f32` of `bf16`, `s32` of integers.
        c: Type,
        /// As `c`.
        d: Type,
        /// Clamp to the range of `s32`.
        saturate: bool,
    },
    /// `d … = matrices of 8 × 8 elements of 16 bits`, one a result, of the whole warp: lane `8 m + r` has the address of row
    /// `r` of matrix `m`.
    LoadMatrix {
        /// `.shared`, or none: a generic address.
        space: Space,
        /// Rows and columns exchanged.
        transposed: bool,
    },
    /// `d = mask of active lanes`.
    Activemask,
    /// Lanes of the member mask meet: a no-op for lanes that execute together. Source `member mask`.
    WarpSync,
    /// Waits for the block. Sources `barrier [, threads]`.
    Barrier,
    /// Counts as arrived, without waiting. Sources `barrier, threads`.
    BarrierArrive,
    /// Waits for the block and reduces. Sources `barrier, [threads,] predicate`, the predicate last.
    BarrierReduce {
        /// Which.
        op: BarrierReduction,
    },
    /// Orders memory accesses.
    Fence,
    /// Jumps.
    Bra {
        /// `.uni`: all active lanes do the same.
        uniform: bool,
        /// Where to.
        target: InstIndex,
    },
    /// Jumps to the indexed target. Source `index`.
    Brx {
        /// `.uni`.
        uniform: bool,
        /// Where to.
        targets: Vec<InstIndex>,
    },
    /// Ends the thread (`exit`, or `ret` of the kernel).
    Exit,
    /// Ends the run with an error.
    Trap,
    /// `d = printf`: prints. Sources `generic address of the format, generic address of the arguments`.
    Print,
    /// A failed assertion: ends the run with what it says. Sources `generic addresses of message and file, line, generic
    /// address of the function's name`.
    AssertFail,
}

/// An approximate function of `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transcendental {
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Logarithm to base 2.
    Lg2,
    /// Power of 2.
    Ex2,
    /// Hyperbolic tangent.
    Tanh,
}

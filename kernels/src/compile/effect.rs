//! What PTX instructions do to memory and to other lanes: which of them must stay in order.

use std::ops::Range;

use crate::program::Space;
use crate::ptx::ir::{Base, Instruction, Kernel, MemoryOrder, Op, Place, Reg, Type};

/// What an instruction does to memory, and to other lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that another could notice.
    None,
    /// Reads memory.
    Read(Bytes),
    /// Writes memory.
    Write(Bytes),
    /// Exchanges values with other lanes: in order among themselves.
    Lanes,
    /// Memory accesses stay on their side.
    Order,
}

/// Bytes of memory that each lane accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    space: Space,
    from: From,
    /// Counted from there.
    range: Range<i64>,
}

/// What an address is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// The value that a register has from this instruction of the stretch on; `None`: from before it.
    Register(Reg, Option<usize>),
    /// The beginning of the space.
    Space,
    /// Something whose address is not known before the launch.
    Unknown,
}

impl Effect {
    /// Of an instruction whose address is in a register that was written by instruction `version` of the stretch.
    pub fn of(kernel: &Kernel, instruction: &Instruction, version: Option<usize>) -> Effect {
        match &instruction.op {
            Op::Ld { space: Space::Constant | Space::Parameter, .. } | Op::Tex { .. } => Effect::None,
            Op::Ld { order: MemoryOrder::ReadOnly, .. } => Effect::None,
            Op::Ld { order: MemoryOrder::Strong, .. } | Op::St { order: MemoryOrder::Strong, .. } => {
                Effect::Order
            }
            Op::Ld { space, ty, .. } => {
                Effect::Read(Bytes::of(kernel, instruction, version, *space, *ty, instruction.dsts.len()))
            }
            Op::St { space, ty, .. } => {
                Effect::Write(Bytes::of(kernel, instruction, version, *space, *ty, instruction.srcs.len()))
            }
            // Rows are where other lanes say.
            Op::LoadMatrix { space, .. } => {
                Effect::Read(Bytes { space: *space, from: From::Unknown, range: 0..16 })
            }
            Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Mma { .. }
            | Op::Activemask => Effect::Lanes,
            Op::Atom { .. }
            | Op::SurfaceLoad { .. }
            | Op::SurfaceStore { .. }
            | Op::CopyAsync { .. }
            | Op::CommitGroup
            | Op::WaitGroup { .. }
            | Op::WarpSync
            | Op::Barrier
            | Op::BarrierArrive
            | Op::BarrierReduce { .. }
            | Op::Fence
            | Op::ReleaseScratchpad
            | Op::Bra { .. }
            | Op::Brx { .. }
            | Op::Exit
            | Op::Trap
            | Op::Print
            | Op::AssertFail => Effect::Order,
            Op::Add { .. }
            | Op::Sub { .. }
            | Op::Mul { .. }
            | Op::Fma { .. }
            | Op::MulInt { .. }
            | Op::MadInt { .. }
            | Op::Mul24 { .. }
            | Op::Mad24 { .. }
            | Op::AddCarry { .. }
            | Op::SubCarry { .. }
            | Op::MadCarry { .. }
            | Op::Sad { .. }
            | Op::DivInt { .. }
            | Op::RemInt { .. }
            | Op::Div { .. }
            | Op::Abs { .. }
            | Op::Neg { .. }
            | Op::Min { .. }
            | Op::Max { .. }
            | Op::Rcp { .. }
            | Op::Sqrt { .. }
            | Op::Rsqrt { .. }
            | Op::Transcendental { .. }
            | Op::Copysign { .. }
            | Op::Testp { .. }
            | Op::Popc { .. }
            | Op::Clz { .. }
            | Op::Brev { .. }
            | Op::Bfind { .. }
            | Op::Bfe { .. }
            | Op::Bfi { .. }
            | Op::Szext { .. }
            | Op::Bmsk { .. }
            | Op::Fns
            | Op::Prmt { .. }
            | Op::Dp2a { .. }
            | Op::Dp4a { .. }
            | Op::And { .. }
            | Op::Or { .. }
            | Op::Xor { .. }
            | Op::Not { .. }
            | Op::Cnot { .. }
            | Op::Lop3 { .. }
            | Op::Shl { .. }
            | Op::Shr { .. }
            | Op::Shf { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Selp { .. }
            | Op::Slct { .. }
            | Op::Mov { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Cvt { .. }
            | Op::CvtPair { .. }
            | Op::Cvta { .. }
            | Op::Isspacep { .. }
            | Op::Hint => Effect::None,
        }
    }

    /// Whether an instruction with this effect must stay before a later one with the other.
    pub fn is_before(&self, later: &Effect) -> bool {
        match (self, later) {
            (Effect::None, _) | (_, Effect::None) => false,
            (Effect::Order, _) | (_, Effect::Order) => true,
            (Effect::Lanes, other) | (other, Effect::Lanes) => *other == Effect::Lanes,
            (Effect::Read(_), Effect::Read(_)) => false,
            (Effect::Read(a) | Effect::Write(a), Effect::Read(b) | Effect::Write(b)) => a.may_meet(b),
        }
    }
}

/// Whether its result depends on other lanes, or on which of them execute it: it stays behind its branches.
pub fn asks_other_lanes(op: &Op) -> bool {
    matches!(
        op,
        Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Activemask
            | Op::Mma { .. }
            | Op::LoadMatrix { .. }
    )
}

impl Bytes {
    fn of(
        kernel: &Kernel,
        instruction: &Instruction,
        version: Option<usize>,
        space: Space,
        ty: Type,
        elements: usize,
    ) -> Bytes {
        let bytes = i64::from(ty.bytes()) * elements as i64;
        let unknown = Bytes { space, from: From::Unknown, range: 0..bytes };
        let Some(address) = instruction.address else { return unknown };
        let (from, start) = match address.base {
            Base::Reg(register) => (From::Register(register, version), 0),
            Base::Zero => (From::Space, 0),
            Base::Symbol(symbol) => match kernel.symbols[symbol.index()].place {
                Place::Offset(offset) => (From::Space, i64::from(offset)),
                Place::DynamicShared | Place::Module(_) => (From::Unknown, 0),
            },
        };
        // Addresses of some spaces wrap at 32 bits.
        let start = match address.offset.checked_add(start).map(i32::try_from) {
            Some(Ok(start)) => i64::from(start),
            Some(Err(_)) | None => return unknown,
        };
        Bytes { space, from, range: start..start + bytes }
    }

    /// Whether they may be the same in some lane.
    fn may_meet(&self, other: &Bytes) -> bool {
        if self.space != other.space && self.space != Space::Generic && other.space != Space::Generic {
            return false;
        }
        let is_known = self.from == other.from && self.from != From::Unknown && self.space == other.space;
        !is_known || (self.range.start < other.range.end && other.range.start < self.range.end)
    }
}

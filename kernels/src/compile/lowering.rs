//! How a compiled kernel's machine instructions relate to its PTX: what the executor needs to hand out every
//! operand's value.
//!
//! The executor runs the PTX as it stands. For each PTX instruction that a warp executes, the stream hands out
//! the machine instructions of its range, in order, each with the values named here.

use std::ops::Range;

use crate::ptx::ir::{InstIndex, Reg};

/// The machine instructions of each PTX instruction, and where their values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowering {
    /// For each PTX instruction its machine instructions; empty for what needs none (a folded constant, a
    /// coalesced copy, dead code).
    pub ranges: Vec<Range<u32>>,
    /// For each machine instruction the PTX instruction and the values of its operands.
    pub instructions: Vec<Lowered>,
}

/// A machine instruction's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// The PTX instruction it is part of.
    pub ptx: InstIndex,
    /// The value of each of [`Instruction::sources`](crate::program::Instruction::sources).
    pub sources: Vec<Value>,
    /// The value of each of [`Instruction::results`](crate::program::Instruction::results).
    pub results: Vec<Value>,
    /// Whether lanes are switched off by the PTX instruction's guard. (All machine instructions of a guarded
    /// PTX instruction are guarded; a guarded branch is executed by all lanes of the path.)
    pub guarded: bool,
    /// The load whose place its operand in memory has: its address is that of the load with the registers as they are before
    /// this PTX instruction.
    pub operand: Option<InstIndex>,
}

/// Where a 32-bit value comes from when a warp executes a PTX instruction.
///
/// A virtual register is 64 bits wide here, narrower types zero-extended, whatever type the instruction reads it
/// as; word 0 is the low one.
///
/// A register that PTX reads without ever having written it is undefined, and so is whatever is computed from it
/// (loaded values apart): a copy of it may have been removed, so the machine register may hold anything. Such
/// sources are not to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A word of a virtual register, before the PTX instruction.
    Before(Reg, u8),
    /// A word of a virtual register, after the PTX instruction.
    After(Reg, u8),
    /// A temporary of the instruction's expansion.
    Temporary(Temporary),
}

/// An intermediate value of an expansion (`docs/expansions.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporary {
    /// High word of the product of the low words of sources 0 and 1.
    ProductHigh,
    /// `ProductHigh` plus the high word of source 0 times the low word of source 1.
    ProductCross,
    /// The high half of source 0 times the low half of source 1, all of 16 bits.
    CrossHalf,
    /// The sum of both products of a high half and a low one.
    Cross,
    /// The same, moved up by 16 bits.
    CrossUp,
    /// The low word of the product of sources 0 and 1.
    Product,
    /// The n-th step of a long sequence. Its exact value in hardware is not public; this stands for it with
    /// a value that depends on the step and on the result, so that no two steps are mixed up unnoticed.
    Step(u16),
}

impl Temporary {
    /// The value in a lane whose sources 0 and 1 are `a` and `b` and whose first result is `result` (a
    /// predicate as 0 or 1; 0 where there is none).
    pub fn value(self, a: u64, b: u64, result: u64) -> u32 {
        let (a_low, b_low) = (a & 0xffff_ffff, b & 0xffff_ffff);
        let product_high = ((a_low * b_low) >> 32) as u32;
        match self {
            Temporary::ProductHigh => product_high,
            Temporary::ProductCross => ((a >> 32) as u32).wrapping_mul(b as u32).wrapping_add(product_high),
            Temporary::CrossHalf => (a as u32 >> 16).wrapping_mul(b as u32 & 0xffff),
            Temporary::Cross => cross(a as u32, b as u32),
            Temporary::CrossUp => cross(a as u32, b as u32) << 16,
            Temporary::Product => (a as u32).wrapping_mul(b as u32),
            Temporary::Step(n) => {
                let step = u32::from(n).wrapping_add(1).wrapping_mul(0x9e37_79b9);
                (result as u32 ^ (result >> 32) as u32).rotate_left(u32::from(n % 31)) ^ step
            }
        }
    }
}

/// The products of a high half and a low one.
fn cross(a: u32, b: u32) -> u32 {
    let product = |high: u32, low: u32| (high >> 16).wrapping_mul(low & 0xffff);
    product(a, b).wrapping_add(product(b, a))
}

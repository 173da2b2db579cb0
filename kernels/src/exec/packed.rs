//! Arithmetic, of values and of the two halves of packed values.
//!
//! Source: PTX ISA, §9.7.1 (`.u16x2`, `.s16x2`), §9.7.4 (`.f16x2`, `.bf16x2`).

use super::float;
use super::integer::{self, map1, map2};
use super::registers::Lanes;
use crate::program::LaneMask;
use crate::ptx::ir::{Op, Type, TypeKind};

/// The result of an instruction that has packed forms; `None` if it is none. Lanes that are not `active` get any value.
pub(super) fn arithmetic(op: &Op, active: LaneMask, sources: [&Lanes; 3]) -> Option<Lanes> {
    let Some(of_halves) = of_halves(op) else {
        return scalar(op, active, sources);
    };
    let low = scalar(&of_halves, active, sources.map(lower).each_ref())?;
    let high = scalar(&of_halves, active, sources.map(upper).each_ref())?;
    Some(joined(&low, &high))
}

/// The lower halves.
pub(super) fn lower(values: &Lanes) -> Lanes {
    map1(values, |value| value & 0xffff)
}

/// The upper halves of 32 bits.
pub(super) fn upper(values: &Lanes) -> Lanes {
    map1(values, |value| value >> 16 & 0xffff)
}

/// Values of lower and upper halves.
pub(super) fn joined(low: &Lanes, high: &Lanes) -> Lanes {
    map2(low, high, |low, high| low | high << 16)
}

/// What an instruction on a packed type does to each half.
fn of_halves(op: &Op) -> Option<Op> {
    let element = type_of(op)?.element()?;
    let mut of_halves = op.clone();
    if let Some(ty) = type_of_mut(&mut of_halves) {
        *ty = element;
    }
    Some(of_halves)
}

/// The operations that have packed forms, as a pattern that binds the type.
macro_rules! with_packed_form {
    ($ty:ident) => {
        Op::Add { $ty, .. }
            | Op::Sub { $ty, .. }
            | Op::Mul { $ty, .. }
            | Op::Fma { $ty, .. }
            | Op::Abs { $ty, .. }
            | Op::Neg { $ty, .. }
            | Op::Min { $ty, .. }
            | Op::Max { $ty, .. }
            | Op::Transcendental { $ty, .. }
    };
}

fn type_of(op: &Op) -> Option<Type> {
    if let with_packed_form!(ty) = op { Some(*ty) } else { None }
}

fn type_of_mut(op: &mut Op) -> Option<&mut Type> {
    if let with_packed_form!(ty) = op { Some(ty) } else { None }
}

fn scalar(op: &Op, active: LaneMask, [a, b, c]: [&Lanes; 3]) -> Option<Lanes> {
    let is_float = |ty: Type| ty.kind() == TypeKind::Float;
    Some(match *op {
        Op::Add { ty, mode } if is_float(ty) => float::add(ty, mode, a, b),
        Op::Add { ty, mode } => integer::add(ty, mode.saturate, a, b),
        Op::Sub { ty, mode } if is_float(ty) => float::sub(ty, mode, a, b),
        Op::Sub { ty, mode } => integer::sub(ty, mode.saturate, a, b),
        Op::Mul { ty, mode } => float::mul(ty, mode, a, b),
        Op::Fma { ty, mode } => float::fma(ty, mode, a, b, c),
        Op::Abs { ty, ftz } if is_float(ty) => float::abs(ty, ftz, a),
        Op::Abs { ty, .. } => integer::abs(ty, a),
        Op::Neg { ty, ftz } if is_float(ty) => float::neg(ty, ftz, a),
        Op::Neg { ty, .. } => integer::neg(ty, a),
        Op::Transcendental { ty, function, ftz } => float::transcendental(ty, function, ftz, active, a),
        Op::Min { ty, ftz, nan, .. } if is_float(ty) => float::extreme(ty, true, ftz, nan, a, b),
        Op::Min { ty, relu, .. } => integer::extreme(ty, true, relu, a, b),
        Op::Max { ty, ftz, nan, .. } if is_float(ty) => float::extreme(ty, false, ftz, nan, a, b),
        Op::Max { ty, relu, .. } => integer::extreme(ty, false, relu, a, b),
        // What has no packed form.
        _ => return None,
    })
}

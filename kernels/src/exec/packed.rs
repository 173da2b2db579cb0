//! Arithmetic, of values and of the two halves of packed values.
//!
//! Source: PTX ISA, §9.7.1 (`.u16x2`, `.s16x2`).

use super::float;
use super::integer::{self, map1, map2};
use super::registers::Lanes;
use crate::ptx::ir::{Op, Type, TypeKind};

/// The result of an instruction that has packed forms; `None` if it is none.
pub(super) fn arithmetic(op: &Op, [a, b, c]: [&Lanes; 3]) -> Option<Lanes> {
    let Some(of_halves) = of_halves(op) else {
        return scalar(op, [a, b, c]);
    };
    let low = [a, b, c].map(|values| map1(values, |value| value & 0xffff));
    let high = [a, b, c].map(|values| map1(values, |value| value >> 16 & 0xffff));
    let low = scalar(&of_halves, low.each_ref())?;
    let high = scalar(&of_halves, high.each_ref())?;
    Some(map2(&low, &high, |low, high| low | high << 16))
}

/// What an instruction on a packed type does to each half.
fn of_halves(op: &Op) -> Option<Op> {
    let mut of_halves = op.clone();
    let ty = type_of(&mut of_halves)?;
    *ty = ty.element()?;
    Some(of_halves)
}

/// The type of an instruction that has packed forms.
fn type_of(op: &mut Op) -> Option<&mut Type> {
    if let Op::Add { ty, .. } | Op::Sub { ty, .. } | Op::Min { ty, .. } | Op::Max { ty, .. } = op {
        Some(ty)
    } else {
        None
    }
}

fn scalar(op: &Op, [a, b, _c]: [&Lanes; 3]) -> Option<Lanes> {
    let is_float = |ty: Type| ty.kind() == TypeKind::Float;
    Some(match *op {
        Op::Add { ty, mode } if is_float(ty) => float::add(ty, mode, a, b),
        Op::Add { ty, mode } => integer::add(ty, mode.saturate, a, b),
        Op::Sub { ty, mode } if is_float(ty) => float::sub(ty, mode, a, b),
        Op::Sub { ty, mode } => integer::sub(ty, mode.saturate, a, b),
        Op::Min { ty, ftz, nan, .. } if is_float(ty) => float::extreme(ty, true, ftz, nan, a, b),
        Op::Min { ty, relu, .. } => integer::extreme(ty, true, relu, a, b),
        Op::Max { ty, ftz, nan, .. } if is_float(ty) => float::extreme(ty, false, ftz, nan, a, b),
        Op::Max { ty, relu, .. } => integer::extreme(ty, false, relu, a, b),
        // What has no packed form.
        _ => return None,
    })
}

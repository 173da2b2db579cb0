//! `cvt`, lane by lane.
//!
//! Source: PTX ISA, §9.7.9.21 (cvt): floats to integers clamp; NaN becomes 0, or `1 << (bits − 1)` from `f64`
//! or to 64 bits.

use super::float::as_double;
use super::integer::{clamp, is_signed, map1, map2, mask, number, signed};
use super::registers::Lanes;
use super::softfloat::{self, DOUBLE, SINGLE, format_of};
use crate::ptx::ir::{CvtRounding, Rounding, Type, TypeKind};

/// The parts of `Op::Cvt`, and the width of the register written.
#[derive(Clone, Copy)]
pub(super) struct Conversion {
    pub(super) to: Type,
    pub(super) from: Type,
    pub(super) rounding: CvtRounding,
    pub(super) ftz: bool,
    pub(super) saturate: bool,
    pub(super) relu: bool,
    pub(super) finite: bool,
    pub(super) register_bits: u32,
}

pub(super) fn convert(conversion: Conversion, a: &Lanes) -> Lanes {
    let Conversion { to, from, rounding, ftz, saturate, relu, finite, register_bits } = conversion;
    let is_float = |ty: Type| ty.kind() == TypeKind::Float;
    match (is_float(from), is_float(to)) {
        (false, false) if saturate => map1(a, |a| extend(clamp(number(a, from), to), to, register_bits)),
        (false, false) => map1(a, |a| {
            let value = if is_signed(from) { signed(a, from.bits()) as u64 } else { a & mask(from.bits()) };
            extend(value & mask(to.bits()), to, register_bits)
        }),
        (true, false) => map1(a, |a| extend(to_integer(conversion, a), to, register_bits)),
        (false, true) => {
            let rounding = float_rounding(rounding);
            map1(a, |a| clamped(to, saturate, from_integer(to, from, rounding, a)))
        }
        (true, true) => map1(a, |a| {
            let a = if ftz && from == Type::F32 { format_of(from).flush(a) } else { a };
            let bits = float_to_float(to, from, rounding, a);
            let bits = if ftz && to == Type::F32 { format_of(to).flush(bits) } else { bits };
            bounded(to, relu, finite, clamped(to, saturate, bits))
        }),
    }
}

/// Two values of single precision in the halves of a packed type, the first in the upper one.
pub(super) fn pair(to: Type, rounding: Rounding, relu: bool, finite: bool, a: &Lanes, b: &Lanes) -> Lanes {
    let element = to.element().unwrap_or(to);
    let half =
        |a: u64| bounded(element, relu, finite, softfloat::convert(SINGLE, format_of(element), rounding, a));
    map2(a, b, |a, b| half(a) << 16 | half(b))
}

fn bounded(to: Type, relu: bool, finite: bool, bits: u64) -> u64 {
    let bits = if finite { format_of(to).without_infinity(bits) } else { bits };
    if relu { format_of(to).without_negative(bits) } else { bits }
}

/// A result in a register that may be wider: sign or zero-extended as its type says.
pub(super) fn extend(value: u64, ty: Type, register_bits: u32) -> u64 {
    if is_signed(ty) { signed(value, ty.bits()) as u64 & mask(register_bits) } else { value }
}

fn clamped(to: Type, saturates: bool, bits: u64) -> u64 {
    if saturates { format_of(to).saturate(bits) } else { bits }
}

/// The direction in which a result is rounded; exact conversions have none.
fn float_rounding(rounding: CvtRounding) -> Rounding {
    match rounding {
        CvtRounding::Float(rounding) | CvtRounding::Integer(rounding) => rounding,
        CvtRounding::None => Rounding::Nearest,
    }
}

#[inline(always)]
fn from_integer(to: Type, from: Type, rounding: Rounding, a: u64) -> u64 {
    if rounding == Rounding::Nearest && to == Type::F32 {
        let value =
            if is_signed(from) { signed(a, from.bits()) as f32 } else { (a & mask(from.bits())) as f32 };
        return u64::from(value.to_bits());
    }
    softfloat::from_integer(format_of(to), rounding, number(a, from))
}

fn to_integer(conversion: Conversion, a: u64) -> u64 {
    let Conversion { to, from, ftz, .. } = conversion;
    if format_of(from).is_nan(a) {
        let wide = from == Type::F64 || to.bits() == 64;
        return if wide { 1 << (to.bits() - 1) } else { 0 };
    }
    let a = if ftz { format_of(from).flush(a) } else { a };
    let value = integral(as_double(from, a), float_rounding(conversion.rounding));
    // Beyond i128 the cast clamps, and the clamp to the type gives the same.
    clamp(value as i128, to)
}

fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

fn float_to_float(to: Type, from: Type, rounding: CvtRounding, a: u64) -> u64 {
    match rounding {
        CvtRounding::Integer(rounding) => {
            if format_of(from).is_nan(a) {
                return format_of(to).canonical_nan();
            }
            let value = integral(as_double(from, a), rounding);
            softfloat::convert(DOUBLE, format_of(to), Rounding::Nearest, value.to_bits())
        }
        CvtRounding::Float(rounding) => softfloat::convert(format_of(from), format_of(to), rounding, a),
        CvtRounding::None if to == from => a,
        CvtRounding::None => softfloat::convert(format_of(from), format_of(to), Rounding::Nearest, a),
    }
}

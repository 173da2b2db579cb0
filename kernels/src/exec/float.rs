//! Floating-point instructions, lane by lane.
//!
//! Rounding to nearest uses the host's single and double precision; other directions and the 16-bit formats use
//! `softfloat`. A NaN result is canonical (`0x7fffffff` in single precision), so that results do not depend on
//! the host. Approximate functions are computed in double precision and rounded once to the result: more
//! exact than hardware, within every error bound that PTX gives.
//!
//! Source: PTX ISA, §9.7.3.

use super::integer::{map1, map2, map3};
use super::registers::Lanes;
use super::softfloat::{self, DOUBLE, Format, format_of};
use crate::program::{LANES, LaneMask};
use crate::ptx::ir::{Compare, FloatClass, FloatMode, Precision, Rounding, Transcendental, Type};

/// What becomes of inputs and results.
#[derive(Clone, Copy)]
struct Finish {
    format: Format,
    ftz: bool,
    saturate: bool,
    relu: bool,
}

impl Finish {
    fn new(ty: Type, ftz: bool, saturate: bool) -> Finish {
        Finish { format: format_of(ty), ftz, saturate, relu: false }
    }

    fn of_mode(ty: Type, mode: FloatMode) -> Finish {
        Finish { relu: mode.relu, ..Finish::new(ty, mode.ftz, mode.saturate) }
    }

    #[inline(always)]
    fn input(self, bits: u64) -> u64 {
        if self.ftz { self.format.flush(bits) } else { bits }
    }

    #[inline(always)]
    fn single(self, value: f32) -> u64 {
        self.output(u64::from(value.to_bits()), value.is_nan())
    }

    #[inline(always)]
    fn double(self, value: f64) -> u64 {
        self.output(value.to_bits(), value.is_nan())
    }

    /// Canonical NaN, then `.ftz`, then `.sat` or `.relu`.
    #[inline(always)]
    fn output(self, bits: u64, is_nan: bool) -> u64 {
        let bits = if is_nan { self.format.canonical_nan() } else { bits };
        let bits = if self.ftz { self.format.flush(bits) } else { bits };
        let bits = if self.saturate { self.format.saturate(bits) } else { bits };
        if self.relu { self.format.without_negative(bits) } else { bits }
    }

    #[inline(always)]
    fn soft(self, bits: u64) -> u64 {
        self.output(bits, false)
    }
}

#[inline(always)]
pub(super) fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[inline(always)]
pub(super) fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// A value in double precision, which holds all of every format.
pub(super) fn as_double(ty: Type, bits: u64) -> f64 {
    match ty {
        Type::F64 => f64_of(bits),
        Type::F32 => f64::from(f32_of(bits)),
        _of_16_bits => f64_of(softfloat::convert(format_of(ty), DOUBLE, Rounding::Nearest, bits)),
    }
}

/// A two-operand operation: host arithmetic to nearest, integers otherwise.
macro_rules! arithmetic2 {
    ($name:ident, $operator:tt, $soft:path) => {
        pub(super) fn $name(ty: Type, mode: FloatMode, a: &Lanes, b: &Lanes) -> Lanes {
            let finish = Finish::of_mode(ty, mode);
            match (ty, mode.rounding) {
                (Type::F32, Rounding::Nearest) => map2(a, b, |a, b| {
                    finish.single(f32_of(finish.input(a)) $operator f32_of(finish.input(b)))
                }),
                (Type::F64, Rounding::Nearest) => map2(a, b, |a, b| finish.double(f64_of(a) $operator f64_of(b))),
                (_, rounding) => map2(a, b, |a, b| {
                    finish.soft($soft(finish.format, rounding, finish.input(a), finish.input(b)))
                }),
            }
        }
    };
}
arithmetic2!(add, +, softfloat::add);
arithmetic2!(sub, -, softfloat::sub);
arithmetic2!(mul, *, softfloat::mul);

pub(super) fn fma(ty: Type, mode: FloatMode, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let finish = Finish::of_mode(ty, mode);
    match (ty, mode.rounding) {
        (Type::F32, Rounding::Nearest) => map3(a, b, c, |a, b, c| {
            let (a, b, c) = (finish.input(a), finish.input(b), finish.input(c));
            finish.single(fma_single(f32_of(a), f32_of(b), f32_of(c)))
        }),
        (Type::F64, Rounding::Nearest) => {
            map3(a, b, c, |a, b, c| finish.double(f64_of(a).mul_add(f64_of(b), f64_of(c))))
        }
        (_, rounding) => map3(a, b, c, |a, b, c| {
            let (a, b, c) = (finish.input(a), finish.input(b), finish.input(c));
            finish.soft(softfloat::fma(finish.format, rounding, a, b, c))
        }),
    }
}

/// Single-precision fused multiply-add through double precision: the product is exact there, and the sum is
/// rounded to odd, so that rounding it to single precision rounds only once.
#[inline(always)]
fn fma_single(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    // Knuth's two-sum: the error of the addition.
    let of_product = sum - c;
    let error = (product - of_product) + (c - (sum - of_product));
    let bits = sum.to_bits();
    let inexact_even = error != 0.0 && error.is_finite() && bits & 1 == 0;
    let towards_zero = (error > 0.0) != (sum > 0.0);
    let odd = if towards_zero { bits.wrapping_sub(1) } else { bits | 1 };
    (if inexact_even { f64::from_bits(odd) } else { sum }) as f32
}

pub(super) fn div(ty: Type, precision: Precision, ftz: bool, a: &Lanes, b: &Lanes) -> Lanes {
    let finish = Finish::new(ty, ftz, false);
    let rounding = rounding_of(precision);
    match (ty, rounding) {
        (Type::F32, Rounding::Nearest) => {
            map2(a, b, |a, b| finish.single(f32_of(finish.input(a)) / f32_of(finish.input(b))))
        }
        (Type::F64, Rounding::Nearest) => map2(a, b, |a, b| finish.double(f64_of(a) / f64_of(b))),
        (_, rounding) => map2(a, b, |a, b| {
            finish.soft(softfloat::div(finish.format, rounding, finish.input(a), finish.input(b)))
        }),
    }
}

/// Approximate division, square root and reciprocal are rounded to nearest.
fn rounding_of(precision: Precision) -> Rounding {
    match precision {
        Precision::Ieee(rounding) => rounding,
        Precision::Approx | Precision::Full => Rounding::Nearest,
    }
}

pub(super) fn rcp(ty: Type, precision: Precision, ftz: bool, a: &Lanes) -> Lanes {
    let one = softfloat::from_integer(format_of(ty), Rounding::Nearest, 1);
    div(ty, precision, ftz, &[one; LANES], a)
}

pub(super) fn sqrt(ty: Type, precision: Precision, ftz: bool, a: &Lanes) -> Lanes {
    let finish = Finish::new(ty, ftz, false);
    match (ty, rounding_of(precision)) {
        (Type::F32, Rounding::Nearest) => map1(a, |a| finish.single(f32_of(finish.input(a)).sqrt())),
        (Type::F64, Rounding::Nearest) => map1(a, |a| finish.double(f64_of(a).sqrt())),
        (_, rounding) => map1(a, |a| finish.soft(softfloat::sqrt(finish.format, rounding, finish.input(a)))),
    }
}

pub(super) fn rsqrt(ty: Type, ftz: bool, a: &Lanes) -> Lanes {
    let finish = Finish::new(ty, ftz, false);
    if ty == Type::F32 {
        map1(a, |a| finish.single((1.0 / f64::from(f32_of(finish.input(a))).sqrt()) as f32))
    } else {
        map1(a, |a| finish.double(1.0 / f64_of(finish.input(a)).sqrt()))
    }
}

/// An approximate function, in the lanes of a mask; the others get 0.
pub(super) fn transcendental(
    ty: Type,
    function: Transcendental,
    ftz: bool,
    lanes: LaneMask,
    a: &Lanes,
) -> Lanes {
    let finish = Finish::new(ty, ftz, false);
    let mut out = [0; LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        if lanes >> lane & 1 == 1 {
            let a = as_double(ty, finish.input(a[lane]));
            let value = match function {
                Transcendental::Sin => a.sin(),
                Transcendental::Cos => a.cos(),
                Transcendental::Lg2 => a.log2(),
                Transcendental::Ex2 => a.exp2(),
                Transcendental::Tanh => a.tanh(),
            };
            let rounded = softfloat::convert(DOUBLE, finish.format, Rounding::Nearest, value.to_bits());
            *out = finish.soft(rounded);
        }
    }
    out
}

/// `|a|`, of any bits.
pub(super) fn abs(ty: Type, ftz: bool, a: &Lanes) -> Lanes {
    let finish = Finish::new(ty, ftz, false);
    let sign = 1_u64 << (ty.bits() - 1);
    map1(a, |a| finish.input(a) & !sign)
}

/// `-a`, of any bits.
pub(super) fn neg(ty: Type, ftz: bool, a: &Lanes) -> Lanes {
    let finish = Finish::new(ty, ftz, false);
    let sign = 1_u64 << (ty.bits() - 1);
    map1(a, |a| finish.input(a) ^ sign)
}

pub(super) fn copysign(ty: Type, a: &Lanes, b: &Lanes) -> Lanes {
    let sign = 1_u64 << (ty.bits() - 1);
    map2(a, b, |a, b| a & sign | b & !sign)
}

/// A value as a number that compares like it, zeros told apart by sign. NaN must be excluded before.
#[inline(always)]
fn ordered(ty: Type, bits: u64) -> i64 {
    let wide = super::integer::signed(bits, ty.bits());
    if wide < 0 { !(wide & (i64::MAX >> (64 - ty.bits()))) } else { wide }
}

/// The smaller (`least`) or larger of two; −0 is smaller than +0. With one NaN the other, unless `nan`.
pub(super) fn extreme(ty: Type, least: bool, ftz: bool, nan: bool, a: &Lanes, b: &Lanes) -> Lanes {
    let finish = Finish::new(ty, ftz, false);
    map2(a, b, |a, b| {
        let (a, b) = (finish.input(a), finish.input(b));
        match (finish.format.is_nan(a), finish.format.is_nan(b)) {
            (false, false) => {
                if (ordered(ty, a) < ordered(ty, b)) == least {
                    a
                } else {
                    b
                }
            }
            (true, true) => finish.format.canonical_nan(),
            (_, _) if nan => finish.format.canonical_nan(),
            (true, false) => b,
            (false, true) => a,
        }
    })
}

/// Lanes in which a comparison holds.
pub(super) fn compare(ty: Type, compare: Compare, ftz: bool, a: &Lanes, b: &Lanes) -> LaneMask {
    let finish = Finish::new(ty, ftz, false);
    let value = |bits: u64| as_double(ty, finish.input(bits));
    lanes_where(|lane| {
        let (a, b) = (value(a[lane]), value(b[lane]));
        let unordered = a.is_nan() || b.is_nan();
        match compare {
            Compare::Eq => a == b,
            Compare::Ne => !unordered && a != b,
            Compare::Lt => a < b,
            Compare::Le => a <= b,
            Compare::Gt => a > b,
            Compare::Ge => a >= b,
            Compare::Equ => unordered || a == b,
            Compare::Neu => unordered || a != b,
            Compare::Ltu => unordered || a < b,
            Compare::Leu => unordered || a <= b,
            Compare::Gtu => unordered || a > b,
            Compare::Geu => unordered || a >= b,
            Compare::Num => !unordered,
            Compare::Nan => unordered,
        }
    })
}

/// Lanes in which a condition holds.
#[inline(always)]
pub(super) fn lanes_where(condition: impl Fn(usize) -> bool) -> LaneMask {
    (0..LANES).fold(0, |mask, lane| mask | u32::from(condition(lane)) << lane)
}

/// Lanes whose value is of a class.
pub(super) fn testp(ty: Type, class: FloatClass, a: &Lanes) -> LaneMask {
    lanes_where(|lane| {
        let value = if ty == Type::F32 { f64::from(f32_of(a[lane])) } else { f64_of(a[lane]) };
        let smallest = if ty == Type::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
        match class {
            FloatClass::Finite => value.is_finite(),
            FloatClass::Infinite => value.is_infinite(),
            FloatClass::Number => !value.is_nan(),
            FloatClass::NotANumber => value.is_nan(),
            FloatClass::Normal => value.is_finite() && value.abs() >= smallest,
            FloatClass::Subnormal => value != 0.0 && value.abs() < smallest,
        }
    })
}

/// The sum that a floating-point atomic leaves in memory.
pub(super) fn atomic_add(ty: Type, ftz: bool, old: u64, a: u64) -> u64 {
    let finish = Finish::new(ty, ftz, false);
    let sum = |ty: Type, old: u64, a: u64| softfloat::add(format_of(ty), Rounding::Nearest, old, a);
    match (ty, ty.element()) {
        (Type::F32, _) => finish.single(f32_of(finish.input(old)) + f32_of(finish.input(a))),
        (Type::F64, _) => finish.double(f64_of(old) + f64_of(a)),
        (_, Some(half)) => sum(half, old & 0xffff, a & 0xffff) | sum(half, old >> 16, a >> 16) << 16,
        (half, None) => sum(half, old, a),
    }
}

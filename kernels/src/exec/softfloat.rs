//! IEEE arithmetic in any rounding direction, in integers.
//!
//! Used where the host has no instruction: directed rounding, and all of the 16-bit formats. Every operation is
//! exact up to one sticky bit, then rounded once.
//!
//! Source: IEEE 754-2019, §4.3 (rounding), §5.4 (operations).

use crate::ptx::ir::{Rounding, Type};

/// A binary interchange format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Width in bits.
    bits: u32,
    /// Explicit fraction bits.
    fraction: u32,
}

/// Half precision.
pub const HALF: Format = Format { bits: 16, fraction: 10 };
/// The upper half of single precision (`bf16`).
pub const BRAIN: Format = Format { bits: 16, fraction: 7 };
/// Single precision.
pub const SINGLE: Format = Format { bits: 32, fraction: 23 };
/// Double precision.
pub const DOUBLE: Format = Format { bits: 64, fraction: 52 };

/// The format of a floating-point type; double precision for what is none.
pub fn format_of(ty: Type) -> Format {
    if ty == Type::F16 {
        HALF
    } else if ty == Type::Bf16 {
        BRAIN
    } else if ty == Type::F32 {
        SINGLE
    } else {
        DOUBLE
    }
}

/// A value taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Parts {
    NotANumber,
    Infinite {
        negative: bool,
    },
    /// `significand × 2^exponent`; the significand may be 0.
    Finite {
        negative: bool,
        significand: u128,
        exponent: i32,
    },
}

impl Format {
    fn exponent_bits(self) -> u32 {
        self.bits - 1 - self.fraction
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits() - 1)) - 1
    }

    fn exponent_mask(self) -> u64 {
        (1 << self.exponent_bits()) - 1
    }

    fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.bits - 1)
    }

    /// The NaN that operations give: `0x7fffffff` in single precision, as PTX says; quiet, positive and
    /// without payload in the others.
    pub fn canonical_nan(self) -> u64 {
        if self == DOUBLE { 0x7ff8_0000_0000_0000 } else { (1 << (self.bits - 1)) - 1 }
    }

    fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | self.exponent_mask() << self.fraction
    }

    fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }

    /// 1.0.
    fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction
    }

    /// Whether a value is NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign(true) > self.infinity(false)
    }

    /// Clamps to [+0, 1]; NaN to +0.
    pub fn saturate(self, bits: u64) -> u64 {
        if self.is_nan(bits) || bits & self.sign(true) != 0 { 0 } else { bits.min(self.one()) }
    }

    /// +0 instead of what is negative.
    pub fn without_negative(self, bits: u64) -> u64 {
        if bits & self.sign(true) != 0 && !self.is_nan(bits) { 0 } else { bits }
    }

    /// The largest finite value of the same sign instead of infinity.
    pub fn without_infinity(self, bits: u64) -> u64 {
        let magnitude = bits & !self.sign(true);
        if magnitude == self.infinity(false) { self.largest(bits != magnitude) } else { bits }
    }

    /// Subnormals to zero of the same sign.
    pub fn flush(self, bits: u64) -> u64 {
        let exponent = bits >> self.fraction & self.exponent_mask();
        if exponent == 0 { bits & self.sign(true) } else { bits }
    }

    fn parts(self, bits: u64) -> Parts {
        let negative = bits >> (self.bits - 1) & 1 == 1;
        let fraction = bits & ((1 << self.fraction) - 1);
        let exponent = bits >> self.fraction & self.exponent_mask();
        if exponent == self.exponent_mask() {
            return if fraction == 0 { Parts::Infinite { negative } } else { Parts::NotANumber };
        }
        let implicit = u64::from(exponent != 0) << self.fraction;
        let scale = (exponent.max(1) as i32) - self.bias() - self.fraction as i32;
        Parts::Finite { negative, significand: u128::from(fraction | implicit), exponent: scale }
    }

    /// Rounds `significand × 2^exponent`. The lowest bit of the significand may be a sticky bit if it is
    /// below the bits that are kept.
    fn round(self, negative: bool, significand: u128, exponent: i32, rounding: Rounding) -> u64 {
        if significand == 0 {
            return self.sign(negative);
        }
        let smallest = 1 - self.bias() - self.fraction as i32;
        let top = 127 - significand.leading_zeros() as i32;
        let kept_exponent = (exponent + top - self.fraction as i32).max(smallest);
        let drop = kept_exponent - exponent;
        let (kept, inexact, half) = if drop <= 0 {
            (significand << -drop, false, std::cmp::Ordering::Less)
        } else if drop > 127 {
            (0, true, std::cmp::Ordering::Less)
        } else {
            let rest = significand & ((1 << drop) - 1);
            (significand >> drop, rest != 0, rest.cmp(&(1 << (drop - 1))))
        };
        let up = match rounding {
            Rounding::Nearest => match half {
                std::cmp::Ordering::Less => false,
                std::cmp::Ordering::Equal => kept & 1 == 1,
                std::cmp::Ordering::Greater => true,
            },
            Rounding::Zero => false,
            Rounding::Down => negative && inexact,
            Rounding::Up => !negative && inexact,
        };
        let kept = kept as u64 + u64::from(up);
        // A carry out of the fraction moves into the exponent field by itself.
        let magnitude = kept + (((kept_exponent - smallest) as u64) << self.fraction);
        if magnitude < self.infinity(false) {
            return self.sign(negative) | magnitude;
        }
        let away = match rounding {
            Rounding::Nearest => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        if away { self.infinity(negative) } else { self.largest(negative) }
    }
}

/// `a + b`.
pub fn add(format: Format, rounding: Rounding, a: u64, b: u64) -> u64 {
    let sum = sum(format.parts(a), format.parts(b), rounding);
    finish(format, rounding, sum)
}

/// `a - b`.
pub fn sub(format: Format, rounding: Rounding, a: u64, b: u64) -> u64 {
    add(format, rounding, a, b ^ format.sign(true))
}

/// `a × b`.
pub fn mul(format: Format, rounding: Rounding, a: u64, b: u64) -> u64 {
    finish(format, rounding, product(format.parts(a), format.parts(b)))
}

/// `a × b + c`, rounded once.
pub fn fma(format: Format, rounding: Rounding, a: u64, b: u64, c: u64) -> u64 {
    let product = product(format.parts(a), format.parts(b));
    finish(format, rounding, sum(product, format.parts(c), rounding))
}

/// `a / b`.
pub fn div(format: Format, rounding: Rounding, a: u64, b: u64) -> u64 {
    let quotient = match (format.parts(a), format.parts(b)) {
        (Parts::NotANumber, _) | (_, Parts::NotANumber) => Parts::NotANumber,
        (Parts::Infinite { .. }, Parts::Infinite { .. }) => Parts::NotANumber,
        (Parts::Infinite { negative: x }, Parts::Finite { negative: y, .. }) => {
            Parts::Infinite { negative: x != y }
        }
        (Parts::Finite { negative: x, .. }, Parts::Infinite { negative: y }) => zero(x != y),
        (
            Parts::Finite { negative: x, significand: over, exponent: over_exponent },
            Parts::Finite { negative: y, significand: under, exponent: under_exponent },
        ) => match (over, under) {
            (0, 0) => Parts::NotANumber,
            (_, 0) => Parts::Infinite { negative: x != y },
            (0, _) => zero(x != y),
            (_, _) => {
                let shift = over.leading_zeros() - 1;
                let (scaled, exponent) = (over << shift, over_exponent - shift as i32);
                // Both have at most 53 bits, so the quotient has at least 73, and the last is sticky.
                let sticky = u128::from(scaled % under != 0);
                Parts::Finite {
                    negative: x != y,
                    significand: (scaled / under) | sticky,
                    exponent: exponent - under_exponent,
                }
            }
        },
    };
    finish(format, rounding, quotient)
}

/// The square root of `a`.
pub fn sqrt(format: Format, rounding: Rounding, a: u64) -> u64 {
    let root = match format.parts(a) {
        Parts::NotANumber | Parts::Infinite { negative: true } => Parts::NotANumber,
        Parts::Infinite { negative: false } => Parts::Infinite { negative: false },
        Parts::Finite { negative, significand: 0, .. } => zero(negative),
        Parts::Finite { negative: true, .. } => Parts::NotANumber,
        Parts::Finite { negative: false, significand, exponent } => {
            let shift = significand.leading_zeros() as i32 - 1;
            // The exponent must be even to be halved.
            let shift = shift - (exponent - shift).rem_euclid(2);
            let scaled = significand << shift;
            let root = scaled.isqrt();
            let sticky = u128::from(root * root != scaled);
            Parts::Finite {
                negative: false,
                significand: root << 1 | sticky,
                exponent: (exponent - shift) / 2 - 1,
            }
        }
    };
    finish(format, rounding, root)
}

/// A value of one format in another.
pub fn convert(from: Format, to: Format, rounding: Rounding, a: u64) -> u64 {
    finish(to, rounding, from.parts(a))
}

/// An integer in a format.
pub fn from_integer(to: Format, rounding: Rounding, value: i128) -> u64 {
    to.round(value < 0, value.unsigned_abs(), 0, rounding)
}

fn zero(negative: bool) -> Parts {
    Parts::Finite { negative, significand: 0, exponent: 0 }
}

fn finish(format: Format, rounding: Rounding, parts: Parts) -> u64 {
    match parts {
        Parts::NotANumber => format.canonical_nan(),
        Parts::Infinite { negative } => format.infinity(negative),
        Parts::Finite { negative, significand, exponent } => {
            format.round(negative, significand, exponent, rounding)
        }
    }
}

fn product(a: Parts, b: Parts) -> Parts {
    match (a, b) {
        (Parts::NotANumber, _) | (_, Parts::NotANumber) => Parts::NotANumber,
        (Parts::Infinite { negative: x }, Parts::Infinite { negative: y }) => {
            Parts::Infinite { negative: x != y }
        }
        (Parts::Infinite { negative: x }, Parts::Finite { negative: y, significand, .. })
        | (Parts::Finite { negative: y, significand, .. }, Parts::Infinite { negative: x }) => {
            if significand == 0 { Parts::NotANumber } else { Parts::Infinite { negative: x != y } }
        }
        (
            Parts::Finite { negative: x, significand: left, exponent: left_exponent },
            Parts::Finite { negative: y, significand: right, exponent: right_exponent },
        ) => Parts::Finite {
            negative: x != y,
            significand: left * right,
            exponent: left_exponent + right_exponent,
        },
    }
}

/// The sum, exact up to a sticky bit far below what any format keeps.
fn sum(a: Parts, b: Parts, rounding: Rounding) -> Parts {
    let (x, left, left_exponent, y, right, right_exponent) = match (a, b) {
        (Parts::NotANumber, _) | (_, Parts::NotANumber) => return Parts::NotANumber,
        (Parts::Infinite { negative: x }, Parts::Infinite { negative: y }) => {
            return if x == y { a } else { Parts::NotANumber };
        }
        (Parts::Infinite { .. }, Parts::Finite { .. }) => return a,
        (Parts::Finite { .. }, Parts::Infinite { .. }) => return b,
        (
            Parts::Finite { negative: x, significand: left, exponent: left_exponent },
            Parts::Finite { negative: y, significand: right, exponent: right_exponent },
        ) => (x, left, left_exponent, y, right, right_exponent),
    };
    match (left, right) {
        // The sum of zeros of unlike sign is positive, except when rounding down.
        (0, 0) => return zero(if x == y { x } else { rounding == Rounding::Down }),
        (0, _) => return b,
        (_, 0) => return a,
        (_, _) => {}
    }
    // Leading ones at bit 125: room for a carry above, at least 19 zero bits below.
    let normal = |significand: u128, exponent: i32| {
        let shift = significand.leading_zeros() - 2;
        (significand << shift, exponent - shift as i32)
    };
    let (mut left, left_exponent) = normal(left, left_exponent);
    let (mut right, right_exponent) = normal(right, right_exponent);
    let exponent = left_exponent.max(right_exponent);
    left = shift_right_sticky(left, (exponent - left_exponent) as u32);
    right = shift_right_sticky(right, (exponent - right_exponent) as u32);
    if x == y {
        return Parts::Finite { negative: x, significand: left + right, exponent };
    }
    match left.cmp(&right) {
        std::cmp::Ordering::Equal => zero(rounding == Rounding::Down),
        std::cmp::Ordering::Greater => Parts::Finite { negative: x, significand: left - right, exponent },
        std::cmp::Ordering::Less => Parts::Finite { negative: y, significand: right - left, exponent },
    }
}

fn shift_right_sticky(value: u128, by: u32) -> u128 {
    if by == 0 {
        value
    } else if by > 127 {
        u128::from(value != 0)
    } else {
        value >> by | u128::from(value & ((1 << by) - 1) != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bit patterns with more special exponents than chance gives.
    fn bits() -> impl Strategy<Value = u64> {
        let near =
            prop::sample::select(vec![0_u64, 1, 0x7ff << 52, 0x3ff << 52, 0x3fe << 52, 0x001 << 52, 1 << 63]);
        prop_oneof![any::<u64>(), near.clone(), (near, any::<u64>()).prop_map(|(base, low)| base ^ (low % 8))]
    }

    fn single_bits() -> impl Strategy<Value = u64> {
        let near =
            prop::sample::select(vec![0_u64, 1, 0xff << 23, 0x7f << 23, 0x7e << 23, 0x01 << 23, 1 << 31]);
        let any = any::<u32>().prop_map(u64::from);
        prop_oneof![any.clone(), near.clone(), (near, any).prop_map(|(base, low)| base ^ (low % 8))]
    }

    /// The compiler must not know where the value comes from: it takes a root for no NaN.
    fn of_double(value: f64) -> u64 {
        let value = std::hint::black_box(value);
        if value.is_nan() { DOUBLE.canonical_nan() } else { value.to_bits() }
    }

    fn of_single(value: f32) -> u64 {
        let value = std::hint::black_box(value);
        if value.is_nan() { SINGLE.canonical_nan() } else { u64::from(value.to_bits()) }
    }

    const NEAREST: Rounding = Rounding::Nearest;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn to_nearest_it_is_the_hosts_double_precision(a in bits(), b in bits(), c in bits()) {
            let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            prop_assert_eq!(add(DOUBLE, NEAREST, a, b), of_double(x + y));
            prop_assert_eq!(sub(DOUBLE, NEAREST, a, b), of_double(x - y));
            prop_assert_eq!(mul(DOUBLE, NEAREST, a, b), of_double(x * y));
            prop_assert_eq!(div(DOUBLE, NEAREST, a, b), of_double(x / y));
            prop_assert_eq!(sqrt(DOUBLE, NEAREST, a), of_double(x.sqrt()));
            prop_assert_eq!(fma(DOUBLE, NEAREST, a, b, c), of_double(x.mul_add(y, z)));
            prop_assert_eq!(convert(DOUBLE, SINGLE, NEAREST, a), of_single(x as f32));
            prop_assert_eq!(from_integer(DOUBLE, NEAREST, i128::from(a as i64)), of_double(a as i64 as f64));
        }

        #[test]
        fn to_nearest_it_is_the_hosts_single_precision(a in single_bits(), b in single_bits(), c in single_bits()) {
            let value = |bits: u64| f32::from_bits(bits as u32);
            let (x, y, z) = (value(a), value(b), value(c));
            prop_assert_eq!(add(SINGLE, NEAREST, a, b), of_single(x + y));
            prop_assert_eq!(mul(SINGLE, NEAREST, a, b), of_single(x * y));
            prop_assert_eq!(div(SINGLE, NEAREST, a, b), of_single(x / y));
            prop_assert_eq!(sqrt(SINGLE, NEAREST, a), of_single(x.sqrt()));
            prop_assert_eq!(fma(SINGLE, NEAREST, a, b, c), of_single(x.mul_add(y, z)));
            prop_assert_eq!(convert(SINGLE, DOUBLE, NEAREST, a), of_double(f64::from(x)));
        }

        #[test]
        fn directed_results_enclose_the_exact_one(a in single_bits(), b in single_bits(), which in 0..4) {
            // Products and sums of single precision in double precision are exact, or rounded far below.
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            prop_assume!(x.is_finite() && y.is_finite());
            let operation = [add, sub, mul, div][which as usize];
            let to = |rounding| f64::from(f32::from_bits(operation(SINGLE, rounding, a, b) as u32));
            let (x, y) = (f64::from(x), f64::from(y));
            let exact = [x + y, x - y, x * y, x / y][which as usize];
            prop_assume!(exact.is_finite());
            let (down, up, zero, nearest) =
                (to(Rounding::Down), to(Rounding::Up), to(Rounding::Zero), to(Rounding::Nearest));
            prop_assert!(down <= exact && exact <= up);
            prop_assert_eq!(zero, if exact < 0.0 { up } else { down });
            prop_assert!(nearest == down || nearest == up);
            if down.is_finite() && up.is_finite() {
                prop_assert!(down == up || (down as f32).next_up() == up as f32);
            }
        }
    }

    #[test]
    fn half_precision_rounds_overflows_and_underflows() {
        let half = |value: f64| convert(DOUBLE, HALF, NEAREST, value.to_bits());
        assert_eq!(half(1.0), 0x3c00);
        assert_eq!(half(65504.0), 0x7bff);
        assert_eq!(half(65519.9), 0x7bff);
        assert_eq!(half(65520.0), 0x7c00);
        assert_eq!(half(2.0_f64.powi(-24)), 0x0001);
        assert_eq!(half(2.0_f64.powi(-25)), 0x0000);
        assert_eq!(half(-0.0), 0x8000);
        assert_eq!(convert(HALF, SINGLE, NEAREST, 0x3555), u64::from(0.333_251_95_f32.to_bits()));
    }

    #[test]
    fn the_sign_of_an_exact_zero_depends_on_the_direction() {
        let one = 1.0_f64.to_bits();
        assert_eq!(sub(DOUBLE, Rounding::Nearest, one, one), 0);
        assert_eq!(sub(DOUBLE, Rounding::Down, one, one), (-0.0_f64).to_bits());
    }
}

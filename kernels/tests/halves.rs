//! `f16` and `bf16`, alone and in pairs, against arithmetic on exact numbers: every result is the value of the format that is
//! nearest to the exact one, of two equally near the one whose last bit is 0 (IEEE 754, §4.3; PTX ISA, §9.7.4, §9.7.9).

use proptest::prelude::*;

use crate::cuda::{Argument, run, words};
use crate::semantics::{lanes, one};

/// Exact numbers are integers in units of 2^-60.
const UNIT: i32 = 60;

/// A 16-bit format: the name of one and of two in PTX, and the bits of the fraction.
#[derive(Clone, Copy, Debug)]
struct Format {
    name: &'static str,
    fraction: u32,
}

const F16: Format = Format { name: "f16", fraction: 10 };
const BF16: Format = Format { name: "bf16", fraction: 7 };

impl Format {
    fn bias(self) -> i32 {
        (1 << (14 - self.fraction)) - 1
    }

    fn infinity(self) -> u16 {
        0x7fff >> self.fraction << self.fraction
    }

    /// Significand and exponent of a positive finite value.
    fn parts(self, bits: u16) -> (i128, i32) {
        let (exponent, fraction) = (bits >> self.fraction, bits & ((1 << self.fraction) - 1));
        let significand = i128::from(fraction) + if exponent == 0 { 0 } else { 1 << self.fraction };
        (significand, i32::from(exponent.max(1)) - self.bias() - self.fraction as i32)
    }

    /// A finite value in units of 2^-60, if it is a whole number of them that is not too large.
    fn exact(self, bits: u16) -> Option<i128> {
        // Infinity stands where the next value would be.
        let (significand, exponent) = self.parts(bits & 0x7fff);
        let shift = exponent + UNIT;
        let magnitude = match shift {
            _any if significand == 0 => 0,
            0..=110 => significand << shift,
            -20..0 if significand.trailing_zeros() as i32 >= -shift => significand >> -shift,
            _other => return None,
        };
        Some(if bits >> 15 == 1 { -magnitude } else { magnitude })
    }

    /// All magnitudes that are whole numbers of units, in increasing order, infinity where the next would be.
    fn table(self) -> Vec<(i128, u16)> {
        (0..=self.infinity()).filter_map(|bits| Some((self.exact(bits)?, bits))).collect()
    }
}

/// How the exact number is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

/// The value of the table nearest to an exact number in that direction; `negative_zero` if it is 0 and negative.
fn rounded(table: &[(i128, u16)], exact: i128, negative_zero: bool, rounding: Rounding) -> u16 {
    let sign = if exact < 0 || exact == 0 && negative_zero { 0x8000 } else { 0 };
    let magnitude = exact.abs();
    let above = table.partition_point(|&(value, _)| value < magnitude);
    if above == table.len() {
        return sign
            | if matches!(rounding, Rounding::Nearest) { table[above - 1].1 } else { unreachable!() };
    }
    let (high, high_bits) = table[above];
    if high == magnitude {
        return sign | high_bits;
    }
    let (low, low_bits) = table[above - 1];
    let up = match rounding {
        Rounding::Nearest => {
            let (below, beyond) = (magnitude - low, high - magnitude);
            beyond < below || beyond == below && high_bits % 2 == 0
        }
        Rounding::Zero => false,
        Rounding::Down => exact < 0,
        Rounding::Up => exact > 0,
    };
    sign | if up { high_bits } else { low_bits }
}

/// Bits of values whose sums and products are exact in units: all finite ones of `f16`, of `bf16` those from 2^-20 to 2^20.
fn finite(format: Format) -> impl Strategy<Value = u16> {
    let (exponents, fraction) = match format.fraction {
        10 => (0..31_u16, 10),
        _seven => (107..147_u16, 7),
    };
    let near = prop::sample::select(vec![0_u16, 1, 2, 3, u16::MAX]);
    let fractions = prop_oneof![any::<u16>(), near];
    (exponents, fractions, any::<bool>()).prop_map(move |(exponent, bits, negative)| {
        u16::from(negative) << 15 | exponent << fraction | bits & ((1 << fraction) - 1)
    })
}

type Pairs = Vec<[[u16; 2]; 3]>;

fn pairs(format: Format) -> impl Strategy<Value = Pairs> {
    let value = || prop::array::uniform2(finite(format));
    prop::collection::vec([value(), value(), value()], 32)
}

fn packed([low, high]: [u16; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 16
}

fn unpacked(value: u64) -> [u16; 2] {
    [value as u16, (value >> 16) as u16]
}

/// What an instruction computes of finite values: exactly, and whether a result of 0 is negative.
type Exact = fn([i128; 3], [bool; 3]) -> (i128, bool);

fn sum(a: i128, b: i128, negative: [bool; 2]) -> (i128, bool) {
    (a + b, a == 0 && b == 0 && negative[0] && negative[1])
}

/// The product of two numbers in units, whose lowest bits are 0.
fn product(a: i128, b: i128) -> i128 {
    let (zeros_a, zeros_b) = (a.trailing_zeros().min(60), b.trailing_zeros().min(60));
    if a == 0 || b == 0 {
        return 0;
    }
    let (odd, zeros) = ((a >> zeros_a) * (b >> zeros_b), (zeros_a + zeros_b) as i32 - UNIT);
    assert!(zeros >= 0 && odd.abs().leading_zeros() as i32 > zeros + 2, "not exact: {a} {b}");
    odd << zeros
}

const ARITHMETIC: [(&str, usize, Exact); 4] = [
    ("add", 2, |[a, b, _], [na, nb, _]| sum(a, b, [na, nb])),
    ("sub", 2, |[a, b, _], [na, nb, _]| sum(a, -b, [na, !nb])),
    ("mul", 2, |[a, b, _], [na, nb, _]| (product(a, b), na != nb)),
    ("fma.rn", 3, |[a, b, c], [na, nb, nc]| sum(product(a, b), c, [na != nb, nc])),
];

fn check_arithmetic(format: Format, inputs: &Pairs) -> Result<(), TestCaseError> {
    let table = format.table();
    let rows: Vec<[u64; 3]> = inputs.iter().map(|row| row.map(packed)).collect();
    let name = format.name;
    for (opcode, sources, of) in ARITHMETIC {
        let operands = ["%a32", "%b32", "%c32"][..sources].join(", ");
        let expected = |at: usize, half: usize| {
            let bits = inputs[at].map(|pair| pair[half]);
            let exact = bits.map(|bits| format.exact(bits).unwrap());
            let (exact, negative_zero) = of(exact, bits.map(|bits| bits >> 15 == 1));
            rounded(&table, exact, negative_zero, Rounding::Nearest)
        };
        let in_pairs = lanes(&format!("{opcode}.{name}x2 %out32, {operands};"), "out32", &rows);
        let alone = lanes(
            &format!(
                "{{ .reg .b16 %x0, %x1, %y0, %y1, %z0, %z1; mov.b32 {{%x0, %x1}}, %a32; mov.b32 {{%y0, %y1}}, %b32; \
                 mov.b32 {{%z0, %z1}}, %c32; {opcode}.{name} %x0, {}; {opcode}.{name} %x1, {}; \
                 mov.b32 %out32, {{%x0, %x1}}; }}",
                ["%x0", "%y0", "%z0"][..sources].join(", "),
                ["%x1", "%y1", "%z1"][..sources].join(", ")
            ),
            "out32",
            &rows,
        );
        for at in 0..inputs.len() {
            let expected = [0, 1].map(|half| expected(at, half));
            for (found, form) in [(in_pairs[at], "x2"), (alone[at], "")] {
                prop_assert_eq!(
                    unpacked(found),
                    expected,
                    "{}.{}{} of {:x?}: {:x?} {:x?}",
                    opcode,
                    name,
                    form,
                    inputs[at],
                    unpacked(found),
                    expected
                );
            }
        }
    }
    Ok(())
}

/// A number of at most 53 bits that is a whole number of units, and exact in double precision.
fn exact_number() -> impl Strategy<Value = i128> {
    (any::<i64>(), 11..60_u32, 0..68_u32)
        .prop_map(|(bits, right, left)| i128::from(bits >> right) << left.min(76 + right - 64))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sums_products_and_fused_products_of_half_precision_are_rounded_once(inputs in pairs(F16)) {
        check_arithmetic(F16, &inputs)?;
    }

    #[test]
    fn sums_products_and_fused_products_of_bf16_are_rounded_once(inputs in pairs(BF16)) {
        check_arithmetic(BF16, &inputs)?;
    }

    #[test]
    fn numbers_become_halves_in_every_direction(numbers in prop::collection::vec(exact_number(), 32)) {
        let doubles: Vec<f64> = numbers.iter().map(|&number| number as f64 * 2_f64.powi(-UNIT)).collect();
        let rows: Vec<[u64; 3]> = doubles.iter().map(|double| [double.to_bits(), 0, 0]).collect();
        for format in [F16, BF16] {
            let table = format.table();
            for (modifier, rounding) in [
                ("rn", Rounding::Nearest), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up),
            ] {
                let body = format!("cvt.{modifier}.{}.f64 %h, %da; cvt.u32.u16 %out32, %h;", format.name);
                for (found, &number) in lanes(&body, "out32", &rows).into_iter().zip(&numbers) {
                    if number.abs() >= table[table.len() - 1].0 {
                        continue;
                    }
                    let expected = rounded(&table, number, false, rounding);
                    // A number that rounds to infinity towards zero stays the largest.
                    prop_assert_eq!(found as u16, expected, "{} of {}", &body, number);
                }
            }
            let body = format!("cvt.rn.f32.f64 %fa, %da; cvt.rz.{0}.f32 %h, %fa; cvt.rn.{0}x2.f32 %out32, %fa, 0f3F800000; \
                                cvt.rz.{0}x2.f32 %t32, 0f3F800000, %fa; shr.u32 %out32, %out32, 16; \
                                cvt.u32.u16 %a32, %h; and.b32 %t32, %t32, 0xffff; xor.b32 %t32, %t32, %a32; \
                                shl.b32 %t32, %t32, 16; or.b32 %out32, %out32, %t32;", format.name);
            for (found, &double) in lanes(&body, "out32", &rows).into_iter().zip(&doubles) {
                let single = double as f32;
                let number = (f64::from(single) * 2_f64.powi(UNIT)) as i128;
                if number.abs() < table[table.len() - 1].0 && number as f64 == f64::from(single) * 2_f64.powi(UNIT) {
                    let expected = rounded(&table, number, single.is_sign_negative(), Rounding::Nearest);
                    prop_assert_eq!(found, u64::from(expected), "{} of {}", &body, single);
                }
            }
        }
    }

    #[test]
    fn halves_become_other_numbers_exactly_and_integers_rounded(inputs in pairs(F16), others in pairs(BF16)) {
        for (format, inputs) in [(F16, &inputs), (BF16, &others)] {
            let rows: Vec<[u64; 3]> = inputs.iter().map(|row| row.map(packed)).collect();
            let name = format.name;
            let value = |row: &[[u16; 2]; 3]| {
                format.exact(row[0][0]).unwrap() as f64 * 2_f64.powi(-UNIT)
                    * if row[0][0] == 0x8000 { -1.0 } else { 1.0 }
            };
            let convert = |to: &str, out: &str, result: &str| {
                lanes(&format!("mov.b32 {{%h, %g}}, %a32; cvt{to}.{name} {out}, %h;"), result, &rows)
            };
            for (found, row) in convert(".f32", "%fout", "fout").into_iter().zip(inputs) {
                prop_assert_eq!(f32::from_bits(found as u32), value(row) as f32);
            }
            for (found, row) in convert(".f64", "%dout", "dout").into_iter().zip(inputs) {
                prop_assert_eq!(f64::from_bits(found), value(row));
            }
            for (found, row) in convert(".rni.s32", "%out32", "out32").into_iter().zip(inputs) {
                prop_assert_eq!(found as i32, value(row).round_ties_even() as i32);
            }
            for (found, row) in convert(".rmi.u64", "%out", "out").into_iter().zip(inputs) {
                prop_assert_eq!(found, value(row).floor() as u64);
            }
        }
    }

    #[test]
    fn integers_become_halves_rounded_once(numbers in prop::collection::vec(any::<i32>(), 32), by in 0..32_u32) {
        let numbers: Vec<i32> = numbers.into_iter().map(|number| number >> by).collect();
        let rows: Vec<[u64; 3]> = numbers.iter().map(|&number| [number as u64, 0, 0]).collect();
        for format in [F16, BF16] {
            let table = format.table();
            let body = format!("cvt.rn.{}.s32 %h, %a32; cvt.u32.u16 %out32, %h;", format.name);
            for (found, &number) in lanes(&body, "out32", &rows).into_iter().zip(&numbers) {
                let expected = rounded(&table, i128::from(number) << UNIT, false, Rounding::Nearest);
                prop_assert_eq!(found as u16, expected, "{} of {}", &body, number);
            }
        }
    }

    #[test]
    fn halves_are_compared_as_the_numbers_they_are(inputs in pairs(F16), others in pairs(BF16)) {
        for (format, inputs) in [(F16, &inputs), (BF16, &others)] {
            let rows: Vec<[u64; 3]> = inputs.iter().map(|row| row.map(packed)).collect();
            let name = format.name;
            let body = format!(
                "setp.lt.{name}x2 %p|%q, %a32, %b32; selp.u32 %t32, 1, 0, %p; selp.u32 %out32, 2, 0, %q; \
                 or.b32 %out32, %out32, %t32; set.ge.u32.{name}x2 %t32, %a32, %b32; and.b32 %t32, %t32, 0x40004; \
                 or.b32 %out32, %out32, %t32; set.gt.{name}x2.{name}x2 %t32, %a32, %b32; setp.ne.u32 %p, %t32, 0; \
                 @%p or.b32 %out32, %out32, 8; min.{name}x2 %t32, %a32, %b32; shl.b32 %t32, %t32, 24; \
                 or.b32 %out32, %out32, %t32;"
            );
            for (found, row) in lanes(&body, "out32", &rows).into_iter().zip(inputs) {
                let less = [0, 1].map(|half| format.exact(row[0][half]) < format.exact(row[1][half]));
                let greater = [0, 1].map(|half| format.exact(row[0][half]) > format.exact(row[1][half]));
                // Of two zeros the negative one is smaller.
                let least = if less[0] || format.exact(row[0][0]) == format.exact(row[1][0]) && row[0][0] >> 15 == 1 {
                    row[0][0]
                } else {
                    row[1][0]
                };
                let expected = u64::from(less[0]) | u64::from(less[1]) << 1 | u64::from(!less[0]) << 2
                    | u64::from(!less[1]) << 18 | u64::from(greater[0] || greater[1]) << 3
                    | u64::from(least & 0xff) << 24;
                prop_assert_eq!(found, expected, "{} of {:x?}", &body, row);
            }
        }
    }
}

/// A body on packed values, what it is given, and what comes out.
type Case = (&'static str, [u64; 3], u64);

/// Infinity is 7c00 and NaN 7fff in half precision; 1 is 3c00, 65504, the largest, 7bff. In `bf16` 7f80, 7fff, 3f80, 7f7f.
const SPECIAL: &[Case] = &[
    ("add.f16x2 %out32, %a32, %b32;", [0x7bff_7c00, 0x7bff_fc00, 0], 0x7c00_7fff),
    ("add.sat.f16x2 %out32, %a32, %b32;", [0xbc00_3c00, 0x3800_3c00, 0], 0x0000_3c00),
    ("add.ftz.f16x2 %out32, %a32, %b32;", [0x0001_8001, 0x3c00_8000, 0], 0x3c00_8000),
    ("mul.f16x2 %out32, %a32, %b32;", [0x7c00_0001, 0x0000_3800, 0], 0x7fff_0000),
    ("mul.ftz.f16x2 %out32, %a32, %b32;", [0x0400_0400, 0x3800_3c00, 0], 0x0000_0400),
    ("fma.rn.relu.f16x2 %out32, %a32, %b32, %c32;", [0xbc00_3c00, 0x3c00_3c00, 0x0000_7e00], 0x0000_7fff),
    ("fma.rn.sat.f16x2 %out32, %a32, %b32, %c32;", [0x4000_bc00, 0x4000_3c00, 0], 0x3c00_0000),
    ("fma.rn.bf16x2 %out32, %a32, %b32, %c32;", [0x7f7f_3f80, 0x4000_7f80, 0x0000_ff80], 0x7f80_7fff),
    ("fma.rn.relu.bf16x2 %out32, %a32, %b32, %c32;", [0xbf80_bf80, 0x3f80_3f80, 0x3f80_4000], 0x0000_3f80),
    ("neg.f16x2 %out32, %a32;", [0x3c00_8000, 0, 0], 0xbc00_0000),
    ("abs.bf16x2 %out32, %a32;", [0xbf80_8000, 0, 0], 0x3f80_0000),
    ("max.f16x2 %out32, %a32, %b32;", [0x7fff_8000, 0x3c00_0000, 0], 0x3c00_0000),
    ("max.NaN.f16x2 %out32, %a32, %b32;", [0x7e01_3c00, 0x3c00_4000, 0], 0x7fff_4000),
    ("min.NaN.bf16x2 %out32, %a32, %b32;", [0x3f80_4000, 0x7fc0_3f80, 0], 0x7fff_3f80),
    ("setp.nan.f16x2 %p|%pout, %a32, %b32; selp.u32 %out32, 1, 0, %pout;", [0x7e00_3c00, 0, 0], 1),
    ("set.eq.f16x2.f16x2 %out32, %a32, %b32;", [0x3c00_8000, 0x3c01_0000, 0], 0x0000_3c00),
    ("set.ne.u32.bf16x2 %out32, %a32, %b32;", [0x3f80_8000, 0x3f81_0000, 0], 0xffff_0000),
    ("ex2.approx.f16x2 %out32, %a32;", [0x4200_bc00, 0, 0], 0x4800_3800),
    ("ex2.approx.ftz.bf16x2 %out32, %a32;", [0x4040_bf80, 0, 0], 0x4100_3f00),
    ("tanh.approx.f16x2 %out32, %a32;", [0x7c00_8000, 0, 0], 0x3c00_8000),
    ("tanh.approx.bf16x2 %out32, %a32;", [0xff80_7fff, 0, 0], 0xbf80_7fff),
    // 1e30, −1, NaN, −infinity in single precision.
    ("cvt.rn.f16x2.f32 %out32, %fa, %fb;", [0x7149_f2ca, 0xbf80_0000, 0], 0x7c00_bc00),
    ("cvt.rn.satfinite.f16x2.f32 %out32, %fa, %fb;", [0x7149_f2ca, 0xff80_0000, 0], 0x7bff_fbff),
    ("cvt.rz.relu.bf16x2.f32 %out32, %fa, %fb;", [0x7fc0_0001, 0xbf80_0000, 0], 0x7fff_0000),
    ("cvt.rn.relu.satfinite.f16.f32 %h, %fa; cvt.u32.u16 %out32, %h;", [0x7149_f2ca, 0, 0], 0x7bff),
    ("cvt.rz.f16.f32 %h, %fa; cvt.u32.u16 %out32, %h;", [0x7149_f2ca, 0, 0], 0x7bff),
    ("mov.b32 {%h, %g}, %a32; cvt.sat.f16.f16 %h, %h; cvt.u32.u16 %out32, %h;", [0x4000, 0, 0], 0x3c00),
    ("mov.b32 {%h, %g}, %a32; cvt.rn.bf16.f16 %h, %h; cvt.u32.u16 %out32, %h;", [0x3c01, 0, 0], 0x3f80),
    ("mov.b32 {%h, %g}, %a32; cvt.rpi.f16.f16 %h, %h; cvt.u32.u16 %out32, %h;", [0x3c01, 0, 0], 0x4000),
];

#[test]
fn infinities_nan_and_modifiers_are_as_the_isa_has_them() {
    for &(body, inputs, expected) in SPECIAL {
        let found = one(body, "out32", inputs);
        assert_eq!(found, expected, "{body} of {inputs:x?}: {found:x}, not {expected:x}");
    }
}

const PROGRAM: &str = include_str!("ptx/halves.ptx");

/// 64 values of half precision between −4 and 4, all different.
fn values(seed: u32) -> Vec<u16> {
    let magnitude = |n: u32| (n * 37 + seed * 11) % 64 * 141 % 0x4400;
    let sign = |n: u32| ((n + seed) % 2) << 15;
    (0..64_u32).map(|n| (magnitude(n) | sign(n)) as u16).collect()
}

fn fused(a: u16, b: u16, c: u16) -> u16 {
    let [x, y, z] = [a, b, c].map(|bits| F16.exact(bits).unwrap());
    let (exact, negative_zero) = sum(product(x, y), z, [(a ^ b) >> 15 == 1, c >> 15 == 1]);
    rounded(&F16.table(), exact, negative_zero, Rounding::Nearest)
}

#[test]
fn a_cuda_program_scales_and_adds_halves() {
    let (a, b, scale) = (values(1), values(2), 0x3e01_u16);
    let buffers = [&a, &b, &vec![0; 64]]
        .map(|values| Argument::Buffer(values.iter().flat_map(|value| value.to_le_bytes()).collect()));
    let arguments: Vec<Argument> =
        buffers.into_iter().chain([Argument::Value(scale.to_le_bytes().to_vec())]).collect();
    let found = run(PROGRAM, "saxpy", 64, &arguments);
    for (at, found) in found[2].chunks_exact(2).enumerate() {
        assert_eq!(u16::from_le_bytes([found[0], found[1]]), fused(a[at], scale, b[at]), "element {at}");
    }
}

#[test]
fn a_cuda_program_sums_products_of_pairs() {
    const TERMS: usize = 8;
    let pairs = |seed| {
        let values = values(seed);
        (0..32 * TERMS)
            .map(|n| u32::from(values[n % 64]) | u32::from(values[(n * 5 + 3) % 64]) << 16)
            .collect()
    };
    let (a, b): (Vec<u32>, Vec<u32>) = (pairs(3), pairs(4));
    let zeros = vec![0; 32];
    let mut arguments = [&a, &b, &zeros, &zeros].map(|values| Argument::words(values)).to_vec();
    arguments.push(Argument::Value((TERMS as u32).to_le_bytes().to_vec()));
    let found = run(PROGRAM, "dot", 32, &arguments);
    let number = |bits: u32| {
        let bits = bits as u16;
        F16.exact(bits).unwrap() as f32 * 2_f32.powi(-UNIT)
    };
    for thread in 0..32 {
        let (mut pair, mut total) = ([0_u16; 2], 0.0_f32);
        for (&a, &b) in a[thread * TERMS..][..TERMS].iter().zip(&b[thread * TERMS..]) {
            pair = [0, 16]
                .map(|shift| fused((a >> shift) as u16, (b >> shift) as u16, pair[shift as usize / 16]));
            total = number(a).mul_add(number(a >> 16), total);
        }
        assert_eq!(u64::from(words(&found[2])[thread]), packed(pair), "thread {thread}");
        assert_eq!(f32::from_bits(words(&found[3])[thread]), total, "thread {thread}");
    }
}

#[test]
fn a_cuda_program_rounds_and_rectifies_bf16() {
    let singles = |factor: f32| -> Vec<u32> {
        (0..32_u16).map(|n| ((f32::from(n) - 15.5) * factor).to_bits()).collect()
    };
    let (a, b) = (singles(0.37), singles(-1.003));
    let zeros = vec![0; 32];
    let found = run(PROGRAM, "brain", 32, &[&a, &b, &zeros, &zeros].map(|values| Argument::words(values)));
    // To nearest, ties to even: add half of the last bit, less one if that is 0.
    let brain = |bits: u32| (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    for thread in 0..32 {
        let expected = brain(a[thread]) << 16 | brain(b[thread]);
        let positive = |half: u32| if half >> 15 == 1 { 0 } else { half };
        let rectified = positive(expected >> 16) << 16 | positive(expected & 0xffff);
        assert_eq!(
            (words(&found[2])[thread], words(&found[3])[thread]),
            (expected, rectified),
            "thread {thread}"
        );
    }
}

//! Loops of the pattern matcher and of the pattern expander: 32 lanes.

use super::noise::{Circuit, field, signature};
use crate::bench::Activity;

const LANES: usize = 32;
const HALF: usize = LANES / 2;

/// Patterns by number: stride, and whether the upper half starts anew. 6 and 7 are none.
const UNCOMPRESSED: u64 = 0;
const STRIDES: [u32; 8] = [0, 0, 1, 4, 1, 4, 0, 0];
const FIRST_HALF_WARP: u64 = 4;

struct Matcher;

struct Expander;

/// How active ports are makes no difference: no input says that another one is used.
pub(super) fn run_matcher(_: Activity, cycles: u64) -> u64 {
    signature(Matcher, cycles)
}

pub(super) fn run_expander(_: Activity, cycles: u64) -> u64 {
    signature(Expander, cycles)
}

/// The pattern of a value, and its short form.
#[inline(always)]
pub(super) fn matched(value: &[u32; LANES]) -> (u64, u64) {
    let stride = value[1].wrapping_sub(value[0]);
    let whole = match stride {
        0 => 1,
        1 => 2,
        4 => 3,
        _ => return (UNCOMPRESSED, 0),
    };
    // Both halves at once, in vectors.
    let mut out_of_step = 0;
    for lane in 0..HALF - 1 {
        out_of_step |= value[lane + 1].wrapping_sub(value[lane]) ^ stride;
        out_of_step |= value[HALF + lane + 1].wrapping_sub(value[HALF + lane]) ^ stride;
    }
    if out_of_step != 0 {
        return (UNCOMPRESSED, 0);
    }
    let (lower, upper) = (u64::from(value[0]), u64::from(value[HALF]));
    if value[HALF].wrapping_sub(value[HALF - 1]) == stride {
        (whole, lower)
    } else if stride == 0 {
        (UNCOMPRESSED, 0)
    } else {
        (whole + 2, lower | upper << 32)
    }
}

/// What the signature makes of the value that a pattern and a short form stand for.
#[inline(always)]
pub(super) fn sum_of_expanded(pattern: u64, bases: u64) -> u64 {
    let stride = STRIDES[(pattern % 8) as usize];
    let (first, again) = (bases as u32, (bases >> 32) as u32);
    let starts_anew = pattern / 2 == FIRST_HALF_WARP / 2;
    let upper = if starts_anew { again } else { first.wrapping_add(stride * HALF as u32) };
    let (mut even, mut odd) = (0, 0);
    for lane in (0..HALF as u32).step_by(2) {
        for base in [first, upper] {
            even += u64::from(base.wrapping_add(stride * lane));
            odd += u64::from(base.wrapping_add(stride * (lane + 1)));
        }
    }
    even.wrapping_add(odd << 32)
}

impl Circuit<1> for Matcher {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        let (even, odd) = ((noise & 3) as u32, (noise >> 32 & 3) as u32);
        let value = std::array::from_fn(|lane| if lane % 2 == 0 { even } else { odd });
        let (pattern, bases) = matched(&value);
        pattern ^ bases
    }
}

impl Circuit<1> for Expander {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        sum_of_expanded(field(noise, 0, 3) as u64, noise)
    }
}

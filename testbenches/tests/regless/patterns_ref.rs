//! Reference: the patterns as §5.3 lists them, a lane at a time. Written from the paper, not from the circuit.

use num_bigint::BigUint;
use warpfile_hdl::regless::Pattern;

/// The lane's value if the pattern's first values are `bases`.
fn expanded(pattern: Pattern, bases: [u32; 2], lane: usize, lanes: usize) -> u32 {
    let half = lanes / 2;
    let (base, steps) = match pattern {
        Pattern::Uncompressed => unreachable!("an uncompressed value has no short form"),
        Pattern::Constant | Pattern::Stride1 | Pattern::Stride4 => (bases[0], lane),
        Pattern::HalfStride1 | Pattern::HalfStride4 => (bases[lane / half], lane % half),
    };
    let stride = match pattern {
        Pattern::Uncompressed | Pattern::Constant => 0,
        Pattern::Stride1 | Pattern::HalfStride1 => 1,
        Pattern::Stride4 | Pattern::HalfStride4 => 4,
    };
    base.wrapping_add(stride * steps as u32)
}

/// The value whose first lanes, of both halves, are `bases`.
pub fn value(pattern: Pattern, bases: [u32; 2], lanes: usize) -> Vec<u32> {
    (0..lanes).map(|lane| expanded(pattern, bases, lane, lanes)).collect()
}

/// The first pattern of the paper's list that gives the whole value back, and the first lanes it needs.
pub fn matched(value: &[u32]) -> (Pattern, [u32; 2]) {
    let lanes = value.len();
    let bases = [value[0], value[lanes / 2]];
    let gives_it_back = |&pattern: &Pattern| self::value(pattern, bases, lanes) == value;
    match Pattern::COMPRESSED.into_iter().find(gives_it_back) {
        Some(pattern @ (Pattern::HalfStride1 | Pattern::HalfStride4)) => (pattern, bases),
        Some(pattern) => (pattern, [bases[0], 0]),
        None => (Pattern::Uncompressed, [0, 0]),
    }
}

/// As a signal carries it.
pub fn joined(lanes: &[u32]) -> BigUint {
    BigUint::from_slice(lanes)
}

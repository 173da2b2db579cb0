//! Operations on values of any width, kept in 64-bit words, lowest first.
//!
//! Bits above a value's width are 0, on the way in and on the way out. Results have the words their width
//! takes; widths are in bits.

use warpfile_hdl::rtl::bits::words_for;

/// The lowest `width` bits (1 to 64).
#[inline]
pub fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// Clears what lies above `width` bits in the last word.
#[inline]
fn trim(result: &mut [u64], width: u32) {
    if !width.is_multiple_of(64)
        && let Some(last) = result.last_mut()
    {
        *last &= mask(width % 64);
    }
}

/// Bits `low .. low + width` (up to 64) as a number.
#[inline]
pub fn bits(value: &[u64], low: u32, width: u32) -> u64 {
    let (word, shift) = (low as usize / 64, low % 64);
    let mut found = value[word] >> shift;
    if shift + width > 64 {
        found |= value[word + 1] << (64 - shift);
    }
    found & mask(width)
}

/// Ors `bits` (up to 64) into place at `low`.
#[inline]
fn place(result: &mut [u64], low: u32, width: u32, bits: u64) {
    let (word, shift) = (low as usize / 64, low % 64);
    result[word] |= bits << shift;
    if shift + width > 64 {
        result[word + 1] |= bits >> (64 - shift);
    }
}

/// Value `index` of an array that begins at word `base`, of `bytes` bytes a value (1, 2, 4 or 8).
#[inline]
pub fn element(words: &[u64], base: u32, index: u32, bytes: u32) -> u64 {
    let distance = index * bytes;
    words[(base + distance / 8) as usize] >> (8 * (distance % 8)) & mask(8 * bytes)
}

/// Sets value `index` of an array; see [`element`].
#[inline]
pub fn set_element(words: &mut [u64], base: u32, index: u32, bytes: u32, value: u64) {
    let distance = index * bytes;
    let shift = 8 * (distance % 8);
    let word = &mut words[(base + distance / 8) as usize];
    *word = *word & !(mask(8 * bytes) << shift) | value << shift;
}

/// Pieces of up to 64 bits that make up `width` bits: (offset, width).
#[inline]
fn pieces(width: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..width).step_by(64).map(move |offset| (offset, (width - offset).min(64)))
}

/// Bitwise complement.
pub fn not(result: &mut [u64], a: &[u64], width: u32) {
    for (r, a) in result.iter_mut().zip(a) {
        *r = !a;
    }
    trim(result, width);
}

/// Applies a bitwise operation word by word.
#[inline]
pub fn bitwise(result: &mut [u64], a: &[u64], b: &[u64], op: impl Fn(u64, u64) -> u64) {
    for ((r, a), b) in result.iter_mut().zip(a).zip(b) {
        *r = op(*a, *b);
    }
}

/// Sum modulo `2^width`.
pub fn add(result: &mut [u64], a: &[u64], b: &[u64], width: u32) {
    let mut carry = false;
    for ((r, a), b) in result.iter_mut().zip(a).zip(b) {
        (*r, carry) = a.carrying_add(*b, carry);
    }
    trim(result, width);
}

/// Adds in place, modulo `2^width`.
pub fn accumulate(target: &mut [u64], amount: &[u64], width: u32) {
    let mut carry = false;
    for (t, amount) in target.iter_mut().zip(amount) {
        (*t, carry) = t.carrying_add(*amount, carry);
    }
    trim(target, width);
}

/// Difference modulo `2^width`.
pub fn sub(result: &mut [u64], a: &[u64], b: &[u64], width: u32) {
    let mut borrow = false;
    for ((r, a), b) in result.iter_mut().zip(a).zip(b) {
        (*r, borrow) = a.borrowing_sub(*b, borrow);
    }
    trim(result, width);
}

/// Product modulo `2^width`.
pub fn mul(result: &mut [u64], a: &[u64], b: &[u64], width: u32) {
    result.fill(0);
    for (i, &a) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (r, &b) in result[i..].iter_mut().zip(b) {
            let sum = u128::from(*r) + u128::from(a) * u128::from(b) + carry;
            *r = sum as u64;
            carry = sum >> 64;
        }
    }
    trim(result, width);
}

/// Unsigned `a < b`; operands of equal length.
pub fn less(a: &[u64], b: &[u64]) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

/// A value as a bit position, if it is below `limit`.
#[inline]
pub fn position(value: &[u64], limit: u32) -> Option<u32> {
    let (low, high) = value.split_first()?;
    (*low < u64::from(limit) && high.iter().all(|&word| word == 0)).then_some(*low as u32)
}

/// `a` shifted left by `amount`; 0 if that is the width or more.
pub fn shift_left(result: &mut [u64], a: &[u64], amount: &[u64], width: u32) {
    result.fill(0);
    let Some(amount) = position(amount, width) else { return };
    let (words, shift) = (amount as usize / 64, amount % 64);
    for i in words..result.len() {
        result[i] = a[i - words] << shift;
        if shift > 0 && i > words {
            result[i] |= a[i - words - 1] >> (64 - shift);
        }
    }
    trim(result, width);
}

/// `a` shifted right by `amount`; 0 if that is the width or more.
pub fn shift_right(result: &mut [u64], a: &[u64], amount: &[u64], width: u32) {
    result.fill(0);
    let Some(amount) = position(amount, width) else { return };
    extract(result, a, amount, width - amount);
}

/// Bits `low .. low + width` of `a`; words of the result above them become 0.
pub fn extract(result: &mut [u64], a: &[u64], low: u32, width: u32) {
    result[words_for(width)..].fill(0);
    for (r, (offset, width)) in result.iter_mut().zip(pieces(width)) {
        *r = bits(a, low + offset, width);
    }
}

/// Ors `a` of `width` bits into place at `low`.
pub fn insert(result: &mut [u64], a: &[u64], low: u32, width: u32) {
    for (&a, (offset, width)) in a.iter().zip(pieces(width)) {
        place(result, low + offset, width, a);
    }
}

/// Whether all `width` bits are 1.
pub fn all_ones(a: &[u64], width: u32) -> bool {
    a.iter().zip(pieces(width)).all(|(&word, (_, width))| word == mask(width))
}

/// Exclusive or of all bits.
#[inline]
pub fn parity(words: impl Iterator<Item = u64>) -> u64 {
    u64::from(words.fold(0, |all, word| all ^ word).count_ones() & 1)
}

/// Number of 1 bits.
pub fn population(a: &[u64]) -> u64 {
    a.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Index of the lowest 1 bit.
#[inline]
pub fn first_one(a: &[u64]) -> Option<u64> {
    let word = a.iter().position(|&word| word != 0)?;
    Some(word as u64 * 64 + u64::from(a[word].trailing_zeros()))
}

/// Only the lowest 1 bit.
pub fn lowest_one(result: &mut [u64], a: &[u64]) {
    result.fill(0);
    if let Some(word) = a.iter().position(|&word| word != 0) {
        result[word] = a[word] & a[word].wrapping_neg();
    }
}

/// Bit `index` set, if it is below `width`.
pub fn decode(result: &mut [u64], index: &[u64], width: u32) {
    result.fill(0);
    if let Some(index) = position(index, width) {
        result[index as usize / 64] = 1 << (index % 64);
    }
}

/// Lane `index` of `vector`, which has `lanes` lanes of `lane` bits; 0 beyond the last.
pub fn lane_select(result: &mut [u64], vector: &[u64], index: &[u64], lanes: u32, lane: u32) {
    match position(index, lanes) {
        Some(index) => extract(result, vector, index * lane, lane),
        None => result.fill(0),
    }
}

/// Or of the lanes of `vector` whose bit in `select` is 1.
pub fn one_hot_select(result: &mut [u64], select: &[u64], vector: &[u64], lane: u32) {
    result.fill(0);
    for (word, &select) in select.iter().enumerate() {
        let mut left = select;
        while left != 0 {
            let low = (word as u32 * 64 + left.trailing_zeros()) * lane;
            left &= left - 1;
            for (r, (offset, width)) in result.iter_mut().zip(pieces(lane)) {
                *r |= bits(vector, low + offset, width);
            }
        }
    }
}

/// Each of the lowest `64 / lane` bits widened to `lane` equal bits; `lane` divides 64.
#[inline]
pub fn spread_word(bits: u64, lane: u32) -> u64 {
    match lane {
        1 => bits,
        32 => (bits & 1).wrapping_neg() & 0xffff_ffff | (bits >> 1 & 1).wrapping_neg() << 32,
        64 => (bits & 1).wrapping_neg(),
        _ => (0..64 / lane).fold(0, |word, i| word | (((bits >> i) & 1) * mask(lane)) << (i * lane)),
    }
}

/// Word `word` of a lane mask: which of its bits belong to lanes whose bit in `lanes` is 1. `lane` divides
/// 64 or is a multiple of 64.
#[inline]
fn mask_word(lanes: &[u64], lane: u32, word: usize) -> u64 {
    let first = if lane <= 64 { word * (64 / lane as usize) } else { word / (lane as usize / 64) };
    spread_word(lanes[first / 64] >> (first % 64), lane.min(64))
}

fn is_aligned(lane: u32) -> bool {
    64 % lane == 0 || lane.is_multiple_of(64)
}

/// Each of `lanes` bits of `a` widened to `lane` equal bits.
pub fn spread_lanes(result: &mut [u64], a: &[u64], lanes: u32, lane: u32) {
    if is_aligned(lane) {
        for (word, r) in result.iter_mut().enumerate() {
            *r = mask_word(a, lane, word);
        }
        trim(result, lanes * lane);
        return;
    }
    result.fill(0);
    for i in 0..lanes {
        if bits(a, i, 1) == 1 {
            for (offset, width) in pieces(lane) {
                place(result, i * lane + offset, width, mask(width));
            }
        }
    }
}

/// Overwrites the lanes of `target` whose bit in `lanes` is 1 with those of `source`.
pub fn blend(target: &mut [u64], source: &[u64], mask_bits: &[u64], lanes: u32, lane: u32) {
    if is_aligned(lane) {
        for (word, (t, s)) in target.iter_mut().zip(source).enumerate() {
            let take = mask_word(mask_bits, lane, word);
            *t = *t & !take | *s & take;
        }
        return;
    }
    for i in 0..lanes {
        if bits(mask_bits, i, 1) == 1 {
            replace(target, source, i * lane, lane);
        }
    }
}

/// Overwrites bits `low .. low + width` of `target` with those of `source`.
pub fn replace(target: &mut [u64], source: &[u64], low: u32, width: u32) {
    for (offset, width) in pieces(width) {
        let low = low + offset;
        let change = bits(target, low, width) ^ bits(source, low, width);
        flip(target, low, width, change);
    }
}

/// Inverts bits in place.
#[inline]
fn flip(target: &mut [u64], low: u32, width: u32, change: u64) {
    let (word, shift) = (low as usize / 64, low % 64);
    target[word] ^= change << shift;
    if shift + width > 64 {
        target[word + 1] ^= change >> (64 - shift);
    }
}

/// One bit a lane: whether the lanes are equal.
pub fn lane_eq(result: &mut [u64], a: &[u64], b: &[u64], lanes: u32, lane: u32) {
    result.fill(0);
    for i in 0..lanes {
        let equal = pieces(lane).all(|(offset, width)| {
            let low = i * lane + offset;
            bits(a, low, width) == bits(b, low, width)
        });
        place(result, i, 1, u64::from(equal));
    }
}

/// Lane by lane sum.
pub fn lane_add(result: &mut [u64], a: &[u64], b: &[u64], lanes: u32, lane: u32) {
    result.fill(0);
    for i in 0..lanes {
        let mut carry = false;
        for (offset, width) in pieces(lane) {
            let low = i * lane + offset;
            let (sum, carried) = bits(a, low, width).carrying_add(bits(b, low, width), carry);
            carry = carried;
            place(result, low, width, sum & mask(width));
        }
    }
}

/// `a` of `from` bits repeated until `width` bits are full.
pub fn replicate(result: &mut [u64], a: &[u64], from: u32, width: u32) {
    if from == 1 {
        result.fill((a[0] & 1).wrapping_neg());
        trim(result, width);
        return;
    }
    if width <= 64 {
        // Doubling: each step joins two copies of what is there.
        let (mut value, mut filled) = (a[0], from);
        while filled < width {
            value |= value << filled;
            filled *= 2;
        }
        result[0] = value;
        trim(result, width);
        return;
    }
    result.fill(0);
    for low in (0..width).step_by(from as usize) {
        let fits = from.min(width - low);
        for (offset, width) in pieces(fits) {
            place(result, low + offset, width, bits(a, offset, width));
        }
    }
}

/// One bit a group of `size` bits: their or.
pub fn group_or(result: &mut [u64], a: &[u64], groups: u32, size: u32) {
    result.fill(0);
    for group in 0..groups {
        let any = pieces(size).any(|(offset, width)| bits(a, group * size + offset, width) != 0);
        place(result, group, 1, u64::from(any));
    }
}

/// Bit `i` is the or of bits `0 ..= i`.
pub fn prefix_or(result: &mut [u64], a: &[u64], width: u32) {
    let mut seen = false;
    for (r, &word) in result.iter_mut().zip(a) {
        *r = if seen { u64::MAX } else { (word & word.wrapping_neg()).wrapping_neg() };
        seen |= word != 0;
    }
    trim(result, width);
}

/// Lane `i` is the number of 1 bits of `a` below bit `i`, modulo its `lane` bits.
pub fn prefix_count(result: &mut [u64], a: &[u64], lanes: u32, lane: u32) {
    result.fill(0);
    let mut count = 0;
    for i in 0..lanes {
        let width = lane.min(64);
        place(result, i * lane, width, count & mask(width));
        count += bits(a, i, 1);
    }
}

/// Bit `i` is the parity of the bits of `a` selected by the `i`-th mask, each as long as `a`.
pub fn xor_hash(result: &mut [u64], a: &[u64], masks: &[u64]) {
    result.fill(0);
    for (i, row) in (0..).zip(masks.chunks_exact(a.len())) {
        place(result, i, 1, parity(a.iter().zip(row).map(|(a, m)| a & m)));
    }
}

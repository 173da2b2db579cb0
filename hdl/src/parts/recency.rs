//! Which of the entries of a set is the oldest: a matrix with one bit a pair.
//!
//! Bit `a·n + b` is 1 if entry `a` was touched after entry `b`. Touched on allocation it orders a set first in,
//! first out; touched on every use, least recently used. Pairs of entries that were never touched are arbitrary.

use crate::rtl::{Bits, Module, Signal};

/// The matrix after the entries in `touched` (one bit an entry) have become the newest of the set.
pub(crate) fn touch<'m>(newer: Signal<'m>, touched: Signal<'m>) -> Signal<'m> {
    let n = touched.width();
    let (rows, columns) = (touched.spread(n), touched.replicate(n));
    (newer | (rows & !columns)) & (rows | !columns)
}

/// The one of `candidates` that every other candidate is newer than, one-hot.
pub(crate) fn oldest<'m>(m: &Module<'m>, newer: Signal<'m>, candidates: Signal<'m>) -> Signal<'m> {
    let n = candidates.width();
    let others = (0..n).flat_map(|a| (0..n).map(move |b| a != b));
    let words = pack(others);
    let others =
        m.lit(n * n, Bits::from_words((n * n) as u32, &words).unwrap_or_else(|| Bits::zero((n * n) as u32)));
    let has_older = (newer & others & candidates.replicate(n)).group_or(n);
    candidates & !has_older
}

fn pack(bits: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut words = Vec::new();
    for (index, bit) in bits.enumerate() {
        if index % 64 == 0 {
            words.push(0);
        }
        words[index / 64] |= u64::from(bit) << (index % 64);
    }
    words
}

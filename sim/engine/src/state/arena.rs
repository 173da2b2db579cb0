//! The words of a circuit's values, from the beginning of a line of the cache on.

use std::ops::{Deref, DerefMut};

use crate::plan::LINE_WORDS;

/// The arena: words in lines of 64 bytes, each at an address that is a multiple of 64. Wide values begin where a
/// line does, so that no vector of the processor lies across two: one that does is two accesses, and a load from what two
/// stores have just written waits until both are in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena {
    lines: Vec<Line>,
    /// Words.
    length: usize,
}

/// A line of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
struct Line([u64; LINE_WORDS as usize]);

impl Arena {
    /// Words that are all 0.
    pub fn new(words: usize) -> Arena {
        let line = Line([0; LINE_WORDS as usize]);
        Arena { lines: vec![line; words.div_ceil(line.0.len())], length: words }
    }
}

impl Deref for Arena {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        // SAFETY: `lines` has at least `length` words, one behind the other, as a line has no padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl DerefMut for Arena {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_with_a_line_and_are_all_there() {
        for words in [0, 1, 7, 8, 9, 1000] {
            let mut arena = Arena::new(words);
            assert_eq!(arena.len(), words);
            arena.iter_mut().zip(1..).for_each(|(word, value)| *word = value);
            let copy = arena.clone();
            for arena in [&arena, &copy] {
                assert!(arena.iter().copied().eq(1..=words as u64));
                assert_eq!(arena.as_ptr().align_offset(64), 0);
            }
        }
    }
}

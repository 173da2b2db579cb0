//! Pseudo-random numbers and values.

use warpfile_hdl::rtl::bits::{Bits, words_for};

/// A small generator of pseudo-random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u32) -> u32 {
        (self.number() % u64::from(limit)) as u32
    }

    /// True once in `one_in` times.
    pub fn chance(&mut self, one_in: u32) -> bool {
        self.below(one_in) == 0
    }

    /// A value that is often sparse, dense or small, so that compares, addresses and priority encodes see
    /// their corners.
    pub fn bits(&mut self, width: u32) -> Bits {
        let style = self.below(6);
        let words: Vec<u64> = (0..words_for(width))
            .map(|word| match style {
                0 => 0,
                1 => u64::MAX,
                2 => self.number() & self.number() & self.number(),
                3 if word == 0 => self.number() % 8,
                3 => 0,
                _ => self.number(),
            })
            .collect();
        Bits::from_words(words.len() as u32 * 64, &words).expect("as wide as its words").slice(0, width)
    }
}

//! A warp register: 32 lanes of 32 bits.

/// Words of a row; a word is two lanes, the even one low.
const WORDS: usize = 16;

/// A value of 1024 bits.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Row([u64; WORDS]);

impl Row {
    pub const ZERO: Row = Row([0; WORDS]);

    /// One word repeated, as the stimulus gives values.
    #[inline(always)]
    pub fn repeated(word: u64) -> Row {
        Row([word; WORDS])
    }

    /// What the signature makes of it.
    #[inline(always)]
    pub fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }

    /// The same with zeros in lanes whose bit in `lanes` is 0.
    #[inline(always)]
    pub fn sum_of(&self, lanes: u32) -> u64 {
        if lanes == u32::MAX {
            return self.sum();
        }
        let masked = |(i, word): (usize, &u64)| word & SPREAD[(lanes >> (2 * i) & 3) as usize];
        self.0.iter().enumerate().map(masked).fold(0, u64::wrapping_add)
    }

    /// Lanes that are equal, one bit each.
    #[inline(always)]
    pub fn equal(&self, other: &Row) -> u32 {
        let lanes = self.0.iter().zip(&other.0).enumerate().map(|(i, (a, b))| {
            let difference = a ^ b;
            (u32::from(difference as u32 == 0) | u32::from(difference >> 32 == 0) << 1) << (2 * i)
        });
        lanes.fold(0, |equal, lanes| equal | lanes)
    }

    /// Takes the lanes of `value` whose bit in `lanes` is 1.
    #[inline(always)]
    pub fn write(&mut self, lanes: u32, value: &Row) {
        if lanes == u32::MAX {
            *self = *value;
            return;
        }
        for (i, (word, new)) in self.0.iter_mut().zip(&value.0).enumerate() {
            let mask = SPREAD[(lanes >> (2 * i) & 3) as usize];
            *word ^= (*word ^ new) & mask;
        }
    }
}

/// The bits of a word whose lanes are those of a mask of two bits.
const SPREAD: [u64; 4] = [0, 0xffff_ffff, 0xffff_ffff_0000_0000, u64::MAX];

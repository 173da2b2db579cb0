//! A warp register: 32 lanes of 32 bits.
//!
//! Written so that loops over lanes become a few operations on vectors.

/// Words of a row; a word is two lanes, the even one low.
const WORDS: usize = 16;
/// Words that a byte of a mask of lanes speaks of.
const GROUP: usize = 4;

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

    /// Lanes that are equal, one bit each.
    #[inline(always)]
    pub fn equal(&self, other: &Row) -> u32 {
        let equal =
            |difference: u64| u32::from(difference as u32 == 0) | u32::from(difference >> 32 == 0) << 1;
        let words = self.0.iter().zip(&other.0).enumerate();
        words.fold(0, |all, (i, (a, b))| all | equal(a ^ b) << (2 * i))
    }

    /// Takes what a read of `value` gives: the arrays, of four lanes each, that one of `lanes` is in.
    #[inline(always)]
    pub fn capture(&mut self, lanes: u32, value: &Row) {
        let pairs = lanes | lanes >> 1;
        let arrays = (pairs | pairs >> 2) & 0x1111_1111;
        self.write(arrays * 0xf, value);
    }

    /// Takes the lanes of `value` whose bit in `lanes` is 1. Not to ask whether these are all is faster.
    #[inline(always)]
    pub fn write(&mut self, lanes: u32, value: &Row) {
        let masks = lanes.to_le_bytes().map(|byte| &LANE_MASKS[usize::from(byte)]);
        // Into a row of its own first, as loads between stores are not made vectors of.
        let blended = |i: usize| self.0[i] ^ (self.0[i] ^ value.0[i]) & masks[i / GROUP][i % GROUP];
        *self = Row(std::array::from_fn(blended));
    }
}

/// For each byte of a mask of lanes the bits of those lanes.
static LANE_MASKS: [[u64; GROUP]; 256] = {
    let mut masks = [[0; GROUP]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut lane = 0;
        while lane < 2 * GROUP {
            if byte >> lane & 1 == 1 {
                masks[byte][lane / 2] |= 0xffff_ffff << (32 * (lane % 2));
            }
            lane += 1;
        }
        byte += 1;
    }
    masks
};

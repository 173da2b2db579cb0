//! Matrices of H3 hash functions.

use crate::rtl::Bits;

/// The matrix of an H3 hash (Carter & Wegman; WIR's references 44 and 45) from `width` to `outputs` bits: bit i of the hash is
/// the exclusive or of the bits that row i selects, each of which it selects with one half. SplitMix64 draws them from `seed`.
pub fn h3_rows(width: usize, outputs: usize, seed: u64) -> Vec<Bits> {
    let mut state = seed;
    let mut word = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    let mut row = || {
        let mut words: Vec<u64> = (0..width.div_ceil(64)).map(|_| word()).collect();
        let above = words.len() * 64 - width;
        if let Some(last) = words.last_mut() {
            *last = *last << above >> above;
        }
        Bits::from_words(width as u32, &words).unwrap_or_else(|| Bits::zero(width as u32))
    };
    (0..outputs).map(|_| row()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_half_the_bits_are_selected_and_no_two_rows_are_equal() {
        let rows = h3_rows(1024, 32, super::super::SEED);
        for (index, row) in rows.iter().enumerate() {
            let ones: u32 = row.words().iter().map(|word| word.count_ones()).sum();
            assert!((440..=584).contains(&ones), "row {index}: {ones}");
            assert!(!rows[..index].contains(row));
        }
    }
}

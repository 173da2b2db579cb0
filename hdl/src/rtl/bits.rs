//! A bit vector of any width, for constants and for values at API borders.

use num_bigint::BigUint;

/// An unsigned value of a fixed width, kept in 64-bit words, lowest first. Bits above the width are 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    width: u32,
    words: Vec<u64>,
}

impl Bits {
    /// `value` in `width` bits; `None` if it does not fit.
    pub fn new(width: u32, value: u64) -> Option<Bits> {
        Bits::from_words(width, &[value])
    }

    /// All zeros.
    pub fn zero(width: u32) -> Bits {
        Bits { width, words: vec![0; words_for(width)] }
    }

    /// All ones.
    pub fn ones(width: u32) -> Bits {
        let mut words = vec![u64::MAX; words_for(width)];
        if let (Some(last), rest @ 1..) = (words.last_mut(), width % 64) {
            *last = (1 << rest) - 1;
        }
        Bits { width, words }
    }

    /// The words' value in `width` bits; `None` if it does not fit.
    pub fn from_words(width: u32, words: &[u64]) -> Option<Bits> {
        let used = BigUint::from_slice(
            &words.iter().flat_map(|&w| [w as u32, (w >> 32) as u32]).collect::<Vec<_>>(),
        );
        Bits::from_biguint(width, &used)
    }

    /// `value` in `width` bits; `None` if it does not fit.
    pub fn from_biguint(width: u32, value: &BigUint) -> Option<Bits> {
        if value.bits() > u64::from(width) {
            return None;
        }
        let mut words = value.to_u64_digits();
        words.resize(words_for(width), 0);
        Some(Bits { width, words })
    }

    /// Bits.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// 64-bit words, lowest first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bit `index`; 0 beyond the width.
    pub fn bit(&self, index: u32) -> bool {
        self.words.get(index as usize / 64).is_some_and(|w| w >> (index % 64) & 1 == 1)
    }

    /// Bits `low .. low + width`; zeros beyond the value's own width.
    pub fn slice(&self, low: u32, width: u32) -> Bits {
        let mut words: Vec<u64> = (0..words_for(width))
            .map(|i| {
                let word = i + low as usize / 64;
                let at = |w: usize| self.words.get(w).copied().unwrap_or(0);
                match low % 64 {
                    0 => at(word),
                    shift => at(word) >> shift | at(word + 1) << (64 - shift),
                }
            })
            .collect();
        if let (Some(last), rest @ 1..) = (words.last_mut(), width % 64) {
            *last &= (1 << rest) - 1;
        }
        Bits { width, words }
    }

    /// Bitwise complement.
    pub fn complement(&self) -> Bits {
        Bits { width: self.width, words: self.words.iter().map(|w| !w).collect() }.slice(0, self.width)
    }

    /// Whether every bit is 0.
    pub fn is_zero(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// Whether every bit is 1.
    pub fn is_ones(&self) -> bool {
        self.complement().is_zero()
    }

    /// As a number.
    pub fn to_biguint(&self) -> BigUint {
        BigUint::from_slice(
            &self.words.iter().flat_map(|&w| [w as u32, (w >> 32) as u32]).collect::<Vec<_>>(),
        )
    }
}

/// 64-bit words that `width` bits take.
pub fn words_for(width: u32) -> usize {
    (width as usize).div_ceil(64)
}

//! Values of rust-hdl's signals as 64-bit words.

use num_bigint::BigUint;
use rust_hdl_core::bits::{Bit, Bits};
use rust_hdl_core::clock::Clock;
use rust_hdl_core::synth::Synth;

/// A type of a signal that a port can have.
pub trait Value: Synth {
    /// Whether this is the clock.
    const IS_CLOCK: bool = false;

    /// The value in words, lowest first.
    fn to_words(self) -> Vec<u64>;

    /// The value of words, lowest first, without bits above the type's width.
    fn from_words(words: &[u64]) -> Self;
}

impl Value for Bit {
    fn to_words(self) -> Vec<u64> {
        vec![u64::from(self)]
    }

    fn from_words(words: &[u64]) -> Bit {
        words.first().is_some_and(|&word| word == 1)
    }
}

impl Value for Clock {
    const IS_CLOCK: bool = true;

    fn to_words(self) -> Vec<u64> {
        self.clk.to_words()
    }

    fn from_words(words: &[u64]) -> Clock {
        Clock::from(Bit::from_words(words))
    }
}

impl<const N: usize> Value for Bits<N> {
    fn to_words(self) -> Vec<u64> {
        BigUint::from(self).to_u64_digits()
    }

    fn from_words(words: &[u64]) -> Bits<N> {
        let halves = words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect();
        BigUint::new(halves).into()
    }
}

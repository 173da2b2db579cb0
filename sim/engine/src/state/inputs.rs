//! Inputs for the next cycle, and which of them have changed.

use super::arena::Arena;
use crate::InPort;
use crate::ops::mask;

/// The inputs of the next cycle. Compiled code looks at those that have changed since it looked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The words of all inputs, as many as `count`, and behind them a bit for each: that of a port's first word is set when
    /// its value changes.
    words: Arena,
    count: usize,
}

impl Inputs {
    /// `count` words, all 0, none of which has changed.
    pub fn new(count: usize) -> Inputs {
        Inputs { words: Arena::new(count + count.div_ceil(64)), count }
    }

    /// Words of all inputs.
    pub fn words(&self) -> &[u64] {
        &self.words[..self.count]
    }

    /// Where the words are and, behind them, the bits of what has changed.
    pub fn address(&mut self) -> *mut u64 {
        self.words.as_mut_ptr()
    }

    /// Sets all words; all of them count as changed.
    pub fn copy_from(&mut self, words: &[u64]) {
        self.words[..self.count].copy_from_slice(words);
        self.words[self.count..].fill(u64::MAX);
    }

    /// Sets a port of one word.
    #[inline]
    pub fn set(&mut self, port: InPort, value: u64) {
        debug_assert!(value <= mask(port.width), "value too wide for its port");
        let (first, value) = (port.offset as usize, value & mask(port.width));
        if self.words[first] != value {
            self.words[first] = value;
            self.note_change(first);
        }
    }

    /// Sets a port; words that are not given are 0.
    pub fn set_words(&mut self, port: InPort, words: &[u64]) {
        let place = self.place(port);
        debug_assert!(words.iter().skip(place.len()).all(|&word| word == 0), "value too wide for its port");
        let (given, rest) = place.split_at_mut(words.len().min(place.len()));
        let words = &words[..given.len()];
        if given != words || rest.iter().any(|&word| word != 0) {
            given.copy_from_slice(words);
            rest.fill(0);
            trim(place, port.width);
            self.note_change(port.offset as usize);
        }
    }

    /// Sets a port from 32-bit lanes; lanes that are not given are 0.
    pub fn set_lanes(&mut self, port: InPort, lanes: &[u32]) {
        let place = self.place(port);
        debug_assert!(lanes.len() <= 2 * place.len(), "more lanes than the port has");
        let mut difference = 0;
        let mut put = |place: &mut u64, [low, high]: [u32; 2]| {
            let word = u64::from(low) | u64::from(high) << 32;
            difference |= *place ^ word;
            *place = word;
        };
        let (pairs, odd) = lanes.as_chunks();
        let (given, rest) = place.split_at_mut(pairs.len().min(place.len()));
        given.iter_mut().zip(pairs).for_each(|(place, pair)| put(place, *pair));
        let odd = odd.iter().map(|lane| [*lane, 0]).chain(std::iter::repeat([0, 0]));
        rest.iter_mut().zip(odd).for_each(|(place, pair)| put(place, pair));
        if difference != 0 {
            trim(place, port.width);
            self.note_change(port.offset as usize);
        }
    }

    fn place(&mut self, port: InPort) -> &mut [u64] {
        &mut self.words[port.offset as usize..][..port.width.div_ceil(64) as usize]
    }

    #[inline]
    fn note_change(&mut self, first: usize) {
        self.words[self.count + first / 64] |= 1 << (first % 64);
    }
}

/// Drops bits above the width of a port.
fn trim(place: &mut [u64], width: u32) {
    if !width.is_multiple_of(64)
        && let Some(last) = place.last_mut()
    {
        debug_assert!(*last <= mask(width % 64), "value too wide for its port");
        *last &= mask(width % 64);
    }
}

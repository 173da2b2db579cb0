//! Stimulus and signature: what all loops share.

use warpfile_engine::vectors::{VectorWork, with_long_vectors};

use crate::bench::drive::{Activity, OFTEN, RARELY};

/// Seed of the first noise word; the others are multiples of it.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A circuit in a loop; `WORDS` words of noise drive its inputs.
pub(super) trait Circuit<const WORDS: usize> {
    /// One cycle: what the signature takes in of the outputs; then the clock edge.
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64;
}

/// The signature of `circuit` after `cycles` cycles.
pub(super) fn signature<const WORDS: usize>(circuit: impl Circuit<WORDS>, cycles: u64) -> u64 {
    with_long_vectors(Loop { circuit, cycles })
}

struct Loop<C, const WORDS: usize> {
    circuit: C,
    cycles: u64,
}

impl<C: Circuit<WORDS>, const WORDS: usize> VectorWork for Loop<C, WORDS> {
    type Result = u64;

    #[inline(always)]
    fn run(mut self) -> u64 {
        let mut noise: [u64; WORDS] = std::array::from_fn(|k| SEED.wrapping_mul(k as u64 + 1));
        let mut signature: u64 = 0;
        for _ in 0..self.cycles {
            signature = signature.rotate_left(1) ^ self.circuit.cycle(&noise);
            noise = noise.map(next);
        }
        signature
    }
}

/// The next value of the xorshift generator.
#[inline(always)]
fn next(x: u64) -> u64 {
    let a = x ^ (x << 13);
    let b = a ^ (a >> 7);
    b ^ (b << 17)
}

/// `bits` bits of `word` from bit `low` on.
#[inline(always)]
pub(super) fn field(word: u64, low: u32, bits: u32) -> usize {
    (word >> low & ((1 << bits) - 1)) as usize
}

/// Where a field lies in the noise.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub word: usize,
    pub low: u32,
    pub bits: u32,
}

/// Fields in the order of the inputs; for circuits whose widths depend on their size.
pub(super) struct Fields {
    used: u32,
}

impl Fields {
    pub const NONE: Fields = Fields { used: 0 };

    /// The next field: the first in a word that it fits in.
    pub const fn next(&mut self, bits: u32) -> Field {
        if self.used % 64 + bits > 64 {
            self.used = self.used.next_multiple_of(64);
        }
        let field = Field { word: (self.used / 64) as usize, low: self.used % 64, bits };
        self.used += bits;
        field
    }
}

impl Field {
    /// Its value.
    #[inline(always)]
    pub fn of(self, noise: &[u64]) -> usize {
        field(noise[self.word], self.low, self.bits)
    }
}

/// An event at some rate.
#[derive(Clone, Copy)]
pub(super) struct Event {
    least: u8,
}

impl Event {
    pub const OFTEN: Event = Event::at(OFTEN);
    pub const RARELY: Event = Event::at(RARELY);

    /// At ports that are as active as `activity` says.
    pub fn active(activity: Activity) -> Event {
        Event::at(activity.rate())
    }

    /// At one of so many ports that share what is as active as `activity` says.
    pub fn shared(activity: Activity, sharers: u64) -> Event {
        Event::at(activity.rate() / sharers)
    }

    /// `rate` in 1/256 a cycle.
    const fn at(rate: u64) -> Event {
        Event { least: (256 - rate) as u8 }
    }

    /// Whether it happens by the field of `word` that begins at bit `low`.
    #[inline(always)]
    pub fn happens(self, word: u64, low: u32) -> bool {
        (word >> low) as u8 >= self.least
    }
}

/// Lanes by the field of `word` that begins at bit `low`, with `data` as their data.
#[inline(always)]
pub(super) fn lanes(word: u64, low: u32, data: u64) -> u32 {
    if word >> low & 3 != 0 { u32::MAX } else { (data >> 32) as u32 }
}

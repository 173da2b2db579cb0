//! Loop of the staging shard: 8 banks of 64 lines and more.

use super::noise::{Circuit, Event, Field, Fields, lanes, signature};
use super::row::Row;
use super::tags::Tags;
use crate::bench::Activity;

const BANKS: usize = 8;
/// Bits of a register's number; above it a tag has the warp's.
const REGISTER_BITS: u32 = 9;
/// Bits of a warp's number.
const WARP_BITS: u32 = 6;

struct Shard<const LINE_BITS: u32, const WORDS: usize> {
    active: Event,
    banks: [Bank; BANKS],
}

struct Bank {
    tags: Tags,
    values: Vec<Row>,
}

/// What drives the inputs of a bank.
#[derive(Clone, Copy)]
struct Inputs {
    lookup: Field,
    lookup_warp: Field,
    lookup_register: Field,
    write: Field,
    write_line: Field,
    write_warp: Field,
    write_lanes: Field,
}

/// For a shard whose lines have numbers of `LINE_BITS` bits; `WORDS` words of noise drive it.
pub(super) fn run<const LINE_BITS: u32, const WORDS: usize>(activity: Activity, cycles: u64) -> u64 {
    let lines = 1 << LINE_BITS;
    let bank = |_| Bank { tags: Tags::new(lines, REGISTER_BITS + WARP_BITS), values: vec![Row::ZERO; lines] };
    let banks = std::array::from_fn(bank);
    signature(Shard::<LINE_BITS, WORDS> { active: Event::active(activity), banks }, cycles)
}

impl<const LINE_BITS: u32, const WORDS: usize> Shard<LINE_BITS, WORDS> {
    const INPUTS: [Inputs; BANKS] = {
        let mut fields = Fields::NONE;
        let mut inputs = [Inputs::next(&mut fields, LINE_BITS); BANKS];
        let mut bank = 1;
        while bank < BANKS {
            inputs[bank] = Inputs::next(&mut fields, LINE_BITS);
            bank += 1;
        }
        inputs
    };

    /// One cycle of bank `BANK`; what the signature takes in of its outputs.
    #[inline(always)]
    fn bank<const BANK: usize>(&mut self, noise: &[u64; WORDS]) -> u64 {
        let inputs = const { Self::INPUTS[BANK] };
        let bank = &mut self.banks[BANK];
        let happens = |event: Field| self.active.happens(noise[event.word], event.low);
        let mut outputs = 0;
        if happens(inputs.lookup) {
            let tag = tag(inputs.lookup_warp.of(noise), inputs.lookup_register.of(noise));
            let (hit, line) = bank.tags.find(tag);
            // Not to ask whether it hits before the line is read is faster.
            let of_line = 1 << BANK ^ bank.values[line].sum().rotate_left(7 * BANK as u32);
            outputs = if hit { of_line } else { 0 };
        }
        if happens(inputs.write) {
            let line = inputs.write_line.of(noise);
            bank.tags.set(line, tag(inputs.write_warp.of(noise), line));
            let Field { word, low, .. } = inputs.write_lanes;
            let lanes = lanes(noise[word], low, noise[2 * BANK % WORDS]);
            bank.values[line].write(lanes, &Row::repeated(noise[(2 * BANK + 1) % WORDS]));
        }
        outputs
    }
}

impl<const LINE_BITS: u32, const WORDS: usize> Circuit<WORDS> for Shard<LINE_BITS, WORDS> {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        self.bank::<0>(noise)
            ^ self.bank::<1>(noise)
            ^ self.bank::<2>(noise)
            ^ self.bank::<3>(noise)
            ^ self.bank::<4>(noise)
            ^ self.bank::<5>(noise)
            ^ self.bank::<6>(noise)
            ^ self.bank::<7>(noise)
    }
}

impl Inputs {
    const fn next(fields: &mut Fields, line_bits: u32) -> Inputs {
        Inputs {
            lookup: fields.next(8),
            lookup_warp: fields.next(1),
            lookup_register: fields.next(line_bits),
            write: fields.next(8),
            write_line: fields.next(line_bits),
            write_warp: fields.next(1),
            write_lanes: fields.next(2),
        }
    }
}

#[inline(always)]
fn tag(warp: usize, register: usize) -> usize {
    warp << REGISTER_BITS | register
}

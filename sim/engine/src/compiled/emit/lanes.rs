//! Operations on lanes of wide values: sixteen bytes at a time where lanes are bytes or more, else word by word.

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::Emitter;
use super::frame::Pointer;
use super::vectors::{CHUNK, vector};
use crate::ops::mask;

impl Emitter<'_, '_> {
    /// Adds lane by lane; lanes are of 8, 16, 32 or 64 bits. Above the last lane both operands are 0.
    pub fn add_lanes(&mut self, id: usize, a: u32, b: u32, n: u32, lane: u32) {
        let operands = [a, b].map(|place| self.source(place));
        let to = self.result_place(id);
        for chunk in (0..8 * n).step_by(CHUNK as usize) {
            let kind = if 8 * n - chunk < CHUNK { types::I64 } else { vector(lane / 8) };
            let [a, b] = [&operands[0], &operands[1]].map(|from| self.chunk(from, chunk, kind));
            let sum = match kind {
                types::I64 => self.sum_in_word(a, b, lane),
                _ => self.ins().iadd(a, b),
            };
            self.frame.store(to.bytes(chunk), sum);
        }
        self.define_in_memory(id);
    }

    /// Adds the lanes of one word: all bits but the highest of each lane, which takes no carry on.
    fn sum_in_word(&mut self, a: Value, b: Value, lane: u32) -> Value {
        if lane == 64 {
            return self.ins().iadd(a, b);
        }
        let highest = (0..64).step_by(lane as usize).fold(0, |bits, low| bits | 1u64 << (low + lane - 1));
        let highest = self.frame.constant(highest);
        let (low_a, low_b) = (self.ins().band_not(a, highest), self.ins().band_not(b, highest));
        let sum = self.ins().iadd(low_a, low_b);
        let carried = self.ins().bxor(a, b);
        let carried = self.ins().band(carried, highest);
        self.ins().bxor(sum, carried)
    }

    /// Copies bits that begin at a byte of a value.
    pub fn copy_bytes(&mut self, id: usize, a: u32, low: u32, width: u32) {
        let (from, to) = (self.pointer(a).bytes(low / 8), self.result_place(id));
        let whole = width / 64;
        self.frame.copy(to, from, whole);
        let rest = width % 64;
        if rest > 0 {
            let value = self.load_bits(from.words(whole), rest);
            self.frame.store(to.words(whole), value);
        }
        self.define_in_memory(id);
    }

    /// Fewer than 64 bits from memory, without a look at the bytes behind them.
    fn load_bits(&mut self, from: Pointer, width: u32) -> Value {
        let mut pieces = Vec::new();
        let mut at = 0;
        for (kind, bits) in [(types::I32, 32), (types::I16, 16), (types::I8, 8), (types::I8, 8)] {
            if at < width && (at + bits <= width || bits == 8) {
                let piece = self.frame.load_as(kind, from.bytes(at / 8));
                let piece = self.ins().uextend(types::I64, piece);
                pieces.push((piece, at));
                at += bits;
            }
        }
        let value = self.gather(pieces);
        self.masked(value, width)
    }

    /// `a` of `from` bits, at most 64, repeated until `width` bits are full.
    pub fn repeat(&mut self, id: usize, a: u32, from: u32, width: u32) {
        let a = self.word(a);
        let words: Vec<Value> = (0..width.div_ceil(64))
            .map(|word| {
                let start = 64 * word;
                let first = start.next_multiple_of(from);
                let end = (start + 64).min(width);
                let ones =
                    (first..end).step_by(from as usize).fold(0, |ones, at| ones | 1u64 << (at - start));
                let ones = self.frame.constant(ones);
                let mut value = self.ins().imul(a, ones);
                if first > start {
                    let begun = self.ins().ushr_imm_u(a, i64::from(from - (first - start)));
                    value = self.ins().bor(value, begun);
                }
                self.masked(value, end - start)
            })
            .collect();
        self.define(id, &words);
    }

    /// Lanes with a bit each in a mask, as lanes of 32 bits where they are made of these: for them there are vectors.
    /// Returns mask, lanes and bits of a lane.
    pub fn in_lanes_of_32(&mut self, mask: Value, lanes: u32, lane: u32) -> (Value, u32, u32) {
        let times = lane / 32;
        if times > 1 && lane.is_multiple_of(32) && lanes * times <= 64 {
            (self.spread(mask, lanes, times), lanes * times, 32)
        } else {
            (mask, lanes, lane)
        }
    }

    /// Each of `lanes` bits widened to `lane` equal bits.
    pub fn spread_lanes(&mut self, id: usize, a: u32, lanes: u32, lane: u32) {
        let words: Vec<Value> = (0..(lanes * lane).div_ceil(64))
            .map(|word| {
                let (start, end) = (64 * word, 64 * word + 64);
                let pieces: Vec<Value> = (start / lane..lanes.min(end.div_ceil(lane)))
                    .map(|i| {
                        let (low, high) = ((i * lane).max(start), (i * lane + lane).min(end));
                        let all = self.repeated_bit(a + i / 64, i % 64);
                        let here = self.frame.constant(mask(high - low) << (low - start));
                        self.ins().band(all, here)
                    })
                    .collect();
                self.join(&pieces)
            })
            .collect();
        self.define(id, &words);
    }

    /// Copies parts that begin at a word, and all but the last of which end at one.
    pub fn concatenate_words(&mut self, id: usize, parts: u32, count: u32) {
        let parts = &self.plan.parts[parts as usize..(parts + count) as usize];
        let to = self.result_place(id);
        for part in parts {
            let from = self.pointer(part.a);
            self.frame.copy(to.words(part.low / 64), from, part.width.div_ceil(64));
        }
        self.define_in_memory(id);
    }

    fn result_place(&mut self, id: usize) -> Pointer {
        self.frame.place(self.plan.program[id].result(self.plan))
    }
}

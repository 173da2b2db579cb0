//! Operations made for wide values, where the result is one word.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::Emitter;
use super::frame::Pointer;
use super::vectors::is_in_vectors;
use crate::plan::inst::Inst;

impl Emitter<'_, '_> {
    /// Emits such an operation; says whether it is one.
    pub fn emit_small(&mut self, id: usize, inst: Inst) -> bool {
        let value = match inst {
            Inst::Replicate { a, from, width, .. } if width <= 64 => {
                let a = self.word(a);
                self.repeated(a, from, width)
            }
            Inst::SpreadLanes { a, lanes, lane, .. } if lanes * lane <= 64 => {
                self.spread_word(a, lanes, lane)
            }
            Inst::LaneMux { mask, then, otherwise, lanes, lane, .. } if lanes * lane <= 64 => {
                let (bits, then, otherwise) = (self.word(mask), self.word(then), self.word(otherwise));
                let mask = self.spread(bits, lanes, lane);
                let then = self.ins().band(then, mask);
                let otherwise = self.ins().band_not(otherwise, mask);
                self.ins().bor(then, otherwise)
            }
            Inst::PrefixOr { a, width, .. } if width <= 64 => {
                let a = self.word(a);
                let lowest = self.lowest_one(a);
                let above = self.ins().ineg(lowest);
                self.masked(above, width)
            }
            Inst::PrefixCount { a, lanes, lane, .. } if lanes <= 16 && lanes * lane <= 64 => {
                let a = self.word(a);
                let counts = (1..lanes).map(|i| {
                    let below = self.masked(a, i);
                    let count = self.ins().popcnt(below);
                    let count = self.masked(count, lane);
                    self.ins().ishl_imm_u(count, i64::from(i * lane))
                });
                let counts: Vec<Value> = counts.collect();
                self.join(&counts)
            }
            Inst::GroupOr { a, groups, size, .. } if is_in_vectors(groups, size) => {
                self.any_of_lanes(a, groups, size)
            }
            Inst::GroupOr { a, groups, size, .. } if groups <= 16 && size <= 64 => {
                let bits = (0..groups).map(|group| {
                    let bits = self.bits(a, group * size, size);
                    let any = self.ins().icmp_imm_u(IntCC::NotEqual, bits, 0);
                    let any = self.flag(any);
                    (any, group)
                });
                let bits = bits.collect();
                self.gather(bits)
            }
            Inst::OneHotSelect { select, vector, lanes, lane, .. } if lane <= 64 && lanes <= 32 => {
                let selected = (0..lanes).map(|i| {
                    let value = self.bits(vector, i * lane, lane);
                    let all = self.repeated_bit(select, i);
                    self.ins().band(value, all)
                });
                let selected: Vec<Value> = selected.collect();
                self.join(&selected)
            }
            Inst::LaneSelect { vector, index, index_n: 1, lanes, lane, .. } if lanes * lane <= 64 => {
                let (number, vector) = (self.word(index), self.word(vector));
                let low = self.times(number, lane);
                let value = self.ins().ushr(vector, low);
                let value = self.masked(value, lane);
                self.if_below(index, lanes, value)
            }
            Inst::LaneSelect { vector, index, index_n: 1, lanes, lane, .. }
                if matches!(lane, 8 | 16 | 32) =>
            {
                let number = self.word(index);
                let vector = self.pointer(vector);
                let last = self.frame.constant(u64::from(lanes) - 1);
                let number = if self.is_below(index, lanes) { number } else { self.ins().umin(number, last) };
                let distance = self.times(number, lane / 8);
                let base = self.ins().iadd(vector.base, distance);
                let value = self.element(Pointer { base, offset: vector.offset }, lane / 8);
                self.if_below(index, lanes, value)
            }
            Inst::LaneSelect { vector, index, index_n: 1, lanes, lane, .. }
                if lane <= 64 && 64 % lane == 0 =>
            {
                let number = self.word(index);
                let vector = self.pointer(vector);
                let low = self.times(number, lane);
                let word = self.ins().ushr_imm_u(low, 6);
                let last = self.frame.constant(u64::from(lanes * lane).div_ceil(64) - 1);
                let word = self.ins().umin(word, last);
                let distance = self.ins().ishl_imm_u(word, 3);
                let base = self.ins().iadd(vector.base, distance);
                let value = self.frame.load(Pointer { base, offset: vector.offset });
                let value = self.ins().ushr(value, low);
                let value = self.masked(value, lane);
                self.if_below(index, lanes, value)
            }
            Inst::LaneSelect { vector, index, index_n: 1, lanes, lane, .. } if lane <= 64 && lanes <= 16 => {
                let index = self.word(index);
                let mut value = self.frame.constant(0);
                for i in 0..lanes {
                    let lane = self.bits(vector, i * lane, lane);
                    let is_lane = self.ins().icmp_imm_u(IntCC::Equal, index, i64::from(i));
                    value = self.ins().select(is_lane, lane, value);
                }
                value
            }
            Inst::WideEq { a, b, n, .. } if n <= super::wide::IN_LINE => {
                let different = (0..n).map(|i| {
                    let (a, b) = (self.word(a + i), self.word(b + i));
                    self.ins().bxor(a, b)
                });
                let different: Vec<Value> = different.collect();
                let different = self.join(&different);
                let equal = self.ins().icmp_imm_u(IntCC::Equal, different, 0);
                self.flag(equal)
            }
            Inst::WideNonZero { a, n, .. } if n <= super::wide::IN_LINE => {
                let words: Vec<Value> = (0..n).map(|i| self.word(a + i)).collect();
                let any = self.join(&words);
                let any = self.ins().icmp_imm_u(IntCC::NotEqual, any, 0);
                self.flag(any)
            }
            Inst::WidePopCount { a, n, .. } if n <= super::wide::IN_LINE => {
                let first = self.word(a);
                let first = self.ins().popcnt(first);
                (1..n).fold(first, |sum, i| {
                    let word = self.word(a + i);
                    let ones = self.ins().popcnt(word);
                    self.ins().iadd(sum, ones)
                })
            }
            Inst::WideFirstOne { a, n, .. } if n <= 8 => {
                let mut found = self.frame.constant(0);
                for i in (0..n).rev() {
                    let word = self.word(a + i);
                    let first = self.ins().ctz(word);
                    let first = self.ins().iadd_imm_u(first, i64::from(64 * i));
                    found = self.ins().select(word, first, found);
                }
                found
            }
            Inst::WideParity { a, n, .. } if n <= super::wide::IN_LINE => {
                let first = self.word(a);
                let all = (1..n).fold(first, |all, i| {
                    let word = self.word(a + i);
                    self.ins().bxor(all, word)
                });
                let ones = self.ins().popcnt(all);
                self.ins().band_imm_u(ones, 1)
            }
            _ => return false,
        };
        self.define(id, &[value]);
        true
    }
}

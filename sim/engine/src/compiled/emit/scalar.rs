//! Values of one word, in machine registers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};

use super::Emitter;
use super::frame::Pointer;
use crate::ops::mask;
use crate::plan::ZERO;
use crate::plan::inst::{Inst, Part};

/// How two words compare, as numbers without a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    NotLess,
}

impl Comparison {
    fn opposite(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::Unequal,
            Comparison::Unequal => Comparison::Equal,
            Comparison::Less => Comparison::NotLess,
            Comparison::NotLess => Comparison::Less,
        }
    }

    fn condition(self) -> IntCC {
        match self {
            Comparison::Equal => IntCC::Equal,
            Comparison::Unequal => IntCC::NotEqual,
            Comparison::Less => IntCC::UnsignedLessThan,
            Comparison::NotLess => IntCC::UnsignedGreaterThanOrEqual,
        }
    }
}

impl Emitter<'_, '_> {
    /// Emits an instruction on single words; says whether it is one.
    pub fn emit_scalar(&mut self, id: usize, inst: Inst) -> bool {
        let value = match inst {
            Inst::Copy { a, .. } => self.word(a),
            Inst::Not { a, width: 1, .. } => self.inverse(a),
            Inst::Not { a, width, .. } => {
                let a = self.word(a);
                let inverse = self.ins().bnot(a);
                self.masked(inverse, width)
            }
            Inst::And { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                self.ins().band(a, b)
            }
            Inst::Or { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                self.ins().bor(a, b)
            }
            Inst::Xor { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                self.ins().bxor(a, b)
            }
            Inst::Add { a, b, width, .. } => {
                let most = self.largest(a).checked_add(self.largest(b));
                let fits = most.is_some_and(|most| most <= mask(width));
                let (a, b) = (self.word(a), self.word(b));
                let sum = self.ins().iadd(a, b);
                if fits { sum } else { self.masked(sum, width) }
            }
            Inst::Sub { a, b, width, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let difference = self.ins().isub(a, b);
                self.masked(difference, width)
            }
            Inst::Mul { a, b, width, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let product = self.ins().imul(a, b);
                self.masked(product, width)
            }
            Inst::Eq { a, b, .. } => self.compare(Comparison::Equal, a, b),
            Inst::Lt { a, b, .. } if self.is_always_less(a, b) => self.frame.constant(1),
            Inst::Lt { a, b, .. } => self.compare(Comparison::Less, a, b),
            Inst::ShiftLeft { a, b, width, .. } => {
                let (a, b_value) = (self.word(a), self.word(b));
                let shifted = self.ins().ishl(a, b_value);
                let shifted = self.masked(shifted, width);
                self.if_below(b, 64, shifted)
            }
            Inst::ShiftRight { a, b, .. } => {
                let (a, b_value) = (self.word(a), self.word(b));
                let shifted = self.ins().ushr(a, b_value);
                self.if_below(b, 64, shifted)
            }
            Inst::Mux { condition, then, otherwise, .. } => self.mux(condition, then, otherwise),
            Inst::Slice { a, low, width, .. } => self.bits(a, low, width),
            Inst::Join { a, b, shift, .. } => self.word_of_parts(
                &[
                    Part { a, low: 0, width: shift },
                    Part { a: b, low: shift, width: self.plan.width(b).min(64 - shift) },
                ],
                0,
            ),
            Inst::NonZero { a, .. } => self.compare(Comparison::Unequal, a, ZERO),
            Inst::AllOnes { a, width, .. } => {
                let a = self.word(a);
                let ones = self.frame.constant(mask(width));
                let all = self.ins().icmp(IntCC::Equal, a, ones);
                self.flag(all)
            }
            Inst::Parity { a, .. } => {
                let a = self.word(a);
                let ones = self.ins().popcnt(a);
                self.ins().band_imm_u(ones, 1)
            }
            Inst::FirstOne { a, .. } => {
                let a = self.word(a);
                let first = self.ins().ctz(a);
                // 64 for no bit at all becomes 0.
                self.ins().band_imm_u(first, 63)
            }
            Inst::LowestOne { a, .. } => {
                let a = self.word(a);
                self.lowest_one(a)
            }
            Inst::Decode { a, width, .. } => {
                let index = self.word(a);
                let one = self.frame.constant(1);
                let bit = self.ins().ishl(one, index);
                self.if_below(a, width, bit)
            }
            Inst::PopCount { a, .. } => {
                let a = self.word(a);
                self.ins().popcnt(a)
            }
            Inst::Read { address, base, depth, bytes, .. } => {
                let at = self.row(address, base, depth, bytes);
                self.element(at, bytes)
            }
            Inst::ReadBit { address, base, depth, .. } => {
                let row = self.word(address);
                let word = match depth {
                    0..=64 => self.word(base),
                    _ => {
                        let index = self.ins().ushr_imm_u(row, 6);
                        let last = self.frame.constant(u64::from(depth - 1) / 64);
                        let index = self.ins().umin(index, last);
                        let distance = self.ins().ishl_imm_u(index, 3);
                        let first = self.frame.place(base);
                        let base_of_row = self.ins().iadd(first.base, distance);
                        self.frame.load(Pointer { base: base_of_row, ..first })
                    }
                };
                let bit = self.ins().ushr(word, row);
                let bit = self.ins().band_imm_u(bit, 1);
                self.if_below(address, depth, bit)
            }
            _ => return self.emit_small(id, inst),
        };
        self.define(id, &[value]);
        true
    }

    /// The lowest `width` bits.
    pub fn masked(&mut self, value: Value, width: u32) -> Value {
        match width {
            64.. => value,
            32 => {
                let low = self.ins().ireduce(types::I32, value);
                self.ins().uextend(types::I64, low)
            }
            width => self.ins().band_imm_u(value, mask(width) as i64),
        }
    }

    pub fn flag(&mut self, condition: Value) -> Value {
        self.ins().uextend(types::I64, condition)
    }

    /// Or of values, each moved up by as many bits as stand beside it, in rising order; no two have a bit in
    /// common. Neighbours are put together first, as what is moved up by at most three bits is added in one step.
    pub fn gather(&mut self, mut pieces: Vec<(Value, u32)>) -> Value {
        while pieces.len() > 1 {
            pieces = pieces
                .chunks(2)
                .map(|pair| match *pair {
                    [(low, at), (high, above)] => {
                        let high = self.ins().ishl_imm_u(high, i64::from(above - at));
                        (self.ins().iadd(low, high), at)
                    }
                    _ => pair[0],
                })
                .collect();
        }
        match pieces.first() {
            None | Some((_, 0)) => pieces.first().map_or_else(|| self.frame.constant(0), |(value, _)| *value),
            Some(&(value, at)) => self.ins().ishl_imm_u(value, i64::from(at)),
        }
    }

    /// Or of values.
    pub fn join(&mut self, values: &[Value]) -> Value {
        match values.split_first() {
            None => self.frame.constant(0),
            Some((first, rest)) => rest.iter().fold(*first, |all, value| self.ins().bor(all, *value)),
        }
    }

    pub fn times(&mut self, value: Value, factor: u32) -> Value {
        match factor {
            1 => value,
            factor => self.ins().imul_imm_u(value, i64::from(factor)),
        }
    }

    pub fn lowest_one(&mut self, a: Value) -> Value {
        let negative = self.ins().ineg(a);
        self.ins().band(a, negative)
    }

    /// `a` of `from` bits repeated until `width` bits, at most 64, are full.
    pub fn repeated(&mut self, a: Value, from: u32, width: u32) -> Value {
        let value = match from {
            1 => self.ins().ineg(a),
            from => {
                let ones = (0..width).step_by(from as usize).fold(0, |ones, bit| ones | 1u64 << bit);
                let ones = self.frame.constant(ones);
                self.ins().imul(a, ones)
            }
        };
        self.masked(value, width)
    }

    /// Each of the `lanes` bits at a place widened to `lane` equal bits, at most 64 together. Of an index that has been
    /// decoded, one lane is moved up.
    pub fn spread_word(&mut self, place: u32, lanes: u32, lane: u32) -> Value {
        let (bit, index) = match self.seen(place) {
            Some(Inst::Mux { condition, then, otherwise, .. }) => {
                (Some(condition), self.gated_index(condition, then, otherwise))
            }
            Some(Inst::Decode { a, width, .. }) if self.is_below(a, width) && self.is_near(a) => {
                (None, Some(a))
            }
            Some(_) | None => (None, None),
        };
        match (bit, index) {
            (Some(bit), Some(index)) if lane < 64 && self.is_near(bit) => {
                let (bit, index) = (self.word(bit), self.word(index));
                let ones = self.repeated(bit, 1, lane);
                let low = self.times(index, lane);
                self.ins().ishl(ones, low)
            }
            (None, Some(index)) if lane < 64 => {
                let (ones, index) = (self.frame.constant(mask(lane)), self.word(index));
                let low = self.times(index, lane);
                self.ins().ishl(ones, low)
            }
            _ => {
                let bits = self.word(place);
                self.spread(bits, lanes, lane)
            }
        }
    }

    /// Each of `lanes` bits widened to `lane` equal bits, at most 64 together.
    pub fn spread(&mut self, a: Value, lanes: u32, lane: u32) -> Value {
        match (lanes, lane) {
            (_, 1) => a,
            (1, lane) => self.repeated(a, 1, lane),
            (lanes, lane) => {
                // Groups of bits are halved until each bit is where its lane begins.
                let halvings = (0..lanes.next_power_of_two().ilog2()).rev();
                let first = halvings.fold(a, |apart, halving| {
                    let group = 1 << halving;
                    let moved = self.ins().ishl_imm_u(apart, i64::from(group * (lane - 1)));
                    let both = self.ins().bor(apart, moved);
                    let groups = (0..lanes.div_ceil(group)).map(|i| mask(group) << (i * group * lane));
                    let kept = self.frame.constant(groups.fold(0, |all, group| all | group));
                    self.ins().band(both, kept)
                });
                let ones = self.frame.constant(mask(lane));
                self.ins().imul(first, ones)
            }
        }
    }

    /// Whether the word at `place` is always below `limit`.
    pub fn is_below(&self, place: u32, limit: u32) -> bool {
        self.largest(place) < u64::from(limit)
    }

    /// Whether the word at `a` is below the constant at `b`, whatever it is.
    fn is_always_less(&self, a: u32, b: u32) -> bool {
        self.plan.constants.get(b as usize).is_some_and(|&limit| self.largest(a) < limit)
    }

    /// A bit of the word at a place, repeated 64 times.
    pub fn repeated_bit(&mut self, place: u32, bit: u32) -> Value {
        if self.part(place, bit, 1).is_some() {
            let bit = self.bits(place, bit, 1);
            return self.ins().ineg(bit);
        }
        let word = self.word(place);
        let top = self.ins().ishl_imm_u(word, i64::from(63 - bit));
        self.ins().sshr_imm_u(top, 63)
    }

    /// `value` where the word at `index` is below `limit`, else 0.
    pub fn if_below(&mut self, index: u32, limit: u32, value: Value) -> Value {
        if self.is_below(index, limit) {
            return value;
        }
        let index = self.word(index);
        let below = self.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(limit));
        let zero = self.frame.constant(0);
        self.ins().select(below, value, zero)
    }

    /// One bit: how two words compare.
    ///
    /// Without the flags as the sign of a difference. An instruction that takes a bit from the processor's flags leaves the
    /// rest of its register as it was, and so waits for what was there before: in a small circuit for the cycle before.
    fn compare(&mut self, comparison: Comparison, a: u32, b: u32) -> Value {
        let has_sign = self.largest(a).max(self.largest(b)) < 1 << 63;
        let (a, b) = (self.word(a), self.word(b));
        if !has_sign || !self.is_without_flags() {
            let flag = self.ins().icmp(comparison.condition(), a, b);
            return self.flag(flag);
        }
        let below_zero = match comparison {
            Comparison::Equal => {
                let difference = self.ins().bxor(a, b);
                self.ins().iadd_imm_s(difference, -1)
            }
            Comparison::Unequal => {
                let difference = self.ins().bxor(a, b);
                self.ins().ineg(difference)
            }
            Comparison::Less => self.ins().isub(a, b),
            Comparison::NotLess => {
                let difference = self.ins().isub(a, b);
                self.ins().bnot(difference)
            }
        };
        self.ins().ushr_imm_u(below_zero, 63)
    }

    /// The comparison whose result is at a place, and of what, if that can be had in this block.
    fn comparison_at(&self, place: u32) -> Option<(Comparison, u32, u32)> {
        let (comparison, a, b) = match self.seen(place)? {
            Inst::Eq { a, b, .. } => (Comparison::Equal, a, b),
            Inst::Lt { a, b, .. } => (Comparison::Less, a, b),
            Inst::NonZero { a, .. } => (Comparison::Unequal, a, ZERO),
            Inst::Not { a, width: 1, .. } => {
                let (comparison, a, b) = self.comparison_at(a)?;
                (comparison.opposite(), a, b)
            }
            _ => return None,
        };
        (self.is_near(a) && self.is_near(b)).then_some((comparison, a, b))
    }

    /// What decides a branch or a selection in place of the bit at a place that a comparison has given: the flags.
    pub fn flags_at(&mut self, place: u32) -> Option<Value> {
        let (comparison, a, b) = self.comparison_at(place)?;
        let (a, b) = (self.word(a), self.word(b));
        Some(self.ins().icmp(comparison.condition(), a, b))
    }

    /// The complement of one bit; of a comparison, the opposite one.
    fn inverse(&mut self, place: u32) -> Value {
        if let Some((comparison, a, b)) = self.comparison_at(place) {
            return self.compare(comparison.opposite(), a, b);
        }
        let value = self.word(place);
        self.ins().bxor_imm_u(value, 1)
    }

    fn mux(&mut self, condition: u32, then: u32, otherwise: u32) -> Value {
        if let Some(index) = self.gated_index(condition, then, otherwise) {
            let (bit, index) = (self.word(condition), self.word(index));
            return self.ins().ishl(bit, index);
        }
        let (bit, then) = (self.word(condition), self.word(then));
        if otherwise == ZERO && self.plan.width(condition) == 1 {
            let all = self.ins().ineg(bit);
            return self.ins().band(then, all);
        }
        let (otherwise, condition) = (self.word(otherwise), self.condition(condition));
        self.ins().select(condition, then, otherwise)
    }

    /// The index that a multiplexer decodes where its condition is 1: then it moves that bit up by so much.
    fn gated_index(&self, condition: u32, then: u32, otherwise: u32) -> Option<u32> {
        let Inst::Decode { a, width, .. } = self.seen(then)? else { return None };
        let is_bit = otherwise == ZERO && self.plan.width(condition) == 1;
        (is_bit && self.is_below(a, width) && self.is_near(a)).then_some(a)
    }

    /// Where the row at the address at `address` is, at `bytes` bytes a row; a row that is not there reads as
    /// words that are always 0.
    pub fn row(&mut self, address: u32, base: u32, depth: u32, bytes: u32) -> Pointer {
        let row = self.word(address);
        let distance = self.times(row, bytes);
        let first = self.frame.place(base);
        if self.is_below(address, depth) {
            return Pointer { base: self.ins().iadd(first.base, distance), ..first };
        }
        let is_row = self.ins().icmp_imm_u(IntCC::UnsignedLessThan, row, i64::from(depth));
        let zeros = self.frame.place(self.plan.zeros);
        if first.base == zeros.base {
            let distance = self.ins().iadd_imm_u(distance, i64::from(first.offset));
            let zeros = self.frame.constant(zeros.offset as u64);
            let distance = self.ins().select(is_row, distance, zeros);
            return Pointer { base: self.ins().iadd(first.base, distance), offset: 0 };
        }
        let [first, zeros] = [first, zeros].map(|at| self.frame.flatten(at));
        let at = self.ins().iadd(first, distance);
        Pointer { base: self.ins().select(is_row, at, zeros), offset: 0 }
    }

    /// Loads a value of an array.
    pub fn element(&mut self, at: Pointer, bytes: u32) -> Value {
        self.frame.load_bytes(at, bytes)
    }

    /// Stores a value into an array.
    pub fn set_element(&mut self, at: Pointer, bytes: u32, value: Value) {
        let value = match element_type(bytes) {
            types::I64 => value,
            narrow => self.ins().ireduce(narrow, value),
        };
        self.frame.store(at, value);
    }
}

/// What a value of an array is loaded as.
pub fn element_type(bytes: u32) -> Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

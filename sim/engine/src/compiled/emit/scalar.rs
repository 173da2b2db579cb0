//! Values of one word, in machine registers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::Emitter;
use super::frame::Pointer;
use super::slots::is_pointer;
use crate::ops::mask;
use crate::plan::inst::Inst;

impl Emitter<'_, '_> {
    /// The word at a place.
    pub fn word(&mut self, place: u32) -> Value {
        if let Some(value) = self.frame.known_word(place) {
            return value;
        }
        let value = match self.plan.constants.get(place as usize) {
            Some(&constant) => self.frame.constant(constant),
            None => {
                let at = self.pointer(place);
                self.frame.load(at)
            }
        };
        self.frame.know_word(place, value);
        value
    }

    /// Where the words at a place are.
    pub fn pointer(&mut self, place: u32) -> Pointer {
        let Some(id) = self.graph.producer(place) else { return self.frame.place(place) };
        let inst = self.plan.program[id];
        if is_pointer(&inst) {
            let start = inst.result(self.plan);
            return self.pointer_of(id).words(place - start);
        }
        if let Some(value) = self.frame.known_word(place)
            && inst.result_words(self.plan) == 1
            && !self.frame.is_in_memory(place)
        {
            let at = self.frame.place(place);
            self.frame.store(at, value);
            self.frame.note_in_memory(place);
        }
        self.frame.place(place)
    }

    /// Where the result of a pointer instruction is.
    fn pointer_of(&mut self, id: usize) -> Pointer {
        if let Some(pointer) = self.frame.known_pointer(id) {
            return pointer;
        }
        let result = self.plan.program[id].result(self.plan);
        let pointer = match self.slots.get(id) {
            Some(slot) => {
                let at = self.frame.place(slot);
                let distance = self.frame.load(at);
                let base = self.frame.builder.ins().iadd(self.frame.arena, distance);
                Pointer { base, offset: 0 }
            }
            None => self.frame.place(result),
        };
        self.frame.know_pointer(id, pointer);
        pointer
    }

    /// Notes an instruction's one-word result.
    pub fn define(&mut self, id: usize, value: Value) {
        let place = self.plan.program[id].result(self.plan);
        self.frame.know_word(place, value);
        if self.segments.kept[id] || self.segments.exported[id] {
            let at = self.frame.place(place);
            self.frame.store(at, value);
            self.frame.note_in_memory(place);
        }
    }

    fn masked(&mut self, value: Value, width: u32) -> Value {
        match width {
            64 => value,
            width => self.frame.builder.ins().band_imm_u(value, mask(width) as i64),
        }
    }

    pub fn flag(&mut self, condition: Value) -> Value {
        self.frame.builder.ins().uextend(types::I64, condition)
    }

    /// Emits an instruction on single words; says whether it is one.
    pub fn emit_scalar(&mut self, id: usize, inst: Inst) -> bool {
        let value = match inst {
            Inst::Copy { a, .. } => self.word(a),
            Inst::Not { a, width, .. } => {
                let a = self.word(a);
                self.frame.builder.ins().bxor_imm_u(a, mask(width) as i64)
            }
            Inst::And { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                self.frame.builder.ins().band(a, b)
            }
            Inst::Or { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                self.frame.builder.ins().bor(a, b)
            }
            Inst::Xor { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                self.frame.builder.ins().bxor(a, b)
            }
            Inst::Add { a, b, width, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let sum = self.frame.builder.ins().iadd(a, b);
                self.masked(sum, width)
            }
            Inst::Sub { a, b, width, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let difference = self.frame.builder.ins().isub(a, b);
                self.masked(difference, width)
            }
            Inst::Mul { a, b, width, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let product = self.frame.builder.ins().imul(a, b);
                self.masked(product, width)
            }
            Inst::Eq { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let equal = self.frame.builder.ins().icmp(IntCC::Equal, a, b);
                self.flag(equal)
            }
            Inst::Lt { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let less = self.frame.builder.ins().icmp(IntCC::UnsignedLessThan, a, b);
                self.flag(less)
            }
            Inst::ShiftLeft { a, b, width, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let shifted = self.frame.builder.ins().ishl(a, b);
                let shifted = self.masked(shifted, width);
                self.if_below(b, width, shifted)
            }
            Inst::ShiftRight { a, b, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let shifted = self.frame.builder.ins().ushr(a, b);
                self.if_below(b, 64, shifted)
            }
            Inst::Mux { condition, then, otherwise, .. } => {
                let (condition, then, otherwise) =
                    (self.word(condition), self.word(then), self.word(otherwise));
                self.frame.builder.ins().select(condition, then, otherwise)
            }
            Inst::Slice { a, low, width, .. } => {
                let a = self.word(a);
                let shifted =
                    if low == 0 { a } else { self.frame.builder.ins().ushr_imm_u(a, i64::from(low)) };
                self.masked(shifted, width)
            }
            Inst::Join { a, b, shift, .. } => {
                let (a, b) = (self.word(a), self.word(b));
                let high = self.frame.builder.ins().ishl_imm_u(b, i64::from(shift));
                self.frame.builder.ins().bor(a, high)
            }
            Inst::NonZero { a, .. } => {
                let a = self.word(a);
                let any = self.frame.builder.ins().icmp_imm_u(IntCC::NotEqual, a, 0);
                self.flag(any)
            }
            Inst::AllOnes { a, width, .. } => {
                let a = self.word(a);
                let ones = self.frame.constant(mask(width));
                let all = self.frame.builder.ins().icmp(IntCC::Equal, a, ones);
                self.flag(all)
            }
            Inst::Parity { a, .. } => {
                let a = self.word(a);
                let ones = self.frame.builder.ins().popcnt(a);
                self.frame.builder.ins().band_imm_u(ones, 1)
            }
            Inst::FirstOne { a, .. } => {
                let a = self.word(a);
                let first = self.frame.builder.ins().ctz(a);
                // 64 for no bit at all becomes 0.
                self.frame.builder.ins().band_imm_u(first, 63)
            }
            Inst::LowestOne { a, .. } => {
                let a = self.word(a);
                let negative = self.frame.builder.ins().ineg(a);
                self.frame.builder.ins().band(a, negative)
            }
            Inst::Decode { a, width, .. } => {
                let a = self.word(a);
                let one = self.frame.constant(1);
                let bit = self.frame.builder.ins().ishl(one, a);
                self.if_below(a, width, bit)
            }
            Inst::PopCount { a, .. } => {
                let a = self.word(a);
                self.frame.builder.ins().popcnt(a)
            }
            Inst::Read { address, base, depth, .. } => {
                let row = self.word(address);
                let at = self.row(row, base, depth, 1);
                self.frame.load(at)
            }
            Inst::ReadBit { address, base, depth, .. } => {
                let row = self.word(address);
                let word = match depth {
                    0..=64 => self.word(base),
                    _ => {
                        let index = self.frame.builder.ins().ushr_imm_u(row, 6);
                        let at = self.row(index, base, depth.div_ceil(64), 1);
                        self.frame.load(at)
                    }
                };
                let bit = self.frame.builder.ins().ushr(word, row);
                let bit = self.frame.builder.ins().band_imm_u(bit, 1);
                self.if_below(row, depth, bit)
            }
            _ => return false,
        };
        self.define(id, value);
        true
    }

    /// `value` where `index` is below `limit`, else 0.
    fn if_below(&mut self, index: Value, limit: u32, value: Value) -> Value {
        let below = self.frame.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(limit));
        let zero = self.frame.constant(0);
        self.frame.builder.ins().select(below, value, zero)
    }

    /// Where `n` words of row `row` are; a row that is not there reads as words that are always 0.
    pub fn row(&mut self, row: Value, base: u32, depth: u32, n: u32) -> Pointer {
        let ins = |emitter: &mut Self| emitter.frame.builder.ins().imul_imm_u(row, i64::from(8 * n));
        let distance = ins(self);
        let distance = self.frame.builder.ins().iadd_imm_u(distance, i64::from(base) * 8);
        let is_row = self.frame.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, row, i64::from(depth));
        let zeros = self.frame.constant(u64::from(self.plan.zeros) * 8);
        let distance = self.frame.builder.ins().select(is_row, distance, zeros);
        Pointer { base: self.frame.builder.ins().iadd(self.frame.arena, distance), offset: 0 }
    }
}

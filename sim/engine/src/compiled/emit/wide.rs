//! Values of several words: in the arena, or pointers to where they are.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::Emitter;
use super::frame::Pointer;
use super::slots::is_pointer;
use crate::ops::mask;
use crate::plan::inst::Inst;

/// Most words handled in line, one or two at a time; more are left to a native function.
const IN_LINE: u32 = 40;

impl Emitter<'_, '_> {
    /// Emits an instruction on wide values, if it is not left to the interpreter's function.
    pub fn emit_wide(&mut self, id: usize, inst: Inst) -> bool {
        match inst {
            Inst::WideCopy { d, a, n } => {
                let (to, from) = (self.frame.place(d), self.pointer(a));
                self.frame.copy(to, from, n);
            }
            Inst::WideNot { d, a, width } if width.div_ceil(64) <= IN_LINE => self.complement(d, a, width),
            Inst::WideAnd { d, a, b, n } if n <= IN_LINE => {
                let operands = [self.pointer(a), self.pointer(b)];
                let to = self.frame.place(d);
                self.frame.map(to, &operands, n, |builder, words| builder.ins().band(words[0], words[1]));
            }
            Inst::WideOr { d, a, b, n } if n <= IN_LINE => {
                let operands = [self.pointer(a), self.pointer(b)];
                let to = self.frame.place(d);
                self.frame.map(to, &operands, n, |builder, words| builder.ins().bor(words[0], words[1]));
            }
            Inst::WideXor { d, a, b, n } if n <= IN_LINE => {
                let operands = [self.pointer(a), self.pointer(b)];
                let to = self.frame.place(d);
                self.frame.map(to, &operands, n, |builder, words| builder.ins().bxor(words[0], words[1]));
            }
            Inst::WideEq { a, b, n, .. } if n <= IN_LINE => {
                let (a, b) = (self.pointer(a), self.pointer(b));
                let different = self.fold(n, |emitter, word| {
                    let [a, b] = [a, b].map(|operand| emitter.frame.load(operand.words(word)));
                    emitter.frame.builder.ins().bxor(a, b)
                });
                let equal = self.frame.builder.ins().icmp_imm_u(IntCC::Equal, different, 0);
                let equal = self.flag(equal);
                self.define(id, equal);
            }
            Inst::WideNonZero { a, n, .. } if n <= IN_LINE => {
                let a = self.pointer(a);
                let any = self.fold(n, |emitter, word| emitter.frame.load(a.words(word)));
                let any = self.frame.builder.ins().icmp_imm_u(IntCC::NotEqual, any, 0);
                let any = self.flag(any);
                self.define(id, any);
            }
            Inst::WideRead { address, base, depth, n, .. } => {
                let row = self.word(address);
                let at = self.row(row, base, depth, n);
                self.define_pointer(id, at);
            }
            Inst::WideMux { condition, then, otherwise, .. } => {
                let condition = self.word(condition);
                let [then, otherwise] = [then, otherwise].map(|place| {
                    let pointer = self.pointer(place);
                    self.frame.flatten(pointer)
                });
                let base = self.frame.builder.ins().select(condition, then, otherwise);
                self.define_pointer(id, Pointer { base, offset: 0 });
            }
            Inst::LaneSelect { vector, index, index_n: 1, lanes, lane, .. } if is_pointer(&inst) => {
                let (index, vector) = (self.word(index), self.pointer(vector));
                let vector = self.frame.flatten(vector);
                let distance = self.frame.builder.ins().imul_imm_u(index, i64::from(lane / 8));
                let at = self.frame.builder.ins().iadd(vector, distance);
                let is_lane =
                    self.frame.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(lanes));
                let zeros = self.frame.place(self.plan.zeros);
                let zeros = self.frame.flatten(zeros);
                let base = self.frame.builder.ins().select(is_lane, at, zeros);
                self.define_pointer(id, Pointer { base, offset: 0 });
            }
            _ => return false,
        }
        true
    }

    /// Or of words.
    fn fold(&mut self, n: u32, mut word: impl FnMut(&mut Self, u32) -> Value) -> Value {
        let first = word(self, 0);
        (1..n).fold(first, |all, index| {
            let word = word(self, index);
            self.frame.builder.ins().bor(all, word)
        })
    }

    fn complement(&mut self, d: u32, a: u32, width: u32) {
        let (to, from) = (self.frame.place(d), self.pointer(a));
        let whole = width / 64;
        self.frame.map(to, &[from], whole, |builder, words| builder.ins().bnot(words[0]));
        if !width.is_multiple_of(64) {
            let word = self.frame.load(from.words(whole));
            let word = self.frame.builder.ins().bxor_imm_u(word, mask(width % 64) as i64);
            self.frame.store(to.words(whole), word);
        }
    }

    /// Notes where an instruction's result is; copies it to its place if it is read after settling.
    fn define_pointer(&mut self, id: usize, pointer: Pointer) {
        self.frame.know_pointer(id, pointer);
        if self.segments.kept[id] {
            let inst = self.plan.program[id];
            let to = self.frame.place(inst.result(self.plan));
            self.frame.copy(to, pointer, inst.result_words(self.plan));
        }
        if let Some(slot) = self.slots.get(id) {
            let address = self.frame.flatten(pointer);
            let distance = self.frame.builder.ins().isub(address, self.frame.arena);
            let at = self.frame.place(slot);
            self.frame.store(at, distance);
        }
    }

    /// Puts an operand into its place in the arena.
    pub fn materialise(&mut self, place: u32) {
        let at = self.pointer(place);
        let Some(id) = self.graph.producer(place) else { return };
        let inst = self.plan.program[id];
        if is_pointer(&inst) && !self.segments.kept[id] {
            let start = inst.result(self.plan);
            let whole = Pointer { base: at.base, offset: at.offset - 8 * (place - start) as i32 };
            let to = self.frame.place(start);
            self.frame.copy(to, whole, inst.result_words(self.plan));
        }
    }
}

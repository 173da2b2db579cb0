//! Values of several words: a few in registers, more in the arena, or pointers to where they are.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};

use super::super::kernels::{self, Kernel};
use super::super::simplify::has_one_bit_at_most;
use super::Emitter;
use super::frame::Pointer;
use super::slots::is_pointer;
use super::vectors::{CHUNK, has_lanes};
use crate::ops::mask;
use crate::plan::inst::{FoldOp, Inst, Part};

/// Most words handled in line, one or two at a time; more are left to a native function.
pub const IN_LINE: u32 = 40;

/// Most words of a value held in registers.
const IN_REGISTERS: u32 = 16;

/// Most bits of a slice put together from registers; a longer one that begins at a byte is copied.
const SHIFTED: u32 = 128;

/// A bitwise operation on two values.
#[derive(Clone, Copy)]
enum Bitwise {
    And,
    Or,
    Xor,
}

impl Emitter<'_, '_> {
    /// Emits an instruction on wide values, if it is not left to the interpreter's function.
    pub fn emit_wide(&mut self, id: usize, inst: Inst) -> bool {
        match inst {
            Inst::WideCopy { d, a, n } => {
                let (to, from) = (self.frame.place(d), self.pointer(a));
                self.frame.copy(to, from, n);
                self.define_in_memory(id);
            }
            Inst::WideNot { a, width, .. } if width.div_ceil(64) <= IN_LINE => self.complement(id, a, width),
            Inst::WideAnd { a, b, n, .. } if n <= IN_LINE => self.bitwise(id, a, b, n, Bitwise::And),
            Inst::WideOr { a, b, n, .. } if n <= IN_LINE => self.bitwise(id, a, b, n, Bitwise::Or),
            Inst::WideXor { a, b, n, .. } if n <= IN_LINE => self.bitwise(id, a, b, n, Bitwise::Xor),
            Inst::WideRead { address, base, depth, n, .. } => {
                let at = self.row(address, base, depth, 8 * n);
                self.define_pointer(id, at);
            }
            Inst::WideMux { condition, then, otherwise, .. } => {
                let condition = self.condition(condition);
                let [then, otherwise] = [then, otherwise].map(|place| {
                    let pointer = self.pointer(place);
                    self.frame.flatten(pointer)
                });
                let base = self.ins().select(condition, then, otherwise);
                self.define_pointer(id, Pointer { base, offset: 0 });
            }
            Inst::PartSelect { select, parts, count, .. } => self.select_part(id, select, parts, count),
            Inst::LaneSelect { vector, index, lanes, lane, .. } if is_pointer(&inst) => {
                self.select_lane(id, vector, index, lanes, lane);
            }
            Inst::WideSlice { a, low, width, .. } if low % 8 == 0 && width > SHIFTED => {
                self.copy_bytes(id, a, low, width);
            }
            Inst::WideSlice { a, low, width, .. } if width.div_ceil(64) <= IN_LINE => {
                let pieces = (0..width).step_by(64);
                let words: Vec<Value> =
                    pieces.map(|offset| self.bits(a, low + offset, (width - offset).min(64))).collect();
                self.define(id, &words);
            }
            Inst::Concat { n, parts, count, .. } if n > IN_REGISTERS && self.is_of_words(parts, count) => {
                self.concatenate_words(id, parts, count);
            }
            Inst::Concat { n, parts, count, .. } if n <= IN_LINE => self.concatenate(id, n, parts, count),
            Inst::Replicate { d, a, from, width } if 64 % from == 0 && width.div_ceil(64) <= IN_LINE => {
                let a = self.word(a);
                let word = self.repeated(a, from, 64);
                self.fill(d, word, width);
                self.define_in_memory(id);
                if width.is_multiple_of(8 * CHUNK) {
                    // Whoever takes vectors need not wait for what has just been stored.
                    let pair = self.ins().splat(types::I64X2, word);
                    self.frame.know_vectors(d, vec![pair; (width / (8 * CHUNK)) as usize]);
                }
            }
            Inst::Replicate { a, from, width, .. } if from <= 64 && width.div_ceil(64) <= IN_REGISTERS => {
                self.repeat(id, a, from, width);
            }
            Inst::SpreadLanes { a, lanes, lane, .. }
                if (lanes * lane).div_ceil(64) <= IN_REGISTERS && lanes <= 64 =>
            {
                self.spread_lanes(id, a, lanes, lane);
            }
            Inst::LaneAdd { a, b, lanes, lane, .. }
                if has_lanes(lane) && (lanes * lane).div_ceil(64) <= IN_LINE =>
            {
                self.add_lanes(id, a, b, (lanes * lane).div_ceil(64), lane);
            }
            Inst::LaneAdd { a, b, lanes, lane, .. } if (lanes * lane).div_ceil(64) <= IN_REGISTERS => {
                let words = self.add_lanes_of_any_width(a, b, lanes, lane);
                self.define(id, &words);
            }
            Inst::WideLowestOne { a, n, .. } if n <= IN_REGISTERS => {
                let mut words = Vec::new();
                let mut none_below = None;
                for i in 0..n {
                    let word = self.word(a + i);
                    let negative = self.ins().ineg(word);
                    let lowest = self.ins().band(word, negative);
                    let zero = self.frame.constant(0);
                    words.push(match none_below {
                        None => lowest,
                        Some(below) => self.ins().select(below, zero, lowest),
                    });
                    none_below = Some(match none_below {
                        None => word,
                        Some(below) => self.ins().bor(below, word),
                    });
                }
                self.define(id, &words);
            }
            Inst::WideDecode { a, a_n: 1, width, .. } if width.div_ceil(64) <= 8 => {
                let index = self.word(a);
                let (zero, one) = (self.frame.constant(0), self.frame.constant(1));
                let bit = self.ins().ishl(one, index);
                let word = self.ins().ushr_imm_u(index, 6);
                let limit = self.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(width));
                let bit = self.ins().select(limit, bit, zero);
                let words = (0..width.div_ceil(64)).map(|i| {
                    let here = self.ins().icmp_imm_u(IntCC::Equal, word, i64::from(i));
                    self.ins().select(here, bit, zero)
                });
                let words: Vec<Value> = words.collect();
                self.define(id, &words);
            }
            Inst::LaneMux { d, mask, then, otherwise, lanes, lane } if lanes <= 64 => {
                let mask = self.word(mask);
                let (mask, lanes, lane) = self.in_lanes_of_32(mask, lanes, lane);
                let [to, then, otherwise] =
                    [self.frame.place(d), self.pointer(then), self.pointer(otherwise)]
                        .map(|pointer| self.frame.flatten(pointer));
                let (count, width) = (self.frame.constant(lanes.into()), self.frame.constant(lane.into()));
                let kernel = kernels::lane_mux(lanes, lane);
                self.frame.call_kernel(kernel, &[to, then, otherwise, mask, count, width]);
                self.define_in_memory(id);
            }
            Inst::LaneEq { a, b, lanes, lane, .. } if lanes <= 64 && matches!(lane, 8 | 16 | 32 | 64) => {
                let [a, b] = [a, b].map(|place| self.source(place));
                let equal = self.equal_elements(&a, &b, lanes, lane / 8);
                self.define(id, &equal);
            }
            Inst::OneHotSelect { d, select, vector, lanes, lane }
                if lanes <= 64 && lane.is_multiple_of(64) =>
            {
                let select = self.word(select);
                let [to, vector] =
                    [self.frame.place(d), self.pointer(vector)].map(|pointer| self.frame.flatten(pointer));
                let words = self.frame.constant(u64::from(lane / 64));
                self.frame.call_kernel(kernels::one_hot_select as Kernel, &[to, select, vector, words]);
                self.define_in_memory(id);
            }
            Inst::FoldWords { a, n, op, .. } => {
                let folded = self.fold_words(a, n, op);
                self.define(id, &[folded]);
            }
            Inst::Column { column } => return self.emit_column(id, self.plan.columns[column as usize]),
            _ => return false,
        }
        true
    }

    /// Puts words together, two at a time.
    fn fold_words(&mut self, a: u32, n: u32, op: FoldOp) -> Value {
        let from = self.source(a);
        self.loaded += n;
        let mut pairs = self.chunk(&from, 0, types::I64X2);
        for word in (2..n - 1).step_by(2) {
            let next = self.chunk(&from, 8 * word, types::I64X2);
            pairs = self.fold(op, pairs, next);
        }
        let [low, high] = [0, 1].map(|lane| self.ins().extractlane(pairs, lane));
        let mut folded = self.fold(op, low, high);
        if n % 2 == 1 {
            let last = self.word(a + n - 1);
            folded = self.fold(op, folded, last);
        }
        folded
    }

    fn fold(&mut self, op: FoldOp, a: Value, b: Value) -> Value {
        match op {
            FoldOp::Add => self.ins().iadd(a, b),
            FoldOp::And => self.ins().band(a, b),
            FoldOp::Or => self.ins().bor(a, b),
            FoldOp::Xor => self.ins().bxor(a, b),
        }
    }

    /// Sums of lanes, all at once: without the highest bit of each lane no carry leaves it, and that bit is the
    /// exclusive or of three. A carry from word to word stays within a lane, too.
    fn add_lanes_of_any_width(&mut self, a: u32, b: u32, lanes: u32, lane: u32) -> Vec<Value> {
        let highest: Vec<u32> = (1..=lanes).map(|next| next * lane - 1).collect();
        let mut carry = None;
        let words = (0..(lanes * lane).div_ceil(64)).map(|i| {
            let tops =
                highest.iter().filter(|&&bit| bit / 64 == i).fold(0, |tops, bit| tops | 1 << (bit % 64));
            let tops = self.frame.constant(tops);
            let (a, b) = (self.word(a + i), self.word(b + i));
            let [below, other] = [a, b].map(|word| self.ins().band_not(word, tops));
            let mut sum = self.ins().iadd(below, other);
            if let Some(carry) = carry {
                sum = self.ins().iadd(sum, carry);
            }
            if highest.contains(&(64 * i + 63)) {
                carry = None;
            } else {
                carry = Some(self.carry_of(below, other, sum));
            }
            let different = self.ins().bxor(a, b);
            let different = self.ins().band(different, tops);
            self.ins().bxor(sum, different)
        });
        words.collect()
    }

    /// What a sum of two words, and perhaps of a carry, carries to the next word.
    fn carry_of(&mut self, a: Value, b: Value, sum: Value) -> Value {
        let (both, either) = (self.ins().band(a, b), self.ins().bor(a, b));
        let lost = self.ins().band_not(either, sum);
        let carries = self.ins().bor(both, lost);
        self.ins().ushr_imm_u(carries, 63)
    }

    fn bitwise(&mut self, id: usize, a: u32, b: u32, n: u32, op: Bitwise) {
        if n <= IN_REGISTERS {
            let words = (0..n).map(|i| {
                let (a, b) = (self.word(a + i), self.word(b + i));
                match op {
                    Bitwise::And => self.ins().band(a, b),
                    Bitwise::Or => self.ins().bor(a, b),
                    Bitwise::Xor => self.ins().bxor(a, b),
                }
            });
            let words: Vec<Value> = words.collect();
            return self.define(id, &words);
        }
        let operands = [self.pointer(a), self.pointer(b)];
        let to = self.frame.place(self.plan.program[id].result(self.plan));
        self.frame.map(to, &operands, n, |builder, words| match op {
            Bitwise::And => builder.ins().band(words[0], words[1]),
            Bitwise::Or => builder.ins().bor(words[0], words[1]),
            Bitwise::Xor => builder.ins().bxor(words[0], words[1]),
        });
        self.define_in_memory(id);
    }

    fn complement(&mut self, id: usize, a: u32, width: u32) {
        if width.div_ceil(64) <= IN_REGISTERS {
            let words = (0..width.div_ceil(64)).map(|i| {
                let word = self.word(a + i);
                self.ins().bxor_imm_u(word, mask((width - 64 * i).min(64)) as i64)
            });
            let words: Vec<Value> = words.collect();
            return self.define(id, &words);
        }
        let (to, from) = (self.frame.place(self.plan.program[id].result(self.plan)), self.pointer(a));
        let whole = width / 64;
        self.frame.map(to, &[from], whole, |builder, words| builder.ins().bnot(words[0]));
        if !width.is_multiple_of(64) {
            let word = self.frame.load(from.words(whole));
            let word = self.ins().bxor_imm_u(word, mask(width % 64) as i64);
            self.frame.store(to.words(whole), word);
        }
        self.define_in_memory(id);
    }

    /// A pointer to the part whose bit is 1; where several are, the interpreter puts them together.
    fn select_part(&mut self, id: usize, select: u32, parts: u32, count: u32) {
        let base = match self.distance_of_parts(parts, count) {
            Some(words) => self.part_at_distance(select, self.plan.parts[parts as usize].a, words),
            None => self.part_by_bit(select, parts, count),
        };
        if has_one_bit_at_most(self.graph, select) {
            return self.define_pointer(id, Pointer { base, offset: 0 });
        }
        let word = self.word(select);
        let others = self.ins().iadd_imm_s(word, -1);
        let several = self.ins().band(word, others);
        let [put_together, join] = [(); 2].map(|()| self.frame.builder.create_block());
        let pointer = self.frame.builder.append_block_param(join, types::I64);
        self.ins().brif(several, put_together, &[], join, &[BlockArg::Value(base)]);
        self.frame.builder.switch_to_block(put_together);
        self.frame.enter();
        self.interpret(id, self.plan.program[id]);
        let whole = self.frame.place(self.plan.program[id].result(self.plan));
        let whole = self.frame.flatten(whole);
        self.frame.leave();
        self.ins().jump(join, &[BlockArg::Value(whole)]);
        self.frame.builder.switch_to_block(join);
        self.define_pointer(id, Pointer { base: pointer, offset: 0 });
    }

    /// Words from one part to the next, if all are as far apart and lie where they were before this cycle.
    fn distance_of_parts(&self, parts: u32, count: u32) -> Option<u32> {
        let parts = &self.plan.parts[parts as usize..(parts + count) as usize];
        let distance = parts.get(1)?.a.checked_sub(parts[0].a)?;
        let is_apart = |pair: &[Part]| pair[1].a.checked_sub(pair[0].a) == Some(distance);
        let is_there = parts.iter().all(|part| self.graph.producer(part.a).is_none());
        (is_there && parts.windows(2).all(is_apart)).then_some(distance)
    }

    /// The address of the part that the lowest bit chooses, of parts so many words apart; of zeros if no bit is 1.
    fn part_at_distance(&mut self, select: u32, first: u32, words: u32) -> Value {
        let word = self.word(select);
        let number = self.ins().ctz(word);
        let distance = self.ins().imul_imm_u(number, i64::from(8 * words));
        let [first, zeros] = [first, self.plan.zeros].map(|place| {
            let at = self.frame.place(place);
            self.frame.flatten(at)
        });
        let part = self.ins().iadd(first, distance);
        self.ins().select(word, part, zeros)
    }

    /// The address of the part that the highest bit chooses; of zeros if no bit is 1.
    fn part_by_bit(&mut self, select: u32, parts: u32, count: u32) -> Value {
        let zeros = self.frame.place(self.plan.zeros);
        let mut base = self.frame.flatten(zeros);
        for (bit, part) in (0..).zip(&self.plan.parts[parts as usize..(parts + count) as usize]) {
            let at = self.pointer(part.a);
            let at = self.frame.flatten(at);
            let chosen = self.bits(select, bit, 1);
            base = self.ins().select(chosen, at, base);
        }
        base
    }

    fn select_lane(&mut self, id: usize, vector: u32, index: u32, lanes: u32, lane: u32) {
        let (index, vector) = (self.word(index), self.pointer(vector));
        let vector = self.frame.flatten(vector);
        let distance = self.ins().imul_imm_u(index, i64::from(lane / 8));
        let at = self.ins().iadd(vector, distance);
        let is_lane = self.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, i64::from(lanes));
        let zeros = self.frame.place(self.plan.zeros);
        let zeros = self.frame.flatten(zeros);
        let base = self.ins().select(is_lane, at, zeros);
        self.define_pointer(id, Pointer { base, offset: 0 });
    }

    /// Whether parts begin at words and all but the last end at one.
    fn is_of_words(&self, parts: u32, count: u32) -> bool {
        let parts = &self.plan.parts[parts as usize..(parts + count) as usize];
        let (last, others) = parts.split_last().expect("a concatenation has parts");
        last.low % 64 == 0 && others.iter().all(|part| part.low % 64 == 0 && part.width % 64 == 0)
    }

    /// Words of a concatenation: each the or of the parts that reach into it.
    fn concatenate(&mut self, id: usize, n: u32, parts: u32, count: u32) {
        let parts = &self.plan.parts[parts as usize..(parts + count) as usize];
        let words: Vec<Value> = (0..n).map(|word| self.word_of_parts(parts, word)).collect();
        self.define(id, &words);
    }

    /// Stores a word until `width` bits are full.
    fn fill(&mut self, d: u32, word: Value, width: u32) {
        let to = self.frame.place(d);
        let whole = width / 64;
        let pair = if whole > 1 { Some(self.ins().splat(types::I64X2, word)) } else { None };
        let mut i = 0;
        while i < whole {
            match pair {
                Some(pair) if i + 1 < whole => {
                    self.frame.store(to.words(i), pair);
                    i += 2;
                }
                Some(_) | None => {
                    self.frame.store(to.words(i), word);
                    i += 1;
                }
            }
        }
        if !width.is_multiple_of(64) {
            let rest = self.masked(word, width % 64);
            self.frame.store(to.words(whole), rest);
        }
    }
}

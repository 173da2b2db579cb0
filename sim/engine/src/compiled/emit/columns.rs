//! Associative ports: a condition on every row at once, sixteen bytes at a time.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::super::kernels;
use super::Emitter;
use super::frame::Pointer;
use super::scalar::element_type;
use super::vectors::{CHUNK, Source, vector};
use crate::ops::mask;
use crate::plan::inst::{Column, ColumnInst, ColumnOp, array_words};

/// Most bytes of a column handled in line; longer ones are left to a native function.
const COMPARED_IN_LINE: u32 = 1024;

/// Most bytes of a column compared in line with a value; beyond, a native function with longer vectors is faster.
const COMPARED_WITHOUT_CALL: u32 = 320;

impl Emitter<'_, '_> {
    /// Emits an operation on columns, if it is not left to the interpreter's function.
    pub fn emit_column(&mut self, id: usize, inst: ColumnInst) -> bool {
        let ColumnInst { op, a, b, depth, .. } = inst;
        let (a, b) = if a.bytes == 0 { (b, a) } else { (a, b) };
        let bytes = a.bytes;
        let is_short = matches!(bytes, 1 | 2 | 4 | 8) && depth * bytes <= COMPARED_IN_LINE;
        let is_alike = b.bytes == bytes || b.bytes == 0;
        match op {
            ColumnOp::Eq
                if b.bytes == 0
                    && matches!(bytes, 1 | 2 | 4 | 8)
                    && depth * bytes > COMPARED_WITHOUT_CALL =>
            {
                let value = self.word(b.base);
                let [column, bits] = [a.base, inst.d].map(|place| self.frame.place(place));
                let [column, bits] = [column, bits].map(|pointer| self.frame.flatten(pointer));
                let rows = self.frame.constant(depth.into());
                self.frame.call_kernel(kernels::equal_rows(bytes), &[column, value, rows, bits]);
                self.define_in_memory(id);
            }
            ColumnOp::Eq if is_short && is_alike => {
                let from = self.frame.place(a.base);
                let other = self.other(b);
                let bits = self.row_bits(depth, bytes, |emitter, chunk| {
                    let (a, b) = emitter.chunks(from, other, chunk, bytes);
                    emitter.ins().icmp(IntCC::Equal, a, b)
                });
                self.define(id, &bits);
            }
            ColumnOp::EqSlice { low, width } if is_short && b.bytes == 0 => {
                let from = self.frame.place(a.base);
                let value = self.word(b.base);
                let value = self.ins().ishl_imm_u(value, i64::from(low));
                let value = self.splat(value, bytes);
                let kept = self.frame.constant(mask(width) << low);
                let kept = self.splat(kept, bytes);
                let bits = self.row_bits(depth, bytes, |emitter, chunk| {
                    let row = emitter.frame.load_as(vector(bytes), from.bytes(chunk));
                    let row = emitter.ins().band(row, kept);
                    emitter.ins().icmp(IntCC::Equal, row, value)
                });
                self.define(id, &bits);
            }
            ColumnOp::Disjoint if is_short && b.bytes == 0 => {
                let from = self.frame.place(a.base);
                let value = self.word(b.base);
                let value = self.splat(value, bytes);
                let none = self.frame.constant(0);
                let none = self.splat(none, bytes);
                let bits = self.row_bits(depth, bytes, |emitter, chunk| {
                    let row = emitter.frame.load_as(vector(bytes), from.bytes(chunk));
                    let row = emitter.ins().band(row, value);
                    emitter.ins().icmp(IntCC::Equal, row, none)
                });
                self.define(id, &bits);
            }
            ColumnOp::Pack if is_short && bytes == 1 => {
                let from = self.frame.place(a.base);
                let bits = self.row_bits(depth, bytes, |emitter, chunk| {
                    let row = emitter.frame.load_as(types::I8X16, from.bytes(chunk));
                    emitter.ins().ishl_imm_u(row, 7)
                });
                self.define(id, &bits);
            }
            ColumnOp::And | ColumnOp::Or if is_short && b.bytes == bytes => {
                let words = array_words(a.width, depth);
                let [to, a, b] = [inst.d, a.base, b.base].map(|place| self.frame.place(place));
                self.frame.map(to, &[a, b], words, |builder, words| match op {
                    ColumnOp::Or => builder.ins().bor(words[0], words[1]),
                    _ => builder.ins().band(words[0], words[1]),
                });
                self.define_in_memory(id);
            }
            ColumnOp::Eq
            | ColumnOp::EqSlice { .. }
            | ColumnOp::Disjoint
            | ColumnOp::Lt
            | ColumnOp::Pack
            | ColumnOp::Not
            | ColumnOp::And
            | ColumnOp::Or
            | ColumnOp::Slice { .. } => return false,
        }
        true
    }

    /// One bit a lane: whether two vectors' elements are equal.
    pub fn equal_elements(&mut self, a: &Source, b: &Source, lanes: u32, bytes: u32) -> Vec<Value> {
        self.row_bits(lanes, bytes, |emitter, byte| {
            let [a, b] = [a, b].map(|source| emitter.chunk(source, byte, vector(bytes)));
            emitter.ins().icmp(IntCC::Equal, a, b)
        })
    }

    fn other(&mut self, column: Column) -> Other {
        if column.bytes == 0 {
            Other::Shared(self.word(column.base))
        } else {
            Other::Column(self.frame.place(column.base))
        }
    }

    fn chunks(&mut self, a: Pointer, b: Other, chunk: u32, bytes: u32) -> (Value, Value) {
        let kind = vector(bytes);
        let a = self.frame.load_as(kind, a.bytes(chunk));
        let b = match b {
            Other::Column(b) => self.frame.load_as(kind, b.bytes(chunk)),
            Other::Shared(word) => self.splat(word, bytes),
        };
        (a, b)
    }

    /// A vector of equal elements.
    fn splat(&mut self, word: Value, bytes: u32) -> Value {
        let element = match element_type(bytes) {
            types::I64 => word,
            narrow => self.ins().ireduce(narrow, word),
        };
        self.ins().splat(vector(bytes), element)
    }

    /// The sign of every element of `holds`, packed into words. `holds` is asked for each chunk, by its first
    /// byte; a chunk at the end may reach beyond the last row, into words that are there but do not count.
    fn row_bits(
        &mut self,
        rows: u32,
        bytes: u32,
        mut holds: impl FnMut(&mut Self, u32) -> Value,
    ) -> Vec<Value> {
        let mut words = Vec::new();
        for first in (0..rows).step_by(64) {
            let count = (rows - first).min(64);
            // As many rows as one vector of bytes has, from as many chunks as an element has bytes.
            let groups: Vec<Value> = (0..count)
                .step_by(16)
                .map(|group| {
                    let left = (count - group).min(16);
                    let chunks = (left * bytes).div_ceil(CHUNK);
                    self.loaded += if self.has_several_columns { 2 * chunks } else { 0 };
                    let start = (first + group) * bytes;
                    let signs: Vec<Value> =
                        (0..chunks).map(|chunk| holds(self, start + chunk * CHUNK)).collect();
                    let bits = self.signs(&signs, bytes);
                    if group == 0 { bits } else { self.ins().ishl_imm_u(bits, i64::from(group)) }
                })
                .collect();
            let word = self.join(&groups);
            // One vector of signs, full to the last row, has no others.
            let is_full = count * bytes == CHUNK;
            words.push(if is_full { word } else { self.masked(word, count) });
        }
        words
    }

    /// Signs of up to sixteen elements, in as many chunks as they take.
    fn signs(&mut self, chunks: &[Value], bytes: u32) -> Value {
        match (bytes, chunks) {
            (8, chunks) => {
                let bits: Vec<Value> = (0..)
                    .zip(chunks)
                    .map(|(index, &chunk)| {
                        let bits = self.ins().vhigh_bits(types::I64, chunk);
                        self.ins().ishl_imm_u(bits, 2 * index)
                    })
                    .collect();
                self.join(&bits)
            }
            (_, &[chunk]) => self.ins().vhigh_bits(types::I64, chunk),
            (_, chunks) => {
                let narrow: Vec<Value> =
                    chunks.chunks(2).map(|pair| self.ins().snarrow(pair[0], pair[pair.len() - 1])).collect();
                self.signs(&narrow, bytes / 2)
            }
        }
    }
}

/// The second operand of a comparison.
#[derive(Clone, Copy)]
enum Other {
    /// The same word for all rows.
    Shared(Value),
    Column(Pointer),
}

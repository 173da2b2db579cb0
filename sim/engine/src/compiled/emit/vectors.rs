//! Wide values in vector registers: those that only operations on lanes read, where they are made.

use cranelift_codegen::ir::{ConstantData, Endianness, InstBuilder, MemFlagsData, Type, Value, types};

use super::Emitter;
use super::frame::Pointer;
use crate::compiled::graph::{Graph, InstId};
use crate::compiled::segments::Segments;
use crate::ops::mask;
use crate::plan::inst::Inst;

/// Bytes of a vector register.
pub const CHUNK: u32 = 16;

/// Fewest and most words of a value in vector registers.
const WORDS: std::ops::RangeInclusive<u32> = 2..=16;

/// Where a wide value's bytes are, for whoever takes sixteen at a time.
pub enum Source {
    Memory(Pointer),
    /// From the given byte of these on.
    Vectors(Vec<Value>, u32),
}

/// The instructions whose result is kept in vector registers alone.
pub fn in_vectors(graph: &Graph, segments: &Segments) -> Vec<bool> {
    let plan = graph.plan;
    let mut in_vectors: Vec<bool> = (plan.program.iter().enumerate())
        .map(|(id, inst)| makes_vectors(graph, inst) && !segments.kept[id] && !segments.exported[id])
        .collect();
    // Users before operands: what takes vectors to make others may have been found not to.
    for &(id, _) in segments.order.iter().rev() {
        if in_vectors[id] || reads_vectors(&plan.program[id]) {
            continue;
        }
        plan.program[id].visit_operands(plan, &mut |(place, _)| {
            if let Some(operand) = graph.producer(place) {
                in_vectors[operand] = false;
            }
        });
    }
    in_vectors
}

fn makes_vectors(graph: &Graph, inst: &Inst) -> bool {
    let plan = graph.plan;
    let n = inst.result_words(plan);
    let is_made = match *inst {
        Inst::Replicate { from, .. } => 64 % from == 0,
        Inst::WideSlice { low, .. } => low % 8 == 0,
        Inst::LaneAdd { lane, .. } => has_lanes(lane),
        Inst::Concat { parts, count, .. } => plan.parts[parts as usize..(parts + count) as usize]
            .iter()
            .all(|part| part.low % (8 * CHUNK) == 0 && part.width % (8 * CHUNK) == 0),
        _ => false,
    };
    is_made && WORDS.contains(&n) && n.is_multiple_of(2)
}

/// Whether an instruction takes vectors to make words.
fn reads_vectors(inst: &Inst) -> bool {
    match *inst {
        Inst::LaneEq { lanes, lane, .. } => has_lanes(lane) && lanes <= 64,
        Inst::FoldWords { n, .. } => n % 2 == 0,
        _ => false,
    }
}

/// Whether a vector has lanes of so many bits.
pub fn has_lanes(bits: u32) -> bool {
    matches!(bits, 8 | 16 | 32 | 64)
}

/// A vector with lanes of so many bytes.
pub fn vector(bytes: u32) -> Type {
    match bytes {
        1 => types::I8X16,
        2 => types::I16X8,
        4 => types::I32X4,
        _ => types::I64X2,
    }
}

impl Emitter<'_, '_> {
    /// Where the bytes of the value at a place are.
    pub fn source(&mut self, place: u32) -> Source {
        let known = self.graph.producer(place).and_then(|id| {
            let start = self.plan.program[id].result(self.plan);
            let vectors = self.frame.known_vectors(id).or_else(|| self.vectors_of_words(id))?;
            Some(Source::Vectors(vectors, 8 * (place - start)))
        });
        known.unwrap_or_else(|| Source::Memory(self.pointer(place)))
    }

    /// Vectors of a result whose words are in registers alone: stored as words and loaded as vectors it would have to
    /// arrive in memory in between.
    fn vectors_of_words(&mut self, id: InstId) -> Option<Vec<Value>> {
        let inst = self.plan.program[id];
        let (start, n) = (inst.result(self.plan), inst.result_words(self.plan));
        if n < 2 || n % 2 == 1 || self.frame.is_in_memory(start) {
            return None;
        }
        let words: Vec<Value> =
            (start..start + n).map(|place| self.frame.known_word(place)).collect::<Option<_>>()?;
        let pairs = words.as_chunks::<2>().0.iter();
        let vectors: Vec<Value> = pairs
            .map(|&[low, high]| {
                let low = self.ins().splat(types::I64X2, low);
                self.ins().insertlane(low, high, 1)
            })
            .collect();
        self.frame.know_vectors(id, vectors.clone());
        Some(vectors)
    }

    /// Sixteen bytes, from the given one on; eight for a `kind` of 64 bits, which is the last word of an odd number.
    pub fn chunk(&mut self, source: &Source, byte: u32, kind: Type) -> Value {
        match source {
            Source::Memory(from) => self.frame.load_as(kind, from.bytes(byte)),
            Source::Vectors(vectors, start) => {
                let at = start + byte;
                let first = vectors[(at / CHUNK) as usize];
                if kind == types::I64 {
                    let pair = self.as_vector(types::I64X2, first);
                    return self.ins().extractlane(pair, (at % CHUNK / 8) as u8);
                }
                if at.is_multiple_of(CHUNK) {
                    return self.as_vector(kind, first);
                }
                let next = vectors.get((at / CHUNK) as usize + 1).copied().unwrap_or_else(|| {
                    let zero = self.frame.constant(0);
                    self.ins().splat(types::I64X2, zero)
                });
                let [low, high] = [first, next].map(|vector| self.as_vector(types::I8X16, vector));
                let bytes: Vec<u8> = (0..16).map(|byte| (at % CHUNK) as u8 + byte).collect();
                let bytes = self.frame.builder.func.dfg.immediates.push(ConstantData::from(&bytes[..]));
                let chunk = self.ins().shuffle(low, high, bytes);
                self.as_vector(kind, chunk)
            }
        }
    }

    fn as_vector(&mut self, kind: Type, value: Value) -> Value {
        if self.frame.builder.func.dfg.value_type(value) == kind {
            return value;
        }
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.ins().bitcast(kind, flags, value)
    }

    /// Emits an instruction whose result stays in vector registers.
    pub fn emit_in_vectors(&mut self, id: InstId, inst: Inst) -> bool {
        if !self.in_vectors[id] {
            return false;
        }
        let (vectors, width) = match inst {
            Inst::Replicate { a, from, width, .. } => {
                let word = self.word(a);
                let word = self.repeated(word, from, 64);
                let vector = self.ins().splat(types::I64X2, word);
                (vec![vector; width.div_ceil(8 * CHUNK) as usize], width)
            }
            Inst::WideSlice { a, low, width, .. } => {
                let from = self.in_whole_chunks(a, low + width);
                let bytes = (0..width.div_ceil(8)).step_by(CHUNK as usize);
                let vectors = bytes.map(|byte| self.chunk(&from, low / 8 + byte, types::I64X2)).collect();
                (vectors, width)
            }
            Inst::Concat { n, parts, count, .. } => {
                let mut vectors = Vec::new();
                for part in &self.plan.parts[parts as usize..(parts + count) as usize] {
                    let from = self.source(part.a);
                    let bytes = (0..part.width / 8).step_by(CHUNK as usize);
                    vectors.extend(bytes.map(|byte| self.chunk(&from, byte, types::I64X2)));
                }
                // A value that is extended has zeros above its only part.
                let zero = self.frame.constant(0);
                let zeros = self.ins().splat(types::I64X2, zero);
                vectors.resize((8 * n / CHUNK) as usize, zeros);
                (vectors, 64 * n)
            }
            Inst::LaneAdd { a, b, lanes, lane, .. } => {
                let [a, b] = [a, b].map(|place| self.source(place));
                let sums = (0..(lanes * lane).div_ceil(8)).step_by(CHUNK as usize).map(|byte| {
                    let [a, b] = [&a, &b].map(|source| self.chunk(source, byte, vector(lane / 8)));
                    let sum = self.ins().iadd(a, b);
                    self.as_vector(types::I64X2, sum)
                });
                // Above the last lane both operands are 0.
                let sums: Vec<Value> = sums.collect();
                self.frame.know_vectors(id, sums);
                return true;
            }
            _ => return false,
        };
        let vectors = self.without_rest(vectors, width);
        self.frame.know_vectors(id, vectors);
        true
    }

    /// The lowest `width` bits of a value, and some more. What has just been stored sixteen bytes at a time is
    /// loaded as it was stored: it would have to wait until it has arrived in memory else.
    fn in_whole_chunks(&mut self, place: u32, width: u32) -> Source {
        let source = self.source(place);
        match source {
            Source::Vectors(..) => source,
            Source::Memory(from) => {
                let bytes = (0..width.div_ceil(8)).step_by(CHUNK as usize);
                let vectors = bytes.map(|byte| self.frame.load_as(types::I64X2, from.bytes(byte)));
                Source::Vectors(vectors.collect(), 0)
            }
        }
    }

    /// With zeros above `width` bits.
    fn without_rest(&mut self, mut vectors: Vec<Value>, width: u32) -> Vec<Value> {
        let rest = width % (8 * CHUNK);
        if rest > 0
            && let Some(last) = vectors.last_mut()
        {
            let ones = mask(rest.min(64)).to_le_bytes();
            let high = if rest > 64 { mask(rest - 64) } else { 0 }.to_le_bytes();
            let kept = ConstantData::from(&[ones, high].concat()[..]);
            let kept = self.frame.builder.func.dfg.constants.insert(kept);
            let kept = self.frame.builder.ins().vconst(types::I64X2, kept);
            *last = self.frame.builder.ins().band(*last, kept);
        }
        vectors
    }
}

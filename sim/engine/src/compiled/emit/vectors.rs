//! Wide values in vector registers: those that only operations on lanes read, where they are made.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{ConstantData, Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FuncInstBuilder;

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

/// Which results are made in vector registers.
pub struct Vectors {
    /// By instruction: lanes that operations on lanes make.
    lanes: Vec<bool>,
    /// By instruction: results kept in vector registers alone.
    alone: Vec<bool>,
}

impl Vectors {
    pub fn new(graph: &Graph, segments: &Segments) -> Vectors {
        let lanes = of_lanes(graph);
        let alone = alone(graph, segments, &lanes);
        Vectors { lanes, alone }
    }
}

/// The instructions that make whole vectors of lanes, and those that combine these bit by bit.
fn of_lanes(graph: &Graph) -> Vec<bool> {
    let plan = graph.plan;
    let mut of_lanes = Vec::with_capacity(plan.program.len());
    for inst in &plan.program {
        let is_of_lanes = |place| graph.producer(place).is_some_and(|id| of_lanes[id]);
        let is_one = match *inst {
            Inst::SpreadLanes { lanes, lane, .. } => {
                has_lanes(lane) && lanes <= 64 && (lanes * lane).is_multiple_of(8 * CHUNK)
            }
            Inst::LaneAdd { lane, .. } => has_lanes(lane),
            Inst::WideAnd { a, b, .. } | Inst::WideOr { a, b, .. } | Inst::WideXor { a, b, .. } => {
                is_of_lanes(a) || is_of_lanes(b)
            }
            Inst::WideNot { a, width, .. } => is_of_lanes(a) && width.is_multiple_of(8 * CHUNK),
            _ => false,
        };
        let n = inst.result_words(plan);
        of_lanes.push(is_one && WORDS.contains(&n) && n.is_multiple_of(2));
    }
    of_lanes
}

/// The instructions whose result is kept in vector registers alone.
fn alone(graph: &Graph, segments: &Segments, lanes: &[bool]) -> Vec<bool> {
    let plan = graph.plan;
    let mut in_vectors: Vec<bool> = (plan.program.iter().enumerate())
        .map(|(id, inst)| {
            (lanes[id] || makes_vectors(graph, inst)) && !segments.kept[id] && !segments.exported[id]
        })
        .collect();
    // Users before operands: what takes vectors to make others may have been found not to.
    for &(id, _) in segments.order.iter().rev() {
        if in_vectors[id] || lanes[id] || reads_vectors(&plan.program[id]) {
            if let Some(operand) = read_as_word(&plan.program[id]).and_then(|place| graph.producer(place)) {
                in_vectors[operand] = false;
            }
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
        Inst::GroupOr { groups, size, .. } => is_in_vectors(groups, size),
        Inst::FoldWords { n, .. } => n % 2 == 0,
        _ => false,
    }
}

/// What an instruction that makes vectors takes as a word: it may be one of several of a wide value.
fn read_as_word(inst: &Inst) -> Option<u32> {
    match *inst {
        Inst::Replicate { a, .. } | Inst::SpreadLanes { a, .. } => Some(a),
        _ => None,
    }
}

/// Whether groups of bits are lanes that fill vectors.
pub fn is_in_vectors(groups: u32, size: u32) -> bool {
    has_lanes(size) && groups <= 64 && (groups * size).is_multiple_of(8 * CHUNK)
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

impl<'f> Emitter<'_, 'f> {
    /// Where the bytes of the value at a place are.
    pub fn source(&mut self, place: u32) -> Source {
        let known = self.graph.producer(place).and_then(|id| {
            let start = self.plan.program[id].result(self.plan);
            let vectors = self.frame.known_vectors(start).or_else(|| self.vectors_of_words(id))?;
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
        self.frame.know_vectors(start, vectors.clone());
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

    /// Emits an instruction whose result is made in vector registers, and stays there if nothing else reads it.
    pub fn emit_in_vectors(&mut self, id: InstId, inst: Inst) -> bool {
        let is_alone = self.vectors.alone[id];
        if !is_alone && !self.vectors.lanes[id] {
            return false;
        }
        let Some(vectors) = self.made_vectors(inst) else { return false };
        if !is_alone {
            let to = self.frame.place(inst.result(self.plan));
            for (byte, &vector) in (0..).step_by(CHUNK as usize).zip(&vectors) {
                self.frame.store(to.bytes(byte), vector);
            }
            self.define_in_memory(id);
        }
        self.frame.know_vectors(inst.result(self.plan), vectors);
        true
    }

    fn made_vectors(&mut self, inst: Inst) -> Option<Vec<Value>> {
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
            // Above the last lane both operands are 0.
            Inst::LaneAdd { a, b, lanes, lane, .. } => {
                let n = (lanes * lane).div_ceil(64);
                return Some(self.chunk_by_chunk([a, b], n, vector(lane / 8), |ins, [a, b]| ins.iadd(a, b)));
            }
            Inst::WideAnd { a, b, n, .. } => {
                return Some(self.chunk_by_chunk([a, b], n, types::I64X2, |ins, [a, b]| ins.band(a, b)));
            }
            Inst::WideOr { a, b, n, .. } => {
                return Some(self.chunk_by_chunk([a, b], n, types::I64X2, |ins, [a, b]| ins.bor(a, b)));
            }
            Inst::WideXor { a, b, n, .. } => {
                return Some(self.chunk_by_chunk([a, b], n, types::I64X2, |ins, [a, b]| ins.bxor(a, b)));
            }
            Inst::WideNot { a, width, .. } => {
                let n = width / 64;
                return Some(self.chunk_by_chunk([a], n, types::I64X2, |ins, [a]| ins.bnot(a)));
            }
            Inst::SpreadLanes { a, lanes, lane, .. } => return Some(self.spread_vectors(a, lanes, lane)),
            _ => return None,
        };
        Some(self.without_rest(vectors, width))
    }

    /// What an operation makes of operands of `n` words, sixteen bytes at a time.
    fn chunk_by_chunk<const N: usize>(
        &mut self,
        operands: [u32; N],
        n: u32,
        kind: Type,
        op: impl Fn(FuncInstBuilder<'_, 'f>, [Value; N]) -> Value,
    ) -> Vec<Value> {
        let sources = operands.map(|place| self.source(place));
        let mut results = Vec::new();
        for byte in (0..8 * n).step_by(CHUNK as usize) {
            let mut chunks = [Value::from_u32(0); N];
            for (chunk, source) in chunks.iter_mut().zip(&sources) {
                *chunk = self.chunk(source, byte, kind);
            }
            let result = op(self.ins(), chunks);
            results.push(self.as_vector(types::I64X2, result));
        }
        results
    }

    /// Each of `lanes` bits widened to `lane` equal bits: every lane gets the byte with its bit, and is all ones where
    /// that has it.
    fn spread_vectors(&mut self, a: u32, lanes: u32, lane: u32) -> Vec<Value> {
        let bits = self.word(a);
        let bits = self.ins().scalar_to_vector(types::I64X2, bits);
        let bits = self.as_vector(types::I8X16, bits);
        let kind = vector(lane / 8);
        let in_chunk = 8 * CHUNK / lane;
        (0..lanes)
            .step_by(in_chunk as usize)
            .map(|first| {
                let lane_of = |byte: u32| first + byte / (lane / 8);
                let bytes: Vec<u8> = (0..CHUNK).map(|byte| (lane_of(byte) / 8) as u8).collect();
                let bytes = self.frame.builder.func.dfg.immediates.push(ConstantData::from(&bytes[..]));
                let bytes = self.ins().shuffle(bits, bits, bytes);
                let bytes = self.as_vector(kind, bytes);
                let lowest = |byte: u32| byte.is_multiple_of(lane / 8);
                let own: Vec<u8> =
                    (0..CHUNK).map(|byte| if lowest(byte) { 1 << (lane_of(byte) % 8) } else { 0 }).collect();
                let own = self.frame.builder.func.dfg.constants.insert(ConstantData::from(&own[..]));
                let own = self.ins().vconst(kind, own);
                let bit = self.ins().band(bytes, own);
                let spread = self.ins().icmp(IntCC::Equal, bit, own);
                self.as_vector(types::I64X2, spread)
            })
            .collect()
    }

    /// One bit a lane: whether it has a bit.
    pub fn any_of_lanes(&mut self, a: u32, lanes: u32, lane: u32) -> Value {
        let source = self.source(a);
        let zero = self.frame.constant(0);
        let zeros = self.ins().splat(types::I64X2, zero);
        let zeros = Source::Vectors(vec![zeros; (lanes * lane / (8 * CHUNK)) as usize], 0);
        let none = self.equal_elements(&source, &zeros, lanes, lane / 8);
        self.ins().bxor_imm_u(none[0], mask(lanes) as i64)
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

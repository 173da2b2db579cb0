//! Reference of the compressor: which requests go where, and what memory sees of the compressed lines, without any
//! timing. Written from §5.3 and the circuit's contract, not from the circuit.

use std::collections::{BTreeSet, VecDeque};

use num_bigint::BigUint;
use warpfile_hdl::regless::{Compressor, Pattern, RequestKind};
use warpfile_hdl::rtl::index_bits;

use super::memory::{Fill, Request};
use super::patterns_ref::{joined, matched, value};

/// Bytes of a short form (§5.3), and bits of a pattern's state.
const BASES_BITS: usize = 64;
const PATTERN_BITS: usize = 3;

/// A slot of a compressed line; of one never written, zeros.
type Slot = (u64, [u32; 2]);

#[derive(Clone)]
struct Line {
    number: usize,
    slots: Vec<Slot>,
    dirty: bool,
}

/// What follows from the requests so far, each list in the order in which it must happen.
#[derive(Clone, Default)]
pub struct Expected {
    /// Requests that pass the compressor.
    pub passed: VecDeque<Request>,
    /// Requests for compressed lines.
    pub of_lines: VecDeque<Request>,
    /// Registers that the compressor answers itself.
    pub answers: VecDeque<Fill>,
    /// For each of these, when it is read, whether its line had to be fetched.
    pub reads: VecDeque<bool>,
}

pub struct CompressorReference {
    lanes: usize,
    warp_bits: usize,
    /// Registers in short form: register and warp.
    short: BTreeSet<(usize, usize)>,
    /// Lines held, the one used last at the end.
    held: Vec<Line>,
    room: usize,
    /// Lines in memory.
    stored: Vec<Line>,
    pub expected: Expected,
}

impl CompressorReference {
    pub fn new(parameters: &Compressor) -> CompressorReference {
        CompressorReference {
            lanes: parameters.lanes,
            warp_bits: index_bits(parameters.warps),
            short: BTreeSet::new(),
            held: Vec::new(),
            room: parameters.lines,
            stored: Vec::new(),
            expected: Expected::default(),
        }
    }

    fn slots(&self) -> usize {
        32 * self.lanes / (BASES_BITS + PATTERN_BITS)
    }

    /// Takes a request of the operand staging unit.
    pub fn take(&mut self, request: &Request) {
        let (_, register, warp) = request.place;
        let was_short = self.short.contains(&(register, warp));
        match request.kind {
            RequestKind::Write => {
                let mut lanes = request.value.to_u32_digits();
                lanes.resize(self.lanes, 0);
                match matched(&lanes) {
                    (Pattern::Uncompressed, _) => {
                        self.short.remove(&(register, warp));
                        self.pass(request);
                    }
                    (pattern, bases) => {
                        self.short.insert((register, warp));
                        let slot = (pattern as u64, bases);
                        let (line, index, _) = self.line_of(register, warp);
                        line.slots[index] = slot;
                        line.dirty = true;
                    }
                }
            }
            RequestKind::Fetch if was_short => {
                let lanes = self.lanes;
                let (line, index, fetched) = self.line_of(register, warp);
                let (pattern, bases) = line.slots[index];
                let pattern = Pattern::of_code(pattern).unwrap();
                let value = joined(&value(pattern, bases, lanes));
                let fill = Fill { place: request.place, line: request.line, value };
                self.expected.answers.push_back(fill);
                self.expected.reads.push_back(fetched);
                if request.invalidates {
                    self.short.remove(&(register, warp));
                }
            }
            RequestKind::Invalidate if was_short => {
                self.short.remove(&(register, warp));
            }
            RequestKind::Fetch | RequestKind::Invalidate => self.pass(request),
            RequestKind::Drop => {
                self.short.retain(|&(_, of)| of != warp);
                self.pass(request);
            }
        }
    }

    fn pass(&mut self, request: &Request) {
        self.expected.passed.push_back(request.clone());
    }

    /// The line of a register, its slot there, and whether the line had to be fetched.
    fn line_of(&mut self, register: usize, warp: usize) -> (&mut Line, usize, bool) {
        let slots = self.slots();
        let place = (register << self.warp_bits) + warp;
        let number = place / slots;
        let mut fetched = false;
        let line = match self.held.iter().position(|line| line.number == number) {
            Some(held) => self.held.remove(held),
            None => {
                self.make_room();
                let line = self.fetched(number);
                fetched = line.is_some();
                line.unwrap_or(Line { number, slots: vec![(0, [0, 0]); slots], dirty: true })
            }
        };
        self.held.push(line);
        (self.held.last_mut().unwrap(), place % slots, fetched)
    }

    /// The line used longest ago leaves; memory gets it unless it has it.
    fn make_room(&mut self) {
        if self.held.len() < self.room {
            return;
        }
        let oldest = self.held.remove(0);
        if oldest.dirty {
            self.ask(RequestKind::Write, oldest.number, packed(&oldest.slots));
            self.stored.retain(|line| line.number != oldest.number);
            self.stored.push(oldest);
        }
    }

    /// The line as memory has it, if it does.
    fn fetched(&mut self, number: usize) -> Option<Line> {
        let line = self.stored.iter().find(|line| line.number == number)?.clone();
        self.ask(RequestKind::Fetch, number, BigUint::ZERO);
        Some(Line { dirty: false, ..line })
    }

    fn ask(&mut self, kind: RequestKind, number: usize, value: BigUint) {
        let place = (true, number >> self.warp_bits, number & ((1 << self.warp_bits) - 1));
        self.expected.of_lines.push_back(Request { kind, place, line: 0, invalidates: false, value });
    }
}

/// A line as memory holds it: the short forms, then the patterns.
fn packed(slots: &[Slot]) -> BigUint {
    let mut line = BigUint::ZERO;
    for (index, (pattern, bases)) in slots.iter().enumerate() {
        line |= joined(bases) << (BASES_BITS * index);
        line |= BigUint::from(*pattern) << (BASES_BITS * slots.len() + PATTERN_BITS * index);
    }
    line
}

//! Values put side by side in one word.

use cranelift_codegen::ir::{InstBuilder, Value};

use super::Emitter;
use crate::plan::inst::{Inst, Part};

/// Bits of a word that go somewhere in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// Place of the word they come from.
    place: u32,
    /// Their lowest bit in it.
    low: u32,
    /// Their number, at most 64.
    width: u32,
    /// Where the lowest goes.
    at: u32,
}

impl Piece {
    fn end(self) -> u32 {
        self.at + self.width
    }
}

/// Pieces beside each other that are 0 where one condition is.
struct Run {
    /// Places of one-bit conditions; any of them will do.
    gates: Vec<u32>,
    pieces: Vec<Piece>,
}

impl Emitter<'_, '_> {
    /// Word `word` of a concatenation.
    pub fn word_of_parts(&mut self, parts: &[Part], word: u32) -> Value {
        let (start, end) = (64 * word, 64 * word + 64);
        let reach = parts.iter().filter(|part| part.low < end && start < part.low + part.width);
        let pieces = reach.map(|part| {
            let (low, high) = (part.low.max(start), (part.low + part.width).min(end));
            let inside = low - part.low;
            Piece { place: part.a + inside / 64, low: inside % 64, width: high - low, at: low - start }
        });
        let pieces: Vec<Piece> = pieces.collect();
        self.side_by_side(&pieces)
    }

    /// The pieces, in rising order, in one word.
    fn side_by_side(&mut self, pieces: &[Piece]) -> Value {
        let mut values = Vec::new();
        for run in self.runs(pieces) {
            match run.gates.first() {
                Some(&gate) if run.is_worth_a_gate() => values.push(self.gated(&run.pieces, gate)),
                Some(_) | None => values.extend(self.values(&run.pieces)),
            }
        }
        self.gather(values)
    }

    /// Pieces that are 0 where the condition at `gate` is, with that asked once.
    fn gated(&mut self, pieces: &[Piece], gate: u32) -> (Value, u32) {
        let at = pieces[0].at;
        let opened = pieces.iter().map(|&piece| Piece { at: piece.at - at, ..self.behind_gate(piece, gate) });
        let opened: Vec<Piece> = opened.collect();
        let values = self.values(&opened);
        let value = self.gather(values);
        let gate = self.word(gate);
        let all = self.ins().ineg(gate);
        (self.ins().band(value, all), at)
    }

    /// What the pieces are, and where it goes; neighbours in one word are one.
    fn values(&mut self, pieces: &[Piece]) -> Vec<(Value, u32)> {
        self.neighbours_joined(pieces).into_iter().map(|piece| (self.value(piece), piece.at)).collect()
    }

    /// The piece's bits; what would be above bit 63 need not be 0.
    fn value(&mut self, piece: Piece) -> Value {
        if piece.end() == 64 && piece.low + piece.width <= 64 {
            let (place, low) = self.origin(piece);
            let word = self.word(place);
            return if low == 0 { word } else { self.ins().ushr_imm_u(word, i64::from(low)) };
        }
        self.bits(piece.place, piece.low, piece.width)
    }

    /// Runs of pieces that share a condition; those without one by themselves.
    fn runs(&self, pieces: &[Piece]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for &piece in pieces {
            let gates = self.gates(piece);
            if let Some(last) = runs.last_mut() {
                let shared: Vec<u32> =
                    last.gates.iter().copied().filter(|gate| gates.contains(gate)).collect();
                let are_beside = last.pieces.last().is_some_and(|before| before.end() == piece.at);
                if are_beside && (!shared.is_empty() || (last.gates.is_empty() && gates.is_empty())) {
                    last.gates = shared;
                    last.pieces.push(piece);
                    continue;
                }
            }
            runs.push(Run { gates, pieces: vec![piece] });
        }
        runs
    }

    /// Conditions of one bit without which the piece is 0, if it can be had without asking them.
    fn gates(&self, piece: Piece) -> Vec<u32> {
        let Some(inst) = self.seen(piece.place) else { return Vec::new() };
        let is_near = |places: [u32; 2]| places.iter().all(|&place| self.is_near(place));
        let is_bit = |place: u32| self.plan.width(place) == 1;
        let is_zero = |place: u32| self.plan.constants.get(place as usize) == Some(&0);
        match inst {
            Inst::Mux { condition, then, otherwise, .. }
                if is_zero(otherwise) && is_bit(condition) && is_near([condition, then]) =>
            {
                vec![condition]
            }
            Inst::And { a, b, .. } if is_bit(a) && is_bit(b) && is_near([a, b]) => vec![a, b],
            _ => Vec::new(),
        }
    }

    /// What the piece is where the condition at `gate` holds.
    fn behind_gate(&self, piece: Piece, gate: u32) -> Piece {
        let place = match self.seen(piece.place) {
            Some(Inst::Mux { then, .. }) => then,
            Some(Inst::And { a, b, .. }) if a == gate => b,
            Some(Inst::And { a, .. }) => a,
            _ => piece.place,
        };
        Piece { place, ..piece }
    }

    /// Where the piece's bits have been cut from, and the lowest of them there.
    fn origin(&self, piece: Piece) -> (u32, u32) {
        let (mut place, mut low) = (piece.place, piece.low);
        while let Some(inst) = self.seen(place) {
            match inst {
                Inst::Slice { a, low: from, width, .. }
                    if low + piece.width <= width && from + low + piece.width <= 64 && self.is_near(a) =>
                {
                    place = a;
                    low += from;
                }
                _ => break,
            }
        }
        (place, low)
    }

    /// Pieces that have been cut from one word beside each other as one.
    fn neighbours_joined(&self, pieces: &[Piece]) -> Vec<Piece> {
        let mut joined: Vec<Piece> = Vec::new();
        for &piece in pieces {
            if let Some(last) = joined.last_mut() {
                let (from, to) = (self.origin(*last), self.origin(piece));
                let are_beside = last.end() == piece.at && from.0 == to.0 && from.1 + last.width == to.1;
                if are_beside && from.1 + last.width + piece.width <= 64 {
                    *last =
                        Piece { place: from.0, low: from.1, width: last.width + piece.width, at: last.at };
                    continue;
                }
            }
            joined.push(piece);
        }
        joined
    }
}

impl Run {
    /// Whether asking once is cheaper than asking for each piece: one bit and another are one instruction as well.
    fn is_worth_a_gate(&self) -> bool {
        self.pieces.len() > 2 || (self.pieces.len() == 2 && self.pieces.iter().any(|piece| piece.width > 1))
    }
}

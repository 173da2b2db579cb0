//! Moves and conversions.

use super::emit::{Emitter, Input, Predicates};
use super::other;
use crate::program::Operation::{Alu, Double};
use crate::ptx::ir::{Type, TypeKind};

/// A read of a special register (one instruction a word), or a predicate copied. Other moves are folded.
pub fn move_words(emitter: &mut Emitter) {
    let Some(ty) = emitter.result_type(0) else { return };
    if ty == Type::Pred {
        return other::single(emitter, Alu);
    }
    other::word_by_word(emitter, ty);
}

/// `{a, b, …}` into one register: each word of the result is permuted from the elements that lie in it.
/// Elements of a whole word are folded.
pub fn pack(emitter: &mut Emitter, ty: Type) {
    let elements = emitter.instruction.srcs.len();
    let words = ty.words() as usize;
    let per_word = (elements / words).max(1);
    for word in 0..words {
        let lying = (word * per_word)..((word + 1) * per_word).min(elements);
        let inputs: Vec<Input> = lying.map(|index| emitter.source(index, 0)).collect();
        combine(emitter, &inputs, word as u8);
    }
}

/// One permutation takes two registers.
fn combine(emitter: &mut Emitter, inputs: &[Input], word: u8) {
    let mut combined = inputs[0];
    for (position, &next) in inputs.iter().enumerate().skip(1) {
        if position + 1 < inputs.len() {
            combined = emitter.step(Alu, ":permute", &[combined, next]);
        } else {
            let output = emitter.result(0, word);
            emitter.alu(":permute", &[combined, next], output);
        }
    }
    if inputs.len() == 1 {
        let output = emitter.result(0, word);
        emitter.alu(":permute", &[combined], output);
    }
}

/// One register into `{a, b, …}`: one field extraction an element.
pub fn unpack(emitter: &mut Emitter) {
    let elements = emitter.instruction.dsts.len();
    let width = emitter.instruction.srcs[0]
        .register()
        .map_or(64, |register| emitter.kernel.registers[register.index()].ty.bits() as usize);
    for index in 0..elements {
        if emitter.result_web(index).is_none() {
            continue;
        }
        let word = index * (width / elements) / 32;
        let input = emitter.source(0, word as u8);
        let output = emitter.result(index, 0);
        emitter.alu(":extract", &[input], output);
    }
}

/// A conversion that is not a copy: one instruction a result word, each reading the whole source; on the
/// double-precision unit if either side is `f64`.
pub fn convert(emitter: &mut Emitter, to: Type, from: Type) {
    let integers = to.kind() != TypeKind::Float && from.kind() != TypeKind::Float;
    let unit = if to == Type::F64 || from == Type::F64 { Double } else { Alu };
    let source: Vec<Input> = (0..from.words() as u8).map(|word| emitter.source(0, word)).collect();
    let Some(register) = emitter.result_type(0) else { return };
    let output = emitter.result(0, 0);
    emitter.emit(unit, "", &source, &[output], Predicates::default());
    if register.words() < 2 {
        return;
    }
    // A narrow integer is extended to the low word first; the high word is that one's sign. (A 32-bit low word is
    // a copy of the source, made last.)
    let inputs = if integers && from.bits() < 32 { vec![emitter.result_input(0, 0)] } else { source };
    let output = emitter.result(0, 1);
    emitter.emit(unit, ".hi", &inputs, &[output], Predicates::default());
}

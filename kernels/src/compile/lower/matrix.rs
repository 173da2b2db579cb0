//! Matrix products.

use super::emit::{Emitter, Input, Predicates};
use crate::compile::optimise::resolve::{VReg, Word};
use crate::program::Operation::Alu;
use crate::ptx::ir::Type;

/// Lanes of a warp and bits of a register.
const WARP_BITS: u32 = 32 * 32;

/// A matrix product. Hardware reads three groups of registers side by side, of up to four, and writes one; an instruction here
/// reads three registers and writes one. So the factors are read in operand passes, and then one instruction a result reads
/// the addends that it is made of: each register is read and written as often as in hardware.
pub fn multiply(emitter: &mut Emitter, k: u32, a: Type, b: Type) {
    let of_a = (16 * k * a.bits() / WARP_BITS) as usize;
    let of_b = (8 * k * b.bits() / WARP_BITS) as usize;
    let sources: Vec<Input> =
        (0..emitter.instruction.srcs.len()).map(|index| emitter.source(index, 0)).collect();
    let (factors, addends) = sources.split_at(of_a + of_b);
    for fragment in [&factors[..of_a], &factors[of_a..], addends] {
        emitter.keep_together(fragment.iter().filter_map(register).collect(), fragment.len());
    }
    for three in factors.chunks(3) {
        emitter.emit(Alu, ":operands", three, &[], Predicates::default());
        emitter.keep();
    }
    let results = emitter.instruction.dsts.len();
    let mut written: Vec<VReg> = Vec::new();
    for index in 0..results {
        // Half precision has two elements a register, single precision one.
        let first = index * addends.len() / results;
        let end = ((index + 1) * addends.len() / results).max(first + 1);
        let output = emitter.result(index, 0);
        emitter.emit(Alu, "", &addends[first..end], &[output], Predicates::default());
        emitter.keep();
        written.extend(emitter.result_web(index).map(|web| VReg::of(web, 0)));
    }
    emitter.keep_together(written, results);
}

fn register(input: &Input) -> Option<VReg> {
    match input.word {
        Word::Register(register) => Some(register),
        Word::Literal(_) | Word::Launch => None,
    }
}

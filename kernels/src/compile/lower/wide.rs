//! Pairs of 32-bit words as 64-bit values.

use super::emit::{Emitter, Input};
use crate::program::Operation;

/// A 64-bit value: low word, high word.
pub type Pair = [Input; 2];

/// One step of a long sequence in double precision: a pass over the low words, a pass over the high words.
pub fn double_step(emitter: &mut Emitter, suffix: &str, sources: &[Pair]) -> Pair {
    [0, 1].map(|word| {
        let inputs: Vec<Input> = sources.iter().map(|pair| pair[word]).collect();
        emitter.step(Operation::Double, suffix, &inputs)
    })
}

/// The last step of a long sequence in double precision: writes result 0.
pub fn double_result(emitter: &mut Emitter, suffix: &str, sources: &[Pair]) {
    for word in 0..2 {
        let inputs: Vec<Input> = sources.iter().map(|pair| pair[usize::from(word)]).collect();
        let output = emitter.result(0, word);
        emitter.emit(Operation::Double, suffix, &inputs, &[output], Default::default());
    }
}

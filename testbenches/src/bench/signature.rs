//! From the outputs of a circuit to one 64-bit word.

use warpfile_hdl::rtl::{Module, Signal};

/// Bits of the signature, and of the words it is made of.
const WORD: usize = 64;
/// By how much one wide output is rotated against the one before it.
const ROTATION: usize = 7;

/// An output with the qualifier under which it counts, if it has one.
pub(super) struct Output<'m> {
    pub value: Signal<'m>,
    pub valid_when: Option<Signal<'m>>,
}

/// The signature register over `outputs`.
pub(super) fn signature<'m>(m: &Module<'m>, outputs: &[Output<'m>]) -> Signal<'m> {
    let (narrow, wide): (Vec<_>, Vec<_>) = outputs.iter().partition(|output| output.value.width() <= WORD);
    let narrow: Vec<Signal<'m>> = narrow.iter().map(|output| output.counted(output.value)).collect();
    let wide = wide
        .iter()
        .enumerate()
        .map(|(k, output)| rotate_left(output.counted(sum_of_words(m, output.value)), ROTATION * k % WORD));
    let signature = m.register("signature", WORD).reset(0);
    let words = join(m, &narrow).into_iter().chain(wide);
    signature.set(words.fold(rotate_left(signature, 1), |sum, word| sum ^ word));
    signature
}

impl<'m> Output<'m> {
    /// `value` where the qualifier holds, else 0.
    fn counted(&self, value: Signal<'m>) -> Signal<'m> {
        self.valid_when.map_or(value, |valid| valid.mux(value, 0))
    }
}

/// Values side by side in as few words as keep their order, none across two words.
fn join<'m>(m: &Module<'m>, values: &[Signal<'m>]) -> Vec<Signal<'m>> {
    let mut words: Vec<Signal<'m>> = Vec::new();
    for &value in values {
        match words.last_mut() {
            Some(word) if word.width() + value.width() <= WORD => *word = m.cat([*word, value]),
            Some(_) | None => words.push(value),
        }
    }
    words.into_iter().map(|word| word.zext(WORD)).collect()
}

fn sum_of_words<'m>(m: &Module<'m>, value: Signal<'m>) -> Signal<'m> {
    let words = (0..value.width()).step_by(WORD).map(|low| {
        let bits = WORD.min(value.width() - low);
        value.slice(low, bits).zext(WORD)
    });
    words.fold(m.lit(WORD, 0), |sum, word| sum + word)
}

fn rotate_left(value: Signal<'_>, by: usize) -> Signal<'_> {
    if by == 0 { value } else { value.high(by).concat(value.low(WORD - by)) }
}

//! Integer arithmetic. 64 bits are two words with a carry between.

use super::emit::{Emitter, Input, Predicates, VPred};
use super::other;
use crate::compile::isa::Isa;
use crate::compile::lowering::Temporary;
use crate::compile::optimise::resolve::Word;
use crate::program::Operation::{Alu, Sfu};
use crate::ptx::ir::{Product, Type, TypeKind};

/// Add, subtract, negate, with or without carry: one instruction a word.
pub fn add(emitter: &mut Emitter, ty: Type, carry_in: Option<VPred>, carry_out: Option<VPred>) {
    let words = ty.words() as u8;
    let mut carry = carry_in;
    for word in 0..words {
        let inputs = arithmetic_sources(emitter, word);
        let output = emitter.result(0, word);
        let next = if word + 1 < words { Some(emitter.carry()) } else { carry_out };
        let predicates =
            Predicates { reads: carry.into_iter().collect(), writes: next.into_iter().collect() };
        let suffix = if words == 1 { "" } else { [".lo", ".hi"][usize::from(word)] };
        emitter.emit(Alu, suffix, &inputs, &[output], predicates);
        carry = next;
    }
}

/// A word of each source that is not a predicate.
fn arithmetic_sources(emitter: &Emitter, word: u8) -> Vec<Input> {
    (0..emitter.instruction.srcs.len())
        .filter(|&index| emitter.predicate_source(index).is_none())
        .map(|index| emitter.source(index, word))
        .collect()
}

/// Multiply, with source `addend` added if given.
pub fn multiply(emitter: &mut Emitter, ty: Type, product: Product, addend: Option<usize>) {
    match (ty.bits(), product) {
        (64, Product::Low) => multiply_low_wide(emitter, addend),
        (64, Product::High | Product::Wide) => multiply_high_wide(emitter, addend),
        (32, Product::Wide) => multiply_to_wide(emitter, addend),
        (32, Product::Low) if emitter.isa == Isa::PtxPlus => multiply_by_halves(emitter, addend),
        (_, Product::Low | Product::High | Product::Wide) => other::single(emitter, Alu),
    }
}

/// Low half of 32 × 32 of 16-bit products: the cross products, moved up, and the low one. A factor of 16 bits has one cross
/// product, two of them none. Each step holds its true value, so it is a function of what it reads.
fn multiply_by_halves(emitter: &mut Emitter, addend: Option<usize>) {
    let (a, b) = (emitter.source(0, 0), emitter.source(1, 0));
    let addend = addend.map(|index| emitter.source(index, 0));
    let steps = match [0, 1].into_iter().filter(|&index| !emitter.has_16_bits(index)).count() {
        0 => {
            let inputs: Vec<Input> = [a, b].into_iter().chain(addend).collect();
            let output = emitter.result(0, 0);
            return emitter.alu("", &inputs, output);
        }
        1 => &[Temporary::Cross][..],
        _ => &[Temporary::CrossHalf, Temporary::Cross],
    };
    let mut inputs = vec![a, b];
    for &step in steps {
        let sum = emitter.temporary(step);
        emitter.function(":half_product", &inputs, sum);
        inputs = vec![a, b, sum.input()];
    }
    let up = emitter.temporary(Temporary::CrossUp);
    emitter.function(":up", &inputs[2..], up);
    let product = if addend.is_some() { emitter.temporary(Temporary::Product) } else { emitter.result(0, 0) };
    emitter.function(":half_product", &[a, b, up.input()], product);
    if let Some(addend) = addend {
        let output = emitter.result(0, 0);
        emitter.function(":add", &[product.input(), addend], output);
    }
}

/// As [`multiply`], with carries.
pub fn multiply_carry(
    emitter: &mut Emitter,
    ty: Type,
    product: Product,
    carry_in: Option<VPred>,
    carry_out: Option<VPred>,
) {
    if ty.bits() == 32 {
        let inputs = arithmetic_sources(emitter, 0);
        let output = emitter.result(0, 0);
        let predicates =
            Predicates { reads: carry_in.into_iter().collect(), writes: carry_out.into_iter().collect() };
        return emitter.emit(Alu, "", &inputs, &[output], predicates);
    }
    let (a, b) = (emitter.pair(0), emitter.pair(1));
    let low = emitter.step(Alu, ":product", &[a[0], b[0]]);
    let cross = emitter.step(Alu, ":cross", &[a[1], b[0], low]);
    let high = emitter.step(Alu, ":cross", &[a[0], b[1], cross]);
    let top = match product {
        Product::Low => [low, high],
        Product::High | Product::Wide => {
            let sum = emitter.step(Alu, ":product", &[a[1], b[1], high]);
            let carry = emitter.step(Alu, ":product", &[a[1], b[1], sum]);
            [sum, carry]
        }
    };
    let mut carry = carry_in;
    for (word, part) in (0..2).zip(top) {
        let addend = emitter.source(2, word);
        let output = emitter.result(0, word);
        let next = if word == 0 { Some(emitter.carry()) } else { carry_out };
        let predicates =
            Predicates { reads: carry.into_iter().collect(), writes: next.into_iter().collect() };
        emitter.emit(Alu, ":add", &[part, addend], &[output], predicates);
        carry = next;
    }
}

/// 32 × 32 → 64: low and high half, each a multiply-add.
fn multiply_to_wide(emitter: &mut Emitter, addend: Option<usize>) {
    let (a, b) = (emitter.source(0, 0), emitter.source(1, 0));
    let carry = emitter.carry();
    for word in 0..2 {
        let inputs: Vec<Input> =
            [a, b].into_iter().chain(addend.map(|index| emitter.source(index, word))).collect();
        let output = emitter.result(0, word);
        let predicates = match (addend, word) {
            (None, _) => Predicates::default(),
            (Some(_), 0) => Predicates::write(carry),
            (Some(_), _) => Predicates::read(carry),
        };
        emitter.emit(Alu, [".lo", ".hi"][usize::from(word)], &inputs, &[output], predicates);
    }
}

/// Low half of 64 × 64: the low product in two halves, and a cross product for each high word that is not 0.
fn multiply_low_wide(emitter: &mut Emitter, addend: Option<usize>) {
    let (a, b) = (emitter.pair(0), emitter.pair(1));
    let carry = emitter.carry();
    let low_inputs: Vec<Input> =
        [a[0], b[0]].into_iter().chain(addend.map(|index| emitter.source(index, 0))).collect();
    let high_addend = addend.map(|index| emitter.source(index, 1));
    let crosses: Vec<[Input; 2]> = [[a[1], b[0]], [a[0], b[1]]]
        .into_iter()
        .filter(|factors| factors.iter().all(|factor| factor.word != Word::Literal(0)))
        .collect();

    let low = emitter.result(0, 0);
    let high = emitter.result(0, 1);
    let low_carry = addend.map(|_| carry);
    let writes = Predicates { reads: Vec::new(), writes: low_carry.into_iter().collect() };
    let reads = Predicates { reads: low_carry.into_iter().collect(), writes: Vec::new() };
    emitter.emit(Alu, ".lo", &low_inputs, &[low], writes);
    let first_inputs: Vec<Input> = [a[0], b[0]].into_iter().chain(high_addend).collect();
    if crosses.is_empty() {
        return emitter.emit(Alu, ".hi", &first_inputs, &[high], reads);
    }
    let exact = addend.is_none() && crosses.len() == 2;
    let first = if exact { emitter.temporary(Temporary::ProductHigh) } else { emitter.step_output() };
    emitter.emit(Alu, ":product", &first_inputs, &[first], reads);
    let mut sum = first.input();
    let last = crosses.len() - 1;
    for (position, [x, y]) in crosses.into_iter().enumerate() {
        let output = match (position == last, exact) {
            (true, _) => high,
            (false, true) => emitter.temporary(Temporary::ProductCross),
            (false, false) => emitter.step_output(),
        };
        emitter.alu(":cross", &[x, y, sum], output);
        sum = output.input();
    }
}

/// High half of 64 × 64: four products, the middle ones summed with carries.
fn multiply_high_wide(emitter: &mut Emitter, addend: Option<usize>) {
    let (a, b) = (emitter.pair(0), emitter.pair(1));
    let low = emitter.step(Alu, ":product", &[a[0], b[0]]);
    let (carry, second_carry, last_carry) = (emitter.carry(), emitter.carry(), emitter.carry());
    let middle = emitter.step_output();
    emitter.emit(Alu, ":cross", &[a[1], b[0], low], &[middle], Predicates::write(carry));
    let upper = emitter.step_output();
    emitter.emit(Alu, ":cross", &[a[1], b[0]], &[upper], Predicates::read(carry));
    emitter.emit(Alu, ":carry", &[a[0], b[1], middle.input()], &[], Predicates::write(second_carry));
    let sum = emitter.step_output();
    emitter.emit(Alu, ":cross", &[a[0], b[1], upper.input()], &[sum], Predicates::read(second_carry));
    let addends: Vec<Input> =
        (0..2).filter_map(|word| addend.map(|index| emitter.source(index, word))).collect();
    let outputs = [emitter.result(0, 0), emitter.result(0, 1)];
    let parts = if addends.is_empty() { outputs } else { [emitter.step_output(), emitter.step_output()] };
    emitter.emit(Alu, ".lo", &[a[1], b[1], sum.input()], &[parts[0]], Predicates::write(last_carry));
    emitter.emit(Alu, ".hi", &[a[1], b[1]], &[parts[1]], Predicates::read(last_carry));
    if let [low_addend, high_addend] = addends[..] {
        let carry = emitter.carry();
        emitter.emit(Alu, ":add", &[parts[0].input(), low_addend], &[outputs[0]], Predicates::write(carry));
        emitter.emit(Alu, ":add", &[parts[1].input(), high_addend], &[outputs[1]], Predicates::read(carry));
    }
}

/// 24-bit products: two field extractions, then a 32-bit multiply-add; one instruction where they are what multipliers do.
pub fn multiply24(emitter: &mut Emitter) {
    if emitter.isa == Isa::PtxPlus {
        return other::single(emitter, Alu);
    }
    let (a, b) = (emitter.source(0, 0), emitter.source(1, 0));
    let (a, b) = (emitter.step(Alu, ":field", &[a]), emitter.step(Alu, ":field", &[b]));
    let addend = (emitter.instruction.srcs.len() > 2).then(|| emitter.source(2, 0));
    let inputs: Vec<Input> = [a, b].into_iter().chain(addend).collect();
    let output = emitter.result(0, 0);
    emitter.alu("", &inputs, output);
}

/// `c + |a - b|`: one instruction in 32 bits; in 64 a difference, its sign applied, a sum, two words each.
pub fn sum_of_absolute_difference(emitter: &mut Emitter, ty: Type) {
    if ty.words() == 1 {
        return other::single(emitter, Alu);
    }
    let (a, b) = (emitter.pair(0), emitter.pair(1));
    let difference = [0, 1].map(|word| emitter.step(Alu, ":sub", &[a[word], b[word]]));
    let magnitude = difference.map(|word| emitter.step(Alu, ":abs", &[word, difference[1]]));
    for word in 0..2 {
        let addend = emitter.source(2, word);
        let output = emitter.result(0, word);
        emitter.alu(":add", &[magnitude[usize::from(word)], addend], output);
    }
}

/// `|a|`: one instruction; in 64 bits the sign test and a conditional negation.
pub fn absolute(emitter: &mut Emitter, ty: Type) {
    if ty.words() == 1 {
        return other::single(emitter, Alu);
    }
    let a = emitter.pair(0);
    let (negative, carry) = (emitter.carry(), emitter.carry());
    emitter.emit(Alu, ":sign", &[a[1]], &[], Predicates::write(negative));
    for word in 0..2 {
        let output = emitter.result(0, word);
        let mut predicates = Predicates::read(negative);
        if word == 0 {
            predicates.writes.push(carry);
        } else {
            predicates.reads.push(carry);
        }
        emitter.emit(Alu, [".lo", ".hi"][usize::from(word)], &[a[usize::from(word)]], &[output], predicates);
    }
}

/// Minimum or maximum: one instruction, packed or not; in 64 bits a comparison (2) and a selection (2).
pub fn minimum(emitter: &mut Emitter, ty: Type) {
    if ty.words() == 1 {
        return other::single(emitter, Alu);
    }
    let (a, b) = (emitter.pair(0), emitter.pair(1));
    let (low, less) = (emitter.carry(), emitter.carry());
    emitter.emit(Alu, ":compare", &[a[0], b[0]], &[], Predicates::write(low));
    let both = Predicates { reads: vec![low], writes: vec![less] };
    emitter.emit(Alu, ":compare", &[a[1], b[1]], &[], both);
    for word in 0..2 {
        let output = emitter.result(0, word);
        let inputs = [a[usize::from(word)], b[usize::from(word)]];
        emitter.emit(Alu, ":select", &inputs, &[output], Predicates::read(less));
    }
}

/// Bits set: one instruction a word, and a sum.
pub fn count_bits(emitter: &mut Emitter, ty: Type) {
    combine_words(emitter, ty, ":count");
}

/// Leading zeros and the like: one instruction a word, and a selection.
pub fn find_bit(emitter: &mut Emitter, ty: Type) {
    combine_words(emitter, ty, ":find");
}

fn combine_words(emitter: &mut Emitter, ty: Type, suffix: &str) {
    if ty.words() == 1 {
        return other::single(emitter, Alu);
    }
    let a = emitter.pair(0);
    let parts = a.map(|word| emitter.step(Alu, suffix, &[word]));
    let output = emitter.result(0, 0);
    emitter.alu("", &parts, output);
}

/// The n-th one from a bit on. Hardware has no instruction for it: what lies on the other side of the bit is masked off, and
/// a binary search counts the ones of a half, compares, and goes on in one of both halves; what is not found is all ones.
pub fn find_nth_set(emitter: &mut Emitter) {
    let (a, base, offset) = (emitter.source(0, 0), emitter.source(1, 0), emitter.source(2, 0));
    let mut field = emitter.step(Alu, ":mask", &[a, base, offset]);
    let mut left = emitter.step(Alu, ":abs", &[offset]);
    let mut position = emitter.step(Alu, ":start", &[base, offset]);
    for _half in 0..5 {
        let count = emitter.step(Alu, ":count", &[field]);
        let beyond = emitter.carry();
        emitter.emit(Alu, ":compare", &[count, left], &[], Predicates::write(beyond));
        let [next_field, next_left, next_position] = [0; 3].map(|_| emitter.step_output());
        emitter.emit(Alu, ":shift", &[field], &[next_field], Predicates::read(beyond));
        emitter.emit(Alu, ":sub", &[left, count], &[next_left], Predicates::read(beyond));
        emitter.emit(Alu, ":add", &[position], &[next_position], Predicates::read(beyond));
        (field, left, position) = (next_field.input(), next_left.input(), next_position.input());
    }
    let output = emitter.result(0, 0);
    emitter.alu(":select", &[position, field, left], output);
}

/// Bit reversal: in 64 bits each word becomes the reverse of the other.
pub fn reverse_bits(emitter: &mut Emitter, ty: Type) {
    if ty.words() == 1 {
        return other::single(emitter, Alu);
    }
    for word in 0..2 {
        let (input, output) = (emitter.source(0, 1 - word), emitter.result(0, word));
        emitter.alu([".lo", ".hi"][usize::from(word)], &[input], output);
    }
}

/// Bit field extraction (position is source 1) or insertion (source 2): one instruction if position and length
/// are constants, which are then packed at compile time; otherwise one more to pack them. In 64 bits a shift
/// and a mask, two words each.
pub fn bit_field(emitter: &mut Emitter, ty: Type, position: usize) {
    let values: Vec<usize> = (0..position).collect();
    let at = [emitter.source(position, 0), emitter.source(position + 1, 0)];
    if ty.words() == 2 {
        let shifted = [0, 1].map(|word| {
            let inputs: Vec<Input> = values.iter().map(|&index| emitter.source(index, word)).collect();
            emitter.step(Alu, ":shift", &[&inputs[..], &at[..1]].concat())
        });
        for word in 0..2 {
            let output = emitter.result(0, word);
            emitter.alu(":mask", &[shifted[usize::from(word)], at[1]], output);
        }
        return;
    }
    let mut inputs: Vec<Input> = values.iter().map(|&index| emitter.source(index, 0)).collect();
    if !at.iter().all(|part| part.word.is_constant()) {
        inputs.push(emitter.step(Alu, ":pack", &at));
    }
    let output = emitter.result(0, 0);
    emitter.alu("", &inputs, output);
}

/// `a == 0`: one instruction reads both words.
pub fn is_zero(emitter: &mut Emitter, ty: Type) {
    other::whole_sources(emitter, Alu);
    if ty.words() == 2 {
        let output = emitter.result(0, 1);
        emitter.alu(".hi", &[], output);
    }
}

/// Left shift: one instruction; in 64 bits a funnel shift for the high word and a shift for the low one.
pub fn shift_left(emitter: &mut Emitter, ty: Type) {
    if ty.words() == 1 {
        return other::single(emitter, Alu);
    }
    let (a, amount) = (emitter.pair(0), emitter.source(1, 0));
    let far = matches!(amount.word, Word::Literal(32..));
    let high = if far { vec![a[0]] } else { vec![a[0], a[1], amount] };
    let (low_output, high_output) = (emitter.result(0, 0), emitter.result(0, 1));
    emitter.alu(".hi", &high, high_output);
    emitter.alu(".lo", &[a[0], amount], low_output);
}

/// Right shift: one instruction; in 64 bits a funnel shift for the low word and a shift for the high one.
pub fn shift_right(emitter: &mut Emitter, ty: Type) {
    if ty.words() == 1 {
        return other::single(emitter, Alu);
    }
    let (a, amount) = (emitter.pair(0), emitter.source(1, 0));
    let far = matches!(amount.word, Word::Literal(32..));
    let low = if far { vec![a[1]] } else { vec![a[0], a[1], amount] };
    let (low_output, high_output) = (emitter.result(0, 0), emitter.result(0, 1));
    emitter.alu(".lo", &low, low_output);
    emitter.alu(".hi", &[a[1], amount], high_output);
}

/// Division or remainder. There is no divider: a reciprocal estimate in floating point, the quotient from it,
/// and corrections by comparison. Signed operands are made positive first and the sign is applied last.
pub fn divide(emitter: &mut Emitter, ty: Type, remainder: bool) {
    let signed = ty.kind() == TypeKind::Signed;
    if ty.words() == 2 {
        return divide_wide(emitter, signed, remainder);
    }
    let (mut a, mut b) = (emitter.source(0, 0), emitter.source(1, 0));
    if b.word.literal().is_some_and(|divisor| divisor > 0) {
        return divide_by_constant(emitter, signed, remainder);
    }
    let original = [a, b];
    if signed {
        a = emitter.step(Alu, ":abs", &[a]);
        b = emitter.step(Alu, ":abs", &[b]);
    }
    let float = emitter.step(Alu, ":to_float", &[b]);
    let reciprocal = emitter.step(Sfu, ":rcp", &[float]);
    let scaled = emitter.step(Alu, ":scale", &[reciprocal]);
    let estimate = emitter.step(Alu, ":to_int", &[scaled]);
    let negated = emitter.step(Alu, ":neg", &[b]);
    let error = emitter.step(Alu, ":mul", &[negated, estimate]);
    let better = emitter.step(Alu, ":mad_hi", &[estimate, error]);
    let mut quotient = emitter.step(Alu, ":mul_hi", &[better, a]);
    let mut rest = emitter.step(Alu, ":mad", &[negated, quotient, a]);
    for _ in 0..2 {
        let too_small = emitter.carry();
        emitter.emit(Alu, ":compare", &[rest, b], &[], Predicates::write(too_small));
        let corrected = emitter.step_output();
        let (of, by) = if remainder { (rest, b) } else { (quotient, rest) };
        let inputs: &[Input] = if remainder { &[of, by] } else { &[of] };
        emitter.emit(Alu, ":correct", inputs, &[corrected], Predicates::read(too_small));
        if remainder {
            rest = corrected.input();
        } else {
            quotient = corrected.input();
            rest = emitter.step(Alu, ":rest", &[rest, b]);
        }
    }
    let magnitude = if remainder { rest } else { quotient };
    let by_zero = emitter.carry();
    emitter.emit(Alu, ":zero", &[original[1]], &[], Predicates::write(by_zero));
    let output = emitter.result(0, 0);
    let sign: &[Input] = match (signed, remainder) {
        (false, _) => &[],
        (true, true) => &original[..1],
        (true, false) => &original,
    };
    emitter.emit(Alu, ":sign", &[&[magnitude], sign].concat(), &[output], Predicates::read(by_zero));
}

/// A multiplication by the reciprocal and a shift, and for a remainder a multiply-subtract; a power of two
/// needs no multiplication.
fn divide_by_constant(emitter: &mut Emitter, signed: bool, remainder: bool) {
    let (a, b) = (emitter.source(0, 0), emitter.source(1, 0));
    let output = emitter.result(0, 0);
    let power = b.word.literal().is_some_and(u32::is_power_of_two);
    if power && !signed {
        return emitter.alu("", &[a], output);
    }
    let first = emitter.step(Alu, if power { ":bias" } else { ":mul_hi" }, &[a]);
    if !remainder {
        let sign = signed.then_some(a);
        return emitter.alu(":shift", &[Some(first), sign].into_iter().flatten().collect::<Vec<_>>(), output);
    }
    let quotient = emitter.step(Alu, ":shift", &[first]);
    emitter.alu(":mad", &[quotient, a], output);
}

/// 64-bit division is a subroutine of about 70 instructions in hardware; what counts for the register file is
/// kept: two Newton steps on a 64-bit reciprocal estimate, the quotient, the remainder, two corrections.
fn divide_wide(emitter: &mut Emitter, signed: bool, remainder: bool) {
    let (mut a, mut b) = (emitter.pair(0), emitter.pair(1));
    let signs = [a[1], b[1]];
    if signed {
        a = wide_step(emitter, ":abs", &[a]);
        b = wide_step(emitter, ":abs", &[b]);
    }
    let float = emitter.step(Alu, ":to_float", &b);
    let reciprocal = emitter.step(Sfu, ":rcp", &[float]);
    let scaled = emitter.step(Alu, ":scale", &[reciprocal]);
    let low = emitter.step(Alu, ":to_int", &[scaled]);
    let high = emitter.step(Alu, ":to_int", &[scaled]);
    let mut estimate = [low, high];
    for _ in 0..2 {
        let error = wide_product(emitter, estimate, b);
        estimate = wide_product(emitter, estimate, error);
    }
    let quotient = wide_product(emitter, estimate, a);
    let product = wide_product(emitter, quotient, b);
    let rest = wide_step(emitter, ":sub", &[a, product]);
    let mut magnitude = if remainder { rest } else { quotient };
    for _ in 0..2 {
        let less = compare_wide(emitter, rest, b);
        magnitude = [0, 1].map(|word| {
            let output = emitter.step_output();
            emitter.emit(Alu, ":correct", &[magnitude[word]], &[output], Predicates::read(less));
            output.input()
        });
    }
    for word in 0..2 {
        let output = emitter.result(0, word);
        let sign: &[Input] = if signed { &signs } else { &[] };
        emitter.alu(":sign", &[&[magnitude[usize::from(word)]], sign].concat(), output);
    }
}

fn wide_step(emitter: &mut Emitter, suffix: &str, sources: &[[Input; 2]]) -> [Input; 2] {
    [0, 1].map(|word| {
        let inputs: Vec<Input> = sources.iter().map(|pair| pair[word]).collect();
        emitter.step(Alu, suffix, &inputs)
    })
}

/// Part of a 64 × 64 product: low product (2) and two cross products summed into the high word.
fn wide_product(emitter: &mut Emitter, a: [Input; 2], b: [Input; 2]) -> [Input; 2] {
    let low = emitter.step(Alu, ":mul", &[a[0], b[0]]);
    let high = emitter.step(Alu, ":mul_hi", &[a[0], b[0]]);
    let cross = emitter.step(Alu, ":cross", &[a[1], b[0], high]);
    let high = emitter.step(Alu, ":cross", &[a[0], b[1], cross]);
    [low, high]
}

fn compare_wide(emitter: &mut Emitter, a: [Input; 2], b: [Input; 2]) -> VPred {
    let (low, less) = (emitter.carry(), emitter.carry());
    emitter.emit(Alu, ":compare", &[a[0], b[0]], &[], Predicates::write(low));
    let both = Predicates { reads: vec![low], writes: vec![less] };
    emitter.emit(Alu, ":compare", &[a[1], b[1]], &[], both);
    less
}

//! Floating-point arithmetic. Sequences follow the shape of what `cuobjdump` shows for public builds:
//! a special-function seed, then Newton steps of fused multiply-adds.

use super::emit::{Emitter, Input, Predicates};
use super::other;
use super::wide::{double_result, double_step};
use crate::program::Operation::{Alu, Sfu};
use crate::ptx::ir::{Precision, Transcendental, Type};

/// Add, subtract, multiply, fuse, minimum, maximum: one instruction, or two passes in double precision.
pub fn arithmetic(emitter: &mut Emitter, ty: Type) {
    if ty != Type::F64 {
        return other::single(emitter, Alu);
    }
    let sources: Vec<_> = (0..emitter.instruction.srcs.len()).map(|index| emitter.pair(index)).collect();
    double_result(emitter, ":pass", &sources);
}

/// Absolute value, negation, sign copy: only the word with the sign changes; `magnitude` is the source that
/// gives the other one.
pub fn change_sign(emitter: &mut Emitter, ty: Type, magnitude: usize) {
    let top = (ty.words() - 1) as u8;
    let inputs: Vec<Input> =
        (0..emitter.instruction.srcs.len()).map(|index| emitter.source(index, top)).collect();
    if ty == Type::F64 {
        let (low, output) = (emitter.source(magnitude, 0), emitter.result(0, 0));
        emitter.alu(".lo", &[low], output);
    }
    let output = emitter.result(0, top);
    emitter.alu("", &inputs, output);
}

/// Division: reciprocal of the divisor, quotient, and for IEEE results a range check and corrections.
pub fn divide(emitter: &mut Emitter, ty: Type, precision: Precision, ftz: bool) {
    if ty == Type::F64 {
        return divide_double(emitter);
    }
    let (a, b, output) = (emitter.source(0, 0), emitter.source(1, 0), emitter.result(0, 0));
    match precision {
        Precision::Approx | Precision::Full if ftz => {
            let reciprocal = emitter.step(Sfu, ":rcp", &[b]);
            emitter.alu(":mul", &[a, reciprocal], output);
        }
        Precision::Approx | Precision::Full => {
            let out_of_range = emitter.carry();
            emitter.emit(Alu, ":range", &[b], &[], Predicates::write(out_of_range));
            let scaled = emitter.step_output();
            emitter.emit(Alu, ":scale", &[b], &[scaled], Predicates::read(out_of_range));
            let reciprocal = emitter.step(Sfu, ":rcp", &[scaled.input()]);
            let quotient = emitter.step(Alu, ":mul", &[a, reciprocal]);
            emitter.emit(Alu, ":unscale", &[quotient], &[output], Predicates::read(out_of_range));
        }
        Precision::Ieee(_) => {
            let seed = emitter.step(Sfu, ":rcp", &[b]);
            let special = emitter.carry();
            emitter.emit(Alu, ":check", &[a, b], &[], Predicates::write(special));
            let error = emitter.step(Alu, ":fma", &[b, seed]);
            let reciprocal = emitter.step(Alu, ":fma", &[seed, error]);
            let quotient = emitter.step(Alu, ":fma", &[a, reciprocal]);
            let remainder = emitter.step(Alu, ":fma", &[b, quotient, a]);
            let better = emitter.step(Alu, ":fma", &[remainder, reciprocal, quotient]);
            let rest = emitter.step(Alu, ":fma", &[b, better, a]);
            emitter.emit(Alu, ":fma", &[rest, reciprocal, better], &[output], Predicates::read(special));
        }
    }
}

fn divide_double(emitter: &mut Emitter) {
    let (a, b) = (emitter.pair(0), emitter.pair(1));
    let reciprocal = refine_reciprocal(emitter, b);
    let quotient = double_step(emitter, ":mul", &[a, reciprocal]);
    let remainder = double_step(emitter, ":fma", &[b, quotient, a]);
    double_result(emitter, ":fma", &[remainder, reciprocal, quotient]);
}

/// A seed from the high word, then two Newton steps of two fused operations each.
fn refine_reciprocal(emitter: &mut Emitter, b: [Input; 2]) -> [Input; 2] {
    let high = emitter.step(Sfu, ":rcp64h", &[b[1]]);
    let low = emitter.step(Alu, ":seed", &[]);
    let mut estimate = [low, high];
    for _ in 0..2 {
        let error = double_step(emitter, ":fma", &[b, estimate]);
        estimate = double_step(emitter, ":fma", &[estimate, error]);
    }
    estimate
}

/// Reciprocal.
pub fn reciprocal(emitter: &mut Emitter, ty: Type, precision: Precision) {
    if ty == Type::F64 {
        let b = emitter.pair(0);
        let estimate = refine_reciprocal(emitter, b);
        let error = double_step(emitter, ":fma", &[b, estimate]);
        return double_result(emitter, ":fma", &[estimate, error]);
    }
    let (b, output) = (emitter.source(0, 0), emitter.result(0, 0));
    match precision {
        Precision::Approx | Precision::Full => other::single(emitter, Sfu),
        Precision::Ieee(_) => {
            let special = emitter.carry();
            emitter.emit(Alu, ":check", &[b], &[], Predicates::write(special));
            let seed = emitter.step(Sfu, ":rcp", &[b]);
            let error = emitter.step(Alu, ":fma", &[b, seed]);
            emitter.emit(Alu, ":fma", &[seed, error], &[output], Predicates::read(special));
        }
    }
}

/// Square root: reciprocal square root times the operand, and for IEEE results a Newton step.
pub fn square_root(emitter: &mut Emitter, ty: Type, precision: Precision) {
    if ty == Type::F64 {
        return square_root_double(emitter);
    }
    let (a, output) = (emitter.source(0, 0), emitter.result(0, 0));
    let seed = emitter.step(Sfu, ":rsq", &[a]);
    match precision {
        Precision::Approx | Precision::Full => emitter.alu(":mul", &[a, seed], output),
        Precision::Ieee(_) => {
            let special = emitter.carry();
            emitter.emit(Alu, ":check", &[a], &[], Predicates::write(special));
            let root = emitter.step(Alu, ":mul", &[a, seed]);
            let half = emitter.step(Alu, ":half", &[seed]);
            let error = emitter.step(Alu, ":fma", &[root, a]);
            emitter.emit(Alu, ":fma", &[error, half, root], &[output], Predicates::read(special));
        }
    }
}

fn square_root_double(emitter: &mut Emitter) {
    let a = emitter.pair(0);
    let estimate = refine_reciprocal_square_root(emitter, a);
    let root = double_step(emitter, ":mul", &[a, estimate]);
    let error = double_step(emitter, ":fma", &[root, a]);
    double_result(emitter, ":fma", &[error, estimate, root]);
}

/// A seed from the high word, then one third-order step of four fused operations.
fn refine_reciprocal_square_root(emitter: &mut Emitter, a: [Input; 2]) -> [Input; 2] {
    let high = emitter.step(Sfu, ":rsq64h", &[a[1]]);
    let low = emitter.step(Alu, ":seed", &[]);
    let seed = [low, high];
    let square = double_step(emitter, ":mul", &[seed]);
    let error = double_step(emitter, ":fma", &[a, square]);
    let weight = double_step(emitter, ":fma", &[error]);
    let scaled = double_step(emitter, ":mul", &[error, seed]);
    double_step(emitter, ":fma", &[weight, scaled, seed])
}

/// Reciprocal square root.
pub fn reciprocal_square_root(emitter: &mut Emitter, ty: Type) {
    if ty != Type::F64 {
        return other::single(emitter, Sfu);
    }
    let a = emitter.pair(0);
    let estimate = refine_reciprocal_square_root(emitter, a);
    let error = double_step(emitter, ":fma", &[a, estimate]);
    double_result(emitter, ":fma", &[estimate, error]);
}

/// Sine and cosine reduce the argument first; logarithm and power scale subnormals unless they are flushed. In 16 bits there
/// is nothing to scale; of packed values each half is computed, and both are put together.
pub fn transcendental(emitter: &mut Emitter, ty: Type, function: Transcendental, ftz: bool) {
    let (a, output) = (emitter.source(0, 0), emitter.result(0, 0));
    if ty.element().is_some() {
        let halves = [":low", ":high"].map(|half| emitter.step(Sfu, half, &[a]));
        return emitter.alu(":permute", &halves, output);
    }
    if ty != Type::F32 {
        return other::single(emitter, Sfu);
    }
    match function {
        Transcendental::Tanh => other::single(emitter, Sfu),
        Transcendental::Sin | Transcendental::Cos => {
            let reduced = emitter.step(Alu, ":reduce", &[a]);
            emitter.emit(Sfu, "", &[reduced], &[output], Predicates::default());
        }
        Transcendental::Lg2 | Transcendental::Ex2 if ftz => other::single(emitter, Sfu),
        Transcendental::Lg2 | Transcendental::Ex2 => {
            let subnormal = emitter.carry();
            emitter.emit(Alu, ":range", &[a], &[], Predicates::write(subnormal));
            let scaled = emitter.step_output();
            emitter.emit(Alu, ":scale", &[a], &[scaled], Predicates::read(subnormal));
            let value = emitter.step(Sfu, "", &[scaled.input()]);
            emitter.emit(Alu, ":unscale", &[value], &[output], Predicates::read(subnormal));
        }
    }
}

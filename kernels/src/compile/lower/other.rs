//! Comparisons, selection, logic, exchange between lanes, barriers, control.

use super::emit::{Emitter, Input, Output, Predicates, VPred};
use crate::program::Operation::{self, Alu, Barrier, Double};
use crate::ptx::ir::Type;

/// One instruction over the low words of all sources.
pub fn single(emitter: &mut Emitter, operation: Operation) {
    let inputs = words(emitter, &[0]);
    emit_whole(emitter, operation, &inputs);
}

/// One instruction over both words of all sources.
pub fn whole_sources(emitter: &mut Emitter, operation: Operation) {
    let inputs = words(emitter, &[0, 1]);
    emit_whole(emitter, operation, &inputs);
}

/// As [`whole_sources`] on the ALU; it stays, because other lanes take part.
pub fn lane_exchange(emitter: &mut Emitter) {
    whole_sources(emitter, Alu);
    emitter.keep();
}

fn emit_whole(emitter: &mut Emitter, operation: Operation, inputs: &[Input]) {
    let outputs = register_results(emitter);
    let predicates = Predicates { reads: predicate_sources(emitter), writes: predicate_results(emitter) };
    emitter.emit(operation, "", inputs, &outputs, predicates);
}

/// The low word of each result that is not a predicate.
fn register_results(emitter: &mut Emitter) -> Vec<Output> {
    let mut outputs = Vec::new();
    for index in 0..emitter.instruction.dsts.len() {
        if emitter.result_type(index).is_some_and(|ty| ty != Type::Pred) {
            outputs.push(emitter.result(index, 0));
        }
    }
    outputs
}

/// The given words of all sources; words that a source does not have are constant 0.
fn words(emitter: &Emitter, words: &[u8]) -> Vec<Input> {
    (0..emitter.instruction.srcs.len())
        .filter(|&index| emitter.predicate_source(index).is_none())
        .flat_map(|index| words.iter().map(move |&word| (index, word)))
        .map(|(index, word)| emitter.source(index, word))
        .collect()
}

fn predicate_sources(emitter: &Emitter) -> Vec<VPred> {
    (0..emitter.instruction.srcs.len()).filter_map(|index| emitter.predicate_source(index)).collect()
}

fn predicate_results(emitter: &Emitter) -> Vec<VPred> {
    (0..emitter.instruction.dsts.len())
        .filter(|&index| emitter.result_is_predicate(index))
        .filter_map(|index| emitter.predicate_result(index))
        .collect()
}

/// One instruction a word: bitwise logic, selection by a predicate.
pub fn word_by_word(emitter: &mut Emitter, ty: Type) {
    for word in 0..ty.words() as u8 {
        let inputs = words(emitter, &[word]);
        let output = emitter.result(0, word);
        let predicates = Predicates { reads: predicate_sources(emitter), writes: Vec::new() };
        emitter.emit(Alu, suffix(ty, word), &inputs, &[output], predicates);
    }
}

fn suffix(ty: Type, word: u8) -> &'static str {
    match (ty.words(), word) {
        (2, 0) => ".lo",
        (2, _) => ".hi",
        (_, _) => "",
    }
}

/// A comparison of the first `sources` operands: one instruction, or in 64 bits two with a predicate between.
pub fn compare(emitter: &mut Emitter, ty: Type, sources: usize) {
    let unit = if ty == Type::F64 { Double } else { Alu };
    let top = (ty.words() - 1) as u8;
    let mut reads = predicate_sources(emitter);
    if top == 1 {
        let low: Vec<Input> = (0..sources).map(|index| emitter.source(index, 0)).collect();
        let below = emitter.carry();
        emitter.emit(unit, ".lo", &low, &[], Predicates::write(below));
        reads.push(below);
    }
    let inputs: Vec<Input> = (0..sources).map(|index| emitter.source(index, top)).collect();
    let outputs = register_results(emitter);
    let writes = predicate_results(emitter);
    emitter.emit(unit, suffix(ty, top), &inputs, &outputs, Predicates { reads, writes });
}

/// `slct`: one instruction, or in 64 bits a comparison and two selections.
pub fn select_by_sign(emitter: &mut Emitter, ty: Type) {
    if ty.words() == 1 {
        return single(emitter, Alu);
    }
    let (condition, sign) = (emitter.carry(), emitter.source(2, 0));
    emitter.emit(Alu, ":sign", &[sign], &[], Predicates::write(condition));
    for word in 0..2 {
        let inputs = [emitter.source(0, word), emitter.source(1, word)];
        let output = emitter.result(0, word);
        emitter.emit(Alu, suffix(ty, word), &inputs, &[output], Predicates::read(condition));
    }
}

/// A barrier, then a read of its result.
pub fn barrier_reduction(emitter: &mut Emitter) {
    let inputs = words(emitter, &[0]);
    let reads = predicate_sources(emitter);
    emitter.emit(Barrier, "", &inputs, &[], Predicates { reads, writes: Vec::new() });
    emit_result_only(emitter);
}

fn emit_result_only(emitter: &mut Emitter) {
    let writes = predicate_results(emitter);
    let outputs: Vec<Output> = if writes.is_empty() { vec![emitter.result(0, 0)] } else { Vec::new() };
    emitter.emit(Alu, ":result", &[], &outputs, Predicates { reads: Vec::new(), writes });
}

//! How large values can get: more than their width tells, so that fewer checks and masks are needed.

use super::graph::Graph;
use crate::ops::mask;
use crate::plan::inst::Inst;

/// The largest value of each word that is a whole result; other words are bounded by their width alone.
#[derive(Debug)]
pub struct Ranges {
    /// By instruction; 64 ones for results of several words.
    largest: Vec<u64>,
}

impl Ranges {
    pub fn new(graph: &Graph) -> Ranges {
        let mut ranges = Ranges { largest: Vec::with_capacity(graph.plan.program.len()) };
        for inst in &graph.plan.program {
            let largest = match inst.result_words(graph.plan) {
                1 => ranges.of_inst(graph, inst).min(mask(graph.plan.width(inst.result(graph.plan)))),
                _ => u64::MAX,
            };
            ranges.largest.push(largest);
        }
        ranges
    }

    /// The largest value of the word at a place.
    pub fn largest(&self, graph: &Graph, place: u32) -> u64 {
        let plan = graph.plan;
        let by_width = mask(plan.width(place));
        match (plan.constants.get(place as usize), graph.producer(place)) {
            (Some(&constant), _) => constant,
            (None, Some(id)) if plan.program[id].result_words(plan) == 1 => self.largest[id].min(by_width),
            (None, _) => by_width,
        }
    }

    fn of_inst(&self, graph: &Graph, inst: &Inst) -> u64 {
        let largest = |place| self.largest(graph, place);
        let by_width = mask(graph.plan.width(inst.result(graph.plan)));
        match *inst {
            Inst::Copy { a, .. } => largest(a),
            Inst::And { a, b, .. } => largest(a).min(largest(b)),
            Inst::Or { a, b, .. } | Inst::Xor { a, b, .. } => filled(largest(a) | largest(b)),
            Inst::Add { a, b, .. } => largest(a).saturating_add(largest(b)),
            Inst::Mul { a, b, .. } => largest(a).saturating_mul(largest(b)),
            Inst::ShiftRight { a, .. } => largest(a),
            Inst::Slice { a, low, .. } => largest(a) >> low,
            Inst::Mux { condition, then, otherwise, .. } => self
                .reduced_once(graph, condition, then, otherwise)
                .unwrap_or_else(|| largest(then).max(largest(otherwise))),
            Inst::FirstOne { a, .. } => u64::from(bits(largest(a)).saturating_sub(1)),
            Inst::PopCount { a, .. } => u64::from(bits(largest(a))),
            Inst::Decode { a, .. } => 1u64.checked_shl(largest(a).min(64) as u32).unwrap_or(u64::MAX),
            _ => by_width,
        }
    }

    /// The largest value of `sum - n` where `sum >= n`, else `sum`: the remainder of a sum below twice `n`.
    fn reduced_once(&self, graph: &Graph, condition: u32, then: u32, otherwise: u32) -> Option<u64> {
        let producer = |place| graph.producer(place).map(|id| graph.plan.program[id]);
        let Some(Inst::Not { a: is_less, width: 1, .. }) = producer(condition) else { return None };
        let (Some(Inst::Lt { a, b, .. }), Some(Inst::Sub { a: sum, b: n, .. })) =
            (producer(is_less), producer(then))
        else {
            return None;
        };
        let n_is = *graph.plan.constants.get(n as usize)?;
        let is_remainder = a == sum && b == n && otherwise == sum && n_is > 0;
        is_remainder.then(|| self.largest(graph, sum).saturating_sub(n_is).max(n_is - 1))
    }
}

/// All bits set from the highest one of a value down.
fn filled(value: u64) -> u64 {
    u64::MAX.checked_shr(value.leading_zeros()).unwrap_or(0)
}

/// Bits of a value up to its highest one.
pub fn bits(value: u64) -> u32 {
    64 - value.leading_zeros()
}

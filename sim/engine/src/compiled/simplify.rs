//! Rewrites instructions whose result can be had without making all their operands.

use std::collections::BTreeMap;

use super::graph::{Graph, InstId, Readers};
use crate::plan::inst::{FoldOp, Inst, Part};
use crate::plan::operands::Operand;
use crate::plan::{Plan, ZERO};

/// Rewrites the program. Every place that is still read keeps its value.
pub fn simplify(plan: &mut Plan) {
    let graph = Graph::new(plan, Readers::OfCycle);
    let program = plan.program.iter().map(|inst| simplified(&graph, *inst)).collect();
    plan.program = program;
    let graph = Graph::new(plan, Readers::OfCycle);
    let readers = readers(&graph);
    let mut is_done = vec![false; plan.program.len()];
    let mut changes = Vec::new();
    for root in (0..plan.program.len()).rev().filter(|&id| fold_operands(&graph, id).is_some()) {
        if !is_done[root] {
            let tree = Tree::new(&graph, &readers, root);
            let folded = tree.folded(&graph);
            if !folded.is_empty() {
                tree.inner.iter().for_each(|&id| is_done[id] = true);
                changes.extend(folded);
            }
        }
    }
    changes.into_iter().for_each(|(id, inst)| plan.program[id] = inst);
    fold_once(plan);
    fold_repeated_words(plan);
    join_at_once(plan);
}

/// Has the sum of a repeated word moved up where there are 2, 4, 8 … of it.
fn fold_repeated_words(plan: &mut Plan) {
    let graph = Graph::new(plan, Readers::OfCycle);
    let repeated = |id: InstId| match graph.plan.program[id] {
        Inst::FoldWords { d, a, n, op: FoldOp::Add } if n.is_power_of_two() => {
            let word = repeated_word(&graph, a, n)?;
            Some((id, d, Part { a: word, low: n.ilog2(), width: 64 - n.ilog2() }))
        }
        _ => None,
    };
    let found: Vec<(InstId, u32, Part)> = (0..plan.program.len()).filter_map(repeated).collect();
    for (id, d, part) in found {
        plan.program[id] = Inst::Concat { d, n: 1, parts: plan.parts.len() as u32, count: 1 };
        plan.parts.push(part);
    }
}

/// The word that is repeated in the `n` words at a place.
fn repeated_word(graph: &Graph, place: u32, n: u32) -> Option<u32> {
    match graph.plan.program[graph.producer(place)?] {
        Inst::Replicate { a, from: 64, width, .. } if width == 64 * n => Some(a),
        _ => None,
    }
}

/// Has words put together at once that are put together step by step, as far as nothing else reads what is in between.
fn join_at_once(plan: &mut Plan) {
    let graph = Graph::new(plan, Readers::OfCycle);
    let readers = readers(&graph);
    let mut flat: BTreeMap<InstId, Vec<Part>> = BTreeMap::new();
    for id in 0..plan.program.len() {
        let Some(parts) = parts_of_word(&graph, id) else { continue };
        let mut all = Vec::new();
        for part in parts {
            let inner = graph.producer(part.a).filter(|&inner| readers[inner] == 1);
            match inner.and_then(|inner| flat.get(&inner)) {
                Some(inner) => all.extend(inner.iter().filter_map(|inner| inside(part, *inner))),
                None => all.push(part),
            }
        }
        flat.insert(id, all);
    }
    for (id, all) in flat {
        let (d, parts) = (plan.program[id].result(plan), plan.parts.len() as u32);
        plan.program[id] = Inst::Concat { d, n: 1, parts, count: all.len() as u32 };
        plan.parts.extend(all);
    }
}

/// What of `inner`, a part of the value at `part`, is in that part.
fn inside(part: Part, inner: Part) -> Option<Part> {
    let width = part.width.min(inner.low + inner.width).checked_sub(inner.low).filter(|&width| width > 0)?;
    Some(Part { a: inner.a, low: part.low + inner.low, width })
}

/// What an instruction puts together, if the result is one word.
fn parts_of_word(graph: &Graph, id: InstId) -> Option<Vec<Part>> {
    let plan = graph.plan;
    match plan.program[id] {
        Inst::Join { a, b, shift, .. } => {
            let high = Part { a: b, low: shift, width: plan.width(b).min(64 - shift) };
            Some(vec![Part { a, low: 0, width: shift }, high])
        }
        Inst::Concat { n: 1, parts, count, .. } => {
            Some(plan.parts[parts as usize..(parts + count) as usize].to_vec())
        }
        _ => None,
    }
}

/// Has words that are folded several times folded once.
fn fold_once(plan: &mut Plan) {
    let mut first = BTreeMap::new();
    for inst in &mut plan.program {
        if let Inst::FoldWords { d, a, n, op } = *inst {
            let made = *first.entry((a, n, op)).or_insert(d);
            if made != d {
                *inst = Inst::Copy { d, a: made };
            }
        }
    }
}

/// Fewest words folded two at a time.
const FEWEST_FOLDED: usize = 6;

/// How often each instruction's result is read.
fn readers(graph: &Graph) -> Vec<u32> {
    let mut readers = vec![0; graph.plan.program.len()];
    let mut read = |(place, _): Operand| {
        if let Some(id) = graph.producer(place) {
            readers[id] += 1;
        }
    };
    graph.visit_roots(&mut read);
    graph.plan.program.iter().for_each(|inst| inst.visit_operands(graph.plan, &mut read));
    readers
}

/// A tree of one operation.
struct Tree {
    op: FoldOp,
    root: InstId,
    /// Its instructions besides the root.
    inner: Vec<InstId>,
    /// What it puts together, in order of place.
    leaves: Vec<u32>,
}

impl Tree {
    fn new(graph: &Graph, readers: &[u32], root: InstId) -> Tree {
        let (op, ..) = fold_operands(graph, root).expect("a root is an operation of a tree");
        let mut tree = Tree { op, root, inner: Vec::new(), leaves: Vec::new() };
        let mut open = vec![root];
        while let Some((_, _, operands)) = open.pop().and_then(|id| fold_operands(graph, id)) {
            for place in operands {
                let inner = graph.producer(place).filter(|&inner| {
                    readers[inner] == 1 && fold_operands(graph, inner).is_some_and(|(other, ..)| other == op)
                });
                match inner {
                    Some(inner) => {
                        open.push(inner);
                        tree.inner.push(inner);
                    }
                    None => tree.leaves.push(place),
                }
            }
        }
        tree.leaves.sort_unstable();
        tree
    }

    /// The instructions that take the tree's place, where the words of one value are among its leaves: their fold, and
    /// what puts it together with the one other leaf that there may be.
    fn folded(&self, graph: &Graph) -> Vec<(InstId, Inst)> {
        let (op, d) = (self.op, graph.plan.program[self.root].result(graph.plan));
        let (first, last) = (self.leaves[0], self.leaves[self.leaves.len() - 1]);
        let n = self.leaves.len();
        if is_row(graph, &self.leaves) {
            return vec![(self.root, Inst::FoldWords { d, a: first, n: n as u32, op })];
        }
        let (row, other) = match () {
            () if is_row(graph, &self.leaves[1..]) => (&self.leaves[1..], first),
            () if is_row(graph, &self.leaves[..n - 1]) => (&self.leaves[..n - 1], last),
            () => return Vec::new(),
        };
        let comes_after = |id: &&InstId| row.iter().all(|&leaf| graph.producer(leaf) < Some(**id));
        let Some(&inner) = self.inner.iter().find(comes_after) else { return Vec::new() };
        let part = graph.plan.program[inner].result(graph.plan);
        let fold = Inst::FoldWords { d: part, a: row[0], n: row.len() as u32, op };
        vec![(inner, fold), (self.root, fold_of_two(op, d, part, other))]
    }
}

/// Whether places are neighbours, enough of them, and words of one value or of state.
fn is_row(graph: &Graph, places: &[u32]) -> bool {
    let origin = graph.producer(places[0]);
    places.len() >= FEWEST_FOLDED
        && places.windows(2).all(|pair| pair[0] + 1 == pair[1])
        && places.iter().all(|&place| graph.producer(place) == origin)
}

fn fold_of_two(op: FoldOp, d: u32, a: u32, b: u32) -> Inst {
    match op {
        FoldOp::Add => Inst::Add { d, a, b, width: 64 },
        FoldOp::And => Inst::And { d, a, b },
        FoldOp::Or => Inst::Or { d, a, b },
        FoldOp::Xor => Inst::Xor { d, a, b },
    }
}

/// Operation, result and operands of an instruction that can be part of a fold.
fn fold_operands(graph: &Graph, id: InstId) -> Option<(FoldOp, u32, [u32; 2])> {
    match graph.plan.program[id] {
        Inst::Add { d, a, b, width: 64 } => Some((FoldOp::Add, d, [a, b])),
        Inst::And { d, a, b } => Some((FoldOp::And, d, [a, b])),
        Inst::Or { d, a, b } => Some((FoldOp::Or, d, [a, b])),
        Inst::Xor { d, a, b } => Some((FoldOp::Xor, d, [a, b])),
        _ => None,
    }
}

fn simplified(graph: &Graph, inst: Inst) -> Inst {
    match inst {
        Inst::WideAnd { d, a, b, n } => {
            let masked = masked(graph, d, b, a, n).or_else(|| masked(graph, d, a, b, n));
            masked.unwrap_or(if n == 1 { simplified(graph, Inst::And { d, a, b }) } else { inst })
        }
        Inst::WideOr { d, a, b, n: 1 } => Inst::Or { d, a, b },
        Inst::WideXor { d, a, b, n: 1 } => Inst::Xor { d, a, b },
        Inst::WideNot { d, a, width } if width <= 64 => Inst::Not { d, a, width },
        Inst::And { d, a, b } => {
            let masked = gated(graph, d, b, a).or_else(|| gated(graph, d, a, b));
            masked.unwrap_or(inst)
        }
        Inst::LaneSelect { d, vector, index, index_n: 1, lanes, lane } if lane <= 64 => {
            let read = |first| Inst::Read { d, address: index, base: first, depth: lanes, bytes: 8 };
            first_of_words(graph, vector, lanes, lane).map_or(inst, read)
        }
        Inst::OneHotSelect { d, select, vector, lanes, lane }
            if lanes <= 64 && lane > 64 && lane.is_multiple_of(64) =>
        {
            let of_parts = |parts| Inst::PartSelect { d, select, parts, count: lanes, n: lane / 64 };
            parts_of_width(graph, vector, lanes, lane).map_or(inst, of_parts)
        }
        other => other,
    }
}

/// Whether the word at a place never has two bits.
pub fn has_one_bit_at_most(graph: &Graph, place: u32) -> bool {
    let Some(id) = graph.producer(place) else { return false };
    match graph.plan.program[id] {
        Inst::LowestOne { .. } | Inst::Decode { .. } => true,
        Inst::Slice { a, .. } | Inst::Copy { a, .. } => has_one_bit_at_most(graph, a),
        Inst::And { a, b, .. } => has_one_bit_at_most(graph, a) || has_one_bit_at_most(graph, b),
        _ => false,
    }
}

/// The parts of the concatenation at `vector`, if they are its lanes.
fn parts_of_width(graph: &Graph, vector: u32, lanes: u32, lane: u32) -> Option<u32> {
    let plan = graph.plan;
    let Inst::Concat { parts, count, .. } = plan.program[graph.producer(vector)?] else { return None };
    let all = &plan.parts[parts as usize..(parts + count) as usize];
    (count == lanes && all.iter().all(|part| part.width == lane)).then_some(parts)
}

/// The first of `lanes` words of state, if the lanes of the value at `vector` are these: to select one is to read
/// it.
fn first_of_words(graph: &Graph, vector: u32, lanes: u32, lane: u32) -> Option<u32> {
    let plan = graph.plan;
    let Inst::Concat { parts, count, .. } = plan.program[graph.producer(vector)?] else { return None };
    let parts = &plan.parts[parts as usize..(parts + count) as usize];
    let first = parts[0].a;
    let is_word = |(part, place): (&Part, u32)| {
        let is_state = graph.producer(place).is_none() && place as usize >= plan.constants.len();
        part.a == place && part.width == lane && plan.width(place) <= lane && is_state
    };
    (count == lanes && parts.iter().zip(first..).all(is_word)).then_some(first)
}

/// `value` and the word at `mask`, if that is one bit repeated at least as often as the value is wide.
fn gated(graph: &Graph, d: u32, mask: u32, value: u32) -> Option<Inst> {
    match graph.plan.program[graph.producer(mask)?] {
        Inst::Replicate { a, from: 1, width, .. } if width >= graph.plan.width(value) => {
            Some(Inst::Mux { d, condition: a, then: value, otherwise: ZERO })
        }
        _ => None,
    }
}

/// `value` and the mask at `mask`, if that is one bit repeated or the bits of lanes widened, over all of the value: zeros
/// that a mask is extended by may lie in its own last word.
fn masked(graph: &Graph, d: u32, mask: u32, value: u32, n: u32) -> Option<Inst> {
    let zeros = graph.plan.zeros;
    let producer = graph.plan.program[graph.producer(mask)?];
    let covers_value = |width: u32| width >= 64 * (n - 1) + graph.plan.width(value + n - 1);
    match producer {
        Inst::Replicate { d: made, a, from: 1, width } if made == mask && covers_value(width) => {
            Some(Inst::WideMux { d, condition: a, then: value, otherwise: zeros, n })
        }
        // Lanes of other widths are no faster taken one by one than masked word by word.
        Inst::SpreadLanes { d: made, a, lanes, lane }
            if made == mask && (lane == 32 || lane % 64 == 0) && covers_value(lanes * lane) =>
        {
            Some(Inst::LaneMux { d, mask: a, then: value, otherwise: zeros, lanes, lane })
        }
        _ => None,
    }
}

//! Rewrites instructions whose result can be had without making all their operands.

use super::graph::{Graph, InstId};
use crate::plan::inst::{FoldOp, Inst};
use crate::plan::operands::Operand;
use crate::plan::{Plan, ZERO};

/// Rewrites the program. Every place keeps its value.
pub fn simplify(plan: &mut Plan) {
    let graph = Graph::new(plan);
    let program = plan.program.iter().map(|inst| simplified(&graph, *inst)).collect();
    plan.program = program;
    let graph = Graph::new(plan);
    let readers = readers(&graph);
    let folded = |(id, inst): (InstId, &Inst)| folded(&graph, &readers, id).unwrap_or(*inst);
    let program = plan.program.iter().enumerate().map(folded).collect();
    plan.program = program;
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

/// A tree of one operation over the words of one value, as one instruction.
fn folded(graph: &Graph, readers: &[u32], id: InstId) -> Option<Inst> {
    let (op, ..) = fold_operands(graph, id)?;
    let (mut leaves, mut open) = (Vec::new(), vec![id]);
    while let Some(id) = open.pop() {
        let (_, d, operands) = fold_operands(graph, id)?;
        debug_assert_eq!(graph.plan.program[id].result(graph.plan), d);
        for place in operands {
            let inner = graph.producer(place).filter(|&inner| {
                readers[inner] == 1 && fold_operands(graph, inner).is_some_and(|(other, ..)| other == op)
            });
            match inner {
                Some(inner) => open.push(inner),
                None => leaves.push(place),
            }
        }
    }
    leaves.sort_unstable();
    let is_row = leaves.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let of_one = graph
        .producer(leaves[0])
        .is_some_and(|first| leaves.iter().all(|&leaf| graph.producer(leaf) == Some(first)))
        || leaves.iter().all(|&leaf| graph.producer(leaf).is_none());
    let d = graph.plan.program[id].result(graph.plan);
    let inst = Inst::FoldWords { d, a: leaves[0], n: leaves.len() as u32, op };
    (leaves.len() >= FEWEST_FOLDED && is_row && of_one).then_some(inst)
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
        other => other,
    }
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

/// `value` and the mask at `mask`, if that is one bit repeated or the bits of lanes widened.
fn masked(graph: &Graph, d: u32, mask: u32, value: u32, n: u32) -> Option<Inst> {
    let zeros = graph.plan.zeros;
    let producer = graph.plan.program[graph.producer(mask)?];
    match producer {
        Inst::Replicate { d: made, a, from: 1, .. } if made == mask => {
            Some(Inst::WideMux { d, condition: a, then: value, otherwise: zeros, n })
        }
        Inst::SpreadLanes { d: made, a, lanes, lane } if made == mask => {
            Some(Inst::LaneMux { d, mask: a, then: value, otherwise: zeros, lanes, lane })
        }
        _ => None,
    }
}

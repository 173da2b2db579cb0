//! Rewrites instructions whose result can be had without making all their operands.

use super::graph::Graph;
use crate::plan::inst::Inst;
use crate::plan::{Plan, ZERO};

/// Rewrites the program. Every place keeps its value.
pub fn simplify(plan: &mut Plan) {
    let graph = Graph::new(plan);
    let program = plan.program.iter().map(|inst| simplified(&graph, *inst)).collect();
    plan.program = program;
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

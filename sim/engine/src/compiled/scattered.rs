//! Which results the code generator would work out again and again.
//!
//! It places what has no effects as late as it can: in the block of its first use, and once more in every block that uses it and that
//! this one does not dominate. What several branches use, and nothing before them, is worked out in each of them, with all that it
//! is made of, unless it is stored before. Which these are is estimated: wide results count as stored, and every enable of the edge as a
//! branch, though some are selections.

use std::collections::BTreeMap;

use super::graph::Graph;
use super::guards;
use super::segments::{ROOT, SegmentId, Segments};
use crate::plan::operands::Need;

/// A stretch of code without a branch, by its number in the order of the code.
type Block = usize;

/// Cost, in the unit of guards, from which a result is stored rather than worked out again, with all that it is made of.
const WORTH_A_STORE: u32 = 12;

/// The results that are worth a store, by instruction.
pub fn scattered(graph: &Graph, segments: &Segments) -> Vec<bool> {
    let cones = guards::cones(graph, &guards::costs(graph));
    let mut blocks = Blocks::new(segments, cones.len());
    let mut uses = first_readers(graph, segments, &mut blocks);
    let mut scattered = vec![false; cones.len()];
    for &(id, segment) in segments.order.iter().rev() {
        let inst = &graph.plan.program[id];
        let is_kept_now = segments.kept[id] && segment != ROOT;
        let is_stored = is_kept_now || segments.exported[id] || inst.result_words(graph.plan) > 1;
        let asked_in = std::mem::take(&mut uses[id]);
        let mut worked_out_in = if is_stored { vec![blocks.of[id]] } else { blocks.first_of(asked_in) };
        if worked_out_in.len() > 1 && cones[id] >= WORTH_A_STORE {
            scattered[id] = true;
            worked_out_in = vec![blocks.of[id]];
        }
        inst.visit_operands(graph.plan, &mut |(place, _)| {
            if let Some(operand) = graph.producer(place) {
                uses[operand].extend(&worked_out_in);
            }
        });
    }
    scattered
}

/// By instruction, the blocks in which a branch, the edge or whoever looks at the circuit asks for its result.
fn first_readers(graph: &Graph, segments: &Segments, blocks: &mut Blocks) -> Vec<Vec<Block>> {
    let mut uses = vec![Vec::new(); blocks.of.len()];
    let mut note = |place: u32, block: Block| {
        if let Some(id) = graph.producer(place) {
            uses[id].push(block);
        }
    };
    for (segment, &block) in segments.list.iter().zip(&blocks.asked_in) {
        if let Some(condition) = segment.condition {
            note(condition.place, block);
        }
    }
    let settled = blocks.last();
    let mut at_edge: BTreeMap<Need, Block> = BTreeMap::from([(Need::Always, settled)]);
    graph.visit_roots(&mut |(place, need)| {
        note(place, *at_edge.entry(need).or_insert_with(|| blocks.behind(settled)));
    });
    uses
}

/// The blocks of a schedule, and behind it those of the edge.
struct Blocks {
    /// By block, its immediate dominator: the last one that is always passed before it; of the first, itself.
    dominators: Vec<Block>,
    /// By instruction.
    of: Vec<Block>,
    /// By segment, the block in which its condition is asked.
    asked_in: Vec<Block>,
}

impl Blocks {
    fn new(segments: &Segments, instructions: usize) -> Blocks {
        let asked_in = vec![0; segments.list.len()];
        let mut blocks = Blocks { dominators: vec![0], of: vec![0; instructions], asked_in };
        let mut open: Vec<SegmentId> = Vec::new();
        let mut here = 0;
        for &(id, segment) in &segments.order {
            let path = segments.path(segment);
            let common = open.iter().zip(&path).take_while(|(open, segment)| open == segment).count();
            for closed in open.drain(common..).rev() {
                here = blocks.behind(blocks.asked_in[closed]);
            }
            for &opened in &path[common..] {
                blocks.asked_in[opened] = here;
                here = blocks.behind(here);
                open.push(opened);
            }
            blocks.of[id] = here;
        }
        for closed in open.drain(..).rev() {
            blocks.behind(blocks.asked_in[closed]);
        }
        blocks
    }

    /// A new block behind its immediate dominator.
    fn behind(&mut self, before: Block) -> Block {
        self.dominators.push(before);
        self.last()
    }

    fn last(&self) -> Block {
        self.dominators.len() - 1
    }

    /// Of some blocks those that none of the others dominates.
    fn first_of(&self, mut blocks: Vec<Block>) -> Vec<Block> {
        blocks.sort_unstable();
        blocks.dedup();
        let mut first: Vec<Block> = Vec::new();
        for block in blocks {
            // Blocks are numbered as one walks down the tree of dominators: what the last does not dominate, none does.
            if first.last().is_none_or(|&last| !self.is_dominated(block, last)) {
                first.push(block);
            }
        }
        first
    }

    fn is_dominated(&self, mut block: Block, earlier: Block) -> bool {
        while block > earlier {
            block = self.dominators[block];
        }
        block == earlier
    }
}

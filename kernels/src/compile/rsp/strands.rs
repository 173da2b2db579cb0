//! Strands: runs of instructions in which the scheduler does not take a warp's slice, and which it enters at the first.
//!
//! Source: Bailey et al., TCAD 2018, §III-B. The SIMT execution order is that of the executor: where lanes part, the path
//! whose first instruction comes first in the program runs first. So a strand is a run of the program, and goes on into a block
//! that comes from it alone, the sides of a branch and where they meet included, if all that the warp executes between the
//! branch and there is in the strand. It ends before a consumer of a long-latency result, behind a barrier, behind a backward
//! branch, where a trace breaks it, and before it has more than [`MOST_BLOCKS`] blocks.

use std::ops::Range;

use crate::compile::cfg::{Block, Cfg};
use crate::compile::dominators::Postdominators;
use crate::compile::graph::Graphs;
use crate::compile::paths::{breaks, may_part};
use crate::program::{Operation, Program};

/// Blocks of a strand: what bounds the memory and the time of what is found out about one, in a trace whose guards make a block
/// of every instruction.
const MOST_BLOCKS: u32 = 1024;

/// The strands of a program, in program order; together they cover it.
pub fn strands(program: &Program, graphs: &Graphs) -> Vec<Range<usize>> {
    let cfg = &graphs.lanes.cfg;
    let walk = Walk { program, cfg, postdominators: Postdominators::new(cfg) };
    let mut strands = Vec::new();
    let mut start = 0;
    for position in 1..program.instructions.len() {
        if !walk.goes_on(start, position) {
            strands.push(start..position);
            start = position;
        }
    }
    strands.push(start..program.instructions.len());
    strands
}

/// A program on its way through the strands.
struct Walk<'a> {
    program: &'a Program,
    cfg: &'a Cfg,
    postdominators: Postdominators,
}

impl Walk<'_> {
    /// Whether the strand that begins at `start` and holds what comes before `position` goes on with it.
    fn goes_on(&self, start: usize, position: usize) -> bool {
        let before = position - 1;
        let is_cut = self.program.instructions[position].suspends
            || breaks(self.program, position)
            || self.program.instructions[before].operation == Operation::Barrier;
        let (last, next) = (self.cfg.block_of(before), self.cfg.block_of(position));
        if last == next {
            return !is_cut && !may_part(self.program, before);
        }
        let first = self.cfg.block_of(start);
        let is_long = next.0 - first.0 >= MOST_BLOCKS;
        !is_cut
            && !is_long
            && !self.branches_back(last)
            && self.comes_from(start, next)
            && self.nobody_waits(start, next)
    }

    fn branches_back(&self, block: Block) -> bool {
        self.cfg.block(block).successors.iter().any(|&successor| successor <= block)
    }

    /// Whether every way into a block begins in the strand, before it.
    fn comes_from(&self, start: usize, block: Block) -> bool {
        let predecessors = &self.cfg.block(block).predecessors;
        let within = |&from: &Block| from < block && self.cfg.last_instruction(from) >= start;
        block != Block(0) && !predecessors.is_empty() && predecessors.iter().all(within)
    }

    /// Whether lanes that wait at a block, for others that have parted from them in the strand, wait for what the strand
    /// executes between the branch and the block alone.
    fn nobody_waits(&self, start: usize, block: Block) -> bool {
        let first = self.cfg.block_of(start);
        let branches = (first.0..block.0).map(Block);
        let parting = branches.filter(|&branch| {
            let last = self.cfg.last_instruction(branch);
            last >= start && may_part(self.program, last) && self.cfg.branches(branch)
        });
        parting.into_iter().all(|branch| {
            let successors = &self.cfg.block(branch).successors;
            let meet = self.postdominators.immediate(branch);
            if meet != Some(block) && !successors.contains(&block) {
                return true;
            }
            let is_before = |&side: &Block| side != block && (meet == Some(block) || side < block);
            let mut sides = successors.iter().copied().filter(is_before);
            sides.all(|side| Some(side) == meet || self.stays_between(side, meet, branch..block))
        })
    }

    /// Whether a side of a branch, up to where its lanes wait for others, lies between two blocks.
    fn stays_between(&self, side: Block, meet: Option<Block>, between: Range<Block>) -> bool {
        let mut seen = vec![false; (between.end.0 - between.start.0) as usize];
        let mut work = vec![side];
        while let Some(block) = work.pop() {
            if Some(block) == meet {
                continue;
            }
            if block <= between.start || block >= between.end {
                return false;
            }
            let place = (block.0 - between.start.0) as usize;
            if !std::mem::replace(&mut seen[place], true) {
                work.extend(&self.cfg.block(block).successors);
            }
        }
        true
    }
}

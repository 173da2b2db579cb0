//! Strands: runs of instructions in which a warp is never suspended, and which it enters at the first.
//!
//! A strand ends before an instruction that suspends its warp and behind a barrier, where a two-level scheduler may
//! take the warp's entries away. It goes on into the next block only if nothing else leads there and no lanes wait
//! there: then the lanes that execute an instruction have executed all before it in the strand, and what one of them
//! has written is what it reads. Lanes wait where a branch that may diverge meets its other ways, and where a trace breaks a
//! strand.

use std::ops::Range;

use crate::compile::cfg::Block;
use crate::compile::dominators::Postdominators;
use crate::compile::graph::Graphs;
use crate::compile::paths::{breaks, may_part};
use crate::program::{Operation, Program};

/// The strands of a program, in program order; together they cover it.
pub fn strands(program: &Program, graphs: &Graphs) -> Vec<Range<usize>> {
    let postdominators = Postdominators::new(&graphs.lanes.cfg);
    let mut strands = Vec::new();
    let mut start = 0;
    for position in 0..program.instructions.len() {
        if ends(program, graphs, &postdominators, position) {
            strands.push(start..position + 1);
            start = position + 1;
        }
    }
    strands
}

/// Whether a strand ends behind an instruction.
fn ends(program: &Program, graphs: &Graphs, postdominators: &Postdominators, position: usize) -> bool {
    let Some(next) = program.instructions.get(position + 1) else { return true };
    if next.suspends || program.instructions[position].operation == Operation::Barrier {
        return true;
    }
    if breaks(program, position + 1) {
        return true;
    }
    let cfg = &graphs.warps.cfg;
    let (block, next_block) = (cfg.block_of(position), cfg.block_of(position + 1));
    let parts = may_part(program, position);
    if block == next_block {
        return parts;
    }
    let waits = parts && postdominators.immediate(block) == Some(next_block);
    waits || cfg.block(next_block).predecessors != [block] || next_block == Block(0)
}

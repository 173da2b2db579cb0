//! Which instructions may change places with each other: stretches of basic blocks.

use std::ops::Range;

use super::super::divergence::is_control;
use crate::ptx::ir::{Instruction, Kernel, Op};

/// Most instructions of a stretch: what a long block costs grows with its length then, and not with its square.
const LONGEST: usize = 512;

/// The stretches of a block, in order; together they are the block.
pub(super) fn of(kernel: &Kernel, block: Range<usize>) -> Vec<Range<usize>> {
    between(kernel, block, stays_in_place)
}

/// The same where nothing passes a barrier: how long a warp waits there is not known, and a load in front of it uses that.
pub(super) fn between_barriers(kernel: &Kernel, block: Range<usize>) -> Vec<Range<usize>> {
    let is_barrier = |op: &Op| matches!(op, Op::Barrier | Op::BarrierArrive | Op::BarrierReduce { .. });
    between(kernel, block, |instruction| stays_in_place(instruction) || is_barrier(&instruction.op))
}

fn between(kernel: &Kernel, block: Range<usize>, stays: impl Fn(&Instruction) -> bool) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = block.start;
    for position in block.clone() {
        let stays = stays(&kernel.instructions[position]);
        if (stays || position - start == LONGEST) && position > start {
            stretches.push(start..position);
            start = position;
        }
        if stays {
            stretches.push(position..position + 1);
            start = position + 1;
        }
    }
    if start < block.end {
        stretches.push(start..block.end);
    }
    stretches
}

/// Whether nothing may pass the instruction: where control goes, and clocks, which say where they are.
fn stays_in_place(instruction: &Instruction) -> bool {
    is_control(&instruction.op) || instruction.reads_clock()
}

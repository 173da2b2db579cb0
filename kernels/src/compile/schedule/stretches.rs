//! Which instructions may change places with each other: stretches of basic blocks.

use std::ops::Range;

use super::super::divergence::is_control;
use crate::ptx::ir::{Instruction, Kernel};

/// Most instructions of a stretch: what a long block costs grows with its length then, and not with its square.
const LONGEST: usize = 512;

/// The stretches of a block, in order; together they are the block.
pub(super) fn of(kernel: &Kernel, block: Range<usize>) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = block.start;
    for position in block.clone() {
        let stays = stays_in_place(&kernel.instructions[position]);
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

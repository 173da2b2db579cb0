//! How far the next access to each register is, in instructions (thesis §4.2.1).
//!
//! Dist(IN(S), R) is 1 if S accesses R, else one more than Dist(OUT(S), R); Dist(OUT(S), R) is the largest of S's successors,
//! and ∞ where lanes may end. What exceeds the threshold W is ∞.

use crate::compile::cfg::Block;
use crate::compile::function::{Access, Function};

/// A distance above the threshold.
pub const FAR: u8 = u8::MAX;

/// Distances at the end of every block.
pub struct Distances {
    threshold: u8,
    /// For each block and register.
    at_end: Vec<Vec<u8>>,
}

/// One more, or [`FAR`] from the threshold on: INC of §4.2.1.
fn increment(distance: u8, threshold: u8) -> u8 {
    if distance >= threshold { FAR } else { distance + 1 }
}

/// Whether an instruction reads or writes a register.
fn accessed(access: &Access) -> impl Iterator<Item = usize> + '_ {
    let definitions = access.definitions.iter().map(|definition| definition.register);
    access.uses.iter().copied().chain(definitions).map(|register| register as usize)
}

impl Distances {
    /// Solves the equations: the least distances that meet them.
    pub fn new(function: &Function, threshold: u8) -> Distances {
        let blocks = function.cfg.blocks();
        // Distance 0 lies below all others: nothing is known of a block that has not been visited.
        let mut distances = Distances { threshold, at_end: vec![vec![0; function.registers]; blocks.len()] };
        let mut at_start = vec![vec![0; function.registers]; blocks.len()];
        let mut work: Vec<Block> = function.cfg.block_ids().collect();
        let mut queued = vec![true; blocks.len()];
        while let Some(block) = work.pop() {
            let index = block.index();
            queued[index] = false;
            let mut distance = vec![if blocks[index].exits { FAR } else { 0 }; function.registers];
            for successor in &blocks[index].successors {
                for (most, &of_successor) in distance.iter_mut().zip(&at_start[successor.index()]) {
                    *most = (*most).max(of_successor);
                }
            }
            distances.at_end[index].clone_from(&distance);
            for position in blocks[index].instructions.clone().rev() {
                distances.step(&function.instructions[position], &mut distance);
            }
            if at_start[index] != distance {
                at_start[index] = distance;
                for predecessor in &blocks[index].predecessors {
                    if !std::mem::replace(&mut queued[predecessor.index()], true) {
                        work.push(*predecessor);
                    }
                }
            }
        }
        distances
    }

    /// From behind an instruction to before it.
    fn step(&self, access: &Access, distance: &mut [u8]) {
        for distance in distance.iter_mut() {
            *distance = increment(*distance, self.threshold);
        }
        for register in accessed(access) {
            distance[register] = 1;
        }
    }

    /// Visits each instruction of a block from the last to the first with the distance of each register behind it.
    pub fn each_backward(
        &self,
        function: &Function,
        block: Block,
        mut visit: impl FnMut(usize, &Access, &[u8]),
    ) {
        let mut distance = self.at_end[block.index()].clone();
        for position in function.cfg.block(block).instructions.clone().rev() {
            let access = &function.instructions[position];
            visit(position, access, &distance);
            self.step(access, &mut distance);
        }
    }
}

//! What lanes may still read of a program's registers, guards told apart.
//!
//! Each lane of the main register file is its own, so it is the liveness of threads: lanes that wait elsewhere keep what
//! they have.

use std::ops::Range;

use super::bitset::BitSet;
use super::cfg::{Block, Cfg};
use super::function::Function;
use super::liveness::Liveness;
use crate::program::{Instruction, Program};

/// What lanes may still read.
pub struct Lives {
    function: Function,
    blocks: Liveness,
    /// For each instruction what a lane may read after it.
    live_after: Vec<BitSet>,
}

impl Lives {
    /// Finds it on the graph of lanes, `function`.
    pub fn new(program: &Program, mut function: Function) -> Lives {
        for (access, instruction) in function.instructions.iter_mut().zip(&program.instructions) {
            let guarded = !has_no_guard(instruction);
            access.definitions.iter_mut().for_each(|definition| definition.guarded = guarded);
        }
        let blocks = Liveness::per_thread(&function);
        let mut live_after = vec![BitSet::default(); function.instructions.len()];
        for block in function.cfg.block_ids() {
            blocks.each_backward(&function, block, |position, _, live| live_after[position] = live.clone());
        }
        Lives { function, blocks, live_after }
    }

    /// The graph of lanes.
    pub fn cfg(&self) -> &Cfg {
        &self.function.cfg
    }

    /// Registers that a lane may read before it writes them, after an instruction.
    pub fn after(&self, position: usize) -> &BitSet {
        &self.live_after[position]
    }

    /// The same before the first instruction of a block.
    pub fn before(&self, block: Block) -> &BitSet {
        self.blocks.live_in(block)
    }

    /// Positions of a strand behind which it goes on in another block.
    pub fn exits(&self, strand: &Range<usize>) -> Vec<usize> {
        let cfg = self.cfg();
        let last = |&position: &usize| cfg.last_instruction(cfg.block_of(position)) == position;
        (strand.start..strand.end - 1).filter(last).collect()
    }

    /// Whether a register may be read where control goes behind `exit`, other than on to the next instruction.
    pub fn is_read_aside(&self, exit: usize, register: usize) -> bool {
        let cfg = self.cfg();
        let next = cfg.block_of(exit + 1);
        let mut aside = cfg.block(cfg.block_of(exit)).successors.iter().filter(|&&block| block != next);
        aside.any(|&block| self.before(block).contains(register))
    }
}

/// Whether surely no guard leaves lanes of an instruction out: it reads no predicate, or what it writes ends lives.
pub fn has_no_guard(instruction: &Instruction) -> bool {
    instruction.predicate_sources.is_empty() || instruction.results.first().is_some_and(|result| !result.soft)
}

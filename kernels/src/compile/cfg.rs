//! The control flow graph of any list of instructions: PTX, machine code, or what a trace let us observe.
//!
//! The builder asks only where control may go after each instruction, so the graph and everything computed on
//! it ([`super::dominators`], [`super::liveness`]) serve every front end.

use std::collections::BTreeSet;
use std::ops::Range;

pub use crate::program::Flow;

/// A basic block: its position in [`Cfg::blocks`]. Blocks are numbered in program order; block 0 is the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u32);

impl Block {
    /// Position in [`Cfg::blocks`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Instructions that are executed one after the other, entered only at the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// Positions of its instructions; never empty.
    pub instructions: Range<usize>,
    /// Possible successors in the order of [`Flow::To`], each once.
    pub successors: Vec<Block>,
    /// Blocks that have this one as a successor, in increasing order.
    pub predecessors: Vec<Block>,
    /// Lanes may end at its last instruction.
    pub exits: bool,
}

/// A control flow graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    blocks: Vec<BasicBlock>,
    block_of: Vec<Block>,
}

/// Why a list of instructions has no control flow graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CfgError {
    /// A successor that is not an instruction of the list.
    #[error(
        "instruction {from} continues at {target}, but there are only {count} instructions (0 to {count} exclusive)"
    )]
    TargetOutOfRange {
        /// The instruction.
        from: usize,
        /// Where it goes.
        target: usize,
        /// Instructions of the list.
        count: usize,
    },
    /// There is nothing to execute.
    #[error("a function needs at least one instruction")]
    Empty,
}

impl Cfg {
    /// Builds the graph of `flow.len()` instructions.
    ///
    /// # Errors
    /// An empty list, or a target outside it.
    pub fn new(flow: &[Flow]) -> Result<Cfg, CfgError> {
        if flow.is_empty() {
            return Err(CfgError::Empty);
        }
        let leaders = leaders(flow)?;
        let mut block_of = Vec::with_capacity(flow.len());
        let mut starts = Vec::new();
        for (position, &leads) in leaders.iter().enumerate() {
            if leads {
                starts.push(position);
            }
            block_of.push(Block(starts.len() as u32 - 1));
        }
        let ends = starts.iter().skip(1).copied().chain([flow.len()]);
        let mut blocks: Vec<BasicBlock> =
            starts.iter().zip(ends).map(|(&start, end)| block(flow, &block_of, start..end)).collect();
        for from in 0..blocks.len() {
            for to in blocks[from].successors.clone() {
                blocks[to.index()].predecessors.push(Block(from as u32));
            }
        }
        Ok(Cfg { blocks, block_of })
    }

    /// The blocks in program order.
    pub fn blocks(&self) -> &[BasicBlock] {
        &self.blocks
    }

    /// The handles of all blocks in program order.
    pub fn block_ids(&self) -> impl DoubleEndedIterator<Item = Block> + use<> {
        (0..self.blocks.len() as u32).map(Block)
    }

    /// A block.
    pub fn block(&self, block: Block) -> &BasicBlock {
        &self.blocks[block.index()]
    }

    /// The block an instruction is in.
    pub fn block_of(&self, instruction: usize) -> Block {
        self.block_of[instruction]
    }

    /// Position of a block's last instruction.
    pub fn last_instruction(&self, block: Block) -> usize {
        self.block(block).instructions.end - 1
    }

    /// Whether control may go more than one way at the end of a block (an exit for some lanes included).
    pub fn branches(&self, block: Block) -> bool {
        let block = self.block(block);
        block.successors.len() + usize::from(block.exits) > 1
    }

    /// Blocks in reverse postorder of a depth-first walk from the entry; unreachable blocks are missing.
    pub fn reverse_postorder(&self) -> Vec<Block> {
        let mut order = postorder(self.blocks.len(), Block(0), |block| &self.block(block).successors);
        order.reverse();
        order
    }

    /// The blocks that are reachable from one of `from` without going through `stop` (a member of `from` that is
    /// `stop` itself reaches nothing). Takes time in proportion to them, however many blocks there are.
    pub fn reachable_before(&self, from: &[Block], stop: Option<Block>) -> BTreeSet<Block> {
        let mut reached = BTreeSet::new();
        let mut work: Vec<Block> = from.to_vec();
        while let Some(block) = work.pop() {
            if Some(block) != stop && reached.insert(block) {
                work.extend(&self.block(block).successors);
            }
        }
        reached
    }
}

/// Which instructions start a block.
fn leaders(flow: &[Flow]) -> Result<Vec<bool>, CfgError> {
    let mut leaders = vec![false; flow.len()];
    leaders[0] = true;
    for (from, step) in flow.iter().enumerate() {
        let Flow::To { targets, .. } = step else { continue };
        for &target in targets {
            *leaders.get_mut(target).ok_or(CfgError::TargetOutOfRange {
                from,
                target,
                count: flow.len(),
            })? = true;
        }
        if let Some(next) = leaders.get_mut(from + 1) {
            *next = true;
        }
    }
    Ok(leaders)
}

fn block(flow: &[Flow], block_of: &[Block], instructions: Range<usize>) -> BasicBlock {
    let mut successors: Vec<Block> = Vec::new();
    let exits = match &flow[instructions.end - 1] {
        Flow::Next => {
            successors.extend(block_of.get(instructions.end));
            instructions.end == flow.len()
        }
        Flow::To { targets, exits } => {
            for &target in targets {
                if !successors.contains(&block_of[target]) {
                    successors.push(block_of[target]);
                }
            }
            *exits
        }
    };
    BasicBlock { instructions, successors, predecessors: Vec::new(), exits }
}

/// Postorder of the nodes reachable from `root`, without recursion (a trace's graph may be deep).
pub(super) fn postorder<'a>(
    count: usize,
    root: Block,
    successors: impl Fn(Block) -> &'a [Block],
) -> Vec<Block> {
    let mut seen = vec![false; count];
    let mut order = Vec::with_capacity(count);
    let mut stack = vec![(root, 0)];
    seen[root.index()] = true;
    while let Some((block, next)) = stack.last_mut() {
        match successors(*block).get(*next) {
            Some(&successor) => {
                *next += 1;
                if !std::mem::replace(&mut seen[successor.index()], true) {
                    stack.push((successor, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order
}

//! Access ranges of scratchpad variables and of sets of them (§3.2.1, Definitions 3.2.1 and 3.2.2).
//!
//! A point is in the access range of a set if a variable of the set is accessed on some path from the entry to the point, and
//! one on some path from the point to the exit. The four equations of §3.2.1 for all variables at once: `Pre` goes forward,
//! `Post` backward, both from false.

use super::VariableSet;
use crate::compile::cfg::{Block, Cfg};
use crate::compile::dominators::Dominators;

/// Bound of a loop whose bound is not known (§3.4). No bound is looked for.
pub const UNKNOWN_BOUND: u128 = 1024;

/// A point of a block: before its first statement, or after its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// `IN(BB)`.
    In,
    /// `OUT(BB)`.
    Out,
}

/// What has been accessed before, and will be accessed after, each block's ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges<'a> {
    cfg: &'a Cfg,
    accessed: &'a [VariableSet],
    pre_in: Vec<VariableSet>,
    pre_out: Vec<VariableSet>,
    post_in: Vec<VariableSet>,
    post_out: Vec<VariableSet>,
    /// How often each block runs, at a guess.
    weights: Vec<u128>,
}

impl<'a> Ranges<'a> {
    /// `accessed`: for each instruction of the graph the variables that it may access.
    pub fn new(cfg: &'a Cfg, accessed: &'a [VariableSet]) -> Ranges<'a> {
        let none = vec![0; cfg.blocks().len()];
        let depths = Dominators::new(cfg).loop_depths(cfg);
        let weight = |depth: usize| UNKNOWN_BOUND.checked_pow(depth as u32).unwrap_or(u128::MAX);
        let mut ranges = Ranges {
            cfg,
            accessed,
            pre_in: none.clone(),
            pre_out: none.clone(),
            post_in: none.clone(),
            post_out: none,
            weights: depths.into_iter().map(weight).collect(),
        };
        let order = cfg.reverse_postorder();
        while ranges.forward(&order) {}
        while ranges.backward(&order) {}
        ranges
    }

    fn of_block(&self, block: Block) -> VariableSet {
        self.accessed[self.cfg.block(block).instructions.clone()].iter().fold(0, |all, one| all | one)
    }

    fn forward(&mut self, order: &[Block]) -> bool {
        let before = self.pre_out.clone();
        for &block in order {
            let predecessors = self.cfg.block(block).predecessors.iter();
            let pre_in = predecessors.fold(0, |all, from| all | self.pre_out[from.index()]);
            self.pre_in[block.index()] = pre_in;
            self.pre_out[block.index()] = pre_in | self.of_block(block);
        }
        self.pre_out != before
    }

    fn backward(&mut self, order: &[Block]) -> bool {
        let before = self.post_in.clone();
        for &block in order.iter().rev() {
            let successors = self.cfg.block(block).successors.iter();
            let post_out = successors.fold(0, |all, to| all | self.post_in[to.index()]);
            self.post_out[block.index()] = post_out;
            self.post_in[block.index()] = post_out | self.of_block(block);
        }
        self.post_in != before
    }

    /// Whether a point is in the access range of a set: `AccIN` and `AccOUT`.
    pub fn contains(&self, set: VariableSet, block: Block, point: Point) -> bool {
        let at = block.index();
        let (pre, post) = match point {
            Point::In => (self.pre_in[at], self.post_in[at]),
            Point::Out => (self.pre_out[at], self.post_out[at]),
        };
        pre & set != 0 && post & set != 0
    }

    /// Instructions in the access range of a set on the path with the most of them, each as often as the loops around it are
    /// thought to run.
    pub fn instructions(&self, set: VariableSet) -> u128 {
        let mut most = vec![0_u128; self.cfg.blocks().len()];
        let mut is_done = vec![false; most.len()];
        let mut longest = 0;
        for block in self.cfg.reverse_postorder() {
            // A way back into a loop leads to a block that is done already.
            let predecessors = self.cfg.block(block).predecessors.iter().filter(|from| is_done[from.index()]);
            let before = predecessors.map(|from| most[from.index()]).max().unwrap_or(0);
            let own = self.in_block(set, block).saturating_mul(self.weights[block.index()]);
            most[block.index()] = before.saturating_add(own);
            is_done[block.index()] = true;
            longest = longest.max(most[block.index()]);
        }
        longest
    }

    /// Instructions of a block in the access range of a set: accessed in it or before, and in it or after.
    fn in_block(&self, set: VariableSet, block: Block) -> u128 {
        let accessed = &self.accessed[self.cfg.block(block).instructions.clone()];
        let hits = |index: &usize| accessed[*index] & set != 0;
        let first =
            if self.pre_in[block.index()] & set != 0 { Some(0) } else { (0..accessed.len()).find(hits) };
        let last = if self.post_out[block.index()] & set != 0 {
            Some(accessed.len() - 1)
        } else {
            (0..accessed.len()).rfind(hits)
        };
        match (first, last) {
            (Some(first), Some(last)) if first <= last => (last - first + 1) as u128,
            (Some(_) | None, Some(_) | None) => 0,
        }
    }
}

//! Dominators and postdominators, and with them where diverged lanes reconverge.
//!
//! Source: Cooper, Harvey & Kennedy, "A simple, fast dominance algorithm": intersect along the partially built
//! tree, in reverse postorder, until nothing changes.

use std::collections::BTreeSet;

use super::cfg::{Block, Cfg, postorder};

/// The dominator tree: `a` dominates `b` if control must pass `a` before `b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dominators {
    tree: Tree,
}

/// The postdominator tree: `a` postdominates `b` if control must pass `a` after `b`, before the function ends.
///
/// All exits meet in a virtual exit. A loop that cannot be left gets a virtual edge to it from its last block in
/// reverse postorder, so that every reachable block has a place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postdominators {
    tree: Tree,
    exit: Block,
}

impl Dominators {
    /// Dominators of the blocks reachable from the entry.
    pub fn new(cfg: &Cfg) -> Dominators {
        let successors: Vec<Vec<Block>> = cfg.blocks().iter().map(|block| block.successors.clone()).collect();
        Dominators { tree: Tree::new(&successors, Block(0)) }
    }

    /// The nearest strict dominator; `None` for the entry and for unreachable blocks.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        self.tree.parent[block.index()]
    }

    /// Whether `a` dominates `b`; every reachable block dominates itself. False if either is unreachable.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        self.tree.is_ancestor(a, b)
    }

    /// For each block how many loops it is in: natural loops, those with one head being one.
    pub fn loop_depths(&self, cfg: &Cfg) -> Vec<usize> {
        let mut depths = vec![0; cfg.blocks().len()];
        for head in cfg.block_ids() {
            let predecessors = cfg.block(head).predecessors.iter().copied();
            let mut work: Vec<Block> = predecessors.filter(|&from| self.dominates(head, from)).collect();
            if work.is_empty() {
                continue;
            }
            let mut body = BTreeSet::from([head]);
            while let Some(block) = work.pop() {
                if body.insert(block) {
                    work.extend(&cfg.block(block).predecessors);
                }
            }
            body.into_iter().for_each(|block| depths[block.index()] += 1);
        }
        depths
    }
}

impl Postdominators {
    /// Postdominators of the blocks reachable from the entry.
    pub fn new(cfg: &Cfg) -> Postdominators {
        let exit = Block(cfg.blocks().len() as u32);
        let mut reverse: Vec<Vec<Block>> =
            cfg.blocks().iter().map(|block| block.predecessors.clone()).collect();
        reverse.push(cfg.block_ids().filter(|&block| cfg.block(block).exits).collect());
        let order = cfg.reverse_postorder();
        while let Some(block) = last_without_exit(&reverse, exit, &order) {
            reverse[exit.index()].push(block);
        }
        Postdominators { tree: Tree::new(&reverse, exit), exit }
    }

    /// The nearest strict postdominator: where lanes that diverge at the end of `block` reconverge. `None` if
    /// that is the end of the function, or if `block` is unreachable.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        self.tree.parent[block.index()].filter(|&parent| parent != self.exit)
    }

    /// Whether `a` postdominates `b`; a block postdominates itself.
    pub fn postdominates(&self, a: Block, b: Block) -> bool {
        self.tree.is_ancestor(a, b)
    }
}

/// The last block in reverse postorder from which no path leads to the exit.
fn last_without_exit(reverse: &[Vec<Block>], exit: Block, order: &[Block]) -> Option<Block> {
    let mut reached = vec![false; reverse.len()];
    for block in postorder(reverse.len(), exit, |block| &reverse[block.index()]) {
        reached[block.index()] = true;
    }
    order.iter().rev().copied().find(|block| !reached[block.index()])
}

/// A dominator tree of a graph given by its successor lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tree {
    /// Immediate dominator; `None` for the root and what it does not reach.
    parent: Vec<Option<Block>>,
    /// Distance from the root; `None` for what it does not reach.
    depth: Vec<Option<u32>>,
}

impl Tree {
    fn new(successors: &[Vec<Block>], root: Block) -> Tree {
        let count = successors.len();
        let mut order = postorder(count, root, |block| &successors[block.index()]);
        order.reverse();
        let mut rank = vec![usize::MAX; count];
        for (position, block) in order.iter().enumerate() {
            rank[block.index()] = position;
        }
        let mut predecessors = vec![Vec::new(); count];
        for &block in &order {
            for successor in &successors[block.index()] {
                predecessors[successor.index()].push(block);
            }
        }
        let parent = immediate_dominators(&order, &rank, &predecessors);
        let mut depth = vec![None; count];
        depth[root.index()] = Some(0);
        for &block in &order[1..] {
            depth[block.index()] = parent[block.index()]
                .and_then(|parent: Block| depth[parent.index()])
                .map(|depth: u32| depth + 1);
        }
        Tree { parent, depth }
    }

    fn is_ancestor(&self, ancestor: Block, of: Block) -> bool {
        let (Some(target), Some(mut depth)) = (self.depth[ancestor.index()], self.depth[of.index()]) else {
            return false;
        };
        let mut block = of;
        while depth > target {
            let Some(parent) = self.parent[block.index()] else { return false };
            block = parent;
            depth -= 1;
        }
        block == ancestor
    }
}

fn immediate_dominators(order: &[Block], rank: &[usize], predecessors: &[Vec<Block>]) -> Vec<Option<Block>> {
    let root = order[0];
    let mut parent: Vec<Option<Block>> = vec![None; rank.len()];
    parent[root.index()] = Some(root);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &order[1..] {
            let found = predecessors[block.index()]
                .iter()
                .copied()
                .filter(|predecessor| parent[predecessor.index()].is_some())
                .reduce(|a, b| intersect(&parent, rank, a, b));
            if parent[block.index()] != found {
                parent[block.index()] = found;
                changed = true;
            }
        }
    }
    parent[root.index()] = None;
    parent
}

/// The nearest common ancestor of two blocks in the tree built so far, in which the root is its own parent.
fn intersect(parent: &[Option<Block>], rank: &[usize], mut a: Block, mut b: Block) -> Block {
    while a != b {
        let lower = if rank[a.index()] > rank[b.index()] { &mut a } else { &mut b };
        match parent[lower.index()] {
            Some(up) => *lower = up,
            None => return *lower,
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::cfg::Flow;
    use proptest::prelude::*;

    /// One instruction a block: block `n` is instruction `n`.
    fn graph(edges: &[&[usize]]) -> Cfg {
        let flow: Vec<Flow> = edges
            .iter()
            .map(|targets| Flow::To { targets: targets.to_vec(), exits: targets.is_empty() })
            .collect();
        Cfg::new(&flow).unwrap()
    }

    #[test]
    fn lanes_of_a_diamond_reconverge_where_its_arms_meet() {
        let cfg = graph(&[&[1, 2], &[3], &[3], &[]]);
        let post = Postdominators::new(&cfg);
        assert_eq!(post.immediate(Block(0)), Some(Block(3)));
        assert_eq!(post.immediate(Block(3)), None);
        assert_eq!(Dominators::new(&cfg).immediate(Block(3)), Some(Block(0)));
    }

    #[test]
    fn lanes_that_leave_a_rotated_loop_wait_behind_it() {
        let cfg = graph(&[&[1], &[1, 2], &[]]);
        assert_eq!(Postdominators::new(&cfg).immediate(Block(1)), Some(Block(2)));
    }

    #[test]
    fn branches_inside_a_loop_without_exit_still_reconverge_inside_it() {
        let cfg = graph(&[&[1], &[2, 3], &[4], &[4], &[1]]);
        let post = Postdominators::new(&cfg);
        assert_eq!(post.immediate(Block(1)), Some(Block(4)));
        assert_eq!(post.immediate(Block(4)), None);
    }

    #[test]
    fn lanes_that_may_end_early_reconverge_at_the_end_of_the_function() {
        let flow = [
            Flow::To { targets: vec![1], exits: true },
            Flow::Next,
            Flow::To { targets: vec![], exits: true },
        ];
        let cfg = Cfg::new(&flow).unwrap();
        assert!(cfg.branches(Block(0)));
        assert_eq!(Postdominators::new(&cfg).immediate(Block(0)), None);
    }

    #[test]
    fn a_target_outside_the_function_is_an_error() {
        let flow = [Flow::To { targets: vec![7], exits: false }];
        assert_eq!(
            Cfg::new(&flow),
            Err(crate::compile::cfg::CfgError::TargetOutOfRange { from: 0, target: 7, count: 1 })
        );
    }

    fn random_cfg() -> impl Strategy<Value = Cfg> {
        (1usize..12)
            .prop_flat_map(|count| {
                prop::collection::vec((prop::collection::vec(0..count, 0..3), any::<bool>()), count)
            })
            .prop_map(|blocks| {
                let flow: Vec<Flow> = blocks
                    .into_iter()
                    .map(|(targets, exits)| Flow::To { exits: exits || targets.is_empty(), targets })
                    .collect();
                Cfg::new(&flow).unwrap()
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// By definition: without `a`, the entry does not reach `b`.
        #[test]
        fn dominance_is_that_removal_cuts_every_path(cfg in random_cfg()) {
            let dominators = Dominators::new(&cfg);
            let reachable = cfg.reachable_before(&[Block(0)], None);
            for a in cfg.block_ids().filter(|a| reachable.contains(a)) {
                let without = cfg.reachable_before(&[Block(0)], Some(a));
                for b in cfg.block_ids().filter(|b| reachable.contains(b)) {
                    prop_assert_eq!(dominators.dominates(a, b), a == b || !without.contains(&b));
                }
            }
        }

        /// By definition, where an exit can be reached: without `a`, `b` reaches no exit.
        #[test]
        fn postdominance_is_that_removal_cuts_every_exit(cfg in random_cfg()) {
            let post = Postdominators::new(&cfg);
            let reachable = cfg.reachable_before(&[Block(0)], None);
            let exits = |from: Block, stop: Option<Block>| {
                let reached = cfg.reachable_before(&[from], stop);
                reached.iter().any(|&block| cfg.block(block).exits)
            };
            let all_exit = cfg.block_ids().filter(|b| reachable.contains(b)).all(|b| exits(b, None));
            for a in cfg.block_ids().filter(|a| all_exit && reachable.contains(a)) {
                for b in cfg.block_ids().filter(|b| reachable.contains(b)) {
                    prop_assert_eq!(post.postdominates(a, b), a == b || !exits(b, Some(a)));
                }
            }
        }
    }
}

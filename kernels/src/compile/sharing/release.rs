//! Where a thread says that it no longer needs the shared scratchpad: `relssp` (§3.2.2, §3.2.3).
//!
//! A backward analysis: a point is safe if no path from it accesses the shared scratchpad. `relssp` is put where a point is
//! safe and cannot be moved back to all points before it (Equations 3.1 and 3.2), which needs critical edges to be split. The
//! greatest solution is taken, so that a loop that nothing leaves is safe.
//!
//! Where the equations leave something open: the graph begins with a node before its first block, so that a kernel that never
//! accesses the shared scratchpad releases it at once, and a first block in a loop releases it once; a guarded `ret` is an edge
//! to the exit; within a block, `relssp` comes right after the last access.

use std::collections::BTreeSet;

use crate::compile::cfg::{Block, Cfg};
use crate::compile::dominators::Postdominators;

/// A place for a `relssp`, between instructions that are numbered as in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Insertion {
    /// Before the first instruction, once: not when a loop comes back to it.
    Start,
    /// Before an instruction, from wherever control comes.
    Before(usize),
    /// Where control goes from one instruction to another; `None`: out of the kernel.
    Edge {
        /// The one before.
        from: usize,
        /// The one behind.
        to: Option<usize>,
    },
}

/// Where `relssp` goes so that every thread executes it once, as early as it can (Equations 3.1 and 3.2). `shared`: the
/// instructions that may access the shared scratchpad. In increasing order.
pub fn optimal(cfg: &Cfg, shared: &[bool]) -> Vec<Insertion> {
    Graph::new(cfg, shared).insertions()
}

/// Where it goes if it is put at the common postdominator of the blocks that access the shared scratchpad which every thread
/// passes once (§3.2.3): behind the last access there, or before the block's first instruction; before the end of the kernel if
/// there is none.
pub fn at_postdominator(cfg: &Cfg, shared: &[bool]) -> Vec<Insertion> {
    let last_access = |block: Block| cfg.block(block).instructions.clone().rfind(|index| shared[*index]);
    let reachable = cfg.reachable_before(&[Block(0)], None);
    let accessing: Vec<Block> =
        reachable.iter().copied().filter(|block| last_access(*block).is_some()).collect();
    let Some(&first) = accessing.first() else { return vec![Insertion::Start] };
    let tree = Postdominators::new(cfg);
    let is_passed_once = |block: Block| {
        tree.postdominates(block, Block(0))
            && accessing.iter().all(|access| tree.postdominates(block, *access))
            && !cfg.reachable_before(&cfg.block(block).successors, None).contains(&block)
    };
    let mut above = std::iter::successors(Some(first), |block| tree.immediate(*block));
    if let Some(block) = above.find(|block| is_passed_once(*block)) {
        return vec![match last_access(block) {
            Some(access) => after(cfg, access),
            None => Insertion::Before(cfg.block(block).instructions.start),
        }];
    }
    let exiting = reachable.into_iter().filter(|block| cfg.block(*block).exits);
    exiting.map(|block| Insertion::Edge { from: cfg.last_instruction(block), to: None }).collect()
}

/// Right behind an instruction that goes on to the next.
fn after(cfg: &Cfg, instruction: usize) -> Insertion {
    let block = cfg.block_of(instruction);
    if instruction < cfg.last_instruction(block) {
        return Insertion::Before(instruction + 1);
    }
    let next = cfg.block(block).successors.first().map(|to| cfg.block(*to).instructions.start);
    Insertion::Edge { from: instruction, to: next }
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Start,
    Block(Block),
    /// On a critical edge.
    Split(Block, Option<Block>),
    Exit,
}

/// The graph with a node before its first block, one for the exit, and one on every critical edge.
struct Graph<'a> {
    cfg: &'a Cfg,
    shared: &'a [bool],
    nodes: Vec<Node>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(cfg: &'a Cfg, shared: &'a [bool]) -> Graph<'a> {
        let blocks: BTreeSet<Block> = cfg.reachable_before(&[Block(0)], None);
        let mut nodes = vec![Node::Start];
        nodes.extend(blocks.iter().map(|block| Node::Block(*block)));
        nodes.push(Node::Exit);
        let number = |node: Node| nodes.iter().position(|other| *other == node);
        let mut edges: Vec<(usize, usize)> = Vec::new();
        edges.extend(number(Node::Start).zip(number(Node::Block(Block(0)))));
        for &block in &blocks {
            let successors = cfg.block(block).successors.iter().map(|to| Node::Block(*to));
            let exit = cfg.block(block).exits.then_some(Node::Exit);
            let from = number(Node::Block(block));
            edges.extend(successors.chain(exit).filter_map(|to| from.zip(number(to))));
        }
        let leaving = |node: usize| edges.iter().filter(|(from, _)| *from == node).count();
        let entering = |node: usize| edges.iter().filter(|(_, to)| *to == node).count();
        let critical: Vec<bool> =
            edges.iter().map(|&(from, to)| leaving(from) > 1 && entering(to) > 1).collect();
        let mut graph =
            Graph { cfg, shared, successors: Vec::new(), predecessors: Vec::new(), nodes: nodes.clone() };
        graph.successors.resize(nodes.len(), Vec::new());
        graph.predecessors.resize(nodes.len(), Vec::new());
        for ((from, to), critical) in edges.into_iter().zip(critical) {
            if critical {
                let split = graph.split(from, to);
                graph.connect(from, split);
                graph.connect(split, to);
            } else {
                graph.connect(from, to);
            }
        }
        graph
    }

    fn split(&mut self, from: usize, to: usize) -> usize {
        let block = |node: Node| match node {
            Node::Block(block) => Some(block),
            Node::Start | Node::Split(..) | Node::Exit => None,
        };
        let from = block(self.nodes[from]).unwrap_or(Block(0));
        self.nodes.push(Node::Split(from, block(self.nodes[to])));
        self.successors.push(Vec::new());
        self.predecessors.push(Vec::new());
        self.nodes.len() - 1
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.successors[from].push(to);
        self.predecessors[to].push(from);
    }

    /// The last instruction of a node that accesses the shared scratchpad.
    fn last_access(&self, node: usize) -> Option<usize> {
        match self.nodes[node] {
            Node::Block(block) => {
                self.cfg.block(block).instructions.clone().rfind(|index| self.shared[*index])
            }
            Node::Start | Node::Split(..) | Node::Exit => None,
        }
    }

    /// `SafeIN` and `SafeOUT` of every node: the greatest solution.
    fn safe(&self) -> (Vec<bool>, Vec<bool>) {
        let (mut safe_in, mut safe_out) = (vec![true; self.nodes.len()], vec![true; self.nodes.len()]);
        let mut changed = true;
        while changed {
            changed = false;
            for node in (0..self.nodes.len()).rev() {
                let out = self.successors[node].iter().all(|to| safe_in[*to]);
                let at_in = out && self.last_access(node).is_none();
                changed |= (at_in, out) != (safe_in[node], safe_out[node]);
                (safe_in[node], safe_out[node]) = (at_in, out);
            }
        }
        (safe_in, safe_out)
    }

    fn insertions(&self) -> Vec<Insertion> {
        let (safe_in, safe_out) = self.safe();
        let mut insertions = Vec::new();
        for node in 0..self.nodes.len() {
            // Equation 3.1.
            if safe_out[node] && !safe_in[node] {
                insertions.extend(self.last_access(node).map(|access| after(self.cfg, access)));
            }
            // Equation 3.2; nothing is before the start.
            let moves_back = node != 0 && self.predecessors[node].iter().all(|from| safe_out[*from]);
            if safe_in[node] && !moves_back {
                insertions.extend(self.before(node));
            }
        }
        insertions.sort_unstable();
        insertions
    }

    /// The place before a node.
    fn before(&self, node: usize) -> Option<Insertion> {
        let first = |block: Block| self.cfg.block(block).instructions.start;
        let edge = |from: Block, to: Option<Block>| Insertion::Edge {
            from: self.cfg.last_instruction(from),
            to: to.map(first),
        };
        match self.nodes[node] {
            Node::Start => Some(Insertion::Start),
            Node::Block(block) => Some(Insertion::Before(first(block))),
            Node::Split(from, to) => Some(edge(from, to)),
            Node::Exit => match self.predecessors[node].first().map(|from| self.nodes[*from]) {
                Some(Node::Block(from)) => Some(edge(from, None)),
                Some(Node::Start | Node::Split(..) | Node::Exit) | None => None,
            },
        }
    }
}

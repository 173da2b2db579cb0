//! Which virtual registers hold different values that are needed at the same time.

use crate::compile::bitset::BitSet;
use crate::compile::cfg::Block;
use crate::compile::function::Function;
use crate::compile::liveness::Liveness;
use crate::compile::lower::MachineCode;

/// An undirected graph over virtual registers.
#[derive(Clone, Debug)]
pub struct Interference {
    neighbours: Vec<Vec<u32>>,
    edges: std::collections::BTreeSet<(u32, u32)>,
    max_live: usize,
}

impl Interference {
    /// A register interferes with what is live where it is written, except with the source of a copy.
    ///
    /// Live means: read later on some path, and written earlier on some path. (A guarded definition does not
    /// end a life, so without the second condition everything guarded would be live from the start.)
    pub fn new(code: &MachineCode, function: &Function) -> Interference {
        let threads = Liveness::per_thread(function);
        let written = maybe_written(function);
        let mut graph = Interference {
            neighbours: vec![Vec::new(); function.registers],
            edges: Default::default(),
            max_live: 0,
        };
        for block in function.cfg.block_ids() {
            graph.add_block(code, function, &threads, &written[block.index()], block);
        }
        for &(a, b) in &graph.edges {
            graph.neighbours[a as usize].push(b);
            graph.neighbours[b as usize].push(a);
        }
        graph
    }

    fn add_block(
        &mut self,
        code: &MachineCode,
        function: &Function,
        threads: &Liveness,
        written_in: &BitSet,
        block: Block,
    ) {
        let mut written_after = Vec::new();
        let mut written = written_in.clone();
        for position in function.cfg.block(block).instructions.clone() {
            for definition in &function.instructions[position].definitions {
                written.insert(definition.register as usize);
            }
            written_after.push(written.clone());
        }
        let start = function.cfg.block(block).instructions.start;
        threads.each_backward(function, block, |position, access, live| {
            let mut live = live.clone();
            live.intersect_with(&written_after[position - start]);
            for definition in &access.definitions {
                live.insert(definition.register as usize);
            }
            self.max_live = self.max_live.max(live.len());
            let copied = code.ops[position].copy.then(|| code.ops[position].sources[0].0.0);
            for definition in &access.definitions {
                for other in live.iter().map(|other| other as u32) {
                    if other != definition.register && Some(other) != copied {
                        self.edges.insert((other.min(definition.register), other.max(definition.register)));
                    }
                }
            }
        });
    }

    /// Whether two registers interfere.
    pub fn between(&self, a: u32, b: u32) -> bool {
        self.edges.contains(&(a.min(b), a.max(b)))
    }

    /// Registers that interfere with one.
    pub fn neighbours(&self, register: u32) -> &[u32] {
        &self.neighbours[register as usize]
    }

    /// Largest number of registers live at once.
    pub fn max_live(&self) -> usize {
        self.max_live
    }
}

/// Registers that may have been written before each block.
fn maybe_written(function: &Function) -> Vec<BitSet> {
    let blocks = function.cfg.blocks();
    let mut written_in = vec![BitSet::new(function.registers); blocks.len()];
    let mut work: Vec<Block> = function.cfg.block_ids().rev().collect();
    while let Some(block) = work.pop() {
        let mut written = written_in[block.index()].clone();
        for position in blocks[block.index()].instructions.clone() {
            for definition in &function.instructions[position].definitions {
                written.insert(definition.register as usize);
            }
        }
        for &successor in &blocks[block.index()].successors {
            if written_in[successor.index()].union_with(&written) {
                work.push(successor);
            }
        }
    }
    written_in
}

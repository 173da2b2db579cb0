//! What lives where in a warp, and where dead values are invalidated (§4.3, §4.4).
//!
//! Lifetimes are those of the warp: found on its graph, and not ended by soft definitions. A value whose last access
//! is its death needs nothing more, as that access erases it. One that dies because control goes another way leaves
//! copies behind; they are invalidated in the nearest block that postdominates all definitions and deaths of the live
//! range, which every lane has reached by then.

use super::bitset::BitSet;
use super::cfg::Block;
use super::dominators::Postdominators;
use super::function::Function;
use super::liveness::{Liveness, maybe_written};
use super::optimise::webs::UnionFind;
use crate::program::PhysReg;

/// Lifetimes of registers at every point of a program.
pub struct Lifetimes {
    /// For each instruction what is live before it.
    live_before: Vec<BitSet>,
    /// For each instruction what is live after it.
    live_after: Vec<BitSet>,
    /// For each instruction what may have been written before it.
    written_before: Vec<BitSet>,
    /// For each block, in increasing order, the registers to be invalidated before its first instruction.
    invalidations: Vec<Vec<PhysReg>>,
}

impl Lifetimes {
    /// Finds them on the graph of the warp.
    pub fn new(function: &Function, soft: &[Vec<bool>]) -> Lifetimes {
        let liveness = Liveness::of_warp(function, soft);
        let count = function.instructions.len();
        let empty = BitSet::default();
        let mut lifetimes = Lifetimes {
            live_before: vec![empty.clone(); count],
            live_after: vec![empty.clone(); count],
            written_before: vec![empty; count],
            invalidations: Vec::new(),
        };
        let written = maybe_written(function);
        for block in function.cfg.block_ids() {
            lifetimes.fill_live(function, soft, block, &liveness);
            lifetimes.fill_written(function, block, &written[block.index()]);
        }
        lifetimes.invalidations =
            LiveRanges::new(function, soft, &liveness, &lifetimes).invalidations(function);
        for block in function.cfg.block_ids() {
            let start = function.cfg.block(block).instructions.start;
            // The register may hold the next value by then, or nothing on any way here.
            let (live, written) = (&lifetimes.live_before[start], &lifetimes.written_before[start]);
            lifetimes.invalidations[block.index()].retain(|register| {
                let register = usize::from(register.0);
                !live.contains(register) && written.contains(register)
            });
        }
        lifetimes
    }

    fn fill_live(&mut self, function: &Function, soft: &[Vec<bool>], block: Block, liveness: &Liveness) {
        let mut live = liveness.live_out(block).clone();
        for position in function.cfg.block(block).instructions.clone().rev() {
            self.live_after[position] = live.clone();
            let access = &function.instructions[position];
            for (definition, soft) in access.definitions.iter().zip(&soft[position]) {
                if !soft {
                    live.remove(definition.register as usize);
                }
            }
            for &register in &access.uses {
                live.insert(register as usize);
            }
            self.live_before[position] = live.clone();
        }
    }

    fn fill_written(&mut self, function: &Function, block: Block, written_in: &BitSet) {
        let mut written = written_in.clone();
        for position in function.cfg.block(block).instructions.clone() {
            self.written_before[position] = written.clone();
            for definition in &function.instructions[position].definitions {
                written.insert(definition.register as usize);
            }
        }
    }

    /// Registers that some lane may read from an instruction on, before they are written.
    pub fn live_before(&self, position: usize) -> &BitSet {
        &self.live_before[position]
    }

    /// Registers that some lane may read after an instruction.
    pub fn live_after(&self, position: usize) -> &BitSet {
        &self.live_after[position]
    }

    /// Registers that may have been written before an instruction.
    pub fn written_before(&self, position: usize) -> &BitSet {
        &self.written_before[position]
    }

    /// Whether a register may hold a value before an instruction that some lane may read.
    pub fn holds_value_before(&self, position: usize, register: u32) -> bool {
        let register = register as usize;
        self.live_before[position].contains(register) && self.written_before[position].contains(register)
    }

    /// Registers to be invalidated before the first instruction of a block, in increasing order.
    pub fn invalidations(&self, block: Block) -> &[PhysReg] {
        &self.invalidations[block.index()]
    }
}

/// Live ranges, as sets of pieces. A piece is what one block has of a live range: from its start or a definition to
/// its end or a death.
struct LiveRanges {
    register: Vec<u32>,
    /// For each piece the blocks of its definition and of its deaths.
    blocks: Vec<Vec<Block>>,
    /// For each piece whether it dies because control goes where it is not needed.
    dies_on_an_edge: Vec<bool>,
    joined: UnionFind,
}

/// For each register the piece it has at some point.
type Pieces = Vec<Option<usize>>;

impl LiveRanges {
    fn new(
        function: &Function,
        soft: &[Vec<bool>],
        liveness: &Liveness,
        lifetimes: &Lifetimes,
    ) -> LiveRanges {
        let mut ranges = LiveRanges {
            register: Vec::new(),
            blocks: Vec::new(),
            dies_on_an_edge: Vec::new(),
            joined: UnionFind::new(0),
        };
        let mut at_start: Vec<Pieces> = Vec::new();
        for block in function.cfg.block_ids() {
            let mut pieces = vec![None; function.registers];
            for register in liveness.live_in(block).iter() {
                pieces[register] = Some(ranges.piece(register as u32));
            }
            at_start.push(pieces);
        }
        for block in function.cfg.block_ids() {
            let mut pieces = at_start[block.index()].clone();
            for position in function.cfg.block(block).instructions.clone() {
                ranges.step(
                    function,
                    position,
                    block,
                    &soft[position],
                    lifetimes.live_after(position),
                    &mut pieces,
                );
            }
            for register in liveness.live_out(block).iter() {
                let piece = pieces[register]
                    .expect("what is live after a block was live before it or is defined in it");
                ranges.leave(function, block, piece, &at_start);
            }
        }
        ranges
    }

    fn piece(&mut self, register: u32) -> usize {
        self.register.push(register);
        self.blocks.push(Vec::new());
        self.dies_on_an_edge.push(false);
        self.joined.add()
    }

    /// Over one instruction.
    fn step(
        &mut self,
        function: &Function,
        position: usize,
        block: Block,
        soft: &[bool],
        live_after: &BitSet,
        pieces: &mut Pieces,
    ) {
        let access = &function.instructions[position];
        for &register in &access.uses {
            let dies = !live_after.contains(register as usize) || access.defines(register);
            if let Some(piece) = pieces[register as usize].filter(|_| dies) {
                self.blocks[piece].push(block);
            }
        }
        for (definition, &soft) in access.definitions.iter().zip(soft) {
            let register = definition.register;
            let piece = match pieces[register as usize] {
                Some(piece) if soft => piece,
                Some(_) | None => self.piece(register),
            };
            self.blocks[piece].push(block);
            pieces[register as usize] = Some(piece);
        }
    }

    /// Over the edges from a block's end.
    fn leave(&mut self, function: &Function, block: Block, piece: usize, at_start: &[Pieces]) {
        let register = self.register[piece] as usize;
        for &successor in &function.cfg.block(block).successors {
            match at_start[successor.index()][register] {
                Some(next) => self.joined.unite(piece, next),
                None => {
                    self.dies_on_an_edge[piece] = true;
                    self.blocks[piece].push(successor);
                }
            }
        }
    }

    /// For each block the registers whose live ranges are invalidated there.
    fn invalidations(mut self, function: &Function) -> Vec<Vec<PhysReg>> {
        let postdominators = Postdominators::new(&function.cfg);
        let pieces = self.register.len();
        let mut dies_on_an_edge = vec![false; pieces];
        // The nearest common postdominator so far; the inner `None` is the end of the program.
        let mut meet: Vec<Option<Option<Block>>> = vec![None; pieces];
        for piece in 0..pieces {
            let range = self.joined.find(piece);
            dies_on_an_edge[range] |= self.dies_on_an_edge[piece];
            for &block in &self.blocks[piece] {
                meet[range] = Some(match meet[range] {
                    None => Some(block),
                    Some(met) => met.and_then(|met| common(&postdominators, met, block)),
                });
            }
        }
        let mut invalidations = vec![Vec::new(); function.cfg.blocks().len()];
        for range in 0..pieces {
            if let (true, Some(Some(block))) = (dies_on_an_edge[range], meet[range]) {
                invalidations[block.index()].push(PhysReg(self.register[range] as u16));
            }
        }
        for registers in &mut invalidations {
            registers.sort_unstable();
            registers.dedup();
        }
        invalidations
    }
}

/// The nearest block that postdominates both; `None` if they meet only at the end.
fn common(postdominators: &Postdominators, a: Block, b: Block) -> Option<Block> {
    std::iter::successors(Some(a), |&block| postdominators.immediate(block))
        .find(|&block| postdominators.postdominates(block, b))
}

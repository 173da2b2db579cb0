//! Which definitions are soft: after them, lanes that did not execute may still need their value (§4.4).

use super::bitset::BitSet;
use super::cfg::Block;
use super::dominators::{Dominators, Postdominators};
use super::function::Function;
use super::liveness::Liveness;
use crate::program::Program;

/// As the program has them marked: by the rule for divergent lanes (PTX), or as observed (traces).
pub fn as_marked(program: &Program) -> Vec<Vec<bool>> {
    let results = program.instructions.iter().map(|instruction| &instruction.results);
    results.map(|results| results.iter().map(|result| result.soft).collect()).collect()
}

/// Algorithm 2 as printed, on the graph of lanes.
///
/// A definition is soft if one of its strict dominators, with no point of reconvergence between the two, has a
/// successor that does not dominate the definition and on whose edge the register is live.
pub fn algorithm_2(function: &Function) -> Vec<Vec<bool>> {
    let cfg = &function.cfg;
    let dominators = Dominators::new(cfg);
    let postdominators = Postdominators::new(cfg);
    let liveness = Liveness::per_thread(function);
    let mut soft = vec![Vec::new(); function.instructions.len()];
    for block in cfg.block_ids() {
        let elsewhere = live_elsewhere(function, &dominators, &postdominators, &liveness, block);
        for position in cfg.block(block).instructions.clone() {
            let definitions = &function.instructions[position].definitions;
            soft[position] = (definitions.iter())
                .map(|definition| elsewhere.contains(definition.register as usize))
                .collect();
        }
    }
    soft
}

/// Registers of which a definition in `block` is soft.
fn live_elsewhere(
    function: &Function,
    dominators: &Dominators,
    postdominators: &Postdominators,
    liveness: &Liveness,
    block: Block,
) -> BitSet {
    let strict: Vec<Block> =
        std::iter::successors(dominators.immediate(block), |&above| dominators.immediate(above)).collect();
    let mut registers = BitSet::default();
    for &above in &strict {
        let reconverges = (strict.iter().chain([&block]))
            .any(|&between| between != above && postdominators.postdominates(between, above));
        if reconverges {
            continue;
        }
        for &successor in &function.cfg.block(above).successors {
            if !dominators.dominates(successor, block) {
                registers.union_with(liveness.live_in(successor));
            }
        }
    }
    registers
}

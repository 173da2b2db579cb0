//! Where a two-level scheduler suspends a warp, and what is not read before that.
//!
//! Source: Gebhart et al., RFC §3.2 (suspension at the first consumer of a long-latency result) and §5.3
//! (values that are not read before it).

use super::bitset::BitSet;
use super::cfg::Block;
use super::dominators::Postdominators;
use super::function::{Access, Function};

/// For each instruction whether it suspends its warp: on some path to it, a long-latency result that it reads or
/// overwrites may still be under way.
///
/// Behind a marked instruction the results it waited for have arrived; others may still be under way. Where lanes
/// part, one side runs after the other: what the first leaves under way, the second may have to wait for.
pub fn suspends(function: &Function) -> Vec<bool> {
    let blocks = function.cfg.blocks();
    let next_sides = next_sides(function);
    let mut pending_in = vec![BitSet::default(); blocks.len()];
    let mut work: Vec<Block> = function.cfg.block_ids().rev().collect();
    while let Some(block) = work.pop() {
        let mut pending = pending_in[block.index()].clone();
        for instruction in blocks[block.index()].instructions.clone() {
            step_pending(&function.instructions[instruction], &mut pending);
        }
        for successor in blocks[block.index()].successors.iter().chain(&next_sides[block.index()]) {
            if pending_in[successor.index()].union_with(&pending) {
                work.push(*successor);
            }
        }
    }
    let mut marks = vec![false; function.instructions.len()];
    for (block, mut pending) in blocks.iter().zip(pending_in) {
        for instruction in block.instructions.clone() {
            marks[instruction] = step_pending(&function.instructions[instruction], &mut pending);
        }
    }
    marks
}

/// For each block at which one side of a divergent branch ends: the other sides, one of which may run next.
pub fn next_sides(function: &Function) -> Vec<Vec<Block>> {
    let cfg = &function.cfg;
    let postdominators = Postdominators::new(cfg);
    let mut next = vec![Vec::new(); cfg.blocks().len()];
    for branch in cfg.block_ids() {
        let successors = &cfg.block(branch).successors;
        if !function.instructions[cfg.last_instruction(branch)].may_diverge || successors.len() < 2 {
            continue;
        }
        let meet = postdominators.immediate(branch);
        let ends = |block: Block| {
            let block = cfg.block(block);
            block.exits || block.successors.iter().any(|&successor| Some(successor) == meet)
        };
        for &side in successors.iter().filter(|&&side| Some(side) != meet) {
            let region = cfg.reachable_before(&[side], meet);
            let others = || successors.iter().filter(|&&other| other != side && Some(other) != meet);
            for block in region.into_iter().filter(|&block| ends(block)) {
                next[block.index()].extend(others());
            }
        }
    }
    next
}

/// Updates the results that may be under way; whether the instruction waits for one of them.
fn step_pending(access: &Access, pending: &mut BitSet) -> bool {
    let mut waits = false;
    let written = access.definitions.iter().map(|definition| definition.register);
    for register in access.uses.iter().copied().chain(written) {
        waits |= pending.contains(register as usize);
        pending.remove(register as usize);
    }
    if access.long_latency {
        for definition in &access.definitions {
            pending.insert(definition.register as usize);
        }
    }
    waits
}

/// What is not read before the warp may next be suspended (RFC §5.3), for each use and each definition of each
/// instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// After this use, the value is not read again before a suspension.
    pub uses: Vec<Vec<bool>>,
    /// The value defined is not read before a suspension.
    pub definitions: Vec<Vec<bool>>,
}

/// Finds what is idle until the next marked instruction or barrier on every path. The marked instruction's own
/// reads come after the suspension.
pub fn idle(function: &Function, suspends: &[bool]) -> Idle {
    let blocks = function.cfg.blocks();
    let mut read_in = vec![BitSet::default(); blocks.len()];
    let mut work: Vec<Block> = function.cfg.block_ids().collect();
    while let Some(block) = work.pop() {
        let mut soon = read_soon_out(function, &read_in, block);
        for instruction in blocks[block.index()].instructions.clone().rev() {
            step_read_soon(&function.instructions[instruction], suspends[instruction], &mut soon);
        }
        if read_in[block.index()].union_with(&soon) {
            work.extend(&blocks[block.index()].predecessors);
        }
    }
    let mut idle = Idle {
        uses: vec![Vec::new(); function.instructions.len()],
        definitions: vec![Vec::new(); function.instructions.len()],
    };
    for block in function.cfg.block_ids() {
        let mut soon = read_soon_out(function, &read_in, block);
        for instruction in function.cfg.block(block).instructions.clone().rev() {
            let access = &function.instructions[instruction];
            idle.uses[instruction] = access
                .uses
                .iter()
                .map(|&register| !soon.contains(register as usize) || access.defines(register))
                .collect();
            idle.definitions[instruction] = access
                .definitions
                .iter()
                .map(|definition| !soon.contains(definition.register as usize))
                .collect();
            step_read_soon(access, suspends[instruction], &mut soon);
        }
    }
    idle
}

fn read_soon_out(function: &Function, read_in: &[BitSet], block: Block) -> BitSet {
    let mut soon = BitSet::default();
    for successor in &function.cfg.block(block).successors {
        soon.union_with(&read_in[successor.index()]);
    }
    soon
}

/// Backward over one instruction: registers that may be read before the next suspension.
fn step_read_soon(access: &Access, suspends: bool, soon: &mut BitSet) {
    if suspends || access.barrier {
        soon.clear();
        return;
    }
    for definition in access.definitions.iter().filter(|definition| !definition.guarded) {
        soon.remove(definition.register as usize);
    }
    for &register in &access.uses {
        soon.insert(register as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::cfg::{Cfg, Flow};
    use crate::compile::function::Definition;

    fn access(uses: &[u32], definitions: &[u32]) -> Access {
        let definitions =
            definitions.iter().map(|&register| Definition { register, guarded: false }).collect();
        Access { uses: uses.to_vec(), definitions, ..Access::default() }
    }

    fn load(address: u32, result: u32) -> Access {
        Access { long_latency: true, ..access(&[address], &[result]) }
    }

    fn straight(instructions: Vec<Access>) -> Function {
        let flow = vec![Flow::Next; instructions.len()];
        Function { cfg: Cfg::new(&flow).unwrap(), instructions, registers: 8 }
    }

    #[test]
    fn only_the_first_consumer_of_a_load_suspends() {
        let function = straight(vec![load(0, 1), access(&[2], &[3]), access(&[1], &[4]), access(&[1], &[5])]);
        assert_eq!(suspends(&function), [false, false, true, false]);
    }

    #[test]
    fn each_of_two_loads_is_waited_for() {
        let function = straight(vec![load(0, 1), load(0, 2), access(&[1], &[3]), access(&[2], &[4])]);
        assert_eq!(suspends(&function), [false, false, true, true]);
    }

    #[test]
    fn overwriting_a_result_under_way_suspends() {
        let function = straight(vec![load(0, 1), access(&[2], &[1])]);
        assert_eq!(suspends(&function), [false, true]);
    }

    #[test]
    fn a_load_at_the_end_of_a_loop_is_waited_for_in_the_next_iteration() {
        let flow = [Flow::Next, Flow::To { targets: vec![0, 2], exits: false }, Flow::Next];
        let function = Function {
            cfg: Cfg::new(&flow).unwrap(),
            instructions: vec![access(&[1], &[2]), load(0, 1), access(&[], &[])],
            registers: 3,
        };
        assert_eq!(suspends(&function), [true, false, false]);
    }

    #[test]
    fn one_side_of_a_branch_waits_for_what_the_other_left_under_way() {
        let side = |target| Flow::To { targets: vec![target], exits: false };
        let flow =
            [Flow::To { targets: vec![1, 3], exits: false }, Flow::Next, side(4), Flow::Next, Flow::Next];
        let mut function = Function {
            cfg: Cfg::new(&flow).unwrap(),
            instructions: vec![
                access(&[], &[]),
                load(0, 1),
                access(&[], &[]),
                access(&[1], &[2]),
                access(&[], &[]),
            ],
            registers: 3,
        };
        assert!(!suspends(&function)[3], "a uniform branch runs one side only");
        function.instructions[0].may_diverge = true;
        assert!(suspends(&function)[3]);
    }

    #[test]
    fn the_only_side_of_a_branch_does_not_wait_for_itself() {
        let flow = [Flow::To { targets: vec![1, 2], exits: false }, Flow::Next, Flow::Next];
        let mut function = Function {
            cfg: Cfg::new(&flow).unwrap(),
            instructions: vec![access(&[], &[]), load(0, 1), access(&[], &[])],
            registers: 2,
        };
        function.instructions[0].may_diverge = true;
        assert_eq!(suspends(&function), [false; 3]);
    }

    #[test]
    fn a_value_read_only_behind_the_suspension_is_idle() {
        let function =
            straight(vec![access(&[], &[4]), load(0, 1), access(&[5], &[6]), access(&[1, 4, 6], &[2])]);
        let idle = idle(&function, &suspends(&function));
        assert_eq!(idle.definitions[0], [true]);
        assert_eq!(idle.uses[2], [true]);
        assert_eq!(idle.definitions[2], [true], "its reader is the instruction that suspends");
    }

    #[test]
    fn a_value_read_before_the_suspension_is_not_idle() {
        let function = straight(vec![access(&[], &[4]), load(0, 1), access(&[4], &[5]), access(&[1], &[2])]);
        assert_eq!(idle(&function, &suspends(&function)).definitions[0], [false]);
    }

    #[test]
    fn a_barrier_ends_the_window() {
        let mut function = straight(vec![access(&[], &[1]), access(&[], &[]), access(&[1], &[])]);
        function.instructions[1].barrier = true;
        assert_eq!(idle(&function, &suspends(&function)).definitions[0], [true]);
    }
}

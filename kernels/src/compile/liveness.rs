//! Liveness, for one thread and for a warp.
//!
//! [`Liveness::per_thread`] is the textbook analysis: what register allocation needs, because a thread's
//! registers are its own. [`Liveness::of_warp`] treats a register as one thing for all lanes: a definition that
//! some lanes skip does not end the life of the value, since those lanes may still need theirs. Such definitions
//! are *soft* (Kloosterman et al., "RegLess", §4.4).

use std::collections::{BTreeMap, BTreeSet};

use super::bitset::BitSet;
use super::cfg::Block;
use super::dominators::Postdominators;
use super::function::{Access, Function};

/// Registers live at the borders of each block.
#[derive(Clone, Debug)]
pub struct Liveness {
    live_in: Vec<BitSet>,
    live_out: Vec<BitSet>,
}

impl Liveness {
    /// What one thread may still read. A guarded definition does not end a life.
    pub fn per_thread(function: &Function) -> Liveness {
        Liveness::solve(function, |instruction, definition| {
            !function.instructions[instruction].definitions[definition].guarded
        })
    }

    /// What some lane of a warp may still read: no soft definition ends a life.
    pub fn of_warp(function: &Function, soft: &[Vec<bool>]) -> Liveness {
        Liveness::solve(function, |instruction, definition| !soft[instruction][definition])
    }

    /// Backward dataflow in which the `d`-th definition of instruction `i` ends a life if `kills(i, d)`.
    fn solve(function: &Function, kills: impl Fn(usize, usize) -> bool) -> Liveness {
        let blocks = function.cfg.blocks();
        let empty = BitSet::default();
        let mut live_in = vec![empty.clone(); blocks.len()];
        let mut live_out = vec![empty; blocks.len()];
        let mut work: Vec<Block> = function.cfg.block_ids().collect();
        let mut queued = vec![true; blocks.len()];
        while let Some(block) = work.pop() {
            let index = block.index();
            queued[index] = false;
            for successor in &blocks[index].successors {
                live_out[index].union_with(&live_in[successor.index()]);
            }
            let mut live = live_out[index].clone();
            for instruction in blocks[index].instructions.clone().rev() {
                let access = &function.instructions[instruction];
                for (position, definition) in access.definitions.iter().enumerate() {
                    if kills(instruction, position) {
                        live.remove(definition.register as usize);
                    }
                }
                for &register in &access.uses {
                    live.insert(register as usize);
                }
            }
            if live_in[index].union_with(&live) {
                for predecessor in &blocks[index].predecessors {
                    if !std::mem::replace(&mut queued[predecessor.index()], true) {
                        work.push(*predecessor);
                    }
                }
            }
        }
        Liveness { live_in, live_out }
    }

    /// Registers live before the first instruction of a block.
    pub fn live_in(&self, block: Block) -> &BitSet {
        &self.live_in[block.index()]
    }

    /// Registers live after the last instruction of a block.
    pub fn live_out(&self, block: Block) -> &BitSet {
        &self.live_out[block.index()]
    }

    /// Visits each instruction of a block from the last to the first with what a thread may read after it.
    /// The liveness must be that of threads.
    pub fn each_backward(
        &self,
        function: &Function,
        block: Block,
        mut visit: impl FnMut(usize, &Access, &BitSet),
    ) {
        let mut live = self.live_out(block).clone();
        for instruction in function.cfg.block(block).instructions.clone().rev() {
            let access = &function.instructions[instruction];
            visit(instruction, access, &live);
            for definition in access.definitions.iter().filter(|definition| !definition.guarded) {
                live.remove(definition.register as usize);
            }
            for &register in &access.uses {
                live.insert(register as usize);
            }
        }
    }

    /// As [`Liveness::each_backward`], but only with what may also have been written by then; of what is live,
    /// `written_in` may have been before the block. Takes time in proportion to what is live, however many registers there are.
    pub fn each_held_backward(
        &self,
        function: &Function,
        block: Block,
        written_in: &BitSet,
        mut visit: impl FnMut(usize, &Access, &BTreeSet<u32>),
    ) {
        let instructions = function.cfg.block(block).instructions.clone();
        let mut first_write = BTreeMap::new();
        for position in instructions.clone() {
            for definition in &function.instructions[position].definitions {
                first_write.entry(definition.register).or_insert(position);
            }
        }
        let is_written_before = |register: u32, position: usize| {
            let here = first_write.get(&register);
            written_in.contains(register as usize) || here.is_some_and(|&first| first < position)
        };
        let live_out = self.live_out(block).iter().map(|register| register as u32);
        let mut held: BTreeSet<u32> =
            live_out.filter(|&register| is_written_before(register, instructions.end)).collect();
        for position in instructions.rev() {
            let access = &function.instructions[position];
            visit(position, access, &held);
            for definition in &access.definitions {
                if !definition.guarded || !is_written_before(definition.register, position) {
                    held.remove(&definition.register);
                }
            }
            let read = access.uses.iter().copied();
            held.extend(read.filter(|&register| is_written_before(register, position)));
        }
    }
}

/// Registers that may have been written before each block.
pub fn maybe_written(function: &Function) -> Vec<BitSet> {
    maybe_written_of(function, |_, _| true)
}

/// The same of those registers only that a thread may still read.
pub fn maybe_written_and_live(function: &Function, threads: &Liveness) -> Vec<BitSet> {
    maybe_written_of(function, |block, register| threads.live_in(block).contains(register))
}

fn maybe_written_of(function: &Function, asked: impl Fn(Block, usize) -> bool) -> Vec<BitSet> {
    let blocks = function.cfg.blocks();
    let mut written_in = vec![BitSet::default(); blocks.len()];
    let mut work: Vec<Block> = function.cfg.block_ids().rev().collect();
    while let Some(block) = work.pop() {
        let here = blocks[block.index()].instructions.clone();
        let here = here.flat_map(|position| &function.instructions[position].definitions);
        let here = here.map(|definition| definition.register as usize);
        let written: Vec<usize> = written_in[block.index()].iter().chain(here).collect();
        for &successor in &blocks[block.index()].successors {
            let mut changed = false;
            for &register in written.iter().filter(|&&register| asked(successor, register)) {
                changed |= written_in[successor.index()].insert(register);
            }
            if changed {
                work.push(successor);
            }
        }
    }
    written_in
}

/// For each use of each instruction: no executing lane reads the value again (RFC §3.1).
///
/// Lanes that execute the instruction and overwrite the register with it do not read it again either, guard or
/// not. Nothing is said of lanes that do not execute.
pub fn last_reads(function: &Function, threads: &Liveness) -> Vec<Vec<bool>> {
    let mut last: Vec<Vec<bool>> = vec![Vec::new(); function.instructions.len()];
    for block in function.cfg.block_ids() {
        threads.each_backward(function, block, |instruction, access, live| {
            last[instruction] = access
                .uses
                .iter()
                .map(|&register| !live.contains(register as usize) || access.defines(register))
                .collect();
        });
    }
    last
}

/// For each definition of each instruction whether it is soft: lanes that do not execute it may hold a value of
/// the register that is still needed (RegLess §4.4).
///
/// It is if it is guarded, or if a branch that may diverge reaches it before that branch's immediate
/// postdominator, and the register is live at that postdominator (lanes wait there with their value, or come
/// there later with one defined on the other side) or at a successor of the branch other than the one through
/// which it is reached (lanes wait there, also where that is the head of a loop around the branch).
pub fn soft_definitions(
    function: &Function,
    postdominators: &Postdominators,
    threads: &Liveness,
) -> Vec<Vec<bool>> {
    let mut soft: Vec<Vec<bool>> = function
        .instructions
        .iter()
        .map(|access| access.definitions.iter().map(|definition| definition.guarded).collect())
        .collect();
    for branch in function.cfg.block_ids() {
        let successors = &function.cfg.block(branch).successors;
        let diverges = function.instructions[function.cfg.last_instruction(branch)].may_diverge;
        if !diverges || successors.len() < 2 {
            continue;
        }
        let meet = postdominators.immediate(branch);
        for (side, &successor) in successors.iter().enumerate() {
            let others: Vec<Block> = successors
                .iter()
                .enumerate()
                .filter(|&(other, _)| other != side)
                .map(|(_, &block)| block)
                .collect();
            // Lanes wait at the successor while others execute, and at the meeting point.
            mark_soft(function, &others, meet, threads.live_in(successor), &mut soft);
        }
        if let Some(block) = meet {
            mark_soft(function, successors, meet, threads.live_in(block), &mut soft);
        }
    }
    soft
}

/// Marks definitions of `waiting` registers in blocks between `from` and where lanes meet.
fn mark_soft(
    function: &Function,
    from: &[Block],
    meet: Option<Block>,
    waiting: &BitSet,
    soft: &mut [Vec<bool>],
) {
    let region = function.cfg.reachable_before(from, meet);
    for block in region {
        for instruction in function.cfg.block(block).instructions.clone() {
            let definitions = &function.instructions[instruction].definitions;
            for (definition, soft) in definitions.iter().zip(&mut soft[instruction]) {
                *soft |= waiting.contains(definition.register as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::cfg::{Cfg, Flow};
    use crate::compile::function::Definition;

    /// Uses, definitions and, for a branch, its targets (none: the function ends).
    type Line<'a> = (&'a [u32], &'a [u32], Option<&'a [usize]>);

    fn function(code: &[Line]) -> Function {
        let flow: Vec<Flow> = code
            .iter()
            .map(|(_, _, targets)| match targets {
                None => Flow::Next,
                Some(targets) => Flow::To { targets: targets.to_vec(), exits: targets.is_empty() },
            })
            .collect();
        let instructions = code
            .iter()
            .map(|(uses, definitions, targets)| Access {
                uses: uses.to_vec(),
                definitions: definitions
                    .iter()
                    .map(|&register| Definition { register, guarded: false })
                    .collect(),
                may_diverge: targets.is_some_and(|targets| targets.len() > 1),
                ..Access::default()
            })
            .collect();
        Function { cfg: Cfg::new(&flow).unwrap(), instructions, registers: 4 }
    }

    fn soft(function: &Function) -> Vec<Vec<bool>> {
        soft_definitions(function, &Postdominators::new(&function.cfg), &Liveness::per_thread(function))
    }

    /// `if (p) r1 = …; else r1 = …; use r1`.
    fn diamond() -> Function {
        function(&[
            (&[0], &[], Some(&[1, 3])),
            (&[], &[1], None),
            (&[], &[], Some(&[4])),
            (&[], &[1], None),
            (&[1], &[], Some(&[])),
        ])
    }

    /// `do { r1 = r1 + 1 } while (p)`, then `use r1`.
    fn rotated_loop() -> Function {
        function(&[(&[], &[1], None), (&[1], &[1], None), (&[0], &[], Some(&[1, 3])), (&[1], &[], Some(&[]))])
    }

    #[test]
    fn both_arms_of_a_diamond_define_softly() {
        let function = diamond();
        let soft = soft(&function);
        assert_eq!((&soft[1], &soft[3]), (&vec![true], &vec![true]));
        let warp = Liveness::of_warp(&function, &soft);
        assert!(warp.live_in(Block(2)).contains(1), "the first arm's value must survive the second arm");
        assert!(!Liveness::per_thread(&function).live_in(Block(2)).contains(1));
    }

    #[test]
    fn a_uniform_branch_makes_nothing_soft() {
        let mut function = diamond();
        function.instructions[0].may_diverge = false;
        assert_eq!(soft(&function)[1], [false]);
    }

    #[test]
    fn a_loop_that_lanes_leave_early_defines_softly_what_is_read_behind_it() {
        let soft = soft(&rotated_loop());
        assert_eq!(soft[1], [true], "lanes that have left wait with their value");
        assert_eq!(soft[0], [false], "before the loop all lanes are together");
    }

    #[test]
    fn a_loop_defines_firmly_what_dies_in_it() {
        let mut function = rotated_loop();
        function.instructions[3].uses.clear();
        assert_eq!(soft(&function)[1], [false]);
    }

    #[test]
    fn a_value_that_the_other_arm_still_reads_makes_a_definition_soft() {
        let function = function(&[
            (&[], &[1], None),
            (&[0], &[], Some(&[2, 4])),
            (&[], &[1], None),
            (&[1], &[], Some(&[5])),
            (&[1], &[], None),
            (&[], &[], Some(&[])),
        ]);
        assert_eq!(soft(&function)[2], [true]);
    }

    #[test]
    fn a_guarded_definition_is_soft_and_ends_no_life() {
        let mut function = function(&[(&[], &[1], None), (&[0], &[1], None), (&[1], &[], Some(&[]))]);
        function.instructions[1].definitions[0].guarded = true;
        assert_eq!(soft(&function)[1], [true]);
        let threads = Liveness::per_thread(&function);
        let mut live_before_guarded = false;
        threads.each_backward(&function, Block(0), |instruction, _, live| {
            if instruction == 0 {
                live_before_guarded = live.contains(1);
            }
        });
        assert!(live_before_guarded);
    }

    #[test]
    fn a_read_is_the_last_if_no_path_reads_the_value_again() {
        let function = rotated_loop();
        let last = last_reads(&function, &Liveness::per_thread(&function));
        assert_eq!(last[1], [true], "overwritten by the instruction that reads it");
        assert_eq!(last[2], [false], "read again in the next iteration");
        assert_eq!(last[3], [true]);
    }
}

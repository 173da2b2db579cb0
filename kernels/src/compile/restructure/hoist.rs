//! What a side of a branch computes is computed in front of the branch, if that waits for a load anyway.
//!
//! A branch that asks what a load brought holds its warp for as long as the load takes, and the block behind it begins with
//! addresses that do not need the answer. They are computed in front of the branch, between the load and the comparison:
//! speculatively, as far as they can neither fail nor be noticed by the other side (Bernstein & Rodeh, "Global instruction
//! scheduling for superscalar machines", PLDI 1991). Loads stay where they are: the address may be wrong on the other side.

use std::collections::BTreeSet;

use super::check;
use super::draft::{Draft, End, Label};
use super::predicate::{is_pure, takes_a_slot};
use crate::compile::divergence;
use crate::compile::dominators::Dominators;
use crate::compile::schedule::ScheduleError;
use crate::program::Space;
use crate::ptx::ir::{Instruction, Op, Reg};

/// Instructions of the machine that are computed in front of one branch at most.
const MOST: usize = 16;
/// Over how many branches an instruction may move.
const ROUNDS: usize = 4;

/// Moves instructions in front of branches that wait for loads.
///
/// # Errors
/// A value that is read elsewhere: an error of this pass.
pub(super) fn above_waiting_branches(draft: &mut Draft) -> Result<(), ScheduleError> {
    for _ in 0..ROUNDS {
        let before = draft.clone();
        if !round(draft) {
            break;
        }
        check::check(&before, draft)?;
    }
    Ok(())
}

/// Over one branch each.
fn round(draft: &mut Draft) -> bool {
    let live_in = draft.live_in();
    let arrivals = draft.arrivals();
    let depths = depths(draft);
    let mut changed = vec![false; arrivals.len()];
    for label in draft.order().to_vec() {
        let End::Branch(branch) = &draft.piece(label).end else { continue };
        let guard = branch.guard.register;
        let sides = [(branch.next, branch.taken), (branch.taken, branch.next)];
        if changed[label.0] || sides[0].0 == sides[0].1 || !waits(&draft.piece(label).instructions, guard) {
            continue;
        }
        let mut hoisted: Vec<Instruction> = Vec::new();
        for (side, other) in sides {
            let is_side = arrivals[side.0] == 1 && side != label && depths[side.0] >= depths[label.0];
            if !is_side || changed[side.0] {
                continue;
            }
            let taken: BTreeSet<Reg> =
                hoisted.iter().flat_map(Instruction::definitions).chain([guard]).collect();
            // A write under a guard keeps what is there: as good as a read.
            let keeping =
                draft.piece(other).instructions.iter().filter(|instruction| instruction.guard.is_some());
            let kept: BTreeSet<Reg> = keeping.flat_map(Instruction::definitions).collect();
            let may_write = |register: Reg| {
                !taken.contains(&register) && !kept.contains(&register) && !live_in.contains(other, register)
            };
            let room = MOST.saturating_sub(hoisted.iter().filter(|other| takes_a_slot(other)).count());
            let (up, rest) = split(draft, side, &may_write, room);
            if !up.is_empty() {
                draft.piece_mut(side).instructions = rest;
                hoisted.extend(up);
                changed[side.0] = true;
            }
        }
        changed[label.0] |= !hoisted.is_empty();
        draft.piece_mut(label).instructions.extend(hoisted);
    }
    changed.contains(&true)
}

/// In how many loops each block is.
fn depths(draft: &Draft) -> Vec<usize> {
    let (kernel, starts) = draft.assemble();
    let cfg = divergence::ptx_cfg(&kernel).expect("a draft has control flow");
    let of_blocks = Dominators::new(&cfg).loop_depths(&cfg);
    let mut depths = vec![0; starts.len()];
    for label in draft.order() {
        depths[label.0] = of_blocks[cfg.block_of(starts[label.0]).index()];
    }
    depths
}

/// Whether what a register holds after a block waits for a load from device memory in it.
fn waits(instructions: &[Instruction], register: Reg) -> bool {
    let mut waiting: BTreeSet<Reg> = BTreeSet::new();
    for instruction in instructions {
        let is_long = matches!(
            instruction.op,
            Op::Ld { space: Space::Global | Space::Local | Space::Generic, .. }
                | Op::Atom { .. }
                | Op::Tex { .. }
        );
        let waits = is_long || instruction.uses().any(|register| waiting.contains(&register));
        for register in instruction.definitions() {
            if waits {
                waiting.insert(register);
            } else if instruction.guard.is_none() {
                waiting.remove(&register);
            }
        }
    }
    waiting.contains(&register)
}

/// The instructions of a block that may be executed before it, at most `room` of the machine, and the others.
fn split(
    draft: &Draft,
    side: Label,
    may_write: &impl Fn(Reg) -> bool,
    room: usize,
) -> (Vec<Instruction>, Vec<Instruction>) {
    let (mut up, mut rest) = (Vec::new(), Vec::new());
    // What the others read and write.
    let (mut read, mut written): (BTreeSet<Reg>, BTreeSet<Reg>) = Default::default();
    let mut slots = 0;
    let mut passes_clock = false;
    for instruction in &draft.piece(side).instructions {
        passes_clock |= instruction.reads_clock();
        let is_free = instruction.uses().all(|register| !written.contains(&register))
            && instruction.definitions().all(|register| {
                may_write(register) && !read.contains(&register) && !written.contains(&register)
            });
        let moves = is_free
            && slots < room
            && !passes_clock
            && instruction.guard.is_none()
            && is_pure(draft.frame(), instruction)
            && costs_little(instruction);
        if moves {
            slots += usize::from(takes_a_slot(instruction));
            up.push(instruction.clone());
        } else {
            read.extend(instruction.uses());
            written.extend(instruction.definitions());
            rest.push(instruction.clone());
        }
    }
    (up, rest)
}

/// Whether it is about one instruction of the machine.
fn costs_little(instruction: &Instruction) -> bool {
    !matches!(instruction.op, Op::DivInt { .. } | Op::RemInt { .. } | Op::Div { .. } | Op::Tex { .. })
}

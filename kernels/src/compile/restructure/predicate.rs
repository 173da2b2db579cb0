//! Short sides of branches become guarded instructions of the block that branches.
//!
//! A side is a block that only the branch leads to, and that leads where the other side does or where the branch goes else.
//! What it computes for itself is computed by all lanes; what it leaves behind, and what it does to memory, is guarded by
//! the branch's predicate. Branches within sides go first, so that nested ones become one block.

use std::collections::BTreeMap;

use super::draft::{Draft, End, Label, LiveIn, Piece};
use crate::compile::effect::{Effect, asks_other_lanes};
use crate::program::Space;
use crate::ptx::ir::{Guard, Instruction, Kernel, Op, Operand, Reg, Type};

/// Instructions of a side at most, parameters and copies not counted: as many issue slots are lost by a warp none of whose
/// lanes goes there. Measured in `docs/scheduling.md`.
const LONGEST_SIDE: usize = 4;
/// The same if nothing but the branch keeps a loop from being one block, which can be unrolled then.
const LONGEST_SIDE_OF_LOOP: usize = 7;
/// How deep branches may be nested.
const ROUNDS: usize = 16;

/// Guards the instructions of short sides.
pub(super) fn short_sides(draft: &mut Draft) {
    for _ in 0..ROUNDS {
        let live_in = draft.live_in();
        let arrivals = draft.arrivals();
        let mut changed = vec![false; arrivals.len()];
        for label in draft.order().to_vec() {
            let Some(fork) = Fork::of(draft, label, &arrivals) else { continue };
            let longest = if fork.is_loop(draft, &arrivals) { LONGEST_SIDE_OF_LOOP } else { LONGEST_SIDE };
            if fork.labels().all(|label| !changed[label.0]) && fork.is_worth_it(draft, longest) {
                fork.labels().for_each(|label| changed[label.0] = true);
                fork.join(draft, &live_in);
            }
        }
        if !changed.contains(&true) {
            return;
        }
        draft.simplify();
    }
}

/// A branch whose sides meet again at once.
struct Fork {
    /// The block that branches.
    from: Label,
    /// The blocks between, and what guards them.
    sides: Vec<(Label, Guard)>,
    /// Where they meet.
    meet: Label,
}

impl Fork {
    fn of(draft: &Draft, from: Label, arrivals: &[usize]) -> Option<Fork> {
        let End::Branch(branch) = &draft.piece(from).end else { return None };
        let taken = branch.guard;
        let other = Guard { negated: !taken.negated, ..taken };
        let behind = |label: Label| match draft.piece(label).end {
            End::Next(next) if arrivals[label.0] == 1 && label != from => Some(next),
            _ => None,
        };
        let (behind_next, behind_taken) = (behind(branch.next), behind(branch.taken));
        let (sides, meet) = if behind_next == Some(branch.taken) {
            (vec![(branch.next, other)], branch.taken)
        } else if behind_taken == Some(branch.next) {
            (vec![(branch.taken, taken)], branch.next)
        } else {
            let meet = behind_next.filter(|_| behind_next == behind_taken)?;
            (vec![(branch.next, other), (branch.taken, taken)], meet)
        };
        let differ = sides.iter().all(|(side, _)| *side != meet) && meet != from;
        differ.then_some(Fork { from, sides, meet })
    }

    fn labels(&self) -> impl Iterator<Item = Label> + '_ {
        self.sides.iter().map(|(side, _)| *side).chain([self.from, self.meet])
    }

    /// Whether all of it is the body of a loop.
    fn is_loop(&self, draft: &Draft, arrivals: &[usize]) -> bool {
        let turns = draft.piece(self.meet).end.successors().any(|next| next == self.from);
        turns && arrivals[self.meet.0] == 2
    }

    /// Whether its sides have at most `longest` instructions each, and nothing in them concerns other lanes.
    fn is_worth_it(&self, draft: &Draft, longest: usize) -> bool {
        self.sides.iter().all(|&(side, guard)| {
            let instructions = &draft.piece(side).instructions;
            let count = instructions.iter().filter(|instruction| takes_a_slot(instruction)).count();
            let writes_guard = instructions
                .iter()
                .flat_map(Instruction::definitions)
                .any(|register| register == guard.register);
            count <= longest
                && !writes_guard
                && instructions.iter().all(|instruction| can_be_guarded(draft.frame(), instruction))
        })
    }

    /// Moves the sides into the block that branches.
    fn join(&self, draft: &mut Draft, live_in: &LiveIn) {
        let mut joined = Vec::new();
        for (index, &(side, guard)) in self.sides.iter().enumerate() {
            let waiting = self.sides.get(index + 1).map(|&(other, _)| other);
            let is_kept = |register: Reg| {
                live_in.contains(self.meet, register)
                    || waiting.is_some_and(|other| live_in.contains(other, register))
            };
            let Piece { instructions, .. } = draft.piece(side).clone();
            let mut guards = Guards { guard, both: BTreeMap::new() };
            for instruction in instructions {
                guards.add(draft, instruction, &is_kept, &mut joined);
            }
        }
        let piece = draft.piece_mut(self.from);
        piece.instructions.extend(joined);
        piece.end = End::Next(self.meet);
    }
}

/// Guards of the instructions of a side.
struct Guards {
    /// Of the side.
    guard: Guard,
    /// Predicates that hold where the side's guard and one of its own do.
    both: BTreeMap<(Reg, bool), Reg>,
}

impl Guards {
    /// Adds an instruction of the side to `joined`; `is_kept` says of which registers lanes that do not go there need the value.
    fn add(
        &mut self,
        draft: &mut Draft,
        instruction: Instruction,
        is_kept: &impl Fn(Reg) -> bool,
        joined: &mut Vec<Instruction>,
    ) {
        let is_own = is_pure(draft.frame(), &instruction) && !instruction.definitions().any(is_kept);
        let guard = match instruction.guard {
            None => (!is_own).then_some(self.guard),
            Some(own) if is_own => Some(own),
            Some(own) => {
                let line = instruction.line;
                let register = *self.both.entry((own.register, own.negated)).or_insert_with(|| {
                    let register = draft.register_like(own.register);
                    joined.push(conjunction(line, register, self.guard, own));
                    register
                });
                Some(Guard { register, negated: false })
            }
        };
        let definitions: Vec<Reg> = instruction.definitions().collect();
        self.both.retain(|(register, _), _| !definitions.contains(register));
        joined.push(Instruction { guard, ..instruction });
    }
}

/// `register = a and b`.
fn conjunction(line: u32, register: Reg, a: Guard, b: Guard) -> Instruction {
    let operand = |guard: Guard| {
        if guard.negated { Operand::Not(guard.register) } else { Operand::Reg(guard.register) }
    };
    Instruction {
        line,
        text: "and.pred".to_owned(),
        guard: None,
        op: Op::And { ty: Type::Pred },
        dsts: vec![Some(register)],
        srcs: vec![operand(a), operand(b)],
        address: None,
    }
}

/// Whether it usually becomes an instruction of the machine.
pub(super) fn takes_a_slot(instruction: &Instruction) -> bool {
    let needs_none = matches!(
        instruction.op,
        Op::Mov { .. }
            | Op::Cvta { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Ld { space: Space::Parameter, .. }
    );
    !needs_none
}

/// Whether other lanes notice nothing of it but what it does to memory.
fn can_be_guarded(kernel: &Kernel, instruction: &Instruction) -> bool {
    match Effect::of(kernel, instruction, None) {
        Effect::None | Effect::Read(_) | Effect::Write(_) => !asks_other_lanes(&instruction.op),
        Effect::Order => matches!(instruction.op, Op::Atom { .. }),
        Effect::Lanes => false,
    }
}

/// Whether a lane may execute it whose thread does not: it can neither fail nor be noticed.
pub(super) fn is_pure(kernel: &Kernel, instruction: &Instruction) -> bool {
    let cannot_fail =
        instruction.address.is_none() || matches!(instruction.op, Op::Ld { space: Space::Parameter, .. });
    cannot_fail && Effect::of(kernel, instruction, None) == Effect::None
}

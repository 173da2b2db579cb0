//! That instructions which moved in front of a branch change nothing on any way.
//!
//! Knows nothing of how they were chosen. A block has become longer, blocks behind it shorter, and no block both. On each way
//! out of a longer block, which instruction wrote what each instruction reads, and what is left for those who may still
//! read it, is compared with what it was; what a way executes only now must be nothing that could be noticed.

use std::collections::BTreeMap;

use super::draft::{Draft, Label, LiveIn};
use crate::compile::effect::{Effect, asks_other_lanes};
use crate::compile::schedule::ScheduleError;
use crate::program::Space;
use crate::ptx::ir::{Instruction, Kernel, Op, Reg};

/// The instruction that wrote what each register holds; without an entry it is what it was before the way.
type Writers = BTreeMap<Reg, usize>;

/// Compares a draft with what it was.
pub(super) fn check(before: &Draft, after: &Draft) -> Result<(), ScheduleError> {
    let check = Check { before, after, live_in: before.live_in(), arrivals: before.arrivals() };
    let mut shorter = 0;
    for &label in before.order() {
        let (old, new) = check.both(label);
        if before.piece(label).end != after.piece(label).end {
            return Err(check.not_the_same(label));
        } else if new.len() > old.len() {
            check.longer(label)?;
        } else if new != old {
            shorter += 1;
        }
    }
    // Each of them was compared behind a longer one: only one way leads there.
    let behind = |label: &Label| {
        let successors = before.piece(*label).end.successors();
        successors.filter(|next| check.both(*next).1.len() < check.both(*next).0.len()).count()
    };
    let longer =
        before.order().iter().filter(|&&label| check.both(label).1.len() > check.both(label).0.len());
    match longer.map(behind).sum::<usize>() == shorter {
        true => Ok(()),
        false => Err(check.not_the_same(before.order()[0])),
    }
}

struct Check<'a> {
    before: &'a Draft,
    after: &'a Draft,
    live_in: LiveIn,
    arrivals: Vec<usize>,
}

impl<'a> Check<'a> {
    fn both(&self, label: Label) -> (&'a [Instruction], &'a [Instruction]) {
        (&self.before.piece(label).instructions, &self.after.piece(label).instructions)
    }

    fn not_the_same(&self, label: Label) -> ScheduleError {
        ScheduleError::NoPermutation { first: label.0 }
    }

    /// The ways out of a block that has more instructions than before.
    fn longer(&self, label: Label) -> Result<(), ScheduleError> {
        let (old, new) = self.both(label);
        let (same, added) = new.split_at(old.len());
        let noticed = added.iter().any(|instruction| !cannot_be_noticed(self.before.frame(), instruction));
        if same != old || noticed {
            return Err(self.not_the_same(label));
        }
        let mut moved = 0;
        for next in self.before.piece(label).end.successors() {
            moved += self.way(label, added, next)?;
        }
        if moved == added.len() { Ok(()) } else { Err(self.not_the_same(label)) }
    }

    /// The way from a longer block to the end of one behind it: how many of its instructions have moved.
    fn way(&self, from: Label, added: &[Instruction], to: Label) -> Result<usize, ScheduleError> {
        let (start, _) = self.both(from);
        let (old, new) = self.both(to);
        // What was added to that one comes behind all of it, and is compared on its own ways.
        let new = if new.len() > old.len() { old } else { new };
        let stays = stays(old, new).ok_or_else(|| self.not_the_same(to))?;
        if old != new && self.arrivals[to.0] != 1 {
            return Err(self.not_the_same(to));
        }
        // Before: the block, and the one behind it.
        let mut writers = Writers::new();
        write(&mut writers, start.iter().enumerate());
        let mut writers_now = writers.clone();
        let mut found = Vec::with_capacity(old.len());
        for (index, instruction) in old.iter().enumerate() {
            found.push(finds(&writers, instruction));
            write(&mut writers, [(start.len() + index, instruction)]);
        }
        // Now: what was added, then what is left; an instruction of another way has a name of its own.
        let mut moving = (0..old.len()).filter(|&index| !stays[index]).peekable();
        let mut moved = 0;
        for (index, instruction) in added.iter().enumerate() {
            let mut name = start.len() + old.len() + index;
            if let Some(of) = moving.next_if(|&of| old[of] == *instruction) {
                moved += 1;
                name = start.len() + of;
                self.same(instruction, &found[of], &finds(&writers_now, instruction))?;
            }
            write(&mut writers_now, [(name, instruction)]);
        }
        if moving.next().is_some() {
            return Err(self.not_the_same(to));
        }
        let of_branch = self.before.piece(from).end.asks();
        if let Some(register) = of_branch.iter().find(|register| {
            added.iter().flat_map(Instruction::definitions).any(|written| written == **register)
        }) {
            return Err(self.value("a branch", *register));
        }
        for index in (0..old.len()).filter(|&index| stays[index]) {
            self.same(&old[index], &found[index], &finds(&writers_now, &old[index]))?;
            write(&mut writers_now, [(start.len() + index, &old[index])]);
        }
        self.left(to, old == new, &writers, &writers_now)?;
        Ok(moved)
    }

    fn same(
        &self,
        instruction: &Instruction,
        before: &[(Reg, Option<usize>)],
        now: &[(Reg, Option<usize>)],
    ) -> Result<(), ScheduleError> {
        let other = before.iter().zip(now).find(|(before, now)| before != now);
        let reader = || format!("an instruction of line {}", instruction.line);
        other.map_or(Ok(()), |((register, _), _)| Err(self.value(&reader(), *register)))
    }

    /// What is read after a way is what it was.
    fn left(&self, to: Label, is_whole: bool, before: &Writers, now: &Writers) -> Result<(), ScheduleError> {
        let end = &self.before.piece(to).end;
        let is_read = |register: Reg| {
            end.asks().contains(&register)
                || end.successors().any(|next| self.live_in.contains(next, register))
                || is_whole && self.live_in.contains(to, register)
        };
        let registers = before.keys().chain(now.keys()).copied();
        let mut other =
            registers.filter(|register| before.get(register) != now.get(register) && is_read(*register));
        other.next().map_or(Ok(()), |register| Err(self.value("the end of a block", register)))
    }

    fn value(&self, reader: &str, register: Reg) -> ScheduleError {
        let register = self.before.frame().registers[register.index()].name.clone();
        ScheduleError::Value { reader: reader.to_owned(), register }
    }
}

/// For each instruction of a block whether it is still there: from the end, since those that move are the first.
fn stays(old: &[Instruction], new: &[Instruction]) -> Option<Vec<bool>> {
    let mut left = new.iter().rev().peekable();
    let mut stays: Vec<bool> =
        old.iter().rev().map(|instruction| left.next_if(|other| *other == instruction).is_some()).collect();
    stays.reverse();
    left.next().is_none().then_some(stays)
}

/// Who wrote what an instruction reads, and what it writes over.
fn finds(writers: &Writers, instruction: &Instruction) -> Vec<(Reg, Option<usize>)> {
    let kept = instruction.definitions().filter(|_| instruction.guard.is_some());
    let registers = instruction.uses().chain(kept);
    registers.map(|register| (register, writers.get(&register).copied())).collect()
}

fn write<'i>(writers: &mut Writers, instructions: impl IntoIterator<Item = (usize, &'i Instruction)>) {
    for (name, instruction) in instructions {
        writers.extend(instruction.definitions().map(|register| (register, name)));
    }
}

/// Whether a lane may execute it whose thread does not.
fn cannot_be_noticed(kernel: &Kernel, instruction: &Instruction) -> bool {
    let has_no_memory = match instruction.op {
        Op::Ld { space, .. } => space == Space::Parameter,
        Op::Tex { .. } => false,
        _ => instruction.address.is_none(),
    };
    has_no_memory
        && !instruction.reads_clock()
        && Effect::of(kernel, instruction, None) == Effect::None
        && !asks_other_lanes(&instruction.op)
}

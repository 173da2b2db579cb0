//! Registers within one block: each value that dies in it gets a register of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, Label};
use crate::ptx::ir::{Address, Base, Guard, Instruction, Op, Operand, Reg, Type};

/// The offsets that an instruction of the machine holds: 24 bits with a sign.
const OFFSETS: std::ops::Range<i64> = -(1 << 23)..1 << 23;

/// Gives each value of a block but the last of its register another register, so that copies of a loop's body do not wait
/// for each other; and counts addresses and counters from the register that the block began with. `own` are registers that
/// nothing outside reads, nor a lane that a guard switches off when they are written.
pub(super) fn rename(draft: &mut Draft, label: Label, own: &BTreeSet<Reg>) {
    let mut instructions = std::mem::take(&mut draft.piece_mut(label).instructions);
    own_registers(draft, &mut instructions, own);
    count_from_the_first(draft, &mut instructions);
    draft.piece_mut(label).instructions = instructions;
}

/// Registers that are written in a block under a guard, and read only under the same guard with the same value: what the
/// other lanes find in them does not matter.
pub(super) fn read_under_the_guard(instructions: &[Instruction]) -> BTreeSet<Reg> {
    let mut guarded = BTreeSet::new();
    let mut others = BTreeSet::new();
    // Under which guard each register was last written; `None`: in all lanes.
    let mut writes: BTreeMap<Reg, Option<Guard>> = BTreeMap::new();
    for instruction in instructions {
        let is_covered = |register: &Reg| match writes.get(register) {
            Some(written) => written.is_none() || *written == instruction.guard,
            None => false,
        };
        others.extend(instruction.uses().filter(|register| !is_covered(register)));
        for register in instruction.definitions() {
            // Who was written under a guard that has changed is under no guard that could be asked.
            let of_old = |written: &Option<Guard>| written.is_some_and(|guard| guard.register == register);
            let stale = writes.iter().filter(|(_, written)| of_old(written)).map(|(of, _)| *of);
            stale.collect::<Vec<Reg>>().iter().for_each(|of| _ = writes.remove(of));
        }
        for register in instruction.definitions() {
            if instruction.guard.is_some() {
                guarded.insert(register);
            }
            writes.insert(register, instruction.guard);
        }
    }
    guarded.difference(&others).copied().collect()
}

/// A write under a guard leaves the old value in some lanes, so it goes to the register that has it, but for `own` ones.
fn own_registers(draft: &mut Draft, instructions: &mut [Instruction], own: &BTreeSet<Reg>) {
    let is_whole =
        |instruction: &Instruction, register: Reg| instruction.guard.is_none() || own.contains(&register);
    let mut writes_left: BTreeMap<Reg, usize> = BTreeMap::new();
    for instruction in instructions.iter() {
        let whole = instruction.definitions().filter(|register| is_whole(instruction, *register));
        whole.for_each(|register| *writes_left.entry(register).or_default() += 1);
    }
    let mut names: BTreeMap<Reg, Reg> = BTreeMap::new();
    for instruction in instructions {
        instruction.rename_uses(|register| names.get(&register).copied().unwrap_or(register));
        let is_guarded = instruction.guard.is_some();
        for register in instruction.dsts.iter_mut().flatten() {
            if !is_guarded || own.contains(register) {
                let left = writes_left.get_mut(register).expect("counted above");
                *left -= 1;
                let name = if *left == 0 { *register } else { draft.register_like(*register) };
                names.insert(*register, name);
            }
            *register = names.get(register).copied().unwrap_or(*register);
        }
    }
}

/// `b = a + 4; load [b]; c = b + 4; load [c]` becomes `load [a + 4]; load [a + 8]`, with `c = a + 8` for whoever needs it.
fn count_from_the_first(draft: &Draft, instructions: &mut [Instruction]) {
    // What a register is counted from, and how far it is from there.
    let mut sums: BTreeMap<Reg, (Reg, u64)> = BTreeMap::new();
    for instruction in instructions {
        if let Some(Address { base: Base::Reg(register), offset }) = &mut instruction.address
            && let Some(&(first, distance)) = sums.get(register)
            && draft.ty(*register).bits() == 64
            && let Some(sum) = offset.checked_add(distance as i64)
            && OFFSETS.contains(&sum)
        {
            (*register, *offset) = (first, sum);
        }
        let sum = added(instruction);
        let sum = sum.map(|(ty, to, from, distance)| {
            let (first, before) = sums.get(&from).copied().unwrap_or((from, 0));
            let distance = before.wrapping_add(distance) & u64::MAX >> (64 - ty.bits());
            instruction.op = plain_add(ty);
            instruction.srcs = vec![Operand::Reg(first), Operand::Imm(distance)];
            (to, first, distance)
        });
        for register in instruction.definitions() {
            sums.retain(|to, (first, _)| *to != register && *first != register);
        }
        if let Some((to, first, distance)) = sum.filter(|(to, first, _)| to != first) {
            sums.insert(to, (first, distance));
        }
    }
}

/// `to = from + distance`, if that is what an instruction does.
fn added(instruction: &Instruction) -> Option<(Type, Reg, Reg, u64)> {
    let (None, [Some(to)]) = (instruction.guard, &instruction.dsts[..]) else { return None };
    let Op::Add { ty, mode } = instruction.op else { return None };
    let plain = plain_add(ty) == Op::Add { ty, mode }
        && ty.kind() != crate::ptx::ir::TypeKind::Float
        && ty.bits() >= 32;
    match instruction.srcs[..] {
        [Operand::Reg(from), Operand::Imm(distance)] if plain => Some((ty, *to, from, distance)),
        _ => None,
    }
}

fn plain_add(ty: Type) -> Op {
    Op::Add { ty, mode: crate::ptx::ir::FloatMode::NONE }
}

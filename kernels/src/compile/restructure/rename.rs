//! Registers within one block: each value that dies in it gets a register of its own.

use std::collections::BTreeMap;

use super::draft::{Draft, Label};
use crate::ptx::ir::{Address, Base, Instruction, Op, Operand, Reg, Type};

/// The offsets that an instruction of the machine holds: 24 bits with a sign.
const OFFSETS: std::ops::Range<i64> = -(1 << 23)..1 << 23;

/// Gives each value of a block but the last of its register another register, so that copies of a loop's body do not wait
/// for each other; and counts addresses and counters from the register that the block began with.
pub(super) fn rename(draft: &mut Draft, label: Label) {
    let mut instructions = std::mem::take(&mut draft.piece_mut(label).instructions);
    own_registers(draft, &mut instructions);
    count_from_the_first(draft, &mut instructions);
    draft.piece_mut(label).instructions = instructions;
}

/// A write under a guard leaves the old value in some lanes, so it goes to the register that has it.
fn own_registers(draft: &mut Draft, instructions: &mut [Instruction]) {
    let mut writes_left: BTreeMap<Reg, usize> = BTreeMap::new();
    for instruction in instructions.iter().filter(|instruction| instruction.guard.is_none()) {
        instruction.definitions().for_each(|register| *writes_left.entry(register).or_default() += 1);
    }
    let mut names: BTreeMap<Reg, Reg> = BTreeMap::new();
    for instruction in instructions {
        instruction.rename_uses(|register| names.get(&register).copied().unwrap_or(register));
        let is_guarded = instruction.guard.is_some();
        for register in instruction.dsts.iter_mut().flatten() {
            if !is_guarded {
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

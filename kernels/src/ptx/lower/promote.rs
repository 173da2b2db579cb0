//! Variables that pass values to and from inlined functions become registers where every access is to the
//! same scalars. Real machines pass arguments in registers; local memory would distort every result.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ir::{
    Base, CvtRounding, Instruction, Op, Operand, Reg, Register, SymbolId, Type, TypeKind,
};
use super::kernel::{Item, Lowering};

/// The widest access at each offset of each variable.
type Slots = BTreeMap<(SymbolId, i64), u32>;

/// Promotes what it can and returns the bytes of local memory that are still needed.
pub(super) fn promote(lowering: &mut Lowering<'_, '_>) -> u64 {
    let slots = promotable(lowering);
    let mut registers = BTreeMap::new();
    for (&(symbol, offset), &bytes) in &slots {
        let register = Reg(lowering.registers.len() as u32);
        let name = format!("{}+{offset}", lowering.symbols[symbol.index()].name);
        lowering.registers.push(Register { name, ty: bits_of(bytes) });
        registers.insert((symbol, offset), register);
    }
    let items = std::mem::take(&mut lowering.items);
    let mut memory_used = false;
    for item in items {
        match item {
            Item::Instruction(instruction) => {
                let replaced = replace(&instruction, &registers, &slots, &lowering.registers);
                if let Some(moves) = replaced {
                    lowering.items.extend(moves.into_iter().map(Item::Instruction));
                } else {
                    memory_used |= uses_local(&instruction, lowering);
                    lowering.items.push(Item::Instruction(instruction));
                }
            }
            Item::Label(label) => lowering.items.push(Item::Label(label)),
        }
    }
    if memory_used { lowering.local_bytes() } else { 0 }
}

fn bits_of(bytes: u32) -> Type {
    match bytes {
        1 => Type::B8,
        2 => Type::B16,
        4 => Type::B32,
        _eight => Type::B64,
    }
}

/// Whether an instruction accesses or names a variable in local memory, or may reach one.
fn uses_local(instruction: &Instruction, lowering: &Lowering<'_, '_>) -> bool {
    use crate::program::Space;
    let local = |symbol: SymbolId| lowering.symbols[symbol.index()].space == Space::Local;
    let named = instruction.srcs.iter().any(|operand| match operand {
        Operand::Symbol(symbol, _) | Operand::GenericSymbol(symbol, _) => local(*symbol),
        Operand::Reg(_) | Operand::Not(_) | Operand::Imm(_) | Operand::Special(_) => false,
    });
    let accessed =
        matches!(instruction.op, Op::Ld { space: Space::Local, .. } | Op::St { space: Space::Local, .. });
    named || accessed
}

/// The slots of variables that are only loaded and stored, in pieces that do not overlap, every store as wide
/// as its piece.
fn promotable(lowering: &Lowering<'_, '_>) -> Slots {
    let candidates: BTreeSet<SymbolId> = lowering.call_variables.iter().copied().collect();
    let mut rejected = BTreeSet::new();
    let mut slots = Slots::new();
    let mut stores = Vec::new();
    for item in &lowering.items {
        let Item::Instruction(instruction) = item else {
            continue;
        };
        for operand in &instruction.srcs {
            if let Operand::Symbol(symbol, _) | Operand::GenericSymbol(symbol, _) = operand {
                rejected.insert(*symbol);
            }
        }
        for (symbol, offset, ty) in accesses(instruction) {
            let slot = slots.entry((symbol, offset)).or_insert(0);
            *slot = ty.bytes().max(*slot);
            if matches!(instruction.op, Op::St { .. }) {
                stores.push((symbol, offset, ty.bytes()));
            }
        }
    }
    for (symbol, offset, bytes) in stores {
        if slots[&(symbol, offset)] != bytes {
            rejected.insert(symbol);
        }
    }
    let mut previous: Option<(SymbolId, i64)> = None;
    for (&(symbol, offset), &bytes) in &slots {
        let end = offset + i64::from(bytes);
        let overlaps = previous.is_some_and(|(before, before_end)| before == symbol && before_end > offset);
        if overlaps || offset < 0 || end as u64 > lowering.symbols[symbol.index()].bytes {
            rejected.insert(symbol);
        }
        previous = Some((symbol, end));
    }
    slots.retain(|(symbol, _), _| candidates.contains(symbol) && !rejected.contains(symbol));
    slots
}

/// The elements of a load or store of a named variable.
fn accesses(instruction: &Instruction) -> Vec<(SymbolId, i64, Type)> {
    let (ty, elements) = if let Op::Ld { ty, .. } = instruction.op {
        (ty, instruction.dsts.len())
    } else if let Op::St { ty, .. } = instruction.op {
        (ty, instruction.srcs.len())
    } else {
        return Vec::new();
    };
    let Some(address) = instruction.address else {
        return Vec::new();
    };
    let Base::Symbol(symbol) = address.base else {
        return Vec::new();
    };
    (0..elements as i64)
        .map(|element| {
            let offset = element.wrapping_mul(i64::from(ty.bytes()));
            (symbol, address.offset.clamp(-1, 1 << 40) + offset, ty)
        })
        .collect()
}

/// The moves that take the place of an access to a promoted variable.
fn replace(
    instruction: &Instruction,
    slot_registers: &BTreeMap<(SymbolId, i64), Reg>,
    slots: &Slots,
    registers: &[Register],
) -> Option<Vec<Instruction>> {
    let accesses = accesses(instruction);
    let (symbol, offset, _) = *accesses.first()?;
    slot_registers.get(&(symbol, offset))?;
    let load = matches!(instruction.op, Op::Ld { .. });
    let mut moves = Vec::new();
    for (element, (symbol, offset, ty)) in accesses.into_iter().enumerate() {
        let slot = slot_registers[&(symbol, offset)];
        let slot_ty = bits_of(slots[&(symbol, offset)]);
        let (dst, src, from, to) = if load {
            let Some(dst) = instruction.dsts[element] else {
                continue;
            };
            let to = registers[dst.index()].ty;
            (dst, Operand::Reg(slot), ty, to)
        } else {
            let src = instruction.srcs[element];
            let from = src.register().map_or(slot_ty, |register| registers[register.index()].ty);
            (slot, src, from, slot_ty)
        };
        moves.push(Instruction {
            op: move_op(from, to),
            dsts: vec![Some(dst)],
            srcs: vec![src],
            address: None,
            ..instruction.clone()
        });
    }
    Some(moves)
}

/// Copies the low bits of `from` to `to`, extended by the sign of `from`.
fn move_op(from: Type, to: Type) -> Op {
    if from.bits() == to.bits() {
        return Op::Mov { ty: bits_of(to.bytes()) };
    }
    let signed = from.kind() == TypeKind::Signed;
    Op::Cvt {
        to: integer(to.bytes(), signed),
        from: integer(from.bytes(), signed),
        rounding: CvtRounding::None,
        ftz: false,
        saturate: false,
        relu: false,
        finite: false,
    }
}

fn integer(bytes: u32, signed: bool) -> Type {
    match (bytes, signed) {
        (1, false) => Type::U8,
        (2, false) => Type::U16,
        (4, false) => Type::U32,
        (_, false) => Type::U64,
        (1, true) => Type::S8,
        (2, true) => Type::S16,
        (4, true) => Type::S32,
        (_, true) => Type::S64,
    }
}

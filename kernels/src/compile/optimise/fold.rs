//! Which words of an instruction's results are copies of its sources, or constants.

use super::resolve::Word;
use crate::compile::operands::Operands;
use crate::program::Space;
use crate::ptx::ir::{Base, CvtRounding, Instruction, Kernel, Op, Operand, Product, Special, Type, TypeKind};

/// For each result of an instruction and each of its words: where the same value is already, if it is.
pub fn fold(
    kernel: &Kernel,
    instruction: &Instruction,
    sources: &[[Word; 2]],
    operands: Operands,
) -> Vec<[Option<Word>; 2]> {
    if let Op::Unpack { ty: Type::B64 | Type::U64 | Type::S64 | Type::F64 } = instruction.op
        && instruction.dsts.len() == 2
    {
        return sources[0].iter().map(|&word| [Some(word), None]).collect();
    }
    let first = fold_first(kernel, instruction, sources);
    let mut all = vec![[None; 2]; instruction.dsts.len()];
    if let Some(slot) = all.first_mut() {
        *slot = first;
    }
    if is_parameter_read(instruction) || (operands.include_constants() && is_constant_read(instruction)) {
        all.fill([Some(Word::Launch); 2]);
    }
    all
}

/// Whether a special register is the same for all threads of a launch, and so a constant operand.
pub fn is_launch_constant(special: Special) -> bool {
    match special {
        Special::Ntid(_)
        | Special::Nctaid(_)
        | Special::NWarpId
        | Special::NSmId
        | Special::GridId
        | Special::DynamicSharedBytes
        | Special::TotalSharedBytes => true,
        Special::Tid(_)
        | Special::Ctaid(_)
        | Special::LaneId
        | Special::WarpId
        | Special::SmId
        | Special::Clock
        | Special::ClockHi
        | Special::Clock64
        | Special::LaneMaskEq
        | Special::LaneMaskLe
        | Special::LaneMaskLt
        | Special::LaneMaskGe
        | Special::LaneMaskGt => false,
    }
}

/// A load of a parameter at a fixed place: a constant operand of whoever reads it.
pub fn is_parameter_read(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Ld { space: Space::Parameter, .. })
        && instruction.address.is_some_and(|address| !matches!(address.base, Base::Reg(_)))
}

/// The same of whole words of constant memory (`c[bank][offset]` in the machine code of NVIDIA's GPUs).
pub fn is_constant_read(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Ld { space: Space::Constant, ty, .. } if ty.bits() >= 32)
        && instruction.address.is_some_and(|address| !matches!(address.base, Base::Reg(_)))
}

fn fold_first(kernel: &Kernel, instruction: &Instruction, sources: &[[Word; 2]]) -> [Option<Word>; 2] {
    if let Some(value) = literal_result(&instruction.op, sources) {
        return [Some(Word::Literal(value as u32)), Some(Word::Literal((value >> 32) as u32))];
    }
    let copy = |words: [Word; 2]| words.map(Some);
    match instruction.op {
        Op::Mov { ty } if ty != Type::Pred => match instruction.srcs[0] {
            Operand::Special(special) if !is_launch_constant(special) => [None; 2],
            Operand::Special(_)
            | Operand::Reg(_)
            | Operand::Not(_)
            | Operand::Imm(_)
            | Operand::Symbol(..)
            | Operand::GenericSymbol(..) => copy(sources[0]),
        },
        Op::Pack { ty } if ty.bits() == 64 && sources.len() == 2 => {
            [Some(sources[0][0]), Some(sources[1][0])]
        }
        Op::Cvt { to, from, rounding, ftz, saturate, .. } => {
            let changes_value = ftz || saturate || rounding != CvtRounding::None;
            if changes_value { [None; 2] } else { fold_conversion(kernel, instruction, to, from, sources[0]) }
        }
        Op::Cvta { space: Space::Global, .. } => copy(sources[0]),
        Op::Cvta { .. } if sources[0].iter().all(|word| word.is_constant()) => [Some(Word::Launch); 2],
        Op::And { ty } | Op::Or { ty } | Op::Xor { ty } if ty.bits() >= 32 => {
            [0, 1].map(|word| fold_bits(&instruction.op, sources[0][word], sources[1][word]))
        }
        Op::Add { ty, .. } if is_integer(ty) => match (is_zero(ty, sources[0]), is_zero(ty, sources[1])) {
            (_, true) => copy(sources[0]),
            (true, false) => copy(sources[1]),
            (false, false) => [None; 2],
        },
        Op::Sub { ty, .. } if is_integer(ty) && is_zero(ty, sources[1]) => copy(sources[0]),
        Op::Shl { ty } if ty.bits() >= 32 => fold_shift_left(ty, sources),
        Op::Shr { ty } if ty.bits() >= 32 => fold_shift_right(ty, sources),
        Op::MulInt { ty, product: Product::Low } if ty.bits() >= 32 => {
            let is_one = |words: [Word; 2]| words == [Word::Literal(1), Word::Literal(0)];
            match (is_one(sources[0]), is_one(sources[1])) {
                (_, true) => copy(sources[0]),
                (true, false) => copy(sources[1]),
                (false, false) => [None; 2],
            }
        }
        Op::Neg { ty: Type::F64, ftz: false } | Op::Abs { ty: Type::F64, ftz: false } => {
            [Some(sources[0][0]), None]
        }
        Op::Copysign { ty: Type::F64 } => [Some(sources[1][0]), None],
        Op::Selp { .. } => [0, 1].map(|word| {
            (sources[0][word] == sources[1][word] && sources[0][word] != Word::Launch)
                .then_some(sources[0][word])
        }),
        _ => [None; 2],
    }
}

fn is_integer(ty: Type) -> bool {
    ty.kind() != TypeKind::Float && ty.bits() >= 32 && ty.element().is_none()
}

fn is_zero(ty: Type, words: [Word; 2]) -> bool {
    words.iter().take(ty.words() as usize).all(|&word| word == Word::Literal(0))
}

fn fold_bits(op: &Op, a: Word, b: Word) -> Option<Word> {
    const NONE: Word = Word::Literal(0);
    const ALL: Word = Word::Literal(u32::MAX);
    match op {
        Op::And { .. } if a == NONE || b == NONE => Some(NONE),
        Op::And { .. } if a == ALL => Some(b),
        Op::And { .. } if b == ALL => Some(a),
        Op::Or { .. } if a == ALL || b == ALL => Some(ALL),
        Op::Or { .. } | Op::Xor { .. } if a == NONE => Some(b),
        Op::Or { .. } | Op::Xor { .. } if b == NONE => Some(a),
        _ => None,
    }
}

/// `shl.b64` by 32 or more moves the low word up; by 0 nothing moves.
fn fold_shift_left(ty: Type, sources: &[[Word; 2]]) -> [Option<Word>; 2] {
    let zero = Some(Word::Literal(0));
    match (ty.bits(), sources[1][0]) {
        (_, Word::Literal(0)) => sources[0].map(Some),
        (64, Word::Literal(32)) => [zero, Some(sources[0][0])],
        (64, Word::Literal(33..)) => [zero, None],
        _ => [None; 2],
    }
}

/// `shr.u64` by 32 or more moves the high word down; a high word of 0 stays.
fn fold_shift_right(ty: Type, sources: &[[Word; 2]]) -> [Option<Word>; 2] {
    let high_zero = sources[0][1] == Word::Literal(0);
    let unsigned = ty.kind() != TypeKind::Signed;
    let high = (unsigned && high_zero).then_some(Word::Literal(0));
    match (ty.bits(), sources[1][0]) {
        (_, Word::Literal(0)) => sources[0].map(Some),
        (64, Word::Literal(32)) => {
            [Some(sources[0][1]), if unsigned { Some(Word::Literal(0)) } else { None }]
        }
        (64, Word::Literal(33..)) if unsigned => [None, Some(Word::Literal(0))],
        (64, _) => [None, high],
        _ => [None; 2],
    }
}

/// Conversions that keep the bits, or extend with zeros.
fn fold_conversion(
    kernel: &Kernel,
    instruction: &Instruction,
    to: Type,
    from: Type,
    source: [Word; 2],
) -> [Option<Word>; 2] {
    let float = |ty: Type| ty.kind() == TypeKind::Float;
    let destination = instruction.dsts[0].map_or(0, |register| kernel.registers[register.index()].ty.bits());
    if destination > to.bits() {
        // The result is extended once more, to the width of the register.
        return [None; 2];
    }
    if float(to) || float(from) {
        return if to == from { source.map(Some) } else { [None; 2] };
    }
    let held = match instruction.srcs[0].register() {
        Some(register) => kernel.registers[register.index()].ty.bits(),
        None => 64,
    };
    let extends_sign = from.kind() == TypeKind::Signed && to.bits() > from.bits();
    let low = if from.bits() >= 32 {
        (to.bits() >= 32).then_some(source[0])
    } else {
        // A register as wide as the type holds it zero-extended.
        (held == from.bits() && to.bits() >= from.bits() && !extends_sign).then_some(source[0])
    };
    let high = if from.bits() == 64 { Some(source[1]) } else { (!extends_sign).then_some(Word::Literal(0)) };
    [low, high]
}

/// The result of an integer instruction whose sources are all literals.
fn literal_result(op: &Op, sources: &[[Word; 2]]) -> Option<u64> {
    let literal = |index: usize| match sources.get(index) {
        Some(&[Word::Literal(low), Word::Literal(high)]) => Some(u64::from(high) << 32 | u64::from(low)),
        _ => None,
    };
    let truncate = |ty: Type, value: u64| if ty.bits() == 64 { value } else { value & 0xffff_ffff };
    let wide = |ty: Type| ty.bits() == 32 || ty.bits() == 64;
    match *op {
        Op::Add { ty, mode } if is_integer(ty) && !mode.saturate => {
            Some(truncate(ty, literal(0)?.wrapping_add(literal(1)?)))
        }
        Op::Sub { ty, mode } if is_integer(ty) && !mode.saturate => {
            Some(truncate(ty, literal(0)?.wrapping_sub(literal(1)?)))
        }
        Op::MulInt { ty, product: Product::Low } if wide(ty) => {
            Some(truncate(ty, literal(0)?.wrapping_mul(literal(1)?)))
        }
        Op::Shl { ty } if wide(ty) => {
            let amount = literal(1)? as u32;
            Some(if amount >= ty.bits() { 0 } else { truncate(ty, literal(0)? << amount) })
        }
        Op::Not { ty } if wide(ty) => Some(truncate(ty, !literal(0)?)),
        _ => None,
    }
}

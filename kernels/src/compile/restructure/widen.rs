//! Loads into registers wider than what they load: the high words are computed by an instruction of their own.
//!
//! A single instruction would be a load and what extends it, one directly behind the other, and wait for the load there.

use super::draft::{Draft, Label};
use crate::program::Space;
use crate::ptx::ir::{CvtRounding, Instruction, Op, Operand, Reg, Type, TypeKind};

/// Splits every load whose registers are wider than the elements it loads.
pub(super) fn split_wide_loads(draft: &mut Draft) {
    for label in draft.order().to_vec() {
        split(draft, label);
    }
}

fn split(draft: &mut Draft, label: Label) {
    let loads = std::mem::take(&mut draft.piece_mut(label).instructions);
    let mut instructions = Vec::with_capacity(loads.len());
    for mut load in loads {
        let extensions = match load.op {
            // Parameters are constants of the launch: no instruction loads them.
            Op::Ld { space, ty, .. } if space != Space::Parameter => narrow(draft, &mut load, ty),
            _ => Vec::new(),
        };
        instructions.push(load);
        instructions.extend(extensions);
    }
    draft.piece_mut(label).instructions = instructions;
}

/// Lets a load write registers as wide as its elements; what extends them.
fn narrow(draft: &mut Draft, load: &mut Instruction, element: Type) -> Vec<Instruction> {
    let (from, to) = match element.kind() {
        TypeKind::Signed => (Type::S32, Type::S64),
        _ => (Type::U32, Type::U64),
    };
    let mut extensions = Vec::new();
    let Instruction { line, guard, .. } = *load;
    for wide in load.dsts.iter_mut().flatten() {
        if draft.ty(*wide).words() > element.words() {
            let low = draft.register(format!("{}.low", draft.name(*wide)), Type::B32);
            let wide = std::mem::replace(wide, low);
            extensions.push(Instruction { line, guard, ..extension(low, wide, from, to) });
        }
    }
    extensions
}

/// `wide = low`, with its sign or zeros above it.
fn extension(low: Reg, wide: Reg, from: Type, to: Type) -> Instruction {
    Instruction {
        line: 0,
        text: format!("cvt{}{}", to.suffix(), from.suffix()),
        guard: None,
        op: Op::Cvt {
            to,
            from,
            rounding: CvtRounding::None,
            ftz: false,
            saturate: false,
            relu: false,
            finite: false,
        },
        dsts: vec![Some(wide)],
        srcs: vec![Operand::Reg(low)],
        address: None,
    }
}

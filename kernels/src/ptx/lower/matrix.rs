//! Matrix products of a warp. What each opcode accepts is in `rules`.
//!
//! Source: PTX ISA, §9.7.14 (`mma`, `ldmatrix`).

use super::super::ast::RawOperand;
use super::super::error::Complaint;
use super::super::ir::{Op, Operand, Type};
use super::form::Form;
use super::kernel::Lowering;
use super::operand::{Fit, describe};
use crate::program::Space;

type Operands<'o, 'a> = &'o [RawOperand<'a>];
type Lowered = Result<(), Complaint>;

pub(super) fn multiply<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.require(&[("sync", ())])?;
    form.require(&[("aligned", ())])?;
    let k: u8 = form.require(&[("m16n8k8", 8), ("m16n8k16", 16), ("m16n8k32", 32)])?;
    form.require(&[("row", ())])?;
    form.require(&[("col", ())])?;
    let saturate = form.flag("satfinite");
    let d = form.ty(&[Type::F16, Type::F32, Type::S32])?;
    let a = form.ty(&[Type::F16, Type::Bf16, Type::U8, Type::S8])?;
    let (factors, sums, columns): (&[Type], &[Type], [u8; 2]) = match a {
        Type::F16 => (&[Type::F16], &[Type::F16, Type::F32], [8, 16]),
        Type::Bf16 => (&[Type::Bf16], &[Type::F32], [8, 16]),
        _integer => (&[Type::U8, Type::S8], &[Type::S32], [16, 32]),
    };
    let b = form.ty(factors)?;
    let c = form.ty(sums)?;
    if !sums.contains(&d) || !columns.contains(&k) || saturate && a.bits() == 16 {
        return Err(format!("found another shape, result or modifier for {a}"));
    }
    form.finish()?;
    Lowering::count(operands, 4..=4)?;
    let columns = u32::from(k);
    let result_registers = 4 * d.bits() as usize / 32;
    let dsts = elements(&operands[0], result_registers)?
        .iter()
        .map(|operand| lowering.result(operand, Type::B32, Fit::Exact))
        .collect::<Result<Vec<_>, _>>()?;
    let mut srcs: Vec<Operand> = Vec::new();
    // Each lane has its part of 16 × k, of k × 8 and of 16 × 8 elements.
    let registers =
        [16 * columns * a.bits(), 8 * columns * b.bits(), 16 * 8 * c.bits()].map(|bits| bits / (32 * 32));
    for (operand, registers) in operands[1..].iter().zip(registers) {
        for element in elements(operand, registers as usize)? {
            srcs.push(lowering.source(
                element,
                if c == Type::F32 { Type::F32 } else { Type::B32 },
                Fit::Exact,
            )?);
        }
    }
    lowering.emit(Op::Mma { k, a, b, c, d, saturate }, dsts, srcs, None);
    Ok(())
}

/// Registers in braces; a single one may stand without.
fn elements<'o, 'a>(operand: &'o RawOperand<'a>, count: usize) -> Result<&'o [RawOperand<'a>], Complaint> {
    match operand {
        RawOperand::Vector(elements) if elements.len() == count => Ok(elements),
        RawOperand::Name(_) if count == 1 => Ok(std::slice::from_ref(operand)),
        RawOperand::Vector(elements) => {
            Err(format!("found {} registers in braces; accepted: {count}", elements.len()))
        }
        other => Err(format!("found {}; accepted: {count} registers in braces", describe(other))),
    }
}

pub(super) fn load<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.require(&[("sync", ())])?;
    form.require(&[("aligned", ())])?;
    form.require(&[("m8n8", ())])?;
    let count = form.require(&[("x1", 1), ("x2", 2), ("x4", 4)])?;
    let transposed = form.flag("trans");
    let shared = form.flag("shared") || form.flag("shared::cta");
    form.ty(&[Type::B16])?;
    form.finish()?;
    Lowering::count(operands, 2..=2)?;
    let dsts = elements(&operands[0], count)?
        .iter()
        .map(|operand| lowering.result(operand, Type::B32, Fit::Exact))
        .collect::<Result<Vec<_>, _>>()?;
    let (address, space) = lowering.address(&operands[1], shared.then_some(Space::Shared))?;
    if !matches!(space, Space::Shared | Space::Generic) {
        return Err("found another state space; accepted: .shared or none".to_owned());
    }
    lowering.emit(Op::LoadMatrix { space, transposed }, dsts, Vec::new(), Some(address));
    Ok(())
}

//! Bits, logic, comparison, moves and conversions. What each opcode accepts is in `rules`.

use super::super::ast::RawOperand;
use super::super::error::Complaint;
use super::super::ir::{
    Combine, Compare, CvtRounding, Direction, Excess, Op, Permute, Rounding, Type, TypeKind,
};
use super::form::{Form, HALVES, INTEGERS, ROUNDINGS};
use super::kernel::Lowering;
use super::operand::{Fit, describe, immediate};
use crate::program::Space;

type Operands<'o, 'a> = &'o [RawOperand<'a>];
type Lowered = Result<(), Complaint>;

const WORDS: [Type; 2] = [Type::B32, Type::B64];
const BITS: [Type; 3] = [Type::B16, Type::B32, Type::B64];
const LOGIC: [Type; 4] = [Type::Pred, Type::B16, Type::B32, Type::B64];
const FIELD_TYPES: [Type; 4] = [Type::U32, Type::S32, Type::U64, Type::S64];
/// Whatever fits in a 16, 32 or 64-bit register.
const VALUES: [Type; 12] = [
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F16,
    Type::F32,
    Type::F64,
];
const COMPARES: [(&str, Compare); 18] = [
    ("eq", Compare::Eq),
    ("ne", Compare::Ne),
    ("lt", Compare::Lt),
    ("le", Compare::Le),
    ("gt", Compare::Gt),
    ("ge", Compare::Ge),
    ("lo", Compare::Lt),
    ("ls", Compare::Le),
    ("hi", Compare::Gt),
    ("hs", Compare::Ge),
    ("equ", Compare::Equ),
    ("neu", Compare::Neu),
    ("ltu", Compare::Ltu),
    ("leu", Compare::Leu),
    ("gtu", Compare::Gtu),
    ("geu", Compare::Geu),
    ("num", Compare::Num),
    ("nan", Compare::Nan),
];
const COMBINES: [(&str, Combine); 3] = [("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)];
/// State spaces that have generic addresses.
pub(super) const GENERIC_SPACES: [(&str, Space); 6] = [
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("local", Space::Local),
    ("const", Space::Constant),
    ("param", Space::Parameter),
];

pub(super) fn popc<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&WORDS)?;
    form.finish()?;
    let (op, result) = match lowering.current.opcode() {
        "popc" => (Op::Popc { ty }, Type::B32),
        "clz" => (Op::Clz { ty }, Type::B32),
        _brev => (Op::Brev { ty }, ty),
    };
    lowering.simple(op, operands, result, &[ty])
}

pub(super) fn bfind<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let shift_amount = form.flag("shiftamt");
    let ty = form.ty(&FIELD_TYPES)?;
    form.finish()?;
    lowering.simple(Op::Bfind { ty, shift_amount }, operands, Type::B32, &[ty])
}

pub(super) fn bfe<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&FIELD_TYPES)?;
    form.finish()?;
    lowering.simple(Op::Bfe { ty }, operands, ty, &[ty, Type::B32, Type::B32])
}

pub(super) fn bfi<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&WORDS)?;
    form.finish()?;
    lowering.simple(Op::Bfi { ty }, operands, ty, &[ty, ty, Type::B32, Type::B32])
}

const EXCESSES: [(&str, Excess); 2] = [("clamp", Excess::Clamp), ("wrap", Excess::Wrap)];

pub(super) fn szext<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let excess = form.require(&EXCESSES)?;
    let ty = form.ty(&[Type::U32, Type::S32])?;
    form.finish()?;
    lowering.simple(Op::Szext { ty, excess }, operands, ty, &[ty, Type::B32])
}

pub(super) fn bmsk<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let excess = form.require(&EXCESSES)?;
    let ty = form.ty(&[Type::B32])?;
    form.finish()?;
    lowering.simple(Op::Bmsk { excess }, operands, ty, &[ty, ty])
}

pub(super) fn fns<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&[Type::B32])?;
    form.finish()?;
    lowering.simple(Op::Fns, operands, ty, &[ty, ty, ty])
}

pub(super) fn prmt<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let mode = form.choose(&[
        ("f4e", Permute::F4e),
        ("b4e", Permute::B4e),
        ("rc8", Permute::Rc8),
        ("ecl", Permute::Ecl),
        ("ecr", Permute::Ecr),
        ("rc16", Permute::Rc16),
    ]);
    let ty = form.ty(&[Type::B32])?;
    form.finish()?;
    let mode = mode.unwrap_or(Permute::Generic);
    lowering.simple(Op::Prmt { mode }, operands, ty, &[ty, ty, ty])
}

pub(super) fn logic<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&LOGIC)?;
    form.finish()?;
    let op = match lowering.current.opcode() {
        "and" => Op::And { ty },
        "or" => Op::Or { ty },
        _xor => Op::Xor { ty },
    };
    lowering.simple(op, operands, ty, &[ty, ty])
}

pub(super) fn not<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let op = if lowering.current.opcode() == "not" {
        Op::Not { ty: form.ty(&LOGIC)? }
    } else {
        Op::Cnot { ty: form.ty(&BITS)? }
    };
    form.finish()?;
    let ty = if let Op::Not { ty } | Op::Cnot { ty } = op { ty } else { Type::B32 };
    lowering.simple(op, operands, ty, &[ty])
}

pub(super) fn lop3<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let combine = form.choose(&COMBINES[..2]);
    let ty = form.ty(&[Type::B32])?;
    form.finish()?;
    let count = 5 + usize::from(combine.is_some());
    Lowering::count(operands, count..=count)?;
    let table = match &operands[4] {
        RawOperand::Number(number) => immediate(*number, Type::B64)?,
        other => return Err(format!("found {} as the table; accepted: a number", describe(other))),
    };
    let table = u8::try_from(table).map_err(|_| format!("found the table {table}; accepted: 0 to 255"))?;
    let op = Op::Lop3 { table, combine };
    if combine.is_none() {
        return lowering.simple(op, &operands[..4], ty, &[ty, ty, ty]);
    }
    let dsts = lowering.result_pair(&operands[0], ty)?;
    let mut srcs = Vec::new();
    for operand in &operands[1..4] {
        srcs.push(lowering.source(operand, ty, Fit::Exact)?);
    }
    srcs.push(lowering.source(&operands[5], Type::Pred, Fit::Exact)?);
    lowering.emit(op, dsts, srcs, None);
    Ok(())
}

pub(super) fn shift<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let (op, ty) = if lowering.current.opcode() == "shl" {
        let ty = form.ty(&BITS)?;
        (Op::Shl { ty }, ty)
    } else {
        let ty = form.ty(&[INTEGERS.as_slice(), &BITS].concat())?;
        (Op::Shr { ty }, ty)
    };
    form.finish()?;
    lowering.simple(op, operands, ty, &[ty, Type::B32])
}

pub(super) fn shf<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let direction = form.require(&[("l", Direction::Left), ("r", Direction::Right)])?;
    let wrap = form.require(&[("clamp", false), ("wrap", true)])?;
    let ty = form.ty(&[Type::B32])?;
    form.finish()?;
    lowering.simple(Op::Shf { direction, wrap }, operands, ty, &[ty, ty, ty])
}

/// The comparison, checked to exist for the type.
fn compare(form: &mut Form<'_>) -> Result<(Compare, Option<Combine>), Complaint> {
    let combine = form.choose(&COMBINES);
    Ok((form.require(&COMPARES)?, combine))
}

fn check_compare(compare: Compare, ty: Type) -> Lowered {
    let equality = matches!(compare, Compare::Eq | Compare::Ne);
    let ordering = matches!(compare, Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge);
    let accepted = match ty.kind() {
        TypeKind::Float => true,
        TypeKind::Signed | TypeKind::Unsigned => equality || ordering,
        TypeKind::Bits | TypeKind::Predicate => equality,
    };
    if accepted {
        Ok(())
    } else {
        Err(format!(
            "this comparison does not exist for {ty}; accepted: .eq .ne, for integers .lt .le .gt .ge too"
        ))
    }
}

pub(super) fn setp<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let (compare, combine) = compare(&mut form)?;
    let ty = form.ty(&[VALUES.as_slice(), &HALVES].concat())?;
    let ftz = form.ftz(ty)?;
    form.finish()?;
    check_compare(compare, ty)?;
    let sources = 2 + usize::from(combine.is_some());
    Lowering::count(operands, sources + 1..=sources + 1)?;
    let dsts = lowering.result_pair(&operands[0], Type::Pred)?;
    let srcs = comparison_sources(lowering, &operands[1..], ty)?;
    let op = Op::Setp { ty, compare, combine, ftz };
    lowering.emit(op, dsts, srcs, None);
    Ok(())
}

fn comparison_sources<'a>(
    lowering: &mut Lowering<'a, '_>,
    operands: Operands<'_, 'a>,
    ty: Type,
) -> Result<Vec<super::super::ir::Operand>, Complaint> {
    operands
        .iter()
        .zip([ty, ty, Type::Pred])
        .map(|(operand, ty)| lowering.source(operand, ty, Fit::Exact))
        .collect()
}

pub(super) fn set<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let (compare, combine) = compare(&mut form)?;
    let to =
        form.ty(&[[Type::U16, Type::S16, Type::U32, Type::S32, Type::F32].as_slice(), &HALVES].concat())?;
    let ty = form.ty(&[VALUES.as_slice(), &HALVES].concat())?;
    let ftz = form.ftz(if HALVES.contains(&ty) { ty } else { Type::F32 })?;
    form.finish()?;
    let masks = matches!(to, Type::U32 | Type::S32);
    let fits = match ty.element() {
        Some(_) => to == ty || masks,
        None => to.element().is_none() && (to.bits() == 32 || HALVES.contains(&to) || HALVES.contains(&ty)),
    };
    if !fits {
        return Err(format!(
            "found {to} as the result of comparing {ty}; accepted: .u32 .s32, .f32 .f16 .bf16 of what \
                            is not packed, .u16 .s16 of .f16 and .bf16, the type itself if it is packed"
        ));
    }
    check_compare(compare, ty)?;
    let sources = 2 + usize::from(combine.is_some());
    Lowering::count(operands, sources + 1..=sources + 1)?;
    let dst = lowering.result(&operands[0], to, Fit::Exact)?;
    let srcs = comparison_sources(lowering, &operands[1..], ty)?;
    let op = Op::Set { to, ty, compare, combine, ftz };
    lowering.emit(op, vec![dst], srcs, None);
    Ok(())
}

pub(super) fn selp<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&VALUES)?;
    form.finish()?;
    lowering.simple(Op::Selp { ty }, operands, ty, &[ty, ty, Type::Pred])
}

pub(super) fn slct<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&VALUES)?;
    let condition = form.ty(&[Type::S32, Type::F32])?;
    let ftz = form.ftz(condition)?;
    form.finish()?;
    lowering.simple(Op::Slct { ty, condition, ftz }, operands, ty, &[ty, ty, condition])
}

pub(super) fn mov<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&[[Type::Pred].as_slice(), &VALUES].concat())?;
    form.finish()?;
    match operands {
        [RawOperand::Vector(parts), source] => {
            let part = part_type(ty, parts.len())?;
            let src = lowering.source(source, ty, Fit::Exact)?;
            let dsts = parts
                .iter()
                .map(|operand| lowering.result(operand, part, Fit::Exact))
                .collect::<Result<Vec<_>, _>>()?;
            lowering.emit(Op::Unpack { ty }, dsts, vec![src], None);
            Ok(())
        }
        [result, RawOperand::Vector(parts)] => {
            let part = part_type(ty, parts.len())?;
            let dst = lowering.result(result, ty, Fit::Exact)?;
            let srcs = parts
                .iter()
                .map(|operand| lowering.source(operand, part, Fit::Exact))
                .collect::<Result<Vec<_>, _>>()?;
            lowering.emit(Op::Pack { ty }, vec![dst], srcs, None);
            Ok(())
        }
        [_, RawOperand::Name(name)] if lowering.module.functions.contains_key(name) => Err(format!(
            "a pointer to the function `{name}` is not supported; accepted: registers, numbers and variables"
        )),
        _other => lowering.simple(Op::Mov { ty }, operands, ty, &[ty]),
    }
}

fn part_type(ty: Type, parts: usize) -> Result<Type, Complaint> {
    match (ty.bits(), parts) {
        (16, 2) | (32, 4) => Ok(Type::B8),
        (32, 2) | (64, 4) => Ok(Type::B16),
        (64, 2) => Ok(Type::B32),
        (bits, parts) => {
            Err(format!("found {parts} parts of {bits} bits; accepted: 2 or 4 parts of at least 8 bits"))
        }
    }
}

pub(super) fn cvt<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let types = [VALUES.as_slice(), &[Type::U8, Type::S8, Type::B8], &HALVES].concat();
    let integral = form.choose(&[
        ("rni", Rounding::Nearest),
        ("rzi", Rounding::Zero),
        ("rmi", Rounding::Down),
        ("rpi", Rounding::Up),
    ]);
    let float = form.choose(&ROUNDINGS);
    let (ftz, saturate) = (form.flag("ftz"), form.flag("sat"));
    let (relu, finite) = (form.flag("relu"), form.flag("satfinite"));
    let to = form.ty(&types)?;
    if to.element().is_some() {
        let from = form.ty(&[Type::F32])?;
        form.finish()?;
        if integral.is_some() || ftz || saturate {
            return Err(format!("accepted for {to}: .rn or .rz, .relu, .satfinite"));
        }
        let rounding = narrowing(to, float)?;
        let op = Op::CvtPair { to, rounding, relu, finite };
        return lowering.simple(op, operands, to, &[from, from]);
    }
    let from = form.ty(&types)?;
    form.finish()?;
    if (relu || finite) && (from != Type::F32 || !HALVES.contains(&to)) {
        return Err(format!(
            "found .relu or .satfinite from {from} to {to}; accepted: from .f32 to .f16 and .bf16"
        ));
    }
    let rounding = cvt_rounding(to, from, integral, float)?;
    Lowering::count(operands, 2..=2)?;
    let exact_if_float = |ty: Type| if ty.kind() == TypeKind::Float { Fit::Exact } else { Fit::Wider };
    let dst = lowering.result(&operands[0], to, exact_if_float(to))?;
    let src = lowering.source(&operands[1], from, exact_if_float(from))?;
    let op = Op::Cvt { to, from, rounding, ftz, saturate, relu, finite };
    lowering.emit(op, vec![dst], vec![src], None);
    Ok(())
}

/// The rounding of two values of single precision to a packed type.
fn narrowing(to: Type, float: Option<Rounding>) -> Result<Rounding, Complaint> {
    match float {
        Some(rounding @ (Rounding::Nearest | Rounding::Zero)) => Ok(rounding),
        Some(Rounding::Down | Rounding::Up) | None => Err(format!("accepted for {to}: .rn or .rz")),
    }
}

/// Rounding modifiers must be there exactly where the conversion may be inexact.
fn cvt_rounding(
    to: Type,
    from: Type,
    integral: Option<Rounding>,
    float: Option<Rounding>,
) -> Result<CvtRounding, Complaint> {
    let is_float = |ty: Type| ty.kind() == TypeKind::Float;
    // Neither of the two 16-bit formats holds all values of the other.
    let narrower = to.bits() < from.bits() || to.bits() == 16 && to != from;
    match (is_float(to), is_float(from), integral, float) {
        (false, true, Some(rounding), None) => Ok(CvtRounding::Integer(rounding)),
        (false, true, _, _) => {
            Err("a float becomes an integer; accepted: one of .rni .rzi .rmi .rpi".to_owned())
        }
        (true, false, None, Some(rounding)) => Ok(CvtRounding::Float(rounding)),
        (true, false, _, _) => Err("an integer becomes a float; accepted: one of .rn .rz .rm .rp".to_owned()),
        (true, true, None, Some(rounding)) if narrower => Ok(CvtRounding::Float(rounding)),
        (true, true, Some(rounding), None) if to == from => Ok(CvtRounding::Integer(rounding)),
        (true, true, None, None) if !narrower => Ok(CvtRounding::None),
        (true, true, _, _) => Err(format!(
            "{from} becomes {to}; accepted: one of .rn .rz .rm .rp if it cannot hold every value, of .rni .rzi \
             .rmi .rpi or none if equal, none if wider"
        )),
        (false, false, None, None) => Ok(CvtRounding::None),
        (false, false, _, _) => Err("integers are converted without rounding".to_owned()),
    }
}

pub(super) fn cvta<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let to_space = form.flag("to");
    let space = form.require(&GENERIC_SPACES)?;
    let [unsigned, bits] = lowering.address_types();
    let ty = form.ty(&[unsigned])?;
    form.finish()?;
    // The source may be the address of a variable.
    lowering.simple(Op::Cvta { space, to_space, ty }, operands, ty, &[bits])
}

pub(super) fn isspacep<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let space = form.require(&GENERIC_SPACES)?;
    form.finish()?;
    let [_, bits] = lowering.address_types();
    lowering.simple(Op::Isspacep { space }, operands, Type::Pred, &[bits])
}

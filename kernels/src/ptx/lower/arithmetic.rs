//! Integer and floating-point arithmetic. What each opcode accepts is in `rules`.

use super::super::ast::RawOperand;
use super::super::error::Complaint;
use super::super::ir::{FloatClass, FloatMode, Op, Precision, Product, Transcendental, Type, TypeKind};
use super::form::{FLOATS, Form, HALVES, INTEGERS, PACKED_INTEGERS, ROUNDINGS};
use super::kernel::Lowering;
use super::operand::Fit;

/// Syntax of the approximate functions.
pub(super) const SIN_SYNTAX: &str = "{sin,cos,lg2,ex2}.approx{.ftz}.f32, ex2.approx.{f16,f16x2}, ex2.approx.ftz.{bf16,bf16x2}, \
                                     tanh.approx.{f16,f16x2,bf16,bf16x2,f32}: d, a";

const ALL_FLOATS: [Type; 6] = [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2, Type::F32, Type::F64];
const CARRY_TYPES: [Type; 4] = [Type::U32, Type::S32, Type::U64, Type::S64];

type Operands<'o, 'a> = &'o [RawOperand<'a>];
type Lowered = Result<(), Complaint>;

/// An opcode is not passed to its rule, so families that differ only in name look at the current text.
fn opcode_is(lowering: &Lowering<'_, '_>, opcode: &str) -> bool {
    lowering.current.opcode() == opcode
}

pub(super) fn add<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let carry_in = opcode_is(lowering, "addc") || opcode_is(lowering, "subc");
    let subtracts = opcode_is(lowering, "sub") || opcode_is(lowering, "subc");
    let carry_out = form.flag("cc");
    if carry_in || carry_out {
        let ty = form.ty(&CARRY_TYPES)?;
        form.finish()?;
        let op = if subtracts {
            Op::SubCarry { ty, carry_in, carry_out }
        } else {
            Op::AddCarry { ty, carry_in, carry_out }
        };
        return with_carry(lowering, op, operands, ty, 2, carry_in, carry_out);
    }
    let (ty, mode) = if form.is_float() {
        let ty = form.ty(&ALL_FLOATS)?;
        (ty, form.float_mode(ty)?)
    } else {
        let ty = form.ty(&[INTEGERS.as_slice(), &PACKED_INTEGERS].concat())?;
        let saturate = (ty == Type::S32 || ty.element().is_some()) && form.flag("sat");
        (ty, FloatMode { saturate, ..FloatMode::NONE })
    };
    form.finish()?;
    let op = if subtracts { Op::Sub { ty, mode } } else { Op::Add { ty, mode } };
    lowering.simple(op, operands, ty, &[ty, ty])
}

/// An instruction that reads or writes the carry besides its operands.
fn with_carry<'a>(
    lowering: &mut Lowering<'a, '_>,
    op: Op,
    operands: Operands<'_, 'a>,
    ty: Type,
    sources: usize,
    carry_in: bool,
    carry_out: bool,
) -> Lowered {
    Lowering::count(operands, sources + 1..=sources + 1)?;
    let mut dsts = vec![lowering.result(&operands[0], ty, Fit::Exact)?];
    let mut srcs = Vec::new();
    for operand in &operands[1..] {
        srcs.push(lowering.source(operand, ty, Fit::Exact)?);
    }
    let carry = lowering.carry();
    if carry_out {
        dsts.push(Some(carry));
    }
    if carry_in {
        srcs.push(super::super::ir::Operand::Reg(carry));
    }
    lowering.emit(op, dsts, srcs, None);
    Ok(())
}

fn product(form: &mut Form<'_>) -> Result<Product, Complaint> {
    form.require(&[("lo", Product::Low), ("hi", Product::High), ("wide", Product::Wide)])
}

/// The type of a product of two values of an integer type.
fn product_type(ty: Type, product: Product) -> Result<Type, Complaint> {
    if product != Product::Wide {
        return Ok(ty);
    }
    match ty {
        Type::U16 => Ok(Type::U32),
        Type::S16 => Ok(Type::S32),
        Type::U32 => Ok(Type::U64),
        Type::S32 => Ok(Type::S64),
        other => Err(format!("found .wide with {other}; accepted: .u16 .s16 .u32 .s32")),
    }
}

pub(super) fn mul<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    if form.is_float() {
        let ty = form.ty(&ALL_FLOATS)?;
        let mode = form.float_mode(ty)?;
        form.finish()?;
        return lowering.simple(Op::Mul { ty, mode }, operands, ty, &[ty, ty]);
    }
    let ty = form.ty(&INTEGERS)?;
    let product = product(&mut form)?;
    form.finish()?;
    lowering.simple(Op::MulInt { ty, product }, operands, product_type(ty, product)?, &[ty, ty])
}

pub(super) fn mad<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let carry_in = opcode_is(lowering, "madc");
    if form.is_float() && !carry_in {
        // `mad` of floats is an older name of `fma`, and has its older types.
        let ty = form.ty(if opcode_is(lowering, "fma") { &ALL_FLOATS } else { &FLOATS })?;
        let mode = form.float_mode(ty)?;
        let relu = opcode_is(lowering, "fma") && HALVES.contains(&ty) && form.flag("relu");
        let mode = FloatMode { relu, ..mode };
        form.finish()?;
        return lowering.simple(Op::Fma { ty, mode }, operands, ty, &[ty, ty, ty]);
    }
    if opcode_is(lowering, "fma") {
        form.ty(&ALL_FLOATS)?;
    }
    let carry_out = form.flag("cc");
    let product = product(&mut form)?;
    if carry_in || carry_out {
        let ty = form.ty(&CARRY_TYPES)?;
        form.finish()?;
        if product == Product::Wide {
            return Err("found .wide with a carry".to_owned());
        }
        let op = Op::MadCarry { ty, product, carry_in, carry_out };
        return with_carry(lowering, op, operands, ty, 3, carry_in, carry_out);
    }
    let ty = form.ty(&INTEGERS)?;
    let saturate = ty == Type::S32 && product == Product::High && form.flag("sat");
    form.finish()?;
    let result = product_type(ty, product)?;
    lowering.simple(Op::MadInt { ty, product, saturate }, operands, result, &[ty, ty, result])
}

pub(super) fn mul24<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let high = form.require(&[("lo", false), ("hi", true)])?;
    let ty = form.ty(&[Type::U32, Type::S32])?;
    if opcode_is(lowering, "mul24") {
        form.finish()?;
        return lowering.simple(Op::Mul24 { ty, high }, operands, ty, &[ty, ty]);
    }
    let saturate = ty == Type::S32 && high && form.flag("sat");
    form.finish()?;
    lowering.simple(Op::Mad24 { ty, high, saturate }, operands, ty, &[ty, ty, ty])
}

pub(super) fn sad<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&INTEGERS)?;
    form.finish()?;
    lowering.simple(Op::Sad { ty }, operands, ty, &[ty, ty, ty])
}

/// `.approx`, `.full` or a rounding, as far as each is accepted for the type.
fn precision(form: &mut Form<'_>, ty: Type, approximate: bool, full: bool) -> Result<Precision, Complaint> {
    if approximate && form.flag("approx") {
        return Ok(Precision::Approx);
    }
    if full && ty == Type::F32 && form.flag("full") {
        return Ok(Precision::Full);
    }
    form.require(&ROUNDINGS).map(Precision::Ieee)
}

pub(super) fn div<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    if form.is_float() {
        let ty = form.ty(&FLOATS)?;
        let precision = precision(&mut form, ty, ty == Type::F32, true)?;
        let ftz = form.ftz(ty)?;
        form.finish()?;
        return lowering.simple(Op::Div { ty, precision, ftz }, operands, ty, &[ty, ty]);
    }
    let ty = form.ty(&INTEGERS)?;
    form.finish()?;
    lowering.simple(Op::DivInt { ty }, operands, ty, &[ty, ty])
}

pub(super) fn rem<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&INTEGERS)?;
    form.finish()?;
    lowering.simple(Op::RemInt { ty }, operands, ty, &[ty, ty])
}

pub(super) fn abs_neg<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&[[Type::S16, Type::S32, Type::S64].as_slice(), &ALL_FLOATS].concat())?;
    let ftz = form.ftz(ty)?;
    form.finish()?;
    let op = if opcode_is(lowering, "abs") { Op::Abs { ty, ftz } } else { Op::Neg { ty, ftz } };
    lowering.simple(op, operands, ty, &[ty])
}

pub(super) fn min_max<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = if form.is_float() {
        form.ty(&ALL_FLOATS)?
    } else {
        form.ty(&[INTEGERS.as_slice(), &PACKED_INTEGERS].concat())?
    };
    let ftz = form.ftz(ty)?;
    let nan = (HALVES.contains(&ty) || ty == Type::F32) && form.flag("NaN");
    let relu = matches!(ty, Type::S32 | Type::S16x2) && form.flag("relu");
    form.finish()?;
    let op = if opcode_is(lowering, "min") {
        Op::Min { ty, ftz, nan, relu }
    } else {
        Op::Max { ty, ftz, nan, relu }
    };
    lowering.simple(op, operands, ty, &[ty, ty])
}

pub(super) fn rcp_sqrt<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&FLOATS)?;
    let reciprocal = opcode_is(lowering, "rcp");
    let precision = precision(&mut form, ty, reciprocal || ty == Type::F32, false)?;
    // `rcp.approx.ftz.f64` is the one double-precision instruction with `.ftz`.
    let ftz =
        if ty == Type::F64 && precision == Precision::Approx { form.flag("ftz") } else { form.ftz(ty)? };
    form.finish()?;
    let op = if reciprocal { Op::Rcp { ty, precision, ftz } } else { Op::Sqrt { ty, precision, ftz } };
    lowering.simple(op, operands, ty, &[ty])
}

pub(super) fn rsqrt<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&FLOATS)?;
    form.require(&[("approx", ())])?;
    let ftz = form.flag("ftz");
    form.finish()?;
    lowering.simple(Op::Rsqrt { ty, ftz }, operands, ty, &[ty])
}

pub(super) fn sin<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let function = match lowering.current.opcode() {
        "sin" => Transcendental::Sin,
        "cos" => Transcendental::Cos,
        "lg2" => Transcendental::Lg2,
        "ex2" => Transcendental::Ex2,
        _tanh => Transcendental::Tanh,
    };
    let ty = match function {
        Transcendental::Ex2 | Transcendental::Tanh => form.ty(&[&[Type::F32], HALVES.as_slice()].concat())?,
        Transcendental::Sin | Transcendental::Cos | Transcendental::Lg2 => form.ty(&[Type::F32])?,
    };
    form.require(&[("approx", ())])?;
    let ftz = match (function, ty) {
        (Transcendental::Tanh, _) | (_, Type::F16 | Type::F16x2) => false,
        (_, Type::Bf16 | Type::Bf16x2) => form.require(&[("ftz", true)])?,
        (_, _single) => form.flag("ftz"),
    };
    form.finish()?;
    lowering.simple(Op::Transcendental { ty, function, ftz }, operands, ty, &[ty])
}

pub(super) fn copysign<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let ty = form.ty(&FLOATS)?;
    form.finish()?;
    lowering.simple(Op::Copysign { ty }, operands, ty, &[ty, ty])
}

pub(super) fn testp<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let class = form.require(&[
        ("finite", FloatClass::Finite),
        ("infinite", FloatClass::Infinite),
        ("number", FloatClass::Number),
        ("notanumber", FloatClass::NotANumber),
        ("normal", FloatClass::Normal),
        ("subnormal", FloatClass::Subnormal),
    ])?;
    let ty = form.ty(&FLOATS)?;
    form.finish()?;
    lowering.simple(Op::Testp { ty, class }, operands, Type::Pred, &[ty])
}

pub(super) fn dp4a<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let a = form.ty(&[Type::U32, Type::S32])?;
    let b = form.ty(&[Type::U32, Type::S32])?;
    form.finish()?;
    let signed = |ty: Type| ty.kind() == TypeKind::Signed;
    let op = Op::Dp4a { a_signed: signed(a), b_signed: signed(b) };
    lowering.simple(op, operands, Type::B32, &[Type::B32, Type::B32, Type::B32])
}

pub(super) fn dp2a<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let high = form.require(&[("lo", false), ("hi", true)])?;
    let a = form.ty(&[Type::U32, Type::S32])?;
    let b = form.ty(&[Type::U32, Type::S32])?;
    form.finish()?;
    let signed = |ty: Type| ty.kind() == TypeKind::Signed;
    let op = Op::Dp2a { a_signed: signed(a), b_signed: signed(b), high };
    lowering.simple(op, operands, Type::B32, &[Type::B32, Type::B32, Type::B32])
}

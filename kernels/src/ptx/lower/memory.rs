//! Memory accesses. What each opcode accepts is in `rules`.

use super::super::ast::RawOperand;
use super::super::error::Complaint;
use super::super::ir::{Address, AtomicOp, Base, MemoryOrder, Op, Operand, Outside, Type};
use super::form::Form;
use super::kernel::Lowering;
use super::operand::{Fit, describe, immediate};
use crate::program::Space;

type Operands<'o, 'a> = &'o [RawOperand<'a>];
type Lowered = Result<(), Complaint>;

const SPACES: [(&str, Space); 9] = [
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("local", Space::Local),
    ("const", Space::Constant),
    ("param", Space::Parameter),
    ("param::entry", Space::Parameter),
    ("param::func", Space::Parameter),
    ("generic", Space::Generic),
];
const MEMORY_TYPES: [Type; 15] = [
    Type::B8,
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S8,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F16,
    Type::F32,
    Type::F64,
];
/// Cache and ordering modifiers: memory is sequentially consistent here, and caches are the SM's concern.
const WITHOUT_EFFECT: [&str; 20] = [
    "volatile", "weak", "relaxed", "acquire", "release", "acq_rel", "mmio", "cta", "gpu", "sys", "ca", "cg",
    "cs", "lu", "cv", "wb", "wt", "nc", "noftz", "unified",
];

/// Modifiers that keep other accesses on their side.
const STRONG: [&str; 6] = ["volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"];

/// The order that the modifiers ask for.
fn order(form: &mut Form<'_>) -> MemoryOrder {
    // Each of them is used up: `.volatile` and `.relaxed` may not come together, but harm nothing.
    if STRONG.iter().filter(|word| form.flag(word)).count() > 0 {
        MemoryOrder::Strong
    } else if form.flag("nc") {
        MemoryOrder::ReadOnly
    } else {
        MemoryOrder::Weak
    }
}

fn space(form: &mut Form<'_>) -> Option<Space> {
    form.ignore(&WITHOUT_EFFECT);
    form.ignore_prefixed("L1::");
    form.ignore_prefixed("L2::");
    form.choose(&SPACES)
}

/// The elements of a vector access.
fn elements<'o, 'a>(
    form: &mut Form<'a>,
    ty: Type,
    operand: &'o RawOperand<'a>,
) -> Result<&'o [RawOperand<'a>], Complaint> {
    let count = form.choose(&[("v2", 2), ("v4", 4)]);
    let Some(count) = count else {
        return Ok(std::slice::from_ref(operand));
    };
    if count * ty.bytes() > 16 {
        return Err(format!("found a vector of {count} {ty}; accepted: at most 16 bytes"));
    }
    match operand {
        RawOperand::Vector(elements) if elements.len() == count as usize => Ok(elements),
        other => Err(format!("found {}; accepted: {count} registers in braces", describe(other))),
    }
}

/// Integers and bits may be in wider registers, floats not.
fn fit(ty: Type) -> Fit {
    match ty {
        Type::F16 | Type::F32 | Type::F64 => Fit::Exact,
        _integer => Fit::Wider,
    }
}

pub(super) fn load<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let order = order(&mut form);
    let named = space(&mut form).filter(|&space| space != Space::Generic);
    let ty = form.ty(&MEMORY_TYPES)?;
    Lowering::count(operands, 2..=2)?;
    let elements = elements(&mut form, ty, &operands[0])?;
    form.finish()?;
    let (address, space) = lowering.address(&operands[1], named)?;
    let dsts = elements
        .iter()
        .map(|element| lowering.result(element, ty, fit(ty)))
        .collect::<Result<Vec<_>, _>>()?;
    lowering.emit(Op::Ld { space, ty, order }, dsts, Vec::new(), Some(address));
    Ok(())
}

pub(super) fn store<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let order = order(&mut form);
    let named = space(&mut form).filter(|&space| space != Space::Generic);
    let ty = form.ty(&MEMORY_TYPES)?;
    Lowering::count(operands, 2..=2)?;
    let elements = elements(&mut form, ty, &operands[1])?;
    form.finish()?;
    let (address, space) = lowering.address(&operands[0], named)?;
    if matches!(space, Space::Constant | Space::Parameter) {
        return Err("found a store to constant or kernel parameter memory".to_owned());
    }
    let srcs = elements
        .iter()
        .map(|element| lowering.source(element, ty, fit(ty)))
        .collect::<Result<Vec<_>, _>>()?;
    lowering.emit(Op::St { space, ty, order }, Vec::new(), srcs, Some(address));
    Ok(())
}

pub(super) fn atomic<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let returns = lowering.current.opcode() == "atom";
    let named = space(&mut form).filter(|&space| space != Space::Generic);
    let op = form.require(&[
        ("add", AtomicOp::Add),
        ("min", AtomicOp::Min),
        ("max", AtomicOp::Max),
        ("inc", AtomicOp::Inc),
        ("dec", AtomicOp::Dec),
        ("and", AtomicOp::And),
        ("or", AtomicOp::Or),
        ("xor", AtomicOp::Xor),
        ("exch", AtomicOp::Exch),
        ("cas", AtomicOp::Cas),
    ])?;
    let ty = form.ty(atomic_types(op))?;
    form.finish()?;
    let values = if op == AtomicOp::Cas { 2 } else { 1 };
    let first = usize::from(returns);
    Lowering::count(operands, first + 1 + values..=first + 1 + values)?;
    let dsts = if returns { vec![lowering.result(&operands[0], ty, Fit::Exact)?] } else { Vec::new() };
    let (address, space) = lowering.address(&operands[first], named)?;
    if !matches!(space, Space::Global | Space::Shared | Space::Generic) {
        return Err("found another state space; accepted: .global .shared or none".to_owned());
    }
    let srcs = operands[first + 1..]
        .iter()
        .map(|operand| lowering.source(operand, ty, Fit::Exact))
        .collect::<Result<Vec<_>, _>>()?;
    lowering.emit(Op::Atom { space, ty, op }, dsts, srcs, Some(address));
    Ok(())
}

fn atomic_types(op: AtomicOp) -> &'static [Type] {
    match op {
        AtomicOp::Add => &[
            Type::U32,
            Type::S32,
            Type::U64,
            Type::S64,
            Type::F16,
            Type::F16x2,
            Type::Bf16,
            Type::Bf16x2,
            Type::F32,
            Type::F64,
        ],
        AtomicOp::Min | AtomicOp::Max => &[Type::U32, Type::S32, Type::U64, Type::S64],
        AtomicOp::Inc | AtomicOp::Dec => &[Type::U32],
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exch => &[Type::B32, Type::B64],
        AtomicOp::Cas => &[Type::B16, Type::B32, Type::B64],
    }
}

pub(super) fn hint<'a>(
    lowering: &mut Lowering<'a, '_>,
    _form: Form<'a>,
    _operands: Operands<'_, 'a>,
) -> Lowered {
    lowering.emit(Op::Hint, Vec::new(), Vec::new(), None);
    Ok(())
}

/// `relssp` (Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, §3.2.2).
pub(super) fn release_scratchpad<'a>(
    lowering: &mut Lowering<'a, '_>,
    form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.finish()?;
    Lowering::count(operands, 0..=0)?;
    lowering.emit(Op::ReleaseScratchpad, Vec::new(), Vec::new(), None);
    Ok(())
}

/// `.1d` or `.2d`.
const GEOMETRIES: [(&str, u8); 2] = [("1d", 1), ("2d", 2)];

/// A texture or surface and its coordinates: the address, and the sources that the coordinates are.
fn texel<'a>(
    lowering: &mut Lowering<'a, '_>,
    operand: &RawOperand<'a>,
    dimensions: u8,
    coordinate: Type,
) -> Result<(Address, Vec<Operand>), Complaint> {
    let RawOperand::Texel(name, coordinates) = operand else {
        return Err(format!("found {}; accepted: [texture, {{coordinates}}]", describe(operand)));
    };
    // Compilers may write further coordinates, which are not read.
    let Some(read) = coordinates.get(..usize::from(dimensions)) else {
        return Err(format!("found {} coordinates; accepted: {dimensions}", coordinates.len()));
    };
    let base = match lowering.named_symbol(name)? {
        Some(symbol) if lowering.is_texture(symbol) => Base::Symbol(symbol),
        Some(_) => {
            return Err(format!("`{name}` is not a texture; accepted: the name of a .texref, or a handle"));
        }
        None => Base::Reg(lowering.register(name, Type::B64)?),
    };
    let srcs = read
        .iter()
        .map(|operand| lowering.source(operand, coordinate, Fit::Exact))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((Address { base, offset: 0 }, srcs))
}

pub(super) fn texture<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let dimensions = form.require(&GEOMETRIES)?;
    form.require(&[("v4", ())])?;
    let ty = form.ty(&[Type::F32, Type::S32, Type::U32])?;
    let coordinate = form.ty(&[Type::S32, Type::F32])?;
    form.finish()?;
    Lowering::count(operands, 2..=2)?;
    let RawOperand::Vector(results) = &operands[0] else {
        return Err(format!("found {}; accepted: four registers in braces", describe(&operands[0])));
    };
    if results.len() != 4 {
        return Err(format!("found {} registers in braces; accepted: 4", results.len()));
    }
    let dsts = results
        .iter()
        .map(|operand| lowering.result(operand, ty, Fit::Exact))
        .collect::<Result<Vec<_>, _>>()?;
    let (address, srcs) = texel(lowering, &operands[1], dimensions, coordinate)?;
    lowering.emit(Op::Tex { ty, dimensions, coordinate }, dsts, srcs, Some(address));
    Ok(())
}

/// `suld.b` and `sust.b`.
pub(super) fn surface<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    let loads = lowering.current.opcode() == "suld";
    form.require(&[("b", ())])?;
    let dimensions = form.require(&GEOMETRIES)?;
    form.ignore(&["ca", "cg", "cs", "cv", "wb", "wt"]);
    let outside =
        form.require(&[("trap", Outside::Trap), ("clamp", Outside::Clamp), ("zero", Outside::Zero)])?;
    let ty = form.ty(&[Type::B8, Type::B16, Type::B32, Type::B64])?;
    Lowering::count(operands, 2..=2)?;
    let (texel_operand, data) =
        if loads { (&operands[1], &operands[0]) } else { (&operands[0], &operands[1]) };
    let data = match data {
        // A single element stands in braces too.
        RawOperand::Vector(one) if one.len() == 1 => one.as_slice(),
        other => elements(&mut form, ty, other)?,
    };
    form.finish()?;
    let dsts = if loads {
        data.iter().map(|operand| lowering.result(operand, ty, fit(ty))).collect::<Result<Vec<_>, _>>()?
    } else {
        Vec::new()
    };
    let (address, mut srcs) = texel(lowering, texel_operand, dimensions, Type::S32)?;
    if loads {
        lowering.emit(Op::SurfaceLoad { ty, dimensions, outside }, dsts, srcs, Some(address));
        return Ok(());
    }
    for operand in data {
        srcs.push(lowering.source(operand, ty, fit(ty))?);
    }
    lowering.emit(Op::SurfaceStore { ty, dimensions, outside }, Vec::new(), srcs, Some(address));
    Ok(())
}

/// `cp.async` and what orders its copies.
pub(super) fn copy_async<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: Operands<'_, 'a>,
) -> Lowered {
    form.require(&[("async", ())])?;
    let group = form.choose(&[
        ("commit_group", Op::CommitGroup),
        ("wait_all", Op::WaitGroup { but: None }),
        ("wait_group", Op::WaitGroup { but: Some(0) }),
    ]);
    if let Some(op) = group {
        form.finish()?;
        let op = match op {
            Op::WaitGroup { but: Some(_) } => {
                Lowering::count(operands, 1..=1)?;
                let but = constant(&operands[0], "a number of groups")?;
                Op::WaitGroup { but: Some(u32::try_from(but).unwrap_or(u32::MAX)) }
            }
            without_operand => {
                Lowering::count(operands, 0..=0)?;
                without_operand
            }
        };
        lowering.emit(op, Vec::new(), Vec::new(), None);
        return Ok(());
    }
    let around_first_cache = form.require(&[("ca", false), ("cg", true)])?;
    form.require(&[("shared", ()), ("shared::cta", ())])?;
    form.require(&[("global", ())])?;
    form.ignore_prefixed("L2::");
    form.finish()?;
    Lowering::count(operands, 3..=4)?;
    let (to, _) = lowering.address(&operands[0], Some(Space::Shared))?;
    let (from, _) = lowering.address(&operands[1], Some(Space::Global))?;
    let bytes = constant(&operands[2], "the number of bytes")?;
    let accepted: &[u64] = if around_first_cache { &[16] } else { &[4, 8, 16] };
    if !accepted.contains(&bytes) {
        return Err(format!("found {bytes} bytes; accepted: 4, 8 and 16, with .cg only 16"));
    }
    let (to, offset) = match to.base {
        Base::Reg(register) => (Operand::Reg(register), to.offset),
        Base::Symbol(symbol) => (Operand::Symbol(symbol, to.offset), 0),
        Base::Zero => (Operand::Imm(to.offset as u64), 0),
    };
    let read = match operands.get(3) {
        Some(operand) => lowering.source(operand, Type::B32, Fit::Exact)?,
        None => Operand::Imm(bytes),
    };
    lowering.emit(Op::CopyAsync { bytes: bytes as u8, offset }, Vec::new(), vec![to, read], Some(from));
    Ok(())
}

/// An operand that must be a number.
fn constant(operand: &RawOperand<'_>, what: &str) -> Result<u64, Complaint> {
    match operand {
        RawOperand::Number(number) => immediate(*number, Type::B64),
        other => Err(format!("found {} as {what}; accepted: a number", describe(other))),
    }
}

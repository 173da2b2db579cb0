//! One instruction of one warp, control flow and barriers excepted.

use super::access::{self, Memories};
use super::collective;
use super::convert::{self, Conversion};
use super::decode::{Operands, Result as Target};
use super::error::Trouble;
use super::float;
use super::integer::{self, is_signed, map1, map2, mask, number};
use super::launch::{resolve_generic, window};
use super::matrix;
use super::packed;
use super::print;
use super::registers::{Lanes, Registers};
use super::softfloat;
use super::texture::{self, Coordinates};
use crate::program::{LANES, LaneMask, Space};
use crate::ptx::ir::{
    Base, Combine, Compare, Instruction, Kernel, Op, Place, Rounding, Type, TypeKind, Vote,
};

/// A warp's registers and one instruction's operands.
pub(super) struct Context<'c> {
    pub(super) kernel: &'c Kernel,
    pub(super) registers: &'c mut Registers,
    pub(super) operands: &'c Operands,
    /// Lanes that execute: on the path, and not switched off by the guard.
    pub(super) active: LaneMask,
}

impl Context<'_> {
    fn source(&self, index: usize) -> &Lanes {
        &self.registers.rows[self.operands.sources[index] as usize]
    }

    /// The lanes in which a predicate source is true.
    pub(super) fn predicate(&self, index: usize) -> LaneMask {
        let source = self.operands.predicates[index];
        let value = self.registers.masks[source.mask as usize];
        if source.negated { !value } else { value }
    }

    fn set(&mut self, index: usize, values: &Lanes) {
        if let Some(Target::Row { row, .. }) = self.operands.results[index] {
            self.registers.write(row, self.active, values);
        }
    }

    pub(super) fn set_predicate(&mut self, index: usize, values: LaneMask) {
        if let Some(Target::Mask(mask)) = self.operands.results[index] {
            self.registers.write_mask(mask, self.active, values);
        }
    }

    /// One value in all lanes.
    pub(super) fn set_uniform(&mut self, index: usize, value: u64) {
        self.set(index, &[value; LANES]);
    }

    /// The carry that the instruction reads as source `index`, if it reads one.
    fn carry(&self, carry_in: bool, index: usize) -> LaneMask {
        if carry_in { self.predicate(index) } else { 0 }
    }

    /// Members of a collective: the active lanes, or those of them in the mask given as a source.
    fn members(&self, mask: Option<usize>) -> LaneMask {
        let given = mask.map_or(LaneMask::MAX, |index| {
            let lane = self.active.trailing_zeros() as usize;
            self.source(index).get(lane).map_or(0, |&mask| mask as LaneMask)
        });
        self.active & given
    }
}

/// Executes an instruction in the active lanes. Returns the addresses of a memory access.
///
/// Control flow and barriers are the caller's; they do nothing here.
pub(super) fn execute(
    context: &mut Context<'_>,
    memories: &mut Memories<'_>,
    instruction: &Instruction,
) -> Result<Option<Lanes>, Trouble> {
    match instruction.op {
        Op::Ld { space, ty, .. } => {
            let addresses = access::addresses(context.registers, context.operands, space, context.active);
            access::load(
                context.registers,
                memories,
                context.operands,
                space,
                ty,
                context.active,
                &addresses,
            )?;
            return Ok(Some(addresses));
        }
        Op::St { space, ty, .. } => {
            let addresses = access::addresses(context.registers, context.operands, space, context.active);
            access::store(
                context.registers,
                memories,
                context.operands,
                space,
                ty,
                context.active,
                &addresses,
            )?;
            return Ok(Some(addresses));
        }
        Op::Atom { space, ty, op } => {
            let addresses = access::addresses(context.registers, context.operands, space, context.active);
            let what = (space, ty, op);
            access::atomic(context.registers, memories, context.operands, what, context.active, &addresses)?;
            return Ok(Some(addresses));
        }
        Op::CopyAsync { bytes, offset } => {
            let (registers, operands) = (&*context.registers, context.operands);
            let addresses = access::addresses(registers, operands, Space::Global, context.active);
            let what = (bytes, offset);
            access::copy_async(
                context.registers,
                memories,
                context.operands,
                what,
                context.active,
                &addresses,
            )?;
            return Ok(Some(addresses));
        }
        Op::CommitGroup => memories.copies.commit(context.active),
        Op::WaitGroup { but } => memories.copies.wait(context.active, but, memories.shared),
        Op::LoadMatrix { space, transposed } => {
            if context.active == 0 {
                return Ok(Some([0; LANES]));
            }
            matrix::check_lanes(context.active)?;
            let matrices = instruction.dsts.len();
            let addresses = access::addresses(context.registers, context.operands, space, context.active);
            let rows = matrix::row_addresses(&addresses, matrices);
            let loaded = matrix::load(memories, &rows, matrices, (space, transposed))?;
            (0..matrices).for_each(|index| context.set(index, &loaded[index]));
            return Ok(Some(rows));
        }
        Op::Mma { k, a, b, c, d, saturate } if context.active != 0 => {
            matrix::check_lanes(context.active)?;
            let sources: Vec<&Lanes> =
                (0..instruction.srcs.len()).map(|index| context.source(index)).collect();
            let product = matrix::Product { k: k.into(), a, b, c, d, saturate };
            let result = matrix::multiply(product, &sources);
            (0..instruction.dsts.len()).for_each(|index| context.set(index, &result[index]));
        }
        Op::Tex { ty, dimensions, coordinate } => {
            let coordinates = Coordinates { ty: coordinate, dimensions };
            return fetch(context, memories, instruction, (ty, coordinates)).map(Some);
        }
        Op::SurfaceLoad { ty, dimensions, outside } | Op::SurfaceStore { ty, dimensions, outside } => {
            let handles =
                access::addresses(context.registers, context.operands, Space::Global, context.active);
            let loads = matches!(instruction.op, Op::SurfaceLoad { .. });
            let what = (ty, dimensions, outside, loads);
            return texture::surface(
                context.registers,
                memories,
                context.operands,
                what,
                context.active,
                &handles,
            )
            .map(Some);
        }
        Op::Trap => {
            let lane = context.active.trailing_zeros() as usize;
            if lane < LANES {
                return Err(Trouble { lane, message: "the kernel trapped".to_owned() });
            }
        }
        Op::Print => {
            let (format, arguments) = (*context.source(0), *context.source(1));
            let pointer = context.kernel.address_bits as usize / 8;
            let mut taken = [0; LANES];
            for lane in access::lanes_of(context.active) {
                taken[lane] = print::print(memories, lane, pointer, [format[lane], arguments[lane]])?;
            }
            context.set(0, &taken);
        }
        Op::AssertFail => {
            if let Some(lane) = access::lanes_of(context.active).next() {
                let mut said = |source: usize| -> Result<String, Trouble> {
                    let bytes = print::string(memories, lane, context.source(source)[lane])?;
                    Ok(String::from_utf8_lossy(&bytes).into_owned())
                };
                let (assertion, file, function) = (said(0)?, said(1)?, said(3)?);
                let line = context.source(2)[lane];
                let message = format!("{file}:{line}: {function}: assertion `{assertion}` failed");
                return Err(Trouble { lane, message });
            }
        }
        ref op => {
            if let Some(values) = value(context, op) {
                context.set(0, &values);
            } else {
                other(context, op);
            }
        }
    }
    Ok(None)
}

fn fetch(
    context: &mut Context<'_>,
    memories: &mut Memories<'_>,
    instruction: &Instruction,
    what: (Type, Coordinates),
) -> Result<Lanes, Trouble> {
    let symbol = instruction.address.and_then(|address| match address.base {
        Base::Symbol(symbol) => Some(&context.kernel.symbols[symbol.index()]),
        Base::Reg(_) | Base::Zero => None,
    });
    let variable = symbol.and_then(|symbol| match symbol.place {
        Place::Module(variable) => Some((variable, symbol.name.as_str())),
        Place::Offset(_) | Place::DynamicShared => None,
    });
    access::texture(context.registers, memories, context.operands, what, context.active, variable)
}

/// Instructions whose only result is one value a lane.
fn value(context: &Context<'_>, op: &Op) -> Option<Lanes> {
    let (a, b, c) = (context.source(0), context.source(1), context.source(2));
    Some(match *op {
        Op::Mov { ty } | Op::Not { ty } | Op::And { ty } | Op::Or { ty } | Op::Xor { ty }
            if ty == Type::Pred =>
        {
            return None;
        }
        Op::Add { .. }
        | Op::Sub { .. }
        | Op::Mul { .. }
        | Op::Fma { .. }
        | Op::Abs { .. }
        | Op::Neg { .. }
        | Op::Min { .. }
        | Op::Max { .. }
        | Op::Transcendental { .. } => return packed::arithmetic(op, context.active, [a, b, c]),
        Op::MulInt { ty, product } => integer::mul(ty, product, a, b),
        Op::MadInt { ty, product, saturate } => integer::mad(ty, product, saturate, a, b, c),
        Op::Mul24 { ty, high } => integer::mul24(ty, high, a, b),
        Op::Mad24 { ty, high, saturate } => integer::add(ty, saturate, &integer::mul24(ty, high, a, b), c),
        Op::Sad { ty } => integer::sad(ty, a, b, c),
        Op::DivInt { ty } => integer::div(ty, a, b),
        Op::RemInt { ty } => integer::rem(ty, a, b),
        Op::Div { ty, precision, ftz } => float::div(ty, precision, ftz, a, b),
        Op::Rcp { ty, precision, ftz } => float::rcp(ty, precision, ftz, a),
        Op::Sqrt { ty, precision, ftz } => float::sqrt(ty, precision, ftz, a),
        Op::Rsqrt { ty, ftz } => float::rsqrt(ty, ftz, a),
        Op::Copysign { ty } => float::copysign(ty, a, b),
        Op::Popc { .. } => map1(a, |a| u64::from(a.count_ones())),
        Op::Clz { ty } => map1(a, |a| u64::from(a.leading_zeros() - (64 - ty.bits()))),
        Op::Brev { ty } => map1(a, |a| a.reverse_bits() >> (64 - ty.bits())),
        Op::Bfind { ty, shift_amount } => integer::bfind(ty, shift_amount, a),
        Op::Bfe { ty } => integer::bfe(ty, a, b, c),
        Op::Bfi { ty } => integer::bfi(ty, a, b, c, context.source(3)),
        Op::Prmt { mode } => integer::prmt(mode, a, b, c),
        Op::Szext { ty, excess } => integer::szext(ty, excess, a, b),
        Op::Bmsk { excess } => integer::bmsk(excess, a, b),
        Op::Fns => integer::fns(a, b, c),
        Op::Dp2a { a_signed, b_signed, high } => integer::dp2a((a_signed, b_signed, high), a, b, c),
        Op::Dp4a { a_signed, b_signed } => integer::dp4a(a_signed, b_signed, a, b, c),
        Op::And { .. } => map2(a, b, |a, b| a & b),
        Op::Or { .. } => map2(a, b, |a, b| a | b),
        Op::Xor { .. } => map2(a, b, |a, b| a ^ b),
        Op::Not { ty } => map1(a, |a| !a & mask(ty.bits())),
        Op::Cnot { .. } => map1(a, |a| u64::from(a == 0)),
        Op::Lop3 { table, combine: None } => integer::lop3(table, a, b, c),
        Op::Shl { ty } => integer::shl(ty, a, b),
        Op::Shr { ty } => integer::shr(ty, a, b),
        Op::Shf { direction, wrap } => integer::shf(direction, wrap, a, b, c),
        Op::Set { to, ty, compare, combine, ftz } => {
            let test = Comparison { ty: ty.element().unwrap_or(ty), compare, combine, ftz };
            let set = |a: &Lanes, b: &Lanes, truth: u64| {
                select(test.holds(context, a, b, false), &[truth; LANES], &[0; LANES])
            };
            match ty.element() {
                None => set(a, b, truth(to)),
                Some(_) => {
                    // Each half of 32 bits is a mask of its own.
                    let truth = to.element().map_or(mask(16), truth);
                    let low = set(&packed::lower(a), &packed::lower(b), truth);
                    packed::joined(&low, &set(&packed::upper(a), &packed::upper(b), truth))
                }
            }
        }
        Op::Selp { .. } => select(context.predicate(2), a, b),
        Op::Slct { condition, ftz, .. } => {
            let holds = if condition == Type::F32 {
                float::compare(condition, Compare::Ge, ftz, c, &[0; LANES])
            } else {
                float::lanes_where(|lane| number(c[lane], condition) >= 0)
            };
            select(holds, a, b)
        }
        Op::Mov { ty } => map1(a, |a| a & mask(ty.bits())),
        Op::Pack { ty } => pack(context, ty),
        Op::CvtPair { to, rounding, relu, finite } => convert::pair(to, rounding, relu, finite, a, b),
        Op::Cvt { to, from, rounding, ftz, saturate, relu, finite } => {
            let register_bits = match context.operands.results[0] {
                Some(Target::Row { bits, .. }) => bits,
                Some(Target::Mask(_)) | None => to.bits(),
            };
            let what = Conversion { to, from, rounding, ftz, saturate, relu, finite, register_bits };
            convert::convert(what, a)
        }
        Op::Cvta { space, to_space, .. } => {
            let base = window(space);
            if to_space { map1(a, |a| a.wrapping_sub(base)) } else { map1(a, |a| a.wrapping_add(base)) }
        }
        Op::Redux { ty, op } => [collective::redux(ty, op, context.members(Some(1)), a); LANES],
        Op::Activemask => [u64::from(context.active); LANES],
        Op::AddCarry { .. }
        | Op::SubCarry { .. }
        | Op::MadCarry { .. }
        | Op::Lop3 { combine: Some(_), .. }
        | Op::Testp { .. }
        | Op::Setp { .. }
        | Op::Unpack { .. }
        | Op::Isspacep { .. }
        | Op::Ld { .. }
        | Op::St { .. }
        | Op::Atom { .. }
        | Op::CopyAsync { .. }
        | Op::CommitGroup
        | Op::WaitGroup { .. }
        | Op::Tex { .. }
        | Op::SurfaceLoad { .. }
        | Op::SurfaceStore { .. }
        | Op::Hint
        | Op::ReleaseScratchpad
        | Op::Shfl { .. }
        | Op::Vote { .. }
        | Op::Match { .. }
        | Op::Mma { .. }
        | Op::LoadMatrix { .. }
        | Op::WarpSync
        | Op::Barrier
        | Op::BarrierArrive
        | Op::BarrierReduce { .. }
        | Op::Fence
        | Op::Bra { .. }
        | Op::Brx { .. }
        | Op::Exit
        | Op::Trap
        | Op::Print
        | Op::AssertFail => return None,
    })
}

fn select(holds: LaneMask, yes: &Lanes, no: &Lanes) -> Lanes {
    let mut out = *no;
    for (lane, out) in out.iter_mut().enumerate() {
        if holds >> lane & 1 == 1 {
            *out = yes[lane];
        }
    }
    out
}

fn pack(context: &Context<'_>, ty: Type) -> Lanes {
    let count = usize::from(context.operands.source_count);
    let width = ty.bits() / count as u32;
    let mut out = [0; LANES];
    for part in 0..count {
        let shift = width * part as u32;
        out = map2(&out, context.source(part), |out, part| out | (part & mask(width)) << shift);
    }
    out
}

/// What `set` gives where a comparison holds.
fn truth(to: Type) -> u64 {
    if to.kind() == TypeKind::Float {
        softfloat::from_integer(softfloat::format_of(to), Rounding::Nearest, 1)
    } else {
        mask(to.bits())
    }
}

/// A comparison, possibly combined with the predicate that is source 2.
#[derive(Clone, Copy)]
struct Comparison {
    /// Of one value: not packed.
    ty: Type,
    compare: Compare,
    combine: Option<Combine>,
    ftz: bool,
}

impl Comparison {
    /// The lanes in which it holds, or, with `negate`, those in which the negated comparison does.
    fn holds(self, context: &Context<'_>, a: &Lanes, b: &Lanes, negate: bool) -> LaneMask {
        let Comparison { ty, compare, combine, ftz } = self;
        let holds = if ty.kind() == TypeKind::Float {
            float::compare(ty, compare, ftz, a, b)
        } else if is_signed(ty) {
            let bits = ty.bits();
            let signed = |value: u64| integer::signed(value, bits);
            compare_with(compare, |lane| signed(a[lane]).cmp(&signed(b[lane])))
        } else {
            compare_with(compare, |lane| a[lane].cmp(&b[lane]))
        };
        let holds = if negate { !holds } else { holds };
        combine.map_or(holds, |combine| combined(combine, holds, context.predicate(2)))
    }
}

fn combined(combine: Combine, holds: LaneMask, with: LaneMask) -> LaneMask {
    match combine {
        Combine::And => holds & with,
        Combine::Or => holds | with,
        Combine::Xor => holds ^ with,
    }
}

#[inline(always)]
fn compare_with(compare: Compare, order: impl Fn(usize) -> std::cmp::Ordering) -> LaneMask {
    match compare {
        Compare::Eq | Compare::Equ => float::lanes_where(|lane| order(lane).is_eq()),
        Compare::Ne | Compare::Neu => float::lanes_where(|lane| order(lane).is_ne()),
        Compare::Lt | Compare::Ltu => float::lanes_where(|lane| order(lane).is_lt()),
        Compare::Le | Compare::Leu => float::lanes_where(|lane| order(lane).is_le()),
        Compare::Gt | Compare::Gtu => float::lanes_where(|lane| order(lane).is_gt()),
        Compare::Ge | Compare::Geu => float::lanes_where(|lane| order(lane).is_ge()),
        Compare::Num => LaneMask::MAX,
        Compare::Nan => 0,
    }
}

/// Instructions with predicate or several results.
fn other(context: &mut Context<'_>, op: &Op) {
    match *op {
        Op::AddCarry { ty, carry_in, carry_out: _ } => {
            let carry = context.carry(carry_in, 2);
            let (values, carries) = integer::add_carry(ty, context.source(0), context.source(1), carry);
            with_carry(context, &values, carries);
        }
        Op::SubCarry { ty, carry_in, carry_out: _ } => {
            let borrow = context.carry(carry_in, 2);
            let (values, borrows) = integer::sub_carry(ty, context.source(0), context.source(1), borrow);
            with_carry(context, &values, borrows);
        }
        Op::MadCarry { ty, product, carry_in, carry_out: _ } => {
            let carry = context.carry(carry_in, 3);
            let products = integer::mul(ty, product, context.source(0), context.source(1));
            let (values, carries) = integer::add_carry(ty, &products, context.source(2), carry);
            with_carry(context, &values, carries);
        }
        Op::Lop3 { table, combine: Some(combine) } => {
            let values = integer::lop3(table, context.source(0), context.source(1), context.source(2));
            let is_set = float::lanes_where(|lane| values[lane] != 0);
            let holds = combined(combine, is_set, context.predicate(3));
            context.set(0, &values);
            context.set_predicate(1, holds);
        }
        Op::Testp { ty, class } => {
            let holds = float::testp(ty, class, context.source(0));
            context.set_predicate(0, holds);
        }
        Op::Setp { ty, compare, combine, ftz } => {
            let (a, b) = (context.source(0), context.source(1));
            let test = Comparison { ty: ty.element().unwrap_or(ty), compare, combine, ftz };
            let (first, second) = match ty.element() {
                None => (test.holds(context, a, b, false), test.holds(context, a, b, true)),
                Some(_) => (
                    test.holds(context, &packed::lower(a), &packed::lower(b), false),
                    test.holds(context, &packed::upper(a), &packed::upper(b), false),
                ),
            };
            context.set_predicate(0, first);
            context.set_predicate(1, second);
        }
        Op::Mov { .. } => context.set_predicate(0, context.predicate(0)),
        Op::Not { .. } => context.set_predicate(0, !context.predicate(0)),
        Op::And { .. } => context.set_predicate(0, context.predicate(0) & context.predicate(1)),
        Op::Or { .. } => context.set_predicate(0, context.predicate(0) | context.predicate(1)),
        Op::Xor { .. } => context.set_predicate(0, context.predicate(0) ^ context.predicate(1)),
        Op::Unpack { ty } => {
            let count = usize::from(context.operands.result_count);
            let width = ty.bits() / count as u32;
            let whole = *context.source(0);
            for part in 0..count {
                let shift = width * part as u32;
                context.set(part, &map1(&whole, |whole| whole >> shift & mask(width)));
            }
        }
        Op::Isspacep { space } => {
            let a = context.source(0);
            let holds = float::lanes_where(|lane| resolve_generic(a[lane]).0 == space);
            context.set_predicate(0, holds);
        }
        Op::Shfl { mode, .. } => {
            let (a, b, c) = (context.source(0), context.source(1), context.source(2));
            let (values, valid) = collective::shuffle(mode, context.active, a, b, c);
            context.set(0, &values);
            context.set_predicate(1, valid);
        }
        Op::Vote { mode, sync } => {
            let members = context.members(sync.then_some(1));
            let result = collective::vote(mode, members, context.predicate(0));
            if mode == Vote::Ballot {
                context.set_uniform(0, u64::from(result));
            } else {
                context.set_predicate(0, result);
            }
        }
        Op::Match { all, .. } => {
            let members = context.members(Some(1));
            if all {
                let agreed = collective::match_all(members, context.source(0));
                context.set_uniform(0, u64::from(agreed));
                context.set_predicate(1, if agreed == 0 { 0 } else { LaneMask::MAX });
            } else {
                let values = collective::match_any(members, context.source(0));
                context.set(0, &values);
            }
        }
        // `value` names every operation; what is left writes no register.
        _ => {}
    }
}

fn with_carry(context: &mut Context<'_>, values: &Lanes, carries: LaneMask) {
    context.set(0, values);
    context.set_predicate(1, carries);
}

/// The state space and address of a lane's access, for the space that the instruction names.
pub(super) fn accessed_space(op: &Op) -> Option<Space> {
    match *op {
        Op::Ld { space, .. } | Op::St { space, .. } | Op::Atom { space, .. } => Some(space),
        Op::Tex { .. } | Op::SurfaceLoad { .. } | Op::SurfaceStore { .. } | Op::CopyAsync { .. } => {
            Some(Space::Global)
        }
        Op::LoadMatrix { space, .. } => Some(space),
        _ => None,
    }
}

//! Integer and bit instructions, lane by lane.
//!
//! Values are zero-extended; every function masks its result to the width.
//!
//! Source: PTX ISA, §9.7.1 (integer; the pseudocode of `szext`, `bmsk`, `fns` there), §9.7.2 (extended precision), §9.7.8 (logic and shift).

use super::registers::Lanes;
use crate::program::LANES;
use crate::ptx::ir::{AtomicOp, Direction, Excess, Permute, Product, Type, TypeKind};

/// Applies a function to every lane.
#[inline(always)]
pub(super) fn map1(a: &Lanes, f: impl Fn(u64) -> u64) -> Lanes {
    let mut out = [0; LANES];
    for (out, &a) in out.iter_mut().zip(a) {
        *out = f(a);
    }
    out
}

/// Applies a function to every lane.
#[inline(always)]
pub(super) fn map2(a: &Lanes, b: &Lanes, f: impl Fn(u64, u64) -> u64) -> Lanes {
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(a[lane], b[lane]);
    }
    out
}

/// Applies a function to every lane.
#[inline(always)]
pub(super) fn map3(a: &Lanes, b: &Lanes, c: &Lanes, f: impl Fn(u64, u64, u64) -> u64) -> Lanes {
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(a[lane], b[lane], c[lane]);
    }
    out
}

/// All ones in the width of a type.
#[inline(always)]
pub(super) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Sign extension from a width.
#[inline(always)]
pub(super) fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

pub(super) fn is_signed(ty: Type) -> bool {
    ty.kind() == TypeKind::Signed
}

/// Clamps to the range of an integer type.
pub(super) fn clamp(value: i128, ty: Type) -> u64 {
    let bits = ty.bits();
    let (low, high) = if is_signed(ty) {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    } else {
        (0, (1_i128 << bits) - 1)
    };
    value.clamp(low, high) as u64 & mask(bits)
}

/// A value as a number.
#[inline(always)]
pub(super) fn number(value: u64, ty: Type) -> i128 {
    if is_signed(ty) { i128::from(signed(value, ty.bits())) } else { i128::from(value & mask(ty.bits())) }
}

pub(super) fn add(ty: Type, saturate: bool, a: &Lanes, b: &Lanes) -> Lanes {
    if saturate {
        return map2(a, b, |a, b| clamp(number(a, ty) + number(b, ty), ty));
    }
    let mask = mask(ty.bits());
    map2(a, b, |a, b| a.wrapping_add(b) & mask)
}

pub(super) fn sub(ty: Type, saturate: bool, a: &Lanes, b: &Lanes) -> Lanes {
    if saturate {
        return map2(a, b, |a, b| clamp(number(a, ty) - number(b, ty), ty));
    }
    let mask = mask(ty.bits());
    map2(a, b, |a, b| a.wrapping_sub(b) & mask)
}

pub(super) fn mul(ty: Type, product: Product, a: &Lanes, b: &Lanes) -> Lanes {
    let bits = ty.bits();
    let mask = mask(bits);
    match product {
        Product::Low => map2(a, b, |a, b| a.wrapping_mul(b) & mask),
        Product::High => map2(a, b, |a, b| high(ty, a, b)),
        Product::Wide if is_signed(ty) => {
            let wide = self::mask(bits * 2);
            map2(a, b, |a, b| signed(a, bits).wrapping_mul(signed(b, bits)) as u64 & wide)
        }
        Product::Wide => map2(a, b, |a, b| a.wrapping_mul(b)),
    }
}

/// The high half of a product.
#[inline(always)]
fn high(ty: Type, a: u64, b: u64) -> u64 {
    let bits = ty.bits();
    if bits < 64 {
        let product = if is_signed(ty) {
            (signed(a, bits).wrapping_mul(signed(b, bits)) >> bits) as u64
        } else {
            a.wrapping_mul(b) >> bits
        };
        return product & mask(bits);
    }
    if is_signed(ty) {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    } else {
        ((u128::from(a) * u128::from(b)) >> 64) as u64
    }
}

pub(super) fn mad(ty: Type, product: Product, saturate: bool, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let result = if product == Product::Wide { mask(ty.bits() * 2) } else { mask(ty.bits()) };
    let products = mul(ty, product, a, b);
    if saturate {
        return map2(&products, c, |p, c| clamp(number(p, ty) + number(c, ty), ty));
    }
    map2(&products, c, |p, c| p.wrapping_add(c) & result)
}

/// Low or high 32 bits of the 48-bit product of the low 24 bits.
pub(super) fn mul24(ty: Type, high: bool, a: &Lanes, b: &Lanes) -> Lanes {
    let shift = if high { 16 } else { 0 };
    if is_signed(ty) {
        map2(a, b, |a, b| ((signed(a, 24) * signed(b, 24)) >> shift) as u64 & mask(32))
    } else {
        map2(a, b, |a, b| ((a & mask(24)) * (b & mask(24))) >> shift & mask(32))
    }
}

/// `a + b + carry` and the carry out, in lanes.
pub(super) fn add_carry(ty: Type, a: &Lanes, b: &Lanes, carry: u32) -> (Lanes, u32) {
    let mut out = [0; LANES];
    let mut carries = 0;
    for lane in 0..LANES {
        let sum = u128::from(a[lane]) + u128::from(b[lane]) + u128::from(carry >> lane & 1);
        out[lane] = sum as u64 & mask(ty.bits());
        carries |= ((sum >> ty.bits()) as u32 & 1) << lane;
    }
    (out, carries)
}

/// `a - b - borrow` and the borrow out, in lanes.
pub(super) fn sub_carry(ty: Type, a: &Lanes, b: &Lanes, borrow: u32) -> (Lanes, u32) {
    let mut out = [0; LANES];
    let mut borrows = 0;
    for lane in 0..LANES {
        let difference = i128::from(a[lane]) - i128::from(b[lane]) - i128::from(borrow >> lane & 1);
        out[lane] = difference as u64 & mask(ty.bits());
        borrows |= u32::from(difference < 0) << lane;
    }
    (out, borrows)
}

pub(super) fn sad(ty: Type, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let mask = mask(ty.bits());
    map3(a, b, c, |a, b, c| {
        let distance = (number(a, ty) - number(b, ty)).unsigned_abs() as u64;
        c.wrapping_add(distance) & mask
    })
}

/// Division; by zero all ones.
pub(super) fn div(ty: Type, a: &Lanes, b: &Lanes) -> Lanes {
    let bits = ty.bits();
    if is_signed(ty) {
        return map2(a, b, |a, b| match signed(b, bits) {
            0 => mask(bits),
            b => signed(a, bits).wrapping_div(b) as u64 & mask(bits),
        });
    }
    map2(a, b, |a, b| a.checked_div(b).unwrap_or(mask(bits)))
}

/// Remainder with the sign of the dividend; by zero the dividend.
pub(super) fn rem(ty: Type, a: &Lanes, b: &Lanes) -> Lanes {
    let bits = ty.bits();
    if is_signed(ty) {
        return map2(a, b, |a, b| match signed(b, bits) {
            0 => a,
            b => signed(a, bits).wrapping_rem(b) as u64 & mask(bits),
        });
    }
    map2(a, b, |a, b| a.checked_rem(b).unwrap_or(a))
}

pub(super) fn abs(ty: Type, a: &Lanes) -> Lanes {
    let bits = ty.bits();
    map1(a, |a| signed(a, bits).unsigned_abs() & mask(bits))
}

pub(super) fn neg(ty: Type, a: &Lanes) -> Lanes {
    let mask = mask(ty.bits());
    map1(a, |a| a.wrapping_neg() & mask)
}

/// The smaller (`least`) or larger of two, with `relu` 0 if that is negative.
pub(super) fn extreme(ty: Type, least: bool, relu: bool, a: &Lanes, b: &Lanes) -> Lanes {
    let chosen = smaller_or_larger(ty, least, a, b);
    if relu { map1(&chosen, |value| if signed(value, ty.bits()) < 0 { 0 } else { value }) } else { chosen }
}

fn smaller_or_larger(ty: Type, least: bool, a: &Lanes, b: &Lanes) -> Lanes {
    if is_signed(ty) {
        let bits = ty.bits();
        map2(a, b, |a, b| if (signed(a, bits) < signed(b, bits)) == least { a } else { b })
    } else {
        map2(a, b, |a, b| if (a < b) == least { a } else { b })
    }
}

/// Position of the highest bit that differs from the sign, or its distance from the top.
pub(super) fn bfind(ty: Type, shift_amount: bool, a: &Lanes) -> Lanes {
    let bits = ty.bits();
    map1(a, |a| {
        let a = if is_signed(ty) && signed(a, bits) < 0 { !a & mask(bits) } else { a };
        match (a.checked_ilog2(), shift_amount) {
            (None, _) => mask(32),
            (Some(top), false) => u64::from(top),
            (Some(top), true) => u64::from(bits - 1 - top),
        }
    })
}

pub(super) fn bfe(ty: Type, a: &Lanes, position: &Lanes, length: &Lanes) -> Lanes {
    let bits = ty.bits();
    map3(a, position, length, |a, position, length| {
        let (position, length) = (position & 0xff, length & 0xff);
        if length == 0 {
            return 0;
        }
        let end = (position + length - 1).min(u64::from(bits) - 1);
        let sign = is_signed(ty) && a >> end & 1 == 1;
        let wide = i128::from(a) | if sign { -1 << bits } else { 0 };
        let field = (wide >> position.min(127)) as u64;
        let kept = if length >= 64 { u64::MAX } else { mask(length as u32) };
        // Above the field's end the sign is replicated.
        (if sign { field & kept | !kept } else { field & kept }) & mask(bits)
    })
}

pub(super) fn bfi(ty: Type, field: &Lanes, into: &Lanes, position: &Lanes, length: &Lanes) -> Lanes {
    let bits = ty.bits();
    let mut out = [0; LANES];
    for lane in 0..LANES {
        let (position, length) = (position[lane] & 0xff, length[lane] & 0xff);
        out[lane] = into[lane];
        if length > 0 && position < u64::from(bits) {
            let ones = if length >= 64 { u64::MAX } else { mask(length as u32) };
            let place = ones << position & mask(bits);
            out[lane] = into[lane] & !place | field[lane] << position & place;
        }
    }
    out
}

/// The low bits of a value, so many as `width` says, extended to 32 bits.
pub(super) fn szext(ty: Type, excess: Excess, a: &Lanes, width: &Lanes) -> Lanes {
    map2(a, width, |a, width| {
        let bits = match excess {
            Excess::Clamp => (width & mask(32)).min(32) as u32,
            Excess::Wrap => (width & 31) as u32,
        };
        match bits {
            0 => 0,
            bits if is_signed(ty) => signed(a, bits) as u64 & mask(32),
            bits => a & mask(bits),
        }
    })
}

/// So many ones as `width` says, from bit `position` on.
pub(super) fn bmsk(excess: Excess, position: &Lanes, width: &Lanes) -> Lanes {
    map2(position, width, |position, width| {
        let (position, width) = match excess {
            Excess::Clamp => (position.min(32), width.min(32)),
            Excess::Wrap => (position & 31, width & 31),
        };
        ((1_u64 << width) - 1) << position & mask(32)
    })
}

/// Position of the n-th one from a bit on, upwards or downwards.
pub(super) fn fns(a: &Lanes, base: &Lanes, offset: &Lanes) -> Lanes {
    map3(a, base, offset, |a, base, offset| {
        let (base, offset) = (base & mask(32), signed(offset, 32));
        let is_one = |position: &u64| a >> position & 1 == 1;
        let nth = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX).saturating_sub(1);
        let found = match offset.signum() {
            1 => (base.min(32)..32).filter(is_one).nth(nth),
            // A base beyond the top is undefined; nothing is found there.
            _ if base > 31 => None,
            0 => Some(base).filter(is_one),
            _negative => (0..=base).rev().filter(is_one).nth(nth),
        };
        found.unwrap_or(mask(32))
    })
}

pub(super) fn prmt(mode: Permute, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    map3(a, b, c, |a, b, c| {
        let bytes = (a & mask(32)) | b << 32;
        let selector = |byte: u64| -> u64 {
            let n = c & 3;
            match mode {
                Permute::Generic => c >> (4 * byte) & 15,
                Permute::F4e => n + byte,
                Permute::B4e => n.wrapping_sub(byte) & 7,
                Permute::Rc8 => n,
                Permute::Ecl => byte.max(n),
                Permute::Ecr => byte.min(n),
                Permute::Rc16 => (n & 1) * 2 + (byte & 1),
            }
        };
        (0..4).fold(0, |out, byte| {
            let selector = selector(byte);
            let chosen = bytes >> (8 * (selector & 7)) & 0xff;
            let replicated = if chosen & 0x80 == 0 { 0 } else { 0xff };
            out | (if selector & 8 == 0 { chosen } else { replicated }) << (8 * byte)
        })
    })
}

pub(super) fn dp4a(a_signed: bool, b_signed: bool, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let byte = |value: u64, at: u32, is_signed: bool| -> i64 {
        let byte = value >> (8 * at) & 0xff;
        if is_signed { signed(byte, 8) } else { byte as i64 }
    };
    map3(a, b, c, |a, b, c| {
        let dot: i64 = (0..4).map(|at| byte(a, at, a_signed) * byte(b, at, b_signed)).sum();
        c.wrapping_add(dot as u64) & mask(32)
    })
}

pub(super) fn dp2a((a_signed, b_signed, high): (bool, bool, bool), a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let part = |value: u64, bits: u32, at: u32, is_signed: bool| -> i64 {
        let part = value >> (bits * at) & mask(bits);
        if is_signed { signed(part, bits) } else { part as i64 }
    };
    let first = if high { 2 } else { 0 };
    map3(a, b, c, |a, b, c| {
        let dot: i64 = (0..2).map(|at| part(a, 16, at, a_signed) * part(b, 8, first + at, b_signed)).sum();
        c.wrapping_add(dot as u64) & mask(32)
    })
}

pub(super) fn lop3(table: u8, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    map3(a, b, c, |a, b, c| {
        (0..8).filter(|row| table >> row & 1 == 1).fold(0, |out, row| {
            let pick = |value: u64, bit: u32| if row >> bit & 1 == 1 { value } else { !value };
            out | pick(a, 2) & pick(b, 1) & pick(c, 0)
        }) & mask(32)
    })
}

pub(super) fn shl(ty: Type, a: &Lanes, by: &Lanes) -> Lanes {
    let bits = u64::from(ty.bits());
    let mask = mask(ty.bits());
    map2(a, by, |a, by| if by >= bits { 0 } else { a << by & mask })
}

pub(super) fn shr(ty: Type, a: &Lanes, by: &Lanes) -> Lanes {
    let bits = ty.bits();
    if is_signed(ty) {
        return map2(a, by, |a, by| (signed(a, bits) >> by.min(u64::from(bits) - 1)) as u64 & mask(bits));
    }
    map2(a, by, |a, by| if by >= u64::from(bits) { 0 } else { a >> by })
}

pub(super) fn shf(direction: Direction, wrap: bool, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    map3(a, b, c, |a, b, c| {
        let by = if wrap { c & 31 } else { c.min(32) };
        let both = b << 32 | a;
        match direction {
            Direction::Left => (u128::from(both) << by >> 32) as u64 & mask(32),
            Direction::Right => both >> by & mask(32),
        }
    })
}

/// The new value of an atomic on integers or bits. `b` is the second operand of `cas`.
pub(super) fn atomic(op: AtomicOp, ty: Type, old: u64, a: u64, b: u64) -> u64 {
    let bits = mask(ty.bits());
    match op {
        AtomicOp::Add => old.wrapping_add(a) & bits,
        AtomicOp::Min => {
            if number(a, ty) < number(old, ty) {
                a
            } else {
                old
            }
        }
        AtomicOp::Max => {
            if number(a, ty) > number(old, ty) {
                a
            } else {
                old
            }
        }
        AtomicOp::Inc => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Dec => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
        AtomicOp::And => old & a,
        AtomicOp::Or => old | a,
        AtomicOp::Xor => old ^ a,
        AtomicOp::Exch => a,
        AtomicOp::Cas => {
            if old == a {
                b
            } else {
                old
            }
        }
    }
}

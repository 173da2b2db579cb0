//! Each family of instructions against the same computation in Rust.

use proptest::prelude::*;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::exec::{BlockExecution, Configuration, ExecOptions, Execution, Loaded, Memory};
use warpfile_kernels::ptx::parse;

/// Runs a body in 32 lanes. A lane's inputs are in %a, %b, %c (64 bits), %a32 … (their low halves), %fa, %fb,
/// %fc (as `f32`), %da … (as `f64`); the body leaves its result in %out, %out32, %fout, %dout or %pout, of
/// which the one named is returned, zero-extended.
pub(crate) fn lanes(body: &str, result: &str, inputs: &[[u64; 3]]) -> Vec<u64> {
    let store = match result {
        "out" => "st.global.u64 [%at], %out;",
        "out32" => "cvt.u64.u32 %out, %out32; st.global.u64 [%at], %out;",
        "fout" => "mov.b32 %out32, %fout; cvt.u64.u32 %out, %out32; st.global.u64 [%at], %out;",
        "dout" => "st.global.f64 [%at], %dout;",
        "pout" => "selp.u64 %out, 1, 0, %pout; st.global.u64 [%at], %out;",
        other => panic!("no result {other}"),
    };
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 buffer)\n{{\n\
         .reg .b64 %a, %b, %c, %at, %out, %t; .reg .b32 %a32, %b32, %c32, %out32, %lane, %t32;\n\
         .reg .f32 %fa, %fb, %fc, %fout; .reg .f64 %da, %db, %dc, %dout; .reg .pred %pout, %p, %q; .reg .b16 %h, %g;\n\
         ld.param.u64 %at, [buffer]; mov.u32 %lane, %laneid; mul.wide.u32 %t, %lane, 24; add.u64 %at, %at, %t;\n\
         ld.global.u64 %a, [%at]; ld.global.u64 %b, [%at+8]; ld.global.u64 %c, [%at+16];\n\
         cvt.u32.u64 %a32, %a; cvt.u32.u64 %b32, %b; cvt.u32.u64 %c32, %c;\n\
         mov.b32 %fa, %a32; mov.b32 %fb, %b32; mov.b32 %fc, %c32;\n\
         mov.b64 %da, %a; mov.b64 %db, %b; mov.b64 %dc, %c;\n{body}\n{store}\nret;\n}}\n"
    );
    let module = parse("semantics.ptx", &text).unwrap();
    let compiled = compile(&module, "k", &CompileOptions::default()).unwrap();
    let mut memory = Memory::new();
    let buffer = memory.allocate("buffer", 24 * 32).unwrap();
    let flat: Vec<u64> = inputs.iter().flatten().copied().collect();
    memory.write(buffer, &flat).unwrap();
    let loaded = Loaded::new(&module, &mut memory).unwrap();
    let configuration = Configuration {
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
        parameters: memory.address(buffer).to_le_bytes().to_vec(),
        options: ExecOptions { max_warp_instructions: 100_000, ..ExecOptions::default() },
    };
    let execution =
        Execution::new(&module.kernels[0], &compiled.reconvergence, &loaded, configuration).unwrap();
    BlockExecution::new(&execution, 0).run(&mut memory, &mut ()).unwrap();
    memory.read::<u64>(buffer).chunks(3).take(inputs.len()).map(|lane| lane[0]).collect()
}

/// The result for one set of inputs, in all lanes.
pub(crate) fn one(body: &str, result: &str, inputs: [u64; 3]) -> u64 {
    lanes(body, result, &[inputs; 32])[0]
}

/// 32 sets of inputs with many edge values.
fn inputs() -> impl Strategy<Value = Vec<[u64; 3]>> {
    let edge = prop::sample::select(vec![
        0_u64,
        1,
        2,
        31,
        32,
        33,
        63,
        64,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0x7fc0_0001,
        0x0000_0001_8000_0000,
        u64::MAX,
        1 << 63,
        u64::MAX >> 1,
    ]);
    let value = prop_oneof![any::<u64>(), edge, 0_u64..100];
    prop::collection::vec([value.clone(), value.clone(), value], 32)
}

/// A body, the register it leaves its result in, and the same in Rust.
type Case = (&'static str, &'static str, fn(u64, u64, u64) -> u64);

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn bits(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { u64::from(value.to_bits()) }
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn wide(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
}

fn low(value: u64) -> u64 {
    value & 0xffff_ffff
}

/// Each 16-bit half of two values by itself.
fn halves(a: u64, b: u64, of: impl Fn(u16, u16) -> u16) -> u64 {
    u64::from(of(a as u16, b as u16)) | u64::from(of((a >> 16) as u16, (b >> 16) as u16)) << 16
}

fn szext(a: u32, b: u32, signed: bool, clamp: bool) -> u64 {
    let b1 = b & 0x1f;
    let too_large = b >= 32 && clamp;
    let mask = if too_large { 0 } else { u32::MAX << b1 };
    let sign_position = b1.wrapping_sub(1) & 0x1f;
    let sign_bit = b1 != 0 && !too_large && signed && a >> sign_position & 1 == 1;
    u64::from(a & !mask | if sign_bit { mask } else { 0 })
}

fn bmsk(a: u32, b: u32, clamp: bool) -> u64 {
    let (a1, b1) = (a & 0x1f, b & 0x1f);
    let mut mask0 = u32::MAX << a1;
    let sum = a1 + b1;
    let mut mask1 = u32::MAX.checked_shl(sum).unwrap_or(0);
    if clamp && a >= 32 {
        mask0 = 0;
    }
    if sum >= 32 || clamp && (a >= 32 || b >= 32) {
        mask1 = 0;
    }
    u64::from(mask0 & !mask1)
}

fn fns(mask: u32, base: i32, offset: i32) -> u64 {
    if offset == 0 {
        return if mask >> base & 1 == 1 { base as u64 } else { 0xffff_ffff };
    }
    let mut position = base;
    let mut count = offset.unsigned_abs() - 1;
    while (0..32).contains(&position) {
        if mask >> position & 1 == 1 {
            if count == 0 {
                return position as u64;
            }
            count -= 1;
        }
        position += offset.signum();
    }
    0xffff_ffff
}

const CASES: &[Case] = &[
    ("add.u32 %out32, %a32, %b32;", "out32", |a, b, _| u64::from((a as u32).wrapping_add(b as u32))),
    ("sub.s64 %out, %a, %b;", "out", |a, b, _| a.wrapping_sub(b)),
    ("add.sat.s32 %out32, %a32, %b32;", "out32", |a, b, _| low((a as i32).saturating_add(b as i32) as u64)),
    ("sub.sat.s32 %out32, %a32, %b32;", "out32", |a, b, _| low((a as i32).saturating_sub(b as i32) as u64)),
    ("mul.lo.s32 %out32, %a32, %b32;", "out32", |a, b, _| u64::from((a as u32).wrapping_mul(b as u32))),
    ("mul.hi.s32 %out32, %a32, %b32;", "out32", |a, b, _| {
        low(((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64)
    }),
    ("mul.hi.u32 %out32, %a32, %b32;", "out32", |a, b, _| (low(a) * low(b)) >> 32),
    ("mul.hi.s64 %out, %a, %b;", "out", |a, b, _| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    }),
    ("mul.wide.s32 %out, %a32, %b32;", "out", |a, b, _| (i64::from(a as i32) * i64::from(b as i32)) as u64),
    ("mul.wide.u32 %out, %a32, %b32;", "out", |a, b, _| low(a) * low(b)),
    ("mad.lo.s32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| low(a.wrapping_mul(b).wrapping_add(c))),
    ("mad.wide.s32 %out, %a32, %b32, %c;", "out", |a, b, c| {
        (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
    }),
    ("mul24.lo.s32 %out32, %a32, %b32;", "out32", |a, b, _| {
        low((i64::from((a as i32) << 8 >> 8) * i64::from((b as i32) << 8 >> 8)) as u64)
    }),
    ("mul24.hi.u32 %out32, %a32, %b32;", "out32", |a, b, _| low(((a & 0xff_ffff) * (b & 0xff_ffff)) >> 16)),
    ("sad.s32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| {
        u64::from((c as u32).wrapping_add((a as i32).abs_diff(b as i32)))
    }),
    ("div.s32 %out32, %a32, %b32;", "out32", |a, b, _| match b as i32 {
        0 => 0xffff_ffff,
        b => low((a as i32).wrapping_div(b) as u64),
    }),
    ("div.u64 %out, %a, %b;", "out", |a, b, _| a.checked_div(b).unwrap_or(u64::MAX)),
    ("rem.s32 %out32, %a32, %b32;", "out32", |a, b, _| match b as i32 {
        0 => low(a),
        b => low((a as i32).wrapping_rem(b) as u64),
    }),
    ("rem.u32 %out32, %a32, %b32;", "out32", |a, b, _| low(a).checked_rem(low(b)).unwrap_or(low(a))),
    ("abs.s32 %out32, %a32;", "out32", |a, _, _| u64::from((a as i32).unsigned_abs())),
    ("neg.s64 %out, %a;", "out", |a, _, _| a.wrapping_neg()),
    ("min.s32 %out32, %a32, %b32;", "out32", |a, b, _| low((a as i32).min(b as i32) as u64)),
    ("max.u64 %out, %a, %b;", "out", |a, b, _| a.max(b)),
    ("add.cc.u32 %t32, %a32, %b32; addc.u32 %out32, %c32, 0;", "out32", |a, b, c| {
        low(low(c) + (((low(a) + low(b)) >> 32) % 2))
    }),
    ("sub.cc.u32 %t32, %a32, %b32; subc.u32 %out32, %c32, 0;", "out32", |a, b, c| {
        u64::from((c as u32).wrapping_sub(u32::from(low(a) < low(b))))
    }),
    ("mad.lo.cc.u32 %t32, %a32, %b32, %c32; madc.hi.u32 %out32, %a32, %b32, 0;", "out32", |a, b, c| {
        low((low(a) * low(b) + low(c)) >> 32)
    }),
    ("popc.b64 %out32, %a;", "out32", |a, _, _| u64::from(a.count_ones())),
    ("clz.b32 %out32, %a32;", "out32", |a, _, _| u64::from((a as u32).leading_zeros())),
    ("brev.b32 %out32, %a32;", "out32", |a, _, _| u64::from((a as u32).reverse_bits())),
    ("bfind.s32 %out32, %a32;", "out32", |a, _, _| {
        let a = a as i32;
        low(31_u64.wrapping_sub(u64::from((if a < 0 { !a } else { a }).leading_zeros())))
    }),
    ("bfe.u32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| {
        (0..32)
            .filter(|&i| i < (c & 255) && i + (b & 255) < 32)
            .map(|i| (a >> (i + (b & 255)) & 1) << i)
            .sum()
    }),
    ("bfe.s64 %out, %a, %b32, %c32;", "out", |a, b, c| {
        let (position, length) = (b & 255, c & 255);
        let sign = if length == 0 { 0 } else { a >> (position + length - 1).min(63) & 1 };
        let bit = |i| if i < length && i + position < 64 { a >> (i + position) & 1 } else { sign };
        (0..64).fold(0, |field, i| field | bit(i) << i)
    }),
    ("bfi.b32 %out32, %a32, %b32, %c32, 9;", "out32", |a, b, c| {
        let position = c & 255;
        (0..32).fold(0, |out, i| {
            let inside = i >= position && i < position + 9;
            out | (if inside { a >> (i - position) } else { b >> i } & 1) << i
        })
    }),
    ("prmt.b32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| {
        let bytes = low(a) | b << 32;
        (0..4).fold(0, |out, i| {
            let selector = c >> (4 * i) & 15;
            let byte = bytes >> (8 * (selector & 7)) & 255;
            out | (if selector < 8 { byte } else { (byte >> 7) * 255 }) << (8 * i)
        })
    }),
    ("lop3.b32 %out32, %a32, %b32, %c32, 0xca;", "out32", |a, b, c| low(a & b | !a & c)),
    ("shl.b32 %out32, %a32, %b32;", "out32", |a, b, _| low(low(a).checked_shl(b as u32).unwrap_or(0))),
    ("shr.s32 %out32, %a32, %b32;", "out32", |a, b, _| low(((a as i32) >> (b as u32).min(31)) as u64)),
    ("shr.u64 %out, %a, %b32;", "out", |a, b, _| a.checked_shr(b as u32).unwrap_or(0)),
    ("shf.l.wrap.b32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| {
        low(((b << 32 | low(a)) as u128 >> (32 - (c & 31))) as u64)
    }),
    ("shf.r.clamp.b32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| {
        low((b << 32 | low(a)) >> low(c).min(32))
    }),
    ("cnot.b32 %out32, %a32;", "out32", |a, _, _| u64::from(low(a) == 0)),
    ("setp.lt.s32 %pout, %a32, %b32;", "pout", |a, b, _| u64::from((a as i32) < b as i32)),
    ("setp.hi.u32 %pout, %a32, %b32;", "pout", |a, b, _| u64::from(low(a) > low(b))),
    ("setp.ltu.f32 %pout, %fa, %fb;", "pout", |a, b, _| {
        u64::from(f(a) < f(b) || f(a).is_nan() || f(b).is_nan())
    }),
    ("setp.ne.f32 %pout, %fa, %fb;", "pout", |a, b, _| u64::from(f(a) < f(b) || f(a) > f(b))),
    ("setp.gt.s32 %p, %c32, 0; setp.eq.xor.s32 %q|%pout, %a32, %b32, %p;", "pout", |a, b, c| {
        u64::from((low(a) != low(b)) ^ (c as i32 > 0))
    }),
    ("set.ge.u32.f32 %out32, %fa, %fb;", "out32", |a, b, _| if f(a) >= f(b) { 0xffff_ffff } else { 0 }),
    ("slct.u32.s32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| low(if c as i32 >= 0 { a } else { b })),
    ("add.f32 %fout, %fa, %fb;", "fout", |a, b, _| bits(f(a) + f(b))),
    ("mul.ftz.f32 %fout, %fa, %fb;", "fout", |a, b, _| {
        let flush = |x: f32| if x.is_subnormal() { 0.0_f32.copysign(x) } else { x };
        bits(flush(flush(f(a)) * flush(f(b))))
    }),
    ("add.sat.f32 %fout, %fa, %fb;", "fout", |a, b, _| {
        let sum = f(a) + f(b);
        if sum > 0.0 { bits(sum.min(1.0)) } else { 0 }
    }),
    ("fma.rn.f32 %fout, %fa, %fb, %fc;", "fout", |a, b, c| bits(f(a).mul_add(f(b), f(c)))),
    ("fma.rn.f64 %dout, %da, %db, %dc;", "dout", |a, b, c| wide(d(a).mul_add(d(b), d(c)))),
    ("div.rn.f32 %fout, %fa, %fb;", "fout", |a, b, _| bits(f(a) / f(b))),
    ("sqrt.rn.f64 %dout, %da;", "dout", |a, _, _| wide(d(a).sqrt())),
    ("rcp.rn.f32 %fout, %fa;", "fout", |a, _, _| bits(1.0 / f(a))),
    ("min.f32 %fout, %fa, %fb;", "fout", |a, b, _| match (f(a), f(b)) {
        (x, y) if x == y => low(a).max(low(b)),
        (x, y) => bits(x.min(y)),
    }),
    ("abs.f64 %dout, %da;", "dout", |a, _, _| a & !(1 << 63)),
    ("neg.f32 %fout, %fa;", "fout", |a, _, _| low(a) ^ 1 << 31),
    ("copysign.f32 %fout, %fa, %fb;", "fout", |a, b, _| low(a) & 1 << 31 | b & 0x7fff_ffff),
    ("cvt.rzi.s32.f32 %out32, %fa;", "out32", |a, _, _| low(f(a) as i32 as u64)),
    ("cvt.rni.u64.f64 %out, %da;", "out", |a, _, _| {
        if d(a).is_nan() { 1 << 63 } else { d(a).round_ties_even() as u64 }
    }),
    ("cvt.rn.f32.u64 %fout, %a;", "fout", |a, _, _| bits(a as f32)),
    ("cvt.rn.f64.s32 %dout, %a32;", "dout", |a, _, _| wide(f64::from(a as i32))),
    ("cvt.rn.f32.f64 %fout, %da;", "fout", |a, _, _| bits(d(a) as f32)),
    ("cvt.rmi.f32.f32 %fout, %fa;", "fout", |a, _, _| bits(f(a).floor())),
    ("cvt.s64.s8 %out, %a32;", "out", |a, _, _| a as i8 as i64 as u64),
    ("cvt.sat.u8.s32 %out32, %a32;", "out32", |a, _, _| (a as i32).clamp(0, 255) as u64),
    ("mov.b64 {%t32, %out32}, %a;", "out32", |a, _, _| a >> 32),
    ("mov.b64 %out, {%b32, %a32};", "out", |a, b, _| low(b) | a << 32),
    ("sin.approx.f32 %fout, %fa;", "fout", |a, _, _| bits(f64::from(f(a)).sin() as f32)),
    ("ex2.approx.f32 %fout, %fa;", "fout", |a, _, _| bits(f64::from(f(a)).exp2() as f32)),
    ("dp4a.s32.u32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| {
        let product = |i: u32| i64::from((a >> (8 * i)) as i8) * i64::from((b >> (8 * i)) as u8);
        low((0..4).map(product).sum::<i64>().wrapping_add(c as i64) as u64)
    }),
    ("dp2a.lo.s32.u32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| {
        let product = |i: u32| i64::from((a >> (16 * i)) as i16) * i64::from((b >> (8 * i)) as u8);
        low((product(0) + product(1)).wrapping_add(c as i64) as u64)
    }),
    ("dp2a.hi.u32.s32 %out32, %a32, %b32, %c32;", "out32", |a, b, c| {
        let product = |i: u32| i64::from((a >> (16 * i)) as u16) * i64::from((b >> (16 + 8 * i)) as i8);
        low((product(0) + product(1)).wrapping_add(c as i64) as u64)
    }),
    // The pseudocode of PTX ISA, 9.7.1 (szext, bmsk, fns), as it stands.
    ("szext.clamp.s32 %out32, %a32, %b32;", "out32", |a, b, _| szext(a as u32, b as u32, true, true)),
    ("szext.wrap.s32 %out32, %a32, %b32;", "out32", |a, b, _| szext(a as u32, b as u32, true, false)),
    ("szext.clamp.u32 %out32, %a32, %b32;", "out32", |a, b, _| szext(a as u32, b as u32, false, true)),
    ("szext.wrap.u32 %out32, %a32, %b32;", "out32", |a, b, _| szext(a as u32, b as u32, false, false)),
    ("bmsk.clamp.b32 %out32, %a32, %b32;", "out32", |a, b, _| bmsk(a as u32, b as u32, true)),
    ("bmsk.wrap.b32 %out32, %a32, %b32;", "out32", |a, b, _| bmsk(a as u32, b as u32, false)),
    ("and.b32 %t32, %b32, 31; fns.b32 %out32, %a32, %t32, %c32;", "out32", |a, b, c| {
        fns(a as u32, b as i32 & 31, c as i32)
    }),
    (
        "and.b32 %t32, %b32, 31; and.b32 %c32, %c32, 7; sub.s32 %c32, %c32, 3; fns.b32 %out32, %a32, %t32, %c32;",
        "out32",
        |a, b, c| fns(a as u32, b as i32 & 31, (c as i32 & 7) - 3),
    ),
    ("add.u16x2 %out32, %a32, %b32;", "out32", |a, b, _| halves(a, b, u16::wrapping_add)),
    ("sub.s16x2 %out32, %a32, %b32;", "out32", |a, b, _| halves(a, b, u16::wrapping_sub)),
    ("add.sat.s16x2 %out32, %a32, %b32;", "out32", |a, b, _| {
        halves(a, b, |a, b| (a as i16).saturating_add(b as i16) as u16)
    }),
    ("sub.sat.u16x2 %out32, %a32, %b32;", "out32", |a, b, _| halves(a, b, u16::saturating_sub)),
    ("min.u16x2 %out32, %a32, %b32;", "out32", |a, b, _| halves(a, b, u16::min)),
    ("max.s16x2 %out32, %a32, %b32;", "out32", |a, b, _| {
        halves(a, b, |a, b| (a as i16).max(b as i16) as u16)
    }),
    ("max.relu.s16x2 %out32, %a32, %b32;", "out32", |a, b, _| {
        halves(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16)
    }),
    ("min.relu.s32 %out32, %a32, %b32;", "out32", |a, b, _| (a as i32).min(b as i32).max(0) as u64),
    ("add.u16x2 %out32, %a32, 0xffff0001;", "out32", |a, _, _| halves(a, 0xffff_0001, u16::wrapping_add)),
    ("mov.b32 %t32, 0xffff; add.u16x2 %out32, %t32, 1;", "out32", |_, _, _| 0),
    ("setp.gt.s32 %p, %c32, 0; lop3.or.b32 %t32|%pout, %a32, %b32, %c32, 0x80, %p;", "pout", |a, b, c| {
        u64::from(low(a & b & c) != 0 || c as i32 > 0)
    }),
    (
        "setp.gt.s32 %p, %c32, 0; lop3.and.b32 %out32|%q, %a32, %b32, %c32, 0x96, !%p; @!%q not.b32 %out32, %out32;",
        "out32",
        |a, b, c| {
            let parity = low(a ^ b ^ c);
            low(if parity != 0 && c as i32 <= 0 { parity } else { !parity })
        },
    ),
    ("testp.subnormal.f32 %pout, %fa;", "pout", |a, _, _| u64::from(f(a).is_subnormal())),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn instructions_compute_what_rust_computes(inputs in inputs()) {
        for (body, result, expected) in CASES {
            for (found, &[a, b, c]) in lanes(body, result, &inputs).into_iter().zip(&inputs) {
                let expected = expected(a, b, c);
                prop_assert_eq!(found, expected, "{} of {:x} {:x} {:x}: {:x} {:x}", body, a, b, c, found, expected);
            }
        }
    }
}

#[test]
fn directed_rounding_moves_one_third_both_ways() {
    let [one_, three] = [1.0_f32, 3.0].map(|value| u64::from(value.to_bits()));
    let rounded = |rounding: &str| {
        f32::from_bits(one(&format!("div.{rounding}.f32 %fout, %fa, %fb;"), "fout", [one_, three, 0]) as u32)
    };
    assert!(rounded("rp") > rounded("rm"));
    assert_eq!(rounded("rz"), rounded("rm"));
    assert_eq!(rounded("rn"), 1.0 / 3.0);
}

#[test]
fn half_precision_adds_and_rounds() {
    let body = "cvt.rn.f16.f32 %h, %fa; cvt.rn.f16.f32 %g, %fb; add.f16 %h, %h, %g; cvt.f32.f16 %fout, %h;";
    let [a, b] = [2048.0_f32, 1.5].map(|value| u64::from(value.to_bits()));
    assert_eq!(f32::from_bits(one(body, "fout", [a, b, 0]) as u32), 2050.0);
}

#[test]
fn lanes_exchange_values() {
    let values: Vec<[u64; 3]> = (0..32).map(|lane| [lane * 10, lane, 0]).collect();
    let butterfly = lanes("shfl.sync.bfly.b32 %out32, %a32, 1, 31, -1;", "out32", &values);
    assert!((0..32).all(|lane| butterfly[lane] == 10 * (lane as u64 ^ 1)));
    let down = lanes("shfl.sync.down.b32 %out32|%p, %a32, 4, 31, -1;", "out32", &values);
    assert_eq!((down[0], down[27], down[28]), (40, 310, 280));
    let up = lanes("shfl.up.b32 %out32|%pout, %a32, 1, 0;", "pout", &values);
    assert_eq!((up[0], up[1]), (0, 1));
    let halves = lanes("shfl.idx.b32 %out32, %a32, 0, 0x101f;", "out32", &values);
    assert_eq!((halves[15], halves[16], halves[31]), (0, 160, 160));
    let ballot = lanes("setp.lt.u32 %p, %b32, 5; vote.sync.ballot.b32 %out32, %p, -1;", "out32", &values);
    assert_eq!(ballot[9], 0b11111);
    let same = lanes("shr.u32 %t32, %b32, 3; match.any.sync.b32 %out32, %t32, -1;", "out32", &values);
    assert_eq!(same[9], 0xff00);
    let sum = lanes("redux.sync.add.u32 %out32, %b32, -1;", "out32", &values);
    assert_eq!(sum[3], 496);
}

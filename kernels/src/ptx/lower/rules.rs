//! The instructions that are accepted: what lowers each, and its syntax for messages.

use super::super::ast::RawOperand;
use super::super::error::Complaint;
use super::form::Form;
use super::kernel::Lowering;
use super::{arithmetic, call, control, data, matrix, memory};

/// Lowers one instruction.
pub(super) type Rule<'a, 'm> =
    fn(&mut Lowering<'a, 'm>, Form<'a>, &[RawOperand<'a>]) -> Result<(), Complaint>;

/// Every opcode that [`rule`] knows.
const OPCODES: &str = "abs activemask add addc and atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call clz \
                       cnot copysign cos cp cvt cvta discard div dp2a dp4a ex2 exit fence fma fns isspacep ld ldmatrix ldu lg2 lop3 mad \
                       mad24 madc match max membar min mma mov mul mul24 nanosleep neg not or pmevent popc prefetch \
                       prefetchu prmt rcp red redux relssp rem ret rsqrt sad selp set setp shf shfl shl shr sin slct sqrt \
                       st sub subc suld sust szext tanh testp tex trap vote xor";

/// What lowers an opcode, and its syntax.
pub(super) fn rule<'a, 'm>(opcode: &str) -> Result<(Rule<'a, 'm>, &'static str), Complaint> {
    Ok(match opcode {
        "add" | "sub" => (
            arithmetic::add,
            "{add,sub}.{u16,u32,u64,s16,s64}, {.sat}.{s32,u16x2,s16x2}, .cc.{u32,s32,u64,s64}, {.rn,.rz,.rm,.rp}{.ftz}{.sat}.f32, \
             {.rn,.rz,.rm,.rp}.f64, {.rn}{.ftz}{.sat}.{f16,f16x2}, {.rn}.{bf16,bf16x2}: d, a, b",
        ),
        "addc" | "subc" => (arithmetic::add, "{addc,subc}{.cc}.{u32,s32,u64,s64}: d, a, b"),
        "mul" => (
            arithmetic::mul,
            "mul.{lo,hi}.{u16 … s64}, .wide.{u16,u32,s16,s32}, {.rn,.rz,.rm,.rp}{.ftz}{.sat}.{f32,f64}, \
             {.rn}{.ftz}{.sat}.{f16,f16x2}, {.rn}.{bf16,bf16x2}: d, a, b",
        ),
        "mad" | "fma" | "madc" => (
            arithmetic::mad,
            "mad.{lo,hi}.{u16 … s64}, .hi.sat.s32, .wide.{u16,u32,s16,s32}, mad{c}.{lo,hi}{.cc}.{u32,s32,u64,s64}, \
             {mad,fma}{.rn,.rz,.rm,.rp}{.ftz}{.sat}.{f32,f64}, fma{.rn}{.ftz}{.sat,.relu}.{f16,f16x2}, \
             fma{.rn}{.relu}.{bf16,bf16x2}: d, a, b, c",
        ),
        "mul24" | "mad24" => (arithmetic::mul24, "{mul24,mad24}.{lo,hi}{.sat}.{u32,s32}: d, a, b {, c}"),
        "sad" => (arithmetic::sad, "sad.{u16 … s64}: d, a, b, c"),
        "div" => (
            arithmetic::div,
            "div.{u16 … s64}, .{approx,full,rn,rz,rm,rp}{.ftz}.f32, .{rn,rz,rm,rp}.f64: d, a, b",
        ),
        "rem" => (arithmetic::rem, "rem.{u16 … s64}: d, a, b"),
        "abs" | "neg" => {
            (arithmetic::abs_neg, "{abs,neg}.{s16,s32,s64}, {.ftz}.{f16,f16x2,f32}, .{bf16,bf16x2,f64}: d, a")
        }
        "min" | "max" => {
            let syntax = "{min,max}.{u16 … s64,u16x2}, {.relu}.{s32,s16x2}, {.ftz}{.NaN}.{f16,f16x2,f32}, \
                          {.NaN}.{bf16,bf16x2}, .f64: d, a, b";
            (arithmetic::min_max, syntax)
        }
        "rcp" | "sqrt" => (
            arithmetic::rcp_sqrt,
            "{rcp,sqrt}.{approx,rn,rz,rm,rp}{.ftz}.f32, .{rn,rz,rm,rp}.f64, rcp.approx.ftz.f64: d, a",
        ),
        "rsqrt" => (arithmetic::rsqrt, "rsqrt.approx{.ftz}.{f32,f64}: d, a"),
        "sin" | "cos" | "lg2" | "ex2" | "tanh" => (arithmetic::sin, arithmetic::SIN_SYNTAX),
        "copysign" => (arithmetic::copysign, "copysign.{f32,f64}: d, a, b"),
        "testp" => {
            (arithmetic::testp, "testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}: p, a")
        }
        "dp4a" => (arithmetic::dp4a, "dp4a.{u32,s32}.{u32,s32}: d, a, b, c"),
        "dp2a" => (arithmetic::dp2a, "dp2a.{lo,hi}.{u32,s32}.{u32,s32}: d, a, b, c"),
        "popc" | "clz" | "brev" => (data::popc, "{popc,clz,brev}.{b32,b64}: d, a"),
        "bfind" => (data::bfind, "bfind{.shiftamt}.{u32,s32,u64,s64}: d, a"),
        "bfe" => (data::bfe, "bfe.{u32,s32,u64,s64}: d, a, b, c"),
        "bfi" => (data::bfi, "bfi.{b32,b64}: f, a, b, c, d"),
        "szext" => (data::szext, "szext.{clamp,wrap}.{u32,s32}: d, a, b"),
        "bmsk" => (data::bmsk, "bmsk.{clamp,wrap}.b32: d, a, b"),
        "fns" => (data::fns, "fns.b32: d, mask, base, offset"),
        "prmt" => (data::prmt, "prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}: d, a, b, c"),
        "and" | "or" | "xor" => (data::logic, "{and,or,xor}.{pred,b16,b32,b64}: d, a, b"),
        "not" | "cnot" => (data::not, "not.{pred,b16,b32,b64}, cnot.{b16,b32,b64}: d, a"),
        "lop3" => (data::lop3, "lop3.b32: d, a, b, c, table; lop3.{or,and}.b32: d{|p}, a, b, c, table, {!}q"),
        "shl" | "shr" => (data::shift, "shl.{b16,b32,b64}, shr.{b16 … b64, u16 … s64}: d, a, b"),
        "shf" => (data::shf, "shf.{l,r}.{clamp,wrap}.b32: d, a, b, c"),
        "setp" => (
            data::setp,
            "setp.{eq,ne,lt,le,gt,ge,lo,ls,hi,hs,equ,neu,ltu,leu,gtu,geu,num,nan}{.and,.or,.xor}{.ftz}.type: \
             p{|q}, a, b{, {!}c}",
        ),
        "set" => (
            data::set,
            "set.compare{.and,.or,.xor}{.ftz}.{u16,s16,u32,s32,f16,bf16,f32,f16x2,bf16x2}.type: d, a, b{, {!}c}",
        ),
        "selp" => (data::selp, "selp.{b16 … f64}: d, a, b, p"),
        "slct" => (data::slct, "slct{.ftz}.{b16 … f64}.{s32,f32}: d, a, b, c"),
        "mov" => (data::mov, "mov.{pred,b16 … f64}: d, a; mov.{b16,b32,b64}: d, {a, …} or {d, …}, a"),
        "cvt" => (
            data::cvt,
            "cvt{.rn,.rz,.rm,.rp,.rni,.rzi,.rmi,.rpi}{.ftz}{.sat}{.relu}{.satfinite}.to.from: d, a, with types u8 … u64, \
             s8 … s64, f16, bf16, f32, f64; cvt.{rn,rz}{.relu}{.satfinite}.{f16x2,bf16x2}.f32: d, a, b",
        ),
        "cvta" => (
            data::cvta,
            "cvta{.to}.{global,shared,local,const,param}.{u64,u32} (as .address_size says): d, a",
        ),
        "isspacep" => (data::isspacep, "isspacep.{global,shared,local,const,param}: p, a"),
        "ld" | "ldu" => (
            memory::load,
            "ld{.volatile,.relaxed,.acquire,.weak}{.scope}{.global,.shared,.local,.const,.param}{.cache}{.nc}\
             {.v2,.v4}.{b8 … f64}: d, [a]",
        ),
        "st" => (
            memory::store,
            "st{.volatile,.relaxed,.release,.weak}{.scope}{.global,.shared,.local,.param}{.cache}{.v2,.v4}\
             .{b8 … f64}: [a], b",
        ),
        "atom" | "red" => (
            memory::atomic,
            "{atom,red}{.order}{.scope}{.global,.shared}.{add,min,max,inc,dec,and,or,xor,exch,cas}.{u32,s32,u64,s64,\
             b32,b64,f32,f64}, .add.noftz.{f16,f16x2,bf16,bf16x2}: {d,} [a], b{, c}",
        ),
        "cp" => (
            memory::copy_async,
            "cp.async.ca.shared.global: [a], [b], {4,8,16}{, source bytes}; cp.async.cg.shared.global: [a], [b], 16{, source \
             bytes}; cp.async.{commit_group,wait_all}; cp.async.wait_group: number",
        ),
        "relssp" => (memory::release_scratchpad, "relssp"),
        "prefetch" | "prefetchu" | "discard" | "pmevent" | "nanosleep" => {
            (memory::hint, "{prefetch,prefetchu,discard,pmevent,nanosleep}, which have no effect")
        }
        "tex" => (
            memory::texture,
            "tex.{1d,2d}.v4.{f32,s32,u32}.{s32,f32}: {d, e, f, g}, [texref or handle, {a{, b}}]",
        ),
        "suld" | "sust" => (
            memory::surface,
            "suld.b.{1d,2d}{.v2,.v4}.{b8,b16,b32,b64}.{trap,clamp,zero}: d, [handle, {a{, b}}]; \
             sust.b.{1d,2d}{.v2,.v4}.{b8,b16,b32,b64}.{trap,clamp,zero}: [handle, {a{, b}}], c",
        ),
        "shfl" => (control::shuffle, "shfl{.sync}.{up,down,bfly,idx}.b32: d{|p}, a, b, c{, members}"),
        "vote" => (control::vote, "vote{.sync}.{all,any,uni}.pred, .ballot.b32: d, {!}a{, members}"),
        "match" => (control::matching, "match.{any,all}.sync.{b32,b64}: d{|p}, a, members"),
        "redux" => (control::redux, "redux.sync.{add,min,max,and,or,xor}.{u32,s32,b32}: d, a, members"),
        "mma" => (
            matrix::multiply,
            "mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.{f16,f32}.f16.f16.{f16,f32}, .f32.bf16.bf16.f32, \
             mma.sync.aligned.{m16n8k16,m16n8k32}.row.col{.satfinite}.s32.{u8,s8}.{u8,s8}.s32: d, a, b, c",
        ),
        "ldmatrix" => {
            (matrix::load, "ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared}.b16: {d, …}, [a]")
        }
        "activemask" => (control::activemask, "activemask.b32: d"),
        "bar" | "barrier" => (
            control::barrier,
            "{bar,barrier}{.cta}.{sync,arrive}{.aligned}: a{, b}; .red.popc.u32, .red.{and,or}.pred: d, a{, b}, {!}p; \
             bar.warp.sync: members",
        ),
        "membar" | "fence" => (control::fence, "membar.{cta,gl,sys}, fence{.sc,.acq_rel}.{cta,gpu,sys}"),
        "bra" => (control::branch, "bra{.uni}: label"),
        "brx" => (control::indexed_branch, "brx.idx{.uni}: index, table"),
        "call" => (
            call::call,
            "call{.uni}: (result), function, (arguments), with the function in the same file, vprintf or __assertfail",
        ),
        "ret" | "exit" => (control::exit, "{ret,exit}{.uni}"),
        "trap" | "brkpt" => (control::trap, "{trap,brkpt}"),
        unknown => {
            return Err(format!("found the opcode `{unknown}`; accepted: {OPCODES}"));
        }
    })
}

//! Random programs, compiled and run.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::warp::Warp;
use crate::compile::isa::Isa;
use crate::compile::operands::Operands;
use crate::compile::schedule::Schedule;
use crate::compile::sharing::{Placement, ScratchpadOptions, Threshold};
use crate::compile::{CompileOptions, compile};
use crate::ptx;

/// Predicates of a program, `%p<5>`.
const PREDICATES: u16 = 5;
/// Instruction patterns: `R` a 32-bit register, `D` a 64-bit one, `P` a predicate, `I` a small number.
const PATTERNS: [&str; 55] = [
    "mov.u32 R, R",
    "mov.u32 R, I",
    "mov.u32 R, %tid.x",
    "mov.u32 R, %ntid.x",
    "mov.u64 D, D",
    "mov.u64 D, I",
    "mov.b64 D, {R, R}",
    "mov.b64 {R, R}, D",
    "ld.param.u32 R, [n]",
    "ld.param.u64 D, [p]",
    "add.u32 R, R, R",
    "add.u32 R, R, I",
    "add.u64 D, D, D",
    "add.u64 D, D, I",
    "sub.u64 D, D, D",
    "neg.s64 D, D",
    "mul.lo.u32 R, R, R",
    "mul.lo.u32 R, R, I",
    "mad.lo.u32 R, R, R, R",
    "mad.lo.u32 R, R, I, R",
    "mul.lo.u64 D, D, D",
    "mul.lo.u64 D, D, I",
    "mul.wide.u32 D, R, R",
    "mad.wide.u32 D, R, R, D",
    "mad.lo.u64 D, D, D, D",
    "and.b64 D, D, D",
    "or.b32 R, R, R",
    "xor.b64 D, D, D",
    "not.b64 D, D",
    "shl.b64 D, D, I",
    "shr.u64 D, D, I",
    "shl.b64 D, D, R",
    "brev.b64 D, D",
    "min.s64 D, D, D",
    "rem.u64 D, D, D",
    "cvt.u64.u32 D, R",
    "cvt.s64.s32 D, R",
    "cvt.u32.u64 R, D",
    "selp.b64 D, D, D, P",
    "selp.b32 R, R, R, P",
    "setp.lt.u32 P, R, R",
    "setp.lt.and.u32 P, R, R, P",
    "setp.lt.or.u32 P, R, R, !P",
    "and.pred P, P, P",
    "not.pred P, P",
    "mov.pred P, P",
    "ld.global.v2.u32 {R, R}, [D]",
    "st.global.u64 [D], D",
    "ld.shared.u32 R, [R]",
    "ld.shared.u32 %r5, [R];\nxor.b32 R, %r5, R",
    "ld.shared.u32 R, [a]",
    "ld.shared.u32 R, [b]",
    "st.shared.u32 [a], R",
    "st.shared.u32 [R], R",
    "bar.sync 0",
];

/// A block has a tenth of its scratchpad for itself: the variable `b`.
fn tenth() -> Threshold {
    Threshold::from_percent(10).expect("from 1 to 100")
}

fn instruction() -> impl Strategy<Value = String> {
    (0..PATTERNS.len(), prop::collection::vec(0u32..5, 8), 0u32..70, 0u32..8).prop_map(
        |(pattern, registers, number, guard)| {
            let pattern = PATTERNS[pattern];
            let mut registers = registers.into_iter();
            let mut text = match guard {
                0 if !pattern.starts_with("bar") => "@%p0 ".to_owned(),
                1 if !pattern.starts_with("bar") => "@!%p1 ".to_owned(),
                _ => String::new(),
            };
            let mut in_destination_list = pattern.contains("{R, R}") && !pattern.starts_with("mov.b64 D");
            for letter in pattern.chars() {
                let mut register = |prefix: &str| format!("%{prefix}{}", registers.next().unwrap_or(0));
                match letter {
                    // The two registers of a destination list must differ.
                    'R' if in_destination_list => {
                        in_destination_list = false;
                        text += "%r5";
                    }
                    'R' => text += &register("r"),
                    'D' => text += &register("d"),
                    'P' => text += &register("p"),
                    'I' => text += &number.to_string(),
                    other => text.push(other),
                }
            }
            text + ";\n"
        },
    )
}

fn program() -> impl Strategy<Value = String> {
    let block = (prop::collection::vec(instruction(), 0..8), 0usize..6, 0u32..6, 0u32..5);
    (prop::collection::vec(block, 1..7), any::<u16>()).prop_map(|(blocks, initialised)| {
        let count = blocks.len();
        let mut text = String::from(
            ".version 6.0\n.target sm_60\n.address_size 64\n\
             .visible .entry k(.param .u32 n, .param .u64 p)\n{\n\
             .reg .pred %p<5>;\n.reg .b32 %r<6>;\n.reg .b64 %d<5>;\n\
             .shared .align 4 .b8 b[4];\n.shared .align 4 .b8 a[36];\n",
        );
        for (bit, register) in ["%r0", "%r1", "%r2", "%r3", "%r4", "%r5"].iter().enumerate() {
            if initialised >> bit & 1 == 1 {
                text += &format!("mov.u32 {register}, %tid.x;\nadd.u32 {register}, {register}, {bit};\n");
            }
        }
        for (bit, register) in ["%d0", "%d1", "%d2", "%d3", "%d4"].iter().enumerate() {
            if initialised >> (bit + 6) & 1 == 1 {
                text += &format!("mov.u64 {register}, 0x1234567800{bit}0;\n");
            }
        }
        for (bit, register) in ["%p0", "%p1", "%p2", "%p3", "%p4"].iter().enumerate() {
            if initialised >> (bit + 11) & 1 == 1 {
                text += &format!("setp.lt.u32 {register}, %r0, {bit};\n");
            }
        }
        for (index, (body, target, kind, predicate)) in blocks.into_iter().enumerate() {
            text += &format!("L{index}:\n{}", body.concat());
            text += &match kind {
                0..=2 => format!("@%p{predicate} bra L{};\n", target % count),
                3 => format!("@!%p{predicate} bra L{};\n", (index + 1) % count),
                4 => format!("@%p{predicate} exit;\n"),
                _ => String::new(),
            };
        }
        text + "st.global.u64 [%d0], %d1;\nst.global.v4.u32 [%d2], {%r0, %r1, %r2, %r3};\nret;\n}\n"
    })
}

/// Some of the programs have operands in scratchpad.
#[test]
fn programs_have_operands_in_scratchpad() {
    let mut runner = TestRunner::deterministic();
    let mut operands = 0;
    for _ in 0..200 {
        let text = program().new_tree(&mut runner).unwrap().current();
        let module = ptx::parse("random.ptx", &text).unwrap();
        let options = CompileOptions { operands: Operands::Scratchpad, ..CompileOptions::default() };
        let compiled = compile(&module, "k", &options).unwrap();
        operands += compiled.program.instructions.iter().filter(|one| one.operand.is_some()).count();
    }
    assert!(operands > 10, "{operands}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The allocation checker, and on four lanes: every operand's register holds the promised value, no value is
    /// read after its last read, no needed value of another lane is killed by a definition that is not soft, the
    /// first consumer of every load suspends, nothing idle is read before; where blocks share scratchpad, every lane that
    /// ends has released it once and has not accessed it since.
    #[test]
    fn machine_code_computes_what_the_ptx_computes_and_keeps_every_promise(
        text in program(),
        max_registers in 12_u16..24,
        operands in prop::sample::select(Operands::ALL.to_vec()),
        isa in prop::sample::select(Isa::ALL.to_vec()),
        placement in prop::option::of(prop::sample::select(vec![Placement::Optimal, Placement::Postdominator])),
    ) {
        let module = ptx::parse("random.ptx", &text).unwrap();
        let sharing = |placement| ScratchpadOptions { threshold: tenth(), placement, unlimited_bytes: 0 };
        let scratchpad = placement.map(sharing);
        // Predicates that are registers stay there.
        let max_registers = if isa == Isa::PtxPlus { max_registers + PREDICATES } else { max_registers };
        for schedule in Schedule::ALL {
            let options = CompileOptions { check_allocation: true, schedule, max_registers, isa, operands, scratchpad, ..CompileOptions::default() };
            let compiled = compile(&module, "k", &options).unwrap();
            prop_assert!(compiled.statistics.registers <= max_registers);
            if let Err(broken) = Warp::new(&compiled).with_shared_scratchpad(scratchpad).run() {
                let listing = crate::compile::listing::listing(&compiled.program, &compiled.cfg);
                return Err(TestCaseError::fail(format!("{schedule:?}, {isa:?}, {operands:?}, {placement:?}: {broken}\n{text}\n{listing}")));
            }
        }
    }
}

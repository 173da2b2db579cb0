//! Which loads become operands, and what the machine then reads.

use super::*;
use crate::compile::schedule::Schedule;
use crate::compile::sharing::{Placement, ScratchpadOptions, Threshold};
use crate::compile::{CompileOptions, Compiled, compile};
use crate::program::Instruction;
use crate::ptx;

/// A kernel of these instructions, in which `%a` is a place in scratchpad and `%c` one in global memory.
fn compiled(body: &str, operands: Operands) -> Compiled {
    compiled_with(body, operands, None)
}

/// The same, with blocks that share scratchpad.
fn compiled_with(body: &str, operands: Operands, scratchpad: Option<ScratchpadOptions>) -> Compiled {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 32\n.const .align 4 .b32 table[8];\n\
         .visible .entry k(.param .u32 p)\n{{\n\
         .reg .b32 %r<16>; .reg .b32 %a; .reg .b32 %c; .reg .pred %p; .shared .align 4 .b32 s[64];\n.shared .align 4 .b32 t[64];\n\
         ld.param.u32 %c, [p];\nmov.u32 %r15, %tid.x;\nshl.b32 %a, %r15, 2;\n{body}\nst.global.u32 [%c], %r9;\nret;\n}}\n"
    );
    let module = ptx::parse("k.ptx", &text).unwrap();
    let options = CompileOptions {
        operands,
        scratchpad,
        schedule: Schedule::None,
        check_allocation: true,
        ..CompileOptions::default()
    };
    compile(&module, "k", &options).unwrap()
}

/// Opcodes of the instructions that have an operand in scratchpad, and how many loads of scratchpad there are.
fn folded(body: &str) -> (Vec<String>, usize) {
    let compiled = compiled(body, Operands::Scratchpad);
    let instructions = &compiled.program.instructions;
    let with_operand = instructions.iter().filter(|instruction| instruction.operand.is_some());
    let opcodes = with_operand.map(|instruction| instruction.opcode().to_owned()).collect();
    let is_load = |operation: &Operation| {
        matches!(operation, Operation::Load(MemoryAccess { space: Space::Shared, .. }))
    };
    (opcodes, instructions.iter().filter(|instruction| is_load(&instruction.operation)).count())
}

#[test]
fn a_word_that_one_instruction_reads_is_its_operand() {
    let body = "ld.shared.u32 %r1, [%a+4];\nadd.u32 %r9, %r1, %r15;";
    assert_eq!(folded(body), (vec!["add.u32".to_owned()], 0));
    let compiled = compiled(body, Operands::Scratchpad);
    let position = compiled.program.instructions.iter().position(|one| one.operand.is_some()).unwrap();
    let lowered = &compiled.lowering.instructions[position];
    assert!(compiled.kernel.instructions[lowered.operand.unwrap().index()].text.starts_with("ld.shared"));
    assert_eq!(compiled.program.instructions[position].sources.len(), 2);
    assert_eq!(compiled.program.instructions[position].operand, Some(ACCESS));
}

#[test]
fn one_operand_of_an_instruction_is_in_scratchpad() {
    let body = "ld.shared.u32 %r1, [%a+4];\nld.shared.u32 %r2, [%a];\nadd.u32 %r9, %r1, %r2;";
    assert_eq!(folded(body), (vec!["add.u32".to_owned()], 1));
}

#[test]
fn a_fixed_place_needs_no_register() {
    let body = "ld.shared.u32 %r1, [s+8];\nmad.lo.u32 %r9, %r1, %r15, %a;";
    assert_eq!(folded(body), (vec!["mad.lo.u32".to_owned()], 0));
}

#[test]
fn others_stay_loads() {
    for (why, body) in [
        ("two readers", "ld.shared.u32 %r1, [%a];\nadd.u32 %r2, %r1, 1;\nadd.u32 %r9, %r1, %r2;"),
        ("a store", "ld.shared.u32 %r1, [%a];\nst.shared.u32 [%a+4], %r15;\nadd.u32 %r9, %r1, %r15;"),
        ("a generic store", "ld.shared.u32 %r1, [%a];\nst.u32 [%c], %r15;\nadd.u32 %r9, %r1, %r15;"),
        ("an atomic", "ld.shared.u32 %r1, [%a];\nred.shared.add.u32 [%a], %r15;\nadd.u32 %r9, %r1, %r15;"),
        ("a barrier", "ld.shared.u32 %r1, [%a];\nbar.sync 0;\nadd.u32 %r9, %r1, %r15;"),
        ("another address", "ld.shared.u32 %r1, [%a];\nadd.u32 %a, %a, 4;\nadd.u32 %r9, %r1, %a;"),
        (
            "a constant in the register of the address, and another one",
            "mov.u32 %r2, s;\nld.shared.u32 %r1, [%r2];\nmov.u32 %r2, t;\nadd.u32 %r9, %r1, %r15;\n\
             st.shared.u32 [%r2], %r9;",
        ),
        (
            "a store that orders",
            "ld.shared.u32 %r1, [%a];\nst.release.gpu.global.u32 [%c], %r15;\nadd.u32 %r9, %r1, %r15;",
        ),
        ("lanes that wait", "ld.shared.u32 %r1, [%a];\nbar.warp.sync -1;\nadd.u32 %r9, %r1, %r15;"),
        ("a release", "ld.shared.u32 %r1, [%a];\nrelssp;\nadd.u32 %r9, %r1, %r15;"),
        ("its own address", "ld.shared.u32 %a, [%a];\nadd.u32 %r9, %a, %r15;"),
        ("no whole word", "ld.shared.u16 %r1, [%a];\nadd.u32 %r9, %r1, %r15;"),
        ("volatile", "ld.volatile.shared.u32 %r1, [%a];\nadd.u32 %r9, %r1, %r15;"),
        ("no arithmetic", "ld.shared.u32 %r1, [%a];\nld.global.u32 %r9, [%r1];"),
        ("a guard", "setp.eq.u32 %p, %r15, 3;\n@%p ld.shared.u32 %r1, [%a];\nadd.u32 %r9, %r1, %r15;"),
        (
            "another block",
            "ld.shared.u32 %r1, [%a];\nsetp.eq.u32 %p, %r15, 3;\n@%p bra L;\nadd.u32 %r9, %r1, %r15;\nL: mov.u32 %r3, 1;",
        ),
    ] {
        assert_eq!(folded(body), (Vec::new(), 1), "{why}");
    }
}

/// `relssp` comes behind who reads, so that what is folded without it is folded with it, in as many registers.
#[test]
fn a_release_that_is_put_in_unfolds_nothing() {
    let body = "ld.shared.u32 %r1, [%a];\nld.shared.u32 %r2, [%a+4];\nld.shared.u32 %r3, [%a+8];\n\
                add.u32 %r9, %r1, %r15;\nmad.lo.u32 %r9, %r2, %r9, %r15;\nmad.lo.u32 %r9, %r3, %r9, %r15;";
    let threshold = Threshold::from_percent(10).unwrap();
    for placement in [Placement::Optimal, Placement::Postdominator] {
        let scratchpad = ScratchpadOptions { threshold, placement, unlimited_bytes: 0 };
        let [alone, sharing] = [None, Some(scratchpad)].map(|scratchpad| {
            let program = compiled_with(body, Operands::Scratchpad, scratchpad).program;
            let operands = program.instructions.iter().filter(|one| one.operand.is_some()).count();
            let releases =
                program.instructions.iter().filter(|one| one.operation == Operation::Release).count();
            (operands, program.registers_per_thread, releases)
        });
        assert_eq!((alone.0, alone.2, sharing.2), (3, 0, 1), "{placement:?}");
        assert_eq!((alone.0, alone.1), (sharing.0, sharing.1), "{placement:?}");
    }
}

#[test]
fn words_of_constant_memory_are_operands_where_they_may_be() {
    let body = "ld.const.u32 %r1, [table+4];\nadd.u32 %r2, %r1, %r15;\nld.const.u32 %r3, [%a];\nadd.u32 %r9, %r2, %r3;";
    let loads = |operands| {
        let compiled = compiled(body, operands);
        let is_constant = |operation: &Operation| {
            matches!(operation, Operation::Load(MemoryAccess { space: Space::Constant, .. }))
        };
        compiled.program.instructions.iter().filter(|one| is_constant(&one.operation)).count()
    };
    assert_eq!(Operands::ALL.map(loads), [2, 1, 1]);
}

#[test]
fn nothing_else_has_an_operand_in_memory() {
    let of = |operation, space, bytes| {
        let compiled = compiled("add.u32 %r9, %r15, 1;", Operands::Registers);
        let operand = Some(MemoryAccess { space, bytes });
        Instruction { operation, operand, ..compiled.program.instructions[0].clone() }.check_operand()
    };
    assert_eq!(of(Operation::Sfu, Space::Shared, 4), Ok(()));
    for (operation, space, bytes) in [
        (Operation::Alu, Space::Shared, 8),
        (Operation::Alu, Space::Global, 4),
        (Operation::Load(ACCESS), Space::Shared, 4),
    ] {
        assert!(of(operation, space, bytes).unwrap_err().contains("accepted: arithmetic"), "{operation:?}");
    }
}

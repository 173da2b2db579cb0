//! What moves in front of a branch, and what must not.

use std::collections::BTreeSet;

use super::check::check;
use super::draft::{Draft, Label};
use super::{hoist, restructure};
use crate::compile::schedule::ScheduleError;
use crate::ptx;
use crate::ptx::ir::{Instruction, Kernel, Op};

fn kernel(body: &str) -> Kernel {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<5>;\n.reg .b32 %r<20>;\n.reg .b64 %d<9>;\n\
         ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    );
    ptx::parse("test.ptx", &text).unwrap().kernels.remove(0)
}

/// A branch that waits for a load, `side` on one way and a store of `%r2` and `%r9` on both.
fn branch(side: &str) -> Kernel {
    kernel(&format!(
        "mov.u32 %r9, 0;\nld.global.u32 %r2, [%d1];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra OUT;\n{side}\n\
         OUT: st.global.v2.u32 [%d1+64], {{%r2, %r9}};"
    ))
}

/// How many instructions of `side` move.
fn moved(side: &str) -> usize {
    let before = branch(side);
    in_front(&hoist(&before).unwrap()) - in_front(&before)
}

/// Instructions in front of the first branch.
fn in_front(kernel: &Kernel) -> usize {
    let is_branch = |instruction: &Instruction| matches!(instruction.op, Op::Bra { .. });
    kernel.instructions.iter().position(is_branch).unwrap()
}

#[test]
fn what_can_neither_fail_nor_be_noticed_moves() {
    assert_eq!(moved("add.u32 %r3, %r1, 1; mul.wide.u32 %d2, %r3, 4; st.global.u32 [%d2], %r3;"), 2);
    // Behind what stays.
    assert_eq!(moved("ld.global.u32 %r4, [%d1]; add.u32 %r5, %r4, 1; add.u32 %r6, %r1, 1; bar.sync 0;"), 1);
    for stays in [
        "ld.global.u32 %r3, [%d1]",
        "st.global.u32 [%d1], %r1",
        "bar.sync 0",
        "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1",
        "mov.u32 %r3, %clock",
        "div.u32 %r3, %r1, %r2",
        // The other side reads it.
        "add.u32 %r9, %r1, 1",
        "mov.u32 %r2, 1",
        // The branch reads it.
        "setp.eq.u32 %p1, %r1, 3",
    ] {
        assert_eq!(moved(&format!("{stays}; st.global.u32 [%d1], %r1;")), 0, "{stays}");
    }
    assert_eq!(moved("mov.u32 %r3, %clock; add.u32 %r4, %r1, 1; st.global.u32 [%d1], %r4;"), 0);
    assert_eq!(moved("st.global.u32 [%d1], %r4; add.u32 %r4, %r1, 1; st.global.u32 [%d1], %r4;"), 0);
}

#[test]
fn what_a_guarded_write_of_the_other_side_keeps_stays() {
    let sides = |write: &str| {
        kernel(&format!(
            "ld.global.u32 %r2, [%d1];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra OTHER;\n\
             add.u32 %r3, %r1, 1; st.global.u32 [%d1], %r3; bra.uni END;\n\
             OTHER: {write} ld.global.u32 %r3, [%d1+4]; st.global.u32 [%d1], %r3;\nEND: bar.sync 0;"
        ))
    };
    let moved = |kernel: &Kernel| in_front(&hoist(kernel).unwrap()) - in_front(kernel);
    assert_eq!(moved(&sides("")), 1);
    assert_eq!(moved(&sides("@%p2 ld.global.u32 %r3, [%d1+8];")), 0);
}

#[test]
fn nothing_moves_where_nothing_waits_or_into_a_loop() {
    let side = "mul.wide.u32 %d2, %r1, 4; st.global.u32 [%d2], %r1; st.global.u32 [%d2], %r1;";
    let soon = kernel(&format!("setp.eq.u32 %p1, %r1, 0;\n@%p1 bra OUT;\n{side}\nOUT: bar.sync 0;"));
    assert_eq!(hoist(&soon).unwrap(), soon);
    let loops =
        kernel(&format!("LOOP: ld.global.u32 %r2, [%d1];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra LOOP;\n{side}"));
    assert_eq!(hoist(&loops).unwrap(), loops);
}

/// Of a block and the side behind its branch, with `%r3` written and read there, and `%r9` by the other way as well.
fn draft() -> (Draft, Label, Label) {
    let draft = Draft::new(&branch(
        "add.u32 %r3, %r1, 1; add.u32 %r4, %r3, 1; add.u32 %r3, %r1, 7; add.u32 %r9, %r3, 1; setp.ne.u32 %p1, %r1, 2;\n\
         ld.global.u32 %r5, [%d1+4]; st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r9};",
    ));
    let (from, side) = (draft.order()[0], draft.order()[1]);
    (draft, from, side)
}

#[test]
fn the_comparison_finds_what_is_read_elsewhere_and_what_is_lost() {
    let (before, from, side) = draft();
    assert!(check(&before, &before).is_ok());
    // Instructions of the side, by their places, that go to the end of the block in front.
    let outcome = |places: &[usize]| {
        let mut after = before.clone();
        let of_side = before.piece(side).instructions.clone();
        after.piece_mut(from).instructions.extend(places.iter().map(|&place| of_side[place].clone()));
        let rest = (0..of_side.len()).filter(|place| !places.contains(place));
        after.piece_mut(side).instructions = rest.map(|place| of_side[place].clone()).collect();
        check(&before, &after)
    };
    assert!(outcome(&[0]).is_ok());
    assert!(outcome(&[0, 1]).is_ok());
    assert!(outcome(&[0, 1, 2]).is_ok());
    let registers = |places: &[usize]| match outcome(places) {
        Err(ScheduleError::Value { register, .. }) => register,
        other => format!("{other:?}"),
    };
    assert_eq!(registers(&[1]), "%r3", "it is written before");
    assert_eq!(registers(&[2]), "%r3", "it is read before");
    assert_eq!(registers(&[0, 1, 2, 3]), "%r9", "the other way reads it");
    assert_eq!(registers(&[4]), "%p1", "the branch reads it");
    for noticed in [5, 6] {
        assert!(matches!(outcome(&[noticed]), Err(ScheduleError::NoPermutation { .. })), "{noticed}");
    }
}

#[test]
fn the_comparison_finds_what_is_no_move() {
    let (before, from, side) = draft();
    let differs = |change: &dyn Fn(&mut Draft)| {
        let mut after = before.clone();
        change(&mut after);
        assert!(matches!(check(&before, &after), Err(ScheduleError::NoPermutation { .. })));
    };
    let first = before.piece(side).instructions[0].clone();
    differs(&|after| _ = after.piece_mut(side).instructions.remove(0));
    differs(&|after| after.piece_mut(side).instructions.swap(0, 1));
    differs(&|after| after.piece_mut(from).instructions.push(first.clone()));
    differs(&|after| after.piece_mut(from).instructions.swap(0, 1));
    differs(&|after| after.piece_mut(from).end = after.piece(side).end.clone());
    differs(&|after| {
        after.piece_mut(side).instructions.remove(0);
        after.piece_mut(from).instructions.insert(0, first.clone());
    });
    // Another way leads there.
    let joined = kernel(
        "@%p2 bra SIDE;\nld.global.u32 %r2, [%d1];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra OUT;\n\
         SIDE: add.u32 %r3, %r1, 1; st.global.u32 [%d1], %r3;\nOUT: bar.sync 0;",
    );
    let before = Draft::new(&joined);
    let (from, side) = (before.order()[1], before.order()[2]);
    let mut after = before.clone();
    let moved = after.piece_mut(side).instructions.remove(0);
    after.piece_mut(from).instructions.push(moved);
    assert!(check(&before, &after).is_err());
    assert_eq!(hoist(&joined).unwrap(), restructure(&joined));
}

/// Registers that guarded loads write, after a loop of eight turns has been unrolled.
fn registers_of_guarded_loads(first: &str, turn: &str, last: &str) -> usize {
    let kernel = restructure(&kernel(&format!(
        "mov.u32 %r3, 0; mov.u32 %r4, 0; {first}\n\
         LOOP: ld.global.u32 %r2, [%d1]; setp.eq.u32 %p1, %r2, %r1; @%p1 ld.global.u32 %r5, [%d1+4];\n{turn}\n\
         add.u64 %d1, %d1, 8; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 8;\n@%p2 bra LOOP;\n\
         {last} st.global.u32 [%d1], %r3;"
    )));
    let guarded = kernel.instructions.iter().filter(|instruction| instruction.guard.is_some());
    let loads: Vec<&Instruction> =
        guarded.filter(|instruction| matches!(instruction.op, Op::Ld { .. })).collect();
    assert_eq!(loads.len(), 8);
    loads.iter().flat_map(|load| load.definitions()).collect::<BTreeSet<_>>().len()
}

#[test]
fn copies_of_guarded_loads_write_registers_of_their_own_if_no_other_lane_reads_them() {
    let add = "@%p1 add.u32 %r3, %r3, %r5;";
    assert_eq!(registers_of_guarded_loads("", add, ""), 8);
    for (first, turn, last) in [
        // The other lanes read what was there before: the loop's own, or that of the turn before.
        ("mov.u32 %r5, 9;", add, ""),
        ("", "add.u32 %r3, %r3, %r5;", ""),
        ("", "@!%p1 add.u32 %r3, %r3, %r5;", ""),
        ("", "", "add.u32 %r3, %r3, %r5;"),
        // The guard is another one.
        ("", "setp.eq.u32 %p1, %r1, 5; @%p1 add.u32 %r3, %r3, %r5;", ""),
    ] {
        assert_eq!(registers_of_guarded_loads(first, turn, last), 1, "{first} {turn} {last}");
    }
}

#[test]
fn a_load_into_a_wider_register_is_extended_by_an_instruction_of_its_own() {
    let split = |body: &str| -> Vec<String> {
        let kernel = restructure(&kernel(body));
        let text = |instruction: &Instruction| {
            let guard = if instruction.guard.is_some() { "guarded " } else { "" };
            let opcode = instruction.text.trim_start_matches("@%p1 ").split(' ').next().unwrap();
            let names = instruction.dsts.iter().flatten();
            let names: Vec<&str> =
                names.map(|register| kernel.registers[register.index()].name.as_str()).collect();
            format!("{guard}{opcode} {}", names.join(" "))
        };
        kernel.instructions[2..].iter().map(text).collect()
    };
    assert_eq!(split("ld.global.s32 %d2, [%d1];"), ["ld.global.s32 %d2.low", "cvt.s64.s32 %d2", "ret "]);
    assert_eq!(
        split("ld.shared.v2.u16 {%d2, %r2}, [%r1];"),
        ["ld.shared.v2.u16 %d2.low %r2", "cvt.u64.u32 %d2", "ret "]
    );
    assert_eq!(split("ld.global.u64 %d2, [%d1];"), ["ld.global.u64 %d2", "ret "]);
    assert_eq!(
        split("setp.eq.u32 %p1, %r1, 0;\n@%p1 ld.global.s8 %d2, [%d1];"),
        ["setp.eq.u32 %p1", "guarded ld.global.s8 %d2.low", "guarded cvt.s64.s32 %d2", "ret "]
    );
}

#[test]
fn a_jump_with_nothing_in_front_of_it_has_the_line_of_the_kernel() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\nLOOP: bra LOOP;\n}\n";
    let kernel = restructure(&ptx::parse("test.ptx", text).unwrap().kernels[0]);
    assert_eq!(kernel.instructions.iter().map(|jump| jump.line).collect::<Vec<_>>(), [4]);
}

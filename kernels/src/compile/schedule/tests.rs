//! Orders that hold and orders that do not.

use super::check::check;
use super::*;
use crate::compile::{CompileOptions, compile, divergence};
use crate::program::Operation;
use crate::ptx;
use crate::ptx::ir::Module;

fn module(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<5>;\n.reg .b32 %r<99>;\n.reg .b64 %d<9>;\n.shared .b8 s[64];\n.shared .b8 t[64];\n{body}\nret;\n}}\n"
    );
    ptx::parse("test.ptx", &text).unwrap()
}

/// Whether the first two instructions of a body may change places.
fn may_change(first: &str, second: &str) -> bool {
    let module = module(&format!("{first};\n{second};"));
    let kernel = &module.kernels[0];
    let order: Vec<usize> = [1, 0].into_iter().chain(2..kernel.instructions.len()).collect();
    check(kernel, &divergence::ptx_cfg(kernel).unwrap(), &order).is_ok()
}

/// Pairs that must stay as they are.
const IN_ORDER: [(&str, &str); 20] = [
    ("mov.u32 %r1, 1", "add.u32 %r2, %r1, 1"),
    ("add.u32 %r2, %r1, 1", "mov.u32 %r1, 1"),
    ("mov.u32 %r1, 1", "mov.u32 %r1, 2"),
    ("mov.u32 %r1, 1", "@%p1 mov.u32 %r1, 2"),
    ("@%p1 mov.u32 %r1, 1", "mov.u32 %r1, 2"),
    ("setp.eq.u32 %p1, %r1, 0", "@%p1 mov.u32 %r2, 2"),
    ("@%p1 mov.u32 %r2, 2", "setp.eq.u32 %p1, %r1, 0"),
    ("add.cc.u32 %r1, %r2, %r3", "addc.u32 %r4, %r5, %r6"),
    ("st.global.u32 [%d1], %r1", "ld.global.u32 %r2, [%d2]"),
    ("ld.global.u32 %r2, [%d2]", "st.global.u32 [%d1], %r1"),
    ("st.global.u32 [%d1], %r1", "st.global.u32 [%d1+2], %r2"),
    ("st.global.u32 [%d1], %r1", "ld.u32 %r2, [%d2]"),
    ("st.shared.u32 [s], %r1", "ld.shared.u32 %r2, [s]"),
    ("st.shared.u32 [s], %r1", "ld.shared.u32 %r2, [%r3]"),
    ("ld.shared.u32 %r2, [s]", "bar.sync 0"),
    ("bar.sync 0", "st.global.u32 [%d1], %r1"),
    ("ld.volatile.global.u32 %r1, [%d1]", "ld.global.u32 %r2, [%d2]"),
    ("ld.global.u32 %r2, [%d2]", "membar.gl"),
    ("atom.global.add.u32 %r1, [%d1], 1", "ld.global.u32 %r2, [%d2]"),
    ("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1", "vote.sync.any.pred %p1, %p2, -1"),
];

/// Pairs that may change places.
const FREE: [(&str, &str); 9] = [
    ("mov.u32 %r1, 1", "mov.u32 %r2, 2"),
    ("add.u32 %r2, %r1, 1", "add.u32 %r3, %r1, 1"),
    ("ld.global.u32 %r1, [%d1]", "ld.global.u32 %r2, [%d1]"),
    ("st.global.u32 [%d1], %r1", "ld.global.u32 %r2, [%d1+4]"),
    ("st.global.v2.u32 [%d1], {%r1, %r3}", "st.global.u32 [%d1+8], %r2"),
    ("st.shared.u32 [s], %r1", "ld.global.u32 %r2, [%d1]"),
    ("st.shared.u32 [s], %r1", "ld.shared.u32 %r2, [t]"),
    ("st.global.u32 [%d1], %r1", "ld.global.nc.u32 %r2, [%d2]"),
    ("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1", "ld.global.u32 %r3, [%d1]"),
];

#[test]
fn what_depends_on_another_stays_behind_it() {
    for (first, second) in IN_ORDER {
        assert!(!may_change(first, second), "{first}; {second}");
    }
    for (first, second) in FREE {
        assert!(may_change(first, second), "{first}; {second}");
    }
}

#[test]
fn an_address_in_a_register_is_another_after_it_was_written() {
    let body = "st.global.u32 [%d1], %r1;\nadd.u64 %d1, %d1, 8;\nld.global.u32 %r2, [%d1+-8];";
    let module = module(body);
    let kernel = &module.kernels[0];
    let cfg = divergence::ptx_cfg(kernel).unwrap();
    assert!(check(kernel, &cfg, &[0, 1, 2, 3]).is_ok());
    assert!(matches!(check(kernel, &cfg, &[1, 2, 0, 3]), Err(ScheduleError::Value { .. })));
    let same = "st.global.u32 [%d1], %r1;\nadd.u64 %d2, %d1, 8;\nld.global.u32 %r2, [%d2];";
    let module = self::module(same);
    let kernel = &module.kernels[0];
    let error = check(kernel, &cfg, &[1, 2, 0, 3]).unwrap_err();
    assert_eq!(error, ScheduleError::Effects { first: 0, second: 2 });
}

#[test]
fn an_order_has_each_instruction_of_a_block_once() {
    let module = module("mov.u32 %r1, 1;\n@%p1 bra L;\nmov.u32 %r2, 2;\nL:\nmov.u32 %r3, 3;");
    let kernel = &module.kernels[0];
    let cfg = divergence::ptx_cfg(kernel).unwrap();
    assert!(check(kernel, &cfg, &[0, 1, 2, 3, 4]).is_ok());
    for broken in [&[2, 1, 0, 3, 4][..], &[0, 1, 2, 3, 3], &[0, 1, 2, 3], &[1, 0, 2, 3, 4]] {
        let same = broken[..2] == [1, 0];
        assert_eq!(check(kernel, &cfg, broken).is_ok(), same, "{broken:?}");
    }
}

fn listed(module: &Module) -> Compiled {
    let options =
        CompileOptions { check_allocation: true, schedule: Schedule::Blocks, ..CompileOptions::default() };
    compile(module, "k", &options).unwrap()
}

fn is_load(instruction: &crate::program::Instruction) -> bool {
    matches!(instruction.operation, Operation::Load(_))
}

#[test]
fn loads_come_together_and_before_their_uses() {
    let body: String = (0..8)
        .map(|n| format!("ld.global.u32 %r{n}, [%d1+{}];\nadd.u32 %r20, %r20, %r{n};\n", 4 * n))
        .collect();
    let module =
        module(&format!("ld.param.u64 %d1, [p];\nmov.u32 %r20, 0;\n{body}st.global.u32 [%d1], %r20;"));
    let places = |compiled: &Compiled| -> Vec<usize> {
        let places = compiled.program.instructions.iter().enumerate();
        places.filter(|(_, instruction)| is_load(instruction)).map(|(place, _)| place).collect()
    };
    let listed = listed(&module);
    let places = places(&listed);
    assert_eq!(places.len(), 8);
    assert!(places.windows(2).all(|pair| pair[1] == pair[0] + 1), "{places:?}");
}

/// Loads whose values are all read at the end: in source order each is stored at once.
#[test]
fn an_order_takes_no_more_registers_than_the_source_or_than_are_free() {
    for loads in [8, 24, 64, 96] {
        let body: String = (0..loads)
            .map(|n| format!("ld.shared.u32 %r{n}, [s+{0}];\nst.global.u32 [%d1+{0}], %r{n};\n", 4 * n))
            .collect();
        let module = module(&format!("ld.param.u64 %d1, [p];\n{body}"));
        let source = compile(&module, "k", &CompileOptions::as_written()).unwrap().statistics.registers;
        let registers = listed(&module).statistics.registers;
        assert!(
            registers <= source.max(FREE_REGISTERS),
            "{loads} loads: {registers} registers, {source} before"
        );
        assert!(registers > source, "{loads} loads: {registers} registers");
    }
}

#[test]
fn nothing_passes_a_clock() {
    let module = module(
        "ld.param.u64 %d1, [p];\nmov.u32 %r1, %clock;\nld.global.u32 %r2, [%d1];\nadd.u32 %r3, %r2, 1;\n\
         mov.u32 %r4, %clock;\nld.global.u32 %r5, [%d1+4];\nst.global.v4.u32 [%d1+8], {%r1, %r3, %r4, %r5};",
    );
    assert_eq!(listed(&module).kernel, module.kernels[0]);
}

/// As in Rodinia's nw: indices of 32 bits that go on as 64 bits, whose low words are copies, and are all read again at the end.
#[test]
fn a_copy_of_a_narrower_register_occupies_it() {
    const ROWS: usize = 20;
    let mut declared = String::from(".reg .b64 %row<99>;\n.reg .b64 %at<99>;\nld.param.u64 %d1, [p];\n");
    declared += "ld.param.u32 %r97, [n];\nmov.u32 %r0, %tid.x;\n";
    let first: String = (1..ROWS)
        .map(|n| {
            format!(
                "add.s32 %r{n}, %r{}, %r97;\ncvt.s64.s32 %row{n}, %r{n};\nshl.b64 %at{n}, %row{n}, 2;\n\
                 add.s64 %at{n}, %d1, %at{n};\nld.global.u32 %r98, [%at{n}];\nst.shared.u32 [s+{}], %r98;\n",
                n - 1,
                4 * (n % 16)
            )
        })
        .collect();
    let second: String = (1..ROWS).map(|n| format!("st.global.u64 [%d1+{}], %row{n};\n", 8 * n)).collect();
    let module = module(&format!("{declared}{first}bar.sync 0;\n{second}"));
    let source = compile(&module, "k", &CompileOptions::as_written()).unwrap().statistics.registers;
    assert!(source > FREE_REGISTERS, "{source} registers");
    let listed = listed(&module);
    assert!(listed.statistics.registers <= source);
    let instructions = &listed.program.instructions;
    let stores_at_once = instructions.windows(2).filter(|pair| {
        is_load(&pair[0]) && pair[1].sources.iter().any(|read| read.register == pair[0].results[0].register)
    });
    assert!(stores_at_once.count() < ROWS / 2);
}

/// The texts of a kernel's instructions as the list scheduler orders them, in blocks as they are.
fn in_order(body: &str) -> Vec<String> {
    let options = CompileOptions { schedule: Schedule::Blocks, ..CompileOptions::default() };
    let compiled = compile(&module(body), "k", &options).unwrap();
    compiled.kernel.instructions.iter().map(|instruction| instruction.text.clone()).collect()
}

#[test]
fn the_address_of_a_load_that_waits_is_computed_while_the_load_before_is_on_its_way() {
    let order = in_order(
        "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nmul.wide.u32 %d3, %r1, 12;\n\
         add.u64 %d4, %d1, %d3;\nadd.u64 %d5, %d1, %d2;\nld.global.u32 %r2, [%d5];\nst.global.u32 [%d1], %r2;\n\
         ld.global.u32 %r3, [%d4];\nst.global.u32 [%d1+4], %r3;",
    );
    let at = |text: &str| order.iter().position(|other| other.starts_with(text)).unwrap();
    let (first, second) = (at("ld.global.u32 %r2"), at("ld.global.u32 %r3"));
    for address in ["mul.wide.u32 %d3", "add.u64 %d4"] {
        assert!(first < at(address) && at(address) < at("st.global.u32 [%d1], %r2"), "{order:#?}");
    }
    assert!(second > at("st.global.u32 [%d1], %r2"));
}

/// Multiplications each of the result of the one before, `count` of them, into registers from `first` on.
fn chain(first: usize, count: usize) -> String {
    let of = |n| format!("mul.lo.u32 %r{}, %r{n}, %r{n};\n", n + 1);
    format!("mov.u32 %r{first}, %tid.x;\n{}", (first..first + count).map(of).collect::<String>())
}

#[test]
fn the_base_of_an_address_is_there_when_its_index_is() {
    let (short, long) = (chain(10, 6), chain(30, 9));
    let order = in_order(&format!(
        "ld.param.u64 %d1, [p];\ncvta.to.global.u64 %d2, %d1;\nadd.u64 %d3, %d1, 64;\n{short}{long}\
         mul.wide.u32 %d4, %r16, 4;\nadd.u64 %d5, %d2, %d4;\nld.global.u32 %r2, [%d5];\n\
         mul.wide.u32 %d6, %r39, 4;\nadd.u64 %d7, %d3, %d6;\nld.global.u32 %r3, [%d7];\n\
         st.global.v2.u32 [%d1], {{%r2, %r3}};"
    ));
    let at = |text: &str| order.iter().position(|other| other.starts_with(text)).unwrap();
    assert!(at("ld.global.u32 %r2") < at("mul.wide.u32 %d6"), "{order:#?}");
}

#[test]
fn what_leads_to_a_division_waits_for_a_load_behind_what_does_not() {
    let others: String = (0..16).map(|n| format!("mad.lo.u32 %r{}, %r1, {n}, %r1;\n", 20 + n)).collect();
    let read: String = (0..16).map(|n| format!("st.global.u32 [%d1+{}], %r{};\n", 4 * n, 20 + n)).collect();
    let order = in_order(&format!(
        "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nld.global.nc.u32 %r2, [%d1];\nadd.u32 %r3, %r2, %r1;\n\
         div.s32 %r4, %r3, %r1;\n{others}st.global.u32 [%d1+96], %r4;\n{read}"
    ));
    let sum = order.iter().position(|text| text.starts_with("add.u32 %r3")).unwrap();
    let before = order[..sum].iter().filter(|text| text.starts_with("mad.lo.u32")).count();
    assert_eq!(before, 16, "{order:#?}");
}

/// Loads of `count` words that are stored in the end, one behind the other.
fn loads_and_stores(count: usize) -> String {
    let of = |index: usize| {
        let (low, high) = (4 * index, 4 * index + 256);
        format!("ld.global.u32 %r{index}, [%d1+{low}];\nst.shared.u32 [%r90+{high}], %r{index};\n")
    };
    format!("ld.param.u64 %d1, [p];\nmov.u32 %r90, %tid.x;\n{}", (0..count).map(of).collect::<String>())
}

#[test]
fn an_order_stays_within_the_registers_that_it_is_kept_to() {
    let module = module(&loads_and_stores(40));
    let kernel = &module.kernels[0];
    let none = CompileOptions { schedule: Schedule::None, ..CompileOptions::default() };
    let compiled = compile(&module, "k", &none).unwrap();
    let function = crate::compile::Translation::new(&module, kernel, Default::default(), Default::default())
        .unwrap()
        .of_ptx();
    let cfg = divergence::ptx_cfg(kernel).unwrap();
    let stalls = |registers| {
        let aim = Aim { registers, bound: Bound::Kept };
        let ordered = list(kernel, &cfg, &compiled, &function, aim).unwrap();
        let taken = compile(&Module { kernels: vec![ordered.kernel], ..module.clone() }, "k", &none).unwrap();
        assert!(taken.statistics.registers <= registers.max(compiled.statistics.registers), "{registers}");
        ordered.stalls
    };
    let of_source = stalls(1);
    assert!(stalls(12) < of_source && stalls(40) < stalls(12));
}

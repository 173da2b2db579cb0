//! The rename table beside its reference.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::rfv::RenameTable;
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::rename_table_ref::{Instruction, Intent, RenameReference};

/// Fewer rows than names, so that they run out; numbers that are no powers of two among them.
fn tables() -> impl Strategy<Value = RenameTable> {
    (0..3_u32, 2..4_usize, 1..6_usize, 2..20_usize, 1..3_usize).prop_map(
        |(banks, rows, warps, names, issues)| {
            let banks = 1 << banks;
            RenameTable { names: names.max(banks), banks, rows, warps, issues }
        },
    )
}

fn instructions(names: usize, warps: usize) -> impl Strategy<Value = Instruction> {
    let source = || option::weighted(0.6, 0..names);
    let result = |weight| option::weighted(weight, 0..names);
    let results = [result(0.8), result(0.3), result(0.2), result(0.1)];
    let operands = (0..warps, [source(), source(), source()], results, vec(0..names, 0..4));
    operands.prop_map(|(warp, sources, results, mut releases)| {
        releases.retain(|name| !results.contains(&Some(*name)));
        Instruction { warp, sources, results, releases }
    })
}

fn traffic(cycles: usize) -> impl Strategy<Value = (RenameTable, Vec<Intent>)> {
    tables().prop_flat_map(move |table| {
        let RenameTable { names, warps, .. } = table;
        let instruction = || option::weighted(0.6, instructions(names, warps));
        let write = || option::weighted(0.3, (0..names, any::<bool>()));
        let retires = prop_oneof![9 => Just(vec![]), 1 => vec(0..names, 1..names)];
        let intent = ([instruction(), instruction()], 0..3_usize, [write(), write(), write()], retires);
        let intent =
            intent.prop_map(|(issues, room, writes, retires)| Intent { issues, room, writes, retires });
        (Just(table), vec(intent, 1..cycles))
    })
}

fn check(table: &RenameTable, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(table).unwrap(), &RenameReference::new(table), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_register_is_free_or_has_the_name_it_was_given_to((table, cycles) in traffic(80)) {
        check(&table, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((table, cycles) in traffic(60)) {
        check(&table, Lockstep::with_verilog(), &cycles)?;
    }
}

/// Four names, one bank of two rows.
const SMALL: RenameTable = RenameTable { names: 4, banks: 1, rows: 2, warps: 2, issues: 2 };

fn writes(name: usize, releases: &[usize]) -> Intent {
    let instruction = Instruction {
        results: [Some(name), None, None, None],
        releases: releases.to_vec(),
        ..Instruction::default()
    };
    Intent { issues: [Some(instruction), None], room: 2, ..Intent::default() }
}

#[test]
fn an_instruction_waits_for_a_register_until_another_dies() {
    let idle = Intent { room: 2, ..Intent::default() };
    let dies = Intent { writes: [Some((1, true)), None, None], room: 2, ..Intent::default() };
    let cycles = [writes(0, &[]), writes(1, &[]), writes(2, &[0]), idle.clone(), dies, idle.clone(), idle];
    check(&SMALL, Lockstep::default(), &cycles).unwrap();
}

/// A result has no row, whatever others get in the same cycle, unless they are the same register.
#[test]
fn results_of_two_instructions_get_rows_in_one_cycle() {
    let table = RenameTable { names: 8, banks: 4, rows: 2, warps: 2, issues: 2 };
    let instruction = |results| Some(Instruction { results, ..Instruction::default() });
    let looks_up = Some(Instruction { sources: [Some(0), Some(1), Some(2)], ..Instruction::default() });
    for places in 0..4 * 4 * 4 {
        let [earlier, first, second] = [places / 16, places / 4 % 4, places % 4];
        for name in 0..3 {
            let mut results = [[None; 4]; 2];
            results[0][earlier] = Some(0);
            results[1][first] = Some(1);
            results[1][second] = Some(name);
            let reads = Intent { issues: [looks_up.clone(), None], room: 2, ..Intent::default() };
            let issues = results.map(instruction);
            let cycles = [Intent { issues, room: 2, ..Intent::default() }, reads.clone(), reads];
            check(&table, Lockstep::default(), &cycles).unwrap();
        }
    }
}

#[test]
fn verilog() {
    let files = emit(&elaborate(&SMALL).unwrap()).modules;
    let text: Vec<String> = files.into_iter().map(|file| file.text).collect();
    insta::assert_snapshot!(text.join("\n"));
}

//! The register power unit beside its reference.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::greener::{RegisterPowerUnit, Rows};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::lookup_table::{Instruction, Intent as LookupIntent};
use super::register_power_unit_ref::{Access, Intent, PORTS, PowerReference};

fn units() -> impl Strategy<Value = RegisterPowerUnit> {
    let sizes = (1..4_usize, 1..5_usize, 1..5_usize, 1..5_usize, 1..5_usize, 0..3_usize);
    (sizes, 1..5_usize, 0..4_usize, 1..4_usize, 1..4_usize, 2..6_usize).prop_map(
        |(
            (banks, rows, warps, sleep_latency, off_latency, rush_limit),
            accesses,
            entries,
            operands,
            register_bits,
            number_bits,
        )| RegisterPowerUnit {
            file: Rows { banks, rows },
            warps,
            sleep_latency,
            off_latency,
            rush_limit,
            accesses,
            entries,
            operands,
            register_bits,
            number_bits,
        },
    )
}

fn accesses(unit: &RegisterPowerUnit) -> impl Strategy<Value = Access> + use<> {
    let rows = unit.file.rows_of_all();
    let who = (0..unit.warps, 0..1_usize << unit.register_bits, 0..1_usize << unit.number_bits, 0..rows);
    let codes = [0..4_usize, 0..4_usize, 0..4_usize];
    (who, any::<bool>(), prop::bool::weighted(0.8), codes, option::weighted(0.8, 0..3_usize)).prop_map(
        |((warp, register, number, row), writes, changes, codes, code)| Access {
            warp,
            register,
            number,
            row,
            writes,
            changes,
            codes,
            code,
        },
    )
}

fn lookups(unit: &RegisterPowerUnit) -> impl Strategy<Value = LookupIntent> + use<> {
    let (warps, numbers, registers) =
        (unit.warps, 1_usize << unit.number_bits, 1_usize << unit.register_bits);
    let instruction = (0..numbers, vec(0..registers, 0..=unit.operands))
        .prop_map(|(number, registers)| Instruction { number, registers });
    let enters = vec(option::weighted(0.6, (0..warps, instruction)), PORTS.0);
    let leaves = vec(option::weighted(0.3, (0..warps, 0..numbers)), PORTS.1);
    let flushes = prop_oneof![9 => Just(vec![]), 1 => vec(0..warps, 1..=warps)];
    (enters, leaves, flushes).prop_map(|(mut enters, leaves, flushes)| {
        for enter in &mut enters {
            *enter = enter.take().filter(|(warp, _)| !flushes.contains(warp));
        }
        LookupIntent { enters, searches: Vec::new(), leaves, flushes }
    })
}

fn traffic(cycles: usize) -> impl Strategy<Value = (RegisterPowerUnit, Vec<Intent>)> {
    units().prop_flat_map(move |unit| {
        let rows = unit.file.rows_of_all();
        let requested = btree_set(0..rows, 0..=rows);
        let freed = prop_oneof![9 => Just(BTreeSet::new()), 1 => btree_set(0..rows, 0..=rows)];
        let accesses = vec(option::weighted(0.7, accesses(&unit)), unit.accesses);
        let intent = (accesses, requested, freed, lookups(&unit))
            .prop_map(|(accesses, requested, freed, lookup)| Intent { accesses, requested, freed, lookup });
        (Just(unit), vec(intent, 1..cycles))
    })
}

fn check(unit: &RegisterPowerUnit, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(unit).unwrap(), &PowerReference::new(unit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(192))]
    #[test]
    fn rows_are_in_the_states_that_accesses_and_requests_leave_them_in((unit, cycles) in traffic(60)) {
        check(&unit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((unit, cycles) in traffic(40)) {
        check(&unit, Lockstep::with_verilog(), &cycles)?;
    }
}

const SMALL: RegisterPowerUnit = RegisterPowerUnit {
    file: Rows { banks: 2, rows: 2 },
    warps: 2,
    sleep_latency: 1,
    off_latency: 2,
    rush_limit: 0,
    accesses: 1,
    entries: 1,
    operands: 2,
    register_bits: 2,
    number_bits: 3,
};

const QUIET: Intent = Intent {
    accesses: Vec::new(),
    requested: BTreeSet::new(),
    freed: BTreeSet::new(),
    lookup: LookupIntent {
        enters: Vec::new(),
        searches: Vec::new(),
        leaves: Vec::new(),
        flushes: Vec::new(),
    },
};

/// A register that the compiler sends to SLEEP stays ON for a decoded instruction (Example 4.2.3), and for none that has left.
#[test]
fn a_row_sleeps_unless_a_decoded_instruction_accesses_it() {
    let access = Access {
        warp: 1,
        register: 2,
        number: 3,
        row: 1,
        writes: true,
        changes: true,
        codes: [1, 2, 2],
        code: Some(0),
    };
    let pad = |mut intent: Intent| {
        intent.accesses.resize(1, None);
        intent.lookup.enters.resize(PORTS.0, None);
        intent.lookup.leaves.resize(PORTS.1, None);
        intent
    };
    let requested = || Intent { requested: BTreeSet::from([1]), ..QUIET };
    let accessed = || Intent { accesses: vec![Some(access.clone())], ..QUIET };
    let instruction = Instruction { number: 4, registers: vec![2] };
    let decoded = LookupIntent { enters: vec![Some((1, instruction))], ..QUIET.lookup };
    let done = LookupIntent { leaves: vec![Some((1, 4))], ..QUIET.lookup };
    let cycles = [
        Intent { lookup: decoded, ..requested() },
        requested(),
        accessed(),
        accessed(),
        Intent { lookup: done, ..QUIET },
        accessed(),
        QUIET,
    ]
    .map(pad);
    check(&SMALL, Lockstep::default(), &cycles).unwrap();
}

#[test]
fn verilog() {
    let files = emit(&elaborate(&SMALL).unwrap()).modules;
    let text: Vec<String> = files.into_iter().map(|file| file.text).collect();
    insta::assert_snapshot!(text.join("\n"));
}

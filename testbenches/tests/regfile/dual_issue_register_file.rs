use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::regfile::{DualIssueRegisterFile, Geometry};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::dual_issue_register_file_ref::{DualIntent, DualIssueRegisterFileReference};
use super::operand_collectors::ready_units;
use super::traffic::{geometries, instructions, registers, writes};
use super::two_ports::{EIGHT_BANKS, TwoPorts};

const UNITS: usize = 3;

fn traffic(cycles: usize) -> impl Strategy<Value = (DualIssueRegisterFile, Vec<DualIntent>)> {
    let circuits =
        (geometries(), 2..6_usize, 3..6_usize).prop_map(|(geometry, collectors, access_cycles)| {
            DualIssueRegisterFile { geometry, collectors, access_cycles, id_bits: 6, units: UNITS }
        });
    circuits.prop_flat_map(move |circuit| {
        let Geometry { lanes, .. } = circuit.geometry;
        let registers = registers(circuit.geometry);
        let instruction = || instructions(UNITS, registers, lanes);
        let write = || option::weighted(0.4, writes(registers, lanes));
        let writes = [write(), write(), write()];
        let intent = ([instruction(), instruction()], writes, ready_units(UNITS))
            .prop_map(|(issues, writes, ready_units)| DualIntent { issues, writes, ready_units });
        (Just(circuit), vec(intent, 1..cycles))
    })
}

fn check(circuit: &DualIssueRegisterFile, how: Lockstep, cycles: &[DualIntent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &DualIssueRegisterFileReference::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn operands_are_what_the_registers_held_when_the_instruction_was_taken((circuit, cycles) in traffic(80)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in traffic(60)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}

/// A circuit of eight banks.
fn bench() -> TwoPorts {
    TwoPorts::new(&DualIssueRegisterFile {
        geometry: EIGHT_BANKS,
        collectors: 4,
        access_cycles: 3,
        id_bits: 6,
        units: UNITS,
    })
}

#[test]
fn two_instructions_a_cycle_go_in_and_come_out() {
    let mut bench = bench();
    let mut dispatched = Vec::new();
    for pair in 0..8 {
        if pair < 4 {
            bench.issue(0, 2 * pair, 0, 2 * pair);
            bench.issue(1, 2 * pair + 1, 1, 2 * pair + 1);
        }
        dispatched.push(bench.step());
    }
    let pairs = (0..4).map(|pair| [Some(2 * pair), Some(2 * pair + 1)]);
    let expected: Vec<_> = [[None; 2]; 2].into_iter().chain(pairs).chain([[None; 2]; 2]).collect();
    assert_eq!(dispatched, expected);
}

#[test]
fn a_unit_takes_one_instruction_a_cycle() {
    let mut bench = bench();
    bench.issue(0, 1, 2, 0);
    bench.issue(1, 2, 2, 1);
    let dispatched: Vec<_> = (0..4).map(|_| bench.step()).collect();
    assert_eq!(dispatched, [[None; 2], [None; 2], [Some(1), None], [None, Some(2)]]);
}

#[test]
fn the_second_instruction_never_goes_before_the_first() {
    let mut bench = bench();
    bench.set("unit_ready_i", 0);
    for id in 0..4 {
        bench.issue(0, 2 * id, 0, 0);
        bench.issue(1, 2 * id + 1, 0, 1);
        bench.step();
        assert_eq!(bench.ready(), [true, true]);
    }
    bench.issue(0, 8, 0, 0);
    bench.issue(1, 9, 0, 1);
    bench.step();
    assert_eq!(bench.ready(), [false, false], "both groups are full");
    // The first group has room again, the second has not.
    bench.set("unit_ready_i", 1);
    bench.step();
    bench.set("unit_ready_i", 0);
    bench.issue(0, 8, 0, 0);
    bench.issue(1, 9, 0, 1);
    bench.step();
    assert_eq!(bench.ready(), [true, false]);
}

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::regfile::{ExtraRead, Geometry, TwoSchedulerRegisterFile};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::operand_collectors::ready_units;
use super::traffic::{geometries, instructions, registers, writes};
use super::two_ports::{EIGHT_BANKS, TwoPorts};
use super::two_scheduler_register_file_ref::{TwoSchedulerIntent, TwoSchedulerRegisterFileReference};

const UNITS: usize = 3;

fn traffic(cycles: usize) -> impl Strategy<Value = (TwoSchedulerRegisterFile, Vec<TwoSchedulerIntent>)> {
    let extra_reads = prop_oneof![
        Just(ExtraRead::None),
        Just(ExtraRead::AfterOperands),
        Just(ExtraRead::InTurn),
        Just(ExtraRead::BeforeOperands),
    ];
    let circuits = (geometries(), 2..6_usize, 3..6_usize, extra_reads).prop_map(
        |(geometry, collectors, access_cycles, extra_read)| TwoSchedulerRegisterFile {
            geometry,
            collectors,
            access_cycles,
            id_bits: 6,
            units: UNITS,
            extra_read,
        },
    );
    circuits.prop_flat_map(move |circuit| {
        let Geometry { lanes, .. } = circuit.geometry;
        let registers = registers(circuit.geometry);
        let instruction = || instructions(UNITS, registers, lanes);
        let write = || option::weighted(0.4, writes(registers, lanes));
        let writes = [write(), write(), write()];
        let extra = || option::weighted(0.5, 0..registers);
        let units = (ready_units(UNITS), ready_units(UNITS));
        let intent = ([instruction(), instruction()], writes, units, [extra(), extra()]).prop_map(
            |(issues, writes, (ready_units, take_two), extra_reads)| TwoSchedulerIntent {
                issues,
                writes,
                ready_units,
                take_two,
                extra_reads,
            },
        );
        (Just(circuit), vec(intent, 1..cycles))
    })
}

fn check(
    circuit: &TwoSchedulerRegisterFile,
    how: Lockstep,
    cycles: &[TwoSchedulerIntent],
) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &TwoSchedulerRegisterFileReference::new(circuit), cycles)
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
    TwoPorts::new(&TwoSchedulerRegisterFile {
        geometry: EIGHT_BANKS,
        collectors: 4,
        access_cycles: 3,
        id_bits: 6,
        units: UNITS,
        extra_read: ExtraRead::None,
    })
}

#[test]
fn a_scheduler_does_not_wait_for_the_other() {
    let mut bench = bench();
    let mut dispatched = Vec::new();
    for id in 0..8 {
        if id < 5 {
            bench.issue(1, id, 0, id);
        }
        dispatched.extend(bench.step().into_iter().flatten());
    }
    assert_eq!(dispatched, [0, 1, 2, 3, 4], "one a cycle, with nothing of the first scheduler");
}

#[test]
fn both_schedulers_instructions_read_in_one_cycle() {
    let mut bench = bench();
    bench.set("unit_takes_two_i", 0b001);
    let mut dispatched = Vec::new();
    for pair in 0..7 {
        if pair < 4 {
            bench.issue(0, 2 * pair, 0, 2 * pair);
            bench.issue(1, 2 * pair + 1, 0, 2 * pair + 1);
        }
        let mut both: Vec<u64> = bench.step().into_iter().flatten().collect();
        both.sort_unstable();
        dispatched.push(both);
    }
    let none = || Vec::<u64>::new();
    assert_eq!(dispatched, [none(), none(), vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7], none()]);
}

#[test]
fn a_unit_that_does_not_take_two_takes_one() {
    let mut bench = bench();
    bench.set("unit_takes_two_i", 0b011);
    bench.issue(0, 1, 2, 0);
    bench.issue(1, 2, 2, 1);
    let dispatched: Vec<_> = (0..4).map(|_| bench.step()).collect();
    assert_eq!(dispatched, [[None; 2], [None; 2], [Some(1), None], [None, Some(2)]]);
}

#[test]
fn a_scheduler_whose_group_is_full_is_offered_the_other() {
    let mut bench = bench();
    bench.set("unit_ready_i", 0);
    // One instruction a cycle, of the scheduler whose group is the first, which has four collectors.
    for id in 0..4 {
        let scheduler = id as usize % 2;
        bench.issue(scheduler, id, 0, 0);
        bench.step();
        assert!(bench.ready()[scheduler]);
    }
    bench.issue(0, 4, 0, 0);
    bench.step();
    assert_eq!(bench.ready(), [false, true], "the first group is full");
    bench.issue(0, 4, 0, 0);
    bench.step();
    assert_eq!(bench.ready(), [true, false], "the other has room");
}

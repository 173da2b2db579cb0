use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regfile::{ExtraRead, Geometry, TwoSchedulerRegisterFile};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::offers_ref::Instruction;
use super::operand_collectors::ready_units;
use super::traffic::{geometries, masks, registers, writes};
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
        let source = || option::weighted(0.8, 0..registers);
        let instruction = || {
            let instruction = (0..64_usize, 0..UNITS, masks(lanes), [source(), source(), source()])
                .prop_map(|(id, unit, active, sources)| Instruction { id, unit, active, sources });
            option::weighted(0.7, instruction)
        };
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

/// A circuit of eight banks, driven by hand.
struct Bench {
    engine: Interpreter,
}

impl Bench {
    fn new() -> Bench {
        let geometry = Geometry { banks: 8, rows: 4, ..Geometry::GEBHART_2011 };
        let circuit = TwoSchedulerRegisterFile {
            geometry,
            collectors: 4,
            access_cycles: 3,
            id_bits: 6,
            units: UNITS,
            extra_read: ExtraRead::None,
        };
        let engine = Interpreter::new(&elaborate(&circuit).unwrap(), &Options::checked()).unwrap();
        let mut bench = Bench { engine };
        bench.set("unit_ready_i", 0b111);
        bench
    }

    fn set(&mut self, port: &str, value: u64) {
        self.engine.set(self.engine.input(port).unwrap(), value);
    }

    fn get(&self, port: &str) -> u64 {
        self.engine.get(self.engine.output(port).unwrap())
    }

    /// A scheduler offers an instruction that reads one register in the cycle to come.
    fn issue(&mut self, scheduler: usize, id: u64, unit: u64, register: u64) {
        for (name, value) in
            [("valid", 1), ("id", id), ("unit", unit), ("active", 0xffff_ffff), ("source0_valid", 1)]
        {
            self.set(&format!("issue{scheduler}_{name}_i"), value);
        }
        self.set(&format!("issue{scheduler}_source0_register_i"), register);
    }

    /// Runs a cycle and ends the offers; whether each scheduler's would be taken, and the instructions dispatched.
    fn step(&mut self) -> ([bool; 2], Vec<u64>) {
        self.engine.step();
        self.set("issue0_valid_i", 0);
        self.set("issue1_valid_i", 0);
        let is_dispatched = |port: &usize| self.get(&format!("dispatch{port}_valid_o")) == 1;
        let dispatched = (0..2).filter(is_dispatched).map(|port| self.get(&format!("dispatch{port}_id_o")));
        ([0, 1].map(|scheduler| self.get(&format!("issue{scheduler}_ready_o")) == 1), dispatched.collect())
    }
}

#[test]
fn a_scheduler_does_not_wait_for_the_other() {
    let mut bench = Bench::new();
    let mut dispatched = Vec::new();
    for id in 0..8 {
        if id < 5 {
            bench.issue(1, id, 0, id);
        }
        dispatched.extend(bench.step().1);
    }
    assert_eq!(dispatched, [0, 1, 2, 3, 4], "one a cycle, with nothing of the first scheduler");
}

#[test]
fn both_schedulers_instructions_read_in_one_cycle() {
    let mut bench = Bench::new();
    bench.set("unit_takes_two_i", 0b001);
    let mut dispatched = Vec::new();
    for pair in 0..7 {
        if pair < 4 {
            bench.issue(0, 2 * pair, 0, 2 * pair);
            bench.issue(1, 2 * pair + 1, 0, 2 * pair + 1);
        }
        let mut both = bench.step().1;
        both.sort_unstable();
        dispatched.push(both);
    }
    let none = || Vec::<u64>::new();
    assert_eq!(dispatched, [none(), none(), vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7], none()]);
}

#[test]
fn a_unit_that_does_not_take_two_takes_one() {
    let mut bench = Bench::new();
    bench.set("unit_takes_two_i", 0b011);
    bench.issue(0, 1, 2, 0);
    bench.issue(1, 2, 2, 1);
    let dispatched: Vec<_> = (0..4).map(|_| bench.step().1).collect();
    assert_eq!(dispatched, [vec![], vec![], vec![1], vec![2]]);
}

#[test]
fn a_scheduler_whose_group_is_full_is_offered_the_other() {
    let mut bench = Bench::new();
    bench.set("unit_ready_i", 0);
    // One instruction a cycle, of the scheduler whose group is the first, which has four collectors.
    for id in 0..4 {
        let scheduler = id as usize % 2;
        bench.issue(scheduler, id, 0, 0);
        assert!(bench.step().0[scheduler]);
    }
    bench.issue(0, 4, 0, 0);
    assert_eq!(bench.step().0, [false, true], "the first group is full");
    bench.issue(0, 4, 0, 0);
    assert_eq!(bench.step().0, [true, false], "the other has room");
}

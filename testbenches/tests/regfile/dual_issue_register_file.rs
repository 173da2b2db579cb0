use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regfile::{DualIssueRegisterFile, Geometry};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::dual_issue_register_file_ref::{DualIntent, DualIssueRegisterFileReference};
use super::offers_ref::Instruction;
use super::operand_collectors::ready_units;
use super::traffic::{geometries, masks, registers, writes};

const UNITS: usize = 3;

fn traffic(cycles: usize) -> impl Strategy<Value = (DualIssueRegisterFile, Vec<DualIntent>)> {
    let circuits =
        (geometries(), 2..6_usize, 3..6_usize).prop_map(|(geometry, collectors, access_cycles)| {
            DualIssueRegisterFile { geometry, collectors, access_cycles, id_bits: 6, units: UNITS }
        });
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

/// A circuit of eight banks, driven by hand.
struct Bench {
    engine: Interpreter,
}

impl Bench {
    fn new() -> Bench {
        let geometry = Geometry { banks: 8, rows: 4, ..Geometry::GEBHART_2011 };
        let circuit =
            DualIssueRegisterFile { geometry, collectors: 4, access_cycles: 3, id_bits: 6, units: UNITS };
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

    /// Offers an instruction that reads one register in the cycle to come.
    fn issue(&mut self, port: usize, id: u64, unit: u64, register: u64) {
        for (name, value) in
            [("valid", 1), ("id", id), ("unit", unit), ("active", 0xffff_ffff), ("source0_valid", 1)]
        {
            self.set(&format!("issue{port}_{name}_i"), value);
        }
        self.set(&format!("issue{port}_source0_register_i"), register);
    }

    /// Runs a cycle and ends the offers; the instructions dispatched.
    fn step(&mut self) -> [Option<u64>; 2] {
        self.engine.step();
        self.set("issue0_valid_i", 0);
        self.set("issue1_valid_i", 0);
        [0, 1].map(|port| {
            let dispatched = self.get(&format!("dispatch{port}_valid_o")) == 1;
            dispatched.then(|| self.get(&format!("dispatch{port}_id_o")))
        })
    }
}

#[test]
fn two_instructions_a_cycle_go_in_and_come_out() {
    let mut bench = Bench::new();
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
    let mut bench = Bench::new();
    bench.issue(0, 1, 2, 0);
    bench.issue(1, 2, 2, 1);
    let dispatched: Vec<_> = (0..4).map(|_| bench.step()).collect();
    assert_eq!(dispatched, [[None; 2], [None; 2], [Some(1), None], [None, Some(2)]]);
}

#[test]
fn the_second_instruction_never_goes_before_the_first() {
    let mut bench = Bench::new();
    bench.set("unit_ready_i", 0);
    for id in 0..4 {
        bench.issue(0, 2 * id, 0, 0);
        bench.issue(1, 2 * id + 1, 0, 1);
        bench.step();
        assert_eq!((bench.get("issue0_ready_o"), bench.get("issue1_ready_o")), (1, 1));
    }
    bench.issue(0, 8, 0, 0);
    bench.issue(1, 9, 0, 1);
    bench.step();
    assert_eq!((bench.get("issue0_ready_o"), bench.get("issue1_ready_o")), (0, 0), "both groups are full");
    // The first group has room again, the second has not.
    bench.set("unit_ready_i", 1);
    bench.step();
    bench.set("unit_ready_i", 0);
    bench.issue(0, 8, 0, 0);
    bench.issue(1, 9, 0, 1);
    bench.step();
    assert_eq!((bench.get("issue0_ready_o"), bench.get("issue1_ready_o")), (1, 0));
}

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regfile::{BankedRegisterFile, ExtraRead, Geometry};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::banked_register_file_ref::{BankedRegisterFileReference, Intent};
use super::offers_ref::Instruction;
use super::operand_collectors::ready_units;
use super::traffic::{geometries, masks, registers, writes};

const UNITS: usize = 3;

fn circuits() -> impl Strategy<Value = BankedRegisterFile> {
    let extra_read = prop_oneof![
        Just(ExtraRead::None),
        Just(ExtraRead::AfterOperands),
        Just(ExtraRead::InTurn),
        Just(ExtraRead::BeforeOperands),
    ];
    (geometries(), 2..6_usize, 3..6_usize, extra_read).prop_map(
        |(geometry, collectors, access_cycles, extra_read)| BankedRegisterFile {
            geometry,
            collectors,
            access_cycles,
            id_bits: 6,
            units: UNITS,
            extra_read,
        },
    )
}

fn traffic(cycles: usize) -> impl Strategy<Value = (BankedRegisterFile, Vec<Intent>)> {
    circuits().prop_flat_map(move |circuit| {
        let Geometry { lanes, .. } = circuit.geometry;
        let registers = registers(circuit.geometry);
        let source = || option::weighted(0.8, 0..registers);
        let instruction = (0..64_usize, 0..UNITS, masks(lanes), [source(), source(), source()])
            .prop_map(|(id, unit, active, sources)| Instruction { id, unit, active, sources });
        let write = || option::weighted(0.5, writes(registers, lanes));
        let extra_read = option::weighted(0.6, 0..registers);
        let intent = (option::weighted(0.8, instruction), [write(), write()], ready_units(UNITS), extra_read)
            .prop_map(|(issue, writes, ready_units, extra_read)| Intent {
                issue,
                writes,
                ready_units,
                extra_read,
            });
        (Just(circuit), vec(intent, 1..cycles))
    })
}

fn check(circuit: &BankedRegisterFile, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &BankedRegisterFileReference::new(circuit), cycles)
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

/// A register file of the paper's shape with few rows, driven by hand.
struct Bench {
    engine: Interpreter,
    cycle: u64,
}

/// Every unit.
const ALL_READY: u64 = 0b111;

impl Bench {
    fn new() -> Bench {
        let geometry = Geometry { rows: 8, ..Geometry::GEBHART_2011 };
        let circuit = BankedRegisterFile {
            geometry,
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: UNITS,
            extra_read: ExtraRead::None,
        };
        let engine = Interpreter::new(&elaborate(&circuit).unwrap(), &Options::checked()).unwrap();
        let mut bench = Bench { engine, cycle: 0 };
        bench.set("unit_ready_i", ALL_READY);
        bench
    }

    fn set(&mut self, port: &str, value: u64) {
        self.engine.set(self.engine.input(port).unwrap(), value);
    }

    fn get(&self, port: &str) -> u64 {
        self.engine.get(self.engine.output(port).unwrap())
    }

    /// Offers an instruction in the cycle to come.
    fn issue(&mut self, id: u64, unit: u64, sources: &[u64]) {
        self.set("issue_valid_i", 1);
        self.set("issue_id_i", id);
        self.set("issue_unit_i", unit);
        self.set("issue_active_i", 0xffff_ffff);
        for k in 0..3 {
            self.set(&format!("issue_source{k}_valid_i"), u64::from(k < sources.len()));
            self.set(&format!("issue_source{k}_register_i"), sources.get(k).copied().unwrap_or_default());
        }
    }

    /// Offers a result, lane `l` of it `value + l`.
    fn write(&mut self, register: u64, value: u32) {
        self.set("result_valid_i", 1);
        self.set("result_register_i", register);
        self.set("result_lanes_i", 0xffff_ffff);
        let lanes: Vec<u32> = (value..value + 32).collect();
        self.engine.set_lanes(self.engine.input("result_value_i").unwrap(), &lanes);
    }

    /// Runs a cycle and ends the offers.
    fn step(&mut self) {
        self.engine.step();
        self.cycle += 1;
        self.set("issue_valid_i", 0);
        self.set("result_valid_i", 0);
    }

    /// Runs until an instruction is dispatched; its cycle, from 0, and its number.
    fn dispatch(&mut self) -> (u64, u64) {
        for _ in 0..100 {
            self.step();
            if self.get("dispatch_valid_o") == 1 {
                return (self.cycle - 1, self.get("dispatch_id_o"));
            }
        }
        panic!("nothing is dispatched");
    }

    /// Values of an operand that is out.
    fn operand(&self, k: usize) -> Vec<u32> {
        let port = self.engine.output(&format!("operands_source{k}_o")).unwrap();
        (0..32).map(|lane| self.engine.lane(port, lane)).collect()
    }
}

#[test]
fn access_takes_three_cycles_wherever_the_operands_lie() {
    for sources in [&[][..], &[5], &[1, 2], &[4, 4], &[1, 2, 3], &[3, 7, 11], &[6, 6, 6], &[0, 4, 1]] {
        let mut bench = Bench::new();
        for &register in sources {
            bench.write(register, 100 * register as u32);
            bench.step();
        }
        let offered = bench.cycle;
        bench.issue(9, 0, sources);
        assert_eq!(bench.dispatch(), (offered + 2, 9), "{sources:?}");
        assert_eq!(bench.get("operands_valid_o"), 0);
        bench.step();
        assert_eq!((bench.get("operands_valid_o"), bench.get("operands_id_o")), (1, 9));
        for (k, &register) in sources.iter().enumerate() {
            let expected: Vec<u32> = (100 * register as u32..).take(32).collect();
            assert_eq!(bench.operand(k), expected, "{sources:?}");
        }
        bench.step();
        assert_eq!(bench.get("operands_valid_o"), 0);
    }
}

#[test]
fn an_instruction_that_arrives_leaves_the_port_to_one_that_waits() {
    let mut bench = Bench::new();
    bench.issue(1, 0, &[0, 4]);
    bench.step();
    bench.issue(2, 0, &[8]);
    bench.write(4, 100);
    bench.step();
    assert_eq!(bench.get("result_ready_o"), 0, "register 4 is read in this cycle");
    bench.write(8, 100);
    bench.step();
    assert_eq!(bench.get("result_ready_o"), 0, "register 8 in the next");
    assert_eq!(bench.get("dispatch_id_o"), 1);
    bench.write(8, 100);
    bench.step();
    assert_eq!(bench.get("result_ready_o"), 1);
    assert_eq!(bench.get("dispatch_id_o"), 2);
}

#[test]
fn of_instructions_that_can_leave_the_oldest_does() {
    let mut bench = Bench::new();
    bench.set("unit_ready_i", 0b100);
    for (id, unit) in [(1, 0), (2, 2), (3, 0), (4, 1)] {
        bench.issue(id, unit, &[id]);
        bench.step();
    }
    assert_eq!(bench.get("dispatch_id_o"), 2, "the others' units are busy");
    bench.step();
    bench.set("unit_ready_i", ALL_READY);
    assert_eq!([bench.dispatch().1, bench.dispatch().1, bench.dispatch().1], [1, 3, 4]);
}

#[test]
fn a_write_waits_until_an_earlier_instruction_has_read_the_register() {
    let mut bench = Bench::new();
    bench.write(8, 100);
    bench.step();
    bench.issue(1, 0, &[0, 4, 8]);
    bench.step();
    let is_written = (0..3).map(|_| {
        bench.write(8, 500);
        bench.step();
        bench.get("result_ready_o")
    });
    let is_written: Vec<u64> = is_written.collect();
    assert_eq!(is_written, [0, 0, 1], "register 8 is the third to be read from its bank");
    assert_eq!(bench.get("operands_valid_o"), 1);
    assert_eq!(bench.operand(2)[31], 131, "the old value");
    bench.issue(2, 0, &[8]);
    bench.dispatch();
    bench.step();
    assert_eq!(bench.operand(0)[31], 531, "the new value");
}

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regfile::Geometry;
use warpfile_hdl::reuse::ReuseRegisterFile;
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::reuse_register_file_ref::{ReuseIntent, ReuseRegisterFileReference};
use crate::regfile::offers_ref::Instruction;
use crate::regfile::operand_collectors::ready_units;
use crate::regfile::traffic::{Write, geometries, masks, registers, writes};

const UNITS: usize = 3;

fn traffic<const WRITERS: usize>(
    cycles: usize,
) -> impl Strategy<Value = (ReuseRegisterFile, Vec<ReuseIntent<WRITERS>>)> {
    let issues = WRITERS - 1;
    let circuits = (geometries(), 2..6_usize, 3..6_usize, any::<bool>()).prop_map(
        move |(geometry, collectors, access_cycles, drops_written)| ReuseRegisterFile {
            geometry,
            collectors,
            access_cycles,
            id_bits: 6,
            units: UNITS,
            drops_written: drops_written || issues > 1,
            issues,
        },
    );
    (circuits, any::<bool>()).prop_flat_map(move |(circuit, few)| {
        let Geometry { lanes, .. } = circuit.geometry;
        let all = registers(circuit.geometry);
        let registers = if few { all.min(6) } else { all };
        let source = move || option::weighted(0.8, 0..registers);
        let instruction = move || {
            let instruction = (0..64_usize, 0..UNITS, masks(lanes), [source(), source(), source()])
                .prop_map(|(id, unit, active, sources)| Instruction { id, unit, active, sources });
            option::weighted(0.8, instruction)
        };
        let write = move || option::weighted(0.3, writes(registers, lanes)).boxed();
        let writes: [BoxedStrategy<Option<Write>>; WRITERS] = std::array::from_fn(|_| write());
        let intent = ([instruction(), instruction()], writes, ready_units(UNITS))
            .prop_map(|(issues, writes, ready_units)| ReuseIntent { issues, writes, ready_units });
        (Just(circuit), vec(intent, 1..cycles))
    })
}

fn check<const WRITERS: usize>(
    circuit: &ReuseRegisterFile,
    how: Lockstep,
    cycles: &[ReuseIntent<WRITERS>],
) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &ReuseRegisterFileReference::<WRITERS>::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn operands_are_what_was_read_or_kept((circuit, cycles) in traffic::<2>(80)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }

    #[test]
    fn operands_of_two_instructions_a_cycle_are_what_the_registers_held((circuit, cycles) in traffic::<3>(80)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in traffic::<2>(60)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }

    #[test]
    fn the_verilog_for_two_instructions_does_the_same((circuit, cycles) in traffic::<3>(50)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}

/// A register file of two banks, driven by hand.
struct Bench {
    engine: Interpreter,
}

/// An operand: its register, and whether it is kept.
type Operand = (u64, bool);

impl Bench {
    fn new() -> Bench {
        let geometry = Geometry { banks: 2, rows: 8, ..Geometry::GEBHART_2011 };
        let circuit = ReuseRegisterFile {
            geometry,
            collectors: 4,
            access_cycles: 3,
            id_bits: 6,
            units: UNITS,
            drops_written: false,
            issues: 1,
        };
        let engine = Interpreter::new(&elaborate(&circuit).unwrap(), &Options::checked()).unwrap();
        let mut bench = Bench { engine };
        bench.set("unit_ready_i", 0b111);
        bench
    }

    fn set(&mut self, port: &str, value: u64) {
        self.engine.set(self.engine.input(port).unwrap(), value);
    }

    /// Offers an instruction in the cycle to come.
    fn issue(&mut self, sources: &[Operand]) {
        self.set("issue_valid_i", 1);
        self.set("issue_active_i", 0xffff_ffff);
        for k in 0..3 {
            let (register, keep) = sources.get(k).copied().unwrap_or_default();
            self.set(&format!("issue_source{k}_valid_i"), u64::from(k < sources.len()));
            self.set(&format!("issue_source{k}_register_i"), register);
            self.set(&format!("issue_source{k}_keep_i"), u64::from(keep));
        }
    }

    /// Runs instructions one after the other; reads of the banks, and operands taken where they were kept.
    fn run(&mut self, instructions: &[&[Operand]]) -> (u64, u64) {
        for sources in instructions {
            self.issue(sources);
            self.engine.step();
        }
        self.set("issue_valid_i", 0);
        (0..8).for_each(|_| self.engine.step());
        let ports = self.engine.activity().ports;
        let of = |table: &str, kind: &str| {
            let belongs = |path: &str| path.contains(table) && path.ends_with(kind);
            ports.iter().filter(|port| belongs(&port.path)).map(|port| port.cycles).sum()
        };
        (of("registers", "operand"), of("values", "reuse"))
    }
}

/// Listing 4. R3, R7 and R13 are of the other bank than R2, R4, R8, R10 and R12.
#[test]
fn operands_are_found_and_missed_as_in_listing_4() {
    let run = |second: &[Operand]| {
        let mut bench = Bench::new();
        bench.run(&[&[(2, true), (3, false), (4, false)], second, &[(2, false), (12, false), (13, false)]])
    };
    assert_eq!(
        run(&[(2, false), (7, false), (8, false)]),
        (8, 1),
        "example 1: R2 hits and becomes unavailable"
    );
    assert_eq!(run(&[(2, true), (7, false), (8, false)]), (7, 2), "example 2: R2 hits and is retained");
    assert_eq!(
        run(&[(7, false), (2, false), (8, false)]),
        (8, 1),
        "example 3: R2 remains in the first position"
    );
    assert_eq!(
        run(&[(4, false), (7, false), (8, false)]),
        (9, 0),
        "example 4: R4 misses, R2 becomes unavailable"
    );
}

/// Three operands of one bank take its port for three cycles, and two if one of them is kept.
#[test]
fn an_operand_that_is_kept_saves_a_conflict() {
    let dispatched = |keep: bool| {
        let mut bench = Bench::new();
        let mut cycles = Vec::new();
        for cycle in 0..20 {
            match cycle {
                0..6 => bench.issue(&[(2, keep), (4, false), (6, false)]),
                _ => bench.set("issue_valid_i", 0),
            }
            bench.engine.step();
            let valid = bench.engine.output("dispatch_valid_o").unwrap();
            cycles.extend((bench.engine.get(valid) == 1).then_some(cycle));
        }
        cycles
    };
    let (without, with) = (dispatched(false), dispatched(true));
    assert!(with.last() < without.last(), "{with:?} and {without:?}");
}

//! Both engines and the printed Verilog agree on every operation, and random netlists are clean for the tools.

use num_bigint::BigUint;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use warpfile_gen::{Style as Printed, emit_in};
use warpfile_hdl::rtl::index_bits;
use warpfile_hdl::rtl::netlist::*;
use warpfile_random::{Case, Constants, Names, Recipe, Size, Style, cases, config};
use warpfile_testbenches::lint::lint;
use warpfile_testbenches::lockstep::Difference;
use warpfile_testbenches::testbench::Stimulus;
use warpfile_testbenches::witness::{Witnessed, simulate_with_verilator, verilog_equals_engines};
use warpfile_verify::lockstep::Simulator;

/// All that is computed can be seen from outside.
const SEEN: Style = Style {
    constants: Constants::Extreme,
    names: Names::Few,
    unused_to_outputs: true,
    all_fields_written: false,
};

const NARROW: Size = Size { nodes: 60, widest: 200, deepest: 70, modules: 3 };

const WIDE: Size = Size { nodes: 40, widest: 2100, deepest: 33, modules: 2 };

const CLEAN: Size = Size { nodes: 60, widest: 200, deepest: 9, modules: 1 };

/// Few rows: a build takes its time for each row that has an initial value.
const SHALLOW: Size = Size { nodes: 40, widest: 140, deepest: 9, modules: 2 };

fn stimuli(case: &Case) -> Vec<Stimulus> {
    let stimulus =
        |cycle: &warpfile_random::Cycle| Stimulus { reset: cycle.reset, inputs: cycle.inputs.clone() };
    case.cycles.iter().map(stimulus).collect()
}

/// Every style is tried on about as many cases.
fn printed(case: &Case) -> Printed {
    Printed::ALL[(case.seed % 2) as usize]
}

/// The modules as printed, to read beside the netlist of a failing test.
fn verilog(case: &Case) -> String {
    emit_in(&case.netlist, printed(case)).modules.iter().map(|file| file.text.as_str()).collect()
}

fn icarus_agrees(case: &Case) -> Result<(), TestCaseError> {
    verilog_equals_engines(&case.netlist, printed(case), case.seed, &stimuli(case))
        .map_err(|difference| TestCaseError::fail(format!("{difference}\n{}", verilog(case))))
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn engines_and_icarus_agree_on_random_netlists(case in cases(NARROW, SEEN, 40)) {
        icarus_agrees(&case)?;
    }
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn engines_and_icarus_agree_on_wide_values(case in cases(WIDE, SEEN, 20)) {
        icarus_agrees(&case)?;
    }
}

/// The number of the lowest 1 of `value`, under names that functions of halves would have.
fn lowest_one(bits: u32) -> Netlist {
    let width = index_bits(bits as usize) as u32;
    let port = |name: &str, direction, width, driver| Port {
        name: name.to_owned(),
        direction,
        width,
        driver,
        valid_when: None,
    };
    let node = |op, width| Node { op, width, name: None, source: SourceLine { file: "test", line: 1 } };
    let module = Module {
        name: "priority_encode".to_owned(),
        doc: String::new(),
        parameters: Vec::new(),
        ports: vec![
            port("value", Direction::Input, bits, None),
            port("lowest_2", Direction::Output, width, Some(NodeId(1))),
        ],
        nodes: vec![node(Op::Input(PortId(0)), bits), node(Op::PriorityEncode(NodeId(0)), width)],
        registers: Vec::new(),
        tables: Vec::new(),
        instances: Vec::new(),
        invariants: Vec::new(),
    };
    Netlist { modules: vec![module], top: ModuleId(0) }
}

/// Every bit alone, and with all above it, where a vector falls into halves of every kind; and no bit.
#[test]
fn the_lowest_one_of_any_width_is_found() {
    for bits in [2, 3, 4, 5, 7, 8, 9, 31, 33, 63, 64, 65, 129, 511, 513] {
        let netlist = lowest_one(bits);
        let all = (BigUint::from(1u8) << bits) - 1u8;
        let of_bit = |bit: u32| [BigUint::from(1u8) << bit, (&all >> bit) << bit];
        let values = (0..bits).flat_map(of_bit).chain(std::iter::once(BigUint::ZERO));
        let cycles: Vec<_> = values.map(|value| Stimulus { reset: false, inputs: vec![value] }).collect();
        for printed in Printed::ALL {
            verilog_equals_engines(&netlist, printed, 1, &cycles)
                .unwrap_or_else(|difference| panic!("{bits} bits, {}: {difference}", printed.name()));
        }
    }
}

/// Runs every case; the index of the first that Verilator sees differently, with the difference.
fn first_difference(cases: &[Case]) -> Result<(), (usize, Difference)> {
    let stimuli: Vec<_> = cases.iter().map(stimuli).collect();
    let circuits: Vec<_> = (cases.iter().zip(&stimuli))
        .map(|(case, stimuli)| Witnessed::new(&case.netlist, printed(case), case.seed, stimuli).unwrap())
        .collect();
    let simulated = simulate_with_verilator(&circuits).unwrap();
    for (index, (circuit, simulated)) in circuits.iter().zip(&simulated).enumerate() {
        circuit.compare(simulated, Simulator::Verilator).map_err(|difference| (index, difference))?;
    }
    Ok(())
}

/// Builds that shrinking a failing netlist may take.
const SHRINKING_BUILDS: usize = 60;

/// A smaller case that Verilator still sees differently, and how.
fn shrunk(mut tree: impl ValueTree<Value = Case>, difference: Difference) -> (Case, Difference) {
    let mut smallest = (tree.current(), difference);
    let mut goes_on = tree.simplify();
    for _ in 0..SHRINKING_BUILDS {
        if !goes_on {
            break;
        }
        let case = tree.current();
        goes_on = match first_difference(std::slice::from_ref(&case)) {
            Ok(()) => tree.complicate(),
            Err((_, difference)) => {
                smallest = (case, difference);
                tree.simplify()
            }
        };
    }
    smallest
}

/// Batches of random netlists, each one build.
fn verilator_agrees(batches: u32, netlists: usize, size: Size, cycles: usize) {
    let config = config(batches);
    let batches = config.cases;
    let mut runner = TestRunner::new(config);
    let strategy = cases(size, SEEN, cycles);
    for _ in 0..batches {
        let mut trees: Vec<_> = (0..netlists).map(|_| strategy.new_tree(&mut runner).unwrap()).collect();
        let cases: Vec<Case> = trees.iter().map(|tree| tree.current()).collect();
        if let Err((index, difference)) = first_difference(&cases) {
            let (case, difference) = shrunk(trees.swap_remove(index), difference);
            panic!("{difference}\n{case:?}\n{}", verilog(&case));
        }
    }
}

#[test]
fn engines_and_verilator_agree_on_random_netlists() {
    verilator_agrees(1, 12, SHALLOW, 40);
}

// Always the same netlists: what a tool warns of is its own affair, and must not come and go.
proptest! {
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 60,
        rng_seed: RngSeed::Fixed(2011),
        failure_persistence: None,
        ..ProptestConfig::with_cases(12)
    })]
    #[test]
    fn random_netlists_are_clean_for_the_three_tools(mut recipe in Recipe::any(CLEAN)) {
        // Circuits have few; a module whose state only they read is nothing that a tool leaves without a warning.
        recipe.modules.iter_mut().for_each(|module| module.invariants.clear());
        let style = Style { constants: Constants::Moderate, all_fields_written: true, ..SEEN };
        for printed in Printed::ALL {
            let files = emit_in(&recipe.netlist(style), printed);
            let warnings = lint(&files).unwrap();
            prop_assert!(warnings.is_empty(), "{}\n{}", warnings.join("\n"), files.modules[0].text);
        }
    }
}

//! Random netlists in the engine and in the naive evaluator: every node, register, row and counter, every
//! cycle.

use num_bigint::BigUint;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Observe, Options};
use warpfile_hdl::rtl::netlist::{Direction, Netlist, NodeId};
use warpfile_random::{Case, Constants, Cycle, Names, Random, Recipe, Size, Style, cases, config, inputs_of};

use crate::naive::{Initial, Naive};

/// Every node is named, so that it can be compared.
pub(crate) const NAMED: Style = Style {
    constants: Constants::Extreme,
    names: Names::All,
    unused_to_outputs: false,
    all_fields_written: false,
};

/// Many small values in several levels of sub-circuits.
pub(crate) const NARROW: Size = Size { nodes: 100, widest: 200, deepest: 128, modules: 3 };

/// Values of up to 33 words.
pub(crate) const WIDE: Size = Size { nodes: 50, widest: 2100, deepest: 70, modules: 2 };

impl Initial for Interpreter {
    fn signal(&self, path: &str) -> BigUint {
        self.peek(path).expect("observed")
    }

    fn row(&self, table: &str, row: u32, field: &str) -> BigUint {
        self.peek_row(table, row, field).expect("a row")
    }
}

/// A netlist for tests of something else, the same for the same numbers.
pub(crate) fn netlist(seed: u64, nodes: usize, modules: usize) -> Netlist {
    Recipe::from_seed(seed, Size { nodes, widest: 150, deepest: 70, modules }).netlist(NAMED)
}

/// Sets random inputs.
pub(crate) fn drive(random: &mut Random, netlist: &Netlist, engine: &mut dyn Engine) {
    for (name, width) in inputs_of(netlist) {
        let port = engine.input(name).expect("an input");
        engine.set_big(port, &random.bits(width).to_biguint());
    }
}

/// Sets the reset and the inputs of a cycle.
pub(crate) fn apply(cycle: &Cycle, netlist: &Netlist, engine: &mut dyn Engine) {
    engine.set_reset(cycle.reset);
    for ((name, _), value) in inputs_of(netlist).zip(&cycle.inputs) {
        let port = engine.input(name).expect("an input");
        engine.set_big(port, value);
    }
}

/// What is not equal, as the message of the failing test.
pub(crate) type Outcome = Result<(), TestCaseError>;

fn compare(naive: &mut Naive, engine: &Interpreter) -> Outcome {
    for c in 0..naive.circuits.len() {
        let (module, path) = (naive.module(c), naive.circuits[c].path.clone());
        for (index, node) in module.nodes.iter().enumerate() {
            let name = format!("{path}n{index}");
            let expected = naive.value(c, NodeId(index as u32));
            prop_assert_eq!(engine.peek(&name), Ok(expected), "{}: {:?}, {} bits", name, node.op, node.width);
        }
        for (index, register) in module.registers.iter().enumerate() {
            let name = format!("{path}{}_q", register.name);
            prop_assert_eq!(engine.peek(&name), Ok(naive.register(c, index).clone()), "{}", name);
        }
        for (index, table) in module.tables.iter().enumerate() {
            let name = format!("{path}{}", table.name);
            for row in 0..table.depth {
                for (number, field) in table.fields.iter().enumerate() {
                    let found = engine.peek_row(&name, row, &field.name);
                    let expected = naive.row(c, index, row as usize, number);
                    prop_assert_eq!(found.as_ref(), Ok(expected), "{}[{}].{}", name, row, field.name);
                }
            }
        }
    }
    Ok(())
}

fn lockstep(case: &Case) -> Outcome {
    let Case { netlist, seed, cycles } = case;
    let options = Options { seed: *seed, ..Options::checked() };
    let mut engine = Interpreter::new(netlist, &options).expect("a sound netlist");
    let mut naive = Naive::new(netlist, &engine);
    for (number, cycle) in (1..).zip(cycles) {
        apply(cycle, netlist, &mut engine);
        let names = inputs_of(netlist).map(|(name, _)| name.to_owned());
        naive.begin(names.zip(cycle.inputs.iter().cloned()).collect());
        engine.step();
        compare(&mut naive, &engine)?;
        prop_assert_eq!(engine.cycle(), number);
        naive.edge(cycle.reset);
    }
    compare_activity(&naive, &engine)
}

fn compare_activity(naive: &Naive, engine: &Interpreter) -> Outcome {
    for (path, &(cycles, arrays)) in &naive.activity {
        let handle = engine.activity_handle(path).expect("a port");
        let count = engine.activity_count(handle);
        prop_assert_eq!((count.cycles, count.arrays), (cycles, arrays), "{}", path);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn the_engine_equals_the_naive_evaluator(case in cases(NARROW, NAMED, 12)) {
        lockstep(&case)?;
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn wide_values_equal_the_naive_evaluator(case in cases(WIDE, NAMED, 6)) {
        lockstep(&case)?;
    }

    #[test]
    fn what_is_observed_changes_neither_outputs_nor_activity(case in cases(NARROW, NAMED, 20)) {
        let netlist = &case.netlist;
        let mut engines = [Observe::All, Observe::State, Observe::Scopes(vec!["child0".to_owned()])]
            .map(|observe| Interpreter::new(netlist, &Options { observe, ..Options::default() }).expect("sound"));
        let top = &netlist.modules[netlist.top.index()];
        for cycle in &case.cycles {
            let mut seen = Vec::new();
            for engine in &mut engines {
                apply(cycle, netlist, engine);
                engine.step();
                let outputs = top.ports.iter().filter(|port| port.direction == Direction::Output);
                let values: Vec<_> = outputs.map(|port| engine.peek(&port.name)).collect();
                seen.push((values, engine.activity()));
            }
            prop_assert_eq!(&seen[0], &seen[1]);
            prop_assert_eq!(&seen[0], &seen[2]);
        }
    }

    #[test]
    fn a_restored_snapshot_continues_as_the_original_did(case in cases(NARROW, NAMED, 16)) {
        let mut engine = Interpreter::new(&case.netlist, &Options::checked()).expect("sound");
        let (first, second) = case.cycles.split_at(case.cycles.len() / 2);
        let run = |engine: &mut Interpreter, cycles: &[Cycle]| {
            for cycle in cycles {
                apply(cycle, &case.netlist, engine);
                engine.step();
            }
            engine.snapshot()
        };
        let middle = run(&mut engine, first);
        let end = run(&mut engine, second);
        engine.restore(&middle).expect("its own snapshot");
        prop_assert_eq!(run(&mut engine, second), end);
    }
}

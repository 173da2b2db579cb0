//! Random netlists in the engine and in the naive evaluator: every node, register, row and counter, every
//! cycle.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Observe, Options};
use warpfile_hdl::rtl::netlist::{Direction, Netlist, NodeId};

use crate::naive::{Initial, Naive};
use crate::random::{Random, Shape, netlist};

impl Initial for Interpreter {
    fn signal(&self, path: &str) -> BigUint {
        self.peek(path).expect("observed")
    }

    fn row(&self, table: &str, row: u32, field: &str) -> BigUint {
        self.peek_row(table, row, field).expect("a row")
    }
}

/// Random inputs for one cycle, set in the engine too.
pub(crate) fn drive(
    random: &mut Random,
    netlist: &Netlist,
    engine: &mut dyn Engine,
) -> BTreeMap<String, BigUint> {
    let ports = &netlist.modules[netlist.top.index()].ports;
    let inputs = ports.iter().filter(|port| port.direction == Direction::Input);
    inputs
        .map(|port| {
            let value = random.bits(port.width).to_biguint();
            let handle = engine.input(&port.name).expect("an input");
            engine.set_big(handle, &value);
            (port.name.clone(), value)
        })
        .collect()
}

fn compare(naive: &mut Naive, engine: &Interpreter) {
    for c in 0..naive.circuits.len() {
        let (module, path) = (naive.module(c), naive.circuits[c].path.clone());
        for (index, node) in module.nodes.iter().enumerate() {
            let name = format!("{path}n{index}");
            let expected = naive.value(c, NodeId(index as u32));
            assert_eq!(engine.peek(&name), Ok(expected), "{name}: {:?}, {} bits", node.op, node.width);
        }
        for (index, register) in module.registers.iter().enumerate() {
            let name = format!("{path}{}_q", register.name);
            assert_eq!(engine.peek(&name).as_ref(), Ok(naive.register(c, index)), "{name}");
        }
        for (index, table) in module.tables.iter().enumerate() {
            let name = format!("{path}{}", table.name);
            for row in 0..table.depth {
                for (number, field) in table.fields.iter().enumerate() {
                    let found = engine.peek_row(&name, row, &field.name);
                    let expected = naive.row(c, index, row as usize, number);
                    assert_eq!(found.as_ref(), Ok(expected), "{name}[{row}].{}", field.name);
                }
            }
        }
    }
}

fn lockstep(seed: u64, shape: Shape, cycles: u32) {
    let netlist = netlist(seed, shape);
    let options = Options { seed, ..Options::checked() };
    let mut engine = Interpreter::new(&netlist, &options).expect("a sound netlist");
    let mut naive = Naive::new(&netlist, &engine);
    let mut random = Random(!seed);
    for cycle in 0..cycles {
        naive.begin(drive(&mut random, &netlist, &mut engine));
        let reset = random.chance(10);
        engine.set_reset(reset);
        engine.step();
        compare(&mut naive, &engine);
        assert_eq!(engine.cycle(), u64::from(cycle) + 1);
        naive.edge(reset);
    }
    compare_activity(&naive, &engine);
}

fn compare_activity(naive: &Naive, engine: &Interpreter) {
    for (path, &(cycles, arrays)) in &naive.activity {
        let handle = engine.activity_handle(path).expect("a port");
        let count = engine.activity_count(handle);
        assert_eq!((count.cycles, count.arrays), (cycles, arrays), "{path}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_equals_the_naive_evaluator(seed in any::<u64>()) {
        lockstep(seed, Shape { nodes: 60, max_width: 200, levels: 2 }, 12);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wide_values_equal_the_naive_evaluator(seed in any::<u64>()) {
        lockstep(seed, Shape { nodes: 50, max_width: 2100, levels: 1 }, 6);
    }

    #[test]
    fn what_is_observed_changes_neither_outputs_nor_activity(seed in any::<u64>()) {
        let netlist = netlist(seed, Shape { nodes: 60, max_width: 200, levels: 2 });
        let mut engines = [Observe::All, Observe::State, Observe::Scopes(vec!["child0".to_owned()])]
            .map(|observe| Interpreter::new(&netlist, &Options { observe, ..Options::default() }).expect("sound"));
        let top = &netlist.modules[netlist.top.index()];
        for cycle in 0..20 {
            let mut seen = Vec::new();
            for engine in &mut engines {
                drive(&mut Random(seed ^ cycle), &netlist, engine);
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
    fn a_restored_snapshot_continues_as_the_original_did(seed in any::<u64>()) {
        let netlist = netlist(seed, Shape { nodes: 40, max_width: 100, levels: 1 });
        let mut engine = Interpreter::new(&netlist, &Options::checked()).expect("sound");
        let run = |engine: &mut Interpreter, from: u64| {
            for cycle in from..from + 8 {
                drive(&mut Random(seed ^ cycle), &netlist, engine);
                engine.step();
            }
            engine.snapshot()
        };
        let middle = run(&mut engine, 0);
        let end = run(&mut engine, 8);
        engine.restore(&middle).expect("its own snapshot");
        prop_assert_eq!(run(&mut engine, 8), end);
    }
}

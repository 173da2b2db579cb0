//! Gates beside the engine: what they compute, what they count, what that costs.

use serde_json::json;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_sim::energy::grid::Grid;
use warpfile_synthesis::activity::{Activity, GateSimulator};
use warpfile_synthesis::gates::Gates;
use warpfile_synthesis::liberty::{Library, Table};
use warpfile_synthesis::mapped::Design;
use warpfile_synthesis::power::{PowerReport, power};
use warpfile_synthesis::saif;
use warpfile_synthesis::sram::NODE_NM;
use warpfile_synthesis::yosys::Mapped;

use crate::tools::{Random, circuit, inputs, mapped, osu018, stimulus};

/// Gates of a circuit beside an engine of it under [`stimulus`].
pub fn beside(
    netlist: &Netlist,
    cycles: u64,
    quiet: u64,
    then: impl FnOnce(&Gates<'_>, &Activity, PowerReport),
) {
    let library = osu018();
    let (outlined, mapped) = mapped(netlist);
    let gates = Gates::flatten(&mapped, &mapped.top, &outlined.memories, &library).expect("cells are known");
    let options = Options { zeroed: true, ..Options::default() };
    let mut engine = Interpreter::new(netlist, &options).expect("it runs");
    let mut simulator =
        GateSimulator::new(&gates, &outlined.memories, &engine).expect("the ports are the same");
    for values in stimulus(netlist, cycles, quiet) {
        for (port, words) in inputs(netlist).zip(&values) {
            let input = engine.input(&port.name).expect("a port of the circuit");
            engine.set_words(input, words);
        }
        engine.step();
        simulator.cycle(&engine).expect("gates and engine agree");
    }
    let activity = simulator.activity();
    let grid = Grid::at(NODE_NM).expect("the project's runs");
    let report =
        power(&gates, &outlined.memories, &activity, (&library, &grid), 100.0, None).expect("in the grid");
    then(&gates, &activity, report);
}

#[test]
fn gates_compute_what_the_engine_does() {
    let uneven = json!({"banks": 2, "rows": 7, "lanes": 6, "lanes_per_cluster": 3});
    for (name, overrides) in [
        ("round_robin_arbiter", json!({"requests": 5})),
        ("fifo", json!({"depth": 5, "width": 3})),
        ("register_bank", json!({"rows": 100, "lanes": 6, "lanes_per_cluster": 3, "writers": 3})),
        ("two_level_scheduler", json!({"warps": 11, "slots": 3, "policy": "round-robin"})),
        ("main_register_file", json!({"geometry": uneven, "writers": 3})),
        ("pattern_matcher", json!({"lanes": 14})),
        // Its values are two arrays of flip-flops that are read in the same cycle.
        ("register_file_cache", json!({"slots": 2, "entries": 2, "lanes": 8, "lanes_per_cluster": 4})),
    ] {
        beside(&circuit(name, overrides), 300, 0, |_, activity, _| {
            assert_eq!(activity.cycles, 300, "{name}");
            assert!(activity.toggles.iter().sum::<u64>() > 300, "{name}");
        });
    }
}

#[test]
fn time_at_one_and_changes_of_a_port_are_those_that_were_driven() {
    let fifo = circuit("fifo", json!({"depth": 5, "width": 3}));
    beside(&fifo, 200, 0, |gates, activity, _| {
        // The same numbers again: the ports in their order, the data two words of which the first is used.
        let mut random = Random::default();
        let (mut last, mut ones, mut toggles) = (false, 0, 0);
        for _ in 0..200 {
            random.next();
            let valid = random.words(1)[0] == 1;
            random.words(3);
            random.words(1);
            toggles += u64::from(valid != last);
            ones += u64::from(valid);
            last = valid;
        }
        let net = gates.inputs["in_valid_i"][0] as usize;
        assert_eq!((activity.ones[net], activity.toggles[net]), (ones, toggles));
    });
}

#[test]
fn a_circuit_at_rest_costs_its_clock_pins_and_leakage() {
    let fifo = circuit("fifo", json!({"depth": 5, "width": 3}));
    beside(&fifo, 50, 8, |_, activity, report| {
        assert_eq!(activity.toggles.iter().sum::<u64>(), 0);
        assert_eq!((report.switching_mw, report.internal_mw), (0.0, 0.0));
        assert!(report.clock_pins_mw > 0.0 && report.leakage_mw > 0.0);
    });
}

#[test]
fn a_quieter_circuit_costs_less_and_kinds_add_up_to_the_whole() {
    let fifo = circuit("fifo", json!({"depth": 5, "width": 3}));
    let mut dynamic = Vec::new();
    for quiet in [0, 6] {
        beside(&fifo, 400, quiet, |_, _, report| {
            let kinds: f64 = report.kinds.values().map(|kind| kind.power_mw).sum();
            assert!((kinds - report.cells_mw).abs() < 1e-9 * report.cells_mw);
            dynamic.push(report.switching_mw + report.internal_mw);
        });
    }
    assert!(dynamic[1] < dynamic[0], "{dynamic:?}");
}

#[test]
fn memories_count_accesses_of_arrays_of_which_a_lane_is_wanted() {
    let bank =
        circuit("register_bank", json!({"rows": 100, "lanes": 6, "lanes_per_cluster": 3, "writers": 3}));
    beside(&bank, 400, 0, |gates, activity, report| {
        assert_eq!((gates.memories.len(), activity.memories.len()), (2, 2));
        // Half of the cycles read; of an array of three lanes none is wanted in one of eight.
        for uses in &activity.memories {
            assert!((120..=230).contains(&uses.reads), "{uses:?}");
            assert!((250..=400).contains(&uses.writes), "{uses:?}");
        }
        assert_eq!(report.memories.reads, activity.memories.iter().map(|uses| uses.reads).sum::<u64>());
        assert!(report.memories.access_mw > 0.0 && report.memories.leakage_mw > 0.0);
    });
}

#[test]
fn saif_says_what_was_counted() {
    let fifo = circuit("fifo", json!({"depth": 5, "width": 3}));
    beside(&fifo, 100, 0, |gates, activity, _| {
        let read = saif::read(&saif::write(gates, activity, 10)).expect("what was written");
        assert_eq!(read.duration, 1000);
        for (port, nets) in gates.inputs.iter().chain(&gates.outputs) {
            for (bit, &net) in nets.iter().enumerate() {
                let name = if nets.len() == 1 { port.clone() } else { format!("{port}[{bit}]") };
                let of = read.nets[&format!("fifo_5x3/{name}")];
                assert_eq!((of.zero + of.one, of.unknown), (1000, 0), "{name}");
                if port == "clk_i" {
                    assert_eq!((of.one, of.toggles), (500, 200));
                } else {
                    assert_eq!(
                        (of.one, of.toggles),
                        (10 * activity.ones[net as usize], activity.toggles[net as usize])
                    );
                }
            }
        }
    });
    assert_eq!(saif::read("(SAIFILE\nnonsense\n)").expect_err("no SAIF").line, 2);
}

/// An AND that drives an inverter, its power worked out by hand from the library's tables.
#[test]
fn power_of_two_gates_is_what_the_tables_say() {
    let json = r#"{"modules": {"pair": {
        "ports": {"a_i": {"direction": "input", "bits": [2]}, "b_i": {"direction": "input", "bits": [3]},
                  "y_o": {"direction": "output", "bits": [5]}},
        "cells": {"and": {"type": "AND2X1", "connections": {"A": [2], "B": [3], "Y": [4]}},
                  "not": {"type": "INVX1", "connections": {"A": [4], "Y": [5]}}},
        "netnames": {"a_i": {"bits": [2]}, "b_i": {"bits": [3]}, "y_o": {"bits": [5]}}}}}"#;
    let design: Design = serde_json::from_str(json).expect("as Yosys writes it");
    let mapped = Mapped { top: "pair".to_owned(), design, verilog: String::new() };
    let library = osu018();
    let gates = Gates::flatten(&mapped, "pair", &[], &library).expect("cells are known");
    assert_eq!((gates.depth(), gates.gates.len()), (2, 2));
    let net = |port: &str| gates.inputs.get(port).or(gates.outputs.get(port)).expect("a port")[0] as usize;
    let between = gates.gates[0].output as usize;
    let mut toggles = vec![0; gates.nets];
    // Every other change of A, with B at 1, and in the mean one change in two cycles.
    (toggles[net("a_i")], toggles[between], toggles[net("y_o")]) = (50, 50, 50);
    let activity = Activity { cycles: 100, ones: vec![0; gates.nets], toggles, memories: vec![] };
    let grid = Grid::at(NODE_NM).expect("the project's runs");
    let report = power(&gates, &[], &activity, (&library, &grid), 200.0, None).expect("no memory");

    let cell = |name: &str| &library.cells[name];
    let load = cell("INVX1").pins["A"].capacitance_pf;
    assert!((report.switching_mw - 0.5 * 0.5 * load * 1.8 * 1.8 * 200.0 * 1e-3).abs() < 1e-12);
    let energy = |library: &Library, name: &str, related: &str, load: f64, at: f64| {
        let internal = library.cells[name].pins["Y"].internal.iter();
        let mut of = internal.filter(|energy| energy.related.as_deref().unwrap_or("A") == related);
        let of = of.next().expect("a table");
        let [rise, fall] = [&of.rise, &of.fall].map(|table| table.as_ref().expect("a table").at(load, at));
        (rise + fall) / 2.0
    };
    let transitions = &cell("AND2X1").pins["Y"].transitions;
    let times =
        transitions.iter().flat_map(|t| [&t.rise, &t.fall]).flatten().map(|table| table.at(load, 0.06));
    let transition = times.sum::<f64>() / 4.0;
    let expected =
        0.5 * (energy(&library, "AND2X1", "A", load, 0.06) + energy(&library, "INVX1", "A", 0.0, transition));
    assert!((report.internal_mw - expected * 200.0 * 1e-3).abs() < 1e-12, "{report:?}");
    assert_eq!(report.leakage_mw, cell("AND2X1").leakage_mw + cell("INVX1").leakage_mw);
    assert_eq!(report.clock_pins_mw, 0.0);
}

#[test]
fn a_net_of_a_thousand_loads_changes_as_slowly_as_the_largest_load_that_its_cell_was_characterised_for() {
    const LOADS: usize = 1000;
    let inverters: Vec<String> = (0..LOADS)
        .map(|n| format!(r#""load{n}": {{"type": "INVX1", "connections": {{"A": [3], "Y": [{}]}}}}"#, 4 + n))
        .collect();
    let json = format!(
        r#"{{"modules": {{"wide": {{"ports": {{"a_i": {{"direction": "input", "bits": [2]}}}},
            "cells": {{"first": {{"type": "INVX1", "connections": {{"A": [2], "Y": [3]}}}}, {}}},
            "netnames": {{"a_i": {{"bits": [2]}}}}}}}}}}"#,
        inverters.join(", ")
    );
    let design: Design = serde_json::from_str(&json).expect("as Yosys writes it");
    let mapped = Mapped { top: "wide".to_owned(), design, verilog: String::new() };
    let library = osu018();
    let gates = Gates::flatten(&mapped, "wide", &[], &library).expect("cells are known");
    // Only the loads' outputs change, once a cycle.
    let mut toggles = vec![0; gates.nets];
    gates.gates.iter().filter(|gate| gate.level == 2).for_each(|gate| toggles[gate.output as usize] = 100);
    let activity = Activity { cycles: 100, ones: vec![0; gates.nets], toggles, memories: vec![] };
    let grid = Grid::at(NODE_NM).expect("the project's runs");
    let report = power(&gates, &[], &activity, (&library, &grid), 200.0, None).expect("no memory");

    let output = &library.cells["INVX1"].pins["Y"];
    let of_two = |tables: [&Option<Table>; 2], figure: &dyn Fn(&Table) -> f64| {
        tables.iter().map(|table| figure(table.as_ref().expect("a table"))).sum::<f64>() / 2.0
    };
    let (transition, internal) = (&output.transitions[0], &output.internal[0]);
    let slow = of_two([&transition.rise, &transition.fall], &|table| {
        table.at(*table.loads_pf.last().expect("a point"), 0.06)
    });
    let one = of_two([&internal.rise, &internal.fall], &|table| table.at(0.0, slow));
    let expected = LOADS as f64 * one * 200.0 * 1e-3;
    assert!((report.internal_mw - expected).abs() < 1e-9 * expected, "{report:?} {expected}");
}

//! The list of circuits that are raced, and what they do under their stimulus.

use warpfile_engine::{Compiled, Engine, Interpreter, Options};
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::{Direction, Netlist, Port};
use warpfile_testbenches::bench::{Drive, Entry, benchmarks, list};

const RACE: Options = Options {
    seed: 0,
    zeroed: true,
    observe: warpfile_engine::Observe::State,
    check_invariants: false,
    count_activity: false,
    count_toggles: false,
};

fn inputs(netlist: &Netlist) -> Vec<Port> {
    let ports = &netlist.modules[netlist.top.index()].ports;
    ports.iter().filter(|port| port.direction == Direction::Input).cloned().collect()
}

/// The circuits of the list at their first size.
fn circuits() -> Vec<(Entry, Netlist)> {
    let netlist = |entry: &Entry| entry.elaborate(entry.sizes[0]).unwrap();
    list()
        .into_iter()
        .map(|entry| (netlist(&entry), entry))
        .map(|(netlist, entry)| (entry, netlist))
        .collect()
}

#[test]
fn every_circuit_of_the_library_is_raced() {
    let raced: Vec<&str> = list().iter().map(|entry| entry.name).collect();
    for entry in library() {
        assert!(
            raced.contains(&entry.name),
            "testbenches/src/bench/list.rs has no line for `{}`",
            entry.name
        );
    }
}

#[test]
fn every_drive_of_the_list_is_of_an_input() {
    for (entry, netlist) in circuits() {
        let inputs = inputs(&netlist);
        for (end, drive) in entry.drives {
            let used = inputs.iter().any(|input| entry.drive(input) == *drive);
            assert!(used, "{}: nothing ends in `{end}`", entry.name);
            if let Drive::Below(_, other) = drive {
                assert!(inputs.iter().any(|input| input.name == *other), "{}: no `{other}`", entry.name);
            }
        }
    }
}

#[test]
fn the_interpreter_and_the_compiled_engine_have_the_same_signature() {
    for benchmark in benchmarks() {
        let netlist = benchmark.netlist().unwrap();
        let mut interpreter = Interpreter::new(&netlist, &RACE).unwrap();
        let mut compiled = Compiled::new(&netlist, &RACE).unwrap();
        let output = interpreter.output("signature_o").unwrap();
        let mut seen = vec![0];
        for cycles in [200, 300] {
            interpreter.run(cycles);
            compiled.run(cycles);
            let signature = interpreter.get(output);
            assert_eq!(compiled.get(output), signature, "{}", benchmark.name());
            assert!(!seen.contains(&signature), "{}: the signature stands still", benchmark.name());
            seen.push(signature);
        }
    }
}

//! Every circuit of the library beside its Verilog, at its odd parameters, in Verilator and in Icarus.

use std::path::Path;
use std::sync::Mutex;
use std::thread::{available_parallelism, scope};

use warpfile_gen::{Style, emit_in};
use warpfile_hdl::library::{CircuitEntry, library};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_records::{check, sources, version};
use warpfile_verify::lockstep::assert_lockstep;

#[test]
fn every_circuit_does_what_its_verilog_does_at_all_odd_parameters() {
    let mut circuits: Vec<Netlist> = library().iter().flat_map(odd).collect();
    // The longest first: the last one is waited for by one core alone.
    circuits.sort_by_key(|netlist| netlist.modules.iter().map(|module| module.nodes.len()).sum::<usize>());
    circuits.reverse();
    compare(circuits);
}

/// The circuit at each of its odd parameter sets.
fn odd(entry: &CircuitEntry) -> Vec<Netlist> {
    entry.odd.iter().map(|odd| entry.elaborate_with(odd).expect("sound")).collect()
}

/// What a comparison follows from beside the circuit: the engine, what runs both sides, the tools.
fn surroundings() -> [String; 3] {
    [
        sources(&["sim/engine/src", "verify/src", "verify/tests/library.rs"]),
        version("verilator", "--version"),
        version("iverilog", "-V"),
    ]
}

/// Everything that is printed of a circuit, and which outputs mean something when.
fn printed(circuit: &Netlist) -> String {
    let files = Style::ALL.into_iter().flat_map(|style| emit_in(circuit, style).modules);
    let text: String = files.map(|file| file.text).collect();
    format!("{text}{:?}", circuit.top().ports)
}

/// The tools are processes of their own, so every core can run one.
fn compare(circuits: Vec<Netlist>) {
    // Stays from one run of the tests to the next: only what has changed is built again.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verilated");
    let circuits = Mutex::new(circuits.into_iter());
    let next = || circuits.lock().expect("no one panics with it").next();
    let surroundings = surroundings();
    let workers = available_parallelism().map_or(1, usize::from);
    scope(|threads| {
        let work = || {
            while let Some(circuit) = next() {
                let [sources, verilator, icarus] = &surroundings;
                let of = [&printed(&circuit), sources.as_str(), verilator, icarus];
                check("lockstep", &circuit.top().name, &of, || assert_lockstep(&circuit, Some(&cache)));
            }
        };
        (0..workers).for_each(|_| drop(threads.spawn(work)));
    });
}

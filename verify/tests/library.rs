//! Every circuit of the library beside its Verilog, at its odd parameters, in Verilator and in Icarus.

use std::path::Path;
use std::sync::Mutex;
use std::thread::{available_parallelism, scope};

use warpfile_hdl::library::{CircuitEntry, library};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_verify::lockstep::assert_lockstep;

#[test]
fn every_circuit_does_what_its_verilog_does_at_its_smallest_parameters() {
    let library = library();
    compare(library.iter().map(smallest).collect());
}

#[test]
#[ignore = "builds of the larger circuits take minutes: scripts/verify --long"]
fn every_circuit_does_what_its_verilog_does_at_all_odd_parameters() {
    compare(library().iter().flat_map(odd).collect());
}

/// The circuit at each of its odd parameter sets.
fn odd(entry: &CircuitEntry) -> Vec<Netlist> {
    entry.odd.iter().map(|odd| entry.elaborate_with(odd).expect("sound")).collect()
}

/// The one of them with the fewest operations.
fn smallest(entry: &CircuitEntry) -> Netlist {
    let operations =
        |netlist: &Netlist| netlist.modules.iter().map(|module| module.nodes.len()).sum::<usize>();
    odd(entry).into_iter().min_by_key(operations).expect("every circuit has odd parameters")
}

/// The tools are processes of their own, so every core can run one.
fn compare(circuits: Vec<Netlist>) {
    // Stays from one run of the tests to the next: only what has changed is built again.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verilated");
    let circuits = Mutex::new(circuits.into_iter());
    let next = || circuits.lock().expect("no one panics with it").next();
    let workers = available_parallelism().map_or(1, usize::from);
    scope(|threads| {
        let work = || {
            while let Some(circuit) = next() {
                println!("{}", circuit.top().name);
                assert_lockstep(&circuit, Some(&cache));
            }
        };
        (0..workers).for_each(|_| drop(threads.spawn(work)));
    });
}

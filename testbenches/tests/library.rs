//! Every circuit of the library, at its default and at odd parameters.

use std::sync::Mutex;
use std::thread::{available_parallelism, scope};

use serde_json::json;
use warpfile_gen::emit;
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::elaborate;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_testbenches::lint::lint;
use warpfile_testbenches::miniature::{OperandStagingBank, ReferenceCounters};

#[test]
fn every_circuit_is_clean_for_the_three_tools() {
    let library = library();
    let default = json!({});
    let cases: Vec<_> = (library.iter())
        .flat_map(|entry| [&default].into_iter().chain(&entry.odd).map(move |overrides| (entry, overrides)))
        .collect();
    // The tools are processes of their own, so every core can run one; the largest circuits come last.
    let cases = Mutex::new(cases.into_iter().rev());
    let next = || cases.lock().unwrap().next();
    let workers = available_parallelism().map_or(1, usize::from);
    scope(|threads| {
        let work = || {
            while let Some((entry, overrides)) = next() {
                let warnings = lint(&emit(&entry.elaborate_with(overrides).unwrap())).unwrap();
                assert!(warnings.is_empty(), "{} with {overrides}:\n{}", entry.name, warnings.join("\n"));
            }
        };
        (0..workers).for_each(|_| drop(threads.spawn(work)));
    });
}

#[test]
fn every_circuit_has_two_odd_parameter_sets() {
    for entry in library() {
        assert!(entry.odd.len() >= 2, "{}: {} odd parameter sets", entry.name, entry.odd.len());
    }
}

#[test]
fn the_miniatures_are_clean_for_the_three_tools() {
    for lines in [1, 5, 16] {
        let bank = OperandStagingBank { lines, warps: 3, registers: 5, lane_bits: 32 };
        clean(&elaborate(&bank).unwrap());
    }
    for (registers, updates) in [(1, 1), (5, 2), (64, 12)] {
        let counters = ReferenceCounters { registers, counter_bits: 10, updates };
        clean(&elaborate(&counters).unwrap());
    }
}

fn clean(netlist: &Netlist) {
    let warnings = lint(&emit(netlist)).unwrap();
    let name = &netlist.modules[netlist.top.index()].name;
    assert!(warnings.is_empty(), "{name}:\n{}", warnings.join("\n"));
}

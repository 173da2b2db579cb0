//! Every circuit of the library, at its default and at odd parameters.

use serde_json::json;
use warpfile_gen::emit;
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::elaborate;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_testbenches::lint::lint;
use warpfile_testbenches::miniature::{OperandStagingBank, ReferenceCounters};

#[test]
fn every_circuit_is_clean_for_the_three_tools() {
    for entry in library() {
        for overrides in [json!({})].iter().chain(&entry.odd) {
            let netlist = entry.elaborate_with(overrides).unwrap();
            let warnings = lint(&emit(&netlist)).unwrap();
            assert!(warnings.is_empty(), "{} with {overrides}:\n{}", entry.name, warnings.join("\n"));
        }
    }
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

//! Every circuit of the library, at its default and at odd parameters.

use serde_json::json;
use warpfile_gen::emit;
use warpfile_hdl::library::library;
use warpfile_testbenches::lint::lint;

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

//! Every circuit of the library elaborates, and wrong parameters are told apart.

use serde_json::json;
use warpfile_hdl::library::{CircuitEntry, library};

fn entry(name: &str) -> CircuitEntry {
    library().into_iter().find(|entry| entry.name == name).expect("the circuit is in the library")
}

#[test]
fn every_circuit_elaborates_with_its_defaults() {
    for entry in library() {
        let netlist = entry.elaborate_with(&json!({})).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        let top = &netlist.modules[netlist.top.index()];
        assert!(top.name.starts_with(entry.name), "{}", top.name);
        assert!(!top.doc.is_empty(), "{} has no header", entry.name);
        assert_eq!(top.parameters.len(), entry.parameters.len());
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = library().iter().map(|entry| entry.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn overrides_change_only_what_they_name() {
    let netlist = entry("fifo").elaborate_with(&json!({"depth": 5})).unwrap();
    let parameters = &netlist.modules[netlist.top.index()].parameters;
    assert_eq!(parameters[0], ("depth".to_string(), "5".to_string()));
    assert_eq!(parameters[1], ("width".to_string(), "32".to_string()));
}

#[test]
fn wrong_parameters_are_errors_that_say_what_is_accepted() {
    let message = |overrides| entry("fifo").elaborate_with(&overrides).unwrap_err().to_string();
    assert_eq!(message(json!({"rows": 5})), "fifo has no parameter `rows`; it has: depth, width");
    assert_eq!(
        message(json!({"width": 8, "depth": "many"})),
        "fifo: parameter `depth` cannot be \"many\": invalid type: string \"many\", expected usize"
    );
    assert_eq!(message(json!({"depth": 0})), "fifo: parameter `depth` is 0; allowed: 1 to 4096");
    assert_eq!(message(json!(7)), "fifo: parameters are given as names with values, not as 7");
}

//! Every circuit of the library beside its Verilog, at its odd parameters.

use std::path::Path;

use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_verify::lockstep::assert_lockstep_of_all;

#[test]
#[ignore = "Verilator's build of all circuits takes many minutes: cargo test -p warpfile-verify -- --ignored"]
fn every_circuit_of_the_library_does_what_its_verilog_does() {
    let library = library();
    let circuits: Vec<Netlist> = (library.iter())
        .flat_map(|entry| entry.odd.iter().map(|odd| entry.elaborate_with(odd).expect("sound")))
        .collect();
    // Stays from one run of the tests to the next: only what has changed is built again.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verilated");
    assert_lockstep_of_all(&circuits, Some(&cache));
}

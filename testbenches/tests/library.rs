//! Every circuit of the library, at its default and at odd parameters.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex};
use std::thread::{available_parallelism, scope};

use serde::{Deserialize, Serialize};
use serde_json::json;
use warpfile_gen::{Files, Style, emit, emit_in};
use warpfile_hdl::FOLDERS;
use warpfile_hdl::library::{Testbench, library};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_hdl::rtl::{Circuit, Documented, In, Module, Out, Ports, elaborate};
use warpfile_records::{check, sources, version};
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
                clean(&entry.elaborate_with(overrides).unwrap());
            }
        };
        (0..workers).for_each(|_| drop(threads.spawn(work)));
    });
}

/// A folder that nothing announces would have no testbench, no lint and no proof.
#[test]
fn every_folder_of_circuits_is_announced_and_has_testbenches() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = |path: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(root.join(path)).unwrap().map(|entry| entry.unwrap());
        let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    let announced: BTreeSet<String> = FOLDERS.iter().map(|folder| folder.name.to_string()).collect();
    let circuits: BTreeSet<String> = folders("hdl/src").into_iter().filter(|name| name != "rtl").collect();
    assert_eq!(circuits, announced, "folders of hdl/src, and FOLDERS of hdl/src/lib.rs");
    let testbenches = folders("testbenches/tests");
    let modules = fs::read_to_string(root.join("testbenches/tests/main.rs")).unwrap();
    for name in &announced {
        assert!(testbenches.contains(name), "testbenches/tests has no {name}");
        assert!(modules.contains(&format!("mod {name};")), "testbenches/tests/main.rs does not run {name}");
    }
    for folder in FOLDERS {
        for circuit in (folder.circuits)() {
            let is_its = |testbench: &Testbench| testbench.circuit == circuit.name;
            assert!(
                folder.testbenches.iter().any(is_its),
                "{}: no testbench for {}",
                folder.name,
                circuit.name
            );
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

/// Pairs: whether two vectors of 4-bit lanes differ.
///
/// Timing: combinational.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Pairs {
    /// Lanes.
    lanes: usize,
}

#[derive(Ports)]
#[params(Pairs)]
struct PairsIo<'m> {
    #[bits(4 * p.lanes)]
    left_i: In<'m>,
    #[bits(4 * p.lanes)]
    right_i: In<'m>,
    differ_o: Out<'m>,
}

impl Circuit for Pairs {
    type Io<'m> = PairsIo<'m>;
    const NAME: &'static str = "pairs";

    fn build<'m>(&self, m: &Module<'m>, io: &PairsIo<'m>) {
        let differ = io.left_i.ne(io.right_i);
        io.differ_o.set(differ);
        m.invariant("equal_lanes_do_not_differ", differ ^ io.left_i.lane_eq(io.right_i, 4).all());
    }
}

#[test]
fn a_loop_that_only_an_invariant_needs_is_declared_with_it() {
    let netlist = elaborate(&Pairs { lanes: 5 }).unwrap();
    clean(&netlist);
    let text = &emit(&netlist).modules[0].text;
    let (before, formal) = text.split_once("`ifdef FORMAL").unwrap();
    assert!(!before.contains("genvar") && formal.contains("genvar lane;"), "{text}");
}

/// What is printed in each style, where it is not the same as in one before.
fn printed(netlist: &Netlist) -> Vec<(Style, Files)> {
    let mut printed: Vec<(Style, Files)> = Vec::new();
    for style in Style::ALL {
        let files = emit_in(netlist, style);
        if printed.iter().all(|(_, others)| *others != files) {
            printed.push((style, files));
        }
    }
    printed
}

/// What the tools say of a text follows from it, from how they are called, and from what they are.
static TOOLS: LazyLock<[String; 4]> = LazyLock::new(|| {
    [
        sources(&["testbenches/src/lint.rs"]),
        version("verilator", "--version"),
        version("iverilog", "-V"),
        version("yosys", "-V"),
    ]
});

/// Panics unless the three tools take a circuit, in every style, without a warning, or have taken it as it is now.
pub fn clean(netlist: &Netlist) {
    for (style, files) in printed(netlist) {
        let name = format!("{} {}", netlist.top().name, style.name());
        let text: String = files.modules.iter().map(|file| file.text.as_str()).collect();
        let of: Vec<&str> = [&text].into_iter().chain(&*TOOLS).map(String::as_str).collect();
        check("lint", &name, &of, || {
            let warnings = lint(&files).unwrap().join("\n");
            assert!(warnings.is_empty(), "{name}:\n{warnings}");
        });
    }
}

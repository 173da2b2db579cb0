//! Areas of circuits of the library.

use rayon::prelude::*;
use serde_json::json;
use warpfile_gen::emit;
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_records::{check, look, sources, version};
use warpfile_sim::energy::grid::Grid;
use warpfile_synthesis::area::{AreaReport, area};
use warpfile_synthesis::liberty::DEFAULT_PATH;
use warpfile_synthesis::page::{self, PageCircuit, PageRow};
use warpfile_synthesis::sram::NODE_NM;

use crate::tools::{circuit, mapped, osu018};

fn report(name: &str, overrides: serde_json::Value) -> AreaReport {
    let (outlined, mapped) = mapped(&circuit(name, overrides));
    let grid = Grid::at(NODE_NM).expect("the project's runs");
    area(&mapped, &outlined, &osu018(), &grid).expect("every cell is known")
}

/// `stat -liberty` of Yosys itself, on the same file list and script.
#[test]
fn cells_and_area_of_a_fifo_are_those_that_yosys_counts() {
    let fifo = report("fifo", json!({}));
    assert_eq!((fifo.total.cells, fifo.total.storage_cells), (1199, 269));
    assert_eq!(fifo.total.area_um2, 51134.0);
    assert!((fifo.total.nand2 - 51134.0 / 24.0).abs() < 1e-9);
    assert!(fifo.memories.is_empty());
}

#[test]
fn a_circuit_takes_what_its_modules_take() {
    let file = report(
        "main_register_file",
        json!({"geometry": {"banks": 2, "rows": 40, "lanes": 4, "lanes_per_cluster": 2}}),
    );
    let [top, rest @ ..] = &file.modules[..] else { panic!("modules") };
    assert_eq!((top.module.as_str(), top.figures), (file.circuit.as_str(), file.total));
    let inner: f64 = rest.iter().map(|module| module.instances as f64 * module.own_area_um2).sum();
    assert_eq!(top.own_area_um2 + inner, file.total.area_um2);
    // Two banks of two arrays each.
    assert_eq!((file.total.memories, file.total.memory_bits), (4, 4 * 40 * 64));
    assert_eq!(file.memories[0].instances, 4);
    assert!((file.total.memory_area_um2 - 4.0 * file.memories[0].area_um2).abs() < 1e-6);
}

#[test]
fn a_round_robin_arbiter_is_as_deep_as_its_longest_way() {
    let arbiter = report("round_robin_arbiter", json!({}));
    assert!(arbiter.total.depth > 2 && arbiter.total.depth <= arbiter.total.cells as u32);
}

#[test]
fn no_small_circuit_has_grown_beyond_the_page_of_areas() {
    for_the_page(|circuit, of| {
        if circuit.is_small {
            check("area", &name(circuit), of, || assert_has_not_grown(circuit));
        } else {
            look("area", &name(circuit), of);
        }
    });
}

#[test]
#[ignore = "Yosys takes minutes for each: scripts/verify --long"]
fn no_large_circuit_has_grown_beyond_the_page_of_areas() {
    for_the_page(|circuit, of| {
        if !circuit.is_small {
            check("area", &name(circuit), of, || assert_has_not_grown(circuit));
        }
    });
}

/// The page.
fn rows() -> Vec<PageRow> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/area.md"))
        .expect("scripts/area writes it");
    page::read(&text).expect("the page is as it was written")
}

/// Name of a circuit's record.
fn name(circuit: &PageCircuit<'_>) -> String {
    format!("{} {}", circuit.entry.name, circuit.overrides)
}

/// Calls `each` with the circuits of the page and all that their areas follow from, on all cores.
fn for_the_page(each: impl Fn(&PageCircuit<'_>, &[&str]) + Sync) {
    let rows = rows();
    let library = library();
    let circuits = page::circuits(&library);
    assert_eq!(rows.len(), circuits.len(), "scripts/area writes the page again");
    let sources = sources(&["synthesis/src", "sim/technologies/cacti"]);
    let (yosys, cells) = (version("yosys", "-V"), std::fs::read_to_string(DEFAULT_PATH).expect("installed"));
    circuits.par_iter().zip(&rows).for_each(|(circuit, row)| {
        let files = emit(&netlist(circuit));
        let verilog: String = files.modules.into_iter().map(|file| file.text).collect();
        each(circuit, &[&verilog, &format!("{row:?}"), &sources, &yosys, &cells]);
    });
}

fn netlist(circuit: &PageCircuit<'_>) -> Netlist {
    circuit.entry.elaborate_with(&circuit.overrides).expect("the library's own parameters")
}

/// Maps a circuit of the page again.
fn assert_has_not_grown(circuit: &PageCircuit<'_>) {
    let (cells, grid) = (osu018(), Grid::at(NODE_NM).expect("the project's runs"));
    let (outlined, mapped) = mapped(&netlist(circuit));
    let report = area(&mapped, &outlined, &cells, &grid).expect("every cell is known");
    let grown = PageRow::new(circuit.entry.name, &circuit.overrides, &report).compare(&rows());
    let grown: Vec<String> = grown.iter().map(ToString::to_string).collect();
    assert!(
        grown.is_empty(),
        "if that is meant, `scripts/area` writes the page again:\n{}",
        grown.join("\n")
    );
}

#[test]
fn every_circuit_of_the_library_is_on_the_page_at_its_defaults() {
    let rows = rows();
    for entry in &library() {
        let is_at_defaults = |row: &PageRow| row.circuit == entry.name && row.parameters == "defaults";
        assert!(rows.iter().any(is_at_defaults), "{}: scripts/area writes the page again", entry.name);
    }
}

/// What `cargo test` maps again leaves no circuit out.
#[test]
fn every_circuit_is_small_at_some_parameters() {
    let library = library();
    let circuits = page::circuits(&library);
    for entry in &library {
        let is_mapped = |circuit: &PageCircuit<'_>| circuit.entry.name == entry.name && circuit.is_small;
        assert!(circuits.iter().any(is_mapped), "{}", entry.name);
    }
}

//! Liberty files.

use std::path::Path;

use warpfile_synthesis::liberty::{LibertyError, Library, Storage};

use crate::tools::osu018;

#[test]
fn the_default_library_is_read_with_its_units() {
    let library = osu018();
    assert_eq!((library.name.as_str(), library.voltage, library.cells.len()), ("osu018_stdcells", 1.8, 32));
    assert_eq!(library.nand2_area_um2(), Some(24.0));
    let and = &library.cells["AND2X1"];
    assert_eq!(and.area_um2, 32.0);
    assert!((and.leakage_mw - 0.0746794e-6).abs() < 1e-15);
    assert_eq!(and.pins["A"].capacitance_pf, 0.0129077);
    assert_eq!(and.pins["Y"].function.as_ref().map(|f| f.table), Some(0b1000));
}

/// Points of the tables as they stand in the file.
#[test]
fn internal_energy_and_transitions_are_looked_up_by_load_and_transition() {
    let library = osu018();
    let output = &library.cells["AND2X1"].pins["Y"];
    let energy = output.internal.iter().find(|energy| energy.related.as_deref() == Some("A")).expect("of A");
    let rise = energy.rise.as_ref().expect("a table");
    assert_eq!(rise.at(0.0125, 0.42), 0.032616);
    assert_eq!(rise.at(0.15, 1.2), 0.086416);
    let transition = output.transitions.iter().find(|transition| transition.related == "B").expect("of B");
    assert_eq!(transition.fall.as_ref().expect("a table").at(0.005, 0.18), 0.029204);
    // A pin without a load: by its transition alone.
    let clock = &library.cells["DFFPOSX1"].pins["CLK"].internal[0];
    assert_eq!(clock.fall.as_ref().expect("a table").at(9.0, 0.24), 0.129769);
}

#[test]
fn storage_is_told_apart() {
    let library = osu018();
    let Storage::FlipFlop(flip_flop) = &library.cells["DFFPOSX1"].storage else {
        panic!("DFFPOSX1 takes D at the rising edge of CLK");
    };
    assert_eq!((flip_flop.clock.as_str(), &flip_flop.next.inputs[..]), ("CLK", &["D".to_owned()][..]));
    let kinds = ["NAND2X1", "DFFNEGX1", "DFFSR", "LATCH"].map(|cell| library.cells[cell].storage.clone());
    assert_eq!(kinds, [Storage::None, Storage::Other, Storage::Other, Storage::Other]);
}

#[test]
fn what_is_no_library_ends_with_one_message() {
    let missing = Library::read(Path::new("/no/such.lib")).expect_err("there is none");
    assert!(missing.to_string().starts_with("/no/such.lib: cannot be read"), "{missing}");
    assert!(LibertyError::NotInstalled.to_string().contains("apt-get install qflow-tech-osu018"));
    for (text, problem) in [
        ("module m; endmodule", "line 1: not understood; one group `library (name) { … }` is accepted"),
        ("", "not a Liberty file; one group `library (name) { … }` is accepted"),
        ("library (l) { }", "library: no time_unit"),
        ("library (l) { time_unit : \"1h\"; }", "library: time_unit is `1h`; a number with s is accepted"),
    ] {
        assert_eq!(Library::parse(text).expect_err(text), problem);
    }
}

/// Cells that hold a net at a value have numbers as functions; a library may count in fF and fJ.
#[test]
fn constants_are_functions_and_units_are_the_librarys_own() {
    let text = "library (l) { time_unit : \"1ps\"; voltage_unit : \"100mV\"; leakage_power_unit : \"1uW\";
        capacitive_load_unit (10, ff); nom_voltage : 11;
        cell (TIE) { area : 3; cell_leakage_power : 2; pin (Z) { direction : output; function : \"1\"; } }
        cell (GATE) { area : 4; pin (A) { direction : input; capacitance : 5; }
            leakage_power () { when : \"A\"; value : 1; } leakage_power () { when : \"!A\"; value : 3; } } }";
    let library = Library::parse(text).expect("a library");
    assert!((library.voltage - 1.1).abs() < 1e-12);
    let tie = &library.cells["TIE"];
    assert_eq!(tie.pins["Z"].function.as_ref().map(|f| (f.inputs.len(), f.table)), Some((0, 1)));
    assert!((tie.leakage_mw - 2e-3).abs() < 1e-15);
    let gate = &library.cells["GATE"];
    assert!((gate.leakage_mw - 2e-3).abs() < 1e-15, "the mean of its states");
    assert!((gate.pins["A"].capacitance_pf - 0.05).abs() < 1e-12);
}

//! The grid against its own runs.

use serde::Deserialize;

use super::files::{Files, Kind, Run, rows};
use super::{Array, Grid, GridError, Origin, Ports};

fn grid() -> Grid {
    Grid::at(28).expect("complete")
}

fn runs() -> Vec<Run> {
    let all = rows::<Run>(Files::OURS.runs).expect("well-formed");
    all.into_iter().filter(|run| run.node_nm == 28).collect()
}

/// What a run of a CAM has beside what every run has.
#[derive(Deserialize)]
struct Search {
    node_nm: u32,
    search_pj: Option<f64>,
}

const FIGURES: [fn(&Array) -> f64; 4] =
    [|array| array.read_pj, |array| array.write_pj, |array| array.leakage_mw, |array| array.area_um2];

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} instead of {expected}");
}

#[test]
fn every_run_is_read_as_it_is() {
    let grid = grid();
    let arrays: Vec<Run> = runs().into_iter().filter(|run| run.kind == Kind::Ram).collect();
    assert_eq!(arrays.len(), 6 * 7 * 7, "port sets, entries, bits");
    for run in arrays {
        let read = grid.array(run.entries, run.bits_per_entry, run.ports()).expect("a run");
        assert_eq!(read, run.array(Origin::Runs));
    }
}

/// cacti_sram.csv, 28 nm, 1rw: 1.03176 and 1.1087 pJ a read of 32 and 64 entries of 128 bits.
#[test]
fn between_two_runs_the_logarithms_are_on_a_line() {
    let array = grid().array(48, 128, Ports::SINGLE).expect("inside");
    let share = (48.0_f64 / 32.0).ln() / 2.0_f64.ln();
    assert_near(array.read_pj, (1.03176_f64.ln() * (1.0 - share) + 1.1087_f64.ln() * share).exp());
    assert_eq!(array.origin, Origin::Runs);
}

/// cacti_sram.csv, 28 nm, 1rw, area of 32 and 64 entries of 64 and 128 bits.
#[test]
fn between_four_runs_the_logarithms_are_bilinear() {
    let array = grid().array(48, 96, Ports::SINGLE).expect("inside");
    let entries = (48.0_f64 / 32.0).ln() / 2.0_f64.ln();
    let bits = (96.0_f64 / 64.0).ln() / 2.0_f64.ln();
    let corners = [
        (0.000547803_f64, (1.0 - entries) * (1.0 - bits)),
        (0.00147537, (1.0 - entries) * bits),
        (0.000833114, entries * (1.0 - bits)),
        (0.00206544, entries * bits),
    ];
    let log: f64 = corners.iter().map(|(area, weight)| area.ln() * weight).sum();
    assert_near(array.area_um2, log.exp() * 1e6);
}

#[test]
fn figures_of_8_to_31_entries_are_marked_as_extrapolated() {
    let grid = grid();
    let origin = |entries| grid.array(entries, 128, Ports::SINGLE).expect("there").origin;
    let origins = [8, 12, 16, 24, 31, 32].map(origin);
    assert_eq!(origins[..5], [Origin::Extrapolated; 5]);
    assert_eq!(origins[5], Origin::Runs);
}

/// cacti_fit.csv, read_pj, 28 nm, 1rw, at 4 entries of 128 bits: √(NB) is 22.6, B² is 16384.
#[test]
fn outside_the_grid_the_fit_answers() {
    let array = grid().array(4, 128, Ports::SINGLE).expect("fitted");
    let terms = [
        0.01773,
        3.884e-5 * 4.0,
        0.002766 * 128.0,
        0.001087 * 512.0_f64.sqrt(),
        2.148e-5 * 512.0,
        2.753e-5 * 16384.0,
    ];
    assert_near(array.read_pj, terms.iter().sum());
    assert_eq!(array.origin, Origin::Fit);
    for (entries, bits) in [(7, 128), (2049, 128), (32, 15), (32, 1025)] {
        let array = grid().array(entries, bits, Ports::SINGLE).expect("fitted");
        assert_eq!(array.origin, Origin::Fit, "{entries} × {bits}");
    }
}

/// The largest relative errors that cacti_fit_cam.csv states for 28 nm; its coefficients have four digits. CACTI takes
/// 14 bits for 16.
#[test]
fn the_fit_of_cams_is_as_close_to_the_runs_as_it_says() {
    let grid = grid();
    let searches = rows::<Search>(Files::OURS.runs).expect("well-formed");
    let searches = searches.into_iter().filter(|search| search.node_nm == 28);
    let mut cams = 0;
    for (run, search) in runs().into_iter().zip(searches) {
        let (Kind::Cam, Some(search_pj)) = (run.kind, search.search_pj) else {
            continue;
        };
        if run.bits_per_entry == 14 {
            continue;
        }
        cams += 1;
        let cam = grid.cam(run.entries, run.bits_per_entry).expect("fitted");
        let pairs = [
            (cam.search_pj, search_pj, 0.069),
            (cam.read_pj, run.read_pj, 0.126),
            (cam.write_pj, run.write_pj, 0.072),
            (cam.leakage_mw, run.leakage_mw, 0.087),
            (cam.area_um2, run.area_mm2 * 1e6, 0.027),
        ];
        for (fitted, ran, bound) in pairs {
            let (entries, bits) = (run.entries, run.bits_per_entry);
            assert!((fitted / ran - 1.0).abs() < bound + 0.001, "{entries} × {bits}: {fitted}, {ran}");
        }
    }
    assert_eq!(cams, 14);
}

/// The numbers of decision 33: each run with at most 128 bits and one or two ports, interpolated from its
/// neighbours with half and twice the entries (or bits) as if it were not there. What is left out lies twice as far
/// from its neighbours as anything that is interpolated.
#[test]
fn a_run_left_out_is_found_again_from_its_neighbours() {
    let grid = grid();
    let errors = |figure: fn(&Array) -> f64, neighbours: &dyn Fn(&Run) -> [(u32, u32); 2]| {
        let mut errors = Vec::new();
        for run in runs() {
            let ports = run.ports();
            let is_used = run.bits_per_entry <= 128 && (ports == Ports::SINGLE || ports == Ports::DUAL);
            if run.kind == Kind::Cam || !is_used {
                continue;
            }
            let known =
                neighbours(&run).map(|(entries, bits)| grid.array(entries, bits, ports).expect("there"));
            if known.iter().all(|array| array.origin == Origin::Runs) {
                let found = known[0].towards(&known[1], 0.5);
                errors.push((figure(&found) / figure(&run.array(Origin::Runs)) - 1.0).abs());
            }
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let most = errors.into_iter().fold(0.0, f64::max);
        [mean, most].map(|error| (1000.0 * error).round() / 10.0)
    };
    let entries = |run: &Run| [run.entries / 2, run.entries * 2].map(|entries| (entries, run.bits_per_entry));
    let bits = |run: &Run| [run.bits_per_entry / 2, run.bits_per_entry * 2].map(|bits| (run.entries, bits));
    let of_entries = FIGURES.map(|figure| errors(figure, &entries));
    let of_bits = FIGURES.map(|figure| errors(figure, &bits));
    // Mean and most, per cent: reads, writes, leakage, area.
    assert_eq!(of_entries, [[10.0, 22.9], [10.8, 20.1], [5.2, 13.8], [3.3, 6.8]]);
    assert_eq!(of_bits, [[9.4, 21.2], [10.1, 23.1], [7.1, 14.1], [3.5, 14.7]]);
}

#[test]
fn an_array_of_nothing_and_unknown_ports_are_refused() {
    let error = grid().array(0, 128, Ports::SINGLE).expect_err("empty").to_string();
    assert_eq!(error, "an array of 0 entries of 128 bits; it needs at least 1 of each");
    assert_eq!(grid().cam(4, 0), Err(GridError::Empty { entries: 4, bits: 0 }));
    let ports = Ports { read: 3, write: 1, read_write: 0 };
    let error = grid().array(32, 128, ports).expect_err("not run").to_string();
    let known = "1rw, 1r1w, 2r1w, 2r2w, 4r1w, 6r2w";
    assert_eq!(error, format!("there is no array with ports 3r1w at 28 nm; there are: {known}"));
}

#[test]
fn a_damaged_file_is_named_with_its_line() {
    let (name, text) = Files::OURS.runs;
    let damaged = text.replacen("0.295714", "much", 1);
    let files = Files { runs: (name, &damaged), ..Files::OURS };
    let error = files.read(28).expect_err("not a number").to_string();
    assert!(error.starts_with("cacti_sram.csv: CSV deserialize error: record 1 (line: 2"), "{error}");
}

#[test]
fn a_node_that_was_not_run_is_refused() {
    let error = Grid::at(7).expect_err("not there").to_string();
    assert_eq!(error, "cacti_fit_cam.csv: no SearchPj at 7 nm");
}

/// cacti_sram.csv, 22 nm, 1r1w, 64 entries of 128 bits: 0.203996 mW gated. Of 2r1w with 32 bits it is not in the runs: 4.388 nW
/// less a bit (cacti/README.md).
#[test]
fn gating_saves_what_the_runs_say_or_as_much_a_bit() {
    let grid = Grid::at(22).expect("complete");
    assert_near(grid.array(64, 128, Ports::DUAL).expect("a run").gated_mw, 0.203996);
    let ports = Ports { read: 2, write: 1, read_write: 0 };
    assert_near(grid.array(64, 32, ports).expect("a run").gated_mw, 0.0712112 - 64.0 * 32.0 * 4.388e-6);
}

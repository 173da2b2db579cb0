//! What arrays and wires of a structure cost.

use super::*;

fn prices() -> ArrayPrices {
    ArrayPrices::new(28, 0.9).expect("complete")
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} instead of {expected}");
}

fn none(_: &RunReport) -> ArrayAccesses {
    ArrayAccesses::default()
}

#[test]
fn a_row_of_slices_costs_its_slices_and_areas_those_of_all_arrays() {
    let prices = prices();
    let part =
        Structure::of_warp_registers("values", 3, 64, Ports::DUAL, none).price(&prices).expect("a run");
    let slice = prices.memory(64, 128, Ports::DUAL).expect("a run");
    assert_near(part.read_pj, 8.0 * slice.read_pj);
    assert_near(part.write_pj, 8.0 * slice.write_pj);
    assert_near(part.area_um2, 24.0 * slice.area_um2);
    assert_near(part.leakage_mw, 24.0 * slice.leakage_mw);
    assert_eq!((part.search_pj, part.clock_pj, part.source), (None, 0.0, Source::Runs));
}

#[test]
fn flip_flops_have_clocks_and_can_be_searched() {
    let prices = prices();
    let table = Structure::table("tags", Account::Registers, (4, 16, 12), none);
    let part = table.price(&prices).expect("any size");
    let array = prices.flip_flops(16, 12).expect("any size");
    assert_near(part.clock_pj, 4.0 * array.clock_pj);
    assert_near(part.search_pj.expect("searched"), array.search_pj);
    assert_eq!(part.source, Source::FlipFlops);
}

/// A content-addressed memory of CACTI's fit and flip-flops with comparators agree for a bank's tags.
#[test]
fn a_search_in_flip_flops_costs_about_what_cacti_has_for_one() {
    let prices = prices();
    let searched = |cells| {
        let tags = Structure { cells, ..Structure::table("tags", Account::Registers, (1, 16, 12), none) };
        tags.price(&prices).expect("any size").search_pj.expect("searched")
    };
    let ratio = searched(Cells::Cam) / searched(Cells::FlipFlops);
    assert!((1.0..3.0).contains(&ratio), "{ratio}");
}

#[test]
fn accesses_and_wires_go_by_what_is_touched() {
    let mut part =
        Structure::of_warp_registers("values", 1, 64, Ports::DUAL, none).price(&prices()).expect("a run");
    (part.read_pj, part.write_pj, part.search_pj, part.wire_pj) = (80.0, 160.0, Some(3.0), 16.0);
    let accesses = ArrayAccesses {
        slice_reads: 5,
        slice_writes: 2,
        row_reads: 1,
        row_writes: 3,
        searches: 7,
        slice_moves: 2,
    };
    assert_near(part.access_pj(accesses), 50.0 + 40.0 + 80.0 + 480.0 + 21.0);
    assert_near(part.wires_pj(accesses), ((7.0 - 2.0 * 2.0) / 8.0 + 4.0) * 16.0);
}

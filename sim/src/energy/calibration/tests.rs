//! Prices of arrays against the tables that they are scaled to, and what has to hold for any size.

use proptest::prelude::*;

use super::*;

/// Nodes of the grid.
const NODES: [u32; 5] = [45, 40, 32, 28, 22];

fn at_40_nm() -> ArrayPrices {
    ArrayPrices::new(40, 0.9).expect("complete")
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} instead of {expected}");
}

/// Gebhart et al., Table 3: 8 and 11 pJ, 38000 µm² a bank of 256 entries of 128 bits with a read and a write port.
#[test]
fn the_compiled_memory_of_table_3_is_found_again() {
    let bank = at_40_nm().memory(256, 128, Ports::DUAL).expect("a run");
    assert_near(bank.read_pj, 8.0);
    assert_near(bank.write_pj, 11.0);
    assert_near(bank.area_um2, 38000.0);
}

/// cacti_sram.csv: 3.63974 and 9.79755 pJ, 0.0241641 mm² for that bank; 1.39751 and 2.16414 pJ, 0.00472632 mm² for 64
/// entries of it at 28 nm, where leakage is CACTI's 0.408056 mW. CACTI's devices have 0.86 V there (between 0.9 at 32 nm and 0.8
/// at 22) and 12.5/13 V at 40 nm (between 1 at 45 nm and 0.9 at 32); both memories are at 0.9 V.
#[test]
fn other_memories_cost_as_much_more_than_cactis() {
    let memory = ArrayPrices::new(28, 0.9).expect("complete").memory(64, 128, Ports::DUAL).expect("a run");
    let supply = (12.5_f64 / 13.0 / 0.86).powi(2);
    assert_near(memory.read_pj, supply * 1.39751 * 8.0 / 3.63974);
    assert_near(memory.write_pj, supply * 2.16414 * 11.0 / 9.79755);
    assert_near(memory.area_um2, 4726.32 * 38000.0 / 24164.1);
    assert_near(memory.leakage_mw, 0.408056);
}

/// Table 2, by rows: (read, write) pJ and µm². Its own points are off a line by up to 18 %.
#[test]
fn flip_flops_are_as_near_to_table_2_as_a_line_can_be() {
    let prices = at_40_nm();
    let table_2 = [
        (16, 1.2, 3.8, 5100.0),
        (24, 1.2, 4.4, 7400.0),
        (32, 1.9, 6.1, 9600.0),
        (36, 1.7, 5.4, 10800.0),
        (48, 2.2, 6.7, 14300.0),
        (64, 3.4, 10.9, 18800.0),
    ];
    for (rows, read_pj, write_pj, area_um2) in table_2 {
        let array = prices.flip_flops(rows, 128).expect("any size");
        let near = |value: f64, table: f64, bound: f64| {
            assert!((value / table - 1.0).abs() < bound, "{rows} rows: {value}, {table}");
        };
        near(array.read_pj, read_pj, 0.18);
        near(array.write_pj, write_pj, 0.14);
        near(array.area_um2, area_um2, 0.01);
    }
    // The least squares by hand: 0.27063 + 0.044643 N, 1.32252 + 0.131473 N.
    let array = prices.flip_flops(8, 128).expect("any size");
    assert!((array.read_pj - (0.270_635 + 8.0 * 0.044_642_9)).abs() < 1e-5, "{}", array.read_pj);
    assert!((array.write_pj - (1.322_520 + 8.0 * 0.131_473_2)).abs() < 1e-5, "{}", array.write_pj);
}

/// From 40 to 28 nm, at one supply, accesses to memories cost less as capacitances do, with the node, within a tenth: so that
/// CACTI's own ratio, 0.55, is of the supply as well.
#[test]
fn memories_shrink_with_the_node_at_one_supply() {
    let (large, small) = (at_40_nm(), ArrayPrices::new(28, 0.9).expect("complete"));
    for entries in [32, 64, 128, 256, 512] {
        let [large, small] =
            [&large, &small].map(|prices| prices.memory(entries, 128, Ports::DUAL).expect("a run"));
        for (large, small) in [(large.read_pj, small.read_pj), (large.write_pj, small.write_pj)] {
            assert!((small / large / 0.7 - 1.0).abs() < 0.1, "{entries}: {small}, {large}");
        }
    }
}

/// Energies go with the square of the supply.
#[test]
fn half_the_supply_is_a_quarter_of_the_energy() {
    let half = ArrayPrices::new(40, 0.45).expect("complete").memory(256, 128, Ports::DUAL).expect("a run");
    assert_near(half.read_pj, 8.0 / 4.0);
    assert_near(half.write_pj, 11.0 / 4.0);
}

/// Energies go with the node and the square of the supply, areas with the square of the node.
#[test]
fn flip_flops_shrink_with_the_node() {
    let large = at_40_nm().flip_flops(24, 128).expect("any size");
    let small = ArrayPrices::new(28, 0.45).expect("complete").flip_flops(24, 128).expect("any size");
    assert_near(small.read_pj, large.read_pj * 0.7 / 4.0);
    assert_near(small.write_pj, large.write_pj * 0.7 / 4.0);
    assert_near(small.search_pj, large.search_pj * 0.7 / 4.0);
    assert_near(small.area_um2, large.area_um2 * 0.49);
}

/// 0.208 pJ at 180 nm and 1.8 V are 11.6 fJ at 40 nm and 0.9 V: a gate of the array, not each flip-flop. 3.8 mW at 1 GHz for
/// the comparison of 1024 bits at 45 nm and 1.1 V are 2.2 fJ a bit.
#[test]
fn a_gate_of_an_array_is_clocked_and_a_search_compares_every_bit() {
    let array = at_40_nm().flip_flops(16, 12).expect("any size");
    assert_near(array.clock_pj, 0.208 * (40.0 / 180.0) * 0.25);
    let bit_pj = 3.8 / 1024.0 * (40.0 / 45.0) * (0.9_f64 / 1.1).powi(2);
    assert_near(array.search_pj, 16.0 * 12.0 * bit_pj);
}

/// The clock of a row that is written, every flip-flop's pin, is part of Table 2's write, which it does not exceed.
#[test]
fn a_write_pays_for_the_clock_of_its_row() {
    let array = at_40_nm().flip_flops(16, 128).expect("any size");
    let row_pj = 128.0 * 0.208 * (40.0 / 180.0) * 0.25;
    assert!((0.2..0.8).contains(&(row_pj / array.write_pj)), "{row_pj} of {}", array.write_pj);
}

#[test]
fn an_array_of_nothing_is_refused() {
    let refused = at_40_nm().flip_flops(0, 8).expect_err("empty");
    assert_eq!(refused, GridError::Empty { entries: 0, bits: 8 });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn more_flip_flops_are_never_cheaper(
        node in prop::sample::select(&NODES[..]), entries in 1u32..600, bits in 1u32..1025, more in 1u32..64,
    ) {
        let prices = ArrayPrices::new(node, 0.9).expect("complete");
        let figures = |entries, bits| {
            let a = prices.flip_flops(entries, bits).expect("any size");
            [a.read_pj, a.write_pj, a.search_pj, a.clock_pj, a.leakage_mw, a.area_um2]
        };
        let few = figures(entries, bits);
        prop_assert!(few.iter().all(|figure| *figure > 0.0));
        for many in [figures(entries + more, bits), figures(entries, bits + more)] {
            prop_assert!(few.iter().zip(&many).all(|(few, many)| few <= many), "{few:?}, {many:?}");
        }
    }

    #[test]
    fn larger_memories_are_never_cheaper(
        node in prop::sample::select(&NODES[..]), entries in 8u32..1024, bits in 16u32..64, more in 1u32..1024,
    ) {
        let prices = ArrayPrices::new(node, 0.9).expect("complete");
        let figures = |entries, bits| {
            let a = prices.memory(entries, bits, Ports::DUAL).expect("there");
            [a.read_pj, a.write_pj, a.leakage_mw, a.area_um2]
        };
        let few = figures(entries, bits);
        for many in [figures((entries + more).min(2048), bits), figures(entries, (bits + more).min(128))] {
            prop_assert!(few.iter().zip(&many).all(|(few, many)| few <= many), "{few:?}, {many:?}");
        }
    }
}

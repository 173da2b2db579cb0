use proptest::prelude::*;
use warpfile_hdl::regless::{RegLessShard, ShardGeometry};
use warpfile_random::config;
use warpfile_random::{Beside, option_sets, random_cycles};
use warpfile_testbenches::mutation::elaborate;

use super::shard_driver::{Counts, Driver};
use crate::library::clean;

pub fn small(lines: usize) -> RegLessShard {
    let geometry =
        ShardGeometry { warps: 4, banks: 4, lines, lanes: 4, lanes_per_slice: 2, register_bits: 4 };
    RegLessShard {
        geometry,
        metadata_words: 2,
        queue: 2,
        units: 3,
        entries: 2,
        id_bits: 4,
        writes: 2,
        compressor_lines: 0,
        compressor_queue: 2,
        issues: 2,
        gated: false,
    }
}

fn shards() -> impl Strategy<Value = RegLessShard> {
    let geometry = (prop_oneof![Just(1_usize), Just(2), Just(4), Just(8)], 0..4_u32, 2..8_usize).prop_map(
        |(warps, banks, lines)| ShardGeometry {
            warps,
            banks: 1 << banks,
            // One bank for all must hold what an instruction needs.
            lines: if banks < 2 { lines + 8 } else { lines },
            lanes: 4,
            lanes_per_slice: 2,
            register_bits: 4,
        },
    );
    let powers = |most: u32| (1..=most).prop_map(|power| 1_usize << power);
    let choices = (1..4_usize, 0..3_usize, 1..3_usize, any::<bool>());
    (geometry, powers(3), 2..6_usize, 1..4_usize, powers(3), choices).prop_map(
        |(geometry, metadata_words, queue, units, entries, (writes, compressor_lines, issues, gated))| {
            RegLessShard {
                geometry,
                metadata_words,
                queue,
                units,
                entries,
                id_bits: 5,
                writes,
                compressor_lines,
                compressor_queue: 2,
                issues,
                gated,
            }
        },
    )
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn every_operand_that_a_shard_delivers_is_right(
        (shard, exact, seed) in (shards(), any::<bool>(), any::<u64>()),
    ) {
        let mut driver = Driver::new(&shard, exact, seed);
        driver.run(1500);
        prop_assert!(driver.counts.instructions > 20, "{:?}", driver.counts);
    }
}

#[test]
fn a_scarce_shard_evicts_fetches_invalidates_and_drops() {
    let mut driver = Driver::new(&small(3), true, 7);
    driver.run(6000);
    let counts = &driver.counts;
    let all = [counts.dual_issues, counts.hits, counts.unwritten, counts.fetched, counts.exits];
    assert!(all.iter().chain(&counts.requests).all(|&count| count > 20), "{counts:?}");
}

#[test]
fn a_scarce_shard_whose_lines_sleep_delivers_every_operand() {
    for compressor_lines in [0, 2] {
        let mut driver = Driver::new(&RegLessShard { gated: true, compressor_lines, ..small(3) }, true, 7);
        driver.run(9000);
        let counts = &driver.counts;
        let all = [counts.dual_issues, counts.hits, counts.unwritten, counts.fetched, counts.exits];
        assert!(all.iter().all(|&count| count > 20) && counts.power_waits > 1000, "{counts:?}");
    }
}

#[test]
fn shards_with_few_warps_and_two_lines_a_bank_run() {
    for (warps, banks, lines) in [(1, 8, 2), (2, 4, 3), (2, 8, 2), (4, 4, 2)] {
        let geometry = ShardGeometry { warps, banks, lines, ..small(2).geometry };
        let mut driver = Driver::new(&RegLessShard { geometry, ..small(2) }, true, 7);
        driver.run(1500);
        let counts = &driver.counts;
        assert!(counts.instructions > 50 && counts.unwritten + counts.fetched > 10, "{counts:?}");
    }
}

/// An entry's number has as many bits as an access's position in it, a line's as many as what becomes of it, so that ports
/// of different meaning are of one width. All eight banks and all units are busy.
#[test]
fn operands_of_eight_banks_come_to_their_entries_and_positions() {
    let geometry = ShardGeometry { warps: 8, banks: 8, lines: 4, ..small(4).geometry };
    let shard = RegLessShard { geometry, entries: 8, writes: 3, ..small(4) };
    for seed in 0..3 {
        let mut driver = Driver::new(&shard, true, seed);
        driver.run(4000);
        assert!(driver.counts.instructions > 200, "{:?}", driver.counts);
    }
}

#[test]
fn a_compressor_in_a_shard_keeps_registers_from_memory() {
    let run = |compressor_lines| {
        // With 16 lanes a compressed line has room for seven registers: seven lines for all that the warps use.
        let geometry = ShardGeometry { lanes: 16, ..small(3).geometry };
        let shard = RegLessShard { geometry, compressor_lines, ..small(3) };
        let mut driver = Driver::new(&shard, true, 7);
        driver.run(6000);
        driver.counts
    };
    let (without, with) = (run(0), run(8));
    let requests = |counts: &Counts| counts.requests[0] + counts.requests[1];
    assert!(with.compressor_hits > 20, "{with:?}");
    let few_lines = run(1);
    assert!(few_lines.of_compressed_lines > 20, "{few_lines:?}");
    let rate = |counts: &Counts| requests(counts) as f64 / counts.instructions as f64;
    assert!(rate(&with) < rate(&without), "{with:?}, without: {without:?}");
}

#[test]
fn a_shard_with_room_for_all_registers_evicts_nothing() {
    let mut driver = Driver::new(&small(12), true, 3);
    driver.run(4000);
    let counts = &driver.counts;
    assert_eq!((counts.fetched, counts.requests[0], counts.requests[1]), (0, 0, 0), "{counts:?}");
    assert!(counts.hits > 100, "{counts:?}");
}

#[test]
fn a_read_unit_takes_as_many_instructions_as_it_has_entries() {
    for entries in [2, 4] {
        let mut driver = Driver::new(&RegLessShard { entries, ..small(12) }, true, 5);
        driver.halts = true;
        driver.run(6000);
        let counts = &driver.counts;
        assert!(counts.unit_full.iter().all(|&count| count > 1), "{counts:?}");
    }
}

#[test]
fn no_access_is_lost_when_the_queues_of_the_banks_are_full() {
    let geometry = ShardGeometry { warps: 8, banks: 8, ..small(6).geometry };
    let mut driver = Driver::new(&RegLessShard { geometry, writes: 3, ..small(6) }, true, 9);
    driver.style.is_narrow = true;
    driver.run(12000);
    let counts = &driver.counts;
    let all = counts.queue_full.iter().chain(&counts.result_waits[1..]);
    assert!(all.copied().all(|count| count > 0), "{counts:?}");
}

#[test]
fn shards_are_clean_for_the_three_tools() {
    let one_issue = RegLessShard { issues: 1, ..small(3) };
    let gated = RegLessShard { gated: true, ..small(3) };
    for shard in [small(3), RegLessShard { compressor_lines: 2, ..small(6) }, one_issue, gated] {
        clean(&elaborate(&shard).unwrap());
    }
}

/// A shard of the GTX 980: Table 1 and the preset.
const GTX980: RegLessShard = RegLessShard {
    geometry: ShardGeometry::GTX980,
    metadata_words: 16,
    queue: 4,
    units: 6,
    entries: 4,
    id_bits: 9,
    writes: 3,
    compressor_lines: 12,
    compressor_queue: 4,
    issues: 2,
    gated: false,
};

#[test]
fn a_shard_of_the_gtx_980_is_clean_in_every_style() {
    clean(&elaborate(&GTX980).unwrap());
}

/// With traffic of warps that run regions: requests, fills and results as the shard asks for them.
#[test]
fn the_verilog_of_a_shard_does_the_same() {
    let gated = RegLessShard { gated: true, ..small(3) };
    for shard in [small(3), RegLessShard { compressor_lines: 2, ..small(6) }, gated] {
        let seed = 11;
        let mut driver = Driver::new(&shard, true, seed);
        driver.run(400);
        assert!(driver.counts.instructions > 20, "{:?}", driver.counts);
        driver.recorded.replay_on_verilog(&elaborate(&shard).unwrap(), seed);
    }
}

#[test]
fn shards_are_equal_when_compiled() {
    let gated = RegLessShard { gated: true, ..small(2) };
    for (seed, shard) in [(1, small(2)), (2, RegLessShard { compressor_lines: 2, ..small(6) }), (3, gated)] {
        let netlist = elaborate(&shard).unwrap();
        for options in option_sets(seed) {
            let mut engines = Beside::new(&netlist, &options).unwrap();
            for cycle in random_cycles(&netlist, seed, 200) {
                engines.apply(&cycle);
                engines.step();
                engines.compare().unwrap_or_else(|unequal| panic!("{shard:?}: {unequal}"));
            }
        }
    }
}

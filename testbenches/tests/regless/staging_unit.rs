use proptest::prelude::*;
use warpfile_hdl::regless::{OperandStagingUnit, ShardGeometry};
use warpfile_random::config;
use warpfile_testbenches::mutation::elaborate;

use super::staging_unit_driver::Driver;

fn unit(warps: usize, banks: usize, lines: usize) -> OperandStagingUnit {
    let geometry = ShardGeometry { warps, banks, lines, lanes: 4, lanes_per_slice: 2, register_bits: 4 };
    OperandStagingUnit { geometry, queue: 3, place_bits: 5, writes: 2, gated: false }
}

fn units() -> impl Strategy<Value = OperandStagingUnit> {
    let lines = prop_oneof![2..6_usize, Just(6), Just(12)];
    let counts = (prop::sample::select(vec![1_usize, 2, 4]), 0..4_u32, lines);
    (counts, 2..6_usize, 1..4_usize, any::<bool>()).prop_map(
        |((warps, banks, lines), queue, writes, gated)| OperandStagingUnit {
            queue,
            writes,
            gated,
            ..unit(warps, 1 << banks, lines)
        },
    )
}

proptest! {
    #![proptest_config(config(24))]
    #[test]
    fn a_staging_unit_keeps_every_value_and_counts_every_line((unit, seed) in (units(), any::<u64>())) {
        let mut driver = Driver::new(&elaborate(&unit).unwrap(), &unit, seed);
        prop_assert_eq!(driver.run(1200), Ok(()));
        prop_assert!(driver.counts.reads > 5 && driver.counts.results > 20, "{:?}", driver.counts);
    }
}

#[test]
fn a_staging_unit_with_few_lines_stages_in_every_way_and_asks_memory_for_everything() {
    for (banks, lines, writes, seed, gated) in [
        (4, 2, 2, 5, false),
        (4, 3, 2, 6, false),
        (8, 2, 3, 7, false),
        (4, 2, 2, 8, true),
        (8, 3, 3, 9, true),
    ] {
        let unit = OperandStagingUnit { writes, gated, ..unit(4, banks, lines) };
        let mut driver = Driver::new(&elaborate(&unit).unwrap(), &unit, seed);
        driver.run(6000).unwrap();
        let counts = &driver.counts;
        let all = counts.staged.iter().chain(&counts.requests);
        assert!(all.chain([&counts.waits]).all(|&count| count > 10), "{counts:?}");
        assert_eq!(counts.power_waits > 100, gated, "{counts:?}");
    }
}

//! The interpreter and the printed Verilog agree on every operation.

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use warpfile_gen::emit;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_testbenches::icarus::Stimulus;
use warpfile_testbenches::lint::lint;
use warpfile_testbenches::lockstep::verilog_equals_engine;

use crate::random_netlist::{Choice, Constants, random_netlist};

/// Inputs that are often all zeros or all ones, from a chain of numbers.
fn stimuli(netlist: &Netlist, mut seed: u64, cycles: usize) -> Vec<Stimulus> {
    let widths: Vec<u32> = netlist.modules[netlist.top.index()]
        .ports
        .iter()
        .filter(|p| p.direction == Direction::Input)
        .map(|p| p.width)
        .collect();
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 24
    };
    let mut input = |width: u32| {
        let all: BigUint = (BigUint::from(1u32) << width) - 1u32;
        match next() % 6 {
            0 => BigUint::ZERO,
            1 => all,
            2 => BigUint::from(1u32) << (next() % u64::from(width)),
            _ => (0..3).fold(BigUint::ZERO, |value, _| (value << 40) | BigUint::from(next())) & all,
        }
    };
    (0..cycles)
        .map(|cycle| Stimulus { reset: cycle % 13 == 5, inputs: widths.iter().map(|&w| input(w)).collect() })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(24) })]
    #[test]
    fn engine_and_verilog_agree_on_random_netlists(
        shape in any::<Choice>(),
        choices in vec(any::<Choice>(), 1..60),
        seed in any::<u64>(),
    ) {
        let netlist = random_netlist(Constants::Extreme, shape, &choices);
        let result = verilog_equals_engine(&netlist, seed, &stimuli(&netlist, seed, 40));
        prop_assert!(result.is_ok(), "{}\n{}", result.unwrap_err(), emit(&netlist).modules[0].text);
    }
}

// Always the same netlists: what a tool warns of is its own affair, and must not come and go.
proptest! {
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 60,
        rng_seed: RngSeed::Fixed(2011),
        ..ProptestConfig::with_cases(12)
    })]
    #[test]
    fn random_netlists_are_clean_for_the_three_tools(
        shape in any::<Choice>(),
        choices in vec(any::<Choice>(), 1..60),
    ) {
        let files = emit(&random_netlist(Constants::Moderate, shape, &choices));
        let warnings = lint(&files).unwrap();
        prop_assert!(warnings.is_empty(), "{}\n{}", warnings.join("\n"), files.modules[0].text);
    }
}

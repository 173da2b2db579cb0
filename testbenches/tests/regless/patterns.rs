//! Every pattern, values close to one, and any other.

use num_bigint::BigUint;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_gen::emit;
use warpfile_hdl::regless::{Pattern, PatternExpander, PatternMatcher};
use warpfile_random::config;
use warpfile_testbenches::mutation::elaborate;

use super::patterns_ref::{joined, matched, value};

/// The circuits under test.
struct Circuits {
    matcher: Interpreter,
    expander: Interpreter,
}

impl Circuits {
    fn new(lanes: usize) -> Circuits {
        let options = Options::checked();
        Circuits {
            matcher: Interpreter::new(&elaborate(&PatternMatcher { lanes }).unwrap(), &options).unwrap(),
            expander: Interpreter::new(&elaborate(&PatternExpander { lanes }).unwrap(), &options).unwrap(),
        }
    }

    fn matched(&mut self, value: &[u32]) -> (u64, u64) {
        let input = self.matcher.input("value_i").unwrap();
        let outputs = ["pattern_o", "bases_o"].map(|name| self.matcher.output(name).unwrap());
        self.matcher.set_big(input, &joined(value));
        self.matcher.step();
        let [pattern, bases] = outputs.map(|output| self.matcher.get(output));
        (pattern, bases)
    }

    fn expanded(&mut self, pattern: u64, bases: u64) -> BigUint {
        let inputs = ["pattern_i", "bases_i"].map(|name| self.expander.input(name).unwrap());
        let output = self.expander.output("value_o").unwrap();
        self.expander.set(inputs[0], pattern);
        self.expander.set(inputs[1], bases);
        self.expander.step();
        self.expander.get_big(output)
    }

    /// The matcher says what the reference says, and the expander gives the value back.
    fn check(&mut self, value: &[u32]) -> Result<Pattern, TestCaseError> {
        let (pattern, bases) = matched(value);
        let found = self.matched(value);
        prop_assert_eq!(found, (pattern as u64, u64::from(bases[0]) | u64::from(bases[1]) << 32));
        if pattern != Pattern::Uncompressed {
            prop_assert_eq!(self.expanded(found.0, found.1), joined(value));
        }
        Ok(pattern)
    }
}

/// First values, many of them close to where 32 bits, signed or not, wrap around.
fn base() -> impl Strategy<Value = u32> {
    let around = |edge: u32| (0u32..300).prop_map(move |near| edge.wrapping_sub(150).wrapping_add(near));
    prop_oneof![any::<u32>(), around(0), around(1 << 31)]
}

fn lanes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(4), Just(6), Just(32)]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop::sample::select(Pattern::COMPRESSED.to_vec())
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn every_pattern_is_found_and_gives_its_value_back(
        lanes in lanes(), pattern in pattern(), low in base(), high in base(),
    ) {
        let value = value(pattern, [low, high], lanes);
        let found = Circuits::new(lanes).check(&value)?;
        // Two halves may happen to follow each other.
        prop_assert!(found == pattern || (found as u32 + 2 == pattern as u32 && pattern.is_half_warp()));
    }

    #[test]
    fn a_value_of_which_one_lane_differs_is_not_compressed(
        lanes in lanes(), pattern in pattern(), low in base(), high in base(), lane in 0usize..32, by in 1u32..,
    ) {
        let mut value = value(pattern, [low, high], lanes);
        value[lane % lanes] = value[lane % lanes].wrapping_add(by);
        let found = Circuits::new(lanes).check(&value)?;
        // Of four lanes the other three leave room for another pattern.
        prop_assert!(lanes < 32 || found == Pattern::Uncompressed);
    }

    #[test]
    fn any_steps_between_lanes_are_classified_as_the_reference_does(
        lanes in lanes(), first in base(), steps in prop::collection::vec(prop::sample::select(vec![0u32, 1, 4, 3, u32::MAX, u32::MAX - 3]), 31), alike in 0usize..32,
    ) {
        // The first `alike` steps are the same.
        let step = |lane: usize| steps[if lane < alike { 0 } else { lane }];
        let sum = (0..lanes - 1).scan(first, |sum, lane| {
            *sum = sum.wrapping_add(step(lane));
            Some(*sum)
        });
        let value: Vec<u32> = std::iter::once(first).chain(sum).collect();
        Circuits::new(lanes).check(&value)?;
    }
}

#[test]
fn the_halves_of_a_constant_are_no_pattern_when_they_differ() {
    let value: Vec<u32> = (0..32).map(|lane| if lane < 16 { 7 } else { 8 }).collect();
    assert_eq!(Circuits::new(32).check(&value).unwrap(), Pattern::Uncompressed);
}

#[test]
fn falling_values_are_no_pattern() {
    for stride in [1, 4] {
        let value: Vec<u32> = (0..32).map(|lane| 100u32.wrapping_sub(stride * lane)).collect();
        assert_eq!(Circuits::new(32).check(&value).unwrap(), Pattern::Uncompressed);
    }
}

#[test]
fn strides_run_through_zero_and_through_the_largest_signed_number() {
    for (first, pattern) in [(u32::MAX - 9, Pattern::Stride1), (i32::MAX as u32 - 50, Pattern::Stride4)] {
        let value: Vec<u32> = (0..32).map(|lane| first.wrapping_add(pattern.stride() * lane)).collect();
        assert_eq!(Circuits::new(32).check(&value).unwrap(), pattern);
    }
}

#[test]
fn verilog() {
    let [matcher, expander] = [
        emit(&elaborate(&PatternMatcher { lanes: 4 }).unwrap()),
        emit(&elaborate(&PatternExpander { lanes: 4 }).unwrap()),
    ];
    insta::assert_snapshot!("pattern_matcher_verilog", matcher.modules[0].text);
    insta::assert_snapshot!("pattern_expander_verilog", expander.modules[0].text);
}

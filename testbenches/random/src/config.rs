//! How many random cases a test has, and what they follow from.

use std::env;
use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroU32;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

/// Milliseconds that a failing case is made smaller for: with a Verilog tool in each trial it may not take hours.
const LONGEST_SHRINKING: u32 = 120_000;

/// Configuration of a property test of `cases` random cases. The environment variable `RANDOM_TIMES`
/// multiplies their number, for long runs.
///
/// The seed that all of them follow from is printed, and a test that fails shows what it printed: with
/// `PROPTEST_RNG_SEED` set to it the test runs the same cases again. Nothing else of a failure is kept.
///
/// # Panics
///
/// If `RANDOM_TIMES` is no number, or 0: a test without cases tests nothing.
pub fn config(cases: u32) -> ProptestConfig {
    seeded(cases, None)
}

/// The same, with cases that follow from the environment variable `CI_SLICE_SEED` if that is set, as other draws of
/// `scripts/test` do: the same in every run on a commit, others on the next.
///
/// # Panics
///
/// As [`config`].
pub fn drawn_config(cases: u32) -> ProptestConfig {
    seeded(cases, env::var("CI_SLICE_SEED").ok().filter(|text| !text.is_empty()))
}

fn seeded(cases: u32, draw: Option<String>) -> ProptestConfig {
    let times = match env::var("RANDOM_TIMES") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("RANDOM_TIMES is `{text}`; accepted: 1 and more")),
        Err(_) => NonZeroU32::MIN,
    };
    let from_environment = ProptestConfig::default();
    let seed = match from_environment.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random if let Some(draw) = draw => {
            let mut hasher = DefaultHasher::new();
            hasher.write(draw.as_bytes());
            hasher.finish()
        }
        RngSeed::Random => TestRunner::new(from_environment.clone()).rng().next_u64(),
    };
    println!("PROPTEST_RNG_SEED={seed} makes the same cases");
    ProptestConfig {
        cases: cases.saturating_mul(times.get()),
        failure_persistence: None,
        max_shrink_iters: 50_000,
        max_shrink_time: LONGEST_SHRINKING,
        rng_seed: RngSeed::Fixed(seed),
        ..from_environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_fresh_unless_a_seed_is_given() {
        let is_given = ProptestConfig::default().rng_seed != RngSeed::Random;
        assert_eq!(config(1).rng_seed == config(1).rng_seed, is_given);
        let [a, b, again] = ["a", "b", "a"].map(|draw| seeded(1, Some(draw.to_owned())).rng_seed);
        assert!(a == again && (a == b) == is_given, "{a:?} {b:?} {again:?}");
    }
}

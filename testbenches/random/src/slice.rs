//! Which cells of a long table of runs a test makes.

use proptest::prelude::Rng as _;
use proptest::test_runner::TestRunner;

use crate::drawn_config;

/// One in so many of `cells`, in their order: of each `one_in` that stand together one is drawn, of those that are left over
/// at the end too. The environment variable `RANDOM_TIMES` makes it as many times more, up to all; what is drawn follows
/// from the same as the cases of [`drawn_config`].
///
/// # Panics
///
/// As [`drawn_config`], and if `one_in` is 0.
pub fn slice<T>(one_in: u32, cells: impl IntoIterator<Item = T>) -> Vec<T> {
    let config = drawn_config(1);
    let group = one_in.div_ceil(config.cases) as usize;
    let mut runner = TestRunner::new(config);
    let mut cells: Vec<T> = cells.into_iter().collect();
    let mut drawn = Vec::new();
    while !cells.is_empty() {
        let rest = cells.split_off(group.min(cells.len()));
        let place = runner.rng().next_u64() as usize % cells.len();
        drawn.push(cells.swap_remove(place));
        cells = rest;
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_group_is_drawn() {
        let drawn = slice(1, 0..10);
        assert_eq!(drawn, Vec::from_iter(0..10));
        if drawn_config(1).cases > 1 {
            return;
        }
        let drawn = slice(4, 0..10);
        assert!(matches!(drawn[..], [0..4, 4..8, 8..10]), "{drawn:?}");
    }
}

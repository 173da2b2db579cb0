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
/// As [`drawn_config`].
pub fn slice<T>(one_in: u32, cells: impl IntoIterator<Item = T>) -> Vec<T> {
    let config = drawn_config(1);
    let group = one_in.div_ceil(config.cases).max(1) as usize;
    let mut runner = TestRunner::new(config);
    one_of_each(group, cells, &mut || runner.rng().next_u64() as usize)
}

/// Of each `group` cells that stand together the one at the next of `numbers`, modulo how many they are.
fn one_of_each<T>(
    group: usize,
    cells: impl IntoIterator<Item = T>,
    numbers: &mut dyn FnMut() -> usize,
) -> Vec<T> {
    let mut cells = cells.into_iter().peekable();
    let mut drawn = Vec::new();
    while cells.peek().is_some() {
        let mut together: Vec<T> = cells.by_ref().take(group).collect();
        let place = numbers() % together.len();
        drawn.push(together.swap_remove(place));
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_group_is_drawn_and_of_what_is_left_over() {
        let mut numbers = [5, 3, 1].into_iter();
        assert_eq!(one_of_each(4, 0..10, &mut || numbers.next().unwrap()), [1, 7, 9]);
        assert_eq!(one_of_each(1, 0..10, &mut || 3), Vec::from_iter(0..10));
        assert_eq!(slice(1, 0..10), Vec::from_iter(0..10));
        assert!(slice(4, 0..0).is_empty());
    }
}

//! Searches in the sorted list of keys: exact.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (keys, values) = (inputs.integers("record_keys"), inputs.integers("values"));
    let found: Vec<i32> = inputs
        .integers("wanted")
        .iter()
        .map(|key| keys.binary_search(key).map_or(-1, |record| values[record]))
        .collect();
    let not_above = |bound: i32| keys.partition_point(|&key| key <= bound) as i32;
    let lower = inputs.integers("lower");
    let first: Vec<i32> = lower.iter().map(|&bound| not_above(bound)).collect();
    let extents = inputs.integers("extent");
    let count: Vec<i32> = lower
        .iter()
        .zip(&extents)
        .map(|(&bound, &extent)| not_above(bound + extent) - not_above(bound))
        .collect();
    Outputs::default().integers("found", &found).integers("first", &first).integers("count", &count)
}

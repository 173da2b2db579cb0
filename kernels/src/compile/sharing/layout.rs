//! Which scratchpad variables lie in the shared part of a block's scratchpad (§3.2.1).

use super::VariableSet;
use super::ranges::Ranges;

/// Variables of a kernel beyond which sets are not compared with each other: there are 2^n.
pub const MOST_COMPARED: usize = 16;

/// Chooses the variables that are shared, of the bytes that each takes, for a shared part of `shared` bytes.
///
/// Of the sets that take exactly as many bytes that whose access range has the fewest instructions. The thesis does not say
/// what to do when there is none: of the sets that are larger the smallest, one of whose variables then lies across the
/// border. Among equals the set of the variables declared first. Of more than [`MOST_COMPARED`] variables all are shared.
pub fn choose(bytes: &[u64], shared: u64, ranges: &Ranges<'_>) -> VariableSet {
    let all = VariableSet::MAX.checked_shr(VariableSet::BITS - bytes.len() as u32).unwrap_or(0);
    if bytes.len() > MOST_COMPARED {
        return all;
    }
    let size = |set: VariableSet| -> u64 { members(set).map(|variable| bytes[variable]).sum() };
    let large_enough = (0..=all).map(|set| (size(set), set)).filter(|(size, _)| *size >= shared);
    let best = large_enough.min_by_key(|&(size, set)| (size, ranges.instructions(set), set));
    best.map_or(all, |(_, set)| set)
}

/// Where each variable begins, of `(bytes, alignment)` each: those that are not shared first. Gives the offsets and the bytes
/// that all of them take.
pub fn place(variables: &[(u64, u64)], shared: VariableSet) -> (Vec<u64>, u64) {
    let mut offsets = vec![0; variables.len()];
    let mut end: u64 = 0;
    let is_shared = |variable: &usize| shared >> variable & 1 == 1;
    let (last, first): (Vec<usize>, Vec<usize>) = (0..variables.len()).partition(is_shared);
    for variable in first.into_iter().chain(last) {
        let (bytes, alignment) = variables[variable];
        offsets[variable] = end.next_multiple_of(alignment);
        end = offsets[variable] + bytes;
    }
    (offsets, end)
}

/// The variables of a set.
pub fn members(set: VariableSet) -> impl Iterator<Item = usize> {
    (0..VariableSet::BITS as usize).filter(move |variable| set >> variable & 1 == 1)
}

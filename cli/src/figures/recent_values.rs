//! Results whose value has just been computed, whatever by: what a value signature buffer could find.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use warpfile_kernels::program::LaneValues;

/// Different values that are looked at.
pub const LAST: [usize; 4] = [128, 256, 1024, 4096];

/// Results of all 32 lanes, by how many different values have come since an equal one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// All of them.
    pub results: u64,
    /// Those whose value is among the last so many different ones ([`LAST`]).
    pub among: [u64; LAST.len()],
}

/// The last different values, the newest in front.
#[derive(Default)]
pub struct RecentValues {
    /// In 64 bits, which tell those of a run apart.
    hashes: VecDeque<u64>,
    /// What has been found.
    pub found: Found,
}

impl RecentValues {
    /// A result comes.
    pub fn see(&mut self, value: &LaneValues) {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let hash = hasher.finish();
        self.found.results += 1;
        if let Some(place) = self.hashes.iter().position(|&other| other == hash) {
            let among = self.found.among.iter_mut().zip(LAST);
            among.filter(|(_, last)| place < *last).for_each(|(count, _)| *count += 1);
            self.hashes.remove(place);
        }
        self.hashes.truncate(LAST[LAST.len() - 1] - 1);
        self.hashes.push_front(hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_among_as_many_as_have_come_since() {
        let mut values = RecentValues::default();
        let mut see = |value: u32| values.see(&[value; 32]);
        (0..128).for_each(&mut see);
        // The first is the last of 128; then the second has 127 others before it, and the first is not counted twice.
        [0, 1, 0].into_iter().for_each(&mut see);
        (200..328).for_each(&mut see);
        see(0);
        (1000..6000).for_each(&mut see);
        see(0);
        assert_eq!(values.found, Found { results: 128 + 3 + 128 + 1 + 5000 + 1, among: [3, 4, 4, 4] });
    }
}

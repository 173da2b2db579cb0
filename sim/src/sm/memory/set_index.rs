//! Which set of a cache a line belongs to.

use crate::config::CacheIndex;

/// Set of line `number`, the address over the bytes of a line, in a cache of `sets`.
///
/// - `linear`: the low bits.
/// - `xor`: all groups of as many bits as an index has, XORed.
/// - `fermi`: as found on Fermi for 32 and 64 sets: the low five bits XOR the bits 6, 7, 8, 10 and 12; with 64 sets bit 5 is
///   the highest of the index. Source: Nugteren et al., "A Detailed GPU Cache Model Based on Reuse Distance Theory", HPCA
///   2014; GPGPU-Sim's set index function `H`.
pub(super) fn set_of(number: u64, sets: u64, index: CacheIndex) -> u64 {
    match index {
        CacheIndex::Linear => number % sets,
        CacheIndex::Xor => {
            let (mut rest, mut folded) = (number, 0);
            while rest > 0 && sets > 1 {
                folded ^= rest % sets;
                rest /= sets;
            }
            folded % sets
        }
        CacheIndex::Fermi => {
            let bit = |from: u64, to: u64| (number >> from & 1) << to;
            let hashed = number & 0x1f ^ (bit(6, 0) | bit(7, 1) | bit(8, 2) | bit(10, 3) | bit(12, 4));
            (hashed | bit(5, 5)) % sets
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_uses_every_set_equally_for_consecutive_lines() {
        for index in [CacheIndex::Linear, CacheIndex::Xor, CacheIndex::Fermi] {
            for sets in [32, 64] {
                let mut lines = vec![0; sets as usize];
                (0..64 * sets).for_each(|number| lines[set_of(number, sets, index) as usize] += 1);
                assert!(lines.iter().all(|count| *count == 64), "{index:?}, {sets} sets: {lines:?}");
            }
        }
    }

    #[test]
    fn a_stride_of_all_sets_conflicts_only_without_a_hash() {
        let used = |index| {
            let mut used: Vec<u64> = (0..32).map(|line| set_of(64 * line, 64, index)).collect();
            used.sort_unstable();
            used.dedup();
            used.len()
        };
        assert_eq!(used(CacheIndex::Linear), 1);
        assert_eq!(used(CacheIndex::Xor), 32);
        assert_eq!(used(CacheIndex::Fermi), 16, "bit 9 does not count");
    }

    #[test]
    fn a_fermi_l1_of_48_kb_has_the_sets_of_the_paper() {
        // Bits 7 to 11 XOR bits 13, 14, 15, 17 and 19; bit 12 is the highest.
        let set = |address: u64| set_of(address / 128, 64, CacheIndex::Fermi);
        assert_eq!((set(0x80), set(0x1000), set(0x2000), set(0x8000)), (1, 32, 1, 4));
        assert_eq!((set(0x2_0000), set(0x8_0000), set(0x1_0000)), (8, 16, 0));
    }

    #[test]
    fn any_number_of_sets_has_an_index() {
        for sets in [1, 3, 7, 48] {
            assert!((0..10_000).all(|number| set_of(number, sets, CacheIndex::Xor) < sets));
        }
    }
}

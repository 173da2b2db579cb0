//! How long shared and constant memory are busy with one warp instruction.

use warpfile_kernels::program::{LANES, WarpInstruction};

use crate::config::Throughput;

/// Bytes of a shared memory bank's word.
const WORD_BYTES: u64 = 4;
/// Words of one warp access at most: 16 bytes a lane, unaligned.
const MAX_WORDS: usize = LANES * 5;

/// An access of one warp instruction to shared or constant memory. Lanes that touch one word share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordAccess {
    /// Words of 32 bits.
    pub words: u64,
    /// Cycles that it takes, at least 1.
    pub cycles: u64,
}

/// To shared memory: distinct words at the bandwidth, or with bank conflicts as many cycles as the bank that holds most of them has
/// words.
pub(crate) fn shared_access(instruction: &WarpInstruction, bytes: u8, throughput: &Throughput) -> WordAccess {
    let mut words = [0; MAX_WORDS];
    let words = distinct_words(instruction, u64::from(bytes), &mut words);
    let banks = (throughput.shared_bytes / WORD_BYTES) as usize;
    let cycles = if throughput.shared_bank_conflicts {
        most_in_one_bank(words, banks)
    } else {
        words.len().div_ceil(banks)
    };
    WordAccess { words: words.len() as u64, cycles: cycles.max(1) as u64 }
}

/// To constant memory: distinct words at the words a cycle.
pub(crate) fn constant_access(instruction: &WarpInstruction, throughput: &Throughput) -> WordAccess {
    let mut words = [0; MAX_WORDS];
    let words = distinct_words(instruction, 1, &mut words);
    let words = words.len() as u64;
    WordAccess { words, cycles: words.div_ceil(throughput.constant_words).max(1) }
}

/// Word numbers that the active lanes touch, each once, ascending.
fn distinct_words<'w>(
    instruction: &WarpInstruction,
    bytes: u64,
    words: &'w mut [u64; MAX_WORDS],
) -> &'w [u64] {
    let mut count = 0;
    for lane in 0..LANES {
        if instruction.active >> lane & 1 == 1 {
            let first = instruction.addresses[lane] / WORD_BYTES;
            let last = instruction.addresses[lane].saturating_add(bytes - 1) / WORD_BYTES;
            for word in first..=last {
                words[count] = word;
                count += 1;
            }
        }
    }
    words[..count].sort_unstable();
    let mut kept = 0;
    for index in 0..count {
        if index == 0 || words[index] != words[kept - 1] {
            words[kept] = words[index];
            kept += 1;
        }
    }
    &words[..kept]
}

fn most_in_one_bank(words: &[u64], banks: usize) -> usize {
    let in_bank = |bank| words.iter().filter(|&&word| word as usize % banks == bank).count();
    (0..banks).map(in_bank).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: impl Fn(u64) -> u64) -> WarpInstruction {
        let mut instruction = WarpInstruction { active: !0, ..Default::default() };
        for lane in 0..LANES {
            instruction.addresses[lane] = address(lane as u64);
        }
        instruction
    }

    fn throughput(shared_bank_conflicts: bool) -> Throughput {
        let mut config = crate::config::preset("gebhart2011").expect("complete");
        config.throughput.shared_bank_conflicts = shared_bank_conflicts;
        config.throughput
    }

    fn shared_cycles(instruction: &WarpInstruction, bytes: u8, throughput: &Throughput) -> u64 {
        shared_access(instruction, bytes, throughput).cycles
    }

    #[test]
    fn lanes_that_touch_one_word_share_it() {
        let words = |address: fn(u64) -> u64| {
            let access = access(address);
            let [shared, constant] =
                [shared_access(&access, 4, &throughput(true)), constant_access(&access, &throughput(true))];
            assert_eq!(shared.words, constant.words);
            shared.words
        };
        assert_eq!(words(|lane| 4 * lane), 32);
        assert_eq!(words(|lane| 4 * (lane / 4)), 8);
        assert_eq!(words(|_| 64), 1);
    }

    #[test]
    fn a_full_warp_of_words_takes_four_cycles_at_32_bytes() {
        assert_eq!(shared_cycles(&access(|lane| 4 * lane), 4, &throughput(false)), 4);
        assert_eq!(shared_cycles(&access(|lane| 4 * lane), 4, &throughput(true)), 4);
        assert_eq!(shared_cycles(&access(|lane| 16 * lane), 16, &throughput(false)), 16);
    }

    #[test]
    fn a_broadcast_takes_one_cycle() {
        assert_eq!(shared_cycles(&access(|_| 64), 4, &throughput(false)), 1);
        assert_eq!(shared_cycles(&access(|_| 64), 4, &throughput(true)), 1);
    }

    #[test]
    fn a_stride_of_all_banks_conflicts_only_where_conflicts_are_modelled() {
        assert_eq!(shared_cycles(&access(|lane| 32 * lane), 4, &throughput(false)), 4);
        assert_eq!(shared_cycles(&access(|lane| 32 * lane), 4, &throughput(true)), 32);
    }

    #[test]
    fn constant_memory_broadcasts_one_word_a_cycle() {
        assert_eq!(constant_access(&access(|_| 8), &throughput(false)).cycles, 1);
        assert_eq!(constant_access(&access(|lane| 4 * (lane % 3)), &throughput(false)).cycles, 3);
    }
}

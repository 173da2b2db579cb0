//! Coalescing: lanes that touch the same block of memory share a transaction.

use warpfile_kernels::program::{LANES, WarpInstruction};

use super::register_lines::FIRST_LINE;

/// Transactions of one warp instruction at most: an unaligned access of 16 bytes touches up to five blocks of
/// four bytes.
pub(super) const MAX_TRANSACTIONS: usize = LANES * 5;

/// Sectors of one aligned block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Transaction {
    /// First byte of the block.
    pub address: u64,
    /// Sectors of the block that are touched, one bit each.
    pub sectors: u64,
}

/// Writes the transactions of a warp's access into `into`, in the order in which lanes first need them, and
/// gives their number. `block_bytes` and `sector_bytes` are powers of two, at most 64 sectors a block.
pub(super) fn coalesce(
    instruction: &WarpInstruction,
    bytes: u64,
    sector_bytes: u64,
    block_bytes: u64,
    into: &mut [Transaction; MAX_TRANSACTIONS],
) -> usize {
    let mut count = 0;
    for lane in 0..LANES {
        if instruction.active >> lane & 1 == 0 {
            continue;
        }
        let address = instruction.addresses[lane] % FIRST_LINE;
        let first = address & !(sector_bytes - 1);
        let last = (address + bytes - 1).min(FIRST_LINE - 1) & !(sector_bytes - 1);
        let mut sector = first;
        loop {
            let address = sector & !(block_bytes - 1);
            let bit = 1u64 << ((sector - address) / sector_bytes);
            match into[..count].iter_mut().rev().find(|known| known.address == address) {
                Some(known) => known.sectors |= bit,
                None => {
                    into[count] = Transaction { address, sectors: bit };
                    count += 1;
                }
            }
            if sector == last {
                break;
            }
            sector += sector_bytes;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transactions(active: u32, address: impl Fn(u64) -> u64, bytes: u64, block: u64) -> Vec<(u64, u64)> {
        let mut instruction = WarpInstruction { active, ..Default::default() };
        for lane in 0..LANES {
            instruction.addresses[lane] = address(lane as u64);
        }
        let mut into = [Transaction::default(); MAX_TRANSACTIONS];
        let count = coalesce(&instruction, bytes, 32, block, &mut into);
        into[..count].iter().map(|t| (t.address, t.sectors)).collect()
    }

    #[test]
    fn consecutive_words_take_one_transaction_a_block() {
        assert_eq!(transactions(!0, |lane| 4 * lane, 4, 128), [(0, 0b1111)]);
        assert_eq!(transactions(!0, |lane| 4 * lane, 4, 32), [(0, 1), (32, 1), (64, 1), (96, 1)]);
    }

    #[test]
    fn a_broadcast_takes_one_sector() {
        assert_eq!(transactions(!0, |_| 260, 4, 128), [(256, 1)]);
    }

    #[test]
    fn scattered_lanes_take_one_each_and_inactive_lanes_none() {
        assert_eq!(transactions(!0, |lane| 4096 * lane, 4, 32).len(), 32);
        assert_eq!(transactions(0b101, |lane| 4096 * lane, 4, 32), [(0, 1), (8192, 1)]);
        assert_eq!(transactions(0, |lane| lane, 4, 32), []);
    }

    #[test]
    fn an_unaligned_access_takes_both_sectors() {
        assert_eq!(transactions(1, |_| 30, 4, 32), [(0, 1), (32, 1)]);
        assert_eq!(transactions(1, |_| u64::MAX, 4, 32), [(FIRST_LINE - 32, 1)], "a trace may say so");
    }
}

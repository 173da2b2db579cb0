//! Which thread block is the oldest of a partition, and whose turn it is to ask for registers.

use warpfile_kernels::program::BlockIndex;

use crate::sm::design::WarpSlot;

/// The resident blocks, the oldest first, each with its warps, one bit each.
#[derive(Default)]
pub(super) struct Residents {
    blocks: Vec<(BlockIndex, u64)>,
}

impl Residents {
    /// A warp of a block becomes resident. The warps of a block come one after the other.
    pub fn start(&mut self, warp: WarpSlot, block: BlockIndex) {
        match self.blocks.last_mut() {
            Some((youngest, warps)) if *youngest == block => *warps |= 1 << warp,
            Some(_) | None => self.blocks.push((block, 1 << warp)),
        }
    }

    /// A warp is no longer resident.
    pub fn end(&mut self, warp: WarpSlot) {
        for (_, warps) in &mut self.blocks {
            *warps &= !(1 << warp);
        }
        self.blocks.retain(|(_, warps)| *warps != 0);
    }

    /// Warps of the oldest block.
    pub fn oldest(&self) -> u64 {
        self.blocks.first().map_or(0, |(_, warps)| *warps)
    }

    /// Warps of the block whose turn it is to be `admitted`: the oldest with a warp that is not. In the oldest of all,
    /// those that are `parked` do not ask.
    pub fn turn(&self, admitted: u64, parked: u64) -> u64 {
        let asks = |(age, (_, warps)): &(usize, &(BlockIndex, u64))| {
            let silent = if *age == 0 { admitted | parked } else { admitted };
            warps & !silent != 0
        };
        self.blocks.iter().enumerate().find(asks).map_or(0, |(_, (_, warps))| *warps)
    }

    /// Warps of the block that has most.
    pub fn most_warps(&self) -> u64 {
        self.blocks.iter().map(|(_, warps)| u64::from(warps.count_ones())).max().unwrap_or(0)
    }

    /// Every resident warp, one bit each.
    pub fn all(&self) -> u64 {
        self.blocks.iter().fold(0, |all, (_, warps)| all | warps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_turn_of_the_oldest_block_with_a_warp_that_is_not_admitted() {
        let mut residents = Residents::default();
        for (warp, block) in [(1, 7), (2, 7), (0, 8), (3, 8), (4, 8)] {
            residents.start(warp, block);
        }
        assert_eq!((residents.oldest(), residents.most_warps(), residents.all()), (0b110, 3, 0b11111));
        assert_eq!(residents.turn(0, 0), 0b110);
        assert_eq!(residents.turn(0b10, 0), 0b110, "of the oldest block a warp still asks");
        assert_eq!(residents.turn(0b10, 0b100), 0b11001, "it waits at a barrier");
        assert_eq!(residents.turn(0b110, 0b1001), 0b11001, "in younger blocks those at a barrier ask too");
        assert_eq!(residents.turn(0b11111, 0), 0);
        residents.end(1);
        residents.end(2);
        assert_eq!((residents.oldest(), residents.turn(0b1, 0)), (0b11001, 0b11001));
    }
}

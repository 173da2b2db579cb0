//! Which thread block is the oldest of a partition, and which of its warps goes first.

use warpfile_kernels::program::BlockIndex;

use super::super::super::design::WarpSlot;

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

    /// The warp of the oldest block that goes first, one-hot: the lowest-numbered that is not in `parked`.
    pub fn first(&self, parked: u64) -> u64 {
        let candidates = self.oldest() & !parked;
        candidates & candidates.wrapping_neg()
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
    fn the_first_warp_of_the_oldest_block_that_is_not_parked_goes_first() {
        let mut residents = Residents::default();
        for (warp, block) in [(1, 7), (2, 7), (0, 8), (3, 8), (4, 8)] {
            residents.start(warp, block);
        }
        assert_eq!((residents.oldest(), residents.first(0), residents.most_warps()), (0b110, 0b10, 3));
        assert_eq!(residents.first(0b10), 0b100);
        assert_eq!(residents.first(0b110), 0, "a younger block does not go first while the oldest waits");
        residents.end(1);
        residents.end(2);
        assert_eq!((residents.oldest(), residents.first(0), residents.all()), (0b11001, 1, 0b11001));
    }
}

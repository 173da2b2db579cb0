//! What an access unit is told of blocks: one launch a cycle, into a slot that it knows to be free.

use std::collections::VecDeque;

use warpfile_engine::{InPort, OutPort, State};
use warpfile_kernels::program::BlockIndex;

/// Warps of the SM, one bit each.
pub type Warps = u128;

/// Warps of an SM at most.
pub const MAX_WARPS: u64 = Warps::BITS as u64;

/// Gives an input a set of warps.
pub fn set_warps(state: &mut State, port: InPort, warps: Warps) {
    state.set_words(port, &[warps as u64, (warps >> 64) as u64]);
}

/// The set of warps of an output.
pub fn warps(state: &State, port: OutPort) -> Warps {
    state.get_words(port).iter().rev().fold(0, |warps, word| warps << 64 | Warps::from(*word))
}

/// What of a set of the SM's warps is of a partition that has so many.
pub fn of_partition(warps: Warps, partition: usize, count: usize) -> u64 {
    (warps >> (partition * count)) as u64 & (u64::MAX >> (64 - count))
}

/// Slots of the blocks of a set of warps, one bit each. `slots`: that of each warp.
pub fn blocks_of(warps: Warps, slots: &[usize]) -> u64 {
    let of_warp = slots.iter().enumerate().filter(|(warp, _)| warps >> warp & 1 == 1);
    of_warp.fold(0, |blocks, (_, slot)| blocks | 1 << slot)
}

/// A block on its way into the unit.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub slot: usize,
    /// The slot of the block that it shares with.
    pub partner: Option<usize>,
    /// Its warps.
    pub warps: Warps,
    /// The last of them.
    pub last: usize,
    /// Another was the last, which has ended: this one is no shorter than the others.
    pub is_whole: bool,
}

/// What has happened in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    pub launch: Option<Launch>,
    /// Warps that have ended.
    pub warps_ended: Warps,
    /// Blocks that have ended.
    pub blocks_ended: u64,
}

/// The resident blocks, and what the unit does not know yet.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Warps of each slot that have not ended.
    running: Vec<Warps>,
    launches: VecDeque<Launch>,
    /// Slots that the unit knows to be taken.
    known: u64,
    /// Warps of blocks that it does not know: they must not issue.
    pub unknown: Warps,
    ended: Events,
    /// The block that is being started in a slot of the layer's choice, and its warps so far.
    starting: Option<(BlockIndex, usize, usize)>,
}

impl Blocks {
    pub fn new(slots: usize) -> Blocks {
        Blocks { running: vec![0; slots], launches: VecDeque::with_capacity(slots), ..Blocks::default() }
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.running.len()
    }

    /// Where the next warp of a block is started, all of a block one after the other: the lowest slot without a block, and the
    /// warp's number there.
    pub fn next_warp(&mut self, block: BlockIndex) -> (usize, usize) {
        let (slot, number) = match self.starting {
            Some((starting, slot, started)) if starting == block => (slot, started),
            Some(_) | None => (self.running.iter().position(|running| *running == 0).unwrap_or(0), 0),
        };
        self.starting = Some((block, slot, number + 1));
        (slot, number)
    }

    /// A warp of the block in a slot becomes resident; all of a block in one cycle.
    pub fn start_warp(&mut self, slot: usize, partner: Option<usize>, warp: usize) {
        if self.running[slot] == 0 {
            self.launches.push_back(Launch { slot, partner, warps: 0, last: warp, is_whole: false });
        }
        if let Some(launch) = self.launches.back_mut() {
            launch.warps |= 1 << warp;
            launch.last = warp;
        }
        self.running[slot] |= 1 << warp;
        self.unknown |= 1 << warp;
    }

    /// A warp ends. Gives whether it was its block's last.
    pub fn end_warp(&mut self, slot: usize, warp: usize) -> bool {
        self.running[slot] &= !(1 << warp);
        let is_last = self.running[slot] == 0;
        if is_last {
            // Its number may come again, in another launch.
            self.starting = None;
        }
        if self.unknown >> warp & 1 == 0 {
            self.ended.warps_ended |= 1 << warp;
            self.ended.blocks_ended |= u64::from(is_last) << slot;
        } else if let Some(at) = self.launches.iter().position(|launch| launch.slot == slot) {
            // It has ended before the unit knew of it, and its place may be another block's before it does.
            self.unknown &= !(1 << warp);
            let launch = &mut self.launches[at];
            launch.warps &= !(1 << warp);
            if is_last {
                let _ = self.launches.remove(at);
            } else if launch.last == warp {
                (launch.last, launch.is_whole) = (launch.warps.trailing_zeros() as usize, true);
            }
        }
        is_last
    }

    /// Slots of blocks that the unit knows, one bit each.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Ends the cycle. `may_launch`: the unit takes a block in it.
    pub fn end_cycle(&mut self, may_launch: bool) -> Events {
        let is_free = |launch: &&Launch| self.known >> launch.slot & 1 == 0;
        let launch = self.launches.front().filter(|_| may_launch).filter(is_free).copied();
        let events = Events { launch, ..std::mem::take(&mut self.ended) };
        self.known &= !events.blocks_ended;
        if let Some(launch) = launch {
            self.launches.pop_front();
            self.known |= 1 << launch.slot;
            self.unknown &= !launch.warps;
        }
        events
    }
}

/// Numbers side by side in words, the first lowest.
#[derive(Clone, Debug)]
pub struct Packed {
    pub words: Vec<u64>,
    bits: usize,
}

impl Packed {
    /// `count` numbers of so many bits, 0 each.
    pub fn new(count: usize, bits: usize) -> Packed {
        Packed { words: vec![0; (count * bits).div_ceil(64)], bits }
    }

    /// A number.
    pub fn get(&self, index: usize) -> u64 {
        let (word, shift) = (index * self.bits / 64, index * self.bits % 64);
        let low = self.words[word] >> shift;
        let high = if shift + self.bits > 64 { self.words[word + 1] << (64 - shift) } else { 0 };
        (low | high) & ((1 << self.bits) - 1)
    }

    /// Changes a number.
    pub fn set(&mut self, index: usize, value: u64) {
        let (word, shift) = (index * self.bits / 64, index * self.bits % 64);
        let mask = (1_u64 << self.bits) - 1;
        let value = value & mask;
        self.words[word] = self.words[word] & !(mask << shift) | value << shift;
        if shift + self.bits > 64 {
            let low = 64 - shift;
            self.words[word + 1] = self.words[word + 1] & !(mask >> low) | value >> low;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lie_across_words() {
        let mut packed = Packed::new(9, 17);
        for index in 0..9 {
            packed.set(index, 0x1_0000 + index as u64);
        }
        packed.set(3, 5);
        let of = |index: usize| {
            let number = (0..17).fold(0_u64, |value, bit| {
                let at = index * 17 + bit;
                value | (packed.words[at / 64] >> (at % 64) & 1) << bit
            });
            assert_eq!(number, packed.get(index));
            number
        };
        assert_eq!(
            (0..9).map(of).collect::<Vec<u64>>(),
            [65536, 65537, 65538, 5, 65540, 65541, 65542, 65543, 65544]
        );
    }

    #[test]
    fn warps_of_a_block_go_to_one_slot() {
        let mut blocks = Blocks::new(2);
        let mut start = |block: BlockIndex, warp: usize| {
            let (slot, number) = blocks.next_warp(block);
            blocks.start_warp(slot, None, warp);
            (slot, number)
        };
        assert_eq!([start(7, 0), start(7, 1), start(8, 2)], [(0, 0), (0, 1), (1, 0)]);
        assert_eq!(blocks_of(0b110, &[0, 0, 1]), 0b11);
        blocks.end_warp(1, 2);
        // A block of this number in another launch.
        assert_eq!(blocks.next_warp(8), (1, 0));
    }

    #[test]
    fn a_slot_is_filled_again_in_the_cycle_after_its_block_has_ended() {
        let mut blocks = Blocks::new(2);
        blocks.start_warp(0, Some(1), 4);
        assert!(blocks.end_cycle(false).launch.is_none());
        assert_eq!(blocks.unknown, 0b1_0000);
        assert_eq!(blocks.end_cycle(true).launch.map(|launch| launch.warps), Some(0b1_0000));
        assert!(blocks.end_warp(0, 4));
        blocks.start_warp(0, Some(1), 4);
        let events = blocks.end_cycle(true);
        assert_eq!((events.blocks_ended, events.warps_ended), (1, 0b1_0000));
        assert!(events.launch.is_none() && blocks.unknown == 0b1_0000);
        assert!(blocks.end_cycle(true).launch.is_some());
    }

    #[test]
    fn a_warp_that_ends_at_once_is_never_told_of() {
        let mut blocks = Blocks::new(2);
        (0..3).for_each(|warp| blocks.start_warp(0, Some(1), warp));
        assert!(!blocks.end_warp(0, 2));
        // Another block in its place.
        (2..4).for_each(|warp| blocks.start_warp(1, Some(0), warp));
        let launch = blocks.end_cycle(true).launch.expect("the first block");
        assert_eq!((launch.warps, launch.last, launch.is_whole), (0b11, 0, true));
        assert_eq!(blocks.unknown, 0b1100);
        let launch = blocks.end_cycle(true).launch.expect("the second block");
        assert_eq!((launch.warps, launch.last, launch.is_whole), (0b1100, 3, false));
    }

    #[test]
    fn a_block_that_ends_at_once_is_never_told_of() {
        let mut blocks = Blocks::new(1);
        blocks.start_warp(0, None, 0);
        assert!(blocks.end_warp(0, 0));
        let events = blocks.end_cycle(true);
        assert!(events.launch.is_none() && events.blocks_ended == 0 && blocks.unknown == 0);
    }
}

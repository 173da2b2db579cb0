//! What tells loads apart that read one address and may not read one value.

use std::cell::Cell;
use std::rc::Rc;

use warpfile_kernels::program::BlockIndex;

use crate::sm::design::WarpSlot;

/// How often an instruction of an SM has ordered memory accesses: loads from global memory before and after that are not the
/// same. Its schedulers share it.
pub type Orderings = Rc<Cell<u64>>;

/// Where a load is in the order of accesses: the fields of Fig. 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its block, or for loads from global memory a number that stands for all blocks until accesses are ordered.
    pub block: u8,
    /// Barriers that its warp has passed.
    pub barriers: u8,
    /// Orderings when it was renamed, if it loads from global memory.
    pub orderings: Option<u64>,
}

/// A resident block.
#[derive(Clone, Copy, Debug)]
struct Block {
    index: BlockIndex,
    warps: u32,
    number: Option<u8>,
}

/// Numbers of blocks, as the rows of the reuse buffer have them.
///
/// 0 is that of rows for which the block does not matter. A number is given away again when the buffer has been swept of its
/// rows; what gets none, because all are in use, does not reuse loads.
pub struct Numbers {
    /// Rows of the reuse buffer.
    rows: u64,
    free: u32,
    /// Those whose rows are still to be swept.
    dead: u32,
    /// The one whose rows are being swept, and how many rows the sweep has passed.
    sweeping: Option<u8>,
    swept: u64,
    blocks: Vec<Option<Block>>,
    /// Of each warp its place among the blocks.
    of_warps: Vec<usize>,
    /// That of loads from global memory.
    global: Option<u8>,
    orderings: Orderings,
    seen: u64,
}

impl Numbers {
    /// `bits`: of a number.
    pub fn new(warps: usize, bits: usize, rows: u64, orderings: Orderings) -> Numbers {
        let mut numbers = Numbers {
            rows,
            free: ((1 << (1 << bits)) - 1) & !1,
            dead: 0,
            sweeping: None,
            swept: 0,
            blocks: vec![None; warps],
            of_warps: vec![0; warps],
            global: None,
            seen: orderings.get(),
            orderings,
        };
        numbers.global = numbers.take();
        numbers
    }

    fn take(&mut self) -> Option<u8> {
        let number = (self.free != 0).then(|| self.free.trailing_zeros() as u8)?;
        self.free &= !(1 << number);
        Some(number)
    }

    fn give_back(&mut self, number: Option<u8>) {
        self.dead |= number.map_or(0, |number| 1 << number);
    }

    pub fn start_warp(&mut self, warp: WarpSlot, index: BlockIndex) {
        let is_there = |block: &Option<Block>| block.is_some_and(|block| block.index == index);
        let there = self.blocks.iter().position(is_there);
        // There are as many places as warps, and this warp has none.
        let place = there.or_else(|| self.blocks.iter().position(Option::is_none)).unwrap_or(warp);
        let number = if there.is_none() { self.take() } else { None };
        self.blocks[place].get_or_insert(Block { index, warps: 0, number }).warps += 1;
        self.of_warps[warp] = place;
    }

    pub fn end_warp(&mut self, warp: WarpSlot) {
        let place = self.of_warps[warp];
        let Some(block) = &mut self.blocks[place] else { return };
        block.warps -= 1;
        if block.warps == 0 {
            let number = block.number;
            self.blocks[place] = None;
            self.give_back(number);
        }
    }

    /// The number of a warp's block.
    pub fn block(&self, warp: WarpSlot) -> Option<u8> {
        self.blocks[self.of_warps[warp]].and_then(|block| block.number)
    }

    /// The number of loads from global memory, and the orderings that there have been.
    pub fn global(&mut self) -> (Option<u8>, u64) {
        let now = self.orderings.get();
        if now != self.seen {
            self.seen = now;
            let old = self.global.take();
            self.give_back(old);
        }
        if self.global.is_none() {
            self.global = self.take();
        }
        (self.global, now)
    }

    /// An instruction orders accesses.
    pub fn order(&mut self) {
        self.orderings.set(self.orderings.get() + 1);
    }

    /// Whether a load from global memory may still be reused where it is.
    pub fn is_current(&self, place: &Place) -> bool {
        place.orderings.is_none_or(|orderings| orderings == self.orderings.get())
    }

    /// The number whose rows are to be swept.
    pub fn sweep(&mut self) -> Option<u8> {
        if self.sweeping.is_none() && self.dead != 0 {
            self.sweeping = Some(self.dead.trailing_zeros() as u8);
            self.swept = 0;
        }
        self.sweeping
    }

    /// A row has been swept for it.
    pub fn follow_sweep(&mut self) {
        self.swept += 1;
        if self.swept == self.rows
            && let Some(number) = self.sweeping.take()
        {
            self.dead &= !(1 << number);
            self.free |= 1 << number;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::{Numbers, Orderings};

    fn numbers(orderings: &Orderings) -> Numbers {
        Numbers::new(4, 2, 8, Rc::clone(orderings))
    }

    #[test]
    fn a_number_comes_back_when_the_buffer_has_been_swept_of_its_rows() {
        let orderings = Orderings::default();
        let mut numbers = numbers(&orderings);
        numbers.start_warp(0, 7);
        numbers.start_warp(1, 7);
        numbers.start_warp(2, 8);
        assert_eq!((numbers.block(0), numbers.block(1), numbers.block(2)), (Some(2), Some(2), Some(3)));
        numbers.end_warp(0);
        assert_eq!(numbers.sweep(), None, "a warp of the block is left");
        numbers.end_warp(1);
        numbers.start_warp(0, 9);
        assert_eq!((numbers.block(0), numbers.sweep()), (None, Some(2)), "all are in use");
        numbers.give_back(Some(1));
        (0..8).for_each(|_| numbers.follow_sweep());
        assert_eq!(numbers.sweep(), Some(1), "a lower number has come since");
        numbers.start_warp(3, 10);
        assert_eq!(numbers.block(3), Some(2));
    }

    #[test]
    fn what_one_scheduler_orders_all_have_ordered() {
        let orderings = Orderings::default();
        let (mut one, mut other) = (numbers(&orderings), numbers(&orderings));
        let before = other.global();
        one.order();
        let after = other.global();
        assert_ne!(before, after);
        assert_eq!(other.sweep(), before.0);
        for _ in 0..2 {
            other.order();
            other.global();
        }
        assert_eq!(other.global().0, None, "all are in use");
    }
}

//! Warp slots: what each warp waits for, its instruction buffer and its row of the scoreboard.

use super::kernel::{Decoded, Kernel};

/// A warp slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Warp {
    pub state: State,
    /// Block slot.
    pub block: usize,
    /// Number in its block.
    pub number: usize,
    /// Row of register 0 in the main register file.
    pub first_row: u32,
    /// The next instruction, fetched and visible to the hardware.
    pub head: Option<Head>,
    /// Slot of the active set it holds.
    pub slot: Option<usize>,
    /// Slot that is being flushed for it.
    pub flushing: Option<usize>,
    /// Counts suspensions: an instruction of an earlier activation does not write the cache.
    pub activation: u32,
    /// Made active with the current head: a marked head does not suspend it again.
    pub resumed: bool,
    /// Instructions issued and not yet done.
    pub in_flight: u32,
    /// Of these, those that are not long-latency operations past dispatch.
    pub short_in_flight: u32,
    /// Memory accesses issued and not yet done.
    pub memory_in_flight: u32,
}

/// An instruction in a warp's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Entry in flight.
    pub id: u16,
    /// Position in the program: known here so that looking for ready warps touches no entry.
    pub index: usize,
}

/// What a warp slot does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// No warp.
    #[default]
    Empty,
    /// The head is visible.
    Ready,
    /// The next instruction is to be fetched as soon as there is room.
    Fetching,
    /// A branch or exit has been issued and has not resolved.
    Branching,
    /// A barrier has been issued; `arrived` once it has reached the barrier unit.
    AtBarrier { arrived: bool },
    /// Everything has been issued.
    Ended,
}

/// Registers and predicates with a result on its way, one row a warp slot.
pub(super) struct Scoreboard {
    words: usize,
    pending: Vec<u64>,
    /// Those of `pending` whose producer is a long-latency operation.
    pending_long: Vec<u64>,
}

/// What an instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hazard {
    None,
    /// Only for results of short operations.
    Short,
    /// For a result of a long-latency operation, perhaps among others.
    Long,
}

impl Scoreboard {
    pub fn new(warps: usize, words: usize) -> Scoreboard {
        Scoreboard { words, pending: vec![0; warps * words], pending_long: vec![0; warps * words] }
    }

    /// Read-after-write and write-after-write hazards of an instruction.
    pub fn hazard(&self, warp: usize, kernel: &Kernel, index: usize) -> Hazard {
        let row = warp * self.words;
        let mut any = 0;
        let mut long = 0;
        for (word, hazard) in kernel.hazards(index).iter().enumerate() {
            any |= hazard & self.pending[row + word];
            long |= hazard & self.pending_long[row + word];
        }
        match (any != 0, long != 0) {
            (_, true) => Hazard::Long,
            (true, false) => Hazard::Short,
            (false, false) => Hazard::None,
        }
    }

    /// An instruction issues: its results are on their way.
    pub fn issue(&mut self, warp: usize, kernel: &Kernel, index: usize, decoded: &Decoded) {
        let row = warp * self.words;
        for (word, writes) in kernel.writes(index).iter().enumerate() {
            self.pending[row + word] |= writes;
            if decoded.is_long() {
                self.pending_long[row + word] |= writes;
            }
        }
    }

    /// A result has been written.
    pub fn clear(&mut self, warp: usize, bit: usize) {
        let word = warp * self.words + bit / 64;
        self.pending[word] &= !(1 << (bit % 64));
        self.pending_long[word] &= !(1 << (bit % 64));
    }
}

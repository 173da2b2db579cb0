//! Warp slots: what each warp waits for, its instruction buffer and its row of the scoreboard.
//!
//! What the cycle loop asks of all warps at once is kept as sets, one bit a warp slot, and follows every change: no
//! cycle looks at each warp.

use super::design::WarpRows;
use super::kernel::{Decoded, Kernel};
use super::machine::{CLASSES, SharedPipeline, SlotClass};

/// A set of warp slots, one bit each.
pub(super) type WarpSet = u64;

/// A warp slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Warp {
    state: State,
    /// Block slot.
    pub block: usize,
    /// Number in its block.
    pub number: usize,
    /// Rows of its registers in the main register file.
    pub rows: WarpRows,
    /// The next instruction, fetched and visible to the hardware.
    head: Option<Head>,
    /// Slot of the active set it holds.
    slot: Option<usize>,
    /// Slot that is being flushed for it.
    flushing: Option<usize>,
    /// Counts suspensions: an instruction of an earlier activation does not write the cache.
    pub activation: u32,
    /// Instructions issued and not yet done.
    in_flight: u32,
    /// Of these, those that are not long-latency operations past dispatch.
    short_in_flight: u32,
    /// Memory accesses issued and not yet done.
    memory_in_flight: u32,
}

/// An instruction in a warp's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Entry in flight.
    pub id: u16,
    /// Position in the program: known here so that looking for ready warps touches no entry.
    pub index: usize,
    /// Metadata instructions before it that have not been issued.
    pub metadata: u16,
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

/// The warp slots of the SM.
pub(super) struct Warps {
    warps: Vec<Warp>,
    sets: WarpSets,
}

/// Which warps are in which state, and what is known of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WarpSets {
    /// By state; [`State::Empty`] is in none.
    pub ready: WarpSet,
    pub fetching: WarpSet,
    pub branching: WarpSet,
    /// Whether arrived or not.
    pub at_barrier: WarpSet,
    pub arrived: WarpSet,
    pub ended: WarpSet,
    /// Hold a slot of the active set.
    pub holding: WarpSet,
    /// A slot is being flushed for them.
    pub flushing: WarpSet,
    /// Made active with the current head: a marked head does not suspend them again.
    pub resumed: WarpSet,
    /// Have short operations, or long ones before dispatch, in flight.
    pub short_in_flight: WarpSet,
    /// The compiler marked the head: it suspends its warp.
    pub marked: WarpSet,
    /// There are metadata instructions before the head that have not been issued.
    pub metadata: WarpSet,
    /// The head takes an issue slot of a class, by class.
    pub by_slot_class: [WarpSet; CLASSES],
    /// The head waits for results of short operations only, as of the last [`Warps::set_hazard`].
    pub short_hazard: WarpSet,
    /// The head waits for a result of a long-latency operation, perhaps among others.
    pub long_hazard: WarpSet,
    /// Something has changed that the head may have waited for.
    pub stale_hazard: WarpSet,
}

impl Warps {
    pub fn new(count: usize) -> Warps {
        Warps { warps: vec![Warp::default(); count], sets: WarpSets::default() }
    }

    pub fn count(&self) -> usize {
        self.warps.len()
    }

    pub fn get(&self, warp: usize) -> &Warp {
        &self.warps[warp]
    }

    pub fn sets(&self) -> &WarpSets {
        &self.sets
    }

    /// Warps that have further instructions.
    pub fn alive(&self) -> WarpSet {
        let WarpSets { ready, fetching, branching, at_barrier, .. } = self.sets;
        ready | fetching | branching | at_barrier
    }

    /// Registers of a warp lie elsewhere.
    pub fn set_rows(&mut self, warp: usize, rows: WarpRows) {
        self.warps[warp].rows = rows;
    }

    /// A warp takes an empty slot; its first instruction is to be fetched.
    pub fn start(&mut self, warp: usize, block: usize, number: usize, rows: WarpRows) {
        self.warps[warp] = Warp { block, number, rows, ..Warp::default() };
        self.set_state(warp, State::Fetching);
    }

    pub fn set_state(&mut self, warp: usize, state: State) {
        let bit = 1 << warp;
        let sets = &mut self.sets;
        sets.ready &= !bit;
        sets.fetching &= !bit;
        sets.branching &= !bit;
        sets.at_barrier &= !bit;
        sets.arrived &= !bit;
        sets.ended &= !bit;
        match state {
            State::Empty => {}
            State::Ready => sets.ready |= bit,
            State::Fetching => sets.fetching |= bit,
            State::Branching => sets.branching |= bit,
            State::AtBarrier { arrived } => {
                sets.at_barrier |= bit;
                sets.arrived |= if arrived { bit } else { 0 };
            }
            State::Ended => sets.ended |= bit,
        }
        self.warps[warp].state = state;
    }

    /// The next instruction is visible.
    pub fn set_head(&mut self, warp: usize, head: Head, marked: bool, class: SlotClass) {
        let bit = 1 << warp;
        self.sets.by_slot_class.iter_mut().for_each(|set| *set &= !bit);
        self.sets.by_slot_class[class as usize] |= bit;
        self.warps[warp].head = Some(head);
        self.sets.resumed &= !bit;
        self.sets.marked = if marked { self.sets.marked | bit } else { self.sets.marked & !bit };
        self.sets.metadata =
            if head.metadata > 0 { self.sets.metadata | bit } else { self.sets.metadata & !bit };
        self.sets.stale_hazard |= bit;
        self.set_state(warp, State::Ready);
    }

    /// The instruction leaves the buffer: it is issued from `slot`.
    pub fn issue(&mut self, warp: usize, slot: usize, accesses_memory: bool) {
        let bit = 1 << warp;
        self.sets.holding |= bit;
        self.sets.short_in_flight |= bit;
        let warp = &mut self.warps[warp];
        warp.slot = Some(slot);
        warp.in_flight += 1;
        warp.short_in_flight += 1;
        warp.memory_in_flight += u32::from(accesses_memory);
        warp.head = None;
    }

    /// Warps whose head finds no issue slot of the SM in this cycle.
    pub fn without_slot(&self, shared: &SharedPipeline) -> WarpSet {
        if !shared.is_limited() {
            return 0;
        }
        let classes = [SlotClass::Alu, SlotClass::Double, SlotClass::Sfu, SlotClass::Memory];
        let full = classes.into_iter().filter(|class| !shared.can_issue(*class));
        full.fold(0, |warps, class| warps | self.sets.by_slot_class[class as usize])
    }

    /// Issues up to `slots` of the metadata instructions before the head. Gives how many.
    pub fn issue_metadata(&mut self, warp: usize, slots: u16) -> u16 {
        let Some(head) = &mut self.warps[warp].head else { return 0 };
        let issued = head.metadata.min(slots);
        head.metadata -= issued;
        if head.metadata == 0 {
            self.sets.metadata &= !(1 << warp);
        }
        issued
    }

    /// A long-latency operation of the warp has been dispatched.
    pub fn dispatch_long(&mut self, warp: usize) {
        self.end_short(warp);
    }

    /// Nothing of an instruction of the warp is left to do.
    pub fn finish(&mut self, warp: usize, long: bool, accesses_memory: bool) {
        if !long {
            self.end_short(warp);
        }
        self.sets.stale_hazard |= 1 << warp;
        let warp = &mut self.warps[warp];
        warp.in_flight -= 1;
        warp.memory_in_flight -= u32::from(accesses_memory);
    }

    fn end_short(&mut self, warp: usize) {
        self.warps[warp].short_in_flight -= 1;
        if self.warps[warp].short_in_flight == 0 {
            self.sets.short_in_flight &= !(1 << warp);
        }
    }

    /// A result of the warp has been written, or a predicate is known: the head may not have to wait any longer.
    pub fn result_known(&mut self, warp: usize) {
        self.sets.stale_hazard |= 1 << warp;
    }

    /// What the head waits for.
    pub fn set_hazard(&mut self, warp: usize, hazard: Hazard) {
        let bit = 1 << warp;
        let sets = &mut self.sets;
        sets.stale_hazard &= !bit;
        sets.short_hazard &= !bit;
        sets.long_hazard &= !bit;
        match hazard {
            Hazard::None => {}
            Hazard::Short => sets.short_hazard |= bit,
            Hazard::Long => sets.long_hazard |= bit,
        }
    }

    /// The warp is made active in `slot`.
    pub fn activate(&mut self, warp: usize, slot: usize) {
        self.warps[warp].slot = Some(slot);
        self.sets.holding |= 1 << warp;
        self.sets.resumed |= 1 << warp;
    }

    /// The warp gives up its slot, which is flushed.
    pub fn give_up_slot(&mut self, warp: usize, slot: usize) {
        self.sets.holding &= !(1 << warp);
        self.sets.flushing |= 1 << warp;
        let warp = &mut self.warps[warp];
        warp.slot = None;
        warp.flushing = Some(slot);
        warp.activation += 1;
    }

    /// Slots that are not in `busy` have been flushed.
    pub fn end_flushes(&mut self, busy: u64) {
        for warp in each(self.sets.flushing) {
            if self.warps[warp].flushing.is_none_or(|slot| busy >> slot & 1 == 0) {
                self.warps[warp].flushing = None;
                self.sets.flushing &= !(1 << warp);
            }
        }
    }
}

impl Warp {
    pub fn state(&self) -> State {
        self.state
    }

    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// Slot of the active set it holds.
    pub fn slot(&self) -> Option<usize> {
        self.slot
    }

    /// Slot that it holds, or that is being flushed for it.
    pub fn slot_or_flushing(&self) -> Option<usize> {
        self.slot.or(self.flushing)
    }

    /// Instructions issued and not yet done.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether memory accesses are issued and not yet done.
    pub fn accesses_memory(&self) -> bool {
        self.memory_in_flight > 0
    }
}

/// The warps of a set, in order of their slots.
pub(crate) fn each(mut set: WarpSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let warp = first(set)?;
        set &= set - 1;
        Some(warp)
    })
}

/// The first warp of a set.
pub(super) fn first(set: WarpSet) -> Option<usize> {
    (set != 0).then_some(set.trailing_zeros() as usize)
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
        let row = warp * self.words..(warp + 1) * self.words;
        let (pending, pending_long) = (&self.pending[row.clone()], &self.pending_long[row]);
        let (mut any, mut long) = (0, 0);
        for ((hazard, pending), pending_long) in kernel.hazards(index).iter().zip(pending).zip(pending_long) {
            any |= hazard & pending;
            long |= hazard & pending_long;
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

//! The register file cache as plain data: 8 slots of 6 entries, first in first out, 8 collectors.
//!
//! Which entry holds a register is kept by slot and register, the order of a slot's entries as a queue, and how
//! many operands have still to be read from an entry is counted: nothing is searched. Operands that are not found are
//! carried along as operands without lanes, in a row of their own, as that is less work than to foretell which are.
//! A cycle first asks what happens (`&self`), then makes it happen in the order in which the circuit lets later
//! changes win.

use super::collectors::{COLLECTORS, REGISTERS, SOURCES};
use super::row::Row;

const SLOTS: usize = 8;
const ENTRIES: usize = 6;
/// Places for entries: as many as fit in three bits.
const PLACES: usize = 8;
/// The place of registers without an entry; it never holds a lane.
const NOWHERE: u8 = 7;
/// The register of entries without one.
const NO_REGISTER: u16 = REGISTERS as u16;
/// The queue of a slot before anything is allocated.
const IN_ORDER: u32 = 0x54_3210;
/// One in each four bits of a queue.
const ONES: u32 = 0x11_1111;

pub(super) struct Cache {
    slots: [Slot; SLOTS],
    /// The place of each register of each slot, that of [`NO_REGISTER`] not being kept.
    places: Box<[[u8; REGISTERS + 1]; SLOTS]>,
    values: Box<[Row; SLOTS * PLACES]>,
    /// For each row of `values` how many collected operands have still to be read from it.
    readers: [u8; SLOTS * PLACES],
    /// The operands of the instruction looked up last.
    waiting: Pending,
    collected: [Pending; COLLECTORS],
    /// Slots that are being emptied, one bit each.
    pub flushing: u8,
}

/// The entries of a slot.
#[derive(Clone, Copy)]
struct Slot {
    registers: [u16; PLACES],
    /// Lanes that an entry holds; none in one without a register.
    held: [u32; PLACES],
    /// Lanes of these that the main register file does not have.
    dirty: [u32; PLACES],
    /// Entries without a lane, one bit each.
    free: u8,
    /// The entries in the order of allocation, four bits each, the oldest lowest.
    order: u32,
}

/// Operands that an instruction reads here.
#[derive(Clone, Copy, Default)]
pub(super) struct Pending([Read; SOURCES]);

/// An operand that is read here: lanes in the low half, above them the row; nothing if there are no lanes.
#[derive(Clone, Copy, Default)]
struct Read(u64);

/// An instruction that looks its operands up.
pub(super) struct Lookup {
    pub slot: usize,
    pub active: u32,
    pub sources: [Source; SOURCES],
}

/// An operand that is looked up.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub valid: bool,
    pub register: usize,
    pub last_read: bool,
}

/// A result, or what would be one.
pub(super) struct Offered {
    pub valid: bool,
    pub slot: usize,
    pub register: usize,
    pub lanes: u32,
    pub clean: bool,
}

/// Lanes of a register that are no longer held here.
pub(super) struct Invalidate {
    pub slot: usize,
    pub register: usize,
    pub lanes: u32,
}

/// Where a result goes.
pub(super) struct Target {
    entry: usize,
    hit: bool,
    /// An operand has still to be read from the entry.
    pinned: bool,
    /// It holds another register with dirty lanes.
    must_evict: bool,
    /// Lanes of this register that it holds.
    held: u32,
    dirty: u32,
}

/// The flush under way, and the entry that it writes back next; none when nothing is dirty any more.
#[derive(Clone, Copy)]
pub(super) struct Flush {
    slot: usize,
    entry: Option<usize>,
}

/// A register that has to leave for the main register file.
pub(super) struct Spill {
    pub register: usize,
    pub lanes: u32,
    row: usize,
    /// It makes room for the result; otherwise it belongs to the flush.
    pub evicts: bool,
}

/// Row of the values of an entry.
#[inline(always)]
fn row(slot: usize, entry: usize) -> usize {
    (slot % SLOTS) | ((entry % PLACES) << 3)
}

/// All ones if `condition` holds, else 0.
#[inline(always)]
fn all(condition: bool) -> u32 {
    u32::from(condition).wrapping_neg()
}

impl Cache {
    pub fn new() -> Cache {
        Cache {
            slots: [Slot::EMPTY; SLOTS],
            places: Box::new([[NOWHERE; REGISTERS + 1]; SLOTS]),
            values: Box::new([Row::ZERO; SLOTS * PLACES]),
            readers: [0; SLOTS * PLACES],
            waiting: Pending::default(),
            collected: [Pending::default(); COLLECTORS],
            flushing: 0,
        }
    }

    #[inline(always)]
    fn place(&self, slot: usize, register: usize) -> usize {
        usize::from(self.places[slot % SLOTS][register])
    }

    /// The operands found.
    #[inline(always)]
    pub fn look_up(&self, lookup: &Lookup) -> Pending {
        let slot = &self.slots[lookup.slot % SLOTS];
        let mut found = Pending::default();
        for (read, source) in found.0.iter_mut().zip(lookup.sources) {
            let place = self.place(lookup.slot, source.register);
            let lanes = slot.held[place % PLACES] & lookup.active & all(source.valid);
            *read = Read::new(lanes, row(lookup.slot, place));
        }
        found
    }

    /// The operands that the instruction of a collector reads.
    #[inline(always)]
    pub fn collected(&self, collector: usize) -> Pending {
        self.collected[collector % COLLECTORS]
    }

    /// For each operand the sum of its lanes' values.
    #[inline(always)]
    pub fn sums(&self, operands: &Pending) -> [u64; SOURCES] {
        let mut sums = [0; SOURCES];
        for (sum, read) in sums.iter_mut().zip(operands.0) {
            *sum = self.values[read.row()].sum_of(read.lanes());
        }
        sums
    }

    /// The entry that a result goes to; `found` are the operands looked up in this cycle, and `waiting` says whether
    /// those of the instruction before have still to be collected.
    #[inline(always)]
    pub fn target(&self, result: &Offered, found: &Pending, waiting: bool) -> Target {
        let slot = &self.slots[result.slot % SLOTS];
        let place = self.place(result.slot, result.register);
        let hit = place != usize::from(NOWHERE);
        let victim = slot.victim();
        let entry = victim ^ ((victim ^ place) & all(hit) as usize);
        let row = row(result.slot, entry);
        let pinned = (self.readers[row] != 0) | found.reads(row) | (waiting & self.waiting.reads(row));
        let (held, dirty) = (slot.held[entry % PLACES], slot.dirty[entry % PLACES]);
        Target {
            entry,
            hit,
            pinned,
            must_evict: !hit & (dirty != 0),
            held: held & all(hit),
            dirty: dirty & all(hit),
        }
    }

    /// The flush under way.
    #[inline(always)]
    pub fn flush(&self) -> Option<Flush> {
        if self.flushing == 0 {
            return None;
        }
        let slot = self.flushing.trailing_zeros() as usize;
        Some(Flush { slot, entry: self.slots[slot].dirty.iter().position(|&lanes| lanes != 0) })
    }

    /// The register that has to leave: the one in the way of the result, else the next one of the flush.
    #[inline(always)]
    pub fn spill(&self, result: &Offered, target: &Target, flush: Option<Flush>) -> Option<Spill> {
        let evicts = result.valid & target.must_evict & !target.pinned;
        let (slot, entry) = if evicts { (result.slot, target.entry) } else { (flush?.slot, flush?.entry?) };
        let Slot { registers, dirty, .. } = &self.slots[slot % SLOTS];
        let register = usize::from(registers[entry % PLACES]);
        Some(Spill { register, lanes: dirty[entry % PLACES], row: row(slot, entry), evicts })
    }

    /// The value of a register that has to leave.
    #[inline(always)]
    pub fn value(&self, spill: &Spill) -> &Row {
        &self.values[spill.row % (SLOTS * PLACES)]
    }

    /// Puts the operands that wait into a collector, but for those that are not here.
    #[inline(always)]
    pub fn collect(&mut self, collector: usize) {
        let collected = &mut self.collected[collector % COLLECTORS];
        for (read, waiting) in collected.0.iter_mut().zip(self.waiting.0) {
            let here = waiting.lanes() != 0;
            self.readers[read.row()] -= u8::from(here & (read.lanes() != 0));
            self.readers[waiting.row()] += u8::from(here);
            *read = if here { waiting } else { *read };
        }
    }

    /// Empties a collector.
    #[inline(always)]
    pub fn dispatch(&mut self, collector: usize) {
        let collected = std::mem::take(&mut self.collected[collector % COLLECTORS]);
        for read in collected.0 {
            self.readers[read.row()] -= u8::from(read.lanes() != 0);
        }
    }

    /// Keeps the operands found until they are collected; ends the copies that were read for the last time.
    #[inline(always)]
    pub fn keep(&mut self, lookup: &Lookup, found: Pending) {
        self.waiting = found;
        let Lookup { slot, active: lanes, sources } = *lookup;
        for Source { register, .. } in sources.into_iter().filter(|source| source.last_read & source.valid) {
            self.invalidate(&Invalidate { slot, register, lanes });
        }
    }

    #[inline(always)]
    pub fn invalidate(&mut self, write: &Invalidate) {
        let place = self.place(write.slot, write.register);
        let slot = &mut self.slots[write.slot % SLOTS];
        slot.set(place, slot.held[place % PLACES] & !write.lanes, slot.dirty[place % PLACES] & !write.lanes);
    }

    /// Writes a result to its entry.
    #[inline(always)]
    pub fn write(&mut self, result: &Offered, target: &Target, value: &Row) {
        let entry = target.entry;
        let slot = &mut self.slots[result.slot % SLOTS];
        let places = &mut self.places[result.slot % SLOTS];
        places[usize::from(slot.registers[entry % PLACES])] = NOWHERE;
        places[result.register] = entry as u8;
        slot.registers[entry % PLACES] = result.register as u16;
        slot.order = if target.hit { slot.order } else { slot.with_newest(entry) };
        let newer = result.lanes & all(!result.clean);
        slot.set(entry, target.held | result.lanes, target.dirty | newer);
        self.values[row(result.slot, entry)].write(result.lanes, value);
    }

    /// Notes whether the register that the flush offered has been written back; empties the slot when none is left.
    #[inline(always)]
    pub fn advance_flush(&mut self, flush: Option<Flush>, written_back: bool) {
        match flush {
            Some(Flush { slot, entry: Some(entry) }) if written_back => self.slots[slot].dirty[entry] = 0,
            Some(Flush { slot, entry: None }) => {
                self.empty(slot);
                self.flushing &= !(1 << slot);
            }
            Some(Flush { entry: Some(_), .. }) | None => {}
        }
    }

    /// Begins to empty a slot, or forgets its registers at once. A flush of the slot that ends in this cycle,
    /// `ending`, ends the new one too.
    #[inline(always)]
    pub fn start_flush(&mut self, slot: usize, discard: bool, ending: Option<Flush>) {
        if discard {
            self.empty(slot);
        } else if !ending.is_some_and(|flush| flush.entry.is_none() && flush.slot == slot) {
            self.flushing |= 1 << slot;
        }
    }

    /// Forgets the registers of a slot.
    fn empty(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        for register in slot.registers {
            self.places[index][usize::from(register)] = NOWHERE;
        }
        *slot = Slot { order: slot.order, ..Slot::EMPTY };
    }
}

impl Target {
    /// Whether the result could be taken now; `evicted` says that its entry has been made free.
    #[inline(always)]
    pub fn is_ready(&self, result: &Offered, evicted: bool) -> bool {
        (result.clean & self.hit) | (!self.pinned & (!self.must_evict | evicted))
    }

    /// Whether a result that is ready is written; one that is here already need not be.
    #[inline(always)]
    pub fn is_written(&self, result: &Offered, ready: bool) -> bool {
        result.valid & ready & !(result.clean & self.hit)
    }
}

impl Slot {
    /// All entries.
    const ALL: u8 = 0b11_1111;
    const EMPTY: Slot = Slot {
        registers: [NO_REGISTER; PLACES],
        held: [0; PLACES],
        dirty: [0; PLACES],
        free: Slot::ALL,
        order: IN_ORDER,
    };

    /// The entry that makes room: a free one, else the oldest.
    #[inline(always)]
    fn victim(&self) -> usize {
        let oldest = (self.order & 15) as usize;
        if self.free != 0 { self.free.trailing_zeros() as usize } else { oldest }
    }

    /// Sets the lanes of a place.
    #[inline(always)]
    fn set(&mut self, place: usize, held: u32, dirty: u32) {
        self.held[place % PLACES] = held;
        self.dirty[place % PLACES] = dirty;
        self.free = self.free & !(1 << place) | (u8::from(held == 0) << place & Slot::ALL);
    }

    /// The order after an entry has become the newest.
    #[inline(always)]
    fn with_newest(&self, entry: usize) -> u32 {
        // The lowest place of four bits that equals the entry is the lowest that borrows.
        let others = self.order ^ (entry as u32 * ONES);
        let low = (others.wrapping_sub(ONES) & !others & (8 * ONES)).trailing_zeros() & !3;
        let older = self.order & ((1 << low) - 1);
        let newer = self.order >> low >> 4 << low;
        older | newer | (entry as u32) << (4 * (ENTRIES - 1))
    }
}

impl Read {
    #[inline(always)]
    fn new(lanes: u32, row: usize) -> Read {
        Read(u64::from(lanes) | (row as u64) << 32)
    }

    #[inline(always)]
    fn lanes(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    fn row(self) -> usize {
        (self.0 >> 32) as usize % (SLOTS * PLACES)
    }
}

impl Pending {
    /// Lanes of each operand.
    #[inline(always)]
    pub fn lanes(&self) -> [u32; SOURCES] {
        self.0.map(Read::lanes)
    }

    /// Whether a read port is left over.
    #[inline(always)]
    pub fn leaves_a_port(&self) -> bool {
        self.lanes().contains(&0)
    }

    /// Whether an operand is read from a row.
    #[inline(always)]
    fn reads(&self, row: usize) -> bool {
        self.0.iter().fold(false, |any, read| any | ((read.lanes() != 0) & (read.row() == row)))
    }
}

//! The register file cache as plain data: 8 slots of 6 entries, first in first out, 8 collectors.
//!
//! Which entry holds a register is kept by slot and register, the order of a slot's entries as a queue, and how
//! many operands have still to be read from an entry is counted: nothing is searched. A cycle first asks what
//! happens (`&self`), then makes it happen in the order in which the circuit lets later changes win.

use super::collectors::{COLLECTORS, REGISTERS, SOURCES};
use super::row::Row;

const SLOTS: usize = 8;
const ENTRIES: usize = 6;
/// Stands for no entry in an array of entries by register.
const NO_ENTRY: u8 = u8::MAX;

pub(super) struct Cache {
    slots: [Slot; SLOTS],
    /// The entry of each register of each slot.
    entry_of: Box<[[u8; REGISTERS]; SLOTS]>,
    values: Box<[Row; SLOTS * ENTRIES]>,
    /// For each row of `values` how many collected operands have still to be read from it.
    readers: [u8; SLOTS * ENTRIES],
    /// The operands of the instruction looked up last.
    waiting: Pending,
    collected: [Pending; COLLECTORS],
    /// Slots that are being emptied, one bit each.
    pub flushing: u8,
}

/// The entries of a slot.
#[derive(Clone, Copy)]
struct Slot {
    registers: [u16; ENTRIES],
    /// Lanes that an entry holds; none in one without a register.
    held: [u32; ENTRIES],
    /// Lanes of these that the main register file does not have.
    dirty: [u32; ENTRIES],
    /// Entries with a register, one bit each.
    valid: u8,
    /// The entries in the order of allocation, four bits each, the oldest lowest.
    order: u32,
}

/// Operands that an instruction reads here.
#[derive(Clone, Copy, Default)]
pub(super) struct Pending {
    /// Lanes of each operand; 0 if it is not here.
    pub lanes: [u32; SOURCES],
    /// Its row of the values: the slot in the low three bits, the entry above.
    rows: [u8; SOURCES],
}

/// An instruction that looks its operands up.
pub(super) struct Lookup {
    pub slot: usize,
    pub active: u32,
    pub sources: [Source; SOURCES],
}

/// An operand that is looked up.
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

fn row(slot: usize, entry: usize) -> usize {
    slot | entry << 3
}

impl Cache {
    pub fn new() -> Cache {
        let none = [0; ENTRIES];
        let slot = Slot { registers: [0; ENTRIES], held: none, dirty: none, valid: 0, order: 0x54_3210 };
        Cache {
            slots: [slot; SLOTS],
            entry_of: Box::new([[NO_ENTRY; REGISTERS]; SLOTS]),
            values: Box::new([Row::ZERO; SLOTS * ENTRIES]),
            readers: [0; SLOTS * ENTRIES],
            waiting: Pending::default(),
            collected: [Pending::default(); COLLECTORS],
            flushing: 0,
        }
    }

    #[inline(always)]
    fn entry_of(&self, slot: usize, register: usize) -> Option<usize> {
        let entry = self.entry_of[slot][register];
        (entry != NO_ENTRY).then_some(usize::from(entry))
    }

    /// The operands found.
    #[inline(always)]
    pub fn look_up(&self, lookup: &Lookup) -> Pending {
        let mut found = Pending::default();
        for (k, source) in lookup.sources.iter().enumerate() {
            if let Some(entry) = self.entry_of(lookup.slot, source.register)
                && source.valid
            {
                found.lanes[k] = self.slots[lookup.slot].held[entry] & lookup.active;
                found.rows[k] = row(lookup.slot, entry) as u8;
            }
        }
        found
    }

    /// The operands that the instruction of a collector reads.
    #[inline(always)]
    pub fn collected(&self, collector: usize) -> Pending {
        self.collected[collector]
    }

    /// For each operand the sum of its lanes' values.
    #[inline(always)]
    pub fn sums(&self, operands: &Pending) -> [u64; SOURCES] {
        std::array::from_fn(|k| match operands.lanes[k] {
            0 => 0,
            lanes => self.values[usize::from(operands.rows[k])].sum_of(lanes),
        })
    }

    /// The entry that a result goes to; `found` are the operands looked up in this cycle, and `waiting` says whether
    /// those of the instruction before have still to be collected.
    #[inline(always)]
    pub fn target(&self, result: &Offered, found: &Pending, waiting: bool) -> Target {
        let slot = &self.slots[result.slot];
        let hit = self.entry_of(result.slot, result.register);
        let entry = hit.unwrap_or_else(|| slot.victim());
        let row = row(result.slot, entry);
        let pinned =
            self.readers[row] != 0 || found.reads(row as u8) || (waiting && self.waiting.reads(row as u8));
        let (held, dirty) = (slot.held[entry], slot.dirty[entry]);
        Target { entry, hit: hit.is_some(), pinned, must_evict: hit.is_none() && dirty != 0, held, dirty }
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
        let evicts = result.valid && target.must_evict && !target.pinned;
        let (slot, entry) = if evicts { (result.slot, target.entry) } else { (flush?.slot, flush?.entry?) };
        let Slot { registers, dirty, .. } = &self.slots[slot];
        let register = usize::from(registers[entry]);
        Some(Spill { register, lanes: dirty[entry], row: row(slot, entry), evicts })
    }

    /// The value of a register that has to leave.
    #[inline(always)]
    pub fn value(&self, spill: &Spill) -> &Row {
        &self.values[spill.row]
    }

    /// Puts the operands that wait into a collector.
    #[inline(always)]
    pub fn collect(&mut self, collector: usize) {
        let waiting = self.waiting;
        for k in 0..SOURCES {
            if waiting.lanes[k] != 0 {
                self.end_read(collector, k);
                self.collected[collector].lanes[k] = waiting.lanes[k];
                self.collected[collector].rows[k] = waiting.rows[k];
                self.readers[usize::from(waiting.rows[k])] += 1;
            }
        }
    }

    /// Empties a collector.
    #[inline(always)]
    pub fn dispatch(&mut self, collector: usize) {
        for k in 0..SOURCES {
            self.end_read(collector, k);
        }
    }

    #[inline(always)]
    fn end_read(&mut self, collector: usize, k: usize) {
        let Pending { lanes, rows } = &mut self.collected[collector];
        if lanes[k] != 0 {
            lanes[k] = 0;
            self.readers[usize::from(rows[k])] -= 1;
        }
    }

    /// Keeps the operands found until they are collected; ends the copies that were read for the last time.
    #[inline(always)]
    pub fn keep(&mut self, lookup: &Lookup, found: Pending) {
        self.waiting = found;
        for source in &lookup.sources {
            if source.last_read && source.valid {
                let Lookup { slot, active: lanes, .. } = *lookup;
                self.invalidate(&Invalidate { slot, register: source.register, lanes });
            }
        }
    }

    #[inline(always)]
    pub fn invalidate(&mut self, write: &Invalidate) {
        if let Some(entry) = self.entry_of(write.slot, write.register) {
            let slot = &mut self.slots[write.slot];
            slot.held[entry] &= !write.lanes;
            slot.dirty[entry] &= !write.lanes;
        }
    }

    /// Writes a result to its entry.
    #[inline(always)]
    pub fn write(&mut self, result: &Offered, target: &Target, value: &Row) {
        let slot = &mut self.slots[result.slot];
        let entry = target.entry;
        let (held, dirty) = if target.hit { (target.held, target.dirty) } else { (0, 0) };
        if !target.hit {
            let entry_of = &mut self.entry_of[result.slot];
            if slot.valid >> entry & 1 != 0 {
                entry_of[usize::from(slot.registers[entry])] = NO_ENTRY;
            }
            entry_of[result.register] = entry as u8;
            slot.registers[entry] = result.register as u16;
            slot.valid |= 1 << entry;
            slot.renew(entry);
        }
        slot.held[entry] = held | result.lanes;
        slot.dirty[entry] = if result.clean { dirty } else { dirty | result.lanes };
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
        for entry in 0..ENTRIES {
            if slot.valid >> entry & 1 != 0 {
                self.entry_of[index][usize::from(slot.registers[entry])] = NO_ENTRY;
            }
        }
        slot.valid = 0;
        slot.held = [0; ENTRIES];
        slot.dirty = [0; ENTRIES];
    }
}

impl Target {
    /// Whether the result could be taken now; `evicted` says that its entry has been made free.
    #[inline(always)]
    pub fn is_ready(&self, result: &Offered, evicted: bool) -> bool {
        (result.clean && self.hit) || (!self.pinned && (!self.must_evict || evicted))
    }

    /// Whether a result that is ready is written; one that is here already need not be.
    #[inline(always)]
    pub fn is_written(&self, result: &Offered, ready: bool) -> bool {
        result.valid && ready && !(result.clean && self.hit)
    }
}

impl Slot {
    /// The entry that makes room: a free one, else the oldest.
    #[inline(always)]
    fn victim(&self) -> usize {
        let free = self.held.iter().position(|&lanes| lanes == 0);
        free.unwrap_or((self.order & 15) as usize)
    }

    /// Makes an entry the newest.
    #[inline(always)]
    fn renew(&mut self, entry: usize) {
        let mut low = 0;
        while self.order >> low & 15 != entry as u32 {
            low += 4;
        }
        let older = self.order & ((1 << low) - 1);
        let newer = self.order >> (low + 4) << low;
        self.order = older | newer | (entry as u32) << (4 * (ENTRIES - 1));
    }
}

impl Pending {
    /// Whether a read port is left over.
    #[inline(always)]
    pub fn leaves_a_port(&self) -> bool {
        self.lanes.contains(&0)
    }

    /// Whether an operand is read from a row.
    #[inline(always)]
    fn reads(&self, row: u8) -> bool {
        (0..SOURCES).any(|k| self.lanes[k] != 0 && self.rows[k] == row)
    }
}

//! Reference of the register file cache: tags only, no timing. Written from Gebhart et al., §3.1, §3.3 and §5.3,
//! and the circuit's contract.

use warpfile_hdl::rfc::Replacement;

/// An operand that is looked up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    pub register: usize,
    pub last_read: bool,
    pub idle: bool,
}

/// A register with some of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    pub register: usize,
    pub lanes: u32,
}

/// An entry; free if no lane is held.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The register it was allocated to last.
    pub register: Option<usize>,
    pub held: u32,
    pub dirty: u32,
    pub idle: bool,
    /// When it was allocated or, least recently used, touched.
    time: u64,
}

/// What the cache is told to do.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub replacement: Replacement,
    pub liveness: bool,
    pub evict_idle_first: bool,
    /// Registers are those of any number of warps: the main register file has every result too.
    pub shared: bool,
}

/// The entries of every slot.
#[derive(Clone, Debug)]
pub struct CacheReference {
    rules: Rules,
    pub slots: Vec<Vec<Entry>>,
    now: u64,
}

impl CacheReference {
    pub fn new(rules: Rules, slots: usize, entries: usize) -> CacheReference {
        CacheReference { rules, slots: vec![vec![Entry::default(); entries]; slots], now: 0 }
    }

    fn entry(&mut self, slot: usize, register: usize) -> Option<&mut Entry> {
        self.slots[slot].iter_mut().find(|entry| entry.register == Some(register))
    }

    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// The executing lanes that each operand finds.
    pub fn look_up(&self, slot: usize, active: u32, sources: &[Option<Source>; 3]) -> [u32; 3] {
        sources.map(|source| {
            let register = source.map(|source| source.register);
            let entry =
                self.slots[slot].iter().find(|entry| register.is_some() && entry.register == register);
            entry.map_or(0, |entry| entry.held & active)
        })
    }

    /// Notes the use of operands of which these lanes were found, and ends or marks copies as the compiler says.
    pub fn use_operands(&mut self, slot: usize, active: u32, sources: &[Option<Source>; 3], found: [u32; 3]) {
        if self.rules.replacement == Replacement::Lru {
            let read = |register| (0..3).any(|k| found[k] != 0 && sources[k].map(|s| s.register) == register);
            let mut used: Vec<usize> =
                (0..self.slots[slot].len()).filter(|&way| read(self.slots[slot][way].register)).collect();
            used.sort_by_key(|&way| self.slots[slot][way].time);
            for way in used {
                self.slots[slot][way].time = self.tick();
            }
        }
        let ends = self.rules.liveness;
        for source in sources.iter().flatten() {
            if let Some(entry) = self.entry(slot, source.register) {
                entry.idle |= source.idle;
                if ends && source.last_read {
                    entry.held &= !active;
                    entry.dirty &= !active;
                }
            }
        }
    }

    /// The entry that a result goes to: its register's, else a free one, else an idle one if these go first, else
    /// the oldest.
    pub fn target(&self, slot: usize, register: usize) -> usize {
        let entries = &self.slots[slot];
        let its_own = entries.iter().position(|entry| entry.register == Some(register));
        let free = || entries.iter().position(|entry| entry.held == 0);
        let oldest = |idle_only: bool| {
            let candidates = (0..entries.len()).filter(|&way| !idle_only || entries[way].idle);
            candidates.min_by_key(|&way| entries[way].time)
        };
        let idle = || oldest(true).filter(|_| self.rules.evict_idle_first);
        its_own.or_else(free).or_else(idle).or_else(|| oldest(false)).unwrap()
    }

    /// The dirty lanes that have to leave the entry before it takes `register`.
    pub fn evicted(&self, slot: usize, way: usize, register: usize) -> Option<Lanes> {
        let Entry { register: holder, dirty, .. } = self.slots[slot][way];
        let leaving = holder.filter(|&holder| holder != register && dirty != 0);
        leaving.map(|register| Lanes { register, lanes: dirty })
    }

    pub fn has_entry(&self, slot: usize, register: usize) -> bool {
        self.slots[slot].iter().any(|entry| entry.register == Some(register))
    }

    /// An operand that the main register file has too gets an entry.
    pub fn allocate(&mut self, slot: usize, way: usize, operand: Lanes, idle: bool) {
        self.write(slot, way, operand, idle);
        self.clean(slot, operand.register);
    }

    /// Writes a result to an entry.
    pub fn write(&mut self, slot: usize, way: usize, result: Lanes, idle: bool) {
        let time = self.tick();
        let lru = self.rules.replacement == Replacement::Lru;
        let entry = &mut self.slots[slot][way];
        if entry.register != Some(result.register) {
            *entry = Entry { register: Some(result.register), time, ..Entry::default() };
        } else if lru {
            entry.time = time;
        }
        entry.held |= result.lanes;
        if !self.rules.shared {
            entry.dirty |= result.lanes;
        }
        entry.idle = idle;
    }

    /// Lanes have been written to the main register file past the cache.
    pub fn invalidate(&mut self, slot: usize, written: Lanes) {
        if let Some(entry) = self.entry(slot, written.register) {
            entry.held &= !written.lanes;
            entry.dirty &= !written.lanes;
        }
    }

    /// A register that slots share has been written: they hold no copies of it but that of `slot`. Gives how many have ended.
    pub fn end_others(&mut self, slot: usize, register: usize) -> usize {
        let others = self.slots.iter_mut().enumerate().filter(|(other, _)| *other != slot);
        let entries = others.flat_map(|(_, entries)| entries);
        let copies = entries.filter(|entry| entry.register == Some(register) && entry.held != 0);
        copies.map(|entry| *entry = Entry { time: entry.time, ..Entry::default() }).count()
    }

    /// What a flush of the slot has still to write back.
    pub fn dirty(&self, slot: usize) -> Vec<Lanes> {
        let dirty = self.slots[slot].iter().filter(|entry| entry.dirty != 0);
        dirty.filter_map(|e| e.register.map(|register| Lanes { register, lanes: e.dirty })).collect()
    }

    /// The register has been written back.
    pub fn clean(&mut self, slot: usize, register: usize) {
        if let Some(entry) = self.entry(slot, register) {
            entry.dirty = 0;
        }
    }

    pub fn empty(&mut self, slot: usize) {
        for entry in &mut self.slots[slot] {
            *entry = Entry { time: entry.time, ..Entry::default() };
        }
    }

    /// Slots and entries that hold the lane.
    pub fn holders(&self, register: usize, lane: usize) -> Vec<(usize, usize)> {
        let of_slot = |slot: usize| {
            let here = |e: &Entry| e.register == Some(register) && e.held >> lane & 1 == 1;
            self.slots[slot].iter().position(here).map(|way| (slot, way))
        };
        (0..self.slots.len()).filter_map(of_slot).collect()
    }
}

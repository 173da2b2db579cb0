//! Miss status registers: lines on their way, and who waits for each.

/// A file of miss status registers.
pub(super) struct Mshrs<W> {
    entries: Vec<Entry<W>>,
    /// Entries that have no line on its way, and those that have.
    free: Vec<usize>,
    busy: Vec<usize>,
    count: usize,
    merge: usize,
}

/// A line on its way.
pub(super) struct Entry<W> {
    pub address: u64,
    /// The place that it has been given in the cache, unless it is not kept.
    pub place: Option<usize>,
    /// It is modified as soon as it is there.
    pub dirty: bool,
    /// In the order in which they came.
    pub waiters: Vec<W>,
}

/// Entries, and waiters of each, that there is room for from the start.
const ENTRIES: usize = 512;
const WAITERS: usize = 8;

impl<W> Mshrs<W> {
    /// `count` lines, for each of which `merge` requests may wait.
    pub fn new(count: usize, merge: u64) -> Mshrs<W> {
        let at_first = count.min(ENTRIES);
        let mut mshrs = Mshrs {
            entries: Vec::with_capacity(at_first),
            free: Vec::with_capacity(at_first),
            busy: Vec::with_capacity(at_first),
            count,
            merge: merge as usize,
        };
        (0..at_first).for_each(|_| mshrs.add());
        mshrs
    }

    fn add(&mut self) {
        self.free.push(self.entries.len());
        let waiters = Vec::with_capacity(self.merge.min(WAITERS));
        self.entries.push(Entry { address: 0, place: None, dirty: false, waiters });
    }

    pub fn has_room(&self) -> bool {
        self.busy.len() < self.count
    }

    /// The entry of a line on its way.
    pub fn find(&self, address: u64) -> Option<usize> {
        self.busy.iter().copied().find(|&entry| self.entries[entry].address == address)
    }

    /// Whether another request may wait for the line of an entry.
    pub fn can_merge(&self, entry: usize) -> bool {
        self.entries[entry].waiters.len() < self.merge
    }

    /// Takes an entry; there must be room.
    pub fn take(&mut self, address: u64, place: Option<usize>, dirty: bool, waiter: W) -> Option<usize> {
        if self.free.is_empty() && self.has_room() {
            self.add();
        }
        let index = self.free.pop()?;
        self.busy.push(index);
        let entry = &mut self.entries[index];
        (entry.address, entry.place, entry.dirty) = (address, place, dirty);
        entry.waiters.push(waiter);
        Some(index)
    }

    pub fn get_mut(&mut self, entry: usize) -> &mut Entry<W> {
        &mut self.entries[entry]
    }

    /// Nobody waits any longer.
    pub fn release(&mut self, entry: usize) {
        self.busy.retain(|&busy| busy != entry);
        self.entries[entry].waiters.clear();
        self.free.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_a_line_on_its_way_share_an_entry_up_to_the_limit() {
        let mut mshrs = Mshrs::new(1, 2);
        let entry = mshrs.take(0, None, false, 'a').expect("free");
        assert_eq!((mshrs.find(0), mshrs.find(128)), (Some(entry), None));
        assert!(mshrs.can_merge(entry) && !mshrs.has_room());
        mshrs.get_mut(entry).waiters.push('b');
        assert!(!mshrs.can_merge(entry));
        assert_eq!(mshrs.get_mut(entry).waiters, ['a', 'b']);
        mshrs.release(entry);
        assert!(mshrs.has_room() && mshrs.find(0).is_none());
    }
}

//! L1, L2 and DRAM. One SM of an N-SM chip has 1/N of the L2's capacity and of the L2's and DRAM's bandwidth.
//!
//! Loads look in L1, then L2, then DRAM, and fill lines on the way back. Stores follow each level's write
//! policy. Atomics are performed at the L2 and drop the line from the L1. Data may be kept out of the L1, whose port it
//! takes nevertheless. Register lines live in all levels with their contents: see [`lines`].

mod lines;

use warpfile_kernels::program::{LANES, LaneValues};

use crate::config::{Config, WritePolicy};

use super::super::kernel::MemoryKind;
use super::bandwidth::Channel;
use super::cache::{Cache, Lookup};
use super::register_lines::RegisterLines;
use super::{Access, Answer, LineMemory, MemoryStatistics, MemorySystem, RegisterLineStatistics};

/// The hierarchy as one SM sees it.
pub(super) struct CacheHierarchy {
    l1: Option<Cache>,
    /// Data is kept in the L1.
    data_in_l1: bool,
    /// The L1 takes one request a cycle.
    single_port: bool,
    /// The cycle after the last in which the L1 took a request.
    port_free_at: u64,
    beyond: Beyond,
    transaction_bytes: u64,
    line_addresses: RegisterLines,
    line_statistics: RegisterLineStatistics,
}

/// What lies beyond the SM.
struct Beyond {
    l2: Option<Cache>,
    dram: Channel,
    dram_latency: u64,
    dram_bytes: u64,
    /// Register lines in DRAM, by number.
    dram_lines: Vec<LaneValues>,
    /// Register lines written to the L2 so far, and to DRAM.
    lines_to_l2: u64,
    lines_to_dram: u64,
}

impl CacheHierarchy {
    pub fn new(config: &Config) -> CacheHierarchy {
        let sms = config.chip.sms;
        let l1 = Cache::new(&config.l1, 1);
        let line_addresses = RegisterLines::new(config);
        let transaction_bytes = l1.as_ref().map_or(config.memory.sector_bytes, Cache::line_bytes);
        CacheHierarchy {
            l1,
            data_in_l1: config.memory.data_in_l1,
            single_port: config.memory.single_l1_port,
            port_free_at: 0,
            beyond: Beyond {
                l2: Cache::new(&config.l2, sms),
                dram: Channel::new(config.dram.bytes_per_cycle, sms),
                dram_latency: config.dram.latency,
                dram_bytes: 0,
                dram_lines: vec![[0; LANES]; line_addresses.count()],
                lines_to_l2: 0,
                lines_to_dram: 0,
            },
            transaction_bytes,
            line_addresses,
            line_statistics: RegisterLineStatistics::default(),
        }
    }
}

impl MemorySystem for CacheHierarchy {
    fn transaction_bytes(&self) -> u64 {
        self.transaction_bytes
    }

    fn access(&mut self, now: u64, access: Access, _waiter: u16) -> Option<Answer> {
        if !self.port_is_free(now) {
            return None;
        }
        let back = self.access_data(now, access)?;
        self.port_free_at = now + 1;
        Some(Answer::At(back))
    }

    fn is_busy(&self, now: u64) -> bool {
        self.l1.iter().chain(&self.beyond.l2).any(|cache| cache.is_busy(now))
    }

    fn report(&self, into: &mut MemoryStatistics) {
        if let Some(l1) = &self.l1 {
            into.l1 = l1.statistics;
        }
        if let Some(l2) = &self.beyond.l2 {
            into.l2 = l2.statistics;
        }
        into.dram_bytes += self.beyond.dram_bytes;
        into.register_lines = RegisterLineStatistics {
            written_to_l2: self.beyond.lines_to_l2,
            written_to_dram: self.beyond.lines_to_dram,
            ..self.line_statistics
        };
    }

    fn lines(&mut self) -> Option<&mut dyn LineMemory> {
        Some(self)
    }
}

impl CacheHierarchy {
    /// Whether the L1 takes a request in cycle `now`, as far as its port is concerned.
    fn port_is_free(&self, now: u64) -> bool {
        !self.single_port || self.port_free_at <= now
    }

    fn access_data(&mut self, now: u64, access: Access) -> Option<u64> {
        let Some(l1) = self.l1.as_mut().filter(|_| self.data_in_l1) else {
            return self.beyond.can_take(now, access).then(|| self.beyond.access(now, access));
        };
        if !l1.channel.is_free(now) {
            return None;
        }
        let goes_on = match access.kind {
            MemoryKind::Atomic => true,
            MemoryKind::Load => !l1.contains(access.address),
            MemoryKind::Store => l1.write_policy == WritePolicy::WriteThrough || !l1.contains(access.address),
        };
        let needs_line = goes_on && allocates(access.kind, l1.write_policy);
        let line = Access { address: access.address, bytes: l1.line_bytes(), kind: MemoryKind::Load };
        let beyond = if needs_line { line } else { access };
        if (needs_line && !l1.can_miss(now)) || (goes_on && !self.beyond.can_take(now, beyond)) {
            return None;
        }
        let start = l1.channel.transfer(now, access.bytes);
        Some(access_l1(l1, &mut self.beyond, start, access))
    }
}

/// Whether a miss brings the line in.
fn allocates(kind: MemoryKind, policy: WritePolicy) -> bool {
    match (kind, policy) {
        (MemoryKind::Load, WritePolicy::WriteThrough | WritePolicy::WriteBack) => true,
        (MemoryKind::Store, WritePolicy::WriteBack) => true,
        (MemoryKind::Store, WritePolicy::WriteThrough) => false,
        (MemoryKind::Atomic, WritePolicy::WriteThrough | WritePolicy::WriteBack) => false,
    }
}

/// An access that L1 has taken in cycle `start`; gives the cycle its data is there.
fn access_l1(l1: &mut Cache, beyond: &mut Beyond, start: u64, access: Access) -> u64 {
    if access.kind == MemoryKind::Atomic {
        l1.invalidate(access.address);
        return beyond.access(start + l1.latency, access);
    }
    let found = l1.lookup(access.address, start);
    let there = match found {
        Lookup::Present { at } => at.max(start + l1.latency),
        Lookup::Absent if allocates(access.kind, l1.write_policy) => {
            let line = Access { address: access.address, bytes: l1.line_bytes(), kind: MemoryKind::Load };
            let filled_at = beyond.access(start + l1.latency, line);
            let placed = l1.fill(access.address, filled_at);
            beyond.take_evicted(start + l1.latency, l1, placed);
            filled_at
        }
        Lookup::Absent => start + l1.latency,
    };
    if access.kind == MemoryKind::Store {
        match l1.write_policy {
            WritePolicy::WriteBack => l1.mark_dirty(access.address),
            WritePolicy::WriteThrough => {
                beyond.access(start + l1.latency, access);
            }
        }
    }
    there
}

impl Beyond {
    /// Whether an access asked in cycle `now` finds a miss status register, should it need one.
    fn can_take(&mut self, now: u64, access: Access) -> bool {
        match &mut self.l2 {
            Some(l2) => l2.contains(access.address) || l2.can_miss(now),
            None => true,
        }
    }

    /// Gives the cycle in which the data is back.
    fn access(&mut self, now: u64, access: Access) -> u64 {
        let Some(l2) = &mut self.l2 else {
            return self.access_dram(now, access.bytes);
        };
        let start = l2.channel.transfer(now, access.bytes);
        let latency = l2.latency;
        let there = match l2.lookup(access.address, start) {
            Lookup::Present { at } => at.max(start + latency),
            Lookup::Absent => self.miss(start + latency, access),
        };
        let writes = access.kind != MemoryKind::Load;
        match (&mut self.l2, writes) {
            (Some(l2), true) if l2.write_policy == WritePolicy::WriteBack => {
                l2.mark_dirty(access.address);
            }
            (Some(_), true) => {
                self.access_dram(start + latency, access.bytes);
            }
            (Some(_), false) | (None, _) => {}
        }
        there
    }

    /// Brings a line from DRAM into the L2, except for a store that writes through.
    fn miss(&mut self, now: u64, access: Access) -> u64 {
        let Some(l2) = &self.l2 else {
            return self.access_dram(now, access.bytes);
        };
        if access.kind == MemoryKind::Store && l2.write_policy == WritePolicy::WriteThrough {
            return now;
        }
        let line_bytes = l2.line_bytes();
        let filled_at = self.access_dram(now, line_bytes);
        if let Some(placed) = self.l2.as_mut().map(|l2| l2.fill(access.address, filled_at)) {
            self.evict_to_dram(now, placed);
        }
        filled_at
    }

    fn access_dram(&mut self, now: u64, bytes: u64) -> u64 {
        self.dram_bytes += bytes;
        self.dram.transfer(now, bytes) + self.dram_latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{MemoryModel, preset};

    /// L1 latency 30, L2 200, DRAM 200; one SM, so that every share is whole.
    fn hierarchy(change: impl FnOnce(&mut Config)) -> CacheHierarchy {
        let mut config = preset("gebhart2011").expect("complete");
        config.memory.model = MemoryModel::Caches;
        change(&mut config);
        CacheHierarchy::new(&config)
    }

    impl CacheHierarchy {
        /// The cycle in which an access made in cycle `now` is back.
        pub(super) fn back(&mut self, now: u64, access: Access) -> Option<u64> {
            match MemorySystem::access(self, now, access, 0)? {
                Answer::At(back) => Some(back),
                Answer::Later => panic!("it is known at once"),
            }
        }
    }

    fn load(address: u64) -> Access {
        Access { address, bytes: 128, kind: MemoryKind::Load }
    }

    fn store(address: u64) -> Access {
        Access { address, bytes: 128, kind: MemoryKind::Store }
    }

    fn statistics(hierarchy: &CacheHierarchy) -> MemoryStatistics {
        let mut statistics = MemoryStatistics::default();
        hierarchy.report(&mut statistics);
        statistics
    }

    #[test]
    fn a_line_is_as_far_as_the_level_that_has_it() {
        let mut memory = hierarchy(|_| ());
        assert_eq!(memory.back(0, load(0)), Some(430), "DRAM");
        assert_eq!(memory.back(1000, load(0)), Some(1030), "L1");
        let mut memory = hierarchy(|config| config.l1.bytes = 0);
        assert_eq!(memory.back(0, load(0)), Some(400), "DRAM without L1");
        assert_eq!(memory.back(1000, load(0)), Some(1200), "L2");
    }

    #[test]
    fn a_second_miss_on_a_line_waits_for_the_first() {
        let mut memory = hierarchy(|_| ());
        assert_eq!(memory.back(0, load(0)), Some(430));
        assert_eq!(memory.back(5, load(0)), Some(430));
        assert_eq!(statistics(&memory).l1.merged_misses, 1);
        assert_eq!(statistics(&memory).dram_bytes, 128);
    }

    #[test]
    fn misses_beyond_the_miss_status_registers_wait_for_a_free_one() {
        let mut memory = hierarchy(|config| config.l1.mshrs = 2);
        assert!(memory.back(0, load(0)).is_some());
        assert!(memory.back(1, load(128)).is_some());
        assert_eq!(memory.back(2, load(256)), None);
        assert!(memory.back(2, load(0)).is_some(), "a line on its way needs no register");
        assert!(memory.back(430, load(256)).is_some());
    }

    #[test]
    fn the_least_recently_used_line_of_a_set_makes_way() {
        let mut memory = hierarchy(|config| {
            config.l1.bytes = 256;
            config.l1.ways = 2;
        });
        for (cycle, line) in [(0, 0), (1000, 1), (2000, 0), (3000, 2)] {
            memory.back(cycle, load(line * 128));
        }
        assert_eq!(memory.back(4000, load(0)), Some(4030), "used again, kept");
        assert_eq!(memory.back(5000, load(128)), Some(5230), "gave way, in the L2");
    }

    #[test]
    fn a_store_through_goes_on_and_allocates_no_line() {
        let mut memory = hierarchy(|config| config.l2.bytes = 0);
        memory.back(0, store(0));
        assert_eq!(statistics(&memory).dram_bytes, 128);
        assert_eq!(memory.back(1000, load(0)), Some(1230), "still a miss");
    }

    #[test]
    fn a_store_back_stays_until_its_line_gives_way() {
        let mut memory = hierarchy(|config| {
            config.l1.write_policy = WritePolicy::WriteBack;
            config.l1.bytes = 128;
            config.l1.ways = 1;
            config.l2.bytes = 0;
        });
        memory.back(0, store(0));
        assert_eq!(statistics(&memory).dram_bytes, 128, "the line is brought in");
        memory.back(1000, store(0));
        assert_eq!(statistics(&memory).dram_bytes, 128, "and then only modified");
        memory.back(2000, load(128));
        assert_eq!(statistics(&memory).dram_bytes, 3 * 128, "its eviction writes it back");
        assert_eq!(statistics(&memory).l1.writebacks, 1);
    }

    #[test]
    fn one_of_many_sms_gets_its_share_of_dram_bandwidth() {
        let last = |sms| {
            let mut memory = hierarchy(|config| {
                config.chip.sms = sms;
                config.l1.bytes = 0;
                config.l2.bytes = 0;
            });
            (0..100).map(|line| memory.back(0, load(line * 128)).expect("no limit")).max()
        };
        assert_eq!(last(1), Some(99 + 200));
        assert_eq!(last(4), Some(4 * 99 + 200));
    }
}

//! One cache level: tags with LRU replacement, and miss status registers (MSHRs).
//!
//! Times are reservations: a miss knows when its line will be there as soon as it has asked the next level. Of data
//! only tags are kept; register lines have their contents too, in the way that holds them.

use warpfile_kernels::program::{LANES, LaneValues};

use crate::config::{CacheIndex, CacheLevel, WritePolicy};

use super::CacheStatistics;
use super::bandwidth::Channel;
use super::set_index::set_of;

/// A cache level.
pub(super) struct Cache {
    /// `sets × ways`, a set's lines next to each other.
    lines: Vec<Line>,
    /// What each line holds, if it is a register line.
    contents: Vec<LaneValues>,
    ways: usize,
    sets: u64,
    index: CacheIndex,
    line_bytes: u64,
    /// When the outstanding misses end; at most `mshrs`.
    outstanding: Vec<u64>,
    mshrs: usize,
    pub latency: u64,
    pub write_policy: WritePolicy,
    pub channel: Channel,
    pub statistics: CacheStatistics,
    uses: u64,
}

#[derive(Clone, Copy, Default)]
struct Line {
    valid: bool,
    dirty: bool,
    number: u64,
    last_use: u64,
    /// When the line's data arrived or will arrive.
    filled_at: u64,
}

/// A line that has been put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// Where the line is. Its contents are still those of the one before.
    pub place: usize,
    /// Address of the dirty line that was there.
    pub written_back: Option<u64>,
}

/// What a lookup found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The line is there, or will be at the cycle given.
    Present { at: u64 },
    /// The line is not there.
    Absent,
}

impl Cache {
    /// `None` for a level of 0 bytes. `share` SMs share capacity and bandwidth equally.
    pub fn new(level: &CacheLevel, share: u64) -> Option<Cache> {
        if level.bytes == 0 {
            return None;
        }
        let sets = (level.bytes / share / (level.ways * level.line_bytes)).max(1);
        Some(Cache {
            lines: vec![Line::default(); (sets * level.ways) as usize],
            contents: vec![[0; LANES]; (sets * level.ways) as usize],
            ways: level.ways as usize,
            sets,
            index: level.index,
            line_bytes: level.line_bytes,
            outstanding: Vec::with_capacity(level.mshrs as usize),
            mshrs: level.mshrs as usize,
            latency: level.latency,
            write_policy: level.write_policy,
            channel: Channel::new(level.bytes_per_cycle, share),
            statistics: CacheStatistics::default(),
            uses: 0,
        })
    }

    pub fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    /// Whether the line of `address` is there, without using it.
    pub fn contains(&self, address: u64) -> bool {
        let number = address / self.line_bytes;
        self.set(number).iter().any(|line| line.valid && line.number == number)
    }

    /// Whether a miss asked in cycle `now` finds a free miss status register.
    pub fn can_miss(&mut self, now: u64) -> bool {
        self.outstanding.retain(|&end| end > now);
        self.outstanding.len() < self.mshrs
    }

    /// Whether its channel moves something in cycle `now`, or a miss is outstanding.
    pub fn is_busy(&self, now: u64) -> bool {
        !self.channel.is_free(now) || self.outstanding.iter().any(|&end| end > now)
    }

    /// Looks `address` up at `now` and counts the access.
    pub fn lookup(&mut self, address: u64, now: u64) -> Lookup {
        let number = address / self.line_bytes;
        self.uses += 1;
        let uses = self.uses;
        let Some(line) = self.set_mut(number).iter_mut().find(|l| l.valid && l.number == number) else {
            self.statistics.misses += 1;
            return Lookup::Absent;
        };
        line.last_use = uses;
        let at = line.filled_at;
        if at > now {
            self.statistics.merged_misses += 1;
        } else {
            self.statistics.hits += 1;
        }
        Lookup::Present { at }
    }

    /// Puts the line of `address` in, its data arriving at `filled_at`; takes a miss status register until then.
    pub fn fill(&mut self, address: u64, filled_at: u64) -> Placed {
        self.miss(filled_at);
        self.place(address, filled_at)
    }

    /// A miss takes a miss status register until `filled_at`.
    pub fn miss(&mut self, filled_at: u64) {
        self.outstanding.push(filled_at);
    }

    /// Puts the line of `address` in, its data there at `filled_at`.
    pub fn place(&mut self, address: u64, filled_at: u64) -> Placed {
        let number = address / self.line_bytes;
        self.uses += 1;
        let first = self.first_of_set(number);
        let lines = &mut self.lines[first..first + self.ways];
        let age = |line: &Line| if line.valid { line.last_use } else { 0 };
        let way = (0..self.ways).min_by_key(|&way| age(&lines[way])).unwrap_or_default();
        let victim = &mut lines[way];
        let written_back = (victim.valid && victim.dirty).then_some(victim.number * self.line_bytes);
        *victim = Line { valid: true, dirty: false, number, last_use: self.uses, filled_at };
        self.statistics.writebacks += u64::from(written_back.is_some());
        Placed { place: first + way, written_back }
    }

    /// Where the line of `address` is, and when its data is there; uses it, but does not count the access.
    pub fn find(&mut self, address: u64) -> Option<(usize, u64)> {
        let number = address / self.line_bytes;
        let first = self.first_of_set(number);
        let set = &mut self.lines[first..first + self.ways];
        let way = set.iter().position(|line| line.valid && line.number == number)?;
        self.uses += 1;
        set[way].last_use = self.uses;
        Some((first + way, set[way].filled_at))
    }

    /// What the register line in a place holds.
    pub fn contents(&self, place: usize) -> &LaneValues {
        &self.contents[place]
    }

    /// Gives the register line in a place its contents; it is dirty if they are new.
    pub fn set_contents(&mut self, place: usize, values: &LaneValues, dirty: bool) {
        self.contents[place] = *values;
        self.lines[place].dirty = dirty;
    }

    /// Marks the line of `address` as modified, if it is there.
    pub fn mark_dirty(&mut self, address: u64) {
        let number = address / self.line_bytes;
        if let Some(line) = self.set_mut(number).iter_mut().find(|l| l.valid && l.number == number) {
            line.dirty = true;
        }
    }

    /// Drops the line of `address`, if it is there.
    pub fn invalidate(&mut self, address: u64) {
        let number = address / self.line_bytes;
        if let Some(line) = self.set_mut(number).iter_mut().find(|l| l.valid && l.number == number) {
            line.valid = false;
        }
    }

    fn first_of_set(&self, number: u64) -> usize {
        set_of(number, self.sets, self.index) as usize * self.ways
    }

    fn set(&self, number: u64) -> &[Line] {
        let first = self.first_of_set(number);
        &self.lines[first..first + self.ways]
    }

    fn set_mut(&mut self, number: u64) -> &mut [Line] {
        let first = self.first_of_set(number);
        &mut self.lines[first..first + self.ways]
    }
}

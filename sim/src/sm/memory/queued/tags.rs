//! Tags of a cache that allocates on a miss: the line gets its way, and the one before leaves it, when the request goes out.
//! A fill so needs nothing but what is there for it, which is what keeps full queues from locking each other.

use warpfile_kernels::program::{LANES, LaneValues};

use crate::config::{CacheIndex, CacheLevel};

use super::super::set_index::set_of;

/// Tags, LRU replacement, and the contents of register lines.
pub(super) struct Tags {
    /// `sets × ways`, a set's lines next to each other.
    lines: Vec<Line>,
    contents: Vec<LaneValues>,
    ways: usize,
    sets: u64,
    index: CacheIndex,
    pub line_bytes: u64,
    uses: u64,
}

#[derive(Clone, Copy, Default)]
struct Line {
    state: State,
    dirty: bool,
    number: u64,
    last_use: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Invalid,
    /// On its way.
    Reserved,
    Valid,
}

/// Where a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In this place.
    Here(usize),
    /// On its way to this place.
    OnItsWay,
    /// Nowhere, and it would get this place.
    Absent(Victim),
    /// Nowhere, and every way of the set is for a line on its way.
    NoWay,
}

/// A place that a line would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Victim {
    pub place: usize,
    /// Address of the dirty line that is there.
    pub dirty: Option<u64>,
}

impl Tags {
    /// `None` for a level of 0 bytes. `bytes` is the capacity.
    pub fn new(level: &CacheLevel, bytes: u64) -> Option<Tags> {
        if level.bytes == 0 {
            return None;
        }
        let sets = (bytes / (level.ways * level.line_bytes)).max(1);
        let lines = (sets * level.ways) as usize;
        Some(Tags {
            lines: vec![Line::default(); lines],
            contents: vec![[0; LANES]; lines],
            ways: level.ways as usize,
            sets,
            index: level.index,
            line_bytes: level.line_bytes,
            uses: 0,
        })
    }

    /// Looks a line up; uses it if it is there.
    pub fn find(&mut self, address: u64) -> Found {
        let number = address / self.line_bytes;
        let first = set_of(number, self.sets, self.index) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        self.uses += 1;
        if let Some(way) = set.iter().position(|line| line.state != State::Invalid && line.number == number) {
            if set[way].state == State::Reserved {
                return Found::OnItsWay;
            }
            set[way].last_use = self.uses;
            return Found::Here(first + way);
        }
        let age = |line: &Line| if line.state == State::Valid { line.last_use } else { 0 };
        let free = (0..self.ways).filter(|way| set[*way].state != State::Reserved);
        let Some(way) = free.min_by_key(|way| age(&set[*way])) else { return Found::NoWay };
        let line = set[way];
        let dirty = (line.state == State::Valid && line.dirty).then_some(line.number * self.line_bytes);
        Found::Absent(Victim { place: first + way, dirty })
    }

    /// A line on its way gets a place.
    pub fn reserve(&mut self, address: u64, place: usize) {
        self.put(address, place, State::Reserved);
    }

    /// A line is there.
    pub fn fill(&mut self, address: u64, place: usize, dirty: bool, contents: &LaneValues) {
        self.put(address, place, State::Valid);
        self.lines[place].dirty = dirty;
        self.contents[place] = *contents;
    }

    fn put(&mut self, address: u64, place: usize, state: State) {
        self.uses += 1;
        let number = address / self.line_bytes;
        self.lines[place] = Line { state, dirty: false, number, last_use: self.uses };
    }

    pub fn mark_dirty(&mut self, place: usize) {
        self.lines[place].dirty = true;
    }

    pub fn contents(&self, place: usize) -> &LaneValues {
        &self.contents[place]
    }

    pub fn set_contents(&mut self, place: usize, contents: &LaneValues) {
        self.contents[place] = *contents;
    }

    /// Drops a line that is there; one on its way stays.
    pub fn invalidate(&mut self, address: u64) {
        let number = address / self.line_bytes;
        let first = set_of(number, self.sets, self.index) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        if let Some(line) = set.iter_mut().find(|line| line.state == State::Valid && line.number == number) {
            line.state = State::Invalid;
        }
    }
}

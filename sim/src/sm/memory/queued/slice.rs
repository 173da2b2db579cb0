//! A slice of the L2, with the pipeline before its lookup and what waits for DRAM behind it.

use std::collections::VecDeque;

use warpfile_kernels::program::{LANES, LaneValues};

use crate::config::{Config, WritePolicy};

use super::super::super::report::CacheStatistics;
use super::super::bandwidth::Channel as Bandwidth;
use super::super::register_lines::is_register_line;
use super::mshrs::Mshrs;
use super::share::Share;
use super::tags::{Found, Tags, Victim};
use super::{Level, Reply, ReplyTo, Request, RequestKind};

/// What a slice asks of DRAM.
#[derive(Clone, Copy)]
pub(super) struct ToDram {
    pub address: u64,
    pub bytes: u64,
    pub kind: DramKind,
    /// Of a register line: what is written, or what has been read.
    pub values: LaneValues,
}

/// What is done to DRAM, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DramKind {
    Write,
    /// The line of a miss status register.
    Fill {
        mshr: usize,
    },
    /// What a request asks for where there is no L2.
    Pass(ReplyTo),
}

/// A slice.
pub(super) struct Slice {
    /// `None` on a chip without an L2.
    tags: Option<Tags>,
    write_policy: WritePolicy,
    mshrs: Mshrs<ReplyTo>,
    latency: u64,
    /// Requests, and when each has come through the pipeline.
    input: VecDeque<(u64, Request)>,
    input_places: usize,
    data_port: Bandwidth,
    pub replies: VecDeque<Reply>,
    reply_places: usize,
    pub to_dram: VecDeque<ToDram>,
    dram_places: usize,
    /// Entries whose line is there, in the order in which they came, and what it holds.
    filled: VecDeque<(usize, LaneValues)>,
    pub statistics: CacheStatistics,
    /// Register lines written here.
    pub lines_written: u64,
}

impl Slice {
    /// The part of a slice that falls to one SM.
    pub fn new(config: &Config, share: Share) -> Slice {
        let places = |places| share.places(places);
        let mshrs = places(config.l2.mshrs.div_ceil(config.slices.count));
        // A miss may send two at once: a line that leaves, and the request for its successor.
        let dram_places = places(config.slices.dram_queue).max(2);
        Slice {
            tags: Tags::new(&config.l2, config.l2.bytes / (config.chip.sms * share.count)),
            write_policy: config.l2.write_policy,
            mshrs: Mshrs::new(mshrs, config.l2.mshr_merge),
            latency: config.l2.latency,
            input: VecDeque::with_capacity(places(config.slices.input_queue) + config.l2.latency as usize),
            input_places: places(config.slices.input_queue),
            data_port: Bandwidth::new(config.l2.bytes_per_cycle, config.chip.sms * share.count),
            replies: VecDeque::with_capacity(places(config.slices.reply_queue)),
            reply_places: places(config.slices.reply_queue),
            to_dram: VecDeque::with_capacity(dram_places),
            dram_places,
            filled: VecDeque::with_capacity(mshrs),
            statistics: CacheStatistics::default(),
            lines_written: 0,
        }
    }

    /// Whether the network may bring a request: the credit that its sender needs.
    pub fn has_room(&self, now: u64) -> bool {
        self.input.iter().take_while(|(ready, _)| *ready <= now).count() < self.input_places
    }

    /// Takes a request that arrives in cycle `at`.
    pub fn push(&mut self, at: u64, request: Request) {
        self.input.push_back((at + self.latency, request));
    }

    /// Whether nothing waits here.
    pub fn is_empty(&self) -> bool {
        self.input.is_empty() && self.replies.is_empty() && self.to_dram.is_empty() && self.filled.is_empty()
    }

    /// One cycle: a reply to who has waited for a line that has come, and the next request. Gives whether something moved.
    pub fn cycle(&mut self, now: u64) -> bool {
        let replied = self.reply_to_waiting();
        let served = match self.input.front() {
            Some(&(ready, request)) if ready <= now && self.data_port.is_free(now) => {
                self.serve(now, &request)
            }
            Some(_) | None => false,
        };
        if served {
            self.input.pop_front();
        }
        replied || served
    }

    /// A line has come from DRAM.
    pub fn fill(&mut self, now: u64, mshr: usize, values: &LaneValues) {
        let entry = self.mshrs.get_mut(mshr);
        if let (Some(place), Some(tags)) = (entry.place, &mut self.tags) {
            tags.fill(entry.address, place, entry.dirty, values);
            self.data_port.transfer(now, tags.line_bytes);
        }
        self.filled.push_back((mshr, *values));
    }

    /// Drops a register line, if it is here.
    pub fn invalidate(&mut self, address: u64) {
        if let Some(tags) = &mut self.tags {
            tags.invalidate(address);
        }
    }

    fn reply_to_waiting(&mut self) -> bool {
        let Some(&(mshr, values)) = self.filled.front() else { return false };
        if !self.can_reply() {
            return false;
        }
        let waiters = &mut self.mshrs.get_mut(mshr).waiters;
        let to = waiters.remove(0);
        if waiters.is_empty() {
            self.mshrs.release(mshr);
            self.filled.pop_front();
        }
        self.replies.push_back(Reply { to, level: Level::Dram, values });
        true
    }

    fn can_reply(&self) -> bool {
        self.replies.len() < self.reply_places
    }

    /// Whether so many more requests for DRAM can wait.
    fn can_send(&self, requests: usize) -> bool {
        self.to_dram.len() + requests <= self.dram_places
    }

    /// Performs a request, unless there is no room for what follows from it.
    fn serve(&mut self, now: u64, request: &Request) -> bool {
        let Some(tags) = &mut self.tags else { return self.pass(request) };
        let line = request.address - request.address % tags.line_bytes;
        let found = tags.find(line);
        if let Found::Here(place) = found {
            return self.hit(now, request, place);
        }
        if request.kind == RequestKind::Store && self.write_policy == WritePolicy::WriteThrough {
            return self.write_through(request);
        }
        if let Some(mshr) = self.mshrs.find(line) {
            return self.merge(request, mshr);
        }
        match (request.kind, found) {
            (RequestKind::LineFetch { keep: false }, _) => self.miss(request, line, None),
            (RequestKind::LineWrite, Found::Absent(victim)) => self.write_line(now, request, victim),
            (_, Found::Absent(victim)) => self.miss(request, line, Some(victim)),
            (_, Found::NoWay | Found::OnItsWay | Found::Here(_)) => false,
        }
    }

    fn hit(&mut self, now: u64, request: &Request, place: usize) -> bool {
        let through = request.kind.writes_data() && self.write_policy == WritePolicy::WriteThrough;
        let replies = request.kind != RequestKind::LineWrite;
        if (replies && !self.can_reply()) || (through && !self.can_send(1)) {
            return false;
        }
        let Some(tags) = &mut self.tags else { return false };
        if request.kind == RequestKind::LineWrite {
            tags.set_contents(place, &request.values);
            tags.mark_dirty(place);
            self.lines_written += 1;
        } else {
            let values = *tags.contents(place);
            self.replies.push_back(Reply { to: request.to, level: Level::L2, values });
            self.statistics.hits += u64::from(!is_register_line(request.address));
        }
        match request.kind {
            RequestKind::LineFetch { keep: false } => tags.invalidate(request.address),
            RequestKind::Store | RequestKind::Atomic if through => self.send_write(request),
            RequestKind::Store | RequestKind::Atomic => tags.mark_dirty(place),
            RequestKind::Load | RequestKind::LineFetch { keep: true } | RequestKind::LineWrite => {}
        }
        self.data_port.transfer(now, request.bytes);
        true
    }

    /// A store whose line is not here.
    fn write_through(&mut self, request: &Request) -> bool {
        if !self.can_send(1) || !self.can_reply() {
            return false;
        }
        self.statistics.misses += 1;
        self.send_write(request);
        self.replies.push_back(Reply { to: request.to, level: Level::L2, values: [0; LANES] });
        true
    }

    fn send_write(&mut self, request: &Request) {
        let Request { address, bytes, values, .. } = *request;
        self.to_dram.push_back(ToDram { address, bytes, kind: DramKind::Write, values });
    }

    /// A request for a line on its way waits with the others, if it may; the write of a register line waits until it has come.
    fn merge(&mut self, request: &Request, mshr: usize) -> bool {
        let has_place = self.mshrs.get_mut(mshr).place.is_some();
        let waits = request.kind == RequestKind::LineWrite || (request.kind.writes_data() && !has_place);
        if waits || !self.mshrs.can_merge(mshr) {
            return false;
        }
        self.statistics.merged_misses += u64::from(!is_register_line(request.address));
        let entry = self.mshrs.get_mut(mshr);
        entry.dirty |= request.kind.writes_data();
        entry.waiters.push(request.to);
        true
    }

    /// Asks DRAM for a line, for the place of a victim if it is to be kept.
    fn miss(&mut self, request: &Request, line: u64, victim: Option<Victim>) -> bool {
        let leaves = victim.is_some_and(|victim| victim.dirty.is_some());
        let through = request.kind == RequestKind::Atomic && self.write_policy == WritePolicy::WriteThrough;
        let sent = 1 + usize::from(leaves) + usize::from(through);
        // A queue of two places takes the three of an atomic that writes through when it is empty.
        let fits = self.can_send(sent) || (self.to_dram.is_empty() && sent > self.dram_places);
        if !self.mshrs.has_room() || !fits {
            return false;
        }
        self.statistics.misses += u64::from(!is_register_line(request.address));
        if let Some(victim) = victim {
            self.evict(victim);
        }
        let Some(tags) = &mut self.tags else { return false };
        if let Some(victim) = victim {
            tags.reserve(line, victim.place);
        }
        let bytes = tags.line_bytes;
        let dirty = request.kind.writes_data() && !through;
        let place = victim.map(|victim| victim.place);
        if let Some(mshr) = self.mshrs.take(line, place, dirty, request.to) {
            let kind = DramKind::Fill { mshr };
            self.to_dram.push_back(ToDram { address: line, bytes, kind, values: [0; LANES] });
        }
        if through {
            self.send_write(request);
        }
        true
    }

    /// Writes a whole register line in the place of a victim.
    fn write_line(&mut self, now: u64, request: &Request, victim: Victim) -> bool {
        if victim.dirty.is_some() && !self.can_send(1) {
            return false;
        }
        self.evict(victim);
        if let Some(tags) = &mut self.tags {
            tags.fill(request.address, victim.place, true, &request.values);
        }
        self.lines_written += 1;
        self.data_port.transfer(now, request.bytes);
        true
    }

    fn evict(&mut self, victim: Victim) {
        let Some((address, tags)) = victim.dirty.zip(self.tags.as_ref()) else { return };
        let values = *tags.contents(victim.place);
        self.statistics.writebacks += 1;
        self.to_dram.push_back(ToDram { address, bytes: tags.line_bytes, kind: DramKind::Write, values });
    }

    /// A request on a chip without an L2.
    fn pass(&mut self, request: &Request) -> bool {
        let Request { address, bytes, to, values, .. } = *request;
        let acknowledges = request.kind == RequestKind::Store;
        if !self.can_send(1) || (acknowledges && !self.can_reply()) {
            return false;
        }
        let kind = match request.kind {
            RequestKind::Store | RequestKind::LineWrite => DramKind::Write,
            RequestKind::Load | RequestKind::Atomic | RequestKind::LineFetch { .. } => DramKind::Pass(to),
        };
        if acknowledges {
            self.replies.push_back(Reply { to, level: Level::Dram, values: [0; LANES] });
        }
        self.to_dram.push_back(ToDram { address, bytes, kind, values });
        true
    }
}

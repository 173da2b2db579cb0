//! L1, network, L2 slices and DRAM, cycle by cycle, with bounded queues between them.
//!
//! ```text
//!  memory unit ──> L1 ──miss queue──> network ──> slice: pipeline, lookup ──> pipeline ──> DRAM channel
//!       ^           ^ MSHRs              │              │ MSHRs                               │
//!       └───────────┴──────── network <──┴── replies <──┴──────────────── lines <─────────────┘
//! ```
//!
//! Everything that cannot be taken stays where it is: a full queue holds back what is before it, up to the memory unit and
//! the issue of instructions. Stores and register lines take the same places as loads. A reply always finds room, since
//! what waits for it has been set aside when its request went out: lines get their place in a cache when they are asked
//! for. So no circle of full queues can lock itself.
//!
//! A reply moves one stage a cycle, since the stages nearest to the SM are advanced first; on the way of requests a pipeline
//! is between any two. One SM sees its part of the chip: [`share`].

mod dram;
mod mshrs;
mod share;
mod slice;
mod tags;

use std::collections::VecDeque;

use warpfile_kernels::program::{LANES, LaneValues};

use crate::config::{Config, WritePolicy};

use super::super::design::{FilledLine, LINE_REGISTERS, Line, LineRequest};
use super::super::kernel::MemoryKind;
use super::bandwidth::Channel as Bandwidth;
use super::register_lines::{LINE_BYTES, RegisterLines, is_register_line, line_number};
use super::{
    Access, Answer, CacheStatistics, LineAnswer, LineMemory, MemoryStatistics, MemorySystem,
    RegisterLineStatistics, Returned,
};
use dram::{Channel, Request as DramRequest};
use mshrs::Mshrs;
use share::Share;
use slice::{DramKind, Slice, ToDram};
use tags::{Found, Tags, Victim};

/// Bytes of a message beside its data, as in GPGPU-Sim (`READ_PACKET_SIZE`, `WRITE_PACKET_SIZE`).
const HEADER_BYTES: u64 = 8;

/// What is asked beyond the SM.
#[derive(Clone, Copy)]
struct Request {
    kind: RequestKind,
    address: u64,
    /// Bytes asked for or written.
    bytes: u64,
    to: ReplyTo,
    /// Of a register line that is written.
    values: LaneValues,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestKind {
    Load,
    Store,
    Atomic,
    /// A register line, which the L2 keeps or not.
    LineFetch {
        keep: bool,
    },
    /// A whole register line.
    LineWrite,
}

impl RequestKind {
    fn writes_data(self) -> bool {
        match self {
            RequestKind::Store | RequestKind::Atomic => true,
            RequestKind::Load | RequestKind::LineFetch { .. } | RequestKind::LineWrite => false,
        }
    }
}

/// For whom a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyTo {
    /// It only says that a store has been done.
    Nobody,
    /// Data of so many bytes for an instruction.
    Data { waiter: u16, bytes: u16 },
    /// The line of a miss status register of the L1.
    L1 { mshr: u16, bytes: u16 },
}

impl ReplyTo {
    fn bytes(self) -> u64 {
        match self {
            ReplyTo::Nobody => 0,
            ReplyTo::Data { bytes, .. } | ReplyTo::L1 { bytes, .. } => u64::from(bytes),
        }
    }
}

/// A reply.
#[derive(Clone, Copy)]
struct Reply {
    to: ReplyTo,
    /// Where it was found.
    level: Level,
    /// Of a register line.
    values: LaneValues,
}

/// Which level a line was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    L1,
    L2,
    Dram,
}

/// Who waits for a line in the L1.
#[derive(Clone, Copy)]
enum Waiter {
    /// A store that brings its line in.
    Nobody,
    Data(u16),
    Line {
        line: Line,
        tag: u16,
    },
}

/// The memory behind one SM.
pub(super) struct QueuedMemory {
    l1: L1,
    /// Requests that wait to be sent into the network.
    sending: VecDeque<Request>,
    sending_places: usize,
    network: Network,
    slices: Vec<Slice>,
    interleave_bytes: u64,
    channels: Vec<DramChannel>,
    /// Register lines in DRAM, by number.
    dram_lines: Vec<LaneValues>,
    line_addresses: RegisterLines,
    transaction_bytes: u64,
    /// What has come back and has not been taken.
    returned: VecDeque<Returned>,
    last_move: u64,
    /// Cycles that one request may wait without anything else moving.
    patience: u64,
    dram_bytes: u64,
    line_statistics: RegisterLineStatistics,
}

/// The first-level cache.
struct L1 {
    tags: Option<Tags>,
    mshrs: Mshrs<Waiter>,
    line_bytes: u64,
    data_is_kept: bool,
    write_policy: WritePolicy,
    single_port: bool,
    port_free_at: u64,
    latency: u64,
    /// Hits, and when their data is there.
    hits: VecDeque<(u64, Returned)>,
    statistics: CacheStatistics,
}

/// The network between the SM and the slices.
struct Network {
    flit_bytes: u64,
    latency: u64,
    from_sm: Bandwidth,
    to_sm: Bandwidth,
    to_slices: Vec<Bandwidth>,
    from_slices: Vec<Bandwidth>,
    /// Replies on their way, and when they are there.
    replies: VecDeque<(u64, Reply)>,
}

/// A channel and the pipeline before it.
struct DramChannel {
    channel: Channel<(usize, ToDram)>,
    /// Requests, and when each has come through.
    pipeline: VecDeque<(u64, DramRequest<(usize, ToDram)>)>,
    latency: u64,
    /// Requests that may be under way.
    credits: usize,
}

impl QueuedMemory {
    pub fn new(config: &Config) -> QueuedMemory {
        let sms = config.chip.sms;
        let slices = Share::new(config.slices.count, sms);
        let channels = Share::new(config.dram.channels, sms);
        let line_addresses = RegisterLines::new(config);
        let places = config.network.queue as usize;
        QueuedMemory {
            l1: L1::new(config),
            sending: VecDeque::with_capacity(places),
            sending_places: places,
            network: Network::new(config, slices),
            slices: (0..slices.count).map(|_| Slice::new(config, slices)).collect(),
            interleave_bytes: config.slices.interleave_bytes,
            channels: (0..channels.count).map(|_| DramChannel::new(config, channels)).collect(),
            dram_lines: vec![[0; LANES]; line_addresses.count()],
            line_addresses,
            transaction_bytes: if config.l1.bytes > 0 {
                config.l1.line_bytes
            } else {
                config.memory.sector_bytes
            },
            returned: VecDeque::with_capacity(config.l1.mshrs as usize),
            last_move: 0,
            patience: patience(config, slices, channels),
            dram_bytes: 0,
            line_statistics: RegisterLineStatistics::default(),
        }
    }
}

/// All the times that one request may take, each twice. Lines that come from DRAM take their turns at a slice's data port, as
/// many as its MSHRs have asked for, while requests wait for it and nothing moves.
fn patience(config: &Config, slices: Share, channels: Share) -> u64 {
    let line = config.l1.line_bytes.max(config.l2.line_bytes).max(LINE_BYTES);
    let flits = (HEADER_BYTES + line).div_ceil(config.network.flit_bytes);
    let fills = slices.places(config.l2.mshrs.div_ceil(config.slices.count)) as u64;
    let port = (1 + fills) * line * config.chip.sms * slices.count / config.l2.bytes_per_cycle;
    let fixed = config.network.latency + config.l1.latency + config.l2.latency + config.dram.latency;
    2 * (fixed + slices.slower(flits) + flits + port + dram::longest_access(config, channels)) + 16
}

impl L1 {
    fn new(config: &Config) -> L1 {
        let tags = Tags::new(&config.l1, config.l1.bytes);
        L1 {
            data_is_kept: config.memory.data_in_l1 && tags.is_some(),
            tags,
            mshrs: Mshrs::new(config.l1.mshrs as usize, config.l1.mshr_merge),
            line_bytes: config.l1.line_bytes,
            write_policy: config.l1.write_policy,
            single_port: config.memory.single_l1_port,
            port_free_at: 0,
            latency: config.l1.latency,
            hits: VecDeque::with_capacity(config.l1.latency as usize + 1),
            statistics: CacheStatistics::default(),
        }
    }

    fn port_is_free(&self, now: u64) -> bool {
        !self.single_port || self.port_free_at <= now
    }

    fn find(&mut self, address: u64) -> Found {
        match &mut self.tags {
            Some(tags) => tags.find(address),
            None => Found::NoWay,
        }
    }
}

impl Network {
    fn new(config: &Config, share: Share) -> Network {
        let flit_bytes = config.network.flit_bytes;
        let (bytes, of) = share.channel(flit_bytes);
        let slices = || (0..share.count).map(|_| Bandwidth::new(bytes, of)).collect();
        Network {
            flit_bytes,
            latency: config.network.latency,
            from_sm: Bandwidth::new(flit_bytes, 1),
            to_sm: Bandwidth::new(flit_bytes, 1),
            to_slices: slices(),
            from_slices: slices(),
            replies: VecDeque::with_capacity(64),
        }
    }

    /// Flits of a message with so much data.
    fn flits(&self, bytes: u64) -> u64 {
        (HEADER_BYTES + bytes).div_ceil(self.flit_bytes)
    }
}

impl DramChannel {
    fn new(config: &Config, share: Share) -> DramChannel {
        let credits = share.places(config.dram.queue) + share.places(config.dram.return_queue);
        DramChannel {
            channel: Channel::new(config, share),
            pipeline: VecDeque::with_capacity(credits),
            latency: config.dram.latency,
            credits,
        }
    }
}

impl MemorySystem for QueuedMemory {
    fn transaction_bytes(&self) -> u64 {
        self.transaction_bytes
    }

    fn access(&mut self, now: u64, access: Access, waiter: u16) -> Option<Answer> {
        if !self.l1.port_is_free(now) {
            return None;
        }
        let is_taken = if self.l1.data_is_kept {
            self.access_l1(now, access, waiter)
        } else {
            self.access_beyond(access, waiter)
        };
        if !is_taken {
            return None;
        }
        self.l1.port_free_at = now + 1;
        self.last_move = now;
        Some(if access.kind == MemoryKind::Store { Answer::At(now) } else { Answer::Later })
    }

    fn cycle(&mut self, now: u64) {
        if self.is_idle() {
            return;
        }
        let mut moved = self.take_replies(now);
        moved |= self.send_replies(now);
        for slice in &mut self.slices {
            moved |= slice.cycle(now);
        }
        moved |= self.send_request(now);
        moved |= self.advance_dram(now);
        if moved {
            self.last_move = now;
        }
    }

    fn pop_returned(&mut self) -> Option<Returned> {
        self.returned.pop_front()
    }

    fn is_busy(&self, now: u64) -> bool {
        !self.is_idle() && now <= self.last_move + self.patience
    }

    fn answers_later(&self) -> bool {
        true
    }

    fn report(&self, into: &mut MemoryStatistics) {
        into.l1 = self.l1.statistics;
        for slice in &self.slices {
            let CacheStatistics { hits, merged_misses, misses, writebacks } = slice.statistics;
            into.l2.hits += hits;
            into.l2.merged_misses += merged_misses;
            into.l2.misses += misses;
            into.l2.writebacks += writebacks;
        }
        into.dram_bytes += self.dram_bytes;
        let written_to_l2 = self.slices.iter().map(|slice| slice.lines_written).sum();
        into.register_lines = RegisterLineStatistics { written_to_l2, ..self.line_statistics };
    }

    fn lines(&mut self) -> Option<&mut dyn LineMemory> {
        Some(self)
    }
}

/// The SM's side.
impl QueuedMemory {
    /// Whether nothing is under way.
    fn is_idle(&self) -> bool {
        self.sending.is_empty()
            && self.l1.hits.is_empty()
            && self.network.replies.is_empty()
            && self.slices.iter().all(Slice::is_empty)
            && self.channels.iter().all(|at| at.pipeline.is_empty() && at.channel.is_empty())
    }

    fn can_send(&self, requests: usize) -> bool {
        self.sending.len() + requests <= self.sending_places
    }

    fn send(&mut self, request: Request) {
        self.sending.push_back(request);
    }

    /// An access that goes past the L1.
    fn access_beyond(&mut self, access: Access, waiter: u16) -> bool {
        if !self.can_send(1) {
            return false;
        }
        let Access { address, bytes, kind } = access;
        let data = ReplyTo::Data { waiter, bytes: bytes as u16 };
        let (kind, to) = match kind {
            MemoryKind::Load => (RequestKind::Load, data),
            MemoryKind::Store => (RequestKind::Store, ReplyTo::Nobody),
            MemoryKind::Atomic => (RequestKind::Atomic, data),
        };
        self.send(Request { kind, address, bytes, to, values: [0; LANES] });
        true
    }

    fn access_l1(&mut self, now: u64, access: Access, waiter: u16) -> bool {
        let waits = match access.kind {
            MemoryKind::Load => Waiter::Data(waiter),
            MemoryKind::Store => Waiter::Nobody,
            MemoryKind::Atomic => {
                let is_taken = self.access_beyond(access, waiter);
                if let Some(tags) = self.l1.tags.as_mut().filter(|_| is_taken) {
                    tags.invalidate(access.address);
                }
                return is_taken;
            }
        };
        let is_store = access.kind == MemoryKind::Store;
        let through = is_store && self.l1.write_policy == WritePolicy::WriteThrough;
        if through && !self.can_send(1) {
            return false;
        }
        match self.l1.find(access.address) {
            Found::Here(place) => {
                self.l1.statistics.hits += 1;
                if !is_store {
                    self.l1.hits.push_back((now + self.l1.latency, Returned::Data(waiter)));
                } else if let Some(tags) = self.l1.tags.as_mut().filter(|_| !through) {
                    tags.mark_dirty(place);
                }
            }
            Found::OnItsWay if through => self.l1.statistics.merged_misses += 1,
            Found::OnItsWay => {
                let Some(mshr) = self.l1.mshrs.find(access.address) else { return false };
                if !self.l1.mshrs.can_merge(mshr) {
                    return false;
                }
                let entry = self.l1.mshrs.get_mut(mshr);
                entry.dirty |= is_store;
                entry.waiters.push(waits);
                self.l1.statistics.merged_misses += 1;
            }
            Found::Absent(_) | Found::NoWay if through => self.l1.statistics.misses += 1,
            Found::Absent(victim) => {
                let request = Request {
                    kind: RequestKind::Load,
                    address: access.address,
                    bytes: self.l1.line_bytes,
                    to: ReplyTo::Nobody,
                    values: [0; LANES],
                };
                if !self.miss(request, Some(victim), is_store, waits) {
                    return false;
                }
                self.l1.statistics.misses += 1;
            }
            Found::NoWay => return false,
        }
        !through || self.access_beyond(access, waiter)
    }

    /// Asks for a line, for the place of a victim if it is to be kept, unless there is no room for the request.
    fn miss(&mut self, request: Request, victim: Option<Victim>, dirty: bool, waiter: Waiter) -> bool {
        let leaves = victim.is_some_and(|victim| victim.dirty.is_some());
        if !self.l1.mshrs.has_room() || !self.can_send(1 + usize::from(leaves)) {
            return false;
        }
        if let Some(victim) = victim {
            self.evict(victim);
            if let Some(tags) = &mut self.l1.tags {
                tags.reserve(request.address, victim.place);
            }
        }
        let place = victim.map(|victim| victim.place);
        let Some(mshr) = self.l1.mshrs.take(request.address, place, dirty, waiter) else { return false };
        let to = ReplyTo::L1 { mshr: mshr as u16, bytes: request.bytes as u16 };
        self.send(Request { to, ..request });
        true
    }

    /// Writes the dirty line back that makes way in the L1, if one does; there must be room for it.
    fn evict(&mut self, victim: Victim) {
        let Some((address, tags)) = victim.dirty.zip(self.l1.tags.as_ref()) else { return };
        let values = *tags.contents(victim.place);
        let (kind, bytes) = if is_register_line(address) {
            (RequestKind::LineWrite, LINE_BYTES)
        } else {
            (RequestKind::Store, self.l1.line_bytes)
        };
        self.l1.statistics.writebacks += 1;
        self.send(Request { kind, address, bytes, to: ReplyTo::Nobody, values });
    }

    /// What has come to the SM.
    fn deliver(&mut self, Reply { to, level, values }: Reply) {
        match to {
            ReplyTo::Nobody => {}
            ReplyTo::Data { waiter, .. } => self.returned.push_back(Returned::Data(waiter)),
            ReplyTo::L1 { mshr, .. } => self.fill_l1(usize::from(mshr), level, &values),
        }
    }

    fn fill_l1(&mut self, mshr: usize, level: Level, values: &LaneValues) {
        let entry = self.l1.mshrs.get_mut(mshr);
        if let (Some(place), Some(tags)) = (entry.place, &mut self.l1.tags) {
            tags.fill(entry.address, place, entry.dirty, values);
        }
        for waiter in &entry.waiters {
            match *waiter {
                Waiter::Nobody => {}
                Waiter::Data(waiter) => self.returned.push_back(Returned::Data(waiter)),
                Waiter::Line { line, tag } => {
                    count_fetch(&mut self.line_statistics, level, line.compressed);
                    self.returned.push_back(Returned::Line(FilledLine { line, tag, values: *values }));
                }
            }
        }
        self.l1.mshrs.release(mshr);
    }
}

/// The network, and what lies behind it.
impl QueuedMemory {
    fn slice_of(&self, address: u64) -> usize {
        (address / self.interleave_bytes % self.slices.len() as u64) as usize
    }

    /// Sends the first request into the network, if its slice has a credit for it.
    fn send_request(&mut self, now: u64) -> bool {
        let Some(request) = self.sending.front() else { return false };
        let slice = self.slice_of(request.address);
        let network = &mut self.network;
        let is_free = network.from_sm.is_free(now) && network.to_slices[slice].is_free(now);
        if !is_free || !self.slices[slice].has_room(now) {
            return false;
        }
        let data = match request.kind {
            RequestKind::Load | RequestKind::LineFetch { .. } => 0,
            RequestKind::Store | RequestKind::Atomic | RequestKind::LineWrite => request.bytes,
        };
        let flits = network.flits(data);
        network.from_sm.transfer(now, flits * network.flit_bytes);
        network.to_slices[slice].transfer(now, flits * network.flit_bytes);
        let at = now + network.latency + flits;
        if let Some(request) = self.sending.pop_front() {
            self.slices[slice].push(at, request);
        }
        true
    }

    /// Sends the slices' replies into the network, each slice first in its turn.
    fn send_replies(&mut self, now: u64) -> bool {
        let mut moved = false;
        let count = self.slices.len();
        for turn in 0..count {
            let slice = (now as usize + turn) % count;
            let network = &mut self.network;
            if !network.to_sm.is_free(now) || !network.from_slices[slice].is_free(now) {
                continue;
            }
            let Some(reply) = self.slices[slice].replies.pop_front() else { continue };
            let flits = network.flits(reply.to.bytes());
            network.to_sm.transfer(now, flits * network.flit_bytes);
            network.from_slices[slice].transfer(now, flits * network.flit_bytes);
            network.replies.push_back((now + network.latency + flits, reply));
            moved = true;
        }
        moved
    }

    /// Replies that have come through the network, and hits of the L1 whose data is there.
    fn take_replies(&mut self, now: u64) -> bool {
        let mut moved = false;
        while let Some(&(at, reply)) = self.network.replies.front()
            && at <= now
        {
            self.network.replies.pop_front();
            self.deliver(reply);
            moved = true;
        }
        while self.l1.hits.front().is_some_and(|(at, _)| *at <= now) {
            self.returned.extend(self.l1.hits.pop_front().map(|(_, returned)| returned));
            moved = true;
        }
        moved
    }

    /// One cycle of the channels, and of the ways from and to the slices.
    fn advance_dram(&mut self, now: u64) -> bool {
        let mut moved = false;
        for at in &mut self.channels {
            let lines = &mut self.dram_lines;
            let statistics = &mut self.line_statistics;
            moved |= at.channel.cycle(now, |request| {
                let (_, to_dram) = &mut request.what;
                if is_register_line(to_dram.address) {
                    let line = &mut lines[line_number(to_dram.address)];
                    if to_dram.kind == DramKind::Write {
                        *line = to_dram.values;
                        statistics.written_to_dram += 1;
                    } else {
                        to_dram.values = *line;
                    }
                }
            });
            while let Some(DramRequest { what: (slice, to_dram), .. }) = at.channel.pop_read(now) {
                moved = true;
                let slice = &mut self.slices[slice];
                match to_dram.kind {
                    DramKind::Write => {}
                    DramKind::Fill { mshr } => slice.fill(now, mshr, &to_dram.values),
                    DramKind::Pass(to) => {
                        slice.replies.push_back(Reply { to, level: Level::Dram, values: to_dram.values });
                    }
                }
            }
            while at.channel.has_room()
                && let Some(&(ready, request)) = at.pipeline.front()
                && ready <= now
            {
                at.pipeline.pop_front();
                at.channel.push(request);
                moved = true;
            }
        }
        for slice in 0..self.slices.len() {
            moved |= self.send_to_dram(now, slice);
        }
        moved
    }

    /// Sends the first request of a slice to its channel, if there is a credit for it.
    fn send_to_dram(&mut self, now: u64, slice: usize) -> bool {
        let Some(to_dram) = self.slices[slice].to_dram.front() else { return false };
        let count = self.channels.len();
        let at = &mut self.channels[slice % count];
        if at.pipeline.len() + at.channel.under_way() >= at.credits {
            return false;
        }
        // Slices take turns at the addresses: those of one are side by side in its channel.
        let per_slice = self.interleave_bytes * self.slices.len() as u64;
        let (round, within) = (to_dram.address / per_slice, to_dram.address % self.interleave_bytes);
        let beside = self.slices.len().div_ceil(count) as u64;
        let address = (round * beside + (slice / count) as u64) * self.interleave_bytes + within;
        let writes = to_dram.kind == DramKind::Write;
        let request = DramRequest { address, bytes: to_dram.bytes, writes, what: (slice, *to_dram) };
        self.dram_bytes += to_dram.bytes;
        at.pipeline.push_back((now + at.latency, request));
        self.slices[slice].to_dram.pop_front();
        true
    }
}

impl LineMemory for QueuedMemory {
    fn request(&mut self, now: u64, request: &LineRequest<'_>) -> Option<LineAnswer> {
        if !self.l1.port_is_free(now) {
            return None;
        }
        let answer = match *request {
            LineRequest::Fetch { line, invalidates, tag } => {
                if !self.fetch_line(now, line, invalidates, tag) {
                    return None;
                }
                LineAnswer::Later
            }
            LineRequest::Write { line, values } => {
                if !self.write_line(self.line_addresses.address(line), values) {
                    return None;
                }
                self.line_statistics.writes += 1;
                self.line_statistics.compressed_writes += u64::from(line.compressed);
                LineAnswer::Done
            }
            LineRequest::Invalidate { line } => {
                self.line_statistics.invalidations += 1;
                self.drop_line(self.line_addresses.address(line));
                LineAnswer::Done
            }
            LineRequest::Drop { warp } => {
                self.line_statistics.drops += 1;
                for register in 0..LINE_REGISTERS {
                    self.drop_line(self.line_addresses.address(Line { compressed: false, warp, register }));
                }
                LineAnswer::Done
            }
        };
        self.l1.port_free_at = now + 1;
        self.last_move = now;
        Some(answer)
    }
}

/// Register lines.
impl QueuedMemory {
    /// Reads a line, and drops it if it is not needed again. One that is on its way and is then to be dropped waits.
    fn fetch_line(&mut self, now: u64, line: Line, invalidates: bool, tag: u16) -> bool {
        let address = self.line_addresses.address(line);
        let waiter = Waiter::Line { line, tag };
        let found = self.l1.find(address);
        if let (Found::Here(place), Some(tags)) = (found, &self.l1.tags) {
            let filled = FilledLine { line, tag, values: *tags.contents(place) };
            self.l1.hits.push_back((now + self.l1.latency, Returned::Line(filled)));
            count_fetch(&mut self.line_statistics, Level::L1, line.compressed);
            if invalidates {
                self.drop_line(address);
            }
            return true;
        }
        if let Some(mshr) = self.l1.mshrs.find(address) {
            if invalidates || !self.l1.mshrs.can_merge(mshr) {
                return false;
            }
            self.l1.mshrs.get_mut(mshr).waiters.push(waiter);
            return true;
        }
        let victim = match found {
            Found::Absent(victim) if !invalidates => Some(victim),
            Found::NoWay | Found::OnItsWay if !invalidates && self.l1.tags.is_some() => return false,
            Found::Absent(_) | Found::NoWay | Found::OnItsWay | Found::Here(_) => None,
        };
        let kind = RequestKind::LineFetch { keep: !invalidates };
        let to = ReplyTo::Nobody;
        self.miss(Request { kind, address, bytes: LINE_BYTES, to, values: [0; LANES] }, victim, false, waiter)
    }

    /// Writes a whole line into the L1. One that is on its way waits.
    fn write_line(&mut self, address: u64, values: &LaneValues) -> bool {
        if self.l1.mshrs.find(address).is_some() {
            return false;
        }
        match self.l1.find(address) {
            Found::Here(place) => {
                if let Some(tags) = &mut self.l1.tags {
                    tags.set_contents(place, values);
                    tags.mark_dirty(place);
                }
                true
            }
            Found::Absent(victim) => {
                if victim.dirty.is_some() && !self.can_send(1) {
                    return false;
                }
                self.evict(victim);
                if let Some(tags) = &mut self.l1.tags {
                    tags.fill(address, victim.place, true, values);
                }
                true
            }
            Found::NoWay if self.l1.tags.is_none() && self.can_send(1) => {
                let kind = RequestKind::LineWrite;
                self.send(Request { kind, address, bytes: LINE_BYTES, to: ReplyTo::Nobody, values: *values });
                true
            }
            Found::NoWay | Found::OnItsWay => false,
        }
    }

    /// A dropped line is gone from every cache, dirty or not; that costs no bandwidth behind the L1. What of it is on its way
    /// is overtaken by nothing that is written later.
    fn drop_line(&mut self, address: u64) {
        if let Some(tags) = &mut self.l1.tags {
            tags.invalidate(address);
        }
        let slice = self.slice_of(address);
        self.slices[slice].invalidate(address);
    }
}

fn count_fetch(statistics: &mut RegisterLineStatistics, level: Level, compressed: bool) {
    let (all, of_compressed) = match level {
        Level::L1 => (&mut statistics.fetched_from_l1, &mut statistics.compressed_from_l1),
        Level::L2 => (&mut statistics.fetched_from_l2, &mut statistics.compressed_from_l2),
        Level::Dram => (&mut statistics.fetched_from_dram, &mut statistics.compressed_from_dram),
    };
    *all += 1;
    *of_compressed += u64::from(compressed);
}

#[cfg(test)]
mod tests;

//! A DRAM channel: a bounded queue, banks with one open row each, and a scheduler that takes row hits first.
//!
//! First-ready, first-come first-served (Rixner et al., ISCA 2000): a bank that is free takes the oldest request to the row
//! that it has open, else the oldest of all its requests; of the banks whose row is open, the one that has been ready
//! longest has the data bus. Activation and precharge take no place on the command bus. Times are kept in fractions of a
//! cycle of the SM, [`TICKS`] of them.
//!
//! Of a channel that several SMs share, one of them has a part: as much of the data bus and of the rate of activations as
//! falls to it, and its number of banks and of places in the queue. A bank's own times are those of the data sheet.
//!
//! Requests to one row keep their order, so that a read gets what the last write before it wrote.

use std::collections::VecDeque;

use crate::config::{Config, Dram};

use super::share::Share;

/// Fractions of a cycle that times are kept in.
const TICKS: u64 = 1024;

/// Times of a channel, in ticks.
#[derive(Clone, Copy, Debug)]
struct Timing {
    /// Data bus, a burst.
    burst: u64,
    rrd: u64,
    rcd: u64,
    ras: u64,
    rp: u64,
    rc: u64,
    cl: u64,
    wl: u64,
    cdlr: u64,
    wr: u64,
    ccdl: u64,
    rtp: u64,
}

/// What is asked of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request<T> {
    /// Byte address within the channel.
    pub address: u64,
    /// Bytes, at least one.
    pub bytes: u64,
    /// Whether it writes.
    pub writes: bool,
    /// Whatever the caller wants to know of it.
    pub what: T,
}

/// What a channel has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DramCounts {
    /// Requests whose row was open.
    pub row_hits: u64,
    /// Requests whose row was not.
    pub row_misses: u64,
}

/// A channel.
pub(super) struct Channel<T> {
    timing: Timing,
    burst_bytes: u64,
    row_bytes: u64,
    /// Oldest first.
    queue: VecDeque<Request<T>>,
    capacity: usize,
    /// Row hits that may pass an older request of the same bank; `None`: no limit.
    row_hits: Option<u64>,
    banks: Vec<Bank<T>>,
    groups: Vec<u64>,
    /// When the data bus is free.
    bus_free: u64,
    /// When the last data of a write has come.
    written: u64,
    /// When the next bank may be activated.
    activate_from: u64,
    /// Reads whose data comes, and when; in order.
    reads: VecDeque<(u64, Request<T>)>,
    pub counts: DramCounts,
}

/// A bank.
struct Bank<T> {
    row: Option<u64>,
    current: Option<Current<T>>,
    precharge_from: u64,
    activate_from: u64,
    /// Row hits since an older request to another row was first passed.
    passed: u64,
}

/// The request that a bank works on.
struct Current<T> {
    request: Request<T>,
    /// When its next burst can be asked for.
    from: u64,
    bursts: u64,
}

impl<T: Copy> Channel<T> {
    /// The part of a channel that falls to one SM.
    pub fn new(config: &Config, share: Share) -> Channel<T> {
        let Dram { queue, row_hits, banks, bank_groups, row_bytes, burst_bytes, .. } = config.dram;
        let banks = share.places(banks);
        Channel {
            timing: Timing::new(config, share),
            burst_bytes,
            row_bytes,
            queue: VecDeque::with_capacity(share.places(queue)),
            capacity: share.places(queue),
            row_hits: (row_hits > 0).then_some(row_hits),
            banks: (0..banks).map(|_| Bank::new()).collect(),
            groups: vec![0; bank_groups as usize],
            bus_free: 0,
            written: 0,
            activate_from: 0,
            reads: VecDeque::with_capacity(64),
            counts: DramCounts::default(),
        }
    }

    /// Whether its scheduler takes another request.
    pub fn has_room(&self) -> bool {
        self.queue.len() < self.capacity
    }

    /// Whether it has nothing to do.
    pub fn is_empty(&self) -> bool {
        self.under_way() == 0
    }

    /// Requests that its scheduler has, and reads whose data comes.
    pub fn under_way(&self) -> usize {
        let working = self.banks.iter().filter(|bank| bank.current.is_some()).count();
        self.queue.len() + working + self.reads.len()
    }

    /// Takes a request; there must be room.
    pub fn push(&mut self, request: Request<T>) {
        debug_assert!(self.has_room());
        self.queue.push_back(request);
    }

    /// One cycle. Tells `done` of each write whose data has been sent, and of each read at the same point, in the order in
    /// which they are performed: what a read gets is what has been written by then. Gives whether something has moved.
    pub fn cycle(&mut self, now: u64, mut performed: impl FnMut(&mut Request<T>)) -> bool {
        let (begin, end) = (now * TICKS, (now + 1) * TICKS);
        let mut moved = false;
        loop {
            moved |= self.fill_banks(begin);
            let Some((bank, at)) = self.next_burst() else { break };
            if at >= end {
                break;
            }
            moved = true;
            self.send_burst(bank, at, &mut performed);
        }
        moved
    }

    /// A read whose data is there by cycle `now`.
    pub fn pop_read(&mut self, now: u64) -> Option<Request<T>> {
        let (at, _) = self.reads.front()?;
        if *at > now * TICKS {
            return None;
        }
        self.reads.pop_front().map(|(_, request)| request)
    }

    fn bank_and_row(&self, address: u64) -> (usize, u64) {
        let (row, banks) = (address / self.row_bytes, self.banks.len() as u64);
        ((row % banks) as usize, row / banks)
    }

    /// Gives each free bank that has a request one, from tick `now` on.
    fn fill_banks(&mut self, now: u64) -> bool {
        let mut moved = false;
        let mut position = 0;
        while position < self.queue.len() {
            let (bank, _) = self.bank_and_row(self.queue[position].address);
            if self.banks[bank].current.is_some() {
                position += 1;
                continue;
            }
            let chosen = self.choose(bank, position);
            if let Some(request) = self.queue.remove(chosen) {
                self.start(bank, request, now);
                moved = true;
            }
        }
        moved
    }

    /// Of the requests of a bank, the oldest of which is at `oldest`, the one that it takes.
    fn choose(&mut self, bank: usize, oldest: usize) -> usize {
        let open = self.banks[bank].row;
        let hits = |request: &Request<T>| {
            let (of, row) = self.bank_and_row(request.address);
            of == bank && Some(row) == open
        };
        let hit = (oldest..self.queue.len()).find(|&position| hits(&self.queue[position]));
        let passed = &mut self.banks[bank].passed;
        match hit {
            Some(hit) if hit > oldest && self.row_hits.is_none_or(|limit| *passed < limit) => {
                *passed += 1;
                hit
            }
            _oldest => {
                *passed = 0;
                oldest
            }
        }
    }

    /// A bank starts with a request: precharge and activation, if its row is not open.
    fn start(&mut self, bank: usize, request: Request<T>, now: u64) {
        let (_, row) = self.bank_and_row(request.address);
        let Timing { rrd, rcd, ras, rp, rc, .. } = self.timing;
        let at = &mut self.banks[bank];
        let from = if at.row == Some(row) {
            self.counts.row_hits += 1;
            now
        } else {
            self.counts.row_misses += 1;
            let closed = if at.row.is_some() { now.max(at.precharge_from) + rp } else { now };
            let activated = closed.max(at.activate_from).max(self.activate_from);
            self.activate_from = activated + rrd;
            at.activate_from = activated + rc;
            at.precharge_from = activated + ras;
            at.row = Some(row);
            activated + rcd
        };
        let bursts = request.bytes.div_ceil(self.burst_bytes).max(1);
        at.current = Some(Current { request, from, bursts });
    }

    /// The bank that sends or takes the next burst, and when its command is given.
    fn next_burst(&self) -> Option<(usize, u64)> {
        let command = |bank: usize| {
            let current = self.banks[bank].current.as_ref()?;
            let group = bank % self.groups.len();
            let ready = current.from.max(self.groups[group]);
            let turned = if current.request.writes { ready } else { ready.max(self.written) };
            let access = self.access_time(current.request.writes);
            Some((turned.max(self.bus_free.saturating_sub(access)), current.from, bank))
        };
        let (at, _, bank) = (0..self.banks.len()).filter_map(command).min()?;
        Some((bank, at))
    }

    fn access_time(&self, writes: bool) -> u64 {
        if writes { self.timing.wl } else { self.timing.cl }
    }

    fn send_burst(&mut self, bank: usize, at: u64, performed: &mut impl FnMut(&mut Request<T>)) {
        let group = bank % self.groups.len();
        let Timing { burst, cdlr, wr, ccdl, rtp, .. } = self.timing;
        self.groups[group] = at + ccdl;
        let place = &mut self.banks[bank];
        let Some(current) = &mut place.current else { return };
        let writes = current.request.writes;
        let access = if writes { self.timing.wl } else { self.timing.cl };
        let data = at + access + burst;
        self.bus_free = data;
        if writes {
            self.written = data + cdlr;
            place.precharge_from = place.precharge_from.max(data + wr);
        } else {
            place.precharge_from = place.precharge_from.max(at + rtp);
        }
        current.from = at;
        current.bursts -= 1;
        if current.bursts > 0 {
            return;
        }
        if let Some(Current { mut request, .. }) = place.current.take() {
            performed(&mut request);
            if !writes {
                self.reads.push_back((data, request));
            }
        }
    }
}

impl<T> Bank<T> {
    fn new() -> Bank<T> {
        Bank { row: None, current: None, precharge_from: 0, activate_from: 0, passed: 0 }
    }
}

impl Timing {
    fn new(config: &Config, share: Share) -> Timing {
        let dram = &config.dram;
        let cycles = |memory_cycles: u64| (memory_cycles * dram.core_mhz * TICKS).div_ceil(dram.memory_mhz);
        // All channels together move `bytes_per_cycle`; this one is that many of the chip's, as far as this SM goes.
        let burst = dram.burst_bytes * TICKS * dram.channels;
        Timing {
            burst: share.slower(burst.div_ceil(dram.bytes_per_cycle)),
            rrd: share.slower(cycles(dram.rrd)),
            rcd: cycles(dram.rcd),
            ras: cycles(dram.ras),
            rp: cycles(dram.rp),
            rc: cycles(dram.rc),
            cl: cycles(dram.cl),
            wl: cycles(dram.wl),
            cdlr: cycles(dram.cdlr),
            wr: cycles(dram.wr),
            ccdl: cycles(dram.ccdl),
            rtp: cycles(dram.rtp),
        }
    }
}

/// The longest that a request waits for its bank alone, in cycles.
pub(super) fn longest_access(config: &Config, share: Share) -> u64 {
    let t = Timing::new(config, share);
    let longest_request =
        config.l1.line_bytes.max(config.l2.line_bytes).div_ceil(config.dram.burst_bytes) + 1;
    let row = t.rp + t.rc + t.ras + t.rcd + t.wr + t.rtp + t.rrd;
    (row + t.cl + t.wl + t.cdlr + longest_request * (t.burst + t.ccdl)) / TICKS + 1
}

#[cfg(test)]
mod tests;

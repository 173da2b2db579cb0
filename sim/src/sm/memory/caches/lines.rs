//! Register lines in L1, L2 and DRAM, with their contents.
//!
//! Unlike data, a register line is written back from every level, and a write of it fetches nothing, for it is a
//! whole line. A dropped line is gone from every level, dirty or not; that costs the one request of the L1 and no
//! bandwidth behind it. Source: Kloosterman et al., MICRO 2017, §5.2.3.

use warpfile_kernels::program::LaneValues;

use super::super::super::design::{FetchedLine, LINE_REGISTERS, Line, LineRequest};
use super::super::super::kernel::MemoryKind;
use super::super::cache::{Cache, Placed};
use super::super::register_lines::{LINE_BYTES, is_register_line, line_number};
use super::super::{Access, LineAnswer, LineMemory};
use super::{Beyond, CacheHierarchy};

/// Which level a fetched line was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    L1,
    L2,
    Dram,
}

impl LineMemory for CacheHierarchy {
    fn request(&mut self, now: u64, request: &LineRequest<'_>) -> Option<LineAnswer> {
        if !self.port_is_free(now) {
            return None;
        }
        let answer = match *request {
            LineRequest::Fetch { line, invalidates, tag: _ } => {
                let address = self.address(line);
                let (fetched, level) = self.fetch(now, address, !invalidates)?;
                self.count_fetch(level, line.compressed);
                if invalidates {
                    self.drop_line(address);
                }
                LineAnswer::Fetched(fetched)
            }
            LineRequest::Write { line, values } => {
                self.line_statistics.writes += 1;
                self.line_statistics.compressed_writes += u64::from(line.compressed);
                self.write(now, self.address(line), values);
                LineAnswer::Done
            }
            LineRequest::Invalidate { line } => {
                self.line_statistics.invalidations += 1;
                self.drop_line(self.address(line));
                LineAnswer::Done
            }
            LineRequest::Drop { warp } => {
                self.line_statistics.drops += 1;
                for register in 0..LINE_REGISTERS {
                    self.drop_line(self.address(Line { compressed: false, warp, register }));
                }
                LineAnswer::Done
            }
        };
        self.port_free_at = now + 1;
        Some(answer)
    }
}

impl CacheHierarchy {
    fn address(&self, line: Line) -> u64 {
        self.line_addresses.address(line)
    }

    /// Reads a line, into the L1 if it is to be kept there; not if a miss finds no status register.
    fn fetch(&mut self, now: u64, address: u64, keep: bool) -> Option<(FetchedLine, Level)> {
        let Some(l1) = &mut self.l1 else {
            return self.beyond.fetch(now, address, keep);
        };
        if let Some((place, there)) = l1.find(address) {
            l1.channel.transfer(now, LINE_BYTES);
            let fetched = FetchedLine { at: there.max(now + l1.latency), values: *l1.contents(place) };
            return Some((fetched, Level::L1));
        }
        if !l1.can_miss(now) {
            return None;
        }
        let (fetched, level) = self.beyond.fetch(now + l1.latency, address, keep)?;
        l1.channel.transfer(now, LINE_BYTES);
        l1.miss(fetched.at);
        if keep {
            let placed = l1.place(address, fetched.at);
            self.beyond.take_evicted(now + l1.latency, l1, placed);
            l1.set_contents(placed.place, &fetched.values, false);
        }
        Some((fetched, level))
    }

    /// Writes a whole line into the L1.
    fn write(&mut self, now: u64, address: u64, values: &LaneValues) {
        let Some(l1) = &mut self.l1 else {
            self.beyond.write(now, address, values);
            return;
        };
        l1.channel.transfer(now, LINE_BYTES);
        let place = match l1.find(address) {
            Some((place, _)) => place,
            None => {
                let placed = l1.place(address, now);
                self.beyond.take_evicted(now + l1.latency, l1, placed);
                placed.place
            }
        };
        l1.set_contents(place, values, true);
    }

    fn drop_line(&mut self, address: u64) {
        for cache in self.l1.iter_mut().chain(&mut self.beyond.l2) {
            cache.invalidate(address);
        }
    }

    fn count_fetch(&mut self, level: Level, compressed: bool) {
        let statistics = &mut self.line_statistics;
        let (all, of_compressed) = match level {
            Level::L1 => (&mut statistics.fetched_from_l1, &mut statistics.compressed_from_l1),
            Level::L2 => (&mut statistics.fetched_from_l2, &mut statistics.compressed_from_l2),
            Level::Dram => (&mut statistics.fetched_from_dram, &mut statistics.compressed_from_dram),
        };
        *all += 1;
        *of_compressed += u64::from(compressed);
    }
}

impl Beyond {
    /// Writes back the dirty line that has made way in the L1, if one has.
    pub(super) fn take_evicted(&mut self, now: u64, l1: &Cache, placed: Placed) {
        let Some(address) = placed.written_back else { return };
        if is_register_line(address) {
            self.write(now, address, l1.contents(placed.place));
        } else {
            self.access(now, Access { address, bytes: l1.line_bytes(), kind: MemoryKind::Store });
        }
    }

    /// Reads a line from the L2 or DRAM, into the L2 if it is to be kept; not if a miss finds no status register.
    fn fetch(&mut self, now: u64, address: u64, keep: bool) -> Option<(FetchedLine, Level)> {
        let Some(l2) = &mut self.l2 else {
            let values = self.dram_lines[line_number(address)];
            return Some((FetchedLine { at: self.access_dram(now, LINE_BYTES), values }, Level::Dram));
        };
        let (found, latency) = (l2.find(address), l2.latency);
        if found.is_none() && !l2.can_miss(now) {
            return None;
        }
        let start = l2.channel.transfer(now, LINE_BYTES) + latency;
        if let Some((place, there)) = found {
            return Some((FetchedLine { at: there.max(start), values: *l2.contents(place) }, Level::L2));
        }
        let values = self.dram_lines[line_number(address)];
        let at = self.access_dram(start, LINE_BYTES);
        if let Some(l2) = &mut self.l2 {
            l2.miss(at);
        }
        if let Some(placed) = self.l2.as_mut().filter(|_| keep).map(|l2| l2.place(address, at)) {
            self.evict_to_dram(start, placed);
            self.set_l2_contents(placed.place, &values, false);
        }
        Some((FetchedLine { at, values }, Level::Dram))
    }

    /// Writes a whole line into the L2.
    fn write(&mut self, now: u64, address: u64, values: &LaneValues) {
        let Some(l2) = &mut self.l2 else {
            self.access_dram(now, LINE_BYTES);
            self.lines_to_dram += 1;
            self.dram_lines[line_number(address)] = *values;
            return;
        };
        self.lines_to_l2 += 1;
        let start = l2.channel.transfer(now, LINE_BYTES);
        let place = match l2.find(address) {
            Some((place, _)) => place,
            None => {
                let placed = l2.place(address, start);
                self.evict_to_dram(start, placed);
                placed.place
            }
        };
        self.set_l2_contents(place, values, true);
    }

    /// Writes back the dirty line that has made way in the L2, if one has.
    pub(super) fn evict_to_dram(&mut self, now: u64, placed: Placed) {
        let Some((address, l2)) = placed.written_back.zip(self.l2.as_ref()) else { return };
        let bytes = l2.line_bytes();
        if is_register_line(address) {
            self.dram_lines[line_number(address)] = *l2.contents(placed.place);
            self.lines_to_dram += 1;
        }
        self.access_dram(now, bytes);
    }

    fn set_l2_contents(&mut self, place: usize, values: &LaneValues, dirty: bool) {
        if let Some(l2) = &mut self.l2 {
            l2.set_contents(place, values, dirty);
        }
    }
}

#[cfg(test)]
mod tests;

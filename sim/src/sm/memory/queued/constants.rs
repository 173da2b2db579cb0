//! The cache of constants and kernel parameters.
//!
//! It is read only, a line an access and an access a cycle. A miss asks the L2 for the line; while all miss status registers
//! have one on its way, the access waits at the head of the memory unit, and everything behind it too, as in GPGPU-Sim's
//! `ldst_unit`.

use std::collections::VecDeque;

use crate::config::{CacheIndex, Config, ConstantCache};

use super::mshrs::Mshrs;
use super::tags::{Found, Tags};
use super::{Answer, CacheStatistics, LANES, ReplyTo, Request, RequestKind, Returned};

/// Where constants lie in memory: beyond what kernels address, and below register lines.
const FIRST: u64 = 1 << 55;

/// The cache, behind the memory unit of one SM.
pub(super) struct Constants {
    tags: Tags,
    /// Waiters of the lines on their way.
    mshrs: Mshrs<u16>,
    port_free_at: u64,
    /// Cycles from pick to dependent pick on a hit.
    latency: u64,
    statistics: CacheStatistics,
}

impl Constants {
    /// `None` for one of 0 bytes.
    pub fn new(config: &Config) -> Option<Constants> {
        let ConstantCache { bytes, ways, line_bytes, mshrs, mshr_merge } = config.constant_cache;
        (bytes > 0).then(|| Constants {
            tags: Tags::of(bytes, ways, line_bytes, CacheIndex::Linear),
            mshrs: Mshrs::new(mshrs as usize, mshr_merge),
            port_free_at: 0,
            latency: config.latency.constant,
            statistics: CacheStatistics::default(),
        })
    }

    pub fn line_bytes(&self) -> u64 {
        self.tags.line_bytes
    }

    pub fn statistics(&self) -> CacheStatistics {
        self.statistics
    }

    /// Reads the line at an address of constants, and gives what is to be sent for it. `None` if it cannot be read in this cycle.
    pub fn read(
        &mut self,
        now: u64,
        address: u64,
        waiter: u16,
        can_send: bool,
    ) -> Option<(Answer, Option<Request>)> {
        if self.port_free_at > now {
            return None;
        }
        let address = FIRST | address & (FIRST - 1);
        let read = match self.tags.find(address) {
            Found::Here(_) => {
                self.statistics.hits += 1;
                (Answer::At(now + self.latency), None)
            }
            Found::OnItsWay => {
                let mshr = self.mshrs.find(address).filter(|mshr| self.mshrs.can_merge(*mshr))?;
                self.mshrs.get_mut(mshr).waiters.push(waiter);
                self.statistics.merged_misses += 1;
                (Answer::Later, None)
            }
            Found::Absent(victim) if can_send && self.mshrs.has_room() => {
                self.tags.reserve(address, victim.place);
                let mshr = self.mshrs.take(address, Some(victim.place), false, waiter)?;
                self.statistics.misses += 1;
                let bytes = self.tags.line_bytes;
                let to = ReplyTo::Constants { mshr: mshr as u16, bytes: bytes as u16 };
                let request = Request { kind: RequestKind::Load, address, bytes, to, values: [0; LANES] };
                (Answer::Later, Some(request))
            }
            Found::Absent(_) | Found::NoWay => return None,
        };
        self.port_free_at = now + 1;
        Some(read)
    }

    /// A line has come.
    pub fn fill(&mut self, mshr: usize, returned: &mut VecDeque<Returned>) {
        let entry = self.mshrs.get_mut(mshr);
        if let Some(place) = entry.place {
            self.tags.fill(entry.address, place, false, &[0; LANES]);
        }
        returned.extend(entry.waiters.iter().map(|waiter| Returned::Data(*waiter)));
        self.mshrs.release(mshr);
    }
}

//! A fixed latency behind a limited bandwidth, without caches (Gebhart et al., §4).

use crate::config::Config;

use super::bandwidth::Channel;
use super::{Access, Answer, MemoryStatistics, MemorySystem};

/// Every transaction takes the same time once the channel has taken it.
pub(super) struct FixedLatency {
    channel: Channel,
    sector_bytes: u64,
    latency: u64,
    bytes: u64,
}

impl FixedLatency {
    pub fn new(config: &Config) -> FixedLatency {
        FixedLatency {
            channel: Channel::new(config.memory.fixed_bytes_per_cycle, 1),
            sector_bytes: config.memory.sector_bytes,
            latency: config.memory.fixed_latency,
            bytes: 0,
        }
    }
}

impl MemorySystem for FixedLatency {
    fn transaction_bytes(&self) -> u64 {
        self.sector_bytes
    }

    fn access(&mut self, now: u64, access: Access, _waiter: u16) -> Option<Answer> {
        if !self.channel.is_free(now) {
            return None;
        }
        self.bytes += access.bytes;
        Some(Answer::At(self.channel.transfer(now, access.bytes) + self.latency))
    }

    fn is_busy(&self, now: u64) -> bool {
        !self.channel.is_free(now)
    }

    fn report(&self, into: &mut MemoryStatistics) {
        into.dram_bytes += self.bytes;
    }
}

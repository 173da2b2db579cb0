//! Loop of the L1 port: 4 shards and the data.

use super::noise::{Circuit, Event, field, signature};
use super::row::Row;
use crate::bench::Activity;

const SHARDS: usize = 4;
/// The shards' requests, and that of the data above them.
const REQUESTS: u32 = SHARDS as u32 + 1;

/// Where the fields of a shard's request lie: word and lowest bit of its event, and of the fields behind it.
const EVENTS: [(usize, u32); SHARDS] = [(0, 0), (0, 28), (0, 56), (1, 20)];
const FIELDS: [(usize, u32); SHARDS] = [(0, 8), (0, 36), (1, 0), (1, 28)];
/// Where the outputs of a shard lie in the words of the signature.
const OUTPUTS: [u32; SHARDS] = [0, 19, 38, 57];

struct Port {
    active: Event,
    /// Requests behind the one granted last.
    behind_last: u32,
    /// The request offered in the cycle before and not taken; 0 if there is none.
    kept: u32,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    signature(Port { active: Event::active(activity), behind_last: 0, kept: 0 }, cycles)
}

impl Port {
    /// The request that passes, one bit each; 0 if there is none.
    #[inline(always)]
    fn grant(&mut self, noise: &[u64; 3], ready: bool) -> u32 {
        let mut asking = u32::from(self.active.happens(noise[1], 48)) << SHARDS;
        for (s, (word, low)) in EVENTS.into_iter().enumerate() {
            asking |= u32::from(self.active.happens(noise[word], low)) << s;
        }
        let requests = if self.kept != 0 { self.kept } else { asking };
        let behind = requests & self.behind_last;
        let chosen = if behind != 0 { behind } else { requests };
        let grant = chosen & chosen.wrapping_neg();
        if ready && grant != 0 {
            self.behind_last = !(grant | (grant - 1)) & ((1 << REQUESTS) - 1);
        }
        self.kept = if ready { 0 } else { grant };
        grant
    }
}

impl Circuit<3> for Port {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; 3]) -> u64 {
        let ready = Event::OFTEN.happens(noise[1], 56);
        let grant = self.grant(noise, ready);
        // The first word holds the outputs of the shards, but for the last one's register and line.
        let (mut first, mut second, mut values) = (0, 0, 0);
        if ready {
            for (s, low) in OUTPUTS.into_iter().enumerate() {
                first |= u64::from(grant >> s & 1) << low;
            }
            second |= u64::from(grant >> SHARDS) << 12;
        }
        if grant != 0 && grant >> SHARDS == 0 {
            let shard = grant.trailing_zeros() as usize;
            let (word, low) = FIELDS[shard];
            let request = noise[word] >> low;
            let (kind, compressed) = (request & 3, request >> 2 & 1);
            let (warp, register) = (request >> 3 & 0xf, request >> 7 & 0xff);
            let address = shard as u64 | warp << 2 | register << 6 | compressed << 14;
            let (line, invalidates) = (request >> 15 & 0xf, request >> 19 & 1);
            second |= 1 << 13 | kind << 14 | address << 16 | line << 31 | invalidates << 35;
            values ^= Row::repeated(noise[shard % 3]).sum().rotate_left(28);
        }
        if self.active.happens(noise[2], 0) {
            let address = field(noise[2], 8, 15) as u64;
            let (shard, warp, register) = ((address & 3) as usize, address >> 2 & 0xf, address >> 6 & 0xff);
            let line = field(noise[2], 23, 4) as u64;
            let low = OUTPUTS[shard];
            first |= (1 | address >> 14 << 1 | warp << 2) << (low + 1);
            if shard < SHARDS - 1 {
                first |= (register | line << 8) << (low + 7);
            } else {
                second |= register | line << 8;
            }
            values ^= Row::repeated(noise[1]).sum().rotate_left(7 * shard as u32);
        }
        first ^ second ^ values
    }
}

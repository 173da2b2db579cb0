//! Loop of the register file cache.

use super::cache::{Cache, Invalidate, Lookup, Offered, Pending, Source};
use super::collectors::SOURCES;
use super::noise::{Circuit, Event, field, lanes, signature};
use super::row::Row;
use crate::bench::Activity;

struct Alone {
    active: Event,
    cache: Cache,
    /// What the signature takes in of the operands read in the cycle before.
    operands: u64,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    signature(Alone { active: Event::active(activity), cache: Cache::new(), operands: 0 }, cycles)
}

#[inline(always)]
fn lookup(a: u64, b: u64) -> Lookup {
    let source = |valid, register, (word, last_read)| Source {
        valid: Event::OFTEN.happens(a, valid),
        register: field(a, register, 3),
        last_read: Event::RARELY.happens(word, last_read),
    };
    let sources = [source(13, 21, (a, 24)), source(33, 41, (a, 44)), source(53, 61, (b, 0))];
    Lookup { slot: field(a, 8, 3), active: lanes(a, 11, a), sources }
}

/// What the signature takes in of operands.
#[inline(always)]
fn taken_in(sums: &[u64; SOURCES], operands: &Pending) -> u64 {
    let [first, second, third] = operands.lanes().map(u64::from);
    let lanes = first << 32 ^ second ^ third << 32;
    sums.iter().enumerate().fold(lanes, |all, (k, sum)| all ^ sum.rotate_left(7 * k as u32))
}

impl Circuit<3> for Alone {
    #[inline(always)]
    fn cycle(&mut self, &[a, b, c]: &[u64; 3]) -> u64 {
        let (active, cache) = (self.active, &mut self.cache);
        let lookup = active.happens(a, 0).then(|| lookup(a, b));
        let waiting = Event::OFTEN.happens(b, 9);
        let collect = (waiting && active.happens(b, 17)).then(|| field(b, 25, 3));
        let dispatch = active.happens(b, 28).then(|| field(b, 36, 3));
        let result = Offered {
            valid: active.happens(b, 39),
            slot: field(b, 52, 3),
            register: field(b, 47, 3),
            lanes: lanes(b, 50, b),
            clean: Event::RARELY.happens(b, 56),
        };
        let (flush_starts, flush_slot) = (Event::RARELY.happens(c, 40), field(c, 48, 3));

        let found = lookup.as_ref().map(|lookup| cache.look_up(lookup)).unwrap_or_default();
        let reading = dispatch.map(|collector| cache.collected(collector)).unwrap_or_default();
        let target = cache.target(&result, &found, waiting);
        let flush = cache.flush();
        let spill = cache.spill(&result, &target, flush).filter(|_| reading.leaves_a_port());
        let spilled = spill.is_some() && Event::OFTEN.happens(c, 32);
        let evicted = spilled && spill.as_ref().is_some_and(|spill| spill.evicts);
        let ready = target.is_ready(&result, evicted);

        let busy = cache.flushing | u8::from(flush_starts) << flush_slot;
        let mut last = u64::from(ready) | u64::from(busy) << 44;
        let [first, second, third] = found.lanes().map(u64::from);
        let mut outputs = self.operands ^ first ^ second << 32 ^ third;
        if let Some(spill) = &spill {
            last |= 2 | (spill.register as u64) << 2 | u64::from(spill.lanes) << 12;
            outputs ^= cache.value(spill).sum().rotate_left(21);
        }
        outputs ^= last;
        self.operands = if dispatch.is_some() { taken_in(&cache.sums(&reading), &reading) } else { 0 };

        if let Some(collector) = collect {
            cache.collect(collector);
        }
        if let Some(collector) = dispatch {
            cache.dispatch(collector);
        }
        if let Some(lookup) = &lookup {
            cache.keep(lookup, found);
        }
        for (low, data) in [(0, a), (16, b)] {
            if Event::RARELY.happens(c, low) {
                let (slot, register) = (field(c, low + 8, 3), field(c, low + 11, 3));
                cache.invalidate(&Invalidate { slot, register, lanes: lanes(c, low + 14, data) });
            }
        }
        if target.is_written(&result, ready) {
            cache.write(&result, &target, &Row::repeated(c));
        }
        cache.advance_flush(flush, spilled && !evicted);
        if flush_starts {
            cache.start_flush(flush_slot, Event::RARELY.happens(c, 51), flush);
        }
        outputs
    }
}

//! Loop of the register file with a register file cache: 4 banks of 256 rows, 8 slots of 6 entries.
//!
//! An operand's lanes come from the main register file and from the cache, none from both, so that its sum is the sum
//! of both: what a collector keeps of an operand is its sum.

use super::cache::{Cache, Invalidate, Lookup, Offered, Pending, Source};
use super::collectors::{Arrival, BANKS, COLLECTORS, Collectors, REGISTERS, SOURCES};
use super::noise::{Circuit, Event, field, lanes, signature};
use super::row::Row;
use crate::bench::Activity;

struct RegisterFile {
    active: Event,
    cache: Cache,
    collectors: Collectors,
    /// Register `r` lies in bank `r mod 4`.
    registers: Box<[Row; REGISTERS]>,
    /// The instruction whose tags have been checked.
    checked: Option<Arrival>,
    /// For each collector what its operands from the main register file sum up to.
    sums: [[u64; SOURCES]; COLLECTORS],
    /// What the signature takes in of the operands of the instruction dispatched in the cycle before.
    operands: u64,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let register_file = RegisterFile {
        active: Event::active(activity),
        cache: Cache::new(),
        collectors: Collectors::new(),
        registers: Box::new([Row::ZERO; REGISTERS]),
        checked: None,
        sums: [[0; SOURCES]; COLLECTORS],
        operands: 0,
    };
    signature(register_file, cycles)
}

#[inline(always)]
fn lookup(a: u64, b: u64) -> Lookup {
    let slot = field(a, 16, 3);
    let source = |(word, valid), (register_word, register), (last_word, last_read)| Source {
        valid: Event::OFTEN.happens(word, valid),
        register: field(register_word, register, 3) | slot << 3,
        last_read: Event::RARELY.happens(last_word, last_read),
    };
    let sources = [
        source((a, 21), (a, 29), (a, 32)),
        source((a, 41), (a, 49), (a, 52)),
        source((b, 0), (b, 8), (b, 11)),
    ];
    Lookup { slot, active: lanes(a, 19, a), sources }
}

/// An instruction with what is left to read from the main register file.
#[inline(always)]
fn checked(a: u64, lookup: &Lookup, found: &Pending) -> Arrival {
    let missing = |k: usize| {
        let Source { valid, register, .. } = lookup.sources[k];
        let lanes = lookup.active & !found.lanes[k];
        (valid && lanes != 0).then_some((register, lanes))
    };
    Arrival { id: field(a, 8, 6), unit: field(a, 14, 2), sources: std::array::from_fn(missing) }
}

impl Circuit<3> for RegisterFile {
    #[inline(always)]
    fn cycle(&mut self, &[a, b, c]: &[u64; 3]) -> u64 {
        let RegisterFile { active, cache, collectors, registers, .. } = self;
        let free_collector = collectors.is_ready();
        let issue_ready = self.checked.is_none() || free_collector;
        let lookup = (issue_ready && active.happens(a, 0)).then(|| lookup(a, b));
        let units = if Event::OFTEN.happens(b, 20) { 0b11_1111 } else { field(b, 58, 6) };
        let to_cache = Event::OFTEN.happens(b, 44);
        let result_valid = active.happens(b, 28);
        let slot = field(b, 41, 3);
        let result = Offered {
            valid: result_valid && to_cache,
            slot,
            register: field(b, 36, 3) | slot << 3,
            lanes: lanes(b, 39, c),
            clean: false,
        };
        let fill_valid = active.happens(b, 53);
        let fill = Invalidate { slot: field(c, 8, 3), register: field(c, 0, 6), lanes: lanes(c, 6, b) };
        let (flush_starts, flush_slot) = (Event::RARELY.happens(c, 19), field(c, 27, 3));

        let found = lookup.as_ref().map(|lookup| cache.look_up(lookup)).unwrap_or_default();
        let target = cache.target(&result, &found, self.checked.is_some());
        let flush = cache.flush();
        let spill = cache.spill(&result, &target, flush);
        let spill = spill.filter(|spill| !collectors.is_blocked(spill.register));
        let free = [result.register, fill.register].map(|register| !collectors.is_blocked(register));

        let next = collectors.next();
        let arrival = self.checked.take_if(|_| free_collector);
        let arrives = arrival.is_some();
        let step = collectors.cycle(arrival, units);
        let leaving = step.leaving.as_ref();
        let reading = leaving.map(|leaving| cache.collected(leaving.collector)).unwrap_or_default();
        let spill = spill.filter(|_| reading.leaves_a_port());
        let evicted = spill.as_ref().is_some_and(|spill| spill.evicts);

        // Who writes the main register file: spills, then results, then fills.
        let spill_bank = spill.as_ref().map(|spill| spill.register % BANKS);
        let past_ready = free[0] && spill_bank != Some(result.register % BANKS);
        let past = result_valid && !to_cache && past_ready;
        let conflict = past && result.register % BANKS == fill.register % BANKS;
        let fill_ready = free[1] && spill_bank != Some(fill.register % BANKS) && !conflict;
        let fills = fill_valid && fill_ready;
        let cache_ready = target.is_ready(&result, evicted);
        let result_ready = if to_cache { cache_ready } else { past_ready };
        let busy = cache.flushing | u8::from(flush_starts) << flush_slot;
        let mut outputs = self.operands
            ^ u64::from(issue_ready)
            ^ u64::from(result_ready) << 18
            ^ u64::from(fill_ready) << 19
            ^ u64::from(busy) << 20;

        for (k, grant) in step.grants.iter().enumerate() {
            if let Some(grant) = grant {
                self.sums[grant.collector][k] = registers[grant.register].sum_of(grant.lanes);
            }
        }
        self.operands = 0;
        if let Some(leaving) = leaving {
            outputs ^= 1 << 1 | u64::from(leaving.id) << 2 | u64::from(leaving.unit) << 8;
            self.operands = 1 << 11 | u64::from(leaving.id) << 12;
            let collected = std::mem::take(&mut self.sums[leaving.collector]);
            for (k, cached) in cache.sums(&reading).into_iter().enumerate() {
                self.operands ^= collected[k].wrapping_add(cached).rotate_left(7 * k as u32);
            }
        }

        if let Some(spill) = &spill {
            registers[spill.register].write(spill.lanes, cache.value(spill));
        }
        if past {
            registers[result.register].write(result.lanes, &Row::repeated(a));
        }
        if fills {
            registers[fill.register].write(fill.lanes, &Row::repeated(c));
        }

        if arrives {
            cache.collect(next);
        }
        if let Some(leaving) = leaving {
            cache.dispatch(leaving.collector);
        }
        if let Some(lookup) = &lookup {
            self.checked = Some(checked(a, lookup, &found));
            cache.keep(lookup, found);
        }
        if past {
            let Offered { slot, register, lanes, .. } = result;
            cache.invalidate(&Invalidate { slot, register, lanes });
        }
        if fills && active.happens(c, 11) {
            cache.invalidate(&fill);
        }
        if target.is_written(&result, cache_ready) {
            cache.write(&result, &target, &Row::repeated(a));
        }
        cache.advance_flush(flush, spill.is_some() && !evicted);
        if flush_starts {
            cache.start_flush(flush_slot, Event::RARELY.happens(c, 30), flush);
        }
        outputs
    }
}

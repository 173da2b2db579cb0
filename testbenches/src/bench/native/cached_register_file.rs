//! Loop of the register file with a register file cache: 4 banks of 256 rows, 8 slots of 6 entries.
//!
//! An operand's lanes come from the main register file and from the cache, none from both, so that its sum is the sum
//! of both: what a collector keeps of an operand is its sum.

use super::cache::{Cache, Invalidate, Lookup, Offered, Pending, Source, Spill};
use super::collectors::{ALL_FREE, Arrival, BANKS, COLLECTORS, Collectors, Grant, REGISTERS, SOURCES, Step};
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
    /// For each collector what its operands from the main register file sum up to; the last is for reads that
    /// nothing comes of.
    sums: [[u64; SOURCES]; COLLECTORS + 1],
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
        sums: [[0; SOURCES]; COLLECTORS + 1],
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
        let lanes = lookup.active & !found.lanes()[k];
        (valid && lanes != 0).then_some((register, lanes))
    };
    Arrival { id: field(a, 8, 6), unit: field(a, 14, 2), sources: std::array::from_fn(missing) }
}

/// What a cycle's inputs say, but for the instruction.
struct Inputs {
    units: usize,
    /// A result for the cache, or what would be one.
    result: Offered,
    /// There is a result, for the cache or past it.
    result_valid: bool,
    to_cache: bool,
    fill: Invalidate,
    fill_valid: bool,
    flush_starts: bool,
    flush_slot: usize,
}

impl Inputs {
    #[inline(always)]
    fn new([b, c]: [u64; 2], active: Event) -> Inputs {
        let (result_valid, to_cache) = (active.happens(b, 28), Event::OFTEN.happens(b, 44));
        let slot = field(b, 41, 3);
        Inputs {
            units: if Event::OFTEN.happens(b, 20) { 0b11_1111 } else { field(b, 58, 6) },
            result: Offered {
                valid: result_valid && to_cache,
                slot,
                register: field(b, 36, 3) | slot << 3,
                lanes: lanes(b, 39, c),
                clean: false,
            },
            result_valid,
            to_cache,
            fill: Invalidate { slot: field(c, 8, 3), register: field(c, 0, 6), lanes: lanes(c, 6, b) },
            fill_valid: active.happens(b, 53),
            flush_starts: Event::RARELY.happens(c, 19),
            flush_slot: field(c, 27, 3),
        }
    }
}

/// Who writes the main register file: spills come first, then results that pass the cache by, then fills.
struct Writes {
    spill: Option<Spill>,
    past_ready: bool,
    past: bool,
    fill_ready: bool,
    fills: bool,
}

impl Writes {
    /// `free` says of the result's and the fill's register that no operand has still to be read.
    #[inline(always)]
    fn new(inputs: &Inputs, spill: Option<Spill>, free: [bool; 2]) -> Writes {
        let [result_bank, fill_bank] = [inputs.result.register % BANKS, inputs.fill.register % BANKS];
        let spill_bank = spill.as_ref().map(|spill| spill.register % BANKS);
        let past_ready = free[0] && spill_bank != Some(result_bank);
        let past = inputs.result_valid && !inputs.to_cache && past_ready;
        let fill_ready = free[1] && spill_bank != Some(fill_bank) && !(past && result_bank == fill_bank);
        Writes { spill, past_ready, past, fill_ready, fills: inputs.fill_valid && fill_ready }
    }
}

impl RegisterFile {
    /// Reads the main register file, and the cache for the instruction that leaves: what the signature takes in of
    /// its operands in the cycle to come.
    #[inline(always)]
    fn read(&mut self, step: &Step, reading: &Pending) -> u64 {
        if step.grants.iter().any(Option::is_some) {
            // Which there are is hard to foretell: all are read.
            for (k, grant) in step.grants.into_iter().enumerate() {
                let Grant { collector, register, lanes } = grant.unwrap_or(Grant::NONE);
                self.sums[collector][k] = self.registers[register].sum_of(lanes);
            }
        }
        let Some(leaving) = &step.leaving else { return 0 };
        let collected = std::mem::take(&mut self.sums[leaving.collector]);
        let mut operands = 1 << 11 | u64::from(leaving.id) << 12;
        for (k, cached) in self.cache.sums(reading).into_iter().enumerate() {
            operands ^= collected[k].wrapping_add(cached).rotate_left(7 * k as u32);
        }
        operands
    }

    /// Writes the main register file.
    #[inline(always)]
    fn write(&mut self, inputs: &Inputs, writes: &Writes, result: &Row, fill: &Row) {
        if let Some(spill) = &writes.spill {
            self.registers[spill.register].write(spill.lanes, self.cache.value(spill));
        }
        if writes.past {
            self.registers[inputs.result.register].write(inputs.result.lanes, result);
        }
        if writes.fills {
            self.registers[inputs.fill.register].write(inputs.fill.lanes, fill);
        }
    }
}

impl Circuit<3> for RegisterFile {
    #[inline(always)]
    fn cycle(&mut self, &[a, b, c]: &[u64; 3]) -> u64 {
        let RegisterFile { active, cache, collectors, .. } = self;
        let inputs = Inputs::new([b, c], *active);
        let Inputs { result, fill, .. } = &inputs;
        let collects = self.checked.is_some() && collectors.is_ready();
        let issue_ready = self.checked.is_none() || collects;
        let lookup = (issue_ready && active.happens(a, 0)).then(|| lookup(a, b));

        let found = lookup.as_ref().map(|lookup| cache.look_up(lookup)).unwrap_or_default();
        let target = cache.target(result, &found, self.checked.is_some());
        let flush = cache.flush();
        let spill = cache.spill(result, &target, flush);
        let spill = spill.filter(|spill| !collectors.is_blocked(spill.register));
        let free = [result.register, fill.register].map(|register| !collectors.is_blocked(register));

        let collector = collectors.next();
        let step = collectors.cycle(self.checked.take_if(|_| collects), inputs.units, ALL_FREE);
        let leaving = step.leaving.as_ref();
        let reading = leaving.map(|leaving| cache.collected(leaving.collector)).unwrap_or_default();
        let writes = Writes::new(&inputs, spill.filter(|_| reading.leaves_a_port()), free);
        let evicted = writes.spill.as_ref().is_some_and(|spill| spill.evicts);
        let cache_ready = target.is_ready(result, evicted);

        let result_ready = if inputs.to_cache { cache_ready } else { writes.past_ready };
        let busy = cache.flushing | u8::from(inputs.flush_starts) << inputs.flush_slot;
        let mut outputs = self.operands
            ^ u64::from(issue_ready)
            ^ u64::from(result_ready) << 18
            ^ u64::from(writes.fill_ready) << 19
            ^ u64::from(busy) << 20;
        if let Some(leaving) = leaving {
            outputs ^= 1 << 1 | u64::from(leaving.id) << 2 | u64::from(leaving.unit) << 8;
        }

        let [result_value, fill_value] = [Row::repeated(a), Row::repeated(c)];
        self.operands = self.read(&step, &reading);
        self.write(&inputs, &writes, &result_value, &fill_value);

        let cache = &mut self.cache;
        if collects {
            cache.collect(collector);
        }
        if let Some(leaving) = leaving {
            cache.dispatch(leaving.collector);
        }
        if let Some(lookup) = &lookup {
            self.checked = Some(checked(a, lookup, &found));
            cache.keep(lookup, found);
        }
        if writes.past {
            let Offered { slot, register, lanes, .. } = *result;
            cache.invalidate(&Invalidate { slot, register, lanes });
        }
        if writes.fills && self.active.happens(c, 11) {
            cache.invalidate(fill);
        }
        if target.is_written(result, cache_ready) {
            cache.write(result, &target, &result_value);
        }
        cache.advance_flush(flush, writes.spill.is_some() && !evicted);
        if inputs.flush_starts {
            cache.start_flush(inputs.flush_slot, Event::RARELY.happens(c, 30), flush);
        }
        outputs
    }
}

//! Loop of a bank of the operand staging unit.

use super::super::noise::{Circuit, Event, field, lanes, signature};
use super::super::row::Row;
use super::KEEP;
use super::bank::{Access, Bank, Inputs, Preload, Result};
use crate::bench::Activity;

struct Alone {
    active: Event,
    writes: Event,
    fills: Event,
    bank: Bank,
}

pub(in super::super) fn run(activity: Activity, cycles: u64) -> u64 {
    let alone = Alone {
        active: Event::active(activity),
        writes: Event::shared(activity, 4),
        fills: Event::shared(activity, 8),
        bank: Bank::NEW,
    };
    signature(alone, cycles)
}

impl Circuit<2> for Alone {
    #[inline(always)]
    fn cycle(&mut self, &[a, b]: &[u64; 2]) -> u64 {
        let access = Access { may_hold: Event::OFTEN.happens(a, 26), ..Access::drawn(a, self.active) };
        let preload = Preload {
            valid: self.active.happens(a, 34),
            kind: field(a, 42, 1) as u8,
            warp: field(a, 43, 1) as u8,
            register: field(a, 44, 4) as u8,
        };
        let (result, filled) = (Row::repeated(b), Row::repeated(a));
        let fate = if Event::RARELY.happens(b, 4) { (b >> 62) as u8 } else { KEEP };
        let result = Result { line: field(b, 0, 4), fate, lanes: lanes(b, 12, a), value: &result };
        let fill = self.fills.happens(b, 14).then_some((field(b, 22, 4), &filled));
        let inputs = Inputs {
            access,
            preload,
            result: self.writes.happens(a, 48).then_some(result),
            fill,
            drops: Event::RARELY.happens(b, 26).then(|| field(b, 34, 1) as u8),
            request_is_taken: Event::OFTEN.happens(b, 35),
        };
        let write_ready = inputs.fill.is_none();
        let bank = &mut self.bank;
        let request = &bank.request;
        let mut outputs = u64::from(request.line) << 26 | u64::from(request.invalidates) << 30;
        outputs |= u64::from(write_ready) << 9;
        if request.valid {
            outputs |= 1 << 10 | u64::from(request.kind) << 12 | u64::from(request.register) << 18;
        }
        if bank.is_busy() {
            outputs |= 1 << 11 | u64::from(request.warp) << 14;
        }
        let values = bank.value_sum() ^ request.sum.rotate_left(7);
        let done = bank.cycle(&inputs);
        outputs |= u64::from(done.access) | u64::from(done.line) << 1;
        outputs |= u64::from(done.preload) << 5 | u64::from(done.hit) << 6;
        outputs |= u64::from(done.unwritten) << 7 | u64::from(done.fetched) << 8;
        outputs |= u64::from(done.more) << 31 | u64::from(done.less) << 32 | u64::from(done.warp) << 33;
        outputs |= u64::from(done.written_less) << 37 | u64::from(done.listed) << 38;
        outputs |= u64::from(done.tags_used) << 43;
        outputs ^ values
    }
}

//! Loop of the operand staging unit: 8 banks, each with a queue of accesses and one of annotations.

use super::super::noise::{Circuit, Event, Field, lanes, signature};
use super::super::row::Row;
use super::access_queue::Queue;
use super::bank::{Access, Bank, Done, Inputs, Preload, Result};
use super::staging_unit_inputs::{FIELDS, FILL_DATA, RestFields, WORDS, bank_data, write_data};
use super::{BANKS, DROP, LINES, WRITES, above, choose, places};
use crate::bench::Activity;

/// The bit of the request that drops a warp, above those of the banks.
const DROPS: u16 = 1 << BANKS;

struct Unit {
    active: Event,
    banks: [BankWithQueues; BANKS],
    behind_last: u16,
    /// The request offered in the cycle before and not taken; 0 if there is none.
    kept: u16,
    /// The banks have dropped the lines of the warp that ends.
    dropped: bool,
}

struct BankWithQueues {
    bank: Bank,
    accesses: Queue,
    /// The place of the source read in the cycle before.
    place_read: u16,
    preloads: Preloads,
}

/// Annotations that wait; the oldest is the one at `popped`.
struct Preloads {
    waiting: [Preload; LINES],
    pushed: usize,
    popped: usize,
}

/// Where the outputs of a bank are in the words of the signature, in the order of the ports; and those of the rest.
const BANK_WIDTHS: [u32; 22] = [1, 1, 4, 1, 1, 9, 4, 1, 9, 1, 1, 4, 1, 1, 1, 1, 1, 4, 1, 4, 5, 1];
const BANK_PLACES: ([[u32; 22]; BANKS], u32) = {
    let (first, mut used) = places(BANK_WIDTHS, 0);
    let mut all = [first; BANKS];
    let mut bank = 1;
    while bank < BANKS {
        (all[bank], used) = places(BANK_WIDTHS, used);
        bank += 1;
    }
    (all, used)
};
const REST: [u32; WRITES + 8] = places([1, 1, 1, 1, 1, 2, 1, 4, 8, 4, 1], BANK_PLACES.1).0;

pub(in super::super) fn run(activity: Activity, cycles: u64) -> u64 {
    let bank = |_| BankWithQueues {
        bank: Bank::NEW,
        accesses: Queue::NEW,
        place_read: 0,
        preloads: Preloads { waiting: [Preload::default(); LINES], pushed: 0, popped: 0 },
    };
    let banks = std::array::from_fn(bank);
    let unit = Unit { active: Event::active(activity), banks, behind_last: 0, kept: 0, dropped: false };
    signature(unit, cycles)
}

/// A result that is offered.
struct Offered {
    bank: usize,
    warp: u8,
    register: u8,
    line: usize,
    fate: u8,
    lanes: u32,
    value: Row,
}

impl Offered {
    #[inline(always)]
    fn new(noise: &[u64; WORDS], write: usize) -> Offered {
        let fields = FIELDS.writes[write];
        let [lane_data, value_data] = write_data(write);
        let (warp, register) = (fields.warp.of(noise), fields.register.of(noise));
        Offered {
            bank: (warp + register) % BANKS,
            warp: warp as u8,
            register: register as u8,
            line: fields.line.of(noise),
            fate: fields.fate.of(noise) as u8,
            lanes: lanes(noise[fields.lanes.word], fields.lanes.low, noise[lane_data]),
            value: Row::repeated(noise[value_data]),
        }
    }
}

/// What is asked of memory in a cycle.
struct Asked {
    /// The request that is offered, one bit: of a bank, or [`DROPS`].
    granted: u16,
    /// What the signature takes in of it.
    outputs: u64,
}

impl Unit {
    /// Lets one request through. One that drops a warp and was offered before stays when the exit goes away, and names
    /// the warp `exit_warp` at the port all the same.
    #[inline(always)]
    fn ask(&mut self, exits: Option<u8>, exit_warp: u8, ready: bool) -> Asked {
        let mut asking = 0;
        let mut under_way = false;
        for (b, BankWithQueues { bank, .. }) in self.banks.iter().enumerate() {
            asking |= u16::from(bank.request.valid) << b;
            under_way |= bank.is_busy() && exits == Some(bank.request.warp);
        }
        if exits.is_some() && self.dropped && !under_way {
            asking |= DROPS;
        }
        let granted = choose(if self.kept != 0 { self.kept } else { asking }, self.behind_last);
        if ready && granted != 0 {
            self.behind_last = above(granted) & (2 * DROPS - 1);
        }
        self.kept = if ready { 0 } else { granted };
        let is_dropped = granted == DROPS && ready;
        self.dropped = exits.is_some() && !is_dropped;
        let mut outputs = u64::from(is_dropped) << REST[WRITES];
        if granted == DROPS {
            outputs ^= 1 << REST[WRITES + 1] ^ u64::from(DROP) << REST[WRITES + 2];
            outputs ^= u64::from(exit_warp) << REST[WRITES + 4];
        } else if granted != 0 {
            let request = &self.banks[granted.trailing_zeros() as usize].bank.request;
            outputs ^= 1 << REST[WRITES + 1] ^ u64::from(request.kind) << REST[WRITES + 2];
            outputs ^= u64::from(request.warp) << REST[WRITES + 4];
            outputs ^= u64::from(request.register) << REST[WRITES + 5];
            outputs ^= u64::from(request.line) << REST[WRITES + 6];
            outputs ^= u64::from(request.invalidates) << REST[WRITES + 7];
            outputs ^= request.sum.rotate_left(7 * BANKS as u32);
        }
        Asked { granted, outputs }
    }

    /// One cycle of bank `b`; what the signature takes in of its outputs.
    #[inline(always)]
    fn bank(&mut self, b: usize, noise: &[u64; WORDS], inputs: Inputs, result_warp: u8) -> u64 {
        let fields = &FIELDS.banks[b];
        let place = &BANK_PLACES.0[b];
        let bank = &mut self.banks[b];
        let happens = |event: Event, at: Field| event.happens(noise[at.word], at.low);
        let [lane_data, holders] = bank_data(b);
        let may_hold =
            if happens(Event::OFTEN, fields.may_hold) { u16::MAX } else { (noise[holders] >> 48) as u16 };
        let mut access = Access::default();
        let mut oldest_place = 0;
        if let Some((oldest, at)) = bank.accesses.oldest() {
            access = Access { may_hold: may_hold >> oldest.warp & 1 == 1, ..*oldest };
            oldest_place = at;
        }
        let (has_room, note_room) = (bank.accesses.has_room(), bank.preloads.has_room());
        let mut outputs = u64::from(has_room) << place[0] ^ u64::from(note_room) << place[9];
        if bank.bank.was_read() {
            outputs ^= 1 << place[7] ^ u64::from(bank.place_read) << place[8];
            outputs ^= bank.bank.value_sum().rotate_left(7 * b as u32);
        }
        let preload = bank.preloads.oldest();
        let done = bank.bank.cycle(&Inputs { access, preload, ..inputs });
        outputs ^= shown(&done, place, &access, oldest_place, result_warp);
        outputs ^= u64::from(preload.warp) << place[11];

        if done.access {
            if access.reads && access.lanes != 0 {
                bank.place_read = oldest_place;
            }
            bank.accesses.pop();
        }
        bank.preloads.popped += usize::from(done.preload);
        if happens(self.active, fields.access) && has_room {
            let access = Access {
                valid: true,
                reads: fields.reads.of(noise) == 1,
                reserves: fields.reserves.of(noise) == 1,
                warp: fields.warp.of(noise) as u8,
                register: fields.register.of(noise) as u8,
                fate: fields.fate.of(noise) as u8,
                lanes: lanes(noise[fields.lanes.word], fields.lanes.low, noise[lane_data]),
                written: happens(Event::OFTEN, fields.written),
                may_hold: false,
            };
            bank.accesses.push(access, fields.place.of(noise) as u16);
        }
        if happens(self.active, fields.note) && note_room {
            bank.preloads.push(Preload {
                valid: true,
                kind: fields.kind.of(noise) as u8,
                warp: fields.note_warp.of(noise) as u8,
                register: fields.note_register.of(noise) as u8,
            });
        }
        outputs
    }
}

/// What the signature takes in of what a bank does.
#[inline(always)]
fn shown(done: &Done, place: &[u32; 22], access: &Access, oldest_place: u16, result_warp: u8) -> u64 {
    let mut outputs = u64::from(done.preload && !done.fetched) << place[10]
        ^ u64::from(done.hit) << place[12]
        ^ u64::from(done.unwritten) << place[13]
        ^ u64::from(done.fetched) << place[14]
        ^ u64::from(done.more) << place[15]
        ^ u64::from(done.less) << place[16]
        ^ u64::from(done.warp) << place[17]
        ^ u64::from(done.listed) << place[20]
        ^ u64::from(done.tags_used) << place[21];
    if done.access {
        outputs ^= 1 << place[1] ^ u64::from(access.warp) << place[2];
        outputs ^= u64::from(access.reads) << place[3] ^ u64::from(access.reserves) << place[4];
        outputs ^= u64::from(oldest_place) << place[5] ^ u64::from(done.line) << place[6];
    }
    if done.written_less {
        outputs ^= 1 << place[18] ^ u64::from(result_warp) << place[19];
    }
    outputs
}

impl Preloads {
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.pushed - self.popped != LINES
    }

    /// The oldest one; if there is none, what is left in its place.
    #[inline(always)]
    fn oldest(&self) -> Preload {
        Preload { valid: self.pushed != self.popped, ..self.waiting[self.popped % LINES] }
    }

    #[inline(always)]
    fn push(&mut self, preload: Preload) {
        self.waiting[self.pushed % LINES] = preload;
        self.pushed += 1;
    }
}

impl Circuit<WORDS> for Unit {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let happens = |event: Event, at: Field| event.happens(noise[at.word], at.low);
        let RestFields { exit, exit_warp, request_ready, fill, fill_warp, fill_register, fill_line } =
            FIELDS.rest;
        let exit_warp = exit_warp.of(noise) as u8;
        let exits = happens(Event::RARELY, exit).then_some(exit_warp);
        let ready = happens(Event::OFTEN, request_ready);
        let Asked { granted, mut outputs } = self.ask(exits, exit_warp, ready);

        // For each bank the result that it is offered: that of the lowest port.
        let offered: [Offered; WRITES] = std::array::from_fn(|write| Offered::new(noise, write));
        let mut chosen = [None; BANKS];
        for (write, one) in offered.iter().enumerate().rev() {
            let fields = FIELDS.writes[write];
            let waits = happens(Event::RARELY, fields.blocked)
                || self.banks[one.bank].accesses.reads(one.warp, one.register);
            if happens(self.active, fields.valid) && !waits {
                chosen[one.bank] = Some(write);
            }
        }
        let filled_bank =
            happens(self.active, fill).then(|| (fill_warp.of(noise) + fill_register.of(noise)) % BANKS);
        let filled = Row::repeated(noise[FILL_DATA]);
        for (b, chosen) in chosen.into_iter().enumerate() {
            let result = chosen.map(|write| &offered[write]);
            let is_filled = filled_bank == Some(b);
            if let (Some(write), false) = (chosen, is_filled) {
                outputs ^= 1 << REST[write];
            }
            let inputs = Inputs {
                access: Access::default(),
                preload: Preload::default(),
                result: result.map(|one| Result {
                    line: one.line,
                    fate: one.fate,
                    lanes: one.lanes,
                    value: &one.value,
                }),
                fill: is_filled.then(|| (fill_line.of(noise), &filled)),
                drops: exits,
                request_is_taken: granted >> b & 1 == 1 && ready,
            };
            outputs ^= self.bank(b, noise, inputs, result.map_or(0, |one| one.warp));
        }
        outputs
    }
}

//! Loop of the capacity manager with the warps that it manages.

use super::super::noise::{Circuit, Event, Field, Fields, signature};
use super::line_ledger::Ledger;
use super::metadata_store::{NOTES, Note, Store, Word};
use super::warp_stack::Stack;
use super::{BANKS, WARPS, places};
use crate::bench::Activity;
use crate::bench::managed_warps::{ISSUES, LATENCY, MOST_USED};

/// Bits of a number of lines.
const COUNT_BITS: u32 = 5;

struct Warps {
    active: Event,
    manager: Manager,
    /// Warps whose last word was not the last of its region.
    within: u16,
    /// For each issue the warps whose results come in the cycles from now on.
    results: [[Option<u8>; LATENCY]; ISSUES],
    /// For each issue the warp of the access that is served.
    served: [Option<u8>; ISSUES],
    /// For each bank the warp of the annotation that is served.
    staged: [Option<u8>; BANKS],
}

/// A capacity manager; of warps one bit each.
struct Manager {
    store: Store,
    stack: Stack,
    ledgers: [Ledger; BANKS],
    stacked: u16,
    preloading: u16,
    active: u16,
    draining: u16,
    settled: u16,
    /// The warp whose annotations are sent.
    sending: Option<usize>,
    /// Annotations of the word that have gone to their banks.
    sent: u8,
    /// Of each warp the annotations and accesses that have not been served, and the results that are to come.
    notes: [u8; WARPS],
    accesses: [u8; WARPS],
    results: [u8; WARPS],
}

#[derive(Clone, Copy)]
struct NoteFields {
    valid: Field,
    kind: Field,
    register: Field,
}

#[derive(Clone, Copy)]
struct IssueFields {
    valid: Field,
    warp: Field,
    last: Field,
    writes: Field,
}

struct InputFields {
    metadata: Field,
    warp: Field,
    last: Field,
    usage: Field,
    notes: [NoteFields; NOTES],
    issues: [IssueFields; ISSUES],
    note_ready: Field,
    waiting: Field,
}

const FIELDS: InputFields = InputFields::new();
const WORDS: usize = FIELDS.waiting.word + 1;

impl NoteFields {
    const fn next(fields: &mut Fields) -> NoteFields {
        NoteFields { valid: fields.next(8), kind: fields.next(1), register: fields.next(8) }
    }
}

impl IssueFields {
    const fn next(fields: &mut Fields) -> IssueFields {
        IssueFields {
            valid: fields.next(8),
            warp: fields.next(4),
            last: fields.next(1),
            writes: fields.next(1),
        }
    }
}

impl InputFields {
    const fn new() -> InputFields {
        let mut fields = Fields::NONE;
        InputFields {
            metadata: fields.next(8),
            warp: fields.next(4),
            last: fields.next(8),
            usage: fields.next(BANKS as u32 * COUNT_BITS),
            notes: [
                NoteFields::next(&mut fields),
                NoteFields::next(&mut fields),
                NoteFields::next(&mut fields),
            ],
            issues: [IssueFields::next(&mut fields), IssueFields::next(&mut fields)],
            note_ready: fields.next(8),
            waiting: fields.next(8),
        }
    }
}

const FIRST: ([u32; 3], u32) = places([1, 16, 16], 0);
const BANK_PLACES: [[u32; 5]; BANKS] = {
    let (first, mut used) = places([1, 2, 4, 8, 16], FIRST.1);
    let mut all = [first; BANKS];
    let mut bank = 1;
    while bank < BANKS {
        (all[bank], used) = places([1, 2, 4, 8, 16], used);
        bank += 1;
    }
    all
};

/// An annotation that goes to a bank.
type Sent = [Option<Note>; BANKS];

pub(in super::super) fn run(activity: Activity, cycles: u64) -> u64 {
    let manager = Manager {
        store: Store::new(),
        stack: Stack::NEW,
        ledgers: [Ledger::NEW; BANKS],
        stacked: 0,
        preloading: 0,
        active: 0,
        draining: 0,
        settled: 0,
        sending: None,
        sent: 0,
        notes: [0; WARPS],
        accesses: [0; WARPS],
        results: [0; WARPS],
    };
    let warps = Warps {
        active: Event::active(activity),
        manager,
        within: 0,
        results: [[None; LATENCY]; ISSUES],
        served: [None; ISSUES],
        staged: [None; BANKS],
    };
    signature(warps, cycles)
}

/// Warps whose count is not 0.
#[inline(always)]
fn some(counts: &[u8; WARPS]) -> u16 {
    counts.iter().enumerate().fold(0, |bits, (warp, count)| bits | u16::from(*count != 0) << warp)
}

impl Manager {
    fn inactive(&self) -> u16 {
        !(self.preloading | self.active | self.draining)
    }

    /// Sends annotations to the banks. Gives them, and whether the last one of the region goes.
    #[inline(always)]
    fn send(&mut self, ready: u8) -> (Sent, bool) {
        let mut sent: Sent = [None; BANKS];
        let Some(warp) = self.sending else { return (sent, false) };
        let Some(word) = self.store.oldest(warp) else {
            self.sent = 0;
            return (sent, false);
        };
        let mut left = false;
        for (k, note) in word.notes.iter().enumerate().filter(|(_, note)| note.valid) {
            if self.sent >> k & 1 == 1 {
                continue;
            }
            let bank = (warp + usize::from(note.register)) % BANKS;
            let goes = sent[bank].is_none() && ready >> bank & 1 == 1;
            left |= !goes;
            if goes {
                self.notes[warp] += 1;
                self.sent |= 1 << k;
            }
            sent[bank].get_or_insert(*note);
        }
        let end = !left && word.last;
        if !left {
            self.store.pop(warp);
            self.sent = 0;
        }
        (sent, end)
    }

    /// Begins the region of the warp on top, if it fits and nothing is left to send. Gives its warp.
    #[inline(always)]
    fn begin(&mut self, top: Option<u8>) -> Option<usize> {
        let warp = usize::from(top?);
        let usage = self.store.usage(warp);
        let of_bank = |bank: usize| {
            (usage >> (COUNT_BITS as usize * (bank.wrapping_sub(warp) % BANKS)) & ((1 << COUNT_BITS) - 1))
                as u8
        };
        let fits = self.ledgers.iter().enumerate().all(|(b, ledger)| of_bank(b) <= ledger.left);
        if !fits || self.sending.is_some() {
            return None;
        }
        for (b, ledger) in self.ledgers.iter_mut().enumerate() {
            ledger.allow(warp, of_bank(b));
        }
        self.store.begin(warp);
        Some(warp)
    }
}

impl Warps {
    /// Instructions of active warps. Gives the warps whose region ends.
    #[inline(always)]
    fn issue(&mut self, noise: &[u64; WORDS]) -> u16 {
        let mut ended = 0;
        for (i, fields) in FIELDS.issues.iter().enumerate() {
            let warp = fields.warp.of(noise);
            let valid = self.active.happens(noise[fields.valid.word], fields.valid.low);
            let taken = valid && (self.manager.active & !ended) >> warp & 1 == 1;
            let ledger = &mut self.manager.ledgers[i];
            // What it may hold by what it holds before this cycle's results.
            let writes = taken && fields.writes.of(noise) == 1 && ledger.may_hold(warp);
            if let Some(result) = self.results[i][0] {
                ledger.written(usize::from(result));
                self.manager.results[usize::from(result)] -= 1;
            }
            if let Some(served) = self.served[i] {
                self.manager.accesses[usize::from(served)] -= 1;
            }
            if writes {
                ledger.hold(warp);
                self.manager.results[warp] += 1;
            }
            if taken {
                self.manager.accesses[warp] += 1;
                ended |= u16::from(fields.last.of(noise) == 1) << warp;
            }
            self.results[i].rotate_left(1);
            self.results[i][LATENCY - 1] = writes.then_some(warp as u8);
            self.served[i] = taken.then_some(warp as u8);
        }
        ended
    }

    /// Takes a word of metadata.
    #[inline(always)]
    fn decode(&mut self, noise: &[u64; WORDS], ready: bool) {
        if !ready || !self.active.happens(noise[FIELDS.metadata.word], FIELDS.metadata.low) {
            return;
        }
        let happens = |at: Field| Event::OFTEN.happens(noise[at.word], at.low);
        let note = |k: usize| {
            let NoteFields { valid, kind, register } = FIELDS.notes[k];
            Note { valid: happens(valid), kind: kind.of(noise) as u8, register: register.of(noise) as u8 }
        };
        let warp = FIELDS.warp.of(noise);
        let (first, last) = (self.within >> warp & 1 == 0, happens(FIELDS.last));
        let word = Word { first, last, notes: std::array::from_fn(note) };
        let mut most = 0;
        for bank in 0..BANKS {
            most |= (MOST_USED as u64) << (COUNT_BITS as usize * bank);
        }
        self.manager.store.push(warp, word, FIELDS.usage.of(noise) as u64 & most);
        self.within = (self.within & !(1 << warp)) | u16::from(!last) << warp;
    }
}

impl Circuit<WORDS> for Warps {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let happens = |event: Event, at: Field| event.happens(noise[at.word], at.low);
        let manager = &mut self.manager;
        let metadata_ready = {
            let warp = FIELDS.warp.of(noise);
            manager.store.is_ready(warp, self.within >> warp & 1 == 0)
        };
        let inactive = manager.inactive();
        let mut outputs = u64::from(metadata_ready)
            ^ u64::from(manager.active) << FIRST.0[1]
            ^ u64::from(inactive) << FIRST.0[2];
        for (ledger, place) in manager.ledgers.iter().zip(&BANK_PLACES) {
            outputs ^= u64::from(ledger.holders()) << place[4];
        }

        let waiting =
            if happens(Event::RARELY, FIELDS.waiting) { (noise[WAITING_DATA] >> 48) as u16 } else { 0 };
        let can_go_on = inactive & !manager.stacked & manager.store.waits & !waiting;
        let pushed = can_go_on & can_go_on.wrapping_neg();

        let note_ready =
            if happens(Event::OFTEN, FIELDS.note_ready) { u8::MAX } else { (noise[READY_DATA] >> 56) as u8 };
        let pushed_warp = (pushed != 0).then(|| pushed.trailing_zeros() as u8);
        let begun = manager.begin(pushed_warp.or(manager.stack.top()));
        manager.stack.change(begun.is_some(), pushed_warp);
        manager.sending = manager.sending.or(begun);
        let note_warp = manager.sending;
        let (sent, notes_end) = manager.send(note_ready);
        if notes_end {
            manager.sending = None;
        }
        for (b, note) in sent.iter().enumerate() {
            if let Some(staged) = self.staged[b].take() {
                manager.notes[usize::from(staged)] -= 1;
            }
            if let (Some(note), Some(warp)) = (note, note_warp) {
                let place = &BANK_PLACES[b];
                outputs ^= 1 << place[0]
                    ^ u64::from(note.kind) << place[1]
                    ^ (warp as u64) << place[2]
                    ^ u64::from(note.register) << place[3];
                self.staged[b] = (note_ready >> b & 1 == 1).then_some(warp as u8);
            }
        }
        let last = self.issue(noise);
        let manager = &mut self.manager;
        // What is left at the end of the cycle.
        let (unserved, accesses, results) =
            (some(&manager.notes), some(&manager.accesses), some(&manager.results));
        let unsent = manager.sending.map_or(0, |warp| 1 << warp);
        let begun = begun.map_or(0, |warp| 1 << warp);
        let ready = (manager.preloading | begun) & !unserved & !unsent;
        let can_settle = manager.draining & !manager.settled & !accesses;
        let settles = can_settle & can_settle.wrapping_neg();
        let drained = (manager.settled | settles) & !results;
        if settles != 0 {
            let warp = settles.trailing_zeros() as usize;
            manager.ledgers.iter_mut().for_each(|ledger| ledger.settle(warp));
        }
        manager.stacked = (manager.stacked | pushed) & !begun;
        manager.preloading = (manager.preloading | begun) & !ready;
        manager.active = (manager.active | ready) & !last;
        manager.draining = (manager.draining | last) & !drained;
        manager.settled = (manager.settled | settles) & !drained;
        self.decode(noise, metadata_ready);
        outputs
    }
}

/// Words that the banks that take annotations, and the warps that wait, come from.
const READY_DATA: usize = 0;
const WAITING_DATA: usize = 1 % WORDS;

//! Loop of the metadata store: 16 words for each warp.

use super::super::noise::{Circuit, Event, field, signature};
use super::WARPS;
use crate::bench::Activity;

/// Words of a warp.
const WORDS: usize = 16;
/// Annotations of a word.
pub(super) const NOTES: usize = 3;

/// A word of metadata.
#[derive(Clone, Copy, Default)]
pub(super) struct Word {
    pub first: bool,
    pub last: bool,
    pub notes: [Note; NOTES],
}

#[derive(Clone, Copy, Default)]
pub(super) struct Note {
    pub valid: bool,
    pub kind: u8,
    pub register: u8,
}

pub(super) struct Store {
    words: Box<[[Word; WORDS]; WARPS]>,
    /// Words that have come, and that have left, since the start.
    pushed: [usize; WARPS],
    popped: [usize; WARPS],
    /// Lines of each bank, side by side in one word.
    usage: [u64; WARPS],
    /// Warps with a region that waits to be begun.
    pub waits: u16,
}

impl Store {
    pub fn new() -> Store {
        Store {
            words: Box::new([[Word::default(); WORDS]; WARPS]),
            pushed: [0; WARPS],
            popped: [0; WARPS],
            usage: [0; WARPS],
            waits: 0,
        }
    }

    #[inline(always)]
    pub fn is_ready(&self, warp: usize, first: bool) -> bool {
        let another_waits = first && self.waits >> warp & 1 == 1;
        self.pushed[warp] - self.popped[warp] != WORDS && !another_waits
    }

    #[inline(always)]
    pub fn usage(&self, warp: usize) -> u64 {
        self.usage[warp]
    }

    /// The oldest word of a warp, if there is one.
    #[inline(always)]
    pub fn oldest(&self, warp: usize) -> Option<&Word> {
        let word = &self.words[warp][self.popped[warp] % WORDS];
        (self.pushed[warp] != self.popped[warp]).then_some(word)
    }

    #[inline(always)]
    pub fn pop(&mut self, warp: usize) {
        self.popped[warp] += 1;
    }

    #[inline(always)]
    pub fn begin(&mut self, warp: usize) {
        self.waits &= !(1 << warp);
    }

    /// Takes a word that it is ready for.
    #[inline(always)]
    pub fn push(&mut self, warp: usize, word: Word, usage: u64) {
        self.words[warp][self.pushed[warp] % WORDS] = word;
        self.pushed[warp] += 1;
        if word.first {
            self.usage[warp] = usage;
            self.waits |= 1 << warp;
        }
    }
}

struct Alone {
    active: Event,
    store: Store,
}

pub(in super::super) fn run(activity: Activity, cycles: u64) -> u64 {
    signature(Alone { active: Event::active(activity), store: Store::new() }, cycles)
}

impl Circuit<3> for Alone {
    #[inline(always)]
    fn cycle(&mut self, &[a, b, c]: &[u64; 3]) -> u64 {
        let store = &mut self.store;
        let note = |word, low| Note {
            valid: Event::OFTEN.happens(word, low),
            kind: field(word, low + 8, 2) as u8,
            register: field(word, low + 10, 8) as u8,
        };
        let word = Word {
            first: Event::OFTEN.happens(a, 12),
            last: Event::OFTEN.happens(a, 20),
            notes: [note(b, 40), note(c, 0), note(c, 18)],
        };
        let warp = field(a, 8, 4);
        let ready = store.is_ready(warp, word.first);
        let begins = field(c, 36, 4);
        let mut outputs = u64::from(ready) | u64::from(store.waits) << 1 | store.usage(begins) << 17;
        let reader = field(c, 48, 4);
        let mut leaves = false;
        if let Some(oldest) = store.oldest(reader) {
            outputs ^= 1 << 57 | u64::from(oldest.last) << 58;
            for (note, [valid, kind, register]) in
                oldest.notes.iter().zip([[59, 60, 0], [8, 9, 11], [19, 20, 22]])
            {
                outputs ^= u64::from(note.valid) << valid
                    ^ u64::from(note.kind) << kind
                    ^ u64::from(note.register) << register;
            }
            leaves = Event::OFTEN.happens(c, 52);
        }
        if leaves {
            store.pop(reader);
        }
        if self.active.happens(c, 40) {
            store.begin(begins);
        }
        if self.active.happens(a, 0) && ready {
            store.push(warp, word, field(b, 0, 40) as u64);
        }
        outputs
    }
}

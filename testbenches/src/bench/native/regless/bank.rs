//! A bank of the operand staging unit.
//!
//! Which line is on which list is a bit of a 16-bit word, so that a cycle moves lines with a few operations on words.

use super::super::noise::{Event, field, lanes};
use super::super::row::Row;
use super::{
    ERASE, EVICT, FETCH, INVALIDATE, INVALIDATION, KEEP, LINES, PRELOAD, WARPS, WRITE, above, choose, index,
};

/// A bank; of its registers there are 32 a warp.
pub(super) struct Bank {
    /// Warp and register of each line, the register in the lower byte.
    tags: [u16; LINES],
    values: [Row; LINES],
    free: u16,
    clean: u16,
    dirty: u16,
    held: u16,
    changed: u16,
    unwritten: u16,
    behind_last: u16,
    /// For each warp the registers of which memory has a copy.
    backed: [u32; WARPS],
    /// The access has been looked up in vain.
    missed: bool,
    /// What the last read gives.
    captured: Row,
    /// What that counts as: 0 of a line to which nothing was written.
    captured_sum: u64,
    was_read: bool,
    pub request: Request,
}

/// What is asked of memory.
pub(super) struct Request {
    pub valid: bool,
    /// The value of the evicted line is being read.
    evicting: bool,
    pub kind: u8,
    pub warp: u8,
    pub register: u8,
    pub line: u8,
    pub invalidates: bool,
    /// Sum of the value written.
    pub sum: u64,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Access {
    pub valid: bool,
    pub reads: bool,
    pub reserves: bool,
    pub warp: u8,
    pub register: u8,
    pub fate: u8,
    pub lanes: u32,
    pub written: bool,
    pub may_hold: bool,
}

impl Access {
    /// Drawn from bits 0 to 25 of a word of noise, as the inputs of a bank and of its queue begin; the warps may not hold.
    #[inline(always)]
    pub fn drawn(noise: u64, active: Event) -> Access {
        Access {
            valid: active.happens(noise, 0),
            reads: field(noise, 8, 1) == 1,
            reserves: field(noise, 9, 1) == 1,
            warp: field(noise, 10, 1) as u8,
            register: field(noise, 11, 4) as u8,
            fate: field(noise, 15, 1) as u8,
            lanes: lanes(noise, 16, noise),
            written: Event::OFTEN.happens(noise, 18),
            may_hold: false,
        }
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Preload {
    pub valid: bool,
    pub kind: u8,
    pub warp: u8,
    pub register: u8,
}

pub(super) struct Result<'a> {
    pub line: usize,
    pub fate: u8,
    pub lanes: u32,
    pub value: &'a Row,
}

pub(super) struct Inputs<'a> {
    pub access: Access,
    pub preload: Preload,
    pub result: Option<Result<'a>>,
    /// A line that comes, and its value.
    pub fill: Option<(usize, &'a Row)>,
    /// A warp that ends.
    pub drops: Option<u8>,
    pub request_is_taken: bool,
}

/// What a cycle does.
#[derive(Default)]
pub(super) struct Done {
    pub access: bool,
    pub line: u8,
    pub preload: bool,
    pub hit: bool,
    pub unwritten: bool,
    pub fetched: bool,
    pub more: bool,
    pub less: bool,
    /// The warp of what looked at the tags.
    pub warp: u8,
    pub tags_used: bool,
    pub written_less: bool,
    /// Lines that no region holds.
    pub listed: u8,
}

/// Lines that a cycle moves, one bit each.
#[derive(Default)]
struct Moves {
    allocated: u16,
    evicted: u16,
    staged: u16,
    invalidated: u16,
    released: u16,
    erased: u16,
    /// Memory loses its copy.
    loses_copy: bool,
    tag: u16,
}

impl Bank {
    pub const NEW: Bank = Bank {
        tags: [0; LINES],
        values: [Row::ZERO; LINES],
        free: u16::MAX,
        clean: 0,
        dirty: 0,
        held: 0,
        changed: 0,
        unwritten: 0,
        behind_last: 0,
        backed: [0; WARPS],
        missed: false,
        captured: Row::ZERO,
        captured_sum: 0,
        was_read: false,
        request: Request {
            valid: false,
            evicting: false,
            kind: 0,
            warp: 0,
            register: 0,
            line: 0,
            invalidates: false,
            sum: 0,
        },
    };

    /// Sum of the value that is out.
    #[inline(always)]
    pub fn value_sum(&self) -> u64 {
        self.captured_sum
    }

    /// A request is offered, or about to be.
    #[inline(always)]
    pub fn is_busy(&self) -> bool {
        self.request.valid || self.request.evicting
    }

    /// A source was read in the cycle before.
    #[inline(always)]
    pub fn was_read(&self) -> bool {
        self.was_read
    }

    #[inline(always)]
    fn lines_of(&self, tag: u16) -> u16 {
        let bit = |(line, other): (usize, &u16)| u16::from(*other == tag) << line;
        self.tags.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit) & !self.free
    }

    #[inline(always)]
    pub fn cycle(&mut self, inputs: &Inputs) -> Done {
        let request_free = !self.request.valid && !self.request.evicting;
        let port_free = inputs.result.is_none() && inputs.fill.is_none();
        let Inputs { access, preload, .. } = inputs;
        let line_is_left = self.free | self.clean != 0 || (request_free && port_free);
        let waits_for_line = self.missed && !(access.may_hold && line_is_left);
        let reads_value = access.reads && access.lanes != 0;
        let by_access = access.valid && (port_free || !reads_value) && !waits_for_line;
        let by_preload = preload.valid && !by_access;
        let mut done = Done {
            warp: if by_access { access.warp } else { preload.warp },
            tags_used: by_access || by_preload,
            listed: (!self.held).count_ones() as u8,
            ..Done::default()
        };
        let mut moves = Moves::default();
        let mut reads = None;
        let mut asks = None;
        if by_access {
            moves = self.serve_access(access, request_free && port_free, &mut done);
            self.missed = !done.access;
            if done.access && reads_value {
                reads = Some(self.lines_of(moves.tag));
            }
        } else if by_preload {
            (moves, asks) = self.serve_preload(preload, (request_free, port_free), &mut done);
        }
        self.ask(inputs, asks, &moves);
        self.was_read = reads.is_some();
        let taken_out = if moves.evicted != 0 {
            Some((moves.evicted, u32::MAX))
        } else {
            reads.map(|line| (line, access.lanes))
        };
        if let Some((line, lanes)) = taken_out {
            self.captured.capture(lanes, &self.values[index(line)]);
            self.captured_sum = if line & self.unwritten == 0 { self.captured.sum() } else { 0 };
        }
        done.written_less = self.store(inputs);
        self.move_lines(inputs, &moves, done.fetched);
        done
    }

    /// Takes a line for a register that has none; else evicts one, if it can.
    #[inline(always)]
    fn take(&mut self, can_evict: bool, moves: &mut Moves) -> bool {
        let unchanged = if self.free != 0 { self.free } else { self.clean };
        if unchanged != 0 {
            moves.allocated = choose(unchanged, self.behind_last);
            self.behind_last = above(moves.allocated);
        } else if can_evict {
            moves.evicted = choose(self.dirty, self.behind_last);
            self.behind_last = above(moves.evicted);
        }
        unchanged != 0
    }

    #[inline(always)]
    fn serve_access(&mut self, access: &Access, can_evict: bool, done: &mut Done) -> Moves {
        let tag = u16::from(access.warp) << 8 | u16::from(access.register);
        let hits = self.lines_of(tag);
        let held_hit = hits & self.held != 0;
        let vanishes = !access.written && access.fate != KEEP;
        let mut moves = Moves { tag, ..Moves::default() };
        if access.reserves && !held_hit && !vanishes {
            if !access.may_hold {
                return moves;
            }
            if hits != 0 {
                moves.staged = hits;
            } else if !self.take(can_evict, &mut moves) {
                return moves;
            }
            done.more = true;
        } else if held_hit && !(access.reserves && access.written) {
            match access.fate {
                EVICT => moves.released = hits,
                ERASE => moves.erased = hits,
                _ => {}
            }
            done.less = moves.released | moves.erased != 0;
        }
        done.access = true;
        done.line = index(hits | moves.allocated) as u8;
        moves
    }

    /// Serves an annotation; says what is asked of memory for it.
    #[inline(always)]
    fn serve_preload(
        &mut self,
        preload: &Preload,
        (request_free, port_free): (bool, bool),
        done: &mut Done,
    ) -> (Moves, Option<Preload>) {
        let tag = u16::from(preload.warp) << 8 | u16::from(preload.register);
        let hits = self.lines_of(tag);
        let backed = self.backed[usize::from(preload.warp)] >> (preload.register >> 3) & 1 == 1;
        let invalidates = preload.kind != PRELOAD;
        let mut asks = backed && (invalidates || hits == 0);
        let mut moves = Moves { tag, ..Moves::default() };
        if preload.kind == INVALIDATION {
            done.preload = !asks || request_free;
            if done.preload {
                moves.invalidated = hits;
            }
        } else if hits != 0 {
            done.preload = !asks || request_free;
            if done.preload {
                moves.staged = hits;
            }
        } else if self.free | self.clean == 0 {
            self.take(request_free && port_free, &mut moves);
        } else if !asks || request_free {
            done.preload = self.take(false, &mut moves);
        }
        asks &= done.preload;
        let stages = done.preload && preload.kind != INVALIDATION;
        done.hit = stages && hits != 0;
        done.unwritten = stages && hits == 0 && !backed;
        done.fetched = stages && hits == 0 && backed;
        done.more = stages;
        moves.loses_copy = asks && invalidates;
        (moves, asks.then_some(*preload))
    }

    /// The request to memory, and of what memory has a copy.
    #[inline(always)]
    fn ask(&mut self, inputs: &Inputs, asks: Option<Preload>, moves: &Moves) {
        let request = &mut self.request;
        if request.evicting {
            request.sum = self.captured_sum;
        }
        request.valid = asks.is_some() || request.evicting || (request.valid && !inputs.request_is_taken);
        request.evicting = moves.evicted != 0;
        if let Some(Preload { kind, warp, register, .. }) = asks {
            let fetches = moves.allocated != 0;
            request.kind = if fetches { FETCH } else { INVALIDATE };
            (request.warp, request.register) = (warp, register);
            request.line = index(moves.allocated) as u8;
            request.invalidates = kind != PRELOAD;
            if kind != PRELOAD {
                self.backed[usize::from(warp)] &= !(1 << (register >> 3));
            }
        }
        if request.evicting {
            let [register, warp] = self.tags[index(moves.evicted)].to_le_bytes();
            request.kind = WRITE;
            (request.warp, request.register) = (warp, register);
            self.backed[usize::from(warp)] |= 1 << (register >> 3);
        }
        if let Some(warp) = inputs.drops {
            self.backed[usize::from(warp)] = 0;
        }
    }

    /// Writes a line or a result. Gives whether a region ceases to hold the result's line.
    #[inline(always)]
    fn store(&mut self, inputs: &Inputs) -> bool {
        if let Some((line, value)) = inputs.fill {
            self.values[line] = *value;
            return false;
        }
        let Some(result) = &inputs.result else { return false };
        if self.unwritten >> result.line & 1 == 1 {
            self.values[result.line] = Row::ZERO;
        }
        self.values[result.line].write(result.lanes, result.value);
        result.fate != KEEP
    }

    #[inline(always)]
    fn move_lines(&mut self, inputs: &Inputs, moves: &Moves, fetched: bool) {
        let Moves { allocated, evicted, staged, invalidated, released, erased, loses_copy, tag } = *moves;
        let (mut written, mut written_last, mut written_dead, mut filled) = (0, 0, 0, 0);
        if let Some((line, _)) = inputs.fill {
            filled = 1 << line;
        } else if let Some(result) = &inputs.result {
            written = 1 << result.line;
            match result.fate {
                EVICT => written_last = written,
                ERASE => written_dead = written,
                _ => {}
            }
        }
        let mut dropped = 0;
        if let Some(warp) = inputs.drops {
            let bit = |(line, tag): (usize, &u16)| u16::from(tag >> 8 == u16::from(warp)) << line;
            let of_warp = self.tags.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit);
            dropped = of_warp & !self.free & !allocated;
        }
        let emptied = invalidated | evicted | erased | written_dead | dropped;
        let changed = self.changed | written;
        let begins = allocated | staged;
        let lost = if loses_copy { begins } else { 0 };
        self.changed = (changed & !begins) | (staged & self.dirty) | lost;
        self.free = (self.free & !allocated) | emptied;
        self.clean = (self.clean & !begins & !emptied) | (released & !changed);
        self.dirty = (self.dirty & !staged & !emptied) | (released & changed) | written_last;
        self.held = (self.held & !emptied & !(released | written_last)) | begins;
        let fetching = if fetched { allocated } else { 0 };
        self.unwritten = (self.unwritten | allocated) & !fetching & !written & !filled;
        if allocated != 0 {
            self.tags[index(allocated)] = tag;
        }
    }
}

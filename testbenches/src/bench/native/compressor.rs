//! Loop of the compressor: 16 warps of 256 registers, 12 lines of 15 slots, a queue of 4.

use std::collections::VecDeque;

use super::noise::{Circuit, Event, field, signature};
use super::patterns::{matched, sum_of_expanded};
use super::row::Row;
use crate::bench::Activity;

const WARPS: usize = 16;
const REGISTERS: usize = 256;
const LINES: usize = 12;
const SLOTS: usize = 15;
const QUEUE: usize = 4;
/// Compressed lines, here or in memory.
const NUMBERS: usize = (WARPS * REGISTERS).div_ceil(SLOTS);
/// The row of a line that is not here.
const NOWHERE: u8 = LINES as u8;
/// Bits of the patterns of a line.
const PATTERNS: u64 = (1 << (3 * SLOTS)) - 1;
/// Kind of a request; the stimulus has no other than this and 0, a fetch.
const WRITE: u64 = 1;

struct Compressor {
    active: Event,
    held: Held,
    /// The held request has been offered to memory and not taken.
    repeats: bool,
    /// Registers in short form.
    short: Box<[[bool; REGISTERS]; WARPS]>,
    queue: VecDeque<Operation>,
    lines: Lines,
    /// A line is on its way to memory.
    writes_back: bool,
    number_written: usize,
    /// A line is on its way from memory.
    filling: bool,
    head_was_fetched: bool,
    reply: Option<Reply>,
}

/// The request that is looked at.
#[derive(Clone, Copy, Default)]
struct Held {
    valid: bool,
    request: Request,
    /// Of the value of the last write: its sum, pattern and short form.
    sum: u64,
    pattern: u64,
    bases: u64,
}

#[derive(Clone, Copy, Default)]
struct Request {
    kind: u64,
    warp: usize,
    register: usize,
    line: u64,
    invalidates: bool,
}

#[derive(Clone, Copy)]
struct Operation {
    writes: bool,
    request: Request,
    number: usize,
    slot: usize,
    pattern: u64,
    bases: u64,
}

/// A register that was read: the outputs that say which, and the sum of its value.
#[derive(Clone, Copy)]
struct Reply {
    which: u64,
    sum: u64,
}

struct Lines {
    /// 15 short forms, then the patterns.
    rows: [[u64; SLOTS + 1]; LINES],
    number_of: [usize; LINES],
    row_of: [u8; NUMBERS],
    backed: [bool; NUMBERS],
    /// Rows without a line, and those that memory does not have as they are, one bit each.
    free: u32,
    dirty: u32,
    /// When a row was used last.
    used: [u64; LINES],
    now: u64,
    /// What the last reads show: of one slot they capture that slot.
    shown: [u64; SLOTS + 1],
}

/// What the operation at the head of the queue does in a cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Waits,
    Reads,
    Writes,
    /// The line in the way is read, to be written back.
    Evicts,
    /// A line begins with nothing else in it.
    Starts,
    Fetches,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let lines = Lines {
        rows: [[0; SLOTS + 1]; LINES],
        number_of: [0; LINES],
        row_of: [NOWHERE; NUMBERS],
        backed: [false; NUMBERS],
        free: (1 << LINES) - 1,
        dirty: 0,
        used: [0; LINES],
        now: 0,
        shown: [0; SLOTS + 1],
    };
    let compressor = Compressor {
        active: Event::active(activity),
        held: Held::default(),
        repeats: false,
        short: Box::new([[false; REGISTERS]; WARPS]),
        queue: VecDeque::with_capacity(QUEUE),
        lines,
        writes_back: false,
        number_written: 0,
        filling: false,
        head_was_fetched: false,
        reply: None,
    };
    signature(compressor, cycles)
}

impl Lines {
    /// The row of a line; if it is not here, the one that makes room.
    #[inline(always)]
    fn row(&self, number: usize) -> (bool, usize) {
        let row = self.row_of[number];
        if row != NOWHERE {
            return (true, usize::from(row));
        }
        if self.free != 0 {
            return (false, self.free.trailing_zeros() as usize);
        }
        let oldest =
            (1..LINES).fold(0, |best, row| if self.used[row] < self.used[best] { row } else { best });
        (false, oldest)
    }

    #[inline(always)]
    fn release(&mut self, row: usize) {
        if self.free >> row & 1 == 0 {
            self.row_of[self.number_of[row]] = NOWHERE;
        }
        self.free |= 1 << row;
        self.dirty &= !(1 << row);
    }

    #[inline(always)]
    fn hold(&mut self, row: usize, number: usize, line: [u64; SLOTS + 1]) {
        self.release(row);
        self.free &= !(1 << row);
        self.number_of[row] = number;
        self.row_of[number] = row as u8;
        self.rows[row] = line;
    }

    #[inline(always)]
    fn read_slot(&mut self, row: usize, slot: usize) {
        let (line, pattern) = (&self.rows[row], 7 << (3 * slot));
        self.shown[slot] = line[slot];
        self.shown[SLOTS] = self.shown[SLOTS] & !pattern | line[SLOTS] & pattern;
    }

    #[inline(always)]
    fn read_line(&mut self, row: usize) {
        self.shown = self.rows[row];
    }

    #[inline(always)]
    fn shown_sum(&self) -> u64 {
        self.shown.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }

    #[inline(always)]
    fn write(&mut self, row: usize, operation: &Operation) {
        let line = &mut self.rows[row];
        line[operation.slot] = operation.bases;
        line[SLOTS] &= !(7 << (3 * operation.slot));
        line[SLOTS] |= operation.pattern << (3 * operation.slot);
        self.dirty |= 1 << row;
    }

    #[inline(always)]
    fn touch(&mut self, row: usize) {
        self.now += 1;
        self.used[row] = self.now;
    }
}

impl Request {
    #[inline(always)]
    fn new(noise: u64) -> Request {
        Request {
            kind: field(noise, 8, 1) as u64,
            warp: field(noise, 9, 4),
            register: field(noise, 13, 4),
            line: field(noise, 17, 4) as u64,
            invalidates: Event::RARELY.happens(noise, 21),
        }
    }

    /// Warp, register and line as outputs side by side.
    #[inline(always)]
    fn which(&self) -> u64 {
        self.warp as u64 | (self.register as u64) << 4 | self.line << 12
    }
}

impl Compressor {
    /// What the head of the queue does, and its row.
    #[inline(always)]
    fn step(&self, reader_is_free: bool) -> (Step, usize) {
        let Some(head) = self.queue.front() else { return (Step::Waits, 0) };
        let (hit, row) = self.lines.row(head.number);
        let step = if hit {
            match (head.writes, reader_is_free) {
                (true, _) => Step::Writes,
                (false, true) => Step::Reads,
                (false, false) => Step::Waits,
            }
        } else if self.writes_back || self.filling {
            Step::Waits
        } else if self.lines.dirty >> row & 1 != 0 {
            if reader_is_free { Step::Evicts } else { Step::Waits }
        } else if self.lines.backed[head.number] {
            Step::Fetches
        } else {
            Step::Starts
        };
        (step, row)
    }

    /// Whether the held request is for a compressed register.
    #[inline(always)]
    fn is_short(&self) -> bool {
        match self.held.request.kind {
            WRITE => self.held.pattern != 0,
            _ => self.short[self.held.request.warp][self.held.request.register],
        }
    }

    /// The head does its step; `comes` is the line that arrives from memory.
    #[inline(always)]
    fn advance(&mut self, step: Step, row: usize, comes: Option<u64>) {
        let mut leaves = false;
        if let Some(head) = self.queue.front() {
            match step {
                Step::Waits | Step::Fetches => {}
                Step::Reads => {
                    self.lines.read_slot(row, head.slot);
                    let line = &self.lines.rows[row];
                    let pattern = line[SLOTS] >> (3 * head.slot) & 7;
                    let sum = sum_of_expanded(pattern, line[head.slot]);
                    self.reply = Some(Reply { which: head.request.which(), sum });
                    leaves = true;
                }
                Step::Writes => {
                    self.lines.write(row, head);
                    leaves = true;
                }
                Step::Evicts => {
                    self.lines.read_line(row);
                    self.number_written = self.lines.number_of[row];
                    self.lines.backed[self.number_written] = true;
                    self.lines.release(row);
                    self.writes_back = true;
                }
                Step::Starts => {
                    self.lines.hold(row, head.number, [0; SLOTS + 1]);
                    self.lines.dirty |= 1 << row;
                    if head.writes {
                        self.lines.write(row, head);
                        leaves = true;
                    }
                }
            }
            if let Some(word) = comes {
                let mut line = [word; SLOTS + 1];
                line[SLOTS] &= PATTERNS;
                self.lines.hold(row, head.number, line);
                self.filling = false;
                self.head_was_fetched = true;
            }
        }
        if leaves {
            self.lines.touch(row);
            self.queue.pop_front();
            self.head_was_fetched = false;
        }
    }

    /// What the signature takes in of a request to memory.
    #[inline(always)]
    fn request(&self, of_lines: bool, of_held: bool) -> u64 {
        let Held { request, sum, .. } = self.held;
        let number =
            if self.writes_back { self.number_written } else { self.queue.front().map_or(0, |h| h.number) };
        let which = match (of_lines, of_held) {
            (true, _) => u64::from(self.writes_back) | 1 << 2 | (number as u64) << 3,
            (false, true) => request.kind | request.which() << 3 | u64::from(request.invalidates) << 19,
            (false, false) => return sum.rotate_left(7),
        };
        let value = if of_lines { self.lines.shown_sum() } else { sum };
        (1 | which << 1) << 18 ^ value.rotate_left(7)
    }
}

impl Circuit<1> for Compressor {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        let fill = self.active.happens(noise, 37);
        let of_lines_fill = field(noise, 45, 1) == 1;
        let passes = fill && !of_lines_fill;
        let comes = (fill && of_lines_fill && self.filling).then_some(noise);
        let reader_is_free = self.reply.is_none() || !passes;
        let (step, row) = self.step(reader_is_free);

        let is_short = self.is_short();
        let of_lines = (self.writes_back || step == Step::Fetches) && !self.repeats;
        let of_held = self.held.valid && !is_short && !of_lines;
        let memory_ready = Event::OFTEN.happens(noise, 29);
        let enqueues = self.held.valid && is_short && self.queue.len() < QUEUE;
        let leaves = enqueues || (of_held && memory_ready);
        let ready = !self.held.valid || leaves;

        let mut outputs = u64::from(ready) ^ self.request(of_lines, of_held);
        let missed = self.head_was_fetched;
        outputs ^= u64::from(step == Step::Reads) << if missed { 40 } else { 39 };
        if passes {
            outputs ^= (1 | (noise >> 46 & 0xffff) << 1) << 1 ^ Row::repeated(noise).sum();
        } else if let Some(reply) = self.reply.take() {
            outputs ^= (1 | reply.which << 1) << 1 ^ reply.sum;
        }

        let operation = self.held;
        self.advance(step, row, comes);
        if of_lines && memory_ready {
            // What was offered is what was under way before this cycle.
            if step == Step::Fetches { self.filling = true } else { self.writes_back = false }
        }
        self.repeats = of_held && !memory_ready;
        if leaves {
            let Held { request, pattern, bases, .. } = operation;
            let place = request.register * WARPS + request.warp;
            let (number, slot) = (place / SLOTS, place % SLOTS);
            let writes = request.kind == WRITE;
            if enqueues {
                self.queue.push_back(Operation { writes, request, number, slot, pattern, bases });
            }
            self.short[request.warp][request.register] = is_short && (writes || !request.invalidates);
        }
        if ready {
            self.take(noise);
        }
        outputs
    }
}

impl Compressor {
    /// Takes the request that is offered, if there is one.
    #[inline(always)]
    fn take(&mut self, noise: u64) {
        self.held.valid = self.active.happens(noise, 0);
        if !self.held.valid {
            return;
        }
        self.held.request = Request::new(noise);
        if self.held.request.kind == WRITE {
            let word = noise & 0x3_0000_0003;
            let lane = |lane: usize| if lane.is_multiple_of(2) { word as u32 } else { (word >> 32) as u32 };
            (self.held.pattern, self.held.bases) = matched(&std::array::from_fn(lane));
            self.held.sum = Row::repeated(word).sum();
        }
    }
}

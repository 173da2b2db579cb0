//! The compressed lines that a compressor holds, and how a missing one is had.

use super::compressor::{Compressor, CompressorIo};
use super::patterns::{BASES_BITS, Pattern};
use crate::parts::recency;
use crate::rtl::{Field, Module, Read, Record, Signal, Table, index_bits};

/// A read of or a write to a slot of a compressed line.
pub(super) struct Operation<'m> {
    pub valid: Signal<'m>,
    /// It writes; otherwise it reads.
    pub writes: Signal<'m>,
    pub warp: Signal<'m>,
    pub register: Signal<'m>,
    /// Where a register that is read goes.
    pub line: Signal<'m>,
    /// The compressed line.
    pub number: Signal<'m>,
    pub slot: Signal<'m>,
    /// What is written.
    pub pattern: Signal<'m>,
    pub bases: Signal<'m>,
}

/// A register that was read in the cycle before, or earlier.
pub(super) struct Reply<'m> {
    pub valid: Signal<'m>,
    pub warp: Signal<'m>,
    pub register: Signal<'m>,
    pub line: Signal<'m>,
    pub pattern: Signal<'m>,
    pub bases: Signal<'m>,
}

/// The lines, and what they ask of memory.
pub(super) struct CompressedLines<'m> {
    slots: usize,
    /// Which line a row holds.
    tags: Table<'m, Tag>,
    /// The lines' slots.
    rows: Table<'m, Slots>,
    /// Rows that memory does not have as they are.
    dirty: Signal<'m>,
    /// Order of the rows; see [`recency`].
    newer: Signal<'m>,
    /// Lines of which memory has a copy.
    backed: Signal<'m>,
    /// The line fetched has not come yet.
    filling: Signal<'m>,
    /// A line is offered to memory.
    pub writes_back: Signal<'m>,
    pub number_written: Signal<'m>,
    pub line_written: Signal<'m>,
    /// A line is asked for.
    pub fetches: Signal<'m>,
    pub number_fetched: Signal<'m>,
    /// To be set: memory takes what is offered or asked for.
    pub request_taken: Signal<'m>,
    /// The operation is done.
    pub head_leaves: Signal<'m>,
}

/// Where the operation finds its line, or makes room for it; rows as one bit each.
struct Lookup<'m> {
    row: Signal<'m>,
    hit: Signal<'m>,
    missing: Signal<'m>,
    /// The line in the way has to be written back.
    evicts: Signal<'m>,
    /// Memory has the line.
    is_backed: Signal<'m>,
}

/// A line, a lane a slot.
#[derive(Clone, Copy, Record)]
#[params(Compressor)]
pub(super) struct Slots<T = Field> {
    #[bits(p.slots() * BASES_BITS)]
    #[lanes(p.slots())]
    bases: T,
    #[bits(p.slots() * Pattern::BITS)]
    #[lanes(p.slots())]
    patterns: T,
}

/// Which line it is.
#[derive(Clone, Copy, Record)]
#[params(Compressor)]
pub(super) struct Tag<T = Field> {
    #[bits(index_bits(p.line_numbers()))]
    number: T,
}

impl<'m> CompressedLines<'m> {
    pub(super) fn new(m: &Module<'m>, p: &Compressor) -> CompressedLines<'m> {
        let slots = p.slots();
        let number_bits = index_bits(p.line_numbers());
        let rows = m.table::<Slots>("lines", p.lines, p).ports(1, 1);
        CompressedLines {
            slots,
            tags: m.table::<Tag>("tags", p.lines, p).valid_bits(),
            rows,
            dirty: m.register("dirty", p.lines).reset(0),
            newer: m.register("newer", p.lines * p.lines).reset(0),
            backed: m.register("backed", p.line_numbers()).reset(0),
            filling: m.register("filling", 1).reset(0),
            writes_back: m.register("writes_back", 1).reset(0),
            number_written: m.register("number_written", number_bits).no_reset(),
            line_written: m.wire("line_written", p.widths().line_bits()),
            fetches: m.wire("fetches", 1),
            number_fetched: m.wire("number_fetched", number_bits),
            request_taken: m.wire("request_taken_by_memory", 1),
            head_leaves: m.wire("head_leaves", 1),
        }
    }

    /// Serves the operation at the head of the queue; gives the register read before, which `reply_leaves`.
    pub(super) fn serve(
        &self,
        m: &Module<'m>,
        io: &CompressorIo<'m>,
        head: &Operation<'m>,
        reply_leaves: Signal<'m>,
    ) -> Reply<'m> {
        let found = self.look_up(m, head);
        let reply_valid = m.register("reply_valid", 1).reset(0);
        let reader_is_free = !reply_valid | reply_leaves;
        let waits = self.writes_back | self.filling;

        // One of these happens, or none.
        let reads = (found.hit & !head.writes & reader_is_free).named("reads");
        let writes = (found.hit & head.writes).named("writes");
        let evicts = (found.evicts & !waits & reader_is_free).named("evicts");
        let misses = found.missing & !found.evicts & !waits;
        let starts = (misses & !found.is_backed).named("starts_a_line");
        self.fetches.set(misses & found.is_backed);
        self.number_fetched.set(head.number);
        let comes = (self.filling & io.memory_fill.valid_i & io.memory_fill.compressed_i).named("line_comes");

        self.head_leaves.set(reads | writes | (starts & head.writes));
        let read = self.read(m, head, &found, reads, evicts);
        self.write(m, head, &found, writes | (starts & head.writes), starts, (comes, io.memory_fill.value_i));
        self.keep_house(m, head, &found, (evicts, starts, comes), writes | starts);
        self.count(m, io, reads, comes);
        self.state_invariants(m, io, head, &found, reads | evicts, writes | starts | comes);

        reply_valid.set(reads | (reply_valid & !reply_leaves));
        self.reply(m, head, reads, reply_valid, &read)
    }

    /// Finds the line; if it is missing, the row that makes room: a free one, else the one used longest ago.
    fn look_up(&self, m: &Module<'m>, head: &Operation<'m>) -> Lookup<'m> {
        let hits = self.tags.matching("lookup", head.valid, |row| row.valid() & row.number.eq(head.number));
        let free = !self.tags.valid_rows();
        let oldest = recency::oldest(m, self.newer, m.ones(free.width()));
        let victim = free.any().mux(free.lowest_one(), oldest);
        let missing = (head.valid & !hits.any()).named("missing");
        m.invariant("a_line_is_here_once", hits.popcount().le(1));
        m.invariant("one_line_makes_room", missing.implies(victim.popcount().eq(1)));
        Lookup {
            row: hits.any().mux(hits, victim),
            hit: head.valid & hits.any(),
            missing,
            evicts: missing & (victim & self.dirty).any(),
            is_backed: self.backed.lane_select(head.number, 1),
        }
    }

    /// Reads a slot, or a whole line to be written back.
    fn read(
        &self,
        m: &Module<'m>,
        head: &Operation<'m>,
        found: &Lookup<'m>,
        reads: Signal<'m>,
        evicts: Signal<'m>,
    ) -> Read<'m, Slots> {
        let slots = evicts.mux(m.ones(self.slots), head.slot.decode(self.slots));
        let read = self.rows.read_clocked("line", found.row.priority_encode(), reads | evicts).lanes(slots);
        let line = read.bases.concat(read.patterns);
        self.line_written.set(line.zext(self.line_written.width()));
        read
    }

    /// Writes a slot, a line with nothing else in it, or a line that comes from memory.
    fn write(
        &self,
        m: &Module<'m>,
        head: &Operation<'m>,
        found: &Lookup<'m>,
        writes: Signal<'m>,
        starts: Signal<'m>,
        (comes, line): (Signal<'m>, Signal<'m>),
    ) {
        let slot = head.slot.decode(self.slots) & writes.replicate(self.slots);
        let alone = |value: Signal<'m>| slot.spread(value.width()) & value.replicate(self.slots);
        let (bases_bits, pattern_bits) = (self.slots * BASES_BITS, self.slots * Pattern::BITS);
        let bases = comes.mux(line.low(bases_bits), alone(head.bases));
        let patterns = comes.mux(line.slice(bases_bits, pattern_bits), alone(head.pattern));
        m.when(writes | starts | comes, || {
            let row = found.row.priority_encode();
            let slots = slot | (starts | comes).replicate(self.slots);
            self.rows.write("slots", row, Slots { bases, patterns }).lanes(slots);
        });
    }

    /// Keeps tags, order, and what memory has.
    fn keep_house(
        &self,
        m: &Module<'m>,
        head: &Operation<'m>,
        found: &Lookup<'m>,
        (evicts, starts, comes): (Signal<'m>, Signal<'m>, Signal<'m>),
        soils: Signal<'m>,
    ) {
        let row = found.row.priority_encode();
        let evicted = self.tags.read("evicted", row, evicts).number;
        m.when(evicts, || {
            self.tags.clear_row(row);
            self.number_written.set(evicted);
            self.backed.set(self.backed | evicted.decode(self.backed.width()));
        });
        m.when(starts | comes, || {
            self.tags.write("allocate", row, Tag { number: head.number });
        });
        m.when(soils, || {
            self.dirty.set(self.dirty | found.row);
        });
        m.when(evicts | comes, || {
            self.dirty.set(self.dirty & !found.row);
        });
        m.when(self.head_leaves, || {
            self.newer.set(recency::touch(self.newer, found.row));
        });
        self.writes_back.set(evicts | (self.writes_back & !self.request_taken));
        self.filling.set((self.fetches & self.request_taken) | (self.filling & !comes));
    }

    /// Says of each read whether its line had to be fetched.
    fn count(&self, m: &Module<'m>, io: &CompressorIo<'m>, reads: Signal<'m>, comes: Signal<'m>) {
        let fetched = m.register("head_was_fetched", 1).reset(0);
        fetched.set(comes | (fetched & !self.head_leaves));
        io.hit_o.set(reads & !fetched);
        io.miss_o.set(reads & fetched);
    }

    /// The register read last, as long as it is not answered.
    fn reply(
        &self,
        m: &Module<'m>,
        head: &Operation<'m>,
        reads: Signal<'m>,
        valid: Signal<'m>,
        read: &Read<'m, Slots>,
    ) -> Reply<'m> {
        let keep = |name: &str, value: Signal<'m>| {
            let kept = m.register(format!("reply_{name}"), value.width()).no_reset();
            m.when(reads, || {
                kept.set(value);
            });
            kept
        };
        let slot = keep("slot", head.slot);
        Reply {
            valid,
            warp: keep("warp", head.warp),
            register: keep("register", head.register),
            line: keep("line", head.line),
            pattern: read.patterns.lane_select(slot, Pattern::BITS),
            bases: read.bases.lane_select(slot, BASES_BITS),
        }
    }

    fn state_invariants(
        &self,
        m: &Module<'m>,
        io: &CompressorIo<'m>,
        head: &Operation<'m>,
        found: &Lookup<'m>,
        reads: Signal<'m>,
        writes: Signal<'m>,
    ) {
        let fill = &io.memory_fill;
        let place = fill.warp_i.concat(fill.register_i);
        let asked_for = self.filling & place.eq(head.number.zext(place.width()));
        let waits = self.writes_back | self.filling;
        m.invariant("one_read_or_write_a_cycle", !(reads & writes));
        m.invariant("a_dirty_line_is_here", (self.dirty & !self.tags.valid_rows()).any().eq(0));
        m.assumption("a_line_comes_when_asked_for", (fill.valid_i & fill.compressed_i).implies(asked_for));
        m.invariant(
            "a_line_read_is_here_or_in_memory",
            (found.missing & !head.writes).implies(found.is_backed),
        );
        m.invariant("one_line_is_had_at_a_time", waits.implies(found.missing));
    }
}

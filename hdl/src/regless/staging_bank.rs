//! One bank of the operand staging unit.

use serde::{Deserialize, Serialize};

use super::bank_ports::StagingBankIo;
use super::geometry::{LANE_BITS, ShardGeometry};
use super::memory_ports::RequestKind;
use super::ports::{Fate, Note};
use crate::regfile::{WarpLanes, WarpRegister};
use crate::rtl::bits::Bits;
use crate::rtl::{Circuit, Documented, Field, Module, ParameterError, Record, Signal, Table};

/// Staging bank: lines of warp registers found by tag, and the lists of those that no region holds.
///
/// A line is free, clean, dirty or held by a region. An access finds its register's line by the tags; its fate may
/// end the hold. One that reads a register which is written as well finds its line held, and goes on holding it until
/// the result comes. A reservation or a preload that finds nothing takes a free line, else a clean one; if all are dirty it
/// first writes one back, and asks again. Within a list the search begins behind the line taken last. A preload of
/// a register of which memory has no copy fetches nothing: the line is read and written back as 0 until it is written,
/// and so are the lanes that its first write leaves out.
///
/// In a cycle the bank does one tag lookup, for an access or else for a preload, and one read or write of a value: a
/// fill goes before a write, a write before a read. What the tags are known to answer is not asked again: an access
/// that waits for a line leaves the tags to preloads. A request to memory waits in the bank until it is taken; the
/// next one is made after that, so requests leave in the order they were made.
///
/// With `gated` lines may be without power. The bank asks for those whose values are about to be read or written, and waits
/// until they are on: a read once the tags have told its line, a result and a line to be written back where they are. A fetch
/// is offered in the cycle after its line has come on, and the line is asked for until it is filled.
///
/// Timing: an access answers in its cycle, its value is out in the next. What a cycle changes is seen from the next.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5.2 and Fig. 10.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct StagingBank {
    /// Warps, banks, lines and lanes of the shard.
    pub geometry: ShardGeometry,
    /// Lines may be without power.
    pub gated: bool,
}

/// A bank while it is described.
struct Bank<'c, 'm> {
    g: ShardGeometry,
    m: &'c Module<'m>,
    io: &'c StagingBankIo<'m>,
    tags: Table<'m, Tag>,
    values: Table<'m, WarpRegister>,
    lines: Lines<'m>,
    /// One bit for each register of the bank: memory has a copy.
    backed: Signal<'m>,
    request: Request<'m>,
    /// Lines that can be accessed; `None` if all can.
    power: Option<Power<'m>>,
    /// Neither a fill nor a result is written.
    value_port_free: Signal<'m>,
}

/// One bit a line: which can be accessed, and which are asked for.
struct Power<'m> {
    on: Signal<'m>,
    /// That of the access, which has been found by the tags and is not on.
    woken: Signal<'m>,
    /// Those whose fill is to come.
    fetching: Signal<'m>,
}

/// One bit a line: on which list it is, and what its value is worth.
struct Lines<'m> {
    free: Signal<'m>,
    clean: Signal<'m>,
    dirty: Signal<'m>,
    held: Signal<'m>,
    /// Of held lines: memory does not have the value.
    changed: Signal<'m>,
    /// Nothing has been written to the line's register.
    unwritten: Signal<'m>,
    /// Lines behind the one taken last.
    behind_last: Signal<'m>,
}

/// The request to memory that waits.
struct Request<'m> {
    valid: Signal<'m>,
    /// It becomes valid in the next cycle: the value of the evicted line is being read.
    evicting: Signal<'m>,
    /// There is none.
    free: Signal<'m>,
}

/// What looks at the tags in a cycle, and what it finds.
struct Lookup<'m> {
    /// For an access.
    access: Signal<'m>,
    /// For an annotation.
    preload: Signal<'m>,
    warp: Signal<'m>,
    register: Signal<'m>,
    /// One bit a line.
    hits: Signal<'m>,
    /// Some line has the register.
    hit: Signal<'m>,
    /// Memory has a copy of the register.
    backed: Signal<'m>,
}

/// What a cycle does: one bit a line, of all at most one.
struct Changes<'m> {
    /// Taken from the free or the clean list for a register.
    allocated: Signal<'m>,
    /// Taken from the dirty list to be written back.
    evicted: Signal<'m>,
    /// Found on a list, and held from now on.
    staged: Signal<'m>,
    /// Found by an invalidation.
    invalidated: Signal<'m>,
    /// No longer held after an access; the value lives on.
    released: Signal<'m>,
    /// No longer held after an access; the value is dead.
    erased: Signal<'m>,
    /// Dirty, and waits to be written back until the value port is free and the line is on.
    victim: Signal<'m>,
    /// One bit: an annotation asks for a fetch or an invalidation.
    asks: Signal<'m>,
}

/// Whose register a line holds.
#[derive(Clone, Copy, Record)]
#[params(ShardGeometry)]
struct Tag<T = Field> {
    #[bits(p.warp_bits())]
    warp: T,
    #[bits(p.register_bits)]
    register: T,
}

impl Circuit for StagingBank {
    type Io<'m> = StagingBankIo<'m>;
    const NAME: &'static str = "operand_staging_bank";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()
    }

    fn build<'m>(&self, m: &Module<'m>, io: &StagingBankIo<'m>) {
        let bank = Bank::new(self.geometry, m, io);
        let lookup = bank.look_up();
        let changes = bank.serve(&lookup);
        let value = bank.move_values(&lookup, &changes);
        bank.ask_memory(&lookup, &changes, value);
        let emptied = bank.move_lines(&lookup, &changes);
        if let Some(power) = &bank.power {
            bank.ask_for_lines(power, &lookup, &changes, emptied);
        }
        bank.report_holds(&lookup, &changes);
    }
}

impl<'c, 'm> Bank<'c, 'm> {
    fn new(g: ShardGeometry, m: &'c Module<'m>, io: &'c StagingBankIo<'m>) -> Bank<'c, 'm> {
        let tags = m.table::<Tag>("tags", g.lines, &g).ports(1, 1);
        let lanes = WarpLanes { lanes: g.lanes, per_array: g.lanes_per_slice };
        let values = m.table::<WarpRegister>("values", g.lines, &lanes).ports(1, 1);
        let none = |name: &str| m.register(name, g.lines).reset(0);
        let lines = Lines {
            free: m.register("free", g.lines).reset(Bits::ones(g.lines as u32)),
            clean: none("clean"),
            dirty: none("dirty"),
            held: none("held"),
            changed: none("changed"),
            unwritten: none("unwritten"),
            behind_last: none("behind_last"),
        };
        let backed = m.register("backed", g.registers_of_bank()).reset(0);
        let (valid, evicting) = (m.register("request_valid", 1).reset(0), m.register("evicting", 1).reset(0));
        let request = Request { valid, evicting, free: (!valid & !evicting).named("request_free") };
        let power = io.power.first().map(|power| Power {
            on: power.on_i,
            woken: none("woken"),
            fetching: none("fetching"),
        });
        let writes = power
            .as_ref()
            .map_or(io.write.valid_i, |power| io.write.valid_i & power.on.lane_select(io.write.line_i, 1));
        let value_port_free = (!io.fill.valid_i & !writes).named("value_port_free");
        Bank { g, m, io, tags, values, lines, backed, request, power, value_port_free }
    }

    /// `condition`, but only if a line is on: of `line`, one bit or none.
    fn if_on(&self, condition: Signal<'m>, line: impl FnOnce() -> Signal<'m>) -> Signal<'m> {
        self.power.as_ref().map_or(condition, |power| condition & (line() & power.on).any())
    }

    /// Gives the tags to the access, or else to the annotation.
    fn look_up(&self) -> Lookup<'m> {
        let (m, access, lines) = (self.m, &self.io.access, &self.lines);
        // The access has been looked up in vain: it reserves a line that its warp does not hold yet.
        let missed = m.register("missed", 1).reset(0);
        let line_is_left = (lines.free | lines.clean).any() | (self.request.free & self.value_port_free);
        let waits_for_line = missed & !(access.may_hold_i & line_is_left);
        let waits_for_value_port = self.reads_value() & !self.value_port_free;
        let looks_up = access.valid_i & !waits_for_value_port & !waits_for_line;
        let is_awake = |power: &Power<'m>| !(power.woken & !power.on).any();
        let by_access = self.power.as_ref().map_or(looks_up, |power| looks_up & is_awake(power));
        let by_access = by_access.named("access_looks_up");
        let by_preload = (self.io.preload.valid_i & !by_access).named("preload_looks_up");
        let warp = by_access.mux(access.warp_i, self.io.preload.warp_i);
        let register = by_access.mux(access.register_i, self.io.preload.register_i);
        let looks = by_access | by_preload;
        let hits = self.tags.matching("lookup", looks, |line| {
            line.bit_of(!lines.free) & line.warp.eq(warp) & line.register.eq(register)
        });
        let hit = hits.any().named("hit");
        m.when(by_access, || {
            // What reads has a line, which may have to wake up.
            let misses = !access.ready_o;
            missed.set(if self.power.is_some() { misses & !self.reads_value() } else { misses });
        });
        self.io.tags_used_o.set(looks);
        let backed = self.backed.lane_select(self.g.index_in_bank(warp, register), 1).named("has_copy");
        m.invariant("a_register_is_in_one_line_at_most", looks.implies(hits.popcount().le(1)));
        Lookup { access: by_access, preload: by_preload, warp, register, hits, hit, backed }
    }

    /// Whether the access reads a source's value.
    fn reads_value(&self) -> Signal<'m> {
        self.io.access.reads_i & self.io.access.lanes_i.any()
    }

    /// Decides what is done with what was looked up.
    fn serve(&self, lookup: &Lookup<'m>) -> Changes<'m> {
        let (m, lines, access, preload) = (self.m, &self.lines, &self.io.access, &self.io.preload);
        let invalidation = preload.kind_i.eq(Note::Invalidation);
        let invalidates = preload.kind_i.ne(Note::Preload);

        // A result that nothing will be written to, and that has no line, needs none.
        let held_hit = (lookup.hits & lines.held).any().named("held_hit");
        let vanishes = !access.written_i & access.fate_i.ne(Fate::Keep);
        let begins_hold = lookup.access & access.reserves_i & !held_hit & !vanishes;
        let stages = lookup.preload & !invalidation;
        let wants_line = ((begins_hold & access.may_hold_i) | stages) & !lookup.hit;
        let unchanged = lines.free.any().mux(lines.free, lines.clean);
        let can_take = unchanged.any().named("can_take");
        let has_line = lookup.hit | can_take;
        let chosen = self.choose(can_take.mux(unchanged, lines.dirty));

        let asks = lookup.backed & (invalidates | !lookup.hit);
        preload.ready_o.set(lookup.preload & (invalidation | has_line) & (!asks | self.request.free));
        let ready = lookup.access & (!begins_hold | (access.may_hold_i & has_line));
        let is_on =
            |power: &Power<'m>| !self.reads_value() | (lookup.hits & power.on).any().named("line_read_is_on");
        access.ready_o.set(self.power.as_ref().map_or(ready, |power| ready & is_on(power)));
        let preloads = preload.ready_o & !invalidation;
        preload.hit_o.set(preloads & lookup.hit);
        preload.unwritten_o.set(preloads & !lookup.hit & !lookup.backed);
        preload.fetched_o.set(preloads & !lookup.hit & lookup.backed);

        let begins = (access.ready_o & begins_hold) | preloads;
        let wants_victim = wants_line & !can_take & self.request.free;
        let evicts = self.if_on(wants_victim & self.value_port_free, || chosen);
        let ends = access.ready_o & held_hit & !(access.reserves_i & access.written_i);
        m.when((begins & !lookup.hit) | evicts, || {
            lines.behind_last.set(chosen.prefix_or() & !chosen);
        });
        m.assumption("a_line_is_left_for_who_wants_one", wants_line.implies(chosen.any()));
        m.assumption(
            "an_active_warps_inputs_are_present",
            (lookup.access & access.reads_i).implies(held_hit),
        );
        m.assumption("a_preload_finds_no_held_line", lookup.preload.implies(!held_hit));
        let only = |condition: Signal<'m>, of: Signal<'m>| of & condition.replicate(self.g.lines);
        Changes {
            allocated: only(begins & !lookup.hit, chosen).named("allocated"),
            evicted: only(evicts, chosen).named("evicted"),
            victim: only(wants_victim & !evicts, chosen),
            staged: only(begins, lookup.hits),
            invalidated: only(preload.ready_o & invalidation, lookup.hits),
            released: only(ends & access.fate_i.eq(Fate::Evict), lookup.hits),
            erased: only(ends & access.fate_i.eq(Fate::Erase), lookup.hits),
            asks: (preload.ready_o & asks).named("asks"),
        }
    }

    /// The first of `candidates` behind the line taken last, or else the first: one bit, or none.
    fn choose(&self, candidates: Signal<'m>) -> Signal<'m> {
        let behind = candidates & self.lines.behind_last;
        behind.any().mux(behind, candidates).lowest_one().named("chosen")
    }

    /// The value port: fills and results are written, sources and evicted lines are read. Gives the value read in
    /// the cycle before.
    fn move_values(&self, lookup: &Lookup<'m>, changes: &Changes<'m>) -> Signal<'m> {
        let (m, g, lines) = (self.m, &self.g, &self.lines);
        let (write, fill, access) = (&self.io.write, &self.io.fill, &self.io.access);
        let all_lanes = m.ones(g.lanes);
        write.ready_o.set(self.if_on(!fill.valid_i, || write.line_i.decode(g.lines)));

        let is_first = lines.unwritten.lane_select(write.line_i, 1);
        let result_lanes = write.lanes_i.spread(LANE_BITS);
        let result = is_first.mux(write.value_i & result_lanes, write.value_i);
        let line = fill.valid_i.mux(fill.line_i, write.line_i);
        let lanes = (fill.valid_i | is_first).mux(all_lanes, write.lanes_i);
        m.when(!self.value_port_free, || {
            let value = fill.valid_i.mux(fill.value_i, result);
            self.values.write("write", line, WarpRegister { value }).lanes(lanes);
        });

        let evicts = changes.evicted.any();
        let reads = (access.ready_o & self.reads_value()).named("reads");
        let takes_out = (reads | evicts).named("value_is_taken_out");
        let line = evicts.mux(changes.evicted, lookup.hits).named("line_taken_out");
        let read = self.values.read_clocked("read", line.priority_encode(), takes_out);
        let stored = read.lanes(evicts.mux(all_lanes, access.lanes_i)).value;
        let was_read = m.register("was_read", 1).reset(0);
        let was_unwritten = m.register("was_unwritten", 1).no_reset();
        was_read.set(reads);
        m.when(takes_out, || {
            was_unwritten.set((line & lines.unwritten).any());
        });
        let value = was_unwritten.mux(m.lit(g.value_bits(), 0), stored);
        access.value_o.set(value).valid_when(was_read);
        access.line_o.set((lookup.hits | changes.allocated).priority_encode()).valid_when(access.ready_o);
        m.invariant("a_bank_reads_or_writes", takes_out.implies(self.value_port_free));
        if let Some(power) = &self.power {
            let read = line & takes_out.replicate(g.lines);
            m.invariant("a_line_is_read_only_when_it_is_on", !(read & !power.on).any());
            let filled = fill.line_i.decode(g.lines) & fill.valid_i.replicate(g.lines);
            let filled = filled.named("line_filled");
            m.assumption("a_line_is_filled_only_when_it_is_on", !(filled & !power.on).any());
        }
        value
    }

    /// The request to memory: decided in one cycle, offered from the next, or from the one after if a value has to
    /// be read.
    fn ask_memory(&self, lookup: &Lookup<'m>, changes: &Changes<'m>, value_read: Signal<'m>) {
        let (m, g, io, request) = (self.m, &self.g, &self.io.request, &self.request);
        let kind = m.register("request_kind", RequestKind::BITS).no_reset();
        let warp = m.register("request_warp", g.warp_bits()).no_reset();
        let register = m.register("request_register", g.register_bits).no_reset();
        let line = m.register("request_line", g.line_bits()).no_reset();
        let invalidates = m.register("request_invalidates", 1).no_reset();
        let value = m.register("request_value", g.value_bits()).no_reset();

        let evicts = changes.evicted.any();
        let victim = self.tags.read("victim", changes.evicted.priority_encode(), evicts);
        let keeps_copy = self.io.preload.kind_i.eq(Note::Preload);
        m.when(changes.asks, || {
            let fetches = self.io.preload.fetched_o;
            let fetch = m.lit(RequestKind::BITS, RequestKind::Fetch);
            kind.set(fetches.mux(fetch, RequestKind::Invalidate));
            warp.set(lookup.warp);
            register.set(lookup.register);
            line.set(changes.allocated.priority_encode());
            invalidates.set(!keeps_copy);
        });
        m.when(evicts, || {
            kind.set(RequestKind::Write);
            warp.set(victim.warp);
            register.set(victim.register);
        });
        m.when(request.evicting, || {
            value.set(value_read);
        });
        request.evicting.set(evicts);
        let fetches = request.valid & kind.eq(RequestKind::Fetch);
        // A fetch goes in the cycle after its line has been seen on, so that what is offered does not hang on inputs. What has
        // been offered stays.
        let offered = self.power.as_ref().map_or(request.valid, |power| {
            let line_is_on = m.register("line_is_on", 1).reset(0);
            line_is_on.set(request.valid & (line_is_on | power.on.lane_select(line, 1)));
            request.valid & (kind.ne(RequestKind::Fetch) | line_is_on)
        });
        let stays = if self.power.is_some() { !(offered & io.ready_i) } else { !io.ready_i };
        request.valid.set(changes.asks | request.evicting | (request.valid & stays));
        io.valid_o.set(offered);
        io.busy_o.set(!request.free);
        io.kind_o.set(kind).valid_when(io.valid_o);
        io.warp_o.set(warp).valid_when(io.busy_o);
        io.register_o.set(register).valid_when(io.valid_o);
        let fetches = if self.power.is_some() { fetches & offered } else { fetches };
        io.line_o.set(line).valid_when(fetches);
        io.invalidates_o.set(invalidates).valid_when(fetches);
        io.value_o.set(value).valid_when(request.valid & kind.eq(RequestKind::Write));

        let written_back = g.index_in_bank(victim.warp, victim.register);
        let dropped = g.index_in_bank(lookup.warp, lookup.register);
        let none = m.lit(g.registers_of_bank(), 0);
        let gained = evicts.mux(written_back.decode(g.registers_of_bank()), none);
        let loses = (changes.asks & !keeps_copy).named("loses_copy");
        let lost = loses.mux(dropped.decode(g.registers_of_bank()), none);
        let of_warp = self.io.drop.warp_i.decode(g.warps).spread(g.registers_of_bank() / g.warps);
        let lost = lost | self.io.drop.valid_i.mux(of_warp, none);
        m.when(evicts | loses | self.io.drop.valid_i, || {
            self.backed.set((self.backed | gained) & !lost);
        });

        m.invariant("no_preload_overtakes_an_eviction", (changes.asks | evicts).implies(request.free));
    }

    /// Moves lines between the lists. Gives those that become free.
    fn move_lines(&self, lookup: &Lookup<'m>, changes: &Changes<'m>) -> Signal<'m> {
        let (m, g, io, lines) = (self.m, &self.g, self.io, &self.lines);
        let only = |condition: Signal<'m>, of: Signal<'m>| of & condition.replicate(g.lines);
        let Changes { allocated, evicted, staged, invalidated, released, erased, asks, .. } = changes;

        let written = only(io.write.valid_i & io.write.ready_o, io.write.line_i.decode(g.lines));
        let written_last = only(io.write.fate_i.eq(Fate::Evict), written);
        let written_dead = only(io.write.fate_i.eq(Fate::Erase), written);
        let filled = only(io.fill.valid_i, io.fill.line_i.decode(g.lines));
        let of_warp = self.tags.matching("drop", io.drop.valid_i, |line| {
            line.bit_of(!lines.free) & line.warp.eq(io.drop.warp_i)
        });
        // A line of the warp that is taken in this cycle has another register from the next on.
        let dropped = only(io.drop.valid_i, of_warp) & !*allocated;
        let emptied = *invalidated | *evicted | *erased | written_dead | dropped;
        let listed = *released | written_last;
        let loses_copy = *asks & io.preload.kind_i.ne(Note::Preload);
        let changed = lines.changed | written;

        let dirty = (lines.dirty & !*staged & !emptied) | (*released & changed) | written_last;
        let begins = *allocated | *staged;
        let begins_changed = (*staged & lines.dirty) | only(loses_copy, begins);
        let fetched = only(io.preload.fetched_o, *allocated);
        // In any other cycle every line stays where it is.
        let moves = lookup.access | lookup.preload | io.write.valid_i | io.fill.valid_i | io.drop.valid_i;
        m.when(moves.named("lines_may_move"), || {
            lines.free.set((lines.free & !*allocated) | emptied);
            lines.clean.set((lines.clean & !*allocated & !*staged & !emptied) | (*released & !changed));
            lines.dirty.set(dirty);
            lines.held.set((lines.held & !emptied & !listed) | begins);
            lines.changed.set((changed & !begins) | begins_changed);
            lines.unwritten.set((lines.unwritten | *allocated) & !fetched & !written & !filled);
        });
        let gone = lines.dirty & !dirty & !(*staged | *evicted | *invalidated | dropped);
        m.invariant("a_dirty_line_is_dropped_only_by_erasure_invalidation_or_exit", !gone.any());
        m.when((*allocated).any(), || {
            let tag = Tag { warp: lookup.warp, register: lookup.register };
            self.tags.write("allocate", allocated.priority_encode(), tag);
        });

        let Lines { free, clean, dirty, held, .. } = lines;
        let twice = (*free & (*clean | *dirty | *held)) | (*clean & (*dirty | *held)) | (*dirty & *held);
        m.invariant("a_line_is_on_one_list_at_most", !twice.any());
        m.invariant("a_line_is_on_a_list_or_held", (*free | *clean | *dirty | *held).all());
        m.assumption("a_dropped_warp_holds_no_line", !(dropped & *held).any());
        m.assumption("a_result_is_written_to_a_held_line", !(written & !*held).any());
        m.assumption("a_fill_comes_for_a_held_line", !(filled & !*held).any());
        let accessed = *staged | *invalidated | *released | *erased;
        let written_at_last = only(io.write.fate_i.ne(Fate::Keep), written);
        m.assumption("a_line_written_for_the_last_time_is_not_accessed", !(written_at_last & accessed).any());
        let asks_for_dropped = (lookup.access | lookup.preload) & lookup.warp.eq(io.drop.warp_i);
        m.assumption("a_dropped_warp_asks_for_nothing", io.drop.valid_i.implies(!asks_for_dropped));
        emptied
    }

    /// Asks for the lines that are about to be accessed, and says which is read and which become free.
    fn ask_for_lines(
        &self,
        power: &Power<'m>,
        lookup: &Lookup<'m>,
        changes: &Changes<'m>,
        emptied: Signal<'m>,
    ) {
        let (m, g, lines, access) = (self.m, &self.g, &self.io.power[0], &self.io.access);
        let only = |condition: Signal<'m>, of: Signal<'m>| of & condition.replicate(g.lines);
        let &Power { on, woken, fetching } = power;

        let sleeps = only(lookup.access & self.reads_value(), lookup.hits & !on);
        m.when(lookup.access, || {
            woken.set(sleeps);
        });
        let (write, fill) = (&self.io.write, &self.io.fill);
        let waits = only(write.valid_i & !write.ready_o, write.line_i.decode(g.lines));
        let to_be_filled = fetching & !only(fill.valid_i, fill.line_i.decode(g.lines));
        let to_be_filled = to_be_filled | only(self.io.preload.fetched_o, changes.allocated);
        fetching.set(to_be_filled);
        let waits_for_access = sleeps | (woken & !access.ready_o.replicate(g.lines));
        lines.request_o.set((waits_for_access | waits | to_be_filled | changes.victim) & !emptied);
        lines.freed_o.set(emptied);

        let read = &lines.read.line;
        read.valid_o.set(access.ready_o & access.reads_i);
        read.warp_o.set(access.warp_i).valid_when(read.valid_o);
        read.register_o.set(access.register_i).valid_when(read.valid_o);
        read.line_o.set(access.line_o).valid_when(read.valid_o);
        lines.read.lanes_o.set(access.lanes_i).valid_when(read.valid_o);
    }

    /// Tells who keeps count of what regions hold.
    fn report_holds(&self, lookup: &Lookup<'m>, changes: &Changes<'m>) {
        let (held, write) = (&self.io.held, &self.io.write);
        held.more_o.set((changes.allocated | changes.staged).any());
        held.less_o.set((changes.released | changes.erased).any());
        held.warp_o.set(lookup.warp).valid_when(held.more_o | held.less_o);
        held.listed_o.set((!self.lines.held).popcount());
        held.written_less_o.set(write.valid_i & write.ready_o & write.fate_i.ne(Fate::Keep));
    }
}

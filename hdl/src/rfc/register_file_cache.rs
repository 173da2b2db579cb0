//! The register file cache.

use serde::{Deserialize, Serialize};

use super::cache_ports::{CollectedIo, RegisterFileCacheIo};
use crate::parts::recency;
use crate::regfile::{LANE_BITS, SOURCES, Widths};
use crate::rtl::{Circuit, Documented, Module, ParameterError, Record, Signal, Table, index_bits};

/// Which entry of a slot makes room (§3.1, "RFC Replacement").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one allocated first; the paper's choice.
    Fifo,
    /// The one not used for longest.
    Lru,
}

/// Register file cache (RFC): a few warp registers for each slot of the active set.
///
/// An entry has one tag and, for each lane, whether the lane is held here and whether it is newer than in the main
/// register file (dirty). A lookup tells which executing lanes each operand finds here; the others are read from the
/// main register file. A result is written to the entry of its register, or to a new one: a free entry, else an
/// idle one if `evict_idle_first`, else the oldest; dirty lanes of the old register are spilled in the same cycle.
/// A last read (`liveness`) ends the executing lanes' copy, which then is not written back. A flush spills the
/// dirty lanes of a slot, one entry a cycle, and then empties it.
///
/// Three read ports, one an operand; a spill uses one that no operand needs in that cycle, or waits. An entry is not
/// given to another register or overwritten while an operand has still to be read from it.
///
/// Timing: a lookup answers in the same cycle. Operands found here are read when their instruction is dispatched and
/// are out in the next cycle. A result is taken in the cycle it is offered or not at all, and is seen by lookups from
/// the next cycle on.
/// Source: Gebhart et al., ISCA 2011, §3.1, §3.3, §5.3 and Fig. 5 (3R/1W, one entry a warp register).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterFileCache {
    /// Slots of the active set, 1 to 64.
    pub slots: usize,
    /// Entries of a slot, that is, of each of its threads; 1 to 16.
    pub entries: usize,
    /// Which entry makes room.
    pub replacement: Replacement,
    /// Whether last reads end a copy (static liveness, §3.1).
    pub liveness: bool,
    /// Whether values not read before the next suspension make room first (§5.3).
    pub evict_idle_first: bool,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Lanes of a cluster; divides `lanes`.
    pub lanes_per_cluster: usize,
    /// Bits of a register's number, 1 to 16.
    pub register_bits: usize,
    /// Operand collectors, 2 to 32.
    pub collectors: usize,
}

/// An operand found here that has still to be read.
#[derive(Clone, Copy)]
struct Pending<'m> {
    lanes: Signal<'m>,
    row: Signal<'m>,
}

/// What a lookup finds.
struct Found<'m> {
    pending: Vec<Pending<'m>>,
    /// Entries with an operand that is read, one bit each.
    used: Signal<'m>,
}

/// A register that has to leave the cache.
#[derive(Clone, Copy)]
struct Leaving<'m> {
    valid: Signal<'m>,
    register: Signal<'m>,
    lanes: Signal<'m>,
    row: Signal<'m>,
}

/// The state of the circuit.
struct State<'m> {
    /// One table an entry of a slot, a row a slot.
    ways: Vec<Table<'m>>,
    /// Values; see [`RegisterFileCache::row`].
    values: Table<'m>,
    /// Order of a slot's entries; see [`recency`].
    order: Table<'m>,
    /// Operands found here that have still to be read, a row a collector; one table an operand position.
    reads: [Table<'m>; SOURCES],
    /// Slots that are being flushed.
    flushing: Signal<'m>,
}

impl RegisterFileCache {
    /// Widths of the ports it shares with the register file; it has no instructions.
    pub(super) fn widths(&self) -> Widths {
        Widths { register_bits: self.register_bits, lanes: self.lanes, id_bits: 1, units: 1 }
    }

    /// Bits of a warp register's value.
    pub fn value_bits(&self) -> usize {
        self.lanes.saturating_mul(LANE_BITS)
    }

    fn state<'m>(&self, m: &Module<'m>) -> State<'m> {
        let way = |w| {
            m.table(format!("way{w}"), self.slots)
                .field("register", self.register_bits)
                .laned_field("held", self.lanes, self.lanes)
                .laned_field("dirty", self.lanes, self.lanes)
                .field("idle", 1)
                .valid_bits()
        };
        let values = m
            .table("values", ((self.entries - 1) << index_bits(self.slots)) + self.slots)
            .laned_field("value", self.value_bits(), self.lanes)
            .lanes_per_array(self.lanes_per_cluster)
            .ports(SOURCES, 1);
        let reads = [0, 1, 2].map(|k| {
            m.table(format!("read{k}"), self.collectors)
                .field("lanes", self.lanes)
                .field("row", values.index_bits())
                .valid_bits()
        });
        State {
            ways: (0..self.entries).map(way).collect(),
            values,
            order: m.table("order", self.slots).field("newer", self.entries * self.entries),
            reads,
            flushing: m.register("flushing", self.slots).reset(0),
        }
    }

    /// Row of `values`: the slot in the low bits, the entry above.
    fn row<'m>(&self, m: &Module<'m>, state: &State<'m>, slot: Signal<'m>, way: Signal<'m>) -> Signal<'m> {
        m.cat([slot, way]).low(state.values.index_bits())
    }
}

/// The entries of a slot, as one port sees them.
fn read_slot<'m>(state: &State<'m>, name: &str, slot: Signal<'m>, enable: Signal<'m>) -> Vec<Record<'m>> {
    state.ways.iter().map(|way| way.read(name, slot, enable)).collect()
}

/// Which entry holds `register`, one bit an entry.
fn entry_of<'m>(m: &Module<'m>, ways: &[Record<'m>], register: Signal<'m>) -> Signal<'m> {
    m.cat(ways.iter().map(|way| way.valid() & way.get("register").eq(register)))
}

/// A field of the entry that `select` (one-hot) names; 0 if it names none.
fn select<'m>(m: &Module<'m>, select: Signal<'m>, ways: &[Record<'m>], field: &str) -> Signal<'m> {
    select.one_hot_select(m.cat(ways.iter().map(|way| way.get(field))))
}

impl Circuit for RegisterFileCache {
    type Io<'m> = RegisterFileCacheIo<'m>;
    const NAME: &'static str = "register_file_cache";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("slots", self.slots, 1..=64)?;
        Self::check_range("entries", self.entries, 1..=16)?;
        Self::check_range("lanes", self.lanes, 1..=32)?;
        Self::check_range("lanes_per_cluster", self.lanes_per_cluster, 1..=self.lanes)?;
        Self::check(
            self.lanes.is_multiple_of(self.lanes_per_cluster),
            "lanes_per_cluster",
            self.lanes_per_cluster,
            "a divisor of lanes",
        )?;
        Self::check_range("register_bits", self.register_bits, 1..=16)?;
        Self::check_range("collectors", self.collectors, 2..=32)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterFileCacheIo<'m>) {
        let state = self.state(m);
        let found = self.look_up(m, io, &state);
        let waiting = self.keep_until_collected(m, io, &state, &found.pending);
        let reading = self.start_reads(m, io, &state);
        self.invalidate(m, io, &state);
        let flush = self.next_flush(m, io, &state);
        let target = self.choose_target(m, io, &state, &[&found.pending[..], &waiting].concat());
        let spill = self.spill(m, io, &state, target.eviction, flush.leaving, &reading);
        self.write_result(m, io, &state, &target, spill.evicted, found.used);
        self.advance_flush(m, io, &state, flush, spill.flushed);
    }
}

impl RegisterFileCache {
    /// Finds the operands; ends or marks their copies as the compiler says.
    fn look_up<'m>(&self, m: &Module<'m>, io: &RegisterFileCacheIo<'m>, state: &State<'m>) -> Found<'m> {
        let lookup = &io.lookup;
        let ways = read_slot(state, "lookup", lookup.slot_i, lookup.valid_i);
        let mut ended = m.lit(self.entries, 0);
        let mut idle = m.lit(self.entries, 0);
        let mut used = m.lit(self.entries, 0);
        let mut pending = Vec::new();
        for source in &lookup.source {
            let wanted = lookup.valid_i & source.valid_i;
            let entry = entry_of(m, &ways, source.register_i) & wanted.replicate(self.entries);
            let lanes = select(m, entry, &ways, "held") & lookup.active_i;
            source.lanes_o.set(lanes).valid_when(lookup.valid_i);
            let read_last = if self.liveness { source.last_read_i } else { m.lit(1, 0) };
            ended = ended | (entry & read_last.replicate(self.entries));
            idle = idle | (entry & source.idle_i.replicate(self.entries));
            used = used | (entry & lanes.any().replicate(self.entries));
            m.invariant(format!("a_register_has_one_entry_{}", pending.len()), entry.popcount().le(1));
            let row = self.row(m, state, lookup.slot_i, entry.priority_encode());
            pending.push(Pending { lanes, row });
        }
        for (w, way) in state.ways.iter().enumerate() {
            let lanes = lookup.active_i & ended.bit(w).replicate(self.lanes);
            let now_idle = ways[w].get("idle") | idle.bit(w);
            m.when(lookup.valid_i & (ended.bit(w) | idle.bit(w)), || {
                let none = m.lit(self.lanes, 0);
                way.write("end_copies", lookup.slot_i, [("held", none), ("dirty", none), ("idle", now_idle)])
                    .lanes(lanes)
                    .keep_valid();
            });
        }
        if self.replacement == Replacement::Lru {
            let order = state.order.read("lookup", lookup.slot_i, lookup.valid_i).get("newer");
            m.when(lookup.valid_i, || {
                state.order.write("use", lookup.slot_i, [("newer", recency::touch(order, used))]);
            });
        }
        Found { pending, used }
    }

    /// Keeps the operands of the instruction looked up last until it gets a collector, then there.
    fn keep_until_collected<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        found: &[Pending<'m>],
    ) -> Vec<Pending<'m>> {
        let keep = |(k, found): (usize, &Pending<'m>)| {
            let lanes = m.register(format!("waiting_lanes{k}"), self.lanes).reset(0);
            let row = m.register(format!("waiting_row{k}"), found.row.width()).no_reset();
            m.when(io.lookup.valid_i, || {
                lanes.set(found.lanes);
                row.set(found.row);
            });
            let here = io.waiting_i & lanes.any();
            m.when(io.collect.valid_i & here, || {
                state.reads[k].write("collect", io.collect.index_i, [("lanes", lanes), ("row", row)]);
            });
            Pending { lanes: lanes & io.waiting_i.replicate(self.lanes), row }
        };
        found.iter().enumerate().map(keep).collect()
    }

    /// The operands that the dispatched instruction reads here.
    fn start_reads<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
    ) -> Vec<Pending<'m>> {
        let start = |table: &Table<'m>| {
            let read = table.read("dispatch", io.dispatch.index_i, io.dispatch.valid_i);
            m.when(io.dispatch.valid_i, || table.clear_row(io.dispatch.index_i));
            let here = io.dispatch.valid_i & read.valid();
            Pending { lanes: read.get("lanes") & here.replicate(self.lanes), row: read.get("row") }
        };
        state.reads.iter().map(start).collect()
    }

    /// Ends the copies of lanes that have been written to the main register file directly.
    fn invalidate<'m>(&self, m: &Module<'m>, io: &RegisterFileCacheIo<'m>, state: &State<'m>) {
        for (i, write) in io.invalidate.iter().enumerate() {
            let name = format!("invalidate{i}");
            let ways = read_slot(state, &name, write.slot_i, write.valid_i);
            let entry = entry_of(m, &ways, write.register_i);
            for (w, way) in state.ways.iter().enumerate() {
                m.when(write.valid_i & entry.bit(w), || {
                    let none = m.lit(self.lanes, 0);
                    way.write(format!("clear{i}"), write.slot_i, [("held", none), ("dirty", none)])
                        .lanes(write.lanes_i)
                        .keep_valid();
                });
            }
        }
    }

    /// The register that the flush under way writes back next.
    fn next_flush<'m>(&self, m: &Module<'m>, io: &RegisterFileCacheIo<'m>, state: &State<'m>) -> Flush<'m> {
        let busy = io.flush.valid_i.replicate(self.slots) & io.flush.slot_i.decode(self.slots);
        io.slot_busy_o.set(state.flushing | busy);
        let active = state.flushing.any();
        let slot = state.flushing.priority_encode();
        let ways = read_slot(state, "flush", slot, active);
        let dirty = m.cat(ways.iter().map(|way| active & way.valid() & way.get("dirty").any()));
        let entry = dirty.lowest_one();
        Flush {
            active,
            slot,
            entry,
            leaving: Leaving {
                valid: dirty.any(),
                register: select(m, entry, &ways, "register"),
                lanes: select(m, entry, &ways, "dirty"),
                row: self.row(m, state, slot, entry.priority_encode()),
            },
        }
    }

    /// The entry that the result goes to, and what has to leave it.
    fn choose_target<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        pending: &[Pending<'m>],
    ) -> Target<'m> {
        let result = &io.result;
        let ways = read_slot(state, "result", io.result_slot_i, result.valid_i);
        let entry = entry_of(m, &ways, result.register_i);
        let hit = entry.any().named("result_hits");
        let newer = state.order.read("result", io.result_slot_i, result.valid_i).get("newer");
        let entry = hit.mux(entry, self.victim(m, &ways, newer));
        let row = self.row(m, state, io.result_slot_i, entry.priority_encode());
        let pinned = self.is_pinned(state, row, pending).named("target_is_pinned");

        let occupied = entry & m.cat(ways.iter().map(|way| way.valid()));
        let held = select(m, occupied, &ways, "held");
        let dirty = select(m, occupied, &ways, "dirty");
        let must_evict = !hit & dirty.any();
        m.invariant("a_result_has_one_entry", result.valid_i.implies(entry.popcount().eq(1)));
        m.invariant("dirty_lanes_are_held", result.valid_i.implies(!(dirty & !held).any()));
        Target {
            entry,
            hit,
            newer,
            row,
            pinned,
            held,
            dirty,
            must_evict,
            eviction: Leaving {
                valid: result.valid_i & must_evict & !pinned,
                register: select(m, entry, &ways, "register"),
                lanes: dirty,
                row,
            },
        }
    }

    /// The entry that makes room, one-hot: a free one, else an idle one if asked for, else the oldest.
    fn victim<'m>(&self, m: &Module<'m>, ways: &[Record<'m>], newer: Signal<'m>) -> Signal<'m> {
        let free = m.cat(ways.iter().map(|way| !(way.valid() & way.get("held").any())));
        let all = m.ones(self.entries);
        let candidates = if self.evict_idle_first {
            let idle = m.cat(ways.iter().map(|way| way.get("idle")));
            idle.any().mux(idle, all)
        } else {
            all
        };
        free.any().mux(free.lowest_one(), recency::oldest(m, newer, candidates))
    }

    /// Whether an operand has still to be read from `row`.
    fn is_pinned<'m>(&self, state: &State<'m>, row: Signal<'m>, pending: &[Pending<'m>]) -> Signal<'m> {
        let collected = state
            .reads
            .iter()
            .map(|table| table.matching("result", 1, |read| read.valid() & read.get("row").eq(row)).any());
        let on_the_way = pending.iter().map(|operand| operand.lanes.any() & operand.row.eq(row));
        let pins: Vec<Signal<'m>> = collected.chain(on_the_way).collect();
        pins[1..].iter().fold(pins[0], |a, &b| a | b)
    }

    /// Reads the operands, and with a port that is left over the register that leaves: an evicted one first.
    fn spill<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        eviction: Leaving<'m>,
        flush: Leaving<'m>,
        reading: &[Pending<'m>],
    ) -> Spilled<'m> {
        let evicting = eviction.valid;
        let row = evicting.mux(eviction.row, flush.row);
        let lanes = evicting.mux(eviction.lanes, flush.lanes);
        let used: Vec<Signal<'m>> = reading.iter().map(|operand| operand.lanes.any()).collect();
        io.spill.valid_o.set((evicting | flush.valid) & !(used[0] & used[1] & used[2]));
        io.spill.register_o.set(evicting.mux(eviction.register, flush.register)).valid_when(io.spill.valid_o);
        io.spill.lanes_o.set(lanes).valid_when(io.spill.valid_o);
        let taken = (io.spill.valid_o & io.spill.ready_i).named("spill_taken");

        let mut spare = taken;
        let mut value = m.lit(self.value_bits(), 0);
        for k in (0..SOURCES).rev() {
            let (operand, collected) = (reading[k], &io.operand[k]);
            let port = state
                .values
                .read(format!("operand{k}"), used[k].mux(operand.row, row), used[k] | spare)
                .lanes(used[k].mux(operand.lanes, lanes))
                .get("value");
            value = used[k].mux(value, port);
            spare = spare & used[k];
            self.deliver(m, collected, k, operand.lanes, port);
        }
        io.spill.value_o.set(value).valid_when(io.spill.valid_o);
        Spilled { evicted: taken & evicting, flushed: taken & !evicting }
    }

    /// Holds an operand for the cycle after its read.
    fn deliver<'m>(
        &self,
        m: &Module<'m>,
        operand: &CollectedIo<'m>,
        k: usize,
        lanes: Signal<'m>,
        value: Signal<'m>,
    ) {
        let held_lanes = m.register(format!("operand{k}_lanes"), self.lanes).reset(0);
        let held_value = m.register(format!("operand{k}_value"), self.value_bits()).no_reset();
        held_lanes.set(lanes);
        m.when(lanes.any(), || {
            held_value.set(value);
        });
        operand.lanes_o.set(held_lanes);
        operand.value_o.set(held_value & held_lanes.spread(LANE_BITS));
    }

    /// Takes the result if its entry can be written now.
    fn write_result<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        target: &Target<'m>,
        evicted: Signal<'m>,
        used: Signal<'m>,
    ) {
        let result = &io.result;
        let present = io.result_clean_i & target.hit;
        result.ready_o.set(present | (!target.pinned & (!target.must_evict | evicted)));
        let taken = (result.valid_i & result.ready_o & !present).named("result_taken");
        let kept = target.hit.replicate(self.lanes);
        let held = (target.held & kept) | result.lanes_i;
        let newer = result.lanes_i & !io.result_clean_i.replicate(self.lanes);
        let dirty = (target.dirty & kept) | newer;
        for (w, way) in state.ways.iter().enumerate() {
            m.when(taken & target.entry.bit(w), || {
                way.write(
                    "allocate",
                    io.result_slot_i,
                    [
                        ("register", result.register_i),
                        ("held", held),
                        ("dirty", dirty),
                        ("idle", io.result_idle_i),
                    ],
                );
            });
        }
        let (before, renews) = match self.replacement {
            Replacement::Fifo => (target.newer, !target.hit),
            Replacement::Lru => {
                let same = io.lookup.valid_i & io.lookup.slot_i.eq(io.result_slot_i);
                (same.mux(recency::touch(target.newer, used), target.newer), m.lit(1, 1))
            }
        };
        m.when(taken, || {
            state.values.write("result", target.row, [("value", result.value_i)]).lanes(result.lanes_i);
            m.when(renews, || {
                state.order.write(
                    "allocate",
                    io.result_slot_i,
                    [("newer", recency::touch(before, target.entry))],
                );
            });
        });
        m.assumption(
            "a_result_does_not_enter_a_slot_that_is_flushed",
            taken.implies(!state.flushing.lane_select(io.result_slot_i, 1)),
        );
    }

    /// Starts a flush, notes what has been written back, and ends the flush when nothing is dirty any more.
    fn advance_flush<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        flush: Flush<'m>,
        written_back: Signal<'m>,
    ) {
        let done = (flush.active & !flush.leaving.valid).named("flush_is_done");
        let discard = io.flush.valid_i & io.flush.discard_i;
        let start = io.flush.valid_i & !io.flush.discard_i;
        for (w, way) in state.ways.iter().enumerate() {
            m.when(written_back & flush.entry.bit(w), || {
                way.write("clean", flush.slot, [("dirty", m.lit(self.lanes, 0))]).keep_valid();
            });
            m.when(done, || way.clear_row(flush.slot));
            m.when(discard, || way.clear_row(io.flush.slot_i));
        }
        let starting = start.replicate(self.slots) & io.flush.slot_i.decode(self.slots);
        let ending = done.replicate(self.slots) & flush.slot.decode(self.slots);
        state.flushing.set((state.flushing | starting) & !ending);
    }
}

/// Where a result goes.
struct Target<'m> {
    /// The entry, one-hot.
    entry: Signal<'m>,
    /// It holds the register already.
    hit: Signal<'m>,
    /// Order of the slot's entries.
    newer: Signal<'m>,
    /// Row of its value.
    row: Signal<'m>,
    /// An operand has still to be read from it.
    pinned: Signal<'m>,
    /// Lanes it holds.
    held: Signal<'m>,
    /// Lanes of these that the main register file does not have.
    dirty: Signal<'m>,
    /// It holds another register with dirty lanes.
    must_evict: Signal<'m>,
    eviction: Leaving<'m>,
}

/// What has been written to the main register file in this cycle.
struct Spilled<'m> {
    evicted: Signal<'m>,
    flushed: Signal<'m>,
}

/// The flush under way.
#[derive(Clone, Copy)]
struct Flush<'m> {
    active: Signal<'m>,
    slot: Signal<'m>,
    /// The entry written back next, one-hot.
    entry: Signal<'m>,
    leaving: Leaving<'m>,
}

//! The register file cache.

use serde::{Deserialize, Serialize};

use super::cache_ports::{CacheLookupIo, CollectedIo, RegisterFileCacheIo};
use crate::parts::recency;
use crate::regfile::collector_groups::{WAYS, numbered};
use crate::regfile::{LANE_BITS, SOURCES, WarpLanes, WarpRegister, Widths};
use crate::rtl::{
    Circuit, Documented, Field, Module, ParameterError, Read, Record, Signal, Table, index_bits,
};

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
/// For each instruction a cycle there are three read ports, one an operand, and a write port, one a result. There is no
/// port for spills: one register a cycle leaves, through a read port of the last group of collectors that no operand
/// needs, or it waits. An entry is not given to another register or overwritten while an operand has still to be read
/// from it.
///
/// Two results for one slot in one cycle are as one after the other: the second is taken only with the first, and waits
/// if it goes to the same entry. Of two that evict, the first is taken. Of two lookups that of the second group is the
/// later use.
///
/// With `shared` registers are those of any number of warps: every result goes to the main register file too, so that nothing is
/// dirty and a result that is not taken is in the main register file only. A write of a register ends the copies that other
/// slots have of it.
///
/// Timing: a lookup answers in the same cycle. Operands found here are read when their instruction is dispatched and
/// are out in the next cycle. A result is taken in the cycle it is offered or not at all, and is seen by lookups from
/// the next cycle on.
/// Source: Gebhart et al., ISCA 2011, §3.1, §3.3, §5.3 and Fig. 5 (3R/1W, one entry a warp register); for two instructions
/// 6R/2W, as Bailey et al. provide, "Scratch That (But Cache This)", §III-A.3. `shared` is ours.
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
    /// Operand collectors of each group, 2 to 32.
    pub collectors: usize,
    /// Instructions a cycle, each with a group of collectors; 1 or 2.
    pub issues: usize,
    /// Whether a register may be read in several slots; for one instruction a cycle.
    pub shared: bool,
}

/// An entry of a slot; valid if it has been given to a register.
#[derive(Clone, Copy, Record)]
#[params(RegisterFileCache)]
struct Way<T = Field> {
    #[bits(p.register_bits)]
    register: T,
    /// Lanes that are here.
    #[bits(p.lanes)]
    #[lanes(p.lanes)]
    held: T,
    /// Lanes that the main register file does not have.
    #[bits(p.lanes)]
    #[lanes(p.lanes)]
    dirty: T,
    /// Not read before the next suspension.
    idle: T,
}

/// The order of a slot's entries.
#[derive(Clone, Copy, Record)]
#[params(RegisterFileCache)]
struct Order<T = Field> {
    /// See [`recency`].
    #[bits(p.entries * p.entries)]
    newer: T,
}

/// An operand found here that has still to be read.
#[derive(Clone, Copy, Record)]
#[params(RegisterFileCache)]
struct Pending<T = Field> {
    #[bits(p.lanes)]
    lanes: T,
    /// See [`RegisterFileCache::row`].
    #[bits(index_bits(p.rows()))]
    row: T,
}

/// What a lookup finds; entries one bit each.
struct Found<'m> {
    /// The entries of the slot.
    ways: Vec<Read<'m, Way>>,
    pending: Vec<Pending<Signal<'m>>>,
    /// Entries with an operand that is read for the last time.
    ended: Signal<'m>,
    /// Entries with an operand that is idle from now on.
    idle: Signal<'m>,
    /// Entries with an operand that is read.
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
    ways: Vec<Table<'m, Way>>,
    /// Values; see [`RegisterFileCache::row`].
    values: Table<'m, WarpRegister>,
    /// A row a slot.
    order: Table<'m, Order>,
    /// Operands found here that have still to be read, a row a collector; for each group a table an operand position.
    reads: Vec<[Table<'m, Pending>; SOURCES]>,
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

    /// Rows of `values`.
    fn rows(&self) -> usize {
        ((self.entries - 1) << index_bits(self.slots)) + self.slots
    }

    fn state<'m>(&self, m: &Module<'m>) -> State<'m> {
        let way = |w| m.table::<Way>(format!("way{w}"), self.slots, self).valid_bits();
        let lanes = WarpLanes { lanes: self.lanes, per_array: self.lanes_per_cluster };
        let values =
            m.table::<WarpRegister>("values", self.rows(), &lanes).ports(self.issues * SOURCES, self.issues);
        let reads = |group| {
            let name = |k| self.of_operand("read", group, k);
            [0, 1, 2].map(|k| m.table::<Pending>(name(k), self.collectors, self).valid_bits())
        };
        let reads = (0..self.issues).map(reads).collect();
        State {
            ways: (0..self.entries).map(way).collect(),
            values,
            order: m.table("order", self.slots, self),
            reads,
            flushing: m.register("flushing", self.slots).reset(0),
        }
    }

    /// The name of a part that belongs to operand `k` of a group.
    fn of_operand(&self, name: &str, group: usize, k: usize) -> String {
        if self.issues > 1 { format!("{name}{group}_{k}") } else { format!("{name}{k}") }
    }

    /// The name of a part of which there is one for each instruction a cycle.
    fn numbered(&self, name: &str, number: usize) -> String {
        numbered(name, self.issues, number)
    }

    /// Row of `values`: the slot in the low bits, the entry above.
    fn row<'m>(&self, m: &Module<'m>, state: &State<'m>, slot: Signal<'m>, way: Signal<'m>) -> Signal<'m> {
        m.cat([slot, way]).low(state.values.index_bits())
    }
}

/// The entries of a slot, as one port sees them.
fn read_slot<'m>(state: &State<'m>, name: &str, slot: Signal<'m>, enable: Signal<'m>) -> Vec<Read<'m, Way>> {
    state.ways.iter().map(|way| way.read(name, slot, enable)).collect()
}

/// Which entry holds `register`, one bit an entry.
fn entry_of<'m>(m: &Module<'m>, ways: &[Read<'m, Way>], register: Signal<'m>) -> Signal<'m> {
    m.cat(ways.iter().map(|way| way.valid() & way.register.eq(register)))
}

/// Whether a lookup is in a slot.
fn is_in<'m>(lookup: &CacheLookupIo<'m>, slot: Signal<'m>) -> Signal<'m> {
    lookup.valid_i & lookup.slot_i.eq(slot)
}

/// The order of a slot's entries when the operands of these lookups, one a group, have been used.
fn after_uses<'m>(
    io: &RegisterFileCacheIo<'m>,
    lookups: &[Found<'m>],
    slot: Signal<'m>,
    newer: Signal<'m>,
) -> Signal<'m> {
    lookups.iter().zip(&io.lookup).fold(newer, |newer, (found, lookup)| {
        is_in(lookup, slot).mux(recency::touch(newer, found.used), newer)
    })
}

/// A field of the entry that `select` (one-hot) names; 0 if it names none.
fn select<'m>(
    m: &Module<'m>,
    select: Signal<'m>,
    ways: &[Read<'m, Way>],
    field: impl Fn(&Way<Signal<'m>>) -> Signal<'m>,
) -> Signal<'m> {
    select.one_hot_select(m.cat(ways.iter().map(|way| field(way))))
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
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("issues", self.issues, 1..=WAYS)?;
        Self::check(!self.shared || self.issues == 1, "issues", self.issues, "1 with shared registers")
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterFileCacheIo<'m>) {
        let state = self.state(m);
        let found: Vec<_> = (0..self.issues).map(|group| self.look_up(m, io, &state, group)).collect();
        for group in 0..self.issues {
            self.end_copies(m, io, &state, &found[..=group]);
        }
        let mut pending: Vec<_> = found.iter().flat_map(|found| found.pending.iter().copied()).collect();
        for (group, found) in found.iter().enumerate() {
            pending.extend(self.keep_until_collected(m, io, &state, group, &found.pending));
        }
        let reading: Vec<_> = (0..self.issues).map(|group| self.start_reads(m, io, &state, group)).collect();
        self.invalidate(m, io, &state);
        let flush = self.next_flush(m, io, &state);
        let mut targets: Vec<Target<'m>> = Vec::new();
        for port in 0..self.issues {
            targets.push(self.choose_target(m, io, &state, &pending, port, targets.last()));
        }
        let evictions: Vec<_> = targets.iter().map(|target| target.eviction).collect();
        let spill = self.spill(m, io, &state, &evictions, flush.leaving, &reading);
        let mut before = None;
        for (port, target) in targets.iter().enumerate() {
            before =
                Some(self.write_result(m, io, &state, (port, target), &found, (spill.evicted[port], before)));
        }
        self.advance_flush(m, io, &state, flush, spill.flushed);
    }
}

impl RegisterFileCache {
    /// Finds the operands of a group's instruction.
    fn look_up<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        group: usize,
    ) -> Found<'m> {
        let lookup = &io.lookup[group];
        let ways = read_slot(state, &self.numbered("lookup", group), lookup.slot_i, lookup.valid_i);
        let mut ended = m.lit(self.entries, 0);
        let mut idle = m.lit(self.entries, 0);
        let mut used = m.lit(self.entries, 0);
        let mut pending = Vec::new();
        for (k, source) in lookup.source.iter().enumerate() {
            let wanted = lookup.valid_i & source.valid_i;
            let entry = entry_of(m, &ways, source.register_i) & wanted.replicate(self.entries);
            let lanes = select(m, entry, &ways, |way| way.held) & lookup.active_i;
            source.lanes_o.set(lanes).valid_when(lookup.valid_i);
            let read_last = if self.liveness { source.last_read_i } else { m.lit(1, 0) };
            ended = ended | (entry & read_last.replicate(self.entries));
            idle = idle | (entry & source.idle_i.replicate(self.entries));
            used = used | (entry & lanes.any().replicate(self.entries));
            m.invariant(self.of_operand("a_register_has_one_entry_", group, k), entry.popcount().le(1));
            let row = self.row(m, state, lookup.slot_i, entry.priority_encode());
            pending.push(Pending { lanes, row });
        }
        Found { ways, pending, ended, idle, used }
    }

    /// Ends or marks the copies that the last of these lookups, one a group, has found as the compiler says. The lookups
    /// before it do the same in this cycle, perhaps in the same slot.
    fn end_copies<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        lookups: &[Found<'m>],
    ) {
        let [earlier @ .., found] = lookups else { return };
        let group = earlier.len();
        let lookup = &io.lookup[group];
        let marked = earlier.iter().zip(&io.lookup).fold(found.idle, |marked, (other, other_io)| {
            marked | (other.idle & is_in(other_io, lookup.slot_i).replicate(self.entries))
        });
        for (w, way) in state.ways.iter().enumerate() {
            let lanes = lookup.active_i & found.ended.bit(w).replicate(self.lanes);
            let now_idle = found.ways[w].idle | marked.bit(w);
            m.when(lookup.valid_i & (found.ended.bit(w) | found.idle.bit(w)), || {
                let none = m.lit(self.lanes, 0);
                way.write_fields(self.numbered("end_copies", group), lookup.slot_i, |way| {
                    [(way.held, none), (way.dirty, none), (way.idle, now_idle)]
                })
                .lanes(lanes)
                .keep_valid();
            });
        }
        if self.replacement == Replacement::Lru {
            let port = self.numbered("lookup", group);
            let order = state.order.read(port, lookup.slot_i, lookup.valid_i).newer;
            let before = after_uses(io, earlier, lookup.slot_i, order);
            m.when(lookup.valid_i, || {
                let order = Order { newer: recency::touch(before, found.used) };
                state.order.write(self.numbered("use", group), lookup.slot_i, order);
            });
        }
    }

    /// Keeps the operands of the instruction that a group looked up last until it gets a collector, then there.
    fn keep_until_collected<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        group: usize,
        found: &[Pending<Signal<'m>>],
    ) -> Vec<Pending<Signal<'m>>> {
        let (waiting, collect) = (io.waiting_i[group], &io.collect[group]);
        let keep = |(k, found): (usize, &Pending<Signal<'m>>)| {
            let lanes = m.register(self.of_operand("waiting_lanes", group, k), self.lanes).reset(0);
            let row = m.register(self.of_operand("waiting_row", group, k), found.row.width()).no_reset();
            m.when(io.lookup[group].valid_i, || {
                lanes.set(found.lanes);
                row.set(found.row);
            });
            let here = waiting & lanes.any();
            m.when(collect.valid_i & here, || {
                state.reads[group][k].write("collect", collect.index_i, Pending { lanes, row });
            });
            Pending { lanes: lanes & waiting.replicate(self.lanes), row }
        };
        found.iter().enumerate().map(keep).collect()
    }

    /// The operands that the dispatched instruction of a group reads here.
    fn start_reads<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        group: usize,
    ) -> Vec<Pending<Signal<'m>>> {
        let dispatch = &io.dispatch[group];
        let start = |table: &Table<'m, Pending>| {
            let read = table.read("dispatch", dispatch.index_i, dispatch.valid_i);
            m.when(dispatch.valid_i, || table.clear_row(dispatch.index_i));
            let here = dispatch.valid_i & read.valid();
            Pending { lanes: read.lanes & here.replicate(self.lanes), row: read.row }
        };
        state.reads[group].iter().map(start).collect()
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
                    way.write_fields(format!("clear{i}"), write.slot_i, |way| {
                        [(way.held, none), (way.dirty, none)]
                    })
                    .lanes(write.lanes_i)
                    .keep_valid();
                });
                if self.shared {
                    let others = !write.slot_i.decode(self.slots);
                    let copies = way.matching(format!("written{i}"), write.valid_i, |way| {
                        way.valid() & way.register.eq(write.register_i)
                    });
                    let stale = copies & others;
                    m.when(write.valid_i, || way.clear_rows(stale));
                }
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
        let dirty = m.cat(ways.iter().map(|way| active & way.valid() & way.dirty.any()));
        let entry = dirty.lowest_one();
        Flush {
            active,
            slot,
            entry,
            leaving: Leaving {
                valid: dirty.any(),
                register: select(m, entry, &ways, |way| way.register),
                lanes: select(m, entry, &ways, |way| way.dirty),
                row: self.row(m, state, slot, entry.priority_encode()),
            },
        }
    }

    /// The entry that the result of a port goes to, and what has to leave it; `first` is where that of the port before
    /// goes.
    fn choose_target<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        pending: &[Pending<Signal<'m>>],
        port: usize,
        first: Option<&Target<'m>>,
    ) -> Target<'m> {
        let (result, slot) = (&io.result[port], io.result_slot_i[port]);
        let name = self.numbered("result", port);
        let ways = read_slot(state, &name, slot, result.valid_i);
        let entry = entry_of(m, &ways, result.register_i);
        let hit = entry.any().named(self.numbered("result_hits", port));
        let newer = state.order.read(name.clone(), slot, result.valid_i).newer;
        let beside = first.map(|first| self.beside(io, port, first));
        let entry = hit.mux(entry, self.victim(m, &ways, newer, beside));
        let row = self.row(m, state, slot, entry.priority_encode());
        let pinned =
            self.is_pinned(state, &name, row, pending).named(self.numbered("target_is_pinned", port));

        let occupied = entry & m.cat(ways.iter().map(|way| way.valid()));
        let held = select(m, occupied, &ways, |way| way.held);
        let dirty = select(m, occupied, &ways, |way| way.dirty);
        let must_evict = !hit & dirty.any();
        let behind = first.zip(beside).map(|(first, beside)| Behind {
            same_slot: beside.same_slot,
            clashes: beside.same_slot & !(entry & !first.entry).any(),
        });
        let has_entry = result.valid_i.implies(entry.popcount().eq(1));
        m.invariant(
            self.numbered("a_result_has_one_entry", port),
            behind.map_or(has_entry, |behind| has_entry | behind.same_slot),
        );
        m.invariant(
            self.numbered("dirty_lanes_are_held", port),
            result.valid_i.implies(!(dirty & !held).any()),
        );
        let leaves = result.valid_i & must_evict & !pinned;
        let leaves = first.zip(behind).map_or(leaves, |(first, Behind { same_slot, clashes })| {
            leaves & !clashes & !(same_slot & first.pinned) & !first.eviction.valid
        });
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
                valid: leaves,
                register: select(m, entry, &ways, |way| way.register),
                lanes: dirty,
                row,
            },
            behind,
        }
    }

    /// What the result of the port before changes for the result of `port`.
    fn beside<'m>(&self, io: &RegisterFileCacheIo<'m>, port: usize, first: &Target<'m>) -> Beside<'m> {
        let both = io.result[port - 1].valid_i & io.result[port].valid_i;
        let same_slot = both & io.result_slot_i[port - 1].eq(io.result_slot_i[port]);
        let entry = first.entry & same_slot.replicate(self.entries);
        let renewed = match self.replacement {
            Replacement::Fifo => entry & (!first.hit).replicate(self.entries),
            Replacement::Lru => entry,
        };
        Beside {
            same_slot: same_slot.named("results_for_one_slot"),
            entry,
            renewed,
            idle: io.result_idle_i[port - 1],
        }
    }

    /// The entry that makes room, one-hot: a free one, else an idle one if asked for, else the oldest. None if that is
    /// the one to which the result `beside` goes.
    fn victim<'m>(
        &self,
        m: &Module<'m>,
        ways: &[Read<'m, Way>],
        newer: Signal<'m>,
        beside: Option<Beside<'m>>,
    ) -> Signal<'m> {
        let free = m.cat(ways.iter().map(|way| !(way.valid() & way.held.any())));
        let free = beside.map_or(free, |beside| free & !beside.entry);
        let all = m.ones(self.entries);
        let candidates = if self.evict_idle_first {
            let idle = m.cat(ways.iter().map(|way| way.idle));
            let idle = beside.map_or(idle, |beside| {
                (idle & !beside.entry) | (beside.entry & beside.idle.replicate(self.entries))
            });
            idle.any().mux(idle, all)
        } else {
            all
        };
        let candidates = beside.map_or(candidates, |beside| candidates & !beside.renewed);
        free.any().mux(free.lowest_one(), recency::oldest(m, newer, candidates))
    }

    /// Whether an operand has still to be read from `row`.
    fn is_pinned<'m>(
        &self,
        state: &State<'m>,
        port: &str,
        row: Signal<'m>,
        pending: &[Pending<Signal<'m>>],
    ) -> Signal<'m> {
        let collected = state
            .reads
            .iter()
            .flatten()
            .map(|table| table.matching(port, 1, |read| read.valid() & read.row.eq(row)).any());
        let on_the_way = pending.iter().map(|operand| operand.lanes.any() & operand.row.eq(row));
        let pins: Vec<Signal<'m>> = collected.chain(on_the_way).collect();
        pins[1..].iter().fold(pins[0], |a, &b| a | b)
    }

    /// Reads the operands, and with a port of the last group that is left over the register that leaves: an evicted one
    /// first. Of `evictions`, one a result, one at most is valid.
    fn spill<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        evictions: &[Leaving<'m>],
        flush: Leaving<'m>,
        reading: &[Vec<Pending<Signal<'m>>>],
    ) -> Spilled<'m> {
        let leaving = |of: fn(&Leaving<'m>) -> Signal<'m>| {
            evictions.iter().rev().fold(of(&flush), |next, eviction| eviction.valid.mux(of(eviction), next))
        };
        let evicting = evictions[1..].iter().fold(evictions[0].valid, |any, eviction| any | eviction.valid);
        let row = leaving(|leaving| leaving.row);
        let lanes = leaving(|leaving| leaving.lanes);
        let last = self.issues - 1;
        let used: Vec<Signal<'m>> = reading[last].iter().map(|operand| operand.lanes.any()).collect();
        let taken = match io.spill.first() {
            Some(spill) => {
                spill.valid_o.set((evicting | flush.valid) & !(used[0] & used[1] & used[2]));
                spill.register_o.set(leaving(|leaving| leaving.register)).valid_when(spill.valid_o);
                spill.lanes_o.set(lanes).valid_when(spill.valid_o);
                (spill.valid_o & spill.ready_i).named("spill_taken")
            }
            None => m.lit(1, 0),
        };

        let mut spare = taken;
        let mut value = m.lit(self.value_bits(), 0);
        for k in (0..SOURCES).rev() {
            let operand = reading[last][k];
            let index = last * SOURCES + k;
            let port = state
                .values
                .read(format!("operand{index}"), used[k].mux(operand.row, row), used[k] | spare)
                .lanes(used[k].mux(operand.lanes, lanes))
                .value;
            value = used[k].mux(value, port);
            spare = spare & used[k];
            self.deliver(m, &io.operand[index], index, operand.lanes, port);
        }
        for (index, operand) in reading[..last].iter().flatten().enumerate() {
            let port = state
                .values
                .read(format!("operand{index}"), operand.row, operand.lanes.any())
                .lanes(operand.lanes)
                .value;
            self.deliver(m, &io.operand[index], index, operand.lanes, port);
        }
        if let Some(spill) = io.spill.first() {
            spill.value_o.set(value).valid_when(spill.valid_o);
        }
        Spilled {
            evicted: evictions.iter().map(|eviction| taken & eviction.valid).collect(),
            flushed: taken & !evicting,
        }
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

    /// Takes the result of a port if its entry can be written now; `evicted` says that its eviction is done, `first` is the
    /// result of the port before. Gives what the next one has to know.
    fn write_result<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterFileCacheIo<'m>,
        state: &State<'m>,
        (port, target): (usize, &Target<'m>),
        found: &[Found<'m>],
        (evicted, first): (Signal<'m>, Option<Written<'m>>),
    ) -> Written<'m> {
        let (result, slot) = (&io.result[port], io.result_slot_i[port]);
        // Only the last port is given values that the main register file has too.
        let clean = (port + 1 == self.issues).then_some(io.result_clean_i);
        let present = clean.map(|clean| clean & target.hit);
        let ready = !target.pinned & (!target.must_evict | evicted);
        let behind = first.zip(target.behind);
        let ready = behind.map_or(ready, |(first, Behind { same_slot, clashes })| {
            ready & !clashes & same_slot.implies(first.taken)
        });
        let ready = present.map_or(ready, |present| present | ready);
        result.ready_o.set(ready);
        let offered = result.valid_i & result.ready_o;
        let taken = present.map_or(offered, |present| offered & !present);
        let taken = taken.named(self.numbered("result_taken", port));
        let kept = target.hit.replicate(self.lanes);
        let held = (target.held & kept) | result.lanes_i;
        let newer = clean.map_or(result.lanes_i, |clean| result.lanes_i & !clean.replicate(self.lanes));
        let dirty = if self.shared { m.lit(self.lanes, 0) } else { (target.dirty & kept) | newer };
        for (w, way) in state.ways.iter().enumerate() {
            m.when(taken & target.entry.bit(w), || {
                let entry = Way { register: result.register_i, held, dirty, idle: io.result_idle_i[port] };
                way.write(self.numbered("allocate", port), slot, entry);
            });
        }
        let (before, renews) = match self.replacement {
            Replacement::Fifo => (target.newer, !target.hit),
            Replacement::Lru => (after_uses(io, found, slot, target.newer), m.lit(1, 1)),
        };
        let before = behind.map_or(before, |(first, Behind { same_slot, .. })| {
            (same_slot & first.renews).mux(first.order, before)
        });
        let order = recency::touch(before, target.entry);
        m.when(taken, || {
            state
                .values
                .write(self.numbered("result", port), target.row, WarpRegister { value: result.value_i })
                .lanes(result.lanes_i);
            m.when(renews, || {
                state.order.write(self.numbered("allocate", port), slot, Order { newer: order });
            });
        });
        m.assumption(
            self.numbered("a_result_does_not_enter_a_slot_that_is_flushed", port),
            taken.implies(!state.flushing.lane_select(slot, 1)),
        );
        if let Some(first) = first {
            let both = first.taken & taken & io.result_slot_i[port - 1].eq(slot);
            let apart = !(first.entry & target.entry).any() & target.entry.popcount().eq(1);
            m.invariant("results_taken_together_get_an_entry_each", both.implies(apart));
            m.invariant("a_register_leaves_for_a_result_that_is_taken", evicted.implies(taken));
        }
        Written { taken, entry: target.entry, renews, order }
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
                let none = m.lit(self.lanes, 0);
                way.write_fields("clean", flush.slot, |way| [(way.dirty, none)]).keep_valid();
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
    /// `None` for the first port.
    behind: Option<Behind<'m>>,
}

/// How a result meets that of the port before.
#[derive(Clone, Copy)]
struct Behind<'m> {
    /// Both go to one slot.
    same_slot: Signal<'m>,
    /// And to one entry, or there is none left for this one.
    clashes: Signal<'m>,
}

/// What the result of the port before changes for a result.
#[derive(Clone, Copy)]
struct Beside<'m> {
    /// Both go to one slot.
    same_slot: Signal<'m>,
    /// Then the entry of the result before, one-hot; else 0.
    entry: Signal<'m>,
    /// The same if that makes it the newest entry; else 0.
    renewed: Signal<'m>,
    /// The value there is idle from now on.
    idle: Signal<'m>,
}

/// A result that is written, or would be.
#[derive(Clone, Copy)]
struct Written<'m> {
    taken: Signal<'m>,
    /// Its entry, one-hot.
    entry: Signal<'m>,
    /// That makes it the newest entry.
    renews: Signal<'m>,
    /// Order of the slot's entries then.
    order: Signal<'m>,
}

/// What has been written to the main register file in this cycle.
struct Spilled<'m> {
    /// To make room, one bit a result.
    evicted: Vec<Signal<'m>>,
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

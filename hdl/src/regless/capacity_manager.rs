//! The capacity manager.

use std::cell::Cell;

use serde::{Deserialize, Serialize};

use super::geometry::{ISSUES, NOTES, RESULTS, SOURCES, ShardGeometry};
use super::line_ledger::{LineLedger, LineLedgerIo};
use super::manager_ports::CapacityManagerIo;
use super::metadata_store::{MetadataStore, MetadataStoreIo, StoredNoteIo};
use super::warp_stack::{WarpStack, WarpStackIo};
use crate::rtl::{Circuit, Documented, Module, ParameterError, Signal, count_bits};

/// Capacity manager (CM): decides which warps have lines in the staging unit, and so which may issue.
///
/// A warp is inactive, preloading, active or draining. An inactive warp with a region that waits is pushed on the
/// warp stack, unless it is told to wait (at a barrier). The region of the warp on top is begun when every bank has
/// as many lines left as the region uses there, and the annotations of the region before have gone to the banks.
/// Its annotations go, up to one a bank in a cycle. When all are served and all fetched lines are filled, the
/// warp is active. When its region's last instruction has been taken, it drains: lines without a write to come are
/// given back when all accesses have been served; when the last write has been taken the warp is inactive again. In a
/// cycle one warp is pushed at most, and one gives lines back: of several the lowest-numbered.
///
/// Timing: a warp is pushed, its region begun and the first annotations sent in one cycle, the one after the region
/// came at the earliest. A cycle's last annotation, access or write counts in that cycle; the state that follows is seen
/// from the next.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5.1 and Fig. 9.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct CapacityManager {
    /// Warps, banks and lines of the shard.
    pub geometry: ShardGeometry,
    /// Words of metadata kept for a warp, a power of two from 2 to 64.
    pub metadata_words: usize,
    /// Accesses that can wait at each bank, 2 to 16.
    pub queue: usize,
    /// Ports for results, 1 to 8.
    pub writes: usize,
    /// Instructions taken a cycle, 1 or 2.
    pub issues: usize,
}

/// A capacity manager while it is described.
struct Manager<'c, 'm> {
    circuit: &'c CapacityManager,
    g: ShardGeometry,
    m: &'c Module<'m>,
    io: &'c CapacityManagerIo<'m>,
    store: MetadataStoreIo<'m>,
    stack: WarpStackIo<'m>,
    ledgers: Vec<LineLedgerIo<'m>>,
    states: States<'m>,
    sender: Sender<'m>,
}

/// Whose annotations are on their way to the banks.
struct Sender<'m> {
    /// Some are left from the cycle before.
    sending: Signal<'m>,
    /// Their warp.
    warp: Signal<'m>,
}

/// One bit a warp.
struct States<'m> {
    /// Inactive, and on the stack.
    stacked: Signal<'m>,
    preloading: Signal<'m>,
    active: Signal<'m>,
    draining: Signal<'m>,
    /// Draining, and all accesses have been served.
    settled: Signal<'m>,
}

/// Annotations that go to the banks.
struct Notes<'m> {
    /// Their warp.
    warp: Signal<'m>,
    /// How many go in this cycle.
    count: Signal<'m>,
    /// Some are left, or there may be some.
    left: Signal<'m>,
}

/// A region that begins.
struct Begun<'m> {
    /// There is one.
    begins: Signal<'m>,
    /// Its warp.
    warp: Signal<'m>,
}

/// Warps whose state changes, one bit a warp.
struct Change<'m> {
    pushed: Signal<'m>,
    /// A region begins.
    begun: Signal<'m>,
    /// Everything is staged.
    ready: Signal<'m>,
    /// The last instruction of the region has been taken.
    last: Signal<'m>,
    /// All accesses have been served.
    settled: Signal<'m>,
    /// All writes have been taken.
    drained: Signal<'m>,
}

impl Circuit for CapacityManager {
    type Io<'m> = CapacityManagerIo<'m>;
    const NAME: &'static str = "capacity_manager";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("metadata_words", self.metadata_words, 2..=64)?;
        let words = self.metadata_words;
        Self::check(words.is_power_of_two(), "metadata_words", words, "a power of two")?;
        Self::check_range("queue", self.queue, 2..=16)?;
        Self::check_range("writes", self.writes, 1..=8)?;
        Self::check_range("issues", self.issues, 1..=ISSUES)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &CapacityManagerIo<'m>) {
        let manager = Manager::new(self, m, io);
        m.pass_through(&io.metadata, &manager.store.metadata);
        let pushed = manager.push_warp();
        let region = manager.begin_region();
        let notes = manager.send_notes(&region);
        let begun = manager.one_hot(region.begins, region.warp);
        let ready = (manager.states.preloading | begun) & !manager.count_notes(&notes);
        let settled = manager.settle(manager.count_accesses());
        let drained = (manager.states.settled | settled) & !manager.count_writes();
        let none = m.lit(self.geometry.warps, 0);
        let last = io
            .issue
            .iter()
            .fold(none, |last, issue| last | manager.one_hot(issue.taken_i & issue.last_i, issue.warp_i));
        manager.change_states(&Change { pushed, begun, ready, last, settled, drained });
    }
}

impl<'c, 'm> Manager<'c, 'm> {
    fn new(
        circuit: &'c CapacityManager,
        m: &'c Module<'m>,
        io: &'c CapacityManagerIo<'m>,
    ) -> Manager<'c, 'm> {
        let g = circuit.geometry;
        let store = m.instance("store", MetadataStore { geometry: g, words: circuit.metadata_words });
        let stack = m.instance("stack", WarpStack { warps: g.warps });
        let ledger = |b| m.instance(format!("ledger{b}"), LineLedger { geometry: g });
        let ledgers: Vec<LineLedgerIo<'m>> = (0..g.banks).map(ledger).collect();
        let warps = |name: &str| m.register(name, g.warps).reset(0);
        let states = States {
            stacked: warps("stacked"),
            preloading: warps("preloading"),
            active: warps("active"),
            draining: warps("draining"),
            settled: warps("settled"),
        };
        let sender = Sender {
            sending: m.register("sending", 1).reset(0),
            warp: m.register("sending_warp", g.warp_bits()).no_reset(),
        };
        Manager { circuit, g, m, io, store, stack, ledgers, states, sender }
    }

    /// The bit of `warp`, if `valid`.
    fn one_hot(&self, valid: Signal<'m>, warp: Signal<'m>) -> Signal<'m> {
        warp.decode(self.g.warps) & valid.replicate(self.g.warps)
    }

    fn inactive(&self) -> Signal<'m> {
        !(self.states.preloading | self.states.active | self.states.draining)
    }

    /// Pushes a warp that can go on. Gives it, one bit or none.
    fn push_warp(&self) -> Signal<'m> {
        let can_go_on = self.inactive() & !self.states.stacked & self.store.waits_o & !self.io.waiting_i;
        self.stack.push_valid_i.set(can_go_on.any());
        self.stack.push_warp_i.set(can_go_on.priority_encode());
        can_go_on.lowest_one()
    }

    /// Begins the region of the warp on top if it fits, and nothing is left to send of the one before.
    fn begin_region(&self) -> Begun<'m> {
        let (m, warp) = (self.m, self.stack.top_warp_o);
        let region = &self.store.region;
        region.warp_i.set(warp);
        let usage = |bank| self.g.usage_of_bank(m, region.usage_o, warp, bank);
        let fits = (self.ledgers.iter().enumerate()).map(|(b, ledger)| usage(b).le(ledger.left_o));
        let fits = m.cat(fits).all().named("fits");
        let begins = (self.stack.top_valid_o & fits & !self.sender.sending).named("begins");
        region.begins_i.set(begins);
        self.stack.pop_i.set(begins);
        for (b, ledger) in self.ledgers.iter().enumerate() {
            ledger.allow.valid_i.set(begins);
            ledger.allow.warp_i.set(warp);
            ledger.allow.lines_i.set(usage(b));
        }

        let fits_alone = m.cat((0..self.g.banks).map(|b| usage(b).le(self.g.lines))).all();
        let nothing_runs = self.inactive().all() & self.stack.top_valid_o & !self.sender.sending;
        m.invariant(
            "a_region_that_fits_begins_when_nothing_runs",
            (nothing_runs & fits_alone).implies(begins),
        );
        Begun { begins, warp }
    }

    /// Sends annotations of the region that begins, or of the one that began last, to the queues of their banks, one a
    /// bank.
    fn send_notes(&self, region: &Begun<'m>) -> Notes<'m> {
        let (m, g, word) = (self.m, &self.g, &self.store.word);
        let sends = region.begins | self.sender.sending;
        let warp = region.begins.mux(region.warp, self.sender.warp).named("sender");
        m.when(region.begins, || {
            self.sender.warp.set(region.warp);
        });
        // Annotations of the word that have gone to their banks.
        let sent = m.register("sent", NOTES).reset(0);
        word.warp_i.set(warp);
        let here = (sends & word.valid_o).named("word_here");
        let wanted = m.cat(word.note.iter().map(|note| note.valid_o)) & here.replicate(NOTES);
        let mut unsent = (wanted & !sent).named("unsent");
        let before = unsent;
        for (b, bank) in self.io.bank.iter().enumerate() {
            let of_bank = m.cat(word.note.iter().map(|note| g.in_bank(m, warp, note.register_o, b)));
            let chosen = (before & of_bank).lowest_one().named(format!("note{b}"));
            let select = |field: fn(&StoredNoteIo<'m>) -> Signal<'m>| {
                chosen.one_hot_select(m.cat(word.note.iter().map(field)))
            };
            let note = &bank.note;
            note.valid_o.set(chosen.any());
            note.kind_o.set(select(|note| note.kind_o)).valid_when(note.valid_o);
            note.register_o.set(select(|note| note.register_o)).valid_when(note.valid_o);
            note.warp_o.set(warp).valid_when(note.valid_o);
            unsent = unsent & !(chosen & note.ready_i.replicate(NOTES));
        }
        let word_ends = (here & !unsent.any()).named("word_ends");
        word.ready_i.set(word_ends);
        sent.set((wanted & !unsent) & !word_ends.replicate(NOTES));
        let left = (sends & !(word_ends & word.last_o)).named("notes_left");
        self.sender.sending.set(left);
        Notes { warp, count: (before & !unsent).popcount(), left }
    }

    /// Counts the annotations of each warp that have not been served, or whose line has not been filled. Gives the
    /// warps that have some, or that have some to send.
    fn count_notes(&self, notes: &Notes<'m>) -> Signal<'m> {
        let unserved = Counters::new(self, "unserved", 2 * self.g.banks * self.g.lines);
        unserved.add(notes.count.any(), notes.warp, notes.count);
        for bank in &self.io.bank {
            unserved.subtract(bank.staged.done_i, bank.staged.warp_i);
        }
        unserved.subtract(self.io.fill.valid_i, self.io.fill.warp_i);
        unserved.finish() | self.one_hot(notes.left, notes.warp)
    }

    /// Counts the accesses of each warp that have not been served. Gives the warps that have some.
    fn count_accesses(&self) -> Signal<'m> {
        let most = self.g.banks * self.circuit.queue + self.circuit.issues * (SOURCES + RESULTS);
        let unserved = Counters::new(self, "accesses", most);
        for issue in &self.io.issue {
            unserved.add(issue.taken_i, issue.warp_i, issue.accesses_i);
        }
        for bank in &self.io.bank {
            unserved.subtract(bank.served.valid_i, bank.served.warp_i);
        }
        unserved.finish()
    }

    /// Counts the writes of each warp that are to come (§5.1). Gives the warps that have some.
    fn count_writes(&self) -> Signal<'m> {
        let most = self.g.banks * self.g.lines + self.circuit.issues * RESULTS;
        let to_come = Counters::new(self, "writes", most);
        for issue in &self.io.issue {
            to_come.add(issue.taken_i, issue.warp_i, issue.writes_i);
        }
        for write in &self.io.write {
            to_come.subtract(write.taken_i, write.warp_i);
        }
        to_come.finish()
    }

    /// Lets a draining warp give back what it does not hold, once its accesses have been served: one a cycle. Gives
    /// it, one bit or none.
    fn settle(&self, accesses: Signal<'m>) -> Signal<'m> {
        let can_settle = (self.states.draining & !self.states.settled & !accesses).named("can_settle");
        for (ledger, bank) in self.ledgers.iter().zip(&self.io.bank) {
            ledger.settle.valid_i.set(can_settle.any());
            ledger.settle.warp_i.set(can_settle.priority_encode());
            ledger.more.valid_i.set(bank.held.more_i);
            ledger.more.warp_i.set(bank.held.warp_i);
            ledger.less.valid_i.set(bank.held.less_i);
            ledger.less.warp_i.set(bank.held.warp_i);
            ledger.written_less.valid_i.set(bank.held.written_less_i);
            ledger.written_less.warp_i.set(bank.held.written_warp_i);
            ledger.listed_i.set(bank.held.listed_i);
            bank.may_hold_o.set(ledger.may_hold_o);
        }
        can_settle.lowest_one()
    }

    fn change_states(&self, change: &Change<'m>) {
        let (m, states) = (self.m, &self.states);
        let Change { pushed, begun, ready, last, settled, drained } = *change;
        states.stacked.set((states.stacked | pushed) & !begun);
        states.preloading.set((states.preloading | begun) & !ready);
        states.active.set((states.active | ready) & !last);
        states.draining.set((states.draining | last) & !drained);
        states.settled.set((states.settled | settled) & !drained);
        self.io.active_o.set(states.active);
        self.io.inactive_o.set(self.inactive());

        let States { stacked, preloading, active, draining, .. } = states;
        let twice = (*preloading & (*active | *draining)) | (*active & *draining);
        m.invariant("a_warp_is_in_one_state", !twice.any());
        m.invariant("a_warp_on_the_stack_is_inactive", !(*stacked & !self.inactive()).any());
        m.assumption("only_an_active_warp_issues", !(last & !*active).any());
        m.invariant("only_a_draining_warp_has_settled", !(states.settled & !*draining).any());
        let none = m.lit(self.g.warps, 0);
        let may_hold = self.ledgers.iter().fold(none, |warps, ledger| warps | ledger.may_hold_o);
        m.invariant("an_inactive_warp_may_hold_no_line", !(may_hold & self.inactive()).any());
        let holders = self.ledgers.iter().fold(none, |holders, ledger| holders | ledger.holds_o);
        // By a region's end its lines are erased or on lists of their banks, which say so in the cycle in which it happens.
        m.assumption("a_warp_that_has_drained_holds_no_line", !(drained & holders).any());
        let stays_inactive = self.inactive() & !begun;
        m.invariant("an_inactive_warp_holds_no_line", !(holders & stays_inactive).any());
    }
}

/// One count a warp.
struct Counters<'c, 'm> {
    manager: &'c Manager<'c, 'm>,
    bits: usize,
    counts: Signal<'m>,
    next: Cell<Signal<'m>>,
}

impl<'c, 'm> Counters<'c, 'm> {
    /// Counts up to `most`. A count has whole bytes, of which software adds many at a time.
    fn new(manager: &'c Manager<'c, 'm>, name: &str, most: usize) -> Counters<'c, 'm> {
        let bits = count_bits(most).next_multiple_of(8);
        let counts = manager.m.register(name, manager.g.warps * bits).reset(0);
        Counters { manager, bits, counts, next: Cell::new(counts) }
    }

    fn add(&self, valid: Signal<'m>, warp: Signal<'m>, amount: Signal<'m>) {
        let warps = self.manager.g.warps;
        let amounts = amount.zext(self.bits).replicate(warps);
        let added = self.manager.one_hot(valid, warp).spread(self.bits) & amounts;
        self.next.set(self.next.get().lane_add(added, self.bits));
    }

    /// Counts one less.
    fn subtract(&self, valid: Signal<'m>, warp: Signal<'m>) {
        let minus_one = self.manager.one_hot(valid, warp).spread(self.bits);
        self.next.set(self.next.get().lane_add(minus_one, self.bits));
    }

    /// Gives the warps whose count is not 0 at the end of the cycle.
    fn finish(self) -> Signal<'m> {
        let next = self.next.get();
        self.counts.set(next);
        next.group_or(self.bits)
    }
}

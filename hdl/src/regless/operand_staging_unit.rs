//! The operand staging unit.

use serde::{Deserialize, Serialize};

use super::access_queue::{AccessQueue, PopIo};
use super::bank_ports::{PreloadIo, StagingBankIo};
use super::geometry::ShardGeometry;
use super::memory_ports::{RequestKind, RequestOutIo};
use super::ports::Note;
use super::staging_bank::StagingBank;
use super::unit_ports::{OperandStagingUnitIo, ResultIo};
use crate::parts::{ArbiterIo, Fifo, FifoIo, RoundRobinArbiter};
use crate::rtl::{Circuit, Documented, Module, ParameterError, Signal};

/// Operand staging unit (OSU): the registers of the warps whose regions run or are about to, in banks side by side.
///
/// Each bank serves its accesses in the order of issue, a preload in a cycle in which no access uses the tags, and
/// takes one result a cycle, of the lowest-numbered port that has one; a result waits while an older read of its
/// register waits. Preloads queue at each bank, as many as it has lines. Requests to memory of the banks take turns;
/// one that is offered stays until it is taken.
///
/// A warp's exit drops its lines at once, and is taken with the request that drops them in memory, behind all other
/// requests of the warp.
///
/// Timing: an access can be served in the cycle after it came; a source's value is out in the cycle after that. A
/// result is taken in the cycle it is offered or not at all, a fill always.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5.2 and Fig. 10.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct OperandStagingUnit {
    /// Warps, banks, lines and lanes.
    pub geometry: ShardGeometry,
    /// Accesses that can wait at each bank, 2 to 16.
    pub queue: usize,
    /// Bits that name the place in a read unit that waits for an access.
    pub place_bits: usize,
    /// Ports for results, 1 to 8.
    pub writes: usize,
    /// Lines may be without power.
    pub gated: bool,
}

/// A bank with its queues.
struct Bank<'m> {
    bank: StagingBankIo<'m>,
    access: PopIo<'m>,
    preloads: FifoIo<'m>,
    /// For each port of results: a read that is older waits here.
    blocked: Vec<Signal<'m>>,
}

impl Circuit for OperandStagingUnit {
    type Io<'m> = OperandStagingUnitIo<'m>;
    const NAME: &'static str = "operand_staging_unit";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("queue", self.queue, 2..=16)?;
        Self::check_range("place_bits", self.place_bits, 1..=16)?;
        Self::check_range("writes", self.writes, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &OperandStagingUnitIo<'m>) {
        let banks: Vec<Bank<'m>> = (0..self.geometry.banks).map(|b| self.bank(m, io, b)).collect();
        for (b, bank) in banks.iter().enumerate() {
            self.serve_accesses(m, io, b, bank);
            self.serve_notes(m, io, b, bank);
            self.report(io, b, bank);
        }
        self.power(m, io, &banks);
        self.take_results(m, io, &banks);
        self.fill(m, io, &banks);
        let drops = self.drop_warp(m, io, &banks);
        self.ask_memory(m, io, &banks, drops);
    }
}

impl OperandStagingUnit {
    /// The queue of accesses of each bank.
    pub(super) fn access_queue(&self) -> AccessQueue {
        let &OperandStagingUnit { geometry, queue, place_bits, writes, .. } = self;
        AccessQueue { geometry, depth: queue, place_bits, writers: writes }
    }

    fn bank<'m>(&self, m: &Module<'m>, io: &OperandStagingUnitIo<'m>, b: usize) -> Bank<'m> {
        let g = self.geometry;
        let queue = m.instance(format!("queue{b}"), self.access_queue());
        m.pass_through(&io.bank[b].push, &queue.push);
        let blocked = queue.write.iter().zip(&io.write).map(|(read, write)| {
            read.warp_i.set(write.warp_i);
            read.register_i.set(write.register_i);
            read.blocked_o
        });
        let blocked = blocked.collect();
        let width = Note::BITS + g.warp_bits() + g.register_bits;
        let preloads = m.instance(format!("preloads{b}"), Fifo { depth: g.lines, width });
        let bank = m.instance(format!("bank{b}"), StagingBank { geometry: g, gated: self.gated });
        Bank { bank, access: queue.pop, preloads, blocked }
    }

    /// The oldest access goes to the bank; who waits for it is told, and gets a source's value a cycle later.
    fn serve_accesses<'m>(&self, m: &Module<'m>, io: &OperandStagingUnitIo<'m>, b: usize, bank: &Bank<'m>) {
        let (oldest, access, outer) = (&bank.access, &bank.bank.access, &io.bank[b]);
        access.valid_i.set(oldest.valid_o);
        access.reads_i.set(oldest.reads_o);
        access.reserves_i.set(oldest.reserves_o);
        access.warp_i.set(oldest.warp_o);
        access.register_i.set(oldest.register_o);
        access.fate_i.set(oldest.fate_o);
        access.lanes_i.set(oldest.lanes_o);
        access.written_i.set(oldest.written_o);
        access.may_hold_i.set(outer.may_hold_i.lane_select(oldest.warp_o, 1));
        oldest.ready_i.set(access.ready_o);

        let served = &outer.served;
        served.valid_o.set(oldest.valid_o & access.ready_o);
        served.warp_o.set(oldest.warp_o).valid_when(served.valid_o);
        served.reads_o.set(oldest.reads_o).valid_when(served.valid_o);
        served.reserves_o.set(oldest.reserves_o).valid_when(served.valid_o);
        served.place_o.set(oldest.place_o).valid_when(served.valid_o);
        served.line_o.set(access.line_o).valid_when(served.valid_o);

        let reads = served.valid_o & oldest.reads_o & oldest.lanes_o.any();
        let was_read = m.register(format!("read{b}"), 1).reset(0);
        let place = m.register(format!("read_place{b}"), self.place_bits).no_reset();
        was_read.set(reads);
        m.when(reads, || {
            place.set(oldest.place_o);
        });
        outer.value.valid_o.set(was_read);
        outer.value.place_o.set(place).valid_when(was_read);
        outer.value.value_o.set(access.value_o).valid_when(was_read);
    }

    /// The oldest annotation goes to the bank.
    fn serve_notes<'m>(&self, m: &Module<'m>, io: &OperandStagingUnitIo<'m>, b: usize, bank: &Bank<'m>) {
        let g = &self.geometry;
        let (note, queue) = (&io.bank[b].note, &bank.preloads);
        queue.in_valid_i.set(note.valid_i);
        queue.in_data_i.set(m.cat([note.kind_i, note.warp_i, note.register_i]));
        queue.count_o.ignore();
        note.ready_o.set(queue.in_ready_o);

        let preload: &PreloadIo<'m> = &bank.bank.preload;
        let oldest = queue.out_data_o;
        let warp = oldest.slice(Note::BITS, g.warp_bits());
        preload.valid_i.set(queue.out_valid_o);
        preload.kind_i.set(oldest.low(Note::BITS));
        preload.warp_i.set(warp);
        preload.register_i.set(oldest.high(g.register_bits));
        queue.out_ready_i.set(preload.ready_o);

        let staged = &io.bank[b].staged;
        staged.done_o.set(preload.ready_o & !preload.fetched_o);
        staged.warp_o.set(warp).valid_when(preload.ready_o);
        staged.hit_o.set(preload.hit_o);
        staged.unwritten_o.set(preload.unwritten_o);
        staged.fetched_o.set(preload.fetched_o);
    }

    fn report<'m>(&self, io: &OperandStagingUnitIo<'m>, b: usize, bank: &Bank<'m>) {
        let (inner, outer) = (&bank.bank.held, &io.bank[b].held);
        outer.more_o.set(inner.more_o);
        outer.less_o.set(inner.less_o);
        outer.warp_o.set(inner.warp_o).valid_when(outer.more_o | outer.less_o);
        outer.written_less_o.set(inner.written_less_o);
        outer.listed_o.set(inner.listed_o);
        io.bank[b].tags_used_o.set(bank.bank.tags_used_o);
    }

    /// The banks ask for the lines that they are about to access.
    fn power<'m>(&self, m: &Module<'m>, io: &OperandStagingUnitIo<'m>, banks: &[Bank<'m>]) {
        for power in &io.power {
            for (outer, Bank { bank, .. }) in power.bank.iter().zip(banks) {
                m.pass_through(outer, &bank.power[0]);
            }
            let (filled, fill) = (&power.filled, &io.memory_fill);
            filled.valid_o.set(fill.valid_i);
            filled.warp_o.set(fill.warp_i).valid_when(filled.valid_o);
            filled.register_o.set(fill.register_i).valid_when(filled.valid_o);
            filled.line_o.set(fill.line_i).valid_when(filled.valid_o);
        }
    }

    /// Each bank takes the result of the lowest-numbered port that has one for it and need not wait.
    fn take_results<'m>(&self, m: &Module<'m>, io: &OperandStagingUnitIo<'m>, banks: &[Bank<'m>]) {
        let g = &self.geometry;
        let all = |field: fn(&ResultIo<'m>) -> Signal<'m>| m.cat(io.write.iter().map(field));
        let may_go = all(|result| result.valid_i) & !all(|result| result.blocked_i);
        let mut taken = m.lit(self.writes, 0);
        for (b, Bank { bank, blocked, .. }) in banks.iter().enumerate() {
            let here = m.cat(io.write.iter().map(|write| g.in_bank(m, write.warp_i, write.register_i, b)));
            let offered = may_go & here & !m.cat(blocked.iter().copied());
            let number = offered.priority_encode().named(format!("result{b}"));
            let select = |field: fn(&ResultIo<'m>) -> Signal<'m>| {
                let fields = all(field);
                fields.lane_select(number, fields.width() / self.writes)
            };
            let write = &bank.write;
            write.valid_i.set(offered.any());
            write.warp_i.set(select(|result| result.warp_i));
            write.register_i.set(select(|result| result.register_i));
            write.line_i.set(select(|result| result.line_i));
            write.fate_i.set(select(|result| result.fate_i));
            write.lanes_i.set(select(|result| result.lanes_i));
            write.value_i.set(select(|result| result.value_i));
            let written = &io.bank[b].held;
            written.written_warp_o.set(select(|result| result.warp_i)).valid_when(written.written_less_o);
            taken = taken | (offered.lowest_one() & write.ready_o.replicate(self.writes));
        }
        for (p, write) in io.write.iter().enumerate() {
            write.ready_o.set(taken.bit(p));
        }
    }

    /// A line that comes goes to its bank.
    fn fill<'m>(&self, m: &Module<'m>, io: &OperandStagingUnitIo<'m>, banks: &[Bank<'m>]) {
        let fill = &io.memory_fill;
        for (b, Bank { bank, .. }) in banks.iter().enumerate() {
            let here = self.geometry.in_bank(m, fill.warp_i, fill.register_i, b);
            bank.fill.valid_i.set(fill.valid_i & here);
            bank.fill.line_i.set(fill.line_i);
            bank.fill.value_i.set(fill.value_i);
        }
        m.assumption("no_compressed_line_reaches_the_banks", fill.valid_i.implies(!fill.compressed_i));
    }

    /// Drops the lines of a warp that has ended. Gives whether memory can be asked to drop its copies: the banks
    /// have dropped theirs, and no request of the warp is under way.
    fn drop_warp<'m>(&self, m: &Module<'m>, io: &OperandStagingUnitIo<'m>, banks: &[Bank<'m>]) -> Signal<'m> {
        let dropped = m.register("dropped", 1).reset(0);
        dropped.set(io.exit.valid_i & !io.exit.ready_o);
        let last = m.register("last_exit_warp", self.geometry.warp_bits()).no_reset();
        last.set(io.exit.warp_i);
        let goes_on = io.exit.valid_i & io.exit.warp_i.eq(last);
        m.assumption("a_warp_exits_until_that_is_done", dropped.implies(goes_on));
        let mut under_way = m.lit(1, 0);
        for Bank { bank, .. } in banks {
            bank.drop.valid_i.set(io.exit.valid_i);
            bank.drop.warp_i.set(io.exit.warp_i);
            under_way = under_way | (bank.request.busy_o & bank.request.warp_o.eq(io.exit.warp_i));
        }
        (io.exit.valid_i & dropped & !under_way).named("drops")
    }

    /// Lets one request through, and keeps it until it is taken.
    fn ask_memory<'m>(
        &self,
        m: &Module<'m>,
        io: &OperandStagingUnitIo<'m>,
        banks: &[Bank<'m>],
        drops: Signal<'m>,
    ) {
        let request: &RequestOutIo<'m> = &io.memory_request;
        let asking = m.cat(banks.iter().map(|bank| bank.bank.request.valid_o).chain([drops]));
        let granted = self.arbitrate(m, asking, request.ready_i);
        for (b, Bank { bank, .. }) in banks.iter().enumerate() {
            bank.request.ready_i.set(granted.bit(b) & request.ready_i);
        }
        io.exit.ready_o.set(granted.bit(banks.len()) & request.ready_i);

        let from_banks = granted.low(banks.len());
        let select = |field: fn(&StagingBankIo<'m>) -> Signal<'m>| {
            from_banks.one_hot_select(m.cat(banks.iter().map(|bank| field(&bank.bank))))
        };
        let drop = granted.bit(banks.len());
        let drop_kind = m.lit(RequestKind::BITS, RequestKind::Drop);
        request.valid_o.set(granted.any());
        request
            .kind_o
            .set(drop.mux(drop_kind, select(|bank| bank.request.kind_o)))
            .valid_when(request.valid_o);
        request.compressed_o.set(0);
        let warp = drop.mux(io.exit.warp_i, select(|bank| bank.request.warp_o));
        request.warp_o.set(warp).valid_when(request.valid_o);
        request.register_o.set(select(|bank| bank.request.register_o)).valid_when(request.valid_o & !drop);
        let fetches = request.valid_o & request.kind_o.eq(RequestKind::Fetch);
        request.line_o.set(select(|bank| bank.request.line_o)).valid_when(fetches);
        request.invalidates_o.set(select(|bank| bank.request.invalidates_o)).valid_when(fetches);
        let writes = request.valid_o & request.kind_o.eq(RequestKind::Write);
        request.value_o.set(select(|bank| bank.request.value_o)).valid_when(writes);
    }

    fn arbitrate<'m>(&self, m: &Module<'m>, asking: Signal<'m>, taken: Signal<'m>) -> Signal<'m> {
        let requests = self.geometry.banks + 1;
        // The request offered in the cycle before and not taken.
        let kept = m.register("kept", requests).reset(0);
        let arbiter: ArbiterIo<'m> = m.instance("arbiter", RoundRobinArbiter { requests });
        arbiter.request_i.set(kept.any().mux(kept, asking));
        arbiter.take_i.set(taken);
        arbiter.valid_o.ignore();
        arbiter.index_o.ignore();
        kept.set(arbiter.grant_o & !taken.replicate(requests));
        m.invariant("a_request_is_offered_until_it_is_taken", (kept & !asking).any().eq(0));
        arbiter.grant_o
    }
}

//! From issued instructions to the queues of the banks.

use serde::{Deserialize, Serialize};

use super::access_queue::OlderReadIo;
use super::geometry::{ISSUES, RESULTS, SOURCES, ShardGeometry};
use super::ports::Fate;
use super::register_read_unit::{FIRST_RESULT, POSITION_BITS};
use crate::rtl::{
    Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, count_bits, index_bits,
};

/// Access distributor: takes issued instructions, gives each an entry of its register read unit, and sends its
/// accesses to the queues of their banks.
///
/// In a cycle each bank gets one access, the oldest: those of the first instruction before those of the second,
/// sources before results. What is left over goes in the cycles that follow; until then nothing is taken.
///
/// Timing: accesses reach their queues in the cycle in which their instruction is taken, those left over later. Whether
/// an instruction is taken depends on state and on the one before it, not on the queues.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5 and §5.2 (the arbiter before the banks).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct AccessDistributor {
    /// Warps, banks and lanes of the shard.
    pub geometry: ShardGeometry,
    /// Execution units, 1 to 8.
    pub units: usize,
    /// Instructions a read unit holds, a power of two from 2 to 16.
    pub entries: usize,
    /// Ports for results, 1 to 8.
    pub writes: usize,
}

/// Ports of an [`AccessDistributor`].
#[derive(Ports)]
#[params(AccessDistributor)]
pub struct AccessDistributorIo<'m> {
    /// Instructions, the older first.
    #[repeat(ISSUES)]
    pub issue: Vec<DistributeIo<'m>>,
    /// Read units that have room for an instruction.
    #[bits(p.units)]
    pub room_i: In<'m>,
    /// Read units that have room for two.
    #[bits(p.units)]
    pub room_for_two_i: In<'m>,
    /// The entry that the next instruction gets in each read unit.
    #[bits(p.units * index_bits(p.entries))]
    pub next_i: In<'m>,
    /// The queues of the banks.
    #[repeat(p.geometry.banks)]
    pub push: Vec<DistributedIo<'m>>,
    /// Results about to be written.
    #[repeat(p.writes)]
    #[with(p.geometry)]
    pub write: Vec<OlderReadIo<'m>>,
}

/// An instruction.
#[derive(Ports)]
#[params(AccessDistributor)]
pub struct DistributeIo<'m> {
    /// It is offered.
    pub valid_i: In<'m>,
    /// It is taken.
    pub ready_o: Out<'m>,
    /// Accesses it makes.
    #[bits(count_bits(SOURCES + RESULTS))]
    pub accesses_o: Out<'m>,
    /// Writes that will come.
    #[bits(count_bits(RESULTS))]
    pub writes_o: Out<'m>,
    /// The unit that executes it.
    #[bits(index_bits(p.units))]
    pub unit_i: In<'m>,
    /// Its warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// Lanes that execute.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
    /// Registers it reads.
    #[repeat(SOURCES)]
    #[with(p.geometry)]
    pub source: Vec<OperandIo<'m>>,
    /// Registers it writes.
    #[repeat(RESULTS)]
    #[with(p.geometry)]
    pub result: Vec<DestinationIo<'m>>,
}

/// A register that is read.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct OperandIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Its [`Fate`].
    #[bits(Fate::BITS)]
    pub fate_i: In<'m>,
}

/// A register that is written.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct DestinationIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
    /// Its [`Fate`].
    #[bits(Fate::BITS)]
    pub fate_i: In<'m>,
    /// A write will come.
    pub written_i: In<'m>,
}

/// An access on its way to the queue of a bank.
#[derive(Ports)]
#[params(AccessDistributor)]
pub struct DistributedIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// It is taken.
    pub ready_i: In<'m>,
    /// It reserves the line of a result; else it reads a source.
    pub reserves_o: Out<'m>,
    /// The warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_o: Out<'m>,
    /// The register.
    #[bits(p.geometry.register_bits)]
    pub register_o: Out<'m>,
    /// Its [`Fate`].
    #[bits(Fate::BITS)]
    pub fate_o: Out<'m>,
    /// Source: lanes wanted.
    #[bits(p.geometry.lanes)]
    pub lanes_o: Out<'m>,
    /// Result: a write will come.
    pub written_o: Out<'m>,
    /// The read unit, the entry and the position that wait for it.
    #[bits(p.place_bits())]
    pub place_o: Out<'m>,
}

/// An access that has to go to its bank, arriving or left over.
struct Access<'m> {
    pending: Signal<'m>,
    reserves: bool,
    warp: Signal<'m>,
    register: Signal<'m>,
    fate: Signal<'m>,
    lanes: Signal<'m>,
    written: Signal<'m>,
    place: Signal<'m>,
}

impl AccessDistributor {
    /// Bits that name a position of an entry of a read unit.
    pub fn place_bits(&self) -> usize {
        POSITION_BITS + index_bits(self.entries) + index_bits(self.units)
    }
}

impl Circuit for AccessDistributor {
    type Io<'m> = AccessDistributorIo<'m>;
    const NAME: &'static str = "access_distributor";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("units", self.units, 1..=8)?;
        Self::check_range("entries", self.entries, 2..=16)?;
        Self::check(self.entries.is_power_of_two(), "entries", self.entries, "a power of two")?;
        Self::check_range("writes", self.writes, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &AccessDistributorIo<'m>) {
        // A bit for each access of the instructions taken last: it has not gone to its bank yet.
        let left_over = m.register("left_over", ISSUES * (SOURCES + RESULTS)).reset(0);
        let idle = (!left_over.any()).named("idle");
        let entries = self.take(m, io, idle);
        let accesses = self.accesses(m, io, left_over, idle, &entries);
        let mut pending = m.cat(accesses.iter().map(|access| access.pending)).named("pending");
        for (b, push) in io.push.iter().enumerate() {
            pending = pending & !self.send(m, push, b, &accesses);
        }
        left_over.set(pending);
        self.block_writes(m, io, left_over, &accesses);
    }
}

impl AccessDistributor {
    /// Takes instructions whose read unit has room. Gives the entry of each.
    fn take<'m>(&self, m: &Module<'m>, io: &AccessDistributorIo<'m>, idle: Signal<'m>) -> Vec<Signal<'m>> {
        let [first, second] = &io.issue[..] else { return Vec::new() };
        let entry_bits = index_bits(self.entries);
        let next = |unit: Signal<'m>| io.next_i.lane_select(unit, entry_bits);
        let room = |unit: Signal<'m>| io.room_i.lane_select(unit, 1);
        first.ready_o.set(idle & room(first.unit_i));
        let shared = (first.valid_i & first.unit_i.eq(second.unit_i)).named("one_unit");
        let room_behind = shared.mux(io.room_for_two_i.lane_select(second.unit_i, 1), room(second.unit_i));
        second.ready_o.set(idle & room_behind & (first.ready_o | !first.valid_i));
        for issue in &io.issue {
            let sources = m.cat(issue.source.iter().map(|source| source.valid_i));
            let results = m.cat(issue.result.iter().map(|result| result.valid_i));
            let written = m.cat(issue.result.iter().map(|result| result.valid_i & result.written_i));
            issue.accesses_o.set(sources.concat(results).popcount());
            issue.writes_o.set(written.popcount());
        }
        vec![next(first.unit_i), next(second.unit_i) + shared.zext(entry_bits)]
    }

    /// All accesses, the oldest first.
    fn accesses<'m>(
        &self,
        m: &Module<'m>,
        io: &AccessDistributorIo<'m>,
        left_over: Signal<'m>,
        idle: Signal<'m>,
        entries: &[Signal<'m>],
    ) -> Vec<Access<'m>> {
        let g = &self.geometry;
        let mut accesses = Vec::new();
        for (i, (issue, &entry)) in io.issue.iter().zip(entries).enumerate() {
            let taken = (issue.valid_i & issue.ready_o).named(format!("taken{i}"));
            // What arrives in an idle cycle, and is remembered for the accesses left over.
            let kept = |name: String, arriving: Signal<'m>| {
                let kept = m.register(name, arriving.width()).no_reset();
                m.when(taken, || {
                    kept.set(arriving);
                });
                idle.mux(arriving, kept)
            };
            let warp = kept(format!("warp{i}"), issue.warp_i);
            let lanes = kept(format!("lanes{i}"), issue.lanes_i);
            let place = kept(format!("place{i}"), entry.concat(issue.unit_i));
            for k in 0..SOURCES + RESULTS {
                let (reserves, position) = match k.checked_sub(SOURCES) {
                    None => (false, k),
                    Some(result) => (true, FIRST_RESULT + result),
                };
                let (valid, register, fate, written) = match k.checked_sub(SOURCES) {
                    None => {
                        let source = &issue.source[k];
                        (source.valid_i, source.register_i, source.fate_i, m.lit(1, 0))
                    }
                    Some(k) => {
                        let result = &issue.result[k];
                        (result.valid_i, result.register_i, result.fate_i, result.written_i)
                    }
                };
                let written = if reserves { kept(format!("written{i}_{k}"), written) } else { written };
                accesses.push(Access {
                    pending: left_over.bit(accesses.len()) | (taken & valid),
                    reserves,
                    warp,
                    register: kept(format!("register{i}_{k}"), register),
                    fate: kept(format!("fate{i}_{k}"), fate),
                    lanes: if reserves { m.lit(g.lanes, 0) } else { lanes },
                    written,
                    place: m.lit(POSITION_BITS, position).concat(place),
                });
            }
        }
        accesses
    }

    /// Offers bank `b` its oldest access. Gives the access that goes, one bit or none.
    fn send<'m>(
        &self,
        m: &Module<'m>,
        push: &DistributedIo<'m>,
        b: usize,
        accesses: &[Access<'m>],
    ) -> Signal<'m> {
        let here = accesses
            .iter()
            .map(|access| access.pending & self.geometry.in_bank(m, access.warp, access.register, b));
        let oldest = m.cat(here).lowest_one().named(format!("oldest{b}"));
        let select = |field: &dyn Fn(&Access<'m>) -> Signal<'m>| {
            oldest.one_hot_select(m.cat(accesses.iter().map(field)))
        };
        push.valid_o.set(oldest.any());
        push.reserves_o
            .set(select(&|access| m.lit(1, usize::from(access.reserves))))
            .valid_when(push.valid_o);
        push.warp_o.set(select(&|access| access.warp)).valid_when(push.valid_o);
        push.register_o.set(select(&|access| access.register)).valid_when(push.valid_o);
        push.fate_o.set(select(&|access| access.fate)).valid_when(push.valid_o);
        push.lanes_o.set(select(&|access| access.lanes)).valid_when(push.valid_o);
        push.written_o.set(select(&|access| access.written)).valid_when(push.valid_o);
        push.place_o.set(select(&|access| access.place)).valid_when(push.valid_o);
        oldest & push.ready_i.replicate(accesses.len())
    }

    /// A result waits while a read of its register is left over.
    fn block_writes<'m>(
        &self,
        m: &Module<'m>,
        io: &AccessDistributorIo<'m>,
        left_over: Signal<'m>,
        accesses: &[Access<'m>],
    ) {
        for write in &io.write {
            let reads =
                accesses.iter().enumerate().filter(|(_, access)| !access.reserves).map(|(j, access)| {
                    left_over.bit(j) & access.warp.eq(write.warp_i) & access.register.eq(write.register_i)
                });
            write.blocked_o.set(m.cat(reads).any());
        }
    }
}

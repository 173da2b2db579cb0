//! From issued instructions to the queues of the banks.

use serde::{Deserialize, Serialize};

use super::access_queue::{AccessWidths, OlderReadIo, PopIo};
use super::geometry::{ISSUES, RESULT_BITS, RESULTS, SOURCE_BITS, SOURCES, ShardGeometry};
use super::ports::Fate;
use crate::rtl::{
    Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal, count_bits, index_bits,
};

/// Access distributor: takes issued instructions, gives each an entry of its register read unit, and sends its
/// accesses to the queues of their banks.
///
/// A result whose register is also read makes no access of its own: the last read of that register reserves its line.
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
    /// Instructions taken a cycle, 1 or 2.
    pub issues: usize,
}

/// Ports of an [`AccessDistributor`].
#[derive(Ports)]
#[params(AccessDistributor)]
pub struct AccessDistributorIo<'m> {
    /// Instructions, the older first.
    #[repeat(p.issues)]
    pub issue: Vec<DistributeIo<'m>>,
    /// Read units that have room for an instruction.
    #[bits(p.units)]
    pub room_i: In<'m>,
    /// Read units that have room for two; no port if one is taken a cycle.
    #[repeat_plain(p.issues.saturating_sub(1))]
    #[bits(p.units)]
    pub room_for_two_i: Vec<In<'m>>,
    /// The entry that the next instruction gets in each read unit.
    #[bits(p.units * index_bits(p.entries))]
    pub next_i: In<'m>,
    /// The queues of the banks.
    #[repeat(p.geometry.banks)]
    #[with(AccessWidths { geometry: p.geometry, place_bits: p.place_bits() })]
    pub push: Vec<PopIo<'m>>,
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

/// Accesses an instruction makes at most: sources, then results.
const ACCESSES: usize = SOURCES + RESULTS;

/// Accesses that arrive or are left over: of each value a lane an access, the oldest lowest.
struct Accesses<'m> {
    /// One bit each: it has to go to its bank.
    pending: Signal<'m>,
    /// One bit each: it reserves the line of a result.
    reserves: Signal<'m>,
    /// Which result.
    results: Signal<'m>,
    registers: Signal<'m>,
    fates: Signal<'m>,
    written: Signal<'m>,
    /// What the accesses of an instruction have in common.
    instructions: Vec<Instruction<'m>>,
}

struct Instruction<'m> {
    warp: Signal<'m>,
    lanes: Signal<'m>,
    /// Entry and unit that its accesses are for.
    place: Signal<'m>,
}

/// Results of an instruction whose lines its reads reserve.
struct Shared<'m> {
    /// Of each result one bit a source: that source's access is its own.
    of_result: Vec<Signal<'m>>,
    /// Results without an access of their own, one bit each.
    results: Signal<'m>,
}

impl AccessDistributor {
    /// Bits that name a source and a result of an entry of a read unit.
    pub fn place_bits(&self) -> usize {
        SOURCE_BITS + RESULT_BITS + index_bits(self.entries) + index_bits(self.units)
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
        Self::check_range("writes", self.writes, 1..=8)?;
        Self::check_range("issues", self.issues, 1..=ISSUES)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &AccessDistributorIo<'m>) {
        // A bit for each access of the instructions taken last: it has not gone to its bank yet.
        let left_over = m.register("left_over", self.issues * ACCESSES).reset(0);
        let idle = (!left_over.any()).named("idle");
        let shared: Vec<Shared<'m>> = io.issue.iter().map(|issue| issue.shared(m)).collect();
        let entries = self.take(m, io, idle, &shared);
        let accesses = self.accesses(m, io, left_over, idle, (&entries, &shared));
        let banks = self.banks(m, &accesses).named("banks");
        let mut pending = accesses.pending;
        let mut overtaken = m.lit(1, 0);
        for (b, push) in io.push.iter().enumerate() {
            let here = accesses.pending & banks.lane_eq(self.each(m, b), self.geometry.register_bits);
            let goes = self.send(m, push, here.named(format!("here{b}")), &accesses);
            overtaken = overtaken | (goes.any() & (here & (goes - 1)).any());
            pending = pending & !goes;
        }
        left_over.set(pending);
        self.block_writes(m, io, left_over, &accesses);
        m.invariant("no_access_overtakes_an_older_one_to_its_bank", !overtaken);
        self.name_invariants(m, io, (accesses.pending, pending), &entries);
    }
}

impl<'m> DistributeIo<'m> {
    /// Finds the results whose register is read as well: each goes with the last of those reads. Of two results to one
    /// register, only the first does.
    fn shared(&self, m: &Module<'m>) -> Shared<'m> {
        let mut taken = m.lit(SOURCES, 0);
        let mut of_result = Vec::new();
        for result in &self.result {
            let mut later = m.lit(1, 0);
            let mut last = Vec::new();
            for source in self.source.iter().rev() {
                let same = source.valid_i & source.register_i.eq(result.register_i);
                last.push(result.valid_i & same & !later);
                later = later | same;
            }
            let goes_with = m.cat(last.into_iter().rev()) & !taken;
            taken = taken | goes_with;
            of_result.push(goes_with);
        }
        let results = m.cat(of_result.iter().map(|sources| sources.any()));
        Shared { of_result, results }
    }
}

impl AccessDistributor {
    /// Takes instructions whose read unit has room. Gives the entry of each.
    fn take<'m>(
        &self,
        m: &Module<'m>,
        io: &AccessDistributorIo<'m>,
        idle: Signal<'m>,
        shared: &[Shared<'m>],
    ) -> Vec<Signal<'m>> {
        let entry_bits = index_bits(self.entries);
        let next = |unit: Signal<'m>| io.next_i.lane_select(unit, entry_bits);
        let room = |unit: Signal<'m>| io.room_i.lane_select(unit, 1);
        let first = &io.issue[0];
        first.ready_o.set(idle & room(first.unit_i));
        let second = io.issue.get(1).zip(io.room_for_two_i.first()).map(|(second, room_for_two)| {
            let one_unit = (first.valid_i & first.unit_i.eq(second.unit_i)).named("one_unit");
            let room_behind = one_unit.mux(room_for_two.lane_select(second.unit_i, 1), room(second.unit_i));
            second.ready_o.set(idle & room_behind & (first.ready_o | !first.valid_i));
            (second.unit_i, one_unit)
        });
        for (issue, shared) in io.issue.iter().zip(shared) {
            let sources = m.cat(issue.source.iter().map(|source| source.valid_i));
            let results = m.cat(issue.result.iter().map(|result| result.valid_i)) & !shared.results;
            let written = m.cat(issue.result.iter().map(|result| result.valid_i & result.written_i));
            issue.accesses_o.set(sources.concat(results).popcount());
            issue.writes_o.set(written.popcount());
        }
        let mut entries = vec![next(first.unit_i)];
        entries.extend(second.map(|(unit, one_unit)| next(unit) + one_unit.zext(entry_bits)));
        entries
    }

    fn accesses<'m>(
        &self,
        m: &Module<'m>,
        io: &AccessDistributorIo<'m>,
        left_over: Signal<'m>,
        idle: Signal<'m>,
        (entries, shared): (&[Signal<'m>], &[Shared<'m>]),
    ) -> Accesses<'m> {
        let (mut arriving, mut instructions) = (Vec::new(), Vec::new());
        let (mut reserves, mut results) = (Vec::new(), Vec::new());
        let (mut registers, mut fates, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (issue, (&entry, shared))) in io.issue.iter().zip(entries.iter().zip(shared)).enumerate() {
            let taken = (issue.valid_i & issue.ready_o).named(format!("taken{i}"));
            // What arrives in an idle cycle, and is remembered for the accesses left over.
            let kept = |name: &str, arriving: Signal<'m>| {
                let kept = m.register(format!("{name}{i}"), arriving.width()).no_reset();
                m.when(taken, || {
                    kept.set(arriving);
                });
                idle.mux(arriving, kept)
            };
            let each = |source: &dyn Fn(usize) -> Signal<'m>, result: &dyn Fn(usize) -> Signal<'m>| {
                m.cat((0..SOURCES).map(source).chain((0..RESULTS).map(result)))
            };
            let (source, result) = (&issue.source, &issue.result);
            // Of a source that reserves, what is said of the result.
            let of_result = |k: usize, none: Signal<'m>, field: &dyn Fn(usize) -> Signal<'m>| {
                (0..RESULTS).fold(none, |value, r| shared.of_result[r].bit(k).mux(field(r), value))
            };
            let fate = |k: usize| of_result(k, source[k].fate_i, &|r| result[r].fate_i);
            let is_written = |k: usize| of_result(k, m.lit(1, 0), &|r| result[r].written_i);
            let number = |k: usize| of_result(k, m.lit(RESULT_BITS, 0), &|r| m.lit(RESULT_BITS, r));
            let reserving = |k: usize| of_result(k, m.lit(1, 0), &|_| m.lit(1, 1));
            let valid = each(&|k| source[k].valid_i, &|r| result[r].valid_i & !shared.results.bit(r));
            arriving.push(valid & taken.replicate(ACCESSES));
            reserves.push(kept("reserves", m.cat((0..SOURCES).map(reserving))));
            reserves.push(m.ones(RESULTS));
            results.push(kept("results", m.cat((0..SOURCES).map(number))));
            results.push(m.cat((0..RESULTS).map(|r| m.lit(RESULT_BITS, r))));
            registers.push(kept("registers", each(&|k| source[k].register_i, &|r| result[r].register_i)));
            fates.push(kept("fates", each(&fate, &|r| result[r].fate_i)));
            written.push(kept("written", each(&is_written, &|r| result[r].written_i)));
            instructions.push(Instruction {
                warp: kept("warp", issue.warp_i),
                lanes: kept("lanes", issue.lanes_i),
                place: kept("place", entry.concat(issue.unit_i)),
            });
        }
        Accesses {
            pending: (left_over | m.cat(arriving)).named("pending"),
            reserves: m.cat(reserves),
            results: m.cat(results),
            registers: m.cat(registers),
            fates: m.cat(fates),
            written: m.cat(written),
            instructions,
        }
    }

    /// The bank of each access, in a lane as wide as a register's number.
    fn banks<'m>(&self, m: &Module<'m>, accesses: &Accesses<'m>) -> Signal<'m> {
        let bits = self.geometry.register_bits;
        let warps =
            accesses.instructions.iter().map(|instruction| instruction.warp.zext(bits).replicate(ACCESSES));
        accesses.registers.lane_add(m.cat(warps), bits) & self.each(m, self.geometry.banks - 1)
    }

    /// `value` for each access, in a lane as wide as a register's number.
    fn each<'m>(&self, m: &Module<'m>, value: usize) -> Signal<'m> {
        m.lit(self.geometry.register_bits, value).replicate(self.issues * ACCESSES)
    }

    /// Offers a bank the oldest of the accesses that wait for it, `here`. Gives the access that goes, one bit or none.
    fn send<'m>(
        &self,
        m: &Module<'m>,
        push: &PopIo<'m>,
        here: Signal<'m>,
        accesses: &Accesses<'m>,
    ) -> Signal<'m> {
        let (oldest, number) = (here.lowest_one(), here.priority_encode());
        let second = (self.issues > 1).then(|| !here.low(ACCESSES).any());
        let of_instruction = |field: fn(&Instruction<'m>) -> Signal<'m>| match second {
            Some(second) => second.mux(field(&accesses.instructions[1]), field(&accesses.instructions[0])),
            None => field(&accesses.instructions[0]),
        };
        let sources = m.cat((0..ACCESSES).map(|k| m.lit(SOURCE_BITS, if k < SOURCES { k } else { 0 })));
        let reads = m.ones(SOURCES).zext(ACCESSES).replicate(self.issues);
        let register_bits = self.geometry.register_bits;

        push.valid_o.set(here.any());
        push.reads_o.set((oldest & reads).any()).valid_when(push.valid_o);
        push.reserves_o.set((oldest & accesses.reserves).any()).valid_when(push.valid_o);
        push.warp_o.set(of_instruction(|instruction| instruction.warp)).valid_when(push.valid_o);
        push.register_o.set(accesses.registers.lane_select(number, register_bits)).valid_when(push.valid_o);
        push.fate_o.set(accesses.fates.lane_select(number, Fate::BITS)).valid_when(push.valid_o);
        let lanes = of_instruction(|instruction| instruction.lanes);
        push.lanes_o.set(push.reads_o.mux(lanes, 0)).valid_when(push.valid_o);
        push.written_o.set(accesses.written.lane_select(number, 1)).valid_when(push.valid_o);
        let place = of_instruction(|instruction| instruction.place);
        let source = sources.replicate(self.issues).lane_select(number, SOURCE_BITS);
        let result = accesses.results.lane_select(number, RESULT_BITS);
        push.place_o.set(source.concat(result).concat(place)).valid_when(push.valid_o);
        oldest & push.ready_i.replicate(self.issues * ACCESSES)
    }

    /// A result waits while a read of its register is left over.
    fn block_writes<'m>(
        &self,
        m: &Module<'m>,
        io: &AccessDistributorIo<'m>,
        left_over: Signal<'m>,
        accesses: &Accesses<'m>,
    ) {
        let sources = m.ones(SOURCES).zext(ACCESSES);
        for write in &io.write {
            let of_warp = accesses
                .instructions
                .iter()
                .map(|instruction| sources & instruction.warp.eq(write.warp_i).replicate(ACCESSES));
            let registers = write.register_i.replicate(self.issues * ACCESSES);
            let same = accesses.registers.lane_eq(registers, self.geometry.register_bits);
            write.blocked_o.set((left_over & m.cat(of_warp) & same).any());
        }
    }

    /// What holds of the accesses that wait before and after a cycle, and of the instructions taken in it.
    fn name_invariants<'m>(
        &self,
        m: &Module<'m>,
        io: &AccessDistributorIo<'m>,
        (before, after): (Signal<'m>, Signal<'m>),
        entries: &[Signal<'m>],
    ) {
        let g = &self.geometry;
        let most = (self.issues * ACCESSES).max(io.push.len());
        let count = |accesses: Signal<'m>| accesses.popcount().zext(count_bits(most));
        let goes = m.cat(io.push.iter().map(|push| push.valid_o & push.ready_i));
        m.invariant("an_access_goes_or_is_left_over", count(before).eq(count(after) + count(goes)));
        let strays = io.push.iter().enumerate().fold(m.lit(1, 0), |strays, (b, push)| {
            strays | (push.valid_o & !g.in_bank(m, push.warp_o, push.register_o, b))
        });
        m.invariant("an_access_goes_to_the_bank_of_its_register", !strays);

        let [first, second] = &io.issue[..] else { return };
        let taken = |issue: &DistributeIo<'m>| issue.valid_i & issue.ready_o;
        m.invariant(
            "an_instruction_does_not_overtake_the_one_before_it",
            (taken(second) & first.valid_i).implies(first.ready_o),
        );
        let of_one_unit = taken(first) & taken(second) & first.unit_i.eq(second.unit_i);
        m.invariant(
            "two_instructions_of_a_unit_get_an_entry_each",
            of_one_unit.implies(entries[0].ne(entries[1])),
        );
    }
}

//! The register read unit of one execution unit.

use serde::{Deserialize, Serialize};

use super::geometry::{ISSUES, LANE_BITS, RESULT_BITS, RESULTS, SOURCE_BITS, SOURCES, ShardGeometry};
use crate::parts::turn;
use crate::regfile::{WarpLanes, WarpRegister};
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, index_bits,
};

/// What an instruction waits for: its sources, its first cycle, and its results, one bit each in this order.
const POSITIONS: usize = SOURCES + 1 + RESULTS;
/// Position of the first cycle.
const ARRIVAL: usize = SOURCES;

/// Register read unit: assembles the operands of the instructions of one execution unit, and remembers the lines
/// reserved for their results.
///
/// Instructions enter in issue order, two in a cycle at most, and are dispatched in that order. One is dispatched
/// when the banks have served all its accesses and the unit is ready.
///
/// Timing: an instruction that enters in cycle c is dispatched in c + 2 at the earliest, which is also the cycle
/// after its last access was served; its operands are out in the cycle after its dispatch. Lanes that do not execute
/// are 0, and so are sources that it does not have.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5 and §5.2.2.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterReadUnit {
    /// Banks, lines and lanes of the shard.
    pub geometry: ShardGeometry,
    /// Instructions it holds, a power of two from 2 to 16.
    pub entries: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Instructions that enter a cycle at most, 1 or 2.
    pub issues: usize,
}

/// Ports of a [`RegisterReadUnit`].
#[derive(Ports)]
#[params(RegisterReadUnit)]
pub struct RegisterReadUnitIo<'m> {
    /// Instructions that enter, the older first.
    #[repeat(p.issues)]
    pub enter: Vec<EnterIo<'m>>,
    /// There is room for an instruction.
    pub room_o: Out<'m>,
    /// There is room for two; no port if one enters a cycle at most.
    #[repeat_plain(p.issues.saturating_sub(1))]
    pub room_for_two_o: Vec<Out<'m>>,
    /// The entry that the next instruction gets.
    #[bits(index_bits(p.entries))]
    pub next_o: Out<'m>,
    /// Accesses that the banks have served.
    #[repeat(p.geometry.banks)]
    pub served: Vec<ServedHereIo<'m>>,
    /// Values of the sources that the banks served in the cycle before.
    #[repeat(p.geometry.banks)]
    pub value: Vec<ValueHereIo<'m>>,
    /// To and from the execution unit.
    #[flatten]
    pub unit: ExecutionUnitIo<'m>,
}

/// What an execution unit sees.
#[derive(Ports)]
#[params(RegisterReadUnit)]
pub struct ExecutionUnitIo<'m> {
    /// It takes an instruction.
    pub ready_i: In<'m>,
    /// The instruction dispatched.
    pub dispatch: DispatchedIo<'m>,
    /// Operands of the instruction dispatched in the cycle before.
    pub operands: AssembledIo<'m>,
}

/// An instruction that enters.
#[derive(Ports)]
#[params(RegisterReadUnit)]
pub struct EnterIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its identifier.
    #[bits(p.id_bits)]
    pub id_i: In<'m>,
    /// Lanes that execute.
    #[bits(p.geometry.lanes)]
    pub lanes_i: In<'m>,
    /// Sources it has.
    #[bits(SOURCES)]
    pub sources_i: In<'m>,
    /// Results it has.
    #[bits(RESULTS)]
    pub results_i: In<'m>,
}

/// An access that a bank has served.
#[derive(Ports)]
#[params(RegisterReadUnit)]
pub struct ServedHereIo<'m> {
    /// There is one, of an instruction here.
    pub valid_i: In<'m>,
    /// Its entry.
    #[bits(index_bits(p.entries))]
    pub entry_i: In<'m>,
    /// It read a source.
    pub reads_i: In<'m>,
    /// Which.
    #[bits(SOURCE_BITS)]
    pub source_i: In<'m>,
    /// It reserved the line of a result.
    pub reserves_i: In<'m>,
    /// Which.
    #[bits(RESULT_BITS)]
    pub result_i: In<'m>,
    /// Result: the line.
    #[bits(p.geometry.line_bits())]
    pub line_i: In<'m>,
}

/// A value that a bank has read.
#[derive(Ports)]
#[params(RegisterReadUnit)]
pub struct ValueHereIo<'m> {
    /// There is one, for an instruction here.
    pub valid_i: In<'m>,
    /// Its entry.
    #[bits(index_bits(p.entries))]
    pub entry_i: In<'m>,
    /// Which source it is.
    #[bits(SOURCE_BITS)]
    pub source_i: In<'m>,
    /// The value.
    #[bits(p.geometry.value_bits())]
    pub value_i: In<'m>,
}

/// The instruction dispatched.
#[derive(Ports)]
#[params(RegisterReadUnit)]
pub struct DispatchedIo<'m> {
    /// There is one; the unit takes it.
    pub valid_o: Out<'m>,
    /// Its identifier.
    #[bits(p.id_bits)]
    #[valid_when(valid_o)]
    pub id_o: Out<'m>,
}

/// Operands of an instruction.
#[derive(Ports)]
#[params(RegisterReadUnit)]
pub struct AssembledIo<'m> {
    /// There are some.
    pub valid_o: Out<'m>,
    /// The instruction's identifier.
    #[bits(p.id_bits)]
    #[valid_when(valid_o)]
    pub id_o: Out<'m>,
    /// The sources.
    #[repeat(SOURCES)]
    #[bits(p.geometry.value_bits())]
    #[valid_when(valid_o)]
    pub source_o: Vec<Out<'m>>,
    /// The lines reserved for its results.
    #[repeat(RESULTS)]
    #[with(p.geometry)]
    pub result: Vec<LineIo<'m>>,
}

/// A line reserved for a result.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct LineIo<'m> {
    /// There is one.
    pub reserved_o: Out<'m>,
    /// The line.
    #[bits(p.line_bits())]
    #[valid_when(reserved_o)]
    pub line_o: Out<'m>,
}

/// An instruction whose operands are collected.
#[derive(Clone, Copy, Record)]
#[params(RegisterReadUnit)]
struct Instruction<T = Field> {
    #[bits(p.id_bits)]
    id: T,
    #[bits(p.geometry.lanes)]
    lanes: T,
    /// Sources it has, one bit each.
    #[bits(SOURCES)]
    sources: T,
    /// Results it has, one bit each.
    #[bits(RESULTS)]
    results: T,
}

/// The line reserved for a result.
#[derive(Clone, Copy, Record)]
#[params(ShardGeometry)]
struct Reserved<T = Field> {
    #[bits(p.line_bits())]
    line: T,
}

impl Circuit for RegisterReadUnit {
    type Io<'m> = RegisterReadUnitIo<'m>;
    const NAME: &'static str = "register_read_unit";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("entries", self.entries, 2..=16)?;
        Self::check(self.entries.is_power_of_two(), "entries", self.entries, "a power of two")?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("issues", self.issues, 1..=ISSUES)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterReadUnitIo<'m>) {
        let entry_bits = index_bits(self.entries);
        let held = m.table::<Instruction>("held", self.entries, self).valid_bits().ports(2, self.issues);
        let head = m.register("head", entry_bits).reset(0);
        let tail = m.register("tail", entry_bits).reset(0);
        // A bit for each position of each entry: the instruction waits for it.
        let waiting = m.register("waiting", self.entries * POSITIONS).reset(0);

        let entered = self.enter(m, io, held, tail);
        let dispatches = self.dispatch(io, held, head, waiting);
        let arrivals = m.lit(POSITIONS, 1_usize << ARRIVAL).replicate(self.entries);
        waiting.set((waiting & !self.served(m, io) & !arrivals) | entered);
        m.when(dispatches, || {
            held.clear_row(head);
            head.set(head + 1);
        });
        let leaves = self.assemble(m, io, held, (dispatches, head));

        let occupied = held.valid_rows();
        m.invariant("instructions_lie_between_head_and_tail", turn::lie_between(occupied, head, tail));
        m.invariant("only_an_instruction_waits", !(waiting.group_or(POSITIONS) & !occupied).any());
        for room_for_two in &io.room_for_two_o {
            m.invariant("room_for_two_is_room_for_one", room_for_two.implies(io.room_o));
        }
        m.invariant(
            "operands_leave_an_entry_that_is_free",
            io.unit.operands.valid_o.implies(!occupied.lane_select(leaves, 1)),
        );
    }
}

impl RegisterReadUnit {
    /// Takes instructions in. Gives what they wait for.
    fn enter<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterReadUnitIo<'m>,
        held: Table<'m, Instruction>,
        tail: Signal<'m>,
    ) -> Signal<'m> {
        let occupied = held.valid_rows();
        io.room_o.set(!occupied.lane_select(tail, 1));
        for room_for_two in &io.room_for_two_o {
            room_for_two.set(!occupied.lane_select(tail + 1, 1));
        }
        io.next_o.set(tail);
        let mut entry = tail;
        let mut waits = m.lit(self.entries * POSITIONS, 0);
        for (i, enter) in io.enter.iter().enumerate() {
            let positions = m.cat([enter.sources_i, m.lit(1, 1), enter.results_i]);
            let here = entry.decode(self.entries) & enter.valid_i.replicate(self.entries);
            waits = waits | (here.spread(POSITIONS) & positions.replicate(self.entries));
            m.when(enter.valid_i, || {
                let instruction = Instruction {
                    id: enter.id_i,
                    lanes: enter.lanes_i,
                    sources: enter.sources_i,
                    results: enter.results_i,
                };
                held.write(format!("enter{i}"), entry, instruction);
            });
            entry = entry + enter.valid_i.zext(index_bits(self.entries));
        }
        tail.set(entry);
        m.assumption("an_instruction_enters_a_free_entry", !(waits.group_or(POSITIONS) & occupied).any());
        waits
    }

    /// What the banks have served, a bit for each position of each entry.
    fn served<'m>(&self, m: &Module<'m>, io: &RegisterReadUnitIo<'m>) -> Signal<'m> {
        io.served.iter().fold(m.lit(self.entries * POSITIONS, 0), |served, access| {
            let sources = access.source_i.decode(SOURCES) & access.reads_i.replicate(SOURCES);
            let results = access.result_i.decode(RESULTS) & access.reserves_i.replicate(RESULTS);
            let positions = m.cat([sources, m.lit(1, 0), results]).replicate(self.entries);
            let here = access.entry_i.decode(self.entries) & access.valid_i.replicate(self.entries);
            served | (here.spread(POSITIONS) & positions)
        })
    }

    /// Dispatches the oldest instruction if nothing holds it.
    fn dispatch<'m>(
        &self,
        io: &RegisterReadUnitIo<'m>,
        held: Table<'m, Instruction>,
        head: Signal<'m>,
        waiting: Signal<'m>,
    ) -> Signal<'m> {
        let complete = held.valid_rows() & !waiting.group_or(POSITIONS);
        let dispatches = (complete.lane_select(head, 1) & io.unit.ready_i).named("dispatches");
        io.unit.dispatch.valid_o.set(dispatches);
        io.unit.dispatch.id_o.set(held.read("dispatch", head, dispatches).id);
        dispatches
    }

    /// Keeps what the banks give, and gives the operands of the instruction that has been dispatched, and its entry.
    fn assemble<'m>(
        &self,
        m: &Module<'m>,
        io: &RegisterReadUnitIo<'m>,
        held: Table<'m, Instruction>,
        (dispatches, head): (Signal<'m>, Signal<'m>),
    ) -> Signal<'m> {
        let g = &self.geometry;
        let left = m.register("left", 1).reset(0);
        let left_entry = m.register("left_entry", index_bits(self.entries)).no_reset();
        left.set(dispatches);
        m.when(dispatches, || {
            left_entry.set(head);
        });
        let entry = held.read("operands", left_entry, left);
        let operands = &io.unit.operands;
        operands.valid_o.set(left);
        operands.id_o.set(entry.id).valid_when(left);
        for (k, source) in operands.source_o.iter().enumerate() {
            let lanes = WarpLanes { lanes: g.lanes, per_array: g.lanes_per_slice };
            let values = m.table::<WarpRegister>(format!("source{k}"), self.entries, &lanes);
            for (b, value) in io.value.iter().enumerate() {
                m.when(value.valid_i & value.source_i.eq(k), || {
                    values.write(format!("bank{b}"), value.entry_i, WarpRegister { value: value.value_i });
                });
            }
            let lanes = entry.lanes & entry.sources.bit(k).replicate(g.lanes);
            let value = values.read("operands", left_entry, left & lanes.any()).lanes(lanes);
            let operand = value.value & lanes.spread(LANE_BITS);
            source.set(left.mux(operand, 0)).valid_when(left);
        }
        for (k, result) in operands.result.iter().enumerate() {
            let lines = m.table::<Reserved>(format!("result{k}"), self.entries, g);
            for (b, access) in io.served.iter().enumerate() {
                m.when(access.valid_i & access.reserves_i & access.result_i.eq(k), || {
                    lines.write(format!("bank{b}"), access.entry_i, Reserved { line: access.line_i });
                });
            }
            result.reserved_o.set(left & entry.results.bit(k));
            let line = lines.read("operands", left_entry, result.reserved_o).line;
            result.line_o.set(line);
        }
        left_entry
    }
}

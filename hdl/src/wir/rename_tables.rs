//! Which physical register holds each register of a warp.

use serde::{Deserialize, Serialize};

use crate::regfile::SOURCES;
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, Table, index_bits,
};

/// Rename tables: one for each warp of a scheduler, from logical to physical registers.
///
/// An instruction's sources are looked up when it is renamed; its destination is looked up and written when it retires. A
/// mapping is pinned if its physical register belongs to it alone and may be overwritten. A warp that ends gives up its
/// mappings one a cycle, in cycles in which no destination is looked up; it is ending until the last is gone.
///
/// Timing: lookups answer in the same cycle, and see a mapping from the cycle after it is written.
/// Source: Kim & Ro, WIR, §V-B, §V-D; 24 tables of 63 entries of 12 bits, with four read ports and one write port (§VII-E).
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RenameTables {
    /// Warps, 1 to 64.
    pub warps: usize,
    /// Registers of a warp, 2 to 256 (§V-B: 63).
    pub registers: usize,
    /// Bits of a physical register's number, 1 to 16.
    pub register_bits: usize,
}

/// Ports of [`RenameTables`].
#[derive(Ports)]
#[params(RenameTables)]
pub struct RenameTablesIo<'m> {
    /// The warp whose instruction is renamed.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// Its sources.
    #[repeat(SOURCES)]
    pub source: Vec<RenamedIo<'m>>,
    /// The destination of an instruction that retires.
    pub destination: DestinationIo<'m>,
    /// Its new mapping.
    pub write: MappingIo<'m>,
    /// Warps that end, one bit each.
    #[bits(p.warps)]
    pub end_i: In<'m>,
    /// Warps that still have mappings to give up.
    #[bits(p.warps)]
    pub ending_o: Out<'m>,
    /// A mapping that such a warp gives up.
    pub released: ReleasedIo<'m>,
}

/// A source.
#[derive(Ports)]
#[params(RenameTables)]
pub struct RenamedIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The logical register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
    /// It has a physical register.
    pub mapped_o: Out<'m>,
    /// The physical register.
    #[bits(p.register_bits)]
    pub physical_o: Out<'m>,
    /// It is pinned.
    pub pinned_o: Out<'m>,
}

/// A destination.
#[derive(Ports)]
#[params(RenameTables)]
pub struct DestinationIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// The logical register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
    /// It has a physical register.
    pub mapped_o: Out<'m>,
    /// The physical register.
    #[bits(p.register_bits)]
    pub physical_o: Out<'m>,
    /// It is pinned.
    pub pinned_o: Out<'m>,
}

/// A new mapping.
#[derive(Ports)]
#[params(RenameTables)]
pub struct MappingIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// The logical register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
    /// It loses its physical register and gets none.
    pub clear_i: In<'m>,
    /// The physical register.
    #[bits(p.register_bits)]
    pub physical_i: In<'m>,
    /// It is pinned.
    pub pinned_i: In<'m>,
}

/// A mapping that is given up.
#[derive(Ports)]
#[params(RenameTables)]
pub struct ReleasedIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// The physical register.
    #[bits(p.register_bits)]
    pub physical_o: Out<'m>,
}

/// The physical register of a logical one.
#[derive(Clone, Copy, Record)]
#[params(RenameTables)]
struct Mapping<T = Field> {
    #[bits(p.register_bits)]
    physical: T,
    /// It belongs to this logical register alone.
    #[bits(1)]
    pinned: T,
}

impl Circuit for RenameTables {
    type Io<'m> = RenameTablesIo<'m>;
    const NAME: &'static str = "rename_tables";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("registers", self.registers, 2..=256)?;
        Self::check_range("register_bits", self.register_bits, 1..=16)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RenameTablesIo<'m>) {
        let mappings = m.table::<Mapping>("mappings", self.entries(), self).valid_bits().ports(4, 1);
        for (k, source) in io.source.iter().enumerate() {
            let row = self.row(m, io.warp_i, source.register_i);
            let mapping = mappings.read(format!("source{k}"), row, source.valid_i);
            let mapped = source.valid_i & mapping.valid();
            source.mapped_o.set(mapped);
            source.physical_o.set(mapping.physical).valid_when(mapped);
            source.pinned_o.set(mapped & mapping.pinned);
        }
        m.when(io.write.valid_i, || {
            let row = self.row(m, io.write.warp_i, io.write.register_i);
            m.when(io.write.clear_i, || mappings.clear_row(row)).otherwise(|| {
                let mapping = Mapping { physical: io.write.physical_i, pinned: io.write.pinned_i };
                mappings.write("write", row, mapping);
            });
        });
        self.destination_or_end(m, io, mappings);
        let named = [
            (io.destination.valid_i, io.destination.warp_i, io.destination.register_i),
            (io.write.valid_i, io.write.warp_i, io.write.register_i),
        ];
        let sources = io.source.iter().map(|source| (source.valid_i, io.warp_i, source.register_i));
        let exist = named.into_iter().chain(sources).fold(m.lit(1, 1), |all, (valid, warp, register)| {
            all & valid.implies(below(warp, self.warps) & below(register, self.registers))
        });
        m.assumption("warps_and_registers_are_those_there_are", exist);
    }
}

/// Whether a number is less than `count`.
fn below<'m>(number: Signal<'m>, count: usize) -> Signal<'m> {
    number.zext(number.width() + 1).lt(count)
}

impl RenameTables {
    /// Entries of all tables.
    pub fn entries(&self) -> usize {
        self.warps * self.registers
    }

    /// The entry of a register of a warp.
    fn row<'m>(&self, m: &Module<'m>, warp: Signal<'m>, register: Signal<'m>) -> Signal<'m> {
        let bits = index_bits(self.entries());
        let wide = 2 * bits.max(warp.width()).max(register.width());
        (warp.zext(wide) * m.lit(wide, self.registers as u64) + register.zext(wide)).low(bits)
    }

    /// The port of the destination; where there is none, a warp that ends gives up its lowest mapping.
    fn destination_or_end<'m>(&self, m: &Module<'m>, io: &RenameTablesIo<'m>, mappings: Table<'m, Mapping>) {
        let ending = m.register("ending", self.warps).reset(0);
        io.ending_o.set(ending);
        let warp = ending.priority_encode();
        let lowest = ending.lowest_one();
        let left = lowest.one_hot_select(mappings.valid_rows());
        let releases = (left.any() & !io.destination.valid_i).named("releases");

        let destination = &io.destination;
        let looked_up = self.row(m, destination.warp_i, destination.register_i);
        let released = self.row(m, warp, left.priority_encode());
        let row = destination.valid_i.mux(looked_up, released);
        let mapping = mappings.read("destination", row, destination.valid_i | releases);
        let mapped = destination.valid_i & mapping.valid();
        destination.mapped_o.set(mapped);
        destination.physical_o.set(mapping.physical).valid_when(mapped);
        destination.pinned_o.set(mapped & mapping.pinned);
        io.released.valid_o.set(releases);
        io.released.physical_o.set(mapping.physical).valid_when(releases);
        m.when(releases, || mappings.clear_row(row));
        let gone = lowest & (!left.any()).replicate(self.warps);
        ending.set((ending & !gone) | io.end_i);

        m.invariant("what_is_given_up_was_mapped", releases.implies(mapping.valid()));
        let writes_to_ending = io.write.valid_i & ending.lane_select(io.write.warp_i, 1);
        m.assumption("no_instruction_of_a_warp_that_has_ended_retires", !writes_to_ending);
    }
}

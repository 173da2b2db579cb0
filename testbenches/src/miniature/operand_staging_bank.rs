use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, index_bits,
};

/// Lanes of a register.
const LANES: usize = 32;

/// Operand staging bank, in miniature: lines of warp registers found by tag.
///
/// A line is free, in use, or idle; an idle line keeps its value and is on the clean or on the dirty list. An
/// allocation takes a free line if there is one, else a clean one, else a dirty one, which is evicted: its old
/// register has to be written back. A lookup that hits takes the line off its list. Within a list the lowest
/// line goes first.
///
/// Timing: lookup and allocation answer in the same cycle; what they change is seen from the next. A line that
/// is looked up is not allocated in that cycle. The caller allocates no register that is present, and writes
/// and releases only lines in use.
/// Source: Kloosterman et al., "RegLess", §5.2 and Fig. 10.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct OperandStagingBank {
    /// Lines, 1 to 64.
    pub lines: usize,
    /// Warps.
    pub warps: usize,
    /// Registers a warp.
    pub registers: usize,
    /// Bits of a lane; 32 in the paper.
    pub lane_bits: usize,
}

/// Ports of an [`OperandStagingBank`].
#[derive(Ports)]
#[params(OperandStagingBank)]
pub struct StagingBankIo<'m> {
    /// Looks a register up, to use it.
    pub lookup: TagIo<'m>,
    /// The register is present.
    pub hit_o: Out<'m>,
    /// Its line.
    #[bits(index_bits(p.lines))]
    pub hit_line_o: Out<'m>,
    /// Its value, lane 0 lowest.
    #[bits(p.data_bits())]
    pub hit_data_o: Out<'m>,
    /// Asks for a line for a register.
    pub allocate: TagIo<'m>,
    /// There is a line.
    pub allocate_ready_o: Out<'m>,
    /// The line.
    #[bits(index_bits(p.lines))]
    pub allocate_line_o: Out<'m>,
    /// The register that a dirty line held before.
    pub evict: EvictIo<'m>,
    /// Writes lanes of a line, which becomes dirty.
    pub write: WriteIo<'m>,
    /// Ends the use of a line.
    pub release: ReleaseIo<'m>,
}

/// A warp's register.
#[derive(Ports)]
#[params(OperandStagingBank)]
pub struct TagIo<'m> {
    /// There is a request.
    pub valid_i: In<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_i: In<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_i: In<'m>,
}

/// A register to write back.
#[derive(Ports)]
#[params(OperandStagingBank)]
pub struct EvictIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// The warp.
    #[bits(index_bits(p.warps))]
    pub warp_o: Out<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_o: Out<'m>,
    /// Its value.
    #[bits(p.data_bits())]
    pub data_o: Out<'m>,
}

/// A write.
#[derive(Ports)]
#[params(OperandStagingBank)]
pub struct WriteIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The line.
    #[bits(index_bits(p.lines))]
    pub line_i: In<'m>,
    /// Lanes written.
    #[bits(LANES)]
    pub lanes_i: In<'m>,
    /// The value.
    #[bits(p.data_bits())]
    pub data_i: In<'m>,
}

/// The end of a line's use.
#[derive(Ports)]
#[params(OperandStagingBank)]
pub struct ReleaseIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The line.
    #[bits(index_bits(p.lines))]
    pub line_i: In<'m>,
    /// The value is dead: the line becomes free.
    pub discard_i: In<'m>,
}

impl OperandStagingBank {
    /// Bits of a register's value.
    pub fn data_bits(&self) -> usize {
        LANES * self.lane_bits
    }
}

/// A line, and whose it is.
#[derive(Clone, Copy, Record)]
#[params(OperandStagingBank)]
struct Line<T = Field> {
    #[bits(index_bits(p.warps))]
    warp: T,
    #[bits(index_bits(p.registers))]
    register: T,
    #[bits(p.data_bits())]
    #[lanes(LANES)]
    #[lanes_per_array(4)]
    data: T,
}

impl Circuit for OperandStagingBank {
    type Io<'m> = StagingBankIo<'m>;
    const NAME: &'static str = "operand_staging_bank";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("lines", self.lines, 1..=64)?;
        Self::check_range("warps", self.warps, 1..=64)?;
        Self::check_range("registers", self.registers, 1..=256)?;
        Self::check_range("lane_bits", self.lane_bits, 1..=32)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &StagingBankIo<'m>) {
        let lines = m.table::<Line>("lines", self.lines, self).valid_bits().ports(2, 2);
        // One bit a line: on one of the lists, and changed since it was filled.
        let idle = m.register("idle", self.lines).reset(0);
        let dirty = m.register("dirty", self.lines).reset(0);

        let hits = lines.matching("lookup", io.lookup.valid_i, |line| {
            line.valid() & line.warp.eq(io.lookup.warp_i) & line.register.eq(io.lookup.register_i)
        });
        let hits = hits & io.lookup.valid_i.replicate(self.lines);
        let found = lines.read("hit", hits.priority_encode(), hits.any());
        io.hit_o.set(hits.any());
        io.hit_line_o.set(hits.priority_encode()).valid_when(io.hit_o);
        io.hit_data_o.set(found.data).valid_when(io.hit_o);

        let free = !lines.valid_rows();
        let clean = idle & !dirty & !hits;
        let dirty_idle = idle & dirty & !hits;
        let clean_or_dirty = clean.any().mux(clean, dirty_idle);
        let chosen = free.any().mux(free, clean_or_dirty).lowest_one();
        let allocates = (io.allocate.valid_i & chosen.any()).named("allocates");
        io.allocate_ready_o.set(chosen.any());
        io.allocate_line_o.set(chosen.priority_encode()).valid_when(io.allocate_ready_o);

        let evicts = allocates & (chosen & dirty_idle).any();
        let victim = lines.read("victim", chosen.priority_encode(), evicts);
        io.evict.valid_o.set(evicts);
        io.evict.warp_o.set(victim.warp).valid_when(io.evict.valid_o);
        io.evict.register_o.set(victim.register).valid_when(io.evict.valid_o);
        io.evict.data_o.set(victim.data).valid_when(io.evict.valid_o);

        m.when(io.write.valid_i, || {
            lines
                .write_fields("write", io.write.line_i, |line| [(line.data, io.write.data_i)])
                .lanes(io.write.lanes_i)
                .keep_valid();
        });
        m.when(allocates, || {
            lines.write_fields("allocate", chosen.priority_encode(), |line| {
                [(line.warp, io.allocate.warp_i), (line.register, io.allocate.register_i)]
            });
        });
        m.when(io.release.valid_i & io.release.discard_i, || lines.clear_row(io.release.line_i));

        let none = m.lit(self.lines, 0);
        let allocated = allocates.mux(chosen, none);
        let written = io.write.valid_i.mux(io.write.line_i.decode(self.lines), none);
        let released = io.release.valid_i.mux(io.release.line_i.decode(self.lines), none);
        let discarded = io.release.discard_i.mux(released, none);
        idle.set((idle | released) & !hits & !allocated & !discarded);
        dirty.set(((dirty & !allocated) | written) & !discarded);

        m.invariant("a_register_is_in_one_line_at_most", hits.popcount().le(1));
        m.invariant("idle_lines_hold_registers", (idle & free).any().eq(0));
        m.invariant("dirty_lines_hold_registers", (dirty & free).any().eq(0));
        m.invariant("a_dirty_line_is_evicted_last", io.evict.valid_o.implies(!(free | clean).any()));
    }
}

//! Warps that run regions under a capacity manager.

use serde::{Deserialize, Serialize};
use warpfile_hdl::regless::{CapacityManager, CapacityManagerIo, MetadataNoteIo, NOTES, Note, ShardGeometry};
use warpfile_hdl::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal};

/// Instructions that are offered in a cycle.
pub(super) const ISSUES: usize = 2;
/// Cycles from an instruction to its result.
pub(super) const LATENCY: usize = 4;
/// Lines of a bank that a region uses at most.
pub(super) const MOST_USED: usize = 3;

/// Managed warps: a capacity manager with as much of a shard around it as it takes to run regions: a warp of which a region is
/// active issues, banks serve in the next cycle what they are given, and results come four cycles after their
/// instructions.
///
/// An instruction makes one access, those of issue 0 to bank 0 and those of issue 1 to bank 1, and has a result there if its
/// region may hold a line more. Annotations are served without fetches.
///
/// Timing: that of the capacity manager.
/// Source: the contract in `docs/regless-pipeline.md`.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ManagedWarps {
    /// The capacity manager, of two banks at least.
    pub manager: CapacityManager,
}

/// Ports of [`ManagedWarps`].
#[derive(Ports)]
#[params(ManagedWarps)]
pub struct ManagedWarpsIo<'m> {
    /// A word of metadata.
    #[with(p.manager.geometry)]
    pub metadata: WordIo<'m>,
    /// Instructions.
    #[repeat(ISSUES)]
    #[with(p.manager.geometry)]
    pub issue: Vec<InstructionIo<'m>>,
    /// Banks that take an annotation.
    #[bits(p.manager.geometry.banks)]
    pub note_ready_i: In<'m>,
    /// Warps that wait.
    #[bits(p.manager.geometry.warps)]
    pub waiting_i: In<'m>,
    /// Warps that may issue.
    #[bits(p.manager.geometry.warps)]
    pub active_o: Out<'m>,
    /// Warps of which nothing is under way.
    #[bits(p.manager.geometry.warps)]
    pub inactive_o: Out<'m>,
    /// What the banks are given.
    #[repeat(p.manager.geometry.banks)]
    #[with(p.manager.geometry)]
    pub bank: Vec<AnnotatedIo<'m>>,
}

/// A word of metadata.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct WordIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is taken.
    pub ready_o: Out<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// The last of its region; the one behind it is the first of another.
    pub last_i: In<'m>,
    /// Lines of each bank, of which the lowest two bits count.
    #[bits(p.banks * p.line_count_bits())]
    pub usage_i: In<'m>,
    /// Annotations.
    #[repeat(NOTES)]
    pub note: Vec<MetadataNoteIo<'m>>,
}

/// An instruction, which is left out if its warp is not active.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct InstructionIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// The last of its region.
    pub last_i: In<'m>,
    /// It has a result.
    pub writes_i: In<'m>,
}

/// What a bank is given.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct AnnotatedIo<'m> {
    /// There is an annotation.
    pub note_valid_o: Out<'m>,
    /// Its kind.
    #[bits(Note::BITS)]
    pub note_kind_o: Out<'m>,
    /// Its warp.
    #[bits(p.warp_bits())]
    pub note_warp_o: Out<'m>,
    /// Its register.
    #[bits(p.register_bits)]
    pub note_register_o: Out<'m>,
    /// Warps that may hold a line more.
    #[bits(p.warps)]
    pub may_hold_o: Out<'m>,
}

impl Circuit for ManagedWarps {
    type Io<'m> = ManagedWarpsIo<'m>;
    const NAME: &'static str = "managed_warps";

    fn validate(&self) -> Result<(), ParameterError> {
        self.manager.validate()?;
        Self::check_range("manager.geometry.banks", self.manager.geometry.banks, ISSUES..=8)?;
        Self::check_range("manager.writes", self.manager.writes, ISSUES..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ManagedWarpsIo<'m>) {
        let manager = m.instance("manager", self.manager.clone());
        self.decode(m, io, &manager);
        self.annotate(m, io, &manager);
        self.issue(m, io, &manager);
        manager.waiting_i.set(io.waiting_i);
        io.active_o.set(manager.active_o);
        io.inactive_o.set(manager.inactive_o);
        manager.fill.valid_i.set(0);
        manager.fill.warp_i.set(0);
    }
}

impl ManagedWarps {
    /// Words of metadata, the first of a region behind the last of another.
    fn decode<'m>(&self, m: &Module<'m>, io: &ManagedWarpsIo<'m>, manager: &CapacityManagerIo<'m>) {
        let g = &self.manager.geometry;
        let (outer, inner) = (&io.metadata, &manager.metadata);
        // Warps whose last word was not the last of its region.
        let in_region = m.register("in_region", g.warps).reset(0);
        let most = m.lit(g.line_count_bits(), MOST_USED).replicate(g.banks);
        inner.valid_i.set(outer.valid_i);
        inner.warp_i.set(outer.warp_i);
        inner.first_i.set(!in_region.lane_select(outer.warp_i, 1));
        inner.last_i.set(outer.last_i);
        inner.usage_i.set(outer.usage_i & most);
        outer.ready_o.set(inner.ready_o);
        for (inner, outer) in inner.note.iter().zip(&outer.note) {
            inner.valid_i.set(outer.valid_i);
            inner.kind_i.set(outer.kind_i);
            inner.register_i.set(outer.register_i);
        }
        let warp = outer.warp_i.decode(g.warps);
        m.when(outer.valid_i & outer.ready_o, || {
            in_region.set(outer.last_i.mux(in_region & !warp, in_region | warp));
        });
    }

    /// Annotations are served in the cycle after they were taken.
    fn annotate<'m>(&self, m: &Module<'m>, io: &ManagedWarpsIo<'m>, manager: &CapacityManagerIo<'m>) {
        for (b, (inner, outer)) in manager.bank.iter().zip(&io.bank).enumerate() {
            let note = &inner.note;
            note.ready_i.set(io.note_ready_i.bit(b));
            outer.note_valid_o.set(note.valid_o);
            outer.note_kind_o.set(note.kind_o).valid_when(outer.note_valid_o);
            outer.note_warp_o.set(note.warp_o).valid_when(outer.note_valid_o);
            outer.note_register_o.set(note.register_o).valid_when(outer.note_valid_o);
            outer.may_hold_o.set(inner.may_hold_o);
            let done = delayed(m, &format!("staged{b}"), note.valid_o & note.ready_i, note.warp_o, 1);
            inner.staged.done_i.set(done.0);
            inner.staged.warp_i.set(done.1);
        }
    }

    /// Instructions of active warps, their accesses and their results.
    fn issue<'m>(&self, m: &Module<'m>, io: &ManagedWarpsIo<'m>, manager: &CapacityManagerIo<'m>) {
        let g = &self.manager.geometry;
        let mut ended = m.lit(1, 0);
        let mut ended_warp = m.lit(g.warp_bits(), 0);
        for (i, (issue, inner)) in io.issue.iter().zip(&manager.issue).enumerate() {
            let bank = &manager.bank[i];
            let active = manager.active_o.lane_select(issue.warp_i, 1);
            let region_ended = ended & ended_warp.eq(issue.warp_i);
            let taken = (issue.valid_i & active & !region_ended).named(format!("taken{i}"));
            let writes = (taken & issue.writes_i & bank.may_hold_o.lane_select(issue.warp_i, 1))
                .named(format!("writes{i}"));
            (ended, ended_warp) = (taken & issue.last_i, issue.warp_i);
            inner.taken_i.set(taken);
            inner.warp_i.set(issue.warp_i);
            inner.last_i.set(issue.last_i);
            inner.accesses_i.set(1);
            inner.writes_i.set(writes.zext(inner.writes_i.width()));
            let served = delayed(m, &format!("served{i}"), taken, issue.warp_i, 1);
            bank.served.valid_i.set(served.0);
            bank.served.warp_i.set(served.1);
            let result = delayed(m, &format!("result{i}"), writes, issue.warp_i, LATENCY);
            manager.write[i].taken_i.set(result.0);
            manager.write[i].warp_i.set(result.1);
            let held = &bank.held;
            held.more_i.set(writes);
            held.warp_i.set(issue.warp_i);
            held.written_less_i.set(result.0);
            held.written_warp_i.set(result.1);
            let listed = m.register(format!("listed{i}"), g.line_count_bits()).reset(g.lines);
            listed.set(listed - writes.zext(g.line_count_bits()) + result.0.zext(g.line_count_bits()));
            held.listed_i.set(listed);
        }
        for bank in &manager.bank {
            bank.held.less_i.set(0);
        }
        for bank in &manager.bank[ISSUES..] {
            bank.served.valid_i.set(0);
            bank.served.warp_i.set(0);
            bank.held.more_i.set(0);
            bank.held.warp_i.set(0);
            bank.held.written_less_i.set(0);
            bank.held.written_warp_i.set(0);
            bank.held.listed_i.set(g.lines);
        }
        for write in &manager.write[ISSUES..] {
            write.taken_i.set(0);
            write.warp_i.set(0);
        }
    }
}

/// An event and its warp, so many cycles later.
fn delayed<'m>(
    m: &Module<'m>,
    name: &str,
    happens: Signal<'m>,
    warp: Signal<'m>,
    cycles: usize,
) -> (Signal<'m>, Signal<'m>) {
    let step = |(happens, warp): (Signal<'m>, Signal<'m>), cycle| {
        let happened = m.register(format!("{name}_{cycle}"), 1).reset(0);
        let of_warp = m.register(format!("{name}_warp_{cycle}"), warp.width()).no_reset();
        happened.set(happens);
        m.when(happens, || {
            of_warp.set(warp);
        });
        (happened, of_warp)
    };
    (1..=cycles).fold((happens, warp), step)
}

//! Who computes what: from places in the arena back to the instructions of the plan.

use crate::plan::operands::{Need, Operand};
use crate::plan::{ONE, OutPort, Plan, RegisterEdge, UpdateEdge};

/// Index into [`Plan::program`].
pub type InstId = usize;

/// What is read once the circuit has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// All that a cycle is run for.
    OfCycle,
    /// Who asks for [`Plan::foreseen`], before the cycle is run.
    OfForeseen,
}

/// Producer of a place between results.
const NOBODY: u32 = u32::MAX;

/// The producers of all computed places.
pub struct Graph<'p> {
    pub plan: &'p Plan,
    readers: Readers,
    /// First computed place: everything below is a constant, an input or state.
    first: u32,
    /// Producer of each computed place.
    producers: Vec<u32>,
}

impl<'p> Graph<'p> {
    /// What a cycle is run for.
    pub fn of_cycle(plan: &'p Plan) -> Graph<'p> {
        Graph::new(plan, Readers::OfCycle)
    }

    pub fn new(plan: &'p Plan, readers: Readers) -> Graph<'p> {
        let first = plan.program.iter().map(|inst| inst.result(plan)).min().unwrap_or(plan.arena_words);
        let mut producers = vec![NOBODY; (plan.arena_words - first) as usize];
        for (id, inst) in (0..).zip(&plan.program) {
            let start = (inst.result(plan) - first) as usize;
            producers[start..start + inst.result_words(plan) as usize].fill(id);
        }
        Graph { plan, readers, first, producers }
    }

    /// The instruction whose result covers `place`; `None` for constants, inputs and state.
    pub fn producer(&self, place: u32) -> Option<InstId> {
        let index = place.checked_sub(self.first)?;
        let producer = self.producers[index as usize];
        (producer != NOBODY).then_some(producer as InstId)
    }

    /// Captured rows of clocked reads that are read after the circuit has settled.
    pub fn captures(&self) -> &'p [RegisterEdge] {
        match self.readers {
            Readers::OfCycle => &self.plan.captures,
            Readers::OfForeseen => &[],
        }
    }

    /// Calls `visit` with everything that is read after the circuit has settled: by the clock edge, by whoever
    /// reads outputs and probes, by counters and checks; or by whoever asks for outputs before the cycle is run.
    pub fn visit_roots(&self, visit: &mut dyn FnMut(Operand)) {
        match self.readers {
            Readers::OfCycle => self.visit_cycle(visit),
            Readers::OfForeseen => self.plan.foreseen.iter().for_each(|port| self.visit_output(*port, visit)),
        }
    }

    fn visit_cycle(&self, visit: &mut dyn FnMut(Operand)) {
        let plan = self.plan;
        plan.signals.iter().for_each(|signal| self.visit_output(signal.value, visit));
        plan.invariants.iter().for_each(|invariant| visit((invariant.condition, Need::Always)));
        for edge in plan.registers.iter().chain(self.captures()) {
            visit((edge.enable, Need::Always));
            visit((edge.next, if edge.enable == ONE { Need::Always } else { Need::If(edge.enable) }));
        }
        self.visit_updates(visit);
        for meter in plan.port_meters.iter().filter(|_| plan.count_activity) {
            visit((meter.enable, Need::Always));
            meter.groups.iter().for_each(|group| visit((group.mask, Need::If(meter.enable))));
        }
    }

    /// A value that can be read from outside. Under [`Plan::qualified_outputs`] an output is read only where its
    /// qualifier holds.
    fn visit_output(&self, value: OutPort, visit: &mut dyn FnMut(Operand)) {
        let need = match self.plan.qualified_outputs && value.is_qualified() {
            true => Need::If(value.valid),
            false => Need::Always,
        };
        visit((value.valid, Need::Always));
        visit((value.offset, need));
    }

    /// Calls `visit` with everything that changes of tables read.
    pub fn visit_updates(&self, visit: &mut dyn FnMut(Operand)) {
        self.plan.updates.iter().for_each(|update| self.visit_update(update, visit));
    }

    fn visit_update(&self, update: &UpdateEdge, visit: &mut dyn FnMut(Operand)) {
        match *update {
            UpdateEdge::Write { enable, address, stores, count, .. } => {
                visit((enable, Need::Always));
                visit((address, Need::If(enable)));
                for store in &self.plan.stores[stores as usize..(stores + count) as usize] {
                    visit((store.value, Need::If(enable)));
                    store.lanes.iter().for_each(|&lanes| visit((lanes, Need::If(enable))));
                }
            }
            UpdateEdge::Add { enable, address, amount, .. } => {
                visit((enable, Need::Always));
                visit((address, Need::If(enable)));
                visit((amount, Need::If(enable)));
            }
            UpdateEdge::ClearRow { enable, address, .. } => {
                visit((enable, Need::Always));
                visit((address, Need::If(enable)));
            }
            UpdateEdge::ClearRows { enable, rows, .. } | UpdateEdge::SetRows { enable, rows, .. } => {
                visit((enable, Need::Always));
                visit((rows, Need::If(enable)));
            }
        }
    }
}

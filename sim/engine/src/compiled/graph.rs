//! Who computes what: from places in the arena back to the instructions of the plan.

use crate::plan::operands::{Need, Operand};
use crate::plan::{ONE, Plan, UpdateEdge};

/// Index into [`Plan::program`].
pub type InstId = usize;

/// The producers of all computed places.
pub struct Graph<'p> {
    pub plan: &'p Plan,
    /// First computed place: everything below is a constant, an input or state.
    first: u32,
    /// Producer of each computed place.
    producers: Vec<u32>,
}

impl<'p> Graph<'p> {
    pub fn new(plan: &'p Plan) -> Graph<'p> {
        let first = plan.program.first().map_or(plan.arena_words, |inst| inst.result(plan));
        let mut producers = vec![0; (plan.arena_words - first) as usize];
        for (id, inst) in (0..).zip(&plan.program) {
            let start = (inst.result(plan) - first) as usize;
            producers[start..start + inst.result_words(plan) as usize].fill(id);
        }
        Graph { plan, first, producers }
    }

    /// The instruction whose result covers `place`; `None` for constants, inputs and state.
    pub fn producer(&self, place: u32) -> Option<InstId> {
        let index = place.checked_sub(self.first)?;
        Some(self.producers[index as usize] as InstId)
    }

    /// Calls `visit` with everything that is read after the circuit has settled: by the clock edge, by whoever
    /// reads outputs and probes, by counters and checks.
    pub fn visit_roots(&self, visit: &mut dyn FnMut(Operand)) {
        self.visit_observed(visit);
        let plan = self.plan;
        for edge in plan.registers.iter().chain(&plan.captures) {
            visit((edge.enable, Need::Always));
            visit((edge.next, if edge.enable == ONE { Need::Always } else { Need::If(edge.enable) }));
        }
        self.visit_updates(visit);
        for meter in plan.port_meters.iter().filter(|_| plan.count_activity) {
            visit((meter.enable, Need::Always));
            meter.groups.iter().for_each(|group| visit((group.mask, Need::If(meter.enable))));
        }
    }

    /// Values that can be read from outside. Under [`Plan::qualified_outputs`] an output is read only where
    /// its qualifier holds.
    fn visit_observed(&self, visit: &mut dyn FnMut(Operand)) {
        let plan = self.plan;
        for signal in &plan.signals {
            let value = signal.value;
            let need = match plan.qualified_outputs && value.is_qualified() {
                true => Need::If(value.valid),
                false => Need::Always,
            };
            visit((value.valid, Need::Always));
            visit((value.offset, need));
        }
        plan.invariants.iter().for_each(|invariant| visit((invariant.condition, Need::Always)));
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

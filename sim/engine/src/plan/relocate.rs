//! Gives everything another place in the arena.

use std::collections::BTreeMap;

use super::{OutPort, Plan, RegisterEdge, UpdateEdge};

impl Plan {
    /// Moves every word of the arena to where `new` says. Constants and inputs stay where they are, and words of one
    /// value beside each other.
    pub fn relocate(&mut self, new: &dyn Fn(u32) -> u32) {
        let there = |place: &mut u32| *place = new(*place);
        for inst in &mut self.program {
            inst.visit_places_mut(&mut |_, place| there(place));
        }
        self.parts.iter_mut().for_each(|part| there(&mut part.a));
        for column in &mut self.columns {
            column.visit_places_mut(&mut |_, place| there(place));
        }
        for edge in self.registers.iter_mut().chain(&mut self.captures) {
            let RegisterEdge { q, next, enable, n: _, reset: _ } = edge;
            [q, next, enable].into_iter().for_each(there);
        }
        self.updates.iter_mut().for_each(|update| update.visit_places_mut(&there));
        for store in &mut self.stores {
            there(&mut store.base);
            there(&mut store.value);
            store.lanes.iter_mut().for_each(there);
        }
        for table in &mut self.tables {
            table.fields.iter_mut().for_each(|field| there(&mut field.base));
            table.valid.iter_mut().for_each(there);
        }
        self.fills.iter_mut().for_each(|fill| there(&mut fill.offset));
        self.widths = std::mem::take(&mut self.widths)
            .into_iter()
            .map(|(place, width)| (new(place), width))
            .collect::<BTreeMap<u32, u32>>();
        for meter in &mut self.port_meters {
            there(&mut meter.enable);
            meter.groups.iter_mut().for_each(|group| there(&mut group.mask));
        }
        self.invariants.iter_mut().for_each(|invariant| there(&mut invariant.condition));
        let named = self.signals.iter_mut().map(|signal| &mut signal.value);
        let outputs = self.out_ports.values_mut().chain(self.probes.values_mut()).chain(&mut self.foreseen);
        for OutPort { offset, width: _, valid } in named.chain(outputs) {
            [offset, valid].into_iter().for_each(there);
        }
    }
}

impl UpdateEdge {
    /// Calls `visit` with every place that the update itself names; fields of a write are named in the plan.
    fn visit_places_mut(&mut self, visit: &dyn Fn(&mut u32)) {
        match self {
            UpdateEdge::Write { enable, address, valid, depth: _, stores: _, count: _ } => {
                [enable, address].into_iter().for_each(visit);
                valid.iter_mut().for_each(visit);
            }
            UpdateEdge::Add { enable, address, base, amount, depth: _, width: _ } => {
                [enable, address, base, amount].into_iter().for_each(visit);
            }
            UpdateEdge::ClearRow { enable, address, valid, depth: _ } => {
                [enable, address, valid].into_iter().for_each(visit);
            }
            UpdateEdge::ClearRows { enable, rows, valid, n: _ }
            | UpdateEdge::SetRows { enable, rows, valid, n: _ } => {
                [enable, rows, valid].into_iter().for_each(visit);
            }
        }
    }
}

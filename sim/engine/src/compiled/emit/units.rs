//! The code of a circuit in parts: units that find all they need in the arena and leave it there.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::ir::InstBuilder;

use super::Emitter;
use crate::compiled::graph::InstId;
use crate::compiled::parts::{PartId, Parts};
use crate::compiled::segments::SegmentId;
use crate::plan::RegisterEdge;

/// A stretch of code that needs nothing of what runs around it.
#[derive(Clone, Debug)]
pub enum Unit<'a> {
    /// What a part works out.
    Settle(PartId, Vec<(InstId, SegmentId)>),
    /// Rows that are captured at the edge before tables change.
    Capture(Option<PartId>, Vec<&'a RegisterEdge>),
    /// Updates of tables at the edge, by their index.
    Update(Option<PartId>, Vec<usize>),
    /// Registers that take their next value at the edge.
    Take(Option<PartId>, Vec<&'a RegisterEdge>),
}

impl Unit<'_> {
    /// The place of the word that is not 0 where the unit has something to do; `None` if it always has.
    pub fn asks(&self, parts: &Parts) -> Option<u32> {
        match *self {
            Unit::Settle(part, _) => Some(parts.trigger(part).place),
            Unit::Capture(part, _) | Unit::Update(part, _) | Unit::Take(part, _) => {
                part.map(|part| parts.due(part))
            }
        }
    }
}

impl<'a> Emitter<'a, '_> {
    /// Emits what all parts work out.
    pub fn settle_parts(&mut self, parts: &Parts) {
        let mut by_part: BTreeMap<PartId, Vec<(InstId, SegmentId)>> = BTreeMap::new();
        for &(id, segment) in &self.segments.order {
            let part = parts.of(id).expect("what has code has a part");
            by_part.entry(part).or_default().push((id, segment));
        }
        let index: BTreeMap<PartId, usize> = by_part.keys().copied().zip(0..).collect();
        let earlier = |part| parts.needs(part).iter().filter_map(|other| index.get(other).copied()).collect();
        let needs: Vec<BTreeSet<usize>> = by_part.keys().map(|&part| earlier(part)).collect();
        let units: Vec<Unit> = by_part.into_iter().map(|(part, order)| Unit::Settle(part, order)).collect();
        self.emit_units(parts, &units, &needs);
    }

    /// Emits one unit.
    pub fn emit_unit(&mut self, parts: &Parts, unit: &Unit<'a>) {
        match unit {
            Unit::Settle(part, order) => self.settle_part(parts, *part, order),
            Unit::Capture(part, edges) => {
                self.when_due(parts, *part, |emitter| {
                    edges.iter().for_each(|edge| emitter.emit_register(edge))
                });
            }
            Unit::Update(part, updates) => {
                self.when_due(parts, *part, |emitter| emitter.change_tables(updates.iter().copied()));
            }
            Unit::Take(part, edges) => self.take_registers(parts, *part, edges),
        }
    }

    /// Emits what a part works out where its trigger is set.
    fn settle_part(&mut self, parts: &Parts, part: PartId, order: &[(InstId, SegmentId)]) {
        let trigger = self.frame.stored(parts.trigger(part).place);
        self.frame.open(trigger, true);
        self.here = Some(part);
        self.settle_in_order(order);
        self.end_part(part);
        self.here = None;
        self.frame.close();
    }

    /// Emits registers of a part, which then waits for what is new or enabled.
    fn take_registers(&mut self, parts: &Parts, part: Option<PartId>, edges: &[&RegisterEdge]) {
        self.when_due(parts, part, |emitter| {
            emitter.change_registers(edges);
            if let Some(part) = part.filter(|&part| parts.feeds_registers(part)) {
                // What is enabled stays due; what registers take whenever there is something new is taken.
                let at = emitter.frame.place(parts.due(part));
                let due = emitter.frame.load(at);
                let due = emitter.ins().band_imm_u(due, 1);
                emitter.frame.store(at, due);
            }
        });
    }
}

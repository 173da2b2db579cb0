//! Where pointers are kept that leave the segment they are made in.
//!
//! A slot holds a distance from the start of the arena in bytes, so that a copied arena is as good as the
//! first. It starts as the place the value would have, which is always there to be read.

use std::collections::{BTreeMap, BTreeSet};

use super::super::graph::{Graph, InstId};
use super::super::instances::{Instances, Phase};
use super::super::segments::Segments;
use crate::plan::RegisterEdge;
use crate::plan::inst::Inst;

/// Slots by instruction.
pub struct Slots {
    /// First word behind the arena and these slots.
    end: u32,
    /// Slot, and the place of the instruction's result.
    slots: BTreeMap<InstId, (u32, u32)>,
    /// Pointer instructions whose result may be a row or a register.
    of_state: BTreeSet<InstId>,
    /// Rows that are read after settling by captures alone, which take them before any row changes.
    captured: BTreeSet<InstId>,
}

impl Slots {
    pub fn new(graph: &Graph, segments: &Segments, instances: Option<&Instances>) -> Slots {
        let plan = graph.plan;
        let mut slots = Slots {
            end: plan.arena_words,
            slots: BTreeMap::new(),
            of_state: BTreeSet::new(),
            captured: captured(graph),
        };
        if let Some(instances) = instances {
            slots.captured = of_all(instances, &slots.captured);
        }
        let mut spare = instances.map_or(0..0, |instances| instances.spare.clone());
        for (id, inst) in plan.program.iter().enumerate() {
            if is_pointer(inst) && slots.may_be_state(graph, inst) {
                slots.of_state.insert(id);
            }
            let inside = instances.filter(|instances| instances.phase(id) == Phase::First);
            if is_pointer(inst) && segments.exported[id] && !segments.kept[id] {
                let slot = match inside.and_then(|_| spare.next()) {
                    Some(slot) => slot,
                    None => slots.take(),
                };
                slots.slots.insert(id, (slot, inst.result(plan)));
                for (distance, id) in inside.into_iter().flat_map(|instances| instances.others(id)) {
                    slots.slots.insert(id, (slot + distance, inst.result(plan) + distance));
                }
            }
        }
        slots
    }

    /// A word behind the arena.
    fn take(&mut self) -> u32 {
        self.end += 1;
        self.end - 1
    }

    fn may_be_state(&self, graph: &Graph, inst: &Inst) -> bool {
        let is_state = |place: u32| match graph.producer(place) {
            Some(id) => self.of_state.contains(&id),
            None => !graph.plan.inputs.contains(&place) && place >= graph.plan.constants.len() as u32,
        };
        match *inst {
            Inst::WideRead { .. } => true,
            Inst::WideMux { then, otherwise, .. } => is_state(then) || is_state(otherwise),
            Inst::PartSelect { parts, count, .. } => {
                graph.plan.parts[parts as usize..(parts + count) as usize].iter().any(|part| is_state(part.a))
            }
            Inst::LaneSelect { vector, .. } => is_state(vector),
            _ => false,
        }
    }

    /// Whether a pointer instruction's result may be a row or a register.
    pub fn refers_to_state(&self, id: InstId) -> bool {
        self.of_state.contains(&id)
    }

    /// Whether an instruction's result is read after settling by captures alone.
    pub fn is_captured_only(&self, id: InstId) -> bool {
        self.captured.contains(&id)
    }

    pub fn end(&self) -> u32 {
        self.end
    }

    pub fn get(&self, id: InstId) -> Option<u32> {
        self.slots.get(&id).map(|(slot, _)| *slot)
    }

    /// Sets every slot to where its value would be.
    pub fn initialise(&self, arena: &mut [u64]) {
        for &(slot, place) in self.slots.values() {
            arena[slot as usize] = u64::from(place) * 8;
        }
    }
}

/// Whether a captured row can be taken before tables change: no change of a table reads what was captured before.
pub fn is_early(graph: &Graph, capture: &RegisterEdge) -> bool {
    let held = capture.q..capture.q + capture.n;
    let mut is_read = false;
    graph.visit_updates(&mut |(place, _)| is_read |= held.contains(&place));
    !is_read
}

/// Rows whose only readers after settling are early captures.
fn captured(graph: &Graph) -> BTreeSet<InstId> {
    let mut readers: BTreeMap<InstId, u32> = BTreeMap::new();
    graph.visit_roots(&mut |(place, _)| {
        if let Some(id) = graph.producer(place) {
            *readers.entry(id).or_default() += 1;
        }
    });
    let early = graph.captures().iter().filter(|capture| is_early(graph, capture));
    for id in early.filter_map(|capture| graph.producer(capture.next)) {
        *readers.entry(id).or_default() -= 1;
    }
    let is_row = |id: InstId| matches!(graph.plan.program[id], Inst::WideRead { .. });
    readers.into_iter().filter(|&(id, others)| others == 0 && is_row(id)).map(|(id, _)| id).collect()
}

/// Whether the result is a pointer to words that are already somewhere.
pub fn is_pointer(inst: &Inst) -> bool {
    match inst {
        Inst::WideRead { .. } | Inst::WideMux { .. } | Inst::PartSelect { .. } => true,
        Inst::LaneSelect { lane, index_n: 1, .. } => *lane > 64 && lane.is_multiple_of(64),
        _ => false,
    }
}

/// The instructions among these that are so in every instance.
fn of_all(instances: &Instances, ids: &BTreeSet<InstId>) -> BTreeSet<InstId> {
    let is_in_all = |id: &InstId| match instances.phase(*id) {
        Phase::Before | Phase::After => true,
        Phase::First | Phase::Others => instances.all(instances.of_first(*id)).all(|id| ids.contains(&id)),
    };
    ids.iter().copied().filter(is_in_all).collect()
}

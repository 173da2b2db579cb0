//! Where pointers are kept that leave the segment they are made in.
//!
//! A slot holds a distance from the start of the arena in bytes, so that a copied arena is as good as the
//! first. It starts as the place the value would have, which is always there to be read.

use std::collections::{BTreeMap, BTreeSet};

use super::super::graph::{Graph, InstId};
use super::super::segments::Segments;
use crate::plan::inst::Inst;
use crate::plan::{Plan, RegisterEdge};

/// A word for each pointer that code may have to keep: the same for all code of a plan, so that one function can go on
/// where another has stopped.
#[derive(Clone, Debug)]
pub struct Reserved {
    /// Slot, and the place of the instruction's result.
    slots: BTreeMap<InstId, (u32, u32)>,
}

impl Reserved {
    /// Makes room in the plan's arena.
    pub fn new(plan: &mut Plan) -> Reserved {
        let pointers = plan.program.iter().enumerate().filter(|(_, inst)| is_pointer(inst));
        let slots: BTreeMap<InstId, (u32, u32)> = pointers
            .zip(plan.arena_words..)
            .map(|((id, inst), slot)| (id, (slot, inst.result(plan))))
            .collect();
        plan.arena_words += slots.len() as u32;
        Reserved { slots }
    }

    /// Sets every slot to where its value would be.
    pub fn initialise(&self, arena: &mut [u64]) {
        for &(slot, place) in self.slots.values() {
            arena[slot as usize] = u64::from(place) * 8;
        }
    }
}

/// Slots by instruction.
#[derive(Clone)]
pub struct Slots {
    /// Slots of pointers that leave their segment.
    slots: BTreeMap<InstId, u32>,
    /// Pointer instructions whose result may be a row or a register.
    of_state: BTreeSet<InstId>,
    /// Rows that are read after settling by captures alone, which take them before any row changes.
    captured: BTreeSet<InstId>,
}

impl Slots {
    pub fn new(graph: &Graph, segments: &Segments, reserved: &Reserved) -> Slots {
        let mut slots =
            Slots { slots: BTreeMap::new(), of_state: BTreeSet::new(), captured: captured(graph) };
        for (id, inst) in graph.plan.program.iter().enumerate() {
            if is_pointer(inst) && slots.may_be_state(graph, inst) {
                slots.of_state.insert(id);
            }
        }
        let leaving = reserved.slots.iter().filter(|(id, _)| segments.exported[**id] && !segments.kept[**id]);
        slots.slots = leaving.map(|(&id, &(slot, _))| (id, slot)).collect();
        slots
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

    pub fn get(&self, id: InstId) -> Option<u32> {
        self.slots.get(&id).copied()
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

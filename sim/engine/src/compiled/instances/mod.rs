//! Equal sub-circuits, whose code is made once and run for each.
//!
//! [`alike`] finds what corresponds in them, and [`arrange`] moves it in the arena so that what belongs to one instance
//! lies as far behind what belongs to the one before it everywhere. Code for the first instance is then code for all:
//! it gets another base. An instance is run from end to end between what it needs from outside and what is done with its
//! results, once a cycle; what would have to be worked out in between stays outside.

mod alike;
mod arrange;
#[cfg(test)]
mod tests;
mod whole;

use std::ops::Range;

use super::graph::{Graph, InstId, Readers};
use super::guards::{Guard, Literal};
use crate::plan::Plan;
use alike::Alike;
pub use whole::Whole;

/// Instructions that have to be saved for instances to be worth the values that pass between them and the rest through
/// memory.
const WORTH_A_LOOP: usize = 500;

/// Where equal sub-circuits are in a plan that has been arranged for them.
#[derive(Clone, Debug)]
pub struct Instances {
    /// How many there are.
    pub count: u32,
    /// Words from one to the next.
    pub stride: u32,
    /// Where the first is.
    pub places: InstancePlaces,
    /// Words among the results of the first that nothing uses yet, for pointers.
    pub spare: Range<u32>,
    /// Instructions of the first; those of the others follow.
    first: Range<InstId>,
    /// Indices of the updates of the first; those of the others follow.
    pub updates: Range<usize>,
}

/// Places of the first instance.
#[derive(Clone, Debug)]
pub struct InstancePlaces {
    state: Range<u32>,
    results: Range<u32>,
}

impl InstancePlaces {
    /// Whether a place belongs to the first instance.
    pub fn hold(&self, place: u32) -> bool {
        self.state.contains(&place) || self.results.contains(&place)
    }
}

/// When an instruction is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the instances.
    Before,
    /// As the first instance; for the others with another base.
    First,
    /// With the code of the first.
    Others,
    /// After the instances, or without a relation to them.
    After,
}

impl Instances {
    /// Finds equal sub-circuits and arranges the plan for them; `None`, and an unchanged plan, if that is not worth it.
    pub fn arrange(plan: &mut Plan, always: bool) -> Option<Instances> {
        let alike = Alike::find(&Graph::new(plan, Readers::OfCycle))?;
        if !always && alike.saved() < WORTH_A_LOOP {
            return None;
        }
        arrange::arrange(plan, &alike)
    }

    /// The instance that a place belongs to.
    pub fn instance_at(&self, place: u32) -> Option<u32> {
        [&self.places.state, &self.places.results].into_iter().find_map(|first| {
            let distance = place.checked_sub(first.start)?;
            let instance = distance / self.stride;
            let is_there = instance < self.count && distance % self.stride < first.end - first.start;
            is_there.then_some(instance)
        })
    }

    /// When an instruction is run.
    pub fn phase(&self, id: InstId) -> Phase {
        match () {
            () if id < self.first.start => Phase::Before,
            () if id < self.first.end => Phase::First,
            () if id < self.first.start + self.first.len() * self.count as usize => Phase::Others,
            () => Phase::After,
        }
    }

    /// The instruction of the first instance that an instruction corresponds to, itself if it belongs to none.
    pub fn of_first(&self, id: InstId) -> InstId {
        match self.phase(id) {
            Phase::Before | Phase::After => id,
            Phase::First | Phase::Others => self.first.start + (id - self.first.start) % self.first.len(),
        }
    }

    /// All instructions that correspond to one of the first instance, itself included.
    pub fn all(&self, id: InstId) -> impl Iterator<Item = InstId> {
        let step = self.first.len();
        (0..self.count as usize).map(move |instance| id + instance * step)
    }

    /// The other instructions that correspond to one of the first instance, and how many words behind its places theirs
    /// are.
    pub fn others(&self, id: InstId) -> impl Iterator<Item = (u32, InstId)> {
        (0..self.count).map(|instance| instance * self.stride).zip(self.all(id)).skip(1)
    }

    /// Instructions of the first instance.
    pub fn first(&self) -> Range<InstId> {
        self.first.clone()
    }

    /// Has each instruction wait for conditions that are known by then, and those of the first instance for what all of
    /// them wait for. The others need no conditions, as they have no code.
    pub fn share_guards(&self, graph: &Graph, guards: &mut [Option<Guard>]) {
        for guard in &mut guards[..self.first.start] {
            guard.iter_mut().for_each(|guard| {
                guard.retain(|literal| {
                    graph.producer(literal.place).is_none_or(|of| self.phase(of) == Phase::Before)
                });
            });
        }
        for id in self.first() {
            let mut shared: Option<Guard> = None;
            for (instance, id) in (0..).zip(self.all(id)) {
                let Some(guard) = guards[id].take() else { continue };
                let guard: Guard =
                    guard.iter().filter_map(|literal| self.as_of_first(graph, *literal, instance)).collect();
                match &mut shared {
                    Some(shared) => shared.retain(|literal| guard.contains(literal)),
                    none => *none = Some(guard),
                }
            }
            guards[id] = shared;
        }
    }

    /// A condition of an instance as one of the first; `None` for what is not known in an instance.
    fn as_of_first(&self, graph: &Graph, literal: Literal, instance: u32) -> Option<Literal> {
        let phase = graph.producer(literal.place).map(|id| self.phase(id));
        match self.instance_at(literal.place) {
            // What the edge alone is given comes too late.
            _ if phase == Some(Phase::After) => None,
            Some(of) if of == instance => {
                Some(Literal { place: literal.place - instance * self.stride, ..literal })
            }
            Some(_) => None,
            None => Some(literal),
        }
    }
}

//! The order of instructions: operands and conditions before their users, those with the same guard together.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Graph, InstId};
use super::guards::{Guard, Literal};
use crate::plan::Plan;

/// An instruction at its place in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    pub id: InstId,
    pub guard: Guard,
}

/// Orders all instructions that have a guard.
pub fn schedule(graph: &Graph, guards: &[Option<Guard>]) -> Vec<Scheduled> {
    let has_parts = !graph.plan.triggers.is_empty();
    let mut scheduler = Scheduler::new(graph, guards, has_parts);
    let mut order = Vec::new();
    let mut here: Guard = Vec::new();
    while let Some(guard) = scheduler.next_group(&here) {
        here = guard;
        while let Some(id) = scheduler.take(&here) {
            order.push(Scheduled { id, guard: here.clone() });
            scheduler.complete(id);
        }
    }
    order
}

struct Scheduler<'a> {
    plan: &'a Plan,
    guards: &'a [Option<Guard>],
    has_parts: bool,
    /// Instructions whose operands and conditions are all ordered, by guard; those of parts in the order of what they come from, so that
    /// equal parts are equal code.
    ready: BTreeMap<Guard, BTreeSet<(u32, InstId)>>,
    /// How many instructions each one still waits for, and who waits for it.
    waits: Vec<u32>,
    waiters: Vec<Vec<InstId>>,
    /// By the outermost condition, how often what it begins still waits for what another one begins: a part is best run
    /// when that is 0, as it is then run at a stretch.
    foreign: BTreeMap<Option<Literal>, u32>,
}

impl<'a> Scheduler<'a> {
    fn new(graph: &Graph<'a>, guards: &'a [Option<Guard>], has_parts: bool) -> Scheduler<'a> {
        let count = guards.len();
        let mut scheduler = Scheduler {
            plan: graph.plan,
            guards,
            has_parts,
            ready: BTreeMap::new(),
            waits: vec![0; count],
            waiters: vec![Vec::new(); count],
            foreign: BTreeMap::new(),
        };
        for (id, guard) in guards.iter().enumerate() {
            let Some(guard) = guard else { continue };
            let mut before = BTreeSet::new();
            graph.plan.program[id].visit_operands(graph.plan, &mut |(place, _)| {
                before.extend(graph.producer(place));
            });
            before.extend(guard.iter().filter_map(|literal| graph.producer(literal.place)));
            scheduler.waits[id] = before.len() as u32;
            for &earlier in &before {
                scheduler.waiters[earlier].push(id);
                *scheduler.foreign.entry(scheduler.outermost(id)).or_default() +=
                    u32::from(scheduler.outermost(earlier) != scheduler.outermost(id));
            }
            if before.is_empty() {
                scheduler.make_ready(id);
            }
        }
        scheduler
    }

    fn outermost(&self, id: InstId) -> Option<Literal> {
        self.guards[id].as_ref().and_then(|guard| guard.first().copied())
    }

    fn make_ready(&mut self, id: InstId) {
        let guard = self.guards[id].clone().unwrap_or_default();
        let origin = if self.has_parts { self.plan.origins[id] } else { 0 };
        self.ready.entry(guard).or_default().insert((origin, id));
    }

    /// The next instruction with this guard.
    fn take(&mut self, guard: &Guard) -> Option<InstId> {
        let ids = self.ready.get_mut(guard)?;
        let id = ids.pop_first().map(|(_, id)| id);
        if ids.is_empty() {
            self.ready.remove(guard);
        }
        id
    }

    fn complete(&mut self, id: InstId) {
        for waiter in std::mem::take(&mut self.waiters[id]) {
            self.waits[waiter] -= 1;
            let outermost = self.outermost(waiter);
            if outermost != self.outermost(id)
                && let Some(foreign) = self.foreign.get_mut(&outermost)
            {
                *foreign -= 1;
            }
            if self.waits[waiter] == 0 {
                self.make_ready(waiter);
            }
        }
    }

    /// Where to go on after `here` has nothing ready: deeper if possible, else out as far as needed.
    fn next_group(&self, here: &[Literal]) -> Option<Guard> {
        (0..=here.len()).rev().find_map(|length| {
            let prefix = &here[..length];
            let inside =
                self.ready.range(prefix.to_vec()..).take_while(|(guard, _)| guard.starts_with(prefix));
            let comes_in_pieces = |guard: &Guard| match (self.has_parts, length, guard.first()) {
                (true, 0, Some(literal)) => self.foreign.get(&Some(*literal)).is_some_and(|&left| left > 0),
                _ => false,
            };
            inside
                .min_by_key(|(guard, ids)| (comes_in_pieces(guard), guard.len(), ids.first().copied()))
                .map(|(guard, _)| guard.clone())
        })
    }
}

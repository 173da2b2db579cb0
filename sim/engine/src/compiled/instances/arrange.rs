//! Moves what belongs to instances in the arena and in the program, so that all of it is at equal distances.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::alike::{Alike, Gift, Places, gift, operands};
use super::whole::Whole;
use super::{InstancePlaces, Instances};
use crate::compiled::emit::is_pointer;
use crate::compiled::graph::{Graph, InstId, Readers};
use crate::plan::inst::Inst;
use crate::plan::operands::Role;
use crate::plan::{Plan, UpdateEdge};

/// Words of a cache line.
const LINE: u32 = 8;

/// Arranges a plan; `None`, and an unchanged plan, if what an instruction reads as a row would not be one any more.
pub fn arrange(plan: &mut Plan, alike: &Alike) -> Option<Instances> {
    let mut arranged = plan.clone();
    let mut arranger = Arranger::new(&mut arranged, alike);
    arranger.give();
    let instances = arranger.move_all()?;
    *plan = arranged;
    Some(instances)
}

struct Arranger<'a> {
    plan: &'a mut Plan,
    alike: &'a Alike,
    /// Instructions outside of the instances that they need.
    before: Vec<InstId>,
    after: Vec<InstId>,
    /// Where each gift goes, one place an instance, behind all places there were.
    gifts: BTreeMap<Gift, Places>,
    late_gifts: BTreeMap<Gift, Places>,
    end: u32,
}

/// Where everything goes.
struct Layout {
    /// By old place.
    new: Vec<u32>,
    end: u32,
    stride: u32,
    /// Words behind the results of an instance.
    spare: u32,
    places: InstancePlaces,
}

/// What has been given a new place so far.
struct Moved {
    /// By old place.
    new: Vec<u32>,
    end: u32,
}

impl Moved {
    fn put(&mut self, from: u32, words: u32, to: u32) {
        for word in 0..words {
            self.new[(from + word) as usize] = to + word;
        }
    }

    fn append(&mut self, from: u32, words: u32) {
        self.put(from, words, self.end);
        self.end += words;
    }

    /// Puts what instances have at equal distances; gives the places of the first, with spare words behind them.
    fn append_instances(&mut self, all: &[(Places, u32)], stride: u32, spare: u32) -> Range<u32> {
        let start = self.end;
        let mut at = start;
        for (places, words) in all {
            for (instance, &place) in (0..).zip(places) {
                self.put(place, *words, at + instance * stride);
            }
            at += words;
        }
        self.end = start + stride * all.first().map_or(0, |(places, _)| places.len() as u32);
        start..at + spare
    }
}

impl<'a> Arranger<'a> {
    fn new(plan: &'a mut Plan, alike: &'a Alike) -> Arranger<'a> {
        let inside: BTreeSet<InstId> = alike.instructions.iter().flatten().copied().collect();
        let is_needed = needed(plan, alike, &inside);
        let outside = (0..plan.program.len()).filter(|id| !inside.contains(id));
        let (before, after) = outside.partition(|&id| is_needed[id]);
        let end = plan.arena_words;
        let mut arranger =
            Arranger { plan, alike, before, after, gifts: BTreeMap::new(), late_gifts: BTreeMap::new(), end };
        arranger.gifts = arranger.places_of(&alike.gifts);
        arranger.late_gifts = arranger.places_of(&alike.late_gifts);
        arranger
    }

    /// New places for gifts, with the widths of what is given.
    fn places_of(&mut self, gifts: &BTreeSet<Gift>) -> BTreeMap<Gift, Places> {
        let mut places = BTreeMap::new();
        for gift @ (from, words) in gifts {
            let width = from.iter().map(|place| self.plan.width(place + words - 1)).max().unwrap_or(64);
            let to: Places = from.iter().map(|_| self.allocate(*words)).collect();
            to.iter().for_each(|place| {
                self.plan.widths.insert(place + words - 1, width);
            });
            places.insert(gift.clone(), to);
        }
        places
    }

    fn allocate(&mut self, words: u32) -> u32 {
        let place = self.end;
        self.end += words;
        place
    }

    /// Has instances read what they are given.
    fn give(&mut self) {
        for ids in &self.alike.instructions {
            let read = operands(self.plan, ids);
            let given: Vec<Option<&Places>> =
                read.into_iter().map(|(role, places)| self.gifts.get(&gift(role, places)?)).collect();
            for (instance, &id) in ids.iter().enumerate().filter(|_| given.iter().any(Option::is_some)) {
                let mut given = given.iter();
                let mut whole = Whole::of(self.plan, id);
                whole.visit_places_mut(&mut |role, place| {
                    if role != Role::Result
                        && let Some(Some(to)) = given.next()
                    {
                        *place = to[instance];
                    }
                });
                whole.put(self.plan, id);
            }
        }
        self.give_edges();
    }

    fn give_edges(&mut self) {
        let (plan, gifts, late) = (&mut *self.plan, &self.gifts, &self.late_gifts);
        let given = |places: Places, words: u32| {
            let gift = (places, words);
            gifts.get(&gift).or_else(|| late.get(&gift))
        };
        for (all, edges) in
            [(&self.alike.registers, &mut plan.registers), (&self.alike.captures, &mut plan.captures)]
        {
            for indices in all {
                let n = edges[indices[0]].n;
                if let Some(to) = given(indices.iter().map(|&index| edges[index].next).collect(), n) {
                    indices.iter().zip(to).for_each(|(&index, &to)| edges[index].next = to);
                }
                if let Some(to) = given(indices.iter().map(|&index| edges[index].enable).collect(), 1) {
                    indices.iter().zip(to).for_each(|(&index, &to)| edges[index].enable = to);
                }
            }
        }
        for indices in &self.alike.updates {
            let all: Vec<Vec<(u32, u32)>> =
                indices.iter().map(|&index| plan.updates[index].operands(plan)).collect();
            for (instance, &index) in indices.iter().enumerate() {
                let new: Vec<u32> = (0..all[instance].len())
                    .map(|at| {
                        let places = all.iter().map(|one| one[at].0).collect();
                        given(places, all[instance][at].1).map_or(all[instance][at].0, |to| to[instance])
                    })
                    .collect();
                replace_update_operands(plan, index, &new);
            }
        }
    }

    /// Moves program and places.
    fn move_all(&mut self) -> Option<Instances> {
        let layout = self.lay_out()?;
        self.share_widths(&layout);
        let first = self.order_program();
        let updates = self.order_updates();
        self.plan.relocate(&|place| layout.new[place as usize]);
        self.plan.arena_words = layout.end;
        Some(Instances {
            count: self.alike.count as u32,
            stride: layout.stride,
            spare: layout.places.results.end - layout.spare..layout.places.results.end,
            places: layout.places,
            first,
            updates,
        })
    }

    /// Where everything goes: constants, inputs and state outside of instances, state of instances, results before them,
    /// theirs, the other results. `None` if addresses would not fit, or what an instruction reads as a row of words
    /// would not be one any more.
    fn lay_out(&self) -> Option<Layout> {
        let first_result = self.plan.program.iter().map(|inst| inst.result(self.plan)).min()?;
        let states = self.states();
        let results = self.results_inside();
        let spare = self.pointers_inside();
        let total = |all: &[(Places, u32)]| all.iter().map(|(_, words)| words).sum::<u32>();
        let stride = odd_lines(total(&states).max(total(&results) + spare));
        let all = u64::from(stride) * 2 * self.alike.count as u64 + u64::from(self.end);
        if 8 * all > i32::MAX as u64 {
            return None;
        }

        let mut moved = Moved { new: vec![u32::MAX; self.end as usize], end: 0 };
        let inside: BTreeMap<u32, u32> =
            states.iter().flat_map(|(places, words)| places.iter().map(|&place| (place, *words))).collect();
        let mut place = 0;
        while place < first_result {
            match inside.get(&place) {
                Some(&words) => place += words,
                None => {
                    moved.append(place, 1);
                    place += 1;
                }
            }
        }
        let state = moved.append_instances(&states, stride, 0);
        self.results_of(&self.before).into_iter().for_each(|(place, words)| moved.append(place, words));
        let results = moved.append_instances(&results, stride, spare);
        self.results_of(&self.after).into_iter().for_each(|(place, words)| moved.append(place, words));
        let Moved { new, end } = moved;
        let gifts = self.gifts.keys().chain(self.late_gifts.keys());
        let stay = |(from, words): &Gift| from.iter().all(|&place| stays(&new, place, *words));
        let all_stay = operands_stay(self.plan, &new) && gifts.into_iter().all(stay);
        all_stay.then_some(Layout { new, end, stride, spare, places: InstancePlaces { state, results } })
    }

    /// Has corresponding words the width of the widest: the code of the first instance is that of all.
    fn share_widths(&mut self, layout: &Layout) {
        debug_assert_eq!(layout.new.len(), self.end as usize);
        for (places, words) in self.states().into_iter().chain(self.results_inside()) {
            for word in 0..words {
                let width = places.iter().map(|place| self.plan.width(place + word)).max().unwrap_or(64);
                for place in &places {
                    self.plan.widths.insert(place + word, width);
                }
            }
        }
    }

    /// State of instances, in the order of the first.
    fn states(&self) -> Vec<(Places, u32)> {
        let mut states: Vec<(Places, u32)> =
            self.alike.state.iter().map(|state| (state.places.clone(), state.words)).collect();
        states.sort_unstable();
        states
    }

    /// What lies among the results of instances: what they are given, then what they work out, then what the edge is
    /// given.
    fn results_inside(&self) -> Vec<(Places, u32)> {
        let gifts = |gifts: &BTreeMap<Gift, Places>| {
            gifts.iter().map(|((_, words), to)| (to.clone(), *words)).collect::<Vec<_>>()
        };
        let result = |ids: &Vec<InstId>| {
            let places = ids.iter().map(|&id| self.plan.program[id].result(self.plan)).collect();
            (places, self.plan.program[ids[0]].result_words(self.plan))
        };
        let mut results = gifts(&self.gifts);
        results.extend(self.alike.instructions.iter().map(result));
        results.extend(gifts(&self.late_gifts));
        results
    }

    /// Instructions of an instance whose results may be pointers.
    fn pointers_inside(&self) -> u32 {
        let first = self.alike.instructions.iter().map(|ids| &self.plan.program[ids[0]]);
        first.filter(|inst| is_pointer(inst)).count() as u32
    }

    fn results_of(&self, ids: &[InstId]) -> Vec<(u32, u32)> {
        let result = |&id: &InstId| {
            let inst = &self.plan.program[id];
            (inst.result(self.plan), inst.result_words(self.plan))
        };
        ids.iter().map(result).collect()
    }

    /// Puts the program in order: what instances need, what they are given, they themselves one after the other, the
    /// rest. Gives where the first instance is.
    fn order_program(&mut self) -> Range<InstId> {
        let (plan, alike) = (&mut *self.plan, self.alike);
        let gifts = |gifts: &BTreeMap<Gift, Places>, instance: usize| {
            let give =
                |((from, n), to): (&Gift, &Places)| Inst::Given { d: to[instance], a: from[instance], n: *n };
            gifts.iter().map(give).collect::<Vec<Inst>>()
        };
        let mut program: Vec<Inst> = self.before.iter().map(|&id| plan.program[id]).collect();
        for instance in 0..alike.count {
            program.extend(gifts(&self.gifts, instance));
        }
        let first = program.len();
        for instance in 0..alike.count {
            program.extend(alike.instructions.iter().map(|ids| plan.program[ids[instance]]));
        }
        program.extend(self.after.iter().map(|&id| plan.program[id]));
        for instance in 0..alike.count {
            program.extend(gifts(&self.late_gifts, instance));
        }
        plan.program = program;
        first..first + alike.instructions.len()
    }

    /// Puts updates of instances behind the others, one instance after the other; gives those of the first.
    fn order_updates(&mut self) -> Range<usize> {
        let (plan, alike) = (&mut *self.plan, self.alike);
        let inside: BTreeSet<usize> = alike.updates.iter().flatten().copied().collect();
        let outside = (0..plan.updates.len()).filter(|index| !inside.contains(index));
        let mut updates: Vec<UpdateEdge> = outside.map(|index| plan.updates[index]).collect();
        let first = updates.len();
        for instance in 0..alike.count {
            updates.extend(alike.updates.iter().map(|indices| plan.updates[indices[instance]]));
        }
        plan.updates = updates;
        first..first + alike.updates.len()
    }
}

/// By instruction: whether it is outside of the instances and they need it.
fn needed(plan: &Plan, alike: &Alike, inside: &BTreeSet<InstId>) -> Vec<bool> {
    let graph = Graph::new(plan, Readers::OfCycle);
    let mut is_needed = vec![false; plan.program.len()];
    let need = |place: u32, is_needed: &mut Vec<bool>| {
        if let Some(id) = graph.producer(place).filter(|id| !inside.contains(id)) {
            is_needed[id] = true;
        }
    };
    for &id in inside {
        plan.program[id].visit_operands(plan, &mut |(place, _)| need(place, &mut is_needed));
    }
    alike.gifts.iter().flat_map(|(places, _)| places).for_each(|&place| need(place, &mut is_needed));
    for id in (0..plan.program.len()).rev().filter(|id| !inside.contains(id)) {
        if is_needed[id] {
            plan.program[id].visit_operands(plan, &mut |(place, _)| need(place, &mut is_needed));
        }
    }
    is_needed
}

/// At least so many words, an odd number of cache lines: instances do not compete for the same lines of a cache.
fn odd_lines(words: u32) -> u32 {
    let lines = words.div_ceil(LINE);
    LINE * (lines + 1 - lines % 2)
}

/// Gives an update other operands, in the order of [`UpdateEdge::operands`].
fn replace_update_operands(plan: &mut Plan, index: usize, new: &[u32]) {
    let mut new = new.iter().copied();
    let mut replace = |place: &mut u32| *place = new.next().unwrap_or(*place);
    match &mut plan.updates[index] {
        UpdateEdge::Write { enable, address, stores, count, .. } => {
            [enable, address].into_iter().for_each(&mut replace);
            for store in &mut plan.stores[*stores as usize..(*stores + *count) as usize] {
                replace(&mut store.value);
                store.lanes.iter_mut().for_each(&mut replace);
            }
        }
        UpdateEdge::Add { enable, address, amount, .. } => {
            [enable, address, amount].into_iter().for_each(replace);
        }
        UpdateEdge::ClearRow { enable, address, .. } => [enable, address].into_iter().for_each(replace),
        UpdateEdge::ClearRows { enable, rows, .. } | UpdateEdge::SetRows { enable, rows, .. } => {
            [enable, rows].into_iter().for_each(replace);
        }
    }
}

/// Whether words are still neighbours.
fn stays(new: &[u32], place: u32, words: u32) -> bool {
    let words = &new[place as usize..(place + words) as usize];
    words.windows(2).all(|pair| pair[0].wrapping_add(1) == pair[1])
}

/// Whether what is read as one value or row still is one: registers that were neighbours may not be any more.
fn operands_stay(plan: &Plan, new: &[u32]) -> bool {
    (0..plan.program.len()).all(|id| {
        Whole::of(plan, id).operands().into_iter().all(|(role, place)| match role {
            Role::Result => true,
            Role::Operand(words) | Role::Rows(words) => stays(new, place, words),
        })
    })
}

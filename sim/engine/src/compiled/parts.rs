//! Parts of a circuit that are run only when something they read has changed.
//!
//! Between two cycles of a real kernel little changes: most of a circuit would be worked out again to what it was before.
//! Instructions are therefore grouped, and each group, a part, has a word in the arena, its trigger. Whoever changes what
//! a part reads sets it: another part whose result is another than before, the clock edge, a new input. A part whose
//! trigger is 0 is not run; its results are where it has left them. As results of one cycle are those of the next until
//! a part is run again, each has a place of its own and stays there.
//!
//! Parts begin as the largest groups with a single result that others read (maximum fanout-free cones); small ones are put
//! together with what they share the most values with, as in Beamer and Donofrio, ESSENT (DAC 2020).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

use super::graph::{Graph, InstId};
use super::guards::{Guard, Literal};
use super::schedule::Scheduled;
use crate::plan::inst::array_words;
use crate::plan::{ONE, Plan};

/// Number of a part.
pub type PartId = u32;

/// Cost, in the unit of guards, from which a part is not put together with another.
const ENOUGH: u32 = 160;

/// Fewest instructions that a loop over equal code has to spare, unless parts have a size that is given. Where it spares little,
/// code at its place is faster.
const WORTH_A_LOOP: usize = 500;

/// Readers of a value beyond which it says nothing of who belongs together.
const COMMON: usize = 200;

/// Which instructions wait for changes together, and who is told of what has changed.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Part of each instruction; `None` for what has no code.
    of: Vec<Option<PartId>>,
    /// Place of the first part's trigger; the others follow.
    triggers: Range<u32>,
    /// Place of the first part's word that is not 0 where the edge, or a counter, has something to do with its results.
    due: u32,
    /// By instruction, the triggers of other parts that read its result.
    readers: Vec<Vec<u32>>,
    /// By part, others whose results it reads.
    needs: Vec<BTreeSet<PartId>>,
    /// Inputs and state, in order, with the triggers of parts that read any of it.
    sources: Vec<(Range<u32>, Vec<u32>)>,
    /// By part, results that ask the edge or a counter for something where they are not 0.
    enables: Vec<Vec<u32>>,
    /// By part, whether registers take its results in every cycle.
    feeds_registers: Vec<bool>,
    /// Fewest instructions that a loop over equal code has to spare.
    pub worth_a_loop: usize,
}

impl Parts {
    /// Groups instructions, which are given in an order in which they can be run, and makes room for triggers in the arena.
    pub fn group(
        plan: &mut Plan,
        guards: &[Option<Guard>],
        order: &[Scheduled],
        costs: &[u32],
        enough: Option<u32>,
    ) -> Parts {
        let graph = Graph::of_cycle(plan);
        let of = Grouping::new(&graph, guards, order, costs, enough.unwrap_or(ENOUGH)).group(order);
        let count = of.iter().flatten().max().map_or(0, |last| last + 1);
        let triggers = plan.arena_words..plan.arena_words + count;
        let due = triggers.end;
        plan.arena_words = due + count;
        plan.triggers = triggers.clone();
        let mut parts = Parts {
            of,
            triggers,
            due,
            readers: Vec::new(),
            needs: Vec::new(),
            sources: Vec::new(),
            enables: vec![Vec::new(); count as usize],
            feeds_registers: vec![false; count as usize],
            worth_a_loop: if enough.is_some() { 1 } else { WORTH_A_LOOP },
        };
        parts.find_enables(&Graph::of_cycle(plan));
        parts
    }

    /// The condition that a part waits for.
    pub fn trigger(&self, part: PartId) -> Literal {
        Literal { place: self.triggers.start + part, holds: true }
    }

    /// Has each instruction wait for its part's trigger before all other conditions.
    pub fn add_triggers(&self, guards: &mut [Option<Guard>]) {
        for (guard, part) in guards.iter_mut().zip(&self.of) {
            if let (Some(guard), Some(part)) = (guard, part) {
                guard.insert(0, self.trigger(*part));
            }
        }
    }

    /// Whether a place is that of a trigger.
    pub fn is_trigger(&self, place: u32) -> bool {
        self.triggers.contains(&place)
    }

    /// The part of an instruction.
    pub fn of(&self, id: InstId) -> Option<PartId> {
        self.of[id]
    }

    /// The part that works out the word at a place.
    pub fn of_place(&self, graph: &Graph, place: u32) -> Option<PartId> {
        graph.producer(place).and_then(|id| self.of[id])
    }

    /// The place of the word that says whether the edge or a counter has to do with a part's results.
    pub fn due(&self, part: PartId) -> u32 {
        self.due + part
    }

    /// Results of a part that ask the edge or a counter for something where they are not 0.
    pub fn enables(&self, part: PartId) -> &[u32] {
        &self.enables[part as usize]
    }

    /// Whether registers take results of a part in every cycle.
    pub fn feeds_registers(&self, part: PartId) -> bool {
        self.feeds_registers[part as usize]
    }

    /// Parts whose results a part reads.
    pub fn needs(&self, part: PartId) -> &BTreeSet<PartId> {
        &self.needs[part as usize]
    }

    /// The triggers of other parts that read an instruction's result.
    pub fn readers(&self, id: InstId) -> &[u32] {
        self.readers.get(id).map_or(&[], Vec::as_slice)
    }

    /// Parts that work out what is foreseen, with all that they read.
    pub fn foreseeing(&self, graph: &Graph) -> BTreeSet<PartId> {
        let mut open: Vec<PartId> = Vec::new();
        for port in &graph.plan.foreseen {
            open.extend([port.offset, port.valid].iter().filter_map(|&place| self.of_place(graph, place)));
        }
        let mut found = BTreeSet::new();
        while let Some(part) = open.pop() {
            if found.insert(part) {
                open.extend(&self.needs[part as usize]);
            }
        }
        found
    }

    /// The triggers of parts that read the input or the state at a place.
    pub fn readers_of_source(&self, place: u32) -> &[u32] {
        let index = self.sources.partition_point(|(source, _)| source.end <= place);
        let found = self.sources.get(index).filter(|(source, _)| source.contains(&place));
        found.map_or(&[], |(_, readers)| readers.as_slice())
    }

    fn find_enables(&mut self, graph: &Graph) {
        let plan = graph.plan;
        let mut enables: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); self.enables.len()];
        let mut ask = |place: u32| {
            if let Some(part) = self.of_place(graph, place) {
                enables[part as usize].insert(place);
            }
        };
        plan.updates.iter().for_each(|update| ask(update.enable()));
        plan.port_meters.iter().filter(|_| plan.count_activity).for_each(|meter| ask(meter.enable));
        let edges = || plan.registers.iter().chain(&plan.captures);
        edges().filter(|edge| edge.enable != ONE).for_each(|edge| ask(edge.enable));
        self.enables = enables.into_iter().map(|places| places.into_iter().collect()).collect();
        for edge in edges().filter(|edge| edge.enable == ONE) {
            if let Some(part) = self.of_place(graph, edge.next) {
                self.feeds_registers[part as usize] = true;
            }
        }
    }

    /// Finds out who reads what, once conditions are known.
    pub fn find_readers(&mut self, graph: &Graph, guards: &[Option<Guard>]) {
        let mut readers: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); self.of.len()];
        let mut needs = vec![BTreeSet::new(); self.enables.len()];
        let sources = sources(graph.plan);
        let mut of_sources: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); sources.len()];
        for (id, guard) in guards.iter().enumerate() {
            let (Some(guard), Some(part)) = (guard, self.of[id]) else { continue };
            let trigger = self.trigger(part).place;
            visit_reads(graph, id, guard, &mut |place, words| {
                let mut word = place;
                while word < place + words {
                    if let Some(producer) = graph.producer(word) {
                        if let Some(other) = self.of[producer].filter(|&other| other != part) {
                            readers[producer].insert(trigger);
                            needs[part as usize].insert(other);
                        }
                        // All words that are read of a result belong to it.
                        break;
                    }
                    let index = sources.partition_point(|source| source.end <= word);
                    match sources.get(index).filter(|source| source.contains(&word)) {
                        Some(source) => {
                            of_sources[index].insert(trigger);
                            word = source.end;
                        }
                        None => word += 1,
                    }
                }
            });
        }
        let list = |triggers: BTreeSet<u32>| triggers.into_iter().collect::<Vec<u32>>();
        self.readers = readers.into_iter().map(list).collect();
        self.needs = needs;
        self.sources = sources.into_iter().zip(of_sources.into_iter().map(list)).collect();
    }
}

/// Calls `visit` with all that an instruction reads, from its first word on, and with its conditions but for triggers.
fn visit_reads(graph: &Graph, id: InstId, guard: &[Literal], visit: &mut dyn FnMut(u32, u32)) {
    graph.plan.program[id].visit_reads(graph.plan, visit);
    guard.iter().for_each(|literal| visit(literal.place, 1));
}

/// Inputs and state, each as far as it changes together, in order.
fn sources(plan: &Plan) -> Vec<Range<u32>> {
    let mut sources = Vec::new();
    for port in plan.in_ports() {
        let start = plan.inputs.start + port.offset;
        sources.push(start..start + port.width.div_ceil(64));
    }
    sources.extend(plan.registers.iter().chain(&plan.captures).map(|edge| edge.q..edge.q + edge.n));
    for table in &plan.tables {
        sources.extend(table.valid.map(|valid| valid..valid + table.depth.div_ceil(64)));
        let rows = |base, width| base..base + array_words(width, table.depth);
        sources.extend(table.fields.iter().map(|field| rows(field.base, field.width)));
    }
    sources.retain(|source| !source.is_empty());
    sources.sort_by_key(|source| source.start);
    sources
}

/// What groups read: results of others, by instruction, and sources, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Input {
    Result(InstId),
    Source(u32),
}

/// Instructions being grouped.
struct Grouping {
    enough: u32,
    /// Group of each instruction.
    of: Vec<Option<usize>>,
    members: Vec<Vec<InstId>>,
    costs: Vec<u32>,
    inputs: Vec<BTreeSet<Input>>,
    groups_by_input: BTreeMap<Input, BTreeSet<usize>>,
    /// By group, others that read its results.
    next: Vec<BTreeSet<usize>>,
    /// By instruction, who reads its result.
    users: Vec<Vec<InstId>>,
}

impl Grouping {
    /// Cones in which only one instruction's result is read outside.
    fn new(
        graph: &Graph,
        guards: &[Option<Guard>],
        order: &[Scheduled],
        costs: &[u32],
        enough: u32,
    ) -> Grouping {
        let count = guards.len();
        let mut users = vec![Vec::new(); count];
        let mut reads: Vec<BTreeSet<Input>> = vec![BTreeSet::new(); count];
        let first = graph.plan.constants.len() as u32;
        for Scheduled { id, guard } in order {
            visit_reads(graph, *id, guard, &mut |place, _| match graph.producer(place) {
                Some(producer) if producer != *id => {
                    if reads[*id].insert(Input::Result(producer)) {
                        users[producer].push(*id);
                    }
                }
                None if place >= first => {
                    reads[*id].insert(Input::Source(place));
                }
                Some(_) | None => {}
            });
        }
        let mut is_root = vec![false; count];
        graph.visit_roots(&mut |(place, _)| {
            if let Some(id) = graph.producer(place) {
                is_root[id] = true;
            }
        });
        let mut grouping = Grouping {
            enough,
            of: vec![None; count],
            members: Vec::new(),
            costs: Vec::new(),
            inputs: Vec::new(),
            groups_by_input: BTreeMap::new(),
            next: Vec::new(),
            users,
        };
        for Scheduled { id, .. } in order.iter().rev() {
            let mut groups = grouping.users[*id].iter().map(|&user| grouping.of[user]);
            let shared = groups.next().filter(|&first| !is_root[*id] && groups.all(|group| group == first));
            let group = shared.flatten().unwrap_or_else(|| {
                grouping.members.push(Vec::new());
                grouping.costs.push(0);
                grouping.inputs.push(BTreeSet::new());
                grouping.members.len() - 1
            });
            grouping.of[*id] = Some(group);
            grouping.members[group].push(*id);
            grouping.costs[group] += costs[*id];
            grouping.inputs[group].extend(&reads[*id]);
        }
        grouping.number_by_origin(graph.plan);
        for group in 0..grouping.members.len() {
            let of = &grouping.of;
            grouping.inputs[group].retain(|input| is_outside(of, group, *input));
            for &input in &grouping.inputs[group] {
                grouping.groups_by_input.entry(input).or_default().insert(group);
            }
            let users = grouping.members[group].iter().flat_map(|&member| &grouping.users[member]);
            let next = users.filter_map(|&user| of[user]).filter(|&other| other != group).collect();
            grouping.next.push(next);
        }
        grouping
    }

    /// Numbers groups in the order of what they come from: where the number decides, it decides alike in equal circuits, which then
    /// have equal parts.
    fn number_by_origin(&mut self, plan: &Plan) {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by_key(|&group| (plan.origins[self.members[group][0]], self.members[group][0]));
        self.members = order.iter().map(|&group| std::mem::take(&mut self.members[group])).collect();
        self.costs = order.iter().map(|&group| self.costs[group]).collect();
        self.inputs = order.iter().map(|&group| std::mem::take(&mut self.inputs[group])).collect();
        for (group, members) in self.members.iter().enumerate() {
            members.iter().for_each(|&id| self.of[id] = Some(group));
        }
    }

    /// Puts groups that cost too little to wait by themselves together, the smallest first; numbers what remains in
    /// the order in which it is run.
    fn group(mut self, order: &[Scheduled]) -> Vec<Option<PartId>> {
        let mut small: BinaryHeap<Reverse<(u32, usize)>> =
            self.costs.iter().copied().zip(0..).map(Reverse).collect();
        while let Some(Reverse((cost, group))) = small.pop() {
            if cost >= self.enough {
                break;
            }
            let is_there = self.costs[group] == cost && !self.members[group].is_empty();
            if let Some(other) = is_there.then(|| self.nearest(group)).flatten() {
                self.merge(group, other);
                small.push(Reverse((self.costs[other], other)));
            }
        }
        let mut numbers: BTreeMap<usize, PartId> = BTreeMap::new();
        let mut parts = vec![None; self.of.len()];
        for Scheduled { id, .. } in order {
            let next = numbers.len() as PartId;
            parts[*id] = self.of[*id].map(|group| *numbers.entry(group).or_insert(next));
        }
        parts
    }

    /// The group with which one has the most in common, of those that do not become too large with it.
    fn nearest(&self, group: usize) -> Option<usize> {
        // Thirds: what passes between the two counts for one and a half times what both read.
        let mut shared: BTreeMap<usize, u64> = BTreeMap::new();
        for input in &self.inputs[group] {
            let peers = &self.groups_by_input[input];
            if peers.len() <= COMMON {
                peers.iter().for_each(|&peer| *shared.entry(peer).or_default() += 2);
                if let Input::Result(producer) = *input {
                    self.of[producer].iter().for_each(|&peer| *shared.entry(peer).or_default() += 3);
                }
            }
        }
        for &user in self.members[group].iter().flat_map(|&member| &self.users[member]) {
            self.of[user].iter().for_each(|&peer| *shared.entry(peer).or_default() += 3);
        }
        shared.remove(&group);
        let fits = |peer: usize| self.costs[peer] + self.costs[group] <= 2 * self.enough;
        let affinity = |peer: usize, shared: u64| {
            (shared << 16) / (self.inputs[peer].len() + self.inputs[group].len()).max(1) as u64
        };
        let candidates = shared.into_iter().filter(|&(peer, _)| fits(peer));
        let mut candidates: Vec<(u64, Reverse<usize>)> =
            candidates.map(|(peer, shared)| (affinity(peer, shared), Reverse(peer))).collect();
        candidates.sort_unstable();
        let is_apart = |peer: usize| !self.is_reached(group, peer) && !self.is_reached(peer, group);
        candidates.into_iter().rev().map(|(_, peer)| peer.0).find(|&peer| is_apart(peer))
    }

    /// Whether one group's results reach another through a third: together they would wait for themselves.
    fn is_reached(&self, from: usize, to: usize) -> bool {
        let mut is_seen = vec![false; self.next.len()];
        let mut open: Vec<usize> = self.next[from].iter().copied().filter(|&next| next != to).collect();
        while let Some(group) = open.pop() {
            if group == to {
                return true;
            }
            if !std::mem::replace(&mut is_seen[group], true) {
                open.extend(&self.next[group]);
            }
        }
        false
    }

    fn merge(&mut self, group: usize, into: usize) {
        let moved = std::mem::take(&mut self.members[group]);
        moved.iter().for_each(|&id| self.of[id] = Some(into));
        self.members[into].extend(moved);
        self.costs[into] += std::mem::take(&mut self.costs[group]);
        let inputs = std::mem::take(&mut self.inputs[group]);
        for input in &inputs {
            if let Some(groups) = self.groups_by_input.get_mut(input) {
                groups.remove(&group);
                groups.insert(into);
            }
        }
        self.inputs[into].extend(inputs);
        let mut next = std::mem::take(&mut self.next[group]);
        next.extend(&self.next[into]);
        next.retain(|&other| other != group && other != into);
        self.next[into] = next;
        for others in &mut self.next {
            if others.remove(&group) {
                others.insert(into);
            }
        }
        self.next[into].remove(&into);
        let of = &self.of;
        let inner: Vec<Input> =
            self.inputs[into].iter().copied().filter(|input| !is_outside(of, into, *input)).collect();
        for input in inner {
            self.inputs[into].remove(&input);
            if let Some(groups) = self.groups_by_input.get_mut(&input) {
                groups.remove(&into);
            }
        }
    }
}

/// Whether what a group reads is not its own.
fn is_outside(of: &[Option<usize>], group: usize, input: Input) -> bool {
    !matches!(input, Input::Result(producer) if of[producer] == Some(group))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warpfile_hdl::library::library;

    use crate::{Compiled, Engine, Observe, Options};

    /// A bank of the library in parts, after some cycles with its inputs at 0.
    fn at_rest() -> Compiled {
        let entry =
            library().into_iter().find(|entry| entry.name == "fifo").expect("a circuit of the library");
        let netlist = entry.elaborate_with(&entry.odd[0]).expect("sound parameters");
        let options = Options { smallest_part: Some(8), observe: Observe::All, ..Options::default() };
        let mut engine = Compiled::new(&netlist, &options).expect("a sound netlist");
        engine.set_reset(true);
        engine.step();
        engine.set_reset(false);
        engine.run(8);
        engine
    }

    /// Places of results that are read from outside.
    fn results(engine: &mut Compiled) -> Vec<usize> {
        let (plan, _) = engine.state_mut().settling();
        let first = plan.program.iter().map(|inst| inst.result(plan)).min().expect("instructions");
        let mut places: Vec<u32> = plan.signals.iter().map(|signal| signal.value.offset).collect();
        places.retain(|&place| (first..plan.triggers.start).contains(&place));
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| place as usize).collect()
    }

    /// Bytes of code of a staging unit with so many banks.
    fn bytes_of_banks(banks: u32) -> usize {
        let entry =
            library().into_iter().find(|entry| entry.name == "operand_staging_unit").expect("a circuit");
        let geometry = json!({
            "warps": 8, "banks": banks, "lines": 8, "lanes": 4, "lanes_per_slice": 2, "register_bits": 6
        });
        let netlist = entry.elaborate_with(&json!({ "geometry": geometry })).expect("sound parameters");
        let options = Options { smallest_part: Some(160), observe: Observe::State, ..Options::default() };
        Compiled::new(&netlist, &options).expect("a sound netlist").machine.cycle.bytes
    }

    #[test]
    fn banks_that_are_alike_have_one_code() {
        let [two, eight] = [2, 8].map(bytes_of_banks);
        assert!(eight < 2 * two, "{two} bytes for two banks, {eight} for eight");
    }

    #[test]
    fn what_nothing_changes_is_not_worked_out_again() {
        let mut engine = at_rest();
        let places = results(&mut engine);
        assert!(places.len() > 3, "{places:?}");
        let right: Vec<u64> = {
            let (_, arena) = engine.state_mut().settling();
            places.iter().map(|&place| arena[place]).collect()
        };
        let poke = |engine: &mut Compiled| {
            let (_, arena) = engine.state_mut().settling();
            places.iter().for_each(|&place| arena[place] ^= 1);
        };
        let now = |engine: &mut Compiled| -> Vec<u64> {
            let (_, arena) = engine.state_mut().settling();
            places.iter().map(|&place| arena[place]).collect()
        };
        // A register may take what has been poked into its next value: only what is found right after the edge counts.
        let snapshot = engine.snapshot();
        poke(&mut engine);
        engine.step();
        let untouched = now(&mut engine).iter().zip(&right).filter(|(now, right)| now != right).count();
        assert!(2 * untouched > places.len(), "{untouched} of {} are as they were poked", places.len());

        // All of it is worked out again where the engine has not seen the changes.
        engine.restore(&snapshot).expect("its own snapshot");
        poke(&mut engine);
        let poked = engine.snapshot();
        engine.restore(&poked).expect("its own snapshot");
        engine.set_reset(true);
        engine.step();
        engine.set_reset(false);
        engine.run(8);
        assert_eq!(now(&mut engine), right);
    }
}

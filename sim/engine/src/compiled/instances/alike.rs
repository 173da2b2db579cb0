//! Which instructions of equal sub-circuits correspond.
//!
//! Sub-circuits of one module have the same state. From what their state becomes, the instructions are followed backward
//! as long as they are the same in all of them, whatever circuit they stand in. What differs is given to each from
//! outside.

use std::collections::{BTreeMap, BTreeSet};

use super::whole::Whole;
use crate::compiled::graph::{Graph, InstId};
use crate::plan::inst::array_words;
use crate::plan::operands::Role;
use crate::plan::{Plan, RegisterEdge, TableLayout, UpdateEdge};

/// Places that correspond, one of each instance.
pub type Places = Vec<u32>;

/// State that corresponds.
#[derive(Debug)]
pub struct State {
    /// First words.
    pub places: Places,
    /// Words.
    pub words: u32,
}

/// What each instance is given from outside: as many words from each of the places.
pub type Gift = (Places, u32);

/// What corresponds in equal sub-circuits. Every list has an entry for each instance.
#[derive(Debug, Default)]
pub struct Alike {
    /// Instances.
    pub count: usize,
    pub state: Vec<State>,
    /// Instructions, operands before their users.
    pub instructions: Vec<Vec<InstId>>,
    /// Indices of registers, captures and updates in the plan.
    pub registers: Vec<Vec<usize>>,
    pub captures: Vec<Vec<usize>>,
    pub updates: Vec<Vec<usize>>,
    /// What is given before the instances are run.
    pub gifts: BTreeSet<Gift>,
    /// What is given afterwards, for the clock edge.
    pub late_gifts: BTreeSet<Gift>,
}

impl Alike {
    /// What corresponds, for the sub-circuits that save most; `None` where there are none that do.
    pub fn find(graph: &Graph) -> Option<Alike> {
        let mut by_module: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, scope) in graph.plan.scopes.iter().enumerate().skip(1) {
            by_module.entry(&scope.module).or_default().push(index);
        }
        let counts: BTreeSet<usize> = by_module.values().map(Vec::len).filter(|&count| count > 1).collect();
        let of_count = |count: usize| {
            let scopes = by_module.values().filter(|scopes| scopes.len() == count);
            Finder::new(graph, count, scopes).found()
        };
        counts.into_iter().map(of_count).max_by_key(Alike::saved).filter(|alike| alike.saved() > 0)
    }

    /// Instructions that need no code of their own.
    pub fn saved(&self) -> usize {
        self.instructions.len() * (self.count - 1)
    }
}

/// How places relate, one of each instance.
enum Relation {
    /// One place outside of all instances.
    Shared,
    /// State or results that correspond.
    Corresponding,
    Different,
}

struct Finder<'g, 'p> {
    graph: &'g Graph<'p>,
    alike: Alike,
    /// By place of state: which state it is, of which instance, and the word in it.
    states: BTreeMap<u32, (usize, usize)>,
    /// By instruction: which of `classes`, and of which instance.
    class_of: Vec<Option<(usize, usize)>>,
    classes: Vec<Option<Vec<InstId>>>,
}

impl<'g, 'p> Finder<'g, 'p> {
    fn new<'s>(
        graph: &'g Graph<'p>,
        count: usize,
        modules: impl Iterator<Item = &'s Vec<usize>>,
    ) -> Finder<'g, 'p> {
        let mut finder = Finder {
            graph,
            alike: Alike { count, ..Alike::default() },
            states: BTreeMap::new(),
            class_of: vec![None; graph.plan.program.len()],
            classes: Vec::new(),
        };
        modules.for_each(|scopes| finder.pair_state(scopes));
        finder.pair_edges();
        finder
    }

    /// Pairs the state of one module's sub-circuits, if it is the same in all.
    fn pair_state(&mut self, scopes: &[usize]) {
        let plan = self.graph.plan;
        let state: Vec<Vec<(u32, u32)>> = scopes.iter().map(|&scope| state_of(plan, scope)).collect();
        let words = |state: &[(u32, u32)]| state.iter().map(|&(_, words)| words).collect::<Vec<_>>();
        if state.iter().any(|other| words(other) != words(&state[0])) {
            return;
        }
        for index in 0..state[0].len() {
            let places = state.iter().map(|state| state[index].0).collect();
            let number = self.alike.state.len();
            for (instance, state) in state.iter().enumerate() {
                self.states.insert(state[index].0, (number, instance));
            }
            self.alike.state.push(State { places, words: state[0][index].1 });
        }
    }

    /// The state that a place belongs to, the instance, and the word in it.
    fn state_at(&self, place: u32) -> Option<(usize, usize, u32)> {
        let (&start, &(state, instance)) = self.states.range(..=place).next_back()?;
        let word = place - start;
        (word < self.alike.state[state].words).then_some((state, instance, word))
    }

    fn pair_edges(&mut self) {
        let plan = self.graph.plan;
        self.alike.registers = self.pair(plan.registers.iter().map(|edge| Some(edge.q)));
        self.alike.captures = self.pair(plan.captures.iter().map(|edge| Some(edge.q)));
        let tables = tables(plan);
        let changed = |update: &UpdateEdge| tables.get(&update.changed(plan)?).copied();
        self.alike.updates = self.pair(plan.updates.iter().map(changed));
    }

    /// Indices of what changes state that corresponds; several that change one state correspond in order.
    fn pair(&self, changed: impl Iterator<Item = Option<u32>>) -> Vec<Vec<usize>> {
        let mut by_state: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
        for (index, place) in changed.enumerate() {
            if let Some((state, instance, _)) = place.and_then(|place| self.state_at(place)) {
                let all = by_state.entry(state).or_insert_with(|| vec![Vec::new(); self.alike.count]);
                all[instance].push(index);
            }
        }
        let mut paired: Vec<Vec<usize>> = Vec::new();
        for all in by_state.into_values() {
            // One module says what changes its state.
            debug_assert!(all.iter().all(|one| one.len() == all[0].len()), "instances of one module differ");
            paired.extend((0..all[0].len()).map(|at| all.iter().map(|one| one[at]).collect()));
        }
        paired.sort_unstable();
        paired
    }

    fn found(mut self) -> Alike {
        self.follow();
        while self.evict() {}
        let mut gifts = self.gifts();
        let after = self.after();
        for gift in self.edge_operands() {
            if matches!(self.relation(&gift.0), Relation::Different) {
                let is_early = gift.0.iter().all(|&place| self.is_before(place, &after));
                if is_early { &mut gifts } else { &mut self.alike.late_gifts }.insert(gift);
            }
        }
        self.alike.gifts = gifts;
        let mut instructions: Vec<Vec<InstId>> = self.classes.into_iter().flatten().collect();
        instructions.sort_unstable();
        self.alike.instructions = instructions;
        self.alike
    }

    /// What the edges of instances read, and how many words of each.
    fn edge_operands(&self) -> Vec<Gift> {
        let plan = self.graph.plan;
        let mut operands = Vec::new();
        let edges = |indices: &[usize], edges: &[RegisterEdge], operands: &mut Vec<Gift>| {
            let n = edges[indices[0]].n;
            operands.push((indices.iter().map(|&index| edges[index].next).collect(), n));
            operands.push((indices.iter().map(|&index| edges[index].enable).collect(), 1));
        };
        self.alike.registers.iter().for_each(|indices| edges(indices, &plan.registers, &mut operands));
        self.alike.captures.iter().for_each(|indices| edges(indices, &plan.captures, &mut operands));
        for indices in &self.alike.updates {
            let all: Vec<Vec<(u32, u32)>> =
                indices.iter().map(|&index| plan.updates[index].operands(plan)).collect();
            for at in 0..all[0].len() {
                operands.push((all.iter().map(|one| one[at].0).collect(), all[0][at].1));
            }
        }
        operands
    }

    /// Follows what the edges read backward.
    fn follow(&mut self) {
        let mut open: Vec<Places> = self.edge_operands().into_iter().map(|(places, _)| places).collect();
        while let Some(places) = open.pop() {
            let ids: Option<Vec<InstId>> = places.iter().map(|&place| self.graph.producer(place)).collect();
            let Some(ids) = ids else { continue };
            if !self.can_be_class(&ids, &places) {
                continue;
            }
            let class = self.classes.len();
            for (instance, &id) in ids.iter().enumerate() {
                self.class_of[id] = Some((class, instance));
            }
            let operands = self.operands(&ids);
            open.extend(operands.into_iter().map(|(_, places)| places));
            self.classes.push(Some(ids));
        }
    }

    /// Whether instructions that give the words at `places` correspond.
    fn can_be_class(&self, ids: &[InstId], places: &[u32]) -> bool {
        let plan = self.graph.plan;
        let word = |(id, place): (&InstId, &u32)| place - plan.program[*id].result(plan);
        let mut words = ids.iter().zip(places).map(word);
        let first = words.next();
        words.all(|word| Some(word) == first)
            && ids.iter().all(|&id| self.class_of[id].is_none())
            && ids.iter().collect::<BTreeSet<_>>().len() == ids.len()
            && ids.iter().all(|&id| Whole::of(plan, id).form() == Whole::of(plan, ids[0]).form())
    }

    /// The operands of instructions that correspond.
    fn operands(&self, ids: &[InstId]) -> Vec<(Role, Places)> {
        operands(self.graph.plan, ids)
    }

    fn relation(&self, places: &[u32]) -> Relation {
        let first = places[0];
        let is_inside = |place| match self.graph.producer(place) {
            Some(id) => self.class_of[id].is_some(),
            None => self.state_at(place).is_some(),
        };
        if places.iter().all(|&place| place == first) {
            return if is_inside(first) { Relation::Different } else { Relation::Shared };
        }
        let corresponds = match self.graph.producer(first) {
            Some(id) => self.class_of[id].is_some_and(|(class, _)| self.are_of_class(places, class)),
            None => self.are_of_one_state(places),
        };
        if corresponds { Relation::Corresponding } else { Relation::Different }
    }

    fn are_of_class(&self, places: &[u32], class: usize) -> bool {
        let plan = self.graph.plan;
        let word = |place: u32, id: InstId| place - plan.program[id].result(plan);
        let mut words = places.iter().enumerate().map(|(instance, &place)| {
            let id = self.graph.producer(place).filter(|&id| self.class_of[id] == Some((class, instance)))?;
            Some(word(place, id))
        });
        let first = words.next().flatten();
        first.is_some() && words.all(|word| word == first)
    }

    fn are_of_one_state(&self, places: &[u32]) -> bool {
        let found = |(instance, &place): (usize, &u32)| {
            if self.graph.producer(place).is_some() {
                return None;
            }
            let (state, of, word) = self.state_at(place)?;
            (of == instance).then_some((state, word))
        };
        let mut all = places.iter().enumerate().map(found);
        let first = all.next().flatten();
        first.is_some() && all.all(|one| one == first)
    }

    /// Takes instructions out of the instances that cannot be worked out in one go, or be given what they need; says
    /// whether there were any.
    fn evict(&mut self) -> bool {
        let after = self.after();
        let mut evicted = Vec::new();
        for (class, ids) in self.classes.iter().enumerate() {
            let Some(ids) = ids else { continue };
            let are_before = |places: &Places| places.iter().all(|&place| self.is_before(place, &after));
            let is_known = |(role, places): &(Role, Places)| match self.relation(places) {
                Relation::Corresponding => true,
                Relation::Shared => are_before(places),
                Relation::Different => matches!(role, Role::Operand(_)) && are_before(places),
            };
            if !self.operands(ids).iter().all(is_known) {
                evicted.push(class);
            }
        }
        for &class in &evicted {
            for id in self.classes[class].take().into_iter().flatten() {
                self.class_of[id] = None;
            }
        }
        !evicted.is_empty()
    }

    /// By instruction: whether it stands outside of the instances and needs results of theirs.
    fn after(&self) -> Vec<bool> {
        let plan = self.graph.plan;
        let mut after = Vec::with_capacity(plan.program.len());
        for (id, inst) in plan.program.iter().enumerate() {
            let mut is_after = false;
            inst.visit_operands(plan, &mut |(place, _)| {
                if let Some(operand) = self.graph.producer(place) {
                    is_after |= after[operand] || self.class_of[operand].is_some();
                }
            });
            after.push(is_after && self.class_of[id].is_none());
        }
        after
    }

    /// Whether a place is known before the instances are run.
    fn is_before(&self, place: u32, after: &[bool]) -> bool {
        self.graph.producer(place).is_none_or(|id| !after[id] && self.class_of[id].is_none())
    }

    fn gifts(&self) -> BTreeSet<Gift> {
        let read = self.classes.iter().flatten().flat_map(|ids| self.operands(ids));
        let given = read.filter(|(_, places)| matches!(self.relation(places), Relation::Different));
        given.filter_map(|(role, places)| gift(role, places)).collect()
    }
}

/// What instructions that correspond read.
pub fn operands(plan: &Plan, ids: &[InstId]) -> Vec<(Role, Places)> {
    let all: Vec<Vec<(Role, u32)>> = ids.iter().map(|&id| Whole::of(plan, id).operands()).collect();
    let at = |at: usize| (all[0][at].0, all.iter().map(|one| one[at].1).collect());
    (0..all[0].len()).map(at).collect()
}

/// What is given to be read; rows never are.
pub fn gift(role: Role, places: Places) -> Option<Gift> {
    match role {
        Role::Operand(words) => Some((places, words)),
        Role::Result | Role::Rows(_) => None,
    }
}

/// State of a circuit: first words, and how many. Registers and captured rows are those that have a name; what has not,
/// as another signal has it, is left outside. Tables are all there.
fn state_of(plan: &Plan, scope: usize) -> Vec<(u32, u32)> {
    let path = &plan.scopes[scope].path;
    let is_here = |table: &&TableLayout| table.path.rsplit_once('.').map(|at| at.0) == Some(path);
    let tables: Vec<&TableLayout> = plan.tables.iter().filter(is_here).collect();
    let is_valid = |place: u32| tables.iter().any(|table| table.valid == Some(place));
    let named = plan.signals.iter().filter(|signal| signal.scope == scope && signal.is_state);
    let named = named.map(|signal| (signal.value.offset, signal.value.width.div_ceil(64)));
    let mut state: Vec<(u32, u32)> = named.filter(|&(place, _)| !is_valid(place)).collect();
    for table in tables {
        state.extend(table.valid.map(|place| (place, table.depth.div_ceil(64))));
        state.extend(table.fields.iter().map(|field| (field.base, array_words(field.width, table.depth))));
    }
    state
}

/// By place of a field or of valid bits: the first field of the table, or its valid bits if it has no fields.
fn tables(plan: &Plan) -> BTreeMap<u32, u32> {
    let mut tables = BTreeMap::new();
    for table in &plan.tables {
        let places = table.fields.iter().map(|field| field.base).chain(table.valid);
        let first = places.clone().next();
        tables.extend(places.zip(first.into_iter().cycle()));
    }
    tables
}

//! Under which conditions each instruction is needed.
//!
//! A value matters only where something reads it: the arm of a multiplexer under its condition, a register's
//! next value under its enable, an operand of a write under the port's enable. Followed from the roots down,
//! an instruction's guard is what all its readers have in common. An instruction may run when its guard does
//! not hold (its result is then not looked at), so guards that save little are dropped.

use std::collections::{BTreeMap, BTreeSet};

use super::emit::{has_lanes, is_in_vectors};
use super::graph::{Graph, InstId};
use crate::plan::inst::{ColumnOp, Inst, array_words};
use crate::plan::operands::Need;
use crate::plan::{ONE, ZERO};

/// A condition: the word at `place` is not 0, or is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Literal {
    pub place: u32,
    pub holds: bool,
}

impl Literal {
    /// The condition by the place where it is worked out first, so that one condition has one name; `None` if it holds
    /// always, or never.
    pub fn canonical(mut self, graph: &Graph) -> Option<Literal> {
        while let Some(id) = graph.producer(self.place) {
            self = match graph.plan.program[id] {
                Inst::NonZero { a, .. } | Inst::Copy { a, .. } => Literal { place: a, ..self },
                Inst::Not { a, width: 1, .. } => Literal { place: a, holds: !self.holds },
                _ => break,
            };
        }
        (self.place != ONE && self.place != ZERO).then_some(self)
    }
}

/// Conditions that hold wherever a value matters, outermost first.
pub type Guard = Vec<Literal>;

/// Cost below which a branch does not pay, in instructions of the simplest kind.
pub const WORTH_A_BRANCH: u32 = 24;

/// Cost from which an operand is left out where the other side of an `and` is 0, if its group is worth a branch.
const WORTH_A_CONDITION: u32 = 6;

/// Costs are capped here, so that sums over shared cones stay numbers.
const COST_CAP: u32 = 1 << 20;

/// Longest guard kept; deeper nesting saves nothing measurable.
const DEEPEST: usize = 12;

/// What each instruction costs, compared with an addition.
pub fn costs(graph: &Graph) -> Vec<u32> {
    graph.plan.program.iter().map(|inst| cost(graph, inst)).collect()
}

/// The guard of each instruction with all conditions, whatever they save; `None` for one that nothing reads, or that has
/// no code of its own.
pub fn all_guards(graph: &Graph, costs: &[u32]) -> Vec<Option<Guard>> {
    let mut found = Finder { graph, cones: cones(graph, costs), guards: vec![None; costs.len()] };
    found.find();
    let mut guards = found.guards;
    order_literals(graph, &mut guards);
    guards
}

/// What an instruction costs, compared with an addition.
fn cost(graph: &Graph, inst: &Inst) -> u32 {
    let mut loads = 0;
    inst.visit_operands(graph.plan, &mut |(place, _)| {
        let is_narrow = |id: InstId| graph.plan.program[id].result_words(graph.plan) == 1;
        loads += u32::from(!graph.producer(place).is_some_and(is_narrow));
    });
    loads + operation_cost(graph, inst)
}

/// What is done with the operands.
fn operation_cost(graph: &Graph, inst: &Inst) -> u32 {
    let plan = graph.plan;
    let words = inst.result_words(plan);
    match inst {
        Inst::Column { column } => {
            let column = plan.columns[*column as usize];
            let lines = array_words(column.a.width, column.depth);
            match column.op {
                ColumnOp::Eq
                | ColumnOp::EqSlice { .. }
                | ColumnOp::Disjoint
                | ColumnOp::Lt
                | ColumnOp::Pack => 6 + 2 * lines,
                ColumnOp::Not | ColumnOp::And | ColumnOp::Or | ColumnOp::Slice { .. } => 4 + lines,
            }
        }
        Inst::Concat { count, .. } => 2 * count + words,
        Inst::OneHotSelect { lanes, lane, .. } => 4 + lanes * lane.div_ceil(64),
        Inst::WideEq { n, .. } | Inst::WideLt { n, .. } | Inst::WideNonZero { n, .. } => 1 + n,
        Inst::LaneEq { lanes, lane, .. } => 4 + lanes * lane / 64,
        Inst::XorHash { n, rows, .. } => 8 + n * rows,
        Inst::LaneAdd { lane, .. } | Inst::SpreadLanes { lane, .. } if has_lanes(*lane) => 2 + words,
        Inst::GroupOr { groups, size, .. } if is_in_vectors(*groups, *size) => 2 + groups * size / 64,
        Inst::LaneAdd { .. }
        | Inst::LaneMux { .. }
        | Inst::SpreadLanes { .. }
        | Inst::GroupOr { .. }
        | Inst::PrefixCount { .. }
        | Inst::WideShiftLeft { .. }
        | Inst::WideShiftRight { .. }
        | Inst::WideMul { .. } => 8 + 2 * words,
        Inst::FoldWords { n, .. } => 2 * n,
        Inst::PartSelect { count, .. } => 2 * count,
        Inst::WideMux { .. } | Inst::WideRead { .. } => 3,
        _ => words,
    }
}

/// Cost of an instruction with all it depends on, shared parts counted as often as they are used.
pub fn cones(graph: &Graph, costs: &[u32]) -> Vec<u32> {
    let mut cones = Vec::with_capacity(costs.len());
    for (inst, &cost) in graph.plan.program.iter().zip(costs) {
        let mut cone = cost;
        inst.visit_operands(graph.plan, &mut |(place, _)| {
            if let Some(id) = graph.producer(place) {
                let operand: &u32 = &cones[id];
                cone = (cone + operand).min(COST_CAP);
            }
        });
        cones.push(cone);
    }
    cones
}

struct Finder<'g, 'p> {
    graph: &'g Graph<'p>,
    cones: Vec<u32>,
    guards: Vec<Option<Guard>>,
}

impl Finder<'_, '_> {
    fn find(&mut self) {
        let graph = self.graph;
        graph.visit_roots(&mut |(place, need)| self.read(place, &[], need));
        for id in (0..graph.plan.program.len()).rev() {
            let Some(guard) = self.guards[id].clone() else { continue };
            let inst = &graph.plan.program[id];
            let masked = self.masked_operand(inst);
            inst.visit_operands(graph.plan, &mut |(place, need)| {
                let need = match masked {
                    Some((operand, mask)) if operand == place => Need::If(mask),
                    Some(_) | None => need,
                };
                self.read(place, &guard, need);
            });
        }
    }

    /// An operand that does not matter where another is 0: the dear side of an `and`, the lanes behind a mask.
    fn masked_operand(&self, inst: &Inst) -> Option<(u32, u32)> {
        let cone = |place| self.graph.producer(place).map_or(0, |id| self.cones[id]);
        match *inst {
            Inst::And { a, b, .. } if a != b => {
                let (dear, cheap) = if cone(a) > cone(b) { (a, b) } else { (b, a) };
                (cone(dear) >= WORTH_A_CONDITION).then_some((dear, cheap))
            }
            Inst::WideAnd { a, b, .. } if a != b => match (self.replicated_bit(a), self.replicated_bit(b)) {
                (Some(bit), _) => Some((b, bit)),
                (None, Some(bit)) => Some((a, bit)),
                (None, None) => None,
            },
            Inst::LaneMux { mask, then, otherwise, lanes, .. }
                if lanes <= 64 && then != otherwise && then != mask =>
            {
                Some((then, mask))
            }
            Inst::OneHotSelect { select, vector, lanes, .. } if lanes <= 64 && select != vector => {
                Some((vector, select))
            }
            _ => None,
        }
    }

    /// The bit that fills the whole value at `place`.
    fn replicated_bit(&self, place: u32) -> Option<u32> {
        match self.graph.plan.program[self.graph.producer(place)?] {
            Inst::Replicate { d, a, from: 1, .. } if d == place => Some(a),
            _ => None,
        }
    }

    /// Notes that something with guard `guard` reads `place`.
    fn read(&mut self, place: u32, guard: &[Literal], need: Need) {
        let Some(id) = self.graph.producer(place) else { return };
        let literal = match need {
            Need::Always => None,
            Need::If(place) => Literal { place, holds: true }.canonical(self.graph),
            Need::Unless(place) => Literal { place, holds: false }.canonical(self.graph),
        };
        let mut new = guard.to_vec();
        if let Some(literal) = literal
            && let Err(at) = new.binary_search(&literal)
        {
            new.insert(at, literal);
        }
        match &mut self.guards[id] {
            Some(old) => old.retain(|literal| new.binary_search(literal).is_ok()),
            none => *none = Some(new),
        }
    }
}

/// Puts conditions that are only known under others behind these.
fn order_literals(graph: &Graph, guards: &mut [Option<Guard>]) {
    let depths: Vec<usize> = guards.iter().map(|guard| guard.as_ref().map_or(0, Vec::len)).collect();
    let depth = |literal: &Literal| graph.producer(literal.place).map_or(0, |id: InstId| depths[id]);
    for guard in guards.iter_mut().flatten() {
        guard.sort_by_key(|literal| (depth(literal), *literal));
        guard.truncate(DEEPEST);
    }
}

/// Takes conditions away under which too little is done, but for those of which `is_kept` is true.
pub fn drop_cheap(guards: &mut [Option<Guard>], costs: &[u32], is_kept: &dyn Fn(Literal) -> bool) {
    loop {
        let mut saved: BTreeMap<&[Literal], u32> = BTreeMap::new();
        for (guard, &cost) in guards.iter().zip(costs) {
            let guard = guard.as_deref().unwrap_or_default();
            for length in (1..=guard.len()).filter(|length| !is_kept(guard[length - 1])) {
                let entry = saved.entry(&guard[..length]).or_default();
                *entry = (*entry + cost).min(COST_CAP);
            }
        }
        let is_cheap = |(_, saved): &(&[Literal], u32)| *saved < WORTH_A_BRANCH;
        let cheap: BTreeSet<Guard> =
            saved.into_iter().filter(is_cheap).map(|(guard, _)| guard.to_vec()).collect();
        let mut changed = false;
        for guard in guards.iter_mut().flatten() {
            let first = (1..=guard.len()).find(|&length| cheap.contains(&guard[..length]));
            if let Some(length) = first {
                guard.remove(length - 1);
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

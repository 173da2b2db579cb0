//! From a plan to its code.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::code::Code;
use super::emit::{self, Recipe, Reserved, Slots};
use super::graph::{Graph, Readers};
use super::guards::Literal;
use super::parts::{PartId, Parts};
use super::segments::Segments;
use super::{guards, schedule, simplify};
use crate::code_cache::CodeCache;
use crate::plan::Plan;
use crate::{EngineError, Options};

/// What the code of a plan is made from, besides the plan.
#[derive(Clone, Debug)]
pub struct Blueprint {
    parts: Option<Parts>,
    pub reserved: Reserved,
    kept: Option<Arc<CodeCache>>,
}

/// The code of a plan. Clones share it.
#[derive(Clone, Debug)]
pub struct Machine {
    pub cycle: Code,
    /// What works out the foreseen outputs; `None` if there are none.
    pub foresight: Option<Code>,
}

impl Blueprint {
    /// Rewrites a plan so that code can be made for it.
    pub fn new(plan: &mut Plan, options: &Options) -> Blueprint {
        simplify::simplify(plan);
        let parts = find_parts(plan, options);
        let reserved = Reserved::new(plan);
        // A vector loaded at the end of a column may reach beyond it.
        plan.arena_words += 2;
        Blueprint { parts, reserved, kept: options.code_cache.clone() }
    }

    /// Makes the code.
    pub fn compile(&self, plan: &Arc<Plan>) -> Result<Machine, EngineError> {
        let (parts, kept) = (self.parts.as_ref(), self.kept.as_deref());
        let recipe = Recipe { plan, parts, kept };
        let body = self.body(plan, Readers::OfCycle, parts);
        let cycle = emit::compile_cycles(recipe, &body)?;
        let foresight = (!plan.foreseen.is_empty()).then(|| {
            let foresight = match parts {
                Some(parts) => body.only(&parts.foreseeing(&Graph::of_cycle(plan)), parts),
                None => self.body(plan, Readers::OfForeseen, None),
            };
            emit::compile_foresight(recipe, &foresight, &body)
        });
        Ok(Machine { cycle, foresight: foresight.transpose()? })
    }

    /// Schedules what `readers` need.
    fn body(&self, plan: &Plan, readers: Readers, parts: Option<&Parts>) -> Body {
        let graph = Graph::new(plan, readers);
        let costs = guards::costs(&graph);
        let mut guards = guards::all_guards(&graph, &costs);
        if let Some(parts) = parts {
            parts.add_triggers(&mut guards);
        }
        let is_trigger = |literal: Literal| parts.is_some_and(|parts| parts.is_trigger(literal.place));
        guards::drop_cheap(&mut guards, &costs, &is_trigger);
        let order = schedule::schedule(&graph, &guards);
        assert_eq!(order.len(), guards.iter().flatten().count(), "instructions that wait for each other");
        let segments = Segments::new(&graph, &order);
        let slots = Slots::new(&graph, &segments, &self.reserved);
        Body { readers, segments, slots }
    }
}

/// Cost of a plan, in the unit of guards, from which it is run in parts: asking what has changed costs a busy circuit more
/// than it spares, and small ones are mostly that.
const WORTH_PARTS: u32 = 8000;

/// Parts of a plan, if it is large enough for them to pay, or if their size is given.
fn find_parts(plan: &mut Plan, options: &Options) -> Option<Parts> {
    let graph = Graph::of_cycle(plan);
    let costs = guards::costs(&graph);
    if options.smallest_part.is_none() && costs.iter().sum::<u32>() < WORTH_PARTS {
        return None;
    }
    let mut all = guards::all_guards(&graph, &costs);
    let order = schedule::schedule(&graph, &all);
    let mut parts = Parts::group(plan, &all, &order, &costs, options.smallest_part);
    parts.add_triggers(&mut all);
    guards::drop_cheap(&mut all, &costs, &|literal| parts.is_trigger(literal.place));
    parts.find_readers(&Graph::of_cycle(plan), &all);
    Some(parts)
}

/// What a function works out, in which order and under which conditions, and where pointers are kept in between.
#[derive(Clone)]
pub struct Body {
    pub readers: Readers,
    pub segments: Segments,
    pub slots: Slots,
}

impl Body {
    /// What some parts work out.
    fn only(&self, chosen: &BTreeSet<PartId>, parts: &Parts) -> Body {
        let mut body = self.clone();
        body.segments.order.retain(|&(id, _)| parts.of(id).is_some_and(|part| chosen.contains(&part)));
        body
    }
}
